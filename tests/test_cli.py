"""The command line on a toy project: what runs, what is kept, what is refused before a kernel."""

import importlib.metadata
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest
import toy
from click.testing import CliRunner, Result

from srlib.runner import run
from srlib.runner.cli import main
from srlib.runner.parameters import Request, resolve


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(toy.make(tmp_path))
    return tmp_path


def srlib(*arguments: str, **settings: Any) -> Result:
    return CliRunner().invoke(main, arguments, **settings)


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_version() -> None:
    assert srlib("--version").output == f"srlib, version {importlib.metadata.version('srlib')}\n"


def test_run(project: Path) -> None:
    (project / "notebooks/toy.py").write_text(toy.TEXT + toy.TABLE, encoding="utf-8")
    result = srlib("run", "toy", "--profile", "published", "-p", "names", "[x, y]")
    assert (result.exit_code, result.stdout) == (0, "toy: outputs/toy/published/report.html\n")
    folder = project / "outputs/toy/published"
    assert files(project / "outputs") == [
        f"toy/published/{name}"
        for name in (
            "notebook.ipynb",
            "parameters.yaml",
            "provenance.json",
            "report.html",
            "results.json",
            "tables/values.csv",
        )
    ]
    assert (folder / "tables/values.csv").read_text().count("\n") == 6
    assert json.loads((folder / "results.json").read_text()) == {"total": 5.0}
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["status"] == "complete"
    assert provenance["changed_parameters"] == {"names": ["x", "y"]}
    assert provenance["seed"] == 1
    assert len(provenance["source_sha256"]) == 64
    parameters = (folder / "parameters.yaml").read_text()
    assert "n: 5" in parameters
    assert "method: exact" in parameters
    for name in ("notebook.ipynb", "report.html"):
        assert ".tmp-" not in (folder / name).read_text(encoding="utf-8")
        assert str(project) not in (folder / name).read_text(encoding="utf-8")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Papers and profiles that the command would run, where no kernel is started."""
    requests: list[str] = []

    def run_all(_: Path, asked: list[Request], outputs: Path, __: int) -> Iterator[Path]:
        for request in asked:
            requests.append(f"{request.paper} {request.profile}")
            yield outputs / request.paper / request.profile

    monkeypatch.setattr(run, "run_all", run_all)
    return requests


def test_what_could_be_run_is_listed_where_nothing_is_named(
    project: Path, asked: list[str]
) -> None:
    (project / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    result = srlib("run")
    assert (result.exit_code, asked) == (2, [])
    assert "name what to run, or --all of these:\n  other  A toy\n  toy    A toy" in result.output
    assert "  other  " not in srlib("run", "--profile", "published").output
    result = srlib("run", "toy", "--all")
    assert result.exit_code == 2
    assert "--all and toy; it must be one of the two" in result.output


def test_color_is_for_terminals_and_can_be_refused(project: Path) -> None:
    asked = ("run", "toy", "-p", "names", '["fail"]')
    assert "\x1b[" not in srlib(*asked).stderr
    assert "\x1b[31mtoy: code cell" in srlib(*asked, color=True).stderr
    assert "\x1b[31m" not in srlib(*asked, color=True, env={"NO_COLOR": "1"}).stderr


def test_summaries_of_commands_are_whole() -> None:
    commands = srlib("--help").output.split("Commands:")[1]
    assert "..." not in commands
    assert all(line.endswith(".") for line in commands.strip().splitlines())


def test_no_command_runs_what_students_handed_in() -> None:
    """Python cannot confine Python: the guide says to grade in a container."""
    refused = srlib("grade", ".")
    assert refused.exit_code == 2
    assert "No such command" in refused.output


def test_examples_in_help_are_as_commands_take_them(root: Path) -> None:
    found = 0
    for name, command in main.commands.items():
        for line in re.findall("^  srlib (.*)$", command.epilog or "", re.MULTILINE):
            called, *arguments = shlex.split(line)
            assert called == name
            files = [a for a in arguments if a.startswith("params/")]
            assert all((root / file).is_file() for file in files)
            if name in ("run", "course"):
                papers = [a for a in arguments[:1] if not a.startswith("-")]
                assert all((root / f"notebooks/{paper}.py").is_file() for paper in papers)
            options = {option for parameter in command.params for option in parameter.opts}
            assert {a for a in arguments if a.startswith("-")} <= options
            found += 1
    assert found >= 10


def test_runs_all_papers_when_asked(project: Path, asked: list[str]) -> None:
    (project / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    result = srlib("run", "--all", "--output", "elsewhere")
    assert (
        result.stdout
        == "other: elsewhere/other/default/report.html\ntoy: elsewhere/toy/default/report.html\n"
    )
    assert asked == ["other default", "toy default"]


def test_a_profile_runs_the_papers_that_have_it(project: Path, asked: list[str]) -> None:
    (project / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    result = srlib("run", "--all", "--profile", "published")
    assert (result.exit_code, asked) == (0, ["toy published"])
    result = srlib("run", "other", "--profile", "published")
    assert result.exit_code == 2
    assert "other: unknown profile 'published'" in result.output
    result = srlib("run", "--all", "--profile", "publishd")
    assert result.exit_code == 2
    assert "did you mean 'published'?" in result.output


SECTIONS = """
# %% [markdown]
# ## A first part

