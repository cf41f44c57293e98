"""Assessing files: the command on a small table, what it refuses, and the words of the verdict."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from srlib import assessment, dpmpm
from srlib.assessment import leakage, matching, verdict
from srlib.assessment import submission as submissions
from srlib.assessment.findings import most_parameters
from srlib.data.schema import Schema
from srlib.risk import DrawSets
from srlib.runner import cli
from srlib.runner.cli import main

SMALL = {"n_classes": 3, "n_draws": 20, "n_chains": 2, "most_iterations": 40}
SETTINGS = [text for name, value in SMALL.items() for text in ("-p", name, str(value))]
SCHEMA = """
variables:
  - name: job
    levels: {a: "<b>clerk</b>", b: smith, c: cook}
  - name: town
    levels: [north, south, east, west]
  - name: sick
    levels: ["no", "yes"]
"""


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files named as a user would, in the folder where the user types."""
    monkeypatch.chdir(tmp_path)
    records(60, 1).to_csv("original.csv", index=False)
    records(50, 2).to_csv("made.csv", index=False)
    records(70, 3).to_csv("again.csv", index=False)
    Path("schema.yaml").write_text(SCHEMA)
    return tmp_path


def assess(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["assess", *arguments, "--output", "out"])


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("original", "again.csv", []),
        ("released", "[again.csv]", []),
        ("keys", "[town]", ["--keys", "job"]),
        ("quick", "false", ["--quick"]),
    ],
)
def test_what_the_arguments_say_cannot_be_said_otherwise(
    folder: Path, name: str, value: str, options: list[str]
) -> None:
    result = assess("original.csv", "made.csv", *options, "-p", name, value)
    assert result.exit_code == 2
    assert f"-p {name}: the command's own arguments say it; leave one of them" in result.output
    assert not (folder / "out").exists()


