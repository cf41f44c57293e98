"""How Tables 3 and 4 of Charest and Han came about: rival explanations and their likelihoods.

An estimate from counts depends on them through three numbers only: the smallest count, the smallest
positive one and the largest. One simulation that keeps these serves every treatment of empty bins.

In the normal model of Table 4 the posteriors without one record differ in their means alone, and
exact EDP is a function of one number, the distance of the most extreme record. The paper has one
data set, which it does not give; the six biases of a column must belong to one such distance.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from srlib import checks
from srlib.ledger import printed
from srlib.mechanism import edp

BINS = (5, 10, 20, 50, 100, 250)
DRAWS = (10_000, 100_000, 1_000_000)
RECORDS = 100
VARIANCE, PRIOR_VARIANCE = 5.0, 3.0
# Ends of the distances tried: a hundred normal records have their most extreme one between them in
# all but one of 10,000 data sets.
NEAREST, FARTHEST = 1.7, 4.9
REPLICATES = 100  # of each printed cell
ROUNDING = 0.01 / np.sqrt(12)  # standard deviation of what two decimal places leave out
SLIP = 0.05  # of printed numbers that are taken to be wrong, before any is looked at
SATURATED = 0.99
Rule = float | str


def normal_shift(distance: ArrayLike, n: int = RECORDS) -> tuple[NDArray[np.float64], float]:
    """Posterior of the normal mean without one record, on the scale of the posterior with it.

    Parameters
    ----------
    distance : array_like
        The record's distance from the posterior mean, in standard deviations of a record.
    n : int
        Records, 2 or more.

    Returns
    -------
    shift : float64
        How far the mean moves, in posterior standard deviations, of the shape of `distance`.
    scale : float
        The new posterior standard deviation over the old one.
    """
    checks.at_least(2, n=n)
    precision = n / VARIANCE + 1 / PRIOR_VARIANCE
    fewer = precision - 1 / VARIANCE
    moved = np.asarray(distance, dtype=float) * np.sqrt(precision / VARIANCE) / fewer
    return moved, float(np.sqrt(precision / fewer))


def normal_edp(distance: ArrayLike, bins: int, n: int = RECORDS) -> NDArray[np.float64]:
    """Exact EDP of the normal model from the distance of the most extreme record.

    Parameters
    ----------
    distance : (k,) float
        Largest distance of a record from the posterior mean, in standard deviations of a record.
    bins : int
        2 or more.
    n : int
        Records.

    Returns
    -------
    (k,) float64
        The same as `edp.exact` with all neighbors.
    """
    shift, scale = normal_shift(np.atleast_1d(distance), n)
    edges = np.concatenate([[-np.inf], ndtri(np.arange(1, bins) / bins), [np.inf]])
    at = (edges - shift[:, None]) / scale
    # Differences of the nearer tail, so that both keep their digits.
    share = np.where(at[:, 1:] < 0, np.diff(ndtr(at)), -np.diff(ndtr(-at)))
    return np.abs(np.log(share * bins)).max(axis=1)


def extremes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Smallest, smallest positive and largest of the counts of all neighbors, (..., 3).

    Parameters
    ----------
    counts : (..., n_neighbors, n_bins) int
        As of `edp.estimate_from_counts`.
    """
    axes = (-2, -1)
    positive = np.where(counts > 0, counts, counts.max())
    return np.stack([counts.min(axes), positive.min(axes), counts.max(axes)], axis=-1)


def estimate(found: NDArray[np.int64], bins: int, draws: int, rule: Rule) -> NDArray[np.float64]:
    """The estimate from the extremes of the counts, the same as `edp.estimate_from_counts`.

    Parameters
    ----------
    found : (..., 3) int
        As `extremes` returns.
    bins, draws : int
        Bins, and draws of each neighbor.
    rule : float or "dropped"
        What is added to each count, or empty bins left out.

    Returns
    -------
    (...,) float64
    """
    if rule == edp.DROPPED:
        added, low, total = 0.0, found[..., 1], float(draws)
    else:
        added, low, total = float(rule), found[..., 0], draws + bins * float(rule)
    ratio = np.stack([low + added, found[..., 2] + added]) * bins / total
    return np.abs(np.log(ratio)).max(axis=0)


