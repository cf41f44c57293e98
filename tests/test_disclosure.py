"""What a file tells of each person: by hand, by enumeration, by simulation, and by brute force."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import LEVELS, SCHEMA, copula, margins, samples, table, two_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from ladder import independent, mixture, trees

import srlib.assessment.inference
from srlib.assessment.attribute import (
    attribute_disclosure,
    count_near,
    repu_and_tcap,
)
from srlib.assessment.disclosure import Attack, Disclosure
from srlib.assessment.files import Files
from srlib.assessment.identity import (
    identity_disclosure,
    share_matched_by_fresh_sample,
)
from srlib.assessment.inference import PAIRS, inference
from srlib.assessment.ratings import Z_CERTAIN, Z_SIGNIFICANT, rate, summarize
from srlib.assessment.z_scores import permutation_z
from srlib.data.codes import Codes


def shares(found: Disclosure) -> list[float]:
    row = summarize([found])
    return [row["estimate"], row["fresh_sample"], row["margins"]]


def test_people_met_by_hand() -> None:
    original, released = (
        table("0", "0", "1", "2", "3", "3"),
        table("1", "2", "2", "4", "4", "0"),
    )
    found = identity_disclosure(Files(original, released, [5]), [0])
    assert found.eligible.tolist() == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]  # 1 and 2
    of_two = identity_disclosure(
        Files(original, original[[0, 2]], [5]), [0]
    )  # of whom 1 alone is alone
    assert of_two.certain.tolist() == [False, False, True, False, False, False]
    # Of two kinds are one record and of two kinds two, so that one person has 2 * 2 / 2
    # companions, in a tree of one key whose six records lack a person's kind and have
    # the companions instead.
    alone, pairs = 2.0, 1.0
    for _ in range(5):
        alone = 6 * (alone + 0.5) / (6 - 1 + alone + 5 / 2)
        pairs = 6 * (pairs + 0.5) / (6 - 2 + pairs + 5 / 2)

    def foretold(r: float) -> float:
        part = (1 + r) ** -1.5
        still = 1, 1, *[1 - part] * 4
        left = np.average(
            np.exp(-(1 - part) * np.array([alone] * 2 + [pairs] * 4)), weights=still
        )
        return 1 - (2 / sum(still)) ** (-alone * r / np.log(left))

    others, by_margins = foretold(1), 1 - (5 / 6) ** 6
    assert shares(found) == pytest.approx([1, others, by_margins])
    fewer = identity_disclosure(Files(original, original[[2, 3]], [5]), [0])
    assert shares(fewer)[:2] == pytest.approx([1, foretold(1 / 3)])
    more = identity_disclosure(
        Files(original, np.repeat(released, 2, axis=0), [5]), [0]
    )
    kept = 1 - (1 / 2) ** np.array([2, 4])  # half of the larger release is kept
    assert shares(more) == pytest.approx([kept.mean(), others, by_margins])
    # Of the people in both files 2 is alone; in a random half of both the expected
    # number is 2.75.
    known = identity_disclosure(
        Files(original, released, [5], table("1", "3", "3", "4", "4", "4")), [0]
    )
    assert shares(known) == pytest.approx([1, 1 - 1 / 2.75, by_margins])
    # The people alone are not so in both files together, be these large enough or not.
    for people in (table("0", "1"), table("0", "1", "2", "2")):
        assert (
            shares(
                identity_disclosure(Files(people, people, [3], table("0", "1")), [0])
            )[1]
            == 1
        )


def with_ages(rng: np.random.Generator, n: int) -> tuple[Codes, np.ndarray]:
    """Records of the population, and an age in years within the group of ages of each."""
    (x,) = samples(rng, n)
    youngest, oldest = np.array([18, 35, 55, 70]), np.array([34, 54, 69, 89])
    group = x[:, SCHEMA.names.index("AGEP")]
    return x, rng.integers(youngest[group], oldest[group] + 1).astype(float)


def test_an_intruder_knows_numbers_as_the_files_have_them() -> None:
    """Keys are equal where ages are, not groups of ages; others' records are foretold so, too."""
    rng, keys, z, planted = np.random.default_rng(21), [0, 1, 2, 4], [], []
    for _ in range(30):
        (x, age), (released, other) = with_ages(rng, 1_000), with_ages(rng, 1_000)
        found = identity_disclosure(
            Files(x, released, LEVELS, None, {1: [age, other]}), keys
        )
        exact = [
            (*row, years)
            for row, years in zip(x[:, [0, 2, 4]].tolist(), age, strict=True)
        ]
        again = Counter(exact)
        unique = np.array([again[person] == 1 for person in exact])
        assert found.eligible.tolist() == unique.tolist()
        kept = {
            (*row, years)
            for row, years in zip(released[:, [0, 2, 4]].tolist(), other, strict=True)
        }
        assert found.certain.tolist() == [
            u and e in kept for u, e in zip(unique, exact, strict=True)
        ]
        row = summarize([found])
        z.append(row["z"])
        chosen = np.flatnonzero(unique)[::3]
        released[: len(chosen)], other[: len(chosen)] = x[chosen], age[chosen]
        planted.append(
            summarize(
                [
                    identity_disclosure(
                        Files(x, released, LEVELS, None, {1: [age, other]}), keys
                    )
                ]
            )
        )
    assert abs(np.mean(z)) < 1
    assert np.std(z) < 1.3
    assert np.mean(np.array(z) > Z_SIGNIFICANT) <= 0.05
    assert (
        np.mean(
            [
                row["z"] > Z_SIGNIFICANT and row["estimate"] > row["baseline"] + 0.05
                for row in planted
            ]
        )
        > 0.9
    )
    # A date of birth of one's own is no margin: a release of a third of the dates is
    # found.
    (x,) = samples(rng, 1_000)
    born, others_born = rng.integers(0, 25_000, (2, 1_000)).astype(float)
    others_born[:300] = born[:300]
    shuffled = rng.permutation(1_000)
    dates = {1: [born, others_born[shuffled]]}
    row = summarize(
        [identity_disclosure(Files(x, x[shuffled], LEVELS, None, dates), [1])]
    )
    assert row["estimate"] > 0.2 > row["baseline"] + 0.1
    assert row["z"] > Z_CERTAIN
    # A number that is not there is as it is cut, and who is unique may have no
    # companions at all.
    age[:5] = np.nan
    found = identity_disclosure(Files(x, x, LEVELS, None, {1: [age, age]}), keys)
    same = (x[:, keys] == x[0, keys]).all(axis=1) & np.isnan(age)
    assert found.eligible[0] == (same.sum() == 1)
    assert (
        repu_and_tcap(Files(x, x, LEVELS, None, {1: [age, age]}), keys, 9)["repU"]
        == found.eligible.mean()
    )
    by_age = share_matched_by_fresh_sample(Files(x, x, LEVELS, None, {1: [age, age]}))
    assert 0 < by_age < share_matched_by_fresh_sample(Files(x, x, LEVELS)) < 1
    twice = np.repeat(x, 2, axis=0)
    assert np.isnan(share_matched_by_fresh_sample(Files(twice, x, LEVELS)))


