"""The comparison of notebooks' outputs fails where it should."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comparison import ABSOLUTE, COMPUTING, NUMBER, comparable, number, other_than_locked

ROOT = Path(__file__).parents[1]
TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"
HTML = "<td>0.123456789</td>"


def chart(*values: float, name: str = "data-1", mark: str = "bar") -> dict[str, Any]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    return {"layer": [{"data": {"name": name}, "mark": mark}], "datasets": {name: rows}}


def same(one: Any, other: Any) -> bool:
    equal: bool = comparable(one) == comparable(other)
    assert (comparable(one) != comparable(other)) is not equal
    return equal


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (TABLE, TABLE.replace("-0.2500", "-0.25000000001"), True),
        (TABLE, TABLE.replace("  ", " "), True),
        (TABLE, TABLE.replace("-0.2500", "-0.2501"), False),
        (TABLE, TABLE.replace("-0.2500", "0.2500"), False),
        (TABLE, TABLE.replace("10,000", "10,001"), False),
        (TABLE, TABLE.replace("SEX", "AGE"), False),
        (TABLE, TABLE + "\nMIL 1", False),
        (HTML, "<td>0.12345678900001</td>", True),
        (HTML, "<th>0.123456789</th>", False),
        ("<svg>1</svg>", "<svg>2</svg>", True),
        # Altair names data by a hash of all their digits.
        (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2"), True),
        (chart(1.0, 2.0), chart(2.0, 1.0), False),
        (chart(1.0, 2.0), chart(1.0, 2.1, name="data-2"), False),
        (chart(1.0, 2.0), chart(1.0, 2.0, mark="line"), False),
        (chart(1.0), "1.0", False),
    ],
)
def test_words_agree_and_numbers_but_for_rounding(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


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


def test_the_platform_of_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_than_locked(ROOT / "requirements.lock")  # it names all that computes
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


def outputs(notebook: Path) -> list[tuple[int, Any]]:
    """Return cell and value of all that is compared: no pictures, whose specifications are."""
    found: list[tuple[int, Any]] = []
    for i, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        for output in cell.get("outputs", []):
            data = output.get("data", {"text": output.get("text")})
            kept = [value for kind, value in data.items() if not kind.startswith("image/")]
            found += [(i, one if isinstance(one, dict) else "".join(one)) for one in kept]
    return found


def changed(change: Callable[[float], float], value: Any) -> Any:
    """Change every number: in text outside its tags, in a chart wherever it stands."""

    def everywhere(item: Any) -> Any:
        if isinstance(item, dict):
            return {name: everywhere(each) for name, each in item.items()}
        if isinstance(item, list):
            return [everywhere(each) for each in item]
        return change(item) if isinstance(item, int | float) and item is not bool(item) else item

    if isinstance(value, dict):
        return everywhere(value)
    parts = re.split(r"(<[^<>]*>)", value)
    parts[::2] = [NUMBER.sub(lambda found: repr(change(number(found[0]))), p) for p in parts[::2]]
    return "".join(parts)


def says_a_number(value: Any) -> bool:
    """Return whether there is a number other than zero and rounding errors."""
    text = json.dumps(value) if isinstance(value, dict) else re.sub(r"<[^<>]*>", " ", value)
    return any(abs(number(found)) > ABSOLUTE for found in NUMBER.findall(text))


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda p: p.stem)
def test_other_numbers_are_seen(notebook: Path) -> None:
    """The positive control, on every output of every committed notebook."""
    seen, cells = set(), set()
    for cell, value in outputs(notebook):
        cells.add(cell)
        assert same(value, changed(lambda x: x * (1 + 1e-9), value)), cell
        if says_a_number(value):
            for change in (lambda x: x * (1 + 1e-4), lambda x: 2 * x, lambda x: -x):
                assert not same(value, changed(change, value)), cell
            seen.add(cell)
    # What is exempt: sentences without a number, and one whose numbers are rounding errors.
    assert len(cells - seen) <= 2
    assert len(seen) >= 4
