"""Risks from draws: against enumeration and closed forms, with errors that cover."""

import numpy as np
import pytest
from cases import table
from enumeration import exact_log_risk, support_log_ratios
from numpy.typing import NDArray

from srlib import risk as disclosure
from srlib.dpmpm import Chains, Draws, Prior, cell_log_prob, sample_posterior
from srlib.mechanism.bayes import posterior, rank
from srlib.risk import estimators
from srlib.risk.likelihood import Risk

TWO = np.array([2, 2])
DATA = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8)
RELEASES = [table("01", "00", "11", "01"), table("01", "11", "11", "00")]
PRIOR = Prior(alpha_shape=0.5, alpha_rate=1.0)


def agree(log_prob: NDArray, exact: NDArray, log_mcse: NDArray, precise: float) -> None:
    """Five standard errors at most, and these small."""
    assert np.abs((log_prob - exact) / log_mcse).max() < 5
    assert log_mcse.max() < precise


def fit(codes: NDArray, chains: Chains, rng: np.random.Generator) -> Draws:
    return sample_posterior(codes, TWO, chains, rng=rng, keep_allocations=True)


@pytest.mark.parametrize(("n_classes", "n_draws"), [(1, 500), (2, 750)])
def test_both_estimators_against_enumeration(n_classes: int, n_draws: int) -> None:
    """Four records on 2 x 2 cells, two releases: by all allocations."""
    support = disclosure.subset_support(DATA[3], [0, 1], TWO)
    exact = exact_log_risk(DATA, 3, support, RELEASES, [2, 2], n_classes, PRIOR)
    # The prior's quarter would not pass.
    assert np.abs(exact - np.log(0.25)).max() > 0.15
    # Few draws carry most of the weight, so the error needs many chains.
    chains = Chains(
        n_classes=n_classes,
        burn_in=200,
        n_draws=n_draws,
        thin=2 * n_classes - 1,
        n_chains=32,
        prior=PRIOR,
    )
    rng = np.random.default_rng(17)
    data = fit(DATA, chains, rng)
    joined = [fit(np.vstack([DATA, z]), chains, rng) for z in RELEASES]

    log_weights = disclosure.release_log_prob(data, RELEASES)
    plain = support_log_ratios(data, support)
    weighted = support_log_ratios(data, support, log_weights)
    ratios = [plain[0], *(support_log_ratios(draws, support)[0] for draws in joined)]
    for risk in (
        disclosure.importance_sampling(weighted, plain),
        disclosure.predictive_ratio(ratios),
    ):
        agree(risk.log_prob[0], exact, risk.log_mcse[0], 0.05)

    # Collapsed ratios of the same draws are more precise; of one class, exact.
    collapsed = [
        disclosure.collapsed_log_ratios(draws, DATA)[0] for draws in (data, *joined)
    ]
    risk = disclosure.predictive_ratio(collapsed)
    for i, support in enumerate(disclosure.one_variable_supports(DATA, TWO)):
        exact = exact_log_risk(DATA, i, support, RELEASES, [2, 2], n_classes, PRIOR)
        agree(risk.log_prob[i], exact, risk.log_mcse[i] + 1e-9, 0.02)


def test_part_of_a_record_against_enumeration(rng: np.random.Generator) -> None:
    """Equation 16 on 2 x 2 cells, two classes, for all four records."""
    releases = [table("01", "11", "11"), table("01", "01", "01")]
    chains = Chains(
        n_classes=2, burn_in=100, n_draws=500, thin=3, n_chains=24, prior=PRIOR
    )
    log_ratios = []
    for codes in (DATA, *(np.vstack([DATA, z]) for z in releases)):
        draws = sample_posterior(codes, TWO, chains, rng=rng)
        log_ratios.append(disclosure.subset_log_means(draws, DATA, [1]))
    risk = disclosure.predictive_ratio(log_ratios)
    for i, x in enumerate(DATA):
        support = disclosure.subset_support(x, [1], TWO)
        exact = exact_log_risk(DATA, i, support, releases, [2, 2], 2, PRIOR)
        agree(risk.log_prob[i], exact, risk.log_mcse[i], 0.03)


