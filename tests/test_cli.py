"""The command line: its help, what it refuses before a kernel, and one line for each failure."""

import importlib.metadata
import json
from pathlib import Path

import click
import pytest
import toy
from click.testing import CliRunner, Result

from srlib import charts
from srlib.runner.cli import main

PARAMETERS = """# %% tags=["parameters"]
n: int = 3  # [1, 100] how many
share: float = 0.5  # (0, 1] of something
delta: float = 0.5  # (0, 1) of something else
method: str = "exact"  # {exact, simulated} how
names: list[str] = ["a"]  # labels
bins: list[int] = [5, 10]  # [2, 50] numbers of bins
keys: list[list[str]] = []  # sets of variables
within: dict[str, float] = {}  # distances
model: bool = False  # whether
size: int | None = None  # [1, 10] of a sample
data: str = ""  # CSV file of records
seed: int = 1  # [0, inf) one seed
output_dir: str = ""  # folder
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(toy.make(tmp_path, PARAMETERS))
    (tmp_path / "notebooks/other.py").write_text(PARAMETERS, encoding="utf-8")
    return tmp_path


def srlib(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refused(*arguments: str | Path) -> str:
    """Return the line that tells what is wrong, before anything was begun."""
    result = srlib(*arguments)
    assert result.exit_code == 2, result.exception
    told = result.stderr.rpartition("Error: ")[2]
    assert result.stderr.count("Error: ") == told.count("\n") == 1
    assert len(told) < 700
    assert not Path("outputs").exists()
    return told


def test_help_is_one_page_of_whole_sentences() -> None:
    told = srlib("--help").output
    assert len(told.splitlines()) < 40
    commands = told.split("Commands:")[1].strip().splitlines()
    assert {"run", "assess", "schema", "sweep"} <= {line.split()[0] for line in commands}
    assert all(line.endswith(".") and "..." not in line for line in commands)
    version = importlib.metadata.version("srlib")
    assert srlib("--version").output == f"srlib, version {version}\n"


def test_options_of_the_assessment_are_its_notebooks_parameters() -> None:
    told = " ".join(srlib("assess", "--help").output.split())
    for name in ("schema", "keys", "target", "within", "by", "holdout", "model"):
        assert f" --{name} " in told
    assert "--seed" not in told
    assert "Variables that the intruder wants to know; empty: the last that is no key." in told


COUNTS = "many 2.5 2.0 true '5' null [3] 0 -3 101 1000000000000 .inf 1:30 2020-01-01 *a"
VALUES = {
    "n": ("int in [1, 100]", [*COUNTS.split(), "9" * 400, "!!int abc", "[" * 3000]),
    "share": ("float in (0, 1]", ["0", "1.0001", ".nan", ".inf", "yes", "false"]),
    "delta": ("float in (0, 1)", ["1"]),
    "method": ("str in {exact, simulated}", ["guess", ""]),
    "names": ("list[str]", ["a", "[1]", "[[a]]", '["\\uD800"]']),
    "bins": ("list[int], one or more in [2, 50]", ["[]", "[5, 51]", "[5, 2.5]", "5"]),
    "keys": ("list[list[str]]", ["[a, b]"]),
    "within": ("dict[str, float]", ["{a: b}", "{1: 2.0}", "[1]"]),
    "model": ("bool", ["1", "yes"]),
    "size": ("int | None in [1, 10]", ["11"]),
    "data": ("str", ["\udcff.csv"]),  # a name of a file in Latin-1
    "seed": ("int in [0, inf)", ["-1", "null"]),
    "sead": ("unknown parameter 'sead' (known: n, share,", ["1"]),
    "output_dir": ("unknown parameter 'output_dir'", ["x"]),
}
ARGUMENTS = [
    ("run", "Missing argument 'PAPER...'"),
    ("run tou", "unknown paper 'tou' (known: other, toy)"),
    ("run toy --profile publish", "(known: default, published)"),
    ("run other --profile published", "other: unknown profile 'published'"),
    ("run toy --params nowhere.yaml", "nowhere.yaml"),
    ("build nothing", "unknown paper 'nothing'"),
    ("sweep nowhere.yaml", "nowhere.yaml"),
    ("sweep notebooks/toy.py --jobs 0", "--jobs"),
    *((f"sweep notebooks/toy.py --shard {part}", "i/n") for part in ("0/3", "4/3", "1")),
    ("grade .", "No such command"),  # Python cannot confine Python
]
SWEEPS = [
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
]


@pytest.mark.parametrize("name", VALUES)
def test_a_bad_value_is_one_line_and_starts_nothing(name: str) -> None:
    allowed, values = VALUES[name]
    for value in values:
        told = refused("run", "toy", "-p", name, value)
        assert name in told
        assert allowed in told


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_bad_usage_starts_no_kernel(arguments: str, message: str) -> None:
    assert message in refused(*arguments.split())


@pytest.mark.parametrize(("text", "message"), SWEEPS)
def test_a_wrong_sweep_starts_nothing(project: Path, text: str, message: str) -> None:
    (project / "sweep_x.yaml").write_text(f"paper: toy\n{text}\n", encoding="utf-8")
    assert message in refused("sweep", "sweep_x.yaml")


# ------------------------------------------------------------------ what is there already


@pytest.mark.parametrize("output", ["README/x", "x" * 300])
@pytest.mark.parametrize("command", ["run toy", "sweep sweep_x.yaml"])
def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    project: Path, command: str, output: str
) -> None:
    (project / "README").touch()
    (project / "sweep_x.yaml").write_text("paper: toy\ngrid: {n: [1]}\n")
    result = srlib(*command.split(), "--output", output)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("Error: [Errno ")


NESTED = "[" * 100_000
NOTEBOOK = '{{"cells": {}, "metadata": {{}}, "nbformat": {}, "nbformat_minor": 5}}'
CELL = '[{"cell_type": "markdown", "source": "SECRET"}]'  # without an id
NOTEBOOKS = [NOTEBOOK.format(*given) for given in (("[]", 99), ("5", 4), (CELL, 4))]
DAMAGED = {
    "notebook.ipynb": ["SECRET", "[]", "5", "null", "{}", "\xff", NESTED, *NOTEBOOKS],
    "provenance.json": ["{", "[]", "5", "null", "\xff", NESTED, '{"versions": 5}'],
    "parameters.yaml": ["a: [", "\xff", "5", "[" * 3000],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_reports_name_the_file_that_is_damaged(tmp_path: Path, name: str) -> None:
    run = toy.finished(tmp_path)
    for content in DAMAGED[name]:
        (run / name).write_text(content, encoding="latin-1")
        told = refused("report", run)
        assert f"toy/published/{name} cannot be read: " in Path(told).as_posix()
        assert "SECRET" not in told


def test_a_chart_that_is_none_is_shown_as_its_picture(tmp_path: Path) -> None:
    run = toy.finished(tmp_path)
    content = json.loads((run / "notebook.ipynb").read_text(encoding="utf-8"))
    for output in [output for cell in content["cells"] for output in cell.get("outputs", [])]:
        output["data"] |= {name: [] for name in {charts.MIME_TYPE} & {*output["data"]}}
    (run / "notebook.ipynb").write_text(json.dumps(content), encoding="utf-8")
    assert srlib("report", run).exit_code == 0
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml," in html
    assert 'class="vega-lite"' not in html


def test_a_report_is_written_and_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    run = toy.finished(tmp_path)
    result = srlib("report", run, "--open")
    assert (result.exit_code, result.output) == (0, f"{run / 'report.html'}\n")
    assert opened == [str(run / "report.html")]
    result = srlib("report", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: [Errno 2] No such file or directory: ")
