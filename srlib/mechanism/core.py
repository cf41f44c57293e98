"""The table of log p(output | data set): rows, columns, neighbors, and draws.

Each row is a possible confidential data set and each column a possible release.
Neighbors are rows that differ in one record. Differential privacy compares neighboring
rows over all columns (`privacy`). Statistical disclosure risk applies Bayes' rule in
one column, that of the observed release, over the rows that the intruder considers
possible (`bayes`).

A table is given as values or computed in blocks when it is read, so a table with 4e8
entries needs a few megabytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from srlib import checks
from srlib.arrays import ArrayLike, Floats, Generator, Ints
from srlib.display import OVERVIEW_ROWS, Overview

BLOCK_ENTRIES = 1 << 20
BLOCK_WIDTH = 4096
Block = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True, repr=False)
class Mechanism(Overview):
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
    neighbors: Ints
    inputs: Sequence = ()
    outputs: Sequence = ()

    def __post_init__(self) -> None:
        checks.at_least(1, n_inputs=self.n_inputs, n_outputs=self.n_outputs)
        sizes = {"inputs": self.n_inputs, "outputs": self.n_outputs}
        for side, size in sizes.items():
            names = getattr(self, side)
            if len(names) not in (0, size):
                raise ValueError(f"{side} has {len(names)} names; it must have {size}")
            object.__setattr__(self, side, names if len(names) else range(size))
        pairs = np.asarray(self.neighbors, int).reshape(-1, 2)
        is_outside = ((pairs < 0) | (pairs >= self.n_inputs)).any(axis=1)
        wrong_pairs = pairs[is_outside | (pairs[:, 0] == pairs[:, 1])]
        if len(wrong_pairs):
            raise ValueError(
                f"neighbors has the pair {wrong_pairs[0].tolist()}; a pair must be two "
                f"different rows in 0 to {self.n_inputs - 1}"
            )
        object.__setattr__(self, "neighbors", pairs)

    def _overview(self) -> tuple:
        rows = np.arange(self.n_inputs)[:OVERVIEW_ROWS]
        columns = np.arange(self.n_outputs)[:OVERVIEW_ROWS]
        sentence = (
            f"Probabilities of {self.n_outputs:,} releases, a column each, given "
            f"{self.n_inputs:,} data sets, a row each."
        )
        return sentence, np.exp(self.block(rows, columns))

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
        table = np.array(log_prob, float)
        if table.ndim != 2:
            raise ValueError(
                f"log_prob has shape {table.shape}; it must be (n_inputs, n_outputs)"
            )
        totals = np.exp(table).sum(axis=1)
        wrong_rows = np.flatnonzero(~(np.abs(totals - 1) <= 1e-9))
        if len(wrong_rows):
            raise ValueError(
                f"row {wrong_rows[0]} of log_prob has probabilities that sum to "
                f"{totals[wrong_rows[0]]:.9g}; they must sum to 1"
            )
        n_inputs, n_outputs = table.shape
        return cls(
            lambda rows, columns: table[np.ix_(rows, columns)],
            n_inputs,
            n_outputs,
            np.asarray(neighbors),
            inputs,
            outputs,
        )

    def row(self, index: int) -> Floats:
        """Return log probabilities of all outputs given one data set, (n_outputs,)."""
        return self.block(np.array([index]), np.arange(self.n_outputs))[0]

    def column(self, index: int) -> Floats:
        """Return log probabilities of one output given each data set, (n_inputs,)."""
        return self.block(np.arange(self.n_inputs), np.array([index]))[:, 0]


def count_neighbors(n: int) -> Ints:
    """Return the replace-one (bounded) neighbors among the counts 0 to n.

    These are the pairs of consecutive counts, (n, 2).
    """
    checks.at_least(1, n=n)
    lower = np.arange(n)
    return np.column_stack([lower, lower + 1])


def table_neighbors(tables: Ints) -> Ints:
    """Return the replace-one (bounded) neighbors: tables in which one record moves.

    Tables are counts, (n_tables, K), all different. The result has their positions,
    (n_pairs, 2), with each pair once.
    """
    position = {tuple(table): i for i, table in enumerate(tables.tolist())}
    one_record = np.eye(tables.shape[1], dtype=int)
    pairs = []
    for before, after in combinations(one_record, 2):
        moved_tables = (tables + after - before).tolist()
        for i, moved in enumerate(map(tuple, moved_tables)):
            if moved in position:
                pairs.append((i, position[moved]))
    return np.array(pairs, int).reshape(-1, 2)


def log_difference(a: Floats, b: Floats) -> Floats:
    """Return a - b for log probabilities, zero where both probabilities are zero."""
    with np.errstate(invalid="ignore"):
        difference = a - b
    difference[np.isnan(difference)] = 0.0
    return difference


def sample(
    mechanism: Mechanism,
    row: int,
    size: int,
    *,
    rng: Generator,
) -> Ints:
    """Draw outputs given one data set; return their positions, (size,)."""
    cumulative = np.cumsum(np.exp(mechanism.row(row)))
    uniform = rng.random(size) * cumulative[-1]
    return np.searchsorted(cumulative, uniform, side="right")
