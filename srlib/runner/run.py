"""Notebooks executed: runs into their folders, and the committed notebooks."""

import hashlib
import importlib.metadata
import json
import logging
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import papermill
from nbformat import NotebookNode
from traitlets.config import Config

from srlib import yamls
from srlib.runner import confidential
from srlib.runner.files import (
    is_replaceable,
    private,
    remove_leftovers,
    replace_folder,
    write_whole,
)
from srlib.runner.parameters import (
    OUTPUT_DIR,
    SHIPPED,
    Request,
    hash_inputs,
    read_parameters,
    shown,
)
from srlib.runner.workers import workers

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
_LIBRARY = Path(__file__).resolve().parents[1]
_ONE_AT_A_TIME = threading.Lock()  # in a worker of a cluster: papermill changes the working folder
# Kernels are those of this environment, import nothing from beside somebody's records, and have
# the same last digits whatever the machine.
_KERNEL = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "MKL", "OMP")}
_KERNEL |= {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONSAFEPATH": "1"}


class NotebookFailed(Exception):
    """A notebook did not run to its end; the message names paper, cell and error."""


@contextmanager
def _kernels_environment() -> Iterator[None]:
    """Set what kernels take over, while one starts and runs."""
    before = dict(os.environ)
    os.environ.update(_KERNEL)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _execute(
    source: Path, text: bytes, parameters: Mapping[str, Any], cwd: Path, saved: Path,
    *, bar: bool, of_user: bool = False,
) -> None:  # fmt: skip
    """Execute the text of a notebook; it is saved after each cell, also of one that fails."""
    # Parameters are checked before, where papermill's own guess at them only warns. What fails is
    # raised, and a kernel that an interruption ends is no news to who still waits for it.
    for name in ("papermill", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # Kernels that start together race for ports, and sockets lie in the working folder by default.
    with private(Path(tempfile.gettempdir()) / "srlib") as place, _kernels_environment():
        kernel = {"connection_file": f"{place}/kernel.json"}
        kernel |= {"transport": "ipc", "ip": f"{place}/kernel"} if os.name != "nt" else {}
        try:
            papermill.execute_notebook(
                jupytext.reads(text.decode("utf-8"), fmt="py"),
                str(saved).replace("{", "{{").replace("}", "}}"),  # it formats the path
                parameters=dict(parameters),
                kernel_name="python3",
                language="python",
                progress_bar={"desc": source.stem} if bar and sys.stderr.isatty() else False,
                cwd=cwd,
                coalesce_streams=True,  # where a kernel cuts a stream depends on the time
                config=Config({"KernelManager": kernel}),
                extra_arguments=["--log-level=CRITICAL"],  # not of how it is shut down
            )
        except OSError:  # of the disk
            raise
        except Exception as error:
            typed = [*confidential.texts(parameters)] if of_user else None
            raise NotebookFailed(_failure(saved, error, typed)) from None


def _failure(saved: Path, error: Exception, typed: Sequence[str] | None) -> str:
    """Return where a notebook stopped and why; on a user's file without values that nobody typed.

    What messages of other code than ours quote is anybody's guess: of these the type remains.
    """
    heading, number, where = "", 0, "before its first cell"
    kind, message, ours = type(error).__name__, str(error), False
    for cell in nbformat.read(saved, as_version=4).cells if saved.is_file() else []:
        if cell.cell_type == "markdown":
            heading = [heading, *re.findall(r"^#+ +(.+)$", cell.source, re.MULTILINE)][-1]
        elif cell.cell_type == "code" and cell.metadata.papermill["start_time"]:
            number += "injected-parameters" not in cell.metadata.get("tags", [])
            where = f"code cell {number}" + (f", under {heading!r}" if heading else "")
            for output in cell.outputs:
                if output.output_type == "error":
                    kind, message = output.ename, output.evalue
                    ours = _is_ours(output.traceback)
    if typed is None:
        return f"{where}: {kind}: {message}"
    told = confidential.error_without_values(kind, message, typed) if ours else kind
    return f"{where}: {told}"


def _is_ours(frames: Sequence[str]) -> bool:
    """Say whether an error was raised in the library, from the frames that a kernel shows."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(frames))
    raised_in = re.findall(r"^(?:File (\S.*?):\d+|Cell In)", plain, re.MULTILINE)
    if not raised_in or not raised_in[-1]:  # in a cell
        return False
    # Not every file below a folder of our name: a checkout holds other packages as well.
    return Path(raised_in[-1]).expanduser().resolve().is_relative_to(_LIBRARY)


def _git(root: Path, *arguments: str) -> str | None:
    if root == SHIPPED:  # a repository above belongs to the user
        return None
    with suppress(OSError, subprocess.CalledProcessError):
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
        return done.stdout.decode().strip()
    return None


def source_hash(text: bytes) -> str:
    """Return the SHA-256 of a notebook's text and of the library's methods.

    What executes notebooks and draws charts is not among them: a changed template, style sheet or
    command moves no number. Printed numbers, which lie beside the notebooks, are.
    """
    elsewhere = {"__main__.py", "__pycache__", "charts", "charts.py", "runner", SHIPPED.name}
    named = {file.relative_to(_LIBRARY).as_posix(): file for file in _LIBRARY.rglob("*")}
    files = {name: file for name, file in named.items() if not elsewhere & {*name.split("/")}}
    beside = (SHIPPED if SHIPPED.is_dir() else _LIBRARY.parent).glob("notebooks/*.csv")
    files |= {file.name: file for file in beside}
    digest = hashlib.sha256(text)
    for name, file in sorted(files.items()):
        if file.is_file() and not file.name.startswith("."):  # editors keep such files beside
            digest.update(f"\0{name}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _provenance(root: Path, request: Request, source: str) -> dict[str, Any]:
    """Return what a run is of, with the versions of Python, the library and what runs need."""
    changes = _git(root, "status", "--porcelain")
    others = re.compile("extra == .(?!charts|notebooks)")  # the command runs with these two
    required = [r for r in importlib.metadata.requires("srlib") or [] if not others.search(r)]
    names = ["srlib", *(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required)]
    versions = {name: importlib.metadata.version(name) for name in names}
    return {
        "paper": request.paper,
        "profile": request.profile,
        "changed_parameters": dict(request.changed),
        "inputs": dict(request.inputs),
        "seed": request.parameters.get("seed"),
        "git_commit": _git(root, "rev-parse", "--verify", "HEAD"),
        "git_dirty": None if changes is None else bool(changes),
        "source_sha256": source,
        "versions": {"python": platform.python_version(), **versions},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def run(
    root: Path,
    request: Request,
    outputs: Path,
    *,
    with_report: bool = True,
    cwd: Path | None = None,
    bar: bool = False,
) -> Path:
    """Execute one paper's notebook into ``outputs/<paper>/<profile>``, and return this folder.

    Everything is written in a folder beside, which only its owner may read, and renamed when
    complete. What was in the folder is replaced; a folder that no run has written is left alone.

    Raises
    ------
    NotebookFailed
        Where a cell failed or the kernel died, or where notebook, library or a file of data are
        others at the end than at the beginning, as nobody could say what was computed. Such a run
        is kept in ``<profile>.failed``.
    """
    notebook, place = root / "notebooks" / f"{request.paper}.py", cwd or Path.cwd()
    text = notebook.read_bytes()
    source = request.source or source_hash(text)
    final = outputs.resolve() / request.paper / request.profile
    failed = final.with_name(f"{final.name}.failed")
    for taken in (final, failed):
        if not is_replaceable(taken):
            raise NotebookFailed(
                f"{request.paper}: {shown(taken)} is no run's folder and stays as it is; move it "
                "away, or choose another folder with --output"
            )
    about, started = _provenance(root, request, source), time.monotonic()
    of_user = confidential.of_users_file(request.parameters, about)

    def check_source() -> None:
        if source_hash(notebook.read_bytes()) != source:
            raise NotebookFailed("the notebook or the library was changed after the start")
        if hash_inputs(request.inputs, place) != request.inputs:
            raise NotebookFailed("a file of data was changed after the start")

    def close(folder: Path, status: str, **more: str) -> None:
        seconds = {"seconds": round(time.monotonic() - started, 1)}
        text = json.dumps({"status": status, **more, **seconds, **about}, indent=2)
        (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")

    with private(final) as folder:
        saved, given = folder / "notebook.ipynb", {**request.parameters, OUTPUT_DIR: str(folder)}
        (folder / "parameters.yaml").write_text(yamls.dump(request.parameters), encoding="utf-8")
        try:
            check_source()
            try:
                _execute(notebook, text, given, place, saved, bar=bar, of_user=of_user)
            finally:
                with suppress(OSError, ValueError):  # not written, or cut off by a full disk
                    _rename_within(saved, folder, final, request.paper)
            check_source()
            close(folder, "complete")
            if with_report:
                from srlib.runner import report

                report.write(folder)
        except Exception as error:
            known = isinstance(error, NotebookFailed | OSError)
            told = str(error) if known else type(error).__name__
            close(folder, "failed", error=told)
            replace_folder(folder, failed)
            raise NotebookFailed(f"{request.paper}: {told}\nkept: {shown(failed)}") from error
        replace_folder(folder, final)
        shutil.rmtree(failed, ignore_errors=True)
    return final


def _rename_within(saved: Path, folder: Path, final: Path, paper: str) -> None:
    """Put the name that a run's folder will have into its notebook, for the one it has."""
    name = final.relative_to(final.parents[2]).as_posix()
    old, new = (json.dumps(path, ensure_ascii=False)[1:-1] for path in (str(folder), name))
    written = saved.read_text(encoding="utf-8").replace(old, new)
    executed = nbformat.reads(written, as_version=4)
    executed.metadata.papermill["input_path"] = f"notebooks/{paper}.py"
    nbformat.write(executed, saved)


def run_all(
    root: Path, requests: Sequence[Request], outputs: Path, jobs: int = 1, scheduler: str = "",
    *, bar: bool = False, with_report: bool = True,
) -> Generator[Path | str]:  # fmt: skip
    """Execute papers; yield the folder of each, or why there is none.

    They run in processes, a kernel each, or on a Dask cluster; with a bar one after the other here.
    """
    how = {"bar": bar, "with_report": with_report, "cwd": Path.cwd()}
    if bar:
        yield from (_outcome(root, request, outputs, how) for request in requests)
        return
    try:
        with workers(jobs, scheduler) as pool:
            futures = [pool.submit(_outcome, root, request, outputs, how) for request in requests]
            yield from (future.result() for future in as_completed(futures))
    finally:
        for folder in {(outputs / one.paper / one.profile).parent for one in requests}:
            remove_leftovers(folder)  # of processes that were killed


def _outcome(root: Path, request: Request, outputs: Path, how: Mapping[str, Any]) -> Path | str:
    try:
        with _ONE_AT_A_TIME:
            return run(root, request, outputs, **how)
    except (NotebookFailed, OSError) as error:
        return str(error)


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults, write the one that is committed, and return it.

    The kernel works in the notebook's folder, as under JupyterLab and nbval. What is written
    depends on sources, outputs and the version of Python alone, so that building again changes
    nothing, and saving in JupyterLab neither.
    """
    source = root / "notebooks" / f"{paper}.py"
    text, final = source.read_bytes(), source.with_suffix(".ipynb")
    read_parameters(source)
    with private(final) as folder:
        saved = folder / final.name
        try:
            _execute(source, text, {}, source.parent, saved, bar=True)
        except NotebookFailed as error:
            raise NotebookFailed(f"{paper}: {error}") from None
        built = nbformat.writes(normalized(nbformat.read(saved, as_version=4)))
    write_whole(final, built + "\n")
    return final


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook without times, paths and random names, as JupyterLab saves it.

    Cell ids come from the sources; of the metadata stay tags, the lines between cells of the text,
    what pairs the notebook with its text, and what the kernel says of its language.
    """
    cells, seen = [], set()
    for cell in notebook.cells:
        cell = NotebookNode(cell)
        kept = {name: cell.metadata.get(name) for name in ("lines_to_next_cell", "tags")}
        cell.metadata = NotebookNode({name: value for name, value in kept.items() if value})
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
            cell.metadata.jupyter = {"source_hidden": True}
        key = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        while key in seen:
            key = hashlib.sha256(key.encode()).hexdigest()[:8]
        seen.add(key)
        cell.id = key
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
