"""Records copied with values changed, and one person's many times: by enumeration and planted."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cases import LEVELS, PEOPLE, changed, samples
from scipy import stats
from statsmodels import datasets

from srlib.assessment import multiplicity, near_duplicates, ratings
from srlib.assessment.copies import copies
from srlib.assessment.files import Files
from srlib.assessment.z_scores import Edges, bonferroni_z, crossing_z
from srlib.data import read_table
from srlib.data.codes import Codes
from srlib.data.infer import bin_numbers, infer_schema

SURVEY = Path(__file__).parents[2] / "shared/data/acs2011_pums_person_sample.csv"


def people(
    rng: np.random.Generator, n: int, levels: list[int], *, even: float = 1.0
) -> Codes:
    """Records from twelve classes, each with shares of its own."""
    classes = [
        np.random.default_rng(k).dirichlet([even] * size, 12)
        for k, size in enumerate(levels)
    ]
    of_class = rng.integers(0, 12, n)
    columns = [
        (rng.random((n, 1)) > shares[of_class].cumsum(axis=1))
        .sum(axis=1)
        .clip(max=shares.shape[1] - 1)
        for shares in classes
    ]
    return np.column_stack(columns)


def redrawn(
    x: Codes, fresh: Codes, rng: np.random.Generator, *, share: float, values: int
) -> Codes:
    """A fresh sample in which some records are original ones with values drawn from the margins."""
    released = fresh.copy()
    chosen = rng.permutation(len(x))[: round(share * len(x))]
    for row, person in enumerate(chosen):
        released[row] = x[person]
        for column in rng.permutation(x.shape[1])[:values]:
            released[row, column] = rng.choice(x[:, column])
    return rng.permutation(released)


def test_edges_between_files_by_all_divisions() -> None:
    """Groups of one, two and one record, and so on; two of the single ones lead to each other."""
    group = np.array([0, 1, 1, 2, 3, 4, 4, 5])
    edges = Edges(
        np.array([0, 2, 2, 3, 5, 5]),
        np.array([2, 0, 3, 1, 4, 3]),
        np.array([1, 0.5, 0.5, 0.5, 1 / 3, 1 / 3]),
    )
    z = []
    for original in combinations(range(8), 3):
        o = np.bincount(group[list(original)], minlength=6)
        z.append(crossing_z(edges, o, np.bincount(group) - o))
    assert np.mean(z) == pytest.approx(0, abs=1e-12)
    assert np.std(z) == pytest.approx(1)
    assert stats.norm.sf(bonferroni_z(3.0, 5)) == pytest.approx(5 * stats.norm.sf(3.0))


def test_nearest_neighbors_by_brute_force(rng: np.random.Generator) -> None:
    x, z = rng.integers(0, 3, (2, 40, 5))
    both = np.concatenate([x, z])
    agree = (both[:, None] == both[None]).sum(axis=2)
    single = (agree == 5).sum(axis=1) == 1
    np.fill_diagonal(agree, 0)
    groups, first, cell = np.unique(
        both, axis=0, return_index=True, return_inverse=True
    )
    o = np.bincount(cell[:40], minlength=len(groups))
    s = np.bincount(cell[40:], minlength=len(groups))
    found = near_duplicates._nearest(groups, o, s)
    others = np.where(agree == 5, 0, agree)
    assert found.alike.tolist() == others[first].max(axis=1).tolist()
    assert found.alike_original.tolist() == others[first, :40].max(axis=1).tolist()
    weight = np.zeros((len(groups), 80))
    for source, target, one in zip(*found.edges, strict=True):
        weight[source, cell == target] += one
    nearest = agree == agree.max(axis=1, keepdims=True)
    expected = (nearest / nearest.sum(axis=1, keepdims=True))[first]
    asked = single[first] & (agree.max(axis=1)[first] >= 2.5)
    assert weight[asked] == pytest.approx(expected[asked])
    assert not weight[~asked].any()


@pytest.mark.parametrize(
    ("n_variables", "size", "share", "values"),
    [(30, 4, 0.25, 9), (30, 4, 0.25, 12), (14, 10, 0.1, 6)],
)
def test_records_with_many_values_redrawn_are_found(
    n_variables: int, size: int, share: float, values: int
) -> None:
    rng, levels = np.random.default_rng(31), [size] * n_variables
    x, fresh = np.split(people(rng, 4_000, levels, even=2.0), 2)
    row = near_duplicates.find_near_duplicates(
        x, redrawn(x, fresh, rng, share=share, values=values), levels
    )
    assert row["z_permutation"] > ratings.Z_CERTAIN
    assert row["estimate"] > row["baseline"] + 3 * np.hypot(
        row["se"], row["baseline_se"]
    )
    least = row["detail"].split()[1]
    agree = np.mean(
        [(x == record).sum(axis=1).max() >= int(least) for record in fresh[:400]]
    )
    assert row["baseline"] == pytest.approx(agree, abs=0.06)
    honest = near_duplicates.find_near_duplicates(x, fresh[:1_500], levels)
    assert honest["z_permutation"] < ratings.Z_SIGNIFICANT
    found = copies(Files(x, redrawn(x, fresh, rng, share=share, values=values), levels))
    word, why, decides = ratings.rate_copies(found)
    assert (word, decides) == ("found", "near-duplicates")
    assert f"{n_variables} values with an original record; " in why


def test_where_strangers_are_nearer_than_the_original_nothing_can_be_found() -> None:
    """A tenth with six of the survey's fourteen coarse variables redrawn, as the guide says."""
    rng = np.random.default_rng(36)
    x, fresh = samples(rng, 1_000, 1_000)
    sources = rng.permutation(1_000)[:100]
    changed_ones = x[sources].copy()
    for row in changed_ones:
        for column in rng.permutation(14)[:6]:
            row[column] = rng.choice(x[:, column])
    alike = (changed_ones[:, None] == x[None]).sum(axis=2)
    own = alike[np.arange(100), sources]
    strangers = np.where(np.arange(1_000) == sources[:, None], -1, alike).max(axis=1)
    assert np.mean(strangers >= own) > 0.8
    released = rng.permutation(np.concatenate([changed_ones, fresh[100:]]))
    assert (
        near_duplicates.find_near_duplicates(x, released, LEVELS)["z_permutation"]
        < ratings.Z_SIGNIFICANT
    )


