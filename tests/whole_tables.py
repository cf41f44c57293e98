"""Whole tables of mechanisms with few rows and columns."""

import numpy as np

from srlib.arrays import Floats
from srlib.mechanism import Mechanism


def probabilities(mechanism: Mechanism) -> Floats:
    """Return the probability of each output given each data set."""
    rows = np.arange(mechanism.n_inputs)
    columns = np.arange(mechanism.n_outputs)
    return np.exp(mechanism.block(rows, columns))
