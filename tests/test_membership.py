"""Membership tests: exact on tables that can be enumerated, estimates and their errors."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.special import logsumexp

import srlib
from srlib.data.acs import embedded_population
from srlib.data.schema import Schema, Variable
from srlib.dpmpm.exact import enumerate_mechanism
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism.records import MechanismSynthesizer
from srlib.risk import distance_test, membership, membership_test
from srlib.risk.membership import (
    MembershipTest,
    critical_function,
    log_likelihood_ratios,
    thresholds,
)
from srlib.risk.synthesizers import log_likelihoods
from srlib.trees import Growth, SequentialTrees

SCHEMA = Schema((Variable("job", ("cook", "smith")), Variable("sick", ("no", "yes"))))
CELLS = np.array(list(product((0, 1), repeat=2)), dtype=np.uint8)


def table(cells: list[int]) -> srlib.Microdata:
    return srlib.Microdata(CELLS[cells], SCHEMA)


def power_of(
    statistic: np.ndarray, member: np.ndarray, outsider: np.ndarray, size: float
) -> float:
    """Power of a test by a statistic; its size is checked on the way."""
    values, where = np.unique(-statistic, return_inverse=True)
    mass = np.bincount(where.ravel(), outsider.ravel())
    limit, randomization = thresholds(-values, mass, np.array([size]))
    says = critical_function(statistic, limit[0], randomization[0])
    assert (says * outsider).sum() == pytest.approx(size, abs=1e-12)
    return float((says * member).sum())


def test_no_test_of_the_same_size_finds_more_than_the_ratio() -> None:
    """All releases of two records, and all people of a pool of five in the place of a third.

    One of the pool is in the data. Who is tested is that person, or one of the four
    others.
    """
    synthesizer = MechanismSynthesizer(enumerate_mechanism(3, 2, [2, 2], 2), [2, 2])
    others, pool = [0, 3], [0, 0, 1, 2, 3]
    releases = [table([a, b]) for a in range(4) for b in range(4)]
    ratio, near, member = np.zeros((3, len(pool), len(releases)))
    for t, person in enumerate(pool):
        data, rest = table([*others, person]), table(pool[:t] + pool[t + 1 :])
        test = membership_test(data, releases, rest, synthesizer=synthesizer, rows=[2])
        ratio[t] = test.statistic[:, 0]
        near[t] = distance_test(data, releases, rest, rows=[2]).statistic[:, 0]
        member[t] = [
            np.exp(synthesizer.log_prob(z.codes, data.codes)) / 5 for z in releases
        ]
    outsider = (member.sum(axis=0) - member) / 4
    assert member.sum() == pytest.approx(1)
    np.testing.assert_allclose(ratio, np.log(member / outsider), atol=1e-12)
    ahead = 0
    for size in (0.001, 0.01, 0.05, 0.2, 0.5, 0.9):
        found = power_of(ratio, member, outsider, size)
        best = linprog(
            -member.ravel(), A_eq=outsider.reshape(1, -1), b_eq=[size], bounds=(0, 1)
        )
        assert found == pytest.approx(-best.fun, abs=1e-9)
        by_distance = power_of(near, member, outsider, size)
        assert by_distance <= found + 1e-12
        ahead += found > by_distance + 1e-6
    assert ahead == 6  # distance is worse at every size here
    odds = np.exp(ratio)  # of those who are not members 1 on average
    np.testing.assert_allclose((odds * outsider).sum(axis=1) / outsider.sum(axis=1), 1)
    assert (odds * member).sum() > 1.001


def test_people_in_the_place_of_a_record_are_other_data() -> None:
    everybody = embedded_population(80, rng=np.random.default_rng(2))
    data, others = (
        srlib.Microdata(c, everybody.schema) for c in np.split(everybody.codes, [70])
    )
    trees = SequentialTrees(data.schema, growth=Growth(5, smoothing=1.0))
    for synthesizer in (LaplaceMargins(data.schema.n_levels, 2.0), trees):
        rng = np.random.default_rng(4)
        tables = [synthesizer.release(data.codes, rng=rng) for _ in range(2)]
        released = [srlib.Microdata(z, data.schema) for z in tables]
        test = membership_test(
            data, released, others, 2, synthesizer=synthesizer, rows=[7, 9]
        )
        assert test.holdout_rows.tolist() == [list(range(10))] * 2
        candidates = np.concatenate([data.codes[[7]], others.codes])[None]
        (found,) = log_likelihoods(
            synthesizer, tables, data.codes, np.array([7]), candidates
        )
        expected = found[0] - logsumexp(found[1:]) + np.log(10)
        assert test.statistic[0, 0] == pytest.approx(expected, abs=1e-9)
        last = found[4] - logsumexp(np.delete(found[1:], 3)) + np.log(9)
        assert test.holdout_statistic[0, 0, 3] == pytest.approx(last, abs=1e-9)


def test_the_statistic_compares_a_person_with_the_others() -> None:
    with np.errstate(divide="ignore"):
        log_prob = np.log(
            [[0.4, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.0], [0.4, 0.0, 0.3, 0.0]]
        )
    own, error, people = log_likelihood_ratios(log_prob)
    np.testing.assert_allclose(own, [np.log(4), np.inf, np.log(4)], atol=1e-12)
    np.testing.assert_allclose(
        error[[0, 2]], [np.sqrt(1 / 3), 1], atol=1e-12
    )  # sd / mean / root 3
    assert np.isnan(error[1])
    np.testing.assert_allclose(people[0], [np.log(4), 0.0, -np.inf], atol=1e-12)
    assert np.isneginf(people[1]).all()
    assert people[2].tolist() == [-np.inf, np.inf, -np.inf]


def made_up(
    statistic: np.ndarray, holdout_statistic: np.ndarray, people: Any = None
) -> MembershipTest:
    """A test whose statistics are given, of one set of releases where they have two axes."""
    inside = np.atleast_2d(statistic)
    outside = np.reshape(holdout_statistic, (-1, *holdout_statistic.shape[-2:]))
    n, n_holdout = outside.shape[1:]
    who = np.arange(n * n_holdout).reshape(n, n_holdout) if people is None else people
    codes, mcse = np.zeros((n, 2), np.uint8), np.zeros(inside.shape)
    return MembershipTest(SCHEMA, codes, np.ones(n, int), 1, inside, mcse, outside, who)


def test_power_is_that_of_the_test_with_exactly_its_false_positives() -> None:
    outside = np.tile(np.arange(1000.0) // 10, (40, 1))
    rng = np.random.default_rng(1)
    power = made_up(np.full(40, 98.5), outside).power([0.01, 0.005], rng=rng)
    assert power["power"].tolist() == [1, 0]  # one of a hundred outside is above
    assert power["threshold"].tolist() == [98, 99]
    half = made_up(np.full(40, 99.0), outside)
    assert half.power([0.005], rng=rng)["power"][0] == pytest.approx(0.5)
    assert half.classify(0.005) == pytest.approx(0.5)
    tied = made_up(np.zeros(40), 0 * outside)  # all are alike: the test can only guess
    assert tied.power(rng=rng)["power"].tolist() == pytest.approx([0.01, 0.001])
    never = made_up(np.full(40, np.inf), np.full((40, 1000), -np.inf))
    assert [*never.power(rng=rng)["power"], never.roc()["power"].min()] == [1, 1, 1]
    curve = tied.roc()
    assert curve["false_positive_rate"].iloc[[0, -1]].tolist() == pytest.approx(
        [1 / 1000, 1]
    )
    np.testing.assert_allclose(curve["power"], curve["false_positive_rate"])


def test_power_has_a_number_where_people_are_enough_and_an_error_where_all_are_found() -> (
    None
):
    test, rng = made_up(np.ones(4), np.zeros((4, 100))), np.random.default_rng(1)
    assert test.power(rng=rng)["power"].isna().tolist() == [False, True]
    assert np.isnan(test.classify(0.001)).all()
    assert np.isnan(made_up(np.ones(4), np.zeros((4, 99))).classify(0.01)).all()
    power = made_up(np.zeros(30), np.full((30, 100), -np.inf)).power([0.01], rng=rng)
    assert power["power"][0] == 1
    assert 0.02 < power["power_se"][0] < 0.06


@pytest.mark.parametrize("people", ["dealt", "all at each", "few"])
def test_errors_of_the_power_are_those_of_other_samples(people, monkeypatch):
    """Sets of releases, records and people have effects of their own; of few people, these."""
    monkeypatch.setattr(membership, "N_BOOTSTRAP", 20)
    rng = np.random.default_rng(5)
    n_sets, n, n_people = (1, 200, 40) if people == "few" else (4, 30, 240)
    each = 20 if people == "dealt" else n_people
    who = np.arange(n * each).reshape(n, each) % n_people
    found = []
    for _ in range(40):
        release = 0.3 * rng.normal(size=(n_sets, 1))
        place = 0.5 * rng.normal(size=n)
        inside = 2 + release + place + rng.normal(size=(n_sets, n))
        person = rng.normal(size=n_people)
        outside = (release + place)[..., None] + person[who]
        outside = outside + 0.5 * rng.normal(size=outside.shape)
        test = made_up(inside, outside, who)
        found.append(test.power([0.05], rng=rng).loc[0, ["power", "power_se"]])
    powers, errors = np.transpose(found)
    ratio = np.sqrt(np.mean(np.square(errors))) / np.std(powers, ddof=1)
    assert (
        0.75 < ratio < 2.2
    )  # 40 samples: errors of .11; the bootstrap is wide by design


def test_distances_are_to_the_nearest_released_record() -> None:
    everybody = embedded_population(150, rng=np.random.default_rng(3))
    data, z, y = np.split(everybody.codes, [50, 90])
    tables = (
        srlib.Microdata(codes, everybody.schema) for codes in (data, z[:20], z[20:], y)
    )
    original, *released, others = tables
    rows = np.arange(5)
    for m, shown in ((1, [z[:20], z[20:]]), (2, [z])):
        test = distance_test(original, released, others, m, rows=rows, n_holdout=7)
        assert (
            len(np.unique(test.holdout_rows)) == 5 * 7
        )  # different people beside each record
        for i, records in enumerate(shown):
            apart = ((x[:, None] != records).sum(axis=2) for x in (data[rows], y))
            own, of_people = (each.min(axis=1) for each in apart)
            np.testing.assert_array_equal(test.statistic[i], -own)
            expected = -of_people[test.holdout_rows]
            np.testing.assert_array_equal(test.holdout_statistic[i], expected)
        frame = test.to_frame()  # set of releases by set of releases
        assert frame["release_set"].tolist() == [
            1 + i for i in range(len(shown)) for _ in rows
        ]
        np.testing.assert_array_equal(frame["statistic"], test.statistic.ravel())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"synthesizer": "trees"}, "must be Trees, or have"),
        ({"n_releases": 2}, "in 1 to 1"),
        ({"n_holdout": 1}, "n_holdout is 1"),
        ({"holdout": table([0])}, "holdout has 1 people"),
        (
            {"holdout": pd.DataFrame({"job": ["nun"] * 3, "sick": ["no"] * 3})},
            "holdout: values",
        ),
        (
            {"original": table([1, 1, 1]), "released": [table([0, 0, 0])]},
            "probability zero",
        ),
    ],
)
def test_wrong_input_is_named(change: dict, message: str) -> None:
    given: dict[str, Any] = {
        "original": table([1, 1, 2, 3]),
        "released": [table([1, 1])],
    }
    given |= {
        "holdout": table([0, 1, 2]),
        "synthesizer": PlugInMargins(SCHEMA.n_levels),
    }
    with pytest.raises(ValueError, match=message):
        membership_test(**given | change)
