"""The models of Charest and Han and their companion, and the answers to their printed numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from srlib import checks
from srlib.mechanism import edp
from srlib.mechanism.core import Mechanism
from srlib.mechanism.families import beta_binomial
from srlib.mechanism.privacy import conditional_epsilon
from srlib.papers.ledger import printed
from srlib.threads import one_blas_thread

BINS = (5, 10, 20, 50, 100, 250)
# The prior behind Table 2: epsilon rounded to 2.4, where section 3 has log 11 and alpha = 1/2.
ROUNDED_ALPHA = 5 / np.expm1(2.4)
ROUNDED = "alpha from epsilon = 2.4 instead of log 11; section EDP, exactly"
EMPTY = "empty bins treated otherwise, epsilon rounded to 2.4; section Table 3"
TENTH = "the entry of ten times fewer draws; section Table 4"
# What each column of Table 3 does with empty bins; its caption's text says 0.01 for all.
SMOOTHING: dict[int, float | str] = {10_000: edp.DROPPED, 100_000: 1.0, 1_000_000: 0.01}


def beta_posterior(x: int, n: int, alpha: float) -> Any:
    """Posterior of a proportion after x ones among n records, with a Beta(alpha, alpha) prior."""
    return stats.beta(alpha + x, alpha + n - x)


def beta_neighbors(x: int, n: int, alpha: float, kind: str) -> list[Any]:
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


def normal_posterior(y: NDArray[np.float64]) -> Any:
    """Posterior of a normal mean: known variance 5, prior N(10, 3), as in section 3.3."""
    precision = len(y) / 5.0 + 1 / 3.0
    return stats.norm((y.sum() / 5.0 + 10.0 / 3.0) / precision, precision**-0.5)


def normal_neighbors(y: NDArray[np.float64]) -> list[Any]:
    """Posteriors of the normal model without each record in turn, as one distribution of many."""
    whole = normal_posterior(y)
    variance = normal_posterior(y[1:]).std() ** 2
    kept = whole.mean() / whole.std() ** 2 - y / 5.0
    return [stats.norm((kept * variance)[:, None], variance**0.5)]


def bias_and_imprecision(
    posterior: Any,
    neighbors: list[Any],
    bins: int,
    draws: int,
    smoothings: Iterable[float | str],
    size: int,
    *,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """One cell of Tables 3 and 4 under each treatment of empty bins, from the same replicates.

    Parameters
    ----------
    posterior, neighbors : scipy frozen distributions
        As of `edp.exact`.
    bins, draws, rng
        As of `edp.simulate_counts`.
    smoothings : iterable of float or "dropped"
        As of `edp.estimate_from_counts`.
    size : int
        Replicates, 2 or more.

    Returns
    -------
    list of dict
        For each treatment: smoothing, relative_bias_percent and imprecision (the estimate where the
        neighbor is the data set itself), and their standard errors bias_se and imprecision_se.
    """
    true = edp.exact(posterior, neighbors, bins).value
    counts, same = (
        edp.simulate_counts(posterior, others, bins, draws, size, rng=rng)
        for others in (neighbors, [posterior])
    )

    def cell(smoothing: float | str) -> dict[str, Any]:
        ratio = edp.estimate_from_counts(counts, smoothing) / true
        imprecision = edp.estimate_from_counts(same, smoothing)
        return {
            "smoothing": str(smoothing),
            "relative_bias_percent": 100 * float(ratio.mean() - 1),
            "bias_se": 100 * float(ratio.std(ddof=1) / np.sqrt(size)),
            "imprecision": float(imprecision.mean()),
            "imprecision_se": float(imprecision.std(ddof=1) / np.sqrt(size)),
        }

    return [cell(smoothing) for smoothing in smoothings]


def conditional_epsilons(n: int, alpha: float) -> NDArray[np.float64]:
    """Conditional epsilon of each data set under the beta-binomial synthesizer, (n + 1,)."""
    table: Mechanism = beta_binomial(n, n, alpha)
    return conditional_epsilon(table)


def table_2(alpha: float) -> dict[str, float]:
    """Exact EDP of Table 2 by the ids of its entries: n = 5, with one record changed.

    Parameters
    ----------
    alpha : float
        Both parameters of the beta prior: 1/2 as stated, or `ROUNDED_ALPHA`.
    """
    return {
        f"table2_{x}_{bins}": edp.exact(
            beta_posterior(x, 5, alpha), beta_neighbors(x, 5, alpha, "changed"), bins
        ).value
        for x in range(6)
        for bins in BINS
    }


def exact_answers() -> dict[str, float]:
    """Values of the numbers that are exact, at the stated prior: Tables 1 and 2 and section 3.1."""
    table = beta_binomial(5, 5, 0.5)
    found = {f"table1_{x}_{y}": float(np.exp(table.row(x)[y])) for x in range(6) for y in range(6)}
    conditional = conditional_epsilons(5, 0.5)
    at_200 = conditional_epsilons(200, 200 / np.expm1(5.0))
    half = float(np.median(at_200))
    return {
        **found,
        **table_2(0.5),
        "epsilon_11": float(conditional.max()),
        "ratio_11": float(np.exp(table.row(4)[0] - table.row(5)[0])),
        "conditional_extreme": float(conditional[[0, 1, 4, 5]].min()),
        "conditional_middle": float(conditional[2]),
        "half_of_200": half,
        "times_smaller": 5 / half,
        "ratio_times_smaller": float(np.exp(5 - half)),
    }


def table_3(size: int, *, rng: np.random.Generator, alpha: float = 0.5) -> pd.DataFrame:
    """Bias and imprecision for the beta-binomial model, n = 5 and x = 0, with changed neighbors.

    Parameters
    ----------
    size : int
        Replicates of each cell.
    rng : numpy.random.Generator
        Source of chance.
    alpha : float
        Both parameters of the beta prior; `ROUNDED_ALPHA` is what the exact values of the paper
        belong to.

    Returns
    -------
    DataFrame
        Columns bins, draws, smoothing, replicates and those of `bias_and_imprecision`, for each
        treatment of empty bins that occurs in `SMOOTHING`.
    """
    here, there = beta_posterior(0, 5, alpha), beta_neighbors(0, 5, alpha, "changed")
    return pd.DataFrame(
        {"bins": bins, "draws": draws, "replicates": size} | cell
        for draws in SMOOTHING
        for bins in BINS
        for cell in bias_and_imprecision(
            here, there, bins, draws, SMOOTHING.values(), size, rng=rng
        )
    )


def table_4(datasets: int, size: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Bias and imprecision for the normal model, n = 100, averaged over data sets.

    Parameters
    ----------
    datasets, size : int
        Data sets, of which the paper has one, and replicates for each.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    DataFrame
        Columns bins, draws, relative_bias_percent, bias_sd (between data sets), imprecision,
        imprecision_se and replicates (of all data sets), for draws from a tenth of the first of the
        paper's numbers on.
    """
    data = [rng.normal(10.0, np.sqrt(5.0), 100) for _ in range(datasets)]
    rows = []
    for draws in (1_000, *SMOOTHING):
        for bins in BINS:
            cells = [
                cell
                for y in data
                for cell in bias_and_imprecision(
                    normal_posterior(y), normal_neighbors(y), bins, draws, [0.01], size, rng=rng
                )
            ]
            bias = [cell["relative_bias_percent"] for cell in cells]
            imprecision = [cell["imprecision"] for cell in cells]
            error = [cell["imprecision_se"] for cell in cells]
            rows.append(
                {
                    "bins": bins,
                    "draws": draws,
                    "relative_bias_percent": float(np.mean(bias)),
                    "bias_sd": float(np.std(bias, ddof=1)),
                    "imprecision": float(np.mean(imprecision)),
                    "imprecision_se": float(np.sqrt(np.mean(np.square(error)) / datasets)),
                    "replicates": datasets * size,
                }
            )
    return pd.DataFrame(rows)


