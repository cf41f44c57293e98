"""Monte Carlo estimators of the posterior disclosure risk, from draws of the DPMPM.

Hu, Reiter and Wang (2014), section 3: an intruder who knows all records but one weighs
each candidate x for the last one by the probability of the release given that
candidate, ``p(Z | X_i = x, D_-i)``. This module has two Monte Carlo estimators of these
probabilities. Both average ratios p(x | theta) / p(x_i | theta) over posterior draws
theta, so that they take the same arrays and can be compared term by term. The first
candidate of every support is the true record x_i.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from srlib.arrays import ArrayLike, Bools, Floats, Ints, NDArray
from srlib.data import Codes, cell_numbers, distinct
from srlib.dpmpm import (
    Draws,
    cell_log_prob,
    leave_one_out_log_ratios,
    neighbor_log_ratios,
)
from srlib.dpmpm.predict import run_in_blocks
from srlib.risk.candidates import one_variable_positions, unknown_values
from srlib.risk.likelihood import CandidateLikelihood, Risk
from srlib.threads import one_blas_thread

# Largest product of records and candidates, or of records and classes, in one block.
BLOCK = 1 << 18


@one_blas_thread
def release_log_prob(draws: Draws, released: Sequence[Codes]) -> Floats:
    """Return log p(Z^(l) | theta) of each release under each draw.

    These are equations 13 and 14. The shape is (n_releases, n_chains, n_draws).
    """
    log_prob = []
    for release in released:
        combinations, counts, _ = distinct(release)
        log_prob.append(cell_log_prob(draws, combinations) @ counts)
    return np.stack(log_prob)


def one_variable_log_ratios(
    draws: Draws, codes: Codes, log_weights: Floats | None = None
) -> Floats:
    """Return log weighted averages of p(x | theta) / p(x_i | theta).

    The candidates x are the supports R_i, in the order of `one_variable_supports`. The
    arguments are those of `srlib.dpmpm.neighbor_log_ratios`. The result is (n_weights,
    n_chains, n_combinations, support_size).
    """
    by_level = neighbor_log_ratios(draws, codes, log_weights)
    return np.take_along_axis(by_level, _phi_rows(draws, codes)[None, None], axis=3)


def collapsed_log_ratios(
    draws: Draws, codes: Codes
) -> tuple[Floats, NDArray[np.float32]]:
    """Return averages with the same limits but less noise: without pi and phi.

    Both are integrated out. The arguments are those of
    `srlib.dpmpm.leave_one_out_log_ratios`. The log ratios are (n_chains,
    n_combinations, support_size), the candidates in the order of
    `one_variable_supports`; the log probabilities are those of the true records.
    """
    by_level, log_prob = leave_one_out_log_ratios(draws, codes)
    return np.take_along_axis(by_level, _phi_rows(draws, codes)[None], axis=2), log_prob


def _phi_rows(draws: Draws, codes: Codes) -> Ints:
    """Return the row of ``phi`` that each candidate sets, (n_combinations, size)."""
    variable, level = one_variable_positions(codes, draws.n_levels)
    first_rows = np.cumsum(draws.n_levels) - draws.n_levels  # of each variable
    return first_rows[variable] + level


@one_blas_thread
def subset_log_means(
    draws: Draws,
    codes: Codes,
    unknown: Sequence[int],
    *,
    in_data: ArrayLike = True,
    replaced: Codes | None = None,
) -> Floats:
    """Return log predictive probabilities of all values of some variables.

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
    hidden = list(unknown)
    values = unknown_values(hidden, draws.n_levels)
    truth = cell_numbers(codes[:, hidden], draws.n_levels[hidden])
    start = np.cumsum(draws.n_levels) - draws.n_levels  # each variable's first row
    known_rows = np.delete(start + codes, hidden, axis=1)
    records = [known_rows, truth, np.broadcast_to(in_data, len(codes))]
    if replaced is not None:
        records.append(start + replaced)
    sums = _ratio_sums(draws, start[hidden] + values, records)
    # The true record goes first; the others keep their order.
    order = np.argsort(np.arange(len(values)) != truth[:, None], kind="stable")
    return np.take_along_axis(np.log(sums) - np.log(draws.n_draws), order[None], axis=2)


