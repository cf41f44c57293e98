"""Empirical differential privacy (EDP): how far one record moves the bins of a posterior.

EDP divides the posterior of a parameter into B bins of equal probability and compares
their probabilities with those given neighboring data sets (Abowd, Schneider and
Vilhuber 2013; Charest and Han). It is the conditional epsilon of the mechanism that
releases the bin of one posterior draw.

EDP is computed exactly for distributions in scipy; by simulation of the paper's
estimate, at the cost of the bins and not of the draws; and from one posterior sample of
any Bayesian model.
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
MIN_BIN_DRAWS = 25


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
    by_neighbor: NDArray[np.float64]


def beta_posterior(x: int, n: int, alpha: float) -> Any:
    """Return the posterior of a proportion: x ones in n records, Beta(alpha, alpha) prior."""
    return stats.beta(alpha + x, alpha + n - x)


def beta_neighbors(x: int, n: int, alpha: float, kind: str) -> list[Any]:
    """Return the posteriors given each neighboring data set.

    `kind` is "replace" (bounded differential privacy), "remove" or "add" (unbounded):
    the change of one record that leads to a neighbor.
    """
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
    """Return the posterior of a normal mean, variance 5, prior N(10, 3): Charest and Han, 3.3."""
    precision = len(y) / 5.0 + 1 / 3.0
    return stats.norm((y.sum() / 5.0 + 10.0 / 3.0) / precision, precision**-0.5)


# --------------------------------------------------------------------- known posteriors


def equal_probability_edges(posterior: Any, bins: int) -> NDArray[np.float64]:
    """Return the inner edges of equal-probability bins of a continuous posterior, (bins - 1,)."""
    checks.at_least(2, bins=bins)
    share = np.arange(1, bins) / bins
    # Upper quantiles come from the survival function; from the cdf they lose digits
    # near 1.
    return np.where(share < 0.5, posterior.ppf(share), posterior.isf(1 - share))


def log_bin_probabilities(
    posterior: Any, edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log probabilities of the bins between edges, including both tails.

    They are differences of the distribution function below the median and of the
    survival function above it, so that both tails keep their digits. Edges are (...,
    n_edges) in order. For a frozen distribution with parameters of shape (k, 1) they
    are (..., 1, n_edges).
    """
    cdf, sf = np.asarray(posterior.cdf(edges)), np.asarray(posterior.sf(edges))
    end = [(0, 0)] * (cdf.ndim - 1) + [(1, 1)]
    below = np.pad(cdf, end, constant_values=(0.0, 1.0))
    above = np.pad(sf, end, constant_values=(1.0, 0.0))
    with np.errstate(divide="ignore"):
        log_prob = np.log(
            np.where(below[..., 1:] < 0.5, np.diff(below), -np.diff(above))
        )
    return log_prob - logsumexp(log_prob, axis=-1, keepdims=True)


