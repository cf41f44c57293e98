"""Independent margins as synthesizers, distances of one-way and two-way tables, Chow-Liu trees.

The synthesizers draw the variables independently. Their density is a product over
variables, and for each variable it is a sum or an integral over one number, so that the
likelihood of a candidate costs next to nothing. A Chow-Liu tree (1968) estimates the
density of a file's records.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csgraph
from scipy.special import gammainc, gammaincc, gammaln, hyp1f1, logsumexp, xlogy

from srlib import checks

Counts = NDArray[np.integer]
Codes = NDArray[np.integer]
# Two-way tables by the edges of a Chow-Liu tree, from the root down; one-way for the
# root.
type Tree = Mapping[tuple[int, int], Counts]

_ROWS = 20_000  # most records that are used to choose a Chow-Liu tree


class Terms(NamedTuple):
    """One variable's probability: the sum of exp(log_weights + sum over levels of `log_factors`).

    `log_factors` is a function from counts of the data, (n_levels,), to the
    contribution of each level, (n_levels, n_terms). There is a single term if the
    probability is a product over levels.
    """

    log_weights: NDArray[np.float64]
    log_factors: Callable[[Counts], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Margins(ABC):
    """A synthesizer that draws each variable independently, from its own level probabilities."""

    n_levels: NDArray[np.integer]

    @abstractmethod
    def shares(
        self, counts: Counts, *, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw the level probabilities of a variable with these counts in the data."""

    @abstractmethod
    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability of released records in their order, given their counts.

        It is a function of the counts of the data, (n_levels,), in which one record is
        changed.
        """

    def release(
        self, data: NDArray[np.integer], *, rng: np.random.Generator
    ) -> NDArray[np.uint8]:
        """Draw a release with as many records as the data."""
        released = np.empty(data.shape, dtype=np.uint8)
        for k, counts in enumerate(self._counts(data)):
            # The last level takes the remainder.
            distribution = np.cumsum(self.shares(counts, rng=rng))[:-1]
            released[:, k] = np.searchsorted(
                distribution, rng.random(len(data)), side="right"
            )
        return released

    def log_prob(
        self, released: NDArray[np.integer], data: NDArray[np.integer]
    ) -> float:
        """Return the log probability of the released records in their order, given the data."""
        total = 0.0
        for counts, shown in zip(
            self._counts(data), self._counts(released), strict=True
        ):
            total += _unchanged(self.terms(counts, shown), counts)
        return total

    def log_likelihoods(
        self,
        released: Sequence[NDArray[np.integer]],
        data: NDArray[np.integer],
        rows: NDArray[np.integer],
        candidates: NDArray[np.integer],
    ) -> NDArray[np.float64]:
        """Return log p(releases | data with one record changed), exactly, (n, support_size).

        The arguments are those of `srlib.risk.synthesizers.log_likelihoods`.
        """
        found = np.zeros(candidates.shape[:2])
        of_releases = zip(*(self._counts(table) for table in released), strict=True)
        for k, (counts, shown) in enumerate(
            zip(self._counts(data), of_releases, strict=True)
        ):
            truth, level = data[rows, k][:, None], candidates[:, :, k]
            of_terms = [self.terms(counts, each) for each in shown]
            if (level == truth).all():
                found += sum(_unchanged(terms, counts) for terms in of_terms)
            else:
                table = np.sum([_changed(terms, counts) for terms in of_terms], axis=0)
                found += table[truth, level]
        return found

    def _counts(self, codes: NDArray[np.integer]) -> list[NDArray[np.int64]]:
        """Return the counts of the levels of each variable."""
        return [
            np.bincount(column, minlength=n)
            for column, n in zip(codes.T, self.n_levels, strict=True)
        ]


def _unchanged(terms: Terms, counts: Counts) -> float:
    """Return a variable's log probability given the unchanged data."""
    return float(logsumexp(terms.log_weights + terms.log_factors(counts).sum(axis=0)))


