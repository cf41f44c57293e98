"""Intruders who know some of the records, not all.

Hu, Reiter and Wang (2014) compute the risk under an intruder who knows all records but one. Section
5 names one who lacks many. Such an intruder knows some records K, lacks the others U besides the
one record x that is sought, and averages over U. The agency draws theta_l from p(theta | D) and
the release Z_l from theta_l, and D = (K, U, x) is exchangeable under the model, so that with m(.)
its marginal likelihood

    p(x, U | K, Z) is proportional to m(D)^(1 - m) prod_l m(D, Z_l).

For m = 1 the first factor is gone, records and release are exchangeable, and summing over U
leaves p(x | K, Z): the intruder fits the model to the known records joined with the release. For
m > 1 the releases depend on each other through the unknown records, which are then sampled.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from srlib import checks
from srlib.data.codes import distinct
from srlib.dpmpm.gibbs import FIRST_POWER, Sampler, sample_posterior
from srlib.dpmpm.kernels import THREADS, group_variables
from srlib.dpmpm.model import Chains
from srlib.dpmpm.predict import cell_log_prob
from srlib.dpmpm.release import synthesize
from srlib.mechanism.bayes import posterior
from srlib.progress import progress
from srlib.risk.errors import jackknife
from srlib.risk.estimators import Risk, evidence, predictive_ratio
from srlib.risk.partial import Candidates, candidates_of, subset_log_means
from srlib.threads import one_blas_thread

# Iterations of the chain on the data for each proposed value of an unknown record.
EXCHANGE = 1


@dataclass(frozen=True)
class PartialKnowledge:
    """Beliefs of an intruder who knows some records about others, before and after the release.

    Attributes
    ----------
    log_means : sequence of (n_chains, n, size) float64
        Log predictive probabilities of the candidates, the truth first, from each chain, up to a
        constant of each record: given the known records; then given these and all releases, or,
        where all other records are known, given these and each release.
    traces : list of (n_chains, n_draws, n) float64
        For each set of chains, log probabilities of the truth in every draw: for diagnostics.
    """

    log_means: Sequence[NDArray[np.float64]]
    traces: list[NDArray[np.float64]]

    def risk(self, log_prior: ArrayLike = 0.0, *, model_prior: bool = False) -> Risk:
        """Return the posterior risk under a prior over the candidates, as `predictive_ratio`."""
        return predictive_ratio(self.log_means, log_prior, model_prior=model_prior)

    def evidence(self, log_prior: ArrayLike = 0.0, *, model_prior: bool = False) -> pd.DataFrame:
        """Tabulate what the releases say of each record, as `estimators.evidence`."""
        return evidence(self.log_means, log_prior, model_prior=model_prior)

    @one_blas_thread
    def averages(self, groups: ArrayLike) -> pd.DataFrame:
        """Average log probabilities of the truth over groups of records.

        Parameters
        ----------
        groups : (n,) array
            Name of each record's group.

        Returns
        -------
        DataFrame
            One row a group: group; before and after, under the model's own prior, and
            after_uniform, under a uniform one, as geometric means; gain, the mean log of after
            over before; gain_mcse, its Monte Carlo standard error, and gain_se, its standard
            error as a mean over a sample of records.
        """
        names, group_of = np.unique(np.asarray(groups), return_inverse=True)
        size = np.bincount(group_of)
        mean_of = np.eye(len(names))[:, group_of] / size[:, None]

        def told(before: NDArray[np.float64], *after: NDArray[np.float64]) -> NDArray[np.float64]:
            total = np.sum(after, axis=0) - (len(after) - 1) * before
            flat, prior, informed = (posterior(x)[:, 0] for x in (total - before, before, total))
            return np.stack([prior, informed, flat, informed - prior])

        def averaged(*sets: NDArray[np.float64]) -> NDArray[np.float64]:
            return told(*sets) @ mean_of.T

        value, mcse = jackknife(averaged, self.log_means)
        gain = told(*(logsumexp(chains, axis=0) for chains in self.log_means))[3]
        squares = (mean_of * (gain - value[3][:, None]) ** 2).sum(axis=1)
        frame = pd.DataFrame(
            {"group": names, "before": np.exp(value[0]), "after": np.exp(value[1])}
        )
        frame["after_uniform"] = np.exp(value[2])
        frame["gain"], frame["gain_mcse"] = value[3], mcse[3]
        return frame.assign(gain_se=np.sqrt(squares / np.maximum(size - 1, 1)))


def partial_knowledge(
    known: NDArray[np.integer],
    n_unknown: int,
    released: Sequence[NDArray[np.integer]],
    n_levels: NDArray[np.integer],
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    left_out: ArrayLike = True,
    chains: Chains,
    rng: np.random.Generator,
    label: str = "some records",
) -> PartialKnowledge:
    """Compute the risk under an intruder who knows some other records and averages over the rest.

    With one release this is exact up to Monte Carlo error, and the number of unknown records does
    not matter. Nor is anything sampled but parameters where no record is unknown: that is the
    intruder of `estimators.predictive_ratio`. Otherwise the unknown records are sampled, see
    `augment`. Knowing no record, the intruder expects every cell alike.

    Parameters
    ----------
    known : (n_known, n_variables) int
        The records that the intruder knows, coded from 0; none is possible.
    n_unknown : int
        Records of the data that the intruder lacks, besides the one that is sought.
    released : sequence of (n_l, n_variables) int
        The released data sets, one or more.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    codes : (n, n_variables) int
        The true combinations of the records that are sought, one at a time.
    unknown : sequence of int
        Positions of the variables that the intruder does not know of them, at least one.
    left_out : (n,) bool, or one for all
        Whether a sought record is among the known ones; the intruder then lacks it. With several
        releases and unknown records it must be the same for all.
    chains, rng, label
        As of `dpmpm.sample_posterior`.

    Returns
    -------
    PartialKnowledge

    Raises
    ------
    ValueError
        If there is no release, n_unknown is negative, or an argument is out of range.
    """
    if not released:
        raise ValueError("released is empty; the intruder sees one release or more")
    checks.at_least(0, n_unknown=n_unknown)
    levels_of = np.asarray(n_levels, dtype=np.int64)
    candidates = candidates_of(codes, unknown, levels_of, left_out)
    if candidates.left_out.any() and len(known) == 0:
        raise ValueError(
            "left_out says that sought records are among the known ones; known is empty"
        )
    traces: list[NDArray[np.float64]] = []

    def predicted(records: NDArray[np.integer]) -> NDArray[np.float64]:
        draws = sample_posterior(records, levels_of, chains, rng=rng, label=label)
        traces.append(cell_log_prob(draws, codes))
        return subset_log_means(draws, codes, unknown, left_out=left_out)

    if len(known):
        before = predicted(known)
    else:  # every cell has the same probability under the prior, exactly
        before = np.zeros((2, len(candidates.own), len(candidates.unknown_rows)))
    if len(released) == 1 or n_unknown == 0:
        after = [predicted(np.vstack([known, release])) for release in released]
    else:
        if len(set(candidates.left_out)) > 1:
            raise ValueError(
                "left_out differs between records; with several releases and unknown records the "
                "sought records are all among the known ones, or none is"
            )
        found = augment(
            known, n_unknown, released, levels_of, codes, unknown,
            left_out=bool(candidates.left_out[0]), chains=chains, rng=rng, label=label,
        )  # fmt: skip
        after = [found.log_means]
        traces.append(posterior(found.log_terms)[..., 0])
    return PartialKnowledge([before, *after], traces)


@dataclass(frozen=True)
class Augmented:
    """Predictive probabilities of candidates, from chains that sample the unknown records.

    Attributes
    ----------
    log_terms : (n_chains, n_draws, n, size) float64
        Summands of p(x | known records, releases), up to a constant of each record.
    acceptance : float
        Share of the proposed values of unknown records that were accepted.
    """

    log_terms: NDArray[np.float64]
    acceptance: float

    @property
    def log_means(self) -> NDArray[np.float64]:
        """Log of each chain's mean, (n_chains, n, size)."""
        return logsumexp(self.log_terms, axis=1) - np.log(self.log_terms.shape[1])


