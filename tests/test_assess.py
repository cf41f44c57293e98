"""Assessing releases: the call from Python, the command, what both refuse, pages."""

import json
import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import SURVEY, records
from markupsafe import escape
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from toy import call

from srlib.assessment import assess, ratings, run, run_assessment, verdict
from srlib.data.schema import Microdata, Schema
from srlib.display import NOT_SHOWN

ORIGINAL = records(60, 1)
MADE = records(50, 2)
AGAIN = records(70, 3)
HOLDOUT = records(80, 4)
COPY = ORIGINAL.sample(frac=1, random_state=1)
WITH_INCOME = {
    "original": ORIGINAL.assign(income=np.arange(60) * 10),
    "released": MADE.assign(income=np.arange(50) * 12 + 3),
    "keys": "town",
}
CODING = Schema.from_frame(ORIGINAL.astype("category"))
GIVEN = ["--schema", "schema.yaml", "--keys", "town, job", "--target", "sick"]


def survey(original=ORIGINAL, released=MADE, target="sick", **settings):
    settings.setdefault("rng", np.random.default_rng(1))
    return assess(original, released, target=target, **settings)


def row(assessment, question):
    """The first row of a question."""
    return assessment.table.query("question == @question").iloc[0]


def verdicts(assessment):
    return [one.verdict for one in assessment.verdicts]


def write_files(**frames):
    """Write each table to a file of its name, as CSV."""
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv", index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files named as a user would, in the folder where the user types."""
    monkeypatch.chdir(tmp_path)
    write_files(original=ORIGINAL, made=MADE, again=AGAIN)
    Path("schema.yaml").write_text(SURVEY)
    return tmp_path


@pytest.fixture(scope="module")
def made_and_copy():
    return survey(released={"made": MADE, "copy": COPY})


def test_numbers_are_those_of_counts_by_hand():
    assessment = survey(keys=["job", "town"])
    identity = row(assessment, "identity")
    attribute = row(assessment, "attribute")

    keys = ORIGINAL["job"] + ORIGINAL["town"]
    released_keys = MADE["job"] + MADE["town"]
    unique_keys = keys[~keys.duplicated(keep=False)]
    is_matched = unique_keys.isin(released_keys)
    assert identity["n"] == len(unique_keys) > 0
    assert_allclose(identity["estimate"], is_matched.mean())

    values = MADE["sick"].groupby(released_keys).agg(set)
    is_disclosed = keys.map(values) == ORIGINAL["sick"].map(lambda sick: {sick})
    assert_allclose(attribute["estimate"], is_disclosed.mean())


def test_frames_files_and_codes_have_the_same_numbers(folder):
    frames = {"made.csv": MADE, "again.csv": AGAIN}
    codes = {name: Microdata.from_frame(frames[name], CODING) for name in frames}
    original = Microdata.from_frame(ORIGINAL, CODING)
    keys = ["town", "job"]

    by_files = survey("original.csv", [*frames], keys=keys)
    by_frames = survey(released=frames, keys=keys)
    by_codes = survey(original, codes, keys=keys)

    assert by_files.tables.keys == ((1, 0),)
    assert_frame_equal(by_files.table, by_frames.table)
    numbers = ["question", "estimate", "se", "baseline", "z"]
    assert_frame_equal(by_codes.table[numbers], by_files.table[numbers])


def test_releases_are_judged_one_by_one_the_worst_first(made_and_copy):
    sentence = 'Do not release "copy": it is the original itself.'
    names = ["copy", "made"]
    assert [one.release for one in made_and_copy.verdicts] == names
    assert made_and_copy.verdicts[0].sentence == sentence
    assert made_and_copy.table["release"].unique().tolist() == names
    assert set(made_and_copy.records()["release"]) == {*names}


def test_the_rows_of_a_release_depend_on_no_name_and_no_other_release(made_and_copy):
    rows = made_and_copy.table.query("release == 'made'").reset_index(drop=True)
    renamed = survey(released={"renamed": MADE}).table
    assert_frame_equal(rows.assign(release="renamed"), renamed)


