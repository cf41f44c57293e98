"""An original, a release and a holdout, coded alike, and their records counted by cell.

A cell is a combination of values of some columns. Records are numbered once for each
set of columns, and every question uses the same numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from srlib.arrays import Bools, Floats, Ints
from srlib.data.codes import Codes, row_numbers

# The exact numbers of binned columns, NaN where missing, by column and for each table.
type Numbers = Mapping[int, Sequence[Floats]]


@dataclass(frozen=True)
class Cells:
    """The cell of each record, and the records of each cell.

    Attributes
    ----------
    original, released, holdout : (n,), (m,) and (h,) int
        The cell of each record; h is 0 without a holdout.
    """

    original: Ints
    released: Ints
    holdout: Ints

    @cached_property
    def people(self) -> Ints:
        """The cells of the original's and the holdout's records, (n + h,)."""
        return np.concatenate([self.original, self.holdout])

    # Cells are numbered in this order, so that those of the holdout alone are last.

    @cached_property
    def n_original(self) -> Ints:
        """Original records of each cell of the original or the release, (n_cells,)."""
        return np.bincount(self.original, minlength=self.released.max() + 1)

    @cached_property
    def n_released(self) -> Ints:
        """Released records of each cell of the original or the release, (n_cells,)."""
        return np.bincount(self.released, minlength=self.original.max() + 1)

    @property
    def is_unique(self) -> Bools:
        """Cells of a single original record, the sample uniques, (n_cells,)."""
        return self.n_original == 1

    @property
    def in_files(self) -> Ints:
        """The cells of the original's and the release's records, (n + m,)."""
        return np.concatenate([self.original, self.released])

    @property
    def first(self) -> Ints:
        """The first of these records in each cell, (n_cells,)."""
        _, first = np.unique(self.in_files, return_index=True)
        return first


@dataclass(frozen=True)
class Files:
    """An original, one release of it and, if there is one, a holdout.

    Attributes
    ----------
    original, released : (n, n_variables) and (m, n_variables) int
        Codes from 0.
    n_levels : sequence of int
        Number of levels of each variable.
    holdout : (h, n_variables) int, optional
        People of the same population who are not in the original.
    numbers : dict
        Exact numbers of binned columns, by column: of the original, the release and, if
        there is one, the holdout.
    """

    original: Codes
    released: Codes
    n_levels: Sequence[int]
    holdout: Codes | None = None
    numbers: Numbers = field(default_factory=dict)
    _cells: dict[tuple[bool, tuple[int, ...]], Cells] = field(
        default_factory=dict, init=False
    )

    @cached_property
    def tables(self) -> list[Codes]:
        """The original, the release, and the holdout, which may be empty."""
        holdout = self.original[:0] if self.holdout is None else self.holdout
        return [self.original, self.released, holdout]

    def cells(
        self, columns: Iterable[int] | None = None, *, exact: bool = False
    ) -> Cells:
        """Number the records by the values of some columns, or of all.

        With `exact`, binned columns have their exact numbers.
        """
        chosen = tuple(range(len(self.n_levels)) if columns is None else columns)
        if (exact, chosen) not in self._cells:
            column_of = self.exact if exact else self.binned
            codes = np.array([column_of(k) for k in chosen])  # (n_columns, n + m + h)
            ids = row_numbers(codes.T, codes.max(axis=1) + 1)
            ends = np.cumsum([len(table) for table in self.tables])
            self._cells[exact, chosen] = Cells(*np.split(ids, ends[:-1]))
        return self._cells[exact, chosen]

    def binned(self, column: int) -> Ints:
        """Return a column of all tables, one below the other, (n + m + h,)."""
        return np.concatenate(
            [table[:, column].astype(np.intp) for table in self.tables]
        )

    def exact(self, column: int) -> Ints:
        """Return the same, with an id for each exact number in place of its bin."""
        return self._exact_ids.get(column, self.binned(column))

    @cached_property
    def _exact_ids(self) -> dict[int, Ints]:
        exact_ids = {}
        for column, numbers in self.numbers.items():
            _, ids = np.unique(np.concatenate(numbers), return_inverse=True)
            # Missing numbers, such as "not applicable", are distinguished by their bin.
            pairs = np.column_stack([ids, self.binned(column)])
            exact_ids[column] = row_numbers(pairs, pairs.max(axis=0) + 1)
        return exact_ids
