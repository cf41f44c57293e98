"""Read and check an original and its releases: input is checked nowhere else."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from srlib.arrays import Floats, Ints
from srlib.assessment.copies import aligned_rows, copies
from srlib.assessment.files import Files
from srlib.assessment.ratings import MIN_RECORDS_JUDGED, Z_CERTAIN
from srlib.checks import duplicates, positive, printable, quoted
from srlib.data.codes import MISSING_TEXTS, Codes, factorize_texts, strip_zeros
from srlib.data.infer import (
    add_missing_levels,
    add_unseen_levels,
    bin_numbers,
    infer_schema,
)
from srlib.data.microdata import (
    SchemaSource,
    UncodedTable,
    check_leave_out,
    exclude_columns,
    load_schema,
    read_uncoded,
)
from srlib.data.notation import harmonize_notation
from srlib.data.schema import Microdata, Schema
from srlib.data.size_limits import check_width
from srlib.display import percent

# Records: a DataFrame of categorical, text or number columns, microdata, or a file's
# path.
type Table = pd.DataFrame | Microdata | str | Path
# Tables, or folders or named sequences of them: the releases of one synthesizer.
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
type Names = str | Sequence[str]


@dataclass(frozen=True)
class CodedTable:
    """A table as codes from 0, (n, p), and the exact numbers of its binned columns.

    Numbers are NaN where missing. `lines` are the lines of a file where its records
    begin. `left_out` are the columns
    that a user or a schema leaves out, as text of the same records, NA where missing.
    """

    codes: Codes
    numbers: Mapping[int, Floats] = field(default_factory=dict)
    lines: Ints = field(default_factory=lambda: np.arange(0))
    left_out: Mapping[str, pd.Series] = field(default_factory=dict)

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

    def texts(
        self,
        schema: Schema | None,
        leave_out: Collection[str],
    ) -> UncodedTable:
        """Return the variables as text, checked against the declared schema."""
        table = self.table
        if isinstance(table, str | Path):
            return read_uncoded(table, schema, leave_out=leave_out)
        if isinstance(table, Microdata):
            frame = table.to_frame(labels=False)
            schema = schema or table.schema
            notes = table.notes
        elif isinstance(table, pd.DataFrame):
            frame = table.rename(columns=str)
            notes = ()
        else:
            raise ValueError(
                f"{self.name} is of type {type(table).__name__}; "
                "it must be a DataFrame, Microdata, or the path of a file"
            )
        known, excluded = exclude_columns(schema, leave_out)
        with self.named():
            if repeated := duplicates(frame):
                raise ValueError(f"duplicate column names {quoted(repeated)}")
            check_width(frame.shape[1])
            if known:
                known.check_columns(list(frame))
            left_out = {name: frame[name] for name in frame if name in excluded}
            kept = frame[[name for name in frame if name not in left_out]]
            kept, notation_notes = harmonize_notation(kept, known)
        if left_out:
            notes += (f"Columns left out: {quoted(left_out)}.",)
        return UncodedTable(kept, known, (*notes, *notation_notes), left_out)


class Tables(NamedTuple):
    """All tables, coded alike, and the questions that are asked of them.

    `synthesizers` has the releases by the name under which they are judged. All else is
    given by column numbers: sets of `keys` and `targets`, of which the first decide,
    `by` of groups, and the distances `within` which numbers are disclosed. With
    `all_keys` the keys are all variables except the target. `notes` are sentences on
    what was read, recognized, dropped or chosen; `choices` are the notes on what was
    done without being asked for.
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

    def files(self, released: CodedTable) -> Files:
        """Return the original, one release and, if there is one, the holdout."""
        tables = [self.original, released]
        holdout = None
        if self.holdout is not None:
            tables.append(self.holdout)
            holdout = self.holdout.codes
        return Files(
            self.original.codes,
            released.codes,
            self.schema.n_levels.tolist(),
            holdout,
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
    leave_out = [leave_out] if isinstance(leave_out, str) else leave_out
    _check_arguments(schema, within, leave_out)
    releases, notes = _list_sources(released)
    sources = [_Source(original, "original"), *releases]
    if holdout is not None and not (isinstance(holdout, str) and not holdout):
        sources.append(_Source(holdout, "holdout"))

    declared, excluded = exclude_columns(load_schema(schema), leave_out)
    complete, texts, schema_notes = _read(sources, declared, excluded)
    check_leave_out(leave_out, texts)
    dropped = dict.fromkeys(
        complete.leave_out,
        "has the same value in every record, or none, and was dropped",
    )
    dropped |= dict.fromkeys(excluded, "is among the columns to leave out")
    _check_present(
        complete,
        dropped,
        keys=keys,
        target=target,
        within=within,
        by=by,
    )

    roles = _resolve_roles(complete, keys or (), target)
    distances = _resolve_distances(
        complete, within or {}, roles.keys[0] if keys else ()
    )
    encoded = _encode_all(sources, texts, complete, distances, excluded)
    choices = [
        *schema_notes,
        *_note_missing_targets(complete, encoded.tables[0], roles.targets),
        *roles.notes,
        *_note_numeric_keys(complete, roles.keys),
    ]
    return Tables(
        schema=complete,
        original=encoded.tables[0],
        synthesizers=_by_synthesizer(sources, encoded.tables),
        keys=roles.keys,
        targets=roles.targets,
        all_keys=not keys,
        holdout=None if sources[-1].synthesizer else encoded.tables[-1],
        by=complete.positions([by], "by")[0] if by else None,
        within=distances,
        notes=(*notes, *encoded.size_notes, *choices),
        choices=(*notes, *encoded.notes, *choices),
    )


def _by_synthesizer(
    sources: Sequence[_Source], tables: Sequence[CodedTable]
) -> dict[str, list[CodedTable]]:
    """Return the releases of each synthesizer."""
    synthesizers: dict[str, list[CodedTable]] = {}
    for source, table in zip(sources, tables, strict=True):
        if source.synthesizer:
            synthesizers.setdefault(source.synthesizer, []).append(table)
    return synthesizers


def _check_arguments(
    schema: Any,
    within: Any,
    leave_out: Any,
) -> None:
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


def _note_numeric_keys(
    schema: Schema, key_sets: Sequence[tuple[int, ...]]
) -> list[str]:
    """Return a note on the keys that are numbers, if there are any."""
    keys = [schema.variables[k] for k in sorted({*chain(*key_sets)})]
    numeric = quoted(variable.name for variable in keys if variable.cut_points)
    if not numeric:
        return []
    return [
        f"Numeric keys {numeric}: matched on their exact values for identity "
        "disclosure, and binned for everything else."
    ]


def _resolve_distances(
    schema: Schema,
    within: Mapping[str, float],
    keys: Sequence[int],
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


class _Encoded(NamedTuple):
    """All tables as codes, the original first.

    `size_notes` are notes on the size of each table with its further notes, and `notes`
    the latter alone.
    """

    tables: list[CodedTable]
    size_notes: list[str]
    notes: list[str]


def _encode_all(
    sources: Sequence[_Source],
    texts: Sequence[UncodedTable],
    schema: Schema,
    distances: Collection[int],
    excluded: Collection[str],
) -> _Encoded:
    """Encode all tables, and check releases and holdout against the original."""
    encoded = _Encoded([], [], [])
    for source, text in zip(sources, texts, strict=True):
        with source.named():
            table, size, further = _encode(text, schema, distances, excluded)
            if source.synthesizer:
                _check_synthetic(schema, encoded.tables[0].codes, table.codes)
            elif encoded.tables:
                _check_holdout(schema, encoded.tables[0].codes, table.codes)
        name = source.name
        if not source.synthesizer and isinstance(source.table, str | Path):
            name = printable(Path(str(source.table)).name)
        notes = [f"{name}: {note}" for note in further]
        encoded.size_notes.extend([f"{name}: {size}", *notes])
        encoded.notes.extend(notes)
        encoded.tables.append(table)
    return encoded


def _note_missing_targets(
    schema: Schema, original: CodedTable, targets: Sequence[int]
) -> list[str]:
    """Return notes on targets without a value; refuse a target that nobody has."""
    notes = []
    n = len(original)
    for target in targets:
        variable = schema.variables[target]
        n_missing = int(
            np.isin(original.codes[:, target], variable.codes_without_value).sum()
        )
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


def _check_present(
    schema: Schema, dropped: Mapping[str, str], **arguments: Any
) -> None:
    """Refuse arguments that name a dropped column, with the reason."""
    for argument, names in arguments.items():
        for name in _texts_in(names):
            if name in dropped:
                raise ValueError(
                    f"{argument} names {name!r}, which {dropped[name]}; it cannot "
                    f"{_ROLES[argument]}. Variables available: {quoted(schema.names)}"
                )


def _texts_in(names: Any) -> Iterator[str]:
    """Yield the texts of nested collections."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, Collection):
        for one in names:
            yield from _texts_in(one)


def _list_sources(released: Releases) -> tuple[list[_Source], list[str]]:
    """Return all releases, and a sentence on each folder."""
    if not isinstance(released, Mapping):
        if isinstance(released, str) or not isinstance(released, Sequence):
            released = [released]
        released = _name_tables(released)
    if not released:
        raise ValueError("released is empty; it must contain at least one table")
    sources = []
    notes = []
    for synthesizer, given in released.items():
        tables = _tables_of(synthesizer, given)
        if not tables:
            raise ValueError(
                f"{synthesizer} contains no releases; it must contain at least one"
            )
        if isinstance(given, str | Path) and Path(given).is_dir():
            notes.append(
                f"{synthesizer}: a folder of {len(tables)} releases, judged together."
            )
        sources += [_Source(table, name, synthesizer) for name, table in tables.items()]
    return sources, notes


def _name_tables(tables: Sequence[Table]) -> dict[str, Table]:
    """Name tables by their files, with their folders if names occur twice."""
    paths = [
        Path(table if isinstance(table, str | Path) else f"release {i}")
        for i, table in enumerate(tables, start=1)
    ]
    names = [printable(path.name or path.resolve().name) for path in paths]
    if duplicates(names):
        names = [printable(path) for path in paths]
    return dict(zip(names, tables, strict=True))


def _tables_of(synthesizer: str, given: Any) -> Mapping[str, Table]:
    """Return the releases of a synthesizer by name: one, a folder, or a sequence."""
    if isinstance(given, str | Path) and Path(given).is_dir():
        files = [path for path in sorted(Path(given).iterdir()) if path.name[0] != "."]
        return {f"{synthesizer}/{printable(file.name)}": file for file in files}
    if isinstance(given, Sequence) and not isinstance(given, str):
        return {f"{synthesizer} {i}": table for i, table in enumerate(given, start=1)}
    return {synthesizer: given}


def _read(
    sources: Sequence[_Source],
    known: Schema | None,
    leave_out: Collection[str],
) -> tuple[Schema, list[UncodedTable], list[str]]:
    """Return the schema of all tables, their texts, and notes on what was chosen."""
    texts: list[UncodedTable] = []
    notes: list[str] = []
    for source in sources:
        text = source.texts(known, leave_out)
        further: Sequence[str] = ()
        with source.named():
            if not texts:
                known = text.schema or infer_schema(text.frame)
                schema, further = bin_numbers(known, text.frame)
            elif texts[0].schema is None:
                schema, further = add_unseen_levels(schema, text.frame)
        texts.append(text)
        notes += further
    if known and texts[0].schema is None:
        notes.append("No schema given; levels are taken from the original.")
        if known.leave_out:
            notes.append(
                "Columns dropped, with the same value in every record of the original, "
                f"or none: {quoted(known.leave_out)}."
            )
    schema, missing_notes = add_missing_levels(schema, *(text.frame for text in texts))
    return schema, texts, [*notes, *missing_notes]


def _encode(
    texts: UncodedTable,
    schema: Schema,
    distances: Collection[int],
    wished: Collection[str],
) -> tuple[CodedTable, str, list[str]]:
    """Return a table as codes, the number of its records, and notes.

    Columns left out by the argument are kept as text; those left out by the schema are
    not.
    """
    codes, kept = schema.encode_complete(texts.frame, drop_missing=False)
    n = len(codes)
    if n < 2:
        records = "1 record" if n else "0 records"
        raise ValueError(f"the table has {records}; it needs 2 or more")
    numbers = {}
    for column, variable in enumerate(schema.variables):
        if variable.cut_points:
            ids, values = factorize_texts(texts.frame[variable.name][kept])
            numbers[column] = np.array([*variable.numbers_of(values), np.nan])[ids]
            if column in distances and np.isnan(numbers[column]).all():
                raise ValueError(
                    f"within names {variable.name!r}, which has no numbers; "
                    "its values must not be binned already"
                )
    size = f"{n:,}" if kept.all() else f"{n:,} complete of {len(kept):,}"
    is_file = texts.frame.index.name is not None  # "line" or "record"
    lines = np.asarray(texts.frame.index if is_file else np.arange(1, len(kept) + 1))
    left_out = {
        name: _as_text(column[kept])
        for name, column in texts.left_out.items()
        if name in wished
    }
    notes = [*texts.notes, *schema.note_respellings(texts.frame)]
    return CodedTable(codes, numbers, lines[kept], left_out), f"{size} records.", notes


def _as_text(column: pd.Series) -> pd.Series:
    """Return the values of a column as text, NA where they are missing."""
    ids, texts = factorize_texts(column)
    values = [None if text in MISSING_TEXTS else strip_zeros(text) for text in texts]
    return pd.Series(np.array([*values, None], object)[ids], dtype="string")


def _check_synthetic(
    schema: Schema,
    original: Codes,
    released: Codes,
) -> None:
    """Refuse a release that keeps some variables of the original row by row."""
    if len(original) != len(released) or len(original) < MIN_RECORDS_JUDGED:
        return
    is_same = (original == released).all(axis=0)
    if is_same.all() or not is_same.any():
        return
    *_, z = aligned_rows(original[:, is_same], released[:, is_same])
    if z >= 2 * Z_CERTAIN:
        names = np.array(schema.names, object)
        raise ValueError(
            f"the values of {quoted(names[is_same])} equal the original row by row, "
            f"and only {quoted(names[~is_same])} differ; the assessment is for fully "
            "synthetic data: synthesize every variable, or use other measures"
        )


def _check_holdout(
    schema: Schema,
    original: Codes,
    holdout: Codes,
) -> None:
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


class _Roles(NamedTuple):
    """The columns of keys and targets, and notes on what was chosen."""

    keys: tuple[tuple[int, ...], ...]
    targets: tuple[int, ...]
    notes: list[str]


def _resolve_roles(
    schema: Schema,
    keys: Any,
    targets: Names,
) -> _Roles:
    """Find the columns of keys and targets, and choose those that are not given."""
    names = schema.names
    if len(names) < 2:
        raise ValueError(
            f"{names[0]!r} is the only variable; keys and a target need at least two"
        )
    notes = []
    key_sets = tuple(tuple(schema.positions(k, "keys")) for k in _key_sets(keys))
    if not targets:
        targets = _last_free(names, key_sets)
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
    return _Roles(key_sets, wanted, notes)


def _last_free(names: Sequence[str], key_sets: Sequence[Sequence[int]]) -> str:
    """Return the last variable that is no key."""
    used = {*chain(*key_sets)}
    free = [name for k, name in enumerate(names) if k not in used]
    if not free:
        raise ValueError("keys name all variables; target must be given")
    return free[-1]


def _key_sets(keys: Any) -> Collection[Any]:
    """Return the sets of keys, of which a name, or several, make one."""
    if isinstance(keys, str):
        return [[keys]]
    if not isinstance(keys, Collection) or any(isinstance(key, str) for key in keys):
        return [keys]
    return keys
