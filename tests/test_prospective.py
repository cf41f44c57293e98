"""Risks before release: against every release of small tables."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cases import table
from enumeration import exact_log_risk, schema
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_less
from refusals import refused_changes
from scipy.special import expit, log_softmax
from test_synthesizers import (
    DATA,
    FAMILY,
    LEVELS,
    RELEASES,
    SCHEMA,
    SMOOTHED,
    SUPPORTS,
    TABLE,
    one_by_one,
)

from srlib.data import Microdata
from srlib.dpmpm import Chains, DPMPMSynthesizer, Prior, sample_posterior
from srlib.mechanism import MechanismSynthesizer, beta_binomial, privacy_loss
from srlib.risk import posterior_risk, risk_before_release
from srlib.risk.prospective import CHAINS_FACTOR, quantile, quantile_variance
from srlib.trees import SequentialTrees, fit_trees

TREES = SequentialTrees(SCHEMA, growth=SMOOTHED)


def within(estimate, expected, mcse):
    assert np.isfinite(mcse).all()
    assert_array_less(np.abs(estimate - expected), 4.5 * mcse + 1e-9)


def check_worst(frame, weights, risks, tolerance):
    """The column is the 95 % quantile of the risks, by their weights."""
    worst = frame["worst"].to_numpy()
    assert (weights @ (risks <= worst - 1e-9) < 0.95 + tolerance).all()
    assert (weights @ (risks <= worst + 1e-9) > 0.95 - tolerance).all()


@pytest.mark.parametrize("n_releases", [1, 2])
def test_risks_before_release_by_enumeration(n_releases):
    """Errors are those of 300 draws; shares of records are of the target records."""
    columns = np.array([one_by_one(TREES, [z], DATA, SUPPORTS) for z in RELEASES])
    if n_releases == 2:
        columns = np.reshape(columns[:, None] + columns, (-1, 3, 4))
    weights = np.exp(columns[:, 0, 0])
    log_prior = np.log([0.4, 0.3, 0.2, 0.1])
    log_posterior = log_softmax(columns + log_prior, axis=2)
    risks = np.exp(log_posterior[..., 0])  # (n_release_sets, 3)

    risk = risk_before_release(
        TABLE,
        fit_trees(TABLE, growth=SMOOTHED),
        n_releases,
        300,
        log_prior=[log_prior] * 3,
        rng=default_rng(5),
    )

    assert_allclose(risk.prior, 0.4)
    frame = risk.to_frame()
    expected = weights @ risks
    within(frame["expected"], expected, frame["expected_mcse"])
    variance = weights @ (risks - expected) ** 2
    assert_allclose(frame["expected_mcse"], np.sqrt(variance / 300), rtol=0.3)
    worst_variance = quantile_variance(risk.probability, 0.95)
    assert_allclose(frame["worst_mcse"], np.sqrt(worst_variance), rtol=1e-6)
    spread = 4.5 * np.sqrt(0.05 * 0.95 / 300)
    check_worst(frame, weights, risks, spread)
    summaries = {
        "largest": risks.max(axis=1),
        "mean_log_gain": np.log(risks / 0.4).mean(axis=1),
        "share_above_half": (risks > 0.5).mean(axis=1),
    }
    file_level = risk.file_level_risk()
    for name, values in summaries.items():
        row = file_level.loc[name]
        within(row["expected"], weights @ values, row["expected_mcse"])


@pytest.mark.parametrize("n_releases", [1, 3])
def test_risks_of_a_mechanism_have_no_error(n_releases):
    """Four are well and two are sick, so that one record more or less is sick."""
    codes = table(*"000011").astype(np.uint8)
    mechanism = beta_binomial(6, 3, alpha=1.0)
    family = MechanismSynthesizer(mechanism, [2])

    risk = risk_before_release(Microdata(codes, schema(2)), family, n_releases)

    release_sets = np.array([*product(range(4), repeat=n_releases)])
    log_weights = mechanism.row(2)[release_sets]
    weights = np.exp(log_weights.sum(axis=1))
    losses = [privacy_loss(mechanism, 2, n_sick) for n_sick in (3, 1)]
    loss = np.array(losses)[:, release_sets].sum(axis=2)
    risks = expit(loss).T  # (n_release_sets, 2)
    frame = risk.to_frame()
    assert_allclose(frame["expected"], weights @ risks, rtol=1e-6)
    check_worst(frame, weights, risks, 1e-9)
    assert (frame[["expected_mcse", "worst_mcse"]] == 0).all(axis=None)
    mean_log_gain = weights @ np.log(risks / 0.5) @ [4 / 6, 2 / 6]
    file_level = risk.file_level_risk()["expected"]
    assert file_level["mean_log_gain"] == pytest.approx(mean_log_gain)
    assert risk.exact
    assert risk.weights.sum() == pytest.approx(1)


def test_risks_by_the_mixture_are_those_of_its_marginal_likelihood():
    """Two classes, three records: every allocation is gone through."""
    chains = Chains(
        n_classes=2,
        burn_in=100,
        n_draws=300,
        n_chains=4,
    )
    mixture = DPMPMSynthesizer(LEVELS, chains)

    risk = risk_before_release(TABLE, mixture, 2, 20, rng=default_rng(4))

    # The releases are drawn by the same stream in the same order.
    rng = default_rng(4)
    stream = rng.spawn(41)[0]
    more_chains = replace(chains, n_chains=CHAINS_FACTOR * chains.n_chains)
    draws = sample_posterior(
        DATA, LEVELS, more_chains, rng=stream, keep_allocations=True
    )
    released = draws.release(40, 3, rng=rng)
    for i in (0, 1):
        releases = released[2 * i : 2 * i + 2]
        after_release = posterior_risk(
            TABLE,
            [Microdata(z, SCHEMA) for z in releases],
            chains=chains,
            rng=default_rng(i),
            progress=False,
        )
        assert 0 < after_release.log_mcse.max() < 0.2
        for row, support in enumerate(SUPPORTS):
            exact = exact_log_risk(DATA, row, support, releases, [2, 3], 2, Prior())
            error = np.log(risk.probability[i, row]) - exact[0]
            assert abs(error) < 5 * after_release.log_mcse[row]

    assert risk.convergence is not None
    draws_given = risk.convergence["draws_given"][:3].tolist()
    assert draws_given == ["the data", "release 1", "release 2"]
    # The error includes that of the chains which all columns share.
    assert risk.jackknife_probability.shape == (CHAINS_FACTOR * 4, 20, 3)
    frame = risk.to_frame()
    deviation = risk.probability.std(axis=0, ddof=1)
    assert (frame["expected_mcse"] > deviation / np.sqrt(20)).all()
    worst_variance = quantile_variance(risk.probability, 0.95)
    assert (frame["worst_mcse"] > np.sqrt(worst_variance)).all()
    assert "3 combinations of 3 records" in risk.summary()


def test_a_quantile_is_the_first_value_that_reaches_its_weight():
    values = table(*"3124").astype(float)
    weights = np.array([0.1, 0.2, 0.65, 0.05])
    assert quantile(values, weights, 0.95) == [3]
    assert quantile(values, weights, 0.951) == [4]
    hundred = np.arange(100.0)[:, None]
    assert quantile(hundred, np.full(100, 0.01), 0.95) == [94]


def test_the_variance_of_a_quantile_is_that_over_samples():
    samples = default_rng(8).normal(size=(200, 3000))
    weights = np.full(200, 1 / 200)
    variance = np.var(quantile(samples, weights, 0.95))
    estimate = quantile_variance(samples, 0.95).mean()
    assert estimate == pytest.approx(variance, rel=0.25)


ONE_CHAIN = Chains(n_classes=2, burn_in=1, n_draws=9, n_chains=1)
OTHER_TABLE = {
    "original": Microdata(DATA[:2], SCHEMA),
    "synthesizer": fit_trees(TABLE),
}

test_bad_input = refused_changes(
    risk_before_release,
    {"original": TABLE, "synthesizer": TREES, "rng": default_rng(9)},
    {
        "rng is not given": {"rng": None},
        "n_sets is 10; it must be 20 or more": {"n_sets": 10},
        "rows must be one or more positions in 0 to 2": {"rows": [3]},
        "rows must be .* positions in 0 to 2": {"rows": [True, False, True]},
        "must be Trees, or have the functions": {"synthesizer": object()},
        "chains has 1 chains": {"synthesizer": DPMPMSynthesizer(LEVELS, ONE_CHAIN)},
        "fitted to another table": OTHER_TABLE,
        "at most 200,000": {"synthesizer": FAMILY, "n_releases": 20},
    },
)
