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
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import jupytext
import nbformat
import papermill
import yaml
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from tqdm import tqdm
from traitlets import default
from traitlets.config import Config

from srlib.parameters import SET_BY_RUNNER, Request, read_parameters
from srlib.progress import TERMINAL
from srlib.workers import completed, processes, stopped_by_ctrl_c

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
PAIRING = {"formats": "ipynb,py:percent"}


class NotebookFailed(Exception):
    """A notebook did not run to its end; the message names paper, cell and error."""


class _OwnKernel(AsyncKernelManager):
    """The running interpreter's kernel, whatever kernels are installed elsewhere."""

    started: ClassVar["_OwnKernel | None"] = None  # a process runs one notebook at a time
    peak_mb: float | None = None

    async def _async_launch_kernel(self, kernel_cmd: list[str], **settings: Any) -> None:
        await super()._async_launch_kernel(kernel_cmd, **settings)
        _OwnKernel.started = self

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


def _execute(
    source: Path, parameters: Mapping[str, Any], cwd: Path, saved: Path, bar: int | None = 0
) -> None:
    """Execute a text notebook; it is saved after each cell."""
    # Parameters are checked before; papermill's own guess at them only warns.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    notebook = jupytext.read(source)
    with _terminal_named(bar) as shown, tempfile.TemporaryDirectory(prefix="srlib-") as sockets:
        # Kernels that start together race for ports, and for sockets with jupyter_client's own
        # names, which lie in the working folder.
        sockets_only = {"transport": "ipc", "ip": f"{sockets}/kernel"} if os.name != "nt" else {}
        papermill.execute_notebook(
            notebook,
            str(saved).replace("{", "{{").replace("}", "}}"),  # it formats the path
            parameters=dict(parameters),
            kernel_name="python3",
            language="python",
            progress_bar=(
                {"desc": source.stem, "position": bar, "leave": bar == 0} if shown else False
            ),
            cwd=cwd,
            kernel_manager_class=_OwnKernel,
            config=Config({"KernelManager": sockets_only}),
        )


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[threading.Event]:
    """Kill the kernel when the time is over; yield whether it was."""
    over = threading.Event()

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


