"""Notebooks executed: runs into their folders, and the committed notebooks."""

import hashlib
import importlib.metadata
import json
import logging
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import jupytext
import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from tqdm import tqdm
from traitlets import default
from traitlets.config import Config

from srlib import yamls
from srlib.progress import TERMINAL
from srlib.runner import confidential
from srlib.runner.files import (
    is_replaceable,
    make_private,
    remove_leftovers,
    replace_folder,
    scratch_folder,
    temporary,
)
from srlib.runner.parameters import (
    SET_BY_RUNNER,
    SHIPPED,
    Request,
    hash_inputs,
    read_parameters,
    shown,
)
from srlib.runner.workers import Workers, lost_process, persevering, processes

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_LIBRARY = Path(__file__).resolve().parents[1]
# Of a notebook's own sums, so that their last digits do not depend on the processors or --jobs.
ONE_BLAS_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "MKL", "OMP")}
ATTEMPTS = 2  # at a run whose process is lost


class NotebookFailed(Exception):
    """A notebook did not run to its end; the message names paper, cell and error."""


class SourceChanged(NotebookFailed):
    """The notebook, the library or a file of data is another one than when the run began."""


class _OwnKernel(AsyncKernelManager):
    """The running interpreter's kernel, whatever kernels are installed elsewhere."""

    # A process runs one notebook at a time.
    started: ClassVar["_OwnKernel | None"] = None
    time_is_over: ClassVar[threading.Event] = threading.Event()
    peak_mb: float | None = None

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        """Return the command of a kernel that imports nothing from the working folder.

        A file beside somebody's records that happens to be called numpy.py is not meant.
        """
        only_installed = "--InteractiveShellApp.ignore_cwd=True"
        command = super().format_kernel_cmd([*(extra_arguments or []), only_installed])
        # The launcher would drop the working folder from PYTHONPATH as well, where it is meant.
        command = ["ipykernel" if part == "ipykernel_launcher" else part for part in command]
        return [command[0], "-P", *command[1:]]

    async def _async_launch_kernel(self, kernel_cmd: list[str], **settings: Any) -> None:
        settings["env"] = settings["env"] | ONE_BLAS_THREAD
        await super()._async_launch_kernel(kernel_cmd, **settings)
        _OwnKernel.started = self
        if self.time_is_over.is_set():  # there was nothing to kill yet
            self.kill()

    def kill(self) -> None:
        """End the kernel's process at once; whatever it computes is lost."""
        pid = getattr(self.provisioner, "pid", None)
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)

    @default("kernel_spec_manager")
    def _no_installed_specs(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[], parent=self)

    async def _async_interrupt_kernel(self) -> None:
        # jupyter_client interrupts before it asks to shut down; a kernel that is idle by then may
        # complain about it on the runner's terminal. A busy one is terminated a moment later.
        if self.shutting_down:
            self.peak_mb = _peak_mb(getattr(self.provisioner, "pid", None))
        else:
            await super()._async_interrupt_kernel()


