"""Verdicts on the claims of Hu, Reiter and Wang (2014), decided by a run of its notebook.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.inference import AgainstSampling
from srlib.papers.claims import (
    ERRORS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Verdict,
    at_most,
    of_intervals,
    of_share,
    share_above,
    span,
)
from srlib.risk.estimators import Risk, share_ranked

# Effective draws that know an average to about ten percent; where there are fewer than 400 draws,
# a quarter of them.
EFFECTIVE_DRAWS, EFFECTIVE_SHARE = 100, 0.25
# Pareto's k from which on importance sampling is of no use (Vehtari and others 2024).
LARGEST_K = 0.7


def keeps_pairs(off: AgainstSampling, limit: float = np.sqrt(2)) -> Verdict:
    """Say whether the releases keep the joint distributions of pairs of variables.

    Parameters
    ----------
    off : AgainstSampling
        As `inference.against_sampling` returns.
    limit : float
        For the ratio of a release's differences to those of another sample.
    """
    return Verdict(
        at_most(off.ratio, off.error, limit),
        f"In the mean over the releases a cell is off by {100 * off.difference:.2f} percentage "
        f"points on average. In a single release it is off by {100 * off.single:.2f}, which is "
        f"{off.ratio:.2f} ± {off.error:.2f} times as much as in another sample of the population; "
        f"the limit is {limit:.2f}.",
    )


def agrees_on_coefficients(table: pd.DataFrame) -> Verdict:
    """Say whether a regression on the releases agrees with the original one.

    Parameters
    ----------
    table : DataFrame
        As `inference.coefficients` returns.
    """
    inside, total = int(table["original"].between(table["low"], table["high"]).sum()), len(table)
    return Verdict(
        of_intervals(inside, total),
        f"{inside} of {total} original estimates lie in the synthetic interval of 95 %. The mean "
        f"overlap of the two intervals is {table['overlap'].mean():.2f}.",
    )


def weights_suffice(table: pd.DataFrame) -> Verdict:
    """Say whether importance sampling can be relied on for every release.

    A posterior probability multiplies what all releases say, so the worst one decides. The
    error of Pareto's k is that of its maximum likelihood estimate, (1 + k) over the square root of
    the draws in the tail.

    Parameters
    ----------
    table : DataFrame
        As `diagnostics.importance_summary` returns: draws, ess and pareto_k, a row a release; k
        is NaN where the weights have no tail that could be fitted.

    Returns
    -------
    Verdict
        `HOLDS` where every release leaves enough effective draws and a k of at most 0.7, `FAILS`
        where one leaves too few or a k above that by more than two errors, else `UNDECIDED`.
    """
    draws, ess = int(table["draws"].min()), float(table["ess"].min())
    needed = min(EFFECTIVE_DRAWS, EFFECTIVE_SHARE * draws)
    k = float(table["pareto_k"].max())
    # diagnostics.pareto_k fits as many of the largest weights.
    tail = np.ceil(min(draws / 5, 3 * np.sqrt(draws)))
    error = max(1 + k, 0.0) / np.sqrt(tail) if np.isfinite(k) else 0.0
    if ess < needed or k - ERRORS * error > LARGEST_K:
        word = FAILS
    else:
        word = UNDECIDED if k > LARGEST_K else HOLDS
    of_k = f"{k:.2f} ± {error:.2f}" if np.isfinite(k) else "infinite" if k > 0 else "not defined"
    return Verdict(
        word,
        f"In the worst release {ess:,.1f} of {draws:,} draws are effective, and {needed:g} are "
        f"needed. The largest Pareto $k$ is {of_k}, and the limit is {LARGEST_K}.",
    )


def rarely_first(log_ratios: Sequence[NDArray[np.float64]], first: int = 3) -> Verdict:
    """Say whether the truth is among the first candidates less often than in a random order.

    Parameters
    ----------
    log_ratios
        As of `risk.predictive_ratio`.
    first : int
        How many candidates count as the first.
    """
    n, size = log_ratios[0].shape[1:]
    share, mcse = share_ranked(log_ratios, first)
    by_chance = min(first / size, 1.0)
    error = float(np.hypot(mcse, np.sqrt(by_chance * (1 - by_chance) / n)))
    return Verdict(
        at_most(share, error, by_chance),
        f"The truth is among the first {first} of {size} candidates for {share:.1%} of {n:,} "
        f"combinations. A random order would put it there for {by_chance:.1%} ± {error:.1%}.",
    )


def near_prior(risk: Risk, factor: float = 2.0) -> Verdict:
    """Say whether most probabilities of the truth are within a factor of the uniform prior.

    Parameters
    ----------
    risk : Risk
        Under a uniform prior.
    factor : float
        Above 1.
    """
    apart = np.abs(risk.log_prob[:, 0] + np.log(risk.support_size))
    low, high = share_above(-apart, risk.log_mcse[:, 0], -np.log(factor))
    top = risk.probability.argmax()
    largest, error = risk.probability[top], risk.log_mcse[top, 0]
    return Verdict(
        of_share(low, high, most=0.5),
        f"{span(low, high)} of the probabilities are within a factor of {factor:g} of the prior, "
        f"1/{risk.support_size}, give or take two standard errors. The largest is {largest:.3f} ± "
        f"{largest * error:.3f}, {largest * risk.support_size:.1f} times the prior.",
    )


def more_from_part(part: pd.DataFrame, whole: pd.DataFrame) -> Verdict:
    """Say whether a release tells more of a part of a record than of the whole of it.

    Parameters
    ----------
    part, whole : DataFrame
        Of the same records: probability of the truth under a uniform prior, log_mcse and
        support_size.
    """
    over_part, over_whole = (t["probability"] * t["support_size"] for t in (part, whole))
    more = np.log(over_part.to_numpy() / over_whole.to_numpy())
    error = np.hypot(part["log_mcse"], whole["log_mcse"])
    n_more, n_less = ((sign * more > ERRORS * error).sum() for sign in (1, -1))
    return Verdict(
        of_share(*share_above(more, error)),
        "Compared with the whole record, the release multiplies the prior of the part by more for "
        f"{n_more} of {len(more)} records and by less for {n_less}, beyond two standard errors. "
        f"The largest factor is {over_part.max():.1f}, against {over_whole.max():.1f} for a whole "
        "record.",
    )
