"""Copies beyond coincidence: by hand, by brute force, and by random splits."""

import numpy as np
import pandas as pd
import pytest
from cases import (
    LEVELS,
    changed,
    find_copies,
    is_unique,
    margins,
    samples,
    table,
    two_tables,
)
from enumeration import all_cells
from hypothesis import given
from ladder import draw_levels
from numpy.random import default_rng
from scipy import stats

from srlib.assessment.ratings import Z_CERTAIN, Z_SIGNIFICANT, rate_copies
from srlib.assessment.z_scores import MIN_COINCIDENCES, bernoulli_z, split_odds


def rows(found, question):
    """The rows of a question, one a release."""
    return pd.DataFrame([copies.rows[question] for copies in found])


def test_copies_by_hand():
    original = table("00", "00", "01", "12", "22")
    released = table("01", "01", "12", "10", "21")

    found = find_copies(original, released, [3, 3])

    # The sample uniques are 01, 12 and 22; 01 is released twice, 12 once.
    assert np.array_equal(original[found.identical], table("01", "12"))
    identical = found.rows["identical records"]
    error = np.sqrt(3 * 2 / 5 + 2) / 5
    assert identical["baseline_se"] == pytest.approx(error)
    size = max(6 / 25 / error**2 - 1, 1)
    tail = stats.betabinom(
        5,
        2 / 5 * size,
        3 / 5 * size,
    ).sf(2)
    assert 0 < identical["z"] <= stats.norm.isf(tail) + 1e-9
    # 01 has the neighbors 00 (twice) and 21; 12 has 10 and 22; 22 has 12 (twice) and
    # 21; 00, which is in one file only, has 01 (three times) and 10.
    weight = np.log1p(5 / (np.arange(5) + 0.5))
    # Of two records in ten, five of them the original's, one is in each file in 25 of
    # 45 splits.
    by_chance = weight[4] * 25 / 20
    excess = weight[3] + weight[2] - by_chance
    total = 2 * weight[3] + weight[2]
    copied = found.rows["copied uniques"]
    assert copied["estimate"] == pytest.approx(excess / total)
    assert copied["z_permutation"] <= 0  # two are no sign


@given(two_tables())
def test_neighbors_and_shares_by_brute_force(tables):
    original, released, levels = tables
    both = np.concatenate([original, released])
    n_different = (both[:, None] != both).sum(axis=2)
    n = len(original)
    unique = is_unique(original)

    found = find_copies(original, released, levels)

    assert np.array_equal(found.neighbors, (n_different[:n] == 1).sum(axis=1))
    identical = found.rows["identical records"]
    nearest = n_different[n:, :n].min(axis=1)
    assert identical["estimate"] == pytest.approx(np.mean(nearest == 0))
    assert identical["baseline"] == pytest.approx(1 - unique.mean())
    assert found.rows["copied uniques"]["n"] == unique.sum()


@pytest.mark.parametrize("both", [True, False])
def test_odds_of_random_splits_are_hypergeometric(both):
    o, s = table("1201302", "1022011")
    total = o + s
    law = stats.hypergeom(total.sum(), total, o.sum())

    in_one_file, prob = split_odds(o, s, both)

    ways = law.pmf(1) + law.pmf(total)
    if both:
        ways += law.pmf(0)
    expected = law.pmf(1) / ways
    several = total > 1
    assert prob[several] == pytest.approx(expected[several])
    assert np.array_equal(in_one_file, [0, 1, both, 0, 1, 0, 0])


def test_tails_of_weighted_sums_by_enumeration(rng):
    p = rng.uniform(0.1, 0.7, 12)
    weight = rng.uniform(0.5, 2, 12)
    outcomes = all_cells([2] * 12)
    probability = np.where(outcomes, p, 1 - p).prod(axis=1)
    sums = outcomes @ weight
    for _ in range(20):
        hit = rng.random(12) < 0.6
        is_tail = sums >= weight[hit].sum() - 1e-9
        tail = probability[is_tail].sum()
        z = bernoulli_z(hit, p, weight)
        if hit.sum() >= MIN_COINCIDENCES and tail < 0.3:
            assert 0.7 * tail < stats.norm.sf(z) < 2.5 * tail
    assert bernoulli_z(np.ones(12, bool), p, weight) > 3


def test_the_tail_of_a_count_is_binomial():
    z = bernoulli_z(np.arange(100) < 14, np.full(100, 0.05), np.ones(100))
    assert stats.norm.sf(z) == pytest.approx(stats.binom.sf(13, 100, 0.05), rel=0.1)


def test_two_coincidences_are_no_sign_however_improbable(rng):
    p = rng.uniform(0.1, 0.7, 12) / 50
    weight = rng.uniform(0.5, 2, 12)
    order = np.arange(12)
    assert bernoulli_z(order < 2, p, weight) <= 0
    assert bernoulli_z(order < 3, p, weight) > Z_SIGNIFICANT


