"""Read and check an original and its releases: input is checked nowhere else."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from srlib.arrays import Floats, Ints
from srlib.assessment.copies import copies, row_order
from srlib.assessment.files import Files
from srlib.assessment.ratings import MIN_RECORDS_JUDGED, Z_CERTAIN
from srlib.checks import duplicates, positive, printable, quoted
from srlib.data import infer
from srlib.data.codes import Codes, factorize_texts
from srlib.data.microdata import (
    SchemaSource,
    UncodedTable,
    check_leave_out,
    exclude_columns,
    load_schema,
    read_uncoded,
)
from srlib.data.notation import harmonize_notation
from srlib.data.schema import Frame, Microdata, Schema, as_pandas
from srlib.data.size_limits import check_width
from srlib.display import percent

# Records: a table of categorical, text or number columns, microdata, or a file's path.
type Table = Frame | Microdata | str | Path
# Tables, or folders or named sequences of them: the releases of one synthesizer.
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
type Names = str | Sequence[str]
type KeySets = Sequence[tuple[int, ...]]  # of column numbers


@dataclass(frozen=True)
class CodedTable:
    """A table as codes from 0, (n, p), and the exact numbers of its binned columns.

    Numbers are NaN where missing. `lines` are the lines of a file where its records
    begin. `left_out` are the columns of the same records that a user or a schema leaves
    out, as read.
    """

    codes: Codes
    numbers: Mapping[int, Floats]
    lines: Ints
    left_out: Mapping[str, pd.Series]

    def __len__(self) -> int:
        return len(self.codes)


class _Source(NamedTuple):
    """A table as given, its name, and the synthesizer that made it."""

    table: Table
    name: str
    synthesizer: str = ""

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the table in errors, by its path if it has one."""
        try:
            yield
        except ValueError as error:
            place = self.table if isinstance(self.table, str | Path) else self.name
            raise ValueError(f"{printable(place)}: {error}") from None

    def texts(self, schema: Schema | None, leave_out: Collection[str]) -> UncodedTable:
        """Return the variables as text, checked against the declared schema."""
        table = self.table
        if isinstance(table, str | Path):
            return read_uncoded(table, schema, leave_out=leave_out)
        notes: list[str] = []
        if isinstance(table, Microdata):
            schema = schema or table.schema
            notes += table.notes
            table = table.to_frame(labels=False)
        known, excluded = exclude_columns(schema, leave_out)
        with self.named():
            frame = as_pandas(table).rename(columns=str)
            if repeated := duplicates(frame):
                raise ValueError(f"duplicate column names {quoted(repeated)}")
            check_width(frame.shape[1])
            if known:
                known.check_columns(frame)
            left_out = {name: frame[name] for name in frame if name in excluded}
            kept, notation_notes = harmonize_notation(
                frame.drop(columns=list(left_out)), known
            )
        if left_out:
            notes.append(f"Columns left out: {quoted(left_out)}.")
        return UncodedTable(kept, known, (*notes, *notation_notes), left_out)


@dataclass(frozen=True)
class _RoleColumns:
    """The columns that are keys, targets and groups, by number.

    Of the sets of `keys` and of the `targets` the first decide. With `all_keys` the
    keys are all variables except the target. Numbers of the variables `within` count as
    disclosed up to a distance, and `by` has the groups.
    """

    keys: KeySets
    targets: Sequence[int]
    all_keys: bool
    within: Mapping[int, float]
    by: int | None


@dataclass(frozen=True)
class Tables(_RoleColumns):
    """All tables, coded alike, and the questions that are asked of them.

    `synthesizers` has the releases by the name under which they are judged. `notes` are
    sentences on what was read, recognized, dropped or chosen; `choices` are the notes
    on what was done without being asked for.
    """

    schema: Schema
    original: CodedTable
    synthesizers: Mapping[str, Sequence[CodedTable]]
    holdout: CodedTable | None
    notes: Sequence[str]
    choices: Sequence[str]

    def files(self, released: CodedTable) -> Files:
        """Return the original, one release and, if there is one, the holdout."""
        tables = list(filter(None, [self.original, released, self.holdout]))
        return Files(
            self.original.codes,
            released.codes,
            self.schema.n_levels.tolist(),
            self.holdout.codes if self.holdout else None,
            {k: [table.numbers[k] for table in tables] for k in self.original.numbers},
        )


