"""Infer a schema from a table, or the part of it that is not declared.

Levels of texts are declared or taken from the table. Numbers are binned at declared cut
points, or near the table's quantiles. Every rule is applied to one table, the original;
all other tables are read with the resulting schema.
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
from srlib.checks import quoted, require
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

# Distinct numbers with which an undeclared column still is categorical.
MAX_NUMERIC_LEVELS = 30
# Distinct texts that a column of numbers may have, such as codes for "does not apply".
MAX_TEXT_CODES = 5
# Bins of a numeric column.
N_BINS = 10

SINGLE_VALUE = "it has the same value in every record, or none"
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


# Ways to code two values, in lower case.
_TWO_VALUES = {
    "true/false": {"true", "false"},
    "t/f": {"t", "f"},
    "yes/no": {"yes", "no"},
    "y/n": {"y", "n"},
    "1/0": {"1", "0"},
}


def leave_out_options(names: Sequence[str]) -> str:
    """Return the options that leave columns out, on the command line and in Python."""
    options = " ".join(f"--leave-out {shlex.quote(name)}" for name in names)
    return f"{options} (in Python leave_out={list(names)})"


def infer_schema(frame: pd.DataFrame) -> Schema:
    """Return the schema that a table's values suggest.

    A column is numeric if it has more than 30 distinct numbers and at most five other
    texts; dates are numeric, too. The levels of all other columns are their categories
    or distinct values. Columns with one value, or none, are left out. A ValueError
    names columns that look like names or IDs, and columns with more than 100 distinct
    values that are not numbers.
    """
    require(
        len(frame) > 1,
        "the table has fewer than two records; a schema needs two or more",
    )
    schema, left = _recognized(frame)
    wrong = {name: reason for name, reason in left.items() if reason != SINGLE_VALUE}
    problems = "; ".join(f"{name}: {reason}" for name, reason in wrong.items())
    if wrong:
        raise ValueError(
            f"{problems}. Leave these columns out with {leave_out_options([*wrong])}, "
            "or declare them in a schema; srlib schema ORIGINAL RELEASED suggests one"
        )
    return schema


def _recognized(
    original: pd.DataFrame, *others: pd.DataFrame
) -> tuple[Schema, dict[str, str]]:
    """Return the schema of tables, and the reason for each column that is left out.

    The original determines the variables; further levels of other tables come last.
    """
    variables, left = [], {}
    for name in dict.fromkeys(chain(original, *others)):
        lacking = any(name not in table for table in (original, *others))
        found = (
            "it is not in all files"
            if lacking
            else _variable(str(name), original[name])
        )
        if isinstance(found, str):
            left[str(name)] = found
            continue
        for table in others if found.levels else ():
            found = found.add_levels(_unseen(found, table[name])[0])
        variables.append(found)
    require(
        variables, f"no column can be used: {'; '.join(dict.fromkeys(left.values()))}"
    )
    return Schema(tuple(variables), tuple(left)), left


def _variable(name: str, column: pd.Series) -> Variable | str:
    """Return a column's variable, or the reason why it is not one."""
    texts = [text for text in factorize_texts(column)[1] if text not in MISSING_TEXTS]
    dates = _are_dates(texts)
    if (
        not dates
        and len(texts) > MAX_NUMERIC_LEVELS
        and all(map(_DATE.fullmatch, texts))
    ):
        return (
            "it has dates, but some are not in the order day/month/year, month/day/year or "
            "year-month-day"
        )
    values, others = count_numbers(
        column, number_of=parse_days if dates else parse_number
    )
    whole = not dates and not np.mod(values.index, 1).any()
    if whole and len(texts) == len(column) > MAX_LEVELS:
        return "it is unique for every record, like a name or an ID"
    if isinstance(column.dtype, pd.CategoricalDtype):
        return Variable(name, tuple(map(str, column.cat.categories)))
    names = any(re.match("0[0-9]", text) for text in texts)  # as "0310"
    if len(values) > MAX_NUMERIC_LEVELS and len(others) <= MAX_TEXT_CODES and not names:
        return Variable(name, bins=N_BINS, dates=dates)
    levels = observed_levels(column)
    if len(levels) > MAX_LEVELS:
        return f"it has {len(levels):,} values that are not numbers, such as {quoted(levels, 3)}"
    if len(levels) == 1 and (
        column.isna().any() or MISSING_TEXTS & set(factorize_texts(column)[1])
    ):
        return Variable(name, (*levels, MISSING_LEVEL), missing=MISSING_LEVEL)
    return Variable(name, levels) if len(levels) > 1 else SINGLE_VALUE


