"""Charest (2013), Table 1: what it summarizes, and the answers to its numbers."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.mechanism.core import Mechanism
from srlib.mechanism.families import beta_binomial
from srlib.mechanism.privacy import exact_epsilon

NOTES = {
    "table1_log_p_expected_outcome": "a digit lost: 29.53301; section Reproducing Table 1",
    "table1_log_p_posterior": "a digit lost: .04820252; section Reproducing Table 1",
    "epsilon_distance": "not the mechanism's epsilon; section What the rows promise",
    "epsilon_p": "not the mechanism's epsilon; section What the rows promise",
    "epsilon_log_p": "not the mechanism's epsilon; section What the rows promise",
}


def binary_scores(n: int, gamma: float) -> dict[str, NDArray[np.float64]]:
    """The three scores of Table 1 for n binary records, by name, (n + 1, n + 1) each.

    Parameters
    ----------
    n : int
        Records, 1 or more; rows are counts of ones in the data, columns in the release.
    gamma : float
        Both parameters of the beta prior, positive.
    """
    counts = np.arange(n + 1)
    log_p = beta_binomial(n, n, gamma).block(counts, counts)
    distance = np.abs(np.subtract.outer(counts, counts)).astype(float)
    return {"-|d - r|": -distance, "P": np.exp(log_p), "log P": log_p}


def row_of_table_1(
    mechanism: Mechanism, x: int, predictive: NDArray[np.float64]
) -> dict[str, float]:
    """One row of Table 1, and the exact epsilon.

    Parameters
    ----------
    mechanism : Mechanism
        Rows and columns are counts 0 to n.
    x : int
        The count of the data.
    predictive : (n + 1,) float
        Posterior predictive probabilities of the counts given x.
    """
    probability, counts = np.exp(mechanism.row(x)), np.arange(mechanism.n_outputs)
    return {
        "most_probable": int(probability.argmax()),
        "expected_outcome": float(probability @ counts),
        "expected_distance": float(probability @ np.abs(counts - x)),
        "expected_posterior_probability": float(probability @ predictive),
        "exact_epsilon": exact_epsilon(mechanism).value,
    }


def answers(score_functions: pd.DataFrame) -> Mapping[str, float]:
    """Values of the printed numbers from the table `score_functions`, at the paper's settings.

    Parameters
    ----------
    score_functions : DataFrame
        Columns score, convention and those of `row_of_table_1`; the rows with the convention
        ``"as printed"`` are the paper's.
    """
    printed = score_functions[score_functions["convention"] == "as printed"].set_index("score")
    keys = {"-|d - r|": "distance", "P": "p", "log P": "log_p"}
    columns = {
        "most_probable": "most_probable",
        "expected_outcome": "expected_outcome",
        "expected_distance": "expected_distance",
        "expected_posterior_probability": "posterior",
    }
    found = {
        f"table1_{key}_{name}": printed.loc[score, column]
        for score, key in keys.items()
        for column, name in columns.items()
    }
    return found | {
        f"epsilon_{key}": printed.loc[score, "exact_epsilon"] for score, key in keys.items()
    }
