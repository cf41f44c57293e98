"""What is disclosed of each person: by a release, by a fresh sample, and by margins.

A question names the intruder's attack and how it is answered: `identity`, `attribute`
and `inference` have one module each. The answer says of every person what the release
discloses, what a fresh sample of the population would, and what a release of
independent margins would; the comparison of the three is a row of the table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from srlib.arrays import Bools, Floats, Ints
from srlib.assessment.counts import Row, clustered_se, z_score
from srlib.assessment.files import Files

MIN_ERROR = (
    2.0  # people: the least standard error of a sum, one pair more than observed
)

COMPARED = (
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


class Attack(NamedTuple):
    """What the intruder knows and wants, by column numbers.

    Attributes
    ----------
    keys : sequence of int
        Key variables.
    target : int
        Variable that the intruder wants to learn; -1 for identity.
    codes_without_value : sequence of int
        Codes of the target that are no value, such as "not applicable".
    within : float, optional
        Distance within which a number counts as disclosed.
    """

    keys: Sequence[int]
    target: int = -1
    codes_without_value: Sequence[int] = ()
    within: float | None = None


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """What is disclosed of each person by the release and by its baselines.

    Attributes
    ----------
    eligible : (n,) bool
        People who count: sample uniques, or people whose target has a value.
    release : (n,) float
        Probability that the release discloses the person, after thinning.
    fresh_sample, margins : (n,) float
        Parts of the expected number of people whom a fresh sample, or a release of the
        margins, would disclose: sums over people estimate numbers. None where margins
        cannot be compared.
    cluster : (n,) int
        People with the same number are dependent.
    certain : (n,) bool
        People disclosed by all key matches in the release, without thinning.
    holdout : dict
        The same for the holdout (`counts.holdout_contrast`), if there is one.
    """

    eligible: Bools
    release: Floats
    fresh_sample: Floats
    margins: Floats | None
    cluster: Ints
    certain: Bools
    holdout: Mapping[str, float] = MappingProxyType({})

    def compare(self) -> Row:
        """Return the row of all eligible people."""
        return self.compare_group(np.ones(len(self.eligible), bool), 0.0)

    def compare_group(
        self,
        group: Bools,
        least_error: float = MIN_ERROR,
    ) -> Row:
        """Return the row of the eligible people of a group, NaN where there are none.

        `least_error` is that of the number of people above the margins.
        """
        people = self.eligible & group
        n = int(people.sum())
        if not n:
            return {"n": 0} | dict.fromkeys(COMPARED, np.nan)
        release, release_se = self._share(self.release, people, group)
        fresh_sample, fresh_sample_se = self._share(self.fresh_sample, people, group)
        fresh_sample = float(np.clip(fresh_sample, 0, 1))
        margins, margins_se, z_margins = self._compare_margins(
            people, group, least_error
        )
        return {
            "n": n,
            "estimate": release,
            "se": release_se,
            "fresh_sample": fresh_sample,
            "fresh_sample_se": fresh_sample_se,
            "margins": margins,
            "margins_se": margins_se,
            "baseline": np.fmax(fresh_sample, margins),
            "z": min(self._z_fresh_sample(people, group), z_margins),
            "z_permutation": np.nan,
        }

    def _compare_margins(
        self, people: Bools, group: Bools, least_error: float
    ) -> tuple[float, float, float]:
        """Return the share that margins disclose, its error, and z above it."""
        if self.margins is None:
            return np.nan, np.nan, np.inf
        above = (self.release - self.margins) * group
        error = np.hypot(clustered_se(above, self.cluster), least_error)
        return *self._share(self.margins, people, group), z_score(above.sum(), error)

    def _share(
        self, disclosed: Floats, people: Bools, group: Bools
    ) -> tuple[float, float]:
        """Return the share of people disclosed, and its standard error."""
        n = people.sum()
        disclosed = disclosed * group
        share = disclosed.sum() / n
        error = clustered_se(disclosed - share * people, self.cluster) / n
        return float(share), float(error)

    def _z_fresh_sample(self, people: Bools, group: Bools) -> float:
        """Return the excess over the fresh sample in standard errors.

        One pair of people more than observed: without pairs the fresh sample would have
        no error.
        """
        above = (self.release - self.fresh_sample) * group
        error = np.sqrt(clustered_se(above, self.cluster) ** 2 + MIN_ERROR**2)
        return z_score(above.sum(), error)


@dataclass(frozen=True)
class Question:
    """A question about the people in the original.

    Attributes
    ----------
    name : str
        Its name in the table.
    line : str
        Its line on the card; empty if it has none.
    reason : str
        What its share says, after the number, with ``{}`` for the target.
    answer : callable
        ``answer(files, attack, rng)`` returns a `Disclosure`.
    """

    name: str
    line: str
    reason: str
    answer: Callable[[Files, Attack, np.random.Generator], Disclosure]
