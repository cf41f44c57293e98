"""The blocked Gibbs sampler of the DPMPM, which runs on distinct combinations."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import numpy as np
import pandas as pd

from srlib import diagnostics
from srlib.arrays import Generator, Ints, NDArray
from srlib.compiled import THREADS
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Microdata, Schema, as_microdata
from srlib.display import Overview
from srlib.dpmpm.kernels import (
    empty_tables,
    fill_tables,
    group_variables,
    iterate,
    mixture_log_prob,
)
from srlib.dpmpm.model import Allocations, Chains, Draws, Prior, checked_codes
from srlib.progress import progress

# The annealed start draws classes from their probabilities raised to powers from this
# to 1.
FIRST_POWER = 0.75


class Sampler:
    """One chain of the blocked Gibbs sampler, advanced in place.

    The distinct combinations, (n_combinations, n_variables), have `counts` records
    each, 0 or more; `rng` is the random stream of the chain.
    """

    def __init__(
        self,
        combinations: Codes,
        counts: Ints,
        n_levels: Ints,
        n_classes: int,
        prior: Prior,
        rng: Generator,
    ) -> None:
        groups = group_variables(n_levels)
        self.rng = rng
        self._prior = (prior.alpha_shape, prior.alpha_rate, prior.concentration)
        self._tables = empty_tables(groups, n_classes, np.float32)
        self._cell_counts = np.zeros(self._tables.products.shape, np.int64)
        self.rows = groups.rows(combinations)  # writing to them changes the data
        self.counts = counts
        self.alpha = 1.0
        self.pi = np.full(n_classes, 1.0 / n_classes)
        # A uniform Dirichlet for any prior: no combination may start with probability
        # zero.
        shares = [rng.dirichlet(np.ones(levels), n_classes) for levels in n_levels]
        self.phi = np.ascontiguousarray(np.hstack(shares).T, np.float32)
        self.sizes = np.zeros(n_classes, np.int64)
        self.level_counts = np.zeros(self.phi.shape, np.int64)
        self.class_of = np.zeros(len(counts), np.int64)

    def advance(
        self,
        n_iterations: int,
        power: float = 1.0,
    ) -> None:
        """Run iterations; with a `power` below one they are of an annealed start."""
        self.alpha = iterate(
            n_iterations,
            power,
            self._prior,
            self.counts,
            self.rows,
            self.alpha,
            (self.pi, self.phi, self.sizes, self.level_counts, self.class_of),
            self._tables,
            self._cell_counts,
            self.rng,
        )

    def gather(self) -> None:
        """Give one class probability one, so that it gets all records."""
        self.pi[:] = 0.0
        self.pi[0] = 1.0

    def log_likelihood(self) -> float:
        """Return log p(data | pi, phi), with the classes summed out."""
        fill_tables(self.pi, self.phi, self._tables)
        log_prob = np.empty(len(self.rows))
        mixture_log_prob(self._tables, self.rows, log_prob)
        return (self.counts * log_prob).sum()


def sample_posterior(
    codes: Codes,
    n_levels: Ints,
    chains: Chains,
    *,
    rng: Generator,
    keep_allocations: bool = False,
    label: str = "DPMPM",
) -> Draws:
    """Return draws from the posterior of the DPMPM by blocked Gibbs sampling.

    Each chain has its own random stream, spawned from `rng`, so that the draws do not
    depend on the number of threads. The first half of the burn-in is an annealed start:
    classes are drawn from flattened probabilities and ordered by size. Such chains may
    start with too many classes, which dissolve slowly, so that chains that agree may
    all be far from the posterior; chains from one class approach it from the other
    side. Metropolis swaps of adjacent labels prevent alpha from depending on the
    initial labels of a chain. The guide's page on the chains of the mixture compares
    other moves.

    Parameters
    ----------
    codes : (n_records, n_variables) int
        Levels coded from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable, 2 or more.
    chains : Chains
        Number of classes, prior, number of chains and their lengths.
    keep_allocations : bool
        Whether the draws keep the records' classes, which `leave_one_out_log_ratios`
        needs.
    label : str
        Label of the progress bar.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2, equations 1 to 6; Ishwaran and
    James (2001) for the blocked Gibbs sampler.
    """
    codes, n_levels = checked_codes(codes, n_levels)
    if not len(codes):
        raise ValueError("the table has no records; it must have one or more")
    combinations, counts, _ = distinct(codes)
    draws = _empty_draws(chains, n_levels, combinations if keep_allocations else None)
    is_stopped = Event()

    def run(chain: int, chain_rng: Generator) -> None:
        sampler = Sampler(
            combinations, counts, n_levels, chains.n_classes, chains.prior, chain_rng
        )
        for n_iterations in _fill_chain(draws, chain, sampler, chains):
            if is_stopped.is_set():
                return
            bar.update(n_iterations)

    total = chains.n_chains * chains.n_iterations
    with progress(total, label) as bar, ThreadPoolExecutor(THREADS) as pool:
        try:
            # An error in a chain, or an interrupt, cancels those that have not begun.
            list(pool.map(run, range(chains.n_chains), rng.spawn(chains.n_chains)))
        except BaseException:
            is_stopped.set()
            raise
    return draws


def _empty_draws(chains: Chains, n_levels: Ints, combinations: Codes | None) -> Draws:
    """Return draws whose arrays are to be filled, with allocations of combinations."""
    shape = (chains.n_chains, chains.n_draws)
    n_classes = chains.n_classes
    draws = Draws(
        alpha=np.empty(shape),
        pi=np.empty((*shape, n_classes)),
        phi=np.empty((*shape, n_levels.sum(), n_classes), np.float32),
        class_sizes=np.empty((*shape, n_classes), np.int64),
        log_likelihood=np.empty(shape),
        n_levels=n_levels,
    )
    if combinations is None:
        return draws
    allocations = Allocations(
        combinations=combinations,
        class_of=np.empty((*shape, len(combinations)), np.uint16),
        level_counts=np.empty(draws.phi.shape, np.int32),
        concentration=chains.prior.concentration,
    )
    return replace(draws, allocations=allocations)


def _fill_chain(
    draws: Draws,
    chain: int,
    sampler: Sampler,
    chains: Chains,
) -> Iterator[int]:
    """Run a chain and fill its draws; yield the number of iterations of each step.

    The first half of the burn-in is annealed, or the chain starts from one class.
    """
    annealed = 0 if chains.from_one_class else chains.burn_in // 2
    if chains.from_one_class:
        sampler.gather()
    for done in range(0, annealed, 10):
        step = min(10, annealed - done)
        sampler.advance(step, FIRST_POWER + (1.0 - FIRST_POWER) * done / annealed)
        yield step
    for done in range(annealed, chains.burn_in, 50):
        step = min(50, chains.burn_in - done)
        sampler.advance(step)
        yield step
    for draw in range(chains.n_draws):
        sampler.advance(chains.thin)
        draws.alpha[chain, draw] = sampler.alpha
        draws.pi[chain, draw] = sampler.pi
        draws.phi[chain, draw] = sampler.phi
        draws.class_sizes[chain, draw] = sampler.sizes
        draws.log_likelihood[chain, draw] = sampler.log_likelihood()
        if draws.allocations is not None:
            draws.allocations.class_of[chain, draw] = sampler.class_of
            draws.allocations.level_counts[chain, draw] = sampler.level_counts
        yield chains.thin


CHAINS = Chains(n_classes=40, burn_in=3000, n_draws=100, thin=10)
"""Settings to synthesize a survey of 10,000 records: a minute on two cores."""


@dataclass(frozen=True, repr=False)
class FittedDPMPM(Overview):
    """A DPMPM fitted to a table: draws from the posterior of its parameters."""

    schema: Schema
    n_records: int
    draws: Draws

    def _overview(self) -> tuple:
        draws = self.draws
        by_chain = draws.log_likelihood
        state = "too short for R-hat"
        if draws.n_draws >= 4:
            (state,) = diagnostics.summary({"log likelihood": by_chain})["verdict"]
        sentence = (
            f"DPMPM fitted to {self.n_records:,} records: {draws.n_chains} chains, a "
            f"row each, of {draws.n_draws:,} draws; by their log likelihood: {state}."
        )
        return sentence, {"mean log likelihood": by_chain.mean(axis=1)}

    def release(
        self, n: int = 1, size: int | None = None, *, rng: Generator
    ) -> list[Microdata]:
        """Return n fully synthetic tables of `size` records, each from another draw.

        n is at most the number of draws. If `size` is not given, the tables have as
        many records as the original.
        """
        size = self.n_records if size is None else size
        return [
            Microdata(codes, self.schema)
            for codes in self.draws.release(n, size, rng=rng)
        ]


def fit_dpmpm(
    data: pd.DataFrame | Microdata,
    chains: Chains = CHAINS,
    *,
    schema: Schema | None = None,
    rng: Generator,
) -> FittedDPMPM:
    """Fit the Dirichlet process mixture of products of multinomials to a table.

    Parameters
    ----------
    data : DataFrame or Microdata
        Categorical columns, or strings or numbers that stand for categories; one record
        or more.
    chains : Chains
        Settings of the chains and the prior distribution; `CHAINS` if not given.
    schema : Schema, optional
        Variables and levels of a DataFrame. If not given, its categories and the values
        that occur.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    FittedDPMPM
        `FittedDPMPM.release` draws synthetic tables. To check the convergence of the
        chains, see `FittedDPMPM.draws` and `Draws.to_datatree`.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> jobs = ["cook", "smith"] * 20
    >>> people = pd.DataFrame({"job": jobs, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> few = Chains(n_classes=3, burn_in=50, n_draws=20)
    >>> fitted = fit_dpmpm(people, few, rng=np.random.default_rng(1))
    >>> released = fitted.release(2, rng=np.random.default_rng(2))
    >>> [table.to_frame().shape for table in released]
    [(40, 2), (40, 2)]
    """
    table = as_microdata(data, schema)
    draws = sample_posterior(table.codes, table.schema.n_levels, chains, rng=rng)
    return FittedDPMPM(table.schema, len(table), draws)


@dataclass(frozen=True, eq=False)
class DPMPMSynthesizer:
    """The DPMPM as a synthesizer, which is fitted to each table.

    It releases one table. Its density has no closed form; `srlib.risk.posterior_risk`
    estimates it from chains if no synthesizer is given.
    """

    n_levels: Ints
    chains: Chains = CHAINS

    def release(self, data: Ints, *, rng: Generator) -> NDArray[np.uint8]:
        """Draw a release of as many records as the data, from chains of its own."""
        draws = sample_posterior(data, self.n_levels, self.chains, rng=rng)
        return draws.release(1, len(data), rng=rng)[0]
