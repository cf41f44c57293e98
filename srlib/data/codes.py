"""Tables of integer codes: numbers for cells and for rows, and distinct combinations."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.checks import require

# Categorical records, (n, n_variables): the levels of variable k are 0 to n_levels[k] - 1.
Codes = NDArray[np.integer]
# Number of levels of each variable, (n_variables,).
Levels = Sequence[int] | NDArray[np.integer]
# Codes of missing values and of those outside the levels.
MISSING, OUTSIDE = -1, -2
# Text that stands for a missing value, unless a variable declares it as a level.
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})


def cell_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.int64]:
    """Return the lexicographic position of each row among all combinations of levels.

    ``numpy.unravel_index`` gives the codes back. A table without variables has a single cell.
    """
    sizes = [int(d) for d in n_levels]
    n_cells = math.prod(sizes)
    require(n_cells < 2**63, f"the table has {n_cells:,} cells; fewer than 2**63 have numbers")
    position = np.zeros(len(codes), np.int64)
    for k, (column, d) in enumerate(zip(np.asarray(codes).T, sizes, strict=True)):
        low, high = (column.min(), column.max()) if len(column) else (0, 0)
        runs = f"column {k} of codes runs from {low} to {high}"
        require(low >= 0 and high < d, f"{runs}; it must lie in 0 to {d - 1}")
        position = position * d + column.astype(np.int64)
    return position


def row_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.intp]:
    """Number the rows in the order in which they first occur, equal rows alike.

    A row is one integer in mixed radix. Where that would leave int64, the columns joined until
    then and the next column are each numbered first, with no more numbers than there are rows.
    """
    joined, size = np.zeros(len(codes), np.int64), 1
    for column, n in zip(codes.T, map(int, n_levels), strict=True):
        if size * n >= 2**63:
            (joined, before), (column, values) = pd.factorize(joined), pd.factorize(column)
            size, n = len(before), len(values)
        joined, size = joined * n + column, size * n
    return pd.factorize(joined)[0]


def distinct(codes: ArrayLike) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct combinations of a table, how often each occurs, and where.

    Parameters
    ----------
    codes : (n, n_variables) int
        Codes from 0.

    Returns
    -------
    combinations : (n_distinct, n_variables) int
        In lexicographic order, in the type of ``codes``.
    counts : (n_distinct,) int64
        Number of records that have each; they sum to n.
    inverse : (n,) int64
        ``combinations[inverse]`` is ``codes``.
    """
    codes = np.asarray(codes)
    n_levels = (codes.max(axis=0, initial=0).astype(np.int64) + 1).tolist()
    if math.prod(n_levels) >= 2**63:
        rows, inverse, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
        return rows, counts, inverse
    # One integer a record sorts many times faster than a row of a table.
    numbers = cell_numbers(codes, n_levels)
    keys, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    combinations = np.empty((len(keys), codes.shape[1]), codes.dtype)
    combinations[inverse] = codes
    return combinations, counts, inverse


def factor(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return for each value the position of its text, -1 where NaN, and the distinct texts."""
    ids, values = pd.factorize(column)
    return ids, [str(value).strip() for value in values]


def coded(
    column: pd.Series, codes_of: Callable[[list[str]], list[int]], missing: int = MISSING
) -> tuple[NDArray[np.int64], list[str], str]:
    """Return a column's codes, its texts, and which of these are outside the levels, and where."""
    ids, texts = factor(column)
    of_texts = codes_of(texts)
    codes = np.array([*of_texts, missing])[ids]
    values = dict.fromkeys(t for t, code in zip(texts, of_texts, strict=True) if code == OUTSIDE)
    where = rows_where(codes == OUTSIDE, column.index)
    return codes, texts, f"{shown(values)} ({where})" if values else ""


def rows_where(mask: NDArray[np.bool_], index: pd.Index, limit: int = 5) -> str:
    """Name the first rows of a mask by the index, whose name says what it counts."""
    found = index[mask]
    noun = f"{index.name or 'row'}{'s' if len(found) > 1 else ''}"
    more = f" and {len(found) - limit:,} more" if len(found) > limit else ""
    return f"{noun} {', '.join(map(str, found[:limit]))}{more}"


def shown(values: Iterable[str], limit: int = 10) -> str:
    """Quote the first values, and count those left out."""
    values = list(values)
    more = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(map(repr, values[:limit])) + more


def repeated(texts: Iterable[str]) -> list[str]:
    """Return the texts that occur more than once."""
    return [text for text, count in Counter(texts).items() if count > 1]