def _changed(terms: Terms, counts: Counts) -> NDArray[np.float64]:
    """Return a variable's log probability for each true level and each level that replaces it.

    Rows of levels that do not occur in the data, which cannot be true levels, are
    meaningless.
    """
    less, same, more = (
        terms.log_factors(np.maximum(counts + d, 0)) for d in (-1, 0, 1)
    )
    impossible = np.isneginf(same)
    finite = np.where(impossible, 0.0, same)
    # The sum over all levels but the two; infinities cannot be subtracted from a sum.
    others = finite.sum(axis=0) - finite[:, None] - finite
    some = impossible.sum(axis=0) - impossible[:, None].astype(int) - impossible > 0
    changed = np.where(some, -np.inf, others) + less[:, None] + more
    of_table = logsumexp(terms.log_weights + changed, axis=2)
    np.fill_diagonal(of_table, logsumexp(terms.log_weights + same.sum(axis=0)))
    return of_table


@dataclass(frozen=True, eq=False)
class PlugInMargins(Margins):
    """A synthesizer that draws each variable from its shares in the data.

    Examples
    --------
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> round(PlugInMargins(np.array([2, 3])).log_prob(data[:1], data), 3)  # 2/3 times 1/3
    -1.504
    """

    def shares(
        self, counts: Counts, *, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the shares in the data; nothing is drawn."""
        return counts / counts.sum()

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability as a product over levels."""
        n = counts.sum()

        def of_counts(changed: Counts) -> NDArray[np.float64]:
            return xlogy(released, changed / n)[:, None]

        return Terms(np.zeros(1), of_counts)


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
        self, counts: Counts, *, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw noisy counts, clip them and normalize them."""
        noisy = np.maximum(counts + rng.laplace(scale=self.scale, size=len(counts)), 0)
        return (
            noisy / noisy.sum()
            if noisy.any()
            else np.full(len(counts), 1 / len(counts))
        )

    def terms(self, counts: Counts, released: Counts) -> Terms:
        r"""Return the probability as an integral over one number, by the trapezoidal rule.

        With noisy counts u after clipping, S their sum and m released records,

        .. math:: E \prod_j (u_j / S)^{z_j} = \frac{1}{\Gamma(m)} \int_0^\infty t^{m - 1} \prod_j
                  E(u_j^{z_j} e^{-t u_j}) \, dt,

        and each factor consists of incomplete gamma functions. In log t the integrand
        is analytic with exponentially decreasing tails, so that the rule is exact to
        rounding. The last term is the case that all counts are clipped.
        """
        m, n_levels = released.sum(), len(counts)

        def of_counts(
            changed: Counts, log_t: NDArray[np.float64]
        ) -> NDArray[np.float64]:
            return _log_laplace_moment(
                changed[:, None], released[:, None], log_t, self.scale
            )

        center = np.log(m / (counts.sum() + n_levels * self.scale))
        coarse = center + np.arange(-60, 60, 0.25)
        height = m * coarse + of_counts(counts, coarse).sum(axis=0)
        there = np.flatnonzero(height > height.max() - 45 - 2 / self.scale)
        step = min(0.2, 0.5 / np.sqrt(m))
        log_t = np.arange(coarse[there[0]] - 0.25, coarse[there[-1]] + 0.25, step)

        def all_terms(changed: Counts) -> NDArray[np.float64]:
            clipped = -np.log(2) - changed / self.scale
            return np.column_stack([of_counts(changed, log_t), clipped])

        weights = np.log(step) + m * log_t - gammaln(m)
        return Terms(np.append(weights, -m * np.log(n_levels)), all_terms)


def _log_laplace_moment(
    count: NDArray[np.integer],
    power: NDArray[np.integer],
    log_t: NDArray[np.float64],
    scale: float,
) -> NDArray[np.float64]:
    """Return log E(u^power exp(-t u)) of u = max(count + Laplace noise, 0)."""
    t = np.exp(log_t)
    away = count / scale
    below = _log_below(power + 1.0, t - 1 / scale, count) - away
    above = _log_above(power + 1.0, t + 1 / scale, count) + away
    clipped = np.where(power == 0, np.log(scale) - away, -np.inf)
    return np.logaddexp(np.logaddexp(below, above), clipped) - np.log(2 * scale)


def _log_below(
    s: NDArray[np.floating], rate: NDArray[np.floating], upper: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the log of the integral of u^(s - 1) exp(-rate u) from 0 to `upper`."""
    s, rate, upper = np.broadcast_arrays(s, rate, upper)
    x = rate * upper
    with np.errstate(divide="ignore"):
        found = s * np.log(upper) - np.minimum(x, s) - np.log(s)
    # Kummer's function if the incomplete gamma function may underflow or is not
    # defined.
    small = x <= s
    found[small] += np.log(hyp1f1(1, s[small] + 1, x[small]))
    large = ~small
    a, y = s[large], x[large]
    found[large] = gammaln(a) + np.log(gammainc(a, y)) - a * np.log(rate[large])
    return found


def _log_above(
    s: NDArray[np.floating], rate: NDArray[np.floating], lower: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the log of the integral of u^(s - 1) exp(-rate u) from `lower` to infinity."""
    s, rate, lower = np.broadcast_arrays(s, rate, lower)
    x = rate * lower
    share = gammaincc(s, x)
    with np.errstate(divide="ignore"):
        found = np.log(share)
    found += gammaln(s) - s * np.log(rate)
    far = share < 1e-280
    a, y = s[far], x[far]
    fraction = np.zeros(len(a))
    for k in range(60, 0, -1):  # Legendre's continued fraction
        fraction = k * (k - a) / (y + 2 * k + 1 - a - fraction)
    found[far] = a * np.log(lower[far]) - y - np.log(y + 1 - a - fraction)
    return found


@dataclass(frozen=True, eq=False)
class DirichletMargins(Margins):
    """A synthesizer that draws the level probabilities of each variable from their posterior.

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
        self, counts: Counts, *, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw the shares from their posterior."""
        return rng.dirichlet(counts + self.concentration)

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return the probability as a product over levels."""
        total = counts.sum() + len(counts) * self.concentration

        def of_counts(changed: Counts) -> NDArray[np.float64]:
            before = changed + self.concentration
            return (gammaln(before + released) - gammaln(before))[:, None]

        return Terms(
            np.array([gammaln(total) - gammaln(total + released.sum())]), of_counts
        )


def two_way_table(
    codes: Codes, levels: Sequence[int], a: int, b: int
) -> NDArray[np.int64]:
    """Return the two-way table of two variables, (levels[a], levels[b])."""
    cells = codes[:, a].astype(np.int64) * levels[b] + codes[:, b]
    return np.bincount(cells, minlength=levels[a] * levels[b]).reshape(
        levels[a], levels[b]
    )


def chow_liu_tree(codes: Codes, levels: Sequence[int]) -> Tree:
    """Return the tree with the most mutual information (Chow and Liu 1968), as two-way tables."""
    some, p = codes[:: -(-len(codes) // _ROWS)], len(levels)
    information = np.zeros((p, p))
    for above, below in combinations(range(p), 2):
        joint = two_way_table(some, levels, above, below) / len(some)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        chance = (levels[above] - 1) * (levels[below] - 1) / (2 * len(some))
        information[above, below] = special.rel_entr(joint, apart).sum() - chance
    # Weights must not be zero, which means no edge.
    tree = csgraph.minimum_spanning_tree(
        np.triu(information.min() - 1 - information, 1)
    )
    order, parents = csgraph.breadth_first_order(tree, 0, directed=False)
    edges = [(0, 0), *((int(parents[k]), int(k)) for k in order[1:])]
    return {edge: two_way_table(codes, levels, *edge) for edge in edges}


def log_density(
    codes: Codes, tree: Tree, extra: NDArray[np.float64] | float = 0
) -> NDArray[np.float64]:
    """Return the log probability of records by a Chow-Liu tree, with `extra` copies of each record.

    The counts are smoothed: half a record is added to each level, and to each level of
    the parent two records that are divided as all records are.
    """
    log_p = np.zeros(len(codes))
    for (above, below), table in tree.items():
        i, j = codes[:, above], codes[:, below]
        share = (table.sum(axis=0)[j] + 0.5 + extra) / (
            table.sum() + 0.5 * table.shape[1] + extra
        )
        if above != below:
            share = (table[i, j] + 2 * share + extra) / (
                table.sum(axis=1)[i] + 2 + extra
            )
        log_p += np.log(share)
    return log_p


def total_variation(
    original: Codes, released: Codes, levels: Sequence[int], a: int, b: int
) -> tuple[float, float, float]:
    """Return the total variation distance of two-way tables, with mean and sd by random split."""
    counts, others = (
        two_way_table(z, levels, a, b).ravel() for z in (original, released)
    )
    n, m, cells = len(original), len(released), counts + others
    value = float(np.abs(counts / n - others / m).sum() / 2)
    cells, total = cells[cells > 0], n + m
    # E |X - n c / N| for the count of each cell among n of N records, in de Moivre's
    # closed form.
    above = n * cells // total + 1
    log_prob = log_choose(cells, above) + log_choose(total - cells, n - above)
    log_prob -= log_choose(np.array(total), np.array(n))
    possible = (above <= cells) & (above <= n) & (n - above <= total - cells)
    tail = above * (total - cells - n + above) / total
    deviation = np.where(possible, 2 * tail * np.exp(log_prob), 0.0)
    share = cells / total  # as floats: integers would overflow for a million records
    variances = n * share * m * (1 - share) / (total - 1)
    # The differences sum to zero: with two cells, both are equal in size.
    variance = (variances - deviation**2).sum() * len(cells) / max(len(cells) - 1, 1)
    scale = (1 / n + 1 / m) / 2
    return (
        value,
        float(scale * deviation.sum()),
        float(scale * np.sqrt(max(variance, 0.0))),
    )


def log_choose(
    n: NDArray[np.integer], k: NDArray[np.integer] | int
) -> NDArray[np.float64]:
    """Return the log of the number of ways to choose k of n; minus infinity if there is none."""
    inside = (k >= 0) & (k <= n)
    some = np.where(inside, k, 0)
    return np.where(
        inside, -special.betaln(n - some + 1, some + 1) - np.log(n + 1), -np.inf
    )


def utility_loss(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Sequence[int] | NDArray[np.integer],
) -> tuple[float, float]:
    r"""Return the utility loss in two-way tables: the error relative to a second sample's.

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
    n, m = len(original), len(released)
    if m < 2 or len(n_levels) < 2 or any(len(z) != n for z in released):
        raise ValueError(
            f"released has releases of {[len(z) for z in released]} records with {len(n_levels)} "
            f"variable(s); it must have two or more of both, and {n} records in each release"
        )
    singles, expected, levels = [], [], [int(k) for k in n_levels]
    for a, b in combinations(range(len(n_levels)), 2):
        tables = (original, *released)
        shares = np.array([two_way_table(z, levels, a, b).ravel() / n for z in tables])
        p = shares.mean(axis=0)
        scaled = special.ive(0, 2 * n * p) + special.ive(
            1, 2 * n * p
        )  # exp(-2 n p) times Bessel's
        singles.append(np.abs(shares[1:] - shares[0]).mean(axis=1))
        expected.append((2 * p * np.sqrt(np.maximum(1 - p, 0)) * scaled).mean())
    if not (by_chance := float(np.mean(expected))):
        raise ValueError(
            "original and released have one combination only, so nothing can differ"
        )
    ratios = np.mean(singles, axis=0) / by_chance
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(m))
