"""Execute notebooks: runs into their own folders, and the committed notebooks."""

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
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from unittest import mock

import jupytext
import nbformat
import papermill
from click import ClickException
from nbformat import NotebookNode
from traitlets.config import Config

from srlib import yaml_io
from srlib.runner import confidential
from srlib.runner.files import check_replaceable, hidden_folder, replace, whole
from srlib.runner.parameters import (
    LIBRARY,
    OUTPUT_DIR,
    SHIPPED,
    Request,
    Values,
    hash_inputs,
    read_parameters,
    shown,
    source_hash,
)

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# Kernels belong to this environment, import nothing from the folder of a user's
# records, and give the same last digits on any machine.
_KERNEL = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "MKL", "OMP")}
_KERNEL |= {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONSAFEPATH": "1"}


class NotebookFailed(ClickException):
    """A notebook did not run to its end; the message names paper, cell and error."""


def _execute(
    source: Path,
    saved: Path,
    parameters: Values,
    *,
    cwd: Path | None = None,
    bar: str = "",
    of_user: bool = False,
) -> str:
    """Execute a text notebook, saving after each cell; return the error, or ""."""
    # Parameters were checked before; papermill only warns about them. Failures are
    # raised, so the logs of papermill and of interrupted kernels add nothing.
    for name in ("papermill", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    nbformat.write(jupytext.read(source, fmt="py"), saved)
    # Papermill formats it.
    path = saved.as_posix().replace("{", "{{").replace("}", "}}")
    # Kernels that start together race for ports; by default, sockets are in the working
    # folder.
    with (
        hidden_folder(_sockets_folder()) as folder,
        mock.patch.dict(os.environ, _KERNEL),
    ):
        manager = {"connection_file": f"{folder}/kernel.json"}
        if os.name != "nt":
            manager |= {"transport": "ipc", "ip": f"{folder}/kernel"}
        try:
            papermill.execute_notebook(
                path,
                path,
                parameters,
                kernel_name="python3",
                language="python",
                cwd=cwd,
                config=Config({"KernelManager": manager}),
                progress_bar={"desc": bar, "disable": None} if bar else False,
                coalesce_streams=True,  # else the parts of a stream depend on timing
                # Without messages about its shutdown.
                extra_arguments=["--log-level=CRITICAL"],
            )
        except OSError:  # of the disk
            raise
        except Exception as error:
            return _failure(saved, error, parameters if of_user else None)
    return ""


def _sockets_folder() -> Path:
    """Return a path for a kernel's sockets: theirs have at most some 100 bytes."""
    folder = Path(tempfile.gettempdir(), "kernel")
    if os.name == "nt" or len(os.fsencode(folder)) <= 70:
        return folder
    return Path("/tmp/kernel")


def _failure(saved: Path, error: Exception, typed: Values | None) -> str:
    """Return a failure's place and reason; on a user's file, without values from it.

    Messages from other code may quote anything, so that only their type is returned.
    """
    cells = nbformat.read(saved, as_version=4).cells
    begun = [c for c in cells if c.metadata.get("papermill", {}).get("start_time")]
    text = "\n".join(cell.source for cell in begun if cell.cell_type == "markdown")
    place = f"cell {len(begun)}"
    if headings := _HEADING.findall(text):
        place += f", under {headings[-1]!r}"
    kind = getattr(error, "ename", type(error).__name__)
    message = str(getattr(error, "evalue", error))
    if typed is None:
        return f"{place}: {kind}: {message}"
    if not _is_ours(getattr(error, "traceback", [])):
        return f"{place}: {kind}"
    return f"{place}: {confidential.without_values(kind, message, typed)}"


def _is_ours(frames: Sequence[str]) -> bool:
    """Return whether an error was raised in this library, from a kernel's traceback."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(frames))
    # A folder of the same name is not enough: a checkout may hold other packages as
    # well.
    files = re.findall(r"^(?:File (\S.*?):\d+|Cell In)", plain, re.MULTILINE)
    if not files or not files[-1]:
        return False
    return Path(files[-1]).expanduser().resolve().is_relative_to(LIBRARY)


def _git_commit(root: Path) -> str:
    """Return the commit of a checkout; empty if git does not tell it."""
    # For an installed package: a repository above is the user's.
    if root == SHIPPED or not shutil.which("git"):
        return ""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return done.stdout.strip()


def _versions() -> dict[str, str]:
    """Return the versions of Python, of the library and of the packages it requires."""
    # The command requires these two extras.
    needed = r"(?m)^([\w.-]+)(?!.*extra == .(?!charts|notebooks))"
    required = "\n".join(importlib.metadata.requires("srlib") or [])
    names = ["srlib", *re.findall(needed, required)]
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"python": platform.python_version()} | versions


def run(request: Request, *, bar: bool = False) -> Path:
    """Execute a paper's notebook into the request's folder, and return this folder.

    Everything is written to a private folder beside it, which is renamed when complete.
    It replaces an earlier run; a folder that is not a run's stays.

    Raises
    ------
    NotebookFailed
        If a cell failed or the kernel died, or if the notebook, the library or a data
        file was changed during the run, so that its results belong to neither version.
        Such a run is kept in ``<profile>.failed``.
    """
    paper = request.notebook.stem
    provenance = {
        "paper": paper,
        "profile": request.folder.name,
        "changed_parameters": request.changed,
        "inputs": request.inputs,
        "seed": request.parameters.get("seed"),
        "git_commit": _git_commit(request.notebook.parents[1]) or None,
        "source_sha256": request.source,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
    }
    start = time.monotonic()
    check_replaceable(request.failed)
    with whole(request.folder) as folder:
        (folder / "parameters.yaml").write_text(
            yaml_io.dump(request.parameters), "utf-8"
        )
        error = _execute_in(folder, request, paper if bar else "")
        provenance["status"] = "failed" if error else "complete"
        if error:
            provenance["error"] = error
        provenance["seconds"] = round(time.monotonic() - start, 1)
        (folder / "provenance.json").write_text(
            json.dumps(provenance, indent=2), "utf-8"
        )
        if error:
            replace(folder, request.failed)
            raise NotebookFailed(f"{paper}: {error}\nkept: {shown(request.failed)}")
    shutil.rmtree(request.failed, ignore_errors=True)
    return request.folder


def _execute_in(folder: Path, request: Request, bar: str) -> str:
    """Execute a request's notebook in a folder; return the error, or ""."""
    saved = folder / "notebook.ipynb"
    parameters = {OUTPUT_DIR: folder.as_posix(), **request.parameters}
    of_user = confidential.of_users_file(request.parameters, {"inputs": request.inputs})
    error = _execute(request.notebook, saved, parameters, bar=bar, of_user=of_user)
    # The notebook names its folder by the place where it will be.
    final = request.folder.relative_to(request.folder.parents[2]).as_posix()
    renamed = saved.read_text("utf-8").replace(folder.as_posix(), final)
    saved.write_text(renamed, "utf-8")
    if error:
        return error
    if source_hash(request.notebook) != request.source:
        return "the notebook or the library was changed during the run"
    if hash_inputs(request.parameters) != request.inputs:
        return "a data file was changed during the run"
    return ""


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults, write its .ipynb, and return the path.

    The kernel works in the notebook's folder, as in JupyterLab and nbval. The file
    depends only on sources, outputs and the version of Python: building it again or
    saving it in JupyterLab changes nothing.
    """
    source = root / f"notebooks/{paper}.py"
    final = source.with_suffix(".ipynb")
    read_parameters(source)  # which checks them
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder, final.name)
        if error := _execute(source, saved, {}, cwd=source.parent, bar=paper):
            raise NotebookFailed(f"{paper}: {error}")
        notebook = nbformat.read(saved, as_version=4)
        built = nbformat.writes(normalized(notebook))
    final.write_text(built + "\n", "utf-8", newline="\n")
    return final


def normalized(notebook: NotebookNode) -> NotebookNode:
    """Return an executed notebook as JupyterLab saves it, without times and paths.

    Cell ids are hashes of the sources. The metadata that stay are tags, the lines
    between cells in the text, the pairing with the text, and the kernel's language.
    The code of solutions, and of cells tagged ``hide-input``, is collapsed.
    """
    seen = set()
    for cell in notebook.cells:
        metadata = NotebookNode()
        for name in ("lines_to_next_cell", "tags"):
            if value := cell.metadata.get(name):
                metadata[name] = value
        is_folded = {"solution", "hide-input"} & set(metadata.get("tags", []))
        if cell.cell_type == "code" and is_folded:
            metadata.jupyter = {"source_hidden": True}
        cell.metadata = metadata
        cell.id = _short_hash(cell.source)
        while cell.id in seen:  # cells with the same source
            cell.id = _short_hash(cell.id)
        seen.add(cell.id)
    names = ("jupytext", "kernelspec", "language_info")
    about = {name: notebook.metadata.get(name, {}) for name in names}
    about["jupytext"].pop("text_representation", None)
    bare = nbformat.v4.new_notebook(cells=notebook.cells, metadata=about)
    text = json.dumps(bare)
    return nbformat.from_dict(json.loads(text, parse_float=_javascript_number))


def _short_hash(text: str) -> str:
    """Return a cell's id for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _javascript_number(text: str) -> float:
    """Return a number as JavaScript writes it: whole numbers as integers."""
    number = Decimal(text)
    if number % 1 == 0 and abs(number) < 10**21:
        return int(number)
    return float(text)
