"""People whom the tool keeps out: by enumeration, where nothing can leak, and where all does."""

from collections.abc import Mapping
from functools import partial
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from srlib.assessment import assess, generator, leakage, matching, splits, submit
from srlib.assessment.held_out import MEASURES, beyond_held_out, ratios, shares
from srlib.assessment.splits import Splits, divide
from srlib.assessment.submission import Submission
from srlib.data import embedded_population
from srlib.data.schema import Microdata, Schema, Variable
from srlib.margins import PlugInMargins
from srlib.rng import stream
from srlib.runner.inputs import check
from srlib.trees import fit_trees

LEVELS = [3, 2, 2]
KEYS, TARGET = [0, 1], 2
STREAMS = partial(stream, 3)


def tables(*sizes: int, seed: int = 1) -> list[NDArray[np.integer]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, LEVELS, (size, 3)) for size in sizes]


def people(n: int, seed: int = 1) -> Submission:
    table = embedded_population(n, rng=np.random.default_rng(seed))
    keys = ("SEX", "AGEP", "RACE1P", "MAR", "SCHL")
    return submit(table, table, keys, "HICOV")


def frame(n: int) -> pd.DataFrame:
    (codes,) = tables(n)
    return pd.DataFrame(codes, columns=["town", "job", "sick"]).astype(str)


def ignores(table: Microdata, rng: np.random.Generator) -> NDArray[np.integer]:
    return embedded_population(len(table.codes), rng=rng).codes


def test_of_tables_of_one_size_the_measures_are_those_of_the_report() -> None:
    used, others, released = tables(8, 8, 8, seed=3)
    for table, found in zip((used, others), ratios(used, others, released, LEVELS, KEYS, TARGET),
                            strict=True):  # fmt: skip
        expected = matching.measures(table, [released], LEVELS, KEYS, TARGET)
        expected = expected.set_index("measure")["mean"]
        told = pd.Series(shares(found))
        common = expected.index.intersection(told.index)
        assert len(common) == 9
        np.testing.assert_allclose(told[common], expected[common])
        assert 0 < told["identity"] == leakage.identity(table, released, LEVELS, KEYS).value
        alone = leakage.identity(table, released, LEVELS, [0, 1, 2])
        assert 0 < told["copied, alone"] == alone.value


def test_of_tables_of_two_sizes_they_are_those_of_parts_of_one_size() -> None:
    used, others, released = tables(7, 4, 6)
    told, _ = ratios(used, others, released, LEVELS, KEYS, TARGET)
    sums: dict[str, NDArray[np.float64]] = {name: np.zeros(2) for name in MEASURES}
    parts = list(combinations(range(7), 4))
    for part in parts:
        of_part, _ = ratios(used[list(part)], others, released, LEVELS, KEYS, TARGET)
        for name, (a, b) in of_part.items():
            sums[name] += [a.sum() / len(parts), b.sum() / len(parts)]
    sums["TCAP"] *= 4 / 7  # which counts released records, and no people
    for name, (a, b) in told.items():
        np.testing.assert_allclose([a.sum() * 4 / 7, b.sum() * 4 / 7], sums[name], err_msg=name)


def test_people_without_a_value_of_the_target_are_not_asked_about_it() -> None:
    used, others, released = tables(30, 30, 20)
    found = beyond_held_out(used, [released], others, LEVELS, KEYS, TARGET, [1])
    found = found.set_index("measure")
    valued = [table[table[:, TARGET] != 1] for table in (used, others)]
    expected = [
        matching.measures(table, [released], LEVELS, KEYS, TARGET).set_index("measure")["mean"]
        for table in valued
    ]
    for name in ("DiS", "DiSCO", "DiSCO/DiS", "DiSCO/iS"):
        row = found.loc[name, ["used", "held_out"]]
        np.testing.assert_allclose(row.tolist(), [each[name] for each in expected])
    assert found.loc["iS", "used"] == np.mean(
        [any((z[:2] == x[:2]).all() for z in released) for x in used]
    )


