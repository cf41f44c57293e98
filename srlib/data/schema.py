"""Categorical variables with declared levels, and the integer codes of tables of them."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib import yamls
from srlib.data.numbers import number, numbers_in
from srlib.yamls import brief

# Text that stands for a missing value, unless a variable declares it as a level.
MISSING_TEXTS = frozenset({"", "NA", "NaN", "nan", "null"})
MISSING = -1
OUTSIDE = -2
MISSING_LEVEL = "missing"

# Vega's renderer dies of control characters, except for tabs and line ends within values.
# Half a character, as YAML's "\ud800", can be written to no file.
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_CONTROL_IN_VALUES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# What every JavaScript object has already: Vega takes it for what it looks up by a text of ours.
_OF_OBJECTS = {"__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "toString", "valueOf"}
_OF_OBJECTS |= {"propertyIsEnumerable", "toLocaleString", "__defineGetter__", "__defineSetter__"}
_OF_OBJECTS |= {"__lookupGetter__", "__lookupSetter__"}

_WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:\.0+)?")
_SHOWN = 5


@dataclass(frozen=True)
class Variable:
    """One categorical variable, or numbers cut into categories.

    Parameters
    ----------
    name : str
        Its column in a table. Neither it nor any other text may have control characters (tabs
        and line ends within levels, labels and title are none), or be called like what every
        JavaScript object has, such as ``constructor``: charts could not be drawn.
    levels : tuple of str
        Its values as a file has them, in order; at least two.
    labels : tuple of str
        One short text for readers for each level; the levels themselves where not given.
    title : str
        What the variable is, for readers; the name where not given.
    edges : tuple of float
        Of a numeric variable, where its numbers are cut; rising. The first ``len(edges) + 1``
        levels are the pieces: below the first edge, from one edge to below the next, and from the
        last edge on. Further levels are texts that are no numbers.
    missing : str
        The level that missing values are; where not given they have none.
    missing_codes : tuple of str
        Texts that mean a missing value, beside those of ``MISSING_TEXTS``.
    drop_missing : bool, optional
        Whether records that lack the value are dropped; where not given, what a caller says.
    not_applicable : tuple of str
        Levels that say that the variable does not apply: to learn one of these is no disclosure.
    spellings : tuple of (str, str)
        Other texts of levels, each with its level.
    """

    name: str
    levels: tuple[str, ...]
    labels: tuple[str, ...] = ()
    title: str = ""
    edges: tuple[float, ...] = ()
    missing: str = ""
    missing_codes: tuple[str, ...] = ()
    drop_missing: bool | None = None
    not_applicable: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self.labels or self.levels)
        object.__setattr__(self, "title", self.title or self.name)
        if not self.name or self.name != self.name.strip():
            raise ValueError(f"name is {self.name!r}; it must be text without spaces around it")
        if len(self.levels) < 2:
            raise ValueError(f"levels of {self.name} are {self.levels}; there must be at least two")
        if len(self.labels) != len(self.levels):
            raise ValueError(
                f"labels of {self.name} are {len(self.labels)}; "
                f"there must be one for each of the {len(self.levels)} levels"
            )
        for what, texts in (("levels", self.levels), ("labels", self.labels)):
            if again := repeated(texts):
                raise ValueError(f"{what} of {self.name} repeat {shown(again)}; they must differ")
        if bad := [level for level in self.levels if not level or level != level.strip()]:
            raise ValueError(
                f"levels of {self.name} include {shown(bad)}; "
                "a level must be text without spaces around it"
            )
        for what, texts in (
            ("the name", (self.name,)),
            (f"the title of {self.name!r}", (self.title,)),
            (f"levels of {self.name!r}", self.levels),
            (f"labels of {self.name!r}", self.labels),
        ):
            control = _CONTROL if what == "the name" else _CONTROL_IN_VALUES
            if bad := [text for text in texts if control.search(text)]:
                raise ValueError(f"{what}: {shown(bad)} has control characters; none is allowed")
            if bad := [text for text in texts if text in _OF_OBJECTS]:
                raise ValueError(
                    f"{what}: {shown(bad)} has a meaning of its own for the charts; rename it"
                )
        if len(self.edges) >= len(self.levels) or (np.diff(self.edges) <= 0).any():
            raise ValueError(
                f"edges of {self.name} are {self.edges} for {len(self.levels)} levels; they must "
                "rise, and be fewer than the levels"
            )
        if self.missing and self.missing not in self.levels[len(self.edges) :]:
            raise ValueError(
                f"missing of {self.name} is {self.missing!r}; it must be one of its levels"
            )

        if strange := [level for level in self.not_applicable if level not in self.levels]:
            raise ValueError(
                f"not_applicable of {self.name} has {shown(strange)}; each must be a level"
            )

    @property
    def no_values(self) -> tuple[int, ...]:
        """Codes of the levels that are no values: missing, or not applicable."""
        of_none = {*self.not_applicable, self.missing}
        return tuple(code for code, level in enumerate(self.levels) if level in of_none)

    @property
    def code_of_missing(self) -> int:
        """The code of a missing value: that of its level, or ``MISSING``."""
        return self.levels.index(self.missing) if self.missing else MISSING

    def codes_of(self, texts: Iterable[str]) -> list[int]:
        """Return the code of each text: 0 for the first level, ``MISSING`` or ``OUTSIDE``.

        Texts are compared as they are, so that "01" is not "1". One difference is overlooked: a
        whole number written with decimals ("1.0", which software makes of integers when some are
        missing) is the integer, unless it is a level itself. Of a numeric variable a number is
        that of its piece, however it is written.
        """
        index = {level: code for code, level in enumerate(self.levels)}
        index |= {text: index[level] for text, level in self.spellings}
        absent, texts = set(self.missing_codes), list(texts)
        value_of = dict(zip(texts, numbers_in(texts), strict=True)) if self.edges else {}

        def code(text: str) -> int:
            if text in absent or whole_number(text) in absent:
                return self.code_of_missing
            if text in index:
                return index[text]
            if text in MISSING_TEXTS:
                return self.code_of_missing
            if (whole := whole_number(text)) in index:
                return index[whole]
            if self.edges and not np.isnan(value_of[text]):
                return int(np.searchsorted(self.edges, value_of[text], side="right"))
            return OUTSIDE

        return [code(text) for text in texts]

    def numbers_of(self, texts: Iterable[str]) -> list[float]:
        """Return the number that each text is.

        NaN where it is none, is missing, or says that the variable does not apply.
        """
        absent = {*self.missing_codes, *self.not_applicable}
        texts = list(texts)
        return [
            np.nan if text in absent or whole_number(text) in absent else value
            for text, value in zip(texts, numbers_in(texts), strict=True)
        ]

    def with_levels(self, more: Sequence[str]) -> "Variable":
        """Return the variable with further levels behind its own, which are their labels, too."""
        return replace(self, levels=(*self.levels, *more), labels=(*self.labels, *more))

    def spelled(self, texts: Iterable[str]) -> dict[str, str]:
        """Return the level of each text that is one written in another way.

        Case, zeros in front of a number and behind its decimals, quotation marks, a full stop at
        the end and repeated spaces are ways of writing. Texts that could be two levels are none.
        """
        own: dict[str, list[str]] = {}
        for level in self.levels[len(self.edges) + bool(self.edges) :]:
            own.setdefault(_form(level), []).append(level)
        found = {text: own.get(_form(text), []) for text in texts}
        return {text: levels[0] for text, levels in found.items() if len(levels) == 1}

    def with_missing(self) -> "Variable":
        """Return the variable with a level for missing values, if it has none."""
        if self.missing:
            return self
        level = next(
            name
            for name in chain([MISSING_LEVEL], (f"{MISSING_LEVEL} {i}" for i in count(2)))
            if name not in self.levels and name not in self.labels
        )
        return replace(self.with_levels([level]), missing=level)


@dataclass(frozen=True)
class Schema:
    """The variables of a table, in the order of its columns.

    Parameters
    ----------
    variables : tuple of Variable
        At least one; their names differ.

    Examples
    --------
    >>> job = Variable("job", ("cook", "smith", "miller"))
    >>> schema = Schema((job, Variable("sick", ("0", "1"), labels=("no", "yes"))))
    >>> schema.names, schema.n_levels.tolist(), schema.n_cells
    (('job', 'sick'), [3, 2], 6)
    """

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        if not self.variables:
            raise ValueError("variables is empty; a schema needs at least one")
        if again := repeated(self.names):
            raise ValueError(f"variables repeat the names {shown(again)}; they must differ")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of levels of each variable, (n_variables,)."""
        return np.array([len(variable.levels) for variable in self.variables], dtype=np.int64)

    @property
    def n_cells(self) -> int:
        """Number of cells of the contingency table of all variables."""
        return math.prod(len(variable.levels) for variable in self.variables)

    def positions(
        self, names: Sequence[str], argument: str, exactly: int | None = None
    ) -> list[int]:
        """Positions of variables by name.

        Parameters
        ----------
        names : sequence of str
            Names of variables, each once.
        argument : str
            What the names were given as, for the error.
        exactly : int, optional
            How many there must be; one or more if not given.

        Raises
        ------
        ValueError
            If a name is not that of a variable or stands twice, or if there are too few or many.
        """
        if isinstance(names, str) or not isinstance(names, Collection):
            raise ValueError(f"{argument} is {names!r}; it must be a list of names")
        if len(names) == 0 or exactly not in (None, len(names)):
            needed = f"exactly {exactly}" if exactly else "one or more"
            raise ValueError(f"{argument} is {list(names)}; it must name {needed} variables")
        if strange := [name for name in names if name not in self.names]:
            raise ValueError(
                f"{argument} names {', '.join(map(repr, strange))}; "
                f"the variables are {', '.join(self.names)}"
            )
        if len(set(names)) != len(names):
            raise ValueError(f"{argument} is {list(names)}; each variable may stand once")
        return [self.names.index(name) for name in names]

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a schema from a YAML file.

        Levels are a mapping from level to label, or a list where they need no labels; ``title``
        may be left out. Every level is taken as the text that stands there: ``01`` is not ``1``
        and ``no`` is not false. ::

            variables:
              - name: SEX
                title: sex
                levels:
                  1: male
                  2: female
              - name: grade
                levels: [low, middle, high]

        Raises
        ------
        ValueError
            If the file is not UTF-8 or not YAML, or not of this form; the message names the file.
        """
        try:
            document = yamls.read(path, texts=True)
            return cls(tuple(declared_variable(entry) for entry in _entries(document)))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Take the levels and their order from the categorical dtypes of a DataFrame.

        The levels of a column of text or numbers are the values that it has, see `infer`.

        Raises
        ------
        ValueError
            For columns that `infer` refuses, or categories that are no levels of a `Variable`.
        """
        declared = np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in frame.dtypes])
        if not declared.all():
            inferred = iter(cls.infer(frame.loc[:, ~declared]).variables)
        return cls(
            tuple(
                Variable(str(name), tuple(str(level) for level in column.cat.categories))
                if isinstance(column.dtype, pd.CategoricalDtype)
                else next(inferred)
                for name, column in frame.items()
            )
        )

    @classmethod
    def infer(cls, frame: pd.DataFrame, max_levels: int = 100) -> Self:
        """Take as levels the values that a table happens to have.

        A level that no record has is unknown to such a schema, so a declared one is better.
        Numbers come in numeric order, other texts in alphabetic order. Where all values of a
        column are whole numbers, "1.0" is the level "1".

        Parameters
        ----------
        frame : pandas.DataFrame
            One column for each variable.
        max_levels : int
            A column with more distinct values is taken for no categorical variable.

        Raises
        ------
        ValueError
            If there are fewer than two records, or if columns have fewer than two or more than
            ``max_levels`` distinct values; the message names all of them.
        """
        if len(frame) < 2:
            raise ValueError(
                f"the table has {len(frame)} record{'s' * (len(frame) != 1)}; levels are inferred "
                "from 2 or more"
            )
        levels = [(str(name), observed_levels(column)) for name, column in frame.items()]
        if bad := [
            f"{n} {len(found):,}" for n, found in levels if not 2 <= len(found) <= max_levels
        ]:
            raise ValueError(
                "columns that do not look categorical by their number of distinct values: "
                f"{', '.join(bad)}; without a schema each must have 2 to {max_levels}. "
                "A schema selects columns and declares their levels"
            )
        return cls(tuple(Variable(name, found) for name, found in levels))

    def encode(self, frame: pd.DataFrame, *, allow_missing: bool = False) -> NDArray[Any]:
        """Return the codes of a table's values.

        Parameters
        ----------
        frame : pandas.DataFrame
            One column for each variable, in any order, and no other. Values are compared with
            the levels as text without spaces around it. Errors name rows by its index.
        allow_missing : bool
            Whether missing values (NaN, or one of ``MISSING_TEXTS``) are coded -1.

        Returns
        -------
        (n, n_variables) unsigned int
            Codes from 0, uint8 where no variable has more than 256 levels; int32 where missing
            values are allowed.

        Raises
        ------
        ValueError
            For columns that lack or are unknown, values outside the levels, missing values. The
            message names all columns concerned, the first rows and the values.
        """
        columns = [str(name) for name in frame.columns]
        self.check_columns(columns)
        codes = np.empty((len(frame), len(self.variables)), np.int32)
        problems = []
        for j, variable in enumerate(self.variables):
            ids, texts = factor(frame.iloc[:, columns.index(variable.name)])
            codes[:, j] = np.array([*variable.codes_of(texts), variable.code_of_missing])[ids]
            outside = codes[:, j] == OUTSIDE
            if outside.any():
                values = dict.fromkeys(texts[i] for i in ids[outside])
                problems.append(
                    f"{variable.name} has {shown(values)} ({rows_where(outside, frame.index)}), "
                    f"allowed are {', '.join(variable.levels)}"
                )
        if problems:
            raise ValueError(f"values outside the levels: {'; '.join(problems)}")
        if allow_missing:
            return codes
        missing = codes == MISSING
        if missing.any():
            counts = zip(self.names, missing.sum(axis=0), strict=True)
            raise ValueError(
                f"missing values: {', '.join(f'{n} {count:,}' for n, count in counts if count)} "
                f"({rows_where(missing.any(axis=1), frame.index)}). "
                "drop_missing drops the records that have any"
            )
        return codes.astype(self._code_type)

    def encode_complete(
        self, frame: pd.DataFrame, *, drop_missing: bool
    ) -> tuple[NDArray[Any], NDArray[np.bool_], list[str]]:
        """Return the codes of a table's complete records, and say what was done to get them.

        Parameters
        ----------
        frame : pandas.DataFrame
            As `encode` takes it.
        drop_missing : bool
            Whether records with a missing value are dropped; otherwise they are an error.

        Returns
        -------
        codes : (n_kept, n_variables) unsigned int
            As `encode` returns.
        kept : (n,) bool
            The records of the frame that they belong to.
        notes : list of str
            One sentence each for records dropped and for numbers read as integers.

        Raises
        ------
        ValueError
            As `encode`.
        """
        notes, kept = [], np.ones(len(frame), np.bool_)
        drop = [drop_missing if v.drop_missing is None else v.drop_missing for v in self.variables]
        if any(drop):
            kept = (self.encode(frame, allow_missing=True)[:, drop] != MISSING).all(axis=1)
        if not kept.all():
            n_dropped = len(frame) - int(kept.sum())
            notes.append(f"Records with missing values dropped: {n_dropped:,} of {len(frame):,}.")
            frame = frame[kept]
        codes = self.encode(frame)
        decimals = []
        for variable in self.variables:
            if variable.edges:
                continue
            known = {*variable.levels, *variable.missing_codes, *MISSING_TEXTS}
            known |= {text for text, _ in variable.spellings}
            other = [t for t in factor(frame[variable.name])[1] if t not in known]
            decimals += [f"{variable.name} {text}" for text in other[:1]]
        if decimals:
            notes.append(
                f"Whole numbers written with decimals read as integers: {shown(decimals)}."
            )
        return codes, kept, notes

    def decode(self, codes: ArrayLike, *, labels: bool = True) -> pd.DataFrame:
        """Return the table that codes stand for.

        Parameters
        ----------
        codes : (n, n_variables) int
            Codes from 0.
        labels : bool
            Whether the categories are the labels, or else the levels.

        Returns
        -------
        pandas.DataFrame
            Categorical columns with all levels of each variable, in order.

        Raises
        ------
        ValueError
            If the shape is another or a code is out of range.
        """
        codes = np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != len(self.variables):
            raise ValueError(f"codes have shape {codes.shape}, not (n, {len(self.variables)})")
        if bad := [
            f"{variable.name} has {column.min()} to {column.max()}, allowed are 0 to {d - 1}"
            for variable, column, d in zip(self.variables, codes.T, self.n_levels, strict=True)
            if len(column) and (column.min() < 0 or column.max() >= d)
        ]:
            raise ValueError(f"codes are out of range: {'; '.join(bad)}")
        return pd.DataFrame(
            {
                variable.name: pd.Categorical.from_codes(
                    column, categories=list(variable.labels if labels else variable.levels)
                )
                for variable, column in zip(self.variables, codes.T, strict=True)
            }
        )

    def check_columns(self, columns: Sequence[str], *, ignore_unknown: bool = False) -> None:
        """Raise ValueError unless the columns of a table are those of the schema, in any order."""
        check_columns(self.names, columns, ignore_unknown=ignore_unknown)

    def check_apart(self, columns: Collection[str]) -> None:
        """Raise ValueError if a variable is called like a column that will stand beside them."""
        if taken := [name for name in self.names if name in columns]:
            raise ValueError(
                f"variables are called {shown(taken)}, like columns of the tables that are made of "
                f"them; rename them. Taken are {', '.join(columns)}"
            )

    @property
    def _code_type(self) -> np.dtype[Any]:
        return np.min_scalar_type(int(self.n_levels.max()) - 1)


