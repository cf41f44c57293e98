"""An original table and its releases, taken in and checked."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import leakage, verdict
from srlib.assessment.tolerance import Numbers, checked_tolerance
from srlib.assessment.verdict import Rules
from srlib.data.codes import Codes
from srlib.data.declared import MISSING_RULES, Declaration, with_missing, with_unseen
from srlib.data.files import tables_in
from srlib.data.microdata import Texts, declared, read_texts
from srlib.data.schema import Microdata, Schema, Variable, factor, shown

type Table = pd.DataFrame | Microdata | str | Path
"""Records: a DataFrame of categorical, text or number columns, microdata, or a file's path."""
type Releases = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
"""Tables, or folders of them: the draws of one tool, as is a sequence under the tool's name."""
type Declared = Schema | Declaration | str | Path
"""Variables and levels, what is declared of them, its YAML file, or ``"acs"``."""


@dataclass(frozen=True)
class Uncut:
    """The target's numbers as the tables have them, and the tolerance within which they count.

    Attributes
    ----------
    tolerance : float
        Above 0, in the units of the target.
    original : (n,) float
        NaN where there is no number: missing, not applicable, or a text.
    released : tuple of (n*,) float
        Of each release.
    held_out : (m,) float, optional
        Of people held out.
    """

    tolerance: float
    original: Numbers
    released: tuple[Numbers, ...]
    held_out: Numbers | None = None


@dataclass(frozen=True)
class Submission:
    """An original table, its releases, and the variables that the intruder is taken to know.

    Attributes
    ----------
    schema : Schema
        Of all tables.
    original : (n, p) int
        Codes from 0.
    released : tuple of (n*, p) int
        One or more, of any sizes.
    keys : tuple of int
        Columns that the intruder knows.
    target : int
        Column that the intruder wants to know.
    names : tuple of str
        Of the releases; empty: release 1, release 2 and so on.
    groups : tuple of str
        The name under which each release is judged, the same for the draws of one tool, which are
        judged together; empty: each under its own.
    lines : (n,) int, optional
        Line of its file that each original record begins at; where not given, its number from 1.
    held_out : (m, p) int, optional
        Records of people of the same population who are not in the original.
    notes : tuple of str
        One sentence for all that was recognized, inferred, dropped or chosen.
    rules : mapping
        Limits that the releases are held to, as `verdict.read_rules` returns.
    more_keys : tuple of tuple of int
        Other sets of columns that an intruder may know; the verdict is about `keys`.
    uncut : Uncut, optional
        The target's numbers, where a tolerance was named.
    by : int, optional
        Column whose levels are the groups that the risks are also told of.
    """

    schema: Schema
    original: Codes
    released: tuple[Codes, ...]
    keys: tuple[int, ...]
    target: int
    names: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None
    held_out: Codes | None = None
    notes: tuple[str, ...] = ()
    rules: Rules = field(default_factory=dict)
    more_keys: tuple[tuple[int, ...], ...] = ()
    uncut: Uncut | None = None
    by: int | None = None

    def together(self) -> dict[str, list[int]]:
        """Return the positions of the releases that are judged together, by name."""
        names = self.groups or self.names or [f"release {i + 1}" for i in range(len(self.released))]
        parts: dict[str, list[int]] = {}
        for i, name in enumerate(names):
            parts.setdefault(name, []).append(i)
        return parts

    def judged(self) -> "dict[str, Submission]":
        """Return the parts that are judged apart, by name: each release, or all of one tool."""
        names = self.names or tuple(f"release {i + 1}" for i in range(len(self.released)))
        parts: dict[str, Submission] = {}
        for group, at in self.together().items():
            uncut = self.uncut
            if uncut:
                uncut = replace(uncut, released=tuple(uncut.released[i] for i in at))
            parts[group] = replace(
                self,
                released=tuple(self.released[i] for i in at),
                names=tuple(names[i] for i in at),
                groups=(group,) * len(at),
                uncut=uncut,
            )
        return parts


