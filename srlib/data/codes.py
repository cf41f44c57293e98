"""Integer codes: numbers for cells and rows, distinct combinations, and what texts stand for."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.checks import require, rows_where, shown

# Categorical records, (n, n_variables): the levels of variable k are 0 to n_levels[k] - 1.
Codes = NDArray[np.integer]
# Number of levels of each variable, (n_variables,).
Levels = Sequence[int] | NDArray[np.integer]
# Codes of missing values and of those outside the levels.
MISSING, OUTSIDE = -1, -2
# Text that stands for a missing value, unless a variable declares it as a level.
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})

_WHOLE = re.compile(r"([+-]?\d+)(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


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
    """Return the distinct rows in lexicographic order, how often each occurs, and where.

    With ``combinations, counts, inverse = distinct(codes)``, ``combinations[inverse]`` is
    ``codes``, and the counts sum to the number of rows.
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
    column: pd.Series, codes_of: Callable[[list[str]], list[int]]
) -> tuple[NDArray[np.int64], list[str], str]:
    """Return a column's codes, its texts, and which of these are outside the levels, and where."""
    ids, texts = factor(column)
    codes = np.array(codes_of([*texts, ""]))[ids]  # NaN, of which the id is -1, is as no text
    outside = codes == OUTSIDE
    values = dict.fromkeys(texts[i] for i in pd.unique(ids[outside]))
    return codes, texts, f"{shown(values)} ({rows_where(outside, column.index)})" if values else ""


def number(text: str) -> float:
    """Return the number that a text is, NaN where it is none, as "1,200", or not finite."""
    value = float(text) if _NUMBER.fullmatch(text) else np.nan
    return value if np.isfinite(value) else np.nan


def whole_number(text: str) -> str:
    """Return "1" for "1.0", and any text that is no whole number as it is."""
    match = _WHOLE.fullmatch(text)
    return match[1] if match else text


def numbers_in(column: pd.Series, *absent: str) -> tuple[dict[float, int], list[str]]:
    """Count the records that have each number, and list the texts that are neither nor absent."""
    ids, texts = factor(column)
    found, others = dict[float, int](), []
    for text, n in zip(texts, np.bincount(ids[ids >= 0]).tolist(), strict=True):
        if MISSING_TEXTS.union(absent).isdisjoint({text, whole_number(text)}):
            if np.isnan(value := number(text)):
                others.append(text)
            else:
                found[value] = found.get(value, 0) + n
    return found, others


def levels_in(column: pd.Series) -> tuple[str, ...]:
    """Return the values of a column but missing ones, in numeric or alphabetic order."""
    texts = set(factor(column)[1]) - MISSING_TEXTS
    if all(map(_WHOLE.fullmatch, texts)):
        texts = set(map(whole_number, texts))
    try:
        return tuple(sorted(texts, key=lambda text: (float(text), text)))
    except ValueError:
        return tuple(sorted(texts))
