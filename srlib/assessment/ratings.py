"""The one table: a row for each answer, the same columns for all.

A row says of a release, or of all releases of one tool, what the answer to a question is (value)
and what it is held against (baseline), both with standard errors; by how many errors the value lies
beyond (z, and z_divided by a random division of both files, which needs no prediction); the same of
people held out; and a word that follows by the thresholds below. Rows that were asked for say why,
in words of the verdict.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

from srlib.assessment.copies import Copies
from srlib.assessment.counts import Bools, Row, clustered_se, means, se_between_releases, z_score
from srlib.assessment.disclosure import Disclosure
from srlib.assessment.z_scores import MIN_COINCIDENCES, beta, beta_binomial_z
from srlib.display import MIN_RECORDS, percent_with_error

# A difference of SURE standard errors is more than chance, and one of CERTAIN beyond doubt. A risk
# is above its baseline if it takes MORE of what that leaves to disclose, and far above from FAR on.
Z_SIGNIFICANT, Z_CERTAIN, ELEVATED, HIGH = 2.58, 3.3, 0.05, 0.20
# Beyond the release's own records: with SURE a fresh sample in a hundred would be a sign.
Z_OWN_DUPLICATES = 3.0
# Undecided: more of the people who are alone could be copied than UNSEEN, where to find one in the
# release raises the odds that they are in the file by a factor of RARE or more.
MAX_UNDETECTED, MIN_ODDS_FACTOR = 0.12, 3.0
# One person's record is as clear as one honest release in a hundred has anybody's, whoever it is.
ONE_PERSON = 2.33
UNLIKELY = 1.645  # errors by which three complete copies or more are seldom chance: 5 %
COPY_RATINGS = ("no sign", "undecided", "signs", "found")  # of copies, the best first
# What the shares of rows on copies are held against.
COPY_BASELINES = {
    "identical records": "fresh sample",
    "near-duplicates": "fresh sample",
    "repeated unique": "fresh sample",
    "excess over own duplicates": "own records",
    "identical before binning": "fresh sample",
    "row order": "other rows",
}
MIN_RECORDS_JUDGED = 20  # records of a file, below which nothing is judged but an outright copy
MIN_ERROR = 2.0  # people, the least error of a sum: one pair more than was seen
# Values that all but this share of people have are no disclosure by themselves: the margin tells.
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


def summarize(each: Sequence[Disclosure], some: Bools | None = None) -> Row:
    """Answer by all people who count, or some, over the releases of one tool.

    The original's part of an error is the same for all releases, so that only the spread between
    them is divided by their number.
    """
    rows = [_of_release(one, some) for one in each]
    found: Row = means(rows) | (means([told.holdout for told in each]) if some is None else {})
    found["se"] = float(
        np.fmax(found["se"], se_between_releases([one["estimate"] for one in rows]))
    )
    is_margins = found["margins"] > found["fresh_sample"]
    kind = "independent margins" if is_margins else "fresh sample"
    baseline_se = found["margins_se" if is_margins else "fresh_sample_se"]
    return found | {"n": int(found["n"]), "baseline_se": baseline_se, "baseline_kind": kind}


def _of_release(told: Disclosure, some: Bools | None) -> Row:
    part = np.ones(len(told.eligible), bool) if some is None else some
    counted = told.eligible & part
    people = int(counted.sum())
    if not people:
        return {"n": 0} | dict.fromkeys(_NUMBERS, np.nan)
    release, others, margins = each = [
        v * part for v in (told.release, told.fresh_sample, told.margins)
    ]
    value, by_others, by_margins = shares = [float(v.sum()) / people for v in each]
    error, others_error, margins_error = (
        np.hypot(
            clustered_se(v - p * counted, told.cluster) / people,
            np.sqrt(told.training_variance / 2),
        )
        for v, p in zip(each, shares, strict=True)
    )
    gap, more = release - others, release - margins
    of_trees, met = np.isnan(by_margins), some is None and not np.isnan(told.permutation_z)
    spread = np.sqrt(people * gap[counted].var()) if of_trees else clustered_se(gap, told.cluster)
    # One pair of people more than were seen: where there is none, others would have no error.
    z = z_score(gap.sum(), np.sqrt(spread**2 + MIN_ERROR**2 + told.training_variance * people**2))
    if told.undisclosed is not None:
        # A release that knows less than others' records may say the commonest value more often.
        open_gap = np.where(told.undisclosed >= ALL_BUT_CERTAIN, gap, 0.0)
        z = min(
            z, z_score(open_gap.sum(), np.hypot(clustered_se(open_gap, told.cluster), MIN_ERROR))
        )
    of_more = np.hypot(clustered_se(more, told.cluster), 0.0 if some is None else MIN_ERROR)
    if met:  # or not, so that errors are binomial
        error, of_more = np.sqrt([value * (1 - value) / people, (margins * (1 - margins)).sum()])
        others_error = max(others_error, MIN_ERROR / people)
        law = beta(by_others, others_error, people)
        z = beta_binomial_z(
            round(value * told.effective_trials), round(told.effective_trials), *law
        )
    z_margins = np.inf if of_trees else z_score(more.sum(), of_more)  # these tell no better guess
    by_others = float(np.clip(by_others, 0, 1))
    return {
        "n": people, "estimate": value, "se": error, "fresh_sample": by_others,
        "fresh_sample_se": others_error, "margins": by_margins, "margins_se": margins_error,
        "baseline": np.nanmax([by_others, by_margins]), "z": min(z, z_margins),
        "z_permutation": min(told.permutation_z, z_margins) if met else np.nan,
    }  # fmt: skip


def excess_share(value: Any, baseline: Any) -> Any:
    """Share of what a baseline leaves to disclose that a value takes: 0 to 1 where all is told."""
    return (value - baseline) / np.maximum(1 - baseline, 1e-12)


def rate(rows: Sequence[Row], family: bool, few: bool = False) -> None:
    """Say how much more is told than the baseline, where that is clear of chance, in each row.

    Of a family, a difference is as sure as if it alone were looked at. That is Holm's (1979) rule:
    of n rows the least probable is held against n comparisons, the next against n - 1, and so on to
    the first that is not clear. Rows of few people, or of files of a `few` records, do not count.
    """
    for row in rows:
        nobody = row["group"] == "all" and not row["n"]  # as where nobody is alone
        row["rating"] = "not applicable" if nobody and not few else "too few people"
        if few or row["n"] < MIN_RECORDS:
            row["baseline_se"] = np.nan  # a pair of people more is half of four
    judged = [row for row in rows if row["n"] >= MIN_RECORDS and not few]
    z = [np.fmax(row["z"], row["z_permutation"]) for row in judged]
    tail, clear = special.ndtr(-np.nan_to_num(z, nan=-np.inf)), np.zeros(len(z), bool)
    order = np.argsort(tail, kind="stable")
    counts_at = np.arange(len(z), 0, -1) if family else 1
    clear[order] = np.maximum.accumulate(tail[order] * counts_at) <= special.ndtr(-Z_SIGNIFICANT)
    for row, sure in zip(judged, clear, strict=True):
        rest = excess_share(row["estimate"], row["baseline"])
        row["rating"] = (
            ("high" if rest >= HIGH else "elevated") if sure and rest >= ELEVATED else "as expected"
        )


def cap_unsupported_ratings(rows: Sequence[Row]) -> None:
    """Let *far more* about a target stand only where a trained guess is above its baseline, too."""
    guesses = {
        (row["variables"], row["group"]): row for row in rows if row["question"] == "inference"
    }
    for row in rows:
        guess = guesses.get((row["variables"], row["group"]))
        is_attributes = row["question"] == "attribute" and row["rating"] == "high"
        if is_attributes and guess and not guess["z"] >= Z_SIGNIFICANT:
            row["rating"] = "elevated"


def copy_rows(each: Sequence[Copies]) -> list[Row]:
    """Answer by the released records that repeat original ones; the worst of several decides."""

    def badness(one: Copies) -> tuple[int, bool, float]:
        word, why, _ = rate_copies(one)
        return COPY_RATINGS.index(word), why != "", largest_z(one.rows["identical records"])

    found = max(each, key=badness)
    word, why, decides = rate_copies(found)
    for question, baseline_kind in COPY_BASELINES.items():
        found.rows[question]["baseline_kind"] = baseline_kind
    found.rows["identical records"].update(rating=word, why=why, in_verdict=True)
    found.rows[decides]["rating"] = word
    return list(found.rows.values())


def model_rows(learned: list[Row], agree: bool, people: int) -> list[Row]:
    """Answer what an intruder learns who believes in a model, and whether the data refute it."""
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
    """Return the larger of a row's deviates; minus infinity where none is known."""
    return float(np.fmax.reduce([-np.inf, row["z"], row["z_permutation"]]))


