"""Synthesizers, of which some know their density: the column of a release, candidate by candidate.

Anything that makes tables of a table is a `Synthesizer`. One that can say how probable a release
is has a `Density`, and the risk of its releases is exact; of any other, `black_box` tells what a
test between its releases shows.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from srlib.data.schema import Microdata
from srlib.progress import in_blocks
from srlib.risk.column import Column
from srlib.trees import SequentialTrees, Trees
from srlib.trees import log_likelihoods as of_trees

_BLOCK = 16  # records for one task of an executor


@runtime_checkable
class Synthesizer(Protocol):
    """A way to make a synthetic table of a table.

    Tables are coded records, (n, n_variables) integers from 0. One function makes a synthesizer.

    Examples
    --------
    >>> class Shuffled:
    ...     def release(self, data, *, rng):
    ...         return rng.permuted(data, axis=0)
    >>> isinstance(Shuffled(), Synthesizer)
    True
    """

    def release(
        self, data: NDArray[np.integer], *, rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Draw a release from the data."""
        ...


@runtime_checkable
class Density(Synthesizer, Protocol):
    """A synthesizer that knows the probability of a release.

    It may have a third function, ``log_likelihoods(released, data, rows, candidates)``, which does
    the work of `log_likelihoods` faster; see there.
    """

    def log_prob(self, released: NDArray[np.integer], data: NDArray[np.integer]) -> float:
        """Return log p(release | data); minus infinity if it cannot be drawn."""
        ...


def check_density(synthesizer: object, table: Microdata) -> None:
    """Raise a ValueError unless a synthesizer knows its density and fits the original."""
    if isinstance(synthesizer, Trees):
        same_schema = synthesizer.schema == table.schema
        if not same_schema or not np.array_equal(synthesizer.codes, table.codes):
            raise ValueError(
                "synthesizer was grown on another table than the original, or on other levels; "
                "grow it on the same Microdata"
            )
    elif isinstance(synthesizer, type) or not isinstance(synthesizer, Density):
        raise ValueError(
            f"synthesizer is {synthesizer!r:.50}; it must be Trees, or have the functions "
            "release and log_prob. What can only release tables is for leakage_bound"
        )
    elif isinstance(synthesizer, SequentialTrees) and synthesizer.schema != table.schema:
        raise ValueError("synthesizer has another schema than the original")


def density_column(
    synthesizer: Trees | Density,
    released: Sequence[NDArray[np.integer]],
    data: NDArray[np.integer],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
    executor: Executor | None = None,
) -> Column:
    """Return what releases say of records by a density; its arguments are of `log_likelihoods`.

    A ValueError says so where the synthesizer cannot have drawn the releases from the data.
    """
    found = log_likelihoods(synthesizer, released, data, rows, candidates, executor=executor)
    if np.isneginf(found[:, 0]).any():
        raise ValueError(
            "released has probability zero given the original: this synthesizer cannot have drawn "
            "it, or its log_prob is not that of its release"
        )
    return Column(lambda: found, (), np.empty((0, len(rows))), np.full(len(rows), np.nan))


def log_likelihoods(
    synthesizer: Trees | Density,
    released: Sequence[NDArray[np.integer]],
    data: NDArray[np.integer],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
    *,
    executor: Executor | None = None,
) -> NDArray[np.float64]:
    """Compute log p(releases | data with one record changed) of each candidate, (n, support_size).

    Parameters
    ----------
    synthesizer : Trees or Density
        Trees grown on the data; or any other density, by its own ``log_likelihoods`` where it has
        one. Where not, its ``log_prob`` is evaluated once for each candidate and release.
    released, data : sequence of (m, n_variables) int, (n_records, n_variables) int
        Releases, independent given the confidential data.
    rows : (n,) int
        The record that is changed.
    candidates : (n, support_size, n_variables) int
        What it is changed to.
    executor : Executor, optional
        Where blocks of records are done: processes, or a cluster's workers, for which the
        synthesizer has to be picklable; in this process if not given. Results do not depend on it.
    """
    if isinstance(synthesizer, Trees):
        return of_trees(synthesizer, released, rows, candidates, executor=executor)
    own = getattr(synthesizer, "log_likelihoods", None)
    name = type(synthesizer).__name__
    if own is None:
        step = 1 if executor is None else _BLOCK
        blocks = [(rows[i : i + step], candidates[i : i + step]) for i in range(0, len(rows), step)]
        shared = (synthesizer, released, data)
        parts = in_blocks(executor, _one_by_one, shared, blocks, "changed records")
        found = np.concatenate(list(parts))
    elif executor is None:
        found = np.asarray(own(released, data, rows, candidates), dtype=np.float64)
    else:
        raise ValueError(f"{name} has log_likelihoods of its own, which an executor cannot spread")
    name += ".log_prob" if own is None else ".log_likelihoods"
    if found.shape != candidates.shape[:2]:
        raise ValueError(f"{name} returns shape {found.shape}; it must be {candidates.shape[:2]}")
    if np.isnan(found).any() or np.isposinf(found).any():
        raise ValueError(
            f"{name} returns NaN or infinity; it must return the logarithm of a probability"
        )
    return found


def _one_by_one(
    synthesizer: Density,
    released: Sequence[NDArray[np.integer]],
    data: NDArray[np.integer],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Evaluate the density of each changed table."""
    changed, found = np.array(data), np.empty(candidates.shape[:2])
    for row, support, values in zip(rows, candidates, found, strict=True):
        for i, candidate in enumerate(support):
            changed[row] = candidate
            values[i] = sum(synthesizer.log_prob(table, changed) for table in released)
        changed[row] = data[row]
    return found