def _are_dates(texts: Iterable[str]) -> bool:
    """Return whether there are texts and all of them are ISO dates."""
    found = list(texts)
    return bool(found) and not any(np.isnan(parse_days(text)) for text in found)


def bin_numbers(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema whose numeric variables are binned by a table, and a note on each."""
    done = [
        _binned(v, frame[v.name]) if v.needs_binning else (v, "")
        for v in schema.variables
    ]
    notes = [note for _, note in done if note]
    if any(variable.bins for variable in schema.variables):
        notes.append(
            "These cut points reveal quantiles of the original; "
            "cut points given in a schema do not."
        )
    return replace(schema, variables=tuple(variable for variable, _ in done)), tuple(
        notes
    )


def _binned(variable: Variable, column: pd.Series) -> tuple[Variable, str]:
    """Return a variable that is binned by a column's numbers, and a note on its cut points."""
    absent = {*variable.missing_codes, *variable.not_applicable}
    dates = variable.dates or _are_dates(
        {*factorize_texts(column)[1]} - MISSING_TEXTS - absent
    )
    counts, texts = count_numbers(
        column, *absent, number_of=parse_days if dates else parse_number
    )
    texts += variable.not_applicable
    numeric = f"{variable.name} is declared to be numeric"
    examples = f"{len(texts)} values that are not numbers, such as {quoted(texts, 3)}"
    require(len(texts) <= MAX_LEVELS, f"{numeric} but has {examples}")
    enough = len(counts) > 1 or variable.cut_points
    require(
        enough,
        f"{numeric} but has {len(counts)} distinct numbers; binning needs two or more",
    )
    cut_points = variable.cut_points or quantile_cut_points(
        counts.index, counts, variable.bins
    )
    written = iso_date if dates else format_number
    names = bin_labels(
        cut_points, not np.mod([*counts.index, *cut_points], 1).any(), written
    )
    levels = (*names, *texts)
    undone: dict[str, Any] = {"labels": (), "bins": 0, "missing": ""}
    done = replace(
        variable, levels=levels, cut_points=cut_points, dates=dates, **undone
    )
    how = "near the original's quantiles, with" if variable.bins else "at the declared"
    note = f"{variable.name} is binned {how} cut points {', '.join(map(written, cut_points))}."
    return done.add_missing_level() if variable.missing else done, note


def add_missing_levels(
    schema: Schema, *frames: pd.DataFrame
) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema with a level for missing values where any table has some, and a note.

    Variables with a rule of their own for missing values keep it. The note counts the
    missing values of the first table.
    """
    variables, lacking = [], []
    for variable in schema.variables:
        (none,) = variable.codes_of([""])
        codes = (
            encode_column(frame[variable.name], variable.codes_of)[0]
            for frame in frames
        )
        absent = [np.count_nonzero(of_frame == none) for of_frame in codes]
        if variable.drop_missing is None and any(absent):
            variable = variable.add_missing_level()
        if variable.missing and absent[0]:
            lacking.append(f"{variable.name} {absent[0]:,}")
        variables.append(variable)
    note = f"Missing values are a separate level: {', '.join(lacking)} of {len(frames[0]):,}."
    return replace(schema, variables=tuple(variables)), (note,) if lacking else ()


def add_unseen_levels(
    schema: Schema, frame: pd.DataFrame
) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema with the further levels that another table has, and a note that names them.

    A ValueError names a variable that has no known value, or more than five texts among
    numbers: all of its records would count as different.
    """
    variables, unseen = [], []
    for variable in schema.variables:
        new, known = _unseen(variable, frame[variable.name])
        if new:
            comparable = known and not (
                variable.cut_points and len(new) > MAX_TEXT_CODES
            )
            require(comparable, _unknown_values_message(variable, new))
            unseen.append(f"{variable.name} {quoted(new, 3)}")
        variables.append(variable.add_levels(new))
    note = f"Levels that the original does not have: {'; '.join(unseen)}."
    return replace(schema, variables=tuple(variables)), (note,) if unseen else ()


def _unknown_values_message(variable: Variable, new: Sequence[str]) -> str:
    """Return the message about values that the original does not have."""
    known = [level for level in variable.levels if level != variable.missing]
    known_values = "numbers" if variable.cut_points else quoted(known, 3)
    here = _coding(new)
    there = _coding(known)
    example = f" ({here} here and {there} in the original)" if here and there else ""
    return (
        f"{variable.name} has values that the original does not have, {quoted(new, 3)}; "
        f"the original has {known_values}. Are they coded differently{example}? "
        "Write the values alike in both files, or leave the column out: "
        f"{leave_out_options([variable.name])}"
    )


def _coding(texts: Sequence[str]) -> str:
    """Return how texts code two values, as "yes/no"; "" if they do not."""
    values = {strip_zeros(text).casefold() for text in texts}
    return next((kind for kind, pair in _TWO_VALUES.items() if values <= pair), "")


def _unseen(variable: Variable, column: pd.Series) -> tuple[list[str], bool]:
    """Return the texts of a column that are not levels, and whether any text is a level."""
    texts = list(dict.fromkeys(factorize_texts(column)[1]))
    codes = variable.codes_of(texts)
    unclear = [
        text for text, code in zip(texts, codes, strict=True) if code == AMBIGUOUS
    ]
    require(not unclear, variable.ambiguity_message(quoted(unclear, 3)))
    new = [text for text, code in zip(texts, codes, strict=True) if code == OUTSIDE]
    return new, max(codes, default=OUTSIDE) >= 0


def suggest_schema(
    tables: Sequence[pd.DataFrame], left_out: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the YAML text of a schema for tables, and a note on each column that is left out.

    Columns that a user left out are named as well. The first table, the original,
    determines the variables. Further levels of the other tables come last; a last level
    is for missing values of any table.
    """
    schema, left = _recognized(*tables)
    left = dict.fromkeys(left_out, "you named it in leave_out") | left
    entries = []
    for variable in add_missing_levels(schema, *tables)[0].variables:
        entry: dict[str, object] = {"name": variable.name, "bins": variable.bins}
        entry["levels"] = [
            level for level in variable.levels if level != variable.missing
        ]
        entry["missing"] = "level" if variable.missing else ""
        entries.append({key: value for key, value in entry.items() if value})
    text = yaml_io.dump(
        ({"leave_out": list(left)} if left else {}) | {"variables": entries}
    )
    return text, tuple(
        f"{name} is left out: {reason}." for name, reason in left.items()
    )


def quantile_cut_points(
    values: ArrayLike, counts: ArrayLike, bins: int
) -> tuple[float, ...]:
    """Return round cut points near the quantiles of increasing numbers.

    The bins have about the same number of records. Each cut point is the roundest
    number within a quarter of a bin around the quantile, so that it reads well and
    discloses little about single records. A number that fills a bin's share of the
    records by itself, as zero among incomes, has its own bin. A cut point is the
    smallest number of the bin above it.
    """
    value, count = np.asarray(values, dtype=np.float64), np.asarray(counts)
    up_to = np.cumsum(count)
    share = up_to[-1] / bins
    heavy = count >= share
    starts = {i + shift for i in np.flatnonzero(heavy).tolist() for shift in (0, 1)}
    cuts = {(value[i - 1], value[i], value[i]) for i in starts if 0 < i < len(value)}
    for j in range(1, bins):
        ranks = (np.array([j - 0.25, j, j + 0.25])) * share
        low, middle, high = np.searchsorted(up_to, ranks, side="right").clip(
            max=len(value) - 1
        )
        if not heavy[low : high + 1].any() and middle > 0:
            cuts.add((value[max(low - 1, 0)], value[middle], value[high]))
    cut_points = np.array(sorted(_roundest(*cut) for cut in cuts))
    # Two cut points between the same neighbors would leave a bin without records.
    _, first = np.unique(np.searchsorted(value, cut_points), return_index=True)
    return tuple(cut_points[first].tolist())


def _roundest(above: float, near: float, most: float) -> float:
    """Return the number in (above, most] with the fewest digits, and of these the nearest."""
    for exponent in range(
        int(np.floor(np.log10(max(abs(above), abs(most))))) + 1, -18, -1
    ):
        for multiple in (10.0**exponent, 10.0**exponent / 2):
            candidates = np.round(near / multiple + np.array([0, -1, 1])) * multiple
            candidates = np.round(
                candidates, max(0, 1 - exponent)
            )  # 6 * 0.1 is above 0.6
            inside = candidates[(candidates > above) & (candidates <= most)]
            if len(inside):
                return float(inside[0])
    return float(most)


def bin_labels(
    cut_points: Sequence[float],
    whole: bool,
    written: Callable[[float], str] | None = None,
) -> tuple[str, ...]:
    """Return the labels of bins: "below 0", "0 to 9", "10", "11 or more".

    If not all numbers are whole: "below 0.5", "0.5 to below 1", "1 or more".
    """
    text = written or format_number
    names = [f"below {text(cut_points[0])}"]
    for low, end in pairwise(cut_points):
        last = f" to {text(end - 1)}" if end - 1 > low else ""
        names.append(text(low) + (last if whole else f" to below {text(end)}"))
    return (*names, f"{text(cut_points[-1])} or more")


def format_number(value: float) -> str:
    """Return a number as text, without an exponent and without trailing zeros."""
    return np.format_float_positional(value + 0.0, trim="-")
