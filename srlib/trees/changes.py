"""One record changed: log p(release | data) of its candidates, without growing every tree anew."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srlib.data.schema import Microdata
from srlib.progress import progress
from srlib.trees import kernels
from srlib.trees.model import Trees, checked_release

_BLOCK = 64  # records: a bar moves several times a second


@dataclass(frozen=True)
class Work:
    """What changed records took.

    Attributes
    ----------
    nodes : int
        Nodes whose best split was sought again.
    regrown : int
        Those of them whose split is another with the record changed.
    below : int
        Nodes that were grown anew there.
    """

    nodes: int
    regrown: int
    below: int


def log_likelihoods(
    trees: Trees,
    released: Microdata | NDArray[np.integer] | Sequence[Microdata | NDArray[np.integer]],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
    *,
    n_threads: int | None = None,
) -> tuple[NDArray[np.float64], Work]:
    """Compute log p(releases | data with one record changed), exactly.

    A changed record alters counts along its own path and the candidate's through the trees that
    use what changed. Where the best split of a node stays, its parts are looked at; where it does
    not, the node is grown anew and its released records routed again. The result is that of
    growing all trees on the changed data.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : Microdata or (m, n_variables) int, or a sequence of these
        The releases, which are independent given the data.
    rows : (n,) int
        The record of the data that is changed, by its row.
    candidates : (n, support_size, n_variables) int
        What it is changed to; a candidate may be the record itself.
    n_threads : int, optional
        Threads; one for each processor if not given. Results do not depend on it.

    Returns
    -------
    log_likelihoods : (n, support_size) float64
        Minus infinity where the releases could not have been drawn.
    work : Work
        How often nodes were looked at and grown anew.

    Raises
    ------
    ValueError
        If rows, candidates or releases do not fit the trees.
    """
    shown, rows, supports = checked_changes(trees, released, rows, candidates)
    out = np.zeros(supports.shape[:2])
    done = np.zeros(3, np.int64)
    blocks = [slice(at, at + _BLOCK) for at in range(0, len(rows), _BLOCK)]
    with (
        ThreadPoolExecutor(n_threads or os.cpu_count()) as pool,
        progress(len(trees.trees) * len(rows), "changed records") as bar,
    ):
        for at, tree in enumerate(trees.trees):
            seen = kernels.see(trees.task(at, shown), tree)

            def work(
                some: slice, at: int = at, tree: kernels.Tree = tree, seen: kernels.Seen = seen
            ) -> NDArray[np.int64]:
                # Each task has codes of its own, whose spare row it writes to.
                task = trees.task(at, shown)
                return kernels.changed(task, tree, seen, rows[some], supports[some], out[some])

            for some, counted in zip(blocks, pool.map(work, blocks), strict=True):
                done += counted
                bar.update(len(rows[some]))
    return out, Work(*done.tolist())


def checked_changes(
    trees: Trees,
    released: Microdata | NDArray[np.integer] | Sequence[Microdata | NDArray[np.integer]],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]:
    """Return the records of all releases, the rows and the candidates as the kernels take them.

    Raises
    ------
    ValueError
        If rows, candidates or releases do not fit the trees.
    """
    several = [released] if isinstance(released, Microdata | np.ndarray) else released
    if not several:
        raise ValueError("released is empty; it must hold one table or more")
    shown = np.concatenate([checked_release(table, trees.schema) for table in several])
    places = np.asarray(rows, dtype=np.int64)
    supports = np.ascontiguousarray(candidates, dtype=np.uint8)
    if supports.ndim != 3 or supports.shape[::2] != (len(places), len(trees.order)):
        raise ValueError(
            f"candidates have shape {supports.shape}; it must be ({len(places)}, support_size, "
            f"{len(trees.order)})"
        )
    if len(places) and (places.min() < 0 or places.max() >= len(trees.codes)):
        raise ValueError(f"rows must lie in 0 to {len(trees.codes) - 1}")
    if (np.asarray(candidates) >= trees.schema.n_levels).any() or (
        np.asarray(candidates) < 0
    ).any():
        raise ValueError("candidates have codes out of range; they must be from 0 to levels - 1")
    return shown, places, supports
