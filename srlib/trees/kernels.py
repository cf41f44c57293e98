"""Compiled kernels of sequential trees: growing, routing, and changing one record.

Records that agree in all variables are one row with a weight. The rows of a node are a
range of its tree's permutation. A split is a variable and a mask of levels: bit l is
set if level l goes left. A node's table has a row for each level of each variable and a
column for each level of the response, ``counts[start[j] + level, response]``; the rows
of variables that are not predictors stay zero.

Nothing here is random, and equal counts give equal splits in any order of the records.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from srlib.arrays import Bools, Floats, Ints
from srlib.compiled import compiled, inlined

LEAF = -1
# Not literals, for which Numba would compile each function a second time.
ROOT = np.int64(0)
ALL_NODES = np.bool_(False)  # not those with released records only
# Smallest gain per record of a split, and smallest difference in gain between two
# splits.
TIE = 1e-10
# Smallest number of rows for which a node's table is kept: with fewer, counting again
# is cheaper.
KEPT = 32
NO_LEVELS = np.uint64(0)
ALL_LEVELS = ~NO_LEVELS


class Task(NamedTuple):
    """The data and the rules for growing a tree.

    The codes have a spare last row, of weight 1, for the candidate that replaces a
    record.
    """

    codes: NDArray[np.uint8]
    weights: Ints
    released: Ints
    released_weights: Ints
    response: int
    predictors: Ints
    start: Ints
    ordered: Bools
    exhaustive: int  # most nominal levels in a node for which all splits are tried
    min_leaf: int
    min_split: int
    max_depth: int
    smoothing: float
    cp: float  # below 0: no pruning


class Tree(NamedTuple):
    """A grown tree: arrays over its nodes, and its permutation of the records.

    Parents precede children; a right child follows its left sibling. `errors` are the
    records that are not of their node's most frequent level. Pruned splits are kept,
    because a changed record may restore them: a node with one leaf is a leaf.
    """

    variable: Ints
    mask: NDArray[np.uint64]
    left: Ints
    parent: Ints
    depth: Ints
    first: Ints
    last: Ints
    errors: Ints
    leaves: Ints
    records: NDArray[np.int32]


class Routed(NamedTuple):
    """Released records in a tree: those of a node are ``records[first:last]``."""

    first: Ints
    last: Ints
    records: NDArray[np.int32]


class RoutedRelease(NamedTuple):
    """Released records in a tree, with all that a changed record needs of its nodes.

    Log probabilities, and the errors and leaves that remain below each node after
    pruning, have three rows, one for each version of the pruning threshold, which is a
    share of the errors in the root: one error less, the same number, and one more.
    """

    rows: Routed
    totals: Ints  # counts of the response, (n_nodes, n_classes)
    released_totals: Ints  # the same in the release
    log_prob: Floats
    errors: Ints
    leaves: Ints
    table_of: Ints
    tables: NDArray[np.int32]


class Scratch(NamedTuple):
    """Work arrays of one thread: a node's table, and counts of the response."""

    counts: Ints
    total: Ints
    released: Ints


class Subtree(NamedTuple):
    """Log probability of the released records below a node; its errors and leaves."""

    log_prob: float
    errors: int
    leaves: int


class Change(NamedTuple):
    """A node loses the record `truth`, gains that in the spare row, or both.

    The pruning threshold, and its version in the release, are those after the change.
    """

    truth: int
    loses: bool
    gains: bool
    threshold: float
    version: int


# --------------------------------------------------------------------------- best split


@compiled
def _scratch(task):
    """Allocate the work arrays that one thread needs for a tree."""
    n_classes = task.start[task.response + 1] - task.start[task.response]
    counts = np.zeros((task.start[-1], n_classes), np.int64)
    return Scratch(counts, np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64))


@compiled
def _purity(counts):
    """Return sum_c n_c^2 / n: the size minus Gini's impurity; 0 for no records."""
    n = 0
    squares = 0.0
    for count in counts:
        n += count
        squares += float(count) * count
    return squares / n if n else 0.0


@compiled
def _errors(total):
    """Count the records that are not of the most frequent level."""
    return total.sum() - total.max()


@compiled
def _bit(level):
    return np.uint64(1) << np.uint64(level)


@compiled
def _has(mask, level):
    return mask & _bit(level) != NO_LEVELS


