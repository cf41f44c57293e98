"""A project with one paper: a notebook of three cells that takes a second."""

import time
from collections.abc import Callable
from pathlib import Path

# What takes the place of a line of the notebook: a line in the file runs, and waiting for word.
MARK = 'Path("runs").open("a").write(f"{n} {share}\\n")'
SLOW = (
    MARK
    + "\nimport os, time\nPath(f'pid-{n}').write_text(str(os.getpid()))\n"
    + "while not Path('go').exists(): time.sleep(0.1)"
)

TEXT = """# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A toy
#
# Its mean is $\\\\bar x = \\\\frac{1}{n} \\\\sum_i x_i$, and `$x$` is code.

# %% tags=["parameters"]
n: int = 3  # [1, 100] how many
share: float = 0.5  # (0, 1] of something
method: str = "exact"  # {exact, simulated} how
names: list[str] = ["a"]  # labels
rules: list[dict[str, float]] = [{"rr_at_most": 2}]  # <srlib.acceptance.read_rules> of risk
seed: int = 1  # [0, inf) one seed
output_dir: str = ""  # folder for what is written

# %%
from pathlib import Path

import pandas as pd

from srlib.record import Record, show

record = Record(output_dir)
Path("started").touch()
assert names != ["fail"], "asked to fail"

# %% tags=["confidential"]
frame = pd.DataFrame({"label": (names * n)[:n], "value": [share * i for i in range(n)]})
record.result("total", frame["value"].sum())
show(record.table("values", frame, confidential=True))
"""


def make(folder: Path, text: str = TEXT) -> Path:
    """Write the project into a folder and return it."""
    (folder / "notebooks").mkdir(parents=True)
    (folder / "params" / "toy").mkdir(parents=True)
    (folder / "notebooks" / "toy.py").write_text(text, encoding="utf-8")
    (folder / "params" / "toy" / "published.yaml").write_text("n: 5\n", encoding="utf-8")
    return folder


def executed(project: Path) -> list[str]:
    """What the notebook left in the file runs, in order."""
    marks = project / "runs"
    return sorted(marks.read_text().splitlines()) if marks.exists() else []


def wait_until(condition: Callable[[], object], seconds: float = 90) -> None:
    """Wait, but not for ever."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def running(project: Path, n: int) -> int:
    """Wait for the kernel of a point to be in its slow cell; return its process."""
    file = project / f"pid-{n}"
    wait_until(lambda: file.exists() and file.read_text())
    return int(file.read_text())
