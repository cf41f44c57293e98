"""Files of a run."""

import json

import numpy as np
import pandas as pd

from srlib import charts
from srlib.outputs import Outputs

FRAME = pd.DataFrame({"x": [1 / 3, 2.0], "name": ["é", "a,b"]}, index=[5, 6])


def test_what_is_marked_public_lies_in_a_folder_of_its_own(tmp_path):
    outputs = Outputs(tmp_path)
    frame = pd.DataFrame({"case": [1.0, 2.0]})
    chart = charts.lines(frame, "x", "y", description="A line.")
    for name, public in (("one_record", False), ("example", True)):
        assert outputs.table(name, FRAME, public=public) is FRAME
        assert outputs.figure(name, chart, public=public) is chart
    held = {path.name: path.read_bytes() for path in (tmp_path / "public").iterdir()}
    assert " ".join(sorted(held)) == "example.csv example.svg example.vl.json"
    kept = {path.name: path.read_bytes() for path in tmp_path.glob("[tf]*/*")}
    others = " ".join(sorted({*kept} - {*held}))
    assert others == "one_record.csv one_record.svg one_record.vl.json"
    assert held.items() <= kept.items()
    assert held["example.csv"] == 'x,name\n0.3333333333,é\n2,"a,b"\n'.encode()
    assert held["example.svg"].startswith(b"<svg")
    assert json.loads(held["example.vl.json"])["$schema"].endswith("vega-lite/v5.json")


def test_results_are_flat_scalars_as_json_can_hold_them(tmp_path):
    outputs = Outputs(str(tmp_path / "new"))
    assert np.isnan(outputs.result("nothing", np.float64("nan")))
    given = {
        "share": np.float32(0.5),
        "count": np.int64(3),
        "converged": np.bool_(True),
        "verdict": "R-hat above 1.01",
        "more": np.inf,
        "less": -np.inf,
        "absent": None,
    }
    for name, value in given.items():
        outputs.result(name, value)
    outputs.result("count", 4)
    stored = json.loads((tmp_path / "new" / "results.json").read_text())
    as_text = {"more": "Infinity", "less": "-Infinity"}
    assert stored == given | as_text | {"nothing": None, "count": 4}


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = Outputs("")
    outputs.table("shares", FRAME)
    outputs.result("x", 1.0)
    assert outputs.figure("f", chart := object()) is chart
    assert not any(tmp_path.iterdir())