def test_where_everybody_has_near_neighbors_the_nearest_ones_are_counted() -> None:
    """Two values of each record are changed in a table where all have others as near."""
    rng = np.random.default_rng(35)
    x, fresh = (table[:, :11] for table in samples(rng, 1_500, 1_500))
    row = near_duplicates.find_near_duplicates(
        x, changed(x, LEVELS[:11], rng, share=1.0), LEVELS[:11]
    )
    assert row["detail"] == "have an original record as nearest neighbor"
    assert row["estimate"] > 0.51 > row["baseline"] == 1_500 / 2_999
    assert row["z_permutation"] > ratings.Z_CERTAIN
    row = near_duplicates.find_near_duplicates(x, fresh, LEVELS[:11])
    assert row["estimate"] == pytest.approx(0.5, abs=0.1)


def test_one_person_released_ten_times_is_found() -> None:
    """Of 3,000 records of twelve variables, who is unique and has few neighbors."""
    rng = np.random.default_rng(32)
    for _ in range(6):
        x, released = (table[:, :12] for table in samples(rng, 3_000, 3_000))
        fresh = copies(Files(x, released, LEVELS[:12]))
        _, place, repetitions = np.unique(
            x, axis=0, return_inverse=True, return_counts=True
        )
        unique = repetitions[place] == 1
        differences = np.array([(x != person).sum(axis=1) for person in x[unique][:60]])
        lonely = x[unique][:60][(differences == 1).sum(axis=1) <= 2]
        released[:10] = lonely[0]
        found = copies(Files(x, rng.permutation(released), LEVELS[:12]))
        assert fresh.rows["repeated unique"]["z"] < ratings.UNLIKELY
        word, why, decides = ratings.rate_copies(found)
        assert (word, decides) == ("found", "repeated unique")
        assert "it contains one unique record, 1" in why


def test_a_rough_release_that_repeats_itself_repeats_no_person() -> None:
    """Every record of the release is there twenty times, that of one person among them."""
    rng = np.random.default_rng(33)
    x, fresh = samples(rng, 1_000, 50)
    thirty = np.repeat(fresh, 20, axis=0)
    _, place, repetitions = np.unique(
        x, axis=0, return_inverse=True, return_counts=True
    )
    thirty[:20] = x[repetitions[place] == 1][0]
    assert (
        copies(Files(x, thirty, LEVELS)).rows["repeated unique"]["z"] < ratings.UNLIKELY
    )