def submit(
    original: Table,
    released: Releases,
    keys: Sequence[str] | Sequence[Sequence[str]] | None = None,
    target: str | None = None,
    *,
    schema: Declared | None = None,
    holdout: Table | None = None,
    tolerance: float | None = None,
    same_generator: bool = False,
    missing: str = "level",
    ignore_columns: bool = False,
    quick: bool = False,
    rules: Rules | str | Path | None = None,
    by: str = "",
) -> Submission:
    """Take in and check an original and its releases.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people; of a file, see `read_table`.
    released : the same, a sequence of them, or a mapping from names to either
        One table or more, with the variables of the original. A folder stands for its files, see
        `files.tables_in`. These, and a sequence that stands under a name, are draws of one tool and
        judged together.
    keys : sequence of str, or of these
        As of `roles`. Of several sets the first is that of the verdict, and may be empty.
    target : str, optional
        As of `roles`; where not given, the last variable that is in no set of keys.
    schema : Schema, Declaration, str or Path, optional
        Variables and their levels, what is declared of them, a YAML file of it, or ``"acs"``;
        recognized in the original where not given, see `Declaration.recognize`. Numbers are cut by
        the original alone. Levels that are not declared may also be those of the other tables.
    holdout : DataFrame, Microdata, str or Path, optional
        People of the same population who are not in the original.
    tolerance : float, optional
        Distance up to which a number is told, in the units of the target; 0: not asked for.
    same_generator : bool
        Whether releases that are given one by one are draws of one generator, to be judged
        together.
    missing : str
        What missing values are, of variables for which the schema does not say: a ``"level"`` of
        their own, a reason to ``"drop"`` the record, or an ``"error"``. For all tables.
    ignore_columns : bool
        Whether columns are left out that the schema does not have; an error otherwise.
    quick : bool
        Whether the intruder's model is left out; checked against the rules.
    rules : mapping, str or Path, optional
        Limits that releases are held to, as `verdict.read_rules` returns them, or its file.
    by : str
        Variable whose levels are the groups that the risks are also told of; ``""``: none.

    Raises
    ------
    ValueError
        For the first that holds: no original; no release; a folder as `files.tables_in` says, or
        together with `same_generator`; a file that does not exist, or that `read_table` or
        `read_rules` refuses; a table with fewer than two records, or that the schema does not fit;
        people held out who are people of the original;
        `keys` or `target` as `roles` says; a set of keys that is empty, has the target, or stands
        twice; a release with some variables of the original row by row, and others not; a tolerance
        below 0, for a target that is not numeric, or that a table has no numbers of; a rule on the
        model, which is left out; `by`, if it is no variable.
    """
    distance, sets = checked_tolerance(tolerance), key_sets(keys)
    if _nothing(original):
        raise ValueError("original is empty; it must be a table or the path of its file")
    releases, of_folders = _listed(released, same_generator)
    if not releases:
        raise ValueError("released is empty; it must have one table or more")
    of_releases = [each.table for each in releases]
    _check_files(original, *of_releases, holdout, rules, None if schema == "acs" else schema)
    if missing not in MISSING_RULES:
        raise ValueError(f"missing is {missing!r}; it must be one of {', '.join(MISSING_RULES)}")
    limits = _limits(rules, quick)
    sources = [(original, "original"), *((each.table, each.name) for each in releases)]
    if holdout is not None and not _nothing(holdout):
        sources.append((holdout, "holdout"))
    of_people = declared(schema)
    original_texts = _texts(original, "original", of_people, ignore_columns)
    known = original_texts.schema
    if known is None:
        with _told(original, "original"):
            known = Declaration.recognize(original_texts.frame, typed=original_texts.typed)
    names = [name for name in original_texts.frame.columns if str(name) in known.names]
    texts = [replace(original_texts, frame=original_texts.frame[names])]
    texts += [_texts(*source, known, ignore_columns) for source in sources[1:]]
    of_all, found = _completed(known, sources, texts, missing, original_texts.schema is None)
    tables, kept = zip(
        *(
            _taken(*source, text, of_all, missing)
            for source, text in zip(sources, texts, strict=True)
        ),
        strict=True,
    )
    first, others, held_out = tables[0], tables[1 : 1 + len(releases)], tables[1 + len(releases) :]
    for table in held_out:
        with _told(*sources[-1]):
            _check_others(first, table)
    for source, table in list(zip(sources, tables, strict=True))[1:]:
        found += _nothing_common(first, table, Path(_place(*source)).name)
    keys_at, target_at, more_at = all_roles(first.schema, sets, target or "")
    by_at = first.schema.positions([by], "by")[0] if by else None
    wanted = first.schema.variables[target_at]
    valued = ~np.isin(first.codes[:, target_at], wanted.no_values)
    if not valued.any():
        raise ValueError(
            f"target is {wanted.name!r}, of which nobody in the original has a value: all are "
            "missing or not applicable"
        )
    if n_none := int((~valued).sum()):
        found.append(
            f"{wanted.name} is missing or does not apply for {n_none:,} of {len(valued):,} people, "
            "about whom the release can disclose no value: they are left out of the attributes."
        )
    uncut = None
    if distance:
        columns = [t.frame[wanted.name][rows] for t, rows in zip(texts, kept, strict=True)]
        every = _uncut(wanted, distance, sources, columns)
        at = slice(1, 1 + len(releases))
        uncut = Uncut(distance, every[0], tuple(every[at]), every[-1] if held_out else None)
    for source, table in zip(sources[1:], others, strict=False):
        with _told(*source):
            _check_synthetic(first, table)
    return Submission(
        schema=first.schema,
        original=first.codes,
        released=tuple(table.codes for table in others),
        keys=keys_at,
        target=target_at,
        names=tuple(each.name for each in releases),
        groups=tuple(each.group for each in releases),
        lines=first.lines,
        held_out=held_out[0].codes if held_out else None,
        notes=(
            *of_folders,
            *(note for table in tables for note in table.notes),
            *found,
            *_chosen(first.schema, sets[0], target, keys_at, target_at),
        ),
        rules=limits,
        more_keys=more_at,
        uncut=uncut,
        by=by_at,
    )


