"""Monte Carlo estimators of the posterior disclosure risk, from posterior draws of the DPMPM.

Hu, Reiter and Wang (2014), section 3: an intruder who knows all records but one weighs
each candidate x for the last one by the probability of the release given that
candidate, ``p(Z | X_i = x, D_-i)``. This module has two Monte Carlo estimators of these
probabilities. Both average ratios p(x | theta) / p(x_i | theta) over posterior draws
theta, so that they take the same arrays and can be compared term by term. The first
candidate of every support is the true record x_i.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.data.codes import cell_numbers, distinct
from srlib.dpmpm.kernels import THREADS
from srlib.dpmpm.model import Draws
from srlib.dpmpm.predict import (
    cell_log_prob,
    leave_one_out_log_ratios,
    neighbor_log_ratios,
)
from srlib.risk.candidates import one_variable_positions, subset_size
from srlib.risk.likelihood import CandidateLikelihood, Risk
from srlib.threads import one_blas_thread

# Largest product of records and candidates, or of records and classes, in one block.
BLOCK = 1 << 18


@one_blas_thread
def release_log_prob(
    draws: Draws, released: Sequence[NDArray[np.integer]]
) -> NDArray[np.float64]:
    """Return log p(Z^(l) | theta) of each release under each draw (equations 13 and 14).

    The shape is (n_releases, n_chains, n_draws).
    """
    log_prob = []
    for release in released:
        combinations, counts, _ = distinct(release)
        log_prob.append(cell_log_prob(draws, combinations) @ counts.astype(float))
    return np.stack(log_prob)


def one_variable_log_ratios(
    draws: Draws,
    codes: NDArray[np.integer],
    log_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return log weighted averages of p(x | theta) / p(x_i | theta) for the supports R_i.

    The arguments are those of `srlib.dpmpm.neighbor_log_ratios`. The result is
    (n_weights, n_chains, n_combinations, support_size), the candidates in the order of
    `one_variable_supports`.
    """
    by_level = neighbor_log_ratios(draws, codes, log_weights)
    return np.take_along_axis(by_level, _phi_rows(draws, codes)[None, None], axis=3)