def _ratio_sums(draws: Draws, unknown_rows: Ints, records: Sequence[NDArray]) -> Floats:
    """Return sums of ratios over each chain's draws, (n_chains, n, size).

    The arguments are those of `_chain_ratio_sums`, which takes records in blocks.
    """
    n, size = len(records[0]), len(unknown_rows)
    sums = np.empty((draws.n_chains, n, size))

    def run(chain: int, part: slice) -> None:
        sums[chain, part] = _chain_ratio_sums(
            draws.pi[chain], draws.phi[chain], unknown_rows, *(x[part] for x in records)
        )

    run_in_blocks(run, draws.n_chains, n, max(1, BLOCK // max(size, draws.n_classes)))
    return sums


def _chain_ratio_sums(
    pis: Iterable[Floats],
    phis: Iterable[Floats],
    unknown_rows: Ints,
    known_rows: Ints,
    truth: Ints,
    in_data: Bools,
    replaced_rows: Ints | None = None,
) -> Floats:
    """Return sums over draws of p(x | theta), or of its ratio to p(x_i | theta).

    The ratio is that of records in the data. The shape is (n, size). The candidates x
    have rows of ``phi`` for their unknown values, (size, n_unknown); each record i has
    rows for its known values, (n, n_known), and the position of its true values among
    the candidates, (n,). If the candidates replace another record, its rows are (n,
    n_variables).
    """
    sums = np.zeros((len(known_rows), len(unknown_rows)))
    for pi, phi in zip(pis, phis, strict=True):
        # p(x | theta) sums pi times all phi over classes; known values come first.
        weights = np.repeat(pi[None], len(sums), axis=0)  # (n, n_classes)
        for rows in known_rows.T:
            weights *= phi[rows]
        prob = weights @ phi[unknown_rows].prod(axis=1, dtype=float).T
        if replaced_rows is None:
            own = prob[np.arange(len(prob)), truth]
        else:
            own = phi[replaced_rows].prod(axis=1, dtype=float) @ pi
        sums += prob / np.where(in_data, own, 1.0)[:, None]
    return sums


@one_blas_thread
def record_log_ratios(
    draws: Draws, codes: Codes, people: Codes, chosen: Ints
) -> Floats:
    """Return log averages of p(x | theta) / p(x_i | theta) for people x.

    The draws are given the records x_i, (n, n_variables), which the ratio leaves out.
    The people of each are at the positions `chosen`, (n, n_chosen). The result is
    (n_chains, n, 1 + n_chosen), with the record itself, whose ratio is 1, first.
    """
    own = cell_log_prob(draws, codes)  # (n_chains, n_draws, n)
    others = cell_log_prob(draws, people)  # (n_chains, n_draws, n_people)
    log_means = np.zeros((draws.n_chains, len(codes), 1 + chosen.shape[1]))
    for chain in range(draws.n_chains):
        smallest = own[chain].min(axis=0)
        largest = others[chain].max(axis=0)
        weights = np.exp(smallest - own[chain])  # at most 1
        sums = weights.T @ np.exp(others[chain] - largest)  # (n, n_people)
        scale = largest - smallest[:, None]
        log_mean = np.log(sums / draws.n_draws) + scale
        log_means[chain, :, 1:] = np.take_along_axis(log_mean, chosen, axis=1)
    return log_means


def importance_sampling(weighted: Floats, plain: Floats) -> Risk:
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
    """
    chains = np.moveaxis(np.concatenate([weighted, plain]), 1, 0)
    likelihood = CandidateLikelihood(
        lambda mean: mean[:-1].sum(axis=0) - len(weighted) * mean[-1], [chains]
    )
    return likelihood.posterior()


def predictive_ratio(log_ratios: Sequence[Floats]) -> Risk:
    """Estimate the risk from posterior predictive probabilities, without weights.

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
    """
    return CandidateLikelihood(log_likelihood, log_ratios).posterior()


def log_likelihood(given_data: Floats, *given_joined: Floats) -> Floats:
    """Return log p(Z | D_i^x) of the candidates x up to a constant, from log means.

    It is the sum over releases of log p(x | D_-i, Z^(l)) - log p(x | D_-i).
    """
    return reduce(np.add, given_joined) - len(given_joined) * given_data


@one_blas_thread
def repeatability(one: Risk, other: Risk) -> dict[str, float]:
    """Compare two runs by the log posterior probabilities of the true combinations.

    Returns the median and the 95th percentile of the absolute differences; the
    correlation; the share of differences within two standard errors; and, among the
    combinations that the first run ranks in the top three, the share that the second
    does too (NaN if there are none).
    """
    first = one.log_prob[:, 0]
    second = other.log_prob[:, 0]
    difference = np.abs(first - second)
    standard_error = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0])
    top = one.rank <= 3
    return {
        "median difference": np.median(difference),
        "95th percentile of differences": np.quantile(difference, 0.95),
        "correlation": np.corrcoef(first, second)[0, 1],
        "within 2 standard errors": np.mean(difference < 2 * standard_error),
        "top three kept": np.mean(other.rank[top] <= 3) if top.any() else np.nan,
    }
