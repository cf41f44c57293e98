"""The Dirichlet process mixture of products of multinomials (DPMPM).

Hu, Reiter and Wang (2014), section 2: every record belongs to one of F latent classes, within
a class the variables are independent multinomials, and the class probabilities follow a
truncated stick-breaking prior. Here are its blocked Gibbs sampler, the synthesis of new
records from its draws, and the probabilities of cells under them.

The sampler works on the distinct combinations of the data with their counts. Variables are
taken together in groups whose tables of products stay in the processor's cache: a combination
then costs one product of F numbers a group instead of one a variable. Nothing depends on the
order in which threads run, and no sum is reassociated by the compiler.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import lgamma
from threading import Event

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from srlib.data.codes import distinct
from srlib.progress import progress

# Classes are padded to whole vectors of this many; a padded class has probability zero.
LANES = 8
# A group's table has at most this many cells (times F numbers), small enough for the cache.
GROUP_CELLS = 128
# The annealed start draws classes from their probabilities raised to powers from this one to 1.
FIRST_POWER = 0.75
# Combinations whose neighbours are taken at a time: a block makes the tables of all draws anew.
COMBINATIONS = 1024
# Below this the product of a combination's float32 factors is taken again, in logarithms.
UNDERFLOW = 1e-25
# Chains or blocks at a time: the processors, or what the environment leaves to this process.
THREADS: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Prior:
    """Prior distribution of the DPMPM; the defaults are the paper's (section 2).

    Parameters
    ----------
    alpha_shape, alpha_rate : float
        Gamma prior of alpha (equation 5), both positive.
    concentration : float
        Parameter of the symmetric Dirichlet prior of each class's level probabilities
        (equation 6), positive.
    """

    alpha_shape: float = 0.25
    alpha_rate: float = 0.25
    concentration: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} is {value}; it must be a positive number")


@dataclass(frozen=True, kw_only=True)
class Chains:
    """Settings of the chains of the Gibbs sampler, and the model that they sample.

    Parameters
    ----------
    n_classes : int
        Truncation level F of the mixture, 1 or more.
    burn_in : int
        Iterations dropped from each chain, 0 or more.
    n_draws : int
        Draws kept of each chain, 1 or more.
    thin : int
        Iterations for each draw kept, 1 or more.
    n_chains : int
        Number of chains, each from its own random start, 1 or more.
    prior : Prior
        Prior distribution; the paper's if not given.
    """

    n_classes: int
    burn_in: int
    n_draws: int
    thin: int = 1
    n_chains: int = 4
    prior: Prior = field(default_factory=Prior)

    def __post_init__(self) -> None:
        for name in ("n_classes", "n_draws", "thin", "n_chains"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if self.burn_in < 0:
            raise ValueError(f"burn_in is {self.burn_in}; it must be 0 or more")

    @property
    def n_iterations(self) -> int:
        """Iterations of one chain, those dropped among them."""
        return self.burn_in + self.n_draws * self.thin


@dataclass(frozen=True)
class Draws:
    """Draws from the posterior of a DPMPM.

    Attributes
    ----------
    alpha : (n_chains, n_draws) float64
        Concentration of the stick-breaking prior.
    pi : (n_chains, n_draws, n_classes) float64
        Class probabilities; they sum to one over the last axis.
    phi : (n_chains, n_draws, sum(n_levels), n_classes) float32
        Level probabilities within each class, the levels of all variables one after the other.
    class_sizes : (n_chains, n_draws, n_classes) int64
        Number of records in each class.
    log_likelihood : (n_chains, n_draws) float64
        log p(data | pi, phi), the classes summed out.
    n_levels : (n_variables,) int64
        Number of levels of each variable.
    allocations : Allocations or None
        The classes behind the draws, where they were kept.
    """

    alpha: NDArray[np.float64]
    pi: NDArray[np.float64]
    phi: NDArray[np.float32]
    class_sizes: NDArray[np.int64]
    log_likelihood: NDArray[np.float64]
    n_levels: NDArray[np.int64]
    allocations: "Allocations | None" = None

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.alpha.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws kept from each chain."""
        return self.alpha.shape[1]

    @property
    def n_classes(self) -> int:
        """Truncation level F."""
        return self.pi.shape[2]

    @property
    def n_occupied(self) -> NDArray[np.int64]:
        """Number of classes with at least one record, (n_chains, n_draws)."""
        return (self.class_sizes > 0).sum(axis=2)

    def every(self, step: int, n_chains: int | None = None) -> "Draws":
        """Every so many-th draw of each chain, the last one among them; without allocations.

        Parameters
        ----------
        step : int
            1 or more.
        n_chains : int, optional
            So many of the chains at most; all if not given.
        """
        draws = slice(self.n_draws - 1 - (self.n_draws - 1) // step * step, None, step)
        kept = slice(n_chains), draws
        return Draws(
            alpha=self.alpha[kept],
            pi=self.pi[kept],
            phi=self.phi[kept],
            class_sizes=self.class_sizes[kept],
            log_likelihood=self.log_likelihood[kept],
            n_levels=self.n_levels,
        )


@dataclass(frozen=True)
class Allocations:
    """Which class the records were in, draw by draw.

    Attributes
    ----------
    combinations : (n_combinations, n_variables) int
        Distinct combinations of the data.
    class_of : (n_chains, n_draws, n_combinations) uint16
        Class of one record of each combination, the same one in all draws.
    level_counts : (n_chains, n_draws, sum(n_levels), n_classes) int32
        Records of each class with each level.
    concentration : float
        Parameter of the Dirichlet prior of the level probabilities.
    """

    combinations: NDArray[np.integer]
    class_of: NDArray[np.uint16]
    level_counts: NDArray[np.int32]
    concentration: float


# --------------------------------------------------------------------------- groups of variables


@dataclass(frozen=True)
class Grouping:
    """Variables taken together so that a combination is one table row a group.

    Attributes
    ----------
    group_of : (n_variables,) int64
        Group of each variable; groups are runs of neighbouring variables.
    stride : (n_variables,) int64
        Step in the group's row when the variable's level goes up by one.
    row_start : (n_groups + 1,) int64
        First row of each group's table in the table of all groups.
    level_start : (n_variables + 1,) int64
        First row of each variable in ``phi``.
    """

    group_of: NDArray[np.int64]
    stride: NDArray[np.int64]
    row_start: NDArray[np.int64]
    level_start: NDArray[np.int64]

    def rows(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Row of each combination in each group's table, (n_combinations, n_groups)."""
        n_groups = self.row_start.size - 1
        rows = np.empty((codes.shape[0], n_groups), dtype=np.int64)
        for group in range(n_groups):
            of_group = self.group_of == group
            steps = codes[:, of_group].astype(np.int64) @ self.stride[of_group]
            rows[:, group] = self.row_start[group] + steps
        return rows


def group_variables(n_levels: NDArray[np.int64], max_cells: int = GROUP_CELLS) -> Grouping:
    """Group neighbouring variables into tables of at most `max_cells` cells."""
    group_of = np.zeros(n_levels.size, dtype=np.int64)
    cells = [1]
    for variable, levels in enumerate(n_levels):
        if cells[-1] * levels > max_cells and cells[-1] > 1:
            cells.append(1)
        cells[-1] *= int(levels)
        group_of[variable] = len(cells) - 1
    stride = np.ones(n_levels.size, dtype=np.int64)
    for variable in range(n_levels.size - 2, -1, -1):
        if group_of[variable] == group_of[variable + 1]:
            stride[variable] = stride[variable + 1] * n_levels[variable + 1]
    return Grouping(
        group_of=group_of,
        stride=stride,
        row_start=np.concatenate([[0], np.cumsum(cells)]).astype(np.int64),
        level_start=np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64),
    )


@njit(nogil=True, cache=True)
def _fill_tables(pi, phi, group_of, stride, row_start, level_start, table, log_scale):
    """Products of phi over each group's variables (and pi in group 0), each row's maximum one.

    ``table`` is (rows, classes), its padded classes zero; ``log_scale`` takes the logarithm of
    what each row was divided by.
    """
    n_classes = pi.shape[0]
    n_variables = group_of.shape[0]
    table[:] = 0.0
    for variable in range(n_variables):
        group = group_of[variable]
        start, stop = row_start[group], row_start[group + 1]
        levels = level_start[variable + 1] - level_start[variable]
        first = variable == 0 or group_of[variable - 1] != group
        for row in range(start, stop):
            source = level_start[variable] + (row - start) // stride[variable] % levels
            if first:
                for f in range(n_classes):
                    table[row, f] = phi[source, f]
            else:
                for f in range(n_classes):
                    table[row, f] *= phi[source, f]
    for row in range(row_start[1]):
        for f in range(n_classes):
            table[row, f] *= pi[f]
    for row in range(table.shape[0]):
        largest = table[row, 0]
        for f in range(1, n_classes):
            if table[row, f] > largest:
                largest = table[row, f]
        if largest > 0.0:
            log_scale[row] = np.log(np.float64(largest))
            scale = table.dtype.type(1.0) / largest
            for f in range(n_classes):
                table[row, f] *= scale
        else:
            log_scale[row] = 0.0


@njit(nogil=True, cache=True, inline="always")
def _class_weights(table, rows, i, starts, weights):
    """Product of combination i's table rows over the groups.

    ``table`` is flat; ``starts`` takes where the combination's rows begin. Indices are unsigned:
    signed ones would be checked for being negative, one by one.
    """
    padded = weights.shape[0]
    n_groups = starts.shape[0]
    for group in range(n_groups):
        starts[group] = np.uint64(rows[i, group] * padded)
    row = starts[0]
    if n_groups > 1:
        other = starts[1]
        for f in range(padded):
            weights[f] = table[row + np.uint64(f)] * table[other + np.uint64(f)]
    else:
        for f in range(padded):
            weights[f] = table[row + np.uint64(f)]
    group = 2
    while group + 1 < n_groups:
        row = starts[group]
        other = starts[group + 1]
        for f in range(padded):
            weights[f] *= table[row + np.uint64(f)] * table[other + np.uint64(f)]
        group += 2
    if group < n_groups:
        row = starts[group]
        for f in range(padded):
            weights[f] *= table[row + np.uint64(f)]


@njit(nogil=True, cache=True)
def _class_weights_in_logs(table, starts, weights):
    """The same weights, scaled so that the largest is one; returns the log of the scale."""
    padded = weights.shape[0]
    largest = -np.inf
    for turn in range(2):
        for f in range(padded):
            log_weight = 0.0
            for group in range(starts.shape[0]):
                log_weight += np.log(np.float64(table[starts[group] + np.uint64(f)]))
            if turn == 1:
                weights[f] = np.exp(log_weight - largest)
            elif log_weight > largest:
                largest = log_weight
    return largest


@njit(nogil=True, cache=True, inline="always")
def _cumulate(weights, lanes):
    """Turn weights into sums over the classes of each lane so far; return their total.

    Class f is in lane f % ``LANES``. ``lanes`` takes the sums over the lanes before each. The
    source fixes the order of all sums, so that they vectorise without leave to reassociate.
    """
    last = weights.shape[0] - LANES
    for f in range(last):  # forwards: the compiler would not take f - LANES for positive
        weights[f + LANES] += weights[f]
    total = weights.dtype.type(0.0)
    for j in range(LANES):
        total += weights[last + j]
        lanes[j + 1] = total
    return total


@njit(nogil=True, cache=True)
def _draw_class(cumulated, lanes, u):
    """Class at the point u of [0, total), the classes taken lane by lane.

    Lanes and classes that lie before u are counted, without branches that nobody can foresee.
    """
    lane = np.uint64(0)
    for j in range(1, LANES):
        lane += np.uint64(u >= lanes[j])
    within = u - lanes[lane]
    f = lane
    last = np.uint64(cumulated.shape[0] - LANES)
    at = lane
    while at < last:
        if within >= cumulated[at]:
            f += np.uint64(LANES)
        at += np.uint64(LANES)
    if within < cumulated[at]:
        return f
    # Rounding carried u past the lane's end: its last class that has a weight.
    while f >= np.uint64(LANES) and cumulated[f] == cumulated[f - np.uint64(LANES)]:
        f -= np.uint64(LANES)
    return f


# ------------------------------------------------------------------------------- the sampler


@njit(nogil=True, cache=True)
def _log_gamma_draw(shape, rng):
    """Logarithm of a Gamma(shape, 1) draw, exact also where the draw itself would be zero."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    # G(a) = G(a + 1) U^(1/a)
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


@njit(nogil=True, cache=True)
def _allocate(table, rows, counts, n_classes, cell_counts, class_of, rng):
    """Draw the class of every record, counted by group row and class (full conditional of eta).

    ``class_of`` takes the class of the first record of each combination.
    """
    padded = table.shape[1]
    n_groups = rows.shape[1]
    flat = table.ravel()
    cells = cell_counts.ravel()
    weights = np.zeros(padded, table.dtype)
    lanes = np.zeros(LANES + 1, table.dtype)
    starts = np.zeros(n_groups, np.uint64)
    cell_counts[:] = 0
    for i in range(rows.shape[0]):
        if counts[i] == 0:
            continue
        _class_weights(flat, rows, i, starts, weights)
        total = _cumulate(weights, lanes)
        if total < UNDERFLOW:
            _class_weights_in_logs(flat, starts, weights)
            total = _cumulate(weights, lanes)
        left = counts[i]
        if left > 2 * n_classes:
            left -= _allocate_many(weights, left - 1, n_classes, starts, cells, rng)
        for _ in range(left):
            f = _draw_class(weights, lanes, table.dtype.type(rng.random() * total))
            for group in range(n_groups):
                cells[starts[group] + f] += 1
        class_of[i] = f


@njit(nogil=True, cache=True)
def _allocate_many(cumulated, n_records, n_classes, starts, cells, rng):
    """The same for many records of one combination, class by class; returns their number."""
    padded = cumulated.shape[0]
    remaining = np.float64(0.0)
    for lane in range(LANES):
        remaining += cumulated[padded - LANES + lane]
    left = n_records
    for f in range(n_classes):
        weight = np.float64(cumulated[f])
        if f >= LANES:
            weight -= cumulated[f - LANES]
        if left == 0 or weight <= 0.0:
            continue
        share = weight / remaining
        taken = left if share >= 1.0 else rng.binomial(left, share)
        remaining -= weight
        left -= taken
        for group in range(starts.shape[0]):
            cells[starts[group] + np.uint64(f)] += taken
    return n_records - left


@njit(nogil=True, cache=True)
def _relabel(sizes, alpha, by_size, rng):
    """New order of the classes: by size, or after a sweep of Metropolis swaps of neighbours.

    With the sticks integrated out, p(eta | alpha) is the product over f < F of
    B(1 + n_f, alpha + n_>f) / B(1, alpha). Swapping f and f + 1 with c records behind them
    multiplies it by (alpha + n_f+1 + c) / (alpha + n_f + c), and for the last two classes by
    the ratio of gamma functions below (Papaspiliopoulos and Roberts 2008). The prior of phi is
    exchangeable, so that nothing else changes.
    """
    n_classes = sizes.shape[0]
    if by_size:
        return np.argsort(-sizes, kind="mergesort")
    order = np.arange(n_classes)
    behind = 0
    for f in range(n_classes):
        behind += sizes[f]
    for f in range(n_classes - 1):
        a = sizes[order[f]]
        b = sizes[order[f + 1]]
        behind -= a
        c = behind - b
        if f + 1 < n_classes - 1:
            log_ratio = np.log(alpha + b + c) - np.log(alpha + a + c)
        else:
            log_ratio = lgamma(1.0 + b) + lgamma(alpha + a) - lgamma(1.0 + a) - lgamma(alpha + b)
        if log_ratio >= 0.0 or rng.random() < np.exp(log_ratio):
            order[f], order[f + 1] = order[f + 1], order[f]
            behind += a - b
    return order


@njit(nogil=True, cache=True)
def _draw_sticks(sizes, alpha, rng, log_pi):
    """Draw V given the class sizes; fills log pi and returns the sum of log(1 - V_f), f < F."""
    n_classes = sizes.shape[0]
    behind = sizes.sum()
    log_left = 0.0
    for f in range(n_classes - 1):
        behind -= sizes[f]
        log_a = np.log(rng.standard_gamma(1.0 + sizes[f]))
        log_b = _log_gamma_draw(alpha + behind, rng)
        larger = max(log_a, log_b)
        log_sum = larger + np.log(np.exp(log_a - larger) + np.exp(log_b - larger))
        log_pi[f] = log_left + log_a - log_sum
        log_left += log_b - log_sum
    log_pi[n_classes - 1] = log_left
    return log_left


@njit(nogil=True, cache=True)
def _iterate(n_iterations, power, prior, counts, rows, groups, alpha, state, scratch, rng):
    """Blocked Gibbs iterations on alpha and the rest of the state, in place; returns alpha.

    One iteration: classes of all records given (pi, phi); new labels with the sticks
    integrated out; then V, alpha and phi from their full conditionals. With ``power`` below one
    the classes are drawn from their probabilities raised to that power and then ordered by
    size, which is a start and not a step of the chain.
    """
    alpha_shape, alpha_rate, concentration = prior
    group_of, stride, row_start, level_start = groups
    pi, phi, sizes, level_counts, class_of = state
    table, log_scale, cell_counts = scratch
    n_classes = pi.shape[0]
    n_variables = group_of.shape[0]
    log_pi = np.empty(n_classes)
    gammas = np.empty((np.max(np.diff(level_start)), n_classes))
    of_label = np.empty(n_classes, np.int64)
    for _ in range(n_iterations):
        if power < 1.0:
            # In place: both are drawn anew before the iteration ends.
            for f in range(n_classes):
                pi[f] **= power
                for level in range(phi.shape[0]):
                    phi[level, f] **= np.float32(power)
        _fill_tables(pi, phi, group_of, stride, row_start, level_start, table, log_scale)
        _allocate(table, rows, counts, n_classes, cell_counts, class_of, rng)

        by_label = np.zeros(n_classes, np.int64)
        for row in range(row_start[1]):
            for f in range(n_classes):
                by_label[f] += cell_counts[row, f]
        order = _relabel(by_label, alpha, power < 1.0, rng)
        for f in range(n_classes):
            sizes[f] = by_label[order[f]]
            of_label[order[f]] = f
        for i in range(class_of.shape[0]):
            class_of[i] = of_label[class_of[i]]

        sum_log_left = _draw_sticks(sizes, alpha, rng, log_pi)
        for f in range(n_classes):
            pi[f] = np.exp(log_pi[f])
        if n_classes > 1:
            # alpha | V ~ Gamma(a + F - 1, b - sum log(1 - V_f))
            alpha = np.exp(
                _log_gamma_draw(alpha_shape + n_classes - 1.0, rng)
                - np.log(alpha_rate - sum_log_left)
            )
        else:
            alpha = np.exp(_log_gamma_draw(alpha_shape, rng) - np.log(alpha_rate))

        for variable in range(n_variables):
            group = group_of[variable]
            start = level_start[variable]
            levels = level_start[variable + 1] - start
            level_counts[start : start + levels] = 0
            for row in range(row_start[group], row_start[group + 1]):
                level = start + (row - row_start[group]) // stride[variable] % levels
                for f in range(n_classes):
                    level_counts[level, of_label[f]] += cell_counts[row, f]
            for level in range(levels):
                for f in range(n_classes):
                    gammas[level, f] = rng.standard_gamma(
                        concentration + level_counts[start + level, f]
                    )
            for f in range(n_classes):
                total = 0.0
                for level in range(levels):
                    total += gammas[level, f]
                for level in range(levels):
                    phi[start + level, f] = gammas[level, f] / total
    return alpha


class Sampler:
    """One chain of the blocked Gibbs sampler, advanced in place.

    Parameters
    ----------
    combinations : (n_combinations, n_variables) int
        Distinct combinations of levels, coded from 0.
    counts : (n_combinations,) int
        Number of records with each combination, 0 or more.
    n_levels : (n_variables,) int
        Number of levels of each variable, 2 or more.
    n_classes : int
        Truncation level F, 1 or more.
    prior : Prior
        Prior distribution.
    rng : numpy.random.Generator
        The chain's own stream.
    """

    def __init__(
        self,
        combinations: NDArray[np.integer],
        counts: NDArray[np.integer],
        n_levels: NDArray[np.integer],
        n_classes: int,
        prior: Prior,
        rng: np.random.Generator,
    ) -> None:
        levels_of = np.asarray(n_levels, dtype=np.int64)
        self.rng = rng
        self.n_classes = n_classes
        self._prior = (prior.alpha_shape, prior.alpha_rate, prior.concentration)
        grouping = group_variables(levels_of)
        self._groups = _arrays(grouping)
        self._rows = grouping.rows(combinations)
        self.counts = np.asarray(counts, dtype=np.int64)
        self.alpha = 1.0
        self.pi = np.full(n_classes, 1.0 / n_classes)
        # A uniform Dirichlet whatever the prior: no combination may start with probability zero.
        self.phi = np.empty((int(levels_of.sum()), n_classes), dtype=np.float32)
        for start, levels in zip(grouping.level_start, levels_of, strict=False):
            self.phi[start : start + levels] = rng.dirichlet(np.ones(levels), n_classes).T
        self.sizes = np.zeros(n_classes, dtype=np.int64)
        self.level_counts = np.zeros(self.phi.shape, dtype=np.int64)
        self.class_of = np.zeros(len(self.counts), dtype=np.int64)
        table, log_scale = _empty_tables(grouping, n_classes, np.float32)
        self._scratch = (table, log_scale, np.zeros(table.shape, dtype=np.int64))

    @property
    def rows(self) -> NDArray[np.int64]:
        """The combinations as `Grouping.rows` gives them; written to, they change the data."""
        return self._rows

    def advance(self, n_iterations: int, power: float = 1.0) -> None:
        """Run iterations; a `power` below one makes them part of an annealed start."""
        self.alpha = _iterate(
            n_iterations,
            power,
            self._prior,
            self.counts,
            self._rows,
            self._groups,
            self.alpha,
            (self.pi, self.phi, self.sizes, self.level_counts, self.class_of),
            self._scratch,
            self.rng,
        )

    def log_likelihood(self) -> float:
        """log p(data | pi, phi), the classes summed out."""
        log_prob = np.empty(self._rows.shape[0])
        table, log_scale, _ = self._scratch
        group_of, stride, row_start, level_start = self._groups
        _fill_tables(self.pi, self.phi, group_of, stride, row_start, level_start, table, log_scale)
        _mixture_log_prob(table, log_scale, self._rows, log_prob)
        return float((self.counts * log_prob).sum())


def _arrays(grouping: Grouping) -> tuple[NDArray[np.int64], ...]:
    """The grouping as the tuple of arrays that the compiled functions take."""
    return grouping.group_of, grouping.stride, grouping.row_start, grouping.level_start


def _empty_tables(
    grouping: Grouping, n_classes: int, dtype: type
) -> tuple[NDArray, NDArray[np.float64]]:
    """Room for the tables of all groups, the classes padded to whole vectors."""
    n_rows = int(grouping.row_start[-1])
    padded = -(-n_classes // LANES) * LANES
    return np.zeros((n_rows, padded), dtype=dtype), np.zeros(n_rows)


def sample_posterior(
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    chains: Chains,
    *,
    rng: np.random.Generator,
    keep_allocations: bool = False,
    label: str = "DPMPM",
) -> Draws:
    """Draw from the posterior of the DPMPM by blocked Gibbs sampling.

    Each chain runs on its own stream, spawned from `rng`, so that the draws do not depend on
    the number of threads. The first half of the burn-in is an annealed start: classes are drawn
    from flattened probabilities and ordered by size, so that chains settle in the same mode far
    more often than from a plain random start. After it, Metropolis swaps of neighbouring labels
    keep alpha from depending on the labels that a chain happened to get.

    Parameters
    ----------
    codes : (n_records, n_variables) int
        Levels coded from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable, 2 or more.
    chains : Chains
        Number of classes and prior, number of chains and their lengths.
    rng : numpy.random.Generator
        Source of the chains' streams.
    keep_allocations : bool
        Whether the draws hold the records' classes, as `left_out_log_ratios` needs.
    label : str
        What the progress bar says.

    Returns
    -------
    Draws
        The draws kept.

    Raises
    ------
    ValueError
        If there are no records, or a code is not below its variable's number of levels.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2, equations 1 to 6; Ishwaran and James (2001) for the
    blocked Gibbs sampler.
    """
    codes, n_levels = _checked(codes, n_levels)
    if codes.shape[0] == 0:
        raise ValueError("codes has no records; at least one is needed")
    combinations, counts, _ = distinct(codes)
    draws = _empty_draws(chains, n_levels)
    if keep_allocations:
        allocations = Allocations(
            combinations=combinations,
            class_of=np.empty((*draws.alpha.shape, len(combinations)), dtype=np.uint16),
            level_counts=np.empty(draws.phi.shape, dtype=np.int32),
            concentration=chains.prior.concentration,
        )
        draws = replace(draws, allocations=allocations)
    stop = Event()

    def run(chain: int, chain_rng: np.random.Generator) -> None:
        sampler = Sampler(combinations, counts, n_levels, chains.n_classes, chains.prior, chain_rng)
        annealed = chains.burn_in // 2
        for done in range(0, annealed, 10):
            step = min(10, annealed - done)
            sampler.advance(step, FIRST_POWER + (1.0 - FIRST_POWER) * done / annealed)
            advance_bar(step)
        for done in range(annealed, chains.burn_in, 50):
            step = min(50, chains.burn_in - done)
            sampler.advance(step)
            advance_bar(step)
        for draw in range(chains.n_draws):
            sampler.advance(chains.thin)
            advance_bar(chains.thin)
            draws.alpha[chain, draw] = sampler.alpha
            draws.pi[chain, draw] = sampler.pi
            draws.phi[chain, draw] = sampler.phi
            draws.class_sizes[chain, draw] = sampler.sizes
            draws.log_likelihood[chain, draw] = sampler.log_likelihood()
            if draws.allocations is not None:
                draws.allocations.class_of[chain, draw] = sampler.class_of
                draws.allocations.level_counts[chain, draw] = sampler.level_counts

    def advance_bar(iterations: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        bar.update(iterations)

    total = chains.n_chains * chains.n_iterations
    with progress(total, label) as bar, ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(run, chain, r) for chain, r in enumerate(rng.spawn(chains.n_chains))]
        try:
            for chain in running:
                chain.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return draws


def _empty_draws(chains: Chains, n_levels: NDArray[np.int64]) -> Draws:
    shape, n_classes = (chains.n_chains, chains.n_draws), chains.n_classes
    return Draws(
        alpha=np.empty(shape),
        pi=np.empty((*shape, n_classes)),
        phi=np.empty((*shape, int(n_levels.sum()), n_classes), dtype=np.float32),
        class_sizes=np.empty((*shape, n_classes), dtype=np.int64),
        log_likelihood=np.empty(shape),
        n_levels=n_levels,
    )


def _checked(
    codes: NDArray[np.integer], n_levels: NDArray[np.integer]
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Arrays of the right shape and range, or a ValueError that says what is wrong."""
    codes = np.atleast_2d(np.asarray(codes))
    levels_of = np.asarray(n_levels, dtype=np.int64)
    if levels_of.ndim != 1 or levels_of.size == 0 or (levels_of < 2).any():
        raise ValueError(f"n_levels is {levels_of}; each variable needs two levels or more")
    if codes.ndim != 2 or codes.shape[1] != levels_of.size:
        raise ValueError(
            f"codes has shape {codes.shape}; it must be (n_records, {levels_of.size}), "
            "one column for each entry of n_levels"
        )
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"codes has type {codes.dtype}; it must be of integers from 0")
    if codes.size and ((codes < 0).any() or (codes.max(axis=0) >= levels_of).any()):
        column = int(np.argmax((codes < 0).any(axis=0) | (codes.max(axis=0) >= levels_of)))
        raise ValueError(
            f"codes, column {column}, runs from {codes[:, column].min()} to "
            f"{codes[:, column].max()}; it must lie in 0 to {levels_of[column] - 1}"
        )
    return codes, levels_of


