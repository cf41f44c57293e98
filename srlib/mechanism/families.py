"""Families of synthesizers that fill the table of log p(release | data set)."""

import warnings
from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from srlib.mechanism.core import Mechanism, Rows, change_one, change_one_record, exact_epsilon

MOST_TABLES = 2_000_000


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}; it must be positive and finite")


def _at_least_one(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be 1 or more")


def _representable(alpha: float, epsilon: float, n_s: int) -> float:
    if alpha == 0:
        raise ValueError(
            f"epsilon is {epsilon} with n_s = {n_s}; it must be smaller for alpha to be a positive "
            "double"
        )
    return alpha


def log_binomial(n: int) -> NDArray[np.float64]:
    """Log of the binomial coefficients of n over 0 to n."""
    y = np.arange(n + 1)
    return gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)


def _log_rising(alpha: float, n: int) -> NDArray[np.float64]:
    """Log of alpha (alpha + 1) ... (alpha + k - 1) for k = 0 to n.

    Sums of logarithms keep their digits where alpha is large and the difference of two
    log-gamma functions would lose them.
    """
    return np.concatenate([[0.0], np.cumsum(np.log(alpha + np.arange(n)))])


# --------------------------------------------------------------------------- a count of n records


def bernoulli_plugin(n: int, n_s: int, alpha: float, beta: float | None = None) -> Mechanism:
    """Independent draws with the posterior mean plugged in (McClure and Reiter 2012, equation 3).

    Each of n_s synthetic values is one with probability (X + alpha) / (n + alpha + beta), where X
    is the number of ones in the data; the release is their sum.

    Parameters
    ----------
    n : int
        Records in the data, 1 or more.
    n_s : int
        Records in the release, 1 or more.
    alpha, beta : float
        Positive; beta is alpha if not given.

    Returns
    -------
    Mechanism
        Rows X = 0 to n, neighbours when one record changes; columns X* = 0 to n_s.
    """
    beta = alpha if beta is None else beta
    _at_least_one(n=n, n_s=n_s)
    _positive(alpha=alpha, beta=beta)
    coefficient = log_binomial(n_s)
    x = np.arange(n + 1)
    total = np.log(n + alpha + beta)
    log_one, log_zero = np.log(x + alpha) - total, np.log(n - x + beta) - total

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        return (
            coefficient[columns]
            + np.outer(log_one[rows], columns)
            + np.outer(log_zero[rows], n_s - columns)
        )

    return Mechanism(block, n + 1, n_s + 1, change_one(n))


def bernoulli_plugin_epsilon(n_s: int, alpha: float, beta: float) -> float:
    """Exact epsilon of `bernoulli_plugin`, n_s log(1 + 1 / min(alpha, beta)) (equation 9)."""
    _at_least_one(n_s=n_s)
    _positive(alpha=alpha, beta=beta)
    return float(n_s * np.log1p(1.0 / min(alpha, beta)))


def bernoulli_plugin_alpha(epsilon: float, n_s: int) -> float:
    """The alpha = beta for which `bernoulli_plugin` has this epsilon (Theorem 1)."""
    _at_least_one(n_s=n_s)
    _positive(epsilon=epsilon)
    with np.errstate(over="ignore"):
        alpha = float(1.0 / np.expm1(epsilon / n_s))
    return _representable(alpha, epsilon, n_s)


def private_plugin(epsilon: float, n: int, n_s: int) -> Mechanism:
    """`bernoulli_plugin` with the alpha = beta for which its exact epsilon is the one given."""
    return bernoulli_plugin(n, n_s, bernoulli_plugin_alpha(epsilon, n_s))


def beta_binomial(n: int, n_s: int, alpha: float, beta: float | None = None) -> Mechanism:
    """Draws from the posterior predictive distribution of a beta-binomial model.

    As `bernoulli_plugin`, but the probability of a one is itself drawn, once a release, from
    Beta(X + alpha, n - X + beta).

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release, 1 or more.
    alpha, beta : float
        Positive; beta is alpha if not given.

    Returns
    -------
    Mechanism
        Rows X = 0 to n, neighbours when one record changes; columns X* = 0 to n_s.
    """
    beta = alpha if beta is None else beta
    _at_least_one(n=n, n_s=n_s)
    _positive(alpha=alpha, beta=beta)
    coefficient = log_binomial(n_s)
    ones, zeros = _log_rising(alpha, n + n_s), _log_rising(beta, n + n_s)
    both = _log_rising(alpha + beta, n + n_s)
    total = both[n + n_s] - both[n]

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        x, y = rows[:, None], columns
        ones_gained = ones[x + y] - ones[x]
        zeros_gained = zeros[n - x + n_s - y] - zeros[n - x]
        return coefficient[y] + ones_gained + zeros_gained - total

    return Mechanism(block, n + 1, n_s + 1, change_one(n))


