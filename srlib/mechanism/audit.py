"""Confidence limits of a probability, for audits of synthesizers by simulation."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from srlib import checks


def clopper_pearson(
    count: ArrayLike, size: float, confidence: float
) -> tuple[Any, Any]:
    """Return one-sided lower and upper confidence limits of a probability.

    The event occurred `count` times in `size` trials, 1 or more. Each limit has the
    given confidence. Both numbers may be fractions if the size is an effective number
    of trials.
    """
    checks.at_least(1, size=size)
    checks.within(0, size, count=count)
    checks.inner_probability(confidence=confidence)
    count = np.asarray(count, dtype=np.float64)
    low = betaincinv(count, size - count + 1, 1 - confidence)
    high = betaincinv(count + 1, size - count, confidence)
    return np.where(count > 0, low, 0.0)[()], np.where(count < size, high, 1.0)[()]
