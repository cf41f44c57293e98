"""Posterior disclosure risk over the whole support: every combination might be the true one.

Hu, Reiter and Wang (2014), section 3.1, restrict the intruder's support to combinations that differ
from the truth in one variable, because the normalising constant over all cells is impractical.
Here it is computed. With draws theta given the data and given the data joined with each release,
the posterior odds of a cell x against the truth x_i are

    prod_l E_l[p(x | theta) / p(x_i | theta)] / E_0[p(x | theta) / p(x_i | theta)]^m

so that all records and all cells come from one matrix product for each chain of draws: weights
1 / p(x_i | theta) times cell probabilities, block of cells by block of cells, and nothing is kept
of a block but sums, counts and the largest odds. The truth has odds of one.

Each mean E is one of chains, and the Monte Carlo error is that between them. To first order a chain
moves a sum of odds by the same sum with each cell weighted by how far the chain's own mean is from
that of all (the infinitesimal jackknife), so that one pass over the cells gives the error as well.

Where cupy and a CUDA device are present the blocks are computed there.
"""

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib.data.codes import cell_numbers
from srlib.dpmpm.core import THREADS, Draws, cell_log_prob
from srlib.progress import progress
from srlib.risk.estimators import RECORDS
from srlib.threads import one_blas_thread

# Cells of a block, of a block for a single record, and of the last variables' part of either.
BLOCK, BLOCK_OF_ONE, INNER = 8192, 1 << 16, 256
# Records and cells of a tile, whose chains all stay in the processor's cache; and on a device,
# where all chains' means of a tile are so many numbers at most: a quarter of a gigabyte, of which
# three or so are needed at a time.
TILE, DEVICE_TILE, DEVICE_NUMBERS = (128, 128), (512, BLOCK), 1 << 26
# Into how many parts records are divided among threads, whatever their number, and the records that
# are worth a part of their own.
FEWEST_PARTS, MOST_PARTS, ROWS_OF_PART = 2, 16, 25
# What cell probabilities are multiplied by: float32 reaches from 1e-38 to 1e38.
SCALE = 1e24
# The smallest number of float32 with all its digits; less is lost.
TINY = np.float32(1.2e-38)
# What is counted for each record: cells with odds above one (surely: by more than two standard
# errors of their log), of one, not surely on either side, and lost.
ABOVE, SURELY, TIED, UNSURE, LOST = range(5)


@dataclass(frozen=True)
class WholeSupport:
    """What an intruder believes about each of n records who holds every cell possible.

    Attributes
    ----------
    log_normaliser : (n,) float64
        Log of the sum of posterior odds against the truth, over all cells.
    log_mcse : (n,) float64
        Its Monte Carlo standard error, from between chains; also that of the log probability of
        the truth.
    rank : (n,) float64
        Rank of the truth among all cells, 1 for the most probable; ties share their mean rank.
    rank_range : (n, 2) float64
        The rank if no cell, and if every cell, whose log odds against the truth are within two
        standard errors of zero (or above) were more probable than the truth.
    top_cells : (n, n_top) int64
        The most probable cells, as positions in lexicographic order (the last variable fastest).
    top_log_prob : (n, n_top) float64
        Their log posterior probabilities.
    top_log_mcse : (n, n_top) float64
        Monte Carlo standard errors of these, from between chains.
    margins : tuple of (n, prod(n_levels[subset])) float64
        Posterior probabilities of the subsets of variables that were asked for.
    margins_mcse : tuple of (n, prod(n_levels[subset])) float64
        Monte Carlo standard errors of these, from between chains.
    lost : (n,) int64
        Cells whose probability is too small for float32 under all draws given the data; they are
        left out of everything above.
    """

    log_normaliser: NDArray[np.float64]
    log_mcse: NDArray[np.float64]
    rank: NDArray[np.float64]
    rank_range: NDArray[np.float64]
    top_cells: NDArray[np.int64]
    top_log_prob: NDArray[np.float64]
    top_log_mcse: NDArray[np.float64]
    margins: tuple[NDArray[np.float64], ...]
    margins_mcse: tuple[NDArray[np.float64], ...]
    lost: NDArray[np.int64]

    @property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n,)."""
        return np.exp(-self.log_normaliser)


def array_module() -> Any:
    """Return cupy where it is installed and finds a CUDA device, numpy everywhere else."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return np
    return cupy if cupy.cuda.is_available() else np


