"""Utility: results of an analyst of a release beside those that the original would have given.

Three looks at original and released tables, one definition each, averaged over the releases of
one original in the columns of `matching.measures`:

- `margins`: the total variation distance of one- and two-way margins;
- `propensity`: how well a logistic regression tells original from released records, the
  propensity score mean squared error (pMSE) of Woo, Reiter, Oganian and Karr (2009, Journal of
  Privacy and Confidentiality 1(1)), standardized as by Snoke, Raab, Nowok, Dibben and Slavkovic
  (2018, Journal of the Royal Statistical Society A 181(3), 663-688);
- `interval_overlap`: what the confidence intervals of a regression have in common (Karr, Kohnen,
  Oganian, Reiter and Sanil 2006, The American Statistician 60(3), 224-232).

All baselines belong to one reference, a correct synthesis model fitted to the original: released
records are then independent draws from the original's own distribution, so that a release differs
from the original by the sampling of its n* records and by nothing else. A release that carries
the uncertainty of its parameters as well, such as draws from a posterior predictive distribution,
or a fresh sample of the population, differs by the sampling of both tables.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from srlib.assessment.matching import over_releases
from srlib.assessment.regression import Regression, indicators, least_squares, propensity_scores
from srlib.data.codes import Codes, Levels, distinct
from srlib.threads import one_blas_thread

TIE = 3.0  # a difference of fewer of its errors is none
# Combinations times squared parameters of the regression behind pMSE: some ten seconds.
MOST_PRODUCTS = 1e10


def margins(
    original: Codes, released: Sequence[Codes], n_levels: Levels, names: Sequence[str]
) -> pd.DataFrame:
    """Total variation distance of all one- and two-way margins, original against released.

    Half the sum over the cells of the absolute difference of two shares: the share of records
    that would have to change cell for the margins to agree.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0 of the original records.
    released : sequence of (n*, p) int
        One or more released tables, of any sizes.
    n_levels : (p,) int
        Number of levels of each variable.
    names : sequence of str
        Names of the variables, (p,).

    Returns
    -------
    DataFrame
        One row a margin, single variables first: variable_a; variable_b, ``""`` for a single one;
        releases, mean, sd, se and baseline as `matching.measures`, in [0, 1]; fresh and fresh_sd.
        The baseline is the expected distance of n* independent draws from the original's margin;
        fresh and fresh_sd are mean and standard deviation of the distance of a fresh sample of the
        original's population, by dividing the records of both tables at random.
    """
    p = len(names)
    rows = [(k, k) for k in range(p)] + list(combinations(range(p), 2))
    values, baselines, fresh = {}, {}, {}
    for i, (a, b) in enumerate(rows):
        size = int(n_levels[a]) * int(n_levels[b])
        counts, *of_released = (
            np.bincount(codes[:, a].astype(np.int64) * n_levels[b] + codes[:, b], minlength=size)
            for codes in (original, *released)
        )
        shares = counts / len(original)
        values[i] = [np.abs(z / z.sum() - shares).sum() / 2 for z in of_released]
        baselines[i] = [_binomial_deviation(len(z), shares).sum() / (2 * len(z)) for z in released]
        fresh[i] = np.mean([_divided_at_random(counts, z) for z in of_released], axis=0)
    frame = over_releases(pd.DataFrame(values), pd.DataFrame(baselines)).drop(columns="measure")
    frame.insert(0, "variable_a", [names[a] for a, _ in rows])
    frame.insert(1, "variable_b", ["" if a == b else names[b] for a, b in rows])
    frame[["fresh", "fresh_sd"]] = pd.DataFrame(fresh).T
    return frame


def _divided_at_random(
    counts: NDArray[np.int64], released: NDArray[np.int64]
) -> tuple[float, float]:
    """Mean and standard deviation of the distance, were all records divided at random."""
    n, m, cells = int(counts.sum()), int(released.sum()), counts + released
    cells, total = cells[cells > 0], n + m
    deviation = _hypergeometric_deviation(total, cells, n)
    variances = n * m * cells * (total - cells) / (total**2 * (total - 1))
    # All sum to nothing: with two cells, both distances are one.
    variance = (variances - deviation**2).sum() * len(cells) / max(len(cells) - 1, 1)
    scale = (1 / n + 1 / m) / 2
    return float(scale * deviation.sum()), float(scale * np.sqrt(max(variance, 0.0)))


def _hypergeometric_deviation(total: int, cells: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """E |X - n c / N| of the records of each cell among n of N, in closed form as de Moivre's."""
    above = n * cells // total + 1
    log_prob = _log_choose(cells, above) + _log_choose(total - cells, n - above)
    log_prob -= _log_choose(np.array(total), np.array(n))
    possible = (above <= cells) & (above <= n) & (n - above <= total - cells)
    tail = above * (total - cells - n + above) / total
    return np.where(possible, 2 * tail * np.exp(log_prob), 0.0)


