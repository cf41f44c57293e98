"""Convergence of Markov chains and reliability of importance weights, with ArviZ.

Samples are arrays (chains, draws). The thresholds are those of Vehtari, Gelman,
Simpson, Carpenter and Bürkner (2021): R-hat at most 1.01, and 400 effective draws in
bulk and tails.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from srlib.arrays import ArrayLike, Floats
from srlib.display import Callout, callout

MAX_R_HAT = 1.01
MIN_EFFECTIVE_DRAWS = 400
# Quantities per block: functions that sort the draws copy them, which for all would
# fill memory.
BLOCK_QUANTITIES = 256


CONVERGED = "converged"
NOT_MIXED = f"R-hat above {MAX_R_HAT}"
TOO_FEW = f"too few effective draws (below {MIN_EFFECTIVE_DRAWS})"
CONSTANT = "constant"
UNKNOWN = "R-hat unknown (a single chain, or values that are not finite)"


def r_hat(draws: ArrayLike) -> Floats:
    """Return the rank-normalized split R-hat of each quantity (Vehtari et al. 2021).

    Draws are (chains, draws) or (chains, draws, quantities). R-hat is about 1 if the
    chains agree, and infinite if each chain is constant at a different value. It is NaN
    for a single chain, for a constant, and for values that are not finite.
    """
    from arviz_stats.base import array_stats

    values = np.asarray(draws)
    if values.ndim == 3 and values.shape[2] > BLOCK_QUANTITIES:
        starts = range(BLOCK_QUANTITIES, values.shape[2], BLOCK_QUANTITIES)
        blocks = np.split(values, starts, axis=2)
        return np.concatenate([r_hat(block) for block in blocks])
    sample = _checked(values)
    if len(sample) == 1:
        return np.full(sample.shape[2:], np.nan)
    finite = np.isfinite(sample).all(axis=(0, 1))
    sample = np.where(finite, sample, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.asarray(array_stats.rhat(sample, chain_axis=0, draw_axis=1))
    is_stuck = (np.ptp(sample, axis=1) == 0).all(axis=0)  # each chain is constant
    is_constant = np.ptp(sample, axis=(0, 1)) == 0
    value[is_stuck] = np.inf
    value[is_constant] = np.nan
    # A scalar for one quantity: older pandas stores 0-d arrays as objects.
    return value[()]


def summary(quantities: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Return the mean, Monte Carlo error and convergence of scalar quantities.

    `quantities` maps names to draws, (chains, draws), which should not depend on the
    labels of mixture components. Each has a row: quantity, mean, sd, mcse (of the
    mean), ess_bulk, ess_tail (the smaller of those of the 5 % and 95 % quantiles),
    r_hat and verdict: `CONVERGED`, `NOT_MIXED`, `TOO_FEW`, `CONSTANT` or `UNKNOWN`.
    """
    columns = [
        "quantity",
        "mean",
        "sd",
        "mcse",
        "ess_bulk",
        "ess_tail",
        "r_hat",
        "verdict",
    ]
    rows = [{"quantity": name, **_row(name, x)} for name, x in quantities.items()]
    return pd.DataFrame(rows, columns=columns)


def _row(name: str, draws: ArrayLike) -> dict[str, Any]:
    """Return the diagnostics of one quantity, without those that are NaN."""
    from arviz_stats.base import array_stats

    sample = _checked(draws)
    if sample.ndim != 2:
        raise ValueError(f"{name} has shape {sample.shape}; it must be (chains, draws)")
    row: dict[str, Any] = {"r_hat": float(r_hat(sample))}
    is_constant = (sample == sample.flat[0]).all()
    if np.isfinite(sample).all():
        row |= {"mean": sample.mean(), "sd": sample.std(ddof=1), "mcse": 0.0}
        if not is_constant:
            # Plain floats: 0-d arrays would make a column of objects.
            tail = array_stats.ess(sample, method="tail", prob=(0.05, 0.95))
            row["mcse"] = float(array_stats.mcse(sample))
            row["ess_bulk"] = float(array_stats.ess(sample, method="bulk"))
            row["ess_tail"] = float(tail)
    row["verdict"] = CONSTANT if is_constant else _convergence(row)
    return row


def verdict(table: pd.DataFrame) -> Callout:
    """Return the convergence of a `summary` in sentences.

    They are a warning if chains disagree, are too short or cannot be assessed.
    """
    sentences = []
    if apart := _names(table, NOT_MIXED):
        worst = table.loc[table["verdict"] == NOT_MIXED, "r_hat"].max()
        sentences.append(
            f"R-hat is above {MAX_R_HAT} for {apart} (largest: {worst:.2f}): the "
            "chains explore different parts of the posterior, so effective sample "
            "sizes and Monte Carlo errors computed within chains are too optimistic. "
            "The numbers below are averages over these parts; judge their error from "
            "the differences between chains."
        )
    if few := _names(table, TOO_FEW):
        sentences.append(
            f"Fewer than {MIN_EFFECTIVE_DRAWS} effective draws for {few}: the chains "
            "agree, but means are imprecise, and quantiles and R-hat unreliable. Run "
            "longer chains."
        )
    if unknown := _names(table, UNKNOWN):
        sentences.append(
            f"Convergence of {unknown} cannot be assessed: this needs two or more "
            "chains with finite values."
        )
    kind = "Warning" if sentences else "Note"
    if constant := _names(table, CONSTANT):
        sentences.append(
            f"All draws of {constant} are equal, so convergence is not assessed."
        )
    if not sentences:
        sentences.append(
            f"R-hat is at most {MAX_R_HAT} and there are at least "
            f"{MIN_EFFECTIVE_DRAWS} effective draws for every quantity: no sign of "
            "disagreement between chains."
        )
    return callout(kind, " ".join(sentences))


