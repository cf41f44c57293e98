"""EDP: exact by definition, simulated against plain draws, and reweighted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import stats
from scipy.signal import lfilter

from srlib.mechanism import edp
from srlib.mechanism.core import Mechanism
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
from srlib.mechanism.privacy import conditional_epsilon


def beta(x: int, n: int) -> Any:
    return beta_posterior(x, n, 0.5)


Y = np.random.default_rng(3).normal(10, np.sqrt(5), 40)
WITHOUT = [normal_posterior(np.delete(Y, i)) for i in range(len(Y))]


POSTERIOR = normal_posterior(Y)


def log_density(y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return stats.norm.logpdf(y, theta[..., None], np.sqrt(5))


def normal_sample(seed: int = 4, draws: int = 5_000) -> tuple[np.ndarray, np.ndarray]:
    theta = POSTERIOR.rvs((4, draws), random_state=np.random.default_rng(seed))
    return theta, log_density(Y, theta)


def test_exact_by_the_definition_in_the_paper() -> None:
    """Equation 2 with bin probabilities as differences of distribution functions."""
    edges = beta(2, 5).ppf(np.arange(1, 10) / 10)
    neighbors = [beta(1, 5), beta(3, 5)]
    shares = [np.diff(d.cdf(edges), prepend=0, append=1) for d in neighbors]
    log_ratios = np.abs(np.log(10 * np.array(shares)))

    found = edp.exact(beta(2, 5), neighbors, 10)

    assert found.value == pytest.approx(log_ratios.max())
    assert_allclose(found.by_neighbor, log_ratios.max(axis=1))
    assert (found.neighbor, found.bin) == divmod(int(log_ratios.argmax()), 10)


def test_it_is_the_conditional_epsilon_of_releasing_a_bin() -> None:
    edges = equal_probability_edges(beta(2, 5), 7)
    log_prob = np.array(
        [
            np.full(7, -np.log(7)),
            *(log_bin_probabilities(beta(x, 5), edges) for x in (1, 3)),
        ]
    )
    mechanism = Mechanism.from_table(log_prob, np.array([[0, 1], [0, 2]]))
    found = edp.exact(beta(2, 5), [beta(1, 5), beta(3, 5)], 7)
    assert found.value == pytest.approx(conditional_epsilon(mechanism)[0], rel=1e-14)


def test_far_tails_keep_their_digits() -> None:
    edges = equal_probability_edges(stats.norm(), 4)
    for shift in (-30.0, 30.0):
        log_prob = log_bin_probabilities(stats.norm(shift), edges)
        expected = stats.norm.logcdf(-30 - stats.norm.ppf(0.75))
        far = log_prob[-1] if shift < 0 else log_prob[0]
        assert far == pytest.approx(expected, rel=1e-9)


def test_the_extreme_records_attain_it_in_the_normal_model() -> None:
    prior = normal_posterior(Y[:0])
    assert (prior.mean(), prior.var()) == pytest.approx((10, 3))
    for bins in (5, 20, 100):
        everyone = edp.exact(POSTERIOR, WITHOUT, bins)
        assert everyone.neighbor in (Y.argmin(), Y.argmax())


def test_where_the_density_ratio_is_bounded_it_is_the_limit() -> None:
    """A normal mean in (-1, 2): the posteriors' log ratio is largest at an end."""
    here, there = (
        stats.truncnorm(-1 - shift, 2 - shift, loc=shift) for shift in (0.0, 0.3)
    )
    limit = np.abs(there.logpdf([-1, 2]) - here.logpdf([-1, 2])).max()
    found = [edp.exact(here, [there], bins).value for bins in (10, 100, 1000)]
    assert found == sorted(found)
    assert found[-1] < limit < found[-1] + 0.01


@pytest.mark.parametrize(
    ("kind", "level"), [("replace", 6.79), ("remove", 0.44), ("add", 6.51)]
)
def test_neighbors_of_a_proportion(kind: str, level: float) -> None:
    """Five zeros: Table 2 of Charest and Han for a changed record, the rest by hand."""
    found = edp.exact(
        beta_posterior(0, 5, 0.5), beta_neighbors(0, 5, 0.5, kind), 20
    ).value
    assert round(found, 2) == level


