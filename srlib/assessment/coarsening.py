"""Which key, or which of its levels, would have to be coarsened for a release to tell less.

For each key the question is by how much the number of people who are singled out or disclosed
beyond the baseline falls if the intruder lacks it, and for each of its levels, if it were no longer
told from another one. That is asked of the original and the releases as they are: a synthesizer
that is fitted to coarser data makes another release.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import leakage, verdict
from srlib.assessment.groups import baseline_of, sure_among
from srlib.assessment.leakage import OfEach
from srlib.assessment.matching import checked, paired_error
from srlib.assessment.submission import Submission
from srlib.data.codes import row_numbers
from srlib.data.schema import Variable

RISKS = {
    "identity": "people alone with their keys who meet a released record",
    "attributes": "people whose target is disclosed",
}
"""What falls, by name of the risk."""
MOST = 40_000_000
"""Merges of levels that are looked at times records of all files, at most."""


@dataclass(frozen=True)
class _Change:
    """One key left out, or some of its levels merged."""

    key: int  # position among the keys
    codes: tuple[int, ...]  # levels that become one; all of them where it is left out
    merges: bool


def merges_of(variable: Variable, people: NDArray[np.intp]) -> list[tuple[int, ...]]:
    """Return the sets of levels of a variable whose merging is looked at.

    Parameters
    ----------
    variable : Variable
        Of numbers that were cut, pieces that lie side by side; otherwise, and for other levels
        of such a variable, each level with the most frequent other one.
    people : (n_levels,) int
        Who have each level. Levels that nobody has are passed over; between pieces, they are
        merged along. None where fewer than three levels are had: merging two leaves it out.
    """
    had = np.flatnonzero(people).tolist()
    if len(had) < 3:
        return []
    pieces = [code for code in had if variable.edges and code <= len(variable.edges)]
    side_by_side = [tuple(range(a, b + 1)) for a, b in pairwise(pieces)]
    most = int(people.argmax())
    with_most = [tuple(sorted((code, most))) for code in had if code != most and code not in pieces]
    return [*side_by_side, *with_most]


def what_to_coarsen(submission: Submission) -> pd.DataFrame:
    """Rank keys, and merges of two of their levels, by how far the risks fall.

    Parameters
    ----------
    submission : Submission
        With one release or more; those of one generator are taken together. The target is never
        coarsened.

    Returns
    -------
    DataFrame
        For each release, each of `RISKS`, and each kind of change, the largest fall first:

        - release; risk; change, ``"left out"`` or ``"merged"``; variable; levels, the labels that
          become one, ``""`` where the variable is left out; people who have them;
        - beyond, the number of people beyond the baseline as it is, over all: what is counted
          less `leakage.OfEach.others` or, where that is larger over all people, `margins`;
        - fewer, by how many people that falls, and fewer_error; both in people;
        - ahead, the fall of the first row less that of the second, and ahead_error; else NaN;
        - looked_at and possible, the number of changes of this kind; where both differ, levels
          whose people carry most were looked at (`MOST`);
        - level, as of the verdict's line on the risk; stands_out, as `stands_out` returns.

        Errors are of paired differences, person by person, of groups of people who share keys, or
        over the releases where that is larger.
    """
    frames = [_of_one(one).assign(release=name) for name, one in submission.judged().items()]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["release", *frame.columns.drop("release")]]


class _Tables:
    """Keys and target of the original, one release and the held out, and each person's risks."""

    def __init__(self, submission: Submission, released: NDArray[np.integer]) -> None:
        keys, target = submission.keys, submission.target
        given = [released] if submission.held_out is None else [released, submission.held_out]
        (first, second, *others), self.levels = checked(
            submission.original, given, submission.schema.n_levels, keys, target
        )
        self.n, self.m = len(first), len(second)
        self.records = np.concatenate([first, second, *others])
        self.shares = [
            np.bincount(c, minlength=k) / self.n for c, k in zip(first.T, self.levels, strict=True)
        ]
        self.prob = leakage.by_margins(first[:, :-1])
        self.target_prob = (np.bincount(second[:, -1], minlength=self.levels[-1]) / self.m)[
            first[:, -1]
        ]
        no_values = submission.schema.variables[target].no_values
        self.valued = ~np.isin(first[:, -1], no_values)
        self.keys = row_numbers(self.records[:, :-1], self.levels[:-1])
        self.before = self._risks(self.keys, self.prob)

    def without(self, key: int) -> NDArray[np.intp]:
        """Number the records by all keys but one."""
        left = [k for k in range(len(self.levels) - 1) if k != key]
        return row_numbers(self.records[:, left], [self.levels[k] for k in left])

    def after(self, rest: NDArray[np.intp], change: _Change) -> dict[str, OfEach]:
        """Return people's risks once the levels are one."""
        some = np.isin(self.records[:, change.key], change.codes)
        key = np.where(some, rest, self.keys + len(some))
        share, level = self.shares[change.key], self.records[: self.n, change.key]
        now = np.where(some[: self.n], share[list(change.codes)].sum(), share[level])
        return self._risks(pd.factorize(key)[0], self.prob * now / share[level])

    def _risks(self, key: NDArray[np.intp], prob: NDArray[np.float64]) -> dict[str, OfEach]:
        sizes, both = (self.n, self.m), slice(self.n + self.m)
        cell = pd.factorize(key[both] * self.levels[-1] + self.records[both, -1])[0]
        return {
            "identity": leakage.met_of_each(key, sizes, prob),
            "attributes": leakage.disclosed_of_each(
                key[both], cell, sizes, self.target_prob, self.valued
            ),
        }


