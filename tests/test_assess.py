"""Assessing files: the command on a small table, what it refuses, and the words of the verdict."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from enumeration import log_marginal_likelihood

from srlib import assessment, dpmpm, matching, mechanism
from srlib.cli import main
from srlib.schema import Schema

SMALL = {"n_classes": 3, "burn_in": 20, "n_draws": 20, "thin": 1, "n_chains": 2}
SETTINGS = [
    text
    for name, value in (SMALL | {"n_chains_joined": 2}).items()
    for text in ("-p", name, str(value))
]
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


def test_the_report_of_two_releases(folder: Path) -> None:
    given = ["--schema", "schema.yaml", "--keys", "town, job", "--target", "sick", *SETTINGS]
    result = assess("original.csv", "made.csv", "again.csv", *given, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert set(document) == {"report", "verdict", "results"}
    run = folder / "out/assess/made"
    assert Path(document["report"]) == run / "report.html"
    assert list(document["verdict"]) == [
        *("overall", "tables", "identity", "attributes", "driver"),
        *("model", "convergence", "utility"),
    ]
    assert "2 releases of 50, 70 records, made from 60 original" in document["verdict"]["tables"]
    assert "knows town, job (keys) and wants sick (target)" in document["verdict"]["tables"]

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
    assert document["results"]["UiO_baseline"] is None

    of_each = pd.read_csv(run / "tables/records.csv")
    assert of_each["repetitions"].sum() == 60
    assert (of_each["support_size"] == 1 + 2 + 3 + 1).all()
    assert (run / "tables/CONFIDENTIAL.txt").read_text() == "records.csv\n"
    provenance = json.loads((run / "provenance.json").read_text())
    assert provenance["changed_parameters"]["keys"] == ["town", "job"]
    assert "<b>clerk" not in (run / "report.html").read_text(encoding="utf-8")
    record = of_each["record"].iloc[0].replace("<", "&lt;").replace(">", "&gt;")
    assert record in (run / "report.html").read_text(encoding="utf-8")
    assert CliRunner().invoke(main, ["report", str(run), "--public"]).exit_code == 0
    assert record not in (run / "report-public.html").read_text(encoding="utf-8")


def test_two_records_and_one_constant_release(folder: Path) -> None:
    Path("original.csv").write_text("a,b\nx,u\ny,v\n")
    Path("made.csv").write_text("a,b\nx,u\nx,u\n")
    result = assess("original.csv", "made.csv", *SETTINGS, "-p", "partially_synthetic", "true")
    assert result.exit_code == 0, result.output
    assert "1 release of 2 records, made from 2 original ones" in result.output
    assert "one release, spread unknown" in result.output
    assert "matches: Of 2 records" in result.output
    assert result.output.endswith("report: out/assess/made/report.html\n")


def test_a_notebook_that_fails_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from srlib import run

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
            ["original.csv", "made.csv"],
            "made.csv: values outside the levels: job has 'd' (line 3), allowed are a, b, c; "
            "sick has 'maybe' (line 4), allowed are no, yes",
        ),
        (
            replaced("original.csv", HEADER, "a,north,no", "b,up,yes"),
            ["original.csv", "made.csv", "--schema", "schema.yaml"],
            "original.csv: values outside the levels: town has 'up' (line 3)",
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
            ["original.csv", "made.csv", "again.csv"],
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
        (
            None,
            ["original.csv", "made.csv", "-p", "partially_synthetic", "true"],
            "made.csv: the table has 50 records; a partially synthetic release has as many as the "
            "original, 60",
        ),
        (None, ["original.csv", "made.csv", "-p", "n_chains", "1"], "n_chains = 1 is out of range"),
        (None, ["original.csv", "made.csv", "-p", "n_chain", "4"], "did you mean 'n_chains'?"),
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
    submission = assessment.read("original.csv", ["made.csv"], "schema.yaml")
    assert submission.notes == (
        "No target was given: sick, the last that is no key.",
        "No keys were given: all 2 variables but the target.",
    )
    inferred = assessment.read("original.csv", ["made.csv"], keys=["job"], target="town")
    assert inferred.notes == (
        "original.csv: No schema was given: the levels are the values that the file has.",
    )
    with pytest.raises(ValueError, match="released is empty"):
        assessment.read("original.csv", [])
    with pytest.raises(ValueError, match="drop_missing is set together"):
        assessment.read("original.csv", ["made.csv"], drop_missing=True, partially_synthetic=True)


def draws_of(codes: np.ndarray, levels: list[int], **settings: int) -> dpmpm.Draws:
    chosen: dict[str, Any] = {"n_classes": 2, "burn_in": 100, "n_draws": 1500, "n_chains": 6}
    rng = np.random.default_rng(len(codes))
    return dpmpm.sample_posterior(codes, np.array(levels), rng=rng, **(chosen | settings))


def test_risks_of_target_and_record_by_enumeration() -> None:
    levels, target = [2, 3], 1
    data = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
    releases = [np.array([(0, 0), (1, 2), (0, 1)], np.uint8), np.array([(0, 2)], np.uint8)]
    combinations, repetitions = data[:3], np.array([1, 1, 2])
    joined = [draws_of(np.vstack([data, z]), levels) for z in releases]
    risks = assessment.model_risks(
        draws_of(data, levels), joined, combinations, repetitions, target
    )

    def log_marginal(codes: np.ndarray) -> float:
        return log_marginal_likelihood(codes, levels, 2, dpmpm.Prior())

    for i, x in enumerate(combinations):
        values = [int(x[1]), *(t for t in range(3) if t != x[1])]
        candidates = [np.vstack([np.delete(data, i, axis=0), [x[0], t]]) for t in values]
        alone = np.array([log_marginal(codes) for codes in candidates])
        evidence = sum(
            np.array([log_marginal(np.vstack([codes, z])) for codes in candidates]) - alone
            for z in releases
        )
        before, after = mechanism.posterior(alone)[0], mechanism.posterior(alone + evidence)[0]
        row = risks.iloc[i]
        assert row["target_prior"] == pytest.approx(np.exp(before), abs=0.02)
        assert abs(row["log_gain"] - (after - before)) < 5 * row["log_gain_mcse"]
        assert row["target_probability"] == pytest.approx(
            row["target_prior"] * np.exp(row["log_gain"])
        )
        # The whole record: the target's other values, and the other value of the key.
        other = np.vstack([np.delete(data, i, axis=0), [1 - x[0], x[1]]])
        of_other = sum(log_marginal(np.vstack([other, z])) for z in releases)
        of_other -= len(releases) * log_marginal(other)
        exact = mechanism.posterior(np.append(evidence, of_other))[0]
        assert abs(np.log(row["probability"]) - exact) < 5 * row["log_mcse"]
    assert (risks["log_gain_mcse"] < 0.05).all()
    assert (risks["support_size"] == 4).all()


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
    return assessment.assess(submission, given[0], given[1:])


CHAINS = {"n_draws": 400, "n_classes": 1}


def test_the_verdict_on_a_copy_and_on_a_fresh_sample() -> None:
    copy, fresh = submitted([records(120, 5)]), submitted([records(120, 6), records(120, 7)])
    of_copy, of_fresh = (assessment.verdict(s, found(s, **CHAINS)) for s in (copy, fresh))
    assert "closer to the original than fresh draws could be" in of_copy["overall"]
    assert "DiSCO" in of_copy["overall"]
    assert "pMSE of 0.00 times" in of_copy["utility"]
    assert "overlap by 1.00 on average" in of_copy["utility"]
    assert "one release, spread unknown" in of_copy["identity"]
    assert "Utility is close to a correct model's." in of_fresh["overall"]
    assert "2.00 a fresh sample's" in of_fresh["utility"]
    assert "(standard error" in of_fresh["identity"]
    assert "enters 2 times" in of_fresh["convergence"]
    assert "no sign that the chains disagree" in of_fresh["convergence"]
    assert all("an assumption of this report" in v["model"] for v in (of_copy, of_fresh))


def test_chains_that_disagree_are_told_of() -> None:
    submission = submitted([records(120, 6)])
    texts = assessment.verdict(
        submission, found(submission, n_classes=3, burn_in=0, n_draws=8, n_chains=3)
    )
    assert "NOT converged" in texts["convergence"]


def test_where_nothing_is_matched_tcap_has_no_value() -> None:
    away = records(120, 5).query("job == 'a' and town == 'north'")
    undecided = pd.concat([away.assign(sick="no"), away.assign(sick="yes")])
    submission = submitted([undecided])
    texts = assessment.verdict(submission, found(submission, **CHAINS))
    assert "TCAP has no value" in texts["attributes"]
    assert "Utility is poor" in texts["overall"]


def test_records_to_look_at() -> None:
    submission = submitted([records(120, 5), records(40, 6)])
    table = assessment.exposed(submission, found(submission, **CHAINS))
    assert table["repetitions"].sum() == 120
    assert table["record"].is_unique
    levels = submission.schema.n_levels.tolist()
    flags = [
        matching.compare(submission.original, z, levels, [0, 1], 2).flags
        for z in submission.released
    ]
    of_records = submission.schema.decode(submission.original).astype(str).agg(", ".join, axis=1)
    by_record = table.set_index("record").loc[of_records]
    for name in ("repU", "DiSCO"):
        assert by_record[name].tolist() == sum(f[name].astype(int) for f in flags).tolist()
    assert table["repU"].is_monotonic_decreasing
