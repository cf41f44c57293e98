"""Exact epsilon and delta of a table, and calibration of a family to a privacy budget.

All functions here compare neighboring rows over every column.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from srlib import checks
from srlib.arrays import Floats, Ints
from srlib.mechanism.core import BLOCK_ENTRIES, BLOCK_WIDTH, Mechanism, log_difference


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
                f"Exact epsilon is infinite: output {self.output} is possible given "
                f"data set {first} and impossible given its neighbor {second}."
            )
        return (
            f"Exact epsilon is {self.value:.6g}: output {self.output} is "
            f"exp({self.value:.6g}) times as probable given data set {first} as given "
            f"its neighbor {second}."
        )


def exact_epsilon(mechanism: Mechanism) -> Epsilon:
    """Return the smallest epsilon for which the mechanism is differentially private.

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
    >>> epsilon = exact_epsilon(beta_binomial(n=20, n_s=20, alpha=1.0))
    >>> round(epsilon.value, 4), epsilon.output
    (3.0445, 20)
    """
    if len(mechanism.neighbors) == 0:
        raise ValueError("mechanism has no neighbors; it must have at least one pair")
    epsilon = -1.0
    for pairs, outputs, log_prob in _pair_blocks(mechanism):
        losses = log_difference(*log_prob)
        pair, column = np.unravel_index(np.abs(losses).argmax(), losses.shape)
        loss = float(losses[pair, column])
        if abs(loss) > epsilon:
            epsilon = abs(loss)
            rows = mechanism.neighbors[pairs.start + pair]
            output = outputs[column]
            if loss < 0:
                rows = rows[::-1]
    names = tuple(mechanism.inputs[row] for row in rows)
    return Epsilon(epsilon, names, mechanism.outputs[output])


def conditional_epsilon(mechanism: Mechanism) -> Floats:
    """Return the conditional epsilon of each data set: its largest privacy loss.

    The result has shape (n_inputs,). The loss is taken in absolute value, over all
    neighbors and outputs. It is zero for a data set without neighbors. The largest
    conditional epsilon is the exact epsilon.

    References
    ----------
    Charest and Han, section 3.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> conditional_epsilon(beta_binomial(n=4, n_s=4, alpha=1.0)).round(2)
    array([1.61, 1.61, 1.1 , 1.61, 1.61])
    """
    epsilons = np.zeros(mechanism.n_inputs)
    for pairs, _, log_prob in _pair_blocks(mechanism):
        losses = log_difference(*log_prob)
        largest = np.abs(losses).max(axis=1, keepdims=True)  # (n_pairs, 1)
        np.maximum.at(epsilons, mechanism.neighbors[pairs], largest)
    return epsilons


def privacy_loss(
    mechanism: Mechanism,
    true_row: int,
    alternative_row: int,
) -> Floats:
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
    deltas = np.zeros((2, len(mechanism.neighbors)))
    for pairs, _, (first, second) in _pair_blocks(mechanism):
        deltas[0, pairs] += _hockey_stick(first, second, epsilon)
        deltas[1, pairs] += _hockey_stick(second, first, epsilon)
    return float(deltas.max(initial=0.0))


def _hockey_stick(
    log_p: Floats,
    log_q: Floats,
    epsilon: float,
) -> Floats:
    """Return the sums of max(0, p - exp(epsilon) q) over outputs, (n_pairs,)."""
    loss = log_difference(log_p, log_q)
    # p - exp(epsilon) q = p (1 - exp(epsilon - loss))
    with np.errstate(invalid="ignore"):
        excess = -np.expm1(np.minimum(epsilon - loss, 0.0))
    excess[np.isposinf(loss)] = 1.0  # no finite epsilon covers them
    return (np.exp(log_p) * excess).sum(axis=1)


def conservative_root(
    root: float,
    safe: float,
    excess: Callable[[float], float],
) -> float:
    """Return a value near a numerical root at which rounding leaves no excess.

    The excess is zero at the root up to rounding, and positive if the budget is
    exceeded. The value moves from the root toward `safe`, which has no excess.
    """
    value = root
    step = np.spacing(root)
    while value != safe and excess(value) > 0:
        value = np.clip(safe, root - step, root + step)  # nearest to safe
        step *= 4
    return float(value)


def calibrate(
    family: Callable[[float], Mechanism],
    epsilon: float,
    low: float,
    high: float,
) -> float:
    """Return the parameter at which a family of mechanisms has this exact epsilon.

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
    >>> alpha = calibrate(lambda a: beta_binomial(20, 20, a), 1.0, low=1.0, high=100.0)
    >>> bool(exact_epsilon(beta_binomial(20, 20, alpha)).value <= 1.0)
    True
    """
    checks.positive(epsilon=epsilon)
    checks.positive_range(low, high)

    def excess(parameter: float) -> float:
        return exact_epsilon(family(parameter)).value - epsilon

    def excess_of_log(log_parameter: float) -> float:
        return excess(np.exp(log_parameter))

    log_low = np.log(low)
    log_high = np.log(high)
    excesses = excess_of_log(log_low), excess_of_log(log_high)
    if excesses[0] * excesses[1] > 0:
        raise ValueError(
            f"epsilon is {epsilon}; it must lie between the exact epsilons at low and "
            f"high, {min(excesses) + epsilon:.6g} and {max(excesses) + epsilon:.6g}"
        )
    log_root = brentq(excess_of_log, log_low, log_high, xtol=1e-12, rtol=1e-14)
    log_safe = log_low if excesses[0] <= 0 else log_high
    return conservative_root(np.exp(log_root), np.exp(log_safe), excess)


def _pair_blocks(mechanism: Mechanism) -> Iterator[tuple[slice, Ints, Floats]]:
    """Yield some pairs, some outputs, and log probabilities of the outputs given both.

    The log probabilities are (2, n_pairs, n_outputs). A block reads each row once for
    all its neighbors.
    """
    n_outputs = mechanism.n_outputs
    width = min(n_outputs, BLOCK_WIDTH)
    height = BLOCK_ENTRIES // (2 * width)
    for start in range(0, len(mechanism.neighbors), height):
        pairs = slice(start, start + height)
        rows, row_of = np.unique(mechanism.neighbors[pairs], return_inverse=True)
        for start_output in range(0, n_outputs, width):
            outputs = np.arange(n_outputs)[start_output : start_output + width]
            table = mechanism.block(rows, outputs)
            yield pairs, outputs, table[row_of.T]
