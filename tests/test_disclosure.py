"""Disclosure for each person: by hand, by enumeration, and by simulation."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from cases import (
    LEVELS,
    SCHEMA,
    copula,
    is_unique,
    margins,
    samples,
    table,
    two_tables,
)
from enumeration import all_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from ladder import independent, mixture, trees
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from srlib.assessment.attribute import (
    attribute_disclosure,
    count_near,
    repu_and_tcap,
)
from srlib.assessment.disclosure import Attack
from srlib.assessment.files import Files
from srlib.assessment.identity import (
    identity_disclosure,
    share_matched_by_fresh_sample,
)
from srlib.assessment.inference import PAIRS, inference
from srlib.assessment.ratings import Z_CERTAIN, Z_SIGNIFICANT, rate, summarize
from srlib.assessment.z_scores import permutation_z


def match(
    original,
    released,
    keys,
    levels=LEVELS,
    **more,
):
    """Identity disclosure; a holdout or exact numbers can be given by name."""
    return identity_disclosure(Files(original, released, levels, **more), keys)


def match_row(*files, **more):
    return summarize([match(*files, **more)])


def row_of(
    answer,
    original,
    released,
    levels,
    keys,
    target,
    *rng,
):
    """The answer to a question about a target by keys."""
    files = Files(original, released, levels)
    return summarize([answer(files, Attack(keys, target), *rng)])


def test_matched_sample_uniques_by_hand():
    original = table("0", "0", "1", "2", "3", "3")
    released = table("1", "2", "2", "4", "4", "0")

    def shares(released, **more):
        row = match_row(original, released, [0], [5], **more)
        return [row[name] for name in ("estimate", "fresh_sample", "margins")]

    # One key; two levels have one record and two have two, so that a person has 2 * 2 /
    # 2 companions. The six records lack a person's level and have the companions
    # instead.
    (n_equal,) = table("112222")
    companions = 2.0 / n_equal
    for _ in range(5):
        others = 6 - n_equal + companions + 5 / 2
        companions = 6 * (companions + 0.5) / others

    def share_matched(r):
        part = (1 + r) ** -1.5
        still_unique = (1 - part) ** (n_equal - 1)
        unmatched = np.exp(-(1 - part) * companions)
        predicted = np.average(unmatched, weights=still_unique)
        known = 2 / still_unique.sum()
        power = -companions[0] * r / np.log(predicted)
        return 1 - known**power

    by_margins = 1 - (5 / 6) ** 6
    fresh_sample = share_matched(1)
    expected = [1, fresh_sample, by_margins]
    assert_allclose(shares(released), expected)

    # Of two released records one is that of a sample unique.
    people = match(original, table("0", "1"), [0], [5])
    assert_array_equal(original[people.eligible], table("1", "2"))
    assert_array_equal(original[people.certain], table("1"))

    assert_allclose(shares(table("1", "2"))[:2], [1, share_matched(1 / 3)])

    # A record of the larger release is kept with probability 1/2, and 2 or 4 match.
    larger = shares(np.repeat(released, 2, axis=0))
    expected[0] = 1 - (1 / 4 + 1 / 16) / 2
    assert_allclose(larger, expected)

    # Of both files 2 is unique; in a random half of both 2.75 are expected.
    found = shares(released, holdout=table("1", "3", "3", "4", "4", "4"))
    assert_allclose(found, [1, 1 - 1 / 2.75, by_margins])


@pytest.mark.parametrize(
    "people",
    [
        table("0", "1"),
        table("0", "1", "2", "2"),
    ],
)
def test_uniques_that_the_holdout_repeats_are_all_matched_by_a_fresh_sample(people):
    row = match_row(people, people, [0], [3], holdout=table("0", "1"))
    assert row["fresh_sample"] == 1


def sample_with_ages(rng, n):
    """Records of the population, and an age in years within each one's age group."""
    (x,) = samples(rng, n)
    group = x[:, SCHEMA.names.index("AGEP")]
    limits = np.array([18, 35, 55, 70, 90])
    youngest = limits[group]
    older = limits[group + 1]
    age = rng.integers(youngest, older)
    return x, age.astype(float)


