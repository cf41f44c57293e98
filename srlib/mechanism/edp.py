"""Empirical differential privacy (EDP): how far a record moves the bins of a posterior.

EDP divides the posterior of a parameter into B bins of equal probability and compares
their probabilities with those given neighboring data sets (Abowd, Schneider and
Vilhuber 2013; Charest and Han). It is the conditional epsilon of the mechanism that
releases the bin of one posterior draw.

EDP is computed exactly for distributions in scipy; by simulation of the paper's
estimate, at the cost of the bins and not of the draws; and from one posterior sample of
any Bayesian model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import logsumexp

from srlib import checks, diagnostics
from srlib.arrays import ArrayLike, Floats, Generator, Ints, NDArray, log_or_minus_inf

RAW = "raw"
SMOOTHED = "Pareto-smoothed"
REFIT = "refit needed"
BLOCK_ENTRIES = 1 << 23
LOW_K = 0.5
HIGH_K = 0.7
MIN_BIN_DRAWS = 25
"""Draws of a refit that a bin needs to be counted."""
N_RESAMPLES = 100
CHANGES = {
    "replace": [(-1, 0), (1, 0)],
    "remove": [(0, -1), (-1, -1)],
    "add": [(0, 1), (1, 1)],
}
"""Changes of the numbers of ones and of records by each change of one record."""


@dataclass(frozen=True)
class EDP:
    """Empirical differential privacy, and the neighbor and bin that attain it.

    Attributes
    ----------
    value : float
        The EDP; infinite if a bin has probability zero given a neighbor.
    neighbor, bin : int
        Neighbor and bin that attain it, numbered from 0.
    by_neighbor : (n_neighbors,) float64
        Largest absolute log ratio of each neighbor.
    """

    value: float
    neighbor: int
    bin: int
    by_neighbor: Floats


def beta_posterior(x: int, n: int, alpha: float) -> Any:
    """Return the posterior of a proportion from x ones in n records.

    The prior is Beta(alpha, alpha).
    """
    return stats.beta(alpha + x, alpha + n - x)


def beta_neighbors(
    x: int,
    n: int,
    alpha: float,
    kind: str,
) -> list[Any]:
    """Return the posteriors given each neighboring data set.

    `kind` is "replace" (bounded differential privacy), "remove" or "add" (unbounded):
    the change of one record that leads to a neighbor.
    """
    if kind not in CHANGES:
        raise ValueError(f"kind is {kind!r}; it must be 'replace', 'remove' or 'add'")
    counts = [(x + ones, n + records) for ones, records in CHANGES[kind]]
    return [beta_posterior(y, m, alpha) for y, m in counts if 0 <= y <= m]


def normal_posterior(y: Floats) -> Any:
    """Return the posterior of a normal mean, given observations with variance 5.

    The prior has mean 10 and variance 3. This is the example of Charest and Han,
    section 3.3.
    """
    precision = len(y) / 5.0 + 1 / 3.0
    mean = (y.sum() / 5.0 + 10.0 / 3.0) / precision
    return stats.norm(mean, precision**-0.5)


# --------------------------------------------------------------------- known posteriors


def equal_probability_edges(posterior: Any, bins: int) -> Floats:
    """Return the inner edges of bins of equal posterior probability, (bins - 1,)."""
    checks.at_least(2, bins=bins)
    share = np.arange(1, bins) / bins
    # Upper quantiles from the survival function keep the digits that those from the
    # cdf lose near 1.
    return np.where(share < 0.5, posterior.ppf(share), posterior.isf(1 - share))


def log_bin_probabilities(posterior: Any, edges: Floats) -> Floats:
    """Return log probabilities of the bins between edges, including both tails.

    They are differences of the distribution function below the median and of the
    survival function above it, so that both tails keep their digits. Edges are (...,
    n_edges) in order. For a frozen distribution with parameters of shape (k, 1) they
    are (..., 1, n_edges).
    """
    upper_edges = np.insert(edges, edges.shape[-1], np.inf, axis=-1)
    cdf = posterior.cdf(upper_edges)
    from_below = np.diff(cdf, prepend=0.0)
    from_above = -np.diff(posterior.sf(upper_edges), prepend=1.0)
    probability = np.where(cdf < 0.5, from_below, from_above)
    log_prob = log_or_minus_inf(probability)
    return log_prob - logsumexp(log_prob, axis=-1, keepdims=True)


def _neighbor_log_probabilities(
    neighbors: Sequence[Any],
    edges: Floats,
) -> Floats:
    """Return log bin probabilities of all neighbors, (..., n_neighbors, n_bins)."""
    if len(neighbors) == 0:
        raise ValueError("neighbors is empty; it must have at least one distribution")
    edges = edges[..., None, :]
    log_prob = [log_bin_probabilities(neighbor, edges) for neighbor in neighbors]
    return np.concatenate(log_prob, axis=-2)


def exact(posterior: Any, neighbors: Sequence[Any], bins: int) -> EDP:
    """Return the exact EDP of a known posterior (Charest and Han, equation 2).

    Parameters
    ----------
    posterior : scipy frozen distribution
        Posterior given the data.
    neighbors : sequence of scipy frozen distributions
        Posteriors given neighboring data sets, at least one. Parameters of shape (k, 1)
        stand for k neighbors.
    bins : int
        Number of bins, 2 or more.
    """
    edges = equal_probability_edges(posterior, bins)
    log_prob = _neighbor_log_probabilities(neighbors, edges)
    return _largest(np.abs(log_prob + np.log(bins)))


def _largest(log_ratio: Floats) -> EDP:
    """Return the EDP from absolute log ratios, (n_neighbors, n_bins)."""
    by_neighbor = log_ratio.max(axis=1)
    neighbor = int(by_neighbor.argmax())
    attained = int(log_ratio[neighbor].argmax())
    return EDP(by_neighbor[neighbor], neighbor, attained, by_neighbor)


# -------------------------------------------------------- the estimate from fresh draws


def estimate_from_counts(counts: Ints, pseudocount: float = 0.01) -> Floats:
    """Return the paper's estimate of EDP from counts of draws.

    Counts are (..., n_neighbors, n_bins) and the result is (...,). A positive
    pseudocount is added to each count (additive smoothing). The estimate is the largest
    absolute log of an estimated probability divided by 1 / n_bins.
    """
    checks.positive(pseudocount=pseudocount)
    n_bins = counts.shape[-1]
    n_draws = counts.sum(axis=-1, keepdims=True)
    share = (counts + pseudocount) / (n_draws + n_bins * pseudocount)
    log_ratio = np.abs(np.log(share * n_bins))
    return log_ratio.max(axis=(-2, -1))


def simulate_counts(
    posterior: Any,
    neighbors: Sequence[Any],
    bins: int,
    draws: int,
    size: int,
    *,
    rng: Generator,
) -> Ints:
    """Simulate the bin counts of the paper's procedure without posterior draws.

    The edges of the bins are sample quantiles of the draws given the data: order
    statistics, whose uniform spacings are Dirichlet. Given the edges, the counts of a
    neighbor's draws are multinomial. The cost of a replicate depends on the number of
    bins and not on the number of draws from each posterior, which is a multiple of the
    bins. Returns `size` replicates, (size, n_neighbors, bins).
    """
    checks.within(2, draws, bins=bins)
    if draws % bins:
        raise ValueError(f"draws is {draws}; it must be a multiple of bins = {bins}")
    spacing = np.full(bins, draws // bins)
    spacing[-1] += 1  # the spacing above the last order statistic
    share = np.cumsum(rng.dirichlet(spacing, size), axis=1)[:, :-1]
    counts = []
    # In blocks of at most 20 replicates, because there may be one neighbor per record.
    for block in np.array_split(share, -(-size // 20)):
        log_prob = _neighbor_log_probabilities(neighbors, posterior.ppf(block))
        probability = np.exp(log_prob)
        probability /= probability.sum(axis=-1, keepdims=True)
        counts.append(rng.multinomial(draws, probability))
    return np.concatenate(counts)


# ------------------------------------------------------------ from one posterior sample


@dataclass(frozen=True)
class PosteriorEDP(EDP):
    """EDP of one scalar estimated from one posterior sample.

    Attributes
    ----------
    value, neighbor, bin, by_neighbor
        As in `EDP`.
    mcse : float
        Monte Carlo standard error of the EDP, at the neighbor and bin that attain it.
    pareto_k : (n_neighbors,) float64
        Pareto k of the importance weights.
    method : (n_neighbors,) str
        `RAW` or `SMOOTHED` weights, `REFIT` if the weights are unreliable, or "refit"
        after one.
    """

    mcse: float
    pareto_k: Floats
    method: NDArray[np.str_]

    @property
    def refit_needed(self) -> Ints:
        """Neighbors with unreliable weights, which need a refit."""
        return np.flatnonzero(self.method == REFIT)


WeightReader = Callable[[slice], Floats]
"""A function from a slice of neighbors to their log weights."""

Refit = Callable[[int], ArrayLike]
"""A function from a neighbor to draws of the scalar given that neighbor."""


def from_draws(
    theta: ArrayLike,
    log_weights: Floats | WeightReader,
    bins: int,
    *,
    n_neighbors: int | None = None,
    refit: Refit | None = None,
) -> PosteriorEDP:
    """Return the EDP of a scalar from posterior draws and weights of the neighbors.

    The draws are reweighted to the posterior given each neighbor: by 1 / p(y_i | theta)
    if record i is removed, by p(y | theta) if a record is added, and by their product
    if record i is replaced. Each bin has its share of the draws, so no bin is empty,
    and only tails of weights are smoothed.

    Parameters
    ----------
    theta : (n_chains, n_draws) or (n_draws,) float
        Draws of the scalar given the data, not all equal.
    log_weights : (n_chains, n_draws, n_neighbors) float, or callable
        Finite log weights, up to a constant for each neighbor; or a function that
        returns these columns for a slice of neighbors, so that only one block is in
        memory.
    bins : int
        Number of bins, from 2 to the number of draws.
    n_neighbors : int
        Number of neighbors, if `log_weights` is a function.
    refit : callable, optional
        Maps the index of a neighbor to draws of the scalar given that neighbor. It is
        called if Pareto k exceeds 0.7. Bins with fewer than 25 of its draws keep the
        proportions of the weights.
    """
    chains = _checked_draws(theta)
    checks.within(2, chains.size, bins=bins)
    total, read = _weight_reader(log_weights, n_neighbors)
    sample = _Sample(chains, bins, read, refit)
    log_ratio, pareto_k = sample.log_ratios(total)
    largest = _largest(log_ratio.T)
    unreliable = REFIT if refit is None else "refit"
    return PosteriorEDP(
        **vars(largest),
        mcse=sample.bootstrap_error(largest),
        pareto_k=pareto_k,
        method=np.select(
            [pareto_k > HIGH_K, pareto_k > LOW_K], [unreliable, SMOOTHED], RAW
        ),
    )


def _checked_draws(theta: ArrayLike) -> Floats:
    """Return the draws, (n_chains, n_draws), if they are finite and vary."""
    chains = np.atleast_2d(theta).astype(float)
    if chains.ndim != 2 or not np.isfinite(chains).all():
        raise ValueError(
            f"theta has shape {chains.shape}; it must be (chains, draws) and finite"
        )
    if np.ptp(chains) == 0:
        raise ValueError(
            f"theta has the same value {chains[0, 0]} in all draws; it must vary"
        )
    return chains


def _weight_reader(
    log_weights: Floats | WeightReader,
    n_neighbors: int | None,
) -> tuple[int, WeightReader]:
    """Return the number of neighbors and the function that reads their weights."""
    if callable(log_weights):
        if n_neighbors is None or n_neighbors < 1:
            raise ValueError(f"n_neighbors is {n_neighbors}; it must be 1 or more")
        return n_neighbors, log_weights
    table = np.asarray(log_weights, float)
    if table.shape[-1] < 1:
        raise ValueError("log_weights has no neighbors; it must have 1 or more")
    return table.shape[-1], lambda chosen: table[..., chosen]


@dataclass(frozen=True)
class _Sample:
    """Draws of a scalar in bins of equal numbers, and the weights of the neighbors."""

    chains: Floats  # (n_chains, n_draws)
    bins: int
    read: WeightReader
    refit: Refit | None

    def log_ratios(self, total: int) -> tuple[Floats, Floats]:
        """Return absolute log ratios, (bins, total), and Pareto k of all neighbors."""
        width = max(1, BLOCK_ENTRIES // self.chains.size)
        blocks = []
        for first in range(0, total, width):
            chosen = slice(first, min(first + width, total))
            blocks.append(self.block_log_ratios(chosen))
        log_ratio, pareto_k = map(np.hstack, zip(*blocks, strict=True))
        return log_ratio, pareto_k

    def block_log_ratios(self, chosen: slice) -> tuple[Floats, Floats]:
        """Return absolute log ratios, (bins, width), and Pareto k of some neighbors."""
        values = self.chains.ravel()
        order = np.argsort(values, kind="stable")
        ends = _bin_ends(len(values), self.bins)
        log_weights, pareto_k = self.weights(chosen)
        relative = np.exp(log_weights - log_weights.max(axis=0))[order]
        sums = np.add.reduceat(relative, ends[:-1], axis=0)
        log_prob = log_or_minus_inf(sums) - np.log(relative.sum(axis=0))
        if self.refit is not None:
            edges = values[order[ends[1:-1]]]
            for i in np.flatnonzero(pareto_k > HIGH_K).tolist():
                draws = self.refit(chosen.start + i)
                log_prob[:, i] = _refitted(log_prob[:, i], draws, edges)
        log_share = np.log(np.diff(ends) / len(values))
        return np.abs(log_prob - log_share[:, None]), pareto_k

    def weights(self, chosen: slice) -> tuple[Floats, Floats]:
        """Return smoothed log weights, (n_draws, width), and Pareto k of neighbors."""
        width = chosen.stop - chosen.start
        weights = np.array(self.read(chosen), float).reshape(-1, width)
        if len(weights) != self.chains.size:
            raise ValueError(
                f"log_weights has {len(weights)} draws; it must have "
                f"{self.chains.size}, like theta"
            )
        not_finite = chosen.start + np.flatnonzero(~np.isfinite(weights).all(axis=0))
        if len(not_finite):
            names = ", ".join(map(str, not_finite[:10]))
            more = ", ..." if len(not_finite) > 10 else ""
            raise ValueError(
                "log_weights has values that are not finite for neighbors "
                f"{names}{more}"
            )
        pareto_k = diagnostics.pareto_k(weights.T)
        is_smoothed = pareto_k > LOW_K
        tails = weights[:, is_smoothed].T
        weights[:, is_smoothed] = diagnostics.psis_log_weights(tails).T
        return weights, pareto_k

    def bootstrap_error(self, edp: EDP) -> float:
        """Return the standard error of the EDP's log ratio, by a block bootstrap.

        Each resample has its own quantiles. The length of a block is the square root
        of the number of draws in a chain, to keep the autocorrelation.
        """
        log_weights, _ = self.weights(slice(edp.neighbor, edp.neighbor + 1))
        weights = np.exp(log_weights[:, 0] - log_weights.max())
        values = self.chains.ravel()
        shares = []
        for resample in _block_resamples(*self.chains.shape):
            ends = _bin_ends(len(resample), self.bins)
            order = np.argsort(values[resample], kind="stable")
            first, last = ends[edp.bin : edp.bin + 2]
            in_bin = resample[order[first:last]]
            shares.append(weights[in_bin].sum() / weights[resample].sum())
        if not np.min(shares) > 0:
            return np.inf
        return float(np.std(np.log(shares), ddof=1))


def _block_resamples(n_chains: int, n_draws: int) -> Iterator[Ints]:
    """Yield positions of draws: blocks of consecutive draws from each chain."""
    rng = np.random.default_rng(0)  # fixed, so that a sample always has the same error
    length = round(np.sqrt(n_draws))
    n_blocks = -(-n_draws // length)
    first_of_chain = n_draws * np.arange(n_chains)
    offsets = first_of_chain[:, None, None] + np.arange(length)
    for _ in range(N_RESAMPLES):
        starts = rng.integers(n_draws - length + 1, size=(n_chains, n_blocks, 1))
        yield (starts + offsets).ravel()


def _bin_ends(size: int, bins: int) -> Ints:
    """Return the positions in sorted draws where bins end, from 0 on, (bins + 1,)."""
    ends = np.linspace(0, size, bins + 1)
    return np.round(ends).astype(int)


def _refitted(log_prob: Floats, draws: ArrayLike, edges: Floats) -> Floats:
    """Return log bin probabilities from draws of a refit, with tails from the weights.

    The weights of a record that needs a refit are unreliable in the bulk of the
    neighbor's posterior and not in its tails. There they lack only the normalizing
    constant, which comes from the bins with enough draws.
    """
    fresh = np.ravel(draws)
    counts, _ = np.histogram(fresh, [-np.inf, *edges, np.inf])
    is_counted = counts >= MIN_BIN_DRAWS
    if not is_counted.any():
        raise ValueError(
            f"refit has {len(fresh)} draws; a bin must have {MIN_BIN_DRAWS} or more"
        )
    log_counted = np.log(np.maximum(counts, 1) / len(fresh))
    shift = logsumexp(log_counted[is_counted]) - logsumexp(log_prob[is_counted])
    joined = np.where(is_counted, log_counted, log_prob + shift)
    return joined - logsumexp(joined)


def from_posterior(
    tree: Any,
    var_names: str | Sequence[str],
    bins: int,
    neighbors: str = "remove",
    *,
    log_likelihood: str | None = None,
    new_log_likelihood: ArrayLike | None = None,
    refit: Callable[[int], Any] | None = None,
) -> dict[str, PosteriorEDP]:
    """Return EDP from one posterior sample of PyMC, Stan, NumPyro or bambi.

    Parameters
    ----------
    tree : xarray.DataTree or mapping
        ArviZ data with the groups posterior and log_likelihood (pointwise).
    var_names : str or sequence of str
        Variables of the posterior; EDP is computed for each element of an array.
    bins : int
        Number of bins, from 2 to the number of draws.
    neighbors : {"remove", "add", "replace"}
        The change of one record that leads to a neighbor: "replace" for bounded,
        "remove" and "add" for unbounded differential privacy.
    log_likelihood : str, optional
        Variable of the log_likelihood group; needed if there are several.
    new_log_likelihood : (n_chains, n_draws, n) float
        Log likelihoods of the new records: for "add", the records that may be added;
        for "replace", one replacement for each record.
    refit : callable, optional
        Maps the index of a record to the posterior group of a fit to the neighbor: a
        mapping from variables to draws.

    Returns
    -------
    dict of str to PosteriorEDP
        Results by name of the scalar, such as ``"beta[1]"``.
    """
    if neighbors not in CHANGES:
        raise ValueError(
            f"neighbors is {neighbors!r}; it must be 'remove', 'add' or 'replace'"
        )
    if (neighbors != "remove") != (new_log_likelihood is not None):
        raise ValueError(
            "new_log_likelihood must be given if neighbors is 'add' or 'replace' only"
        )
    posterior = _entry(tree, "posterior", "tree")
    new = np.asarray(new_log_likelihood, float)
    total, log_weights = _neighbor_weights(tree, neighbors, log_likelihood, new)
    results = {}
    for name in [var_names] if isinstance(var_names, str) else var_names:
        draws = np.asarray(_entry(posterior, name, "posterior"))
        for index in np.ndindex(draws.shape[2:]):
            label = f"{name}[{', '.join(map(str, index))}]" if index else name
            results[label] = from_draws(
                draws[..., *index],
                log_weights,
                bins,
                n_neighbors=total,
                refit=refit and partial(_scalar_draws, refit, name, index),
            )
    return results


def _scalar_draws(
    refit: Callable[[int], Any],
    name: str,
    index: tuple[Any, ...],
    neighbor: int,
) -> ArrayLike:
    """Return the draws of one scalar from the fit to a neighbor."""
    draws = np.asarray(refit(neighbor)[name])
    return draws[..., *index]


def _entry(group: Any, name: str, where: str) -> Any:
    """Return a group of the tree, or a variable of a group."""
    try:
        return group[name]
    except KeyError:
        kind = "group" if where == "tree" else "variable"
        raise ValueError(
            f"{where} has no {kind} {name!r} (it has: {', '.join(map(str, group))})"
        ) from None


def _pointwise(tree: Any, variable: str | None) -> Any:
    """Return the variable of the log_likelihood group: the named or the only one."""
    group = _entry(tree, "log_likelihood", "tree")
    names = list(map(str, group))
    if variable is None and len(names) != 1:
        raise ValueError(
            f"log_likelihood must name one of the variables {', '.join(names)}"
        )
    return _entry(group, variable or names[0], "log_likelihood")


def _neighbor_weights(
    tree: Any,
    neighbors: str,
    log_likelihood: str | None,
    new: Floats,
) -> tuple[int, Floats | WeightReader]:
    """Return the number of neighbors, and their log weights or what reads them."""
    if neighbors == "add":
        return new.shape[-1], new
    pointwise = _pointwise(tree, log_likelihood)
    total = np.prod(pointwise.shape[2:])
    if len(pointwise.shape) != 3:  # one dimension of records is read lazily
        pointwise = np.asarray(pointwise).reshape(*pointwise.shape[:2], total)
    added = new if neighbors == "replace" else np.zeros(total)
    if added.shape[-1] != total:
        raise ValueError(
            f"new_log_likelihood has {added.shape[-1]} records; the data have {total}"
        )

    def read(chosen: slice) -> Floats:
        return added[..., chosen] - np.asarray(pointwise[..., chosen], float)

    return total, read
