"""The exponential mechanism on finite spaces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refusals
from whole_tables import assert_spent, probabilities

from srlib.mechanism import (
    apportion,
    beta_binomial,
    calibrate_rate,
    count_neighbors,
    exact_epsilon,
    exponential,
    gibbs,
    sensitivity,
)

PATH = count_neighbors(3)
SCORE = np.array(
    [
        [0.0, 1.0, 3.0],
        [1.0, 0.5, 2.0],
        [4.0, 0.0, 1.0],
        [2.0, 2.0, -1.0],
    ]
)


def test_sensitivity_and_probabilities_by_definition():
    assert sensitivity(SCORE, PATH) == 3.0  # from 1 to 4
    table = exponential(SCORE, 0.8, PATH)
    weights = np.exp(0.8 / (2 * 3) * SCORE)
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert_allclose(probabilities(table), expected)


@given(st.integers(0, 10**6), st.floats(0.05, 8))
@settings(max_examples=40)
def test_budget_is_kept_and_can_be_spent(seed, epsilon):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(4, 6))
    rate_of_the_promise = epsilon / (2 * sensitivity(score, PATH))

    promised = exponential(score, epsilon, PATH)
    rate = calibrate_rate(score, epsilon, PATH)

    assert exact_epsilon(promised).value <= epsilon * (1 + 1e-9)
    assert_spent(gibbs(score, rate, PATH), epsilon)
    assert rate >= rate_of_the_promise * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [1.0, 100.0, 3000.0])
def test_a_rate_where_the_promise_of_the_exponential_mechanism_is_attained(epsilon):
    score = [
        [500, 0, 0],
        [0, 500, 0],
    ]
    pairs = count_neighbors(1)
    rate = calibrate_rate(score, epsilon, pairs)
    assert_spent(gibbs(score, rate, pairs), epsilon)


def test_a_sensitivity_that_is_too_small_warns_of_the_exact_epsilon():
    with pytest.warns(UserWarning, match=r"that of the score 3, so the exact epsilon"):
        mechanism = exponential(SCORE, 0.8, PATH, sensitivity=1.0)
    assert exact_epsilon(mechanism).value > 0.8
    exponential(SCORE, 0.8, PATH, sensitivity=3.0)  # a warning would be an error


@pytest.mark.parametrize("alpha", [0.4, 1.0, 7.0])
def test_sensitivity_of_log_p_is_the_epsilon_of_sampling_from_p(alpha):
    pairs = count_neighbors(12)
    table = beta_binomial(12, 12, alpha)
    score = np.log(probabilities(table))

    sampling = gibbs(score, 1.0, pairs)

    epsilon = np.log1p(12 / alpha)
    assert sensitivity(score, pairs) == pytest.approx(epsilon)
    assert_allclose(probabilities(sampling), probabilities(table))


@pytest.mark.parametrize(
    ("shares", "total", "expected"),
    [
        ([5, 5, 5, 5], 20, [5, 5, 5, 5]),
        ([1, 1, 1], 5, [2, 2, 1]),
        ([6, 3, 1], 3, [2, 1, 0]),
        ([1.0, 0.0], 0, [0, 0]),
    ],
)
def test_apportioned_counts(shares, total, expected):
    assert apportion(shares, total).tolist() == expected


test_bad_input = refusals(
    {
        r"score\[0, 1\] is nan": lambda: exponential([[0.0, np.nan]], 1.0, []),
        "1 or more each": lambda: exponential(np.empty((4, 0)), 1.0, PATH),
        "epsilon is 0": lambda: exponential(SCORE, 0.0, PATH),
        "sensitivity is 0": lambda: exponential(SCORE, 1.0, PATH, sensitivity=0.0),
        "sensitivity 0": lambda: exponential(np.ones((4, 3)), 1.0, PATH),
        "rate is -1": lambda: gibbs(SCORE, -1.0, PATH),
        "nor all shares 0": lambda: apportion([0, 0], 5),
    }
)
