"""Compare moves and starts of the mixture's sampler: agreement of chains per second.

`python tools/compare_samplers.py [RECORDS ...]` prints a table for samples of the
embedded population (default: 1000 10000); a path of a file of the American Community
Survey may take the place of a number. Before it starts, splits and merges alone are
checked against all allocations of six records. Nothing here is part of the library.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product, repeat
from math import lgamma

import numpy as np
from arviz_stats.base import array_stats
from numba import njit
from scipy.special import gammaln

from srlib import diagnostics
from srlib.data import distinct, microdata
from srlib.dpmpm import Prior, Sampler
from srlib.dpmpm.kernels import _class_weights as class_weights
from srlib.dpmpm.kernels import _cumulate as cumulate
from srlib.dpmpm.kernels import (
    _draw_alpha,
    _draw_class,
    _draw_sticks,
    _last_class,
    _relabel,
    fill_tables,
    mixture_log_prob,
)
from srlib.rng import stream

N_CLASSES = 40
N_CHAINS = 8
N_DRAWS = 400
BURN_IN = 5_000
CELLS = 200  # combinations whose log probability is compared
LADDER = np.array([0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3])  # powers of the likelihood

compiled = njit(nogil=True)


# ------------------------------------------------------------ allocations of records


@compiled
def allocate(products, rows, counts, class_of, rng):
    """Draw the class of every record, in the order of the combinations."""
    flat = products.ravel()
    weights = np.zeros(products.shape[1], products.dtype)
    lanes = np.zeros(9, products.dtype)
    starts = np.zeros(rows.shape[1], np.uint64)
    record = 0
    for i in range(rows.shape[0]):
        class_weights(flat, rows, i, starts, weights)
        total = cumulate(weights, lanes)
        for _ in range(counts[i]):
            u = products.dtype.type(rng.random() * total)
            if u < total:
                class_of[record] = _draw_class(weights, lanes, u)
            else:
                class_of[record] = _last_class(weights, lanes)
            record += 1


@compiled
def count(class_of, cells, level_counts, sizes):
    """Count records by class, and by class and level; cells are (n, n_variables)."""
    level_counts[:] = 0
    sizes[:] = 0
    for record in range(class_of.shape[0]):
        f = class_of[record]
        sizes[f] += 1
        for cell in cells[record]:
            level_counts[f, cell] += 1


# ------------------------------------------------------------------ split and merge


@compiled
def log_prior(sizes, alpha):
    """Return log p(classes | alpha) up to a constant, without the sticks."""
    total = 0.0
    behind = sizes.sum()
    for f in range(sizes.shape[0] - 1):
        behind -= sizes[f]
        total += lgamma(1.0 + sizes[f]) + lgamma(alpha + behind)
        total -= lgamma(1.0 + sizes[f] + alpha + behind)
    return total


@compiled
def log_marginal(level_counts, size, log_gamma, log_gamma_sum):
    """Return log p(records of a class), with phi integrated out."""
    total = -log_gamma_sum[size]
    for n in level_counts:
        total += log_gamma[n]
    return total


@compiled
def scan(members, cells, side, parts, sizes, logs, log_sums, forced, target, rng):
    """Move members between two parts by their conditionals; return the log of that.

    A side of -1 is not allocated yet. If `forced`, the target is taken, not drawn.
    """
    log_q = 0.0
    for m in range(members.shape[0]):
        record = members[m]
        if side[m] >= 0:
            sizes[side[m]] -= 1
            for cell in cells[record]:
                parts[side[m], cell] -= 1
        odds = np.log(sizes[1] / sizes[0]) + log_sums[sizes[0]] - log_sums[sizes[1]]
        for cell in cells[record]:
            odds += logs[parts[1, cell]] - logs[parts[0, cell]]
        if forced:
            side[m] = target[m]
        else:
            side[m] = rng.random() < 1 / (1 + np.exp(-odds))
        log_q -= np.log1p(np.exp(-odds if side[m] else odds))
        sizes[side[m]] += 1
        for cell in cells[record]:
            parts[side[m], cell] += 1
    return log_q


@compiled
def two_records(class_of, a, b, rng):
    """Return a record of class a, and another record, of class b, at random."""
    of_a = np.flatnonzero(class_of == a)
    of_b = np.flatnonzero(class_of == b)
    first = of_a[rng.integers(0, of_a.shape[0])]
    second = first
    while second == first:
        second = of_b[rng.integers(0, of_b.shape[0])]
    return first, second


@compiled
def allocate_parts(chosen, ends, cells, n_cells, logs, target, n_scans, forced, rng):
    """Allocate records to two parts; return them, their parts, and log probability.

    They are allocated one after the other, starting from the two records `ends` (Dahl
    2005), then scanned `n_scans` times (Jain and Neal 2004).
    """
    members = np.flatnonzero(chosen)
    rng.shuffle(members)
    side = np.full(members.shape[0], -1)
    parts = np.zeros((2, n_cells), np.int64)
    for part in range(2):
        for cell in cells[ends[part]]:
            parts[part, cell] += 1
    sizes = np.ones(2, np.int64)
    log_q = 0.0
    for i in range(n_scans + 1):
        is_last = i == n_scans
        log_q = scan(
            members,
            cells,
            side,
            parts,
            sizes,
            logs[0],
            logs[1],
            forced and is_last,
            target[members],
            rng,
        )
    return members, side, parts, sizes, log_q


@compiled
def split(a, class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng):
    """Propose to split class a; return whether it was accepted."""
    empty = np.flatnonzero(sizes == 0)
    if sizes[a] < 2 or not empty.shape[0]:
        return False
    ends = two_records(class_of, a, a, rng)
    chosen = class_of == a
    chosen[ends[0]] = chosen[ends[1]] = False
    members, side, parts, part_sizes, log_q = allocate_parts(
        chosen, ends, cells, level_counts.shape[1], logs, class_of, n_scans, False, rng
    )
    g = empty[rng.integers(0, empty.shape[0])]
    size = sizes[a]
    new_sizes = sizes.copy()
    new_sizes[a], new_sizes[g] = part_sizes
    log_ratio = log_prior(new_sizes, alpha) - log_prior(sizes, alpha) - log_q
    log_ratio -= log_marginal(level_counts[a], size, logs[2], logs[3])
    for part in range(2):
        log_ratio += log_marginal(parts[part], part_sizes[part], logs[2], logs[3])
    # Merging chooses two ordered classes and a record of each.
    merges = (new_sizes > 0).sum() * part_sizes[0] * part_sizes[1]
    log_ratio += np.log(size * (size - 1.0) * empty.shape[0] / merges)
    if np.log(rng.random()) >= log_ratio:
        return False
    class_of[members[side == 1]] = g
    class_of[ends[1]] = g
    level_counts[a] = parts[0]
    level_counts[g] = parts[1]
    sizes[:] = new_sizes
    return True


@compiled
def merge(a, b, class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng):
    """Propose to merge class b into class a; return whether it was accepted.

    Most merges are rejected before anything is allocated, because log q <= 0.
    """
    log_u = np.log(rng.random())
    whole = level_counts[a] + level_counts[b]
    size = sizes[a] + sizes[b]
    new_sizes = sizes.copy()
    new_sizes[a] = size
    new_sizes[b] = 0
    log_ratio = log_prior(new_sizes, alpha) - log_prior(sizes, alpha)
    log_ratio += log_marginal(whole, size, logs[2], logs[3])
    for f in (a, b):
        log_ratio -= log_marginal(level_counts[f], sizes[f], logs[2], logs[3])
    merges = (sizes > 0).sum() * sizes[a] * sizes[b]
    n_empty = (new_sizes == 0).sum()
    log_ratio += np.log(merges / (size * (size - 1.0) * n_empty))
    if log_u >= log_ratio:
        return False
    ends = two_records(class_of, a, b, rng)
    chosen = (class_of == a) | (class_of == b)
    chosen[ends[0]] = chosen[ends[1]] = False
    is_b = (class_of == b).astype(np.int64)
    log_q = allocate_parts(
        chosen, ends, cells, whole.shape[0], logs, is_b, n_scans, True, rng
    )[4]
    if log_u >= log_ratio + log_q:
        return False
    class_of[class_of == b] = a
    level_counts[a] = whole
    level_counts[b] = 0
    sizes[:] = new_sizes
    return True


@compiled
def split_or_merge(class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng):
    """Propose one split of a class or one merge of two."""
    classes = np.flatnonzero(sizes)
    a = b = classes[rng.integers(0, classes.shape[0])]
    if rng.random() < 0.5:
        return split(a, class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng)
    if classes.shape[0] < 2:
        return False
    while b == a:
        b = classes[rng.integers(0, classes.shape[0])]
    return merge(a, b, class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng)


# ------------------------------------------------- other samplers of the allocations


@compiled
def draw_phi(level_start, level_counts, concentration, power, rng, phi):
    """Draw phi given counts that are multiplied by the power of the likelihood."""
    for variable in range(level_start.shape[0] - 1):
        levels = slice(level_start[variable], level_start[variable + 1])
        for f in range(level_counts.shape[0]):
            for level in range(level_start[variable], level_start[variable + 1]):
                shape = concentration + power * level_counts[f, level]
                phi[level, f] = rng.standard_gamma(shape)
            phi[levels, f] /= phi[levels, f].sum()


@compiled
def log_denominator(size, n_levels, a):
    """Return minus the sum over the variables of log(d a + n)."""
    total = 0.0
    for d in n_levels:
        total -= np.log(d * a + size)
    return total


@compiled
def collapsed_sweep(class_of, cells, pi, level_counts, sizes, n_levels, a, rng):
    """Draw each record's class given pi and the classes of all others."""
    by_level = np.ascontiguousarray(level_counts.T).astype(np.float64) + a
    log_scale = np.empty(pi.shape[0])
    for f in range(pi.shape[0]):
        log_scale[f] = log_denominator(sizes[f], n_levels, a)
    for record in range(class_of.shape[0]):
        f = class_of[record]
        sizes[f] -= 1
        for cell in cells[record]:
            by_level[cell, f] -= 1.0
        log_scale[f] = log_denominator(sizes[f], n_levels, a)
        weights = pi * np.exp(log_scale - log_scale.max())
        for cell in cells[record]:
            weights *= by_level[cell]
        cumulated = np.cumsum(weights)
        f = np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")
        class_of[record] = f
        sizes[f] += 1
        for cell in cells[record]:
            by_level[cell, f] += 1.0
        log_scale[f] = log_denominator(sizes[f], n_levels, a)


