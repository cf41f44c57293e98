"""Risk before release: the posterior risk over the sets of releases that could be drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta

from srlib import checks
from srlib.data.schema import Schema
from srlib.display import percent
from srlib.dpmpm.gibbs import DPMPMSynthesizer, sample_posterior
from srlib.mechanism.bayes import posterior
from srlib.mechanism.records import MechanismSynthesizer
from srlib.progress import progress, silent
from srlib.risk.agreement import checked_schedule, convergence, evenly_spaced
from srlib.risk.candidates import (
    Data,
    LogPrior,
    Rows,
    TargetRecords,
    encode,
    target_records,
)
from srlib.risk.draw_sets import log_ratios
from srlib.risk.errors import jackknife_variance, log_mean
from srlib.risk.likelihood import CandidateLikelihood
from srlib.risk.synthesizers import Density, check_density, density_likelihood
from srlib.trees import SequentialTrees, Trees

MAX_RELEASE_SETS = 200_000
"""Most sets of releases that are enumerated."""
CHAINS_FACTOR = 4
"""Chains given the data for each chain given a release: all sets of releases share their error."""
_MAX_CHECKED = 200  # records for which R-hat is computed
WORST_LEVEL = 0.95
"""Share of the sets of releases whose risk does not exceed the column `worst`."""
MIN_SETS = 20
"""Fewest sets of releases to draw: with fewer, the largest is not above the 95 % quantile."""
_COLUMNS = ("repetitions", "prior", "expected", "expected_mcse", "worst", "worst_mcse")


@dataclass(frozen=True, repr=False)
class RiskBeforeRelease:
    """Posterior disclosure risks over the sets of releases that could be drawn from the data.

    Attributes
    ----------
    schema, combinations, repetitions, support_size
        As in `PosteriorRisk`, for the target records.
    prior : (n,) float64
        Prior probability of the true record among its candidates.
    n_releases : int
        Number of releases in a set.
    probability : (n_release_sets, n) float64
        Posterior probability of the true record given each set of releases.
    weights : (n_release_sets,) float64
        Probabilities of the sets; equal if they were drawn.
    exact : bool
        Whether these are all possible sets of releases.
    jackknife_probability : (n_chains, n_release_sets, n) float64
        `probability` with one chain given the data left out at a time; empty without
        chains.
    convergence : DataFrame, optional
        R-hat and number of draws of the chains.

    Examples
    --------
    >>> from srlib.mechanism import MechanismSynthesizer, beta_binomial
    >>> people = pd.DataFrame({"sick": ["no"] * 15 + ["yes"] * 5})
    >>> synthesizer = MechanismSynthesizer(beta_binomial(n=20, n_s=20, alpha=1.0), [2])
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
    jackknife_probability: NDArray[np.float64]
    convergence: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<RiskBeforeRelease: {self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each target record.

        The columns are the variables, with their labels as values; repetitions; prior;
        expected, the mean over sets of releases of the posterior probability of the
        true record; worst, its 95 % quantile; and their Monte Carlo standard errors.
        """
        self.schema.check_reserved_names(_COLUMNS)
        frame = self.schema.decode(self.combinations)
        frame = frame.assign(repetitions=self.repetitions, prior=self.prior)
        return frame.assign(
            **self._over_sets(self.probability, self.jackknife_probability)
        )

    def file_level_risk(self) -> pd.DataFrame:
        """Return the risk of a whole set of releases: summaries over its target records.

        The rows are largest, the largest risk of a record; mean_log_gain, the mean over
        records of the log of posterior over prior probability, in nats; and
        share_above_half, the share of records with a risk above one half. The columns
        are expected, worst and their standard errors, as in `to_frame`.
        """
        over_sets = self._over_sets(
            self._summaries(self.probability),
            self._summaries(self.jackknife_probability),
        )
        return pd.DataFrame(
            over_sets, index=["largest", "mean_log_gain", "share_above_half"]
        )

    def _summaries(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return summaries over the records of each set of releases, (..., n) to (..., 3)."""
        share = self.repetitions / self.repetitions.sum()
        gain = np.log(probability / self.prior) @ share
        above = (probability > 0.5) @ share
        return np.stack([probability.max(axis=-1), gain, above], axis=-1)

    def summary(self) -> str:
        """Return a text that says how high the risks of a set of releases will be."""
        frame, over_sets = self.to_frame(), self.file_level_risk()
        n_sets = "all possible" if self.exact else f"{len(self.weights):,} drawn"
        each = "one release" if self.n_releases == 1 else f"{self.n_releases} releases"
        at = int(frame["expected"].argmax())
        error = f" (standard error {frame['expected_mcse'].iloc[at]:.1g}, not counting the choice"
        error = "" if self.exact else f"{error} of the maximum)"
        largest = over_sets.loc["largest"]
        return " ".join(
            [
                f"{len(frame):,} combinations of {self.repetitions.sum():,} records, with "
                f"{self.support_size:,} candidates each, over {n_sets} sets of {each}.",
                "For an intruder who knows all other records and the synthesizer, the expected "
                "posterior probability of the true record has a median of "
                f"{frame['expected'].median():.2g} and a maximum of "
                f"{frame['expected'].max():.2g}{error}.",
                f"The largest risk in a set is {largest['expected']:.2g} on average, and at most "
                f"{largest['worst']:.2g} in {percent(WORST_LEVEL)} of the sets.",
            ]
        )

    def _over_sets(
        self, values: NDArray[np.float64], replicates: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return mean and 95 % quantile over sets of releases, (n_release_sets, k), with errors."""
        expected = self.weights @ values
        worst = quantile(values, self.weights, WORST_LEVEL)
        errors = np.zeros((2, len(expected)))
        if not self.exact:
            errors += (
                values.var(axis=0, ddof=1) / len(values),
                quantile_variance(values, WORST_LEVEL),
            )
        if len(replicates):
            errors += (
                jackknife_variance(self.weights @ each for each in replicates),
                jackknife_variance(
                    quantile(each, self.weights, WORST_LEVEL) for each in replicates
                ),
            )
        expected_mcse, worst_mcse = np.sqrt(errors)
        return {
            "expected": expected,
            "expected_mcse": expected_mcse,
            "worst": worst,
            "worst_mcse": worst_mcse,
        }


def risk_before_release(
    original: Data,
    synthesizer: Trees | Density | DPMPMSynthesizer,
    n_releases: int = 1,
    n_sets: int = 100,
    *,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Rows | None = None,
    rng: np.random.Generator | None = None,
) -> RiskBeforeRelease:
    """Return the posterior disclosure risk of releases before any of them is published.

    Sets of releases are drawn from the original, as an agency would, and
    `posterior_risk` is computed for each. The results are confidential, because they
    depend on the original. They hold for the first set that is drawn; an agency that
    looks at the risk and draws again uses another mechanism
    (`srlib.mechanism.acceptance.redraw`).

    Parameters
    ----------
    original, unknown, log_prior
        As in `posterior_risk`.
    synthesizer : Trees, Density or DPMPMSynthesizer
        Trees fitted to the original, or any other synthesizer whose density is known.
        For a mechanism on records (`srlib.mechanism.MechanismSynthesizer`) all sets of
        releases are enumerated, and the risks are exact. For the DPMPM
        (`srlib.dpmpm.DPMPMSynthesizer`) chains run for each release, and four times as
        many given the data, because all sets share them; its settings need two chains
        or more.
    n_releases : int
        Number of releases in a set, 1 or more, independent given the data.
    n_sets : int
        Number of sets of releases to draw, 20 or more.
    rows : sequence of int, optional
        Rows of the target records; one of each distinct combination if not given.
        Summaries over records are over these.
    rng : numpy.random.Generator, optional
        Random generator of the releases; required if they are drawn.

    Examples
    --------
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> risk = risk_before_release(
    ...     people, srlib.fit_trees(people), n_releases=2, n_sets=50, rng=np.random.default_rng(1)
    ... )
    >>> risk.to_frame().columns.tolist()[2:6]
    ['repetitions', 'prior', 'expected', 'expected_mcse']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """
    checks.at_least(1, n_releases=n_releases)
    checks.at_least(MIN_SETS, n_sets=n_sets)
    records = target_records(
        encode(original, "original", None), unknown, log_prior, rows
    )
    records.table.schema.check_reserved_names(_COLUMNS)
    log_prior = records.candidate_log_prior()

    def true_record_probability(
        log_likelihood: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        return np.exp(posterior(log_likelihood, log_prior)[..., 0])

    likelihood, weights, checked = _set_likelihoods(
        records, synthesizer, n_releases, n_sets, rng
    )
    probability = true_record_probability(likelihood.log_likelihood)
    replicates = [*likelihood.leave_one_out(true_record_probability)]
    return RiskBeforeRelease(
        schema=records.table.schema,
        combinations=records.combinations,
        repetitions=records.repetitions,
        prior=true_record_probability(
            np.zeros((len(records.rows), records.support_size))
        ),
        support_size=records.support_size,
        n_releases=n_releases,
        probability=probability,
        weights=weights,
        exact=isinstance(synthesizer, MechanismSynthesizer),
        jackknife_probability=np.reshape(replicates, (-1, *probability.shape)),
        convergence=pd.DataFrame(checked) if checked else None,
    )


def _set_likelihoods(
    records: TargetRecords,
    synthesizer: Trees | Density | DPMPMSynthesizer,
    n_releases: int,
    n_sets: int,
    rng: np.random.Generator | None,
) -> tuple[CandidateLikelihood, NDArray[np.float64], list[dict[str, Any]]]:
    """Draw sets of independent releases, or enumerate all of them.

    Returns the likelihood of the candidates given each set, which all share the chains
    given the data; the probabilities of the sets given the data; and the convergence of
    the chains.
    """
    if isinstance(synthesizer, DPMPMSynthesizer):
        checked_schedule(synthesizer.chains)
        own = np.asarray(synthesizer.n_levels).tolist()
        levels = records.table.schema.n_levels.tolist()
        if own != levels:
            raise ValueError(f"synthesizer has {own} levels; the table has {levels}")
    else:
        check_density(synthesizer, records.table)
    if isinstance(synthesizer, MechanismSynthesizer):
        return *_enumerate_sets(synthesizer, records, n_releases), []
    if rng is None:
        raise ValueError(
            "rng is not given; it must be a random generator for the releases"
        )
    n, checked = n_releases * n_sets, list[dict[str, Any]]()
    value = np.zeros((n_sets, len(records.rows), records.support_size))
    with progress(n, "releases") as bar, silent():
        if isinstance(synthesizer, DPMPMSynthesizer):
            every = _dpmpm_log_ratios(synthesizer, records, n, rng, checked)
            given_data = [next(every)]
        else:
            every, given_data = (
                _density_log_likelihoods(synthesizer, records, n, rng),
                [],
            )
        for r, of_release in enumerate(every):
            value[r // n_releases] += log_mean(of_release)
            bar.update()
    likelihood = CandidateLikelihood(
        lambda *means: value - n_releases * sum(means), given_data
    )
    return likelihood, np.full(n_sets, 1 / n_sets), checked


def _density_log_likelihoods(
    synthesizer: Trees | Density,
    records: TargetRecords,
    n: int,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.float64]]:
    """Yield the log likelihood of the candidates for each of n releases, (1, n, support_size)."""
    codes, candidates = records.table.codes, records.candidates()
    if isinstance(synthesizer, SequentialTrees):
        synthesizer = synthesizer.fit(codes)
    for _ in range(n):
        if isinstance(synthesizer, Trees):
            released = synthesizer.release(rng=rng)[0].codes
        else:
            released = np.asarray(synthesizer.release(codes, rng=rng))
        likelihood = density_likelihood(
            synthesizer, [released], codes, records.rows, candidates
        )
        yield likelihood.log_likelihood[None]


def _dpmpm_log_ratios(
    synthesizer: DPMPMSynthesizer,
    records: TargetRecords,
    n: int,
    rng: np.random.Generator,
    checked: list[dict[str, Any]],
) -> Iterator[NDArray[np.float64]]:
    """Yield log ratios from chains given the data, then given the data joined with each release."""
    codes, chains = records.table.codes, synthesizer.chains
    combinations = evenly_spaced(records.combinations, _MAX_CHECKED)
    sample = partial(
        sample_posterior, n_levels=synthesizer.n_levels, keep_allocations=True
    )
    stream, *streams = rng.spawn(n + 1)
    draws = sample(
        codes,
        chains=replace(chains, n_chains=CHAINS_FACTOR * chains.n_chains),
        rng=stream,
    )
    # From separate draws: releases are independent given the data, not given the
    # parameters.
    released = draws.release(n, len(codes), rng=rng)
    for r in range(n + 1):
        if r:
            joined = np.vstack([codes, released[r - 1]])
            draws = sample(joined, chains=chains, rng=streams[r - 1])
        name = f"release {r}" if r else "the data"
        checked.append(convergence(name, draws, combinations))
        yield log_ratios(draws, records.combinations, records.unknown)[0]


def _enumerate_sets(
    synthesizer: MechanismSynthesizer, records: TargetRecords, n_releases: int
) -> tuple[CandidateLikelihood, NDArray[np.float64]]:
    """Return the likelihoods given every set of releases of a mechanism, and the weights."""
    mechanism, candidates = synthesizer.mechanism, records.candidates()
    weights = np.exp(mechanism.row(synthesizer.row_of(records.table.codes)))
    n = int((weights > 0).sum())
    n_sets = comb(n + n_releases - 1, n_releases)
    if n_sets > MAX_RELEASE_SETS:
        raise ValueError(
            f"n_releases is {n_releases}, which makes {n_sets:,} sets of {n:,} possible releases; "
            f"at most {MAX_RELEASE_SETS:,} are enumerated"
        )
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
    members = np.array(list(combinations_with_replacement(range(n), n_releases)))
    counts = (members[:, :, None] == members[:, None]).sum(axis=1)
    # A release that is c times in a set is counted c times, each with log(c!) / c.
    orders = gammaln(n_releases + 1) - (gammaln(counts + 1) / counts).sum(axis=1)
    value = sum((of_releases[each] for each in members.T), np.zeros(()))
    of_sets = np.exp(orders) * weights[weights > 0][members].prod(axis=1)
    return CandidateLikelihood(lambda: value), of_sets


def quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return the smallest value with cumulative weight `level` or more, (n, k) to (k,)."""
    order = np.argsort(values, axis=0)
    cumulative = np.cumsum(weights[order], axis=0)
    # Rounding must not carry the sum of 95 weights of 1 / 100 across the level.
    at = np.argmax(cumulative >= level - 1e-9, axis=0)
    return np.take_along_axis(np.take_along_axis(values, order, 0), at[None], 0)[0]


def quantile_variance(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return the sampling variance of the quantile of each of k samples, (n, k) to (k,).

    Maritz and Jarrett (1978), A note on estimating the variance of the sample median.
    https://doi.org/10.1080/01621459.1978.10480027
    """
    n = len(values)
    m = np.floor(n * level + 0.5)
    weights = np.diff(beta.cdf(np.arange(n + 1) / n, m, n - m + 1))
    ordered = np.sort(values, axis=0)
    mean = weights @ ordered
    return weights @ (ordered - mean) ** 2
