"""Contingency tables as releases: distances from the data, predictive scores, a sampler.

Scores may come from draws of a model, and the sampler reaches spaces of tables that cannot be
enumerated. A table is a vector of counts of n records on K cells.
"""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from srlib import checks
from srlib.mechanism.core import Mechanism, change_one_record
from srlib.mechanism.privacy import exact_epsilon
from srlib.threads import one_blas_thread

Tables = NDArray[np.int64]

# ------------------------------------------------------------------------ distances from the data


def records_moved(tables: Tables, data: Tables) -> NDArray[np.float64]:
    """Records in another cell than in the data, (n_tables,): half the sum of ``|r - d|``."""
    return np.abs(tables - data).sum(axis=-1) / 2


def euclidean(tables: Tables, data: Tables) -> NDArray[np.float64]:
    """Euclidean distance of tables from the data, (n_tables,)."""
    return np.sqrt(((tables - data) ** 2).sum(axis=-1))


def expected_records_moved(data: Tables, rate: float) -> float:
    """Expected records in another cell than in the data, when they are the score of a release.

    A table is released with probability proportional to exp(-rate * `records_moved`). The weights
    are products over the cells, so that sums over all tables of n records are convolutions.

    Parameters
    ----------
    data : (K,) int
        Counts of n records.
    rate : float
        0 or more; epsilon / 2 makes it an exponential mechanism, since the sensitivity is 1.
    """
    checks.at_least(0, rate=rate)
    size = int(np.sum(data)) + 1
    total, moment = np.zeros((2, size))
    total[0] = 1.0
    for count in np.asarray(data):
        away = np.abs(np.arange(size) - count) / 2
        weight = np.exp(-rate * away)
        # What lies below the rounding of the sums is left out, which keeps long sums cheap.
        kept = np.flatnonzero(weight > 1e-20)
        first, away, weight = kept[0], away[kept], weight[kept]
        moment = _convolved(moment, weight, first) + _convolved(total, weight * away, first)
        total = _convolved(total, weight, first)
        scale = total.max()
        total, moment = total / scale, moment / scale
    return float(moment[-1] / total[-1])


def _convolved(
    values: NDArray[np.float64], kernel: NDArray[np.float64], first: int
) -> NDArray[np.float64]:
    """Convolve with a kernel whose entries begin at `first`, to the length of the values."""
    result = np.zeros_like(values)
    result[first:] = np.convolve(values, kernel)[: len(values) - first]
    return result


def margin_error(tables: Tables, data: Tables, shape: Sequence[int]) -> NDArray[np.float64]:
    """Mean over the variables of the records moved in the variable's margin, (n_tables,).

    Parameters
    ----------
    tables : (n_tables, K) int
        Counts, cells in the order of the variables' levels, the last variable fastest.
    data : (K,) int
        Counts.
    shape : sequence of int
        Levels of each variable; their product is K.
    """
    difference = (tables - data).reshape(len(tables), *shape)
    axes = range(1, difference.ndim)
    total = np.zeros(len(tables))
    for axis in axes:
        others = tuple(a for a in axes if a != axis)
        total += np.abs(difference.sum(axis=others)).sum(axis=1) / 2
    return total / len(shape)


def log_odds_ratio(tables: Tables) -> NDArray[np.float64]:
    """Log odds ratio of 2 x 2 tables, one half added to each cell, (n_tables,)."""
    a, b, c, d = (np.asarray(tables) + 0.5).T
    return np.log(a) + np.log(d) - np.log(b) - np.log(c)


def losses(tables: Tables, data: Tables) -> dict[str, NDArray[np.float64]]:
    """What 2 x 2 tables lose of the data, (n_tables,) each.

    Parameters
    ----------
    tables : (n_tables, 4) int
        Counts.
    data : (4,) int
        Counts.

    Returns
    -------
    dict
        cells (`records_moved`), margins (`margin_error`) and the absolute error of the log odds
        ratio.
    """
    return {
        "cells": records_moved(tables, data),
        "margins": margin_error(tables, data, (2, 2)),
        "log odds ratio": np.abs(log_odds_ratio(tables) - log_odds_ratio(data[None])),
    }


