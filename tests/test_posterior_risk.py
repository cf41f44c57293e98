"""The posterior risk of a table in one call, and the chains that it runs until they agree."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from enumeration import exact_log_risk
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema
from srlib.display import percent
from srlib.dpmpm import Chains, Draws, Prior, cell_log_prob, sample_posterior
from srlib.risk import (
    DrawSets,
    agreement,
    collapsed_log_ratios,
    neighborhood,
    posterior_risk,
    predictive_ratio,
    subset_log_means,
    subset_support,
)
from srlib.risk import posterior as module
from srlib.risk.posterior import PosteriorRisk


def test_chains_run_in_rounds_until_they_agree() -> None:
    few = {"n_classes": 1, "n_chains": 4}
    found = agreement.rounds(8_000, n_draws=250, **few)
    assert [each.n_iterations for each in found] == [500, 2_000, 8_000]
    assert [each.burn_in for each in found] == [250, 1_000, 4_000]
    (only,) = agreement.rounds(100, n_draws=250, **few)
    assert only.n_iterations == 500
    rng = np.random.default_rng(0)
    codes, combinations = rng.integers(0, 2, (50, 2)), np.array([[0, 0], [1, 1]])
    told: list[str] = []

    def drawn(*arguments: Any, label: str, **given: Any) -> Draws:
        told.append(label)
        return sample_posterior(*arguments, label=label, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "sample_posterior", drawn)
        draws = agreement.agreeing_draws(
            codes, np.array([2, 2]), agreement.rounds(12_800, n_draws=100, **few),
            combinations=combinations, rng=rng, label="x",
        )  # fmt: skip
    assert told[0] == "x, 200 iterations"
    assert len(told) < 4  # one class mixes at once
    assert draws.n_draws == 100
    agreed = agreement.convergence({"x": draws}, combinations)
    assert (agreed["apart"] <= agreement.APART).all()


# ------------------------------------------------------------------------------ one call


def table(n: int, seed: int) -> pd.DataFrame:
    """Three variables that go together, of texts and of numbers."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "job": np.array(["clerk", "cook", "smith"])[job],
            "sick": (rng.random(n) < 0.2 + 0.3 * job).astype(int),
            "town": np.array(["east", "north", "south", "west"])[rng.integers(0, 4, n)],
        }
    )


ORIGINAL, RELEASED = table(60, 1), [table(60, 2), table(40, 3)]
FEW = Chains(n_classes=3, burn_in=50, n_draws=40, n_chains=3)


def risk_of(*tables: Any, **settings: Any) -> PosteriorRisk:
    given: dict[str, Any] = {"chains": FEW, "rng": np.random.default_rng(5), "progress": False}
    original, released = tables or (ORIGINAL, RELEASED)
    return posterior_risk(original, released, **(given | settings))


def sets_of(chains: Chains = FEW) -> tuple[DrawSets, Schema, NDArray]:
    """Draws, schema and distinct combinations of the same tables."""
    schema = Schema.infer(pd.concat([ORIGINAL, *RELEASED]))
    codes = [schema.encode(each) for each in (ORIGINAL, *RELEASED)]
    rng = np.random.default_rng(5)
    return (
        DrawSets.fit(codes[0], codes[1:], schema.n_levels, chains, rng=rng),
        schema,
        distinct(codes[0])[0],
    )


