"""Regressions: one logistic, on records or on counts of combinations, and one linear.

Designs come a block of rows at a time, so that one of a million records fits into memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import linprog

from srlib.data.codes import Codes, Levels
from srlib.threads import one_blas_thread

INTERCEPT = "Intercept"

_BLOCK = 1 << 14  # rows of a design matrix that are held at once

Blocks = Iterator[tuple[slice, NDArray[np.float64]]]


@dataclass(frozen=True)
class Regression:
    """A fitted regression; arrays are (n_terms,), the intercept first.

    Attributes
    ----------
    terms : tuple of str
        ``"Intercept"`` and the names of the predictors.
    estimate, standard_error : ndarray of float
        Estimates and their standard errors, of a logistic regression by maximum likelihood and
        from the observed information; NaN for what the records do not determine.
    n_records : int
        Records that it was fitted to.
    """

    terms: tuple[str, ...]
    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n_records: int


@one_blas_thread
def logistic_regression(
    outcome: ArrayLike, predictors: ArrayLike, names: Sequence[str]
) -> Regression:
    """Logistic regression by maximum likelihood, predictors entering as numbers.

    Table 2 of Hu, Reiter and Wang (2014) has the signs of the probability of DIS = 2, no
    disability, with every predictor's code (1, 2, ...) as a number. Where the codes start
    matters to the intercept alone.

    Parameters
    ----------
    outcome : array_like
        (n,) bool or 0/1: whether the event happened.
    predictors : array_like of float
        (n, n_predictors).
    names : sequence of str
        Names of the predictors, (n_predictors,).

    Returns
    -------
    Regression
        Estimates and standard errors, the intercept first.

    Raises
    ------
    ValueError
        If a predictor is called as the intercept is, if the outcome is not binary or has one value
        only, if a predictor is constant or a combination of others, or if the predictors separate
        the outcome, so that no finite estimate exists.
    RuntimeError
        If the maximization does not converge all the same.
    """
    y = np.asarray(outcome)
    x = np.asarray(predictors, dtype=float)
    if y.ndim != 1 or x.ndim != 2 or len(y) != len(x) or x.shape[1] != len(names):
        raise ValueError(
            f"outcome has shape {y.shape}, predictors {x.shape} and names {len(names)}; they "
            "must be (n,), (n, n_predictors) and n_predictors"
        )
    if INTERCEPT in names:
        raise ValueError(f"names has {INTERCEPT!r}, the name of the constant; rename the predictor")
    if not np.isin(y, (0, 1)).all():
        raise ValueError(f"outcome takes the values {np.unique(y)[:6]}; it must be 0 or 1")
    y = y.astype(float)
    if not 0 < y.sum() < len(y):
        raise ValueError(
            f"outcome is {y[0]:.0f} in all {len(y)} records; both values must occur"
            if len(y)
            else "outcome has no records"
        )
    design = np.column_stack([np.ones(len(y)), x])
    terms = (INTERCEPT, *names)
    _check_determined(y, design, terms)

    def blocks() -> Blocks:
        return ((rows, design[rows]) for rows in _rows(len(y)))

    ones = np.ones(len(y))
    estimate, fitted = _maximized(blocks, ones, y, tolerance=1e-9)
    information, _ = _derivatives(blocks(), ones, y, fitted)
    return Regression(terms, estimate, np.sqrt(np.diag(np.linalg.inv(information))), len(y))


def _check_determined(
    y: NDArray[np.float64], design: NDArray[np.float64], terms: Sequence[str]
) -> None:
    """Raise ValueError unless the maximum likelihood estimate exists and is unique."""
    if np.linalg.matrix_rank(design) < design.shape[1]:
        constant = [
            term
            for term, column in zip(terms[1:], design.T[1:], strict=True)
            if np.ptp(column) == 0
        ]
        raise ValueError(
            "predictors are linearly dependent"
            + (f": {', '.join(constant)} is the same in all records" if constant else "")
        )
    if separating := _separating_terms(y, design, terms):
        raise ValueError(
            f"predictors separate the outcome (through {', '.join(separating)}); the maximum "
            "likelihood estimate is infinite"
        )


def _separating_terms(
    y: NDArray[np.float64], design: NDArray[np.float64], terms: Sequence[str]
) -> list[str]:
    """Terms of a direction in which the likelihood never falls; empty if there is none.

    Albert and Anderson (1984): the estimate is finite unless some b other than 0 has
    s_i x_i b >= 0 for every record, s_i = 1 for an event and -1 otherwise. The linear program
    that maximizes the sum of these products in a box has the optimum 0 exactly then.
    """
    # Records with the same values and outcome repeat a constraint.
    signed = np.unique((2 * y - 1)[:, None] * design / np.abs(design).max(axis=0), axis=0)
    best = linprog(-signed.mean(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    if -best.fun < 1e-9:
        return []
    return [term for term, slope in zip(terms, best.x, strict=True) if abs(slope) > 1e-9]


@one_blas_thread
def propensity_scores(
    codes: Codes, terms: NDArray[np.int64], total: NDArray[np.int64], events: NDArray[np.int64]
) -> tuple[NDArray[np.float64], int]:
    """Fit a logistic regression on indicators to counts of combinations.

    Coefficients go to infinity where a level occurs in one table only; fitted probabilities do
    not mind.

    Parameters
    ----------
    codes : (n_combinations, p) int
        Codes from 0.
    terms : (n_terms, 2, 2) int
        As `indicators` returns.
    total, events : (n_combinations,) int
        Records of each combination, and those of them for which the event happened.

    Returns
    -------
    fitted : (n_combinations,) float
        Probabilities of the event.
    rank : int
        Rank of the design, the constant included.

    Raises
    ------
    RuntimeError
        If the maximization does not converge.
    """
    gram = np.add.reduce([x.T @ x for _, x in _design(codes, terms)])
    terms = terms[np.diag(gram)[1:] > 0]
    rank = len(gram) - _null_space(gram).shape[1]
    # The ridge keeps a step finite in directions that no record tells anything about.
    ridge = 1e-10 * total.sum()
    _, fitted = _maximized(partial(_design, codes, terms), total, events, ridge=ridge)
    return fitted, rank


def _maximized(
    design: Callable[[], Blocks],
    total: NDArray[np.integer] | NDArray[np.float64],
    events: NDArray[np.integer] | NDArray[np.float64],
    *,
    ridge: float = 0.0,
    tolerance: float = 1e-6,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximum likelihood estimates and fitted probabilities of a logistic regression, by Newton.

    The ridge is added to the information that a step is taken with, and moves no maximum.
    """
    beta = np.zeros(next(design())[1].shape[1])
    beta[0] = special.logit(events.sum() / total.sum())

    def evaluated(beta: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        score = np.concatenate([x @ beta for _, x in design()])
        log_likelihood = events @ score - total @ np.logaddexp(0.0, score)
        return special.expit(score), log_likelihood

    fitted, reached = evaluated(beta)
    for _ in range(100):
        information, gradient = _derivatives(design(), total, events, fitted)
        step = np.linalg.solve(information + ridge * np.eye(len(beta)), gradient)
        after, value = evaluated(beta + step)
        while value < reached - 1e-9 * abs(reached):  # a Newton step may be too long
            step = step / 2
            after, value = evaluated(beta + step)
        change = np.abs(after - fitted).max()
        beta, fitted, reached = beta + step, after, value
        if change < tolerance:
            return beta, fitted
    raise RuntimeError("the logistic regression did not converge in 100 Newton steps")


def _derivatives(
    design: Blocks,
    total: NDArray[np.integer] | NDArray[np.float64],
    events: NDArray[np.integer] | NDArray[np.float64],
    fitted: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Information and gradient of the log likelihood of a logistic regression."""
    information, gradient = np.array(0.0), np.array(0.0)
    for rows, x in design:
        p = fitted[rows]
        information = information + (x * (total[rows] * p * (1 - p))[:, None]).T @ x
        gradient = gradient + x.T @ (events[rows] - total[rows] * p)
    return information, gradient


@one_blas_thread
def least_squares(
    codes: Codes, chosen: Sequence[tuple[int, int]], y: NDArray[np.bool_], names: Sequence[str]
) -> Regression:
    """Linear regression on indicators; NaN for coefficients that the records do not determine."""
    terms = np.array([(term, term) for term in chosen], dtype=np.int64).reshape(-1, 2, 2)
    gram = np.add.reduce([x.T @ x for _, x in _design(codes, terms)])
    moments = np.add.reduce([x.T @ y[rows] for rows, x in _design(codes, terms)])
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    estimate, null = inverse @ moments, _null_space(gram)
    left_over = y.sum() - estimate @ moments
    df = len(y) - len(gram) + null.shape[1]
    # A perfect fit has no standard errors, and coefficients with a part in the null space no value.
    variance = left_over / df if df > 0 and left_over > 1e-9 * len(y) else np.nan
    known = (null**2).sum(axis=1) < 1e-8
    return Regression(
        (INTERCEPT, *names),
        np.where(known, estimate, np.nan),
        np.sqrt(np.where(known, variance * np.diag(inverse), np.nan)),
        len(y),
    )


def indicators(n_levels: Levels, interactions: bool) -> NDArray[np.int64]:
    """Indicators of the levels but each variable's first, and products of two of them.

    (n_terms, 2, 2): a record has a term if both (variable, level) pairs are its own; those of a
    single variable name one pair twice.
    """
    single = [(k, level) for k, n in enumerate(n_levels) for level in range(1, int(n))]
    pairs = [(a, b) for a, b in combinations(single, 2) if a[0] != b[0]] if interactions else []
    return np.array([(term, term) for term in single] + pairs, dtype=np.int64).reshape(-1, 2, 2)


def _design(codes: Codes, terms: NDArray[np.int64]) -> Blocks:
    """The design matrix, a column of ones first, some rows at a time."""
    (variable_a, level_a), (variable_b, level_b) = terms.transpose(1, 2, 0)
    for rows in _rows(len(codes)):
        has = (codes[rows][:, variable_a] == level_a) & (codes[rows][:, variable_b] == level_b)
        yield rows, np.column_stack([np.ones(len(has)), has])


def _rows(n: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, n, _BLOCK))


def _null_space(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions of the coefficients that no record tells anything about, (n, n - rank)."""
    values, vectors = np.linalg.eigh(gram)
    return vectors[:, values <= 1e-10 * values[-1]]
