"""An original table and its releases: what is read, what is checked, and what is known of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from srlib.assessment import verdict
from srlib.data.codes import Codes
from srlib.data.microdata import load, read_table
from srlib.data.schema import Schema

# What `read` takes, under the names of the notebook's parameters.
SETTINGS = (
    "original",
    "released",
    "schema",
    "holdout",
    "keys",
    "target",
    "same_generator",
    "partially_synthetic",
    "drop_missing",
    "ignore_columns",
    "quick",
    "rules",
)


@dataclass(frozen=True)
class Submission:
    """An original table, what was released of it, and what the intruder is taken to know.

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

    def judged(self) -> "dict[str, Submission]":
        """What is judged by itself, by name: each release, or all of one generator together."""
        names = self.names or tuple(f"release {i + 1}" for i in range(len(self.released)))
        if self.same_generator and len(names) > 1:
            return {f"{names[0]} and {len(names) - 1} more": self}
        pairs = zip(names, self.released, strict=True)
        return {name: replace(self, released=(z,), names=(name,)) for name, z in pairs}


def read(
    original: str | Path,
    released: Sequence[str | Path],
    schema: str | Path = "",
    holdout: str | Path = "",
    keys: Sequence[str] = (),
    target: str = "",
    *,
    same_generator: bool = False,
    partially_synthetic: bool = False,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    quick: bool = False,
    rules: str | Path = "",
) -> Submission:
    """Read and check an original and its releases.

    Parameters
    ----------
    original : str or Path
        CSV file, see `microdata.read_table`.
    released : sequence of str or Path
        One file or more, read with the schema of the original.
    schema : str or Path
        YAML file that declares the variables, ``"acs"``, or ``""``: recognized, or inferred from
        the original.
    holdout : str or Path
        CSV file of people of the same population who are not in the original; ``""``: none.
    keys, target
        As `roles`.
    same_generator : bool
        Whether the releases are draws of one generator, to be judged together.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.
    drop_missing, ignore_columns : bool
        See `microdata.read_table`; for all files.
    quick : bool
        Whether the intruder's model is left out; checked against the rules.
    rules : str or Path
        YAML file of `verdict.read_rules`, checked here; ``""``: none.

    Raises
    ------
    ValueError
        For the first that holds: no release; a file that does not exist, or that `read_table` or
        `read_rules` refuses, or that has fewer than two records; `keys` or `target` as `roles`
        says; a partially synthetic release of another size than the original, or with dropped
        records; a rule on the model, which is left out.
    """
    if not released:
        raise ValueError("released is empty; it must name one file or more")
    others = [path for path in (holdout, rules) if str(path)]
    for path in [original, *released, *others, *([schema] if schema not in ("", "acs") else [])]:
        if not Path(path).is_file():
            raise ValueError(f"{str(path)!r}: there is no such file")
    if partially_synthetic and drop_missing:
        raise ValueError(
            "drop_missing is set together with partially_synthetic; rows of tables of which "
            "records are dropped do not correspond"
        )
    limited = verdict.read_rules(rules) if str(rules) else {}
    if quick and "model" in limited:
        raise ValueError(f"{rules}: there is a rule on the model, which quick leaves out")
    settings = {"drop_missing": drop_missing, "ignore_columns": ignore_columns}
    first = load(original, schema, rng=np.random.default_rng(), **settings)
    paths = [original, *released, *([holdout] if str(holdout) else [])]
    tables = [first, *(read_table(path, first.schema, **settings) for path in paths[1:])]
    for path, table in zip(paths, tables, strict=True):
        if len(table.codes) < 2:
            raise ValueError(f"{path}: the table has {len(table.codes)} record; it needs 2 or more")
    for path, table in zip(released, tables[1:], strict=False):
        if partially_synthetic and len(table.codes) != len(first.codes):
            raise ValueError(
                f"{path}: the table has {len(table.codes):,} records; a partially synthetic "
                f"release has as many as the original, {len(first.codes):,}"
            )
    keys_at, target_at = roles(first.schema, keys, target)
    names = first.schema.names
    chosen = []
    if not target:
        chosen.append(f"No target was given: {names[target_at]}, the last that is no key.")
    if not keys:
        chosen.append(f"No keys were given: all {len(keys_at)} variables but the target.")
    of_files = [
        f"{Path(path).name}: {note}"
        for path, table in zip(paths, tables, strict=True)
        for note in (_records(table.codes, table.n_dropped), *table.notes)
    ]
    return Submission(
        schema=first.schema,
        original=first.codes,
        released=tuple(table.codes for table in tables[1 : 1 + len(released)]),
        keys=keys_at,
        target=target_at,
        names=_apart([Path(path) for path in released]),
        lines=first.lines,
        held_out=tables[-1].codes if str(holdout) else None,
        same_generator=same_generator,
        partially_synthetic=partially_synthetic,
        notes=(*of_files, *chosen),
    )


def _records(codes: Codes, n_dropped: int) -> str:
    if not n_dropped:
        return f"{len(codes):,} records."
    return f"{len(codes):,} of {len(codes) + n_dropped:,} records."


def _apart(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of files, with as many of their folders as it takes to tell them apart."""
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in paths)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path.name} ({i})" for i, path in enumerate(paths, start=1))


def roles(schema: Schema, keys: Sequence[str], target: str) -> tuple[tuple[int, ...], int]:
    """Columns of the keys and of the target.

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
