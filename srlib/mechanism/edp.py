"""Empirical differential privacy: how far one record moves a posterior, seen through bins.

EDP divides the posterior of a parameter into B bins of equal probability and compares their
probabilities with those under neighboring data sets (Abowd, Schneider and Vilhuber 2013; Charest
and Han). It is the conditional epsilon of releasing the bin of one posterior draw: a row of the
table of log p(output | data set) and its neighbors.

Exact for any distributions that scipy knows; by simulation as the paper estimates it, at the cost
of the bins instead of the draws; and from one posterior sample of any Bayesian model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import logsumexp

from srlib import checks, diagnostics

RAW, SMOOTHED, REFIT = "raw", "Pareto-smoothed", "refit needed"
BLOCK_ENTRIES = 1 << 23
LOW_K, HIGH_K = 0.5, 0.7
ENOUGH = 25


@dataclass(frozen=True)
class EDP:
    """Empirical differential privacy and where it is attained.

    Attributes
    ----------
    value : float
        The level; infinite where a bin has no chance under a neighbor.
    neighbor, bin : int
        Neighbor and bin, both from 0, that attain it.
    by_neighbor : (n_neighbors,) float64
        Largest absolute log ratio of each neighbor.
    """

    value: float
    neighbor: int
    bin: int
    by_neighbor: NDArray[np.float64]


def beta_posterior(x: int, n: int, alpha: float) -> Any:
    """Posterior of a proportion after x ones among n records, with a Beta(alpha, alpha) prior."""
    return stats.beta(alpha + x, alpha + n - x)


def beta_neighbors(x: int, n: int, alpha: float, kind: str) -> list[Any]:
    """Posteriors after one record is "replace", "remove" or "add": one for each that exists."""
    if kind == "replace":
        pairs = [(x - 1, n), (x + 1, n)]
    elif kind == "remove":
        pairs = [(x, n - 1), (x - 1, n - 1)]
    elif kind == "add":
        pairs = [(x, n + 1), (x + 1, n + 1)]
    else:
        raise ValueError(f"kind is {kind!r}; it must be 'replace', 'remove' or 'add'")
    return [beta_posterior(y, m, alpha) for y, m in pairs if 0 <= y <= m]


def normal_posterior(y: NDArray[np.float64]) -> Any:
    """Posterior of a normal mean with variance 5 and prior N(10, 3): Charest and Han, 3.3."""
    precision = len(y) / 5.0 + 1 / 3.0
    return stats.norm((y.sum() / 5.0 + 10.0 / 3.0) / precision, precision**-0.5)


# ------------------------------------------------------------------------------ known posteriors


def equal_probability_edges(posterior: Any, bins: int) -> NDArray[np.float64]:
    """The inner edges of bins of equal probability, (bins - 1,), of a continuous distribution."""
    checks.at_least(2, bins=bins)
    share = np.arange(1, bins) / bins
    # From the nearer end: an upper quantile near 1 would lose its digits.
    return np.where(share < 0.5, posterior.ppf(share), posterior.isf(1 - share))


def log_bin_probabilities(posterior: Any, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probabilities of the bins between edges, tails included.

    Differences are taken of the distribution function below its median and of the survival function
    above it, so that both tails keep their digits. Edges are (..., n_edges) in order; for k
    distributions at once, with parameters (k, 1), they are (..., 1, n_edges).
    """
    cdf, sf = np.asarray(posterior.cdf(edges)), np.asarray(posterior.sf(edges))
    end = [(0, 0)] * (cdf.ndim - 1) + [(1, 1)]
    below = np.pad(cdf, end, constant_values=(0.0, 1.0))
    above = np.pad(sf, end, constant_values=(1.0, 0.0))
    with np.errstate(divide="ignore"):
        log_prob = np.log(np.where(below[..., 1:] < 0.5, np.diff(below), -np.diff(above)))
    return log_prob - logsumexp(log_prob, axis=-1, keepdims=True)