@inlined
def _levels_in_node(counts, first, stop):
    """Return the levels of a variable that occur in a node, in order."""
    levels = np.empty(stop - first, np.int64)
    n_found = 0
    for row in range(first, stop):
        if counts[row].sum() > 0:
            levels[n_found] = row - first
            n_found += 1
    return levels[:n_found]


@inlined
def _by_share(counts, first, levels, total):
    """Order levels by share of the node's most frequent response; ties by level."""
    major = np.argmax(total)
    share = np.empty(len(levels))
    for i, level in enumerate(levels):
        share[i] = counts[first + level, major] / counts[first + level].sum()
    return levels[np.argsort(share, kind="mergesort")]


@compiled
def _up_to(level):
    """Return the mask of the levels up to one; as a threshold, midway between two."""
    return ALL_LEVELS >> np.uint64(63 - level)


@inlined
def _absent(levels, n_levels):
    """Return the mask of the levels of a variable that a node does not have."""
    mask = _up_to(n_levels - 1)
    for level in levels:
        mask ^= _bit(level)
    return mask


@inlined
def _lowest_bit(number):
    """Return the position of the lowest bit that is set."""
    position = 0
    while (number >> position) & 1 == 0:
        position += 1
    return position


@compiled
def _divisible(task, total, depth):
    """Return whether a node with these counts of the response may be split."""
    n = total.sum()
    if n < max(2 * task.min_leaf, task.min_split):
        return False
    if depth >= task.max_depth or not len(task.predictors):
        return False
    return _purity(total) <= n - TIE * n


