"""Claims beside the table that decides, and printed numbers beside computed ones."""

import math
import warnings
from typing import Any

import pandas as pd
import pytest

from srlib import ledger
from srlib.ledger import Claims

HELD: dict[str, Any] = {"measured": "epsilon", "relation": "<=", "limit": 1.0}


def checked(word="holds", **given):
    claims = Claims({"C1": "For every prior."})
    shown = claims.check("C1", word, "As written.", **HELD | given)
    return claims, shown


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"value": 0.9}, "holds"),
        ({"value": 1.0}, "holds"),
        ({"value": 1.0, "relation": "<"}, "fails"),
        ({"value": 1.1}, "fails"),
        ({"value": 0.9, "relation": ">"}, "fails"),
        ({"value": 0.9, "error": 0.049}, "holds"),
        ({"value": 0.9, "error": 0.051}, "not decided"),
        ({"value": 1.1, "error": 0.049}, "fails"),
        ({"value": [0.9, 1.1]}, "depends on the case"),
        ({"value": [0.9, 1.1], "limit": [0.8, 1.2]}, "depends on the case"),
        ({"value": [0.9, 1.1], "limit": [1.0, 1.2]}, "holds"),
        ({"value": [0.5, 1.01], "error": 0.1}, "not decided"),
        ({"value": [0.5, 1.01, 2.0], "error": 0.1}, "depends on the case"),
        ({"value": [0.5] * 19 + [2.0], "nearly": 0.95}, "holds"),
        ({"value": [0.5] + [2.0] * 19, "nearly": 0.95}, "fails"),
        ({"value": [0.5] * 2 + [2.0] * 18, "nearly": 0.95}, "depends on the case"),
        ({"value": math.inf}, "fails"),
    ],
)
def test_word_is_that_of_all_cases(given, word):
    claims, shown = checked("not decided", **given)
    assert claims.table["word"].tolist() == [word]
    assert shown.kind == f"C1 {word}"


def test_authors_word_stands_where_the_run_bears_it():
    cases = pd.Series({"distance": 0.7, "P": 0.1, "log P": 1.8})
    _, shown = checked("depends on the score", value=cases)
    assert shown.kind == "C1 depends on the score"
    assert shown.text == (
        "As written. (epsilon: as claimed in 2 of 3 cases; at the worst 1.8, to be ≤\u00a01, "
        "at log P.)"
    )
    _, shown = checked("fails", value=cases.set_axis([("d", 1), ("d", 2), ("e", 1)]) + 1.5)
    assert shown.text.endswith("to be ≤\u00a01, at e, 1.)")
    _, shown = checked("proved", value=0.7)
    assert (shown.kind, shown.text) == ("C1 proved", "As written. (epsilon: 0.7, to be ≤\u00a01.)")


@pytest.mark.parametrize("word", ["holds", "proved", "fails", "not decided"])
def test_a_run_that_does_not_bear_the_word_says_so(word):
    claims, shown = checked(word, value=[0.9, 1.1])
    assert shown.kind == "C1 depends on the case"
    assert shown.text.startswith(f"This run does not bear the word *{word}*.")
    assert "As written" not in shown.text
    assert claims.table[["word", "written"]].to_numpy().tolist() == [["depends on the case", word]]


def test_list_at_the_top_is_filled_by_the_run(monkeypatch):
    from IPython.display import DisplayHandle

    told = []

    def display(shown, **_):
        told.append(shown)
        return DisplayHandle("x")

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(DisplayHandle, "update", lambda self, shown, **_: told.append(shown))
    claims = Claims({"C1": "For |x| < 1.", "C2": "Always."})
    claims._ipython_display_()
    claims.check("C2", "fails", "Never.", **HELD | {"value": -1.5, "relation": ">"})
    before, after = (shown["text/markdown"].splitlines() for shown in told)
    assert before[2:] == [r"| **C1** | For \|x\| < 1. |  |  |", "| **C2** | Always. |  |  |"]
    assert after[3] == "| **C2** | Always. | fails | epsilon: −1.5, to be >\u00a01. |"
    with pytest.raises(ValueError, match="not checked: C1"):
        _ = claims.table


def test_words_alone_name_no_number_and_none_of_few_records():
    claims = Claims({"C1": "a", "C2": "b"})
    claims.check("C2", "holds", "Yes.", **HELD | {"value": 0.123, "records": 10})
    claims.check("C1", "holds", "Yes.", **HELD | {"value": 0.123, "records": 9})
    assert claims.words().text == "C1 not shown. C2 holds."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": math.nan}, "missing"),
        ({"value": 1.0, "error": math.nan}, "missing"),
        ({"value": []}, "missing"),
        ({"value": 1.0, "relation": "=="}, "relation '=='"),
        ({"value": 1.0, "word": "mostly"}, "word is 'mostly'"),
    ],
)
def test_what_cannot_be_judged_is_refused(given, message):
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        checked(**given)


