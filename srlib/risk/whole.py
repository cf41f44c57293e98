"""Posterior disclosure risk over the whole support: every combination might be the true one.

Hu, Reiter and Wang (2014), section 3.1, restrict the intruder's support to combinations that differ
from the truth in one variable, because the normalizing constant over all cells is impractical.
Here it is computed. The odds of all records and all cells (see `odds`) come from one matrix product
for each chain of draws, block of cells by block of cells, and nothing is kept of a block but sums,
counts and the largest odds. The truth has odds of one.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from srlib import checks
from srlib.data.codes import cell_numbers
from srlib.dpmpm.kernels import THREADS
from srlib.progress import progress
from srlib.risk.errors import infinitesimal_jackknife
from srlib.risk.odds import (
    ABOVE,
    LOST,
    SCALE,
    SURELY,
    TIED,
    TINY,
    UNSURE,
    WholeSupport,
    chain_means,
    deviations,
    keep_largest,
    number_of_cells,
    record_weights,
)
from srlib.risk.sampled import sampled_support
from srlib.risk.sets import DrawSets
from srlib.risk.supports import check_variables
from srlib.threads import one_blas_thread

# Cells visited at most by default: those of 200 records take about three hours on two cores.
MOST_CELLS = 1 << 30
# Cells of a block, of a block for a single record, and of the last variables' part of either.
BLOCK, BLOCK_OF_ONE, INNER = 8192, 1 << 16, 256
# Records and cells of a tile, sized so that its chains all stay in the processor's cache.
TILE = (128, 128)
# Parts into which records are divided among threads, whatever the number of threads, and the
# records that are worth a part of their own.
FEWEST_PARTS, MOST_PARTS, ROWS_OF_PART = 2, 16, 25


@one_blas_thread
def whole_support(
    sets: DrawSets,
    codes: NDArray[np.integer],
    *,
    n_top: int = 10,
    margins: Sequence[Sequence[int]] = (),
    most_cells: int = MOST_CELLS,
    rng: np.random.Generator | None = None,
    label: str = "cells",
) -> WholeSupport:
    """Compute the risk of records over all combinations of levels, with a uniform prior.

    Parameters
    ----------
    sets : DrawSets
        Draws given the data, and given the data joined with each release.
    codes : (n, n_variables) int
        The true combinations.
    n_top : int
        Most probable cells to keep, 1 or more and at most the number of cells.
    margins : sequence of sequence of int
        Subsets of variables whose marginal posteriors are wanted (equation 17); 100 cells of
        margins double the time.
    most_cells : int
        Where there are more cells, they are not visited but sampled by `sampled_support`.
    rng : numpy.random.Generator, optional
        Source of that sample.
    label : str
        Label of the progress bar.

    Returns
    -------
    WholeSupport
        A `SampledSupport` where the cells were sampled.

    Raises
    ------
    ValueError
        If no record is given, n_top or a subset is impossible, the space has more than
        `most_cells` cells while margins are wanted or no `rng` is given, or a variable has more
        than `BLOCK` levels.
    """
    n, n_levels = len(codes), sets.n_levels
    n_cells = number_of_cells(sets, codes)
    if n_cells > most_cells:
        if rng is None or margins:
            raise ValueError(
                f"the space has {n_cells:.3g} cells, more than most_cells ({most_cells:,}); a "
                "sample of them needs rng and gives no margins"
            )
        return sampled_support(sets, codes, rng=rng, n_top=n_top, label=label)
    _check(n_levels, n_cells, n_top, margins)
    bounds, powers, truth = sets.bounds, sets.powers, cell_numbers(codes, n_levels)
    mixtures, weights, most = _mixtures(sets, codes)
    totals = _Totals.zeros(int(bounds[-1]), n, n_top, margins, n_levels)
    rows_of_tile, cells_of_tile = _tile(n)

    def add(
        row: int, first: int, tiles: list[tuple[NDArray[np.float32], ...]], member: NDArray
    ) -> None:
        """Add a block of cells, those from number `first` on, for the rows of one tile."""
        rows, start = slice(row, row + rows_of_tile), 0
        for tile in tiles:
            means = chain_means([w[:, rows] for w in weights], tile)
            at = truth[rows] - first - start
            odds = _scan(means, bounds, powers, at, totals.counts[rows])
            stop = start + odds.shape[1]
            totals.sums[:, rows] += means @ member[start:stop]
            keep_largest(odds, totals.top[rows], totals.cells[rows], first + start)
            start = stop

    # Threads of our own, with a matrix product each: BLAS's would wait for each other.
    with progress(n_cells, label) as bar, ThreadPoolExecutor(THREADS) as pool:
        sources = [_cell_probabilities(*each, n_levels, most, cells_of_tile) for each in mixtures]
        first = 0
        while first < n_cells:
            tiles = list(zip(*pool.map(next, sources), strict=True))
            size = sum(tile[0].shape[2] for tile in tiles)
            member = _membership(first, size, margins, n_levels)
            add_block = partial(add, first=first, tiles=tiles, member=member)
            list(pool.map(add_block, range(0, n, rows_of_tile)))
            first += size
            bar.update(size)
    return _summary(sets, codes, margins, totals)


def _check(
    n_levels: NDArray[np.int64], n_cells: int, n_top: int, margins: Sequence[Sequence[int]]
) -> None:
    if n_levels.max() > BLOCK:
        raise ValueError(f"a variable has {n_levels.max()} levels; they must be {BLOCK} at most")
    checks.within(1, n_cells, n_top=n_top)
    for subset in margins:
        check_variables(len(n_levels), margin=subset)


@dataclass(frozen=True)
class _Totals:
    """Sums over the cells visited so far, for each of n records.

    Attributes
    ----------
    sums : (chains, n, 1 + cells of margins) float64
        What each chain would make of the normalizer and of the margins.
    counts : (n, 5) int64
        Cells by their odds; see `ABOVE`.
    top : (n, n_top) float32
        The largest odds, in falling order.
    cells : (n, n_top) int64
        Numbers of the cells that have them.
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    top: NDArray[np.float32]
    cells: NDArray[np.int64]

    @classmethod
    def zeros(
        cls,
        n_chains: int,
        n: int,
        n_top: int,
        margins: Sequence[Sequence[int]],
        n_levels: NDArray[np.int64],
    ) -> "_Totals":
        """Return totals over no cell."""
        columns = 1 + sum(int(np.prod(n_levels[list(subset)])) for subset in margins)
        return cls(
            np.zeros((n_chains, n, columns)),
            np.zeros((n, 5), np.int64),
            np.full((n, n_top), -1.0, np.float32),
            np.zeros((n, n_top), np.int64),
        )


