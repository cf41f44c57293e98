"""Epsilon from risks and risks from epsilon, against tables and grids."""

import doctest
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from refusals import refusals
from scipy.optimize import linprog
from toy import ROOT

from srlib import epsilon_for_risk, risk_at
from srlib.mechanism import (
    Mechanism,
    delta,
    exact_epsilon,
    private_plugin,
)
from srlib.mechanism.acceptance import Rule, largest_epsilon, violates_rules
from srlib.mechanism.budget import NEIGHBORS, RiskLimit

VALUE, OTHER, ABSENT = range(3)  # rows of a table: what holds of the person
# Neighbors differ in one replaced record, or in one that is added or removed.
PAIRS = {
    "replace": [(VALUE, OTHER), (VALUE, ABSENT), (OTHER, ABSENT)],
    "add or remove": [(VALUE, ABSENT), (OTHER, ABSENT)],
}
PAPER: list[Any] = [
    {"rr_at_most": 10, "r_at_most": 0.1},
    {"rr_at_most": 1.05, "r_at_least": 0.9},
]
probability = st.floats(0.001, 0.999)
given_settings = partial(
    given, neighbors=st.sampled_from([*NEIGHBORS]), membership=probability
)
each_neighbors = pytest.mark.parametrize("neighbors", NEIGHBORS)


def randomized_response(epsilon, neighbors):
    """The mechanism with two outputs whose ratios are as large as epsilon allows."""
    x = np.exp(-epsilon)
    if neighbors == "replace":
        first = [1 / (1 + x), x / (1 + x), x / (1 + x)]
    else:
        first = [1 / (1 + x), x**2 / (1 + x), x / (1 + x)]
    table = np.stack([first, 1 - np.array(first)], axis=1)
    return Mechanism.from_table(np.log(table), PAIRS[neighbors])


def prior_of(prior, membership):
    """Prior probabilities of the rows."""
    return np.array([membership * prior, membership * (1 - prior), 1 - membership])


def posterior(table, prior):
    """Probability of the first row given each output, (n_outputs,)."""
    joint = prior[:, None] * table
    return joint[0] / joint.sum(axis=0)


@each_neighbors
@pytest.mark.parametrize("membership", [1.0, 0.6, 0.01])
def test_randomized_response_attains_the_limit(neighbors, membership):
    mechanism = randomized_response(1.3, neighbors)
    prior = prior_of(0.2, membership)
    table = np.exp(mechanism.block(np.arange(3), np.arange(2)))

    row = risk_at(1.3, 0.2, neighbors=neighbors, membership=membership).iloc[0]

    assert exact_epsilon(mechanism).value == pytest.approx(1.3)
    assert row["risk"] == pytest.approx(posterior(table, prior).max())
    assert row["relative_risk"] == pytest.approx(row["risk"] / prior[0])
    assert row["tail"] == 0


def best_power(first, others, rate):
    """Power of the most powerful test of the first row against the others."""
    found = linprog(-first, A_eq=[others], b_eq=[rate], bounds=(0, 1))
    return -found.fun


@each_neighbors
def test_no_mechanism_discloses_more_than_its_epsilon_allows(neighbors):
    rng = default_rng(3)
    pairs = PAIRS[neighbors]
    for _ in range(100):
        table = rng.dirichlet(np.full(4, rng.uniform(0.5, 20)), size=3)
        mechanism = Mechanism.from_table(np.log(table), pairs)
        membership = rng.choice([1.0, rng.random()])
        q = rng.random()
        prior = prior_of(q, membership)
        others = prior[1:] @ table[1:] / prior[1:].sum()
        known = {"neighbors": neighbors, "membership": membership}

        epsilon = exact_epsilon(mechanism).value
        for e in (epsilon, rng.uniform(0.2, 1) * epsilon):
            excess = delta(mechanism, e) if e < epsilon else 0.0
            row = risk_at(e, q, **known, delta=excess, false_positive_rate=0.1).iloc[0]
            is_above = posterior(table, prior) > row["risk"] + 1e-12
            assert table[0][is_above].sum() <= row["tail"]
            assert best_power(table[0], others, 0.1) <= row["power"] + 1e-9
            assert np.abs(table[0] - others).sum() / 2 <= row["advantage"] + 1e-12


@given_settings(prior=probability, epsilon=st.floats(0.01, 5))
def test_a_limit_at_the_risk_of_an_epsilon_gives_that_epsilon(prior, epsilon, **known):
    risk = risk_at(epsilon, prior, **known)["risk"].item()
    found = epsilon_for_risk([RiskLimit(risk, prior)], **known)
    assert found == pytest.approx(epsilon, rel=1e-6)


def most_disclosed(epsilon, **known):
    """Points (R, RR) with the largest R for many priors of the value."""
    prior = np.concatenate([np.geomspace(1e-9, 0.5, 200), np.linspace(0.5, 1, 200)])
    points = risk_at(epsilon, prior[:-1], **known)
    return points["risk"].to_numpy(), points["relative_risk"].to_numpy()


@settings(max_examples=40)
@example(limit=1.5, least=0.9, neighbors="replace", membership=0.3)
@given_settings(limit=st.floats(1.05, 20), least=st.floats(0, 0.95))
def test_a_rule_is_kept_up_to_its_epsilon_and_not_beyond(limit, least, **known):
    rule = Rule(limit, r_at_least=least)
    try:
        epsilon = epsilon_for_risk([rule], **known)
    except ValueError:
        epsilon = 0.0
    if epsilon:
        risk, relative_risk = most_disclosed(0.99 * epsilon, **known)
        assert not violates_rules(risk, relative_risk, [rule]).any()
    risk, relative_risk = most_disclosed(1.1 * epsilon + 0.01, **known)
    assert violates_rules(risk, relative_risk, [rule]).any()


