"""Acceptable regions of the plane of R and RR, against grids and closed forms."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusals
from scipy.special import expit, logit
from whole_tables import probabilities

from srlib.mechanism import Mechanism, bernoulli_plugin, exact_epsilon, private_plugin
from srlib.mechanism.acceptance import (
    Rule,
    acceptable_releases,
    largest_epsilon,
    read_rules,
    redraw,
    release_first_acceptable,
    risk_curves,
    unacceptable,
    unacceptable_priors,
    unacceptable_share,
    violates_rules,
)
from srlib.mechanism.budget import epsilon_for_risk

PAPER = (
    Rule(10, r_at_most=0.1),
    Rule(1.05, r_at_least=0.9),
)
TABLE = bernoulli_plugin(6, 6, alpha=1.0)
UNEQUAL = Mechanism.from_table(
    np.log([[0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]),
    [(0, 1)],
)


@st.composite
def any_rule(draw):
    pair = st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True)
    low, high = sorted(draw(pair))
    rr_at_most = draw(st.floats(0.2, 8))
    return Rule(rr_at_most, low / 100, high / 100)


def in_intervals(prior, intervals):
    inside = np.zeros(prior.shape, dtype=bool)
    for low, high in intervals:
        assert low < high
        inside |= (low <= prior) & (prior <= high)
    return inside


def is_near_limit(risk, relative, rules):
    """Whether rounding decides if a point violates a rule."""
    distances = []
    for rule in rules:
        distances += [
            relative - rule.rr_at_most,
            risk - rule.r_at_least,
            risk - rule.r_at_most,
        ]
    return np.abs(distances).min(axis=0) < 1e-9


@example([Rule(0.6, r_at_most=0.5)], -0.7)  # the line rises
@given(
    st.lists(any_rule(), min_size=1, max_size=3),
    st.floats(1e-3, 4) | st.floats(-4, -1e-3) | st.just(0.0),
)
def test_intervals_of_priors_are_those_whose_points_violate_a_rule(rules, log_ratio):
    prior = np.linspace(0, 1, 4_001)[1:-1]
    risk = expit(logit(prior) + log_ratio)
    relative = risk / prior
    is_clear = ~is_near_limit(risk, relative, rules)

    intervals = unacceptable_priors(log_ratio, rules)

    is_inside = in_intervals(prior, intervals)
    is_violated = violates_rules(risk, relative, rules)
    assert_array_equal(is_inside[is_clear], is_violated[is_clear])
    assert unacceptable(log_ratio, rules) == bool(intervals)


def test_the_papers_rules_by_hand():
    """RR = R + L (1 - R): at L = 12 it is above 10 to R = 2/11, 1.05 to 10.95/11."""
    risks = np.array([0.0, 0.1, 0.9, 10.95 / 11])
    priors = risks / (risks + 12 * (1 - risks))

    intervals = unacceptable_priors(np.log(12), PAPER)

    assert_allclose(np.ravel(intervals), priors, atol=1e-12)
    assert unacceptable_priors(np.log(1.2), PAPER) == []
    # L = 1.5 is the most that RR <= 1.05 from R = .9 on allows: .9 + .1 L = 1.05.
    log_ratios = np.log([1.499, 1.501])
    assert unacceptable(log_ratios, PAPER).tolist() == [False, True]


def test_a_limit_that_is_met_exactly_is_kept():
    rules = [Rule(1)]
    assert unacceptable_priors(0.0, rules) == []
    assert not unacceptable(0.0, rules)
    assert not violates_rules(0.5, 1.0, rules)


def test_overlapping_intervals_are_joined():
    rules = [Rule(2, 0.0, 0.5), Rule(2, 0.4, 0.8)]
    assert len(unacceptable_priors(np.log(50), rules)) == 1


def test_extreme_ratios_do_not_overflow():
    rules = [Rule(2)]
    assert_allclose(unacceptable_priors(800.0, rules), [(0.0, 0.5)])
    assert unacceptable(800.0, rules)
    assert not unacceptable(-800.0, rules)


CALIBRATED = partial(private_plugin, n=40, n_s=40)


def has_unacceptable_release(epsilon):
    mechanism = CALIBRATED(epsilon)
    log_ratios = mechanism.row(1) - mechanism.row(0)
    return any(unacceptable_priors(a, PAPER) for a in log_ratios)


def test_largest_epsilon_is_the_last_without_an_unacceptable_release():
    best = largest_epsilon(CALIBRATED, 1, 0, PAPER, 1e-3, 100.0)

    assert not has_unacceptable_release(best)
    assert has_unacceptable_release(best * (1 + 1e-6))
    # Next to no ones the plug-in attains its epsilon, and L = 1.5 is the most that is
    # allowed.
    assert_allclose(best, np.log(1.5), rtol=1e-6)
    assert largest_epsilon(CALIBRATED, 1, 0, PAPER, 50.0, 100.0) == 0


def test_rules_are_read():
    first = {"rr_at_most": 10, "r_at_most": 0.1}
    second = {"rr_at_most": 1.05, "r_at_least": 0.9}
    assert read_rules([first, second]) == PAPER


@pytest.mark.parametrize("log_ratio", [0.0, 1e-9, 1.3, -3.0])
def test_lines_run_over_all_priors_at_even_distances(log_ratio):
    points = risk_curves({"a": log_ratio}, [Rule(1e9)])

    risk = points["risk"].to_numpy()
    relative = points["relative_risk"].to_numpy()
    expected = risk + np.exp(log_ratio) * (1 - risk)
    assert (np.diff(risk) > 0).all()
    assert_allclose(risk[[0, -1]], [0, 1])
    assert_allclose(relative, expected, atol=1e-12)
    if abs(log_ratio) > 1:
        steps = np.diff(np.log(relative))
        assert_allclose(steps, steps[0])


def test_unacceptable_segments_lie_in_the_unacceptable_region():
    table = risk_curves({"a": 0.1, "b": 3.0}, PAPER)

    segments_of_a = table.loc[table["curve"] == "a", "segment"]
    assert segments_of_a.unique().tolist() == [0]
    is_unacceptable = table["segment"] > 0
    for _, segment in table[is_unacceptable].groupby(["curve", "segment"]):
        inside = segment.iloc[1:-1]
        higher = inside["relative_risk"] * (1 + 1e-12)
        assert violates_rules(inside["risk"], higher, PAPER).all()


# RR = L / (1 + w (L - 1)) is above two for some prior w if L > 2, never for one half,
# and for a tenth from L = 2.25 on. Within two errors 1.9 might be above two, 4.0 below.
@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (None, {"unacceptable": 0.5, "undecided": 0.5}),
        (0.5, {"unacceptable": 0, "undecided": 0}),
        (0.1, {"unacceptable": 0.25, "undecided": 0.5}),
    ],
)
def test_share_of_unacceptable_records_and_how_sure_it_is(prior, expected):
    log_ratio = np.log([1.0, 1.9, 2.1, 4.0])
    mcse = np.array([0.01, 0.1, 0.01, 0.4])
    priors = None if prior is None else np.full(4, prior)

    share = unacceptable_share(log_ratio, mcse, [Rule(2)], priors)

    assert share == expected


def test_the_corner_of_each_rule_binds():
    rules = [*PAPER, Rule(2, 0.2, 0.9)]
    largest = epsilon_for_risk(rules, neighbors="replace")
    assert_allclose(largest, np.log(1.5))
    assert not unacceptable(largest - 1e-9, rules)
    assert unacceptable(largest + 1e-9, rules)


MECHANISMS = [
    private_plugin(6.0, 4, 3),
    private_plugin(1.0, 4, 3),
]


def test_the_first_mechanism_is_published_where_everything_is_acceptable():
    published = release_first_acceptable(MECHANISMS, [Rule(1e9)])
    p = probabilities(published)
    assert_allclose(p[:, :4], probabilities(MECHANISMS[0]))
    assert_allclose(p[:, 4:], 0, atol=1e-12)


def test_nothing_is_published_where_nothing_is_acceptable():
    published = release_first_acceptable(MECHANISMS, [Rule(1.0)])
    assert_allclose(probabilities(published)[2, -1], 1)
    assert published.outputs[0] == (0, 0)
    assert published.outputs[-1] is None


def test_drawing_again_is_the_mechanism_given_acceptance():
    """And so is the first acceptable one of two draws."""
    rules = [Rule(2.5)]
    is_acceptable = acceptable_releases(TABLE, rules)

    redrawn = redraw(TABLE, is_acceptable)
    twice = release_first_acceptable([TABLE, TABLE], rules)

    p = probabilities(redrawn)
    accepted = probabilities(TABLE) * is_acceptable
    assert_allclose(p[:, :-1], accepted / accepted.sum(axis=1, keepdims=True))
    assert not p[:, -1].any()
    # Acceptance sets of neighbors differ, and so no epsilon is finite.
    assert exact_epsilon(TABLE).value < np.inf
    assert exact_epsilon(redrawn).value == exact_epsilon(twice).value == np.inf
    first, second, _ = np.split(probabilities(twice), [7, 14], axis=1)
    either = first + second
    assert_allclose(either / either.sum(axis=1, keepdims=True), p[:, :7])


def test_drawing_again_can_raise_a_finite_epsilon():
    is_acceptable = [[False, True, True]] * 2
    raised = redraw(UNEQUAL, is_acceptable)
    expected = np.log(0.4 / 0.7 / 0.2)
    assert_allclose(exact_epsilon(raised).value, expected)


def test_nothing_is_redrawn_where_nothing_is_acceptable():
    is_acceptable = [[True] * 3, [False] * 3]
    redrawn = redraw(UNEQUAL, is_acceptable)
    assert_array_equal(probabilities(redrawn)[1], [0, 0, 0, 1])


test_bad_input = refusals(
    {
        "must have rr_at_most": lambda: read_rules([{"r_at_most": 0.1}]),
        "one rule or more": lambda: read_rules([]),
        "entries rr_at_most, R": lambda: read_rules([{"rr_at_most": 2, "R": 1}]),
        "they must satisfy 0 <= r_at_least": lambda: Rule(2, 0.5, 0.5),
        "rr_at_most is 0": lambda: Rule(0),
        r"shape \(2, 2\); .* \(2, 3\)": lambda: redraw(UNEQUAL, np.ones((2, 2))),
        "the same rows and neighbors": lambda: release_first_acceptable(
            [UNEQUAL, TABLE], []
        ),
        "prior is": lambda: unacceptable_share([1], [0.1], PAPER, [0.0]),
    }
)
