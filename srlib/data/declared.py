"""What is declared of variables before a table is seen, and how the table completes it.

Levels of text are declared or taken from the table. Numbers are cut: at edges that are declared,
or by a rule that the table's own numbers complete. Every rule is applied to one table, the
original; any other is read by what came of it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import yamls
from srlib.data.numbers import (
    MOST_PIECES,
    even_edges,
    number,
    numbers_in,
    piece_names,
    plain,
    quantile_edges,
    rounded_edges,
)
from srlib.data.schema import (
    MISSING,
    MISSING_LEVEL,
    MISSING_TEXTS,
    OUTSIDE,
    Schema,
    Variable,
    check_columns,
    declared_variable,
    factor,
    observed_levels,
    repeated,
    shown,
    whole_number,
)
from srlib.yamls import brief

FEW_NUMBERS = 30
"""Numbers that a column may have and still be taken for categories, where nothing is declared."""
FEW_TEXTS = 5
"""Texts that a column of numbers may have beside them, as codes for "does not apply"."""
BINS = 10
"""Quantiles that a column of numbers is cut at, where nothing is declared."""
MISSING_RULES = ("level", "drop", "error")
"""What may be done about missing values."""

CUTS = ("bins", "edges", "width", "decimals")
"""Ways to cut numbers, of which a variable declares one."""

HEAVY = 5
"""Times the usual number of records that a number must have to look like a code."""

_LARGE_CODE = re.compile("9+[6-9]")
_SMALL_CODE = re.compile("-([1-9]|99+)")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


@dataclass(frozen=True)
class Numeric:
    """A numeric variable and how its numbers are to be cut: in one of four ways.

    Parameters
    ----------
    name : str
        Its column.
    title : str
        What it is, for readers; the name where not given.
    bins : int, optional
        Pieces with about as many records each, 2 to 100.
    edges : tuple of float
        Where the numbers are cut; rising.
    width : float, optional
        Cut at its multiples; above 0.
    decimals : int, optional
        Rounded to so many decimals; -3 rounds to thousands.
    missing : str, optional
        One of `MISSING_RULES`; what a caller says where not given.
    missing_codes : tuple of str
        Texts that mean a missing value.
    not_applicable : tuple of str
        Texts that mean that the variable does not apply; levels of their own.
    """

    name: str
    title: str = ""
    bins: int | None = None
    edges: tuple[float, ...] = ()
    width: float | None = None
    decimals: int | None = None
    missing: str | None = None
    missing_codes: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = [cut for cut in CUTS if getattr(self, cut) not in (None, ())]
        if len(given) != 1:
            raise ValueError(
                f"{self.name} has {' and '.join(given) or 'none'} of {', '.join(CUTS)}; a numeric "
                "variable must have one of these"
            )
        if self.bins is not None and not 2 <= self.bins <= MOST_PIECES:
            raise ValueError(f"bins of {self.name} is {self.bins}; it must be 2 to {MOST_PIECES}")
        if self.width is not None and not 0 < self.width < np.inf:
            raise ValueError(f"width of {self.name} is {self.width:g}; it must be above 0")
        if (np.diff(self.edges) <= 0).any() or not np.isfinite(self.edges).all():
            raise ValueError(f"edges of {self.name} are {list(self.edges)}; they must rise")

    def complete(self, column: pd.Series) -> tuple[Variable, str]:
        """Cut the numbers of a table.

        Parameters
        ----------
        column : Series
            The values; texts that are no numbers and not missing are levels of their own.

        Returns
        -------
        variable : Variable
        note : str
            One sentence that says where the numbers are cut, and what these cuts tell.

        Raises
        ------
        ValueError
            If there are fewer than two numbers, or too many texts or pieces.
        """
        values, counts, texts = _numbers(column, (*self.missing_codes, *self.not_applicable))
        texts += self.not_applicable
        if len(texts) > MOST_PIECES:
            raise ValueError(
                f"{self.name} is declared to be numeric and has {len(texts):,} texts that are no "
                f"numbers, as {shown(texts, 3)}"
            )
        if len(values) < 2 and not self.edges:
            raise ValueError(
                f"{self.name} is declared to be numeric and has {len(values)} numbers; there must "
                "be two or more"
            )
        try:
            edges, names, how = self._pieces(values, counts)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        if not edges:
            raise ValueError(f"{self.name}: cut in this way all numbers are one piece")
        variable = Variable(
            self.name,
            (*names, *texts),
            title=self.title,
            edges=edges,
            missing_codes=self.missing_codes,
            drop_missing=_drops(self.missing),
            not_applicable=self.not_applicable,
        )
        if self.missing == "level":
            variable = variable.with_missing()
        beside = f", beside {shown(texts)}" if texts else ""
        absent = {*texts, *self.missing_codes, *MISSING_TEXTS}
        other = [t for t in factor(column)[1] if t not in absent and np.isnan(number(t))]
        if other:
            beside += f"; {other[0]!r} is read as {plain(variable.numbers_of(other)[0])}"
        if codes := _like_codes(values, counts):
            beside += (
                f"; {', '.join(codes)} may be no number but a code, which a schema names as "
                "missing_codes or not_applicable"
            )
        return variable, f"{self.name} is {how}{beside}."

    def _pieces(
        self, values: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> tuple[tuple[float, ...], tuple[str, ...], str]:
        """Return the edges, the names of the pieces, and how they came about."""
        if self.decimals is not None:
            edges, rounded = rounded_edges(values, self.decimals)
            return edges, tuple(map(plain, rounded)), f"rounded to {self.decimals} decimals"
        if self.edges:
            edges, how = self.edges, f"cut at {_listed(self.edges)} as declared"
        elif self.width is not None:
            edges, how = even_edges(values, self.width), f"cut at multiples of {plain(self.width)}"
        else:
            edges = quantile_edges(values, counts, self.bins or BINS)
            how = f"cut near the original's quantiles, at {_listed(edges)}"
        whole = bool(
            (values == np.round(values)).all() and all(edge == round(edge) for edge in edges)
        )
        return edges, piece_names(edges, whole) if edges else (), how


@dataclass(frozen=True)
class Declaration:
    """What is declared of a table's variables.

    Parameters
    ----------
    variables : tuple of Variable or Numeric
        At least one; their names differ.
    leave_out : tuple of str
        Columns that are no variables, as names and numbers of people.
    """

    variables: tuple[Variable | Numeric, ...]
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.variables:
            raise ValueError("variables is empty; a schema needs at least one")
        if again := repeated([*self.names, *self.leave_out]):
            raise ValueError(f"the names {shown(again)} stand twice; they must differ")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def check_columns(self, columns: Sequence[str], *, ignore_unknown: bool = False) -> None:
        """Raise ValueError unless the columns of a table are those declared, in any order."""
        kept = [name for name in columns if name not in self.leave_out]
        check_columns(self.names, kept, ignore_unknown=ignore_unknown)

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a declaration from a YAML file.

        A variable has ``levels``, see `Schema.from_yaml`, or how its numbers are cut: ``bins``
        (quantiles), ``edges`` (a list), ``width`` or ``decimals``. Either may have
        ``missing``, one of "level" (missing values are a level), "drop" (records that lack it are
        dropped) and "error", ``missing_codes``, a list of texts, and ``not_applicable``, the texts
        that say that it does not apply, which are levels. Beside ``variables`` the file may have
        ``leave_out``, a list of columns, and ``missing``, for all variables without their
        own. ::

            leave_out: [SERIALNO]
            missing: level
            variables:
              - name: SEX
                levels: {1: male, 2: female}
              - name: INCP
                title: income
                bins: 10
                missing_codes: [N, -9]

        Raises
        ------
        ValueError
            If the file is not UTF-8 or not YAML, or not of this form; the message names the file.
        """
        try:
            return cls(*_read(yamls.read(path, texts=True)))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def recognize(cls, frame: pd.DataFrame, *, typed: bool = True) -> Self:
        """Declare a table by its values.

        A column of numbers with more than 30 distinct ones, beside five texts at most, is
        numeric. The levels of any other are its categories, or the values that it has. Columns with
        one value, or none, are left out.

        Parameters
        ----------
        frame : DataFrame
            One column for each variable, with two records or more.
        typed : bool
            Whether categories were declared; else they are any texts of a file.

        Raises
        ------
        ValueError
            For dates, columns that look like names or numbers of people, those with more than 100
            values that are no numbers, and categories that are no levels of a `Variable`. The
            message names all of them.
        """
        if (n := len(frame)) < 2:
            raise ValueError(
                f"the table has {n} record{'s' * (n != 1)}; levels are inferred from 2 or more"
            )
        variables: list[Variable | Numeric] = []
        problems, leave_out = [], []
        for name, column in frame.items():
            declared = typed and isinstance(column.dtype, pd.CategoricalDtype)
            levels = () if declared else observed_levels(column)
            if problem := _no_variable(name, column, () if _is_numeric(column) else levels):
                problems.append(problem)
            elif declared:
                variables += Schema.from_frame(column.to_frame(name)).variables
            elif _is_numeric(column):
                variables.append(Numeric(str(name), bins=BINS))
            elif len(levels) > 1:
                variables.append(Variable(str(name), levels))
            elif levels and _lacks(column):
                variables.append(
                    Variable(str(name), (*levels, MISSING_LEVEL), missing=MISSING_LEVEL)
                )
            else:
                leave_out.append(str(name))
        if problems:
            raise ValueError(
                f"{'; '.join(problems)}. A schema may leave columns out (leave_out) or declare "
                "them; srlib schema ORIGINAL RELEASED suggests one"
            )
        if not variables:
            raise ValueError("no column has two values or more")
        return cls(tuple(variables), tuple(leave_out))

    def to_yaml(self) -> str:
        """Return the content of a file that `from_yaml` reads as the same."""
        variables = [_entry(variable) for variable in self.variables]
        left = {"leave_out": list(self.leave_out)} if self.leave_out else {}
        return yamls.dump(left | {"variables": variables})

    def complete(self, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
        """Complete the declaration by a table.

        Parameters
        ----------
        frame : DataFrame
            Columns of all variables.

        Returns
        -------
        schema : Schema
        notes : tuple of str
            One sentence for each variable whose numbers were cut, and what quantiles tell.

        Raises
        ------
        ValueError
            As `Numeric.complete`.
        """
        variables, notes = [], []
        for variable in self.variables:
            if isinstance(variable, Numeric):
                variable, note = variable.complete(frame[variable.name])
                notes.append(note)
            variables.append(variable)
        if any(isinstance(v, Numeric) and v.bins for v in self.variables):
            notes.append(
                "Such cuts say where the original's numbers lie, and whoever sees the levels sees "
                "them; edges declared in a schema do not."
            )
        return Schema(tuple(variables)), tuple(notes)


def suggest(tables: Sequence[pd.DataFrame]) -> tuple[Declaration, tuple[str, ...]]:
    """Suggest a declaration of tables, to be edited.

    Parameters
    ----------
    tables : sequence of DataFrame
        Of texts; the original first. Columns that a table lacks are left out.

    Returns
    -------
    declaration : Declaration
        Levels are those of all tables together, and missing values one more. Numbers as
        `Declaration.recognize` takes them, but those of the original that look like codes. What
        looks like no variable is left out.
    reasons : tuple of str
        Why columns are left out, what numbers are taken for codes of missing values, and what
        levels are written in two ways, a sentence each.

    Raises
    ------
    ValueError
        If none is a variable.
    """
    first = tables[0]
    names = dict.fromkeys(str(name) for table in tables for name in table.columns)
    shared = set.intersection(*(set(map(str, table.columns)) for table in tables))
    variables: list[Variable | Numeric] = []
    left = {name: "a file lacks it" for name in names if name not in shared}
    coded: list[str] = []
    for name in (name for name in map(str, first.columns) if name in shared):
        parts = [table.iloc[:, list(map(str, table.columns)).index(name)] for table in tables]
        column = pd.concat([part.astype(object) for part in parts], ignore_index=True)
        missing = "level" if _lacks(column) else None
        numeric, levels = _is_numeric(column), observed_levels(column)
        if problem := _no_variable(name, parts[0], ()) or _no_variable(
            name, column, () if numeric else levels
        ):
            left[name] = problem.removeprefix(f"{name} ")
        elif numeric:
            codes = _like_codes(*_numbers(parts[0], ())[:2])
            variables.append(
                Numeric(name, bins=BINS, missing="level" if codes else missing, missing_codes=codes)
            )
            if codes:
                verb = "are" if len(codes) > 1 else "is"
                coded.append(f"{name}: {', '.join(codes)} {verb} taken for missing.")
        elif len(levels) < 2 and not (levels and missing):
            left[name] = "all records have one value" if levels else "no record has a value"
        else:
            first_levels = observed_levels(parts[0])
            if len(first_levels) > 1:
                known = Variable(name, first_levels).spelled(set(levels) - set(first_levels))
                levels = tuple(level for level in levels if level not in known)
                coded += [
                    f"{name}: {text!r} is {level!r} written in another way; write both alike."
                    for text, level in sorted(known.items())[:1]
                ]
            own = (*levels, MISSING_LEVEL) if missing else levels
            variables.append(Variable(name, own, missing=MISSING_LEVEL if missing else ""))
    if not variables:
        raise ValueError(f"no column is a variable: {'; '.join(left.values())}")
    reasons = [f"{name} is left out: {reason}." for name, reason in left.items()]
    return Declaration(tuple(variables), tuple(left)), (*reasons, *coded)


def with_missing(schema: Schema, *frames: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables that lack values in any of the tables a level for these.

    Parameters
    ----------
    schema : Schema
        Variables with a rule of their own for missing values keep it.
    *frames : DataFrame
        Tables with the variables as columns; the first is the original.

    Returns
    -------
    schema : Schema
    notes : tuple of str
        One sentence, if the original lacks values.
    """
    variables, lacking = [], []
    for variable in schema.variables:
        absent = [_lacking(variable, frame[variable.name]) for frame in frames]
        if variable.drop_missing is None and not variable.missing and any(absent):
            variable = variable.with_missing()
        if variable.missing and absent[0]:
            lacking.append(f"{variable.name} {absent[0]:,}")
        variables.append(variable)
    note = f"Missing values are a level of their own: {', '.join(lacking)} of {len(frames[0]):,}."
    return Schema(tuple(variables)), (note,) if lacking else ()


def with_unseen(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables the levels that another table has beside those of the schema.

    Parameters
    ----------
    schema : Schema
        Levels that were taken from another table, and not declared.
    frame : DataFrame
        A table with the variables as columns.

    Returns
    -------
    schema : Schema
        New levels come last. Missing values are none, nor are known levels written in another way,
        as `Variable.spelled` finds them.
    notes : tuple of str
        A sentence for these, and one for new levels, if there are any.

    Raises
    ------
    ValueError
        If a variable has values and no known one, or among numbers more than five texts: measures
        would take the two tables for different in all records.
    """
    variables, unseen, spelled = [], [], []
    for variable in schema.variables:
        texts = list(dict.fromkeys(factor(frame[variable.name])[1]))
        strange = [t for t, c in zip(texts, variable.codes_of(texts), strict=True) if c == OUTSIDE]
        if strange:
            known = variable.spelled(strange)
            if known:
                told = [f"{text!r} for {level!r}" for text, level in list(known.items())[:3]]
                more = f" and {len(known) - 3} more" if len(known) > 3 else ""
                spelled.append(f"{variable.name} {', '.join(told)}{more}")
                variable = replace(variable, spellings=(*variable.spellings, *known.items()))
            new = [text for text in strange if text not in known]
            if max(variable.codes_of(texts)) < 0 or (variable.edges and len(new) > FEW_TEXTS):
                own = "numbers" if variable.edges else shown(variable.levels, 3)
                raise ValueError(
                    f"{variable.name} has {shown(new, 3)}, where the original has {own}; the same "
                    "values must be written in the same way, or a schema leave the column out "
                    "(leave_out)"
                )
            if new:
                unseen.append(f"{variable.name} {shown(new, 3)}")
                variable = variable.with_levels(new)
        variables.append(variable)
    notes = {
        "Values written in another way than in the original are taken for these": spelled,
        "Levels that the original does not have": unseen,
    }
    return Schema(tuple(variables)), tuple(f"{k}: {'; '.join(v)}." for k, v in notes.items() if v)


def _lacking(variable: Variable, column: pd.Series) -> int:
    """Return how many values of a column are missing."""
    ids, texts = factor(column)
    of_text = replace(variable, missing="").codes_of(texts)
    return int((np.array([*of_text, MISSING])[ids] == MISSING).sum())


def _numbers(
    column: pd.Series, missing_codes: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """Return the distinct numbers of a column, how many records have each, and other texts."""
    ids, texts = factor(column)
    counts = np.bincount(ids[ids >= 0], minlength=len(texts))
    absent = {*missing_codes, *MISSING_TEXTS}
    plainly = [text if text in absent else whole_number(text) for text in texts]
    of_text = np.array(numbers_in(plainly))
    of_text[[text in absent for text in plainly]] = np.nan
    others = [t for t, v in zip(plainly, of_text, strict=True) if np.isnan(v) and t not in absent]
    is_number = ~np.isnan(of_text)
    values, where = np.unique(of_text[is_number], return_inverse=True)
    return values, np.bincount(where, counts[is_number], len(values)).astype(np.int64), others


def _like_codes(values: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[str, ...]:
    """Find numbers that look like codes: -1 to -9, or nines at an end, that unusually many have."""
    heavy = counts >= HEAVY * np.median(counts) if len(counts) else counts > 0
    found = []
    for end, pattern in ((values[::-1], _LARGE_CODE), (values, _SMALL_CODE)):
        for value in end:
            if not pattern.fullmatch(plain(value)):
                break
            if heavy[np.searchsorted(values, value)]:
                found.append(float(value))
    return tuple(map(plain, sorted(found)))


def _is_numeric(column: pd.Series) -> bool:
    """Say whether a column is taken for numbers that are to be cut."""
    values, _, texts = _numbers(column, ())
    coded = any(re.match("0[0-9]", text) for text in factor(column)[1])  # "0310" is a name
    return len(values) > FEW_NUMBERS and len(texts) <= FEW_TEXTS and not coded


def _lacks(column: pd.Series) -> bool:
    """Say whether a value of a column is missing."""
    return bool(column.isna().any() or set(factor(column)[1]) & MISSING_TEXTS)


def _no_variable(name: object, column: pd.Series, levels: Sequence[str]) -> str:
    """Say why a column can be no variable, if so; levels are its own where it is not numeric."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return f"{name} has dates; make a year or an age of them"
    texts = [text for text in factor(column)[1] if text not in MISSING_TEXTS]
    if len(texts) > FEW_NUMBERS and all(map(_DATE.fullmatch, texts)):
        return f"{name} has dates, as {texts[0]!r}; make a year or an age of them"
    if len(texts) == len(column) > MOST_PIECES and not any(
        value % 1 for value in numbers_in(texts) if not np.isnan(value)
    ):
        return f"{name} differs for all records, as a name or a number of people does"
    if len(levels) > MOST_PIECES:
        return (
            f"{name} has {len(levels):,} values that are no numbers, as {shown(levels, 3)}; a "
            f"variable may have {MOST_PIECES}"
        )
    return ""


def _drops(missing: str | None) -> bool | None:
    """Return what `Variable.drop_missing` is by a rule for missing values."""
    return None if missing is None or missing == "level" else missing == "drop"


def _listed(edges: Sequence[float]) -> str:
    return ", ".join(map(plain, edges))


def _read(document: Any) -> tuple[tuple[Variable | Numeric, ...], tuple[str, ...]]:
    """Return the variables and the columns left out of a file's content."""
    keys = {"variables", "leave_out", "missing"}
    if not (isinstance(document, dict) and "variables" in document and set(document) <= keys):
        raise ValueError(
            "the file must have the key 'variables', and may have 'leave_out' and 'missing'"
        )
    if not isinstance(document["variables"], list):
        raise ValueError("'variables' must be a list")
    for_all = _rule(document.get("missing"), "missing")
    leave_out = _texts(document.get("leave_out", []), "leave_out")
    return tuple(_variable(entry, for_all) for entry in document["variables"]), leave_out


def _variable(entry: Any, for_all: str | None) -> Variable | Numeric:
    """Return the variable that an entry declares."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError(f"each variable needs a name; one is {brief(entry)}")
    entry, name = dict(entry), entry["name"]
    missing = _rule(entry.pop("missing", for_all), f"missing of {brief(name)}")
    codes = _texts(entry.pop("missing_codes", []), f"missing_codes of {brief(name)}")
    no_answer = _texts(entry.pop("not_applicable", []), f"not_applicable of {brief(name)}")
    if not set(entry) & set(CUTS):
        variable = declared_variable(entry)
        variable = variable.with_levels([t for t in no_answer if t not in variable.levels])
        variable = replace(
            variable, missing_codes=codes, drop_missing=_drops(missing), not_applicable=no_answer
        )
        return variable.with_missing() if missing == "level" else variable
    if unknown := set(entry) - {"name", "title", *CUTS}:
        raise ValueError(
            f"variable {brief(name)} has {', '.join(set(entry) & set(CUTS))} and the keys "
            f"{shown(sorted(unknown))}; beside how numbers are cut it may have title, missing, "
            "missing_codes and not_applicable"
        )
    edges = _texts(entry.get("edges", []), f"edges of {brief(name)}")
    return Numeric(
        name,
        str(entry.get("title", "")),
        bins=_whole(entry, "bins"),
        edges=tuple(_real(edge, f"edges of {brief(name)}") for edge in edges),
        width=_real(entry["width"], f"width of {brief(name)}") if "width" in entry else None,
        decimals=_whole(entry, "decimals"),
        missing=missing,
        missing_codes=codes,
        not_applicable=no_answer,
    )


def _entry(variable: Variable | Numeric) -> dict[str, Any]:
    """Return what a file has of a variable."""
    entry: dict[str, Any] = {"name": variable.name}
    if variable.title not in ("", variable.name):
        entry["title"] = variable.title
    if isinstance(variable, Numeric):
        cut = next(cut for cut in CUTS if getattr(variable, cut) not in (None, ()))
        value = getattr(variable, cut)
        entry[cut] = list(value) if cut == "edges" else value
        rule = variable.missing
    else:
        own = [
            pair for pair in zip(variable.levels, variable.labels, strict=True)
            if pair[0] != variable.missing
        ]  # fmt: skip
        same = all(level == label for level, label in own)
        entry["levels"] = [level for level, _ in own] if same else dict(own)
        dropped = {True: "drop", False: "error", None: None}[variable.drop_missing]
        rule = "level" if variable.missing else dropped
    if rule:
        entry["missing"] = rule
    for key in ("missing_codes", "not_applicable"):
        if texts := getattr(variable, key):
            entry[key] = list(texts)
    return entry


def _rule(value: Any, what: str) -> str | None:
    if value is not None and value not in MISSING_RULES:
        raise ValueError(f"{what} is {brief(value)}; it must be one of {', '.join(MISSING_RULES)}")
    return value


def _texts(values: Any, what: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise ValueError(f"{what} must be a list, as [a, b]; it is {brief(values)}")
    return tuple(values)


def _real(text: Any, what: str) -> float:
    value = number(text) if isinstance(text, str) else np.nan
    if np.isnan(value):
        raise ValueError(f"{what} has {brief(text)}; it must be a number")
    return value


def _whole(entry: dict[str, Any], key: str) -> int | None:
    if key not in entry:
        return None
    value = _real(entry[key], f"{key} of {brief(entry['name'])}")
    if value != int(value):
        raise ValueError(f"{key} of {brief(entry['name'])} is {entry[key]}; it must be whole")
    return int(value)
