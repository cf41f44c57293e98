"""Tables as releases: distances, predictive scores from draws, and the walk over tables."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chi2, multinomial

from srlib import mechanism
from srlib.mechanism import contingency
from srlib.mechanism.core import change_one_record

TABLES = mechanism.compositions(5, 4)


def test_distances_by_hand() -> None:
    data, release = np.array([3, 0, 1, 1]), np.array([[1, 2, 1, 1], [3, 0, 1, 1]])
    assert contingency.records_moved(release, data).tolist() == [2, 0]
    assert contingency.euclidean(release, data).tolist() == [np.sqrt(8), 0]
    # Rows (3, 2) against (3, 2); columns (4, 1) against (2, 3).
    assert contingency.margin_error(release, data, (2, 2)).tolist() == [1, 0]
    expected = np.log(3.5 * 1.5 / (0.5 * 1.5))
    assert contingency.log_odds_ratio(data[None])[0] == pytest.approx(expected)


def test_moving_one_record_moves_one_record() -> None:
    for a, b in change_one_record(TABLES):
        assert contingency.records_moved(TABLES[a][None], TABLES[b])[0] == 1


def test_log_predictive_is_the_mean_of_multinomials() -> None:
    rng = np.random.default_rng(1)
    cells = np.log(rng.dirichlet(np.ones(4), 30))
    weights = rng.normal(size=30)
    found, mcse = contingency.log_predictive(cells, TABLES, weights)
    each = np.array([multinomial.logpmf(TABLES, 5, np.exp(c)) for c in cells])
    expected = logsumexp(each + weights[:, None], axis=0) - logsumexp(weights)
    np.testing.assert_allclose(found, expected)
    assert np.exp(found).sum() == pytest.approx(1)
    plain, mcse = contingency.log_predictive(cells, TABLES)
    share = np.exp(each - logsumexp(each, axis=0) + np.log(30))
    np.testing.assert_allclose(mcse, share.std(axis=0) / np.sqrt(30))
    assert plain[0] != found[0]


def test_cells_without_chance() -> None:
    cells = np.log(np.array([[0.5, 0.5, 0.0, 0.0]]), where=[True, True, False, False],
                   out=np.full((1, 4), -np.inf))  # fmt: skip
    found, _ = contingency.log_predictive(cells, np.array([[2, 3, 0, 0], [2, 2, 1, 0]]))
    assert found[0] == pytest.approx(np.log(10 / 32))
    assert found[1] == -np.inf


def test_predictive_from_dirichlet_draws_is_the_dirichlet_multinomial() -> None:
    rng, data = np.random.default_rng(2), np.array([3, 1, 1, 0])
    cells = np.log(rng.dirichlet(data + 1.0, 40_000))
    found, mcse = contingency.log_predictive(cells, TABLES)
    row = int(np.flatnonzero((data == TABLES).all(axis=1))[0])
    exact = mechanism.dirichlet_multinomial(5, 5, [1.0] * 4).row(row)
    assert (np.abs(found - exact) < 5 * mcse).all()


def test_log_linear_prior() -> None:
    rng = np.random.default_rng(3)
    cells = contingency.log_linear_draws((2, 3), 50_000, rng=rng, sd=0.7)
    assert cells.shape == (50_000, 6)
    np.testing.assert_allclose(np.exp(cells).sum(axis=1), 1)
    # Level 0 of both is the reference: log p(1, 2) - log p(0, 0) has three effects.
    assert (cells[:, 5] - cells[:, 0]).var() == pytest.approx(3 * 0.49, rel=0.05)
    assert (cells[:, 1] - cells[:, 0]).var() == pytest.approx(0.49, rel=0.05)
    likelihood = contingency.log_likelihood(cells[:4], np.array([1, 0, 0, 2, 0, 0]))
    np.testing.assert_allclose(likelihood, cells[:4, 0] + 2 * cells[:4, 3])


def enumerated(rate: float) -> tuple[np.ndarray, np.ndarray]:
    cells = np.log(np.random.default_rng(4).dirichlet(np.ones(4), 7))
    score, _ = contingency.log_predictive(cells, TABLES)
    return cells, score * rate - logsumexp(score * rate)


def test_walk_leaves_its_target_unchanged() -> None:
    _, log_prob = enumerated(1.7)
    matrix = contingency.walk_matrix(log_prob, TABLES)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    assert (matrix >= 0).all()
    np.testing.assert_allclose(np.exp(log_prob) @ matrix, np.exp(log_prob), atol=1e-14)
    two = contingency.walk_matrix(np.stack([log_prob, 2 * log_prob]), TABLES)
    np.testing.assert_array_equal(two[0], matrix)


@pytest.mark.parametrize("most", [1, 3])
def test_metropolis_has_the_enumerated_distribution(most: int) -> None:
    rate = 1.7
    cells, log_prob = enumerated(rate)
    tables, score, acceptance = contingency.metropolis(
        cells, rate, 5, n_draws=4_000, thin=150, n_chains=2, most=most, rng=np.random.default_rng(5)
    )
    position = {tuple(t): i for i, t in enumerate(TABLES.tolist())}
    drawn = np.array([position[tuple(t)] for t in tables[:, 10:].reshape(-1, 4).tolist()])
    expected = len(drawn) * np.exp(log_prob)
    observed, large = np.bincount(drawn, minlength=len(TABLES)), expected > 5
    statistic = ((observed - expected) ** 2 / expected)[large].sum()
    assert statistic < chi2.isf(1e-5, large.sum())
    direct, _ = contingency.log_predictive(cells, tables[0])
    np.testing.assert_allclose(score[0] - score[0, 0], direct - direct[0], atol=1e-9)
    assert 0 < acceptance < 1


def test_losses_of_a_two_by_two_table() -> None:
    lost = contingency.losses(TABLES, np.array([3, 0, 1, 1]))
    same = int(np.flatnonzero((TABLES == [3, 0, 1, 1]).all(axis=1))[0])
    assert [values[same] for values in lost.values()] == [0, 0, 0]
    assert all(values.shape == (56,) and values.max() > 0 for values in lost.values())


def test_scores_of_all_data_sets() -> None:
    cells, _ = enumerated(1.0)
    common, error = contingency.score_by_prior(cells, TABLES)
    joint = np.array([multinomial.pmf(TABLES, 5, np.exp(c)) for c in cells])
    np.testing.assert_allclose(np.exp(common), joint.T @ joint / joint.sum(axis=0)[:, None])
    likely = contingency.log_likelihood(cells, TABLES[3])
    np.testing.assert_array_equal(error[3], contingency.log_predictive(cells, TABLES, likely)[1])
    draws = np.random.default_rng(7).choice(cells, (len(TABLES), 2, 5))
    fresh, _ = contingency.score_by_model(draws, TABLES)
    for i in (0, 17):
        expected, _ = contingency.log_predictive(draws[i].reshape(-1, 4), TABLES)
        np.testing.assert_allclose(fresh[i], expected)


def test_common_score_is_that_of_a_discrete_prior() -> None:
    cells, _ = enumerated(1.0)
    expected, _ = contingency.score_by_prior(cells, TABLES)
    np.testing.assert_allclose(contingency.common_score(cells, TABLES), expected, atol=1e-12)
    half = contingency.common_score(cells, TABLES, power=0.5)
    likely = contingency.log_likelihood(cells, TABLES[9]) / 2
    np.testing.assert_allclose(half[9], contingency.log_predictive(cells, TABLES, likely)[0])
    with pytest.raises(ValueError, match="below the smallest double"):
        contingency.common_score(
            np.log([[0.999, 0.001], [0.001, 0.999]]), np.eye(2, dtype=np.int64) * 500
        )


# --------------------------------------------------------- the sensitivity of scores from draws


def drawn_cells(seed: int, n_draws: int, cells: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.log(rng.dirichlet(np.full(cells, rng.uniform(0.3, 3)), n_draws) + 1e-4)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 4), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_no_sensitivity_exceeds_its_bound(seed: int, n_draws: int, cells: int, n: int) -> None:
    """Enumerated over all data sets and releases, for the model and for a tempered likelihood."""
    draws, tables = drawn_cells(seed, n_draws, cells), mechanism.compositions(n, cells)
    bound, pairs = contingency.sensitivity_bound(draws), change_one_record(tables)
    score = contingency.common_score(draws, tables)
    assert mechanism.sensitivity(score, pairs) <= bound + 1e-9
    tempered = contingency.common_score(draws, tables, power=0.4)
    assert mechanism.sensitivity(tempered, pairs) <= 0.4 * bound + 1e-9
    limited = contingency.limit_log_ratios(draws, 1.5)
    assert contingency.sensitivity_bound(limited) <= 1.5 + 1e-12


def test_bound_is_approached_by_many_records() -> None:
    """Two draws: the data point to one of them, the release turns the odds to the other."""
    draws = np.log([[0.5, 0.5], [0.8, 0.2]])
    assert contingency.sensitivity_bound(draws) == pytest.approx(np.log(4))
    found = []
    for n in (1, 10, 100):
        tables = mechanism.compositions(n, 2)
        score = contingency.common_score(draws, tables)
        found.append(mechanism.sensitivity(score, change_one_record(tables)))
    assert found[0] < found[1] < found[2]
    assert found[-1] == pytest.approx(np.log(4))


def test_bound_of_one_draw_and_of_impossible_cells() -> None:
    assert contingency.sensitivity_bound(np.log([[0.3, 0.7]])) == 0
    with np.errstate(divide="ignore"):
        impossible = np.log([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert contingency.sensitivity_bound(impossible) == np.inf
    limited = contingency.limit_log_ratios(impossible, 2.0)
    np.testing.assert_allclose(np.exp(limited).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(limited[0]), np.array([1, 1, np.exp(-1)]) / (2 + np.exp(-1)))
    unchanged = contingency.limit_log_ratios(impossible[1:], 2.0)
    np.testing.assert_allclose(unchanged, impossible[1:])


def test_a_draw_chosen_by_its_likelihood_keeps_its_budget() -> None:
    """The exponential mechanism over the draws, with the log likelihood as its score."""
    limited = contingency.limit_log_ratios(drawn_cells(3, 9, 3), 2.0)
    tables = mechanism.compositions(6, 3)
    pairs = change_one_record(tables)
    score = tables @ limited.T
    assert mechanism.sensitivity(score, pairs) <= 1.0 + 1e-12
    chosen = mechanism.gibbs(score, 0.7 / 2.0, pairs)
    assert mechanism.exact_epsilon(chosen).value <= 0.7


def test_expected_records_moved_against_all_tables() -> None:
    data = np.array([3, 0, 1, 1])
    for rate in (0.0, 0.4, 3.0):
        moved = contingency.records_moved(TABLES, data)
        weight = np.exp(-rate * moved)
        expected = weight @ moved / weight.sum()
        assert contingency.expected_records_moved(data, rate) == pytest.approx(expected)
    assert contingency.expected_records_moved(np.array([5000, 5000]), 1.0) < 2


def test_variables_are_independent_without_pairwise_effects() -> None:
    rng = np.random.default_rng(2)
    draws = contingency.log_linear_draws((2, 2), 5, rng=rng, pairwise=False)
    np.testing.assert_allclose(draws[:, 0] + draws[:, 3], draws[:, 1] + draws[:, 2])


def test_error_of_an_estimated_score_is_the_spread_of_its_estimates() -> None:
    """Over 200 runs of four chains that renew a tenth of their draws only."""
    rng, tables = np.random.default_rng(8), TABLES[[0, 20, 55]]
    places = rng.integers(0, 40, (200, 3, 4, 200))
    stay = rng.random(places.shape) < 0.9
    for t in range(1, places.shape[-1]):
        places[..., t] = np.where(stay[..., t], places[..., t - 1], places[..., t])
    cells = np.log(rng.dirichlet(np.full(4, 3.0), 40))
    found = [contingency.score_by_model(cells[run], tables) for run in places]
    spread = np.std([score for score, _ in found], axis=0)
    claimed = np.sqrt(np.mean([mcse**2 for _, mcse in found], axis=0))
    assert (np.abs(claimed / spread - 1) < 0.3).all()
    with pytest.raises(ValueError, match="with 2 draws or more"):
        contingency.score_by_model(cells[places[0, :, :, :1]], tables)


def test_epsilon_along_the_walk() -> None:
    """From the data it is infinite until every table can be reached; both ends meet the target."""
    tables = mechanism.compositions(3, 3)
    pairs = change_one_record(tables)
    score = mechanism.dirichlet_multinomial(3, 3, [1.0] * 3).block(*[np.arange(10)] * 2)
    rate = mechanism.exact_rate(score, 1.0, pairs)
    by_step = contingency.epsilon_by_step(rate * score, tables, 9)
    assert by_step[1]["start at the data"] == by_step[2]["start at the data"] == np.inf
    assert np.isfinite(by_step[4]["start at the data"])
    assert by_step[1]["uniform start"] < 1
    for value in by_step[512].values():
        assert value == pytest.approx(1.0, abs=1e-9)


def test_metropolis_is_reproducible_and_keeps_the_number_of_records() -> None:
    cells, _ = enumerated(1.0)
    runs = [
        contingency.metropolis(
            cells, 1.0, 9, n_draws=20, thin=3, n_chains=3, rng=np.random.default_rng(6)
        )[0]
        for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0].sum(axis=-1) == 9).all()


ONE: dict = {"n_draws": 1, "thin": 1, "n_chains": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c, r: contingency.metropolis(c, -1, 5, **ONE, rng=r), "rate is -1"),
        (lambda c, r: contingency.metropolis(c, 1, 0, **ONE, rng=r), "n is 0"),
        (lambda c, r: contingency.metropolis(c - np.inf, 1, 5, **ONE, rng=r), "not finite"),
        (lambda c, r: contingency.log_linear_draws((2, 2), 0, rng=r), "n_draws is 0"),
    ],
)
def test_bad_input(call: Callable[..., object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(np.log(np.full((2, 4), 0.25)), np.random.default_rng(0))
