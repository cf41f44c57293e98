"""Near-duplicates and repeated uniques: by enumeration, by hand, and planted."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cases import (
    LEVELS,
    PEOPLE,
    changed,
    find_copies,
    is_unique,
    samples,
    table,
)
from ladder import draw_levels
from numpy.random import default_rng
from scipy import stats
from statsmodels import datasets

from srlib.assessment import multiplicity, near_duplicates, ratings
from srlib.assessment.multiplicity import _log_series as log_series
from srlib.assessment.near_duplicates import find_near_duplicates
from srlib.assessment.z_scores import Edges, bonferroni_z, crossing_z
from srlib.data import read_table
from srlib.data.infer import bin_numbers, infer_schema

SURVEY = Path(__file__).parents[2] / "shared/data/acs2011_pums_person_sample.csv"


def latent_class_sample(rng, n, levels):
    """Records from twelve classes, each with shares of its own."""
    class_of = rng.integers(0, 12, n)
    columns = []
    for k, size in enumerate(levels):
        shares = default_rng(k).dirichlet([2.0] * size, 12)
        columns.append(draw_levels(shares[class_of], rng))
    return np.column_stack(columns)


def redraw(people, x, rng, n_values):
    """Draw values of some variables of each record from the margins of x."""
    records = people.copy()
    for record in records:
        for column in rng.permutation(x.shape[1])[:n_values]:
            record[column] = rng.choice(x[:, column])
    return records


def n_alike(x, y):
    """Numbers of variables in which each record of x agrees with each of y."""
    is_equal = x[:, None] == y
    return is_equal.sum(axis=2)


def test_weight_between_files_by_all_splits():
    """Two of the single records are nearest neighbors of each other."""
    (group,) = table("01123445")
    n_records = np.bincount(group)
    source, target, n_nearest = table(
        "022355",
        "203143",
        "122233",
    )
    edges = Edges(source, target, 1 / n_nearest)
    z = []
    for original in combinations(group, 3):
        o = np.bincount(original, minlength=6)
        z.append(crossing_z(edges, o, n_records - o))
    assert np.mean(z) == pytest.approx(0, abs=1e-12)
    assert np.std(z) == pytest.approx(1)


def test_the_largest_of_several_z_is_adjusted_for_their_number():
    assert stats.norm.sf(bonferroni_z(3.0, 5)) == pytest.approx(5 * stats.norm.sf(3.0))


def test_nearest_neighbors_by_brute_force(rng):
    both = rng.integers(0, 3, (80, 5))
    groups, group_of = np.unique(both, axis=0, return_inverse=True)
    n_groups = len(groups)
    o = np.bincount(group_of[:40], minlength=n_groups)
    s = np.bincount(group_of[40:], minlength=n_groups)

    found = near_duplicates._nearest(groups, o, s)

    n_agree = n_alike(groups, both)
    others = np.where(n_agree == 5, 0, n_agree)
    assert np.array_equal(found.alike_original, others[:, :40].max(axis=1))
    weight = np.zeros((n_groups, 80))
    for source, target, edge_weight in zip(*found[3:], strict=True):
        weight[source, group_of == target] += edge_weight
    most = others.max(axis=1)
    assert np.array_equal(found.alike, most[found.source])
    nearest = others == most[:, None]
    expected = nearest / nearest.sum(axis=1, keepdims=True)
    is_single = o + s == 1
    is_asked = is_single & (most >= 2.5)
    assert weight[is_asked] == pytest.approx(expected[is_asked])
    assert not weight[~is_asked].any()


@pytest.mark.parametrize(
    ("n_variables", "size", "share", "n_values"),
    [
        (30, 4, 0.25, 9),
        (30, 4, 0.25, 12),
        (14, 10, 0.1, 6),
    ],
)
def test_records_with_many_values_redrawn_are_found(n_variables, size, share, n_values):
    rng = default_rng(31)
    levels = [size] * n_variables
    x, fresh = np.split(latent_class_sample(rng, 4_000, levels), 2)
    n_copied = round(share * 2_000)
    people = x[rng.permutation(2_000)[:n_copied]]
    released = fresh.copy()
    released[:n_copied] = redraw(people, x, rng, n_values)
    released = rng.permutation(released)

    found = find_copies(x, released, levels)
    honest = find_near_duplicates(x, fresh[:1_500], levels)

    row = found.rows["near-duplicates"]
    rating = ratings.rate_copies(found)
    assert row["z_permutation"] > ratings.Z_CERTAIN
    error = np.hypot(row["se"], row["baseline_se"])
    assert row["estimate"] > row["baseline"] + 3 * error
    least = int(row["detail"].split()[1])
    most_alike = n_alike(fresh[:400], x).max(axis=1)
    expected = np.mean(most_alike >= least)
    assert row["baseline"] == pytest.approx(expected, abs=0.06)
    assert honest["z_permutation"] < ratings.Z_SIGNIFICANT
    assert rating.rating == "found"
    assert rating.question == "near-duplicates"
    assert f"{n_variables} values with an original record; " in rating.reason


def test_near_duplicates_farther_than_other_people_are_not_found():
    """A tenth with six of the survey's fourteen coarse variables redrawn."""
    rng = default_rng(36)
    x, fresh = samples(rng, 1_000, 1_000)
    sources = rng.permutation(1_000)[:100]
    copied = redraw(x[sources], x, rng, 6)
    n_agree = n_alike(copied, x)
    own_source = np.arange(100), sources
    own = n_agree[own_source]
    n_agree[own_source] = -1
    assert np.mean(n_agree.max(axis=1) >= own) > 0.8
    fresh[:100] = copied
    row = find_near_duplicates(x, rng.permutation(fresh), LEVELS)
    assert row["z_permutation"] < ratings.Z_SIGNIFICANT


