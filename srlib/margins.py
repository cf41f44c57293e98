"""Independent margins as synthesizers, distances of tables, and Chow-Liu trees.

The synthesizers draw the variables independently. Their density is a product over
variables, and for each variable it is a sum or an integral over one number, so that the
likelihood of a candidate costs next to nothing. A Chow-Liu tree (1968) estimates the
density of a file's records.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse import csgraph
from scipy.special import gammaln, logsumexp

from srlib import checks
from srlib.arrays import Floats, Generator, Ints, NDArray, log_or_minus_inf

Counts = Ints
Codes = Ints
# Two-way tables by the edges (parent, child) of a Chow-Liu tree, from the root down.
# The root is its own parent; its table is diagonal.
type Tree = Mapping[tuple[int, int], Counts]

_ROWS = 20_000  # most records that are used to choose a Chow-Liu tree


class Terms(NamedTuple):
    """One variable's probability, as a sum over terms of products over levels.

    The sum is that of exp(log_weights + sum over levels of `log_factors`).
    `log_factors` is a function from counts of the data, (n_levels,), to the
    contribution of each level, (n_levels, n_terms). There is a single term if the
    probability is a product over levels.
    """

    log_weights: Floats
    log_factors: Callable[[Counts], Floats]


@dataclass(frozen=True, eq=False)
class Margins(ABC):
    """A synthesizer that draws each variable independently, from its level shares."""

    n_levels: Counts

    @abstractmethod
    def shares(
        self,
        counts: Counts,
        *,
        rng: Generator,
    ) -> Floats:
        """Draw the level shares of a variable with these counts in the data."""

    @abstractmethod
    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability of released records in their order, by their counts.

        It is a function of the counts of the data, (n_levels,), in which one record is
        changed.
        """

    def release(
        self,
        data: Codes,
        *,
        rng: Generator,
    ) -> Codes:
        """Draw a release with as many records as the data."""
        released = np.empty(data.shape, np.uint8)
        for k, counts in enumerate(self._counts(data)):
            # The last level takes the remainder.
            distribution = np.cumsum(self.shares(counts, rng=rng))[:-1]
            uniform = rng.random(len(data))
            released[:, k] = np.searchsorted(distribution, uniform, side="right")
        return released

    def log_prob(self, released: Codes, data: Codes) -> float:
        """Return the log probability of released records in their order."""
        row = np.zeros(1, int)  # any, as it stays
        return float(self.log_likelihoods([released], data, row, data[:1, None])[0, 0])

    def log_likelihoods(
        self,
        released: Sequence[Codes],
        data: Codes,
        rows: Counts,
        candidates: Codes,
    ) -> Floats:
        """Return the exact log p(releases | data with one record changed).

        The arguments and the shape, (n, support_size), are those of
        `srlib.risk.synthesizers.log_likelihoods`.
        """
        log_p = np.zeros(candidates.shape[:2])
        release_counts = [self._counts(table) for table in released]
        for k, counts in enumerate(self._counts(data)):
            releases = [self.terms(counts, shown[k]) for shown in release_counts]
            truth = data[rows, k][:, None]
            table = np.sum([_changed(terms, counts) for terms in releases], axis=0)
            log_p += table[truth, candidates[:, :, k]]
        return log_p

    def _counts(self, codes: Codes) -> list[Ints]:
        """Return the counts of the levels of each variable."""
        columns = zip(codes.T, self.n_levels, strict=True)
        return [np.bincount(column, minlength=n) for column, n in columns]


def _changed(terms: Terms, counts: Counts) -> Floats:
    """Return a variable's log probability, (true level, level that replaces it).

    Rows of levels that do not occur in the data, which cannot be true levels, are
    meaningless.
    """
    less = terms.log_factors(np.maximum(counts - 1, 0))  # (n_levels, n_terms)
    same = terms.log_factors(counts)
    more = terms.log_factors(counts + 1)
    # Infinities cannot be subtracted from a sum, so they are counted.
    impossible = np.isneginf(same)
    others = _sums_of_others(np.where(impossible, 0.0, same))
    others[_sums_of_others(impossible.astype(int)) > 0] = -np.inf
    changed = others + less[:, None] + more  # (n_levels, n_levels, n_terms)
    log_p = logsumexp(terms.log_weights + changed, axis=2)
    np.fill_diagonal(log_p, logsumexp(terms.log_weights + same.sum(axis=0)))
    return log_p


def _sums_of_others(values: NDArray) -> NDArray:
    """Return sums over all levels but two, (n_levels, n_levels, n_terms)."""
    return values.sum(axis=0) - values[:, None] - values


