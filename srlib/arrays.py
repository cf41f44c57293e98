"""Arrays: types for annotations (shapes stand in docstrings), and small helpers."""

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray as NDArray

type Floats = NDArray[np.float64]
type Ints = NDArray[np.integer]
type Bools = NDArray[np.bool_]
Generator = np.random.Generator


def log_or_minus_inf(values: ArrayLike) -> Floats:
    """Return the logarithms of numbers of which some may be zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def evenly_spaced(records: Ints, limit: int) -> Ints:
    """Return all records, or `limit` of them that are evenly spaced."""
    n_chosen = min(len(records), limit)
    return records[np.linspace(0, len(records) - 1, n_chosen, dtype=int)]
