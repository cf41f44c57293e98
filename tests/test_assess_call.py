"""Assessing from Python: DataFrames and files, what comes back, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from srlib import progress
from srlib.assessment import Assessment, assess, leakage, matching, report
from srlib.data.schema import Microdata, Schema
from srlib.dpmpm import Chains

CHAINS = Chains(n_classes=3, burn_in=20, n_draws=20, n_chains=2)


def records(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "job": np.array(list("abc"))[job],
            "town": np.array(["north", "south", "east", "west"])[rng.integers(0, 4, n)],
            "sick": np.where(rng.random(n) < 0.2 + 0.3 * job, "yes", "no"),
        }
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def quickly(original: Any, released: Any, **settings: Any) -> Assessment:
    usual: dict[str, Any] = {"quick": True, "rng": rng()}
    return assess(original, released, **(usual | settings))


def test_draws_of_many_combinations_are_thinned() -> None:
    # 10 and 2 levels in four columns are 10,000 and 16 combinations.
    for n_levels, n_draws, thin in ((10, 125, 2), (2, 250, 1)):
        codes = np.indices((n_levels,) * 4).reshape(4, -1).T.repeat(10_000 // n_levels**4, axis=0)
        schema = Schema.from_frame(pd.DataFrame(codes).astype(str).astype("category"))
        given = report.Submission(schema, codes, (codes,), (0, 1, 2), 3)
        (chains,) = report.affordable_rounds(given)
        assert (chains.burn_in, chains.n_draws, chains.thin) == (250, n_draws, thin)
        (few,) = report.affordable_rounds(given, n_draws=20, n_chains=6)[:1]
        assert few.n_draws == 20


def test_frames_and_files_tell_the_same(tmp_path: Path) -> None:
    tables = {"original.csv": records(60, 1), "a.csv": records(50, 2), "b.csv": records(70, 3)}
    for name, frame in tables.items():
        frame.to_csv(tmp_path / name, index=False)
    original, *released = (str(tmp_path / name) for name in tables)
    settings: dict[str, Any] = {"keys": ["town", "job"], "target": "sick"}
    of_files = quickly(original, released, **settings)
    first, *others = tables.values()
    of_frames = quickly(first, dict(zip(["a.csv", "b.csv"], others, strict=True)), **settings)
    assert of_files.to_dict() == of_frames.to_dict()
    assert of_files.submission.keys == (1, 0)
    categories = first.astype("category")
    schema = Schema.from_frame(categories)
    coded = [Microdata(schema.encode(frame), schema) for frame in (first, *others)]
    of_codes = quickly(coded[0], coded[1:], **settings)
    assert list(of_codes.findings) in (["release 1", "release 2"], ["release 2", "release 1"])
    for name, other in (("a.csv", "release 1"), ("b.csv", "release 2")):
        pd.testing.assert_frame_equal(
            of_files.findings[name].measures, of_codes.findings[other].measures
        )


def test_numbers_are_those_of_the_functions_behind_them() -> None:
    original, made = records(60, 1), records(50, 2)
    found = quickly(original, made, keys=["job", "town"], target="sick")
    schema = Schema.infer(original)
    codes, released, levels = schema.encode(original), schema.encode(made), [3, 4, 2]
    expected = matching.measures(codes, [released], levels, [0, 1], 2)
    pd.testing.assert_frame_equal(
        found.table("measures"), expected.assign(release="release 1"), check_like=True
    )
    frame = found.to_frame()
    assert frame["topic"].tolist() == ["copies", "identity", "attributes", "utility", "model"]
    copies = leakage.copies(codes, released, levels)
    assert frame.loc[0, "value"] == copies.repeated
    assert frame.loc[0, "baseline"] == copies.others
    assert np.isnan(frame.loc[4, "value"])
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["results"]["repU_mean"] == expected.set_index("measure").loc["repU", "mean"]
    (release,) = told["releases"]
    assert release["lines"]["model"]["value"] is None
    lines = found.verdict().splitlines()
    assert lines[0] == told["first"] == release["first"]
    assert lines[1:] == [f"{topic}: {line['text']}" for topic, line in release["lines"].items()]


def test_candidates_are_judged_one_by_one_the_worst_first() -> None:
    original = records(60, 1)
    copy = original.sample(frac=1, random_state=1)
    found = quickly(original, {"made": records(50, 2), "copy": copy}, target="sick")
    assert [each.release for each in found.judgments] == ["copy", "made"] == list(found.findings)
    blocks = found.verdict().split("\n\n")
    assert blocks[0].startswith("Do not release copy: it is the original itself.\ncopies: ")
    assert len(blocks) == 2
    assert {"made_repU_mean", "copy_repU_mean"} <= set(found.results())
    assert set(found.records()["release"]) == {"made", "copy"}
    together = quickly(original, [copy, copy], target="sick", same_generator=True)
    assert [each.release for each in together.judgments] == ["release 1 and 1 more"]


def test_the_model_has_a_stream_of_chance_for_each_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one release is told of does not depend on the others that are assessed with it."""
    original, made, other = records(40, 1), records(40, 2), records(30, 3)
    sample, shown = report.agreeing_draws, []

    def agreeing_draws(*arguments: Any, **settings: Any) -> Any:
        shown.append(not progress.progress(1, "x").disable)
        return sample(*arguments, **settings)

    monkeypatch.setattr(report, "agreeing_draws", agreeing_draws)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    settings: dict[str, Any] = {"target": "sick", "chains": CHAINS}
    alone = assess(original, made, **settings, rng=rng())
    assert shown == [True, True]
    both = assess(original, [made, other], **settings, rng=rng(), progress=False)
    assert shown[2:] == [False, False, False]
    first, again = (found.table("risks").query("release == 'release 1'") for found in (alone, both))
    pd.testing.assert_frame_equal(first, again.reset_index(drop=True), check_like=True)
    assert {shape.shape for shape in both.traces.values()} == {(2, 20)}
    assert both.to_dict()["results"]["r_hat_95_largest"] > 0
    assert alone.judgments[0].lines[4].level in ("rough", "converged")