def test_the_document_is_json_with_the_headline_and_the_notes(made_and_copy):
    document = made_and_copy.to_dict()
    text = made_and_copy.verdict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["headline"] == text.splitlines()[0]
    assert [block.count("\n") for block in text.split("\n\n")] == [1, 9, 9]
    assert document["notes"] == list(made_and_copy.tables.notes)


def test_where_no_record_is_unique_the_card_says_so():
    sick = ["no", "no", "yes", "yes"] * 20
    people = pd.DataFrame({"job": ["a", "b"] * 40, "sick": sick})
    text = survey(people, people[:9:-1], keys="job").verdict()
    assert "uniques (keys) matched: not applicable" in text
    assert "nan" not in text


def test_releases_of_one_synthesizer_are_judged_together(tmp_path):
    write_files(**{f"{tmp_path}/a": MADE, f"{tmp_path}/b": AGAIN})
    (tmp_path / ".hidden").touch()
    name = tmp_path.name

    by_folder = survey(released=str(tmp_path))
    together = survey(released={name: [MADE, AGAIN]})
    single = [survey(released=frame) for frame in (MADE, AGAIN)]

    note = f"{name}: a folder of 2 releases, judged together."
    assert by_folder.tables.notes[0] == note
    assert len(by_folder.verdicts) == 1
    assert_frame_equal(by_folder.table, together.table)
    assert together.records()["matched"].max() == 2
    for question in ("identity", "attribute", "TCAP"):
        estimates = [row(one, question)["estimate"] for one in single]
        mean = row(together, question)
        between = np.std(estimates, ddof=1) / np.sqrt(2)
        assert_allclose(mean["estimate"], np.mean(estimates))
        assert mean["se"] >= between - 1e-12
    assert 0 < between == pytest.approx(mean["se"])


@pytest.mark.parametrize(
    ("settings", "questions"),
    [
        (
            {"keys": [["job"], ["town"]]},
            "identity job, attribute job → sick, inference job → sick, identity town, "
            "attribute town → sick, inference town → sick",
        ),
        (
            {"keys": "job", "target": ["sick", "town"]},
            "identity job, attribute job → sick, inference job → sick, "
            "attribute job → town, inference job → town",
        ),
    ],
)
def test_all_sets_of_keys_and_all_targets_are_assessed(settings, questions):
    rows = survey(**settings).table.query("in_verdict and variables != 'all'")
    assert ", ".join(rows["question"] + " " + rows["variables"]) == questions


def test_further_questions_are_rated_as_a_family(monkeypatch):
    families = []
    rate = ratings.rate

    def record(rows, family, few=False):
        families.append(([one["question"] for one in rows], family))
        rate(rows, family, few)

    monkeypatch.setattr(ratings, "rate", record)
    survey(keys=["job"], target=["sick", "town"])

    first = ["identity", "attribute", "inference"]
    assert families == [(first, False), (first[1:], True), ([], True)]


def test_groups_are_assessed_without_a_part_in_the_verdict():
    groups = survey(by="sick", holdout=HOLDOUT).table.query("group != 'all'")
    assert groups["group"].unique().tolist() == ["sick: no", "sick: yes"]
    assert groups.query("question == 'attribute'")["n"].sum() == 60
    assert not groups["in_verdict"].any()
    assert groups[["holdout", "z_holdout"]].isna().all(axis=None)


def test_disclosure_is_compared_with_the_holdout():
    original = ORIGINAL.astype(object)
    original.loc[:9, "job"] = None
    assessment = survey(original, keys=["job", "town"], holdout=HOLDOUT)

    compared = assessment.table.set_index("question")[["holdout", "z_holdout"]]
    questions = ["full match", "identity", "attribute", "inference"]
    assert compared.loc[questions].notna().all(axis=None)
    share = len(HOLDOUT.merge(MADE.drop_duplicates())) / 80
    assert_allclose(compared.loc["full match", "holdout"], share)
    assert "holdout: 80 records." in assessment.tables.notes
    assert any("job 10 of 60" in note for note in assessment.tables.notes)


