"""The posterior disclosure risk of a table, in one call."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd

from srlib import diagnostics
from srlib.arrays import ArrayLike, Bools, Floats, Generator, Ints, NDArray
from srlib.data import Codes, Microdata, Schema
from srlib.display import Overview, percent
from srlib.progress import progress as progress_bar
from srlib.progress import silent
from srlib.risk.candidates import (
    Data,
    LogPrior,
    Rows,
    TargetRecords,
    encode,
    encode_releases,
    target_records,
)
from srlib.risk.draw_sets import (
    MAX_NOT_CONVERGED,
    DrawSets,
    Schedule,
    chain_schedule,
    share_not_converged,
)
from srlib.risk.likelihood import CandidateLikelihood
from srlib.risk.synthesizers import Density, check_density, density_likelihood
from srlib.trees import Trees

# Chains of 1,000, 4,000, 16,000 and 64,000 iterations: given 10,000 records all four
# take some four minutes of one processor; given these and a release, fewer are needed.
SCHEDULE = chain_schedule(64_000, n_classes=40, n_draws=500, n_chains=8)
# Above this Pareto k, draws given the data cannot stand in for draws given all other
# records.
MAX_PARETO_K = 0.7

# Numbers in one block of combinations, over all chains or all candidates.
_BLOCK = 1 << 24
_COLUMNS = (
    "repetitions",
    "probability",
    "rank",
    "n_excluded",
    "log_mcse",
    "r_hat",
    "pareto_k",
    "reliable",
)


@dataclass(frozen=True, repr=False)
class PosteriorRisk(Overview):
    """Posterior disclosure risk of each combination of a table, with its diagnostics.

    Attributes
    ----------
    schema, combinations, repetitions
        Variables of the table; distinct combinations of the original, (n, n_variables)
        int; number of records with each combination.
    probability : (n,) float64
        Posterior probability of the true record among its candidates.
    rank : (n,) float64
        Rank of the true record, 1 for the most probable candidate; ties share their
        mean rank.
    n_excluded : (n,) int64
        Number of candidates that cannot have led to the releases: their likelihood is
        zero.
    support_size : int
        Number of candidates, including the true record.
    log_mcse : (n,) float64
        Monte Carlo standard error of the log of the probability, from the differences
        between chains; 0 where the risk is exact.
    r_hat : (n,) float64
        Largest R-hat of the log probability of the combination over all sets of chains;
        NaN without chains.
    pareto_k : (n,) float64
        Pareto k of the importance weights that leave the record out of the draws given
        the data; NaN with fewer than 30 draws.
    share_not_converged : (n_sets,) float64
        Share of the combinations whose R-hat is above `diagnostics.MAX_R_HAT`: for the
        chains given the data, then for those given the data joined with each release.
        Empty without chains.

    Examples
    --------
    >>> import srlib
    >>> sick = ["no"] * 30 + ["yes"] * 10
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": sick})
    >>> trees, rng = srlib.fit_trees(people), np.random.default_rng(1)
    >>> risk = posterior_risk(people, trees.release(rng=rng), synthesizer=trees)
    >>> risk.exact, risk.support_size
    (True, 3)
    """

    schema: Schema
    combinations: Codes
    repetitions: Ints
    probability: Floats
    rank: Floats
    n_excluded: Ints
    support_size: int
    log_mcse: Floats
    r_hat: Floats
    pareto_k: Floats
    share_not_converged: Floats

    @property
    def exact(self) -> bool:
        """Whether the risks come from a density, and so have no Monte Carlo error."""
        return not len(self.share_not_converged)

    @property
    def converged(self) -> bool:
        """Whether every set of chains agrees for 95 % of the combinations."""
        return bool((self.share_not_converged <= MAX_NOT_CONVERGED).all())

    @property
    def reliable(self) -> Bools:
        """Whether each combination's risk is reliable, (n,).

        Its chains agree by R-hat, or it is exact; its error is finite; and Pareto k,
        where there is one, is within its limit.
        """
        agree = self.exact | (self.r_hat <= diagnostics.MAX_R_HAT)
        return agree & np.isfinite(self.log_mcse) & ~(self.pareto_k > MAX_PARETO_K)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each combination: labels, risk, diagnostics."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return self.schema.decode(self.combinations).assign(**columns)

    def _overview(self) -> tuple:
        counts, edges = np.histogram(self.probability, 5, (0, 1))
        sentence = (
            f"{self._risk_clause()}; {percent(self.reliable.mean())} of the "
            "combinations are reliable."
        )
        return sentence, {"probability from": edges[:-1], "combinations": counts}

    def _risk_clause(self) -> str:
        """Say what the intruder finds, in the middle and at most."""
        return (
            "For an intruder who knows all other records and the synthesizer, the "
            "posterior probability of the true record has a median of "
            f"{np.median(self.probability):.2g} and a maximum of "
            f"{self.probability.max():.2g}"
        )

    def summary(self) -> str:
        """Return a text that says how high the risks are and how reliable."""
        threshold = 10 / self.support_size
        meaning = "ten times 1 over the number of candidates"
        if threshold >= 1:  # no probability exceeds it
            threshold = 0.5
            meaning = "more than all other candidates together"
        n_above = (self.probability > threshold).sum()
        n_first = (self.rank == 1).sum()
        reliability = (
            self._excluded_sentences() if self.exact else self._chain_sentences()
        )
        return (
            f"{len(self.combinations):,} combinations of {self.repetitions.sum():,} "
            f"records, with {self.support_size:,} candidates each. "
            f"{self._risk_clause()}; it is above {threshold:.2g}, {meaning}, "
            f"for {n_above:,} of the combinations. "
            f"The true record is the most probable candidate for {n_first:,}. "
            f"{reliability}"
        )

    def _excluded_sentences(self) -> str:
        n_others = self.support_size - 1
        n_certain = (self.n_excluded == n_others).sum()
        return (
            f"Of the {n_others:,} other candidates, a median of "
            f"{np.median(self.n_excluded):g} cannot have led to the releases; for "
            f"{n_certain:,} of the combinations none of them can. The probabilities "
            "are exact."
        )

    def _chain_sentences(self) -> str:
        sentences = [
            "The median Monte Carlo standard error of a log probability is "
            f"{np.median(self.log_mcse):.2g}."
        ]
        if not self.converged:
            sentences.append(
                "The chains have not converged: R-hat is above "
                f"{diagnostics.MAX_R_HAT} for up to "
                f"{percent(self.share_not_converged.max())} of the combinations. Run "
                "longer chains before relying on these numbers."
            )
        share_unreliable = np.mean(~self.reliable)
        if share_unreliable:
            sentences.append(
                f"{percent(share_unreliable, 1)} of the combinations are unreliable, "
                f"by R-hat or by a Pareto k above {MAX_PARETO_K}."
            )
        elif self.converged:
            sentences.append("The chains agree, and all combinations are reliable.")
        return " ".join(sentences)


def posterior_risk(
    original: Data,
    released: Data | Sequence[Data],
    *,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Rows | None = None,
    synthesizer: Trees | Density | None = None,
    draws: DrawSets | None = None,
    chains: Schedule | None = None,
    rng: Generator | None = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> PosteriorRisk:
    """Return the posterior disclosure risk: the probability of each true record.

    The intruder knows all records but one and the synthesizer, and compares candidates
    for that record (Hu, Reiter and Wang 2014). The synthesizer is the Dirichlet process
    mixture of products of multinomials (DPMPM), fitted to the original and to the
    original joined with each release; or it is a synthesizer whose density is known,
    and then the risks are exact.

    Parameters
    ----------
    original : DataFrame or Microdata
        The confidential table, of pandas, polars, PyArrow or DuckDB, with categorical
        columns, or with strings or numbers that stand for categories.
    released : DataFrame or Microdata, or a sequence of these
        The releases, with the same variables.
    schema : Schema, optional
        Variables and levels. If not given, those of the original: its schema, or the
        categories of a categorical column and the values that occur in any other.
    unknown : sequence of str, optional
        Variables of the target record that the intruder does not know. All their
        combinations are then candidates (equation 16). If not given, the candidates are
        all combinations that differ from the true record in one variable (section 3.1).
    log_prior : array_like or callable, optional
        Log prior of the candidates up to a constant, (n_combinations, support_size)
        with the true record first; or a function from a DataFrame of candidates, one
        per row with labels as values, to their log priors. Uniform if not given.
    rows : sequence of int, optional
        Rows of the target records; one of each distinct combination if not given.
    synthesizer : Trees or Density, optional
        Trees fitted to the original, as `fit_trees` returns, or any object with the two
        functions of `Density`, `release` and `log_prob`; the DPMPM if not given.
    draws : DrawSets, optional
        Draws to use instead of fitting the DPMPM.
    chains : Chains or sequence of Chains, optional
        Settings of the chains, or several settings that run one after the other until
        the chains agree; `SCHEDULE` if not given, which takes some three minutes for a
        table of 10,000 records and its release on two cores.
    rng : numpy.random.Generator, optional
        Random generator of the chains; required if chains are run.
    executor : Executor, optional
        Where blocks of combinations are computed if a synthesizer is given: processes
        of `concurrent.futures`, or a Dask cluster's ``client.get_executor()``. The
        threads of this process if not given. The risks do not depend on it.
    progress : bool
        Whether progress bars are shown, on a terminal or in a notebook.

    Raises
    ------
    ValueError
        If arguments do not fit together, which is checked before anything is sampled;
        if the synthesizer cannot have drawn the releases from the original.

    Examples
    --------
    >>> from srlib.dpmpm import Chains
    >>> rng = np.random.default_rng(1)
    >>> sick = rng.integers(0, 2, 40)
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": sick})
    >>> release = people.sample(frac=1, random_state=1)
    >>> few = Chains(n_classes=2, burn_in=20, n_draws=50)
    >>> risk = posterior_risk(people, release, chains=few, rng=rng)
    >>> risk.to_frame().columns[:4].tolist()
    ['job', 'sick', 'repetitions', 'probability']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """
    _check_choices(synthesizer, draws, chains, executor)
    table = encode(original, "original", schema)
    tables = encode_releases(released, table.schema)
    table.schema.check_reserved_names(_COLUMNS)
    records = target_records(table, unknown, log_prior, rows)
    with nullcontext() if progress else silent():
        if synthesizer is None:
            sets = _sets(table, tables, draws, chains, rng)
            return _risk_in_blocks(
                records,
                lambda part: sets.likelihood(
                    records.combinations[part], records.unknown
                ),
                n_chains=sum(draws.n_chains for draws in sets),
            )
        return _density_risk(records, tables, synthesizer, executor)


def _density_risk(
    records: TargetRecords,
    tables: Sequence[Codes],
    synthesizer: Trees | Density,
    executor: Executor | None,
) -> PosteriorRisk:
    """Return the exact risk by a density."""
    check_density(synthesizer, records.table)
    return _risk_in_blocks(
        records,
        lambda part: density_likelihood(
            synthesizer,
            tables,
            records.table.codes,
            records.rows[part],
            records.candidates(part),
            executor,
        ),
    )


def _check_choices(
    synthesizer: object, draws: object, chains: object, executor: object
) -> None:
    """Raise a ValueError where an argument has no use with the others."""
    if executor is not None and synthesizer is None:
        raise ValueError(
            "executor is given without a synthesizer; chains run in this process"
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise ValueError(
            f"executor is {executor!r:.50}; it must have the interface of "
            "concurrent.futures"
        )
    if synthesizer is not None and (draws is not None or chains is not None):
        raise ValueError(
            "draws and chains belong to the DPMPM, but a synthesizer is given"
        )
    if draws is not None and chains is not None:
        raise ValueError("draws and chains are both given; give only one of them")


def _sets(
    table: Microdata,
    tables: Sequence[Codes],
    draws: DrawSets | None,
    chains: Schedule | None,
    rng: Generator | None,
) -> DrawSets:
    """Return draws that fit the tables: those given, or else those of new chains."""
    levels = table.schema.n_levels
    if draws is None:
        if rng is None:
            raise ValueError(
                "rng is not given; it must be a random generator for the chains"
            )
        settings = SCHEDULE if chains is None else chains
        return DrawSets.fit(table.codes, tables, levels, settings, rng=rng)
    if not np.array_equal(draws.n_levels, levels) or len(draws.joined) != len(tables):
        raise ValueError(
            f"draws have {draws.n_levels.tolist()} levels and {len(draws.joined)} "
            f"releases; the tables have {levels.tolist()} and {len(tables)}"
        )
    return draws


def _risk_in_blocks(
    records: TargetRecords,
    likelihood_of: Callable[[slice], CandidateLikelihood],
    n_chains: int = 0,
) -> PosteriorRisk:
    """Return the risk of all combinations, computed in blocks of combinations."""
    n, n_variables = records.combinations.shape
    step = max(1, _BLOCK // (records.support_size * max(n_chains, n_variables)))
    blocks = []
    with progress_bar(n, "risks") if n_chains else nullcontext() as bar:
        for first in range(0, n, step):
            part = slice(first, first + step)
            log_prior = records.candidate_log_prior(part)
            blocks.append(_block_columns(likelihood_of(part), log_prior))
            if bar is not None:
                bar.update(len(blocks[-1]["rank"]))
    columns = {
        name: np.concatenate([block[name] for block in blocks], axis=-1)
        for name in blocks[0]
    }
    r_hat = columns.pop("r_hat")
    return PosteriorRisk(
        schema=records.table.schema,
        combinations=records.combinations,
        repetitions=records.repetitions,
        support_size=records.support_size,
        r_hat=r_hat.max(axis=0) if n_chains else np.full(n, np.nan),
        share_not_converged=share_not_converged(r_hat),
        **columns,
    )


def _block_columns(
    likelihood: CandidateLikelihood, log_prior: ArrayLike
) -> dict[str, NDArray]:
    """Return the risk of some combinations, and its diagnostics, by name."""
    risk = likelihood.posterior(log_prior)
    n = len(risk.log_prob)
    return {
        "probability": risk.probability,
        "rank": risk.rank,
        "n_excluded": np.isneginf(likelihood.log_likelihood).sum(axis=1),
        "log_mcse": risk.log_mcse[:, 0],
        "r_hat": np.reshape(likelihood.r_hat, (-1, n)),  # (n_sets, n)
        "pareto_k": np.broadcast_to(likelihood.pareto_k, n),
    }
