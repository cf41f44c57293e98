"""The three scores of Charest (2013), Table 1."""

import numpy as np
from numpy.typing import NDArray

from srlib.mechanism.families import beta_binomial


def binary_scores(n: int, gamma: float) -> dict[str, NDArray[np.float64]]:
    """The three scores of Table 1 for n binary records, by name, (n + 1, n + 1) each.

    The score called distance is minus the distance, ``-|d - r|``.

    Parameters
    ----------
    n : int
        Records, 1 or more; rows are counts of ones in the data, columns in the release.
    gamma : float
        Both parameters of the beta prior, positive.
    """
    counts = np.arange(n + 1)
    log_p = beta_binomial(n, n, gamma).block(counts, counts)
    distance = np.abs(np.subtract.outer(counts, counts)).astype(float)
    return {"distance": -distance, "P": np.exp(log_p), "log P": log_p}
