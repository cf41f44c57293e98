"""The posterior risk of a table in one call, by chains that run until they agree."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import records
from enumeration import exact_log_risk
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import value_error

from srlib import diagnostics
from srlib.data import Microdata, Schema, distinct
from srlib.display import percent
from srlib.dpmpm import Chains, Prior, cell_log_prob, sample_posterior
from srlib.margins import DirichletMargins
from srlib.risk import (
    DrawSets,
    collapsed_log_ratios,
    one_variable_supports,
    posterior_risk,
    predictive_ratio,
    subset_log_means,
    subset_support,
)
from srlib.risk import posterior as module
from srlib.risk.draw_sets import MAX_NOT_CONVERGED, chain_schedule
from srlib.risk.estimators import log_likelihood
from srlib.risk.likelihood import CandidateLikelihood

ORIGINAL = records(60, 1)
RELEASED = [records(60, 2), records(40, 3)]
FEW = Chains(n_classes=3, burn_in=50, n_draws=40, n_chains=3)
SHORT = Chains(n_classes=1, burn_in=0, n_draws=4, n_chains=2)
SCHEMA = Schema.from_frame(pd.concat([ORIGINAL, *RELEASED]))
CODES = Microdata.from_frame(ORIGINAL, SCHEMA).codes
RELEASED_CODES = [Microdata.from_frame(table, SCHEMA).codes for table in RELEASED]
COMBINATIONS = distinct(CODES)[0]


def risk_of(**change):
    given = {
        "original": ORIGINAL,
        "released": RELEASED,
        "chains": FEW,
        "rng": default_rng(5),
        "progress": False,
    }
    return posterior_risk(**given | change)


@pytest.fixture(scope="module")
def sets():
    """Draws given the same tables."""
    rng = default_rng(5)
    return DrawSets.fit(CODES, RELEASED_CODES, SCHEMA.n_levels, FEW, rng=rng)


@pytest.mark.parametrize("block", [module._BLOCK, 200])
@pytest.mark.parametrize("draws_are_given", [False, True])
def test_risks_are_those_of_the_steps(sets, block, draws_are_given, monkeypatch):
    """With the same draws, fitted here or given, and in blocks of combinations."""
    monkeypatch.setattr(module, "_BLOCK", block)
    collapsed = [collapsed_log_ratios(draws, COMBINATIONS) for draws in sets]
    expected = predictive_ratio([log_ratios for log_ratios, _ in collapsed])
    _, log_prob = collapsed[0]
    log_weights = -log_prob.reshape(-1, len(COMBINATIONS)).T
    r_hat = [diagnostics.r_hat(cell_log_prob(draws, COMBINATIONS)) for draws in sets]

    change = {"draws": sets, "chains": None} if draws_are_given else {}
    risk = risk_of(**change)

    assert_array_equal(risk.combinations, COMBINATIONS)
    assert_array_equal(risk.probability, expected.probability)
    assert_array_equal(risk.rank, expected.rank)
    assert_array_equal(risk.log_mcse, expected.log_mcse[:, 0])
    assert_array_equal(risk.pareto_k, diagnostics.pareto_k(log_weights))
    assert_array_equal(risk.r_hat, np.max(r_hat, axis=0))
    assert risk.support_size == expected.support_size == 1 + 2 + 3 + 1
    frame = risk.to_frame()
    pd.testing.assert_frame_equal(frame[[*SCHEMA.names]], SCHEMA.decode(COMBINATIONS))
    assert frame["repetitions"].sum() == len(ORIGINAL)


def test_unknown_variables_and_their_prior(sets):
    unknown = ["town", "sick"]
    positions = SCHEMA.positions(unknown, "unknown")

    def log_prior(candidates):
        return np.log(np.where(candidates["sick"] == "yes", 0.1, 0.9))

    risk = risk_of(unknown=unknown, log_prior=log_prior)

    supports = [subset_support(x, positions, SCHEMA.n_levels) for x in COMBINATIONS]
    is_sick = np.array(supports)[:, :, SCHEMA.names.index("sick")]
    log_ratios = [subset_log_means(draws, COMBINATIONS, positions) for draws in sets]
    likelihood = CandidateLikelihood(log_likelihood, log_ratios)
    expected = likelihood.posterior(np.log([0.9, 0.1])[is_sick])
    assert risk.support_size == 8
    assert_allclose(risk.probability, expected.probability, rtol=1e-12)
    assert_allclose(risk.log_mcse, expected.log_mcse[:, 0], rtol=1e-9)
    uniform = risk_of(unknown=unknown)
    assert np.max(np.abs(uniform.probability - risk.probability)) > 0.01


def test_one_class_against_enumeration():
    """With one class there is no Monte Carlo error: pi and phi are integrated out.

    By chains and by the density of the releases.
    """
    prior = Prior(concentration=0.7)

    risk = risk_of(chains=replace(SHORT, prior=prior))

    supports = one_variable_supports(COMBINATIONS, SCHEMA.n_levels)
    model = RELEASED_CODES, [3, 4, 2], 1, prior
    for i, x in enumerate(COMBINATIONS):
        row = int(np.argmax((x == CODES).all(axis=1)))
        exact = exact_log_risk(CODES, row, supports[i], *model)
        assert risk.probability[i] == pytest.approx(np.exp(exact[0]), rel=1e-9)
    assert risk.log_mcse.max() < 1e-9
    one_class = DirichletMargins(SCHEMA.n_levels, 0.7)
    by_density = risk_of(chains=None, synthesizer=one_class)
    assert_allclose(by_density.probability, risk.probability, rtol=1e-6)


def test_categorical_columns_and_microdata_are_taken_as_they_are():
    expected = risk_of()
    microdata = [Microdata(x, SCHEMA) for x in (CODES, *RELEASED_CODES)]
    frames = [table.to_frame() for table in microdata]
    for original, *released in (frames, microdata):
        risk = risk_of(original=original, released=released)
        assert risk.schema.n_levels.tolist() == [3, 4, 2]
        assert_array_equal(risk.probability, expected.probability)


def test_a_single_release_needs_no_list():
    risk = risk_of(released=RELEASED[0])
    assert len(risk.share_not_converged) == 2


def test_a_declared_level_without_records_is_a_candidate():
    job = pd.Categorical(ORIGINAL["job"], [*"abcd"])
    original = ORIGINAL.astype("category").assign(job=job)
    assert risk_of(original=original).support_size == 8


def test_chains_that_disagree_are_reported():
    """Chains of four draws without burn-in."""
    risk = risk_of(chains=replace(SHORT, n_classes=20))
    assert not risk.converged
    assert "The chains have not converged" in risk.summary()
    unreliable = percent(np.mean(~risk.reliable), 1)
    assert f"{unreliable} of the combinations are unreliable" in risk.summary()


def test_chains_that_agree_are_reliable():
    risk = risk_of(chains=replace(SHORT, burn_in=50, n_draws=2000, n_chains=4))
    assert risk.converged
    assert "have not converged" not in risk.summary()
    # With few draws Pareto k is unknown, which says nothing against a record.
    unknown = replace(risk, pareto_k=risk.pareto_k * np.nan)
    assert unknown.reliable.mean() > 0.95
    imprecise = replace(risk, log_mcse=risk.log_mcse + np.inf)
    assert not imprecise.reliable.any()


MORE_THAN_OTHERS = "above 0.5, more than all other candidates together, for 5"
TEN_TIMES = "ten times 1 over the number of candidates, for"


@pytest.mark.parametrize(
    ("support_size", "counted"),
    [
        (2, MORE_THAN_OTHERS),
        (10, MORE_THAN_OTHERS),
        (11, f"above 0.91, {TEN_TIMES} 1"),
        (100, f"above 0.1, {TEN_TIMES} 9"),
    ],
)
def test_the_summary_counts_above_a_limit_below_one(support_size, counted):
    risk = replace(
        risk_of(chains=SHORT),
        probability=np.linspace(0.05, 0.95, 10),
        rank=np.array([1, 1, 1.5, 2]),
        support_size=support_size,
    )
    summary = risk.summary()
    assert f"a maximum of 0.95; it is {counted} of the combinations." in summary
    assert "the most probable candidate for 2." in summary


def schedule(max_iterations, n_draws):
    return chain_schedule(max_iterations, n_draws=n_draws, n_classes=1, n_chains=4)


def test_each_round_of_chains_is_four_times_as_long():
    rounds = schedule(8_000, n_draws=250)
    assert [chains.n_iterations for chains in rounds] == [500, 2_000, 8_000]
    assert [chains.burn_in for chains in rounds] == [250, 1_000, 4_000]
    (only,) = schedule(100, n_draws=250)
    assert only.n_iterations == 500


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        (0, [500]),
        (0.01, [500, 2_000]),
    ],
)
def test_chains_run_in_rounds_until_they_agree(excess, expected, monkeypatch):
    lengths = []

    def sample(codes, n_levels, chains, **settings):
        lengths.append(chains.n_iterations)
        return sample_posterior(codes, n_levels, chains, **settings)

    agreement = {"share_not_converged": MAX_NOT_CONVERGED + excess}
    monkeypatch.setattr("srlib.risk.draw_sets.sample_posterior", sample)
    monkeypatch.setattr("srlib.risk.draw_sets.convergence", lambda *_: agreement)

    risk_of(chains=schedule(2_000, n_draws=250))

    assert lengths == expected * 3


RANKED = ORIGINAL.rename(columns={"sick": "rank"})
ONE_OF_TWO = {"draws": "sets", "chains": None, "released": RELEASED[:1]}


@pytest.mark.parametrize(
    ("message", "change"),
    {
        "released is empty; it must hold one table or more": {"released": []},
        "released, table 1: the table has 0 records": {"released": [RELEASED[0][:0]]},
        "table 2: missing columns": {"released": [RELEASED[0], ORIGINAL[["job"]]]},
        "table 1: values outside": {"released": RELEASED[0].replace("b", "d")},
        "original: missing values": {"original": ORIGINAL.replace("b", None)},
        "unknown names 'age'": {"unknown": ["age"]},
        "unknown is": {"unknown": []},
        r"returns shape \(\) for 7 candidates": {"log_prior": lambda x: 0.0},
        "and none missing": {"log_prior": lambda x: np.full(len(x), np.nan)},
        "chains has 1 chains of 40 draws": {"chains": replace(FEW, n_chains=1)},
        "chains is empty": {"chains": []},
        "draws and chains are both given": {"draws": "sets"},
        "releases; the tables have": ONE_OF_TWO,
        "'rank'": {"original": RANKED, "released": RANKED},
    }.items(),
)
def test_bad_input_is_found_before_sampling(message, change, sets, monkeypatch):
    monkeypatch.delattr("srlib.risk.draw_sets.sample_posterior")
    if "draws" in change:
        change = change | {"draws": sets}
    with value_error(message):
        risk_of(**change)


def test_no_bar_is_drawn_where_none_is_wanted(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    risk_of(progress=False)
    assert capsys.readouterr().err == ""
    risk_of(progress=True)
    assert "risks" in capsys.readouterr().err
