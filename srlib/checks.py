"""Checks of arguments; messages name the argument, its value and the allowed values.

Values are numbers or arrays. All elements of an array must pass. NaN fails every check.
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

    The message shows the first value of an array that does not.
    """
    for name, value in values.items():
        array = np.atleast_1d(value)
        outside = ~((array >= low) & (array <= high))
        if outside.any():
            raise ValueError(
                f"{name} is {array[outside][0]}; it must lie in {low} to {high}"
            )


def positive_range(low: float, high: float) -> None:
    """Raise a ValueError unless 0 < low < high."""
    if not 0 < low < high:
        raise ValueError(
            f"low is {low} and high is {high}; they must be positive, in this order"
        )


def require(condition: object, problem: str) -> None:
    """Raise a ValueError with this message unless the condition is true."""
    if not condition:
        raise ValueError(problem)


def quoted(values: Iterable[str], limit: int = 10) -> str:
    """Return the first values in quotes, and the number of the others."""
    values = list(values)
    more = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(map(repr, values[:limit])) + more


def printable(name: object) -> str:
    """Return a name, in quotes if it contains characters that a terminal cannot show."""
    text = str(name)
    return text if text.isprintable() else repr(text)


def duplicates(texts: Iterable[str]) -> list[str]:
    """Return the texts that occur more than once."""
    return [text for text, count in Counter(texts).items() if count > 1]


def rows_where(mask: Any, index: Any, limit: int = 5) -> str:
    """Return the index labels of the first rows of a mask, after the name of the index."""
    rows = index[mask]
    noun = f"{index.name or 'row'}{'s' if len(rows) > 1 else ''}"
    more = f" and {len(rows) - limit:,} more" if len(rows) > limit else ""
    return f"{noun} {', '.join(map(str, rows[:limit]))}{more}"
