"""The comparison of notebooks' outputs fails where it should."""

import pytest
from comparison import COMPUTING, comparable, other_than_locked

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(*values: float, name: str = "data-1", mark: str = "bar") -> dict[str, object]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    return {"layer": [{"data": {"name": name}, "mark": mark}], "datasets": {name: rows}}


PAIRS = [
    (TABLE, TABLE.replace("-0.2500", "-0.25000000001"), True),
    (TABLE, TABLE.replace("  ", " "), True), (TABLE, TABLE + "\nMIL 1", False),
    (TABLE, TABLE.replace("-0.2500", "-0.2501"), False),
    (TABLE, TABLE.replace("-0.2500", "0.2500"), False),
    (TABLE, TABLE.replace("10,000", "10,001"), False), (TABLE, TABLE.replace("SEX", "AGE"), False),
    ("<td>0.1234</td>", "<td>0.12340000001</td>", True), ("<svg>1</svg>", "<svg>2</svg>", True),
    ("<td>0.1234</td>", "<th>0.1234</th>", False),
    # Altair names data by a hash of all their digits.
    (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2"), True), (chart(1.0), "1.0", False),
    (chart(1.0, 2.0), chart(2.0, 1.0), False),
    (chart(1.0, 2.0), chart(1.0, 2.0, mark="line"), False),
]  # fmt: skip
PLATFORMS = [("linux", "1", []), ("linux", "2", ["numpy 2"]), ("darwin", "1", ["darwin x86_64"])]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_words_agree_and_numbers_but_for_rounding(
    one: object, other: object, expected: bool
) -> None:
    assert (comparable(one) == comparable(other)) is expected
    assert (comparable(one) != comparable(other)) is not expected


def test_another_version_or_platform_than_the_locks_is_named(tmp_path, monkeypatch):
    (tmp_path / "lock").write_text("".join(f"{name}==1 ; a\n" for name in COMPUTING))
    monkeypatch.setattr("comparison.platform.machine", lambda: "x86_64")
    for platform, numpy, other in PLATFORMS:
        installed = dict.fromkeys(COMPUTING, "1") | {"numpy": numpy}
        monkeypatch.setattr("comparison.version", installed.get)
        monkeypatch.setattr("comparison.sys.platform", platform)
        assert other_than_locked(tmp_path / "lock") == other
