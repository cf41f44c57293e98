"""Numeric variables as categories: where numbers are cut, and what the pieces are called."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_PIECES = 100
"""Pieces that a numeric variable is cut into at most."""

_GAP = "' \u00a0\u202f"
_GROUPED = re.compile(rf"[+-]?\d{{1,3}}([,{_GAP}]\d{{3}})+(\.\d+)?")
_COMMA = re.compile(rf"[+-]?(\d+|\d{{1,3}}([.{_GAP}]\d{{3}})+),\d+")
_POINTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def number(text: str) -> float:
    """Return the number that a text is, NaN where it is none or not finite.

    Examples
    --------
    >>> number("1200"), number("-0.5"), number("N"), number("1_000")
    (1200.0, -0.5, nan, nan)
    """
    value = float(text) if _NUMBER.fullmatch(text) else np.nan
    return value if np.isfinite(value) else np.nan


def numbers_in(texts: Sequence[str]) -> list[float]:
    """Return the numbers that the texts of one column are, NaN where one is none.

    Beside what `number` reads, signs of money and percent are left out, and digits may be in
    groups of three, or have a decimal comma. A comma before three digits groups them, unless more
    of the column's texts have commas that do not.

    Examples
    --------
    >>> numbers_in(["1,200", "$1,250,000.5", "7 %", "N"])
    [1200.0, 1250000.5, 7.0, nan]
    >>> numbers_in(["1,200", "0,5", "1.250,75", "1.250"])
    [1.2, 0.5, 1250.75, 1250.0]
    """
    bare = [re.sub("[$€£%]", "", text).strip() for text in texts]
    grouped, comma = (sum(map(bool, map(of.fullmatch, bare))) for of in (_GROUPED, _COMMA))
    if comma > grouped:  # the comma is the decimal point, and points and commas change places
        bare = [
            text.translate(str.maketrans(",.", ".,"))
            if _COMMA.fullmatch(text) or _POINTS.fullmatch(text)
            else text
            for text in bare
        ]
    plainly = [re.sub(f"[,{_GAP}]", "", t) if _GROUPED.fullmatch(t) else t for t in bare]
    return [number(text) for text in plainly]


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

    def at(rank: float) -> int:
        return int(np.searchsorted(up_to, rank, side="right").clip(max=len(value) - 1))

    starts = {int(i) for i in np.flatnonzero(heavy)} | {int(i) + 1 for i in np.flatnonzero(heavy)}
    edges = {_roundest(value[i - 1], value[i], value[i]) for i in starts if 0 < i < len(value)}
    for j in range(1, bins):
        low, middle, high = (at((j + shift) * share) for shift in (-0.25, 0, 0.25))
        if not heavy[low : high + 1].any() and middle > 0:
            edges.add(_roundest(value[max(low - 1, 0)], value[middle], value[high]))
    # Two cuts between the same neighbors would leave a piece without records.
    rising = np.array(sorted(edges))
    _, first = np.unique(np.searchsorted(value, rising), return_index=True)
    return tuple(rising[first].tolist())


def _roundest(above: float, near: float, most: float) -> float:
    """Return the number with the fewest digits in (above, most], the nearest of these."""
    for exponent in range(int(np.floor(np.log10(max(abs(above), abs(most))))) + 1, -18, -1):
        step = 10.0**exponent
        for multiple in (step, step / 2):
            candidates = np.round(near / multiple + np.array([0, -1, 1])) * multiple
            candidates = np.round(candidates, max(0, 1 - exponent))  # 6 * 0.1 is above 0.6
            inside = candidates[(candidates > above) & (candidates <= most)]
            if len(inside):
                return float(inside[0])
    return float(most)


def even_edges(values: ArrayLike, width: float) -> tuple[float, ...]:
    """Cut numbers at the multiples of a width that lie between the smallest and the largest.

    Parameters
    ----------
    values : (n,) float
        Numbers, one or more.
    width : float
        Above 0.

    Raises
    ------
    ValueError
        If there would be more than `MOST_PIECES` pieces.

    Examples
    --------
    >>> even_edges([18, 31, 44.5], 10)
    (20.0, 30.0, 40.0)
    """
    value = np.asarray(values, dtype=np.float64)
    low, high = np.floor(value.min() / width), np.floor(value.max() / width)
    if not high - low < MOST_PIECES:
        raise ValueError(
            f"width is {width:g} for numbers from {plain(value.min())!r} to "
            f"{plain(value.max())!r}; that would be {high - low + 1:,.0f} pieces, and "
            f"{MOST_PIECES} are allowed"
        )
    return tuple((np.arange(low + 1, high + 1) * width).tolist())


def rounded_edges(
    values: ArrayLike, decimals: int
) -> tuple[tuple[float, ...], NDArray[np.float64]]:
    """Cut numbers half-way between the rounded ones that occur.

    Parameters
    ----------
    values : (n,) float
        Numbers, one or more.
    decimals : int
        Decimals that are kept; -3 rounds to thousands.

    Returns
    -------
    edges : tuple of float
        Rising.
    rounded : (len(edges) + 1,) float64
        The number that each piece stands for.

    Raises
    ------
    ValueError
        If there would be more than `MOST_PIECES` pieces.
    """
    rounded = np.unique(np.round(np.asarray(values, dtype=np.float64), decimals)) + 0.0
    if len(rounded) > MOST_PIECES:
        raise ValueError(
            f"decimals is {decimals}, which leaves {len(rounded):,} numbers; {MOST_PIECES} are "
            "allowed"
        )
    return tuple(((rounded[1:] + rounded[:-1]) / 2).tolist()), rounded


def piece_names(edges: Sequence[float], whole: bool) -> tuple[str, ...]:
    """Name the pieces that numbers are cut into.

    Parameters
    ----------
    edges : sequence of float
        Rising, one or more; the first number of each piece but the first.
    whole : bool
        Whether all numbers are whole.

    Examples
    --------
    >>> piece_names([0, 10, 11], whole=True)
    ('below 0', '0 to 9', '10', '11 or more')
    >>> piece_names([0.5, 1], whole=False)
    ('below 0.5', '0.5 to below 1', '1 or more')
    """
    texts = [plain(edge) for edge in edges]
    between = []
    for k in range(len(edges) - 1):
        last = edges[k + 1] - 1
        if not whole:
            between.append(f"{texts[k]} to below {texts[k + 1]}")
        else:
            between.append(texts[k] if last <= edges[k] else f"{texts[k]} to {plain(last)}")
    return (f"below {texts[0]}", *between, f"{texts[-1]} or more")


def plain(value: float) -> str:
    """Write a number without an exponent and without zeros at its end.

    Examples
    --------
    >>> plain(1200000.0), plain(0.25), plain(-0.0)
    ('1200000', '0.25', '0')
    """
    return np.format_float_positional(value + 0.0, trim="-")
