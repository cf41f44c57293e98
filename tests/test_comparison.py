"""The comparison of notebooks' outputs fails where it should."""

import functools
import itertools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comparison import (
    ABSOLUTE,
    COMPUTING,
    NUMBER,
    comparable,
    other_than_locked,
)
from comparison import _number as number

ROOT = Path(__file__).parents[1]
TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"
HTML = """
<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
<tr><th rowspan="2">x</th><td>0.1</td><td>3.0</td></tr><tr><td>0.2</td><td>5.0</td></tr>
</tbody></table>"""


def same(one: Any, other: Any, exact: bool) -> bool:
    equal: bool = comparable(one, exact) == comparable(other, exact)
    assert (comparable(one, exact) != comparable(other, exact)) is not equal
    return equal


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (TABLE, True),
        (TABLE.replace("-0.2500", "-0.25000000001"), True),
        (TABLE.replace("  ", " "), True),
        (TABLE.replace("-0.2500", "-0.2501"), False),
        (TABLE.replace("-0.2500", "0.2500"), False),
        (TABLE.replace("10,000", "10,001"), False),
        (TABLE.replace("SEX", "AGE"), False),
        (TABLE + "\nMIL 1", False),
    ],
)
def test_exact(other: str, expected: bool) -> None:
    assert same(TABLE, other, True) is expected


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("R-hat is 1.01, at most.", ["1.01"]),
        ("-0.5 −3 +2 1e-07 2.5E+3 10,000.5", ["-0.5", "−3", "+2", "1e-07", "2.5E+3", "10,000.5"]),
        ("5.6 × 10⁵, −2\u00a0×\u00a010⁻⁷ <0.001", ["5.6 × 10⁵", "−2\u00a0×\u00a010⁻⁷", "0.001"]),
        ("33% of (45-59), ε=2; [1, 2]", ["33", "45", "59", "2", "1", "2"]),
        ("p0 x_1 3.14.2 2,3,4,1 1,23 3rd", []),
    ],
)
def test_what_a_number_is(text: str, numbers: list[str]) -> None:
    assert NUMBER.findall(text) == numbers


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("SEX -0.30, MIL 0.24, False, 7.1", True),
        ("SEX -0.25, MIL 0.24, False, 7.0\nAll of 9 converged.", True),
        ("SEX -0.25, MIL 2.40, False, 7.0", True),  # one of three differs
        ("SEX -2.50, MIL 2.40, False, 7.0", False),
        ("SEX 0.25, MIL -0.24, False, -7.0", False),
        ("SEX -0.50, MIL 0.48, False, 14.0", False),
        ("SEX -2.50, MIL 2.40, False, 7.0\nAll of 9 converged.", False),
        ("None of 9 converged.", True),  # says something else
        ("no numbers", False),
    ],
)
def test_loose(other: str, expected: bool) -> None:
    one = "SEX -0.25, MIL 0.24, False, 7.0"
    assert same(one, other, False) is expected
    assert same(one, other, True) is False


def test_loose_by_columns() -> None:
    # The sizes of the columns differ: what is near in b is far in a.
    assert same(HTML, HTML.replace("3.0", "3.1").replace("<td>", '<td class="1">'), False)
    assert not same(HTML, HTML.replace("0.1", "0.3").replace("0.2", "0.4"), False)
    assert not same(HTML, swapped(HTML), False)
    assert not same(HTML, re.sub("<tr><th.*</tr>", "", HTML), False)
    # In a name they are parts of the name.
    assert same(HTML.replace(">x<", ">aged 45-59<"), HTML.replace(">x<", ">wed, 1-5 years<"), False)
    # Zeros agree with zeros and tell nothing of the others.
    zeros = HTML.replace("0.1", "0.0")
    assert same(zeros, zeros.replace("0.2", "0.21"), False)
    assert not same(zeros, zeros.replace("0.2", "0.9"), False)


