"""Risks before release: against every release of small tables."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from enumeration import exact_log_risk
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from test_synthesizers import CELLS, DATA, LEVELS, SCHEMA, one_by_one

from srlib.data.schema import Microdata, Schema, Variable
from srlib.dpmpm import Chains, DPMPMSynthesizer, Prior, sample_posterior
from srlib.mechanism import (
    MechanismSynthesizer,
    beta_binomial,
    dirichlet_multinomial,
    privacy_loss,
)
from srlib.risk import one_variable_supports, posterior_risk, risk_before_release
from srlib.risk.prospective import CHAINS_FACTOR, quantile, quantile_variance
from srlib.trees import Growth, SequentialTrees, fit_trees

TABLE = Microdata(DATA, SCHEMA)
SUPPORTS = one_variable_supports(DATA, LEVELS)
GROWTH = Growth(1, smoothing=1.0)
TREES = SequentialTrees(SCHEMA, growth=GROWTH)


def within(estimate: NDArray, expected: NDArray, mcse: NDArray) -> None:
    assert np.isfinite(mcse).all()
    np.testing.assert_array_less(np.abs(estimate - expected), 4.5 * mcse + 1e-9)


@pytest.mark.parametrize("n_releases", [1, 2])
def test_risks_before_release_by_enumeration(n_releases: int) -> None:
    """Errors are those of 300 draws; shares of records are of the target records."""
    releases = np.array([*itertools.product(CELLS, repeat=3)])
    columns = np.array([one_by_one(TREES, [z], DATA, SUPPORTS) for z in releases])
    weights = np.exp(columns[:, 0, 0])
    if n_releases == 2:
        columns = (columns[:, None] + columns[None]).reshape(-1, 3, 4)
        weights = np.outer(weights, weights).ravel()
    log_prior = np.log([0.4, 0.3, 0.2, 0.1])
    joint = columns + log_prior
    risks = np.exp(joint[..., 0] - logsumexp(joint, axis=2))  # (n_release_sets, 3)

    risk = risk_before_release(
        TABLE,
        fit_trees(TABLE, growth=GROWTH),
        n_releases,
        300,
        log_prior=[log_prior] * 3,
        rng=np.random.default_rng(5),
    )

    np.testing.assert_allclose(risk.prior, 0.4)
    frame = risk.to_frame()
    expected = weights @ risks
    within(frame["expected"], expected, frame["expected_mcse"])
    deviation = np.sqrt(weights @ (risks - expected) ** 2)
    mcse = frame["expected_mcse"].tolist()
    assert mcse == pytest.approx(deviation / np.sqrt(300), rel=0.3)
    worst_variance = quantile_variance(risk.probability, 0.95)
    assert frame["worst_mcse"].tolist() == pytest.approx(np.sqrt(worst_variance))
    spread = 4.5 * np.sqrt(0.05 * 0.95 / 300)
    for i, worst in enumerate(frame["worst"]):
        assert weights[risks[:, i] <= worst - 1e-9].sum() - spread <= 0.95
        assert weights[risks[:, i] <= worst + 1e-9].sum() + spread >= 0.95
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
def test_risks_of_a_mechanism_have_no_error(n_releases: int) -> None:
    n_well, n_sick = 4, 2
    schema = Schema((Variable("sick", ("no", "yes")),))
    codes = np.repeat([0, 1], [n_well, n_sick])[:, None]
    mechanism = beta_binomial(6, 3, alpha=1.0)
    data = Microdata(codes.astype(np.uint8), schema)

    risk = risk_before_release(data, MechanismSynthesizer(mechanism, [2]), n_releases)

    frame = risk.to_frame()
    sets = np.array([*itertools.product(range(4), repeat=n_releases)])
    weights = np.exp(mechanism.row(n_sick)[sets].sum(axis=1))
    mean_log_gain = 0.0
    for i, (other, share) in enumerate([(n_sick + 1, 4 / 6), (n_sick - 1, 2 / 6)]):
        loss = privacy_loss(mechanism, n_sick, other)
        risks = expit(loss[sets].sum(axis=1))
        mean_log_gain += share * (weights @ np.log(risks / 0.5))
        assert frame["expected"][i] == pytest.approx(weights @ risks)
        worst = frame["worst"][i]
        assert weights[risks <= worst - 1e-9].sum() < 0.95
        assert weights[risks <= worst + 1e-9].sum() >= 0.95 - 1e-9
        assert frame["expected_mcse"][i] == frame["worst_mcse"][i] == 0
    largest_and_gain = risk.file_level_risk()["expected"]
    assert largest_and_gain["mean_log_gain"] == pytest.approx(mean_log_gain)
    assert risk.exact
    assert risk.weights.sum() == pytest.approx(1)


def test_risks_by_the_mixture_are_those_of_its_marginal_likelihood() -> None:
    """Two classes, three records: every allocation is gone through."""
    chains = Chains(n_classes=2, burn_in=100, n_draws=300, n_chains=4)
    risk = risk_before_release(
        TABLE, DPMPMSynthesizer(LEVELS, chains), 2, 20, rng=np.random.default_rng(4)
    )

    # The releases are drawn by the same stream in the same order.
    rng = np.random.default_rng(4)
    more_chains = replace(chains, n_chains=CHAINS_FACTOR * chains.n_chains)
    data_stream, *_ = rng.spawn(41)
    draws = sample_posterior(
        DATA, LEVELS, more_chains, rng=data_stream, keep_allocations=True
    )
    released = draws.release(40, 3, rng=rng)
    for i in (0, 1):
        releases = [*released[2 * i : 2 * i + 2]]
        again = posterior_risk(
            TABLE,
            [Microdata(z, SCHEMA) for z in releases],
            chains=chains,
            rng=np.random.default_rng(i),
            progress=False,
        )
        assert 0 < again.log_mcse.max() < 0.2
        for row, support in enumerate(SUPPORTS):
            exact = exact_log_risk(DATA, row, support, releases, [2, 3], 2, Prior())
            error = np.log(risk.probability[i, row]) - exact[0]
            assert abs(error) < 5 * again.log_mcse[row]

    assert risk.convergence is not None
    draws_given = risk.convergence["draws_given"][:3].tolist()
    assert draws_given == ["the data", "release 1", "release 2"]
    # The error includes that of the chains which all columns share.
    assert risk.jackknife_probability.shape == (CHAINS_FACTOR * 4, 20, 3)
    frame = risk.to_frame()
    between = risk.probability.std(axis=0, ddof=1) / np.sqrt(20)
    assert (frame["expected_mcse"] > between).all()
    worst_variance = quantile_variance(risk.probability, 0.95)
    assert (frame["worst_mcse"] > np.sqrt(worst_variance)).all()
    assert "3 combinations of 3 records" in risk.summary()


def test_a_quantile_is_the_first_value_that_reaches_its_weight() -> None:
    values = np.array([[3.0], [1.0], [2.0], [4.0]])
    weights = np.array([0.1, 0.2, 0.65, 0.05])
    assert quantile(values, weights, 0.95) == [3]
    assert quantile(values, weights, 0.951) == [4]
    assert quantile(np.arange(100.0)[:, None], np.full(100, 0.01), 0.95) == [94]


def test_the_variance_of_a_quantile_is_that_over_samples() -> None:
    samples = np.random.default_rng(8).normal(size=(200, 3000))
    variance = np.var(quantile(samples, np.full(200, 1 / 200), 0.95))
    assert quantile_variance(samples, 0.95).mean() == pytest.approx(variance, rel=0.25)


ONE_CHAIN = DPMPMSynthesizer(
    LEVELS, Chains(n_classes=2, burn_in=1, n_draws=9, n_chains=1)
)
FINITE = MechanismSynthesizer(dirichlet_multinomial(3, 3, [1.0] * 6), LEVELS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rng": None}, "rng is not given"),
        ({"n_sets": 10}, "n_sets is 10; it must be 20 or more"),
        ({"rows": [3]}, "rows must be one or more positions in 0 to 2"),
        ({"rows": [True, False, True]}, "rows must be one or more positions in 0 to 2"),
        ({"synthesizer": object()}, "must be Trees, or have the functions"),
        ({"synthesizer": ONE_CHAIN}, "chains has 1 chains of"),
        (
            {"original": Microdata(DATA[:2], SCHEMA), "synthesizer": fit_trees(TABLE)},
            "fitted to another table",
        ),
        ({"synthesizer": FINITE, "n_releases": 20}, "at most 200,000"),
    ],
)
def test_wrong_input_is_named(change, message):
    given = {"original": TABLE, "synthesizer": TREES, "rng": np.random.default_rng(9)}
    with pytest.raises(ValueError, match=message):
        risk_before_release(**given | change)