def some_draws() -> tuple[Draws, NDArray]:
    rng = np.random.default_rng(4)
    n_levels = np.array([2, 3, 4])
    codes = (rng.random((40, 3)) * n_levels).astype(np.uint8)
    chains = Chains(n_classes=3, burn_in=10, n_draws=5, n_chains=2)
    return sample_posterior(codes, n_levels, chains, rng=rng), np.unique(codes, axis=0)


def test_both_kinds_of_support_give_the_same_ratios() -> None:
    draws, codes = some_draws()
    log_weights = np.random.default_rng(0).normal(scale=300, size=(3, 2, 5))
    log_weights[0, :, 3] = -np.inf  # leaves a draw out
    log_ratios = disclosure.one_variable_log_ratios(draws, codes, log_weights)
    supports = disclosure.one_variable_supports(codes, draws.n_levels)
    for i, support in enumerate(supports):
        expected = support_log_ratios(draws, support, log_weights)[:, :, 0]
        np.testing.assert_allclose(log_ratios[:, :, i], expected, rtol=1e-9)


def test_the_probability_of_a_release_is_that_of_its_records() -> None:
    draws, codes = some_draws()
    release = codes[[0, 0, 1, 5, 5, 5]]
    (log_prob,) = disclosure.release_log_prob(draws, [release])
    expected = cell_log_prob(draws, release).sum(axis=2)
    np.testing.assert_allclose(log_prob, expected)


@pytest.mark.parametrize("unknown", [[1], [2, 0], [0, 1, 2]])
def test_all_records_at_once_as_one_by_one(unknown, monkeypatch):
    draws, codes = some_draws()
    monkeypatch.setattr(estimators, "BLOCK", 48)  # several blocks of records
    is_in_data = np.arange(len(codes)) % 2 == 0
    replaced = codes[::-1]

    log_means = disclosure.subset_log_means(draws, codes, unknown)
    partly = disclosure.subset_log_means(draws, codes, unknown, in_data=is_in_data)
    others = disclosure.subset_log_means(draws, codes, unknown, replaced=replaced)

    for i, x in enumerate(codes):
        support = disclosure.subset_support(x, unknown, draws.n_levels)
        left_out = support_log_ratios(draws, support)[0][:, 0]
        prob = np.exp(cell_log_prob(draws, support))
        replaced_prob = np.exp(cell_log_prob(draws, replaced[[i]]))
        expected = [
            left_out,
            left_out if is_in_data[i] else np.log(prob.mean(axis=1)),
            np.log((prob / replaced_prob).mean(axis=1)),
        ]
        means = [log_means[:, i], partly[:, i], others[:, i]]
        np.testing.assert_allclose(means, expected, rtol=1e-5, atol=1e-6)


def simulated(n: int = 4_000) -> tuple[NDArray, NDArray, list[NDArray]]:
    """True values, a prior, and chains: sixteen given D, eight given each release."""
    rng = np.random.default_rng(2)
    log_truth = rng.normal(size=(n, 4))

    def chains(log_mean: NDArray, n_chains: int) -> NDArray:
        return log_mean + np.log(rng.gamma(50, 1 / 50, (n_chains, n, 4)))

    sets = [chains(log_truth, 16), *(chains(1.5 * log_truth, 8) for _ in range(3))]
    return log_truth, np.log(rng.dirichlet(np.full(4, 9), n)), sets


def cover(z: NDArray) -> None:
    """Standardized differences behave like a t variable."""
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975


def test_standard_errors_cover() -> None:
    log_truth, log_prior, log_ratios = simulated()
    risk = disclosure.predictive_ratio(log_ratios, log_prior)
    cover((risk.log_prob - posterior(1.5 * log_truth, log_prior)) / risk.log_mcse)


def test_errors_of_importance_sampling_cover() -> None:
    log_truth, log_prior, (plain, *_) = simulated()
    rng = np.random.default_rng(5)
    noise = np.log(rng.gamma(50, 1 / 50, (3, *plain.shape)))
    risk = disclosure.importance_sampling(2 * log_truth + noise, plain[None], log_prior)
    cover((risk.log_prob - posterior(3 * log_truth, log_prior)) / risk.log_mcse)


