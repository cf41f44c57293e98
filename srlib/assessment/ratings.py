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
from srlib.assessment.counts import Bools, Row, between, error_of, means, ratio
from srlib.assessment.disclosure import Told
from srlib.assessment.z_scores import FEWEST as FEWEST_COPIES
from srlib.assessment.z_scores import beta, beta_binomial_z
from srlib.display import MIN_RECORDS, in_percent

# A difference of SURE standard errors is more than chance, and one of CERTAIN beyond doubt. A risk
# is above its baseline if it takes MORE of what that leaves to disclose, and far above from FAR on.
SURE, CERTAIN, MORE, FAR = 2.58, 3.3, 0.05, 0.20
# Beyond the release's own records: with SURE a fresh sample in a hundred would be a sign.
BEYOND_ITSELF = 3.0
# Undecided: more of the people who are alone could be copied than UNSEEN, where to find one in the
# release raises the odds that they are in the file by a factor of RARE or more.
UNSEEN, RARE = 0.12, 3.0
# One person's record is as clear as one honest release in a hundred has anybody's, whoever it is.
ONE_PERSON = 2.33
UNLIKELY = 1.645  # errors by which three complete copies or more are seldom chance: 5 %
LEVELS = ("none", "undecided", "signs", "found")  # of copies, the best first
# What the shares of rows on copies are held against.
BESIDE = {
    "copies": "others",
    "near copies": "fresh sample",
    "multiplicity": "fresh sample",
    "beyond itself": "its own records",
    "uncut copies": "others",
    "same rows": "other rows",
}
FEWEST = 20  # records of a file, below which nothing is judged but an outright copy
LEAST = 2.0  # people, the least error of a sum: one pair more than was seen
# Values that all but this share of people have are no disclosure by themselves: the margin tells.
ALL_BUT_CERTAIN = 0.10

TEXTS = ("about", "baseline_of", "word", "why")


def of_people(each: Sequence[Told], some: Bools | None = None) -> Row:
    """Answer by all people who count, or some, over the releases of one tool.

    The original's part of an error is the same for all releases, so that only the spread between
    them is divided by their number.
    """
    rows = [_of_release(one, some) for one in each]
    found: Row = means(rows) | (means([told.held_out for told in each]) if some is None else {})
    found["error"] = float(np.fmax(found["error"], between([one["value"] for one in rows])))
    by = "margins" if found["margins"] > found["others"] else "others"
    named = {"people": int(found["people"]), "baseline_error": found[f"{by}_error"]}
    return found | named | {"baseline_of": by}


def _of_release(told: Told, some: Bools | None) -> Row:
    part = np.ones(len(told.counted), bool) if some is None else some
    counted = told.counted & part
    people = int(counted.sum())
    if not people:
        names = "value error others others_error margins margins_error baseline z z_divided"
        return {"people": 0} | dict.fromkeys(names.split(), np.nan)
    release, others, margins = each = [v * part for v in (told.release, told.others, told.margins)]
    value, by_others, by_margins = shares = [float(v.sum()) / people for v in each]
    error, others_error, margins_error = (
        np.hypot(error_of(v - p * counted, told.group) / people, np.sqrt(told.grown / 2))
        for v, p in zip(each, shares, strict=True)
    )
    gap, more = release - others, release - margins
    of_trees, met = np.isnan(by_margins), some is None and not np.isnan(told.divided_z)
    spread = np.sqrt(people * gap[counted].var()) if of_trees else error_of(gap, told.group)
    # One pair of people more than were seen: where there is none, others would have no error.
    z = ratio(gap.sum(), np.sqrt(spread**2 + LEAST**2 + told.grown * people**2))
    if told.left is not None:
        # A release that knows less than others' records may say the commonest value more often.
        open_gap = np.where(told.left >= ALL_BUT_CERTAIN, gap, 0.0)
        z = min(z, ratio(open_gap.sum(), np.hypot(error_of(open_gap, told.group), LEAST)))
    of_more = np.hypot(error_of(more, told.group), 0.0 if some is None else LEAST)
    if met:  # or not, so that errors are binomial
        error, of_more = np.sqrt([value * (1 - value) / people, (margins * (1 - margins)).sum()])
        others_error = max(others_error, LEAST / people)
        law = beta(by_others, others_error, people)
        z = beta_binomial_z(round(value * told.trials), round(told.trials), *law)
    z_margins = np.inf if of_trees else ratio(more.sum(), of_more)  # these tell no better guess
    by_others = float(np.clip(by_others, 0, 1))
    return {
        "people": people, "value": value, "error": error, "others": by_others,
        "others_error": others_error, "margins": by_margins, "margins_error": margins_error,
        "baseline": np.nanmax([by_others, by_margins]), "z": min(z, z_margins),
        "z_divided": min(told.divided_z, z_margins) if met else np.nan,
    }  # fmt: skip