@dataclass(frozen=True)
class _Release:
    """A table, its name, and the name under which it is judged."""

    table: Table
    name: str
    group: str


def _listed(released: Releases, same_generator: bool) -> tuple[list[_Release], list[str]]:
    """Return all releases with names that tell them apart, and one sentence for each folder."""
    if isinstance(released, pd.DataFrame | Microdata | str | Path):
        released = [released]
    if not isinstance(released, Mapping):
        paths = [Path(_place(z, f"release {i}")) for i, z in enumerate(released, start=1)]
        released = dict(zip(_apart(paths) if paths else (), released, strict=True))
    found, notes = [], []
    for tool, given in released.items():
        if isinstance(given, str | Path) and Path(given).is_dir():
            files, hidden = tables_in(Path(given))
            tables: dict[str, Table] = {f"{tool}/{file.name}": file for file in files}
            ignored = f"; hidden files are ignored: {', '.join(hidden)}" if hidden else ""
            notes.append(f"{tool}: a folder of {len(files)}, judged together{ignored}.")
        elif isinstance(given, Sequence) and not isinstance(given, str):
            tables = {f"{tool} {i}": table for i, table in enumerate(given, start=1)}
            if not tables:
                raise ValueError(f"{tool}: there are no releases; a tool must have one or more")
        else:
            found.append(_Release(given, tool, tool))
            continue
        if same_generator:
            raise ValueError(
                f"same_generator is true, and {tool} stands for several releases, which are judged "
                "together without it; it is for releases that are given one by one"
            )
        found += [_Release(table, name, tool) for name, table in tables.items()]
    if same_generator and len(found) > 1:
        together = f"{found[0].name} and {len(found) - 1} more"
        found = [replace(each, group=together) for each in found]
    return found, notes


def _nothing(source: object) -> bool:
    """Say whether an argument was not given; notebooks give empty texts."""
    return source is None or (isinstance(source, str) and not source)


def _place(source: object, name: str) -> str:
    """Return the place of a table, for errors: its path, or its name."""
    return str(source) if isinstance(source, str | Path) else name


def _check_files(*sources: object) -> None:
    for source in sources:
        path = isinstance(source, str | Path) and not _nothing(source)
        if path and Path(str(source)).is_dir():
            raise ValueError(f"{str(source)!r}: it is a folder, which only a release may be")
        if path and not Path(str(source)).is_file():
            raise ValueError(f"{str(source)!r}: there is no such file")


def _limits(rules: Rules | str | Path | None, quick: bool) -> Rules:
    """Return the rules, read and checked."""
    if rules is None or _nothing(rules):
        return {}
    place = _place(rules, "rules")
    if isinstance(rules, str | Path):
        limits = verdict.read_rules(rules)
    else:
        limits = verdict.checked_rules(rules, place)
    if quick and "model" in limits:
        raise ValueError(f"{place}: there is a rule on the model, which quick leaves out")
    return limits


def _texts(
    source: Table,
    name: str,
    schema: Schema | Declaration | None,
    ignore_columns: bool,
) -> Texts:
    """Return a table's variables, checked against what is declared, before they are coded."""
    if isinstance(source, str | Path):
        return read_texts(source, schema, ignore_columns=ignore_columns)
    if isinstance(source, Microdata):
        if schema in (None, source.schema):
            return Texts(source.to_frame(labels=False), source.schema, source.notes)
        source = source.to_frame(labels=False)
    with _told(source, name):
        if schema:
            schema.check_columns(list(map(str, source.columns)), ignore_unknown=ignore_columns)
            source = source[[c for c in source.columns if str(c) in schema.names]]
    return Texts(source, schema)


