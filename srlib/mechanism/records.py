"""A mechanism as a synthesizer of records: their counts are its rows and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from srlib.arrays import Generator, Ints
from srlib.mechanism.core import Mechanism, sample
from srlib.mechanism.families import log_multinomial


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
    >>> log_prob = synthesizer.log_prob(np.array([[1]]), data)
    >>> round(float(np.exp(log_prob)), 3)  # (2 + 1) / (3 + 2)
    0.6
    """

    mechanism: Mechanism
    n_levels: Sequence[int] | Ints

    def __post_init__(self) -> None:
        n_cells = np.prod(self.n_levels)
        for tables in (self._inputs, self._outputs):
            if tables.shape[1] != n_cells:
                raise ValueError(
                    f"n_levels is {list(self.n_levels)}, which makes {n_cells} cells; "
                    f"it must make {tables.shape[1]}, like the mechanism"
                )

    @cached_property
    def _inputs(self) -> Ints:
        return _cell_counts(self.mechanism.inputs)

    @cached_property
    def _outputs(self) -> Ints:
        return _cell_counts(self.mechanism.outputs)

    def _position(
        self,
        codes: Ints,
        tables: Ints,
        argument: str,
    ) -> int:
        """Return the position of the table with the counts of these records."""
        by_variable = tuple(np.asarray(codes).T)
        cells = np.ravel_multi_index(by_variable, tuple(self.n_levels))
        counts = np.bincount(cells, minlength=tables.shape[1])
        positions = np.flatnonzero((tables == counts).all(axis=1))
        if len(positions) == 0:
            raise ValueError(
                f"{argument} has counts {counts.tolist()}; the mechanism has no such "
                "row"
            )
        return int(positions[0])

    def row_of(self, data: Ints) -> int:
        """Return the row of the mechanism with the counts of the data."""
        return self._position(data, self._inputs, "data")

    def release(
        self,
        data: Ints,
        *,
        rng: Generator,
    ) -> Ints:
        """Draw a release of n_s records, (n_s, n_variables)."""
        column = sample(self.mechanism, self.row_of(data), 1, rng=rng)[0]
        counts = self._outputs[column]
        cells = np.repeat(np.arange(len(counts)), counts)
        shuffled = rng.permutation(cells)
        return np.column_stack(np.unravel_index(shuffled, tuple(self.n_levels)))

    def log_prob(self, released: Ints, data: Ints) -> float:
        """Return the log probability of the released records in their order."""
        log_prob = self.mechanism.row(self.row_of(data))
        column = self._position(released, self._outputs, "released")
        log_orders = log_multinomial(self._outputs[column])
        return float(log_prob[column] - log_orders)


def _cell_counts(names: Sequence) -> Ints:
    """Return the counts of cells that name rows or columns, (n, n_cells)."""
    counts = np.asarray(names)
    if counts.ndim == 2:
        return counts
    return np.column_stack([counts.max() - counts, counts])