def share_of_rest(value: Any, baseline: Any) -> Any:
    """Share of what a baseline leaves to disclose that a value takes: 0 to 1 where all is told."""
    return (value - baseline) / np.maximum(1 - baseline, 1e-12)


def put_words(rows: Sequence[Row], family: bool, few: bool = False) -> None:
    """Say how much more is told than the baseline, where that is clear of chance, in each row.

    Of a family, a difference is as sure as if it alone were looked at. That is Holm's (1979) rule:
    of n rows the least probable is held against n comparisons, the next against n - 1, and so on to
    the first that is not clear. Rows of few people, or of files of a `few` records, do not count.
    """
    for row in rows:
        nobody = row["of"] == "all" and not row["people"]  # as where nobody is alone
        row["word"] = "not applicable" if nobody and not few else "too few"
        if few or row["people"] < MIN_RECORDS:
            row["baseline_error"] = np.nan  # a pair of people more is half of four
    judged = [row for row in rows if row["people"] >= MIN_RECORDS and not few]
    z = [np.fmax(row["z"], row["z_divided"]) for row in judged]
    tail, clear = special.ndtr(-np.nan_to_num(z, nan=-np.inf)), np.zeros(len(z), bool)
    order = np.argsort(tail, kind="stable")
    times = np.arange(len(z), 0, -1) if family else 1
    clear[order] = np.maximum.accumulate(tail[order] * times) <= special.ndtr(-SURE)
    for row, sure in zip(judged, clear, strict=True):
        rest = share_of_rest(row["value"], row["baseline"])
        row["word"] = (
            ("far more" if rest >= FAR else "more") if sure and rest >= MORE else "no more"
        )


def put_agreeing_words(rows: Sequence[Row]) -> None:
    """Let *far more* about a target stand only where a trained guess is above its baseline, too."""
    guesses = {(row["about"], row["of"]): row for row in rows if row["question"] == "predicted"}
    for row in rows:
        guess = guesses.get((row["about"], row["of"]))
        is_attributes = row["question"] == "attributes" and row["word"] == "far more"
        if is_attributes and guess and not guess["z"] >= SURE:
            row["word"] = "more"


def of_copies(each: Sequence[Copies]) -> list[Row]:
    """Answer by the released records that repeat original ones; the worst of several decides."""

    def badness(one: Copies) -> tuple[int, bool, float]:
        word, why, _ = copied(one)
        return LEVELS.index(word), why != "", largest_z(one.rows["copies"])

    found = max(each, key=badness)
    word, why, decides = copied(found)
    for question, beside in BESIDE.items():
        found.rows[question]["baseline_of"] = beside
    found.rows["copies"].update(word=word, why=why, asked=True)
    found.rows[decides]["word"] = word
    return list(found.rows.values())


def of_model(learned: list[Row], agree: bool, people: int) -> list[Row]:
    """Answer what an intruder learns who believes in a model, and whether the data refute it."""
    names = {"detail": "about", "estimate": "value", "se": "error", "baseline_se": "baseline_error"}
    learned = [{names.get(name, name): row[name] for name in row} for row in learned]
    *_, belief, chains = learned
    for row in learned:
        row["z"] = ratio(row["value"] - row["baseline"], row.pop("difference_se"))
        row |= {"question": f"model: {row['question']}", "people": people, "word": ""}
    wrong = "misleads" if belief["value"] > 1 else "falls short"
    belief["word"] = wrong if abs(belief["z"]) > SURE else "not refuted"
    chains |= {"word": "agree", "z": np.nan}
    return learned if agree else [row | {"word": "unreliable"} for row in learned]


