"""Compiled parts of sequential trees: the best split, growing, routing, and one record changed.

The records of a node are a range of its tree's permutation. A split is a variable and a mask of
levels: bit l is set where level l goes left. A node's table has a row for each level of each
variable and a column for each level of the response, in ``counts[start[j] + level, response]``;
rows of variables that are no predictors stay zero.

Nothing here is random, and equal counts give equal splits, whatever the order of the records.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAF = -1
GINI, ENTROPY = 0, 1
# Nominal levels of a node up to which all splits of them into two sets are tried.
EXHAUSTIVE = 12
# Gains for one record below which a split is none, and by which two splits have to differ.
TIE = 1e-10
# Records from which on a node's table is kept: below, counting again costs less than memory.
KEPT = 64


class Task(NamedTuple):
    """What a tree is grown from and how; `codes` has a spare last row."""

    codes: NDArray[np.uint8]
    released: NDArray[np.uint8]
    response: int
    predictors: NDArray[np.int64]
    start: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    min_leaf: int
    max_depth: int
    criterion: int
    smoothing: float


class Tree(NamedTuple):
    """A grown tree: arrays over its nodes, parents first, and its permutation of the records."""

    variable: NDArray[np.int64]
    mask: NDArray[np.uint64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    depth: NDArray[np.int64]
    records: NDArray[np.int32]


class Seen(NamedTuple):
    """Where released records lie in a tree, what they say, and tables of its larger nodes."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    records: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    table_of: NDArray[np.int64]
    tables: NDArray[np.int32]


class Scratch(NamedTuple):
    """Space of one thread, and counts of nodes looked at, regrown, and grown below these."""

    counts: NDArray[np.int64]
    total: NDArray[np.int64]
    released_total: NDArray[np.int64]
    done: NDArray[np.int64]


