"""Verdicts of the notebook on sequential trees, and what they are made of."""

import numpy as np
import pandas as pd
import pytest

import srlib
from srlib.data.acs import embedded_population
from srlib.papers import sequential_trees as study
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.trees import Growth, fit_trees


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
    assert "From 1 release it is so for 100.0%" in verdict.because


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


def test_copied_records_are_compared_with_the_others() -> None:
    rng = np.random.default_rng(1)
    copied = rng.random(400) < 0.3
    same = rng.random(400)
    assert study.copies_are_exposed(same, copied).word == FAILS
    assert study.copies_are_exposed(same + 2 * copied, copied).word == HOLDS
    assert study.copies_are_exposed(same, np.zeros(400, bool)).word == UNDECIDED


def frontier(*rows: tuple[float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["probability", "difference", "difference_se"])
    return table.assign(min_leaf=np.arange(len(rows)) + 1)


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([(0.6, 1.0, 0.01), (0.2, 1.0, 0.01)], HOLDS),
        ([(0.6, 1.0, 0.01), (0.4, 1.0, 0.01)], FAILS),
        ([(0.6, 0.7, 0.02), (0.2, 0.96, 0.02)], "depends on the utility that is needed"),
        ([(0.6, 1.0, 0.2), (0.2, 1.2, 0.2)], UNDECIDED),
    ],
)
def test_a_setting_protects_if_risk_halves_and_utility_stays(rows: list, word: str) -> None:
    assert study.protects(frontier(*rows), "min_leaf").word == word


def test_learning_little_is_staying_near_the_prior() -> None:
    assert study.learns_little(risks(*[1.1] * 30)).word == HOLDS
    assert study.learns_little(risks(*[9] * 30)).word == FAILS


def test_records_and_copies() -> None:
    data = embedded_population(120, rng=np.random.default_rng(2))
    rows = study.occur_once(data.codes, 40, rng=np.random.default_rng(3))
    assert len(set(rows)) == 40
    for row in rows:
        assert (data.codes == data.codes[row]).all(axis=1).sum() == 1
    trees = fit_trees(data, growth=Growth(1))
    released = [*trees.release(1, rng=np.random.default_rng(4)), data]
    times = study.times_copied(trees, released, rows)
    found = [(released[0].codes == data.codes[row]).all(axis=1).any() for row in rows]
    np.testing.assert_array_equal(times, 1 + np.array(found))


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


def test_an_intruder_who_knows_all_others_only_smooths() -> None:
    data = embedded_population(80, rng=np.random.default_rng(5))
    trees = fit_trees(data, growth=Growth(5))
    released = trees.release(1, rng=np.random.default_rng(6))
    smooth = fit_trees(data, growth=Growth(5, smoothing=1.0))
    rows = np.arange(5)
    known = study.knowing_some(trees, released, rows, 1.0, rng=np.random.default_rng(7))
    expected = study.risks_of(smooth, released, rows)["probability"]
    np.testing.assert_allclose(known, expected, rtol=1e-9)
