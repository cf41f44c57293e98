"""Tests for copies: normal deviates (z) of the upper tails of counts.

If a release were a fresh sample of the population, the records of both files would be
exchangeable: every split of them into an original and a release of these sizes would be
equally probable. Equal records, or nearest neighbors, would then lie in different files
as often as after a random split (permutation test), whatever the population. A release
from another distribution has fewer of them in both files (Henze and Penrose 1999,
Annals of Statistics 27, 290-298): more are a sign of copies.
"""

from typing import NamedTuple

import numpy as np
import scipy  # loads stats, which take a second, where they are first asked for
from scipy import sparse, special

from srlib.arrays import Bools, Floats, Ints
from srlib.margins import log_choose
from srlib.threads import one_blas_thread

MIN_COINCIDENCES = 3  # fewer are never a sign of copies


def beta(
    share: float,
    error: float,
    n: int,
) -> tuple[float, float]:
    """Return the beta distribution of a share of n with a standard error."""
    share = min(max(share, 0.5 / n), 1 - 0.5 / n)
    size = max(share * (1 - share) / error**2 - 1, 1.0)
    return share * size, (1 - share) * size


def beta_binomial_z(
    k: int,
    m: int,
    a: float,
    b: float,
) -> float:
    """Return the normal deviate of the upper beta-binomial tail of k of m."""
    share = a / (a + b)
    variance = share * (1 - share)
    spread = np.sqrt(variance * (1 / m + 1 / (a + b + 1)))
    normal = (k / m - share) / spread
    if k < MIN_COINCIDENCES:
        return min(normal, 0.0)
    is_normal = min(m, a + b) * variance > 1_000
    if normal <= 0 or is_normal:
        return normal
    # Summed, not one minus the rest, of which rounding would be left.
    log_tail = special.logsumexp(
        scipy.stats.betabinom.logpmf(np.arange(k, m + 1), m, a, b)
    )
    return min(normal, -special.ndtri_exp(log_tail))


def deviate(log_tail: float) -> float:
    """Return the normal deviate with a log upper tail; 0 for tails above one half."""
    return abs(special.ndtri_exp(min(log_tail, np.log(0.5))))


def bonferroni_z(z: float, tests: int) -> float:
    """Return the deviate of the largest of several tests, by Bonferroni's rule."""
    return deviate(special.log_ndtr(-z) + np.log(tests))


def split_odds(
    o: Ints,
    s: Ints,
    both: bool,
) -> tuple[Bools, Floats]:
    """Find the groups of equal records in one file only, and their probability.

    Parameters
    ----------
    o, s : (n_groups,) int
        Original and released records of each group.
    both : bool
        Whether groups in the release only count, in addition to those in the original
        only.

    Returns
    -------
    pure : (n_groups,) bool
        Groups of at least two records that lie in one file only.
    prob : (n_groups,) float
        Probability that a random split puts one record of the group into the original,
        given that it puts one, all, or (with `both`) none there.
    """
    n = int(o.sum())
    m = int(s.sum())
    total = o + s
    sizes, size_of = np.unique(total, return_inverse=True)
    # The log number of ways to put one, all, or none of a group into the original.
    others = n + m - sizes
    log_one = np.log(sizes) + log_choose(others, n - 1)
    log_pure = log_choose(others, m)
    in_one_file = s == 0
    if both:
        log_pure = np.logaddexp(log_pure, log_choose(others, n))
        in_one_file |= o == 0
    with np.errstate(invalid="ignore"):  # no way to do either
        log_odds = np.where(np.isneginf(log_pure), np.inf, log_one - log_pure)
    prob = special.expit(log_odds).clip(max=1 - 1e-12)
    return (total > 1) & in_one_file, prob[size_of]


def split_z(
    o: Ints,
    s: Ints,
    weight: Floats,
    both: bool,
) -> float:
    """Return z of groups with one original and released records, by random split."""
    pure, prob = split_odds(o, s, both)
    across = (o == 1) & (s > 0)
    counted = (across | pure) & (prob > 0)
    return bernoulli_z(across[counted], prob[counted], weight[counted])


def permutation_z(o: Ints, s: Ints) -> float:
    """Return z of the records in both files by a random split, unweighted."""
    return split_z(o, s, np.ones(len(o)), both=True)


