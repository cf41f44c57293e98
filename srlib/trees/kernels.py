"""Compiled kernels of sequential trees: the best split, growing, routing, and one record changed.

Records that agree in all variables are one row with a weight. The rows of a node are a
range of its tree's permutation. A split is a variable and a mask of levels: bit l is
set if level l goes left. A node's table has a row for each level of each variable and a
column for each level of the response, ``counts[start[j] + level, response]``; the rows
of variables that are not predictors stay zero.

Nothing here is random, and equal counts give equal splits in any order of the records.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAF = -1
# Smallest gain per record of a split, and smallest difference in gain between two
# splits.
TIE = 1e-10
# Smallest number of rows for which a node's table is kept: with fewer, counting again
# is cheaper.
KEPT = 32


class Task(NamedTuple):
    """The data and the rules for growing a tree.

    The codes have a spare last row for the candidate that replaces a record. Its weight
    is that of the change: 1, unless the record stands for several.
    """

    codes: NDArray[np.uint8]
    weights: NDArray[np.int64]
    released: NDArray[np.uint8]
    released_weights: NDArray[np.int64]
    response: int
    predictors: NDArray[np.int64]
    start: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    exhaustive: int  # most nominal levels in a node for which all splits are tried
    min_leaf: int
    min_split: int
    max_depth: int
    smoothing: float
    cp: float  # below 0: no pruning


class Tree(NamedTuple):
    """A fitted tree: arrays over its nodes, parents first, and its permutation of the records.

    Pruned splits are kept, because a changed record may restore them: a node with one
    leaf is a leaf.
    """

    variable: NDArray[np.int64]
    mask: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    depth: NDArray[np.int64]
    leaves: NDArray[np.int64]
    records: NDArray[np.int32]


class RoutedRelease(NamedTuple):
    """Released records routed through a tree, their log probabilities, and counts of the nodes.

    Log probabilities, and the errors and leaves that remain below each node after
    pruning, have three rows: with one error less in the root, with the same number, and
    with one more. The pruning threshold is a share of the errors in the root.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    records: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    errors: NDArray[np.int64]
    leaves: NDArray[np.int64]
    parent: NDArray[np.int64]
    totals: NDArray[np.int64]
    released_totals: NDArray[np.int64]
    table_of: NDArray[np.int64]
    tables: NDArray[np.int32]


class Scratch(NamedTuple):
    """Work arrays of one thread."""

    counts: NDArray[np.int64]
    total: NDArray[np.int64]


@njit(nogil=True, cache=True)
def scratch(task):
    """Allocate the work arrays that one thread needs for a tree."""
    n_classes = task.start[task.response + 1] - task.start[task.response]
    return Scratch(
        np.zeros((task.start[-1], n_classes), np.int64),
        np.zeros(n_classes, np.int64),
    )


@njit(nogil=True, cache=True)
def _purity(counts):
    """Sum of squares over the size: the size minus Gini's impurity; 0 for no records."""
    n, total = 0, 0.0
    for count in counts:
        n += count
        total += float(count) * count
    return total / n if n else 0.0


@njit(nogil=True, cache=True)
def _levels(counts, first, stop):
    """Return the levels of a variable that occur in a node, in order."""
    found = np.empty(stop - first, np.int64)
    m = 0
    for row in range(first, stop):
        if counts[row].sum() > 0:
            found[m] = row - first
            m += 1
    return found[:m]


@njit(nogil=True, cache=True)
def _by_share(counts, first, levels, total):
    """Order levels by their share of the node's most frequent response; ties by level."""
    major = np.argmax(total)
    share = np.empty(len(levels))
    for i, level in enumerate(levels):
        share[i] = counts[first + level, major] / counts[first + level].sum()
    return levels[np.argsort(share, kind="mergesort")]


@njit(nogil=True, cache=True)
def _complete(mask, levels, n_levels, ordered, step, to_left):
    """Return the mask for levels that the node does not have.

    For an ordered variable the threshold lies midway between two levels of the node;
    for a nominal one they go with the larger child.
    """
    one = np.uint64(1)
    if ordered:
        top = (levels[step] + levels[step + 1]) // 2
        return (one << np.uint64(top + 1)) - one
    if to_left:
        for level in range(n_levels):
            mask |= one << np.uint64(level)
        for level in levels:
            mask &= ~(one << np.uint64(level))
    return mask


