"""What one release says of records, and how a risk varies from one set of releases to another.

Releases are independent given the data, and so is what each says of a candidate: the log likelihood
of a set of releases is the sum of theirs (equation 12 of Hu, Reiter and Wang 2014). With R releases
worked through, every set of m of them costs a sum.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, islice
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib import checks
from srlib.dpmpm.model import Draws
from srlib.mechanism.bayes import posterior, rank
from srlib.risk.estimators import neighborhood_log_ratios, release_log_prob

# Draws whose weight is below exp(-NEGLIGIBLE) times the largest add nothing that could be seen.
NEGLIGIBLE = 25.0


def importance_evidence(
    draws: Draws,
    releases: Sequence[NDArray[np.integer]],
    codes: NDArray[np.integer],
    left_out: Sequence[tuple[int, int] | None],
) -> NDArray[np.float64]:
    """Return the log likelihood of the candidates under each release, by importance sampling.

    Parameters
    ----------
    draws : Draws
        Given the data.
    releases : sequence of (n_l, n_variables) int
        R of them.
    codes : (n, n_variables) int
        The true combinations.
    left_out : sequence of (int, int) or None
        For each release a draw, as chain and place, that is not among the weighted ones, such as
        the one that generated the release.

    Returns
    -------
    (R, n, support_size) float64
        log p(Z^(l) | D_i^x) of equations 14 and 15 up to a constant of each release and record, in
        the order of `neighborhood`.
    """
    plain = neighborhood_log_ratios(draws, codes)[0]
    plain = logsumexp(plain, axis=0) - np.log(draws.n_chains)
    log_weights = release_log_prob(draws, releases)
    evidence = np.empty((len(releases), *plain.shape))
    for of_release, weights, out in zip(evidence, log_weights, left_out, strict=True):
        if out is not None:
            weights[out] = -np.inf
        kept = np.nonzero(weights > weights.max() - NEGLIGIBLE)
        ratios = neighborhood_log_ratios(_only(draws, kept), codes, weights[kept][None, None])
        of_release[:] = ratios[0, 0] - plain
    return evidence


def _only(draws: Draws, kept: tuple[NDArray[np.intp], ...]) -> Draws:
    """Return some draws as a single chain, without allocations."""
    names = ("alpha", "pi", "phi", "class_sizes", "log_likelihood")
    return replace(
        draws, allocations=None, **{name: getattr(draws, name)[kept][None] for name in names}
    )


def sets_of_releases(
    n_releases: int, size: int, most: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return sets of releases: all there are, or a random sample of different ones.

    Parameters
    ----------
    n_releases, size : int
        Releases, and how many make a set; 1 or more, and no more than there are.
    most : int
        Sets wanted at most.
    rng : numpy.random.Generator
        Draws the sample.

    Returns
    -------
    (n_sets, size) int64
        Positions of releases, in rising order within each set.
    """
    checks.within(1, n_releases, size=size)
    if comb(n_releases, size) <= most:
        return np.array(list(islice(combinations(range(n_releases), size), most)))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < most:
        found[tuple(sorted(rng.choice(n_releases, size, replace=False).tolist()))] = None
    return np.array(list(found))


def over_sets(
    evidence: NDArray[np.float64], sets: NDArray[np.integer], threshold: float, first: int = 3
) -> pd.DataFrame:
    """Compute what Figures 3 and 4 say in three numbers, for every set of releases.

    Parameters
    ----------
    evidence : (R, n, support_size) float
        Log likelihood of the candidates under each release, the truth first.
    sets : (n_sets, size) int
        As `sets_of_releases` returns.
    threshold : float
        Probability above which truths are counted.
    first : int
        How many candidates count as the first.

    Returns
    -------
    DataFrame
        One row a set: largest (probability of a truth, under a uniform prior), above (the
        threshold) and first (among the first few candidates), both numbers of combinations.
    """
    rows = []
    for members in sets:
        log_prob = posterior(evidence[members].sum(axis=0))
        truth = log_prob[:, 0]
        above, ranked = (truth > np.log(threshold)).sum(), (rank(log_prob) <= first).sum()
        rows.append((np.exp(truth.max()), above, ranked))
    return pd.DataFrame(rows, columns=["largest", "above", "first"])
