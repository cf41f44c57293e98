"""Intruders who know less, or believe something beforehand.

Hu, Reiter and Wang (2014) compute the risk under an intruder who knows all records but one, holds
a neighbourhood of the truth possible and thinks all of it equally probable. Sections 4.2 and 5
name the others: one who knows part of the record (equation 16), one whose prior is the model's
own prediction, one who lacks many records. All of them come down to posterior predictive
probabilities p(x | known records) and p(x | known records, release), as in `disclosure`.

An intruder who knows some records K, and lacks the others U besides the one record x that is
sought, averages over U. The agency draws theta_l from p(theta | D) and the release Z_l from
theta_l, and D = (K, U, x) is exchangeable under the model, so that with m(.) its marginal
likelihood

    p(x, U | K, Z) is proportional to m(D)^(1 - m) prod_l m(D, Z_l).

For m = 1 the first factor is gone, records and release are exchangeable, and summing over U
leaves p(x | K, Z): the intruder fits the model to what is known, joined with the release. For
m > 1 the releases depend on each other through the unknown records, which are then sampled.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from srlib.data.codes import cell_numbers, distinct
from srlib.dpmpm.core import (
    FIRST_POWER,
    THREADS,
    Chains,
    Draws,
    Prior,
    Sampler,
    cell_log_prob,
    group_variables,
    sample_posterior,
    synthesize,
)
from srlib.mechanism.bayes import posterior
from srlib.progress import progress
from srlib.risk.estimators import Risk, between_chains, predictive_ratio
from srlib.threads import one_blas_thread

# Iterations of the chain on the data for each proposed value of an unknown record.
EXCHANGE = 1
# Numbers that one block of records times candidates or classes may have.
BLOCK = 1 << 18

# --------------------------------------------------------------- part of a record (equation 16)


@dataclass(frozen=True)
class _Candidates:
    """All values of the unknown variables, for records whose other variables are known.

    Attributes
    ----------
    known_rows : (n, n_known) int64
        Row of each known value in ``phi``.
    unknown_rows : (size, n_unknown) int64
        Rows of the candidates' unknown values, candidates in lexicographic order.
    own : (n,) int64
        Position of the truth among the candidates.
    left_out : (n,) bool
        Whether the record is among those that the draws are given.
    """

    known_rows: NDArray[np.int64]
    unknown_rows: NDArray[np.int64]
    own: NDArray[np.int64]
    left_out: NDArray[np.bool_]

    def prob(self, pi: NDArray, phi: NDArray, part: slice = slice(None)) -> NDArray[np.float64]:
        """p(x | theta) of all candidates, over p(x_i | theta) where the record is left out.

        The class weights of what is known, (n, F), times the products of phi over the unknown
        variables, (F, size).
        """
        weights = np.repeat(pi[None], len(self.known_rows[part]), axis=0)
        for rows in self.known_rows[part].T:
            weights *= phi[rows]
        unknown = phi[self.unknown_rows].prod(axis=1, dtype=np.float64)
        prob = weights @ unknown.T
        own = prob[np.arange(len(prob)), self.own[part]]
        return prob / np.where(self.left_out[part], own, 1.0)[:, None]

    def truth_first(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the candidates, (..., n, size), with the truth's before all others'."""
        others = np.arange(len(self.unknown_rows) - 1)
        others = others + (others >= self.own[:, None])
        order = np.column_stack([self.own, others])
        return np.take_along_axis(values, order[(None,) * (values.ndim - 2)], axis=-1)


def _candidates(
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    n_levels: NDArray[np.integer],
    left_out: ArrayLike,
) -> _Candidates:
    """Checked and brought into the form that one draw after the other takes."""
    codes, hidden = np.asarray(codes, dtype=np.int64), list(unknown)
    n_variables = len(n_levels)
    if not hidden or len(set(hidden)) != len(hidden):
        raise ValueError(f"unknown is {hidden}; it must name distinct variables, one or more")
    if not set(hidden) <= set(range(n_variables)):
        raise ValueError(f"unknown is {hidden}; the variables are 0 to {n_variables - 1}")
    size = int(np.prod([int(n_levels[k]) for k in hidden], dtype=object))
    if size > BLOCK:
        raise ValueError(
            f"unknown has {size:,} combinations of levels; up to {BLOCK:,} are listed for each "
            "record, and whole_support takes all variables at once"
        )
    start = np.cumsum(n_levels) - n_levels
    rows = start + codes
    shape = tuple(int(n_levels[k]) for k in hidden)
    own = cell_numbers(codes[:, hidden], shape)
    return _Candidates(
        known_rows=np.delete(rows, hidden, axis=1),
        unknown_rows=start[hidden] + np.indices(shape).reshape(len(hidden), -1).T,
        own=own,
        left_out=np.broadcast_to(np.asarray(left_out, dtype=bool), len(codes)),
    )


