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
GROWTH = Growth(1, smoothing=1.0)
TREES = SequentialTrees(SCHEMA, growth=GROWTH)
ONE_CHAIN = DPMPMSynthesizer(
    LEVELS, Chains(n_classes=2, burn_in=1, n_draws=9, n_chains=1)
)
FINITE = MechanismSynthesizer(dirichlet_multinomial(3, 3, [1.0] * 6), LEVELS)


def within(found: NDArray, expected: NDArray, mcse: NDArray) -> None:
    assert np.isfinite(mcse).all()
    assert (np.abs(found - expected) <= 4.5 * mcse + 1e-9).all(), (
        found,
        expected,
        mcse,
    )


@pytest.mark.parametrize("size", [1, 2])
def test_risks_before_release_by_enumeration(size: int) -> None:
    """Errors are those of 300 draws; shares of records are of the target records."""
    near = one_variable_supports(DATA, LEVELS)
    every_table = np.array([*itertools.product(CELLS, repeat=3)])
    column = np.array(
        [one_by_one(TREES, [released], DATA, near) for released in every_table]
    )
    probability = np.exp(column[:, 0, 0])
    log_prior = np.log([0.4, 0.3, 0.2, 0.1])
    trees, priors, rng = (
        fit_trees(TABLE, growth=GROWTH),
        [log_prior] * 3,
        np.random.default_rng(5),
    )
    risk = risk_before_release(TABLE, trees, size, 300, log_prior=priors, rng=rng)
    np.testing.assert_allclose(risk.prior, 0.4)
    if size == 2:
        column = (column[:, None] + column[None]).reshape(-1, 3, 4)
        probability = np.outer(probability, probability).ravel()
    joint = column + log_prior
    every = np.exp(joint[..., 0] - logsumexp(joint, axis=2))
    frame = risk.to_frame()
    within(frame["expected"], probability @ every, frame["expected_mcse"])
    deviation = np.sqrt(probability @ (every - probability @ every) ** 2)
    assert frame["expected_mcse"].tolist() == pytest.approx(
        deviation / np.sqrt(300), rel=0.3
    )
    of_quantile = quantile_variance(risk.probability, 0.95)
    assert frame["worst_mcse"].tolist() == pytest.approx(np.sqrt(of_quantile))
    for i in range(3):
        share = [
            probability[every[:, i] <= frame["worst"][i] + by].sum()
            for by in (-1e-9, 1e-9)
        ]
        spread = 4.5 * np.sqrt(0.05 * 0.95 / 300)
        assert share[0] - spread <= 0.95 <= share[1] + spread
    over = risk.file_level_risk()
    largest, gain = every.max(axis=1), np.log(every / 0.4).mean(axis=1)
    for name, of in (
        ("largest", largest),
        ("mean_log_gain", gain),
        ("share_above_half", (every > 0.5).mean(axis=1)),
    ):
        within(
            over.loc[name, "expected"],
            probability @ of,
            over.loc[name, "expected_mcse"],
        )


@pytest.mark.parametrize("size", [1, 3])
def test_risks_of_a_mechanism_have_no_error(size: int) -> None:
    n, x = 6, 2  # six people of whom two are sick
    codes, table = (
        np.repeat([0, 1], [n - x, x])[:, None],
        beta_binomial(n, 3, alpha=1.0),
    )
    data = Microdata(codes.astype(np.uint8), Schema((Variable("sick", ("no", "yes")),)))
    risk = risk_before_release(data, MechanismSynthesizer(table, [2]), size)
    frame = risk.to_frame()
    sets, gain = [list(z) for z in itertools.product(range(4), repeat=size)], 0.0
    for at, other in enumerate((x + 1, x - 1)):
        loss, log_prob = privacy_loss(table, x, other), table.row(x)
        of = expit([loss[z].sum() for z in sets])
        weights = np.exp([log_prob[z].sum() for z in sets])
        assert frame["expected"][at] == pytest.approx(weights @ of)
        gain += (n - x, x)[at] / n * (weights @ np.log(of / 0.5))
        below = [weights[of <= frame["worst"][at] + by].sum() for by in (-1e-9, 1e-9)]
        assert below[0] < 0.95 <= below[1] + 1e-9
        assert frame["expected_mcse"][at] == frame["worst_mcse"][at] == 0
    assert risk.file_level_risk().loc["mean_log_gain", "expected"] == pytest.approx(
        gain
    )
    assert (risk.exact, risk.weights.sum()) == (True, pytest.approx(1))


