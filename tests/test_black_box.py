"""Lower bounds on what releases disclose, for synthesizers that can only be run."""

from typing import Any

import numpy as np
import pytest
from cases import table
from enumeration import schema
from numpy.random import default_rng
from numpy.testing import assert_allclose
from refusals import refused_changes
from scipy.stats import binom
from test_docs import blocks
from toy import ROOT

import srlib
from srlib.data import Microdata
from srlib.margins import PlugInMargins
from srlib.mechanism import beta_binomial, risk, sample
from srlib.risk.black_box import (
    _scores,
    clopper_pearson,
    leakage_bound,
    leakage_bound_from_counts,
    release_counts,
)
from srlib.trees import Growth, SequentialTrees, fit_trees


@pytest.mark.parametrize(
    ("alpha", "n_sick", "n_sick_changed"),
    [
        (0.05, 0, 1),
        (1.0, 1, 2),
        (1.0, 1, 1),
    ],
)
def test_bounds_of_a_family_hold_with_their_confidence(
    alpha, n_sick, n_sick_changed, rng
):
    """Counts of six records, one changed or none; 100 samples of eighty releases."""
    mechanism = beta_binomial(n=6, n_s=6, alpha=alpha)
    inputs = n_sick, n_sick_changed
    prior = 0.3
    log_prob = np.stack([mechanism.row(x) for x in inputs])
    prob, changed_prob = np.exp(log_prob)
    truth = [
        np.ptp(log_prob, axis=0).max(),
        prob @ risk(mechanism, *inputs, prior),
        np.abs(prob - changed_prob).sum() / 2,
    ]

    bounds = []
    for _ in range(100):
        roots = []
        for x in inputs:
            counts = sample(mechanism, x, 80, rng=rng)
            cells = np.stack([6.0 - counts, counts], axis=1)
            roots.append(np.sqrt(cells))
        bound = leakage_bound_from_counts(*roots, prior=prior, confidence=0.8)
        bounds.append([bound.epsilon, bound.probability, bound.advantage])

    n_over = np.sum(bounds > np.add(truth, 1e-12), axis=0)
    # Binomial: 100 samples, each over with probability .2 at most.
    assert (n_over <= 20 + 4.5 * 4).all()
    if alpha == 0.05:  # the two are far apart
        n_informative = np.sum(np.array(bounds) > [0, prior, 0], axis=0)
        assert (n_informative > 75).all()


SURE = np.ones((100, 1))


def test_a_perfect_test_by_hand():
    """No overlap in 100 releases each, so that 50 alarms of 50 face none of 50."""
    bound = leakage_bound_from_counts(SURE, 0 * SURE, prior=0.5)
    low = 0.025 ** (1 / 50)
    high = 1 - low
    expected = [
        np.log(low / high),
        low**2 + high**2,
        low - high,
    ]
    assert_allclose([bound.epsilon, bound.probability, bound.advantage], expected)


def test_a_negative_test_discloses_as_well():
    """Half of the releases of the changed data look as all of the data do."""
    changed = np.arange(100)[:, None] % 2.0
    bound = leakage_bound_from_counts(SURE, changed, prior=0.5)
    low, high = clopper_pearson(np.array([50, 25]), 50, 0.975)
    ratio = (1 - high[1]) / (1 - low[0])
    assert bound.epsilon == pytest.approx(np.log(ratio))


def test_clopper_pearson_limits_by_definition():
    low, high = clopper_pearson(np.array([0, 7, 20]), 20, 0.9)
    assert_allclose(binom.sf(6, 20, low[1]), 0.1)
    assert_allclose(binom.cdf(7, 20, high[1]), 0.1)
    assert low[0] == 0
    assert high[2] == 1


@pytest.mark.parametrize("n", [15, 60])
def test_the_discriminant_is_that_of_its_formula(n, rng):
    samples = rng.normal([[[1000]], [[1000.5]]], size=(2, 2 * n, 40))

    _, scores = _scores(samples)

    training = samples[:, :n]
    means = training.mean(axis=1)
    within = np.concatenate(training - means[:, None])
    # Correlations halved, as in the mean of their matrix and the unit matrix.
    covariance = np.cov(within.T)
    matrix = covariance + np.diag(np.diag(covariance))
    direction = np.linalg.solve(matrix, means[0] - means[1])
    expected = np.concatenate(samples[:, n:]) @ direction
    assert np.corrcoef(scores, expected)[0, 1] == pytest.approx(1)


# Ten cooks (0) of whom one is sick (1), and ten smiths; the sick cook is the first.
CODES = np.repeat(table("01", "00", "11", "10"), [1, 9, 5, 5], axis=0)
PEOPLE = Microdata(CODES.astype(np.uint8), schema(2, 2))
HEALTHY = table("00")
TWO_ALTERNATIVES = table("00", "11")


