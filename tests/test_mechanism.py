"""The table and its readings: enumeration, closed forms, high precision."""

import tracemalloc
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from refusals import refusals
from scipy.stats import chisquare
from whole_tables import assert_spent, probabilities

from srlib.arrays import log_or_minus_inf as log
from srlib.mechanism import (
    Mechanism,
    bernoulli_plugin,
    bernoulli_plugin_alpha,
    beta_binomial,
    calibrate,
    compositions,
    conditional_epsilon,
    count_neighbors,
    delta,
    dirichlet_multinomial,
    dirichlet_multinomial_alpha,
    exact_epsilon,
    posterior_bound,
    privacy,
    risk,
    sample,
    table_neighbors,
)

SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 12)
ALPHAS = st.floats(0.05, 20)


@st.composite
def random_tables(draw):
    """Probabilities, rows that sum to one, some of them zero."""
    n_inputs = draw(st.integers(2, 4))
    n_outputs = draw(st.integers(1, 6))
    seed = draw(SEEDS)
    rng = default_rng(seed)
    p = rng.dirichlet(np.full(n_outputs, 0.7), n_inputs)
    if draw(st.booleans()):
        is_zero = rng.random(p.shape) < 0.3
        p[is_zero] = 0
        p[:, 0] += 1e-9
    return p / p.sum(axis=1, keepdims=True)


def from_probability(p):
    """A mechanism in which each row is the neighbor of the next."""
    return Mechanism.from_table(log(p), count_neighbors(len(p) - 1))


ONE_SIDED = from_probability([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])


# ----------------------------------------------------------------------- by enumeration


@given(random_tables(), SEEDS)
def test_readings_against_enumeration(p, seed):
    """In any order of the data sets."""
    rows = default_rng(seed).permutation(len(p))
    pairs = np.argsort(rows)[count_neighbors(len(p) - 1)]
    mechanism = Mechanism.from_table(log(p[rows]), pairs)
    with np.errstate(invalid="ignore"):
        losses = np.abs(np.diff(log(p), axis=0))
    by_pair = np.nanmax(losses, axis=1)  # NaN if impossible given both
    by_row = np.maximum([0, *by_pair], [*by_pair, 0])

    epsilon = exact_epsilon(mechanism)

    assert_allclose(epsilon.value, by_pair.max())
    first, second = epsilon.pair
    log_prob = log(p[rows, epsilon.output])
    assert_allclose(log_prob[first] - log_prob[second], epsilon.value)
    assert_allclose(conditional_epsilon(mechanism), by_row[rows])


@given(random_tables(), st.sampled_from([0.0, 0.3, 2.0]))
def test_delta_is_the_largest_excess_over_all_sets_of_outputs(p, epsilon):
    n_outputs = p.shape[1]
    subsets = list(product([0, 1], repeat=n_outputs))
    probability = p @ np.transpose(subsets)  # (n_inputs, n_subsets)
    factor = np.exp(epsilon)
    forward = probability[1:] - factor * probability[:-1]
    backward = probability[:-1] - factor * probability[1:]
    expected = max(forward.max(), backward.max())

    excess = delta(from_probability(p), epsilon)

    assert excess == pytest.approx(expected, abs=1e-12)


def test_randomized_response_by_hand():
    """With probability 3/4 of the truth epsilon is log 3."""
    p = [
        [0.75, 0.25],
        [0.25, 0.75],
    ]
    answers = ["says no", "says yes"]
    table = Mechanism.from_table(np.log(p), PAIR, ["no", "yes"], answers)

    epsilon = exact_epsilon(table)

    assert_allclose(epsilon.value, np.log(3))
    assert epsilon.pair == ("no", "yes")
    assert epsilon.output == "says no"
    assert "says no" in str(epsilon)
    assert_allclose(delta(table, 0.0), 0.5)
    assert_allclose(delta(table, np.log(2)), 0.25)
    assert_allclose(delta(table, np.log(3)), 0, atol=1e-12)
    assert_allclose(risk(table, 1, 0, 0.25), [0.1, 0.5])
    assert_allclose(risk(table, 1, 0, 1.0), [1.0, 1.0])
    assert_allclose(posterior_bound(np.log(3), 0.25), 0.5)


def test_infinite_epsilon_says_why():
    epsilon = exact_epsilon(ONE_SIDED)
    assert epsilon.value == np.inf
    assert str(epsilon) == (
        "Exact epsilon is infinite: output 2 is possible given data set 1 and "
        "impossible given its neighbor 0."
    )


# --------------------------------------------------------------------------- invariants


