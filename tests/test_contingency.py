"""Tables as releases: predictive scores from draws, and their sensitivity."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multinomial

from srlib.mechanism import (
    compositions,
    dirichlet_multinomial,
    exact_epsilon,
    gibbs,
    sensitivity,
)
from srlib.mechanism.contingency import (
    limit_log_ratios,
    log_linear_draws,
    log_predictive,
    log_predictive_score,
    records_moved,
    sensitivity_bound,
)
from srlib.mechanism.core import table_neighbors

TABLES = compositions(5, 4)


def test_distance_by_hand() -> None:
    data = np.array([3, 0, 1, 1])
    releases = np.array([[1, 2, 1, 1], [3, 0, 1, 1]])
    assert records_moved(releases, data).tolist() == [2, 0]


def test_moving_one_record_moves_one_record() -> None:
    for a, b in table_neighbors(TABLES):
        assert records_moved(TABLES[a][None], TABLES[b])[0] == 1


def test_log_predictive_is_the_mean_of_multinomials() -> None:
    rng = np.random.default_rng(1)
    cells = np.log(rng.dirichlet(np.ones(4), 30))
    log_weights = rng.normal(size=30)
    weights = np.exp(log_weights - logsumexp(log_weights))
    by_draw = np.array([multinomial.pmf(TABLES, 5, np.exp(c)) for c in cells])
    expected = weights @ by_draw

    log_prob, mcse = log_predictive(cells, TABLES, log_weights)

    assert_allclose(np.exp(log_prob), expected)
    errors = weights[:, None] * (by_draw / expected - 1)
    assert_allclose(mcse, np.sqrt((errors**2).sum(axis=0)))


def test_error_of_equal_weights_is_that_of_a_mean() -> None:
    cells = np.log(np.random.default_rng(1).dirichlet(np.ones(4), 30))
    by_draw = np.array([multinomial.pmf(TABLES, 5, np.exp(c)) for c in cells])
    relative = by_draw / by_draw.mean(axis=0)
    mcse = log_predictive(cells, TABLES)[1]
    assert_allclose(mcse, relative.std(axis=0) / np.sqrt(30))


def test_only_tables_that_use_an_impossible_cell_are_impossible() -> None:
    with np.errstate(divide="ignore"):
        cells = np.log([[0.5, 0.5, 0.0, 0.0]])
    log_prob, _ = log_predictive(cells, np.array([[2, 3, 0, 0], [2, 2, 1, 0]]))
    assert_allclose(log_prob, [np.log(10 / 32), -np.inf])


def test_predictive_from_dirichlet_draws_is_the_dirichlet_multinomial() -> None:
    rng, data = np.random.default_rng(2), np.array([3, 1, 1, 0])
    cells = np.log(rng.dirichlet(data + 1.0, 40_000))
    found, mcse = log_predictive(cells, TABLES)
    row = int(np.flatnonzero((data == TABLES).all(axis=1))[0])
    exact = dirichlet_multinomial(5, 5, [1.0] * 4).row(row)
    assert (np.abs(found - exact) < 5 * mcse).all()


def test_log_linear_prior() -> None:
    cells = log_linear_draws((2, 3), 50_000, rng=np.random.default_rng(3), sd=0.7)
    assert cells.shape == (50_000, 6)
    assert_allclose(np.exp(cells).sum(axis=1), 1)
    # Level 0 of both is the reference: log p(1, 2) - log p(0, 0) has three effects.
    assert (cells[:, 5] - cells[:, 0]).var() == pytest.approx(3 * 0.49, rel=0.05)
    assert (cells[:, 1] - cells[:, 0]).var() == pytest.approx(0.49, rel=0.05)


def test_common_score_is_that_of_a_discrete_prior() -> None:
    cells = np.log(np.random.default_rng(4).dirichlet(np.ones(4), 7))
    score = log_predictive_score(cells, TABLES)
    by_data = [log_predictive(cells, TABLES, cells @ data)[0] for data in TABLES]
    assert_allclose(score, by_data, atol=1e-12)


# ------------------------------------------------- the sensitivity of scores from draws


def drawn_cells(seed: int, n_draws: int, cells: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.log(rng.dirichlet(np.full(cells, rng.uniform(0.3, 3)), n_draws) + 1e-4)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 4), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_no_sensitivity_exceeds_its_bound(
    seed: int, n_draws: int, cells: int, n: int
) -> None:
    """Enumerated over all data sets and releases."""
    draws, tables = drawn_cells(seed, n_draws, cells), compositions(n, cells)
    bound, pairs = sensitivity_bound(draws), table_neighbors(tables)
    score = log_predictive_score(draws, tables)
    assert sensitivity(score, pairs) <= bound + 1e-9
    limited = limit_log_ratios(draws, 1.5)
    assert sensitivity_bound(limited) <= 1.5 + 1e-12


def test_bound_is_approached_by_many_records() -> None:
    """Two draws: the data point to one of them, the release to the other."""
    draws = np.log([[0.5, 0.5], [0.8, 0.2]])
    assert sensitivity_bound(draws) == pytest.approx(np.log(4))
    found = []
    for n in (1, 10, 100):
        tables = compositions(n, 2)
        score = log_predictive_score(draws, tables)
        found.append(sensitivity(score, table_neighbors(tables)))
    assert found[0] < found[1] < found[2]
    assert found[-1] == pytest.approx(np.log(4))


def test_bound_of_one_draw_and_of_impossible_cells() -> None:
    assert sensitivity_bound(np.log([[0.3, 0.7]])) == 0
    with np.errstate(divide="ignore"):
        impossible = np.log([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert sensitivity_bound(impossible) == np.inf
    limited = limit_log_ratios(impossible, 2.0)
    assert_allclose(np.exp(limited).sum(axis=1), 1)
    assert_allclose(np.exp(limited[0]), np.array([1, 1, np.exp(-1)]) / (2 + np.exp(-1)))
    unchanged = limit_log_ratios(impossible[1:], 2.0)
    assert_allclose(unchanged, impossible[1:])


def test_a_draw_chosen_by_its_likelihood_keeps_its_budget() -> None:
    """The exponential mechanism over the draws; its score is the log likelihood."""
    limited = limit_log_ratios(drawn_cells(3, 9, 3), 2.0)
    tables = compositions(6, 3)
    pairs = table_neighbors(tables)
    score = tables @ limited.T
    assert sensitivity(score, pairs) <= 1.0 + 1e-12
    chosen = gibbs(score, 0.7 / 2.0, pairs)
    assert exact_epsilon(chosen).value <= 0.7


def test_variables_are_independent_without_pairwise_effects() -> None:
    draws = log_linear_draws((2, 2), 5, rng=np.random.default_rng(2), pairwise=False)
    assert_allclose(draws[:, 0] + draws[:, 3], draws[:, 1] + draws[:, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda c, r: log_predictive_score(c - np.inf, TABLES),
            "not finite",
        ),
        (
            lambda c, r: log_predictive_score(c, 10**4 * TABLES),
            "below the smallest double",
        ),
        (lambda c, r: log_linear_draws((2, 2), 0, rng=r), "n_draws is 0"),
    ],
)
def test_bad_input(call: Callable[..., object], message: str) -> None:
    cells = np.log([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]])
    with pytest.raises(ValueError, match=message):
        call(cells, np.random.default_rng(0))
