"""Schemas of categorical variables, and tables as integer codes."""

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from srlib import yaml_io
from srlib.arrays import ArrayLike, Bools, Ints
from srlib.checks import duplicates, printable, quoted, rows_where
from srlib.data.codes import (
    AMBIGUOUS,
    MISSING,
    MISSING_TEXTS,
    OUTSIDE,
    are_dates,
    distinct_texts,
    encode_column,
    observed_levels,
    parse_days,
    parse_number,
    replace_texts,
    strip_zeros,
)

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

type Frame = pd.DataFrame | IntoFrame
"""A table of pandas, polars, PyArrow or DuckDB."""

MISSING_LEVEL = "missing"
LABELS = "column_names_to_labels"  # of SPSS and Stata, in the attrs of a DataFrame
MAX_LEVELS = 100  # of a column without a schema
N_BINS = 10  # of a numeric column without a schema
# Rules for missing values, and whether each drops the records with a missing value.
MISSING_RULES = {"level": None, "drop": True, "error": False}

# Vega's renderer fails on control characters, except for tabs and line ends within
# values, and looks texts up in JavaScript objects, where it finds every object's own
# properties. A surrogate, such as YAML's "\ud800", cannot be written to a file.
_UNDRAWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]"
    "|^(constructor|hasOwnProperty|isPrototypeOf|toString|propertyIsEnumerable"
    "|toLocaleString|valueOf|__proto__|__(define|lookup)[GS]etter__)$"
)
# Bins of a column in the metadata of SDV, by its "pii" or else its sdtype: 0 if it is
# categorical, None if it is left out.
_BINS = {
    "boolean": 0,
    "categorical": 0,
    "datetime": N_BINS,
    "numerical": N_BINS,
    "id": None,
    "unknown": None,
    "true": None,
    "false": 0,
}
# What an entry of a YAML file may have, and which of these are lists.
_LISTS = ("levels", "labels", "cut_points", "missing_codes", "not_applicable")
_KEYS = (
    "name",
    "title",
    "levels",
    "bins",
    "cut_points",
    "missing",
    "missing_codes",
    "not_applicable",
)


