"""Posterior disclosure risk of records in tables too large to write down.

Hu, Reiter and Wang (2014), section 3: an intruder who knows all records but one weighs the
values x that the last one may have by the probability of the release under each,
``p(Z | X_i = x, D_-i)``. Two Monte Carlo estimators of that column are here. Both rest on ratios
p(x | theta) / p(x_i | theta) averaged over posterior draws theta, so that they take the same
arrays and can be compared term by term; the first candidate of every support is the truth x_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from srlib.data.codes import distinct
from srlib.dpmpm.model import Draws
from srlib.dpmpm.predict import cell_log_prob, left_out_log_ratios, neighbor_log_ratios
from srlib.mechanism.bayes import posterior, rank
from srlib.risk.errors import jackknife, jackknife_variance, log_mean, log_means_left_out
from srlib.risk.supports import neighborhood_positions
from srlib.threads import one_blas_thread


@dataclass(frozen=True)
class Risk:
    """Posterior disclosure risk of n combinations over supports of equal size.

    Attributes
    ----------
    log_prob : (n_combinations, support_size) float64
        Log posterior probabilities of the candidates; the truth is candidate 0.
    log_mcse : (n_combinations, support_size) float64
        Monte Carlo standard errors of ``log_prob``, from between chains.
    """

    log_prob: NDArray[np.float64]
    log_mcse: NDArray[np.float64]

    @property
    def support_size(self) -> int:
        """Number of candidates, the truth among them."""
        return self.log_prob.shape[1]

    @property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n_combinations,)."""
        return np.exp(self.log_prob[:, 0])

    @property
    def rank(self) -> NDArray[np.float64]:
        """Rank of the truth, 1 for the most probable; ties share their mean rank."""
        return rank(self.log_prob)

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.integer]) -> "Risk":
        """Return the risk of some of the combinations, chosen as rows of an array are."""
        return Risk(self.log_prob[chosen], self.log_mcse[chosen])

    def summary(self, threshold: float) -> dict[str, float]:
        """Figures 3 and 4 in a few numbers.

        Parameters
        ----------
        threshold : float
            The probability above which combinations are counted, in (0, 1).
        """
        return {
            "median": float(np.median(self.probability)),
            "largest": float(self.probability.max()),
            f"above {threshold:g}": int((self.probability > threshold).sum()),
            "rank 1": int((self.rank == 1).sum()),
            "rank 1 to 3": int((self.rank <= 3).sum()),
            "median error of log": float(np.median(self.log_mcse[:, 0])),
        }


# ----------------------------------------------------------------- averages over posterior draws


