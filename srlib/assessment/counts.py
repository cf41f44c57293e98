"""Counts of equal records, standard errors of sums, and the rows of the table."""

from typing import Any

import numpy as np

from srlib.arrays import Bools, Floats, Ints

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
TEXTS = ("detail", "baseline_kind", "rating", "why")
NUMBERS = ("estimate", "se", "baseline", "baseline_se", "z", "z_permutation")


def counts_at(ids: Ints, at: Ints) -> Ints:
    """Return how often each id in `at` occurs in `ids`."""
    size = max(ids.max(initial=-1), at.max(initial=-1)) + 1
    return np.bincount(ids, minlength=size)[at]


def clustered_se(residuals: Floats, cluster: Ints) -> float:
    """Return the standard error of a sum over people, dependent within clusters."""
    return np.sqrt((np.bincount(cluster, residuals) ** 2).sum())


def binomial_se(share: float, n: int) -> float:
    """Return the standard error of a share of n people."""
    return np.sqrt(share * (1 - share) / n)


def z_score(difference: float, error: float) -> float:
    """Return a difference in standard errors; 0 where both are 0."""
    if error == 0:
        return np.copysign(np.inf, difference) if difference else 0.0
    return difference / error


def holdout_contrast(
    disclosed: Floats | Bools,
    weight: Floats | Bools,
    n: int,
    cluster: Ints | None = None,
) -> dict[str, float]:
    """Return the share disclosed in the holdout, and z; empty without a holdout.

    The first n people are in the original, and z is its excess over the holdout. Shares
    are sums of what is disclosed over sums of weights. If the release discloses no more
    of people in the original, the holdout is a random split of the same people: the
    standard error is that of such splits, by linearization, clustered by `cluster`. It
    is somewhat too large where the difference is not zero.
    """
    if len(weight) == n:
        return {}
    if not (weight[:n].any() and weight[n:].any()):
        return {"holdout": np.nan, "z_holdout": np.nan}
    share, residuals = _weighted_share(disclosed[:n], weight[:n])
    other, other_residuals = _weighted_share(disclosed[n:], weight[n:])
    joined = np.concatenate([residuals, -other_residuals])
    error = clustered_se(joined, np.arange(len(joined)) if cluster is None else cluster)
    return {"holdout": other, "z_holdout": z_score(share - other, error)}


def _weighted_share(
    disclosed: Floats | Bools, weight: Floats | Bools
) -> tuple[float, Floats]:
    """Return the share disclosed, and the linear part of each person in its error."""
    total = weight.sum()
    share = disclosed.sum() / total
    return share, (disclosed - share * weight) / total


def new_row(question: str, n: int, **given: Any) -> Row:
    """Return a row with the given texts and numbers; others are empty or NaN."""
    row = {"question": question, "variables": "all", "group": "all", "n": n}
    return row | dict.fromkeys(TEXTS, "") | dict.fromkeys(NUMBERS, np.nan) | given
