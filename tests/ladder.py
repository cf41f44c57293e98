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
    n_copied = round(share * len(x))
    z[:n_copied] = x[rng.permutation(len(x))[:n_copied]]
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
    n, p = x.shape
    z = np.empty_like(x)
    z[:, 0] = rng.choice(x[:, 0], n)
    for k in range(1, p):
        levels = n_levels[: k + 1]
        everybody = np.arange(n)
        nodes = [(everybody, everybody)]
        while nodes:
            donors, rows = nodes.pop()
            if not len(rows):
                continue
            y = x[donors, k]
            split = _best_split(x[donors, :k], y, levels, min_leaf)
            if split is None:
                z[rows, k] = rng.choice(y, len(rows))
                continue
            variable, cut = split
            donor_below = x[donors, variable] <= cut
            row_below = z[rows, variable] <= cut
            nodes.append((donors[donor_below], rows[row_below]))
            nodes.append((donors[~donor_below], rows[~row_below]))
    return z


def _purity(counts):
    """Sum of squared counts over the number of records, along the last axis."""
    squares = counts.astype(float) ** 2
    return squares.sum(axis=-1) / counts.sum(axis=-1)


def _best_split(x, y, n_levels, min_leaf):
    """The variable and cut with the least Gini index; None if no split lowers it."""
    n = len(y)
    n_targets = n_levels[-1]
    is_pure = (y == y[0]).all()
    if n < 2 * min_leaf or is_pure:
        return None
    # Where each variable's levels start in a sequence of all.
    starts = np.cumsum(n_levels) - n_levels
    level = x + starts[:-1]
    cells = level * n_targets + y[:, None]
    n_cells = starts[-1] * n_targets
    counts = np.bincount(cells.ravel(), minlength=n_cells)
    total = np.bincount(y, minlength=n_targets)
    variable_of = np.repeat(np.arange(x.shape[1]), n_levels[:-1])
    # Targets of the records up to each level; each variable has all records.
    below = counts.reshape(-1, n_targets).cumsum(axis=0)
    below -= variable_of[:, None] * total
    sizes = below.sum(axis=1)
    allowed = np.flatnonzero((sizes >= min_leaf) & (n - sizes >= min_leaf))
    if not len(allowed):
        return None
    below = below[allowed]
    purity_after = _purity(below) + _purity(total - below)
    gain = (n - _purity(total)) - (n - purity_after)
    if gain.max() <= 1e-12:
        return None
    best = allowed[gain.argmax()]
    variable = variable_of[best]
    return variable, best - starts[variable]


def draw_levels(shares, rng):
    """One level for each distribution, which are along the last axis."""
    *shape, n_levels = shares.shape
    uniform = rng.random((*shape, 1))
    is_above = uniform > shares.cumsum(axis=-1)
    return is_above.sum(axis=-1).clip(max=n_levels - 1)


def noisy_margins(x, n_levels, rng):
    """A chain of two-way tables, each variable given the last, at an epsilon of one."""
    n, p = x.shape
    z = np.empty_like(x)
    given_x = np.zeros(n, int)
    given_z = given_x
    n_given = 1
    for k, size in enumerate(n_levels.tolist()):
        cells = given_x * size + x[:, k]
        counts = np.bincount(cells, minlength=n_given * size)
        noisy = (counts + rng.laplace(0, 2 * (p - 1), counts.size)).clip(1e-9)
        noisy = noisy.reshape(n_given, size)
        shares = noisy / noisy.sum(axis=1, keepdims=True)
        z[:, k] = draw_levels(shares[given_z], rng)
        given_x = x[:, k].astype(int)
        given_z = z[:, k]
        n_given = size
    return z


def independent(x, n_levels, rng):
    """Each column drawn by itself from its margin."""
    columns = [rng.choice(column, len(x)) for column in x.T]
    return np.column_stack(columns)


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
