"""Assessing releases: the call from Python, the command, what both refuse, and the page."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import SURVEY, records
from click.testing import CliRunner, Result
from markupsafe import escape

from srlib.assessment import Assessment, assess, ratings, run, run_assessment, verdict
from srlib.data.schema import Microdata, Schema, Variable
from srlib.display import NOT_SHOWN
from srlib.risk import model_intruder
from srlib.runner.cli import main

ORIGINAL, MADE, AGAIN, OTHERS = (
    records(n, i) for i, n in enumerate((60, 50, 70, 80), start=1)
)
INCOMES = {
    "original": ORIGINAL.assign(income=np.arange(60) * 10),
    "keys": "town",
    "target": "sick",
}
INCOMES |= {"released": MADE.assign(income=np.arange(50) * 12 + 3)}
GIVEN = ["--schema", "schema.yaml", "--keys", "town, job", "--target", "sick"]
HOSTILE = {"a": "<script>a", "north": "M&S"}


def ask(original: Any = ORIGINAL, released: Any = MADE, **settings: Any) -> Assessment:
    return assess(original, released, **({"rng": np.random.default_rng(1)} | settings))


def row(found: Assessment, question: str) -> pd.Series:
    """Return the first row of a question."""
    return found.table[found.table["question"] == question].iloc[0]


def test_numbers_are_those_of_counts_by_hand() -> None:
    found = ask(keys=["job", "town"], target="sick")
    keys = [
        list(zip(*(t[c] for c in ("job", "town")), strict=True))
        for t in (ORIGINAL, MADE)
    ]
    alone = [x for x in keys[0] if keys[0].count(x) == 1]
    identity = row(found, "identity")
    assert identity["n"] == len(alone) > 0
    assert identity["estimate"] == pytest.approx(np.mean([x in keys[1] for x in alone]))
    targets = MADE.groupby(["job", "town"])["sick"].agg(set).to_dict()
    told = [
        targets.get(x) == {sick}
        for x, sick in zip(keys[0], ORIGINAL["sick"], strict=True)
    ]
    assert row(found, "attribute")["estimate"] == pytest.approx(np.mean(told))


def test_frames_files_and_codes_tell_the_same(tmp_path: Path) -> None:
    tables = {"original.csv": ORIGINAL, "a.csv": MADE, "b.csv": AGAIN}
    for name, frame in tables.items():
        frame.to_csv(tmp_path / name, index=False)
    asked: dict[str, Any] = {"keys": ["town", "job"], "target": "sick"}
    original, *released = (str(tmp_path / name) for name in tables)
    of_files = ask(original, released, **asked)
    of_frames = ask(ORIGINAL, {"a.csv": MADE, "b.csv": AGAIN}, **asked)
    pd.testing.assert_frame_equal(of_files.table, of_frames.table)
    assert of_files.tables.keys == ((1, 0),)
    schema = Schema.from_frame(ORIGINAL.astype("category"))
    coded = [Microdata.from_frame(frame, schema) for frame in tables.values()]
    of_codes = ask(
        coded[0], dict(zip(("a.csv", "b.csv"), coded[1:], strict=True)), **asked
    )
    numbers = ["question", "estimate", "se", "baseline", "z"]
    pd.testing.assert_frame_equal(of_codes.table[numbers], of_files.table[numbers])


def test_releases_are_judged_one_by_one_the_worst_first() -> None:
    copy = ORIGINAL.sample(frac=1, random_state=1)
    found = ask(released={"made": MADE, "copy": copy}, target="sick")
    assert [judgment.release for judgment in found.verdicts] == ["copy", "made"]
    assert found.table["release"].unique().tolist() == ["copy", "made"]
    assert (
        found.verdicts[0].sentence
        == 'Do not release "copy": it is the original itself.'
    )
    assert set(found.records()["release"]) == {"copy", "made"}
    alone = ask(released={"renamed": MADE}, target="sick").table.drop(columns="release")
    mine = (
        found.table.query("release == 'made'")
        .reset_index(drop=True)
        .drop(columns="release")
    )
    pd.testing.assert_frame_equal(
        mine, alone
    )  # whatever its name, and what else is assessed
    told = found.to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["headline"] == found.verdict().splitlines()[0]
    blocks = found.verdict().split("\n\n")
    assert [len(block.splitlines()) for block in blocks] == [2, 9, 9]
    assert told["notes"] == list(found.tables.notes)


def test_where_nobody_is_alone_the_card_says_so() -> None:
    people = pd.DataFrame(
        {"job": ["a", "b"] * 40, "sick": ["no", "no", "yes", "yes"] * 20}
    )
    told = ask(people, people[::-1].iloc[:70], keys="job", target="sick").verdict()
    assert told.count("none unique") == told.count("not applicable") == 3
    assert "nan" not in told


def test_draws_of_one_tool_are_judged_together(tmp_path: Path) -> None:
    MADE.to_csv(tmp_path / "a.csv", index=False)
    AGAIN.to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / ".hidden").touch()
    of_folder = ask(released=str(tmp_path), target="sick")
    of_list = ask(released={tmp_path.name: [MADE, AGAIN]}, target="sick")
    assert len(of_folder.verdicts) == 1
    pd.testing.assert_frame_equal(of_folder.table, of_list.table)
    assert (
        of_folder.tables.notes[0]
        == f"{tmp_path.name}: a folder of 2 releases, judged together."
    )
    alone = [ask(released=z, target="sick") for z in (MADE, AGAIN)]
    for question in ("identity", "attribute", "TCAP"):
        values = [row(found, question)["estimate"] for found in alone]
        together = row(of_list, question)
        assert together["estimate"] == pytest.approx(np.mean(values))
        between = np.std(values, ddof=1) / np.sqrt(2)
        assert together["se"] >= between - 1e-12
    assert 0 < between == pytest.approx(together["se"])
    assert of_list.records()["matched"].max() == 2


def test_sets_of_keys_and_further_targets_are_asked_about_each(monkeypatch):
    """The first three answers count by themselves, all others as one of a family."""
    families, rate = [], ratings.rate

    def noted(rows: Any, family: bool, few: bool = False) -> None:
        families.append(([one["question"] for one in rows], family))
        rate(rows, family, few)

    found = ask(keys=[["job"], ["town"]], target=["sick"]).table
    about = found[found["in_verdict"]].groupby("question")["variables"].agg(list)
    assert about["identity"] == ["job", "town"]
    assert about["inference"] == ["job → sick", "town → sick"]
    monkeypatch.setattr(ratings, "rate", noted)
    found = ask(keys=["job"], target=["sick", "town"]).table
    about = found[found["in_verdict"]].groupby("question")["variables"].agg(list)
    assert about["attribute"] == ["job → sick", "job → town"]
    first, further = ["identity", "attribute", "inference"], ["attribute", "inference"]
    assert families == [(first, False), (further, True), ([], True)]


def test_groups_people_held_out_and_dropped_records() -> None:
    original = ORIGINAL.astype(object)
    original.loc[:9, "job"] = None
    found = ask(
        original, keys=["job", "town"], target="sick", by="sick", holdout=OTHERS
    )
    groups = found.table.query("group != 'all'")
    assert groups["group"].unique().tolist() == ["sick: no", "sick: yes"]
    assert groups.query("question == 'attribute'")["n"].sum() == 60
    assert not groups["in_verdict"].any()
    assert groups[["holdout", "z_holdout"]].isna().all(axis=None)
    some = found.table.query(
        "question in ('full match', 'identity', 'attribute', 'inference')"
    )
    assert some.query("group == 'all'")[["holdout", "z_holdout"]].notna().all(axis=None)
    by_hand = {tuple(x) for x in MADE.to_numpy()}
    share = np.mean([tuple(x) in by_hand for x in OTHERS.to_numpy()])
    assert row(found, "full match")["holdout"] == pytest.approx(share)
    assert "holdout: 80 records." in found.tables.notes
    assert any("job 10 of 60" in note for note in found.tables.notes)


def test_few_records_are_not_judged_and_what_cannot_be_estimated_has_no_word() -> None:
    for n, enough in ((12, False), (19, False), (20, True)):
        few = ask(ORIGINAL[:20], MADE[:n], target="sick")
        words = set(few.table.query("question in ('attribute', 'inference')")["rating"])
        assert (
            ("too few people" not in words) if enough else words == {"too few people"}
        )
        assert enough or few.verdicts[0].verdict == "undecided"
    constant = MADE.assign(sick="no")
    for tables in ([MADE, constant], [constant, MADE]):
        found = ask(released={"tool": tables}, target="sick")
    json.dumps(found.to_dict(), allow_nan=False)
    own = pd.DataFrame({name: [f"{name}{i}" for i in range(60)] for name in "abc"})
    assert (
        ask(own, own[::-1]).verdicts[0].verdict == "do not release"
    )  # and no warning of all levels
    two, alike = (
        pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}),
        pd.DataFrame({"a": ["x"] * 2}),
    )
    found = ask(two, [alike.assign(b="u"), two])  # two records, and a constant release
    assert {judgment.verdict for judgment in found.verdicts} == {"undecided"}
    assert "<table" in found.to_html()


def test_copies_of_numbers_that_are_cut_are_a_sign(rng: np.random.Generator) -> None:
    """Everybody shares their pieces with others, and nobody the numbers."""
    numbers = rng.random((2, 1_000, 2)).round(6)
    original, fresh = (
        pd.DataFrame(each, columns=["age", "income"]) for each in numbers
    )
    for frame in (original, fresh):
        frame["sick"] = rng.choice(["no", "yes"], 1_000)
    copied = pd.concat([original[:50], fresh[50:]])
    shuffled = original.apply(rng.permutation)
    for made, advice in (
        (copied, "review"),
        (fresh, "no sign of disclosure"),
        (shuffled, "no sign of disclosure"),
    ):
        found = ask(original, made, target="sick")
        assert row(found, "identical records")["z"] < 2.58
        assert found.verdicts[0].verdict == advice
        assert (row(found, "identical before binning")["z_permutation"] >= 3.3) == (
            advice == "review"
        )
        assert "identical to an original, binned" in found.verdict()
    assert np.isnan(row(ask(), "identical before binning")["z_permutation"])
    assert "binned" not in ask().verdict()


def test_identifiers_that_are_left_out_are_compared(rng: np.random.Generator) -> None:
    """Numbers of passports, of which a release has two; numbers of its records are no copies."""
    original, fresh = records(400, 3), records(400, 4)
    passports = [f"C{number:08d}" for number in rng.choice(10**8, 800, replace=False)]
    original = original.assign(passport=passports[:400], record=range(400), note="-")
    fresh = fresh.assign(passport=passports[400:], record=range(400), note="-")
    stolen = fresh.assign(passport=[*passports[:2], *passports[402:]])
    left_out = ["passport", "record", "note"]
    found = ask(
        original, {"stolen": stolen, "fresh": fresh}, target="sick", leave_out=left_out
    )
    assert [one.verdict for one in found.verdicts] == [
        "do not release",
        "no sign of disclosure",
    ]
    assert found.verdicts[0].sentence == (
        'Do not release "stolen": it contains 2 of the original\'s values of passport.'
    )
    told = "Left out: 'passport', 'record', 'note'. Of these 'passport', 'record' are compared as "
    told += "identifiers; nothing else of them is assessed."
    assert found.verdict().splitlines()[2] == told
    assert told in found.to_html().replace("&#39;", "'")
    assert "values of identifiers in common" in found.verdict()
    together = ask(
        original, {"tool": [fresh, stolen]}, target="sick", leave_out=left_out
    )
    assert together.verdicts[0].verdict == "do not release"
    assert ask().not_judged() == ""


def test_numbers_among_the_keys_are_known_exactly(rng: np.random.Generator) -> None:
    age = rng.integers(18, 90, (2, 300))
    original, made = (
        records(300, seed).assign(age=a) for seed, a in zip((5, 6), age, strict=True)
    )
    found = ask(original, made, keys=["town", "age"], target="sick")
    pairs = original.groupby(["town", "age"])["job"].transform("size")
    assert row(found, "identity")["n"] == (pairs == 1).sum()
    told = "Numeric keys 'age': matched on their exact values for identity disclosure, and binned"
    assert any(note.startswith(told) for note in found.tables.notes)


def test_numbers_are_told_within_a_distance() -> None:
    near, far = (ask(**INCOMES, within={"income": w}) for w in (1e-3, 1e6))
    assert row(near, "interval")[["variables", "in_verdict"]].tolist() == [
        "town → income",
        True,
    ]
    assert (row(near, "interval")["estimate"], row(far, "interval")["estimate"]) == (
        0,
        1,
    )


def test_what_was_chosen_is_noted(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SURVEY)
    assert ask(schema=str(tmp_path / "schema.yaml")).tables.notes == (
        "original: 60 records.",
        "release 1: 50 records.",
        "No target given; using 'sick', the last non-key column.",
        "No keys given; using every variable except the target (2).",
    )
    found = ask(keys="job", released={"made": MADE.replace({"c": "d"})}).tables
    assert (found.keys, found.targets) == (((0,),), (2,))
    told = " ".join(found.notes)
    assert "No schema given; levels are taken from the original." in told
    assert "Levels that the original does not have: job 'd'." in told
    assert "No target given; using 'sick', the last non-key column." in told


def test_the_model_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_intruder, "MAX_ITERATIONS", 40)
    found = ask(target="sick", model=True)
    assert row(found, "model: target")["n"] == 60
    assert found.records()["target_probability"].between(0, 1).all()


def test_records_to_look_at(tmp_path: Path) -> None:
    path = tmp_path / "original.csv"
    ORIGINAL.to_csv(path, index=False)
    table = ask(path, keys=["job"], target="sick").records()
    assert table["repetitions"].sum() == 60
    names = ["job", "town", "sick"]
    assert not table[names].duplicated().any()
    for one in table.itertuples():  # the header is line 1
        lines = [int(line) for line in one.lines.split(", ") if line != "..."]
        assert 0 < len(lines) <= one.repetitions
        for line in lines:
            assert ORIGINAL.iloc[line - 2].tolist() == [one.job, one.town, one.sick]
    released = set(map(tuple, MADE.to_numpy()))
    expected = [x in released for x in map(tuple, table[names].to_numpy())]
    assert table["identical"].tolist() == list(
        (table["repetitions"] == 1) & np.array(expected)
    )
    assert table["identical"].is_monotonic_decreasing
    assert table[table["identical"]]["neighbors"].is_monotonic_increasing
    renamed = {"job": "identical"}
    own = ask(ORIGINAL.rename(columns=renamed), MADE.rename(columns=renamed)).records()
    assert set(own["identical (value)"]) == {"a", "b", "c"}
    assert own["identical"].dtype == bool


NUMBERS = {"schema": Schema.from_frame(ORIGINAL.astype("category"))}
STRANGE = ORIGINAL.replace({"a": "z"})
SICK = Variable("sick", ("no", "yes", "N"), not_applicable=("N",))
NOBODY = {"original": MADE[["job"]].assign(sick="N"), "target": "sick"}
NOBODY |= {
    "released": NOBODY["original"],
    "schema": Schema((Variable("job", tuple("abc")), SICK)),
}
HALF = records(200, 5).assign(sick=records(200, 6)["sick"])
LONE = records(60, 1).assign(street=[f"street {i % 40}" for i in range(60)])
KEPT_OUT_LATE = {"original": LONE, "released": LONE[:20], "holdout": LONE[:50]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"original": ""}, "this is not a regular file"),
        (
            {"original": {"job": [1]}},
            "original is of type dict; it must be a DataFrame",
        ),
        ({"original": ORIGINAL[:1]}, "original: the table has fewer than two records"),
        ({"released": []}, "released is empty; it must contain at least one table"),
        (
            {"released": {"tool": []}},
            "tool contains no releases; it must contain at least one",
        ),
        ({"released": 3}, "release 1 is of type int; it must be a DataFrame"),
        ({"released": "nowhere.csv"}, "No such file or directory: 'nowhere.csv'"),
        (
            {"released": {"made": MADE[:1]}},
            "made: the table has 1 record; it needs 2 or more",
        ),
        (
            {"released": [MADE, MADE.drop(columns="job")]},
            "release 2: missing columns job; the sch",
        ),
        ({"released": MADE.assign(age=1)}, "release 1: unknown columns 'age'"),
        (
            {"released": STRANGE} | NUMBERS,
            "release 1: values outside the levels: job has 'z'",
        ),
        (
            {"original": HALF, "released": [MADE, records(200, 5)]},
            "release 2: the values of 'job'",
        ),
        (
            {"holdout": ORIGINAL[::-1]},
            r"holdout: an estimated 100.0\s% of the \d+ sample uniques",
        ),
        (
            KEPT_OUT_LATE,
            r"holdout: an estimated 8\d\.\d\s% of the 56 sample uniques of",
        ),
        (
            {"schema": 3},
            "schema is of type int; it must be a Schema or the path of a file",
        ),
        ({"keys": ["age"]}, "keys names 'age'; available are job, town, sick"),
        (
            {"keys": [["job"], "town"]},
            r"keys names \['job'\]; available are job, town, sick",
        ),
        ({"keys": 3}, "keys is 3; it must be a list of names"),
        ({"keys": [["job"], []]}, r"keys is \[\]; it must name one or more"),
        (
            {"keys": ["sick"], "target": "sick"},
            "keys has the set sick, which contains the target 'sick'",
        ),
        (
            {"keys": ["job", "town", "sick"]},
            "keys name all variables; target must be given",
        ),
        ({"target": ["sick", "sick"]}, "no variable may be repeated"),
        (
            NOBODY,
            "target is 'sick', which is missing or not applicable in every record",
        ),
        (
            {"original": ORIGINAL[["sick"]], "released": MADE[["sick"]]},
            "'sick' is the only variable",
        ),
        ({"within": {"town": 2}}, "within names 'town', which is not numeric; give"),
        (
            INCOMES | {"within": {"income": 0}},
            "within of income is 0; it must be positive and f",
        ),
        (
            {"within": {"job": 1}, "keys": ["job"]},
            "within names 'job', which is a key; it must name",
        ),
        ({"within": 3}, "within is 3; it must map names of variables to distances"),
        ({"by": "age"}, "by names 'age'"),
        (
            {"rng": 1},
            "rng is 1; it must be a Generator, such as numpy.random.default_rng",
        ),
    ],
)
def test_errors_are_one_sentence_before_anything_long_starts(
    monkeypatch, change, message
):
    monkeypatch.setattr(run, "run_assessment", None)
    with pytest.raises((ValueError, OSError), match=message) as error:
        ask(**change)
    assert "\n" not in str(error.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files named as a user would, in the folder where the user types."""
    monkeypatch.chdir(tmp_path)
    for name, frame in {"original": ORIGINAL, "made": MADE, "again": AGAIN}.items():
        frame.to_csv(f"{name}.csv", index=False)
    Path("schema.yaml").write_text(SURVEY)
    return tmp_path