def test_over_all_divisions_a_fixed_release_tells_nothing_of_participants() -> None:
    everybody, released = tables(6, 8)
    told: dict[str, list[float]] = {name: [] for name in MEASURES}
    for half in combinations(range(6), 3):
        used, kept = everybody[list(half)], np.delete(everybody, half, axis=0)
        for name, pair in ratios(used, kept, released, LEVELS, KEYS, TARGET)[0].items():
            told[name].append(pair[0].sum() - ratios(
                used, kept, released, LEVELS, KEYS, TARGET)[1][name][0].sum())  # fmt: skip
    assert len(told["iS"]) == comb(6, 3)
    np.testing.assert_allclose([np.mean(each) for each in told.values()], 0, atol=1e-12)
    assert max(np.std(each) for each in told.values()) > 0.3


def test_a_copy_and_a_generator_that_ignores_its_data() -> None:
    original = people(101)
    found = divide(original, {"ignores": ignores}, 12, streams=STREAMS).averages()
    of_copy = found[found["generator"] == "copy"].set_index("measure")
    at = ["copied", "copied, alone", "identity", "iS", "TCAP", "DiSCO/DiS"]
    assert (of_copy.loc[at, "used"] == 1).all()
    # Of 101 people one sits out; k others have the same values, of whom 50 are in the other half.
    codes = original.original
    k = (codes[:, None] == codes).all(axis=2).sum(axis=1) - 1
    by_hand = np.mean([1 - comb(100 - each, 50) / comb(100, 50) for each in k])
    assert abs(of_copy.loc["copied", "held_out"] - by_hand) < 4 * of_copy.loc["copied", "error"]
    assert of_copy.loc["copied", "low"] < 1 - by_hand < of_copy.loc["copied", "high"]
    nothing = found[found["generator"] == "ignores"]
    assert len(nothing) == len(MEASURES)
    assert (nothing["z"].abs() < 4).all()
    assert found["generator"].unique().tolist() == ["copy", "ignores", "margins"]


def test_no_number_depends_on_what_else_is_asked() -> None:
    original = people(60)
    both = {name: generator.refit(name) for name in ("margins:epsilon=1", "trees")}
    one = divide(original, {"trees": both["trees"]}, 2, streams=STREAMS)
    two = divide(original, both, 3, streams=STREAMS)
    at = "generator == 'trees' and division < 3"
    pd.testing.assert_frame_equal(
        one.table.query(at).reset_index(drop=True), two.table.query(at).reset_index(drop=True)
    )


def test_the_error_is_of_divisions_and_of_people() -> None:
    rows = [
        {"division": i, "swapped": swapped, "generator": "g", "measure": "iS", "used": used,
         "held_out": 0.5}
        for i, pair in enumerate([(0.6, 0.8), (0.7, 0.5), (0.9, 0.7)], start=1)
        for swapped, used in zip((False, True), pair, strict=True)
    ]  # fmt: skip
    (row,) = Splits(pd.DataFrame(rows), {"g": {"iS": 0.01}}, 50).averages().itertuples()
    assert (row.used, row.difference) == pytest.approx((0.7, 0.2))
    between = np.var([0.2, 0.1, 0.3], ddof=1) / 3
    assert row.error == pytest.approx(np.sqrt(between + 0.01))
    freedom = (between + 0.01) ** 2 / (between**2 / 2 + 0.01**2 / 49)
    half = student.ppf(0.975, freedom) * row.error
    assert (row.low, row.high) == pytest.approx((0.2 - half, 0.2 + half))


