"""Runs by the command: whole or kept as failed, for their owner alone, and ended by any signal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
import toy
from click.testing import CliRunner

from srlib.rng import stream
from srlib.runner import run
from srlib.runner.cli import main
from srlib.runner.parameters import resolve

SCRIPT = str(Path(sys.executable).with_name("srlib"))
HOSTILE = ("json", "pickle", "queue", "numpy", "pyarrow", "ipykernel_launcher", "traitlets")
LOOK = f"""{toy.MARK}
import numpy
from threadpoolctl import threadpool_info
outputs.result("threads", max(found["num_threads"] for found in threadpool_info()))
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working folder below the project, with modules in it that end whatever imports them."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in HOSTILE:
        (folder / f"{name}.py").write_text("raise SystemExit('from the working folder')\n")
    return folder


def srlib(work: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [SCRIPT, *arguments], cwd=work, capture_output=True, text=True, timeout=100,
        env=os.environ | environment,
    )  # fmt: skip
    assert "from the working folder" not in done.stdout + done.stderr
    return done


def test_a_run_is_whole_and_its_owners_alone(tmp_path: Path, work: Path) -> None:
    project = toy.make(tmp_path, toy.TEXT.replace(toy.MARK, LOOK) + toy.TABLE)
    final = work / "out/toy/published"
    other = final.with_name(f".published-{os.getpid()}-a1b2c3d4")  # that another run is writing
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for leftover in (other, final.with_name(f".published-{gone.pid}-a1b2c3d4")):
        leftover.mkdir(parents=True)
        (leftover / "records.csv").touch()
    given = ("--profile", "published", "-p", "names", "[x, y]", "--output", "out")
    done = srlib(work, "run", "toy", *given, OPENBLAS_NUM_THREADS="2", OMP_NUM_THREADS="2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "toy: out/toy/published/report.html\n"
    assert {path.name for path in final.parent.iterdir()} == {other.name, "published"}
    held = sorted(path.relative_to(final).as_posix() for path in final.rglob("*"))
    assert held == [
        "notebook.ipynb", "parameters.yaml", "provenance.json", "report.html", "results.json",
        "tables", "tables/values.csv",
    ]  # fmt: skip
    for path in (final, *final.rglob("*")):
        assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
    assert json.loads((final / "results.json").read_text()) == {"threads": 1, "total": 5.0}
    provenance = json.loads((final / "provenance.json").read_text())
    assert provenance["status"] == "complete"
    assert provenance["changed_parameters"] == {"names": ["x", "y"]}
    assert provenance["seed"] == 1
    assert len(provenance["source_sha256"]) == 64
    assert {"'n': 5", "method: exact"} <= set((final / "parameters.yaml").read_text().splitlines())
    for name in ("notebook.ipynb", "report.html"):
        assert str(project) not in (final / name).read_text(encoding="utf-8")


def test_the_assessment_imports_nothing_from_the_working_folder(work: Path) -> None:
    rows = "a,north,no\nb,south,yes\nb,north,no\nc,south,no\n" * 5
    for name in ("original.csv", "made.csv"):
        (work / name).write_text(f"job,town,sick\n{rows}")
    done = srlib(work, "assess", "original.csv", "made.csv", "--fail-on", "look")
    assert (done.returncode, done.stderr) == (3, "")


@toy.posix
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    toy.make(tmp_path, toy.TEXT.replace(toy.MARK, toy.WAITS))
    process = subprocess.Popen(
        [SCRIPT, "run", "toy"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # ignored under nohup
    )  # fmt: skip
    kernel, _ = toy.kernel(tmp_path)
    process.send_signal(signal.SIGHUP)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.strip()) == (1, "Aborted!")
    assert list((tmp_path / "outputs/toy").iterdir()) == []
    toy.wait_until(lambda: not toy.alive(kernel))


def test_a_built_notebook_is_as_jupyterlab_saves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = "from IPython.display import JSON; display(JSON({'a': float(1), 'b': 0.25}))"
    monkeypatch.chdir(toy.make(tmp_path, toy.TEXT.replace(toy.MARK, f"{toy.MARK}; {number}")))
    result = CliRunner().invoke(main, ["build", "toy"])
    assert (result.exit_code, result.output) == (0, "toy: notebooks/toy.ipynb\n")
    built = tmp_path / "notebooks/toy.ipynb"
    first = built.read_text(encoding="utf-8")
    assert re.search(r'"a": 1,\s+"b": 0.25\n', first)
    assert "papermill" not in first
    assert str(tmp_path) not in first
    again = run.normalized(nbformat.read(built, as_version=4))
    assert nbformat.writes(again) + "\n" == first
    monkeypatch.setattr(run, "_execute", lambda *_, **__: STOPPED)
    result = CliRunner().invoke(main, ["build", "toy"])
    assert (result.exit_code, result.stderr) == (1, "Error: toy: cell 4: stopped\n")
    assert built.read_text(encoding="utf-8") == first
    assert {path.name for path in built.parent.iterdir()} == {"toy.py", "toy.ipynb", "started"}


# ------------------------------------------------------------------------------ without a kernel


STOPPED = "cell 4: stopped"


def execute(project: Path, does: Callable[[], object] = int, **given: str) -> Path:
    """Run a notebook of which nothing is executed but what is given; a text is its error."""

    def pretended(text: bytes, saved: Path, *_: Any, **__: Any) -> str:
        saved.write_text("{}")
        told = does()
        return told if isinstance(told, str) else ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_execute", pretended)
        request = resolve(project, project / "outputs", "toy", overrides=given)
        return run.run(request)


def test_a_run_that_cannot_be_trusted_is_kept_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook or the data change meanwhile, or the notebook fails; what was whole stays."""
    project = toy.make(tmp_path, toy.TEXT.replace("a file that is not read", "CSV file of records"))
    monkeypatch.chdir(project)
    data, notebook = project / "records.csv", project / "notebooks/toy.py"
    data.write_text("1")
    whole = execute(project, data=data.name) / "provenance.json"
    before, kept = whole.read_text(), whole.parents[1] / "default.failed"
    begun = run.source_hash(notebook)
    changes: dict[str, Callable[[], object]] = {
        "a file of data was changed after the start": lambda: data.write_text("2"),
        STOPPED: lambda: STOPPED,
        "the notebook or the library was changed after the start": lambda: notebook.write_text(""),
    }
    for why, does in changes.items():
        with pytest.raises(
            run.NotebookFailed, match=f"^toy: {why}\nkept: outputs/toy/default.fail"
        ):
            execute(project, does, data=data.name)
        about = json.loads((kept / "provenance.json").read_text())
        assert (about["status"], about["error"], about["source_sha256"]) == ("failed", why, begun)
        assert (kept / "parameters.yaml").is_file()
        assert whole.read_text() == before


@pytest.mark.parametrize("name", ["default", "default.failed"])
@pytest.mark.parametrize("held", [["thesis.txt"], [".thesis"], ["provenance.json", "notes.md"]])
def test_a_folder_that_no_run_has_written_stays(tmp_path: Path, name: str, held: list[str]) -> None:
    project = toy.make(tmp_path)
    folder = project / "outputs/toy" / name
    folder.mkdir(parents=True)
    for file in held:
        (folder / file).touch()
    with pytest.raises(FileExistsError, match="it is no run's folder and stays"):
        execute(project)
    assert [path.name for path in folder.parent.iterdir()] == [name]
    assert sorted(path.name for path in folder.iterdir()) == sorted(held)
    folder.rename(project / "away")
    final = execute(project)
    left = final / f".report.html-{os.getpid()}-a1b2c3d4"  # by a killed `srlib report`
    left.mkdir()
    assert execute(project) == final
    assert not left.exists()


@toy.posix
def test_a_full_disk_leaves_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file may grow beyond 100,000 bytes: a report does."""
    resource = pytest.importorskip("resource")
    monkeypatch.chdir(tmp_path)
    report = ["report", str(toy.finished(tmp_path))]
    assert CliRunner().invoke(main, report).exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        result = CliRunner().invoke(main, report)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.exit_code, result.stderr) == (1, "Error: [Errno 27] File too large\n")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_streams_of_chance_stay_as_they_are() -> None:
    assert stream(1, "x").integers(2**63) == 2093427476178716424
