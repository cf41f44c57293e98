"""Copies beyond coincidence: by hand, by brute force, and by random divisions."""

from itertools import product

import numpy as np
import pytest
from cases import LEVELS, changed, margins, samples, table, two_tables
from hypothesis import given
from scipy import stats

from srlib.assessment.copies import Copies, copies
from srlib.assessment.files import Files
from srlib.assessment.ratings import Z_CERTAIN, Z_SIGNIFICANT, rate_copies
from srlib.assessment.z_scores import MIN_COINCIDENCES, bernoulli_z, split_odds
from srlib.data.codes import Codes

PARTS = {
    "repeated": "identical records",
    "handed_out": "copied uniques",
    "hidden": "undetected copies",
    "near": "near-duplicates",
    "many": "repeated unique",
    "itself": "excess over own duplicates",
    "uncut": "identical before binning",
    "same_row": "row order",
}


def of(found: Copies, part: str, name: str = "estimate") -> float:
    """A number of a row, by its part of the test for copies."""
    return float(found.rows[PARTS[part]][name])


def test_copies_by_hand() -> None:
    original = table("00", "00", "01", "12", "22")
    released = table("01", "01", "12", "10", "21")
    found = copies(Files(original, released, [3, 3]))
    # Released are 01 twice and 12; 01, 12 and 22 are alone.
    assert of(found, "repeated", "baseline_se") == pytest.approx(
        np.sqrt(3 * 2 / 5 + 2) / 5
    )
    size = 2 / 5 * 3 / 5 / of(found, "repeated", "baseline_se") ** 2 - 1
    tail = stats.betabinom.sf(2, 5, 2 / 5 * max(size, 1), 3 / 5 * max(size, 1))
    assert 0 < of(found, "repeated", "z") <= stats.norm.isf(tail)
    assert found.identical.tolist() == [False, False, True, True, False]
    # Neighbors: of 00 01 (3) and 10; of 12 10 and 22; of 22 12 (2) and 21; of 01 00 (2)
    # and 21.
    weight = {k: np.log1p(5 / (k + 0.5)) for k in (2, 3, 4)}
    # Of two records in ten, five of them the original's, one lies there in 25 of 45
    # ways.
    excess = weight[3] + weight[2] - weight[4] * 25 / 20
    assert of(found, "handed_out") == pytest.approx(
        excess / (weight[3] + weight[2] + weight[3])
    )
    assert of(found, "handed_out", "z_permutation") <= 0  # two are no sign of anything


@given(two_tables())
def test_neighbors_and_shares_by_brute_force(
    tables: tuple[Codes, Codes, list[int]],
) -> None:
    original, released, levels = tables
    found = copies(Files(original, released, levels))
    both = np.concatenate(tables[:2])
    different = (both[:, None] != both[None]).sum(axis=2)
    n = len(original)
    assert found.neighbors.tolist() == (different == 1).sum(axis=1)[:n].tolist()
    assert of(found, "repeated") == pytest.approx(
        (different[n:, :n] == 0).any(axis=1).mean()
    )
    again = (different[:n, :n] + 9 * np.eye(n) == 0).any(axis=1)
    assert of(found, "repeated", "baseline") == pytest.approx(again.mean())
    assert of(found, "handed_out", "n") == (~again).sum()


def test_random_divisions_by_the_hypergeometric_law() -> None:
    o, s = np.array([1, 2, 0, 1, 3, 0, 2]), np.array([1, 0, 2, 2, 0, 1, 1])
    law = stats.hypergeom(int((o + s).sum()), o + s, int(o.sum()))
    for every in (True, False):
        pure, p = split_odds(o, s, every)
        one, own = law.pmf(1), law.pmf(o + s)
        expected = one / (one + own + (law.pmf(0) if every else 0))
        some = o + s > 1
        assert p[some] == pytest.approx(expected[some])
        assert pure.tolist() == [False, True, every, False, True, False, False]


