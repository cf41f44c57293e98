"""Posterior disclosure risk of records in tables too large to write down.

Hu, Reiter and Wang (2014), section 3: an intruder who knows all records but one weighs the
values x that the last one may have by the probability of the release under each,
p(Z | X_i = x, D_-i). Two Monte Carlo estimators of that column are here. Both rest on ratios
p(x | theta) / p(x_i | theta) averaged over posterior draws theta, so that they take the same
arrays and can be compared term by term; the first candidate of every support is the truth x_i.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from srlib.data.codes import distinct
from srlib.dpmpm.core import Draws, cell_log_prob, left_out_log_ratios, neighbour_log_ratios
from srlib.mechanism.bayes import posterior, rank
from srlib.threads import one_blas_thread

# Combinations of a task on an executor.
RECORDS = 500


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

    @property
    def prior_odds(self) -> NDArray[np.float64]:
        """Prior odds of the truth against the most probable candidate that would let it draw level.

        Equation 18: the ratio of the largest posterior probability to that of the truth.
        """
        return np.exp(self.log_prob.max(axis=1) - self.log_prob[:, 0])

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


# ----------------------------------------------------------------------------------- supports


def neighbourhood(codes: NDArray[np.integer], n_levels: NDArray[np.integer]) -> NDArray[np.uint8]:
    """The supports R_i of section 3.1: x_i and all that differ from it in one variable.

    Parameters
    ----------
    codes : (n_combinations, n_variables) int
        The true combinations.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (n_combinations, 1 + sum(n_levels - 1), n_variables) uint8
        Candidates, the truth first, then variable by variable in the order of the levels.
    """
    variable, level = _neighbour_positions(codes, n_levels)
    supports = np.repeat(codes[:, None, :].astype(np.uint8), variable.shape[1], axis=1)
    np.put_along_axis(supports, variable[..., None], level[..., None].astype(np.uint8), axis=2)
    return supports


def _neighbour_positions(
    codes: NDArray[np.integer], n_levels: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Variable and level that each candidate sets; the truth sets one to what it is."""
    variable = np.repeat(np.arange(n_levels.size), n_levels)
    level = np.concatenate([np.arange(levels) for levels in n_levels])
    own = codes[:, variable] == level
    # The truth stands where the first variable has its own level; no other own level is kept.
    keep = ~own
    keep[:, : n_levels[0]] = True
    size = 1 + int((n_levels - 1).sum())
    order = np.argsort(~own[:, : n_levels[0]], axis=1, kind="stable")
    index = np.nonzero(keep)[1].reshape(-1, size)
    index[:, : n_levels[0]] = order
    return variable[index], level[index]


def subset_support(
    x: ArrayLike, unknown: Sequence[int], n_levels: NDArray[np.integer]
) -> NDArray[np.uint8]:
    """All candidates that agree with x outside the unknown variables (section 4.2, equation 16).

    Parameters
    ----------
    x : (n_variables,) int
        The true combination.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (prod(n_levels[unknown]), n_variables) uint8
        Candidates, the truth first, then in lexicographic order.
    """
    if not unknown or len(set(unknown)) != len(unknown):
        raise ValueError(
            f"unknown is {list(unknown)}; it must name distinct variables, one or more"
        )
    truth = np.asarray(x, dtype=np.uint8)
    levels = np.indices([n_levels[k] for k in unknown]).reshape(len(unknown), -1).T
    support = np.repeat(truth[None], len(levels), axis=0)
    support[:, list(unknown)] = levels
    is_truth = (support == truth).all(axis=1)
    return np.concatenate([support[is_truth], support[~is_truth]])