@dataclass(frozen=True)
class Variable:
    """A categorical variable, or a numeric one in bins.

    Parameters
    ----------
    name : str
        Its column in a table. Neither it nor any other text may have control characters
        (tabs and line ends are allowed within levels, labels and title), or be a
        property of every JavaScript object, such as ``constructor``: charts could not
        be drawn.
    levels : tuple of str
        Its values as a file has them, in order; at least two. Empty while numbers are
        still to be binned, or levels to be taken from a table, which `read_table` does.
    labels : tuple of str
        A short text for readers for each level; default: the levels.
    title : str
        A description for readers; default: the name.
    cut_points : tuple of float
        Cut points of a numeric variable, increasing. The first ``len(cut_points) + 1``
        levels are the bins: below the first cut point, from each to below the next, and
        from the last on. Further levels are texts that are not numbers.
    missing : str
        The level of missing values; if not given, there is none.
    missing_codes : tuple of str
        Texts that mean a missing value, besides ``MISSING_TEXTS``.
    drop_missing : bool, optional
        Whether records with a missing value are dropped; if not given, the caller
        decides.
    not_applicable : tuple of str
        Levels that mean that the variable does not apply: learning one of them
        discloses nothing. Those not among ``levels`` follow them.
    bins : int
        Number of bins, with about the same number of records, that a table is to form.
    dates : bool
        Whether the numbers are dates, counted in days from 1970-01-01.
    date_format : str
        How a file writes its dates, as for ``datetime.strptime``; if not given, or if a
        text is written otherwise, dates are recognized.
    """

    name: str
    levels: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    title: str = ""
    cut_points: tuple[float, ...] = ()
    missing: str = ""
    missing_codes: tuple[str, ...] = ()
    drop_missing: bool | None = None
    not_applicable: tuple[str, ...] = ()
    bins: int = 0
    dates: bool = False
    date_format: str = ""

    def __post_init__(self) -> None:
        if self.levels:
            added = tuple(t for t in self.not_applicable if t not in self.levels)
            object.__setattr__(self, "labels", (self.labels or self.levels) + added)
            object.__setattr__(self, "levels", self.levels + added)
        object.__setattr__(self, "title", (self.title or "").strip() or self.name)
        self._check()

    def _check(self) -> None:
        """Raise a ValueError if texts, cut points or numbers of levels do not fit."""
        _check_texts(f"levels of {self.name}", self.levels)
        _check_texts(f"labels of {self.name}", self.labels)
        _check_texts("the name", (self.name,))
        _check_texts(f"title of {self.name}", (self.title,))
        if not (
            np.isfinite(self.cut_points).all() and (np.diff(self.cut_points) > 0).all()
        ):
            raise ValueError(
                f"cut_points of {self.name} are {list(self.cut_points)}; "
                "they must increase"
            )
        n_levels = len(self.levels)
        n_required = max(len(self.cut_points), 1) + 1
        if 0 < n_levels < n_required:
            raise ValueError(
                f"{self.name} has {n_levels} levels; it needs at least {n_required}"
            )
        if len(self.labels) != n_levels:
            raise ValueError(
                f"{self.name} has {n_levels} levels and {len(self.labels)} labels"
            )
        if self.levels and self.missing not in ("", *self.levels):
            raise ValueError(
                f"missing of {self.name} is {self.missing!r}; "
                "it must be one of the levels"
            )

    @property
    def codes_without_value(self) -> tuple[int, ...]:
        """Codes of the levels for missing values and for not applicable."""
        no_values = {*self.not_applicable, self.missing}
        return tuple(i for i, level in enumerate(self.levels) if level in no_values)

    def codes_of(self, texts: Iterable[str]) -> list[int]:
        """Return the code of each text, from 0, or negative if it has no level.

        Negative codes are ``MISSING``, ``OUTSIDE`` and ``AMBIGUOUS``. A text that is
        not a level is read as the level that differs from it only in case ("YES" for
        "yes") or trailing zeros ("1.0", which software writes for integers when some
        are missing). It is ambiguous if it matches several levels. "01" is not "1". A
        number of a numeric variable has the code of its bin, in any notation.
        """
        exact = {level: code for code, level in enumerate(self.levels)}
        alike: dict[str, int] = {}
        for level, code in exact.items():
            form = strip_zeros(level).casefold()
            alike[form] = AMBIGUOUS if form in alike else code
        missing = exact.get(self.missing, MISSING)
        exact = dict.fromkeys(MISSING_TEXTS, missing) | exact
        exact |= dict.fromkeys(self.missing_codes, missing)

        def code_of(text: str) -> int:
            plain = strip_zeros(text)
            code = exact.get(text, exact.get(plain))
            if code is not None:
                return code
            if self.cut_points and not math.isnan(value := self.number_of(text)):
                return bisect_right(self.cut_points, value)
            return alike.get(plain.casefold(), OUTSIDE)

        return list(map(code_of, texts))

    def ambiguity_message(self, texts: str) -> str:
        """Return the message about texts that match several levels."""
        return (
            f"{self.name} has {texts}, which matches several of the levels "
            f"{quoted(self.levels)}, apart from case and trailing zeros; "
            "write it exactly like its level"
        )

    def number_of(self, text: str) -> float:
        """Return a text's number, or a date's days; NaN if it is neither."""
        return parse_days(text) if self.dates else parse_number(text)

    def numbers_of(self, texts: Iterable[str]) -> list[float]:
        """Return each text's number; NaN if not a number, missing or not applicable."""
        absent = {*self.missing_codes, *self.not_applicable}
        return [
            math.nan if absent & {t, strip_zeros(t)} else self.number_of(t)
            for t in texts
        ]

    def labels_to_levels(self, column: pd.Series) -> tuple[pd.Series, str]:
        """Return a column with levels for labels, and a note unless that was certain.

        Categories that equal the labels are written by `Microdata.to_frame`. A
        ValueError refuses them if all labels are levels as well. In any other column,
        labels are read as levels only if no value is a level.
        """
        if self.labels == self.levels:
            return column, ""
        level_of = dict(zip(self.labels, self.levels, strict=True))
        only_labels = {*self.labels} - {*self.levels}
        if column.dtype == "category" and {*column.cat.categories} == {*self.labels}:
            if not only_labels:
                raise ValueError(
                    f"the categories of {self.name} are both labels and levels; "
                    "give it levels, as to_frame(labels=False) does"
                )
            return column.cat.rename_categories(level_of), ""
        texts = distinct_texts(column) - {*self.missing_codes}
        if not texts or not texts <= only_labels:
            return column, ""
        note = f"Labels were read as levels: {self.name!r}."
        return replace_texts(column, level_of), note

    def add_levels(self, more: Sequence[str]) -> "Variable":
        """Return the variable with further levels, which are their own labels."""
        return replace(self, levels=(*self.levels, *more), labels=(*self.labels, *more))

    def add_missing_level(self) -> "Variable":
        """Return the variable with a level for missing values, if it has none."""
        if self.missing or not self.levels:
            return replace(self, missing=self.missing or MISSING_LEVEL)
        taken = MISSING_LEVEL in self.levels + self.labels
        level = f"{MISSING_LEVEL} 2" if taken else MISSING_LEVEL
        return replace(self.add_levels([level]), missing=level)


