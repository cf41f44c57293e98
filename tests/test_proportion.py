"""One proportion from a synthetic count: quadrature, closed forms, and the chain against both."""

from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, chi2

from srlib.mechanism import proportion
from srlib.mechanism.bayes import expected_increase, posterior, risk
from srlib.mechanism.core import Mechanism
from srlib.mechanism.families import bernoulli_plugin, beta_binomial
from srlib.mechanism.proportion import Study
from srlib.papers import proportion_chain


def test_count_prior_is_the_beta_binomial() -> None:
    expected = betabinom.logpmf(np.arange(8), 7, 2.0, 0.5)
    np.testing.assert_allclose(
        Study(bernoulli_plugin(7, 1, 1.0), 0.5, (2.0, 0.5)).log_count_prior(), expected
    )
    np.testing.assert_allclose(
        np.exp(Study(bernoulli_plugin(9, 1, 1.0), 0.5).log_count_prior()), 0.1
    )


def test_known_count_is_a_beta_posterior() -> None:
    given = beta(1 + 3, 1 + 7)
    expected = given.var() + (given.mean() - 0.4) ** 2
    assert Study(bernoulli_plugin(10, 1, 1.0), 0.4).squared_error_given_count()[3] == pytest.approx(
        expected
    )


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("family", [bernoulli_plugin, beta_binomial])
def test_utility_against_quadrature(family: type, prior: tuple[float, float]) -> None:
    """p(p | X*) by summing X out of the likelihood at each p, then integrating over p."""
    n, n_s, x, x_star, p0 = 9, 6, 2, 4, 0.3
    table: Mechanism = family(n, n_s, 0.8)
    likelihood = np.exp(table.column(x_star))

    def density(p: float) -> float:
        counts = binom.pmf(np.arange(n + 1), n, p)
        return float(counts @ likelihood) * float(beta.pdf(p, *prior))

    total = quad(density, 0, 1, limit=200)[0]
    released = quad(lambda p: density(p) * (p - p0) ** 2, 0, 1, limit=200)[0] / total
    given = beta(prior[0] + x, prior[1] + n - x)
    expected = np.log10(released / (given.var() + (given.mean() - p0) ** 2))
    assert Study(table, p0, prior).utility(x, x_star) == pytest.approx(expected, abs=1e-6)


def test_utility_of_many_pairs_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(bernoulli_plugin(7, 5, 0.8), 0.3)
    x, x_star = np.arange(8)[:, None], np.arange(6)
    whole = study.utility(x, x_star)
    monkeypatch.setattr(proportion, "BLOCK_ENTRIES", 17)
    in_blocks = study.utility(x, x_star)
    np.testing.assert_allclose(in_blocks, whole, rtol=1e-12)
    assert whole[2, 4] == pytest.approx(study.utility(2, 4))


def test_all_pairs_are_the_enumerated_ones() -> None:
    n, n_s, p0, prior = 6, 5, 0.3, 0.2
    table = bernoulli_plugin(n, n_s, 0.8)
    alternative = np.where(np.arange(n + 1) > 0, np.arange(n + 1) - 1, 1)
    found = Study(table, p0).all_pairs(alternative, prior)
    weight = binom.pmf(np.arange(n + 1), n, p0)[:, None] * np.exp(
        [table.row(x) for x in range(n + 1)]
    )
    np.testing.assert_allclose(found.probability, weight.ravel())
    assert found.probability.sum() == pytest.approx(1)
    expected = [risk(table, x, int(alternative[x]), prior) for x in range(n + 1)]
    np.testing.assert_allclose(found.risk, np.ravel(expected))
    np.testing.assert_array_equal(found.x * (n_s + 1) + found.x_star, np.arange(weight.size))
    increase = expected_increase(table, np.arange(n + 1), alternative, prior, weight.sum(axis=1))
    gained = np.maximum(found.risk - prior, 0) @ found.probability
    assert gained == pytest.approx(increase)
    for name in ("risk", "utility"):
        values = getattr(found, name)
        at = found.quantile(name, 0.3)
        assert found.probability[values <= at].sum() >= 0.3 > found.probability[values < at].sum()
        # Four pairs: the largest stays below with the fourth power of one's probability.
        top, low = found.largest(name, 4, 0.3), found.smallest(name, 4, 0.3)
        cumulative = [found.probability[op].sum() for op in (values <= top, values < top)]
        assert cumulative[0] ** 4 >= 0.3 > cumulative[1] ** 4
        cumulative = [found.probability[op].sum() for op in (values <= low, values < low)]
        assert 1 - (1 - cumulative[0]) ** 4 >= 0.3 > 1 - (1 - cumulative[1]) ** 4
    event = found.x == 2
    assert found.chance(event, 3) == pytest.approx(1 - (1 - binom.pmf(2, n, p0)) ** 3)
    assert found.ranges()["utility_median"] == found.quantile("utility", 0.5)