@given_settings(risk=st.floats(0.1, 0.9), share=st.floats(0.02, 0.5))
def test_a_lower_limit_has_a_smaller_epsilon(risk, share, **known):
    prior = share * risk
    limits = [RiskLimit(0.9 * risk, prior), RiskLimit(risk, prior)]
    lower = epsilon_for_risk(limits[:1], **known)
    assert lower < epsilon_for_risk(limits[1:], **known)
    assert lower == epsilon_for_risk(limits, **known)


def test_the_papers_region_has_the_epsilon_of_its_tightest_corner():
    epsilon = epsilon_for_risk(PAPER, neighbors="replace")
    assert epsilon == pytest.approx(np.log(1.5))


def test_the_formula_of_kazan_and_reiter():
    """Their theorem, for one pair of priors and a limit of the relative risk."""
    p, q, ratio = 0.3, 0.05, 4.0
    root = np.sqrt((1 - p) ** 2 + 4 * p * (1 - q) * (1 / ratio - p * q))
    expected = np.log(2 * p * (1 - q) / (root - (1 - p)))
    limit = {"risk_at_most": ratio * p * q, "prior_at_most": q}
    found = epsilon_for_risk([limit], neighbors="add or remove", membership=p)
    assert found == pytest.approx(expected)


def test_a_function_of_the_prior_is_the_limit_that_it_describes():
    by_function = epsilon_for_risk(
        lambda prior: np.minimum(5 * prior, 1), neighbors="replace"
    )
    assert by_function == pytest.approx(np.log(5), rel=1e-7)
    by_step = epsilon_for_risk(
        lambda prior: np.where(prior <= 0.05, 0.1, 1.0), neighbors="replace"
    )
    limit = {"risk_at_most": 0.1, "prior_at_most": 0.05}
    assert by_step == epsilon_for_risk([limit], neighbors="replace")


@pytest.mark.parametrize("x", [1, 3, 10])
def test_no_table_needs_a_smaller_epsilon(x):
    family = partial(private_plugin, n=20, n_s=20)
    rules = [Rule(**rule) for rule in PAPER]
    of_table = largest_epsilon(family, x, x - 1, rules, 0.01, 20.0)
    assert of_table >= epsilon_for_risk(PAPER, neighbors="replace") - 1e-9


def test_advantage_and_power_of_two_steps_by_their_formulas():
    two_steps = 0.01 * (1 + np.exp(0.5))  # delta
    row = risk_at(0.5, 0.3, neighbors="add or remove", delta=0.01).iloc[0]
    assert row["power"] == pytest.approx(np.exp(1) * 0.01 + two_steps)
    advantage = (np.exp(1) - 1 + 2 * two_steps) / (np.exp(1) + 1)
    assert row["advantage"] == pytest.approx(advantage)
    assert row["tail"] == pytest.approx(2 * two_steps)


def test_the_power_against_two_alternatives_by_its_formula():
    row = risk_at(
        1,
        0.5,
        neighbors="add or remove",
        membership=0.5,
        false_positive_rate=0.9,
    ).iloc[0]
    mean_ratio = (np.exp(2) + 2 * np.exp(1)) / 3  # of another value, and of absence
    assert row["power"] == pytest.approx(1 - 0.1 / mean_ratio)


def test_an_epsilon_without_limit_discloses_everything():
    rows = risk_at([1e-9, 1e3], 0.3, neighbors="add or remove", membership=0.5)
    assert rows["risk"].tolist() == pytest.approx([0.15, 1])
    assert rows["power"].tolist() == pytest.approx([0.01, 1])
    assert rows["advantage"].tolist() == pytest.approx([0, 1], abs=1e-8)


def test_the_guide_shows_what_it_computes():
    page = ROOT / "docs/guide/epsilon.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0


REPLACE: Any = partial(epsilon_for_risk, neighbors="replace")
test_bad_input = refusals(
    {
        "no epsilon keeps .*risk_at_most=0.04, prior_at_most=0.05.*raise the limit": (
            lambda: REPLACE([RiskLimit(0.04, 0.05)])
        ),
        "no epsilon keeps .*rr_at_most=1,": lambda: REPLACE([{"rr_at_most": 1}]),
        "no epsilon keeps .*risk_at_most=0.1, prior_at_most=0.9999": (
            lambda: REPLACE(lambda prior: 0.1)
        ),
        "every epsilon keeps the limits": lambda: REPLACE([RiskLimit(1, 0.5)]),
        "limits is empty": lambda: REPLACE([]),
        "a limit is 'rr_at_most'; it must be a mapping": (
            lambda: REPLACE({"rr_at_most": 5})
        ),
        "risk_at_most, r_at_least; beside risk_at_most it must have prior": (
            lambda: REPLACE([{"risk_at_most": 0.1, "r_at_least": 0.1}])
        ),
        "risk_at_most is 2": lambda: RiskLimit(2, 0.5),
        "prior_at_most is 1": lambda: RiskLimit(0.5, 1),
        r"priors is 0.0; it must lie in": lambda: REPLACE(
            lambda prior: 0.1, priors=[0.0]
        ),
        "neighbors is 'add'; it must be 'replace' or": (
            lambda: risk_at(1, 0.1, neighbors="add")
        ),
        r"membership is 0; it must lie in \(0, 1\]": (
            lambda: risk_at(1, 0.1, neighbors="replace", membership=0)
        ),
        "epsilon is 0": lambda: risk_at(0, 0.1, neighbors="replace"),
        "prior is 1": lambda: risk_at(1, 1, neighbors="replace"),
        "delta is 1; it must be 0 or more": (
            lambda: risk_at(1, 0.1, neighbors="replace", delta=1)
        ),
    }
)
