"""Calibration: whether a posterior probability of p is right for a share p of the candidates.

A belief about a record is held against the truth where the truth is known to have been drawn: from
the prior over a support that is fixed before the truth is drawn, or from the model that the prior
is computed from. The release is then drawn given the truth. If prior and likelihood are those of
this experiment, Bayes' rule makes the belief calibrated: every release and every set of releases
averages to the right share. If they are not, what is measured here is by how much the belief is
wrong.

Targets in the same data set share its release. Errors therefore are those of means over data sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from srlib import checks
from srlib.mechanism.audit import clopper_pearson
from srlib.mechanism.bayes import posterior

# Limits of the bins of a reliability table: finer where most candidates are.
EDGES = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
# Digits after the decimal point to which probabilities of an enumeration count as the same.
SAME = 10


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Beliefs about n targets, each with the same number of candidates, and the truths.

    Attributes
    ----------
    log_prior, log_posterior : (n, size) float64
        Log probabilities of the candidates before and after the releases.
    truth : (n,) int64
        The candidate that is true.
    data_set : (n,) int64
        The data set that each target is in; targets of one share a release.
    refuted : (n,) bool
        Whether no candidate could have led to the release under the intruder's model. The belief
        is then left at the prior.
    """

    log_prior: NDArray[np.float64]
    log_posterior: NDArray[np.float64]
    truth: NDArray[np.int64]
    data_set: NDArray[np.int64]
    refuted: NDArray[np.bool_]

    @property
    def of_truth(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n,): what a risk is."""
        return np.exp(self._at_truth(self.log_posterior))

    @property
    def gain(self) -> NDArray[np.float64]:
        """Log of the truth's posterior over its prior probability, (n,): the log score's gain."""
        return self._at_truth(self.log_posterior) - self._at_truth(self.log_prior)

    @cached_property
    def claimed_gain(self) -> NDArray[np.float64]:
        """Kullback-Leibler divergence of posterior from prior, (n,): the gain that is expected.

        The mean of `gain` by the intruder's own posterior distribution.
        """
        held = np.exp(self.log_posterior)
        with np.errstate(invalid="ignore"):
            terms = held * (self.log_posterior - self.log_prior)
        return np.where(held > 0, terms, 0.0).sum(axis=1)

    @property
    def claimed(self) -> NDArray[np.float64]:
        """Posterior probability of the most probable candidate, (n,)."""
        return np.exp(self.log_posterior.max(axis=1))

    @property
    def found(self) -> NDArray[np.float64]:
        """Chance that the most probable candidate is true, (n,): below one only if several tie."""
        best = self.log_posterior >= self.log_posterior.max(axis=1, keepdims=True) - 1e-12
        return self._at_truth(best) / best.sum(axis=1)

    def _at_truth(self, values: NDArray) -> NDArray:
        """Return values of the true candidates."""
        return np.take_along_axis(values, self.truth[:, None], axis=1)[:, 0]

    def only(self, chosen: NDArray[np.bool_]) -> "Beliefs":
        """Return the beliefs about some targets."""
        return Beliefs(
            self.log_prior[chosen],
            self.log_posterior[chosen],
            self.truth[chosen],
            self.data_set[chosen],
            self.refuted[chosen],
        )


def believe(
    log_likelihood: NDArray[np.float64],
    log_prior: ArrayLike,
    truth: ArrayLike,
    data_set: ArrayLike,
) -> Beliefs:
    """Update beliefs by a release; those that it refutes stay at the prior.

    Parameters
    ----------
    log_likelihood : (n, size) float
        log p(release | candidate) by the intruder's model, up to a constant of each target.
    log_prior : (n, size) float, or one number
        Log prior of the candidates up to a constant of each target; a number for a uniform one.
    truth : (n,) int, or one for all
        The candidate that is true.
    data_set : (n,) int
        The data set that each target is in.

    Returns
    -------
    Beliefs

    Raises
    ------
    ValueError
        If a truth is no candidate, or shapes do not fit.

    Examples
    --------
    >>> answer = np.log([[0.75, 0.25]])  # a randomized answer "yes", of the sick and the well
    >>> belief = believe(answer, np.log([[0.1, 0.9]]), [0], [0])
    >>> belief.of_truth.round(3)
    array([0.25])
    """
    likelihood = np.asarray(log_likelihood, dtype=np.float64)
    n, size = likelihood.shape
    true = np.array(np.broadcast_to(truth, n), dtype=np.int64)
    if n and (true.min() < 0 or true.max() >= size):
        raise ValueError(f"truth must name candidates, from 0 to {size - 1}")
    sets = np.asarray(data_set, dtype=np.int64)
    if sets.shape != (n,):
        raise ValueError(f"data_set has shape {sets.shape}; it must be ({n},)")
    prior = posterior(np.zeros((n, size)), np.broadcast_to(log_prior, (n, size)))
    refuted = np.isneginf(likelihood + prior).all(axis=1)
    held = posterior(np.where(refuted[:, None], 0.0, likelihood), prior)
    return Beliefs(prior, held, true, sets, refuted)


def joined(beliefs: Sequence[Beliefs]) -> Beliefs:
    """Return beliefs about targets of several data sets as one; the data sets stay apart."""
    names = ("log_prior", "log_posterior", "truth", "data_set", "refuted")
    return Beliefs(*(np.concatenate([getattr(b, name) for b in beliefs]) for name in names))


def mean_over_sets(values: ArrayLike, data_set: ArrayLike) -> tuple[float, float]:
    """Return a mean over targets and its standard error from between data sets.

    Parameters
    ----------
    values : (n,) float
        One of each target.
    data_set : (n,) int
        The data set of each, two at least for an error.

    Returns
    -------
    mean, error : float
        The error is that of a ratio of totals of independent data sets, linearized; NaN from a
        single one.
    """
    value = np.asarray(values, dtype=float)
    _, at = np.unique(np.asarray(data_set), return_inverse=True)
    mean, n_sets = float(value.mean()), int(at.max()) + 1
    if n_sets < 2 or not np.isfinite(value).all():
        return mean, float("nan")
    total = np.bincount(at, value - mean)
    return mean, float(np.sqrt(n_sets / (n_sets - 1) * (total**2).sum()) / len(value))


def summary(beliefs: Beliefs) -> dict[str, float]:
    """Return what an intruder claims, what is achieved, and the difference with its error.

    Returns
    -------
    dict of str to float
        targets and data_sets; gain (mean log score over the prior's), claimed_gain (mean
        Kullback-Leibler divergence), overstated_gain (claimed less achieved) and its error
        (`_se`), with error_of_gain; found (share whose most probable candidate is true),
        claimed_found (mean probability of that candidate, the sharpness), overstated_found and its
        error; risk (mean probability of the truth); excluded (share of truths held impossible)
        and refuted (share of targets whose release the model holds impossible).
    """
    sets = beliefs.data_set
    gain, gain_se = mean_over_sets(beliefs.gain, sets)
    more_gain, more_gain_se = mean_over_sets(beliefs.claimed_gain - beliefs.gain, sets)
    more_found, more_found_se = mean_over_sets(beliefs.claimed - beliefs.found, sets)
    return {
        "targets": len(sets),
        "data_sets": len(np.unique(sets)),
        "gain": gain,
        "gain_se": gain_se,
        "claimed_gain": float(beliefs.claimed_gain.mean()),
        "overstated_gain": more_gain,
        "overstated_gain_se": more_gain_se,
        "found": float(beliefs.found.mean()),
        "claimed_found": float(beliefs.claimed.mean()),
        "overstated_found": more_found,
        "overstated_found_se": more_found_se,
        "risk": float(beliefs.of_truth.mean()),
        "excluded": float(np.isneginf(beliefs.gain).mean()),
        "refuted": float(beliefs.refuted.mean()),
    }


def reliability(
    beliefs: Beliefs, edges: Sequence[float] = EDGES, confidence: float = 0.95
) -> pd.DataFrame:
    """Tabulate how many candidates that got about some probability are true.

    All candidates of all targets are taken, by their posterior probability.

    Parameters
    ----------
    beliefs : Beliefs
        About targets in one data set or more.
    edges : sequence of float
        Limits of the bins from 0 to 1, in rising order.
    confidence : float
        Of the intervals, in (0, 1).

    Returns
    -------
    DataFrame
        One row a bin with candidates: low and high (its limits), candidates, claimed (their mean
        probability), found (the share that is true), and the limits of found's interval, found_low
        and found_high: that of Clopper and Pearson with the effective number of candidates that
        the error from between data sets gives, which is at most their number, and is their number
        where none or all are true.

    References
    ----------
    Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions with small
    expected number of positive counts estimated from survey data. Survey Methodology 24, 193-201.
    """
    checks.inner_probability(confidence=confidence)
    limits = np.asarray(edges, dtype=float)
    probability = np.exp(beliefs.log_posterior)
    bin_of = np.clip(np.searchsorted(limits, probability, side="right") - 1, 0, len(limits) - 2)
    is_true = np.arange(probability.shape[1]) == beliefs.truth[:, None]
    sets = np.broadcast_to(beliefs.data_set[:, None], probability.shape)
    rows = []
    for at in np.unique(bin_of):
        there = bin_of == at
        n, hits = int(there.sum()), is_true[there]
        found, error = mean_over_sets(hits, sets[there])
        independent = found * (1 - found)
        effective = min(n, independent / error**2) if independent and error > 0 else n
        size = max(effective, 1.0)
        low, high = clopper_pearson(found * size, size, 1 - (1 - confidence) / 2)
        claimed = probability[there].mean()
        rows.append((limits[at], limits[at + 1], n, claimed, found, float(low), float(high)))
    columns = ["low", "high", "candidates", "claimed", "found", "found_low", "found_high"]
    return pd.DataFrame(rows, columns=columns)


def rank_statistic(beliefs: Beliefs, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the posterior probability of the candidates above the truth, randomized.

    The sum over candidates that are more probable than the truth, and a uniform part of that of
    the truth and of those that tie with it. It is uniform on (0, 1) for a calibrated belief, so
    that the smallest sets of candidates with probability p contain the truth with probability p.

    Parameters
    ----------
    beliefs : Beliefs
        Of any intruder.
    rng : numpy.random.Generator
        Source of the uniform parts.

    Returns
    -------
    (n,) float64
    """
    log_prob = beliefs.log_posterior
    own = beliefs._at_truth(log_prob)[:, None]
    with np.errstate(invalid="ignore"):
        apart = np.where(log_prob == own, 0.0, log_prob - own)
    probability = np.exp(log_prob)
    above = np.where(apart > 1e-12, probability, 0.0).sum(axis=1)
    level = np.where(np.abs(apart) <= 1e-12, probability, 0.0).sum(axis=1)
    return np.minimum(above + rng.random(len(own)) * level, 1.0)