# ------------------------------------------------------------------- what the draws are used for


@njit(nogil=True, cache=True)
def _mixture_log_prob(table, log_scale, rows, log_prob):
    """log p(x | pi, phi) of each combination from the groups' tables."""
    flat = table.ravel()
    weights = np.zeros(table.shape[1], table.dtype)
    lanes = np.zeros(LANES + 1, table.dtype)
    starts = np.zeros(rows.shape[1], np.uint64)
    for i in range(rows.shape[0]):
        _class_weights(flat, rows, i, starts, weights)
        total = np.float64(_cumulate(weights, lanes))
        log_largest = 0.0
        if total < UNDERFLOW:
            log_largest = _class_weights_in_logs(flat, starts, weights)
            total = np.float64(_cumulate(weights, lanes))
        log_prob[i] = np.log(total) + log_largest
        for group in range(rows.shape[1]):
            log_prob[i] += log_scale[rows[i, group]]


@njit(nogil=True, cache=True)
def _cell_log_prob(pi, phi, groups, table, log_scale, rows, log_prob):
    """`_mixture_log_prob` under each of many draws, (n_draws, n_combinations)."""
    group_of, stride, row_start, level_start = groups
    for draw in range(pi.shape[0]):
        _fill_tables(
            pi[draw], phi[draw], group_of, stride, row_start, level_start, table, log_scale
        )
        _mixture_log_prob(table, log_scale, rows, log_prob[draw])


