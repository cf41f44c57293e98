"""Select the parts of a run on confidential records that may be published.

They are those marked public. A run is on a user's file if a parameter names one.
Outputs are marked by the tag ``public`` of their cell, and files by
``Outputs.table(..., public=True)``, which copies them to ``public/``. Two kinds of
results are marked:

- results that depend on neither the file nor the seed, such as an exact worked example.
  Numbers drawn with the seed could be used to test guesses at it, even if many of them
  are rounded;
- words that follow by stated thresholds from numbers over at least `MIN_RECORDS`
  records. Words are the coarsest rounding, and show no single record. Labels, levels
  and names of files are not marked.

Runs on the embedded population or on simulated records describe no real person: they
are public.
"""

import copy
import itertools
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from srlib.display import MIN_RECORDS, NOT_SHOWN
from srlib.runner.parameters import FILE_PARAMETERS, UsageError, Values, input_files

if TYPE_CHECKING:
    from nbformat import NotebookNode

RULE = (
    f"For a run on a user's file, only words over at least {MIN_RECORDS} records "
    "are public, and results that depend on neither the file nor the seed."
)
_PROVENANCE = ("status", "paper", "seconds", "git_commit", "source_sha256", "versions")
_ERRORS = ("error", "stderr")  # kinds of outputs
# Errors whose messages name places; other messages may contain anything.
_ERRORS_WITH_PLACES = {
    "ValueError",
    "FileNotFoundError",
    "ConnectionError",
    "AssertionError",
}
# Words that our messages quote: keys of a schema file, and values of parameters.
_OURS = ("variables", "name", "levels", "labels", "", "acs")
_TEXT = r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
_find_texts = re.compile(_TEXT).findall
_SOME_TEXT = re.compile("'[^']|\"[^\"]").search
_QUOTED = re.compile(f"{_TEXT}(?:, {_TEXT})*")


def of_users_file(parameters: Values, provenance: Values) -> bool:
    """Return whether a run is on a user's file; True also if that is unknown."""
    named = any(
        parameters.get(name, "") not in ("", [], "acs") for name in FILE_PARAMETERS
    )
    return named or bool(provenance.get("inputs")) or not (parameters and provenance)


def public_run(
    notebook: "NotebookNode", parameters: Values, provenance: Values
) -> tuple["NotebookNode", Values, Values]:
    """Return the public part of a run: notebook, parameters and provenance.

    If the run is on no user's file, everything is public. Else text stays, source code
    stays except for the parameters, and outputs stay only in cells tagged ``public``.
    The seed and parameters with text are replaced: with a known seed, the draws from
    the records could be repeated for every guess at them. Names and hashes of files are
    removed. A UsageError refuses a failed run: the place and the reason of the failure
    may depend on a single record.
    """
    if provenance.get("status") == "failed":
        raise UsageError("a failed run has no public report")
    if not of_users_file(parameters, provenance):
        return notebook, parameters, provenance
    public = copy.deepcopy(notebook)
    public.metadata.clear()
    for cell in public.cells:
        _make_public(cell)
    about = {name: provenance[name] for name in _PROVENANCE if name in provenance}
    changed = provenance.get("changed_parameters", {})
    about["changed_parameters"] = dict.fromkeys(changed)
    values = {
        name: NOT_SHOWN if name == "seed" or _SOME_TEXT(repr(value)) else value
        for name, value in parameters.items()
    }
    return public, values, about


def _make_public(cell: "NotebookNode") -> None:
    """Leave what is public in a cell of a run on a user's file."""
    from nbformat.v4 import new_output  # assessments do without

    tags = cell.metadata.get("tags", [])
    outputs = cell.get("outputs", [])
    if {"parameters", "injected-parameters"} & {*tags}:
        cell.source = f"# Parameters: {NOT_SHOWN}"
    if not outputs:
        return
    if "public" in tags:
        cell.outputs = [
            output
            for output in outputs
            if {output.output_type, output.get("name")}.isdisjoint(_ERRORS)
        ]
        return
    rule = {"text/markdown": f"*Not shown. {RULE}*"}
    cell.outputs = [new_output("display_data", rule)]
    kinds = str([[*output.get("data", {})] for output in outputs])
    if "vega" in kinds or "image/" in kinds:  # its caption goes as well
        cell.metadata["tags"] = [*tags, "lost-figure"]


def without_values(kind: str, message: str, typed: Values) -> str:
    """Return an error's type, with its message's first line if that names places.

    Of the line, what is typed and the columns of the files stay.
    """
    if kind not in _ERRORS_WITH_PLACES:
        return kind
    line = message.partition("\n")[0]
    return f"{kind}: {masked(line, typed, columns_of(typed))}"


def masked(
    message: str,
    typed: object,
    columns: Collection[str],
) -> str:
    """Return a message with dots for quotations but column names and typed texts."""
    texts = [repr((typed, _OURS, list(columns))), *columns]
    known = set(itertools.chain(*map(_find_texts, texts)))

    def mask(quotation: re.Match[str]) -> str:
        is_known = known.issuperset(_find_texts(quotation[0]))
        return quotation[0] if is_known else "'...'"

    return _QUOTED.sub(mask, message)


def columns_of(parameters: Values) -> set[str]:
    """Return the column names in the headers of all tables that parameters name."""
    # Imports pandas, which reports do not need.
    from srlib.data.microdata import column_names

    tables = parameters | {"schema": ""}  # which has no header
    return {name for path in input_files(tables) for name in column_names(path)}