def test_simulated_counts_have_the_distribution_of_counted_draws() -> None:
    """Mean and spread of the estimate, by both routes."""
    rng = np.random.default_rng(5)
    posterior = beta(0, 5)
    neighbors = [beta(1, 5), beta(0, 4)]
    simulated = simulate_counts(posterior, neighbors, 5, 200, 4_000, rng=rng)
    counted = np.empty_like(simulated)
    for replicate in counted:
        draws = np.sort(posterior.rvs(200, random_state=rng))
        edges = draws[np.arange(1, 5) * 40 - 1]
        for i, neighbor in enumerate(neighbors):
            bins = np.searchsorted(edges, neighbor.rvs(200, random_state=rng))
            replicate[i] = np.bincount(bins, minlength=5)

    assert (simulated.sum(axis=-1) == 200).all()
    error = np.sqrt(2 * simulated.var(axis=0) / 4_000)
    for moment in (np.mean, np.std):
        difference = moment(simulated, axis=0) - moment(counted, axis=0)
        assert (np.abs(difference) < 5 * error + 1e-9).all()


def test_estimates_from_counts_by_hand() -> None:
    counts = np.array([[6, 4, 0], [3, 3, 4]])
    expected = pytest.approx(-np.log(3 * 1 / 13))
    assert estimate_from_counts(counts, 1.0) == expected
    expected = pytest.approx(-np.log(3 * 0.01 / 10.03))
    assert estimate_from_counts(counts, 0.01) == expected


@pytest.mark.parametrize("bins", [5, 20, 100])
def test_one_sample_gives_what_refits_would(bins: int) -> None:
    theta, log_likelihood = normal_sample()
    found = from_draws(theta, -log_likelihood, bins)
    exact = edp.exact(POSTERIOR, WITHOUT, bins)
    assert abs(found.value - exact.value) < 4.5 * found.mcse
    assert abs(found.value / exact.value - 1) < 0.06
    assert found.neighbor == exact.neighbor
    assert set(found.method) <= {RAW, SMOOTHED}
    assert np.abs(found.by_neighbor - exact.by_neighbor).max() < 0.1


def test_error_is_that_of_repeated_samples() -> None:
    found = [from_draws(*_deleted(seed), 10) for seed in range(40)]
    spread = np.std([f.value for f in found], ddof=1)
    stated = np.sqrt(np.mean([f.mcse**2 for f in found]))
    assert 0.65 < stated / spread < 1.5