def with_age(codes, age):
    """The keys of `test_numeric_keys_are_matched_by_exact_numbers`."""
    return np.column_stack([codes[:, [0, 2, 4]], age])


def test_numeric_keys_are_matched_by_exact_numbers():
    rng = default_rng(21)
    keys = [0, 1, 2, 4]
    z = []
    is_found = []
    for _ in range(30):
        x, age = sample_with_ages(rng, 1_000)
        released, other_age = sample_with_ages(rng, 1_000)
        ages = {1: [age, other_age]}
        found = match(x, released, keys, numbers=ages)
        exact = with_age(x, age)
        unique = is_unique(exact)
        assert_array_equal(found.eligible, unique)
        records = with_age(released, other_age).tolist()
        is_matched = [person in records for person in exact.tolist()]
        assert_array_equal(found.certain, unique & is_matched)
        z.append(summarize([found])["z"])

        chosen = np.flatnonzero(unique)[::3]
        released[: len(chosen)] = x[chosen]
        other_age[: len(chosen)] = age[chosen]
        row = match_row(x, released, keys, numbers=ages)
        excess = row["estimate"] - row["baseline"]
        is_found.append(excess > 0.05 and row["z"] > Z_SIGNIFICANT)
    is_alarm = np.array(z) > Z_SIGNIFICANT
    assert abs(np.mean(z)) < 1
    assert np.std(z) < 1.3
    assert np.mean(is_alarm) <= 0.05
    assert np.mean(is_found) > 0.9


def test_a_date_of_birth_is_not_known_from_its_margin(rng):
    """30 % of the dates are released."""
    (x,) = samples(rng, 1_000)
    born, other_born = rng.integers(0, 25_000, (2, 1_000)).astype(float)
    other_born[:300] = born[:300]
    order = rng.permutation(1_000)
    row = match_row(x, x[order], [1], numbers={1: [born, other_born[order]]})
    assert row["estimate"] > 0.2 > row["baseline"] + 0.1
    assert row["z"] > Z_CERTAIN


def test_a_missing_number_is_matched_by_its_bin(rng):
    keys = [0, 1, 2, 4]
    x, age = sample_with_ages(rng, 1_000)
    age[:5] = np.nan
    files = Files(x, x, LEVELS, numbers={1: [age, age]})
    eligible = identity_disclosure(files, keys).eligible
    assert eligible[0] == is_unique(x[np.isnan(age)][:, keys])[0]
    assert repu_and_tcap(files, keys, 9)["repU"] == eligible.mean()
    binned = Files(x, x, LEVELS)
    share = share_matched_by_fresh_sample(files)
    assert 0 < share < share_matched_by_fresh_sample(binned) < 1
    without_uniques = Files(np.concatenate([x, x]), x, LEVELS)
    assert np.isnan(share_matched_by_fresh_sample(without_uniques))


def test_missing_numbers_of_different_bins_differ():
    codes = table("0", "1", "1")
    missing = np.full(3, np.nan)
    files = Files(codes, codes, [2], numbers={0: [missing, missing]})
    cells = files.cells(exact=True)
    assert cells.original.tolist() == cells.released.tolist()
    assert len(np.unique(cells.original)) == 2


@pytest.mark.parametrize("n_holdout", [0, 300, 900])
def test_matches_of_a_fresh_sample_are_predicted_without_bias(n_holdout):
    """From the original and the holdout; errors are those of another original."""
    rng = default_rng(12)
    keys = range(5)
    rows = []
    for _ in range(150):
        x, fresh, holdout = samples(rng, 500, 500, n_holdout)
        if not n_holdout:
            holdout = None
        row = match_row(x, fresh, keys, holdout=holdout)
        other = match_row(x, margins(x, rng), keys, holdout=holdout)
        assert other["fresh_sample"] == row["fresh_sample"]
        rows.append(row)
    frame = pd.DataFrame(rows)
    predicted = frame["fresh_sample"]
    difference = predicted - frame["estimate"]
    error = difference.std() / np.sqrt(150)
    assert abs(difference.mean()) < 4 * error
    assert 4 * error < 0.03
    assert_allclose(frame["fresh_sample_se"].mean(), predicted.std(), rtol=0.25)