@compiled
def _best_split(task, counts, total):
    """Return the variable and mask of the best split, or `LEAF` and 0 without a gain.

    The gain is purity(left) + purity(right) - purity(node). Among splits whose gains
    differ by less than `TIE` per record, the earlier predictor wins, then the smaller
    mask of levels that the node has. The function is long because the compiler
    vectorizes its inner loop only where it sees that `left` and `right` are new.
    """
    n = total.sum()
    tie = TIE * n
    node_purity = _purity(total)
    best_gain = tie
    variable = LEAF
    best_present = NO_LEVELS
    mask = NO_LEVELS
    left = np.empty(len(total), np.int64)
    right = np.empty(len(total), np.int64)
    for j in task.predictors:
        first = task.start[j]
        stop = task.start[j + 1]
        levels = _levels_in_node(counts, first, stop)
        if len(levels) < 2:
            continue
        exhaustive = not task.ordered[j] and len(levels) <= task.exhaustive
        if not task.ordered[j] and not exhaustive:
            levels = _by_share(counts, first, levels, total)
        left[:] = 0
        present = NO_LEVELS
        # The first level goes left. Then all sets of the other levels join it, in the
        # order of Gray's code, which moves one level at a time; or initial segments of
        # an order do. Invariant: left + right = total; `left` counts the records of the
        # levels in `present`.
        for step in range(1 << (len(levels) - 1) if exhaustive else len(levels) - 1):
            level = levels[_lowest_bit(step) + 1 if exhaustive and step else step]
            sign = -1 if _has(present, level) else 1
            present ^= _bit(level)
            n_left = 0
            for c in range(len(total)):
                left[c] += sign * counts[first + level, c]
                right[c] = total[c] - left[c]
                n_left += left[c]
            if n_left < task.min_leaf or n - n_left < task.min_leaf:
                continue
            gain = _purity(left) + _purity(right) - node_purity
            if gain > best_gain + tie or (
                variable == j and gain >= best_gain - tie and present < best_present
            ):
                best_gain = max(gain, best_gain)
                variable = j
                best_present = present
                if task.ordered[j]:
                    mask = _up_to((levels[step] + levels[step + 1]) // 2)
                else:
                    to_left = 2 * n_left >= n
                    absent = _absent(levels, stop - first)
                    mask = present | absent if to_left else present
    return variable, mask


# ------------------------------------------------------------------------------ growing


@inlined
def _rows_of(tree, node):
    """Return the records of a node, or its released records."""
    return tree.records[tree.first[node] : tree.last[node]]


@inlined
def _add_record(task, row, weight, counts):
    """Add a row of the codes to a node's table, with a weight that may be negative."""
    c = task.codes[row, task.response]
    for j in task.predictors:
        counts[task.start[j] + task.codes[row, j], c] += weight


@compiled
def _fill_table(task, rows, counts):
    """Fill a node's table from its rows."""
    for j in task.predictors:
        counts[task.start[j] : task.start[j + 1]] = 0
    for row in rows:
        _add_record(task, row, task.weights[row], counts)


@compiled
def _fill_total(codes, weights, rows, response, total):
    """Fill the counts of the response of some rows."""
    total[:] = 0
    for row in rows:
        total[codes[row, response]] += weights[row]


@inlined
def _split(task, rows, depth, work):
    """Return the best split of some rows, or `LEAF` and 0; fill their `work.total`."""
    _fill_total(task.codes, task.weights, rows, task.response, work.total)
    if not _divisible(task, work.total, depth):
        return LEAF, NO_LEVELS
    _fill_table(task, rows, work.counts)
    return _best_split(task, work.counts, work.total)


@compiled
def _partition(codes, records, variable, mask):
    """Put the rows that go left before the others, in place; return their number.

    Invariant: the rows before `low` go left, those after `high` go right.
    """
    low = 0
    high = len(records) - 1
    while low <= high:
        row = records[low]
        if _has(mask, codes[row, variable]):
            low += 1
        else:
            records[low] = records[high]
            records[high] = row
            high -= 1
    return low


@compiled
def _threshold(task, errors):
    """Return the pruning threshold, a share of the root's errors; below 0: none."""
    return task.cp * errors if task.cp >= 0 else -1.0


@compiled
def _prune(tree, threshold):
    """Return the errors and leaves of the nodes' cheapest subtrees.

    A tree costs its errors plus `threshold` for each leaf; of the cheapest the smallest
    is taken. Invariant: the nodes after `node` have their cheapest subtrees.
    """
    errors = tree.errors.copy()
    leaves = np.ones_like(errors)
    for node in range(len(errors) - 1, -1, -1):
        if tree.variable[node] != LEAF:
            left = tree.left[node]
            below = errors[left] + errors[left + 1]
            several = leaves[left] + leaves[left + 1]
            if errors[node] - below > threshold * (several - 1):
                errors[node] = below
                leaves[node] = several
    return errors, leaves


@compiled
def _sum_leaves(tree, leaves, log_prob):
    """Return the log probability below each node, from that of each node as a leaf."""
    log_prob = log_prob.copy()
    for node in range(len(leaves) - 1, -1, -1):
        if leaves[node] > 1:
            left = tree.left[node]
            log_prob[node] = log_prob[left] + log_prob[left + 1]
    return log_prob


@compiled
def _grow(task, records, released, depth, only_released, work):
    """Grow a tree from rows of the codes, with released rows in it; permute both.

    Return the tree, the released records in it, and the log probability of those of
    each leaf, (n_nodes,). The root has the given depth. If `only_released`, nodes
    without released records are not split, and growth ends at the first leaf that
    cannot have led to its released records, because then no tree has.
    """
    n_records = task.weights[records].sum()
    most = max(1, 2 * min(len(records), n_records // task.min_leaf) - 1)
    nodes, tree, routed = _unsplit_tree(records, released, most)
    tree.depth[0] = depth
    log_prob = np.zeros(most)
    node = ROOT
    n_nodes = node + 1
    # Invariant: the nodes before `node` are split or are leaves; the others have rows.
    while node < n_nodes:
        shown = _rows_of(routed, node)
        if len(shown) or not only_released:
            variable, mask = _split(task, _rows_of(tree, node), tree.depth[node], work)
            tree.variable[node] = variable
            tree.mask[node] = mask
            tree.errors[node] = _errors(work.total)
            if variable != LEAF:
                _add_children(task, tree, routed, node, n_nodes)
                n_nodes += 2
            elif len(shown):
                log_prob[node] = _released_log_prob(task, shown, work)
                if only_released and log_prob[node] == -np.inf:
                    break
        node += 1
    tree = _tree_of(nodes[:, :n_nodes].copy(), records)
    return tree, routed, log_prob[:n_nodes]


@compiled
def _tree_of(nodes, records):
    """Return a tree, given the arrays over its nodes."""
    return Tree(
        variable=nodes[0],
        mask=nodes[8].view(np.uint64),
        left=nodes[1],
        parent=nodes[2],
        depth=nodes[3],
        first=nodes[4],
        last=nodes[5],
        errors=nodes[6],
        leaves=nodes[7],
        records=records,
    )


@inlined
def _unsplit_tree(records, released, most):
    """Return a tree whose root has all rows, and arrays for `most` nodes of it."""
    nodes = np.zeros((11, most), np.int64)
    tree = _tree_of(nodes, records)
    tree.variable[:] = LEAF
    tree.last[0] = len(records)
    routed = Routed(nodes[9], nodes[10], released)
    routed.last[0] = len(released)
    return nodes, tree, routed


@inlined
def _add_children(task, tree, routed, node, left):
    """Add the children of a node that is split, and divide its rows among them."""
    tree.left[node] = left
    tree.parent[left : left + 2] = node
    tree.depth[left : left + 2] = tree.depth[node] + 1
    rows = _rows_of(tree, node)
    n_left = _partition(task.codes, rows, tree.variable[node], tree.mask[node])
    _divide(tree.first, tree.last, node, left, n_left)
    _route_node(task, tree, routed, node)


@compiled
def _divide(first, last, node, left, n_left):
    """Give the range of a node to its children, the first `n_left` to the left one."""
    middle = first[node] + n_left
    first[left] = first[node]
    last[left] = middle
    first[left + 1] = middle
    last[left + 1] = last[node]


@compiled
def _route_node(task, tree, routed, node):
    """Route the released records of a node to its children."""
    rows = _rows_of(routed, node)
    n_left = _partition(task.released, rows, tree.variable[node], tree.mask[node])
    _divide(routed.first, routed.last, node, tree.left[node], n_left)


@compiled
def grow(task):
    """Grow a tree from all rows of the codes but the spare one."""
    records = np.arange(len(task.codes) - 1).astype(np.int32)
    released = np.empty(0, np.int32)
    tree, _, _ = _grow(task, records, released, ROOT, ALL_NODES, _scratch(task))
    tree.leaves[:] = _prune(tree, _threshold(task, tree.errors[0]))[1]
    return tree


@compiled
def leaf_of(tree, codes):
    """Return the leaf that each record falls into."""
    leaves = np.zeros(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while tree.leaves[node] > 1:
            goes_left = _has(tree.mask[node], codes[i, tree.variable[node]])
            node = tree.left[node] if goes_left else tree.left[node] + 1
        leaves[i] = node
    return leaves


@compiled
def synthesize(tree, response, distribution, uniforms, codes):
    """Draw one variable of all records from the distribution functions of the nodes."""
    leaves = leaf_of(tree, codes)
    for i in range(len(codes)):
        codes[i, response] = np.searchsorted(
            distribution[leaves[i]], uniforms[i], side="right"
        )


# ------------------------------------------------------------------ a release in a tree


@compiled
def _leaf_log_prob(total, released, smoothing):
    """Return the log probability of released counts in a leaf with the given counts.

    It is the sum of z_c log((n_c + s / C) / (n + s)) over the levels c with z_c > 0,
    for released counts z, counts n of the data and smoothing s over C levels.
    """
    size = total.sum() + smoothing
    log_prob = 0.0
    for c in range(len(total)):
        if released[c] > 0:
            share = (total[c] + smoothing / len(total)) / size
            if share == 0.0:
                return -np.inf
            log_prob += released[c] * np.log(share)
    return log_prob


@compiled
def _released_log_prob(task, rows, work):
    """Return the log probability of released rows in a leaf with `work.total`."""
    weights = task.released_weights
    _fill_total(task.released, weights, rows, task.response, work.released)
    return _leaf_log_prob(work.total, work.released, task.smoothing)


@compiled
def _node_log_prob(task, tree, routed, node, work):
    """Return the log probability of a node's released records, if it is a leaf."""
    rows = _rows_of(tree, node)
    _fill_total(task.codes, task.weights, rows, task.response, work.total)
    return _released_log_prob(task, _rows_of(routed, node), work)


@compiled
def route(task, tree):
    """Route the released records through a tree; keep what a changed record needs."""
    rows = _route_to_all_nodes(task, tree)
    work = _scratch(task)
    n_nodes = len(tree.variable)
    totals = np.zeros((n_nodes, len(work.total)), np.int64)
    released_totals = np.zeros_like(totals)
    of_leaf = np.zeros(n_nodes)
    for node in range(n_nodes):
        of_leaf[node] = _node_log_prob(task, tree, rows, node, work)
        totals[node] = work.total
        released_totals[node] = work.released
    log_prob, errors, leaves = _prune_by_version(task, tree, of_leaf)
    table_of, tables = _keep_tables(task, tree, work)
    return RoutedRelease(
        rows,
        totals,
        released_totals,
        log_prob,
        errors,
        leaves,
        table_of,
        tables,
    )


@inlined
def _route_to_all_nodes(task, tree):
    """Return the released records in each node of a tree."""
    n_nodes = len(tree.variable)
    records = np.arange(len(task.released)).astype(np.int32)
    rows = Routed(np.zeros(n_nodes, np.int64), np.full(n_nodes, len(records)), records)
    for node in range(n_nodes):
        if tree.variable[node] != LEAF:
            _route_node(task, tree, rows, node)
    return rows


@inlined
def _keep_tables(task, tree, work):
    """Return the tables of the large nodes, and each node's place among them."""
    kept = np.flatnonzero(tree.last - tree.first >= KEPT)
    table_of = np.full(len(tree.variable), -1)
    tables = np.empty((len(kept), *work.counts.shape), np.int32)
    for place, node in enumerate(kept):
        table_of[node] = place
        _fill_table(task, _rows_of(tree, node), work.counts)
        tables[place] = work.counts
    return table_of, tables


@inlined
def _prune_by_version(task, tree, of_leaf):
    """Return log probabilities, errors and leaves below each node, by version."""
    log_prob = np.zeros((3, len(of_leaf)))
    errors = np.zeros(log_prob.shape, np.int64)
    leaves = np.zeros(log_prob.shape, np.int64)
    for version in range(3):
        threshold = _threshold(task, tree.errors[0] + version - 1)
        errors[version], leaves[version] = _prune(tree, threshold)
        log_prob[version] = _sum_leaves(tree, leaves[version], of_leaf)
    return log_prob, errors, leaves


# ------------------------------------------------------------------- one record changed


@inlined
def _fill_changed_total(task, release, work, node, change):
    """Fill the counts of the response of a node after the change, `work.total`."""
    work.total[:] = release.totals[node]
    if change.loses:
        work.total[task.codes[change.truth, task.response]] -= 1
    if change.gains:
        work.total[task.codes[-1, task.response]] += 1


@inlined
def _split_changed(task, tree, release, work, node, change):
    """Return the best split of a node after the change; fill its `work.total`."""
    _fill_changed_total(task, release, work, node, change)
    if not _divisible(task, work.total, tree.depth[node]):
        return LEAF, NO_LEVELS
    if release.table_of[node] >= 0:
        work.counts[:] = release.tables[release.table_of[node]]
    else:
        _fill_table(task, _rows_of(tree, node), work.counts)
    if change.loses:
        _add_record(task, change.truth, -1, work.counts)
    if change.gains:
        _add_record(task, -1, 1, work.counts)
    return _best_split(task, work.counts, work.total)


@inlined
def _regrown(task, tree, release, work, node, change):
    """Return the subtree of a node that is grown anew after the change."""
    rows = _rows_of(tree, node)
    records = np.empty(len(rows) + change.gains, np.int32)
    records[-1] = -1  # the spare row
    records[: len(rows)] = rows
    released = _rows_of(release.rows, node).copy()
    depth = tree.depth[node]
    task.weights[change.truth] -= change.loses
    only_released = change.threshold < 0
    grown, routed, log_prob = _grow(task, records, released, depth, only_released, work)
    errors, leaves = _prune(grown, change.threshold)
    _add_pruned(task, grown, routed, leaves, log_prob, work)
    task.weights[change.truth] += change.loses
    log_prob = _sum_leaves(grown, leaves, log_prob)
    return Subtree(log_prob[0], errors[0], leaves[0])


@inlined
def _add_pruned(task, tree, routed, leaves, log_prob, work):
    """Fill the log probability of the released records of leaves that were split."""
    for node in range(len(leaves)):
        is_pruned = tree.variable[node] != LEAF and leaves[node] == 1
        if is_pruned and (node == 0 or leaves[tree.parent[node]] > 1):
            log_prob[node] = _node_log_prob(task, tree, routed, node, work)


@compiled
def _as_leaf(task, release, work, node):
    """Return a node as a leaf, with the counts in `work.total`."""
    log_prob = _leaf_log_prob(work.total, release.released_totals[node], task.smoothing)
    return Subtree(log_prob, _errors(work.total), 1)


@compiled
def _down(task, tree, release, work, node, change):
    """Follow a change down to where its effect is known, or where the paths separate.

    Return that node, whether the paths of the two records separate there, and the
    node's subtree after the change, if they do not.
    """
    row = change.truth if change.loses else -1
    while change.threshold >= 0 or release.rows.first[node] < release.rows.last[node]:
        variable, mask = _split_changed(task, tree, release, work, node, change)
        if variable != tree.variable[node] or mask != tree.mask[node]:
            return node, False, _regrown(task, tree, release, work, node, change)
        if variable == LEAF:
            return node, False, _as_leaf(task, release, work, node)
        goes_left = _has(mask, task.codes[row, variable])
        if change.gains and goes_left != _has(mask, task.codes[-1, variable]):
            return node, True, Subtree(0.0, 0, 0)
        node = tree.left[node] if goes_left else tree.left[node] + 1
    return node, False, Subtree(0.0, 0, 1)


@compiled
def _joined(
    task,
    release,
    work,
    node,
    child,
    sibling,
    change,
):
    """Return the subtree of a node from its children's, or the node if pruned."""
    log_prob = child.log_prob + sibling.log_prob
    below = child.errors + sibling.errors
    leaves = child.leaves + sibling.leaves
    if change.threshold >= 0:
        _fill_changed_total(task, release, work, node, change)
        if _errors(work.total) - below <= change.threshold * (leaves - 1):
            return _as_leaf(task, release, work, node)
    return Subtree(log_prob, below, leaves)


@compiled
def _up(
    task,
    tree,
    release,
    work,
    node,
    top,
    subtree,
    change,
):
    """Return the subtree of `top` from that of a node below, joined with those beside.

    Invariant: `subtree` is that of `node` after the change.
    """
    version = change.version
    while node != top:
        parent = tree.parent[node]
        left = tree.left[parent]
        sibling = left + 1 if node == left else left
        beside = Subtree(
            release.log_prob[version, sibling],
            release.errors[version, sibling],
            release.leaves[version, sibling],
        )
        subtree = _joined(task, release, work, parent, subtree, beside, change)
        node = parent
    return subtree


@compiled
def _child_changed(task, tree, release, work, child, change):
    """Return the subtree of a node that loses a record or gains one."""
    end, _, subtree = _down(task, tree, release, work, child, change)
    return _up(task, tree, release, work, end, child, subtree, change)


@inlined
def _changed(task, tree, release, work, truth, losers):
    """Return the log probability of the released values with one record changed.

    The record `truth` becomes that in the spare row. Subtrees that only lose a record
    are kept in the list `losers`, three versions of each depth, for the next candidate;
    NaN marks those not computed.
    """
    both = Change(truth, True, True, -1.0, 1)
    _fill_changed_total(task, release, work, ROOT, both)
    errors = _errors(work.total)
    threshold = _threshold(task, errors)
    version = 1 + np.sign(errors - tree.errors[0])
    both = Change(truth, True, True, threshold, version)
    node, separate, subtree = _down(task, tree, release, work, ROOT, both)
    if separate:
        subtree = _divided(task, tree, release, work, node, both, losers)
    return _up(task, tree, release, work, node, ROOT, subtree, both).log_prob


@inlined
def _divided(
    task,
    tree,
    release,
    work,
    node,
    both,
    losers,
):
    """Return the subtree of a node of which one child loses a record, the other gains.

    What only loses a record is looked up in `losers`, or kept there.
    """
    loser = tree.left[node]
    gainer = loser + 1
    if not _has(tree.mask[node], task.codes[both.truth, tree.variable[node]]):
        loser, gainer = gainer, loser
    place = 3 * tree.depth[loser] + both.version
    if np.isnan(losers[place].log_prob):
        loses = Change(both.truth, True, False, both.threshold, both.version)
        losers[place] = _child_changed(task, tree, release, work, loser, loses)
    subtree = losers[place]
    if subtree.log_prob == -np.inf and both.threshold < 0:
        return subtree
    gains = Change(both.truth, False, True, both.threshold, both.version)
    gained = _child_changed(task, tree, release, work, gainer, gains)
    return _joined(task, release, work, node, subtree, gained, both)


@compiled
def changed(task, tree, release, rows, candidates, out):
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
    work = _scratch(task)
    n_losers = 3 * (tree.depth.max() + 1)
    for r in range(len(rows)):
        truth = rows[r]
        losers = [Subtree(np.nan, 0, 0)] * n_losers
        for s in range(candidates.shape[1]):
            same = task.codes[truth, task.response] == candidates[r, s, task.response]
            for j in task.predictors:
                same = same and task.codes[truth, j] == candidates[r, s, j]
            if same:
                out[r, s] += release.log_prob[1, 0]
            elif out[r, s] > -np.inf:
                task.codes[-1] = candidates[r, s]
                out[r, s] += _changed(task, tree, release, work, truth, losers)
