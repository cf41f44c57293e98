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
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import jupytext
import nbformat
import papermill
from click import ClickException
from nbformat import NotebookNode
from traitlets.config import Config

from srlib import yaml_io
from srlib.runner import confidential
from srlib.runner import parameters as settings
from srlib.runner.files import check_replaceable, hidden_folder, replace, whole
from srlib.runner.parameters import LIBRARY, SHIPPED, Request, hash_inputs, shown, source_hash

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# Kernels are those of this environment, import nothing from beside somebody's records, and have
# the same last digits whatever the machine.
_KERNEL = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "MKL", "OMP")}
_KERNEL |= {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONSAFEPATH": "1"}


class NotebookFailed(ClickException):
    """A notebook did not run to its end; the message names paper, cell and error."""


def _execute(
    text: bytes, saved: Path, parameters: Mapping[str, Any],
    *, cwd: Path | None = None, bar: str = "", of_user: bool = False,
) -> str:  # fmt: skip
    """Execute a notebook's text, saved after each cell; return why it failed, or nothing."""
    # Parameters are checked before, where papermill's own guess at them only warns. What fails is
    # raised, and a kernel that an interruption ends is no news to who still waits for it.
    for name in ("papermill", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    nbformat.write(jupytext.reads(text.decode("utf-8"), fmt="py"), saved)
    path = saved.as_posix().replace("{", "{{").replace("}", "}}")  # papermill formats it
    # Kernels that start together race for ports, and sockets lie in the working folder by default.
    with hidden_folder(_kernels_place()) as place, mock.patch.dict(os.environ, _KERNEL):
        kernel = {"connection_file": f"{place}/kernel.json"}
        kernel |= {"transport": "ipc", "ip": f"{place}/kernel"} if os.name != "nt" else {}
        try:
            papermill.execute_notebook(
                path, path, dict(parameters), kernel_name="python3", language="python", cwd=cwd,
                config=Config({"KernelManager": kernel}),
                progress_bar={"desc": bar, "disable": None} if bar else False,
                coalesce_streams=True,  # where a kernel cuts a stream depends on the time
                extra_arguments=["--log-level=CRITICAL"],  # not of how it is shut down
            )  # fmt: skip
        except OSError:  # of the disk
            raise
        except Exception as error:
            return _failure(saved, error, parameters if of_user else None)
        return ""


def _kernels_place() -> Path:
    """Return a path beside which a kernel's sockets may lie: theirs have some 100 bytes at most."""
    place = Path(tempfile.gettempdir(), "kernel")
    return place if os.name == "nt" or len(os.fsencode(place)) <= 70 else Path("/tmp/kernel")


def _failure(saved: Path, error: Exception, typed: Mapping[str, Any] | None) -> str:
    """Return where a notebook stopped and why; on a user's file without values that nobody typed.

    What messages of other code than ours quote is anybody's guess: of these the type remains.
    """
    cells = nbformat.read(saved, as_version=4).cells
    begun = [c for c in cells if c.metadata.get("papermill", {}).get("start_time")]
    text = "\n".join(cell.source for cell in begun if cell.cell_type == "markdown")
    where = ", under ".join([f"cell {len(begun)}", *map(repr, _HEADING.findall(text)[-1:])])
    kind, message = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", error)
    told = f"{kind}: {message}"
    if typed is not None:
        ours = _is_ours(getattr(error, "traceback", []))
        columns = confidential.columns_of(typed)
        told = confidential.without_values(kind, str(message), typed, columns) if ours else kind
    return f"{where}: {told}"


def _is_ours(frames: Sequence[str]) -> bool:
    """Say whether an error was raised in the library, from the frames that a kernel shows."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(frames))
    *_, last = "", *re.findall(r"^(?:File (\S.*?):\d+|Cell In)", plain, re.MULTILINE)
    # Not every file below a folder of our name: a checkout holds other packages as well.
    return last != "" and Path(last).expanduser().resolve().is_relative_to(LIBRARY)


def _provenance(request: Request) -> dict[str, Any]:
    """Return what a run is of, with the versions of Python, the library and what runs need."""
    root = request.notebook.parents[1]
    commit = ""  # of an installed package: a repository above belongs to the user
    if root != SHIPPED and shutil.which("git"):
        git = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        commit = subprocess.run(git, cwd=root, capture_output=True, text=True).stdout.strip()
    others = re.compile("extra == .(?!charts|notebooks)")  # the command runs with these two
    required = [r for r in importlib.metadata.requires("srlib") or [] if not others.search(r)]
    names = ["srlib", *(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required)]
    versions = {name: importlib.metadata.version(name) for name in names}
    return {
        "paper": request.notebook.stem, "profile": request.folder.name,
        "changed_parameters": dict(request.changed), "inputs": dict(request.inputs),
        "seed": request.parameters.get("seed"), "git_commit": commit or None,
        "source_sha256": request.source, "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **versions},
    }  # fmt: skip


def run(request: Request, *, bar: bool = False) -> Path:
    """Execute one paper's notebook into a request's folder, and return this folder.

    Everything is written in a folder beside, which only its owner may read, and renamed when
    complete. What was in the folder is replaced; a folder that no run has written is left alone.

    Raises
    ------
    NotebookFailed
        Where a cell failed or the kernel died, or where notebook, library or a file of data are
        others at the end than at the beginning, as nobody could say what was computed. Such a run
        is kept in ``<profile>.failed``.
    """
    paper, final, about = request.notebook.stem, request.folder, _provenance(request)
    text, started = request.notebook.read_bytes(), time.monotonic()
    of_user = confidential.of_users_file(request.parameters, about)
    check_replaceable(request.failed)
    with whole(final) as folder:
        (folder / "parameters.yaml").write_text(yaml_io.dump(request.parameters), encoding="utf-8")
        saved, given = folder / "notebook.ipynb", {settings.OUTPUT_DIR: folder.as_posix()}
        given |= request.parameters
        error = _execute(text, saved, given, bar=paper if bar else "", of_user=of_user)
        if not error and source_hash(request.notebook) != request.source:
            error = "the notebook or the library was changed after the start"
        if not error and hash_inputs(request.parameters) != request.inputs:
            error = "a file of data was changed after the start"
        name = final.relative_to(final.parents[2]).as_posix()
        written = saved.read_text(encoding="utf-8").replace(folder.as_posix(), name)
        saved.write_text(written, encoding="utf-8")
        about |= {"status": "failed", "error": error} if error else {"status": "complete"}
        about["seconds"] = round(time.monotonic() - started, 1)
        (folder / "provenance.json").write_text(json.dumps(about, indent=2), encoding="utf-8")
        if error:
            replace(folder, request.failed)
            raise NotebookFailed(f"{paper}: {error}\nkept: {shown(request.failed)}")
    shutil.rmtree(request.failed, ignore_errors=True)
    return final


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults, write the one that is committed, and return it.

    The kernel works in the notebook's folder, as under JupyterLab and nbval. What is written
    depends on sources, outputs and the version of Python alone, so that building again changes
    nothing, and saving in JupyterLab neither.
    """
    source = root / "notebooks" / f"{paper}.py"
    text, final = source.read_bytes(), source.with_suffix(".ipynb")
    settings.read_parameters(source)
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / final.name
        if error := _execute(text, saved, {}, cwd=source.parent, bar=paper):
            raise NotebookFailed(f"{paper}: {error}")
        built = nbformat.writes(normalized(nbformat.read(saved, as_version=4)))
    final.write_text(built + "\n", encoding="utf-8", newline="\n")
    return final


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook without times, paths and random names, as JupyterLab saves it.

    Cell ids come from the sources; of the metadata stay tags, the lines between cells of the text,
    what pairs the notebook with its text, and what the kernel says of its language.
    """
    seen = set[str]()
    for cell in notebook.cells:
        kept = {name: cell.metadata.get(name) for name in ("lines_to_next_cell", "tags")}
        cell.metadata = NotebookNode({name: value for name, value in kept.items() if value})
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
            cell.metadata.jupyter = {"source_hidden": True}
        key = cell.source
        while (key := hashlib.sha256(key.encode()).hexdigest()[:8]) in seen:
            pass  # of cells with the same source
        seen.add(key)
        cell.id = key
    about = notebook.metadata
    about.get("jupytext", {}).pop("text_representation", None)
    metadata = {name: about.get(name, {}) for name in ("jupytext", "kernelspec", "language_info")}
    text = json.dumps(nbformat.v4.new_notebook(cells=notebook.cells, metadata=metadata))

    def of_javascript(number: str) -> float:  # which writes whole ones as integers
        return int(x) if (x := Decimal(number)) % 1 == 0 and abs(x) < 10**21 else float(number)

    return nbformat.from_dict(json.loads(text, parse_float=of_javascript))