def cell_log_prob(draws: Draws, codes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Log probability of combinations under each draw, the classes summed out.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n_combinations, n_variables) int
        Combinations, coded from 0; they need not occur in the data.

    Returns
    -------
    (n_chains, n_draws, n_combinations) float64
        log sum_f pi_f prod_k phi_fk(x_k), the inner sum of equation 13.
    """
    codes, n_levels = _checked(codes, draws.n_levels)
    grouping = group_variables(n_levels)
    rows = grouping.rows(codes)
    log_prob = np.empty((draws.n_chains, draws.n_draws, codes.shape[0]))

    def run(chain: int) -> None:
        table, log_scale = _empty_tables(grouping, draws.n_classes, np.float64)
        _cell_log_prob(
            draws.pi[chain],
            draws.phi[chain],
            _arrays(grouping),
            table,
            log_scale,
            rows,
            log_prob[chain],
        )

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(draws.n_chains)))
    return log_prob


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _dot(a, b):
    """Sum of products over the classes, in the order that suits the processor's vectors.

    No chain goes on from it, so that a last digit may differ from one processor to another.
    """
    total = a.dtype.type(0.0)
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total


@njit(nogil=True, cache=True)
def _other_groups(table, rows, i, group, others):
    """Product of combination i's table rows over all groups but one."""
    others[:] = 1.0
    for other in range(rows.shape[1]):
        if other != group:
            row = rows[i, other]
            for f in range(others.shape[0]):
                others[f] *= table[row, f]