def test_a_leaf_with_one_donor_is_found(rng):
    """A release shows a sick cook with probability .63, and never without the donor."""
    trees = SequentialTrees(PEOPLE.schema, growth=Growth(5))
    bound = leakage_bound(trees, PEOPLE, 0, HEALTHY, n_releases=300, rng=rng)
    # A test that is positive for sick cooks only: f(.63, 0) + f(.37, 1).
    sick = 1 - (19 / 20) ** 20
    by_donor = sick + (1 - sick) ** 2 / (2 - sick)
    assert bound.prior == 0.5
    assert 0.6 < bound.probability < by_donor
    assert bound.epsilon > 2
    assert 0.4 < bound.advantage < sick + 0.05


class Copy:
    def release(self, data, *, rng):
        return data


def test_all_candidates_have_the_same_prior(rng):
    bound = leakage_bound(Copy(), PEOPLE, 0, TWO_ALTERNATIVES, n_releases=60, rng=rng)
    assert bound.prior == 1 / 3


def test_counts_are_of_cells(rng):
    roots, changed = release_counts(Copy(), PEOPLE, 0, HEALTHY, n_releases=20, rng=rng)
    assert (roots == roots[0]).all()
    assert (changed == changed[0]).all()
    assert (roots[0] != changed[0]).any()
    # By sickness: cooks, smiths, and the two with themselves; sick and well likewise.
    counts = [0, 0, 0, 0, 0, 0, 1, 1, 5, 5, 5, 5, 6, 9, 9, 14]
    assert sorted(roots[0] ** 2) == pytest.approx(counts, abs=1e-4)


def test_releases_of_several_alternatives_are_in_random_order():
    arguments = Copy(), PEOPLE, 0, TWO_ALTERNATIVES
    _, changed = release_counts(*arguments, n_releases=40, rng=default_rng(6))
    _, alternative = np.unique(changed, axis=0, return_inverse=True)
    for half in np.split(alternative.ravel(), 2):
        assert 0.2 < half.mean() < 0.8


def test_bounds_come_from_releases_that_were_not_used_for_training():
    first, second = default_rng(6).normal(size=(2, 80, 3))
    first[:40, 0] += 5
    bound = leakage_bound_from_counts(first, second, prior=0.5)
    assert bound.probability == 0.5


class Wide:
    def release(self, data, *, rng):
        return np.concatenate([data, data], axis=1)


test_bad_input = refused_changes(
    leakage_bound,
    {
        "synthesizer": PlugInMargins(np.array([2, 2])),
        "data": PEOPLE,
        "row": 0,
        "alternatives": HEALTHY,
        "n_releases": 20,
        "rng": default_rng(1),
    },
    {
        "the table is of type ndarray; it must be a DataFrame": {"data": CODES},
        "row is 20; it must lie in 0 to 19": {"row": 20},
        "has the true record itself": {"alternatives": table("01")},
        "alternatives has codes out of range": {"alternatives": table("02")},
        r"alternatives has shape \(2,\)": {"alternatives": HEALTHY[0]},
        "and type float64; it must be": {"alternatives": 0.5 * table("01")},
        "Trees, which are fitted to one": {"synthesizer": fit_trees(PEOPLE)},
        "n_releases is 19; it must be 20 or more": {"n_releases": 19},
        r"prior is 1.0; it must lie in \(0, 1\)": {"prior": 1.0},
        "argument": {"synthesizer": PlugInMargins(np.array([2, 2, 2]))},
        r"Wide.release returns shape \(20, 4\)": {"synthesizer": Wide()},
    },
)


def test_the_audit_of_the_guide_finds_an_order_that_counts_of_cells_do_not():
    guide = blocks(ROOT / "docs/guide/python.md", "python")
    by_cells, by_order = [code for code in guide if "leakage_bound" in code]
    rng = default_rng(11)
    codes = rng.integers(0, 3, (40, 3))
    codes[7, 2] = 0
    original = Microdata(codes.astype(np.uint8), schema(3, 3, 3))

    class Sample:
        def __init__(self, data):
            self.is_sorted = data[7, 2] == 0

        def sample(self, n, seed):
            released = default_rng(seed).integers(0, 3, (n, 3))
            if self.is_sorted:
                return released[released[:, 0].argsort()]
            return released

    names: dict[str, Any] = {
        "np": np,
        "srlib": srlib,
        "rng": rng,
        "original": original,
        "fitted_to": Sample,
    }
    exec(by_cells, names)
    assert names["found"].probability == 0.5
    exec(by_order, names)
    assert names["found"].probability > 0.9
