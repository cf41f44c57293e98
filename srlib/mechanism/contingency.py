"""Synthetic contingency tables: log predictive scores from draws, and sensitivity.

A table is a vector of counts of n records on K cells.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.special import logsumexp

from srlib import checks
from srlib.arrays import ArrayLike, Floats, Generator, Ints
from srlib.mechanism.families import log_multinomial
from srlib.threads import one_blas_thread


@one_blas_thread
def log_predictive(
    log_cell_prob: ArrayLike,
    tables: Ints,
    log_weights: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Return log posterior predictive probabilities of tables from draws of a model.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log probabilities of the cells in each draw.
    tables : (n_tables, K) int
        Counts of the cells.
    log_weights : (n_draws,) float, optional
        Log weights of the draws, up to a constant; by default equal.

    Returns
    -------
    log_prob, mcse : (n_tables,) float64
        Log of the weighted mean of the multinomial probabilities, and its standard
        error for independent draws.
    """
    cells = np.asarray(log_cell_prob, float)
    weights = np.full(len(cells), log_weights, float)
    weights -= logsumexp(weights)
    # A cell of probability zero affects only tables that use it.
    is_possible = np.isfinite(cells)
    log_likelihood = tables @ np.where(is_possible, cells, 0.0).T  # (n_tables, n_draws)
    n_impossible = tables @ ~is_possible.T
    log_likelihood[n_impossible > 0] = -np.inf
    terms = log_likelihood + weights
    log_mean = logsumexp(terms, axis=1)
    # Relative error of the weighted mean: the root of the sum of w^2 (p / mean - 1)^2.
    with np.errstate(invalid="ignore"):
        errors = np.exp(terms - log_mean[:, None]) - np.exp(weights)
    mcse = np.sqrt((errors**2).sum(axis=1))
    return log_mean + log_multinomial(tables), mcse


@one_blas_thread
def log_linear_draws(
    shape: Sequence[int],
    n_draws: int,
    *,
    rng: Generator,
    pairwise: bool = True,
) -> Floats:
    """Draw log cell probabilities, (n_draws, K), from the prior of a log-linear model.

    All effects have independent standard normal priors.

    Parameters
    ----------
    shape : sequence of int
        Number of levels of each variable.
    n_draws : int
        Number of draws, 1 or more.
    rng : numpy.random.Generator
        Random number generator.
    pairwise : bool
        Whether the model has two-way interactions; without them the variables are
        independent.
    """
    checks.at_least(1, n_draws=n_draws)
    design = _log_linear_design(shape, pairwise)
    effects = rng.standard_normal((n_draws, len(design)))
    logits = effects @ design
    return logits - logsumexp(logits, axis=1, keepdims=True)


def _log_linear_design(shape: Sequence[int], pairwise: bool) -> Floats:
    """Return the cells that each effect changes, (n_effects, K); level 0 has none."""
    effects = []
    for variable, n_levels in zip(np.indices(shape), shape, strict=True):
        for level in range(1, n_levels):
            effects.append(variable.ravel() == level)
    if pairwise:
        joint = [a & b for a, b in combinations(effects, 2)]
        # Two levels of one variable have no cell in common.
        effects += [cells for cells in joint if cells.any()]
    return np.array(effects, float)


def log_predictive_score(log_cell_prob: ArrayLike, tables: Ints) -> Floats:
    """Return the log predictive probability of each table given each table.

    Log cell probabilities, (n_draws, K), must be finite. The tables, (n_tables, K), are
    both the data sets (rows of the result) and the releases (columns). The result is
    exact for the discrete prior with equal probability on each draw. There is a
    ValueError if a likelihood underflows.
    """
    cells = np.asarray(log_cell_prob, float)
    if not np.isfinite(cells).all():
        raise ValueError("log_cell_prob has values that are not finite; all must be")
    log_likelihood = tables @ cells.T  # (n_tables, n_draws)
    log_weights = log_likelihood - logsumexp(log_likelihood, axis=1, keepdims=True)
    largest = log_likelihood.max(axis=1, keepdims=True)
    relative = np.exp(log_likelihood - largest)
    with np.errstate(divide="ignore", under="ignore"):
        score = np.log(np.exp(log_weights) @ relative.T)
    if not np.isfinite(score).all():
        raise ValueError(
            "log_cell_prob gives likelihoods below the smallest double; use "
            "log_predictive"
        )
    return score + largest[:, 0] + log_multinomial(tables)


def sensitivity_bound(log_cell_prob: ArrayLike) -> float:
    """Return a bound on the sensitivity of `log_predictive_score`.

    Moving a record from cell i to cell j multiplies the weight of draw s by ``c_s =
    theta_sj / theta_si``. The predictive probability of a table is a ratio of two sums
    over the draws, and each is multiplied by a weighted mean of the c_s. The logarithm
    of their ratio is thus at most the range of log c_s over the draws, for all data,
    numbers of records and released tables. The largest range over pairs of cells is the
    bound. It is infinite if a draw gives a cell probability zero, because a record can
    then exclude the draw.

    Examples
    --------
    >>> draws = np.log([[0.5, 0.5], [0.8, 0.2]])
    >>> round(sensitivity_bound(draws), 4)  # log 4: the odds are 1 and 4
    1.3863
    """
    cells = np.asarray(log_cell_prob, float)
    if not np.isfinite(cells).all():
        return float("inf")
    ranges = [np.ptp(cells - cell[:, None], axis=0) for cell in cells.T]
    return float(np.max(ranges))


def limit_log_ratios(log_cell_prob: ArrayLike, bound: float) -> Floats:
    """Truncate log cell probabilities so that `sensitivity_bound` is at most `bound`.

    In each draw, every cell gets at least exp(-bound / 2) times the probability of the
    most probable cell, and the probabilities are normalized again. The log ratio of two
    cells is then at most half the bound in absolute value, for every model. Cells of
    probability zero are allowed.

    Examples
    --------
    >>> draws = np.log([[0.5, 0.5], [0.99, 0.01], [0.01, 0.99]])
    >>> limited = limit_log_ratios(draws, bound=2.0)
    >>> round(sensitivity_bound(limited), 4)
    2.0
    """
    checks.positive(bound=bound)
    cells = np.asarray(log_cell_prob, float)
    least = cells.max(axis=1, keepdims=True) - bound / 2
    raised = np.maximum(cells, least)
    return raised - logsumexp(raised, axis=1, keepdims=True)
