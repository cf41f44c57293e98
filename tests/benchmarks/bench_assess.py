"""Speed and memory of `srlib assess`, start included; run with ``make bench``.

What is asked for, on two cores: 3 s at 10,000 records of 14 columns, from two text
files to the page; and 100 s and 2 GB at a million records of 20 columns.
"""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from srlib.data import embedded_population


@pytest.mark.parametrize(
    ("n", "more"), [(10_000, 0), (1_000_000, 6)], ids=["10,000", "a million"]
)
def test_from_files_to_the_page(benchmark, tmp_path, n, more):
    rng = np.random.default_rng(1)
    codes = embedded_population(2 * n, rng=rng).codes
    codes = np.column_stack(
        [codes, rng.integers(0, 4, (2 * n, more)) + codes[:, :more]]
    )
    for name, rows in (("original", codes[:n]), ("released", codes[n:])):
        columns = [f"v{k}" for k in range(codes.shape[1])]
        pd.DataFrame(rows, columns=columns).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
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