def estimated_answers(
    three: pd.DataFrame, four: pd.DataFrame, tenth: bool = False, lead: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Values and tolerances of the numbers of Tables 3 and 4, under one convention.

    Parameters
    ----------
    three, four : DataFrame
        As `table_3` and `table_4` return.
    tenth : bool
        Whether Table 4 is read at a tenth of the draws that its headings state.
    lead : bool
        Whether Table 3 treats empty bins as `SMOOTHING` says, and not with 0.01 throughout.

    Returns
    -------
    computed, tolerances : dict of str to float
        Tolerances are four standard errors of the difference between our mean and one of the
        paper's 100 replicates, and half a unit of the last digit printed; for the biases of Table 4
        four standard deviations between data sets, of which the paper has one that it does not
        give.
    """

    def four_errors(row: dict[str, Any], name: str) -> float:
        return float(4 * row[name] * np.sqrt(1 + row["replicates"] / 100))

    computed, tolerances = {}, {}
    for row in three.to_dict("records"):
        if row["smoothing"] != (str(SMOOTHING[row["draws"]]) if lead else "0.01"):
            continue
        key = f"{row['bins']}_{row['draws']}"
        computed[f"table3_rb_{key}"] = row["relative_bias_percent"]
        computed[f"table3_emi_{key}"] = row["imprecision"]
        tolerances[f"table3_rb_{key}"] = four_errors(row, "bias_se") + 0.005
        tolerances[f"table3_emi_{key}"] = four_errors(row, "imprecision_se") + 0.0005
    for row in four.to_dict("records"):
        draws = row["draws"] * (10 if tenth else 1)
        if draws not in SMOOTHING:
            continue
        key = f"{row['bins']}_{draws}"
        computed[f"table4_rb_{key}"] = row["relative_bias_percent"]
        computed[f"table4_emi_{key}"] = row["imprecision"]
        tolerances[f"table4_rb_{key}"] = 4 * row["bias_sd"]
        tolerances[f"table4_emi_{key}"] = four_errors(row, "imprecision_se") + 0.0005
    unit = printed("charest_han").set_index("id")["tolerance"]
    return computed, {key: max(value, unit[key]) for key, value in tolerances.items()}


@one_blas_thread
def sample_logistic(
    outcome: ArrayLike,
    predictors: ArrayLike,
    *,
    prior_sd: float,
    burn_in: int,
    n_draws: int,
    thin: int,
    n_chains: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws from the posterior of a logistic regression, by random-walk Metropolis.

    Proposals have the covariance of the normal approximation at the mode, scaled for the dimension;
    chains start from it with twice its spread.

    Parameters
    ----------
    outcome : (n,) bool or 0/1
        Whether the event happened.
    predictors : (n, p) float
        Design matrix; an intercept is put first.
    prior_sd : float
        Standard deviation of the independent normal priors of all coefficients, positive.
    burn_in, n_draws, thin, n_chains : int
        Steps dropped, draws kept of each chain, steps for each draw, and chains.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    beta : (n_chains, n_draws, p + 1) float64
    log_likelihood : (n_chains, n_draws, n) float64
        Of each record.
    """
    checks.positive(prior_sd=prior_sd)
    y = np.asarray(outcome, dtype=float)
    x = np.column_stack([np.ones(len(y)), np.asarray(predictors, dtype=float)])
    size = x.shape[1]
    mode = np.zeros(size)
    for _ in range(50):  # Newton steps; the prior makes the posterior strictly concave
        p = expit(x @ mode)
        information = (x * (p * (1 - p))[:, None]).T @ x + np.eye(size) / prior_sd**2
        mode = mode + np.linalg.solve(information, x.T @ (y - p) - mode / prior_sd**2)
    root = np.linalg.cholesky(np.linalg.inv(information))

    def pointwise(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.logaddexp(0.0, (1 - 2 * y) * (beta @ x.T))

    beta = mode + 2 * rng.normal(size=(n_chains, size)) @ root.T
    each = pointwise(beta)
    target = each.sum(axis=1) - (beta**2).sum(axis=1) / (2 * prior_sd**2)
    draws = np.empty((n_chains, n_draws, size))
    log_likelihood = np.empty((n_chains, n_draws, len(y)))
    for step in range(burn_in + n_draws * thin):
        proposal = beta + 2.4 / np.sqrt(size) * rng.normal(size=beta.shape) @ root.T
        new = pointwise(proposal)
        value = new.sum(axis=1) - (proposal**2).sum(axis=1) / (2 * prior_sd**2)
        moves = np.log(rng.random(n_chains)) < value - target
        beta[moves], each[moves], target[moves] = proposal[moves], new[moves], value[moves]
        kept, rest = divmod(step - burn_in, thin)
        if step >= burn_in and rest == thin - 1:
            draws[:, kept], log_likelihood[:, kept] = beta, each
    return draws, log_likelihood