def odds_factor(hidden: Row) -> float:
    """Return by how much a copy raises the odds that its person is in the file, at most.

    `hidden` is the row *could hide*, with the share of the unique people whose values a fresh
    sample would have as well.
    """
    return float(1 / max(hidden["baseline"], 1e-12))


def rate_copies(found: Copies) -> tuple[str, str, str]:
    """Say whether records were copied, one of `LEVELS`, how, and the question that decides."""
    return next(_reasons(found))


def _reasons(found: Copies) -> Iterator[tuple[str, str, str]]:
    """Yield what speaks for copies, or why that is not known, the worst first."""
    rows = found.rows
    identical, copied_uniques, near = (
        rows["identical records"],
        rows["copied uniques"],
        rows["near-duplicates"],
    )
    repeated, excess, before_binning = (
        rows["repeated unique"],
        rows["excess over own duplicates"],
        rows["identical before binning"],
    )
    row_order, undetected = rows["row order"], rows["undetected copies"]
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
            f"in a fresh sample {expected} would be"
        )
        yield "found", why, "identical records"
    if copied_uniques["z_permutation"] >= Z_CERTAIN:
        share = percent_with_error(copied_uniques["estimate"])
        why = f"an estimated {share} of the sample uniques are copied"
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
        "identical before binning": before_binning["z_permutation"] - Z_CERTAIN + Z_SIGNIFICANT,
    }
    decides = max(deviates, key=lambda question: np.nan_to_num(deviates[question], nan=-np.inf))
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
    if undetected["estimate"] > MAX_UNDETECTED and n_undetected >= MIN_COINCIDENCES and is_rare:
        share = percent_with_error(undetected["estimate"])
        why = f"copies of up to {share} of the sample uniques could go undetected"
        yield "undecided", why, "undetected copies"
    if complete and by_chance == 0:
        why = (
            f"{complete:,} of {m:,} records are identical to an original record, "
            "although all original records differ"
        )
        yield "no sign", why, "identical records"
    yield "no sign", "", "identical records"