@given(random_tables(), st.floats(0.001, 0.999))
def test_epsilon_bounds_the_posterior(p, prior):
    mechanism = from_probability(p)
    bound = posterior_bound(exact_epsilon(mechanism).value, prior)
    for true, other in ((0, 1), (1, 0)):
        risks = risk(mechanism, true, other, prior)
        possible_risks = risks[p[true] > 0]
        assert possible_risks.max() <= bound + 1e-9


def test_blocks_do_not_matter(monkeypatch):
    table = bernoulli_plugin(60, 50, 2.5, 1.5)
    epsilon = exact_epsilon(table)
    by_row = conditional_epsilon(table)
    excess = delta(table, 1.0)

    monkeypatch.setattr(privacy, "BLOCK_ENTRIES", 130)
    monkeypatch.setattr(privacy, "BLOCK_WIDTH", 7)

    assert exact_epsilon(table) == epsilon
    assert_allclose(conditional_epsilon(table), by_row, rtol=1e-12)
    assert_allclose(delta(table, 1.0), excess, rtol=1e-12)


def test_a_large_table_is_never_held():
    n = 20_000
    alpha = bernoulli_plugin_alpha(1, n)
    table = bernoulli_plugin(n, n, alpha)
    some_pairs = table.neighbors[::80]
    thinned = Mechanism(table.block, table.n_inputs, table.n_outputs, some_pairs)

    tracemalloc.start()
    epsilon = exact_epsilon(thinned)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert_allclose(epsilon.value, 1.0, rtol=1e-9)
    assert peak < 200e6


# ------------------------------------------------------------------------- synthesizers


def log_plugin_probability(n, alpha, x, y):
    """log p(y | x) of the plug-in binomial, in high precision."""
    alpha = mpmath.mpf(alpha)
    p = (x + alpha) / (n + 2 * alpha)
    coefficient = mpmath.binomial(n, y)
    return mpmath.log(coefficient * p**y * (1 - p) ** (n - y))


def log_predictive_probability(n, alpha, x, y):
    """log p(y | x) of the beta-binomial, in high precision."""
    alpha = mpmath.mpf(alpha)
    a = alpha + x
    b = alpha + n - x
    ratio = mpmath.beta(a + y, b + n - y) / mpmath.beta(a, b)
    coefficient = mpmath.binomial(n, y)
    return mpmath.log(coefficient * ratio)


PLUGIN = bernoulli_plugin, bernoulli_plugin_alpha, log_plugin_probability
PREDICTIVE = beta_binomial, dirichlet_multinomial_alpha, log_predictive_probability


@pytest.mark.parametrize(
    ("family", "calibrated_alpha", "log_probability", "epsilon"),
    [
        (*PLUGIN, 1000.0),
        (*PLUGIN, 2.0),
        (*PLUGIN, 0.01),
        (*PREDICTIVE, 100.0),
        (*PREDICTIVE, 2.0),
        (*PREDICTIVE, 0.01),
    ],
)
def test_hard_corners_in_high_precision(
    family, calibrated_alpha, log_probability, epsilon
):
    n = 1000
    alpha = calibrated_alpha(epsilon, n)
    table = family(n, n, alpha)

    with mpmath.workdps(60):
        corners = (0, 1, 500, n)
        for x, y in product(corners, corners):
            log_prob = table.row(x)[y]
            expected = float(log_probability(n, alpha, x, y))
            assert log_prob == pytest.approx(expected, rel=1e-11, abs=1e-10)
        given_one = log_probability(n, alpha, 1, n)
        given_none = log_probability(n, alpha, 0, n)
        loss = float(given_one - given_none)
    assert_allclose(loss, epsilon, rtol=1e-9)
    assert_allclose(exact_epsilon(table).value, loss, rtol=1e-9)


@settings(max_examples=30)
@given(SIZES, SIZES, ALPHAS, ALPHAS)
def test_closed_forms_are_the_exact_epsilon(n, n_s, alpha, beta):
    least = min(alpha, beta)
    plugin = bernoulli_plugin(n, n_s, alpha, beta)
    predictive = beta_binomial(n, n_s, alpha, beta)

    plugin_epsilon = n_s * np.log1p(1 / least)  # equation 9
    assert exact_epsilon(plugin).value == pytest.approx(plugin_epsilon)
    predictive_epsilon = np.log1p(n_s / least)
    assert exact_epsilon(predictive).value == pytest.approx(predictive_epsilon)
    for table in (plugin, predictive):
        assert_allclose(probabilities(table).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("n_cells", "n", "n_s"),
    [
        (2, 3, 4),
        (3, 2, 3),
        (4, 2, 2),
        (2, 5, 1),
    ],
)
def test_the_least_alpha_of_a_dirichlet_sets_its_epsilon(n_cells, n, n_s):
    """Charest (2013): epsilon if and only if alpha is at least n_s / (exp(eps) - 1)."""
    least = n_s / np.expm1(0.9)
    for factors in product((0.98, 1.0, 3.0), repeat=n_cells):
        alpha = least * np.array(factors)
        table = dirichlet_multinomial(n, n_s, alpha)
        expected = np.log1p(n_s / alpha.min())
        assert_allclose(exact_epsilon(table).value, expected)
        assert_allclose(probabilities(table).sum(axis=1), 1)


