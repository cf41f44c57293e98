"""Sweeps: points, resuming, failures, what a killed one leaves, and the tables over all points."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest
import toy
from click.testing import CliRunner
from test_run import SCRIPT, srlib, work  # noqa: F401  # a fixture

from srlib.__main__ import main as command
from srlib.runner import sweep
from srlib.runner.cli import main
from srlib.runner.parameters import Request, UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return toy.make(tmp_path)


def read(project: Path, text: str, name: str = "sweep_x") -> list[Request]:
    file = project / f"{name}.yaml"
    file.write_text(f"paper: toy\n{text}\n", encoding="utf-8")
    points, _ = sweep.read_sweep(project, file, project / "outputs")
    return points


def names(points: list[Request]) -> list[str]:
    return [point.folder.name for point in points]


# ----------------------------------------------------------------------------------- the file


def test_points_are_all_combinations(project: Path) -> None:
    points = read(
        project,
        "profile: published\nbase: {seed: 3}\ngrid: {n: [1, 2], method: [exact, simulated]}\n"
        "points: [{share: 0.1, names: [a]}, {names: [b, c]}]\n",
    )
    assert len(points) == len(set(names(points))) == 2 * 2 * 2
    assert re.fullmatch("n=1,method=exact,share=0.1,names=a-[0-9a-f]{12}", names(points)[0])
    pairs = {(p.changed.get("share"), tuple(p.changed["names"])) for p in points}
    assert pairs == {(0.1, ("a",)), (None, ("b", "c"))}
    assert {point.parameters["seed"] for point in points} == {3}


def test_seeds_of_replicates_are_those_that_they_always_were(project: Path) -> None:
    points = read(project, "replicates: 2\nseed: 5\n")
    assert [p.parameters["seed"] for p in points] == [1098639371749156, 6300548710043576]
    seeds = [row["seed"] for row in sweep.Plan(paper="toy", replicates=10_000).rows()]
    assert len(set(seeds)) == 10_000
    assert all(seed == int(float(seed)) for seed in seeds)


def test_names_change_with_notebook_parameters_and_data(project: Path) -> None:
    notebook, text = project / "notebooks/toy.py", "grid: {n: [1]}\nbase: {data: people.csv}\n"
    notebook.write_text(toy.TEXT.replace("a file that is not read", "CSV file of records"))
    (project / "people.csv").write_text("1")
    seen = [names(read(project, text)), names(read(project, text))]
    seen.append(names(read(project, text.replace("people.csv", "people.csv, share: 0.7"))))
    (project / "people.csv").write_text("2")
    seen.append(names(read(project, text)))
    notebook.write_text(notebook.read_text() + "\n# %%\n1 + 1\n")
    seen.append(names(read(project, text)))
    assert len({name for (name,) in seen}) == 4
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gird: {n: [1]}", "gird: Extra inputs are not permitted"),
        ("grid: {m: [1]}", "unknown parameter 'm'"),
        ("grid: {n: [1, 500]}", "n = 500; it must be int in"),
        ("grid: {n: 3}", "grid.n: Input should be a valid list"),
        ("grid: {n: [1]}\npoints: [{n: 2}]", "n varies in two places"),
        ("replicates: 2\nseed: -1", "seed: Input should be greater than or equal to 0"),
        ("replicates: 0", "replicates: Input should be greater than or equal to 1"),
        ("points: []", "points: List should have at least 1 item"),
        ("profile: nothing", "unknown profile"),
        ("base: {output_dir: x}", "unknown parameter 'output_dir'"),
        ("collect: [/tmp/original]", "collect.0: String should match pattern"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(
    project: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        read(project, text)
    result = CliRunner().invoke(main, ["sweep", "sweep_x.yaml"])
    assert result.exit_code == 2
    assert message in result.stderr


def test_sweeps_that_ship_are_valid_and_have_no_profiles_folder(root: Path, project: Path) -> None:
    files = sorted(root.glob("params/*/sweep_*.yaml"))
    assert len(files) == 3
    for file in files:
        points, tables = sweep.read_sweep(root, file, project)
        (folder,) = {point.folder.parent for point in points}
        assert folder == project / file.parent.name / file.stem
        assert len(points) > 1
        assert tables
    (point,) = read(project, "grid: {n: [1]}", "published")
    assert point.folder.parent == project / "outputs/toy/sweep_published"


# ------------------------------------------------------------------------------------ running


@toy.posix
def test_points_that_fail_are_told_and_the_rest_is_not_repeated(
    tmp_path: Path,
    work: Path,  # noqa: F811
) -> None:
    """One kernel is killed and one raises, in a folder whose modules nobody may import."""
    line = f"""{toy.MARK}
