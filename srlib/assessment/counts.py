"""Counts of equal records, standard errors of sums, and the rows of the table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from srlib.arrays import Floats, Ints
from srlib.data.codes import Codes, Levels, row_numbers

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


def cell_ids(
    columns: Iterable[int],
    n_levels: Levels,
    *tables: Codes,
) -> list[Ints]:
    """Return an id for each combination of the columns' values, by table and row."""
    at = list(columns)
    rows = np.concatenate([table[:, at] for table in tables])
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return np.split(row_numbers(rows, [int(n_levels[k]) for k in at]), ends)


def counts_at(ids: Ints, at: Ints) -> Ints:
    """Return how often each id in `at` occurs in `ids`."""
    size = max(ids.max(initial=-1), at.max(initial=-1)) + 1
    return np.bincount(ids, minlength=int(size))[at]


def cell_counts(original_ids: Ints, released_ids: Ints) -> tuple[Ints, Ints]:
    """Return the numbers of original and of released records with each id."""
    size = int(max(original_ids.max(), released_ids.max())) + 1
    return np.bincount(original_ids, minlength=size), np.bincount(
        released_ids, minlength=size
    )


def clustered_se(residuals: Floats, cluster: Ints) -> float:
    """Return the standard error of a sum over people, dependent within clusters."""
    return float(np.sqrt((np.bincount(cluster, residuals) ** 2).sum()))


def means(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the means over releases of numbers of the same names."""
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def se_between_releases(values: Sequence[float]) -> float:
    """Return the standard error of a mean over releases; NaN for a single one."""
    return (
        float(np.std(values, ddof=1) / np.sqrt(len(values)))
        if len(values) > 1
        else np.nan
    )


def z_score(difference: float, error: float) -> float:
    """Return a difference in standard errors; 0 where both are 0."""
    if error > 0:
        return float(difference / error)
    return float(np.copysign(np.inf, difference)) if difference else 0.0


def holdout_contrast(
    disclosed: Floats,
    weight: Floats,
    n: int,
    cluster: Ints | None = None,
) -> dict[str, float]:
    """Return the share disclosed in the holdout, and z of the original above it.

    The first n people are in the original. Shares are sums of what is disclosed over
    sums of weights. If the release discloses no more of people in the original, the
    holdout is a random split of the same people: the standard error is that of such
    splits, by linearization, clustered by `cluster`. It is somewhat too large where the
    difference is not zero.
    """
    if not (weight[:n].any() and weight[n:].any()):
        return {"holdout": np.nan, "z_holdout": np.nan}
    parts = slice(None, n), slice(n, None)
    share, other = (disclosed[part].sum() / weight[part].sum() for part in parts)
    sides = zip(parts, (share, other), strict=True)
    residuals = [(disclosed[at] - p * weight[at]) / weight[at].sum() for at, p in sides]
    joined = np.concatenate([residuals[0], -residuals[1]])
    error = clustered_se(joined, np.arange(len(joined)) if cluster is None else cluster)
    return {"holdout": float(other), "z_holdout": z_score(float(share - other), error)}


def new_row(
    question: str, n: int, *, variables: str = "all", detail: str = "", **numbers: float
) -> Row:
    """Return a row with the given numbers, and NaN for all others."""
    unknown = dict.fromkeys(NUMBERS, np.nan)
    named = {"question": question, "variables": variables, "detail": detail, "n": n}
    return named | unknown | numbers
