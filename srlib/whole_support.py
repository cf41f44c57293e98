"""Posterior disclosure risk over the whole support: every combination might be the true one.

Hu, Reiter and Wang (2014), section 3.1, restrict the intruder's support to combinations that differ
from the truth in one variable, because the normalising constant over all cells is impractical.
Here it is computed. With draws theta given the data and given the data joined with each release,
the posterior odds of a cell x against the truth x_i are

    prod_l E_l[p(x | theta) / p(x_i | theta)] / E_0[p(x | theta) / p(x_i | theta)]^m

so that all records and all cells come from one matrix product for each set of draws: weights
1 / p(x_i | theta) times cell probabilities, block of cells by block of cells, and nothing is kept
of a block but sums, counts and the largest odds. The truth has odds of one.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from srlib.dpmpm import THREADS, Draws, cell_log_prob
from srlib.progress import progress

# Cells of a block, and of the last variables' part of it.
BLOCK, INNER = 8192, 128
# Records for which the sum over draws comes first.
FEW = 3
# What cell probabilities are multiplied by: float32 reaches from 1e-38 to 1e38.
SCALE = 1e24


@dataclass(frozen=True)
class WholeSupport:
    """What an intruder believes about each of n records who holds every cell possible.

    Attributes
    ----------
    log_normaliser : (n,) float64
        Log of the sum of posterior odds against the truth, over all cells.
    rank : (n,) float64
        Rank of the truth among all cells, 1 for the most probable; ties share their mean rank.
    top_cells : (n, n_top) int64
        The most probable cells, as positions in lexicographic order (the last variable fastest).
    top_log_prob : (n, n_top) float64
        Their log posterior probabilities.
    margins : tuple of (n, prod(n_levels[subset])) float64
        Posterior probabilities of the subsets of variables that were asked for.
    lost : (n,) int64
        Cells whose probability is too small for float32 under all draws given the data; they are
        left out of everything above.
    """

    log_normaliser: NDArray[np.float64]
    rank: NDArray[np.float64]
    top_cells: NDArray[np.int64]
    top_log_prob: NDArray[np.float64]
    margins: tuple[NDArray[np.float64], ...]
    lost: NDArray[np.int64]

    @property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n,)."""
        return np.exp(-self.log_normaliser)


