"""Whole tables of mechanisms with few rows and columns."""

import numpy as np

from srlib.arrays import Floats
from srlib.mechanism import Mechanism, exact_epsilon


def probabilities(mechanism: Mechanism) -> Floats:
    """Return the probability of each output given each data set."""
    rows = np.arange(mechanism.n_inputs)
    columns = np.arange(mechanism.n_outputs)
    log_prob = mechanism.block(rows, columns)
    return np.exp(log_prob)


def assert_spent(mechanism: Mechanism, epsilon: float) -> None:
    """The exact epsilon is the budget, and no more."""
    spent = exact_epsilon(mechanism).value
    assert epsilon * (1 - 1e-9) <= spent <= epsilon
