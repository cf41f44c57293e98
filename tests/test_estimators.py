"""Risks from draws: against enumeration, closed forms and second methods; errors that cover."""

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


@pytest.mark.parametrize(("n_classes", "n_draws"), [(1, 500), (2, 750)])
def test_both_estimators_against_enumeration(n_classes: int, n_draws: int) -> None:
    """Four records on a 2 x 2 table, two releases: all allocations, alpha by quadrature."""
    support = disclosure.subset_support(DATA[3], [0, 1], TWO)
    exact = exact_log_risk(DATA, 3, support, RELEASES, [2, 2], n_classes, PRIOR)
    assert (
        np.abs(exact - np.log(0.25)).max() > 0.15
    )  # the prior's quarter would not pass
    # Few draws carry most of the weight, so that an error takes many chains to be
    # known.
    rng, given = np.random.default_rng(17), {"burn_in": 200, "n_chains": 32}
    given |= {"n_classes": n_classes, "n_draws": n_draws, "thin": 2 * n_classes - 1}
    chains, every = (
        Chains(prior=PRIOR, **given),
        (DATA, *(np.vstack([DATA, z]) for z in RELEASES)),
    )
    data, *joined = (
        sample_posterior(codes, TWO, chains, rng=rng, keep_allocations=True)
        for codes in every
    )
    plain = support_log_ratios(data, support)
    weighted = support_log_ratios(
        data, support, disclosure.release_log_prob(data, RELEASES)
    )
    ratios = [plain[0], *(support_log_ratios(draws, support)[0] for draws in joined)]
    sampled = disclosure.importance_sampling(weighted, plain)
    for risk in (sampled, disclosure.predictive_ratio(ratios)):
        agree(risk.log_prob[0], exact, risk.log_mcse[0], 0.05)
    # From the same draws, collapsed ratios are more precise; with one class they have
    # no error.
    collapsed = [
        disclosure.collapsed_log_ratios(draws, DATA)[0] for draws in (data, *joined)
    ]
    risk = disclosure.predictive_ratio(collapsed)
    for i, support in enumerate(disclosure.one_variable_supports(DATA, TWO)):
        exact = exact_log_risk(DATA, i, support, RELEASES, [2, 2], n_classes, PRIOR)
        agree(risk.log_prob[i], exact, risk.log_mcse[i] + 1e-9, 0.02)


def test_part_of_a_record_against_enumeration(rng: np.random.Generator) -> None:
    """Equation 16 on a 2 x 2 table, two classes, for all four records."""
    releases = [table("01", "11", "11"), table("01", "01", "01")]
    chains = Chains(
        n_classes=2, burn_in=100, n_draws=500, thin=3, n_chains=24, prior=PRIOR
    )

    def means(codes: NDArray) -> NDArray:
        return disclosure.subset_log_means(
            sample_posterior(codes, TWO, chains, rng=rng), DATA, [1]
        )

    log_ratios = [means(DATA), *(means(np.vstack([DATA, z])) for z in releases)]
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
    fast = disclosure.one_variable_log_ratios(draws, codes, log_weights)
    for i, support in enumerate(
        disclosure.one_variable_supports(codes, draws.n_levels)
    ):
        slow = support_log_ratios(draws, support, log_weights)[:, :, 0]
        np.testing.assert_allclose(fast[:, :, i], slow, rtol=1e-9)
    release = codes[[0, 0, 1, 5, 5, 5]]
    expected = cell_log_prob(draws, release).sum(axis=2)
    np.testing.assert_allclose(
        disclosure.release_log_prob(draws, [release])[0], expected
    )


@pytest.mark.parametrize("unknown", [[1], [2, 0], [0, 1, 2]])
def test_all_records_at_once_as_one_by_one(unknown, monkeypatch):
    draws, codes = some_draws()
    monkeypatch.setattr(estimators, "BLOCK", 48)  # several blocks of records
    found = disclosure.subset_log_means(draws, codes, unknown)
    mixed = np.arange(len(codes)) % 2 == 0
    partly = disclosure.subset_log_means(draws, codes, unknown, in_data=mixed)
    others = disclosure.subset_log_means(draws, codes, unknown, replaced=codes[::-1])
    for i, x in enumerate(codes):
        support = disclosure.subset_support(x, unknown, draws.n_levels)
        one = support_log_ratios(draws, support)[0][:, 0]
        np.testing.assert_allclose(found[:, i], one, rtol=1e-5, atol=1e-6)
        prob = np.exp(cell_log_prob(draws, support))
        plain, at = (
            np.log(prob.mean(axis=1)),
            np.exp(cell_log_prob(draws, codes[::-1][[i]])),
        )
        np.testing.assert_allclose(
            partly[:, i], one if mixed[i] else plain, rtol=1e-5, atol=1e-6
        )
        placed = np.log((prob / at).mean(axis=1))
        np.testing.assert_allclose(others[:, i], placed, rtol=1e-5, atol=1e-6)


