"""Who carries the risk: the people of each level of a variable beside all others in the file.

The shares are those of `leakage.identity` and `leakage.attributes`, and of copies as the former
with all variables for keys, taken over a part of the people. Their baselines are sums over the same
people. Errors are those of a bootstrap of groups of people who share the keys, as there, but never
less than two people: where nobody of a few is met, a bootstrap would be sure of it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from srlib.assessment import leakage, verdict
from srlib.assessment.leakage import Beyond, OfEach
from srlib.assessment.submission import Submission
from srlib.data.codes import Codes
from srlib.display import MIN_RECORDS

RISKS = {
    "identity": "people alone with their keys who meet a released record with them",
    "attributes": "people whose target is disclosed, rightly",
    "copies": "people alone with all their values who meet a released record with all of them",
}
"""What is counted in each group, by name of the risk."""
TOO_FEW = "too few"
"""The word for a group, or for its others, of fewer than 10 people who count."""
UNDECIDED = "undecided"
"""The word for copies where the original does not tell what others' records would repeat."""
_LEAST = 2.0  # people, the least error of a sum: one pair more than was seen


def of_each(submission: Submission, released: Codes) -> dict[str, OfEach]:
    """Find the people that one release singles out, discloses or repeats, by `RISKS`."""
    schema, keys, target = submission.schema, submission.keys, submission.target
    tables = (submission.original, released, schema.n_levels)
    everything, held_out = range(len(schema.names)), submission.held_out
    no_values = schema.variables[target].no_values
    return {
        "identity": leakage.identity_of_each(*tables, keys, held_out),
        "attributes": leakage.attributes_of_each(*tables, keys, target, no_values),
        "copies": leakage.identity_of_each(*tables, everything, held_out),
    }


def by_group(submission: Submission, premise: str = "") -> pd.DataFrame:
    """Compare the people of each level of the variable `Submission.by` with all others.

    Parameters
    ----------
    submission : Submission
        With a variable `by`. Its releases are taken together, as draws of one generator.
    premise : str
        `leakage.Copies.premise`: where it is not empty, copies are undecided.

    Returns
    -------
    DataFrame
        A row a risk of `RISKS` and a level that somebody in the original has:

        - risk; group, the level's label; people in the group; counted, those of them that the share
          is of;
        - value and error, others and margins as of `leakage.Beyond`; excess, the value less the
          baseline, and excess_error. The baseline is the one of others and margins that is larger
          over all people;
        - level, as of `verdict.told`, corrected for the groups that are compared;
        - difference, the excess less that of all other people, and difference_error;
        - carries, ``"more"`` or ``"less"`` where the difference is sure among so many groups, and
          the one of both that has more is itself above ``"no more"``; ``"tie"`` otherwise.

        Of groups with fewer than 10 people who count, or all others, level and carries are
        ``"too few"``. NaN where nobody counts.
    """
    assert submission.by is not None
    variable = submission.schema.variables[submission.by]
    column = submission.original[:, submission.by]
    of_releases = [of_each(submission, released) for released in submission.released]
    rows: list[dict[str, Any]] = []
    for risk in RISKS:
        each = [found[risk] for found in of_releases]
        groups = [(code, column == code) for code in np.unique(column)]
        large = [_enough(each[0].counted, some) for _, some in groups]
        for (code, some), enough in zip(groups, large, strict=True):
            row = {"risk": risk, "group": variable.labels[code], "people": int(some.sum())}
            rows.append(row | _compared(each, some, enough, sum(large)))
            if enough and risk == "copies" and premise:
                rows[-1] |= {"level": UNDECIDED, "carries": UNDECIDED}
    return pd.DataFrame(rows)


def sure_among(comparisons: int) -> float:
    """Standard errors by which one of several comparisons is as sure as one alone (Bonferroni)."""
    return float(stats.norm.isf(stats.norm.sf(verdict.SURE) / max(comparisons, 1)))


def carries(difference: float, error: float, level: str, of_others: str, sure: float) -> str:
    """Return the word for a group's difference from all others, see `by_group`.

    Parameters
    ----------
    difference, error : float
        Excess of the group less that of all others, and its standard error.
    level, of_others : str
        Of the group and of all others, as `verdict.told` returns.
    sure : float
        Standard errors that a difference takes.
    """
    if difference >= sure * error and level != "no more":
        return "more"
    return "less" if -difference >= sure * error and of_others != "no more" else "tie"


def baseline_of(each: Sequence[OfEach]) -> list[NDArray[np.float64]]:
    """Return of each release's people their part in the baseline that is larger over all."""
    others, margins = ([getattr(one, name) for one in each] for name in ("others", "margins"))
    return others if np.sum(others) >= np.sum(margins) else margins


def _enough(counted: NDArray[np.bool_], some: NDArray[np.bool_]) -> bool:
    inside = int(counted[some].sum())
    return inside >= MIN_RECORDS and int(counted.sum()) - inside >= MIN_RECORDS


