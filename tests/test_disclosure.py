"""Disclosure risk: both estimators against enumeration and closed forms; supports and ranks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from enumeration import exact_log_risk, support_log_ratios
from numpy.typing import NDArray

from srlib import risk as disclosure
from srlib.dpmpm import Chains, Draws, Prior, cell_log_prob, sample_posterior
from srlib.mechanism.bayes import posterior, rank
from srlib.risk.column import Risk


def estimates(
    data: NDArray,
    releases: list[NDArray],
    n_levels: NDArray,
    n_classes: int,
    support: NDArray,
    *,
    prior: Prior,
    n_draws: int,
    thin: int,
) -> tuple[Risk, Risk]:
    """Importance sampling and predictive ratio over one support."""
    rng = np.random.default_rng(17)
    chains = Chains(
        n_classes=n_classes, burn_in=200, n_draws=n_draws, thin=thin, n_chains=8, prior=prior
    )

    def draw(codes: NDArray) -> Draws:
        return sample_posterior(codes, n_levels, chains, rng=rng)

    of_data = draw(data)
    log_weights = disclosure.release_log_prob(of_data, releases)
    plain = support_log_ratios(of_data, support)
    weighted = support_log_ratios(of_data, support, log_weights)
    joined = [
        support_log_ratios(draw(np.vstack([data, release])), support)[0] for release in releases
    ]
    return (
        disclosure.importance_sampling(weighted, plain),
        disclosure.predictive_ratio([plain[0], *joined]),
    )


def test_one_class_against_the_closed_form() -> None:
    rng = np.random.default_rng(1)
    n_levels = np.array([2, 3, 2])
    data = (rng.random((12, 3)) * n_levels).astype(np.uint8)
    releases = [(rng.random((12, 3)) * n_levels).astype(np.uint8) for _ in range(2)]
    support = disclosure.neighborhood(data[:1], n_levels)[0]
    exact = exact_log_risk(data, 0, support, releases, n_levels.tolist(), 1, Prior())
    for risk in estimates(
        data, releases, n_levels, 1, support, prior=Prior(), n_draws=4_000, thin=1
    ):
        assert np.abs((risk.log_prob[0] - exact) / risk.log_mcse[0]).max() < 5
        assert risk.log_mcse.max() < 0.05


def left_out(
    data: NDArray,
    releases: list[NDArray],
    n_levels: NDArray,
    n_classes: int,
    prior: Prior,
    **run: Any,
) -> Risk:
    """Predictive ratio of every record over its neighborhood, pi and phi integrated out."""
    rng = np.random.default_rng(18)
    chains = Chains(n_classes=n_classes, prior=prior, **run)

    def ratios(codes: NDArray) -> NDArray:
        draws = sample_posterior(codes, n_levels, chains, rng=rng, keep_allocations=True)
        return disclosure.collapsed_log_ratios(draws, data)[0]

    joined = [ratios(np.vstack([data, release])) for release in releases]
    return disclosure.predictive_ratio([ratios(data), *joined])


def test_collapsed_ratios_against_enumeration() -> None:
    n_levels = np.array([2, 2])
    data = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8)
    releases = [
        np.array([[0, 1], [0, 0], [1, 1], [0, 1]], dtype=np.uint8),
        np.array([[0, 1], [1, 1], [1, 1], [0, 0]], dtype=np.uint8),
    ]
    prior = Prior(alpha_shape=1.0, alpha_rate=1.0, concentration=0.5)
    risk = left_out(
        data, releases, n_levels, 2, prior, burn_in=200, n_draws=8_000, thin=3, n_chains=8
    )
    for i in (0, 2, 3):
        support = disclosure.neighborhood(data[i : i + 1], n_levels)[0]
        exact = exact_log_risk(data, i, support, releases, [2, 2], 2, prior)
        assert np.abs((risk.log_prob[i] - exact) / risk.log_mcse[i]).max() < 5
    assert risk.log_mcse.max() < 0.01


def test_two_classes_against_enumeration() -> None:
    """Four records on a 2 x 2 table, two releases: all 256 allocations, alpha by quadrature."""
    n_levels = np.array([2, 2])
    data = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8)
    releases = [
        np.array([[0, 1], [0, 0], [1, 1], [0, 1]], dtype=np.uint8),
        np.array([[0, 1], [1, 1], [1, 1], [0, 0]], dtype=np.uint8),
    ]
    prior = Prior(alpha_shape=1.0, alpha_rate=1.0)
    support = disclosure.subset_support(data[3], [0, 1], n_levels)
    exact = exact_log_risk(data, 3, support, releases, [2, 2], 2, prior)
    for risk in estimates(data, releases, n_levels, 2, support, prior=prior, n_draws=8_000, thin=3):
        assert np.abs((risk.log_prob[0] - exact) / risk.log_mcse[0]).max() < 5
        assert risk.log_mcse.max() < 0.1
    # The truth would not pass for the prior's quarter, nor one candidate for another.
    assert np.abs(exact - np.log(0.25)).max() > 0.15


def test_standard_errors_cover() -> None:
    """|z| of independent repetitions against the closed form behaves like a t variable."""
    rng = np.random.default_rng(2)
    log_truth = rng.normal(size=(1, 5_000, 4))

    def chains(log_mean: NDArray, n: int) -> NDArray:
        return log_mean + np.log(rng.gamma(50, 1 / 50, (n, 5_000, 4)))

    data, joined = chains(log_truth[0], 16), [chains(2 * log_truth[0], 8) for _ in range(3)]
    risk = disclosure.predictive_ratio([data, *joined])
    exact = posterior(3 * log_truth[0])
    z = (risk.log_prob - exact) / risk.log_mcse
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975
    weighted = np.stack([chains(2 * log_truth[0], 16) for _ in range(3)])
    risk = disclosure.importance_sampling(weighted, chains(log_truth[0], 16)[None])
    z = (risk.log_prob - posterior(3 * log_truth[0])) / risk.log_mcse
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975


def some_draws() -> tuple[Draws, NDArray]:
    rng = np.random.default_rng(4)
    n_levels = np.array([2, 3, 4])
    codes = (rng.random((40, 3)) * n_levels).astype(np.uint8)
    chains = Chains(n_classes=3, burn_in=10, n_draws=5, n_chains=2)
    draws = sample_posterior(codes, n_levels, chains, rng=rng)
    return draws, np.unique(codes, axis=0)


def test_weights_of_zero_leave_draws_out() -> None:
    draws, codes = some_draws()
    log_weights = np.zeros((1, 2, 5))
    log_weights[:, :, 3] = -np.inf
    kept = [0, 1, 2, 4]
    without = replace(
        draws, alpha=draws.alpha[:, kept], pi=draws.pi[:, kept], phi=draws.phi[:, kept]
    )
    np.testing.assert_allclose(
        disclosure.neighborhood_log_ratios(draws, codes, log_weights)[0],
        disclosure.neighborhood_log_ratios(without, codes)[0] + np.log(4),
        atol=1e-12,
    )


def test_both_kinds_of_support_give_the_same_ratios() -> None:
    draws, codes = some_draws()
    log_weights = np.random.default_rng(0).normal(scale=300, size=(3, 2, 5))
    fast = disclosure.neighborhood_log_ratios(draws, codes, log_weights)
    for i, support in enumerate(disclosure.neighborhood(codes, draws.n_levels)):
        slow = support_log_ratios(draws, support, log_weights)[:, :, 0]
        np.testing.assert_allclose(fast[:, :, i], slow, rtol=1e-9)


def test_release_log_prob() -> None:
    draws, codes = some_draws()
    release = codes[[0, 0, 1, 5, 5, 5]]
    expected = cell_log_prob(draws, release).sum(axis=2)
    np.testing.assert_allclose(disclosure.release_log_prob(draws, [release])[0], expected)


def test_neighborhoods() -> None:
    n_levels = np.array([3, 5, 2])
    codes = np.array([[2, 0, 1], [0, 4, 0]], dtype=np.uint8)
    supports = disclosure.neighborhood(codes, n_levels)
    assert supports.shape == (2, 8, 3)  # section 3.1: a 3 x 5 x 2 table has eight candidates
    np.testing.assert_array_equal(supports[:, 0], codes)
    assert ((supports != codes[:, None]).sum(axis=2)[:, 1:] == 1).all()
    for support in supports:
        assert len(np.unique(support, axis=0)) == 8


def test_subset_support() -> None:
    n_levels = np.array([3, 2, 2])
    support = disclosure.subset_support([1, 0, 1], [0, 2], n_levels)
    assert support.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0], [2, 0, 0], [2, 0, 1]]
    with pytest.raises(ValueError, match="unknown is"):
        disclosure.subset_support([1, 0, 1], [], n_levels)
    with pytest.raises(ValueError, match="distinct variables"):
        disclosure.subset_support([1, 0, 1], [1, 1], n_levels)


def test_ranks_share_ties() -> None:
    log_prob = np.log([[0.2, 0.5, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]])
    assert rank(log_prob).tolist() == [2.5, 2.5, 1.0]
    with pytest.raises(ValueError, match="leaves no row possible"):
        posterior(np.zeros(2), np.full(2, -np.inf))


def test_prior_enters_once_whatever_the_number_of_releases() -> None:
    data = np.zeros((2, 1, 3))
    log_prior = np.log([[0.5, 0.3, 0.2]])
    risk = disclosure.predictive_ratio([data] * 5, log_prior)
    np.testing.assert_allclose(np.exp(risk.log_prob), [[0.5, 0.3, 0.2]])
    risk = disclosure.importance_sampling(np.zeros((4, 2, 1, 3)), data[None], log_prior)
    np.testing.assert_allclose(np.exp(risk.log_prob), [[0.5, 0.3, 0.2]])


def test_summary_and_repeatability() -> None:
    truth = np.array([0.5, 0.1, 0.2])
    log_prob = np.log([[p, 0.15, 0.15, 0.12, 0.1 + 1e-9] for p in truth])
    one = Risk(log_prob, np.full((3, 5), 0.1))
    assert one.summary(0.15) == {
        "median": pytest.approx(0.2),
        "largest": pytest.approx(0.5),
        "above 0.15": 2,
        "rank 1": 2,
        "rank 1 to 3": 2,
        "median error of log": 0.1,
    }
    shifted = one.log_prob + np.array([[0.1], [0.3], [-2.0]]) * (np.arange(5) == 0)
    agreement = disclosure.repeatability(one, Risk(shifted, one.log_mcse))
    assert agreement["median difference"] == pytest.approx(0.3)
    assert agreement["within 2 stated errors"] == pytest.approx(1 / 3)
    assert agreement["top three kept"] == 0.5


def test_a_single_chain_has_no_error() -> None:
    with pytest.raises(ValueError, match="each needs two or more"):
        disclosure.predictive_ratio([np.zeros((2, 1, 3)), np.zeros((1, 1, 3))])


def test_error_of_importance_sampling_leaves_out_one_chain_at_a_time() -> None:
    rng = np.random.default_rng(5)
    weighted, plain = rng.normal(size=(2, 6, 3, 4)), rng.normal(size=(1, 6, 3, 4))

    def log_prob(chains: list[int]) -> np.ndarray:
        odds = np.exp(weighted[:, chains]).sum(axis=1).prod(axis=0)
        odds = odds / np.exp(plain[0, chains]).sum(axis=0) ** 2
        return np.log(odds / odds.sum(axis=-1, keepdims=True))

    risk = disclosure.importance_sampling(weighted, plain)
    assert np.allclose(risk.log_prob, log_prob(list(range(6))))
    left_out = [log_prob([c for c in range(6) if c != out]) for out in range(6)]
    assert np.allclose(risk.log_mcse, np.sqrt(5 * np.var(left_out, axis=0)))
