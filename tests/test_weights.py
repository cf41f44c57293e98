"""Records that count less in a fit."""

from itertools import product

import numpy as np
import pytest
from enumeration import all_cells, log_allocation_prior
from numpy.typing import NDArray
from scipy.special import betaln

from srlib.dpmpm import Chains, Prior, cell_log_prob, sample_posterior

LEVELS = np.array([2, 2])
FEW = Chains(n_classes=2, burn_in=100, n_draws=3_000, n_chains=2, prior=Prior(2.0, 2.0, 0.7))


# ------------------------------------------------------------------------- weights in the mixture


def predictive(codes: NDArray[np.integer], weights: NDArray[np.floating], prior: Prior) -> NDArray:
    """E p(x | pi, phi) of each cell under the pseudo-posterior, over all allocations."""
    cells, a = all_cells(LEVELS), prior.concentration
    total, means = 0.0, np.zeros(len(cells))
    for allocation in product(range(2), repeat=len(codes)):
        eta = np.array(allocation)
        sizes = (int((eta == 0).sum()), int((eta == 1).sum()))
        log_term = log_allocation_prior(sizes, prior)
        counts = np.zeros((2, 2, 2))  # class, variable, level
        for i, k in product(range(len(codes)), range(2)):
            counts[eta[i], k, codes[i, k]] += weights[i]
        log_term += (betaln(*np.moveaxis(a + counts, 2, 0)) - betaln(a, a)).sum()
        shares = (a + counts) / (2 * a + counts.sum(axis=2, keepdims=True))
        term = np.exp(log_term)
        total += term
        for f in range(2):
            more = (sizes[0] + (f == 0), sizes[1] + (f == 1))
            of_class = np.exp(
                log_allocation_prior(more, prior) - log_allocation_prior(sizes, prior)
            )
            means += term * of_class * shares[f, 0, cells[:, 0]] * shares[f, 1, cells[:, 1]]
    return means / total


CODES = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [0, 1]], np.uint8)


@pytest.mark.parametrize("weights", [[1, 1, 1, 1, 0.5, 0.3], [0.2, 0.9, 0.4, 0.6, 0.7, 0.5]])
def test_weighted_draws_are_from_the_pseudo_posterior(weights: list[float]) -> None:
    """Against the sum over all allocations, with some records weighted and with all."""
    w = np.array(weights)
    draws = sample_posterior(CODES, LEVELS, FEW, weights=w, rng=np.random.default_rng(4))
    found = np.exp(cell_log_prob(draws, all_cells(LEVELS))).reshape(100, -1, 4).mean(axis=1)
    error = found.std(axis=0, ddof=1) / 10
    expected = predictive(CODES, w, FEW.prior)
    assert np.abs((found.mean(axis=0) - expected) / error).max() < 4.5
    plain = predictive(CODES, np.ones(6), FEW.prior)
    assert np.abs((found.mean(axis=0) - plain) / error).max() > 8  # the test would notice


def test_one_weighted_class_is_a_dirichlet_of_fractions() -> None:
    chains = Chains(n_classes=1, burn_in=1, n_draws=4_000, n_chains=2)
    weights = np.array([1, 0.5, 0.25, 1, 0, 0.75])
    draws = sample_posterior(CODES, LEVELS, chains, weights=weights, rng=np.random.default_rng(5))
    phi = draws.phi[..., 0].reshape(-1, 4).astype(float)
    mean = (1 + np.array([2.5, 1.0, 1.75, 1.75])) / 5.5  # 3.5 records in all
    sd = np.sqrt(mean * (1 - mean) / 6.5)
    assert np.abs((phi.mean(axis=0) - mean) / (sd / np.sqrt(len(phi)))).max() < 4.5
    np.testing.assert_allclose(phi.std(axis=0), sd, rtol=0.06)


def test_weights_of_one_and_zero_are_all_records_and_none() -> None:
    few = Chains(n_classes=3, burn_in=10, n_draws=5)
    rng = np.random.default_rng
    plain = sample_posterior(CODES, LEVELS, few, rng=rng(1))
    ones = sample_posterior(CODES, LEVELS, few, weights=np.ones(6), rng=rng(1))
    assert ones.phi.tobytes() == plain.phi.tobytes()
    keep = np.array([1, 1, 0, 1, 0, 1])
    rest = sample_posterior(CODES[keep > 0], LEVELS, few, rng=rng(1))
    zeros = sample_posterior(CODES, LEVELS, few, weights=keep, rng=rng(1), keep_allocations=True)
    assert zeros.phi.tobytes() == rest.phi.tobytes()
    assert zeros.log_likelihood.tobytes() == rest.log_likelihood.tobytes()


@pytest.mark.parametrize(
    "weights", [np.ones(5), np.ones((6, 1)), np.zeros(6), [1, 1, 1, 1, 1, 1.1], [1] * 5 + [np.nan]]
)
def test_weights_that_do_not_fit_are_refused(weights: NDArray) -> None:
    with pytest.raises(ValueError, match=r"must be \(6,\), one for each record, from 0 to 1"):
        sample_posterior(CODES, LEVELS, FEW, weights=weights, rng=np.random.default_rng(1))
