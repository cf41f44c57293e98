"""The model-based intruder, who knows all other records and assumes the DPMPM."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from srlib.arrays import Floats, Generator, Ints
from srlib.data import Codes, distinct
from srlib.diagnostics import MAX_R_HAT
from srlib.dpmpm import Chains
from srlib.mechanism import posterior
from srlib.risk.candidates import one_variable_positions
from srlib.risk.draw_sets import (
    MAX_NOT_CONVERGED,
    DrawSets,
    Schedule,
    chain_schedule,
    share_not_converged,
)
from srlib.risk.errors import jackknife, log_mean
from srlib.risk.estimators import log_likelihood
from srlib.risk.likelihood import CandidateLikelihood, Risk
from srlib.threads import one_blas_thread

MAX_ITERATIONS = 2_000
"""Iterations of each chain in the last round."""
CHAINS = 8
CLASSES = 30
DRAWS = 250
_MAX_KEPT = 1.5e9  # combinations times levels times draws kept from all chains


@one_blas_thread
def model_risks(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Ints,
    target: int,
    *,
    chains: Schedule | None = None,
    rng: Generator,
) -> tuple[pd.DataFrame, bool, pd.DataFrame]:
    r"""Return what a model-based intruder learns about records and about a target.

    For the whole record, the candidates are the true record and all that differ from it
    in one variable, with equal priors (Hu, Reiter and Wang 2014, section 3.1). For the
    target variable the intruder knows the rest of the record, and the prior is the
    model's prediction from the other records. If the model is right, the average over
    people of prior over posterior of the true value is :math:`\sum_x p(x \mid Z) \,
    p(x) / p(x \mid Z) = 1`. An average above 1 says that the model misleads the
    intruder, one below 1 that the release discloses more than the model can explain.
    Standard errors come from the differences between chains.

    The first result has a row for each of these three questions, with `difference_se`,
    the standard error of estimate minus baseline, and a row for the chains' R-hat. The
    second says whether the chains agree, so that the numbers are reliable. The third
    has a row for each distinct original combination, with the risk of the whole record
    and of the target variable.
    """
    combinations, repetitions, _ = distinct(original)
    chains = chains or _schedule(
        len(combinations) * int(n_levels.sum()) * (1 + len(released))
    )
    sets = DrawSets.fit(original, released, n_levels, chains, rng=rng)
    likelihood = sets.likelihood(combinations)
    # The true record and those in which only the target differs.
    variable, _ = one_variable_positions(combinations[:1], n_levels)
    is_of_target = variable[0] == target
    is_of_target[0] = True
    target_sets = [log_ratios[..., is_of_target] for log_ratios in likelihood.sets]
    rows = [
        _whole_record_row(likelihood, repetitions),
        *_target_rows(target_sets, repetitions),
        _chains_row(likelihood.r_hat),
    ]
    agree = share_not_converged(likelihood.r_hat) <= MAX_NOT_CONVERGED
    target_log_prob = _target_log_prob(*map(log_mean, target_sets))
    risks = _record_risks(likelihood.posterior(), *target_log_prob)
    return pd.DataFrame(rows), bool(agree.all()), risks


def _schedule(n_values: int) -> tuple[Chains, ...]:
    """Return settings of chains, with fewer draws where each keeps many values."""
    n_draws = int(np.clip(_MAX_KEPT / (CHAINS * n_values), 50, DRAWS))
    return chain_schedule(
        MAX_ITERATIONS, n_classes=CLASSES, n_draws=n_draws, n_chains=CHAINS
    )


def _target_log_prob(
    given_data: Floats, *given_joined: Floats
) -> tuple[Floats, Floats]:
    """Return the log prior and the log posterior of the target's true value."""
    joint = log_likelihood(given_data, *given_joined, model_prior=True)
    return posterior(given_data)[:, 0], posterior(joint)[:, 0]


class _Row(NamedTuple):
    """An estimate beside its baseline, with standard errors."""

    question: str
    detail: str
    estimate: float
    se: float
    baseline: float
    baseline_se: float
    difference_se: float


def _whole_record_row(likelihood: CandidateLikelihood, repetitions: Ints) -> _Row:
    """Return the mean posterior probability of the true record, over people."""
    weight = repetitions / repetitions.sum()
    value, se = map(
        float, likelihood.estimate(lambda x: weight @ np.exp(posterior(x)[:, 0]))
    )
    uniform = 1 / likelihood.log_likelihood.shape[1]
    detail = "mean posterior probability of the true record"
    return _Row("whole record", detail, value, se, uniform, 0.0, se)


def _target_rows(sets: Sequence[Floats], repetitions: Ints) -> tuple[_Row, _Row]:
    """Return means over people: of the posterior, and of the ratio of prior to it."""
    weight = repetitions / repetitions.sum()

    def means(*log_means: Floats) -> Floats:
        log_prior, log_posterior = _target_log_prob(*log_means)
        p = np.exp(log_prior)
        q = np.exp(log_posterior)
        ratio = np.exp(log_prior - log_posterior)
        return np.array([weight @ q, weight @ p, weight @ (q - p), weight @ ratio])

    values, errors = jackknife(means, sets)
    mean_posterior, mean_prior, _, mean_ratio = values
    posterior_se, prior_se, difference_se, ratio_mcse = errors
    # The mean over people has a spread of its own, of combinations that move together.
    log_prior, log_posterior = _target_log_prob(*map(log_mean, sets))
    deviations = repetitions * (np.exp(log_prior - log_posterior) - mean_ratio)
    spread = np.sqrt((deviations**2).sum()) / repetitions.sum()
    ratio_se = np.hypot(spread, ratio_mcse)
    posterior_row = _Row(
        "target",
        "mean posterior probability of the true value",
        estimate=mean_posterior,
        se=posterior_se,
        baseline=mean_prior,
        baseline_se=prior_se,
        difference_se=difference_se,
    )
    detail = "mean of prior over posterior"
    ratio_row = _Row("belief", detail, mean_ratio, ratio_se, 1.0, 0.0, ratio_se)
    return posterior_row, ratio_row


def _chains_row(r_hat: Sequence[Floats]) -> _Row:
    """Return the largest 95th percentile of R-hat in a set of chains, and its limit."""
    detail = "R-hat, 95th percentile, and its limit"
    largest = np.quantile(r_hat, 0.95, axis=1).max()
    return _Row("chains", detail, largest, np.nan, MAX_R_HAT, np.nan, np.nan)


def _record_risks(
    whole: Risk, log_prior: Floats, log_posterior: Floats
) -> pd.DataFrame:
    """Return risks of the record and of the target, a row for each combination."""
    return pd.DataFrame(
        {
            "probability": whole.probability,
            "log_mcse": whole.log_mcse[:, 0],
            "rank": whole.rank,
            "target_prior": np.exp(log_prior),
            "target_probability": np.exp(log_posterior),
        }
    )