def test_people_held_out_and_dropped_records_are_counted() -> None:
    frame, held_out = records(60, 1), records(70, 3)
    frame.loc[:9, "job"] = np.nan
    found = quickly(frame, records(50, 2), target="sick", holdout=held_out, missing="drop")
    assert found.submission.notes[:2] == (
        "original: 50 of 60 records.",
        "original: Records with missing values dropped: 10 of 60.",
    )
    kept = {tuple(row) for row in frame.iloc[10:].to_numpy()}
    others = np.mean([tuple(row) in kept for row in held_out.to_numpy()])
    assert found.table("copies")["others"].tolist() == [pytest.approx(others)]


def test_two_records_and_one_constant_release() -> None:
    original = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    found = assess(original, original.iloc[[0, 0]], chains=CHAINS, rng=rng())
    json.dumps(found.to_dict(), allow_nan=False)
    assert "<h1>" in found.to_html()


def test_rules_are_held_to_from_a_mapping_or_a_file(tmp_path: Path) -> None:
    original = records(60, 1)
    rules = {"copies": {"worst_level": "none"}, "identity": {"value_at_most": 1}}
    found = quickly(original, original, target="sick", rules=rules)
    assert found.broken_rules == [
        {
            "release": "release 1",
            "topic": "copies",
            "reason": "is 'found'; at worst 'none' is allowed",
        }
    ]
    path = tmp_path / "rules.yaml"
    path.write_text("copies: {worst_level: none}\nidentity: {value_at_most: 1}\n")
    assert quickly(original, original, target="sick", rules=path).to_dict() == found.to_dict()
    kept = {"copies": {"worst_level": "found"}}
    assert quickly(original, original, target="sick", rules=kept).broken_rules == []