@dataclass(frozen=True)
class Schema:
    """The variables of a table, in the order of its columns.

    Parameters
    ----------
    variables : tuple of Variable
        At least one; their names differ.
    leave_out : tuple of str
        Further columns that a table may have, such as names and IDs. If a schema has
        nothing else, all other columns are inferred.

    Examples
    --------
    >>> job = Variable("job", ("cook", "smith", "miller"))
    >>> schema = Schema((job, Variable("sick", ("0", "1"), labels=("no", "yes"))))
    >>> schema.names, schema.n_levels.tolist(), schema.n_cells
    (('job', 'sick'), [3, 2], 6)
    """

    variables: tuple[Variable, ...]
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.variables and not self.leave_out:
            raise ValueError(
                "variables is empty; a schema needs at least one variable, or leave_out"
            )
        if repeated := duplicates([*self.names, *self.leave_out]):
            raise ValueError(
                f"names of variables must differ; repeated are {quoted(repeated)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def n_levels(self) -> Ints:
        """Number of levels of each variable, (n_variables,)."""
        return np.array([len(v.levels) for v in self.variables], np.int64)

    @property
    def n_cells(self) -> int:
        """Number of cells of the contingency table of all variables."""
        return math.prod(self.n_levels.tolist())

    def positions(
        self,
        names: Sequence[str],
        argument: str,
    ) -> list[int]:
        """Return the positions of variables by name.

        A ValueError names the ``argument`` if a name is unknown or repeated, or if
        there are none.
        """
        if isinstance(names, str) or not isinstance(names, Collection):
            raise ValueError(f"{argument} is {names!r}; it must be a list of names")
        if not len(names):
            raise ValueError(f"{argument} is []; it must name one or more")
        if unknown := [name for name in names if name not in self.names]:
            raise ValueError(
                f"{argument} names {quoted(unknown)}; "
                f"available are {', '.join(self.names)}"
            )
        if duplicates(names):
            raise ValueError(
                f"{argument} is {list(names)}; no variable may be repeated"
            )
        return list(map(self.names.index, names))

    @classmethod
    def from_yaml(cls, path: str | Path) -> "Schema":
        """Read a schema from a YAML file, or from JSON metadata of SDV and SDMetrics.

        A categorical variable has ``levels``: a list, or a mapping from level to label.
        A numeric variable has ``bins``, their number, or ``cut_points``, a list;
        `read_table` bins it. Every variable may have a ``title``; ``missing``, one of
        "level" (missing values are a level), "drop" (records with a missing value are
        dropped) and "error"; ``missing_codes``, a list of texts; and
        ``not_applicable``, a list of levels that mean that the variable does not apply.
        Besides ``variables`` the file may have ``leave_out``, a list of columns, and
        ``missing``, the default for all variables; with ``leave_out`` alone, all other
        columns are inferred. Dates are numbers, and cut points may be dates. Every
        level is read as the text in the file: ``01`` is not ``1``, ``no`` is not false.
        ::

            leave_out: [SERIALNO]
            missing: level
            variables:
              - name: SEX
                levels: {1: male, 2: female}
              - name: INCP
                title: income
                bins: 10
                missing_codes: [N, -9]

        Metadata must be of one table. Its numerical and datetime columns are binned;
        categorical and boolean ones have the levels of the table that is read. The
        primary key, IDs, unknown columns and kinds of personal data are left out; with
        ``"pii": false`` they are categorical.
        """
        try:
            document = yaml_io.read(path, texts=True)
            if not isinstance(document, dict):
                document = {}
            if {"tables", "columns"} & {*document}:
                return _read_metadata(document)
            entries = document.get("variables", [] if "leave_out" in document else 0)
            if not isinstance(entries, list):
                raise ValueError(
                    "the file must have a list 'variables', or leave_out alone"
                )
            allowed = ("variables", "leave_out", "missing")
            if unknown := [key for key in document if key not in allowed]:
                raise ValueError(f"the file has unknown keys {quoted(unknown)}")
            rule = document.get("missing")
            variables = tuple(_declared_variable(entry, rule) for entry in entries)
            return cls(variables, _texts(document, "leave_out", "the file"))
        except ValueError as error:
            raise ValueError(f"{printable(path)}: {error}") from error
        except (AttributeError, KeyError, TypeError):
            raise ValueError(
                f"{printable(path)}: the metadata must have columns, each with its "
                "sdtype; in YAML, columns: {job: {sdtype: categorical}}"
            ) from None

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        typed: bool = True,
    ) -> Self:
        """Return the schema of a DataFrame, from categories or distinct values.

        Such a schema does not know levels that no record has, so a declared one is
        better. Numbers are in numeric order, other texts in alphabetic order. If all
        values of a column are whole numbers, "1.0" is the level "1". Columns with one
        distinct value or more than 100 are refused. Unless `typed`, categories are
        ignored.
        """
        levels_by_column = []
        unsuitable = []
        for name, column in frame.items():
            if typed and column.dtype == "category":
                levels = tuple(map(str, column.cat.categories))
            else:
                levels = observed_levels(column)
                if not 2 <= len(levels) <= MAX_LEVELS:
                    unsuitable.append(f"{name} {len(levels):,}")
            levels_by_column.append(levels)
        if unsuitable:
            raise ValueError(
                f"columns without 2 to {MAX_LEVELS} distinct values: "
                f"{', '.join(unsuitable)}; declare a schema"
            )
        return cls(tuple(map(Variable, map(str, frame), levels_by_column)))

    def encode_complete(
        self,
        frame: pd.DataFrame,
        drop_missing: bool,
    ) -> tuple[Ints, Bools]:
        """Return the codes of a table's complete records, and which ones these are.

        The table has one column per variable, in any order, and no others. A ValueError
        names columns that are missing, unknown, or have values outside the levels or
        missing values that are not dropped; it has the values and the first rows by the
        table's index. Codes are uint8 if no variable has more than 256 levels.
        """
        self.check_columns(frame)
        codes = self._encode(frame)
        is_missing = codes == MISSING
        drops = [
            drop_missing if v.drop_missing is None else v.drop_missing
            for v in self.variables
        ]
        kept = ~is_missing[:, drops].any(axis=1)
        is_missing &= kept[:, None]
        if is_missing.any():
            counts = zip(self.names, is_missing.sum(axis=0), strict=True)
            by_column = ", ".join(f"{name} {n:,}" for name, n in counts if n)
            rows = rows_where(is_missing.any(axis=1), frame.index)
            raise ValueError(
                f"missing values: {by_column} ({rows}); "
                "drop_missing drops these records"
            )
        smallest = np.min_scalar_type(self.n_levels.max() - 1)
        return codes[kept].astype(smallest), kept

    def _encode(self, frame: pd.DataFrame) -> Ints:
        """Return the codes of all records, ``MISSING`` where a value is missing."""
        undefined = [v.name for v in self.variables if not v.levels]
        if undefined:
            raise ValueError(
                f"columns {quoted(undefined)} are not binned, or have no levels yet; "
                "read_table takes both from its file"
            )
        codes = np.empty((len(frame), len(self.variables)), np.int32)
        problems = []
        for j, variable in enumerate(self.variables):
            column = frame[variable.name]
            codes[:, j], outside = encode_column(column, variable.codes_of)
            if AMBIGUOUS in codes[:, j]:
                raise ValueError(variable.ambiguity_message(outside))
            if outside:
                allowed = quoted(variable.levels)
                problems.append(f"{variable.name} has {outside}, allowed are {allowed}")
        if problems:
            raise ValueError(f"values outside the levels: {'; '.join(problems)}")
        return codes

    def note_respellings(self, frame: pd.DataFrame) -> list[str]:
        """Return a note on columns whose values match a level but for case or zeros."""
        respelled = []
        for variable in self.variables:
            known = {*variable.levels, *variable.missing_codes}
            if not variable.cut_points and distinct_texts(frame[variable.name]) - known:
                respelled.append(variable.name)
        note = (
            f"Read as levels, apart from case or trailing zeros: {quoted(respelled)}."
        )
        return [note] if respelled else []

    def decode(
        self,
        codes: ArrayLike,
        *,
        labels: bool = True,
    ) -> pd.DataFrame:
        """Return the table of codes, in categorical columns of labels or of levels.

        A ValueError says that the shape is wrong or a code is out of range.
        """
        codes = np.asarray(codes)
        n = len(self.variables)
        if (
            codes.shape[1:] != (n,)
            or not ((codes >= 0) & (codes < self.n_levels)).all()
        ):
            raise ValueError(
                f"codes has shape {codes.shape}; "
                f"it must be (n, {n}), from 0 to n_levels - 1"
            )
        columns = {}
        for variable, column in zip(self.variables, codes.T, strict=True):
            texts = variable.labels if labels else variable.levels
            columns[variable.name] = pd.Categorical.from_codes(column, texts)
        return pd.DataFrame(columns)

    def check_columns(
        self,
        columns: Iterable[str],
        *,
        ignore_unknown: bool = False,
    ) -> None:
        """Raise a ValueError unless a table has the schema's columns, in any order."""
        columns = [name for name in columns if name not in self.leave_out]
        missing = [name for name in self.names if name not in columns]
        unknown = [name for name in columns if name not in self.names]
        problems = []
        if repeated := duplicates(columns):
            problems.append(f"duplicate column names {quoted(repeated)}")
        if missing:
            problems.append(f"missing columns {', '.join(missing)}")
        if unknown and not ignore_unknown:
            problems.append(
                f"unknown columns {quoted(unknown)} (leave them out with leave_out "
                "in a schema, or with srlib assess --leave-out)"
            )
        if problems:
            raise ValueError(
                f"{'; '.join(problems)}; the schema has {', '.join(self.names)}"
            )

    def check_reserved_names(self, columns: Collection[str]) -> None:
        """Raise a ValueError if a variable has the name of a result's column."""
        if taken := [name for name in self.names if name in columns]:
            raise ValueError(
                f"variables may not be named {quoted(taken)}; "
                f"reserved are {', '.join(columns)}"
            )