@one_blas_thread
def subset_means(
    draws: Draws,
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    left_out: ArrayLike = True,
    n_workers: int | None = None,
) -> NDArray[np.float64]:
    """Log predictive probabilities of all values of some variables, for all records at once.

    The candidates of a record agree with it outside the unknown variables (equation 16).

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n, n_variables) int
        The true combinations x_i, coded from 0.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    left_out : (n,) bool, or one for all
        Whether a record is among those that the draws are given. It is then left out by
        averaging p(x | theta) / p(x_i | theta) instead of p(x | theta).
    n_workers : int, optional
        Blocks of records taken at the same time; `THREADS` if not given.

    Returns
    -------
    (n_chains, n, prod(n_levels[unknown])) float64
        Log of each chain's mean, the truth first, then in lexicographic order, as
        `disclosure.predictive_ratio` takes them.

    Raises
    ------
    ValueError
        If `unknown` is empty, repeats a variable or names none, or has more than `BLOCK`
        combinations of levels.
    """
    candidates = _candidates(codes, unknown, draws.n_levels, left_out)
    n, size = len(candidates.own), len(candidates.unknown_rows)
    sums = np.zeros((draws.n_chains, n, size))
    step = max(1, BLOCK // max(size, draws.n_classes))

    def run(chain: int, first: int) -> None:
        part = slice(first, first + step)
        for pi, phi in zip(draws.pi[chain], draws.phi[chain], strict=True):
            sums[chain, part] += candidates.prob(pi, phi, part)

    blocks = [(chain, first) for chain in range(draws.n_chains) for first in range(0, n, step)]
    with ThreadPoolExecutor(n_workers or THREADS) as pool:
        list(pool.map(run, *zip(*blocks, strict=True)))
    return candidates.truth_first(np.log(sums) - np.log(draws.n_draws))


# --------------------------------------------------------- what a release says, record by record


def evidence(
    data: NDArray[np.float64],
    joined: Sequence[NDArray[np.float64]],
    log_prior: ArrayLike = 0.0,
    *,
    model_prior: bool = False,
) -> pd.DataFrame:
    """What the releases say of every record, and how far each number can be trusted.

    Parameters
    ----------
    data, joined, log_prior, model_prior
        As of `disclosure.predictive_ratio`.

    Returns
    -------
    DataFrame
        One row a record: prior and probability (posterior) of the truth, its rank, and three
        logarithms with their Monte Carlo standard errors (`_mcse`): log_gain, posterior over
        prior; log_odds_needed, the prior odds of the truth against the leading candidate, over
        those that the intruder has, at which the two draw level (equation 18); and log_ratio,
        what the release multiplies the odds of the truth by, against the other candidates
        weighted by their prior: the log L of `acceptance`.
    """
    fixed = np.broadcast_to(np.asarray(log_prior, dtype=float), data.shape[1:])

    def told(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray:
        before = posterior(model_prior * of_data, fixed)
        after = posterior(sum(of_joined) + (model_prior - len(joined)) * of_data, fixed)
        gain = after[:, 0] - before[:, 0]
        needed = after.max(axis=1) - after[:, 0]
        return np.stack([gain, needed, _logit(after) - _logit(before)])

    value, mcse = between_chains(told, [data, *joined])
    risk = predictive_ratio(data, joined, log_prior, model_prior=model_prior)
    frame = pd.DataFrame({"prior": np.exp(risk.log_prob[:, 0] - value[0])})
    frame["probability"], frame["rank"] = risk.probability, risk.rank
    for name, one, error in zip(("gain", "odds_needed", "ratio"), value, mcse, strict=True):
        frame[f"log_{name}"], frame[f"log_{name}_mcse"] = one, error
    return frame


def _logit(log_prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log odds of the truth, candidate 0, against all others together."""
    return log_prob[:, 0] - logsumexp(log_prob[:, 1:], axis=1)


# -------------------------------------------------------------- some of the records, not all


@dataclass(frozen=True)
class PartialKnowledge:
    """What an intruder who knows some records believes of others, before and after the release.

    Attributes
    ----------
    before : (n_chains, n, size) float64
        Log predictive probabilities of the candidates given the known records, from each chain,
        up to a constant of each record; the truth first.
    after : list of (n_chains, n, size) float64
        The same given the known records and the releases; where all other records are known,
        given those and each release.
    traces : list of (n_chains, n_draws, n) float64
        For each set of chains, log probabilities of the truth in every draw: for diagnostics.
    """

    before: NDArray[np.float64]
    after: list[NDArray[np.float64]]
    traces: list[NDArray[np.float64]]

    def risk(self, log_prior: ArrayLike = 0.0, *, model_prior: bool = False) -> Risk:
        """Posterior risk under a prior over the candidates, as `disclosure.predictive_ratio`."""
        return predictive_ratio(self.before, self.after, log_prior, model_prior=model_prior)

    def evidence(self, log_prior: ArrayLike = 0.0, *, model_prior: bool = False) -> pd.DataFrame:
        """What the releases say of each record, as `evidence`."""
        return evidence(self.before, self.after, log_prior, model_prior=model_prior)

    @one_blas_thread
    def averages(self, groups: ArrayLike) -> pd.DataFrame:
        """Mean log probabilities of the truth over groups of records.

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

        sets = [self.before, *self.after]
        value, mcse = between_chains(averaged, sets)
        gain = told(*(logsumexp(chains, axis=0) for chains in sets))[3]
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
    releases: Sequence[NDArray[np.integer]],
    n_levels: NDArray[np.integer],
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    left_out: ArrayLike = True,
    n_classes: int,
    burn_in: int,
    n_draws: int,
    thin: int,
    n_chains: int = 4,
    rng: np.random.Generator,
    prior: Prior | None = None,
    n_workers: int | None = None,
    label: str = "some records",
) -> PartialKnowledge:
    """Risk of records under an intruder who knows some of the others, and averages over the rest.

    With one release this is exact up to Monte Carlo error, and the number of unknown records does
    not matter. Nor is anything sampled but parameters where no record is unknown: that is the
    intruder of `disclosure.predictive_ratio`. Otherwise it is what `augmented_means` makes of it.
    Knowing no record, the intruder expects every cell alike.

    Parameters
    ----------
    known : (n_known, n_variables) int
        The records that the intruder knows, coded from 0; none is possible.
    n_unknown : int
        Records of the data that the intruder lacks, besides the one that is sought.
    releases : sequence of (n_l, n_variables) int
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
    n_classes, burn_in, n_draws, thin, n_chains, rng, prior, n_workers, label
        As of `dpmpm.sample_posterior`.

    Returns
    -------
    PartialKnowledge

    Raises
    ------
    ValueError
        If there is no release, n_unknown is negative, or an argument is not as said.
    """
    if not releases:
        raise ValueError("releases is empty; the intruder sees one release or more")
    if n_unknown < 0:
        raise ValueError(f"n_unknown is {n_unknown}; it must be 0 or more")
    levels_of = np.asarray(n_levels, dtype=np.int64)
    candidates = _candidates(codes, unknown, levels_of, left_out)
    if candidates.left_out.any() and len(known) == 0:
        raise ValueError(
            "left_out says that sought records are among the known ones; known is empty"
        )
    settings: dict[str, Any] = {
        "n_classes": n_classes, "burn_in": burn_in, "n_draws": n_draws, "thin": thin,
        "n_chains": n_chains, "prior": prior, "n_workers": n_workers, "label": label,
    }  # fmt: skip
    chains = Chains(
        n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=thin, n_chains=n_chains,
        prior=prior or Prior(),
    )  # fmt: skip
    traces: list[NDArray[np.float64]] = []

    def predicted(records: NDArray[np.integer]) -> NDArray[np.float64]:
        draws = sample_posterior(records, levels_of, chains, rng=rng, label=label)
        traces.append(cell_log_prob(draws, codes))
        return subset_means(draws, codes, unknown, left_out=left_out, n_workers=n_workers)

    if len(known):
        before = predicted(known)
    else:  # every cell has the same probability under the prior, exactly
        before = np.zeros((2, len(candidates.own), len(candidates.unknown_rows)))
    if len(releases) == 1 or n_unknown == 0:
        after = [predicted(np.vstack([known, release])) for release in releases]
    else:
        if len(set(candidates.left_out)) > 1:
            raise ValueError(
                "left_out differs between records; with several releases and unknown records the "
                "sought records are all among the known ones, or none is"
            )
        found = augmented_means(
            known, n_unknown, releases, levels_of, codes, unknown,
            left_out=bool(candidates.left_out[0]), rng=rng, **settings,
        )  # fmt: skip
        after = [found.log_means]
        traces.append(posterior(found.log_terms)[..., 0])
    return PartialKnowledge(before, after, traces)


@dataclass(frozen=True)
class Augmented:
    """What chains that sample the unknown records say of the candidates.

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
def augmented_means(
    known: NDArray[np.integer],
    n_unknown: int,
    releases: Sequence[NDArray[np.integer]],
    n_levels: NDArray[np.integer],
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    n_classes: int,
    burn_in: int,
    n_draws: int,
    thin: int,
    n_chains: int = 4,
    rng: np.random.Generator,
    left_out: bool = True,
    prior: Prior | None = None,
    n_workers: int | None = None,
    label: str = "unknown records",
) -> Augmented:
    """Predictive probabilities given known records and several releases, by data augmentation.

    The state of a chain is the unknown records U and, for each release, the parameters theta_l
    that made it. One pass over U proposes for each record a value from p(. | theta_r), r at
    random. The factor m(D)^(1 - m) has no closed form; in the ratio m(D) / m(D') it is replaced
    by p(D | w) / p(D' | w) with w from p(w | D'), once for each release but one, which leaves the
    stationary distribution as it is (the exchange algorithm). Here w is a Gibbs chain of its own
    that follows the records, one iteration for each proposal, so that it is exact for one class
    and otherwise as good as that chain's mixing. With one release nothing has to be exchanged.

    Parameters
    ----------
    known, n_unknown, releases, n_levels, codes, unknown, left_out, prior
        As of `partial_knowledge`, `left_out` the same for all records.
    n_classes, burn_in, n_draws, thin, n_chains, rng, n_workers, label
        As of `dpmpm.sample_posterior`. A draw is a pass over U followed by `thin` iterations
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
    if thin < 2:
        raise ValueError(f"thin is {thin}; where unknown records are sampled it must be 2 or more")
    levels_of = np.asarray(n_levels, dtype=np.int64)
    candidates = _candidates(codes, unknown, levels_of, left_out)
    shape = (n_draws, len(candidates.own), len(candidates.unknown_rows))
    log_terms = np.empty((n_chains, *shape))
    accepted = np.zeros(n_chains)

    def run(at: int, chain_rng: np.random.Generator) -> None:
        chain = _Chain(
            known, n_unknown, releases, levels_of, n_classes, prior or Prior(), chain_rng
        )
        chain.start(burn_in // 2)
        for draw in range(-(burn_in // 2 // thin), n_draws):
            if draw == 0:
                chain.accepted = 0
            chain.renew_records()
            log_term = chain.renew_parameters(thin, candidates)
            if draw >= 0:
                log_terms[at, draw] = log_term
            bar.update()
        accepted[at] = chain.accepted

    total = n_chains * (burn_in // 2 // thin + n_draws)
    with progress(total, label) as bar, ThreadPoolExecutor(n_workers or THREADS) as pool:
        list(pool.map(run, range(n_chains), rng.spawn(n_chains)))
    share = accepted.sum() / max(1, n_chains * n_draws * n_unknown)
    return Augmented(candidates.truth_first(log_terms), float(share))


class _Chain:
    """One chain over the unknown records and the parameters behind each release."""

    def __init__(
        self,
        known: NDArray[np.integer],
        n_unknown: int,
        releases: Sequence[NDArray[np.integer]],
        n_levels: NDArray[np.int64],
        n_classes: int,
        prior: Prior,
        rng: np.random.Generator,
    ) -> None:
        self.n_levels, self.rng, self.accepted = n_levels, rng, 0
        self.level_start = np.cumsum(n_levels) - n_levels
        self.grouping = group_variables(n_levels)
        # Values that are possible and plausible; the chain forgets them.
        self.records = rng.choice(np.vstack(releases), n_unknown)

        def sampler(given: NDArray[np.integer]) -> Sampler:
            combinations, counts, _ = distinct(given)
            combinations = np.vstack([self.records, combinations])
            counts = np.append(np.ones(n_unknown, dtype=np.int64), counts)
            return Sampler(combinations, counts, n_levels, n_classes, prior, rng)

        self.of_releases = [sampler(np.vstack([known, release])) for release in releases]
        self.of_data = [sampler(known) for _ in releases[1:]]

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
        proposed = synthesize(made.pi, made.phi, self.n_levels, len(self.records), self.rng)
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

    def renew_parameters(self, n_iterations: int, candidates: _Candidates) -> NDArray[np.float64]:
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
        self, samplers: Sequence[Sampler], n_iterations: int, candidates: _Candidates
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
