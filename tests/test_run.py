"""Runs by the command: whole or kept as failed, for their owner alone, and ended by any signal."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import toy
from click.testing import CliRunner

from srlib.rng import stream
from srlib.runner import files, run
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


def dead() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def test_a_run_is_whole_and_its_owners_alone(tmp_path: Path, work: Path) -> None:
    project = toy.make(tmp_path, toy.TEXT.replace(toy.MARK, LOOK) + toy.TABLE)
    final = work / "out/toy/published"
    mine = files.temporary(final)
    killed = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{dead()}-"))
    for leftover in (mine, killed, killed.with_name(f"{killed.name}-older")):
        leftover.mkdir(parents=True)
        (leftover / "records.csv").touch()
    given = ("--profile", "published", "-p", "names", "[x, y]", "--output", "out")
    done = srlib(work, "run", "toy", *given, OPENBLAS_NUM_THREADS="2", OMP_NUM_THREADS="2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "toy: out/toy/published/report.html\n"
    assert {path.name for path in final.parent.iterdir()} == {mine.name, "published"}
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


def test_runs_that_fail_are_kept_and_what_was_whole_stays(tmp_path: Path, work: Path) -> None:
    """Side by side: in one a cell fails, during the other its data change. Both are on a file."""
    declared = toy.TEXT.replace("a file that is not read", "CSV file of records")
    toy.make(tmp_path, declared)
    for name, line in {"edits": 'Path(data).write_text("2")', "wrong": "assert 0, data"}.items():
        text = declared.replace(toy.MARK, line)
        (tmp_path / f"notebooks/{name}.py").write_text(text, encoding="utf-8")
    (work / "records.csv").write_text("1")
    whole = work / "out/wrong/default/provenance.json"
    whole.parent.mkdir(parents=True)
    whole.write_text("{}")
    given = ("-p", "data", "records.csv", "--jobs", "2", "--output", "out")
    done = srlib(work, "run", "edits", "wrong", *given)
    assert (done.returncode, done.stdout) == (1, "")
    told = {
        "edits": "a file of data was changed after the start",
        "wrong": "code cell 2, under 'A toy': AssertionError",  # messages may have values
    }
    for name, why in told.items():
        assert f"{name}: {why}\nkept: out/{name}/default.failed\n" in done.stderr
        kept = work / f"out/{name}/default.failed"
        assert json.loads((kept / "provenance.json").read_text())["error"] == why
        assert (kept / "notebook.ipynb").is_file()
    executed = nbformat.read(work / "out/wrong/default.failed/notebook.ipynb", as_version=4)
    assert "'evalue': 'records.csv'" in str(executed)
    assert {path.name for path in whole.parents[1].iterdir()} == {"default", "default.failed"}
    assert whole.read_text() == "{}"


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
    monkeypatch.setattr(run, "_execute", stopped)
    result = CliRunner().invoke(main, ["build", "toy"])
    assert (result.exit_code, result.stderr) == (1, "toy: code cell 2: stopped\n")
    assert built.read_text(encoding="utf-8") == first
    assert {path.name for path in built.parent.iterdir()} == {"toy.py", "toy.ipynb", "started"}


# ------------------------------------------------------------------------------ without a kernel


def stopped(*_: Any, **__: Any) -> None:
    raise run.NotebookFailed("code cell 2: stopped")


def execute(project: Path) -> Path:
    return run.run(project, resolve(project, "toy"), project / "outputs", with_report=False)


def test_a_run_that_cannot_be_trusted_or_reported_is_kept_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notebook changes meanwhile; or there is nothing to report."""
    project = toy.make(tmp_path)
    notebook = project / "notebooks/toy.py"
    begun = run.source_hash(notebook.read_bytes())
    kept = project / "outputs/toy/default.failed"
    monkeypatch.setattr(run, "_execute", lambda *_, **__: None)
    with pytest.raises(run.NotebookFailed, match="kept: "):
        run.run(project, resolve(project, "toy"), project / "outputs")
    assert (kept / "parameters.yaml").is_file()
    monkeypatch.setattr(run, "_execute", lambda *_, **__: notebook.write_text("other"))
    with pytest.raises(run.NotebookFailed, match="toy: the notebook or the library was changed"):
        execute(project)
    about = json.loads((kept / "provenance.json").read_text())
    assert (about["status"], about["source_sha256"]) == ("failed", begun)
    assert not kept.with_name("default").exists()


@pytest.mark.parametrize("name", ["default", "default.failed"])
@pytest.mark.parametrize("held", [["thesis.txt"], ["provenance.json", "notes.md"]])
def test_a_folder_that_no_run_has_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, held: list[str]
) -> None:
    project = toy.make(tmp_path)
    monkeypatch.setattr(run, "_execute", lambda *_, **__: None)
    folder = project / "outputs/toy" / name
    folder.mkdir(parents=True)
    for file in held:
        (folder / file).touch()
    with pytest.raises(run.NotebookFailed, match="is no run's folder and stays as it is"):
        execute(project)
    assert [path.name for path in folder.parent.iterdir()] == [name]
    assert sorted(path.name for path in folder.iterdir()) == sorted(held)
    folder.rename(project / "away")
    assert execute(project) == execute(project) == project / "outputs/toy/default"


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
    assert (result.exit_code, result.stderr) == (1, "File too large\n")
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_streams_of_chance_stay_as_they_are() -> None:
    assert stream(1, "x").integers(2**63) == 2093427476178716424