def _failure(notebook: NotebookNode, error: Exception) -> str:
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
                    return f"{where}: {output.ename}: {output.evalue}"
    return f"{where}: {_described(error)}"


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream: where a kernel cuts it depends on the time."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _replace_folder(new: Path, final: Path) -> None:
    """Put the whole folder new in the place of final, of which there may be an older one."""
    older = new.with_name(new.name + "-older")
    if final.exists():
        final.rename(older)
    try:
        new.rename(final)
    except OSError:
        if older.exists():
            older.rename(final)
        raise
    shutil.rmtree(older, ignore_errors=True)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def source_hash(notebook: Path) -> str:
    """Return the SHA-256 of a notebook's text and of all files of the library."""
    library = Path(__file__).parent
    files = [f for f in library.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    digest = hashlib.sha256(notebook.read_bytes())
    for file in sorted(files):
        digest.update(f"\0{file.relative_to(library).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    """Return the versions of Python, of the library and of its direct dependencies."""
    required = importlib.metadata.requires("srlib") or []
    names = [re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required if "extra ==" not in r]
    versions = {name: importlib.metadata.version(name) for name in ["srlib", *names]}
    return {"python": platform.python_version()} | versions


def _provenance(root: Path, request: Request) -> dict[str, Any]:
    changes = _git(root, "status", "--porcelain")
    return {
        "paper": request.paper,
        "profile": request.profile,
        "changed_parameters": dict(request.changed),
        "seed": request.parameters.get("seed"),
        "git_commit": _git(root, "rev-parse", "--verify", "HEAD"),
        "git_dirty": None if changes is None else bool(changes),
        "source_sha256": source_hash(root / "notebooks" / f"{request.paper}.py"),
        "versions": _versions(),
    }


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
    fails is kept in ``<profile>.failed``.

    Parameters
    ----------
    root : Path
        The project's folder.
    request : Request
        What `srlib.parameters.resolve` returned.
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
        Where a cell failed, the kernel died, or the report could not be made.
    """
    final = outputs.resolve() / request.paper / request.profile
    failed = final.with_name(f"{final.name}.failed")
    folder = final.with_name(f".tmp-{final.name}-{uuid.uuid4().hex[:8]}")
    folder.mkdir(parents=True)
    started, _OwnKernel.started = time.monotonic(), None

    def write_provenance(**outcome: str) -> None:
        seconds = round(time.monotonic() - started, 1)
        used = {"seconds": seconds, "kernel_mb": getattr(_OwnKernel.started, "peak_mb", None)}
        content = {**outcome, **used, **_provenance(root, request)}
        text = json.dumps(content, indent=2, ensure_ascii=False)
        (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")

    try:
        (folder / "parameters.yaml").write_text(
            yaml.safe_dump(dict(request.parameters), sort_keys=False, allow_unicode=True),
            encoding="utf-8",
        )
        with _time_limit(time_limit) as over:
            try:
                _execute_into(root, request, folder, final, cwd or Path.cwd(), bar)
            except Exception as error:
                if over.is_set():
                    raise NotebookFailed(f"longer than {time_limit:g} s, in {error}") from error
                raise
        write_provenance(status="complete")
        if with_report:
            from srlib import report

            report.write(folder)
        _replace_folder(folder, final)
        shutil.rmtree(failed, ignore_errors=True)
    except Exception as error:
        message = str(error) if isinstance(error, NotebookFailed) else _described(error)
        write_provenance(status="failed", error=message)
        _replace_folder(folder, failed)
        raise NotebookFailed(f"{request.paper}: {message}\nkept: {failed}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return final


def run_all(
    root: Path, requests: Sequence[Request], outputs: Path, jobs: int = 1
) -> Iterator[Path | NotebookFailed]:
    """Execute papers, several at a time, each free to use all processors.

    Parameters
    ----------
    root : Path
        The project's folder.
    requests : sequence of Request
        What `srlib.parameters.resolve` returned.
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
    left = list(range(len(requests)))

    def submit(executor: Executor, i: int) -> Future[Path | NotebookFailed]:
        return executor.submit(_outcome, root, requests[i], outputs, 1 + i)

    shown = sys.stderr.isatty()
    with (
        tqdm(total=len(requests), desc="papers", unit="paper", disable=not shown) as bar,
        processes(jobs, os.cpu_count()) as workers,
        stopped_by_ctrl_c(workers),
    ):
        for i, future in completed(workers, submit, left[:]):
            left.remove(i)
            bar.update(1)
            if error := future.exception():
                yield NotebookFailed(f"{requests[i].paper}: {_described(error)}")
            else:
                yield future.result()
    yield from (NotebookFailed(f"{requests[i].paper}: not run, as processes died") for i in left)


def _outcome(root: Path, request: Request, outputs: Path, bar: int | None) -> Path | NotebookFailed:
    try:
        return run(root, request, outputs, bar=bar)
    except NotebookFailed as error:
        return error


def _execute_into(
    root: Path, request: Request, folder: Path, final: Path, cwd: Path, bar: int | None
) -> None:
    """Execute a notebook in folder, and leave no trace of that folder's name in it."""
    source = root / "notebooks" / f"{request.paper}.py"
    saved = folder / "notebook.ipynb"
    name = final.relative_to(final.parents[2]).as_posix()
    try:
        _execute(source, {**request.parameters, SET_BY_RUNNER: str(folder)}, cwd, saved, bar)
    except Exception as error:
        try:
            failure = _failure(nbformat.read(saved, as_version=4), error)
            _tidy(saved, source, folder, name)
        except (OSError, ValueError):  # not written, or cut off by what went wrong
            raise error from None
        raise NotebookFailed(failure) from None
    _tidy(saved, source, folder, name)


def _tidy(saved: Path, source: Path, folder: Path, name: str) -> None:
    """Put a run's name for the temporary folder's, and join pieces of one stream."""
    text = saved.read_text(encoding="utf-8")
    text = text.replace(json.dumps(str(folder), ensure_ascii=False)[1:-1], name)
    notebook = nbformat.reads(text, as_version=4)
    notebook.metadata.papermill["input_path"] = f"notebooks/{source.name}"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _join_streams(cell.outputs)
    nbformat.write(notebook, saved)


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults and write the notebook that is committed.

    The kernel works in the notebook's folder, as under JupyterLab and nbval. What is written
    depends on the sources and outputs alone, so that building again changes nothing.

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
    read_parameters(source)
    final = source.with_suffix(".ipynb")
    saved = final.with_name(f".tmp-{paper}-{uuid.uuid4().hex[:8]}.ipynb")
    try:
        try:
            _execute(source, {}, source.parent, saved)
        except Exception as error:
            if not saved.exists():
                raise NotebookFailed(f"{paper}: {_described(error)}") from error
            where = _failure(nbformat.read(saved, as_version=4), error)
            raise NotebookFailed(f"{paper}: {where}") from None
        nbformat.write(normalised(nbformat.read(saved, as_version=4)), saved)
        saved.replace(final)
    finally:
        saved.unlink(missing_ok=True)
    return final


def normalised(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook without times, paths and random names.

    Parameters
    ----------
    notebook : NotebookNode
        As papermill leaves it.

    Returns
    -------
    NotebookNode
        Cell ids come from the sources; of the metadata tags stay, and what pairs the notebook
        with its text.
    """
    cells, seen = [], set()
    for cell in notebook.cells:
        cell = NotebookNode(cell)
        tags = cell.metadata.get("tags")
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        key = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        while key in seen:
            key = hashlib.sha256(key.encode()).hexdigest()[:8]
        seen.add(key)
        cell.id = key
        if cell.cell_type == "code":
            cell.outputs = _join_streams(cell.outputs)
        cells.append(cell)
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={
            "jupytext": PAIRING,
            "kernelspec": KERNELSPEC,
            "language_info": {"name": "python", "pygments_lexer": "ipython3"},
        },
    )