def test_another_prior_is_bayes_rule_again() -> None:
    table, alternative = bernoulli_plugin(6, 5, 0.8), np.array([1, 0, 1, 2, 3, 4, 5])
    pairs = Study(table, 0.3).all_pairs(alternative, 0.5)
    prior = np.linspace(0, 1, 7)
    at = Study(table, 0.3).all_pairs(alternative, prior[2])
    keep = pairs.x == 2
    np.testing.assert_allclose(pairs.with_prior(prior).risk[keep], at.risk[keep])
    np.testing.assert_allclose(pairs.with_prior(prior[2]).risk, at.risk)
    assert (pairs.with_prior(prior).risk[pairs.x == 0] == 0).all()
    gained = np.maximum(at.risk - prior[2], 0) @ at.probability
    assert pairs.expected_increase(prior[2]) == pytest.approx(gained)


def test_expected_log_gain_against_the_joint_distribution() -> None:
    n, p0, table = 4, 0.3, bernoulli_plugin(4, 3, 0.5)
    of_one = average = 0.0
    for others in range(n):
        given = np.exp([table.row(others), table.row(others + 1)])
        marginal = (1 - p0) * given[0] + p0 * given[1]
        gain = (given * np.log(given / marginal)).sum(axis=1)
        of_one += binom.pmf(others, n - 1, p0) * gain[1]
        average += binom.pmf(others, n - 1, p0) * ((1 - p0) * gain[0] + p0 * gain[1])
    assert Study(table, p0).expected_log_gain() == pytest.approx((of_one, average))
    assert average > 0
    assert Study(table, 1.0).expected_log_gain() == (0.0, 0.0)


def test_averages_along_the_walk_have_the_chains_expectation() -> None:
    study, rng = Study(bernoulli_plugin(30, 20, 0.5), 0.2), np.random.default_rng(8)
    settings: dict = {"burn_in": 20, "n_steps": 500, "rng": rng}
    average, draws = proportion_chain.walk_squared_errors(study, 3, **settings, n_chains=2000)
    by_draws = proportion_chain.chain_squared_errors(study, 3, **settings, n_chains=500).mean(
        axis=1
    )
    moves = proportion_chain.walk(study, 3)
    expected = proportion_chain.expected_average(moves, study.squared_error_given_count(), 20, 520)
    assert draws.shape == (2000, 10)
    assert abs(average.mean() - expected) < 5 * average.std() / np.sqrt(2000)
    assert abs(by_draws.mean() - expected) < 5 * by_draws.std() / np.sqrt(500)
    # What is left out is the noise of p given X.
    assert average.std() < by_draws.std() < 1.5 * average.std()
    one = proportion_chain.one_chain_utilities(study, np.full(4, 6), np.full(4, 3), **settings)
    assert len(set(one)) == 4


def test_drawn_pairs_come_from_all_pairs() -> None:
    study = Study(bernoulli_plugin(6, 5, 0.8), 0.3)
    alternative = np.where(np.arange(7) > 0, np.arange(7) - 1, 1)
    every = study.all_pairs(alternative, 0.2)
    drawn = study.draw_pairs(alternative, 0.2, 4_000, rng=np.random.default_rng(8))
    at = drawn.x * 6 + drawn.x_star
    for name in ("log_ratio", "risk", "utility"):
        np.testing.assert_allclose(getattr(drawn, name), getattr(every, name)[at])
    expected = 4_000 * every.probability
    observed, large = np.bincount(at, minlength=42), expected > 5
    statistic = ((observed - expected) ** 2 / expected)[large].sum()
    assert statistic < chi2.isf(1e-5, large.sum())
    assert drawn.probability.sum() == pytest.approx(1)


def test_expected_utility_is_the_mean_over_releases() -> None:
    table = bernoulli_plugin(6, 5, 0.8)
    by_release = 10 ** Study(table, 0.3).utility(2, np.arange(6))
    expected = np.log10(np.exp(table.row(2)) @ by_release)
    assert Study(table, 0.3).expected_utility(2) == pytest.approx(expected)


