"""Do probabilities from sequential trees come true?

    python tests/calibration.py [REPLICATIONS]

In each replication a table is made, its first record is drawn from a prior over a support that is
fixed beforehand, trees are grown on the table and release tables, and the intruder, who knows all
other records and the trees' settings, weighs the support. Of candidates that are given probability
p a share p should be true, and the posterior distribution function at the truth should be uniform.
A wrong size of the leaves shows at once; a wrong smoothing of few records hardly does.
"""

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.schema import Microdata, Schema, Variable
from srlib.mechanism.bayes import posterior
from srlib.risk import neighborhood, subset_support
from srlib.trees import Growth, Trees, log_likelihoods

BINS = np.array([0, 1e-9, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.98, 1 - 1e-9, 1])


@dataclass(frozen=True)
class Case:
    """A kind of table, how its trees are grown, and what the intruder does not know.

    The record differs from one that the intruder thinks of in one variable at most, or in the
    variables `unknown`.
    """

    n_levels: tuple[int, ...]
    growth: Growth
    n: int = 40
    n_releases: int = 1
    ordered: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()

    def schema(self) -> Schema:
        """Variables without names of their own."""
        levels = enumerate(self.n_levels)
        return Schema(tuple(Variable(f"v{k}", tuple(map(str, range(size)))) for k, size in levels))


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


def records(case: Case, n: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw records whose variables go together."""
    group = rng.integers(0, 3, n)
    own = [rng.integers(0, levels, n) * (rng.random(n) < 0.5) for levels in case.n_levels]
    columns = [(x + group) % levels for x, levels in zip(own, case.n_levels, strict=True)]
    return np.stack(columns, axis=1).astype(np.uint8)


@dataclass(frozen=True)
class Outcome:
    """What an intruder believed and what was true.

    Attributes
    ----------
    probability : (support_size,) float64
        Posterior probability of each candidate.
    truth : int
        Which one was true.
    place : float
        The posterior distribution function at the truth, the most probable first: uniform if
        probabilities come true. What ties with the truth is divided at random.
    """

    probability: NDArray[np.float64]
    truth: int
    place: float


def outcomes(
    case: Case, n: int, rng: np.random.Generator, believed: Growth | None = None
) -> list[Outcome]:
    """Replicate a case; with another growth the intruder is wrong about the trees."""
    return [_outcome(case, rng, believed or case.growth) for _ in range(n)]


def _outcome(case: Case, rng: np.random.Generator, believed: Growth) -> Outcome:
    codes, schema = records(case, case.n, rng), case.schema()
    if case.unknown:
        support = subset_support(codes[0], case.unknown, schema.n_levels)
    else:
        support = neighborhood(codes[:1], schema.n_levels)[0]
    prior = rng.dirichlet(np.full(len(support), 2.0))
    truth = int(rng.choice(len(support), p=prior))
    codes[0] = support[truth]
    order = rng.permutation(len(case.n_levels)).tolist()
    ordered = np.isin(np.arange(len(order)), case.ordered)
    trees = Trees.grow(codes, schema, order, ordered, case.growth)
    released: list[Microdata] = trees.release(case.n_releases, rng=rng)
    if believed != case.growth:
        trees = Trees.grow(codes, schema, order, ordered, believed)
    log_prob = log_likelihoods(trees, released, np.zeros(1, np.int64), support[None])
    probability = np.exp(posterior(log_prob, np.log(prior)[None])[0])
    own = probability[truth]
    tied = own * (probability == own).sum()
    place = probability[probability > own].sum() + rng.random() * tied
    return Outcome(probability, truth, float(place))


@dataclass(frozen=True)
class Reliability:
    """How often candidates were true, by bins of their probability.

    Attributes
    ----------
    table : DataFrame
        A row for each bin that occurs: candidates, their mean probability, the share of them that
        was true, its standard error if probabilities come true, and the difference in these.
    places : (n,) float64
        Posterior distribution function at the truths.
    """

    table: pd.DataFrame
    places: NDArray[np.float64]

    @property
    def largest(self) -> float:
        """The largest difference of a bin, in standard errors."""
        return float(self.table["standard errors"].abs().max())

    @property
    def distance(self) -> float:
        """Kolmogorov's distance of the places from a uniform distribution, times sqrt(n)."""
        n, ordered = len(self.places), np.sort(self.places)
        steps = np.arange(n + 1) / n
        return float(np.sqrt(n) * max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def reliability(found: Sequence[Outcome]) -> Reliability:
    """Hold probabilities against truths."""
    size = len(BINS) - 1
    sums = {name: np.zeros(size) for name in ("candidates", "expected", "true", "variance")}
    for one in found:
        bin_of = np.searchsorted(BINS[1:-1], one.probability, side="right")
        # One candidate is true: whether it lies in a bin is one trial.
        expected = np.bincount(bin_of, one.probability, size)
        sums["candidates"] += np.bincount(bin_of, minlength=size)
        sums["expected"] += expected
        sums["true"][bin_of[one.truth]] += 1
        sums["variance"] += np.clip(expected * (1 - expected), 0, None)
    names = [f"{low:.2g} to {high:.2g}" for low, high in itertools.pairwise(BINS)]
    frame = pd.DataFrame(sums, index=names)
    frame = frame[frame["candidates"] > 0]
    error = np.sqrt(frame["variance"])
    table = pd.DataFrame(
        {
            "candidates": frame["candidates"].astype(int),
            "mean probability": frame["expected"] / frame["candidates"],
            "share true": frame["true"] / frame["candidates"],
            "standard error": error / frame["candidates"],
            # Bins at 0 and 1 leave nothing to chance: a single surprise is five errors.
            "standard errors": (frame["true"] - frame["expected"]) / np.maximum(error, 0.2),
        }
    )
    return Reliability(table, np.array([one.place for one in found]))


def main(n_each: str = "2000") -> None:
    """Print the reliability and the uniformity, of each case and of all."""
    every: list[Outcome] = []
    for seed, case in enumerate(CASES):
        found = outcomes(case, int(n_each), np.random.default_rng(seed))
        every += found
        of_case = reliability(found)
        print(f"{case}: {of_case.largest:.1f} standard errors, distance {of_case.distance:.2f}")
    of_all = reliability(every)
    print(f"all: {of_all.largest:.1f} standard errors, distance {of_all.distance:.2f}")
    print(of_all.table.to_string(float_format="{:.5f}".format))


if __name__ == "__main__":
    main(*sys.argv[1:])
