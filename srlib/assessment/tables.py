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
from srlib.assessment.counting import Floats
from srlib.checks import require, shown
from srlib.data.codes import Codes, factor
from srlib.data.declared import cut_numbers, recognize, with_missing, with_unseen
from srlib.data.files import FILE_TYPES
from srlib.data.microdata import Texts, declared, read_texts
from srlib.data.schema import Microdata, Schema, Variable
from srlib.display import percent

type Table = pd.DataFrame | Microdata | str | Path
"""Records: a DataFrame of categorical, text or number columns, microdata, or a file's path."""
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
"""Tables, or folders of them: the draws of one tool, as is a sequence under the tool's name."""
type Declared = Schema | str | Path
"""Variables and levels, what is declared of them, its YAML file, or ``"acs"``."""
type Names = str | Sequence[str]


@dataclass(frozen=True)
class File:
    """A table: codes from 0, (n, p), and by column the numbers behind them, NaN where none is.

    `uncut` are codes of which numbers are not cut, (n, p), None where there are no numbers.
    """

    codes: Codes
    numbers: Mapping[int, Floats] = field(default_factory=dict)
    uncut: Codes | None = None

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Tables:
    """All tables, coded alike, and what is asked of them.

    Attributes
    ----------
    schema : Schema
        Of all tables.
    original, held_out : File
        And people of the same population who are not in the original, if given.
    tools : dict of str to tuple of File
        Releases that are judged together, by the name under which they are judged.
    keys : tuple of tuple of int
        Sets of columns that the intruder knows, one or more; the first decides.
    targets : tuple of int
        Columns that the intruder wants to know, one or more; the first decides.
    all_keys : bool
        Whether keys are all variables but the target, whichever that is.
    by : int, optional
        Column whose levels are told of apart.
    within : dict of int to float
        Distances up to which numbers are told, by column.
    lines : (n,) int
        Line of its file that each original record begins at.
    notes : tuple of str
        One sentence for all that was recognized, inferred, dropped or chosen.
    """

    schema: Schema
    original: File
    tools: Mapping[str, tuple[File, ...]]
    keys: tuple[tuple[int, ...], ...]
    targets: tuple[int, ...]
    all_keys: bool = False
    held_out: File | None = None
    by: int | None = None
    within: Mapping[int, float] = field(default_factory=dict)
    lines: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()


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
    require(not _nothing(original), "original is empty; it must be a table or its file's path")
    keys, target, within = keys or (), target or (), within or {}
    wrong = f"within is {within!r}; it must give distances by names of variables"
    require(isinstance(within, Mapping), wrong)
    kind = f"schema is of type {type(schema).__name__}; it must be a Schema or a file"
    require(isinstance(schema, Schema | str | Path | None), kind)
    require(isinstance(target, Collection), f"target is {target!r}; it must be a name, or a list")
    releases, notes = _listed(released)
    require(releases, "released is empty; it must have one table or more")
    strangers = [] if _nothing(holdout) or holdout is None else [(holdout, "holdout", "")]
    sources = [(original, "original", ""), *releases, *strangers]
    for table, name, _ in sources:
        _check_table(table, name)
    if schema and schema != "acs":
        _check_file(schema)
    texts = [_texts(original, "original", declared(schema))]
    known, recognized = texts[0].schema, texts[0].schema is None
    if known is None:
        with _telling(original, "original"):
            known = recognize(texts[0].frame)
    columns = [name for name in texts[0].frame.columns if str(name) in known.names]
    texts[0] = replace(texts[0], frame=texts[0].frame[columns])
    texts += [_texts(table, name, known) for table, name, _ in sources[1:]]
    complete, more = _completed(known, sources, texts, recognized)
    sets = _sets(keys)
    key_sets, targets, chosen = _roles(
        complete, sets, [target] if isinstance(target, str) else target
    )
    distances = {}
    for name, distance in within.items():
        (at,) = complete.positions([name], "within")
        _check_distance(complete.variables[at], distance, any(sets) and at in key_sets[0])
        distances[at] = float(distance)
    files: list[File] = []
    for (table, name, _), text in zip(sources, texts, strict=True):
        file, of_file, lines = _coded(table, name, text, complete, distances)
        notes += of_file
        if files:
            more += _nothing_common(complete, files[0], file, Path(_place(table, name)).name)
            with _telling(table, name):
                check = _check_strangers if name == "holdout" else _check_synthetic
                check(complete, files[0].codes, file.codes)
        else:
            of_original = lines
            more += [note for at in targets for note in _valued(complete.variables[at], file, at)]
        files.append(file)
    files = _uncut(files, complete)
    tools: dict[str, tuple[File, ...]] = {}
    for (_, _, tool), file in zip(releases, files[1:], strict=False):
        tools[tool] = (*tools.get(tool, ()), file)
    return Tables(
        complete, files[0], tools, key_sets, targets, all_keys=not any(sets),
        held_out=files[-1] if strangers else None,
        by=complete.positions([by], "by")[0] if by else None,
        within=distances, lines=of_original, notes=(*notes, *more, *chosen),
    )  # fmt: skip


