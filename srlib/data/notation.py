"""Numbers with decimal commas and dates that are not ISO dates, in one notation."""

import re
from collections import defaultdict
from datetime import datetime

import numpy as np
import pandas as pd

from srlib.checks import quoted
from srlib.data.codes import distinct_texts, parse_days, replace_texts
from srlib.data.schema import Schema, Variable

# A number with a decimal comma; points may stand between thousands.
_WITH_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?")
# A comma before three digits may as well stand between thousands.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
# Points before three digits may stand between thousands, where commas are decimal marks
# elsewhere.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[T ](\d{2}:\d{2}.*))?")
# What every date begins with: three numbers.
_LIKE_A_DATE = re.compile(r"\d+([./-])\d+\1\d+")

# Notes, before the names of columns.
_COMMAS = "Numbers with a decimal comma"
_POINTS = (
    "Points before three digits were read as decimal points, but may be thousands "
    "separators"
)
_DATES = "Dates, read as numbers of days"


def harmonize_notation(
    frame: pd.DataFrame,
    schema: Schema | None,
    *,
    decimal_comma: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with decimal points and ISO dates, and notes on changed columns.

    A column has decimal commas if all its numbers can be read so and at least one
    cannot be read otherwise; it may have texts without digits. A column of dates has
    nothing else. Texts that a schema declares stay unchanged. A ValueError names a
    column of dates whose order is not clear.

    Parameters
    ----------
    frame : DataFrame
        Columns of any type; numbers and categories stay as they are.
    schema : Schema, optional
        The declared variables.
    decimal_comma : bool
        Whether a comma may be a decimal mark, as it may if it does not separate fields.
    """
    declared = {v.name: v for v in schema.variables} if schema else {}
    harmonized = frame.copy(deep=False)
    noted = defaultdict[str, list[str]](list)
    for name, column in frame.items():
        changed, note = _harmonize(column, declared.get(name), decimal_comma)
        if note:
            harmonized[name] = changed
            noted[note].append(name)
    notes = [f"{note}: {quoted(names)}." for note, names in noted.items()]
    return harmonized, notes


def _harmonize(
    column: pd.Series,
    variable: Variable | None,
    decimal_comma: bool,
) -> tuple[pd.Series, str]:
    """Return a column with decimal points and ISO dates, and what to note."""
    texts = _undeclared_texts(column, variable)
    if decimal_comma and _has_decimal_commas(texts):
        numbers = filter(_WITH_COMMA.fullmatch, texts)
        points = {n: n.replace(".", "").replace(",", ".") for n in numbers}
        return replace_texts(column, points), _COMMAS
    if variable and variable.date_format:
        dates = {text: _formatted_date(text, variable.date_format) for text in texts}
    else:
        dates = _iso_dates(str(column.name), sorted(texts))
    if dates:
        return replace_texts(column, dates), _DATES
    pointed = [text for text in texts if "." in text]
    # Every point stands before three digits, as between thousands.
    if decimal_comma and pointed and all(map(_THOUSANDS.fullmatch, pointed)):
        return column, _POINTS
    return column, ""


def _undeclared_texts(column: pd.Series, variable: Variable | None) -> set[str]:
    """Return a column's texts, unless it has numbers, categories or declared levels."""
    if column.dtype.kind in "biufc" or column.dtype == "category":
        return set()
    texts = distinct_texts(column)
    if variable:
        texts = texts.difference(variable.missing_codes, variable.not_applicable)
        if not texts.isdisjoint(variable.levels):
            return set()
    return texts


def _has_decimal_commas(texts: set[str]) -> bool:
    """Return whether all numbers can have decimal commas, and some number must."""
    numbers = [text for text in texts if re.search(r"\d", text)]
    can_have_commas = all(map(_WITH_COMMA.fullmatch, numbers))
    must_have = any("," in text and not _EITHER.fullmatch(text) for text in numbers)
    return can_have_commas and must_have


def _iso_dates(name: str, texts: list[str]) -> dict[str, str]:
    """Return the ISO date of each text; nothing unless all texts are dates."""
    if not texts or not _LIKE_A_DATE.match(texts[0]):
        return {}
    by_day = [_iso_date(text, day_first=True) for text in texts]
    by_month = [_iso_date(text, day_first=False) for text in texts]
    # Between points the day comes first, wherever these are used.
    slashed = [text for text in texts if "." not in text[:6] and _DATE.fullmatch(text)]
    if slashed and all(by_day) and all(by_month) and by_day != by_month:
        raise ValueError(
            f"the dates of {name!r} may be day/month/year or month/day/year; write "
            f"them as year-month-day, or leave the column out: --leave-out {name} "
            "(in Python leave_out)"
        )
    dates = by_day if all(by_day) else by_month
    return dict(zip(texts, dates, strict=True)) if all(dates) else {}


def _formatted_date(text: str, date_format: str) -> str:
    """Return the ISO date of a text in a format; any other text unchanged."""
    try:
        return str(datetime.strptime(text, date_format))
    except ValueError:
        return text


def _iso_date(text: str, *, day_first: bool) -> str:
    """Return a date in ISO notation, with its time unless that is midnight, or ""."""
    if match := _DATE.fullmatch(text):
        day, _, month, year, clock = match.groups()
        if not day_first:
            day, month = month, day
        text = f"{year}-{month:0>2}-{day:0>2}"
        if clock:
            text += f" {clock}"
    if np.isnan(parse_days(text)):
        return ""
    moment = datetime.fromisoformat(text)
    return moment.isoformat(" ").removesuffix(" 00:00:00")