def test_tails_of_weighted_sums_by_enumeration(rng: np.random.Generator) -> None:
    p, weight = rng.uniform(0.1, 0.7, 12), rng.uniform(0.5, 2, 12)
    every = np.array(list(product([False, True], repeat=12)))
    probability = np.where(every, p, 1 - p).prod(axis=1)
    sums = every @ weight
    for _ in range(20):
        hit = rng.random(12) < 0.6
        tail = probability[sums >= weight[hit].sum() - 1e-9].sum()
        z = bernoulli_z(hit, p, weight)
        if hit.sum() >= MIN_COINCIDENCES and tail < 0.3:
            assert 0.7 * tail < stats.norm.sf(z) < 2.5 * tail
    # Two coincidences are no sign of anything, however improbable.
    two, three = (bernoulli_z(np.arange(12) < size, p / 50, weight) for size in (2, 3))
    assert two <= 0 < Z_SIGNIFICANT < three
    assert bernoulli_z(np.ones(12, bool), p, weight) > 3


def test_a_copy_in_any_order_is_the_original_itself(rng: np.random.Generator) -> None:
    original = rng.integers(0, [4, 5, 6], (100, 3))
    for released in (original, rng.permutation(original)):
        found = copies(Files(original, released, [4, 5, 6]))
        assert found.same_table
        assert of(found, "repeated") == of(found, "hidden") == 1
        assert of(found, "handed_out") == pytest.approx(1)
    assert not copies(
        Files(original, original[[1, *range(1, 100)]], [4, 5, 6])
    ).same_table
    # Ten records of two kinds agree by chance once in four times.
    few = np.repeat([[0], [1]], 5, axis=0)
    assert not copies(Files(few, few[::-1], [2])).same_table
    assert copies(
        Files(few, few, [2])
    ).same_table  # and in this order once in a thousand


def test_rows_at_their_place_are_found_though_everybody_is_common_and_files_are_sorted() -> (
    None
):
    rng = np.random.default_rng(2)
    original, other = rng.integers(0, 2, (2, 600, 2))
    half = np.where(rng.random((600, 1)) < 0.5, original, other)
    found = copies(Files(original, half, [2, 2]))
    assert of(found, "handed_out", "n") == 0  # so that nobody can be handed out
    assert np.isnan(
        [of(found, "handed_out", name) for name in ("estimate", "z_permutation")]
    ).all()
    assert np.isnan(of(found, "hidden"))
    assert of(found, "same_row") == pytest.approx(0.5 + 0.5 / 2, abs=0.05)
    assert of(found, "same_row", "baseline") == pytest.approx(0.5, abs=0.05)
    shifted = copies(Files(original, half[1:], [2, 2]))
    assert of(shifted, "same_row") == pytest.approx(of(found, "same_row"), abs=0.01)
    assert min(of(found, "same_row", "z"), of(shifted, "same_row", "z")) > 6
    found = copies(Files(np.sort(original, axis=0), np.sort(other, axis=0), [2, 2]))
    assert of(found, "same_row") > 0.8
    assert abs(of(found, "same_row", "z")) < 3


def test_people_held_out_stand_for_other_people_where_they_tell_more_surely() -> None:
    rng, alarms = np.random.default_rng(15), 0
    for n_strangers in [20] * 15 + [1_500]:
        x, released, holdout = samples(rng, 300, 1_000, n_strangers)
        found, kept = copies(Files(x, released, LEVELS, holdout)), set(map(tuple, x))
        by_strangers = np.mean([tuple(row) in kept for row in holdout])
        without = copies(Files(x, released, LEVELS))
        baseline = (
            of(without, "repeated", "baseline") if n_strangers == 20 else by_strangers
        )
        assert of(found, "repeated", "baseline") == baseline
        assert of(found, "repeated", "baseline_se") <= of(
            without, "repeated", "baseline_se"
        )
        alarms += of(found, "repeated", "z") >= Z_SIGNIFICANT
    assert alarms <= 1
    lone = np.column_stack([np.repeat(np.arange(40), 2)] * 3)
    known = copies(Files(lone, lone[:10], [40] * 3, lone[:4] + 0))
    assert copies(Files(lone, lone[:10], [40] * 3)).baseline_problem == "duplicates"
    assert (known.baseline_problem, of(known, "repeated", "baseline")) == ("", 1)


