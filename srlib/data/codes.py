"""Integer codes: cell and row numbers, distinct combinations, and numbers and dates in texts."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.checks import quoted, rows_where

# Categorical records, (n, n_variables): the levels of variable k are 0 to n_levels[k] -
# 1.
Codes = NDArray[np.integer]
# Number of levels of each variable, (n_variables,).
Levels = Sequence[int] | NDArray[np.integer]
# Codes of missing values, of values outside the levels, and of those that match several
# levels.
MISSING, OUTSIDE, AMBIGUOUS = -1, -2, -3
# Texts that mean a missing value, unless a variable declares them as levels.
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})
_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
_WITH_ZEROS = re.compile(r"([+-]?\d+)(?:\.0+|(\.\d*?[1-9])0*)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_EPOCH = datetime(1970, 1, 1)


def cell_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.int64]:
    """Return the lexicographic position of each row among all combinations of levels.

    ``numpy.unravel_index`` gives the codes back. A table without variables has a single
    cell.
    """
    single = np.zeros(len(codes), np.int64)
    return np.ravel_multi_index((single, *np.asarray(codes).T), (1, *n_levels))


def row_numbers(codes: Codes, n_levels: Levels) -> NDArray[np.intp]:
    """Return a number for each row; equal rows have the same, in order of first occurrence.

    A row is one integer in mixed radix. Before that would overflow int64, the columns
    joined so far and the next column are numbered anew, with no more numbers than there
    are rows.
    """
    joined, size = np.zeros(len(codes), np.int64), 1
    for column, n in zip(codes.T, map(int, n_levels), strict=True):
        if size * n >= 2**63:
            (joined, before), (column, values) = (
                pd.factorize(joined),
                pd.factorize(column),
            )
            size, n = len(before), len(values)
        joined, size = joined * n + column, size * n
    return pd.factorize(joined)[0]


def distinct(
    codes: ArrayLike,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order, their counts, and each row's position.

    With ``combinations, counts, inverse = distinct(codes)``, ``combinations[inverse]``
    is ``codes``, and the counts sum to the number of rows.
    """
    codes = np.asarray(codes)
    numbers = row_numbers(codes, codes.max(axis=0, initial=0).astype(np.int64) + 1)
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    order = np.lexsort((first, *codes[first].T[::-1]))
    return codes[first[order]], counts[order], np.argsort(order)[numbers]


def factorize_texts(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return each value's position among the distinct texts (-1 if NaN), and these texts."""
    ids, values = pd.factorize(column)
    return ids, [str(value).strip() for value in values]


def encode_column(
    column: pd.Series, codes_of: Callable[[list[str]], list[int]]
) -> tuple[Codes, str]:
    """Return a column's codes, and the texts outside the levels with their first rows."""
    ids, texts = factorize_texts(column)
    codes = np.array(codes_of([*texts, ""]))[
        ids
    ]  # NaN, whose id is -1, is coded like an empty text
    outside = codes <= OUTSIDE
    values = dict.fromkeys(texts[i] for i in pd.unique(ids[outside]))
    return (
        codes,
        f"{quoted(values)} ({rows_where(outside, column.index)})" if values else "",
    )


def parse_number(text: str) -> float:
    """Return a text's number; NaN if it is not one, like "1,200", or not finite."""
    value = float(text) if _NUMBER.fullmatch(text) else np.nan
    return value if np.isfinite(value) else np.nan


def parse_days(text: str) -> float:
    """Return the days from 1970-01-01 to an ISO date, also one with a time; NaN for other texts."""
    if not _ISO_DATE.fullmatch(text):
        return np.nan
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    if moment.tzinfo:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH) / timedelta(days=1)


def iso_date(day: float) -> str:
    """Return the ISO date of a number of days from 1970-01-01, with a time if it is not whole."""
    moment = _EPOCH + timedelta(days=day)
    return moment.isoformat(" ", "seconds") if day % 1 else moment.date().isoformat()


def strip_zeros(text: str) -> str:
    """Return a number without trailing zeros, "1" for "1.0", and any other text unchanged."""
    match = _WITH_ZEROS.fullmatch(text)
    return match[1] + (match[2] or "") if match else text


def count_numbers(
    column: pd.Series, *absent: str, number_of: Callable[[str], float] = parse_number
) -> tuple[pd.Series, list[str]]:
    """Return the number of records with each number, increasing, and the texts without one."""
    ids, texts = factorize_texts(column)
    counts = pd.Series(np.bincount(ids[ids >= 0], minlength=len(texts)), texts)
    counts = counts[
        [MISSING_TEXTS.union(absent).isdisjoint({t, strip_zeros(t)}) for t in texts]
    ]
    numbers = np.array([number_of(text) for text in counts.index], np.float64)
    return counts.groupby(numbers).sum(), list(counts.index[np.isnan(numbers)])


def observed_levels(column: pd.Series) -> tuple[str, ...]:
    """Return a column's distinct values without missing ones, in numeric or alphabetic order."""
    texts = set(factorize_texts(column)[1]) - MISSING_TEXTS
    if all(map(_WHOLE.fullmatch, texts)):
        texts = set(map(strip_zeros, texts))
    numeric = not any(np.isnan(parse_number(text)) for text in texts)
    return tuple(sorted(texts, key=lambda text: (numeric and parse_number(text), text)))
