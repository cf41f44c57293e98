"""Exact marginal likelihoods of tiny DPMPMs, by enumeration of all allocations."""

from functools import cache
from itertools import product

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln, gammaln, log_softmax, logsumexp
from scipy.stats import gamma

from srlib.data.schema import Schema, Variable


def all_cells(n_levels):
    """Every combination of levels in lexicographic order, (n_cells, n_variables)."""
    return np.array([*product(*map(range, n_levels))], dtype=np.uint8)


def schema(*n_levels):
    """A schema of the variables v0, v1, ..., whose levels are numbers."""
    variables = [
        Variable(f"v{k}", tuple(map(str, range(n)))) for k, n in enumerate(n_levels)
    ]
    return Schema(tuple(variables))


@cache
def log_allocation_prior(sizes, prior):
    """log p(eta) of an allocation with class sizes; sticks and alpha integrated out."""
    if len(sizes) == 1:
        return 0.0
    in_class = np.array(sizes[:-1])
    behind = sum(sizes) - np.cumsum(in_class)

    def integrand(log_alpha):
        alpha = np.exp(log_alpha)
        sticks = betaln(1 + in_class, alpha + behind) - betaln(1, alpha)
        density = gamma.logpdf(alpha, prior.alpha_shape, scale=1 / prior.alpha_rate)
        return np.exp(sticks.sum() + density + log_alpha)

    integral, _ = quad(
        integrand,
        -60,
        8,
        limit=400,
        epsabs=1e-13,
    )
    return np.log(integral)


def log_marginal_likelihood(codes, n_levels, n_classes, prior):
    """log p(codes) of the ordered records under the DPMPM with F = n_classes."""
    a = prior.concentration
    terms = []
    for allocation in product(range(n_classes), repeat=len(codes)):
        sizes = np.bincount(allocation, minlength=n_classes)
        term = log_allocation_prior(tuple(sizes), prior)
        for f, k in np.ndindex(n_classes, len(n_levels)):
            levels = n_levels[k]
            in_class = codes[np.equal(allocation, f), k]
            counts = np.bincount(in_class, minlength=levels)
            term += gammaln(levels * a) - gammaln(levels * a + sizes[f])
            term += np.sum(gammaln(a + counts) - gammaln(a))
        terms.append(term)
    return logsumexp(terms)


def exact_log_risk(data, record, support, releases, *model):
    """log p(X_i = x | Z, D_-i), x uniform on a support (equation 9).

    The model is given by levels, classes and prior.
    """
    log_likelihood = np.zeros(len(support))
    for j, x in enumerate(support):
        changed = data.copy()
        changed[record] = x
        log_prob = log_marginal_likelihood(changed, *model)
        for release in releases:
            joined = np.vstack([changed, release])
            log_likelihood[j] += log_marginal_likelihood(joined, *model) - log_prob
    return log_softmax(log_likelihood)
