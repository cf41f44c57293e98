"""Posterior odds of many cells against the truth, for records and cells by the tile.

With draws theta given the data and given the data joined with each release, the posterior odds of
a cell x against the truth x_i are

    prod_l E_l[p(x | theta) / p(x_i | theta)] / E_0[p(x | theta) / p(x_i | theta)]^m

Each mean E is one of chains, a matrix product of weights 1 / p(x_i | theta) and cell probabilities.
To first order a chain moves a sum of odds by the same sum with each cell weighted by how far the
chain's own mean is from that of all (the infinitesimal jackknife), so that one pass over the cells
gives the Monte Carlo errors as well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib.dpmpm.predict import cell_log_prob
from srlib.risk.sets import DrawSets

# Factor of all cell probabilities: float32 reaches from 1e-38 to 1e38.
SCALE = 1e24
# The smallest number of float32 with all its digits; less is lost.
TINY = np.float32(1.2e-38)
# Columns of a record's counts: cells whose odds exceed one; exceed it by more than two standard
# errors of their log; are one; cannot be told from one; are lost.
ABOVE, SURELY, TIED, UNSURE, LOST = range(5)


@dataclass(frozen=True)
class WholeSupport:
    """Beliefs about n records of an intruder who holds every cell possible.

    Attributes
    ----------
    log_normalizer : (n,) float64
        Log of the sum of posterior odds against the truth, over all cells.
    log_mcse : (n,) float64
        Its Monte Carlo standard error, from between chains; also that of the log probability of
        the truth.
    rank : (n,) float64
        Rank of the truth among all cells, 1 for the most probable; ties share their mean rank.
    rank_range : (n, 2) float64
        The rank if no cell, and if every cell, whose log odds against the truth are within two
        standard errors of zero (or above) were more probable than the truth.
    top_cells : (n, n_top) int64
        The most probable cells, as positions in lexicographic order (the last variable fastest).
    top_log_prob : (n, n_top) float64
        Their log posterior probabilities.
    top_log_mcse : (n, n_top) float64
        Monte Carlo standard errors of these, from between chains.
    margins : tuple of (n, prod(n_levels[subset])) float64
        Posterior probabilities of the subsets of variables that were asked for.
    margins_mcse : tuple of (n, prod(n_levels[subset])) float64
        Monte Carlo standard errors of these, from between chains.
    lost : (n,) int64
        Cells whose probability is too small for float32 under all draws given the data; they are
        left out of everything above.
    """

    log_normalizer: NDArray[np.float64]
    log_mcse: NDArray[np.float64]
    rank: NDArray[np.float64]
    rank_range: NDArray[np.float64]
    top_cells: NDArray[np.int64]
    top_log_prob: NDArray[np.float64]
    top_log_mcse: NDArray[np.float64]
    margins: tuple[NDArray[np.float64], ...]
    margins_mcse: tuple[NDArray[np.float64], ...]
    lost: NDArray[np.int64]

    @property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n,)."""
        return np.exp(-self.log_normalizer)


def number_of_cells(sets: DrawSets, codes: NDArray[np.integer]) -> int:
    """Return the number of cells, if there are records."""
    if len(codes) == 0:
        raise ValueError("codes is empty; it must have one combination or more")
    return math.prod(sets.n_levels.tolist())


def record_weights(sets: DrawSets, codes: NDArray[np.integer]) -> list[NDArray[np.float32]]:
    """Return weights for chains' means of 1 / p(x_i | theta), (chains, n, draws) for each set.

    Up to a factor of each record, the same in all sets, that makes the largest weight one.
    """
    log_prob = [cell_log_prob(draws, codes).swapaxes(1, 2) for draws in sets]
    least = np.min([values.min(axis=(0, 2)) for values in log_prob], axis=0)[:, None]
    return [(np.exp(least - v) / v.shape[2]).astype(np.float32) for v in log_prob]


def chain_means(
    weights: Sequence[NDArray[np.float32]], blocks: Sequence[NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return each chain's mean of p(x | theta) / p(x_i | theta), (chains, records, cells)."""
    shape = (weights[0].shape[1], blocks[0].shape[2])
    means = np.empty((sum(len(w) for w in weights), *shape), np.float32)
    first = 0
    for w, block in zip(weights, blocks, strict=True):
        np.matmul(w, block, out=means[first : first + len(w)])
        first += len(w)
    return means


def deviations(
    sets: DrawSets, codes: NDArray[np.integer], candidates: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return how far each chain's mean ratio is from its set's, for (n, n_candidates) cells."""
    *_, k, n_variables = candidates.shape
    each = []
    for draws in sets:
        truth = cell_log_prob(draws, codes)
        log_prob = cell_log_prob(draws, candidates.reshape(-1, n_variables))
        log_mean = logsumexp(log_prob.reshape(*truth.shape, k) - truth[..., None], axis=1)
        of_set = logsumexp(log_mean, axis=0) - np.log(draws.n_chains)
        with np.errstate(invalid="ignore"):  # no draw gives the cell any probability
            each.append(np.expm1(log_mean - of_set))
    return np.concatenate(each)


@njit(nogil=True, cache=True)
def keep_largest(odds, top, cells, first):
    """Insert a block's largest odds among the largest so far, which are in falling order."""
    last = top.shape[1] - 1
    for i in range(odds.shape[0]):
        if odds[i].max() <= top[i, last]:
            continue
        for c in range(odds.shape[1]):
            value = odds[i, c]
            if value > top[i, last]:
                j = last
                while j > 0 and top[i, j - 1] < value:
                    top[i, j], cells[i, j] = top[i, j - 1], cells[i, j - 1]
                    j -= 1
                top[i, j], cells[i, j] = value, first + c