@one_blas_thread
def release_log_prob(draws: Draws, released: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
    """Return log p(Z^(l) | theta) of each release under each draw (equations 13 and 14).

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    released : sequence of (n_l, n_variables) int
        The releases, coded from 0.

    Returns
    -------
    (n_releases, n_chains, n_draws) float64
    """
    log_prob = []
    for release in released:
        combinations, counts, _ = distinct(release)
        log_prob.append(cell_log_prob(draws, combinations) @ counts.astype(float))
    return np.stack(log_prob)


def neighborhood_log_ratios(
    draws: Draws,
    codes: NDArray[np.integer],
    log_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return log weighted averages of p(x | theta) / p(x_i | theta) over the supports R_i.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n_combinations, n_variables) int
        The true combinations x_i.
    log_weights : (n_weights, n_chains, n_draws) float, optional
        Log weights of the draws; equal weights that sum to one in each chain if not given.

    Returns
    -------
    (n_weights, n_chains, n_combinations, support_size) float64
        Logarithms of each chain's weighted sums, in the order of `neighborhood`.
    """
    by_level = neighbor_log_ratios(draws, codes, log_weights)
    return np.take_along_axis(by_level, _neighborhood_rows(draws, codes)[None, None], axis=3)


def collapsed_log_ratios(
    draws: Draws, codes: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return averages with the same limits and less noise: pi and phi are integrated out.

    Parameters
    ----------
    draws : Draws
        Posterior draws with their allocations.
    codes : (n_combinations, n_variables) int
        The true combinations x_i, which occur in the data of the draws.

    Returns
    -------
    log_ratios : (n_chains, n_combinations, support_size) float64
        Log of each chain's mean of p(x | others) / p(x_i | others), in the order of
        `neighborhood`; see `srlib.dpmpm.left_out_log_ratios`.
    log_prob : (n_chains, n_draws, n_combinations) float32
        log p(x_i | others).
    """
    by_level, log_prob = left_out_log_ratios(draws, codes)
    return np.take_along_axis(by_level, _neighborhood_rows(draws, codes)[None], axis=2), log_prob


def _neighborhood_rows(draws: Draws, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Row of ``phi`` in which each candidate differs, (n_combinations, support_size)."""
    level_start = np.cumsum(draws.n_levels) - draws.n_levels
    variable, level = neighborhood_positions(codes, draws.n_levels)
    return level_start[variable] + level


def support_log_ratios(
    draws: Draws, support: NDArray[np.integer], log_weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the averages of `neighborhood_log_ratios` over any one support.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    support : (support_size, n_variables) int
        Candidates, the truth first.
    log_weights : (n_weights, n_chains, n_draws) float, optional
        Log weights of the draws; equal weights that sum to one in each chain if not given.

    Returns
    -------
    (n_weights, n_chains, 1, support_size) float64
    """
    if log_weights is None:
        log_weights = np.full((1, draws.n_chains, draws.n_draws), -np.log(draws.n_draws))
    log_prob = cell_log_prob(draws, support)
    log_ratio = log_prob - log_prob[..., :1]
    return logsumexp(log_weights[..., None] + log_ratio, axis=2)[:, :, None]


# ------------------------------------------------------------------------------------ estimators


def importance_sampling(
    weighted: NDArray[np.float64], plain: NDArray[np.float64], log_prior: ArrayLike = 0.0
) -> Risk:
    """Estimate with draws given D in the place of draws given D_i^x, as the paper does.

    In equations 11 to 15 p(Z^(l) | D_i^x) is estimated by sum_j p_jl r_j / sum_j r_j, with
    p_jl = p(Z^(l) | theta_j) and r_j = p(x | theta_j) / p(x_i | theta_j).

    Parameters
    ----------
    weighted : (n_releases, n_chains, n_combinations, support_size) float
        Log of each chain's sum of p_jl r_j.
    plain : (1, n_chains, n_combinations, support_size) float
        Log of each chain's sum of r_j.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.

    Returns
    -------
    Risk
        Its standard errors come from leaving out one chain at a time. Where one draw carries
        all the weight they are too small, whatever they are.
    """
    n_releases = weighted.shape[0]

    chains = np.moveaxis(weighted, 1, 0), plain[0]

    def log_prob(weighted: NDArray[np.float64], plain: NDArray[np.float64]) -> NDArray[np.float64]:
        return posterior(weighted.sum(axis=0) - n_releases * plain, log_prior)

    left_out = (log_prob(*means) for means in zip(*map(log_means_left_out, chains), strict=True))
    return Risk(log_prob(*map(log_mean, chains)), np.sqrt(jackknife_variance(left_out)))


def predictive_ratio(
    log_ratios: Sequence[NDArray[np.float64]],
    log_prior: ArrayLike = 0.0,
    *,
    model_prior: bool = False,
) -> Risk:
    """Estimate from posterior predictive probabilities, with no likelihood of Z in the weights.

    ``P(Z | D_i^x) = P(Z | D_-i) p(x | D_-i, Z) / p(x | D_-i)``, and both predictive probabilities
    are, relative to those of x_i, averages of p(x | theta) / p(x_i | theta): over draws given D
    joined with Z, and over draws given D. The Monte Carlo error of the latter enters once for
    each release, with the same sign. An intruder whose prior is ``p(x | D_-i)`` itself takes it
    from the same draws, and the exponent of that term is one less.

    Parameters
    ----------
    log_ratios : sequence of (n_chains_s, n_combinations, support_size) float
        Log of each chain's mean ratio, one array a set in the order of `DrawSets`: over draws
        given D, then over draws given D joined with Z^(1), Z^(2) and so on.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.
    model_prior : bool
        Whether the prior is the model's posterior predictive distribution given ``D_-i`` (section
        5); `log_prior` then comes on top of it.

    Returns
    -------
    Risk
        Its standard errors come from leaving out one chain at a time, of D and of each release.

    Raises
    ------
    ValueError
        If a set of chains has fewer than two, so that no error can be computed.
    """

    def log_prob(*log_means: NDArray[np.float64]) -> NDArray[np.float64]:
        return posterior(log_likelihood(*log_means, model_prior=model_prior), log_prior)

    return Risk(*jackknife(log_prob, log_ratios))


def log_likelihood(
    of_data: NDArray[np.float64], *of_joined: NDArray[np.float64], model_prior: bool = False
) -> NDArray[np.float64]:
    """Return log p(Z | D_i^x) of the candidates x up to a constant, from the sets' means.

    Parameters
    ----------
    of_data, of_joined : (n_combinations, support_size) float
        Log of the mean ratio over each set of draws.
    model_prior : bool
        Whether the model's prior ``p(x | D_-i)`` is in it.
    """
    return reduce(np.add, of_joined) + (model_prior - len(of_joined)) * of_data


@one_blas_thread
def repeatability(one: Risk, other: Risk) -> dict[str, float]:
    """Compare two runs by the log probabilities of the true combinations.

    Parameters
    ----------
    one, other : Risk
        Two estimates of the same risks.

    Returns
    -------
    dict of str to float
        Median and 95th percentile of the absolute differences; the correlation; the share of
        differences within two stated standard errors; and of the combinations that the first run
        ranks among the first three, the share that the second does too (NaN if there are none).
    """
    difference = np.abs(one.log_prob[:, 0] - other.log_prob[:, 0])
    stated = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0])
    top = one.rank <= 3
    return {
        "median difference": float(np.median(difference)),
        "95 % of differences below": float(np.quantile(difference, 0.95)),
        "correlation": float(np.corrcoef(one.log_prob[:, 0], other.log_prob[:, 0])[0, 1]),
        "within 2 stated errors": float(np.mean(difference < 2 * stated)),
        "top three kept": float(np.mean(other.rank[top] <= 3)) if top.any() else float("nan"),
    }


