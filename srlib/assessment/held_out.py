"""What a release tells of people in the file beyond what it tells of people held out.

People who were kept out before the synthesizer was fitted are like those in the file in every
respect but this one. What a release says of them is knowledge of the population; what it says more
of the others it says because they took part.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.matching import checked
from srlib.assessment.submission import Submission, Uncut
from srlib.assessment.tolerance import Numbers, told_within
from srlib.assessment.verdict import SURE, percent
from srlib.data.codes import Codes, Levels, row_numbers

MEASURES = {
    "copied": "a released record has all their values",
    "single": "one released record alone has their keys",
    "disclosed": "all released records with their keys have their target",
    "within": "all released records with their keys are within the tolerance of their target",
}
"""What is counted of people, by name."""
LABELS = {
    "copied": "all values released",
    "single": "one record with their keys",
    "disclosed": "target disclosed",
    "within": "target within tolerance",
}
"""The same, short enough for a chart."""


def beyond_held_out(
    original: Codes,
    released: Sequence[Codes],
    held_out: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
) -> pd.DataFrame:
    """Compare shares of people in the file with the same shares of people held out.

    Parameters
    ----------
    original, held_out : (n, p), (h, p) int
        Codes from 0; two people or more each, of the same population, nobody in both.
    released : sequence of (n*, p) int
        Releases of one generator, made of the original; one or more.
    n_levels : (p,) int
        Number of levels of each variable.
    keys : sequence of int
        Columns that the intruder knows.
    target : int
        Column that the intruder wants to know.

    Returns
    -------
    DataFrame
        A row for each of `MEASURES` but "within": measure; used and held_out, the shares in [0, 1],
        means over the releases; difference, its standard error and 95 % interval, low and high;
        and z, their ratio, 0 where there is neither.

    Raises
    ------
    ValueError
        As `matching.measures`.

    Notes
    -----
    If the release says of people in the file what it says of others, who is in the file and who
    was held out is a random division of the same people. The error is that of such divisions;
    over several releases it is no smaller than that of their mean.
    """
    everywhere = list(range(len(n_levels)))
    whole, levels = checked(original, [held_out, *released], n_levels, everywhere)
    parts, part_levels = checked(original, [held_out, *released], n_levels, keys, target)
    n, h = len(whole[0]), len(whole[1])
    found = defaultdict(list)
    for record, known in zip(whole[2:], parts[2:], strict=True):
        cell = row_numbers(np.concatenate([*whole[:2], record]), levels)
        both = np.concatenate([*parts[:2], known])
        key = row_numbers(both[:, :-1], part_levels[:-1])
        right = row_numbers(both, part_levels)
        met, with_keys, with_both = (
            np.bincount(group[n + h :], minlength=int(group.max()) + 1)[group[: n + h]]
            for group in (cell, key, right)
        )
        flags = {
            "copied": met > 0,
            "single": with_keys == 1,
            "disclosed": (with_keys > 0) & (with_both == with_keys),
        }
        for name, flag in flags.items():
            found[name].append(_shares(flag[:n], flag[n:]))
    return pd.DataFrame([_row(name, of_releases) for name, of_releases in found.items()])


def _shares(used: NDArray[np.bool_], others: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the share of people in the file and of others, and the error of the difference."""
    error = np.hypot(used.std() / np.sqrt(len(used)), others.std() / np.sqrt(len(others)))
    return float(used.mean()), float(others.mean()), float(error)


def _row(measure: str, of_releases: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    """Return a row of `beyond_held_out` from what `_shares` returns of each release."""
    used, others, error = np.array(of_releases).T
    difference, m = used - others, len(used)
    between = difference.std(ddof=1) / np.sqrt(m) if m > 1 else 0.0
    se = float(max(np.mean(error), between))
    mean = float(difference.mean())
    return {
        "measure": measure, "used": used.mean(), "held_out": others.mean(),
        "difference": mean, "error": se, "low": mean - 1.96 * se, "high": mean + 1.96 * se,
        "z": mean / se if se > 0 else np.copysign(np.inf, mean) if mean else 0.0,
    }  # fmt: skip


def participants(submission: Submission, held_out: Codes) -> pd.DataFrame:
    """Compare what each release tells of people in the file and of people held out.

    Parameters
    ----------
    submission : Submission
        With one release or more; those of one generator are taken together.
    held_out : (h, p) int
        Codes from 0 of people of the same population who are not in the original.

    Returns
    -------
    DataFrame
        As `beyond_held_out`, with the column release in front; with the row "within" where the
        numbers of people held out are known.
    """
    frames = []
    for name, one in submission.judged().items():
        found = beyond_held_out(
            one.original, one.released, held_out, one.schema.n_levels, one.keys, one.target
        )
        if one.uncut and one.uncut.held_out is not None:
            found.loc[len(found)] = _within(one, held_out, one.uncut, one.uncut.held_out)
        found.insert(0, "release", name)
        frames.append(found)
    return pd.concat(frames, ignore_index=True)


def _within(
    submission: Submission, held_out: Codes, uncut: Uncut, numbers: Numbers
) -> dict[str, Any]:
    """Compare of how many the releases tell the number within the tolerance."""
    of_releases = []
    for released, told in zip(submission.released, uncut.released, strict=True):
        used, others = (
            told_within(
                codes, truth, released, told, submission.schema.n_levels, submission.keys,
                uncut.tolerance,
            )
            for codes, truth in ((submission.original, uncut.original), (held_out, numbers))
        )  # fmt: skip
        of_releases.append(_shares(used, others))
    return _row("within", of_releases)


def in_a_sentence(found: pd.DataFrame) -> str:
    """Say of one release what it tells of participants beyond people held out.

    Parameters
    ----------
    found : DataFrame
        As `beyond_held_out` returns.
    """
    more = found[found["z"] >= SURE]
    if not len(more):
        return (
            "It tells no more of people in the file than of people held out, beyond the error of "
            "this comparison."
        )
    said = "; ".join(
        f"for {percent(row.used)} of the people in the file and {percent(row.held_out)} of "
        f"those held out, {MEASURES[row.measure]} (difference {percent(row.low)} to "
        f"{percent(row.high)})"
        for row in more.itertuples()
    )
    return f"It tells more of people in the file than of people held out: {said}."
