"""An original table and its releases, taken in and checked: users' input is checked here alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from srlib.assessment.copies import aligned_rows, copies
from srlib.assessment.counts import Floats, Ints
from srlib.assessment.ratings import MIN_RECORDS_JUDGED, Z_CERTAIN
from srlib.checks import positive, printable, repeated, require, shown
from srlib.data.codes import MISSING_TEXTS, Codes, factor, trimmed
from srlib.data.infer import (
    SINGLE,
    add_missing_levels,
    add_unseen_levels,
    bin_numbers,
    infer_schema,
)
from srlib.data.microdata import Declared, Texts, check_left_out, declared, read_texts, without
from srlib.data.notation import unified
from srlib.data.schema import Microdata, Schema
from srlib.data.size_limits import check_width
from srlib.display import percent

# Records: a DataFrame of categorical, text or number columns, microdata, or a file's path.
type Table = pd.DataFrame | Microdata | str | Path
# Tables, or folders of them: the draws of one tool, as is a sequence under the tool's name.
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
type Names = str | Sequence[str]


@dataclass(frozen=True)
class CodedTable:
    """A table: codes from 0, (n, p), and by column the numbers behind them, NaN where none is.

    `lines` are those of a file that its records begin at. `left_out` are columns that a user or a
    schema leaves out and that the table has, as text of the same records, NA where missing.
    """

    codes: Codes
    numbers: Mapping[int, Floats] = field(default_factory=dict)
    lines: Ints = field(default_factory=lambda: np.arange(0))
    left_out: Mapping[str, pd.Series] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.codes)


class _Source(NamedTuple):
    """A table as it was given, under its name, and the tool that made it."""

    table: Table
    name: str
    synthesizer: str = ""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors name the table, by its path if it has one."""
        try:
            yield
        except ValueError as error:
            place = self.table if isinstance(self.table, str | Path) else self.name
            raise ValueError(f"{printable(place)}: {error}") from None

    def texts(self, schema: Schema | None, leave_out: Collection[str]) -> Texts:
        """Return the variables, checked against what is declared, before they are coded."""
        table = self.table
        if isinstance(table, str | Path):
            return read_texts(table, schema, leave_out=leave_out)
        kind = f"{self.name} is of type {type(table).__name__}; it must be a DataFrame,"
        right = isinstance(table, Microdata | pd.DataFrame)
        require(right, f"{kind} Microdata, or the path of a file")
        notes = tuple[str, ...]()
        if isinstance(table, Microdata):
            frame = table.to_frame(labels=False)
            schema = schema or table.schema
            notes = table.notes
        else:
            frame = table.rename(columns=str)
        known, left_out = without(schema, leave_out)
        with self.named():
            again = repeated(frame)
            require(not again, f"duplicate column names {shown(again)}")
            check_width(frame.shape[1])
            if known:
                known.check_columns(list(frame))
            apart = {name: frame[name] for name in frame if name in left_out}
            frame, more = unified(frame[[name for name in frame if name not in apart]], known)
        if apart:
            notes += (f"Columns left out: {shown(apart)}.",)
        return Texts(frame, known, (*notes, *more), apart)


class Tables(NamedTuple):
    """All tables, coded alike, and what is asked of them.

    Releases are under the name under which they are judged, by column numbers all else: sets of
    `keys` and `targets`, of which the first decide, `by` of groups, and distances `within` which
    numbers are told. With `all_keys` the keys are all but the target, whichever that is. `notes`
    tell in a sentence each what was read, recognized, dropped or chosen; `choices` are those of
    them that tell what was done without being asked for.
    """

    schema: Schema
    original: CodedTable
    synthesizers: Mapping[str, Sequence[CodedTable]]
    keys: Sequence[tuple[int, ...]]
    targets: Sequence[int]
    all_keys: bool
    holdout: CodedTable | None
    by: int | None
    within: Mapping[int, float]
    notes: Sequence[str]
    choices: Sequence[str] = ()

    def with_holdout(self, released: CodedTable) -> list[CodedTable]:
        """The original, a release and, where there are any, people held out."""
        return [self.original, released] + ([self.holdout] if self.holdout else [])