@dataclass(frozen=True)
class Microdata:
    """Categorical records as integers.

    Attributes
    ----------
    codes : (n, n_variables) unsigned int
        Codes from 0, one row a record.
    schema : Schema
        What they stand for.
    notes : tuple of str
        One sentence for everything that was recognized, recoded, dropped or sampled.
    lines : (n,) int, optional
        Line of the file that each record begins at; the header is line 1.
    n_dropped : int
        Records of the file that were dropped for a missing value.

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
    lines: NDArray[np.int64] | None = None
    n_dropped: int = 0

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, schema: Schema | None = None, *, drop_missing: bool = False
    ) -> Self:
        """Code the records of a DataFrame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One column for each variable: categorical, text or numbers with few values, which are
            compared with the levels as text without spaces around it.
        schema : Schema, optional
            The columns, in any order, and their levels. Where not given, the categories of a
            categorical column, and the values of any other, see `Schema.from_frame`.
        drop_missing : bool
            Whether records with a missing value are dropped; otherwise they are an error.

        Returns
        -------
        Microdata
            The frame's records in their order.

        Raises
        ------
        ValueError
            For a frame without records, columns that lack, are unknown or do not look
            categorical, values outside the levels, missing values. The message names the columns,
            and the first rows by the frame's index.
        """
        if not isinstance(schema, Schema | None):
            raise ValueError(f"schema is {schema!r:.50}; it must be a Schema")
        schema = schema or Schema.from_frame(frame)
        codes, kept, notes = schema.encode_complete(frame, drop_missing=drop_missing)
        if not kept.any():
            raise ValueError(f"frame has {len(frame)} records, and none is left")
        return cls(codes, schema, tuple(notes), n_dropped=len(frame) - len(codes))

    def to_frame(self, *, labels: bool = True) -> pd.DataFrame:
        """Return the records as categorical columns of labels, or else of levels."""
        return self.schema.decode(self.codes, labels=labels)


def check_columns(
    names: Sequence[str], columns: Sequence[str], *, ignore_unknown: bool = False
) -> None:
    """Raise ValueError unless the columns of a table are those that a schema names."""
    lacking = [name for name in names if name not in columns]
    unknown = [] if ignore_unknown else [name for name in columns if name not in names]
    problems = []
    if again := repeated(columns):
        problems.append(f"duplicate column names {shown(again)}")
    if lacking:
        problems.append(f"missing columns {', '.join(lacking)}")
    if unknown:
        problems.append(f"unknown columns {shown(unknown)} (ignore_columns leaves them out)")
    if problems:
        raise ValueError(f"{'; '.join(problems)}; the schema has {', '.join(names)}")


def factor(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return for each value the position of its text, -1 where NaN, and the distinct texts."""
    ids, values = pd.factorize(column)
    return ids, [str(value).strip() for value in values]