def command(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["assess", *arguments, "--output", "out"])


def test_the_command_prints_what_the_call_returns_and_writes_it(folder: Path) -> None:
    Path("tool").mkdir()
    ORIGINAL.sample(frac=1, random_state=1).to_csv("tool/copy.csv", index=False)
    result = command("original.csv", "made.csv", "tool", *GIVEN)
    assert result.exit_code == 0, result.output
    found = ask(
        "original.csv",
        ["made.csv", "tool"],
        schema="schema.yaml",
        keys=["town", "job"],
        target="sick",
    )
    lines = result.stdout.splitlines()
    (run,) = folder.glob("out/assess/made_and_1_more-*")
    assert lines[-1] == f"report: out/assess/{run.name}/report.html"
    assert lines[0] == found.to_dict()["headline"]
    assert lines[0] == "2 releases: 1 do not release, 1 no sign of disclosure."
    sentence = 'Do not release "tool": it is the original itself.'
    assert (
        lines[1] == "Original: 60 records, 3 variables. Keys: town, job. Target: sick."
    )
    assert lines[3] == found.verdicts[0].sentence == sentence
    assert (sum(line.startswith("  ") for line in lines), result.stderr) == (16, "")
    result = command(
        "original.csv", "made.csv", "tool", *GIVEN, "--json", "--name", "a b"
    )
    document = json.loads(result.stdout)
    (run,) = folder.glob("out/assess/a_b-*")
    assert document.pop("report") == str(run / "report.html")
    assert document["verdicts"] == found.to_dict()["verdicts"]
    assert document["notes"] == list(found.tables.notes)
    exact = [
        row for row in document["table"] if row["question"] != "inference"
    ]  # chance apart
    assert exact == [
        row for row in found.to_dict()["table"] if row["question"] != "inference"
    ]
    assert json.loads((run / "results.json").read_text()) == document
    told = pd.read_csv(run / "tables/answers.csv")
    assert told["question"].tolist() == [row["question"] for row in document["table"]]
    assert pd.read_csv(run / "tables/records.csv")["repetitions"].sum() == 120
    written = {p.relative_to(run).as_posix() for p in run.rglob("*") if p.is_file()}
    assert written == {
        "report.html",
        "report-public.html",
        "results.json",
        "parameters.yaml",
        "provenance.json",
        "tables/answers.csv",
        "tables/records.csv",
    }
    for path in (run, *run.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    inputs = json.loads((run / "provenance.json").read_text())["inputs"]
    assert set(inputs) == {"original.csv", "made.csv", "tool/copy.csv", "schema.yaml"}
    assert not list(folder.glob("out/assess/.tmp-*"))


def test_the_terminal_shows_what_was_chosen_and_no_value(folder: Path) -> None:
    """Beside the card: how numbers and dates were read, what was cut, what was left out."""
    for name, frame in {"original": ORIGINAL, "made": MADE}.items():
        more = {
            "height": np.arange(len(frame)) / 40,
            "id": [f"SECRET{i}" for i in frame.index],
        }
        path = f"{name}.csv"
        frame.assign(**more).to_csv(path, index=False, sep=";", decimal=",")
    result = command(
        "original.csv", "made.csv", "--target", "sick", "--leave-out", "id"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert "- original.csv: Numbers with a decimal comma: 'height'." in lines
    assert "- made.csv: Columns left out: 'id'." in lines
    assert any(
        line.startswith("- height is binned near the original's quantiles")
        for line in lines
    )
    assert "SECRET" not in result.stdout
    assert not any(
        line.startswith("- ") and line.endswith("records.") for line in lines
    )
    wide = pd.DataFrame({f"v{i}": np.arange(60) for i in range(20)})
    wide.to_csv("wide.csv", index=False)
    wide.sample(frac=1, random_state=1).to_csv("other.csv", index=False)
    told = command("wide.csv", "other.csv").stdout
    assert sum(line.startswith("- ") for line in told.splitlines()) == 13
    assert "- and 13 more\n" in told


HABITS: dict[str, Any] = {
    "45 columns": lambda frame: frame.assign(
        **{f"v{i}": frame["job"] for i in range(42)}
    ),
    "names": lambda frame: frame.rename(
        columns={"job": "a job?", "town": 'it\'s - "x"'}
    ),
    "twenty times": lambda frame: (
        pd.concat([frame] * 20) if len(frame) == 50 else frame
    ),
    "a tenth": lambda frame: frame[:6] if len(frame) == 50 else frame,
    "floats": lambda frame: frame.assign(
        town=1.0 if len(frame) == 50 else 1, n=range(len(frame))
    ),
    "other case": lambda frame: frame.assign(
        job=frame["job"].str.upper() + " " if len(frame) == 50 else frame["job"]
    ),
    "missing": lambda frame: frame.assign(
        job=frame["job"].where(frame["job"] != "a", "" if len(frame) == 50 else "NA")
    ),
    "no key in common": lambda frame: frame[
        (frame["job"] + frame["town"]).isin(["anorth", "bsouth", "ceast"])
        == (len(frame) == 50)
    ],
}


@pytest.mark.parametrize("habit", HABITS)
def test_files_as_offices_have_them_are_assessed(folder: Path, habit: str) -> None:
    for name, frame in {"original": ORIGINAL, "made": MADE}.items():
        HABITS[habit](frame).to_csv(f"{name}.csv", index=False)
    result = command("original.csv", "made.csv", "--target", "sick")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Levels that the original does not have" not in result.stdout


def test_the_status_says_what_the_verdict_is_worth(folder: Path) -> None:
    MADE[:19].to_csv("few.csv", index=False)
    statuses = [
        command("original.csv", name, "--target", "sick", "--fail-on", worst).exit_code
        for name in ("few.csv", "original.csv")
        for worst in ("undecided", "do not release")
    ]
    assert statuses == [3, 0, 3, 3]


def test_a_file_that_changes_meanwhile_makes_no_report(folder, monkeypatch):
    def late(*arguments: Any, **options: Any) -> Assessment:
        AGAIN.to_csv("made.csv", index=False)
        return run_assessment(*arguments, **options)

    monkeypatch.setattr("srlib.assessment.run_assessment", late)
    result = command("original.csv", "made.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "a file was changed while it was assessed; run it again" in result.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([".", "made.csv"], "'.' is a directory"),
        (
            ["original.csv", "made.csv", "--schema", "no.yaml"],
            "file 'no.yaml' does not exist",
        ),
        (
            ["original.csv", "values.csv", *GIVEN],
            "values.csv: values outside the levels: job has '...' (line 3), allowed are '...'; "
            "sick has '...' (line 4), allowed are '...'",
        ),
        (
            ["original.csv", "ill.csv"],
            "ill.csv: missing columns sick; unknown columns 'ill'",
        ),
        (
            ["header.csv", "made.csv"],
            "header.csv: the file has a header but no records",
        ),
        (["original.csv", "empty"], "empty contains no releases"),
        (
            ["original.csv", "made.csv", "--within", "town", "x"],
            "'x' is not a valid float",
        ),
    ],
)
def test_bad_input_is_one_error_without_values(folder, arguments, message):
    Path("empty").mkdir()
    Path("header.csv").write_text("job,town,sick\n")
    Path("ill.csv").write_text("job,town,ill\nSECRET,north,no\na,north,no\n")
    Path("values.csv").write_text(
        "job,town,sick\na,north,no\nSECRET,north,no\na,south,SECRET\n"
    )
    result = command(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    told = " ".join(result.stderr.replace("│", " ").split())
    assert message in told
    assert (told.count("Error:"), told.count("SECRET")) == (1, 0)
    assert not Path("out").exists()


def test_the_page_stands_alone_and_all_text_in_it_is_escaped() -> None:
    tables = [
        t.replace(HOSTILE).rename(columns={"town": "<i>town"}) for t in (ORIGINAL, MADE)
    ]
    found = ask(
        tables[0], {"<b>made": tables[1], "half": tables[0][:30]}, target="sick"
    )
    page = found.to_html()
    for text in (
        "<script",
        "<i>",
        "<b>",
        "M&S",
        "http:",
        "https:",
        "src=",
        "javascript",
    ):
        assert text not in page
    for text in ("&lt;script&gt;a", "&lt;i&gt;town", "&lt;b&gt;made", "M&amp;S"):
        assert text in page
    assert (
        "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-i"
        in page
    )
    first, second = found.verdicts
    assert first.release == "half"
    assert re.findall("<h1>(.*?)</h1>", page) == [verdict.headline(found.verdicts)]
    assert f"<h2>{escape(first.sentence)}</h2>" in page
    assert f"<h2>{escape(second.sentence)}</h2>" in page
    assert (
        page.index("<h1>")
        < page.index("<table")
        < page.index("<h2>")
        < page.index("<details")
    )
    assert page.index("Confidential") < page.index("<details")
    folded = re.findall("<summary>(.*?)</summary>", page)
    assert folded == [
        "All measures: half",
        "All measures: &lt;b&gt;made",
        "Records at highest risk",
        "Notes and assumptions",
        "How the verdict is reached",
        "Terms",
    ]
    assert page.count("<table") == 7
    for sentence in (*verdict.rules_text("assumptions"), *verdict.rules_text()):
        assert escape(sentence) in page


def test_the_public_page_has_words_over_ten_people_alone() -> None:
    tables = [
        t.replace(HOSTILE).rename(columns={"town": "QTOWN"}) for t in (ORIGINAL, MADE)
    ]
    found = ask(
        tables[0], {"QMADE": tables[1]}, keys=["QTOWN"], target="sick", by="job"
    )
    page = found.to_html(public=True)
    body = page.split("<body>")[1].split("<details")[0]
    for text in (
        "QTOWN",
        "QMADE",
        "script",
        "M&amp;S",
        "south",
        "sick",
        "job",
        "release ",
    ):
        assert text not in body
    assert set(re.findall(r"\d+", re.sub("<[^>]*>", " ", body))) <= {"1"}
    words = verdict.public_table(found.verdicts, found.table).iloc[0]
    assert row(found, "identity")["n"] < 10  # nobody is alone in a town
    assert words[["identity", "verdict", "utility"]].tolist() == [NOT_SHOWN] * 3
    people = records(180, 1).assign(day=[f"day {i % 90}" for i in range(180)])
    found = ask(people, people[::-1], keys=["day", "job"], target="sick")
    words = verdict.public_table(found.verdicts, found.table).iloc[0]
    assert words[["verdict", "identical records", "identity"]].tolist() == [
        "do not release",
        "found",
        "high",
    ]
