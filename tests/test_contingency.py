"""Tables as releases: predictive scores from draws, and their sensitivity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from refusals import refusals
from scipy.special import softmax
from scipy.stats import multinomial

from srlib.arrays import log_or_minus_inf
from srlib.mechanism import (
    compositions,
    exact_epsilon,
    gibbs,
    sensitivity,
    table_neighbors,
)
from srlib.mechanism.contingency import (
    limit_log_ratios,
    log_linear_draws,
    log_predictive,
    log_predictive_score,
    sensitivity_bound,
)

TABLES = compositions(5, 4)
FLAT = np.ones(4)
RNG = default_rng(1)
CELLS = RNG.dirichlet(FLAT, 30)  # (n_draws, n_cells)
LOG_CELLS = np.log(CELLS)
UNEQUAL = RNG.normal(size=30)
BY_DRAW = np.array([multinomial.pmf(TABLES, 5, p) for p in CELLS])


@pytest.mark.parametrize(
    ("log_weights", "weights"),
    [
        (0.0, np.full(30, 1 / 30)),
        (UNEQUAL, softmax(UNEQUAL)),
    ],
)
def test_log_predictive_is_the_mean_of_multinomials(log_weights, weights):
    expected = weights @ BY_DRAW

    log_prob, mcse = log_predictive(LOG_CELLS, TABLES, log_weights)

    assert_allclose(np.exp(log_prob), expected)
    errors = weights[:, None] * (BY_DRAW / expected - 1)
    variances = (errors**2).sum(axis=0)
    assert_allclose(mcse, np.sqrt(variances))


def test_only_tables_that_use_an_impossible_cell_are_impossible():
    log_cells = log_or_minus_inf([[0.5, 0.5, 0.0, 0.0]])
    tables = [
        [2, 3, 0, 0],
        [2, 2, 1, 0],
    ]
    log_prob, _ = log_predictive(log_cells, np.array(tables))
    assert_allclose(log_prob, [np.log(10 / 32), -np.inf])


def test_effects_of_log_linear_draws_have_the_variance_of_the_prior():
    rng = default_rng(3)
    log_cells = log_linear_draws((2, 3), 50_000, rng=rng)
    assert log_cells.shape == (50_000, 6)
    assert_allclose(np.exp(log_cells).sum(axis=1), 1)
    # Level 0 of both is the reference: log p(1, 2) - log p(0, 0) has three effects.
    log_ratios = log_cells - log_cells[:, [0]]
    variances = log_ratios.var(axis=0)
    assert_allclose(variances[1], 1, rtol=0.05)
    assert_allclose(variances[5], 3, rtol=0.05)


def test_variables_are_independent_without_pairwise_effects(rng):
    log_cells = log_linear_draws((2, 2), 5, rng=rng, pairwise=False)
    assert_allclose(log_cells @ [1, -1, -1, 1], 0, atol=1e-12)


def test_common_score_is_that_of_a_discrete_prior():
    rng = default_rng(4)
    log_cells = np.log(rng.dirichlet(FLAT, 7))
    scores = log_predictive_score(log_cells, TABLES)
    for data, score in zip(TABLES, scores, strict=True):
        expected, _ = log_predictive(log_cells, TABLES, log_cells @ data)
        assert_allclose(score, expected, atol=1e-12)


# ------------------------------------------------- the sensitivity of scores from draws


def dirichlet_draws(seed, n_draws, n_cells):
    """Logarithms of draws from a Dirichlet, (n_draws, n_cells), kept above zero."""
    rng = default_rng(seed)
    alpha = np.full(n_cells, rng.uniform(0.3, 3))
    return np.log(rng.dirichlet(alpha, n_draws) + 1e-4)


@given(
    seed=st.integers(0, 10**6),
    n_draws=st.integers(1, 12),
    n_cells=st.integers(2, 4),
    n=st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_no_sensitivity_exceeds_its_bound(seed, n_draws, n_cells, n):
    """Enumerated over all data sets and releases."""
    draws = dirichlet_draws(seed, n_draws, n_cells)
    tables = compositions(n, n_cells)
    score = log_predictive_score(draws, tables)
    limited = limit_log_ratios(draws, 1.5)

    exact = sensitivity(score, table_neighbors(tables))

    assert exact <= sensitivity_bound(draws) + 1e-9
    assert sensitivity_bound(limited) <= 1.5 + 1e-12


def test_bound_is_approached_by_many_records():
    """Two draws: the data point to one of them, the release to the other.

    With a single draw nothing depends on the data.
    """
    draws = np.log([[0.5, 0.5], [0.8, 0.2]])
    bound = sensitivity_bound(draws)
    by_size = []
    for n in (1, 10, 100):
        tables = compositions(n, 2)
        score = log_predictive_score(draws, tables)
        by_size.append(sensitivity(score, table_neighbors(tables)))

    assert_allclose(bound, np.log(4))
    assert sensitivity_bound(draws[:1]) == 0
    assert by_size[0] < by_size[1] < by_size[2]
    assert by_size[2] == pytest.approx(bound)


def test_limited_log_ratios_of_impossible_cells():
    cells = [
        [0.5, 0.5, 0.0],
        [0.2, 0.3, 0.5],
    ]
    impossible = log_or_minus_inf(cells)
    weights = np.array([1, 1, np.exp(-1)])

    limited = limit_log_ratios(impossible, 2.0)

    assert sensitivity_bound(impossible) == np.inf
    assert_allclose(np.exp(limited).sum(axis=1), 1)
    assert_allclose(np.exp(limited[0]), weights / weights.sum())
    assert_allclose(limited[1], impossible[1])


def test_a_draw_chosen_by_its_likelihood_keeps_its_budget():
    """The exponential mechanism over the draws; its score is the log likelihood."""
    limited = limit_log_ratios(dirichlet_draws(3, 9, 3), 2.0)
    tables = compositions(6, 3)
    pairs = table_neighbors(tables)
    score = tables @ limited.T

    chosen = gibbs(score, 0.7 / 2.0, pairs)

    assert sensitivity(score, pairs) <= 1.0 + 1e-12
    assert exact_epsilon(chosen).value <= 0.7


test_bad_input = refusals(
    {
        "not finite": lambda: log_predictive_score(LOG_CELLS - np.inf, TABLES),
        "below the smallest double": lambda: log_predictive_score(
            LOG_CELLS, 10**4 * TABLES
        ),
        "n_draws is 0": lambda: log_linear_draws((2, 2), 0, rng=RNG),
    }
)
