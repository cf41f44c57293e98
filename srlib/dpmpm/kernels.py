"""Compiled code of the DPMPM: groups of variables, products over them, and what is made of these.

Variables are taken together in groups whose tables of products stay in the processor's cache: a
combination then costs one product of F numbers a group instead of one a variable. Nothing depends
on the order in which threads run, and no sum that a chain goes on from is reassociated by the
compiler. All compiled functions that call each other stand in this file: numba compiles a cached
one anew when its own file changes, and does not look at others.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from srlib.data.codes import Codes

# Classes are padded to whole vectors of this many; a padded class has probability zero.
LANES = 8
# A group's table has at most this many cells (times F numbers), small enough for the cache.
GROUP_CELLS = 128
# Below this the product of a combination's float32 factors is taken again, in logarithms.
UNDERFLOW = 1e-25
# Chains or blocks at a time: the processors, or what the environment leaves to this process.
THREADS: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


class Grouping(NamedTuple):
    """Variables taken together so that a combination is one table row a group.

    Groups are runs of neighboring variables. `stride` is the step in the group's row when the
    variable's level goes up by one; `row_start` the first row of each group's table in that of all
    groups, `level_start` that of each variable in ``phi``, `first_of` each group's first variable.
    """

    group_of: NDArray[np.int64]
    stride: NDArray[np.int64]
    row_start: NDArray[np.int64]
    level_start: NDArray[np.int64]
    first_of: NDArray[np.int64]

    def rows(self, codes: Codes) -> NDArray[np.int64]:
        """Row of each combination in each group's table, (n_combinations, n_groups)."""
        n_groups = self.row_start.size - 1
        rows = np.empty((codes.shape[0], n_groups), dtype=np.int64)
        for group in range(n_groups):
            of_group = self.group_of == group
            steps = codes[:, of_group].astype(np.int64) @ self.stride[of_group]
            rows[:, group] = self.row_start[group] + steps
        return rows


def group_variables(n_levels: NDArray[np.int64], max_cells: int = GROUP_CELLS) -> Grouping:
    """Group neighboring variables into tables of at most `max_cells` cells."""
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
        first_of=np.searchsorted(group_of, np.arange(len(cells) + 1)),
    )


