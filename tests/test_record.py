"""Files of a run."""

import json

import numpy as np
import pandas as pd
import pytest

from srlib import charts
from srlib.display import callout, percent
from srlib.runner import confidential
from srlib.runner.outputs import Outputs

FRAME = pd.DataFrame({"x": [1 / 3, 2.0], "name": ["é", "a,b"]}, index=[5, 6])


def test_table_is_plain_csv(tmp_path):
    assert Outputs(tmp_path).table("shares", FRAME) is FRAME
    written = (tmp_path / "tables" / "shares.csv").read_bytes()
    assert written == 'x,name\n0.3333333333,é\n2,"a,b"\n'.encode()
    assert not (tmp_path / "PUBLIC.txt").exists()


@pytest.mark.parametrize("parameters", [{"data": "people.csv"}, {"data": ""}])
def test_all_files_of_a_users_run_are_confidential_but_those_marked(tmp_path, parameters):
    outputs = Outputs(tmp_path)
    chart = charts.lines(
        pd.DataFrame({"case": [1.0, 2.0]}, index=[0.0, 1.0]), "x", "y", description="A line."
    )
    outputs.table("risk", FRAME)
    outputs.table("words", FRAME, public=True)
    outputs.figure("one_record", chart)
    outputs.figure("example", chart, public=True)
    outputs.result("x", 1.0)
    (tmp_path / "notebook.ipynb").touch()
    confidential.list_files(tmp_path, parameters, {"inputs": {}})
    listed = tmp_path / "CONFIDENTIAL.txt"
    if not parameters["data"]:
        assert not listed.exists()
        assert not (tmp_path / "PUBLIC.txt").exists()
        return
    assert listed.read_text().splitlines() == [
        "figures/one_record.svg",
        "figures/one_record.vl.json",
        "notebook.ipynb",
        "provenance.json",
        "report.html",
        "results.json",
        "tables/risk.csv",
    ]
    public = ["figures/example.svg", "figures/example.vl.json", "tables/words.csv"]
    assert (tmp_path / "PUBLIC.txt").read_text().splitlines() == public


def test_results_are_flat_scalars_as_json_can_hold_them(tmp_path):
    outputs = Outputs(str(tmp_path / "new"))
    assert np.isnan(outputs.result("nothing", np.float64("nan")))
    for name, value in {
        "share": np.float32(0.5),
        "count": np.int64(3),
        "converged": np.bool_(True),
        "verdict": "R-hat above 1.01",
        "more": float("inf"),
        "less": -np.inf,
        "absent": None,
    }.items():
        outputs.result(name, value)
    outputs.result("count", 4)
    assert json.loads((tmp_path / "new" / "results.json").read_text()) == {
        "nothing": None,
        "share": 0.5,
        "count": 4,
        "converged": True,
        "verdict": "R-hat above 1.01",
        "more": "Infinity",
        "less": "-Infinity",
        "absent": None,
    }


@pytest.mark.parametrize("value", [[1, 2], np.zeros(2), {"a": 1}, 1j])
def test_results_that_are_not_scalars_are_refused(tmp_path, value):
    with pytest.raises(ValueError, match="value of several is a"):
        Outputs(tmp_path).result("several", value)


@pytest.mark.parametrize("name", ["", "a/b", "../a", "a b", "a.csv"])
def test_names_are_checked(tmp_path, name):
    with pytest.raises(ValueError, match="name is"):
        Outputs(tmp_path).table(name, FRAME)
    with pytest.raises(ValueError, match="name is"):
        Outputs("").result(name, 1)
    assert not any(tmp_path.iterdir())


def test_figure_writes_drawing_and_specification(tmp_path):
    from srlib import charts

    chart = charts.lines(pd.DataFrame({"a": [1, 2, 2]}), "x", "y", description="A line.")
    outputs = Outputs(tmp_path)
    assert outputs.figure("ranks", chart) is chart
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "ranks.svg",
        "ranks.vl.json",
    ]
    assert (tmp_path / "figures" / "ranks.svg").read_text().startswith("<svg")
    spec = json.loads((tmp_path / "figures" / "ranks.vl.json").read_text())
    assert spec["$schema"].endswith("vega-lite/v5.json")


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = Outputs("")
    outputs.table("shares", FRAME)
    outputs.result("x", 1.0)
    assert outputs.figure("f", chart := object()) is chart  # type: ignore[type-var]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.774, 0, "77\u00a0%"),
        (0.0625, 1, "6.2\u00a0%"),
        (0, 0, "0\u00a0%"),
        (1, 1, "100.0\u00a0%"),
    ],
)
def test_a_percentage_has_a_space_that_does_not_break(share, digits, text):
    assert percent(share, digits) == text


def test_callout_is_a_quotation_and_the_same_text():
    said = callout("C6 fails", "One draw of 1,200 is effective.")
    assert said._repr_markdown_() == "> **C6 fails.** One draw of 1,200 is effective."
    assert repr(said) == "C6 fails. One draw of 1,200 is effective."
    assert said == callout("C6 fails", "One draw of 1,200 is effective.")


def test_callout_of_several_lines_stays_one_quotation():
    lines = callout("Two runs", "They agree:\n\n- to 0.1")._repr_markdown_().splitlines()
    assert lines == ["> **Two runs.** They agree:", ">", "> - to 0.1"]


def test_notebooks_keep_a_callout_as_markdown_and_as_text():
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(callout("C1 holds here", "0.5"))
    assert data == {"text/markdown": "> **C1 holds here.** 0.5", "text/plain": "C1 holds here. 0.5"}
