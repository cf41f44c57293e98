"""The table and its readings: enumeration, closed forms, high precision."""

import itertools
import tracemalloc
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.stats import chi2

from srlib.mechanism import (
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
    pairs = [*itertools.pairwise(p), *itertools.pairwise(p[::-1])]
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
    assert_allclose(risk(table, 1, 0, 0.5), [0.25, 0.75])
    assert_allclose(risk(table, 1, 0, 1.0), [1.0, 1.0])


def test_infinite_epsilon_says_why() -> None:
    found = exact_epsilon(from_probability(np.array([[0.5, 0.5], [1.0, 0.0]])))
    assert found.value == np.inf
    assert str(found) == (
        "Exact epsilon is infinite: output 1 is possible given data set 0 and "
        "impossible given its neighbor 1."
    )


# --------------------------------------------------------------------------- invariants


@given(random_tables(), st.integers(0, 10**6))
def test_post_processing_never_raises_epsilon(p: NDArray, seed: int) -> None:
    channel = np.random.default_rng(seed).dirichlet(np.ones(3), p.shape[1])
    released = from_probability(p)
    processed = from_probability(p @ channel)
    assert exact_epsilon(processed).value <= exact_epsilon(released).value + 1e-9
    assert delta(processed, 0.5) <= delta(released, 0.5) + 1e-12


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
    bound = posterior_bound(epsilon_of(p), prior)
    for true, other in ((0, 1), (1, 0)):
        risks = risk(from_probability(p), true, other, prior)
        assert risks[p[true] > 0].max() <= bound + 1e-9


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = bernoulli_plugin(60, 50, 1.5)
    epsilon = exact_epsilon(table)
    by_row = conditional_epsilon(table)
    excess = delta(table, 1.0)

    monkeypatch.setattr(privacy, "BLOCK_ENTRIES", 130)
    monkeypatch.setattr(privacy, "BLOCK_WIDTH", 7)

    assert exact_epsilon(table) == epsilon
    assert_allclose(conditional_epsilon(table), by_row, rtol=1e-12)
    assert_allclose(delta(table, 1.0), excess, rtol=1e-12)


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


def plugin_exactly(n: int, alpha: float, x: int, y: int) -> mpmath.mpf:
    p = (mpmath.mpf(x) + alpha) / (n + 2 * mpmath.mpf(alpha))
    coefficient = mpmath.binomial(n, y)
    return mpmath.log(coefficient) + y * mpmath.log(p) + (n - y) * mpmath.log(1 - p)


def predictive_exactly(n: int, alpha: float, x: int, y: int) -> mpmath.mpf:
    a = mpmath.mpf(alpha) + x
    b = mpmath.mpf(alpha) + n - x
    ratio = mpmath.beta(a + y, b + n - y) / mpmath.beta(a, b)
    return mpmath.log(mpmath.binomial(n, y) * ratio)


PLUGIN = bernoulli_plugin, bernoulli_plugin_alpha, plugin_exactly
PREDICTIVE = beta_binomial, dirichlet_multinomial_alpha, predictive_exactly


@pytest.mark.parametrize(
    ("family", "calibrated", "exactly", "epsilon"),
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
    family: Callable[..., Mechanism],
    calibrated: Callable[..., float],
    exactly: Callable[..., mpmath.mpf],
    epsilon: float,
) -> None:
    alpha = calibrated(epsilon, 1000)
    table = family(1000, 1000, alpha)
    with mpmath.workdps(60):
        for x, y in itertools.product((0, 1, 500, 1000), repeat=2):
            expected = float(exactly(1000, alpha, x, y))
            log_prob = table.row(x)[y]
            assert log_prob == pytest.approx(expected, rel=1e-11, abs=1e-10)
        loss = exactly(1000, alpha, 1, 1000) - exactly(1000, alpha, 0, 1000)
    assert float(loss) == pytest.approx(epsilon, rel=1e-9)
    assert exact_epsilon(table).value == pytest.approx(float(loss), rel=1e-9)


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
        assert_allclose(np.exp(whole_table(table)).sum(axis=1), 1)


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


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_alphas_have_the_epsilon_of_the_closed_forms(epsilon: float) -> None:
    alpha = bernoulli_plugin_alpha(epsilon, 7)
    assert 7 * np.log1p(1 / alpha) == pytest.approx(epsilon)
    alpha = dirichlet_multinomial_alpha(epsilon, 7)
    assert np.log1p(7 / alpha) == pytest.approx(epsilon)


def family(alpha: float) -> Mechanism:
    return beta_binomial(5, 7, alpha)


def test_calibration_finds_the_alpha_of_the_closed_form() -> None:
    alpha = calibrate(family, 1.5, 1e-3, 1e3)
    assert alpha == pytest.approx(dirichlet_multinomial_alpha(1.5, 7))


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


def test_draws_have_the_probabilities_of_the_row() -> None:
    table = bernoulli_plugin(6, 5, 0.9)
    draws = sample(table, 2, 20_000, rng=np.random.default_rng(1))

    expected = 20_000 * np.exp(table.row(2))
    observed = np.bincount(draws, minlength=6)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-5, 5)


def test_an_impossible_output_is_never_drawn() -> None:
    table = from_probability(np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]))
    assert sample(table, 0, 1_000, rng=np.random.default_rng(1)).max() == 1


# ---------------------------------------------------------------------------- bad input

ROWS = np.log([[0.5, 0.5], [0.4, 0.6]])
PAIR = [[0, 1]]
TABLE = Mechanism.from_table(ROWS, PAIR)


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
            lambda: delta(TABLE, -1),
            "epsilon is -1",
        ),
        (
            lambda: risk(TABLE, 0, 1, 1.5),
            "prior is 1.5",
        ),
        (lambda: posterior_bound(-1.0, 0.5), "epsilon is -1"),
        (lambda: calibrate(family, 1.5, 10, 20), "must lie between the exact eps"),
        (lambda: count_neighbors(0), "n is 0"),
        (lambda: bernoulli_plugin(0, 5, 1.0), "n is 0"),
        (lambda: bernoulli_plugin(5, 0, 1.0), "n_s is 0"),
        (lambda: bernoulli_plugin(5, 5, 0.0), "alpha is 0"),
        (lambda: beta_binomial(5, 5, 1.0, -2.0), "beta is -2"),
        (lambda: dirichlet_multinomial_alpha(-1.0, 5), "epsilon is -1"),
        (lambda: dirichlet_multinomial(5, 5, [1.0]), "two or more positive"),
        (lambda: compositions(100, 9), "are enumerated"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
