"""An original table and its releases, taken in and checked: users' input is checked here alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.answers import CERTAIN, FEWEST
from srlib.assessment.copies import copies, rows_alike
from srlib.assessment.told import Floats
from srlib.data.codes import Codes
from srlib.data.declared import Declaration, with_missing, with_unseen
from srlib.data.files import tables_in
from srlib.data.microdata import Texts, declared, read_texts
from srlib.data.schema import Microdata, Schema, Variable, factor, shown
from srlib.display import percent

type Table = pd.DataFrame | Microdata | str | Path
"""Records: a DataFrame of categorical, text or number columns, microdata, or a file's path."""
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
"""Tables, or folders of them: the draws of one tool, as is a sequence under the tool's name."""
type Declared = Schema | Declaration | str | Path
"""Variables and levels, what is declared of them, its YAML file, or ``"acs"``."""
type Names = str | Sequence[str]


@dataclass(frozen=True)
class Numbers:
    """A variable's numbers, NaN where there is none, and the distance up to which they are told."""

    within: float
    original: Floats
    tools: Mapping[str, tuple[Floats, ...]]
    held_out: Floats | None = None


@dataclass(frozen=True)
class Tables:
    """All tables, coded alike, and what is asked of them.

    Attributes
    ----------
    schema : Schema
        Of all tables.
    original, held_out : (n, p), (h, p) int
        Codes from 0; of people of the same population who are not in the original, if given.
    tools : dict of str to tuple of (n*, p) int
        Releases that are judged together, by the name under which they are judged.
    keys : tuple of tuple of int
        Sets of columns that the intruder knows, one or more; the first decides.
    targets : tuple of int
        Columns that the intruder wants to know, one or more; the first decides.
    all_keys : bool
        Whether keys are all variables but the target, whichever that is.
    by : int, optional
        Column whose levels are told of apart.
    numbers : dict of int to Numbers
        By column, where a distance was named.
    lines : (n,) int
        Line of its file that each original record begins at.
    notes : tuple of str
        One sentence for all that was recognized, inferred, dropped or chosen.
    """

    schema: Schema
    original: Codes
    tools: Mapping[str, tuple[Codes, ...]]
    keys: tuple[tuple[int, ...], ...]
    targets: tuple[int, ...]
    all_keys: bool = False
    held_out: Codes | None = None
    by: int | None = None
    numbers: Mapping[int, Numbers] = field(default_factory=dict)
    lines: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    def numbers_of(
        self, column: int | None, tool: str, i: int
    ) -> tuple[Floats, Floats, Floats | None, float] | None:
        """Numbers of the original, a tool's i-th release and people held out, and the distance."""
        if column is None:
            return None
        one = self.numbers[column]
        return one.original, one.tools[tool][i], one.held_out, one.within


