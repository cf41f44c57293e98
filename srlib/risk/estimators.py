"""Columns by Monte Carlo, from posterior draws of the DPMPM.

Hu, Reiter and Wang (2014), section 3: an intruder who knows all records but one weighs the
values x that the last one may have by the probability of the release under each,
``p(Z | X_i = x, D_-i)``. Two Monte Carlo estimators of that column are here. Both rest on ratios
p(x | theta) / p(x_i | theta) averaged over posterior draws theta, so that they take the same
arrays and can be compared term by term; the first candidate of every support is the truth x_i.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.data.codes import cell_numbers, distinct
from srlib.dpmpm.kernels import THREADS
from srlib.dpmpm.model import Draws
from srlib.dpmpm.predict import cell_log_prob, left_out_log_ratios, neighbor_log_ratios
from srlib.risk.candidates import neighborhood_positions, subset_size
from srlib.risk.column import Column, Risk
from srlib.threads import one_blas_thread

# Numbers that one block of records times candidates or classes may have.
BLOCK = 1 << 18


@one_blas_thread
def release_log_prob(draws: Draws, released: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
    """Return log p(Z^(l) | theta) of each release under each draw (equations 13 and 14).

    The shape is (n_releases, n_chains, n_draws).
    """
    log_prob = []
    for release in released:
        combinations, counts, _ = distinct(release)
        log_prob.append(cell_log_prob(draws, combinations) @ counts.astype(float))
    return np.stack(log_prob)


def neighborhood_log_ratios(
    draws: Draws,
    codes: NDArray[np.integer],
    log_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return log weighted averages of p(x | theta) / p(x_i | theta) over the supports R_i.

    The arguments are those of `srlib.dpmpm.neighbor_log_ratios`, the candidates in the order of
    `neighborhood`: (n_weights, n_chains, n_combinations, support_size).
    """
    by_level = neighbor_log_ratios(draws, codes, log_weights)
    return np.take_along_axis(by_level, _neighborhood_rows(draws, codes)[None, None], axis=3)