def _listed(released: Releases) -> tuple[list[tuple[Table, str, str]], list[str]]:
    """Return table, name and tool of all releases, and one sentence for each folder."""
    if not isinstance(released, Sequence | Mapping) or isinstance(released, str):
        released = [released]
    if not isinstance(released, Mapping):
        paths = [Path(_place(z, f"release {i}")) for i, z in enumerate(released, start=1)]
        released = dict(zip(_apart(paths) if paths else (), released, strict=True))
    found: list[tuple[Table, str, str]] = []
    notes = []
    for tool, given in released.items():
        if isinstance(given, str | Path) and Path(given).is_dir():
            files, hidden = _files_in(Path(given))
            found += [(file, f"{tool}/{file.name}", tool) for file in files]
            ignored = f"; hidden files are ignored: {', '.join(hidden)}" if hidden else ""
            notes.append(f"{tool}: a folder of {len(files)}, judged together{ignored}.")
        elif isinstance(given, Sequence) and not isinstance(given, str):
            require(given, f"{tool}: there are no releases; a tool must have one or more")
            found += [(table, f"{tool} {i}", tool) for i, table in enumerate(given, start=1)]
        else:
            found.append((given, tool, tool))
    return found, notes


def _files_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the data files of a folder in the order of their names, and names of hidden ones.

    A ValueError names anything else: what is passed over in silence would be missed by nobody.
    """
    everything = sorted(folder.iterdir())
    hidden = [path.name for path in everything if path.name.startswith(".")]
    seen = [path for path in everything if path.name not in hidden]
    data = [path for path in seen if path.is_file() and path.suffix.lower() in FILE_TYPES]
    others = ", ".join(path.name + "/" * path.is_dir() for path in seen if path not in data)
    told = f"{folder}: {others} cannot be read as a table; a folder of releases has files whose"
    require(not others, f"{told} names end in {', '.join(FILE_TYPES)}, and hidden ones")
    but = " but hidden ones" if hidden else ""
    require(data, f"{folder}: the folder has no files{but}; it must have one release or more")
    return data, hidden


def _nothing(source: object) -> bool:
    """Say whether an argument was not given; notebooks give empty texts."""
    return source is None or (isinstance(source, str) and not source)


def _place(source: object, name: str) -> str:
    """Return the place of a table, for errors: its path, or its name."""
    return str(source) if isinstance(source, str | Path) else name


def _check_table(source: object, name: str) -> None:
    right = f"{name} is of type {type(source).__name__}; it must be a DataFrame, Microdata, or the"
    require(isinstance(source, pd.DataFrame | Microdata | str | Path), f"{right} path of a file")
    _check_file(source)


def _check_file(source: object) -> None:
    if isinstance(source, str | Path):
        folder = Path(source).is_dir()
        require(not folder, f"{str(source)!r}: it is a folder, which only a release may be")
        require(Path(source).is_file(), f"{str(source)!r}: there is no such file")


@contextmanager
def _telling(source: Table, name: str) -> Iterator[None]:
    """Let errors name the table that they are of."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{_place(source, name)}: {error}") from None