@one_blas_thread
def bernoulli_z(
    hit: Bools,
    prob: Floats,
    weight: Floats,
) -> float:
    """Return the deviate of the upper tail of a weighted sum of Bernoulli variables.

    They are independent, and none is impossible or certain. By Barndorff-Nielsen's
    saddlepoint approximation, at the sum less half of the smallest weight.
    """
    variance = (weight**2 * prob * (1 - prob)).sum()
    if variance == 0:
        return 0.0
    x = weight[hit].sum() - weight.min() / 2
    normal = (x - weight @ prob) / np.sqrt(variance)
    if hit.sum() < MIN_COINCIDENCES:
        return min(normal, 0.0)
    if normal <= 0.5:
        return normal
    return _saddlepoint_deviate(x, prob, weight)


def _saddlepoint_deviate(
    x: float,
    prob: Floats,
    weight: Floats,
) -> float:
    """Return the deviate of a weighted sum of Bernoulli variables above its mean.

    With K the cumulant generating function and K'(h) = x: r = sqrt(2 (h x - K(h))), u =
    h sqrt(K''(h)), and the deviate is r + log(u / r) / r.
    """
    logit = special.logit(prob)

    def mean(tilt: float) -> float:
        return weight @ special.expit(logit + tilt * weight)

    most = 1.0
    while mean(most) < x:
        most *= 2
    tilt = scipy.optimize.brentq(lambda value: mean(value) - x, 0.0, most)
    cumulant = np.logaddexp(np.log1p(-prob), np.log(prob) + tilt * weight).sum()
    tilted = special.expit(logit + tilt * weight)
    r = np.sqrt(2 * (tilt * x - cumulant))
    u = tilt * np.sqrt((weight**2 * tilted * (1 - tilted)).sum())
    return r + np.log(u / r) / r


class Edges(NamedTuple):
    """Edges from single records to groups of equal records, of total weight one.

    Parameters
    ----------
    source, target : (n_edges,) int
        Groups where they start and end.
    weight : (n_edges,) float
        Weight of the edge to each single record of the target.
    """

    source: Ints
    target: Ints
    weight: Floats

    def where(self, chosen: Bools) -> "Edges":
        """Return some of the edges."""
        return Edges._make(part[chosen] for part in self)


def crossing_z(
    edges: Edges,
    o: Ints,
    s: Ints,
) -> float:
    r"""Return z of the weight of edges between the files, by a random split.

    With :math:`a_{ij}` the weight of the edges between two records in either direction,
    :math:`d_i` its sum at a record, and N = n + m records, the weight that crosses has
    the mean and variance

    .. math:: S p_1, \quad
              \sum_{i<j} a_{ij}^2 (p_1 - 2 p_2 + p_3) + \sum_i d_i^2 (p_2 - p_3)
              + S^2 (p_3 - p_1^2),

    where :math:`S = \sum_{i<j} a_{ij}`, and a random split separates one pair of
    records with probability :math:`p_1 = 2nm / (N(N-1))`, each of two pairs that share
    a record with :math:`p_2 = p_1 / 2`, and each of two that share none with :math:`p_3
    = 4n(n-1)m(m-1) / (N(N-1)(N-2)(N-3))`.
    """
    n = int(o.sum())
    m = int(s.sum())
    n_groups = len(o)
    n_records = o + s  # (n_groups,)
    records_at = n_records[edges.target]  # (n_edges,)
    is_original = o[edges.source] > 0
    in_other_file = np.where(is_original, s[edges.target], o[edges.target])
    crossing = (edges.weight * in_other_file).sum()

    squares = (records_at * edges.weight**2).sum() + _mutual_products(edges, n_groups)
    degree = np.bincount(edges.target, edges.weight, n_groups)
    degree[np.unique(edges.source)] += 1
    squared_degrees = (n_records * degree**2).sum()
    total_weight = (records_at * edges.weight).sum()

    p_1, p_2, p_3 = _separation_probabilities(n, m)
    variance = (
        squares * (p_1 - 2 * p_2 + p_3)
        + squared_degrees * (p_2 - p_3)
        + total_weight**2 * (p_3 - p_1**2)
    )
    return (crossing - total_weight * p_1) / np.sqrt(max(variance, 1e-12))


def _separation_probabilities(n: int, m: int) -> tuple[float, float, float]:
    """Return p_1, p_2 and p_3 of `crossing_z`."""
    size = n + m
    p_1 = 2 * n * m / (size * (size - 1))
    ways = 4 * n * (n - 1) * m * (m - 1)
    p_3 = ways / (size * (size - 1) * (size - 2) * (size - 3))
    return p_1, p_1 / 2, p_3


def _mutual_products(edges: Edges, n_groups: int) -> float:
    """Return the sum of products of the weights of mutual edges, since these add."""
    *places, weight = edges
    weights = sparse.csr_array((weight, places), shape=(n_groups, n_groups))
    return weights.multiply(weights.T).data.sum()
