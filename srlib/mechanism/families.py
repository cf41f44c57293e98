"""Families of synthesizers with a known table: for counts and for tables."""

from itertools import chain, combinations
from math import comb

import numpy as np
from scipy.special import gammaln

from srlib import checks
from srlib.arrays import ArrayLike, Floats, Ints
from srlib.mechanism.core import Mechanism, count_neighbors, table_neighbors

MOST_TABLES = 2_000_000


def log_binomial(n: int) -> Floats:
    """Return the logs of the binomial coefficients n over y, for y = 0 to n."""
    y = np.arange(n + 1)
    return gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)


def log_multinomial(tables: Ints) -> Floats:
    """Return the logs of the multinomial coefficients of tables, (..., K) counts."""
    n_records = tables.sum(axis=-1)
    return gammaln(n_records + 1) - gammaln(tables + 1).sum(axis=-1)


def _log_rising(alpha: float, n: int) -> Floats:
    """Return the log of alpha (alpha + 1) ... (alpha + k - 1) for k = 0 to n.

    A difference of two log-gamma functions loses digits if alpha is large.
    """
    log_factors = np.log(alpha + np.arange(n))
    return np.append(0.0, np.cumsum(log_factors))


def _calibrated_alpha(
    epsilon: float,
    n_s: int,
    numerator: int,
    divisor: int,
) -> float:
    """Return numerator / (exp(epsilon / divisor) - 1)."""
    checks.at_least(1, n_s=n_s)
    checks.positive(epsilon=epsilon)
    with np.errstate(over="ignore"):
        alpha = float(numerator / np.expm1(epsilon / divisor))
    if alpha == 0:
        raise ValueError(
            f"epsilon is {epsilon} with n_s = {n_s}; it must be smaller, or alpha "
            "underflows to 0"
        )
    return alpha


# ----------------------------------------------------------------- a count of n records


def bernoulli_plugin(
    n: int,
    n_s: int,
    alpha: float,
    beta: float | None = None,
) -> Mechanism:
    """Return the plug-in synthesizer for binary data.

    This is equation 3 of McClure and Reiter (2012). Each of n_s synthetic values is one
    with the posterior mean (X + alpha) / (n + alpha + beta) as its probability, where X
    is the number of ones in the data. The release is their sum. Rows are X = 0 to n,
    with replace-one neighbors; columns are X* = 0 to n_s.

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
    log_total = np.log(n + alpha + beta)
    log_one = np.log(x + alpha) - log_total
    log_zero = np.log(n - x + beta) - log_total

    def block(rows: Ints, columns: Ints) -> Floats:
        ones = np.outer(log_one[rows], columns)
        zeros = np.outer(log_zero[rows], n_s - columns)
        return coefficient[columns] + ones + zeros

    return Mechanism(block, n + 1, n_s + 1, count_neighbors(n))


def bernoulli_plugin_alpha(epsilon: float, n_s: int) -> float:
    """Return the alpha = beta that gives `bernoulli_plugin` this exact epsilon.

    See Theorem 1 of McClure and Reiter (2012).
    """
    return _calibrated_alpha(epsilon, n_s, numerator=1, divisor=n_s)


def private_plugin(
    epsilon: float,
    n: int,
    n_s: int,
) -> Mechanism:
    """Return `bernoulli_plugin` with the alpha = beta that has this exact epsilon."""
    return bernoulli_plugin(n, n_s, bernoulli_plugin_alpha(epsilon, n_s))


def beta_binomial(
    n: int,
    n_s: int,
    alpha: float,
    beta: float | None = None,
) -> Mechanism:
    """Return the synthesizer that draws from a beta-binomial posterior predictive.

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
    ones = _log_rising(alpha, n + n_s)
    zeros = _log_rising(beta, n + n_s)
    records = _log_rising(alpha + beta, n + n_s)
    records_gained = records[n + n_s] - records[n]

    def block(rows: Ints, columns: Ints) -> Floats:
        x = rows[:, None]
        y = columns
        ones_gained = ones[x + y] - ones[x]
        zeros_gained = zeros[n - x + n_s - y] - zeros[n - x]
        return coefficient[y] + ones_gained + zeros_gained - records_gained

    return Mechanism(block, n + 1, n_s + 1, count_neighbors(n))


# -------------------------------------------------------------------- tables of K cells


def compositions(n: int, n_cells: int) -> Ints:
    """Return all tables of n records on K cells, in lexicographic order, (n_tables, K).

    There are binomial(n + K - 1, K - 1) of them; at most two million are enumerated.
    """
    checks.at_least(1, n_cells=n_cells)
    checks.at_least(0, n=n)
    # Bars in a row of records divide it into cells.
    n_bars = n_cells - 1
    n_places = n + n_bars
    n_tables = comb(n_places, n_bars)
    if n_tables > MOST_TABLES:
        raise ValueError(
            f"n is {n} and n_cells is {n_cells}, which makes {n_tables:,} tables; at "
            f"most {MOST_TABLES:,} are enumerated"
        )
    bars = chain.from_iterable(combinations(range(n_places), n_bars))
    places = np.fromiter(bars, int).reshape(n_tables, n_bars)
    return np.diff(places, axis=1, prepend=-1, append=n_places) - 1


def apportion(shares: ArrayLike, n: int) -> Ints:
    """Return counts that apportion n records to shares, (K,), by largest remainders."""
    weights = np.asarray(shares, float)
    if n < 0 or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            f"shares is {shares!r}, n is {n}; none may be negative, nor all shares 0"
        )
    quotas = n * weights / weights.sum()
    counts = np.floor(quotas).astype(int)
    by_remainder = np.argsort(counts - quotas, kind="stable")
    counts[by_remainder[: n - counts.sum()]] += 1
    return counts


def dirichlet_multinomial(
    n: int,
    n_s: int,
    alpha: ArrayLike,
) -> Mechanism:
    """Return the synthesizer of a Dirichlet-multinomial posterior predictive.

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
    checks.at_least(1, n=n, n_s=n_s)
    prior = _checked_prior(alpha)
    data = compositions(n, prior.size)  # (n_inputs, K)
    releases = compositions(n_s, prior.size)  # (n_outputs, K)
    cells = [_log_rising(a, n + n_s) for a in prior]
    records = _log_rising(prior.sum(), n + n_s)
    constant = log_multinomial(releases) - (records[n + n_s] - records[n])

    def block(rows: Ints, columns: Ints) -> Floats:
        log_prob = constant[columns]
        for cell, rising in enumerate(cells):
            x = data[rows, cell][:, None]
            y = releases[columns, cell]
            log_prob = log_prob + (rising[x + y] - rising[x])
        return log_prob

    return Mechanism(
        block,
        len(data),
        len(releases),
        table_neighbors(data),
        inputs=list(map(tuple, data.tolist())),
        outputs=list(map(tuple, releases.tolist())),
    )


def _checked_prior(alpha: ArrayLike) -> Floats:
    """Return the parameters of a Dirichlet prior, (K,), if they are ones."""
    prior = np.asarray(alpha, float)
    is_positive = np.isfinite(prior) & (prior > 0)
    if prior.ndim != 1 or prior.size < 2 or not is_positive.all():
        raise ValueError(f"alpha is {alpha!r}; it must be two or more positive numbers")
    return prior


def dirichlet_multinomial_alpha(epsilon: float, n_s: int) -> float:
    """Return the alpha of all cells that gives `dirichlet_multinomial` this epsilon."""
    return _calibrated_alpha(epsilon, n_s, numerator=n_s, divisor=1)
