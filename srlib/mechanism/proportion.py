"""Exact inference about a proportion from a synthetic count (McClure and Reiter 2012).

Section 3.1 and Appendix B: the release is the count X* of ones in the synthetic
records, which depends on the data through their count X of ones. The posterior of the
proportion given a release is a finite mixture.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln
from scipy.stats import binom

from srlib import checks
from srlib.arrays import ArrayLike, Bools, Floats, Generator, Ints
from srlib.mechanism.bayes import posterior, posterior_from_log_ratio
from srlib.mechanism.core import BLOCK_ENTRIES, Mechanism, log_difference, sample
from srlib.mechanism.families import log_binomial
from srlib.mechanism.privacy import privacy_loss
from srlib.threads import one_blas_thread


@dataclass(frozen=True)
class Pairs:
    """Pairs (D, D*) of data set and release. All attributes have shape (k,).

    Attributes
    ----------
    x, x_star
        Counts of ones in the data and in the release.
    probability
        p(X*, X | p0), equation 7; 1 / k each for simulated pairs.
    log_ratio
        Log of the release's probability given the record's true value over that given
        the other.
    risk
        The intruder's posterior probability of the true value, equation 5.
    utility
        U of equation 4, the analyst's loss of precision.
    """

    x: Ints
    x_star: Ints
    probability: Floats
    log_ratio: Floats
    risk: Floats
    utility: Floats

    def event_probability(
        self,
        event: Bools,
        size: int = 1,
    ) -> float:
        """Return the probability of an event, (k,) bool, in any of `size` pairs."""
        single = self.probability[event].sum()
        if single >= 1:
            return 1.0
        # 1 - (1 - p)^size
        return float(-np.expm1(size * np.log1p(-single)))

    def quantile(self, name: str, q: float) -> float:
        """Return a quantile of an attribute over the pairs."""
        return float(
            np.quantile(
                getattr(self, name),
                q,
                weights=self.probability,
                method="inverted_cdf",
            )
        )

    def minimum_quantile(
        self,
        name: str,
        size: int,
        q: float,
    ) -> float:
        """Return a quantile of the smallest value in `size` independent pairs."""
        return self.quantile(name, -np.expm1(np.log1p(-q) / size))

    def maximum_quantile(
        self,
        name: str,
        size: int,
        q: float,
    ) -> float:
        """Return a quantile of the largest value in `size` independent pairs."""
        return self.quantile(name, q ** (1 / size))

    def expected_increase(self, prior: ArrayLike) -> float:
        """Return the expected increase of the probability of the true value.

        This is equation 6. The prior is one number, or one for each count X, (n + 1,).
        """
        priors = np.asarray(prior)
        if priors.ndim > 0:
            priors = priors[self.x]
        risk = posterior_from_log_ratio(self.log_ratio, priors)
        increase = np.maximum(risk - priors, 0)
        return float(increase @ self.probability)

    def quantile_summary(self) -> dict[str, float]:
        """Return 5, 50 and 95 % quantiles of risk and utility, and 99 % of the risk."""
        summary = {}
        levels = {"low": 0.05, "median": 0.5, "high": 0.95}
        for name in ("risk", "utility"):
            for level, q in levels.items():
                summary[f"{name}_{level}"] = self.quantile(name, q)
        summary["risk_99"] = self.quantile("risk", 0.99)
        return summary


@dataclass(frozen=True)
class Study:
    """A proportion, and a synthesizer of the count from which an analyst estimates it.

    Parameters
    ----------
    mechanism : Mechanism
        Synthesizer with rows X = 0 to n, two or more, and columns X*.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        Parameters a and b of the analyst's beta prior of p, positive. The posterior
        given the count X is Beta(X + a, n - X + b).
    """

    mechanism: Mechanism
    p0: float
    prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        checks.within(0, 1, p0=self.p0)
        checks.positive(prior=self.prior)

    @property
    def n(self) -> int:
        """Number of records in the data."""
        return self.mechanism.n_inputs - 1

    def squared_error_given_count(self) -> Floats:
        """Return the posterior mean of (p0 - p)^2 given X = 0 to n (equation 12).

        The result has shape (n + 1,).
        """
        n = self.n
        a, b = self.prior
        mean = (np.arange(n + 1) + a) / (n + a + b)
        variance = mean * (1 - mean) / (n + a + b + 1)
        return variance + (mean - self.p0) ** 2

    def log_count_prior(self) -> Floats:
        """Return log prior probabilities of X, with p integrated out, (n + 1,)."""
        n = self.n
        a, b = self.prior
        x = np.arange(n + 1)
        return log_binomial(n) + betaln(x + a, n - x + b) - betaln(a, b)

    @one_blas_thread
    def squared_error_given_release(self, x_star: ArrayLike) -> Floats:
        """Return the posterior mean of (p0 - p)^2 given releases, with X summed out.

        The posterior of p given X* is a mixture of n + 1 beta distributions, one for
        each X (equation 4 and Appendix B). The result is exact up to rounding.
        """
        columns = np.atleast_1d(x_star).astype(int)
        checks.within(0, self.mechanism.n_outputs - 1, x_star=columns)
        errors = self.squared_error_given_count()
        log_prior = self.log_count_prior()
        rows = np.arange(self.n + 1)
        width = max(1, BLOCK_ENTRIES // len(rows))
        result = np.empty(len(columns))
        for first in range(0, len(columns), width):
            chosen = slice(first, first + width)
            log_prob = self.mechanism.block(rows, columns[chosen])
            count_posterior = np.exp(posterior(log_prob.T, log_prior))
            result[chosen] = count_posterior @ errors
        return result

    def utility(self, x: ArrayLike, x_star: ArrayLike) -> Floats:
        """Return U, the exact loss of precision about p0 due to the release.

        By equation 4 it is log10 of the expected squared error given the release over
        that given the data, so larger is worse. The counts of ones in data and release
        broadcast against each other.
        """
        columns, position = np.unique(x_star, return_inverse=True)
        given_release = self.squared_error_given_release(columns)[position]
        given_count = self.squared_error_given_count()[np.asarray(x)]
        return np.log10(given_release / given_count)

    @one_blas_thread
    def expected_utility(self, x: int) -> float:
        """Return the expected loss of precision about p0 over releases of one data set.

        It is log10 of the expectation over X* of the ratio in equation 4. Releases with
        probability below 1e-12 are omitted.
        """
        probability = np.exp(self.mechanism.row(x))
        likely = np.flatnonzero(probability > 1e-12)
        given_release = self.squared_error_given_release(likely)
        given_count = self.squared_error_given_count()[x]
        ratio = probability[likely] @ given_release / given_count
        return float(np.log10(ratio))

    def expected_log_relative_risk(self) -> tuple[float, float]:
        """Return the expected log relative risk for an intruder with prior p0.

        The intruder knows the other n - 1 records, and that a record is one with
        probability p0. The first number is the expectation over data and releases for a
        record with a one. The second is that over all records: the mutual information
        of a record and the release given the other records, in nats.
        """
        p0 = self.p0
        if p0 in (0.0, 1.0):
            return 0.0, 0.0
        probability = binom.pmf(np.arange(self.n), self.n - 1, p0)
        likely = np.flatnonzero(probability > 1e-15)
        outputs = np.arange(self.mechanism.n_outputs)
        gains = []  # of a record with a zero, and with a one
        for x in likely:
            log_prob = self.mechanism.block(np.array([x, x + 1]), outputs)
            log_joint_zero = log_prob[0] + np.log1p(-p0)
            log_joint_one = log_prob[1] + np.log(p0)
            marginal = np.logaddexp(log_joint_zero, log_joint_one)
            log_relative_risk = log_difference(log_prob, marginal)
            gains.append((np.exp(log_prob) * log_relative_risk).sum(axis=1))
        gain_zero, gain_one = (probability[likely] @ np.array(gains)).tolist()
        return gain_one, p0 * gain_one + (1 - p0) * gain_zero

    def all_pairs(self, alternative: Ints, intruder_prior: float) -> Pairs:
        """Return all pairs of data set and release, by X, then X*.

        Pairs with probability below 1e-15 are omitted. For each X, `alternative`, (n +
        1,), has the count if the record at risk has the other value.
        """
        log_count_prob = binom.logpmf(np.arange(self.n + 1), self.n, self.p0)
        least = np.log(1e-15)
        by_count = []
        for count in np.flatnonzero(log_count_prob > least):
            log_prob = self.mechanism.row(int(count)) + log_count_prob[count]
            x_star = np.flatnonzero(log_prob > least)
            x = np.full(len(x_star), count)
            by_count.append((x, x_star, log_prob[x_star]))
        x, x_star, log_prob = map(np.concatenate, zip(*by_count, strict=True))
        probability = np.exp(log_prob)
        return self._pairs(x, x_star, probability, alternative, intruder_prior)

    def draw_pairs(
        self,
        alternative: Ints,
        intruder_prior: float,
        size: int,
        *,
        rng: Generator,
    ) -> Pairs:
        """Simulate `size` pairs of data set and release.

        The other arguments are those of `all_pairs`.
        """
        checks.at_least(1, size=size)
        x = rng.binomial(self.n, self.p0, size)
        releases = [sample(self.mechanism, count, 1, rng=rng) for count in x]
        x_star = np.concatenate(releases)
        probability = np.full(size, 1 / size)
        return self._pairs(x, x_star, probability, alternative, intruder_prior)

    def _pairs(
        self,
        x: Ints,
        x_star: Ints,
        probability: Floats,
        alternative: Ints,
        intruder_prior: float,
    ) -> Pairs:
        """Return pairs with the intruder's risk and the analyst's loss of precision."""
        log_ratio = np.empty(len(x))
        for count in np.unique(x):
            loss = privacy_loss(self.mechanism, count, alternative[count])
            has_count = x == count
            log_ratio[has_count] = loss[x_star[has_count]]
        risk = posterior_from_log_ratio(log_ratio, intruder_prior)
        utility = self.utility(x, x_star)
        return Pairs(x, x_star, probability, log_ratio, risk, utility)
