"""A project with one paper: a notebook of three cells that runs for a second."""

import json
import os
import time
from pathlib import Path

import nbformat
import pandas as pd
import psutil
import pytest
from click.testing import CliRunner

from srlib import charts
from srlib.display import show
from srlib.runner.cli import main

ROOT = Path(__file__).parents[1]
HOSTILE = [
    "json",
    "pickle",
    "queue",
    "numpy",
    "pyarrow",
    "ipykernel_launcher",
    "traitlets",
]
alive = psutil.pid_exists
posix = pytest.mark.skipif(os.name != "posix", reason="processes of POSIX")

# Replaces a line of the notebook: it writes which process runs it, and waits.
MARK = 'Path("started").touch()'
WAITS = f"""{MARK}
import os, time
Path(f"kernel-{{n}}").write_text(f"{{os.getpid()}} {{os.getppid()}}")
while not Path("go").exists(): time.sleep(0.1)"""

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
bins: list[int] = [5, 10]  # [2, 50] numbers of bins
within: dict[str, float] = {}  # distances
delta: float | None = None  # (0, 1) of something
data: str = ""  # a file that is not read
seed: int = 1  # [0, inf) one seed
output_dir: str = ""  # folder for what is written

# %%
from pathlib import Path

from srlib.outputs import Outputs

outputs = Outputs(output_dir)
Path("started").touch()
assert names != ["fail"], "asked to fail"

# %% tags=["confidential"]
outputs.result("total", share * sum(range(n)))
"""

# Its last cell, for tests of tables: pandas takes longer than all the rest.
TABLE = """
import pandas as pd

from srlib.display import show

frame = pd.DataFrame({"label": (names * n)[:n], "value": [share * i for i in range(n)]})
show(outputs.table("values", frame))
"""

# A notebook with exercises that imports little, to test its student version.
EXERCISES = TEXT[: TEXT.index("# %%")]
EXERCISES += """# %% tags=["parameters"]
share: float = 0.5  # (0, 1] of something
output_dir: str = ""  # folder

# %%
import numpy as np

# %% [markdown] tags=["spoiler-1"]
# ## A part with a spoiler
#
# Known to be secret.

# %% tags=["spoiler-1"]
needed_below = share
print("secret" + " spoiler", needed_below)

# %% [markdown] tags=["spoiler-2"]
# Another secret.

# %% [markdown]
# ## Exercises
#
# Two, as in [another notebook](other.ipynb#part), on [a release](../docs/guide/a.md#b).

# %% [markdown]
# ### Exercise 1: half of a third
#
# To three digits (`sixth`).

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# Half is a factor.
#
# </details>

# %% [markdown] tags=["hint"]
# <details><summary>Hint 2</summary>
#
# The other factor is a third.
#
# </details>

# %% tags=["solution"]
secret_step = share / 3

# %% tags=["solution"]
sixth = secret_step
assert round(sixth, 3) == 0.167

# %% [markdown] tags=["solution"]
# The secret is to divide.

# %% [markdown] tags=["written"]
# ### Exercise 2: several answers
#
# They are `half`, `releases`, `name`, `private` and the set `suspects`.

# %% tags=["solution"]
releases, name, private, half = [2, 5], "Beta Binomial", sixth > 1, 3 * sixth
suspects = {"smith", "cook"}
assert np.isclose(half, np.exp(-np.log(2)))
assert np.all([sixth])
assert releases == [2, 5]
assert name == "Beta Binomial"
assert not private
assert suspects == {"smith", "cook"}

# %% [markdown] tags=["solution"]
# A good answer is secret.
"""


def make(folder, text=TEXT):
    """Write the project to a folder, and return the folder."""
    contents = {"notebooks/toy.py": text, "params/toy/published.yaml": "n: 5\n"}
    for file, content in contents.items():
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(content, "utf-8")
    return folder


def write_records(folder):
    """Write two files of the same people."""
    folder.mkdir(exist_ok=True)
    rows = "a,north,no\nb,south,yes\nb,north,no\nc,south,no\n" * 5
    for name in ("original.csv", "made.csv"):
        (folder / name).write_text(f"job,town,sick\n{rows}")


def call(*arguments):
    """Call the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def wait_until(condition, seconds=90):
    """Wait until a condition is true, but not forever."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def leave_hidden(final):
    """Leave a run like a process that was killed while it replaced the run."""
    place = final.with_name(f".{final.name}.srlib-a1b2c3d4")
    place.mkdir()
    (place / "lock").touch()
    final.rename(place / f"earlier-{final.name}")


def kernel(n=3):
    """Return the process of a waiting notebook's kernel, and its parent process."""
    file = Path(f"kernel-{n}")
    wait_until(lambda: file.exists() and " " in file.read_text())
    return [int(process) for process in file.read_text().split()]


def text(source, *tags):
    """Return a Markdown cell."""
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": [*tags]})


def code(source, *outputs, tags=()):
    """Return an executed code cell."""
    metadata = {"tags": [*tags]}
    return nbformat.v4.new_code_cell(source, outputs=[*outputs], metadata=metadata)


def displayed(data):
    """Return a displayed output with data of several types."""
    return nbformat.v4.new_output("display_data", data=data)


def finished(outputs, data=""):
    """Write the folder of a published run, with every kind of output, and return it.

    With data it is a run on a user's file, whose first picture is public.
    """
    run = outputs / "toy/published"
    run.mkdir(parents=True)
    frame = pd.DataFrame({"kept": [1.0, 2.0, 4.0], "made": [3.0, 2.0, 1.0]})
    wide = pd.DataFrame({f"a rather long name {i}": [1000.0 * i] for i in range(9)})

    def chart(name):
        chart = charts.lines(
            frame, f"{name} in years", "risk", description="Two lines."
        )
        spec = charts.specification(chart)
        return displayed({charts.MIME_TYPE: spec, "image/svg+xml": charts.svg(spec)})

    table = displayed({"text/html": show(wide).html})
    formula = " + ".join(f"x_{{{i}}}" for i in range(40))
    cells = [
        text("# A finding\n\n**A. Author (2000).** A paper.\n\nIts question.\n\nMore."),
        code("named()", chart("secret"), displayed({"text/plain": "record 12"})),
        text(f"## A part\n\n$${formula}$$"),
        text("### A smaller part\n\n|a|b|\n|-|-|\n|1|2|"),
        code("picture()", chart("first"), tags=("public",)),
        text("**What it shows.** Two lines.\n\nMore."),
        code(f"x = {'1 + ' * 60}1", chart("second"), table),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), run / "notebook.ipynb")
    (run / "parameters.yaml").write_text(f"n: 5\ndata: '{data}'\n", "utf-8")
    about = {
        "status": "complete",
        "paper": "toy",
        "profile": "published",
        "seconds": 1,
        "seed": 7,
    }
    (run / "provenance.json").write_text(json.dumps(about), "utf-8")
    return run
