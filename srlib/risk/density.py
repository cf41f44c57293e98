"""Synthesizers whose density is known: the column of a release, candidate by candidate."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from srlib.progress import progress
from srlib.trees import Trees
from srlib.trees import log_likelihoods as of_trees


@runtime_checkable
class Synthesizer(Protocol):
    """A way to make synthetic tables of a table, whose probability it knows.

    Two functions make one: of coded records, (n, n_variables) integers from 0.
    """

    def release(
        self, data: NDArray[np.integer], *, rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Draw a release from the data."""
        ...

    def log_prob(self, released: NDArray[np.integer], data: NDArray[np.integer]) -> float:
        """Return log p(release | data); minus infinity if it cannot be drawn."""
        ...


def log_likelihoods(
    synthesizer: Trees | Synthesizer,
    data: NDArray[np.integer],
    released: Sequence[NDArray[np.integer]],
    rows: NDArray[np.integer],
    candidates: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Compute log p(releases | data with one record changed) of each candidate, exactly.

    Parameters
    ----------
    synthesizer : Trees or Synthesizer
        Trees grown on the data, where only what changes is computed anew; or any other whose
        density is evaluated once for each candidate and release.
    data : (n_records, n_variables) int
        The confidential records.
    released : sequence of (m, n_variables) int
        The releases, independent given the data.
    rows : (n,) int
        The record that is changed.
    candidates : (n, support_size, n_variables) int
        What it is changed to.

    Returns
    -------
    (n, support_size) float64

    Raises
    ------
    ValueError
        If a synthesizer gives a log probability that is NaN or plus infinity.
    """
    if isinstance(synthesizer, Trees):
        return of_trees(synthesizer, released, rows, candidates)[0]
    changed = np.array(data)
    found = np.empty(candidates.shape[:2])
    with progress(found.size, "changed records") as bar:
        for row, support, values in zip(rows, candidates, found, strict=True):
            truth = changed[row].copy()
            for i, candidate in enumerate(support):
                changed[row] = candidate
                values[i] = sum(synthesizer.log_prob(table, changed) for table in released)
            changed[row] = truth
            bar.update(len(support))
    if np.isnan(found).any() or np.isposinf(found).any():
        raise ValueError(
            f"{type(synthesizer).__name__}.log_prob returns NaN or infinity; it must return the "
            "logarithm of a probability"
        )
    return found
