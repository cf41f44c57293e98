"""What of a run on somebody's records may be passed on: nothing but what is marked.

A run is on a user's file where a parameter names one. Marked are outputs, by the tag ``public`` of
their cell, and files, by ``Outputs.table(..., public=True)``, of which ``public/`` has copies. Two
kinds of things are marked:

- what depends on neither the file nor the seed, such as an exact worked example. Numbers that are
  drawn from the seed test guesses at it, also rounded ones where they are many;
- words that follow by stated thresholds from numbers over at least `MIN_RECORDS` records. Words are
  the coarsest rounding there is, and no single record shows in them. Labels, levels and names of
  files are not among them.

Runs on the embedded and on simulated records are about nobody, and all of them is shown.
"""

import copy
import re
from collections.abc import Collection, Mapping
from typing import Any

import nbformat

from srlib.display import MIN_RECORDS, NOT_SHOWN
from srlib.runner.parameters import FILE_PARAMETERS, UsageError, input_files

RULE = (
    f"Of a run on somebody's file, only words over at least {MIN_RECORDS} records are public, and "
    "what depends on neither the file nor the seed."
)
_NO_FILE: tuple[Any, ...] = ("", [], "acs")
_PROVENANCE = ("status", "paper", "seconds", "git_commit", "source_sha256", "versions")
_ERRORS = ("error", "stderr")  # kinds of outputs
# Errors whose messages name places; what others say is anybody's guess.
_TELLING = ("ValueError", "FileNotFoundError", "ConnectionError", "AssertionError")
# Words that messages of ours quote: keys of a schema's file, and values of parameters.
_OURS = ("variables", "name", "levels", "labels", "", "acs")
_TEXT = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
_SOME_TEXT = re.compile("'[^']|\"[^\"]").search
_QUOTED = re.compile(f"{_TEXT}(?:, {_TEXT})*")


def of_users_file(parameters: Mapping[str, Any], provenance: Mapping[str, Any]) -> bool:
    """Say whether a run is on a file that a user named; also where nobody knows."""
    named = any(parameters.get(name, "") not in _NO_FILE for name in FILE_PARAMETERS)
    return named or bool(provenance.get("inputs")) or not (parameters and provenance)


def public_run(
    notebook: nbformat.NotebookNode, parameters: Mapping[str, Any], provenance: Mapping[str, Any]
) -> tuple[nbformat.NotebookNode, dict[str, Any], dict[str, Any]]:
    """Return what of a run may be passed on; all of it where the run is on no user's file.

    Texts stay, and source code but that of parameters; of outputs stay those of cells tagged
    ``public``. The seed and parameters with text are replaced: what was drawn from the records with
    a known seed can be drawn again from every guess at them. Names and hashes of files go. A
    UsageError refuses a failed run: where it stopped and why may depend on a single record.
    """
    if provenance.get("status") == "failed":
        raise UsageError("there is no public report of a failed run")
    if not of_users_file(parameters, provenance):
        return notebook, dict(parameters), dict(provenance)
    public, rule = copy.deepcopy(notebook), {"text/markdown": f"*Not shown. {RULE}*"}
    public.metadata.clear()
    for cell in public.cells:
        tags, shown = cell.metadata.get("tags", []), cell.get("outputs", [])
        if {"parameters", "injected-parameters"} & {*tags}:
            cell.source = f"# Parameters: {NOT_SHOWN}"
        if shown and "public" in tags:
            cell.outputs = [o for o in shown if {o.output_type, o.get("name")}.isdisjoint(_ERRORS)]
        elif shown:
            kinds = "".join(kind for output in shown for kind in output.get("data", {}))
            if "vega" in kinds or "image/" in kinds:
                cell.metadata["tags"] = [*tags, "lost-figure"]  # its caption goes as well
            cell.outputs = [nbformat.v4.new_output("display_data", rule)]
    about = {name: provenance[name] for name in _PROVENANCE if name in provenance}
    about["changed_parameters"] = dict.fromkeys(provenance.get("changed_parameters", {}))
    hidden = {name for name, value in parameters.items() if _SOME_TEXT(repr(value))} | {"seed"}
    return public, {k: NOT_SHOWN if k in hidden else v for k, v in parameters.items()}, about


def without_values(
    kind: str, message: str, typed: object = "", columns: Collection[str] = ()
) -> str:
    """Return an error's type, and the first line of its message where messages name places."""
    line = message.partition("\n")[0]
    return f"{kind}: {masked(line, typed, columns)}" if kind in _TELLING else kind


def masked(message: str, typed: object = "", columns: Collection[str] = ()) -> str:
    """Return a message with dots for what it quotes but names of columns and texts typed."""
    known = {*re.findall(_TEXT, repr((typed, _OURS, list(columns))))}
    known |= {quoted for name in columns for quoted in re.findall(_TEXT, name)}

    def dotted(found: re.Match[str]) -> str:
        return found[0] if known.issuperset(re.findall(_TEXT, found[0])) else "'...'"

    return _QUOTED.sub(dotted, message)


def columns_of(parameters: Mapping[str, Any]) -> set[str]:
    """Return the names of columns in the headers of all tables that parameters name."""
    from srlib.data.microdata import column_names  # and pandas, which reports do not need

    tables = {name: value for name, value in parameters.items() if name != "schema"}
    return {name for path in input_files(tables) for name in column_names(path)}