@pytest.mark.parametrize(("n", "few"), [(12, True), (19, True), (20, False)])
def test_fewer_than_twenty_records_are_not_judged(n, few):
    assessment = survey(ORIGINAL[:20], MADE[:n])
    for question in ("attribute", "inference"):
        assert (row(assessment, question)["rating"] == "too few people") == few
    if few:
        assert verdicts(assessment) == ["undecided"]


def test_constant_releases_and_files_of_two_records_are_assessed():
    constant = MADE.assign(sick="no")
    releases = {"last": [MADE, constant], "first": [constant, MADE]}
    json.dumps(survey(released=releases).to_dict(), allow_nan=False)

    two = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]})
    assessment = survey(two, [two.iloc[[0, 0]].assign(b="u"), two], target=())
    assert verdicts(assessment) == ["undecided"] * 2
    assert "<table" in assessment.to_html()


def test_a_copy_in_which_all_values_are_unique_is_not_to_be_released():
    unique = pd.DataFrame({name: [f"{name}{i}" for i in range(60)] for name in "abc"})
    assert verdicts(survey(unique, unique[::-1], target=())) == ["do not release"]


def test_copies_of_exact_numbers_are_a_sign(rng):
    """In bins all records have duplicates, and no two have the same numbers."""
    original, fresh = (
        pd.DataFrame(numbers, columns=["age", "income"])
        for numbers in rng.random((2, 1_000, 2)).round(6)
    )
    for frame in (original, fresh):
        frame["sick"] = rng.choice(["no", "yes"], 1_000)
    releases = {
        "copied": pd.concat([original[:50], fresh[50:]]),
        "fresh": fresh,
        "shuffled": original.apply(rng.permutation),
    }

    for name, released in releases.items():
        assessment = survey(original, released)
        is_copied = name == "copied"
        advice = "review" if is_copied else "no sign of disclosure"
        exact = row(assessment, "identical before binning")
        assert verdicts(assessment) == [advice]
        assert (exact["z_permutation"] >= 3.3) == is_copied
        assert row(assessment, "identical records")["z"] < 2.58
        assert "identical to an original, binned" in assessment.verdict()


def test_nothing_is_binned_without_numbers_and_nothing_noted_as_left_out(made_and_copy):
    assert made_and_copy.not_judged() == ""
    assert np.isnan(row(made_and_copy, "identical before binning")["z_permutation"])
    assert "binned" not in made_and_copy.verdict()


def test_identifiers_that_are_left_out_are_compared(rng):
    """Two passports are copied; numbers of records are equal by chance."""
    numbers = rng.choice(10**8, 800, replace=False)
    passports = [f"C{number:08d}" for number in numbers]
    others = {"record": range(400), "note": "-"}
    original = records(400, 3).assign(passport=passports[:400], **others)
    fresh = records(400, 4).assign(passport=passports[400:], **others)
    stolen = fresh.assign(passport=passports[:2] + passports[402:])
    left_out = ["passport", "record", "note"]

    releases = {"stolen": stolen, "fresh": fresh}
    assessment = survey(original, releases, leave_out=left_out)
    together = survey(original, {"tool": [fresh, stolen]}, leave_out=left_out)

    note = (
        "Left out: 'passport', 'record', 'note'. Compared as identifiers: 'passport'. "
        "Nothing else of these columns is assessed."
    )
    reason = "it contains 2 of the original's values of passport."
    assert verdicts(assessment) == ["do not release", "no sign of disclosure"]
    assert assessment.verdicts[0].sentence == f'Do not release "stolen": {reason}'
    assert assessment.verdict().splitlines()[2] == note
    assert "values of identifiers in common" in assessment.verdict()
    assert note in assessment.to_html().replace("&#39;", "'")
    assert verdicts(together) == ["do not release"]


def test_numeric_keys_are_matched_by_exact_numbers(rng):
    ages = rng.integers(18, 90, (2, 300))
    original = records(300, 5).assign(age=ages[0])
    released = records(300, 6).assign(age=ages[1])

    assessment = survey(original, released, keys=["town", "age"])

    is_unique = ~original.duplicated(["town", "age"], keep=False)
    note = (
        "Numeric keys 'age': matched on their exact values for identity disclosure, "
        "and binned"
    )
    assert row(assessment, "identity")["n"] == is_unique.sum()
    assert any(text.startswith(note) for text in assessment.tables.notes)


