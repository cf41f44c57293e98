"""The comparison of notebooks' outputs fails where it should."""

import pytest
from comparison import comparable

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(*values, mark="bar"):
    """A chart's specification, with its data under a name."""
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    layer = {"data": {"name": "data-1"}, "mark": mark}
    return {"layer": [layer], "datasets": {"data-1": rows}}


def views(*numbers):
    """A chart whose parts are views by these numbers."""
    return {
        "hconcat": [{"name": f"view_1d1d1d1d1d1d1d1d_{number}"} for number in numbers]
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TABLE, TABLE + "\nMIL 1"),
        (TABLE, TABLE.replace("-0.2500", "-0.2501")),
        (TABLE, TABLE.replace("-0.2500", "0.2500")),
        (TABLE, TABLE.replace("10,000", "10,001")),
        (TABLE, TABLE.replace("SEX", "AGE")),
        ("<td>0.1234</td>", "<th>0.1234</th>"),
        (views(0, 1, 0), views(0, 1, 1)),
        (chart(1.0), "1.0"),
        (chart(1.0, 2.0), chart(2.0, 1.0)),
        (chart(1.0, 2.0), chart(1.0, 2.0, mark="line")),
    ],
)
def test_outputs_with_other_words_or_numbers_differ(one, other):
    assert comparable(one) != comparable(other)
    assert (comparable(one) == comparable(other)) is False
