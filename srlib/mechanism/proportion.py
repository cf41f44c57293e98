"""Exact inference about a proportion from a synthetic count (McClure and Reiter 2012).

Section 3.1 and Appendix B: the release is the count X* of ones in the synthetic
records, which depends on the data through their count X of ones. The posterior of the
proportion given a release is a finite mixture.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, expit, logit
from scipy.stats import binom

from srlib import checks
from srlib.mechanism.bayes import posterior, posterior_from_log_ratio
from srlib.mechanism.core import BLOCK_ENTRIES, Mechanism, log_difference, sample
from srlib.mechanism.families import log_binomial
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

    x: NDArray[np.int64]
    x_star: NDArray[np.int64]
    probability: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    risk: NDArray[np.float64]
    utility: NDArray[np.float64]

    def event_probability(self, event: NDArray[np.bool_], size: int = 1) -> float:
        """Return the probability that the event, (k,) bool, occurs in any of `size` pairs."""
        single = min(1.0, float(self.probability[event].sum()))
        return 1.0 if single == 1 else float(-np.expm1(size * np.log1p(-single)))

    def quantile(self, name: str, q: float) -> float:
        """Return a quantile of an attribute over the pairs."""
        values = getattr(self, name)
        return float(
            np.quantile(values, q, weights=self.probability, method="inverted_cdf")
        )

    def minimum_quantile(self, name: str, size: int, q: float) -> float:
        """Return a quantile of the smallest value in `size` independent pairs."""
        return self.quantile(name, -np.expm1(np.log1p(-q) / size))

    def maximum_quantile(self, name: str, size: int, q: float) -> float:
        """Return a quantile of the largest value in `size` independent pairs."""
        return self.quantile(name, q ** (1 / size))

    def expected_increase(self, prior: ArrayLike) -> float:
        """Return the expected increase of the probability of the true value (equation 6).

        The prior is one number, or one for each count X, (n + 1,).
        """
        checks.within(0, 1, prior=prior)
        priors = np.asarray(prior, dtype=float)
        before = np.full(len(self.x), priors) if priors.ndim == 0 else priors[self.x]
        with np.errstate(invalid="ignore"):
            risk = expit(logit(before) + self.log_ratio)
        certain = (before == 0) | (before == 1)
        increase = np.where(certain, 0.0, np.maximum(risk - before, 0))
        return float(increase @ self.probability)

    def quantile_summary(self) -> dict[str, float]:
        """Return quantiles of risk and utility: 5, 50 and 95 %, and for the risk also 99 %."""
        levels = {"low": 0.05, "median": 0.5, "high": 0.95}
        return {
            f"{name}_{level}": self.quantile(name, q)
            for name in ("risk", "utility")
            for level, q in levels.items()
        } | {"risk_99": self.quantile("risk", 0.99)}


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

    def squared_error_given_count(self) -> NDArray[np.float64]:
        """Return the posterior mean of (p0 - p)^2 given X = 0 to n, (n + 1,) (equation 12)."""
        n, (a, b) = self.n, self.prior
        mean = (np.arange(n + 1) + a) / (n + a + b)
        return mean * (1 - mean) / (n + a + b + 1) + (mean - self.p0) ** 2

    def log_count_prior(self) -> NDArray[np.float64]:
        """Return log prior probabilities of the count X, with p integrated out, (n + 1,)."""
        n, (a, b) = self.n, self.prior
        x = np.arange(n + 1)
        return log_binomial(n) + betaln(x + a, n - x + b) - betaln(a, b)

    @one_blas_thread
    def squared_error_given_release(self, x_star: ArrayLike) -> NDArray[np.float64]:
        """Return the posterior mean of (p0 - p)^2 given releases, with the count X summed out.

        The posterior of p given X* is a mixture of n + 1 beta distributions, one for
        each X (equation 4 and Appendix B). The result is exact up to rounding.
        """
        columns = np.atleast_1d(np.asarray(x_star, dtype=np.int64))
        checks.within(0, self.mechanism.n_outputs - 1, x_star=columns)
        error, log_prior = self.squared_error_given_count(), self.log_count_prior()
        rows = np.arange(self.n + 1)
        width = max(1, BLOCK_ENTRIES // len(rows))
        result = np.empty(len(columns))
        for first in range(0, len(columns), width):
            log_prob = self.mechanism.block(rows, columns[first : first + width])
            result[first : first + width] = (
                np.exp(posterior(log_prob.T, log_prior)) @ error
            )
        return result

    def utility(self, x: ArrayLike, x_star: ArrayLike) -> NDArray[np.float64]:
        """Return U, the exact loss of precision about p0 due to the release (equation 4).

        It is log10 of the expected squared error given the release over that given the
        data, so larger is worse. The counts of ones in data and release broadcast
        against each other.
        """
        columns, where = np.unique(np.asarray(x_star), return_inverse=True)
        released = self.squared_error_given_release(columns)[where]
        return np.log10(released / self.squared_error_given_count()[np.asarray(x)])

    @one_blas_thread
    def expected_utility(self, x: int) -> float:
        """Return the expected loss of precision about p0 over the releases of one data set.

        It is log10 of the expectation over X* of the ratio in equation 4. Releases with
        probability below 1e-12 are omitted.
        """
        probability = np.exp(self.mechanism.row(x))
        kept = np.flatnonzero(probability > 1e-12)
        released = self.squared_error_given_release(kept)
        known = self.squared_error_given_count()[x]
        return float(np.log10(probability[kept] @ released / known))

    def expected_log_relative_risk(self) -> tuple[float, float]:
        """Return the expected log relative risk for an intruder whose prior is the proportion p0.

        The intruder knows the other n - 1 records, and that a record is one with
        probability p0. The first number is the expectation over data and releases for a
        record with a one. The second is that over all records: the mutual information
        of a record and the release given the other records, in nats.
        """
        if self.p0 in (0.0, 1.0):
            return 0.0, 0.0
        weight = binom.pmf(np.arange(self.n), self.n - 1, self.p0)
        kept = np.flatnonzero(weight > 1e-15)
        gains = np.zeros((len(kept), 2))
        for i, x in enumerate(map(int, kept)):
            log_prob = np.stack([self.mechanism.row(x), self.mechanism.row(x + 1)])
            marginal = np.logaddexp(
                log_prob[0] + np.log1p(-self.p0), log_prob[1] + np.log(self.p0)
            )
            gains[i] = (np.exp(log_prob) * log_difference(log_prob, marginal)).sum(
                axis=1
            )
        zero, one = map(float, weight[kept] @ gains)
        return one, self.p0 * one + (1 - self.p0) * zero

    def all_pairs(self, alternative: NDArray[np.int64], intruder_prior: float) -> Pairs:
        """Return all pairs of data set and release with their probabilities, by X, then X*.

        Pairs with probability below 1e-15 are omitted. For each X, `alternative`, (n +
        1,), has the count if the record at risk has the other value.
        """
        log_weight = binom.logpmf(np.arange(self.n + 1), self.n, self.p0)
        by_count, least = [], np.log(1e-15)
        for x in map(int, np.flatnonzero(log_weight > least)):
            row, other = self.mechanism.row(x), self.mechanism.row(int(alternative[x]))
            log_prob = row + log_weight[x]
            kept = np.flatnonzero(log_prob > least)
            log_ratio = (row - other)[kept]
            by_count.append(
                (np.full(len(kept), x), kept, np.exp(log_prob[kept]), log_ratio)
            )
        ones, x_star, probability, log_ratio = map(
            np.concatenate, zip(*by_count, strict=True)
        )
        risk = posterior_from_log_ratio(log_ratio, intruder_prior)
        return Pairs(
            ones, x_star, probability, log_ratio, risk, self.utility(ones, x_star)
        )

    def draw_pairs(
        self,
        alternative: NDArray[np.int64],
        intruder_prior: float,
        size: int,
        *,
        rng: np.random.Generator,
    ) -> Pairs:
        """Simulate pairs of data set and release; the other arguments are those of `all_pairs`."""
        checks.at_least(1, size=size)
        x = rng.binomial(self.n, self.p0, size)
        x_star = np.array([sample(self.mechanism, int(k), 1, rng=rng)[0] for k in x])
        log_ratio = np.array(
            [
                np.subtract(
                    *self.mechanism.block(np.array([k, alternative[k]]), np.array([y]))
                )[0]
                for k, y in zip(x, x_star, strict=True)
            ]
        )
        risk, share = (
            posterior_from_log_ratio(log_ratio, intruder_prior),
            np.full(size, 1 / size),
        )
        return Pairs(x, x_star, share, log_ratio, risk, self.utility(x, x_star))
