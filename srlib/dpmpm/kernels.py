"""Compiled kernels of the DPMPM, which use products over groups of variables.

Variables are grouped so that each group's table of products fits in the processor's
cache: a combination then costs one product of F numbers per group instead of one per
variable. Results do not depend on the order in which threads run, and the compiler does
not reassociate any sum on which a chain continues. All compiled functions that call
each other are in this file, because numba recompiles a cached function when its own
file changes, but not when another file does.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srlib.arrays import Floats, Ints
from srlib.compiled import compiled, inlined, njit
from srlib.data.codes import Codes

# Classes are padded to whole vectors of this many; a padded class has probability zero.
LANES = 8
# Most cells in a group's table (times F numbers), few enough for the cache.
GROUP_CELLS = 128
# Below this the product of a combination's float32 factors is computed again, in
# logarithms.
UNDERFLOW = 1e-25
# The same for float64 sums over classes.
TINY = 1e-200


class Grouping(NamedTuple):
    """Groups of adjacent variables, so that a combination is one table row per group.

    `stride` is the step in the group's row when the variable's level increases by one;
    `row_start` the first row of each group in the joint table, `level_start` the first
    row of each variable in ``phi``, `phi_row` the row of each variable in ``phi`` for
    each row of its group, `first_of` each group's first variable.
    """

    group_of: Ints
    stride: Ints
    row_start: Ints
    level_start: Ints
    phi_row: Ints
    first_of: Ints

    def rows(self, codes: Codes) -> Ints:
        """Return each combination's row in each table, (n_combinations, n_groups)."""
        steps = np.multiply(codes, self.stride, order="C")
        return np.add.reduceat(steps, self.first_of[:-1], axis=1) + self.row_start[:-1]


class Tables(NamedTuple):
    """Products of level probabilities over the variables of each group.

    `products` is (rows, classes), with zeros in its padded classes. Each row is divided
    by its maximum; `log_scale` has the logarithm of the divisor.
    """

    groups: Grouping
    products: NDArray
    log_scale: Floats


def group_variables(n_levels: Ints) -> Grouping:
    """Return groups of adjacent variables, with tables of at most `GROUP_CELLS`."""
    group_of = np.zeros(n_levels.size, dtype=np.int64)
    stride = np.ones(n_levels.size, dtype=np.int64)
    cells = [1]
    for variable, levels in enumerate(n_levels):
        if cells[-1] > 1 and cells[-1] * levels > GROUP_CELLS:
            cells.append(1)
        group_of[variable] = len(cells) - 1
        stride[variable] = cells[-1]
        cells[-1] *= int(levels)
    level_start = np.cumsum([0, *n_levels])
    levels = np.arange(max(cells)) // stride[:, None] % n_levels[:, None]
    return Grouping(
        group_of=group_of,
        stride=stride,
        row_start=np.cumsum([0, *cells]),
        level_start=level_start,
        phi_row=level_start[:-1, None] + levels,
        first_of=np.searchsorted(group_of, np.arange(len(cells) + 1)),
    )