def _compared(
    each: Sequence[OfEach], some: NDArray[np.bool_], enough: bool, comparisons: int
) -> dict[str, Any]:
    """Return the numbers and words of one group and risk."""
    counted, group = each[0].counted, each[0].group  # of the original, whatever is released
    value = np.array([one.value for one in each])
    baseline = np.array(baseline_of(each))
    inside, outside = (Share(counted, group, part) for part in (some, ~some))
    if not inside.people:
        names = ["value", "error", "others", "margins", "excess", "excess_error"]
        empty = dict.fromkeys([*names, "difference", "difference_error"], np.nan)
        return {"counted": 0, **empty, "level": TOO_FEW, "carries": TOO_FEW}
    found = [_beyond(inside, one) for one in each]
    excess, rest = (
        [part.share(v) - np.clip(part.share(b), 0, 1) for v, b in zip(value, baseline, strict=True)]
        for part in (inside, outside)
    )
    moved = inside.moves(value - baseline)
    apart = moved - (outside.moves(value - baseline) if outside.people else 0.0)
    least = _LEAST / inside.people
    both = np.hypot(least, _LEAST / outside.people) if outside.people else np.nan
    row: dict[str, Any] = {
        "counted": inside.people,
        "value": float(np.mean([one.value for one in found])),
        "error": error_of(inside.moves(value), group, [one.value for one in found]),
        "others": float(np.mean([one.others for one in found])),
        "margins": float(np.mean([one.margins for one in found])),
        "excess": float(np.mean(excess)),
        "excess_error": float(np.hypot(error_of(moved, group, excess), least)),
        "level": verdict.told(found, comparisons) if enough else TOO_FEW,
        "difference": float(np.mean(excess) - np.mean(rest)),
        "difference_error": float(
            np.hypot(error_of(apart, group, np.subtract(excess, rest)), both)
        ),
    }
    if not enough:
        return row | {"carries": TOO_FEW}
    of_others = verdict.told([_beyond(outside, one) for one in each], comparisons)
    apart_by = row["difference"], row["difference_error"]
    word = carries(*apart_by, row["level"], of_others, sure_among(comparisons))
    return row | {"carries": word}


def _beyond(part: "Share", one: OfEach) -> Beyond:
    """Return a part's share in one release and its baselines, for words; the table has errors."""
    return Beyond(
        people=part.people,
        value=part.share(one.value),
        error=np.nan,
        others=float(np.clip(part.share(one.others), 0, 1)),
        others_error=np.nan,
        margins=part.share(one.margins),
        z=min(part.z(one.value - one.others), part.z(one.value - one.margins)),
    )


class Share:
    """Shares of the people of one part of the file who count.

    Parameters
    ----------
    counted, group
        As of `leakage.OfEach`.
    part : (n,) bool
        The people of the part.
    """

    def __init__(
        self, counted: NDArray[np.bool_], group: NDArray[np.intp], part: NDArray[np.bool_]
    ) -> None:
        self.counted, self.group, self.part = counted & part, group, part
        self.people = int(self.counted.sum())

    def share(self, values: NDArray[np.float64]) -> float:
        """Sum of the values of the part's people over those of them who count."""
        return float((values * self.part).sum() / self.people) if self.people else float("nan")

    def moves(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """By how much each person moves the share, (m, n): its linearization."""
        of_part = values * self.part
        share = of_part.sum(axis=1, keepdims=True) / self.people
        return (of_part - share * self.counted) / self.people

    def z(self, values: NDArray[np.float64]) -> float:
        """Return a sum in its errors, as if it were 0."""
        of_part = values * self.part
        error = np.sqrt((np.bincount(self.group, of_part) ** 2).sum())
        return float(of_part.sum() / np.hypot(error, _LEAST))


def error_of(moves: NDArray[np.float64], group: NDArray[np.intp], of_releases: ArrayLike) -> float:
    """Standard error of a mean over releases: of people, or between releases if that is larger."""
    of_people = np.sqrt((np.bincount(group, moves.mean(axis=0)) ** 2).sum())
    m = len(moves)
    between = np.asarray(of_releases).std(ddof=1) / np.sqrt(m) if m > 1 else 0.0
    return float(max(of_people, between))


def in_a_sentence(found: pd.DataFrame) -> str:
    """Say of one release which groups carry more or less of each risk than all others.

    Parameters
    ----------
    found : DataFrame
        As `by_group` returns.
    """
    return " ".join(_of_risk(risk, rows) for risk, rows in found.groupby("risk", sort=False))


def _of_risk(risk: str, rows: pd.DataFrame) -> str:
    head = f"{risk.capitalize()}:"
    compared = rows[rows["carries"] != TOO_FEW]
    few = len(rows) - len(compared)
    few_said = (
        ""
        if not few
        else f"; {few} of {len(rows)} groups ha{'s' if few == 1 else 've'} too few people to tell"
    )
    if not len(compared):
        return f"{head} all groups have too few people to tell."
    if (compared["carries"] == UNDECIDED).all():
        return f"{head} undecided, as in the verdict."
    said = []
    for word in ("more", "less"):
        of_word = compared[compared["carries"] == word].sort_values(
            "difference", ascending=word == "less", kind="stable"
        )
        if len(of_word):
            listed = ", ".join(
                f"{row.group} ({_points(row.excess)} of {row.counted:,} beyond the baseline, "
                f"of all others {_points(row.excess - row.difference)})"
                for row in of_word.head(3).itertuples()
            )
            names = f"{len(of_word)} groups, above all {listed}" if len(of_word) > 3 else listed
            said.append(f"{word} than all others: {names}")
    if not said:
        n = len(compared)
        return (
            f"{head} no group carries more or less than all others beyond the errors of {n} "
            f"comparison{'s' * (n != 1)}{few_said}."
        )
    return f"{head} {'; '.join(said)}{few_said}."


def _points(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"
