"""Convergence of Markov chains and reliability of importance weights, by way of ArviZ.

Samples are arrays (chains, draws). The thresholds are those of Vehtari, Gelman, Simpson,
Carpenter and Bürkner (2021): R-hat at most 1.01, and 400 effective draws in bulk and tails.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.display import Callout, callout

MAX_R_HAT = 1.01
MIN_EFFECTIVE_DRAWS = 400
# What sorts the draws of each quantity takes so many of them at a time: copies of all fill memory.
QUANTITIES = 256

CONVERGED = "converged"
NOT_MIXED = f"R-hat above {MAX_R_HAT}"
TOO_FEW = f"too few effective draws (below {MIN_EFFECTIVE_DRAWS})"
CONSTANT = "constant"
UNKNOWN = "R-hat unknown (one chain or values that are not finite)"


def r_hat(draws: ArrayLike) -> NDArray[np.float64]:
    """Rank-normalized split R-hat of each quantity (Vehtari and others 2021).

    Draws are (chains, draws) or (chains, draws, quantities). R-hat is about 1 when the chains agree
    and infinite when each chain sits on a value of its own; it is NaN for a single chain, for a
    constant and where a value is not finite.
    """
    from arviz_stats.base import array_stats

    every = np.asarray(draws)
    if every.ndim == 3 and every.shape[2] > QUANTITIES:
        blocks = range(0, every.shape[2], QUANTITIES)
        return np.concatenate([r_hat(every[..., at : at + QUANTITIES]) for at in blocks])
    sample = _checked(every)
    if len(sample) == 1:
        return np.full(sample.shape[2:], np.nan)
    finite = np.isfinite(sample).all(axis=(0, 1))
    sample = np.where(finite, sample, 0.0)
    stuck = (np.ptp(sample, axis=1) == 0).all(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.asarray(array_stats.rhat(sample, chain_axis=0, draw_axis=1))
    value = np.where(stuck, np.where(np.ptp(sample, axis=(0, 1)) == 0, np.nan, np.inf), value)
    return value[()]  # of one quantity a number: older pandas keep arrays without axes as objects


def summary(quantities: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Mean, Monte Carlo error and convergence of scalar quantities.

    Quantities are draws, (chains, draws), by name, and should not depend on the labels of mixture
    components. Each has a row: quantity, mean, sd, mcse (of the mean), ess_bulk, ess_tail (the
    smaller of the 5 % and 95 % quantiles'), r_hat and verdict, one of `CONVERGED`, `NOT_MIXED`,
    `TOO_FEW`, `CONSTANT` and `UNKNOWN`.
    """
    from arviz_stats.base import array_stats

    axes, rows = {"chain_axis": 0, "draw_axis": 1}, []
    for name, draws in quantities.items():
        sample = _checked(draws)
        if sample.ndim != 2:
            raise ValueError(f"{name} has shape {sample.shape}; it must be (chains, draws)")
        finite, constant = np.isfinite(sample).all(), (sample == sample.flat[0]).all()
        mean = sd = mcse = bulk = tail = np.nan
        if finite:
            mean, sd, mcse = sample.mean(), sample.std(ddof=1), 0.0
        if finite and not constant:
            mcse = array_stats.mcse(sample, method="mean", **axes)
            bulk = array_stats.ess(sample, method="bulk", **axes)
            tail = array_stats.ess(sample, method="tail", prob=(0.05, 0.95), **axes)
        of_chains = float(r_hat(sample))
        word = CONSTANT if constant else _word(of_chains, bulk, tail)
        rows.append((name, *map(float, (mean, sd, mcse, bulk, tail)), of_chains, word))
    columns = ["quantity", "mean", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def verdict(table: pd.DataFrame) -> Callout:
    """Say in words whether the numbers of a `summary` may be relied on.

    It is a warning where chains disagree, are too short or cannot be judged.
    """
    sentences = []
    if apart := _names(table, NOT_MIXED):
        worst = table.loc[table["verdict"] == NOT_MIXED, "r_hat"].max()
        sentences.append(
            f"R-hat is above {MAX_R_HAT} for {apart} (largest: {worst:.2f}): the chains have not "
            "visited the same part of the posterior, so effective sample sizes and Monte Carlo "
            "errors computed within chains are too optimistic. Read the numbers below as averages "
            "over the places where these chains settled, and their error from the spread between "
            "chains."
        )
    if few := _names(table, TOO_FEW):
        sentences.append(
            f"Fewer than {MIN_EFFECTIVE_DRAWS} effective draws for {few}: the chains agree, but "
            "means are rough and quantiles and R-hat itself unreliable; run longer."
        )
    if unknown := _names(table, UNKNOWN):
        sentences.append(
            f"Convergence of {unknown} cannot be judged: it takes two chains or more and finite "
            "values."
        )
    kind = "Warning" if sentences else "Note"
    if constant := _names(table, CONSTANT):
        sentences.append(
            f"No draw of {constant} differs from another, so there is nothing to judge."
        )
    if not sentences:
        sentences.append(
            f"R-hat is at most {MAX_R_HAT} and there are at least {MIN_EFFECTIVE_DRAWS} effective "
            "draws for every quantity: no sign that the chains disagree."
        )
    return callout(kind, " ".join(sentences))


def long_format(quantities: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Draws, (chains, draws) by name, as the charts of chains take them.

    Each draw has a row: quantity, chain (from 1), draw (from 1) and value.
    """
    frames = []
    for name, draws in quantities.items():
        sample = _checked(draws)
        chain, draw = np.indices(sample.shape).reshape(2, -1) + 1
        columns = {"quantity": name, "chain": chain, "draw": draw, "value": sample.ravel()}
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def importance_ess(log_weights: ArrayLike) -> NDArray[np.float64]:
    """Effective sample size of importance weights, (sum w)^2 / sum w^2 (Kish 1965).

    Log weights are (..., draws), known up to a constant; -inf is a weight of 0. The result lies
    between 1 (one draw carries everything) and the number of draws.
    """
    weights = _relative_weights(log_weights)
    return weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)


def pareto_k(log_weights: ArrayLike) -> NDArray[np.float64]:
    """Shape of the generalized Pareto tail of importance weights (Vehtari and others 2024).

    Log weights are (..., draws), known up to a constant along the last axis. Above 0.7 the
    estimator is unreliable with any practicable number of draws; from 1 on its weights have no
    mean. The shape is infinite where the tail spans more than 350 units of log weight, beyond what
    could be fitted, and NaN where no tail can be fitted: fewer than 30 draws, or a tail of equal
    weights.
    """
    from arviz_stats.base import array_stats

    every = np.asarray(log_weights)
    if every.ndim == 2 and len(every) > QUANTITIES:
        blocks = range(0, len(every), QUANTITIES)
        return np.concatenate([pareto_k(every[at : at + QUANTITIES]) for at in blocks])
    weights = _relative_weights(every)
    log = np.asarray(every, dtype=float).reshape(-1, weights.shape[-1])
    k = np.full(len(log), np.nan)
    if log.shape[-1] >= 30:
        tail_start = np.quantile(log, 0.8, axis=-1, method="lower")
        fits = log.max(axis=-1) > tail_start
        # psislw takes log-likelihoods left out, the negative of a log weight.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            k[fits] = [array_stats.psislw(-row)[1] for row in log[fits]]
        # psislw fits the largest min(S / 5, 3 sqrt(S)) weights. Where they span more than half the
        # range of doubles its sums overflow, and what it returns has no meaning.
        n_draws = log.shape[-1]
        n_tail = int(np.ceil(min(0.2 * n_draws, 3 * np.sqrt(n_draws))))
        smallest = np.partition(log, n_draws - n_tail, axis=-1)[:, n_draws - n_tail]
        k[fits & (log.max(axis=-1) - smallest > 350)] = np.inf
    return k.reshape(weights.shape[:-1])


def psis_log_weights(log_weights: ArrayLike) -> NDArray[np.float64]:
    """Log weights whose largest are replaced by quantiles of the fitted Pareto tail (PSIS).

    The log weights are (..., draws), finite, known up to a constant. Rows whose tail cannot be
    fitted stay as they are.
    """
    from arviz_stats.base import array_stats

    log = np.array(log_weights, dtype=float)
    rows = log.reshape(-1, log.shape[-1])
    for i in np.flatnonzero(np.isfinite(pareto_k(rows))):
        rows[i] = array_stats.psislw(-rows[i])[0]
    return rows.reshape(log.shape)


def importance_summary(log_weights: ArrayLike) -> pd.DataFrame:
    """How much of each importance sampling estimate rests on how many draws.

    Log weights are (synthetic data sets, draws). Each data set has a row: synthetic_set (from 1),
    draws, ess, largest_share (of the total weight, carried by the draw with the largest) and
    pareto_k.
    """
    weights = np.atleast_2d(_relative_weights(log_weights))
    return pd.DataFrame(
        {
            "synthetic_set": np.arange(1, len(weights) + 1),
            "draws": weights.shape[1],
            "ess": np.atleast_1d(importance_ess(log_weights)),
            "largest_share": weights.max(axis=1) / weights.sum(axis=1),
            "pareto_k": np.atleast_1d(pareto_k(log_weights)),
        }
    )


def _checked(draws: ArrayLike) -> NDArray[np.float64]:
    sample = np.asarray(draws, dtype=float)
    if sample.ndim not in (2, 3) or sample.shape[0] < 1 or sample.shape[1] < 4:
        raise ValueError(
            f"draws has shape {sample.shape}; it must be (chains, draws) or (chains, draws, "
            "quantities) with at least 4 draws"
        )
    return sample


def _word(r_hat: float, ess_bulk: float, ess_tail: float) -> str:
    if np.isnan(r_hat):
        return UNKNOWN
    if r_hat > MAX_R_HAT:
        return NOT_MIXED
    return TOO_FEW if min(ess_bulk, ess_tail) < MIN_EFFECTIVE_DRAWS else CONVERGED


def _names(table: pd.DataFrame, word: str) -> str:
    return ", ".join(table.loc[table["verdict"] == word, "quantity"])


def _relative_weights(log_weights: ArrayLike) -> NDArray[np.float64]:
    """Weights divided by the largest of the draws."""
    log = np.asarray(log_weights, dtype=float)
    if log.ndim == 0 or log.shape[-1] == 0:
        raise ValueError(f"log_weights has shape {log.shape}; it must hold at least one draw")
    largest = log.max(axis=-1, keepdims=True)
    if not np.isfinite(largest).all():
        raise ValueError(
            "log_weights must not be NaN or +inf, and not -inf for every draw of an estimate"
        )
    return np.exp(log - largest)