@pytest.mark.parametrize(("distance", "share"), [(1e-3, 0), (1e6, 1)])
def test_numbers_within_a_distance_are_disclosed(distance, share):
    interval = row(survey(**WITH_INCOME, within={"income": distance}), "interval")
    assert interval["variables"] == "town → income"
    assert interval["in_verdict"]
    assert interval["estimate"] == share


def test_keys_and_target_by_default_are_noted(folder):
    assert survey(schema="schema.yaml", target=()).tables.notes == (
        "original: 60 records.",
        "release 1: 50 records.",
        "No target given; using 'sick', the last non-key column.",
        "No keys given; using every variable except the target (2).",
    )


def test_levels_taken_from_the_original_are_noted():
    released = {"made": MADE.replace({"c": "d"})}
    tables = survey(keys="job", released=released, target=()).tables
    notes = " ".join(tables.notes)
    assert (tables.keys, tables.targets) == (((0,),), (2,))
    assert "No schema given; levels are taken from the original." in notes
    assert "Levels that the original does not have: job 'd'." in notes


def test_tables_of_other_libraries_are_assessed_as_those_of_pandas():
    arrow = pa.Table.from_pandas
    original, made = (frame.mask(frame == "b") for frame in (ORIGINAL, MADE))  # nulls
    assert survey(arrow(original), arrow(made)).table.equals(
        survey(original, made).table
    )


def test_a_known_synthesizer_adds_rows_and_the_risks_of_records():
    assessment = survey(synthesizer="margins", holdout=HOLDOUT)
    assert row(assessment, "exact posterior")["n"] > 0
    assert assessment.records()["probability"].dropna().between(0, 1).all()


def test_the_table_of_records_has_each_with_its_lines_the_identical_first(folder):
    table = survey("original.csv", keys=["job"]).records()
    assert table["repetitions"].sum() == 60
    assert not table.duplicated(["job", "town", "sick"]).any()
    for record in table.itertuples():
        lines = [int(line) for line in record.lines.split(", ") if line != "..."]
        assert 0 < len(lines) <= record.repetitions
        people = ORIGINAL.iloc[np.array(lines) - 2]  # the header is line 1
        assert (people == [record.job, record.town, record.sick]).all(axis=None)

    listed = table.merge(MADE.drop_duplicates(), "left", indicator="file")
    expected = (listed["file"] == "both") & (listed["repetitions"] == 1)
    assert table["identical"].tolist() == expected.tolist()
    assert table["identical"].is_monotonic_decreasing
    assert table[table["identical"]]["neighbors"].is_monotonic_increasing


def test_a_variable_named_as_a_column_of_records_keeps_its_values():
    frames = [frame.rename(columns={"job": "identical"}) for frame in (ORIGINAL, MADE)]
    table = survey(*frames).records()
    assert set(table["identical (value)"]) == {"a", "b", "c"}
    assert table["identical"].dtype == bool


STREETS = ORIGINAL.assign(street=[f"street {i % 40}" for i in range(60)])


