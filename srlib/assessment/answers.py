"""The one table: a row for each answer, the same columns for all.

A row says of a release, or of all releases of one tool, what the answer to a question is (value)
and what it is held against (baseline), both with standard errors; by how many errors the value lies
beyond (z, and z_divided by a random division of both files, which needs no prediction); the same of
people held out; and a word that follows by the thresholds below.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from srlib.assessment.copies import Copies, beta, beta_binomial_z
from srlib.assessment.counting import Bools, between, error_of, means, ratio
from srlib.assessment.told import Told
from srlib.display import MIN_RECORDS

Row = dict[str, Any]

# A difference of SURE standard errors is more than chance, and one of CERTAIN beyond doubt. A risk
# is above its baseline if it takes MORE of what that leaves to disclose, and far above from FAR on.
SURE, CERTAIN, MORE, FAR = 2.58, 3.3, 0.05, 0.20
# Undecided: more copies than the first share of the people who are alone, and than the second of
# all people in the file, could hide among those that chance meets.
UNSEEN, UNSEEN_OF_ALL = 0.10, 0.02
LEVELS = ("none", "undecided", "signs", "found")  # of copies, the best first
FEWEST = 20  # records of a file, below which nothing is judged but an outright copy
LEAST = 2.0  # people, the least error of a sum: one pair more than was seen

COLUMNS = [
    "release", "question", "about", "of", "people", "value", "error", "baseline", "baseline_error",
    "baseline_of", "z", "z_divided", "held_out", "held_out_z", "word", "asked",
]  # fmt: skip


def row(
    question: str, about: str, people: int, value: float = np.nan, error: float = np.nan,
    baseline: float = np.nan, baseline_error: float = np.nan, z: float = np.nan,
    z_divided: float = np.nan, *, word: str = "", by: str = "",
) -> Row:  # fmt: skip
    """Answer a question that nobody asked by its numbers; `by` says what the baseline is."""
    return {
        "question": question, "about": about, "people": people, "value": value, "error": error,
        "baseline": baseline, "baseline_error": baseline_error, "baseline_of": by, "z": z,
        "z_divided": z_divided, "word": word, "of": "all", "asked": False, "target": "",
    }  # fmt: skip


def of_people(each: Sequence[Told], some: Bools | None = None) -> Row:
    """Answer by all people who count, or some, over the releases of one tool.

    The original's part of an error is the same for all releases, so that only the spread between
    them is divided by their number.
    """
    rows = [_of_release(one, some) for one in each]
    found: Row = means(rows) | means([told.held_out for told in each])
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
    each = [v * part for v in (told.release, told.others, told.margins)]
    shares = [float(v.sum()) / people for v in each]
    errors = [
        error_of(v - p * counted, told.group) / people for v, p in zip(each, shares, strict=True)
    ]
    (release, others, margins), (value, by_others, by_margins) = each, shares
    (error, others_error, margins_error), z_divided = errors, np.nan
    # One pair of people more than were seen: where there is none, others would have no error.
    gap, of_gap = release - others, np.hypot(error_of(release - others, told.group), LEAST)
    z = ratio(float(gap.sum()), of_gap)
    more = float((release - margins).sum())
    least = 0.0 if some is None else LEAST
    z_margins = ratio(more, np.hypot(error_of(release - margins, told.group), least))
    if some is None and not np.isnan(told.divided_z):  # people are met, or are not
        error = np.sqrt(value * (1 - value) / people)
        others_error = max(others_error, LEAST / people)
        law = beta(by_others, others_error, people)
        z = beta_binomial_z(round(value * told.trials), round(told.trials), *law)
        z_margins = ratio(more, np.sqrt((margins * (1 - margins)).sum()))
        z_divided = min(told.divided_z, z_margins)
    elif np.isnan(by_margins):  # of trees: margins tell nothing to compare with
        error, others_error = (np.hypot(e, np.sqrt(told.grown / 2)) for e in (error, others_error))
        of_gap = np.sqrt(told.grown + gap[counted].var() / people + (LEAST / people) ** 2)
        z, z_margins = ratio(float(gap.sum() / people), float(of_gap)), np.inf
    by_others = float(np.clip(by_others, 0, 1))
    return {
        "people": people, "value": value, "error": float(error), "others": by_others,
        "others_error": others_error, "margins": by_margins, "margins_error": margins_error,
        "baseline": float(np.nanmax([by_others, by_margins])), "z": min(z, z_margins),
        "z_divided": z_divided,
    }  # fmt: skip


def share_of_rest(value: float, baseline: float) -> float:
    """Share of what a baseline leaves to disclose that a value takes: 0 to 1 where all is told."""
    return (value - baseline) / (1 - baseline) if baseline < 1 else 0.0


def word(row: Row, clear: bool) -> str:
    """Say how much more a release tells than its baseline, where that is clear of chance."""
    rest = share_of_rest(row["value"], row["baseline"])
    if not (clear and rest >= MORE):
        return "no more"
    return "far more" if rest >= FAR else "more"


def put_words(rows: Sequence[Row], family: bool, few: bool = False) -> None:
    """Give each row its word; of a family, a difference is as sure as if it alone were looked at.

    That is Holm's (1979) rule: of n rows the least probable is held against n comparisons, the next
    against n - 1, and so on to the first that is not clear. Of files of a `few` records nothing is
    said.
    """
    z = np.array([max(row["z"], np.nan_to_num(row["z_divided"], nan=-np.inf)) for row in rows])
    tail, clear = special.ndtr(-np.nan_to_num(z, nan=-np.inf)), np.zeros(len(z), bool)
    for rank, at in enumerate(np.argsort(tail, kind="stable")):
        if tail[at] * (len(z) - rank if family else 1) <= special.ndtr(-SURE):
            clear[at] = True
        elif family:
            break
    for row, sure in zip(rows, clear, strict=True):
        row["word"] = word(row, bool(sure)) if row["people"] else "no more"
        if few or 0 < row["people"] < MIN_RECORDS or (row["of"] != "all" and not row["people"]):
            row["word"] = "too few"


def of_copies(each: Sequence[Copies]) -> list[Row]:
    """Answer by the released records that repeat original ones; the worst of several decides."""
    found = worst(each)
    level, m, nan = copied(found), found.released, np.nan
    alone = "people alone with all their values"
    is_why = level == "undecided" or (level == "none" and found.alone > 0)
    return [
        row("copies", "records that repeat an original one", m, found.repeated,
            found.repeated_error, found.others, found.others_error, found.repeated_z,
            max_of(found.handed_out_z, found.near_z), word=level, by="others") | {"asked": True},
        row("handed out", f"{alone}, an estimate", found.alone, found.handed_out,
            found.handed_out_error, 0.0, nan, nan, found.handed_out_z),
        row("could hide", f"{alone}, an upper limit", found.alone, found.at_most,
            word=level if is_why else ""),
        row("near copies", "some variables left out", m, z_divided=found.near_z),
        row("beyond itself", "people against its own records", m, z=found.itself_z),
        row("uncut copies", "numbers as the files have them", m, z=found.uncut_z),
        row("same rows", "values equal, row by row", m, found.same_row, nan,
            found.same_row_others, nan, found.same_row_z),
    ]  # fmt: skip


def max_of(*z: float) -> float:
    """Return the largest that is a number; NaN where none is."""
    known = [each for each in z if not np.isnan(each)]
    return max(known, default=np.nan)


def worst(each: Sequence[Copies]) -> Copies:
    """Return the one of several releases that decides on copies."""
    return max(each, key=lambda found: (LEVELS.index(copied(found)), _largest_z(found)))


def copied(found: Copies) -> str:
    """Say whether records were copied: one of `LEVELS`."""
    if found.same_table or same_rows(found) or _largest_z(found) >= CERTAIN:
        return "found"
    if _largest_z(found) >= SURE or max_of(found.itself_z, found.uncut_z) >= CERTAIN:
        return "signs"
    of_all = found.at_most * found.alone / len(found.found)
    unseen = found.at_most > UNSEEN and of_all > UNSEEN_OF_ALL
    return "undecided" if found.premise or few(found) or unseen else "none"


def _largest_z(found: Copies) -> float:
    return max_of(-np.inf, found.repeated_z, found.handed_out_z, found.near_z)


def same_rows(found: Copies) -> bool:
    """Say whether the rows follow the original's."""
    return found.same_row_z >= 2 * CERTAIN and not few(found)


def few(found: Copies) -> bool:
    """Say whether a file has too few records to be judged."""
    return min(len(found.found), found.released) < FEWEST
