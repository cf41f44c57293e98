"""Sampling weights of an original: how many people of the population each record stands for."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.declared import Declaration
from srlib.data.files import columns_of, header_of
from srlib.data.microdata import Texts
from srlib.data.numbers import number
from srlib.data.schema import Microdata, Schema, factor, rows_where, shown


def check(
    weights: str,
    population: int,
    schema: Schema | Declaration | None,
    roles: Sequence[str | None],
) -> None:
    """Check the role of a column of weights, before a file is read.

    Parameters
    ----------
    weights : str
        Its name; empty where there is none.
    population : int
        People in the population; 0 where they are not named.
    schema : Schema or Declaration, optional
        What is declared of the variables.
    roles : sequence of str
        Keys and target.

    Raises
    ------
    ValueError
        If both are given, or the column has another role.
    """
    if not weights:
        return
    if population:
        raise ValueError(
            f"weights is {weights!r} and population {population:,}; weights say how many people "
            "there are, so one of the two must be left out"
        )
    if weights in roles:
        raise ValueError(f"weights is {weights!r}, which is a key or the target, too")
    if schema is not None and weights in schema.names:
        raise ValueError(
            f"weights is {weights!r}, a variable of the schema; a column of weights is no variable "
            "and must be left out there (leave_out)"
        )


def read(
    source: pd.DataFrame | Microdata | str | Path,
    texts: Texts,
    kept: NDArray[np.bool_],
    weights: str,
    population: int,
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return how many people of the population each record stands for.

    Parameters
    ----------
    source : DataFrame, Microdata, str or Path
        The original.
    texts : Texts
        Its variables.
    kept : (n_records,) bool
        Which of its records are kept, n.
    weights, population
        As of `check`.

    Returns
    -------
    weights : (n,) float, or None
        1 or more.
    notes : list of str
        One sentence, where there are weights.

    Raises
    ------
    ValueError
        If there is no such column, or a weight that is no number from 1 on; or if there are fewer
        people in the population than in the original.
    """
    n = int(kept.sum())
    if weights:
        found = _numbers(source, texts, kept, weights)
        return found, [
            f"{weights} has the weights: {n:,} records stand for {found.sum():,.0f} people, each "
            f"for {found.min():,.4g} to {found.max():,.4g}."
        ]
    if not population:
        return None, []
    if population < n:
        raise ValueError(f"population is {population:,}; it must be at least {n:,}, the records")
    note = f"The original is taken for a simple random sample of {population:,} people."
    return np.full(n, population / n), [note]


def _numbers(
    source: pd.DataFrame | Microdata | str | Path,
    texts: Texts,
    kept: NDArray[np.bool_],
    weights: str,
) -> NDArray[np.float64]:
    if isinstance(source, str | Path):
        # Lines name the records: those of children, for one, may have been left out.
        column = _of_file(Path(source), weights).loc[texts.frame.index]
    elif isinstance(source, pd.DataFrame) and weights in source:
        column = source[weights]
    else:
        names = source.schema.names if isinstance(source, Microdata) else source.columns
        raise ValueError(_lacking(weights, map(str, names)))
    column = column[kept]
    ids, values = factor(column)
    found = np.array([*map(number, values), np.nan])[ids]
    if (wrong := ~(found >= 1)).any():
        lacking = ["a missing value"] if (ids[wrong] < 0).any() else []
        named = [repr(values[i]) for i in dict.fromkeys(ids[wrong].tolist()) if i >= 0]
        raise ValueError(
            f"weights {weights!r} has {', '.join([*named[:3], *lacking])} "
            f"({rows_where(wrong, column.index)}); it must have numbers from 1, the people of the "
            "population that a record stands for. Weights of mean 1 have to be multiplied by the "
            "population's size over the number of records"
        )
    return found


def _of_file(path: Path, name: str) -> pd.Series:
    """Return one column of a file, with the lines of its records."""
    header = header_of(path)
    if name not in header:
        raise ValueError(_lacking(name, header))
    return columns_of(path, header, [name])[0][name]


def _lacking(name: str, columns: Iterable[str]) -> str:
    return f"weights names {name!r}; the columns are {shown(columns)}"