def test_a_dirichlet_of_two_cells_is_the_beta_binomial():
    cells = dirichlet_multinomial(5, 4, [0.7, 1.9])
    counts = beta_binomial(5, 4, 0.7, 1.9)
    # A table of two cells lists the count of the first one.
    assert_allclose(probabilities(cells), probabilities(counts))


@settings(max_examples=60)
@given(
    n=st.integers(1, 9),
    n_s=st.integers(1, 9),
    epsilon=st.floats(0.02, 20),
    power=st.sampled_from([1, -1]),
)
def test_a_calibrated_family_spends_the_budget_and_no_more(n, n_s, epsilon, power):
    """A family whose epsilon falls or rises with its parameter."""

    def family(parameter):
        return beta_binomial(n, n_s, parameter**power)

    calibrated = family(calibrate(family, epsilon, 1e-10, 1e10))

    assert_spent(calibrated, epsilon)


def test_neighbors_of_tables_differ_by_one_moved_record():
    tables = np.vstack([compositions(2, 3), compositions(3, 3)])
    sizes = tables.sum(axis=1)
    distances = np.abs(tables[:, None] - tables).sum(axis=2)
    is_neighbor = (distances == 2) & (sizes[:, None] == sizes)
    expected = np.argwhere(np.triu(is_neighbor))

    pairs = np.sort(table_neighbors(tables))

    assert sorted(pairs.tolist()) == expected.tolist()


def test_draws_have_the_probabilities_of_the_row_and_none_is_impossible(rng):
    draws = sample(ONE_SIDED, 1, 20_000, rng=rng)
    observed = np.bincount(draws)
    assert chisquare(observed, [4_000, 6_000, 10_000]).pvalue > 1e-5
    assert sample(ONE_SIDED, 0, 1_000, rng=rng).max() == 1


# ---------------------------------------------------------------------------- bad input

ROWS = np.log([[0.5, 0.5], [0.4, 0.6]])
PAIR = [[0, 1]]
TABLE = Mechanism.from_table(ROWS, PAIR)
family = partial(beta_binomial, 5, 7)
TOO_LITTLE = np.log([[0.5, 0.4], [0.5, 0.5]])
NOT_A_NUMBER = [[np.nan, 0.0], [0.0, 0.0]]


test_bad_input = refusals(
    {
        "row 0 .* sum to 0.9": lambda: Mechanism.from_table(TOO_LITTLE, PAIR),
        "row 0 .* sum to nan": lambda: Mechanism.from_table(NOT_A_NUMBER, PAIR),
        r"pair \[0, 2\].* in 0 to 1": lambda: Mechanism.from_table(ROWS, [[0, 2]]),
        "two different rows": lambda: Mechanism.from_table(ROWS, [[1, 1]]),
        "inputs has 1 names": lambda: Mechanism.from_table(ROWS, PAIR, ["a"]),
        "log_prob has shape": lambda: Mechanism.from_table(ROWS[0], PAIR),
        "no neighbors": lambda: exact_epsilon(Mechanism.from_table(ROWS, [])),
        "epsilon is -1": lambda: delta(TABLE, -1),
        "prior is 1.5": lambda: risk(TABLE, 0, 1, 1.5),
        "epsilon is -2": lambda: posterior_bound(-2.0, 0.5),
        "must lie between the exact eps": lambda: calibrate(family, 1.5, 10, 20),
        "^n is 0": lambda: count_neighbors(0),
        "n is 0": lambda: bernoulli_plugin(0, 5, 1.0),
        "n_s is 0": lambda: bernoulli_plugin(5, 0, 1.0),
        "alpha is 0": lambda: bernoulli_plugin(5, 5, 0.0),
        "beta is -2": lambda: beta_binomial(5, 5, 1.0, -2.0),
        "epsilon is -3": lambda: dirichlet_multinomial_alpha(-3.0, 5),
        "two or more positive": lambda: dirichlet_multinomial(5, 5, [1.0]),
        "are enumerated": lambda: compositions(100, 9),
    }
)
