"""EDP: exact by definition, simulated against plain draws, and reweighted."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from numpy.testing import assert_allclose
from refusals import refusals, value_error
from scipy import stats
from scipy.signal import lfilter

from srlib.mechanism import edp
from srlib.mechanism.edp import (
    RAW,
    SMOOTHED,
    beta_neighbors,
    beta_posterior,
    equal_probability_edges,
    estimate_from_counts,
    from_draws,
    from_posterior,
    log_bin_probabilities,
    normal_posterior,
    simulate_counts,
)

DEVIATION = np.sqrt(5)
Y = default_rng(3).normal(10, DEVIATION, 40)
POSTERIOR = normal_posterior(Y)
WITHOUT = [np.delete(Y, i) for i in range(len(Y))]
REMOVED = [normal_posterior(y) for y in WITHOUT]
REPLACED = [normal_posterior(np.append(y, 16.0)) for y in WITHOUT]
ADDED = [normal_posterior(np.append(Y, 16.0))]


beta = partial(beta_posterior, alpha=0.5)


def log_density(y, theta):
    return stats.norm.logpdf(y, theta[..., None], DEVIATION)


def normal_sample(n_draws=5_000):
    """Draws of four chains, (4, n_draws), and their log likelihoods."""
    rng = default_rng(4)
    theta = POSTERIOR.rvs((4, n_draws), random_state=rng)
    return theta, log_density(Y, theta)


def test_exact_by_the_definition_in_the_paper():
    """Equation 2 with bin probabilities as differences of distribution functions."""
    posterior = beta(2, 5)
    neighbors = [beta(1, 5), beta(3, 5)]
    edges = posterior.ppf(np.arange(1, 10) / 10)
    below = [neighbor.cdf(edges) for neighbor in neighbors]
    shares = np.diff(below, prepend=0, append=1)
    losses = np.abs(np.log(10 * shares))

    exact = edp.exact(posterior, neighbors, 10)

    assert_allclose(exact.by_neighbor, losses.max(axis=1))
    assert_allclose(exact.value, losses.max())
    assert losses[exact.neighbor, exact.bin] == losses.max()


@pytest.mark.parametrize(
    ("shift", "far_bin"),
    [
        (-30.0, -1),
        (30.0, 0),
    ],
)
def test_far_tails_keep_their_digits(shift, far_bin):
    edges = equal_probability_edges(stats.norm(), 4)
    log_prob = log_bin_probabilities(stats.norm(shift), edges)
    quartile = stats.norm.ppf(0.75)
    expected = stats.norm.logcdf(-30 - quartile)
    assert_allclose(log_prob[far_bin], expected, rtol=1e-9)


def test_the_normal_prior_is_the_papers():
    prior = normal_posterior(Y[:0])
    assert_allclose(prior.stats(), (10, 3))


def test_a_bounded_density_ratio_is_the_limit_of_many_bins():
    """A normal mean in (-1, 2): the posteriors' log ratio is largest at an end."""
    posterior = stats.truncnorm(-1, 2)
    neighbor = stats.truncnorm(-1.3, 1.7, loc=0.3)
    ends = [-1, 2]
    log_ratio = neighbor.logpdf(ends) - posterior.logpdf(ends)
    limit = np.abs(log_ratio).max()

    by_bins = [edp.exact(posterior, [neighbor], b).value for b in (10, 100, 1000)]

    assert by_bins == sorted(by_bins)
    assert by_bins[-1] < limit < by_bins[-1] + 0.01


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("replace", 6.79),
        ("remove", 0.44),
        ("add", 6.51),
    ],
)
def test_neighbors_of_a_proportion(change, expected):
    """Five zeros: Table 2 of Charest and Han for a changed record, the rest by hand."""
    neighbors = beta_neighbors(0, 5, 0.5, change)
    exact = edp.exact(beta(0, 5), neighbors, 20)
    assert round(exact.value, 2) == expected


def test_simulated_counts_have_the_distribution_of_counted_draws():
    """Mean and spread of each count, by both routes."""
    rng = default_rng(5)
    posterior = beta(0, 5)
    neighbors = [beta(1, 5), beta(0, 4)]

    simulated = simulate_counts(
        posterior,
        neighbors,
        bins=5,
        draws=200,
        size=4_000,
        rng=rng,
    )

    counted = np.empty_like(simulated)
    for replicate in counted:
        draws = posterior.rvs(200, random_state=rng)
        edges = np.sort(draws)[[39, 79, 119, 159]]
        for i, neighbor in enumerate(neighbors):
            neighbor_draws = neighbor.rvs(200, random_state=rng)
            bins = np.searchsorted(edges, neighbor_draws)
            replicate[i] = np.bincount(bins, minlength=5)
    assert (simulated.sum(axis=-1) == 200).all()
    error = np.sqrt(2 * simulated.var(axis=0) / 4_000)
    for moment in (np.mean, np.std):
        difference = moment(simulated, axis=0) - moment(counted, axis=0)
        assert (np.abs(difference) < 5 * error + 1e-9).all()


