"""The comparison of notebooks' outputs fails where it should."""

from pathlib import Path
from typing import Any

import pytest
from comparison import COMPUTING, comparable, other_than_locked

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(*values: float, name: str = "data-1", mark: str = "bar") -> dict[str, Any]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    return {"layer": [{"data": {"name": name}, "mark": mark}], "datasets": {name: rows}}


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
        ("<td>0.1234</td>", "<td>0.12340000001</td>", True),
        ("<td>0.1234</td>", "<th>0.1234</th>", False),
        ("<svg>1</svg>", "<svg>2</svg>", True),
        # Altair names data by a hash of all their digits.
        (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2"), True),
        (chart(1.0, 2.0), chart(2.0, 1.0), False),
        (chart(1.0, 2.0), chart(1.0, 2.0, mark="line"), False),
        (chart(1.0), "1.0", False),
    ],
)
def test_words_agree_and_numbers_but_for_rounding(one: Any, other: Any, expected: bool) -> None:
    assert (comparable(one) == comparable(other)) is expected
    assert (comparable(one) != comparable(other)) is not expected


def test_another_version_or_platform_than_the_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = "".join(f"{name}==1.0 ; a\n" for name in COMPUTING)
    (tmp_path / "lock").write_text(locked)
    (tmp_path / "other").write_text(locked.replace("numpy==1.0", "numpy==1.1"))
    monkeypatch.setattr("comparison.version", lambda name: "1.0")
    for platform, other in (("linux", []), ("darwin", ["darwin x86_64"])):
        monkeypatch.setattr("comparison.sys.platform", platform)
        monkeypatch.setattr("comparison.platform.machine", lambda: "x86_64")
        assert other_than_locked(tmp_path / "lock") == other
        assert other_than_locked(tmp_path / "other") == [*other, "numpy 1.0"]