def take_in(
    original: Table, released: Releases, *, keys: Names | Sequence[Names] = (), target: Names = (),
    schema: Declared | None = None, within: Mapping[str, float] | None = None, by: str = "",
    holdout: Table | None = None,
) -> Tables:  # fmt: skip
    """Take in and check an original and its releases; arguments as of `report.assess`.

    Raises
    ------
    ValueError
        For the first that holds, in a sentence that names the table, what is wrong and what is
        right.
    """
    if _nothing(original):
        raise ValueError("original is empty; it must be a table or the path of its file")
    keys, target, within = keys or (), target or (), within or {}
    if not isinstance(within, Mapping):
        raise ValueError(f"within is {within!r}; it must give distances by names of variables")
    releases, notes = _listed(released)
    if not releases:
        raise ValueError("released is empty; it must have one table or more")
    tables = [(original, "original"), *((table, name) for table, name, _ in releases)]
    if holdout is not None and not _nothing(holdout):
        tables.append((holdout, "holdout"))
    for table, name in tables:
        _check_table(table, name)
    if not isinstance(schema, Schema | Declaration | str | Path | None):
        raise ValueError(
            f"schema is of type {type(schema).__name__}; it must be a Schema or a file"
        )
    for source in (*(table for table, _ in tables), None if schema == "acs" else schema):
        _check_file(source)
    of_people = declared(schema)
    first_texts = _texts(original, "original", of_people)
    known = first_texts.schema
    if known is None:
        with _telling(original, "original"):
            known = Declaration.recognize(first_texts.frame, typed=first_texts.typed)
    columns = [name for name in first_texts.frame.columns if str(name) in known.names]
    texts = [replace(first_texts, frame=first_texts.frame[columns])]
    texts += [_texts(*source, known) for source in tables[1:]]
    complete, found = _completed(known, tables, texts, first_texts.schema is None)
    taken = [_coded(*one, text, complete) for one, text in zip(tables, texts, strict=True)]
    coded, kept = [table for table, _ in taken], [rows for _, rows in taken]
    first, others = coded[0], coded[1 : 1 + len(releases)]
    codes = first.codes
    for (source, name), table in list(zip(tables, coded, strict=True))[1:]:
        found += _nothing_common(first, table, Path(_place(source, name)).name)
        with _telling(source, name):
            (_check_strangers if name == "holdout" else _check_synthetic)(first, table)
    if not isinstance(target, Collection):
        raise ValueError(f"target is {target!r}; it must be a name, or a list of names")
    roles = _roles(complete, _sets(keys), [target] if isinstance(target, str) else list(target))
    key_sets, targets, chosen = roles
    by_at = complete.positions([by], "by")[0] if by else None
    for at in targets:
        found += _valued(complete.variables[at], codes[:, at])
    tools: dict[str, list[int]] = {}
    for i, (_, _, tool) in enumerate(releases):
        tools.setdefault(tool, []).append(i)
    numbers = {}
    for name, distance in within.items():
        (at,) = complete.positions([name], "within")
        if at in key_sets[0] and any(_sets(keys)):
            raise ValueError(f"within names {name!r}, which is among the keys")
        columns = [text.frame[name][rows] for text, rows in zip(texts, kept, strict=True)]
        numbers[at] = _numbers(complete.variables[at], distance, tables, columns, tools)
    return Tables(
        schema=complete,
        original=codes,
        tools={tool: tuple(others[i].codes for i in at) for tool, at in tools.items()},
        keys=key_sets,
        targets=targets,
        all_keys=not any(_sets(keys)),
        held_out=coded[-1].codes if len(coded) > 1 + len(releases) else None,
        by=by_at,
        numbers=numbers,
        lines=first.lines,
        notes=(*notes, *(note for table in coded for note in table.notes), *found, *chosen),
    )


def _listed(released: Releases) -> tuple[list[tuple[Table, str, str]], list[str]]:
    """Return table, name and tool of all releases, and one sentence for each folder."""
    if isinstance(released, pd.DataFrame | Microdata | str | Path):
        released = [released]
    if not isinstance(released, Sequence | Mapping):
        _check_table(released, "released")
    if not isinstance(released, Mapping):
        paths = [Path(_place(z, f"release {i}")) for i, z in enumerate(released, start=1)]
        released = dict(zip(_apart(paths) if paths else (), released, strict=True))
    found: list[tuple[Table, str, str]] = []
    notes = []
    for tool, given in released.items():
        if isinstance(given, str | Path) and Path(given).is_dir():
            files, hidden = tables_in(Path(given))
            found += [(file, f"{tool}/{file.name}", tool) for file in files]
            ignored = f"; hidden files are ignored: {', '.join(hidden)}" if hidden else ""
            notes.append(f"{tool}: a folder of {len(files)}, judged together{ignored}.")
        elif isinstance(given, Sequence) and not isinstance(given, str):
            if not given:
                raise ValueError(f"{tool}: there are no releases; a tool must have one or more")
            found += [(table, f"{tool} {i}", tool) for i, table in enumerate(given, start=1)]
        else:
            found.append((given, tool, tool))
    return found, notes


def _nothing(source: object) -> bool:
    """Say whether an argument was not given; notebooks give empty texts."""
    return source is None or (isinstance(source, str) and not source)


def _place(source: object, name: str) -> str:
    """Return the place of a table, for errors: its path, or its name."""
    return str(source) if isinstance(source, str | Path) else name


def _check_table(source: object, name: str) -> None:
    if not isinstance(source, pd.DataFrame | Microdata | str | Path):
        raise ValueError(
            f"{name} is of type {type(source).__name__}; it must be a DataFrame, Microdata, or the "
            "path of a file"
        )


def _check_file(source: object) -> None:
    if isinstance(source, str | Path) and not _nothing(source):
        if Path(source).is_dir():
            raise ValueError(f"{str(source)!r}: it is a folder, which only a release may be")
        if not Path(source).is_file():
            raise ValueError(f"{str(source)!r}: there is no such file")