def empty_tables(groups: Grouping, n_classes: int, dtype: type) -> Tables:
    """Return tables for all groups, with the classes padded to whole vectors."""
    n_rows = int(groups.row_start[-1])
    padded = -(-n_classes // LANES) * LANES
    return Tables(groups, np.zeros((n_rows, padded), dtype), np.zeros(n_rows))


# ----------------------------------------------------------------- products over groups


@compiled
def fill_tables(pi, phi, tables):
    """Fill the products of phi over each group's variables (and pi in group 0)."""
    groups, products, log_scale = tables
    n_classes = pi.shape[0]
    products[:, :n_classes] = 1.0
    products[:, n_classes:] = 0.0
    # products[row, f] = prod_k phi_fk(level of k in the row), over the first variables.
    for variable in range(groups.group_of.shape[0]):
        _multiply_by_variable(phi, groups, variable, products)
    for row in range(groups.row_start[1]):
        for f in range(n_classes):
            products[row, f] *= pi[f]
    for row in range(products.shape[0]):
        log_scale[row] = _divide_by_largest(products, row, n_classes)


@compiled
def _multiply_by_variable(phi, groups, variable, products):
    """Multiply the rows of a variable's group by the probabilities of its levels."""
    group = groups.group_of[variable]
    first = groups.row_start[group]
    for row in range(first, groups.row_start[group + 1]):
        level = groups.phi_row[variable, row - first]
        for f in range(phi.shape[1]):
            products[row, f] *= phi[level, f]


@compiled
def _divide_by_largest(table, row, n_classes):
    """Divide a row by its largest value; return the logarithm of that, 0 if it is 0."""
    largest = table[row, 0]
    for f in range(1, n_classes):
        if table[row, f] > largest:
            largest = table[row, f]
    if largest <= 0.0:
        return 0.0
    scale = table.dtype.type(1.0) / largest
    for f in range(n_classes):
        table[row, f] *= scale
    return np.log(np.float64(largest))


@inlined
def _class_weights(table, rows, i, starts, weights):
    """Fill the product of combination i's table rows over the groups.

    ``table`` is flat; ``starts`` receives the start of each of the combination's rows.
    Indices are unsigned, because numba would check each signed index for being
    negative.
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


@compiled
def _class_weights_in_logs(table, starts, weights):
    """Fill the same weights divided by the largest; return the log of the divisor."""
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


@inlined
def _cumulate(weights, lanes):
    """Replace weights by their cumulative sums in each lane; return the total.

    Class f is in lane f % ``LANES``. ``lanes`` receives the sums over the lanes before
    each. The source fixes the order of all sums, so that they vectorize without
    reassociation.
    """
    last = weights.shape[0] - LANES
    for f in range(
        last
    ):  # forward: the compiler cannot infer that f - LANES is positive
        weights[f + LANES] += weights[f]
    total = weights.dtype.type(0.0)
    for j in range(LANES):
        total += weights[last + j]
        lanes[j + 1] = total
    return total


@compiled
def mixture_log_prob(tables, rows, log_prob):
    """Fill log p(x | pi, phi) of each combination from the groups' tables."""
    _, products, log_scale = tables
    flat = products.ravel()
    weights = np.zeros(products.shape[1], products.dtype)
    lanes = np.zeros(LANES + 1, products.dtype)
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


@compiled
def cell_log_probs(
    pi,
    phi,
    tables,
    rows,
    log_prob,
):
    """Fill `mixture_log_prob` for each of many draws, (n_draws, n_combinations)."""
    for draw in range(pi.shape[0]):
        fill_tables(pi[draw], phi[draw], tables)
        mixture_log_prob(tables, rows, log_prob[draw])


# ---------------------------------------------------------- an iteration of the sampler


@compiled
def _log_gamma_draw(shape, rng):
    """Return the log of a Gamma(shape, 1) draw, which may be too small for a double."""
    if shape >= 1.0:
        return np.log(rng.standard_gamma(shape))
    # G(a) = G(a + 1) U^(1/a)
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential() / shape


@compiled
def _draw_class(cumulated, lanes, u):
    """Return the class at the point u of [0, total); classes are ordered by lane.

    Lanes and classes before u are counted without branches, which could not be
    predicted.
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
    # Rounding moved u past the lane's end: take its last class with a weight.
    while f >= np.uint64(LANES) and cumulated[f] == cumulated[f - np.uint64(LANES)]:
        f -= np.uint64(LANES)
    return f


@compiled
def _last_class(cumulated, lanes):
    """Return the last class with a weight, in the last lane with one."""
    lane = LANES - 1
    while lane > 0 and lanes[lane] == lanes[lane + 1]:
        lane -= 1
    f = cumulated.shape[0] - LANES + lane
    while f >= LANES and cumulated[f] == cumulated[f - LANES]:
        f -= LANES
    return np.uint64(f)


@compiled
def _allocate(
    products,
    rows,
    counts,
    n_classes,
    cell_counts,
    class_of,
    rng,
):
    """Draw the class of every record from the full conditional of eta, and count them.

    ``cell_counts`` receives the records by group row and class; ``class_of`` the class
    of one record of each combination. Invariant: both have the combinations before i.
    """
    flat = products.ravel()
    cells = cell_counts.ravel()
    weights = np.zeros(products.shape[1], products.dtype)
    lanes = np.zeros(LANES + 1, products.dtype)
    starts = np.zeros(rows.shape[1], np.uint64)
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
            u = products.dtype.type(rng.random() * total)
            # Rounding may move u up to the total, where lanes without a class may
            # follow.
            f = (
                _draw_class(weights, lanes, u)
                if u < total
                else _last_class(weights, lanes)
            )
            for start in starts:
                cells[start + f] += 1
        class_of[i] = f


@compiled
def _allocate_many(cumulated, n_records, n_classes, starts, cells, rng):
    """Draw classes of many records of one combination; return their number.

    Class f gets Binomial(n left, weight_f / sum of the weights from f on) records.
    Invariant: `left` records have `remaining` weight.
    """
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
        for start in starts:
            cells[start + np.uint64(f)] += taken
    return n_records - left


@compiled
def _relabel(sizes, alpha, by_size, rng):
    """Return a new order of the classes: by size, or after swaps of adjacent labels.

    With the sticks integrated out, p(eta | alpha) is the product over f < F of B(1 +
    n_f, alpha + n_>f) / B(1, alpha). Swapping f and f + 1 with c records behind them
    multiplies it by (alpha + n_f+1 + c) / (alpha + n_f + c), and for the last two
    classes by the ratio of gamma functions below (Papaspiliopoulos and Roberts 2008).
    The prior of phi is exchangeable, so that nothing else changes.
    """
    n_classes = sizes.shape[0]
    if by_size:
        return np.argsort(-sizes, kind="mergesort")
    order = np.arange(n_classes)
    behind = sizes.sum()
    for f in range(n_classes - 1):
        a = sizes[order[f]]
        b = sizes[order[f + 1]]
        behind -= a
        c = behind - b
        if f + 1 < n_classes - 1:
            log_ratio = np.log(alpha + b + c) - np.log(alpha + a + c)
        else:
            log_ratio = (
                lgamma(1.0 + b)
                + lgamma(alpha + a)
                - lgamma(1.0 + a)
                - lgamma(alpha + b)
            )
        if log_ratio >= 0.0 or rng.random() < np.exp(log_ratio):
            order[f], order[f + 1] = order[f + 1], order[f]
            behind += a - b
    return order


@compiled
def _draw_sticks(sizes, alpha, rng, log_pi):
    """Draw V given the class sizes; fill log pi, return the sum of log(1 - V_f), f < F.

    V_f is Beta(1 + n_f, alpha + n_>f), drawn as A / (A + B) of two gamma draws;
    log pi_f is log V_f plus the sum of log(1 - V_g) over g < f, which is `log_left`.
    """
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


@compiled
def _flatten(pi, phi, power):
    """Raise all probabilities to a power, in place."""
    for f in range(pi.shape[0]):
        pi[f] **= power
        for level in range(phi.shape[0]):
            phi[level, f] **= np.float32(power)


@compiled
def _draw_alpha(prior, n_classes, sum_log_left, rng):
    """Draw alpha | V from Gamma(a + F - 1, b - sum log(1 - V)), F > 1."""
    alpha_shape, alpha_rate, _ = prior
    if n_classes == 1:
        return np.exp(_log_gamma_draw(alpha_shape, rng) - np.log(alpha_rate))
    log_gamma = _log_gamma_draw(alpha_shape + n_classes - 1.0, rng)
    return np.exp(log_gamma - np.log(alpha_rate - sum_log_left))


@compiled
def _count_levels(groups, cell_counts, new_label, level_counts):
    """Fill the records by level and new label of all variables, from their groups'."""
    level_counts[:] = 0
    for variable in range(groups.group_of.shape[0]):
        group = groups.group_of[variable]
        first = groups.row_start[group]
        for row in range(first, groups.row_start[group + 1]):
            level = groups.phi_row[variable, row - first]
            for f in range(new_label.shape[0]):
                level_counts[level, new_label[f]] += cell_counts[row, f]


@compiled
def _draw_phi(level_start, level_counts, concentration, rng, phi):
    """Draw phi of each variable from Dirichlet(a + counts): gammas over their sum."""
    gammas = np.empty(level_counts.shape)
    for variable in range(level_start.shape[0] - 1):
        start = level_start[variable]
        stop = level_start[variable + 1]
        for level in range(start, stop):
            for f in range(gammas.shape[1]):
                shape = concentration + level_counts[level, f]
                gammas[level, f] = rng.standard_gamma(shape)
        phi[start:stop] = gammas[start:stop] / gammas[start:stop].sum(axis=0)


@compiled
def iterate(
    n_iterations,
    power,
    prior,
    counts,
    rows,
    alpha,
    state,
    tables,
    cell_counts,
    rng,
):
    """Run blocked Gibbs iterations on the state, in place, and return alpha.

    One iteration draws the classes of all records given (pi, phi), then new labels with
    the sticks integrated out, then V, alpha and phi from their full conditionals. With
    ``power`` below one, the classes are drawn from their probabilities raised to that
    power and then ordered by size: this is an annealed start, not a step of the Markov
    chain.
    """
    pi, phi, sizes, level_counts, class_of = state
    groups = tables.groups
    n_classes = pi.shape[0]
    log_pi = np.empty(n_classes)
    # Invariant: sizes, level_counts and class_of have the labels of pi and phi.
    for _ in range(n_iterations):
        if power < 1.0:
            _flatten(pi, phi, power)  # both are drawn again before the iteration ends
        fill_tables(pi, phi, tables)
        _allocate(tables.products, rows, counts, n_classes, cell_counts, class_of, rng)

        size_by_label = cell_counts[: groups.row_start[1], :n_classes].sum(axis=0)
        order = _relabel(size_by_label, alpha, power < 1.0, rng)
        new_label = np.argsort(order)
        sizes[:] = size_by_label[order]
        class_of[:] = new_label[class_of]

        sum_log_left = _draw_sticks(sizes, alpha, rng, log_pi)
        pi[:] = np.exp(log_pi)
        alpha = _draw_alpha(prior, n_classes, sum_log_left, rng)
        _count_levels(groups, cell_counts, new_label, level_counts)
        _draw_phi(groups.level_start, level_counts, prior[2], rng, phi)
    return alpha


# ------------------------------------------------------------------ ratios of neighbors


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _dot(a, b):
    """Return the sum of products over the classes, in an order that can be vectorized.

    No chain continues on it, so that the last digit may differ between processors.
    """
    total = a.dtype.type(0.0)
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total


@compiled
def _other_groups(table, rows, i, group, others):
    """Fill the product of combination i's table rows over all groups but one."""
    others[:] = 1.0
    for other in range(rows.shape[1]):
        if other != group:
            row = rows[i, other]
            for f in range(others.shape[0]):
                others[f] *= table[row, f]


@compiled
def _other_groups_in_logs(table, rows, i, group, others):
    """Fill the same product divided by its largest value; return that value's log."""
    others[:] = 0.0
    for other in range(rows.shape[1]):
        if other != group:
            others += np.log(table[rows[i, other]])
    largest = np.max(others + np.log(table[rows[i, group]]))
    for f in range(others.shape[0]):
        others[f] = np.exp(others[f] - largest)
    return largest


@compiled
def neighbor_ratio_sums(
    pi,
    phi,
    tables,
    rows,
    codes,
    draw_weights,
    sums,
):
    """Add weighted sums over draws of p(x') / p(x), where x' differs in one variable.

    ``sums`` is (n_weights, n_combinations, sum(n_levels)): candidate (variable, level)
    has the position of that level in ``phi``; the level of x itself has a ratio of one.
    The loops stay in one function, because a call for each group of variables would
    take a sixth more time.
    """
    groups, table, log_scale = tables
    _, stride, _, level_start, _, first_of = groups
    others = np.zeros(table.shape[1], table.dtype)
    # Invariant: `sums` has the terms of the draws, records and groups before.
    for draw in range(pi.shape[0]):
        fill_tables(pi[draw], phi[draw], tables)
        scale = np.exp(log_scale)
        for i in range(rows.shape[0]):
            for group in range(rows.shape[1]):
                row = rows[i, group]
                _other_groups(table, rows, i, group, others)
                own_value = _dot(others, table[row])
                if own_value < TINY:
                    _other_groups_in_logs(table, rows, i, group, others)
                    own_value = _dot(others, table[row])
                # p(x') / p(x) = sum_f others_f table_f(x') / sum_f others_f table_f(x),
                # with the scales of the two rows put back.
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


@compiled
def _posterior_means(
    level_counts, sizes, concentration, level_start, weights, mean_phi
):
    """Fill the levels' weights a + n_fk, (classes, rows of phi), and means of phi."""
    for variable in range(level_start.shape[0] - 1):
        start, stop = level_start[variable], level_start[variable + 1]
        for f in range(sizes.shape[0]):
            total = (stop - start) * concentration + sizes[f]
            for level in range(start, stop):
                weights[f, level] = concentration + level_counts[level, f]
                mean_phi[level, f] = weights[f, level] / total


@compiled
def _mean_sticks(sizes, alpha, mean):
    """Fill the expectation of pi given the class sizes and alpha.

    E V_f is (1 + n_f) / (1 + n_f + alpha + n_>f); `left` is E prod (1 - V_g), g < f.
    """
    behind = sizes.sum()
    left = 1.0
    for f in range(sizes.shape[0] - 1):
        behind -= sizes[f]
        mean[f] = left * (1.0 + sizes[f]) / (1.0 + sizes[f] + alpha + behind)
        left -= mean[f]
    mean[sizes.shape[0] - 1] = left


@compiled
def _mean_sticks_without_one(sizes, alpha, means):
    """Fill row f with the expectation of pi without one record of class f."""
    without = sizes.copy()
    for f in range(sizes.shape[0]):
        if without[f] > 0:
            without[f] -= 1
            _mean_sticks(without, alpha, means[f])
            without[f] += 1


@compiled
def _log_own_class(log_pi, weights, size, concentration, codes, groups):
    """Return the log of the term of a record's own class, without the record.

    It is log pi_f + sum_k log((a + n_kf(x_k) - 1) / (d_k a + n_f - 1)); factors of a
    group are multiplied before the logarithm is taken.
    """
    log_product = log_pi
    for group in range(groups.first_of.shape[0] - 1):
        factor = 1.0
        for variable in range(groups.first_of[group], groups.first_of[group + 1]):
            start = groups.level_start[variable]
            n_levels = groups.level_start[variable + 1] - start
            factor *= (weights[start + codes[variable]] - 1.0) / (
                n_levels * concentration + size - 1.0
            )
        log_product += np.log(factor)
    return log_product


@compiled
def _weigh_other_classes(products, pi, own):
    """Multiply products over classes by pi; set that of the record's own class to 0."""
    for f in range(products.shape[0]):
        products[f] *= pi[f]
    products[own] = 0.0


@compiled
def leave_one_out_ratio_sums(
    alpha,
    sizes,
    level_counts,
    class_of,
    concentration,
    tables,
    rows,
    codes,
    sums,
    log_prob,
):
    """Add sums over draws of p(x' | others' classes) / p(x | others' classes).

    Leaving out the record changes the mean of pi and the factors of its own class; the
    other classes' products of posterior means are those of the table. ``log_prob``
    receives log p(x | others' classes). The loops stay in one function, because a
    call for each group of variables would take up to a third more time.
    """
    groups, table, log_scale = tables
    _, stride, _, level_start, _, first_of = groups
    n_classes = sizes.shape[1]
    others = np.zeros(table.shape[1], table.dtype)
    mean_phi = np.empty(level_counts.shape[1:])
    weights = np.empty((n_classes, level_counts.shape[1]))
    no_weights = np.ones(n_classes)
    mean_pi = np.zeros((n_classes, table.shape[1]))
    # Invariant: `sums` has the terms of the draws, records and groups before.
    for draw in range(sizes.shape[0]):
        _posterior_means(
            level_counts[draw],
            sizes[draw],
            concentration,
            level_start,
            weights,
            mean_phi,
        )
        fill_tables(no_weights, mean_phi, tables)
        scale = np.exp(log_scale)
        _mean_sticks_without_one(sizes[draw], alpha[draw], mean_pi)
        for i in range(rows.shape[0]):
            own = np.int64(class_of[draw, i])
            pi = mean_pi[own]
            weight = weights[own]
            log_scales = 0.0
            for group in range(rows.shape[1]):
                log_scales += log_scale[rows[i, group]]
            log_own_term = _log_own_class(
                np.log(pi[own]),
                weight,
                sizes[draw, own],
                concentration,
                codes[i],
                groups,
            )
            log_own_term -= log_scales  # relative to the scales of its rows
            scaled_own_term = np.exp(log_own_term)
            for group in range(rows.shape[1]):
                row = rows[i, group]
                own_term = scaled_own_term
                log_largest = 0.0
                _other_groups(table, rows, i, group, others)
                _weigh_other_classes(others, pi, own)
                own_value = _dot(others, table[row]) + own_term
                if own_value < TINY:
                    log_largest = _other_groups_in_logs(table, rows, i, group, others)
                    _weigh_other_classes(others, pi, own)
                    own_term = np.exp(log_own_term - log_largest)
                    own_value = _dot(others, table[row]) + own_term
                if group == 0:
                    log_prob[draw, i] = np.log(own_value) + log_largest + log_scales
                # p(x') / p(x) is (sum_f others_f table_f(x') scale(x') / scale(x) + the
                # own class's term for x') / own_value. That term is the one for x times
                # the weight of the candidate's level over that of x's without x.
                per_value = 1.0 / (own_value * scale[row])
                for variable in range(first_of[group], first_of[group + 1]):
                    start = level_start[variable]
                    own_level = codes[i, variable]
                    own_weight = weight[start + own_level] - 1.0
                    per_weight = own_term / (own_value * own_weight)
                    for level in range(level_start[variable + 1] - start):
                        if level == own_level:
                            sums[i, start + level] += 1.0
                        else:
                            candidate = row + (level - own_level) * stride[variable]
                            value = _dot(others, table[candidate]) * scale[candidate]
                            sums[i, start + level] += (
                                value * per_value + weight[start + level] * per_weight
                            )
