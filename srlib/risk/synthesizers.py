"""Synthesizers, with or without a known density, and the likelihood of candidates by a density.

Anything that draws a table given a table is a `Synthesizer`. If it also knows the
probability of a release it is a `Density`, and the risk of its releases is exact. For
any other, `black_box` has lower bounds from a test between its releases.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from srlib.data.schema import Microdata
from srlib.progress import in_blocks
from srlib.risk.likelihood import CandidateLikelihood
from srlib.trees import SequentialTrees, Trees
from srlib.trees import log_likelihoods as of_trees

_BLOCK = 16  # records per task of an executor


@runtime_checkable
class Synthesizer(Protocol):
    """Protocol of a synthesizer: one function that draws a synthetic table given a table.

    Tables are coded records, (n, n_variables) integers from 0.

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
    """Protocol of a synthesizer that knows the probability of a release.

    It may have a third function, ``log_likelihoods(released, data, rows, candidates)``,
    to compute faster what `log_likelihoods` returns.
    """

    def log_prob(
        self, released: NDArray[np.integer], data: NDArray[np.integer]
    ) -> float:
        """Return log p(release | data); minus infinity if the release cannot be drawn."""
        ...


def check_density(synthesizer: object, table: Microdata) -> None:
    """Raise a ValueError unless the synthesizer knows its density and fits the original."""
    if isinstance(synthesizer, Trees):
        same_schema = synthesizer.schema == table.schema
        if not same_schema or not np.array_equal(synthesizer.codes, table.codes):
            raise ValueError(
                "synthesizer was fitted to another table than the original, or to other levels; "
                "fit it to the same Microdata"
            )
    elif isinstance(synthesizer, type) or not isinstance(synthesizer, Density):
        raise ValueError(
            f"synthesizer is {synthesizer!r:.50}; it must be Trees, or have the functions "
            "release and log_prob. For a synthesizer without a density use leakage_bound"
        )
    elif (
        isinstance(synthesizer, SequentialTrees) and synthesizer.schema != table.schema
    ):
        raise ValueError("synthesizer has another schema than the original")


def density_likelihood(
    synthesizer: Trees | Density,
    released: Sequence[NDArray[np.integer]],
    data: NDArray[np.integer],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
    executor: Executor | None = None,
) -> CandidateLikelihood:
    """Return the likelihood of candidates by a density; the arguments are of `log_likelihoods`.

    A ValueError is raised if the synthesizer cannot have drawn the releases from the
    data.
    """
    found = log_likelihoods(
        synthesizer, released, data, rows, candidates, executor=executor
    )
    if np.isneginf(found[:, 0]).any():
        raise ValueError(
            "released has probability zero given the original: this synthesizer cannot have drawn "
            "it, or its log_prob does not match its release"
        )
    return CandidateLikelihood(
        lambda: found, (), np.empty((0, len(rows))), np.full(len(rows), np.nan)
    )


def log_likelihoods(
    synthesizer: Trees | Density,
    released: Sequence[NDArray[np.integer]],
    data: NDArray[np.integer],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
    *,
    executor: Executor | None = None,
) -> NDArray[np.float64]:
    """Return log p(releases | data with one record changed) of each candidate, (n, support_size).

    Parameters
    ----------
    synthesizer : Trees or Density
        Trees fitted to the data, or any other density. Its own ``log_likelihoods`` is
        used where it has one; otherwise its ``log_prob`` is evaluated once per
        candidate and release.
    released, data : sequence of (m, n_variables) int, (n_records, n_variables) int
        Releases, independent given the confidential data.
    rows : (n,) int
        Rows of the target records, each of which is changed.
    candidates : (n, support_size, n_variables) int
        Values that the target records are changed to.
    executor : Executor, optional
        Where blocks of records are computed: processes or the workers of a cluster, for
        which the synthesizer must be picklable; this process if not given. Results do
        not depend on it.
    """
    if isinstance(synthesizer, Trees):
        return of_trees(synthesizer, released, rows, candidates, executor=executor)
    own = getattr(synthesizer, "log_likelihoods", None)
    name = type(synthesizer).__name__
    if own is None:
        step = 1 if executor is None else _BLOCK
        blocks = [
            (rows[i : i + step], candidates[i : i + step])
            for i in range(0, len(rows), step)
        ]
        shared = (synthesizer, released, data)
        parts = in_blocks(executor, _one_by_one, shared, blocks, "changed records")
        found = np.concatenate(list(parts))
    elif executor is None:
        found = np.asarray(own(released, data, rows, candidates), dtype=np.float64)
    else:
        raise ValueError(
            f"executor is given, but {name} has its own log_likelihoods, which runs in one process"
        )
    name += ".log_prob" if own is None else ".log_likelihoods"
    if found.shape != candidates.shape[:2]:
        raise ValueError(
            f"{name} returns shape {found.shape}; it must be {candidates.shape[:2]}"
        )
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
    """Return the density at each changed table, evaluated one by one."""
    changed, found = np.array(data), np.empty(candidates.shape[:2])
    for row, support, values in zip(rows, candidates, found, strict=True):
        for i, candidate in enumerate(support):
            changed[row] = candidate
            values[i] = sum(synthesizer.log_prob(table, changed) for table in released)
        changed[row] = data[row]
    return found
