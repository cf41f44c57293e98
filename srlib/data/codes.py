"""Integer codes of records, and numbers and dates in texts."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from srlib.arrays import ArrayLike, Ints
from srlib.checks import quoted, rows_where

# Categorical records, (n, n_variables); variable k has levels 0 to n_levels[k] - 1.
Codes = Ints
# Number of levels of each variable, (n_variables,).
Levels = Sequence[int] | Ints
MISSING = -1
OUTSIDE = -2  # of a value that is no level
AMBIGUOUS = -3  # of a value that matches several levels
# Texts that mean a missing value, unless a variable declares them as levels.
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})
_WHOLE = re.compile(r"[+-]?\d+(\.0+)?")
_WITH_ZEROS = re.compile(r"\A([+-]?\d+)(?:\.0+|(\.\d*?[1-9])0*)\Z")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_EPOCH = datetime(1970, 1, 1)


def cell_numbers(codes: Codes, n_levels: Levels) -> Ints:
    """Return the lexicographic position of each row among all combinations of levels.

    ``numpy.unravel_index`` gives the codes back. A table without variables has a single
    cell.
    """
    # A constant first variable, for tables that have no other.
    constant = np.zeros(len(codes), np.int64)
    columns = np.asarray(codes).T
    return np.ravel_multi_index((constant, *columns), (1, *n_levels))


def row_numbers(codes: Codes, n_levels: Levels) -> Ints:
    """Return the number of each row's combination, in order of first occurrence.

    A row is one integer in mixed radix. Before that would overflow int64, the columns
    joined so far and the next column are numbered anew, with no more numbers than there
    are rows.
    """
    joined = np.zeros(len(codes), np.int64)  # (n,)
    size = 1
    for column, n in zip(codes.T, map(int, n_levels), strict=True):
        if size * n >= 2**63:
            joined, joined_values = pd.factorize(joined)
            column, values = pd.factorize(column)
            size = len(joined_values)
            n = len(values)
        joined = joined * n + column
        size *= n
    return pd.factorize(joined)[0]


def distinct(codes: ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Return the distinct rows in order, their counts, and each row's position in them.

    With ``combinations, counts, inverse = distinct(codes)``, ``combinations[inverse]``
    is ``codes``, and the counts sum to the number of rows.
    """
    codes = np.asarray(codes)
    n_levels = codes.max(axis=0, initial=0).astype(np.int64) + 1
    numbers = row_numbers(codes, n_levels)
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    combinations = codes[first]
    # The last key of lexsort is the primary one.
    order = np.lexsort((first, *combinations.T[::-1]))
    return combinations[order], counts[order], np.argsort(order)[numbers]


def factorize_texts(column: pd.Series) -> tuple[Ints, list[str]]:
    """Return each value's position among the distinct texts, -1 if NaN, and these."""
    ids, values = pd.factorize(column)
    return ids, [str(value).strip() for value in values]


def distinct_texts(column: pd.Series) -> set[str]:
    """Return a column's distinct values as texts, without missing values."""
    return {*factorize_texts(column)[1]} - MISSING_TEXTS


def encode_column(
    column: pd.Series,
    codes_of: Callable[[list[str]], list[int]],
) -> tuple[Codes, str]:
    """Return a column's codes, and the values outside the levels with their rows."""
    ids, texts = factorize_texts(column)
    # NaN, whose id is -1, is coded like an empty text.
    codes = np.array(codes_of([*texts, ""]))[ids]  # (n,)
    is_outside = codes <= OUTSIDE
    if not is_outside.any():
        return codes, ""
    outside = dict.fromkeys(texts[i] for i in pd.unique(ids[is_outside]))
    return codes, f"{quoted(outside)} ({rows_where(is_outside, column.index)})"


def replace_texts(column: pd.Series, new_texts: Mapping[str, str]) -> pd.Series:
    """Return a column as text, with new texts in place of some."""
    ids, texts = factorize_texts(column)
    replaced = [new_texts.get(text, text) for text in texts]
    # NaN, whose id is -1, becomes None.
    values = np.array([*replaced, None], object)
    return pd.Series(values[ids], column.index, dtype=object)


def parse_number(text: str) -> float:
    """Return a text's number; NaN if it is not one, like "1,200", or not finite."""
    if not _NUMBER.fullmatch(text):
        return np.nan
    value = float(text)
    return value if np.isfinite(value) else np.nan


def parse_days(text: str) -> float:
    """Return the days from 1970-01-01 to an ISO date or time; NaN for other texts."""
    if not _ISO_DATE.fullmatch(text):
        return np.nan
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    if moment.tzinfo:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH) / timedelta(days=1)


def are_dates(texts: Collection[str]) -> bool:
    """Return whether there are texts and all of them are ISO dates."""
    return bool(texts) and not np.isnan(list(map(parse_days, texts))).any()


def iso_date(day: float) -> str:
    """Return the ISO date of days from 1970-01-01, with a time unless that is 0:00."""
    moment = _EPOCH + timedelta(days=day)
    if day % 1:
        return moment.isoformat(" ", "seconds")
    return moment.date().isoformat()


def strip_zeros(text: str) -> str:
    """Return a number without trailing zeros, "1" for "1.0"; other texts unchanged."""
    return _WITH_ZEROS.sub(r"\1\2", text)


def observed_levels(column: pd.Series) -> tuple[str, ...]:
    """Return a column's distinct values, without missing ones, in order."""
    texts = distinct_texts(column)
    if all(map(_WHOLE.fullmatch, texts)):
        texts = set(map(strip_zeros, texts))
    levels = sorted(texts)
    if not np.isnan(list(map(parse_number, levels))).any():
        levels.sort(key=parse_number)
    return tuple(levels)
