"""Part of a record and the model's own prior: against enumeration and closed forms."""

import numpy as np
import pytest
from enumeration import exact_log_risk, log_marginal_likelihood, support_log_ratios
from numpy.typing import NDArray
from scipy.special import expit, logit

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.margins import DirichletMargins
from srlib.mechanism.bayes import posterior
from srlib.risk import estimators
from srlib.risk.synthesizers import log_likelihoods

LEVELS = np.array([2, 3, 4])
PRIOR = dpmpm.Prior(alpha_shape=1.0, alpha_rate=1.0)


def some_draws() -> tuple[dpmpm.Draws, NDArray]:
    rng = np.random.default_rng(4)
    codes = (rng.random((40, 3)) * LEVELS).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=3, burn_in=10, n_draws=5, n_chains=2)
    return dpmpm.sample_posterior(codes, LEVELS, chains, rng=rng), np.unique(codes, axis=0)


# ------------------------------------------------------------------------------ part of a record


@pytest.mark.parametrize("unknown", [[1], [2, 0], [0, 1, 2]])
def test_all_records_at_once_as_one_by_one(
    unknown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, codes = some_draws()
    monkeypatch.setattr(estimators, "BLOCK", 48)  # several blocks of records
    found = disclosure.subset_log_means(draws, codes, unknown)
    mixed = np.arange(len(codes)) % 2 == 0
    partly = disclosure.subset_log_means(draws, codes, unknown, left_out=mixed)
    for i, x in enumerate(codes):
        support = disclosure.subset_support(x, sorted(unknown), LEVELS)
        in_order = np.lexsort(support[1:, unknown[::-1]].T)
        support[1:] = support[1:][in_order]
        one = support_log_ratios(draws, support)[0][:, 0]
        np.testing.assert_allclose(found[:, i], one, rtol=1e-5, atol=1e-6)
        plain = np.log(np.exp(dpmpm.cell_log_prob(draws, support)).mean(axis=1))
        np.testing.assert_allclose(partly[:, i], one if mixed[i] else plain, rtol=1e-5, atol=1e-6)


def test_part_of_a_record_and_the_models_own_prior_against_enumeration() -> None:
    """Equation 16 and section 5 on a 2 x 2 table, two classes, for all four records."""
    levels = np.array([2, 2])
    data = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8)
    releases = [
        np.array([[0, 1], [1, 1], [1, 1]], dtype=np.uint8),
        np.array([[0, 1], [0, 1], [0, 1]], dtype=np.uint8),
    ]
    rng = np.random.default_rng(1)
    chains = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=4_000, thin=2, n_chains=6, prior=PRIOR)

    def means(codes: NDArray) -> NDArray:
        draws = dpmpm.sample_posterior(codes, levels, chains, rng=rng)
        return disclosure.subset_log_means(draws, data, [1])

    log_ratios = [means(np.vstack(s)) for s in ([data], *([data, z] for z in releases))]
    flat = disclosure.predictive_ratio(log_ratios)
    informed = disclosure.predictive_ratio(log_ratios, model_prior=True)
    told = disclosure.evidence(log_ratios, model_prior=True)
    for i, x in enumerate(data[:]):
        support = disclosure.subset_support(x, [1], levels)
        exact = exact_log_risk(data, i, support, releases, [2, 2], 2, PRIOR)
        others = np.delete(data, i, axis=0)
        predicted = [np.vstack([others, candidate[None]]) for candidate in support]
        prior = posterior(
            np.array([log_marginal_likelihood(d, [2, 2], 2, PRIOR) for d in predicted])
        )
        assert np.abs((flat.log_prob[i] - exact) / flat.log_mcse[i]).max() < 5
        both = posterior(exact, prior)
        assert np.abs((informed.log_prob[i] - both) / informed.log_mcse[i]).max() < 5
        off = (told["log_gain"][i] - (both[0] - prior[0])) / told["log_gain_mcse"][i]
        assert abs(off) < 5
        assert np.abs(both - exact).max() > 10 * informed.log_mcse[i].max()
    assert max(flat.log_mcse.max(), informed.log_mcse.max(), told["log_gain_mcse"].max()) < 0.03


# ------------------------------------------------------------- the model's own prior and its error


def simulated(n: int = 4_000) -> tuple[NDArray, list[NDArray]]:
    """Sixteen chains given D, eight given each of three releases, around a known truth."""
    rng = np.random.default_rng(2)
    log_truth = rng.normal(size=(n, 4))

    def chains(log_mean: NDArray, n_chains: int) -> NDArray:
        return log_mean + np.log(rng.gamma(50, 1 / 50, (n_chains, n, 4)))

    return log_truth, [chains(log_truth, 16), *(chains(1.5 * log_truth, 8) for _ in range(3))]