def _completed(
    known: Schema | Declaration,
    sources: Sequence[tuple[Table, str]],
    texts: Sequence[Texts],
    missing: str,
    recognized: bool,
) -> tuple[Schema, list[str]]:
    """Return the schema of all tables, and one sentence for all that was not declared."""
    notes: list[str] = []
    frames = [text.frame for text in texts]
    with _told(*sources[0]):
        schema, cuts = known.complete(frames[0]) if isinstance(known, Declaration) else (known, ())
    notes += cuts
    if recognized:
        notes.append("No schema was given: levels are the values that the original has.")
        if isinstance(known, Declaration) and known.leave_out:
            notes.append(
                "Columns left out, of which the original has one value or none: "
                f"{shown(known.leave_out)}."
            )
        for source, frame in list(zip(sources, frames, strict=True))[1:]:
            with _told(*source):
                schema, more = with_unseen(schema, frame)
            notes += more
    if missing == "level":
        schema, more = with_missing(schema, *frames)
        notes += more
    return schema, notes


@contextmanager
def _told(source: Table, name: str) -> Iterator[None]:
    """Let errors name the table that they are of."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{_place(source, name)}: {error}") from None


def _taken(
    source: Table, name: str, texts: Texts, schema: Schema, missing: str
) -> tuple[Microdata, NDArray[np.bool_]]:
    """Return a table's records, of two people or more, and which of its rows they are.

    Notes and errors say which table it is.
    """
    with _told(source, name):
        codes, kept, more = schema.encode_complete(texts.frame, drop_missing=missing == "drop")
        if (n := len(codes)) < 2:
            raise ValueError(f"the table has {n} record{'s' * (n != 1)}; it needs 2 or more")
    of_all = f"{n:,} of {len(kept):,}" if not kept.all() else f"{n:,}"
    told = [f"{of_all} records.", *texts.notes, *more]
    lines = None
    if isinstance(source, str | Path):
        lines = texts.frame.index.to_numpy(np.int64)[kept]
    place = Path(_place(source, name)).name if name in ("original", "holdout") else name
    notes = tuple(f"{place}: {note}" for note in told)
    return Microdata(codes, schema, notes, lines, len(kept) - n), kept


def _uncut(
    variable: Variable,
    tolerance: float,
    sources: Sequence[tuple[Table, str]],
    columns: Sequence[pd.Series],
) -> list[Numbers]:
    """Return the numbers of the target in each table, NaN where there is none."""
    if not variable.edges:
        raise ValueError(
            f"tolerance is {tolerance:g}, and the target {variable.name!r} is not numeric; a "
            "schema makes it so by bins, edges, width or decimals"
        )
    found = []
    for (source, name), column in zip(sources, columns, strict=True):
        ids, texts = factor(column)
        numbers = np.array([*variable.numbers_of(texts), np.nan])[ids]
        if np.isnan(numbers).all():
            raise ValueError(
                f"{_place(source, name)}: {variable.name!r} has no numbers; with a tolerance they "
                "must not be cut already"
            )
        found.append(numbers)
    return found


def _nothing_common(original: Microdata, other: Microdata, name: str) -> list[str]:
    """Say which variables have no value in common with the original's."""
    apart = [
        variable.name
        for variable, one, two in zip(
            original.schema.variables, original.codes.T, other.codes.T, strict=True
        )
        if not np.intersect1d(one, two).size
    ]
    told = (
        f"{name}: no value of {shown(apart)} is one of the original's, so that all records differ"
    )
    return [f"{told}; are the same values written in two ways?"] if apart else []


def _check_synthetic(original: Microdata, released: Microdata) -> None:
    """Refuse a release that has some variables of the original row by row, and others not."""
    if len(original.codes) != len(released.codes) or len(original.codes) < verdict.FEWEST:
        return
    same = (original.codes == released.codes).all(axis=0)
    if same.all() or not same.any():
        return
    *_, z = leakage.rows_alike(original.codes[:, same], released.codes[:, same])
    if z >= 2 * verdict.CERTAIN:
        names = np.array(original.schema.names, object)
        raise ValueError(
            f"the values of {shown(names[same])} are the original's, row by row, and only those of "
            f"{shown(names[~same])} differ; this assessment is for releases of which every "
            "variable is synthetic: synthesize the others, too, or judge the release by measures "
            "for partially synthetic data"
        )