def _deleted(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Autocorrelated draws, as those of a chain, and the weights of deletion."""
    steps = np.random.default_rng(seed).normal(size=(4, 1_100))
    chains = lfilter([0.6], [1, -0.8], steps)[:, 100:]
    theta = POSTERIOR.mean() + POSTERIOR.std() * chains
    return theta, -log_density(Y, theta)


@pytest.mark.parametrize(
    ("change", "n_new", "neighbors", "slack"),
    [
        ("add", 1, [np.append(Y, 16.0)], 0.0),
        ("replace", 40, [np.append(np.delete(Y, i), 16.0) for i in range(40)], 0.03),
    ],
)
def test_records_added_and_changed(
    change: str, n_new: int, neighbors: list[np.ndarray], slack: float
) -> None:
    theta, log_likelihood = normal_sample()
    new = log_density(np.full(n_new, 16.0), theta)
    tree = {"posterior": {"mu": theta}, "log_likelihood": {"y": log_likelihood}}
    posteriors = [normal_posterior(y) for y in neighbors]

    found = from_posterior(tree, "mu", 10, change, new_log_likelihood=new)["mu"]

    exact = edp.exact(POSTERIOR, posteriors, 10)
    assert abs(found.value - exact.value) < 4.5 * found.mcse + slack


def test_trees_vectors_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    theta, log_likelihood = normal_sample(draws=500)
    both = np.stack([theta, np.exp(theta / 10)], axis=-1)
    names, pointwise = ["chain", "draw"], log_likelihood.reshape(4, 500, 8, 5)
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"b": ([*names, "k"], both)}),
            "log_likelihood": xr.Dataset({"y": ([*names, "i", "j"], pointwise)}),
        }
    )
    found = from_posterior(tree, "b", 10)
    assert list(found) == ["b[0]", "b[1]"]
    direct = from_draws(theta, -log_likelihood, 10)
    assert_allclose(found["b[0]"].by_neighbor, direct.by_neighbor)
    # Bins and weights do not change under a monotone transformation.
    assert_allclose(found["b[1]"].by_neighbor, direct.by_neighbor)
    monkeypatch.setattr(edp, "BLOCK_ENTRIES", 2000 * 7)
    blocks = from_draws(theta, lambda s: -log_likelihood[..., s], 10, n_neighbors=40)
    assert_allclose(blocks.by_neighbor, direct.by_neighbor)
    assert (blocks.neighbor, blocks.bin, blocks.mcse) == (
        direct.neighbor,
        direct.bin,
        direct.mcse,
    )
    # A hundred draws do not fill seven bins equally.
    assert from_draws(GOOD, WEIGHTS, 7).value == pytest.approx(0, abs=1e-12)


def test_records_that_need_a_refit_are_named_and_refitted() -> None:
    """A record far out: without it the posterior lies where the draws hardly go."""
    data = np.append(Y[:10], 60.0)
    posterior = normal_posterior(data)
    without = normal_posterior(data[:10])
    theta = posterior.rvs((4, 1_000), random_state=np.random.default_rng(6))
    fresh = without.rvs((4, 1_000), random_state=np.random.default_rng(7))
    log_weights = -log_density(data, theta)
    refitted: list[int] = []

    def refit(i: int) -> np.ndarray:
        refitted.append(i)
        return fresh

    assert from_draws(theta, log_weights, 10).refit_needed.tolist() == [10]
    found = from_draws(theta, log_weights, 10, refit=refit)

    assert refitted == [10]
    assert found.refit_needed.size == 0
    assert found.method[10] == "refit"
    exact = edp.exact(posterior, [without], 10).value
    assert found.by_neighbor[10] == pytest.approx(exact, rel=0.25)
    with pytest.raises(ValueError, match="a bin must have 25"):
        from_draws(theta, log_weights, 10, refit=lambda i: fresh[0, :3])


def test_bins_with_few_draws_of_a_refit_keep_the_proportions_of_the_weights() -> None:
    weighted = np.array([0.1, 0.2, 0.3, 0.4])
    draws = np.repeat([0.5, 1.5, 2.5], [40, 60, 20])  # too few for the third bin
    by_hand = np.array([40, 60, 100 * 0.3 / 0.3, 100 * 0.4 / 0.3])
    log_prob = edp._refitted(np.log(weighted), draws, np.arange(1.0, 4.0))
    assert_allclose(np.exp(log_prob), by_hand / by_hand.sum())


RNG = np.random.default_rng(0)
GOOD = np.random.default_rng(8).normal(size=(2, 50))
WEIGHTS = np.zeros((2, 50, 3))
TREE = {"posterior": {"mu": GOOD}, "log_likelihood": {"y": WEIGHTS}}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_draws(GOOD, WEIGHTS, 1), "bins is 1"),
        (lambda: from_draws(GOOD, WEIGHTS, 101), "bins is 101"),
        (
            lambda: from_draws(np.ones((2, 50)), WEIGHTS, 5),
            "theta has the same value",
        ),
        (lambda: from_draws(GOOD * np.nan, WEIGHTS, 5), "finite"),
        (
            lambda: from_draws(GOOD, WEIGHTS[:, :40], 5),
            "has 80 draws; it must have 100",
        ),
        (
            lambda: from_draws(GOOD, np.where(np.arange(3) == 1, np.nan, WEIGHTS), 5),
            "not finite for neighbors 1$",
        ),
        (
            lambda: from_draws(GOOD, lambda s: WEIGHTS[..., s], 5),
            "n_neighbors is None",
        ),
        (
            lambda: from_posterior({"posterior": {"mu": GOOD}}, "mu", 5),
            "no group 'log_lik",
        ),
        (lambda: from_posterior(TREE, "nu", 5), r"no variable 'nu' \(it has: mu\)"),
        (lambda: from_posterior(TREE, "mu", 5, "swap"), "neighbors is 'swap'"),
        (
            lambda: from_posterior(TREE, "mu", 5, "add"),
            "new_log_likelihood must be given",
        ),
        (
            lambda: from_posterior(
                TREE, "mu", 5, "replace", new_log_likelihood=WEIGHTS[..., :2]
            ),
            "new_log_likelihood has 2 records; the data have 3",
        ),
        (
            lambda: from_posterior(
                {**TREE, "log_likelihood": {"y": WEIGHTS, "z": WEIGHTS}}, "mu", 5
            ),
            "must name one of the variables",
        ),
        (lambda: edp.exact(stats.norm(), [], 5), "neighbors is empty"),
        (
            lambda: simulate_counts(stats.norm(), [], 3, 10, 1, rng=RNG),
            "multiple of bins = 3",
        ),
        (
            lambda: estimate_from_counts(np.ones((1, 1, 2), int), 0.0),
            "pseudocount is 0.0",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