def test_matched_uniques_beyond_a_fresh_sample_are_found():
    """30 or 60 % of the sample uniques' keys among independent margins; half a file."""
    rng = default_rng(13)
    keys = range(5)
    planted_shares = {
        "margins": 0.0,
        "30 %": 0.3,
        "60 %": 0.6,
    }
    alarms = Counter[str]()
    for _ in range(40):
        x, fresh = samples(rng, 500, 500)
        half = fresh.copy()
        half[:250] = x[:250]
        releases = {
            "half copied": half,
            "fresh": fresh,
        }
        for name, share in planted_shares.items():
            released = margins(x, rng)
            uniques = x[match(x, released, keys).eligible]
            n_copied = round(share * len(uniques))
            copied = rng.permutation(uniques)[:n_copied]
            released[:n_copied, keys] = copied[:, keys]
            releases[name] = released
        for name, released in releases.items():
            row = match_row(x, released, keys)
            alarms[name] += np.fmax(row["z"], row["z_permutation"]) >= Z_SIGNIFICANT
    # Of 40 releases each; of fresh samples one in a hundred is allowed.
    assert alarms["30 %"] >= 20
    assert min(alarms["60 %"], alarms["half copied"]) >= 36
    assert max(alarms["fresh"], alarms["margins"]) <= 2


def chance_all_agree(agrees, share_kept):
    """Probability that records are kept and all agree, by enumeration."""
    kept = all_cells([2] * len(agrees))[1:]  # at least one record
    probability = np.where(kept, share_kept, 1 - share_kept).prod(axis=1)
    all_agree = (kept <= agrees).all(axis=1)
    return probability[all_agree].sum()


@settings(max_examples=40)
@given(two_tables(), st.sampled_from([0.5, 1]))
def test_disclosed_numbers_in_thinned_files_by_enumeration(tables, within):
    """The third variable is a number; people with a two in the second have none."""
    original, release, levels = tables
    x = original[:6]
    z = release[:6]
    number, released_number = (
        np.where(codes[:, 1] == 2, np.nan, codes[:, 2]) for codes in (x, z)
    )
    files = Files(x, z, levels, numbers={2: [number, released_number]})

    found = attribute_disclosure(files, Attack([0], 2, within=within))

    has_number = ~np.isnan(number)
    assert_array_equal(found.eligible, has_number)
    kept = min(1, len(x) / len(z))
    kept_fresh = min(1, len(z) / len(x))
    for i in np.flatnonzero(has_number):
        has_key = x[:, 0] == x[i, 0]
        has_key[i] = False  # not the person's own record
        near = np.abs(number - number[i]) <= within
        expected = chance_all_agree(near[has_key], kept_fresh)
        assert found.fresh_sample[i] == pytest.approx(expected)
        near_released = np.abs(released_number - number[i]) <= within
        matches = near_released[z[:, 0] == x[i, 0]]
        expected = chance_all_agree(matches, kept)
        assert found.release[i] == pytest.approx(expected)
        # Over all numbers of the matches that the release's margin can yield.
        p = near_released.mean()
        expected = 0.0
        for agrees in all_cells([2] * len(matches)):
            probability = np.where(agrees, p, 1 - p).prod()
            expected += probability * chance_all_agree(agrees, kept)
        assert found.margins[i] == pytest.approx(expected)


def test_a_number_at_the_distance_is_near():
    """In floating point 0.8 - 0.1 is above 0.7."""
    keys = np.zeros(3, int)
    numbers = np.array([0.5, 0.7, 1])
    person = np.array([0.8])
    counts = count_near(
        keys[:1],
        person,
        keys,
        numbers,
        within=0.1,
    )
    assert counts == (3, 1)


