"""Risks from draws: against enumeration and closed forms, with errors that cover."""

from functools import partial

import numpy as np
import pytest
from cases import table
from enumeration import all_cells, exact_log_risk
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusals
from scipy.special import log_softmax, logsumexp
from test_dpmpm import small_draws

from srlib.dpmpm import Chains, Prior, cell_log_prob, sample_posterior
from srlib.mechanism import posterior, rank
from srlib.risk import (
    collapsed_log_ratios,
    estimators,
    importance_sampling,
    one_variable_log_ratios,
    one_variable_supports,
    predictive_ratio,
    release_log_prob,
    repeatability,
    subset_log_means,
    subset_support,
)
from srlib.risk.likelihood import Risk

TWO = np.array([2, 2])
CELLS = all_cells([2, 3, 4])
DATA = table("00", "00", "11", "01")
PRIOR = Prior(alpha_shape=0.5, alpha_rate=1.0)


def draws_given(releases, chains):
    """Draws given the data, and given the data with each of the releases."""
    rng = default_rng(17)
    sample = partial(sample_posterior, rng=rng, keep_allocations=True)
    joined = [np.vstack([DATA, release]) for release in releases]
    return [sample(codes, TWO, chains) for codes in (DATA, *joined)]


def support_log_ratios(draws, support, log_weights=None):
    """Averages as of `one_variable_log_ratios`, over one support, term by term."""
    log_prob = cell_log_prob(draws, support)  # (n_chains, n_draws, n_candidates)
    if log_weights is None:
        shape = (1, draws.n_chains, draws.n_draws)
        log_weights = np.full(shape, -np.log(draws.n_draws))
    terms = log_weights[..., None] + log_prob - log_prob[..., :1]
    return logsumexp(terms, axis=2)[:, :, None]


def agree(risk, record, exact, largest_error, exempt=0.0):
    """Five standard errors at most, and these small."""
    log_mcse = risk.log_mcse[record] + exempt
    difference = np.abs(risk.log_prob[record] - exact)
    assert np.max(difference / log_mcse) < 5
    assert log_mcse.max() < largest_error


@pytest.mark.parametrize(
    ("n_classes", "n_draws"),
    [
        (1, 500),
        (2, 750),
    ],
)
def test_both_estimators_against_enumeration(n_classes, n_draws):
    """Four records on 2 x 2 cells, two releases: by all allocations."""
    releases = [
        table("01", "00", "11", "01"),
        table("01", "11", "11", "00"),
    ]
    model = releases, [2, 2], n_classes, PRIOR
    support = subset_support(DATA[3], [0, 1], TWO)
    exact = exact_log_risk(DATA, 3, support, *model)
    # The prior's quarter would not pass.
    assert np.max(np.abs(exact - np.log(0.25))) > 0.15
    # Few draws carry most of the weight, so the error needs many chains.
    chains = Chains(
        n_classes=n_classes,
        burn_in=200,
        n_draws=n_draws,
        thin=2 * n_classes - 1,
        n_chains=32,
        prior=PRIOR,
    )

    sets = draws_given(releases, chains)

    log_weights = release_log_prob(sets[0], releases)
    weighted = support_log_ratios(sets[0], support, log_weights)
    plain, *joined = (support_log_ratios(draws, support) for draws in sets)
    agree(importance_sampling(weighted, plain), 0, exact, 0.05)
    ratios = [x[0] for x in (plain, *joined)]
    agree(predictive_ratio(ratios), 0, exact, 0.05)
    # Collapsed ratios of the same draws are more precise; of one class, exact.
    collapsed = [collapsed_log_ratios(draws, DATA)[0] for draws in sets]
    risk = predictive_ratio(collapsed)
    for i, support in enumerate(one_variable_supports(DATA, TWO)):
        exact = exact_log_risk(DATA, i, support, *model)
        agree(risk, i, exact, 0.02, exempt=1e-9)
    # Part of a record, by equation 16.
    log_means = [subset_log_means(draws, DATA, [1]) for draws in sets]
    risk = predictive_ratio(log_means)
    for i, x in enumerate(DATA):
        support = subset_support(x, [1], TWO)
        exact = exact_log_risk(DATA, i, support, *model)
        agree(risk, i, exact, 0.03)


@pytest.fixture(scope="module")
def draws():
    """Draws given forty records."""
    return small_draws(4, burn_in=10, n_draws=5)


def test_both_kinds_of_support_give_the_same_ratios(draws):
    rng = default_rng(0)
    log_weights = rng.normal(scale=300, size=(3, 2, 5))
    log_weights[0, :, 3] = -np.inf  # leaves a draw out
    log_ratios = one_variable_log_ratios(draws, CELLS, log_weights)
    supports = one_variable_supports(CELLS, draws.n_levels)
    expected = [support_log_ratios(draws, x, log_weights) for x in supports]
    assert_allclose(log_ratios, np.concatenate(expected, axis=2), rtol=1e-9)


def test_the_probability_of_a_release_is_that_of_its_records(draws):
    release = CELLS[[0, 0, 1, 5, 5, 5]]
    (log_prob,) = release_log_prob(draws, [release])
    assert_allclose(log_prob, cell_log_prob(draws, release).sum(axis=2))