def simulated(n: int = 4_000) -> tuple[NDArray, NDArray, list[NDArray]]:
    """True values, a prior, sixteen chains given D, and eight given each of three releases."""
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


def test_errors_of_importance_sampling_cover_and_leave_out_one_chain_at_a_time() -> (
    None
):
    log_truth, log_prior, (plain, *_) = simulated()
    rng = np.random.default_rng(5)
    noise = np.log(rng.gamma(50, 1 / 50, (3, *plain.shape)))
    risk = disclosure.importance_sampling(2 * log_truth + noise, plain[None], log_prior)
    cover((risk.log_prob - posterior(3 * log_truth, log_prior)) / risk.log_mcse)
    weighted, few = rng.normal(size=(2, 6, 3, 4)), rng.normal(size=(1, 6, 3, 4))

    def log_prob(chains: list[int]) -> NDArray:
        odds = np.exp(weighted[:, chains]).sum(axis=1).prod(axis=0)
        odds = odds / np.exp(few[0, chains]).sum(axis=0) ** 2
        return np.log(odds / odds.sum(axis=-1, keepdims=True))

    risk = disclosure.importance_sampling(weighted, few)
    assert np.allclose(risk.log_prob, log_prob(list(range(6))))
    left_out = [log_prob([c for c in range(6) if c != out]) for out in range(6)]
    assert np.allclose(risk.log_mcse, np.sqrt(5 * np.var(left_out, axis=0)))
    with pytest.raises(ValueError, match="each needs two or more"):
        disclosure.predictive_ratio([np.zeros((2, 1, 3)), np.zeros((1, 1, 3))])


def test_ranks_share_ties() -> None:
    log_prob = np.log(
        [[0.2, 0.5, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]
    )
    assert rank(log_prob).tolist() == [2.5, 2.5, 1.0]
    with pytest.raises(ValueError, match="is -inf for every row"):
        posterior(np.zeros(2), np.full(2, -np.inf))


def test_summary_and_repeatability() -> None:
    log_prob = np.log(
        [[p, 0.15, 0.15, 0.12, 0.1 + 1e-9] for p in (0.5, 0.1, 0.2, 0.13)]
    )
    one = Risk(log_prob, np.full((4, 5), 0.1))
    assert one.summary(0.15) == {
        "median": pytest.approx(0.165),
        "largest": pytest.approx(0.5),
        "above 0.15": 2,
        "rank 1": 2,
        "rank 1 to 3": 3,
        "median log_mcse": 0.1,
    }
    shifted = one.log_prob + np.array([[0.1], [0.2], [-0.43], [-2.0]]) * (
        np.arange(5) == 0
    )
    agreement = disclosure.repeatability(one, Risk(shifted, one.log_mcse))
    assert agreement["median difference"] == pytest.approx(0.315)
    assert agreement["within 2 standard errors"] == 1 / 2
    assert agreement["top three kept"] == 2 / 3  # ranks 1, 3 and 5 of 1, 1 and 3


def test_supports() -> None:
    codes = np.array([[2, 0, 1], [0, 4, 0]], dtype=np.uint8)
    supports = disclosure.one_variable_supports(codes, np.array([3, 5, 2]))
    assert supports.shape == (
        2,
        8,
        3,
    )  # section 3.1: a 3 x 5 x 2 table has eight candidates
    np.testing.assert_array_equal(supports[:, 0], codes)
    assert ((supports != codes[:, None]).sum(axis=2)[:, 1:] == 1).all()
    assert all(len(np.unique(support, axis=0)) == 8 for support in supports)
    support = disclosure.subset_support([1, 0, 1], [0, 2], np.array([3, 2, 2]))
    assert support.tolist() == [
        [1, 0, 1],
        [0, 0, 0],
        [0, 0, 1],
        [1, 0, 0],
        [2, 0, 0],
        [2, 0, 1],
    ]
    for unknown, message in (
        ([1, 1], "it must name at least one variable, and none twice"),
        ([2], r"unknown is \[2\]; the variables are 0 to 1"),
        ([0, 1], "unknown has 1,048,576 combinations of levels; at most 262,144"),
    ):
        with pytest.raises(ValueError, match=message):
            disclosure.subset_support([0, 0], unknown, np.array([1 << 10, 1 << 10]))
