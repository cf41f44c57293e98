"""Confidence limits of a probability, for audits of synthesizers by simulation."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from srlib import checks


def clopper_pearson(
    count: ArrayLike,
    size: float,
    confidence: float,
) -> tuple[Any, Any]:
    """Return one-sided lower and upper confidence limits of a probability.

    The event occurred `count` times in `size` trials, 1 or more. Each limit has the
    given confidence. Both numbers may be fractions if the size is an effective number
    of trials.
    """
    checks.at_least(1, size=size)
    checks.within(0, size, count=count)
    checks.inner_probability(confidence=confidence)
    events = np.asarray(count, float)
    low = betaincinv(events, size - events + 1, 1 - confidence)
    high = betaincinv(events + 1, size - events, confidence)
    low = np.where(events > 0, low, 0.0)
    high = np.where(events < size, high, 1.0)
    return low[()], high[()]  # scalars for a scalar count
