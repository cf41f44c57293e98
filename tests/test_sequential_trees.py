"""Verdicts of the notebook on sequential trees, and what they are made of."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import srlib
from srlib.data.acs import embedded_population
from srlib.data.schema import Variable
from srlib.display import percent
from srlib.papers import sequential_trees as study
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.risk import MembershipTest, posterior_risk
from srlib.trees import Growth, Scans, SequentialTrees, fit_trees


def risks(*over_prior: float) -> pd.DataFrame:
    table = pd.DataFrame({"probability": np.array(over_prior) / 100, "support_size": 100})
    return table.assign(n_releases=2)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (risks(*[1] * 24, 10), HOLDS),
        (risks(*[30] * 19, 1), FAILS),
        (risks(1, 30), "depends on the record"),
    ],
)
def test_little_risk_is_within_ten_times_the_prior(table: pd.DataFrame, word: str) -> None:
    assert study.little_risk(table).word == word


def test_little_risk_depends_on_the_releases_where_their_words_differ() -> None:
    one = risks(*[1] * 24, 10).assign(n_releases=1)
    verdict = study.little_risk(pd.concat([one, risks(*[30] * 19, 1)]))
    assert verdict.word == "depends on the number of releases"
    assert "From 1 release it is so for 100.0\u00a0%" in verdict.because


@pytest.mark.parametrize(
    ("few", "many", "word"),
    [
        ([0.4, 0.42], [0.1, 0.12], HOLDS),
        ([0.1, 0.12], [0.4, 0.42], FAILS),
        ([0.1, 0.4], [0.2, 0.3], UNDECIDED),
    ],
)
def test_a_larger_file_is_compared_within_error(few: list, many: list, word: str) -> None:
    sizes = pd.DataFrame({"records": [10, 10, 40, 40], "median": [*few, *many]})
    assert study.larger_is_safer(sizes).word == word


def row(probability: float, difference: float, error: float = 0.01) -> dict:
    errors = {"probability_se": error, "difference_se": error}
    return {"probability": probability, "difference": difference, **errors, "name": "one"}


@pytest.mark.parametrize(
    ("first", "last", "word"),
    [
        (row(0.6, 1.0), row(0.2, 1.0), HOLDS),
        (row(0.6, 1.0), row(0.4, 1.0), FAILS),
        (row(0.6, 1.0), row(0.4, 1.3), FAILS),
        (row(0.6, 0.7), row(0.2, 0.96), "depends on the utility that is needed"),
        (row(0.6, 1.0, 0.2), row(0.2, 1.2, 0.2), UNDECIDED),
        (row(0.6, 1.0, 0.1), row(0.25, 1.0, 0.01), UNDECIDED),
    ],
)
def test_a_setting_protects_if_risk_halves_and_utility_stays(
    first: dict, last: dict, word: str
) -> None:
    found = pd.DataFrame([first, last]).assign(min_leaf=[5, 20])
    assert study.protects(found.iloc[0], found.iloc[1]) == word
    assert study.of_setting(found, "min_leaf").word == word
    assert "With 20 instead of 5" in study.of_setting(found, "min_leaf").because


def test_one_order_that_protects_is_enough() -> None:
    none = [row(0.6, 1.0), row(0.5, 1.0), row(0.7, 1.0)]
    assert study.of_orders(pd.DataFrame(none)).word == FAILS
    assert study.of_orders(pd.DataFrame([*none, row(0.1, 1.0)])).word == HOLDS


@pytest.mark.parametrize(
    ("powers", "word"),
    [
        ([(0.02, 0.01), (0.03, 0.005)], HOLDS),
        ([(0.5, 0.1), (0.9, 0.1)], FAILS),
        ([(0.01, 0.01), (0.9, 0.1)], "depends on the number of releases"),
        ([(0.04, 0.02), (0.9, 0.1)], UNDECIDED),
    ],
)
def test_members_are_hidden_if_the_test_finds_few(powers: list, word: str) -> None:
    found = pd.DataFrame(powers, columns=["power", "power_se"]).assign(n_releases=[1, 5])
    verdict = study.hides_members(found)
    assert verdict.word == word
    assert "from 1 release and" in verdict.because


def test_unknown_people_are_judged_by_all_chains() -> None:
    def found(lowest: float, highest: float, elsewhere: int = 1) -> pd.DataFrame:
        ends = {"lowest": [0.9, lowest], "highest": [0.9, highest], "median": [0.9, highest]}
        return pd.DataFrame({"people": [1, 20], "prior": 0.1, "elsewhere": [0, elsewhere], **ends})

    assert study.hidden_among_others(found(0.10, 0.12)).word == HOLDS
    assert study.hidden_among_others(found(0.10, 0.30)).word == UNDECIDED
    assert study.hidden_among_others(found(0.20, 0.30)).word == FAILS
    assert study.hidden_among_others(found(0.20, 0.30, 0)).word == UNDECIDED


# ----------------------------------------------------------------------------------- membership


def test_cooks_by_hand_are_those_of_the_trees() -> None:
    """Both parts of the ratio from the density itself, and a mean of one outside the data."""
    few, people = study.smallest_example()
    found = study.cooks_by_hand(before=0.2, released=10)
    well = people.assign(sick=["no"] * 10 + ["yes"] * 3 + ["no"] * 2)
    cooks = srlib.Microdata(np.zeros((10, 2), np.uint8), few.schema)
    other = fit_trees(well, growth=few.growth, schema=few.schema)
    apart = np.exp(few.log_prob(cooks) - other.log_prob(cooks))
    assert found["in_data"][0] == pytest.approx(apart)
    assert found["ratio"][0] == pytest.approx(apart / (0.2 * apart + 0.8))
    assert found["ratio"] @ found["not_in_data"] == pytest.approx(1)
    np.testing.assert_allclose(found[["in_data", "not_in_data"]].sum(), 1)


def given(ratio: list[float], distance: list[float], n_people: int = 100) -> study.Tests:
    """Tests of records with these statistics; of the people one in a hundred is at 10."""
    people = np.tile((np.arange(n_people) < n_people // 100) * 10.0, (1, len(ratio), 1))
    schema = srlib.Schema((Variable("job", ("cook", "smith")),))
    who = np.arange(people.size).reshape(people.shape[1:])

    def test(values: list[float]) -> MembershipTest:
        inside = np.array([values], dtype=float)
        repetitions = 1 + np.arange(len(values)) % 2
        codes = np.zeros((len(values), 1), np.uint8)
        return MembershipTest(schema, codes, repetitions, 1, inside, 0 * inside, people, who)

    return study.Tests(test(ratio), test(distance), test(distance))


@pytest.mark.parametrize(
    ("distance", "word"),
    [([20.0] * 40, HOLDS), ([-1.0] * 40, FAILS), ([20.0, -1.0] * 20, UNDECIDED)],
)
def test_distance_finds_members_or_misses_them(distance: list, word: str) -> None:
    of = given([20.0] * 40, distance)
    verdict = study.finds_members(of, rng=np.random.default_rng(1))
    assert verdict.word == word
    table = study.missed(of).set_index("records")
    assert table["n"].tolist() == [20, 20, 4000]
    assert table["ratio"].tolist() == [1, 1, 0.01]
    assert table["near"].tolist() == [*(float(d > 10) for d in distance[:2]), 0.01]
    assert table.loc["none", "at_zero"] == 0.99
    records = study.one_by_one_found(of)
    np.testing.assert_array_equal(records["distance"], -np.array(distance))


def test_nothing_is_said_where_nobody_is_found_or_few_were_held_out() -> None:
    rng = np.random.default_rng(1)
    assert study.finds_members(given([-1.0] * 9, [20.0] * 9), rng=rng).word == UNDECIDED
    few = given([20.0] * 9, [20.0] * 9, n_people=50)
    assert study.finds_members(few, rng=rng).word == UNDECIDED
    table = study.powers({("trees", 5): {1: few}}, rng=rng)
    assert table["power"].isna().all()
    assert study.hides_members(table).word == UNDECIDED
    shown = study.powers_in_words(table)
    assert shown["likelihood ratio, 1 %"].tolist() == ["too few people"]


def test_tables_of_powers_name_tests_and_errors() -> None:
    of = given([20.0] * 9, [-1.0] * 9)
    table = study.powers({("trees", 5): {1: of, 5: of}}, rng=np.random.default_rng(1))
    assert table["power"].tolist() == [1, 1]
    assert table["near"].tolist() == [0, 0]
    assert table["strict"].isna().all()
    shown = study.powers_in_words(table)
    assert shown["likelihood ratio, 1 %"].tolist() == [f"100 ± {percent(table['power_se'][0])}"] * 2
    curves = study.roc_curves({("trees", 5): {1: of}})
    assert curves.columns.tolist() == ["trees, leaf of 5", "nearest record, first trees", "chance"]
    assert curves["trees, leaf of 5"].min() == 1


def test_ways_to_release_are_told_in_words() -> None:
    ways = {"case": ["leaf", "smoothing", "fewer releases"], "name": ["5", "1 added", "1 release"]}
    frame = pd.DataFrame(ways | {"probability": [0.5, 0.25, 0.1], "probability_se": 0.02})
    told = study.ways_in_words(frame, {"probability": "median"})
    assert told["way to release"].tolist() == ["leaf of 5", "smoothed, 1 added", "1 release"]
    assert told["median"][0] == "0.50\u00a0±\u00a00.02"


def test_tests_are_made_of_one_release_and_of_several() -> None:
    everybody = embedded_population(100, rng=np.random.default_rng(2))
    data, held_out = study.set_apart(everybody, 50, rng=np.random.default_rng(3))
    assert (len(data), len(held_out)) == (80, 20)  # a fifth at most
    people = srlib.Microdata(held_out, data.schema)
    trees = fit_trees(data, growth=Growth(5))
    released = trees.release(3, rng=np.random.default_rng(4))
    rows = np.arange(4)
    found = study.membership_tests(data, people, rows, trees, released, 3, n_beside=9)
    assert [t.best.statistic.shape for t in found.values()] == [(study.SINGLES, 4), (1, 4)]
    assert [t.near.n_releases for t in found.values()] == [1, 3]
    direct = srlib.membership_test(
        data, released, people, 3, synthesizer=trees, rows=rows, n_beside=9
    )
    np.testing.assert_array_equal(found[3].best.statistic, direct.statistic)


# ------------------------------------------------------------------------------------- matching


def test_value_probabilities_are_those_of_one_variable_unknown() -> None:
    data = embedded_population(100, rng=np.random.default_rng(6))
    trees = fit_trees(data, growth=Growth(5))
    released, rows = trees.release(1, rng=np.random.default_rng(7)), np.arange(10)
    found = study.value_probabilities(trees, released, rows)
    for k in (0, 6, 13):
        alone = study.risks_of(trees, released, rows, unknown=[k])["probability"]
        np.testing.assert_allclose(found[:, k], alone)


def test_copied_values_are_counted_and_shares_have_errors() -> None:
    data = embedded_population(100, rng=np.random.default_rng(6))
    rows = np.arange(50)
    counted = study.counted_values(data, data, rows, [0, 1])
    assert counted["copied"].all()
    assert not counted["DiSCO, 2 keys known"][:, :2].any()
    probability = np.where(np.arange(50)[:, None] < 25, 0.95, 0.5) * np.ones((50, 14))
    table = study.counted_and_exposed(probability, counted, [0, 1]).set_index("counted")
    assert table.loc["copied", ["exposed", "others", "n_exposed"]].tolist() == [1, 1, 25 * 12]
    assert table.loc["copied", "exposed_se"] == 0
    assert study.counts_exposed(table.reset_index()).word == HOLDS
    half = {"some": np.tile((np.arange(50) % 2 == 0)[:, None], (1, 14))}
    table = study.counted_and_exposed(probability, half, [0, 1])
    assert table["exposed"][0] == pytest.approx(13 / 25)
    assert table["exposed_se"][0] == pytest.approx(np.sqrt(13 * 12 / 25) / 25)
    assert study.counts_exposed(table).word == FAILS


# --------------------------------------------------------------------------------- the frontier


def test_ways_differ_in_one_respect() -> None:
    data = embedded_population(120, rng=np.random.default_rng(2))
    names = tuple(variable.name for variable in data.schema.variables)
    first = study.Way("leaf", "5", Growth(5), names, 3)
    found = study.ways(
        data.schema, first, leaves=[5, 20], smoothing=[0.0, 1.0], fewer=[1, 3], n_random=1,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert [way.name for way in found[:4]] == ["5", "20", "1 added", "1 release"]
    assert [way.case for way in found[4:]] == ["order"] * 4
    assert all(sorted(way.order) == sorted(names) for way in found)
    levels = {variable.name: len(variable.levels) for variable in data.schema.variables}
    assert np.all(np.diff([levels[name] for name in found[5].order]) >= 0)
    table, of_each = study.frontier(
        data, found[:3], np.arange(8), further=np.array([9]), rng=np.random.default_rng(3)
    )
    assert [values.shape for values in of_each] == [(5, 9)] * 3
    medians = np.median(of_each[0][:, :8], axis=1)
    assert table["probability"][0] == pytest.approx(medians.mean())
    assert np.isinf(table["loss"][:2]).all()
    assert np.isfinite(table["loss"][2])
    assert (table["probability_se"] > 0).all()


def test_repaired_records_count_less() -> None:
    """Left out, the release says nothing of a record; the intruder knows who was left out."""
    data = embedded_population(120, rng=np.random.default_rng(2))
    names = tuple(variable.name for variable in data.schema.variables)
    first = study.Way("leaf", "5", Growth(5), names, 1)
    trees = fit_trees(data, growth=Growth(5))
    risk = posterior_risk(data, trees.release(1, rng=np.random.default_rng(1)), synthesizer=trees)
    chosen = study.riskiest(data.codes, risk, 5)
    own = np.array(
        [risk.probability[(risk.combinations == data.codes[i]).all(axis=1)] for i in chosen]
    )
    assert (np.sort(risk.probability[risk.repetitions == 1])[:-6:-1] == own.ravel()).all()
    assert len(study.riskiest(data.codes, risk, 1000)) == (risk.repetitions == 1).sum() // 2
    rows = np.setdiff1d(np.arange(6), chosen)
    ways = [first, *study.repairs(first, len(data), chosen)]
    table, of_each = study.frontier(data, ways, rows, further=chosen, rng=np.random.default_rng(3))
    np.testing.assert_allclose(of_each[2][:, len(rows) :], 1 / risk.support_size)
    carried = study.carried(ways, of_each, np.arange(len(rows) + 5) >= len(rows))
    assert carried["name"].tolist() == ["released anew", "left out", "weight 1/4"]
    assert carried["repaired"][1] < carried["repaired"][2] < carried["repaired"][0]
    assert study.at_equal_utility(table)["leaf"].isna().all()  # a single leaf is no curve


def test_equal_utility_is_interpolated_between_leaves() -> None:
    rows = [
        ("leaf", "5", 0.8, 0.1, 0.8),
        ("leaf", "50", 1.0, 0.1, 0.2),
        ("order", "x", 0.9, 0.1, 1),
    ]
    rows += [("repair", "left out", 0.9, 0.02, 0.5), ("repair", "other", 0.7, 0.02, 0.5)]
    columns = ["case", "name", "difference", "difference_se", "probability"]
    found = study.at_equal_utility(pd.DataFrame(rows, columns=columns).assign(probability_se=0.02))
    assert found["name"].tolist() == ["left out", "other"]
    assert found["leaf"][0] == pytest.approx(0.4)  # the geometric mean
    slope = np.log(4) / 0.2 * 0.02
    assert found["leaf_se"][0] == pytest.approx(0.4 * np.linalg.norm([0.0125, 0.05, slope]))
    assert np.isnan(found["leaf"][1])


def test_a_rule_tells_of_the_next_in_line() -> None:
    """Binomial releases: the counts of sick records decide."""
    found = study.rule_by_hand(10).set_index("sick")
    z = np.arange(11)

    def expected(p: float, q: float) -> float:
        truth, other = binom.pmf(z, 10, p), binom.pmf(z, 10, q)
        return float((truth**2 / (truth + other)).sum())

    one, two = found.loc[1], found.loc[2]
    assert one["nothing"] == pytest.approx(expected(0.1, 0.0))
    assert one["unaware"] == pytest.approx(0.9**10 / (1 + 0.9**10))
    assert one[["list", "rule"]].tolist() == pytest.approx([0.5, 0.5])
    assert two[["nothing", "unaware", "list"]].tolist() == pytest.approx([expected(0.2, 0.1)] * 3)
    assert two["rule"] == pytest.approx(expected(0.2, 0.0))


def test_what_a_rule_tells_of_records() -> None:
    data = embedded_population(120, rng=np.random.default_rng(2))
    trees = SequentialTrees(data.schema, growth=Growth(5))
    found = study.told_by_the_rule(data, trees, range(4), 2, 2, rng=np.random.default_rng(5))
    assert found["kind"].tolist() == ["alone", "one of two", "one of more"]
    assert found["list"][0] == pytest.approx(1 / 35)
    assert found["rule"][0] != pytest.approx(1 / 35)
    assert found["refuted"].between(0, 1).all()


@pytest.mark.parametrize(
    ("repaired", "change", "moved", "word"),
    [
        (0.1, 0.0, 0.0001, HOLDS),
        (0.1, 0.05, 0.0001, FAILS),  # the others' mean rises
        (0.1, 0.0, 0.02, FAILS),  # it does not, and single ones move
        (0.1, -0.05, 0.02, UNDECIDED),  # it falls, and single ones may rise
        (0.1, 0.0, 0.003, UNDECIDED),
        (0.6, 0.0, 0.0001, FAILS),
    ],
)
def test_repair_protects_where_nobody_else_pays(
    repaired: float, change: float, moved: float, word: str
) -> None:
    rows = [
        ("nothing", "released anew", 0.9, 0.0, 0.0),
        ("repair", "left out", repaired, change, moved),
    ]
    columns = ["case", "name", "repaired", "change", "moved"]
    found = pd.DataFrame(rows, columns=columns)
    found = found.assign(repaired_se=0.01, change_se=0.02, moved_se=0.001, typical=0.1)
    assert study.repair_protects(found).word == word
    both = pd.concat([found, found[1:].assign(name="weight 1/4", repaired=0.7)])
    other = {HOLDS: "depends on the repair", FAILS: FAILS, UNDECIDED: UNDECIDED}
    assert study.repair_protects(both).word == other[word]


def test_releases_one_by_one_are_those_seen_together() -> None:
    data = embedded_population(80, rng=np.random.default_rng(5))
    trees = fit_trees(data, growth=Growth(5))
    released, rows = trees.release(2, rng=np.random.default_rng(6)), np.arange(9)
    found = study.one_by_one(trees, released, rows)
    single = [study.risks_of(trees, [z], rows)["probability"].median() for z in released]
    both = study.risks_of(trees, released, rows)["probability"].median()
    np.testing.assert_allclose(found, [np.mean(single), both])


def test_one_unknown_person_is_exact_and_several_tell_less() -> None:
    data = embedded_population(80, rng=np.random.default_rng(5))
    trees = fit_trees(data, growth=Growth(10))
    released, rows = trees.release(1, rng=np.random.default_rng(6)), np.arange(4)
    found = study.knowing_fewer(
        trees, released, rows, [9], [1, 4], scans=Scans(10, 20), rng=np.random.default_rng(7)
    )
    alone = study.risks_of(trees, released, rows, unknown=[9])["probability"]
    assert found["median"][0] == pytest.approx(alone.median())
    assert found["lowest"][0] == found["highest"][0] == found["median"][0]
    assert found["prior"].tolist() == [0.5, 0.5]


def test_learning_little_is_staying_near_the_prior() -> None:
    assert study.learns_little(risks(*[1.1] * 30)).word == HOLDS
    assert study.learns_little(risks(*[9] * 30)).word == FAILS


def test_records_that_occur_once() -> None:
    data = embedded_population(120, rng=np.random.default_rng(2))
    rows = study.occur_once(data.codes, 40, rng=np.random.default_rng(3))
    assert len(set(rows)) == 40
    for row in rows:
        assert (data.codes == data.codes[row]).all(axis=1).sum() == 1


def test_a_sole_donor_is_missed_by_all_who_differ_in_the_leaf() -> None:
    few, _ = study.smallest_example()
    sick_cook, well_cook = np.array([9]), np.array([0])
    cooks = srlib.Microdata(np.array([[0, 0], [0, 1]]), few.schema)
    # A cook who is well and a sick smith: neither leaves a sick donor among the cooks.
    np.testing.assert_array_equal(study.without_donor(few, [cooks], sick_cook), 1)
    np.testing.assert_array_equal(study.without_donor(few, [cooks], well_cook), 0)
    well = srlib.Microdata(np.array([[0, 0]]), few.schema)
    np.testing.assert_array_equal(study.without_donor(few, [well], sick_cook), 0)


def test_no_split_changes_where_there_are_no_predictors() -> None:
    """With leaves too large to split all alternatives are excluded for want of a donor."""
    data = embedded_population(60, rng=np.random.default_rng(8))
    trees = fit_trees(data, growth=Growth(60))
    released = trees.release(1, rng=np.random.default_rng(9))
    rows = np.arange(60)
    found = study.without_donor(trees, released, rows)
    assert found.max() > 0
    np.testing.assert_allclose(found, study.risks_of(trees, released, rows)["excluded"])


def test_records_with_an_exposed_value_are_counted_without_the_keys() -> None:
    probability = np.array([[0.99, 0.2, 0.95], [0.99, 0.2, 0.3], [0.1, 0.91, 0.92]])
    assert study.has_exposed(probability, [0]).tolist() == [True, False, True]