def _texts(source: Table, name: str, schema: Schema | None) -> Texts:
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
    known: Schema, tables: Sequence[tuple[Table, str, str]], texts: Sequence[Texts],
    recognized: bool,
) -> tuple[Schema, list[str]]:  # fmt: skip
    """Return the schema of all tables, and one sentence for all that was not declared."""
    frames = [text.frame for text in texts]
    with _telling(*tables[0][:2]):
        schema, cuts = cut_numbers(known, frames[0])
    notes = list(cuts)
    if recognized:
        notes.append("No schema was given: levels are the values that the original has.")
        if left := shown(known.leave_out):
            notes.append(f"Columns left out, of which the original has one value or none: {left}.")
        for table, frame in list(zip(tables, frames, strict=True))[1:]:
            with _telling(*table[:2]):
                schema, more = with_unseen(schema, frame)
            notes += more
    schema, more = with_missing(schema, *frames)
    return schema, [*notes, *more]


def _coded(
    source: Table, name: str, texts: Texts, schema: Schema, distances: Collection[int]
) -> tuple[File, list[str], NDArray[np.int64]]:
    """Return a table's records, of two people or more, notes on it, and the records' lines."""
    numbers = {}
    with _telling(source, name):
        codes, kept, more = schema.encode_complete(texts.frame, drop_missing=False)
        n = len(codes)
        require(n > 1, f"the table has {n} record{'s' * (n != 1)}; it needs 2 or more")
        for at, variable in enumerate(schema.variables):
            if variable.edges:
                ids, values = factor(texts.frame[variable.name][kept])
                numbers[at] = np.array([*variable.numbers_of(values), np.nan])[ids]
                none = f"{variable.name!r} has no numbers; they must not be cut already"
                require(at not in distances or not np.isnan(numbers[at]).all(), none)
    of_all = f"{n:,} of {len(kept):,}" if not kept.all() else f"{n:,}"
    place = Path(_place(source, name)).name if name in ("original", "holdout") else name
    notes = [f"{place}: {note}" for note in (f"{of_all} records.", *texts.notes, *more)]
    lines = texts.frame.index if isinstance(source, str | Path) else np.arange(1, len(kept) + 1)
    return File(codes, numbers), notes, np.asarray(lines, np.int64)[kept]


def _uncut(files: Sequence[File], schema: Schema) -> list[File]:
    """Return the files with codes of which each number is a level behind those of the schema."""
    if not files[0].numbers:
        return list(files)
    codes = [file.codes.astype(np.int32) for file in files]
    ends = np.cumsum([len(file) for file in files])[:-1]
    for at in files[0].numbers:
        ids, _ = pd.factorize(np.concatenate([file.numbers[at] for file in files]))
        for file, own, id_ in zip(files, codes, np.split(ids, ends), strict=True):
            own[:, at] = np.where(id_ < 0, file.codes[:, at], schema.n_levels[at] + id_)
    return [replace(file, uncut=own) for file, own in zip(files, codes, strict=True)]


def _check_distance(variable: Variable, within: float, is_key: bool) -> None:
    name, number = repr(variable.name), isinstance(within, int | float | np.number)
    require(not is_key, f"within names {name}, which is among the keys")
    right = number and not isinstance(within, bool) and 0 < within < np.inf
    require(right, f"within is {within!r} for {name}; it must be above 0")
    cut = f"within names {name}, which is not numeric; bins or edges in a schema make it so"
    require(variable.edges, cut)


