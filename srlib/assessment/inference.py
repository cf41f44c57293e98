"""Analysis of released data: combining rules, coefficients and marginals.

The release is m fully synthetic data sets. An analyst computes the same estimate in each and
combines them with the rules of Raghunathan, Reiter and Rubin (2003); nothing here looks at the
confidential data but the functions that compare the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ive

from srlib.assessment.regression import Regression
from srlib.data.codes import Codes, Levels, cell_numbers

Reference = Literal["normal", "t"]


@dataclass(frozen=True)
class Combined:
    """Estimates combined over m synthetic data sets; every array is (n_quantities,).

    Attributes
    ----------
    estimate : ndarray of float
        Mean of the m estimates, q-bar.
    between : ndarray of float
        Variance of the m estimates, b (divisor m - 1).
    within : ndarray of float
        Mean of the m estimated variances, u-bar.
    variance : ndarray of float
        T = (1 + 1/m) b - u-bar, or its replacement where `adjusted`.
    df : ndarray of float
        Degrees of freedom, in (0, m - 1].
    adjusted : ndarray of bool
        Whether T was not positive and Reiter's (2002) variance stands in for it.
    """

    estimate: NDArray[np.float64]
    between: NDArray[np.float64]
    within: NDArray[np.float64]
    variance: NDArray[np.float64]
    df: NDArray[np.float64]
    adjusted: NDArray[np.bool_]

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Square root of `variance`, (n_quantities,)."""
        return np.sqrt(self.variance)

    def interval(
        self, level: float = 0.95, reference: Reference = "t"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Confidence limits, estimate -/+ quantile x standard error.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1).
        reference : {"t", "normal"}
            Distribution that the quantile comes from: t with `df` degrees of freedom, the rule
            for few synthetic data sets, or the normal distribution, its limit for many. With
            few the former is very wide (df is close to 0 whenever T is; a limit can be
            infinite) and the latter too narrow: for a mean, m = 5 and as many synthetic as
            confidential records it covers 88 % where 95 % is stated.

        Returns
        -------
        low, high : ndarray of float
            Limits, each (n_quantities,).
        """
        from scipy import stats

        if not 0 < level < 1:
            raise ValueError(f"level is {level!r}; it must lie between 0 and 1")
        if reference not in ("t", "normal"):
            raise ValueError(f"reference is {reference!r}; it must be 't' or 'normal'")
        tail = (1 + level) / 2
        df = self.df if reference == "t" else np.inf
        half_width = stats.t.ppf(tail, df) * self.standard_error
        return self.estimate - half_width, self.estimate + half_width


def combine(estimates: ArrayLike, variances: ArrayLike, size_ratio: float = 1.0) -> Combined:
    r"""Combine the estimates from m fully synthetic data sets.

    Raghunathan, Reiter and Rubin (2003): with q-bar and u-bar the means of the estimates and of
    their variances, and b the variance of the estimates,

    .. math:: T = (1 + 1/m) b - \bar u, \qquad
              \nu = (m - 1) \left(1 - \frac{\bar u}{(1 + 1/m) b}\right)^2.

    The estimates scatter around the posterior mean by the posterior variance and by the sampling
    of n* records, E(b) = V + u-bar, so that b - u-bar estimates V, the variance of the estimate
    that the confidential data would have given, and b / m is the error of a mean of m.

    T is not positive when b happens to be small. Reiter (2002) then takes (n*/n) u-bar, the
    variance of an estimate from n records as the synthetic records show it. Its degrees of
    freedom, m - 1, are our choice: nu never exceeds them.

    Parameters
    ----------
    estimates, variances : array_like of float
        (m, n_quantities), or (m,) for a single quantity: the estimates and their estimated
        variances in each synthetic data set, m at least 2.
    size_ratio : float
        n*/n, records in a synthetic data set for each record of the confidential data.

    Returns
    -------
    Combined
        With arrays of shape (n_quantities,).

    Raises
    ------
    ValueError
        If the shapes differ, m is below 2, a value is not finite, or a variance or the ratio
        is negative.
    """
    q = np.asarray(estimates, dtype=float)
    u = np.asarray(variances, dtype=float)
    if q.shape != u.shape or q.ndim not in (1, 2):
        raise ValueError(
            f"estimates has shape {q.shape} and variances {u.shape}; both must be "
            "(m, n_quantities) or (m,)"
        )
    q, u = q.reshape(len(q), -1), u.reshape(len(u), -1)
    m = len(q)
    if m < 2:
        raise ValueError(f"estimates holds {m} synthetic data set(s); the rules need at least 2")
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise ValueError("estimates and variances must be finite, and variances not negative")
    if not (np.isfinite(size_ratio) and size_ratio > 0):
        raise ValueError(f"size_ratio is {size_ratio!r}; it must be positive")

    between = q.var(axis=0, ddof=1)
    within = u.mean(axis=0)
    inflated = (1 + 1 / m) * between
    adjusted = (inflated <= within) & (within > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (m - 1) * (1 - np.where(within == 0, 0.0, within / inflated)) ** 2
    return Combined(
        estimate=q.mean(axis=0),
        between=between,
        within=within,
        variance=np.where(adjusted, size_ratio * within, inflated - within),
        df=np.where(adjusted, m - 1.0, df),
        adjusted=adjusted,
    )


def coefficients(
    original: Regression,
    released: Sequence[Regression],
    *,
    level: float = 0.95,
    reference: Reference = "normal",
) -> pd.DataFrame:
    """Compare one regression on the confidential and on the synthetic data (Table 2).

    Parameters
    ----------
    original : Regression
        The fit to the confidential data.
    released : sequence of Regression
        The fits to the m synthetic data sets, with the same terms.
    level : float
        Confidence level, in (0, 1).
    reference : {"normal", "t"}
        Distribution behind the synthetic interval, see `Combined.interval`. The paper's
        intervals reach about 2 to 4 standard errors to each side, by the standard errors of
        American Community Survey records of another year, scaled to its 10,000. With m = 5 and t
        quantiles no unadjusted interval could reach less than 6.7 square roots of u-bar, so the
        paper's must be normal, or have other degrees of freedom than the rule's.

    Returns
    -------
    DataFrame
        One row a term: term, original, original_se, original_low, original_high, synthetic,
        synthetic_se, df, adjusted (whether the variance is Reiter's), low, high, and overlap,
        the share of the two intervals that they have in common (mean of the shares of each;
        Karr and others 2006; 1 is the best, negative values say how far they are apart).

    Raises
    ------
    ValueError
        If the terms or the sizes of the synthetic data sets differ, or as `combine`.
    """
    from scipy import stats

    if any(fit.terms != original.terms for fit in released):
        raise ValueError(f"released has other terms than original, which has {original.terms}")
    sizes = sorted({fit.n_records for fit in released})
    if len(sizes) != 1:
        raise ValueError(f"released has data sets of {sizes} records; all must be of one size")
    combined = combine(
        np.array([fit.estimate for fit in released]),
        np.array([fit.standard_error for fit in released]) ** 2,
        size_ratio=sizes[0] / original.n_records,
    )
    low, high = combined.interval(level, reference)
    half_width = stats.norm.ppf((1 + level) / 2) * original.standard_error
    original_low, original_high = original.estimate - half_width, original.estimate + half_width
    common = np.minimum(high, original_high) - np.maximum(low, original_low)
    return pd.DataFrame(
        {
            "term": original.terms,
            "original": original.estimate,
            "original_se": original.standard_error,
            "original_low": original_low,
            "original_high": original_high,
            "synthetic": combined.estimate,
            "synthetic_se": combined.standard_error,
            "df": combined.df,
            "adjusted": combined.adjusted,
            "low": low,
            "high": high,
            "overlap": (common / (original_high - original_low) + common / (high - low)) / 2,
        }
    )


def joint_distribution(codes: Codes, n_levels: Levels, k1: int, k2: int) -> NDArray[np.float64]:
    """Proportions of the records in each cell of two variables.

    Parameters
    ----------
    codes : ndarray of int
        (n, p), levels of variable k coded 0 .. n_levels[k] - 1.
    n_levels : sequence of int
        Number of levels of each variable, (p,).
    k1, k2 : int
        Columns of the two variables.

    Returns
    -------
    ndarray of float
        (n_levels[k1], n_levels[k2]), summing to 1.
    """
    shape = (n_levels[k1], n_levels[k2])
    cells = cell_numbers(codes[:, [k1, k2]], shape)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape) / len(codes)


def compare_joint(
    original: Codes,
    released: Sequence[Codes],
    levels: Sequence[Sequence[str]],
    k1: int,
    k2: int,
) -> pd.DataFrame:
    """Compare the joint distribution of two variables in confidential and synthetic data.

    The numbers behind Figures 1 and 2 of Hu, Reiter and Wang (2014), who average the
    proportions over the m synthetic data sets.

    Parameters
    ----------
    original : ndarray of int
        (n, p) codes from 0.
    released : sequence of ndarray of int
        m arrays (n*, p) of codes.
    levels : sequence of sequence of str
        Labels of the levels of each variable, (p,) of (n_levels[k],).
    k1, k2 : int
        Columns of the two variables.

    Returns
    -------
    DataFrame
        One row a cell and source: level_a, level_b, source (``"original"`` or ``"synthetic"``),
        proportion, and se, its standard error as an estimate for the population: binomial for
        the original, by `combine` for the synthetic data.
    """
    n_levels = [len(labels) for labels in levels]
    n, n_synthetic = len(original), len(released[0])
    observed = joint_distribution(original, n_levels, k1, k2).ravel()
    shares = np.array([joint_distribution(z, n_levels, k1, k2).ravel() for z in released])
    combined = combine(shares, shares * (1 - shares) / n_synthetic, n_synthetic / n)
    cells = [(a, b) for a in levels[k1] for b in levels[k2]]
    sources = {
        "original": (observed, np.sqrt(observed * (1 - observed) / n)),
        "synthetic": (combined.estimate, combined.standard_error),
    }
    return pd.DataFrame(
        [
            (a, b, source, p, se)
            for i, (a, b) in enumerate(cells)
            for source, (p, se) in ((s, (v[0][i], v[1][i])) for s, v in sources.items())
        ],
        columns=["level_a", "level_b", "source", "proportion", "se"],
    )


def pairwise_differences(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Levels,
    names: Sequence[str],
) -> pd.DataFrame:
    """Measure how far the joint distribution of each pair of variables is from the original one.

    Parameters
    ----------
    original : ndarray of int
        (n, p) codes from 0.
    released : sequence of ndarray of int
        m arrays (n*, p) of codes.
    n_levels : sequence of int
        Number of levels of each variable, (p,).
    names : sequence of str
        Names of the variables, (p,).

    Returns
    -------
    DataFrame
        One row a pair, the worst first: variable_a, variable_b, mean_absolute_difference and
        maximum_absolute_difference over the cells, between the proportion in the original and
        the mean over the m synthetic data sets.
    """
    rows = []
    for k1, k2 in combinations(range(len(names)), 2):
        mean = np.mean([joint_distribution(z, n_levels, k1, k2) for z in released], axis=0)
        difference = np.abs(mean - joint_distribution(original, n_levels, k1, k2))
        rows.append((names[k1], names[k2], difference.mean(), difference.max()))
    columns = [
        "variable_a",
        "variable_b",
        "mean_absolute_difference",
        "maximum_absolute_difference",
    ]
    return (
        pd.DataFrame(rows, columns=columns)
        .sort_values("maximum_absolute_difference", ascending=False, kind="stable")
        .reset_index(drop=True)
    )


@dataclass(frozen=True)
class AgainstSampling:
    """Differences of the cells of all pairs of variables, beside those that sampling makes.

    Absolute differences of proportions, averaged over the cells of a pair, then over the pairs.

    Attributes
    ----------
    difference : float
        Between the original and the mean over the releases.
    single : float
        Between the original and one release, on average over these.
    expected : float
        Between two samples of the same population.
    error : float
        Standard error of `ratio`, from between the releases.
    """

    difference: float
    single: float
    expected: float
    error: float

    @property
    def ratio(self) -> float:
        """`single` over `expected`: 1 if a release is off as another sample would be."""
        return self.single / self.expected


def against_sampling(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Levels,
) -> AgainstSampling:
    r"""Compare the pairwise differences of releases with those of another sample.

    A cell that n records fall into with probability p each has counts X and Y in two samples. With
    independent Poisson counts of mean :math:`\lambda = n p`,

    .. math:: E |X - Y| = 2 \lambda e^{-2 \lambda} (I_0(2 \lambda) + I_1(2 \lambda)),

    and binomial ones differ less by a factor of about :math:`\sqrt{1 - p}`. For p stand the
    proportions in all tables together, so that cells that are empty in the original count as well.

    Parameters
    ----------
    original : ndarray of int
        (n, p) codes from 0.
    released : sequence of ndarray of int
        m arrays (n, p) of codes, at least 2.
    n_levels : sequence of int
        Number of levels of each variable, (p,), two or more of them.

    Returns
    -------
    AgainstSampling
        Its `difference` is the mean over the pairs of `pairwise_differences`.

    Raises
    ------
    ValueError
        If there are fewer than two releases or two variables, a release has another number of
        records, or all records of all tables are the same.
    """
    n, m = len(original), len(released)
    if m < 2 or len(n_levels) < 2 or any(len(z) != n for z in released):
        raise ValueError(
            f"released holds releases of {[len(z) for z in released]} records, of "
            f"{len(n_levels)} variable(s); the comparison needs two or more, of {n} records each, "
            "and two or more variables"
        )
    off, singles, expected = [], [], []
    for pair in combinations(range(len(n_levels)), 2):
        shares = [joint_distribution(t, n_levels, *pair).ravel() for t in (original, *released)]
        apart = np.array(shares[1:]) - shares[0]
        p = np.mean(shares, axis=0)
        scaled = ive(0, 2 * n * p) + ive(1, 2 * n * p)  # exp(-2 n p) times the Bessel functions
        off.append(np.abs(apart.mean(axis=0)).mean())
        singles.append(np.abs(apart).mean(axis=1))
        expected.append((2 * p * np.sqrt(np.maximum(1 - p, 0)) * scaled).mean())
    if not (by_chance := float(np.mean(expected))):
        raise ValueError("all records of all tables are the same, so that nothing can differ")
    of_each = np.mean(singles, axis=0)
    error = of_each.std(ddof=1) / np.sqrt(m) / by_chance
    return AgainstSampling(float(np.mean(off)), float(of_each.mean()), by_chance, float(error))
