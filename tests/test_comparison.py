"""The comparison of notebooks' outputs fails where it should."""

import pytest
from comparison import comparable

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(*values: float, name: str = "data-1", mark: str = "bar") -> dict[str, object]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    return {"layer": [{"data": {"name": name}, "mark": mark}], "datasets": {name: rows}}


def views(*places: int, digits: str = "1d") -> dict[str, object]:
    """A chart whose parts are views by these numbers."""
    return {"hconcat": [{"name": f"view_{8 * digits}_{place}"} for place in places]}


PAIRS = [
    (TABLE, TABLE.replace("-0.2500", "-0.25000000001"), True),
    (TABLE, TABLE.replace("  ", " "), True),
    (TABLE, TABLE + "\nMIL 1", False),
    (TABLE, TABLE.replace("-0.2500", "-0.2501"), False),
    (TABLE, TABLE.replace("-0.2500", "0.2500"), False),
    (TABLE, TABLE.replace("10,000", "10,001"), False),
    (TABLE, TABLE.replace("SEX", "AGE"), False),
    ("<td>0.1234</td>", "<td>0.12340000001</td>", True),
    ("<svg>1</svg>", "<svg>2</svg>", True),
    ("<td>0.1234</td>", "<th>0.1234</th>", False),
    # Altair names data by a hash of all their digits, and views by one of all they
    # show.
    (views(0, 1, 0), views(11, 1, 11, digits="2e"), True),
    (views(0, 1, 0), views(0, 1, 1), False),
    (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2"), True),
    (chart(1.0), "1.0", False),
    (chart(1.0, 2.0), chart(2.0, 1.0), False),
    (chart(1.0, 2.0), chart(1.0, 2.0, mark="line"), False),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_words_agree_and_numbers_but_for_rounding(one, other, expected):
    assert (comparable(one) == comparable(other)) is expected
    assert (comparable(one) != comparable(other)) is not expected
