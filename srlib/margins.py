"""Synthesizers that draw each variable from its margin, independently of the others.

Their density is a product over variables, and of each variable it is known from a sum or an
integral over one number, so that a column of the table costs next to nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

Counts = NDArray[np.integer]


class Terms(NamedTuple):
    """One variable's probability: the sum of exp(log_weights + sum over levels of `of_counts`).

    Attributes
    ----------
    log_weights : (n_terms,) float64
        A single one where the probability is a product over levels.
    of_counts : callable
        From counts of the data, (n_levels,), to what each level contributes, (n_levels, n_terms).
    """

    log_weights: NDArray[np.float64]
    of_counts: Callable[[Counts], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Margins(ABC):
    """Synthesizer that draws each variable from level probabilities of its own.

    Parameters
    ----------
    n_levels : (n_variables,) int
        Number of levels of each variable.
    """

    n_levels: NDArray[np.integer]

    @abstractmethod
    def shares(self, counts: Counts, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the level probabilities of a variable with these counts in the data."""

    @abstractmethod
    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability of released records, in their order, with these counts.

        Parameters
        ----------
        counts, released : (n_levels,) int
            Of the data, which are changed in one record, and of the release.
        """

    def release(self, data: NDArray[np.integer], *, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw as many records as the data have."""
        columns = [
            rng.choice(len(counts), size=len(data), p=self.shares(counts, rng=rng))
            for counts in self._counts(data)
        ]
        return np.stack(columns, axis=1).astype(np.uint8)

    def log_prob(self, released: NDArray[np.integer], data: NDArray[np.integer]) -> float:
        """Return the log probability of released records, in their order, given the data."""
        total = 0.0
        for counts, shown in zip(self._counts(data), self._counts(released), strict=True):
            log_weights, of_counts = self.terms(counts, shown)
            total += logsumexp(log_weights + of_counts(counts).sum(axis=0))
        return float(total)

    def log_likelihoods(
        self,
        released: Sequence[NDArray[np.integer]],
        data: NDArray[np.integer],
        rows: NDArray[np.integer],
        candidates: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """Compute log p(releases | data with one record changed), exactly.

        Parameters
        ----------
        released : sequence of (m, n_variables) int
            The releases, independent given the data.
        data : (n_records, n_variables) int
            The confidential records.
        rows : (n,) int
            The record that is changed.
        candidates : (n, support_size, n_variables) int
            What it is changed to.

        Returns
        -------
        (n, support_size) float64
        """
        found = np.zeros(candidates.shape[:2])
        of_releases = zip(*(self._counts(table) for table in released), strict=True)
        for k, (counts, shown) in enumerate(zip(self._counts(data), of_releases, strict=True)):
            table = np.sum([_changed(self.terms(counts, each), counts) for each in shown], axis=0)
            found += table[data[rows, k][:, None], candidates[:, :, k]]
        return found

    def _counts(self, codes: NDArray[np.integer]) -> list[NDArray[np.int64]]:
        """Return how often each level of each variable occurs."""
        return [
            np.bincount(column, minlength=n)
            for column, n in zip(codes.T, self.n_levels, strict=True)
        ]


def _changed(terms: Terms, counts: Counts) -> NDArray[np.float64]:
    """Return a variable's log probability for each true level and each that it is changed to.

    Levels that nobody has, which are no truths, have some number in their rows.
    """
    less, same, more = (terms.of_counts(np.maximum(counts + d, 0)) for d in (-1, 0, 1))
    impossible = np.isneginf(same)
    finite = np.where(impossible, 0.0, same)
    # The sum over all levels but the two, where infinities cannot be taken out of a sum.
    others = finite.sum(axis=0) - finite[:, None] - finite
    some = impossible.sum(axis=0) - impossible[:, None].astype(int) - impossible > 0
    changed = np.where(some, -np.inf, others) + less[:, None] + more
    of_table = logsumexp(terms.log_weights + changed, axis=2)
    np.fill_diagonal(of_table, logsumexp(terms.log_weights + same.sum(axis=0)))
    return of_table


@dataclass(frozen=True, eq=False)
class PlugInMargins(Margins):
    """Synthesizer that draws each variable from its shares in the data.

    Examples
    --------
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> round(np.exp(PlugInMargins(np.array([2, 3])).log_prob(data[:1], data)), 3)  # 2/3 times 1/3
    0.222
    """

    def shares(self, counts: Counts, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the shares; nothing is drawn."""
        return counts / counts.sum()

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return a product over levels."""
        n = counts.sum()

        def of_counts(changed: Counts) -> NDArray[np.float64]:
            return xlogy(released, changed / n)[:, None]

        return Terms(np.zeros(1), of_counts)
