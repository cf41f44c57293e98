"""What is declared of variables before a table is seen, and how the table completes it.

Levels of text are declared or taken from the table. Numbers are cut: at edges that are declared,
or by a rule that the table's own numbers complete. Every rule is applied to one table, the
original; any other is read by what came of it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from srlib import yamls
from srlib.checks import require
from srlib.data.codes import MISSING_TEXTS, OUTSIDE, coded, factor, shown
from srlib.data.numbers import levels_in, number, numbers_in, piece_names, plain, quantile_edges
from srlib.data.schema import MISSING_LEVEL, MOST_LEVELS, Schema, Variable
from srlib.yamls import brief

# Numbers that a column may have and still be taken for categories, where nothing is declared;
# texts that a column of numbers may have beside them, as codes for "does not apply"; and quantiles
# that it is cut at.
FEW_NUMBERS, FEW_TEXTS, BINS = 30, 5, 10
# What may be done about missing values.
MISSING_RULES = ("level", "drop", "error")

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_KEYS = ("name", "title", "levels", "bins", "edges", "missing", "missing_codes", "not_applicable")


class Declaration(Schema):
    """What is declared of a table's variables: of numbers how, but not yet where, they are cut."""

    @classmethod
    def recognize(cls, frame: pd.DataFrame, *, typed: bool = True) -> Self:
        """Declare a table by its values.

        A column of numbers with more than 30 distinct ones, beside five texts at most, is
        numeric. The levels of any other are its categories, or the values that it has. Columns with
        one value, or none, are left out. Categories count where they were declared (`typed`), and
        are else any texts of a file.

        Raises
        ------
        ValueError
            For dates, columns that look like names or numbers of people, those with more than 100
            values that are no numbers, and categories that are no levels of a `Variable`. The
            message names all of them.
        """
        n = f"{len(frame)} record{'s' * (len(frame) != 1)}"
        require(len(frame) > 1, f"the table has {n}; levels are inferred from 2 or more")
        found = {str(name): _recognized(str(name), column, typed) for name, column in frame.items()}
        problems = [f"{name} {why}" for name, why in found.items() if isinstance(why, str) and why]
        told = "A schema may leave columns out (leave_out) or declare them; srlib schema ORIGINAL"
        require(not problems, f"{'; '.join(problems)}. {told} RELEASED suggests one")
        variables = tuple(each for each in found.values() if isinstance(each, Variable))
        require(variables, "no column has two values or more")
        return cls(variables, tuple(name for name, each in found.items() if not each))

    def to_yaml(self) -> str:
        """Return the content of a file that `from_yaml` reads as the same suggestion."""
        entries = []
        for variable in self.variables:
            levels = [level for level in variable.levels if level != variable.missing]
            entry = {"name": variable.name, "levels": levels, "bins": variable.bins}
            entry["missing"] = "level" if variable.missing else ""
            entries.append({key: value for key, value in entry.items() if value})
        left = {"leave_out": list(self.leave_out)} if self.leave_out else {}
        return yamls.dump(left | {"variables": entries})

    def complete(self, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
        """Cut the numbers of a table, and say how in one sentence for each variable."""
        done = [_cut(v, frame[v.name]) if v.uncut else (v, "") for v in self.variables]
        notes = [note for _, note in done if note]
        if any(variable.bins for variable in self.variables):
            told = "Such cuts say where the original's numbers lie, and whoever sees the levels "
            notes.append(told + "sees them; edges declared in a schema do not.")
        return Schema(tuple(variable for variable, _ in done)), tuple(notes)


def read_declared[Kind: Schema](path: str | Path, kind: type[Kind]) -> Kind:
    """Return what a YAML file declares, see `Schema.from_yaml`."""
    try:
        document = yamls.read(path, texts=True)
        right = isinstance(document, dict) and isinstance(document.get("variables"), list)
        require(right, "the file must have the key 'variables', a list")
        unknown = shown(set(document) - {"variables", "leave_out", "missing"})
        require(not unknown, f"the file has unknown keys {unknown}")
        variables = [_variable(each, document.get("missing")) for each in document["variables"]]
        return kind(tuple(variables), _texts(document, "leave_out", "the file"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def suggest(tables: Sequence[pd.DataFrame]) -> tuple[Declaration, tuple[str, ...]]:
    """Suggest a declaration of tables, the original first, and say why columns are left out.

    Variables are what the original's columns are; further levels of the others come last, and
    missing values of any table are one more. A column that a table lacks is left out.
    """
    original, *others = tables = [table.rename(columns=str) for table in tables]
    variables, left = [], {}
    for name in dict.fromkeys(name for table in tables for name in table):
        lacking = any(name not in table for table in tables)
        found = "a file lacks it" if lacking else _recognized(name, original[name])
        if isinstance(found, Variable):
            more = (_unseen(found, table[name])[0] for table in others if not found.uncut)
            variables.append(found.with_levels(list(dict.fromkeys(chain.from_iterable(more)))))
        else:
            left[name] = found or "all records have one value, or none"
    require(variables, f"no column is a variable: {'; '.join(left.values())}")
    reasons = tuple(f"{name} is left out: {reason}." for name, reason in left.items())
    known = with_missing(Schema(tuple(variables)), *tables)[0]
    return Declaration(known.variables, tuple(left)), reasons


def with_missing(schema: Schema, *frames: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables that lack values in any table a level for these, and say so of the first.

    Variables with a rule of their own for missing values keep it.
    """
    variables, lacking = [], []
    for variable in schema.variables:
        code = variable.code_of_missing
        codes = (coded(frame[variable.name], variable.codes_of, code)[0] for frame in frames)
        absent = [np.count_nonzero(of_frame == code) for of_frame in codes]
        if variable.drop_missing is None and any(absent):
            variable = variable.with_missing()
        if variable.missing and absent[0]:
            lacking.append(f"{variable.name} {absent[0]:,}")
        variables.append(variable)
    note = f"Missing values are a level of their own: {', '.join(lacking)} of {len(frames[0]):,}."
    return Schema(tuple(variables)), (note,) if lacking else ()


def with_unseen(schema: Schema, frame: pd.DataFrame) -> tuple[Schema, tuple[str, ...]]:
    """Give variables the levels that another table has beside those of the schema, and name them.

    Raises
    ------
    ValueError
        If a variable has values and no known one, or among numbers more than five texts: measures
        would take the two tables for different in all records.
    """
    variables, unseen = [], []
    for variable in schema.variables:
        new, known = _unseen(variable, frame[variable.name])
        if new:
            own = "numbers" if variable.edges else shown(variable.levels, 3)
            right = known and not (variable.edges and len(new) > FEW_TEXTS)
            told = f"{variable.name} has {shown(new, 3)}, where the original has {own}; the values"
            require(right, f"{told} must be written alike, or a schema leave the column out")
            unseen.append(f"{variable.name} {shown(new, 3)}")
        variables.append(variable.with_levels(new))
    note = f"Levels that the original does not have: {'; '.join(unseen)}."
    return Schema(tuple(variables)), (note,) if unseen else ()


def _unseen(variable: Variable, column: pd.Series) -> tuple[list[str], bool]:
    """Return the texts of a column that are outside the levels, and whether any is within."""
    texts = list(dict.fromkeys(factor(column)[1]))
    codes = variable.codes_of(texts)
    new = [text for text, code in zip(texts, codes, strict=True) if code == OUTSIDE]
    return new, max(codes, default=OUTSIDE) >= 0


def _cut(variable: Variable, column: pd.Series) -> tuple[Variable, str]:
    """Return a variable whose numbers are cut by a column, and a sentence that says where."""
    counts, texts = numbers_in(column, *variable.missing_codes, *variable.not_applicable)
    texts += variable.not_applicable
    has = f"{variable.name} is declared to be numeric and has"
    others = f"{len(texts):,} texts that are no numbers, as {shown(texts, 3)}"
    require(len(texts) <= MOST_LEVELS, f"{has} {others}")
    right = len(counts) > 1 or variable.edges
    require(right, f"{has} {len(counts)} numbers; there must be two or more")
    edges = variable.edges or quantile_edges([*counts], [*counts.values()], variable.bins)
    names = piece_names(edges, not np.mod([*counts, *edges], 1).any())
    done = replace(variable, levels=(*names, *texts), labels=(), edges=edges, bins=0, missing="")
    how = "near the original's quantiles, at {}" if variable.bins else "at {} as declared"
    note = f"{variable.name} is cut {how.format(', '.join(map(plain, edges)))}"
    note += f", beside {shown(texts)}." if texts else "."
    return done.with_missing() if variable.missing else done, note


def _recognized(name: str, column: pd.Series, typed: bool = False) -> Variable | str:
    """Return the variable that a column is, or why it is none; "" where it has a single value."""
    texts = [text for text in factor(column)[1] if text not in MISSING_TEXTS]
    if len(texts) > FEW_NUMBERS and all(map(_DATE.fullmatch, texts)):
        return f"has dates, as {texts[0]!r}; make a year or an age of them"
    values, others = numbers_in(column)
    if len(texts) == len(column) > MOST_LEVELS and not np.mod(list(values), 1).any():
        return "differs for all records, as a name or a number of people does"
    if typed and isinstance(column.dtype, pd.CategoricalDtype):
        return Variable(name, tuple(map(str, column.cat.categories)))
    names = any(re.match("0[0-9]", text) for text in texts)  # as "0310"
    if len(values) > FEW_NUMBERS and len(others) <= FEW_TEXTS and not names:
        return Variable(name, bins=BINS)
    levels = levels_in(column)
    if len(levels) > MOST_LEVELS:
        those = f"{len(levels):,} values that are no numbers, as {shown(levels, 3)}"
        return f"has {those}; a variable may have {MOST_LEVELS}"
    if len(levels) == 1 and (column.isna().any() or MISSING_TEXTS & set(factor(column)[1])):
        return Variable(name, (*levels, MISSING_LEVEL), missing=MISSING_LEVEL)
    return Variable(name, levels) if len(levels) > 1 else ""


def _variable(entry: Any, for_all: Any) -> Variable:
    """Return the variable that an entry of a file declares."""
    named = isinstance(entry, dict) and isinstance(entry.get("name"), str)
    require(named, f"each variable needs a name; one is {brief(entry)}")
    what = f"variable {brief(entry['name'])}"
    unknown = shown(key for key in entry if key not in _KEYS)
    require(not unknown, f"{what} has unknown keys {unknown}; allowed are {', '.join(_KEYS)}")
    right = len({"levels", "bins", "edges"} & set(entry)) == 1
    require(right, f"{what} needs levels, or bins, or edges, and one of these alone")
    given = {"missing": for_all, "bins": "0", **entry}
    rule, bins, levels = given["missing"], given["bins"], given.get("levels")
    if isinstance(levels, dict):
        given |= {"levels": list(levels), "labels": list(levels.values())}
    lists = ("levels", "labels", "edges", "missing_codes", "not_applicable")
    texts: dict[str, Any] = {key: _texts(given, key, what) for key in lists}
    rules = ", ".join(MISSING_RULES)
    require(rule in (None, *MISSING_RULES), f"{what}: missing must be one of {rules}")
    right = "bins" not in entry or bins in map(str, range(2, MOST_LEVELS + 1))
    require(right, f"{what}: bins is {brief(bins)}; it must be a whole number, 2 to {MOST_LEVELS}")
    drop, title = {"drop": True, "error": False}.get(rule), str(entry.get("title", ""))
    texts |= {"edges": tuple(map(number, texts["edges"])), "bins": int(bins)}
    variable = Variable(entry["name"], title=title, drop_missing=drop, **texts)
    return variable.with_missing() if rule == "level" else variable


def _texts(entry: dict[str, Any], key: str, what: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    listed = isinstance(values, list) and all(isinstance(text, str) for text in values)
    require(listed, f"{what}: {key} must be a list, as [a, b]; it is {brief(values)}")
    return tuple(values)
