"""The comparison of notebooks' outputs fails where it should."""

import sys
from pathlib import Path
from typing import Any

import pytest
from comparison import COMPUTING, comparable, other_than_locked

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