def empty_tables(
    grouping: Grouping, n_classes: int, dtype: type
) -> tuple[NDArray, NDArray[np.float64]]:
    """Room for the tables of all groups, the classes padded to whole vectors."""
    n_rows = int(grouping.row_start[-1])
    padded = -(-n_classes // LANES) * LANES
    return np.zeros((n_rows, padded), dtype=dtype), np.zeros(n_rows)


# ----------------------------------------------------------------------------- products over groups


@njit(nogil=True, cache=True)
def fill_tables(pi, phi, groups, table, log_scale):
    """Products of phi over each group's variables (and pi in group 0), each row's maximum one.

    ``table`` is (rows, classes), its padded classes zero; ``log_scale`` takes the logarithm of
    what each row was divided by.
    """
    group_of, stride, row_start, level_start, _ = groups
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
    source fixes the order of all sums, so that they vectorize without leave to reassociate.
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
def mixture_log_prob(table, log_scale, rows, log_prob):
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
def cell_log_probs(pi, phi, groups, table, log_scale, rows, log_prob):
    """`mixture_log_prob` under each of many draws, (n_draws, n_combinations)."""
    for draw in range(pi.shape[0]):
        fill_tables(pi[draw], phi[draw], groups, table, log_scale)
        mixture_log_prob(table, log_scale, rows, log_prob[draw])


# ---------------------------------------------------------------------- an iteration of the sampler


@njit(nogil=True, cache=True)
def _log_gamma_draw(shape, rng):
    """Logarithm of a Gamma(shape, 1) draw, exact also where the draw itself would be zero."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    # G(a) = G(a + 1) U^(1/a)
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


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


@njit(nogil=True, cache=True)
def _last_class(cumulated, lanes):
    """Last class that has a weight, in the last lane that has one."""
    lane = LANES - 1
    while lane > 0 and lanes[lane] == lanes[lane + 1]:
        lane -= 1
    f = cumulated.shape[0] - LANES + lane
    while f >= LANES and cumulated[f] == cumulated[f - LANES]:
        f -= LANES
    return np.uint64(f)


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
            u = table.dtype.type(rng.random() * total)
            # Rounding may carry u up to the total, where lanes without a class may follow.
            f = _draw_class(weights, lanes, u) if u < total else _last_class(weights, lanes)
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
    """New order of the classes: by size, or after a sweep of Metropolis swaps of neighbors.

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
def iterate(n_iterations, power, prior, counts, rows, groups, alpha, state, scratch, rng):
    """Blocked Gibbs iterations on alpha and the rest of the state, in place; returns alpha.

    One iteration: classes of all records given (pi, phi); new labels with the sticks
    integrated out; then V, alpha and phi from their full conditionals. With ``power`` below one
    the classes are drawn from their probabilities raised to that power and then ordered by
    size, which is a start and not a step of the chain.
    """
    alpha_shape, alpha_rate, concentration = prior
    group_of, stride, row_start, level_start, _ = groups
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
        fill_tables(pi, phi, groups, table, log_scale)
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


# ------------------------------------------------------------------------------ ratios of neighbors


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
def neighbor_ratio_sums(pi, phi, groups, table, log_scale, rows, codes, draw_weights, sums):
    """Weighted sums over draws of p(x') / p(x), x' differing from x in one variable.

    ``sums`` is (n_weights, n_combinations, sum(n_levels)): the candidate (variable, level)
    stands where that level stands in ``phi``; the level that x has itself gives a ratio of one.
    """
    _, stride, _, level_start, first_of = groups
    others = np.zeros(table.shape[1], table.dtype)
    for draw in range(pi.shape[0]):
        fill_tables(pi[draw], phi[draw], groups, table, log_scale)
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


@njit(nogil=True, cache=True)
def _posterior_means(level_counts, sizes, concentration, level_start, weights, mean_phi):
    """Fill the weight of each level, (classes, rows of phi), and the means of phi they make."""
    for variable in range(level_start.shape[0] - 1):
        start, stop = level_start[variable], level_start[variable + 1]
        for f in range(sizes.shape[0]):
            total = (stop - start) * concentration + sizes[f]
            for level in range(start, stop):
                weights[f, level] = concentration + level_counts[level, f]
                mean_phi[level, f] = weights[f, level] / total


@njit(nogil=True, cache=True)
def _mean_sticks(sizes, alpha, mean):
    """Fill the expectation of pi given the class sizes and alpha; its padding stays."""
    behind = sizes.sum()
    left = 1.0
    for f in range(sizes.shape[0] - 1):
        behind -= sizes[f]
        mean[f] = left * (1.0 + sizes[f]) / (1.0 + sizes[f] + alpha + behind)
        left -= mean[f]
    mean[sizes.shape[0] - 1] = left


@njit(nogil=True, cache=True)
def _mean_sticks_without_one(sizes, alpha, means):
    """Fill row f with the expectation of pi without one of the records of class f."""
    without = sizes.copy()
    for f in range(sizes.shape[0]):
        if without[f] > 0:
            without[f] -= 1
            _mean_sticks(without, alpha, means[f])
            without[f] += 1


@njit(nogil=True, cache=True)
def _log_own_class(log_pi, weight, size, concentration, codes, i, groups):
    """Log of the summand of record i's own class, from the means without the record."""
    _, _, _, level_start, first_of = groups
    log_product = log_pi
    for group in range(first_of.shape[0] - 1):
        factor = 1.0
        for variable in range(first_of[group], first_of[group + 1]):
            start = level_start[variable]
            levels = level_start[variable + 1] - start
            factor *= (weight[start + codes[i, variable]] - 1.0) / (
                levels * concentration + size - 1.0
            )
        log_product += np.log(factor)
    return log_product


@njit(nogil=True, cache=True)
def _weigh_other_classes(products, pi, own):
    """Multiply the classes' products by pi, and leave out a record's own class."""
    for f in range(products.shape[0]):
        products[f] *= pi[f]
    products[own] = 0.0


@njit(nogil=True, cache=True)
def leave_one_out_ratio_sums(
    alpha, sizes, level_counts, class_of, concentration, groups, table, log_scale, rows, codes,
    sums, log_prob,
):  # fmt: skip
    """Sums over draws of p(x' | classes of the others) / p(x | classes of the others).

    Without the record the mean of pi and the factors of its own class change; the other classes'
    products of posterior means are those of the table. ``log_prob`` takes log p(x | classes of
    the others).
    """
    _, stride, _, level_start, first_of = groups
    n_classes = sizes.shape[1]
    others = np.zeros(table.shape[1], table.dtype)
    mean_phi = np.empty(level_counts.shape[1:])
    weights = np.empty((n_classes, level_counts.shape[1]))
    no_weights = np.ones(n_classes)
    mean_pi = np.zeros((n_classes, table.shape[1]))
    for draw in range(sizes.shape[0]):
        _posterior_means(
            level_counts[draw], sizes[draw], concentration, level_start, weights, mean_phi
        )
        fill_tables(no_weights, mean_phi, groups, table, log_scale)
        scale = np.exp(log_scale)
        _mean_sticks_without_one(sizes[draw], alpha[draw], mean_pi)
        for i in range(rows.shape[0]):
            own = np.int64(class_of[draw, i])
            pi, weight = mean_pi[own], weights[own]
            log_of_own = _log_own_class(
                np.log(pi[own]), weight, sizes[draw, own], concentration, codes, i, groups
            )
            log_scales = 0.0
            for group in range(rows.shape[1]):
                log_scales += log_scale[rows[i, group]]
            log_of_own -= log_scales  # relative to the scales of its rows
            of_own_scaled = np.exp(log_of_own)
            for group in range(rows.shape[1]):
                row, of_own, log_largest = rows[i, group], of_own_scaled, 0.0
                _other_groups(table, rows, i, group, others)
                _weigh_other_classes(others, pi, own)
                own_value = _dot(others, table[row]) + of_own
                if own_value < 1e-200:
                    log_largest = _other_groups_in_logs(table, rows, i, group, others)
                    _weigh_other_classes(others, pi, own)
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
                        else:  # a function of its own for this takes nearly twice the time
                            candidate = row + (level - own_level) * stride[variable]
                            value = _dot(others, table[candidate]) * scale[candidate]
                            sums[i, start + level] += (
                                value * of_others + weight[start + level] * of_own_class
                            )