@dataclass(frozen=True)
class Uniformity:
    """A test of whether numbers are uniform on (0, 1).

    Attributes
    ----------
    moments : (order,) float64
        Means of the orthonormal Legendre polynomials; all zero if uniform. The first is positive
        where truths stand too low among the candidates (a belief that is too sharp), the second
        where they are too often at either end.
    p_value : float
        Probability of moments as far from zero as these.
    """

    moments: NDArray[np.float64]
    p_value: float


def uniformity(values: ArrayLike, data_set: ArrayLike, order: int = 3) -> Uniformity:
    """Test whether rank statistics are uniform: Neyman's smooth test, with errors by data set.

    Parameters
    ----------
    values : (n,) float
        In [0, 1].
    data_set : (n,) int
        The data set of each; their number must exceed `order`.
    order : int
        Polynomials, 1 or more.

    Returns
    -------
    Uniformity
        Its p-value is that of Hotelling's statistic for means over data sets.

    Raises
    ------
    ValueError
        If there are too few data sets.

    References
    ----------
    Neyman (1937), "Smooth test" for goodness of fit.
    """
    from scipy import stats

    checks.at_least(1, order=order)
    value = np.asarray(values, dtype=float)
    _, at = np.unique(np.asarray(data_set), return_inverse=True)
    n_sets = int(at.max()) + 1
    if n_sets <= order:
        raise ValueError(f"there are {n_sets} data sets; the test needs more than order = {order}")
    scores = legendre.legvander(2 * value - 1, order)[:, 1:] * np.sqrt(2 * np.arange(order) + 3)
    moments = scores.mean(axis=0)
    apart = np.stack([np.bincount(at, column) for column in (scores - moments).T], axis=1)
    covariance = n_sets / (n_sets - 1) * apart.T @ apart / len(value) ** 2
    statistic = float(moments @ np.linalg.pinv(covariance, hermitian=True) @ moments)
    scaled = statistic * (n_sets - order) / (order * (n_sets - 1))
    return Uniformity(moments, float(stats.f.sf(scaled, order, n_sets - order)))


