"""The one table of an assessment: its rows, their standard errors and their ratings.

A row answers a question by a release, or by all releases of one synthesizer: an
estimate and its baseline with standard errors; z, the standard errors between the two,
and z_permutation, by a random split of both files, which needs no prediction; the same
for a holdout; and a rating, which follows from the thresholds below. Rows that have a
part in the verdict give its reason (why).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from srlib.arrays import Bools
from srlib.assessment.copies import IDENTICAL, Copies
from srlib.assessment.counts import Row
from srlib.assessment.disclosure import Disclosure
from srlib.assessment.z_scores import MIN_COINCIDENCES
from srlib.display import MIN_RECORDS, percent_with_error

# Standard errors between an estimate and its baseline: significant, and beyond doubt.
Z_SIGNIFICANT = 2.58
Z_CERTAIN = 3.3
# Shares of what the baseline leaves undisclosed: a significant risk is elevated or high
# from here.
ELEVATED = 0.05
HIGH = 0.20
# Largest share of sample uniques whose true values may get more than one half.
MAX_ABOVE_HALF = 0.05
# For the excess over own duplicates: 1 % of fresh samples exceed Z_SIGNIFICANT.
Z_OWN_DUPLICATES = 3.0
# Undecided: copies of a larger share of the sample uniques could go undetected, where
# finding one in the release multiplies the odds that the person is in the file by at
# least this factor. That is 1 over the share that a fresh sample would have as well.
MAX_UNDETECTED = 0.12
MIN_ODDS_FACTOR = 3.0
# For one repeated unique, whoever it is: one fresh sample in a hundred exceeds this.
ONE_PERSON = 2.33
# Three or more identical records exceed this by chance in 5 % of fresh samples.
UNLIKELY = 1.645
# The excess of copies in standard errors, by the column of a row that has it.
COPY_DEVIATES = {
    "row order": "z",
    "identical records": "z",
    "copied uniques": "z_permutation",
    "near-duplicates": "z_permutation",
    "repeated unique": "z",
    "excess over own duplicates": "z",
    "identical before binning": "z_permutation",
}
# From where an excess is beyond doubt, and the reason; of several the first is given.
_BEYOND_DOUBT = {
    "row order": (
        2 * Z_CERTAIN,
        "its rows are in the order of the original: {estimate} of the values agree "
        "row by row",
    ),
    "identical records": (
        Z_CERTAIN,
        "{estimate} of its records are identical to an original record{detail}; "
        "{baseline} expected from a fresh sample",
    ),
    "copied uniques": (
        Z_CERTAIN,
        "an estimated {estimate} of the sample uniques (all variables) are copied",
    ),
    "near-duplicates": (
        Z_CERTAIN,
        "{estimate} of its records {detail}; {baseline} expected from a fresh sample",
    ),
    "repeated unique": (ONE_PERSON, "it contains {detail}"),
}
# Why an original's duplicates are no baseline for copies.
_BASELINE_PROBLEMS = {
    "duplicates": (
        "the original contains duplicates, "
        "so copies cannot be distinguished from genuine duplicates"
    ),
    "deduplicated": (
        "duplicates seem to have been removed from the original; give a holdout"
    ),
}
# From where an excess is a sign of copies.
SIGN_THRESHOLDS = {
    "identical records": Z_SIGNIFICANT,
    "copied uniques": Z_SIGNIFICANT,
    "near-duplicates": Z_SIGNIFICANT,
    "repeated unique": UNLIKELY,
    "excess over own duplicates": Z_OWN_DUPLICATES,
    "identical before binning": Z_CERTAIN,
}
COPY_RATINGS = ("no sign", "undecided", "signs", "found")  # best first
MIN_RECORDS_JUDGED = 20  # of either file; below, only outright copies are judged


def summarize(disclosures: Sequence[Disclosure], group: Bools | None = None) -> Row:
    """Return the row of all eligible people, or of a group, over several releases.

    All releases share the original's part of the standard error, so only the spread
    between releases is divided by their number.
    """
    rows = pd.DataFrame([disclosure.compare(group) for disclosure in disclosures])
    row = rows.mean(skipna=False).to_dict()
    row["n"] = int(row["n"])
    row["se"] = np.fmax(row["se"], rows["estimate"].sem())
    if row["margins"] > row["fresh_sample"]:
        row["baseline_se"] = row["margins_se"]
        row["baseline_kind"] = "independent margins"
    else:
        row["baseline_se"] = row["fresh_sample_se"]
        row["baseline_kind"] = "fresh sample"
    return row


def excess_share(value: Any, baseline: Any) -> Any:
    """Return the excess over a baseline as a share of what is left undisclosed."""
    return (value - baseline) / np.maximum(1 - baseline, 1e-12)


def rate(
    rows: Sequence[Row],
    family: bool,
    few: bool = False,
) -> None:
    """Put into each row a rating, by its excess over the baseline and significance.

    The rows of a `family` are adjusted for multiple testing by Holm's (1979) rule: of n
    rows the least probable is compared with n tests, the next with n - 1, and so on to
    the first that is not significant. Rows on few people are not rated, nor any row
    where a file has `few` records.
    """
    rated = []
    for row in rows:
        if row["n"] >= MIN_RECORDS and not few:
            rated.append(row)
            continue
        is_empty = row["group"] == "all" and not row["n"]  # as where nobody is unique
        row["rating"] = "not applicable" if is_empty and not few else "too few people"
        row["baseline_se"] = np.nan  # MIN_ERROR would dominate it
    for row, is_significant in zip(rated, _significant(rated, family), strict=True):
        excess = excess_share(row["estimate"], row["baseline"])
        row["rating"] = "as expected"
        if is_significant and excess >= ELEVATED:
            row["rating"] = "high" if excess >= HIGH else "elevated"


def _significant(rows: Sequence[Row], family: bool) -> Bools:
    """Return which excesses are significant, for a family by Holm's rule, (n_rows,)."""
    z = np.array([largest_z(row) for row in rows])
    p_value = special.ndtr(-z)
    order = np.argsort(p_value, kind="stable")
    n_tests = np.arange(len(z), 0, -1) if family else 1
    adjusted = np.maximum.accumulate(p_value[order] * n_tests)
    return adjusted[np.argsort(order)] <= special.ndtr(-Z_SIGNIFICANT)


