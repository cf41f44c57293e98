"""The posterior risk of a table in one call, and its chains, which run until they agree."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import records
from enumeration import exact_log_risk
from numpy.typing import NDArray

from srlib import diagnostics
from srlib import risk as disclosure
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema
from srlib.display import percent
from srlib.dpmpm import Chains, Draws, Prior, cell_log_prob, sample_posterior
from srlib.risk import DrawSets, agreement
from srlib.risk import posterior as module
from srlib.risk.posterior import PosteriorRisk

ORIGINAL, *RELEASED = records(60, 1), records(60, 2), records(40, 3)
FEW = Chains(n_classes=3, burn_in=50, n_draws=40, n_chains=3)
TABLES = ORIGINAL, *RELEASED
SCHEMA = Schema.from_frame(pd.concat(TABLES))
CODES, *CODES_RELEASED = (Microdata.from_frame(each, SCHEMA).codes for each in TABLES)
COMBINATIONS = distinct(CODES)[0]


def risk_of(*tables: Any, **settings: Any) -> PosteriorRisk:
    given: dict[str, Any] = {
        "chains": FEW,
        "rng": np.random.default_rng(5),
        "progress": False,
    }
    original, released = tables or (ORIGINAL, RELEASED)
    return disclosure.posterior_risk(original, released, **(given | settings))


@pytest.fixture(scope="module")
def sets() -> DrawSets:
    """Draws given the same tables."""
    rng = np.random.default_rng(5)
    return DrawSets.fit(CODES, CODES_RELEASED, SCHEMA.n_levels, FEW, rng=rng)


def test_the_same_numbers_as_step_by_step(
    sets: DrawSets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same draws, fitted here or given, and in blocks, as what it is made of."""
    both = [disclosure.collapsed_log_ratios(each, COMBINATIONS) for each in sets]
    ratios, log_prob = zip(*both, strict=True)
    expected = disclosure.predictive_ratio(ratios)
    weights = -log_prob[0].reshape(-1, len(COMBINATIONS)).T
    r_hat = [diagnostics.r_hat(cell_log_prob(draws, COMBINATIONS)) for draws in sets]
    given: dict[str, Any] = {"draws": sets, "chains": None}
    for settings, block in (({}, module._BLOCK), (given, module._BLOCK), (given, 200)):
        monkeypatch.setattr(module, "_BLOCK", block)
        found = risk_of(**settings)
        np.testing.assert_array_equal(found.combinations, COMBINATIONS)
        np.testing.assert_array_equal(found.probability, expected.probability)
        np.testing.assert_array_equal(found.rank, expected.rank)
        np.testing.assert_array_equal(found.log_mcse, expected.log_mcse[:, 0])
        assert found.support_size == expected.support_size == 1 + 2 + 3 + 1
        np.testing.assert_array_equal(found.pareto_k, diagnostics.pareto_k(weights))
        np.testing.assert_array_equal(found.r_hat, np.max(r_hat, axis=0))
    frame = found.to_frame()
    pd.testing.assert_frame_equal(frame[[*SCHEMA.names]], SCHEMA.decode(COMBINATIONS))
    assert frame["repetitions"].sum() == len(ORIGINAL)


def test_unknown_variables_and_their_prior(sets: DrawSets) -> None:
    unknown = ["town", "sick"]
    at = SCHEMA.positions(unknown, "unknown")

    def log_prior(candidates: pd.DataFrame) -> NDArray:
        return np.where(candidates["sick"] == "yes", np.log(0.1), np.log(0.9))

    found = risk_of(unknown=unknown, log_prior=log_prior)
    supports = np.stack(
        [disclosure.subset_support(x, at, SCHEMA.n_levels) for x in COMBINATIONS]
    )
    log_prob = np.log([0.9, 0.1])[supports[:, :, SCHEMA.names.index("sick")]]
    means = [disclosure.subset_log_means(each, COMBINATIONS, at) for each in sets]
    expected = disclosure.predictive_ratio(means, log_prob)
    assert found.support_size == 8
    np.testing.assert_allclose(found.probability, expected.probability, rtol=1e-12)
    np.testing.assert_allclose(found.log_mcse, expected.log_mcse[:, 0], rtol=1e-9)
    assert np.abs(risk_of(unknown=unknown).probability - found.probability).max() > 0.01


def test_one_class_against_enumeration() -> None:
    """With one class nothing is left to chance: pi and phi are integrated out."""
    prior = Prior(concentration=0.7)
    found = risk_of(
        chains=Chains(n_classes=1, burn_in=0, n_draws=4, n_chains=2, prior=prior)
    )
    for x, probability in zip(COMBINATIONS, found.probability, strict=True):
        record = int((x == CODES).all(axis=1).argmax())
        support = disclosure.one_variable_supports(x[None], SCHEMA.n_levels)[0]
        exact = exact_log_risk(
            CODES, record, support, CODES_RELEASED, [3, 4, 2], 1, prior
        )
        assert probability == pytest.approx(np.exp(exact[0]), rel=1e-9)
    assert found.log_mcse.max() < 1e-9


def test_categorical_columns_and_microdata_are_taken_as_they_are() -> None:
    every = (CODES, *CODES_RELEASED)
    expected = risk_of()
    frames = [SCHEMA.decode(codes) for codes in every]
    for original, *released in (frames, [Microdata(codes, SCHEMA) for codes in every]):
        found = risk_of(original, released)
        assert found.schema.n_levels.tolist() == [3, 4, 2]
        np.testing.assert_array_equal(found.probability, expected.probability)
    one_release = risk_of(frames[0], frames[1])  # a single release needs no list
    assert len(one_release.share_not_converged) == 2
    # A value that no record has is a candidate where it is declared.
    wide = ORIGINAL.astype("category").assign(
        job=pd.Categorical(ORIGINAL["job"], [*"abcd"])
    )
    assert risk_of(wide, RELEASED).support_size == 8


