"""Verdicts on claims about intruders who know less or more, decided by a run of their notebook.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from srlib.display import Callout, callout
from srlib.papers.claims import (
    ERRORS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Verdict,
    at_most,
    of_share,
    share_above,
    span,
)
from srlib.risk.estimators import Risk, exceeds, mean_difference


def conservative(log_ratio_one: ArrayLike, log_ratio_all: ArrayLike, error: ArrayLike) -> Verdict:
    """Say whether a small support is conservative against a guess.

    Parameters
    ----------
    log_ratio_one, log_ratio_all : (n,) float
        Log of posterior over prior of the truth, over the small support and over every cell.
    error : (n,) float
        Standard errors of their differences.
    """
    one, every = np.asarray(log_ratio_one), np.asarray(log_ratio_all)
    higher, possibly = share_above(every - one, error)
    return Verdict(
        of_share(1 - possibly, 1 - higher),
        "For the probability and the rank it is proved. Against a guess: the ratio to the prior is "
        f"higher over every cell for {higher:.1%} of the combinations and lower for "
        f"{1 - possibly:.1%}, beyond two standard errors. The largest ratio is "
        f"{np.exp(one.max()):.1f} over one change and {np.exp(every.max()):.1f} over every cell.",
    )


def says_little(
    log_gain: NDArray[np.float64], error: NDArray[np.float64], prior: float, factor: float = 1.5
) -> Verdict:
    """Say whether a release leaves the probability of true values within a factor of the prior.

    Parameters
    ----------
    log_gain, error : (n,) float
        Log of posterior over prior and its standard error.
    prior : float
        The prior probability of the true values, the same for all records.
    factor : float
        Above 1.
    """
    low, high = share_above(-np.abs(log_gain), error, -np.log(factor))
    return Verdict(
        of_share(low, high),
        f"Before any release {prior:.2f} of the candidates have the true values, so that the "
        f"release can multiply their probability by {1 / prior:.2f} at most. It multiplies it by "
        f"{np.exp(log_gain.min()):.2f} to {np.exp(log_gain.max()):.2f}. That is within a factor of "
        f"{factor:g} for {span(low, high)} of the combinations, give or take two standard "
        "errors.",
    )


def can_guess(told: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether a release raises the probability of the truth by a factor.

    Parameters
    ----------
    told : DataFrame
        As `risk.evidence` returns.
    factor : float
        Above 1.
    """
    low, high = share_above(told["log_gain"], told["log_gain_mcse"], np.log(factor))
    below, _ = share_above(-told["log_gain"], told["log_gain_mcse"])
    top = told["log_gain"].argmax()
    largest, error = np.exp(told["log_gain"].iloc[top]), told["log_gain_mcse"].iloc[top]
    return Verdict(
        of_share(low, high),
        f"The release multiplies the prior of the truth by more than {factor:g} for "
        f"{span(low, high)} of the combinations, give or take two standard errors. For "
        f"{below:.1%} it makes the truth less probable, beyond two standard errors. The largest "
        f"factor is {largest:.2f} ± {largest * error:.2f}.",
    )


def adds_little(told: Mapping[str, pd.DataFrame], factor: float = 1.5) -> Verdict:
    """Say whether posterior and informative prior of the truth are within a factor.

    Parameters
    ----------
    told : mapping of str to DataFrame
        As `risk.evidence` returns for the model's own prior, by set of unknown variables;
        the set with the smallest shares decides.
    factor : float
        Above 1.
    """
    shares = [
        share_above(-np.abs(t["log_gain"]), t["log_gain_mcse"], -np.log(factor))
        for t in told.values()
    ]
    low, high = (min(bounds) for bounds in zip(*shares, strict=True))
    return Verdict(
        of_share(low, high),
        f"Posterior and prior are within a factor of {factor:g} for {span(low, high)} of the "
        "combinations, give or take two standard errors, for the set of unknown variables where "
        "these are fewest.",
    )


def safe_knowing_less(
    paper: tuple[Risk, Risk], own: tuple[Risk, Risk], least: float, most: float
) -> Verdict:
    """Say whether the truth is less probable, on average, to an intruder who knows less.

    Parameters
    ----------
    paper, own : tuple of two Risk
        Under the uniform prior of the paper and under the model's own: risks of the same records
        for the intruder who knows less, and for the one who knows more.
    least, most : float
        Shares of the other records that the two know.

    Returns
    -------
    Verdict
        Its word is that of the paper's prior, or ``"depends on the prior"`` where the model's own
        has the opposite one.
    """
    found = [mean_difference(*risks) for risks in (paper, own)]
    words = [at_most(*of_prior, 0.0) for of_prior in found]
    texts = [f"{mean:+.3f} ± {error:.3f}" for mean, error in found]
    single = [exceeds(*risks)["beyond error"] for risks in (paper, own)]
    return Verdict(
        "depends on the prior" if {*words} == {HOLDS, FAILS} else words[0],
        f"If the intruder knows a share of {least:g} of the other records instead of {most:g}, the "
        f"log probability of the truth changes by {texts[0]} on average with the uniform prior and "
        f"by {texts[1]} with the model's own (*{words[1]}*). It is higher beyond two standard "
        f"errors for {single[0]:.1%} and {single[1]:.1%} of the participants.",
    )


