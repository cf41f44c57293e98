"""Measures from original and released tables: by hand, by dictionaries, and by enumeration."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srlib.assessment import matching

Record = tuple[int, ...]
A, B, C, D, E, F = range(6)
# One key and the target, with n = n* = 8; every expected number below is counted from these.
ORIGINAL = np.array([(A, 0), (B, 0), (B, 0), (C, 0), (C, 1), (D, 2), (E, 1), (E, 1)])
RELEASED = np.array([(A, 1), (B, 0), (B, 0), (B, 0), (C, 0), (E, 1), (E, 2), (F, 2)])
HAND = {
    "repU": 1 / 8,  # A
    "DiSCO": 3 / 8,  # both B and the first C
    "TCAP": (1 * 0 + 3 * 1 + 1 * 0.5) / 5,  # released A, B, C; nobody can check F
}
# Targets have the margin 4/8, 3/8, 1/8; s_q is 1, 3, 3, 1, 1, 0, 2, 2 of the original records.
HAND_BASELINES = {
    "repU": 2 / 8 * (7 / 8) ** 7,  # 8 draws hit A, or D, with probability 1/8 each
    "DiSCO": (1 / 2 + 2 * (1 / 2) ** 3 + 1 / 2 + 3 / 8 + 0 + 2 * (3 / 8) ** 2) / 8,
    "TCAP": (1 / 2 + 3 * (1 / 2) ** 3 + (1 / 2 + 3 / 8) / 2 + 2 * (3 / 8) ** 2)
    / (1 + 3 * (64 + 27 + 1) / 512 + 1 + 2 * (16 + 9 + 1) / 64),  # of released A, B, C, E
}
LEVELS = [6, 3]


@st.composite
def any_tables(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], list[int]]:
    """An original and one to three releases of four variables, n and n* from 1 to 12."""
    levels = draw(st.lists(st.integers(1, 3), min_size=4, max_size=4))
    record = st.tuples(*(st.integers(0, n - 1) for n in levels))
    dtype = draw(st.sampled_from([np.uint8, np.int64, np.uint64]))
    tables = [
        np.array(draw(st.lists(record, min_size=1, max_size=12)), dtype)
        for _ in range(draw(st.integers(2, 4)))
    ]
    return tables[0], tables[1:], levels


def by_dictionaries(
    original: Sequence[Record], released: Sequence[Record], keys: Sequence[int], target: int
) -> tuple[list[dict[str, bool]], dict[str, float]]:
    """The measures record by record, as the module's text defines them."""

    def q(record: Record) -> Record:
        return tuple(record[k] for k in keys)

    d, s = Counter(map(q, original)), Counter(map(q, released))
    s_t = Counter((q(r), r[target]) for r in released)
    flags = []
    for r in original:
        disclosed = [t for (other, t), count in s_t.items() if other == q(r) and count == s[q(r)]]
        alone = d[q(r)] == 1 and s[q(r)] == 1
        flags.append({"repU": alone, "DiSCO": disclosed == [r[target]]})
    values = {name: sum(f[name] for f in flags) / len(flags) for name in flags[0]}
    chances = attributions(original, released, keys, target)
    values["TCAP"] = sum(chances) / len(chances) if chances else np.nan
    return flags, values


def attributions(
    original: Sequence[Record], released: Sequence[Record], keys: Sequence[int], target: int
) -> list[float]:
    """How often each released record at which an intruder aims is right, one by one."""
    chances = []
    for r in released:
        q = [r[k] for k in keys]
        alike = [x[target] for x in original if [x[k] for k in keys] == q]
        shown = {z[target] for z in released if [z[k] for k in keys] == q}
        if alike and len(shown) == 1:
            chances.append(alike.count(r[target]) / len(alike))
    return chances


def records(codes: np.ndarray) -> list[Record]:
    return [tuple(row) for row in codes.tolist()]


def column(frame: pd.DataFrame, name: str) -> dict[str, float]:
    return dict(zip(frame["measure"], frame[name], strict=True))


def test_every_number_by_hand() -> None:
    found = matching.compare(ORIGINAL, RELEASED, LEVELS, [0], 1)
    assert found.measures == pytest.approx(HAND)
    assert found.baselines == pytest.approx(HAND_BASELINES)
    flagged = {name: np.flatnonzero(found.flags[name]).tolist() for name in found.flags}
    assert flagged == {"repU": [0], "DiSCO": [1, 2, 3]}


