"""Claims beside the table that decides, and printed numbers beside computed ones."""

import math
from io import StringIO
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from refusals import value_error

from srlib import ledger
from srlib.ledger import Claims

HELD: dict[str, Any] = {"measured": "epsilon", "relation": "<=", "limit": 1.0}


def checked(verdict="holds", claim="C1", **given):
    claims = Claims({"C1": "For every prior."})
    shown = claims.check(claim, verdict, "As written.", **HELD | given)
    return claims, shown


VERDICTS: dict[str, list[Any]] = {
    "holds": [
        {"value": 1.0},
        {"value": 0.9, "error": 0.049},
        {"value": [0.9, 1.1], "limit": [1.0, 1.2]},
        {"value": [0.5] * 19 + [2.0], "required_share": 0.95},
    ],
    "fails": [
        {"value": 1.0, "relation": "<"},
        {"value": 1.1},
        {"value": 0.9, "relation": ">"},
        {"value": 1.1, "error": 0.049},
        {"value": [0.5] + [2.0] * 19, "required_share": 0.95},
        {"value": math.inf},
    ],
    "depends on the case": [
        {"value": [0.9, 1.1]},
        {"value": [0.9, 1.1], "limit": [0.8, 1.2]},
        {"value": [0.5, 1.01, 2.0], "error": 0.1},
        {"value": [0.5] * 2 + [2.0] * 18, "required_share": 0.95},
    ],
    "not decided": [
        {"value": 0.9, "error": 0.051},
        {"value": [0.5, 1.01], "error": 0.1},
        {
            "value": [0.5] * 93 + [2.0] * 4 + [1.01] * 3,
            "error": 0.1,
            "required_share": 0.95,
        },
    ],
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdict_is_that_of_all_cases(verdict):
    for given in VERDICTS[verdict]:
        claims, shown = checked("not decided", **given)
        assert claims.table["verdict"].tolist() == [verdict]
        assert shown.kind == f"C1 {verdict}"


CASES = pd.Series({"distance": 0.7, "P": 0.1, "log P": 1.8})


def test_authors_verdict_stands_where_the_run_supports_it():
    _, shown = checked("depends on the score", value=CASES)
    assert repr(shown) == (
        "C1 depends on the score. As written. (epsilon: the claim holds in 2 of 3 "
        "cases; worst case: 1.8 at log P, claimed: ≤\u00a01.)"
    )
    _, shown = checked("proved", value=0.7)
    assert repr(shown) == "C1 proved. As written. (epsilon: 0.7; claimed: ≤\u00a01.)"


def test_worst_case_is_named_by_all_levels_of_the_index():
    cases = pd.Series({("d", 1): 2.2, ("d", 2): 1.6, ("e", 1): 3.3})
    _, shown = checked("fails", value=cases)
    assert shown.text.endswith(" at e, 1, claimed: ≤\u00a01.)")


@pytest.mark.parametrize("verdict", ["holds", "proved", "fails", "not decided"])
def test_authors_verdict_is_replaced_where_the_run_contradicts_it(verdict):
    claims, shown = checked(verdict, value=[0.9, 1.1])
    assert shown.kind == "C1 depends on the case"
    unsupported = f"The notebook states *{verdict}*, which this run does not support. ("
    assert shown.text.startswith(unsupported)
    assert claims.table["stated_verdict"].tolist() == [verdict]


def test_list_at_the_top_is_filled_by_the_run(monkeypatch):
    display = Mock()
    monkeypatch.setattr("IPython.display.display", display)
    claims = Claims({"C1": "For |x| < 1.", "C2": "Always."})
    claims._ipython_display_()
    claims.check("C2", "fails", "Never.", **HELD | {"value": -1.5, "relation": ">"})
    calls = [display.call_args, display.return_value.update.call_args]
    before, after = (call.args[0]["text/markdown"].splitlines() for call in calls)
    assert before[2:] == [r"| **C1** | For \|x\| < 1. |  |", "| **C2** | Always. |  |"]
    assert after[3] == "| **C2** | Always. | fails |"
    with value_error("not checked: C1"):
        _ = claims.table


def test_verdicts_alone_name_no_number_and_none_of_few_records():
    claims = Claims({"C1": "a", "C2": "b"})
    for claim, n_records in {"C2": 10, "C1": 9}.items():
        given = HELD | {"value": 0.123, "n_records": n_records}
        claims.check(claim, "holds", "Yes.", **given)
    assert claims.verdicts().text == "C1 not shown. C2 holds."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": math.nan}, "missing"),
        ({"value": 1.0, "error": math.nan}, "missing"),
        ({"value": []}, "missing"),
        ({"value": 1.0, "relation": "=="}, "relation is '=='; it must be one of <"),
        ({"value": 1.0, "verdict": "mostly"}, "verdict is 'mostly'"),
        ({"value": 1.0, "claim": "C3"}, "claim is 'C3'; it must be one of C1"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_cannot_be_judged_is_refused(given, message):
    with value_error(message):
        checked(**given)


# ------------------------------------------------------------------------------- ledger


PRINTED = """id,source,quantity,relation,printed,tolerance
a,Section 1,a mean,=,-0.250,
b,Table 1,a bound,<=,1.25,
c,Table 1,another bound,>=,1.25,
d,Table 1,a size,=,36,2
e,Table 1,a cut number,=,-1.46,cut
"""


@pytest.fixture
def book(monkeypatch):
    """Return the ledger of printed numbers of no paper."""
    read = pd.read_csv
    monkeypatch.setattr(
        ledger.pd, "read_csv", lambda _, **options: read(StringIO(PRINTED), **options)
    )

    def of(computed, **given):
        notes = dict.fromkeys("abcde", "see section 6")
        given = {"missing": "no data", "notes": notes} | given
        return ledger.ledger("charest", computed, **given).set_index("id", drop=False)

    return of


# Numbers that match and that differ, by the id of the printed one.
JUDGED = {
    "a": ([-0.2505, -0.2495], [-0.2506, -0.2494, 0.25, math.nan, math.inf]),
    "b": ([1.25], [1.2501]),
    "c": ([1.25], [1.24]),
    "d": ([38.0], [33.0]),
    "e": ([-1.46, -1.4699], [-1.4701, -1.4599]),
}


@pytest.mark.parametrize("key", JUDGED)
def test_numbers_are_judged_by_the_last_digit_printed(book, key):
    matching, differing = JUDGED[key]
    for value in matching + differing:
        verdict = "match" if value in matching else "differs"
        assert book({key: value})["verdict"][key] == verdict
        held = book({}, consistent={key: (value, "a check")})["verdict"][key]
        assert held == ("consistent" if verdict == "match" else "differs")


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (-0.27, 0.011, "match"),
        (-0.27, 0.0098, "differs"),
        (-0.27, 0.013, "not decided"),
        (-0.30, 0.013, "differs"),
    ],
)
def test_tolerance_is_two_errors_which_must_tell_a_tenth(book, value, error, verdict):
    assert book({"a": value}, errors={"a": error})["verdict"]["a"] == verdict


