"""The model-based intruder, who knows all other records and assumes the DPMPM as synthesizer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.codes import Codes, distinct
from srlib.diagnostics import MAX_R_HAT
from srlib.dpmpm.model import Chains
from srlib.mechanism.bayes import posterior
from srlib.risk.agreement import MAX_NOT_CONVERGED, chain_schedule
from srlib.risk.draw_sets import DrawSets
from srlib.risk.errors import jackknife, log_mean
from srlib.risk.estimators import log_likelihood
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
    n_levels: NDArray[np.integer],
    target: int,
    *,
    chains: Chains | Sequence[Chains] | None = None,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, bool, pd.DataFrame]:
    r"""Return what a model-based intruder learns about whole records and about a target variable.

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
    n_kept = CHAINS * len(combinations) * int(n_levels.sum()) * (1 + len(released))
    n_draws = int(np.clip(_MAX_KEPT / n_kept, 50, DRAWS))  # fewer for many combinations
    chains = chains or chain_schedule(
        MAX_ITERATIONS, n_classes=CLASSES, n_draws=n_draws, n_chains=CHAINS
    )
    sets = DrawSets.fit(original, released, n_levels, chains, rng=rng)
    likelihood = sets.likelihood(combinations)
    whole = likelihood.posterior()
    start = 1 + int((n_levels[:target] - 1).sum())
    at = [0, *range(start, start + int(n_levels[target]) - 1)]
    of_target = [z[..., at] for z in likelihood.sets]
    weight = repetitions / repetitions.sum()

    def log_probability(
        given_data: NDArray[np.float64], *given_joined: NDArray[np.float64]
    ) -> tuple[Any, Any]:
        """Return the log prior and the log posterior of the true value of the target variable."""
        total = log_likelihood(given_data, *given_joined, model_prior=True)
        return posterior(given_data)[:, 0], posterior(total)[:, 0]

    def means(*log_means: NDArray[np.float64]) -> NDArray[np.float64]:
        before, after = log_probability(*log_means)
        p, q = np.exp(before), np.exp(after)
        return np.array(
            [weight @ q, weight @ p, weight @ (q - p), weight @ np.exp(before - after)]
        )

    def mean_of_whole(log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([weight @ np.exp(posterior(log_likelihood)[:, 0])])

    (disclosed, prior, _, inverse), errors = jackknife(means, of_target)
    (value,), (error,) = likelihood.estimate(mean_of_whole)
    before, after = log_probability(*map(log_mean, of_target))
    # The average over people has a spread of its own, of combinations that move
    # together.
    moves = repetitions * (np.exp(before - after) - inverse)
    spread = float(np.hypot(np.sqrt((moves**2).sum()) / repetitions.sum(), errors[3]))
    not_converged = np.mean(~(likelihood.r_hat <= MAX_R_HAT), axis=1)
    agree = (not_converged <= MAX_NOT_CONVERGED).all()
    r_hat = float(np.quantile(likelihood.r_hat, 0.95, axis=1).max())
    uniform = 1 / whole.support_size
    nan = np.nan
    of_true_record = "mean posterior probability of the true record"
    of_true_value = "mean posterior probability of the true value"
    ratio = "mean of prior over posterior"
    numbers = [
        ("whole record", of_true_record, value, error, uniform, 0.0, error),
        ("target", of_true_value, disclosed, errors[0], prior, errors[1], errors[2]),
        ("belief", ratio, inverse, spread, 1.0, 0.0, spread),
        (
            "chains",
            "R-hat, 95th percentile, and its limit",
            r_hat,
            nan,
            MAX_R_HAT,
            nan,
            nan,
        ),
    ]
    names = [
        "question",
        "detail",
        "estimate",
        "se",
        "baseline",
        "baseline_se",
        "difference_se",
    ]
    risks = pd.DataFrame(
        {
            "probability": whole.probability,
            "log_mcse": whole.log_mcse[:, 0],
            "rank": whole.rank,
            "target_prior": np.exp(before),
            "target_probability": np.exp(after),
        }
    )
    return pd.DataFrame(numbers, columns=names), bool(agree), risks