@given(any_tables())
def test_measures_and_flags_by_dictionaries(
    tables: tuple[np.ndarray, list[np.ndarray], list[int]],
) -> None:
    original, synthetic, levels = tables
    keys, target = [2, 0, 3], 1
    for released in synthetic:
        found = matching.compare(original, released, levels, keys, target)
        flags, values = by_dictionaries(records(original), records(released), keys, target)
        assert found.flags.to_dict("records") == flags
        assert found.measures == pytest.approx(values, nan_ok=True)


def test_a_release_of_the_original_itself() -> None:
    rng = np.random.default_rng(1)
    original = rng.integers(0, 4, (200, 4))
    found = matching.compare(original, original[::-1], [4] * 4, [0, 1, 2], 3).measures
    assert 0 < found["repU"] < found["DiSCO"] < found["TCAP"] == 1


def test_where_nothing_is_found_tcap_has_no_value() -> None:
    nobody = np.array([(F, 0), (F, 0)])
    found = matching.compare(ORIGINAL, nobody, LEVELS, [0], 1)
    assert [found.measures[name] for name in ("repU", "DiSCO")] == [0, 0]
    assert np.isnan(found.measures["TCAP"])
    assert found.baselines["DiSCO"] == 0
    assert np.isnan(found.baselines["TCAP"])
    undecided = np.array([(B, 0), (B, 1)])  # matched, but not disclosive
    found = matching.compare(ORIGINAL, undecided, LEVELS, [0], 1)
    assert np.isnan(found.measures["TCAP"])


def expected(
    tables: Sequence[tuple[float, np.ndarray]], original: np.ndarray, levels: Sequence[int]
) -> dict[str, float]:
    """Means of the measures over possible releases with the probabilities given."""
    total: Counter[str] = Counter()
    for probability, released in tables:
        for name, value in matching.compare(original, released, levels, [0, 1], 2).measures.items():
            total[name] += probability * value  # type: ignore[assignment]
    return dict(total)


def test_baselines_by_enumerating_releases_that_know_the_margins() -> None:
    levels = [2, 3, 3]
    original = np.array([(0, 0, 0), (0, 1, 0), (1, 1, 1), (1, 1, 0), (1, 2, 2)])
    released = np.array([(0, 1, 0), (1, 1, 1), (1, 1, 1)])
    margins = [np.bincount(c, minlength=n) / 5 for c, n in zip(original.T, levels, strict=True)]
    baselines = matching.compare(original, released, levels, [0, 1], 2).baselines
    cells = list(product(range(2), range(3)))
    by_keys = [
        (
            np.prod([margins[0][a] * margins[1][b] for a, b in keys]),
            np.column_stack([keys, released[:, 2]]),
        )
        for keys in product(cells, repeat=3)
    ]
    by_target = [
        (np.prod(margins[2][list(t)]), np.column_stack([released[:, :2], t]))
        for t in product(range(3), repeat=3)
    ]
    of_keys, of_target = (expected(tables, original, levels) for tables in (by_keys, by_target))
    assert baselines["repU"] == pytest.approx(of_keys["repU"])
    assert baselines["DiSCO"] == pytest.approx(of_target["DiSCO"])
    chances = [
        (probability, attributions(records(original), records(z), [0, 1], 2))
        for probability, z in by_target
    ]
    right = sum(probability * sum(each) for probability, each in chances)
    assert baselines["TCAP"] == pytest.approx(right / sum(w * len(each) for w, each in chances))
    assert 0 < baselines["repU"] < 1
    assert 0 < baselines["DiSCO"] < 1


def test_releases_are_averaged_where_a_measure_has_a_value() -> None:
    nobody = np.array([(F, 0)])
    frame = matching.measures(ORIGINAL, [RELEASED, nobody, ORIGINAL], LEVELS, [0], 1)
    assert frame["measure"].tolist() == list(HAND)
    frame = frame.set_index("measure")
    # repU is 1/8, 0, 2/8 and TCAP is 7/10, nothing, 1.
    assert frame.loc["repU", ["releases", "mean", "sd"]].tolist() == pytest.approx(
        [3, 1 / 8, 1 / 8]
    )
    assert frame.loc["repU", "se"] == pytest.approx(1 / 8 / np.sqrt(3))
    assert frame.loc["TCAP", ["releases", "mean"]].tolist() == pytest.approx([2, 0.85])
    assert frame.loc["TCAP", "sd"] == pytest.approx(np.std([0.7, 1.0], ddof=1))
    assert frame.loc["TCAP", "se"] == pytest.approx(np.std([0.7, 1.0], ddof=1) / np.sqrt(2))
    each = [HAND_BASELINES["repU"], 2 / 8 * 1 / 8, HAND_BASELINES["repU"]]
    assert frame.loc["repU", "baseline"] == pytest.approx(np.mean(each))
    alone = matching.measures(ORIGINAL, [RELEASED], LEVELS, [0], 1)
    assert column(alone, "mean") == pytest.approx(HAND)
    assert alone[["sd", "se"]].isna().all(axis=None)


