"""The command line and parameters: errors in one line before a kernel starts."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toy
from toy import ROOT, call

import srlib
from srlib.runner import parameters
from srlib.runner.parameters import find_outputs, find_root, hash_inputs, resolve

pytestmark = pytest.mark.usefixtures("project")


def refused(*arguments):
    """Return the error message, in one line, before anything was started."""
    result = call(*arguments)
    assert result.exit_code == 2, result.exception
    message = result.stderr.rpartition("Error: ")[2]
    assert result.stderr.count("Error: ") == message.count("\n") == 1
    assert len(message) < 700
    assert not Path("outputs").exists()
    return message


def test_help_is_one_page_and_has_the_parameters_of_the_assessment():
    assert len(call("--help").output.splitlines()) < 40
    assert call("--version").output.endswith(f"version {srlib.__version__}\n")
    options = re.findall(r"--(\w+) ", call("assess", "--help").output)
    names = {"schema", "keys", "target", "within", "by", "holdout", "synthesizer"}
    assert names <= {*options}


# ---------------------------------------------------------------------- what is refused

COUNTS = "many 2.5 2.0 true '5' null [3] 0 -3 101 1000000000000 .inf 1:30 2020-01-01 *a"
VALUES = {
    "n": ("int in [1, 100]", [*COUNTS.split(), "9" * 400, "!!int abc", "[" * 3000]),
    "share": ("float in (0, 1]", ["0", "1.0001", ".nan", ".inf", "yes", "false"]),
    "method": ("str in {exact, simulated}", ["guess", ""]),
    "names": ("list[str]", ["a", "[1]", "[[a]]", '["\\uD800"]']),
    "bins": ("list[int], one or more in [2, 50]", ["[]", "[5, 51]", "[5, 2.5]", "5"]),
    "within": ("dict[str, float]", ["{a: b}", "{1: 2.0}", "[1]"]),
    "delta": ("float | None in (0, 1)", ["1"]),
    "data": ("str", ["\udcff.csv"]),  # a name of a file in Latin-1
    "seed": ("int in [0, inf)", ["-1", "null"]),
    "sead": ("unknown parameter 'sead' (known: n, share,", ["1"]),
    "output_dir": ("unknown parameter 'output_dir'", ["x"]),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_bad_value_is_one_line_and_starts_nothing(name):
    allowed, values = VALUES[name]
    for value in values:
        message = refused("run", "toy", "-p", name, value)
        assert name in message
        assert allowed in message


USAGE = {
    "run tou": "unknown paper 'tou' (known: toy)",
    "run toy --profile publish": (
        "unknown profile 'publish' (known: default, published)"
    ),
    "run toy --params nowhere.yaml": "nowhere.yaml",
    "build nothing": "unknown paper 'nothing'",
    "run toy -p data nowhere.csv": "toy: file 'nowhere.csv' does not exist",
    "sweep notebooks/toy.py --shard 0/3": "i/n",
    "sweep notebooks/toy.py --shard 4/3": "i/n",
    "sweep notebooks/toy.py --shard 1": "i/n",
    "grade .": "No such command",  # Python cannot confine Python
}


@pytest.mark.parametrize(("arguments", "message"), USAGE.items())
def test_bad_usage_starts_no_kernel(arguments, message):
    assert message in refused(*arguments.split())


LARGE = {"scipy.stats._stats_py", "numba", "sklearn", "altair", "papermill"}
TABLES = LARGE | {"pandas"}
EARLY = [  # errors that show without reading the files, or from their first lines
    ("--within job -1", "-1.0 is not in the range 0<x<inf", TABLES),
    ("--within job near", "'near' is not a valid float", TABLES),
    ("--schema nowhere.yaml", "file 'nowhere.yaml' does not exist", TABLES),
    ("--holdout nowhere.csv", "file 'nowhere.csv' does not exist", TABLES),
    ("--keys jobb", "keys names 'jobb'; available are job, town, sick", LARGE),
]


@pytest.mark.parametrize(("options", "message", "unneeded"), EARLY)
def test_a_wrong_option_is_reported_before_libraries_are_loaded(
    options, message, unneeded
):
    toy.write_records(Path())
    command = [sys.executable, "-X", "importtime", "-m", "srlib", "assess"]
    command += ["original.csv", "made.csv", *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    imported = set(re.findall(r"\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "click" in imported
    assert imported.isdisjoint(unneeded)
    assert message in done.stderr.splitlines()[-1]


SWEEPS = {
    "gird: {n: [1]}": "gird: Extra inputs are not permitted",
    "grid: {n: [1, 500]}": "n = 500; it must be int in",
    "grid: {n: [1]}\npoints: [{n: 2}]": "n is varied in two places",
    "replicates: 0": "replicates: Input should be greater than or equal to 1",
    "points: []": "points: List should have at least 1 item",
    "grid: {m: [1]}": "unknown parameter 'm'",
    "base: {output_dir: x}": "unknown parameter 'output_dir'",
    "collect: [/tmp/original]": "collect.0: String should match pattern",
}


@pytest.mark.parametrize(("text", "message"), SWEEPS.items())
def test_a_wrong_sweep_starts_nothing(text, message):
    Path("sweep_x.yaml").write_text(f"paper: toy\n{text}\n")
    assert message in refused("sweep", "sweep_x.yaml")


def test_all_errors_are_reported_at_once():
    Path("params/toy/published.yaml").write_text("n: 0\nshare: 2\nnam: 3\n")
    result = call("run", "toy", "--profile", "published", "-p", "names", "[1]")
    names = re.findall(r"toy: (\w+)", result.stderr.partition("Error: ")[2])
    assert sorted(names) == ["n", "names", "share", "unknown"]


CELLS = {
    "n: int = 0  # [1, 9] a": "n = 0; it must be int in [1, 9]",
    "n = 3": "not an annotated literal",
    "n: int = 3  # [1, 9] a": "declares output_dir",
    "n: Path = 3": "name 'Path' is not defined",
    "n: int = 1 + 1": "malformed node",
}


@pytest.mark.parametrize(("cell", "message"), CELLS.items())
def test_a_wrong_parameters_cell_is_refused(cell, message):
    text = f'# %% tags=["parameters"]\n{cell}\n# %%\noutput_dir: str = ""\n'
    Path("toy.py").write_text(text)
    with pytest.raises(parameters.UsageError, match=re.escape(message)):
        parameters.read_parameters(Path("toy.py"))


# --------------------------------------------------------------------------- parameters


def test_values_come_from_defaults_profile_file_and_command_in_this_order(project):
    Path("params/toy/published.yaml").write_text("n: 5\nshare: 1\nnames: [b]\n")
    Path("010").write_text("share: 0.25\nmethod: simulated\nwithin: {a: 2}\n")
    given = {"names": "[c]", "data": "010", "seed": str(2**128), "delta": "null"}
    request = resolve(project, Path("o"), "toy", "published", Path("010"), given)
    assert request.folder == project / "o/toy/published"
    assert request.changed == {
        "share": 0.25,
        "method": "simulated",
        "within": {"a": 2.0},
        "names": ["c"],
        "data": "010",
        "seed": 2**128,
        "delta": None,
    }
    assert request.parameters == {"n": 5, "bins": [5, 10], **request.changed}


@pytest.mark.parametrize("paper", parameters.find_papers(ROOT))
def test_no_count_of_a_notebook_is_without_end_and_no_file_a_text(paper):
    declared = parameters.read_parameters(ROOT / f"notebooks/{paper}.py")
    for name, parameter in declared.items():
        is_number = re.fullmatch(r"(list\[)?(int|float)\]?", parameter.annotation)
        is_bounded = re.fullmatch(r".* in .*\d[)\]]", parameter.allowed)
        assert not is_number or is_bounded or name == "seed"
        if "str" in parameter.annotation and re.search(r"files?\b", parameter.help):
            assert name in parameters.FILE_PARAMETERS


def test_files_count_by_their_contents(tmp_path):
    (tmp_path / "tool").mkdir()
    for name in ("tool/b.csv", "tool/a.csv", "tool/.hidden", "one.csv"):
        (tmp_path / name).write_text(name)
    given = {"original": "nowhere.csv", "released": ["tool/", "one.csv"], "schema": ""}
    hashes = hash_inputs(given)

    assert list(hashes) == ["tool/a.csv", "tool/b.csv", "one.csv"]
    assert len({*hashes.values()}) == 3
    (tmp_path / "one.csv").write_text("tool/a.csv")
    assert hash_inputs({"data": "one.csv"}) == {"one.csv": hashes["tool/a.csv"]}


def test_where_papers_come_from_and_outputs_go(project):
    """Results are never written beside papers elsewhere."""
    below = project / "params/toy"
    elsewhere = project.parent
    assert find_root(below) == project
    assert find_outputs(below) == project / "outputs"
    assert find_root(elsewhere) == ROOT
    assert find_outputs(elsewhere) == elsewhere / "outputs"


# ---------------------------------------------------------------- what is there already


@pytest.mark.parametrize("output", ["README/x", "x" * 300])
@pytest.mark.parametrize("command", ["run toy", "sweep sweep_x.yaml"])
def test_a_folder_that_cannot_be_made_is_reported_in_one_line(command, output):
    Path("README").touch()
    Path("sweep_x.yaml").write_text("paper: toy\ngrid: {n: [1]}\n")
    result = call(*command.split(), "--output", output)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert result.stderr.startswith("Error: [Errno ")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("name", [b"caf\xe9.csv", b"a\x1b[31mb.csv", b"a\nb.csv"])
def test_names_that_a_terminal_obeys_or_cannot_show_are_quoted(name):
    file = os.fsdecode(name)
    folder = f"folder-{file}"
    damaged = f"damaged-{file}"
    toy.write_records(Path())
    shutil.copy("made.csv", file)
    Path(folder).mkdir()
    Path(damaged).write_bytes(b"job,town,sick\n\xff,\xff,\xff\n")
    assess = ("assess", "original.csv", file, "--output", folder)

    assessed = call(*assess)
    assert assessed.exit_code == 0
    assert repr(file) in assessed.stdout
    (page,) = Path(folder).glob("assess/*/report.html")
    assert html.escape(repr(file)) in page.read_text("utf-8")
    report = json.loads(call(*assess, "--json").stdout)["report"]
    assert report.startswith(f"{Path(folder).resolve()}/assess/")

    commands = [
        ["assess", damaged, file],
        ["assess", "original.csv", folder],
        ["schema", damaged],
        ["report", folder],
        ["run", "toy", "--params", damaged],
        ["sweep", damaged],
    ]
    for command in commands:
        assert refused(*command).removesuffix("\n").isprintable()
    if not name.isascii():  # no notebook can hold it
        refusal = call("run", "toy", "--output", folder).stderr
        assert "/toy/default'; its path must be UTF-8" in refusal


def test_no_assessment_replaces_another():
    toy.write_records(Path())
    for _ in range(2):
        assert call("assess", "original.csv", "made.csv").exit_code == 0
    reports = [*Path("outputs/assess").glob("made-*/report.html")]
    assert len(reports) == 2
    assert reports[0].read_bytes() == reports[1].read_bytes()


NESTED = "[" * 100_000
NOTEBOOK = '{{"cells": {}, "metadata": {{}}, "nbformat": {}, "nbformat_minor": 5}}'
CELL = '[{"cell_type": "markdown", "source": "SECRET"}]'  # without an id
NOTEBOOKS = [
    NOTEBOOK.format("[]", 99),
    NOTEBOOK.format("5", 4),
    NOTEBOOK.format(CELL, 4),
]
DAMAGED = {
    "notebook.ipynb": ["SECRET", "[]", "5", "null", "{}", "\xff", NESTED, *NOTEBOOKS],
    "provenance.json": ["{", "[]", "5", "null", "\xff", NESTED, '{"versions": 5}'],
    "parameters.yaml": ["a: [", "\xff", "5", "[" * 3000],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_reports_name_the_file_that_is_damaged(tmp_path, name):
    run = toy.finished(tmp_path)
    for content in DAMAGED[name]:
        (run / name).write_text(content, encoding="latin-1")
        message = refused("report", run)
        assert f"toy/published/{name} cannot be read: " in Path(message).as_posix()
        assert "SECRET" not in message
    (run / name).unlink()
    if hasattr(os, "mkfifo"):  # which would be waited for
        os.mkfifo(run / name)
        assert f"toy/published/{name}" in refused("report", run)


@pytest.mark.parametrize("name", [*DAMAGED, "figures/first.svg", "tables"])
def test_a_report_follows_no_links(tmp_path, name):
    """A page may be passed on, and a link's target is not part of the run."""
    run = toy.finished(tmp_path)
    (run / "figures").mkdir()
    elsewhere = tmp_path / "mine"
    elsewhere.write_text("password: SECRET")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(elsewhere)
    message = refused("report", run)
    assert f"toy/published/{name} is a link; a run's files must be regular" in message
    assert not (run / "report.html").exists()


def test_a_report_is_written_and_opened(tmp_path, monkeypatch):
    """Also of a run that a killed process was about to replace."""
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    report = toy.finished(tmp_path) / "report.html"
    toy.leave_hidden(report.parent)
    assert call("report", report.parent, "--open").output == f"{report}\n"
    assert report.is_file()
    assert opened == [str(report)]
    message = refused("report", tmp_path)
    assert "notebook.ipynb cannot be read: [Errno 2] No such file" in message
