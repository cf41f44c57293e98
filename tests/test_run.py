"""Runs by the command: complete or kept as failed, private, and ended by any signal."""

import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import killed
import nbformat
import pytest
import toy

from srlib.__main__ import ended_by_signals
from srlib.runner import files, run
from srlib.runner.parameters import resolve

SCRIPT = str(Path(sys.executable).with_name("srlib"))
LOOK = f"""{toy.MARK}
import numpy
from threadpoolctl import threadpool_info
outputs.result("threads", max(pool["num_threads"] for pool in threadpool_info()))
"""
WHOLE = [
    "notebook.ipynb",
    "parameters.yaml",
    "provenance.json",
    "report.html",
    "results.json",
    "tables/values.csv",
]
STOPPED = "cell 4: stopped"
REPLACE = [sys.executable, killed.__file__]


def srlib(work, *arguments, **environment):
    done = subprocess.run(
        [SCRIPT, *arguments],
        cwd=work,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "from the working folder" not in done.stdout + done.stderr
    return done


def read_json(path):
    return json.loads(path.read_text())


def write_notebook(line, more=""):
    """Write the notebook with another line in the place of the marked one."""
    Path("notebooks/toy.py").write_text(toy.TEXT.replace(toy.MARK, line) + more)


def test_a_run_is_whole_and_its_owners_alone(project, work):
    write_notebook(LOOK, toy.TABLE)
    long = project / ("long" * 30)  # for a path of a socket
    long.mkdir()
    environment = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}

    options = ["--profile", "published", "-p", "names", "[x, y]", "--output", "out"]
    done = srlib(work, "run", "toy", *options, TMPDIR=str(long), **environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "toy: out/toy/published/report.html\n"
    (final,) = (work / "out/toy").iterdir()
    written = sorted(path for path in final.rglob("*") if path.is_file())
    assert [path.relative_to(final).as_posix() for path in written] == WHOLE
    for path in written:
        assert str(project) not in path.read_text("utf-8")
    for path in (final, *final.rglob("*")):
        assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
    assert read_json(final / "results.json") == {"threads": 1, "total": 5.0}
    provenance = read_json(final / "provenance.json")
    expected = {
        "status": "complete",
        "changed_parameters": {"names": ["x", "y"]},
        "seed": 1,
    }
    assert provenance == provenance | expected
    assert len(provenance["source_sha256"]) == 64


def test_the_assessment_imports_nothing_from_the_working_folder(work):
    toy.write_records(work)
    done = srlib(work, "assess", "original.csv", "made.csv", "--fail-on", "review")
    assert (done.returncode, done.stderr) == (3, "made.csv: do not release\n")


@toy.posix
def test_a_run_that_is_told_to_end_leaves_nothing(project):
    write_notebook(toy.WAITS)
    process = subprocess.Popen(
        [SCRIPT, "run", "toy"],
        stderr=subprocess.PIPE,
        text=True,
        # Ignored under nohup.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    kernel, _ = toy.kernel()
    process.send_signal(signal.SIGHUP)
    _, message = process.communicate(timeout=60)
    assert (process.returncode, message.strip()) == (1, "Aborted!")
    assert list((project / "outputs/toy").iterdir()) == []
    toy.wait_until(lambda: not toy.alive(kernel))


class Ends:
    """An object whose destructor, where Python ignores errors, gets a signal to end."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)


@toy.posix
def test_a_signal_ends_what_runs_wherever_it_comes():
    def in_a_destructor():
        with ended_by_signals():
            Ends()
            toy.wait_until(lambda: False)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        in_a_destructor()
    assert signal.getsignal(signal.SIGTERM) == before


@toy.posix
def test_a_second_signal_ends_what_has_caught_the_first(monkeypatch):
    with ended_by_signals():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)  # at once: they come in pairs
        monkeypatch.setattr("srlib.__main__._APART", 0.0)  # as if a second had gone by
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_built_notebook_has_no_paths(project, monkeypatch):
    """And a failed build replaces nothing."""
    result = toy.call("build", "toy")
    assert (result.exit_code, result.output) == (0, "toy: notebooks/toy.ipynb\n")
    built = project / "notebooks/toy.ipynb"
    first = built.read_text("utf-8")
    assert "papermill" not in first
    assert str(project) not in first
    normalized = run.normalized(nbformat.read(built, as_version=4))
    assert nbformat.writes(normalized) + "\n" == first

    monkeypatch.setattr(run, "_execute", lambda *_, **__: STOPPED)
    result = toy.call("build", "toy")
    assert (result.exit_code, result.stderr) == (1, f"Error: toy: {STOPPED}\n")
    assert built.read_text("utf-8") == first


# --------------------------------------------------------------------- without a kernel


def execute(project, changed="unread", error="", **given):
    """Run the notebook without a kernel, while a file changes or the run fails."""

    def executed(source, saved, *_, **__):
        saved.write_text("{}")
        (project / changed).write_text("2")
        return error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_execute", executed)
        return run.run(resolve(project, project / "outputs", "toy", overrides=given))


CHANGED = {
    "records.csv": "a data file was changed during the run",
    "notebooks/toy.py": "the notebook or the library was changed during the run",
    "unread": STOPPED,
}


@pytest.mark.parametrize(("changed", "reason"), CHANGED.items())
def test_a_run_not_to_be_trusted_is_kept_as_failed(project, changed, reason):
    """And a complete run stays."""
    Path("records.csv").write_text("1")
    complete = execute(project, data="records.csv") / "provenance.json"
    before = read_json(complete)

    message = f"^toy: {reason}\nkept: outputs/toy/default.failed"
    error = STOPPED if reason == STOPPED else ""
    with pytest.raises(run.NotebookFailed, match=message):
        execute(project, changed, error, data="records.csv")

    failed = read_json(Path("outputs/toy/default.failed/provenance.json"))
    assert (failed["status"], failed["error"]) == ("failed", reason)
    assert failed["source_sha256"] == before["source_sha256"]
    assert read_json(complete) == before


@pytest.mark.parametrize("name", ["default", "default.failed"])
@pytest.mark.parametrize(
    "files", [["thesis.txt"], [".thesis"], ["provenance.json", "notes.md"]]
)
def test_a_folder_that_no_run_has_written_stays(project, name, files):
    folder = project / "outputs/toy" / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
    with pytest.raises(FileExistsError, match="this is not the folder of a run"):
        execute(project)
    assert [path.name for path in folder.parent.iterdir()] == [name]
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)


def interrupted(final, number, when):
    """Return whether replacing a run reached a system call, where it is interrupted."""

    def interrupt():
        raise KeyboardInterrupt

    try:
        with pytest.MonkeyPatch.context() as patch:
            killed.end_at(number, when, interrupt, patch.setattr)
            killed.write(final, "new")
    except KeyboardInterrupt:
        return True
    return False


def killed_at_once(final, number, when):
    """Do the same in another process, which is killed."""
    command = [*REPLACE, str(final), str(number), when]
    return subprocess.run(command, timeout=60).returncode == -signal.SIGKILL


# Interrupted before anything was in the folder.
@pytest.mark.filterwarnings("ignore:unclosed file")
@pytest.mark.parametrize(
    "end", [interrupted, pytest.param(killed_at_once, marks=toy.posix)]
)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("earlier", ["earlier", "nothing"])
def test_nothing_that_was_finished_is_lost(tmp_path, earlier, when, end):
    """At any system call: nothing incomplete is in place, no hidden folder stays."""
    outcomes = []
    for number in itertools.count(1):
        final = tmp_path / f"{number}/run"
        if earlier == "earlier":
            killed.write(final, earlier)
        was_ended = end(final, number, when)
        killed.write(final.with_name("next"), "next")
        assert {*final.parent.iterdir()} <= {final, final.with_name("next")}
        content = final / "provenance.json"
        outcomes.append(content.read_text() if content.exists() else "nothing")
        if not was_ended:
            break
    assert outcomes == sorted(outcomes, key=[earlier, "new"].index)
    assert {*outcomes} == {earlier, "new"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_goes_on_whenever_another_command_begins(tmp_path, when):
    """Also if its folder exists but not yet the lock that shows that it is alive."""
    final = tmp_path / "run"
    settled = list[int]()

    def settle():
        settled.append(number)
        files.settle_leftovers(tmp_path)

    for number in itertools.count(1):
        with pytest.MonkeyPatch.context() as patch:
            killed.end_at(number, when, settle, patch.setattr)
            killed.write(final, str(number))
        assert (final / "provenance.json").read_text() == str(number)
        assert {*tmp_path.iterdir()} == {final}
        if settled[-1] != number:
            break
    assert number > len(killed.CALLS)


def test_where_files_cannot_be_locked_nothing_of_others_is_removed(
    tmp_path, monkeypatch
):
    no_locks = Mock(side_effect=OSError(errno.ENOLCK, "No locks available"))
    monkeypatch.setattr(files, "_lock", no_locks)
    killed.write(final := tmp_path / "run", "earlier")
    with files.hidden_folder(final) as others:
        killed.write(final, "new")
        assert others.is_dir()
    assert {*tmp_path.iterdir()} == {final}


@toy.posix
def test_a_run_in_another_container_goes_on(tmp_path):
    """Two containers may share a folder, host name and process IDs."""
    container = [
        "unshare",
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ]
    if not shutil.which("unshare") or subprocess.run([*container, "true"]).returncode:
        pytest.skip("no containers are allowed here")
    # The numbers of its processes are larger than those of the second.
    numbers = 'for _ in 1 2 3; do true & done; wait; "$@"; exit $?'
    first = [*container, "sh", "-c", numbers, "sh", *REPLACE]
    second = [*container, *REPLACE, str(tmp_path / "other"), "0", ""]
    # It waits as soon as it has made its folder.
    first += [str(tmp_path / "run"), "4", "after", "wait"]
    waiting = subprocess.Popen(first, stdin=subprocess.PIPE)
    toy.wait_until(lambda: [*tmp_path.glob(".run*/new")])
    subprocess.run(second, check=True)
    waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"run", "other"}


def test_a_full_disk_leaves_what_is_there(tmp_path, monkeypatch):
    def full(path, content):
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    report = toy.finished(tmp_path) / "report.html"
    report.write_text("before")
    before = {*tmp_path.rglob("*")}
    monkeypatch.setattr(Path, "write_bytes", full)
    result = toy.call("report", report.parent)
    assert result.exit_code == 1
    assert result.stderr == "Error: [Errno 28] No space left on device\n"
    assert report.read_text() == "before"
    assert {*tmp_path.rglob("*")} == before
