"""What all answers are counted with: equal rows, how often they occur, and errors of sums."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srlib.data.codes import Codes, Levels, row_numbers

type Ints = NDArray[np.intp]
type Bools = NDArray[np.bool_]
type Floats = NDArray[np.float64]
type Row = dict[str, Any]

COLUMNS = [
    "release",
    "question",
    "variables",
    "detail",
    "group",
    "n",
    "estimate",
    "se",
    "baseline",
    "baseline_se",
    "baseline_kind",
    "z",
    "z_permutation",
    "holdout",
    "z_holdout",
    "rating",
    "in_verdict",
]
NUMBERS = ("estimate", "se", "baseline", "baseline_se", "z", "z_permutation")


def cell_ids(columns: Iterable[int], n_levels: Levels, *tables: Codes) -> list[Ints]:
    """Number the rows of some columns of several tables, equal ones alike; an array a table."""
    at = list(columns)
    rows = np.concatenate([table[:, at] for table in tables])
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return np.split(row_numbers(rows, [int(n_levels[k]) for k in at]), ends)


def counts_at(numbers: Ints, of: Ints) -> Ints:
    """How often each of some numbers occurs among others."""
    size = max(numbers.max(initial=-1), of.max(initial=-1)) + 1
    return np.bincount(numbers, minlength=int(size))[of]


def cell_counts(of_original: Ints, of_release: Ints) -> tuple[Ints, Ints]:
    """Original and released records of each number."""
    size = int(max(of_original.max(), of_release.max())) + 1
    return np.bincount(of_original, minlength=size), np.bincount(of_release, minlength=size)


def clustered_se(moves: Floats, group: Ints) -> float:
    """Standard error of a sum over people who move together in groups."""
    return float(np.sqrt((np.bincount(group, moves) ** 2).sum()))


def means(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means of the same numbers of several releases, by name."""
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def se_between_releases(values: Sequence[float]) -> float:
    """Standard error of a mean over releases, by their spread; NaN of a single one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def z_score(difference: float, error: float) -> float:
    """A difference in its standard errors; 0 where there is neither."""
    if error > 0:
        return float(difference / error)
    return float(np.copysign(np.inf, difference)) if difference else 0.0


def holdout_contrast(
    tells: Floats, weight: Floats, n: int, group: Ints | None = None
) -> dict[str, float]:
    """Answer of people held out, and how far people in the file lie beyond, in standard errors.

    The first n people are in the file. Shares are what is told of people over their weight. If the
    release says of people in the file what it says of others, who was held out is a random division
    of the same people: the error is that of such divisions, by linearization, with `group`
    numbering those who move together. It is somewhat too large where the difference is not zero.
    """
    if not (weight[:n].any() and weight[n:].any()):
        return {"holdout": np.nan, "z_holdout": np.nan}
    parts = slice(None, n), slice(n, None)
    share, other = (tells[part].sum() / weight[part].sum() for part in parts)
    sides = zip(parts, (share, other), strict=True)
    moves = [(tells[at] - p * weight[at]) / weight[at].sum() for at, p in sides]
    joined = np.concatenate([moves[0], -moves[1]])
    error = clustered_se(joined, np.arange(len(joined)) if group is None else group)
    return {"holdout": float(other), "z_holdout": z_score(float(share - other), error)}


def new_row(
    question: str, n: int, *, variables: str = "all", detail: str = "", **numbers: float
) -> Row:
    """Return a row with the numbers that are given, and NaN for the others."""
    unknown = dict.fromkeys(NUMBERS, np.nan)
    named = {"question": question, "variables": variables, "detail": detail, "n": n}
    return named | unknown | numbers