def _form(text: str) -> str:
    """Return what texts that differ in their way of writing have in common."""
    plainly = " ".join(text.strip("'\"` ").rstrip(".").casefold().split())
    value = number(plainly.replace(",", "."))
    return plainly if np.isnan(value) else repr(value + 0.0)


def whole_number(text: str) -> str:
    """Return "1" for "1.0", and any text that is no whole number as it is."""
    match = _WHOLE_NUMBER.fullmatch(text)
    return match[1] if match else text


def rows_where(mask: NDArray[np.bool_], index: pd.Index) -> str:
    """Name the first rows of a mask by the index, whose name says what it counts."""
    found = index[mask]
    noun = f"{index.name or 'row'}{'s' if len(found) > 1 else ''}"
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return f"{noun} {', '.join(str(i) for i in found[:_SHOWN])}{more}"


def shown(values: Iterable[str], limit: int = 10) -> str:
    """Quote the first values, and count those left out."""
    values = list(values)
    more = f" and {len(values) - limit:,} more" if len(values) > limit else ""
    return ", ".join(repr(value) for value in values[:limit]) + more


def repeated(texts: Iterable[str]) -> list[str]:
    """Return the texts that occur more than once."""
    return [text for text, count in Counter(texts).items() if count > 1]


def observed_levels(column: pd.Series) -> tuple[str, ...]:
    """Return the values of a column but missing ones, in numeric or alphabetic order."""
    texts = {text for text in factor(column)[1] if text not in MISSING_TEXTS}
    if all(_WHOLE_NUMBER.fullmatch(text) for text in texts):
        texts = {whole_number(text) for text in texts}
    return tuple(sorted(texts, key=_order_of(texts)))


