"""Printed numbers and the ledger."""

import math

import pandas as pd
import pytest

from srlib.papers import ledger as published

PAPER = "hu_reiter_wang"
LEVELS = (2, 4, 6, 4, 5, 2, 7, 3, 3, 2, 2, 3, 3, 2)


@pytest.fixture(scope="module")
def table():
    return published.printed(PAPER)


def number(table, key):
    return float(table.set_index("id").loc[key, "printed"])


def test_file_is_well_formed(table):
    assert table["id"].is_unique
    assert table["id"].str.fullmatch(r"[a-z0-9_]+").all()
    assert (table[["source", "quantity", "printed"]] != "").all(axis=None)
    assert (table["tolerance"] >= 0).all()
    assert len(table) == 150


def test_printed_digits_and_tolerances_are_kept(table):
    rows = table.set_index("id")
    assert rows.loc["table2_sex_original", "printed"] == "-0.250"
    assert rows.loc["table2_sex_original", "tolerance"] == pytest.approx(0.001)
    assert rows.loc["table2_mil_low", "tolerance"] == pytest.approx(0.0001)
    assert rows.loc["table3_probability_13433211322312", "printed"] == ".190"
    assert rows.loc["table3_probability_13433211322312", "tolerance"] == pytest.approx(0.001)
    assert rows.loc["distinct_combinations", "tolerance"] == 0


def test_paper_agrees_with_itself(table):
    assert math.prod(LEVELS) == number(table, "n_cells")
    assert 1 + sum(d - 1 for d in LEVELS) == number(table, "support_size")
    # WKL, DIS, HICOV, MIG
    assert LEVELS[8] * LEVELS[9] * LEVELS[10] * LEVELS[11] == number(table, "subset_size")
    for term in ("intercept", "sex", "mil", "mig", "sch", "race1p", "lanx"):
        low, high = (number(table, f"table2_{term}_{end}") for end in ("low", "high"))
        assert (low + high) / 2 == pytest.approx(
            number(table, f"table2_{term}_synthetic"), abs=1e-3
        )
    odds = number(table, "prior_odds_largest_11111213121111") / number(
        table, "prior_odds_probability_11111213121111"
    )
    # 1.4698: the paper cuts where rounding would give 1.47.
    assert odds == pytest.approx(number(table, "prior_odds_ratio_11111213121111"), abs=0.01)
    counts = [number(table, f"combinations_{k}") for k in ("once", "twice", "three_times")]
    rest = number(table, "distinct_combinations") - sum(counts)
    assert 0 < rest * 4 <= 10_000 - counts[0] - 2 * counts[1] - 3 * counts[2]


def test_table_3_is_complete(table):
    parts = table["id"].str.extract(r"table3_(repetitions|rank|probability)_(\d{14})").dropna()
    assert parts.groupby(0)[1].nunique().to_dict() == {
        "repetitions": 31,
        "rank": 31,
        "probability": 31,
    }
    assert all(1 <= int(code) <= d for key in parts[1] for code, d in zip(key, LEVELS, strict=True))
    ranks = table.loc[table["id"].str.startswith("table3_rank"), "printed"].astype(int)
    assert (ranks == 1).sum() == number(table, "figure3_rank_1")
    assert len(ranks) == number(table, "figure3_rank_1_to_3")
    probabilities = table.loc[table["id"].str.startswith("table3_prob"), "printed"].astype(float)
    assert (probabilities > 0.08).sum() <= number(table, "figure4_above_008")
    assert probabilities.max() == pytest.approx(number(table, "figure4_largest"), abs=0.1)


def test_unknown_paper():
    with pytest.raises(ValueError, match=r"must be one of .*hu_reiter_wang"):
        published.printed("hu")


COMPUTED = {"n_cells": 8709120, "table2_sex_original": -0.2505, "subset_size": 36}


def others(key):
    return None if key in COMPUTED else "other data"


def test_ledger_judges_by_the_last_digit(table):
    ledger = published.ledger(PAPER, COMPUTED, skip=others)
    assert ledger.columns.tolist() == [
        "id", "source", "quantity", "relation", "printed", "computed",
        "tolerance", "verdict", "note",
    ]  # fmt: skip
    assert ledger["id"].tolist() == table["id"].tolist()
    assert ledger["verdict"].value_counts().to_dict() == {"match": 3, "skipped": 147}
    assert (ledger.loc[ledger["verdict"] == "skipped", "note"] == "other data").all()

    def verdict(value):
        computed = COMPUTED | {"table2_sex_original": value}
        notes = {"table2_sex_original": "another sample"}
        rows = published.ledger(PAPER, computed, skip=others, notes=notes).set_index("id")
        return rows.loc["table2_sex_original", "verdict"]

    assert [verdict(x) for x in (-0.251, -0.249, -0.2511, float("nan"))] == [
        "match", "match", "differs", "differs",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "verdicts"),
    [
        ("<=", ["match", "match", "differs", "differs"]),
        (">=", ["differs", "match", "match", "differs"]),
    ],
)
def test_ledger_judges_bounds(monkeypatch, relation, verdicts):
    rows = pd.DataFrame(
        [["bound", "3.3", "largest", relation, "1.25", ""]],
        columns=["id", "source", "quantity", "relation", "printed", "tolerance"],
    )
    monkeypatch.setattr(published.pd, "read_csv", lambda *_, **__: rows.copy())
    assert published.printed(PAPER)["tolerance"].tolist() == [0]
    found = [
        published.ledger(PAPER, {"bound": value}, notes={"bound": "section 3"})["verdict"].item()
        for value in (1.24, 1.25, 1.2501, math.nan)
    ]
    assert found == verdicts