@one_blas_thread
def augment(
    known: NDArray[np.integer],
    n_unknown: int,
    released: Sequence[NDArray[np.integer]],
    n_levels: NDArray[np.integer],
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    chains: Chains,
    rng: np.random.Generator,
    left_out: bool = True,
    label: str = "unknown records",
) -> Augmented:
    """Sample predictive probabilities given known records and several releases.

    The method is data augmentation. The state of a chain is the unknown records U and, for each
    release, the parameters theta_l that made it. One pass over U proposes for each record a value
    from p(. | theta_r), r at random. The factor m(D)^(1 - m) has no closed form; in the ratio
    m(D) / m(D') it is replaced by p(D | w) / p(D' | w) with w from p(w | D'), once for each release
    but one, which leaves the stationary distribution as it is (the exchange algorithm). Here w is a
    Gibbs chain of its own that follows the records, one iteration for each proposal, so that it is
    exact for one class and otherwise as good as that chain's mixing. With one release nothing has
    to be exchanged.

    Parameters
    ----------
    known, n_unknown, released, n_levels, codes, unknown, left_out
        As of `partial_knowledge`, `left_out` the same for all records.
    chains, rng, label
        As of `dpmpm.sample_posterior`. A draw is a pass over U followed by `chains.thin` iterations
        for all parameters, over which predictive probabilities are averaged. Those given D enter
        as a reciprocal: where they vary much within `thin` iterations, a bias remains. The first
        half of the burn-in is an annealed start with U held fixed, the other half passes.

    Returns
    -------
    Augmented

    References
    ----------
    Murray, Ghahramani and MacKay (2006), MCMC for doubly-intractable distributions; Liang (2010),
    a double Metropolis-Hastings sampler, for auxiliary draws from a chain.
    """
    if chains.thin < 2:
        raise ValueError(
            f"thin is {chains.thin}; where unknown records are sampled it must be 2 or more"
        )
    levels_of = np.asarray(n_levels, dtype=np.int64)
    candidates = candidates_of(codes, unknown, levels_of, left_out)
    shape = (chains.n_draws, len(candidates.own), len(candidates.unknown_rows))
    log_terms = np.empty((chains.n_chains, *shape))
    accepted = np.zeros(chains.n_chains)
    n_dropped = chains.burn_in // 2 // chains.thin

    def run(at: int, chain_rng: np.random.Generator) -> None:
        chain = _Chain(known, n_unknown, released, levels_of, chains, chain_rng)
        chain.start(chains.burn_in // 2)
        for draw in range(-n_dropped, chains.n_draws):
            if draw == 0:
                chain.accepted = 0
            chain.renew_records()
            log_term = chain.renew_parameters(chains.thin, candidates)
            if draw >= 0:
                log_terms[at, draw] = log_term
            bar.update()
        accepted[at] = chain.accepted

    total = chains.n_chains * (n_dropped + chains.n_draws)
    with progress(total, label) as bar, ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(chains.n_chains), rng.spawn(chains.n_chains)))
    share = accepted.sum() / max(1, chains.n_chains * chains.n_draws * n_unknown)
    return Augmented(candidates.truth_first(log_terms), float(share))