@pytest.mark.parametrize(
    ("pseudocount", "least_share"),
    [
        (1.0, 1 / 13),
        (0.01, 0.01 / 10.03),
    ],
)
def test_estimates_from_counts_by_hand(pseudocount, least_share):
    counts = [[6, 4, 0], [3, 3, 4]]
    estimate = estimate_from_counts(np.array(counts), pseudocount)
    assert_allclose(estimate, -np.log(3 * least_share))


@pytest.mark.parametrize("bins", [5, 20, 100])
def test_one_sample_gives_what_refits_would(bins):
    theta, log_likelihood = normal_sample()
    exact = edp.exact(POSTERIOR, REMOVED, bins)

    estimate = from_draws(theta, -log_likelihood, bins)

    assert exact.neighbor in (Y.argmin(), Y.argmax())  # an extreme record
    assert abs(estimate.value - exact.value) < 4.5 * estimate.mcse
    assert abs(estimate.value / exact.value - 1) < 0.06
    assert estimate.neighbor == exact.neighbor
    assert set(estimate.method) <= {RAW, SMOOTHED}
    assert_allclose(estimate.by_neighbor, exact.by_neighbor, rtol=0, atol=0.1)


def autocorrelated_estimate(seed):
    """EDP from draws that depend on each other, as those of a chain."""
    rng = default_rng(seed)
    steps = rng.normal(size=(4, 1_100))
    chains = lfilter([0.6], [1, -0.8], steps)
    settled = chains[:, 100:]
    theta = POSTERIOR.mean() + POSTERIOR.std() * settled
    return from_draws(theta, -log_density(Y, theta), 10)


def test_standard_error_is_the_spread_of_repeated_samples():
    estimates = [autocorrelated_estimate(seed) for seed in range(40)]
    values = [estimate.value for estimate in estimates]
    variances = [estimate.mcse**2 for estimate in estimates]
    stated = np.sqrt(np.mean(variances))
    assert 0.65 < stated / np.std(values, ddof=1) < 1.5


@pytest.mark.parametrize(
    ("change", "neighbors", "slack"),
    [
        ("add", ADDED, 0.0),
        ("replace", REPLACED, 0.03),
    ],
)
def test_records_added_and_changed(change, neighbors, slack):
    theta, log_likelihood = normal_sample()
    new = log_density(np.full(len(neighbors), 16.0), theta)
    tree = {
        "posterior": {"mu": theta},
        "log_likelihood": {"y": log_likelihood},
    }
    exact = edp.exact(POSTERIOR, neighbors, 10)

    estimates = from_posterior(
        tree,
        "mu",
        bins=10,
        neighbors=change,
        new_log_likelihood=new,
    )

    estimate = estimates["mu"]
    assert abs(estimate.value - exact.value) < 4.5 * estimate.mcse + slack


def test_each_entry_of_a_vector_in_a_tree_has_its_edp():
    theta, log_likelihood = normal_sample(500)
    transformed = np.exp(theta / 10)
    vector = np.stack([theta, transformed], axis=-1)
    pointwise = log_likelihood.reshape(4, 500, 8, 5)
    axes = ["chain", "draw"]
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"b": ([*axes, "k"], vector)}),
            "log_likelihood": xr.Dataset({"y": ([*axes, "i", "j"], pointwise)}),
        }
    )
    direct = from_draws(theta, -log_likelihood, 10)

    estimates = from_posterior(tree, "b", 10)

    # Bins and weights do not change under a monotone transformation.
    assert list(estimates) == ["b[0]", "b[1]"]
    for estimate in estimates.values():
        assert_allclose(estimate.by_neighbor, direct.by_neighbor)


def test_weights_in_blocks_give_the_same(monkeypatch):
    theta, log_likelihood = normal_sample(500)
    log_weights = -log_likelihood
    direct = from_draws(theta, log_weights, 10)

    monkeypatch.setattr(edp, "BLOCK_ENTRIES", 2000 * 7)
    blocks = from_draws(theta, lambda s: log_weights[..., s], 10, n_neighbors=40)

    assert_allclose(blocks.by_neighbor, direct.by_neighbor)
    assert blocks.mcse == direct.mcse  # of the same neighbor and bin


