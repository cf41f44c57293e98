"""Log p(release | data) with one record changed, without refitting every tree."""

import os
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import pandas as pd

from srlib import checks
from srlib.arrays import Floats, Ints
from srlib.data import Microdata, distinct
from srlib.progress import in_blocks
from srlib.trees import kernels
from srlib.trees.model import DistinctRecords, Trees, checked_release, route

# Candidates per block: the progress bar moves several times a second. Each block on an
# executor routes the releases again, which takes as long as some hundred candidates.
_BLOCK = 2048
_EXECUTOR_BLOCK = 8192


def log_likelihoods(
    trees: Trees,
    released: Microdata | Ints | Sequence[Microdata | Ints],
    rows: Ints,
    candidates: Ints,
    *,
    executor: Executor | None = None,
) -> Floats:
    """Return the exact log p(releases | data with one record changed).

    The result is (n, support_size). A changed record alters counts along its own path
    and along the candidate's, in the trees that use a changed variable. If the best
    split of a node stays the same, only its children are examined; otherwise the node
    is refitted and its released records are routed again. The result equals that of
    fitting all trees to the changed data.

    Parameters
    ----------
    trees : Trees
        Trees fitted to the data.
    released, rows, candidates, executor
        As in `srlib.risk.synthesizers.log_likelihoods`; `released` may also be a single
        release, or Microdata.
    """
    codes, rows, supports = checked_changes(trees, released, rows, candidates)
    distinct_records = distinct(codes)[:2]
    cells = trees.combination_of[rows]
    block = _BLOCK if executor is None else _EXECUTOR_BLOCK
    step = max(1, block // max(1, supports.shape[1]))
    starts = range(0, len(rows), step)
    blocks = [(cells[i : i + step], supports[i : i + step]) for i in starts]
    routed = route(trees, distinct_records) if executor is None else None
    shared = (trees, distinct_records, routed)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        results = in_blocks(
            executor or threads, _block_log_prob, shared, blocks, "changed records"
        )
        return np.concatenate([np.empty((0, supports.shape[1])), *results])


def checked_changes(
    trees: Trees,
    released: Microdata | Ints | Sequence[Microdata | Ints],
    rows: Ints,
    candidates: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Return released records, rows and candidates in the form the kernels need."""
    if isinstance(released, Microdata | np.ndarray | pd.DataFrame):
        released = [released]
    if not released:
        raise ValueError("released is empty; it must hold one table or more")
    codes = np.concatenate([checked_release(table, trees.schema) for table in released])
    places = np.atleast_1d(rows)
    supports = np.asarray(candidates)
    for name, values in (("rows", places), ("candidates", supports)):
        if values.size and values.dtype.kind not in "biu":
            raise ValueError(f"{name} has type {values.dtype}; it must be of integers")
    _check_ranges(trees, places, supports)
    return codes, places.astype(np.int64), np.ascontiguousarray(supports, np.uint8)


def _check_ranges(trees: Trees, rows: Ints, candidates: Ints) -> None:
    """Raise a ValueError unless the candidates fit the rows, and both the table."""
    n, n_variables = trees.codes.shape
    if candidates.ndim != 3 or candidates.shape[::2] != (len(rows), n_variables):
        raise ValueError(
            f"candidates has shape {candidates.shape}; "
            f"it must be ({len(rows)}, support_size, {n_variables})"
        )
    checks.within(0, n - 1, rows=rows)
    if ((candidates < 0) | (candidates >= trees.schema.n_levels)).any():
        raise ValueError(
            "candidates has codes out of range; they must be 0 to n_levels - 1"
        )


def _block_log_prob(
    trees: Trees,
    released: DistinctRecords,
    routed: Sequence[kernels.RoutedRelease] | None,
    cells: Ints,
    supports: Ints,
) -> Floats:
    """Return the log likelihoods of the candidates of a block of records."""
    log_prob = np.zeros(supports.shape[:2])
    for position, tree_release in enumerate(routed or route(trees, released)):
        # Each task has its own copy of the codes, whose spare row is written to.
        task = trees.task(position, released)
        tree = trees.trees[position]
        kernels.changed(task, tree, tree_release, cells, supports, log_prob)
    return log_prob
