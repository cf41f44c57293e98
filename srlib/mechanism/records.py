"""A mechanism as a synthesizer of records: their counts are its rows and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from srlib.mechanism.core import Mechanism, sample


@dataclass(frozen=True, eq=False)
class MechanismSynthesizer:
    """A synthesizer of coded records from a mechanism on their counts.

    Records are counted by cell: the combinations of all levels, in lexicographic order.
    The mechanism draws the counts of the release, whose records are then put in random
    order.

    Parameters
    ----------
    mechanism : Mechanism
        Its rows and columns are named by counts of cells, as in
        `dirichlet_multinomial`, or, with two cells, by the count of the second, as in
        `beta_binomial`.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial
    >>> synthesizer = MechanismSynthesizer(beta_binomial(n=3, n_s=1, alpha=1.0), [2])
    >>> data = np.array([[1], [1], [0]])
    >>> round(float(np.exp(synthesizer.log_prob(np.array([[1]]), data))), 3)  # (2 + 1) / (3 + 2)
    0.6
    """

    mechanism: Mechanism
    n_levels: Sequence[int] | NDArray[np.integer]

    def __post_init__(self) -> None:
        n_cells = int(np.prod(self.n_levels))
        for tables in (self._inputs, self._outputs):
            if tables.shape[1] != n_cells:
                raise ValueError(
                    f"n_levels is {list(self.n_levels)}, which makes {n_cells} cells; it must make "
                    f"{tables.shape[1]}, like the mechanism"
                )

    @cached_property
    def _inputs(self) -> NDArray[np.int64]:
        return _counts_of(self.mechanism.inputs)

    @cached_property
    def _outputs(self) -> NDArray[np.int64]:
        return _counts_of(self.mechanism.outputs)

    def _position(
        self, codes: NDArray[np.integer], tables: NDArray[np.int64], name: str
    ) -> int:
        cells = np.ravel_multi_index(tuple(np.asarray(codes).T), tuple(self.n_levels))
        counts = np.bincount(cells, minlength=tables.shape[1])
        found = np.flatnonzero((tables == counts).all(axis=1))
        if not len(found):
            raise ValueError(
                f"{name} has counts {counts.tolist()}; the mechanism has no such row"
            )
        return int(found[0])

    def row_of(self, data: NDArray[np.integer]) -> int:
        """Return the row of the mechanism with the counts of the data."""
        return self._position(data, self._inputs, "data")

    def release(
        self, data: NDArray[np.integer], *, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw a release of n_s records, (n_s, n_variables)."""
        row = self.row_of(data)
        (column,) = sample(self.mechanism, row, 1, rng=rng)
        counts = self._outputs[column]
        cells = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        return np.stack(np.unravel_index(cells, tuple(self.n_levels)), axis=1)

    def log_prob(
        self, released: NDArray[np.integer], data: NDArray[np.integer]
    ) -> float:
        """Return the log probability of the released records in their order, given the data."""
        row = self.row_of(data)
        column = self._position(released, self._outputs, "released")
        counts = self._outputs[column]
        orders = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
        return float(
            self.mechanism.block(np.array([row]), np.array([column]))[0, 0] - orders
        )


def _counts_of(names: Sequence) -> NDArray[np.int64]:
    """Return the counts of cells that name rows or columns, (n, n_cells)."""
    counts = np.asarray(names)
    return (
        counts
        if counts.ndim == 2
        else np.stack([counts.max() - counts, counts], axis=1)
    )
