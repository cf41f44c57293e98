"""Runs beside each other, and runs that are broken off."""

import asyncio
import hashlib
import json
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
import toy
from toy import alive, wait_until

from srlib import yamls
from srlib.data import acs
from srlib.runner import files, run
from srlib.runner.parameters import UsageError, resolve
from srlib.runner.run import _failure

SLOW = """import os, sys, time
Path(output_dir, "kernel").write_text(f"{os.getpid()} {sys.executable}")
while names == ["wait"]:
    time.sleep(0.1)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start to run the paper of the project in the test's folder."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "srlib", "run", "toy", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A kernel of this name that another environment has installed is not taken.
            env={**os.environ, "JUPYTER_PATH": str(tmp_path / "jupyter")},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@toy.posix
def test_two_at_once_and_one_interrupted(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    project = toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', SLOW))
    spec = project / "jupyter/kernels/python3/kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/no/such/python"], "display_name": "x"}))

    whole, broken = start(), start("--output", "broken", "-p", "names", "[wait]")
    told = whole.communicate(timeout=120)[0].splitlines()
    assert told[-1] == "toy: outputs/toy/default/report.html"
    assert [line.split(" (")[0] for line in told[:-1]] == ["toy: A toy"]
    interpreter = (project / "outputs/toy/default/kernel").read_text().split(" ", 1)[1]
    assert interpreter == sys.executable

    wait_until(lambda: [f for f in project.glob("broken/toy/.tmp-*/kernel") if f.read_text()])
    (mark,) = project.glob("broken/toy/.tmp-*/kernel")
    kernel = int(mark.read_text().split()[0])
    broken.send_signal(signal.SIGINT)
    told = broken.communicate(timeout=60)[0].splitlines()
    assert broken.returncode == 1
    assert [line for line in told if line] == ["Aborted!"]
    assert list((project / "broken/toy").iterdir()) == []
    wait_until(lambda: not alive(kernel))
    assert {p.name for p in project.iterdir()} == {
        "broken",
        "jupyter",
        "notebooks",
        "outputs",
        "params",
    }


SCRIPT = [str(Path(sys.executable).with_name("srlib"))]


@pytest.mark.parametrize(
    ("started", "command"),
    [
        (SCRIPT, ["run", "toy", "other", "--jobs", "2"]),
        (SCRIPT, ["sweep", "sweep.yaml"]),
        ([sys.executable, "-m", "srlib"], ["run", "toy", "other", "--jobs", "2"]),
    ],
)
def test_nothing_is_imported_from_the_working_folder(
    tmp_path: Path, started: list[str], command: list[str]
) -> None:
    """Neither by workers nor by kernels, not even where their launcher is shadowed."""
    toy.make(tmp_path, toy.TEXT + toy.TABLE)
    (tmp_path / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    hostile = ("json", "pickle", "queue", "numpy", "pyarrow", "ipykernel_launcher", "traitlets")
    for name in hostile:
        (work / f"{name}.py").write_text("raise SystemExit('from the working folder')\n")
    (work / "sweep.yaml").write_text("paper: toy\ngrid: {n: [1, 2]}\n")
    done = subprocess.run(
        [*started, *command, "--output", "out"],
        cwd=work, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "from the working folder" not in done.stderr
    assert len([*work.glob("out/*/*/notebook.ipynb"), *work.glob("out/*/*/*/notebook.ipynb")]) == 2


def test_kernels_import_from_a_working_folder_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = toy.make(
        tmp_path, toy.TEXT.replace('Path("started")', 'import mine\nPath("started")')
    )
    (project / "mine.py").touch()
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONPATH", str(project))
    assert run.run(project, resolve(project, "toy"), project / "outputs").is_dir()


@toy.posix
def test_a_run_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    project = toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', SLOW))
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup children would ignore it
    broken = start("-p", "names", "[wait]")
    signal.signal(signal.SIGHUP, before)
    marks = "outputs/toy/.tmp-*/kernel"
    wait_until(lambda: [f for f in project.glob(marks) if f.read_text()])
    (mark,) = project.glob(marks)
    kernel = int(mark.read_text().split()[0])
    broken.send_signal(signal.SIGHUP)
    broken.communicate(timeout=60)
    assert broken.returncode == 1
    assert list((project / "outputs/toy").iterdir()) == []
    wait_until(lambda: not alive(kernel))


@toy.posix
def test_what_killed_runs_leave_is_removed_and_what_they_put_aside_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = toy.make(tmp_path)
    monkeypatch.setattr(run, "_execute_into", lambda *_: None)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    outputs = project / "outputs"
    mine = files.temporary(outputs / "toy/default")
    killed = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{gone.pid}-"))
    elsewhere = killed.with_name(killed.name.replace("default-", "default-other"))
    for folder in (mine, killed, elsewhere, killed.with_name(killed.name + "-older")):
        folder.mkdir(parents=True)
        (folder / "provenance.json").write_text("{}")
    assert files.remove_leftovers(outputs / "toy", "published") == []
    names = [killed.name, f"{killed.name}-older"]
    assert files.remove_leftovers(outputs / "toy", "default") == names
    held = {p.name for p in (outputs / "toy").iterdir()}
    assert held == {mine.name, elsewhere.name, "default"}
    killed.mkdir()
    run.run(project, resolve(project, "toy"), outputs, with_report=False)
    told = f"toy: removed {killed.name}, left by a run that was killed\n"
    assert capsys.readouterr().err == told
    assert {p.name for p in (outputs / "toy").iterdir()} == held


@toy.posix
def test_runs_on_files_are_for_their_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = 'data: str = ""  # CSV file of records\nseed: int = 1'
    project = toy.make(tmp_path, toy.TEXT.replace("seed: int = 1", declared))
    monkeypatch.chdir(project)

    def execute(_: object, __: object, ___: object, folder: Path, *____: object) -> None:
        (folder / "tables").mkdir()
        (folder / "tables/values.csv").touch()

    monkeypatch.setattr(run, "_execute_into", execute)
    Path("records.csv").touch()
    modes = []
    for data in ("records.csv", ""):
        request = resolve(project, "toy", overrides=[("data", data)])
        folder = run.run(project, request, project / "outputs", with_report=False)
        within = [folder, *folder.rglob("*")]
        modes.append({path.stat().st_mode & 0o077 for path in within})
    assert modes[0] == {0}
    assert 0 not in modes[1]


@toy.posix
def test_a_paper_that_ends_its_process_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ends = "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)"
    project = toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', ends))
    (project / "notebooks/other.py").write_text(toy.TEXT, encoding="utf-8")
    requests = [resolve(project, "toy"), resolve(project, "other")]
    lost, folder = sorted(run.run_all(project, requests, project / "out", jobs=2), key=str)[::-1]
    assert (
        str(lost)
        == "toy: the process was lost 2 times, the last time alone: killed, or out of memory"
    )
    assert folder == project / "out/other/default"
    assert list((project / "out/toy").iterdir()) == []


def test_a_time_limit_that_ends_before_the_kernel_runs_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = toy.make(tmp_path)
    with pytest.raises(run.NotebookFailed, match=r"toy: longer than 0\.001 s: before its first"):
        run.run(project, resolve(project, "toy"), project / "outputs", time_limit=0.001, bar=None)
    assert [p.name for p in (project / "outputs/toy").iterdir()] == ["default.failed"]
    # The next run of the process is not cut off by it.
    assert run.run(project, resolve(project, "toy"), project / "outputs", time_limit=300).is_dir()


@toy.posix
def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    holds = "import sys; from pathlib import Path; from srlib.runner.files import locked\n"
    holds += "with locked(Path(sys.argv[1])) as is_mine: print(is_mine, flush=True); input()"
    path = tmp_path / ".lock-x"
    process = subprocess.Popen(
        [sys.executable, "-c", holds, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout
        assert process.stdout.readline() == "True\n"
        with files.locked(path) as is_mine:
            assert not is_mine
        process.kill()
    assert path.exists()
    with files.locked(path) as is_mine:
        assert is_mine
    assert not path.exists()


@pytest.mark.parametrize("moment", ["aside", "into place"])
def test_folders_that_are_replaced_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Another run puts its folder aside, or its own into place, just before this one does."""
    final, new = tmp_path / "default", tmp_path / ".tmp-default-x"
    for folder in (final, new):
        folder.mkdir()
        (folder / "provenance.json").write_text(folder.name)
    rename, others = Path.rename, [moment]

    def meanwhile(path: Path, target: Path) -> Path:
        if path == final and others == ["aside"]:
            others.clear()
            rename(path, tmp_path / "away")
        if path == new and others == ["into place"]:
            others.clear()
            target.mkdir()
            (target / "provenance.json").write_text("another")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", meanwhile)
    files.replace_folder(new, final)
    assert (final / "provenance.json").read_text() == new.name
    assert {p.name for p in tmp_path.iterdir()} <= {"default", "away"}


