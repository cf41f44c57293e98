"""Printed numbers of McClure and Reiter (2012) that the mechanism's readings give exactly."""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binom

from srlib import mechanism
from srlib.ledger import printed
from srlib.mechanism import acceptance, proportion
from srlib.papers import binary_design as design
from srlib.papers import mcclure_reiter as paper
from srlib.papers.claims import FAILS, HOLDS, PROVED, UNDECIDED
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
    example = paper.worked_example()
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


RULES = acceptance.read_rules(
    [{"rr_at_most": 10, "r_at_most": 0.1}, {"rr_at_most": 1.05, "r_at_least": 0.9}]
)
RUN = {
    "n": N, "n_s": N, "p0": [0.001, 0.3, 0.5, 0.999], "epsilon": [1000, 100, 10, 2, 0.2, 0.01],
    "prior": 0.5, "n_pairs": 10, "n_priors": 1000, "burn_in": 1000, "n_steps": 99_000,
    "rules": RULES,
}  # fmt: skip


def test_every_printed_number_is_answered(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    """Settings are compared with nothing, and each number that differs has its explanation."""
    book = paper.book(exact, RUN).set_index("id")
    assert set(book["verdict"]) == {"match", "differs", "consistent", "setting"}
    assert set(book.index[book["verdict"] == "differs"]) == set(paper.NOTES)
    assert (book["verdict"] == "setting").sum() == 26
    assert (book["verdict"][book.index.str.startswith("table1")] == "match").all()
    # Extremes of ten pairs and numbers that follow from others are not recomputed ones.
    for number in ("utility_0.01_largest", "ratio_0.01_largest", "increase_001"):
        assert book.loc[number, "verdict"] == "consistent"
    # Both ends of one range are held against one proportion.
    for end, words in (
        ("smallest", "0.169 at p0 = 0.3, 0.188"),
        ("largest", "0.201 at p0 = 0.3, 0.000"),
    ):
        note = book.loc[f"utility_0.01_{end}", "note"]
        assert note.startswith("median of ten at p0 = 0.3,")
        assert f"{words} at p0 = 0.5" in note


def test_other_settings_are_not_held_against_the_papers(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    book = paper.book(exact, RUN | {"prior": 0.4}).set_index("id")
    assert set(book["verdict"]) == {"match", "setting", "skipped"}
    assert (book["verdict"] == "match").sum() == len(paper.worked_example())
    assert book.loc["prior", "note"] == "another setting than the paper's"


# ------------------------------------------------------------------ how a range came to be printed


def test_cells_of_both_conventions() -> None:
    values = np.array([1.94, 1.96, 2.04, 2.06, 2.66, 2.7, 2.76, 2.9])
    weights = np.arange(1.0, 9.0)
    rounded = paper.cells(values, weights, 0.01, paper.ROUNDED)
    np.testing.assert_allclose(rounded * 36, [1, 2 + 3, 4, 5 + 6, 7 + 8])
    cut = paper.cells(values, weights, 0.01, paper.CUT)
    np.testing.assert_allclose(cut * 36, [1 + 2, 3 + 4, 5, 6 + 7, 8])


def test_chances_of_a_range_against_enumeration() -> None:
    shares = np.array([[0.1, 0.2, 0.3, 0.25, 0.15], [0.0, 0.5, 0.1, 0.3, 0.1]])
    smallest = largest = both = 0.0
    for drawn in itertools.product(range(5), repeat=4):  # two pairs of each of two cases
        chance = np.prod([shares[i // 2, k] for i, k in enumerate(drawn)])
        smallest += chance * (min(drawn) == 1)
        largest += chance * (max(drawn) == 3)
        both += chance * (min(drawn) == 1 and max(drawn) == 3)
    np.testing.assert_allclose(paper.range_chances(shares, 2), (smallest, largest, both))


def test_explanations_of_the_printed_range(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    """The 2.7 is out of reach at p0 = .5 and ordinary at .3, if utilities are exact."""
    rng = np.random.default_rng(1)
    chains = {(p, e): rng.normal(1.5, 0.5, 400) for p in (0.3, 0.5) for e in paper.RANGES}
    table = paper.explanations(exact, chains, rng=rng)
    assert len(table) == 2 * 3 * 2 * 2
    found = table[table["convention"] == paper.ROUNDED].set_index(["utility", "p0", "epsilon"])
    found = found.sort_index()
    assert found.loc[("exact", "0.5", 0.01), "largest"] < 1e-12
    assert found.loc[("exact", "0.3", 0.01), "both"] == pytest.approx(0.0376, abs=5e-4)
    assert (found.loc["exact", "error"] == 0).all()
    assert (found.loc["one chain", "error"] > 0).all()
    q = exact[0.3, 0.01]
    drawn = rng.choice(q.utility, p=q.probability / q.probability.sum(), size=(20_000, 10))
    low, high = drawn.min(axis=1).round(1) == 2.0, drawn.max(axis=1).round(1) == 2.7
    assert (low & high).mean() == pytest.approx(found.loc[("exact", "0.3", 0.01), "both"], abs=6e-3)
    assert len(paper.explanations_in_words(table)) == 12
    said = paper.how_the_range_came_about(table)
    assert said.startswith("Rounded to a tenth, both ends have probability 0.038 at best for exact")
    assert said.count("a ratio of") == 2
    assert paper.explanations({}, {}, rng=rng).empty
    assert "no case" in paper.how_the_range_came_about(paper.explanations({}, {}, rng=rng))


# ---------------------------------------------------------------------------------------- verdicts


def of_priors(rare: tuple[float, float], common: tuple[float, float]) -> pd.DataFrame:
    names = ["p0", "epsilon", "expected_increase", "expected_increase_calibrated"]
    rows = [(0.001, 10.0, *rare), (0.5, 10.0, *common), (0.001, 1.0, 0, 0), (0.5, 1.0, 0, 0)]
    return pd.DataFrame(rows, columns=names).assign(log_gain_of_one=np.log(1.5))


def test_words_on_budget_and_rarity() -> None:
    assert paper.keeps_its_budget([1.0, 2.0], [1.0, 2.0]).word == PROVED
    assert paper.keeps_its_budget([1.0, 2.0], [1.0, 2.1]).word == FAILS
    for rare, common, word in (
        ((0.2, 0.02), (0.1, 0.01), HOLDS),
        ((0.2, 0.02), (0.1, 0.03), "depends on the intruder's prior"),
        ((0.1, 0.01), (0.1, 0.01), FAILS),
    ):
        assert paper.depends_on_rarity(of_priors(rare, common), 0.001, 0.5).word == word
    assert paper.depends_on_rarity(of_priors((1, 1), (1, 1)), 0.5, 0.5).word == UNDECIDED


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        ([0.01, 0.5], [0.01, 0.5], HOLDS),
        ([0.01, 0.5], [0.5, 0.0], "depends on $p_0$"),
        ([0.0, 0.5], [0.5, 0.0099], FAILS),
    ],
)
def test_words_on_ranges(lower: list[float], upper: list[float], word: str) -> None:
    table = pd.DataFrame({"p0": [0.3, 0.5], "epsilon": 2.0, "lower end": lower, "upper end": upper})
    assert paper.ranges_by_proportion(table).word == word
    assert paper.ranges_by_proportion(table[:0]).word == UNDECIDED


def test_a_proportion_out_of_reach_of_one_end_does_not_fit(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    """At p0 = .5 all ten pairs may lie inside "2 to 2.7", and none comes near 2.7."""
    ends = paper.inside_ranges(exact)
    found = ends.set_index(["p0", "epsilon"]).sort_index()
    assert found.loc[(0.5, 0.01), "upper end"] < 1e-12
    assert found.loc[(0.3, 0.01), "both ends"] == pytest.approx(0.0376, abs=5e-4)
    verdict = paper.ranges_by_proportion(ends)
    assert verdict.word == "depends on $p_0$"
    assert "0.02 at 0.3, 0.00 at 0.5" in verdict.because


def test_words_on_limits_of_relative_risk(
    exact: dict[tuple[float, float], proportion.Pairs],
) -> None:
    assert paper.limits_of_relative_risk(exact).word == HOLDS
    without = {case: q for case, q in exact.items() if case != (0.001, 1000)}
    assert paper.limits_of_relative_risk(without).word == "depends on the draw"
    assert paper.limits_of_relative_risk({}).word == UNDECIDED


def test_words_on_chains_releases_and_the_attack() -> None:
    table = pd.DataFrame({"p0": [0.5] * 20, "epsilon": [2.0] * 20, "utility": 1.0})
    for off, word in (([0.05] * 20, HOLDS), ([0.2] * 20, FAILS)):
        assert paper.chain_suffices(table.assign(utility_one_chain=1 + np.array(off))).word == word
    some = table.assign(utility_one_chain=1 + np.arange(20) / 100)
    assert paper.chain_suffices(some).word == "depends on epsilon and $p_0$"
    sizes = pd.DataFrame({"p0": 0.5, "epsilon": [1, 1, 9, 9], "size": [1.0, 2.0] * 2})
    for loss, word in (([1, 2, 1, 2], HOLDS), ([2, 1, 2, 1], FAILS), ([1, 2, 2, 1], "depends")):
        assert paper.several_releases(sizes.assign(loss=loss)).word.startswith(word)
    of_ones = "depends on the number of ones"
    for beyond, word in (([0.05, 0], HOLDS), ([0.06, 1], FAILS), ([0.05, 0.06], of_ones)):
        attack = {"records": 9, "ones in the data": [0, 1], "beyond the region": beyond}
        assert paper.attack_is_hard(pd.DataFrame(attack)).word == word
    assert paper.judged_over_all_priors(0.0, 3).word == PROVED
    assert paper.judged_over_all_priors(0.001, 3).word == FAILS


def test_the_attack_is_hard_where_ones_are_common() -> None:
    """With hundreds of ones among a thousand records hardly any release is refused."""
    tables = {e: design.first_rows(mechanism.private_plugin(e, N, N), 302) for e in (1000, 10, 0.2)}
    attack = design.attack_on_choice(tables, RULES).assign(records=N)
    beyond = attack.set_index("ones in the data")["beyond the region"]
    assert (beyond.loc[[0, 1, 2, 10]] > 0.1).all()
    assert (beyond.loc[[100, 300]] < 1e-4).all()
    verdict = paper.attack_is_hard(attack)
    assert verdict.word == "depends on the number of ones"
    assert verdict.because.endswith("counts as challenging up to 5\u00a0%.")


# --------------------------------------------------------------------------------------- the tables


def test_a_published_choice_is_read_by_bayes_rule() -> None:
    """Against simulated choices: how often each is published, and what a column says."""
    tables = {e: mechanism.private_plugin(e, 6, 6) for e in (8.0, 2.0)}
    found = design.attack_on_choice(tables, RULES, (0, 2)).set_index("ones in the data")
    chosen, rng = design.choice(tables, RULES), np.random.default_rng(5)
    names = list(chosen.outputs)
    log_l = {
        (x, e): [tables[e].row(x) - tables[e].row(y) for y in (x - 1, x + 1) if y >= 0]
        for x in (1, 2)
        for e in tables
    }
    counts = {x: np.zeros(len(names)) for x in (1, 2)}
    for x, _ in itertools.product(counts, range(20_000)):
        at = None
        for e in tables:
            y = int(rng.binomial(6, np.exp(tables[e].row(x)) @ np.arange(7) / 6))
            if max(ratio[y] for ratio in log_l[x, e]) <= np.log(1.5) and at is None:
                at = (e, y)
        counts[x][names.index(at)] += 1 / 20_000
    for x, share in counts.items():
        np.testing.assert_allclose(np.exp(chosen.row(x)), share, atol=0.015)
    p, q = np.exp(chosen.row(2)), np.exp(chosen.row(1))
    with np.errstate(invalid="ignore"):
        risk = np.where(p > 0, p / (p + q), 0.0)
    assert found.loc[2, "R, knowing the rule"] == pytest.approx(p @ risk)
    assert found.loc[2, "certain"] == pytest.approx(p[(q == 0)].sum())
    totals = np.exp(design.announced(chosen).row(2))
    assert totals == pytest.approx([p[:7].sum(), p[7:14].sum(), p[14]])


def test_what_an_announced_budget_costs() -> None:
    announced = mechanism.Epsilon(np.inf, (0, 1), 20.0)
    assert paper.of_announcement(announced).startswith("ε = 20 can be announced of data with $X$")
    nothing = mechanism.Epsilon(np.inf, (1, 0), None)
    assert paper.of_announcement(nothing).startswith("That nothing qualifies can be announced")
    assert paper.of_announcement(mechanism.Epsilon(0.12345, (0, 1), 2.0)).endswith("of 0.123.")


def test_budgets_beyond_the_grid_are_said_to_be_so() -> None:
    path = pd.DataFrame({"p0": 0.5, "epsilon": [1.0, 10.0], "risk_99": [0.52, 0.58]})
    needed = design.budgets_for_risk(path, 0.5, (0.51, 0.55, 0.6))
    assert needed["ε, 99 % of releases, p₀ = 0.5"].tolist() == ["none", "1", "≥ 10"]
    assert needed["ε, any release"].tolist() == pytest.approx([0.04, 0.2007, 0.4055], abs=1e-4)


def test_priors_are_solved_as_the_region_is_defined() -> None:
    assert design.priors_that_disagree(np.linspace(-2, 5, 50), RULES, 500) == 0


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


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    """One record, a prior that is sure, nobody and everybody with the attribute, one pair."""
    settings: dict = {"n": 1, "n_s": 60, "p0": [0.0, 1.0], "epsilon": [0.5, 50.0], "prior": 0.0}
    settings |= {"n_pairs": 1, "n_priors": 1, "acceptable": [{"rr_at_most": 1.0}]}
    quick = {"n_steps": 1000, "burn_in": 10, "n_chains": 2, "n_single": 10}
    request = resolve(root, "mcclure_reiter")
    request = Request("mcclure_reiter", "other", {**request.parameters, **quick, **settings}, {})
    folder = run(root, request, tmp_path)
    book = pd.read_csv(folder / "tables/ledger.csv")
    assert not (book["verdict"] == "differs").any() or set(
        book.loc[book["verdict"] == "differs", "id"]
    ) <= set(paper.NOTES)
    replicates = pd.read_csv(folder / "tables/replicates.csv")
    cases = len(settings["p0"]) * len(settings["epsilon"])
    assert len(replicates) == cases * settings["n_pairs"]
    notebook = (folder / "notebook.ipynb").read_text(encoding="utf-8")
    assert '"stderr"' not in notebook


def test_sweep_varies_parameters_that_the_notebook_takes(root: Path) -> None:
    sweep = yaml.safe_load((root / "params/mcclure_reiter/sweep_rarity.yaml").read_text())
    declared = read_parameters(root / "notebooks/mcclure_reiter.py")
    for name, values in sweep["grid"].items():
        assert [declared[name].check(value) for value in values] == values
    assert {name: declared[name].check(value) for name, value in sweep["base"].items()}
    assert {"p0", "n", "epsilon", "prior"} <= set(sweep["grid"])
