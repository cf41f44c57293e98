"""An account for the file: what was assumed, by which equations, and on which tables."""

import hashlib
import importlib.metadata
import json
import platform
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from srlib.assessment.submission import Submission
from srlib.data.codes import Codes

if TYPE_CHECKING:
    from srlib.assessment.report import Assessment

_NAMES = 8  # variables that are named in a cell
_USED = ("srlib", "numpy", "pandas", "scipy", "statsmodels", "numba")

_PREMISES = {
    "": "nothing in the original speaks against it",
    "twins": "the original repeats people where nobody else is near",
    "removed": "no two original records are equal, though many nearly are",
}


def assumptions(found: "Assessment") -> pd.DataFrame:
    """List what an assessment takes for granted. Confidential: it names variables.

    Parameters
    ----------
    found : Assessment
        Its submission and findings.

    Returns
    -------
    DataFrame
        A row an assumption: assumption; value, as it was in this assessment; and follows, what
        follows from it, or where it does not hold.
    """
    one, n = found.submission, len(found.submission.original)
    names, variables = one.schema.names, one.schema.variables
    target = variables[one.target]
    lacking = int(np.isin(one.original[:, one.target], target.no_values).sum())
    with_level = sum(bool(variable.missing) for variable in variables)
    keys = [names[k] for k in one.keys]
    listed = ", ".join(keys[:_NAMES]) + f" and {len(keys) - _NAMES} more" * (len(keys) > _NAMES)
    n_levels = one.schema.n_levels
    limits = [
        f"{topic} {limit} {value}"
        for topic, each in one.rules.items()
        for limit, value in each.items()
    ]
    premise = next(iter(found.findings.values())).copies[0].premise
    rows = {
        "known to the intruder": (
            f"{len(keys)} of {len(names)} variables: {listed}"
            + f"; further sets compared: {len(one.more_keys)}" * bool(one.more_keys),
            "Identity and attributes are those of these keys. Other keys give other shares, higher "
            "or lower.",
        ),
        "wanted": (
            target.name
            + f"; {n - lacking:,} of {n:,} people have a value" * (lacking > 0)
            + (f"; numbers within {one.uncut.tolerance:g} count as told" if one.uncut else ""),
            "The verdict on attributes is about this variable only.",
        ),
        "categories": (
            f"{len(names)} variables of {n_levels.min()} to {n_levels.max()} levels",
            "A release of finer values, or an intruder who has them, can tell more than is seen "
            "here.",
        ),
        "missing values": (
            f"a level of their own in {with_level} of {len(names)} variables"
            if with_level
            else "no variable has a level for them",
            "A release may tell who has no value. People whose records were dropped are in no "
            "number.",
        ),
        "people": (
            f"each record is a person, drawn like the others: {_PREMISES[premise]}",
            "Households, weights, or equal records that were removed change what strangers repeat; "
            "the verdict on copies is Undecided where that is seen.",
        ),
        "people held out": (
            "none in the verdict"
            if one.held_out is None
            else f"{len(one.held_out):,}, of the same population",
            "What other people's records would tell is predicted from the original alone."
            if one.held_out is None
            else "With people of another population, or people who took part, the comparison, and "
            "what others' records would repeat and meet, say nothing.",
        ),
        "releases": _of_releases(found),
        "rows": (
            "rows of the files do not correspond",
            "Where they do, matches by row are not counted; the comparison row by row sees it if "
            "values agree.",
        ),
        "intruder's model": _of_model(found),
        "limits": (
            "; ".join(limits) or "the report's own thresholds",
            "Words of the verdict follow from thresholds. Whether these fit the data is for the "
            "agency to say.",
        ),
    }
    return pd.DataFrame(
        [(name, *row) for name, row in rows.items()], columns=["assumption", "value", "follows"]
    )


def _of_releases(found: "Assessment") -> tuple[str, str]:
    one = found.submission
    sizes = [len(z) for z in one.released]
    records = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    value = f"{len(sizes)} of {records} records"
    if any(of.thinned for each in found.findings.values() for of in each.identity):
        value += "; larger ones are thinned to the original's size"
    n_tools = len(one.judged())
    if n_tools < len(sizes):
        tools = "one generator" if n_tools == 1 else f"{n_tools} generators, each judged by itself"
        return (
            f"{value}, draws of {tools}",
            "If they are not, a mean over them hides the worst.",
        )
    judged = ", each judged by itself" if len(sizes) > 1 else ""
    return (
        value + judged,
        "One release cannot tell how far another fit of its generator would move a number.",
    )


def _of_model(found: "Assessment") -> tuple[str, str]:
    models = [each.model for each in found.findings.values()]
    if None in models:
        return "left out", "No intruder who knows all other records was considered."
    agree = all(model is not None and model.converged for model in models)
    return (
        f"a DPMPM, by chains that {'agree' if agree else 'do not agree'}",
        "The probabilities are those of an intruder who believes in it. One who knows better may "
        "learn more.",
    )


def fingerprints(submission: Submission) -> pd.DataFrame:
    """Return the SHA-256 of each table as it was compared. Confidential.

    The hash is of a serialization that does not depend on where a table came from: the JSON text of
    all variables with their levels, ``[[name, [level, ...]], ...]``, without spaces and in UTF-8; a
    line feed; and the codes from 0, row by row, as 32-bit little-endian integers. Another order of
    records gives another hash. It confirms guesses: who knows all records but one can try every
    value of that one.

    Parameters
    ----------
    submission : Submission
        Its original, releases and people held out.

    Returns
    -------
    DataFrame
        A row a table: table, records, sha256.
    """
    declared = [[variable.name, variable.levels] for variable in submission.schema.variables]
    head = json.dumps(declared, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def digest(codes: Codes) -> str:
        return hashlib.sha256(head + np.ascontiguousarray(codes, "<i4").tobytes()).hexdigest()

    names = submission.names or [f"release {i + 1}" for i in range(len(submission.released))]
    tables = {"original": submission.original, **dict(zip(names, submission.released, strict=True))}
    if submission.held_out is not None:
        tables["people held out"] = submission.held_out
    rows = [(name, len(codes), digest(codes)) for name, codes in tables.items()]
    return pd.DataFrame(rows, columns=["table", "records", "sha256"])


def versions() -> str:
    """Return the versions of Python, of the library and of what it computes with, in one line."""
    found = [f"{name} {importlib.metadata.version(name)}" for name in _USED]
    return ", ".join([f"Python {platform.python_version()}", *found])