def read_inputs(
    original: Table, released: Releases, *, keys: Names | Sequence[Names] = (), target: Names = (),
    schema: Declared = None, within: Mapping[str, float] | None = None, by: str = "",
    holdout: Table | None = None, leave_out: Names = (),
) -> Tables:  # fmt: skip
    """Take in and check an original and its releases; arguments as of `report.assess`.

    A ValueError says of the first that does not fit which table it is, what is wrong and what is
    right. Notebooks and the command give empty texts for what is not given.
    """
    kind = f"schema is of type {type(schema).__name__}; it must be a Schema or a file"
    require(isinstance(schema, Schema | str | Path | None), kind)
    wrong = f"within is {within!r}; it must give distances by names of variables"
    require(isinstance(within, Mapping | None), wrong)
    leave_out = [leave_out] if isinstance(leave_out, str) else leave_out
    wrong = f"leave_out is {leave_out!r}; it must be a list of names"
    require(isinstance(leave_out, Collection), wrong)
    releases, notes = _list_sources(released)
    choices = list(notes)
    sources = [_Source(original, "original"), *releases]
    if holdout is not None and not (isinstance(holdout, str) and not holdout):
        sources.append(_Source(holdout, "holdout"))
    known, wished = without(declared(schema), leave_out)
    complete, texts, more = _read(sources, known, wished)
    check_left_out(leave_out, texts)
    absent = dict.fromkeys(complete.leave_out, SINGLE)
    absent |= dict.fromkeys(wished, "it was to be left out")
    _check_present(absent, keys=keys, target=target, within=within, by=by)
    key_sets, targets, chosen = _resolve_roles(complete, keys or (), target)
    numeric = [complete.variables[k] for k in sorted({*chain(*key_sets)})]
    if exact := shown(variable.name for variable in numeric if variable.edges):
        chosen.append(
            f"Keys that are numbers, {exact}: matched as the files have them for identity, and cut "
            "for everything else."
        )
    distances = {}
    for name, distance in (within or {}).items():
        (at,) = complete.positions([name], "within")
        among_keys = keys and at in key_sets[0]
        require(not among_keys, f"within names {name!r}, which is among the keys")
        cut = f"within names {name!r}, which is not numeric; bins or edges in a schema make it so"
        require(complete.variables[at].edges, cut)
        positive(**{f"within of {name}": distance})
        distances[at] = float(distance)
    files, synthesizers = list[CodedTable](), dict[str, list[CodedTable]]()
    for source, text in zip(sources, texts, strict=True):
        with source.named():
            file, size, of_file = _encode(text, complete, distances, wished)
            if source.synthesizer:
                _check_synthetic(complete, files[0].codes, file.codes)
                synthesizers.setdefault(source.synthesizer, []).append(file)
            elif files:
                _check_holdout(complete, files[0].codes, file.codes)
        is_path = not source.synthesizer and isinstance(source.table, str | Path)
        called = printable(Path(str(source.table)).name) if is_path else source.name
        told = [f"{called}: {note}" for note in of_file]
        notes += [f"{called}: {size}", *told]
        choices += told
        files.append(file)
    n = len(files[0])
    for variable, column in ((complete.variables[at], files[0].codes[:, at]) for at in targets):
        lacking = int(np.isin(column, variable.no_values).sum())
        none = f"target is {variable.name!r}, of which nobody in the original has a value: all are"
        require(lacking < n, f"{none} missing or not applicable")
        told_of = f"{variable.name} is missing or does not apply for {lacking:,} of {n:,} people"
        more += [f"{told_of}, of whom it can tell no value: they are not counted."] * (lacking > 0)
    return Tables(
        complete, files[0], synthesizers, tuple(key_sets), targets, not keys,
        None if sources[-1].synthesizer else files[-1], complete.positions([by], "by")[0] if by else None,
        distances, (*notes, *more, *chosen), (*choices, *more, *chosen),
    )  # fmt: skip