@compiled
def iterate(n, n_moves, n_scans, power, collapsed, prior, chain, logs, n_levels, rng):
    """Run iterations with a record's class as state; return alpha."""
    tables, rows, counts, cells, alpha, pi, phi, class_of, sizes, level_counts = chain
    level_start = tables.groups.level_start
    log_pi = np.empty(pi.shape[0])
    a = prior[2]
    for _ in range(n):
        if collapsed:
            collapsed_sweep(class_of, cells, pi, level_counts, sizes, n_levels, a, rng)
        else:
            fill_tables(pi, phi ** np.float32(power), tables)
            allocate(tables.products, rows, counts, class_of, rng)
        count(class_of, cells, level_counts, sizes)
        for _ in range(n_moves):
            split_or_merge(
                class_of, cells, level_counts, sizes, alpha, logs, n_scans, rng
            )
        order = _relabel(sizes, alpha, False, rng)
        class_of[:] = np.argsort(order)[class_of]
        sizes[:] = sizes[order]
        level_counts[:] = level_counts[order]
        sum_log_left = _draw_sticks(sizes, alpha, rng, log_pi)
        pi[:] = np.exp(log_pi)
        alpha = _draw_alpha(prior, pi.shape[0], sum_log_left, rng)
        draw_phi(level_start, level_counts, a, power, rng, phi)
    return alpha


