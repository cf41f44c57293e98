"""Lower bounds on the epsilon of a black box, from releases alone.

A mechanism that can only be run shows two samples of releases, from two neighboring data sets. Any
event that is more frequent in the first than exp(epsilon) times its frequency in the second refutes
epsilon.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from srlib import checks


@dataclass(frozen=True)
class LowerBound:
    """A lower confidence bound on epsilon.

    Attributes
    ----------
    value : float
        0 or more; with the stated confidence epsilon is at least as large.
    event : (n_outputs,) bool
        The outputs whose joint probabilities were compared.
    confidence : float
        Of the bound.
    """

    value: float
    event: NDArray[np.bool_]
    confidence: float


def clopper_pearson(count: ArrayLike, size: float, confidence: float) -> tuple[Any, Any]:
    """One-sided lower and upper confidence limits of a probability, each at the confidence given.

    Parameters
    ----------
    count : int, or array of int
        Times that the event occurred, 0 to `size`; a fraction where `size` is one.
    size : int or float
        Trials, 1 or more; a fraction where it is an effective number of them.
    confidence : float
        In (0, 1).

    Returns
    -------
    low, high : float, or arrays of float64
    """
    checks.at_least(1, size=size)
    checks.within(0, size, count=count)
    checks.inner_probability(confidence=confidence)
    count = np.asarray(count, dtype=np.float64)
    low = betaincinv(count, size - count + 1, 1 - confidence)
    high = betaincinv(count + 1, size - count, confidence)
    return np.where(count > 0, low, 0.0)[()], np.where(count < size, high, 1.0)[()]


def epsilon_lower_bound(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    n_outputs: int,
    confidence: float = 0.95,
) -> LowerBound:
    """Bound epsilon from below by two samples of releases.

    One half of each sample chooses the event: among the sets of the outputs with the largest
    estimated ratios, in both directions, the one with the largest bound. The other half gives
    Clopper-Pearson limits for its two probabilities, so that the choice does not spoil the
    confidence.

    Parameters
    ----------
    first, second : (size,) int
        Releases from two neighboring data sets, in 0 to n_outputs - 1, at least 2 of each.
    n_outputs : int
        Number of possible outputs.
    confidence : float
        In (0, 1).

    Returns
    -------
    LowerBound

    Raises
    ------
    ValueError
        If a sample is too small or an output out of range.
    """
    checks.inner_probability(confidence=confidence)
    halves = []
    for name, drawn in (("first", first), ("second", second)):
        if len(drawn) < 2:
            raise ValueError(f"{name} has {len(drawn)} releases; it must have 2 or more")
        if drawn.min() < 0 or drawn.max() >= n_outputs:
            raise ValueError(f"{name} has outputs outside 0 to {n_outputs - 1}")
        parts = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
        halves.append([np.bincount(part, minlength=n_outputs) for part in parts])
    each = 1 - (1 - confidence) / 2  # two limits, both to hold
    best, event, swap = 0.0, np.zeros(n_outputs, dtype=bool), False
    for flip in (False, True):
        a, b = (halves[1][0], halves[0][0]) if flip else (halves[0][0], halves[1][0])
        order = np.argsort(-(np.log(a + 0.5) - np.log(b + 0.5)), kind="stable")
        upto_a, upto_b = np.cumsum(a[order]), np.cumsum(b[order])
        low, _ = clopper_pearson(upto_a, int(a.sum()), each)
        _, high = clopper_pearson(upto_b, int(b.sum()), each)
        with np.errstate(divide="ignore"):
            bound = np.log(low) - np.log(high)
        if bound.max() > best:
            best, swap = float(bound.max()), flip
            event = np.isin(np.arange(n_outputs), order[: int(bound.argmax()) + 1])
    a, b = (halves[1][1], halves[0][1]) if swap else (halves[0][1], halves[1][1])
    low_a, _ = clopper_pearson(a[event].sum(), int(a.sum()), each)
    _, high_b = clopper_pearson(b[event].sum(), int(b.sum()), each)
    value = max(0.0, float(np.log(low_a / high_b))) if low_a > 0 else 0.0
    return LowerBound(value, event, confidence)