def collapsed_log_ratios(
    draws: Draws, codes: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return averages with the same limits but less noise: pi and phi are integrated out.

    The arguments are those of `srlib.dpmpm.leave_one_out_log_ratios`. The log ratios
    are (n_chains, n_combinations, support_size), the candidates in the order of
    `one_variable_supports`; the log probabilities are those of the true records.
    """
    by_level, log_prob = leave_one_out_log_ratios(draws, codes)
    return np.take_along_axis(by_level, _phi_rows(draws, codes)[None], axis=2), log_prob


def _phi_rows(draws: Draws, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the row of ``phi`` in which each candidate differs, (n_combinations, support_size)."""
    level_start = np.cumsum(draws.n_levels) - draws.n_levels
    variable, level = one_variable_positions(codes, draws.n_levels)
    return level_start[variable] + level


@one_blas_thread
def subset_log_means(
    draws: Draws,
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    in_data: ArrayLike = True,
    replaced: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Return log predictive probabilities of all values of some variables, for all records.

    The candidates of a record agree with it outside the unknown variables (section 4.2,
    equation 16), as in `subset_support`.

    Parameters
    ----------
    codes : (n, n_variables) int
        The true combinations x_i, coded from 0.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    in_data : (n,) bool, or one for all
        Whether a record is in the data that the draws are given. It is then left out,
        by averaging p(x | theta) / p(x_i | theta) instead of p(x | theta).
    replaced : (n, n_variables) int, optional
        The records x_i that the candidates replace; `codes` if not given.

    Returns
    -------
    (n_chains, n, prod(n_levels[unknown])) float64
        Log of each chain's mean, the true record first, then in lexicographic order.
    """
    codes, hidden = np.asarray(codes, dtype=np.int64), list(unknown)
    n, size = len(codes), subset_size(hidden, draws.n_levels)
    # Rows of phi: the known values, the candidates' unknown values, the record left
    # out.
    start = np.cumsum(draws.n_levels) - draws.n_levels
    shape = [int(draws.n_levels[k]) for k in hidden]
    known_rows = np.delete(start + codes, hidden, axis=1)
    unknown_rows = start[hidden] + np.indices(shape).reshape(-1, size).T
    replaced_rows = (
        None if replaced is None else start + np.asarray(replaced, dtype=np.int64)
    )
    truth = cell_numbers(codes[:, hidden], shape)
    is_in_data = np.broadcast_to(np.asarray(in_data, dtype=bool), n)
    sums = np.zeros((draws.n_chains, n, size))
    step = max(1, BLOCK // max(size, draws.n_classes))

    def run(chain: int, first: int) -> None:
        part = slice(first, first + step)
        for pi, phi in zip(draws.pi[chain], draws.phi[chain], strict=True):
            # Class weights from the known values, (n, F), times products of phi over
            # the unknown.
            weights = np.repeat(pi[None], len(known_rows[part]), axis=0)
            for rows in known_rows[part].T:
                weights *= phi[rows]
            prob = weights @ phi[unknown_rows].prod(axis=1, dtype=np.float64).T
            if replaced_rows is None:
                own = prob[np.arange(len(prob)), truth[part]]
            else:
                own = phi[replaced_rows[part]].prod(axis=1, dtype=np.float64) @ pi
            sums[chain, part] += prob / np.where(is_in_data[part], own, 1.0)[:, None]

    blocks = [
        (chain, first) for chain in range(draws.n_chains) for first in range(0, n, step)
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, *zip(*blocks, strict=True)))
    others = np.arange(size - 1)
    order = np.column_stack([truth, others + (others >= truth[:, None])])
    return np.take_along_axis(np.log(sums) - np.log(draws.n_draws), order[None], axis=2)


def importance_sampling(
    weighted: NDArray[np.float64],
    plain: NDArray[np.float64],
    log_prior: ArrayLike = 0.0,
) -> Risk:
    """Estimate the risk by importance sampling, as the paper does.

    Draws given D stand in for draws given D_i^x: equations 11 to 15 estimate p(Z^(l) |
    D_i^x) by sum_j p_jl r_j / sum_j r_j, with p_jl = p(Z^(l) | theta_j) and r_j = p(x |
    theta_j) / p(x_i | theta_j). Standard errors come from leaving out one chain at a
    time. Where one draw carries all the weight, they are always too small.

    Parameters
    ----------
    weighted : (n_releases, n_chains, n_combinations, support_size) float
        Log of each chain's sum of p_jl r_j.
    plain : (1, n_chains, n_combinations, support_size) float
        Log of each chain's sum of r_j.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.
    """
    chains = np.moveaxis(np.concatenate([weighted, plain]), 1, 0)
    likelihood = CandidateLikelihood(
        lambda mean: mean[:-1].sum(axis=0) - len(weighted) * mean[-1], [chains]
    )
    return likelihood.posterior(log_prior)


def predictive_ratio(
    log_ratios: Sequence[NDArray[np.float64]], log_prior: ArrayLike = 0.0
) -> Risk:
    """Estimate the risk from posterior predictive probabilities, without weights by p(Z | theta).

    By ``P(Z | D_i^x) = P(Z | D_-i) p(x | D_-i, Z) / p(x | D_-i)``. Relative to those of
    x_i, both predictive probabilities are averages of p(x | theta) / p(x_i | theta):
    the first over draws given D joined with Z, the second over draws given D. The Monte
    Carlo error of the second enters once per release, with the same sign.

    Parameters
    ----------
    log_ratios : sequence of (n_chains_s, n_combinations, support_size) float
        Log of each chain's mean ratio, for two chains or more; one array per set in the
        order of `DrawSets`: draws given D, then draws given D joined with Z^(1), with
        Z^(2), and so on.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.
    """
    return CandidateLikelihood(log_likelihood, log_ratios).posterior(log_prior)


def log_likelihood(
    given_data: NDArray[np.float64],
    *given_joined: NDArray[np.float64],
    model_prior: bool = False,
) -> NDArray[np.float64]:
    """Return log p(Z | D_i^x) of the candidates x up to a constant, from the sets' log means.

    `model_prior` multiplies it by the model's prior ``p(x | D_-i)`` (section 5), from
    the same draws: the exponent of that term is then one smaller.
    """
    return reduce(np.add, given_joined) + (model_prior - len(given_joined)) * given_data


@one_blas_thread
def repeatability(one: Risk, other: Risk) -> dict[str, float]:
    """Compare two runs by the log posterior probabilities of the true combinations.

    Returns the median and the 95th percentile of the absolute differences; the
    correlation; the share of differences within two standard errors; and, among the
    combinations that the first run ranks in the top three, the share that the second
    does too (NaN if there are none).
    """
    first, second = one.log_prob[:, 0], other.log_prob[:, 0]
    difference = np.abs(first - second)
    standard_error = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0])
    top = one.rank <= 3
    return {
        "median difference": float(np.median(difference)),
        "95th percentile of differences": float(np.quantile(difference, 0.95)),
        "correlation": float(np.corrcoef(first, second)[0, 1]),
        "within 2 standard errors": float(np.mean(difference < 2 * standard_error)),
        "top three kept": float(np.mean(other.rank[top] <= 3))
        if top.any()
        else float("nan"),
    }
