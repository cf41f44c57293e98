"""The command line: its help, what it refuses before a kernel, and one line for each failure."""

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import click
import pytest
import toy
from click.testing import CliRunner, Result

from srlib.runner.cli import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(toy.make(tmp_path))
    (tmp_path / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    return tmp_path


def srlib(*arguments: str, **settings: Any) -> Result:
    return CliRunner().invoke(main, arguments, **settings)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument 'PAPER...'"),
        (["run", "tou"], "unknown paper 'tou' (known: other, toy)"),
        (["run", "toy", "--profile", "publish"], "(known: default, published)"),
        (["run", "other", "--profile", "published"], "other: unknown profile 'published'"),
        (["run", "toy", "--params", "nowhere.yaml"], "nowhere.yaml"),
        (["build", "nothing"], "unknown paper 'nothing'"),
        (["sweep", "nowhere.yaml"], "nowhere.yaml"),
        (["sweep", "notebooks/toy.py", "--jobs", "0"], "--jobs"),
        *((["sweep", "notebooks/toy.py", "--shard", part], "i/n") for part in ("0/3", "4/3", "1")),
        (["grade", "."], "No such command"),  # Python cannot confine Python
    ],
)
def test_bad_usage_starts_no_kernel(project: Path, arguments: list[str], message: str) -> None:
    result = srlib(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert {path.name for path in project.iterdir()} == {"notebooks", "params"}


@pytest.mark.parametrize("output", ["README/x", "x" * 300])
@pytest.mark.parametrize("command", [["run", "toy"], ["sweep", "sweep_x.yaml"]])
def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    project: Path, command: list[str], output: str
) -> None:
    (project / "README").touch()
    (project / "sweep_x.yaml").write_text("paper: toy\ngrid: {n: [1]}\n")
    result = srlib(*command, "--output", output)
    assert result.exit_code == 1, result.output
    assert re.fullmatch(r"Error: .*(Not a directory|File name too long): '.*'\n", result.stderr)


def test_a_report_is_written_and_opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    folder = toy.finished(project / "outputs", "people.csv")
    assert srlib("report", str(folder), "--open").exit_code == 0
    assert srlib("report", str(folder), "--public").exit_code == 0
    assert opened == [str(folder / "report.html")]
    assert "record 12" in (folder / "report.html").read_text(encoding="utf-8")
    assert "record 12" not in (folder / "report-public.html").read_text(encoding="utf-8")
    result = srlib("report", "params")
    assert (result.exit_code, result.stderr) == (
        1, "Error: [Errno 2] No such file or directory: 'params/notebook.ipynb'\n",
    )  # fmt: skip