class PlugInMargins(Margins):
    """A synthesizer that draws each variable from its shares in the data.

    Examples
    --------
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> margins = PlugInMargins(np.array([2, 3]))
    >>> round(margins.log_prob(data[:1], data), 3)  # 2/3 times 1/3
    -1.504
    """

    def shares(
        self,
        counts: Counts,
        *,
        rng: Generator,
    ) -> Floats:
        """Return the shares in the data; nothing is drawn."""
        return counts / counts.sum()

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability as a product over levels."""
        n = counts.sum()
        return Terms(
            np.zeros(1), lambda changed: special.xlogy(released, changed / n)[:, None]
        )


@dataclass(frozen=True, eq=False)
class LaplaceMargins(Margins):
    """A synthesizer that draws each variable from its margin with Laplace noise.

    A changed record changes two counts of a margin by one, and each variable gets an
    equal part of epsilon, so that the noise has scale 2 n_variables / epsilon. Negative
    noisy counts are clipped to zero and the counts normalized; if all are clipped, the
    shares are equal. By post-processing, a release is differentially private at epsilon
    for replace-one neighbors. The likelihoods of two candidates that differ in one
    variable differ at most by a factor of exp(epsilon / n_variables).

    References
    ----------
    Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to
    sensitivity in private data analysis. https://doi.org/10.1007/11681878_14

    Examples
    --------
    >>> margins = LaplaceMargins(np.array([2, 3]), epsilon=1.0)
    >>> margins.scale
    4.0
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> both = [margins.log_prob(np.array([[0, 0]]), data[[i, 1, 2]]) for i in (0, 1)]
    >>> abs(both[0] - both[1]) < 1
    True
    """

    epsilon: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(epsilon=self.epsilon)

    @property
    def scale(self) -> float:
        """Scale of the noise, in records: its mean absolute value."""
        return 2 * len(self.n_levels) / self.epsilon

    def shares(
        self,
        counts: Counts,
        *,
        rng: Generator,
    ) -> Floats:
        """Draw noisy counts, clip them and normalize them."""
        noisy = np.maximum(counts + rng.laplace(scale=self.scale, size=len(counts)), 0)
        if not noisy.any():
            noisy = np.ones(len(counts))
        return noisy / noisy.sum()

    def terms(self, counts: Counts, released: Counts) -> Terms:
        r"""Return the probability as an integral, by the trapezoidal rule.

        With noisy counts u after clipping, S their sum and m released records,

        .. math:: E \prod_j (u_j / S)^{z_j} = \frac{1}{\Gamma(m)} \int_0^\infty
                  t^{m - 1} \prod_j E(u_j^{z_j} e^{-t u_j}) \, dt,

        and each factor consists of incomplete gamma functions. In log t the integrand
        is analytic with exponentially decreasing tails, so that the rule is exact to
        rounding. The last term is the case that all counts are clipped.
        """
        m = released.sum()
        n_levels = len(counts)
        scale = self.scale
        step = min(0.2, 0.5 / np.sqrt(m))

        # Where the integrand is more than negligible.
        center = np.log(m / (counts.sum() + n_levels * scale))
        coarse = center + np.arange(-60, 60, 0.25)
        moments = _log_laplace_moments(counts, released, coarse, scale)
        height = m * coarse + moments.sum(axis=0)
        inside = coarse[height > height.max() - 45 - 2 / scale]
        log_t = np.arange(inside[0] - 0.25, inside[-1] + 0.25, step)

        def log_factors(changed: Counts) -> Floats:
            clipped = -np.log(2) - changed / scale
            moments = _log_laplace_moments(changed, released, log_t, scale)
            return np.column_stack([moments, clipped])

        weights = np.log(step) + m * log_t - gammaln(m)
        return Terms(np.append(weights, -m * np.log(n_levels)), log_factors)


def _log_laplace_moments(
    counts: Counts, powers: Counts, log_t: Floats, scale: float
) -> Floats:
    """Return log E(u^power exp(-t u)), (n_levels, n_t).

    u is max(count + Laplace noise, 0).
    """
    s, t, count = np.broadcast_arrays(
        powers[:, None] + 1.0, np.exp(log_t), counts[:, None]
    )
    away = count / scale
    below = _log_below(s, t - 1 / scale, count) - away
    above = _log_above(s, t + 1 / scale, count) + away
    clipped = np.where(s == 1, np.log(scale) - away, -np.inf)
    not_clipped = np.logaddexp(below, above)
    return np.logaddexp(not_clipped, clipped) - np.log(2 * scale)


def _log_below(s: Floats, rate: Floats, upper: Counts) -> Floats:
    """Return the log of the integral of u^(s - 1) exp(-rate u) from 0 to `upper`."""
    x = rate * upper
    log_integral = s * log_or_minus_inf(upper) - x - np.log(s)
    # Kummer's function if the incomplete gamma function may underflow or is not
    # defined.
    small = x <= s
    log_integral[small] += np.log(special.hyp1f1(1, s[small] + 1, x[small]))
    a = s[~small]
    log_gamma = gammaln(a) + np.log(special.gammainc(a, x[~small]))
    log_integral[~small] = log_gamma - a * np.log(rate[~small])
    return log_integral


def _log_above(s: Floats, rate: Floats, lower: Counts) -> Floats:
    """Return the log of the integral of u^(s - 1) exp(-rate u) from `lower` on."""
    x = rate * lower
    share = special.gammaincc(s, x)
    log_integral = log_or_minus_inf(share) + (gammaln(s) - s * np.log(rate))
    far = share < 1e-280
    a = s[far]
    y = x[far]
    fraction = np.zeros(len(a))
    for k in range(60, 0, -1):  # Legendre's continued fraction
        fraction = k * (k - a) / (y + 2 * k + 1 - a - fraction)
    log_power = a * np.log(lower[far])
    log_integral[far] = log_power - y - np.log(y + 1 - a - fraction)
    return log_integral


@dataclass(frozen=True, eq=False)
class DirichletMargins(Margins):
    """A synthesizer that draws the level shares of each variable from their posterior.

    An independent Dirichlet-multinomial model for each variable: the DPMPM with one
    class. `concentration` is the parameter of the symmetric Dirichlet prior.

    Examples
    --------
    >>> import numpy as np
    >>> model = DirichletMargins(np.array([2, 3]))
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> round(model.log_prob(data[:1], data), 3)  # 3/5 times 2/6
    -1.609
    """

    concentration: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(concentration=self.concentration)

    def shares(
        self,
        counts: Counts,
        *,
        rng: Generator,
    ) -> Floats:
        """Draw the shares from their posterior."""
        return rng.dirichlet(counts + self.concentration)

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability as a product over levels."""
        total = counts.sum() + len(counts) * self.concentration
        log_weight = gammaln(total) - gammaln(total + released.sum())

        def log_factors(changed: Counts) -> Floats:
            prior = changed + self.concentration
            return (gammaln(prior + released) - gammaln(prior))[:, None]

        return Terms(np.array([log_weight]), log_factors)


