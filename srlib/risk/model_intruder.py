"""An intruder who knows all other records and takes the DPMPM for the generator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.codes import Codes, distinct
from srlib.diagnostics import MAX_R_HAT
from srlib.dpmpm.model import Chains
from srlib.mechanism.bayes import posterior
from srlib.risk.agreement import APART, rounds
from srlib.risk.draw_sets import DrawSets
from srlib.risk.errors import jackknife, log_mean
from srlib.risk.estimators import log_likelihood
from srlib.threads import one_blas_thread

MOST_ITERATIONS, CHAINS, CLASSES, DRAWS = 2_000, 8, 30, 250  # of a chain in the last round
_MOST_KEPT = 1.5e9  # combinations times levels times draws kept of all chains


@one_blas_thread
def model_risks(
    original: Codes, released: Sequence[Codes], n_levels: NDArray[np.integer], target: int, *,
    chains: Chains | Sequence[Chains] | None = None, rng: np.random.Generator,
) -> tuple[pd.DataFrame, bool, pd.DataFrame]:  # fmt: skip
    r"""Return what such an intruder learns of a whole record, and of the target of a known one.

    Of the whole record, candidates are the truth and all that differ from it in one variable, with
    equal priors (Hu, Reiter and Wang 2014, section 3.1). Of the target the rest is known, and the
    prior is the model's prediction from the other records. Where the model is right, prior over
    posterior of the truth averages :math:`\sum_x p(x \mid Z) \, p(x) / p(x \mid Z) = 1` over
    people: an average above says that the model misleads the intruder, one below that the release
    tells more than it can explain. Errors come from between chains.

    The first result has a row for each of these three questions, with the error `between` value and
    baseline, and one for the chains' R-hat; the second says whether the chains agree, so that the
    numbers can be relied on. The third has a row for each distinct original combination, with the
    risk of the whole record and of the target.
    """
    combinations, repetitions, _ = distinct(original)
    n_kept = CHAINS * len(combinations) * int(n_levels.sum()) * (1 + len(released))
    n_draws = int(np.clip(_MOST_KEPT / n_kept, 50, DRAWS))  # of many combinations fewer
    chains = chains or rounds(MOST_ITERATIONS, n_classes=CLASSES, n_draws=n_draws, n_chains=CHAINS)
    sets = DrawSets.fit(original, released, n_levels, chains, rng=rng)
    column = sets.column(combinations)
    whole = column.posterior()
    start = 1 + int((n_levels[:target] - 1).sum())
    at = [0, *range(start, start + int(n_levels[target]) - 1)]
    of_target, weight = [z[..., at] for z in column.sets], repetitions / repetitions.sum()

    def log_told(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> tuple[Any, Any]:
        total = log_likelihood(of_data, *of_joined, model_prior=True)
        return posterior(of_data)[:, 0], posterior(total)[:, 0]

    def means(*log_means: NDArray[np.float64]) -> NDArray[np.float64]:
        before, after = log_told(*log_means)
        p, q = np.exp(before), np.exp(after)
        return np.array([weight @ q, weight @ p, weight @ (q - p), weight @ np.exp(before - after)])

    def mean_of_whole(log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([weight @ np.exp(posterior(log_likelihood)[:, 0])])

    (told, prior, _, inverse), errors = jackknife(means, of_target)
    (value,), (error,) = column.read(mean_of_whole)
    before, after = log_told(*map(log_mean, of_target))
    # The average over people has a spread of its own, of combinations that move together.
    moves = repetitions * (np.exp(before - after) - inverse)
    spread = float(np.hypot(np.sqrt((moves**2).sum()) / repetitions.sum(), errors[3]))
    agree = (np.mean(~(column.r_hat <= MAX_R_HAT), axis=1) <= APART).all()
    r_hat = float(np.quantile(column.r_hat, 0.95, axis=1).max())
    uniform = 1 / whole.support_size
    nan, of_truth, ratio = np.nan, "mean probability of the truth", "mean of prior over posterior"
    numbers = [
        ("whole record", of_truth, value, error, uniform, 0.0, error),
        ("target", of_truth, told, errors[0], prior, errors[1], errors[2]),
        ("belief", ratio, inverse, spread, 1.0, 0.0, spread),
        ("chains", "R-hat, 95th percentile, and its limit", r_hat, nan, MAX_R_HAT, nan, nan),
    ]
    names = ["question", "detail", "estimate", "se", "baseline", "baseline_se", "between"]
    risks = pd.DataFrame({
        "probability": whole.probability, "log_mcse": whole.log_mcse[:, 0], "rank": whole.rank,
        "target_prior": np.exp(before), "target_probability": np.exp(after),
    })  # fmt: skip
    return pd.DataFrame(numbers, columns=names), bool(agree), risks
