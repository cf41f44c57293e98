"""Releases of known kinds, from an exact copy to independent margins.

A kind is made from the original's codes, (n, n_variables), the numbers of levels,
(n_variables,), and a generator of random numbers.
"""

from functools import partial

import numpy as np

from srlib import dpmpm


def copy(x, n_levels, rng):
    """The original in another order."""
    return rng.permutation(x)


def bootstrap(x, n_levels, rng):
    """Records of the original, drawn with replacement."""
    return x[rng.integers(0, len(x), len(x))]


def partly_copied(x, n_levels, rng, *, share):
    """A share of the original's records, the rest from a mixture, in a random order."""
    z = mixture(x, n_levels, rng)
    copied = rng.permutation(len(x))[: round(share * len(x))]
    z[: len(copied)] = x[copied]
    return rng.permutation(z)


def mixture(x, n_levels, rng):
    """A draw from the posterior predictive distribution of a DPMPM."""
    chains = dpmpm.Chains(
        n_classes=30,
        burn_in=600,
        n_draws=1,
        n_chains=1,
    )
    draws = dpmpm.sample_posterior(x, n_levels, chains, rng=rng)
    return draws.release(1, len(x), rng=rng)[0]


def trees(x, n_levels, rng, *, min_leaf):
    """Each variable drawn from the donors in the leaves of a classification tree."""
    z = np.empty_like(x)
    z[:, 0] = rng.choice(x[:, 0], len(x))
    for k in range(1, x.shape[1]):
        everybody = np.arange(len(x))
        stack = [(everybody, everybody)]
        while stack:
            donors, rows = stack.pop()
            if not len(rows):
                continue
            y = x[donors, k]
            split = _best_split(x[donors, :k], y, n_levels[: k + 1], min_leaf)
            if split is None:
                z[rows, k] = rng.choice(y, len(rows))
                continue
            variable, cut = split
            donor_below = x[donors, variable] <= cut
            row_below = z[rows, variable] <= cut
            stack.append((donors[donor_below], rows[row_below]))
            stack.append((donors[~donor_below], rows[~row_below]))
    return z


def _best_split(x, y, n_levels, min_leaf):
    """The variable and cut with the least Gini index; None if no split lowers it."""
    n = len(y)
    n_targets = n_levels[-1]
    if n < 2 * min_leaf or (y == y[0]).all():
        return None
    starts = (
        np.cumsum(n_levels) - n_levels
    )  # of each variable's levels, in one sequence
    level = x + starts[:-1]
    cells = level * n_targets + y[:, None]
    counts = np.bincount(cells.ravel(), minlength=starts[-1] * n_targets)
    total = np.bincount(y, minlength=n_targets)
    variable_of = np.repeat(range(x.shape[1]), n_levels[:-1])
    # Targets of the records up to each level; each variable has all records.
    below = counts.reshape(-1, n_targets).cumsum(axis=0)
    below -= variable_of[:, None] * total
    sizes = below.sum(axis=1)
    allowed = np.flatnonzero((sizes >= min_leaf) & (n - sizes >= min_leaf))
    if not len(allowed):
        return None
    below = below[allowed].astype(float)
    sizes = sizes[allowed]
    purity_below = (below**2).sum(axis=1) / sizes
    purity_above = ((total - below) ** 2).sum(axis=1) / (n - sizes)
    impurity = n - (total.astype(float) ** 2).sum() / n
    gain = impurity - (n - (purity_below + purity_above))
    if gain.max() <= 1e-12:
        return None
    best = allowed[gain.argmax()]
    variable = variable_of[best]
    return variable, best - starts[variable]


def draw_levels(shares, rng):
    """One level for each distribution, which are along the last axis."""
    *shape, n_levels = shares.shape
    is_above = rng.random((*shape, 1)) > shares.cumsum(axis=-1)
    return is_above.sum(axis=-1).clip(max=n_levels - 1)


def noisy_margins(x, n_levels, rng):
    """A chain of two-way tables, each variable given the last, at an epsilon of one."""
    n, p = x.shape
    z = np.empty_like(x)
    given_x = given_z = np.zeros(n, int)
    n_given = 1
    for k, size in enumerate(n_levels.tolist()):
        counts = np.bincount(given_x * size + x[:, k], minlength=n_given * size)
        counts = counts + rng.laplace(0, 2 * (p - 1), counts.size)
        noisy = counts.clip(1e-9).reshape(n_given, size)
        shares = noisy / noisy.sum(axis=1, keepdims=True)
        z[:, k] = draw_levels(shares[given_z], rng)
        given_x = x[:, k].astype(int)
        given_z = z[:, k]
        n_given = size
    return z


def independent(x, n_levels, rng):
    """Each column drawn by itself from its margin."""
    columns = [rng.choice(column, len(x)) for column in x.T]
    return np.column_stack(columns).astype(x.dtype)


LADDER = {
    "copy": copy,
    "bootstrap": bootstrap,
    "half copied": partial(partly_copied, share=0.5),
    "tenth copied": partial(partly_copied, share=0.1),
    "trees, leaf 1": partial(trees, min_leaf=1),
    "trees, leaf 5": partial(trees, min_leaf=5),
    "mixture": mixture,
    "noisy margins": noisy_margins,
    "independent margins": independent,
}
