"""Checks of arguments; messages name the argument, its value and the allowed values.

Values are numbers or arrays. All elements of an array must pass; the message shows the
first that does not. NaN fails every check.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np


def _check(
    values: Mapping[str, Any], passes: Callable[[Any], Any], requirement: str
) -> None:
    """Raise a ValueError unless all values, by name of the argument, pass."""
    for name, value in values.items():
        array = np.atleast_1d(value)
        try:
            wrong = array[~passes(array)]
        except TypeError:
            raise ValueError(f"{name} is {value!r}; it must be a number") from None
        if wrong.size:
            raise ValueError(f"{name} is {wrong[0]}; it must {requirement}")


def at_least(least: float, **values: Any) -> None:
    """Raise a ValueError unless all values, by name, are `least` or more."""
    _check(values, lambda x: x >= least, f"be {least} or more")


def whole(**values: Any) -> None:
    """Raise a ValueError unless all values, by name, are integers."""
    for name, value in values.items():
        if np.asarray(value).dtype.kind not in "iu":
            raise ValueError(f"{name} is {value!r}; it must be a whole number")


def finite(**values: Any) -> None:
    """Raise a ValueError unless all values, by name, are finite."""
    _check(values, np.isfinite, "be finite")


def positive(**values: Any) -> None:
    """Raise a ValueError unless all values, by name, are positive and finite."""
    _check(values, lambda x: np.isfinite(x) & (x > 0), "be positive and finite")


def inner_probability(**values: Any) -> None:
    """Raise a ValueError unless all values, by name, lie in (0, 1)."""
    _check(values, lambda x: (x > 0) & (x < 1), "lie in (0, 1)")


def within(low: float, high: float, **values: Any) -> None:
    """Raise a ValueError unless all values, by name, lie in `low` to `high`."""
    _check(values, lambda x: (x >= low) & (x <= high), f"lie in {low} to {high}")


def positive_range(low: float, high: float) -> None:
    """Raise a ValueError unless 0 < low < high."""
    if not 0 < low < high:
        raise ValueError(
            f"low is {low} and high is {high}; they must be positive, in this order"
        )


def quoted(values: Iterable[str], limit: int = 10) -> str:
    """Return the first values in quotes, and the number of the others."""
    return listed(list(values), limit, repr)


def printable(name: object) -> str:
    """Return a name, in quotes if a terminal cannot show its characters."""
    text = str(name)
    return text if text.isprintable() else repr(text)


def duplicates(texts: Iterable[str]) -> list[str]:
    """Return the texts that occur more than once."""
    return [text for text, count in Counter(texts).items() if count > 1]


def rows_where(mask: Any, index: Any) -> str:
    """Return the index labels of a mask's first rows, after the name of the index."""
    labels = index[mask]
    noun = str(index.name or "row")
    if len(labels) > 1:
        noun += "s"
    return f"{noun} {listed(labels, 5, str)}"


def listed(
    values: Any,
    limit: int,
    text: Callable[[Any], str],
) -> str:
    """Return the first values as text, and the number of the others."""
    more = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(map(text, values[:limit])) + more
