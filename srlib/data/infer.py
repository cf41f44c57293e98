"""Infer a schema from a table, or the part of it that is not declared.

Levels of texts are declared or taken from the table. Numbers are binned at declared cut points, or
near the table's quantiles. Every rule is applied to one table, the original; all other tables are
read with the resulting schema.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srlib import yaml_io
from srlib.checks import require, shown
from srlib.data.codes import (
    AMBIGUOUS,
    MISSING_TEXTS,
    OUTSIDE,
    count_numbers,
    encode_column,
    factorize_texts,
    iso_date,
    observed_levels,
    parse_days,
    parse_number,
    strip_zeros,
)
from srlib.data.schema import MAX_LEVELS, MISSING_LEVEL, Schema, Variable

# Numbers that a column may have and still be taken for categories, where nothing is declared;
# texts that a column of numbers may have beside them, as codes for "does not apply"; and quantiles
# that it is cut at.
MAX_NUMERIC_LEVELS, MAX_TEXT_CODES, N_BINS = 30, 5, 10

SINGLE_VALUE = "all records have one value, or none"
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


# Ways to write one of two values, each in small letters.
_TWO_VALUES = {
    "true/false": {"true", "false"},
    "t/f": {"t", "f"},
    "yes/no": {"yes", "no"},
    "y/n": {"y", "n"},
    "1/0": {"1", "0"},
}


def leave_out_options(names: Sequence[str]) -> str:
    """Return how a user leaves columns out."""
    options = " ".join(f"--leave-out {shlex.quote(name)}" for name in names)
    return f"{options} (in Python leave_out={list(names)})"


def infer_schema(frame: pd.DataFrame) -> Schema:
    """Declare a table by its values.

    A column of numbers with more than 30 distinct ones, beside five texts at most, is numeric, and
    so is one of dates. The levels of any other are its categories, or the values that it has.
    Columns with one value, or none, are left out. A ValueError names columns that look like names
    or numbers of people, and those with more than 100 values that are no numbers.
    """
    require(len(frame) > 1, "the table has fewer than two records; levels take two or more")
    schema, left = _recognized(frame)
    wrong = {name: reason for name, reason in left.items() if reason != SINGLE_VALUE}
    problems = "; ".join(f"{name} {reason}" for name, reason in wrong.items())
    require(
        not wrong,
        f"{problems}. Leave out columns that are not variables with "
        f"{leave_out_options([*wrong])}, or declare them in a schema; "
        "srlib schema ORIGINAL RELEASED suggests one",
    )
    return schema


def _recognized(original: pd.DataFrame, *others: pd.DataFrame) -> tuple[Schema, dict[str, str]]:
    """Return the variables that tables have, and for any other column why it is left out.

    Variables are what the original's columns are; further levels of other tables come last.
    """
    variables, left = [], {}
    for name in dict.fromkeys(chain(original, *others)):
        lacking = any(name not in table for table in (original, *others))
        found = "a file lacks it" if lacking else _variable(str(name), original[name])
        if isinstance(found, str):
            left[str(name)] = found
            continue
        for table in others if found.levels else ():
            found = found.add_levels(_unseen(found, table[name])[0])
        variables.append(found)
    require(variables, f"no column is a variable: {'; '.join(dict.fromkeys(left.values()))}")
    return Schema(tuple(variables), tuple(left)), left


def _variable(name: str, column: pd.Series) -> Variable | str:
    """Return the variable that a column is, or why it is none."""
    texts = [text for text in factorize_texts(column)[1] if text not in MISSING_TEXTS]
    dates = _are_dates(texts)
    if not dates and len(texts) > MAX_NUMERIC_LEVELS and all(map(_DATE.fullmatch, texts)):
        return "has dates of which some are no day/month/year, month/day/year or year-month-day"
    values, others = count_numbers(column, number_of=parse_days if dates else parse_number)
    whole = not dates and not np.mod(values.index, 1).any()
    if whole and len(texts) == len(column) > MAX_LEVELS:
        return "differs for all records, as a name or a number of people does"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Variable(name, tuple(map(str, column.cat.categories)))
    names = any(re.match("0[0-9]", text) for text in texts)  # as "0310"
    if len(values) > MAX_NUMERIC_LEVELS and len(others) <= MAX_TEXT_CODES and not names:
        return Variable(name, bins=N_BINS, dates=dates)
    levels = observed_levels(column)
    if len(levels) > MAX_LEVELS:
        return f"has {len(levels):,} values that are no numbers, as {shown(levels, 3)}"
    if len(levels) == 1 and (
        column.isna().any() or MISSING_TEXTS & set(factorize_texts(column)[1])
    ):
        return Variable(name, (*levels, MISSING_LEVEL), missing=MISSING_LEVEL)
    return Variable(name, levels) if len(levels) > 1 else SINGLE_VALUE


def _are_dates(texts: Iterable[str]) -> bool:
    """Say whether there are texts, and all of them ISO dates."""
    found = list(texts)
    return bool(found) and not any(np.isnan(parse_days(text)) for text in found)


def bin_numbers(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Cut the numbers that a schema leaves to a table, and say how, a sentence a variable."""
    done = [_cut(v, frame[v.name]) if v.needs_binning else (v, "") for v in schema.variables]
    notes = [note for _, note in done if note]
    if any(variable.bins for variable in schema.variables):
        notes.append(
            "Such cuts tell where the original's numbers lie; cut_points in a schema do not."
        )
    return replace(schema, variables=tuple(variable for variable, _ in done)), tuple(notes)


