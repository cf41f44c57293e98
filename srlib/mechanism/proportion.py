"""What an analyst learns of one proportion from a synthetic count, exactly.

McClure and Reiter (2012), section 3.1 and Appendix B: the release is the count X* of ones among
synthetic records, made from the count X of ones in the data. The posterior of the proportion given
a release is a finite mixture.
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
    """Pairs (D, D*) of data set and release, each (k,).

    Attributes
    ----------
    x, x_star
        Counts of ones in the data and in the release.
    probability
        p(X*, X | p0), equation 7; 1 / k each for pairs that were drawn.
    log_ratio
        Log of the release's probability under the record's true value over that under the other.
    risk
        The intruder's posterior probability of the true value, equation 5.
    utility
        Equation 4.
    """

    x: NDArray[np.int64]
    x_star: NDArray[np.int64]
    probability: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    risk: NDArray[np.float64]
    utility: NDArray[np.float64]

    def event_probability(self, event: NDArray[np.bool_], size: int = 1) -> float:
        """Probability that at least one of `size` independent pairs has the event, (k,) bool."""
        one = min(1.0, float(self.probability[event].sum()))
        return 1.0 if one == 1 else float(-np.expm1(size * np.log1p(-one)))

    def quantile(self, name: str, q: float) -> float:
        """Quantile of one of the attributes over the pairs."""
        values = getattr(self, name)
        return float(np.quantile(values, q, weights=self.probability, method="inverted_cdf"))

    def minimum_quantile(self, name: str, size: int, q: float) -> float:
        """Quantile of the smallest value among `size` independent pairs."""
        return self.quantile(name, -np.expm1(np.log1p(-q) / size))

    def maximum_quantile(self, name: str, size: int, q: float) -> float:
        """Quantile of the largest value among `size` independent pairs."""
        return self.quantile(name, q ** (1 / size))

    def expected_increase(self, prior: ArrayLike) -> float:
        """Expected increase of the probability of the truth over a prior (equation 6).

        The prior is one number, or one for each count X, (n + 1,).
        """
        checks.within(0, 1, prior=prior)
        at = np.asarray(prior, dtype=float)
        before = np.full(len(self.x), at) if at.ndim == 0 else at[self.x]
        with np.errstate(invalid="ignore"):
            risk = expit(logit(before) + self.log_ratio)
        certain = (before == 0) | (before == 1)
        increase = np.where(certain, 0.0, np.maximum(risk - before, 0))
        return float(increase @ self.probability)

    def quantile_summary(self) -> dict[str, float]:
        """Median and ends of the central 90 % of risk and utility, and the risk's 99 % quantile."""
        named = {"low": 0.05, "median": 0.5, "high": 0.95}
        return {
            f"{name}_{word}": self.quantile(name, q)
            for name in ("risk", "utility")
            for word, q in named.items()
        } | {"risk_99": self.quantile("risk", 0.99)}


