"""An intruder who knows all other records and takes the DPMPM for the generator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib.assessment.matching import over_releases
from srlib.assessment.submission import Submission
from srlib.assessment.verdict import SURE
from srlib.data.codes import Codes, Levels, distinct
from srlib.dpmpm.model import Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.mechanism.bayes import posterior
from srlib.risk.agreement import APART, convergence
from srlib.risk.errors import jackknife
from srlib.risk.estimators import collapsed_log_ratios, log_likelihood, predictive_ratio
from srlib.risk.sets import DrawSets

_BLOCK = 20_000  # combinations whose candidates are held at once


@dataclass(frozen=True)
class Model:
    """Findings under the intruder's model.

    Attributes
    ----------
    risks, copies_by_model, chains : DataFrame
        As `model_risks`, `copies` and `convergence` return.
    gains : DataFrame
        A row for each model that an intruder may believe in, ``"a DPMPM"`` and ``"independent
        margins"``: low, median, high and largest, the factors by which the release multiplies the
        probability of the true target, at the 5th, 50th, 95th and 100th percentile of the records;
        misled, the share of records with a factor below 1; and, for the DPMPM, inverse and
        inverse_error, the mean of prior over posterior and its standard error, and belief, what
        follows from these by `belief`.
    median : (value, low, high)
        Factor by which the release multiplies the probability of the true target for the median
        record, and its 95 % interval between chains.
    high : float
        The factor at the 95th percentile of the records.
    gains_by_group : DataFrame, optional
        A row a level of the submission's variable `by` that somebody in the original has: group,
        its label; people; median, median_low and median_high, as above for these people; high; and
        ratio, ratio_low and ratio_high, its median over that of all other people and its 95 %
        interval between chains. NaN where there are no others. None without such a variable.
    """

    risks: pd.DataFrame
    copies_by_model: pd.DataFrame
    chains: pd.DataFrame
    gains: pd.DataFrame
    median: tuple[float, float, float]
    high: float
    gains_by_group: pd.DataFrame | None = None

    @property
    def converged(self) -> bool:
        """Whether all sets of chains agree."""
        return bool((self.chains["apart"] <= APART).all())

    @property
    def belief(self) -> str:
        """What the release says of the model, as `belief` returns."""
        return str(self.gains.loc[0, "belief"])


def belief(inverse: float, error: float) -> str:
    r"""Say whether the gains refute the model behind them.

    Where the model is right, the truth is a draw from the posterior. Prior over posterior of the
    truth then averages :math:`\sum_x p(x \mid Z) \, p(x) / p(x \mid Z) = 1`, whatever the
    release. An average above 1 says that the model misleads the intruder, one below 1 that the
    release tells more than it can explain.

    Parameters
    ----------
    inverse, error : float
        Mean over the records of prior over posterior of the truth, and its standard error.

    Returns
    -------
    str
        ``"misleads"`` or ``"falls short"`` where the mean is more than 2.58 errors above or below
        1, else ``"not refuted"``.
    """
    if abs(inverse - 1) <= SURE * error or not np.isfinite(error):
        return "not refuted"
    return "misleads" if inverse > 1 else "falls short"


@dataclass(frozen=True)
class OfOriginal:
    """What follows from the original's draws alone, whatever is released.

    Attributes
    ----------
    chains : DataFrame
        As `convergence` returns, one row.
    log_ratios : (n_chains, n_combinations, support_size) float, optional
        As `risk.collapsed_log_ratios` returns; None where there are too many to be kept.
    log_inverse_prob : (n_chains, n_alone) float
        Log of the sum over a chain's draws of 1 / p(x), for records alone with all their values.
    """

    chains: pd.DataFrame
    log_ratios: NDArray[np.float64] | None
    log_inverse_prob: NDArray[np.float64]


def of_original(original: Codes, draws: Draws) -> OfOriginal:
    """Compute what several releases of an original share.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0.
    draws : Draws
        Given these records, with their allocations.
    """
    combinations, _, _ = distinct(original)
    few = len(combinations) <= _BLOCK
    return OfOriginal(
        convergence({"the original": draws}, combinations),
        collapsed_log_ratios(draws, combinations)[0] if few else None,
        _log_inverse_prob(original, draws),
    )


def believe(submission: Submission, sets: DrawSets, known: OfOriginal | None = None) -> Model:
    """Update the intruder's beliefs by the releases, taken together.

    Parameters
    ----------
    submission, sets, known
        As `findings.examine`.
    """
    original, released, target = submission.original, submission.released, submission.target
    known = known or of_original(original, sets.data)
    combinations, repetitions, _ = distinct(original)
    named = {f"the original and release {i}": d for i, d in enumerate(sets.joined, start=1)}
    by = submission.by
    risks, (values, errors) = model_risks(
        sets, combinations, repetitions, target, log_ratios=known.log_ratios,
        groups=None if by is None else combinations[:, by],
    )  # fmt: skip
    (median, high), error = np.exp(values[:2]), 1.96 * errors[0]
    log_gains = np.repeat(risks["log_gain"].to_numpy(), repetitions)
    inverse = repetitions * (np.exp(-risks["log_gain"]) - values[2])
    spread = np.hypot(np.sqrt((inverse**2).sum()) / len(original), errors[2])
    by_margins = log_gains_by_margins(original, released, submission.schema.n_levels, target)
    gains = pd.DataFrame([_spread_of_gains(each) for each in (log_gains, by_margins)])
    gains.insert(0, "believes_in", ["a DPMPM", "independent margins"])
    gains["inverse"], gains["inverse_error"] = [values[2], np.nan], [spread, np.nan]
    gains["belief"] = [belief(values[2], spread), ""]
    return Model(
        risks=risks,
        copies_by_model=_copies(original, released, known.log_inverse_prob, sets.data.n_draws),
        chains=pd.concat([known.chains, convergence(named, combinations)], ignore_index=True),
        gains=gains,
        median=(float(median), float(median * np.exp(-error)), float(median * np.exp(error))),
        high=float(high),
        gains_by_group=None if by is None else _of_groups(submission, by, values[3:], errors[3:]),
    )


def _of_groups(
    submission: Submission, by: int, values: NDArray[np.float64], errors: NDArray[np.float64]
) -> pd.DataFrame:
    """Tabulate the quantiles of groups that `model_risks` returns."""
    column, labels = submission.original[:, by], submission.schema.variables[by].labels
    codes, people = np.unique(column, return_counts=True)
    median, high, ratio = values.reshape(3, -1)
    median_error, _, ratio_error = 1.96 * errors.reshape(3, -1)
    return pd.DataFrame(
        {
            "group": [labels[code] for code in codes],
            "people": people,
            "median": np.exp(median),
            "median_low": np.exp(median - median_error),
            "median_high": np.exp(median + median_error),
            "high": np.exp(high),
            "ratio": np.exp(ratio),
            "ratio_low": np.exp(ratio - ratio_error),
            "ratio_high": np.exp(ratio + ratio_error),
        }
    )


def _spread_of_gains(log_gains: NDArray[np.float64]) -> dict[str, float]:
    values = np.exp(np.quantile(log_gains, [0.05, 0.5, 0.95, 1])).tolist()
    found = dict(zip(("low", "median", "high", "largest"), values, strict=True))
    return found | {"misled": float((log_gains < 0).mean())}


def log_gains_by_margins(
    original: Codes, released: Sequence[Codes], n_levels: Levels, target: int
) -> NDArray[np.float64]:
    r"""Gains of an intruder who believes that the variables are independent, exactly.

    With c and z counting the other original and the released records that have a level of the
    target, and a uniform prior on its margin, the prior of a level is proportional to
    :math:`c + 1`, and m releases multiply it by :math:`\prod_l (c + 1 + z_l) / (c + 1)`.

    Parameters
    ----------
    original, released
        As `copies`.
    n_levels : (p,) int
        Number of levels of each variable.
    target : int
        Column of the target.

    Returns
    -------
    (n,) float
        Logarithm of posterior over prior of each record's true target.
    """
    size = int(n_levels[target])
    of_original = np.bincount(original[:, target], minlength=size)
    of_released = [np.bincount(z[:, target], minlength=size) for z in released]
    gains = np.zeros(size)
    for level in np.flatnonzero(of_original):
        prior = of_original + 1.0
        prior[level] -= 1
        weight = prior * np.prod([1 + z / prior for z in of_released], axis=0)
        gains[level] = np.log(weight[level] / weight.sum()) - np.log(prior[level] / prior.sum())
    return gains[original[:, target]]


def model_risks(
    sets: DrawSets,
    combinations: Codes,
    repetitions: NDArray[np.integer],
    target: int,
    *,
    log_ratios: NDArray[np.float64] | None = None,
    groups: NDArray[np.integer] | None = None,
) -> tuple[pd.DataFrame, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Risks under an intruder who knows all other records and takes the DPMPM for the generator.

    Two questions on each original combination, both answered by `risk.predictive_ratio`.
    The whole record: its candidates are the true combination and all that differ from it in one
    variable, with a uniform prior (Hu, Reiter and Wang 2014, section 3.1). The target alone: the
    rest of the record is known, and the prior is the model's prediction from the other records,
    so that the gain, posterior over prior, is what the release adds.

    Parameters
    ----------
    sets : DrawSets
        Draws given the original records, and given these joined with each release, with their
        allocations.
    combinations : (n_combinations, p) int
        Distinct original combinations.
    repetitions : (n_combinations,) int
        Records that have each.
    target : int
        Column of the target.
    log_ratios : (n_chains, n_combinations, support_size) float, optional
        As `risk.collapsed_log_ratios` returns for the original's draws, if computed already.
    groups : (n_combinations,) int, optional
        Group of each combination.

    Returns
    -------
    risks : DataFrame
        One row a combination: repetitions; probability (of the whole true record), log_mcse and
        rank among support_size candidates; target_prior and target_probability (of the true
        target), log_gain, the logarithm of their ratio, and log_gain_mcse. Errors come from
        between chains.
    quantiles : ((3 + 3 n_groups,) float, the same)
        Median and 95th percentile of log_gain over the records and the mean of exp(-log_gain),
        prior over posterior, and their errors between chains. Then, for the groups in the order of
        their numbers, all medians, all 95th percentiles, and all differences of the median from
        that of all other records; these are NaN where there are none.
    """
    start = 1 + int((sets.n_levels[:target] - 1).sum())
    of_target = [0, *range(start, start + int(sets.n_levels[target]) - 1)]
    frames, targets = [], []
    for first in range(0, len(combinations), _BLOCK):
        some = combinations[first : first + _BLOCK]
        each = [
            log_ratios[:, first : first + _BLOCK]
            if draws is sets.data and log_ratios is not None
            else collapsed_log_ratios(draws, some)[0]
            for draws in sets
        ]
        risk = predictive_ratio(each)
        targets.append([z[..., of_target] for z in each])
        before, gain, error = _gain(targets[-1])
        frames.append(
            pd.DataFrame(
                {
                    "repetitions": repetitions[first : first + _BLOCK],
                    "probability": risk.probability,
                    "log_mcse": risk.log_mcse[:, 0],
                    "rank": risk.rank,
                    "support_size": risk.support_size,
                    "target_prior": np.exp(before),
                    "target_probability": np.exp(before + gain),
                    "log_gain": gain,
                    "log_gain_mcse": error,
                }
            )
        )
    of_all = [np.concatenate(blocks, axis=1) for blocks in zip(*targets, strict=True)]
    order = np.repeat(np.arange(len(combinations)), repetitions)

    def quantiles(*log_means: NDArray[np.float64]) -> NDArray[np.float64]:
        told = _told(*log_means)[order]
        of_all = np.append(np.quantile(told, [0.5, 0.95]), np.exp(-told).mean())
        return of_all if groups is None else np.append(of_all, _by_group(told, groups[order]))

    return pd.concat(frames, ignore_index=True), jackknife(quantiles, of_all)