def test_chains_that_disagree_are_reported() -> None:
    """Chains without burn-in, of four draws, against chains that agree for nearly all records."""
    sick = risk_of(chains=Chains(n_classes=20, burn_in=0, n_draws=4, n_chains=2))
    assert not sick.converged
    assert "The chains have not converged" in sick.summary()
    unreliable = percent(np.mean(~sick.reliable), 1)
    assert f"{unreliable} of the combinations are unreliable" in sick.summary()
    healthy = risk_of(chains=Chains(n_classes=1, burn_in=50, n_draws=2000))
    assert healthy.converged
    # Of few draws Pareto k is not known, which says nothing against a record.
    assert replace(healthy, pareto_k=healthy.pareto_k * np.nan).reliable.mean() > 0.95
    assert not replace(healthy, log_mcse=healthy.log_mcse + np.inf).reliable.any()
    assert "have not converged" not in healthy.summary()
    assert repr(healthy) == f"<PosteriorRisk: {healthy.summary()}>"


@pytest.mark.parametrize(
    ("support_size", "counted"),
    [
        (
            2,
            "above 0.5, more than all other candidates together, for 5 of the combinations.",
        ),
        (
            10,
            "above 0.5, more than all other candidates together, for 5 of the combinations.",
        ),
        (
            11,
            "above 0.91, ten times the share 1 / support_size, for 1 of the combinations.",
        ),
        (
            100,
            "above 0.1, ten times the share 1 / support_size, for 9 of the combinations.",
        ),
    ],
)
def test_the_summary_counts_above_a_limit_below_one(
    support_size: int, counted: str
) -> None:
    found = risk_of(chains=Chains(n_classes=1, burn_in=0, n_draws=4, n_chains=2))
    found = replace(
        found, probability=np.linspace(0.05, 0.95, 10), rank=np.array([1, 1, 1.5, 2])
    )
    summary = replace(found, support_size=support_size).summary()
    assert f"a maximum of 0.95; it is {counted}" in summary
    assert "the most probable candidate for 2." in summary


def test_chains_run_in_rounds_until_they_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    few: dict[str, int] = {"n_classes": 1, "n_chains": 4}
    rounds = agreement.chain_schedule(8_000, n_draws=250, **few)
    assert [each.n_iterations for each in rounds] == [500, 2_000, 8_000]
    assert [each.burn_in for each in rounds] == [250, 1_000, 4_000]
    (only,) = agreement.chain_schedule(100, n_draws=250, **few)
    assert only.n_iterations == 500
    lengths = []

    def drawn(codes: Any, n_levels: Any, chains: Chains, **given: Any) -> Draws:
        lengths.append(chains.n_iterations)
        return sample_posterior(codes, n_levels, chains, **given)

    monkeypatch.setattr("srlib.risk.draw_sets.sample_posterior", drawn)
    found = risk_of(chains=agreement.chain_schedule(64_000, n_draws=1000, **few))
    assert lengths.count(4_000) == 3  # one class agrees in the first round
    assert max(lengths) < 64_000
    assert found.converged
    lengths.clear()
    disagreement = {"share_not_converged": agreement.MAX_NOT_CONVERGED + 0.01}
    monkeypatch.setattr("srlib.risk.draw_sets.convergence", lambda *_: disagreement)
    risk_of(chains=rounds[:2])
    assert lengths == [500, 2_000] * 3


@pytest.mark.parametrize(
    ("tables", "settings", "message"),
    [
        ((ORIGINAL, []), {}, "released is empty; it must hold one table or more"),
        (
            (ORIGINAL, [RELEASED[0][:0]]),
            {},
            "released, table 1: the table has 0 records",
        ),
        (
            (ORIGINAL, [RELEASED[0], ORIGINAL[["job"]]]),
            {},
            "released, table 2: missing columns",
        ),
        ((ORIGINAL, RELEASED[0].replace("b", "d")), {}, "table 1: values outside"),
        (
            (ORIGINAL.replace({"job": {"b": None}}), RELEASED),
            {},
            "original: missing values",
        ),
        ((), {"unknown": ["age"]}, "unknown names 'age'"),
        ((), {"unknown": []}, "unknown is"),
        (
            (),
            {"log_prior": lambda some: 0.0},
            r"log_prior returns shape \(\) for 7 candidates",
        ),
        (
            (),
            {"log_prior": lambda some: np.full(len(some), np.nan)},
            "and none missing",
        ),
        ((), {"chains": replace(FEW, n_chains=1)}, "chains has 1 chains of 40 draws"),
        ((), {"chains": []}, "chains is empty"),
        ((), {"draws": "sets"}, "draws and chains are both given"),
        (
            (ORIGINAL, RELEASED[:1]),
            {"draws": "sets", "chains": None},
            "releases; the tables have",
        ),
        (
            [each.rename(columns={"sick": "rank"}) for each in (ORIGINAL, RELEASED[0])],
            {},
            "'rank'",
        ),
    ],
)
def test_bad_input_is_found_before_sampling(
    tables, settings, message, sets, monkeypatch
):
    monkeypatch.delattr("srlib.risk.draw_sets.sample_posterior")
    given = {"draws": sets} if "draws" in settings else {}
    with pytest.raises(ValueError, match=message):
        risk_of(*tables, **settings | given)


def test_no_bar_is_drawn_where_none_is_wanted(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    risk_of(progress=False)
    assert capsys.readouterr().err == ""
    risk_of(progress=True)
    assert "risks" in capsys.readouterr().err