# ---------------------------------------------------------------------------- tables of K cells


def compositions(n: int, cells: int) -> NDArray[np.int64]:
    """All tables of n records on K cells, in lexicographic order.

    Parameters
    ----------
    n : int
        Records, 0 or more.
    cells : int
        K, 1 or more.

    Returns
    -------
    (binomial(n + K - 1, K - 1), K) int64

    Raises
    ------
    ValueError
        If there are more than two million of them.
    """
    _at_least_one(cells=cells)
    if n < 0:
        raise ValueError(f"n is {n}; it must be 0 or more")
    count = comb(n + cells - 1, cells - 1)
    if count > MOST_TABLES:
        raise ValueError(
            f"n is {n} and cells is {cells}: {count:,} tables; at most {MOST_TABLES:,} are "
            "enumerated. Larger spaces are sampled (contingency.metropolis)"
        )
    tables = np.arange(n + 1)[:, None] if cells > 1 else np.full((1, 1), n)
    for cell in range(1, cells):
        left = n - tables.sum(axis=1)
        if cell == cells - 1:
            return np.column_stack([tables, left])
        repeated = np.repeat(tables, left + 1, axis=0)
        value = np.concatenate([np.arange(most + 1) for most in left])
        tables = np.column_stack([repeated, value])
    return tables


def apportion(shares: ArrayLike, n: int) -> NDArray[np.int64]:
    """Whole counts of n records in proportion to shares, by largest remainders.

    Parameters
    ----------
    shares : (K,) float
        0 or more, not all zero.
    n : int
        Records, 0 or more.
    """
    weights = np.asarray(shares, dtype=float)
    if not ((weights >= 0).all() and weights.sum() > 0) or n < 0:
        raise ValueError(f"shares is {shares!r} and n is {n}; shares must not all be 0")
    exact = n * weights / weights.sum()
    counts = np.floor(exact).astype(np.int64)
    most = np.argsort(counts - exact, kind="stable")[: n - counts.sum()]
    counts[most] += 1
    return counts


def dirichlet_multinomial(n: int, n_s: int, alpha: ArrayLike) -> Mechanism:
    """Draws from the posterior predictive distribution of a Dirichlet-multinomial model.

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release, 1 or more.
    alpha : (K,) float
        Positive parameters of the Dirichlet prior, two or more.

    Returns
    -------
    Mechanism
        Rows are all tables of n records on K cells, neighbours when one record changes its cell;
        columns all tables of n_s records.
    """
    prior = np.asarray(alpha, dtype=float)
    _at_least_one(n=n, n_s=n_s)
    if prior.ndim != 1 or prior.size < 2 or not (np.isfinite(prior) & (prior > 0)).all():
        raise ValueError(f"alpha is {alpha!r}; it must be two or more positive numbers")
    data, releases = compositions(n, prior.size), compositions(n_s, prior.size)
    rising = np.stack([_log_rising(a, n + n_s) for a in prior])
    total = _log_rising(prior.sum(), n + n_s)
    coefficient = gammaln(n_s + 1) - gammaln(releases + 1).sum(axis=1)

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        result = np.tile(coefficient[columns] - (total[n + n_s] - total[n]), (len(rows), 1))
        for cell, gained in enumerate(rising):
            x, y = data[rows, cell][:, None], releases[columns, cell]
            result += gained[x + y] - gained[x]
        return result

    inputs, outputs = [tuple(map(int, t)) for t in data], [tuple(map(int, t)) for t in releases]
    pairs = change_one_record(data)
    return Mechanism(block, len(data), len(releases), pairs, inputs, outputs)


def dirichlet_multinomial_epsilon(n_s: int, alpha: ArrayLike) -> float:
    """Exact epsilon of `dirichlet_multinomial` and `beta_binomial`, log(1 + n_s / min(alpha))."""
    _at_least_one(n_s=n_s)
    smallest = float(np.min(np.asarray(alpha, dtype=float)))
    _positive(alpha=smallest)
    return float(np.log1p(n_s / smallest))


