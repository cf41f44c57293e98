"""Tables have numbers that are easy to read, and no number is rounded to zero."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from comparison import number as parsed
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter

from srlib.display import callout, numbers, percent, show, with_minus

COLUMNS = {
    "": [],
    "1,000 25": [1000, 25],
    "17  8,709,120": [17, math.nan, 8709120],
    "0.001 0.300 0.999": [0.001, 0.3, 0.999],
    "1 0.85 0": [1, 0.85, 0],
    "0.01 0.2 2 10 1,000": [0.01, 0.2, 2, 10, 1000],
    "1,000 100 0.2": [1000, 1e2 - 1e-11, 0.2],
    "0.652 0.012 1.000": [0.6517, 0.0123, 1 - 1e-9],
    "684 392 2.75": [684.33, 391.87, 2.7512],
    "1.001 1.006 0.997": [1.0012, 1.0064, 0.9971],
    "1,762 1,394": [1762.07, 1394.35],
    "1.01 1.14 1.07 17.39": [1.0123, 1.1399, 1.0712, 17.3912],
    "1.65 1.03": [1.6512, 1.03],
    "149 1.84 1.00": [149.32, 1.8412, 1.0001],
    "22.12 0.05 1.30": [22.123, 0.05, 1.3],
    "0.512 0.400 0.300 0.200 <0.001": [0.5123, 0.4, 0.3, 0.2, 2e-5],
    "0.512 0.400 >−0.001 <0.001": [0.5123, 0.4, -1e-9, 1e-12],
    "0.125 0.0101 0.000578 3.14_×_10⁻⁵": [0.12521, 0.0101, 0.000578, 3.14e-5],
    "558,912 1.00 5.59_×_10⁶": [558912.4, 1.00001, 5589120.4],
    "−0.185 0 0.200": [-0.18512, -0.0, 0.2],
    "∞ −∞ 4.96": [math.inf, -math.inf, 4.9612],
}


@pytest.mark.parametrize(("expected", "values"), COLUMNS.items())
def test_numbers_of_a_column(expected, values):
    assert " ".join(numbers(values)) == expected.replace("_", "\u00a0")


def test_errors_have_two_digits_and_asked_decimals_are_given():
    assert numbers([0.08112, 0.0351], digits=2) == ["0.081", "0.035"]
    assert numbers([29.5330064, 0.1], decimals=5) == ["29.53301", "0.10000"]


@given(st.lists(st.floats(-1e200, 1e200), max_size=6))
def test_a_text_is_near_its_number_and_never_zero_for_another(values):
    for value, text in zip(values, numbers(values), strict=True):
        assert not re.search(r"[-e]|\.$", text)
        assert (text == "0") == (value == 0)
        assert ("−" in text) == (value < 0)
        if text[0] in "<>":
            assert abs(value) < abs(parsed(text[1:])) < 0.1
        else:
            near = 0.005 * max(map(abs, values))
            assert math.isclose(parsed(text), value, rel_tol=0.005, abs_tol=near)


def test_a_table_has_words_for_readers_and_escapes_text():
    columns = {"<b>": ["<i>", "-1.5"], "r_hat": [1.5, np.nan], "is_late": [True, False]}
    frame = pd.DataFrame(columns)

    html = show(frame, caption="a & b", names={"is_late": "late?"}).html

    parts = re.findall(r"<(?:caption|t[dh])(.*?)>(.*?)</", html)
    marks, cells = zip(*parts, strict=True)
    assert cells[:4] == ("a &amp; b", "&lt;b&gt;", "R-hat", "late?")
    assert cells[4:] == ("&lt;i&gt;", "1.5", "yes", "−1.5", "", "no")
    assert ["left" in mark for mark in marks[1:]] == [True, False, True] * 3
    assert repr(show(frame)).splitlines()[0] == "<b>   R-hat  is late"


def test_heads_of_several_rows_are_one():
    heads = pd.MultiIndex.from_tuples([("p0", "r_hat"), ("n", "")])
    table = show(pd.DataFrame([[1, 2.5]], columns=heads))
    assert repr(table).split("\n")[0] == "p₀, R-hat    n"


def test_cells_of_one_column_are_written_by_their_kind():
    cells = [np.float64(0.12345), "none", None, True, np.int64(3)]
    text = repr(show(pd.DataFrame({"x": cells})))
    assert text.split() == ["x", "0.12", "none", "yes", "3.00"]


NUMERIC = [
    ["0.16 ± 0.05", "-0.1 ± 0.2"],
    ["2.7 (2.3 to 3.3)", "≥ 1,000"],
    ["1", "2", "none"],
]
WORDS = [["18-29", "60+"], ["1 year", "2 years"], ["1", "none", "some"]]


@pytest.mark.parametrize("cells", NUMERIC + WORDS)
def test_cells_of_texts_with_numbers_stand_on_the_right(cells):
    html = show(pd.DataFrame({"x": cells})).html
    assert ("left" in html) == (cells in WORDS)


def test_a_hyphen_before_a_number_becomes_a_minus_sign():
    text = "-0.6 ± 0.4 (-.5), not 14-16, C-3, `-1`, $x - 1 = -2$ or [link](#a-3)"
    assert with_minus(text) == text.replace("-0.6", "−0.6").replace("(-.5", "(−.5")


def test_a_percentage_has_a_space_that_does_not_break():
    assert percent(0.774) == "77\u00a0%"
    assert percent(0.0625, 1) == "6.2\u00a0%"


def test_notebooks_keep_a_callout_as_a_quotation_and_as_text():
    data, _ = DisplayFormatter().format(callout("C1 holds", "They agree:\n\n- to 0.1"))
    assert data["text/markdown"] == "> **C1 holds.** They agree:\n>\n> - to 0.1"
    assert data["text/plain"] == "C1 holds. They agree:\n\n- to 0.1"