OWN = """
class Runs:
    def release(self, data, *, rng):
        return data[rng.permutation(len(data))]
def grown(table):
    if len(table.codes) < 30:
        raise KeyError("CANARY")
    return Runs()
class Labels(Runs):
    def release(self, data, *, rng):
        return data + 90
runs, labels, number = Runs(), Labels(), 3
"""


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Any]:
    import srlib
    from srlib.runner.parameters import read_parameters

    monkeypatch.chdir(tmp_path)
    frame(40).to_csv("original.csv", index=False)
    Path("own.py").write_text(OWN, encoding="utf-8")
    root = Path(srlib.__file__).parents[1]
    declared = read_parameters(root / "notebooks" / "assess.py")
    defaults = {name: parameter.default for name, parameter in declared.items()}
    return defaults | {"original": "original.csv", "released": ["original.csv"], "n_splits": 3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "n_splits is 3, and no synthesizer is given; it is fitted to each half"),
        ({"n_splits": 1, "synthesizer": "trees"}, "n_splits is 1; it must be 2 or more"),
        ({"synthesizer": "own.py:labels"}, r"own.py:labels fails on half of the original, 20 rec"),
        ({"synthesizer": "own.py:grown"}, r"own.py raises KeyError in line 7$"),
        ({"synthesizer": "own.py:number"}, "number is int; it must have the function release"),
        ({"synthesizer": "own.py:runs", "n_splits": 0}, "has release and no log_prob"),
        ({"original": "", "released": [], "n_splits": 1}, "n_splits is 1; it must be 2 or more"),
    ],
)
def test_errors_come_before_a_kernel_starts(
    given: Mapping[str, Any], settings: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check("assess", {**given, **settings})


def test_a_generator_that_can_only_be_run_is_enough(given: Mapping[str, Any]) -> None:
    check("assess", {**given, "synthesizer": "own.py:runs"})
    original = submit("original.csv", "original.csv")
    found = divide(original, {"own": generator.refit("own.py:runs")}, 2, streams=STREAMS).table
    assert (found.query("generator == 'own' and measure == 'copied'")["used"] == 1).all()


def test_the_original_is_too_small() -> None:
    few = frame(19)
    with pytest.raises(ValueError, match="original has 19 records; it takes 20 or more to divide"):
        assess(few, few, quick=True, synthesizer=PlugInMargins(np.array(LEVELS)), n_splits=2,
               rng=np.random.default_rng(1))  # fmt: skip


def test_from_python() -> None:
    table = frame(40)
    binary = ("0", "1")
    schema = Schema(
        (Variable("town", (*binary, "2")), Variable("job", binary), Variable("sick", binary))
    )
    trees = fit_trees(Microdata.from_frame(table, schema))
    settings: dict[str, Any] = {"quick": True, "progress": False, "n_splits": 2}
    found = assess(
        table, table, synthesizer=trees, schema=schema, rng=np.random.default_rng(1), **settings
    )
    assert found.splits is not None
    assert found.before is not None
    assert "People used and held out" in found.to_html()

    class Runs:
        def release(
            self, data: NDArray[np.integer], *, rng: np.random.Generator
        ) -> NDArray[np.integer]:
            return data

    only_run = assess(table, table, synthesizer=Runs(), rng=np.random.default_rng(1), **settings)
    assert only_run.before is None
    assert only_run.splits is not None
    told = only_run.splits.averages().set_index(["generator", "measure"])
    pd.testing.assert_series_equal(
        told.loc[("synthesizer", "copied")], told.loc[("copy", "copied")], check_names=False
    )
    with pytest.raises(ValueError, match="n_splits is 2, and no synthesizer is given"):
        assess(table, table, rng=np.random.default_rng(1), **settings)


def test_settings_of_trees_are_kept() -> None:
    table = embedded_population(80, rng=np.random.default_rng(2))
    text = generator.refit("trees:min_leaf=40")(table, np.random.default_rng(1))
    trees = fit_trees(table, growth=generator.made("trees:min_leaf=40", table).growth)  # type: ignore[union-attr]
    own = generator.refit(trees)
    np.testing.assert_array_equal(text, own(table, np.random.default_rng(1)))
    half = Microdata(table.codes[:40], table.schema)
    grown = fit_trees(half, growth=trees.growth).release(rng=np.random.default_rng(1))[0]
    np.testing.assert_array_equal(own(half, np.random.default_rng(1)), grown.codes)
    assert splits.FEWEST == 10