@dataclass(frozen=True)
class Study:
    """A proportion, and the synthetic count from which an analyst learns of it.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, two or more; columns X*.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        a and b of the analyst's beta prior of p, positive; given the count X the posterior is
        Beta(X + a, n - X + b).
    """

    mechanism: Mechanism
    p0: float
    prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        checks.within(0, 1, p0=self.p0)
        checks.positive(prior=self.prior)

    @property
    def n(self) -> int:
        """Records in the data."""
        return self.mechanism.n_inputs - 1

    def squared_error_given_count(self) -> NDArray[np.float64]:
        """Posterior expectation of (p0 - p)^2 given X = 0 to n, (n + 1,) (equation 12)."""
        n, (a, b) = self.n, self.prior
        mean = (np.arange(n + 1) + a) / (n + a + b)
        return mean * (1 - mean) / (n + a + b + 1) + (mean - self.p0) ** 2

    def log_count_prior(self) -> NDArray[np.float64]:
        """Log prior probabilities of the count of the data, with p integrated out, (n + 1,)."""
        n, (a, b) = self.n, self.prior
        x = np.arange(n + 1)
        return log_binomial(n) + betaln(x + a, n - x + b) - betaln(a, b)

    @one_blas_thread
    def squared_error_given_release(self, x_star: ArrayLike) -> NDArray[np.float64]:
        """Posterior expectation of (p0 - p)^2 given releases, with the data's count summed out.

        Given X* the posterior of p is a mixture of n + 1 beta distributions, one for each X
        (equation 4 and Appendix B). Exact up to rounding.
        """
        columns = np.atleast_1d(np.asarray(x_star, dtype=np.int64))
        checks.within(0, self.mechanism.n_outputs - 1, x_star=columns)
        error, log_prior = self.squared_error_given_count(), self.log_count_prior()
        rows = np.arange(self.n + 1)
        width = max(1, BLOCK_ENTRIES // len(rows))
        result = np.empty(len(columns))
        for first in range(0, len(columns), width):
            log_prob = self.mechanism.block(rows, columns[first : first + width])
            result[first : first + width] = np.exp(posterior(log_prob.T, log_prior)) @ error
        return result

    def utility(self, x: ArrayLike, x_star: ArrayLike) -> NDArray[np.float64]:
        """Loss of precision about p0 through the release, exactly (equation 4).

        It is log10 of the expected squared error given the release over that given the data; the
        larger, the worse the release. Counts of ones in data and release broadcast against each
        other.
        """
        columns, where = np.unique(np.asarray(x_star), return_inverse=True)
        released = self.squared_error_given_release(columns)[where]
        return np.log10(released / self.squared_error_given_count()[np.asarray(x)])

    @one_blas_thread
    def expected_utility(self, x: int) -> float:
        """Loss of precision about p0 that one data set's releases have on average.

        It is log10 of the expectation over X* of the ratio in equation 4. Releases with a
        probability below 1e-12 are left out.
        """
        probability = np.exp(self.mechanism.row(x))
        kept = np.flatnonzero(probability > 1e-12)
        released = self.squared_error_given_release(kept)
        known = self.squared_error_given_count()[x]
        return float(np.log10(probability[kept] @ released / known))

    def expected_log_relative_risk(self) -> tuple[float, float]:
        """Expected log of the relative risk for an intruder whose prior is the proportion p0.

        The intruder knows the other n - 1 records, and that a record is one with probability p0.
        Returns the expectation over data and releases for a record with a one, and that over all
        records: the mutual information of a record and the release given the other records, in
        nats.
        """
        if self.p0 in (0.0, 1.0):
            return 0.0, 0.0
        weight = binom.pmf(np.arange(self.n), self.n - 1, self.p0)
        kept = np.flatnonzero(weight > 1e-15)
        gains = np.zeros((len(kept), 2))
        for at, x in enumerate(map(int, kept)):
            log_prob = np.stack([self.mechanism.row(x), self.mechanism.row(x + 1)])
            marginal = np.logaddexp(log_prob[0] + np.log1p(-self.p0), log_prob[1] + np.log(self.p0))
            gains[at] = (np.exp(log_prob) * log_difference(log_prob, marginal)).sum(axis=1)
        zero, one = map(float, weight[kept] @ gains)
        return one, self.p0 * one + (1 - self.p0) * zero

    def all_pairs(self, alternative: NDArray[np.int64], intruder_prior: float) -> Pairs:
        """Every pair of data set and release with its probability, in the order of X, then X*.

        Pairs with a probability below 1e-15 are left out. The alternative, (n + 1,), has for each X
        the count when the record at risk has its other value.
        """
        log_weight = binom.logpmf(np.arange(self.n + 1), self.n, self.p0)
        found, least = [], np.log(1e-15)
        for x in map(int, np.flatnonzero(log_weight > least)):
            row, other = self.mechanism.row(x), self.mechanism.row(int(alternative[x]))
            log_prob = row + log_weight[x]
            kept = np.flatnonzero(log_prob > least)
            log_ratio = (row - other)[kept]
            found.append((np.full(len(kept), x), kept, np.exp(log_prob[kept]), log_ratio))
        ones, x_star, probability, log_ratio = map(np.concatenate, zip(*found, strict=True))
        risk = posterior_from_log_ratio(log_ratio, intruder_prior)
        return Pairs(ones, x_star, probability, log_ratio, risk, self.utility(ones, x_star))

    def draw_pairs(
        self,
        alternative: NDArray[np.int64],
        intruder_prior: float,
        size: int,
        *,
        rng: np.random.Generator,
    ) -> Pairs:
        """Draw data sets and a release for each; the other arguments are those of `all_pairs`."""
        checks.at_least(1, size=size)
        x = rng.binomial(self.n, self.p0, size)
        x_star = np.array([sample(self.mechanism, int(k), 1, rng=rng)[0] for k in x])
        log_ratio = np.array(
            [
                np.subtract(*self.mechanism.block(np.array([k, alternative[k]]), np.array([y])))[0]
                for k, y in zip(x, x_star, strict=True)
            ]
        )
        risk, share = posterior_from_log_ratio(log_ratio, intruder_prior), np.full(size, 1 / size)
        return Pairs(x, x_star, share, log_ratio, risk, self.utility(x, x_star))