def _nothing_common(schema: Schema, original: File, other: File, name: str) -> list[str]:
    """Say which variables have no value in common with the original's."""
    pairs = zip(schema.names, original.codes.T, other.codes.T, strict=True)
    apart = [name for name, one, two in pairs if not np.intersect1d(one, two).size]
    told = f"{name}: no value of {shown(apart)} is one of the original's: all records differ"
    return [f"{told}; are the same values written in two ways?"] if apart else []


def _check_synthetic(schema: Schema, original: Codes, released: Codes) -> None:
    """Refuse a release that has some variables of the original row by row, and others not."""
    if len(original) != len(released) or len(original) < FEWEST:
        return
    same, names = (original == released).all(axis=0), np.array(schema.names, object)
    if same.all() or not same.any():
        return
    require(
        not rows_alike(original[:, same], released[:, same])[2] >= 2 * CERTAIN,
        f"the values of {shown(names[same])} are the original's, row by row, and only those of "
        f"{shown(names[~same])} differ; this assessment is for releases of which every variable is "
        "synthetic: synthesize the others, too, or judge the release by measures for partially "
        "synthetic data",
    )


def _check_strangers(schema: Schema, original: Codes, held_out: Codes) -> None:
    """Refuse people held out who are, beyond any doubt, people of the original."""
    found = copies(original, held_out, schema.n_levels)
    share = percent(1.0 if found.same_table else found.handed_out, 1)
    require(
        not (found.same_table or found.handed_out_z >= 2 * CERTAIN),
        f"an estimated {share} of the {found.alone:,} people of the original who are alone with "
        "all their values are in it, too; people held out must be others, kept out before the "
        "synthesizer was fitted",
    )


def _valued(variable: Variable, original: File, at: int) -> list[str]:
    """Say how many people have no value of a target; somebody must have one."""
    lacking, n = int(np.isin(original.codes[:, at], variable.no_values).sum()), len(original)
    none = f"target is {variable.name!r}, of which nobody in the original has a value: all are"
    require(lacking < n, f"{none} missing or not applicable")
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
    wrong = f"keys is {keys!r}; it must be a list of names, or a list of such lists"
    require(isinstance(keys, Collection), wrong)
    several = [isinstance(each, Collection) and not isinstance(each, str) for each in keys]
    if isinstance(keys, str) or not any(several):
        return [[keys] if isinstance(keys, str) and keys else [str(name) for name in keys]]
    require(all(several), wrong)
    return [list(each) for each in keys]


def _roles(
    schema: Schema, sets: Sequence[Sequence[str]], targets: Sequence[str]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], list[str]]:
    """Find the columns of the sets of keys and of the targets, and say what was chosen."""
    names, chosen = schema.names, []
    alone = f"the variables are {names[0]} alone; keys and a target need two or more"
    require(len(names) > 1, alone)
    for known in filter(None, sets):
        schema.positions(known, "keys")
    targets = [name for name in targets if name]
    if not targets:
        free = [name for name in names if all(name not in known for known in sets)]
        require(free, "keys are all variables, in one set or another; name the target")
        targets = free[-1:]
        chosen.append(f"No target was given: {free[-1]}, the last that is no key.")
    wanted, found = schema.positions(targets, "target"), list[tuple[int, ...]]()
    for known in sets:
        require(known or len(sets) == 1, "keys has an empty set; each must name variables")
        said, again = f"keys has the set {','.join(known)}", set(targets).intersection(known)
        require(not again, f"{said}, with the target {shown(again)} in it")
        at = schema.positions(known or [name for name in names if name != targets[0]], "keys")
        require(set(at) not in map(set, found), f"{said} twice, in whatever order")
        found.append(tuple(at))
    if not any(sets):
        chosen.append(f"No keys were given: all {len(names) - 1} variables but the target.")
    return tuple(found), tuple(wanted), chosen