@contextmanager
def _telling(source: Table, name: str) -> Iterator[None]:
    """Let errors name the table that they are of."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{_place(source, name)}: {error}") from None


def _texts(source: Table, name: str, schema: Schema | Declaration | None) -> Texts:
    """Return a table's variables, checked against what is declared, before they are coded."""
    if isinstance(source, str | Path):
        return read_texts(source, schema)
    if isinstance(source, Microdata):
        if schema in (None, source.schema):
            return Texts(source.to_frame(labels=False), source.schema, source.notes)
        source = source.to_frame(labels=False)
    with _telling(source, name):
        if schema:
            schema.check_columns(list(map(str, source.columns)))
            source = source[[c for c in source.columns if str(c) in schema.names]]
    return Texts(source, schema)


def _completed(
    known: Schema | Declaration, tables: Sequence[tuple[Table, str]], texts: Sequence[Texts],
    recognized: bool,
) -> tuple[Schema, list[str]]:  # fmt: skip
    """Return the schema of all tables, and one sentence for all that was not declared."""
    notes: list[str] = []
    frames = [text.frame for text in texts]
    with _telling(*tables[0]):
        schema, cuts = known.complete(frames[0]) if isinstance(known, Declaration) else (known, ())
    notes += cuts
    if recognized:
        notes.append("No schema was given: levels are the values that the original has.")
        if isinstance(known, Declaration) and known.leave_out:
            notes.append(
                "Columns left out, of which the original has one value or none: "
                f"{shown(known.leave_out)}."
            )
        for table, frame in list(zip(tables, frames, strict=True))[1:]:
            with _telling(*table):
                schema, more = with_unseen(schema, frame)
            notes += more
    schema, more = with_missing(schema, *frames)
    return schema, [*notes, *more]


def _coded(
    source: Table, name: str, texts: Texts, schema: Schema
) -> tuple[Microdata, NDArray[np.bool_]]:
    """Return a table's records, of two people or more, and which of its rows they are.

    Notes and errors say which table it is.
    """
    with _telling(source, name):
        codes, kept, more = schema.encode_complete(texts.frame, drop_missing=False)
        if (n := len(codes)) < 2:
            raise ValueError(f"the table has {n} record{'s' * (n != 1)}; it needs 2 or more")
    of_all = f"{n:,} of {len(kept):,}" if not kept.all() else f"{n:,}"
    place = Path(_place(source, name)).name if name in ("original", "holdout") else name
    notes = tuple(f"{place}: {note}" for note in (f"{of_all} records.", *texts.notes, *more))
    lines = np.flatnonzero(kept) + 1
    if isinstance(source, str | Path):
        lines = texts.frame.index.to_numpy(np.int64)[kept]
    return Microdata(codes, schema, notes, lines, len(kept) - n), kept


def _numbers(
    variable: Variable, within: float, tables: Sequence[tuple[Table, str]],
    columns: Sequence[pd.Series], tools: Mapping[str, Sequence[int]],
) -> Numbers:  # fmt: skip
    """Return the numbers of a variable in each table, NaN where there is none."""
    number = isinstance(within, int | float | np.number) and not isinstance(within, bool)
    if not number or not 0 < within < np.inf:
        raise ValueError(f"within is {within!r} for {variable.name!r}; it must be above 0")
    if not variable.edges:
        raise ValueError(
            f"within names {variable.name!r}, which is not numeric; a schema makes it so by bins "
            "or edges"
        )
    found = []
    for (source, name), column in zip(tables, columns, strict=True):
        ids, values = factor(column)
        numbers = np.array([*variable.numbers_of(values), np.nan])[ids]
        if np.isnan(numbers).all():
            raise ValueError(
                f"{_place(source, name)}: {variable.name!r} has no numbers; with a distance they "
                "must not be cut already"
            )
        found.append(numbers)
    of_tools = {tool: tuple(found[1 + i] for i in at) for tool, at in tools.items()}
    n_releases = sum(map(len, tools.values()))
    return Numbers(float(within), found[0], of_tools, *found[1 + n_releases :])


def _nothing_common(original: Microdata, other: Microdata, name: str) -> list[str]:
    """Say which variables have no value in common with the original's."""
    pairs = zip(original.codes.T, other.codes.T, strict=True)
    apart = [
        variable.name
        for variable, (one, two) in zip(original.schema.variables, pairs, strict=True)
        if not np.intersect1d(one, two).size
    ]
    told = f"{name}: no value of {shown(apart)} is one of the original's: all records differ"
    return [f"{told}; are the same values written in two ways?"] if apart else []