def log_tables(n, n_levels, a):
    """Return logarithms by count: a + m, sums of d a + m, and of gamma functions."""
    m = np.arange(n + 1)
    free = np.asarray(n_levels)[:, None] * a
    return (
        np.log(a + m),
        np.log(free + m).sum(axis=0),
        gammaln(a + m) - gammaln(a),
        (gammaln(free + m) - gammaln(free)).sum(axis=0),
    )


class Chain:
    """A chain of the library's sampler, continued with a record's class as state."""

    def __init__(self, codes, n_levels, rng, from_one_class=False):
        combinations, counts, _ = distinct(codes)
        self.sampler = Sampler(combinations, counts, n_levels, N_CLASSES, Prior(), rng)
        if from_one_class:
            self.sampler.gather()
        self.rng = rng
        self.cells = np.repeat(combinations, counts, axis=0).astype(np.int64)
        self.cells += np.cumsum([0, *n_levels])[:-1]
        self.class_of = np.zeros(len(codes), np.int64)
        self.sizes = np.zeros(N_CLASSES, np.int64)
        self.level_counts = np.zeros((N_CLASSES, n_levels.sum()), np.int64)
        self.n_levels = n_levels
        self.logs = log_tables(len(codes), n_levels, 1.0)
        self.prior = (0.25, 0.25, 1.0)

    def anneal(self, n_iterations):
        """Start as the library does."""
        for done in range(0, n_iterations, 10):
            self.sampler.advance(10, 0.75 + 0.25 * done / n_iterations)

    def advance(self, n, n_moves=0, n_scans=0, power=1.0, collapsed=False):
        """Run iterations of one of the samplers."""
        own = self.sampler
        chain = (
            own._tables,
            own.rows,
            own.counts,
            self.cells,
            own.alpha,
            own.pi,
            own.phi,
            self.class_of,
            self.sizes,
            self.level_counts,
        )
        if collapsed and not self.sizes.sum():
            self.advance(1)
        own.alpha = iterate(
            n,
            n_moves,
            n_scans,
            power,
            collapsed,
            self.prior,
            chain,
            self.logs,
            self.n_levels,
            self.rng,
        )

    def log_prob(self, power=1.0):
        """Return log sum_f pi_f phi_f(x)^power of each combination."""
        own = self.sampler
        fill_tables(own.pi, own.phi ** np.float32(power), own._tables)
        log_prob = np.empty(len(own.rows))
        mixture_log_prob(own._tables, own.rows, log_prob)
        return log_prob

    def log_likelihood(self, power=1.0):
        """Return log p(data | pi, phi), with phi raised to a power."""
        return self.sampler.counts @ self.log_prob(power)


