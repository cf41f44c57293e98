"""A DPMPM small enough to enumerate: its whole table of log p(release | data set).

Hu, Reiter and Wang (2014) fill one column of that table by Monte Carlo, because it is too large to
write down. For a handful of records it is not: records are exchangeable, so that the marginal
likelihood of a contingency table is a sum over the ways to split its counts among the classes,
with class probabilities and level probabilities integrated out. For a single binary variable the
posterior of the share of ones is known as well, by quadrature.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline, make_interp_spline
from scipy.special import betainc, betaln, expit, gammaln, logit, logsumexp
from scipy.stats import beta, gamma

from srlib import checks
from srlib.dpmpm.model import Prior
from srlib.mechanism.core import Mechanism, change_one_record
from srlib.mechanism.families import compositions

MOST_SPLITS = 1_000_000
NODES = 1000


def log_marginal_likelihood(
    n: int, n_levels: Sequence[int], n_classes: int, prior: Prior | None = None
) -> NDArray[np.float64]:
    """Log probabilities of n records in a given order, for every table that they may make.

    Parameters
    ----------
    n : int
        Records, 0 or more.
    n_levels : sequence of int
        Levels of each variable, 2 or more; their product is K, the number of cells.
    n_classes : int
        Truncation level F, 1 or more.
    prior : Prior, optional
        Prior distribution; the paper's if not given.

    Returns
    -------
    (n_tables,) float64
        In the order of ``synthesizers.compositions(n, K)``, cells in lexicographic order.

    Raises
    ------
    ValueError
        If a variable has fewer than 2 levels, there is no class, or the counts can be split among
        the classes in more than a million ways.

    References
    ----------
    Hu, Reiter and Wang (2014), equations 1 to 6.
    """
    prior, cells = prior or Prior(), prod(n_levels)
    if len(n_levels) == 0 or min(n_levels) < 2:
        raise ValueError(f"n_levels is {n_levels!r}; each variable must have 2 levels or more")
    if n_classes < 1:
        raise ValueError(f"n_classes is {n_classes}; it must be 1 or more")
    ways = comb(n + cells * n_classes - 1, n)
    if ways > MOST_SPLITS:
        raise ValueError(
            f"n is {n}, with {cells} cells and n_classes = {n_classes}: {ways:,} ways to split the "
            f"counts among the classes; at most {MOST_SPLITS:,} are enumerated"
        )
    splits = compositions(n, cells * n_classes).reshape(-1, cells, n_classes)
    sizes = splits.sum(axis=1)
    log_prob = gammaln(splits.sum(axis=2) + 1.0).sum(axis=1) - gammaln(splits + 1.0).sum((1, 2))
    log_prob += _log_allocation(sizes, prior)
    a, level_of = prior.concentration, np.indices(n_levels).reshape(len(n_levels), cells)
    for levels, of_cell in zip(n_levels, level_of, strict=True):
        indicator = (of_cell == np.arange(levels)[:, None]).astype(np.int64)
        counts = np.einsum("lk,skf->sfl", indicator, splits)
        of_class = gammaln(a + counts).sum(axis=2) - levels * gammaln(a)
        of_class += gammaln(levels * a) - gammaln(levels * a + sizes)
        log_prob += of_class.sum(axis=1)
    # Tables come out of `unique` in lexicographic order, as from `compositions`.
    tables, where = np.unique(splits.sum(axis=2), axis=0, return_inverse=True)
    total = np.full(len(tables), -np.inf)
    np.logaddexp.at(total, where.ravel(), log_prob)
    return total


def _log_allocation(sizes: NDArray[np.int64], prior: Prior) -> NDArray[np.float64]:
    """Log probabilities of allocations with the given class sizes, (n, F), sticks integrated out.

    The integral over alpha is a sum over even steps of log alpha, whose error falls exponentially
    with the number of steps. It is one discrete prior for all sizes, so that probabilities of
    releases sum to one whatever its error.
    """
    distinct, where = np.unique(sizes, axis=0, return_inverse=True)
    of_alpha = gamma(prior.alpha_shape, scale=1 / prior.alpha_rate)
    low, high = max(of_alpha.ppf(1e-16), 1e-300), of_alpha.isf(1e-16)
    log_alpha = np.linspace(np.log(low), np.log(high), NODES)
    alpha = np.exp(log_alpha)
    log_weight = of_alpha.logpdf(alpha) + log_alpha
    behind = np.cumsum(distinct[:, ::-1], axis=1)[:, ::-1]
    sticks = np.zeros((len(distinct), NODES))
    for size, left in zip(distinct.T[:-1], behind.T[1:], strict=True):
        sticks += betaln(1 + size[:, None], alpha + left[:, None]) - betaln(1, alpha)
    return (logsumexp(sticks + log_weight, axis=1) - logsumexp(log_weight))[where.ravel()]


def enumerate_mechanism(
    n: int, n_s: int, n_levels: Sequence[int], n_classes: int, prior: Prior | None = None
) -> Mechanism:
    """Draws from the posterior predictive distribution of a DPMPM, as a table of counts.

    With one class and one variable it is `synthesizers.dirichlet_multinomial` with every parameter
    equal to the prior's concentration.

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release, 1 or more.
    n_levels, n_classes, prior
        As of `log_marginal_likelihood`.

    Returns
    -------
    Mechanism
        Rows are all tables of n records on the K cells, neighbors when one record changes its
        cell; columns all tables of n_s records.
    """
    for name, value in (("n", n), ("n_s", n_s)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be 1 or more")
    # The larger space first: where it cannot be enumerated, nothing has been computed.
    of_both = log_marginal_likelihood(n + n_s, n_levels, n_classes, prior)
    of_data = log_marginal_likelihood(n, n_levels, n_classes, prior)
    data, releases, both = (compositions(size, prod(n_levels)) for size in (n, n_s, n + n_s))
    position = {tuple(table): i for i, table in enumerate(both.tolist())}
    joined = (data[:, None] + releases).reshape(-1, data.shape[1]).tolist()
    at = np.array([position[tuple(table)] for table in joined]).reshape(len(data), -1)
    coefficient = gammaln(n_s + 1.0) - gammaln(releases + 1.0).sum(axis=1)
    log_prob = coefficient + of_both[at] - of_data[:, None]
    inputs, outputs = ([tuple(map(int, t)) for t in tables] for tables in (data, releases))
    return Mechanism.from_table(log_prob, change_one_record(data), inputs, outputs)


# ----------------------------------------------------------------- the share of ones, by quadrature

# Beyond this value of -log(1 - V) the second class has a share below exp(-40): there is one class.
ONE_CLASS = 40.0
STEP = 0.125  # of the grid of log odds on which the prior distribution function is tabulated


@dataclass(frozen=True)
class Share:
    """Posterior of the share of ones under a DPMPM of two classes and one binary variable.

    It has the functions that `edp.exact` asks of a distribution. Data with x ones multiply the
    prior density by theta^x (1 - theta)^(n - x), so that integration by parts leaves an integral
    of the prior distribution function, which is tabulated over the log odds of theta.

    Attributes
    ----------
    x, n : int
        Ones in the data, and records.
    prior : Prior
        Prior distribution.

    References
    ----------
    Hu, Reiter and Wang (2014), equations 1 to 6, with p = 1 variable and F = 2 classes.
    """

    x: int
    n: int
    prior: Prior

    def cdf(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Distribution function, at values in [0, 1]."""
        at = np.clip(logit(np.asarray(theta, dtype=float)), *self._ends)
        # At the ends, which stand for 0 and 1, clipping loses nothing that a double would show.
        return np.clip(self._below(at) / self._mass, 0.0, 1.0)

    def sf(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Survival function: the distribution function of the share of zeros."""
        return self._mirrored.cdf(1 - np.asarray(theta, dtype=float))

    def ppf(self, share: ArrayLike) -> NDArray[np.float64]:
        """Quantiles, by bisection of the log odds."""
        wanted = np.asarray(share, dtype=float)
        low, high = (np.full(wanted.shape, end) for end in self._ends)
        for _ in range(60):
            middle = (low + high) / 2
            above = self._below(middle) > wanted * self._mass
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return expit((low + high) / 2)

    def isf(self, share: ArrayLike) -> NDArray[np.float64]:
        """Quantiles from above."""
        return 1 - self._mirrored.ppf(share)

    @property
    def _mirrored(self) -> "Share":
        return Share(self.n - self.x, self.n, self.prior)

    @property
    def _ends(self) -> tuple[float, float]:
        log_odds, _ = _prior_table(self.prior)
        return log_odds[0], log_odds[-1]

    @property
    def _mass(self) -> float:
        return float(self._below(np.array(self._ends[1])))

    def _below(self, log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Joint probability of the data and a share below, by parts."""
        prior, part = _by_parts(self.x, self.n, self.prior)
        return self._likelihood(log_odds) * prior(log_odds) - part(log_odds)

    def _likelihood(self, log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
        return expit(log_odds) ** self.x * expit(-log_odds) ** (self.n - self.x)


def share_posterior(x: int, n: int, n_classes: int, prior: Prior | None = None) -> Any:
    """Posterior of the share of ones, for a DPMPM on one binary variable.

    Parameters
    ----------
    x, n : int
        Ones in the data, and records; 0 <= x <= n.
    n_classes : int
        Truncation level F, 1 or 2.
    prior : Prior, optional
        Prior distribution; the paper's if not given.

    Returns
    -------
    distribution
        With cdf, sf, ppf and isf: scipy's beta distribution for one class, a `Share` for two.
        A concentration below 0.05 has half of the prior in the rounding of 0 and 1, and the
        quadrature is not made for it.

    Raises
    ------
    ValueError
        If x or the number of classes is out of its range, or the concentration is below 0.05.

    Examples
    --------
    >>> one, two = (share_posterior(1, 5, n_classes) for n_classes in (1, 2))
    >>> round(float(one.ppf(0.5)), 4), round(float(two.ppf(0.5)), 4)
    (0.2644, 0.2844)
    """
    prior = prior or Prior()
    checks.within(0, n, x=x)
    checks.within(1, 2, n_classes=n_classes)
    if n_classes == 1:
        return beta(prior.concentration + x, prior.concentration + n - x)
    checks.at_least(0.05, concentration=prior.concentration)
    return Share(x, n, prior)


@cache
def _by_parts(x: int, n: int, prior: Prior) -> tuple[BSpline, BSpline]:
    """The prior distribution function over log odds, and its integral over the likelihood's slope.

    With theta = expit(z) the slope of theta^x (1 - theta)^(n - x) in z is itself times
    (x - n theta).
    """
    log_odds, below = _prior_table(prior)
    theta, rest = expit(log_odds), expit(-log_odds)
    slope = theta**x * rest ** (n - x) * (x * rest - (n - x) * theta)
    return (
        make_interp_spline(log_odds, below, k=5),
        make_interp_spline(log_odds, slope * below, k=5).antiderivative(),
    )


@cache
def _prior_table(prior: Prior) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log odds of the share of ones at even steps, and their prior distribution function."""
    a = prior.concentration
    end = STEP * np.ceil(28 / min(a, 1.0) / STEP)
    low = np.arange(-end, STEP / 2, STEP)
    below = np.array([_prior_cdf(theta, prior) for theta in expit(low)])
    below[-1] = 0.5  # by symmetry, as is the other half
    return np.append(low, -low[-2::-1]), np.append(below, 1 - below[-2::-1])


def _prior_cdf(theta: float, prior: Prior) -> float:
    """Prior probability that V phi_1 + (1 - V) phi_2 <= theta, for theta up to 1/2.

    phi_2 is integrated out exactly, phi_1 and the stick V by double exponential quadrature between
    the points where the integrand has kinks. With alpha integrated out, s = -log(1 - V) has a
    Lomax distribution.
    """
    a, shape, rate = prior.concentration, prior.alpha_shape, prior.alpha_rate
    near, far, weight = _double_exponential(min(a, 1.0), 121 if a > 5 else 61)

    def of_stick(s: ArrayLike) -> NDArray[np.float64]:
        return -np.expm1(-shape * np.log1p(np.asarray(s) / rate))

    cuts = of_stick(np.clip([0, -np.log1p(-theta), -np.log(theta), ONE_CLASS], 0, ONE_CLASS))
    gaps = np.diff(cuts)[:, None]
    s = rate * np.expm1(-np.log1p(-(cuts[:-1, None] + gaps * near)) / shape)
    first, second = -np.expm1(-s)[..., None], np.exp(-s)[..., None]
    # phi_1 up to `low` leaves all of phi_2 below theta, from `high` on none of it.
    with np.errstate(divide="ignore", over="ignore"):  # at the first nodes V rounds to zero
        low = np.clip((theta - second) / first, 0, 1)
        high = np.clip(theta / first, 0, 1)
    width = high - low
    phi, rest = low + width * near, 1 - high + width * far
    log_density = (a - 1) * (np.log(np.maximum(phi, 1e-300)) + np.log(np.maximum(rest, 1e-300)))
    inner = betainc(a, a, np.clip((theta - first * phi) / second, 0, 1))
    between = (np.exp(log_density - betaln(a, a)) * inner * weight * width).sum(axis=-1)
    two = (gaps * weight * (betainc(a, a, low[..., 0]) + between)).sum()
    return float(two + (1 - cuts[-1]) * betainc(a, a, theta))


@cache
def _double_exponential(
    power: float, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Nodes in (0, 1) as distances from either end, and weights, for x^(power - 1) at an end."""
    reach = np.arcsinh(28 / (np.pi * power))
    t = np.linspace(-reach, reach, size)
    near, far = expit(np.pi * np.sinh(t)), expit(-np.pi * np.sinh(t))
    return near, far, (t[1] - t[0]) * np.pi * np.cosh(t) * near * far