def _check_synthetic(original: Microdata, released: Microdata) -> None:
    """Refuse a release that has some variables of the original row by row, and others not."""
    if len(original.codes) != len(released.codes) or len(original.codes) < FEWEST:
        return
    same = (original.codes == released.codes).all(axis=0)
    if same.all() or not same.any():
        return
    *_, z = rows_alike(original.codes[:, same], released.codes[:, same])
    if z >= 2 * CERTAIN:
        names = np.array(original.schema.names, object)
        raise ValueError(
            f"the values of {shown(names[same])} are the original's, row by row, and only those of "
            f"{shown(names[~same])} differ; this assessment is for releases of which every "
            "variable is synthetic: synthesize the others, too, or judge the release by measures "
            "for partially synthetic data"
        )


def _check_strangers(original: Microdata, held_out: Microdata) -> None:
    """Refuse people held out who are, beyond any doubt, people of the original."""
    found = copies(original.codes, held_out.codes, original.schema.n_levels)
    if found.same_table or found.handed_out_z >= 2 * CERTAIN:
        share = percent(1.0 if found.same_table else found.handed_out, 1)
        raise ValueError(
            f"an estimated {share} of the {found.alone:,} people of the original who are alone "
            "with all their values are in it, too; people held out must be others, kept out before "
            "the synthesizer was fitted"
        )


def _valued(variable: Variable, column: NDArray[np.integer]) -> list[str]:
    """Say how many people have no value of a target; somebody must have one."""
    lacking, n = int(np.isin(column, variable.no_values).sum()), len(column)
    if lacking == n:
        raise ValueError(
            f"target is {variable.name!r}, of which nobody in the original has a value: all are "
            "missing or not applicable"
        )
    told = f"{variable.name} is missing or does not apply for {lacking:,} of {n:,} people"
    return [f"{told}, of whom it can tell no value: they are not counted."] if lacking else []


def _apart(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of files, with as many of their folders as it takes to tell them apart."""
    paths = [path.resolve() if path.name in ("", "..") else path for path in paths]
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in paths)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path.name} ({i})" for i, path in enumerate(paths, start=1))


def _sets(keys: Names | Sequence[Names]) -> list[list[str]]:
    """Return the sets of keys, one or more, where one may be given as a list of names."""
    if not isinstance(keys, Collection):
        raise ValueError(f"keys is {keys!r}; it must be a list of names, or a list of such lists")
    several = [isinstance(each, Collection) and not isinstance(each, str) for each in keys]
    if isinstance(keys, str) or not any(several):
        return [[keys] if isinstance(keys, str) and keys else [str(name) for name in keys]]
    if not all(several):
        raise ValueError(f"keys is {keys!r}; it must be a list of names, or a list of such lists")
    return [list(each) for each in keys]


def _roles(
    schema: Schema, sets: Sequence[Sequence[str]], targets: Sequence[str]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], list[str]]:
    """Find the columns of the sets of keys and of the targets, and say what was chosen."""
    names, chosen = schema.names, []
    if len(names) < 2:
        raise ValueError(f"the variables are {names[0]} alone; keys and a target need two or more")
    for known in filter(None, sets):
        schema.positions(known, "keys")
    targets = [name for name in targets if name]
    if not targets:
        free = [name for name in names if all(name not in known for known in sets)]
        if not free:
            raise ValueError("keys are all variables, in one set or another; name the target")
        targets = free[-1:]
        chosen.append(f"No target was given: {free[-1]}, the last that is no key.")
    wanted = schema.positions(targets, "target")
    found: list[tuple[int, ...]] = []
    for known in sets:
        if not known and len(sets) > 1:
            raise ValueError("keys has an empty set; each must name variables")
        said = f"keys has the set {','.join(known)}"
        if again := [name for name in targets if name in known]:
            raise ValueError(f"{said}, with the target {again[0]!r} in it")
        at = schema.positions(known or [name for name in names if name != targets[0]], "keys")
        if set(at) in map(set, found):
            raise ValueError(f"{said} twice, in whatever order")
        found.append(tuple(at))
    if not any(sets):
        chosen.append(f"No keys were given: all {len(names) - 1} variables but the target.")
    return tuple(found), tuple(wanted), chosen