# ---------------------------------------------------------------------- comparisons


def single(codes, n_levels, rng, thin, from_one_class=False, **move):
    """Yield the states of one chain."""
    chain = Chain(codes, n_levels, rng, from_one_class)
    chain.anneal(0 if from_one_class else BURN_IN // 2)
    chain.advance(BURN_IN // 2)
    for _ in range(N_DRAWS):
        chain.advance(thin, **move)
        yield chain


def tempered(codes, n_levels, rng, thin):
    """Yield the states at power one of chains that exchange their states."""
    chains = [Chain(codes, n_levels, own) for own in rng.spawn(len(LADDER))]
    for chain, power in zip(chains, LADDER, strict=True):
        chain.anneal(BURN_IN // 2)
        chain.advance(BURN_IN // 2, power=power)
    for draw in range(N_DRAWS):
        for chain, power in zip(chains, LADDER, strict=True):
            chain.advance(thin, power=power)
        for i in range(draw % 2, len(LADDER) - 1, 2):
            low, high = chains[i : i + 2]
            gain = low.log_likelihood(LADDER[i + 1]) + high.log_likelihood(LADDER[i])
            loss = low.log_likelihood(LADDER[i]) + high.log_likelihood(LADDER[i + 1])
            if np.log(rng.random()) < gain - loss:
                chains[i], chains[i + 1] = high, low
        yield chains[LADDER.searchsorted(1.0)]


def summaries(states, cells):
    """Return log likelihood, occupied classes and log probabilities, and CPU time."""
    rows = []
    start = time.thread_time()
    for chain in states:
        log_prob = chain.log_prob()
        total = chain.sampler.counts @ log_prob
        rows.append([total, (chain.sizes > 0).sum(), *log_prob[cells]])
    return np.array(rows), time.thread_time() - start


def samplers_of(codes, n_levels):
    """Return functions from a random stream to the states of a chain, by title."""

    def gibbs(thin, **settings):
        return partial(single, codes, n_levels, thin=thin, **settings)

    return {
        "Gibbs": gibbs(50),
        "Gibbs, from one class": gibbs(50, from_one_class=True),
        "split and merge": gibbs(25, n_moves=10),
        "split and merge, 5 scans": gibbs(25, n_moves=3, n_scans=5),
        "phi integrated out": gibbs(10, collapsed=True),
        "parallel tempering": partial(tempered, codes, n_levels, thin=6),
    }


def compare(name, codes, n_levels):
    """Print a row for each sampler."""
    n_combinations = len(distinct(codes)[0])
    rng = stream(1, "cells")
    cells = rng.choice(n_combinations, min(CELLS, n_combinations), replace=False)
    for title, sampler in samplers_of(codes, n_levels).items():
        rngs = stream(1, title).spawn(N_CHAINS)
        with ThreadPoolExecutor() as pool:
            runs = list(pool.map(summaries, map(sampler, rngs), repeat(cells)))
        values = np.stack([rows for rows, _ in runs])
        seconds = sum(used for _, used in runs)
        r_hat = diagnostics.r_hat(values)
        quantities = [values[..., k] for k in range(values.shape[2])]
        ess = np.array([array_stats.ess(draws) for draws in quantities]) / seconds
        classes = values[..., 1].mean(axis=1)
        numbers = [
            f"{seconds:.0f}",
            *(f"{value:.2f}" for value in r_hat[:2]),
            f"{np.nanquantile(r_hat[2:], 0.95):.2f}",
            *(f"{value:.1f}" for value in ess[:2]),
            f"{np.nanmedian(ess[2:]):.0f}",
            f"{values[..., 0].mean():.0f}",
            f"{classes.min():.1f} to {classes.max():.1f}",
        ]
        print("|", " | ".join([name, title, *numbers]), "|", flush=True)


def compile_samplers(codes, n_levels):
    """Run each kernel once, so that no time includes its compilation."""
    chain = Chain(codes[:100], n_levels, stream(1, "compile"))
    chain.anneal(10)
    chain.advance(1)
    chain.advance(1, collapsed=True)
    chain.log_prob()


def check_split_and_merge(n=2_000_000):
    """Compare splits and merges alone with all allocations of six records."""
    n_levels = np.array([2, 2])
    cells = np.array([[0, 2], [0, 2], [0, 3], [1, 3], [1, 3], [1, 2]])
    logs = log_tables(6, n_levels, 1.0)
    rng = stream(1, "check")
    for n_scans in (0, 2):
        class_of = np.zeros(6, np.int64)
        sizes = np.zeros(3, np.int64)
        level_counts = np.zeros((3, 4), np.int64)
        visits = np.zeros((3,) * 6)
        count(class_of, cells, level_counts, sizes)
        for _ in range(n):
            split_or_merge(
                class_of, cells, level_counts, sizes, 0.7, logs, n_scans, rng
            )
            visits[tuple(class_of)] += 1
        weights = np.empty(visits.shape)
        for allocation in product(range(3), repeat=6):
            count(np.array(allocation), cells, level_counts, sizes)
            weights[allocation] = log_prior(sizes, 0.7) + sum(
                log_marginal(level_counts[f], sizes[f], logs[2], logs[3])
                for f in range(3)
            )
        exact = np.exp(weights - np.logaddexp.reduce(weights, axis=None))
        distance = np.abs(visits / visits.sum() - exact).sum() / 2
        print(f"{n_scans} scans: {distance:.3f} from all {exact.size} allocations")
        assert distance < 0.02


def main():
    """Check the new move and print the table."""
    check_split_and_merge()
    heads = ["records", "sampler", "CPU s", "R-hat, log likelihood", "classes"]
    heads += ["log p, 95 %", "ESS per CPU s, log likelihood", "classes"]
    heads += ["log p, median", "mean log likelihood", "classes, by chain"]
    print("|", " | ".join(heads), "|")
    print("|" + "---|" * len(heads))
    for source in sys.argv[1:] or ["1000", "10000"]:
        n_records = int(source) if source.isdigit() else None
        data = "" if source.isdigit() else source
        vintage = {} if source.isdigit() else {"vintage": 2011}
        table = microdata.load(
            data, n_records=n_records, rng=stream(2014, "records"), **vintage
        )
        n_levels = table.schema.n_levels
        compile_samplers(table.codes, n_levels)
        compare(f"{len(table):,}", table.codes, n_levels)


if __name__ == "__main__":
    main()