@njit(nogil=True, cache=True)
def scratch(task):
    """Allocate the space that one thread needs for a tree."""
    n_classes = task.start[task.response + 1] - task.start[task.response]
    return Scratch(
        np.zeros((task.start[-1], n_classes), np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(3, np.int64),
    )


@njit(nogil=True, cache=True)
def _purity(counts, criterion):
    """Sum of squares over the size, or minus the size times the entropy; 0 for no records."""
    n, total = 0, 0.0
    for count in counts:
        n += count
        if criterion == GINI:
            total += float(count) * count
        elif count > 0:
            total += count * np.log(count)
    if n == 0:
        return 0.0
    return total / n if criterion == GINI else total - n * np.log(n)


@njit(nogil=True, cache=True)
def _levels(counts, first, stop):
    """Return which levels of a variable a node has, in order."""
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
    """Say where levels go that the node does not have.

    Of an ordered variable the threshold lies midway between two levels of the node; of a nominal
    one they go with the larger part.
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
def best_split(task, counts, total):
    """Return the variable and the mask of the best split, or `LEAF` and 0 if none has a gain.

    Of splits whose gains differ by less than `TIE` for each record, the one on the earlier
    predictor is best, then the one with the smaller mask of levels that the node has.
    """
    one, n = np.uint64(1), total.sum()
    none = np.uint64(0)
    if n < 2 * task.min_leaf:
        return LEAF, none
    here, tie = _purity(total, task.criterion), TIE * n
    best, variable, best_set, best_mask = tie, LEAF, none, none
    if here > -tie if task.criterion == ENTROPY else here > n - tie:
        return LEAF, none
    left, right = np.empty(len(total), np.int64), np.empty(len(total), np.int64)
    for j in task.predictors:
        first, stop = task.start[j], task.start[j + 1]
        levels = _levels(counts, first, stop)
        m = len(levels)
        if m < 2:
            continue
        exhaustive = not task.ordered[j] and m <= EXHAUSTIVE
        if not task.ordered[j] and not exhaustive:
            levels = _by_share(counts, first, levels, total)
        # The first level goes left. Behind it all sets of the others do, in the order of Gray's
        # code, which moves one level at a time; or the beginnings of an order do.
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
            gain = _purity(left, task.criterion) + _purity(right, task.criterion) - here
            if gain > best + tie or (variable == j and gain >= best - tie and mask < best_set):
                best, variable, best_set = max(gain, best), j, mask
                to_left = 2 * n_left >= n
                rest = _complete(none, levels, stop - first, task.ordered[j], step, to_left)
                best_mask = rest if task.ordered[j] else mask | rest
    return variable, best_mask


@njit(nogil=True, cache=True)
def _count(task, records, counts, total):
    """Fill a node's table and the counts of its response from its records."""
    for j in task.predictors:
        counts[task.start[j] : task.start[j + 1]] = 0
    total[:] = 0
    for i in records:
        c = task.codes[i, task.response]
        total[c] += 1
        for j in task.predictors:
            counts[task.start[j] + task.codes[i, j], c] += 1


@njit(nogil=True, cache=True)
def _partition(codes, records, variable, mask):
    """Put the records that go left before the others, in place; return how many they are."""
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
def grow(task, n):
    """Grow a tree from the first n rows of the codes."""
    records = np.arange(n).astype(np.int32)
    most = max(1, 2 * (n // task.min_leaf) - 1)
    variable, mask = np.full(most, LEAF), np.zeros(most, np.uint64)
    left, right = np.full(most, LEAF), np.full(most, LEAF)
    first, last, depth = (
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
    )
    space = scratch(task)
    last[0], n_nodes, node = n, 1, 0
    while node < n_nodes:
        own = records[first[node] : last[node]]
        if len(own) >= 2 * task.min_leaf and depth[node] < task.max_depth and len(task.predictors):
            _count(task, own, space.counts, space.total)
            variable[node], mask[node] = best_split(task, space.counts, space.total)
        if variable[node] != LEAF:
            middle = first[node] + _partition(task.codes, own, variable[node], mask[node])
            left[node], right[node] = n_nodes, n_nodes + 1
            first[n_nodes], last[n_nodes] = first[node], middle
            first[n_nodes + 1], last[n_nodes + 1] = middle, last[node]
            depth[n_nodes : n_nodes + 2] = depth[node] + 1
            n_nodes += 2
        node += 1
    return Tree(
        variable[:n_nodes].copy(), mask[:n_nodes].copy(), left[:n_nodes].copy(),
        right[:n_nodes].copy(), first[:n_nodes].copy(), last[:n_nodes].copy(),
        depth[:n_nodes].copy(), records,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def leaf_counts(task, tree):
    """Count the levels of the response in each node, (n_nodes, n_classes)."""
    n_classes = task.start[task.response + 1] - task.start[task.response]
    counts = np.zeros((len(tree.variable), n_classes), np.int64)
    for node in range(len(tree.variable)):
        for i in tree.records[tree.first[node] : tree.last[node]]:
            counts[node, task.codes[i, task.response]] += 1
    return counts


@njit(nogil=True, cache=True)
def synthesize(tree, response, distribution, uniforms, codes):
    """Draw one variable of all records from the distribution functions of the nodes."""
    for i in range(len(codes)):
        node = 0
        while tree.variable[node] != LEAF:
            level = np.uint64(codes[i, tree.variable[node]])
            goes_left = (tree.mask[node] >> level) & np.uint64(1)
            node = tree.left[node] if goes_left else tree.right[node]
        codes[i, response] = np.searchsorted(distribution[node], uniforms[i], side="right")


@njit(nogil=True, cache=True)
def _leaf_log_prob(task, routed, space):
    """Return the log probability of the released values in a leaf with the counts `space.total`."""
    released, total = space.released_total, space.total
    released[:] = 0
    for i in routed:
        released[task.released[i, task.response]] += 1
    size, log_prob = total.sum() + task.smoothing, 0.0
    for c in range(len(total)):
        if released[c] > 0:
            share = (total[c] + task.smoothing / len(total)) / size
            if share == 0.0:
                return -np.inf
            log_prob += released[c] * np.log(share)
    return log_prob


@njit(nogil=True, cache=True)
def see(task, tree):
    """Route the released records through a tree, and keep what a changed record needs."""
    n_nodes, space = len(tree.variable), scratch(task)
    records = np.arange(len(task.released)).astype(np.int32)
    first, last = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    last[0] = len(records)
    for node in range(n_nodes):
        if tree.variable[node] != LEAF:
            own = records[first[node] : last[node]]
            cut = _partition(task.released, own, tree.variable[node], tree.mask[node])
            left, right = tree.left[node], tree.right[node]
            first[left], last[left] = first[node], first[node] + cut
            first[right], last[right] = first[node] + cut, last[node]
    table_of = np.full(n_nodes, -1)
    n_tables = 0
    for node in range(n_nodes):
        if tree.last[node] - tree.first[node] >= KEPT:
            table_of[node] = n_tables
            n_tables += 1
    tables = np.empty((n_tables, *space.counts.shape), np.int32)
    log_prob = np.zeros(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        if table_of[node] >= 0 or tree.variable[node] == LEAF:
            own = tree.records[tree.first[node] : tree.last[node]]
            _count(task, own, space.counts, space.total)
            if table_of[node] >= 0:
                tables[table_of[node]] = space.counts
        if tree.variable[node] == LEAF:
            log_prob[node] = _leaf_log_prob(task, records[first[node] : last[node]], space)
        else:
            log_prob[node] = log_prob[tree.left[node]] + log_prob[tree.right[node]]
    return Seen(first, last, records, log_prob, table_of, tables)


@njit(nogil=True, cache=True)
def _regrown(task, records, routed, depth, space):
    """Return the log probability of the released records of a node that is grown anew.

    Both arrays of records are permuted. Sums are formed as `see` forms them: the left part and the
    right part of each split. (Frames are kept here because compiled functions that call
    themselves cannot be cached.)
    """
    # Of each frame: ranges of records and of routed ones, where they were cut, and the stage.
    frames, left_sum = np.empty((16, 7), np.int64), np.empty(16)
    frames[0] = (0, len(records), 0, len(routed), 0, 0, 0)
    top, result = 0, 0.0
    while top >= 0:
        first, last, routed_first, routed_last, cut, routed_cut, stage = frames[top]
        if stage == 0:
            if routed_first == routed_last:
                result, top = 0.0, top - 1
                continue
            space.done[2] += 1
            own, some = records[first:last], routed[routed_first:routed_last]
            _count(task, own, space.counts, space.total)
            variable, mask = LEAF, np.uint64(0)
            if depth + top < task.max_depth:
                variable, mask = best_split(task, space.counts, space.total)
            if variable == LEAF:
                result, top = _leaf_log_prob(task, some, space), top - 1
                continue
            cut = first + _partition(task.codes, own, variable, mask)
            routed_cut = routed_first + _partition(task.released, some, variable, mask)
            frames[top, 4:] = (cut, routed_cut, 1)
            if top + 1 == len(frames):
                frames = np.concatenate((frames, np.empty_like(frames)))
                left_sum = np.concatenate((left_sum, np.empty_like(left_sum)))
            top += 1
            frames[top] = (first, cut, routed_first, routed_cut, 0, 0, 0)
        elif stage == 1 and result > -np.inf:
            left_sum[top], frames[top, 6] = result, 2
            top += 1
            frames[top] = (cut, last, routed_cut, routed_last, 0, 0, 0)
        else:
            result = left_sum[top] + result if stage == 2 else result
            top -= 1
    return result


@njit(nogil=True, cache=True)
def _count_changed(task, tree, seen, space, node, truth, loses, gains):
    """Fill `space` with a node's counts after the change."""
    counts, total = space.counts, space.total
    if seen.table_of[node] >= 0 and len(task.predictors):
        counts[:] = seen.tables[seen.table_of[node]]
        first = task.start[task.predictors[0]]
        total[:] = counts[first : task.start[task.predictors[0] + 1]].sum(axis=0)
    else:
        _count(task, tree.records[tree.first[node] : tree.last[node]], counts, total)
    for row, by in ((truth, -1 if loses else 0), (len(task.codes) - 1, 1 if gains else 0)):
        if by != 0:
            c = task.codes[row, task.response]
            total[c] += by
            for j in task.predictors:
                counts[task.start[j] + task.codes[row, j], c] += by


@njit(nogil=True, cache=True)
def _records_changed(task, tree, node, truth, loses, gains):
    """Return a node's records after the change."""
    own = tree.records[tree.first[node] : tree.last[node]]
    anew, n = np.empty(len(own) + 1, np.int32), 0
    for i in own:
        if not (loses and i == truth):
            anew[n] = i
            n += 1
    if gains:
        anew[n] = len(task.codes) - 1
        n += 1
    return anew[:n]


@njit(nogil=True, cache=True)
def _changed(task, tree, seen, space, frames, left_sum, truth):
    """Return the log probability of the released values with one record changed.

    A node loses the record `truth`, gains the one in the spare row, or both.
    """
    codes, spare, one = task.codes, len(task.codes) - 1, np.uint64(1)
    # Of each frame: the node, whether it loses and gains, and the stage.
    frames[0] = (0, 1, 1, 0)
    top, result = 0, 0.0
    while top >= 0:
        node, stage = frames[top, 0], frames[top, 3]
        loses, gains = frames[top, 1] == 1, frames[top, 2] == 1
        if stage == 0:
            if seen.first[node] == seen.last[node] or not (loses or gains):
                result, top = seen.log_prob[node], top - 1
                continue
            space.done[0] += 1
            _count_changed(task, tree, seen, space, node, truth, loses, gains)
            variable, mask = LEAF, np.uint64(0)
            if tree.depth[node] < task.max_depth:
                variable, mask = best_split(task, space.counts, space.total)
            routed = seen.records[seen.first[node] : seen.last[node]]
            if variable != tree.variable[node] or mask != tree.mask[node]:
                space.done[1] += 1
                anew = _records_changed(task, tree, node, truth, loses, gains)
                result = _regrown(task, anew, routed.copy(), tree.depth[node], space)
                top -= 1
                continue
            if variable == LEAF:
                result, top = _leaf_log_prob(task, routed, space), top - 1
                continue
        if stage == 2 or (stage == 1 and result == -np.inf):
            result = left_sum[top] + result if stage == 2 else result
            top -= 1
            continue
        if stage == 1:
            left_sum[top] = result
        frames[top, 3] = stage + 1
        variable, mask = tree.variable[node], tree.mask[node]
        here = one if stage == 0 else np.uint64(0)
        a = loses and (mask >> np.uint64(codes[truth, variable])) & one == here
        b = gains and (mask >> np.uint64(codes[spare, variable])) & one == here
        top += 1
        frames[top, 0] = tree.left[node] if stage == 0 else tree.right[node]
        frames[top, 1], frames[top, 2], frames[top, 3] = a, b, 0
    return result


@njit(nogil=True, cache=True)
def changed(task, tree, seen, rows, candidates, out):
    """Add log p(released values of the response | one record changed) to `out`.

    Parameters
    ----------
    rows : (n,) int
        The record that is changed.
    candidates : (n, support_size, n_variables) uint8
        The records that it is changed to.
    out : (n, support_size) float64
        Added to, in place.

    Returns
    -------
    (3,) int64
        Nodes looked at, nodes whose split changed, and nodes grown anew from there.
    """
    space = scratch(task)
    spare = len(task.codes) - 1
    frames = np.empty((tree.depth.max() + 2, 4), np.int64)
    left_sum = np.empty(len(frames))
    for r in range(len(rows)):
        truth = rows[r]
        for s in range(candidates.shape[1]):
            same = task.codes[truth, task.response] == candidates[r, s, task.response]
            for j in task.predictors:
                same = same and task.codes[truth, j] == candidates[r, s, j]
            if same:
                out[r, s] += seen.log_prob[0]
            elif out[r, s] > -np.inf:
                task.codes[spare] = candidates[r, s]
                out[r, s] += _changed(task, tree, seen, space, frames, left_sum, truth)
    return space.done


@njit(nogil=True, cache=True)
def scan(tasks, trees, seen, rows, candidates, log_prior, uniforms, log_conditional):
    """Draw records anew, one after the other, each given the releases and all other records.

    Parameters
    ----------
    tasks, trees, seen : lists of Task, of Tree and of Seen
        One of each tree that uses what varies. The tasks share their codes; codes, trees and what
        was seen in them are changed in place.
    rows : (n,) int
        The records.
    candidates : (n, size, n_variables) uint8
        Values that each may have.
    log_prior : (n, size) float
        Their log prior, up to a constant.
    uniforms : (n,) float
        Numbers from 0 to 1 that the draws are made of.
    log_conditional : (n, size) float
        Filled with the log probabilities that the draws are made with.

    Returns
    -------
    int
        Records whose values changed.
    """
    codes, moved = tasks[0].codes, 0
    for i in range(len(rows)):
        found = log_conditional[i : i + 1]
        found[0] = log_prior[i]
        for at in range(len(tasks)):
            changed(tasks[at], trees[at], seen[at], rows[i : i + 1], candidates[i : i + 1], found)
        largest = found.max()
        found -= largest + np.log(np.exp(found - largest).sum())
        left, drawn = uniforms[i], 0
        for s in range(candidates.shape[1]):
            if found[0, s] > -np.inf:
                drawn = s
                left -= np.exp(found[0, s])
                if left < 0:
                    break
        differs = candidates[i, drawn] != codes[rows[i]]
        if not differs.any():
            continue
        moved += 1
        codes[rows[i]] = candidates[i, drawn]
        for at in range(len(tasks)):
            uses = differs[tasks[at].response]
            for j in tasks[at].predictors:
                uses = uses or differs[j]
            if uses:
                trees[at] = grow(tasks[at], len(codes) - 1)
                seen[at] = see(tasks[at], trees[at])
    return moved
