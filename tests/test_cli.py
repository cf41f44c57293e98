"""The command line: its help, what it refuses before a kernel, and one line for each failure."""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import toy
from click.testing import CliRunner, Result

from srlib.runner import run
from srlib.runner.cli import main
from srlib.runner.parameters import Request


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(toy.make(tmp_path))
    (tmp_path / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Papers and profiles that the command would run, where no kernel is started."""
    requests: list[str] = []

    def run_all(
        _: Path, asked: list[Request], outputs: Path, *__: int, bar: bool
    ) -> Iterator[Path]:
        for request in asked:
            requests.append(f"{request.paper} {request.profile}")
            yield outputs / request.paper / request.profile

    monkeypatch.setattr(run, "run_all", run_all)
    return requests


def srlib(*arguments: str, **settings: Any) -> Result:
    return CliRunner().invoke(main, arguments, **settings)


def test_help_is_one_page_of_whole_sentences() -> None:
    told = srlib("--help").output
    assert len(told.splitlines()) < 40
    commands = told.split("Commands:")[1].strip().splitlines()
    assert [line.split()[0] for line in commands][:5] == [
        "run", "assess", "schema", "sweep", "build",
    ]  # fmt: skip
    assert all(line.endswith(".") for line in commands)
    assert "..." not in told.split("Commands:")[1]
    version = importlib.metadata.version("srlib")
    assert srlib("--version").output == f"srlib, version {version}\n"


def test_what_could_be_run_is_listed_where_nothing_is_named(
    project: Path, asked: list[str]
) -> None:
    result = srlib("run")
    assert (result.exit_code, asked) == (2, [])
    assert "name what to run of these: other, toy\n" in result.output
    result = srlib("run", "toy", "other", "toy", "--output", "elsewhere")
    assert asked == ["toy default", "other default"]
    assert result.stdout.splitlines()[1] == "other: elsewhere/other/default/report.html"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tou"], "unknown paper 'tou', did you mean 'toy'?"),
        (["run", "toy", "--profile", "publish"], "did you mean 'published'?"),
        (["run", "tou", "othr"], "unknown paper 'othr', did you mean 'other'?"),
        (["run", "other", "--profile", "published"], "other: unknown profile 'published'"),
        (["run", "toy", "--params", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "toy", "--jobs", "0"], "--jobs"),
        (["build", "nothing"], "unknown paper 'nothing'"),
        (["report", "params"], "notebook.ipynb"),
        (["sweep", "nowhere.yaml"], "nowhere.yaml"),
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
    assert len(result.stderr.splitlines()) == 1
    assert re.search("Not a directory|File name too long", result.stderr)


def test_a_report_is_written_and_opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    folder = toy.finished(project / "outputs", "people.csv")
    assert srlib("report", str(folder), "--open").exit_code == 0
    assert srlib("report", str(folder), "--public").exit_code == 0
    assert opened == [str(folder / "report.html")]
    assert "record 12" in (folder / "report.html").read_text(encoding="utf-8")
    assert "record 12" not in (folder / "report-public.html").read_text(encoding="utf-8")
