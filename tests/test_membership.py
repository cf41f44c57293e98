"""Membership tests: exact on tables that can be enumerated, with their errors."""

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
    values, position = np.unique(-statistic, return_inverse=True)
    mass = np.bincount(position.ravel(), outsider.ravel())
    limit, randomization = thresholds(-values, mass, np.array([size]))
    decision = critical_function(statistic, limit[0], randomization[0])
    assert (decision * outsider).sum() == pytest.approx(size, abs=1e-12)
    return float((decision * member).sum())


def test_no_test_of_the_same_size_finds_more_than_the_ratio() -> None:
    """All releases of two records, and a pool of five people for a third record.

    One of the pool is in the data. The test is of that person, or of one of the four
    others.
    """
    synthesizer = MechanismSynthesizer(enumerate_mechanism(3, 2, [2, 2], 2), [2, 2])
    pool = [0, 0, 1, 2, 3]
    releases = [table([a, b]) for a, b in product(range(4), repeat=2)]
    ratio, nearness, member = np.zeros((3, len(pool), len(releases)))
    for i, person in enumerate(pool):
        data = table([0, 3, person])
        others = table(pool[:i] + pool[i + 1 :])
        test = membership_test(
            data, releases, others, synthesizer=synthesizer, rows=[2]
        )
        ratio[i] = test.statistic[:, 0]
        nearness[i] = distance_test(data, releases, others, rows=[2]).statistic[:, 0]
        member[i] = [synthesizer.log_prob(z.codes, data.codes) for z in releases]
    member = np.exp(member) / 5
    outsider = (member.sum(axis=0) - member) / 4
    assert member.sum() == pytest.approx(1)
    np.testing.assert_allclose(ratio, np.log(member / outsider), atol=1e-12)

    for size in (0.001, 0.01, 0.05, 0.2, 0.5, 0.9):
        power = power_of(ratio, member, outsider, size)
        best = linprog(
            -member.ravel(), A_eq=outsider.reshape(1, -1), b_eq=[size], bounds=(0, 1)
        )
        assert power == pytest.approx(-best.fun, abs=1e-9)
        # Distance is worse at every size here.
        assert power > power_of(nearness, member, outsider, size) + 1e-6

    odds = np.exp(ratio)  # of those who are not members 1 on average
    np.testing.assert_allclose((odds * outsider).sum(axis=1) / outsider.sum(axis=1), 1)
    assert (odds * member).sum() > 1.001


@pytest.mark.parametrize("kind", ["Laplace margins", "trees"])
def test_people_in_the_place_of_a_record_are_other_data(kind: str) -> None:
    population = embedded_population(80, rng=np.random.default_rng(2))
    schema = population.schema
    codes, other_codes = np.split(population.codes, [70])
    synthesizer = (
        SequentialTrees(schema, growth=Growth(5, smoothing=1.0))
        if kind == "trees"
        else LaplaceMargins(schema.n_levels, 2.0)
    )
    rng = np.random.default_rng(4)
    released = [synthesizer.release(codes, rng=rng) for _ in range(2)]

    test = membership_test(
        srlib.Microdata(codes, schema),
        [srlib.Microdata(z, schema) for z in released],
        srlib.Microdata(other_codes, schema),
        2,
        synthesizer=synthesizer,
        rows=[7, 9],
    )

    assert test.holdout_rows.tolist() == [list(range(10))] * 2
    candidates = np.concatenate([codes[[7]], other_codes])[None]
    (column,) = log_likelihoods(synthesizer, released, codes, np.array([7]), candidates)
    expected = column[0] - logsumexp(column[1:]) + np.log(10)
    assert test.statistic[0, 0] == pytest.approx(expected, abs=1e-9)
    fourth = column[4] - logsumexp(np.delete(column[1:], 3)) + np.log(9)
    assert test.holdout_statistic[0, 0, 3] == pytest.approx(fourth, abs=1e-9)


def test_the_statistic_compares_a_person_with_the_others() -> None:
    with np.errstate(divide="ignore"):
        log_prob = np.log(
            [[0.4, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.0], [0.4, 0.0, 0.3, 0.0]]
        )

    own, error, people = log_likelihood_ratios(log_prob)

    np.testing.assert_allclose(own, [np.log(4), np.inf, np.log(4)], atol=1e-12)
    # The standard deviation over the mean, by the root of three.
    np.testing.assert_allclose(error[[0, 2]], [np.sqrt(1 / 3), 1], atol=1e-12)
    assert np.isnan(error[1])
    np.testing.assert_allclose(people[0], [np.log(4), 0.0, -np.inf], atol=1e-12)
    assert np.isneginf(people[1]).all()
    assert people[2].tolist() == [-np.inf, np.inf, -np.inf]


def made_up(
    statistic: np.ndarray, holdout_statistic: np.ndarray, people: Any = None
) -> MembershipTest:
    """A test with given statistics, of one set of releases where they have two axes."""
    inside = np.atleast_2d(statistic)
    outside = np.reshape(holdout_statistic, (-1, *holdout_statistic.shape[-2:]))
    n, n_holdout = outside.shape[1:]
    if people is None:
        people = np.arange(n * n_holdout).reshape(n, n_holdout)
    return MembershipTest(
        schema=SCHEMA,
        combinations=np.zeros((n, 2), np.uint8),
        repetitions=np.ones(n, int),
        n_releases=1,
        statistic=inside,
        mcse=np.zeros(inside.shape),
        holdout_statistic=outside,
        holdout_rows=people,
    )


