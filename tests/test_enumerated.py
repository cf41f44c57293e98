"""DPMPMs that are small enough to enumerate."""

import numpy as np
import pytest
from enumeration import all_cells
from enumeration import log_marginal_likelihood as by_allocations
from numpy.random import default_rng
from numpy.testing import assert_allclose
from refusals import refusals
from scipy.stats import multinomial

from srlib.dpmpm import Prior, prior_cell_log_prob
from srlib.dpmpm.exact import enumerate_mechanism, log_marginal_likelihood
from srlib.mechanism import compositions, dirichlet_multinomial, exact_epsilon
from srlib.mechanism.contingency import log_predictive

PRIOR = Prior(0.7, 0.4, 1.3)


@pytest.mark.parametrize(
    ("n_levels", "n_classes"),
    [
        ((2,), 1),
        ((2,), 3),
        ((3,), 2),
        ((2, 2), 2),
    ],
)
def test_marginal_likelihood_by_all_allocations(n_levels, n_classes):
    cells = all_cells(n_levels)
    tables = compositions(3, len(cells))

    log_prob = log_marginal_likelihood(3, n_levels, n_classes, PRIOR)

    for i, counts in enumerate(tables):
        codes = np.repeat(cells, counts, axis=0)
        expected = by_allocations(codes, n_levels, n_classes, PRIOR)
        assert_allclose(log_prob[i], expected, atol=1e-9)


def test_draws_from_the_prior_have_its_marginal_likelihood():
    """Three records on 2 x 2 cells: mean over draws against sum over allocations."""
    n_levels = np.array([2, 2])
    cells = all_cells(n_levels)
    rng = default_rng(5)
    draws = prior_cell_log_prob(
        cells,
        n_levels,
        3,
        40_000,
        rng=rng,
        prior=PRIOR,
    )
    assert_allclose(np.exp(draws).sum(axis=1), 1)

    tables = compositions(3, 4)
    log_mean, mcse = log_predictive(draws, tables)

    share = multinomial.pmf(tables, 3, np.full(4, 0.25))
    n_orders = 4**3 * share
    log_prob = log_marginal_likelihood(3, (2, 2), 3, PRIOR)
    difference = log_mean - log_prob - np.log(n_orders)
    assert (np.abs(difference) < 5 * mcse).all()


def test_the_papers_prior_reaches_far_down(rng):
    """Its alpha is as small as 1e-60 with a probability that counts."""
    log_prob = log_marginal_likelihood(2, (2,), 2)[1]
    # Two records that differ: 1/6 in the same class, 1/4 in two; alpha alone decides.
    alpha = rng.gamma(0.25, 4, 400_000)
    stick = rng.beta(1, alpha)
    together = stick**2 + (1 - stick) ** 2
    values = together / 6 + (1 - together) / 4
    difference = np.exp(log_prob) - values.mean()
    mcse = values.std() / np.sqrt(400_000)
    assert abs(difference) < 5 * mcse


def test_one_class_is_the_dirichlet_multinomial():
    table = enumerate_mechanism(4, 3, (3,), 1, Prior(concentration=0.6))
    family = dirichlet_multinomial(4, 3, [0.6] * 3)
    block = np.arange(table.n_inputs), np.arange(table.n_outputs)
    expected = family.block(*block)
    assert_allclose(table.block(*block), expected, atol=1e-12)
    assert table.inputs == family.inputs
    assert table.outputs == family.outputs
    epsilon = exact_epsilon(table)
    assert epsilon.value == pytest.approx(np.log1p(3 / 0.6))


test_bad_input = refusals(
    {
        "n is 0; it must be 1": lambda: enumerate_mechanism(0, 1, (2,), 1),
        "n_s is 0; it must be 1": lambda: enumerate_mechanism(1, 0, (2,), 1),
        r"n_levels is \(1,\); each": lambda: enumerate_mechanism(1, 1, (1,), 1),
        "n_classes is 0; it": lambda: enumerate_mechanism(1, 1, (2,), 0),
        "at most 1,000,000 are": lambda: enumerate_mechanism(20, 20, (2, 2), 4),
    }
)
