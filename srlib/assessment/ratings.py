"""The one table of an assessment: its rows, their standard errors and their ratings.

A row answers a question by a release, or by all releases of one synthesizer: an
estimate and its baseline with standard errors; z, the standard errors between the two,
and z_permutation, by a random split of both files, which needs no prediction; the same
for a holdout; and a rating, which follows from the thresholds below. Rows that have a
part in the verdict give its reason (why).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

from srlib.assessment.copies import Copies
from srlib.assessment.counts import (
    Bools,
    Row,
    clustered_se,
    means,
    se_between_releases,
    z_score,
)
from srlib.assessment.disclosure import Disclosure
from srlib.assessment.z_scores import MIN_COINCIDENCES, beta, beta_binomial_z
from srlib.display import MIN_RECORDS, percent_with_error

# Standard errors between an estimate and its baseline: significant, and beyond doubt.
Z_SIGNIFICANT = 2.58
Z_CERTAIN = 3.3
# Shares of what the baseline leaves undisclosed: a significant risk is elevated or high
# from here.
ELEVATED = 0.05
HIGH = 0.20
# For the excess over own duplicates: at Z_SIGNIFICANT, 1 % of fresh samples would show
# signs.
Z_OWN_DUPLICATES = 3.0
# Undecided: copies of a larger share of the sample uniques could go undetected, where
# finding one in the release multiplies the odds that the person is in the file by at
# least this factor.
MAX_UNDETECTED = 0.12
MIN_ODDS_FACTOR = 3.0
# For one repeated unique, whoever it is: one fresh sample in a hundred has one by
# chance.
ONE_PERSON = 2.33
UNLIKELY = 1.645  # three or more identical records exceed this by chance in 5 % of fresh samples
COPY_RATINGS = ("no sign", "undecided", "signs", "found")  # best first
# Baseline kinds of the rows on copies.
COPY_BASELINES = {
    "identical records": "fresh sample",
    "near-duplicates": "fresh sample",
    "repeated unique": "fresh sample",
    "excess over own duplicates": "own records",
    "identical before binning": "fresh sample",
    "row order": "other rows",
}
MIN_RECORDS_JUDGED = 20  # of either file; below, only outright copies are judged
MIN_ERROR = (
    2.0  # people: the least standard error of a sum, one pair more than observed
)
# A value that all but this share of people have is disclosed by its margin already.
ALL_BUT_CERTAIN = 0.10

TEXTS = ("variables", "detail", "baseline_kind", "rating", "why")
_NUMBERS = (
    "estimate",
    "se",
    "fresh_sample",
    "fresh_sample_se",
    "margins",
    "margins_se",
    "baseline",
    "z",
    "z_permutation",
)


def summarize(each: Sequence[Disclosure], group: Bools | None = None) -> Row:
    """Return the row of all eligible people, or of a group, over the releases of a synthesizer.

    All releases share the original's part of the standard error, so only the spread
    between releases is divided by their number.
    """
    rows = [_of_release(one, group) for one in each]
    found: Row = means(rows) | (
        means([disclosure.holdout for disclosure in each]) if group is None else {}
    )
    found["se"] = float(
        np.fmax(found["se"], se_between_releases([one["estimate"] for one in rows]))
    )
    is_margins = found["margins"] > found["fresh_sample"]
    kind = "independent margins" if is_margins else "fresh sample"
    baseline_se = found["margins_se" if is_margins else "fresh_sample_se"]
    return found | {
        "n": int(found["n"]),
        "baseline_se": baseline_se,
        "baseline_kind": kind,
    }


def _of_release(disclosure: Disclosure, group: Bools | None) -> Row:
    part = np.ones(len(disclosure.eligible), bool) if group is None else group
    counted = disclosure.eligible & part
    people = int(counted.sum())
    if not people:
        return {"n": 0} | dict.fromkeys(_NUMBERS, np.nan)
    release, others, margins = each = [
        v * part
        for v in (disclosure.release, disclosure.fresh_sample, disclosure.margins)
    ]
    value, by_others, by_margins = shares = [float(v.sum()) / people for v in each]
    error, others_error, margins_error = (
        np.hypot(
            clustered_se(v - p * counted, disclosure.cluster) / people,
            np.sqrt(disclosure.training_variance / 2),
        )
        for v, p in zip(each, shares, strict=True)
    )
    gap, more = release - others, release - margins
    by_trees, is_identity = (
        np.isnan(by_margins),
        group is None and not np.isnan(disclosure.permutation_z),
    )
    spread = (
        np.sqrt(people * gap[counted].var())
        if by_trees
        else clustered_se(gap, disclosure.cluster)
    )
    # One pair of people more than observed: without pairs the fresh sample would have
    # no error.
    z = z_score(
        gap.sum(),
        np.sqrt(spread**2 + MIN_ERROR**2 + disclosure.training_variance * people**2),
    )
    if disclosure.undisclosed is not None:
        # A less accurate release may predict the commonest value more often than a
        # fresh sample.
        open_gap = np.where(disclosure.undisclosed >= ALL_BUT_CERTAIN, gap, 0.0)
        z = min(
            z,
            z_score(
                open_gap.sum(),
                np.hypot(clustered_se(open_gap, disclosure.cluster), MIN_ERROR),
            ),
        )
    of_more = np.hypot(
        clustered_se(more, disclosure.cluster), 0.0 if group is None else MIN_ERROR
    )
    if is_identity:  # matched or not: standard errors are binomial
        error, of_more = np.sqrt(
            [value * (1 - value) / people, (margins * (1 - margins)).sum()]
        )
        others_error = max(others_error, MIN_ERROR / people)
        law = beta(by_others, others_error, people)
        z = beta_binomial_z(
            round(value * disclosure.effective_trials),
            round(disclosure.effective_trials),
            *law,
        )
    z_margins = np.inf if by_trees else z_score(more.sum(), of_more)
    by_others = float(np.clip(by_others, 0, 1))
    return {
        "n": people,
        "estimate": value,
        "se": error,
        "fresh_sample": by_others,
        "fresh_sample_se": others_error,
        "margins": by_margins,
        "margins_se": margins_error,
        "baseline": np.nanmax([by_others, by_margins]),
        "z": min(z, z_margins),
        "z_permutation": min(disclosure.permutation_z, z_margins)
        if is_identity
        else np.nan,
    }


def excess_share(value: Any, baseline: Any) -> Any:
    """Return the excess over a baseline as a share of what the baseline leaves undisclosed."""
    return (value - baseline) / np.maximum(1 - baseline, 1e-12)


def rate(rows: Sequence[Row], family: bool, few: bool = False) -> None:
    """Put into each row a rating of its risk, by its excess over the baseline and significance.

    The rows of a `family` are adjusted for multiple testing by Holm's (1979) rule: of n
    rows the least probable is compared with n tests, the next with n - 1, and so on to
    the first that is not significant. Rows on few people are not rated, nor any row
    where a file has `few` records.
    """
    for row in rows:
        nobody = row["group"] == "all" and not row["n"]  # as where no record is unique
        row["rating"] = "not applicable" if nobody and not few else "too few people"
        if few or row["n"] < MIN_RECORDS:
            row["baseline_se"] = np.nan  # MIN_ERROR would dominate it
    judged = [row for row in rows if row["n"] >= MIN_RECORDS and not few]
    z = [np.fmax(row["z"], row["z_permutation"]) for row in judged]
    tail, clear = special.ndtr(-np.nan_to_num(z, nan=-np.inf)), np.zeros(len(z), bool)
    order = np.argsort(tail, kind="stable")
    n_tests = np.arange(len(z), 0, -1) if family else 1
    clear[order] = np.maximum.accumulate(tail[order] * n_tests) <= special.ndtr(
        -Z_SIGNIFICANT
    )
    for row, sure in zip(judged, clear, strict=True):
        rest = excess_share(row["estimate"], row["baseline"])
        row["rating"] = (
            ("high" if rest >= HIGH else "elevated")
            if sure and rest >= ELEVATED
            else "as expected"
        )


def cap_unsupported_ratings(rows: Sequence[Row]) -> None:
    """Lower *high* of attribute disclosure where inference is not above its baseline as well."""
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


def copy_rows(each: Sequence[Copies]) -> list[Row]:
    """Return the rows on copies of the worst release, with their ratings and baseline kinds."""

    def severity(one: Copies) -> tuple[int, bool, float]:
        rating, why, _ = rate_copies(one)
        return (
            COPY_RATINGS.index(rating),
            why != "",
            largest_z(one.rows["identical records"]),
        )

    found = max(each, key=severity)
    rating, why, decides = rate_copies(found)
    for question, baseline_kind in COPY_BASELINES.items():
        found.rows[question]["baseline_kind"] = baseline_kind
    found.rows["identical records"].update(rating=rating, why=why, in_verdict=True)
    found.rows[decides]["rating"] = rating
    return list(found.rows.values())


def model_rows(learned: list[Row], agree: bool, people: int) -> list[Row]:
    """Return the rows of a model-based intruder, and whether the data refute the model."""
    *_, belief, chains = learned
    for row in learned:
        row["z"] = z_score(row["estimate"] - row["baseline"], row.pop("difference_se"))
        row |= {
            "question": f"model: {row['question']}",
            "variables": "all",
            "n": people,
            "rating": "",
        }
    wrong = "misleads" if belief["estimate"] > 1 else "falls short"
    belief["rating"] = wrong if abs(belief["z"]) > Z_SIGNIFICANT else "not refuted"
    chains |= {"rating": "agree", "z": np.nan}
    return learned if agree else [row | {"rating": "unreliable"} for row in learned]


def largest_z(row: Row) -> float:
    """Return the larger of z and z_permutation; minus infinity where both are NaN."""
    return float(np.fmax.reduce([-np.inf, row["z"], row["z_permutation"]]))


def odds_factor(undetected: Row) -> float:
    """Return the largest factor by which a copy raises the odds that its person is in the file.

    `undetected` is the row *undetected copies*; its baseline is the share of the sample
    uniques whose values a fresh sample would have as well.
    """
    return float(1 / max(undetected["baseline"], 1e-12))


def rate_deviate(z: float) -> str:
    """Return the rating of an excess of copies by its deviate, one of `COPY_RATINGS`."""
    if z >= Z_CERTAIN:
        return "found"
    return "signs" if z >= Z_SIGNIFICANT else "no sign"


def rate_copies(found: Copies) -> tuple[str, str, str]:
    """Return the rating of copies, one of `COPY_RATINGS`, its reason, and the deciding question."""
    return next(_reasons(found))


def _reasons(found: Copies) -> Iterator[tuple[str, str, str]]:
    """Yield ratings with their reasons and deciding questions, the worst first."""
    rows = found.rows
    identical = rows["identical records"]
    copied_uniques = rows["copied uniques"]
    undetected = rows["undetected copies"]
    near = rows["near-duplicates"]
    repeated = rows["repeated unique"]
    excess = rows["excess over own duplicates"]
    before_binning = rows["identical before binning"]
    row_order = rows["row order"]
    n, m = len(found.identical), identical["n"]
    few = min(n, m) < MIN_RECORDS_JUDGED
    complete = round(before_binning["estimate"] * m)
    by_chance = before_binning["baseline"] * m

    if found.same_table:
        yield "found", "it is the original itself", "identical records"
    if row_order["z"] >= 2 * Z_CERTAIN and not few:
        share = percent_with_error(row_order["estimate"])
        why = f"its rows are in the order of the original: {share} of the values agree row by row"
        yield "found", why, "row order"
    if identical["z"] >= Z_CERTAIN:
        share = percent_with_error(identical["estimate"])
        expected = percent_with_error(identical["baseline"])
        why = (
            f"{share} of its records are identical to an original record; "
            f"{expected} expected from a fresh sample"
        )
        yield "found", why, "identical records"
    if copied_uniques["z_permutation"] >= Z_CERTAIN:
        share = percent_with_error(copied_uniques["estimate"])
        why = f"an estimated {share} of the sample uniques (all variables) are copied"
        yield "found", why, "copied uniques"
    if near["z_permutation"] >= Z_CERTAIN:
        share = percent_with_error(near["estimate"])
        expected = percent_with_error(near["baseline"])
        why = f"{share} of its records {near['detail']}; {expected} expected from a fresh sample"
        yield "found", why, "near-duplicates"
    if repeated["z"] >= ONE_PERSON:
        yield "found", f"it contains {repeated['detail']}", "repeated unique"
    deviates = {
        "identical records": identical["z"],
        "copied uniques": copied_uniques["z_permutation"],
        "near-duplicates": near["z_permutation"],
        "repeated unique": repeated["z"] - UNLIKELY + Z_SIGNIFICANT,
        "excess over own duplicates": excess["z"] - Z_OWN_DUPLICATES + Z_SIGNIFICANT,
        "identical before binning": before_binning["z_permutation"]
        - Z_CERTAIN
        + Z_SIGNIFICANT,
    }
    decides = max(
        deviates, key=lambda question: np.nan_to_num(deviates[question], nan=-np.inf)
    )
    if deviates[decides] >= Z_SIGNIFICANT:
        yield "signs", "there are signs of copied records", decides
    if found.baseline_problem == "duplicates":
        why = (
            "the original contains duplicates, "
            "so copies cannot be distinguished from genuine duplicates"
        )
        yield "undecided", why, "identical records"
    if found.baseline_problem == "deduplicated":
        why = "duplicates seem to have been removed from the original; give a holdout"
        yield "undecided", why, "identical records"
    if few:
        yield "undecided", "there are too few records to judge", "identical records"
    if complete >= MIN_COINCIDENCES > by_chance and before_binning["z"] >= UNLIKELY:
        share = percent_with_error(before_binning["estimate"])
        why = (
            f"{share} of its records are identical to an original record, "
            "too few to distinguish copies from chance"
        )
        yield "undecided", why, "identical records"
    n_undetected = undetected["estimate"] * undetected["n"]
    is_rare = odds_factor(undetected) >= MIN_ODDS_FACTOR
    if (
        undetected["estimate"] > MAX_UNDETECTED
        and n_undetected >= MIN_COINCIDENCES
        and is_rare
    ):
        share = percent_with_error(undetected["estimate"])
        why = f"copies of up to {share} of the sample uniques (all variables) could go undetected"
        yield "undecided", why, "undetected copies"
    if complete and by_chance == 0:
        which = "is a complete copy" if complete == 1 else "are complete copies"
        why = f"{complete:,} of its {m:,} records {which}"
        yield "no sign", why, "identical records"
    yield "no sign", "", "identical records"