@pytest.mark.parametrize("people_held_out", [0, 300, 900])
def test_people_whom_others_would_meet_are_foretold_without_bias(
    people_held_out: int,
) -> None:
    """From the original and people held out alone; errors are those of another original."""
    rng, keys, n, repetitions = np.random.default_rng(12), [0, 1, 2, 3, 4], 500, 150
    rows = []
    for _ in range(repetitions):
        x, others, holdout = samples(rng, n, n, people_held_out)
        given = LEVELS, holdout if people_held_out else None
        rows.append(summarize([identity_disclosure(Files(x, others, *given), keys)]))
        assert (
            shares(identity_disclosure(Files(x, margins(x, rng), *given), keys))[1]
            == rows[-1]["fresh_sample"]
        )
    value, others, error = (
        pd.DataFrame(rows)[["estimate", "fresh_sample", "fresh_sample_se"]].to_numpy().T
    )
    bias = (others - value).std() / np.sqrt(repetitions)
    assert abs((others - value).mean()) < 4 * bias < 0.03
    assert error.mean() == pytest.approx(others.std(), rel=0.25)


def test_people_handed_out_are_found_and_those_of_fresh_samples_are_not() -> None:
    """Keys of three and six in ten who are alone, among independent margins; half a file."""
    rng, keys, n, repetitions = np.random.default_rng(13), [0, 1, 2, 3, 4], 500, 40
    alarms = dict.fromkeys(("30 %", "60 %", "half copied", "fresh", "margins"), 0)
    for _ in range(repetitions):
        x, fresh = samples(rng, n, n)
        tables = {
            "half copied": np.concatenate([x[: n // 2], fresh[n // 2 :]]),
            "fresh": fresh,
        }
        for name, share in (("margins", 0.0), ("30 %", 0.3), ("60 %", 0.6)):
            planted = tables[name] = margins(x, rng)
            alone = np.flatnonzero(
                identity_disclosure(Files(x, planted, LEVELS), keys).eligible
            )
            some = rng.permutation(alone)[: round(share * len(alone))]
            planted[: len(some), keys] = x[some][:, keys]
        for name, released in tables.items():
            row = summarize([identity_disclosure(Files(x, released, LEVELS), keys)])
            alarms[name] += np.fmax(row["z"], row["z_permutation"]) >= Z_SIGNIFICANT
    assert alarms["30 %"] >= 0.5 * repetitions
    assert min(alarms["60 %"], alarms["half copied"]) >= 0.9 * repetitions
    assert (
        max(alarms["fresh"], alarms["margins"]) <= 2
    )  # of 40, where one of a hundred is allowed


def chance_to_agree(like: Sequence[bool], kept: float) -> float:
    """Probability that some records are kept and that all of these are right, by enumeration."""
    chosen = product([False, True], repeat=len(like))
    right = [
        c
        for c in chosen
        if any(c) and not any(k > of for k, of in zip(c, like, strict=True))
    ]
    return sum(kept ** sum(c) * (1 - kept) ** (len(like) - sum(c)) for c in right)


@settings(max_examples=40)
@given(two_tables(), st.sampled_from([0.5, 1]))
def test_numbers_in_thinned_files_by_enumeration(tables, within):
    """The third variable is a number, which people with a two in the second do not have."""
    x, z, levels = tables[0][:6], tables[1][:6], tables[2]
    numbers = [np.where(codes[:, 1] == 2, np.nan, codes[:, 2]) for codes in (x, z)]
    n, m = len(x), len(z)
    found = attribute_disclosure(
        Files(x, z, levels, None, {2: numbers}), Attack([0], 2, within=within)
    )
    assert found.eligible.tolist() == (~np.isnan(numbers[0])).tolist()
    kept = min(1, n / m)
    for i in np.flatnonzero(found.eligible):
        of_others, of_release = (
            (np.abs(number - numbers[0][i]) <= within)[codes[:, 0] == x[i, 0]].tolist()
            for codes, number in zip((x, z), numbers, strict=True)
        )
        of_others.remove(True)  # the person's own
        assert found.release[i] == pytest.approx(chance_to_agree(of_release, kept))
        assert found.fresh_sample[i] == pytest.approx(
            chance_to_agree(of_others, min(1, m / n))
        )
        # Over all numbers that the release's margin gives those who are kept.
        p, s = np.mean(np.abs(numbers[1] - numbers[0][i]) <= within), len(of_release)
        drawn = [
            p ** sum(c) * (1 - p) ** (s - sum(c)) * chance_to_agree(c, kept)
            for c in product([False, True], repeat=s)
        ]
        assert found.margins is not None
        assert found.margins[i] == pytest.approx(sum(drawn))


def test_a_number_at_the_distance_is_near() -> None:
    """In floating point 0.8 - 0.1 is above 0.7."""
    person, others = (
        (np.zeros(1, int), np.array([0.8])),
        (np.zeros(3, int), np.array([0.5, 0.7, 1])),
    )
    known, near = count_near(*person, *others, 0.1)
    assert (known.tolist(), near.tolist()) == ([3], [1])


def test_people_met_are_those_of_the_original() -> None:
    """A random division of both files tells who is alone in which."""
    original, released = np.arange(12)[:, None], np.repeat(np.arange(6), 2)[:, None]
    both = original[:, 0], released[:, 0]
    summarize, of_records = (
        permutation_z(*both),
        permutation_z(*both[::-1]),
    )
    assert (
        identity_disclosure(Files(original, released, [12]), [0]).permutation_z
        == summarize
        != of_records
    )


@pytest.mark.parametrize("m", [20, 30])
def test_nothing_of_a_persons_own_is_used_for_others(monkeypatch, m):
    """Records are numbered, and trees guess by the numbers of those that they grew from."""
    n, grown = 30, []

    def number_of(ids: Codes, person: Any) -> float:
        return (int(ids.sum()) * 31 + person) % 97 / 97

    def by_tree(records: Codes, people: Codes, *_: Any) -> Any:
        ids = records[:, 0]
        grown.append(ids)
        assert not set(people[:, 0]) & set(ids)  # nor is anybody in the release
        return np.array([number_of(ids, i) for i in people[:, 0]])

    monkeypatch.setattr(srlib.assessment.inference, "_tree_probabilities", by_tree)
    everybody = np.column_stack([np.arange(2 * n + m), np.arange(2 * n + m) % 3])
    x, released, holdout = np.split(everybody, [n, n + m])
    files = Files(x, released, [2 * n + m, 3], holdout)
    found = inference(files, Attack([0], 1, [2]), np.random.default_rng(1))
    of_release = [ids for ids in grown if ids.min() >= n]
    of_original = [ids for ids in grown if ids.max() < n]
    assert len(of_release) == len(of_original) == 2 * PAIRS
    assert {len(ids) for ids in grown} == {m // 2}  # halves of the smaller file
    by_release = np.array(
        [[number_of(ids, i) for i in range(2 * n + m)] for ids in of_release]
    )
    some, strangers = np.flatnonzero(x[:, 1] != 2), holdout[holdout[:, 1] != 2, 0]
    assert np.flatnonzero(found.eligible).tolist() == some.tolist()
    assert found.release[some] == pytest.approx(by_release.mean(axis=0)[some])
    of_strangers = by_release.mean(axis=0)[strangers].mean()
    assert found.holdout["holdout"] == pytest.approx(of_strangers)
    apart = np.subtract(*by_release[:, some].mean(axis=1).reshape(-1, 2).T)
    by_original = [
        [number_of(ids, i) for i in some if i not in ids] for ids in of_original
    ]
    of_others = np.subtract(
        *np.array([np.mean(each) for each in by_original]).reshape(-1, 2).T
    )
    variance, others_variance = (apart**2).mean() / 4, (of_others**2).mean() / 4
    least = variance + max(variance, others_variance if m == n else 0)
    assert (
        found.training_variance == pytest.approx(least)
        if m == n
        else found.training_variance >= least
    )
    for i in some if m == n else ():
        others = np.mean([number_of(ids, i) for ids in of_original if i not in ids])
        assert found.fresh_sample[i] == pytest.approx(others)


def test_guesses_are_the_same_with_the_same_seed_and_as_good_of_people_held_out() -> (
    None
):
    x, fresh, holdout = samples(np.random.default_rng(3), 600, 600, 600)

    def guessed(released: Codes, seed: int) -> Disclosure:
        rng = np.random.default_rng(seed)
        return inference(Files(x, released, LEVELS, holdout), Attack(range(9), 9), rng)

    one, again, other = (guessed(fresh, seed) for seed in (1, 1, 2))
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, vars(again)[name])
    assert (one.release != other.release).any()
    assert abs(one.holdout["z_holdout"]) < 4 < guessed(x, 1).holdout["z_holdout"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03])
def test_rare_targets_raise_no_alarm(share: float) -> None:
    """Halves with and without rare values guess others worse, or a rule without exceptions."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        key = rng.integers(0, [10, 5], (2, 300, 2))
        rare = (key.sum(axis=2) % 2 if not share else 0) ^ (
            rng.random((2, 300)) < share
        )
        x, z = np.dstack([key, rare]).astype(np.uint8)
        one = summarize([inference(Files(x, z, [10, 5, 2]), Attack([0, 1], 2), rng)])
        assert one["estimate"] <= 1
        assert one["z"] < Z_CERTAIN


@pytest.mark.parametrize(("n", "size"), [(400, 18), (1_000, 20)])
def test_keys_that_are_equally_frequent_raise_no_alarm(n: int, size: int) -> None:
    """They are thinly settled everywhere, and no power of the size tells who stays alone."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        first, third = rng.integers(0, size, (2, n)), rng.integers(0, 4, (2, n))
        second = (first + rng.integers(0, size // 2, (2, n))) % size
        x, z = np.dstack([first, second, third])
        found = summarize(
            [identity_disclosure(Files(x, z, [size, size, 4]), [0, 1, 2])]
        )
        assert max(found["z"], found["z_permutation"]) < Z_CERTAIN


def test_trees_with_small_leaves_tell_a_trained_guess_more(
    rng: np.random.Generator,
) -> None:
    (x,) = samples(rng, 2_000)
    released = trees(x, SCHEMA.n_levels, rng, min_leaf=5)
    found = inference(Files(x, released, LEVELS), Attack(range(1, len(LEVELS)), 0), rng)
    assert summarize([found])["z"] >= Z_SIGNIFICANT


@given(two_tables())
def test_customary_measures_by_dictionaries(tables):
    """Share found once in both, people disclosed, and attributions right, by all but the last."""
    x, z, levels = tables
    original, released = ([tuple(row) for row in codes.tolist()] for codes in (x, z))
    d, s = (Counter(r[:-1] for r in records) for records in (original, released))
    shown = {key: {r[-1] for r in released if r[:-1] == key} for key in s}
    once = sum(d[r[:-1]] == s[r[:-1]] == 1 for r in original) / len(original)
    disclosed = [shown.get(r[:-1]) == {r[-1]} for r in original]
    aim = [r for r in released if d[r[:-1]] and len(shown[r[:-1]]) == 1]
    right = [original.count(r) / d[r[:-1]] for r in aim]
    found = repu_and_tcap(Files(x, z, levels), [0, 1], 2)
    assert found["repU"] == pytest.approx(once)
    assert found["TCAP"] == pytest.approx(
        np.mean(right) if right else np.nan, nan_ok=True
    )
    if len(original) >= len(released):  # nothing is thinned
        release = attribute_disclosure(Files(x, z, levels), Attack([0, 1], 2)).release
        assert release.astype(bool).tolist() == disclosed


def rare_target(rng: np.random.Generator, n: int) -> Codes:
    """Seven variables and a rare one, which 1.2 % have: more of those with some of the levels."""
    (x,) = samples(rng, n)
    share = np.exp(0.8 * x[:, 1] + 0.7 * (x[:, 2] > 0))
    return np.column_stack(
        [x[:, :7], rng.random(n) < 0.012 * share / share.mean()]
    ).astype(np.int64)


def test_a_rare_target_raises_no_alarm_in_releases_that_know_less() -> None:
    levels = [*LEVELS[:7], 2]
    alarms: list[bool] = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rare_target(rng, (400, 1_000, 3_000)[seed % 3])
        made = [copula(x, rng), independent(x, np.array(levels), rng)]
        made += [mixture(x, np.array(levels), rng)] if seed % 20 == 0 else []
        for z in made:
            for known in ([0, 1, 2], [0, 1, 2, 3, 4, 5, 6]):
                row = summarize(
                    [attribute_disclosure(Files(x, z, levels), Attack(known, 7))]
                )
                row["group"] = "all"
                rate([row], family=False)
                alarms.append(row["rating"] in ("elevated", "high"))
    assert len(alarms) >= 400
    assert np.mean(alarms) <= 0.01
    # All with the rare value are moved to one combination of keys, so that all others
    # are told.
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 4, (2, 2_000, 3))
    x = np.column_stack([keys[0], rng.random(2_000) < 0.012]).astype(np.int64)
    z = np.column_stack([keys[1], np.zeros(2_000, np.int64)])
    z[np.flatnonzero((keys[1] == 0).all(axis=1))[:24], 3] = 1
    row = summarize(
        [attribute_disclosure(Files(x, z, [4, 4, 4, 2]), Attack([0, 1, 2], 3))]
    )
    assert row["estimate"] > row["baseline"] + 0.2
    assert row["z"] < Z_SIGNIFICANT