def two_way_table(
    codes: Codes,
    levels: Sequence[int],
    a: int,
    b: int,
) -> Ints:
    """Return the two-way table of two variables, (levels[a], levels[b])."""
    shape = (levels[a], levels[b])
    cells = np.ravel_multi_index((codes[:, a], codes[:, b]), shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def chow_liu_tree(codes: Codes, levels: Sequence[int]) -> Tree:
    """Return the tree with the most mutual information (Chow and Liu 1968)."""
    sample = codes[:: math.ceil(len(codes) / _ROWS)]
    information = np.zeros((len(levels), len(levels)))
    for a, b in combinations(range(len(levels)), 2):
        table = two_way_table(sample, levels, a, b)
        information[a, b] = _mutual_information(table)
    # Weights must not be zero, which means no edge.
    weights = information.min() - 1 - information
    tree = csgraph.minimum_spanning_tree(np.triu(weights, 1))
    order, parents = csgraph.breadth_first_order(tree, 0, directed=False)
    parents[0] = 0  # the root is its own parent
    edges = [(parents[child], child) for child in order]
    return {edge: two_way_table(codes, levels, *edge) for edge in edges}


def _mutual_information(table: Counts) -> float:
    """Return the mutual information of a two-way table, less that by chance."""
    n = table.sum()
    joint = table / n
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    n_rows, n_columns = table.shape
    by_chance = (n_rows - 1) * (n_columns - 1) / (2 * n)
    return special.rel_entr(joint, independent).sum() - by_chance


def log_density(codes: Codes, tree: Tree, extra: Floats | float = 0) -> Floats:
    """Return the log probability of records by a tree, with `extra` copies of each.

    The counts are smoothed: half a record is added to each level, and to each level of
    the parent two records that are divided as all records are.
    """
    log_p = np.zeros(len(codes))
    for (parent, child), table in tree.items():
        i = codes[:, parent]
        j = codes[:, child]
        n_smoothed = table.sum() + 0.5 * table.shape[1] + extra
        share = (table.sum(axis=0)[j] + 0.5 + extra) / n_smoothed
        if parent != child:
            n_smoothed = table.sum(axis=1)[i] + 2 + extra
            share = (table[i, j] + 2 * share + extra) / n_smoothed
        log_p += np.log(share)
    return log_p


def total_variation(
    original: Codes,
    released: Codes,
    levels: Sequence[int],
    a: int,
    b: int,
) -> tuple[float, float, float]:
    """Return the distance of two-way tables, and its mean and sd by random split.

    The distance is the total variation distance. In a random split the records of both
    files are divided anew.
    """
    n = len(original)
    m = len(released)
    original_counts = two_way_table(original, levels, a, b).ravel()
    released_counts = two_way_table(released, levels, a, b).ravel()
    distance = np.abs(original_counts / n - released_counts / m).sum() / 2

    cells = original_counts + released_counts
    cells = cells[cells > 0]
    deviation = _mean_deviation(n, m, cells)
    share = cells / (n + m)  # as floats: integers would overflow for a million records
    variances = n * share * m * (1 - share) / (n + m - 1)
    # The differences sum to zero: with two cells, both are equal in size.
    n_cells = len(cells)
    variance = (variances - deviation**2).sum() * n_cells / max(n_cells - 1, 1)
    scale = (1 / n + 1 / m) / 2
    sd = scale * np.sqrt(max(variance, 0.0))
    mean = scale * deviation.sum()
    return distance, mean, sd


def _mean_deviation(n: int, m: int, cells: Counts) -> Floats:
    """Return E |X - n c / N| of the count X in each cell among n of N = n + m records.

    This is de Moivre's closed form; c is the cell's count in all records.
    """
    total = n + m
    above = n * cells // total + 1
    log_prob = log_choose(cells, above) + log_choose(total - cells, n - above)
    log_prob -= log_choose(total, n)
    tail = above * (total - cells - n + above) / total
    return 2 * tail * np.exp(log_prob)


def log_choose(n: Counts | int, k: Counts | int) -> Floats:
    """Return the log of the number of ways to choose k of n, -inf if there is none."""
    possible = (k >= 0) & (k <= n)
    chosen = np.where(possible, k, 0)
    log_ways = -special.betaln(n - chosen + 1, chosen + 1) - np.log(n + 1)
    return np.where(possible, log_ways, -np.inf)


def utility_loss(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Sequence[int],
) -> tuple[float, float]:
    r"""Return the utility loss in two-way tables: the error relative to a sample's.

    A cell with probability p has counts X and Y in two samples of n records. For
    independent Poisson counts of mean :math:`\lambda = n p`,

    .. math:: E |X - Y| = 2 \lambda e^{-2 \lambda} (I_0(2 \lambda) + I_1(2 \lambda)),

    and for binomial counts it is smaller by a factor of about :math:`\sqrt{1 - p}`. p
    is estimated by the proportions in all tables together, so that cells that are empty
    in the original count as well. The result is the mean absolute difference of the
    cells of the releases, relative to that of a second sample of the population (1 if a
    release differs as much as a sample would), and its standard error, from the
    differences between the releases. There must be two or more releases of the same
    size as the original.
    """
    n = len(original)
    sizes = [len(codes) for codes in released]
    if len(released) < 2 or len(n_levels) < 2 or set(sizes) != {n}:
        raise ValueError(
            f"released has releases of {sizes} records with {len(n_levels)} "
            f"variable(s); it must have two or more of both, and {n} records in each "
            "release"
        )
    differences = []  # for each table, of the releases
    expected = []
    for a, b in combinations(range(len(n_levels)), 2):
        tables = [
            two_way_table(codes, n_levels, a, b).ravel()
            for codes in (original, *released)
        ]
        shares = np.array(tables) / n  # (n_files, n_cells)
        differences.append(np.abs(shares[1:] - shares[0]).mean(axis=1))
        expected.append(_difference_by_chance(n, shares.mean(axis=0)))
    by_chance = np.mean(expected)
    if by_chance == 0:
        raise ValueError(
            "original and released have one combination only, so nothing can differ"
        )
    ratios = np.mean(differences, axis=0) / by_chance
    return _mean_with_error(ratios)


def _mean_with_error(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _difference_by_chance(n: int, p: Floats) -> float:
    """Return E |X - Y| / n, its mean over cells, by the equation of `utility_loss`."""
    rate = 2 * n * p
    # ive is exp(-rate) times the Bessel function.
    bessel = special.ive(0, rate) + special.ive(1, rate)
    binomial_factor = np.sqrt(np.maximum(1 - p, 0))
    return (2 * p * binomial_factor * bessel).mean()