@toy.posix
def test_scratch_folders_are_private_and_those_of_the_dead_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with files.scratch_folder() as mine:
        dead = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{gone.pid}-"))
        dead.mkdir()
        (tmp_path / "kept").mkdir()
        assert len(str(mine / "kernel-5")) - len(str(tmp_path)) < 55
        assert mine.stat().st_mode & 0o077 == 0
        with files.scratch_folder() as second:
            assert {mine, second, tmp_path / "kept"} == set(tmp_path.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_survey_file_counts_by_its_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = 'data: str = ""  # CSV file of records; acs:2012:nc to download\nseed: int = 1'
    project = toy.make(tmp_path, toy.TEXT.replace("seed: int = 1", declared))
    monkeypatch.setattr(acs, "user_cache_dir", lambda name: str(tmp_path / name))
    cached = tmp_path / "srlib/acs/2012/csv_pnc.zip"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"zip")
    request = resolve(project, "toy", overrides=[("data", "acs:2012:nc")])
    assert request.inputs == {"acs:2012:nc": hashlib.sha256(b"zip").hexdigest()}
    monkeypatch.setattr(run, "_execute_into", lambda *_: None)
    folder = run.run(project, request, project / "outputs", with_report=False)
    assert json.loads((folder / "provenance.json").read_text())["inputs"] == request.inputs
    cached.write_bytes(b"another")
    with pytest.raises(run.SourceChanged, match="changed after the start: acs:2012:nc"):
        run.run(project, request, project / "outputs", with_report=False)
    with pytest.raises(UsageError, match="must be acs:YEAR:STATE"):
        resolve(project, "toy", overrides=[("data", "acs:2012:zz")])