def test_errors_with_the_models_own_prior_cover() -> None:
    """The prior comes from the chains of D, which are therefore raised to 1 - m, not to -m."""
    log_truth, log_ratios = simulated()
    risk = disclosure.predictive_ratio(log_ratios, model_prior=True)
    z = (risk.log_prob - posterior(2.5 * log_truth)) / risk.log_mcse
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975
    apart = posterior(np.logaddexp.reduce(log_ratios[0], axis=0))
    naive = disclosure.predictive_ratio(log_ratios, apart)
    np.testing.assert_allclose(naive.log_prob, risk.log_prob, atol=1e-10)
    assert np.median(naive.log_mcse / risk.log_mcse) > 1.1


@pytest.mark.parametrize("model_prior", [False, True])
def test_errors_of_the_evidence_cover(model_prior: bool) -> None:
    log_truth, log_ratios = simulated()
    told = disclosure.evidence(log_ratios, model_prior=model_prior)
    before = posterior(model_prior * log_truth)
    after = posterior((1.5 + model_prior) * log_truth)
    gain = after[:, 0] - before[:, 0]
    needed = after.max(axis=1) - after[:, 0]
    ratio = logit(np.exp(after[:, 0])) - logit(np.exp(before[:, 0]))
    for name, exact in (("gain", gain), ("odds_needed", needed), ("ratio", ratio)):
        error = told[f"log_{name}_mcse"]
        z = ((told[f"log_{name}"] - exact) / error)[error > 0]
        assert 0.92 < np.mean(np.abs(z) < 2) < 0.975, name


def test_evidence_is_of_one_piece() -> None:
    _, log_ratios = simulated(50)
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 50))
    told = disclosure.evidence(log_ratios, log_prior)
    risk = disclosure.predictive_ratio(log_ratios, log_prior)
    np.testing.assert_allclose(told["prior"], np.exp(log_prior[:, 0]))
    np.testing.assert_allclose(told["probability"], risk.probability)
    np.testing.assert_allclose(told["rank"], risk.rank)
    needed = risk.log_prob.max(axis=1) - risk.log_prob[:, 0]
    np.testing.assert_allclose(told["log_odds_needed"], needed, atol=1e-12)
    by_odds = expit(logit(told["prior"]) + told["log_ratio"])
    np.testing.assert_allclose(by_odds, told["probability"])
    np.testing.assert_allclose(told["log_gain"], np.log(told["probability"] / told["prior"]))


# ------------------------------------------------------------------ candidates in another's place


def test_a_mixture_of_one_class_has_the_closed_form() -> None:
    """Outsiders in the places of records that the draws are given."""
    levels, rng = np.array([2, 2]), np.random.default_rng(6)
    people = (rng.random((24, 2)) < 0.4).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=1, burn_in=5, n_draws=800, n_chains=4)
    draws = dpmpm.sample_posterior(people[:12], levels, chains, rng=rng)
    (released,) = draws.release(1, 12, rng=rng)
    joined = dpmpm.sample_posterior(np.vstack([people[:12], released]), levels, chains, rng=rng)
    both = [
        disclosure.subset_log_means(d, people[12:], [0, 1], place=people[:12])
        for d in (draws, joined)
    ]
    support = np.stack([disclosure.subset_support(x, [0, 1], levels) for x in people[12:]])
    one_class = DirichletMargins(levels)
    exact = log_likelihoods(one_class, [released], people[:12], np.arange(12), support)
    apart = both[1] - both[0]
    apart = apart - apart[:, :, :1] - (exact - exact[:, :1])
    error = apart.std(axis=0, ddof=1) / 2
    assert np.abs(apart.mean(axis=0)[:, 1:] / error[:, 1:]).max() < 9  # t with three degrees
    assert np.abs(apart.mean(axis=0)).max() < 0.03
    own = disclosure.subset_log_means(draws, people[:12], [0])
    np.testing.assert_allclose(
        own, disclosure.subset_log_means(draws, people[:12], [0], place=people[:12]), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("levels", "unknown", "message"),
    [
        ([2, 2], [], r"unknown is \[\]; it must name distinct variables"),
        ([2, 2], [1, 1], "it must name distinct variables"),
        ([2, 2], [2], r"unknown is \[2\]; the variables are 0 to 1"),
        ([1 << 10, 1 << 10], [0, 1], "unknown has 1,048,576 combinations of levels; up to 262,144"),
    ],
)
def test_bad_input(levels: list[int], unknown: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        disclosure.subset_support([0, 0], unknown, np.array(levels))
