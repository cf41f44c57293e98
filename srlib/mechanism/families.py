"""Families of synthesizers with a known table: for counts, and for tables of K cells."""

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from srlib import checks
from srlib.mechanism.core import Mechanism, Rows, count_neighbors, table_neighbors

MOST_TABLES = 2_000_000


def _representable(alpha: float, epsilon: float, n_s: int) -> float:
    if alpha == 0:
        raise ValueError(
            f"epsilon is {epsilon} with n_s = {n_s}; it must be smaller, or alpha underflows to 0"
        )
    return alpha


def log_binomial(n: int) -> NDArray[np.float64]:
    """Return the logs of the binomial coefficients n over y, for y = 0 to n."""
    y = np.arange(n + 1)
    return gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)


def _log_rising(alpha: float, n: int) -> NDArray[np.float64]:
    """Return the log of alpha (alpha + 1) ... (alpha + k - 1) for k = 0 to n.

    A difference of two log-gamma functions loses digits if alpha is large.
    """
    return np.concatenate([[0.0], np.cumsum(np.log(alpha + np.arange(n)))])


# ----------------------------------------------------------------- a count of n records


def bernoulli_plugin(
    n: int, n_s: int, alpha: float, beta: float | None = None
) -> Mechanism:
    """Return the plug-in synthesizer for binary data (McClure and Reiter 2012, equation 3).

    Each of n_s synthetic values is one with the posterior mean (X + alpha) / (n + alpha
    + beta) as its probability, where X is the number of ones in the data. The release
    is their sum. Rows are X = 0 to n, with replace-one neighbors; columns are X* = 0 to
    n_s.

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release, 1 or more.
    alpha, beta : float
        Parameters of the beta prior, positive; beta is alpha if not given.

    Examples
    --------
    >>> table = bernoulli_plugin(n=10, n_s=10, alpha=1.0)
    >>> table.n_inputs, round(float(np.exp(table.row(3)).sum()), 12)
    (11, 1.0)
    """
    beta = alpha if beta is None else beta
    checks.at_least(1, n=n, n_s=n_s)
    checks.positive(alpha=alpha, beta=beta)
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

    return Mechanism(block, n + 1, n_s + 1, count_neighbors(n))


def bernoulli_plugin_alpha(epsilon: float, n_s: int) -> float:
    """Return the alpha = beta for which `bernoulli_plugin` has this exact epsilon (Theorem 1)."""
    checks.at_least(1, n_s=n_s)
    checks.positive(epsilon=epsilon)
    with np.errstate(over="ignore"):
        alpha = float(1.0 / np.expm1(epsilon / n_s))
    return _representable(alpha, epsilon, n_s)


def private_plugin(epsilon: float, n: int, n_s: int) -> Mechanism:
    """Return `bernoulli_plugin` with the alpha = beta that gives it this exact epsilon."""
    return bernoulli_plugin(n, n_s, bernoulli_plugin_alpha(epsilon, n_s))


def beta_binomial(
    n: int, n_s: int, alpha: float, beta: float | None = None
) -> Mechanism:
    """Return the synthesizer that draws from the posterior predictive of a beta-binomial model.

    The arguments are those of `bernoulli_plugin`. Here each release draws its own
    probability of a one from the posterior Beta(X + alpha, n - X + beta).

    Examples
    --------
    >>> from srlib.mechanism import exact_epsilon
    >>> round(exact_epsilon(beta_binomial(n=20, n_s=20, alpha=1.0)).value, 4)  # log 21
    3.0445
    """
    beta = alpha if beta is None else beta
    checks.at_least(1, n=n, n_s=n_s)
    checks.positive(alpha=alpha, beta=beta)
    coefficient = log_binomial(n_s)
    ones, zeros = _log_rising(alpha, n + n_s), _log_rising(beta, n + n_s)
    both = _log_rising(alpha + beta, n + n_s)
    total = both[n + n_s] - both[n]

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        x, y = rows[:, None], columns
        ones_gained = ones[x + y] - ones[x]
        zeros_gained = zeros[n - x + n_s - y] - zeros[n - x]
        return coefficient[y] + ones_gained + zeros_gained - total

    return Mechanism(block, n + 1, n_s + 1, count_neighbors(n))


