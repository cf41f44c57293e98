"""Speed and memory of `srlib assess`, start included; run with ``make bench``.

What is asked for, on two cores: 3 s at 10,000 records of 14 columns, from two text
files to the page; 100 s and 2 GB at a million records of 20 columns; and 10 s of CPU
at 10,000 records of 14 columns for an intruder who knows that trees made the release.
"""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from srlib.assessment.exact import exact_rows
from srlib.data import Microdata, embedded_population
from srlib.trees import SequentialTrees


@pytest.mark.parametrize(
    ("n", "n_extra"),
    [
        pytest.param(10_000, 0, id="10,000"),
        pytest.param(1_000_000, 6, id="a million"),
    ],
)
def test_from_files_to_the_page(benchmark, tmp_path, n, n_extra):
    rng = np.random.default_rng(1)
    codes = embedded_population(2 * n, rng=rng).codes
    noise = rng.integers(0, 4, (2 * n, n_extra))
    codes = np.column_stack([codes, codes[:, :n_extra] + noise])
    frame = pd.DataFrame(codes).add_prefix("v")
    frame[:n].to_csv(tmp_path / "original.csv", index=False)
    frame[n:].to_csv(tmp_path / "released.csv", index=False)
    command = [sys.executable, "-m", "srlib", "assess", "original.csv", "released.csv"]
    command += ["--keys", "v0,v1,v2,v4", "--target", "v9"]

    def assess():
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    benchmark.pedantic(assess, rounds=1 if n > 100_000 else 3)
    if sys.platform == "linux":
        import resource

        kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        benchmark.extra_info["megabytes"] = kilobytes // 1024
    assert os.listdir(tmp_path / "outputs/assess")


def test_an_intruder_who_knows_the_trees(benchmark):
    n = 10_000
    population = embedded_population(n + 1_000, rng=np.random.default_rng(1))
    codes, others = np.split(population.codes, [n])
    trees = SequentialTrees(population.schema)
    released = trees.release(codes, rng=np.random.default_rng(2))
    tables = [Microdata(table, population.schema) for table in (codes, others)]

    arguments = tables[0], [released], tables[1], trees
    options = {"rng": np.random.default_rng(3)}
    benchmark.pedantic(exact_rows, arguments, options)
