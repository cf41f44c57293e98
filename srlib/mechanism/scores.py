"""Mechanisms from scores of any kind: Gibbs and exponential."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from srlib import checks
from srlib.mechanism.core import Mechanism
from srlib.mechanism.privacy import conservative_root, exact_epsilon


def sensitivity(score: ArrayLike, neighbors: ArrayLike) -> float:
    """Largest difference of a score between neighboring data sets, over all outputs.

    The arguments are those of `gibbs`. See Charest (2013), section 3; McSherry and Talwar (2007).
    """
    table = _score(score)
    pairs = np.asarray(neighbors, dtype=np.int64)
    # The difference of scores where a mechanism has that of log probabilities.
    n_inputs, n_outputs = table.shape
    same = Mechanism(lambda r, c: table[np.ix_(r, c)], n_inputs, n_outputs, pairs)
    return exact_epsilon(same).value


_sensitivity = sensitivity  # where an argument has the function's name


def gibbs(
    score: ArrayLike,
    rate: float,
    neighbors: ArrayLike,
    *,
    inputs: Sequence = (),
    outputs: Sequence = (),
) -> Mechanism:
    """Outputs with probabilities proportional to exp(rate * score).

    Parameters
    ----------
    score : (n_inputs, n_outputs) float
        Finite; the higher, the more appealing the output for the data set.
    rate : float
        0 or more; 0 ignores the data.
    neighbors, inputs, outputs
        As of `Mechanism`.
    """
    table = _score(score)
    checks.at_least(0, rate=rate)
    checks.finite(rate=rate)
    weights = rate * table
    log_prob = weights - logsumexp(weights, axis=1, keepdims=True)
    return Mechanism.from_table(log_prob, neighbors, inputs, outputs)


def exponential(
    score: ArrayLike,
    epsilon: float,
    neighbors: ArrayLike,
    *,
    sensitivity: float | None = None,
    inputs: Sequence = (),
    outputs: Sequence = (),
) -> Mechanism:
    """The exponential mechanism: weights exp(epsilon score / (2 sensitivity)).

    Parameters
    ----------
    score, neighbors, inputs, outputs
        As of `gibbs`; some neighbors differ in their scores.
    epsilon : float
        The budget, positive. The exact epsilon may be smaller.
    sensitivity : float, optional
        What the score's sensitivity is taken to be, positive; the exact one if not given. Where it
        is smaller than that, a warning has the exact epsilon.

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
    if sensitivity is not None:
        checks.positive(sensitivity=sensitivity)
    true = _sensitivity(score, neighbors)
    if true == 0:
        raise ValueError(
            "score has sensitivity 0: it is the same for all neighbors, so that no output depends "
            "on a record and no budget is needed"
        )
    used = true if sensitivity is None else sensitivity
    rate = epsilon / (2 * used)
    made = gibbs(score, rate, neighbors, inputs=inputs, outputs=outputs)
    if used < true * (1 - 1e-9):
        warnings.warn(
            f"sensitivity is {used:.6g}, the score's is {true:.6g}: the exact epsilon is "
            f"{exact_epsilon(made).value:.6g}, where epsilon is {epsilon:.6g}",
            stacklevel=2,
        )
    return made


def calibrate_rate(score: ArrayLike, epsilon: float, neighbors: ArrayLike) -> float:
    """The rate for which the exact epsilon of `gibbs` is the one given, and never above it.

    At the exponential mechanism's rate, epsilon / (2 sensitivity), the budget is never exceeded;
    from there on the rate is raised until the exact epsilon reaches it, at most 2^40 times. Log
    probabilities of neighbors differ by the rate times the difference of scores, less that of the
    log normalizing constants, so that the smallest and the largest difference of each pair suffice.
    """
    checks.positive(epsilon=epsilon)
    table, pairs = _score(score), np.asarray(neighbors, dtype=np.int64)
    ends = np.array([[d.min(), d.max()] for a, b in pairs for d in (table[a] - table[b],)])

    def estimated_excess(rate: float) -> float:
        log_total = logsumexp(rate * table, axis=1)
        of_total = log_total[pairs[:, 0]] - log_total[pairs[:, 1]]
        return float(np.abs(rate * ends - of_total[:, None]).max()) - epsilon

    def excess(rate: float) -> float:
        return exact_epsilon(gibbs(score, rate, pairs)).value - epsilon

    low = float(epsilon / (2 * np.abs(ends).max()))
    if estimated_excess(low) >= 0:  # what the exponential mechanism promises is attained
        return conservative_root(low, 0.0, excess)
    for _ in range(40):
        if estimated_excess(2 * low) >= 0:
            root = float(brentq(estimated_excess, low, 2 * low, xtol=1e-13 * low, rtol=1e-13))
            return conservative_root(root, 0.0, excess)
        low *= 2
    raise ValueError(f"epsilon is {epsilon}; the score cannot be made to spend it")


def _score(score: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(score, dtype=float)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"score has shape {table.shape}; it must be (n_inputs, n_outputs) with at least one "
            "output"
        )
    strange = np.argwhere(~np.isfinite(table))
    if len(strange):
        row, column = strange[0]
        raise ValueError(
            f"score of output {column} for data set {row} is {table[row, column]}; "
            "it must be finite"
        )
    return table
