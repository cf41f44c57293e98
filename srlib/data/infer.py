"""Infer a schema from a table, or the part of it that is not declared.

Levels of texts are declared or taken from the table. Numbers are binned at declared cut
points, or near the table's quantiles. Every rule is applied to one table, the original;
all other tables are read with the resulting schema.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, compress, pairwise

import numpy as np
import pandas as pd

from srlib import yaml_io
from srlib.arrays import Ints
from srlib.checks import quoted
from srlib.data.codes import (
    AMBIGUOUS,
    MISSING_TEXTS,
    OUTSIDE,
    are_dates,
    distinct_texts,
    encode_column,
    factorize_texts,
    iso_date,
    observed_levels,
    strip_zeros,
)
from srlib.data.schema import (
    LABELS,
    MAX_LEVELS,
    MISSING_LEVEL,
    N_BINS,
    Schema,
    Variable,
)

# Distinct numbers with which an undeclared column still is categorical.
MAX_NUMERIC_LEVELS = 30
# Distinct texts that a column of numbers may have, such as codes for "does not apply".
MAX_TEXT_CODES = 5

SINGLE_VALUE = "it has the same value in every record, or none"
_UNCLEAR_DATES = (
    "it has dates, but some are not in the order day/month/year, month/day/year or "
    "year-month-day"
)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


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
    if len(frame) < 2:
        raise ValueError(
            "the table has fewer than two records; a schema needs two or more"
        )
    schema, reasons = _recognized(frame)
    refused = [name for name in reasons if reasons[name] != SINGLE_VALUE]
    if refused:
        raise ValueError(
            f"{'; '.join(f'{name}: {reasons[name]}' for name in refused)}. "
            f"Leave these columns out with {leave_out_options(refused)}, "
            "or declare them in a schema; srlib schema ORIGINAL RELEASED suggests one"
        )
    return schema


def _recognized(*tables: pd.DataFrame) -> tuple[Schema, dict[str, str]]:
    """Return the schema of tables, and the reason for each column that is left out.

    The first table determines the variables; further levels of the others come last.
    """
    original, *others = tables
    labels = original.attrs.get(LABELS, {})
    variables = []
    reasons = {}
    for name in dict.fromkeys(chain(*tables)):
        if not all(name in table for table in tables):
            reasons[name] = "it is not in all files"
            continue
        variable = _variable(name, original[name])
        if isinstance(variable, str):
            reasons[name] = variable
            continue
        for table in () if variable.bins else others:
            unseen, _ = _unseen_texts(variable, table[name])
            variable = variable.add_levels(unseen)
        variables.append(replace(variable, title=labels.get(name)))
    if not variables:
        raise ValueError(
            f"no column can be used: {'; '.join(dict.fromkeys(reasons.values()))}"
        )
    return Schema(tuple(variables), tuple(reasons)), reasons


def _variable(name: str, column: pd.Series) -> Variable | str:
    """Return a column's variable, or the reason why it is not one."""
    texts = distinct_texts(column)
    numeric, numbers, others = _read_numbers(Variable(name, bins=N_BINS), column)
    if not numeric.dates:
        if len(texts) > MAX_NUMERIC_LEVELS and all(map(_DATE.fullmatch, texts)):
            return _UNCLEAR_DATES
        are_whole = not np.mod(numbers.index, 1).any()
        if are_whole and len(texts) == len(column) > MAX_LEVELS:
            return "it is unique for every record, like a name or an ID"
    if column.dtype == "category":
        return Variable(name, tuple(map(str, column.cat.categories)))
    is_numeric = len(numbers) > MAX_NUMERIC_LEVELS and len(others) <= MAX_TEXT_CODES
    has_leading_zeros = any(re.match("0[0-9]", text) for text in texts)  # as "0310"
    if is_numeric and not has_leading_zeros:
        return numeric
    return _categorical(name, column)


def _read_numbers(
    variable: Variable, column: pd.Series
) -> tuple[Variable, pd.Series, list[str]]:
    """Return the variable, the counts of its numbers, increasing, and its other texts.

    The numbers are dates if all values are. Values that are missing or not applicable
    are left out.
    """
    absent = MISSING_TEXTS.union(variable.missing_codes, variable.not_applicable)
    ids, texts = factorize_texts(column)
    dates = variable.dates or are_dates({*texts} - absent)
    variable = replace(variable, dates=dates)
    numbers = np.array(variable.numbers_of(texts))  # (n_texts,)
    values = np.append(numbers, np.nan)[ids]  # (n,)
    counts = pd.Series(values).value_counts().sort_index()
    not_numbers = compress(texts, np.isnan(numbers))
    others = [t for t in not_numbers if absent.isdisjoint({t, strip_zeros(t)})]
    return variable, counts, others


