"""The comparison of notebooks' outputs fails where it should."""

import pytest
from comparison import comparable

TABLE = "term   estimate\nSEX     -0.2500\nn     10,000"


def chart(
    *values: float, name: str = "data-1", mark: str = "bar", view: str = f"view_{'1d' * 8}_0"
) -> dict[str, object]:
    rows = [{"draw": i, "value": value} for i, value in enumerate(values)]
    layer = {"data": {"name": name}, "mark": mark, "name": view}
    return {"layer": [layer], "datasets": {name: rows}}


PAIRS = [
    (TABLE, TABLE.replace("-0.2500", "-0.25000000001"), True),
    (TABLE, TABLE.replace("  ", " "), True), (TABLE, TABLE + "\nMIL 1", False),
    (TABLE, TABLE.replace("-0.2500", "-0.2501"), False),
    (TABLE, TABLE.replace("-0.2500", "0.2500"), False),
    (TABLE, TABLE.replace("10,000", "10,001"), False), (TABLE, TABLE.replace("SEX", "AGE"), False),
    ("<td>0.1234</td>", "<td>0.12340000001</td>", True), ("<svg>1</svg>", "<svg>2</svg>", True),
    ("<td>0.1234</td>", "<th>0.1234</th>", False),
    # Altair names data by a hash of all their digits, and views by one of all they show.
    (chart(1.0), chart(1.0, view=f"view_{'2e' * 8}_0"), True),
    (chart(1.0), chart(1.0, view=f"view_{'1d' * 8}_1"), False),
    (chart(1.0, 2.0), chart(1.0, 2.0 + 1e-12, name="data-2"), True), (chart(1.0), "1.0", False),
    (chart(1.0, 2.0), chart(2.0, 1.0), False),
    (chart(1.0, 2.0), chart(1.0, 2.0, mark="line"), False),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_words_agree_and_numbers_but_for_rounding(one, other, expected):
    assert (comparable(one) == comparable(other)) is expected
    assert (comparable(one) != comparable(other)) is not expected