def _cut(variable: Variable, column: pd.Series) -> tuple[Variable, str]:
    """Return a variable whose numbers are cut by a column, and a sentence that says where."""
    absent = {*variable.missing_codes, *variable.not_applicable}
    dates = variable.dates or _are_dates({*factorize_texts(column)[1]} - MISSING_TEXTS - absent)
    counts, texts = count_numbers(column, *absent, number_of=parse_days if dates else parse_number)
    texts += variable.not_applicable
    has = f"{variable.name} is declared to be numeric and has {len(counts)} numbers"
    require(len(texts) <= MAX_LEVELS, f"{has}, and {len(texts)} texts, as {shown(texts, 3)}")
    require(len(counts) > 1 or variable.cut_points, f"{has}; there must be two or more")
    cut_points = variable.cut_points or quantile_cut_points(counts.index, counts, variable.bins)
    written = iso_date if dates else format_number
    names = bin_labels(cut_points, not np.mod([*counts.index, *cut_points], 1).any(), written)
    levels = (*names, *texts)
    undone: dict[str, Any] = {"labels": (), "bins": 0, "missing": ""}
    done = replace(variable, levels=levels, cut_points=cut_points, dates=dates, **undone)
    how = "near the original's quantiles, at {}" if variable.bins else "at {} as declared"
    note = f"{variable.name} is cut {how.format(', '.join(map(written, cut_points)))}."
    return done.add_missing_level() if variable.missing else done, note