def long_format(quantities: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Return draws, (chains, draws) by name, in long format for `charts.trace`.

    Each draw has a row: quantity, chain (from 1), draw (from 1) and value.
    """
    frames = []
    for name, draws in quantities.items():
        sample = _checked(draws)
        chain, draw = np.indices(sample.shape).reshape(2, -1) + 1
        value = sample.ravel()
        columns = {"quantity": name, "chain": chain, "draw": draw, "value": value}
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def importance_ess(log_weights: ArrayLike) -> Floats:
    """Return the effective sample size of weights, (sum w)^2 / sum w^2 (Kish 1965).

    Log weights are (..., draws), up to a constant; -inf is a weight of 0. The result
    lies between 1 (one draw carries all weight) and the number of draws.
    """
    weights = _relative_weights(log_weights)
    return weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)


def pareto_k(log_weights: ArrayLike) -> Floats:
    """Return Pareto k: the generalized Pareto shape of the weights' tail.

    See Vehtari and others (2024). Log weights are (..., draws), up to a constant along
    the last axis. Above 0.7 the estimator is unreliable at any practical number of
    draws; from 1 on the weights have no mean. Pareto k is infinite if the tail spans
    more than 350 units of log weight, too many to be fitted. It is NaN if no tail can
    be fitted: with fewer than 30 draws, or equal weights in the tail.
    """
    tail_shapes = np.vectorize(_tail_shape, otypes=[float], signature="(n)->()")
    return tail_shapes(_checked_weights(log_weights))


def _tail_shape(log: Floats) -> float:
    """Return Pareto k of one estimate's log weights, (n_draws,)."""
    from arviz_stats.base import array_stats

    n_draws = len(log)
    if n_draws < 30 or log.max() <= np.quantile(log, 0.8, method="lower"):
        return np.nan
    # psislw fits the largest min(S / 5, 3 sqrt(S)) weights. If they span more than half
    # the range of doubles, its sums overflow and its result is meaningless.
    n_tail = int(np.ceil(min(0.2 * n_draws, 3 * np.sqrt(n_draws))))
    if np.ptp(np.partition(log, -n_tail)[-n_tail:]) > 350:
        return np.inf
    # psislw takes leave-one-out log likelihoods, the negatives of log weights.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return array_stats.psislw(-log)[1]


def psis_log_weights(log_weights: ArrayLike) -> Floats:
    """Return Pareto-smoothed log weights (PSIS).

    The largest weights become quantiles of the fitted tail. Log weights are
    (..., draws), finite, up to a constant. Rows without a fit are unchanged.
    """
    from arviz_stats.base import array_stats

    log = np.array(log_weights, float)
    rows = log.reshape(-1, log.shape[-1])
    for i in np.flatnonzero(np.isfinite(pareto_k(rows))):
        rows[i] = array_stats.psislw(-rows[i])[0]
    return rows.reshape(log.shape)


def importance_summary(log_weights: ArrayLike) -> pd.DataFrame:
    """Return diagnostics of the importance weights of each synthetic data set.

    Log weights are (synthetic data sets, draws). Each data set has a row: synthetic_set
    (from 1), draws, ess, largest_share (the share of the total weight on a single draw)
    and pareto_k.
    """
    log = np.atleast_2d(_checked_weights(log_weights))
    weights = _relative_weights(log)
    return pd.DataFrame(
        {
            "synthetic_set": np.arange(1, len(weights) + 1),
            "draws": weights.shape[1],
            "ess": importance_ess(log),
            "largest_share": 1 / weights.sum(axis=1),
            "pareto_k": pareto_k(log),
        }
    )


def _checked(draws: ArrayLike) -> Floats:
    sample = np.asarray(draws, float)
    if sample.ndim not in (2, 3) or len(sample) < 1 or sample.shape[1] < 4:
        raise ValueError(
            f"draws has shape {sample.shape}; it must be (chains, draws) or "
            "(chains, draws, quantities) with at least 4 draws"
        )
    return sample


def _convergence(row: Mapping[str, Any]) -> str:
    if np.isnan(row["r_hat"]):
        return UNKNOWN
    if row["r_hat"] > MAX_R_HAT:
        return NOT_MIXED
    n_effective = min(row["ess_bulk"], row["ess_tail"])
    return TOO_FEW if n_effective < MIN_EFFECTIVE_DRAWS else CONVERGED


def _names(table: pd.DataFrame, verdict: str) -> str:
    return ", ".join(table.loc[table["verdict"] == verdict, "quantity"])


def _relative_weights(log_weights: ArrayLike) -> Floats:
    """Return weights relative to the largest."""
    log = _checked_weights(log_weights)
    return np.exp(log - log.max(axis=-1, keepdims=True))


def _checked_weights(log_weights: ArrayLike) -> Floats:
    """Return log weights as an array; a ValueError unless their sums are positive."""
    log = np.asarray(log_weights, float)
    if log.ndim == 0 or log.shape[-1] == 0:
        raise ValueError(
            f"log_weights has shape {log.shape}; it must have at least one draw"
        )
    if not np.isfinite(log.max(axis=-1)).all():
        raise ValueError(
            "log_weights must not be NaN or +inf, nor -inf for all draws of an estimate"
        )
    return log
