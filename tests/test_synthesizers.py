"""Synthesizers: releases are drawn with the probability that their density says."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from srlib.data.codes import cell_numbers
from srlib.data.schema import Microdata, Schema, Variable
from srlib.dpmpm import Chains, DPMPMSynthesizer
from srlib.margins import (
    DirichletMargins,
    LaplaceMargins,
    PlugInMargins,
    _log_above,
    _log_below,
)
from srlib.mechanism import MechanismSynthesizer, beta_binomial, dirichlet_multinomial
from srlib.risk import one_variable_supports, posterior_risk
from srlib.risk.synthesizers import Density, Synthesizer, log_likelihoods
from srlib.trees import Growth, SequentialTrees

LEVELS = np.array([2, 3])
SCHEMA = Schema((Variable("job", ("cook", "smith")), Variable("town", ("a", "b", "c"))))
DATA = np.array([[0, 0], [1, 1], [1, 2]], dtype=np.uint8)
CELLS = list(itertools.product(range(2), range(3)))

DENSITIES: dict[str, Density] = {
    "family": MechanismSynthesizer(dirichlet_multinomial(3, 3, [1.0] * 6), LEVELS),
    "trees": SequentialTrees(SCHEMA, growth=Growth(1)),
    "smoothed trees": SequentialTrees(
        SCHEMA, ["town", "job"], Growth(1, smoothing=1.0), ["town"]
    ),
    "plug-in margins": PlugInMargins(LEVELS),
    "one class": DirichletMargins(LEVELS, 0.5),
    "Laplace margins": LaplaceMargins(LEVELS, 4.0),
}


@pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)
def test_releases_are_drawn_with_their_probabilities(density: Density) -> None:
    releases = np.array(list(itertools.product(CELLS, repeat=3)))
    probability = np.exp([density.log_prob(table, DATA) for table in releases])
    assert probability.sum() == pytest.approx(1, abs=1e-9)

    rng = np.random.default_rng(1)
    drawn = np.reshape([density.release(DATA, rng=rng) for _ in range(2000)], (-1, 6))
    numbers = cell_numbers(drawn, [2, 3] * 3)
    counts = np.bincount(numbers, minlength=len(releases))

    expected = 2000 * probability
    assert not counts[expected == 0].any()
    # Releases that are expected less than five times are one class, if large enough.
    often = expected >= 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(expected[often], expected[~often].sum())
    large = expected > 5
    chi2 = ((observed - expected)[large] ** 2 / expected[large]).sum()
    df = large.sum() - 1
    assert df > 5
    assert chi2 < df + 4.5 * np.sqrt(2 * df)


def one_by_one(
    density: Any, released: list[NDArray], data: NDArray, supports: NDArray
) -> NDArray:
    """The column of the releases by their density, a record after the other changed."""
    columns = np.zeros(supports.shape[:2])
    for row, i in np.ndindex(columns.shape):
        changed = data.copy()
        changed[row] = supports[row, i]
        columns[row, i] = sum(density.log_prob(table, changed) for table in released)
    return columns


@pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)
def test_a_column_is_that_of_the_density_at_each_changed_table(
    density: Density,
) -> None:
    rng = np.random.default_rng(2)
    far = np.broadcast_to(np.array(CELLS, dtype=np.uint8), (3, 6, 2))
    candidates = np.concatenate([one_variable_supports(DATA, LEVELS), far], axis=1)
    released = [density.release(DATA, rng=rng) for _ in range(2)]
    arguments = density, released, DATA, np.arange(3), candidates
    columns = log_likelihoods(*arguments)
    expected = one_by_one(density, released, DATA, candidates)
    np.testing.assert_allclose(columns, expected, rtol=0, atol=1e-9)
    if not hasattr(density, "log_likelihoods"):  # several records in one task
        with ThreadPoolExecutor(1) as pool:
            by_executor = log_likelihoods(*arguments, executor=pool)
        np.testing.assert_array_equal(by_executor, columns)


@pytest.mark.parametrize("released", [[0, 0], [1, 2], [3, 0], [3, 1], [3, 3]])
def test_columns_with_impossible_releases(released: list[int]) -> None:
    """A released level with no donor, one, or two; each by the density alone."""
    data = np.array([[0], [0], [1], [2], [2]])
    density = PlugInMargins(np.array([4]))
    candidates = np.broadcast_to(np.arange(4)[:, None], (5, 4, 1))
    tables = [np.array(released)[:, None]]
    columns = log_likelihoods(density, tables, data, np.arange(5), candidates)
    expected = one_by_one(density, tables, data, candidates)
    np.testing.assert_allclose(columns, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("released", [(2, 1), (3, 0), (0, 1)])
def test_laplace_noise_is_integrated_out(released: tuple[int, int]) -> None:
    """Against quadrature over the noisy counts of both levels."""
    margins = LaplaceMargins(np.array([2]), epsilon=1.5)
    b = margins.scale
    counts = (3, 2)
    # Nodes of a noisy count: zero, from zero to the count, and beyond; denser near 0.
    legendre, legendre_weights = np.polynomial.legendre.leggauss(300)
    x = (legendre + 1) ** 2 / 4
    w = legendre_weights * (legendre + 1) / 2
    nodes = []
    weights = []
    for count in counts:
        node = np.concatenate([[0], count * x, count + 40 * b * x])
        mass = np.concatenate([[1], count / b * w, 40 * w])
        nodes.append(node)
        weights.append(mass * np.exp(-np.abs(node - count) / b) / 2)
        assert weights[-1].sum() == pytest.approx(1)
    u, v = np.meshgrid(*nodes, indexing="ij")
    share = np.where(u + v > 0, u / np.maximum(u + v, 1e-300), 0.5)
    product = share ** released[0] * (1 - share) ** released[1]
    expected = weights[0] @ product @ weights[1]

    data = np.repeat([0, 1], counts)[:, None]
    release = np.repeat([0, 1], released)[:, None]
    assert np.exp(margins.log_prob(release, data)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("n", "epsilon"), [(40, 0.5), (40, 30.0), (5000, 3.0)])
def test_laplace_margins_keep_their_epsilon(n: int, epsilon: float) -> None:
    """A factor of exp(epsilon / 3) for one changed variable is nearly reached."""
    rng = np.random.default_rng(7)
    levels = np.array([2, 5, 30])
    data = (rng.random((n, 3)) ** 3 * levels).astype(np.uint8)
    margins = LaplaceMargins(levels, epsilon)
    released = [margins.release(data, rng=rng)]
    rows = np.arange(40)
    candidates = one_variable_supports(data[rows], levels)
    columns = log_likelihoods(margins, released, data, rows, candidates)
    loss = np.abs(columns - columns[:, :1])
    assert 0.3 * epsilon / 3 < loss.max() <= epsilon / 3 * (1 + 1e-9)


def test_shares_are_equal_where_all_noisy_counts_are_clipped() -> None:
    """Of levels that nobody has, once in eight times."""
    rng = np.random.default_rng(7)
    margins = LaplaceMargins(np.array([3]), 3.0)
    shares = [margins.shares(np.zeros(3, int), rng=rng) for _ in range(60)]
    assert np.sum(shares, axis=1) == pytest.approx(1)
    assert (np.array(shares) == 1 / 3).all(axis=1).any()


def test_incomplete_gamma_functions_far_from_their_middle() -> None:
    """Where they underflow; digits by mpmath."""
    mpmath = pytest.importorskip("mpmath")
    log = mpmath.log
    grid = itertools.product((1.0, 50.0, 5000.0), (-0.5, 0.001, 1.5), (3, 300, 3000))
    for s, rate, limit in grid:
        arguments = np.array([[s], [rate], [limit]])
        with mpmath.workdps(30):
            kummer = mpmath.hyp1f1(1, s + 1, mpmath.mpf(rate) * limit)
            below = s * log(limit) - rate * limit - log(s) + log(kummer)
            expected = pytest.approx(float(below), rel=1e-12, abs=1e-12)
            assert _log_below(*arguments)[0] == expected
            if rate > 0:
                above = log(mpmath.gammainc(s, rate * limit)) - s * log(rate)
                expected = pytest.approx(float(above), rel=1e-12, abs=1e-12)
                assert _log_above(*arguments)[0] == expected


def test_a_family_of_counts_has_the_size_of_its_table() -> None:
    mechanism = beta_binomial(n=4, n_s=2, alpha=1.0)
    data = np.array([[0], [1], [1]])
    message = r"data has counts \[1, 2\]; the mechanism has no such"
    with pytest.raises(ValueError, match=message):
        MechanismSynthesizer(mechanism, [2]).log_prob(data[:2], data)
    with pytest.raises(ValueError, match="makes 6 cells; it must make 2"):
        MechanismSynthesizer(mechanism, LEVELS)


def test_the_mixture_releases_and_has_no_density() -> None:
    mixture = DPMPMSynthesizer(LEVELS, Chains(n_classes=2, burn_in=5, n_draws=5))
    assert isinstance(mixture, Synthesizer)
    assert not isinstance(mixture, Density)
    released = mixture.release(DATA, rng=np.random.default_rng(6))
    assert released.shape == DATA.shape
    assert (released < LEVELS).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([[0, np.nan, 0, 0]] * 3, "NaN or infinity"),
        ([[0, np.inf, 0, 0]] * 3, "NaN or infinity"),
        ([0, 0, 0], r"shape \(3,\)"),
    ],
)
def test_wrong_log_likelihoods_are_refused(columns: Any, message: str) -> None:
    class Wrong(PlugInMargins):
        def log_likelihoods(self, *_: Any) -> NDArray:
            return np.array(columns)

    data = Microdata(DATA, SCHEMA)
    with pytest.raises(ValueError, match=f"Wrong.log_likelihoods returns {message}"):
        posterior_risk(data, data, synthesizer=Wrong(LEVELS))