def test_ledger_skips_other_settings_and_what_a_run_does_not_compute():
    rows = published.ledger(
        PAPER,
        {"subset_size": 36},
        settings={"n_records": 10_000, "n_synthetic_sets": 3},
        missing="needs the paper's data",
    ).set_index("id")
    assert rows.loc["n_records", ["verdict", "note"]].tolist() == ["setting", ""]
    assert rows.loc["n_synthetic_sets", ["computed", "verdict", "note"]].tolist() == [
        3, "setting", "another setting than the paper's",
    ]  # fmt: skip
    assert rows.loc["n_cells", ["verdict", "note"]].tolist() == [
        "skipped",
        "needs the paper's data",
    ]
    assert rows["verdict"].value_counts().to_dict() == {"skipped": 147, "setting": 2, "match": 1}
    with pytest.raises(ValueError, match="compared with nothing; computed has, too: n_records"):
        published.ledger(PAPER, {"n_records": 10_000}, settings={"n_records": 10_000}, missing="-")


def test_what_cannot_be_recomputed_is_held_against_the_paper_itself():
    ranked = {"figure3_rank_1": (2, "rows of rank 1 in Table 3"), "subset_size": (1, "wrong")}
    judged = published.ledger(
        PAPER, {"subset_size": 36}, consistent=ranked, missing="needs the paper's data"
    ).set_index("id")
    assert judged.loc["figure3_rank_1", ["computed", "verdict", "note"]].tolist() == [
        2, "consistent", "rows of rank 1 in Table 3",
    ]  # fmt: skip
    assert judged.loc["subset_size", "verdict"] == "match"  # the run's own number decides
    ranked["figure3_rank_1"] = (3, "rows of rank 1 in Table 3")
    judged = published.ledger(PAPER, {}, consistent=ranked, missing="-", notes={"subset_size": "x"})
    assert judged.set_index("id").loc["figure3_rank_1", "verdict"] == "differs"


def test_summary_counts_by_source_and_tells_what_differs():
    notes = {"subset_size": "see section 6"}
    book = published.ledger(PAPER, {"subset_size": 35}, missing="other data", notes=notes)
    said, by_source, differing = published.summary(book).parts
    assert said.text == (
        "Of 150 printed numbers 1 otherwise, 149 skipped. "
        "Why numbers are skipped: other data (149)."
    )
    assert repr(by_source).split()[-3:] == ["all", "1", "149"]
    assert ">see section 6</td>" in differing.html
    assert differing.html.count("<tr>") == 2


def test_summary_orders_by_place_and_links_sections(monkeypatch):
    rows = [
        ("Figure 2", "a", "<=", ".5"),
        ("Table 10", "b", "=", "10000"),
        ("Table 9", "b", "=", "-1.50"),
    ]
    table = pd.DataFrame(rows, columns=["source", "quantity", "relation", "printed"])
    table["id"], table["tolerance"] = list("xyz"), 0.0
    monkeypatch.setattr(published, "printed", lambda paper: table)
    notes = dict.fromkeys("xyz", "too small; section What, and why")
    book = published.ledger("any", {"x": 1.7778, "y": 5.0, "z": -1.25}, notes=notes)
    shown = published.summary(book).parts[2]
    assert [row.split()[:6] for row in repr(shown).splitlines()[2:]] == [
        ["Table", "9", "b", "−1.50", "−1.25", "too"],
        ["Table", "10", "b", "10,000", "5", "too"],
        ["Figure", "2", "a", "≤", "0.5", "1.78"],
    ]
    assert shown.html.count('<a href="#What,-and-why">What, and why</a></td>') == 3


def test_ledger_wants_a_note_for_a_difference():
    computed = COMPUTED | {"subset_size": 35, "n_cells": 1}
    with pytest.raises(ValueError, match=r"without a note: n_cells, subset_size$"):
        published.ledger(PAPER, computed, skip=others)
    notes = {"subset_size": "section 6", "n_cells": "section 1"}
    rows = published.ledger(PAPER, computed, skip=others, notes=notes).set_index("id")
    assert rows.loc["subset_size", ["verdict", "note"]].tolist() == ["differs", "section 6"]


def test_ledger_refuses_what_is_not_printed_or_left_out():
    with pytest.raises(ValueError, match=r"computed has ids .* n_cell$"):
        published.ledger(PAPER, {"n_cell": 1}, skip=others)
    with pytest.raises(ValueError, match="notes has ids"):
        published.ledger(PAPER, COMPUTED, skip=others, notes={"x": "y"})
    with pytest.raises(
        ValueError, match=r"neither computed nor skipped: alpha_shape.* and 137 more"
    ):
        published.ledger(PAPER, COMPUTED)


def test_skipped_numbers_are_shown_and_tolerances_replaced():
    skip = dict.fromkeys(published.printed(PAPER)["id"], "other data")
    del skip["subset_size"]
    rows = published.ledger(
        PAPER,
        {"subset_size": 34, "n_cells": 12},
        skip=skip.get,
        tolerances={"subset_size": 2},
        notes={"n_cells": "four variables"},
    ).set_index("id")
    assert rows.loc["subset_size", ["verdict", "tolerance"]].tolist() == ["match", 2]
    assert rows.loc["n_cells", "computed"] == 12
    assert rows.loc["n_cells", "note"] == "other data; four variables"
    assert isinstance(rows, pd.DataFrame)