def cap_unsupported_ratings(rows: Sequence[Row]) -> None:
    """Lower *high* of attribute disclosure without support by inference."""
    inference = {
        (row["variables"], row["group"]): row
        for row in rows
        if row["question"] == "inference"
    }
    for row in rows:
        support = inference.get((row["variables"], row["group"]))
        is_high = row["question"] == "attribute" and row["rating"] == "high"
        if is_high and support and not support["z"] >= Z_SIGNIFICANT:
            row["rating"] = "elevated"


def copy_rows(releases: Sequence[Copies]) -> list[Row]:
    """Return the rows on copies of the worst release, with their ratings."""

    def severity(copies: Copies) -> tuple[int, bool, float]:
        rating = rate_copies(copies)
        z = largest_z(copies.rows["identical records"])
        return COPY_RATINGS.index(rating.rating), rating.reason != "", z

    worst = max(releases, key=severity)
    rating = rate_copies(worst)
    rows = worst.rows
    reason = rating.reason
    if reason and len(releases) > 1:
        reason += " (worst release)"
    rows["identical records"] |= {
        "rating": rating.rating,
        "why": reason,
        "in_verdict": True,
    }
    rows[rating.question]["rating"] = rating.rating
    return list(rows.values())


def largest_z(row: Row) -> float:
    """Return the larger of z and z_permutation; minus infinity where both are NaN."""
    return np.fmax.reduce([-np.inf, row["z"], row["z_permutation"]])


class CopyRating(NamedTuple):
    """A rating of copies, one of `COPY_RATINGS`, its reason, and its question."""

    rating: str
    reason: str
    question: str = "identical records"


def rate_copies(copies: Copies) -> CopyRating:
    """Return the rating of copies by the first rule that applies, the worst first."""
    n_records = min(len(copies.identical), copies.rows["identical records"]["n"])
    few = n_records < MIN_RECORDS_JUDGED
    ratings = (
        *_found(copies, few),
        *_signs(copies.rows),
        *_without_signs(copies, few),
    )
    return ratings[0]


def _found(copies: Copies, few: bool) -> Iterator[CopyRating]:
    """Yield copies beyond doubt."""
    if copies.same_table:
        yield CopyRating("found", "it is the original itself")
    for question, (threshold, reason) in _BEYOND_DOUBT.items():
        if few and question == "row order":
            continue
        row = copies.rows[question]
        if row[COPY_DEVIATES[question]] >= threshold:
            reason = reason.format(
                estimate=percent_with_error(row["estimate"]),
                baseline=percent_with_error(row["baseline"]),
                detail=row["detail"].removeprefix(IDENTICAL),
            )
            yield CopyRating("found", reason, question)


def _signs(rows: dict[str, Row]) -> Iterator[CopyRating]:
    """Yield the clearest sign of copies, by z above each question's threshold."""
    excess = pd.Series(
        {
            question: rows[question][COPY_DEVIATES[question]] - threshold
            for question, threshold in SIGN_THRESHOLDS.items()
        }
    )
    if excess.max() >= 0:
        yield CopyRating("signs", "there are signs of copied records", excess.idxmax())


def _without_signs(copies: Copies, few: bool) -> Iterator[CopyRating]:
    """Yield why a release without a sign cannot be judged, or that it shows none.

    Complete copies where chance makes none may be too few to be a sign.
    """
    complete = copies.rows["identical before binning"]
    n_complete = round(complete["estimate"] * complete["n"])
    undetected = copies.rows["undetected copies"]
    n_undetected = undetected["estimate"] * undetected["n"]
    if reason := _BASELINE_PROBLEMS.get(copies.baseline_problem):
        yield CopyRating("undecided", reason)
    if few:
        yield CopyRating("undecided", "there are too few records to judge")
    if (
        n_complete >= MIN_COINCIDENCES > complete["baseline"] * complete["n"]
        and complete["z"] >= UNLIKELY
    ):
        reason = (
            f"{percent_with_error(complete['estimate'])} of its records are identical "
            "to an original record, too few to distinguish copies from chance"
        )
        yield CopyRating("undecided", reason)
    if (
        undetected["estimate"] > MAX_UNDETECTED
        and n_undetected >= MIN_COINCIDENCES
        and undetected["baseline"] * MIN_ODDS_FACTOR <= 1
    ):
        reason = (
            f"copies of up to {percent_with_error(undetected['estimate'])} of the "
            "sample uniques (all variables) could go undetected"
        )
        yield CopyRating("undecided", reason, "undetected copies")
    if n_complete and complete["baseline"] == 0:
        verb = "is a complete copy" if n_complete == 1 else "are complete copies"
        reason = f"{n_complete:,} of its {complete['n']:,} records {verb}"
        yield CopyRating("no sign", reason)
    yield CopyRating("no sign", "")