def _stacked(
    neighbors: Sequence[Any], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log bin probabilities of all neighbors, (..., n_neighbors, n_bins)."""
    if len(neighbors) == 0:
        raise ValueError("neighbors is empty; it must have at least one distribution")
    log_prob = [
        log_bin_probabilities(neighbor, edges[..., None, :]) for neighbor in neighbors
    ]
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
    log_ratio = np.abs(
        _stacked(neighbors, equal_probability_edges(posterior, bins)) + np.log(bins)
    )
    by_neighbor = log_ratio.max(axis=1)
    neighbor = int(by_neighbor.argmax())
    return EDP(
        by_neighbor[neighbor], neighbor, int(log_ratio[neighbor].argmax()), by_neighbor
    )


# -------------------------------------------------------- the estimate from fresh draws


def estimate_from_counts(
    counts: NDArray[np.int64], pseudocount: float = 0.01
) -> NDArray[np.float64]:
    """Return the paper's estimate of EDP, (...,), from counts of draws, (..., n_neighbors, n_bins).

    A positive pseudocount is added to each count (additive smoothing). The estimate is
    the largest absolute log of an estimated probability divided by 1 / n_bins.
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
    """Simulate the bin counts of the paper's procedure without drawing from any posterior.

    The edges of the bins are sample quantiles of the draws given the data: order
    statistics, whose uniform spacings are Dirichlet. Given the edges, the counts of a
    neighbor's draws are multinomial. The cost of a replicate depends on the number of
    bins and not on the number of draws from each posterior, which is a multiple of the
    bins. Returns `size` replicates, (size, n_neighbors, bins).
    """
    checks.within(2, draws, bins=bins)
    if draws % bins:
        raise ValueError(f"draws is {draws}; it must be a multiple of bins = {bins}")
    spacing = np.full(bins, float(draws // bins))
    spacing[-1] += 1  # the spacing above the last order statistic
    share = np.cumsum(rng.dirichlet(spacing, size), axis=1)[:, :-1]
    counts = []
    # In blocks of at most 20 replicates, because there may be one neighbor per record.
    for block in np.array_split(share, -(-size // 20)):
        probability = np.exp(_stacked(neighbors, posterior.ppf(block)))
        probability /= probability.sum(axis=-1, keepdims=True)
        counts.append(rng.multinomial(draws, probability))
    return np.concatenate(counts)


# ------------------------------------------------------------ from one posterior sample


@dataclass(frozen=True)
class PosteriorEDP:
    """EDP of one scalar estimated from one posterior sample.

    Attributes
    ----------
    value, mcse : float
        The EDP and its Monte Carlo standard error, at the neighbor and bin that attain
        it.
    neighbor, bin, by_neighbor
        As in `EDP`.
    pareto_k : (n_neighbors,) float64
        Pareto k of the importance weights.
    method : (n_neighbors,) str
        `RAW` or `SMOOTHED` weights, `REFIT` if the weights are unreliable, or "refit"
        after one.
    bins, draws : int
        Numbers of bins and draws.
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
        """Neighbors with unreliable weights, which need a refit."""
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
    """Return the EDP of a scalar from posterior draws and importance weights of the neighbors.

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
    chains = np.atleast_2d(np.asarray(theta, dtype=float))
    values = chains.ravel()
    if chains.ndim != 2 or not np.isfinite(values).all():
        raise ValueError(
            f"theta has shape {chains.shape}; it must be (chains, draws) and finite"
        )
    if np.ptp(values) == 0:
        raise ValueError(
            f"theta has the same value {values[0]} in all draws; it must vary"
        )
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
            log_prob[:, i] = _anchored(
                log_prob[:, i], refit(first + int(i)), values[order], starts
            )  # type: ignore[misc]
            method[first + i] = "refit"
        log_ratio = np.abs(log_prob - log_share[:, None])
        by_neighbor[chosen] = log_ratio.max(axis=0)
        column = int(by_neighbor[chosen].argmax())
        if by_neighbor[chosen][column] > best[0]:
            at_bin = int(log_ratio[:, column].argmax())
            best = (
                float(log_ratio[at_bin, column]),
                first + column,
                at_bin,
                weights[:, column],
            )
    value, neighbor, at_bin, of_best = best
    mcse = _bootstrap_error(chains, of_best.reshape(chains.shape), bins, at_bin)
    return PosteriorEDP(
        value, mcse, neighbor, at_bin, by_neighbor, pareto, method, bins, len(values)
    )


def _as_blocks(
    log_weights: LogLikelihood, draws: int, n_neighbors: int | None
) -> tuple[int, Callable[[slice], NDArray[np.float64]]]:
    """Return the number of neighbors and a function from a slice to log weights, (draws, width)."""
    if callable(log_weights):
        if n_neighbors is None or n_neighbors < 1:
            raise ValueError(f"n_neighbors is {n_neighbors}; it must be 1 or more")
        total, read = n_neighbors, log_weights
    else:
        table = np.asarray(log_weights, dtype=float)
        table = table.reshape(-1, table.shape[-1])
        total, read = table.shape[1], lambda chosen: table[:, chosen]
        if total < 1:
            raise ValueError("log_weights has no neighbors; it must have 1 or more")

    def block(chosen: slice) -> NDArray[np.float64]:
        part = np.array(read(chosen), dtype=float).reshape(
            -1, chosen.stop - chosen.start
        )
        if len(part) != draws:
            raise ValueError(
                f"log_weights has {len(part)} draws; it must have {draws}, like theta"
            )
        strange = np.flatnonzero(~np.isfinite(part).all(axis=0)) + chosen.start
        if len(strange):
            first = ", ".join(map(str, strange[:10])) + (
                ", ..." if len(strange) > 10 else ""
            )
            raise ValueError(
                f"log_weights has values that are not finite for neighbors {first}"
            )
        return part

    return total, block


def _anchored(
    log_prob: NDArray[np.float64],
    refit: ArrayLike,
    ordered: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return log bin probabilities from the draws of a refit, with tails from the weights.

    The weights of a record that needs a refit are unreliable in the bulk of the
    neighbor's posterior and not in its tails. There they lack only the normalizing
    constant, which comes from the bins with enough draws.
    """
    fresh = np.asarray(refit, dtype=float).ravel()
    counts = np.bincount(
        np.searchsorted(ordered[starts[1:]], fresh, "right"), minlength=len(starts)
    )
    seen = counts >= MIN_BIN_DRAWS
    if not seen.any():
        raise ValueError(
            f"refit has {len(fresh)} draws; a bin must have {MIN_BIN_DRAWS} or more"
        )
    counted = np.log(np.maximum(counts, 1) / len(fresh))
    shift = logsumexp(counted[seen]) - logsumexp(log_prob[seen])
    joined = np.where(seen, counted, log_prob + shift)
    return joined - logsumexp(joined)


def _bootstrap_error(
    theta: NDArray[np.float64], log_weights: NDArray[np.float64], bins: int, at_bin: int
) -> float:
    """Return the standard error of one bin's log ratio, by a block bootstrap.

    Each of 100 resamples has its own quantiles. The length of a block is the square
    root of the number of draws in a chain, to keep the autocorrelation.
    """
    rng = np.random.default_rng(
        0
    )  # a fixed seed, so that a sample always has the same error
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
    return (
        float(np.std(results, ddof=1)) if np.isfinite(results).all() else float("inf")
    )


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
    """Return EDP from one posterior sample of PyMC, Stan, NumPyro or bambi, without refits.

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
    if neighbors not in ("remove", "add", "replace"):
        raise ValueError(
            f"neighbors is {neighbors!r}; it must be 'remove', 'add' or 'replace'"
        )
    if (neighbors != "remove") != (new_log_likelihood is not None):
        raise ValueError(
            "new_log_likelihood must be given if neighbors is 'add' or 'replace' only"
        )
    posterior = _entry(tree, "posterior", "tree")
    total, read = _pointwise(tree, neighbors, log_likelihood, new_log_likelihood)
    results = {}
    for name in [var_names] if isinstance(var_names, str) else var_names:
        draws = np.asarray(_entry(posterior, name, "posterior"), dtype=float)
        for index in np.ndindex(draws.shape[2:]):
            label = f"{name}[{', '.join(map(str, index))}]" if index else name

            def refit_scalar(
                i: int, name: str = name, index: tuple[Any, ...] = index
            ) -> ArrayLike:
                assert refit is not None
                return np.asarray(refit(i)[name])[..., *index]

            scalar, fit = draws[..., *index], refit_scalar if refit else None
            results[label] = from_draws(
                scalar, read, bins, n_neighbors=total, refit=fit
            )
    return results


def _entry(group: Any, name: str, where: str) -> Any:
    try:
        return group[name]
    except KeyError:
        kind, known = (
            "group" if where == "tree" else "variable",
            ", ".join(map(str, group)),
        )
        raise ValueError(f"{where} has no {kind} {name!r} (it has: {known})") from None


def _pointwise(
    tree: Any,
    neighbors: str,
    log_likelihood: str | None,
    new_log_likelihood: ArrayLike | None,
) -> tuple[int, Callable[[slice], NDArray[np.float64]]]:
    """Return the number of neighbors and a function from a slice to their log weights."""
    added = (
        None
        if new_log_likelihood is None
        else np.asarray(new_log_likelihood, dtype=float)
    )
    if neighbors == "add" and added is not None:
        return added.shape[-1], lambda chosen: added[..., chosen]
    group = _entry(tree, "log_likelihood", "tree")
    names = [str(name) for name in group]
    if log_likelihood is None and len(names) != 1:
        raise ValueError(
            f"log_likelihood must name one of the variables {', '.join(names)}"
        )
    pointwise = _entry(group, log_likelihood or names[0], "log_likelihood")
    total = int(np.prod(pointwise.shape[2:]))
    if added is not None and added.shape[-1] != total:
        raise ValueError(
            f"new_log_likelihood has {added.shape[-1]} records; the data have {total}"
        )

    def read(chosen: slice) -> NDArray[np.float64]:
        # One dimension of records is read lazily; several must be flattened first.
        flat = (
            pointwise
            if len(pointwise.shape) == 3
            else np.asarray(pointwise).reshape(*pointwise.shape[:2], total)
        )
        own = -np.asarray(flat[:, :, chosen], dtype=float)
        return own if added is None else own + added[..., chosen]

    return total, read
