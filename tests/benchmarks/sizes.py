"""Time and memory of `srlib assess` by records, columns and settings, through files.

``python tests/benchmarks/sizes.py [RECORDS [COLUMNS [SETTINGS]]]``, each with commas, as
``1000,1000000 20,40 default,quick``, writes an original and a fresh sample of its population as
CSV files, assesses them by the command, and prints a row of `sizes.csv` for each point: seconds of
CPU of all processes, of which other work on the machine takes none; seconds that passed; and the
most memory of a process. ``python tests/benchmarks/sizes.py pictures`` draws the curves of
`docs/performance.md` from that file.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from srlib import charts
from srlib.data import embedded_population

HERE = Path(__file__).parent
CENSUS, NUMBERS = 14, 3
HEADER = "records,columns,settings,cpu_seconds,seconds,megabytes"


def people(n: int, n_columns: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw people like those of a survey file.

    Parameters
    ----------
    n, n_columns : int
        Records, and columns, 2 to 14 of census variables or 17 and more: then with an age, hours of
        work and a skewed income, which has the code N, and answers to questions, each of which
        depends on one of the census variables.
    rng : numpy.random.Generator
        Source of the records.
    """
    census = embedded_population(n, rng=rng)
    frame = census.to_frame(labels=False).iloc[:, :n_columns]
    if n_columns > CENSUS:
        group = census.codes[:, 1].astype(int)
        frame["age"] = 18 + 12 * group + rng.integers(0, 12, n)
        frame["hours"] = np.where(rng.random(n) < 0.6, 40, rng.integers(0, 80, n))
        income = rng.lognormal(10 + 0.1 * group, 0.8).astype(int)
        frame["income"] = pd.Series(income).astype(object).mask(rng.random(n) < 0.15, "N")
    for k in range(CENSUS + NUMBERS, n_columns):
        other = (rng.random(n) ** 2 * (3 + k % 4)).astype(int)
        answer = np.where(rng.random(n) < 0.6, census.codes[:, k % CENSUS], other)
        frame[f"question_{k}"] = np.where(rng.random(n) < 0.05, 96, answer)
    return frame


def taken(files: list[str], settings: str, folder: Path) -> str:
    """Assess two files, and return CPU seconds, seconds and megabytes with commas."""
    command = [sys.executable, "-m", "srlib", "assess", *files, "--output", "out"]
    command += ["--quick"] if settings == "quick" else []
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"it failed: {' '.join(command)}")
    cpu = used.ru_utime + used.ru_stime
    per_megabyte = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    return f"{cpu:.1f},{time.perf_counter() - start:.1f},{used.ru_maxrss / per_megabyte:.0f}"


def main(
    records: str = "1000,10000,100000,1000000",
    columns: str = "10,20,40",
    settings: str = "quick,default",
) -> None:
    """Print a row for each point."""
    print(HEADER, flush=True)
    for n in map(int, records.split(",")):
        for p in map(int, columns.split(",")):
            with tempfile.TemporaryDirectory() as name:
                files = ["original.csv", "released.csv"]
                for i, file in enumerate(files):
                    people(n, p, np.random.default_rng(i)).to_csv(Path(name, file), index=False)
                for each in settings.split(","):
                    print(f"{n},{p},{each},{taken(files, each, Path(name))}", flush=True)


def pictures() -> None:
    """Draw time and memory against records, a curve for each number of columns and setting."""
    measured = pd.read_csv(HERE / "sizes.csv")
    measured = measured[measured["columns"].isin([10, 20, 40])]
    measured["curve"] = measured["columns"].astype(str) + " columns, " + measured["settings"]
    measured["gigabytes"] = measured["megabytes"] / 1000
    for file, column, title in (
        ("assess_time", "seconds", "Seconds, on two cores"),
        ("assess_memory", "gigabytes", "Most memory, in GB"),
    ):
        curves = measured.pivot(index="records", columns="curve", values=column)
        chart = charts.lines(curves, "Records", title, log_x=True, log_y=True)
        drawn = charts.svg(charts.specification(chart))
        (HERE.parents[1] / f"docs/pictures/{file}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    pictures() if sys.argv[1:] == ["pictures"] else main(*sys.argv[1:])