@given(any_tables(), st.randoms(use_true_random=False))
def test_labels_and_orders_do_not_matter(
    tables: tuple[np.ndarray, list[np.ndarray], list[int]], random: Any
) -> None:
    original, synthetic, levels = tables
    labels = [np.array(random.sample(range(n), n)) for n in levels]

    def changed(codes: np.ndarray) -> np.ndarray:
        rows = random.sample(range(len(codes)), len(codes))
        return np.column_stack([label[c] for label, c in zip(labels, codes[rows].T, strict=True)])

    before = matching.measures(original, synthetic, levels, [0, 1, 2], 3)
    others = [changed(z) for z in reversed(synthetic)]
    after = matching.measures(changed(original), others, levels, [2, 0, 1], 3)
    pd.testing.assert_frame_equal(before, after)


@pytest.mark.parametrize(("step", "start", "n_levels"), [(2**31, 0, 2**33), (1, 2**60, 2**61)])
@given(tables=any_tables())
def test_more_combinations_than_int64_holds(
    tables: tuple[np.ndarray, list[np.ndarray], list[int]], step: int, start: int, n_levels: int
) -> None:
    """The same levels of the keys under other numbers, among far more that do not occur."""
    original, synthetic, levels = tables

    def renumbered(codes: np.ndarray) -> np.ndarray:
        wide = codes.astype(np.uint64)
        wide[:, :3] = wide[:, :3] * np.uint64(step) + np.uint64(start)
        return wide

    few = matching.compare(original, synthetic[0], levels, [0, 1, 2], 3)
    wide = [n_levels, n_levels, n_levels, levels[3]]
    many = matching.compare(renumbered(original), renumbered(synthetic[0]), wide, [0, 1, 2], 3)
    pd.testing.assert_frame_equal(few.flags, many.flags)
    assert few.measures == pytest.approx(many.measures, nan_ok=True)
    assert few.baselines == pytest.approx(many.baselines, nan_ok=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": []}, "keys is empty"),
        ({"keys": [0, 2]}, r"columns \[0, 2, 1\]; they must differ and lie in 0 to 1"),
        ({"keys": [-1]}, "they must differ and lie in 0 to 1"),
        ({"keys": [1]}, r"columns \[1, 1\]"),
        ({"target": 0}, r"columns \[0, 0\]"),
        ({"released": []}, "released is empty"),
        ({"original": ORIGINAL[:0]}, r"original has shape \(0, 2\)"),
        ({"released": RELEASED}, r"released\[0\] has shape \(2,\); it must be \(1 or more, 2\)"),
        ({"released": [RELEASED, RELEASED[:, :1]]}, r"released\[1\] has shape \(8, 1\)"),
        ({"original": ORIGINAL / 1}, "original has type float64"),
        ({"original": ORIGINAL - 1}, "original, column 0, runs from -1 to 3; .* in 0 to 5"),
        ({"n_levels": [6, 2]}, "original, column 1, runs from 0 to 2; .* in 0 to 1"),
        ({"n_levels": [5, 3]}, r"released\[0\], column 0, runs from 0 to 5; .* in 0 to 4"),
    ],
)
def test_errors_name_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "original": ORIGINAL,
        "released": [RELEASED],
        "n_levels": LEVELS,
        "keys": [0],
        "target": 1,
    }
    arguments |= changes
    with pytest.raises(ValueError, match=message):
        matching.measures(**arguments)


def test_comparisons_are_of_tables_with_the_same_columns() -> None:
    with pytest.raises(ValueError, match=r"released\[0\] has shape"):
        matching.compare(ORIGINAL, RELEASED[0], LEVELS, [0], 1)


def test_one_key_decides_where_ten_others_agree() -> None:
    """Eleven children are all well; ten people of the north and one of the south are not."""
    child, north = [1] * 11 + [0] * 11, [0] * 11 + [1] * 10 + [0]
    sick = [0] * 11 + [1] * 11
    table = np.array([child, north, sick]).T
    expected = np.array([True] * 11 + [True] * 11)
    assert (matching.decided_by_one_key(table, (2, 2, 2), [0, 1], 2) == expected).all()
    # By region alone: nobody of the south, where some are sick, and ten of the north are too few.
    assert not matching.decided_by_one_key(table, (2, 2, 2), [1], 2).any()
    table[0, 2] = 1  # a sick child
    decided = matching.decided_by_one_key(table, (2, 2, 2), [0, 1], 2)
    assert decided.tolist() == [False] * 11 + [True] * 11