def _order_of(texts: Iterable[str]) -> Callable[[str], Any]:
    try:
        values = {text: float(text) for text in texts}
    except ValueError:
        return str
    return lambda text: (values[text], text)


def _entries(document: Any) -> list[Any]:
    if not (isinstance(document, dict) and list(document) == ["variables"]):
        raise ValueError("the file must have one key, 'variables'")
    if not isinstance(document["variables"], list):
        raise ValueError("'variables' must be a list")
    return document["variables"]


def declared_variable(entry: Any) -> Variable:
    """Return the variable that an entry of a YAML file declares by its levels."""
    if not (isinstance(entry, dict) and {"name", "levels"} <= set(entry)):
        raise ValueError(f"each variable needs a name and levels; one is {brief(entry)}")
    if unknown := set(entry) - {"name", "title", "levels"}:
        raise ValueError(
            f"variable {brief(entry['name'])} has unknown keys {shown(sorted(unknown))}; "
            "allowed are 'name', 'title', 'levels'"
        )
    levels = entry["levels"]
    if not isinstance(levels, dict | list):
        raise ValueError(f"levels of {brief(entry['name'])} must be a list, or a mapping to labels")
    labels = levels.values() if isinstance(levels, dict) else levels
    title = entry.get("title", "")
    if not all(isinstance(text, str) for text in (entry["name"], title, *levels, *labels)):
        raise ValueError(f"name, title, levels and labels must be plain text in {brief(entry)}")
    return Variable(entry["name"], tuple(levels), tuple(labels), title)
