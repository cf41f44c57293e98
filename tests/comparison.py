"""How the committed notebooks are compared with a new execution: the one place of tolerances.

nbval compares outputs as text. Here their numbers are compared as numbers, by one of two rules.

Exact: all words agree, and all numbers but for rounding. The same seeds give the same digits on
the platform of `requirements.lock`, so that there this rule holds for every cell; for cells that
are not tagged monte-carlo it holds everywhere.

Loose, for cells tagged monte-carlo on other platforms, where chains may take other turns: words
and tags count for nothing but for where a number stands, and of each column more than half of the
numbers have to be near those that are committed. With all numbers multiplied by two or more, or
with all signs changed, the larger half of a column is not (see `_alike`).

Pictures are compared by the specification that they were drawn from.
"""

import json
import math
import platform
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

# Exact: relative and absolute difference of two numbers.
RELATIVE, ABSOLUTE = 1e-6, 1e-9
# Loose: difference relative to the smaller of two numbers, and to the size of their column. A
# factor of two goes unnoticed only where the sum of both is 1 or more, a changed sign at 2.
NEAR, NEAR_OF_COLUMN = 0.5, 0.25

# Not in names (p0), versions (1.2.3) or codes (2,3,1).
NUMBER = re.compile(
    r"(?<![\w.,])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+|\s×\s10⁻?[⁰¹²³⁴-⁹]+)?"
    r"(?!\w|[.,]\d)"
)
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# What outputs are computed and written with.
COMPUTING = (
    "altair",
    "arviz-stats",
    "llvmlite",
    "numba",
    "numpy",
    "pandas",
    "scipy",
    "xarray",
)

# The numbers of each column, by their places in it.
Columns = dict[Any, dict[Any, float]]


class Output(str):
    """Text of an output that equals another where they agree by the rule in force."""

    columns: Columns | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Output):
            return NotImplemented
        if str.__eq__(self, other):
            return True
        if self.columns is None or other.columns is None:
            return _same(str(self), str(other))
        return all(
            _alike(self.columns.get(name, {}), other.columns.get(name, {}))
            for name in self.columns | other.columns
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def comparable(value: Any, exact: bool) -> Any:
    """One output in the form in which two executions are compared.

    Parameters
    ----------
    value : object
        Text, or the specification of a chart.
    exact : bool
        The rule: exact or loose.
    """
    if isinstance(value, dict):
        specification = _with_data(value, value.get("datasets", {}))
        output = Output(json.dumps(specification, sort_keys=True))
        output.columns = None if exact else _columns_of_chart(specification)
    elif not isinstance(value, str):
        return value
    elif value.lstrip().startswith("<svg"):
        output = Output("a picture of the specification")
    else:
        output = Output(value)
        output.columns = None if exact else _columns_of_text(value)
    return output


def other_than_locked(lock: Path) -> list[str]:
    """Tell what computes outputs here and not on the platform of the lock.

    Parameters
    ----------
    lock : Path
        requirements.lock.

    Returns
    -------
    list of str
        System and packages, each with its version. Empty on the platform of the lock: Linux on
        x86_64 with the locked versions of what computes.
    """
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock.read_text(encoding="utf-8"), re.M))
    other = []
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        other.append(f"{sys.platform} {platform.machine()}")
    for name in COMPUTING:
        try:
            installed = version(name)
        except PackageNotFoundError:
            installed = "missing"
        if installed != locked[name]:
            other.append(f"{name} {installed}")
    return other


def _number(text: str) -> float:
    mantissa, *exponent = re.split(r"\s×\s10", text.replace(",", "").replace("−", "-"))
    return float("e".join([mantissa, *(each.translate(_RAISED) for each in exponent)]))


def _same(text: str, other: str) -> bool:
    mine, theirs = _words(text), _words(other)
    if len(mine) != len(theirs):
        return False
    for a, b in zip(mine, theirs, strict=True):
        if NUMBER.fullmatch(a) and NUMBER.fullmatch(b):
            if not math.isclose(_number(a), _number(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE):
                return False
        elif a != b:
            return False
    return True


def _words(text: str) -> list[str]:
    # Numbers and HTML tags stand alone; rules of a table, as wide as its numbers, are left out.
    text = re.sub(r"<[^<>]*>", lambda match: f" {match[0]} ", text)
    words = NUMBER.sub(lambda match: f" {_number(match[0])!r} ", text).split()
    return [word for word in words if word.strip("-")]


def _alike(mine: dict[Any, float], theirs: dict[Any, float]) -> bool:
    """Whether most numbers of a column are near, of those that have a place in both.

    The size of a column is the median of its numbers without sign: half of them at least are as
    large, and of these none is near twice itself or itself with the other sign. Zeros on both
    sides tell nothing.
    """
    common = mine.keys() & theirs.keys()
    if not common:
        return bool(mine) == bool(theirs)
    pairs = [(mine[place], theirs[place]) for place in common if mine[place] or theirs[place]]
    size = (
        min(
            median([abs(number) for number in column if number] or [0.0])
            for column in zip(*pairs, strict=True)
        )
        if pairs
        else 0.0
    )
    near = [abs(a - b) <= NEAR * min(abs(a), abs(b)) + NEAR_OF_COLUMN * size for a, b in pairs]
    return sum(near) > len(near) / 2 or not near


class _Tables(HTMLParser):
    """Texts of the cells of tables, row by row; what stands outside them is the first table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = [[[""]]]
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        table = self.tables[-1] if self.inside else self.tables[0]
        table[-1][-1] += data


def _columns_of_text(text: str) -> Columns:
    columns: Columns = defaultdict(dict)
    (((outside,),), *tables) = _Tables(text).tables
    seen: Counter[str] = Counter()
    for line in outside.splitlines():
        words = _words_alone(line)
        columns["text"] |= _placed(line, seen[words])
        seen[words] += 1
    for t, table in enumerate(tables):
        for r, row in enumerate(table):
            for c, cell in enumerate(row):
                # From the right: a row's name may span rows and is then missing below.
                columns[t, c - len(row)] |= _placed(cell, r)
    return columns


def _placed(text: str, row: int) -> dict[Any, float]:
    # The words are a part of the place: numbers in another sentence or name are others.
    words = _words_alone(text)
    return {(row, words, k): _number(found) for k, found in enumerate(NUMBER.findall(text))}


def _words_alone(text: str) -> str:
    return " ".join(NUMBER.sub(" ", text).split())


def _columns_of_chart(specification: dict[str, Any]) -> Columns:
    # Their distribution alone: draws come in another order, and points fall together or apart.
    columns: Columns = {}
    for t, rows in enumerate(_data(specification)):
        for name in {name: None for row in rows for name in row}:
            numbers = [row[name] for row in rows if isinstance(row.get(name), int | float)]
            columns[t, name] = dict(enumerate(sorted(numbers)))
    return columns


def _data(value: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "data" and isinstance(item, dict) and "values" in item:
                yield item["values"]
            else:
                yield from _data(item)
    elif isinstance(value, list):
        for item in value:
            yield from _data(item)


def _with_data(value: Any, datasets: dict[str, Any]) -> Any:
    # Data take the place of their names, which are hashes: another with every digit.
    if isinstance(value, dict):
        if value.get("name") in datasets:
            return {"values": datasets[value["name"]]}
        return {
            name: _with_data(item, datasets) for name, item in value.items() if name != "datasets"
        }
    if isinstance(value, list):
        return [_with_data(item, datasets) for item in value]
    return value