class _Chain:
    """One chain over the unknown records and the parameters behind each release."""

    def __init__(
        self,
        known: NDArray[np.integer],
        n_unknown: int,
        released: Sequence[NDArray[np.integer]],
        n_levels: NDArray[np.int64],
        chains: Chains,
        rng: np.random.Generator,
    ) -> None:
        self.n_levels, self.rng, self.accepted = n_levels, rng, 0
        self.level_start = np.cumsum(n_levels) - n_levels
        self.grouping = group_variables(n_levels)
        # Values that are possible and plausible; the chain forgets them.
        self.records = rng.choice(np.vstack(released), n_unknown)

        def sampler(given: NDArray[np.integer]) -> Sampler:
            combinations, counts, _ = distinct(given)
            combinations = np.vstack([self.records, combinations])
            counts = np.append(np.ones(n_unknown, dtype=np.int64), counts)
            return Sampler(combinations, counts, n_levels, chains.n_classes, chains.prior, rng)

        self.of_releases = [sampler(np.vstack([known, release])) for release in released]
        self.of_data = [sampler(known) for _ in released[1:]]

    def start(self, n_iterations: int) -> None:
        """Annealed iterations of all parameters, the records held fixed."""
        for sampler in self.of_releases + self.of_data:
            for done in range(0, n_iterations, 10):
                power = FIRST_POWER + (1 - FIRST_POWER) * done / n_iterations
                sampler.advance(min(10, n_iterations - done), power)

    def renew_records(self) -> None:
        """Propose a new value for each unknown record, one after the other."""
        if not len(self.records):
            return
        made = self.of_releases[self.rng.integers(len(self.of_releases))]
        proposed = synthesize(made.pi, made.phi, self.n_levels, len(self.records), rng=self.rng)
        rows, start = self.grouping.rows(proposed), self.level_start
        log_ratio = self.rng.standard_exponential(len(self.records))
        for sampler in self.of_releases:
            if sampler is not made:
                for i, (old, new) in enumerate(zip(self.records, proposed, strict=True)):
                    log_ratio[i] += _log_ratio(sampler.pi, sampler.phi, start, old, new)
        for i, was in enumerate(self.of_releases[0].rows[: len(rows)].copy()):
            for sampler in self.of_data:
                sampler.rows[i] = rows[i]
                sampler.advance(EXCHANGE)
                pair = self.records[i], proposed[i]
                log_ratio[i] -= _log_ratio(sampler.pi, sampler.phi, start, *pair)
            if log_ratio[i] > 0:
                self.records[i] = proposed[i]
                self.accepted += 1
            for sampler in self.of_releases + self.of_data:
                sampler.rows[i] = rows[i] if log_ratio[i] > 0 else was

    def renew_parameters(self, n_iterations: int, candidates: Candidates) -> NDArray[np.float64]:
        """Iterations of the parameters given all records; the log term of the candidates."""
        m = len(self.of_releases)
        each = [
            self._halves([one], n_iterations, candidates).mean(axis=0) for one in self.of_releases
        ]
        log_term = np.log(each).sum(axis=0)
        if m > 1:
            halves = self._halves(self.of_data, n_iterations, candidates)
            mean = halves.mean(axis=0)
            # E[mean^(1 - m)] exceeds its limit by m (m - 1) / 2 times the mean's relative variance,
            # of which a fourth of the squared difference of the halves is an estimate.
            excess = m * (m - 1) / 8 * ((halves[1] - halves[0]) / mean) ** 2
            log_term -= (m - 1) * np.log(mean) + excess
        return log_term

    def _halves(
        self, samplers: Sequence[Sampler], n_iterations: int, candidates: Candidates
    ) -> NDArray[np.float64]:
        """Mean probabilities of the candidates in both halves of the iterations, (2, n, size)."""
        means = np.zeros((2, len(candidates.own), len(candidates.unknown_rows)))
        for sampler in samplers:
            for mean, half in zip(means, np.array_split(np.arange(n_iterations), 2), strict=True):
                for _ in half:
                    sampler.advance(1)
                    mean += candidates.prob(sampler.pi, sampler.phi) / (len(half) * len(samplers))
        return means


@njit(nogil=True, cache=True)
def _log_ratio(pi, phi, level_start, old, new):
    """Log of p(new | pi, phi) / p(old | pi, phi)."""
    p_old, p_new = 0.0, 0.0
    for f in range(pi.shape[0]):
        of_old, of_new = pi[f], pi[f]
        for k in range(level_start.shape[0]):
            of_old *= phi[level_start[k] + old[k], f]
            of_new *= phi[level_start[k] + new[k], f]
        p_old += of_old
        p_new += of_new
    return np.log(p_new / p_old)
