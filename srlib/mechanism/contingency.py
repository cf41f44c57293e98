"""Contingency tables as releases: predictive scores from draws of a model, and their sensitivity.

A table is a vector of counts of n records on K cells.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from srlib import checks
from srlib.threads import one_blas_thread

Tables = NDArray[np.int64]


def records_moved(tables: Tables, data: Tables) -> NDArray[np.float64]:
    """Records in another cell than in the data, (n_tables,): half the sum of ``|r - d|``."""
    return np.abs(tables - data).sum(axis=-1) / 2


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
    log_prob, mcse : (n_tables,) float64
        Log of the weighted mean of the multinomial probabilities, and its standard error for
        independent draws.
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
    """Log cell probabilities, (n_draws, K), from the prior of a log-linear model.

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


def log_predictive_score(log_cell_prob: ArrayLike, tables: Tables) -> NDArray[np.float64]:
    """Log predictive probabilities of all tables given each, from draws common to all data sets.

    Exact for the discrete prior that gives each draw the same probability. Takes finite log cell
    probabilities, (n_draws, K), and all tables, (n_tables, K), as data sets, the rows of the
    result, and as releases. A ValueError says so where a likelihood is too small for a double.
    """
    cells = np.asarray(log_cell_prob, dtype=float)
    if not np.isfinite(cells).all():
        raise ValueError(
            "log_cell_prob has values that are not finite; each cell needs some chance"
        )
    log_prob = tables @ cells.T
    weights = log_prob - logsumexp(log_prob, axis=1, keepdims=True)
    largest = log_prob.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", under="ignore"):
        score = np.log(np.exp(weights) @ np.exp(log_prob - largest).T)
    if not np.isfinite(score).all():
        raise ValueError(
            "log_cell_prob and tables give likelihoods below the smallest double; "
            "`log_predictive` computes in logs"
        )
    return score + largest[:, 0] + _log_coefficient(tables)


def sensitivity_bound(log_cell_prob: ArrayLike) -> float:
    """Bound the sensitivity of the log predictive score of draws common to all data sets.

    Moving a record from cell i to cell j multiplies the weight of draw s by
    ``c_s = theta_sj / theta_si``. The predictive probability of a table is a ratio of two sums over
    the draws, and each is multiplied by a weighted mean of the c_s. The logarithm of their ratio is
    thus at most the range of log c_s over the draws, whatever the data, the number of their
    records, and the released table. The largest range over pairs of cells is the bound. It is
    infinite where a draw gives a cell no probability, because a record can then exclude the draw.

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
    the bound of 0, whatever the model. Cells of probability zero are allowed.

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
