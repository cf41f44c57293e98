"""Target records of an intruder, and the candidates for each, the true record first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import pandas as pd

from srlib.arrays import ArrayLike, Ints
from srlib.data import Codes, Microdata, Schema, distinct
from srlib.data.codes import Levels
from srlib.data.schema import Frame

type Data = Frame | Microdata
"""A table as `posterior_risk` takes it."""
type LogPrior = ArrayLike | Callable[[pd.DataFrame], ArrayLike]
"""Log prior probabilities, or a function that returns those of candidates."""
type Rows = Sequence[int] | Ints
"""Positions of records in the table."""

MAX_CANDIDATES = 1 << 18
"""Most combinations of the unknown variables that are listed for each record."""


def one_variable_supports(codes: Codes, n_levels: Levels) -> Codes:
    """Return the supports R_i: each record and all that differ in one variable.

    These are the candidates of section 3.1. For combinations (n, n_variables) and the
    number of levels of each variable, they are (n, 1 + sum(n_levels - 1), n_variables):
    the true record first, then variable by variable in the order of the levels.
    """
    variable, level = one_variable_positions(codes, n_levels)
    supports = np.repeat(codes[:, None].astype(np.uint8), variable.shape[1], axis=1)
    np.put_along_axis(supports, variable[..., None], level[..., None], axis=2)
    return supports


def one_variable_positions(codes: Codes, n_levels: Levels) -> tuple[Ints, Ints]:
    """Return the variable and the level that each candidate sets.

    Both are (n_combinations, support_size). The true record sets its first variable to
    the level that it has.
    """
    variable = np.repeat(np.arange(len(n_levels)), n_levels)  # (sum(n_levels),)
    level = np.concatenate([np.arange(levels) for levels in n_levels])
    # Each combination has as many levels that are not its own.
    _, others = np.nonzero(codes[:, variable] != level)
    # The own level of the first variable, which has its code as position, comes first.
    order = np.column_stack([codes[:, 0], others.reshape(len(codes), -1)])
    return variable[order], level[order]


def subset_support(
    x: ArrayLike,
    unknown: Sequence[int],
    n_levels: Levels,
) -> Codes:
    """Return all candidates that agree with x outside the unknown variables.

    This is the support of equation 16. The true record comes first, then the others in
    lexicographic order: (prod(n_levels[unknown]), n_variables), at most
    `MAX_CANDIDATES`. The unknown variables are given by their positions.
    """
    values = unknown_values(unknown, n_levels)
    truth = np.asarray(x, np.uint8)
    support = np.tile(truth, (len(values), 1))
    support[:, unknown] = values
    is_truth = (support == truth).all(axis=1)
    return np.concatenate([support[is_truth], support[~is_truth]])


def unknown_values(unknown: Sequence[int], n_levels: Levels) -> Ints:
    """Return all combinations of the unknown variables, in lexicographic order.

    A ValueError is raised if there are too many.
    """
    if not 0 < len(set(unknown)) == len(unknown):
        raise ValueError(
            f"unknown is {list(unknown)}; it must name at least one variable, and none "
            "twice"
        )
    if not set(unknown) <= set(range(len(n_levels))):
        raise ValueError(
            f"unknown is {list(unknown)}; the variables are 0 to {len(n_levels) - 1}"
        )
    shape = [int(n_levels[k]) for k in unknown]
    size = prod(shape)
    if size > MAX_CANDIDATES:
        raise ValueError(
            f"unknown has {size:,} combinations of levels; at most "
            f"{MAX_CANDIDATES:,} are listed for a record"
        )
    return np.indices(shape).reshape(-1, size).T


@dataclass(frozen=True)
class TargetRecords:
    """Target records, one per row, with their candidates.

    `rows` are positions in the table, `repetitions` the number of records with the same
    values. Their candidates are all combinations of the unknown variables (equation
    16), or else all combinations that differ from the true record in one variable.
    """

    table: Microdata
    rows: Ints
    repetitions: Ints
    unknown: list[int] | None
    log_prior: LogPrior | None

    @property
    def combinations(self) -> Codes:
        """Values of the target records, (n, n_variables)."""
        return self.table.codes[self.rows]

    @cached_property
    def support_size(self) -> int:
        """Number of candidates for each target record."""
        return self.candidates(slice(1)).shape[1]

    def candidates(self, chosen: slice = slice(None)) -> Codes:
        """Return the candidates of target records, (n, support_size, n_variables)."""
        records = self.combinations[chosen]
        n_levels = self.table.schema.n_levels
        if self.unknown is None:
            return one_variable_supports(records, n_levels)
        return np.stack([subset_support(x, self.unknown, n_levels) for x in records])

    def candidate_log_prior(self, chosen: slice = slice(None)) -> ArrayLike:
        """Return the log prior of the candidates of some target records."""
        if self.log_prior is None:
            return 0.0
        if not callable(self.log_prior):
            return np.asarray(self.log_prior, float)[chosen]
        frame = self.table.schema.decode(np.concatenate(self.candidates(chosen)))
        values = np.asarray(self.log_prior(frame), float)
        if values.shape != (len(frame),) or np.isnan(values).any():
            raise ValueError(
                f"log_prior returns shape {values.shape} for {len(frame)} candidates; "
                "it must return one number for each, and none missing"
            )
        return values.reshape(-1, self.support_size)


def target_records(
    table: Microdata,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Rows | None = None,
) -> TargetRecords:
    """Return target records: one of each distinct combination if no rows are given."""
    schema = table.schema
    most_levels = schema.n_levels.max()
    if most_levels > 256:
        raise ValueError(
            f"a variable has {most_levels} levels; at most 256 are allowed"
        )
    _, counts, combination_of = distinct(table.codes)
    if rows is not None:
        chosen = _checked_rows(rows, len(table))
    else:
        _, chosen = np.unique(combination_of, return_index=True)
    hidden = None if unknown is None else schema.positions(unknown, "unknown")
    repetitions = counts[combination_of[chosen]]
    records = TargetRecords(table, chosen, repetitions, hidden, log_prior)
    shape = len(chosen), records.support_size  # an error if a variable is wrong
    if not (log_prior is None or callable(log_prior)):
        if np.shape(log_prior) != shape:
            raise ValueError(
                f"log_prior has shape {np.shape(log_prior)}; it must be {shape}, "
                "combinations by candidates"
            )
        if np.isnan(log_prior).any():
            raise ValueError("log_prior has missing values")
    records.candidate_log_prior(slice(1))  # an error if a function is wrong
    return records


def _checked_rows(rows: Rows, n_records: int) -> Ints:
    """Return rows of a table as an array; a ValueError unless they are positions."""
    chosen = np.asarray(rows)
    is_positions = chosen.ndim == 1 and len(chosen) and chosen.dtype.kind in "iu"
    if not is_positions or chosen.min() < 0 or chosen.max() >= n_records:
        raise ValueError(f"rows must be one or more positions in 0 to {n_records - 1}")
    return chosen


def encode(table: Data, name: str, schema: Schema | None = None) -> Microdata:
    """Return a table as codes of a schema; error messages call it by its name."""
    if isinstance(table, Microdata):
        if schema not in (None, table.schema):
            raise ValueError(f"{name} has another schema than the original")
        return table
    try:
        return Microdata.from_frame(table, schema)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def encode_releases(released: Data | Sequence[Data], schema: Schema) -> list[Codes]:
    """Return the codes of one or more releases."""
    if isinstance(released, str) or not isinstance(released, Sequence):
        released = [released]
    if not released:
        raise ValueError("released is empty; it must hold one table or more")
    return [
        encode(release, f"released, table {i}", schema).codes
        for i, release in enumerate(released, 1)
    ]
