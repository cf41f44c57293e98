"""The posterior disclosure risk of a table, in one call."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.checks import require
from srlib.data.schema import Microdata, Schema
from srlib.display import percent
from srlib.dpmpm.model import Chains
from srlib.progress import progress as progress_bar
from srlib.progress import silent
from srlib.risk.agreement import APART, rounds
from srlib.risk.candidates import Data, LogPrior, Sought, coded, coded_releases, sought
from srlib.risk.column import Column
from srlib.risk.draw_sets import DrawSets
from srlib.risk.synthesizers import Density, check_density, density_column
from srlib.trees import Trees

# Rounds of 1,000, 4,000 and 16,000 iterations: at 10,000 records all three take some two minutes
# of one processor given the data, and twice that given the data and a release.
ROUNDS = rounds(16_000, n_classes=40, n_draws=500, n_chains=8)
# Above this Pareto k, draws given the data cannot stand for draws given all other records.
MAX_PARETO_K = 0.7

_BLOCK = 1 << 24  # numbers of all chains, or of all candidates, for one block of combinations
_COLUMNS = (
    "repetitions", "probability", "rank", "excluded", "log_mcse", "r_hat", "pareto_k", "reliable",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class PosteriorRisk:
    """Risk of each combination of a table, and how far it can be trusted.

    Attributes
    ----------
    schema, combinations, repetitions
        Variables of the table; distinct combinations of the original, (n, n_variables) int; how
        many records have each.
    probability : (n,) float64
        Posterior probability of the true combination among its candidates.
    rank : (n,) float64
        Its rank, 1 for the most probable; ties share their mean rank.
    excluded : (n,) int64
        Candidates that could not have led to the releases: their likelihood is zero.
    support_size : int
        Number of candidates, the truth among them.
    log_mcse : (n,) float64
        Monte Carlo standard error of the log of the probability, from between chains; 0 where it
        is exact.
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
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> trees, rng = srlib.fit_trees(people), np.random.default_rng(1)
    >>> risk = posterior_risk(people, trees.release(rng=rng), synthesizer=trees)
    >>> risk.exact, risk.support_size
    (True, 3)
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
        return not len(self.apart)

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
        """Return one row for each combination: its values, by their labels, and its numbers."""
        frame = self.schema.decode(self.combinations)
        return frame.assign(**{name: getattr(self, name) for name in _COLUMNS})

    def summary(self) -> str:
        """Say in words how high the risks are, and whether the chains support them."""
        limit = 10 / self.support_size
        meaning = "ten times an equal share"
        if limit >= 1:  # of few candidates, which no probability exceeds
            limit = 0.5
            meaning = "more than all alternatives together"
        above = (self.probability > limit).sum()
        sentences = [
            f"{len(self.combinations):,} combinations of {self.repetitions.sum():,} records, each "
            f"among {self.support_size:,} candidates.",
            f"The probability of the truth is {np.median(self.probability):.2g} for the median "
            f"combination and at most {self.probability.max():.2g}; it is above {limit:.2g}, "
            f"{meaning}, for {above:,}.",
            f"The truth is the most probable candidate for {(self.rank == 1).sum():,}.",
        ]
        if self.exact:
            only = (self.excluded == self.support_size - 1).sum()
            sentences.append(
                f"Of the {self.support_size - 1:,} alternatives a median of "
                f"{np.median(self.excluded):g} could not have led to the releases; for {only:,} "
                "combinations none could. The probabilities are exact."
            )
            return " ".join(sentences)
        error = np.median(self.log_mcse)
        sentences.append(f"The median Monte Carlo error of a log probability is {error:.2g}.")
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

    Raises
    ------
    ValueError
        If arguments do not fit together, which is found before anything is sampled; if the
        synthesizer cannot have drawn the releases from the original.

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
    spread = "executor spreads the risks of a synthesizer; chains run in this process"
    require(executor is None or synthesizer is not None, spread)
    wrong = f"executor is {executor!r:.50}; it must have the interface of concurrent.futures"
    require(executor is None or hasattr(executor, "submit"), wrong)
    table = coded(original, "original", schema)
    one_table = isinstance(released, pd.DataFrame | Microdata | str)
    several = [released] if one_table or not isinstance(released, Iterable) else list(released)
    tables = coded_releases(several, table.schema)
    table.schema.check_reserved_names(_COLUMNS)
    records = sought(table, unknown, log_prior)
    with nullcontext() if progress else silent():
        if synthesizer is None:
            sets = _sets(table, tables, draws, chains, rng)

            def of_chains(some: slice) -> Column:
                return sets.column(records.combinations[some], records.unknown)

            return _read(records, of_chains, sum(each.n_chains for each in sets))
        wrong = "draws and chains belong to the DPMPM; synthesizer is another one"
        require(draws is None and chains is None, wrong)
        check_density(synthesizer, table)

        def of_density(some: slice) -> Column:
            rows, candidates = records.rows[some], records.candidates(some)
            return density_column(synthesizer, tables, table.codes, rows, candidates, executor)

        return _read(records, of_density)


def _sets(
    table: Microdata,
    tables: Sequence[NDArray[np.uint8]],
    draws: DrawSets | None,
    chains: Chains | Sequence[Chains] | None,
    rng: np.random.Generator | None,
) -> DrawSets:
    """Return draws that fit the tables: those that are given, or else of chains that are run."""
    levels = table.schema.n_levels
    if draws is None:
        if rng is None:
            raise ValueError("rng is not given; it is the source of the chains that are run")
        settings = ROUNDS if chains is None else chains
        return DrawSets.fit(table.codes, tables, levels, settings, rng=rng)
    require(chains is None, "draws and chains are both given; chains run where there are no draws")
    told = f"draws are of levels {draws.n_levels.tolist()} and {len(draws.joined)} releases"
    right = np.array_equal(draws.n_levels, levels) and len(draws.joined) == len(tables)
    require(right, f"{told}; the tables have {levels.tolist()} and {len(tables)}")
    return draws


def _read(records: Sought, column: Callable[[slice], Column], n_chains: int = 0) -> PosteriorRisk:
    """Read the column of all combinations, block of combinations by block of combinations."""
    n, n_variables = records.combinations.shape
    step = max(1, _BLOCK // (records.size * max(n_chains, n_variables)))
    blocks = []
    with progress_bar(n, "risks") if n_chains else nullcontext() as bar:
        for first in range(0, n, step):
            some = slice(first, first + step)
            found = column(some)
            risk = found.posterior(records.log_prior_of(some))
            excluded = np.isneginf(found.log_likelihood).sum(axis=1)
            of_risk = risk.probability, risk.rank, risk.log_mcse[:, 0]
            blocks.append((*of_risk, excluded, found.pareto_k, found.r_hat))
            if bar is not None:
                bar.update(len(excluded))
    *parts, r_hat = (np.concatenate(part, axis=-1) for part in zip(*blocks, strict=True))
    names = "probability", "rank", "log_mcse", "excluded", "pareto_k"
    return PosteriorRisk(
        schema=records.table.schema,
        combinations=records.combinations,
        repetitions=records.repetitions,
        support_size=records.size,
        r_hat=r_hat.max(axis=0) if n_chains else np.full(n, np.nan),
        apart=np.mean(~(r_hat <= diagnostics.MAX_R_HAT), axis=1),
        **dict(zip(names, parts, strict=True)),
    )
