"""Membership tests: exact on tables that can be enumerated, with their errors."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from enumeration import all_cells, schema
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused_changes
from scipy.optimize import linprog
from scipy.special import logsumexp

from srlib.arrays import log_or_minus_inf
from srlib.data import Microdata, embedded_population
from srlib.dpmpm import enumerate_mechanism
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism import MechanismSynthesizer
from srlib.risk import closeness, membership, membership_test, score_test
from srlib.risk.membership import (
    MembershipTest,
    critical_function,
    log_likelihood_ratios,
    thresholds,
)
from srlib.risk.synthesizers import log_likelihoods
from srlib.trees import Growth, SequentialTrees

SCHEMA = schema(2, 2)


def table(*numbers):
    return Microdata(all_cells([2, 2])[[*numbers]], SCHEMA)


def power_of(statistic, member, outsider, size):
    """Power of a test by a statistic; its size is checked on the way."""
    values, position = np.unique(-statistic, return_inverse=True)
    mass = np.bincount(position.ravel(), outsider.ravel())
    limit, randomization = thresholds(-values, mass, np.array([size]))
    decision = critical_function(statistic, limit, randomization)
    attained_size = np.sum(decision * outsider)
    assert attained_size == pytest.approx(size, abs=1e-12)
    return np.sum(decision * member)


def test_no_test_of_the_same_size_finds_more_than_the_ratio():
    """All releases of two records, and a pool of five people for a third record.

    One of the pool is in the data. The test is of that person, or of one of the four
    others.
    """
    family = MechanismSynthesizer(enumerate_mechanism(3, 2, [2, 2], 2), [2, 2])
    pool = [0, 0, 1, 2, 3]
    releases = [table(*pair) for pair in product(range(4), repeat=2)]
    ratios = []
    log_prob = []
    for i, person in enumerate(pool):
        data = table(0, 3, person)
        others = table(*np.delete(pool, i))
        test = membership_test(data, releases, others, synthesizer=family, rows=[2])
        ratios.append(test.statistic[:, 0])
        log_prob += [family.log_prob(z.codes, data.codes) for z in releases]
    ratio = np.array(ratios)  # (n_people, n_releases)
    member = np.exp(log_prob).reshape(ratio.shape) / 5
    outsider = (member.sum(axis=0) - member) / 4
    assert member.sum() == pytest.approx(1)
    assert_allclose(ratio, np.log(member / outsider), atol=1e-12)

    for size in (0.001, 0.01, 0.05, 0.2, 0.5, 0.9):
        power = power_of(ratio, member, outsider, size)
        best = linprog(
            -member.ravel(),
            A_eq=[outsider.ravel()],
            b_eq=[size],
            bounds=(0, 1),
        )
        assert power == pytest.approx(-best.fun, abs=1e-9)


PEOPLE = embedded_population(80, rng=default_rng(2))


@pytest.mark.parametrize(
    "synthesizer",
    [
        LaplaceMargins(PEOPLE.schema.n_levels, 2.0),
        SequentialTrees(PEOPLE.schema, growth=Growth(5, smoothing=1.0)),
    ],
    ids=["Laplace margins", "trees"],
)
def test_people_in_the_place_of_a_record_are_other_data(synthesizer):
    codes, other_codes = np.split(PEOPLE.codes, [70])
    rng = default_rng(4)
    released = [synthesizer.release(codes, rng=rng) for _ in range(2)]

    test = membership_test(
        Microdata(codes, PEOPLE.schema),
        [Microdata(z, PEOPLE.schema) for z in released],
        Microdata(other_codes, PEOPLE.schema),
        n_releases=2,
        synthesizer=synthesizer,
        rows=[7, 9],
    )

    assert_array_equal(test.holdout_rows, [range(10)] * 2)
    candidates = np.vstack([codes[7], other_codes])
    rows = np.array([7])
    columns = log_likelihoods(synthesizer, released, codes, rows, candidates[None])
    own, *others = columns[0]
    expected = own - logsumexp(others) + np.log(10)
    assert_allclose(test.statistic[0, 0], expected, atol=1e-9)
    others_of_fourth = np.delete(others, 3)
    fourth = others[3] - logsumexp(others_of_fourth) + np.log(9)
    assert_allclose(test.holdout_statistic[0, 0, 3], fourth, atol=1e-9)


def test_the_statistic_compares_a_person_with_the_others():
    prob = [
        [0.4, 0.2, 0.1, 0.0],
        [0.4, 0.0, 0.0, 0.0],
        [0.4, 0.0, 0.3, 0.0],
    ]
    expected_people = [
        [4.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],
        [0.0, np.inf, 0.0],
    ]
    own, error, people = log_likelihood_ratios(log_or_minus_inf(prob))

    assert_allclose(own, np.log([4, np.inf, 4]), atol=1e-12)
    # The standard deviation over the mean, by the root of three.
    assert_allclose(error**2, [1 / 3, np.nan, 1], rtol=1e-12)
    assert_allclose(np.exp(people), expected_people, atol=1e-12)


def given_test(inside, outside, n, n_holdout, n_sets=1, n_people=None):
    """A test of n records with given statistics; people are dealt out in turn."""
    statistic = np.broadcast_to(inside, (n_sets, n))
    people = np.arange(n_people or n * n_holdout)
    return MembershipTest(
        schema=SCHEMA,
        combinations=np.zeros((n, 2), np.uint8),
        repetitions=np.ones(n, int),
        statistic=statistic,
        mcse=np.zeros_like(statistic),
        holdout_statistic=np.broadcast_to(outside, (n_sets, n, n_holdout)),
        holdout_rows=np.resize(people, (n, n_holdout)),
    )


OUTSIDE = np.arange(1000.0) // 10


@pytest.mark.parametrize(
    ("inside", "outside", "rate", "limit", "expected"),
    [
        (98.5, OUTSIDE, 0.01, 98, 1),  # one of a hundred outside is above
        (98.5, OUTSIDE, 0.005, 99, 0),
        (99.0, OUTSIDE, 0.005, 99, 0.5),
        (0.0, 0.0, 0.005, 0, 0.005),
        (np.inf, -np.inf, 0.005, -np.inf, 1),
    ],
    ids=["above", "below", "tied", "all alike", "impossible outside"],
)
def test_the_test_has_exactly_its_false_positive_rate(
    inside, outside, rate, limit, expected, rng
):
    test = given_test(inside, outside, n=40, n_holdout=1000)
    power = test.power([rate], rng=rng)
    assert power["threshold"][0] == limit
    assert power["power"][0] == pytest.approx(expected)
    assert_allclose(test.classify(rate), expected)


def test_where_all_are_alike_the_test_can_only_guess():
    test = given_test(0.0, 0.0, n=40, n_holdout=1000)
    curve = test.roc()
    rates = curve["false_positive_rate"].to_numpy()
    assert_allclose(rates[[0, -1]], [0.001, 1])
    assert_allclose(curve["power"], rates)


def test_power_is_unknown_where_people_are_too_few(rng):
    test = given_test(1.0, 0.0, n=4, n_holdout=100)
    power = test.power(rng=rng).set_index("false_positive_rate")
    assert power.loc[0.01].notna().all()
    assert power.loc[0.001].isna().all()
    assert np.isnan(test.classify(0.001)).all()
    assert np.isnan(test.classify(0.0099)).all()


def test_a_power_of_one_has_an_error(rng):
    test = given_test(0.0, -np.inf, n=30, n_holdout=100)
    power = test.power([0.01], rng=rng)
    assert power["power"][0] == 1
    assert 0.02 < power["power_se"][0] < 0.06


@pytest.mark.parametrize(
    ("n_sets", "n", "n_people", "n_holdout"),
    [
        (4, 30, 240, 20),
        (4, 30, 240, 240),
        (1, 200, 40, 40),
    ],
    ids=["dealt", "all at each", "few"],
)
def test_errors_of_the_power_are_those_of_other_samples(
    n_sets, n, n_people, n_holdout, monkeypatch
):
    """Sets of releases, records and people have effects of their own."""
    monkeypatch.setattr(membership, "N_BOOTSTRAP", 20)
    rng = default_rng(5)
    people = np.resize(np.arange(n_people), (n, n_holdout))
    powers = []

    for _ in range(40):
        release = 0.3 * rng.normal(size=(n_sets, 1))
        record = release + 0.5 * rng.normal(size=n)  # (n_sets, n)
        inside = 2 + record + rng.normal(size=(n_sets, n))
        person = rng.normal(size=n_people)
        outside = record[..., None] + person[people]
        outside = outside + 0.5 * rng.normal(size=outside.shape)
        test = given_test(inside, outside, n, n_holdout, n_sets, n_people)
        power = test.power([0.05], rng=rng)
        powers.append(power.loc[0, ["power", "power_se"]])

    estimates, errors = np.transpose(powers)
    variance = np.mean(np.square(errors))
    ratio = variance / np.var(estimates, ddof=1)
    # With 40 samples, errors of .11 of its root; the bootstrap is wide by design.
    assert 0.75 < np.sqrt(ratio) < 2.2


@pytest.mark.parametrize("n_releases", [1, 2])
def test_distances_are_to_the_nearest_released_record(n_releases):
    codes = embedded_population(150, rng=default_rng(3)).codes
    parts = np.split(codes, [50, 70, 90])
    original, *releases, holdout = (Microdata(x, PEOPLE.schema) for x in parts)

    test = score_test(
        original,
        releases,
        holdout,
        closeness,
        n_releases,
        rows=range(5),
        n_holdout=7,
    )

    assert len(np.unique(test.holdout_rows)) == 5 * 7  # others beside each record
    release_sets = np.split(codes[50:90], 2 // n_releases)
    for i, released in enumerate(release_sets):
        n_different = np.sum(codes[:, None] != released, axis=2)
        distances = n_different.min(axis=1)
        assert_array_equal(test.statistic[i], -distances[:5])
        expected = -distances[90:][test.holdout_rows]
        assert_array_equal(test.holdout_statistic[i], expected)
    frame = test.to_frame()  # set of releases by set of releases
    release_set = np.repeat([1, 2], 5)
    assert_array_equal(frame["release_set"], release_set[: len(frame)])
    assert_array_equal(frame["statistic"], test.statistic.ravel())


def test_a_score_may_be_a_count():
    def n_equal(people, released):
        return np.array([(released == x).all(axis=1).sum() for x in people])

    originals, others = np.split(PEOPLE.codes, 2)
    tables = (Microdata(x, PEOPLE.schema) for x in (originals, originals[:9], others))
    original, release, holdout = tables
    test = score_test(original, [release], holdout, n_equal)
    power = test.power([0.5, 0.001], rng=default_rng(1))["power"]
    assert power[0] > 0
    assert np.isnan(power[1])  # too few people for the rate


UNKNOWN = pd.DataFrame({"v0": ["2", "2"], "v1": "0"})

test_bad_input = refused_changes(
    membership_test,
    {
        "original": table(1, 1, 2, 3),
        "released": [table(1, 1)],
        "holdout": table(0, 1, 2),
        "synthesizer": PlugInMargins(SCHEMA.n_levels),
    },
    {
        "must be Trees, or have": {"synthesizer": "trees"},
        "in 1 to 1": {"n_releases": 2},
        "n_holdout is 1": {"n_holdout": 1},
        "holdout has 1 people": {"holdout": table(0)},
        "holdout: values": {"holdout": UNKNOWN},
        "probability zero": {
            "original": table(1, 1),
            "released": [table(0, 0)],
        },
    },
)
