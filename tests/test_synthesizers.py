"""Synthesizers: releases are drawn with the probability that their density says."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import mpmath
import numpy as np
import pytest
from cases import table
from enumeration import all_cells, schema
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import value_error
from whole_tables import assert_drawn

from srlib.data import Microdata, cell_numbers
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

SCHEMA = schema(2, 3)
LEVELS = SCHEMA.n_levels
DATA = table("00", "11", "12").astype(np.uint8)
TABLE = Microdata(DATA, SCHEMA)
CELLS = all_cells(LEVELS)
RELEASES = np.array([*product(CELLS, repeat=3)])  # (216, 3, 2): all there are
SUPPORTS = one_variable_supports(DATA, LEVELS)

FAMILY = MechanismSynthesizer(dirichlet_multinomial(3, 3, [1.0] * 6), LEVELS)
SMOOTHED = Growth(1, smoothing=1.0)
DENSITIES = {
    "family": FAMILY,
    "trees": SequentialTrees(SCHEMA, growth=Growth(1)),
    "pruned trees": SequentialTrees(SCHEMA, growth=Growth(1, cp=0.0)),
    "smoothed trees": SequentialTrees(SCHEMA, ["v1", "v0"], SMOOTHED, ["v1"]),
    "plug-in margins": PlugInMargins(LEVELS),
    "one class": DirichletMargins(LEVELS, 0.5),
    "Laplace margins": LaplaceMargins(LEVELS, 4.0),
}
for_each_density = pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES)


@for_each_density
def test_releases_are_drawn_with_their_probabilities(density, rng):
    log_prob = [density.log_prob(release, DATA) for release in RELEASES]
    probability = np.exp(log_prob)
    assert probability.sum() == pytest.approx(1, abs=1e-9)

    drawn = [density.release(DATA, rng=rng).ravel() for _ in range(2000)]
    numbers = cell_numbers(np.array(drawn), [2, 3] * 3)
    assert_drawn(probability, numbers)


def one_by_one(density, released, data, supports):
    """The column of the releases by their density, a record after the other changed."""
    columns = np.zeros(supports.shape[:2])
    for row, i in np.ndindex(columns.shape):
        changed = data.copy()
        changed[row] = supports[row, i]
        columns[row, i] = sum(density.log_prob(z, changed) for z in released)
    return columns


@for_each_density
def test_a_column_is_that_of_the_density_at_each_changed_table(density):
    rng = default_rng(2)
    released = [density.release(DATA, rng=rng) for _ in range(2)]
    far = np.broadcast_to(CELLS, (3, 6, 2))
    candidates = np.concatenate([SUPPORTS, far], axis=1)
    arguments = density, released, DATA, np.arange(3), candidates

    columns = log_likelihoods(*arguments)

    expected = one_by_one(density, released, DATA, candidates)
    assert_allclose(columns, expected, rtol=0, atol=1e-9)
    if not hasattr(density, "log_likelihoods"):  # several records in one task
        with ThreadPoolExecutor(1) as pool:
            by_executor = log_likelihoods(*arguments, executor=pool)
        assert_array_equal(by_executor, columns)


@pytest.mark.parametrize("released", ["00", "12", "30", "31", "33"])
def test_columns_with_impossible_releases(released):
    """A released level with no donor, one, or two; each by the density alone."""
    data = table(*"00122")
    density = PlugInMargins(np.array([4]))
    candidates = np.broadcast_to(all_cells([4]), (5, 4, 1))
    releases = [table(*released)]

    rows = np.arange(5)
    columns = log_likelihoods(density, releases, data, rows, candidates)

    expected = one_by_one(density, releases, data, candidates)
    assert_allclose(columns, expected, rtol=0, atol=1e-12)


def noisy_count(count, scale):
    """Nodes and weights of a count with Laplace noise, clipped at zero.

    Zero, from zero to the count, and beyond; denser near zero and near the count.
    """
    legendre, weights = np.polynomial.legendre.leggauss(300)
    x = (legendre + 1) ** 2 / 4
    w = weights * (legendre + 1) / 2
    nodes = np.concatenate(
        [
            [0],
            count * x,
            count + 40 * scale * x,
        ]
    )
    widths = np.concatenate(
        [
            [1],
            count / scale * w,
            40 * w,
        ]
    )
    distance = np.abs(nodes - count) / scale
    mass = widths * np.exp(-distance) / 2
    assert mass.sum() == pytest.approx(1)
    return nodes, mass


@pytest.mark.parametrize("released", ["001", "000", "1"])
def test_laplace_noise_is_integrated_out(released):
    """Against quadrature over the noisy counts of both levels."""
    margins = LaplaceMargins(np.array([2]), epsilon=1.5)

    log_prob = margins.log_prob(table(*released), table(*"00011"))

    first, first_mass = noisy_count(3, margins.scale)
    second, second_mass = noisy_count(2, margins.scale)
    u, v = np.meshgrid(first, second, indexing="ij")
    total = u + v
    share = np.where(total > 0, u / np.maximum(total, 1e-300), 0.5)
    likelihood = share ** released.count("0") * (1 - share) ** released.count("1")
    expected = first_mass @ likelihood @ second_mass
    assert np.exp(log_prob) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        (40, 0.5),
        (40, 30.0),
        (5000, 3.0),
    ],
)
def test_laplace_margins_keep_their_epsilon(n, epsilon):
    """A factor of exp(epsilon / 3) for one changed variable is nearly reached."""
    rng = default_rng(7)
    levels = np.array([2, 5, 30])
    codes = rng.random((n, 3)) ** 3 * levels
    data = codes.astype(np.uint8)
    margins = LaplaceMargins(levels, epsilon)
    released = [margins.release(data, rng=rng)]
    rows = np.arange(40)
    candidates = one_variable_supports(data[rows], levels)

    columns = log_likelihoods(margins, released, data, rows, candidates)

    loss = np.abs(columns - columns[:, :1])
    assert 0.3 < loss.max() / (epsilon / 3) <= 1 + 1e-9


def test_shares_are_equal_where_all_noisy_counts_are_clipped():
    """Of levels that nobody has, once in eight times."""
    rng = default_rng(7)
    margins = LaplaceMargins(np.array([3]), 3.0)
    counts = np.zeros(3, int)
    shares = np.array([margins.shares(counts, rng=rng) for _ in range(60)])
    assert_allclose(shares.sum(axis=1), 1)
    assert (shares == 1 / 3).all(axis=1).any()


@pytest.mark.parametrize("s", [1.0, 50.0, 5000.0])
@pytest.mark.parametrize("rate", [-0.5, 0.001, 1.5])
@pytest.mark.parametrize("limit", [3, 300, 3000])
def test_incomplete_gamma_functions_far_from_their_middle(s, rate, limit):
    """Where they underflow; digits by mpmath."""
    log = mpmath.log
    close_to = partial(pytest.approx, rel=1e-12, abs=1e-12)
    arguments = np.array([[s], [rate], [limit]])
    with mpmath.workdps(30):
        x = mpmath.mpf(rate) * limit
        kummer = mpmath.hyp1f1(1, s + 1, x)
        below = s * log(limit) - x - log(s) + log(kummer)
        assert _log_below(*arguments)[0] == close_to(float(below))
        if rate > 0:
            above = log(mpmath.gammainc(s, x)) - s * log(rate)
            assert _log_above(*arguments)[0] == close_to(float(above))


def test_a_family_of_counts_has_the_size_of_its_table():
    mechanism = beta_binomial(n=4, n_s=2, alpha=1.0)
    family = MechanismSynthesizer(mechanism, [2])
    data = table(*"011")
    message = r"data has counts \[1, 2\]; the mechanism has no such"
    with value_error(message):
        family.log_prob(data[:2], data)
    with value_error("makes 6 cells; it must make 2"):
        MechanismSynthesizer(mechanism, LEVELS)


def test_the_mixture_releases_and_has_no_density():
    chains = Chains(
        n_classes=2,
        burn_in=5,
        n_draws=5,
    )
    mixture = DPMPMSynthesizer(LEVELS, chains)
    assert isinstance(mixture, Synthesizer)
    assert not isinstance(mixture, Density)
    released = mixture.release(DATA, rng=default_rng(6))
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
def test_wrong_log_likelihoods_are_refused(columns, message):
    class Wrong(PlugInMargins):
        def log_likelihoods(self, *_):
            return np.array(columns)

    with value_error(f"Wrong.log_likelihoods returns {message}"):
        posterior_risk(TABLE, TABLE, synthesizer=Wrong(LEVELS))


def test_a_density_that_is_not_a_number_is_refused(monkeypatch):
    monkeypatch.setattr(MechanismSynthesizer, "log_prob", lambda *_: np.nan)
    with value_error("MechanismSynthesizer.log_prob returns NaN"):
        posterior_risk(TABLE, TABLE, synthesizer=FAMILY)
