"""Do probabilities from sequential trees come true?

In each replication a table is made, its first record is drawn from a prior over a support that is
fixed beforehand, trees are grown on the table and release tables, and the intruder, who knows all
other records and the trees' settings, weighs the support. Of candidates that are given probability
p a share p should be true, and the posterior distribution function at the truth should be uniform.
A wrong size of the leaves shows at once; a wrong smoothing of few records hardly does.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from srlib.data.schema import Microdata, Schema, Variable
from srlib.mechanism.bayes import posterior
from srlib.risk import neighborhood, subset_support
from srlib.trees import Growth, fit_trees, log_likelihoods

BINS = np.array([1e-9, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.98, 1 - 1e-9])


class Case(NamedTuple):
    """A kind of table, how its trees are grown, and the variables that the intruder does not know.

    Where none is unknown the record differs in one variable at most from one thought of.
    """

    n_levels: tuple[int, ...]
    growth: Growth
    n: int = 40
    n_releases: int = 1
    ordered: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()


CASES = (
    Case((2, 3, 2), Growth(1)),
    Case((2, 3, 2), Growth(3, smoothing=1.0), n_releases=3, unknown=(0, 1)),
    Case((3, 4, 2), Growth(5), n_releases=2, ordered=(1,)),
    Case((4, 3, 5), Growth(2), ordered=(0, 1, 2), unknown=(1, 2)),
    Case((2, 3, 4, 2), Growth(5), n=60),
    Case((2, 3, 4, 2), Growth(10, smoothing=1.0), n=60, n_releases=5, ordered=(2,)),
    Case((3, 2, 3, 2, 4), Growth(5), n=80, n_releases=5),
    Case((3, 2, 3, 2, 4), Growth(1, max_depth=3), n=80, n_releases=2, unknown=(0, 2, 4)),
)

type Outcome = tuple[NDArray[np.float64], int, float]
"""Posterior probabilities of the candidates, which of them was true, and the posterior distribution
function there, the most probable first; what ties with the truth is divided at random."""


def outcomes(
    case: Case, n: int, rng: np.random.Generator, believed: Growth | None = None
) -> Iterator[Outcome]:
    """Replicate a case; with another growth the intruder is wrong about the trees."""
    levels, shape = np.array(case.n_levels), (case.n, len(case.n_levels))
    variables = (Variable(f"v{k}", tuple("abcde"[:size])) for k, size in enumerate(levels))
    schema = Schema(tuple(variables))
    ordered = [schema.names[k] for k in case.ordered]
    for _ in range(n):
        group = rng.integers(0, 3, (case.n, 1))  # makes the variables go together
        own = rng.integers(0, levels, shape) * (rng.random(shape) < 0.5)
        codes = ((own + group) % levels).astype(np.uint8)
        support = neighborhood(codes[:1], levels)[0]
        if case.unknown:
            support = subset_support(codes[0], case.unknown, levels)
        prior = rng.dirichlet(np.full(len(support), 2.0))
        truth = int(rng.choice(len(support), p=prior))
        codes[0] = support[truth]
        table, order = Microdata(codes, schema), rng.permutation(schema.names).tolist()
        trees = fit_trees(table, order, case.growth, ordered=ordered)
        released = trees.release(case.n_releases, rng=rng)
        trees = fit_trees(table, order, believed or case.growth, ordered=ordered)
        log_prob = log_likelihoods(trees, released, np.zeros(1, np.int64), support[None])
        probability = np.exp(posterior(log_prob, np.log(prior)[None])[0])
        tied = probability[probability == probability[truth]].sum()
        above = probability[probability > probability[truth]].sum()
        yield probability, truth, float(above + rng.random() * tied)


def reliability(found: Sequence[Outcome]) -> tuple[float, float]:
    """Hold probabilities against truths.

    Returns the largest difference of a bin's candidates and truths, in standard errors, and
    Kolmogorov's distance of the places from a uniform distribution, times sqrt(n).
    """
    size = len(BINS) + 1
    excess, variance = np.zeros((2, size))
    for probability, truth, _ in found:
        bin_of = np.searchsorted(BINS, probability, side="right")
        # One candidate is true: whether it lies in a bin is one trial.
        expected = np.bincount(bin_of, probability, size)
        excess -= expected
        excess[bin_of[truth]] += 1
        variance += np.clip(expected * (1 - expected), 0, None)
    places = [place for *_, place in found]
    distance = kstest(places, "uniform").statistic * np.sqrt(len(places))
    # Bins at 0 and 1 leave nothing to chance: a single surprise is five errors.
    return float(np.abs(excess / np.maximum(np.sqrt(variance), 0.2)).max()), float(distance)