# %%
total = 1

# %%
import time; time.sleep(0.3)

# %% [markdown]
# ## Nothing to run

# %% [markdown]
# Words, and then
# ## a second part, $x$ ##

# %%
assert names != ["late"], "asked to fail late"

# %% [markdown]
# ## References
"""
WAITS = """Path("started").touch()
import time
Path("here", Path(output_dir).parent.name).touch()
while method == "simulated" and len(list(Path("here").iterdir())) < 2:
    time.sleep(0.02)
"""


def test_papers_run_beside_each_other_tell_their_sections_and_one_fails(project: Path) -> None:
    (project / "here").mkdir()
    meets = toy.TEXT.replace('Path("started").touch()\n', WAITS)
    for paper, more in (("one", SECTIONS), ("two", "")):  # each ends only when the other has begun
        (project / f"notebooks/{paper}.py").write_text(meets + more, encoding="utf-8")
    (project / "notebooks/wrong.py").write_text(
        toy.TEXT.replace('names != ["fail"]', "n < 0"), encoding="utf-8"
    )
    # Workers write to the process's own standard error, which the test does not replace.
    asked = ["one", "wrong", "two", "--jobs", "3", "-p", "method", "simulated"]
    command = [sys.executable, "-m", "srlib", "run", *asked]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    done = [f"{paper}: outputs/{paper}/default/report.html" for paper in ("one", "two")]
    assert sorted(result.stdout.splitlines()) == done
    assert "wrong: code cell 2" in result.stderr
    assert "AssertionError: asked to fail" in result.stderr
    assert (project / "outputs/wrong/default.failed/notebook.ipynb").exists()


def test_a_failing_notebook_is_kept_and_the_whole_folder_stays(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(run, "_execute_into", lambda *_: None)
        run.run(project, resolve(project, "toy"), project / "outputs", with_report=False)
    before = (project / "outputs/toy/default/provenance.json").read_text()
    result = srlib("run", "toy", "-p", "names", "[fail]")
    assert result.exit_code == 1
    assert "toy: code cell 2 (In [" in result.output
    assert "AssertionError: asked to fail" in result.output
    failed = project / "outputs/toy/default.failed"
    notebook = nbformat.read(failed / "notebook.ipynb", as_version=4)
    assert any(o.output_type == "error" for c in notebook.cells for o in c.get("outputs", []))
    assert json.loads((failed / "provenance.json").read_text())["status"] == "failed"
    assert (project / "outputs/toy/default/provenance.json").read_text() == before
    assert sorted(p.name for p in (project / "outputs/toy").iterdir()) == [
        "default",
        "default.failed",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tou"], "toy"),
        (["run", "toy", "--profile", "publish"], "published"),
        (["run", "toy", "-p", "metod", "exact"], "method"),
        (["run", "toy", "-p", "n", "many"], "int"),
        (["run", "toy", "-p", "n", "2.5"], "int"),
        (["run", "toy", "-p", "n", "true"], "int"),
        (["run", "toy", "-p", "n", "0"], "[1, 100]"),
        (["run", "toy", "-p", "share", "0"], "(0, 1]"),
        (["run", "toy", "-p", "share", "nan"], "share"),
        (["run", "toy", "-p", "method", "guess"], "{exact, simulated}"),
        (["run", "toy", "-p", "names", "a"], "list[str]"),
        (["run", "toy", "-p", "seed", "null"], "null"),
        (["run", "toy", "-p", "rules", "[{rr_at_most: 2, r_at_least: 1}]"], "covers nothing"),
        (["run", "toy", "-p", "rules", "[{rr: 2}]"], "needs rr_at_most"),
        (["run", "toy", "-p", "output_dir", "x"], "--output"),
        (["run", "toy", "--params", "nowhere.yaml"], "nowhere.yaml"),
        (["build", "nothing"], "toy"),
        (["report", "params"], "notebook.ipynb"),
        (["walk"], "walk"),
    ],
)
def test_bad_usage_starts_no_kernel(project: Path, arguments: list[str], message: str) -> None:
    result = srlib(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not (project / "started").exists()
    assert not (project / "outputs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "toy", "--output", "README/x"],
        ["run", "toy", "--output", "x" * 300],
        ["sweep", "sweep_x.yaml", "--output", "README/x"],
        ["course", "toy", "--output", "README/x"],
    ],
)
def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    project: Path, arguments: list[str]
) -> None:
    (project / "README").touch()
    (project / "sweep_x.yaml").write_text("paper: toy\ngrid: {n: [1]}\n")
    exercise = '\n# %% [markdown]\n# ### Exercise 1: `one`\n\n# %% tags=["solution"]\none = 1\n'
    text = toy.TEXT + exercise + "assert one == 1\n"
    (project / "notebooks/toy.py").write_text(text, encoding="utf-8")
    jupytext.write(jupytext.reads(text, "py:percent"), project / "notebooks/toy.ipynb")
    result = srlib(*arguments)
    assert result.exit_code == 1, result.output
    assert len(result.stderr.splitlines()) == 1
    assert re.search("Not a directory|File name too long", result.stderr)
    assert not (project / "started").exists()


@toy.posix
@pytest.mark.parametrize("command", ["report", "site"])
def test_what_is_there_stays_where_the_disk_is_full(project: Path, command: str) -> None:
    """No file may grow beyond 100,000 bytes: a report does."""
    resource = pytest.importorskip("resource")
    folder = toy.finished(project / "outputs")
    of = ["report", "outputs/toy/published"] if command == "report" else ["site"]
    assert srlib(*of).exit_code == 0
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        result = srlib(*of)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["File too large"]
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    assert folder.is_dir()


def test_all_that_is_wrong_is_told_at_once_before_the_first_paper(project: Path) -> None:
    (project / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    (project / "params/toy/published.yaml").write_text("n: 0\nshare: 2\n")
    (project / "params/other").mkdir()
    (project / "params/other/published.yaml").write_text("n: 4\n")
    result = srlib("run", "--all", "--profile", "published")
    assert result.exit_code == 2
    assert "n = 0" in result.output
    assert "share = 2" in result.output
    assert not (project / "started").exists()


def test_build_is_one_way_and_repeatable(project: Path) -> None:
    assert srlib("build", "toy").exit_code == 0
    notebook = project / "notebooks/toy.ipynb"
    first = notebook.read_bytes()
    assert srlib("build", "toy").exit_code == 0
    assert notebook.read_bytes() == first
    assert str(project).encode() not in first
    assert b"papermill" not in first
    text = project / "notebooks/toy.py"
    text.write_text(toy.TEXT.replace('["a"]', '["fail"]'), encoding="utf-8")
    result = srlib("build", "toy")
    assert result.exit_code == 1
    assert "asked to fail" in result.output
    assert notebook.read_bytes() == first
    assert [p.name for p in notebook.parent.iterdir() if p.name.startswith(".tmp")] == []


def test_public_report_leaves_out_what_is_confidential(project: Path) -> None:
    (project / "people.csv").write_text("a\n", encoding="utf-8")
    folder = toy.finished(project / "outputs", "people.csv")
    for options in ([], ["--public"]):
        assert srlib("report", str(folder), *options).exit_code == 0
    assert "record 12" in (folder / "report.html").read_text(encoding="utf-8")
    assert "record 12" not in (folder / "report-public.html").read_text("utf-8")