def _check_others(original: Microdata, held_out: Microdata) -> None:
    """Raise a ValueError where people held out are, beyond any doubt, people of the original."""
    levels = original.schema.n_levels.tolist()
    found = leakage.copies(original.codes, held_out.codes, levels)
    if found.same_table or found.handed_out_z >= 2 * verdict.CERTAIN:
        share = 1.0 if found.same_table else found.handed_out
        raise ValueError(
            f"an estimated {verdict.percent(share)} of the {found.alone:,} people of the original "
            "who are alone with all their values are in it, too; people held out must be others, "
            "kept out before the synthesizer was fitted"
        )


def _chosen(
    schema: Schema,
    keys: Sequence[str] | None,
    target: str | None,
    keys_at: Sequence[int],
    target_at: int,
) -> list[str]:
    """Say which keys and target were chosen where none were given."""
    chosen = []
    if not target:
        chosen.append(f"No target was given: {schema.names[target_at]}, the last that is no key.")
    if not keys:
        chosen.append(f"No keys were given: all {len(keys_at)} variables but the target.")
    return chosen


def _apart(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of files, with as many of their folders as it takes to tell them apart."""
    paths = [path.resolve() if path.name in ("", "..") else path for path in paths]
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in paths)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path.name} ({i})" for i, path in enumerate(paths, start=1))


def key_sets(keys: Sequence[str] | Sequence[Sequence[str]] | None) -> list[Sequence[str]]:
    """Return the sets of keys, one or more, where one may be given as a list of names."""
    if isinstance(keys, str) or not isinstance(keys, Collection):
        return [keys or ()]
    several = [isinstance(each, Collection) and not isinstance(each, str) for each in keys]
    if not any(several):
        return [cast(Sequence[str], keys)]
    if not all(several):
        raise ValueError(f"keys is {keys!r}; it must be a list of names, or a list of such lists")
    return [list(each) for each in keys]


def all_roles(
    schema: Schema, sets: Sequence[Sequence[str]], target: str
) -> tuple[tuple[int, ...], int, tuple[tuple[int, ...], ...]]:
    """Find the columns of several sets of keys and of the target.

    Parameters
    ----------
    schema : Schema
        Two variables or more.
    sets : sequence of sequence of str
        Names of variables, one set or more; the first may be empty: all but the target.
    target : str
        As of `roles`; ``""``: the last that is in no set.

    Returns
    -------
    keys, target
        Of the first set, as `roles` returns.
    more_keys : tuple of tuple of int
        Of the other sets.

    Raises
    ------
    ValueError
        As `roles`, and for another set that is empty, has the target, or stands twice.
    """
    first, *others = sets
    if others and not target:
        free = [name for name in schema.names if all(name not in names for names in sets)]
        if not free:
            raise ValueError("keys are all variables, in one set or another; name the target")
        target = free[-1]
    keys_at, target_at = roles(schema, first, target)
    found = [keys_at]
    for names in others:
        if not names:
            raise ValueError("keys has an empty set; each set but the first must name variables")
        at = tuple(schema.positions(names, "keys"))
        said = f"keys has the set {','.join(names)}"
        if target_at in at:
            raise ValueError(f"{said}, with the target {schema.names[target_at]!r} in it")
        if set(at) in map(set, found):
            raise ValueError(f"{said} twice, in whatever order")
        found.append(at)
    return keys_at, target_at, tuple(found[1:])


def roles(schema: Schema, keys: Sequence[str], target: str) -> tuple[tuple[int, ...], int]:
    """Find the columns of the keys and of the target.

    Parameters
    ----------
    schema : Schema
        Two variables or more.
    keys : sequence of str
        Names of variables that the intruder knows; all but the target where empty.
    target : str
        Name of the variable that the intruder wants to know; ``""``: the last that is no key.

    Raises
    ------
    ValueError
        If a name is not that of a variable or stands twice, the target is among the keys, or no
        variable is left for one of the two.
    """
    names = schema.names
    if len(names) < 2:
        raise ValueError(f"the variables are {names[0]} alone; keys and a target need two or more")
    if keys:
        schema.positions(keys, "keys")
    if not target:
        others = [name for name in names if name not in keys]
        if not others:
            raise ValueError("keys are all variables; one must be left for the target")
        target = others[-1]
    if target in keys:
        raise ValueError(f"target is {target!r}, which is among the keys {', '.join(keys)}")
    target_at = schema.positions([target], "target")[0]
    at = schema.positions(keys or [name for name in names if name != target], "keys")
    return tuple(at), target_at
