"""Probabilities of combinations under draws of the DPMPM, and ratios of neighbors."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.special import logsumexp

from srlib import checks
from srlib.arrays import Floats, Generator, Ints, NDArray, log_or_minus_inf
from srlib.compiled import THREADS
from srlib.data.codes import Codes, row_numbers
from srlib.dpmpm.kernels import (
    Grouping,
    cell_log_probs,
    empty_tables,
    group_variables,
    leave_one_out_ratio_sums,
    neighbor_ratio_sums,
)
from srlib.dpmpm.model import Draws, Prior, checked_codes

# Combinations per block: every block rebuilds the tables of all draws, so it should be
# large.
COMBINATIONS = 1024


def cell_log_prob(draws: Draws, codes: Codes) -> Floats:
    """Return log probabilities of combinations under each draw.

    The result is (n_chains, n_draws, n_combinations). The classes are summed out: log
    sum_f pi_f prod_k phi_fk(x_k), the inner sum of equation 13. The combinations,
    (n_combinations, n_variables) coded from 0, need not occur in the data.
    """
    codes, groups, rows = _in_groups(draws, codes)
    log_prob = np.empty((draws.n_chains, draws.n_draws, len(codes)))

    def run(chain: int) -> None:
        tables = empty_tables(groups, draws.n_classes, np.float64)
        cell_log_probs(draws.pi[chain], draws.phi[chain], tables, rows, log_prob[chain])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(draws.n_chains)))
    return log_prob


def _in_groups(draws: Draws, codes: Codes) -> tuple[Ints, Grouping, Ints]:
    """Return codes as the kernels need them, their groups, and their rows in these."""
    codes, n_levels = checked_codes(codes, draws.n_levels)
    groups = group_variables(n_levels)
    return np.ascontiguousarray(codes, np.int64), groups, groups.rows(codes)


def prior_cell_log_prob(
    codes: Codes,
    n_levels: Ints,
    n_classes: int,
    n_draws: int,
    *,
    rng: Generator,
    prior: Prior | None = None,
) -> Floats:
    """Return log probabilities of combinations under prior draws.

    The result is (n_draws, n_combinations). The combinations are (n_combinations,
    n_variables), coded from 0. Log probabilities below that of the smallest double are
    `-inf`.
    """
    checks.at_least(1, n_classes=n_classes, n_draws=n_draws)
    codes, n_levels = checked_codes(codes, n_levels)
    prior = prior or Prior()
    log_pi = _stick_breaking(n_draws, n_classes, prior, rng)
    log_prob = np.repeat(log_pi[:, None], len(codes), axis=1)
    for column, levels in zip(codes.T, n_levels, strict=True):
        weights = rng.gamma(prior.concentration, size=(n_draws, levels, n_classes))
        log_total = log_or_minus_inf(weights.sum(axis=1, keepdims=True))
        log_phi = log_or_minus_inf(weights) - log_total
        log_prob += log_phi[:, column]
    return logsumexp(log_prob, axis=2)


def _stick_breaking(
    n_draws: int,
    n_classes: int,
    prior: Prior,
    rng: Generator,
) -> Floats:
    """Return log class probabilities drawn from the prior, (n_draws, n_classes)."""
    alpha = rng.gamma(prior.alpha_shape, 1 / prior.alpha_rate, (n_draws, 1))
    # log(1 - V) = log(U) / alpha for a stick V of Beta(1, alpha): no precision is lost
    # near one.
    with np.errstate(divide="ignore", over="ignore"):
        log_left = -rng.exponential(size=(n_draws, n_classes - 1)) / alpha
        log_stick = np.log(-np.expm1(log_left))
    log_pi = np.zeros((n_draws, n_classes))
    log_pi[:, :-1] = log_stick
    log_pi[:, 1:] += np.cumsum(log_left, axis=1)
    return log_pi


def run_in_blocks(
    run: Callable[[int, slice], None],
    n_chains: int,
    n_combinations: int,
    size: int,
) -> None:
    """Call ``run(chain, block of combinations)`` for all, in threads."""
    starts = range(0, n_combinations, size)
    blocks = [slice(start, start + size) for start in starts]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, np.repeat(range(n_chains), len(blocks)), blocks * n_chains))


def neighbor_log_ratios(
    draws: Draws,
    codes: Codes,
    log_weights: Floats | None = None,
) -> Floats:
    """Return the log of sums over each chain's draws of p(x' | draw) / p(x | draw).

    The sums are weighted. x' runs over the combinations that differ from x in one
    variable (the space R_i of section 3.1); the ratio is the summand of equation 15.
    The log weights are (n_weights, n_chains, n_draws); without them the result is the
    logarithm of each chain's mean.

    Returns
    -------
    (n_weights, n_chains, n_combinations, sum(n_levels)) float64
        Candidate (variable, level) has the position of that level in ``phi``. If it is
        the level of x itself, the value is the logarithm of the sum of the weights.
    """
    if log_weights is None:
        log_weights = np.full((1, *draws.alpha.shape), -np.log(draws.n_draws))
    # In each chain the largest weight is one; a chain may also have zero weight.
    largest = log_weights.max(axis=2, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    weights = np.exp(log_weights - largest)
    codes, groups, rows = _in_groups(draws, codes)
    sums = np.zeros((*largest.shape[:2], len(codes), draws.phi.shape[2]))

    def run(chain: int, block: slice) -> None:
        neighbor_ratio_sums(
            draws.pi[chain],
            draws.phi[chain],
            empty_tables(groups, draws.n_classes, np.float64),
            rows[block],
            codes[block],
            weights[:, chain],
            sums[:, chain, block],
        )

    run_in_blocks(run, draws.n_chains, len(codes), COMBINATIONS)
    return log_or_minus_inf(sums) + largest[..., None]


def leave_one_out_log_ratios(
    draws: Draws, codes: Codes
) -> tuple[Floats, NDArray[np.float32]]:
    """Return log means over each chain's draws of p(x' | others) / p(x | others).

    These have the same limit as `neighbor_log_ratios`, with less noise: ``p(x' | D_-i)
    / p(x_i | D_-i)`` is the mean, over allocations of all records given D, of the ratio
    of predictive probabilities given the allocations of the other records. These
    probabilities are sums over classes of posterior means, in which pi and phi are
    integrated out (Rao-Blackwell). The draws must have their allocations, and the
    combinations must occur in their data.

    Returns
    -------
    log_ratios : (n_chains, n_combinations, sum(n_levels)) float64
        As in `neighbor_log_ratios`; zero if a candidate is x itself.
    log_prob : (n_chains, n_draws, n_combinations) float32
        log p(x | allocations of the other records). Its negative is the log importance
        weight of a draw given D as a draw given ``D_-i``.
    """
    kept = draws.allocations
    if kept is None:
        raise ValueError(
            "draws have no allocations; sample them with keep_allocations=True"
        )
    codes, groups, rows = _in_groups(draws, codes)
    places = _places(kept.combinations, codes, draws.n_levels)
    sums = np.zeros((draws.n_chains, len(codes), draws.phi.shape[2]))
    log_prob = np.empty((draws.n_chains, draws.n_draws, len(codes)), np.float32)

    def run(chain: int, block: slice) -> None:
        leave_one_out_ratio_sums(
            draws.alpha[chain],
            draws.class_sizes[chain],
            kept.level_counts[chain],
            kept.class_of[chain].take(places[block], axis=1),
            kept.concentration,
            empty_tables(groups, draws.n_classes, np.float64),
            rows[block],
            codes[block],
            sums[chain, block],
            log_prob[chain, :, block],
        )

    run_in_blocks(run, draws.n_chains, len(codes), COMBINATIONS)
    return np.log(sums / draws.n_draws), log_prob


def _places(
    combinations: Codes,
    codes: Codes,
    n_levels: Ints,
) -> Ints:
    """Return the position of each row among distinct combinations, which must occur."""
    joined = np.concatenate([combinations, codes])
    places = row_numbers(joined, n_levels)[len(combinations) :]
    is_new = places >= len(combinations)
    if is_new.any():
        row = is_new.argmax()
        raise ValueError(
            f"codes, row {row}, is {codes[row].tolist()}, "
            "which does not occur in the data of the draws; "
            "only records of the data can be left out"
        )
    return places
