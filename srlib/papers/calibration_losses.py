"""Privacy losses and risks before release: tables of them, and verdicts on what is said of them.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from srlib import diagnostics
from srlib.display import percent
from srlib.mechanism.acceptance import Rule, acceptable_releases, redraw
from srlib.mechanism.core import Mechanism
from srlib.mechanism.edp import beta_posterior
from srlib.mechanism.families import beta_binomial
from srlib.mechanism.privacy import conditional_epsilon, exact_epsilon, privacy_loss
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED, Verdict, at_most, of_share, share_above
from srlib.papers.one_table import bin_losses, losses
from srlib.risk.before import RiskBeforeRelease
from srlib.risk.loss import PrivacyLosses

# Headings of what tables show.
COLUMNS = {
    "delta_mcse": "its error",
    "delta_upper": "upper limit",
    "risk_mcse": "error of risk",
    "expected_mcse": "its error",
    "worst_mcse": "error of worst",
    "error": "error of a loss",
    "spread": "spread over releases",
    "by_half": "largest, half of the chains",
    "crossed": "largest, crossed",
    "delta_by_half": "delta, half of the chains",
    "epsilon_again": "epsilon, again",
    "conditional_again": "conditional, again",
}
# Rows of `by_setting` and what tables call them.
AGAINST = ("each alternative", "all together")


def small_example(n: int, x: int, bins: int) -> tuple[Mechanism, pd.DataFrame, pd.DataFrame]:
    """Return the beta-binomial on n people of whom x are sick, its losses, and those of bins.

    Parameters
    ----------
    n, x : int
        People, and how many of them are sick. As many are released, under a uniform prior.
    bins : int
        Bins of a draw from the posterior of the share, whose largest loss is EDP.

    Returns
    -------
    table : Mechanism
    of_releases, of_bins : DataFrame
        As `srlib.charts.privacy_loss` takes them.
    """
    table = beta_binomial(n, n, alpha=1.0)

    def posterior(ones: int, records: int) -> Any:
        return beta_posterior(ones, records, 1.0)

    return table, losses(table, x), bin_losses(posterior, x, n, bins)


def of_records(found: Mapping[str, PrivacyLosses], prior: float, most: int) -> pd.DataFrame:
    """Return the losses of some records, as `srlib.charts.record_losses` takes them.

    Parameters
    ----------
    found : mapping of str to PrivacyLosses
        By synthesizer, of the same records against all alternatives together.
    prior : float
        Prior probability of the truth, in (0, 1).
    most : int
        Records to show at most, evenly spaced in the order of their expected risk by the first
        synthesizer.
    """
    risk = next(iter(found.values())).risk(prior).value
    order = np.argsort(-risk, kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).astype(int))
    parts = [
        pd.DataFrame(
            {
                "record": f"rank {rank + 1}, {name}" if len(found) > 1 else f"rank {rank + 1}",
                "synthesizer": name,
                "loss": each.losses[:, order[rank], 0],
                "probability": each.columns.weights,
            }
        )
        for rank in ranks
        for name, each in found.items()
    ]
    return pd.concat(parts, ignore_index=True)


def by_setting(found: Mapping[str, PrivacyLosses], epsilon: float) -> pd.DataFrame:
    """Tabulate summaries of privacy losses.

    Parameters
    ----------
    found : mapping of str to PrivacyLosses
        By what the synthesizer is called, each of single releases and alternatives.
    epsilon : float
        Of delta.

    Returns
    -------
    DataFrame
        synthesizer; against, each alternative or all together; infinite, the share of the losses
        that are; medians over records of largest, delta, delta_upper and risk, the mean posterior
        at a prior of one over the number of candidates (one half against a single alternative),
        and of the errors of delta and risk.
    """
    rows = []
    for name, single in found.items():
        size = single.columns.log_likelihood.shape[2]
        for against, own, prior in zip(
            AGAINST, (single, single.against_all()), (0.5, 1 / size), strict=True
        ):
            delta, risk = own.delta(epsilon), own.risk(prior)
            middle = {
                "largest": own.largest, "delta": delta.value, "delta_mcse": delta.mcse,
                "delta_upper": own.delta_upper(epsilon), "risk": risk.value,
                "risk_mcse": risk.mcse,
            }  # fmt: skip
            rows.append(
                {"synthesizer": name, "against": against, "infinite": _infinite(own)}
                | {column: _median(value) for column, value in middle.items()}
            )
    return pd.DataFrame(rows)


def of_chains(found: PrivacyLosses, epsilon: float) -> pd.DataFrame:
    """Tabulate what the error of chains does to losses that they estimate.

    Parameters
    ----------
    found : PrivacyLosses
        Of single releases and alternatives, estimated by chains.
    epsilon : float
        Of delta.

    Returns
    -------
    DataFrame
        against, as of `by_setting`; medians over records, alternatives and releases of error (of a
        loss) and spread (standard deviation over releases); medians over records of largest,
        by_half (of the chains), crossed (`PrivacyLosses.largest_crossed`), delta and
        delta_by_half.
    """
    rows = []
    for against, own in zip(AGAINST, (found, found.against_all()), strict=True):
        mcse = own.columns.log_mcse
        halves = [replace(own, losses=half) for half in own.half_losses]
        middle = {
            "error": np.hypot(mcse[..., :1], mcse[..., 1:]).ravel(),
            "spread": own.losses.std(axis=0, ddof=1).ravel(),
            "largest": own.largest,
            "by_half": np.mean([half.largest for half in halves], axis=0),
            "crossed": own.largest_crossed,
            "delta": own.delta(epsilon).value,
            "delta_by_half": np.mean([half.delta(epsilon).value for half in halves], axis=0),
        }
        rows.append(
            {"against": against} | {name: _median(values) for name, values in middle.items()}
        )
    return pd.DataFrame(rows)


def half_by_half(found: PrivacyLosses, prior: float) -> pd.DataFrame:
    """Return posterior probabilities by each half of the chains, for `srlib.charts.agreement`.

    Parameters
    ----------
    found : PrivacyLosses
        Against all alternatives together, estimated by chains.
    prior : float
        Prior probability of the truth, in (0, 1).

    Returns
    -------
    DataFrame
        x and y, one row for each record and release.
    """
    x, y = expit(found.half_losses[..., 0] + logit(prior)).reshape(2, -1)
    return pd.DataFrame({"x": x, "y": y})


def said_of_chains(found: PrivacyLosses, needed: float = diagnostics.MAX_R_HAT) -> str:
    """Say how far the chains of losses agree, and what their error does to the largest loss.

    Parameters
    ----------
    found : PrivacyLosses
        Of single releases and alternatives, estimated by chains.
    needed : float
        R-hat up to which chains agree.
    """
    chains = found.columns.convergence
    if chains is None:
        return "No chains: these losses have no Monte Carlo error."
    good = (chains["r_hat_95"] <= needed).sum()
    share = np.mean(found.largest_crossed < found.largest)
    return (
        f"Chains given the data and joined with each of {len(chains) - 1} releases: R-hat of the "
        f"records' log probabilities is {chains['r_hat_median'].median():.2f} for the median "
        f"record and set, and at most {chains['r_hat_largest'].max():.2f}; for 95 % of the "
        f"records it is at most {needed:g} in {good} of {len(chains)} sets. Effective draws of the "
        f"records' mean: {chains['ess_of_mean'].min():.0f} to {chains['ess_of_mean'].max():.0f}. "
        f"The largest loss falls for {percent(share)} of the records if one half of the chains "
        "seeks its place and the other is read there."
    )


def _infinite(found: PrivacyLosses) -> float:
    return float(np.isposinf(found.losses).mean())


def _median(values: NDArray[np.float64]) -> float:
    """The median of numbers that may be infinite, the lower of two in the middle."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def composed(
    found: Mapping[str, PrivacyLosses],
    sizes: Sequence[int],
    epsilon: float,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Tabulate what several releases tell, by adding the losses of single ones.

    Parameters
    ----------
    found : mapping of str to PrivacyLosses
        By synthesizer, of single releases and alternatives.
    sizes : sequence of int
        Releases in a publication.
    epsilon : float
        Of delta.
    rng : numpy.random.Generator
        Source of sets of releases.

    Returns
    -------
    DataFrame
        synthesizer, releases, and of the losses against all alternatives together: largest and
        delta; risk, the mean posterior at a uniform prior; medians over records, as are the
        errors.
    """
    rows = []
    for (name, single), m in product(found.items(), sizes):
        own = (single if m == 1 else single.composed(m, rng=rng)).against_all()
        delta = own.delta(epsilon)
        risk = own.risk(1 / single.columns.log_likelihood.shape[2])
        rows.append(
            {
                "synthesizer": name,
                "releases": m,
                "largest": _median(own.largest),
                "delta": _median(delta.value),
                "delta_mcse": _median(delta.mcse),
                "risk": _median(risk.value),
                "risk_mcse": _median(risk.mcse),
            }
        )
    return pd.DataFrame(rows)


def over_records(before: Mapping[str, RiskBeforeRelease]) -> pd.DataFrame:
    """Return the risks of publications over all records, one synthesizer below the other.

    Parameters
    ----------
    before : mapping of str to RiskBeforeRelease
        By synthesizer.

    Returns
    -------
    DataFrame
        synthesizer, summary and the columns of `RiskBeforeRelease.over_records`.
    """
    tables = {name: each.over_records() for name, each in before.items()}
    return pd.concat(tables, names=["synthesizer", "summary"]).reset_index()


# -------------------------------------------------------------------------------------- verdicts


def seen_is_bound(found: PrivacyLosses) -> Verdict:
    """Say whether the largest loss over half of the releases bounds those of the other half.

    Parameters
    ----------
    found : PrivacyLosses
        Of drawn single releases, against all alternatives together.
    """
    value = np.abs(found.losses[..., 0])
    half = len(value) // 2
    first, second = value[:half].max(axis=0), value[half : 2 * half].max(axis=0)
    finite = np.isfinite(first)
    over = (second > first)[finite]
    if not len(over):
        return Verdict(UNDECIDED, "All records have infinite losses.")
    return Verdict(
        FAILS if over.any() else HOLDS,
        f"For {over.sum()} of {len(over)} records without an infinite loss in the first {half} "
        "releases the other half has a larger one. Chance alone gives one in two, however many "
        "releases there are.",
    )


def small_risk_small_delta(
    found: PrivacyLosses, epsilon: float, risky: float = 0.5, small: float = 0.1
) -> Verdict:
    """Say whether delta is small where the risk before release is below a limit.

    Parameters
    ----------
    found : PrivacyLosses
        Of single releases and alternatives.
    epsilon : float
        Of delta.
    risky : float
        Limit of the mean posterior probability of the truth among all candidates.
    small : float
        What counts as a small delta.
    """
    size = found.columns.log_likelihood.shape[2]
    risk = found.against_all().risk(1 / size)
    low = risk.value + 2 * risk.mcse < risky
    if not low.any():
        return Verdict(UNDECIDED, f"No record has a risk that is surely below {risky:g}.")
    delta = found.delta(epsilon)
    least, most = share_above(small - delta.value[low], delta.mcse[low])
    return Verdict(
        of_share(least, most),
        f"Of {low.sum()} records with an expected risk below {risky:g}, delta at an epsilon of "
        f"{epsilon:g} is below {small:g} for {percent(most)}; its median is "
        f"{np.median(delta.value[low]):.2f}.",
    )


def like_the_next(before: RiskBeforeRelease, factor: float = 1.5, most: float = 0.9) -> Verdict:
    """Say whether the risk after one release is near the expected one.

    Parameters
    ----------
    before : RiskBeforeRelease
        Over drawn publications.
    factor : float
        What the two may differ by, above 1.
    most : float
        Share of records and publications for which they do not differ by more.
    """
    p = before.probability
    others = (p.sum(axis=0) - p) / (len(p) - 1)  # a publication's own risk is not in its mean
    near = (np.abs(np.log(p / others)) < np.log(factor)).mean(axis=1)
    share, error = float(near.mean()), float(near.std(ddof=1) / np.sqrt(len(near)))
    of_top = np.take_along_axis(p, others.argmax(axis=1)[:, None], axis=1)[:, 0]
    top = float((of_top >= p.max(axis=1) - 1e-9).mean())  # several may be certain
    return Verdict(
        at_most(-share, error, -most),
        f"The risk after a release is within a factor of {factor:g} of its mean over the others "
        f"for {percent(share)} ± {percent(error)} of records and releases (limit "
        f"{percent(most)}). The record with the highest mean has the highest risk, or shares it, "
        f"in {percent(top)} of the releases.",
    )


# --------------------------------------------------------------------------------- drawing again


def drawn_again(table: Mechanism, x: int, limits: Sequence[float], prior: float) -> pd.DataFrame:
    """Tabulate exactly what drawing again does to one data set of counts.

    A release is acceptable if no posterior odds rise by more than a factor, whatever the record.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes.
    x : int
        Ones in the data, 1 or more; the record at risk has a one.
    limits : sequence of float
        Factors, above 1.
    prior : float
        Prior probability of the one, in (0, 1).

    Returns
    -------
    DataFrame
        limit; accepted, the probability that a first release is; expected posteriors of the truth
        first (of the first release), shown (of the accepted one, as if it were the first) and
        known (to an intruder who knows the rule); certain, the probability that the value is then
        certain; epsilon before and epsilon_again; conditional_again, of these data alone.
    """
    rows = []
    p, loss = np.exp(table.row(x)), privacy_loss(table, x, x - 1)
    for limit in limits:
        kept = acceptable_releases(table, [Rule(rr_at_most=limit)])
        again = redraw(table, kept)
        q, own = np.exp(again.row(x)), privacy_loss(again, x, x - 1)
        # Where nothing is ever accepted nothing is shown.
        shown = np.append(expit(loss + logit(prior)), prior)
        rows.append(
            {
                "limit": limit,
                "accepted": p @ kept[x],
                "first": p @ shown[:-1],
                "shown": q @ shown,
                "known": q @ expit(own + logit(prior)),
                "certain": q @ np.isposinf(own),
                "epsilon": exact_epsilon(table).value,
                "epsilon_again": exact_epsilon(again).value,
                "conditional_again": conditional_epsilon(again)[x],
            }
        )
    return pd.DataFrame(rows)


def lowers_risk(table: Mechanism, limits: Sequence[float], prior: float) -> Verdict:
    """Say whether drawing again lowers the risk, for all data sets with a one, by enumeration.

    Parameters
    ----------
    table, limits, prior
        As of `drawn_again`.
    """
    every = pd.concat([drawn_again(table, x, limits, prior) for x in range(1, table.n_inputs)])
    some = every[every["accepted"] < 1 - 1e-12]
    if not len(some):
        return Verdict(UNDECIDED, "No release is rejected at any limit.")
    higher = (some["known"] > some["first"] + 1e-12).mean()
    seen = (some["shown"] < some["first"] - 1e-12).mean()
    no_bound = np.isinf(every.groupby("limit")["epsilon_again"].first())
    word = HOLDS if higher == 0 else FAILS if higher == 1 else "depends on the data and the rule"
    return Verdict(
        word,
        f"Over {len(some)} data sets and limits at which something is rejected, the expected risk "
        f"as the agency computes it falls in {percent(seen)}; that to an intruder who knows the "
        f"rule rises in {percent(higher)}. Epsilon, {every['epsilon'].iloc[0]:.2f} before, is "
        f"infinite for {no_bound.sum()} of {len(no_bound)} limits.",
    )