def _peak_mb(process: int | None) -> float | None:
    """Most memory that a process has used so far, in megabytes, where the system tells."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return round(int(found[1]) * 1024 / 1e6, 1) if found else None


@contextmanager
def _terminal_named(bar: int | None) -> Iterator[bool]:
    """Name the terminal that bars go to in the environment; yield whether there is one.

    Cells have bars of their own, one line below, where no other notebook runs.
    """
    shown = bar is not None and sys.stderr.isatty()
    before = os.environ.pop(TERMINAL, None)
    # Not on Windows, where bars in a kernel stay silent.
    if shown and bar == 0 and hasattr(os, "ttyname"):
        os.environ[TERMINAL] = os.ttyname(sys.stderr.fileno())
    try:
        yield shown
    finally:
        os.environ.pop(TERMINAL, None)
        if before is not None:
            os.environ[TERMINAL] = before


@contextmanager
def _quiet_when_broken_off() -> Iterator[None]:
    """Do not show what tasks that wait for the kernel complain of when it is taken from them."""
    try:
        yield
    except KeyboardInterrupt:
        for name in ("asyncio", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        raise


def _execute(
    source: Path,
    text: bytes,
    parameters: Mapping[str, Any],
    cwd: Path,
    saved: Path,
    bar: int | None = 0,
) -> None:
    """Execute the text of a notebook; it is saved after each cell."""
    # Parameters are checked before, papermill's own guess at them only warns; what fails is raised,
    # and a kernel that an interruption ends is not reported as lost by who still waits for it.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    notebook = jupytext.reads(text.decode("utf-8"), fmt="py")
    with _terminal_named(bar) as has_bar, scratch_folder() as scratch, _quiet_when_broken_off():
        # Kernels that start together race for ports, and for sockets with jupyter_client's own
        # names, which lie in the working folder.
        kernel = {"connection_file": f"{scratch}/kernel.json"}
        kernel |= {"transport": "ipc", "ip": f"{scratch}/kernel"} if os.name != "nt" else {}
        papermill.execute_notebook(
            notebook,
            str(saved).replace("{", "{{").replace("}", "}}"),  # it formats the path
            parameters=dict(parameters),
            kernel_name="python3",
            language="python",
            progress_bar={"desc": source.stem, "position": bar} if has_bar else False,
            cwd=cwd,
            kernel_manager_class=_OwnKernel,
            config=Config({"KernelManager": kernel}),
        )


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[threading.Event]:
    """Kill the kernel when the time is over; yield whether it was."""
    over = _OwnKernel.time_is_over = threading.Event()

    def end() -> None:
        over.set()
        if _OwnKernel.started:
            _OwnKernel.started.kill()

    timer = threading.Timer(seconds or 0.0, end)
    timer.daemon = True
    if seconds:
        timer.start()
    try:
        yield over
    finally:
        timer.cancel()


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _told(request: Request | None, kind: str, message: str, frames: Sequence[str] = ()) -> str:
    """Return an error as it may be told of a run; without values of a user's file.

    What other code than ours says of values is anybody's guess: of its errors the type remains.
    """
    if request and confidential.of_users_file(request.parameters, {"inputs": request.inputs}):
        if frames and not _is_ours(frames):
            return kind
        typed = confidential.texts(request.parameters.values())
        return confidential.error_without_values(kind, message, typed)
    return f"{kind}: {message}"


def _is_ours(frames: Sequence[str]) -> bool:
    """Say whether an error was raised in the library, from the frames that a kernel shows."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(frames))
    raised_in = re.findall(r"^(?:File (\S.*?):\d+|Cell In)", plain, re.MULTILINE)
    if not raised_in or not raised_in[-1]:  # in a cell
        return False
    # Not every file below a folder of our name: a checkout holds other packages as well.
    return Path(raised_in[-1]).expanduser().resolve().is_relative_to(_LIBRARY)


