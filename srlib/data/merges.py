"""Levels of variables put together: what is asked for, and the schema and codes with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from srlib.data.codes import Codes
from srlib.data.schema import Schema, Variable, repeated, shown

type Merges = Mapping[int, tuple[tuple[int, ...], ...]]
"""For columns, the sets of codes that become one level each."""
type Asked = Sequence[str] | Mapping[str, Sequence[Sequence[str]]]
"""Levels to merge: texts as ``"RACE=3+4"``, or by variable lists of levels."""


def read_merges(schema: Schema, merge: Asked) -> dict[int, tuple[tuple[int, ...], ...]]:
    """Return the codes of the levels that are to be merged, by column.

    Parameters
    ----------
    schema : Schema
        The variables as they are.
    merge : sequence of str, or mapping of str to sequences of levels
        Such as ``["RACE=3+4", "RACE=5+6"]`` or ``{"RACE": [["3", "4"], ["5", "6"]]}``. A level is
        named as in the schema, or by its label.

    Raises
    ------
    ValueError
        If a variable or level is unknown, a merge has fewer than two levels or can be read in more
        than one way, a level is in two merges, or all levels of a variable would be one.

    Examples
    --------
    >>> schema = Schema((Variable("race", ("3", "4", "5")), Variable("age", ("0-49", "50+"))))
    >>> read_merges(schema, ["race=3+4"])
    {0: ((0, 1),)}
    """
    if isinstance(merge, str) or not isinstance(merge, Sequence | Mapping):
        raise ValueError(
            f"merge is {merge!r}; it must be a list such as ['RACE=3+4'], or a mapping"
        )
    found: dict[int, tuple[tuple[int, ...], ...]] = {}
    asked = _of_mapping(merge) if isinstance(merge, Mapping) else _of_texts(schema, merge)
    for name, levels, said in asked:
        at = schema.positions([name], "merge")[0]
        variable = schema.variables[at]
        codes = tuple(sorted(_code(variable, level, said) for level in levels))
        if len(codes) < 2:
            raise ValueError(f"{said}: a merge has two levels or more, joined by '+'")
        taken = [code for others in found.get(at, ()) for code in others]
        if again := repeated([variable.levels[code] for code in (*taken, *codes)]):
            raise ValueError(f"{said}: {name} has {shown(again)} twice; a level is merged once")
        if len(codes) == len(variable.levels):
            raise ValueError(
                f"{said}: all levels of {name} would be one; two or more must remain. To leave the "
                "variable out, leave it out of the keys"
            )
        found[at] = (*found.get(at, ()), codes)
    return found


def _of_mapping(
    merge: Mapping[str, Sequence[Sequence[str]]],
) -> Iterator[tuple[str, Sequence[str], str]]:
    for name, groups in merge.items():
        lists = isinstance(groups, Sequence) and not isinstance(groups, str)
        if not lists or any(isinstance(g, str) or not isinstance(g, Sequence) for g in groups):
            raise ValueError(
                f"merge of {name} is {groups!r}; it must be a list of lists of levels, such as "
                "[['3', '4']]"
            )
        for group in groups:
            yield name, [str(level) for level in group], f"merge of {name}"


def _of_texts(schema: Schema, merge: Sequence[str]) -> Iterator[tuple[str, Sequence[str], str]]:
    for text in merge:
        said = f"merge {text!r}"
        if not isinstance(text, str) or "=" not in text:
            raise ValueError(f"{said}: it must be VARIABLE=LEVEL+LEVEL, such as 'RACE=3+4'")
        # A name may have the sign itself; the longest that fits is meant.
        fit = [name for name in schema.names if text.startswith(f"{name}=")]
        name = max(fit, key=len, default=text.partition("=")[0].strip())
        at = schema.positions([name], "merge")[0]
        parts = text[len(name) + 1 :] if fit else text.partition("=")[2]
        ways = list(_ways(schema.variables[at], [part.strip() for part in parts.split("+")]))
        if len(ways) > 1:
            raise ValueError(f"{said}: it can be read in {len(ways)} ways, since levels have a '+'")
        yield name, ways[0] if ways else [part.strip() for part in parts.split("+")], said


def _ways(variable: Variable, parts: Sequence[str]) -> Iterator[list[str]]:
    """Go through the ways to read texts between signs as levels, which may have the sign."""
    if not parts:
        yield []
    for n in range(1, len(parts) + 1):
        level = "+".join(parts[:n])
        if level in variable.levels or level in variable.labels:
            yield from ([level, *rest] for rest in _ways(variable, parts[n:]))


def _code(variable: Variable, level: str, said: str) -> int:
    for texts in (variable.levels, variable.labels):
        if level in texts:
            return texts.index(level)
    raise ValueError(
        f"{said}: {variable.name} has no level {level!r}; its levels are {shown(variable.levels)}"
    )


def merge_variable(
    variable: Variable, groups: Sequence[Sequence[int]]
) -> tuple[Variable, NDArray[np.int64]]:
    """Return a variable with levels merged, and its code of each former code.

    A merged level stands where the first of its levels stood, and has their texts, joined. It is a
    missing or not applicable value only where all of them are. Numbers stay cut where pieces that
    lie side by side are merged; of any others the variable keeps no cut points.

    Parameters
    ----------
    variable : Variable
        As it is.
    groups : sequence of sequences of int
        Codes that become one, as `read_merges` returns of one column.
    """
    first = np.arange(len(variable.levels))
    for group in groups:
        first[list(group)] = min(group)
    kept, new = np.unique(first, return_inverse=True)
    joined = [np.flatnonzero(first == code).tolist() for code in kept]

    def texts(of: Sequence[str], sign: str) -> tuple[str, ...]:
        return tuple(sign.join(of[code] for code in codes) for codes in joined)

    levels = texts(variable.levels, "+")
    none = set(variable.no_values)
    of_none = [i for i, codes in enumerate(joined) if none.issuperset(codes)]
    missing = levels[new[variable.code_of_missing]] if variable.missing else ""
    pieces = len(variable.edges) + 1
    side_by_side = all(
        max(group) - min(group) + 1 == len(group) and max(group) < pieces for group in groups
    )
    return replace(
        variable,
        levels=levels,
        labels=texts(variable.labels, " + "),
        # The edge between pieces i and i + 1 is no longer one where both are of one level.
        edges=tuple(e for i, e in enumerate(variable.edges) if new[i] != new[i + 1])
        if side_by_side
        else (),
        missing=missing if missing in [levels[i] for i in of_none] else "",
        not_applicable=tuple(levels[i] for i in of_none if levels[i] != missing),
    ), new.astype(np.int64)


def merge_levels(
    schema: Schema, merges: Merges, *tables: Codes
) -> tuple[Schema, tuple[Codes, ...]]:
    """Return a schema with levels merged, and tables in its codes.

    Parameters
    ----------
    schema : Schema
        The variables as they are.
    merges : mapping of int to sets of codes
        As `read_merges` returns.
    tables : (n, n_variables) int
        Codes from 0.
    """
    variables = list(schema.variables)
    copies = [table.copy() for table in tables]
    for at, groups in merges.items():
        variables[at], new = merge_variable(variables[at], groups)
        for table in copies:
            table[:, at] = new[table[:, at]]
    return Schema(tuple(variables)), tuple(copies)
