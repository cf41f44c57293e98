"""Columns of the table for releases that have not happened: drawn from the data, or all there are.

One column is what a release says of every candidate. Risks before release and privacy losses read
many of them, weighted by the probability that the data lead to each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from srlib import diagnostics
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema
from srlib.dpmpm.gibbs import Mixture
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.mechanism.records import OnRecords
from srlib.progress import progress, silent
from srlib.risk.agreement import agreeing_draws
from srlib.risk.candidates import Data, LogPrior, Support, check_grown, checked_chains
from srlib.risk.errors import jackknife_variance, log_mean, log_means_left_out
from srlib.risk.synthesizers import Density, log_likelihoods
from srlib.trees import SequentialTrees, Trees

MOST_SETS = 200_000
"""Sets of releases that are enumerated; of a mechanism with more, they are drawn."""
SHARED = 4
"""Chains given the data for each chain given a release: their error is in the columns of all."""
_JUDGED = 200  # records over which R-hat is computed


@dataclass(frozen=True)
class Columns:
    """What each of several publications says of the candidates of some records.

    Attributes
    ----------
    log_likelihood : (n_publications, n, support_size) float64
        log p(publication | data with the record changed), the truth first, up to a constant for
        each publication and record.
    weights : (n_publications,) float64
        Probabilities of the publications given the data; equal where they were drawn.
    exact : bool
        Whether these are all publications there are, so that means over them have no error.
    log_mcse : (n_publications, n, support_size) float64
        Monte Carlo standard errors of `log_likelihood`; 0 where it is exact.
    shifts : (n_chains, n_publications or 1, n, support_size) float64
        What `log_likelihood` changes by if a chain given the data is left out, which may be the
        same for all publications; no chains where there are none.
    convergence : DataFrame, optional
        Of the chains given the data, then joined with each release: draws_given, and what
        `srlib.diagnostics.over_many` says of the log probabilities of the true records, as
        r_hat_median, r_hat_95, r_hat_largest and ess_of_mean. None where there are no chains.
    """

    log_likelihood: NDArray[np.float64]
    weights: NDArray[np.float64]
    exact: bool
    log_mcse: NDArray[np.float64]
    shifts: NDArray[np.float64]
    convergence: pd.DataFrame | None = None

    def possible(self) -> "Columns":
        """Return the columns of the publications that the data can lead to."""
        some = self.weights > 0
        return replace(
            self,
            log_likelihood=self.log_likelihood[some],
            weights=self.weights[some],
            log_mcse=self.log_mcse[some],
        )

    def of_sets(self, members: NDArray[np.integer], weights: NDArray[np.float64]) -> "Columns":
        """Return the columns of publications that are sets of these, independent given the data.

        Parameters
        ----------
        members : (n_sets, size) int
            Positions of the publications in each set.
        weights : (n_sets,) float
            Probabilities of the sets.
        """
        value, variance = np.zeros((2, len(members), *self.log_likelihood.shape[1:]))
        for at in members.T:
            value += self.log_likelihood[at]
            variance += self.log_mcse[at] ** 2
        shifts = members.shape[1] * self.shifts
        return Columns(value, weights, self.exact, np.sqrt(variance), shifts, self.convergence)

    def every_set(self, size: int) -> "Columns":
        """Return the columns of all sets of so many independent releases.

        Raises
        ------
        ValueError
            If the columns are not all there are, or there are more than 200,000 sets.
        """
        n = len(self.weights)
        n_sets = comb(n + size - 1, size)
        if not self.exact or n_sets > MOST_SETS:
            raise ValueError(
                f"size is {size}: {n_sets:,} sets of {n:,} releases; only sets of all releases of "
                f"a mechanism are enumerated, and at most {MOST_SETS:,}"
            )
        members = np.array(list(combinations_with_replacement(range(n), size)))
        counts = (members[:, :, None] == members[:, None]).sum(axis=1)
        # A release that is c times in a set is met c times, each with log(c!) / c.
        orders = gammaln(size + 1) - (gammaln(counts + 1) / counts).sum(axis=1)
        weights = np.exp(orders) * self.weights[members].prod(axis=1)
        return self.of_sets(members, weights)


@dataclass(frozen=True)
class Sought:
    """The records whose risk is sought, and their candidates.

    Attributes
    ----------
    table : Microdata
        The confidential records.
    rows : (n,) int
        The records of the table that are changed, one for each combination.
    repetitions : (n,) int64
        Records that have each combination.
    support : object
        Their candidates and prior, as `srlib.risk.posterior_risk` has them.
    """

    table: Microdata
    rows: NDArray[np.intp]
    repetitions: NDArray[np.int64]
    support: Support

    @property
    def combinations(self) -> NDArray[np.uint8]:
        """The combinations, (n, n_variables)."""
        return self.table.codes[self.rows]


def sought(
    original: Data,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Sequence[int] | NDArray[np.integer] | None = None,
) -> Sought:
    """Return the records that are sought, with their candidates.

    Parameters
    ----------
    original, schema, unknown, log_prior
        As of `srlib.risk.posterior_risk`.
    rows : sequence of int, optional
        Records that are sought, by their rows; all distinct combinations if not given.

    Raises
    ------
    ValueError
        If they do not fit together.
    """
    if isinstance(original, pd.DataFrame):
        table = Microdata.from_frame(original, schema)
    elif isinstance(original, Microdata):
        if schema not in (None, original.schema):
            raise ValueError("original has another schema than the one given beside it")
        table = original
    else:
        raise ValueError(f"original is {original!r:.50}; it must be a DataFrame or Microdata")
    _, counts, inverse = distinct(table.codes)
    if rows is None:
        at = np.empty(len(counts), dtype=np.intp)
        at[inverse[::-1]] = np.arange(len(inverse))[::-1]
    else:
        at = np.asarray(rows, dtype=np.intp)
        if at.ndim != 1 or not len(at) or at.min() < 0 or at.max() >= len(table):
            raise ValueError(f"rows must be positions in 0 to {len(table) - 1}, one or more")
    positions = None if unknown is None else table.schema.positions(unknown, "unknown")
    support = Support(table.schema, table.codes[at], positions, log_prior)
    support.log_prior_of(slice(1))
    return Sought(table, at, counts[inverse[at]], support)


def is_finite(synthesizer: object) -> bool:
    """Say whether all releases of a synthesizer can be gone through."""
    return isinstance(synthesizer, OnRecords)


def check_synthesizer(synthesizer: object, table: Microdata) -> None:
    """Raise a ValueError unless columns of a synthesizer can be computed for a table."""
    if isinstance(synthesizer, Trees):
        check_grown(synthesizer, table)
    elif isinstance(synthesizer, Mixture):
        checked_chains(synthesizer.chains)
        if not np.array_equal(synthesizer.n_levels, table.schema.n_levels):
            raise ValueError(
                f"synthesizer has levels {list(synthesizer.n_levels)}; those of the table are "
                f"{table.schema.n_levels.tolist()}"
            )
    elif not isinstance(synthesizer, Density):
        raise ValueError(
            f"synthesizer is {synthesizer!r:.50}; it must be Trees or a Mixture, or have the "
            "functions release and log_prob"
        )


def columns(
    records: Sought,
    synthesizer: Trees | Density | Mixture,
    n: int,
    *,
    rng: np.random.Generator | None,
) -> Columns:
    """Return the columns of n releases drawn from the data, or of all there are.

    Parameters
    ----------
    records : Sought
        The records, with their candidates.
    synthesizer : Trees, Density or Mixture
        An `OnRecords` is finite: then all its releases are gone through.
    n : int
        Number of releases that are drawn.
    rng : numpy.random.Generator, optional
        Source of the releases and of chains; not needed where nothing is drawn.

    Raises
    ------
    ValueError
        If a synthesizer cannot be read, does not fit the table, or gives a release that it has
        drawn probability zero; if `rng` is needed and not given.
    """
    check_synthesizer(synthesizer, records.table)
    if isinstance(synthesizer, OnRecords):
        return _of_every_release(synthesizer, records)
    if rng is None:
        raise ValueError("rng is not given; it is the source of the releases that are drawn")
    if isinstance(synthesizer, Mixture):
        return _of_mixture(synthesizer, records, n, rng)
    return _of_density(synthesizer, records, n, rng)


def _of_every_release(synthesizer: OnRecords, records: Sought) -> Columns:
    """Read all columns of a mechanism, in the rows of the changed tables."""
    candidates = records.support.candidates(slice(None))
    at = np.empty(candidates.shape[:2], dtype=np.int64)
    changed = records.table.codes.copy()
    for row, support, positions in zip(records.rows, candidates, at, strict=True):
        truth = changed[row].copy()
        for j, candidate in enumerate(support):
            changed[row] = candidate
            positions[j] = synthesizer.row_of(changed)
        changed[row] = truth
    mechanism = synthesizer.mechanism
    needed, where = np.unique(at, return_inverse=True)
    block = mechanism.block(needed, np.arange(mechanism.n_outputs))
    log_likelihood = np.moveaxis(block[where.reshape(at.shape)], 2, 0)
    weights = np.exp(mechanism.row(synthesizer.row_of(records.table.codes)))
    none = np.zeros((0, 1, *at.shape))
    return Columns(log_likelihood, weights, True, np.zeros(log_likelihood.shape), none)


def _of_density(
    synthesizer: Trees | Density, records: Sought, n: int, rng: np.random.Generator
) -> Columns:
    """Draw releases, and compute the density of each with the record changed."""
    codes, candidates = records.table.codes, records.support.candidates(slice(None))
    if isinstance(synthesizer, SequentialTrees):
        synthesizer = synthesizer.grown_on(codes)
    value, mcse = np.zeros((2, n, *candidates.shape[:2]))
    with progress(n, "releases") as bar, silent():
        for r in range(n):
            if isinstance(synthesizer, Trees):
                released = synthesizer.release(rng=rng)[0].codes
            else:
                released = np.asarray(synthesizer.release(codes, rng=rng))
            found = log_likelihoods(synthesizer, [released], codes, records.rows, candidates)
            value[r] = found if found.ndim == 2 else log_mean(found)
            if found.ndim == 3:
                mcse[r] = np.sqrt(jackknife_variance(log_means_left_out(found)))
            if np.isneginf(value[r, :, 0]).any():
                raise ValueError(
                    f"synthesizer gives release {r}, which it has drawn, probability zero given "
                    "the original: its log_prob is not that of its release"
                )
            bar.update()
    none = np.zeros((0, 1, *candidates.shape[:2]))
    return Columns(value, np.full(n, 1 / n), False, mcse, none)


def _of_mixture(synthesizer: Mixture, records: Sought, n: int, rng: np.random.Generator) -> Columns:
    """Draw releases from the DPMPM, and run chains given the data joined with each."""
    codes, support, every = records.table.codes, records.support, slice(None)
    judged = np.linspace(0, len(records.rows) - 1, min(len(records.rows), _JUDGED)).astype(int)
    convergence = []

    def draws_of(
        name: str, table: NDArray[np.integer], chains: Chains, stream: np.random.Generator
    ) -> Draws:
        draws = agreeing_draws(
            table, synthesizer.n_levels, chains, combinations=codes[:1], rng=stream
        )
        found = diagnostics.over_many(cell_log_prob(draws, records.combinations[judged]))
        convergence.append((name, *found.values()))
        return draws

    first, *streams = rng.spawn(n + 1)
    chains = synthesizer.chains
    many = replace(chains, n_chains=SHARED * chains.n_chains)
    with progress(n, "releases") as bar, silent():
        data = draws_of("the data", codes, many, first)
        # Each from a draw of its own: releases are independent given the data, not the parameters.
        released = data.release(n, len(codes), rng=rng)
        ratios, _ = support.log_ratios(data, every)
        of_data = log_mean(ratios)
        shifts = np.stack([of_data - left_out for left_out in log_means_left_out(ratios)])
        shared = jackknife_variance(shifts)
        value, mcse = np.zeros((2, n, *of_data.shape))
        for r, (table, stream) in enumerate(zip(released, streams, strict=True)):
            draws = draws_of(f"release {r + 1}", np.vstack([codes, table]), chains, stream)
            joined, _ = support.log_ratios(draws, every)
            value[r] = log_mean(joined) - of_data
            mcse[r] = np.sqrt(jackknife_variance(log_means_left_out(joined)) + shared)
            bar.update()
    names = ["draws_given", "r_hat_median", "r_hat_95", "r_hat_largest", "ess_of_mean"]
    return Columns(
        value, np.full(n, 1 / n), False, mcse, shifts[:, None],
        pd.DataFrame(convergence, columns=names),
    )  # fmt: skip
