"""Numbers with decimal commas and dates that are not ISO dates, in one notation."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from srlib.checks import quoted
from srlib.data.codes import MISSING_TEXTS, factorize_texts, parse_days
from srlib.data.schema import Schema

# A number with a decimal comma; points may stand between thousands.
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?")
# A comma before three digits may as well stand between thousands.
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
# Points before three digits may stand between thousands, where commas are decimal marks
# elsewhere.
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[T ](\d{2}:\d{2}.*))?")


def harmonize_notation(
    frame: pd.DataFrame, schema: Schema | None, *, decimal_comma: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with decimal points and ISO dates, and notes on the columns changed.

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
    declared = (
        {variable.name: variable for variable in schema.variables} if schema else {}
    )
    changed, commas, dates = dict[str, pd.Series](), list[str](), list[str]()
    points = list[str]()
    for name, column in frame.items():
        if is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
            continue
        ids, texts = factorize_texts(column)
        present = {*texts} - MISSING_TEXTS
        if name in declared:
            apart = {*declared[name].missing_codes, *declared[name].not_applicable}
            if present & {*declared[name].levels} - apart:
                continue
            present -= apart
        if decimal_comma and _has_decimal_commas(present):
            meant = {text: _with_point(text) for text in present}
            commas.append(str(name))
        elif meant := _iso_dates(str(name), sorted(present)):
            dates.append(str(name))
        else:
            if decimal_comma and _may_be_thousands(present):
                points.append(str(name))
            continue
        values = np.array([*(meant.get(text, text) for text in texts), None], object)
        changed[str(name)] = pd.Series(values[ids], column.index, dtype=object)
    notes = [f"Numbers with a decimal comma: {quoted(commas)}."] if commas else []
    if points:
        notes.append(
            "Points before three digits were read as decimal points, but may be thousands "
            f"separators: {quoted(points)}."
        )
    notes += [f"Dates, read as numbers of days: {quoted(dates)}."] if dates else []
    columns = {name: changed.get(str(name), column) for name, column in frame.items()}
    return (pd.DataFrame(columns) if changed else frame), notes


def _has_decimal_commas(texts: Iterable[str]) -> bool:
    """Return whether all numbers can have decimal commas, and one cannot be read otherwise."""
    numbers = [text for text in texts if re.search(r"\d", text)]
    if not all(map(_COMMA.fullmatch, numbers)):
        return False
    return any("," in text and not _EITHER.fullmatch(text) for text in numbers)


def _may_be_thousands(texts: Iterable[str]) -> bool:
    """Return whether every point stands before three digits, like a thousands separator."""
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(map(_POINTS.fullmatch, pointed))


def _with_point(text: str) -> str:
    """Return a number with a decimal point for its comma, and any other text as it is."""
    return text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else text


def _iso_dates(name: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the ISO date of each text; nothing unless all texts are dates."""
    if not texts or not (_DATE.fullmatch(texts[0]) or texts[0][:4].isdigit()):
        return {}
    by_day = [_iso_date(text, day_first=True) for text in texts]
    by_month = [_iso_date(text, day_first=False) for text in texts]
    # Between points the day comes first, wherever these are used.
    others = [text for text in texts if "." not in text[:6] and _DATE.fullmatch(text)]
    if others and all(by_day) and all(by_month) and by_day != by_month:
        raise ValueError(
            f"the dates of {name!r} may be day/month/year or month/day/year; write them as "
            f"year-month-day, or leave the column out: --leave-out {name} (in Python leave_out)"
        )
    dates = by_day if all(by_day) else by_month
    return dict(zip(texts, dates, strict=True)) if all(dates) else {}


def _iso_date(text: str, *, day_first: bool) -> str:
    """Return the ISO date of a text, with its time unless that is midnight; "" if not a date."""
    if match := _DATE.fullmatch(text):
        first, _, second, year, time = match.groups()
        day, month = (first, second) if day_first else (second, first)
        text = f"{year}-{month:0>2}-{day:0>2}" + (f" {time}" if time else "")
    if np.isnan(parse_days(text)):
        return ""
    moment = datetime.fromisoformat(text)
    is_day = moment.tzinfo is None and moment == datetime(
        moment.year, moment.month, moment.day
    )
    return text[:10] if is_day else moment.isoformat(" ")