def read_inputs(
    original: Table,
    released: Releases,
    *,
    keys: Names | Sequence[Names] = (),
    target: Names = (),
    schema: SchemaSource = None,
    within: Mapping[str, float] | None = None,
    by: str = "",
    holdout: Table | None = None,
    leave_out: Names = (),
) -> Tables:
    """Read and check an original and its releases; the arguments are those of `assess`.

    Notebooks and the command give empty texts for what is not given.

    Raises
    ------
    ValueError
        If a table or an argument does not fit: which one, its value, and what is
        allowed.
    """
    _check_arguments(schema, within, leave_out)
    sources, folder_notes = _list_sources(original, released, holdout)
    read = _read(sources, schema, leave_out)
    roles, role_notes = _resolve_roles(read, keys, target, within, by)
    tables, sizes, table_notes = _encode_all(read, roles.within)
    coded_original, *coded_holdout = tables.pop("")
    notes = (
        *folder_notes,
        *table_notes,
        *read.notes,
        *_note_missing_targets(read.schema, coded_original.codes, roles.targets),
        *role_notes,
    )
    return Tables(
        **vars(roles),
        schema=read.schema,
        original=coded_original,
        synthesizers=tables,
        holdout=coded_holdout[0] if coded_holdout else None,
        notes=notes,
        choices=tuple(note for note in notes if note not in sizes),
    )


class _Read(NamedTuple):
    """All tables as text, the original first and the holdout last, and their schema.

    `excluded` are the columns that the user or a declared schema leaves out.
    """

    sources: Sequence[_Source]
    texts: Sequence[UncodedTable]
    schema: Schema
    excluded: Collection[str]
    notes: Sequence[str]


def _check_arguments(schema: Any, within: Any, leave_out: Any) -> None:
    """Refuse arguments of a wrong type."""
    if not isinstance(schema, Schema | str | Path | None):
        raise ValueError(
            f"schema is of type {type(schema).__name__}; "
            "it must be a Schema or the path of a file"
        )
    if not isinstance(within, Mapping | None):
        raise ValueError(
            f"within is {within!r}; it must map names of variables to distances"
        )
    if not isinstance(leave_out, Collection):
        raise ValueError(f"leave_out is {leave_out!r}; it must be a list of names")


def _resolve_distances(
    schema: Schema, within: Mapping[str, float], keys: Sequence[int]
) -> dict[int, float]:
    """Return the distances by column number, of numeric variables that are no keys."""
    distances = {}
    for name, distance in within.items():
        (column,) = schema.positions([name], "within")
        if column in keys:
            raise ValueError(
                f"within names {name!r}, which is a key; it must name other variables"
            )
        if not schema.variables[column].cut_points:
            raise ValueError(
                f"within names {name!r}, which is not numeric; "
                "give it bins or cut_points in a schema"
            )
        positive(**{f"within of {name}": distance})
        distances[column] = float(distance)
    return distances


def _encode_all(
    read: _Read, distances: Collection[int]
) -> tuple[dict[str, list[CodedTable]], list[str], list[str]]:
    """Return all tables as codes, and notes on their sizes, alone and with all others.

    Tables are given by synthesizer, the original and the holdout without a name.
    Releases and the holdout are checked against the original.
    """
    tables: dict[str, list[CodedTable]] = {}
    sizes = []
    notes = []
    for source, text in zip(read.sources, read.texts, strict=True):
        with source.named():
            table = _encode(text, read.schema, distances)
            if tables:
                check = _check_synthetic if source.synthesizer else _check_holdout
                check(read.schema, tables[""][0].codes, table.codes)
        tables.setdefault(source.synthesizer, []).append(table)
        n = f"{len(table):,}"
        if len(table) < len(text.frame):
            n += f" complete of {len(text.frame):,}"
        sizes.append(f"{source.name}: {n} records.")
        further = [*text.notes, *read.schema.note_respellings(text.frame)]
        notes += [sizes[-1], *(f"{source.name}: {note}" for note in further)]
    return tables, sizes, notes


def _note_missing_targets(
    schema: Schema, original: Codes, targets: Sequence[int]
) -> list[str]:
    """Return notes on targets without a value; refuse a target that nobody has."""
    notes = []
    n = len(original)
    for target in targets:
        variable = schema.variables[target]
        n_missing = np.isin(original[:, target], variable.codes_without_value).sum()
        if n_missing == n:
            raise ValueError(
                f"target is {variable.name!r}, which is missing or not applicable "
                "in every record of the original"
            )
        if n_missing:
            notes.append(
                f"{variable.name} is missing or not applicable for {n_missing:,} of "
                f"{n:,} people; they are not counted."
            )
    return notes


# What a variable is to be, by the argument that names it.
_ROLES = {
    "keys": "be a key",
    "target": "be the target",
    "within": "have a distance",
    "by": "define groups",
}


