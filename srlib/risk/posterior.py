"""The posterior disclosure risk of a table, in one call."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib import diagnostics
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema
from srlib.display import percent
from srlib.dpmpm.model import Chains
from srlib.dpmpm.predict import cell_log_prob
from srlib.mechanism.bayes import posterior, rank
from srlib.progress import progress as progress_bar
from srlib.progress import silent
from srlib.risk.agreement import APART, rounds
from srlib.risk.candidates import Data, LogPrior, Support, check_grown, checked_chains, coded_tables
from srlib.risk.errors import jackknife, log_mean
from srlib.risk.estimators import predictive_ratio
from srlib.risk.sets import DrawSets
from srlib.risk.synthesizers import Density, log_likelihoods
from srlib.trees import (
    SequentialTrees,
    Trees,
)

# Rounds of 1,000, 4,000 and 16,000 iterations: at 10,000 records all three take some two minutes
# of one processor given the data, and twice that given the data and a release.
ROUNDS = rounds(16_000, n_classes=40, n_draws=500, n_chains=8)
# Above this Pareto k, draws given the data cannot stand for draws given all other records.
MAX_PARETO_K = 0.7

_BLOCK = 1 << 24  # numbers of all chains, or of all candidates, for one block of combinations
_COLUMNS = (
    "repetitions", "probability", "rank", "excluded", "log_mcse", "r_hat", "pareto_k", "reliable",
)  # fmt: skip


class ImpossibleRelease(ValueError):
    """Releases that a synthesizer cannot have drawn from the original."""


@dataclass(frozen=True, repr=False)
class PosteriorRisk:
    """Risk of each combination of a table, and how far it can be trusted.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    combinations : (n, n_variables) int
        Distinct combinations of the original, coded from 0.
    repetitions : (n,) int64
        Records that have each.
    probability : (n,) float64
        Posterior probability of the true combination among its candidates.
    rank : (n,) float64
        Its rank, 1 for the most probable; ties share their mean rank.
    excluded : (n,) int64
        Candidates that could not have led to the releases: their likelihood is zero.
    support_size : int
        Number of candidates, the truth among them.
    log_mcse : (n,) float64
        Monte Carlo standard error of the log of the probability, from between chains, or between
        estimates of a density; 0 where it is exact.
    r_hat : (n,) float64
        Largest R-hat of the log probability of the combination over all sets of chains; NaN where
        there are none.
    pareto_k : (n,) float64
        Pareto k of the weights that leave the record out of the draws given the data; NaN where
        there are fewer than 30 draws.
    apart : (n_sets,) float64
        For the chains given the data, and for those given the data joined with each release:
        share of the combinations whose R-hat is above `diagnostics.MAX_R_HAT`. Empty where there
        are no chains.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": rng.integers(0, 2, 40)})
    >>> few = Chains(n_classes=2, burn_in=20, n_draws=50)
    >>> risk = posterior_risk(people, people.sample(frac=1, random_state=1), chains=few, rng=rng)
    >>> risk.to_frame().columns[:4].tolist()
    ['job', 'sick', 'repetitions', 'probability']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """

    schema: Schema
    combinations: NDArray[np.integer]
    repetitions: NDArray[np.int64]
    probability: NDArray[np.float64]
    rank: NDArray[np.float64]
    excluded: NDArray[np.int64]
    support_size: int
    log_mcse: NDArray[np.float64]
    r_hat: NDArray[np.float64]
    pareto_k: NDArray[np.float64]
    apart: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<PosteriorRisk: {self.summary()}>"

    @property
    def exact(self) -> bool:
        """Whether the risks are free of Monte Carlo error: computed from a density."""
        return not len(self.apart) and not self.log_mcse.any()

    @property
    def converged(self) -> bool:
        """Whether all sets of chains agree for 95 % of the combinations."""
        return bool((self.apart <= APART).all())

    @property
    def reliable(self) -> NDArray[np.bool_]:
        """Whether R-hat and Pareto k of a combination are within their limits, (n,)."""
        agree = np.isnan(self.r_hat) if not len(self.apart) else self.r_hat <= diagnostics.MAX_R_HAT
        return agree & np.isfinite(self.log_mcse) & ~(self.pareto_k > MAX_PARETO_K)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each combination.

        Returns
        -------
        DataFrame
            The variables, with their labels as values; repetitions, probability, rank, excluded,
            log_mcse, r_hat, pareto_k and reliable.
        """
        frame = self.schema.decode(self.combinations)
        return frame.assign(**{name: getattr(self, name) for name in _COLUMNS})

    def summary(self) -> str:
        """Say in words how high the risks are, and whether the chains support them."""
        prior = 1 / self.support_size
        above = (self.probability > 10 * prior).sum()
        sentences = [
            f"{len(self.combinations):,} combinations of {self.repetitions.sum():,} records, each "
            f"among {self.support_size:,} candidates.",
            f"The probability of the truth is {np.median(self.probability):.2g} for the median "
            f"combination and at most {self.probability.max():.2g}; it is above {10 * prior:.2g}, "
            f"ten times an equal share, for {above:,}.",
            f"The truth is the most probable candidate for {(self.rank == 1).sum():,}.",
        ]
        error = (
            "The probabilities are exact."
            if self.exact
            else "The median Monte Carlo error of a log probability is "
            f"{np.median(self.log_mcse):.2g}."
        )
        if not len(self.apart):
            only = (self.excluded == self.support_size - 1).sum()
            sentences.append(
                f"Of the {self.support_size - 1:,} alternatives a median of "
                f"{np.median(self.excluded):g} could not have led to the releases; for {only:,} "
                f"combinations none could. {error}"
            )
            return " ".join(sentences)
        sentences.append(error)
        share = np.mean(~self.reliable)
        if not self.converged:
            sentences.append(
                f"The chains have not converged: R-hat is above {diagnostics.MAX_R_HAT} for up to "
                f"{percent(self.apart.max())} of the combinations. Run longer chains before "
                "relying on these numbers."
            )
        if share:
            sentences.append(
                f"{percent(share, 1)} of the combinations are unreliable, by R-hat or by a "
                f"Pareto k above {MAX_PARETO_K}."
            )
        elif self.converged:
            sentences.append("The chains agree, and no combination is unreliable.")
        return " ".join(sentences)