def test_parameters_are_read_as_they_were_written(tmp_path: Path) -> None:
    names = ["1e-3", "0o7", "010", "1:30", "yes", "", "a: b", "~", "2020-01-01"]
    parameters = {"names": names, "n": 3, "share": 1e-9}
    (tmp_path / "parameters.yaml").write_text(yamls.dump(parameters), encoding="utf-8")
    assert yamls.read(tmp_path / "parameters.yaml") == parameters


def test_a_kernel_that_dies_is_a_failed_run(tmp_path: Path) -> None:
    text = toy.TEXT.replace('Path("started").touch()', "import os; os._exit(9)")
    project = toy.make(tmp_path, text)
    where = r"toy: code cell 2 \((In \[3\], )?under 'A toy'\): DeadKernelError"
    with pytest.raises(run.NotebookFailed, match=where):
        run.run(project, resolve(project, "toy"), project / "outputs", cwd=project)
    provenance = json.loads((tmp_path / "outputs/toy/default.failed/provenance.json").read_text())
    assert provenance["status"] == "failed"
    assert "DeadKernelError" in provenance["error"]
    assert re.search(
        r"its process ended with status 9: [\d.]+ [GT]B were free at the start$",
        provenance["error"],
    )


def test_a_notebook_or_library_that_changes_meanwhile_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel has the text whose hash is noted; what is there at the end is another one."""
    edits = 'Path("notebooks/toy.py").write_text("other")'
    project = toy.make(tmp_path, toy.TEXT.replace('Path("started").touch()', edits))
    monkeypatch.chdir(project)
    notebook = project / "notebooks/toy.py"
    begun = run.source_hash(notebook.read_bytes())
    request = resolve(project, "toy")
    with pytest.raises(run.SourceChanged, match="toy: the notebook or the library was changed"):
        run.run(project, request, project / "outputs")
    assert not (project / "outputs/toy/default").exists()
    kept = project / "outputs/toy/default.failed"
    provenance = json.loads((kept / "provenance.json").read_text())
    assert (provenance["status"], provenance["source_sha256"]) == ("failed", begun)
    assert notebook.read_text() == "other"


def test_a_file_of_data_that_changes_meanwhile_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = 'data: str = ""  # CSV file of records\nseed: int = 1'
    text = toy.TEXT.replace("seed: int = 1", declared)
    edits = 'Path(data).write_text("a\\n2\\n")'
    project = toy.make(tmp_path, text.replace('Path("started").touch()', edits))
    monkeypatch.chdir(project)
    Path("records.csv").write_text("a\n1\n")
    request = resolve(project, "toy", overrides=[("data", "records.csv")])
    assert list(request.inputs) == ["records.csv"]
    with pytest.raises(run.SourceChanged, match=r"changed after the start: records\.csv"):
        run.run(project, request, project / "outputs")
    monkeypatch.setattr(run, "_execute_into", lambda *_: None)  # nothing changes it again
    request = resolve(project, "toy", overrides=[("data", "records.csv")])
    folder = run.run(project, request, project / "outputs", with_report=False)
    provenance = json.loads((folder / "provenance.json").read_text())
    assert provenance["inputs"] == dict(request.inputs)


@pytest.mark.parametrize("name", ["default", "default.failed"])
@pytest.mark.parametrize("held", ["thesis.txt", "n=1-0123/provenance.json"])
def test_a_folder_that_no_run_has_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, held: str
) -> None:
    project = toy.make(tmp_path)
    monkeypatch.setattr(run, "_execute_into", lambda *_: None)
    request, outputs = resolve(project, "toy"), project / "outputs"
    file = outputs / "toy" / name / held
    file.parent.mkdir(parents=True)
    file.write_text("precious")
    with pytest.raises(run.NotebookFailed, match="is no run's folder and stays as it is"):
        run.run(project, request, outputs, with_report=False)
    assert [p for p in outputs.rglob("*") if p.is_file()] == [file]
    (outputs / "toy" / name).rename(project / "away")
    assert run.run(project, request, outputs, with_report=False) == outputs / "toy/default"
    assert run.run(project, request, outputs, with_report=False) == outputs / "toy/default"


def test_the_cell_in_which_a_kernel_died_at_once_is_named() -> None:
    """It has no execution count: the kernel was gone before it said so."""
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell("1", execution_count=1),
        nbformat.v4.new_code_cell("import os; os._exit(9)"),
        nbformat.v4.new_code_cell("2"),
    ]
    for cell, started in zip(cells, ("9:00", "9:01", "9:02", None), strict=True):
        cell.metadata["papermill"] = {"start_time": started}
    failure = _failure(nbformat.v4.new_notebook(cells=cells), RuntimeError("gone"))
    assert failure == "code cell 2 (under 'Title'): RuntimeError: gone"


def test_what_is_broken_off_complains_of_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Python logs of a task that failed and that nobody asked any more, with a traceback."""

    async def fails() -> None:
        raise RuntimeError("socket gone")

    async def broken_off() -> None:
        task = asyncio.create_task(fails())
        await asyncio.sleep(0)
        del task
        raise KeyboardInterrupt

    levels = {name: logging.getLogger(name).level for name in ("asyncio", "tornado")}
    try:
        with pytest.raises(KeyboardInterrupt), run._quiet_when_broken_off():
            asyncio.run(broken_off())
        asyncio.run(asyncio.sleep(0))
        logging.getLogger("asyncio").critical("Task exception was never retrieved")
        assert capfd.readouterr().err == ""
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def test_what_others_put_into_a_run_is_not_replaced(tmp_path: Path) -> None:
    run_folder = tmp_path / "default"
    run_folder.mkdir()
    for name in ("provenance.json", "notebook.ipynb", "report-public.html"):
        (run_folder / name).touch()
    assert files.is_replaceable(run_folder)
    (run_folder / "thesis.txt").touch()
    assert not files.is_replaceable(run_folder)


def test_a_runs_name_may_have_any_character(tmp_path: Path) -> None:
    folder = tmp_path / '.tmp "a"\\'
    folder.mkdir()
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(f"in {folder}")], metadata={"papermill": {}}
    )
    saved = folder / "notebook.ipynb"
    nbformat.write(notebook, saved)
    run._tidy(saved, tmp_path / "toy.py", folder, 'q"r\n\\/toy/default')
    assert nbformat.read(saved, as_version=4).cells[0].source == 'in q"r\n\\/toy/default'