@pytest.mark.parametrize(
    ("message", "change"),
    {
        "this is not a regular file": {"original": ""},
        "original: the table is of type dict; it must be": {"original": {"job": [1]}},
        "original: the table has fewer than two records": {"original": ORIGINAL[:1]},
        "released is empty; it must contain at least one table": {"released": []},
        "tool contains no releases; it must contain at least one": {
            "released": {"tool": []}
        },
        "release 1: the table is of type int; it must be a DataFrame": {"released": 3},
        "No such file or directory: 'nowhere.csv'": {"released": "nowhere.csv"},
        "made: the table has 1 record; it needs 2 or more": {
            "released": {"made": MADE[:1]}
        },
        "release 2: missing columns job; the sch": {
            "released": [MADE, MADE.drop(columns="job")]
        },
        "release 1: unknown columns 'age'": {"released": MADE.assign(age=1)},
        "release 1: values outside the levels: job has 'z'": {
            "released": ORIGINAL.replace({"a": "z"}),
            "schema": CODING,
        },
        r"holdout: an estimated 100.0\s% of the \d+ sample uniques": {
            "holdout": ORIGINAL[::-1]
        },
        r"holdout: an estimated 8\d\.\d\s% of the 56 sample uniques of": {
            "original": STREETS,
            "released": STREETS[:20],
            "holdout": STREETS[:50],
        },
        "schema is of type int; it must be a Schema or the path of a file": {
            "schema": 3
        },
        "keys names 'age'; available are job, town, sick": {"keys": ["age"]},
        r"keys names \['job'\]; available are job, town, sick": {
            "keys": [["job"], "town"]
        },
        "keys is 3; it must be a list of names": {"keys": 3},
        r"keys is \[\]; it must name one or more": {"keys": [["job"], []]},
        "keys has the set sick, which contains the target 'sick'": {"keys": ["sick"]},
        "keys name all variables; target must be given": {
            "keys": ["job", "town", "sick"],
            "target": (),
        },
        "no variable may be repeated": {"target": ["sick", "sick"]},
        "target is 'sick', which is missing or not applicable in every record": {
            "original": ORIGINAL.assign(sick=""),
            "schema": CODING,
        },
        "'sick' is the only variable": {
            "original": ORIGINAL[["sick"]],
            "released": MADE[["sick"]],
        },
        "within names 'town', which is not numeric; give": {"within": {"town": 2}},
        "within of income is 0; it must be positive and f": WITH_INCOME
        | {"within": {"income": 0}},
        "within names 'job', which is a key; it must name": {
            "within": {"job": 1},
            "keys": ["job"],
        },
        "within is 3; it must map names of variables to distances": {"within": 3},
        "by names 'age'": {"by": "age"},
        "rng is 1; it must be a Generator, such as numpy.random.default_rng": {
            "rng": 1
        },
    }.items(),
)
def test_errors_are_one_line_before_anything_long_starts(monkeypatch, change, message):
    monkeypatch.setattr(run, "run_assessment", None)
    with pytest.raises((ValueError, OSError), match=message) as error:
        survey(**change)
    assert "\n" not in str(error.value)


def command(*arguments):
    return call("assess", *arguments, "--output", "out")