def _tile(n: int) -> tuple[int, int]:
    """Return records and cells of a tile; a few records fill it with more cells.

    They do not depend on the number of threads: sums over a tile have the digits that its shape
    gives them.
    """
    most_rows, cells = TILE
    parts = max(FEWEST_PARTS, min(n // ROWS_OF_PART, MOST_PARTS))
    rows = min(most_rows, -(-n // parts))
    return rows, cells * (most_rows // rows)


type _Mixture = tuple[NDArray[np.float64], NDArray[np.float32]]


def _mixtures(
    sets: DrawSets, codes: NDArray[np.integer]
) -> tuple[list[_Mixture], list[NDArray[np.float32]], int]:
    """Return pi and phi of each set, the records' weights, and the cells of a block.

    The weights of a single record go into the class probabilities: a matrix product for each
    chain, not for each draw. With more records that would compute again for each what they have
    in common.
    """
    mixtures = [(draws.pi, draws.phi) for draws in sets]
    weights = record_weights(sets, codes)
    if len(codes) > 1:
        return mixtures, weights, BLOCK
    mixtures = [_weighted(*each, w[:, 0]) for each, w in zip(mixtures, weights, strict=True)]
    return mixtures, [np.ones((len(w), 1, 1), np.float32) for w in weights], BLOCK_OF_ONE


def _weighted(
    pi: NDArray[np.float64], phi: NDArray[np.float32], weights: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """One draw for each chain, its cell probabilities the weighted sum of those of all draws.

    The classes of all draws become its classes; ``weights`` is (chains, draws).
    """
    chains, _, levels, _ = phi.shape
    return (
        (pi * weights[..., None]).reshape(chains, 1, -1),
        phi.swapaxes(1, 2).reshape(chains, 1, levels, -1),
    )


def _cell_probabilities(
    pi: NDArray[np.float64],
    phi: NDArray[np.float32],
    n_levels: NDArray[np.int64],
    most: int,
    cells_of_tile: int,
) -> Iterator[list[NDArray[np.float32]]]:
    """Yield probabilities of cells under each draw, in order, in blocks of `most` cells at most.

    A block is a list of tiles, (chains, draws, <= cells_of_tile), each contiguous in memory.

    A cell's probability is sum_f pi_f prod_k phi_fk. For each cell of the first variables a block
    is a matrix product of what those in the middle and the last ones contribute to each class (a
    Khatri-Rao product); both are small enough for it to stay in the processor's cache.
    """
    chains, draws, classes = pi.shape
    scaled = (pi * SCALE).reshape(-1, classes).astype(np.float32)
    phi = phi.reshape(len(scaled), -1, classes)
    starts = np.cumsum(n_levels) - n_levels
    levels = [phi[:, a : a + n] for a, n in zip(starts, n_levels, strict=True)]

    def contribution(variables: range) -> NDArray[np.float32]:
        product = np.ones((len(scaled), 1, classes), np.float32)
        for k in variables:
            product = (product[:, :, None] * levels[k][:, None]).reshape(len(scaled), -1, classes)
        return product

    inner = _suffix(n_levels, INNER)
    last = np.ascontiguousarray(contribution(range(inner, len(n_levels))).swapaxes(1, 2))
    outer = _suffix(n_levels[:inner], most // last.shape[2])
    middle = contribution(range(outer, inner))
    for cell in np.ndindex(*n_levels[:outer]):
        here = scaled
        for k, level in enumerate(cell):
            here = here * levels[k][:, level]
        block = ((here[:, None] * middle) @ last).reshape(chains, draws, -1)
        tiles = range(0, block.shape[2], cells_of_tile)
        yield [np.ascontiguousarray(block[:, :, c : c + cells_of_tile]) for c in tiles]


def _suffix(n_levels: NDArray[np.int64], most: int) -> int:
    """Return where the longest run of last variables begins that has `most` cells at most."""
    cells = np.cumprod(n_levels[::-1].astype(float))
    return len(n_levels) - int((cells <= most).sum())


def _membership(
    first: int, size: int, margins: Sequence[Sequence[int]], n_levels: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Mark the cells of the margins that each cell of a block belongs to, by zeros and ones.

    (size, 1 + cells of all margins): the first column is the margin over no variable, all ones.
    """
    levels = np.unravel_index(np.arange(first, first + size), tuple(n_levels))
    columns = [np.ones((size, 1), np.float32)]
    for subset in margins:
        shape = tuple(n_levels[list(subset)])
        index = np.ravel_multi_index(tuple(levels[k] for k in subset), shape)
        columns.append((index[:, None] == np.arange(np.prod(shape))).astype(np.float32))
    return np.concatenate(columns, axis=1)


@njit(nogil=True, cache=True, error_model="numpy")
def _scan(means, bounds, powers, truth, counts):
    """Odds of a tile's cells against the truth, from chains' means; counts them by their error.

    ``means`` is (chains, records, cells), the chains of set s from ``bounds[s]`` on. On return a
    chain's mean is relative to that of its set and multiplied by the odds, so that its sum over
    cells is what the chain would make of the normalizer. The variance v of the log odds is that
    between chains; they are within two standard errors of zero where odds + 1 / odds - 2 is at
    most (2 sinh sqrt(v))^2, which is 4 v (1 + v / 3) but for higher powers of v.

    Loops over cells are functions of their own: as such the compiler turns them into vector code.
    """
    _, n, size = means.shape
    result = np.empty((n, size), np.float32)
    inverse = np.empty((len(powers), size), np.float32)
    mean, spread = np.empty(size, np.float32), np.empty(size, np.float32)
    variance = np.empty(size, np.float32)
    for i in range(n):
        odds = result[i]
        odds[:] = 1
        variance[:] = 0
        for s in range(len(powers)):
            first, last = bounds[s], bounds[s + 1]
            mean[:] = 0
            spread[:] = 0
            for j in range(first, last):
                _add_multiple(np.float32(1), means[j, i], mean)
            _divide(mean, np.float32(last - first), inverse[s])
            for j in range(first, last):
                _add_squares(means[j, i], inverse[s], spread)
            share = powers[s] ** 2 / ((last - first) * (last - first - 1))
            _add_multiple(np.float32(share), spread, variance)
            if s > 0:
                _multiply(mean, inverse[0])
                _multiply(odds, mean)
        if 0 <= truth[i] < size:
            odds[truth[i]] = 1
        _count(odds, variance, inverse[0], counts[i])
        for s in range(len(powers)):
            _multiply(inverse[s], odds)
            for j in range(bounds[s], bounds[s + 1]):
                _multiply(means[j, i], inverse[s])
    return result


@njit(nogil=True, cache=True)
def _add_multiple(factor, values, total):
    for c in range(total.size):
        total[c] += factor * values[c]


@njit(nogil=True, cache=True)
def _multiply(values, factors):
    for c in range(values.size):
        values[c] *= factors[c]


@njit(nogil=True, cache=True, error_model="numpy")
def _divide(total, count, inverse):
    """Make a sum a mean, and find its inverse: zero if too small for one."""
    one, share = np.float32(1), np.float32(1) / count
    for c in range(total.size):
        value = total[c] * share
        total[c] = value
        inverse[c] = one / value if value >= TINY else np.float32(0)


@njit(nogil=True, cache=True)
def _add_squares(values, inverse, total):
    """Add squares of relative differences from a mean."""
    for c in range(total.size):
        apart = values[c] * inverse[c] - np.float32(1)
        total[c] += apart * apart


@njit(nogil=True, cache=True)
def _count(odds, variance, inverse, counts):
    """Count a record's cells; lost are those whose mean given the data has no inverse."""
    one, third = np.float32(1), np.float32(1 / 3)
    above = surely = tied = unsure = lost = np.int32(0)
    for c in range(odds.size):
        apart, v = odds[c] - one, variance[c]
        near = apart * apart <= np.float32(4) * v * (one + third * v) * odds[c]
        above += odds[c] > one
        surely += (odds[c] > one) & (not near)
        tied += odds[c] == one
        unsure += near
        lost += inverse[c] == 0
    counts[ABOVE] += above
    counts[SURELY] += surely
    counts[TIED] += tied
    counts[UNSURE] += unsure
    counts[LOST] += lost


def _summary(
    sets: DrawSets, codes: NDArray[np.integer], margins: Sequence[Sequence[int]], totals: _Totals
) -> WholeSupport:
    """Return probabilities and their errors from the totals over all cells."""
    n_levels, counts = sets.n_levels, totals.counts
    of_data = slice(sets.data.n_chains)
    total = totals.sums[of_data, :, 0].mean(axis=0)
    shares = totals.sums / total[:, None]
    moves = shares[:, :, 0]
    mean = shares[of_data].mean(axis=0)
    margin_errors = infinitesimal_jackknife(sets, shares - mean * moves[..., None])
    ends = np.cumsum([1, *(np.prod(n_levels[list(subset)], dtype=int) for subset in margins)])
    parts = [slice(*pair) for pair in pairwise(ends)]
    with np.errstate(divide="ignore"):  # where fewer cells have any probability than are asked for
        top_log_prob = np.log(totals.top) - np.log(total)[:, None]
    top_codes = np.stack(np.unravel_index(totals.cells, tuple(n_levels)), axis=-1)
    apart = deviations(sets, codes, top_codes)
    return WholeSupport(
        log_normalizer=np.log(total),
        log_mcse=infinitesimal_jackknife(sets, moves - 1),
        rank=1 + counts[:, ABOVE] + (counts[:, TIED] - 1) / 2,
        rank_range=np.stack([1 + counts[:, SURELY], counts[:, SURELY] + counts[:, UNSURE]], axis=1)
        + 0.0,
        top_cells=totals.cells,
        top_log_prob=top_log_prob,
        top_log_mcse=infinitesimal_jackknife(sets, apart - (moves - 1)[..., None]),
        margins=tuple(mean[:, part] for part in parts),
        margins_mcse=tuple(margin_errors[:, part] for part in parts),
        lost=counts[:, LOST],
    )