def as_pandas(table: Frame) -> pd.DataFrame:
    """Return a table of another library as a DataFrame of pandas.

    Values and nulls stay as they are: no integer becomes a float beside a null. An Enum
    keeps its categories. Lazy tables are computed.
    """
    if isinstance(table, pd.DataFrame):
        return table
    import narwhals

    frame = narwhals.from_native(table, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, narwhals.DataFrame):
        raise ValueError(
            f"the table is of type {type(table).__name__}; it must be a DataFrame or "
            "Microdata"
        )
    columns = pd.DataFrame(frame.to_dict(as_series=False), dtype=object)
    for name, dtype in frame.schema.items():
        if isinstance(dtype, narwhals.Enum):
            columns[name] = pd.Categorical(columns[name], dtype.categories)
    return columns


@dataclass(frozen=True)
class Microdata:
    """Categorical records as integers.

    Attributes
    ----------
    codes : (n, n_variables) unsigned int
        Codes from 0, one row a record.
    schema : Schema
        The variables and their levels.
    notes : tuple of str
        A sentence for everything that was inferred, recoded, dropped or sampled.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"job": ["cook", "smith"], "sick": [0, 1]})
    >>> people = Microdata.from_frame(frame)
    >>> people.codes
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """

    codes: Ints
    schema: Schema
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        schema: Schema | None = None,
        *,
        drop_missing: bool = False,
    ) -> Self:
        """Return the coded records of a table, in their order.

        It is of pandas, polars, PyArrow or DuckDB, with columns in any order. Values
        are compared with the levels as text, without surrounding spaces. Labels are
        read as levels if all values are labels and none is a level, and if they are
        categories as `to_frame` writes them. The default schema is `Schema.from_frame`.
        A ValueError names columns, and the first rows by the frame's index. Records
        with a missing value are an error unless they are to be dropped.
        """
        if not isinstance(schema, Schema | None):
            raise ValueError(
                f"schema is of type {type(schema).__name__}; it must be a Schema"
            )
        frame = as_pandas(frame).rename(columns=str)
        schema = schema or Schema.from_frame(frame)
        schema.check_columns(frame)
        columns = {}
        notes = []
        for variable in schema.variables:
            name = variable.name
            columns[name], note = variable.labels_to_levels(frame[name])
            if note:
                notes.append(note)
        frame = pd.DataFrame(columns)
        codes, kept = schema.encode_complete(frame, drop_missing)
        if not len(kept):
            raise ValueError("the table has 0 records; it must have one or more")
        dropped = f"{np.count_nonzero(~kept):,} of {len(kept):,}"
        if not kept.any():
            raise ValueError(f"no record is left: {dropped} dropped for missing values")
        if not kept.all():
            notes = [f"Records with missing values dropped: {dropped}.", *notes]
        return cls(codes, schema, (*notes, *schema.note_respellings(frame)))

    def to_frame(self, *, labels: bool = True) -> pd.DataFrame:
        """Return the records as categorical columns of labels, or of levels."""
        return self.schema.decode(self.codes, labels=labels)