def test_squared_errors_along_the_chain() -> None:
    study = Study(bernoulli_plugin(10, 10, 1.0), 0.3)
    p, _ = proportion_chain.sample_proportion(
        study, 3, n_steps=50, n_chains=2, rng=np.random.default_rng(1)
    )
    kept = proportion_chain.chain_squared_errors(
        study, 3, burn_in=20, n_steps=30, n_chains=2, rng=np.random.default_rng(1)
    )
    np.testing.assert_array_equal(kept, (p[:, 20:] - 0.3) ** 2)


def test_utility_by_chain_agrees_with_the_sum_where_the_chain_is_quick() -> None:
    study = Study(bernoulli_plugin(10, 10, 1.0), 0.3)
    settings: dict = {"burn_in": 1_000, "n_steps": 40_000}
    rng = np.random.default_rng(3)
    told = proportion_chain.utility_by_chain(study, 2, 3, n_chains=4, rng=rng, **settings)
    exact = float(study.utility(2, 3))
    assert told["verdict"] == "converged"
    assert abs(told["utility_mcmc"] - exact) < 5 * told["mcse"]
    assert told["utility_lowest"] <= told["utility_one_chain"] <= told["utility_highest"]
    expected = proportion_chain.expected_utility_by_chain(study, 2, 3, **settings)
    assert expected == pytest.approx(exact, abs=1e-6)


def test_a_start_far_away_is_in_the_expectation_and_in_the_chains() -> None:
    """Ten steps of burn-in for a walk of hundreds."""
    study = Study(bernoulli_plugin(300, 300, 0.5), 0.003)
    settings: dict = {"burn_in": 10, "n_steps": 3_000}
    rng = np.random.default_rng(4)
    errors = proportion_chain.chain_squared_errors(study, 1, n_chains=400, rng=rng, **settings)
    ratio = errors.mean(axis=1) / study.squared_error_given_count()[1]
    expected = 10 ** proportion_chain.expected_utility_by_chain(study, 1, 1, **settings)
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    assert abs(ratio.mean() - expected) < 4.5 * error
    assert expected > 10 * 10 ** float(study.utility(1, 1))


@pytest.mark.parametrize("n", [1, 2, 12])
def test_walk_leaves_the_exact_posterior_unchanged(n: int) -> None:
    """Detailed balance, move by move."""
    study = Study(bernoulli_plugin(n, 8, 0.7), 0.5, (0.8, 1.5))
    exact = np.exp(posterior(study.mechanism.column(3) + study.log_count_prior()))
    moves = proportion_chain.walk(study, 3)
    np.testing.assert_allclose(exact[:-1] * moves[:-1, 1], exact[1:] * moves[1:, 0], rtol=1e-9)
    assert moves[0, 0] == moves[-1, 1] == 0
    assert ((moves.sum(axis=1) > 0) & (moves.sum(axis=1) <= 1)).all()


def test_walk_against_quadrature() -> None:
    n, a, b = 9, 0.8, 1.5
    table = bernoulli_plugin(n, 8, 0.7)
    moves = proportion_chain.walk(Study(table, 0.5, (a, b)), 3)
    log_likelihood, log_choose = table.column(3), np.log([comb(n, x) for x in range(n + 1)])
    for x in range(n):
        inwards = 1.0 if x == 0 else 0.5
        back = 1.0 if x == n - 1 else 0.5
        gain = log_likelihood[x + 1] - log_likelihood[x] + log_choose[x + 1] - log_choose[x]
        factor = np.exp(gain) * back / inwards

        def accepted(p: float, factor: float = factor, x: int = x) -> float:
            return float(min(1.0, factor * p / (1 - p)) * beta.pdf(p, x + a, n - x + b))

        kink = 1 / (1 + factor)
        expected = inwards * quad(accepted, 0, 1, points=[kink], limit=300)[0]
        assert moves[x, 1] == pytest.approx(expected, rel=1e-7)


def test_walk_is_what_the_simulated_chain_does() -> None:
    n = 12
    study = Study(bernoulli_plugin(n, 8, 0.7), 0.5, (0.8, 1.5))
    moves = proportion_chain.walk(study, 3)
    rng = np.random.default_rng(2)
    _, (x,) = proportion_chain.sample_proportion(study, 3, n_steps=200_000, n_chains=1, rng=rng)
    for count in range(n + 1):
        at = np.flatnonzero(x[:-1] == count)
        for side, step in enumerate((-1, 1)):
            went, p = (x[at + 1] == count + step).sum(), moves[count, side]
            assert abs(went - len(at) * p) <= 5 * np.sqrt(len(at) * p * (1 - p) + 1)