def test_the_test_has_exactly_its_false_positive_rate(rng: np.random.Generator) -> None:
    outside = np.tile(np.arange(1000.0) // 10, (40, 1))
    power = made_up(np.full(40, 98.5), outside).power([0.01, 0.005], rng=rng)
    assert power["power"].tolist() == [1, 0]  # one of a hundred outside is above
    assert power["threshold"].tolist() == [98, 99]
    half = made_up(np.full(40, 99.0), outside)
    assert half.power([0.005], rng=rng)["power"][0] == pytest.approx(0.5)
    assert half.classify(0.005) == pytest.approx(0.5)


def test_where_all_are_alike_the_test_can_only_guess(rng: np.random.Generator) -> None:
    tied = made_up(np.zeros(40), np.zeros((40, 1000)))
    assert tied.power(rng=rng)["power"].tolist() == pytest.approx([0.01, 0.001])
    curve = tied.roc()
    ends = curve["false_positive_rate"].iloc[[0, -1]].tolist()
    assert ends == pytest.approx([1 / 1000, 1])
    np.testing.assert_allclose(curve["power"], curve["false_positive_rate"])


def test_impossible_people_are_never_classified(rng: np.random.Generator) -> None:
    test = made_up(np.full(40, np.inf), np.full((40, 1000), -np.inf))
    assert test.power(rng=rng)["power"].tolist() == [1, 1]
    assert test.roc()["power"].min() == 1


def test_power_is_unknown_where_people_are_too_few(rng: np.random.Generator) -> None:
    test = made_up(np.ones(4), np.zeros((4, 100)))
    assert test.power(rng=rng)["power"].isna().tolist() == [False, True]
    assert np.isnan(test.classify(0.001)).all()
    assert np.isnan(made_up(np.ones(4), np.zeros((4, 99))).classify(0.01)).all()


def test_a_power_of_one_has_an_error(rng: np.random.Generator) -> None:
    test = made_up(np.zeros(30), np.full((30, 100), -np.inf))
    power = test.power([0.01], rng=rng)
    assert power["power"][0] == 1
    assert 0.02 < power["power_se"][0] < 0.06


@pytest.mark.parametrize(
    ("n_sets", "n", "n_people", "n_holdout"),
    [(4, 30, 240, 20), (4, 30, 240, 240), (1, 200, 40, 40)],
    ids=["dealt", "all at each", "few"],
)
def test_errors_of_the_power_are_those_of_other_samples(
    n_sets, n, n_people, n_holdout, monkeypatch
):
    """Sets of releases, records and people have effects of their own."""
    monkeypatch.setattr(membership, "N_BOOTSTRAP", 20)
    rng = np.random.default_rng(5)
    people = np.arange(n * n_holdout).reshape(n, n_holdout) % n_people
    powers = []
    for _ in range(40):
        release = 0.3 * rng.normal(size=(n_sets, 1))
        place = 0.5 * rng.normal(size=n)
        inside = 2 + release + place + rng.normal(size=(n_sets, n))
        person = rng.normal(size=n_people)
        outside = (release + place)[..., None] + person[people]
        outside = outside + 0.5 * rng.normal(size=outside.shape)
        power = made_up(inside, outside, people).power([0.05], rng=rng)
        powers.append(power.loc[0, ["power", "power_se"]])
    estimates, errors = np.transpose(powers)
    ratio = np.sqrt(np.mean(np.square(errors))) / np.std(estimates, ddof=1)
    # With 40 samples, errors of .11; the bootstrap is wide by design.
    assert 0.75 < ratio < 2.2


@pytest.mark.parametrize("n_releases", [1, 2])
def test_distances_are_to_the_nearest_released_record(n_releases: int) -> None:
    population = embedded_population(150, rng=np.random.default_rng(3))
    original, first, second, people = np.split(population.codes, [50, 70, 90])
    tables = [
        srlib.Microdata(codes, population.schema)
        for codes in (original, first, second, people)
    ]
    rows = np.arange(5)

    test = distance_test(
        tables[0], tables[1:3], tables[3], n_releases, rows=rows, n_holdout=7
    )

    assert len(np.unique(test.holdout_rows)) == 5 * 7  # others beside each record
    sets = [first, second] if n_releases == 1 else [np.concatenate([first, second])]
    for i, released in enumerate(sets):
        distances = (population.codes[:, None] != released).sum(axis=2).min(axis=1)
        np.testing.assert_array_equal(test.statistic[i], -distances[rows])
        expected = -distances[90:][test.holdout_rows]
        np.testing.assert_array_equal(test.holdout_statistic[i], expected)
    frame = test.to_frame()  # set of releases by set of releases
    set_numbers = np.repeat(np.arange(len(sets)) + 1, 5)
    assert frame["release_set"].tolist() == set_numbers.tolist()
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
        "holdout": table([0, 1, 2]),
        "synthesizer": PlugInMargins(SCHEMA.n_levels),
    }
    with pytest.raises(ValueError, match=message):
        membership_test(**given | change)