def test_the_page_is_confidential_and_all_text_in_it_escaped() -> None:
    original = records(60, 1).replace({"a": "<script>a", "north": "M&S"})
    original = original.rename(columns={"town": "<i>town"})
    released = {"<b>made": original.iloc[:50]}
    found = quickly(original, released, target="sick", rules={"copies": {"worst_level": "none"}})
    page = found.to_html()
    assert "Confidential" in page.split("<h1>")[0]
    for text in ("<script", "<i>", "<b>", "M&S"):
        assert text not in page
    for text in ("&lt;script&gt;a", "&lt;i&gt;town", "&lt;b&gt;made", "M&amp;S"):
        assert text in page
    assert "http" not in page
    assert page.count("<table") == 9
    assert "&lt;b&gt;made: copies is " in page  # a broken rule


FRAME = records(20, 1)
OTHER_LEVEL = {"released": FRAME.replace({"a": "z"}), "schema": Schema.from_frame(FRAME)}
LACKING = {"original": FRAME.replace({"a": None}), "missing": "error"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"released": []}, "released is empty; it must have one table or more"),
        ({"released": "nowhere.csv"}, "'nowhere.csv': there is no such file"),
        ({"rules": "nowhere.yaml"}, "'nowhere.yaml': there is no such file"),
        ({"schema": "nowhere.yaml"}, "'nowhere.yaml': there is no such file"),
        ({"holdout": "nowhere.csv"}, "'nowhere.csv': there is no such file"),
        ({"original": FRAME.iloc[:1]}, "original: the table has 1 record"),
        ({"released": {"made": FRAME.iloc[:1]}}, "made: the table has 1 record; it needs 2"),
        ({"released": [FRAME, FRAME.drop(columns="job")]}, "release 2: missing columns job"),
        ({"released": FRAME.assign(age=1)}, r"release 1: unknown columns 'age' \(ignore_columns"),
        (OTHER_LEVEL, "release 1: values outside the levels: job has"),
        (OTHER_LEVEL | {"released": FRAME, "holdout": OTHER_LEVEL["released"]}, "holdout: values"),
        (LACKING, "original: missing values: job"),
        ({"keys": ["age"]}, "keys names 'age'; the variables are job, town, sick"),
        ({"target": "age"}, "target names 'age'"),
        ({"keys": ["sick"], "target": "sick"}, "target is 'sick', which is among the keys"),
        ({"rules": {"copy": {}}}, "rules: unknown topic 'copy'"),
        ({"rules": {"model": {"value_at_most": 2}}, "quick": True}, "rules: there is a rule on"),
        ({"chains": Chains(n_classes=2, burn_in=1, n_draws=9, n_chains=1)}, "chains are 1 of 9"),
        ({"chains": Chains(n_classes=2, burn_in=1, n_draws=3)}, "chains are 4 of 3 draws; errors"),
        ({"rng": 1}, r"rng is 1; it must be a Generator"),
    ],
)
def test_errors_are_one_sentence_before_anything_is_sampled(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str
) -> None:
    def sampled(*arguments: Any, **settings: Any) -> None:
        raise AssertionError("sampled")

    monkeypatch.setattr(report, "agreeing_draws", sampled)
    arguments: dict[str, Any] = {"original": FRAME, "released": FRAME, "rng": rng()}
    call: Callable[..., Assessment] = assess
    with pytest.raises(ValueError, match=message) as error:
        call(**(arguments | change))
    assert "\n" not in str(error.value)


def test_columns_that_the_schema_lacks_are_left_out_on_request() -> None:
    schema = Schema.infer(FRAME[["job", "sick"]])
    found = quickly(FRAME, FRAME.assign(age=1), schema=schema, ignore_columns=True)
    assert found.submission.schema.names == ("job", "sick")
    assert found.submission.notes[-2:] == (
        "No target was given: sick, the last that is no key.",
        "No keys were given: all 1 variables but the target.",
    )