def _stacked(neighbors: Sequence[Any], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log bin probabilities of all neighbors, (..., n_neighbors, n_bins)."""
    if len(neighbors) == 0:
        raise ValueError("neighbors is empty; EDP compares with at least one")
    each = [log_bin_probabilities(other, edges[..., None, :]) for other in neighbors]
    return np.concatenate(each, axis=-2)


def exact(posterior: Any, neighbors: Sequence[Any], bins: int) -> EDP:
    """Exact EDP of a posterior that is known (Charest and Han, equation 2).

    Parameters
    ----------
    posterior : scipy frozen distribution
        Given the data.
    neighbors : sequence of scipy frozen distributions
        Given neighboring data, at least one; each may hold several with parameters (k, 1).
    bins : int
        2 or more.
    """
    log_ratio = np.abs(_stacked(neighbors, equal_probability_edges(posterior, bins)) + np.log(bins))
    by_neighbor = log_ratio.max(axis=1)
    neighbor = int(by_neighbor.argmax())
    return EDP(by_neighbor[neighbor], neighbor, int(log_ratio[neighbor].argmax()), by_neighbor)


# ----------------------------------------------------------------- the estimate from fresh draws


def estimate_from_counts(
    counts: NDArray[np.int64], pseudocount: float = 0.01
) -> NDArray[np.float64]:
    """The paper's estimate, (...,), from draws counted in bins, (..., n_neighbors, n_bins).

    A positive number is `added` to each count (additive smoothing). The estimate is the largest
    absolute log of a probability over 1 / n_bins.
    """
    checks.positive(pseudocount=pseudocount)
    n_bins, draws = counts.shape[-1], counts.sum(axis=-1, keepdims=True)
    share = (counts + pseudocount) / (draws + n_bins * pseudocount)
    return np.abs(np.log(share * n_bins)).max(axis=(-2, -1))


def simulate_counts(
    posterior: Any,
    neighbors: Sequence[Any],
    bins: int,
    draws: int,
    size: int,
    *,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Counts that the paper's procedure sees, without drawing from any posterior.

    The bins' edges are sample quantiles of the draws given the data: order statistics, whose
    uniform spacings are Dirichlet. Given the edges, the counts of a neighbor's draws are
    multinomial. A replicate costs the number of bins, whatever the number of draws from each
    posterior, a multiple of the bins. The result is (size, n_neighbors, bins), one replicate a row.
    """
    checks.within(2, draws, bins=bins)
    if draws % bins:
        raise ValueError(f"draws is {draws}; it must be a multiple of bins = {bins}")
    spacing = np.full(bins, float(draws // bins))
    spacing[-1] += 1  # beyond the last order statistic there is one spacing more
    share = np.cumsum(rng.dirichlet(spacing, size), axis=1)[:, :-1]
    counts = []
    # A few replicates at a time: a normal posterior has as many neighbors as records.
    for some in np.array_split(share, -(-size // 20)):
        probability = np.exp(_stacked(neighbors, posterior.ppf(some)))
        probability /= probability.sum(axis=-1, keepdims=True)
        counts.append(rng.multinomial(draws, probability))
    return np.concatenate(counts)


# ------------------------------------------------------------------- from one posterior sample


@dataclass(frozen=True)
class PosteriorEDP:
    """EDP of one scalar from one posterior sample.

    Attributes
    ----------
    value, mcse : float
        The level and its Monte Carlo standard error, at the neighbor and bin that attain it.
    neighbor, bin, by_neighbor
        As of `EDP`.
    pareto_k : (n_neighbors,) float64
        Shape of the weights' tail.
    method : (n_neighbors,) str
        `RAW`, `SMOOTHED`, `REFIT` where the weights cannot be trusted, or "refit".
    bins, draws : int
        Bins and draws used.
    """

    value: float
    mcse: float
    neighbor: int
    bin: int
    by_neighbor: NDArray[np.float64]
    pareto_k: NDArray[np.float64]
    method: NDArray[np.str_]
    bins: int
    draws: int

    @property
    def refit_needed(self) -> NDArray[np.int64]:
        """Neighbors whose weights say that only a refit will do."""
        return np.flatnonzero(self.method == REFIT)


LogLikelihood = NDArray[np.float64] | Callable[[slice], NDArray[np.float64]]


def from_draws(
    theta: ArrayLike,
    log_weights: LogLikelihood,
    bins: int,
    *,
    n_neighbors: int | None = None,
    refit: Callable[[int], ArrayLike] | None = None,
) -> PosteriorEDP:
    """EDP of a scalar from draws given the data and the weights that turn them into neighbors'.

    A neighbor's posterior is the data's reweighted: without record i by 1 / p(y_i | theta), with a
    record more by p(y | theta), with record i changed by their product. Every bin has its share of
    draws, so that none is empty and nothing is smoothed but the tail of weights that need it.

    Parameters
    ----------
    theta : (n_chains, n_draws) or (n_draws,) float
        Draws of the scalar given the data, not all the same.
    log_weights : (n_chains, n_draws, n_neighbors) float, or callable
        Finite log weights, up to a constant for each neighbor; or a function from a slice of
        neighbors to those columns, so that no more than a block is in memory.
    bins : int
        2 or more, at most the draws.
    n_neighbors : int
        Number of neighbors, where `log_weights` is a function.
    refit : callable, optional
        From a neighbor's number to draws of the scalar given that neighbor, for those whose
        Pareto k exceeds 0.7. Bins with fewer than 25 of these draws keep the weights' proportions.
    """
    chains = np.atleast_2d(np.asarray(theta, dtype=float))
    values = chains.ravel()
    if chains.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("theta must be (n_chains, n_draws) and finite")
    if np.ptp(values) == 0:
        raise ValueError(f"theta is constant, {values[0]}; nothing can be told from its bins")
    checks.within(2, len(values), bins=bins)
    total, block = _as_blocks(log_weights, len(values), n_neighbors)
    order = np.argsort(values, kind="stable")
    starts = np.round(np.linspace(0, len(values), bins + 1)[:-1]).astype(np.int64)
    sizes = np.diff(np.append(starts, len(values)))
    log_share = np.log(sizes / len(values))
    by_neighbor, pareto = np.empty(total), np.empty(total)
    method = np.full(total, RAW, dtype=f"<U{max(map(len, (RAW, SMOOTHED, REFIT)))}")
    best = (-1.0, 0, 0, np.empty(0))
    width = max(1, BLOCK_ENTRIES // len(values))
    for first in range(0, total, width):
        chosen = slice(first, min(first + width, total))
        weights = block(chosen)
        pareto[chosen] = diagnostics.pareto_k(weights.T)
        smooth = pareto[chosen] > LOW_K
        if smooth.any():
            weights[:, smooth] = diagnostics.psis_log_weights(weights[:, smooth].T).T
            method[chosen] = np.where(
                pareto[chosen] > HIGH_K, REFIT, np.where(smooth, SMOOTHED, RAW)
            )
        relative = np.exp(weights - weights.max(axis=0))[order]
        with np.errstate(divide="ignore"):
            log_prob = np.log(np.add.reduceat(relative, starts, axis=0))
        log_prob -= np.log(relative.sum(axis=0))
        for i in np.flatnonzero(method[chosen] == REFIT) if refit else ():
            log_prob[:, i] = _anchored(log_prob[:, i], refit(first + int(i)), values[order], starts)  # type: ignore[misc]
            method[first + i] = "refit"
        log_ratio = np.abs(log_prob - log_share[:, None])
        by_neighbor[chosen] = log_ratio.max(axis=0)
        column = int(by_neighbor[chosen].argmax())
        if by_neighbor[chosen][column] > best[0]:
            at_bin = int(log_ratio[:, column].argmax())
            best = (float(log_ratio[at_bin, column]), first + column, at_bin, weights[:, column])
    value, neighbor, at_bin, of_best = best
    mcse = _bootstrap_error(chains, of_best.reshape(chains.shape), bins, at_bin)
    return PosteriorEDP(
        value, mcse, neighbor, at_bin, by_neighbor, pareto, method, bins, len(values)
    )


def _as_blocks(
    log_weights: LogLikelihood, draws: int, n_neighbors: int | None
) -> tuple[int, Callable[[slice], NDArray[np.float64]]]:
    """Number of neighbors, and checked log weights of a slice of them, (draws, width)."""
    if callable(log_weights):
        if n_neighbors is None or n_neighbors < 1:
            raise ValueError(f"n_neighbors is {n_neighbors}; it must be 1 or more")
        total, read = n_neighbors, log_weights
    else:
        table = np.asarray(log_weights, dtype=float)
        table = table.reshape(-1, table.shape[-1])
        total, read = table.shape[1], lambda chosen: table[:, chosen]
        if total < 1:
            raise ValueError("log_weights has no neighbor; it must have 1 or more")

    def block(chosen: slice) -> NDArray[np.float64]:
        part = np.array(read(chosen), dtype=float).reshape(-1, chosen.stop - chosen.start)
        if len(part) != draws:
            raise ValueError(
                f"log_weights has {len(part)} draws and theta {draws}; they must match"
            )
        strange = np.flatnonzero(~np.isfinite(part).all(axis=0)) + chosen.start
        if len(strange):
            shown = ", ".join(map(str, strange[:10])) + (", ..." if len(strange) > 10 else "")
            raise ValueError(f"log_weights has values that are not finite for records {shown}")
        return part

    return total, block


def _anchored(
    log_prob: NDArray[np.float64],
    refit: ArrayLike,
    ordered: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Log probabilities of the data's bins from a refit's draws, tails from the weights.

    A record that needs a refit has large weights where its neighbor's posterior lies, not in the
    tails. There the weights lack only the normalizing constant, which the bins that can be counted
    give.
    """
    fresh = np.asarray(refit, dtype=float).ravel()
    counts = np.bincount(
        np.searchsorted(ordered[starts[1:]], fresh, "right"), minlength=len(starts)
    )
    seen = counts >= ENOUGH
    if not seen.any():
        raise ValueError(f"refit has {len(fresh)} draws; no bin holds {ENOUGH} of them")
    counted = np.log(np.maximum(counts, 1) / len(fresh))
    shift = logsumexp(counted[seen]) - logsumexp(log_prob[seen])
    joined = np.where(seen, counted, log_prob + shift)
    return joined - logsumexp(joined)


def _bootstrap_error(
    theta: NDArray[np.float64], log_weights: NDArray[np.float64], bins: int, at_bin: int
) -> float:
    """Standard error of one bin's log ratio, by resampling blocks of consecutive draws.

    Quantiles are taken anew in each of 100 resamples. The blocks are as long as the square root of
    a chain, so that they keep its autocorrelation.
    """
    rng = np.random.default_rng(0)  # a fixed stream: the error of one sample is one number
    n_chains, n_draws = theta.shape
    length = max(1, round(np.sqrt(n_draws)))
    n_blocks = -(-n_draws // length)
    weights = np.exp(log_weights - log_weights.max())
    size = n_chains * n_blocks * length
    starts = np.round(np.linspace(0, size, bins + 1)).astype(np.int64)
    results = []
    for _ in range(100):
        begin = rng.integers(0, n_draws - length + 1, (n_chains, n_blocks, 1))
        at = (begin + np.arange(length)).reshape(n_chains, -1)
        x, w = (np.take_along_axis(v, at, axis=1).ravel() for v in (theta, weights))
        order = np.argsort(x, kind="stable")[starts[at_bin] : starts[at_bin + 1]]
        with np.errstate(divide="ignore"):
            results.append(np.log(w[order].sum() / w.sum()))
    return float(np.std(results, ddof=1)) if np.isfinite(results).all() else float("inf")


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
    """EDP from what PyMC, Stan, NumPyro or bambi leave: one posterior sample, no refits.

    Parameters
    ----------
    tree : xarray.DataTree or mapping
        With groups posterior and log_likelihood (pointwise), as ArviZ has them.
    var_names : str or sequence of str
        Variables of the posterior; each element of an array is a scalar of its own.
    bins : int
        2 or more, at most the draws.
    neighbors : {"remove", "add", "replace"}
        A record left out, a record more, or a record changed.
    log_likelihood : str, optional
        Variable of the log_likelihood group, where it has several.
    new_log_likelihood : (n_chains, n_draws, n) float
        For "add", log likelihoods of the records that may be added; for "replace", of the values
        that the records may change to, one for each record.
    refit : callable, optional
        From a record's number to the posterior group of a fit to the neighbor (a mapping of
        variables to draws).

    Returns
    -------
    dict of str to PosteriorEDP
        By name of the scalar, such as ``"beta[1]"``.
    """
    if neighbors not in ("remove", "add", "replace"):
        raise ValueError(f"neighbors is {neighbors!r}; it must be 'remove', 'add' or 'replace'")
    if (neighbors != "remove") != (new_log_likelihood is not None):
        raise ValueError("new_log_likelihood goes with neighbors 'add' and 'replace' only")
    posterior = _entry(tree, "posterior", "tree")
    total, read = _pointwise(tree, neighbors, log_likelihood, new_log_likelihood)
    found = {}
    for name in [var_names] if isinstance(var_names, str) else var_names:
        draws = np.asarray(_entry(posterior, name, "posterior"), dtype=float)
        for index in np.ndindex(draws.shape[2:]):
            label = f"{name}[{', '.join(map(str, index))}]" if index else name

            def fresh(i: int, name: str = name, index: tuple[Any, ...] = index) -> ArrayLike:
                assert refit is not None
                return np.asarray(refit(i)[name])[..., *index]

            found[label] = from_draws(
                draws[..., *index],
                read,
                bins,
                n_neighbors=total,
                refit=fresh if refit else None,
            )
    return found


def _entry(group: Any, name: str, where: str) -> Any:
    try:
        return group[name]
    except KeyError:
        kind, known = "group" if where == "tree" else "variable", ", ".join(map(str, group))
        raise ValueError(f"{where} has no {kind} {name!r} (it has: {known})") from None


def _pointwise(
    tree: Any,
    neighbors: str,
    log_likelihood: str | None,
    new_log_likelihood: ArrayLike | None,
) -> tuple[int, Callable[[slice], NDArray[np.float64]]]:
    """Number of neighbors, and the log weights of a slice of them."""
    added = None if new_log_likelihood is None else np.asarray(new_log_likelihood, dtype=float)
    if neighbors == "add" and added is not None:
        return added.shape[-1], lambda chosen: added[..., chosen]
    group = _entry(tree, "log_likelihood", "tree")
    names = [str(name) for name in group]
    if log_likelihood is None and len(names) != 1:
        raise ValueError(f"log_likelihood has the variables {', '.join(names)}; name one of them")
    pointwise = _entry(group, log_likelihood or names[0], "log_likelihood")
    total = int(np.prod(pointwise.shape[2:]))
    if added is not None and added.shape[-1] != total:
        raise ValueError(f"new_log_likelihood has {added.shape[-1]} records; the data have {total}")

    def read(chosen: slice) -> NDArray[np.float64]:
        # One dimension of records is read lazily; several are flattened first.
        flat = (
            pointwise
            if len(pointwise.shape) == 3
            else np.asarray(pointwise).reshape(*pointwise.shape[:2], total)
        )
        own = -np.asarray(flat[:, :, chosen], dtype=float)
        return own if added is None else own + added[..., chosen]

    return total, read