def test_in_a_dense_table_the_nearest_neighbors_are_counted():
    """Two values of each record are changed, and all have others as near."""
    rng = default_rng(35)
    levels = LEVELS[:11]
    x, fresh = np.array(samples(rng, 1_500, 1_500))[..., :11]
    row = find_near_duplicates(
        x,
        changed(x, levels, rng, share=1.0),
        levels,
    )
    honest = find_near_duplicates(x, fresh, levels)
    assert row["detail"] == "have an original record as nearest neighbor"
    assert row["baseline"] == 1_500 / 2_999
    assert row["estimate"] > 0.51
    assert row["z_permutation"] > ratings.Z_CERTAIN
    assert honest["estimate"] == pytest.approx(0.5, abs=0.1)


def test_a_unique_record_released_ten_times_is_found():
    """Of 3,000 records of twelve variables, a sample unique with few neighbors."""
    rng = default_rng(32)
    levels = LEVELS[:12]
    for _ in range(6):
        x, released = np.array(samples(rng, 3_000, 3_000))[..., :12]
        fresh = find_copies(x, released, levels).rows["repeated unique"]
        uniques = x[is_unique(x)][:60]
        is_neighbor = n_alike(uniques, x) == 11
        is_sparse = is_neighbor.sum(axis=1) <= 2
        released[:10] = uniques[is_sparse][0]
        found = find_copies(x, rng.permutation(released), levels)
        assert fresh["z"] < ratings.UNLIKELY
        rating = ratings.rate_copies(found)
        assert rating.rating == "found"
        assert rating.question == "repeated unique"
        assert "it contains one unique record, 1" in rating.reason


def test_a_release_that_repeats_all_its_records_repeats_no_unique():
    """Every record is released twenty times, a sample unique among them."""
    x, fresh = samples(default_rng(33), 1_000, 50)
    fresh[0] = x[is_unique(x)][0]
    found = find_copies(x, np.repeat(fresh, 20, axis=0))
    assert found.rows["repeated unique"]["z"] < ratings.UNLIKELY


@pytest.mark.parametrize("own_pairs", [0, 20])
def test_a_repeated_unique_by_hand(own_pairs):
    """The more probable explanation counts: a fresh sample, or the release itself."""
    o, s = np.zeros((2, 120), int)
    o[:60] = 1
    o[60:80] = 2
    s[0] = 10
    s[80:] = 1
    s[80 : 80 + own_pairs] = 2
    nowhere = np.zeros_like(s)

    row = multiplicity.most_repeated_unique(
        o,
        s,
        nowhere,
        nowhere,
    )

    m = s.sum()
    x = m / 100 * log_series(101 / 80)
    by_sample = (x / (1 + x)) ** 10
    own = log_series((40 + own_pairs + 1) / 40)
    by_release = stats.logser.sf(9, own)
    assert (by_release > by_sample) == (own_pairs == 20)
    tail = 60 * max(by_sample, by_release)  # of 60 sample uniques
    assert stats.norm.sf(row["z"]) == pytest.approx(tail, rel=1e-6)
    assert row["n"] == 60
    assert row["estimate"] == 10 / m
    assert row["baseline"] == pytest.approx(x / m)


def test_log_series_by_hand():
    assert stats.logser.mean(log_series(1.5)) == pytest.approx(1.5)
    # The sparse one of two strata has 40 groups with a mean of (50 + 1) / 40.
    counts, n_neighbors = np.zeros((2, 66), int)
    counts[:30] = 1
    counts[30:40] = 2
    counts[40:65] = 5
    n_neighbors[40:50] = 6
    n_neighbors[50:65] = 5
    n_neighbors[65] = 100
    density = multiplicity._density(n_neighbors)
    series = multiplicity._series(counts, density)
    of_dense, nowhere = series[density[-2:]]
    assert series[0] == pytest.approx(log_series(51 / 40))
    assert series[density[40]] == of_dense > series[0]
    assert nowhere == 1  # no group of this density has records
    # A stratum of too few groups is joined by denser ones.
    series = multiplicity._series(counts[30:], density[30:])
    assert series[0] == pytest.approx(log_series(146 / 35))


def test_tails_of_the_log_series():
    k = np.array([1, 2, 10, 40])
    for x in (0.1, 0.9):
        tail = np.exp(multiplicity._log_tail(k, np.full(4, x)))
        assert tail == pytest.approx(stats.logser.sf(k - 1, x), rel=1e-6)
    assert not multiplicity._log_tail(k, np.ones(4)).any()


def real_tables():
    """Real tables, with numbers binned at quantiles; and the embedded population."""
    yield PEOPLE[:6_000], LEVELS
    for name in ("anes96", "fair"):
        frame = getattr(datasets, name).load_pandas().data
        schema, _ = bin_numbers(infer_schema(frame), frame)
        codes, _ = schema.encode_complete(frame, drop_missing=False)
        yield codes, schema.n_levels.tolist()
    if SURVEY.exists():
        survey = read_table(
            SURVEY,
            "acs",
            drop_missing=True,
            vintage=2011,
        )
        yield survey.codes, survey.schema.n_levels.tolist()


def test_halves_of_real_tables_have_no_near_duplicates_and_no_repeated_unique():
    rng = default_rng(34)
    for codes, levels in real_tables():
        for _ in range(10):
            x, z = np.array_split(rng.permutation(codes), 2)
            if rng.random() >= 0.7:
                z = z[: len(z) // 3]
            rows = find_copies(x, z, levels).rows
            assert not rows["near-duplicates"]["z_permutation"] >= ratings.Z_CERTAIN
            assert not rows["repeated unique"]["z"] >= ratings.ONE_PERSON
