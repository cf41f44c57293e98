"""Risk before release: the posterior risk over publications that could be drawn from the data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta

from srlib import checks
from srlib.checks import require
from srlib.data.schema import Schema
from srlib.display import percent
from srlib.dpmpm.gibbs import Mixture, sample_posterior
from srlib.mechanism.bayes import posterior
from srlib.mechanism.records import OnRecords
from srlib.progress import progress, silent
from srlib.risk.agreement import checked_rounds, convergence
from srlib.risk.candidates import Data, LogPrior, Rows, Sought, coded, sought
from srlib.risk.column import Column
from srlib.risk.draw_sets import log_ratios
from srlib.risk.errors import jackknife_variance, log_mean
from srlib.risk.synthesizers import Density, check_density, density_column
from srlib.trees import SequentialTrees, Trees

MOST_SETS = 200_000
"""Sets of releases that are enumerated."""
SHARED = 4
"""Chains given the data for each chain given a release: their error is in the columns of all."""
_JUDGED = 200  # records over which R-hat is computed
WORST = 0.95
"""Share of publications whose risk is not above the worst that is reported."""
MIN_DRAWS = 20
"""Publications that are drawn at least: of fewer the largest is not above the 95 % quantile."""
_COLUMNS = ("repetitions", "prior", "expected", "expected_mcse", "worst", "worst_mcse")


@dataclass(frozen=True, repr=False)
class RiskBeforeRelease:
    """Posterior risks of records over publications of the data, before one is chosen.

    Attributes
    ----------
    schema, combinations, repetitions, support_size
        As of `PosteriorRisk`.
    prior : (n,) float64
        Prior probability of the true combination among its candidates.
    n_releases : int
        Releases in a publication.
    probability : (n_publications, n) float64
        Posterior probability of the true combination after each publication.
    weights : (n_publications,) float64
        Probabilities of the publications; equal where they were drawn.
    exact : bool
        Whether these are all publications there are.
    left_out : (n_chains, n_publications, n) float64
        `probability` with one chain given the data left out, where there are chains.
    convergence : DataFrame, optional
        R-hat and effective draws of the chains.

    Examples
    --------
    >>> from srlib.mechanism import OnRecords, beta_binomial
    >>> people = pd.DataFrame({"sick": ["no"] * 15 + ["yes"] * 5})
    >>> synthesizer = OnRecords(beta_binomial(n=20, n_s=20, alpha=1.0), [2])
    >>> risk = risk_before_release(people, synthesizer)
    >>> risk.to_frame()[["sick", "prior", "expected", "worst"]].round(3)
      sick  prior  expected  worst
    0   no    0.5     0.513  0.660
    1  yes    0.5     0.515  0.649
    """

    schema: Schema
    combinations: NDArray[np.integer]
    repetitions: NDArray[np.int64]
    prior: NDArray[np.float64]
    support_size: int
    n_releases: int
    probability: NDArray[np.float64]
    weights: NDArray[np.float64]
    exact: bool
    left_out: NDArray[np.float64]
    convergence: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<RiskBeforeRelease: {self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each combination.

        The variables, with their labels as values; repetitions; prior; expected, the mean of the
        probability of the truth over publications; worst, its 95 % quantile; and their Monte Carlo
        standard errors.
        """
        self.schema.check_reserved_names(_COLUMNS)
        frame = self.schema.decode(self.combinations)
        frame = frame.assign(repetitions=self.repetitions, prior=self.prior)
        return frame.assign(**self._over(self.probability, self.left_out))

    def over_records(self) -> pd.DataFrame:
        """Summarize the risks of all records of a publication, over publications.

        The rows are largest, the largest risk of a record; gain, the mean over records of the log
        of the risk over the prior, in nats; above, the share of the records above a half. The
        columns are expected, worst and their errors, as of `to_frame`.
        """
        found = self._over(self._summaries(self.probability), self._summaries(self.left_out))
        return pd.DataFrame(found, index=["largest", "gain", "above"])

    def _summaries(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the summaries over records of publications, (..., n) to (..., 3)."""
        share = self.repetitions / self.repetitions.sum()
        gain = np.log(probability / self.prior) @ share
        above = (probability > 0.5) @ share
        return np.stack([probability.max(axis=-1), gain, above], axis=-1)

    def summary(self) -> str:
        """Say in words how high the risks of a publication will be."""
        frame, over = self.to_frame(), self.over_records()
        of = "all" if self.exact else f"{len(self.weights):,} drawn"
        each = "one release" if self.n_releases == 1 else f"{self.n_releases} releases"
        at = int(frame["expected"].argmax())
        error = f" (error {frame['expected_mcse'].iloc[at]:.1g}, and it is the largest of several)"
        error = "" if self.exact else error
        largest = over.loc["largest"]
        return " ".join(
            [
                f"{len(frame):,} combinations of {self.repetitions.sum():,} records, each among "
                f"{self.support_size:,} candidates, over {of} publications of {each}.",
                f"The expected probability of the truth is {frame['expected'].median():.2g} for "
                f"the median combination and at most {frame['expected'].max():.2g}{error}.",
                f"The largest risk of a publication is {largest['expected']:.2g} on average and at "
                f"most {largest['worst']:.2g} in {percent(WORST)} of the publications.",
            ]
        )

    def _over(
        self, values: NDArray[np.float64], left_out: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return mean and 95 % quantile over publications, (n_publications, k), with errors."""
        expected, worst = self.weights @ values, quantile(values, self.weights, WORST)
        errors = np.zeros((2, len(expected)))
        if not self.exact:
            errors += values.var(axis=0, ddof=1) / len(values), quantile_variance(values, WORST)
        if len(left_out):
            errors += (
                jackknife_variance(self.weights @ each for each in left_out),
                jackknife_variance(quantile(each, self.weights, WORST) for each in left_out),
            )
        expected_mcse, worst_mcse = np.sqrt(errors)
        return {
            "expected": expected, "expected_mcse": expected_mcse,
            "worst": worst, "worst_mcse": worst_mcse,
        }  # fmt: skip


def risk_before_release(
    original: Data,
    synthesizer: Trees | Density | Mixture,
    n_releases: int = 1,
    n_draws: int = 100,
    *,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Rows | None = None,
    rng: np.random.Generator | None = None,
) -> RiskBeforeRelease:
    """Compute the risk that a publication will have, before any release is published.

    Publications are drawn from the original as an agency would, and the posterior probability of
    each true record is computed for each, as `posterior_risk` does. The results are confidential:
    they depend on the original. They hold for the first publication that is drawn; an agency that
    looks at the risk and draws again has another mechanism (`srlib.mechanism.acceptance.redraw`).

    Parameters
    ----------
    original, unknown, log_prior
        As of `posterior_risk`.
    synthesizer : Trees, Density or Mixture
        Trees grown on the original, or any other whose density is known; of a mechanism on records
        (`srlib.mechanism.OnRecords`) all publications are gone through, and nothing has an error.
        Of the DPMPM (`srlib.dpmpm.Mixture`) chains run for each release, and four times as many
        given the data, since these are in all columns; its settings need two chains or more.
    n_releases : int
        Releases in a publication, 1 or more, independent given the data.
    n_draws : int
        Publications that are drawn, 20 or more.
    rows : sequence of int, optional
        Records that are sought, by their rows; one for each combination if not given. Summaries
        over records are then over these.
    rng : numpy.random.Generator, optional
        Source of the releases; needed where they are drawn.

    Examples
    --------
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> risk = risk_before_release(
    ...     people, srlib.fit_trees(people), n_releases=2, n_draws=50, rng=np.random.default_rng(1)
    ... )
    >>> risk.to_frame().columns.tolist()[2:6]
    ['repetitions', 'prior', 'expected', 'expected_mcse']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """
    checks.at_least(1, n_releases=n_releases)
    checks.at_least(MIN_DRAWS, n_draws=n_draws)
    records = sought(coded(original, "original", None), unknown, log_prior, rows)
    records.table.schema.check_reserved_names(_COLUMNS)
    prior = records.log_prior_of()

    def of_truth(log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(posterior(log_likelihood, prior)[..., 0])

    column, weights, agreed = publications(records, synthesizer, n_releases, n_draws, rng)
    probability = of_truth(column.log_likelihood)
    return RiskBeforeRelease(
        schema=records.table.schema,
        combinations=records.combinations,
        repetitions=records.repetitions,
        prior=of_truth(np.zeros((len(records.rows), records.size))),
        support_size=records.size,
        n_releases=n_releases,
        probability=probability,
        weights=weights,
        exact=isinstance(synthesizer, OnRecords),
        left_out=np.reshape([*column.left_out(of_truth)], (-1, *probability.shape)),
        convergence=pd.concat(agreed, ignore_index=True) if agreed else None,
    )


def publications(
    records: Sought,
    synthesizer: Trees | Density | Mixture,
    size: int,
    n_draws: int,
    rng: np.random.Generator | None,
) -> tuple[Column, NDArray[np.float64], list[pd.DataFrame]]:
    """Draw publications of several independent releases each, or go through all there are.

    Returns their column, whose sets are the chains given the data, which all share; their
    probabilities given the data; and how far the chains agree.
    """
    if isinstance(synthesizer, Mixture):
        checked_rounds(synthesizer.chains)
        own = np.asarray(synthesizer.n_levels).tolist()
        levels = records.table.schema.n_levels.tolist()
        require(own == levels, f"synthesizer has levels {own}; those of the table are {levels}")
    else:
        check_density(synthesizer, records.table)
    if isinstance(synthesizer, OnRecords):
        return *_every_one(synthesizer, records, size), []
    if rng is None:
        raise ValueError("rng is not given; it is the source of the releases that are drawn")
    n, agreed = size * n_draws, list[pd.DataFrame]()
    value = np.zeros((n_draws, len(records.rows), records.size))
    with progress(n, "releases") as bar, silent():
        if isinstance(synthesizer, Mixture):
            every = _of_mixture(synthesizer, records, n, rng, agreed)
            of_data = [next(every)]
        else:
            every, of_data = _of_density(synthesizer, records, n, rng), []
        for r, of_release in enumerate(every):
            value[r // size] += log_mean(of_release)
            bar.update()
    column = Column(lambda *means: value - size * sum(means), of_data)
    return column, np.full(n_draws, 1 / n_draws), agreed


def _of_density(
    synthesizer: Trees | Density, records: Sought, n: int, rng: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    """Yield the column of each of n releases, (1, n_records, size)."""
    codes, candidates = records.table.codes, records.candidates()
    if isinstance(synthesizer, SequentialTrees):
        synthesizer = synthesizer.grown_on(codes)
    for _ in range(n):
        if isinstance(synthesizer, Trees):
            released = synthesizer.release(rng=rng)[0].codes
        else:
            released = np.asarray(synthesizer.release(codes, rng=rng))
        column = density_column(synthesizer, [released], codes, records.rows, candidates)
        yield column.log_likelihood[None]


def _of_mixture(
    synthesizer: Mixture,
    records: Sought,
    n: int,
    rng: np.random.Generator,
    agreed: list[pd.DataFrame],
) -> Iterator[NDArray[np.float64]]:
    """Yield the ratios of chains given the data, then of those joined with each of n releases."""
    codes, chains = records.table.codes, synthesizer.chains
    n_judged = min(len(records.rows), _JUDGED)
    judged = records.combinations[np.linspace(0, len(records.rows) - 1, n_judged).astype(int)]
    sample = partial(sample_posterior, n_levels=synthesizer.n_levels, keep_allocations=True)
    stream, *streams = rng.spawn(n + 1)
    draws = sample(codes, chains=replace(chains, n_chains=SHARED * chains.n_chains), rng=stream)
    # Each from a draw of its own: releases are independent given the data, not the parameters.
    released = draws.release(n, len(codes), rng=rng)
    for r in range(n + 1):
        if r:
            joined = np.vstack([codes, released[r - 1]])
            draws = sample(joined, chains=chains, rng=streams[r - 1])
        agreed.append(convergence({f"release {r}" if r else "the data": draws}, judged))
        yield log_ratios(draws, records.combinations, records.unknown)[0]


def _every_one(
    synthesizer: OnRecords, records: Sought, size: int
) -> tuple[Column, NDArray[np.float64]]:
    """Read a mechanism in the rows of the changed tables, for all sets of releases."""
    mechanism, candidates = synthesizer.mechanism, records.candidates()
    weights = np.exp(mechanism.row(synthesizer.row_of(records.table.codes)))
    n = int((weights > 0).sum())
    n_sets = comb(n + size - 1, size)
    told = f"n_releases is {size}: {n_sets:,} sets of {n:,} releases"
    require(n_sets <= MOST_SETS, f"{told}; at most {MOST_SETS:,} are enumerated")
    at = np.empty(candidates.shape[:2], dtype=np.int64)
    changed = records.table.codes.copy()
    for row, support, positions in zip(records.rows, candidates, at, strict=True):
        truth = changed[row].copy()
        for j, candidate in enumerate(support):
            changed[row] = candidate
            positions[j] = synthesizer.row_of(changed)
        changed[row] = truth
    needed, where = np.unique(at, return_inverse=True)
    block = mechanism.block(needed, np.flatnonzero(weights > 0))
    of_releases = np.moveaxis(block[where.reshape(at.shape)], 2, 0)
    members = np.array(list(combinations_with_replacement(range(n), size)))
    counts = (members[:, :, None] == members[:, None]).sum(axis=1)
    # A release that is c times in a set is met c times, each with log(c!) / c.
    orders = gammaln(size + 1) - (gammaln(counts + 1) / counts).sum(axis=1)
    value = sum((of_releases[each] for each in members.T), np.zeros(()))
    of_sets = np.exp(orders) * weights[weights > 0][members].prod(axis=1)
    return Column(lambda: value), of_sets


def quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return the smallest value that is not exceeded with a probability, (n, k) to (k,)."""
    order = np.argsort(values, axis=0)
    cumulative = np.cumsum(weights[order], axis=0)
    # Rounding must not carry the sum of 95 weights of 1 / 100 across the level.
    at = np.argmax(cumulative >= level - 1e-9, axis=0)
    return np.take_along_axis(np.take_along_axis(values, order, 0), at[None], 0)[0]


def quantile_variance(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return the sampling variance of the quantile of k samples, (n, k) to (k,).

    Maritz and Jarrett (1978), A note on estimating the variance of the sample median.
    https://doi.org/10.1080/01621459.1978.10480027
    """
    n = len(values)
    m = np.floor(n * level + 0.5)
    weights = np.diff(beta.cdf(np.arange(n + 1) / n, m, n - m + 1))
    ordered = np.sort(values, axis=0)
    mean = weights @ ordered
    return weights @ (ordered - mean) ** 2
