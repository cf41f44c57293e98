"""Numeric variables as categories: where numbers are cut, and what the pieces are called."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srlib.data.codes import MISSING_TEXTS, factor

_WHOLE = re.compile(r"([+-]?\d+)(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def number(text: str) -> float:
    """Return the number that a text is, NaN where it is none or not finite.

    Examples
    --------
    >>> number("1200"), number("-0.5"), number("N"), number("1,200")
    (1200.0, -0.5, nan, nan)
    """
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


def quantile_edges(values: ArrayLike, counts: ArrayLike, bins: int) -> tuple[float, ...]:
    """Cut numbers near quantiles, at round numbers, so that pieces have about as many records.

    Each cut is the roundest number within a quarter of a piece around the quantile, so that cuts
    read well and tell little of single records. A number that has a piece's share of the records
    by itself, as zero among incomes, has a piece of its own.

    Parameters
    ----------
    values : (n,) float
        Distinct numbers.
    counts : (n,) int
        Records that have each, 1 or more.
    bins : int
        Pieces, 2 or more; there are fewer where the numbers are, and more by those of their own.

    Returns
    -------
    tuple of float
        Rising; the smallest number that each piece may have, but for the first piece.

    Examples
    --------
    >>> quantile_edges(range(1000), [1] * 1000, bins=4)
    (200.0, 500.0, 800.0)
    >>> quantile_edges([0, 18, 29, 41, 60], [50, 10, 10, 10, 20], bins=4)
    (10.0, 50.0)
    """
    order = np.argsort(values)
    value = np.asarray(values, dtype=np.float64)[order]
    count = np.asarray(counts)[order]
    up_to = np.cumsum(count)
    share = up_to[-1] / bins
    heavy = count >= share
    starts = {i + shift for i in np.flatnonzero(heavy).tolist() for shift in (0, 1)}
    edges = {_roundest(value[i - 1], value[i], value[i]) for i in starts if 0 < i < len(value)}
    for j in range(1, bins):
        ranks = (np.array([j - 0.25, j, j + 0.25])) * share
        low, middle, high = np.searchsorted(up_to, ranks, side="right").clip(max=len(value) - 1)
        if not heavy[low : high + 1].any() and middle > 0:
            edges.add(_roundest(value[max(low - 1, 0)], value[middle], value[high]))
    # Two cuts between the same neighbors would leave a piece without records.
    rising = np.array(sorted(edges))
    _, first = np.unique(np.searchsorted(value, rising), return_index=True)
    return tuple(rising[first].tolist())


def _roundest(above: float, near: float, most: float) -> float:
    """Return the number with the fewest digits in (above, most], the nearest of these."""
    for exponent in range(int(np.floor(np.log10(max(abs(above), abs(most))))) + 1, -18, -1):
        for multiple in (10.0**exponent, 10.0**exponent / 2):
            candidates = np.round(near / multiple + np.array([0, -1, 1])) * multiple
            candidates = np.round(candidates, max(0, 1 - exponent))  # 6 * 0.1 is above 0.6
            inside = candidates[(candidates > above) & (candidates <= most)]
            if len(inside):
                return float(inside[0])
    return float(most)


def piece_names(edges: Sequence[float], whole: bool) -> tuple[str, ...]:
    """Name the pieces that numbers, all of them whole or not, are cut into at rising edges.

    Examples
    --------
    >>> piece_names([0, 10, 11], whole=True)
    ('below 0', '0 to 9', '10', '11 or more')
    >>> piece_names([0.5, 1], whole=False)
    ('below 0.5', '0.5 to below 1', '1 or more')
    """
    names = [f"below {plain(edges[0])}"]
    for low, end in pairwise(edges):
        last = f" to {plain(end - 1)}" if end - 1 > low else ""
        names.append(plain(low) + (last if whole else f" to below {plain(end)}"))
    return (*names, f"{plain(edges[-1])} or more")


def plain(value: float) -> str:
    """Write a number without an exponent and without zeros at its end.

    Examples
    --------
    >>> plain(1200000.0), plain(0.25), plain(-0.0)
    ('1200000', '0.25', '0')
    """
    return np.format_float_positional(value + 0.0, trim="-")
