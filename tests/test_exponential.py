"""The exponential mechanism on finite spaces, and audits from samples."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from srlib.mechanism import (
    apportion,
    audit,
    beta_binomial,
    calibrate_rate,
    dirichlet_multinomial,
)
from srlib.mechanism.core import count_neighbors
from srlib.mechanism.privacy import exact_epsilon
from srlib.mechanism.scores import exponential, gibbs, sensitivity

PATH = count_neighbors(3)
SCORE = np.array([[0.0, 1.0, 3.0], [1.0, 0.5, 2.0], [4.0, 0.0, 1.0], [2.0, 2.0, -1.0]])


def test_sensitivity_by_definition() -> None:
    differences = np.abs(np.diff(SCORE, axis=0))
    assert sensitivity(SCORE, PATH) == differences.max() == 3.0


def test_probabilities_by_definition() -> None:
    weights = np.exp(0.8 / 6 * SCORE)
    table = exponential(SCORE, 0.8, PATH)
    for row, own in enumerate(weights):
        assert_allclose(np.exp(table.row(row)), own / own.sum())


@given(st.integers(0, 10**6), st.floats(0.05, 8))
@settings(max_examples=40)
def test_budget_is_kept_and_can_be_spent(seed: int, epsilon: float) -> None:
    score = np.random.default_rng(seed).normal(size=(4, 6))
    by_promise = exact_epsilon(exponential(score, epsilon, PATH)).value
    assert by_promise <= epsilon * (1 + 1e-9)
    rate = calibrate_rate(score, epsilon, PATH)
    spent = exact_epsilon(gibbs(score, rate, PATH)).value
    assert epsilon * (1 - 1e-9) <= spent <= epsilon
    assert rate >= epsilon / (2 * sensitivity(score, PATH)) * (1 - 1e-12)


def test_a_rate_where_the_promise_of_the_exponential_mechanism_is_attained() -> None:
    score = np.array([[0.0, -500.0, -500.0], [-500.0, 0.0, -500.0]])
    for epsilon in (1.0, 100.0, 3000.0):
        rate = calibrate_rate(score, epsilon, [[0, 1]])
        spent = exact_epsilon(gibbs(score, rate, [[0, 1]])).value
        assert epsilon * (1 - 1e-9) <= spent <= epsilon


def test_a_sensitivity_that_is_too_small_warns_of_the_exact_epsilon() -> None:
    with pytest.warns(UserWarning, match=r"that of the score 3, so the exact epsilon"):
        mechanism = exponential(SCORE, 0.8, PATH, sensitivity=1.0)
    assert exact_epsilon(mechanism).value > 0.8
    exponential(SCORE, 0.8, PATH, sensitivity=3.0)  # a warning would be an error


@pytest.mark.parametrize(
    ("cells", "n", "n_s"), [(2, 3, 4), (3, 2, 3), (4, 2, 2), (2, 5, 1)]
)
def test_dirichlet_multinomial_condition_is_necessary_and_sufficient(
    cells: int, n: int, n_s: int
) -> None:
    """Charest (2013): epsilon if and only if alpha is at least n_s / (exp(eps) - 1)."""
    epsilon = 0.9
    least = n_s / np.expm1(epsilon)
    for factors in itertools.product((0.98, 1.0, 3.0), repeat=cells):
        table = dirichlet_multinomial(n, n_s, least * np.array(factors))
        private = exact_epsilon(table).value <= epsilon * (1 + 1e-9)
        assert private == (min(factors) >= 1)


@pytest.mark.parametrize("gamma", [0.4, 1.0, 7.0])
def test_sensitivity_of_log_p_is_the_epsilon_of_sampling_from_p(gamma: float) -> None:
    table = beta_binomial(12, 12, gamma)
    score = table.block(np.arange(13), np.arange(13))
    found = sensitivity(score, count_neighbors(12))
    assert found == pytest.approx(np.log1p(12 / gamma))
    assert_allclose(gibbs(score, 1.0, count_neighbors(12)).row(4), table.row(4))


# -------------------------------------------------------------------------------- audit


def test_clopper_pearson_limits_by_definition() -> None:
    low, high = audit.clopper_pearson(7, 20, 0.9)
    assert binom.sf(6, 20, low) == pytest.approx(0.1)
    assert binom.cdf(7, 20, high) == pytest.approx(0.1)
    assert audit.clopper_pearson(0, 5, 0.9)[0] == 0
    assert audit.clopper_pearson(5, 5, 0.9)[1] == 1
    lows, highs = audit.clopper_pearson(np.array([0, 7]), 20, 0.9)
    assert (lows[1], highs[1]) == (low, high)


def test_apportioned_counts() -> None:
    assert apportion([5, 5, 5, 5], 20).tolist() == [5, 5, 5, 5]
    assert apportion([1, 1, 1], 5).tolist() == [2, 2, 1]
    assert apportion([6, 3, 1], 3).tolist() == [2, 1, 0]
    assert apportion([1.0, 0.0], 0).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: exponential(np.array([[0.0, np.nan]]), 1.0, []),
            r"score\[0, 1\] is nan",
        ),
        (lambda: exponential(np.empty((2, 0)), 1.0, [[0, 1]]), "1 or more each"),
        (lambda: exponential(SCORE, 0.0, PATH), "epsilon is 0"),
        (lambda: exponential(SCORE, 1.0, PATH, sensitivity=0.0), "sensitivity is 0"),
        (lambda: exponential(np.ones((4, 3)), 1.0, PATH), "sensitivity 0"),
        (lambda: gibbs(SCORE, -1.0, PATH), "rate is -1"),
        (lambda: apportion([0, 0], 5), "nor all shares 0"),
        (lambda: audit.clopper_pearson(3, 2, 0.9), "count is 3; it must lie in 0 to 2"),
        (lambda: audit.clopper_pearson(1, 2, 1.0), "confidence is 1"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