def test_the_same_numbers_as_step_by_step() -> None:
    """With the same draws, fitted here or given, as the functions that it is made of."""
    sets, schema, combinations = sets_of()
    expected = predictive_ratio([collapsed_log_ratios(draws, combinations)[0] for draws in sets])
    for found in (risk_of(), risk_of(draws=sets, chains=None)):
        np.testing.assert_array_equal(found.combinations, combinations)
        np.testing.assert_array_equal(found.probability, expected.probability)
        np.testing.assert_array_equal(found.rank, expected.rank)
        np.testing.assert_array_equal(found.log_mcse, expected.log_mcse[:, 0])
        assert found.support_size == expected.support_size == 1 + 2 + 1 + 3
        weights = -collapsed_log_ratios(sets.data, combinations)[1].reshape(-1, len(combinations)).T
        np.testing.assert_array_equal(found.pareto_k, diagnostics.pareto_k(weights))
        values = [diagnostics.r_hat(cell_log_prob(draws, combinations)) for draws in sets]
        np.testing.assert_array_equal(found.r_hat, np.max(values, axis=0))
    frame = found.to_frame()
    for name, column in zip(schema.names, schema.decode(combinations).items(), strict=True):
        assert frame[name].tolist() == column[1].tolist()
    assert frame["repetitions"].sum() == len(ORIGINAL)


def test_blocks_of_combinations_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = risk_of()
    monkeypatch.setattr(module, "_BLOCK", 200)
    pd.testing.assert_frame_equal(risk_of().to_frame(), whole.to_frame())


def test_unknown_variables_and_their_prior() -> None:
    sets, schema, combinations = sets_of()
    at = schema.positions(["town", "sick"], "unknown")
    log_ratios = [subset_log_means(draws, combinations, at) for draws in sets]

    def log_prior(candidates: pd.DataFrame) -> NDArray:
        return np.where(candidates["sick"] == "1", np.log(0.1), np.log(0.9))

    found = risk_of(unknown=["town", "sick"], log_prior=log_prior)
    of_levels = np.log([0.9, 0.1])
    table = np.stack(
        [
            of_levels[subset_support(x, at, schema.n_levels)[:, schema.names.index("sick")]]
            for x in combinations
        ]
    )
    expected = predictive_ratio(log_ratios, table)
    assert found.support_size == 8
    np.testing.assert_allclose(found.probability, expected.probability, rtol=1e-12)
    np.testing.assert_allclose(found.log_mcse, expected.log_mcse[:, 0], rtol=1e-9)
    again = risk_of(unknown=["town", "sick"], log_prior=table)
    np.testing.assert_array_equal(again.probability, found.probability)
    assert np.abs(risk_of(unknown=["town", "sick"]).probability - found.probability).max() > 0.01


def test_one_class_against_enumeration() -> None:
    """With one class nothing is left to chance: pi and phi are integrated out."""
    chains = Chains(n_classes=1, burn_in=0, n_draws=4, n_chains=2)
    schema, combinations = sets_of(chains)[1:]
    found = risk_of(chains=chains)
    codes, *released = (schema.encode(each) for each in (ORIGINAL, *RELEASED))
    levels = schema.n_levels
    for x, probability in zip(combinations, found.probability, strict=True):
        record = int((codes == x).all(axis=1).argmax())
        support = neighborhood(x[None], levels)[0]
        exact = exact_log_risk(codes, record, support, released, levels.tolist(), 1, Prior())
        assert probability == pytest.approx(np.exp(exact[0]), rel=1e-9)
    assert found.log_mcse.max() < 1e-9


def test_categorical_columns_and_microdata_are_taken_as_they_are() -> None:
    schema = Schema.infer(pd.concat([ORIGINAL, *RELEASED]))
    frames = [schema.decode(schema.encode(each)) for each in (ORIGINAL, *RELEASED)]
    files = [Microdata(schema.encode(each), schema) for each in (ORIGINAL, *RELEASED)]
    expected = risk_of()
    for original, *released in (frames, files):
        found = risk_of(original, released)
        assert found.schema.n_levels.tolist() == [3, 2, 4]
        np.testing.assert_array_equal(found.probability, expected.probability)
    alone = risk_of(frames[0], frames[1])  # a single release needs no list
    assert len(alone.apart) == 2


def test_a_value_that_no_record_has_is_a_candidate_where_it_is_declared() -> None:
    wide = ORIGINAL.assign(job=pd.Categorical(ORIGINAL["job"], ["clerk", "cook", "smith", "spy"]))
    wide = wide.astype({"sick": "category", "town": "category"})
    assert risk_of(wide, RELEASED).support_size == 8