def test_the_permutation_test_of_identity_counts_uniques_of_the_original():
    original = np.arange(12)[:, None]
    found = match(original, original // 2, [0], [12])
    n_original = np.ones(12, int)
    n_released = np.repeat([2, 0], 6)
    z = permutation_z(n_original, n_released)
    assert found.permutation_z == z != permutation_z(n_released, n_original)


@pytest.mark.parametrize("m", [20, 30])
def test_inference_of_a_fresh_sample_never_uses_the_persons_own_record(monkeypatch, m):
    """Records are numbered, and a tree predicts by the numbers it was trained on."""
    n = 30
    trained_on = []

    def number_of(ids, person):
        return (31 * ids.sum() + person) % 97 / 97

    def predict(records, people, *_):
        ids = records[:, 0]
        trained_on.append(ids)
        assert not set(people[:, 0]) & set(ids)  # nor is anybody in the release
        return number_of(ids, people[:, 0])

    monkeypatch.setattr("srlib.assessment.inference._tree_probabilities", predict)
    everybody = np.arange(2 * n + m)
    records = np.column_stack([everybody, everybody % 3])
    x, released, holdout = np.split(records, [n, n + m])
    files = Files(x, released, [len(records), 3], holdout)

    found = inference(files, Attack([0], 1, codes_without_value=[2]), default_rng(1))

    of_release = [ids for ids in trained_on if ids.min() >= n]
    of_original = [ids for ids in trained_on if ids.max() < n]
    assert len(of_release) == len(of_original) == 2 * PAIRS
    assert set(map(len, trained_on)) == {m // 2}  # halves of the smaller file

    eligible = np.flatnonzero(x[:, 1] != 2)
    by_tree = np.array([number_of(ids, everybody) for ids in of_release])
    by_release = by_tree.mean(axis=0)
    has_value = holdout[:, 1] != 2
    assert_array_equal(np.flatnonzero(found.eligible), eligible)
    assert_allclose(found.release[eligible], by_release[eligible])
    expected = by_release[-n:][has_value].mean()
    assert_allclose(found.holdout["holdout"], expected)

    def variance(shares):
        pairs = np.reshape(shares, (-1, 2))
        return pairs.var(axis=1).mean()

    of_share = variance(by_tree[:, eligible].mean(axis=1))
    if m < n:
        assert found.training_variance >= 2 * of_share
        return
    shares = [number_of(ids, np.setdiff1d(eligible, ids)).mean() for ids in of_original]
    expected = of_share + max(of_share, variance(shares))
    assert_allclose(found.training_variance, expected)
    for i in eligible:
        expected = np.mean([number_of(ids, i) for ids in of_original if i not in ids])
        assert_allclose(found.fresh_sample[i], expected)


def test_inference_depends_on_the_seed_alone_and_is_no_better_than_for_the_holdout():
    x, fresh, holdout = samples(default_rng(3), 600, 600, 600)

    def infer(released, seed):
        files = Files(x, released, LEVELS, holdout)
        return inference(files, Attack(range(9), 9), default_rng(seed))

    found = infer(fresh, 1)
    again = infer(fresh, 1)
    other = infer(fresh, 2)
    copy = infer(x, 1)
    np.testing.assert_equal(vars(again), vars(found))
    assert (found.release != other.release).any()
    assert abs(found.holdout["z_holdout"]) < 4
    assert copy.holdout["z_holdout"] > 4


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03])
def test_inference_of_rare_targets_raises_no_alarm(share):
    """Halves without the rare value predict it worse; without exceptions for 0."""
    for seed in range(12):
        rng = default_rng(seed)
        keys = rng.integers(0, [10, 5], (2, 300, 2))
        is_exception = rng.random((2, 300)) < share
        target = is_exception if share else keys.sum(axis=2) % 2
        x, z = np.dstack([keys, target])
        row = row_of(
            inference,
            x,
            z,
            [10, 5, 2],
            [0, 1],
            2,
            rng,
        )
        assert row["estimate"] <= 1
        assert row["z"] < Z_CERTAIN