def _by_group(told: NDArray[np.float64], groups: NDArray[np.integer]) -> NDArray[np.float64]:
    """Median, 95th percentile, and median less all others', each over the groups, flat."""
    inside = [groups == group for group in np.unique(groups)]
    found = [
        (
            *np.quantile(told[some], [0.5, 0.95]),
            np.median(told[~some]) if not some.all() else np.nan,
        )
        for some in inside
    ]
    median, high, others = np.array(found).T
    return np.concatenate([median, high, median - others])


def _told(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray[Any]:
    """Log of posterior over prior of the truth, from the logs of the chains' means."""
    total = log_likelihood(of_data, *of_joined, model_prior=True)
    return posterior(total)[:, 0] - posterior(of_data)[:, 0]


def _gain(
    log_ratios: Sequence[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log prior of the truth, log of posterior over prior, and the latter's error.

    The prior is ``p(x | D_-i)``, from the chains that the posterior has in its denominator m times:
    both are taken anew where a chain is left out.
    """
    before = posterior(logsumexp(log_ratios[0], axis=0))[:, 0]
    return before, *jackknife(_told, log_ratios)


def copies(original: Codes, released: Sequence[Codes], draws: Draws) -> pd.DataFrame:
    """Share of the records alone with all their values that occur unchanged in a release.

    An honest release has some by chance. The baseline is what a release of the same size would
    have whose records come from the model fitted without the record: the mean, over these records,
    of ``1 - (1 - p(x_i | D_-i))^n*``.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0.
    released : sequence of (n*, p) int
        Of any sizes.
    draws : Draws
        Given the original records; two chains or more.

    Returns
    -------
    DataFrame
        One row: measure, releases, mean, sd, se and baseline as `matching.over_releases` returns;
        baseline_mcse, from between chains; and baseline_sd, the standard deviation of the mean for
        releases from that model. NaN if no record is alone.
    """
    return _copies(original, released, _log_inverse_prob(original, draws), draws.n_draws)


def _alone(original: Codes) -> Codes:
    combinations, repetitions, _ = distinct(original)
    return combinations[repetitions == 1]


def _log_inverse_prob(original: Codes, draws: Draws) -> NDArray[np.float64]:
    alone = _alone(original)
    return np.concatenate(
        [
            logsumexp(-cell_log_prob(draws, alone[first : first + _BLOCK]), axis=1)
            for first in range(0, max(len(alone), 1), _BLOCK)
        ],
        axis=1,
    )


def _copies(
    original: Codes,
    released: Sequence[Codes],
    log_inverse_prob: NDArray[np.float64],
    n_draws: int,
) -> pd.DataFrame:
    """As `copies`, from what `OfOriginal` has."""
    alone = _alone(original)
    shares, sizes = [], np.array([len(z) for z in released])
    for z in released:
        _, counts, inverse = distinct(np.vstack([alone, distinct(z)[0]]))
        shares.append(np.mean(counts[inverse[: len(alone)]] > 1) if len(alone) else np.nan)

    def met(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        prob = np.exp(np.log(n_draws) - log_inverse)
        return -np.expm1(sizes[:, None] * np.log1p(-prob))

    def expected(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(met(log_inverse).mean())

    baseline = mcse = spread = np.nan
    if len(alone):
        value, error = jackknife(expected, [log_inverse_prob])
        of_each = met(logsumexp(log_inverse_prob, axis=0) - np.log(len(log_inverse_prob)))
        baseline, mcse = float(value), float(error)
        spread = float(np.sqrt((of_each * (1 - of_each)).sum()) / of_each.size)
    values = pd.DataFrame({"copies": shares})
    frame = over_releases(values, pd.DataFrame({"copies": [baseline]}))
    return frame.assign(baseline_mcse=mcse, baseline_sd=spread)