def _categorical(name: str, column: pd.Series) -> Variable | str:
    """Return the variable of a column's values, or the reason why it is not one."""
    levels = observed_levels(column)
    if len(levels) > MAX_LEVELS:
        return (
            f"it has {len(levels):,} values that are not numbers, "
            f"such as {quoted(levels, 3)}"
        )
    if len(levels) > 1:
        return Variable(name, levels)
    ids, texts = factorize_texts(column)
    has_missing = -1 in ids or MISSING_TEXTS & {*texts}
    if levels and has_missing:
        return Variable(name, (*levels, MISSING_LEVEL), missing=MISSING_LEVEL)
    return SINGLE_VALUE


def bin_numbers(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, list[str]]:
    """Return a schema whose bins and open levels are those of a table, and notes."""
    variables = []
    notes = []
    for variable in schema.variables:
        column = frame[variable.name]
        if not variable.levels and (variable.bins or variable.cut_points):
            variable, note = _binned(variable, column)
            notes.append(note)
        elif not variable.levels:
            variable = replace(variable, levels=observed_levels(column))
        variables.append(variable)
    if any(variable.bins for variable in schema.variables):
        notes.append(
            "These cut points reveal quantiles of the original; "
            "cut points given in a schema do not."
        )
    return replace(schema, variables=tuple(variables)), notes


def _binned(variable: Variable, column: pd.Series) -> tuple[Variable, str]:
    """Return a variable binned by a column's numbers, and a note on its cut points."""
    variable, counts, texts = _read_numbers(variable, column)
    texts += variable.not_applicable
    if len(texts) > MAX_LEVELS:
        raise ValueError(
            f"{variable.name} is declared to be numeric but has {len(texts)} values "
            f"that are not numbers, such as {quoted(texts, 3)}"
        )
    if len(counts) < 2 and not variable.cut_points:
        raise ValueError(
            f"{variable.name} is declared to be numeric but has {len(counts)} distinct "
            "numbers; binning needs two or more"
        )
    cut_points = variable.cut_points or quantile_cut_points(counts, variable.bins)
    are_whole = not np.mod([*counts.index, *cut_points], 1).any()
    text_of = iso_date if variable.dates else format_number
    bins = bin_labels(cut_points, are_whole, text_of)
    binned = replace(
        variable,
        levels=(*bins, *texts),
        cut_points=cut_points,
        bins=0,
        missing="",
    )
    if variable.missing:
        binned = binned.add_missing_level()
    where = (
        "near the original's quantiles, with" if variable.bins else "at the declared"
    )
    cuts = ", ".join(map(text_of, cut_points))
    return binned, f"{variable.name} is binned {where} cut points {cuts}."


def add_missing_levels(
    schema: Schema, *frames: pd.DataFrame
) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema with levels for missing values of any table, and a note.

    Variables with a rule of their own for missing values keep it. The note counts the
    missing values of the first table.
    """
    variables = []
    counts = []
    for variable in schema.variables:
        missing = variable.codes_of([""])
        coded = [encode_column(f[variable.name], variable.codes_of) for f in frames]
        n_missing = [np.count_nonzero(codes == missing) for codes, _ in coded]
        if variable.drop_missing is None and any(n_missing):
            variable = variable.add_missing_level()
        if variable.missing and n_missing[0]:
            counts.append(f"{variable.name} {n_missing[0]:,}")
        variables.append(variable)
    note = (
        f"Missing values are a separate level: {', '.join(counts)} "
        f"of {len(frames[0]):,}."
    )
    return replace(schema, variables=tuple(variables)), (note,) if counts else ()


def add_unseen_levels(
    schema: Schema,
    frame: pd.DataFrame,
) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema with another table's further levels, and a note that names them.

    A ValueError names a variable that has no known value, or more than five texts among
    numbers: all of its records would count as different.
    """
    variables = []
    unseen = []
    for variable in schema.variables:
        texts, has_known = _unseen_texts(variable, frame[variable.name])
        if texts:
            too_many = variable.cut_points and len(texts) > MAX_TEXT_CODES
            if too_many or not has_known:
                raise _unknown_values_error(variable, texts)
            unseen.append(f"{variable.name} {quoted(texts, 3)}")
        variables.append(variable.add_levels(texts))
    note = f"Levels that the original does not have: {'; '.join(unseen)}."
    return replace(schema, variables=tuple(variables)), (note,) if unseen else ()


def _unknown_values_error(variable: Variable, texts: Sequence[str]) -> ValueError:
    """Return the error about values that the original does not have."""
    known = [level for level in variable.levels if level != variable.missing]
    known_values = "numbers" if variable.cut_points else quoted(known, 3)
    return ValueError(
        f"{variable.name} has values that the original does not have, "
        f"{quoted(texts, 3)}; the original has {known_values}. "
        "Are they coded differently? Write the values alike in both files, or leave "
        "the column out: "
        f"{leave_out_options([variable.name])}"
    )


