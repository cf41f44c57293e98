"""Measure how long the project's commands take, and write docs/speed.md.

    python tools/measure_speed.py

Run it from the root of a fresh clone on a quiet machine, with a Python of 3.12 or
later; it makes `.venv`, so that set-up is measured as well. The last tasks take some
half an hour. Names of tasks as arguments measure these alone and print their rows.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "speed.md"
PYTHON = str(ROOT / ".venv" / "bin" / "python")
SRLIB = str(ROOT / ".venv" / "bin" / "srlib")

DATA = """
import numpy as np, pandas as pd
from srlib.data import embedded_population
for n, n_extra in ((10_000, 0), (1_000_000, 6)):
    rng = np.random.default_rng(1)
    codes = embedded_population(2 * n, rng=rng).codes
    extra = codes[:, :n_extra] + rng.integers(0, 4, (2 * n, n_extra))
    frame = pd.DataFrame(np.column_stack([codes, extra])).add_prefix("v")
    frame[:n].to_csv(f"original_{n}.csv", index=False)
    frame[n:].to_csv(f"released_{n}.csv", index=False)
"""
FITTED = """
import srlib
from numpy.random import default_rng
from srlib.data import embedded_population
data = embedded_population(10_000, rng=default_rng(1))
"""
TREES = """
trees = srlib.fit_trees(data)
releases = trees.release(5, rng=default_rng(2))
srlib.posterior_risk(data, releases, synthesizer=trees, progress=False)
"""
MIXTURE = "srlib.fit_dpmpm(data, rng=default_rng(2))"


def assess(n: int) -> list[str]:
    """The command that assesses a release of n records, with four keys."""
    files = [f"original_{n}.csv", f"released_{n}.csv"]
    return [SRLIB, "assess", *files, "--keys", "v0,v1,v2,v4", "--target", "v9"]


TASKS = {
    "set-up": ["make", "-C", str(ROOT), ".venv/.ready"],
    "import": [PYTHON, "-c", "import srlib"],
    "help": [SRLIB, "--help"],
    "assess": assess(10_000),
    "a million": assess(1_000_000),
    "trees": [PYTHON, "-c", FITTED + TREES],
    "mixture": [PYTHON, "-c", FITTED + MIXTURE],
    "papers": ["make", "-C", str(ROOT), "papers"],
    "test": ["make", "-C", str(ROOT), "test"],
}
NAMES = {
    "set-up": "`make .venv/.ready`, packages from a near index; compiles samplers",
    "import": "`import srlib`",
    "help": "`srlib --help`",
    "assess": "`srlib assess`, 10,000 records of 14 columns, from files to report",
    "a million": "`srlib assess`, a million records of 20 columns",
    "trees": "exact risks of 10,000 records, five releases by trees as rpart prunes",
    "mixture": "`fit_dpmpm`, 10,000 records, defaults",
    "papers": "`make papers`: four papers at their published settings",
    "test": "`make test`",
}
INTRODUCTION = """# Speed

The commands as they ship, start included, measured one after the other on {date} by
`tools/measure_speed.py`: {machine}.

CPU seconds are those of a command and of its processes. Tasks below half a minute show
the fastest of three runs. *First line* is the time until a command prints anything.
The [comparison](guide/compare.md) has times of other tools for the same 1,000 records.
NPBayesImputeCat, an R package with a sampler of the same model, is not among Debian's
packages and was not measured.

| task | seconds | CPU seconds | first line, seconds | largest process, MB |
|---|---|---|---|---|
"""


def machine() -> str:
    """Processor, number of cores, system and Python."""
    processor = platform.processor()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        named = re.search(r"model name\s*: (.*)", facts.read_text())
        processor = named.group(1).strip() if named else processor
    version = subprocess.check_output([PYTHON, "--version"], text=True).strip()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, {version}"


def measure(command: list[str], folder: str) -> tuple[float, float, float, float]:
    """Seconds, CPU seconds, seconds to the first line, MB of the largest process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    process.stdout.read(1)
    first = time.perf_counter() - start
    process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)  # with all processes that it waited for
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(command)[:200]}")
    return seconds, used.ru_utime + used.ru_stime, first, used.ru_maxrss / 1024


def row(task: str, folder: str) -> str:
    """One line of the table."""
    best = measure(TASKS[task], folder)
    if best[0] < 30:
        again = [measure(TASKS[task], folder) for _ in range(2)]
        best = min([best, *again])
    seconds, cpu, first, megabytes = best
    prints = task in ("help", "assess", "a million")
    shown = f"{first:.2f}" if prints else ""
    return f"| {NAMES[task]} | {seconds:.1f} | {cpu:.1f} | {shown} | {megabytes:.0f} |"


def main() -> None:
    """Measure the tasks that are named, or all, and then write the page."""
    chosen = sys.argv[1:] or list(TASKS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for task in chosen:
            if task == "assess" or (task == "a million" and "assess" not in chosen):
                subprocess.run([PYTHON, "-c", DATA], cwd=folder, check=True)
            rows.append(row(task, folder))
            print(rows[-1], flush=True)
    if chosen == list(TASKS):
        heading = INTRODUCTION.format(date=date.today(), machine=machine())
        PAGE.write_text(heading + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
