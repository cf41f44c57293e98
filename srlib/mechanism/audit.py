"""Confidence limits of a probability, for audits of what can only be run."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from srlib import checks


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