def test_relaxation_and_transient_against_the_matrix() -> None:
    n = 7
    moves = proportion_chain.walk(Study(bernoulli_plugin(n, 8, 0.7), 0.5), 3)
    matrix = np.diag(1 - moves.sum(axis=1)) + np.diag(moves[:-1, 1], 1) + np.diag(moves[1:, 0], -1)
    second = np.sort(np.linalg.eigvals(matrix).real)[-2]
    assert proportion_chain.relaxation_time(moves) == pytest.approx(1 / (1 - second))
    values = np.linspace(0, 1, n + 1) ** 2
    distribution, kept = np.full(n + 1, 1 / (n + 1)), []
    for step in range(30):
        distribution = distribution @ matrix
        kept += [distribution @ values] * (step >= 10)
    assert proportion_chain.expected_average(moves, values, 10, 30) == pytest.approx(np.mean(kept))


def test_a_proposal_that_cannot_return_is_never_accepted() -> None:
    """Read literally, Appendix B proposes nothing from X = 1: the counts fall apart."""
    proposal = proportion_chain.one_step_proposal(10)
    proposal[1] = 0
    moves = proportion_chain.walk(Study(bernoulli_plugin(10, 8, 0.7), 0.5), 3, proposal=proposal)
    assert moves[0, 1] == moves[1].sum() == moves[2, 0] == 0
    assert proportion_chain.relaxation_time(moves) == np.inf


@pytest.mark.parametrize("n", [1, 2, 12])
def test_the_chain_has_the_exact_posterior(n: int) -> None:
    """Ends included: n = 1 steps from end to end, n = 2 has a single inner count."""
    prior = (0.8, 1.5)
    study, rng = Study(bernoulli_plugin(n, 8, 0.7), 0.5, prior), np.random.default_rng(5)
    p, x = proportion_chain.sample_proportion(study, 3, n_steps=60_000, n_chains=4, rng=rng)
    exact = np.exp(posterior(study.mechanism.column(3) + study.log_count_prior()))
    # Every 60th step is close to independent at these sizes.
    kept = x[:, 1_000::60].ravel()
    observed = np.bincount(kept, minlength=n + 1)
    expected = exact * len(kept)
    large = expected > 5
    statistic = ((observed - expected) ** 2 / expected)[large].sum()
    assert statistic < chi2.isf(1e-5, max(large.sum() - 1, 1))
    mean = (np.arange(n + 1) + prior[0]) / (n + sum(prior))
    batches = p[:, 1_000:].reshape(4 * 59, -1).mean(axis=1)
    error = batches.std(ddof=1) / np.sqrt(len(batches))
    assert abs(batches.mean() - exact @ mean) < 4.5 * error


def test_chains_are_reproducible_and_different() -> None:
    study = Study(bernoulli_plugin(10, 10, 1.0), 0.5)
    one, _ = proportion_chain.sample_proportion(
        study, 3, n_steps=50, n_chains=3, rng=np.random.default_rng(1)
    )
    two, _ = proportion_chain.sample_proportion(
        study, 3, n_steps=50, n_chains=3, rng=np.random.default_rng(1)
    )
    np.testing.assert_array_equal(one, two)
    assert len(np.unique(one[:, -1])) == 3


def test_bad_input() -> None:
    table = bernoulli_plugin(10, 10, 1.0)
    study, rng = Study(table, 0.5), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"p0 is 1\.5; it must lie in"):
        Study(table, 1.5)
    with pytest.raises(ValueError, match="n_steps is 0"):
        proportion_chain.sample_proportion(study, 3, n_steps=0, n_chains=1, rng=rng)
    with pytest.raises(ValueError, match="x_star is 11; it must lie in 0 to 10"):
        proportion_chain.sample_proportion(study, 11, n_steps=1, n_chains=1, rng=rng)
    with pytest.raises(ValueError, match="x_star is 11; it must lie in 0 to 10"):
        study.utility(3, [2, 11])
    with pytest.raises(ValueError, match=r"prior is \(0, 1\); it must be positive"):
        Study(table, 0.5, prior=(0, 1))
    with pytest.raises(ValueError, match="size is 0"):
        study.draw_pairs(np.arange(11), 0.5, 0, rng=rng)
    with pytest.raises(ValueError, match=r"prior is 1\.5"):
        study.all_pairs(np.arange(11), 1.5)
    with pytest.raises(ValueError, match="burn_in is 5 and n_steps is 5"):
        proportion_chain.expected_average(proportion_chain.walk(study, 3), np.ones(11), 5, 5)