def command_output(*arguments):
    result = command(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.fixture
def tool(folder):
    """The assessment of a release and of a synthesizer whose one release is a copy."""
    Path("tool").mkdir()
    write_files(**{"tool/copy": COPY})
    return survey(
        "original.csv", ["made.csv", "tool"], schema="schema.yaml", keys=["town", "job"]
    )


def test_the_command_prints_the_verdicts_that_the_call_returns(folder, tool):
    lines = command_output("original.csv", "made.csv", "tool", *GIVEN).splitlines()
    (report,) = Path("out/assess").glob("made_and_1_more-*/report.html")
    assert [*lines[:2], lines[3], lines[-1]] == [
        tool.to_dict()["headline"],
        "Original: 60 records, 3 variables. Keys: town, job. Target: sick.",
        tool.verdicts[0].sentence,
        f"report: {report}",
    ]
    assert sum(line.startswith("  ") for line in lines) == 18


def test_the_command_prints_what_the_call_returns_and_writes_it(folder, tool):
    options = [*GIVEN, "--json", "--name", "a b"]

    document = json.loads(command_output("original.csv", "made.csv", "tool", *options))
    expected = tool.to_dict()
    (path,) = folder.glob("out/assess/a_b-*")
    assert document.pop("report") == str(path / "report.html")
    assert json.loads((path / "results.json").read_text()) == document
    assert document["verdicts"] == expected["verdicts"]
    assert document["notes"] == expected["notes"]
    for printed, returned in zip(document["table"], expected["table"], strict=True):
        # Inference depends on the seed.
        assert printed == returned or printed["question"] == "inference"
    answers = pd.read_csv(path / "tables/answers.csv")
    questions = [printed["question"] for printed in document["table"]]
    assert answers["question"].tolist() == questions
    assert pd.read_csv(path / "tables/records.csv")["repetitions"].sum() == 120
    inputs = json.loads((path / "provenance.json").read_text())["inputs"]
    assert set(inputs) == {"original.csv", "made.csv", "tool/copy.csv", "schema.yaml"}


def test_only_the_owner_can_read_what_the_command_writes(folder):
    command_output("original.csv", "made.csv", *GIVEN)
    (path,) = folder.glob("out/assess/made-*")
    written = [path, *path.rglob("*")]
    files = {file.relative_to(path).as_posix() for file in written if file.is_file()}
    assert files == {
        "report.html",
        "report-public.html",
        "results.json",
        "parameters.yaml",
        "provenance.json",
        "tables/answers.csv",
        "tables/records.csv",
    }
    for file in written:
        expected = 0o700 if file.is_dir() else 0o600
        assert stat.S_IMODE(file.stat().st_mode) == expected
    assert not list(folder.glob("out/assess/.tmp-*"))


def test_the_terminal_shows_how_files_were_read_and_no_value(folder):
    for name, frame in {"original": ORIGINAL, "made": MADE}.items():
        secrets = "SECRET" + frame.index.astype(str)
        frame = frame.assign(height=frame.index / 40, id=secrets)
        frame.to_csv(f"{name}.csv", index=False, sep=";", decimal=",")

    output = command_output("original.csv", "made.csv", "--leave-out", "id")

    assert "\n- original.csv: Numbers with a decimal comma: 'height'.\n" in output
    assert "\n- made.csv: Columns left out: 'id'.\n" in output
    assert "\n- height is binned near the original's quantiles" in output
    assert "SECRET" not in output
    assert not re.search("^- .*records\\.$", output, re.MULTILINE)


def test_the_terminal_shows_the_first_of_many_notes(folder):
    wide = pd.DataFrame({f"v{i}": np.arange(60) for i in range(20)})
    write_files(original=wide, made=wide.sample(frac=1, random_state=1))
    output = command("original.csv", "made.csv").stdout
    assert output.count("\n- ") == 13
    assert "\n- and 13 more\n" in output


def with_42_more_columns(frame):
    return frame.assign(**{f"v{i}": frame["job"] for i in range(42)})


NAMES = ["a job?", 'it\'s - "x"', "sick"]
ONE_TOWN_EACH = "job + town in ['anorth', 'bsouth', 'ceast']"
FILES = {
    "45 columns": (with_42_more_columns(ORIGINAL), with_42_more_columns(MADE)),
    "names": (ORIGINAL.set_axis(NAMES, axis=1), MADE.set_axis(NAMES, axis=1)),
    "twenty times": (ORIGINAL, pd.concat([MADE] * 20)),
    "a tenth": (ORIGINAL, MADE[:6]),
    "floats": (
        ORIGINAL.assign(town=1, n=range(60)),
        MADE.assign(town=1.0, n=range(50)),
    ),
    "other case": (ORIGINAL, MADE.assign(job=MADE["job"].str.upper() + " ")),
    "missing": (ORIGINAL.replace({"a": "NA"}), MADE.replace({"a": ""})),
    "no key in common": (
        ORIGINAL.query(f"not ({ONE_TOWN_EACH})", engine="python"),
        MADE.query(ONE_TOWN_EACH, engine="python"),
    ),
}


@pytest.mark.parametrize(("original", "made"), FILES.values(), ids=FILES)
def test_files_as_offices_have_them_are_assessed(folder, original, made):
    write_files(original=original, made=made)
    output = command_output("original.csv", "made.csv", "--target", "sick")
    assert "Levels that the original does not have" not in output


@pytest.mark.parametrize(
    ("released", "worst", "status"),
    [
        ("few.csv", "undecided", 3),
        ("few.csv", "do not release", 0),
        ("original.csv", "undecided", 3),
        ("original.csv", "do not release", 3),
    ],
)
def test_the_status_follows_from_the_verdict(folder, released, worst, status):
    write_files(few=MADE[:19])
    assert command("original.csv", released, "--fail-on", worst).exit_code == status


def test_a_file_that_changes_during_an_assessment_makes_no_report(folder, monkeypatch):
    def change_file(*arguments, **options):
        write_files(made=AGAIN)
        return run_assessment(*arguments, **options)

    monkeypatch.setattr("srlib.assessment.run_assessment", change_file)
    result = command("original.csv", "made.csv")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "a file was changed while it was assessed; run it again" in result.stderr
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("message", "arguments"),
    {
        "'.' is a directory": ". made.csv",
        "file 'no.yaml' does not exist": "original.csv made.csv --schema no.yaml",
        "values.csv: values outside the levels: job has '...' (line 3), allowed "
        "are '...'; sick has '...' (line 4), allowed are '...'": (
            "original.csv values.csv --schema schema.yaml"
        ),
        "columns.csv: missing columns sick; unknown columns 'ill'": (
            "original.csv columns.csv"
        ),
        "header.csv: the file has a header but no records": "header.csv made.csv",
        "empty contains no releases": "original.csv empty",
        "synthesizer is 'cart'; it must be rpart or trees": (
            "header.csv made.csv --synthesizer cart"  # before files are read
        ),
        "'x' is not a valid float": "original.csv made.csv --within town x",
    }.items(),
)
def test_bad_input_is_one_error_without_values(folder, arguments, message):
    Path("empty").mkdir()
    Path("header.csv").write_text("job,town,sick\n")
    Path("columns.csv").write_text("job,town,ill\nSECRET,north,no\na,north,no\n")
    Path("values.csv").write_text(
        "job,town,sick\na,north,no\nSECRET,north,no\na,south,SECRET\n"
    )

    result = command(*arguments.split())

    assert (result.exit_code, result.stdout) == (2, "")
    error = " ".join(result.stderr.replace("│", " ").split())
    assert message in error
    assert error.count("Error:") == 1
    assert "SECRET" not in error
    assert not Path("out").exists()