# -------------------------------------------------------------------- tables of K cells


def compositions(n: int, n_cells: int) -> NDArray[np.int64]:
    """Return all tables of n records on K cells, in lexicographic order, (n_tables, K).

    There are binomial(n + K - 1, K - 1) of them; at most two million are enumerated.
    """
    checks.at_least(1, n_cells=n_cells)
    checks.at_least(0, n=n)
    count = comb(n + n_cells - 1, n_cells - 1)
    if count > MOST_TABLES:
        raise ValueError(
            f"n is {n} and n_cells is {n_cells}, which makes {count:,} tables; at most "
            f"{MOST_TABLES:,} are enumerated"
        )
    tables = np.arange(n + 1)[:, None] if n_cells > 1 else np.full((1, 1), n)
    for cell in range(1, n_cells):
        left = n - tables.sum(axis=1)
        if cell == n_cells - 1:
            return np.column_stack([tables, left])
        repeated = np.repeat(tables, left + 1, axis=0)
        value = np.concatenate([np.arange(most + 1) for most in left])
        tables = np.column_stack([repeated, value])
    return tables


def apportion(shares: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return counts that apportion n records to shares, (K,), by largest remainders."""
    weights = np.asarray(shares, dtype=float)
    if not ((weights >= 0).all() and weights.sum() > 0) or n < 0:
        raise ValueError(
            f"shares is {shares!r}, n is {n}; none may be negative, nor all shares 0"
        )
    exact = n * weights / weights.sum()
    counts = np.floor(exact).astype(np.int64)
    most = np.argsort(counts - exact, kind="stable")[: n - counts.sum()]
    counts[most] += 1
    return counts


def dirichlet_multinomial(n: int, n_s: int, alpha: ArrayLike) -> Mechanism:
    """Return the synthesizer that draws from a Dirichlet-multinomial posterior predictive.

    Rows are all tables of n records on K cells, with replace-one neighbors; columns are
    all tables of n_s records.

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release, 1 or more.
    alpha : (K,) float
        Parameters of the Dirichlet prior, two or more, positive.

    Examples
    --------
    >>> table = dirichlet_multinomial(n=2, n_s=2, alpha=[1.0, 1.0, 1.0])
    >>> table.n_inputs, table.n_outputs  # tables of two records on three cells
    (6, 6)
    """
    prior = np.asarray(alpha, dtype=float)
    checks.at_least(1, n=n, n_s=n_s)
    if (
        prior.ndim != 1
        or prior.size < 2
        or not (np.isfinite(prior) & (prior > 0)).all()
    ):
        raise ValueError(f"alpha is {alpha!r}; it must be two or more positive numbers")
    data, releases = compositions(n, prior.size), compositions(n_s, prior.size)
    rising = np.stack([_log_rising(a, n + n_s) for a in prior])
    total = _log_rising(prior.sum(), n + n_s)
    coefficient = gammaln(n_s + 1) - gammaln(releases + 1).sum(axis=1)

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        result = np.tile(
            coefficient[columns] - (total[n + n_s] - total[n]), (len(rows), 1)
        )
        for cell, gained in enumerate(rising):
            x, y = data[rows, cell][:, None], releases[columns, cell]
            result += gained[x + y] - gained[x]
        return result

    inputs, outputs = (
        [tuple(map(int, t)) for t in data],
        [tuple(map(int, t)) for t in releases],
    )
    pairs = table_neighbors(data)
    return Mechanism(block, len(data), len(releases), pairs, inputs, outputs)


def dirichlet_multinomial_alpha(epsilon: float, n_s: int) -> float:
    """Return the alpha of all cells that gives `dirichlet_multinomial` this exact epsilon."""
    checks.at_least(1, n_s=n_s)
    checks.positive(epsilon=epsilon)
    with np.errstate(over="ignore"):
        alpha = float(n_s / np.expm1(epsilon))
    return _representable(alpha, epsilon, n_s)