def _unseen_texts(variable: Variable, column: pd.Series) -> tuple[list[str], bool]:
    """Return a column's texts that are no levels, and whether any text is one."""
    _, texts = factorize_texts(column)
    codes = dict(zip(texts, variable.codes_of(texts), strict=True))
    unclear = [text for text, code in codes.items() if code == AMBIGUOUS]
    if unclear:
        raise ValueError(variable.ambiguity_message(quoted(unclear, 3)))
    unseen = [text for text, code in codes.items() if code == OUTSIDE]
    has_known = max(codes.values(), default=OUTSIDE) >= 0
    return unseen, has_known


def suggest_schema(
    tables: Sequence[pd.DataFrame],
    left_out: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """Return the YAML text of a schema, and a note on each column that is left out.

    Columns that a user left out are named as well. The first table, the original,
    determines the variables. Further levels of the other tables come last; a last level
    is for missing values of any table.
    """
    schema, reasons = _recognized(*tables)
    reasons = dict.fromkeys(left_out, "you named it in leave_out") | reasons
    schema, _ = add_missing_levels(schema, *tables)
    document: dict[str, object] = {"leave_out": list(reasons)} if reasons else {}
    document["variables"] = [_declaration(variable) for variable in schema.variables]
    notes = [f"{name} is left out: {reason}." for name, reason in reasons.items()]
    return yaml_io.dump(document), notes


def _declaration(variable: Variable) -> dict[str, object]:
    """Return the entry of a YAML file that declares a variable."""
    levels = [level for level in variable.levels if level != variable.missing]
    entry = {
        "name": variable.name,
        "title": variable.title if variable.title != variable.name else "",
        "bins": variable.bins,
        "levels": levels,
        "missing": "level" if variable.missing else "",
    }
    return {key: value for key, value in entry.items() if value}


def quantile_cut_points(counts: pd.Series, bins: int) -> tuple[float, ...]:
    """Return round cut points near the quantiles of numbers.

    The counts of records have the numbers, increasing, as their index. The bins have
    about the same number of records. Each cut point is the roundest number within a
    quarter of a bin around the quantile, so that it reads well and discloses little
    about single records. A number that fills a bin's share of the records by itself, as
    zero among incomes, has its own bin. A cut point is the smallest number of the bin
    above it.
    """
    numbers = counts.index.to_numpy()
    neighbors = _neighbors_of_cuts(counts.to_numpy(), bins)
    cut_points = sorted(_roundest(*numbers[i]) for i in neighbors)
    # Two cut points between the same neighbors would leave a bin without records.
    _, first = np.unique(numbers.searchsorted(cut_points), return_index=True)
    return tuple(cut_points[i] for i in first)


def _neighbors_of_cuts(counts: Ints, bins: int) -> list[list[int]]:
    """Return which numbers each cut is above, near, and not above."""
    cumulative = counts.cumsum()
    share = cumulative[-1] / bins  # of the records
    is_heavy = counts >= share
    # Heavy numbers have a cut below and above.
    heavy = np.flatnonzero(is_heavy[:-1] | is_heavy[1:]).tolist()
    neighbors = [[i, i + 1, i + 1] for i in heavy]
    # Ranks a quarter of a bin below, at and above each quantile.
    quarters = np.array([-0.25, 0, 0.25])
    ranks = (np.arange(1, bins)[:, None] + quarters) * share  # (bins - 1, 3)
    places = cumulative.searchsorted(ranks, side="right")
    for low, middle, high in places.clip(max=len(counts) - 1):
        if middle and not is_heavy[low : high + 1].any():
            neighbors.append([max(low - 1, 0), middle, high])
    return neighbors


def _roundest(above: float, near: float, most: float) -> float:
    """Return the number in (above, most] with the fewest digits that is nearest."""
    largest = max(abs(above), abs(most))
    first = int(np.floor(np.log10(largest))) + 1
    for exponent in range(first, -18, -1):
        for multiple in (10.0**exponent, 10.0**exponent / 2):
            steps = np.round(near / multiple + np.array([0, -1, 1]))
            # 6 * 0.1 is above 0.6.
            candidates = np.round(steps * multiple, max(0, 1 - exponent))
            inside = candidates[(candidates > above) & (candidates <= most)]
            if len(inside):
                return float(inside[0])
    return float(most)


def format_number(value: float) -> str:
    """Return a number as text, without an exponent and without trailing zeros."""
    return np.format_float_positional(value + 0.0, trim="-")


def bin_labels(
    cut_points: Sequence[float],
    whole: bool,
    text_of: Callable[[float], str] = format_number,
) -> tuple[str, ...]:
    """Return the labels of bins: "below 0", "0 to 9", "10", "11 or more".

    If not all numbers are whole: "below 0.5", "0.5 to below 1", "1 or more".
    """
    labels = [f"below {text_of(cut_points[0])}"]
    for low, end in pairwise(cut_points):
        if not whole:
            labels.append(f"{text_of(low)} to below {text_of(end)}")
        elif end - 1 > low:
            labels.append(f"{text_of(low)} to {text_of(end - 1)}")
        else:
            labels.append(text_of(low))
    labels.append(f"{text_of(cut_points[-1])} or more")
    return tuple(labels)
