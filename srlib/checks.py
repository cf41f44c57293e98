"""Checks of arguments: each message names the argument, its value and what is allowed.

Values are numbers, or arrays all of whose elements must pass. NaN passes none of the checks.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np


def at_least(least: float, **values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, are `least` or more."""
    for name, value in values.items():
        try:
            passed = np.all(np.asarray(value) >= least)
        except TypeError:
            raise ValueError(f"{name} is {value!r}; it must be a number") from None
        if not passed:
            raise ValueError(f"{name} is {value}; it must be {least} or more")


def whole(**values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, are integers."""
    for name, value in values.items():
        if np.asarray(value).dtype.kind not in "iu":
            raise ValueError(f"{name} is {value!r}; it must be a whole number")


def finite(**values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, are finite."""
    for name, value in values.items():
        if not np.isfinite(value).all():
            raise ValueError(f"{name} is {value}; it must be finite")


def positive(**values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, are positive and finite."""
    for name, value in values.items():
        if not (np.isfinite(value) & (np.asarray(value) > 0)).all():
            raise ValueError(f"{name} is {value}; it must be positive and finite")


def inner_probability(**values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, lie in (0, 1)."""
    for name, value in values.items():
        if not np.all((np.asarray(value) > 0) & (np.asarray(value) < 1)):
            raise ValueError(f"{name} is {value}; it must lie in (0, 1)")


def within(low: float, high: float, **values: Any) -> None:
    """Raise a ValueError unless all values, by name of the argument, lie in `low` to `high`.

    Of an array that does not, the message has the first value outside.
    """
    for name, value in values.items():
        array = np.atleast_1d(value)
        outside = ~((array >= low) & (array <= high))
        if outside.any():
            raise ValueError(f"{name} is {array[outside][0]}; it must lie in {low} to {high}")


def positive_range(low: float, high: float) -> None:
    """Raise a ValueError unless 0 < low < high."""
    if not 0 < low < high:
        raise ValueError(f"low is {low} and high is {high}; they must be positive, in this order")


def require(right: object, problem: str) -> None:
    """Raise a ValueError that tells the problem unless all is right."""
    if not right:
        raise ValueError(problem)


def quoted(values: Iterable[str], limit: int = 10) -> str:
    """Quote the first values, and count those left out."""
    values = list(values)
    more = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(map(repr, values[:limit])) + more


def printable(name: object) -> str:
    """Return a name as it is, or quoted where it has what a terminal obeys or cannot show."""
    text = str(name)
    return text if text.isprintable() else repr(text)


def duplicates(texts: Iterable[str]) -> list[str]:
    """Return the texts that occur more than once."""
    return [text for text, count in Counter(texts).items() if count > 1]


def rows_where(mask: Any, index: Any, limit: int = 5) -> str:
    """Name the first rows of a mask by a table's index, whose name says what it counts."""
    found = index[mask]
    noun = f"{index.name or 'row'}{'s' if len(found) > 1 else ''}"
    more = f" and {len(found) - limit:,} more" if len(found) > limit else ""
    return f"{noun} {', '.join(map(str, found[:limit]))}{more}"
