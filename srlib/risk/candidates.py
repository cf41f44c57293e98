"""Who may have which record: tables of one schema, candidates of each record, and their prior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.data.schema import Microdata, Schema
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.risk.estimators import collapsed_log_ratios, neighborhood_log_ratios
from srlib.risk.partial import candidates_of, subset_log_means
from srlib.risk.supports import neighborhood, subset_support
from srlib.trees import Trees

type Data = pd.DataFrame | Microdata
"""A table as `posterior_risk` takes it."""
type LogPrior = ArrayLike | Callable[[pd.DataFrame], ArrayLike]
"""Logarithms of prior probabilities, or a function from candidates to these."""


@dataclass(frozen=True)
class Support:
    """Candidates of each combination, the truth first, and their prior.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    combinations : (n, n_variables) int
        True values of the records that are sought.
    unknown : list of int, optional
        Positions of the variables whose combinations are all candidates (equation 16); all records
        that differ from the truth in one variable if not given.
    log_prior : array_like or callable, optional
        As of `srlib.risk.posterior_risk`.

    Raises
    ------
    ValueError
        If a variable has more than 256 levels, there are too many candidates, or the prior does
        not fit them.
    """

    schema: Schema
    combinations: NDArray[np.integer]
    unknown: list[int] | None
    log_prior: LogPrior | None

    def __post_init__(self) -> None:
        if self.schema.n_levels.max() > 256:
            raise ValueError(
                f"a variable has {self.schema.n_levels.max()} levels; they must be 256 at most"
            )
        if self.unknown is not None:  # raises where there are too many candidates
            candidates_of(self.combinations[:1], self.unknown, self.schema.n_levels, True)
        if self.log_prior is not None and not callable(self.log_prior):
            shape, wanted = np.shape(self.log_prior), (len(self.combinations), self.size)
            if shape != wanted:
                raise ValueError(
                    f"log_prior has shape {shape}; it must be {wanted}, combinations by candidates"
                )
            if np.isnan(self.log_prior).any():
                raise ValueError("log_prior has missing values; it must be a number for each")

    @property
    def size(self) -> int:
        """Number of candidates of each combination."""
        levels = self.schema.n_levels
        if self.unknown is None:
            return 1 + int((levels - 1).sum())
        return int(np.prod(levels[self.unknown]))

    def candidates(self, some: slice) -> NDArray[np.uint8]:
        """Return the candidates of some combinations, (n, size, n_variables)."""
        codes, levels = self.combinations[some], self.schema.n_levels
        if self.unknown is None:
            return neighborhood(codes, levels)
        return np.stack([subset_support(x, self.unknown, levels) for x in codes])

    def log_prior_of(self, some: slice) -> ArrayLike:
        """Return the log prior of the candidates of some combinations."""
        if self.log_prior is None:
            return 0.0
        if not callable(self.log_prior):
            return np.asarray(self.log_prior, dtype=float)[some]
        codes, candidates = self.combinations[some], self.candidates(some)
        frame = self.schema.decode(candidates.reshape(-1, candidates.shape[2]))
        values = np.asarray(self.log_prior(frame), dtype=float)
        if values.shape != (len(frame),) or np.isnan(values).any():
            raise ValueError(
                f"log_prior returns shape {values.shape} for {len(frame)} candidates; it must be a "
                "number for each, and none missing"
            )
        return values.reshape(len(codes), self.size)

    def log_ratios(
        self, draws: Draws, some: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
        """Return ratios as `predictive_ratio` takes them, and log probabilities for Pareto k."""
        codes = self.combinations[some]
        if self.unknown is not None:
            ratios = subset_log_means(draws, codes, self.unknown)
        elif draws.allocations is not None:
            return collapsed_log_ratios(draws, codes)
        else:
            ratios = neighborhood_log_ratios(draws, codes)[0]
        return ratios, cell_log_prob(draws, codes)


def coded_tables(tables: Sequence[Data], schema: Schema | None) -> list[Microdata]:
    """Return all tables, the original first, as codes of one schema."""
    if len(tables) < 2:
        raise ValueError("released is empty; it must hold one table or more")
    coded: list[Microdata] = []
    for i, table in enumerate(tables):
        name = f"released, table {i}" if i else "original"
        if isinstance(table, pd.DataFrame):
            try:
                table = Microdata.from_frame(table, schema)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        elif not isinstance(table, Microdata):
            raise ValueError(f"{name} is {table!r:.50}; it must be a DataFrame or Microdata")
        elif schema not in (None, table.schema):
            raise ValueError(f"{name} has another schema than the one before")
        schema = table.schema
        coded.append(table)
    return coded


def check_grown(trees: Trees, original: Microdata) -> None:
    """Raise a ValueError unless trees were grown on the original."""
    same_schema = trees.schema == original.schema
    if not same_schema or not np.array_equal(trees.codes, original.codes):
        raise ValueError(
            "synthesizer was grown on another table than the original, or on other levels; "
            "grow it on the same Microdata"
        )


def checked_chains(chains: Chains | Sequence[Chains]) -> Sequence[Chains]:
    """Return the rounds of chains, if errors and R-hat can be computed from each."""
    settings = [chains] if isinstance(chains, Chains) else list(chains)
    if not settings:
        raise ValueError("chains is empty; it must have one round of chains or more")
    for each in settings:
        if each.n_chains < 2 or each.n_draws < 4:
            raise ValueError(
                f"chains are {each.n_chains} of {each.n_draws} draws; errors and R-hat take two "
                "chains or more, of four draws or more"
            )
    return settings
