"""An original table and its releases, taken in and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import verdict
from srlib.assessment.verdict import Rules
from srlib.data.acs import ACS
from srlib.data.codes import Codes
from srlib.data.microdata import read_table
from srlib.data.schema import Microdata, Schema

type Table = pd.DataFrame | Microdata | str | Path
"""Records: a DataFrame of categorical, text or number columns, microdata, or a CSV file's path."""


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
    lines : (n,) int, optional
        Line of its file that each original record begins at; where not given, its number from 1.
    held_out : (m, p) int, optional
        Records of people of the same population who are not in the original.
    same_generator : bool
        Whether the releases are draws of one generator, and are judged together.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.
    notes : tuple of str
        One sentence for all that was recognized, inferred, dropped or chosen.
    rules : mapping
        Limits that the releases are held to, as `verdict.read_rules` returns.
    """

    schema: Schema
    original: Codes
    released: tuple[Codes, ...]
    keys: tuple[int, ...]
    target: int
    names: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None
    held_out: Codes | None = None
    same_generator: bool = False
    partially_synthetic: bool = False
    notes: tuple[str, ...] = ()
    rules: Rules = field(default_factory=dict)

    def judged(self) -> "dict[str, Submission]":
        """Return the parts that are judged apart, by name: each release, or all together."""
        names = self.names or tuple(f"release {i + 1}" for i in range(len(self.released)))
        if self.same_generator and len(names) > 1:
            return {f"{names[0]} and {len(names) - 1} more": self}
        pairs = zip(names, self.released, strict=True)
        return {name: replace(self, released=(z,), names=(name,)) for name, z in pairs}


def submit(
    original: Table,
    released: Table | Sequence[Table] | Mapping[str, Table],
    keys: Sequence[str] | None = None,
    target: str | None = None,
    *,
    schema: Schema | str | Path | None = None,
    holdout: Table | None = None,
    same_generator: bool = False,
    partially_synthetic: bool = False,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    quick: bool = False,
    rules: Rules | str | Path | None = None,
) -> Submission:
    """Take in and check an original and its releases.

    Parameters
    ----------
    original : DataFrame, Microdata, str or Path
        Records of people; of a file, see `read_table`.
    released : the same, a sequence of them, or a mapping from names
        One table or more, with the variables and the levels of the original.
    keys, target
        As `roles`.
    schema : Schema, str or Path, optional
        Variables and their levels, a YAML file that declares them, or ``"acs"``; recognized in or
        inferred from the original where not given.
    holdout : DataFrame, Microdata, str or Path, optional
        People of the same population who are not in the original.
    same_generator : bool
        Whether the releases are draws of one generator, to be judged together.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.
    drop_missing, ignore_columns : bool
        Whether records with missing values are dropped, and columns left out that the schema does
        not have; errors otherwise. For all tables.
    quick : bool
        Whether the intruder's model is left out; checked against the rules.
    rules : mapping, str or Path, optional
        Limits that releases are held to, as `verdict.read_rules` returns them, or its file.

    Raises
    ------
    ValueError
        For the first that holds: no release; a file that does not exist, or that `read_table` or
        `read_rules` refuses; a table with fewer than two records, or that the schema does not fit;
        a partially synthetic release of another size than the original, or with dropped records;
        `keys` or `target` as `roles` says; a rule on the model, which is left out.
    """
    releases = _named(released)
    if not releases:
        raise ValueError("released is empty; it must have one table or more")
    _check_files(original, *releases.values(), holdout, rules, None if schema == "acs" else schema)
    if partially_synthetic and drop_missing:
        raise ValueError(
            "drop_missing is set together with partially_synthetic; rows of tables of which "
            "records are dropped do not correspond"
        )
    limits = _limits(rules, quick)
    take = partial(_taken, drop_missing=drop_missing, ignore_columns=ignore_columns)
    first = take(original, "original", _declared(schema))
    others = [take(z, name, first.schema) for name, z in releases.items()]
    given = [] if holdout is None or _nothing(holdout) else [holdout]
    held_out = [take(z, "holdout", first.schema) for z in given]
    for (name, source), table in zip(releases.items(), others, strict=True):
        if partially_synthetic and len(table.codes) != len(first.codes):
            raise ValueError(
                f"{_place(source, name)}: the table has {len(table.codes):,} records; a partially "
                f"synthetic release has as many as the original, {len(first.codes):,}"
            )
    keys_at, target_at = roles(first.schema, keys or (), target or "")
    return Submission(
        schema=first.schema,
        original=first.codes,
        released=tuple(table.codes for table in others),
        keys=keys_at,
        target=target_at,
        names=tuple(releases),
        lines=first.lines,
        held_out=held_out[0].codes if held_out else None,
        same_generator=same_generator,
        partially_synthetic=partially_synthetic,
        notes=(
            *(note for table in (first, *others, *held_out) for note in table.notes),
            *_chosen(first.schema, keys, target, keys_at, target_at),
        ),
        rules=limits,
    )


def _named(released: Table | Sequence[Table] | Mapping[str, Table]) -> dict[str, Table]:
    """Return the releases by names that tell them apart: of files, as much as that takes."""
    if isinstance(released, Mapping):
        return dict(released)
    if isinstance(released, pd.DataFrame | Microdata | str | Path):
        released = [released]
    paths = [Path(_place(z, f"release {i}")) for i, z in enumerate(released, start=1)]
    return dict(zip(_apart(paths) if paths else (), released, strict=True))


def _nothing(source: object) -> bool:
    """Say whether an argument was not given; notebooks give empty texts."""
    return source is None or (isinstance(source, str) and not source)


def _place(source: object, name: str) -> str:
    """Return the place of a table, for errors: its path, or its name."""
    return str(source) if isinstance(source, str | Path) else name


def _check_files(*sources: object) -> None:
    for source in sources:
        path = isinstance(source, str | Path) and not _nothing(source)
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


def _declared(schema: Schema | str | Path | None) -> Schema | None:
    """Return the schema that was given, if any."""
    if schema is None or isinstance(schema, Schema):
        return schema
    if _nothing(schema):
        return None
    return ACS if schema == "acs" else Schema.from_yaml(schema)


def _taken(
    source: Table, name: str, schema: Schema | None, *, drop_missing: bool, ignore_columns: bool
) -> Microdata:
    """Return a table's records, of two people or more; notes and errors say which table it is."""
    place = _place(source, name)
    if isinstance(source, str | Path):
        table = read_table(source, schema, drop_missing=drop_missing, ignore_columns=ignore_columns)
    else:
        try:
            table = _coded(source, schema, drop_missing, ignore_columns)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if (n := len(table.codes)) < 2:
        raise ValueError(f"{place}: the table has {n} record; it needs 2 or more")
    of_all = f"{n:,} of {n + table.n_dropped:,}" if table.n_dropped else f"{n:,}"
    notes = [f"{Path(place).name}: {note}" for note in (f"{of_all} records.", *table.notes)]
    return replace(table, notes=tuple(notes))


def _coded(
    source: pd.DataFrame | Microdata,
    schema: Schema | None,
    drop_missing: bool,
    ignore_columns: bool,
) -> Microdata:
    """Return the records of a DataFrame, or of microdata with the schema's levels."""
    if isinstance(source, Microdata):
        if schema in (None, source.schema):
            return source
        source = source.schema.decode(source.codes, labels=False)
    if schema and ignore_columns:
        source = source[[name for name in source.columns if str(name) in schema.names]]
    return Microdata.from_frame(source, schema, drop_missing=drop_missing)


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
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in paths)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path.name} ({i})" for i, path in enumerate(paths, start=1))


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