def _check_present(absent: Mapping[str, str], **arguments: Any) -> None:
    """Refuse arguments that name a column that was left out, with the reason."""
    for argument, names in arguments.items():
        for name in _texts_in(names):
            require(
                name not in absent,
                f"{argument} names {name!r}, which was left out: {absent.get(name)}",
            )


def _texts_in(names: Any) -> Iterator[str]:
    """Yield the texts in collections of them."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, Collection):
        for one in names:
            yield from _texts_in(one)


def _list_sources(released: Releases) -> tuple[list[_Source], list[str]]:
    """Return all releases, and one sentence for each folder."""
    found, notes = list[_Source](), list[str]()
    if not isinstance(released, Sequence | Mapping) or isinstance(released, str):
        released = [released]
    if not isinstance(released, Mapping):
        each = enumerate(released, start=1)
        paths = [Path(z if isinstance(z, str | Path) else f"release {i}") for i, z in each]
        names = [printable(path.name or path.resolve().name) for path in paths]
        # With their folders where it takes these to tell them apart.
        if repeated(names):
            names = [printable(path) for path in paths]
        released = dict(zip(names, released, strict=True))
    require(released, "released is empty; it must have one table or more")
    for synthesizer, given in released.items():
        tables: Mapping[str, Any] = {synthesizer: given}
        if isinstance(given, str | Path) and Path(given).is_dir():
            files = [path for path in sorted(Path(given).iterdir()) if path.name[0] != "."]
            tables = {f"{synthesizer}/{printable(file.name)}": file for file in files}
            notes.append(f"{synthesizer}: a folder of {len(files)}, judged together.")
        elif isinstance(given, Sequence) and not isinstance(given, str):
            tables = {f"{synthesizer} {i}": table for i, table in enumerate(given, start=1)}
        require(tables, f"{synthesizer}: there are no releases; a tool must have one or more")
        found += [_Source(table, name, synthesizer) for name, table in tables.items()]
    return found, notes


def _read(
    sources: Sequence[_Source], known: Schema | None, leave_out: Collection[str]
) -> tuple[Schema, list[Texts], list[str]]:
    """Read all tables; return their schema, and a sentence for all that was not declared."""
    texts, notes = list[Texts](), list[str]()
    for source in sources:
        texts.append(source.texts(known, leave_out))
        with source.named():
            frame, more = texts[-1].frame, tuple[str, ...]()
            if len(texts) == 1:
                known = texts[0].schema or infer_schema(frame)
                schema, more = bin_numbers(known, frame)
            elif texts[0].schema is None:
                schema, more = add_unseen_levels(schema, frame)
            notes += more
    if known and texts[0].schema is None:
        notes.append("No schema was given: levels are the values that the original has.")
        told = "Columns left out, of which the original has one value or none:"
        notes += [f"{told} {shown(known.leave_out)}."] if known.leave_out else []
    schema, more = add_missing_levels(schema, *(text.frame for text in texts))
    return schema, texts, [*notes, *more]


def _encode(
    texts: Texts, schema: Schema, distances: Collection[int], wished: Collection[str]
) -> tuple[CodedTable, str, list[str]]:
    """Return a table's records, of two people or more, their number, and notes on it.

    Of columns that are left out, those stay beside them that are wished to be.
    """
    codes, kept = schema.encode_complete(texts.frame, drop_missing=False)
    n, numbers = len(codes), {}
    require(n > 1, f"the table has {n} record{'s' * (n != 1)}; it needs 2 or more")
    for at, variable in enumerate(schema.variables):
        if variable.edges:
            ids, values = factor(texts.frame[variable.name][kept])
            numbers[at] = np.array([*variable.numbers_of(values), np.nan])[ids]
            none = f"{variable.name!r} has no numbers; they must not be cut already"
            require(at not in distances or not np.isnan(numbers[at]).all(), none)
    of_all = f"{n:,} complete of {len(kept):,}" if not kept.all() else f"{n:,}"
    is_file = texts.frame.index.name is not None  # "line" or "record"
    lines = np.asarray(texts.frame.index if is_file else np.arange(1, len(kept) + 1))
    left_out = {
        name: _as_text(column[kept]) for name, column in texts.left_out.items() if name in wished
    }
    notes = [*texts.notes, *schema.respelled(texts.frame)]
    return CodedTable(codes, numbers, lines[kept], left_out), f"{of_all} records.", notes


def _as_text(column: pd.Series) -> pd.Series:
    """Return the values of a column as text, NA where they are missing."""
    ids, texts = factor(column)
    values = [None if text in MISSING_TEXTS else trimmed(text) for text in texts]
    return pd.Series(np.array([*values, None], object)[ids], dtype="string")


def _check_synthetic(schema: Schema, original: Codes, released: Codes) -> None:
    """Refuse a release that has some variables of the original row by row, and others not."""
    if len(original) != len(released) or len(original) < MIN_RECORDS_JUDGED:
        return
    same, names = (original == released).all(axis=0), np.array(schema.names, object)
    right = same.all() or not same.any()
    require(
        right or aligned_rows(original[:, same], released[:, same])[2] < 2 * Z_CERTAIN,
        f"the values of {shown(names[same])} are the original's, row by row, and only those of "
        f"{shown(names[~same])} differ; this assessment is for releases of which every variable is "
        "synthetic: synthesize the others, too, or judge the release by other measures",
    )


def _check_holdout(schema: Schema, original: Codes, holdout: Codes) -> None:
    """Refuse people held out who are, beyond any doubt, people of the original."""
    found = copies(original, holdout, schema.n_levels)
    copied_uniques = found.rows["copied uniques"]
    share = percent(1.0 if found.same_table else copied_uniques["estimate"], 1)
    told = f"{share} of the {copied_uniques['n']:,} people of the"
    require(
        not found.same_table and not copied_uniques["z_permutation"] >= 2 * Z_CERTAIN,
        f"an estimated {told} original who are alone with all their values are in it, too; people "
        "held out must be others, kept out before the synthesizer was fitted",
    )


def _resolve_roles(
    schema: Schema, keys: Any, targets: Names
) -> tuple[list[tuple[int, ...]], tuple[int, ...], list[str]]:
    """Find the columns of the sets of keys and of the targets, and say what was chosen."""
    names, chosen, several = schema.names, [], not isinstance(keys, str)
    alone = f"the variables are {names[0]} alone; keys and a target need two or more"
    require(len(names) > 1, alone)
    if not isinstance(keys, Collection) or any(isinstance(one, str) for one in keys):
        keys = [keys if several else [keys]]
    found = [tuple(schema.positions(known, "keys")) for known in keys]
    if not targets:
        free = [name for k, name in enumerate(names) if not any(k in at for at in found)]
        require(free, "keys are all variables, in one set or another; name the target")
        targets = free[-1:]
        chosen.append(f"No target was given: {free[-1]}, the last that is no key.")
    targets = [targets] if isinstance(targets, str) else targets
    wanted = tuple(schema.positions(targets, "target"))
    for at in found:
        again = shown(names[k] for k in wanted if k in at)
        told = f"keys has the set {','.join(names[k] for k in at)}, with the target {again} in it"
        require(not again, told)
    if not found:
        found = [tuple(k for k in range(len(names)) if k != wanted[0])]
        chosen.append(f"No keys were given: all {len(names) - 1} variables but the target.")
    return found, wanted, chosen
