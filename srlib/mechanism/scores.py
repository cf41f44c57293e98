"""The exponential mechanism of any score, and the Gibbs mechanism with a rate."""

import warnings

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from srlib import checks
from srlib.arrays import ArrayLike, Floats, Ints
from srlib.mechanism.core import Mechanism
from srlib.mechanism.privacy import conservative_root, exact_epsilon


def sensitivity(score: ArrayLike, neighbors: ArrayLike) -> float:
    """Return the largest difference of a score between neighbors for any output.

    The arguments are those of `gibbs`. See Charest (2013), section 3; McSherry and
    Talwar (2007).
    """
    table = _checked_score(score)
    n_inputs, n_outputs = table.shape
    # exact_epsilon takes the largest difference of any table; this one holds scores.
    scores = Mechanism(
        lambda rows, columns: table[np.ix_(rows, columns)],
        n_inputs,
        n_outputs,
        np.asarray(neighbors),
    )
    return exact_epsilon(scores).value


_sensitivity = sensitivity  # for use where an argument has the same name


def gibbs(
    score: ArrayLike,
    rate: float,
    neighbors: ArrayLike,
) -> Mechanism:
    """Return the mechanism with probabilities proportional to exp(rate * score).

    Parameters
    ----------
    score : (n_inputs, n_outputs) float
        Finite scores; outputs with a higher score are more probable given the data set.
    rate : float
        0 or more; with 0 the outputs do not depend on the data.
    neighbors
        As in `Mechanism`.
    """
    table = _checked_score(score)
    checks.at_least(0, rate=rate)
    checks.finite(rate=rate)
    weights = rate * table
    log_prob = weights - logsumexp(weights, axis=1, keepdims=True)
    return Mechanism.from_table(log_prob, neighbors)


def exponential(
    score: ArrayLike,
    epsilon: float,
    neighbors: ArrayLike,
    *,
    sensitivity: float | None = None,
) -> Mechanism:
    """Return the exponential mechanism: weights exp(epsilon score / (2 sensitivity)).

    Parameters
    ----------
    score, neighbors
        As in `gibbs`; the sensitivity of the score must not be zero.
    epsilon : float
        The privacy budget, positive. The exact epsilon may be smaller.
    sensitivity : float, optional
        The assumed sensitivity of the score, positive; by default the exact one. If it
        is smaller than the exact one, a warning states the exact epsilon.

    References
    ----------
    Charest (2013), section 3; McSherry and Talwar (2007).

    Examples
    --------
    >>> from srlib.mechanism import exact_epsilon
    >>> nearness = -np.abs(np.subtract.outer(range(4), range(4)))
    >>> table = exponential(nearness, epsilon=1.0, neighbors=[(0, 1), (1, 2), (2, 3)])
    >>> bool(exact_epsilon(table).value <= 1.0)
    True
    """
    checks.positive(epsilon=epsilon)
    exact = _sensitivity(score, neighbors)
    if exact == 0:
        raise ValueError(
            "score has sensitivity 0; it must differ between some neighbors"
        )
    sensitivity = exact if sensitivity is None else sensitivity
    checks.positive(sensitivity=sensitivity)
    rate = epsilon / (2 * sensitivity)
    mechanism = gibbs(score, rate, neighbors)
    if sensitivity < exact * (1 - 1e-9):
        warnings.warn(
            f"sensitivity is {sensitivity:.6g} and that of the score {exact:.6g}, so "
            f"the exact epsilon is {exact_epsilon(mechanism).value:.6g} and not "
            f"{epsilon:.6g}",
            stacklevel=2,
        )
    return mechanism


def calibrate_rate(
    score: ArrayLike,
    epsilon: float,
    neighbors: ArrayLike,
) -> float:
    """Return the rate at which `gibbs` has this exact epsilon, or by rounding less.

    The search starts at the exponential mechanism's rate, epsilon / (2 sensitivity),
    which never exceeds the budget, and raises it at most 2^40 times. Log probabilities
    of neighbors differ by the rate times the difference of scores, minus the difference
    of the log normalizing constants. So the smallest and the largest difference of
    scores of each pair suffice.
    """
    checks.positive(epsilon=epsilon)
    table = _checked_score(score)
    pairs = np.asarray(neighbors, int)
    ranges = _difference_ranges(table, pairs)

    def estimated_excess(rate: float) -> float:
        log_totals = logsumexp(rate * table, axis=1)
        losses = rate * ranges + np.diff(log_totals[pairs])
        return float(np.abs(losses).max()) - epsilon

    def excess(rate: float) -> float:
        return exact_epsilon(gibbs(score, rate, pairs)).value - epsilon

    low = epsilon / (2 * np.abs(ranges).max())
    if estimated_excess(low) >= 0:  # the exponential mechanism attains its bound
        return conservative_root(low, 0.0, excess)
    for _ in range(40):
        high = 2 * low
        if estimated_excess(high) >= 0:
            root = brentq(
                estimated_excess,
                low,
                high,
                xtol=1e-13 * low,
                rtol=1e-13,
            )
            return conservative_root(root, 0.0, excess)
        low = high
    raise ValueError(f"epsilon is {epsilon}; no rate of this score attains it")


def _difference_ranges(table: Floats, pairs: Ints) -> Floats:
    """Return the smallest and largest difference of scores by pair, (n_pairs, 2)."""
    ranges = []
    for first, second in pairs:
        differences = table[first] - table[second]
        ranges.append((differences.min(), differences.max()))
    return np.array(ranges)


def _checked_score(score: ArrayLike) -> Floats:
    """Return the table of scores if it is complete."""
    table = np.asarray(score, float)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"score has shape {table.shape}; it must be (n_inputs, n_outputs), 1 or "
            "more each"
        )
    not_finite = np.argwhere(~np.isfinite(table))
    if len(not_finite):
        row, column = not_finite[0]
        raise ValueError(
            f"score[{row}, {column}] is {table[row, column]}; it must be finite"
        )
    return table
