"""The blocked Gibbs sampler of the DPMPM, on the distinct combinations of the data."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.data.codes import Codes, distinct
from srlib.dpmpm.kernels import (
    THREADS,
    empty_tables,
    fill_tables,
    group_variables,
    iterate,
    mixture_log_prob,
)
from srlib.dpmpm.model import Allocations, Chains, Draws, Prior, checked_codes
from srlib.progress import progress

# The annealed start draws classes from their probabilities raised to powers from this one to 1.
FIRST_POWER = 0.75


class Sampler:
    """One chain of the blocked Gibbs sampler, advanced in place.

    Parameters
    ----------
    combinations : (n_combinations, n_variables) int
        Distinct combinations of levels, coded from 0.
    counts : (n_combinations,) int
        Number of records with each combination, 0 or more.
    n_levels : (n_variables,) int
        Number of levels of each variable, 2 or more.
    n_classes : int
        Truncation level F, 1 or more.
    prior : Prior
        Prior distribution.
    rng : numpy.random.Generator
        The chain's own stream.
    weighted : tuple of (k, n_variables) int and (k,) float, optional
        Further records, with their weights, in (0, 1); see `sample_posterior`.
    """

    def __init__(
        self,
        combinations: Codes,
        counts: NDArray[np.integer],
        n_levels: NDArray[np.integer],
        n_classes: int,
        prior: Prior,
        rng: np.random.Generator,
        weighted: tuple[Codes, NDArray[np.floating]] | None = None,
    ) -> None:
        levels_of = np.asarray(n_levels, dtype=np.int64)
        self.rng = rng
        self.n_classes = n_classes
        self._prior = (prior.alpha_shape, prior.alpha_rate, prior.concentration)
        self._groups = group_variables(levels_of)
        self._rows = self._groups.rows(combinations)
        self.counts = np.asarray(counts, dtype=np.int64)
        codes, weights = weighted or (combinations[:0], np.empty(0))
        classes = np.zeros(len(weights), dtype=np.int64)
        self._weighted = (self._groups.rows(codes), np.asarray(weights, dtype=np.float64), classes)
        self.alpha = 1.0
        self.pi = np.full(n_classes, 1.0 / n_classes)
        # A uniform Dirichlet whatever the prior: no combination may start with probability zero.
        self.phi = np.empty((int(levels_of.sum()), n_classes), dtype=np.float32)
        for start, levels in zip(self._groups.level_start, levels_of, strict=False):
            self.phi[start : start + levels] = rng.dirichlet(np.ones(levels), n_classes).T
        self.sizes = np.zeros(n_classes, dtype=np.int64)
        self.level_counts = np.zeros(self.phi.shape, dtype=np.int64)
        self.class_of = np.zeros(len(self.counts), dtype=np.int64)
        table, log_scale = empty_tables(self._groups, n_classes, np.float32)
        self._scratch = (table, log_scale, np.zeros(table.shape, dtype=np.int64))

    @property
    def rows(self) -> NDArray[np.int64]:
        """The combinations as `Grouping.rows` gives them; written to, they change the data."""
        return self._rows

    def advance(self, n_iterations: int, power: float = 1.0) -> None:
        """Run iterations; a `power` below one makes them part of an annealed start."""
        self.alpha = iterate(
            n_iterations,
            power,
            self._prior,
            self.counts,
            self._rows,
            self._weighted,
            self._groups,
            self.alpha,
            (self.pi, self.phi, self.sizes, self.level_counts, self.class_of),
            self._scratch,
            self.rng,
        )

    def log_likelihood(self) -> float:
        """log p(data | pi, phi), the classes summed out; each record's times its weight."""
        table, log_scale, _ = self._scratch
        fill_tables(self.pi, self.phi, self._groups, table, log_scale)
        total = 0.0
        for rows, times in ((self._rows, self.counts), self._weighted[:2]):
            log_prob = np.empty(len(rows))
            mixture_log_prob(table, log_scale, rows, log_prob)
            total += (times * log_prob).sum()
        return float(total)


