"""The table and its readings: enumeration, closed forms, high precision."""

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.stats import chi2

from srlib import mechanism
from srlib.mechanism import (
    Epsilon,
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
    sample,
    table_neighbors,
)
from srlib.mechanism.core import Mechanism


@st.composite
def random_tables(draw: st.DrawFn) -> NDArray:
    """Probabilities, rows that sum to one, some of them zero."""
    shape = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    p = rng.dirichlet(np.full(shape[1], 0.7), shape[0])
    if draw(st.booleans()):
        p = np.where(rng.random(shape) < 0.3, 0.0, p)
        p[:, 0] += 1e-9
    return p / p.sum(axis=1, keepdims=True)


def from_probability(p: NDArray) -> Mechanism:
    with np.errstate(divide="ignore"):
        return Mechanism.from_table(np.log(p), count_neighbors(len(p) - 1))


def whole_table(mechanism: Mechanism) -> NDArray:
    rows = np.arange(mechanism.n_inputs)
    return mechanism.block(rows, np.arange(mechanism.n_outputs))


def epsilon_of(p: NDArray) -> float:
    return exact_epsilon(from_probability(p)).value


# ----------------------------------------------------------------------- by enumeration


@given(random_tables())
def test_readings_against_enumeration(p: NDArray) -> None:
    mechanism = from_probability(p)
    pairs = [*zip(p, p[1:], strict=False), *zip(p[1:], p, strict=False)]
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = [np.log(a / b)[a > 0].max() for a, b in pairs]

    epsilon = exact_epsilon(mechanism)

    assert epsilon.value == pytest.approx(max(losses))
    output = int(str(epsilon.output))
    first, second = epsilon.pair
    with np.errstate(divide="ignore"):
        attained = np.log(p[first, output]) - np.log(p[second, output])
    assert attained == pytest.approx(epsilon.value)
    by_pair = [epsilon_of(p[i : i + 2]) for i in range(len(p) - 1)]
    by_row = np.maximum([0, *by_pair], [*by_pair, 0])
    assert_allclose(conditional_epsilon(mechanism), by_row)


@given(random_tables(), st.sampled_from([0.0, 0.3, 2.0]))
def test_delta_is_the_largest_excess_over_all_sets_of_outputs(
    p: NDArray, epsilon: float
) -> None:
    subsets = list(itertools.product([False, True], repeat=p.shape[1]))
    probability = p @ np.transpose(subsets)  # (n_inputs, n_subsets)
    forward = probability[1:] - np.exp(epsilon) * probability[:-1]
    backward = probability[:-1] - np.exp(epsilon) * probability[1:]
    expected = max(forward.max(), backward.max())
    assert delta(from_probability(p), epsilon) == pytest.approx(expected, abs=1e-12)


def test_two_rows_by_hand() -> None:
    """Randomised response with probability 3/4 of the truth: epsilon is log 3."""
    p = np.array([[0.75, 0.25], [0.25, 0.75]])
    table = Mechanism.from_table(
        np.log(p), [[0, 1]], ["no", "yes"], ["says no", "says yes"]
    )
    found = exact_epsilon(table)
    assert found.value == pytest.approx(np.log(3))
    assert (found.pair, found.output) == (("no", "yes"), "says no")
    assert "says no" in str(found)
    assert delta(table, 0.0) == pytest.approx(0.5)
    assert delta(table, np.log(3)) == pytest.approx(0.0)
    assert delta(table, np.log(2)) == pytest.approx(0.25)
    assert_allclose(mechanism.risk(table, 1, 0, 0.5), [0.25, 0.75])
    assert_allclose(mechanism.risk(table, 1, 0, 1.0), [1.0, 1.0])


def test_infinite_epsilon_says_why() -> None:
    found = exact_epsilon(from_probability(np.array([[0.5, 0.5], [1.0, 0.0]])))
    assert found.value == np.inf
    assert str(found) == (
        "Exact epsilon is infinite: output 1 is possible given data set 0 and impossible "
        "given its neighbor 1."
    )


# --------------------------------------------------------------------------- invariants


@given(random_tables(), st.integers(0, 10**6))
def test_post_processing_never_raises_epsilon(p: NDArray, seed: int) -> None:
    channel = np.random.default_rng(seed).dirichlet(np.ones(3), p.shape[1])
    assert epsilon_of(p @ channel) <= epsilon_of(p) + 1e-9
    table, processed = from_probability(p), from_probability(p @ channel)
    assert delta(processed, 0.5) <= delta(table, 0.5) + 1e-12


@given(random_tables(), st.integers(0, 10**6), st.floats(0, 1))
def test_a_mixture_never_exceeds_the_larger(
    p: NDArray, seed: int, share: float
) -> None:
    q = np.random.default_rng(seed).dirichlet(np.ones(p.shape[1]), len(p))
    mixed = epsilon_of(share * p + (1 - share) * q)
    assert mixed <= max(epsilon_of(p), epsilon_of(q)) + 1e-9