def changed_support(x: ArrayLike, changes: int, n_levels: NDArray[np.integer]) -> NDArray[np.uint8]:
    """All candidates that differ from x in at most so many variables (sections 3.1 and 5).

    Parameters
    ----------
    x : (n_variables,) int
        The true combination.
    changes : int
        From 1 to the number of variables.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (support_size, n_variables) uint8
        Candidates, the truth first.
    """
    truth = np.asarray(x, dtype=np.uint8)
    if not 1 <= changes <= len(truth):
        raise ValueError(f"changes is {changes}; it must be from 1 to {len(truth)}, the variables")
    support = [truth[None]]
    for size in range(1, changes + 1):
        for variables in itertools.combinations(range(len(truth)), size):
            some = subset_support(truth, variables, n_levels)
            at = list(variables)
            support.append(some[(some[:, at] != truth[at]).all(axis=1)])
    return np.concatenate(support)


# ----------------------------------------------------------------- averages over posterior draws


@one_blas_thread
def release_log_prob(draws: Draws, releases: Sequence[NDArray[np.integer]]) -> NDArray[np.float64]:
    """log p(Z^(l) | theta) of each release under each draw (equations 13 and 14).

    Returns
    -------
    (n_releases, n_chains, n_draws) float64
    """
    log_prob = []
    for release in releases:
        combinations, counts, _ = distinct(release)
        log_prob.append(cell_log_prob(draws, combinations) @ counts.astype(float))
    return np.stack(log_prob)


def neighbourhood_ratios(
    draws: Draws,
    codes: NDArray[np.integer],
    log_weights: NDArray[np.float64] | None = None,
    *,
    executor: Executor | None = None,
) -> NDArray[np.float64]:
    """Log weighted averages of p(x | theta) / p(x_i | theta) over the supports R_i.

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n_combinations, n_variables) int
        The true combinations x_i.
    log_weights : (n_weights, n_chains, n_draws) float, optional
        Log weights of the draws; equal weights that sum to one in each chain if not given.
    executor : Executor, optional
        Where blocks of `RECORDS` combinations are computed, such as that of a pool; here, all
        of them, if not given. The result does not depend on it.

    Returns
    -------
    (n_weights, n_chains, n_combinations, support_size) float64
        Logarithms of each chain's weighted sums, in the order of `neighbourhood`.
    """
    if executor is not None:
        futures = [
            executor.submit(neighbourhood_ratios, draws, some, log_weights)
            for some in _blocks(codes)
        ]
        return np.concatenate([future.result() for future in futures], axis=2)
    by_level = neighbour_log_ratios(draws, codes, log_weights)
    return np.take_along_axis(by_level, _neighbour_rows(draws, codes)[None, None], axis=3)


