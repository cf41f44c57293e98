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
from srlib.runner.parameters import (
    LIBRARY,
    SHIPPED,
    Request,
    hash_inputs,
    shown,
    source_hash,
)

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# Kernels belong to this environment, import nothing from the folder of a user's
# records, and give the same last digits on any machine.
_KERNEL = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "MKL", "OMP")}
_KERNEL |= {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONSAFEPATH": "1"}


class NotebookFailed(ClickException):
    """Error of a notebook that did not run to its end; it names paper, cell and error."""


def _execute(
    text: bytes,
    saved: Path,
    parameters: Mapping[str, Any],
    *,
    cwd: Path | None = None,
    bar: str = "",
    of_user: bool = False,
) -> str:
    """Execute a notebook's text, saving after each cell; return the error message, or ""."""
    # Parameters were checked before; papermill only warns about them. Failures are
    # raised, so the logs of papermill and of interrupted kernels add nothing.
    for name in ("papermill", "asyncio", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    nbformat.write(jupytext.reads(text.decode("utf-8"), fmt="py"), saved)
    path = (
        saved.as_posix().replace("{", "{{").replace("}", "}}")
    )  # papermill formats it
    # Kernels that start together race for ports; by default, sockets are in the working
    # folder.
    with hidden_folder(_kernels_place()) as place, mock.patch.dict(os.environ, _KERNEL):
        kernel = {"connection_file": f"{place}/kernel.json"}
        kernel |= (
            {"transport": "ipc", "ip": f"{place}/kernel"} if os.name != "nt" else {}
        )
        try:
            papermill.execute_notebook(
                path,
                path,
                dict(parameters),
                kernel_name="python3",
                language="python",
                cwd=cwd,
                config=Config({"KernelManager": kernel}),
                progress_bar={"desc": bar, "disable": None} if bar else False,
                coalesce_streams=True,  # else the parts of a stream depend on timing
                extra_arguments=[
                    "--log-level=CRITICAL"
                ],  # without messages about its shutdown
            )
        except OSError:  # of the disk
            raise
        except Exception as error:
            return _failure(saved, error, parameters if of_user else None)
        return ""


def _kernels_place() -> Path:
    """Return a short path for a kernel's sockets, whose paths are limited to some 100 bytes."""
    place = Path(tempfile.gettempdir(), "kernel")
    return (
        place
        if os.name == "nt" or len(os.fsencode(place)) <= 70
        else Path("/tmp/kernel")
    )


def _failure(saved: Path, error: Exception, typed: Mapping[str, Any] | None) -> str:
    """Return the place and the reason of a failure; on a user's file, without values from it.

    Messages from other code may quote anything, so that only their type is returned.
    """
    cells = nbformat.read(saved, as_version=4).cells
    begun = [c for c in cells if c.metadata.get("papermill", {}).get("start_time")]
    text = "\n".join(cell.source for cell in begun if cell.cell_type == "markdown")
    where = ", under ".join(
        [f"cell {len(begun)}", *map(repr, _HEADING.findall(text)[-1:])]
    )
    kind, message = (
        getattr(error, "ename", type(error).__name__),
        getattr(error, "evalue", error),
    )
    reason = f"{kind}: {message}"
    if typed is not None:
        ours = _is_ours(getattr(error, "traceback", []))
        columns = confidential.columns_of(typed)
        reason = (
            confidential.without_values(kind, str(message), typed, columns)
            if ours
            else kind
        )
    return f"{where}: {reason}"


def _is_ours(frames: Sequence[str]) -> bool:
    """Return whether an error was raised in this library, from a kernel's traceback."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(frames))
    *_, last = "", *re.findall(r"^(?:File (\S.*?):\d+|Cell In)", plain, re.MULTILINE)
    # A folder of the same name is not enough: a checkout may hold other packages as
    # well.
    return last != "" and Path(last).expanduser().resolve().is_relative_to(LIBRARY)


def _provenance(request: Request) -> dict[str, Any]:
    """Return the provenance of a run, with the versions of Python and of all packages used."""
    root = request.notebook.parents[1]
    commit = ""  # empty for an installed package: a repository above is the user's
    if root != SHIPPED and shutil.which("git"):
        git = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        commit = subprocess.run(
            git, cwd=root, capture_output=True, text=True
        ).stdout.strip()
    others = re.compile(
        "extra == .(?!charts|notebooks)"
    )  # the command requires these two
    required = [
        r for r in importlib.metadata.requires("srlib") or [] if not others.search(r)
    ]
    names = ["srlib", *(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in required)]
    versions = {name: importlib.metadata.version(name) for name in names}
    return {
        "paper": request.notebook.stem,
        "profile": request.folder.name,
        "changed_parameters": dict(request.changed),
        "inputs": dict(request.inputs),
        "seed": request.parameters.get("seed"),
        "git_commit": commit or None,
        "source_sha256": request.source,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **versions},
    }


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
    paper, final, about = request.notebook.stem, request.folder, _provenance(request)
    text, started = request.notebook.read_bytes(), time.monotonic()
    of_user = confidential.of_users_file(request.parameters, about)
    check_replaceable(request.failed)
    with whole(final) as folder:
        (folder / "parameters.yaml").write_text(
            yaml_io.dump(request.parameters), encoding="utf-8"
        )
        saved, given = (
            folder / "notebook.ipynb",
            {settings.OUTPUT_DIR: folder.as_posix()},
        )
        given |= request.parameters
        error = _execute(text, saved, given, bar=paper if bar else "", of_user=of_user)
        if not error and source_hash(request.notebook) != request.source:
            error = "the notebook or the library was changed during the run"
        if not error and hash_inputs(request.parameters) != request.inputs:
            error = "a data file was changed during the run"
        name = final.relative_to(final.parents[2]).as_posix()
        written = saved.read_text(encoding="utf-8").replace(folder.as_posix(), name)
        saved.write_text(written, encoding="utf-8")
        about |= (
            {"status": "failed", "error": error} if error else {"status": "complete"}
        )
        about["seconds"] = round(time.monotonic() - started, 1)
        (folder / "provenance.json").write_text(
            json.dumps(about, indent=2), encoding="utf-8"
        )
        if error:
            replace(folder, request.failed)
            raise NotebookFailed(f"{paper}: {error}\nkept: {shown(request.failed)}")
    shutil.rmtree(request.failed, ignore_errors=True)
    return final


def build(root: Path, paper: str) -> Path:
    """Execute a text notebook at its defaults, write the committed .ipynb, and return its path.

    The kernel works in the notebook's folder, as in JupyterLab and nbval. The file
    depends only on sources, outputs and the version of Python: building it again or
    saving it in JupyterLab changes nothing.
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

    Cell ids are hashes of the sources. The metadata that stay are tags, the lines
    between cells in the text, the pairing with the text, and the kernel's language.
    """
    seen = set[str]()
    for cell in notebook.cells:
        kept = {
            name: cell.metadata.get(name) for name in ("lines_to_next_cell", "tags")
        }
        cell.metadata = NotebookNode(
            {name: value for name, value in kept.items() if value}
        )
        if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", []):
            cell.metadata.jupyter = {"source_hidden": True}
        key = cell.source
        while (key := hashlib.sha256(key.encode()).hexdigest()[:8]) in seen:
            pass  # cells with the same source
        seen.add(key)
        cell.id = key
    about = notebook.metadata
    about.get("jupytext", {}).pop("text_representation", None)
    metadata = {
        name: about.get(name, {})
        for name in ("jupytext", "kernelspec", "language_info")
    }
    text = json.dumps(nbformat.v4.new_notebook(cells=notebook.cells, metadata=metadata))

    def of_javascript(
        number: str,
    ) -> float:  # JavaScript writes whole numbers as integers
        return (
            int(x)
            if (x := Decimal(number)) % 1 == 0 and abs(x) < 10**21
            else float(number)
        )

    return nbformat.from_dict(json.loads(text, parse_float=of_javascript))