def test_html_and_charts_exactly() -> None:
    html = "<td>0.123456789</td>"
    assert same(html, "<td>0.12345678900001</td>", True)
    assert not same(html, "<th>0.123456789</th>", True)
    chart = {"mark": "bar", "data": {"values": [{"x": 0.1}]}}
    assert same(chart, {"data": {"values": [{"x": 0.1}]}, "mark": "bar"}, True)
    assert not same(chart, {**chart, "mark": "line"}, True)
    assert not same(chart, {**chart, "data": {"values": [{"x": 0.2}]}}, True)
    assert not same(chart, "0.1", True)
    assert same("<svg>1</svg>", "<svg>2</svg>", True)


def chart_of(*values: float, name: str = "data-1") -> dict[str, Any]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    return {"layer": [{"data": {"name": name}, "mark": {"size": 1}}], "datasets": {name: rows}}


def test_data_of_charts() -> None:
    # Altair names data by a hash of all their digits.
    chart = chart_of(1.0, 2.0, 3.0)
    assert same(chart, chart_of(1.0, 2.0, 3.0 + 1e-12, name="data-2"), True)
    assert not same(chart, chart_of(2.0, 1.0, 3.0), True)
    assert same(chart, chart_of(2.1, 1.0, 3.0, name="data-2"), False)
    assert not same(chart, chart_of(2.0, 4.0, 6.0), False)
    assert not same(chart, chart_of(), False)


def test_the_platform_of_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "requirements.lock"
    monkeypatch.setattr("comparison.version", lambda name: "1.0")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    lock.write_text("".join(f"{name}==1.0\n" for name in COMPUTING))
    assert other_than_locked(lock) == []
    lock.write_text("".join(f"{name}==1.{name == 'numpy':d} ; a\n" for name in COMPUTING))
    assert other_than_locked(lock) == ["numpy 1.0"]
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert other_than_locked(lock) == ["linux arm64", "numpy 1.0"]


def test_the_lock_names_what_computes() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert {f"\n{name}==" in f"\n{lock}" for name in COMPUTING} == {True}


# Positive controls: every committed notebook, with other numbers.

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[dh][^>]*>.*?</t[dh]>", re.DOTALL)


@functools.cache
def outputs(notebook: Path) -> list[tuple[int, Any]]:
    """Cell and value of all that is compared: no pictures, whose specifications are."""
    found: list[tuple[int, Any]] = []
    for i, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        for output in cell.get("outputs", []):
            data = output.get("data", {"text": output.get("text")})
            found += [
                (i, value if isinstance(value, dict) else "".join(value))
                for kind, value in data.items()
                if not kind.startswith("image/")
            ]
    return found


def with_numbers(change: Callable[[float], float], value: Any) -> Any:
    """Every number changed: in text outside its tags, in a chart wherever it stands."""
    if isinstance(value, str):
        return "".join(
            piece
            if piece.startswith("<")
            else NUMBER.sub(lambda found: repr(change(number(found[0]))), piece)
            for piece in re.split(r"(<[^<>]*>)", value)
        )
    if isinstance(value, dict):
        return {name: with_numbers_in_json(change, item) for name, item in value.items()}
    return value


