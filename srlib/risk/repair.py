"""Repair: trees that some records count less in, by a rule; and who carries the risk afterwards.

An intruder who knows all records but one may believe that nothing was done, know how much each
record counted, or know the rule by which that was decided. The rule is a function of the data, so
that other values of the last record may change who counts: only the third intruder uses what this
tells. Each of them is a `Density`: `SequentialTrees` itself, `WeightedTrees` with an array of
weights that stay as they are, and with the rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import checks
from srlib.data.codes import distinct
from srlib.trees import SequentialTrees, Trees
from srlib.trees import log_likelihoods as of_trees

type Rule = Callable[[NDArray[np.integer]], NDArray[np.integer]]
"""How often each record counts, (n,) int, as a function of the records, (n, n_variables) int."""

ERRORS = 2.0
"""Standard errors from which on a record's risk is said to rise or to fall."""


@dataclass(frozen=True, eq=False)
class WeightedTrees:
    """Sequential trees that some records count less in, or not at all.

    Weights enter the leaves' shares, the gains of splits and the least size of a leaf, which is
    that of all weights together. They are exact: the trees are those of a table that has each
    record as often as it counts, with leaves and smoothing larger by the factor `parts`.

    Parameters
    ----------
    trees : SequentialTrees
        The trees if all records count alike.
    rule : callable or (n,) int
        How often each record counts, from 0 (left out of the fit) to `parts`: a function of the
        records, or numbers that do not depend on their values.
    parts : int
        How often a record of full weight counts, 1 or more.

    Examples
    --------
    >>> from srlib.data.schema import Schema, Variable
    >>> trees = SequentialTrees(Schema((Variable("sick", ("no", "yes")),)))
    >>> people = np.array([[0]] * 9 + [[1]])
    >>> [round(float(np.exp(t.log_prob(np.array([[1]]), people))), 3)
    ...  for t in (trees, WeightedTrees(trees, alone([0], 2, 1), 2))]  # 1/10, and 1/2 of 9 1/2
    [0.1, 0.053]
    """

    trees: SequentialTrees
    rule: Rule | NDArray[np.integer]
    parts: int = 1

    def __post_init__(self) -> None:
        checks.at_least(1, parts=self.parts)

    @cached_property
    def _of_copies(self) -> SequentialTrees:
        growth = self.trees.growth
        larger = replace(
            growth,
            min_leaf=growth.min_leaf * self.parts,
            smoothing=growth.smoothing * self.parts,
        )
        return replace(self.trees, growth=larger)

    def times(self, data: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how often each record counts.

        Raises
        ------
        ValueError
            If the rule gives another number of records, or none or more than `parts` of one.
        """
        given = self.rule(data) if callable(self.rule) else self.rule
        times: NDArray[np.int64] = np.asarray(given, dtype=np.int64)
        if times.shape != (len(data),) or (times < 0).any() or (times > self.parts).any():
            raise ValueError(
                f"rule returns shape {times.shape}, from {times.min(initial=0)} to "
                f"{times.max(initial=0)}; it must be ({len(data)},), from 0 to {self.parts}"
            )
        return times

    def grown_on(self, data: NDArray[np.integer]) -> Trees:
        """Return the trees of a table, (n, n_variables) codes."""
        return self._of_copies.grown_on(np.repeat(data, self.times(data), axis=0))

    def release(self, data: NDArray[np.integer], *, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw as many records as the data have."""
        return self.grown_on(data).release(1, len(data), rng=rng)[0].codes

    def log_prob(self, released: NDArray[np.integer], data: NDArray[np.integer]) -> float:
        """Return log p(release | data); minus infinity if it cannot be drawn."""
        return self.grown_on(data).log_prob(released)

    def log_likelihoods(
        self,
        released: Sequence[NDArray[np.integer]],
        data: NDArray[np.integer],
        rows: NDArray[np.integer],
        candidates: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """Return log p(releases | data with one record changed), (n, support_size), exactly.

        Where the change leaves the weights as they are, the trees are not grown anew.
        """
        times, trees = self.times(data), self.grown_on(data)
        first = np.cumsum(times) - times
        shown = np.concatenate([np.asarray(getattr(z, "codes", z)) for z in released])
        found = np.full(candidates.shape[:2], trees.log_prob(shown))
        for copies in np.unique(times[rows][times[rows] > 0]):
            some = times[rows] == copies
            found[some] = of_trees(
                trees, shown, first[rows[some]], candidates[some], copies=int(copies)
            )[0]
        if not callable(self.rule):
            return found
        changed = np.array(data)
        for row, support, values in zip(rows, candidates, found, strict=True):
            for i, candidate in enumerate(support):
                changed[row] = candidate
                if (self.times(changed) != times).any():
                    values[i] = self.log_prob(shown, changed)
            changed[row] = data[row]
        return found


def alone(keys: Sequence[int], parts: int = 1, times: int = 0) -> Rule:
    """Return a rule: records that nobody agrees with in some variables count less.

    Parameters
    ----------
    keys : sequence of int
        The variables.
    parts, times : int
        How often the others count, and these.
    """

    def rule(data: NDArray[np.integer]) -> NDArray[np.int64]:
        _, repetitions, inverse = distinct(np.asarray(data)[:, list(keys)])
        return np.where(repetitions[inverse] == 1, times, parts)

    return rule


def who_carries(
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    repaired: NDArray[np.bool_],
    limit: float,
) -> pd.DataFrame:
    """Compare risks before a repair and after it, of the repaired records and of all others.

    Publications before and after are independent. A group's mean risk has its error from between
    publications. A record's risk rises or falls where its expectation changes by more than
    `ERRORS` of its own errors; by chance some do, the more the fewer publications there are.

    Parameters
    ----------
    before, after : (n_publications, n) float
        Risk of each record after each publication, two of these or more.
    repaired : (n,) bool
        The records that were repaired.
    limit : float
        Risks above it are counted.

    Returns
    -------
    DataFrame
        Indexed by the records, repaired and others: records, before and after (mean risks) and
        change, each with its standard error (_se); moved, the mean square of the changes in
        expected risk, less what the errors add to it, and moved_se, its standard error from between
        records (which share the publications); rise and fall, shares of the records; above_before
        and above_after, shares of the records whose expected risk exceeds the limit. NaN for no
        records.

    Raises
    ------
    ValueError
        If the arrays do not fit together or there are fewer than two publications.
    """
    for name, values in (("before", before), ("after", after)):
        if values.ndim != 2 or len(values) < 2 or values.shape[1:] != repaired.shape:
            raise ValueError(
                f"{name} has shape {values.shape}; it must have two rows or more, and "
                f"{len(repaired)} columns"
            )
    change = after.mean(axis=0) - before.mean(axis=0)
    error = np.hypot(*(v.std(axis=0, ddof=1) / np.sqrt(len(v)) for v in (before, after)))
    squares = change**2 - error**2
    rows: dict[str, dict[str, float]] = {}
    for name, some in (("repaired", repaired), ("others", ~repaired)):
        if not some.any():
            rows[name] = {"records": 0}
            continue
        (low, low_se), (high, high_se) = (
            mean_with_error(v[:, some].mean(axis=1)) for v in (before, after)
        )
        rows[name] = {
            "records": int(some.sum()),
            "before": low, "before_se": low_se, "after": high, "after_se": high_se,
            "change": high - low, "change_se": float(np.hypot(low_se, high_se)),
            "moved": float(squares[some].mean()),
            "moved_se": float(squares[some].std() / np.sqrt(max(1, int(some.sum()) - 1))),
            "rise": float((change > ERRORS * error)[some].mean()),
            "fall": float((change < -ERRORS * error)[some].mean()),
            "above_before": float((before.mean(axis=0) > limit)[some].mean()),
            "above_after": float((after.mean(axis=0) > limit)[some].mean()),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


def mean_with_error(values: NDArray[np.floating]) -> tuple[float, float]:
    """Return the mean over publications, two or more, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
