"""Read and check an original table and its releases: the only place where input is checked."""

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
from srlib.assessment.files import Files
from srlib.assessment.ratings import MIN_RECORDS_JUDGED, Z_CERTAIN
from srlib.checks import duplicates, positive, printable, quoted, require
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
    """A table as codes from 0, (n, p), and the exact numbers of binned columns, NaN where missing.

    `lines` are the lines of a file where its records begin. `left_out` are the columns
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

    def texts(self, schema: Schema | None, leave_out: Collection[str]) -> UncodedTable:
        """Return the variables as text, checked against the declared schema."""
        table = self.table
        if isinstance(table, str | Path):
            return read_uncoded(table, schema, leave_out=leave_out)
        require(
            isinstance(table, Microdata | pd.DataFrame),
            f"{self.name} is of type {type(table).__name__}; "
            "it must be a DataFrame, Microdata, or the path of a file",
        )
        notes = tuple[str, ...]()
        if isinstance(table, Microdata):
            frame = table.to_frame(labels=False)
            schema = schema or table.schema
            notes = table.notes
        else:
            frame = table.rename(columns=str)
        known, left_out = exclude_columns(schema, leave_out)
        with self.named():
            again = duplicates(frame)
            require(not again, f"duplicate column names {quoted(again)}")
            check_width(frame.shape[1])
            if known:
                known.check_columns(list(frame))
            apart = {name: frame[name] for name in frame if name in left_out}
            frame, more = harmonize_notation(
                frame[[name for name in frame if name not in apart]], known
            )
        if apart:
            notes += (f"Columns left out: {quoted(apart)}.",)
        return UncodedTable(frame, known, (*notes, *more), apart)


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
    _check_present(complete, dropped, keys=keys, target=target, within=within, by=by)

    key_sets, targets, role_notes = _resolve_roles(complete, keys or (), target)
    role_notes += _note_numeric_keys(complete, key_sets)
    distances = _resolve_distances(complete, within or {}, key_sets[0] if keys else ())
    files, size_notes, file_notes = _encode_all(
        sources, texts, complete, distances, excluded
    )
    choices = [
        *schema_notes,
        *_note_missing_targets(complete, files[0], targets),
        *role_notes,
    ]
    synthesizers: dict[str, list[CodedTable]] = {}
    for source, file in zip(sources, files, strict=True):
        if source.synthesizer:
            synthesizers.setdefault(source.synthesizer, []).append(file)
    return Tables(
        schema=complete,
        original=files[0],
        synthesizers=synthesizers,
        keys=tuple(key_sets),
        targets=targets,
        all_keys=not keys,
        holdout=None if sources[-1].synthesizer else files[-1],
        by=complete.positions([by], "by")[0] if by else None,
        within=distances,
        notes=(*notes, *size_notes, *choices),
        choices=(*notes, *file_notes, *choices),
    )


def _check_arguments(schema: Any, within: Any, leave_out: Any) -> None:
    """Refuse arguments of a wrong type."""
    if not isinstance(schema, Schema | str | Path | None):
        raise ValueError(
            f"schema is of type {type(schema).__name__}; it must be a Schema or the path of a file"
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
        f"Numeric keys {numeric}: matched on their exact values for identity disclosure, "
        "and binned for everything else."
    ]


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
    sources: Sequence[_Source],
    texts: Sequence[UncodedTable],
    schema: Schema,
    distances: Collection[int],
    excluded: Collection[str],
) -> tuple[list[CodedTable], list[str], list[str]]:
    """Encode all tables, the original first, and check releases and holdout against it.

    Returns
    -------
    files, size_notes, file_notes
        The tables; notes on the size of each with its further notes; and the latter
        alone.
    """
    files: list[CodedTable] = []
    size_notes: list[str] = []
    file_notes: list[str] = []
    for source, text in zip(sources, texts, strict=True):
        with source.named():
            file, size, further = _encode(text, schema, distances, excluded)
            if source.synthesizer:
                _check_synthetic(schema, files[0].codes, file.codes)
            elif files:
                _check_holdout(schema, files[0].codes, file.codes)
        name = source.name
        if not source.synthesizer and isinstance(source.table, str | Path):
            name = printable(Path(str(source.table)).name)
        named = [f"{name}: {note}" for note in further]
        size_notes += [f"{name}: {size}", *named]
        file_notes += named
        files.append(file)
    return files, size_notes, file_notes


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
                f"{variable.name} is missing or not applicable for {n_missing:,} of {n:,} people; "
                "they are not counted."
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
            require(
                name not in dropped,
                f"{argument} names {name!r}, which {dropped.get(name)}; "
                f"it cannot {_ROLES[argument]}. Variables available: {quoted(schema.names)}",
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
    found, notes = list[_Source](), list[str]()
    if not isinstance(released, Sequence | Mapping) or isinstance(released, str):
        released = [released]
    if not isinstance(released, Mapping):
        each = enumerate(released, start=1)
        paths = [
            Path(z if isinstance(z, str | Path) else f"release {i}") for i, z in each
        ]
        names = [printable(path.name or path.resolve().name) for path in paths]
        # Names that occur twice get their folders.
        if duplicates(names):
            names = [printable(path) for path in paths]
        released = dict(zip(names, released, strict=True))
    require(released, "released is empty; it must contain at least one table")
    for synthesizer, given in released.items():
        tables: Mapping[str, Any] = {synthesizer: given}
        if isinstance(given, str | Path) and Path(given).is_dir():
            files = [
                path for path in sorted(Path(given).iterdir()) if path.name[0] != "."
            ]
            tables = {f"{synthesizer}/{printable(file.name)}": file for file in files}
            notes.append(
                f"{synthesizer}: a folder of {len(files)} releases, judged together."
            )
        elif isinstance(given, Sequence) and not isinstance(given, str):
            tables = {
                f"{synthesizer} {i}": table for i, table in enumerate(given, start=1)
            }
        require(
            tables, f"{synthesizer} contains no releases; it must contain at least one"
        )
        found += [_Source(table, name, synthesizer) for name, table in tables.items()]
    return found, notes


def _read(
    sources: Sequence[_Source], known: Schema | None, leave_out: Collection[str]
) -> tuple[Schema, list[UncodedTable], list[str]]:
    """Return the schema of all tables, their texts, and a sentence on each undeclared choice."""
    texts, notes = list[UncodedTable](), list[str]()
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
        notes.append("No schema given; levels are taken from the original.")
        if known.leave_out:
            notes.append(
                "Columns dropped, with the same value in every record of the original, or none: "
                f"{quoted(known.leave_out)}."
            )
    schema, more = add_missing_levels(schema, *(text.frame for text in texts))
    return schema, texts, [*notes, *more]


def _encode(
    texts: UncodedTable,
    schema: Schema,
    distances: Collection[int],
    wished: Collection[str],
) -> tuple[CodedTable, str, list[str]]:
    """Return a table of at least two records as codes, the number of records, and notes.

    Columns left out by the argument are kept as text; those left out by the schema are
    not.
    """
    codes, kept = schema.encode_complete(texts.frame, drop_missing=False)
    n, numbers = len(codes), {}
    require(n > 1, f"the table has {n} record{'s' * (n != 1)}; it needs 2 or more")
    for at, variable in enumerate(schema.variables):
        if variable.cut_points:
            ids, values = factorize_texts(texts.frame[variable.name][kept])
            numbers[at] = np.array([*variable.numbers_of(values), np.nan])[ids]
            require(
                at not in distances or not np.isnan(numbers[at]).all(),
                f"within names {variable.name!r}, which has no numbers; "
                "its values must not be binned already",
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


def _check_synthetic(schema: Schema, original: Codes, released: Codes) -> None:
    """Refuse a release in which some variables equal the original row by row and others differ."""
    if len(original) != len(released) or len(original) < MIN_RECORDS_JUDGED:
        return
    same = (original == released).all(axis=0)
    names = np.array(schema.names, object)
    all_or_none = same.all() or not same.any()
    require(
        all_or_none
        or aligned_rows(original[:, same], released[:, same])[2] < 2 * Z_CERTAIN,
        f"the values of {quoted(names[same])} equal the original row by row, and only "
        f"{quoted(names[~same])} differ; the assessment is for fully synthetic data: "
        "synthesize every variable, or use other measures",
    )


def _check_holdout(schema: Schema, original: Codes, holdout: Codes) -> None:
    """Refuse a holdout that contains people of the original beyond doubt."""
    found = copies(Files(original, holdout, schema.n_levels.tolist()))
    copied_uniques = found.rows["copied uniques"]
    share = percent(1.0 if found.same_table else copied_uniques["estimate"], 1)
    require(
        not found.same_table and not copied_uniques["z_permutation"] >= 2 * Z_CERTAIN,
        f"an estimated {share} of the {copied_uniques['n']:,} sample uniques of the original are "
        "in it; the holdout must be people who were not used to fit the synthesizer",
    )


def _resolve_roles(
    schema: Schema, keys: Any, targets: Names
) -> tuple[list[tuple[int, ...]], tuple[int, ...], list[str]]:
    """Return the columns of the sets of keys and of the targets, and notes on what was chosen."""
    names, chosen, several = schema.names, [], not isinstance(keys, str)
    require(
        len(names) > 1,
        f"{names[0]!r} is the only variable; keys and a target need at least two",
    )
    if not isinstance(keys, Collection) or any(isinstance(one, str) for one in keys):
        keys = [keys if several else [keys]]
    found = [tuple(schema.positions(known, "keys")) for known in keys]
    if not targets:
        free = [
            name for k, name in enumerate(names) if not any(k in at for at in found)
        ]
        require(free, "keys name all variables; target must be given")
        targets = free[-1:]
        chosen.append(f"No target given; using {free[-1]!r}, the last non-key column.")
    targets = [targets] if isinstance(targets, str) else targets
    wanted = tuple(schema.positions(targets, "target"))
    for at in found:
        again = quoted(names[k] for k in wanted if k in at)
        require(
            not again,
            f"keys has the set {','.join(names[k] for k in at)}, which contains the target "
            f"{again}; a target cannot be a key",
        )
    if not found:
        found = [tuple(k for k in range(len(names)) if k != wanted[0])]
        chosen.append(
            f"No keys given; using every variable except the target ({len(names) - 1})."
        )
    return found, wanted, chosen