def hostile_files(town):
    names = ["job", town, "sick"]
    for frame in (ORIGINAL, MADE):
        yield frame.replace({"a": "<script>a", "north": "M&S"}).set_axis(names, axis=1)


@pytest.fixture(scope="module")
def hostile():
    """An assessment of files with HTML in their names, columns and values."""
    original, made = hostile_files("<i>town")
    return survey(original, {"<b>made": made, "half": original[:30]})


def test_all_text_of_the_page_is_escaped_and_it_loads_nothing(hostile):
    page = hostile.to_html()
    forbidden = "<script|<i>|<b>|M&S|http:|https:|src=|javascript"
    assert not re.search(forbidden, page)
    for text in ("&lt;script&gt;a", "&lt;i&gt;town", "&lt;b&gt;made", "M&amp;S"):
        assert text in page
    policy = (
        "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-i"
    )
    assert policy in page


def test_the_page_has_verdicts_first_and_folds_the_rest(hostile):
    page = hostile.to_html()

    tags = ("<h1>", "<table", "<h2>", "<details")
    places = [page.index(tag) for tag in tags]
    assert places == sorted(places)
    assert page.index("Confidential") < places[-1]
    assert page.count("<table") == 6
    assert re.findall("<summary>(.*?)</summary>", page) == [
        "All measures: half",
        "All measures: &lt;b&gt;made",
        "Records most exposed",
        "Notes and assumptions",
        "How the verdict is reached",
        "Terms",
    ]
    for sentence in (*verdict.rules_text("assumptions"), *verdict.rules_text()):
        assert escape(sentence) in page


def test_the_public_page_has_no_text_of_the_files_and_no_number():
    original, made = hostile_files("QTOWN")
    assessment = survey(original, {"QMADE": made}, keys=["QTOWN"], by="job")

    page = assessment.to_html(public=True)

    body = page.split("<body>")[1].split("<details")[0]
    private = "QTOWN|QMADE|script|M&amp;S|south|sick|job|release "
    assert not re.search(private, body)
    assert {*re.findall(r"\d+", re.sub("<[^>]*>", " ", body))} <= {"1"}
    assert row(assessment, "identity")["n"] < 10  # nobody is unique in a town
    ratings = verdict.public_table(assessment.verdicts, assessment.table).iloc[0]
    assert ratings[["identity", "verdict", "utility"]].tolist() == [NOT_SHOWN] * 3
