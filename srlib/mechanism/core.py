"""The table of log p(output | data set): rows, columns, neighbors, and draws from a row.

Each row is a possible confidential data set and each column a possible release.
Neighbors are rows that differ in one record. Differential privacy compares neighboring
rows over all columns (`privacy`). Statistical disclosure risk applies Bayes' rule in
one column, that of the observed release, over the rows that the intruder considers
possible (`bayes`).

A table is given as values or computed in blocks when it is read, so a table with 4e8
entries needs a few megabytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from srlib import checks

BLOCK_ENTRIES = 1 << 20
BLOCK_WIDTH = 4096
Rows = NDArray[np.int64]
Block = Callable[[Rows, Rows], NDArray[np.float64]]


@dataclass(frozen=True)
class Mechanism:
    """A table of log p(output | data set) with its neighbor relation.

    Parameters
    ----------
    block : callable
        Maps row and column positions, (r,) and (c,) int, to log probabilities, (r, c)
        float; `from_table` makes it from values.
    n_inputs, n_outputs : int
        Numbers of rows and columns, 1 or more each.
    neighbors : (n_pairs, 2) int
        Pairs of rows whose data sets differ in one record. Each pair is listed once, in
        either order.
    inputs, outputs : sequence, optional
        Names of the rows and columns; by default their positions.

    Examples
    --------
    >>> from srlib.mechanism import exact_epsilon
    >>> keep = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response on one bit
    >>> response = Mechanism.from_table(np.log(keep), [(0, 1)])
    >>> round(exact_epsilon(response).value, 4)  # log 3
    1.0986
    """

    block: Block
    n_inputs: int
    n_outputs: int
    neighbors: NDArray[np.int64]
    inputs: Sequence = field(default=(), repr=False)
    outputs: Sequence = field(default=(), repr=False)

    def __post_init__(self) -> None:
        checks.at_least(1, n_inputs=self.n_inputs, n_outputs=self.n_outputs)
        if len(self.inputs) == 0:
            object.__setattr__(self, "inputs", range(self.n_inputs))
        if len(self.outputs) == 0:
            object.__setattr__(self, "outputs", range(self.n_outputs))
        if len(self.inputs) != self.n_inputs:
            raise ValueError(
                f"inputs has {len(self.inputs)} names; it must have {self.n_inputs}"
            )
        if len(self.outputs) != self.n_outputs:
            raise ValueError(
                f"outputs has {len(self.outputs)} names; it must have {self.n_outputs}"
            )
        pairs = np.asarray(self.neighbors, dtype=np.int64).reshape(-1, 2)
        strange = ((pairs < 0) | (pairs >= self.n_inputs)).any(axis=1) | (
            pairs[:, 0] == pairs[:, 1]
        )
        if strange.any():
            raise ValueError(
                f"neighbors has the pair {pairs[strange][0].tolist()}; a pair must be two "
                f"different rows in 0 to {self.n_inputs - 1}"
            )
        object.__setattr__(self, "neighbors", pairs)

    @classmethod
    def from_table(
        cls,
        log_prob: ArrayLike,
        neighbors: ArrayLike,
        inputs: Sequence = (),
        outputs: Sequence = (),
    ) -> "Mechanism":
        """Return a mechanism with the given log probabilities, (n_inputs, n_outputs).

        The probabilities of each row must sum to one, within 1e-9. The other arguments
        are those of the class.
        """
        table = np.array(log_prob, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(
                f"log_prob has shape {table.shape}; it must be (n_inputs, n_outputs)"
            )
        totals = (
            np.exp(logsumexp(table, axis=1)) if table.size else np.zeros(len(table))
        )
        wrong = np.flatnonzero(~(np.abs(totals - 1) <= 1e-9))
        if wrong.size:
            raise ValueError(
                f"row {wrong[0]} of log_prob has probabilities that sum to {totals[wrong[0]]:.9g}; "
                "they must sum to 1"
            )
        pairs = np.asarray(neighbors, dtype=np.int64)
        n_inputs, n_outputs = table.shape
        return cls(
            lambda r, c: table[np.ix_(r, c)],
            n_inputs,
            n_outputs,
            pairs,
            inputs,
            outputs,
        )

    def row(self, index: int) -> NDArray[np.float64]:
        """Return the log probabilities of all outputs given one data set, (n_outputs,)."""
        return self.block(np.array([index]), np.arange(self.n_outputs))[0]

    def column(self, index: int) -> NDArray[np.float64]:
        """Return the log probabilities of one output given each data set, (n_inputs,)."""
        return self.block(np.arange(self.n_inputs), np.array([index]))[:, 0]


def count_neighbors(n: int) -> NDArray[np.int64]:
    """Return the replace-one (bounded) neighbors among the counts 0 to n: consecutive counts."""
    checks.at_least(1, n=n)
    return np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)


def table_neighbors(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the replace-one (bounded) neighbors: tables that differ in the cell of one record.

    Tables are counts, (n_tables, K), all different. The result has their positions,
    (n_pairs, 2), with each pair once.
    """
    cell = np.eye(tables.shape[1], dtype=np.int64)
    steps = [after - before for i, before in enumerate(cell) for after in cell[i + 1 :]]
    position = {tuple(table): i for i, table in enumerate(tables.tolist())}
    pairs = [
        (i, position[moved])
        for step in steps
        for i, moved in enumerate(map(tuple, (tables + step).tolist()))
        if moved in position
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def log_difference(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a - b for log probabilities, and zero where both probabilities are zero."""
    with np.errstate(invalid="ignore"):
        difference = a - b
    difference[np.isnan(difference)] = 0.0
    return difference


def sample(
    mechanism: Mechanism, row: int, size: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw outputs of the mechanism given one data set; return their positions, (size,)."""
    cumulative = np.cumsum(np.exp(mechanism.row(row)))
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return drawn.astype(np.int64)