@pytest.mark.parametrize(
    ("n", "size"),
    [
        (400, 18),
        (1_000, 20),
    ],
)
def test_equally_frequent_keys_raise_no_alarm(n, size):
    """All regions are sparse, and no power of the size predicts who stays unique."""
    rng = default_rng(4)
    for _ in range(20):
        first = rng.integers(0, size, (2, n))
        third = rng.integers(0, 4, (2, n))
        second = (first + rng.integers(0, size // 2, (2, n))) % size
        x, z = np.dstack([first, second, third])
        row = match_row(x, z, range(3), [size, size, 4])
        assert max(row["z"], row["z_permutation"]) < Z_CERTAIN


def test_trees_with_small_leaves_disclose_targets_to_inference(rng):
    (x,) = samples(rng, 2_000)
    released = trees(x, SCHEMA.n_levels, rng, min_leaf=5)
    others = range(1, len(LEVELS))
    row = row_of(
        inference,
        x,
        released,
        LEVELS,
        others,
        0,
        rng,
    )
    assert row["z"] >= Z_SIGNIFICANT


def keys_and_targets(codes):
    return [(tuple(keys), target) for *keys, target in codes.tolist()]


@given(two_tables())
def test_repu_tcap_and_disco_by_dictionaries(tables):
    """The last variable is the target, all others are keys."""
    x, z, levels = tables
    original = keys_and_targets(x)
    released = keys_and_targets(z)
    d = Counter(keys for keys, _ in original)
    s = Counter(keys for keys, _ in released)
    targets = {}
    for keys in s | d:
        targets[keys] = {target for k, target in released if k == keys}
    files = Files(x, z, levels)
    attack = Attack([0, 1], 2)

    found = repu_and_tcap(files, attack.keys, attack.target)

    unique = [d[keys] == s[keys] == 1 for keys, _ in original]
    assert_allclose(found["repU"], np.mean(unique))
    right = []
    for keys, target in released:
        if d[keys] and len(targets[keys]) == 1:
            right.append(original.count((keys, target)) / d[keys])
    tcap = np.mean(right) if right else np.nan
    assert_allclose(found["TCAP"], tcap)
    if len(x) >= len(z):  # nothing is thinned
        disclosed = [targets[keys] == {target} for keys, target in original]
        assert_array_equal(attribute_disclosure(files, attack).release, disclosed)


def rare_target(rng, n):
    """Seven variables and a target that 1.2 % have, depending on two of them."""
    (x,) = samples(rng, n)
    odds = np.exp(0.8 * x[:, 1] + 0.7 * (x[:, 2] > 0))
    probability = 0.012 * odds / odds.mean()
    target = rng.random(n) < probability
    return np.column_stack([x[:, :7], target])


def test_a_rare_target_raises_no_alarm_in_releases_that_know_less():
    levels = np.array([*LEVELS[:7], 2])
    alarms = []
    for seed in range(100):
        rng = default_rng(seed)
        x = rare_target(rng, (400, 1_000, 3_000)[seed % 3])
        releases = [
            copula(x, rng),
            independent(x, levels, rng),
        ]
        if seed % 20 == 0:
            releases.append(mixture(x, levels, rng))
        for z in releases:
            for keys in (range(3), range(7)):
                row = row_of(
                    attribute_disclosure,
                    x,
                    z,
                    levels,
                    keys,
                    7,
                )
                row["group"] = "all"
                rate([row], family=False)
                alarms.append(row["rating"] in ("elevated", "high"))
    assert np.mean(alarms) <= 0.01


def test_a_rare_target_moved_to_one_combination_of_keys_raises_no_alarm():
    """All others are then disclosed."""
    rng = default_rng(5)
    keys, released_keys = rng.integers(0, 4, (2, 2_000, 3))
    x = np.column_stack([keys, rng.random(2_000) < 0.012])
    z = np.column_stack([released_keys, np.zeros(2_000, int)])
    in_cell = ~released_keys.any(axis=1)
    z[np.flatnonzero(in_cell)[:24], 3] = 1
    row = row_of(
        attribute_disclosure,
        x,
        z,
        [4, 4, 4, 2],
        range(3),
        3,
    )
    assert row["estimate"] > row["baseline"] + 0.2
    assert row["z"] < Z_SIGNIFICANT
