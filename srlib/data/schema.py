"""Schemas: categorical variables with declared levels, and the integer codes of tables."""

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib import yaml_io
from srlib.checks import duplicates, printable, quoted, require, rows_where
from srlib.data.codes import (
    AMBIGUOUS,
    MISSING,
    MISSING_TEXTS,
    OUTSIDE,
    encode_column,
    factorize_texts,
    observed_levels,
    parse_days,
    parse_number,
    strip_zeros,
)

MISSING_LEVEL = "missing"
MAX_LEVELS = 100  # of a column without a schema
# Rules for missing values, and whether each drops the records with a missing value.
MISSING_RULES = {"level": None, "drop": True, "error": False}

# Vega's renderer fails on control characters, except for tabs and line ends within
# values, and looks texts up in JavaScript objects, where it finds every object's own
# properties. A surrogate, such as YAML's "\ud800", cannot be written to a file.
_UNDRAWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]|^(constructor|hasOwnProperty|isPrototypeOf|toString|"
    "propertyIsEnumerable|toLocaleString|valueOf|__proto__|__(define|lookup)[GS]etter__)$"
)
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
        still to be binned, which `read_table` does.
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

    def __post_init__(self) -> None:
        more = tuple(
            t
            for t in self.not_applicable
            if t not in self.levels and not self.needs_binning
        )
        object.__setattr__(self, "labels", (self.labels or self.levels) + more)
        object.__setattr__(self, "levels", self.levels + more)
        object.__setattr__(self, "title", self.title or self.name)
        name, n, least = self.name, len(self.levels), max(len(self.cut_points), 1) + 1
        texts = {f"levels of {name}": self.levels, f"labels of {name}": self.labels}
        texts |= {"the name": (name,), f"title of {name}": (self.title,)}
        for of, those in texts.items():
            bad = [t for t in those if _UNDRAWN.search(t) or (t is name and "\n" in t)]
            require(
                not bad,
                f"{of}: {quoted(bad)} has control characters or is reserved in charts",
            )
            bad = [t for t in those if t != t.strip() or not t] or duplicates(those)
            require(
                not bad,
                f"{of}: {quoted(bad)} must be unique, and without surrounding spaces",
            )
        rising = (
            np.isfinite(self.cut_points).all() and (np.diff(self.cut_points) > 0).all()
        )
        require(
            rising,
            f"cut_points of {name} are {list(self.cut_points)}; they must increase",
        )
        enough = n >= least or self.needs_binning
        require(enough, f"{name} has {n} levels; it needs at least {least}")
        require(
            len(self.labels) == n,
            f"{name} has {n} levels and {len(self.labels)} labels",
        )
        right = self.needs_binning or self.missing in ("", *self.levels)
        require(
            right,
            f"missing of {name} is {self.missing!r}; it must be one of the levels",
        )

    @property
    def needs_binning(self) -> bool:
        """Whether the numbers are still to be binned by a table."""
        return bool(self.bins or self.cut_points) and not self.levels

    @property
    def codes_without_value(self) -> tuple[int, ...]:
        """Codes of the levels for missing values and for not applicable."""
        of_none = {*self.not_applicable, self.missing}
        return tuple(code for code, level in enumerate(self.levels) if level in of_none)

    def codes_of(self, texts: Iterable[str]) -> list[int]:
        """Return the code of each text: 0 for the first level; negative if it has no level.

        Negative codes are ``MISSING``, ``OUTSIDE`` and ``AMBIGUOUS``. A text that is
        not a level is read as the level that differs from it only in case ("YES" for
        "yes") or trailing zeros ("1.0", which software writes for integers when some
        are missing). It is ambiguous if it matches several levels. "01" is not "1". A
        number of a numeric variable has the code of its bin, in any notation.
        """
        places = {level: code for code, level in enumerate(self.levels)}
        alike = dict[str, int]()
        for level, code in places.items():
            form = strip_zeros(level).casefold()
            alike[form] = AMBIGUOUS if form in alike else code
        none = places[self.missing] if self.missing else MISSING
        places = dict.fromkeys(MISSING_TEXTS, none) | places
        places |= dict.fromkeys(self.missing_codes, none)

        def code_of(text: str) -> int:
            plain = strip_zeros(text)
            exact = places.get(text, places.get(plain))
            if exact is not None:
                return exact
            if self.cut_points and not math.isnan(value := self.number_of(text)):
                return bisect_right(self.cut_points, value)
            return alike.get(plain.casefold(), OUTSIDE)

        return [code_of(text) for text in texts]

    def ambiguity_message(self, texts: str) -> str:
        """Return the message about texts that match several levels."""
        levels = quoted(self.levels)
        return (
            f"{self.name} has {texts}, which matches several of the levels {levels}, apart from "
            "case and trailing zeros; write it exactly like its level"
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
        """Return a column with levels for its labels, and a note unless that was certain.

        Categories that equal the labels are written by `Microdata.to_frame`. A
        ValueError refuses them if all labels are levels as well. In any other column,
        labels are read as levels only if no value is a level.
        """
        level_of = dict(zip(self.labels, self.levels, strict=True))
        if self.labels == self.levels:
            return column, ""
        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        if categorical and {*column.cat.categories} == {*level_of}:
            if {*self.labels} <= {*self.levels}:
                raise ValueError(
                    f"the categories of {self.name} are both labels and levels; "
                    "give it levels, as to_frame(labels=False) does"
                )
            return column.cat.rename_categories(level_of), ""
        ids, texts = factorize_texts(column)
        present = {*texts} - MISSING_TEXTS - {*self.missing_codes}
        if not present or not present <= {*level_of} - {*self.levels}:
            return column, ""
        levels = np.array([*(level_of.get(text, text) for text in texts), None], object)
        return pd.Series(
            levels[ids], column.index
        ), f"Labels were read as levels: {self.name!r}."

    def add_levels(self, more: Sequence[str]) -> "Variable":
        """Return the variable with further levels, which are their own labels, at the end."""
        return replace(self, levels=(*self.levels, *more), labels=(*self.labels, *more))

    def add_missing_level(self) -> "Variable":
        """Return the variable with a level for missing values, if it has none."""
        if self.missing or self.needs_binning:
            return replace(self, missing=self.missing or MISSING_LEVEL)
        taken = MISSING_LEVEL in {*self.levels, *self.labels}
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
        named = self.variables or self.leave_out
        require(
            named,
            "variables is empty; a schema needs at least one variable, or leave_out",
        )
        again = duplicates([*self.names, *self.leave_out])
        require(
            not again, f"names of variables must differ; repeated are {quoted(again)}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of levels of each variable, (n_variables,)."""
        return np.array(
            [len(variable.levels) for variable in self.variables], dtype=np.int64
        )

    @property
    def n_cells(self) -> int:
        """Number of cells of the contingency table of all variables."""
        return math.prod(len(variable.levels) for variable in self.variables)

    def positions(
        self, names: Sequence[str], argument: str, exactly: int = 0
    ) -> list[int]:
        """Return the positions of variables by name.

        A ValueError names the ``argument`` if a name is unknown or repeated, if there
        are not ``exactly`` as many names, or if there are none.
        """
        listed = isinstance(names, Collection) and not isinstance(names, str)
        require(listed, f"{argument} is {names!r}; it must be a list of names")
        right = len(names) == (exactly or max(len(names), 1))
        require(
            right,
            f"{argument} is {list(names)}; it must name {exactly or 'one or more'}",
        )
        known, strange = (
            ", ".join(self.names),
            quoted(n for n in names if n not in self.names),
        )
        require(not strange, f"{argument} names {strange}; available are {known}")
        require(
            not duplicates(names),
            f"{argument} is {list(names)}; no variable may be repeated",
        )
        return [self.names.index(name) for name in names]

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a schema from a YAML file.

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
        """
        try:
            document = yaml_io.read(path, texts=True)
            is_schema = isinstance(document, dict) and {"variables", "leave_out"} & set(
                document
            )
            entries = document.get("variables", []) if is_schema else ""
            wanted = "a list 'variables', or leave_out alone"
            require(isinstance(entries, list), f"the file must have {wanted}")
            unknown = quoted(set(document) - {"variables", "leave_out", "missing"})
            require(not unknown, f"the file has unknown keys {unknown}")
            rule = document.get("missing")
            variables = (_variable({"missing": rule}, entry) for entry in entries)
            return cls(tuple(variables), _texts(document, "leave_out", "the file"))
        except ValueError as error:
            raise ValueError(f"{printable(path)}: {error}") from error

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, typed: bool = True) -> Self:
        """Return the schema of a DataFrame: levels are its columns' categories or distinct values.

        Such a schema does not know levels that no record has, so a declared one is
        better. Numbers are in numeric order, other texts in alphabetic order. If all
        values of a column are whole numbers, "1.0" is the level "1". Columns with one
        distinct value or more than 100 are refused. Unless `typed`, categories are
        ignored.
        """
        found, bad = [], []
        for name, column in frame.items():
            declared = typed and isinstance(column.dtype, pd.CategoricalDtype)
            levels = (
                tuple(map(str, column.cat.categories))
                if declared
                else observed_levels(column)
            )
            found.append((str(name), levels))
            if not declared and not 2 <= len(levels) <= MAX_LEVELS:
                bad.append(f"{name} {len(levels):,}")
        allowed = f"2 to {MAX_LEVELS} distinct values"
        require(
            not bad, f"columns without {allowed}: {', '.join(bad)}; declare a schema"
        )
        return cls(tuple(Variable(name, levels) for name, levels in found))

    def encode_complete(
        self, frame: pd.DataFrame, drop_missing: bool
    ) -> tuple[NDArray, NDArray]:
        """Return the codes of a table's complete records, and which records are complete.

        The table has one column per variable, in any order, and no others. A ValueError
        names columns that are missing, unknown, or have values outside the levels or
        missing values that are not dropped; it has the values and the first rows by the
        table's index. Codes are uint8 if no variable has more than 256 levels.
        """
        frame = frame.rename(columns=str)
        self.check_columns(list(frame))
        unbinned = quoted(
            variable.name for variable in self.variables if variable.needs_binning
        )
        require(
            not unbinned, f"columns {unbinned} are not binned; read_table bins them"
        )
        codes, problems = np.empty((len(frame), len(self.variables)), np.int32), []
        for j, variable in enumerate(self.variables):
            codes[:, j], strange = encode_column(
                frame[variable.name], variable.codes_of
            )
            require(AMBIGUOUS not in codes[:, j], variable.ambiguity_message(strange))
            allowed = f"allowed are {quoted(variable.levels)}"
            problems += [f"{variable.name} has {strange}, {allowed}"] if strange else []
        require(not problems, f"values outside the levels: {'; '.join(problems)}")
        lacks = codes == MISSING
        drop = [
            drop_missing if v.drop_missing is None else v.drop_missing
            for v in self.variables
        ]
        kept = ~lacks[:, drop].any(axis=1)
        lacks &= kept[:, None]
        counts = pd.Series(lacks.sum(axis=0), self.names)
        if lacks.any():
            by_column = ", ".join(
                f"{name} {n:,}" for name, n in counts[counts > 0].items()
            )
            raise ValueError(
                f"missing values: {by_column} ({rows_where(lacks.any(axis=1), frame.index)}); "
                "drop_missing drops these records"
            )
        smallest = np.min_scalar_type(int(self.n_levels.max()) - 1)
        return codes[kept].astype(smallest), kept

    def labels_to_levels(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        """Return a table with levels where it has labels, and notes; see `Variable`'s."""
        columns, notes = dict[str, pd.Series](), list[str]()
        for variable in self.variables:
            columns[variable.name], note = variable.labels_to_levels(
                frame[variable.name]
            )
            notes += [note] if note else []
        return pd.DataFrame(columns), notes

    def note_respellings(self, frame: pd.DataFrame) -> list[str]:
        """Return a note on columns with values that match a level but for case or zeros."""
        found = []
        for variable in () if frame.empty else self.variables:
            texts = (
                pd.Series(frame[variable.name].dropna().unique())
                .astype(str)
                .str.strip()
            )
            known = {*variable.levels, *variable.missing_codes, *MISSING_TEXTS}
            found += (
                [variable.name] if not variable.cut_points and {*texts} - known else []
            )
        note = f"Read as levels, apart from case or trailing zeros: {quoted(found)}."
        return [note] if found else []

    def decode(self, codes: ArrayLike, *, labels: bool = True) -> pd.DataFrame:
        """Return the table of codes, in categorical columns of labels or of levels.

        A ValueError says that the shape is wrong or a code is out of range.
        """
        codes, n = np.asarray(codes), len(self.variables)
        right = (
            codes.shape[1:] == (n,) and ((codes >= 0) & (codes < self.n_levels)).all()
        )
        wanted = f"(n, {n}), from 0 to n_levels - 1"
        require(right, f"codes has shape {codes.shape}; it must be {wanted}")
        columns = {
            v.name: pd.Categorical.from_codes(
                column, list(v.labels if labels else v.levels)
            )
            for v, column in zip(self.variables, codes.T, strict=True)
        }
        return pd.DataFrame(columns)

    def check_columns(
        self, columns: Sequence[str], *, ignore_unknown: bool = False
    ) -> None:
        """Raise ValueError unless the columns of a table are those of the schema, in any order."""
        columns, problems = [name for name in columns if name not in self.leave_out], []
        if again := duplicates(columns):
            problems.append(f"duplicate column names {quoted(again)}")
        if lacking := [name for name in self.names if name not in columns]:
            problems.append(f"missing columns {', '.join(lacking)}")
        if (
            unknown := [n for n in columns if n not in self.names]
        ) and not ignore_unknown:
            problems.append(
                f"unknown columns {quoted(unknown)} (leave them out with leave_out in a schema, or "
                "with srlib assess --leave-out)"
            )
        require(
            not problems,
            f"{'; '.join(problems)}; the schema has {', '.join(self.names)}",
        )

    def check_reserved_names(self, columns: Collection[str]) -> None:
        """Raise ValueError if a variable has the name of a result's further column."""
        taken = quoted(name for name in self.names if name in columns)
        require(
            not taken,
            f"variables may not be named {taken}; reserved are {', '.join(columns)}",
        )


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
    >>> people = Microdata.from_frame(pd.DataFrame({"job": ["cook", "smith"], "sick": [0, 1]}))
    >>> people.codes
    array([[0, 0],
           [1, 1]], dtype=uint8)
    """

    codes: NDArray[Any]
    schema: Schema
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        schema: Schema | None = None,
        *,
        drop_missing: bool = False,
    ) -> Self:
        """Return the coded records of a DataFrame, in their order.

        Columns may be in any order. Values are compared with the levels as text,
        without surrounding spaces. Labels are read as levels if all values are labels
        and none is a level, and if they are categories as `to_frame` writes them. The
        default schema is `Schema.from_frame`. A ValueError names columns, and the first
        rows by the frame's index. Records with a missing value are an error unless they
        are to be dropped.
        """
        kind = type(schema).__name__
        require(
            isinstance(schema, Schema | None),
            f"schema is of type {kind}; it must be a Schema",
        )
        frame = frame.rename(columns=str)
        schema = schema or Schema.from_frame(frame)
        schema.check_columns(list(frame))
        frame, labelled = schema.labels_to_levels(frame)
        codes, kept = schema.encode_complete(frame, drop_missing)
        n_dropped = np.count_nonzero(~kept)
        note = f"Records with missing values dropped: {n_dropped:,} of {len(kept):,}."
        dropped = f"{n_dropped:,} of {len(kept):,} dropped for missing values"
        require(len(kept), "the table has 0 records; it must have one or more")
        require(kept.any(), f"no record is left: {dropped}")
        notes = [note] if n_dropped else []
        notes += [*labelled, *schema.note_respellings(frame)]
        return cls(codes, schema, tuple(notes))

    def to_frame(self, *, labels: bool = True) -> pd.DataFrame:
        """Return the records as categorical columns of labels, or of levels."""
        return self.schema.decode(self.codes, labels=labels)


def _variable(defaults: dict[str, Any], entry: Any) -> Variable:
    """Return the variable that an entry of a YAML file declares."""
    named = isinstance(entry, dict) and isinstance(entry.get("name"), str)
    require(named, f"each variable needs a name; one is {yaml_io.brief(entry)}")
    what = f"variable {yaml_io.brief(entry['name'])}"
    unknown = quoted(key for key in entry if key not in _KEYS)
    require(
        not unknown,
        f"{what} has unknown keys {unknown}; allowed are {', '.join(_KEYS)}",
    )
    right = len({"levels", "bins", "cut_points"} & set(entry)) == 1
    require(right, f"{what} needs exactly one of levels, bins and cut_points")
    rule, bins, levels = (
        (defaults | entry).get("missing"),
        entry.get("bins"),
        entry.get("levels"),
    )
    if isinstance(levels, dict):
        entry |= {"levels": list(levels), "labels": list(levels.values())}
    lists = ("levels", "labels", "cut_points", "missing_codes", "not_applicable")
    given: dict[str, Any] = {key: _texts(entry, key, what) for key in lists}
    require(
        rule in (None, *MISSING_RULES),
        f"{what}: missing must be one of level, drop, error",
    )
    right = bins is None or bins in map(str, range(2, MAX_LEVELS + 1))
    require(right, f"{what}: bins must be a whole number, 2 to {MAX_LEVELS}")
    cut_points = given["cut_points"]
    given["dates"] = (
        bool(cut_points) and not np.isnan(list(map(parse_days, cut_points))).any()
    )
    given["cut_points"] = tuple(
        map(parse_days if given["dates"] else parse_number, cut_points)
    )
    given["bins"] = int(bins or 0)
    given |= {
        "title": str(entry.get("title", "")),
        "drop_missing": MISSING_RULES.get(rule),
    }
    variable = Variable(entry["name"], **given)
    return variable.add_missing_level() if rule == "level" else variable


def _texts(entry: dict[str, Any], key: str, what: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    listed = isinstance(values, list) and all(isinstance(text, str) for text in values)
    require(
        listed,
        f"{what}: {key} is {yaml_io.brief(values)}; it must be a list, such as [a, b]",
    )
    return tuple(values)