def left_out_ratios(
    draws: Draws, codes: NDArray[np.integer], executor: Executor | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Averages with the same limits and less noise: pi and phi are integrated out.

    Parameters
    ----------
    draws : Draws
        Posterior draws with their allocations.
    codes : (n_combinations, n_variables) int
        The true combinations x_i, which occur in the data of the draws.
    executor : Executor, optional
        As for `neighbourhood_ratios`.

    Returns
    -------
    log_ratios : (n_chains, n_combinations, support_size) float64
        Log of each chain's mean of p(x | others) / p(x_i | others), in the order of
        `neighbourhood`; see `srlib.dpmpm.core.left_out_log_ratios`.
    log_prob : (n_chains, n_draws, n_combinations) float32
        log p(x_i | others).
    """
    if executor is not None:
        futures = [executor.submit(left_out_ratios, draws, some) for some in _blocks(codes)]
        ratios, log_prob = zip(*(future.result() for future in futures), strict=True)
        return np.concatenate(ratios, axis=1), np.concatenate(log_prob, axis=2)
    by_level, log_prob = left_out_log_ratios(draws, codes)
    return np.take_along_axis(by_level, _neighbour_rows(draws, codes)[None], axis=2), log_prob


def _blocks(codes: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    """The combinations as an executor is given them."""
    return [codes[first : first + RECORDS] for first in range(0, len(codes), RECORDS)]


def _neighbour_rows(draws: Draws, codes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Row of ``phi`` in which each candidate differs, (n_combinations, support_size)."""
    level_start = np.cumsum(draws.n_levels) - draws.n_levels
    variable, level = _neighbour_positions(codes, draws.n_levels)
    return level_start[variable] + level


def support_ratios(
    draws: Draws, support: NDArray[np.integer], log_weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """The same averages over any one support, the truth first.

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


# ---------------------------------------------------------------------------------- estimators


def importance_sampling(
    weighted: NDArray[np.float64], plain: NDArray[np.float64], log_prior: ArrayLike = 0.0
) -> Risk:
    """The paper's estimator (equations 11 to 15): draws given D stand in for draws given D_i^x.

    p(Z^(l) | D_i^x) is estimated by sum_j p_jl r_j / sum_j r_j, with p_jl = p(Z^(l) | theta_j)
    and r_j = p(x | theta_j) / p(x_i | theta_j).

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

    left_out = (log_prob(*means) for means in zip(*map(_log_means_left_out, chains), strict=True))
    return Risk(log_prob(*map(_log_mean, chains)), np.sqrt(_jackknife_variance(left_out)))


def predictive_ratio(
    data: NDArray[np.float64],
    joined: Sequence[NDArray[np.float64]],
    log_prior: ArrayLike = 0.0,
    *,
    model_prior: bool = False,
) -> Risk:
    """Risk from posterior predictive probabilities, with no likelihood of Z in the weights.

    P(Z | D_i^x) = P(Z | D_-i) p(x | D_-i, Z) / p(x | D_-i), and both predictive probabilities
    are, relative to those of x_i, averages of p(x | theta) / p(x_i | theta): over draws given D
    joined with Z, and over draws given D. The Monte Carlo error of the latter enters once for
    each release, with the same sign. An intruder whose prior is p(x | D_-i) itself takes it from
    the same draws, and the exponent of that term is one less.

    Parameters
    ----------
    data : (n_chains, n_combinations, support_size) float
        Log of each chain's mean ratio over draws given D.
    joined : sequence of (n_chains_l, n_combinations, support_size) float
        The same over draws given D joined with Z^(l), one array a release.
    log_prior : (n_combinations, support_size) float, optional
        Log prior of the candidates up to a constant; uniform if not given.
    model_prior : bool
        Whether the prior is the model's posterior predictive distribution given D_-i (section 5);
        `log_prior` then comes on top of it.

    Returns
    -------
    Risk
        Its standard errors come from leaving out one chain at a time, of D and of each release.

    Raises
    ------
    ValueError
        If a set of chains has fewer than two, so that no error can be computed.
    """

    def log_posterior(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray:
        total = reduce(np.add, of_joined) + (model_prior - len(joined)) * of_data
        return posterior(total, log_prior)

    return Risk(*between_chains(log_posterior, [data, *joined]))


def between_chains(
    statistic: Callable[..., NDArray[np.float64]], sets: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A function of the means of several sets of chains, and its Monte Carlo standard error.

    Parameters
    ----------
    statistic : callable
        From the logarithms of the sets' means, one array a set, to an array.
    sets : sequence of (n_chains, ...) float
        Logarithms of each chain's mean; the sets are independent of each other.

    Returns
    -------
    value, mcse : arrays of float64
        The errors come from leaving out one chain at a time, of one set at a time.

    Raises
    ------
    ValueError
        If a set has fewer than two chains.
    """
    if min(len(chains) for chains in sets) < 2:
        raise ValueError(
            f"the sets have {[len(chains) for chains in sets]} chains; each needs two or more, "
            "since the standard errors come from between chains"
        )
    means = [_log_mean(chains) for chains in sets]
    value = statistic(*means)
    variance = np.zeros_like(value)
    for at, chains in enumerate(sets):
        left_out = (
            statistic(*means[:at], mean, *means[at + 1 :]) for mean in _log_means_left_out(chains)
        )
        variance += _jackknife_variance(left_out)
    return value, np.sqrt(variance)


def _log_mean(log_values: NDArray[np.float64]) -> NDArray[np.float64]:
    return logsumexp(log_values, axis=0) - np.log(len(log_values))


def _log_means_left_out(log_values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """`_log_mean` without the first, the second, ... in time linear in their number."""
    behind = np.logaddexp.accumulate(log_values[::-1], axis=0)[::-1]
    last = len(log_values) - 1
    before = log_values[0]
    for at in range(last + 1):
        if at == 0:
            total = behind[1]
        elif at == last:
            total = before
        else:
            total = np.logaddexp(before, behind[at + 1])
            before = np.logaddexp(before, log_values[at])
        yield total - np.log(last)


def _jackknife_variance(left_out: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Variance of an estimate from its values with one chain left out at a time.

    They are taken as they come (Welford 1962): a hundred chains' would fill memory.
    """
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for count, value in enumerate(left_out, start=1):
        apart = value - mean
        mean = mean + apart / count
        squares = squares + apart * (value - mean)
    return squares * (count - 1) / count


@one_blas_thread
def repeatability(one: Risk, other: Risk) -> dict[str, float]:
    """How well two runs agree on the log probabilities of the true combinations.

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


def exceeds(one: Risk, other: Risk) -> dict[str, float]:
    """For how many records the truth is more probable under one intruder than under another.

    Parameters
    ----------
    one, other : Risk
        Risks of the same records, from chains of their own.

    Returns
    -------
    dict of str to float
        The share of records, and the share where the difference of the log probabilities is more
        than two standard errors.
    """
    more = one.log_prob[:, 0] - other.log_prob[:, 0]
    error = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0])
    return {"higher": float(np.mean(more > 0)), "beyond error": float(np.mean(more > 2 * error))}


def mean_difference(one: Risk, other: Risk) -> tuple[float, float]:
    """How much more probable the truth is under one intruder than under another, on average.

    Parameters
    ----------
    one, other : Risk
        Risks of the same records, from chains of their own.

    Returns
    -------
    mean, error : float
        Mean difference of the log probabilities of the truth, and its standard error: that of a
        mean over a sample of records, together with the mean of the Monte Carlo errors, which is
        what these come to if all records err in the same direction.
    """
    more = one.log_prob[:, 0] - other.log_prob[:, 0]
    chains = np.hypot(one.log_mcse[:, 0], other.log_mcse[:, 0]).mean()
    people = more.std() / np.sqrt(max(len(more) - 1, 1))
    return float(more.mean()), float(np.hypot(people, chains))


def share_ranked(
    data: NDArray[np.float64], joined: Sequence[NDArray[np.float64]], first: int
) -> tuple[float, float]:
    """Share of combinations whose truth is among the first few candidates.

    Parameters
    ----------
    data, joined
        As of `predictive_ratio`.
    first : int
        How many candidates count as the first few.

    Returns
    -------
    share, mcse : float
        The share under a uniform prior, and its Monte Carlo standard error.
    """

    def share(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray:
        log_prob = posterior(reduce(np.add, of_joined) - len(joined) * of_data)
        return np.asarray(np.mean(rank(log_prob) <= first))

    value, mcse = between_chains(share, [data, *joined])
    return float(value), float(mcse)


def margin_gain(
    data: NDArray[np.float64], joined: Sequence[NDArray[np.float64]], agree: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the releases say of a part of each record: log of posterior over prior (equation 17).

    Parameters
    ----------
    data, joined
        As of `predictive_ratio`.
    agree : (n_combinations, support_size) bool
        Which candidates have the true values of that part.

    Returns
    -------
    log_gain, mcse : (n_combinations,) float64
        Log of the summed posterior probabilities of those candidates over their share of the
        support, and its Monte Carlo standard error.
    """
    log_prior = np.log(agree.mean(axis=1))

    def gain(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray:
        log_prob = posterior(reduce(np.add, of_joined) - len(joined) * of_data)
        return logsumexp(log_prob, axis=1, b=agree) - log_prior

    return between_chains(gain, [data, *joined])
