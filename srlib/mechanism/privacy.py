"""Exact epsilon and delta of a table, and calibration of a family to a privacy budget.

All functions here compare neighboring rows over every column.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from srlib import checks
from srlib.mechanism.core import (
    BLOCK_ENTRIES,
    BLOCK_WIDTH,
    Mechanism,
    Rows,
    log_difference,
)


@dataclass(frozen=True)
class Epsilon:
    """Exact epsilon, and the neighbors and output that attain it.

    Attributes
    ----------
    value : float
        Largest absolute difference of log probabilities between neighbors, over all
        outputs; infinite if an output is possible given one of two neighbors only.
    pair : tuple
        Names of the neighbors; the one with the larger probability comes first.
    output : object
        Name of the output.
    """

    value: float
    pair: tuple
    output: object

    def __str__(self) -> str:
        first, second = self.pair
        if np.isinf(self.value):
            return (
                f"Exact epsilon is infinite: output {self.output} is possible given data set "
                f"{first} and impossible given its neighbor {second}."
            )
        return (
            f"Exact epsilon is {self.value:.6g}: output {self.output} is exp({self.value:.6g}) "
            f"times as probable given data set {first} as given its neighbor {second}."
        )


def exact_epsilon(mechanism: Mechanism) -> Epsilon:
    """Return the exact epsilon: the smallest for which the mechanism is differentially private.

    The privacy loss attains it, so it is also called the tight epsilon.

    Raises
    ------
    ValueError
        If the mechanism has no neighbors.

    References
    ----------
    McClure and Reiter (2012), equation 1.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> found = exact_epsilon(beta_binomial(n=20, n_s=20, alpha=1.0))
    >>> round(found.value, 4), found.output
    (3.0445, 20)
    """
    if len(mechanism.neighbors) == 0:
        raise ValueError("mechanism has no neighbors; it must have at least one pair")
    best, at = -1.0, (0, 0, False)
    for chosen, columns, a, b in _pair_blocks(mechanism):
        difference = log_difference(a, b)
        flat = int(np.argmax(np.abs(difference)))
        pair, column = np.unravel_index(flat, difference.shape)
        if abs(difference[pair, column]) > best:
            best = float(abs(difference[pair, column]))
            at = (
                chosen.start + pair,
                columns[column],
                bool(difference[pair, column] < 0),
            )
    pair_at, output_at, swap = at
    first, second = (mechanism.inputs[i] for i in mechanism.neighbors[pair_at])
    names = (second, first) if swap else (first, second)
    return Epsilon(best, names, mechanism.outputs[output_at])


def conditional_epsilon(mechanism: Mechanism) -> NDArray[np.float64]:
    """Return the conditional epsilon of each data set: its largest privacy loss, (n_inputs,).

    The loss is taken in absolute value, over all neighbors and outputs. It is zero for
    a data set without neighbors. The largest conditional epsilon is the exact epsilon.

    References
    ----------
    Charest and Han, section 3.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> conditional_epsilon(beta_binomial(n=4, n_s=4, alpha=1.0)).round(2)
    array([1.61, 1.61, 1.1 , 1.61, 1.61])
    """
    of_pair = np.zeros(len(mechanism.neighbors))
    for chosen, _, a, b in _pair_blocks(mechanism):
        of_pair[chosen] = np.maximum(
            of_pair[chosen], np.abs(log_difference(a, b)).max(axis=1)
        )
    result = np.zeros(mechanism.n_inputs)
    for side in (0, 1):
        np.maximum.at(result, mechanism.neighbors[:, side], of_pair)
    return result


def privacy_loss(
    mechanism: Mechanism, true_row: int, alternative_row: int
) -> NDArray[np.float64]:
    """Return the privacy loss of each output, (n_outputs,).

    This is the log of the output's probability given the true data set over that given
    the alternative. It is zero if both probabilities are zero, and infinite if one is.
    For outputs drawn given the true data set the loss is a random variable. Exact
    epsilon is its largest absolute value over all neighbors, delta the excess in its
    tail, and its mean a relative entropy. It is added to the intruder's prior log odds
    to give the posterior log odds.

    References
    ----------
    McClure and Reiter (2012), equations 1 and 5; Charest and Han, equation 2.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> privacy_loss(beta_binomial(n=2, n_s=2, alpha=1.0), 2, 1).round(3)
    array([-1.099, -0.288,  0.693])
    """
    return log_difference(mechanism.row(true_row), mechanism.row(alternative_row))


def delta(mechanism: Mechanism, epsilon: float) -> float:
    """Return the smallest delta for which the mechanism is (epsilon, delta)-private.

    This is the largest hockey-stick divergence between neighbors, in either direction:
    the sum over outputs of max(0, p - exp(epsilon) q).

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    epsilon : float
        0 or more. At infinity, only outputs that are impossible given a neighbor count.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> table = beta_binomial(n=20, n_s=20, alpha=1.0)
    >>> round(delta(table, 1.0), 4), delta(table, 3.05)
    (0.0264, 0.0)
    """
    checks.at_least(0, epsilon=epsilon)
    total = np.zeros((2, len(mechanism.neighbors)))
    for chosen, _, a, b in _pair_blocks(mechanism):
        for side, (log_p, log_q) in enumerate(((a, b), (b, a))):
            # p - exp(epsilon) q = p (1 - exp(epsilon + log q - log p))
            difference = log_difference(log_p, log_q)
            with np.errstate(invalid="ignore"):
                excess = -np.expm1(np.minimum(epsilon - difference, 0.0))
            excess[np.isposinf(difference)] = 1.0  # no finite epsilon covers them
            total[side, chosen] += (np.exp(log_p) * excess).sum(axis=1)
    return float(total.max(initial=0.0))


def conservative_root(
    root: float, safe: float, excess: Callable[[float], float]
) -> float:
    """Return a value near a numerical root at which rounding leaves no excess.

    The excess is zero at the root up to rounding, and positive if the budget is
    exceeded. The value moves from the root toward `safe`, which has no excess.
    """
    value, step = root, np.spacing(root)
    while value != safe and excess(value) > 0:
        value = min(root + step, safe) if root < safe else max(root - step, safe)
        step *= 4
    return float(value)


def calibrate(
    family: Callable[[float], Mechanism], epsilon: float, low: float, high: float
) -> float:
    """Return the parameter at which a family of mechanisms has the target exact epsilon.

    Parameters
    ----------
    family : callable
        Maps a positive parameter to a mechanism; its exact epsilon must be monotone in
        it.
    epsilon : float
        The privacy budget, positive.
    low, high : float
        Positive parameters with the target between their exact epsilons.

    Returns
    -------
    float
        The parameter, to a relative accuracy of about 1e-12; it is rounded so that its
        exact epsilon does not exceed the target.

    Raises
    ------
    ValueError
        If the target is not between the exact epsilons at `low` and `high`.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> alpha = calibrate(lambda a: beta_binomial(20, 20, a), epsilon=1.0, low=1.0, high=100.0)
    >>> bool(exact_epsilon(beta_binomial(20, 20, alpha)).value <= 1.0)
    True
    """
    checks.positive(epsilon=epsilon)
    checks.positive_range(low, high)

    def excess(parameter: float) -> float:
        return exact_epsilon(family(parameter)).value - epsilon

    def of_log(log_parameter: float) -> float:
        return excess(float(np.exp(log_parameter)))

    bounds = np.log(low), np.log(high)
    ends = of_log(bounds[0]), of_log(bounds[1])
    if ends[0] * ends[1] > 0:
        reached = sorted(end + epsilon for end in ends)
        raise ValueError(
            f"epsilon is {epsilon}; it must lie between the exact epsilons at low and high, "
            f"{reached[0]:.6g} and {reached[1]:.6g}"
        )
    root = float(np.exp(brentq(of_log, *bounds, xtol=1e-12, rtol=1e-14)))
    return conservative_root(
        root, float(np.exp(bounds[0 if ends[0] <= 0 else 1])), excess
    )


def _pair_blocks(
    mechanism: Mechanism,
) -> Iterator[tuple[slice, Rows, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield blocks: a slice of pairs, columns, and the log probabilities of both sides.

    Each row of a block is read once even if it has several neighbors in the block.
    """
    pairs = mechanism.neighbors
    width = min(mechanism.n_outputs, BLOCK_WIDTH)
    height = max(1, BLOCK_ENTRIES // (2 * width))
    for start in range(0, len(pairs), height):
        chosen = slice(start, start + height)
        rows, where = np.unique(pairs[chosen], return_inverse=True)
        where = where.reshape(-1, 2)
        for first in range(0, mechanism.n_outputs, width):
            columns = np.arange(first, min(first + width, mechanism.n_outputs))
            table = mechanism.block(rows, columns)
            yield chosen, columns, table[where[:, 0]], table[where[:, 1]]