@njit(nogil=True, cache=True)
def _other_groups_in_logs(table, rows, i, group, others):
    """The same up to a factor, the largest one: for products that underflow. Returns its log."""
    others[:] = 0.0
    for other in range(rows.shape[1]):
        if other != group:
            others += np.log(table[rows[i, other]])
    largest = np.max(others + np.log(table[rows[i, group]]))
    for f in range(others.shape[0]):
        others[f] = np.exp(others[f] - largest)
    return largest


@njit(nogil=True, cache=True)
def _neighbour_ratio_sums(pi, phi, groups, table, log_scale, rows, codes, draw_weights, sums):
    """Weighted sums over draws of p(x') / p(x), x' differing from x in one variable.

    ``sums`` is (n_weights, n_combinations, sum(n_levels)): the candidate (variable, level)
    stands where that level stands in ``phi``; the level that x has itself gives a ratio of one.
    """
    group_of, stride, row_start, level_start = groups
    others = np.zeros(table.shape[1], table.dtype)
    first_of = np.searchsorted(group_of, np.arange(rows.shape[1] + 1))
    for draw in range(pi.shape[0]):
        _fill_tables(
            pi[draw], phi[draw], group_of, stride, row_start, level_start, table, log_scale
        )
        scale = np.exp(log_scale)
        for i in range(rows.shape[0]):
            for group in range(rows.shape[1]):
                row = rows[i, group]
                _other_groups(table, rows, i, group, others)
                own_value = _dot(others, table[row])
                if own_value < 1e-200:
                    _other_groups_in_logs(table, rows, i, group, others)
                    own_value = _dot(others, table[row])
                for variable in range(first_of[group], first_of[group + 1]):
                    start = level_start[variable]
                    own_level = codes[i, variable]
                    for level in range(level_start[variable + 1] - start):
                        ratio = 1.0
                        if level != own_level:
                            candidate = row + (level - own_level) * stride[variable]
                            ratio = _dot(others, table[candidate]) / own_value
                            ratio *= scale[candidate] / scale[row]
                        for w in range(draw_weights.shape[0]):
                            sums[w, i, start + level] += draw_weights[w, draw] * ratio


