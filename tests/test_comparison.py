"""The comparison of notebooks' outputs fails where it should."""

import pytest
from comparison import comparable

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(*values, name="data-1", mark="bar"):
    """A chart's specification, with its data under a name."""
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    layer = {"data": {"name": name}, "mark": mark}
    return {"layer": [layer], "datasets": {name: rows}}


def views(*numbers, digits="1d"):
    """A chart whose parts are views by these numbers."""
    prefix = f"view_{8 * digits}"
    return {"hconcat": [{"name": f"{prefix}_{number}"} for number in numbers]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TABLE, TABLE.replace("-0.2500", "-0.25000000001")),
        (TABLE, TABLE.replace("  ", " ")),
        ("<td>0.1234</td>", "<td>0.12340000001</td>"),
        ("<svg>1</svg>", "<svg>2</svg>"),
        ("1.5e-3 and 2E5", "1.50000000001E-3 and 2e5"),
        ("1.5 × 10⁻³", "1.50000000001 × 10⁻³"),
        # Altair names data by a hash of all their digits, and views by one of all they
        # show.
        (views(0, 1, 0), views(11, 1, 11, digits="2e")),
        (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2")),
    ],
)
def test_outputs_that_differ_by_rounding_or_by_a_hash_agree(one, other):
    assert comparable(one) == comparable(other)
    assert (comparable(one) != comparable(other)) is False


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
