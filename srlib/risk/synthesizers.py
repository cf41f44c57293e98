"""Synthesizers with or without a known density, and likelihoods by a density.

Anything that draws a table given a table is a `Synthesizer`. If it also knows the
probability of a release it is a `Density`, and the risk of its releases is exact. For
any other, `black_box` has lower bounds from a test between its releases.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from srlib.arrays import Floats, Generator, Ints, NDArray
from srlib.data import Codes, Microdata
from srlib.progress import in_blocks
from srlib.risk.likelihood import CandidateLikelihood
from srlib.trees import SequentialTrees, Trees
from srlib.trees import log_likelihoods as of_trees

_BLOCK = 16  # records per task of an executor


@runtime_checkable
class Synthesizer(Protocol):
    """Protocol of a synthesizer: a function that draws a synthetic table given a table.

    Tables are coded records, (n, n_variables) integers from 0.

    Examples
    --------
    >>> class Shuffled:
    ...     def release(self, data, *, rng):
    ...         return rng.permuted(data, axis=0)
    >>> isinstance(Shuffled(), Synthesizer)
    True
    """

    def release(self, data: Codes, *, rng: Generator) -> Codes:
        """Draw a release from the data."""
        ...


@runtime_checkable
class Density(Synthesizer, Protocol):
    """Protocol of a synthesizer that knows the probability of a release.

    It may have a third function, ``log_likelihoods(released, data, rows, candidates)``,
    to compute faster what `log_likelihoods` returns.
    """

    def log_prob(self, released: Codes, data: Codes) -> float:
        """Return log p(release | data); minus infinity if it cannot be drawn."""
        ...


def check_density(synthesizer: object, table: Microdata) -> None:
    """Raise a ValueError unless a synthesizer has a density and fits the original."""
    if isinstance(synthesizer, Trees):
        same_schema = synthesizer.schema == table.schema
        if not same_schema or not np.array_equal(synthesizer.codes, table.codes):
            raise ValueError(
                "synthesizer was fitted to another table than the original, or to "
                "other levels; fit it to the same Microdata"
            )
    elif isinstance(synthesizer, type) or not isinstance(synthesizer, Density):
        raise ValueError(
            f"synthesizer is {synthesizer!r:.50}; it must be Trees, or have the "
            "functions release and log_prob. For a synthesizer without a density use "
            "leakage_bound"
        )
    elif (
        isinstance(synthesizer, SequentialTrees) and synthesizer.schema != table.schema
    ):
        raise ValueError("synthesizer has another schema than the original")


def density_likelihood(
    synthesizer: Trees | Density,
    released: Sequence[Codes],
    data: Codes,
    rows: Ints,
    candidates: Codes,
    executor: Executor | None = None,
) -> CandidateLikelihood:
    """Return the likelihood of candidates by a density, as `log_likelihoods` does.

    A ValueError is raised if the synthesizer cannot have drawn the releases from the
    data.
    """
    log_likelihood = log_likelihoods(
        synthesizer, released, data, rows, candidates, executor=executor
    )
    if np.isneginf(log_likelihood[:, 0]).any():
        raise ValueError(
            "released has probability zero given the original: this synthesizer cannot "
            "have drawn it, or its log_prob does not match its release"
        )
    return CandidateLikelihood(lambda: log_likelihood)


def log_likelihoods(
    synthesizer: Trees | Density,
    released: Sequence[Codes],
    data: Codes,
    rows: Ints,
    candidates: Codes,
    *,
    executor: Executor | None = None,
) -> Floats:
    """Return log p(releases | data with one record changed) of each candidate.

    The shape is (n, support_size).

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
    name = type(synthesizer).__name__
    own = getattr(synthesizer, "log_likelihoods", None)
    if own is None:
        name += ".log_prob"
        step = 1 if executor is None else _BLOCK
        starts = range(step, len(rows), step)
        parts = zip(np.split(rows, starts), np.split(candidates, starts), strict=True)
        shared = (partial(_joint_log_prob, synthesizer, released), data)
        blocks = in_blocks(executor, map_changes, shared, [*parts], "changed records")
        values = np.concatenate([*blocks])
    elif executor is None:
        name += ".log_likelihoods"
        values = np.asarray(own(released, data, rows, candidates), float)
    else:
        raise ValueError(
            f"executor is given, but {name} has its own log_likelihoods, which runs in "
            "one process"
        )
    _check_log_likelihoods(values, candidates.shape[:2], name)
    return values


def _check_log_likelihoods(values: Floats, shape: tuple[int, ...], name: str) -> None:
    """Raise a ValueError unless a function, by name, returns log probabilities."""
    if values.shape != shape:
        raise ValueError(f"{name} returns shape {values.shape}; it must be {shape}")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise ValueError(
            f"{name} returns NaN or infinity; it must return the logarithm of a "
            "probability"
        )


def _joint_log_prob(
    synthesizer: Density, released: Sequence[Codes], data: Codes
) -> float:
    """Return the log probability of all releases given the data."""
    return float(sum(synthesizer.log_prob(table, data) for table in released))


def map_changes(
    function: Callable[[Codes], float], data: Codes, rows: Ints, candidates: Codes
) -> NDArray:
    """Evaluate a function of the data with each row changed to each of its candidates.

    The other arguments are those of `log_likelihoods`; the values have the shape (n,
    support_size).
    """
    changed = np.array(data)
    values = []
    for row, support in zip(rows, candidates, strict=True):
        for candidate in support:
            changed[row] = candidate
            values.append(function(changed))
        changed[row] = data[row]
    return np.reshape(values, candidates.shape[:2])
