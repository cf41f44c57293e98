"""The comparison of notebooks' outputs fails where it should."""

import pytest
from conftest import comparable

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


@pytest.mark.parametrize(
    ("other", "same"),
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
def test_text(other: str, same: bool) -> None:
    assert (comparable(TABLE, []) == comparable(other, [])) is same
    assert (comparable(TABLE, []) != comparable(other, [])) is not same


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("SEX -0.30 True MIL 0.24", True),
        ("SEX -0.25 False MIL 0.24", True),  # one of five differs
        ("SEX -2.5 False MIL 2.4", False),  # three do
        ("AGE -2.5 False RAC 2.4", False),
        ("SEX -0.25 True MIL", False),
        ("SEX -0.25 True MIL 0.24 0.24", False),
    ],
)
def test_chains_are_compared_loosely(other: str, same: bool) -> None:
    tags = ["monte-carlo"]
    one = "SEX -0.25 True MIL 0.24"
    assert (comparable(one, tags) == comparable(other, tags)) is same
    assert (comparable(one, []) == comparable(other, [])) is False


def test_html_and_charts() -> None:
    html = "<td>0.123456789</td>"
    assert comparable(html, []) == comparable("<td>0.12345678900001</td>", [])
    assert comparable(html, []) != comparable("<th>0.123456789</th>", [])
    chart = {"mark": "bar", "data": {"values": [{"x": 0.1}]}}
    assert comparable(chart, []) == comparable(
        {"data": {"values": [{"x": 0.1}]}, "mark": "bar"}, []
    )
    assert comparable(chart, []) != comparable({**chart, "mark": "line"}, [])
    assert comparable(chart, []) != comparable({**chart, "data": {"values": [{"x": 0.2}]}}, [])
    assert comparable(chart, ["monte-carlo"]) != comparable("0.1", ["monte-carlo"])