def test_computed_number_comes_before_a_check(book):
    row = book({"a": -0.25}, consistent={"a": (9.0, "a check")}).loc["a"]
    assert row[["computed", "verdict"]].tolist() == [-0.25, "match"]


def test_numbers_without_a_verdict_have_a_reason(book):
    reasons = {"settings": {"d": 35}, "skip": {"a": "other data"}, "notes": {}}
    table = book({"a": 3.0}, **reasons)
    assert table["verdict"].tolist() == ["skipped"] * 3 + ["setting", "skipped"]
    assert table.loc[["a", "d"], ["computed", "note"]].to_numpy().tolist() == [
        [3.0, "other data"],
        [35.0, "differs from the paper's setting"],
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"computed": {"x": 1.0}},
            "computed has ids that are not printed in charest: .'x'",
        ),
        ({"notes": {"x": ""}}, "notes has ids"),
        (
            {"computed": {"a": 1.0}, "settings": {"a": 1.0}},
            "either a setting or computed; both have: .'a'",
        ),
        ({"missing": None}, "neither computed nor skipped: .'a', 'b', 'c', 'd', 'e'"),
        ({"computed": {"a": 1.0}, "notes": {}}, "need a note: .'a'"),
    ],
)
def test_what_is_not_printed_left_out_or_unexplained_is_refused(book, given, message):
    with value_error(message):
        book(**{"computed": {}} | given)


def test_summary_counts_by_source_and_tells_what_differs_and_what_is_not_judged(book):
    shown = ledger.summary(book({"a": 1.0, "b": 3.0, "c": 2.0}))
    counts, differs, skipped = shown.parts
    assert repr(counts).splitlines()[-1].split() == ["all", "1", "2", "2"]
    assert "see section 6" in differs.html
    assert "≤\u00a01.25" in repr(differs)
    assert "no data" in skipped.html


@pytest.mark.parametrize(
    "name", ["charest", "charest_han", "hu_reiter_wang", "mcclure_reiter"]
)
def test_printed_numbers_are_well_formed(name):
    table = ledger.printed(name)
    assert table["id"].is_unique
    assert table["id"].str.fullmatch(r"[a-z0-9_.]+").all()
    assert (table[["source", "quantity", "printed"]] != "").all(axis=None)
    assert set(table["relation"]) <= {"=", "<=", ">="}
    assert (table["tolerance"] >= 0).all()
    with value_error(f"must be one of .*{name}"):
        ledger.printed(name[:2])
