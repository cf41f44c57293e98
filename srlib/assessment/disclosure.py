"""What is disclosed of each person: by a release, by a fresh sample, and by margins.

A question names the intruder's attack and how it is answered: `identity`, `attribute`
and `inference` have one module each. The answer says of every person what the release
discloses, what a fresh sample of the population would, and what a release of
independent margins would; the comparison of the three is a row of the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from srlib.arrays import Bools, Floats, Generator, Ints
from srlib.assessment.counts import Row, clustered_se, z_score
from srlib.assessment.files import Files

# People: the least standard error of a sum, one pair more than observed.
MIN_ERROR = 2.0

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


@dataclass(frozen=True)
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
        margins, would disclose: sums over people estimate numbers. NaN where margins
        cannot be compared.
    cluster : (n,) int
        People with the same number are dependent.
    certain : (n,) bool
        People disclosed by all key matches in the release, without thinning.
    holdout : dict
        The same for the holdout (`counts.holdout_contrast`); empty without one.
    """

    eligible: Bools
    release: Floats
    fresh_sample: Floats
    margins: Floats
    cluster: Ints
    certain: Bools
    holdout: dict[str, float]

    def compare(self, group: Bools | None = None) -> Row:
        """Return the row of all eligible people, or of those of a group."""
        if group is None:
            return self._row(0.0) | self.holdout
        parts = ("eligible", "release", "fresh_sample", "margins")
        in_group = {part: getattr(self, part) * group for part in parts}
        return replace(self, **in_group)._row(MIN_ERROR)

    def _row(self, least_error: float) -> Row:
        """Return the row of the eligible people, NaN where there are none.

        `least_error` is that of the number of people above the margins.
        """
        n = self.eligible.sum()
        if not n:
            return {"n": 0} | dict.fromkeys(COMPARED, np.nan)
        release, release_se = self._share(self.release)
        fresh_sample, fresh_sample_se = self._share(self.fresh_sample)
        fresh_sample = np.clip(fresh_sample, 0, 1)
        margins, margins_se = self._share(self.margins)
        z_margins = self._z_above(self.release - self.margins, least_error)
        return {
            "n": n,
            "estimate": release,
            "se": release_se,
            "fresh_sample": fresh_sample,
            "fresh_sample_se": fresh_sample_se,
            "margins": margins,
            "margins_se": margins_se,
            "baseline": np.fmax(fresh_sample, margins),
            "z": np.fmin(self._z_fresh_sample(), z_margins),
            "z_permutation": np.nan,
        }

    def _share(self, disclosed: Floats) -> tuple[float, float]:
        """Return the share of eligible people disclosed, and its standard error."""
        n = self.eligible.sum()
        share = disclosed.sum() / n
        residuals = disclosed - share * self.eligible
        return share, clustered_se(residuals, self.cluster) / n

    def _z_above(self, above: Floats, least_error: float) -> float:
        """Return the sum of an excess over people in standard errors."""
        error = np.hypot(clustered_se(above, self.cluster), least_error)
        return z_score(above.sum(), error)

    def _z_fresh_sample(self) -> float:
        """Return the excess over the fresh sample in standard errors.

        One pair of people more than observed: without pairs the fresh sample would have
        no error.
        """
        return self._z_above(self.release - self.fresh_sample, MIN_ERROR)


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
    counted : str
        The column of the table of records that counts the people disclosed; empty if
        there is none.
    """

    name: str
    line: str
    reason: str
    answer: Callable[[Files, Attack, Generator], Disclosure]
    counted: str = ""