def dirichlet_multinomial_alpha(epsilon: float, n_s: int) -> float:
    """The common alpha for which the posterior predictive families have this epsilon."""
    _at_least_one(n_s=n_s)
    _positive(epsilon=epsilon)
    with np.errstate(over="ignore"):
        alpha = float(n_s / np.expm1(epsilon))
    return _representable(alpha, epsilon, n_s)


# -------------------------------------------------------------------------- scores of any kind


def sensitivity(score: ArrayLike, neighbours: ArrayLike) -> float:
    """Largest difference of a score between neighbouring data sets, over all outputs.

    Parameters
    ----------
    score : (n_inputs, n_outputs) float
        Finite.
    neighbours : (n_pairs, 2) int
        Pairs of rows.

    References
    ----------
    Charest (2013), section 3; McSherry and Talwar (2007).
    """
    table = _score(score)
    pairs = np.asarray(neighbours, dtype=np.int64)
    # The difference of scores where a mechanism has that of log probabilities.
    n_inputs, n_outputs = table.shape
    same = Mechanism(lambda r, c: table[np.ix_(r, c)], n_inputs, n_outputs, pairs)
    return exact_epsilon(same).value


def gibbs(
    score: ArrayLike,
    rate: float,
    neighbours: ArrayLike,
    *,
    base_measure: ArrayLike | None = None,
    inputs: Sequence = (),
    outputs: Sequence = (),
) -> Mechanism:
    """Outputs with probabilities proportional to exp(rate * score) times a base measure.

    Parameters
    ----------
    score : (n_inputs, n_outputs) float
        Finite; the higher, the more appealing the output for the data set.
    rate : float
        0 or more; 0 ignores the data.
    neighbours, inputs, outputs
        As of `Mechanism`.
    base_measure : (n_outputs,) float, optional
        Positive weights of the outputs; equal ones if not given.

    Raises
    ------
    ValueError
        If a score is not finite, there is no output, the rate is negative, or a weight is not
        positive.
    """
    table = _score(score)
    if not (np.isfinite(rate) and rate >= 0):
        raise ValueError(f"rate is {rate}; it must be 0 or more and finite")
    log_base = np.zeros(table.shape[1])
    if base_measure is not None:
        base = np.asarray(base_measure, dtype=float)
        if base.shape != log_base.shape or not (np.isfinite(base) & (base > 0)).all():
            raise ValueError(
                f"base_measure is {base_measure!r}; it must be {table.shape[1]} positive numbers"
            )
        log_base = np.log(base)
    weights = rate * table + log_base
    log_prob = weights - logsumexp(weights, axis=1, keepdims=True)
    return Mechanism.from_table(log_prob, neighbours, inputs, outputs)


CONVENTIONS = {"definition": 2.0, "without 2": 1.0}


def exponential(
    score: ArrayLike,
    epsilon: float,
    neighbours: ArrayLike,
    *,
    sensitivity: float | None = None,
    base_measure: ArrayLike | None = None,
    convention: str = "definition",
    inputs: Sequence = (),
    outputs: Sequence = (),
) -> Mechanism:
    """The exponential mechanism.

    Parameters
    ----------
    score, neighbours, base_measure, inputs, outputs
        As of `gibbs`.
    epsilon : float
        The budget, positive. The exact epsilon may be smaller.
    sensitivity : float, optional
        What the score's sensitivity is taken to be, positive; the exact one if not given.
    convention : {"definition", "without 2"}
        Weights exp(epsilon score / (2 sensitivity)), as the mechanism is defined, or without the
        2, which promises only twice epsilon.

    Warns
    -----
    UserWarning
        If the sensitivity given is smaller than the true one: with the exact epsilon.

    Raises
    ------
    ValueError
        If epsilon or the sensitivity is not positive, if no neighbours differ in their scores, or
        as `gibbs`.

    References
    ----------
    Charest (2013), section 3; McSherry and Talwar (2007).
    """
    _positive(epsilon=epsilon)
    if convention not in CONVENTIONS:
        known = ", ".join(map(repr, CONVENTIONS))
        raise ValueError(f"convention is {convention!r}; it must be one of {known}")
    if sensitivity is not None:
        _positive(sensitivity=sensitivity)
    true = _sensitivity(score, neighbours)
    if true == 0:
        raise ValueError(
            "score has sensitivity 0: it is the same for all neighbours, so that no output depends "
            "on a record and no budget is needed"
        )
    used = true if sensitivity is None else sensitivity
    rate = epsilon / (CONVENTIONS[convention] * used)
    made = gibbs(score, rate, neighbours, base_measure=base_measure, inputs=inputs, outputs=outputs)
    if used < true * (1 - 1e-9):
        warnings.warn(
            f"sensitivity is {used:.6g}, the score's is {true:.6g}: the exact epsilon is "
            f"{exact_epsilon(made).value:.6g}, where epsilon is {epsilon:.6g}",
            stacklevel=2,
        )
    return made