def add_missing_levels(schema: Schema, *frames: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables that lack values in any table a level for these, and say so of the first.

    Variables with a rule of their own for missing values keep it.
    """
    variables, lacking = [], []
    for variable in schema.variables:
        (none,) = variable.codes_of([""])
        codes = (encode_column(frame[variable.name], variable.codes_of)[0] for frame in frames)
        absent = [np.count_nonzero(of_frame == none) for of_frame in codes]
        if variable.drop_missing is None and any(absent):
            variable = variable.add_missing_level()
        if variable.missing and absent[0]:
            lacking.append(f"{variable.name} {absent[0]:,}")
        variables.append(variable)
    note = f"Missing values are a level of their own: {', '.join(lacking)} of {len(frames[0]):,}."
    return replace(schema, variables=tuple(variables)), (note,) if lacking else ()


def add_unseen_levels(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables the levels that another table has beside those of the schema, and name them.

    A ValueError says where a variable has values and no known one, or among numbers more than five
    texts: measures would take the two tables for different in all records.
    """
    variables, unseen = [], []
    for variable in schema.variables:
        new, known = _unseen(variable, frame[variable.name])
        if new:
            comparable = known and not (variable.cut_points and len(new) > MAX_TEXT_CODES)
            require(comparable, _other_values(variable, new))
            unseen.append(f"{variable.name} {shown(new, 3)}")
        variables.append(variable.add_levels(new))
    note = f"Levels that the original does not have: {'; '.join(unseen)}."
    return replace(schema, variables=tuple(variables)), (note,) if unseen else ()


def _other_values(variable: Variable, new: Sequence[str]) -> str:
    """Return what is wrong with values of which the original has none."""
    own = [level for level in variable.levels if level != variable.missing]
    has = "numbers" if variable.cut_points else f"{len(own)}, {shown(own, 3)}"
    here, there = _coding(new), _coding(own)
    likely = f": it is coded {here} here and {there} in the original" if here and there else ""
    values = f"{len(new)} value{'s' * (len(new) > 1)}, {shown(new, 3)}"
    return (
        f"{variable.name} has {values}, where the original has {has}{likely}; the values must be "
        f"written alike, or the column left out: {leave_out_options([variable.name])}"
    )


def _coding(texts: Sequence[str]) -> str:
    """Return which way to write one of two values texts are; "" where none."""
    found = {strip_zeros(text).casefold() for text in texts}
    return next((kind for kind, both in _TWO_VALUES.items() if found <= both), "")


def _unseen(variable: Variable, column: pd.Series) -> tuple[list[str], bool]:
    """Return the texts of a column that are outside the levels, and whether any is within."""
    texts = list(dict.fromkeys(factorize_texts(column)[1]))
    codes = variable.codes_of(texts)
    unclear = [text for text, code in zip(texts, codes, strict=True) if code == AMBIGUOUS]
    require(not unclear, variable.ambiguity_message(shown(unclear, 3)))
    new = [text for text, code in zip(texts, codes, strict=True) if code == OUTSIDE]
    return new, max(codes, default=OUTSIDE) >= 0


def suggest_schema(
    tables: Sequence[pd.DataFrame], left_out: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Suggest the YAML file of a schema, and say why columns are left out.

    Columns that were left out on a user's wish are named as well. Variables are what the columns
    of the original, the first table, are; further levels of the others come last, and missing
    values of any table are one more.
    """
    schema, left = _recognized(*tables)
    left = dict.fromkeys(left_out, "it was to be left out") | left
    entries = []
    for variable in add_missing_levels(schema, *tables)[0].variables:
        entry: dict[str, object] = {"name": variable.name, "bins": variable.bins}
        entry["levels"] = [level for level in variable.levels if level != variable.missing]
        entry["missing"] = "level" if variable.missing else ""
        entries.append({key: value for key, value in entry.items() if value})
    text = yaml_io.dump(({"leave_out": list(left)} if left else {}) | {"variables": entries})
    return text, tuple(f"{name} is left out: {reason}." for name, reason in left.items())


def quantile_cut_points(values: ArrayLike, counts: ArrayLike, bins: int) -> tuple[float, ...]:
    """Cut rising numbers near quantiles, at round ones, into pieces of about as many records.

    Each cut is the roundest number within a quarter of a piece around the quantile, so that cuts
    read well and tell little of single records. A number that has a piece's share of the records
    by itself, as zero among incomes, has a piece of its own. Edges rise: the smallest number that
    each piece but the first may have.
    """
    value, count = np.asarray(values, dtype=np.float64), np.asarray(counts)
    up_to = np.cumsum(count)
    share = up_to[-1] / bins
    heavy = count >= share
    starts = {i + shift for i in np.flatnonzero(heavy).tolist() for shift in (0, 1)}
    cuts = {(value[i - 1], value[i], value[i]) for i in starts if 0 < i < len(value)}
    for j in range(1, bins):
        ranks = (np.array([j - 0.25, j, j + 0.25])) * share
        low, middle, high = np.searchsorted(up_to, ranks, side="right").clip(max=len(value) - 1)
        if not heavy[low : high + 1].any() and middle > 0:
            cuts.add((value[max(low - 1, 0)], value[middle], value[high]))
    cut_points = np.array(sorted(_roundest(*cut) for cut in cuts))
    # Two cuts between the same neighbors would leave a piece without records.
    _, first = np.unique(np.searchsorted(value, cut_points), return_index=True)
    return tuple(cut_points[first].tolist())


def _roundest(above: float, near: float, most: float) -> float:
    """Return the number with the fewest digits in (above, most], the nearest of these."""
    for exponent in range(int(np.floor(np.log10(max(abs(above), abs(most))))) + 1, -18, -1):
        for multiple in (10.0**exponent, 10.0**exponent / 2):
            candidates = np.round(near / multiple + np.array([0, -1, 1])) * multiple
            candidates = np.round(candidates, max(0, 1 - exponent))  # 6 * 0.1 is above 0.6
            inside = candidates[(candidates > above) & (candidates <= most)]
            if len(inside):
                return float(inside[0])
    return float(most)


def bin_labels(
    cut_points: Sequence[float], whole: bool, written: Callable[[float], str] | None = None
) -> tuple[str, ...]:
    """Name the pieces of numbers at rising cut_points: "below 0", "0 to 9", "10", "11 or more".

    Where not all numbers are whole: "below 0.5", "0.5 to below 1", "1 or more".
    """
    text = written or format_number
    names = [f"below {text(cut_points[0])}"]
    for low, end in pairwise(cut_points):
        last = f" to {text(end - 1)}" if end - 1 > low else ""
        names.append(text(low) + (last if whole else f" to below {text(end)}"))
    return (*names, f"{text(cut_points[-1])} or more")


def format_number(value: float) -> str:
    """Write a number without an exponent and without zeros at its end."""
    return np.format_float_positional(value + 0.0, trim="-")
