"""A DPMPM small enough to enumerate: its complete table of log p(release | data set).

Hu, Reiter and Wang (2014) estimate one column of this table by Monte Carlo, because the
table is too large. For a few records it is not. Records are exchangeable, so that the
marginal likelihood of a contingency table is a sum over the ways to split its counts
among the classes, with class probabilities and level probabilities integrated out.
"""

from collections.abc import Sequence
from math import comb, prod

import numpy as np
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import gamma

from srlib import checks
from srlib.arrays import Floats, Ints
from srlib.data.codes import distinct
from srlib.dpmpm.model import Prior
from srlib.mechanism.core import Mechanism, table_neighbors
from srlib.mechanism.families import compositions, log_multinomial

MAX_SPLITS = 1_000_000
NODES = 1000


def log_marginal_likelihood(
    n: int,
    n_levels: Sequence[int],
    n_classes: int,
    prior: Prior | None = None,
) -> Floats:
    """Return log probabilities of n records in a given order, for each table of counts.

    Tables are in the order of ``compositions(n, K)``, with cells in lexicographic
    order, where K is the product of the levels. At most a million ways to split the
    counts among the classes are enumerated (Hu, Reiter and Wang 2014, equations 1 to
    6).
    """
    splits = _class_splits(n, n_levels, n_classes)
    log_prob = _log_split_prob(splits, n_levels, prior or Prior())
    # `distinct` returns tables in lexicographic order, as `compositions` does.
    tables, _, table_of = distinct(splits.sum(axis=2))
    total = np.full(len(tables), -np.inf)
    np.logaddexp.at(total, table_of, log_prob)
    return total


def _class_splits(
    n: int,
    n_levels: Sequence[int],
    n_classes: int,
) -> Ints:
    """Return the ways to split n records among cells and classes, (n_splits, K, F)."""
    if len(n_levels) == 0 or min(n_levels) < 2:
        raise ValueError(
            f"n_levels is {n_levels!r}; each variable must have 2 levels or more"
        )
    checks.at_least(1, n_classes=n_classes)
    cells = prod(n_levels)
    ways = comb(n + cells * n_classes - 1, n)
    if ways > MAX_SPLITS:
        raise ValueError(
            f"n is {n}, with {cells} cells and n_classes = {n_classes}, "
            f"which makes {ways:,} ways to split the counts among the classes; "
            f"at most {MAX_SPLITS:,} are enumerated"
        )
    return compositions(n, cells * n_classes).reshape(-1, cells, n_classes)


def _log_split_prob(
    splits: Ints,
    n_levels: Sequence[int],
    prior: Prior,
) -> Floats:
    """Return log probabilities of splits, (n_splits,), parameters summed out."""
    sizes = splits.sum(axis=1)
    # Orders of the records: prod_cells n_c! / prod_classes n_cf!
    log_prob = gammaln(splits.sum(axis=2) + 1.0).sum(axis=1)
    log_prob -= gammaln(splits + 1.0).sum((1, 2))
    log_prob += _log_allocation(sizes, prior)
    a = prior.concentration
    level_of = np.indices(n_levels).reshape(len(n_levels), -1)
    # Of each variable and class: G(d a) / G(d a + n_f) prod_levels G(a + n_fl) / G(a)
    for levels, cell_levels in zip(n_levels, level_of, strict=True):
        indicator = cell_levels == np.arange(levels)[:, None]
        counts = np.einsum("lk,skf->sfl", indicator, splits)
        log_factor = gammaln(a + counts).sum(axis=2) - levels * gammaln(a)
        log_factor += gammaln(levels * a) - gammaln(levels * a + sizes)
        log_prob += log_factor.sum(axis=1)
    return log_prob


def _log_allocation(sizes: Ints, prior: Prior) -> Floats:
    """Return log probabilities of allocations with the given class sizes, (n, F).

    The sticks are integrated out. The integral over alpha is a sum over even steps of
    log alpha, whose error decreases exponentially with the number of steps. All sizes
    share one discrete prior, so that the probabilities of releases sum to one in spite
    of this error.
    """
    alpha_prior = gamma(prior.alpha_shape, scale=1 / prior.alpha_rate)
    low = max(alpha_prior.ppf(1e-16), 1e-300)
    high = alpha_prior.isf(1e-16)
    log_alpha = np.linspace(np.log(low), np.log(high), NODES)
    alpha = np.exp(log_alpha)
    log_weight = alpha_prior.logpdf(alpha) + log_alpha
    distinct_sizes, _, sizes_of = distinct(sizes)
    left = distinct_sizes.sum(axis=1)
    sticks = np.zeros((len(left), NODES))
    # Of each stick: B(1 + n_f, alpha + n_>f) / B(1, alpha)
    for size in distinct_sizes.T[:-1]:
        left = left - size
        sticks += betaln(1 + size[:, None], alpha + left[:, None]) - betaln(1, alpha)
    log_prob = logsumexp(sticks + log_weight, axis=1) - logsumexp(log_weight)
    return log_prob[sizes_of]


def enumerate_mechanism(
    n: int,
    n_s: int,
    n_levels: Sequence[int],
    n_classes: int,
    prior: Prior | None = None,
) -> Mechanism:
    """Return the mechanism that draws from a DPMPM's posterior predictive distribution.

    Its rows are all tables of n records on the K cells of variables with these levels,
    neighbors if one record changes its cell; its columns are all tables of n_s records.
    With one class and one variable it is `srlib.mechanism.dirichlet_multinomial` with
    every parameter equal to the prior's concentration.
    """
    checks.at_least(1, n=n, n_s=n_s)
    # The larger space first, so that an error is raised before anything is computed.
    joint_likelihood = log_marginal_likelihood(n + n_s, n_levels, n_classes, prior)
    likelihood = log_marginal_likelihood(n, n_levels, n_classes, prior)
    cells = prod(n_levels)
    data = compositions(n, cells)
    releases = compositions(n_s, cells)
    # Every table of n + n_s records is such a sum, so that `distinct` numbers them all.
    _, _, table_of = distinct((data[:, None] + releases).reshape(-1, cells))
    joint = joint_likelihood[table_of].reshape(len(data), -1)
    # p(z | x) = n_s! / prod z_c! p(x + z) / p(x)
    log_prob = log_multinomial(releases) + joint - likelihood[:, None]
    inputs = list(map(tuple, data.tolist()))
    outputs = list(map(tuple, releases.tolist()))
    return Mechanism.from_table(log_prob, table_neighbors(data), inputs, outputs)
