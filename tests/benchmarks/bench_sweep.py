"""Overhead of sweeps; run with ``make bench``.

Targets: at most 2.5 s of CPU per point in addition to its cells; a table of 10,000
points in 30 s.
"""

import json
import resource
import subprocess
import sys

import toy

from srlib.runner import sweep

CELLS = """
import time; began = time.process_time()
n, share, names, output_dir = 3, 0.5, ["a"], "cells"
"""


def cpu_seconds(command, cwd):
    """Return the CPU time of a command and its child processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_seconds_of_cells(project):
    """Return the CPU time of the notebook's cells in a process of their own."""
    sources = [cell.partition("\n")[2] for cell in toy.TEXT.split("# %%")[3:]]
    timed = [CELLS, *sources, "\nprint(time.process_time() - began)\n"]
    command = [sys.executable, "-c", "".join(timed)]
    return float(subprocess.check_output(command, cwd=project))


def sweep_command(project, n_points):
    """Write the parameters of a sweep and return the command that runs it."""
    file = project / f"params/toy/sweep_{n_points}.yaml"
    sizes = list(range(1, n_points + 1))
    file.write_text(f"paper: toy\ngrid: {{n: {sizes}}}\n")
    return [sys.executable, "-m", "srlib", "sweep", str(file)]


def test_overhead_of_a_point(benchmark, tmp_path):
    """The difference between sweeps of 12 and 2 points, minus the time of the cells."""
    project = toy.make(tmp_path)
    seconds_of_cells = cpu_seconds_of_cells(project)
    few = cpu_seconds(sweep_command(project, 2), project)

    arguments = (sweep_command(project, 12), project)
    many = benchmark.pedantic(cpu_seconds, arguments, rounds=1)

    overhead = (many - few) / 10 - seconds_of_cells
    benchmark.extra_info["CPU s of the cells"] = round(seconds_of_cells, 2)
    benchmark.extra_info["CPU s beyond, a point"] = round(overhead, 2)
    print(benchmark.extra_info)


def test_collecting(benchmark, tmp_path):
    """Twenty rows per point."""
    n_points = 10_000
    lines = [f"{j},{j / 7},n{j}\n" for j in range(20)]
    rows = "".join(["value,x,name\n", *lines])
    provenance = {"status": "complete", "seconds": 1.0, "git_commit": "c"}
    for i in range(n_points):
        tables = tmp_path / f"p={i}-abc" / "tables"
        tables.mkdir(parents=True)
        content = provenance | {"changed_parameters": {"p": [i], "seed": i}}
        (tables.parent / "provenance.json").write_text(json.dumps(content))
        (tables / "t.csv").write_text(rows)
    names = "".join(f"p={i}-abc\n" for i in range(n_points))
    (tmp_path / "index.csv").write_text(f"point\n{names}")
    frame = benchmark.pedantic(sweep.load, args=(tmp_path, "t"), rounds=1)
    assert len(frame) == 20 * n_points