class _Falls:
    """By how much each person's risks fall with a change, in each release."""

    def __init__(self, submission: Submission) -> None:
        self.tables = [_Tables(submission, released) for released in submission.released]
        self.group = self.tables[0].keys[: self.tables[0].n]
        self.uses_others, self.beyond = {}, {}
        for risk in RISKS:
            each = [table.before[risk] for table in self.tables]
            baseline = baseline_of(each)
            self.uses_others[risk] = baseline[0] is each[0].others
            self.beyond[risk] = [one.value - part for one, part in zip(each, baseline, strict=True)]

    def of(
        self, change: _Change, rests: Sequence[NDArray[np.intp]]
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.intp]]:
        """Return the falls, (m, n) by risk, and the groups of people who are alike after it."""
        after = [table.after(rest, change) for table, rest in zip(self.tables, rests, strict=True)]
        falls = {}
        for risk in RISKS:
            each = [found[risk] for found in after]
            left = [
                one.value - (one.others if self.uses_others[risk] else one.margins) for one in each
            ]
            falls[risk] = np.subtract(self.beyond[risk], left)
        return falls, after[0]["identity"].group  # of the original, whatever is released


def _changes(submission: Submission, falls: _Falls) -> tuple[list[_Change], list[_Change], int]:
    """Return the keys that are left out, the merges that are looked at, and how many there are."""
    table = falls.tables[0]
    left_out, merged, carried = [], [], []
    value = sum(table.before[risk].value for risk in RISKS)
    for k, at in enumerate(submission.keys):
        column, size = table.records[: table.n, k], table.levels[k]
        left_out.append(_Change(k, tuple(range(size)), False))
        people = np.bincount(column, minlength=size)
        of_level = np.bincount(column, value, minlength=size)
        for codes in merges_of(submission.schema.variables[at], people):
            merged.append(_Change(k, codes, True))
            most = max(codes, key=people.__getitem__)
            carried.append(sum(of_level[code] for code in codes if code != most))
    records = sum(len(each.records) for each in falls.tables)
    looked_at = np.argsort(-np.array(carried), kind="stable")[: max(MOST // records, 1)]
    return left_out, [merged[i] for i in np.sort(looked_at)], len(merged)


def _of_one(submission: Submission) -> pd.DataFrame:
    """Rank the changes for releases that are judged together."""
    falls = _Falls(submission)
    left_out, merged, possible = _changes(submission, falls)
    n = len(submission.original)
    variables = [submission.schema.variables[at] for at in submission.keys]
    people = [
        np.bincount(column, minlength=len(v.levels))
        for column, v in zip(
            submission.original[:, list(submission.keys)].T, variables, strict=True
        )
    ]
    levels = _levels_of_verdict(submission)
    rows: dict[tuple[str, bool], list[tuple[float, float, _Change]]] = {}
    for change, found, group in _each(falls, [*left_out, *merged]):
        for risk, fall in found.items():
            error = n * paired_error(fall, [group], falls.group)
            total = float(fall.sum(axis=1).mean())
            rows.setdefault((risk, change.merges), []).append((total, error, change))
    frames = []
    for (risk, merges), of_kind in rows.items():
        of_kind.sort(key=lambda row: -row[0])
        first = [change for _, _, change in of_kind[:2]]
        ahead = _ahead(falls, first, risk)
        looked = len(of_kind)
        frame = pd.DataFrame(
            {
                "risk": risk,
                "change": "merged" if merges else "left out",
                "variable": [variables[c.key].name for _, _, c in of_kind],
                "levels": [
                    " + ".join(variables[c.key].labels[code] for code in c.codes) if merges else ""
                    for _, _, c in of_kind
                ],
                "people": [int(people[c.key][list(c.codes)].sum()) for _, _, c in of_kind],
                "beyond": float(np.mean([each.sum() for each in falls.beyond[risk]])),
                "fewer": [fall for fall, _, _ in of_kind],
                "fewer_error": [error for _, error, _ in of_kind],
            }
        )
        frame[["ahead", "ahead_error"]] = pd.DataFrame([ahead]).reindex(range(looked))
        frame["looked_at"], frame["possible"] = looked, possible if merges else looked
        frame["level"] = levels[risk]
        frame["stands_out"] = stands_out(frame)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _each(
    falls: _Falls, changes: Sequence[_Change]
) -> Iterator[tuple[_Change, dict[str, NDArray[np.float64]], NDArray[np.intp]]]:
    """Go through the changes, key by key: what remains of the keys is numbered once for each."""
    for key in sorted({change.key for change in changes}):
        rests = [table.without(key) for table in falls.tables]
        for change in changes:
            if change.key == key:
                yield change, *falls.of(change, rests)


def _ahead(falls: _Falls, ranked: Sequence[_Change], risk: str) -> list[float]:
    """Return by how many people the first of a ranking is ahead of the second, and the error."""
    if len(ranked) < 2:
        return [np.nan, np.nan]
    of = {change: (found[risk], group) for change, found, group in _each(falls, ranked)}
    (first, group), (second, next_group) = (of[change] for change in ranked)
    difference = first - second
    error = paired_error(difference, [group, next_group], falls.group)
    return [float(difference.sum(axis=1).mean()), error * difference.shape[1]]


def _levels_of_verdict(submission: Submission) -> dict[str, str]:
    """Say for each risk whether the releases tell more than others' records would."""
    levels, keys, target = submission.schema.n_levels, submission.keys, submission.target
    tables = [(submission.original, released, levels, keys) for released in submission.released]
    no_values = submission.schema.variables[target].no_values
    identity = [leakage.identity(*each, submission.held_out) for each in tables]
    attributes = [leakage.attributes(*each, target, no_values) for each in tables]
    return {
        "identity": verdict.told(identity, 1) if identity[0].people else "no more",
        "attributes": verdict.told(attributes, 1),
    }


def stands_out(ranking: pd.DataFrame) -> NDArray[np.bool_]:
    """Say of each row of one ranking whether it stands out: none does but the first.

    There is a risk beyond the baseline, the fall is as sure as one of `looked_at` has to be, and
    the lead over the next as sure as one alone.
    """
    first = ranking.iloc[0]
    risk = first["level"] != "no more"
    sure = first["fewer"] > sure_among(int(first["looked_at"])) * first["fewer_error"]
    alone = len(ranking) == 1 or first["ahead"] > verdict.SURE * first["ahead_error"]
    return np.arange(len(ranking)) < int(risk and sure and alone)


def in_a_sentence(found: pd.DataFrame) -> str:
    """Say of one release what would have to be coarsened, if anything.

    Parameters
    ----------
    found : DataFrame
        As `what_to_coarsen` returns, the rows of one release.
    """
    said = []
    for risk, of_risk in found.groupby("risk", sort=False):
        if of_risk["level"].iloc[0] == "no more":
            said.append(
                f"{str(risk).capitalize()}: the release tells no more than other people's records "
                "would; nothing has to be coarsened for it."
            )
            continue
        parts = [_of_kind(rows) for _, rows in of_risk.groupby("change", sort=False)]
        said.append(f"{str(risk).capitalize()}: {'; '.join(parts)}.")
    return " ".join(said)


def _of_kind(rows: pd.DataFrame) -> str:
    first, merged = rows.iloc[0], rows["change"].iloc[0] == "merged"
    what = f"{first['levels']} of {first['variable']} merged" if merged else first["variable"]
    fall = f"{first['fewer']:.1f} ± {first['fewer_error']:.1f} of {first['beyond']:.1f} people"
    if merged:
        how = f"with {what} the number beyond the baseline falls by {fall}"
    else:
        how = f"without {what} the number beyond the baseline falls by {fall}"
    if len(rows) > 1:
        how += f", {first['ahead']:.1f} ± {first['ahead_error']:.1f} more than with the next"
    kind = "merge" if merged else "key"
    of_many = ""
    if first["looked_at"] < first["possible"]:
        of_many = f" ({first['looked_at']:,} of {first['possible']:,} merges were looked at)"
    return f"{'one' if first['stands_out'] else 'no'} {kind} stands out{of_many}: {how}"