def evidence(
    log_ratios: Sequence[NDArray[np.float64]],
    log_prior: ArrayLike = 0.0,
    *,
    model_prior: bool = False,
) -> pd.DataFrame:
    """Tabulate what the releases say of every record, and how far each number can be trusted.

    Parameters
    ----------
    log_ratios, log_prior, model_prior
        As of `predictive_ratio`.

    Returns
    -------
    DataFrame
        One row a record: prior and probability (posterior) of the truth, its rank, and three
        logarithms with their Monte Carlo standard errors (`_mcse`): log_gain, posterior over
        prior; log_odds_needed, the prior odds of the truth against the leading candidate, over
        those that the intruder has, at which the two draw level (equation 18); and log_ratio,
        the factor of the odds of the truth, against the other candidates weighted by their
        prior: the log L of `mechanism.acceptance`.
    """
    fixed = np.broadcast_to(np.asarray(log_prior, dtype=float), log_ratios[0].shape[1:])

    def told(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray:
        before = posterior(model_prior * of_data, fixed)
        after = posterior(log_likelihood(of_data, *of_joined, model_prior=model_prior), fixed)
        gain = after[:, 0] - before[:, 0]
        needed = after.max(axis=1) - after[:, 0]
        return np.stack([gain, needed, _logit(after) - _logit(before)])

    value, mcse = jackknife(told, log_ratios)
    risk = predictive_ratio(log_ratios, log_prior, model_prior=model_prior)
    frame = pd.DataFrame({"prior": np.exp(risk.log_prob[:, 0] - value[0])})
    frame["probability"], frame["rank"] = risk.probability, risk.rank
    for name, one, error in zip(("gain", "odds_needed", "ratio"), value, mcse, strict=True):
        frame[f"log_{name}"], frame[f"log_{name}_mcse"] = one, error
    return frame


def _logit(log_prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log odds of the truth, candidate 0, against all others together."""
    return log_prob[:, 0] - logsumexp(log_prob[:, 1:], axis=1)
