"""Risk before release: the risk over sets of releases that could be drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pandas as pd
from scipy.special import gammaln
from scipy.stats import beta

from srlib import checks
from srlib.arrays import ArrayLike, Floats, Generator, Ints, evenly_spaced
from srlib.data import Codes, Schema
from srlib.display import percent
from srlib.dpmpm import DPMPMSynthesizer, Draws, sample_posterior
from srlib.mechanism import MechanismSynthesizer, posterior
from srlib.progress import progress, silent
from srlib.risk.candidates import (
    Data,
    LogPrior,
    Rows,
    TargetRecords,
    encode,
    target_records,
)
from srlib.risk.draw_sets import checked_schedule, convergence, log_ratios
from srlib.risk.errors import jackknife_variance, log_mean
from srlib.risk.likelihood import CandidateLikelihood
from srlib.risk.synthesizers import (
    Density,
    check_density,
    density_likelihood,
    map_changes,
)
from srlib.trees import Trees

MAX_RELEASE_SETS = 200_000
"""Most sets of releases that are enumerated."""
CHAINS_FACTOR = 4
"""Chains given the data for each given a release: all sets share the error of these."""
_MAX_CHECKED = 200  # records for which R-hat is computed
WORST_LEVEL = 0.95
"""Share of the sets of releases whose risk does not exceed the column `worst`."""
MIN_SETS = 20
"""Fewest sets to draw: with fewer, the largest risk is not above the 95 % quantile."""
_COLUMNS = ("repetitions", "prior", "expected", "expected_mcse", "worst", "worst_mcse")


@dataclass(frozen=True, repr=False)
class RiskBeforeRelease:
    """Posterior disclosure risks over the sets of releases that could be drawn.

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
    combinations: Ints
    repetitions: Ints
    prior: Floats
    support_size: int
    n_releases: int
    probability: Floats
    weights: Floats
    exact: bool
    jackknife_probability: Floats
    convergence: pd.DataFrame | None

    def __repr__(self) -> str:
        return f"<RiskBeforeRelease: {self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each target record.

        The columns are the variables, with their labels as values; repetitions; prior;
        expected, the mean over sets of releases of the posterior probability of the
        true record; worst, its 95 % quantile; and their Monte Carlo standard errors.
        """
        frame = self.schema.decode(self.combinations)
        over_sets = self._over_sets(self.probability, self.jackknife_probability)
        return frame.assign(repetitions=self.repetitions, prior=self.prior, **over_sets)

    def file_level_risk(self) -> pd.DataFrame:
        """Return the risk of a whole set of releases: summaries over target records.

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

    def _summaries(self, probability: Floats) -> Floats:
        """Return summaries over the records of each set, (..., n) to (..., 3)."""
        share = self.repetitions / self.repetitions.sum()
        largest = probability.max(axis=-1)
        mean_log_gain = np.log(probability / self.prior) @ share
        share_above_half = (probability > 0.5) @ share
        return np.stack([largest, mean_log_gain, share_above_half], axis=-1)

    def summary(self) -> str:
        """Return a text that says how high the risks of a set of releases will be."""
        frame = self.to_frame()
        expected = frame["expected"]
        largest = self.file_level_risk().loc["largest"]
        n_sets = "all possible" if self.exact else f"{len(self.weights):,} drawn"
        m = self.n_releases
        releases = "one release" if m == 1 else f"{m} releases"
        error = ""
        if not self.exact:
            mcse = frame.loc[expected.idxmax(), "expected_mcse"]
            error = (
                f" (standard error {mcse:.1g}, not counting the choice of the maximum)"
            )
        return (
            f"{len(frame):,} combinations of {self.repetitions.sum():,} records, with "
            f"{self.support_size:,} candidates each, over {n_sets} sets of {releases}. "
            "For an intruder who knows all other records and the synthesizer, the "
            "expected posterior probability of the true record has a median of "
            f"{expected.median():.2g} and a maximum of {expected.max():.2g}{error}. "
            f"The largest risk in a set is {largest['expected']:.2g} on average, and "
            f"at most {largest['worst']:.2g} in {percent(WORST_LEVEL)} of the sets."
        )

    def _over_sets(self, values: Floats, replicates: Floats) -> dict[str, Floats]:
        """Return mean and 95 % quantile over sets of k quantities, with their errors.

        The quantities are (n_release_sets, k), or (n_chains, n_release_sets, k) with
        one chain left out at a time.
        """
        worst = partial(quantile, weights=self.weights, level=WORST_LEVEL)
        expected = self.weights @ values
        expected_variance = np.zeros_like(expected)
        worst_variance = np.zeros_like(expected)
        if not self.exact:
            expected_variance += values.var(axis=0, ddof=1) / len(values)
            worst_variance += quantile_variance(values, WORST_LEVEL)
        if len(replicates):
            expected_variance += jackknife_variance(
                self.weights @ x for x in replicates
            )
            worst_variance += jackknife_variance(map(worst, replicates))
        return {
            "expected": expected,
            "expected_mcse": np.sqrt(expected_variance),
            "worst": worst(values),
            "worst_mcse": np.sqrt(worst_variance),
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
    rng: Generator | None = None,
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
    >>> sick = ["no"] * 30 + ["yes"] * 10
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": sick})
    >>> trees, rng = srlib.fit_trees(people), np.random.default_rng(1)
    >>> risk = risk_before_release(people, trees, n_releases=2, n_sets=50, rng=rng)
    >>> risk.to_frame().columns.tolist()[2:6]
    ['repetitions', 'prior', 'expected', 'expected_mcse']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """
    table = encode(original, "original")
    records = target_records(table, unknown, log_prior, rows)
    table.schema.check_reserved_names(_COLUMNS)
    true_record_probability = partial(
        _true_record_probability, records.candidate_log_prior()
    )
    likelihood, weights, convergence_table = _set_likelihoods(
        records, synthesizer, n_releases, n_sets, rng
    )
    probability = true_record_probability(likelihood.log_likelihood)
    replicates = [true_record_probability(x) for x in likelihood.leave_one_out()]
    no_release = np.zeros((len(records.rows), records.support_size))
    return RiskBeforeRelease(
        schema=table.schema,
        combinations=records.combinations,
        repetitions=records.repetitions,
        prior=true_record_probability(no_release),
        support_size=records.support_size,
        n_releases=n_releases,
        probability=probability,
        weights=weights,
        exact=isinstance(synthesizer, MechanismSynthesizer),
        jackknife_probability=np.reshape(replicates, (-1, *probability.shape)),
        convergence=convergence_table,
    )


def _true_record_probability(log_prior: ArrayLike, log_likelihood: Floats) -> Floats:
    """Return the posterior probability of the true record, (n_release_sets, n)."""
    return np.exp(posterior(log_likelihood, log_prior)[..., 0])


def _set_likelihoods(
    records: TargetRecords,
    synthesizer: Trees | Density | DPMPMSynthesizer,
    n_releases: int,
    n_sets: int,
    rng: Generator | None,
) -> tuple[CandidateLikelihood, Floats, pd.DataFrame | None]:
    """Draw sets of independent releases, or enumerate all of them.

    Returns the likelihood of the candidates given each set, which all share the chains
    given the data; the probabilities of the sets given the data; and the convergence of
    the chains.
    """
    checks.at_least(1, n_releases=n_releases)
    checks.at_least(MIN_SETS, n_sets=n_sets)
    if isinstance(synthesizer, DPMPMSynthesizer):
        checked_schedule(synthesizer.chains)
        levels = np.asarray(synthesizer.n_levels).tolist()
        table_levels = records.table.schema.n_levels.tolist()
        if levels != table_levels:
            raise ValueError(
                f"synthesizer has {levels} levels; the table has {table_levels}"
            )
    else:
        check_density(synthesizer, records.table)
    if isinstance(synthesizer, MechanismSynthesizer):
        return *_enumerate_sets(synthesizer, records, n_releases), None
    if rng is None:
        raise ValueError(
            "rng is not given; it must be a random generator for the releases"
        )
    convergence_table = None
    if isinstance(synthesizer, DPMPMSynthesizer):
        likelihood, convergence_table = _draw_dpmpm_sets(
            synthesizer, records, n_releases, n_sets, rng
        )
    else:
        likelihood = _draw_density_sets(synthesizer, records, n_releases, n_sets, rng)
    return likelihood, np.full(n_sets, 1 / n_sets), convergence_table


def _draw_density_sets(
    synthesizer: Trees | Density,
    records: TargetRecords,
    n_releases: int,
    n_sets: int,
    rng: Generator,
) -> CandidateLikelihood:
    """Return the likelihood of the candidates given sets of releases, by a density."""
    codes = records.table.codes
    candidates = records.candidates()
    sums = np.zeros((n_sets, *candidates.shape[:2]))
    with progress(n_releases * n_sets, "releases") as bar, silent():
        for i in range(n_releases * n_sets):
            if isinstance(synthesizer, Trees):
                released = synthesizer.release(rng=rng)[0].codes
            else:
                released = np.asarray(synthesizer.release(codes, rng=rng))
            likelihood = density_likelihood(
                synthesizer, [released], codes, records.rows, candidates
            )
            sums[i // n_releases] += likelihood.log_likelihood
            bar.update()
    return CandidateLikelihood(lambda: sums)


def _draw_dpmpm_sets(
    synthesizer: DPMPMSynthesizer,
    records: TargetRecords,
    n_releases: int,
    n_sets: int,
    rng: Generator,
) -> tuple[CandidateLikelihood, pd.DataFrame]:
    """Return the likelihood given sets of releases, and the chains' convergence."""
    codes = records.table.codes
    combinations = evenly_spaced(records.combinations, _MAX_CHECKED)
    n = n_releases * n_sets
    sums = np.zeros((n_sets, len(records.rows), records.support_size))
    rows = []
    with progress(n, "releases") as bar, silent():
        for i, draws in enumerate(_dpmpm_draws(synthesizer, codes, n, rng)):
            name = f"release {i}" if i else "the data"
            rows.append(convergence(name, draws, combinations))
            ratios, _ = log_ratios(draws, records.combinations, records.unknown)
            if i == 0:
                given_data = ratios
            else:
                sums[(i - 1) // n_releases] += log_mean(ratios)
                bar.update()
    likelihood = CandidateLikelihood(
        lambda data_mean: sums - n_releases * data_mean, [given_data]
    )
    return likelihood, pd.DataFrame(rows)


def _dpmpm_draws(
    synthesizer: DPMPMSynthesizer, codes: Codes, n: int, rng: Generator
) -> Iterator[Draws]:
    """Yield draws given the data, then given the data joined with each release."""
    sample = partial(
        sample_posterior, n_levels=synthesizer.n_levels, keep_allocations=True
    )
    chains = synthesizer.chains
    more_chains = replace(chains, n_chains=CHAINS_FACTOR * chains.n_chains)
    draws = sample(codes, chains=more_chains, rng=rng.spawn(1)[0])
    yield draws
    # From separate draws: releases are independent given the data, not given the
    # parameters.
    for release in draws.release(n, len(codes), rng=rng):
        joined = np.vstack([codes, release])
        yield sample(joined, chains=chains, rng=rng.spawn(1)[0])


def _enumerate_sets(
    synthesizer: MechanismSynthesizer, records: TargetRecords, n_releases: int
) -> tuple[CandidateLikelihood, Floats]:
    """Return the likelihoods given all sets of a mechanism's releases, and weights."""
    mechanism = synthesizer.mechanism
    codes = records.table.codes
    prob = np.exp(mechanism.row(synthesizer.row_of(codes)))
    possible = np.flatnonzero(prob > 0)
    members = _multisets(len(possible), n_releases)  # (n_sets, n_releases)
    rows = map_changes(synthesizer.row_of, codes, records.rows, records.candidates())
    needed, position = np.unique(rows, return_inverse=True)  # (n, support_size)
    by_release = mechanism.block(needed, possible).T[:, position]
    log_likelihood = by_release[members].sum(axis=1)  # (n_sets, n, support_size)
    weights = _orders(members) * prob[possible][members].prod(axis=1)
    return CandidateLikelihood(lambda: log_likelihood), weights


def _orders(members: Ints) -> Floats:
    """Return the number of orders of each set of releases, (n_sets,)."""
    counts = (members[:, :, None] == members[:, None]).sum(axis=1)
    # A release that is c times in a set is counted c times, each with log(c!) / c.
    log_repeated = (gammaln(counts + 1) / counts).sum(axis=1)
    return np.exp(gammaln(members.shape[1] + 1) - log_repeated)


def _multisets(n: int, size: int) -> Ints:
    """Return all sets of a size of n possible releases; a ValueError if too many."""
    n_sets = comb(n + size - 1, size)
    if n_sets > MAX_RELEASE_SETS:
        raise ValueError(
            f"n_releases is {size}, which makes {n_sets:,} sets of {n:,} possible "
            f"releases; at most {MAX_RELEASE_SETS:,} are enumerated"
        )
    return np.array(list(combinations_with_replacement(range(n), size)))


def quantile(values: Floats, weights: Floats, level: float) -> Floats:
    """Return the least value with cumulative weight `level` or more, (n, k) to (k,)."""
    # Rounding must not carry the sum of 95 weights of 1 / 100 across the level.
    level -= 1e-9
    return np.quantile(values, level, axis=0, weights=weights, method="inverted_cdf")


def quantile_variance(values: Floats, level: float) -> Floats:
    """Return the sampling variance of a quantile of k samples, (n, k) to (k,).

    Maritz and Jarrett (1978), A note on estimating the variance of the sample median.
    https://doi.org/10.1080/01621459.1978.10480027
    """
    n = len(values)
    m = np.floor(n * level + 0.5)
    weights = np.diff(beta.cdf(np.arange(n + 1) / n, m, n - m + 1))
    ordered = np.sort(values, axis=0)
    mean = weights @ ordered
    return weights @ (ordered - mean) ** 2
