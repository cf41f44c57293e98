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
from srlib.data.codes import Codes, distinct
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
    median : (value, low, high)
        Factor by which the release multiplies the probability of the true target for the median
        record, and its 95 % interval between chains.
    high : float
        The factor at the 95th percentile of the records.
    """

    risks: pd.DataFrame
    copies_by_model: pd.DataFrame
    chains: pd.DataFrame
    median: tuple[float, float, float]
    high: float

    @property
    def converged(self) -> bool:
        """Whether all sets of chains agree."""
        return bool((self.chains["apart"] <= APART).all())


def believe(submission: Submission, sets: DrawSets) -> Model:
    """Update the intruder's beliefs by the releases, taken together.

    Parameters
    ----------
    submission, sets
        As `findings.examine`.
    """
    original, released = submission.original, submission.released
    combinations, repetitions, _ = distinct(original)
    named = {"the original": sets.data}
    named |= {f"the original and release {i}": d for i, d in enumerate(sets.joined, start=1)}
    risks, (logs, errors) = model_risks(sets, combinations, repetitions, submission.target)
    (median, high), error = np.exp(logs), 1.96 * errors[0]
    return Model(
        risks=risks,
        copies_by_model=copies(original, released, sets.data),
        chains=convergence(named, combinations),
        median=(float(median), float(median * np.exp(-error)), float(median * np.exp(error))),
        high=float(high),
    )


def model_risks(
    sets: DrawSets,
    combinations: Codes,
    repetitions: NDArray[np.integer],
    target: int,
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

    Returns
    -------
    risks : DataFrame
        One row a combination: repetitions; probability (of the whole true record), log_mcse and
        rank among support_size candidates; target_prior and target_probability (of the true
        target), log_gain, the logarithm of their ratio, and log_gain_mcse. Errors come from
        between chains.
    quantiles : ((2,) float, (2,) float)
        Median and 95th percentile of log_gain over the records, and their errors between chains.
    """
    start = 1 + int((sets.n_levels[:target] - 1).sum())
    of_target = [0, *range(start, start + int(sets.n_levels[target]) - 1)]
    frames, targets = [], []
    for first in range(0, len(combinations), _BLOCK):
        some = combinations[first : first + _BLOCK]
        log_ratios = [collapsed_log_ratios(draws, some)[0] for draws in sets]
        risk = predictive_ratio(log_ratios)
        targets.append([z[..., of_target] for z in log_ratios])
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
        return np.quantile(_told(*log_means)[order], [0.5, 0.95])

    return pd.concat(frames, ignore_index=True), jackknife(quantiles, of_all)


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
    combinations, repetitions, _ = distinct(original)
    alone = combinations[repetitions == 1]
    shares, sizes = [], np.array([len(z) for z in released])
    for z in released:
        _, counts, inverse = distinct(np.vstack([alone, distinct(z)[0]]))
        shares.append(np.mean(counts[inverse[: len(alone)]] > 1) if len(alone) else np.nan)
    log_inverse_prob = [
        logsumexp(-cell_log_prob(draws, alone[first : first + _BLOCK]), axis=1)
        for first in range(0, len(alone), _BLOCK)
    ]

    def met(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        prob = np.exp(np.log(draws.n_draws) - log_inverse)
        return -np.expm1(sizes[:, None] * np.log1p(-prob))

    def expected(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(met(log_inverse).mean())

    baseline = mcse = spread = np.nan
    if len(alone):
        chains = np.concatenate(log_inverse_prob, axis=1)
        value, error = jackknife(expected, [chains])
        of_each = met(logsumexp(chains, axis=0) - np.log(len(chains)))
        baseline, mcse = float(value), float(error)
        spread = float(np.sqrt((of_each * (1 - of_each)).sum()) / of_each.size)
    values = pd.DataFrame({"copies": shares})
    frame = over_releases(values, pd.DataFrame({"copies": [baseline]}))
    return frame.assign(baseline_mcse=mcse, baseline_sd=spread)
