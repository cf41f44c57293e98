"""Releases of known kinds, from an exact copy to the other half of a table."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from srlib import dpmpm
from srlib.data.codes import Codes

Levels = NDArray[np.integer]


def copy(x: Codes, n_levels: Levels, rng: Generator) -> Codes:
    """The original in another order."""
    return rng.permutation(x)


def bootstrap(x: Codes, n_levels: Levels, rng: Generator) -> Codes:
    """Records of the original, drawn with replacement."""
    return x[rng.integers(0, len(x), len(x))]


def partly_copied(x: Codes, n_levels: Levels, rng: Generator, *, share: float) -> Codes:
    """A share of the original's records, the rest from a mixture, in a random order."""
    z = mixture(x, n_levels, rng)
    copied = rng.permutation(len(x))[: round(share * len(x))]
    z[: len(copied)] = x[copied]
    return rng.permutation(z)


def mixture(x: Codes, n_levels: Levels, rng: Generator) -> Codes:
    """A draw from the posterior predictive distribution of a DPMPM."""
    chains = dpmpm.Chains(n_classes=30, burn_in=600, n_draws=1, n_chains=1)
    draws = dpmpm.sample_posterior(x, n_levels, chains, rng=rng)
    return draws.release(1, len(x), rng=rng)[0]


def trees(x: Codes, n_levels: Levels, rng: Generator, *, min_leaf: int) -> Codes:
    """Variables drawn one after the other from classification trees, values from donors."""
    z = np.empty_like(x)
    z[:, 0] = rng.choice(x[:, 0], len(x))
    for k in range(1, x.shape[1]):
        stack = [(np.arange(len(x)), np.arange(len(x)))]
        while stack:
            donors, rows = stack.pop()
            if not len(rows):
                continue
            split = _best_split(
                x[donors, :k], x[donors, k], n_levels[: k + 1], min_leaf
            )
            if split is None:
                z[rows, k] = rng.choice(x[donors, k], len(rows))
                continue
            variable, cut = split
            for below in (True, False):
                of_donors = (x[donors, variable] <= cut) == below
                stack.append(
                    (donors[of_donors], rows[(z[rows, variable] <= cut) == below])
                )
    return z


def _best_split(
    x: Codes, y: Codes, n_levels: Levels, min_leaf: int
) -> tuple[int, int] | None:
    """The cut between two codes that makes the target's Gini index least, if any may be made."""
    n, n_targets = len(y), int(n_levels[-1])
    if n < 2 * min_leaf or (y == y[0]).all():
        return None
    # All variables' levels one after the other: counts of the targets at each, then up
    # to each.
    starts = np.concatenate([[0], np.cumsum(n_levels[:-1])])
    cells = (x.astype(np.int64) + starts[:-1]) * n_targets + y[:, None]
    table = np.bincount(cells.ravel(), minlength=starts[-1] * n_targets).reshape(
        -1, n_targets
    )
    total = np.bincount(y, minlength=n_targets)
    before = np.repeat(
        np.arange(x.shape[1]), n_levels[:-1]
    )  # each variable has all records
    left = table.cumsum(axis=0) - before[:, None] * total
    sizes = left.sum(axis=1)
    allowed = np.flatnonzero((sizes >= min_leaf) & (n - sizes >= min_leaf))
    if not len(allowed):
        return None
    left, sizes = left[allowed].astype(float), sizes[allowed]
    impurity = n - (total.astype(float) ** 2).sum() / n
    purity = (left**2).sum(axis=1) / sizes + ((total - left) ** 2).sum(axis=1) / (
        n - sizes
    )
    gain = impurity - (n - purity)
    at = allowed[gain.argmax()]
    variable = int(before[at])
    return (variable, int(at - starts[variable])) if gain.max() > 1e-12 else None


def noisy_margins(x: Codes, n_levels: Levels, rng: Generator) -> Codes:
    """A chain of two-way margins, each variable given the one before, at an epsilon of one."""
    p, n = x.shape[1], len(x)
    z = np.empty_like(x)
    for k in range(p):
        given, before = (
            codes[:, k - 1].astype(int) if k else np.zeros(n, int) for codes in (x, z)
        )
        rows, columns = (int(n_levels[k - 1]) if k else 1), int(n_levels[k])
        counts = np.bincount(given * columns + x[:, k], minlength=rows * columns)
        noisy = np.maximum(counts + rng.laplace(0, 2 * (p - 1), counts.size), 1e-9)
        table = noisy.reshape(rows, columns)
        cumulative = (table / table.sum(axis=1, keepdims=True)).cumsum(axis=1)
        z[:, k] = (
            (rng.random((n, 1)) > cumulative[before]).sum(axis=1).clip(max=columns - 1)
        )
    return z


def independent(x: Codes, n_levels: Levels, rng: Generator) -> Codes:
    """Each column drawn by itself from its margin."""
    return np.column_stack([rng.choice(column, len(x)) for column in x.T]).astype(
        x.dtype
    )


Maker = Callable[[Codes, Levels, Generator], Codes]
LADDER: dict[str, Maker] = {
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