def sample_posterior(
    codes: Codes,
    n_levels: NDArray[np.integer],
    chains: Chains,
    *,
    rng: np.random.Generator,
    weights: NDArray[np.floating] | None = None,
    keep_allocations: bool = False,
    label: str = "DPMPM",
) -> Draws:
    r"""Draw from the posterior of the DPMPM by blocked Gibbs sampling.

    Each chain runs on its own stream, spawned from `rng`, so that the draws do not depend on
    the number of threads. The first half of the burn-in is an annealed start: classes are drawn
    from flattened probabilities and ordered by size, so that chains settle in the same mode far
    more often than from a plain random start. After it, Metropolis swaps of neighboring labels
    keep alpha from depending on the labels that a chain happened to get.

    With weights the draws are from a pseudo-posterior. It takes the classes :math:`z_i` for
    parameters, with their prior :math:`p(z_i = f \mid \pi) = \pi_f`, and raises each record's
    likelihood given its class to a power :math:`w_i`:

    .. math:: p(\pi, \phi)\, \prod_i \pi_{z_i}
        \Bigl(\prod_k \phi^{(k)}_{z_i x_{ik}}\Bigr)^{w_i} .

    All full conditionals stay what they are: :math:`z_i` is drawn in proportion to the term above,
    a class has as many records as before, and the counts of their levels are sums of weights. With
    the class summed out a record contributes
    :math:`\sum_f \pi_f (\prod_k \phi^{(k)}_{f x_{ik}})^{w_i}`, which is one for a weight of zero
    (such records are left out) and the same however a class is divided into two alike. The latter
    would not be so if :math:`\pi_{z_i}` were raised as well; and powers of the mixture's own
    probability, at least as large by Jensen's inequality, have no full conditionals to draw from.

    Parameters
    ----------
    codes : (n_records, n_variables) int
        Levels coded from 0.
    n_levels : (n_variables,) int
        Number of levels of each variable, 2 or more.
    chains : Chains
        Number of classes and prior, number of chains and their lengths.
    rng : numpy.random.Generator
        Source of the chains' streams.
    weights : (n_records,) float, optional
        Power of each record's likelihood, in [0, 1]. With weights of one for all the draws are the
        same as without; those of zero and one cost no more than without.
    keep_allocations : bool
        Whether the draws hold the records' classes, as `left_out_log_ratios` needs, whose formulas
        are those of records of full weight.
    label : str
        What the progress bar says.

    Returns
    -------
    Draws
        The draws kept.

    Raises
    ------
    ValueError
        If there are no records, or a code is not below its variable's number of levels; if weights
        do not fit, are all zero, or lie between 0 and 1 where allocations are kept.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2, equations 1 to 6; Ishwaran and James (2001) for the
    blocked Gibbs sampler; Savitsky, Williams and Hu (2022) for the pseudo-posterior.
    """
    codes, n_levels = checked_codes(codes, n_levels)
    if codes.shape[0] == 0:
        raise ValueError("codes has no records; at least one is needed")
    weighted = None
    if weights is not None:
        weights = _checked_weights(weights, len(codes))
        part = (weights > 0) & (weights < 1)
        if part.any():
            if keep_allocations:
                raise ValueError("weights between 0 and 1 leave no allocations to keep")
            weighted = codes[part], weights[part]
        codes = codes[weights == 1]
    combinations, counts, _ = distinct(codes)
    draws = _empty_draws(chains, n_levels)
    if keep_allocations:
        allocations = Allocations(
            combinations=combinations,
            class_of=np.empty((*draws.alpha.shape, len(combinations)), dtype=np.uint16),
            level_counts=np.empty(draws.phi.shape, dtype=np.int32),
            concentration=chains.prior.concentration,
        )
        draws = replace(draws, allocations=allocations)
    stop = Event()

    def run(chain: int, chain_rng: np.random.Generator) -> None:
        sampler = Sampler(
            combinations, counts, n_levels, chains.n_classes, chains.prior, chain_rng, weighted
        )
        annealed = chains.burn_in // 2
        for done in range(0, annealed, 10):
            step = min(10, annealed - done)
            sampler.advance(step, FIRST_POWER + (1.0 - FIRST_POWER) * done / annealed)
            advance_bar(step)
        for done in range(annealed, chains.burn_in, 50):
            step = min(50, chains.burn_in - done)
            sampler.advance(step)
            advance_bar(step)
        for draw in range(chains.n_draws):
            sampler.advance(chains.thin)
            advance_bar(chains.thin)
            draws.alpha[chain, draw] = sampler.alpha
            draws.pi[chain, draw] = sampler.pi
            draws.phi[chain, draw] = sampler.phi
            draws.class_sizes[chain, draw] = sampler.sizes
            draws.log_likelihood[chain, draw] = sampler.log_likelihood()
            if draws.allocations is not None:
                draws.allocations.class_of[chain, draw] = sampler.class_of
                draws.allocations.level_counts[chain, draw] = sampler.level_counts

    def advance_bar(iterations: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        bar.update(iterations)

    total = chains.n_chains * chains.n_iterations
    with progress(total, label) as bar, ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(run, chain, r) for chain, r in enumerate(rng.spawn(chains.n_chains))]
        try:
            for chain in running:
                chain.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return draws


def _checked_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the records' weights, or raise a ValueError that says what is wrong."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,) or not ((values >= 0) & (values <= 1)).all() or not values.any():
        at = f", from {values.min():g} to {values.max():g}" if values.size else ""
        raise ValueError(
            f"weights has shape {values.shape}{at}; it must be ({n},), one for each record, from 0 "
            "to 1 and not all 0"
        )
    return values


def _empty_draws(chains: Chains, n_levels: NDArray[np.int64]) -> Draws:
    shape, n_classes = (chains.n_chains, chains.n_draws), chains.n_classes
    return Draws(
        alpha=np.empty(shape),
        pi=np.empty((*shape, n_classes)),
        phi=np.empty((*shape, int(n_levels.sum()), n_classes), dtype=np.float32),
        class_sizes=np.empty((*shape, n_classes), dtype=np.int64),
        log_likelihood=np.empty(shape),
        n_levels=n_levels,
    )