def as_microdata(data: Frame | Microdata, schema: Schema | None) -> Microdata:
    """Return a table as Microdata; raise a ValueError if it is of another type."""
    if not isinstance(data, Microdata):
        return Microdata.from_frame(data, schema)
    if schema is not None:
        raise ValueError("schema is given, but the Microdata have their own schema")
    return data


def _check_texts(what: str, texts: Sequence[str]) -> None:
    """Refuse texts that charts cannot draw, repeated ones and surrounding spaces."""
    undrawn = [
        text
        for text in texts
        if _UNDRAWN.search(text) or (what == "the name" and "\n" in text)
    ]
    if undrawn:
        raise ValueError(
            f"{what}: {quoted(undrawn)} has control characters or is reserved in charts"
        )
    unclear = [text for text in texts if text != text.strip() or not text]
    if unclear := unclear or duplicates(texts):
        raise ValueError(
            f"{what}: {quoted(unclear)} must be unique, and without surrounding spaces"
        )


def _read_metadata(document: Any) -> Schema:
    """Return the schema of the one table that metadata of SDV describe."""
    tables = document.get("tables", {"": document})
    if len(tables) != 1:
        raise ValueError(f"the metadata has {len(tables)} tables; it must have one")
    (table,) = tables.values()
    variables = []
    leave_out = []
    for name, column in table["columns"].items():
        sdtype = column["sdtype"]
        kind = column.get("pii", sdtype)
        if kind not in _BINS:
            raise ValueError(
                f"the sdtype of {name!r} is {printable(sdtype)}; it must be boolean, "
                "categorical, datetime, id, numerical or unknown, or another with pii "
                "true (left out) or false (categorical)"
            )
        bins = _BINS[kind]
        if bins is None or name == table.get("primary_key"):
            leave_out.append(name)
        else:
            written = column.get("datetime_format", "")
            variables.append(Variable(name, bins=bins, date_format=written))
    return Schema(tuple(variables), tuple(leave_out))


