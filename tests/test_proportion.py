"""One proportion from a synthetic count: quadrature, closed forms, and the chain against both."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, chi2

from srlib import proportion
from srlib.mechanism import Mechanism, posterior
from srlib.synthesizers import bernoulli_plugin, beta_binomial


def test_count_prior_is_the_beta_binomial() -> None:
    expected = betabinom.logpmf(np.arange(8), 7, 2.0, 0.5)
    np.testing.assert_allclose(proportion.log_count_prior(7, (2.0, 0.5)), expected)
    np.testing.assert_allclose(np.exp(proportion.log_count_prior(9)), 0.1)


def test_known_count_is_a_beta_posterior() -> None:
    weights = np.where(np.arange(11) == 3, 0.0, -np.inf)
    given = beta(1 + 3, 1 + 7)
    expected = given.var() + (given.mean() - 0.4) ** 2
    assert proportion.expected_squared_error(weights, 0.4) == pytest.approx(expected)


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
    assert proportion.utility(table, x, x_star, p0, prior) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 12])
def test_the_chain_has_the_exact_posterior(n: int) -> None:
    """Ends included: n = 1 steps from end to end, n = 2 has a single inner count."""
    table = bernoulli_plugin(n, 8, 0.7)
    prior = (0.8, 1.5)
    rng = np.random.default_rng(5)
    p, x = proportion.sample_proportion(table, 3, n_steps=60_000, n_chains=4, rng=rng, prior=prior)
    exact = np.exp(posterior(table.column(3) + proportion.log_count_prior(n, prior)))
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
    table = bernoulli_plugin(10, 10, 1.0)
    one, _ = proportion.sample_proportion(
        table, 3, n_steps=50, n_chains=3, rng=np.random.default_rng(1)
    )
    two, _ = proportion.sample_proportion(
        table, 3, n_steps=50, n_chains=3, rng=np.random.default_rng(1)
    )
    np.testing.assert_array_equal(one, two)
    assert len(np.unique(one[:, -1])) == 3


def test_bad_input() -> None:
    table = bernoulli_plugin(10, 10, 1.0)
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"p0 is 1\.5; it must lie in"):
        proportion.utility(table, 3, 3, 1.5)
    with pytest.raises(ValueError, match="n_steps is 0"):
        proportion.sample_proportion(table, 3, n_steps=0, n_chains=1, rng=rng)
    with pytest.raises(ValueError, match="x_star is 11; it must lie in 0 to 10"):
        proportion.sample_proportion(table, 11, n_steps=1, n_chains=1, rng=rng)