def _failure(notebook: NotebookNode, error: Exception, request: Request | None = None) -> str:
    """Return where a notebook stopped and why."""
    heading, number, where = "", 0, "before its first cell"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = next(iter(re.findall(r"^#+ +(.+)$", cell.source, re.MULTILINE)[-1:]), heading)
        # A cell in which the kernel died may have no execution count, but it was started.
        elif cell.cell_type == "code" and cell.metadata.papermill["start_time"]:
            number += "injected-parameters" not in cell.metadata.get("tags", [])
            told = [f"In [{cell.execution_count}]"] if cell.execution_count else []
            told += [f"under {heading!r}"] if heading else []
            where = f"code cell {number}" + (f" ({', '.join(told)})" if told else "")
            for output in cell.outputs:
                if output.output_type == "error":
                    why = _told(request, output.ename, output.evalue, output.traceback)
                    return f"{where}: {why}"
    return f"{where}: {_told(request, type(error).__name__, str(error))}"


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighboring pieces of one stream: where a kernel cuts it depends on the time."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _git(root: Path, *arguments: str) -> str | None:
    if root == SHIPPED:  # a repository above belongs to the user
        return None
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def source_hash(text: bytes) -> str:
    """Return the SHA-256 of a notebook's text and of the library's methods.

    What executes notebooks and draws charts is not among them: a changed template, style sheet or
    command moves no number.
    """
    elsewhere = {"__main__.py", "__pycache__", "charts", "runner", SHIPPED.name}
    files = [
        file
        for file in _LIBRARY.rglob("*")
        if file.is_file()
        and not elsewhere & set(file.relative_to(_LIBRARY).parts)
        and not file.name.startswith(".")  # editors keep such files of what is open
    ]
    named = {file.relative_to(_LIBRARY).as_posix(): file for file in files}
    # Printed numbers lie beside the notebooks.
    beside = (SHIPPED if SHIPPED.is_dir() else _LIBRARY.parent).glob("notebooks/*.csv")
    named |= {file.name: file for file in beside}
    digest = hashlib.sha256(text)
    for name, file in sorted(named.items()):
        digest.update(f"\0{name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    """Return the versions of Python, of the library and of all that runs need."""
    required = importlib.metadata.requires("srlib") or []
    others = re.compile("extra == .(?!charts|notebooks)")  # the command runs with these two
    listed = [re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required if not others.search(r)]
    names = dict.fromkeys(["srlib", *listed])
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version()} | versions


def _provenance(root: Path, request: Request, source: str) -> dict[str, Any]:
    changes = _git(root, "status", "--porcelain")
    return {
        "paper": request.paper,
        "profile": request.profile,
        "changed_parameters": dict(request.changed),
        "inputs": dict(request.inputs),
        "seed": request.parameters.get("seed"),
        "git_commit": _git(root, "rev-parse", "--verify", "HEAD"),
        "git_dirty": None if changes is None else bool(changes),
        "source_sha256": source,
        "versions": _versions(),
        "started": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def run(
    root: Path,
    request: Request,
    outputs: Path,
    *,
    with_report: bool = True,
    time_limit: float | None = None,
    cwd: Path | None = None,
    bar: int | None = 0,
) -> Path:
    """Execute one paper's notebook into ``outputs/<paper>/<profile>``.

    Everything is written in a temporary folder beside and renamed when complete. A run that
    fails is kept in ``<profile>.failed``; so is one during which notebook, library or a file of
    data changed, as nobody could say what it has computed. What was in the folder is replaced; a
    folder that no run has written is left alone. What is computed from files that parameters name
    is for their owner's eyes.

    Parameters
    ----------
    root : Path
        The project's folder.
    request : Request
        What `srlib.runner.parameters.resolve` returned.
    outputs : Path
        Folder over all papers' runs.
    with_report : bool
        Whether to write the HTML report.
    time_limit : float, optional
        Seconds after which the kernel is killed and the run has failed.
    cwd : Path, optional
        Folder that the kernel works in; the caller's if not given.
    bar : int or None
        Line of the terminal that shows the cells done, counted from the cursor's; None for no
        bar. On line 0 the notebook has the terminal for itself, and long cells show theirs below.

    Returns
    -------
    Path
        The run's folder.

    Raises
    ------
    NotebookFailed
        Where a cell failed, the kernel died, or the report could not be made; where something
        else lies in the folder, before anything starts.
    SourceChanged
        Where notebook, library or files of data are others than at the beginning, or than the
        request says.
    """
    notebook = root / "notebooks" / f"{request.paper}.py"
    text = notebook.read_bytes()
    source = request.source or source_hash(text)
    place = cwd or Path.cwd()

    def check_source(text: bytes) -> None:
        if source_hash(text) != source:
            raise SourceChanged("the notebook or the library was changed after the start")
        found = hash_inputs({"inputs": list(request.inputs)}, ["inputs"], place)
        changed = [path for path, h in request.inputs.items() if found.get(path) != h]
        if changed:
            raise SourceChanged(f"changed after the start: {', '.join(changed)}")

    final = outputs.resolve() / request.paper / request.profile
    failed = final.with_name(f"{final.name}.failed")
    for taken in (final, failed):
        if not is_replaceable(taken):
            raise NotebookFailed(
                f"{request.paper}: {shown(taken)} is no run's folder and stays as it is; move it "
                "away, or choose another folder with --output"
            )
    folder = temporary(final)
    try:
        for left in remove_leftovers(final.parent, final.name):
            sys.stderr.write(f"{request.paper}: removed {left}, left by a run that was killed\n")
        folder.mkdir(parents=True, mode=0o700 if request.inputs else 0o777)
    except OSError as error:
        raise NotebookFailed(f"{request.paper}: {_described(error)}") from None
    started, _OwnKernel.started = time.monotonic(), None
    begun = _provenance(root, request, source)

    def write_provenance(**outcome: str) -> None:
        seconds = round(time.monotonic() - started, 1)
        used = {"seconds": seconds, "kernel_mb": getattr(_OwnKernel.started, "peak_mb", None)}
        content = {**outcome, **used, **begun, "ended": _now()}
        text = json.dumps(content, indent=2, ensure_ascii=False)
        (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")
        if request.inputs:
            make_private(folder)

    try:
        check_source(text)
        (folder / "parameters.yaml").write_text(yamls.dump(request.parameters), encoding="utf-8")
        with _time_limit(time_limit) as over:
            try:
                _execute_into(notebook, text, request, folder, final, place, bar)
            except Exception as error:
                if over.is_set():
                    raise NotebookFailed(f"longer than {time_limit:g} s: {error}") from error
                raise
        check_source(notebook.read_bytes())
        confidential.list_files(folder, request.parameters, {"inputs": request.inputs})
        write_provenance(status="complete")
        if with_report:
            from srlib.runner import report

            report.write(folder)
        replace_folder(folder, final)
        shutil.rmtree(failed, ignore_errors=True)
    except Exception as error:
        known = isinstance(error, NotebookFailed)
        message = str(error) if known else _told(request, type(error).__name__, str(error))
        try:
            confidential.list_files(folder, request.parameters, {"inputs": request.inputs})
            write_provenance(status="failed", error=message)
            replace_folder(folder, failed)
            kept = f"kept: {failed}"
        except OSError as other:
            kept = f"not kept: {_described(other)}"
        kind = SourceChanged if isinstance(error, SourceChanged) else NotebookFailed
        raise kind(f"{request.paper}: {message}\n{kept}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return final


def run_all(
    root: Path, requests: Sequence[Request], outputs: Path, jobs: int = 1
) -> Iterator[Path | NotebookFailed]:
    """Execute papers, several at a time, each free to use all processors.

    Papers whose process is lost are run once more, each by itself.

    Parameters
    ----------
    root : Path
        The project's folder.
    requests : sequence of Request
        What `srlib.runner.parameters.resolve` returned.
    outputs : Path
        Folder over all papers' runs.
    jobs : int
        Papers that run at a time, 1 or more.

    Yields
    ------
    Path or NotebookFailed
        The folder of each run, or why there is none, in the order in which they end.
    """
    if jobs == 1:
        yield from (_outcome(root, request, outputs, 0) for request in requests)
        return

    def place(alone: bool) -> AbstractContextManager[Workers]:
        return processes(1 if alone else jobs, os.cpu_count())

    def submit(executor: Executor, i: int) -> Future[Path | NotebookFailed]:
        return executor.submit(_outcome, root, requests[i], outputs, 1 + i)

    shown = sys.stderr.isatty()
    try:
        with tqdm(total=len(requests), desc="papers", unit="paper", disable=not shown) as bar:
            for i, future in persevering(place, submit, range(len(requests)), ATTEMPTS):
                bar.update(1)
                error, paper = future.exception(), requests[i].paper
                if isinstance(error, BrokenExecutor):
                    yield NotebookFailed(f"{paper}: {lost_process(ATTEMPTS)}")
                elif error:
                    yield NotebookFailed(f"{paper}: {_described(error)}")
                else:
                    yield future.result()
    finally:
        for request in requests:  # of processes that were killed
            remove_leftovers(outputs.resolve() / request.paper, request.profile)


def _outcome(root: Path, request: Request, outputs: Path, bar: int | None) -> Path | NotebookFailed:
    try:
        return run(root, request, outputs, bar=bar)
    except NotebookFailed as error:
        return error


def _execute_into(
    source: Path,
    text: bytes,
    request: Request,
    folder: Path,
    final: Path,
    cwd: Path,
    bar: int | None,
) -> None:
    """Execute a notebook in folder, and leave no trace of that folder's name in it."""
    saved = folder / "notebook.ipynb"
    name = final.relative_to(final.parents[2]).as_posix()
    try:
        given = {**request.parameters, SET_BY_RUNNER: str(folder)}
        _execute(source, text, given, cwd, saved, bar)
    except Exception as error:
        try:
            failure = _failure(nbformat.read(saved, as_version=4), error, request)
            _tidy(saved, source, folder, name)
        except (OSError, ValueError):  # not written, or cut off by what went wrong
            raise error from None
        raise NotebookFailed(failure) from None
    _tidy(saved, source, folder, name)


def _tidy(saved: Path, source: Path, folder: Path, name: str) -> None:
    """Put a run's name for the temporary folder's, and join pieces of one stream."""
    text = saved.read_text(encoding="utf-8")
    old, new = (json.dumps(path, ensure_ascii=False)[1:-1] for path in (str(folder), name))
    text = text.replace(old, new)
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata.papermill["input_path"] = f"notebooks/{source.name}"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _join_streams(cell.outputs)
    nbformat.write(notebook, saved)


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults and write the notebook that is committed.

    The kernel works in the notebook's folder, as under JupyterLab and nbval. What is written
    depends on sources, outputs and the version of Python alone, so that building again changes
    nothing, and saving in JupyterLab neither.

    Parameters
    ----------
    root : Path
        The project's folder.
    paper : str
        Name of a text notebook without its ending.

    Returns
    -------
    Path
        The notebook beside the text.

    Raises
    ------
    NotebookFailed
        Where a cell failed; the notebook is left as it was.
    UsageError
        Where the parameters cell is wrong.
    """
    source = root / "notebooks" / f"{paper}.py"
    text = source.read_bytes()
    read_parameters(source)
    final = source.with_suffix(".ipynb")
    saved = final.with_name(f".tmp-{paper}-{uuid.uuid4().hex[:8]}.ipynb")
    try:
        try:
            _execute(source, text, {}, source.parent, saved)
        except Exception as error:
            if not saved.exists():
                raise NotebookFailed(f"{paper}: {_described(error)}") from error
            where = _failure(nbformat.read(saved, as_version=4), error)
            raise NotebookFailed(f"{paper}: {where}") from None
        nbformat.write(normalized(nbformat.read(saved, as_version=4)), saved)
        saved.replace(final)
    finally:
        saved.unlink(missing_ok=True)
    return final


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook without times, paths and random names, as JupyterLab saves it.

    Parameters
    ----------
    notebook : NotebookNode
        As papermill leaves it.

    Returns
    -------
    NotebookNode
        Cell ids come from the sources; of the metadata stay tags, the lines between cells of the
        text, what pairs the notebook with its text, and what the kernel says of its language.
    """
    cells, seen = [], set()
    for cell in notebook.cells:
        cell = NotebookNode(cell)
        kept = {name: cell.metadata.get(name) for name in ("lines_to_next_cell", "tags")}
        cell.metadata = NotebookNode({name: value for name, value in kept.items() if value})
        key = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        while key in seen:
            key = hashlib.sha256(key.encode()).hexdigest()[:8]
        seen.add(key)
        cell.id = key
        if cell.cell_type == "code":
            cell.outputs = _join_streams(cell.outputs)
        cells.append(cell)
    pairing = dict(notebook.metadata.get("jupytext", {}))
    pairing.pop("text_representation", None)
    metadata = {
        "jupytext": pairing,
        "kernelspec": KERNELSPEC,
        "language_info": notebook.metadata.get("language_info", {"name": "python"}),
    }
    whole = json.dumps(nbformat.v4.new_notebook(cells=cells, metadata=metadata))
    return nbformat.from_dict(json.loads(whole, parse_float=_of_javascript))


def _of_javascript(number: str) -> float:
    """Read a number as JavaScript, which writes whole ones up to 21 digits as integers."""
    exact = Decimal(number)
    return int(exact) if exact % 1 == 0 and abs(exact) < 10**21 else float(number)
