"""What is beyond other people's records: by hand, by brute force, and by random divisions."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from srlib.assessment import findings, leakage, matching, verdict
from srlib.assessment.submission import submit
from srlib.data import microdata
from srlib.data.codes import Codes


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
    size = 2 / 5 * 3 / 5 / found.others_error**2 - 1
    tail = stats.betabinom.sf(2, 5, 2 / 5 * max(size, 1), 3 / 5 * max(size, 1))
    assert 0 < found.repeated_z <= stats.norm.isf(tail)
    assert found.met == 2
    assert found.found.tolist() == [False, False, True, True, False]
    # 00 is two in the original, 12 one in each; 01 is one in the original and two released; and
    # 22, 10 and 21 occur once.
    # Differing in one variable: of 00 are 01 (3) and 10 (1); of 12 are 10 (1) and 22 (1).
    # Of 22 are 12 (2) and 21 (1); of 01 are 00 (2) and 21 (1).
    assert found.neighbors.tolist() == [4, 4, 3, 2, 3]
    weight = {k: np.log1p(5 / (k + 0.5)) for k in (2, 3, 4)}
    # Of two records in ten, five of them the original's, one lies there in 25 of 45 ways.
    excess = weight[3] + weight[2] - weight[4] * 25 / 20
    assert found.handed_out == pytest.approx(excess / (weight[3] + weight[2] + weight[3]))
    assert found.handed_out_z <= 0  # two are no sign of anything


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
        assert found.repeated == found.at_most == 1
        assert found.handed_out == pytest.approx(1)
        assert found.in_order == (released is original)
    assert leakage.copies(original, original, [4, 5, 6]).same_row == 1
    once_less = np.concatenate([original[1:], original[1:2]])
    assert not leakage.copies(original, once_less, [4, 5, 6]).same_table
    # Ten records of two kinds agree by chance once in four times.
    few = np.repeat([[0], [1]], 5, axis=0)
    assert not leakage.copies(few, few[::-1], [2]).same_table


def test_rows_at_their_place_are_found_though_everybody_is_common_and_files_are_sorted() -> None:
    rng = np.random.default_rng(2)
    original, other = rng.integers(0, 2, (2, 600, 2))
    half = np.where(rng.random((600, 1)) < 0.5, original, other)
    found = leakage.copies(original, half, [2, 2])
    assert found.alone == 0
    assert found.same_row_z > 6
    assert found.same_row == pytest.approx(0.5 + 0.5 / 2, abs=0.05)
    assert found.same_row_others == pytest.approx(0.5, abs=0.05)
    shifted = leakage.copies(original, half[1:], [2, 2])
    assert shifted.same_row == pytest.approx(found.same_row, abs=0.01)
    assert shifted.same_row_z > 6
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
    assert found.repeated_z == pytest.approx((found.repeated - found.others) / spread, abs=0.2)


def test_where_nobody_is_alone_nobody_can_be_handed_out() -> None:
    twice = np.repeat(np.arange(5)[:, None], 2, axis=0)
    found = leakage.copies(twice, twice[:4], [5])
    assert found.alone == 0
    assert np.isnan([found.handed_out, found.handed_out_z, found.at_most]).all()


# --------------------------------------------------------------------------- identity, attributes


def test_identity_by_hand() -> None:
    original, released = table("0", "0", "1", "2", "3", "3"), table("1", "2", "2", "4", "4", "0")
    found = leakage.identity(original, released, [5], [0])
    assert (found.people, found.value) == (2, 1)  # 1 and 2
    # In a half of the file 2 + 4/2 people are alone, in a quarter 2 + 4 (3/4).
    assert found.others == pytest.approx(1 - (2 / 4) ** 3 * 5 / 2)
    assert found.margins == pytest.approx(1 - (5 / 6) ** 6)
    assert not found.thinned
    fewer = leakage.identity(original, original[[2, 3]], [5], [0])
    assert fewer.value == 1
    # In three quarters 2 + 4/4 people are alone, in nine sixteenths 2 + 4 (7/16).
    assert fewer.others == pytest.approx(1 - (2 / 3) ** 3 * (15 / 4) / 2)
    more = leakage.identity(original, np.repeat(released, 2, axis=0), [5], [0])
    assert more.thinned
    kept = 1 - (1 / 2) ** np.array([2, 4])
    assert more.value == pytest.approx(kept.mean())
    assert more.others == found.others
    # Of the people in both files 2 is alone; in a random half of both the expected number is 2.75.
    held_out = table("1", "3", "3", "4", "4", "4")
    known = leakage.identity(original, released, [5], [0], held_out)
    assert known.others == pytest.approx(1 - 1 / 2.75)
    assert (known.value, known.margins) == (found.value, found.margins)
    # The people alone are not so in both files together, be these large enough or not.
    for people in (table("0", "1"), table("0", "1", "2", "2")):
        held_out = table("0", "1")
        assert leakage.identity(people, people, [3], [0], held_out).others == 1


def test_where_all_are_alone_the_prediction_has_an_error() -> None:
    everybody = np.arange(40)[:, None]
    copied, fresh = everybody[:3], everybody[3:] + 37
    found = leakage.identity(everybody, np.concatenate([copied, fresh]), [80], [0])
    assert (found.people, found.others, found.others_error) == (40, 0, 2 / 40)
    assert found.z < verdict.SURE


@pytest.mark.parametrize("people_held_out", [0, 300, 900])
def test_what_others_would_meet_is_foretold_without_bias(
    population: tuple[Codes, NDArray[np.int64]], people_held_out: int
) -> None:
    """From the original and people held out alone; errors are those of another original."""
    codes, n_levels = population
    rng, keys, n = np.random.default_rng(12), [0, 1, 2, 3, 4], 500
    found, fresh = [], []
    for _ in range(REPETITIONS):
        rows = rng.choice(len(codes), 2 * n + people_held_out, replace=False)
        x, others, held_out = np.split(codes[rows], [n, 2 * n])
        given = (n_levels, keys, held_out if people_held_out else None)
        found.append(leakage.identity(x, others, *given))
        fresh.append(found[-1].value)
        margins = np.column_stack([rng.choice(column, n) for column in x.T])
        assert leakage.identity(x, margins, *given).others == found[-1].others
    others = np.array([each.others for each in found])
    differences = others - fresh
    error = differences.std() / np.sqrt(REPETITIONS)
    assert abs(differences.mean()) < 4 * error < 0.03
    assert np.mean([each.others_error for each in found]) == pytest.approx(others.std(), rel=0.25)


def test_people_handed_out_are_found_and_those_of_fresh_samples_are_not(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    """Keys of three in five who are alone, among independent margins; half a file; others'."""
    codes, n_levels = population
    rng, keys, n, cases = np.random.default_rng(13), [0, 1, 2, 3, 4], 500, 40
    alarms = {"planted": 0, "half copied": 0, "fresh": 0}
    for _ in range(cases):
        x, fresh = np.split(codes[rng.choice(len(codes), 2 * n, replace=False)], 2)
        planted = np.column_stack([rng.choice(column, n) for column in x.T])
        alone = np.flatnonzero(leakage.identity_of_each(x, planted, n_levels, keys).counted)
        some = rng.permutation(alone)[: round(0.6 * len(alone))]
        planted[: len(some), keys] = x[some][:, keys]
        half = np.concatenate([x[: n // 2], fresh[n // 2 :]])
        for name, released in zip(alarms, (planted, half, fresh), strict=True):
            alarms[name] += leakage.identity(x, released, n_levels, keys).z >= verdict.SURE
    assert min(alarms["planted"], alarms["half copied"]) >= 0.9 * cases
    # 1 % of the fresh samples, and four binomial standard errors of so few.
    assert alarms["fresh"] <= 0.01 * cases + 4 * np.sqrt(0.01 * 0.99 * cases)


def test_random_divisions_by_the_hypergeometric_law() -> None:
    o, s = np.array([1, 2, 0, 1, 3, 0, 2]), np.array([1, 0, 2, 2, 0, 1, 1])
    law = stats.hypergeom(int((o + s).sum()), o + s, int(o.sum()))
    for every in (True, False):
        pure, p = leakage._divided(o, s, every)
        one, own = law.pmf(1), law.pmf(o + s)
        expected = one / (one + own + (law.pmf(0) if every else 0))
        some = o + s > 1
        assert p[some] == pytest.approx(expected[some])
        assert pure.tolist() == [False, True, every, False, True, False, False]


def test_tails_of_weighted_sums_by_enumeration() -> None:
    rng = np.random.default_rng(11)
    p, weight = rng.uniform(0.1, 0.7, 12), rng.uniform(0.5, 2, 12)
    every = np.array(list(product([False, True], repeat=12)))
    probability = np.where(every, p, 1 - p).prod(axis=1)
    sums = every @ weight
    for _ in range(20):
        hit = rng.random(12) < 0.6
        tail = probability[sums >= weight[hit].sum() - 1e-9].sum()
        z = leakage._bernoulli_z(hit, p, weight)
        if hit.sum() >= leakage.FEWEST and tail < 0.3:
            assert 0.7 * tail < stats.norm.sf(z) < 2.5 * tail
    assert leakage._bernoulli_z(np.arange(12) < 2, p, weight) <= 0
    assert leakage._bernoulli_z(np.ones(12, bool), p, weight) > 3


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
    # As the baseline there, with the margin of the release.
    share, keys = np.bincount(released[:, 2], minlength=6) / 80, released[:, :2]
    alike = (original[:, None, :2] == keys[None]).all(axis=2).sum(axis=1)
    expected = np.where(alike > 0, share[original[:, 2]] ** alike, 0)
    assert found.margins == pytest.approx(expected.mean())


def test_a_release_that_says_the_same_of_everybody_discloses_nobody() -> None:
    rng = np.random.default_rng(16)
    original = np.column_stack([rng.integers(0, 40, 500), rng.random(500) < 0.1]).astype(int)
    released = np.column_stack([rng.integers(0, 40, 500), np.zeros(500, int)])
    found = leakage.attributes(original, released, [40, 2], [0], 1)
    assert found.value > 0.8
    assert found.margins == pytest.approx(found.value)
    assert verdict.of_attributes([found], "target").level == "no more"


def test_margins_of_a_larger_release_by_simulation() -> None:
    """Targets drawn anew from the release's own: their mean share is what the margins tell."""
    rng = np.random.default_rng(5)
    original = np.column_stack([np.arange(60) % 12, rng.integers(0, 3, 60)])
    keys, targets = np.arange(120) % 12, rng.choice(original[:, 1], 120)
    margins = leakage.attributes(
        original, np.column_stack([keys, targets]), [12, 3], [0], 1
    ).margins
    drawn = []
    for _ in range(400):
        released = np.column_stack([keys, rng.choice(targets, 120)])
        drawn.append(leakage.attributes(original, released, [12, 3], [0], 1).value)
    assert abs(np.mean(drawn) - margins) < 5 * np.std(drawn) / np.sqrt(400)


def test_errors_name_what_is_wrong() -> None:
    one = np.zeros((3, 2), int)
    calls: list[tuple[Any, tuple[Any, ...], str]] = [
        (leakage.copies, (one, one[:, :1], [2, 2]), r"released\[0\] has shape \(3, 1\)"),
        (leakage.identity, (one, one, [2, 2], []), "keys is empty"),
        (leakage.attributes, (one, one, [2, 2], [0], 0), "they must differ"),
        (leakage.copies, (one, one[:1], [2, 2]), r"tables have \[3, 1\] records; each needs two"),
    ]
    for function, arguments, message in calls:
        with pytest.raises(ValueError, match=message):
            function(*arguments)


# ---------------------------------------------------------------------------- as tests, by chance


@pytest.fixture(scope="module")
def population() -> tuple[Codes, NDArray[np.int64]]:
    table = microdata.embedded_population(40_000, rng=np.random.default_rng(6))
    return table.codes, table.schema.n_levels


REPETITIONS = 150


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
        differences.append(
            (
                copies.repeated - copies.others,
                copies.handed_out,
                attributes.value - attributes.others,
            )
        )
        lines = verdict.of_copies([copies]), verdict.of_identity([identity])
        levels_found = [line.level for line in lines]
        levels_found.append(verdict.of_attributes([attributes], "target").level)
        alarms += bool({"signs", "found", "more", "far more"} & set(levels_found))
    error = np.std(differences, axis=0) / np.sqrt(REPETITIONS)
    assert (np.abs(np.mean(differences, axis=0)) < 4.5 * error).all()
    # By tails of few, which are kept on the safe side, and the larger of two.
    assert (np.std(z, axis=0) < 1.15).all()
    assert (np.std(z, axis=0) > 0.6).all()
    assert alarms <= 0.05 * REPETITIONS


def test_a_release_of_margins_is_seldom_beyond_them(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    codes, n_levels = population
    rng, levels, alarms = np.random.default_rng(8), n_levels.tolist(), 0
    for _ in range(120):
        x = codes[rng.choice(len(codes), 400, replace=False)]
        released = np.column_stack([rng.choice(column, 400) for column in x.T])
        *keys, target = rng.permutation(len(levels))[: rng.integers(3, 10)].tolist()
        lines = (
            verdict.of_copies([leakage.copies(x, released, levels)]),
            verdict.of_identity([leakage.identity(x, released, levels, keys)]),
            verdict.of_attributes([leakage.attributes(x, released, levels, keys, target)], ""),
        )
        alarms += any(line.level not in ("none", "undecided", "no more") for line in lines)
    assert alarms <= 0.05 * 120


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_handed_out_is_estimated(
    population: tuple[Codes, NDArray[np.int64]], share: float
) -> None:
    """Some people's own records among other people's: without bias, limits that hold."""
    codes, n_levels = population
    rng, levels, found = np.random.default_rng(9), n_levels.tolist(), []
    for _ in range(40):
        rows = rng.choice(len(codes), 1200, replace=False)
        x, released = codes[rows[:600]], codes[rows[600:]].copy()
        copied = rng.permutation(600)[: round(600 * share)]
        released[: len(copied)] = x[copied]
        found.append(leakage.copies(x, released, levels))
    estimates = np.array([each.handed_out for each in found])
    assert estimates.mean() == pytest.approx(share, abs=0.04)
    assert estimates.std() == pytest.approx(
        np.mean([each.handed_out_error for each in found]), rel=0.5
    )
    assert np.mean([each.at_most >= share for each in found]) >= 0.95
    assert np.mean([each.handed_out_z > verdict.SURE for each in found]) > 0.8


def test_errors_are_not_smaller_than_the_spread_over_releases(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    """One original, 80 releases of its margins: what one of them says of the others."""
    codes, n_levels = population
    rng, levels = np.random.default_rng(10), n_levels.tolist()
    x = codes[rng.choice(len(codes), 500, replace=False)]
    found = []
    for _ in range(80):
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


# ----------------------------------------------------------------------------- what hides copies


def changed(x: Codes, levels: list[int], cells: int, rng: np.random.Generator) -> Codes:
    """Each record with some of its values changed, in a random order."""
    z = x.copy()
    for row in z:
        for k in rng.choice(len(levels), cells, replace=False):
            row[k] = (row[k] + 1) % levels[k]
    return rng.permutation(z)


def test_records_with_a_value_changed_are_nearly_copies() -> None:
    rng, levels = np.random.default_rng(12), [3] * 20
    classes = rng.dirichlet(np.full(3, 0.4), (6, 20))

    def people(n: int) -> Codes:
        of = rng.integers(0, 6, n)
        return (rng.random((n, 20, 1)) > classes[of].cumsum(axis=2)).sum(axis=2).clip(max=2)

    for _ in range(5):
        x = people(500)
        near = [leakage.copies(x, changed(x, levels, k, rng), levels) for k in (1, 2)]
        assert all(each.repeated < 0.02 for each in near)
        assert all(each.near_z > verdict.CERTAIN for each in near)
        assert leakage.copies(x, people(500), levels).near_z < verdict.SURE


def test_copies_released_twice_are_found_among_rough_records(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    codes, n_levels = population
    rng, levels = np.random.default_rng(13), n_levels.tolist()
    x = codes[rng.choice(len(codes), 2_000, replace=False)]
    released = np.column_stack([rng.choice(column, 2_000) for column in x.T])
    released[:400] = np.repeat(x[:200], 2, axis=0)
    found = leakage.copies(x, rng.permutation(released), levels)
    assert verdict.of_copies([found]).level != "none"


def test_an_original_that_repeats_people_or_was_rid_of_them_is_no_reference(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    codes, n_levels = population
    rng, levels = np.random.default_rng(14), n_levels.tolist()
    rows = rng.permutation(len(codes))
    x, released = codes[rows[:1_000]], codes[rows[1_000:3_000]]
    assert leakage.copies(x, released, levels).premise == ""
    twins = leakage.copies(np.repeat(x, 2, axis=0), released, levels)
    assert twins.premise == "twins"
    assert verdict.of_copies([twins]).level == "undecided"
    few = [0, 1, 2, 3, 4, 5]
    dense = [np.unique(codes[rows[i * 3_000 : (i + 1) * 3_000]][:, few], axis=0) for i in (0, 1)]
    some = [levels[k] for k in few]
    removed = leakage.copies(dense[0], dense[1], some)
    assert removed.premise == "removed"
    assert np.isnan(removed.repeated_z)
    assert verdict.of_copies([removed]).level == "undecided"
    held_out = codes[rows[-500:]][:, few]
    told = leakage.copies(dense[0], dense[1], some, held_out)
    assert told.premise == ""
    assert np.isnan([told.handed_out_z, told.near_z]).all()
    assert verdict.of_copies([told]).level in ("none", "undecided")
    copied = leakage.copies(x[:, few], x[:300, few], some, held_out)
    assert verdict.of_copies([copied]).level == "found"


def test_a_handful_of_people_held_out_makes_no_copies(
    population: tuple[Codes, NDArray[np.int64]],
) -> None:
    codes, n_levels = population
    rng, levels, alarms = np.random.default_rng(15), n_levels.tolist(), 0
    for _ in range(60):
        rows = rng.choice(len(codes), 1_320, replace=False)
        x, released, held_out = np.split(codes[rows], [300, 1_300])
        alarms += leakage.copies(x, released, levels, held_out).repeated_z >= verdict.SURE
    assert alarms <= 3


# -------------------------------------------------------------------------------------- nearest


def test_nearest_people_by_all_divisions() -> None:
    rng, levels = np.random.default_rng(5), [2, 3, 4]
    people, released = rng.integers(0, levels, (7, 3)), rng.integers(0, levels, (5, 3))
    shares = []
    for chosen in combinations(range(7), 3):
        in_file = np.isin(np.arange(7), chosen)
        found = leakage.nearest(people[in_file], released, people[~in_file], levels)
        agree = (released[:, None] == people[None]).sum(axis=2)
        closest = agree == agree.max(axis=1, keepdims=True)
        share = ((closest & in_file).sum(axis=1) / closest.sum(axis=1)).mean()
        assert found.share == pytest.approx(share)
        assert (found.records, found.held_out) == (5, 4)
        assert found.by_chance == pytest.approx(3 / 7)
        shares.append(found.share)
    assert np.mean(shares) == pytest.approx(3 / 7)
    assert found.error == pytest.approx(np.std(shares))


def test_copies_are_nearest_to_those_they_were_made_of() -> None:
    rng, levels = np.random.default_rng(6), [4, 5, 6, 7, 8]
    original, held_out, fresh = rng.integers(0, levels, (3, 300, 5))
    half = np.where(rng.random((300, 1)) < 0.5, original, fresh)
    assert leakage.nearest(original, half, held_out, levels).z > 8
    changed = half.copy()
    changed[:, 0] = fresh[:, 0]  # no test for equal records finds all of these
    assert leakage.nearest(original, changed, held_out, levels).z > 5
    assert abs(leakage.nearest(original, fresh, held_out, levels).z) < 3


def test_nearest_people_of_many_are_those_of_evenly_spaced_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, levels = np.random.default_rng(7), [3, 4, 5]
    original, held_out, released = rng.integers(0, levels, (3, 60, 3))
    every = leakage.nearest(original, released, held_out, levels)
    some = leakage.nearest(original, released[np.linspace(0, 59, 4).astype(int)], held_out, levels)
    people = len(np.unique(np.concatenate([original, held_out]), axis=0))
    monkeypatch.setattr(leakage, "PAIRS", 4 * people)
    assert leakage.nearest(original, released, held_out, levels) == some
    assert every.records == 60


@pytest.mark.parametrize("keys", [["a", "b"], None])
def test_all_targets_in_turn(keys: list[str] | None) -> None:
    rng = np.random.default_rng(11)
    shared = rng.integers(0, 2, 120)
    noise = rng.integers(0, 2, (120, 4))
    codes = np.where(rng.random((120, 4)) < 0.7, shared[:, None], noise)
    original = pd.DataFrame(codes, columns=list("abcd"))
    released = [original.sample(120, replace=True, random_state=seed) for seed in (1, 2)]
    submission = submit(original, released, keys, same_generator=True)
    found = findings.of_targets(submission).set_index("target")
    assert set(found.index) == ({"c", "d"} if keys else set("abcd"))
    assert found["rest"].is_monotonic_decreasing
    for name, row in found.iterrows():
        at = submission.schema.names.index(str(name))
        of = [k for k in range(4) if k != at] if keys is None else [0, 1]
        every = [
            leakage.attributes(submission.original, z, [2] * 4, of, at) for z in submission.released
        ]
        assert row["value"] == pytest.approx(np.mean([each.value for each in every]))
        assert row["z"] == pytest.approx(np.mean([each.z for each in every]))
        most = np.bincount(submission.original[:, at]).argmax()
        shares = []
        for z in submission.released:
            disclosed = [
                record[at]
                for record in submission.original
                if {tuple(r[[*of, at]]) for r in z if (r[of] == record[of]).all()}
                == {tuple(record[[*of, at]])}
            ]
            shares.append(np.mean(np.array(disclosed) == most) if disclosed else np.nan)
        np.testing.assert_allclose(row["frequent"], np.mean(shares))
        assert not row["guessed"] < max(row["frequent"], row["one_key"])