def test_only_records_with_the_numbers_as_well_could_hide(
    rng: np.random.Generator,
) -> None:
    x, released = samples(rng, 300, 300)
    numbers = np.split(np.arange(600.0), 2)
    met_nowhere = copies(Files(x, released, LEVELS, None, {0: numbers}))
    n_alone = of(met_nowhere, "hidden", "n")
    # The upper limit of a Poisson count where none was seen.
    assert of(met_nowhere, "hidden") == pytest.approx(-np.log(0.05) / n_alone)
    same_numbers = copies(Files(x, released, LEVELS, None, {0: [np.zeros(300)] * 2}))
    assert of(same_numbers, "hidden") == of(
        copies(Files(x, released, LEVELS)), "hidden"
    )
    assert of(same_numbers, "hidden") > 2 * of(met_nowhere, "hidden")


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_handed_out_is_estimated(share: float) -> None:
    """Some people's own records among other people's: without bias, limits that hold."""
    rng, found = np.random.default_rng(9), []
    for _ in range(24):
        x, released = samples(rng, 600, 600)
        handed = rng.permutation(600)[: round(600 * share)]
        released[: len(handed)] = x[handed]
        found.append(copies(Files(x, released, LEVELS)))
    estimates, errors = (
        [of(x, "handed_out", name) for x in found] for name in ("estimate", "se")
    )
    assert np.mean(estimates) == pytest.approx(share, abs=0.04)
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.5)
    assert np.mean([of(each, "hidden") >= share for each in found]) >= 0.95
    assert (
        np.mean(
            [of(each, "handed_out", "z_permutation") > Z_SIGNIFICANT for each in found]
        )
        > 0.8
    )


def test_records_with_a_few_values_changed_are_nearly_copies() -> None:
    rng, levels = np.random.default_rng(12), [3] * 20
    classes = rng.dirichlet(np.full(3, 0.4), (6, 20))
    for _ in range(3):
        below = classes[rng.integers(0, 6, 1_000)].cumsum(axis=2)
        x, fresh = np.split(
            (rng.random((1_000, 20, 1)) > below).sum(axis=2).clip(max=2), 2
        )
        near = copies(Files(x, changed(x, levels, rng, share=1.0), levels))
        assert of(near, "repeated") < 0.25
        assert of(near, "near", "z_permutation") > Z_CERTAIN
        assert (
            of(copies(Files(x, fresh, levels)), "near", "z_permutation") < Z_SIGNIFICANT
        )


def test_an_original_that_repeats_people_or_was_rid_of_them_is_no_reference() -> None:
    rng = np.random.default_rng(14)
    x, released, dense, other, holdout = samples(rng, 1_000, 2_000, 3_000, 3_000, 500)
    assert copies(Files(x, released, LEVELS)).baseline_problem == ""
    twins = copies(Files(np.repeat(x, 2, axis=0), released, LEVELS))
    assert (twins.baseline_problem, rate_copies(twins)[0]) == (
        "duplicates",
        "undecided",
    )
    some, rid = LEVELS[:6], [np.unique(each[:, :6], axis=0) for each in (dense, other)]
    removed = copies(Files(rid[0], rid[1], some))
    assert (removed.baseline_problem, rate_copies(removed)[0]) == (
        "deduplicated",
        "undecided",
    )
    assert np.isnan([of(removed, "repeated", "z"), of(removed, "itself", "z")]).all()
    told = copies(Files(rid[0], rid[1], some, holdout[:, :6]))
    assert told.baseline_problem == ""
    assert np.isnan(
        [of(told, "handed_out", "z_permutation"), of(told, "near", "z_permutation")]
    ).all()
    assert rate_copies(told)[0] in ("no sign", "undecided")
    assert (
        rate_copies(copies(Files(x[:, :6], x[:300, :6], some, holdout[:, :6])))[0]
        == "found"
    )