def largest_z(row: Row) -> float:
    """Return the larger of a row's deviates; minus infinity where none is known."""
    return float(np.fmax.reduce([-np.inf, row["z"], row["z_divided"]]))


def odds_factor(hidden: Row) -> float:
    """Return by how much a copy raises the odds that its person is in the file, at most.

    `hidden` is the row *could hide*, with the share of the unique people whose values a fresh
    sample would have as well.
    """
    return float(1 / max(hidden["baseline"], 1e-12))


def copied(found: Copies) -> tuple[str, str, str]:
    """Say whether records were copied, one of `LEVELS`, how, and the question that decides."""
    return next(_reasons(found))


def _reasons(found: Copies) -> Iterator[tuple[str, str, str]]:
    """Yield what speaks for copies, or why that is not known, the worst first."""
    rows = found.rows
    repeats, handed_out, near = rows["copies"], rows["handed out"], rows["near copies"]
    many, itself, uncut = rows["multiplicity"], rows["beyond itself"], rows["uncut copies"]
    same_rows, hidden = rows["same rows"], rows["could hide"]
    n, m = len(found.found), repeats["people"]
    few = min(n, m) < FEWEST
    complete = round(uncut["value"] * m)
    by_chance = uncut["baseline"] * m

    if found.same_table:
        yield "found", "it is the original itself", "copies"
    if same_rows["z"] >= 2 * CERTAIN and not few:
        share = in_percent(same_rows["value"])
        yield "found", f"its rows follow the original's, with {share} of the values", "same rows"
    if repeats["z"] >= CERTAIN:
        share, others = in_percent(repeats["value"]), in_percent(repeats["baseline"])
        why = (
            f"{share} of its records repeat original ones; of other people's records {others} would"
        )
        yield "found", why, "copies"
    if handed_out["z_divided"] >= CERTAIN:
        share = in_percent(handed_out["value"])
        why = f"an estimated {share} of the people alone with their values are in it"
        yield "found", why, "handed out"
    if near["z_divided"] >= CERTAIN:
        share, others = in_percent(near["value"]), in_percent(near["baseline"])
        why = f"{share} of {near['about']}; in a fresh sample {others}"
        yield "found", why, "near copies"
    if many["z"] >= ONE_PERSON:
        yield "found", f"it has the record of {many['about']}", "multiplicity"
    deviates = {
        "copies": repeats["z"], "handed out": handed_out["z_divided"],
        "near copies": near["z_divided"], "multiplicity": many["z"] - UNLIKELY + SURE,
        "beyond itself": itself["z"] - BEYOND_ITSELF + SURE,
        "uncut copies": uncut["z_divided"] - CERTAIN + SURE,
    }  # fmt: skip
    decides = max(deviates, key=lambda question: np.nan_to_num(deviates[question], nan=-np.inf))
    if deviates[decides] >= SURE:
        yield "signs", "there are signs of copied records", decides
    if found.premise == "twins":
        why = "the original repeats people, so that copies cannot be told from twins"
        yield "undecided", why, "copies"
    if found.premise == "removed":
        why = "equal records seem to be removed from the original; give people held out"
        yield "undecided", why, "copies"
    if few:
        yield "undecided", "there are too few records to judge", "copies"
    if complete >= FEWEST_COPIES > by_chance and uncut["z"] >= UNLIKELY:
        share = in_percent(uncut["value"])
        why = f"{share} of its records repeat original ones, too few to tell copies from chance"
        yield "undecided", why, "copies"
    could_hide = hidden["value"] * hidden["people"]
    is_rare = odds_factor(hidden) >= RARE
    if hidden["value"] > UNSEEN and could_hide >= FEWEST_COPIES and is_rare:
        share = in_percent(hidden["value"])
        why = f"chance could hide copies of up to {share} of the people alone with their values"
        yield "undecided", why, "could hide"
    if complete and by_chance == 0:
        why = f"complete copies are {complete:,} of {m:,} records, and originals all differ"
        yield "none", why, "copies"
    yield "none", "", "copies"
