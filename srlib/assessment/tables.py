"""Tables for the report: of one release, and over all that was judged."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import leakage, matching, utility, verdict
from srlib.assessment.findings import Findings, compared, of_numbers
from srlib.assessment.submission import Submission
from srlib.data.codes import Codes, Levels, distinct
from srlib.display import MIN_RECORDS, NOT_SHOWN

# Columns of the tables, as readers see them.
_WORDS = {
    "repeated": "repeat an original record",
    "repeated_error": "error",
    "others": "other people's would",
    "others_error": "its error",
    "repeated_z": "difference in errors",
    "alone": "people alone",
    "met": "of these in the release",
    "handed_out": "estimated handed out",
    "handed_out_error": "error",
    "handed_out_z": "excess in errors",
    "at_most": "upper limit",
    "near_z": "near copies, in errors",
    "itself_z": "beyond itself, in errors",
    "same_table": "same records",
    "same_row": "values equal, row by row",
    "same_row_others": "at other distances",
    "same_row_z": "difference in errors",
    "margins": "margins would",
    "z": "difference in errors",
    "rest": "of what is left",
    "used": "people in the file",
    "frequent": "with the most frequent value",
    "one_key": "told by one key alone",
    "by_chance": "by chance",
    "held_out": "people held out",
    "records": "released records",
    "ahead": "ahead of the next",
    "ahead_error": "its error",
    "sd": "spread",
    "se": "standard error",
    "fresh": "fresh sample's",
    "worse": "worse, in errors",
    "which": "where",
    "way": "margins of",
    "original_se": "standard error",
    "synthetic": "released",
    "believes_in": "intruder believes in",
    "median": "median gain",
    "high": "95 %",
    "misled": "share misled",
    "inverse": "prior over posterior",
    "inverse_error": "error",
    "belief": "the model is",
    "baseline_sd": "spread by chance",
    "baseline_mcse": "Monte Carlo error",
    "draws_given": "draws given",
    "r_hat_median": "R-hat, median",
    "r_hat_95": "R-hat, 95 %",
    "apart": "share above 1.01",
    "mcse": "Monte Carlo error",
    "ess_bulk": "effective draws",
    "ess_tail": "in the tails",
    "r_hat": "R-hat",
    "copied": "in the release",
    "neighbors": "near neighbors",
    "probability": "posterior probability",
    "log_mcse": "error of its logarithm",
    "counted": "of these count",
    "excess": "beyond the baseline",
    "excess_error": "its error",
    "difference_error": "its error",
    "carries": "carries",
    "median_low": "from",
    "median_high": "to",
    "ratio": "over all others'",
    "ratio_low": "from",
    "ratio_high": "to",
    "lower": "share lower",
    "same": "equal",
    "higher": "higher",
    "follows": "what follows",
    "met_by": "keys are in",
    "releases_met": "releases with the keys",
}
_LINES = 5  # lines of the file that are named for a combination


def exposed(submission: Submission, findings: Findings) -> pd.DataFrame:
    """List every original combination with the findings on it. Confidential.

    Parameters
    ----------
    submission, findings
        As of `examine`.

    Returns
    -------
    DataFrame
        One row a distinct combination: lines, the first lines of the original's file that have it;
        copied, whether it is alone in the original and occurs unchanged in a release; neighbors,
        records of both files that differ from it in one variable; repU and DiSCO, in how many
        releases it counts as such; the columns of `model_risks` where the model was not left out,
        and repetitions; then its values, a column a variable, labels as text. First those that
        are copied, of these those with fewest neighbors, then by repU and DiSCO.
    """
    combinations, repetitions, inverse = distinct(submission.original)
    levels, of_keys = submission.schema.n_levels.tolist(), (submission.keys, submission.target)
    found = pd.DataFrame(0, index=inverse, columns=["repU", "DiSCO"])
    for released in submission.released:
        flags = matching.compare(submission.original, released, levels, *of_keys).flags
        found += flags[["repU", "DiSCO"]].to_numpy()
    found["copied"] = np.any([each.found for each in findings.copies], axis=0)
    found["neighbors"] = np.min([each.neighbors for each in findings.copies], axis=0)
    of_each = found.groupby(level=0).max()  # records of one combination have the same of all
    lines = submission.lines
    frame = pd.DataFrame({"lines": _lines(inverse, lines)})
    for name in ("copied", "neighbors", "repU", "DiSCO"):
        frame[name] = of_each[name].to_numpy()
    if findings.model is None:
        frame["repetitions"] = repetitions
    else:
        frame = pd.concat([frame, findings.model.risks], axis=1)
    values = submission.schema.decode(combinations).astype(str)
    taken = {*frame.columns, "release"}  # the latter stands beside them where there are several
    values.columns = [f"{name} (value)" if name in taken else name for name in values]
    order = ["copied", "neighbors", "repU", "DiSCO"]
    sort = {"ascending": [False, True, False, False], "kind": "stable", "ignore_index": True}
    # Only of those that are copied it matters how few neighbors they have.
    by = frame.assign(neighbors=frame["neighbors"].where(frame["copied"], 0))
    at = by.sort_values(order, **{**sort, "ignore_index": False}).index
    return pd.concat([frame, values], axis=1).loc[at].reset_index(drop=True)


def _lines(inverse: NDArray[np.int64], lines: NDArray[np.int64] | None) -> list[str]:
    """First lines of the file that have each combination."""
    lines = np.arange(1, len(inverse) + 1) if lines is None else lines
    order = np.argsort(inverse, kind="stable")
    parts = np.split(lines[order], np.cumsum(np.bincount(inverse))[:-1])
    return [
        ", ".join(map(str, part[:_LINES])) + (", ..." if len(part) > _LINES else "")
        for part in parts
    ]


def in_words(frame: pd.DataFrame, *columns: str, keep: Collection[str] = ()) -> pd.DataFrame:
    """Return some columns of a table of the report, or all, named in words.

    Parameters
    ----------
    frame : DataFrame
        As the functions of this package return.
    columns : str
        Those that are returned; all where none is named.
    keep : collection of str
        Columns that keep their names: those of the original's variables.
    """
    words = {name: word for name, word in _WORDS.items() if name not in keep}
    return frame[list(columns) if columns else list(frame)].rename(columns=words)


def together(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table with some of its text columns as one, the last, their names its heading."""
    values = frame[list(columns)].astype(str).agg(", ".join, axis=1)
    return frame.drop(columns=list(columns)).assign(**{", ".join(columns): values})


