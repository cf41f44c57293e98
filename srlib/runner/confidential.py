"""What of a run on somebody's records may be passed on: nothing but what is marked.

A run is on a user's file where a parameter names one. Marked are outputs, by the tag ``public`` of
their cell, and files, by ``Outputs.table(..., public=True)``. Two kinds of things are marked:

- what depends on neither the file nor the seed, such as an exact worked example. Numbers that are
  drawn from the seed test guesses at it, also rounded ones where they are many;
- words that follow by stated thresholds from numbers over at least `MIN_RECORDS` records. Words are
  the coarsest rounding there is, and no single record shows in them. Labels, levels and names of
  files are not among them.

Runs on the embedded and on simulated records are about nobody, and all of them is shown.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srlib.display import MIN_RECORDS, NOT_SHOWN

if TYPE_CHECKING:  # a second of CPU, for each kernel that records files
    from nbformat import NotebookNode

RULE = (
    f"Of a run on somebody's file, only words over at least {MIN_RECORDS} records are public, and "
    "what depends on neither the file nor the seed."
)
PUBLIC_FILES, CONFIDENTIAL_FILES = "PUBLIC.txt", "CONFIDENTIAL.txt"

FILES = ("data", "original", "released", "schema", "holdout")
_EMBEDDED: tuple[Any, ...] = (
    "",
    [],
    "acs",
)  # values of these parameters that name no file of a user's
_PROVENANCE = ("status", "paper", "seconds", "git_commit", "git_dirty", "source_sha256")
_METADATA = ("jupytext", "kernelspec", "language_info")
# Errors whose messages name places; what others say is anybody's guess.
_TELLING = ("ValueError", "FileNotFoundError", "ConnectionError", "AssertionError")
# Words that messages of ours quote: keys of a schema's file, and values of parameters.
_OURS = ("variables", "name", "levels", "labels", "", "acs")
_TEXT = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
_QUOTED = re.compile(rf"((?:columns|column names|called) {_TEXT}(?:, {_TEXT})*)|{_TEXT}")
_PARAMETERS = {"parameters", "injected-parameters"}  # tags of cells that have values of them
_ALLOWED = re.compile(r", allowed are .*?(?=; \S+ has |$)")


def of_users_file(parameters: Mapping[str, Any], provenance: Mapping[str, Any]) -> bool:
    """Say whether a run is on a file that a user named; also where nobody knows.

    That is where its parameters or its provenance are lacking.

    Public-use files that are downloaded are a user's choice as well.
    """
    named = any(parameters.get(name, "") not in _EMBEDDED for name in FILES)
    return named or bool(provenance.get("inputs")) or not (parameters and provenance)


def public_run(
    notebook: "NotebookNode", parameters: Mapping[str, Any], provenance: Mapping[str, Any]
) -> tuple["NotebookNode", dict[str, Any], dict[str, Any]]:
    """Return what of a run may be passed on; all of it where the run is on no user's file.

    Parameters
    ----------
    notebook : NotebookNode
        Executed notebook. Source code stays but that of parameters; outputs go but those of cells
        tagged ``public``.
    parameters : mapping
        Values by name; the seed and those that contain text are replaced. What was drawn from the
        records with a known seed can be drawn again from every guess at them.
    provenance : mapping
        As in ``provenance.json``; names and hashes of files go, and the seed.

    Raises
    ------
    ValueError
        If the run failed: where it stopped and why may depend on a single record.
    """
    from nbformat import NotebookNode

    if provenance.get("status") == "failed":
        name = provenance.get("paper", "the run")
        raise ValueError(f"{name} failed, and there is no public report of a failed run")
    if not of_users_file(parameters, provenance):
        return notebook, dict(parameters), dict(provenance)
    public = copy.deepcopy(notebook)
    public.metadata = NotebookNode({k: v for k, v in notebook.metadata.items() if k in _METADATA})
    for cell in public.cells:
        tags = cell.metadata.get("tags", [])
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if not _PARAMETERS.isdisjoint(tags):
            cell.source = f"# Parameters: {NOT_SHOWN}"
        if cell.cell_type == "code":
            cell.outputs = _public_outputs(cell.outputs, "public" in tags)
    about = {name: provenance[name] for name in _PROVENANCE if name in provenance}
    about["versions"] = provenance.get("versions", {})
    about["changed_parameters"] = dict.fromkeys(provenance.get("changed_parameters", {}))
    shown = {
        name: NOT_SHOWN if name == "seed" or any(texts(value)) else value
        for name, value in parameters.items()
    }
    return public, shown, about


def _public_outputs(outputs: "list[NotebookNode]", marked: bool) -> "list[NotebookNode]":
    from nbformat.v4 import new_output

    if marked:
        return [o for o in outputs if o.output_type != "error" and o.get("name") != "stderr"]
    notice = {"text/markdown": f"*Not shown. {RULE}*", "text/plain": f"Not shown. {RULE}"}
    return [new_output("display_data", data=notice)] if outputs else []


def texts(value: Any) -> Iterator[str]:
    """Go through the texts in a parameter's value, names in mappings too, but the empty one."""
    if isinstance(value, str):
        yield from [value] if value else []
    elif isinstance(value, Mapping):
        yield from texts([*value, *value.values()])
    elif isinstance(value, Iterable):
        for item in value:
            yield from texts(item)


def without_values(message: str, typed: Iterable[str] = ()) -> str:
    """Return an error's message without values of the file: columns and lines stay.

    Parameters
    ----------
    message : str
        Its first line is taken, and dots put for what it quotes but names of columns.
    typed : iterable of str
        Texts that the user typed, such as names of variables; they stay.
    """
    known = {repr(text) for text in (*typed, *_OURS)}
    first = _ALLOWED.sub("", next(iter(message.splitlines()), ""))
    return _QUOTED.sub(lambda found: found[0] if found[1] or found[0] in known else "'...'", first)


def error_without_values(kind: str, message: str, typed: Iterable[str] = ()) -> str:
    """Return an error's type, and its message `without_values` where messages name places."""
    return f"{kind}: {without_values(message, typed)}" if kind in _TELLING else kind


def list_files(folder: Path, parameters: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
    """Write ``CONFIDENTIAL.txt`` into a run's folder: every file that is not marked public.

    Nothing is listed where the run is on no user's file.
    """
    public = folder / PUBLIC_FILES
    if not of_users_file(parameters, provenance):
        public.unlink(missing_ok=True)
        return
    marked = set(names(public)) | {PUBLIC_FILES, CONFIDENTIAL_FILES}
    found = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    found |= {"provenance.json", "report.html"}  # written last
    lines = "".join(f"{name}\n" for name in sorted(found - marked))
    (folder / CONFIDENTIAL_FILES).write_text(lines, encoding="utf-8", newline="\n")


def names(file: Path) -> list[str]:
    """Return the lines of a list of files; none where there is no list."""
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
