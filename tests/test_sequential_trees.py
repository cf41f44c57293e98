"""Verdicts of the notebook on sequential trees, and what they are made of."""

import numpy as np
import pandas as pd
import pytest

import srlib
from srlib.data.acs import embedded_population
from srlib.papers import sequential_trees as study
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.trees import Growth, Scans, fit_trees


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


def test_the_statistic_compares_a_person_with_the_others() -> None:
    with np.errstate(divide="ignore"):
        log_prob = np.log([[0.4, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.0], [0.4, 0.0, 0.3, 0.0]])
    found = study.in_or_out(log_prob)
    expected = [[np.log(4), np.log(4), 0.0, -np.inf], [np.inf, *[-np.inf] * 3]]
    expected[0][2] = np.log(0.1 / 0.1)
    np.testing.assert_allclose(found[:2], expected, atol=1e-12)
    assert found[2, 2] == np.inf


def test_power_is_that_of_the_test_with_exactly_its_false_positives() -> None:
    outside = np.arange(100.0)
    statistic = np.column_stack([np.full(4, 98.5), np.tile(outside, (4, 1))])
    assert study.power(statistic) == 1  # above 98, as one of a hundred outside is
    assert study.power(statistic, 0.005) == 0
    assert study.power(np.where(statistic == 98.5, 99, statistic), 0.005) == pytest.approx(0.5)
    tied = np.zeros((4, 101))  # all are alike: the test can only guess
    assert study.power(tied) == pytest.approx(0.01)
    alike = np.random.default_rng(1).normal(size=(400, 101))
    assert abs(study.power(alike) - 0.01) < 4 * np.sqrt(0.01 * 0.99 / 400)


def test_power_has_an_error_where_everybody_is_found() -> None:
    log_prob = np.tile([0.0, *[-np.inf] * 20], (30, 1))
    found, error = study.power_with_error([log_prob, log_prob], rng=np.random.default_rng(1))
    assert found == 1
    assert 0.02 < error < 0.06


def test_people_in_the_place_of_a_record_are_other_data() -> None:
    data, held_out = study.set_apart(
        embedded_population(80, rng=np.random.default_rng(2)), 10, rng=np.random.default_rng(3)
    )
    assert (len(data), len(held_out)) == (70, 10)
    trees = fit_trees(data, growth=Growth(5, smoothing=1.0))
    (released,) = trees.release(1, rng=np.random.default_rng(4))
    found = study.of_people(trees, [released], np.array([7]), held_out)
    codes = data.codes.copy()
    codes[7] = held_out[3]
    changed = fit_trees(srlib.Microdata(codes, data.schema), growth=trees.growth)
    assert found[0, 4] == pytest.approx(changed.log_prob(released))
    assert found[0, 0] == pytest.approx(trees.log_prob(released))


def test_the_mixture_of_one_class_has_predictive_probabilities_that_are_known() -> None:
    """One class: p(x | others) is a product over variables, from counts and a uniform prior."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": [*"xyz"] * 20, "b": rng.permutation([*"uv"] * 30)})
    data = srlib.Microdata.from_frame(frame)
    chains = srlib.Chains(n_classes=1, burn_in=10, n_draws=2000, thin=20, n_chains=4)
    drawn, sets = study.of_mixture(data, chains, 1, rng=rng)
    people = np.array([[0, 0], [1, 1], [2, 0]])
    found = study.of_people_in_mixture(sets, data.codes[:3], people)

    def log_predictive(codes: np.ndarray, x: np.ndarray) -> float:
        shares = [
            (np.sum(codes[:, k] == x[k]) + 1) / (len(codes) + levels)
            for k, levels in enumerate((3, 2))
        ]
        return float(np.log(shares).sum())

    for i in range(3):
        others = np.delete(data.codes, i, axis=0)
        both = np.concatenate([others, drawn[0].codes])
        gain = [
            log_predictive(both, x) - log_predictive(others, x) for x in (data.codes[i], *people)
        ]
        np.testing.assert_allclose(found[i], np.array(gain) - gain[0], atol=0.05)


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
    table = study.frontier(data, found[:3], np.arange(8), rng=np.random.default_rng(3))
    assert np.isinf(table["loss"][:2]).all()
    assert np.isfinite(table["loss"][2])
    assert (table["probability_se"] > 0).all()


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
