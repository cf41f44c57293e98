"""Printed numbers of McClure and Reiter (2012) that the mechanism's readings give exactly."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binom

from srlib import mechanism
from srlib.papers import mcclure_reiter, proportion, proportion_chain
from srlib.papers.ledger import ledger, printed
from srlib.runner.parameters import Request, UsageError, read_parameters, resolve
from srlib.runner.run import run

N = 1000
PRINTED = printed("mcclure_reiter").set_index("id")


def matches(number: str, value: float) -> bool:
    row = PRINTED.loc[number]
    return abs(value - float(row["printed"])) <= row["tolerance"] * (1 + 1e-9)


@pytest.mark.parametrize("number", [i for i in PRINTED.index if i.startswith("table1")])
def test_table_1(number: str) -> None:
    """R for a record with Y = 1, or with Y = 0 where there is none."""
    p0, epsilon = map(float, re.findall(r"= ([\d.]+)", PRINTED.loc[number, "quantity"]))
    table = mechanism.bernoulli_plugin(N, N, mechanism.bernoulli_plugin_alpha(epsilon, N))
    ones = np.arange(N + 1)
    changed = np.where(ones > 0, ones - 1, 1)
    weights = binom.pmf(ones, N, p0)
    increase = mechanism.expected_increase(table, ones, changed, 0.5, weights)
    assert matches(number, increase)
    # The prior .5 makes R of one value and one minus R of the other the same statement; with all
    # records Y = 0 counted for a record with Y = 0 the entries differ for rare values.
    if p0 == 0.001 and epsilon == 1000:
        other = np.where(ones < N, ones + 1, N - 1)
        assert not matches(number, mechanism.expected_increase(table, ones, other, 0.5, weights))


def test_worked_example() -> None:
    example = mcclure_reiter.worked_example()
    assert len(example) == 6
    assert [number for number, value in example.items() if not matches(number, value)] == []


def test_file_is_well_formed() -> None:
    assert PRINTED.index.is_unique
    assert (PRINTED[["source", "quantity", "printed"]] != "").all(axis=None)
    assert set(PRINTED["relation"]) == {"=", "<=", ">="}
    assert PRINTED.index.str.startswith("table1").sum() == 24


@pytest.fixture(scope="module")
def exact() -> dict[tuple[float, float], proportion.Pairs]:
    ones = np.arange(N + 1)
    changed = np.where(ones > 0, ones - 1, 1)
    tables = {e: mechanism.private_plugin(e, N, N) for e in (1000, 100, 10, 2, 0.2, 0.01)}
    return {
        (p0, e): proportion.Study(table, p0).all_pairs(changed, 0.5)
        for p0 in (0.001, 0.3, 0.5, 0.999)
        for e, table in tables.items()
    }


def test_every_printed_number_is_answered(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    """What is left are settings, and numbers that differ, each with its explanation."""
    computed, tolerances = mcclure_reiter.answers(exact)
    book = ledger(
        "mcclure_reiter",
        computed,
        missing="a setting",
        tolerances=tolerances,
        notes=mcclure_reiter.NOTES,
    ).set_index("id")
    settings = book.index[book["verdict"] == "skipped"]
    assert all(PRINTED.loc[settings, "tolerance"] == 0)
    assert set(book.index[book["verdict"] == "differs"]) == set(mcclure_reiter.NOTES)
    assert (book["verdict"] == "match").sum() == len(computed) - len(mcclure_reiter.NOTES)
    # The tolerance comes from ten pairs, not from the digits.
    assert tolerances["utility_0.01_largest"] < 0.12


def test_one_chain_for_each_pair_explains_the_largest_utility(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    """At p0 = .5 and epsilon = .01 no release costs 2.7; estimates of unconverged chains do."""
    pairs = exact[0.5, 0.01]
    assert pairs.utility[pairs.probability > 1e-9].max() < 2.65
    study, rng = (
        proportion.Study(mechanism.private_plugin(0.01, N, N), 0.5),
        np.random.default_rng(1),
    )
    changed = np.maximum(np.arange(N + 1) - 1, 0)
    drawn = study.draw_pairs(changed, 0.5, 60, rng=rng)
    known = study.squared_error_given_count()[drawn.x]
    settings: dict = {"burn_in": 1_000, "n_steps": 99_000, "n_chains": 1, "rng": rng}
    reported = [
        np.log10(proportion_chain.chain_squared_errors(study, y, **settings).mean() / k)
        for y, k in zip(drawn.x_star, known, strict=True)
    ]
    largest = np.reshape(reported, (6, 10)).max(axis=1)
    assert (largest > 2.6).sum() >= 3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilon", "[2, 0]", "[0.001, 10000]"),
        ("epsilon", "[]", "is empty"),
        ("n", "0", "[1, 100000]"),
        ("n_s", "-1", "[1, 100000]"),
        ("p0", "[0.5, 1.1]", "[0, 1]"),
        ("prior", "-0.1", "[0, 1]"),
        ("n_chains", "1", "[2, 1000]"),
        ("acceptable", "[{rr_at_most: 2, r_at_least: 0.9, r_at_most: 0.1}]", "covers nothing"),
        ("acceptable", "[]", "no rule"),
    ],
)
def test_bad_parameters_are_found_before_a_kernel_starts(
    root: Path, name: str, value: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, "mcclure_reiter", overrides=[(name, value)])


@pytest.mark.parametrize(
    "settings",
    [
        {"n": 1, "n_s": 1, "p0": [0.0], "epsilon": [3.0], "prior": 0.0, "n_pairs": 1,
         "n_priors": 1},
        {"n": 40, "n_s": 60, "p0": [1.0, 0.2], "epsilon": [0.5, 50.0], "prior": 0.9, "n_pairs": 3,
         "acceptable": [{"rr_at_most": 1.0}]},
    ],
)  # fmt: skip
def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path, settings: dict) -> None:
    quick = {"n_steps": 1000, "burn_in": 10, "n_chains": 2}
    request = resolve(root, "mcclure_reiter")
    request = Request("mcclure_reiter", "other", {**request.parameters, **quick, **settings}, {})
    folder = run(root, request, tmp_path)
    book = pd.read_csv(folder / "tables/ledger.csv")
    assert not (book["verdict"] == "differs").any() or set(
        book.loc[book["verdict"] == "differs", "id"]
    ) <= set(mcclure_reiter.NOTES)
    replicates = pd.read_csv(folder / "tables/replicates.csv")
    cases = len(settings["p0"]) * len(settings["epsilon"])
    assert len(replicates) == cases * settings["n_pairs"]
    notebook = (folder / "notebook.ipynb").read_text(encoding="utf-8")
    assert "Warning" not in notebook


def test_sweep_varies_parameters_that_the_notebook_takes(root: Path) -> None:
    sweep = yaml.safe_load((root / "params/mcclure_reiter/sweep_rarity.yaml").read_text())
    declared = read_parameters(root / "notebooks/mcclure_reiter.py")
    for name, values in sweep["grid"].items():
        assert [declared[name].check(value) for value in values] == values
    assert {name: declared[name].check(value) for name, value in sweep["base"].items()}
    assert {"p0", "n", "epsilon", "prior"} <= set(sweep["grid"])