def posterior_risk(
    original: Data,
    released: Data | Sequence[Data],
    *,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    synthesizer: Trees | Density | None = None,
    draws: DrawSets | None = None,
    chains: Chains | Sequence[Chains] | None = None,
    rng: np.random.Generator | None = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> PosteriorRisk:
    """Compute the posterior probability of each true record, given the releases and all others.

    The intruder knows all records but one and the synthesizer, and weighs the values that the last
    record may have (Hu, Reiter and Wang 2014). The synthesizer is the Dirichlet process mixture of
    products of multinomials (DPMPM), which is fitted to the original and to the original joined
    with each release; or it is one whose density is known, and then the risks are exact.

    Parameters
    ----------
    original : DataFrame or Microdata
        The confidential table: columns that are categorical, or texts or numbers that stand for
        categories.
    released : DataFrame or Microdata, or a sequence of these
        The releases, with the same variables.
    schema : Schema, optional
        Variables and levels. Where not given they are those of the original: its schema, or the
        categories of a categorical column and the values that occur in any other.
    unknown : sequence of str, optional
        Variables that the intruder does not know of the record. All their combinations are then
        candidates (equation 16). Where not given, candidates are all combinations that differ
        from the truth in one variable (section 3.1).
    log_prior : array_like or callable, optional
        Log prior of the candidates up to a constant, (n_combinations, support_size) with the
        truth first; or a function from a DataFrame of candidates, one a row with labels as
        values, to their logs. Uniform where not given.
    synthesizer : Trees or Density, optional
        Trees grown on the original, as `fit_trees` returns, or any other that has the two
        functions of `Density`, `release` and `log_prob`; the DPMPM if not given.
    draws : DrawSets, optional
        Draws to use instead of fitting the DPMPM.
    chains : Chains or sequence of Chains, optional
        Settings of the chains, or of several rounds of chains that run until they agree;
        `ROUNDS` where not given, which takes two or three minutes for each release of a table of
        10,000 records on two cores.
    rng : numpy.random.Generator, optional
        Source of the chains; needed where these are run.
    executor : Executor, optional
        Where blocks of combinations are done if a synthesizer is given: processes of
        `concurrent.futures`, or a Dask cluster's ``client.get_executor()``. The threads of this
        process if not given. The risks do not depend on it.
    progress : bool
        Whether bars are drawn, where there is a terminal.

    Returns
    -------
    PosteriorRisk

    Raises
    ------
    ValueError
        If the tables, `unknown`, `log_prior`, `synthesizer`, `draws`, `chains` or `rng` do not fit
        together, which is found before anything is sampled; if the synthesizer cannot have drawn
        the releases from the original.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     job, sick = rng.integers(0, 3, n), rng.integers(0, 2, n)
    ...     return pd.DataFrame({"job": np.array(["clerk", "cook", "smith"])[job], "sick": sick})
    >>> few = Chains(n_classes=2, burn_in=20, n_draws=50)
    >>> risk = posterior_risk(people(50), [people(50)], chains=few, rng=rng)
    >>> risk.support_size, len(risk.to_frame())
    (4, 6)
    """
    if executor is not None and synthesizer is None:
        raise ValueError("executor spreads the risks of a synthesizer; chains run in this process")
    if not (executor is None or hasattr(executor, "submit")):
        raise ValueError(
            f"executor is {executor!r:.50}; it must have the interface of concurrent.futures"
        )
    one_table = isinstance(released, pd.DataFrame | Microdata | str)
    several = [released] if one_table or not isinstance(released, Iterable) else released
    tables = coded_tables([original, *several], schema)
    schema, codes = tables[0].schema, [table.codes for table in tables]
    combinations, repetitions, inverse = distinct(codes[0])
    schema.check_apart(_COLUMNS)
    at = None if unknown is None else schema.positions(unknown, "unknown")
    support = Support(schema, combinations, at, log_prior)
    support.log_prior_of(slice(1))
    rows = np.empty(len(combinations), dtype=np.intp)
    rows[inverse[::-1]] = np.arange(len(inverse))[::-1]
    if synthesizer is not None:
        if draws is not None or chains is not None:
            raise ValueError("draws and chains belong to the DPMPM; synthesizer is another one")
        if isinstance(synthesizer, Trees):
            check_grown(synthesizer, tables[0])
        elif isinstance(synthesizer, type) or not isinstance(synthesizer, Density):
            raise ValueError(
                f"synthesizer is {synthesizer!r:.50}; it must be Trees, or have the functions "
                "release and log_prob. What can only release tables is for leakage_bound"
            )
        elif isinstance(synthesizer, SequentialTrees) and synthesizer.schema != schema:
            raise ValueError("synthesizer has another schema than the original")
        with nullcontext() if progress else silent():
            return _from_density(synthesizer, codes, rows, support, repetitions, executor)
    settings = _settings(draws, chains, schema, len(codes) - 1)
    if draws is None and rng is None:
        raise ValueError("rng is not given; it is the source of the chains that are run")
    with nullcontext() if progress else silent():
        if draws is None:
            assert rng is not None
            draws = DrawSets.fit(codes[0], codes[1:], schema.n_levels, settings, rng=rng)
        return _estimated(draws, support, repetitions)


def _settings(
    draws: DrawSets | None,
    chains: Chains | Sequence[Chains] | None,
    schema: Schema,
    n_releases: int,
) -> Sequence[Chains]:
    """Return the rounds of chains; raise where draws or chains do not fit the tables."""
    if draws is None:
        return checked_chains(ROUNDS if chains is None else chains)
    if chains is not None:
        raise ValueError("draws and chains are both given; chains are run where there are no draws")
    levels = schema.n_levels
    if not np.array_equal(draws.n_levels, levels) or len(draws.joined) != n_releases:
        raise ValueError(
            f"draws are of variables with levels {draws.n_levels.tolist()} and {len(draws.joined)} "
            f"releases; the tables have {levels.tolist()} and {n_releases}"
        )
    return []


def _estimated(sets: DrawSets, support: Support, repetitions: NDArray[np.int64]) -> PosteriorRisk:
    """Return the risks, block of combinations by block of combinations."""
    n = len(support.combinations)
    step = max(1, _BLOCK // (support.size * int(sets.bounds[-1])))
    r_hat = np.empty((len(sets.joined) + 1, n))
    values: dict[str, list[NDArray]] = {"probability": [], "rank": [], "log_mcse": []}
    pareto_k = []
    with progress_bar(n, "risks") as bar:
        for first in range(0, n, step):
            some = slice(first, first + step)
            codes = support.combinations[some]
            log_ratios, log_prob = zip(
                *(support.log_ratios(draws, some) for draws in sets), strict=True
            )
            risk = predictive_ratio(log_ratios, support.log_prior_of(some))
            values["probability"].append(risk.probability)
            values["rank"].append(risk.rank)
            values["log_mcse"].append(risk.log_mcse[:, 0])
            pareto_k.append(diagnostics.pareto_k(-log_prob[0].reshape(-1, len(codes)).T))
            for row, draws in zip(r_hat, sets, strict=True):
                row[some] = diagnostics.r_hat(cell_log_prob(draws, codes))
            bar.update(len(codes))
    return PosteriorRisk(
        schema=support.schema,
        combinations=support.combinations,
        repetitions=repetitions,
        excluded=np.zeros(n, dtype=np.int64),
        support_size=support.size,
        r_hat=r_hat.max(axis=0),
        pareto_k=np.concatenate(pareto_k),
        apart=np.mean(~(r_hat <= diagnostics.MAX_R_HAT), axis=1),
        **{name: np.concatenate(blocks) for name, blocks in values.items()},
    )


def _log_prob_of_truth(
    log_prior: ArrayLike, log_likelihood: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log posterior probability of the first candidates."""
    return posterior(log_likelihood, log_prior)[:, 0]


def _from_density(
    synthesizer: Trees | Density,
    codes: Sequence[NDArray[np.integer]],
    rows: NDArray[np.intp],
    support: Support,
    repetitions: NDArray[np.int64],
    executor: Executor | None,
) -> PosteriorRisk:
    """Return the risks from a density, block of combinations by block of combinations.

    The first of `codes` are the original, the others its releases.
    """
    n, n_variables = support.combinations.shape
    probability, ranks, excluded = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    log_mcse = np.zeros(n)
    step = max(1, _BLOCK // (support.size * n_variables))
    for first in range(0, n, step):
        some = slice(first, first + step)
        candidates = support.candidates(some)
        found = log_likelihoods(
            synthesizer, codes[1:], codes[0], rows[some], candidates, executor=executor
        )
        log_prior = support.log_prior_of(some)
        log_prob = found if found.ndim == 2 else log_mean(found)
        if np.isneginf(log_prob[:, 0]).any():
            raise ImpossibleRelease(
                "the releases have probability zero given the original: this synthesizer cannot "
                "have drawn them from it"
            )
        excluded[some] = np.isneginf(log_prob).sum(axis=1)
        log_posterior = posterior(log_prob, log_prior)
        probability[some], ranks[some] = np.exp(log_posterior[:, 0]), rank(log_posterior)
        if found.ndim == 3:
            _, log_mcse[some] = jackknife(partial(_log_prob_of_truth, log_prior), [found])
    return PosteriorRisk(
        schema=support.schema,
        combinations=support.combinations,
        repetitions=repetitions,
        probability=probability,
        rank=ranks,
        excluded=excluded,
        support_size=support.size,
        log_mcse=log_mcse,
        r_hat=np.full(n, np.nan),
        pareto_k=np.full(n, np.nan),
        apart=np.empty(0),
    )