import os, signal
if n == 2 and not Path("mended").exists(): os.kill(os.getpid(), signal.SIGKILL)
assert n < 3, data"""
    toy.make(tmp_path, toy.TEXT.replace(toy.MARK, line))
    (work / "people.csv").write_text("a")
    (work / "x.yaml").write_text("paper: toy\ngrid: {n: [1, 2, 3]}\nbase: {data: people.csv}\n")
    command = ("sweep", "x.yaml", "--output", "out")
    first = srlib(work, *command, "--jobs", "2")
    folder = work / "out/toy/sweep_x"
    assert (first.returncode, first.stdout) == (1, "out/toy/sweep_x: 1 of 3 points are done\n")
    raised = "toy: cell 4, under 'A toy': AssertionError"  # messages may have values
    assert f"{raised}\nkept: out/toy/sweep_x/n=3-" in first.stderr
    index = pd.read_csv(folder / "index.csv")
    assert index["status"].tolist() == ["done", "failed", "failed"]
    assert "cell 4, under 'A toy': DeadKernelError" in index["error"][1]
    assert f"toy: {index['error'][2]}" == raised
    (kept,) = folder.glob("n=3-*.failed/notebook.ipynb")
    assert '"evalue": "people.csv"' in kept.read_text(encoding="utf-8")
    (whole,) = folder.glob("n=1-*/provenance.json")
    before = whole.stat().st_mtime_ns
    (work / "mended").touch()
    assert srlib(work, *command, "--dry-run").stdout == first.stdout
    second = srlib(work, *command, "--shard", "2/3")
    assert second.stdout == "out/toy/sweep_x: 1 of 1 points are done\n"
    assert (second.returncode, second.stderr) == (0, "")
    assert whole.stat().st_mtime_ns == before
    assert sweep.load(folder)["total"].tolist() == [0.0, 0.5]
    assert folder.stat().st_mode & 0o077 == 0


@toy.posix
def test_a_killed_sweep_leaves_no_process_and_the_next_command_no_records(project: Path) -> None:
    (project / "notebooks/toy.py").write_text(toy.TEXT.replace(toy.MARK, toy.WAITS))
    points = read(project, "grid: {n: [1, 2]}")
    process = subprocess.Popen([SCRIPT, "sweep", "sweep_x.yaml"], cwd=project)
    kernel, worker = toy.kernel(project, 1)
    process.kill()
    process.wait()
    toy.wait_until(lambda: not toy.alive(worker) and not toy.alive(kernel))
    folder = points[0].folder.parent
    (left,) = folder.glob(".*")
    assert left.name.startswith(".n=1-")
    (kept,) = left.glob("*/parameters.yaml")
    assert kept.is_file()
    (project / "go").touch()
    sweep.run_sweep(points, points[:1])
    assert {path.name for path in folder.iterdir()} == {"index.csv", points[0].folder.name}


def test_a_dask_cluster_runs_the_points(project: Path) -> None:
    distributed = pytest.importorskip("distributed")
    (project / "notebooks/toy.py").write_text(toy.TEXT.replace(toy.MARK, toy.WAITS))
    (project / "go").touch()
    settings: dict = {"dashboard_address": ":0", "protocol": "tcp", "silence_logs": "CRITICAL"}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster:
        points = read(project, "grid: {n: [1]}")
        sweep.run_sweep(points, points, scheduler=cluster.scheduler_address)
    _, worker = toy.kernel(project, 1)
    assert worker != os.getpid()  # not in the caller
    assert points[0].status == "done"


def test_a_cluster_that_is_not_there_is_told_in_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(project, "grid: {n: [1]}")
    asked = ["sweep", "sweep_x.yaml", "--scheduler", "tcp://127.0.0.1:1"]
    found = CliRunner().invoke(main, asked)
    assert (found.exit_code, len(found.stderr.splitlines())) == (1, 1)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which the command sets
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(sys, "argv", ["srlib", *asked])
    with pytest.raises(SystemExit, match=r'needs distributed, .*: pip install "srlib\[cluster\]"'):
        command()


# ------------------------------------------------------------------------------------ workers


def write_and_wait(file: Path) -> None:
    file.with_suffix(".partial").write_text(str(os.getpid()))
    file.with_suffix(".partial").replace(file)
    threading.Event().wait()


def interrupted(folder: Path) -> None:
    with sweep.workers(2) as pool:
        for name in "ab":
            pool.submit(write_and_wait, folder / name)
        toy.wait_until(lambda: len(list(folder.glob("?"))) == 2)
        raise KeyboardInterrupt


@toy.posix
def test_an_interruption_kills_the_workers_at_once(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path)
    for name in "ab":
        assert not toy.alive(int((tmp_path / name).read_text()))


# --------------------------------------------------------------------------------- collecting


def done(point: Request, **tables: str) -> Path:
    """Write what a point that is done leaves."""
    (point.folder / "tables").mkdir(parents=True, exist_ok=True)
    about = {"status": "complete", "seconds": 1.0, "git_commit": "c"}
    about["changed_parameters"] = dict(point.changed)
    (point.folder / "provenance.json").write_text(json.dumps(about))
    (point.folder / "results.json").write_text('{"total": 1}')
    for name, text in tables.items():
        (point.folder / f"tables/{name}.csv").write_text(text)
    return point.folder


def test_tables_have_parameters_before_and_provenance_behind(project: Path) -> None:
    points = read(project, "grid: {n: [1, 2, 3], names: [[a], [a, b]]}\ncollect: [t]")
    for point in points[:-1]:
        done(point, t="n,x\n1,2\n")
    sweep.write_index(points)
    folder = points[0].folder.parent
    index = pd.read_csv(folder / "index.csv")
    assert index["status"].tolist() == ["done"] * 5 + ["open"]
    assert index.columns.tolist() == ["point", "status", "error", "seconds", "n", "names"]
    assert sweep.load(folder, "t")["names"].tolist() == ["a", '["a", "b"]', "a", '["a", "b"]', "a"]
    done(points[-1], t="n,x\n1,2\n")
    result = CliRunner().invoke(main, ["sweep", "sweep_x.yaml"])
    assert result.stdout == "outputs/toy/sweep_x: 6 of 6 points are done\n"
    gathered = pd.read_csv(folder / "t.csv")
    assert gathered.columns.tolist() == ["parameter_n", "names", "n", "x", "point", "git_commit"]
    assert len(gathered) == 6
    with pytest.raises(ValueError, match=r"no finished point in .* has it"):
        sweep.load(folder, "u")