# ------------------------------------------------------------------- predictive scores from draws


def _finite(log_cell_prob: ArrayLike) -> NDArray[np.float64]:
    cells = np.asarray(log_cell_prob, dtype=float)
    if not np.isfinite(cells).all():
        raise ValueError(
            "log_cell_prob has values that are not finite; each cell needs some chance"
        )
    return cells


def _log_coefficient(tables: Tables) -> NDArray[np.float64]:
    return gammaln(tables.sum(axis=-1) + 1) - gammaln(tables + 1.0).sum(axis=-1)


@one_blas_thread
def log_predictive(
    log_cell_prob: ArrayLike, tables: Tables, log_weights: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log posterior predictive probabilities of tables, averaged over draws of a model.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log probabilities of the cells in each draw.
    tables : (n_tables, K) int
        Tables.
    log_weights : (n_draws,) float, optional
        Log weights of the draws, up to a constant; equal ones if not given.

    Returns
    -------
    log_prob : (n_tables,) float64
        Log of the weighted mean of the multinomial probabilities.
    mcse : (n_tables,) float64
        Its standard error, for draws that are independent.
    """
    cells = np.asarray(log_cell_prob, dtype=float)
    weights = np.zeros(len(cells)) if log_weights is None else np.asarray(log_weights, dtype=float)
    weights = weights - logsumexp(weights)
    # Cells of probability zero matter to tables that use them only.
    possible = np.isfinite(cells)
    each = tables @ np.where(possible, cells, 0.0).T
    each[tables @ (~possible).T.astype(np.int64) > 0] = -np.inf
    terms = each + weights
    total = logsumexp(terms, axis=1)
    # The weighted mean's relative error: the root of the sum of w^2 (p / mean - 1)^2.
    with np.errstate(invalid="ignore"):
        relative = np.exp(terms - total[:, None]) - np.exp(weights)
    return total + _log_coefficient(tables), np.sqrt((relative**2).sum(axis=1))


@one_blas_thread
def log_linear_draws(
    shape: Sequence[int],
    n_draws: int,
    *,
    rng: np.random.Generator,
    sd: float = 1.0,
    pairwise: bool = True,
) -> NDArray[np.float64]:
    """Cell probabilities from the prior of a log-linear model with main and pairwise effects.

    Parameters
    ----------
    shape : sequence of int
        Levels of each variable.
    n_draws : int
        Draws, 1 or more.
    rng : numpy.random.Generator
        Source of chance.
    sd : float
        Standard deviation of the independent normal priors of all effects, positive.
    pairwise : bool
        Whether the model has pairwise effects; without them the variables are independent.

    Returns
    -------
    (n_draws, K) float64
        Log probabilities of the cells. Weighted with the likelihood of a table they are draws
        from the posterior (`log_likelihood`).
    """
    checks.at_least(1, n_draws=n_draws)
    checks.positive(sd=sd)
    levels = np.indices(shape).reshape(len(shape), -1).T
    columns = [levels[:, v] == level for v in range(len(shape)) for level in range(1, shape[v])]
    owners = [v for v in range(len(shape)) for _ in range(1, shape[v])]
    pairs = [
        columns[i] & columns[j]
        for i in range(len(columns))
        for j in range(i + 1, len(columns))
        if pairwise and owners[i] != owners[j]
    ]
    design = np.array([*columns, *pairs], dtype=float)
    effects = rng.normal(0.0, sd, (n_draws, len(design)))
    logits = effects @ design
    return logits - logsumexp(logits, axis=1, keepdims=True)


@one_blas_thread
def log_likelihood(log_cell_prob: ArrayLike, data: Tables) -> NDArray[np.float64]:
    """Log multinomial likelihood of each draw's cell probabilities given a table, (n_draws,)."""
    cells = np.asarray(log_cell_prob, dtype=float)
    return cells[:, data > 0] @ data[data > 0]


def score_by_model(
    log_cell_prob: ArrayLike, tables: Tables
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimated log predictive probabilities of all tables given each of them.

    Parameters
    ----------
    log_cell_prob : (n_tables, n_chains, n_draws, K) float
        Log cell probabilities in draws of the model given each table, 2 draws or more.
    tables : (n_tables, K) int
        Data sets, and releases.

    Returns
    -------
    log_prob, mcse : (n_tables, n_tables) float64
        Rows are data sets. The standard error comes from the spread of the chains' halves, so that
        it counts what chains that mix slowly or disagree lack.
    """
    cells = np.asarray(log_cell_prob, dtype=float)
    if cells.ndim != 4 or cells.shape[2] < 2:
        raise ValueError(
            f"log_cell_prob has shape {cells.shape}; it must be (tables, chains, draws, cells) "
            "with 2 draws or more"
        )
    half = cells.shape[2] // 2
    parts = np.concatenate([cells[:, :, :half], cells[:, :, -half:]], axis=1)

    def score(draws: NDArray[np.float64]) -> NDArray[np.float64]:
        return log_predictive(draws.reshape(-1, draws.shape[-1]), tables)[0]

    log_prob = np.array([score(draws) for draws in cells])
    ratio = np.exp([[score(half) for half in draws] for draws in parts] - log_prob[:, None])
    return log_prob, ratio.std(axis=1, ddof=1) / np.sqrt(parts.shape[1])


def score_by_prior(
    log_cell_prob: ArrayLike, tables: Tables
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log predictive probabilities under a discrete prior, such as draws common to all data sets.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities, each with the same prior probability.
    tables : (n_tables, K) int
        Data sets, and releases.

    Returns
    -------
    log_prob, mcse : (n_tables, n_tables) float64
        Exact for this discrete prior; the standard error is that of an estimate for the prior that
        the draws come from. Rows are data sets.
    """
    weights = (log_likelihood(log_cell_prob, data) for data in tables)
    log_prob, mcse = zip(*(log_predictive(log_cell_prob, tables, w) for w in weights), strict=True)
    return np.array(log_prob), np.array(mcse)


def common_score(
    log_cell_prob: ArrayLike, tables: Tables, *, power: float = 1.0
) -> NDArray[np.float64]:
    """Log predictive probabilities of all tables given each, from draws common to all data sets.

    The scores of `score_by_prior` without their errors, by one matrix product.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities, finite, each with the same prior probability.
    tables : (n_tables, K) int
        Data sets, and releases.
    power : float
        The power to which the likelihood of the data is raised, 0 or more; 1 is the model's own.

    Returns
    -------
    (n_tables, n_tables) float64
        Rows are data sets.

    Raises
    ------
    ValueError
        If a probability is zero, the power is negative, or a likelihood is too small for a double.
    """
    cells = _finite(log_cell_prob)
    checks.at_least(0, power=power)
    log_prob = tables @ cells.T
    weights = power * log_prob - logsumexp(power * log_prob, axis=1, keepdims=True)
    largest = log_prob.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", under="ignore"):
        score = np.log(np.exp(weights) @ np.exp(log_prob - largest).T)
    if not np.isfinite(score).all():
        raise ValueError(
            "log_cell_prob and tables give likelihoods below the smallest double; "
            "`score_by_prior` computes in logs"
        )
    return score + largest[:, 0] + _log_coefficient(tables)


def sensitivity_bound(log_cell_prob: ArrayLike) -> float:
    """Bound the sensitivity of the log predictive score of draws common to all data sets.

    Moving a record from cell i to cell j multiplies the weight of draw s by
    ``c_s = theta_sj / theta_si``. The predictive probability of a table is a ratio of two sums over
    the draws, and each is multiplied by a weighted mean of the c_s. The logarithm of their ratio is
    thus at most the range of log c_s over the draws, whatever the data, the number of their
    records, and the released table. The largest range over pairs of cells is the bound.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities in draws of a model that do not depend on the data.

    Returns
    -------
    float
        0 or more; infinite where a draw gives a cell no probability, because a record can then
        exclude the draw.

    Examples
    --------
    >>> draws = np.log([[0.5, 0.5], [0.8, 0.2]])
    >>> round(sensitivity_bound(draws), 4)  # log 4: the odds are 1 in one draw and 4 in the other
    1.3863
    """
    cells = np.asarray(log_cell_prob, dtype=float)
    if not np.isfinite(cells).all():
        return float("inf")
    return max(float(np.ptp(cells - cells[:, [i]], axis=0).max()) for i in range(cells.shape[1]))


def limit_log_ratios(log_cell_prob: ArrayLike, bound: float) -> NDArray[np.float64]:
    """Truncate cell probabilities so that `sensitivity_bound` is at most the number given.

    In each draw a cell gets at least exp(-bound / 2) times the probability of the most probable
    one, and all are divided by their sum. The log of the ratio of two cells then lies within half
    the bound of 0, whatever the model.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities; cells of probability zero are allowed.
    bound : float
        The bound that is wanted, positive.

    Returns
    -------
    (n_draws, K) float64
        Log cell probabilities; their exponentials sum to one over the cells.

    Examples
    --------
    >>> limited = limit_log_ratios(np.log([[0.5, 0.5], [0.99, 0.01], [0.01, 0.99]]), bound=2.0)
    >>> round(sensitivity_bound(limited), 4)
    2.0
    """
    checks.positive(bound=bound)
    cells = np.asarray(log_cell_prob, dtype=float)
    raised = np.maximum(cells, cells.max(axis=1, keepdims=True) - bound / 2)
    return raised - logsumexp(raised, axis=1, keepdims=True)


# ------------------------------------------------------------------------ Metropolis over tables


@njit(nogil=True, cache=True)
def _walk(cells, log_weights, rate, table, most, thin, rng, kept, kept_score):
    """Move up to `most` records at a time; the target is exp(rate * log predictive), in place."""
    n_cells, n_draws = table.shape[0], cells.shape[0]
    terms = log_weights.copy()
    for j in range(n_draws):
        for k in range(n_cells):
            if table[k] > 0:
                terms[j] += table[k] * cells[j, k]
    largest = terms.max()
    score = largest + np.log(np.exp(terms - largest).sum())
    moved = np.empty(n_draws)
    coefficient, accepted = 0.0, 0
    for keep in range(kept.shape[0]):
        for _ in range(thin):
            source = rng.integers(0, n_cells)
            target = rng.integers(0, n_cells - 1)
            target += target >= source
            size = rng.integers(1, most + 1)
            if table[source] < size:
                continue
            largest = -np.inf
            for j in range(n_draws):
                moved[j] = terms[j] + size * (cells[j, target] - cells[j, source])
                largest = max(largest, moved[j])
            total = 0.0
            for j in range(n_draws):
                total += np.exp(moved[j] - largest)
            proposed = largest + np.log(total)
            change = 0.0
            for i in range(size):
                change += np.log(table[source] - i) - np.log(table[target] + i + 1.0)
            log_ratio = rate * (proposed - score + change)
            if log_ratio >= 0 or rng.random() < np.exp(log_ratio):
                table[source] -= size
                table[target] += size
                terms[:] = moved
                score = proposed
                coefficient += change
                accepted += 1
        kept[keep] = table
        kept_score[keep] = score + coefficient
    return accepted


def metropolis(
    log_cell_prob: ArrayLike,
    rate: float,
    n: int,
    *,
    n_draws: int,
    thin: int,
    n_chains: int,
    rng: np.random.Generator,
    most: int = 1,
    log_weights: ArrayLike | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Tables from the exponential mechanism with a log predictive score, by random walk.

    A step proposes to move records from one cell to another, 1 to `most` of them alike. What a
    chain that has not converged releases has no guarantee of privacy. Every chain starts from
    records spread uniformly over the cells, without regard to the data: a start at the data would
    give them away.

    Parameters
    ----------
    log_cell_prob : (n_model_draws, K) float
        Draws of the model given the data, finite; the score is `log_predictive` of the table.
    rate : float
        The mechanism's rate, 0 or more.
    n : int
        Records in a table, 1 or more.
    n_draws, thin, n_chains : int
        Tables kept from each chain, steps for each table, and chains, 1 or more.
    rng : numpy.random.Generator
        Each chain takes a stream spawned from it.
    most : int
        Most records moved in a step, 1 or more; the flatter the target, the larger.
    log_weights : (n_model_draws,) float, optional
        Log weights of the model's draws; equal ones if not given.

    Returns
    -------
    tables : (n_chains, n_draws, K) int64
    score : (n_chains, n_draws) float64
        The log predictive score, up to a constant of each chain's start.
    acceptance : float
        Share of steps that moved records.
    """
    cells = np.ascontiguousarray(_finite(log_cell_prob))
    checks.at_least(0, rate=rate)
    checks.finite(rate=rate)
    checks.at_least(1, n=n, n_draws=n_draws, thin=thin, n_chains=n_chains, most=most)
    weights = np.zeros(len(cells)) if log_weights is None else np.asarray(log_weights, dtype=float)
    n_cells = cells.shape[1]
    tables = np.empty((n_chains, n_draws, n_cells), dtype=np.int64)
    score = np.empty((n_chains, n_draws))
    accepted = 0
    for chain, stream in enumerate(rng.spawn(n_chains)):
        table = stream.multinomial(n, np.full(n_cells, 1 / n_cells)).astype(np.int64)
        begin = float(_log_coefficient(table))
        kept = tables[chain], score[chain]
        accepted += _walk(cells, weights, rate, table, most, thin, stream, *kept)
        score[chain] += begin
    return tables, score, accepted / (n_chains * n_draws * thin)


def walk_matrix(log_weights: NDArray[np.float64], tables: Tables) -> NDArray[np.float64]:
    """Transition probabilities of the walk that moves one record at a time, over all tables.

    Parameters
    ----------
    log_weights : (..., n_tables) float
        Log of the target, up to a constant.
    tables : (n_tables, K) int
        All tables of n records, as `families.compositions` lists them.

    Returns
    -------
    (..., n_tables, n_tables) float64
        Rows sum to one. What t steps from a start distribution give is its product with the t-th
        power.
    """
    n_cells = tables.shape[1]
    first, second = change_one_record(tables).T
    matrix = np.zeros((*log_weights.shape, log_weights.shape[-1]))
    proposed = 1 / (n_cells * (n_cells - 1))
    for a, b in ((first, second), (second, first)):
        ratio = log_weights[..., b] - log_weights[..., a]
        matrix[..., a, b] = proposed * np.exp(np.minimum(ratio, 0.0))
    diagonal = np.arange(len(tables))
    matrix[..., diagonal, diagonal] = 1 - matrix.sum(axis=-1)
    return matrix


@one_blas_thread
def epsilon_by_step(
    log_weights: NDArray[np.float64], tables: Tables, doublings: int
) -> dict[int, dict[str, float]]:
    """Exact epsilon of releasing the walk's table after 1, 2, 4, ... steps.

    Parameters
    ----------
    log_weights : (n_tables, n_tables) float
        Log of the target for each data set (rows), up to a constant.
    tables : (n_tables, K) int
        All tables of n records.
    doublings : int
        Steps are 1, 2, 4, ... 2^doublings.

    Returns
    -------
    dict
        Steps to epsilon from records spread uniformly (uniform start) and from a chain that
        starts at the data: infinite where that leaves some table impossible.
    """
    pairs = change_one_record(tables)
    even = np.full((1, tables.shape[1]), -np.log(tables.shape[1]))
    uniform = np.exp(log_predictive(even, tables)[0])
    power, result = walk_matrix(log_weights, tables), {}
    for doubling in range(doublings + 1):
        after = {
            "uniform start": np.einsum("i,dij->dj", uniform, power),
            "start at the data": np.einsum("ddj->dj", power),
        }
        with np.errstate(divide="ignore"):
            made = {name: Mechanism.from_table(np.log(p), pairs) for name, p in after.items()}
        result[2**doubling] = {name: exact_epsilon(m).value for name, m in made.items()}
        power = power @ power
    return result
