"""Whose risk is sought, and the values that an intruder holds possible, the truth first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.checks import require
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema

type Data = pd.DataFrame | Microdata
"""A table as `posterior_risk` takes it."""
type LogPrior = ArrayLike | Callable[[pd.DataFrame], ArrayLike]
"""Logarithms of prior probabilities, or a function from candidates to these."""
type Rows = Sequence[int] | NDArray[np.integer]
"""Positions of records."""

MOST_CANDIDATES = 1 << 18
"""Combinations of unknown variables that are listed for each record."""


def neighborhood(codes: NDArray[np.integer], n_levels: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the supports R_i of section 3.1: x_i and all that differ from it in one variable.

    Of combinations (n, n_variables), with so many levels of each variable, the candidates
    (n, 1 + sum(n_levels - 1), n_variables): the truth first, then variable by variable in the order
    of the levels.
    """
    variable, level = neighborhood_positions(codes, n_levels)
    supports = np.repeat(codes[:, None, :].astype(np.uint8), variable.shape[1], axis=1)
    np.put_along_axis(supports, variable[..., None], level[..., None].astype(np.uint8), axis=2)
    return supports


def neighborhood_positions(
    codes: NDArray[np.integer], n_levels: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the variable and the level that each candidate sets, (n_combinations, support_size).

    The truth sets its first variable to the level that it has.
    """
    variable = np.repeat(np.arange(n_levels.size), n_levels)
    level = np.concatenate([np.arange(levels) for levels in n_levels])
    own = codes[:, variable] == level
    # The truth stands where the first variable has its own level; no other own level is kept.
    place = np.where(own, 2, 1)
    place[:, : n_levels[0]] -= 2 * own[:, : n_levels[0]]
    index = np.argsort(place, axis=1, kind="stable")[:, : 1 + int((n_levels - 1).sum())]
    return variable[index], level[index]


def subset_support(
    x: ArrayLike, unknown: Sequence[int], n_levels: NDArray[np.integer]
) -> NDArray[np.uint8]:
    """Return all candidates that agree with x outside the unknown variables (equation 16).

    The truth comes first, then the others in lexicographic order: (prod(n_levels[unknown]),
    n_variables), `MOST_CANDIDATES` at most. Unknown variables are given by their positions.
    """
    size = subset_size(unknown, n_levels)
    truth = np.asarray(x, dtype=np.uint8)
    support = np.repeat(truth[None], size, axis=0)
    support[:, list(unknown)] = np.indices([n_levels[k] for k in unknown]).reshape(-1, size).T
    is_truth = (support == truth).all(axis=1)
    return np.concatenate([support[is_truth], support[~is_truth]])


def subset_size(unknown: Sequence[int], n_levels: NDArray[np.integer]) -> int:
    """Return how many combinations unknown variables have; raise a ValueError if too many."""
    told = f"unknown is {list(unknown)}"
    distinct_ones = 0 < len(set(unknown)) == len(unknown)
    require(distinct_ones, f"{told}; it must name distinct variables, one or more")
    within = set(unknown) <= set(range(len(n_levels)))
    require(within, f"{told}; the variables are 0 to {len(n_levels) - 1}")
    size = prod(int(n_levels[k]) for k in unknown)
    told = f"unknown has {size:,} combinations of levels"
    require(size <= MOST_CANDIDATES, f"{told}; up to {MOST_CANDIDATES:,} are listed for a record")
    return size


@dataclass(frozen=True)
class Sought:
    """The records whose risk is sought, with their candidates.

    Of each combination a row of the table that is changed, how many records have it, and `size`
    candidates: all combinations of the unknown variables (equation 16), or else all that differ
    from the truth in one variable.
    """

    table: Microdata
    rows: NDArray[np.intp]
    repetitions: NDArray[np.int64]
    unknown: list[int] | None
    size: int
    log_prior: LogPrior | None

    @property
    def combinations(self) -> NDArray[np.uint8]:
        """The combinations, (n, n_variables)."""
        return self.table.codes[self.rows]

    def candidates(self, some: slice = slice(None)) -> NDArray[np.uint8]:
        """Return the candidates of some combinations, (n, size, n_variables)."""
        codes, levels = self.combinations[some], self.table.schema.n_levels
        if self.unknown is None:
            return neighborhood(codes, levels)
        return np.stack([subset_support(x, self.unknown, levels) for x in codes])

    def log_prior_of(self, some: slice = slice(None)) -> ArrayLike:
        """Return the log prior of the candidates of some combinations."""
        if self.log_prior is None:
            return 0.0
        if not callable(self.log_prior):
            return np.asarray(self.log_prior, dtype=float)[some]
        candidates = self.candidates(some)
        frame = self.table.schema.decode(candidates.reshape(-1, candidates.shape[2]))
        values = np.asarray(self.log_prior(frame), dtype=float)
        told = f"log_prior returns shape {values.shape} for {len(frame)} candidates"
        right = values.shape == (len(frame),) and not np.isnan(values).any()
        require(right, f"{told}; it must be a number for each, and none missing")
        return values.reshape(-1, self.size)


def sought(
    table: Microdata,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Rows | None = None,
) -> Sought:
    """Return the records that are sought, all distinct combinations if no rows are given."""
    schema = table.schema
    most = schema.n_levels.max()
    require(most <= 256, f"a variable has {most} levels; they must be 256 at most")
    _, counts, inverse = distinct(table.codes)
    if rows is None:
        at = np.empty(len(counts), dtype=np.intp)
        at[inverse[::-1]] = np.arange(len(inverse))[::-1]
    else:
        at = np.asarray(rows)
        whole = at.ndim == 1 and len(at) and at.dtype.kind in "iu"
        inside = whole and at.min() >= 0 and at.max() < len(table)
        require(inside, f"rows must be positions in 0 to {len(table) - 1}, one or more")
    hidden = None if unknown is None else schema.positions(unknown, "unknown")
    size = 1 + int((schema.n_levels - 1).sum())
    if hidden is not None:
        size = subset_size(hidden, schema.n_levels)
    if log_prior is not None and not callable(log_prior):
        told, wanted = f"log_prior has shape {np.shape(log_prior)}", (len(at), size)
        right = np.shape(log_prior) == wanted
        require(right, f"{told}; it must be {wanted}, combinations by candidates")
        require(not np.isnan(log_prior).any(), "log_prior has missing values")
    records = Sought(table, at, counts[inverse[at]], hidden, size, log_prior)
    records.log_prior_of(slice(1))
    return records


def coded(table: Data, name: str, schema: Schema | None) -> Microdata:
    """Return a table as codes of a schema; errors call it by its name."""
    if isinstance(table, pd.DataFrame):
        try:
            return Microdata.from_frame(table, schema)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    right = isinstance(table, Microdata)
    told = f"{name} is of type {type(table).__name__}"
    require(right, f"{told}; it must be a DataFrame or Microdata")
    require(schema in (None, table.schema), f"{name} has another schema than the one before")
    return table


def coded_releases(released: Sequence[Data], schema: Schema) -> list[NDArray[np.uint8]]:
    """Return the codes of releases, one or more."""
    require(len(released), "released is empty; it must hold one table or more")
    return [coded(z, f"released, table {i}", schema).codes for i, z in enumerate(released, 1)]