def _declared_variable(entry: Any, default_rule: Any) -> Variable:
    """Return the variable that an entry of a YAML file declares."""
    what = _checked_entry(entry)
    levels = entry.get("levels")
    if isinstance(levels, dict):
        entry = entry | {"levels": list(levels), "labels": list(levels.values())}
    lists: dict[str, Any] = {key: _texts(entry, key, what) for key in _LISTS}
    rule = entry.get("missing", default_rule)
    if rule not in (None, *MISSING_RULES):
        raise ValueError(f"{what}: missing must be one of level, drop, error")
    bins = entry.get("bins", "0")
    if "bins" in entry and bins not in map(str, range(2, MAX_LEVELS + 1)):
        raise ValueError(f"{what}: bins must be a whole number, 2 to {MAX_LEVELS}")
    cut_points = lists.pop("cut_points")
    dates = are_dates(cut_points)
    number_of = parse_days if dates else parse_number
    variable = Variable(
        entry["name"],
        title=str(entry.get("title", "")),
        cut_points=tuple(map(number_of, cut_points)),
        drop_missing=MISSING_RULES.get(rule),
        bins=int(bins),
        dates=dates,
        **lists,
    )
    return variable.add_missing_level() if rule == "level" else variable


def _checked_entry(entry: Any) -> str:
    """Return how errors call an entry of a YAML file; refuse wrong keys."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(f"each variable needs a name; one is {yaml_io.brief(entry)}")
    what = f"variable {yaml_io.brief(entry['name'])}"
    if unknown := [key for key in entry if key not in _KEYS]:
        raise ValueError(
            f"{what} has unknown keys {quoted(unknown)}; allowed are {', '.join(_KEYS)}"
        )
    if len({"levels", "bins", "cut_points"} & set(entry)) != 1:
        raise ValueError(f"{what} needs exactly one of levels, bins and cut_points")
    return what


def _texts(
    entry: dict[str, Any],
    key: str,
    what: str,
) -> tuple[str, ...]:
    """Return the texts of a list in a YAML file."""
    values = entry.get(key, [])
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError(
            f"{what}: {key} is {yaml_io.brief(values)}; "
            "it must be a list, such as [a, b]"
        )
    return tuple(values)
