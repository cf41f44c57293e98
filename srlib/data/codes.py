"""Tables of integer codes: numbers for cells and for rows, and distinct combinations."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.integer]
"""Categorical records, (n, n_variables): the levels of variable k are 0 to n_levels[k] - 1."""


Levels = Sequence[int] | NDArray[np.integer]
"""Number of levels of each variable, (n_variables,)."""


def cell_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.int64]:
    """Return the lexicographic position of each row among all combinations of levels.

    Parameters
    ----------
    codes : (n, n_variables) int
        Codes from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable. A table without variables has a single cell.

    Returns
    -------
    (n,) int64
        From 0 to the product of `n_levels` - 1; ``numpy.unravel_index`` gives the codes back.

    Raises
    ------
    ValueError
        If a code is out of range, or there are 2**63 cells or more.
    """
    sizes = [int(d) for d in n_levels]
    if math.prod(sizes) >= 2**63:
        raise ValueError(f"the table has {math.prod(sizes):,} cells; fewer than 2**63 have numbers")
    position = np.zeros(len(codes), np.int64)
    for k, (column, d) in enumerate(zip(np.asarray(codes).T, sizes, strict=True)):
        if len(column) and (column.min() < 0 or column.max() >= d):
            raise ValueError(
                f"column {k} of codes runs from {column.min()} to {column.max()}; it must lie in "
                f"0 to {d - 1}"
            )
        position = position * d + column.astype(np.int64)
    return position


def row_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.intp]:
    """Number the rows in the order in which they first occur, equal rows alike.

    A row is one integer in mixed radix. Where that would leave int64, the columns joined until
    then and the next column are each numbered first, with no more numbers than there are rows.

    Parameters
    ----------
    codes : (n, n_variables) int
        Codes from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (n,) int
        From 0 to the number of distinct rows - 1.
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
    keys, inverse, counts = np.unique(
        cell_numbers(codes, n_levels), return_inverse=True, return_counts=True
    )
    combinations = np.empty((len(keys), codes.shape[1]), codes.dtype)
    combinations[inverse] = codes
    return combinations, counts, inverse