def test_errors_come_from_leaving_out_one_chain_at_a_time() -> None:
    rng = np.random.default_rng(5)
    weighted = rng.normal(size=(2, 6, 3, 4))
    plain = rng.normal(size=(1, 6, 3, 4))

    def log_prob(weighted: NDArray, plain: NDArray) -> NDArray:
        odds = np.exp(weighted).sum(axis=1).prod(axis=0)
        odds = odds / np.exp(plain[0]).sum(axis=0) ** 2
        return np.log(odds / odds.sum(axis=-1, keepdims=True))

    risk = disclosure.importance_sampling(weighted, plain)
    np.testing.assert_allclose(risk.log_prob, log_prob(weighted, plain))
    left_out = [
        log_prob(np.delete(weighted, chain, axis=1), np.delete(plain, chain, axis=1))
        for chain in range(6)
    ]
    expected = np.sqrt(5 * np.var(left_out, axis=0))
    np.testing.assert_allclose(risk.log_mcse, expected)


def test_an_error_needs_two_chains() -> None:
    with pytest.raises(ValueError, match="each needs two or more"):
        disclosure.predictive_ratio([np.zeros((2, 1, 3)), np.zeros((1, 1, 3))])


def test_ranks_share_ties() -> None:
    prob = [[0.2, 0.5, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]
    assert rank(np.log(prob)).tolist() == [2.5, 2.5, 1.0]


def test_an_impossible_release_has_no_posterior() -> None:
    with pytest.raises(ValueError, match="is -inf for every row"):
        posterior(np.zeros(2), np.full(2, -np.inf))


LOG_PROB = np.log([[p, 0.15, 0.15, 0.12, 0.1 + 1e-9] for p in (0.5, 0.1, 0.2, 0.13)])
LOG_MCSE = np.full((4, 5), 0.1)


def test_the_summary_of_a_risk() -> None:
    assert Risk(LOG_PROB, LOG_MCSE).summary(0.15) == {
        "median": pytest.approx(0.165),
        "largest": pytest.approx(0.5),
        "above 0.15": 2,
        "rank 1": 2,
        "rank 1 to 3": 3,
        "median log_mcse": 0.1,
    }


def test_repeatability_compares_two_runs() -> None:
    shifted = LOG_PROB.copy()
    shifted[:, 0] += [0.1, 0.2, -0.43, -2.0]
    agreement = disclosure.repeatability(
        Risk(LOG_PROB, LOG_MCSE), Risk(shifted, LOG_MCSE)
    )
    assert agreement["median difference"] == pytest.approx(0.315)
    assert agreement["within 2 standard errors"] == 1 / 2
    assert agreement["top three kept"] == 2 / 3  # ranks 1, 3 and 5 of 1, 1 and 3


def test_the_support_has_the_record_and_all_that_differ_in_one_variable() -> None:
    codes = np.array([[2, 0, 1], [0, 4, 0]], dtype=np.uint8)
    supports = disclosure.one_variable_supports(codes, np.array([3, 5, 2]))
    # Section 3.1: a 3 x 5 x 2 table has eight candidates.
    assert supports.shape == (2, 8, 3)
    np.testing.assert_array_equal(supports[:, 0], codes)
    assert ((supports != codes[:, None]).sum(axis=2)[:, 1:] == 1).all()
    assert all(len(np.unique(support, axis=0)) == 8 for support in supports)


def test_the_support_of_a_part_of_a_record_has_all_its_values() -> None:
    support = disclosure.subset_support([1, 0, 1], [0, 2], np.array([3, 2, 2]))
    expected = table("101", "000", "001", "100", "200", "201")
    np.testing.assert_array_equal(support, expected)


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        ([1, 1], "it must name at least one variable, and none twice"),
        ([2], r"unknown is \[2\]; the variables are 0 to 1"),
        ([0, 1], "unknown has 1,048,576 combinations of levels; at most 262,144"),
    ],
)
def test_wrong_unknown_variables_are_named(unknown: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        disclosure.subset_support([0, 0], unknown, np.array([1 << 10, 1 << 10]))