@njit(nogil=True, cache=True)
def _divisible(task, total, depth):
    """Return whether a node with these counts of the response may be split."""
    n = total.sum()
    if (
        n < max(2 * task.min_leaf, task.min_split)
        or depth >= task.max_depth
        or not len(task.predictors)
    ):
        return False
    return _purity(total) <= n - TIE * n


@njit(nogil=True, cache=True)
def _best_split(task, counts, total):
    """Return the variable and the mask of the best split, or `LEAF` and 0 if none has a gain.

    Among splits whose gains differ by less than `TIE` per record, the earlier predictor
    wins, then the smaller mask of levels that the node has.
    """
    one, n = np.uint64(1), total.sum()
    none = np.uint64(0)
    here, tie = _purity(total), TIE * n
    best, variable, best_set, best_mask = tie, LEAF, none, none
    left, right = np.empty(len(total), np.int64), np.empty(len(total), np.int64)
    for j in task.predictors:
        first, stop = task.start[j], task.start[j + 1]
        levels = _levels(counts, first, stop)
        m = len(levels)
        if m < 2:
            continue
        exhaustive = not task.ordered[j] and m <= task.exhaustive
        if not task.ordered[j] and not exhaustive:
            levels = _by_share(counts, first, levels, total)
        # The first level goes left. Then all sets of the other levels join it, in the
        # order of Gray's code, which moves one level at a time; or initial segments of
        # an order do.
        left[:], right[:], mask = 0, total, none
        for step in range(1 << (m - 1) if exhaustive else m - 1):
            moved = step
            if exhaustive and step > 0:
                moved = 1
                while (step >> (moved - 1)) & 1 == 0:
                    moved += 1
            bit = one << np.uint64(levels[moved])
            sign = 1 if mask & bit == none else -1
            mask ^= bit
            n_left = 0
            for c in range(len(total)):
                left[c] += sign * counts[first + levels[moved], c]
                right[c] = total[c] - left[c]
                n_left += left[c]
            if n_left < task.min_leaf or n - n_left < task.min_leaf:
                continue
            gain = _purity(left) + _purity(right) - here
            if gain > best + tie or (
                variable == j and gain >= best - tie and mask < best_set
            ):
                best, variable, best_set = max(gain, best), j, mask
                to_left = 2 * n_left >= n
                rest = _complete(
                    none, levels, stop - first, task.ordered[j], step, to_left
                )
                best_mask = rest if task.ordered[j] else mask | rest
    return variable, best_mask


@njit(nogil=True, cache=True)
def _totals(codes, weights, rows, response, total):
    """Fill the counts of the response of some rows."""
    total[:] = 0
    for i in rows:
        total[codes[i, response]] += weights[i]


@njit(nogil=True, cache=True)
def _count(task, rows, counts):
    """Fill a node's table from its rows."""
    for j in task.predictors:
        counts[task.start[j] : task.start[j + 1]] = 0
    for i in rows:
        c = task.codes[i, task.response]
        for j in task.predictors:
            counts[task.start[j] + task.codes[i, j], c] += task.weights[i]


@njit(nogil=True, cache=True)
def _split(task, rows, depth, space):
    """Return the best split of some rows, or `LEAF` and 0, with their counts in `space.total`."""
    _totals(task.codes, task.weights, rows, task.response, space.total)
    if not _divisible(task, space.total, depth):
        return LEAF, np.uint64(0)
    _count(task, rows, space.counts)
    return _best_split(task, space.counts, space.total)


@njit(nogil=True, cache=True)
def _partition(codes, records, variable, mask):
    """Put the rows that go left before the others, in place; return their number."""
    low, high = 0, len(records) - 1
    while low <= high:
        i = records[low]
        if (mask >> np.uint64(codes[i, variable])) & np.uint64(1):
            low += 1
        else:
            records[low], records[high] = records[high], i
            high -= 1
    return low


@njit(nogil=True, cache=True)
def _errors(total):
    """Count the records that are not of the most frequent level."""
    return total.sum() - total.max()


@njit(nogil=True, cache=True)
def _threshold(task, errors):
    """Return the pruning threshold, from the errors in the root; below 0 without pruning."""
    return task.cp * errors if task.cp >= 0 else -1.0