def cell_numbers(codes: NDArray[np.integer], n_levels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Positions of combinations in lexicographic order, (n,).

    Parameters
    ----------
    codes : (n, n_variables) int
        Combinations, coded from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    """
    return np.ravel_multi_index(tuple(np.asarray(codes, dtype=np.int64).T), tuple(n_levels))


def whole_support(
    data: Draws,
    joined: Sequence[Draws],
    codes: NDArray[np.integer],
    *,
    n_top: int = 10,
    margins: Sequence[Sequence[int]] = (),
    label: str = "cells",
) -> WholeSupport:
    """Risk of records over all combinations of levels, with a uniform prior.

    Parameters
    ----------
    data : Draws
        Given the confidential data.
    joined : sequence of Draws
        Given the confidential data joined with each release, at least one.
    codes : (n, n_variables) int
        The true combinations.
    n_top : int
        Most probable cells to keep, 1 or more and at most the number of cells.
    margins : sequence of sequence of int
        Subsets of variables whose marginal posteriors are wanted (equation 17).
    label : str
        What the progress bar says.

    Returns
    -------
    WholeSupport

    Raises
    ------
    ValueError
        If no release is given, the sets differ in their variables, n_top or a subset is impossible,
        the space has more than 2^40 cells, or a variable more than `BLOCK` levels.
    """
    n_levels = np.asarray(data.n_levels)
    n_cells = _checked(data, joined, n_levels, n_top, margins)
    weights = _weights([data, *joined], codes)
    truth, n = cell_numbers(codes, n_levels), len(codes)
    total, above, tied, lost = np.zeros(n), *(np.zeros(n, np.int64) for _ in range(3))
    top, cells = np.full((n, n_top), -1.0, np.float32), np.zeros((n, n_top), np.int64)
    sums = [np.zeros((n, np.prod(n_levels[list(s)], dtype=int))) for s in margins]
    sets = [_averages(*each, n_levels) for each in zip((data, *joined), weights, strict=True)]
    rows = np.array_split(np.arange(n), min(n, 4 * THREADS))
    parts = [slice(some[0], some[-1] + 1) for some in rows]
    first = 0
    # Threads of our own, with a matrix product each: BLAS's would wait for each other.
    with (
        progress(n_cells, label) as bar,
        ThreadPoolExecutor(THREADS) as pool,
        threadpool_limits(1, user_api="blas"),
    ):

        def by_parts(function: Callable[..., None], *arrays: NDArray[Any]) -> None:
            list(pool.map(function, *([array[part] for part in parts] for array in arrays)))

        while first < n_cells:
            base, *others = pool.map(next, sets)
            odds = np.ones_like(base)
            for one in others:
                by_parts(_multiply, odds, one, base)
            by_parts(_scan, odds, truth - first, total, above, tied, lost)
            by_parts(_keep_largest, odds, top, cells, np.full(n, first))
            size = odds.shape[1]
            for summed, subset in zip(sums, margins, strict=True):
                summed += odds @ _membership(first, size, subset, n_levels)
            first += size
            bar.update(size)
    return WholeSupport(
        np.log(total),
        1 + above + tied / 2,
        cells,
        np.log(top) - np.log(total)[:, None],
        tuple(summed / total[:, None] for summed in sums),
        lost,
    )


def _checked(
    data: Draws,
    joined: Sequence[Draws],
    n_levels: NDArray[np.int64],
    n_top: int,
    margins: Sequence[Sequence[int]],
) -> int:
    """Number of cells, if all is well."""
    n_cells = int(np.prod([int(levels) for levels in n_levels], dtype=object))
    if n_cells > 1 << 40:
        raise ValueError(f"the space has {n_cells:.3g} cells; all of them means 2^40 at most")
    if n_levels.max() > BLOCK:
        raise ValueError(f"a variable has {n_levels.max()} levels; they must be {BLOCK} at most")
    if not joined:
        raise ValueError("joined is empty; the intruder sees one release or more")
    for draws in joined:
        if not np.array_equal(draws.n_levels, n_levels):
            raise ValueError(
                f"joined has draws with levels {list(draws.n_levels)}; they must be those of data, "
                f"{list(n_levels)}"
            )
    if not 1 <= n_top <= n_cells:
        raise ValueError(f"n_top is {n_top}; it must be from 1 to {n_cells}, the number of cells")
    for subset in margins:
        positions = list(subset)
        if not positions or sorted(set(positions)) != sorted(positions):
            raise ValueError(f"margins has {positions}; a subset names distinct variables")
        if not all(0 <= k < len(n_levels) for k in positions):
            raise ValueError(f"margins has {positions}; variables are 0 to {len(n_levels) - 1}")
    return n_cells


def _weights(sets: Sequence[Draws], codes: NDArray[np.integer]) -> list[NDArray[np.float32]]:
    """Mean over draws of 1 / p(x_i | theta) as weights, (n, chains * draws) for each set.

    Up to a factor of each record, the same in all sets, that makes the largest weight one.
    """
    log_prob = [cell_log_prob(draws, codes).reshape(-1, len(codes)).T for draws in sets]
    least = np.min([values.min(axis=1) for values in log_prob], axis=0)[:, None]
    return [(np.exp(least - v) / v.shape[1]).astype(np.float32) for v in log_prob]


def _averages(
    draws: Draws, weights: NDArray[np.float32], n_levels: NDArray[np.int64]
) -> Iterator[NDArray[np.float32]]:
    """Weighted sums over draws of cell probabilities, blocks of (n, <= BLOCK) cells in order.

    A cell's probability is sum_f pi_f prod_k phi_fk. For each cell of the first variables a block
    is a matrix product of what those in the middle and the last ones contribute to each class (a
    Khatri-Rao product); both are small enough for it to stay in the processor's cache. For a few
    records the sum over draws is part of that product, for many it is one of its own.
    """
    pi = (draws.pi * SCALE).reshape(-1, draws.n_classes).astype(np.float32)
    phi = draws.phi.reshape(len(pi), -1, draws.n_classes)
    levels = np.split(phi, np.cumsum(n_levels)[:-1], axis=1)

    def contribution(variables: range) -> NDArray[np.float32]:
        product = np.ones((len(pi), 1, draws.n_classes), np.float32)
        for k in variables:
            product = (product[:, :, None] * levels[k][:, None]).reshape(
                len(pi), -1, draws.n_classes
            )
        return product

    inner = _suffix(n_levels, INNER)
    last = np.ascontiguousarray(contribution(range(inner, len(n_levels))).swapaxes(1, 2))
    outer = _suffix(n_levels[:inner], BLOCK // last.shape[2])
    middle = contribution(range(outer, inner))
    few = len(weights) <= FEW
    if few:  # a row of the product is a cell, its inner dimension all classes of all draws
        middle, last = middle.swapaxes(0, 1), last.reshape(-1, last.shape[2])
    for cell in np.ndindex(*n_levels[:outer]):
        here = pi
        for k, level in enumerate(cell):
            here = here * levels[k][:, level]
        if few:
            each = [(middle * (here * w[:, None])).reshape(len(middle), -1) @ last for w in weights]
            yield np.array(each).reshape(len(weights), -1)
        else:
            block = np.matmul(here[:, None] * middle, last, dtype=np.float32)
            yield weights @ block.reshape(len(pi), -1)


def _suffix(n_levels: NDArray[np.int64], most: int) -> int:
    """Where the longest run of last variables begins that has at most so many cells."""
    cells = np.cumprod(n_levels[::-1].astype(float))
    return len(n_levels) - int((cells <= most).sum())


def _membership(
    first: int, size: int, subset: Sequence[int], n_levels: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Which cell of a margin each cell of a block belongs to, as zeros and ones, (size, cells)."""
    levels = np.unravel_index(np.arange(first, first + size), tuple(n_levels))
    shape = tuple(n_levels[list(subset)])
    index = np.ravel_multi_index(tuple(levels[k] for k in subset), shape)
    return (index[:, None] == np.arange(np.prod(shape))).astype(np.float32)


@njit(nogil=True, cache=True)
def _multiply(odds, one, base):
    """Multiply the odds by the ratio of two sets' probabilities; -1 marks what float32 loses."""
    for i in range(odds.shape[0]):
        for c in range(odds.shape[1]):
            odds[i, c] = odds[i, c] * (one[i, c] / base[i, c]) if base[i, c] > 0 else -1.0


@njit(nogil=True, cache=True)
def _scan(odds, truth, total, above, tied, lost):
    """Add a block to sums and counts; afterwards the truth has odds of one, a lost cell of zero."""
    for i in range(odds.shape[0]):
        if 0 <= truth[i] < odds.shape[1]:
            odds[i, truth[i]] = 1.0
            tied[i] -= 1
        in_all, larger, equal, missing = 0.0, 0, 0, 0
        for c in range(odds.shape[1]):
            value = odds[i, c]
            missing += value < 0
            value = max(value, np.float32(0.0))
            odds[i, c] = value
            in_all += value
            larger += value > 1
            equal += value == 1
        total[i] += in_all
        above[i] += larger
        tied[i] += equal
        lost[i] += missing


@njit(nogil=True, cache=True)
def _keep_largest(odds, top, cells, first):
    """Insert a block's largest odds among the largest so far, which are in falling order."""
    last = top.shape[1] - 1
    for i in range(odds.shape[0]):
        if odds[i].max() <= top[i, last]:
            continue
        for c in range(odds.shape[1]):
            value = odds[i, c]
            if value > top[i, last]:
                j = last
                while j > 0 and top[i, j - 1] < value:
                    top[i, j], cells[i, j] = top[i, j - 1], cells[i, j - 1]
                    j -= 1
                top[i, j], cells[i, j] = value, first[i] + c