@one_blas_thread
def whole_support(
    data: Draws,
    joined: Sequence[Draws],
    codes: NDArray[np.integer],
    *,
    n_top: int = 10,
    margins: Sequence[Sequence[int]] = (),
    label: str = "cells",
    executor: Executor | None = None,
) -> WholeSupport:
    """Risk of records over all combinations of levels, with a uniform prior.

    Parameters
    ----------
    data : Draws
        Given the confidential data, two chains or more.
    joined : sequence of Draws
        Given the confidential data joined with each release, at least one, of two chains or more.
    codes : (n, n_variables) int
        The true combinations.
    n_top : int
        Most probable cells to keep, 1 or more and at most the number of cells.
    margins : sequence of sequence of int
        Subsets of variables whose marginal posteriors are wanted (equation 17); 100 cells of
        margins double the time.
    label : str
        What the progress bar says.
    executor : Executor, optional
        Where blocks of `RECORDS` records are computed, such as that of a pool; here, all
        records at once, if not given.

    Returns
    -------
    WholeSupport

    Raises
    ------
    ValueError
        If no record or release is given, a set has fewer than two chains, the sets differ in their
        variables, n_top or a subset is impossible, the space has more than 2^40 cells, or a
        variable more than `BLOCK` levels.

    References
    ----------
    Jaeckel (1972), The infinitesimal jackknife, for the standard errors.
    """
    n_levels = np.asarray(data.n_levels)
    n_cells = _checked(data, joined, codes, n_top, margins)
    if executor is not None:
        options: dict[str, Any] = {"n_top": n_top, "margins": margins}
        blocks = [codes[first : first + RECORDS] for first in range(0, len(codes), RECORDS)]
        futures = [executor.submit(whole_support, data, joined, some, **options) for some in blocks]
        return _one_after_another([future.result() for future in futures])
    xp, n, sets = array_module(), len(codes), [data, *joined]
    bounds = set_bounds(sets)
    powers = set_powers(sets)
    mixtures, most = [(draws.pi, draws.phi) for draws in sets], BLOCK
    draw_weights = record_weights(sets, codes)
    if n == 1:
        # Its weights go into the class probabilities: a matrix product for each chain, not for each
        # draw. With more records that would compute again for each what they have in common.
        most = BLOCK_OF_ONE
        mixtures = [
            _weighted(*each, w[:, 0]) for each, w in zip(mixtures, draw_weights, strict=True)
        ]
        draw_weights = [np.ones((draws.n_chains, 1, 1), np.float32) for draws in sets]
    weights = [xp.asarray(each) for each in draw_weights]
    truth = xp.asarray(cell_numbers(codes, n_levels))
    columns = 1 + sum(int(np.prod(n_levels[list(subset)])) for subset in margins)
    sums, counts = xp.zeros((bounds[-1], n, columns)), xp.zeros((n, 5), np.int64)
    top, cells = xp.full((n, n_top), -1.0, np.float32), xp.zeros((n, n_top), np.int64)
    scan: Callable[..., Any]
    keep: Callable[..., None]
    if xp is np:
        n_threads, (most_rows, cells_of_tile), scan, keep = THREADS, TILE, _scan, keep_largest
        # Not by the threads: sums over a tile have the digits that its shape gives them.
        parts = max(FEWEST_PARTS, min(n // ROWS_OF_PART, MOST_PARTS))
    else:
        n_threads, (most_rows, cells_of_tile), parts = 1, DEVICE_TILE, 1
        most_rows = min(most_rows, max(1, DEVICE_NUMBERS // (bounds[-1] * cells_of_tile)))
        scan, keep = partial(_scan_arrays, xp), partial(_keep_largest_arrays, xp)
    rows_of_tile = min(most_rows, -(-n // parts))
    cells_of_tile *= most_rows // rows_of_tile  # a few records fill a tile with more cells
    # Threads of our own, with a matrix product each: BLAS's would wait for each other.
    with progress(n_cells, label) as bar, ThreadPoolExecutor(n_threads) as pool:
        # A device is chosen for a thread, so that it gets all its work from this one.
        map_over: Callable[..., Any] = pool.map if xp is np else map
        sources = [
            _cell_probabilities(xp, *each, n_levels, most, cells_of_tile) for each in mixtures
        ]
        first = 0
        while first < n_cells:
            tiles = list(zip(*map_over(next, sources), strict=True))
            size = sum(tile[0].shape[2] for tile in tiles)
            member = xp.asarray(_membership(first, size, margins, n_levels))

            def fill_in(row: int, first: int, tiles: list[tuple[Any, ...]], member: Any) -> None:
                rows, start = slice(row, row + rows_of_tile), 0
                for tile in tiles:
                    means = chain_means(xp, [w[:, rows] for w in weights], tile)
                    odds = scan(means, bounds, powers, truth[rows] - first - start, counts[rows])
                    stop = start + odds.shape[1]
                    sums[:, rows] += means @ member[start:stop]
                    keep(odds, top[rows], cells[rows], first + start)
                    start = stop

            fill = partial(fill_in, first=first, tiles=tiles, member=member)
            list(map_over(fill, range(0, n, rows_of_tile)))
            first += size
            bar.update(size)
    sums, counts, top, cells = (_on_host(xp, each) for each in (sums, counts, top, cells))
    return _summary(sets, codes, margins, sums, counts, top, cells)


def _one_after_another(parts: Sequence[WholeSupport]) -> WholeSupport:
    """Records of the first part, then those of the second, and so on."""

    def joined(values: Sequence[Any]) -> Any:
        if isinstance(values[0], tuple):
            return tuple(np.concatenate(each) for each in zip(*values, strict=True))
        return np.concatenate(values)

    return WholeSupport(
        *(joined([getattr(part, field.name) for part in parts]) for field in fields(WholeSupport))
    )


def check_sets(data: Draws, joined: Sequence[Draws], codes: NDArray[np.integer]) -> int:
    """Number of cells, if there are records and the sets of draws go together and have errors."""
    n_levels = np.asarray(data.n_levels)
    if len(codes) == 0:
        raise ValueError("codes is empty; it must have one combination or more")
    if not joined:
        raise ValueError("joined is empty; the intruder sees one release or more")
    chains = [draws.n_chains for draws in (data, *joined)]
    if min(chains) < 2:
        raise ValueError(
            f"the sets have {chains} chains; each needs two or more, since the standard errors "
            "come from between chains"
        )
    for draws in joined:
        if not np.array_equal(draws.n_levels, n_levels):
            raise ValueError(
                f"joined has draws with levels {list(draws.n_levels)}; they must be those of data, "
                f"{list(n_levels)}"
            )
    return math.prod(n_levels.tolist())


def _checked(
    data: Draws,
    joined: Sequence[Draws],
    codes: NDArray[np.integer],
    n_top: int,
    margins: Sequence[Sequence[int]],
) -> int:
    """Number of cells, if all is well."""
    n_levels = np.asarray(data.n_levels)
    n_cells = check_sets(data, joined, codes)
    if n_cells > 1 << 40:
        raise ValueError(
            f"the space has {n_cells:.3g} cells; all of them means 2^40 at most, sampled_support "
            "takes more"
        )
    if n_levels.max() > BLOCK:
        raise ValueError(f"a variable has {n_levels.max()} levels; they must be {BLOCK} at most")
    if not 1 <= n_top <= n_cells:
        raise ValueError(f"n_top is {n_top}; it must be from 1 to {n_cells}, the number of cells")
    for subset in margins:
        positions = list(subset)
        if not positions or sorted(set(positions)) != sorted(positions):
            raise ValueError(f"margins has {positions}; a subset names distinct variables")
        if not all(0 <= k < len(n_levels) for k in positions):
            raise ValueError(f"margins has {positions}; variables are 0 to {len(n_levels) - 1}")
    return n_cells


def set_bounds(sets: Sequence[Draws]) -> NDArray[np.int64]:
    """Where each set's chains begin and end among the chains of all."""
    return np.cumsum([0, *(draws.n_chains for draws in sets)])


def set_powers(sets: Sequence[Draws]) -> NDArray[np.float32]:
    """Power of each set's mean in the odds: minus the number of releases for the data, else one."""
    return np.array([1 - len(sets), *(1 for _ in sets[1:])], np.float32)


def record_weights(sets: Sequence[Draws], codes: NDArray[np.integer]) -> list[NDArray[np.float32]]:
    """Chains' means of 1 / p(x_i | theta) as weights, (chains, n, draws) for each set.

    Up to a factor of each record, the same in all sets, that makes the largest weight one.
    """
    log_prob = [cell_log_prob(draws, codes).swapaxes(1, 2) for draws in sets]
    least = np.min([values.min(axis=(0, 2)) for values in log_prob], axis=0)[:, None]
    return [(np.exp(least - v) / v.shape[2]).astype(np.float32) for v in log_prob]


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
    xp: Any,
    pi: NDArray[np.float64],
    phi: NDArray[np.float32],
    n_levels: NDArray[np.int64],
    most: int,
    cells_of_tile: int,
) -> Iterator[list[Any]]:
    """Probabilities of cells under each draw, in blocks of at most so many cells, in order.

    A block is a list of tiles, (chains, draws, <= cells_of_tile), each contiguous in memory.

    A cell's probability is sum_f pi_f prod_k phi_fk. For each cell of the first variables a block
    is a matrix product of what those in the middle and the last ones contribute to each class (a
    Khatri-Rao product); both are small enough for it to stay in the processor's cache.
    """
    chains, draws, classes = pi.shape
    scaled = xp.asarray((pi * SCALE).reshape(-1, classes).astype(np.float32))
    phi = xp.asarray(phi.reshape(len(scaled), -1, classes))
    starts = np.cumsum(n_levels) - n_levels
    levels = [phi[:, a : a + n] for a, n in zip(starts, n_levels, strict=True)]

    def contribution(variables: range) -> Any:
        product = xp.ones((len(scaled), 1, classes), np.float32)
        for k in variables:
            product = (product[:, :, None] * levels[k][:, None]).reshape(len(scaled), -1, classes)
        return product

    inner = _suffix(n_levels, INNER)
    last = xp.ascontiguousarray(contribution(range(inner, len(n_levels))).swapaxes(1, 2))
    outer = _suffix(n_levels[:inner], most // last.shape[2])
    middle = contribution(range(outer, inner))
    for cell in np.ndindex(*n_levels[:outer]):
        here = scaled
        for k, level in enumerate(cell):
            here = here * levels[k][:, level]
        block = ((here[:, None] * middle) @ last).reshape(chains, draws, -1)
        tiles = range(0, block.shape[2], cells_of_tile)
        yield [xp.ascontiguousarray(block[:, :, c : c + cells_of_tile]) for c in tiles]


def _suffix(n_levels: NDArray[np.int64], most: int) -> int:
    """Where the longest run of last variables begins that has at most so many cells."""
    cells = np.cumprod(n_levels[::-1].astype(float))
    return len(n_levels) - int((cells <= most).sum())


def _membership(
    first: int, size: int, margins: Sequence[Sequence[int]], n_levels: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Which cells of the margins each cell of a block belongs to, as zeros and ones.

    (size, 1 + cells of all margins): the first column is the margin over no variable, all ones.
    """
    levels = np.unravel_index(np.arange(first, first + size), tuple(n_levels))
    columns = [np.ones((size, 1), np.float32)]
    for subset in margins:
        shape = tuple(n_levels[list(subset)])
        index = np.ravel_multi_index(tuple(levels[k] for k in subset), shape)
        columns.append((index[:, None] == np.arange(np.prod(shape))).astype(np.float32))
    return np.concatenate(columns, axis=1)


def chain_means(xp: Any, weights: Sequence[Any], blocks: Sequence[Any]) -> Any:
    """Each chain's mean of p(x | theta) / p(x_i | theta), (chains of all sets, records, cells)."""
    shape = (weights[0].shape[1], blocks[0].shape[2])
    means = xp.empty((sum(len(w) for w in weights), *shape), np.float32)
    first = 0
    for w, block in zip(weights, blocks, strict=True):
        xp.matmul(w, block, out=means[first : first + len(w)])
        first += len(w)
    return means


@njit(nogil=True, cache=True, error_model="numpy")
def _scan(means, bounds, powers, truth, counts):
    """Odds of a tile's cells against the truth, from chains' means; counts them by their error.

    ``means`` is (chains, records, cells), the chains of set s from ``bounds[s]`` on. On return a
    chain's mean is relative to that of its set and multiplied by the odds, so that its sum over
    cells is what the chain would make of the normaliser. The variance v of the log odds is that
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


def weighted_odds(xp: Any, means: Any, bounds: Any, powers: Any, truth: Any) -> tuple[Any, ...]:
    """Odds against the truth, the variance of their log, and which cells are lost; see `_scan`.

    Makes the chains' means relative to those of their sets and multiplies them by the odds.
    """
    odds: Any = 1.0
    variance: Any = 0.0
    inverse: list[Any] = []
    for (first, last), power in zip(pairwise(bounds), powers, strict=True):
        of_set, chains = means[first:last], int(last - first)
        mean = of_set.mean(axis=0)
        inverse.append(xp.where(mean >= TINY, 1 / xp.maximum(mean, TINY), 0))
        if len(inverse) > 1:
            odds = odds * (mean * inverse[0])
        of_set *= inverse[-1]
        share = float(power) ** 2 / (chains * (chains - 1))
        variance = variance + share * ((of_set - 1) ** 2).sum(axis=0)
    means *= odds
    inside = xp.flatnonzero((truth >= 0) & (truth < odds.shape[1]))
    odds[inside, truth[inside]] = 1
    return odds, variance, inverse[0] == 0


def within_two_errors(odds: Any, variance: Any) -> Any:
    """Where log odds are within two standard errors of zero; see `_scan`."""
    return (odds - 1) ** 2 <= 4 * variance * (1 + variance / 3) * odds


def _scan_arrays(xp, means, bounds, powers, truth, counts):
    """What `_scan` does, in array operations."""
    odds, variance, lost = weighted_odds(xp, means, bounds, powers, truth)
    above, near = odds > 1, within_two_errors(odds, variance)
    each = (above, above & ~near, odds == 1, near, lost)
    counts += xp.stack([cells.sum(axis=1) for cells in each], axis=1)
    return odds


@njit(nogil=True, cache=True)
def keep_largest(odds, top, cells, first):
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
                top[i, j], cells[i, j] = value, first + c


def _keep_largest_arrays(xp, odds, top, cells, first):
    """What `_keep_largest` does, in array operations."""
    some = xp.flatnonzero(odds.max(axis=1) > top[:, -1])
    if some.size:
        all_odds = xp.concatenate([top[some], odds[some]], axis=1)
        new = xp.broadcast_to(xp.arange(first, first + odds.shape[1]), odds[some].shape)
        all_cells = xp.concatenate([cells[some], new], axis=1)
        order = xp.argsort(-all_odds, axis=1, kind="stable")[:, : top.shape[1]]
        top[some] = xp.take_along_axis(all_odds, order, axis=1)
        cells[some] = xp.take_along_axis(all_cells, order, axis=1)


def _summary(
    sets: Sequence[Draws],
    codes: NDArray[np.integer],
    margins: Sequence[Sequence[int]],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
    top: NDArray[np.float32],
    cells: NDArray[np.int64],
) -> WholeSupport:
    """Probabilities and their errors from sums, (chains, n, 1 + cells of margins), and counts."""
    n_levels = np.asarray(sets[0].n_levels)
    total = sums[: sets[0].n_chains, :, 0].mean(axis=0)
    shares = sums / total[:, None]
    moves = shares[:, :, 0]
    mean = shares[: sets[0].n_chains].mean(axis=0)
    margin_errors = between_chains(sets, shares - mean * moves[..., None])
    ends = np.cumsum([1, *(np.prod(n_levels[list(subset)], dtype=int) for subset in margins)])
    parts = [slice(*pair) for pair in pairwise(ends)]
    with np.errstate(divide="ignore"):  # where fewer cells have any probability than are asked for
        top_log_prob = np.log(top) - np.log(total)[:, None]
    apart = deviations(sets, codes, np.stack(np.unravel_index(cells, tuple(n_levels)), axis=-1))
    return WholeSupport(
        np.log(total),
        between_chains(sets, moves - 1),
        1 + counts[:, ABOVE] + (counts[:, TIED] - 1) / 2,
        np.stack([1 + counts[:, SURELY], counts[:, SURELY] + counts[:, UNSURE]], axis=1) + 0.0,
        cells,
        top_log_prob,
        between_chains(sets, apart - (moves - 1)[..., None]),
        tuple(mean[:, part] for part in parts),
        tuple(margin_errors[:, part] for part in parts),
        counts[:, LOST],
    )


def between_chains(sets: Sequence[Draws], moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard error of an estimate from what each chain's mean, (chains of all sets, ...), adds.

    ``moves`` are derivatives with respect to the log weight of a chain, zero on average.
    """
    variance = np.zeros(moves.shape[1:])
    for (first, last), power in zip(pairwise(set_bounds(sets)), set_powers(sets), strict=True):
        chains = last - first
        variance += power**2 * (moves[first:last] ** 2).sum(axis=0) / (chains * (chains - 1))
    return np.sqrt(variance)


def deviations(
    sets: Sequence[Draws], codes: NDArray[np.integer], candidates: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How far each chain's mean ratio is from its set's, for (n, n_candidates) cells."""
    *_, k, n_variables = candidates.shape
    each = []
    for draws in sets:
        truth = cell_log_prob(draws, codes)
        log_prob = cell_log_prob(draws, candidates.reshape(-1, n_variables))
        log_mean = logsumexp(log_prob.reshape(*truth.shape, k) - truth[..., None], axis=1)
        of_set = logsumexp(log_mean, axis=0) - np.log(draws.n_chains)
        with np.errstate(invalid="ignore"):  # no draw gives the cell any probability
            each.append(np.expm1(log_mean - of_set))
    return np.concatenate(each)


def _on_host(xp: Any, array: Any) -> NDArray[Any]:
    return array if xp is np else xp.asnumpy(array)