def test_only_stated_claims_are_checked():
    with pytest.raises(ValueError, match="claim is 'C3'; it must be one of C1"):
        Claims({"C1": "a"}).check("C3", "holds", "Yes.", **HELD | {"value": 1.0})


# -------------------------------------------------------------------------------------- ledger


@pytest.fixture
def paper(monkeypatch):
    """Printed numbers of no paper."""
    rows = [
        ("a", "Section 1", "a mean", "=", "-0.250", ""),
        ("b", "Table 1", "a bound", "<=", "1.25", ""),
        ("c", "Table 1", "another bound", ">=", "1.25", ""),
        ("d", "Table 1", "a size", "=", "36", "2"),
    ]
    columns = ["id", "source", "quantity", "relation", "printed", "tolerance"]
    frame = pd.DataFrame(rows, columns=columns)
    monkeypatch.setattr(ledger.pd, "read_csv", lambda *_, **__: frame.copy())
    return "charest"


def verdicts(paper, computed, **given):
    notes = dict.fromkeys("abcd", "section 3")
    book = ledger.ledger(paper, computed, **{"missing": "no data", "notes": notes} | given)
    return book.set_index("id")["verdict"].to_dict()


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("a", -0.251, "match"),
        ("a", -0.249, "match"),
        ("a", -0.2511, "differs"),
        ("a", 0.25, "differs"),
        ("a", math.nan, "differs"),
        ("b", 1.25, "match"),
        ("b", 1.2501, "differs"),
        ("c", 1.25, "match"),
        ("c", 1.24, "differs"),
        ("d", 38, "match"),
        ("d", 33, "differs"),
    ],
)
def test_numbers_are_judged_by_the_last_digit_printed(paper, key, value, verdict):
    assert verdicts(paper, {key: value})[key] == verdict
    assert verdicts(paper, {}, consistent={key: (value, "a check")})[key] == (
        "consistent" if verdict == "match" else "differs"
    )


def test_tolerance_is_two_monte_carlo_errors(paper):
    assert [verdicts(paper, {"a": -0.27}, errors={"a": e})["a"] for e in (0.011, 0.009)] == [
        "match", "differs",
    ]  # fmt: skip


def test_settings_are_compared_with_nothing_and_the_rest_has_a_reason(paper):
    book = ledger.ledger(
        paper, {"a": 3.0}, settings={"d": 35}, skip={"a": "other data"}, missing="no data"
    ).set_index("id")
    assert book["verdict"].tolist() == ["skipped", "skipped", "skipped", "setting"]
    assert book["note"].tolist()[::3] == ["other data", "another setting than the paper's"]
    assert book["computed"].tolist()[::3] == [3.0, 35.0]


@pytest.mark.parametrize(
    ("computed", "given", "message"),
    [
        ({"x": 1.0}, {}, "computed has ids that charest does not print: .'x'"),
        ({}, {"notes": {"x": ""}}, "notes has ids"),
        ({"a": 1.0}, {"settings": {"a": 1.0}}, "computed has, too: .'a'"),
        ({}, {"missing": None}, "neither computed nor skipped: .'a', 'b', 'c', 'd'"),
        ({"a": 1.0}, {"notes": {}}, "without a note: .'a'"),
    ],
)
def test_ledger_refuses_what_is_not_printed_left_out_or_unexplained(
    paper, computed, given, message
):
    with pytest.raises(ValueError, match=message):
        verdicts(paper, computed, **given)


def test_summary_counts_by_source_and_tells_what_differs_and_what_is_not_judged(paper):
    book = ledger.ledger(paper, {"a": 1.0, "b": 3.0, "c": 2.0}, missing="no data",
                         notes=dict.fromkeys("ab", "see section 6"))  # fmt: skip
    counts, differs, skipped = ledger.summary(book).parts
    assert repr(counts).splitlines()[-1].split() == ["all", "1", "2", "1"]
    assert "see section 6" in differs.html
    assert "≤\u00a01.25" in repr(differs)
    assert "no data" in skipped.html


@pytest.mark.parametrize("name", ["charest", "charest_han", "hu_reiter_wang", "mcclure_reiter"])
def test_printed_numbers_are_well_formed(name):
    table = ledger.printed(name)
    assert table["id"].is_unique
    assert table["id"].str.fullmatch(r"[a-z0-9_.]+").all()
    assert (table[["source", "quantity", "printed"]] != "").all(axis=None)
    assert set(table["relation"]) <= {"=", "<=", ">="}
    assert (table["tolerance"] >= 0).all()
    with pytest.raises(ValueError, match=f"must be one of .*{name}"):
        ledger.printed(name[:2])