def test_chains_that_disagree_are_told_of() -> None:
    """Chains without burn-in, of four draws, against chains that agree for nearly all records."""
    sick = risk_of(chains=Chains(n_classes=20, burn_in=0, n_draws=4, n_chains=2))
    assert not sick.converged
    assert not sick.reliable.all()
    assert "The chains have not converged" in sick.summary()
    assert (
        f"{percent(np.mean(~sick.reliable), 1)} of the combinations are unreliable"
        in sick.summary()
    )
    healthy = risk_of(chains=Chains(n_classes=1, burn_in=50, n_draws=2000))
    assert healthy.converged
    assert healthy.apart.shape == (3,)
    assert "have not converged" not in healthy.summary()
    assert repr(healthy) == f"<PosteriorRisk: {healthy.summary()}>"


def test_rounds_end_where_the_chains_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def drawn(codes: Any, n_levels: Any, chains: Chains, **given: Any) -> Draws:
        lengths.append(chains.n_iterations)
        return sample_posterior(codes, n_levels, chains, **given)

    monkeypatch.setattr(agreement, "sample_posterior", drawn)
    three = agreement.rounds(64_000, n_classes=1, n_draws=1000, n_chains=4)
    found = risk_of(chains=three)
    assert lengths.count(4_000) == 3  # one class agrees in the first round
    assert max(lengths) < 64_000
    assert found.converged


@pytest.mark.parametrize(
    ("tables", "settings", "message"),
    [
        ((ORIGINAL, []), {}, "released is empty; it must hold one table or more"),
        ((ORIGINAL, ["a.csv"]), {}, "released, table 1 is 'a.csv'; it must be a DataFrame"),
        ((ORIGINAL, [RELEASED[0][:0]]), {}, "released, table 1: frame has 0 records"),
        ((ORIGINAL, [RELEASED[0], ORIGINAL[["job"]]]), {}, "released, table 2: missing columns"),
        (
            (ORIGINAL, RELEASED[0].replace({"job": {"cook": "spy"}})),
            {},
            "released, table 1: values outside the levels: job has 'spy'",
        ),
        (
            (ORIGINAL.replace({"job": {"cook": None}}), RELEASED),
            {},
            "original: missing values: job",
        ),
        ((), {"unknown": ["age"]}, "unknown names 'age'"),
        ((), {"unknown": []}, "unknown is"),
        ((), {"log_prior": np.zeros((2, 2))}, r"log_prior has shape \(2, 2\)"),
        ((), {"log_prior": lambda some: 0.0}, r"log_prior returns shape \(\) for 7 candidates"),
        ((), {"chains": replace(FEW, n_chains=1)}, "chains are 1 of 40 draws"),
        ((), {"chains": []}, "chains is empty"),
        ((), {"draws": sets_of()[0]}, "draws and chains are both given"),
        (
            (ORIGINAL, RELEASED[:1]),
            {"draws": sets_of()[0], "chains": None},
            r"and 2 releases; the tables have \[3, 2, 4\] and 1",
        ),
        (
            (
                ORIGINAL.rename(columns={"sick": "rank"}),
                [RELEASED[0].rename(columns={"sick": "rank"})],
            ),
            {},
            "variables are called 'rank'",
        ),
    ],
)
def test_bad_input_is_found_before_anything_is_sampled(
    tables: list | tuple, settings: dict, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("something was sampled")

    monkeypatch.setattr(agreement, "sample_posterior", never)
    with pytest.raises(ValueError, match=message):
        risk_of(*tables, **settings)


def test_no_bar_is_drawn_where_none_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    risk_of(progress=False)
    assert capsys.readouterr().err == ""
    risk_of(progress=True)
    assert "risks" in capsys.readouterr().err