def test_risks_by_the_mixture_are_those_of_its_marginal_likelihood() -> None:
    """Two classes, three records: every allocation is gone through."""
    chains = Chains(n_classes=2, burn_in=100, n_draws=300, n_chains=4)
    mixture = DPMPMSynthesizer(LEVELS, chains)
    risk = risk_before_release(TABLE, mixture, 2, 20, rng=np.random.default_rng(4))
    # The releases are drawn by the same stream in the same order.
    rng = np.random.default_rng(4)
    many = replace(chains, n_chains=CHAINS_FACTOR * chains.n_chains)
    data = sample_posterior(
        DATA, LEVELS, many, rng=rng.spawn(41)[0], keep_allocations=True
    )
    released = data.release(40, 3, rng=rng)
    for at in (0, 1):
        both, again = [*released[2 * at : 2 * at + 2]], np.random.default_rng(at)
        shown = [Microdata(z, SCHEMA) for z in both]
        error = posterior_risk(
            TABLE, shown, chains=chains, rng=again, progress=False
        ).log_mcse
        assert 0 < error.max() < 0.2
        for row, support in enumerate(one_variable_supports(DATA, LEVELS)):
            exact = exact_log_risk(DATA, row, support, both, [2, 3], 2, Prior())
            assert abs(np.log(risk.probability[at, row]) - exact[0]) < 5 * error[row]
    assert risk.convergence is not None
    assert risk.convergence["draws_given"][:3].tolist() == [
        "the data",
        "release 1",
        "release 2",
    ]
    # The error has that of the chains which all columns share.
    assert risk.jackknife_probability.shape == (CHAINS_FACTOR * 4, 20, 3)
    between = risk.probability.std(axis=0, ddof=1) / np.sqrt(20)
    assert (risk.to_frame()["expected_mcse"] > between).all()
    of_quantile = np.sqrt(quantile_variance(risk.probability, 0.95))
    assert (risk.to_frame()["worst_mcse"] > of_quantile).all()
    assert "3 combinations of 3 records" in risk.summary()


def test_quantiles_and_their_errors() -> None:
    values = np.array([[3.0], [1.0], [2.0], [4.0]])
    weights = np.array([0.1, 0.2, 0.65, 0.05])
    assert [quantile(values, weights, level)[0] for level in (0.95, 0.951)] == [3, 4]
    assert quantile(np.arange(100.0)[:, None], np.full(100, 0.01), 0.95)[0] == 94
    samples = np.random.default_rng(8).normal(size=(200, 3000))
    found = np.var(quantile(samples, np.full(200, 1 / 200), 0.95))
    assert quantile_variance(samples, 0.95).mean() == pytest.approx(found, rel=0.25)


@pytest.mark.parametrize(
    ("table", "synthesizer", "settings", "message"),
    [
        (TABLE, TREES, {"rng": None}, "rng is not given"),
        (TABLE, TREES, {"n_sets": 10}, "n_sets is 10; it must be 20 or more"),
        (TABLE, TREES, {"rows": [3]}, "rows must be one or more positions in 0 to 2"),
        (
            TABLE,
            TREES,
            {"rows": [True, False, True]},
            "rows must be one or more positions in 0 to 2",
        ),
        (TABLE, object(), {}, "must be Trees, or have the functions"),
        (TABLE, ONE_CHAIN, {}, "chains has 1 chains of"),
        (Microdata(DATA[:2], SCHEMA), fit_trees(TABLE), {}, "fitted to another table"),
        (TABLE, FINITE, {"n_releases": 20}, "at most 200,000"),
    ],
)
def test_wrong_input_is_named(table, synthesizer, settings, message):
    with pytest.raises(ValueError, match=message):
        risk_before_release(
            table, synthesizer, **{"rng": np.random.default_rng(9)} | settings
        )
