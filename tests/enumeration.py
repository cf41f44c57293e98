"""Exact marginal likelihoods of tiny DPMPMs, by enumeration of all allocations."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import gamma

from srlib.data.codes import Codes
from srlib.dpmpm import Draws, Prior, cell_log_prob


def all_cells(n_levels: Iterable[int]) -> NDArray[np.uint8]:
    """Every combination of levels, in lexicographic order."""
    return np.array(list(product(*map(range, n_levels))), dtype=np.uint8)


@cache
def log_allocation_prior(sizes: tuple[int, ...], prior: Prior) -> float:
    """log p(eta) of an allocation with class sizes; sticks and alpha integrated out."""
    if len(sizes) == 1:
        return 0.0
    behind = np.cumsum(sizes[::-1])[::-1][1:]

    def integrand(log_alpha: float) -> float:
        alpha = np.exp(log_alpha)
        sticks = betaln(1 + np.array(sizes[:-1]), alpha + behind) - betaln(1, alpha)
        density = gamma.logpdf(alpha, prior.alpha_shape, scale=1 / prior.alpha_rate)
        return float(np.exp(sticks.sum() + density + log_alpha))

    return float(np.log(quad(integrand, -60, 8, limit=400, epsabs=1e-13)[0]))


def log_marginal_likelihood(
    codes: Codes, n_levels: Sequence[int], n_classes: int, prior: Prior
) -> float:
    """log p(codes) of the ordered records under the DPMPM with F = n_classes."""
    a = prior.concentration
    terms = []
    for allocation in product(range(n_classes), repeat=len(codes)):
        eta = np.array(allocation)
        sizes = tuple(int((eta == f).sum()) for f in range(n_classes))
        term = log_allocation_prior(sizes, prior)
        for f in range(n_classes):
            for k, levels in enumerate(n_levels):
                counts = np.bincount(codes[eta == f, k], minlength=levels)
                term += gammaln(levels * a) - gammaln(levels * a + counts.sum())
                term += (gammaln(a + counts) - gammaln(a)).sum()
        terms.append(term)
    return float(np.logaddexp.reduce(terms))


def exact_log_risk(
    data: Codes, record: int, support: Codes, releases: Sequence[Codes], *model: Any
) -> NDArray[np.float64]:
    """log p(X_i = x | Z, D_-i), x uniform on a support (equation 9).

    The model is given by levels, classes and prior.
    """
    log_likelihood = np.zeros(len(support))
    for j, x in enumerate(support):
        changed = data.copy()
        changed[record] = x
        alone = log_marginal_likelihood(changed, *model)
        for release in releases:
            both = np.vstack([changed, release])
            log_likelihood[j] += log_marginal_likelihood(both, *model) - alone
    return log_likelihood - np.logaddexp.reduce(log_likelihood)


def support_log_ratios(
    draws: Draws, support: Codes, log_weights: Any = None
) -> NDArray:
    """Averages as of `one_variable_log_ratios`, over one support, term by term."""
    if log_weights is None:
        shape = (1, draws.n_chains, draws.n_draws)
        log_weights = np.full(shape, -np.log(draws.n_draws))
    log_prob = cell_log_prob(draws, support)
    terms = log_weights[..., None] + log_prob - log_prob[..., :1]
    return logsumexp(terms, axis=2)[:, :, None]