def test_a_copy_in_any_order_is_the_original_itself(rng):
    levels = [4, 5, 6]
    original = rng.integers(0, levels, (100, 3))
    for released in (original, rng.permutation(original)):
        found = find_copies(original, released, levels)
        assert found.same_table
        assert found.rows["identical records"]["estimate"] == 1
        assert found.rows["undetected copies"]["estimate"] == 1
        assert found.rows["copied uniques"]["estimate"] == pytest.approx(1)
    assert not find_copies(original, original[[1, *range(1, 100)]], levels).same_table


def test_small_tables_that_agree_by_chance_are_not_the_same():
    """Ten records of two kinds agree once in four times, in order once in 1,000."""
    few = table(*"0000011111")
    reversed_order = find_copies(few, few[::-1], [2])
    in_order = find_copies(few, few, [2])
    assert not reversed_order.same_table
    assert in_order.same_table


def test_row_order_is_found_without_sample_uniques_and_not_in_sorted_files():
    rng = default_rng(2)
    levels = [2, 2]
    original, fresh = rng.integers(0, 2, (2, 600, 2))
    half = np.where(rng.random((600, 1)) < 0.5, original, fresh)

    rows = find_copies(original, half, levels).rows
    order = rows["row order"]
    shifted = find_copies(original, half[1:], levels).rows["row order"]
    original = np.sort(original, axis=0)
    fresh = np.sort(fresh, axis=0)
    sorted_files = find_copies(original, fresh, levels).rows["row order"]

    copied = rows["copied uniques"]
    assert copied["n"] == 0
    assert np.isnan(copied["estimate"])
    assert np.isnan(copied["z_permutation"])
    assert np.isnan(rows["undetected copies"]["estimate"])
    assert order["estimate"] == pytest.approx(0.75, abs=0.05)
    assert order["baseline"] == pytest.approx(0.5, abs=0.05)
    assert shifted["estimate"] == pytest.approx(order["estimate"], abs=0.01)
    assert min(order["z"], shifted["z"]) > 6
    assert sorted_files["estimate"] > 0.8
    assert abs(sorted_files["z"]) < 3


def test_a_holdout_is_the_baseline_where_its_error_is_smaller():
    rng = default_rng(15)
    alarms = 0
    for size in [20] * 15 + [1_500]:
        x, released, holdout = samples(rng, 300, 1_000, size)
        found = find_copies(x, released, holdout=holdout).rows["identical records"]
        without = find_copies(x, released).rows["identical records"]
        original = x.tolist()
        by_holdout = np.mean([person in original for person in holdout.tolist()])
        expected = without["baseline"] if size == 20 else by_holdout
        assert found["baseline"] == expected
        assert found["baseline_se"] <= without["baseline_se"]
        alarms += found["z"] >= Z_SIGNIFICANT
    assert alarms <= 1


def test_a_holdout_is_the_baseline_where_the_original_has_duplicates():
    values = np.repeat(np.arange(40), 2)
    pairs = np.column_stack([values, values])
    levels = [40, 40]
    released = pairs[:10]
    without = find_copies(pairs, released, levels)
    found = find_copies(pairs, released, levels, holdout=pairs[:4])
    assert without.baseline_problem == "duplicates"
    assert found.baseline_problem == ""
    assert found.rows["identical records"]["baseline"] == 1


def test_only_records_with_identical_numbers_could_be_undetected_copies(rng):
    def undetected(**more):
        return find_copies(x, released, **more).rows["undetected copies"]

    x, released = samples(rng, 300, 300)
    numbers = np.arange(300.0)
    binned = undetected()["estimate"]
    different = undetected(numbers={0: [numbers, -1 - numbers]})
    constant = np.zeros(300)
    same = undetected(numbers={0: [constant, constant]})["estimate"]

    # The upper limit of a Poisson count of zero.
    assert different["estimate"] == pytest.approx(-np.log(0.05) / different["n"])
    assert same == binned > 2 * different["estimate"]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_of_copied_uniques_is_estimated_without_bias(share):
    """Copies among the records of a fresh sample; upper limits hold."""
    rng = default_rng(9)
    found = []
    for _ in range(24):
        x, released = samples(rng, 600, 600)
        n_copied = round(600 * share)
        released[:n_copied] = x[rng.permutation(600)[:n_copied]]
        found.append(find_copies(x, released))

    uniques = rows(found, "copied uniques")
    estimate = uniques["estimate"]
    limit = rows(found, "undetected copies")["estimate"]
    assert estimate.mean() == pytest.approx(share, abs=0.04)
    assert estimate.std() == pytest.approx(uniques["se"].mean(), rel=0.5)
    assert (uniques["z_permutation"] > Z_SIGNIFICANT).mean() > 0.8
    assert (limit >= share).mean() >= 0.95