@pytest.mark.parametrize(
    "unknown",
    [
        [1],
        [2, 0],
        [0, 1, 2],
    ],
)
def test_all_records_at_once_as_one_by_one(unknown, draws, monkeypatch):
    monkeypatch.setattr(estimators, "BLOCK", 48)  # several blocks of records
    is_in_data = np.arange(len(CELLS)) % 2 == 0
    replaced = CELLS[::-1]

    arguments = draws, CELLS, unknown
    left_out = subset_log_means(*arguments)
    partly = subset_log_means(*arguments, in_data=is_in_data)
    others = subset_log_means(*arguments, replaced=replaced)

    agrees = partial(assert_allclose, rtol=1e-5, atol=1e-6)
    for i, x in enumerate(CELLS):
        support = subset_support(x, unknown, draws.n_levels)
        own = support_log_ratios(draws, support)[0, :, 0]
        agrees(left_out[:, i], own)
        prob = np.exp(cell_log_prob(draws, support))
        log_mean = np.log(prob.mean(axis=1))
        agrees(partly[:, i], own if is_in_data[i] else log_mean)
        replaced_prob = np.exp(cell_log_prob(draws, replaced[[i]]))
        in_place = np.mean(prob / replaced_prob, axis=1)
        agrees(others[:, i], np.log(in_place))


def noisy(log_mean, n, rng):
    """Estimates from n chains or releases."""
    noise = rng.gamma(50, 1 / 50, (n, *log_mean.shape))
    return log_mean + np.log(noise)


def cover(risk, log_prob):
    """Standardized differences behave like a t variable."""
    z = (risk.log_prob - log_prob) / risk.log_mcse
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975


def test_standard_errors_cover():
    """Sixteen chains given D, eight given each of three releases."""
    rng = default_rng(2)
    log_truth = rng.normal(size=(4_000, 4))
    plain = noisy(log_truth, 16, rng)
    joined = [noisy(1.5 * log_truth, 8, rng) for _ in range(3)]
    risk = predictive_ratio([plain, *joined])
    cover(risk, posterior(1.5 * log_truth))

    log_mean = np.broadcast_to(2 * log_truth, plain.shape)
    weighted = noisy(log_mean, 3, default_rng(5))
    risk = importance_sampling(weighted, plain[None])
    cover(risk, posterior(3 * log_truth))


def test_errors_come_from_leaving_out_one_chain_at_a_time():
    rng = default_rng(5)
    weighted = rng.normal(size=(2, 6, 3, 4))
    plain = rng.normal(size=(1, 6, 3, 4))
    chains = np.arange(6)

    def log_prob(chains):
        joint = logsumexp(weighted[:, chains], axis=1)
        weight = logsumexp(plain[0, chains], axis=0)
        log_odds = joint.sum(axis=0) - 2 * weight
        return log_softmax(log_odds, axis=-1)

    risk = importance_sampling(weighted, plain)

    assert_allclose(risk.log_prob, log_prob(chains))
    left_out = [log_prob(np.delete(chains, i)) for i in chains]
    assert_allclose(risk.log_mcse**2, 5 * np.var(left_out, axis=0))


def test_ranks_share_ties():
    prob = [
        [0.2, 0.5, 0.2, 0.1],
        [0.25, 0.25, 0.25, 0.25],
        [0.7, 0.1, 0.1, 0.1],
    ]
    ranks = rank(np.log(prob))
    assert ranks.tolist() == [2.5, 2.5, 1.0]


OTHERS = [0.15, 0.15, 0.12, 0.1 + 1e-9]
PROB = [[p, *OTHERS] for p in (0.5, 0.1, 0.2, 0.13)]
RISK = Risk(np.log(PROB), np.full((4, 5), 0.1))


def test_repeatability_compares_two_runs():
    shifted = RISK.log_prob.copy()
    shifted[:, 0] += [0.1, 0.2, -0.43, -2.0]
    agreement = repeatability(RISK, Risk(shifted, RISK.log_mcse))
    assert agreement["median difference"] == pytest.approx(0.315)
    assert agreement["within 2 standard errors"] == 1 / 2
    assert agreement["top three kept"] == 2 / 3  # ranks 1, 3 and 5 of 1, 1 and 3


def test_the_support_has_the_record_and_all_that_differ_in_one_variable():
    codes = table("201", "040")
    supports = one_variable_supports(codes, np.array([3, 5, 2]))
    # Section 3.1: a 3 x 5 x 2 table has eight candidates.
    n_changed = np.sum(supports != codes[:, None], axis=2)
    assert_array_equal(n_changed, [[0] + [1] * 7] * 2)
    for support in supports:
        assert len(np.unique(support, axis=0)) == 8


def test_the_support_of_a_part_of_a_record_has_all_its_values():
    support = subset_support(
        [1, 0, 1],
        [0, 2],
        np.array([3, 2, 2]),
    )
    expected = table("101", "000", "001", "100", "200", "201")
    assert_array_equal(support, expected)


support_of = partial(
    subset_support,
    [0, 0],
    n_levels=np.full(2, 1024),
)
UNEQUAL = [np.zeros((n_chains, 1, 3)) for n_chains in (2, 1)]
IMPOSSIBLE = np.full(2, -np.inf)

test_bad_input = refusals(
    {
        "each needs two or more": lambda: predictive_ratio(UNEQUAL),
        "is -inf for every row": lambda: posterior(np.zeros(2), IMPOSSIBLE),
        "at least one variable, and none twice": lambda: support_of([1, 1]),
        r"unknown is \[2\]; the variables are 0 to 1": lambda: support_of([2]),
        "has 1,048,576 combinations of levels; at most 262,144": lambda: support_of(
            [0, 1]
        ),
    }
)