def _log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    return -special.betaln(n - k + 1, k + 1) - np.log(n + 1)


def _binomial_deviation(n: int | NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """E |X - n p| of binomial counts, by de Moivre's closed form."""
    inner = (p > 0) & (p < 1)
    n, p = np.broadcast_to(n, p.shape)[inner], p[inner]
    above = np.floor(n * p) + 1
    log_pmf = special.xlogy(above, p) + special.xlog1py(n - above, -p)
    log_pmf -= special.betaln(above + 1, n - above + 1) + np.log(n + 1)
    return 2 * above * (1 - p) * np.exp(log_pmf)


@one_blas_thread
def propensity(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Levels,
    *,
    interactions: bool = False,
) -> pd.DataFrame:
    r"""Measure how well a logistic regression tells the original from the released records.

    With p_i the fitted probability that record i of all N = n + n* is a released one, c = n* / N
    and k estimable parameters, pMSE is the mean of (p_i - c)^2. Snoke and others (2018, section
    3.2) derive its distribution under a correct synthesis model with parameters estimated from
    the original: approximately a multiple of chi-squared with k - 1 degrees of freedom, with

    .. math:: E = (k - 1) (1 - c)^2 c / N, \qquad SD = \sqrt{2 (k - 1)} (1 - c)^2 c / N.

    Against a fresh sample of the population, or a draw from the posterior predictive, the
    expectation is larger by 1 / (1 - c), a factor of two where n* = n.

    Parameters
    ----------
    original, released, n_levels
        As `margins`.
    interactions : bool
        Whether the regression has all products of two variables' indicators beside those of
        single variables. Without them it sees single variables only, and no lost association.

    Returns
    -------
    DataFrame
        Columns as `matching.measures`, with fresh and fresh_sd, the mean and standard deviation for
        a fresh sample of the population; rows pMSE, in [0, 1), with the expectation as baseline;
        ratio, pMSE / E, with the baseline 1; standardized, (pMSE - E) / SD, with the baseline 0.
        The latter two are NaN where the tables have one and the same constant record. The column
        records has the records of both tables, and fitted those that the regression was fitted
        to: evenly spaced ones of either where all would take more than `MOST_PRODUCTS`. The
        references are for these, E and SD larger by 1 + (1 - f) c / (1 - c) with a part f of the
        original, which differs from the model as well.
    """
    rows, baselines, fresh, deviations, fitted_to = [], [], [], [], []
    every, parameters = original, n_parameters(n_levels, interactions)
    for table in released:
        original, n_all = every, len(every) + len(table)
        combination, _, inverse = distinct(np.concatenate([original, table]))
        if (part := MOST_PRODUCTS / (len(combination) * parameters**2)) < 1:
            original, table = (_spaced(z, part) for z in (original, table))
            combination, _, inverse = distinct(np.concatenate([original, table]))
        fitted_to.append((n_all, len(inverse)))
        counts = np.bincount(inverse[: len(original)], minlength=len(combination))
        counts_released = np.bincount(inverse[len(original) :], minlength=len(combination))
        total, n = counts + counts_released, len(inverse)
        share = len(table) / n
        # A part of the original differs from the model that was fitted to all of it, too.
        apart = 1 + (1 - len(original) / len(every)) * share / (1 - share)
        terms = indicators(n_levels, interactions)
        fitted, rank = propensity_scores(combination, terms, total, counts_released)
        value = float(total @ (fitted - share) ** 2 / n)
        scale = apart * (1 - share) ** 2 * share / n
        df = rank - 1
        known = df > 0
        rows.append(
            {
                "pMSE": value,
                "ratio": value / (df * scale) if known else np.nan,
                "standardized": (value / scale - df) / np.sqrt(2 * df) if known else np.nan,
            }
        )
        baselines.append({"pMSE": df * scale, "ratio": 1.0, "standardized": 0.0})
        wider, spread = 1 / (1 - share) / apart, np.sqrt(2 / df) if known else np.nan
        fresh.append([df * scale * wider, wider, (wider - 1) * np.sqrt(df / 2)])
        deviations.append([np.sqrt(2 * df) * scale * wider, spread * wider, wider])
    frame = over_releases(pd.DataFrame(rows), pd.DataFrame(baselines))
    frame["records"], frame["fitted"] = np.sum(fitted_to, axis=0)
    return frame.assign(fresh=np.mean(fresh, axis=0), fresh_sd=np.mean(deviations, axis=0))


def _spaced(codes: Codes, part: float) -> Codes:
    """Return a part of the records, evenly spaced, two or more."""
    return codes[np.linspace(0, len(codes) - 1, max(int(part * len(codes)), 2)).astype(int)]


def losses(
    margins: pd.DataFrame,
    overlap: pd.DataFrame,
    pmse: pd.DataFrame,
    n_original: int,
    n_released: int,
) -> pd.DataFrame:
    r"""Loss of a release beyond that of a fresh sample of the population, on one scale.

    Parameters
    ----------
    margins, overlap, pmse : DataFrame
        As `margins`, `interval_overlap` and `propensity` return.
    n_original, n_released : int
        Records of the original and of a release.

    Returns
    -------
    DataFrame
        Four rows, each a share in [0, 1]: measure; which, the margin or the coefficient that is
        worst; value; fresh, what a fresh sample is expected to have; error, its standard deviation;
        loss, value - fresh where that is more than 3 errors, and 0 otherwise. Distances have longer
        tails than normal ones: gamma distributions with their mean and standard deviation stand
        for them, and the largest of many is to be as improbable as 3 errors are.

        - margins, pairs: the largest distance beyond a fresh sample's, of single variables and of
          pairs of them.
        - intervals: the mean absolute difference of the coefficients, which are differences of
          shares.
        - pMSE: pMSE over c (1 - c), the share that the regression explains of which table a record
          is from.

        NaN where there is nothing to compare.
    """
    rows: list[tuple[Any, ...]] = []
    single = margins["variable_b"] == ""
    for measure, some in (("margins", margins[single]), ("pairs", margins[~single])):
        beyond = some["mean"] - some["fresh"]
        sure = _log_tail(some) < special.log_ndtr(-TIE) - np.log(max(len(some), 1))
        certain = beyond.where(sure, 0.0)
        at = certain.idxmax() if certain.max() > 0 else beyond.idxmax()
        row = some.loc[at]
        which = " × ".join(filter(None, (row["variable_a"], row["variable_b"])))
        rows.append((measure, which, row["mean"], row["fresh"], row["fresh_sd"], sure[at]))
    known = overlap[overlap["mean"].notna()]
    if known.empty:
        rows.append(("intervals", "", *[np.nan] * 3, True))
    else:
        apart = (known["synthetic"] - known["original"]).abs()
        se = np.hypot(known["original_se"], known["synthetic_se"])
        expected, deviation = np.sqrt(2 / np.pi) * se, np.sqrt(1 - 2 / np.pi) * se
        worst = known.loc[(apart - expected).idxmax(), "term"]
        error = np.sqrt((deviation**2).mean() / _independent(len(known)))
        value, fresh = apart.mean(), expected.mean()
        rows.append(("intervals", worst, value, fresh, error, value - fresh > TIE * error))
    of = pmse.set_index("measure")
    c = n_released / (n_original + n_released)
    value, fresh, error = of.loc["pMSE", ["mean", "fresh", "fresh_sd"]] / (c * (1 - c))
    sure = not value - fresh <= TIE * np.nan_to_num(error)
    rows.append(("pMSE", "", value, fresh, error, sure))
    frame = pd.DataFrame(rows, columns=["measure", "which", "value", "fresh", "error", "sure"])
    return frame.assign(loss=(frame["value"] - frame["fresh"]).where(frame.pop("sure"), 0.0))


def _log_tail(margins: pd.DataFrame) -> pd.Series:
    """Logarithm of the probability that a fresh sample lies further away."""
    mean, variance = margins["fresh"], margins["fresh_sd"] ** 2
    varies = variance > 0
    shape, rate = (mean**2 / variance)[varies], (mean / variance)[varies]
    tail = pd.Series(np.where(margins["mean"] > mean + 1e-12, 0.0, 1.0), margins.index)
    tail[varies] = special.gammaincc(shape, rate * margins["mean"][varies])
    return np.log(tail.clip(lower=np.finfo(float).tiny))


def against_fresh(pmse: pd.DataFrame, overlap: pd.DataFrame) -> pd.DataFrame:
    """Set the customary numbers of utility beside those of a fresh sample of the population.

    Parameters
    ----------
    pmse, overlap : DataFrame
        As `propensity` and `interval_overlap` return.

    Returns
    -------
    DataFrame
        Rows ``"pMSE ratio"``, ``"standardized pMSE"`` and ``"overlap"``, the mean over the
        coefficients: measure; value; fresh and error, mean and standard deviation of a fresh
        sample's; worse, by how many of these errors the release is worse, NaN where there is none.
    """
    of = pmse.set_index("measure")
    rows = [
        (name, *of.loc[row, ["mean", "fresh", "fresh_sd"]], 1)
        for name, row in (("pMSE ratio", "ratio"), ("standardized pMSE", "standardized"))
    ]
    known = overlap[overlap["mean"].notna()]
    error = np.sqrt((known["fresh_sd"] ** 2).mean() / _independent(len(known)))
    rows.append(("overlap", known["mean"].mean(), known["fresh"].mean(), error, -1))
    frame = pd.DataFrame(rows, columns=["measure", "value", "fresh", "error", "worse"])
    frame["worse"] *= (frame["value"] - frame["fresh"]) / frame["error"]
    return frame


def of_release(
    pmse: pd.DataFrame, overlap: pd.DataFrame, losses: pd.DataFrame, n_released: int
) -> dict[str, tuple[float, float]]:
    r"""Utility of one release, with standard errors over draws of its records from one generator.

    Parameters
    ----------
    pmse, overlap, losses : DataFrame
        Of one release, as `propensity`, `interval_overlap` and `losses` return.
    n_released : int
        Its records, n*.

    Returns
    -------
    dict of str to (value, error)
        pmse_ratio; overlap, the mean over the coefficients; and loss, the largest of the four.

    Notes
    -----
    The ratio r has the error :math:`\sqrt{(2 + 4 \max(r - 1, 0)) / (k - 1)}`, as of noncentral
    chi-squared with k - 1 degrees of freedom. An overlap moves with a released coefficient by
    :math:`(1 / s + 1 / s^*) / (4 \cdot 1.96)` at most, where s and s* are its standard errors. A
    distance of margins, or the largest of them, changes by 1 / n* at most with one record, so that
    its error is :math:`1 / (2 \sqrt{n^*})` at most (Efron and Stein 1981). Of a loss of 0 the
    error is the largest of the four.
    """
    ratio, fresh, spread = pmse.set_index("measure").loc["ratio", ["mean", "fresh", "fresh_sd"]]
    ratio_error = spread / fresh * np.sqrt(1 + 2 * max(ratio - 1, 0.0))
    known = overlap[overlap["mean"].notna()]
    count, se = _independent(len(known)), known["synthetic_se"]
    quantile = special.ndtri(0.975)
    moves = (1 + se / known["original_se"]) / (4 * quantile)
    of = losses.set_index("measure")
    errors = {
        "margins": 0.5 / np.sqrt(n_released),
        "pairs": 0.5 / np.sqrt(n_released),
        "intervals": np.sqrt((se**2).mean() / count),
        "pMSE": ratio_error * of.loc["pMSE", "fresh"] / fresh,
    }
    loss = of["loss"].dropna()
    largest = float(loss.max()) if len(loss) else np.nan
    reaching = loss.index[loss == largest]  # all of them where the largest is 0
    return {
        "pmse_ratio": (float(ratio), float(ratio_error)),
        "overlap": (float(known["mean"].mean()), float(np.sqrt((moves**2).mean() / count))),
        "loss": (largest, float(max((errors[name] for name in reaching), default=np.nan))),
    }


def _independent(coefficients: int) -> float:
    """Coefficients that count: those of one variable move together, so no more than half."""
    return max(coefficients / 2, 1.0)


def n_parameters(n_levels: Levels, interactions: bool = False) -> int:
    """Parameters of the regression behind `propensity`, were all levels to occur together."""
    free = np.asarray(n_levels) - 1
    pairs = (free.sum() ** 2 - (free**2).sum()) // 2
    return int(1 + free.sum() + (pairs if interactions else 0))


@one_blas_thread
def interval_overlap(
    original: Codes,
    released: Sequence[Codes],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    predictors: Sequence[int],
    outcome: int,
    *,
    level: float = 0.95,
) -> pd.DataFrame:
    """Fit one regression to the original and to each release, and compare the intervals.

    The most frequent level of the outcome (1, others 0) is regressed on indicators of the levels
    of the predictors by least squares, each variable's most frequent level in the original being
    its reference: a coefficient is a difference of shares, other predictors equal. Unlike
    logistic regression it has an estimate in every table where the level occurs, without
    separation. Every table is analyzed as if it were the original, with normal intervals.

    The overlap is the mean of two shares: how much of each interval the other covers. 1 is the
    best, 0 is touching, negative values say how far the intervals are apart.

    Parameters
    ----------
    original, released, names
        As `margins`.
    labels : sequence of sequence of str
        Labels of the levels of each variable, (p,) of (n_levels[k],).
    predictors : sequence of int
        Columns of the predictors, one or more.
    outcome : int
        Column of the outcome.
    level : float
        Confidence level, in (0, 1).

    Returns
    -------
    DataFrame
        One row a coefficient but the intercept: term, ``"name: label"``; original, original_se;
        synthetic, the mean estimate, and synthetic_se, the root of the mean squared error; and
        releases, mean, sd, se and baseline of the overlap as `matching.measures`. Releases in
        which a coefficient cannot be estimated do not count; one that the original cannot estimate
        is NaN. The baseline is the expected overlap of n* records drawn from a correct model
        fitted to the original; fresh is that of n* records of a fresh sample, and fresh_sd an
        upper bound of its standard deviation.
    """
    usual = [np.bincount(column).argmax() for column in original.T]
    chosen = [(k, code) for k in predictors for code in range(len(labels[k])) if code != usual[k]]
    terms = [f"{names[k]}: {labels[k][code]}" for k, code in chosen]
    fits = [
        least_squares(codes, chosen, codes[:, outcome] == usual[outcome], terms)
        for codes in (original, *released)
    ]
    first, *others = fits
    quantile = special.ndtri((1 + level) / 2)
    overlaps = pd.DataFrame([_overlap(first, fit, quantile) for fit in others])
    estimates = pd.DataFrame([fit.estimate[1:] for fit in others])
    squares = pd.DataFrame([fit.standard_error[1:] ** 2 for fit in others])
    known = overlaps.notna()

    def over(values: list[float]) -> pd.DataFrame:
        """One value a release, where the coefficient is known in it."""
        return pd.DataFrame(dict.fromkeys(overlaps, values)).where(known)

    ratios = [np.sqrt(len(original) / len(z)) for z in released]
    baselines = over([_expected_overlap(ratio, ratio, quantile) for ratio in ratios])
    apart = [np.hypot(1, ratio) for ratio in ratios]
    fresh = [_expected_overlap(*pair, quantile) for pair in zip(ratios, apart, strict=True)]
    # The overlap falls no faster with |d| than as common / width and common / other do.
    spread = [
        np.sqrt(1 - 2 / np.pi) * d * (1 + 1 / ratio) / (4 * quantile)
        for ratio, d in zip(ratios, apart, strict=True)
    ]
    heads = {
        "term": terms,
        "original": first.estimate[1:],
        "original_se": first.standard_error[1:],
        "synthetic": estimates.where(known).mean(),
        "synthetic_se": np.sqrt(squares.where(known).mean()),
    }
    frame = over_releases(overlaps, baselines).drop(columns="measure")
    frame = frame.assign(fresh=over(fresh).mean(), fresh_sd=over(spread).mean())
    return pd.concat([pd.DataFrame(heads), frame], axis=1)


def _overlap(one: Regression, other: Regression, quantile: float) -> NDArray[np.float64]:
    """Mean of the shares of two intervals that both cover, for each coefficient."""
    width, other_width = (2 * quantile * fit.standard_error[1:] for fit in (one, other))
    apart = np.abs(one.estimate - other.estimate)[1:]
    common = np.minimum(np.minimum(width, other_width), (width + other_width) / 2 - apart)
    return (common / width + common / other_width) / 2


def _expected_overlap(ratio: float, apart: float, quantile: float) -> float:
    """Mean of the overlap where other widths are `ratio` and estimates N(0, apart^2) apart.

    In units of the first standard error: E min(a, b - |d|) = b - E|d| - E (t - |d|)+ with a the
    shorter width, b the mean width and t = b - a.
    """
    width, other = 2 * quantile, 2 * quantile * ratio
    spare = abs(width - other) / 2
    z = spare / apart
    density = (1 - np.exp(-(z**2) / 2)) / np.sqrt(2 * np.pi)
    beyond = spare * (2 * special.ndtr(z) - 1) - 2 * apart * density
    common = (width + other) / 2 - apart * np.sqrt(2 / np.pi) - beyond
    return float((common / width + common / other) / 2)
