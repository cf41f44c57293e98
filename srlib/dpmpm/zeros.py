"""Structural zeros on a table small enough to enumerate: the DPMPM and its truncated variant.

Manrique-Vallier and Reiter (2014) keep impossible combinations out of a mixture by truncation: the
cells that can occur have their probabilities divided by the sum of these. On a small table the
prior is replaced by many draws from it, the same ones for all data sets, and everything that
follows is exact for that discrete prior.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from srlib.dpmpm.model import Prior
from srlib.mechanism.families import compositions


def prior_cells(
    n_levels: Sequence[int],
    n_classes: int,
    n_draws: int,
    prior: Prior | None = None,
    *,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Draw the probabilities of all cells from the prior distribution of a DPMPM.

    Parameters
    ----------
    n_levels : sequence of int
        Levels of each variable, 2 or more; K is their product.
    n_classes : int
        Truncation level F of the sticks, 1 or more.
    n_draws : int
        Draws, 1 or more.
    prior : Prior, optional
        The paper's if not given.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (n_draws, K) float64
        Cells in lexicographic order; each row sums to one.
    """
    prior = prior or Prior()
    alpha = rng.gamma(prior.alpha_shape, 1 / prior.alpha_rate, (n_draws, 1))
    sticks = rng.beta(1.0, np.maximum(alpha, 1e-300), (n_draws, n_classes))
    sticks[:, -1] = 1.0
    left = np.cumprod(np.column_stack([np.ones(n_draws), 1 - sticks[:, :-1]]), axis=1)
    cells = (sticks * left)[:, :, None]
    for levels in n_levels:
        phi = rng.dirichlet(np.full(levels, prior.concentration), (n_draws, n_classes))
        cells = (cells[:, :, :, None] * phi[:, :, None]).reshape(n_draws, n_classes, -1)
    return cells.sum(axis=1)


def truncate(cells: NDArray[np.float64], possible: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Keep impossible combinations out of draws of the cells' probabilities.

    Parameters
    ----------
    cells : (n_draws, K) float64
        As `prior_cells` returns.
    possible : (K,) bool
        Which cells can occur, one at least.

    Returns
    -------
    (n_draws, K) float64
        Zero where a cell cannot occur; each row sums to one.
    """
    kept = np.where(possible, cells, 0.0)
    return kept / kept.sum(axis=1, keepdims=True)


def release_log_probs(
    cells: NDArray[np.float64], data: NDArray[np.integer], n_released: int
) -> NDArray[np.float64]:
    """Return log p(release | data set) for all releases of a few records.

    Parameters
    ----------
    cells : (n_draws, K) float64
        Draws from the prior distribution of the cells' probabilities.
    data : (n_sets, K) int
        Data sets, as counts of the cells.
    n_released : int
        Records of a release, 1 or more.

    Returns
    -------
    (n_sets, n_releases) float64
        Releases in the order of ``families.compositions(n_released, K)``; each row sums to one in
        probability.
    """
    releases = compositions(n_released, cells.shape[1])
    with np.errstate(divide="ignore"):
        log_cells = np.log(cells)
    of_data = _log_products(log_cells, data)
    log_weight = of_data - logsumexp(of_data, axis=0)
    coefficient = gammaln(n_released + 1.0) - gammaln(releases + 1.0).sum(axis=1)
    of_releases = np.exp(_log_products(log_cells, releases) + coefficient)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(log_weight).T @ of_releases)


def _log_products(log_cells: NDArray[np.float64], counts: NDArray) -> NDArray[np.float64]:
    """Log probabilities of counts in a given order under each draw, (n_draws, n_counts)."""
    finite = np.maximum(log_cells, -1e4)  # zero times the logarithm of zero is zero
    return finite @ np.asarray(counts, dtype=float).T


def impossible_share(
    cells: NDArray[np.float64],
    data: NDArray[np.integer],
    possible: NDArray[np.bool_],
    n_released: int,
) -> float:
    """Return the chance that a release has a record that cannot occur.

    Parameters
    ----------
    cells, n_released
        As of `release_log_probs`.
    data : (K,) int
        The data set.
    possible : (K,) bool
        Which cells can occur.
    """
    releases = compositions(n_released, cells.shape[1])
    prob = np.exp(release_log_probs(cells, data[None], n_released)[0])
    return float(prob @ releases[:, ~possible].any(axis=1))


def expected_risk(
    cells: NDArray[np.float64],
    data: NDArray[np.integer],
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    allowed: NDArray[np.bool_],
    n_released: int,
) -> dict[str, NDArray[np.float64]]:
    """Average an intruder's posterior over the releases, for each combination of a small table.

    The intruder knows all other records, holds those candidates possible that differ from the truth
    in one variable at most and are allowed, all equally probable.

    Parameters
    ----------
    cells, n_released
        As of `release_log_probs`.
    data : (K,) int
        The data set, whose combinations are all allowed.
    codes : (K, n_variables) int
        Levels of each cell.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    allowed : (K,) bool
        Which cells the intruder holds possible.

    Returns
    -------
    dict of str to (n_combinations,) float64
        prior, and posterior and log gain expected over the releases of the data.
    """
    each: list[NDArray[np.int64]] = []
    of_each, one = [], np.eye(len(data), dtype=np.int64)
    for i in np.nonzero(data)[0]:
        near = ((codes != codes[i]).sum(axis=1) <= 1) & allowed
        near[i] = False
        candidates = [i, *np.nonzero(near)[0]]
        of_each.append(len(candidates))
        each.extend(data - one[i] + one[x] for x in candidates)
    prob = np.exp(release_log_probs(cells, np.array(each), n_released))
    told: dict[str, list[float]] = {"prior": [], "expected posterior": [], "expected log gain": []}
    for rows in np.split(prob, np.cumsum(of_each)[:-1]):
        occurs = rows[0] > 0
        truth = rows[0, occurs] / rows[:, occurs].sum(axis=0)
        told["prior"].append(1 / len(rows))
        told["expected posterior"].append(float(rows[0, occurs] @ truth))
        told["expected log gain"].append(float(rows[0, occurs] @ np.log(truth * len(rows))))
    return {name: np.array(values) for name, values in told.items()}