@njit(nogil=True, cache=True)
def _prune(variable, left, right, errors, threshold):
    """Return errors and leaves below each node of the smallest of the cheapest subtrees.

    A tree costs its errors plus `threshold` for each leaf.
    """
    below, leaves = errors.copy(), np.ones_like(errors)
    for node in range(len(variable) - 1, -1, -1):
        if variable[node] != LEAF:
            rest = below[left[node]] + below[right[node]]
            several = leaves[left[node]] + leaves[right[node]]
            if errors[node] - rest > threshold * (several - 1):
                below[node], leaves[node] = rest, several
    return below, leaves


@njit(nogil=True, cache=True)
def grow(task, n):
    """Grow a tree from the first n rows of the codes."""
    records = np.arange(n).astype(np.int32)
    most = max(1, 2 * min(n, task.weights[:n].sum() // task.min_leaf) - 1)
    variable, mask = np.full(most, LEAF), np.zeros(most, np.uint64)
    left, right = np.full(most, LEAF), np.full(most, LEAF)
    first, last = np.zeros(most, np.int64), np.zeros(most, np.int64)
    depth, errors = np.zeros(most, np.int64), np.zeros(most, np.int64)
    space = scratch(task)
    last[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        own = records[first[node] : last[node]]
        variable[node], mask[node] = _split(task, own, depth[node], space)
        if variable[node] != LEAF:
            middle = first[node] + _partition(
                task.codes, own, variable[node], mask[node]
            )
            left[node], right[node] = n_nodes, n_nodes + 1
            first[n_nodes], last[n_nodes] = first[node], middle
            first[n_nodes + 1], last[n_nodes + 1] = middle, last[node]
            depth[n_nodes : n_nodes + 2] = depth[node] + 1
            n_nodes += 2
        errors[node] = _errors(space.total)
        node += 1
    variable, left, right = (
        variable[:n_nodes].copy(),
        left[:n_nodes].copy(),
        right[:n_nodes].copy(),
    )
    threshold = _threshold(task, errors[0])
    return Tree(
        variable,
        mask[:n_nodes].copy(),
        left,
        right,
        first[:n_nodes].copy(),
        last[:n_nodes].copy(),
        depth[:n_nodes].copy(),
        _prune(variable, left, right, errors[:n_nodes], threshold)[1],
        records,
    )


@njit(nogil=True, cache=True)
def leaf_of(tree, codes):
    """Return the leaf that each record falls into."""
    leaves = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while tree.leaves[node] > 1:
            level = np.uint64(codes[i, tree.variable[node]])
            goes_left = (tree.mask[node] >> level) & np.uint64(1)
            node = tree.left[node] if goes_left else tree.right[node]
        leaves[i] = node
    return leaves


@njit(nogil=True, cache=True)
def synthesize(tree, response, distribution, uniforms, codes):
    """Draw one variable of all records from the distribution functions of the nodes."""
    leaves = leaf_of(tree, codes)
    for i in range(len(codes)):
        node = leaves[i]
        codes[i, response] = np.searchsorted(
            distribution[node], uniforms[i], side="right"
        )


@njit(nogil=True, cache=True)
def _leaf_log_prob(total, released, smoothing):
    """Return the log probability of released counts in a leaf with the given counts."""
    size, log_prob = total.sum() + smoothing, 0.0
    for c in range(len(total)):
        if released[c] > 0:
            share = (total[c] + smoothing / len(total)) / size
            if share == 0.0:
                return -np.inf
            log_prob += released[c] * np.log(share)
    return log_prob


@njit(nogil=True, cache=True)
def route(task, tree):
    """Return the released records routed through a tree, with all that a changed record needs."""
    n_nodes, space, k = len(tree.variable), scratch(task), task.response
    records = np.arange(len(task.released)).astype(np.int32)
    first, last = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    parent, last[0] = np.full(n_nodes, -1), len(records)
    for node in range(n_nodes):
        if tree.variable[node] != LEAF:
            own = records[first[node] : last[node]]
            cut = _partition(task.released, own, tree.variable[node], tree.mask[node])
            left, right = tree.left[node], tree.right[node]
            first[left], last[left] = first[node], first[node] + cut
            first[right], last[right] = first[node] + cut, last[node]
            parent[left] = parent[right] = node
    totals = np.zeros((n_nodes, len(space.total)), np.int64)
    released_totals = np.zeros_like(totals)
    kept = np.flatnonzero(tree.last - tree.first >= KEPT)
    table_of = np.full(n_nodes, -1)
    table_of[kept] = np.arange(len(kept))
    tables = np.empty((len(kept), *space.counts.shape), np.int32)
    log_prob, errors = np.zeros((3, n_nodes)), np.zeros(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        own = tree.records[tree.first[node] : tree.last[node]]
        if table_of[node] >= 0:
            _count(task, own, space.counts)
            tables[table_of[node]] = space.counts
        left, right = tree.left[node], tree.right[node]
        if tree.variable[node] == LEAF:
            routed = records[first[node] : last[node]]
            _totals(task.codes, task.weights, own, k, totals[node])
            _totals(
                task.released, task.released_weights, routed, k, released_totals[node]
            )
        else:
            totals[node] = totals[left] + totals[right]
            released_totals[node] = released_totals[left] + released_totals[right]
        errors[node] = _errors(totals[node])
    below, leaves = np.zeros((3, n_nodes), np.int64), np.zeros((3, n_nodes), np.int64)
    for version in range(3):
        threshold = _threshold(task, errors[0] + (version - 1) * task.weights[-1])
        below[version], leaves[version] = _prune(
            tree.variable, tree.left, tree.right, errors, threshold
        )
        for node in range(n_nodes - 1, -1, -1):
            if leaves[version, node] == 1:
                log_prob[version, node] = _leaf_log_prob(
                    totals[node], released_totals[node], task.smoothing
                )
            else:
                left, right = tree.left[node], tree.right[node]
                log_prob[version, node] = (
                    log_prob[version, left] + log_prob[version, right]
                )
    return RoutedRelease(
        first,
        last,
        records,
        log_prob,
        below,
        leaves,
        parent,
        totals,
        released_totals,
        table_of,
        tables,
    )


@njit(nogil=True, cache=True)
def _regrown(task, records, routed, depth, threshold, space):
    """Refit a node; return the log probability of its released records, its errors and its leaves.

    Both arrays of rows are permuted. Sums are formed as in `route`: the left child and
    the right child of each split. (The stack is explicit because recursive compiled
    functions cannot be cached.)
    """
    # Each frame has the ranges of rows and of routed rows, where they were split, the
    # stage, the node's errors, and the errors and leaves of its left child.
    frames, left_log_prob = np.empty((16, 10), np.int64), np.empty(16)
    frames[0] = (0, len(records), 0, len(routed), 0, 0, 0, 0, 0, 0)
    released, k = np.empty_like(space.total), task.response
    top, log_prob, below, leaves = 0, 0.0, 0, 1
    while top >= 0:
        first, last, routed_first, routed_last, cut, routed_cut, stage = frames[top, :7]
        own, some = records[first:last], routed[routed_first:routed_last]
        if stage == 0:
            if threshold < 0 and not len(some):
                log_prob, top = 0.0, top - 1
                continue
            variable, mask = _split(task, own, depth + top, space)
            errors = _errors(space.total)
            if variable == LEAF:
                _totals(task.released, task.released_weights, some, k, released)
                log_prob = _leaf_log_prob(space.total, released, task.smoothing)
                below, leaves, top = errors, 1, top - 1
                continue
            cut = first + _partition(task.codes, own, variable, mask)
            routed_cut = routed_first + _partition(task.released, some, variable, mask)
            frames[top, 4:8] = (cut, routed_cut, 1, errors)
            if top + 1 == len(frames):
                frames = np.concatenate((frames, np.empty_like(frames)))
                left_log_prob = np.concatenate(
                    (left_log_prob, np.empty_like(left_log_prob))
                )
            top += 1
            frames[top] = (first, cut, routed_first, routed_cut, 0, 0, 0, 0, 0, 0)
        elif stage == 1 and (log_prob > -np.inf or threshold >= 0):
            left_log_prob[top], frames[top, 6], frames[top, 8:] = (
                log_prob,
                2,
                (below, leaves),
            )
            top += 1
            frames[top] = (cut, last, routed_cut, routed_last, 0, 0, 0, 0, 0, 0)
        else:
            errors = frames[top, 7]
            if stage == 2:
                log_prob += left_log_prob[top]
                below, leaves = below + frames[top, 8], leaves + frames[top, 9]
            if threshold >= 0 and errors - below <= threshold * (leaves - 1):
                _totals(task.codes, task.weights, own, k, space.total)
                _totals(task.released, task.released_weights, some, k, released)
                log_prob = _leaf_log_prob(space.total, released, task.smoothing)
                below, leaves = errors, 1
            top -= 1
    return log_prob, below, leaves


@njit(nogil=True, cache=True)
def _change(task, total, truth, loses, gains):
    """Remove the record `truth` from counts of the response, and add that in the spare row."""
    spare = len(task.codes) - 1
    if loses:
        total[task.codes[truth, task.response]] -= task.weights[spare]
    if gains:
        total[task.codes[spare, task.response]] += task.weights[spare]


@njit(nogil=True, cache=True)
def _split_changed(task, tree, seen, space, node, truth, loses, gains):
    """Return the best split of a node after the change, with its counts in `space.total`."""
    counts, total, spare = space.counts, space.total, len(task.codes) - 1
    weight = task.weights[spare]
    total[:] = seen.totals[node]
    _change(task, total, truth, loses, gains)
    if not _divisible(task, total, tree.depth[node]):
        return LEAF, np.uint64(0)
    if seen.table_of[node] >= 0:
        counts[:] = seen.tables[seen.table_of[node]]
    else:
        _count(task, tree.records[tree.first[node] : tree.last[node]], counts)
    for j in task.predictors:
        if loses:
            counts[
                task.start[j] + task.codes[truth, j], task.codes[truth, task.response]
            ] -= weight
        if gains:
            counts[
                task.start[j] + task.codes[spare, j], task.codes[spare, task.response]
            ] += weight
    return _best_split(task, counts, total)


@njit(nogil=True, cache=True)
def _node_regrown(task, tree, seen, space, node, truth, loses, gains, threshold):
    """Refit a node after the change; the result is that of `_regrown`."""
    size = tree.last[node] - tree.first[node]
    rows = np.empty(size + gains, np.int32)
    rows[:size] = tree.records[tree.first[node] : tree.last[node]]
    if gains:
        rows[size] = len(task.codes) - 1
    routed = seen.records[seen.first[node] : seen.last[node]].copy()
    lost = loses * task.weights[-1]
    task.weights[truth] -= lost
    found = _regrown(task, rows, routed, tree.depth[node], threshold, space)
    task.weights[truth] += lost
    return found


@njit(nogil=True, cache=True)
def _goes_left(task, tree, node, row):
    level = np.uint64(task.codes[row, tree.variable[node]])
    return (tree.mask[node] >> level) & np.uint64(1) == np.uint64(1)


@njit(nogil=True, cache=True)
def _down(task, tree, seen, space, node, truth, loses, gains, threshold):
    """Follow the change down to a node with known log probability, or where the paths separate.

    Returns the node, its log probability, errors and leaves; NaN where the paths of the
    true record and of the candidate separate.
    """
    while threshold >= 0 or seen.first[node] < seen.last[node]:
        variable, mask = _split_changed(
            task, tree, seen, space, node, truth, loses, gains
        )
        if variable != tree.variable[node] or mask != tree.mask[node]:
            log_prob, below, leaves = _node_regrown(
                task, tree, seen, space, node, truth, loses, gains, threshold
            )
            return node, log_prob, below, leaves
        if variable == LEAF:
            released = seen.released_totals[node]
            log_prob = _leaf_log_prob(space.total, released, task.smoothing)
            return node, log_prob, _errors(space.total), 1
        left = _goes_left(task, tree, node, truth if loses else len(task.codes) - 1)
        if (
            loses
            and gains
            and left != _goes_left(task, tree, node, len(task.codes) - 1)
        ):
            return node, np.nan, 0, 0
        node = tree.left[node] if left else tree.right[node]
    return node, 0.0, 0, 1


@njit(nogil=True, cache=True)
def _joined(task, seen, space, node, found, truth, loses, gains, threshold):
    """Return the result below a node after the change, or that of the node if it is pruned."""
    log_prob, below, leaves = found
    if threshold >= 0:
        space.total[:] = seen.totals[node]
        _change(task, space.total, truth, loses, gains)
        errors = _errors(space.total)
        if errors - below <= threshold * (leaves - 1):
            released = seen.released_totals[node]
            return _leaf_log_prob(space.total, released, task.smoothing), errors, 1
    return log_prob, below, leaves


@njit(nogil=True, cache=True)
def _up(
    task, tree, seen, space, node, top, found, truth, loses, gains, threshold, version
):
    """Add the subtrees beside the path from a node up to another."""
    while node != top:
        above = seen.parent[node]
        beside = tree.left[above] + tree.right[above] - node
        both = (
            found[0] + seen.log_prob[version, beside],
            found[1] + seen.errors[version, beside],
            found[2] + seen.leaves[version, beside],
        )
        found = _joined(task, seen, space, above, both, truth, loses, gains, threshold)
        node = above
    return found


@njit(nogil=True, cache=True)
def _changed(task, tree, seen, space, truth, lost, lost_below):
    """Return the log probability of the released values with one record changed.

    Nodes lose the record `truth`, gain that in the spare row, or both. Results for
    nodes that only lose it are kept in `lost`, by version and depth, for the next
    candidate.
    """
    space.total[:] = seen.totals[0]
    before = _errors(space.total)
    _change(task, space.total, truth, True, True)
    errors = _errors(space.total)
    threshold, version = _threshold(task, errors), 1 + np.sign(errors - before)
    node, log_prob, below, leaves = _down(
        task, tree, seen, space, 0, truth, True, True, threshold
    )
    found = (log_prob, below, leaves)
    if np.isnan(log_prob):
        loser, gainer = tree.left[node], tree.right[node]
        if not _goes_left(task, tree, node, truth):
            loser, gainer = gainer, loser
        depth = tree.depth[loser]
        if np.isnan(lost[version, depth]):
            end, log_prob, below, leaves = _down(
                task, tree, seen, space, loser, truth, True, False, threshold
            )
            lost[version, depth], below, leaves = _up(
                task,
                tree,
                seen,
                space,
                end,
                loser,
                (log_prob, below, leaves),
                truth,
                True,
                False,
                threshold,
                version,
            )
            lost_below[version, depth] = below, leaves
        found = (
            lost[version, depth],
            lost_below[version, depth, 0],
            lost_below[version, depth, 1],
        )
        if found[0] > -np.inf or threshold >= 0:
            end, log_prob, below, leaves = _down(
                task, tree, seen, space, gainer, truth, False, True, threshold
            )
            log_prob, below, leaves = _up(
                task,
                tree,
                seen,
                space,
                end,
                gainer,
                (log_prob, below, leaves),
                truth,
                False,
                True,
                threshold,
                version,
            )
            both = (found[0] + log_prob, found[1] + below, found[2] + leaves)
            found = _joined(task, seen, space, node, both, truth, True, True, threshold)
    found = _up(
        task, tree, seen, space, node, 0, found, truth, True, True, threshold, version
    )
    return found[0]


@njit(nogil=True, cache=True)
def changed(task, tree, seen, rows, candidates, out):
    """Add log p(released values of the response | one record changed) to `out`.

    Parameters
    ----------
    rows : (n,) int
        Rows of which one record is changed.
    candidates : (n, support_size, n_variables) uint8
        The records that replace it.
    out : (n, support_size) float64
        Added to, in place.
    """
    space = scratch(task)
    spare = len(task.codes) - 1
    lost = np.empty((3, tree.depth.max() + 1))
    lost_below = np.empty((*lost.shape, 2), np.int64)
    for r in range(len(rows)):
        truth = rows[r]
        lost[:] = np.nan
        for s in range(candidates.shape[1]):
            same = task.codes[truth, task.response] == candidates[r, s, task.response]
            for j in task.predictors:
                same = same and task.codes[truth, j] == candidates[r, s, j]
            if same:
                out[r, s] += seen.log_prob[1, 0]
            elif out[r, s] > -np.inf:
                task.codes[spare] = candidates[r, s]
                out[r, s] += _changed(task, tree, seen, space, truth, lost, lost_below)