def neighbour_log_ratios(
    draws: Draws,
    codes: NDArray[np.integer],
    log_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Log of weighted sums, over each chain's draws, of p(x' | draw) / p(x | draw).

    x' runs over the combinations that differ from x in one variable (the space R_i of section
    3.1); the ratio is the summand of equation 15.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n_combinations, n_variables) int
        The combinations x, coded from 0.
    log_weights : (n_weights, n_chains, n_draws) float, optional
        Logarithms of weights of the draws; without them one set of equal weights that sum to
        one within each chain, so that the result is the logarithm of each chain's mean.

    Returns
    -------
    (n_weights, n_chains, n_combinations, sum(n_levels)) float64
        Candidate (variable, level) stands where that level stands in ``phi``; where it is the
        level of x itself, the value is that of x, the logarithm of the sum of the weights.
    """
    codes, n_levels = _checked(codes, draws.n_levels)
    if log_weights is None:
        log_weights = np.full((1, draws.n_chains, draws.n_draws), -np.log(draws.n_draws))
    grouping = group_variables(n_levels)
    rows = grouping.rows(codes)
    n_candidates = int(n_levels.sum())
    codes = codes.astype(np.int64)
    sums = np.zeros((log_weights.shape[0], draws.n_chains, codes.shape[0], n_candidates))
    # In each chain the largest weight is one; a chain may also have no weight at all.
    largest = log_weights.max(axis=2, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    weights = np.exp(log_weights - largest)

    def run(chain: int, start: int) -> None:
        block = slice(start, start + COMBINATIONS)
        table, log_scale = _empty_tables(grouping, draws.n_classes, np.float64)
        _neighbour_ratio_sums(
            draws.pi[chain],
            draws.phi[chain],
            _arrays(grouping),
            table,
            log_scale,
            rows[block],
            codes[block],
            weights[:, chain],
            sums[:, chain, block],
        )

    with ThreadPoolExecutor(THREADS) as pool:
        blocks = [(c, s) for c in range(draws.n_chains) for s in range(0, len(codes), COMBINATIONS)]
        list(pool.map(run, *zip(*blocks, strict=True)))
    with np.errstate(divide="ignore"):
        return np.log(sums) + largest[..., None]


@njit(nogil=True, cache=True)
def _mean_sticks(sizes, alpha, mean):
    """Fills the expectation of pi given the class sizes and alpha; its padding stays."""
    behind = sizes.sum()
    left = 1.0
    for f in range(sizes.shape[0] - 1):
        behind -= sizes[f]
        mean[f] = left * (1.0 + sizes[f]) / (1.0 + sizes[f] + alpha + behind)
        left -= mean[f]
    mean[sizes.shape[0] - 1] = left


@njit(nogil=True, cache=True)
def _left_out_ratio_sums(
    alpha, sizes, level_counts, class_of, concentration, groups, table, log_scale, rows, codes,
    sums, log_prob,
):  # fmt: skip
    """Sums over draws of p(x' | classes of the others) / p(x | classes of the others).

    Without the record the mean of pi and the factors of its own class change; the other classes'
    products of posterior means are those of the table. ``log_prob`` takes log p(x | classes of
    the others).
    """
    group_of, stride, row_start, level_start = groups
    n_classes = sizes.shape[1]
    n_variables = group_of.shape[0]
    n_groups = rows.shape[1]
    first_of = np.searchsorted(group_of, np.arange(n_groups + 1))
    others = np.zeros(table.shape[1], table.dtype)
    mean_phi = np.empty(level_counts.shape[1:])
    weight_of = np.empty((n_classes, level_counts.shape[1]))
    no_weights = np.ones(n_classes)
    mean_pi = np.zeros((n_classes, table.shape[1]))
    for draw in range(sizes.shape[0]):
        for variable in range(n_variables):
            start, stop = level_start[variable], level_start[variable + 1]
            for f in range(n_classes):
                total = (stop - start) * concentration + sizes[draw, f]
                for level in range(start, stop):
                    weight_of[f, level] = concentration + level_counts[draw, level, f]
                    mean_phi[level, f] = weight_of[f, level] / total
        _fill_tables(
            no_weights, mean_phi, group_of, stride, row_start, level_start, table, log_scale
        )
        scale = np.exp(log_scale)
        without = sizes[draw].copy()
        for f in range(n_classes):
            if without[f] > 0:
                without[f] -= 1
                _mean_sticks(without, alpha[draw], mean_pi[f])
                without[f] += 1
        for i in range(rows.shape[0]):
            own = np.int64(class_of[draw, i])
            pi_without = mean_pi[own]
            weight = weight_of[own]
            # The own class's product without the record, relative to the scales of its rows.
            log_of_own = np.log(pi_without[own])
            log_scales = 0.0
            for group in range(n_groups):
                log_scales += log_scale[rows[i, group]]
                factor = 1.0
                for variable in range(first_of[group], first_of[group + 1]):
                    start = level_start[variable]
                    levels = level_start[variable + 1] - start
                    factor *= (weight[start + codes[i, variable]] - 1.0) / (
                        levels * concentration + sizes[draw, own] - 1.0
                    )
                log_of_own += np.log(factor)
            log_of_own -= log_scales
            of_own_scaled = np.exp(log_of_own)
            for group in range(n_groups):
                row = rows[i, group]
                of_own = of_own_scaled
                _other_groups(table, rows, i, group, others)
                for f in range(n_classes):
                    others[f] *= pi_without[f]
                others[own] = 0.0
                own_value = _dot(others, table[row]) + of_own
                log_largest = 0.0
                if own_value < 1e-200:
                    log_largest = _other_groups_in_logs(table, rows, i, group, others)
                    for f in range(n_classes):
                        others[f] *= pi_without[f]
                    others[own] = 0.0
                    of_own = np.exp(log_of_own - log_largest)
                    own_value = _dot(others, table[row]) + of_own
                if group == 0:
                    log_prob[draw, i] = np.log(own_value) + log_largest + log_scales
                of_others = 1.0 / (own_value * scale[row])
                for variable in range(first_of[group], first_of[group + 1]):
                    start = level_start[variable]
                    own_level = codes[i, variable]
                    of_own_class = of_own / (own_value * (weight[start + own_level] - 1.0))
                    for level in range(level_start[variable + 1] - start):
                        if level == own_level:
                            sums[i, start + level] += 1.0
                        else:
                            candidate = row + (level - own_level) * stride[variable]
                            value = _dot(others, table[candidate]) * scale[candidate]
                            sums[i, start + level] += (
                                value * of_others + weight[start + level] * of_own_class
                            )


def left_out_log_ratios(
    draws: Draws, codes: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Log means, over each chain's draws, of p(x' | others) / p(x | others) for records x left out.

    The same limit as `neighbour_log_ratios` with less noise: p(x' | D_-i) / p(x_i | D_-i) is the
    mean, over allocations of all records given D, of the ratio of predictive probabilities given
    the allocations of the others. Those are sums over classes of posterior means, in which pi and
    phi are integrated out (Rao-Blackwell).

    Parameters
    ----------
    draws : Draws
        Posterior draws with their allocations.
    codes : (n_combinations, n_variables) int
        Combinations that occur in the data of the draws, coded from 0.

    Returns
    -------
    log_ratios : (n_chains, n_combinations, sum(n_levels)) float64
        Candidate (variable, level) stands where that level stands in ``phi``; zero where it is the
        level of x itself.
    log_prob : (n_chains, n_draws, n_combinations) float32
        log p(x | allocations of the others). Minus it is the log of the weight by which a draw
        given D stands for one given D_-i.

    Raises
    ------
    ValueError
        If the draws hold no allocations, or a combination is not among their data.
    """
    kept = draws.allocations
    if kept is None:
        raise ValueError("draws hold no allocations; sample with keep_allocations=True")
    codes, n_levels = _checked(codes, draws.n_levels)
    place = {row.tobytes(): i for i, row in enumerate(kept.combinations.astype(np.int64))}
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    places = np.array([place.get(row.tobytes(), -1) for row in codes], dtype=np.int64)
    if (places < 0).any():
        raise ValueError(
            f"codes, row {places.argmin()}, is {codes[places.argmin()].tolist()}, which does not "
            "occur in the data of the draws; only a record of the data can be left out"
        )
    grouping = group_variables(n_levels)
    rows = grouping.rows(codes)
    sums = np.zeros((draws.n_chains, len(codes), int(n_levels.sum())))
    log_prob = np.empty((draws.n_chains, draws.n_draws, len(codes)), dtype=np.float32)

    def run(chain: int, start: int) -> None:
        block = slice(start, start + COMBINATIONS)
        table, log_scale = _empty_tables(grouping, draws.n_classes, np.float64)
        of_block = np.empty((draws.n_draws, len(codes[block])))
        _left_out_ratio_sums(
            draws.alpha[chain],
            draws.class_sizes[chain],
            kept.level_counts[chain],
            np.ascontiguousarray(kept.class_of[chain][:, places[block]]),
            kept.concentration,
            _arrays(grouping),
            table,
            log_scale,
            rows[block],
            codes[block],
            sums[chain, block],
            of_block,
        )
        log_prob[chain, :, block] = of_block

    with ThreadPoolExecutor(THREADS) as pool:
        blocks = [(c, s) for c in range(draws.n_chains) for s in range(0, len(codes), COMBINATIONS)]
        list(pool.map(run, *zip(*blocks, strict=True)))
    return np.log(sums / draws.n_draws), log_prob


@njit(nogil=True, cache=True)
def _synthesize(cumulative_pi, cumulative_phi, level_start, uniforms, codes):
    """Class from pi, then each variable from the class, by inverting the distribution function."""
    for i in range(codes.shape[0]):
        f = np.searchsorted(cumulative_pi, uniforms[i, 0], side="right")
        for variable in range(codes.shape[1]):
            u = uniforms[i, variable + 1]
            level = 0
            while (
                level_start[variable] + level + 1 < level_start[variable + 1]
                and u >= cumulative_phi[level_start[variable] + level, f]
            ):
                level += 1
            codes[i, variable] = level


def synthesize(
    pi: NDArray[np.floating],
    phi: NDArray[np.floating],
    n_levels: NDArray[np.integer],
    n_records: int,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    """One fully synthetic data set from one draw of the parameters.

    Every record draws its class afresh from pi, never from the class of a confidential record:
    with the record's own class, row i of the release would resemble row i of the data, and
    equation 13 would not be its likelihood.

    Parameters
    ----------
    pi : (n_classes,) float
        Class probabilities.
    phi : (sum(n_levels), n_classes) float
        Level probabilities within each class.
    n_levels : (n_variables,) int
        Number of levels of each variable, at most 256.
    n_records : int
        Size n* of the release, 1 or more.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (n_records, n_variables) uint8
        Levels coded from 0.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2, last paragraph but one.
    """
    if n_records < 1:
        raise ValueError(f"n_records is {n_records}; it must be 1 or more")
    n_levels = np.asarray(n_levels, dtype=np.int64)
    level_start = np.concatenate([[0], np.cumsum(n_levels)])
    cumulative_pi = np.cumsum(pi)[:-1]
    cumulative_phi = np.empty(phi.shape)
    for start, stop in itertools.pairwise(level_start):
        cumulative_phi[start:stop] = np.cumsum(phi[start:stop], axis=0, dtype=np.float64)
    codes = np.empty((n_records, n_levels.size), dtype=np.uint8)
    uniforms = rng.random((n_records, n_levels.size + 1))
    _synthesize(cumulative_pi, cumulative_phi, level_start, uniforms, codes)
    return codes


def spread_positions(draws: Draws, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Chain and place of n approximately independent draws, far apart in the chains (section 2).

    The draws are taken evenly over all draws of all chains, the last of each stretch.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    n : int
        How many to take, from 1 to the number of draws.

    Returns
    -------
    chain, draw : (n,) int64
        Positions along the first two axes of the arrays of `draws`.

    Raises
    ------
    ValueError
        If there are fewer than n draws.
    """
    total = draws.n_chains * draws.n_draws
    if not 1 <= n <= total:
        raise ValueError(f"n is {n}; it must lie in 1 to {total}, the number of draws")
    chain, draw = np.divmod((np.arange(1, n + 1) * total) // n - 1, draws.n_draws)
    return chain, draw