def needs_sampling(table: pd.DataFrame) -> Verdict:
    """Say whether two releases ask for the unknown records to be sampled, or a shortcut would do.

    Parameters
    ----------
    table : DataFrame
        A row for each share known and way, one of which is ``"sampled"``: share known, way,
        median distance from that one, and error of log p. A shortcut is as good as where it is
        worst, and the best of them decides.
    """
    own = table[table["way"] == "sampled"].set_index("share known")["error of log p"]
    short = table[table["way"] != "sampled"]
    worst = short.loc[short.groupby("way")["median distance"].idxmax()]
    best = worst.loc[worst["median distance"].idxmin()]
    distance = best["median distance"]
    error = float(np.hypot(best["error of log p"], own[best["share known"]]))
    apart = distance > ERRORS * error
    return Verdict(
        "depends on the number of releases" if apart else UNDECIDED,
        "For one release it is proved that nothing has to be sampled. For two, the best shortcut, "
        f"*{best['way']}*, is off by a median of {distance:.3f} in the log probability, with an "
        f"error of {error:.3f}, where a share of {best['share known']:g} of the other records is "
        "known.",
    )


def participants_beyond(averages: pd.DataFrame) -> Callout:
    """Say how much more a release adds for participants than for outsiders.

    Parameters
    ----------
    averages : DataFrame
        As `risk.PartialKnowledge.averages` returns, with a column share_known: groups
        ``"participants"`` and ``"outsiders"`` for the intruders who know least and most.
    """
    rows = averages.set_index(["share_known", "group"])
    said = []
    for known in (averages["share_known"].min(), averages["share_known"].max()):
        outside, inside = (rows.loc[(known, group)] for group in ("outsiders", "participants"))
        errors = [np.hypot(row["gain_se"], row["gain_mcse"]) for row in (outside, inside)]
        said.append(
            f"To an intruder who knows a share of {known:g} of the other records the release adds "
            f"{outside['gain']:.3f} ± {errors[0]:.3f} to the log probability of the truth for "
            f"outsiders, and {inside['gain'] - outside['gain']:.3f} ± {np.hypot(*errors):.3f} more "
            "for participants."
        )
    return callout("What the release adds", " ".join(said))


# ------------------------------------------------------------------------- what more knowledge does


def knowing_more(n: int, n_released: int) -> pd.DataFrame:
    """Average over all cases what an intruder believes of the truth, by the records known.

    One yes/no variable whose proportion has a uniform prior, one release from the model. All
    data sets, sought records and releases are enumerated with their probabilities.

    Parameters
    ----------
    n, n_released : int
        Records of the data and of the release, at least 1.

    Returns
    -------
    DataFrame
        One row a number of other records known, 0 to n - 1: known; own and uniform, expected log
        posterior probabilities of the truth under the model's own and under a uniform prior; and
        lower_own and lower_uniform, the probability that the truth is less probable to the
        intruder who knows all the others.
    """

    def ways(size: int, of: NDArray[np.int64]) -> NDArray[np.float64]:
        return gammaln(size + 1) - gammaln(of + 1) - gammaln(size - of + 1)

    def beliefs(
        known: int, ones: NDArray[np.int64], released: NDArray[np.int64], truth: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Log probabilities of the truth under either prior."""
        before = (1 + ones) / (2 + known)
        after = (1 + ones + released) / (2 + known + n_released)
        odds = after / (1 - after) * (1 - before) / before
        return [np.log(np.where(truth, p, 1 - p)) for p in (after, odds / (1 + odds))]

    rows = []
    for known in range(n):
        others = n - 1 - known
        c, u, x, z = np.indices((known + 1, others + 1, 2, n_released + 1))
        ones, total = c + u + x + z, n + n_released
        log_prob = ways(known, c) + ways(others, u) + ways(n_released, z)
        prob = np.exp(log_prob + betaln(1 + ones, 1 + total - ones))
        row: dict[str, float] = {"known": known}
        every = zip(beliefs(known, c, z, x), beliefs(n - 1, c + u, z, x), strict=True)
        for name, (less, more) in zip(("own", "uniform"), every, strict=True):
            row[name] = float((prob * less).sum())
            row[f"lower_{name}"] = float(prob[more < less - 1e-12].sum())
        rows.append(row)
    return pd.DataFrame(rows)[["known", "own", "uniform", "lower_own", "lower_uniform"]]