def collapsed_log_ratios(
    draws: Draws, codes: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return averages with the same limits and less noise: pi and phi are integrated out.

    The arguments are those of `srlib.dpmpm.left_out_log_ratios`. Log ratios are (n_chains,
    n_combinations, support_size), the candidates in the order of `neighborhood`; log probabilities
    are the truth's.
    """
    by_level, log_prob = left_out_log_ratios(draws, codes)
    return np.take_along_axis(by_level, _neighborhood_rows(draws, codes)[None], axis=2), log_prob


def _neighborhood_rows(draws: Draws, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Row of ``phi`` in which each candidate differs, (n_combinations, support_size)."""
    level_start = np.cumsum(draws.n_levels) - draws.n_levels
    variable, level = neighborhood_positions(codes, draws.n_levels)
    return level_start[variable] + level


@one_blas_thread
def subset_log_means(
    draws: Draws,
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    left_out: ArrayLike = True,
    place: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Return log predictive probabilities of all values of some variables, for all records at once.

    The candidates of a record agree with it outside the unknown variables (section 4.2, equation
    16); there may be as many as `subset_support` has.

    Parameters
    ----------
    codes : (n, n_variables) int
        The true combinations x_i, coded from 0.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    left_out : (n,) bool, or one for all
        Whether a record is among those that the draws are given. It is then left out by
        averaging p(x | theta) / p(x_i | theta) instead of p(x | theta).
    place : (n, n_variables) int, optional
        The records x_i that are left out, whose place the candidates take; those of `codes` if not
        given.

    Returns
    -------
    (n_chains, n, prod(n_levels[unknown])) float64
        Log of each chain's mean, the truth first, then in lexicographic order.
    """
    codes, hidden = np.asarray(codes, dtype=np.int64), list(unknown)
    n, size = len(codes), subset_size(hidden, draws.n_levels)
    # Rows of phi: of known values, of the candidates' unknown ones, of the record left out.
    start = np.cumsum(draws.n_levels) - draws.n_levels
    shape = [int(draws.n_levels[k]) for k in hidden]
    known_rows = np.delete(start + codes, hidden, axis=1)
    unknown_rows = start[hidden] + np.indices(shape).reshape(-1, size).T
    place_rows = None if place is None else start + np.asarray(place, dtype=np.int64)
    truth = cell_numbers(codes[:, hidden], shape)
    is_left_out = np.broadcast_to(np.asarray(left_out, dtype=bool), n)
    sums = np.zeros((draws.n_chains, n, size))
    step = max(1, BLOCK // max(size, draws.n_classes))

    def run(chain: int, first: int) -> None:
        part = slice(first, first + step)
        for pi, phi in zip(draws.pi[chain], draws.phi[chain], strict=True):
            # Class weights of what is known, (n, F), times products of phi over what is not.
            weights = np.repeat(pi[None], len(known_rows[part]), axis=0)
            for rows in known_rows[part].T:
                weights *= phi[rows]
            prob = weights @ phi[unknown_rows].prod(axis=1, dtype=np.float64).T
            if place_rows is None:
                own = prob[np.arange(len(prob)), truth[part]]
            else:
                own = phi[place_rows[part]].prod(axis=1, dtype=np.float64) @ pi
            sums[chain, part] += prob / np.where(is_left_out[part], own, 1.0)[:, None]

    blocks = [(chain, first) for chain in range(draws.n_chains) for first in range(0, n, step)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, *zip(*blocks, strict=True)))
    others = np.arange(size - 1)
    order = np.column_stack([truth, others + (others >= truth[:, None])])
    return np.take_along_axis(np.log(sums) - np.log(draws.n_draws), order[None], axis=2)


def importance_sampling(
    weighted: NDArray[np.float64], plain: NDArray[np.float64], log_prior: ArrayLike = 0.0
) -> Risk:
    """Estimate with draws given D in the place of draws given D_i^x, as the paper does.

    In equations 11 to 15 p(Z^(l) | D_i^x) is estimated by sum_j p_jl r_j / sum_j r_j, with
    p_jl = p(Z^(l) | theta_j) and r_j = p(x | theta_j) / p(x_i | theta_j). Standard errors come from
    leaving out one chain at a time. Where one draw carries all the weight they are too small,
    whatever they are.

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
    column = Column(lambda mean: mean[:-1].sum(axis=0) - len(weighted) * mean[-1], [chains])
    return column.posterior(log_prior)


def predictive_ratio(log_ratios: Sequence[NDArray[np.float64]], log_prior: ArrayLike = 0.0) -> Risk:
    """Estimate from posterior predictive probabilities, with no likelihood of Z in the weights.

    ``P(Z | D_i^x) = P(Z | D_-i) p(x | D_-i, Z) / p(x | D_-i)``, and both predictive probabilities
    are, relative to those of x_i, averages of p(x | theta) / p(x_i | theta): over draws given D
    joined with Z, and over draws given D. The Monte Carlo error of the latter enters once for
    each release, with the same sign.

    Parameters
    ----------
    log_ratios : sequence of (n_chains_s, n_combinations, support_size) float
        Log of each chain's mean ratio, of two chains or more, one array a set in the order of
        `DrawSets`: over draws given D, then over draws given D joined with Z^(1), Z^(2) and so on.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.
    """
    return Column(log_likelihood, log_ratios).posterior(log_prior)


def log_likelihood(
    of_data: NDArray[np.float64], *of_joined: NDArray[np.float64], model_prior: bool = False
) -> NDArray[np.float64]:
    """Return log p(Z | D_i^x) of the candidates x up to a constant, from the sets' log means.

    With `model_prior` the model's prior ``p(x | D_-i)`` is in it (section 5), from the same draws:
    the exponent of that term is one less.
    """
    return reduce(np.add, of_joined) + (model_prior - len(of_joined)) * of_data


@one_blas_thread
def repeatability(one: Risk, other: Risk) -> dict[str, float]:
    """Compare two runs by the log probabilities of the true combinations.

    Median and 95th percentile of the absolute differences; the correlation; the share of
    differences within two stated standard errors; and of the combinations that the first run
    ranks among the first three, the share that the second does too (NaN if there are none).
    """
    first, second = one.log_prob[:, 0], other.log_prob[:, 0]
    difference = np.abs(first - second)
    stated = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0])
    top = one.rank <= 3
    return {
        "median difference": float(np.median(difference)),
        "95 % of differences below": float(np.quantile(difference, 0.95)),
        "correlation": float(np.corrcoef(first, second)[0, 1]),
        "within 2 stated errors": float(np.mean(difference < 2 * stated)),
        "top three kept": float(np.mean(other.rank[top] <= 3)) if top.any() else float("nan"),
    }
