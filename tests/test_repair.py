"""Repair: records that count less in a fit, and where the risk goes."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from enumeration import all_cells, log_allocation_prior
from numpy.typing import NDArray
from scipy.special import betaln

from srlib.data.schema import Schema, Variable
from srlib.dpmpm import Chains, Prior, cell_log_prob, sample_posterior
from srlib.risk import neighborhood
from srlib.risk.repair import Rule, WeightedTrees, alone, who_carries
from srlib.risk.synthesizers import log_likelihoods
from srlib.trees import Growth, SequentialTrees

LEVELS = np.array([2, 2])
FEW = Chains(n_classes=2, burn_in=100, n_draws=3_000, n_chains=2, prior=Prior(2.0, 2.0, 0.7))


# ------------------------------------------------------------------------- weights in the mixture


def predictive(codes: NDArray[np.integer], weights: NDArray[np.floating], prior: Prior) -> NDArray:
    """E p(x | pi, phi) of each cell under the pseudo-posterior, over all allocations."""
    cells, a = all_cells(LEVELS), prior.concentration
    total, means = 0.0, np.zeros(len(cells))
    for allocation in product(range(2), repeat=len(codes)):
        eta = np.array(allocation)
        sizes = (int((eta == 0).sum()), int((eta == 1).sum()))
        log_term = log_allocation_prior(sizes, prior)
        counts = np.zeros((2, 2, 2))  # class, variable, level
        for i, k in product(range(len(codes)), range(2)):
            counts[eta[i], k, codes[i, k]] += weights[i]
        log_term += (betaln(*np.moveaxis(a + counts, 2, 0)) - betaln(a, a)).sum()
        shares = (a + counts) / (2 * a + counts.sum(axis=2, keepdims=True))
        term = np.exp(log_term)
        total += term
        for f in range(2):
            more = (sizes[0] + (f == 0), sizes[1] + (f == 1))
            of_class = np.exp(
                log_allocation_prior(more, prior) - log_allocation_prior(sizes, prior)
            )
            means += term * of_class * shares[f, 0, cells[:, 0]] * shares[f, 1, cells[:, 1]]
    return means / total


CODES = np.array([[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [0, 1]], np.uint8)


@pytest.mark.parametrize("weights", [[1, 1, 1, 1, 0.5, 0.3], [0.2, 0.9, 0.4, 0.6, 0.7, 0.5]])
def test_weighted_draws_are_from_the_pseudo_posterior(weights: list[float]) -> None:
    """Against the sum over all allocations, with some records weighted and with all."""
    w = np.array(weights)
    draws = sample_posterior(CODES, LEVELS, FEW, weights=w, rng=np.random.default_rng(4))
    found = np.exp(cell_log_prob(draws, all_cells(LEVELS))).reshape(100, -1, 4).mean(axis=1)
    error = found.std(axis=0, ddof=1) / 10
    expected = predictive(CODES, w, FEW.prior)
    assert np.abs((found.mean(axis=0) - expected) / error).max() < 4.5
    plain = predictive(CODES, np.ones(6), FEW.prior)
    assert np.abs((found.mean(axis=0) - plain) / error).max() > 8  # the test would notice


def test_one_weighted_class_is_a_dirichlet_of_fractions() -> None:
    chains = Chains(n_classes=1, burn_in=1, n_draws=4_000, n_chains=2)
    weights = np.array([1, 0.5, 0.25, 1, 0, 0.75])
    draws = sample_posterior(CODES, LEVELS, chains, weights=weights, rng=np.random.default_rng(5))
    phi = draws.phi[..., 0].reshape(-1, 4).astype(float)
    mean = (1 + np.array([2.5, 1.0, 1.75, 1.75])) / 5.5  # 3.5 records in all
    sd = np.sqrt(mean * (1 - mean) / 6.5)
    assert np.abs((phi.mean(axis=0) - mean) / (sd / np.sqrt(len(phi)))).max() < 4.5
    np.testing.assert_allclose(phi.std(axis=0), sd, rtol=0.06)


def test_weights_of_one_and_zero_are_all_records_and_none() -> None:
    few = Chains(n_classes=3, burn_in=10, n_draws=5)
    rng = np.random.default_rng
    plain = sample_posterior(CODES, LEVELS, few, rng=rng(1))
    ones = sample_posterior(CODES, LEVELS, few, weights=np.ones(6), rng=rng(1))
    assert ones.phi.tobytes() == plain.phi.tobytes()
    keep = np.array([1, 1, 0, 1, 0, 1])
    rest = sample_posterior(CODES[keep > 0], LEVELS, few, rng=rng(1))
    zeros = sample_posterior(CODES, LEVELS, few, weights=keep, rng=rng(1), keep_allocations=True)
    assert zeros.phi.tobytes() == rest.phi.tobytes()
    assert zeros.log_likelihood.tobytes() == rest.log_likelihood.tobytes()


@pytest.mark.parametrize(
    "weights", [np.ones(5), np.ones((6, 1)), np.zeros(6), [1, 1, 1, 1, 1, 1.1], [1] * 5 + [np.nan]]
)
def test_weights_that_do_not_fit_are_refused(weights: NDArray) -> None:
    with pytest.raises(ValueError, match=r"must be \(6,\), one for each record, from 0 to 1"):
        sample_posterior(CODES, LEVELS, FEW, weights=weights, rng=np.random.default_rng(1))


# ---------------------------------------------------------------------------- weights in the trees

SCHEMA = Schema(tuple(Variable(name, ("0", "1", "2")) for name in "abc"))
SMALL = np.array(
    [[0, 0, 0]] * 5 + [[0, 1, 0]] * 3 + [[1, 1, 2]] * 3
    + [[1, 2, 2], [2, 0, 1], [2, 2, 1], [2, 2, 0]]
)  # fmt: skip
GROWTH = Growth(min_leaf=2, smoothing=0.5)
TREES = SequentialTrees(SCHEMA, growth=GROWTH)


@pytest.mark.parametrize(
    ("rule", "parts"),
    [(alone([0, 1]), 1), (alone([0, 1], 4, 1), 4), (np.array([4] * 10 + [1, 2, 0, 4, 3]), 4)],
)
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_candidates_have_the_density_of_the_tables_they_complete(
    rule: Rule | NDArray, parts: int, smoothing: float
) -> None:
    trees = replace(TREES, growth=replace(GROWTH, smoothing=smoothing))
    weighted = WeightedTrees(trees, rule, parts)
    released = [weighted.release(SMALL, rng=np.random.default_rng(i)) for i in range(2)]
    rows = np.array([0, 6, 9, 11, 12, 14])
    support = neighborhood(SMALL[rows], SCHEMA.n_levels)
    slow = np.empty(support.shape[:2])
    for i, row in enumerate(rows):
        for j, candidate in enumerate(support[i]):
            changed = SMALL.copy()
            changed[row] = candidate
            slow[i, j] = sum(weighted.log_prob(z, changed) for z in released)
    found = log_likelihoods(weighted, released, SMALL, rows, support)
    np.testing.assert_allclose(found, slow, rtol=1e-9)
    assert np.ptp(np.where(np.isfinite(slow), slow, 0), axis=1).max() > 0.1


def test_weights_are_shares_of_a_leaf() -> None:
    """One leaf for each job; the weighted counts of its donors make its shares."""
    schema = Schema((Variable("job", ("cook", "smith")), Variable("sick", ("no", "yes"))))
    people = np.array([[0, 0]] * 6 + [[0, 1]] + [[1, 1]] * 5)
    times = np.array([4] * 6 + [1] + [4] * 5)
    weighted = WeightedTrees(SequentialTrees(schema, growth=Growth(5)), times, 4)
    of = [np.exp(weighted.log_prob(np.array([x]), people)) for x in ([0, 1], [0, 0], [1, 1])]
    np.testing.assert_allclose(of, [0.25 / 11.25, 6 / 11.25, 5 / 11.25])
    assert weighted.release(people, rng=np.random.default_rng(1)).shape == (12, 2)
    larger = WeightedTrees(SequentialTrees(schema, growth=Growth(6)), times, 4)  # 5 < 6: no split
    assert larger.grown_on(people).n_leaves == [1, 1]


def test_full_weights_are_the_trees_themselves() -> None:
    weighted = WeightedTrees(TREES, np.full(15, 3), 3)
    z = TREES.release(SMALL, rng=np.random.default_rng(1))
    assert (weighted.release(SMALL, rng=np.random.default_rng(1)) == z).all()
    assert weighted.log_prob(z, SMALL) == pytest.approx(TREES.log_prob(z, SMALL), rel=1e-12)
    with pytest.raises(ValueError, match=r"must be \(15,\), from 0 to 2"):
        WeightedTrees(TREES, np.full(15, 3), 2).log_prob(z, SMALL)


# --------------------------------------------------------------------- who carries the risk


def test_who_carries_the_risk() -> None:
    before = np.array([[0.9, 0.2, 0.2, 0.4], [0.7, 0.2, 0.4, 0.4]])
    after = np.array([[0.1, 0.6, 0.3, 0.1], [0.1, 0.6, 0.3, 0.1]])
    found = who_carries(before, after, np.array([True, False, False, False]), 0.5)
    one, others = found.loc["repaired"], found.loc["others"]
    assert (one["records"], others["records"]) == (1, 3)
    assert one["change"] == pytest.approx(-0.7)
    assert one["change_se"] == pytest.approx(0.1)
    assert others["change"] == pytest.approx(1 / 3 - 0.3)
    assert others["before_se"] == pytest.approx(1 / 30)
    # Changes of .4, 0 and -.3; the second record's error of .1 goes off, those of others are zero.
    assert others["moved"] == pytest.approx((0.16 + 0.0 - 0.01 + 0.09) / 3)
    assert (others["rise"], others["fall"]) == pytest.approx((1 / 3, 1 / 3))
    assert (others["above_before"], others["above_after"]) == pytest.approx((0, 1 / 3))
    assert who_carries(before, after, np.ones(4, bool), 0.5).loc["others", "records"] == 0
    with pytest.raises(ValueError, match="after has shape"):
        who_carries(before, after[:1], np.ones(4, bool), 0.5)