def simulate_normal(
    distance: NDArray[np.float64], bins: int, draws: int, size: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Extremes of the counts that the usual procedure sees in the normal model.

    Parameters
    ----------
    distance : (n,) float
        Of each record from the posterior mean, signed, in standard deviations of a record.
    bins, draws, size
        As of `edp.simulate_counts`.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (size, 3) int64
        As `extremes` returns.
    """
    shift, scale = normal_shift(distance, len(distance))
    found = []
    for edges in ndtri(_edges(bins, draws, size, rng)):
        below = ndtr((edges - shift[:, None]) / scale)
        share = np.diff(below, prepend=0.0, append=1.0)
        found.append(extremes(rng.multinomial(draws, share)))
    return np.stack(found)


def simulate_same(
    bins: int, draws: int, size: int, comparisons: int = 1, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Extremes of the counts where every neighbor is the data set itself, in any model.

    The estimate from them is the empirical measure of imprecision. The posterior's shape cancels:
    its bins have the probabilities of the spacings of uniform order statistics.

    Parameters
    ----------
    bins, draws, size
        As of `edp.simulate_counts`.
    comparisons : int
        Samples that are compared with the one that made the bins, the largest ratio of all kept.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (size, 3) int64
        As `extremes` returns.
    """
    share = np.diff(_edges(bins, draws, size, rng), prepend=0.0, append=1.0)
    return np.stack([extremes(rng.multinomial(draws, one, comparisons)) for one in share])


def _edges(bins: int, draws: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Posterior probability below each edge, an order statistic of the draws, (size, bins - 1)."""
    checks.within(2, draws, bins=bins)
    if draws % bins:
        raise ValueError(f"draws is {draws}; it must be a multiple of bins = {bins}")
    spacing = np.full(bins, float(draws // bins))
    spacing[-1] += 1
    return np.cumsum(rng.dirichlet(spacing, size), axis=1)[:, :-1]


def least_counts(
    probability: NDArray[np.float64], draws: int, *, positive: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distribution of the smallest of many counts, without drawing them.

    Parameters
    ----------
    probability : (size, n_bins) float
        Of each bin, in several cases.
    draws : int
        Distributed over the bins.
    positive : bool
        Whether empty bins are left out.

    Returns
    -------
    counts : (k,) int64
        Values that the smallest count takes.
    chance : (size, k) float64
        Their probabilities.

    Notes
    -----
    Counts are taken as independent binomials. A bin that can be the smallest among several has so
    small a probability that its dependence on the others does not show.
    """
    mean = draws * probability.min(axis=0)
    # The chance of k draws or fewer is below exp(-36) in a bin whose mean exceeds (sqrt(k) + 6)^2.
    certain = int(max(0.0, np.sqrt(mean.min()) - 6) ** 2)
    first = max(certain, int(positive))
    above, k = [np.ones(len(probability))], first
    empty = special.bdtr(0, draws, probability) if positive else np.zeros_like(probability)
    while above[-1].max() > 1e-12:
        k += 1
        near = mean < (np.sqrt(k) + 6) ** 2
        at_least = special.bdtrc(k - 1, draws, probability[:, near])
        above.append(np.prod(np.minimum(1.0, at_least + empty[:, near]), axis=1))
    return np.arange(first, k), -np.diff(np.array(above), axis=0).T


def beta_cells(
    posterior: Any,
    neighbors: Sequence[Any],
    draws: Sequence[int],
    rules: Sequence[Rule],
    size: int,
    *,
    bins: Sequence[int] = BINS,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Bias of the estimate from counts, by draws, bins and treatment of empty bins.

    Only the edges of the bins are simulated. Given them, the estimate's mean and variance are sums
    over the smallest count: what happens in one replicate of a thousand may decide the variance.

    Parameters
    ----------
    posterior, neighbors : scipy frozen distributions
        As of `edp.exact`.
    draws : sequence of int
        Numbers of draws.
    rules : sequence of float or "dropped"
        Treatments of empty bins, judged at the same edges.
    size : int
        Sets of edges, 2 or more.
    bins : sequence of int
        Numbers of bins.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    DataFrame
        Columns draws, bins, smoothing (text), exact, relative_bias_percent, bias_se (of the
        simulated edges) and replicate_sd, the standard deviation of one estimate.

    Notes
    -----
    The largest count, which hardly ever decides, is taken at its mean.
    """
    rows = []
    for m, b in itertools.product(draws, bins):
        true = edp.exact(posterior, neighbors, b).value
        edges = posterior.ppf(_edges(b, m, size, rng))
        each = [np.exp(edp.log_bin_probabilities(other, edges)) for other in neighbors]
        share = np.concatenate(each, axis=1)
        most = np.round(m * share.max(axis=1)).astype(np.int64)[:, None]
        least = {positive: least_counts(share, m, positive=positive) for positive in (False, True)}
        for rule in rules:
            counts, chance = least[rule == edp.DROPPED]
            found = np.stack(np.broadcast_arrays(counts, counts, most), axis=-1)
            ratio = 100 * (estimate(found, b, m, rule) / true - 1)
            mean = (chance * ratio).sum(axis=1)
            variance = (chance * (ratio - mean.mean()) ** 2).sum(axis=1).mean()
            error = float(mean.std(ddof=1) / np.sqrt(size))
            rows.append((m, b, str(rule), true, float(mean.mean()), error, float(variance**0.5)))
    names = ["draws", "bins", "smoothing", "exact", "relative_bias_percent", "bias_se"]
    return pd.DataFrame(rows, columns=[*names, "replicate_sd"])


def error_of_printed(cells: pd.DataFrame) -> NDArray[np.float64]:
    """Standard error of a printed bias about ours: a hundred replicates, and our edges.

    Parameters
    ----------
    cells : DataFrame
        As `beta_cells` returns.
    """
    return np.hypot(cells["bias_se"], cells["replicate_sd"] / np.sqrt(REPLICATES)).to_numpy()


def imprecisions(
    draws: Sequence[int],
    rules: Sequence[Rule],
    size: int,
    *,
    bins: Sequence[int] = BINS,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Empirical measure of imprecision, which is the same in every model.

    Parameters
    ----------
    draws, rules, size, bins, rng
        As of `beta_cells`.

    Returns
    -------
    DataFrame
        Columns draws, bins, smoothing (text), imprecision, imprecision_se and replicates.
    """
    rows = []
    for m, b in itertools.product(draws, bins):
        found = simulate_same(b, m, size, rng=rng)
        for rule in rules:
            each = estimate(found, b, m, rule)
            error = float(each.std(ddof=1) / np.sqrt(size))
            rows.append((m, b, str(rule), float(each.mean()), error, size))
    names = ["draws", "bins", "smoothing", "imprecision", "imprecision_se", "replicates"]
    return pd.DataFrame(rows, columns=names)


# ------------------------------------------------------------------------- one data set for Table 4


@dataclass(frozen=True)
class Study:
    """Simulated estimates in the normal model, over data sets with a given extreme record.

    Attributes
    ----------
    distance : (n_datasets,) float64
        Of the most extreme record from the posterior mean, in standard deviations of a record.
    bins, draws : tuple of int
        Numbers of bins and of draws.
    found : (n_draws, n_bins, n_datasets, size, 3) int64
        As `extremes` returns.
    """

    distance: NDArray[np.float64]
    bins: tuple[int, ...]
    draws: tuple[int, ...]
    found: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Replicates of each data set."""
        return self.found.shape[3]

    def curve(self, bins: int, draws: int, rule: Rule, at: ArrayLike) -> NDArray[np.float64]:
        """Mean estimate, its error and what a replicate adds, against the distance.

        A cubic in the distance is fitted to the data sets' means. Its residuals hold what the
        other records of a data set do. Where more than `SATURATED` of the replicates agree on one
        value, the estimate is taken for a constant.

        Parameters
        ----------
        bins, draws : int
            Of the study.
        rule : float or "dropped"
            As of `estimate`.
        at : (k,) float
            Distances.

        Returns
        -------
        (4, k) float64
            The curve; its standard error; the standard deviation of a data set's mean about it;
            the standard deviation of one replicate.
        """
        found = self.found[self.draws.index(draws), self.bins.index(bins)]
        each = estimate(found, bins, draws, rule)
        constant = float(np.median(each))
        if np.mean(np.isclose(each, constant)) > SATURATED:
            # Hardly a replicate without an empty bin: a hundred of them have this very mean.
            return np.stack([np.full(np.size(at), constant), *np.zeros((3, np.size(at)))])
        means, within = each.mean(axis=1), float(np.sqrt(each.var(axis=1, ddof=1).mean()))
        middle = (NEAREST + FARTHEST) / 2
        degree = min(3, len(means) - 2)
        design = np.vander(self.distance - middle, degree + 1)
        solved = np.linalg.lstsq(design, means, rcond=None)[0]
        rest = float(np.sum((means - design @ solved) ** 2) / (len(means) - degree - 1))
        point = np.vander(np.atleast_1d(at) - middle, degree + 1)
        leverage = np.einsum("ij,jk,ik->i", point, np.linalg.inv(design.T @ design), point)
        # The other records' part alone: replicates leave noise of their own in a mean.
        between = max(0.0, rest - within**2 / self.size)
        ones = np.ones(len(point))
        errors = np.sqrt(rest * leverage), np.sqrt(between) * ones, within * ones
        return np.stack([point @ solved, *errors])


def study(n_datasets: int, size: int, draws: Sequence[int], *, rng: np.random.Generator) -> Study:
    """Simulate the normal model over data sets whose most extreme record lies at even distances.

    Parameters
    ----------
    n_datasets, size : int
        Data sets, 6 or more, and replicates for each, 2 or more.
    draws : sequence of int
        Numbers of draws.
    rng : numpy.random.Generator
        Source of chance.
    """
    checks.at_least(6, n_datasets=n_datasets)
    checks.at_least(2, size=size)
    distance = np.linspace(NEAREST, FARTHEST, n_datasets)
    data = [_records(z, rng) for z in distance]
    found = [[[simulate_normal(y, b, m, size, rng=rng) for y in data] for b in BINS] for m in draws]
    return Study(distance, BINS, tuple(draws), np.array(found))


def _records(distance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Distances of normal records from the posterior mean, the most extreme one given."""
    inside = 2 * stats.norm.cdf(distance) - 1
    others = ndtri((1 - inside) / 2 + inside * rng.random(RECORDS - 1))
    return np.append(others, distance)


@dataclass(frozen=True)
class Explanation:
    """How well one convention explains a column of printed biases.

    Attributes
    ----------
    draws : int
        Draws from each posterior.
    rule : float or "dropped"
        Treatment of empty bins.
    distance : float
        Of the most extreme record, where the column is most probable; NaN for a new data set in
        each replicate.
    bias, error : (n_bins,) float64
        Relative biases there, in percent, and the standard errors of a printed one about them.
    log10_likelihood : float
        Of the printed column, averaged over the distances that normal records give.
    """

    draws: int
    rule: Rule
    distance: float
    bias: NDArray[np.float64]
    error: NDArray[np.float64]
    log10_likelihood: float


def told(column: int, table: str = "table4_rb") -> NDArray[np.float64]:
    """Printed numbers of one column of Table 3 or 4, by its heading, in the order of `BINS`."""
    numbers = printed("charest_han").set_index("id")["printed"].astype(float)
    return numbers[[f"{table}_{bins}_{column}" for bins in BINS]].to_numpy()


def explain(
    of: Study,
    columns: ArrayLike | Sequence[NDArray[np.float64]],
    draws: Sequence[int] | int,
    rule: Rule,
    *,
    new_data: bool = False,
) -> Explanation:
    """Explain a column of printed biases, or several, by one data set.

    Parameters
    ----------
    of : Study
        What the procedure gives, by distance of the most extreme record.
    columns : (n_bins,) or (n_columns, n_bins) float
        Printed relative biases in percent, with two decimal places.
    draws : int or sequence of int
        Draws of each column, of the study.
    rule : float or "dropped"
        Treatment of empty bins.
    new_data : bool
        Whether each of the paper's replicates had a data set of its own.

    Returns
    -------
    Explanation
        For several columns its biases and errors are those of the first.

    Notes
    -----
    A printed bias is normal about the computed one, with the error of a hundred replicates, of the
    fit and of the other records. With probability `SLIP` it is any number up to 1,000 instead,
    since the tables have misprints. Errors of different entries are taken as independent.
    """
    table = np.atleast_2d(np.asarray(columns, dtype=float))
    sizes = np.atleast_1d(draws).tolist()
    if new_data:
        bias, error = _of_new_data(of, sizes[0], rule)
        likelihood = float(_log_likelihood(table[0], bias[:, None], error[:, None])[0])
        return Explanation(sizes[0], rule, np.nan, bias, error, likelihood / np.log(10))
    at = _distances(of, table, sizes, rule)
    found = [_biases(of, m, rule, at) for m in sizes]
    likelihoods = [
        _log_likelihood(column, *biases) for column, biases in zip(table, found, strict=True)
    ]
    together = np.sum(likelihoods, axis=0)
    best = int(together.argmax())
    bias, error = (values[:, best] for values in found[0])
    average = _average(at, together) / np.log(10)
    return Explanation(sizes[0], rule, float(at[best]), bias, error, average)


def _one_bias(
    of: Study, bins: int, draws: int, rule: Rule, at: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Relative bias in percent and the standard error of a printed one, by distance."""
    mean, fit, between, within = of.curve(bins, draws, rule, at)
    true = normal_edp(at, bins)
    # The paper's data set has other records of its own, and a hundred replicates.
    spread = 100 * np.sqrt(fit**2 + between**2 + within**2 / REPLICATES) / true
    return 100 * (mean / true - 1), np.hypot(spread, ROUNDING)


def _biases(
    of: Study, draws: int, rule: Rule, at: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As `_one_bias` for all numbers of bins, (n_bins, k) each."""
    each = [_one_bias(of, bins, draws, rule, at) for bins in of.bins]
    return np.array([bias for bias, _ in each]), np.array([error for _, error in each])


def _of_new_data(
    of: Study, draws: int, rule: Rule
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean relative biases over data sets and their errors for as many as the replicates."""
    shares = (np.arange(400) + 0.5) / 400
    at = stats.norm.ppf((1 + shares ** (1 / RECORDS)) / 2)
    bias, error = [], []
    for bins in of.bins:
        mean, fit, between, within = of.curve(bins, draws, rule, at)
        true = normal_edp(at, bins)
        spread = np.var(mean / true) + np.mean((between**2 + within**2) / true**2)
        bias.append(100 * np.mean(mean / true - 1))
        error.append(100 * np.sqrt(spread / REPLICATES + np.mean(fit / true) ** 2))
    return np.array(bias), np.hypot(error, ROUNDING)


def _distances(
    of: Study, columns: NDArray[np.float64], draws: Sequence[int], rule: Rule
) -> NDArray[np.float64]:
    """Distances to try: an even grid, and a fine one about those that an entry leaves no choice.

    Where the estimate is a constant, an entry fixes the distance to its last digit.
    """
    grid = np.linspace(NEAREST, FARTHEST, 401)
    parts = [grid]
    for column, m in zip(columns, draws, strict=True):
        for entry, bins in zip(column, of.bins, strict=True):
            bias, error = _one_bias(of, bins, m, rule, grid)
            for k in np.flatnonzero(np.diff(np.sign(bias - entry))):
                near = np.linspace(grid[k], grid[k + 1], 41)
                off = _one_bias(of, bins, m, rule, near)[0] - entry
                slope = (off[-1] - off[0]) / (near[-1] - near[0])
                crossing = np.interp(0, off * np.sign(slope), near)
                width = 10 * error[k] / abs(slope)
                if width < near[-1] - near[0]:
                    parts.append(crossing + np.linspace(-width, width, 401))
    at = np.unique(np.concatenate(parts))
    return at[(at >= NEAREST) & (at <= FARTHEST)]


def _log_likelihood(
    column: NDArray[np.float64], bias: NDArray[np.float64], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log probability of the printed digits of a column, by distance."""
    log_density = stats.norm.logpdf(column[:, None], bias, error) + np.log(0.01)
    slipped = np.log(SLIP * 0.01 / 1000)
    return np.logaddexp(np.log1p(-SLIP) + log_density, slipped).sum(axis=0)


def _average(at: NDArray[np.float64], log_likelihood: NDArray[np.float64]) -> float:
    """Log of the likelihood averaged over the distances that normal records give."""
    # The largest of RECORDS absolute values; that they are residuals changes it by a percent.
    below = (2 * stats.norm.cdf(at) - 1) ** RECORDS
    top = log_likelihood.max()
    density = np.exp(log_likelihood - top)
    return float(top + np.log(np.sum((density[1:] + density[:-1]) / 2 * np.diff(below))))


def normal_cells(
    of: Study, distance: float, draws: Sequence[int], rules: Sequence[Rule]
) -> pd.DataFrame:
    """Bias of the estimate from counts for the data sets of one extreme record.

    Parameters
    ----------
    of : Study
        Simulated estimates.
    distance : float
        Of the most extreme record.
    draws, rules
        Of the study; treatments of empty bins.

    Returns
    -------
    DataFrame
        Columns draws, bins, smoothing (text), exact, relative_bias_percent, bias_se (of the curve
        at this distance) and data_sd (of a data set about the curve, by its other records).
    """
    rows = []
    for m, b, rule in itertools.product(draws, of.bins, rules):
        mean, fit, between, _ = of.curve(b, m, rule, [distance])[:, 0]
        true = float(normal_edp([distance], b)[0])
        bias = 100 * (mean / true - 1)
        rows.append((m, b, str(rule), true, bias, 100 * fit / true, 100 * between / true))
    names = ["draws", "bins", "smoothing", "exact", "relative_bias_percent", "bias_se", "data_sd"]
    return pd.DataFrame(rows, columns=names)


def asked_for(of: Study, column: NDArray[np.float64], draws: int, rule: Rule) -> dict[int, float]:
    """Distance of the most extreme record that each entry of a column asks for, by its bins.

    Parameters
    ----------
    of, draws, rule
        As of `explain`.
    column : (n_bins,) float
        Printed relative biases in percent.

    Returns
    -------
    dict of int to float
        NaN where no distance between `NEAREST` and `FARTHEST` gives the entry.
    """
    found = {}
    for entry, bins in zip(column, of.bins, strict=True):
        ends = [_one_bias(of, bins, draws, rule, np.array([z]))[0][0] for z in (NEAREST, FARTHEST)]
        found[bins] = np.nan
        if min(ends) < entry < max(ends):
            found[bins] = brentq(
                lambda z, b=bins, e=entry: float(
                    _one_bias(of, b, draws, rule, np.array([z]))[0][0] - e
                ),
                NEAREST,
                FARTHEST,
            )
    return found


def agreeing(
    of: Study, columns: Sequence[NDArray[np.float64]], draws: Sequence[int], rule: Rule
) -> tuple[float, float, float]:
    """Distance on which the entries of several columns agree, and its interval of two log units.

    Parameters
    ----------
    of, rule
        As of `explain`.
    columns : sequence of (k,) float
        Printed relative biases in percent, of the first k numbers of bins.
    draws : sequence of int
        Draws of each column.

    Returns
    -------
    best, low, high : float
        The interval holds the distances with a log likelihood within 1.92 of the best.
    """
    at = np.linspace(NEAREST, FARTHEST, 801)
    total = np.zeros(len(at))
    for column, m in zip(columns, draws, strict=True):
        for entry, bins in zip(column, of.bins, strict=False):
            bias, error = _one_bias(of, bins, m, rule, at)
            total += stats.norm.logpdf(entry, bias, error)
    near = at[total > total.max() - 1.92]
    return float(at[total.argmax()]), float(near[0]), float(near[-1])


def odds_of_saturated(of: Study, added: float) -> float:
    """Likelihood of Table 4 where the first column's entry of 250 bins is right, over that of 100.

    Under the first heading, read as a tenth of its draws, either entry fixes the distance.

    Parameters
    ----------
    of : Study
        With a tenth of the draws of the headings.
    added : float
        What is added to each count; small enough for both entries to have a distance.

    Returns
    -------
    float
        Of all three columns.
    """
    asked = asked_for(of, told(DRAWS[0]), TENTH[0], added)
    at = np.array([asked[250], asked[100]])
    columns = zip(DRAWS, TENTH, strict=True)
    each = [_log_likelihood(told(c), *_biases(of, m, added, at)) for c, m in columns]
    right, other = np.sum(each, axis=0)
    return float(np.exp(right - other))


# --------------------------------------------------------------------------- what notebooks show

RULES: tuple[Rule, ...] = (0.01, 0.1, 1.0, edp.DROPPED)
TENTH = (1_000, 10_000, 100_000)  # of the draws that the headings of Table 4 state


def in_words(rule: Rule) -> str:
    """A treatment of empty bins as tables name it."""
    return "empty bins dropped" if rule == edp.DROPPED else f"{float(rule):g} added"


def rules_of_table_3(beta: pd.DataFrame) -> pd.DataFrame:
    """Log likelihood of each printed column of biases of Table 3 under each treatment.

    Parameters
    ----------
    beta : DataFrame
        As `beta_cells` returns.

    Returns
    -------
    DataFrame
        Columns draws, treatment, log10_likelihood, below_best (of the same column, in powers of
        ten) and entries, those within four standard errors.
    """
    rows = []
    for (draws, rule), cell in beta.groupby(["draws", "smoothing"], sort=False):
        column = told(draws, "table3_rb")
        error = np.hypot(error_of_printed(cell), ROUNDING)
        bias = cell["relative_bias_percent"].to_numpy()
        likelihood = _log_likelihood(column, bias[:, None], error[:, None])[0] / np.log(10)
        inside = int((np.abs(column - bias) < 4 * error).sum())
        rows.append((draws, in_words(rule), float(likelihood), inside))
    found = pd.DataFrame(rows, columns=["draws", "treatment", "log10_likelihood", "entries"])
    best = found.groupby("draws")["log10_likelihood"].transform("max")
    return found.assign(below_best=best - found["log10_likelihood"])


def distances_asked_for(of: Study, constants: Sequence[float]) -> pd.DataFrame:
    """Distances that the six entries under the first heading ask for, by the constant added.

    Parameters
    ----------
    of : Study
        With a tenth of the draws of the heading.
    constants : sequence of float
        What is added to each count.

    Returns
    -------
    DataFrame
        One row a constant: added, and a column for each number of bins; NaN where no distance
        gives the entry.
    """
    rows = [asked_for(of, told(DRAWS[0]), TENTH[0], constant) for constant in constants]
    table = pd.DataFrame(rows).rename(columns="{} bins".format)
    table.insert(0, "added", np.asarray(constants, dtype=float))
    return table


RIVALS_IN_WORDS = {
    "heading": "heading, M",
    "draws": "read as",
    "treatment": "treatment",
    "data": "data set",
    "distance": "distance",
    "below_best": "powers of ten below the best",
    "entries": "of six within four errors",
}


def explanations(of: Study) -> pd.DataFrame:
    """Rival explanations of each column of biases of Table 4 and their likelihoods.

    Parameters
    ----------
    of : Study
        With the draws of the headings and a tenth of them.

    Returns
    -------
    DataFrame
        Columns heading, draws, treatment, data ("one" or "new each time"), distance,
        log10_likelihood, below_best (of the same heading, in powers of ten) and entries, those
        within four errors at that distance.
    """
    rows = []
    for heading, tenth in zip(DRAWS, TENTH, strict=True):
        column = told(heading)
        tried = [(tenth, rule, False) for rule in RULES] + [(heading, 0.01, False)]
        tried += [(tenth, rule, True) for rule in RULES[:2]]
        for draws, rule, new_data in tried:
            found = explain(of, column, draws, rule, new_data=new_data)
            inside = int((np.abs(column - found.bias) < 4 * found.error).sum())
            data = "new each time" if new_data else "one"
            likelihood = found.log10_likelihood
            rows.append((heading, draws, in_words(rule), data, found.distance, likelihood, inside))
    names = ["heading", "draws", "treatment", "data", "distance", "log10_likelihood", "entries"]
    table = pd.DataFrame(rows, columns=names)
    best = table.groupby("heading")["log10_likelihood"].transform("max")
    return table.assign(below_best=best - table["log10_likelihood"])


def one_data_set(of: Study) -> pd.DataFrame:
    """All three columns of Table 4 explained by one data set, or by one for each.

    Parameters
    ----------
    of : Study
        As of `explanations`.

    Returns
    -------
    DataFrame
        One row a treatment of empty bins, at a tenth of the draws: treatment, distance (of the
        joint fit), joint and separate (log10 likelihoods).
    """
    columns, rows = [told(heading) for heading in DRAWS], []
    for rule in RULES:
        joint = explain(of, columns, TENTH, rule)
        each = [explain(of, c, m, rule) for c, m in zip(columns, TENTH, strict=True)]
        separate = sum(found.log10_likelihood for found in each)
        rows.append((in_words(rule), joint.distance, joint.log10_likelihood, separate))
    return pd.DataFrame(rows, columns=["treatment", "distance", "joint", "separate"])


def fitted(of: Study, distance: float, rule: Rule) -> pd.DataFrame:
    """Printed and computed biases of Table 4 at one distance, at a tenth of the draws.

    Parameters
    ----------
    of : Study
        As of `explanations`.
    distance : float
        Of the most extreme record.
    rule : float or "dropped"
        Treatment of empty bins.

    Returns
    -------
    DataFrame
        One row for each number of bins: bins, and for each heading three columns such as
        ``printed_10000``, ``computed_10000`` and ``error_10000``.
    """
    table = pd.DataFrame({"bins": of.bins})
    for heading, draws in zip(DRAWS, TENTH, strict=True):
        bias, error = _biases(of, draws, rule, np.array([distance]))
        table[f"printed_{heading}"] = told(heading)
        table[f"computed_{heading}"], table[f"error_{heading}"] = bias[:, 0], error[:, 0]
    return table


def fit_in_words(fit: pd.DataFrame) -> pd.DataFrame:
    """A table of `fitted` with each computed bias and its error in one column of text."""
    shown = {"bins": fit["bins"]}
    for heading in DRAWS:
        shown[f"printed, {heading:,}"] = fit[f"printed_{heading}"].map("{:.2f}".format)
        computed, error = fit[f"computed_{heading}"], fit[f"error_{heading}"]
        shown[f"computed, {heading:,}"] = [
            f"{c:.1f} ± {e:.1f}" for c, e in zip(computed, error, strict=True)
        ]
    return pd.DataFrame(shown)


def effective_draws(
    imprecision: float, bins: int, draws: int, size: int, *, rng: np.random.Generator
) -> dict[str, float]:
    """Independent draws that would give an imprecision, from the one that a chain gave.

    Parameters
    ----------
    imprecision : float
        Of one comparison of two samples.
    bins, draws, size
        Bins; draws of the chain; replicates.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    dict of str to float
        ``independent``, the mean imprecision of as many independent draws; ``draws``, those that
        would have a mean of `imprecision`; ``low`` and ``high``, those for which it is the 5 % and
        the 95 % quantile.

    Notes
    -----
    The imprecision falls with the square root of the draws.
    """
    each = estimate(simulate_same(bins, draws, size, rng=rng), bins, draws, 0.01)
    low, high = np.quantile(each, [0.05, 0.95])
    share = {"draws": each.mean(), "low": low, "high": high}
    found = {name: float(draws * (value / imprecision) ** 2) for name, value in share.items()}
    return {"independent": float(each.mean()), **found}
