"""What is beyond other people's records: by hand, by brute force, and by random divisions."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from srlib import leakage, matching, microdata, verdict

Codes = NDArray[np.integer]


def table(*rows: str) -> Codes:
    """Codes of records that are written as digits."""
    return np.array([[int(code) for code in row] for row in rows])


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[Codes, Codes, list[int]]:
    levels = draw(st.lists(st.integers(2, 3), min_size=3, max_size=3))
    record = st.tuples(*(st.integers(0, n - 1) for n in levels))
    both = [draw(st.lists(record, min_size=2, max_size=12)) for _ in range(2)]
    return np.array(both[0]), np.array(both[1]), levels


# --------------------------------------------------------------------------------------- copies


def test_copies_by_hand() -> None:
    original = table("00", "00", "01", "12", "22")
    released = table("01", "01", "12", "10", "21")
    found = leakage.copies(original, released, [3, 3])
    assert found.repeated == pytest.approx(3 / 5)  # both 01 and 12
    assert found.others == pytest.approx(1 - 3 / 5)  # 01, 12 and 22 are alone
    assert found.alone == 3
    assert found.others_error == pytest.approx(np.sqrt(3 * 2 / 5 + 2) / 5)
    spread = np.hypot(found.others_error, np.sqrt(2 / 5 * 3 / 5 / 5))
    assert found.repeated_z == pytest.approx((3 / 5 - 2 / 5) / spread)
    assert found.found.tolist() == [False, False, True, True, False]
    # 00 is two in the original, 12 one in each; 01 occurs three times and 22, 10, 21 once.
    # Differing in one variable: of 00 are 01 (3) and 10 (1); of 12 are 10 (1) and 22 (1).
    # Of 22 are 12 (2) and 21 (1); of 01 are 00 (2) and 21 (1).
    assert found.neighbors.tolist() == [4, 4, 3, 2, 3]
    weight = {k: np.log1p(5 / (k + 0.5)) for k in (2, 3, 4)}
    p = 2 * 5 * 5 / (10 * 9)
    excess = weight[2] - weight[4] * p / (1 - p)
    assert found.handed_out == pytest.approx(excess / (weight[2] + weight[3]))
    sd = np.sqrt(p * (1 - p) * (weight[2] ** 2 + weight[4] ** 2)) / (1 - p)
    assert found.handed_out_z == pytest.approx(excess / sd)


@given(two_tables())
def test_neighbors_and_shares_by_brute_force(tables: tuple[Codes, Codes, list[int]]) -> None:
    original, released, levels = tables
    found = leakage.copies(original, released, levels)
    both = np.concatenate(tables[:2])
    different = (both[:, None] != both[None]).sum(axis=2)
    n = len(original)
    assert found.neighbors.tolist() == (different == 1).sum(axis=1)[:n].tolist()
    assert found.repeated == pytest.approx((different[n:, :n] == 0).any(axis=1).mean())
    others = different[:n, :n] + 9 * np.eye(n)
    assert found.others == pytest.approx((others == 0).any(axis=1).mean())
    assert found.alone == (~(others == 0).any(axis=1)).sum()


def test_a_copy_in_any_order_is_the_original_itself() -> None:
    rng = np.random.default_rng(1)
    original = rng.integers(0, [4, 5, 6], (100, 3))
    for released in (original, rng.permutation(original)):
        found = leakage.copies(original, released, [4, 5, 6])
        assert found.same_table
        assert found.repeated == found.handed_out == found.at_most == 1
    assert leakage.copies(original, original, [4, 5, 6]).same_row == 1
    once_less = np.concatenate([original[1:], original[1:2]])
    assert not leakage.copies(original, once_less, [4, 5, 6]).same_table
    # Ten records of two kinds agree by chance once in four times.
    few = np.repeat([[0], [1]], 5, axis=0)
    assert not leakage.copies(few, few, [2]).same_table


def test_rows_at_their_place_are_found_though_everybody_is_common_and_files_are_sorted() -> None:
    rng = np.random.default_rng(2)
    original, other = rng.integers(0, 2, (2, 600, 2))
    half = np.where(rng.random((600, 1)) < 0.5, original, other)
    found = leakage.copies(original, half, [2, 2])
    assert found.alone == 0
    assert found.same_row_z > 6
    assert found.same_row == pytest.approx(0.5 + 0.5 / 4, abs=0.1)
    first, second = (np.sort(codes, axis=0) for codes in (original, other))
    found = leakage.copies(first, second, [2, 2])
    assert found.same_row > 0.8
    assert abs(found.same_row_z) < 3


def test_people_held_out_stand_for_other_people() -> None:
    rng = np.random.default_rng(3)
    original, released, held_out = rng.integers(0, [4, 5, 6], (3, 80, 3))
    found = leakage.copies(original, released, [4, 5, 6], held_out)
    kept = {tuple(row) for row in original}
    assert found.others == pytest.approx(np.mean([tuple(row) in kept for row in held_out]))
    spread = np.sqrt(2 * found.others * (1 - found.others) / 80)
    assert found.repeated_z == pytest.approx((found.repeated - found.others) / spread)


def test_where_nobody_is_alone_nobody_can_be_handed_out() -> None:
    twice = np.repeat(np.arange(5)[:, None], 2, axis=0)
    found = leakage.copies(twice, twice[:4], [5])
    assert found.alone == 0
    assert np.isnan([found.handed_out, found.handed_out_z, found.at_most]).all()


# --------------------------------------------------------------------------- identity, attributes


def test_identity_by_hand() -> None:
    original, released = table("0", "0", "1", "2", "3", "3"), table("1", "2", "2", "4", "1", "0")
    found = leakage.identity(original, released, [5], [0])
    assert found.people == 2  # 1 and 2, of whom each meets two
    assert found.value == 0
    assert found.others == pytest.approx(2 * 1 * 1 / 2)  # the pair 3, 3 meets nobody
    found = leakage.identity(original, original[[2, 3]], [5], [0])
    assert found.value == 1
    odds = 2 * 2 / 6  # two pairs of the original's, and two released records
    assert found.others == pytest.approx(odds * 2 / 2)
    p = odds / (1 + odds)
    others = (2 - 4 * p) / np.sqrt(4 * p * (1 - p))
    met = 2 * (1 / 6) * (5 / 6)
    assert found.margins == pytest.approx(met)
    assert found.z == pytest.approx(min(others, (2 - 2 * met) / np.sqrt(2 * met * (1 - met))))


@given(two_tables())
def test_attributes_of_thinned_files_by_enumeration(
    tables: tuple[Codes, Codes, list[int]],
) -> None:
    original, released, levels = (tables[0][:5], tables[1][:5], tables[2])
    n, m = len(original), len(released)
    found = leakage.attributes(original, released, levels, [0, 1], 2)

    def disclosed(person: Codes, others: Codes, kept: float) -> float:
        """Probability over all that may be kept."""
        total = 0.0
        for chosen in product([False, True], repeat=len(others)):
            left = others[list(chosen)]
            same = left[(left[:, :2] == person[:2]).all(axis=1), 2]
            probability = np.prod(np.where(chosen, kept, 1 - kept))
            total += probability * (len(same) > 0 and (same == person[2]).all())
        return total

    each = [
        (
            disclosed(person, released, min(1, n / m)),
            disclosed(person, np.delete(original, i, axis=0), min(1, m / n)),
        )
        for i, person in enumerate(original)
    ]
    assert [found.value, found.others] == pytest.approx(np.mean(each, axis=0).tolist())


def test_attributes_of_a_release_of_one_size_are_disco() -> None:
    rng = np.random.default_rng(4)
    original, released = rng.integers(0, [4, 5, 6], (2, 80, 3))
    found = leakage.attributes(original, released, [4, 5, 6], [0, 1], 2)
    compared = matching.compare(original, released, [4, 5, 6], [0, 1], 2)
    assert found.value == pytest.approx(compared.measures["DiSCO"])
    assert found.margins == pytest.approx(compared.baselines["DiSCO"])


def test_margins_of_a_larger_release_by_simulation() -> None:
    rng = np.random.default_rng(5)
    original = np.column_stack([np.arange(60) % 12, rng.integers(0, 3, 60)])
    keys = np.arange(120) % 12
    drawn = []
    for _ in range(400):
        released = np.column_stack([keys, rng.choice(original[:, 1], 120)])
        found = leakage.attributes(original, released, [12, 3], [0], 1)
        drawn.append(found.value)
    assert abs(np.mean(drawn) - found.margins) < 5 * np.std(drawn) / np.sqrt(400)


def test_errors_name_what_is_wrong() -> None:
    one = np.zeros((3, 2), int)
    calls: list[tuple[Any, tuple[Any, ...], str]] = [
        (leakage.copies, (one, one[:, :1], [2, 2]), r"synthetic\[0\] has shape \(3, 1\)"),
        (leakage.identity, (one, one, [2, 2], []), "keys is empty"),
        (leakage.attributes, (one, one, [2, 2], [0], 0), "they must differ"),
    ]
    for function, arguments, message in calls:
        with pytest.raises(ValueError, match=message):
            function(*arguments)


# ---------------------------------------------------------------------------- as tests, by chance


@pytest.fixture(scope="module")
def population() -> tuple[Codes, NDArray[np.int64]]:
    table = microdata.embedded_population(40_000, np.random.default_rng(6))
    return table.codes, table.schema.n_levels


REPETITIONS = 500


@pytest.mark.parametrize(("n", "m"), [(300, 300), (200, 500), (500, 200)])
def test_other_people_are_seldom_beyond_other_people(
    population: tuple[Codes, NDArray[np.int64]], n: int, m: int
) -> None:
    """Halves of one table: each statistic has mean zero, and alarms are rare."""
    codes, n_levels = population
    rng, levels = np.random.default_rng(7), n_levels.tolist()
    z, differences, alarms = [], [], 0
    for _ in range(REPETITIONS):
        rows = rng.choice(len(codes), n + m, replace=False)
        x, other = codes[rows[:n]], codes[rows[n:]]
        *keys, target = rng.permutation(len(levels))[: rng.integers(3, 10)].tolist()
        copies = leakage.copies(x, other, levels)
        identity = leakage.identity(x, other, levels, keys)
        attributes = leakage.attributes(x, other, levels, keys, target)
        z.append((copies.repeated_z, copies.handed_out_z))
        known = identity.people > 0
        differences.append(
            (
                copies.repeated - copies.others,
                copies.handed_out,
                (identity.value - identity.others) * identity.people if known else 0.0,
                attributes.value - attributes.others,
            )
        )
        lines = verdict.of_copies([copies]), verdict.of_identity([identity])
        levels_found = [line.level for line in lines]
        levels_found.append(verdict.of_attributes([attributes], "target").level)
        alarms += bool({"signs", "found", "more", "far more"} & set(levels_found))
    error = np.std(differences, axis=0) / np.sqrt(REPETITIONS)
    assert (np.abs(np.mean(differences, axis=0)) < 4.5 * error).all()
    assert np.std(z, axis=0) == pytest.approx([1, 1], abs=0.15)
    assert alarms <= 0.05 * REPETITIONS


def test_a_release_of_margins_is_seldom_beyond_them(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    codes, n_levels = population
    rng, levels, alarms = np.random.default_rng(8), n_levels.tolist(), 0
    for _ in range(300):
        x = codes[rng.choice(len(codes), 400, replace=False)]
        released = np.column_stack([rng.choice(column, 400) for column in x.T])
        *keys, target = rng.permutation(len(levels))[: rng.integers(3, 10)].tolist()
        lines = (
            verdict.of_copies([leakage.copies(x, released, levels)]),
            verdict.of_identity([leakage.identity(x, released, levels, keys)]),
            verdict.of_attributes([leakage.attributes(x, released, levels, keys, target)], ""),
        )
        alarms += any(line.level not in ("none", "undecided", "no more") for line in lines)
    assert alarms <= 0.05 * 300


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_handed_out_is_estimated(
    population: tuple[Codes, NDArray[np.int64]], share: float
) -> None:
    """Some people's own records among other people's: without bias, limits that hold."""
    codes, n_levels = population
    rng, levels, found = np.random.default_rng(9), n_levels.tolist(), []
    for _ in range(100):
        rows = rng.choice(len(codes), 1200, replace=False)
        x, released = codes[rows[:600]], codes[rows[600:]].copy()
        copied = rng.permutation(600)[: round(600 * share)]
        released[: len(copied)] = x[copied]
        found.append(leakage.copies(x, released, levels))
    estimates = np.array([each.handed_out for each in found])
    assert estimates.mean() == pytest.approx(share, abs=0.03)
    assert estimates.std() == pytest.approx(
        np.mean([each.handed_out_error for each in found]), rel=0.4
    )
    assert np.mean([each.at_most >= share for each in found]) >= 0.95
    assert np.mean([each.handed_out_z > verdict.SURE for each in found]) > 0.8


def test_errors_are_not_smaller_than_the_spread_over_releases(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    """One original, 200 releases of its margins: what one of them says of the others."""
    codes, n_levels = population
    rng, levels = np.random.default_rng(10), n_levels.tolist()
    x = codes[rng.choice(len(codes), 500, replace=False)]
    found = []
    for _ in range(200):
        released = np.column_stack([rng.choice(column, 500) for column in x.T])
        copies = leakage.copies(x, released, levels)
        identity = leakage.identity(x, released, levels, [0, 1, 2, 3, 4])
        attributes = leakage.attributes(x, released, levels, [0, 1, 2, 3, 4], 13)
        found.append(
            [(copies.repeated, copies.repeated_error)]
            + [(each.value, each.error) for each in (identity, attributes)]
        )
    values, errors = np.moveaxis(np.array(found), 2, 0)
    spread = values.std(axis=0, ddof=1)
    assert (errors.mean(axis=0) > 0.9 * spread).all()
    assert (errors.mean(axis=0) < 5 * spread).all()
    assert errors.mean(axis=0)[0] == pytest.approx(spread[0], rel=0.2)