def test_twins_are_a_share_of_the_people_and_removed_ones_of_the_pairs() -> None:
    """Ten pairs beside people alone, none with a neighbor; all cells of a square table."""
    for n_alone, baseline_problem in ((40, "duplicates"), (60, "")):
        x = np.array([(k, k) for k in (*range(10), *range(10 + n_alone))])
        assert copies(Files(x, x[:5], [100, 100])).baseline_problem == baseline_problem
    for side, baseline_problem in ((4, ""), (5, "deduplicated")):
        cells = np.array([*product(range(side), repeat=2)])
        assert (
            copies(Files(cells, cells[:5], [side, side])).baseline_problem
            == baseline_problem
        )


def test_copies_that_hide_in_a_coarse_release_are_found(
    rng: np.random.Generator,
) -> None:
    """They repeat fewer records than strangers would: all 3 %, and most 1 % of those alone."""
    signs: dict[bool, list[bool]] = {False: [], True: []}
    for n, alone in ((300, False), (100, True)) * 3:
        (x,) = samples(rng, 10_000)
        _, place, times = np.unique(x, axis=0, return_inverse=True, return_counts=True)
        people = np.flatnonzero((times[place] == 1) | (not alone))
        chosen = x[rng.permutation(people)[:n]]
        released = np.concatenate([chosen, margins(x, rng)[n:]])
        found = copies(Files(x, rng.permutation(released), LEVELS))
        assert of(found, "repeated") < of(found, "repeated", "baseline")
        assert of(found, "repeated", "z") < Z_SIGNIFICANT
        assert (
            max(of(found, part, "z_permutation") for part in ("handed_out", "near"))
            < Z_SIGNIFICANT
        )
        signs[alone].append(rate_copies(found)[0] == "signs")
    assert all(signs[False])
    assert sum(signs[True]) >= 2
    (dense,) = samples(rng, 10_000)
    dense = dense[:, :6]
    shuffled = np.apply_along_axis(rng.permutation, 0, dense)
    released = np.concatenate([dense[:1_000], shuffled[1_000:]])
    word, *_ = rate_copies(copies(Files(dense, rng.permutation(released), LEVELS[:6])))
    assert word in ("signs", "undecided")


@pytest.mark.parametrize(("n", "m"), [(200, 500), (500, 200)])
def test_other_people_are_seldom_beyond_other_people(n: int, m: int) -> None:
    """Halves of one table: shares have no bias, and deviates a spread of about one."""
    rng, repetitions = np.random.default_rng(7), 60
    found = [
        copies(Files(x, z, LEVELS))
        for x, z in (samples(rng, n, m) for _ in range(repetitions))
    ]
    repeated = [
        of(each, "repeated") - of(each, "repeated", "baseline") for each in found
    ]
    differences = list(
        zip(repeated, (of(each, "handed_out") for each in found), strict=True)
    )
    error = np.std(differences, axis=0) / np.sqrt(repetitions)
    assert (np.abs(np.mean(differences, axis=0)) < 4.5 * error).all()
    # By tails of few, which are kept on the safe side, and the larger of two.
    deviates = ("repeated", "z"), ("handed_out", "z_permutation"), ("itself", "z")
    spread = np.std([[of(each, *one) for one in deviates] for each in found], axis=0)
    assert ((spread > 0.6) & (spread < 1.2)).all()
    assert (
        np.mean([rate_copies(each)[0] in ("signs", "found") for each in found]) <= 0.05
    )