def with_numbers_in_json(change: Callable[[float], float], value: Any) -> Any:
    if isinstance(value, dict):
        return {name: with_numbers_in_json(change, item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_numbers_in_json(change, item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return change(value)
    return value


def says_a_number(value: Any) -> bool:
    """Whether there is a number other than zero and rounding errors."""
    text = json.dumps(value) if isinstance(value, dict) else re.sub(r"<[^<>]*>", " ", value)
    return any(abs(number(found)) > ABSOLUTE for found in NUMBER.findall(text))


# What a notebook shows of tables and charts with two columns of numbers, where it shows few.
FEWEST_TABLES = {"assess": 4, "charest": 9, "sequential_trees": 5, "what_a_risk_means": 4}


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "loose"])
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_other_numbers_are_seen(notebook: Path, exact: bool) -> None:
    seen = set()
    for cell, value in outputs(notebook):
        assert same(value, with_numbers(lambda x: x * (1 + 1e-9), value), exact), cell
        if says_a_number(value):
            assert not same(value, with_numbers(lambda x: 10 * x, value), exact), cell
            assert not same(value, with_numbers(lambda x: 2 * x, value), exact), cell
            assert not same(value, with_numbers(lambda x: -x, value), exact), cell
            seen.add(cell)
    # What is exempt: sentences without a number, and one whose numbers are rounding errors.
    silent = {cell for cell, _ in outputs(notebook)} - seen
    assert len(silent) <= 2
    assert len(seen) >= FEWEST_TABLES.get(notebook.stem, 10)


Rows = list[dict[Any, Any]]


def as_number(item: Any) -> float | None:
    if isinstance(item, str):
        item = re.sub(r"<[^<>]*>", "", item).strip()
        return number(item) if NUMBER.fullmatch(item) else None
    return item if isinstance(item, int | float) and not isinstance(item, bool) else None


def pairs_of(rows: Rows, a: Any, b: Any) -> list[tuple[float, float]]:
    both = [(as_number(row.get(a)), as_number(row.get(b))) for row in rows]
    return [(x, y) for x, y in both if x is not None and y is not None]


def differing_most(rows: Rows) -> tuple[Any, Any] | None:
    """The two columns that differ most, if any do."""

    def difference(pair: tuple[Any, Any]) -> float:
        return sum(abs(x - y) for x, y in pairs_of(rows, *pair))

    pair = max(itertools.combinations(rows[0], 2), key=difference, default=None)
    return pair if pair and difference(pair) else None


def tables_of(value: Any) -> list[Rows]:
    """Rows of a table, its cells counted from the right, or of each of a chart's data."""
    if isinstance(value, dict):
        return list(value["datasets"].values())
    rows = [CELL.findall(row) for row in ROW.findall(value.partition("<tbody>")[2])]
    return [[dict(enumerate(row, -len(row))) for row in rows]] if rows else []


def swapped(value: Any) -> Any:
    """A table or chart with those two columns exchanged, in each of a chart's data."""
    tables = []
    for rows in tables_of(value):
        a, b = differing_most(rows) or (None, None)
        tables.append([{**row, a: row.get(b), b: row.get(a)} if a else row for row in rows])
    if isinstance(value, dict):
        return {**value, "datasets": dict(zip(value["datasets"], tables, strict=True))}
    body = "".join(f"<tr>{''.join(row.values())}</tr>" for row in tables[0])
    return f"{value.partition('<tbody>')[0]}<tbody>{body}</tbody></table>"


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "loose"])
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_swapped_columns_are_seen(notebook: Path, exact: bool) -> None:
    seen, near = 0, 0
    for cell, value in outputs(notebook):
        pairs = [
            pairs_of(rows, *pair) for rows in tables_of(value) if (pair := differing_most(rows))
        ]
        if not pairs:
            continue
        if not exact and all(is_near(value, numbers) for numbers in pairs):
            near += 1
            continue
        assert not same(value, swapped(value), exact), cell
        seen += 1
    # What is exempt: tables with one column of numbers, and by the loose rule those in which the
    # two columns that differ most are mostly within a factor of two.
    assert near <= max(2, seen / 4)
    assert seen >= FEWEST_TABLES.get(notebook.stem, 10)


def is_near(value: Any, numbers: list[tuple[float, float]]) -> bool:
    """Whether half of the numbers or more are within a factor of two, of a chart when sorted."""
    if isinstance(value, dict):
        numbers = list(zip(*(sorted(column) for column in zip(*numbers, strict=True)), strict=True))
    low_high = [sorted((abs(x), abs(y))) for x, y in numbers if x * y > 0 or x == y]
    return sum(high <= 2 * low for low, high in low_high) >= len(numbers) / 2