def nearest(submission: Submission, held_out: Codes) -> pd.DataFrame:
    """Compare each release with people held out that the verdict did without.

    Parameters
    ----------
    submission : Submission
        With one release or more.
    held_out : (m, p) int
        Codes from 0 of people of the same population who are not in the original.

    Returns
    -------
    DataFrame
        A row a release: release, its own name where several are judged together; then the
        attributes of `leakage.Nearest`.
    """
    levels = submission.schema.n_levels
    return pd.DataFrame(
        [
            {"release": own if len(one.released) > 1 else name}
            | asdict(leakage.nearest(one.original, z, held_out, levels))
            for name, one in submission.judged().items()
            for own, z in zip(one.names, one.released, strict=True)
        ]
    )


def within(submission: Submission) -> pd.DataFrame:
    """Compare of how many each release tells the target's number within the tolerance.

    Parameters
    ----------
    submission : Submission
        With one release or more.

    Returns
    -------
    DataFrame
        A row for each that is judged: release; the columns that `findings.compared` returns; and
        text, the same in words. Empty where no tolerance was named.
    """
    rows = []
    for name, one in submission.judged().items():
        if one.uncut is None:
            continue
        found, target = of_numbers(one), one.schema.names[one.target]
        line = verdict.of_attributes(found, target, one.uncut.tolerance)
        text = line.text[:1].upper() + line.text[1:]
        rows.append({"release": name} | compared(found) | {"text": text})
    return pd.DataFrame(rows)


def every(findings: Mapping[str, Findings], name: str) -> pd.DataFrame:
    """Return one table of the findings over all that was judged, with the column release.

    Parameters
    ----------
    findings : dict of str to Findings
        By name of the release.
    name : str
        An attribute of `Findings`, or of its `Model`. Of those that `leakage` returns, a row a
        release: release, then their attributes.
    """
    found = {release: _attribute(each, name) for release, each in findings.items()}
    if any(each is None for each in found.values()):
        raise ValueError(f"there is no table {name!r}: what it rests on was not given")
    if isinstance(next(iter(found.values())), tuple):
        rows = [{"release": r} | asdict(each) for r, of_one in found.items() for each in of_one]
        return pd.DataFrame(rows)
    frames = [frame.assign(release=release) for release, frame in found.items()]
    return pd.concat(frames, ignore_index=True)


def _attribute(findings: Findings, name: str) -> Any:
    return getattr(findings if hasattr(findings, name) else findings.model, name)


def in_public(
    judgments: Sequence[verdict.Judgment], findings: Mapping[str, Findings]
) -> pd.DataFrame:
    """Return the verdict in words, without names and numbers.

    A level stands where it rests on `confidential.MIN_RECORDS` people or more, and the advice where
    all levels that it follows from do.

    Returns
    -------
    DataFrame
        A row a release, in the order of the judgments: release, a number; advice; copies, identity,
        attributes, utility and model, the levels of `verdict.LEVELS`.
    """
    rows = []
    for number, judgment in enumerate(judgments, start=1):
        found = findings[judgment.release]
        sizes = [n for copies in found.copies for n in (len(copies.found), copies.released)]
        everybody = min(sizes)
        # Where nobody is alone this is said of everybody.
        people = {
            "copies": [copies.alone or everybody for copies in found.copies],
            "identity": [each.people or everybody for each in found.identity],
            "attributes": [each.people for each in found.attributes],
        }
        levels = {
            line.topic: line.level
            if min([everybody, *people.get(line.topic, [])]) >= MIN_RECORDS
            else NOT_SHOWN
            for line in judgment.lines
        }
        hidden = NOT_SHOWN in levels.values()
        advice = NOT_SHOWN if hidden else judgment.advice
        rows.append({"release": number, "advice": advice, **levels})
    return pd.DataFrame(rows)


def terms(findings: Findings, n_levels: Levels) -> str:
    """Say which terms the regression behind pMSE has, and why no more."""
    with_pairs, single = (utility.n_parameters(n_levels, pairs) for pairs in (True, False))
    records, fitted = findings.pmse.loc[0, ["records", "fitted"]]
    sample = (
        f" It is fitted to {fitted:,} of the {records:,} records, evenly spaced; the errors are of "
        "so many."
        if fitted < records
        else ""
    )
    if findings.interactions:
        return f"It has {with_pairs:,} parameters: all levels and all pairs of levels.{sample}"
    return (
        f"It has {single:,} parameters, of levels alone: with pairs of levels they would be "
        f"{with_pairs:,}, too many for the reference to hold. It cannot see a lost association; "
        f"the distances of pairs can.{sample}"
    )