def test_bins_that_draws_do_not_fill_equally_add_nothing():
    """A hundred draws in seven bins."""
    assert_allclose(from_draws(GOOD, WEIGHTS, 7).value, 0, atol=1e-12)


def test_records_that_need_a_refit_are_named_and_refitted():
    """A record far out: without it the posterior lies where the draws hardly go."""
    data = np.append(Y[:10], 60.0)
    posterior = normal_posterior(data)
    without = normal_posterior(data[:10])
    shape = (4, 1_000)
    theta = posterior.rvs(shape, random_state=default_rng(6))
    fresh = without.rvs(shape, random_state=default_rng(7))
    log_weights = -log_density(data, theta)
    exact = edp.exact(posterior, [without], 10)
    refit = Mock(return_value=fresh)

    reweighted = from_draws(theta, log_weights, 10)
    estimate = from_draws(theta, log_weights, 10, refit=refit)

    assert reweighted.refit_needed.tolist() == [10]
    refit.assert_called_once_with(10)
    assert estimate.refit_needed.size == 0
    assert estimate.method[10] == "refit"
    assert_allclose(estimate.by_neighbor[10], exact.value, rtol=0.25)
    with value_error("a bin must have 25"):
        from_draws(theta, log_weights, 10, refit=lambda i: fresh[0, :3])


def test_bins_with_few_draws_of_a_refit_keep_the_proportions_of_the_weights():
    log_weighted = np.log([0.1, 0.2, 0.3, 0.4])
    edges = np.arange(1.0, 4.0)
    draws = np.repeat([0.5, 1.5, 2.5], [40, 60, 20])  # too few for the third bin
    by_hand = np.array([40, 60, 100, 100 * 0.4 / 0.3])
    log_prob = edp._refitted(log_weighted, draws, edges)
    assert_allclose(np.exp(log_prob), by_hand / by_hand.sum())


GOOD = default_rng(8).normal(size=(2, 50))
WEIGHTS = np.zeros((2, 50, 3))
ONE_COUNT = np.ones((1, 1, 2), int)
PARTLY_NAN = np.where([False, True, False], np.nan, WEIGHTS)
POSTERIOR_ONLY = {"posterior": {"mu": GOOD}}
TREE = POSTERIOR_ONLY | {"log_likelihood": {"y": WEIGHTS}}
AMBIGUOUS = POSTERIOR_ONLY | {"log_likelihood": {"y": WEIGHTS, "z": WEIGHTS}}


test_bad_input = refusals(
    {
        "bins is 1": lambda: from_draws(GOOD, WEIGHTS, 1),
        "bins is 101": lambda: from_draws(GOOD, WEIGHTS, 101),
        "theta has the same value": lambda: from_draws(np.ones((2, 50)), WEIGHTS, 5),
        "finite": lambda: from_draws(GOOD * np.nan, WEIGHTS, 5),
        "80 draws; it must have 100": lambda: from_draws(GOOD, WEIGHTS[:, :40], 5),
        "not finite for neighbors 1$": lambda: from_draws(GOOD, PARTLY_NAN, 5),
        "n_neighbors is None": lambda: from_draws(GOOD, lambda _: WEIGHTS, 5),
        "no group 'log_lik": lambda: from_posterior(POSTERIOR_ONLY, "mu", 5),
        r"no variable 'nu' \(it has: mu\)": lambda: from_posterior(TREE, "nu", 5),
        "neighbors is 'swap'": lambda: from_posterior(TREE, "mu", 5, "swap"),
        "new_log_likelihood must be given": lambda: from_posterior(
            TREE, "mu", 5, "add"
        ),
        "has 2 records; the data have 3": lambda: from_posterior(
            TREE, "mu", 5, "replace", new_log_likelihood=WEIGHTS[..., :2]
        ),
        "must name one of the variables": lambda: from_posterior(AMBIGUOUS, "mu", 5),
        "neighbors is empty": lambda: edp.exact(stats.norm(), [], 5),
        "multiple of bins = 3": lambda: simulate_counts(
            stats.norm(), [], 3, 10, 1, rng=default_rng(0)
        ),
        "pseudocount is 0.0": lambda: estimate_from_counts(ONE_COUNT, 0.0),
    }
)
