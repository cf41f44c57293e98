"""Sampling weights of an original: how many people of the population each record stands for."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.declared import Declaration
from srlib.data.files import columns_of, header_of, named_errors
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


def column(source: pd.DataFrame | Microdata | str | Path, weights: str) -> pd.Series | None:
    """Return the column of weights of an original, of a file by the lines of its records.

    Parameters
    ----------
    source : DataFrame, Microdata, str or Path
        The original.
    weights : str
        As of `check`.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    if not weights:
        return None
    if isinstance(source, str | Path):
        with named_errors(path := Path(source)):
            header = header_of(path)
            if weights not in header:
                raise ValueError(_lacking(weights, header))
            return columns_of(path, header, [weights])[0][weights]
    if isinstance(source, pd.DataFrame) and weights in source:
        return source[weights]
    names = source.schema.names if isinstance(source, Microdata) else source.columns
    raise ValueError(f"original: {_lacking(weights, map(str, names))}")


def _lacking(weights: str, columns: Iterable[str]) -> str:
    return f"weights is {weights!r}, which is none of the columns {shown(columns)}"


def read(
    of_records: pd.Series | None,
    texts: Texts,
    kept: NDArray[np.bool_],
    population: int,
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return how many people of the population each record stands for.

    Parameters
    ----------
    of_records : Series, optional
        As `column` returns.
    texts : Texts
        Variables of the original.
    kept : (n_records,) bool
        Which of their records are kept, n.
    population : int
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
        If a weight is no number from 1 on, or there are fewer people in the population than in
        the original.
    """
    n = int(kept.sum())
    if of_records is not None:
        # Lines name the records of a file: those of children, for one, may have been left out.
        by_line = len(of_records) > len(kept)
        found = _numbers((of_records.loc[texts.frame.index] if by_line else of_records)[kept])
        return found, [
            f"{of_records.name} has the weights: {n:,} records stand for {found.sum():,.0f} "
            f"people, each for {found.min():,.4g} to {found.max():,.4g}."
        ]
    if not population:
        return None, []
    if population < n:
        raise ValueError(f"population is {population:,}; it must be at least {n:,}, the records")
    note = f"The original is taken for a simple random sample of {population:,} people."
    return np.full(n, population / n), [note]


def _numbers(weights: pd.Series) -> NDArray[np.float64]:
    ids, values = factor(weights)
    found = np.array([*map(number, values), np.nan])[ids]
    if (wrong := ~(found >= 1)).any():
        lacking = ["a missing value"] if (ids[wrong] < 0).any() else []
        named = [repr(values[i]) for i in dict.fromkeys(ids[wrong].tolist()) if i >= 0]
        raise ValueError(
            f"weights {weights.name!r} has {', '.join([*named[:3], *lacking])} "
            f"({rows_where(wrong, weights.index)}); it must have numbers from 1, the people of the "
            "population that a record stands for. Weights of mean 1 have to be multiplied by the "
            "population's size over the number of records"
        )
    return found
