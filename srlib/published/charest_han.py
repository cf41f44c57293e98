"""The two conjugate models of Charest and Han, and the answers to their printed numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from srlib import edp
from srlib.mechanism import Mechanism, conditional_epsilon
from srlib.synthesizers import beta_binomial

BINS = (5, 10, 20, 50, 100, 250)
# What each column of Table 3 does with empty bins; its caption's text says 0.01 for all.
SMOOTHING: dict[int, float | str] = {10_000: edp.DROPPED, 100_000: 1.0, 1_000_000: 0.01}


def beta_posterior(x: int, n: int, alpha: float) -> Any:
    """Posterior of a proportion after x ones among n records, with a Beta(alpha, alpha) prior."""
    return stats.beta(alpha + x, alpha + n - x)


def beta_neighbours(x: int, n: int, alpha: float, kind: str) -> list[Any]:
    """Posteriors after one record is changed, deleted or added: one for each that exists.

    Raises
    ------
    ValueError
        If the kind is another.
    """
    if kind == "changed":
        pairs = [(x - 1, n), (x + 1, n)]
    elif kind == "deleted":
        pairs = [(x, n - 1), (x - 1, n - 1)]
    elif kind == "added":
        pairs = [(x, n + 1), (x + 1, n + 1)]
    else:
        raise ValueError(f"kind is {kind!r}; it must be 'changed', 'deleted' or 'added'")
    return [beta_posterior(y, m, alpha) for y, m in pairs if 0 <= y <= m]


def normal_posterior(
    y: NDArray[np.float64], variance: float = 5.0, mean: float = 10.0, prior_variance: float = 3.0
) -> Any:
    """Posterior of a normal mean with known variance and a normal prior."""
    precision = len(y) / variance + 1 / prior_variance
    location = (y.sum() / variance + mean / prior_variance) / precision
    return stats.norm(location, precision**-0.5)


def extreme_neighbours(y: NDArray[np.float64]) -> list[Any]:
    """Posteriors of the normal model without the smallest and without the largest record.

    All neighbours have one variance, and their means lie between these two's, so that one of them
    attains EDP.
    """
    return [normal_posterior(np.delete(y, i)) for i in (y.argmin(), y.argmax())]


def bias_and_imprecision(
    posterior: Any,
    neighbours: list[Any],
    bins: int,
    draws: int,
    smoothing: float | str,
    size: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """One cell of Tables 3 and 4, with standard errors of the means over replicates.

    Parameters
    ----------
    posterior, neighbours : scipy frozen distributions
        As of `edp.exact`.
    bins, draws, smoothing, rng
        As of `edp.simulate_counts` and `edp.estimate_from_counts`.
    size : int
        Replicates, 2 or more.

    Returns
    -------
    dict
        relative_bias_percent and imprecision (the estimate where the neighbour is the data set
        itself), and bias_se and imprecision_se.
    """
    true = edp.exact(posterior, neighbours, bins).value
    found = []
    for others in (neighbours, [posterior]):
        counts = edp.simulate_counts(posterior, others, bins, draws, size, rng)
        found.append(edp.estimate_from_counts(counts, smoothing))
    return {
        "relative_bias_percent": 100 * float(found[0].mean() / true - 1),
        "bias_se": 100 * float(found[0].std(ddof=1) / np.sqrt(size) / true),
        "imprecision": float(found[1].mean()),
        "imprecision_se": float(found[1].std(ddof=1) / np.sqrt(size)),
    }


def conditional_epsilons(n: int, alpha: float) -> NDArray[np.float64]:
    """Conditional epsilon of each data set under the beta-binomial synthesizer, (n + 1,)."""
    table: Mechanism = beta_binomial(n, n, alpha)
    return conditional_epsilon(table)


def exact_answers(edp_exact: pd.DataFrame) -> dict[str, float]:
    """Values of the numbers that are exact: Tables 1 and 2 and section 3.1.

    Parameters
    ----------
    edp_exact : DataFrame
        Columns neighbours, x, bins and edp for n = 5 and alpha = 0.5.
    """
    table = beta_binomial(5, 5, 0.5)
    found = {f"table1_{x}_{y}": float(np.exp(table.row(x)[y])) for x in range(6) for y in range(6)}
    found |= {
        f"table2_{row.x}_{row.bins}": row.edp
        for row in edp_exact[edp_exact["neighbours"] == "changed"].itertuples()
    }
    conditional = conditional_epsilons(5, 0.5)
    at_200 = conditional_epsilons(200, 200 / np.expm1(5.0))
    half = float(np.median(at_200))
    return found | {
        "epsilon_11": float(conditional.max()),
        "ratio_11": float(np.exp(table.row(4)[0] - table.row(5)[0])),
        "conditional_extreme": float(conditional[[0, 1, 4, 5]].min()),
        "conditional_middle": float(conditional[2]),
        "half_of_200": half,
        "times_smaller": 5 / half,
        "ratio_times_smaller": float(np.exp(5 - half)),
    }


def close_to(ours: Mapping[str, float], size: int) -> dict[str, float]:
    """Tolerances of a cell: four standard errors of the difference of two means of replicates.

    Parameters
    ----------
    ours : mapping
        As `bias_and_imprecision` returns, from `size` replicates; the paper has 100.
    size : int
        Replicates.
    """
    factor = 4 * np.sqrt(1 + size / 100)
    return {
        "rb": factor * max(ours["bias_se"], 0.1) + 0.3,
        "emi": factor * ours["imprecision_se"] + 0.001,
    }