@given(random_tables(), st.integers(0, 10**6))
def test_relabelling_changes_nothing(p: NDArray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert epsilon_of(p[:, rng.permutation(p.shape[1])]) == pytest.approx(epsilon_of(p))
    rows = rng.permutation(len(p))
    with np.errstate(divide="ignore"):
        moved = Mechanism.from_table(
            np.log(p[rows]), np.argsort(rows)[count_neighbors(len(p) - 1)]
        )
    assert exact_epsilon(moved).value == pytest.approx(epsilon_of(p))
    assert_allclose(
        conditional_epsilon(moved),
        conditional_epsilon(from_probability(p))[rows],
    )


@given(random_tables(), st.floats(0.001, 0.999))
def test_epsilon_bounds_the_posterior(p: NDArray, prior: float) -> None:
    table = from_probability(p)
    epsilon = epsilon_of(p)
    bound = posterior_bound(epsilon, prior)
    risks = [mechanism.risk(table, i, j, prior) for i, j in ((0, 1), (1, 0))]
    possible = [np.exp(table.row(i)) > 0 for i in (0, 1)]
    for risk, on in zip(risks, possible, strict=True):
        assert risk[on].max() <= bound + 1e-9


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = bernoulli_plugin(60, 50, 1.5)
    readings: list[Callable[[Mechanism], Any]] = [
        conditional_epsilon,
        lambda t: exact_epsilon(t),
        lambda t: delta(t, 1.0),
    ]
    whole = [reading(table) for reading in readings]
    monkeypatch.setattr(privacy, "BLOCK_ENTRIES", 130)
    monkeypatch.setattr(privacy, "BLOCK_WIDTH", 7)
    for reading, expected in zip(readings, whole, strict=True):
        if isinstance(expected, Epsilon):
            assert reading(table) == expected
        else:
            assert_allclose(reading(table), expected, rtol=1e-12)


def test_a_large_table_is_never_held() -> None:
    table = bernoulli_plugin(20_000, 20_000, bernoulli_plugin_alpha(1, 20_000))
    middle = Mechanism(
        table.block, table.n_inputs, table.n_outputs, table.neighbors[::80]
    )
    tracemalloc.start()
    found = exact_epsilon(middle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.value == pytest.approx(1.0, rel=1e-9)
    assert peak < 200e6


# ------------------------------------------------------------------------- synthesizers


def plugin_exactly(n: int, n_s: int, alpha: float, x: int, y: int) -> mpmath.mpf:
    p = (mpmath.mpf(x) + alpha) / (n + 2 * mpmath.mpf(alpha))
    return (
        mpmath.log(mpmath.binomial(n_s, y))
        + y * mpmath.log(p)
        + (n_s - y) * mpmath.log(1 - p)
    )


def predictive_exactly(n: int, n_s: int, alpha: float, x: int, y: int) -> mpmath.mpf:
    a, b = mpmath.mpf(alpha) + x, mpmath.mpf(alpha) + n - x
    log_beta = mpmath.log(mpmath.beta(a + y, b + n_s - y)) - mpmath.log(
        mpmath.beta(a, b)
    )
    return mpmath.log(mpmath.binomial(n_s, y)) + log_beta


@pytest.mark.parametrize("epsilon", [1000.0, 2.0, 0.01])
def test_hard_corners_in_high_precision(epsilon: float) -> None:
    n = 1000
    cases = [
        (bernoulli_plugin, bernoulli_plugin_alpha, plugin_exactly),
        (
            beta_binomial,
            dirichlet_multinomial_alpha,
            predictive_exactly,
        ),
    ]
    for family, calibrated, exactly in cases:
        if family is beta_binomial:
            epsilon = min(epsilon, 100.0)
        alpha = calibrated(epsilon, n)
        table = family(n, n, alpha)
        with mpmath.workdps(60):
            for x, y in itertools.product((0, 1, 500, 1000), repeat=2):
                expected = float(exactly(n, n, alpha, x, y))
                found = table.block(np.array([x]), np.array([y]))[0, 0]
                assert found == pytest.approx(expected, rel=1e-11, abs=1e-10)
            exact = exactly(n, n, alpha, 1, n) - exactly(n, n, alpha, 0, n)
        assert float(exact) == pytest.approx(epsilon, rel=1e-9)
        assert exact_epsilon(table).value == pytest.approx(float(exact), rel=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.05, 20), st.floats(0.05, 20))
def test_closed_forms_are_the_exact_epsilon(
    n: int, n_s: int, alpha: float, beta: float
) -> None:
    plugin = bernoulli_plugin(n, n_s, alpha, beta)
    closed = n_s * np.log1p(1 / min(alpha, beta))  # equation 9
    assert exact_epsilon(plugin).value == pytest.approx(closed)
    predictive = beta_binomial(n, n_s, alpha, beta)
    closed = np.log1p(n_s / min(alpha, beta))
    assert exact_epsilon(predictive).value == pytest.approx(closed)
    for table in (plugin, predictive):
        rows = np.exp(table.block(np.arange(n + 1), np.arange(n_s + 1))).sum(axis=1)
        assert_allclose(rows, 1)


@pytest.mark.parametrize("alpha", [[0.5, 1.0, 2.0], [1.0, 1.0, 1.0, 0.3]])
def test_dirichlet_multinomial(alpha: list[float]) -> None:
    mechanism = dirichlet_multinomial(3, 4, alpha)
    assert_allclose(np.exp(whole_table(mechanism)).sum(axis=1), 1)
    expected = np.log1p(4 / min(alpha))
    assert exact_epsilon(mechanism).value == pytest.approx(expected)


def test_two_cells_are_the_beta_binomial() -> None:
    cells = dirichlet_multinomial(5, 4, [0.7, 1.9])
    counts = beta_binomial(5, 4, 0.7, 1.9)
    # A table of two cells lists the count of the first one.
    assert_allclose(whole_table(cells), whole_table(counts))


def test_calibration() -> None:
    for epsilon, n_s in ((0.01, 7), (1.0, 7), (30.0, 7)):
        alpha = bernoulli_plugin_alpha(epsilon, n_s)
        assert n_s * np.log1p(1 / alpha) == pytest.approx(epsilon)
        alpha = dirichlet_multinomial_alpha(epsilon, n_s)
        assert np.log1p(n_s / alpha) == pytest.approx(epsilon)
    found = calibrate(lambda a: beta_binomial(5, 7, a), 1.5, 1e-3, 1e3)
    assert found == pytest.approx(dirichlet_multinomial_alpha(1.5, 7))
    with pytest.raises(ValueError, match="must lie between the exact epsilons"):
        calibrate(lambda a: beta_binomial(5, 7, a), 1.5, 10, 20)


@settings(max_examples=60)
@given(
    st.integers(1, 9), st.integers(1, 9), st.floats(0.02, 20), st.sampled_from([1, -1])
)
def test_a_calibrated_family_spends_the_budget_and_no_more(
    n: int, n_s: int, epsilon: float, power: int
) -> None:
    def family(parameter: float) -> Mechanism:  # falls or rises with its parameter
        return beta_binomial(n, n_s, parameter**power)

    found = calibrate(family, epsilon, 1e-10, 1e10)
    spent = exact_epsilon(family(found)).value
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


def test_neighbors_of_tables_by_definition() -> None:
    tables = np.vstack([compositions(size, 3) for size in (2, 3)])
    changed = table_neighbors(tables)
    expected = {
        frozenset((i, j))
        for i, j in itertools.combinations(range(len(tables)), 2)
        if np.abs(tables[i] - tables[j]).sum() == 2
        and tables[i].sum() == tables[j].sum()
    }
    assert len(changed) == len(expected)
    assert set(map(frozenset, changed.tolist())) == expected


def test_sampling() -> None:
    table = bernoulli_plugin(6, 5, 0.9)
    drawn = sample(table, 2, 20_000, rng=np.random.default_rng(1))
    expected = 20_000 * np.exp(table.row(2))
    observed = np.bincount(drawn, minlength=6)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 5)
    impossible = from_probability(np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
    assert sample(impossible, 0, 1_000, rng=np.random.default_rng(1)).max() == 1


# ---------------------------------------------------------------------------- bad input

ROWS = np.log([[0.5, 0.5], [0.4, 0.6]])
PAIR = [[0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Mechanism.from_table(np.log([[0.5, 0.4], [0.5, 0.5]]), PAIR),
            "row 0 .* sum to 0.9",
        ),
        (lambda: Mechanism.from_table([[np.nan, 0.0], [0.0, 0.0]], PAIR), "row 0"),
        (
            lambda: Mechanism.from_table(ROWS, [[0, 2]]),
            r"the pair \[0, 2\].* in 0 to 1",
        ),
        (lambda: Mechanism.from_table(ROWS, [[1, 1]]), "two different rows"),
        (lambda: Mechanism.from_table(ROWS, PAIR, ["a"]), "inputs has 1 names"),
        (lambda: Mechanism.from_table(ROWS[0], PAIR), "log_prob has shape"),
        (
            lambda: exact_epsilon(Mechanism.from_table(ROWS, [])),
            "no neighbors",
        ),
        (
            lambda: delta(Mechanism.from_table(ROWS, PAIR), -1),
            "epsilon is -1",
        ),
        (
            lambda: mechanism.risk(Mechanism.from_table(ROWS, PAIR), 0, 1, 1.5),
            "prior is 1.5",
        ),
        (lambda: posterior_bound(-1.0, 0.5), "epsilon is -1"),
        (lambda: count_neighbors(0), "n is 0"),
        (lambda: bernoulli_plugin(0, 5, 1.0), "n is 0"),
        (lambda: bernoulli_plugin(5, 0, 1.0), "n_s is 0"),
        (lambda: bernoulli_plugin(5, 5, 0.0), "alpha is 0"),
        (lambda: beta_binomial(5, 5, 1.0, -2.0), "beta is -2"),
        (lambda: bernoulli_plugin_alpha(0.0, 5), "epsilon is 0"),
        (lambda: dirichlet_multinomial_alpha(-1.0, 5), "epsilon is -1"),
        (lambda: dirichlet_multinomial(5, 5, [1.0]), "two or more positive"),
        (lambda: compositions(100, 9), "are enumerated"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
