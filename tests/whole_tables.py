"""Whole tables of mechanisms with few rows and columns, and draws from them."""

import numpy as np

from srlib.mechanism import exact_epsilon


def probabilities(mechanism):
    """Return the probability of each output given each data set."""
    rows = np.arange(mechanism.n_inputs)
    columns = np.arange(mechanism.n_outputs)
    log_prob = mechanism.block(rows, columns)
    return np.exp(log_prob)


def assert_spent(mechanism, epsilon):
    """The exact epsilon is the budget, and no more."""
    spent = exact_epsilon(mechanism).value
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


def assert_drawn(probability, numbers):
    """Numbers were drawn with their probabilities, by a chi-squared test.

    Those that are expected less than five times are one class, if large enough.
    """
    n = len(probability)
    expected = len(numbers) * probability
    counts = np.bincount(numbers, minlength=n)
    assert not counts[expected == 0].any()
    classes = np.where(expected >= 5, range(n), n)
    observed = np.bincount(classes, counts)
    expected = np.bincount(classes, expected)
    is_large = expected > 5
    terms = (observed - expected) ** 2 / np.maximum(expected, 5)
    chi2 = terms.sum(where=is_large)
    df = is_large.sum() - 1
    assert df > 5
    assert chi2 < df + 4.5 * np.sqrt(2 * df)