def test_the_report_of_two_releases(folder: Path) -> None:
    given = ["--schema", "schema.yaml", "--keys", "town, job", "--target", "sick", *SETTINGS]
    result = assess("original.csv", "made.csv", "again.csv", *given, "--same-generator", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    keys = ["report", "first", "releases", "side_by_side", "broken_rules", "results"]
    assert list(document) == keys
    (sides,) = document["side_by_side"]
    assert [sides[name] for name in ("release", "releases")] == ["made.csv and 1 more", 2]
    run = folder / "out/assess/made"
    assert Path(document["report"]) == run / "report.html"
    (judged,) = document["releases"]
    assert judged["release"] == "made.csv and 1 more"
    assert judged["first"] == document["first"]
    assert list(judged["lines"]) == ["copies", "identity", "attributes", "utility", "model"]
    assert list(judged["lines"]["copies"]) == ["level", "value", "low", "high", "baseline", "text"]
    assert document["broken_rules"] == []
    notebook = (run / "notebook.ipynb").read_text(encoding="utf-8")
    assert (
        "2 of 3 variables are known, the keys: town, job. The target, sick, is wanted." in notebook
    )

    tables = [pd.read_csv(folder / name) for name in ("original.csv", "made.csv", "again.csv")]
    columns = [["town", "job", "sick"].index(name) for name in tables[0]]
    levels = [["a", "b", "c"], ["north", "south", "east", "west"], ["no", "yes"]]
    codes = [
        np.column_stack([pd.Categorical(t[c], levels[i]).codes for i, c in enumerate(t)])
        for t in tables
    ]
    assert columns == [1, 0, 2]
    expected = matching.measures(codes[0], codes[1:], [3, 4, 2], [1, 0], 2).set_index("measure")
    for name in ("repU", "DiSCO", "TCAP"):
        for column in ("mean", "se", "baseline"):
            found = document["results"][f"{name}_{column}"]
            assert found == pytest.approx(expected.loc[name, column])
    repeated = np.mean([leakage.copies(codes[0], z, [3, 4, 2]).repeated for z in codes[1:]])
    copies = pd.read_csv(run / "tables/copies.csv")
    assert copies["repeated"].mean() == pytest.approx(repeated)

    of_each = pd.read_csv(run / "tables/records.csv")
    assert of_each["repetitions"].sum() == 60
    assert (of_each["support_size"] == 1 + 2 + 3 + 1).all()
    for row in of_each.itertuples():  # the header is line 1
        lines = [int(line) for line in row.lines.split(", ") if line != "..."]
        for line in lines:
            record = tables[0].iloc[line - 2].replace({"a": "<b>clerk</b>", "b": "smith"})
            assert record.replace({"c": "cook"}).tolist() == [row.job, row.town, row.sick]
    listed = (run / "CONFIDENTIAL.txt").read_text().splitlines()
    assert {"notebook.ipynb", "report.html", "tables/records.csv", "figures/verdict.svg"} <= {
        *listed
    }
    assert (run / "PUBLIC.txt").read_text() == "tables/in_public.csv\n"
    provenance = json.loads((run / "provenance.json").read_text())
    assert provenance["changed_parameters"]["keys"] == ["town", "job"]
    assert "<b>clerk" not in (run / "report.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;clerk" in (run / "report.html").read_text(encoding="utf-8")
    assert CliRunner().invoke(main, ["report", str(run), "--public"]).exit_code == 0
    lines_of_file = f">{of_each['lines'].iloc[0]}</td>"
    assert lines_of_file in (run / "report.html").read_text(encoding="utf-8")
    assert lines_of_file not in (run / "report-public.html").read_text(encoding="utf-8")


def test_the_command_prints_what_the_function_returns(folder: Path) -> None:
    """Candidates judged one by one, one of which breaks a rule: the status says so."""
    Path("tool").mkdir()
    records(60, 1).sample(frac=1, random_state=1).to_csv("tool/copy.csv", index=False)
    records(60, 1).to_csv("tool/again.csv", index=False)
    Path("tool/.hidden").touch()
    Path("rules.yaml").write_text("copies: {worst_level: none}\nidentity: {value_at_most: 1}\n")
    given = ["--schema", "schema.yaml", "--target", "sick", "--quick", "--rules", "rules.yaml"]
    result = assess("original.csv", "made.csv", "tool", *given)
    assert result.exit_code == 3, result.output
    found = assessment.assess(
        "original.csv", ["made.csv", "tool/"], schema="schema.yaml", target="sick", quick=True,
        rules="rules.yaml", rng=np.random.default_rng(0),
    )  # fmt: skip
    assert result.stdout == f"{found.verdict()}\n\nreport: out/assess/made/report.html\n"
    assert found.verdict().startswith("Do not release tool: it is the original itself.\n")
    reasons = [
        f"broken rule: {r['release']}: {r['topic']} {r['reason']}" for r in found.broken_rules
    ]
    assert [line for line in result.stderr.splitlines() if line.startswith("broken")] == reasons
    assert "tool: copies is 'found'; at worst 'none' is allowed" in reasons[0]
    broken = pd.read_csv(folder / "out/assess/made/tables/broken_rules.csv")
    assert broken["topic"].tolist() == [rule["topic"] for rule in found.broken_rules]
    told = cli._document(folder / "out/assess/made")
    assert told["results"] == pytest.approx(found.to_dict()["results"], nan_ok=True)
    lines = [each["lines"]["copies"] for each in (*told["releases"], *found.to_dict()["releases"])]
    assert lines[0]["text"] == lines[2]["text"]
    assert lines[0]["value"] == pytest.approx(lines[2]["value"], rel=1e-9)
    sides = [pd.DataFrame(each["side_by_side"]) for each in (told, found.to_dict())]
    pd.testing.assert_frame_equal(*sides, check_dtype=False, rtol=1e-9)
    run = folder / "out/assess/made"
    assert list(pd.read_csv(run / "tables/in_public.csv")["release"]) == [1, 2]
    assert (run / "figures/side_by_side.svg").exists()
    provenance = json.loads((run / "provenance.json").read_text())
    assert {"tool/copy.csv", "tool/again.csv"} < set(provenance["inputs"])


def test_the_notebook_bears_two_records_and_one_constant_release(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells run here: what a kernel adds is tried above."""
    import jupytext

    Path("original.csv").write_text("a,b\nx,u\ny,v\n")
    Path("made.csv").write_text("a,b\nx,u\nx,u\n")
    given: dict[str, Any] = {"original": "original.csv", "released": ["made.csv"]}
    given |= {"output_dir": "run"} | SMALL
    names: dict[str, Any] = {"display": lambda shown: shown}
    for cell in jupytext.read(root / "notebooks/assess.py").cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
            names |= given if "parameters" in cell.metadata.get("tags", []) else {}
    assert {path.stem for path in Path("run/figures").glob("*.svg")} == {
        *("margins", "posterior", "trace", "verdict")
    }


def test_a_notebook_that_fails_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from srlib.runner import run

    def fails(*arguments: object) -> None:
        raise run.NotebookFailed("assess: code cell 1: broken")

    monkeypatch.setattr(run, "run", fails)
    result = assess("original.csv", "made.csv", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "broken" in result.stderr


def replaced(name: str, *lines: str) -> Callable[[], object]:
    return lambda: Path(name).write_text("\n".join(lines) + "\n")


HEADER = "job,town,sick"


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (None, ["original.csv"], "Missing argument 'RELEASED...'"),
        (None, ["nowhere.csv", "made.csv"], "'nowhere.csv' does not exist"),
        (None, ["original.csv", "made.csv", "gone.csv"], "'gone.csv' does not exist"),
        (None, ["original.csv", "made.csv", "--schema", "no.yaml"], "'no.yaml': there is no such"),
        (
            replaced("made.csv", HEADER, "a,north,no", "d,north,no", "a,south,maybe"),
            ["original.csv", "made.csv", "--schema", "schema.yaml"],
            "made.csv: values outside the levels: job has '...' (line 3); sick has '...' (line 4)",
        ),
        (
            replaced("original.csv", HEADER, "a,north,no", "b,up,yes"),
            ["original.csv", "made.csv", "--schema", "schema.yaml"],
            "original.csv: values outside the levels: town has '...' (line 3)",
        ),
        (
            replaced("made.csv", "job,town,ill", "a,north,no", "a,north,no"),
            ["original.csv", "made.csv"],
            "made.csv: missing columns sick; unknown columns 'ill'",
        ),
        (
            replaced("made.csv", "job,town,job,sick", "a,north,a,no"),
            ["original.csv", "made.csv"],
            "made.csv: duplicate column names 'job'",
        ),
        (
            replaced("again.csv", HEADER, "a,,no", "a,north,no"),
            ["original.csv", "made.csv", "again.csv", "-p", "missing", "error"],
            "again.csv: missing values: town 1 (line 2)",
        ),
        (
            replaced("made.csv", HEADER, "a,north,no"),
            ["original.csv", "made.csv"],
            "made.csv: the table has 1 record; it needs 2 or more",
        ),
        (
            replaced("original.csv", HEADER, "a,north,no"),
            ["original.csv", "made.csv"],
            "original.csv: the table has 1 record",
        ),
        (
            replaced("original.csv", HEADER),
            ["original.csv", "made.csv"],
            "original.csv: the file has a header and no records",
        ),
        (
            replaced("original.csv", "job", "a", "b"),
            ["original.csv", "original.csv"],
            "the variables are job alone; keys and a target need two or more",
        ),
        (
            None,
            ["original.csv", "made.csv", "--keys", "job,age"],
            "keys names 'age'; the variables are job, town, sick",
        ),
        (None, ["original.csv", "made.csv", "--keys", "job,job"], "each variable may stand once"),
        (
            None,
            ["original.csv", "made.csv", "--keys", "job", "--keys", "sick", "--target", "sick"],
            "keys has the set sick, with the target 'sick' in it",
        ),
        (
            None,
            ["original.csv", "made.csv", "--target", "sick", "--tolerance", "2"],
            "tolerance is 2, and the target 'sick' is not numeric",
        ),
        (None, ["original.csv", "made.csv", "--tolerance", "-1"], "tolerance is -1; it must be 0"),
        (None, ["original.csv", "made.csv", "--target", "ill"], "target names 'ill'"),
        (
            None,
            ["original.csv", "made.csv", "--keys", "job,sick", "--target", "sick"],
            "target is 'sick', which is among the keys job, sick",
        ),
        (
            None,
            ["original.csv", "made.csv", "--keys", "job,town,sick"],
            "keys are all variables; one must be left for the target",
        ),
        (None, ["original.csv", "made.csv", "-p", "n_chains", "1"], "n_chains = 1 is out of range"),
        (None, ["original.csv", "made.csv", "-p", "n_chain", "4"], "did you mean 'n_chains'?"),
        (None, ["original.csv", "made.csv", "--holdout", "no.csv"], "'no.csv': there is no such"),
        (None, ["original.csv", "made.csv", "--rules", "no.yaml"], "'no.yaml': there is no such"),
        (
            replaced("rules.yaml", "copies: {worst_level: bad}"),
            ["original.csv", "made.csv", "--rules", "rules.yaml"],
            "rules.yaml: copies: worst_level is 'bad'; allowed are none, undecided, signs, found",
        ),
        (
            replaced("rules.yaml", "model: {value_at_most: 2}"),
            ["original.csv", "made.csv", "--rules", "rules.yaml", "--quick"],
            "rules.yaml: there is a rule on the model, which quick leaves out",
        ),
    ],
)
def test_bad_input_is_one_error_before_a_kernel(
    folder: Path, change: Callable[[], object] | None, arguments: list[str], message: str
) -> None:
    if change:
        change()
    result = assess(*arguments)
    assert result.exit_code == 2
    told = " ".join(result.stderr.replace("│", " ").split())
    assert message in told
    assert told.count("Error:") == 1
    assert result.stdout == ""
    assert not Path("out").exists()


# ------------------------------------------------------------------------------- from Python


def test_keys_and_target_that_are_not_given() -> None:
    frame = pd.DataFrame({name: ["x", "y"] for name in "abc"})
    schema = Schema.infer(frame)
    assert assessment.roles(schema, [], "") == ((0, 1), 2)
    assert assessment.roles(schema, [], "a") == ((1, 2), 0)
    assert assessment.roles(schema, ["c"], "") == ((2,), 1)
    assert assessment.roles(schema, ["c", "a"], "b") == ((2, 0), 1)


def test_what_was_chosen_is_noted(folder: Path) -> None:
    submission = assessment.submit("original.csv", ["made.csv"], schema="schema.yaml")
    assert submission.notes == (
        "original.csv: 60 records.",
        "made.csv: 50 records.",
        "No target was given: sick, the last that is no key.",
        "No keys were given: all 2 variables but the target.",
    )
    inferred = assessment.submit("original.csv", ["made.csv"], keys=["job"], target="town")
    assert inferred.notes == (
        "original.csv: 60 records.",
        "made.csv: 50 records.",
        "No schema was given: levels are the values that the original has.",
    )
    with pytest.raises(ValueError, match="released is empty"):
        assessment.submit("original.csv", [])


def draws_of(codes: np.ndarray, levels: list[int], **settings: int) -> dpmpm.Draws:
    chosen: dict[str, Any] = {"n_classes": 2, "burn_in": 100, "n_draws": 1500, "n_chains": 6}
    rng = np.random.default_rng(len(codes))
    chains = dpmpm.Chains(**(chosen | settings))
    return dpmpm.sample_posterior(codes, np.array(levels), chains, rng=rng, keep_allocations=True)


def submitted(released: list[pd.DataFrame], n: int = 120) -> assessment.Submission:
    original = records(n, 5)
    schema = Schema.infer(original)
    codes = [schema.encode(frame) for frame in (original, *released)]
    return assessment.Submission(schema, codes[0], tuple(codes[1:]), (0, 1), 2)


def found(submission: assessment.Submission, **settings: int) -> assessment.Findings:
    levels = submission.schema.n_levels.tolist()
    given = [
        draws_of(np.vstack(tables), levels, **settings)
        for tables in (
            [submission.original],
            *([submission.original, z] for z in submission.released),
        )
    ]
    return assessment.examine(submission, DrawSets(given[0], given[1:]))


CHAINS = {"n_draws": 400, "n_classes": 1}


def judge(submission: assessment.Submission, **settings: int) -> verdict.Judgment:
    return assessment.judge("made", submission, found(submission, **settings))


def test_the_verdict_on_a_copy_and_on_fresh_samples() -> None:
    copy, fresh = submitted([records(120, 5)]), submitted([records(120, 6), records(120, 7)])
    of_copy, of_fresh = (judge(s, **CHAINS) for s in (copy, fresh))
    assert of_copy.first == "Do not release made: it is the original itself."
    assert of_copy.lines[0].text.endswith("it is the original itself, row by row.")
    assert of_fresh.advice == "nothing found"
    assert "as useful as a fresh sample" in of_fresh.first
    assert "(2 releases, " in of_fresh.lines[2].text
    assert [each.lines[4].level for each in (of_copy, of_fresh)] == ["converged"] * 2
    assert sum("believes in a DPMPM" in line.text for line in of_copy.lines) == 1


def test_each_release_is_judged_alone_unless_one_generator_made_them() -> None:
    submission = submitted([records(120, 5), records(120, 6)])
    assert list(submission.judged()) == ["release 1", "release 2"]
    together = replace(submission, groups=("tool", "tool"))
    assert list(together.judged()) == ["tool"]
    assert submissions._apart([Path("x/a.csv"), Path("y/a.csv")]) == ("x/a.csv", "y/a.csv")
    assert submissions._apart([Path("a.csv"), Path("a.csv")]) == ("a.csv (1)", "a.csv (2)")


@pytest.mark.parametrize("synthetic", ["job", "sick"])
def test_a_release_of_which_only_some_variables_are_synthetic_is_refused(synthetic: str) -> None:
    rng, original = np.random.default_rng(0), records(200, 5)
    made = original.assign(**{synthetic: rng.permutation(original[synthetic])})
    with pytest.raises(ValueError, match=f"only those of '{synthetic}' differ; ") as refused:
        assessment.submit(original, [records(200, 6), made])
    left = "', '".join(original.columns.drop(synthetic))
    assert str(refused.value).startswith(f"release 2: the values of '{left}' are the original's,")
    assert "\n" not in str(refused.value)
    in_order = original.sort_values("job")
    strata = records(200, 6).assign(job=in_order["job"].to_numpy())
    accepted = [made.sample(frac=1, random_state=1), records(199, 6), records(200, 6), original]
    for table, released in (*((original, each) for each in accepted), (in_order, strata)):
        assert len(assessment.submit(table, [released]).released) == 1
    few = original[: verdict.FEWEST - 1]
    assert assessment.submit(few, [made[: len(few)]]).released


def test_chains_that_disagree_are_told_of() -> None:
    submission = submitted([records(120, 6)])
    line = judge(submission, n_classes=3, burn_in=0, n_draws=8, n_chains=3).lines[4]
    assert line.level == "rough"
    assert "chains disagree" in line.text


def test_what_the_regression_contains_is_said() -> None:
    submission = submitted([records(120, 6)])
    findings = assessment.examine(submission)
    assert assessment.terms(findings, [3, 4, 2]).startswith("It has 18 parameters: all levels and")
    assert [most_parameters(n) for n in (1_000, 20_000, 10**9)] == [99, 700, 700]
    levels_alone = replace(findings, interactions=False)
    assert "7 parameters, of levels alone" in assessment.terms(levels_alone, [3, 4, 2])
    part = replace(findings, pmse=findings.pmse.assign(fitted=100))
    told = assessment.terms(part, [3, 4, 2])
    assert told.endswith(
        "It is fitted to 100 of the 240 records, evenly spaced; the errors are of so many."
    )


def test_where_nothing_is_matched_tcap_has_no_value() -> None:
    away = records(120, 5).query("job == 'a' and town == 'north'")
    undecided = pd.concat([away.assign(sick="no"), away.assign(sick="yes")])
    submission = submitted([undecided])
    findings = assessment.examine(submission)
    assert findings.measures.set_index("measure").loc["TCAP", "mean"] != 0
    assert np.isnan(findings.measures.set_index("measure").loc["TCAP", "mean"])
    assert assessment.judge("made", submission, findings).lines[3].level == "poor"


def test_records_to_look_at() -> None:
    submission = submitted([records(120, 5)[:60], records(40, 6)])
    table = assessment.exposed(submission, found(submission, **CHAINS))
    assert table["repetitions"].sum() == 120
    names = list(submission.schema.names)
    assert not table[names].duplicated().any()
    levels = submission.schema.n_levels.tolist()
    flags = [
        matching.compare(submission.original, z, levels, [0, 1], 2).flags
        for z in submission.released
    ]
    of_records = submission.schema.decode(submission.original).astype(str)
    by_record = table.merge(of_records.reset_index(), on=names).sort_values("index")
    for name in ("repU", "DiSCO"):
        assert by_record[name].tolist() == sum(f[name].astype(int) for f in flags).tolist()
    alone = of_records.value_counts().loc[lambda count: count == 1].index
    released = {
        row
        for z in submission.released
        for row in map(tuple, submission.schema.decode(z).to_numpy())
    }
    expected = [row in alone and row in released for row in map(tuple, of_records.to_numpy())]
    assert by_record["copied"].tolist() == expected
    assert table["copied"].is_monotonic_decreasing
    assert table[table["copied"]]["neighbors"].is_monotonic_increasing
    by_line = {row.lines.split(", ")[0]: row for row in table.itertuples()}
    assert by_line["1"].job == of_records["job"].iloc[0]  # numbers from 1 where lines are unknown


def test_a_variable_called_like_a_column_of_the_list_keeps_its_values() -> None:
    submission = submitted([records(40, 6)])
    renamed = Schema(
        tuple(
            replace(variable, name=name)
            for variable, name in zip(
                submission.schema.variables, ("copied", "b", "c"), strict=True
            )
        )
    )
    submission = replace(submission, schema=renamed)
    table = assessment.exposed(submission, assessment.examine(submission))
    assert set(table["copied (value)"]) == {"a", "b", "c"}
    assert table["copied"].dtype == bool


def test_words_of_columns_leave_variables_alone() -> None:
    frame = pd.DataFrame({"copied": [True], "high": [1], "z": [2]})
    kept = assessment.in_words(frame, "copied", "high", keep=["high"])
    assert list(kept) == ["in the release", "high"]
    assert list(assessment.in_words(frame)) == ["in the release", "95 %", "difference in errors"]