@pytest.mark.parametrize("own_pairs", [0, 20])
def test_one_persons_record_by_hand(own_pairs: int) -> None:
    """What makes it more probable counts: a fresh sample, or a release that repeats itself."""
    o = np.array([1] * 60 + [2] * 20 + [0] * 40)
    s = np.array([10] + [0] * 79 + [2] * own_pairs + [1] * (40 - own_pairs))
    row = multiplicity.most_repeated_unique(
        o, s, np.zeros(120, int), np.zeros(120, int)
    )
    x = s.sum() / 100 * multiplicity._log_series(101 / 80)
    of_sample = (x / (1 + x)) ** 10
    of_release = stats.logser.sf(9, multiplicity._log_series((40 + own_pairs + 1) / 40))
    assert (of_release > of_sample) == (own_pairs == 20)
    assert stats.norm.sf(row["z"]) == pytest.approx(
        60 * max(of_sample, of_release), rel=1e-6
    )
    assert row["baseline"] == pytest.approx(x / s.sum())
    assert (row["n"], row["estimate"]) == (60, 10 / s.sum())


def test_the_log_series_by_hand() -> None:
    x = multiplicity._log_series(1.5)
    assert -x / ((1 - x) * np.log1p(-x)) == pytest.approx(1.5)
    # Of two strata the thin one has 40 groups with a mean of (50 + 1) / 40.
    counts = np.array([1] * 30 + [2] * 10 + [5] * 25)
    neighbors = np.array([0] * 40 + [6] * 25)
    series = multiplicity._series(counts, neighbors, np.array([0, 6, 5, 100]))
    assert series[0] == pytest.approx(multiplicity._log_series(51 / 40))
    assert series[1] == series[2] > series[0]
    assert series[3] == 1  # no place is as dense
    # A stratum of too few groups is joined by denser ones.
    few = multiplicity._series(counts[30:], neighbors[30:], np.array([0]))
    assert few[0] == pytest.approx(multiplicity._log_series(146 / 35))
    k = np.array([1, 2, 10, 40])
    for x in (0.1, 0.9):
        tail = np.exp(multiplicity._log_tail(k, np.full(4, x)))
        assert tail == pytest.approx(stats.logser.sf(k - 1, x), rel=1e-6)
    assert multiplicity._log_tail(k, np.ones(4)).tolist() == [0] * 4


def test_how_often_a_fresh_sample_has_a_unique_person(rng: np.random.Generator) -> None:
    """Values whose numbers in a sample are Poisson with the rates behind a log series."""
    rates = rng.gamma(1e-2, 1.5, 400_000)
    once = rng.poisson(rates) == 1
    x = 1.5 / (1 + 1.5)
    for larger in (1, 3):
        again = rng.poisson(larger * rates[once])
        for k in (1, 2, 3):
            expected = (larger * x / (1 + larger * x)) ** k
            error = np.sqrt(expected * (1 - expected) / once.sum())
            assert np.mean(again >= k) == pytest.approx(
                expected, abs=4.5 * error + 0.01
            )


def tables() -> dict[str, tuple[Codes, list[int]]]:
    """Real tables, with numbers cut at quantiles; and the embedded population."""
    found = {"embedded": (PEOPLE[:6_000], LEVELS)}
    for name in ("anes96", "fair"):
        frame = getattr(datasets, name).load_pandas().data
        schema, _ = bin_numbers(infer_schema(frame), frame)
        codes, _ = schema.encode_complete(frame, drop_missing=False)
        found[name] = codes, schema.n_levels.tolist()
    if SURVEY.exists():
        survey = read_table(SURVEY, "acs", drop_missing=True, vintage=2011)
        found["survey"] = survey.codes, survey.schema.n_levels.tolist()
    return found


def test_halves_of_real_tables_have_no_near_copies_and_nobody_many_times() -> None:
    rng = np.random.default_rng(34)
    for codes, levels in tables().values():
        for _ in range(10):
            x, z = np.array_split(rng.permutation(codes), 2)
            rows = copies(
                Files(x, z[: len(z) if rng.random() < 0.7 else len(z) // 3], levels)
            ).rows
            assert not rows["near-duplicates"]["z_permutation"] >= ratings.Z_CERTAIN
            assert not rows["repeated unique"]["z"] >= ratings.ONE_PERSON