_sensitivity = sensitivity  # where an argument has the function's name


def exact_rate(
    score: ArrayLike,
    epsilon: float,
    neighbours: ArrayLike,
    *,
    base_measure: ArrayLike | None = None,
) -> float:
    """The rate for which the exact epsilon of `gibbs` is the one given.

    At the exponential mechanism's rate, epsilon / (2 sensitivity), the budget is never exceeded;
    from there on the rate is raised until the exact epsilon reaches it. Log probabilities of
    neighbours differ by the rate times the difference of scores, less that of the log normalising
    constants, so that the smallest and the largest difference of each pair are all that is needed.

    Parameters
    ----------
    score, neighbours, base_measure
        As of `gibbs`.
    epsilon : float
        The exact epsilon that is wanted, positive.

    Raises
    ------
    ValueError
        If no rate up to 2^40 times the exponential mechanism's spends the budget.
    """
    _positive(epsilon=epsilon)
    table, pairs = _score(score), np.asarray(neighbours, dtype=np.int64)
    log_base = 0.0 if base_measure is None else np.log(np.asarray(base_measure, dtype=float))
    ends = np.array([[d.min(), d.max()] for a, b in pairs for d in (table[a] - table[b],)])

    def excess(rate: float) -> float:
        log_total = logsumexp(rate * table + log_base, axis=1)
        of_total = log_total[pairs[:, 0]] - log_total[pairs[:, 1]]
        return float(np.abs(rate * ends - of_total[:, None]).max()) - epsilon

    low = epsilon / (2 * np.abs(ends).max())
    for _ in range(40):
        if excess(2 * low) >= 0:
            return float(brentq(excess, low, 2 * low, xtol=1e-13 * low, rtol=1e-13))
        low *= 2
    raise ValueError(f"epsilon is {epsilon}; the score cannot be made to spend it")


def permute_and_flip(
    score: ArrayLike,
    epsilon: float,
    neighbours: ArrayLike,
    *,
    inputs: Sequence = (),
    outputs: Sequence = (),
) -> Mechanism:
    """Permute-and-flip: outputs in random order, each taken with its chance until one is.

    The chance of an output is exp(epsilon (score - best score) / (2 sensitivity)). With a time
    uniform on (0, 1) for each output, output r is released with probability
    p_r times the integral of the product over s != r of (1 - t p_s), a polynomial in t that
    Gauss-Legendre nodes integrate exactly.

    Parameters
    ----------
    score, neighbours, inputs, outputs
        As of `gibbs`.
    epsilon : float
        The budget, positive.

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-flip: a new mechanism for differentially private
    selection.
    """
    _positive(epsilon=epsilon)
    table = _score(score)
    size = table.shape[1]
    chance = np.exp(
        epsilon / (2 * _sensitivity(table, neighbours)) * (table - table.max(axis=1, keepdims=True))
    )
    nodes, weights = np.polynomial.legendre.leggauss(size // 2 + 1)
    time, weights = (nodes + 1) / 2, weights / 2
    log_prob = np.empty_like(table)
    for row, p in enumerate(chance):
        log_failed = np.log1p(-np.outer(time, p))  # (nodes, outputs)
        others = log_failed.sum(axis=1, keepdims=True) - log_failed
        log_prob[row] = np.log(p) + logsumexp(others, axis=0, b=weights[:, None])
    log_prob -= logsumexp(log_prob, axis=1, keepdims=True)
    return Mechanism.from_table(log_prob, neighbours, inputs, outputs)


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
