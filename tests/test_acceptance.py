"""Acceptable regions of the plane of R and RR, against grids and closed forms."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from srlib.mechanism import Mechanism, exact_epsilon, private_plugin
from srlib.mechanism.acceptance import (
    Rule,
    acceptable_releases,
    largest_epsilon,
    largest_log_ratio,
    read_rules,
    redraw,
    release_first_acceptable,
    risk_curves,
    unacceptable,
    unacceptable_priors,
    unacceptable_share,
    violates_rules,
)
from srlib.mechanism.families import bernoulli_plugin, bernoulli_plugin_alpha

PAPER = (Rule(10, r_at_most=0.1), Rule(1.05, r_at_least=0.9))
UNEQUAL = Mechanism.from_table(np.log([[0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]), [(0, 1)])


@st.composite
def any_rules(draw: st.DrawFn) -> list[Rule]:
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        ends = sorted(
            draw(st.lists(st.integers(0, 100), min_size=2, max_size=2, unique=True))
        )
        rules.append(Rule(draw(st.floats(0.2, 8)), ends[0] / 100, ends[1] / 100))
    return rules


def in_intervals(prior: np.ndarray, intervals: list[tuple[float, float]]) -> np.ndarray:
    inside = np.zeros(prior.shape, dtype=bool)
    for low, high in intervals:
        assert low < high
        inside |= (low <= prior) & (prior <= high)
    return inside


@example([Rule(0.6, r_at_most=0.5)], -0.7)  # the line rises
@given(any_rules(), st.floats(1e-3, 4) | st.floats(-4, -1e-3) | st.just(0.0))
def test_intervals_of_priors_are_those_whose_points_violate_a_rule(
    rules: list[Rule], log_ratio: float
) -> None:
    prior = np.linspace(0, 1, 4_001)[1:-1]
    risk = expit(logit(prior) + log_ratio)
    relative = risk / prior
    is_near = np.zeros(len(prior), dtype=bool)
    for rule in rules:
        is_near |= np.abs(relative - rule.rr_at_most) < 1e-9
        is_near |= np.abs(risk - rule.r_at_least) < 1e-9
        is_near |= np.abs(risk - rule.r_at_most) < 1e-9

    intervals = unacceptable_priors(log_ratio, rules)

    is_violated = violates_rules(risk, relative, rules)
    assert (in_intervals(prior, intervals) == is_violated)[~is_near].all()
    assert unacceptable(log_ratio, rules) == bool(intervals)


def test_the_papers_rules_by_hand() -> None:
    """RR = R + L (1 - R): at L = 12 it is above 10 to R = 2/11, 1.05 to 10.95/11."""
    intervals = unacceptable_priors(np.log(12), PAPER)
    prior_of = [risk / (risk + 12 * (1 - risk)) for risk in (0.0, 0.1, 0.9, 10.95 / 11)]
    assert_allclose(np.ravel(intervals), prior_of, atol=1e-12)
    assert unacceptable_priors(np.log(1.2), PAPER) == []
    # A limit that is met exactly is kept.
    assert unacceptable_priors(0.0, [Rule(1)]) == []
    assert not unacceptable(0.0, [Rule(1)])
    assert not violates_rules(0.5, 1.0, [Rule(1)])
    # L = 1.5 is the most that RR <= 1.05 from R = .9 on allows: .9 + .1 L = 1.05.
    assert unacceptable(np.log([1.499, 1.501]), PAPER).tolist() == [False, True]


def test_overlapping_intervals_are_joined_and_extremes_are_safe() -> None:
    rules = [Rule(2, 0.0, 0.5), Rule(2, 0.4, 0.8)]
    assert len(unacceptable_priors(np.log(50), rules)) == 1
    ((low, high),) = unacceptable_priors(800.0, [Rule(2)])
    assert (low, high) == (0.0, pytest.approx(0.5))
    assert unacceptable(800.0, [Rule(2)])
    assert not unacceptable(-800.0, [Rule(2)])


def test_largest_epsilon_is_the_last_without_an_unacceptable_release() -> None:
    n = 40

    def family(epsilon: float) -> Mechanism:
        return bernoulli_plugin(n, n, bernoulli_plugin_alpha(epsilon, n))

    def unacceptable(epsilon: float) -> bool:
        log_ratios = family(epsilon).row(1) - family(epsilon).row(0)
        return any(unacceptable_priors(a, PAPER) for a in log_ratios)

    best = largest_epsilon(family, 1, 0, PAPER, 1e-3, 100.0)
    assert not unacceptable(best)
    assert unacceptable(best * (1 + 1e-6))
    # Next to no ones the plug-in attains its epsilon, and L = 1.5 is the most that is
    # allowed.
    assert best == pytest.approx(np.log(1.5), rel=1e-6)
    assert largest_epsilon(family, 1, 0, PAPER, 50.0, 100.0) == 0


def test_rules_are_read() -> None:
    first = {"rr_at_most": 10, "r_at_most": 0.1}
    second = {"rr_at_most": 1.05, "r_at_least": 0.9}
    assert read_rules([first, second]) == PAPER


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read_rules([{"r_at_most": 0.1}]), "must have rr_at_most"),
        (lambda: read_rules([]), "one rule or more"),
        (lambda: read_rules([{"rr_at_most": 2, "R": 1}]), "entries rr_at_most, R"),
        (lambda: Rule(2, 0.5, 0.5), "they must satisfy 0 <= r_at_least"),
        (lambda: Rule(0), "rr_at_most is 0"),
        (lambda: redraw(UNEQUAL, [[1, 1], [1, 1]]), r"shape \(2, 2\); .* \(2, 3\)"),
        (
            lambda: release_first_acceptable([UNEQUAL, private_plugin(1, 5, 3)], []),
            "the same rows and neighbors",
        ),
        (lambda: unacceptable_share([1], [0.1], PAPER, [0.0]), "prior is"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_lines_run_over_all_priors_at_even_distances() -> None:
    for log_ratio in (0.0, 1e-9, 1.3, -3.0):
        points = risk_curves({"a": log_ratio}, [Rule(1e9)])
        risk, relative = points["risk"].to_numpy(), points["relative_risk"].to_numpy()
        assert (np.diff(risk) > 0).all()
        assert_allclose(risk[[0, -1]], [0, 1])
        assert_allclose(relative, risk + np.exp(log_ratio) * (1 - risk), atol=1e-12)
        if abs(log_ratio) > 1:
            steps = np.diff(np.log(relative))
            assert_allclose(steps, steps[0])


def test_unacceptable_segments_lie_in_the_unacceptable_region() -> None:
    table = risk_curves({"a": 0.1, "b": 3.0}, PAPER)

    assert table[table["curve"] == "a"]["segment"].unique().tolist() == [0]
    for _, segment in table[table["segment"] > 0].groupby(["curve", "segment"]):
        inside = segment.iloc[1:-1]
        higher = inside["relative_risk"] * (1 + 1e-12)
        assert violates_rules(inside["risk"], higher, PAPER).all()


def test_share_of_records_outside_and_how_sure_it_is() -> None:
    """RR is at most 2: some prior violates it if L > 2, a prior of one half never."""
    rules = [Rule(2)]
    log_ratio = np.log([1.0, 1.9, 2.1, 4.0])
    mcse = np.array([0.01, 0.1, 0.01, 0.4])
    # 1.9 might be above two, 4.0 below.
    any_prior = unacceptable_share(log_ratio, mcse, rules)
    assert any_prior == {"unacceptable": 0.5, "undecided": 0.5}
    at_half = unacceptable_share(log_ratio, mcse, rules, np.full(4, 0.5))
    assert at_half == {"unacceptable": 0, "undecided": 0}
    # RR = L / (1 + w (L - 1)) > 2 at w = 0.1 from L = 2.25 on.
    at_tenth = unacceptable_share(log_ratio, mcse, rules, np.full(4, 0.1))
    assert at_tenth == {"unacceptable": 0.25, "undecided": 0.5}


def test_the_corner_of_each_rule_binds() -> None:
    rules = [Rule(10, 0.0, 0.1), Rule(2, 0.2, 0.9), Rule(1.05, 0.9, 1.0)]
    most = largest_log_ratio(rules)
    assert most == pytest.approx(np.log(1.5))
    assert not unacceptable(most - 1e-9, rules)
    assert unacceptable(most + 1e-9, rules)
    assert largest_log_ratio([Rule(0.5, 0.6, 1.0)]) == -np.inf


def test_the_first_acceptable_release_is_published() -> None:
    tables = [private_plugin(e, 4, 3) for e in (6.0, 1.0)]
    # Where everything is acceptable the first mechanism is published as it is.
    free = release_first_acceptable(tables, [Rule(1e9)])
    for x in range(5):
        assert_allclose(np.exp(free.row(x)[:4]), np.exp(tables[0].row(x)))
        assert np.exp(free.row(x)[4:]).sum() == pytest.approx(0)
    strict = release_first_acceptable(tables, [Rule(1.0)], ["loose", "tight"])
    assert np.exp(strict.row(2)[-1]) == pytest.approx(1)
    assert strict.outputs[0] == ("loose", 0)
    assert strict.outputs[-1] is None
    # A sure test makes outputs impossible: no epsilon is finite.
    some = release_first_acceptable(tables, [Rule(2.0)])
    assert np.isinf(exact_epsilon(some).value)


def test_drawing_again_is_the_mechanism_given_acceptance() -> None:
    table = bernoulli_plugin(6, 6, alpha=1.0)
    rules = [Rule(rr_at_most=2.5)]
    is_acceptable = acceptable_releases(table, rules)
    accepted = np.exp(table.block(np.arange(7), np.arange(7))) * is_acceptable

    redrawn = redraw(table, is_acceptable)

    p = np.exp(redrawn.block(np.arange(7), np.arange(8)))
    assert_allclose(p[:, :-1], accepted / accepted.sum(axis=1, keepdims=True))
    assert not p[:, -1].any()
    # Acceptance sets of neighbors differ, and so no epsilon is finite.
    assert exact_epsilon(table).value < np.inf
    assert exact_epsilon(redrawn).value == np.inf


def test_the_first_acceptable_draw_of_two_from_one_table_is_a_redraw() -> None:
    table = bernoulli_plugin(6, 6, alpha=1.0)
    rules = [Rule(rr_at_most=2.5)]
    twice = release_first_acceptable([table, table], rules)
    redrawn = redraw(table, acceptable_releases(table, rules))
    for x in range(7):
        either = np.exp(twice.row(x)[:14]).reshape(2, 7).sum(axis=0)
        assert_allclose(either / either.sum(), np.exp(redrawn.row(x)[:7]))


def test_drawing_again_can_raise_a_finite_epsilon() -> None:
    raised = redraw(UNEQUAL, [[False, True, True], [False, True, True]])
    assert exact_epsilon(raised).value == pytest.approx(np.log(0.4 / 0.7 / 0.2))


def test_nothing_is_released_where_nothing_is_acceptable() -> None:
    redrawn = redraw(UNEQUAL, [[True, True, True], [False, False, False]])
    assert redrawn.row(1).tolist() == [-np.inf, -np.inf, -np.inf, 0.0]