def test_records_with_a_few_values_changed_are_near_duplicates():
    rng = default_rng(12)
    levels = [3] * 20
    classes = rng.dirichlet([0.4] * 3, (6, 20))
    for _ in range(3):
        people = draw_levels(classes[rng.integers(0, 6, 1_000)], rng)
        x, fresh = np.split(people, 2)
        rows = find_copies(
            x,
            changed(x, levels, rng, share=1.0),
            levels,
        ).rows
        honest = find_copies(x, fresh, levels).rows["near-duplicates"]
        assert rows["identical records"]["estimate"] < 0.25
        assert rows["near-duplicates"]["z_permutation"] > Z_CERTAIN
        assert honest["z_permutation"] < Z_SIGNIFICANT


def test_duplicates_or_their_removal_make_the_original_no_baseline():
    rng = default_rng(14)
    sizes = 1_000, 2_000, 3_000, 3_000, 500
    x, released, dense, fresh, holdout = samples(rng, *sizes)
    levels = LEVELS[:6]
    dense = np.unique(dense[:, :6], axis=0)
    fresh = np.unique(fresh[:, :6], axis=0)
    few = x[:, :6]
    holdout = holdout[:, :6]
    twice = np.concatenate([x, x])

    duplicates = find_copies(twice, released)
    removed = find_copies(dense, fresh, levels)
    compared = find_copies(
        dense,
        fresh,
        levels,
        holdout=holdout,
    )
    copied = find_copies(
        few,
        few[:300],
        levels,
        holdout=holdout,
    )

    assert find_copies(x, released).baseline_problem == ""
    assert duplicates.baseline_problem == "duplicates"
    assert rate_copies(duplicates).rating == "undecided"
    assert removed.baseline_problem == "deduplicated"
    assert rate_copies(removed).rating == "undecided"
    for question in ("identical records", "excess over own duplicates"):
        assert np.isnan(removed.rows[question]["z"])
    assert compared.baseline_problem == ""
    for question in ("copied uniques", "near-duplicates"):
        assert np.isnan(compared.rows[question]["z_permutation"])
    assert rate_copies(compared).rating in ("no sign", "undecided")
    assert rate_copies(copied).rating == "found"


def ten_pairs_and(n_unique):
    """Ten pairs of records without neighbors, beside sample uniques."""
    values = [*range(10), *range(10 + n_unique)]
    return np.column_stack([values, values])


@pytest.mark.parametrize(
    ("x", "problem"),
    [
        (ten_pairs_and(40), "duplicates"),
        (ten_pairs_and(60), ""),
        # Each cell of a table with a single record.
        (all_cells([4, 4]), ""),
        (all_cells([5, 5]), "deduplicated"),
    ],
)
def test_duplicates_and_their_removal_are_seen_by_their_share(x, problem):
    n_levels = x.max() + 1
    assert find_copies(x, x[:5], [n_levels, n_levels]).baseline_problem == problem


def test_copies_in_a_coarse_release_are_found_by_its_own_duplicates(rng):
    """Fewer identical records than in a fresh sample: 3 % of all, or 1 % as uniques."""
    ratings = []
    for n_copied in (300, 100) * 3:
        (x,) = samples(rng, 10_000)
        people = np.arange(10_000)
        if n_copied == 100:
            people = people[is_unique(x)]
        copied = rng.permutation(people)[:n_copied]
        released = margins(x, rng)
        released[:n_copied] = x[copied]
        found = find_copies(x, rng.permutation(released))
        identical = found.rows["identical records"]
        assert identical["estimate"] < identical["baseline"]
        assert identical["z"] < Z_SIGNIFICANT
        for question in ("copied uniques", "near-duplicates"):
            assert found.rows[question]["z_permutation"] < Z_SIGNIFICANT
        ratings.append(rate_copies(found).rating)
    assert ratings[::2] == ["signs"] * 3
    assert ratings[1::2].count("signs") >= 2

    (dense,) = samples(rng, 10_000)
    dense = dense[:, :6]
    released = np.apply_along_axis(rng.permutation, 0, dense)
    released[:1_000] = dense[:1_000]
    released = rng.permutation(released)
    found = find_copies(dense, released, LEVELS[:6])
    assert rate_copies(found).rating in ("signs", "undecided")


@pytest.mark.parametrize(
    ("n", "m"),
    [
        (200, 500),
        (500, 200),
    ],
)
def test_fresh_samples_are_rated_as_copies_by_chance_only(n, m):
    """Shares have no bias, and z a spread of about one."""
    rng = default_rng(7)
    found = []
    for _ in range(60):
        x, fresh = samples(rng, n, m)
        found.append(find_copies(x, fresh))

    identical = rows(found, "identical records")
    uniques = rows(found, "copied uniques")
    own = rows(found, "excess over own duplicates")
    excess = identical["estimate"] - identical["baseline"]
    for share in (excess, uniques["estimate"]):
        error = share.std() / np.sqrt(60)
        assert abs(share.mean()) < 4.5 * error
    # Tails of few coincidences are conservative, and of two z the larger one counts.
    for z in identical["z"], uniques["z_permutation"], own["z"]:
        assert 0.6 < z.std() < 1.2
    ratings = [rate_copies(copies).rating for copies in found]
    assert np.isin(ratings, ["signs", "found"]).mean() <= 0.05