def exact_reliability(
    claimed: NDArray[np.float64], weight: NDArray[np.float64], hit: NDArray[np.float64]
) -> pd.DataFrame:
    """Tabulate, over all cases of an experiment, which share of each claimed probability is true.

    Parameters
    ----------
    claimed : (n_cases, size) float
        Probabilities that the intruder gives the candidates in each case: a release, the other
        records, and whatever else the intruder sees.
    weight : (n_cases,) float
        Probabilities of the cases; zero is possible.
    hit : (n_cases, size) float
        Joint probability of each case and of the candidate being true.

    Returns
    -------
    DataFrame
        One row for each probability that is claimed in a possible case, in rising order: claimed,
        candidates (the expected number of candidates with it in one experiment) and found (the
        share of these that is true).

    Examples
    --------
    >>> joint = np.array([[0.1 * 0.75, 0.9 * 0.25], [0.1 * 0.25, 0.9 * 0.75]])  # answer, person
    >>> weight = joint.sum(axis=1)
    >>> exact_reliability(joint / weight[:, None], weight, joint).round(3)["found"].tolist()
    [0.036, 0.25, 0.75, 0.964]
    """
    candidates = np.broadcast_to(weight[:, None], claimed.shape)
    possible = candidates > 0
    values, at = np.unique(np.round(claimed[possible], SAME), return_inverse=True)
    total = np.bincount(at, candidates[possible])
    found = np.bincount(at, hit[possible]) / total
    return pd.DataFrame({"claimed": values, "candidates": total, "found": found})
