"""Differential privacy of a table, exactly, and the parameter that spends a budget.

All readings go down pairs of neighboring rows, over every column.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from srlib import checks
from srlib.mechanism.core import BLOCK_ENTRIES, BLOCK_WIDTH, Mechanism, Rows, log_difference


@dataclass(frozen=True)
class Epsilon:
    """Exact epsilon and where it is attained.

    Attributes
    ----------
    value : float
        Largest absolute difference of two neighboring rows over all outputs; infinite where an
        output is possible from one of two neighbors only.
    pair : tuple
        Names of the neighbors, the one with the larger probability first.
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
                f"No epsilon bounds the mechanism: output {self.output} is possible from data set "
                f"{first} and impossible from its neighbor {second}."
            )
        return (
            f"Exact epsilon is {self.value:.6g}: output {self.output} is exp({self.value:.6g}) "
            f"times as probable from data set {first} as from its neighbor {second}."
        )


def exact_epsilon(mechanism: Mechanism) -> Epsilon:
    """The smallest epsilon for which the mechanism is differentially private, and where.

    A ValueError says so where the mechanism has no neighboring rows.

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
        raise ValueError("mechanism has no neighbors; epsilon compares at least one pair of rows")
    best, at = -1.0, (0, 0, False)
    for chosen, columns, a, b in _pair_blocks(mechanism):
        difference = log_difference(a, b)
        flat = int(np.argmax(np.abs(difference)))
        pair, column = np.unravel_index(flat, difference.shape)
        if abs(difference[pair, column]) > best:
            best = float(abs(difference[pair, column]))
            at = (chosen.start + pair, columns[column], bool(difference[pair, column] < 0))
    pair_at, output_at, swap = at
    first, second = (mechanism.inputs[i] for i in mechanism.neighbors[pair_at])
    names = (second, first) if swap else (first, second)
    return Epsilon(best, names, mechanism.outputs[output_at])


def conditional_epsilon(mechanism: Mechanism) -> NDArray[np.float64]:
    """Epsilon of each data set, (n_inputs,): the largest difference from any of its neighbors.

    It is zero for a data set without neighbors; the largest is the exact epsilon.

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
        of_pair[chosen] = np.maximum(of_pair[chosen], np.abs(log_difference(a, b)).max(axis=1))
    result = np.zeros(mechanism.n_inputs)
    for side in (0, 1):
        np.maximum.at(result, mechanism.neighbors[:, side], of_pair)
    return result


def privacy_loss(mechanism: Mechanism, truth: int, alternative: int) -> NDArray[np.float64]:
    """Log of each output's probability under one data set over that under another, (n_outputs,).

    It is zero where both are impossible and infinite where one of them is. With outputs drawn from
    the row of the truth it is a random variable: exact epsilon is its largest absolute value over
    all neighbors, delta the excess of its tail, the intruder's posterior log odds are the prior
    ones plus the loss, and its mean is an information.

    References
    ----------
    McClure and Reiter (2012), equations 1 and 5; Charest and Han, equation 2.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> privacy_loss(beta_binomial(n=2, n_s=2, alpha=1.0), 2, 1).round(3)
    array([-1.099, -0.288,  0.693])
    """
    return log_difference(mechanism.row(truth), mechanism.row(alternative))


def delta(mechanism: Mechanism, epsilon: float) -> float:
    """The smallest delta for which the mechanism is (epsilon, delta)-differentially private.

    The largest hockey-stick divergence between neighbors, in either direction: the sum over
    outputs of max(0, p - exp(epsilon) q).

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    epsilon : float
        0 or more; at infinity only outputs count that are impossible from a neighbor.

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
            excess[np.isposinf(difference)] = 1.0  # no epsilon covers the impossible
            total[side, chosen] += (np.exp(log_p) * excess).sum(axis=1)
    return float(total.max(initial=0.0))


def conservative_root(root: float, safe: float, excess: Callable[[float], float]) -> float:
    """Move a root found by iteration towards a value without excess, until rounding hides none.

    The excess is zero at the root up to rounding, and positive where the limit is exceeded.
    """
    value, step = root, np.spacing(root)
    while value != safe and excess(value) > 0:
        value = min(root + step, safe) if root < safe else max(root - step, safe)
        step *= 4
    return float(value)


def calibrate(
    family: Callable[[float], Mechanism], epsilon: float, low: float, high: float
) -> float:
    """Parameter of the member of a family that spends a budget and no more.

    Parameters
    ----------
    family : callable
        From a positive parameter to a mechanism whose exact epsilon is monotone in it.
    epsilon : float
        The target, positive.
    low, high : float
        Positive parameters between which the member lies, else there is a ValueError.

    Returns
    -------
    float
        The parameter at which the exact epsilon is the target, to a relative 1e-12 or so, on the
        side where the exact epsilon does not exceed it.

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
            f"epsilon is {epsilon}; between low and high the family reaches {reached[0]:.6g} to "
            f"{reached[1]:.6g}"
        )
    root = float(np.exp(brentq(of_log, *bounds, xtol=1e-12, rtol=1e-14)))
    return conservative_root(root, float(np.exp(bounds[0 if ends[0] <= 0 else 1])), excess)


def _pair_blocks(
    mechanism: Mechanism,
) -> Iterator[tuple[slice, Rows, NDArray[np.float64], NDArray[np.float64]]]:
    """Blocks of neighboring rows, all their columns in pieces: which pairs, columns, both sides.

    A block's rows are read once even where a row has several neighbors in it.
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