def _refuse_dropped(read: _Read, **arguments: Any) -> None:
    """Refuse arguments that name a dropped column, with the reason."""
    dropped = dict.fromkeys(
        read.schema.leave_out,
        "has the same value in every record, or none, and was dropped",
    )
    dropped |= dict.fromkeys(read.excluded, "is among the columns to leave out")
    for argument, names in arguments.items():
        for name in _texts_in(names):
            if name in dropped:
                raise ValueError(
                    f"{argument} names {name!r}, which {dropped[name]}; "
                    f"it cannot {_ROLES[argument]}. "
                    f"Variables available: {quoted(read.schema.names)}"
                )


def _texts_in(names: Any) -> Iterator[str]:
    """Yield the texts of nested collections."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, Collection):
        for one in names:
            yield from _texts_in(one)


def _list_sources(
    original: Table, released: Releases, holdout: Table | None
) -> tuple[list[_Source], list[str]]:
    """Return the original, all releases and the holdout, and a note on each folder."""
    by_synthesizer = _name_releases(released)
    if not by_synthesizer:
        raise ValueError("released is empty; it must contain at least one table")
    sources = [_Source(original, printable(_path(original, "original").name))]
    notes = []
    for synthesizer, given in by_synthesizer.items():
        tables = _tables_of(synthesizer, given)
        if not tables:
            raise ValueError(
                f"{synthesizer} contains no releases; it must contain at least one"
            )
        if isinstance(given, str | Path) and synthesizer not in tables:
            notes.append(
                f"{synthesizer}: a folder of {len(tables)} releases, judged together."
            )
        sources += [_Source(table, name, synthesizer) for name, table in tables.items()]
    if not isinstance(holdout, str | None) or holdout:
        sources.append(_Source(holdout, printable(_path(holdout, "holdout").name)))
    return sources, notes


def _name_releases(released: Releases) -> Mapping[str, Any]:
    """Name tables by their files, with their folders if names occur twice."""
    if isinstance(released, Mapping):
        return released
    if isinstance(released, str) or not isinstance(released, Sequence):
        released = [released]
    paths = [_path(table, f"release {i}") for i, table in enumerate(released, 1)]
    names = [printable(path.name or path.resolve().name) for path in paths]
    if duplicates(names):
        names = [printable(path) for path in paths]
    return dict(zip(names, released, strict=True))


def _tables_of(synthesizer: str, given: Any) -> Mapping[str, Table]:
    """Return the releases of a synthesizer by name: a folder, a sequence, or one."""
    if isinstance(given, str | Path) and Path(given).is_dir():
        paths = sorted(Path(given).glob("[!.]*"))
        return {f"{synthesizer}/{printable(path.name)}": path for path in paths}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return {f"{synthesizer} {i}": table for i, table in enumerate(given, 1)}
    return {synthesizer: given}


def _path(table: Table, name: str) -> Path:
    """Return the path of a table, or its name if it is no file."""
    return Path(table if isinstance(table, str | Path) else name)


def _read(sources: Sequence[_Source], schema: SchemaSource, leave_out: Names) -> _Read:
    """Read all tables as text, and complete or infer their schema."""
    leave_out = [leave_out] if isinstance(leave_out, str) else leave_out
    declared, excluded = exclude_columns(load_schema(schema), leave_out)
    first, *others = sources
    text = first.texts(declared, excluded)
    with first.named():
        known = text.schema or infer.infer_schema(text.frame)
        complete, notes = infer.bin_numbers(known, text.frame)
    is_open = text.schema is None or not known.n_levels.any()  # no levels declared
    texts = [text]
    for source in others:
        texts.append(source.texts(known, excluded))
        if is_open:
            with source.named():
                complete, unseen = infer.add_unseen_levels(complete, texts[-1].frame)
            notes += unseen
    check_leave_out(leave_out, texts)
    if text.schema is None:
        notes.append("No schema given; levels are taken from the original.")
        if known.leave_out:
            notes.append(
                "Columns dropped, with the same value in every record of the original, "
                f"or none: {quoted(known.leave_out)}."
            )
    frames = [text.frame for text in texts]
    complete, missing = infer.add_missing_levels(complete, *frames)
    notes += missing
    return _Read(sources, texts, complete, excluded, notes)


def _encode(
    text: UncodedTable, schema: Schema, distances: Collection[int]
) -> CodedTable:
    """Return a table as codes, with the numbers that these distances need."""
    codes, kept = schema.encode_complete(text.frame, drop_missing=False)
    n = len(codes)
    if n < 2:
        records = "1 record" if n else "0 records"
        raise ValueError(f"the table has {records}; it needs 2 or more")
    numbers = {}
    for column, variable in enumerate(schema.variables):
        if variable.cut_points:
            ids, values = factorize_texts(text.frame[variable.name][kept])
            numbers[column] = np.array([*variable.numbers_of(values), np.nan])[ids]
            if column in distances and np.isnan(numbers[column]).all():
                raise ValueError(
                    f"within names {variable.name!r}, which has no numbers; "
                    "its values must not be binned already"
                )
    is_file = text.frame.index.name is not None  # "line" or "record"
    lines = np.asarray(text.frame.index if is_file else np.arange(1, len(kept) + 1))
    left_out = {name: column[kept] for name, column in text.left_out.items()}
    return CodedTable(codes, numbers, lines[kept], left_out)


def _check_synthetic(schema: Schema, original: Codes, released: Codes) -> None:
    """Refuse a release that keeps some variables of the original row by row."""
    if len(original) != len(released) or len(original) < MIN_RECORDS_JUDGED:
        return
    is_same = (original == released).all(axis=0)
    if is_same.all() or not is_same.any():
        return
    if row_order(original[:, is_same], released[:, is_same])["z"] >= 2 * Z_CERTAIN:
        names = np.array(schema.names, object)
        raise ValueError(
            f"the values of {quoted(names[is_same])} equal the original row by row, "
            f"and only {quoted(names[~is_same])} differ; the assessment is for fully "
            "synthetic data: synthesize every variable, or use other measures"
        )


def _check_holdout(schema: Schema, original: Codes, holdout: Codes) -> None:
    """Refuse a holdout that contains people of the original beyond doubt."""
    found = copies(Files(original, holdout, schema.n_levels.tolist()))
    row = found.rows["copied uniques"]
    if found.same_table or row["z_permutation"] >= 2 * Z_CERTAIN:
        share = percent(1.0 if found.same_table else row["estimate"], 1)
        raise ValueError(
            f"an estimated {share} of the {row['n']:,} sample uniques of the original "
            "are in it; the holdout must be people who were not used to fit the "
            "synthesizer"
        )


def _resolve_roles(
    read: _Read, keys: Any, target: Names, within: Mapping[str, float] | None, by: str
) -> tuple[_RoleColumns, list[str]]:
    """Return the columns that the arguments name, and notes on what was chosen."""
    schema = read.schema
    _refuse_dropped(read, keys=keys, target=target, within=within, by=by)
    if len(schema.names) < 2:
        raise ValueError(
            f"{schema.names[0]!r} is the only variable; "
            "keys and a target need at least two"
        )
    key_sets, targets, notes = _find_keys_and_targets(schema, keys or (), target)
    roles = _RoleColumns(
        keys=key_sets,
        targets=targets,
        all_keys=not keys,
        within=_resolve_distances(schema, within or {}, key_sets[0] if keys else ()),
        by=schema.positions([by], "by")[0] if by else None,
    )
    all_keys = [schema.variables[k] for k in sorted({*chain(*key_sets)})]
    if numeric := [variable.name for variable in all_keys if variable.cut_points]:
        notes.append(
            f"Numeric keys {quoted(numeric)}: matched on their exact values for "
            "identity disclosure, and binned for everything else."
        )
    return roles, notes


def _find_keys_and_targets(
    schema: Schema, keys: Any, targets: Names
) -> tuple[KeySets, Sequence[int], list[str]]:
    """Find the columns of keys and targets, and choose those that are not given."""
    names = schema.names
    notes = []
    key_sets = tuple(tuple(schema.positions(k, "keys")) for k in _key_sets(keys))
    if not targets:
        used = {*chain(*key_sets)}
        free = [name for k, name in enumerate(names) if k not in used]
        if not free:
            raise ValueError("keys name all variables; target must be given")
        targets = free[-1]
        notes.append(f"No target given; using {targets!r}, the last non-key column.")
    targets = [targets] if isinstance(targets, str) else targets
    wanted = tuple(schema.positions(targets, "target"))
    for columns in key_sets:
        if common := [names[k] for k in wanted if k in columns]:
            raise ValueError(
                f"keys has the set {','.join(names[k] for k in columns)}, which "
                f"contains the target {quoted(common)}; a target cannot be a key"
            )
    if not key_sets:
        key_sets = (tuple(k for k in range(len(names)) if k != wanted[0]),)
        notes.append(
            f"No keys given; using every variable except the target ({len(names) - 1})."
        )
    return key_sets, wanted, notes


def _key_sets(keys: Any) -> Collection[Any]:
    """Return the sets of keys, of which a name, or several, make one."""
    if isinstance(keys, str):
        return [[keys]]
    if not isinstance(keys, Collection) or any(isinstance(key, str) for key in keys):
        return [keys]
    return keys
