"""Inferred schemas: bins, missing values, unseen levels, dates, decimal commas."""

import re
from bisect import bisect_right

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from refusals import refusals, value_error
from test_microdata import write, write_frame
from toy import call

from srlib.assessment import assess, read_inputs
from srlib.assessment.attribute import attribute_disclosure
from srlib.assessment.disclosure import Attack
from srlib.data import infer
from srlib.data.infer import (
    add_missing_levels,
    bin_numbers,
    infer_schema,
    quantile_cut_points,
)
from srlib.data.microdata import read_table, read_uncoded
from srlib.data.notation import harmonize_notation
from srlib.data.schema import Microdata, Schema, Variable

NUMBERS = st.lists(st.integers(-1000, 1000), min_size=2, max_size=300)
INCOME = Variable("income", ("below 10", "10 or more", "N"), cut_points=(10.0,))
OWN = Variable("own", ("yes", "no"), missing_codes=("-9", "N"))
SEX_OWN = Schema(
    (Variable("sex", ("f", "m")), Variable("own", ("no", "yes"), drop_missing=True)),
    ("id", "age", "income", "code"),
)


def schema_of(*arguments, **options):
    """A schema of one variable."""
    return Schema((Variable(*arguments, **options),))


def codes_of(values, schema):
    """The codes of a table of one column, which the schema has."""
    frame = pd.DataFrame({schema.names[0]: values})
    return Microdata.from_frame(frame, schema).codes[:, 0].tolist()


def table():
    rng = default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(16, 96, 300)})
    has_no_income = rng.random(300) < 0.4
    incomes = np.where(has_no_income, 0, rng.integers(1, 90_000, 300))
    frame["income"] = incomes.astype(object)
    frame.loc[3::7, "income"] = "N"
    frame["code"] = rng.choice([f"{i:03d}" for i in range(60)], 300)
    frame["sex"] = rng.choice(["f", "m"], 300)
    frame["own"] = rng.choice(["yes", "no", None], 300)
    return frame


def with_ids():
    """The table with a column that is unique for every record."""
    return table().assign(id=[f"P{i:04d}" for i in range(300)])


@given(NUMBERS, st.integers(2, 12), st.sampled_from([1.0, 1e-3, 1e6]))
@example([600, 601], 2, 1e-3)
@example([0] * 12 + [1, 200, 201, 202, 202], 12, 1.0)
def test_quantile_bins_are_never_empty_and_rarely_large(values, bins, unit):
    records = pd.Series(values) * unit
    counts = records.value_counts().sort_index()
    cut_points = quantile_cut_points(counts, bins)
    assert (np.diff(cut_points) > 0).all()
    places = np.searchsorted(cut_points, records, side="right")
    sizes = np.bincount(places, minlength=len(cut_points) + 1)
    assert (sizes > 0).all() or len(counts) == 1
    # A bin is larger than two quantile shares only if a single number is one.
    share = len(records) / bins
    most = counts.max()
    assert most >= share or sizes.max() <= 2.5 * share + 2 * most


def test_cut_points_are_round_and_a_frequent_number_has_its_own_bin():
    ages = pd.Series(1, np.arange(16.0, 96))
    assert all(edge % 5 == 0 for edge in quantile_cut_points(ages, 10))

    counts = pd.Series([5, 60, 10, 10, 10, 5], [-5.0, 0, 3, 7, 20, 60])
    cut_points = quantile_cut_points(counts, 10)
    bins = np.searchsorted(cut_points, [-5, 0, -0.0, 3], side="right")
    assert (bins - bins[1]).tolist() == [-1, 0, 0, 1]


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True),
    st.integers(-99, 99),
)
def test_labels_of_bins_state_their_range(cut_points, value):
    cut_points = sorted(map(float, cut_points))
    labels = infer.bin_labels(cut_points, whole=True)
    assert len(set(labels)) == len(cut_points) + 1
    label = labels[bisect_right(cut_points, value)]
    numbers = list(map(int, re.findall(r"-?\d+", label)))
    if label.startswith("below "):
        assert value < numbers[0]
    elif label.endswith(" or more"):
        assert value >= numbers[0]
    else:
        assert numbers[0] <= value <= numbers[-1]


def test_numbers_are_binned_by_one_table_only():
    first = pd.DataFrame({"x": np.arange(100)})

    schema, notes = bin_numbers(schema_of("x", bins=4), first)

    choice = "x is binned near the original's quantiles, with cut points 20, 50, 80."
    assert choice in notes
    labels = ("below 20", "20 to 49", "50 to 79", "80 or more")
    assert schema.variables[0].levels == labels
    assert codes_of([-1e9, 19.5, 20, 1e9], schema) == [0, 0, 1, 3]

    original = table()
    far = original[::-1].assign(age=original["age"] + 1000)
    inputs = read_inputs(original, [original, far])
    age = inputs.schema.variables[0]
    assert age == read_inputs(original, original).schema.variables[0]
    far_codes = inputs.synthesizers["release 2"][0].codes[:, 0]
    assert set(far_codes) == {len(age.cut_points)}


NOT_NUMERIC = ["1", "2", *(f"n{i}" for i in range(101))]
test_bad_input = refusals(
    {
        "x is declared to be numeric but has 1 distinct numbers; binning": lambda: (
            bin_numbers(schema_of("x", bins=2), pd.DataFrame({"x": ["1", "1"]}))
        ),
        "but has 101 values that are not numbers, such as 'n0'": lambda: bin_numbers(
            schema_of("x", bins=2), pd.DataFrame({"x": NOT_NUMERIC})
        ),
        "dates of 'day' may be day/month/year or month/day/year": lambda: (
            harmonize_notation(
                pd.DataFrame({"day": ["05/06/1990", "01/02/2001"]}), None
            )
        ),
        "no column can be used: it is not in all files": lambda: infer.suggest_schema(
            [table()[["age"]], table()[["own"]]]
        ),
    }
)


@pytest.mark.parametrize(
    ("variable", "texts", "codes"),
    [
        (INCOME, "9.99 10 1e1 +10.0 -3 N x", [0, 1, 1, 1, 0, 2, -2]),
        (INCOME, "nan inf 1e999 0x10 1_000 1,5 --1 $5", [-1] + [-2] * 7),
        (OWN, "yes -9 -9.0 N null", [0, -1, -1, -1, -1]),
        (OWN.add_missing_level(), "yes -9 N null missing", [0, 2, 2, 2, 2]),
    ],
)
def test_codes_of_texts_as_they_are_written(variable, texts, codes):
    assert variable.codes_of(texts.split()) == codes
    with_missing = variable.add_missing_level()
    assert with_missing.add_missing_level() == with_missing


def test_the_level_of_missing_values_has_a_name_of_its_own():
    variable = Variable("x", ("missing", "no")).add_missing_level()
    assert variable.levels == ("missing", "no", "missing 2")


def test_codes_that_say_that_a_variable_does_not_apply():
    values = [1, 2.5, 3, "-9", "-9.0", "N", "z", None]
    declared = schema_of(
        "x",
        cut_points=(2.0,),
        missing="missing",
        missing_codes=("z",),
        not_applicable=("-9", "N"),
    )

    binned, notes = bin_numbers(declared, pd.DataFrame({"x": values}))

    (x,) = binned.variables
    assert x.levels == ("below 2", "2 or more", "-9", "N", "missing")
    assert notes == ["x is binned at the declared cut points 2."]
    assert codes_of(values, binned) == [0, 1, 1, 2, 2, 3, 4, 4]
    with value_error("columns 'x' are not binned, or have no"):
        codes_of(values, declared)
    assert x.codes_without_value == (2, 3, 4)
    numbers = x.numbers_of(["1", "-9.0", "N", "x"])
    assert_array_equal(numbers, [1, np.nan, np.nan, np.nan])


def test_people_without_a_value_of_the_target_are_not_counted():
    frame = pd.DataFrame({"key": [*"aabbcc"], "x": ["1", "1", "N", "N", "2", "N"]})
    none = Variable("x", ("1", "2"), not_applicable=("N",))
    schema = Schema((Variable("key", ("a", "b", "c")), none))

    inputs = read_inputs(frame, frame, target="x", schema=schema)

    assert "x is missing or not applicable for 3 of 6 people" in " ".join(inputs.notes)
    attack = Attack([0], 1, none.codes_without_value)
    people = attribute_disclosure(inputs.files(inputs.original), attack)
    # a; c has two answers.
    assert people.release[people.eligible].tolist() == [1, 1, 0]


def test_missing_values_are_a_level_wherever_one_table_has_them():
    variables = [Variable(name, ("1", "2")) for name in "abc"]
    variables.append(Variable("d", ("1", "2"), drop_missing=True))
    complete = pd.DataFrame({name: ["1", "2"] for name in "abcd"})
    first = complete.assign(a=["1", None], d=["1", None])
    other = complete.assign(b=[None, "2"])
    schema, notes = add_missing_levels(Schema(tuple(variables)), first, other)
    assert [v.missing for v in schema.variables] == ["missing", "missing", "", ""]
    assert notes == ("Missing values are a separate level: a 1 of 2.",)
    codes, kept = schema.encode_complete(first, drop_missing=False)
    assert kept.tolist() == [True, False]
    assert codes.tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("levels", "other", "meant"),
    [
        (("Yes", "No"), ["yes", "NO"], ["Yes", "No"]),
        (("True", "False"), ["TRUE", "false"], ["True", "False"]),
        (("1", "2"), ["1", "2.00", "9"], ["1", "2", "9"]),
        (("1", "01", "b"), ["1.0", "001", "B"], ["1", "001", "b"]),
        (("a", "A", "b"), ["a", "A", "B"], ["a", "A", "b"]),
        (("1.70", "1.8"), ["1.7", "1.800"], ["1.70", "1.8"]),
    ],
)
def test_levels_of_another_table_in_other_case_with_decimals_or_new(
    levels, other, meant
):
    declared = schema_of("a", levels)

    schema, notes = infer.add_unseen_levels(declared, pd.DataFrame({"a": other}))

    extended = schema.variables[0].levels
    unseen = [text for text in meant if text not in levels]
    assert [extended[code] for code in codes_of(other, schema)] == meant
    assert extended == (*levels, *unseen)
    message = "Levels that the original does not have: a {!r}."
    assert notes == tuple(map(message.format, unseen))
    again = infer.add_unseen_levels(schema, pd.DataFrame({"a": [*other, "NA"]}))
    assert again == (schema, ())


def test_a_text_that_matches_two_levels_but_for_case_is_an_error():
    schema = schema_of("sick", ("Yes", "YES", "No"))
    frame = pd.DataFrame({"sick": ["Yes", "yes", "no"]})
    message = r"sick has 'yes'.*, which matches several of the levels"
    with value_error(message):
        Microdata.from_frame(frame, schema)
    with value_error(message):
        infer.add_unseen_levels(schema, frame)
    assert codes_of(["Yes", "YES", "no"], schema) == [0, 1, 2]


def test_values_of_which_none_is_known_are_an_error():
    original = table().drop(columns="own")
    years = [f"{i} years" for i in range(300)]
    with value_error("^made: age has values.* and 297 more; the original has numbers"):
        read_inputs(original, {"made": original.assign(age=years)})
    ages = original["age"].astype(object).where(original["sex"] == "f", "old")
    inputs = read_inputs(original, original.assign(age=ages)[::-1])
    assert "Levels that the original does not have: age 'old'." in inputs.notes


def test_numbers_are_binned_and_texts_and_codes_are_levels():
    schema = infer_schema(table())
    assert [v.name for v in schema.variables if v.bins] == ["age", "income"]
    income = bin_numbers(schema, table())[0].variables[1]
    assert income.levels[-1] == "N"
    assert len(income.levels) == len(income.cut_points) + 2
    categories = infer_schema(table().astype({"age": "category"}))
    assert not categories.variables[0].bins
    weights = default_rng(1).random(300)  # all of them differ
    assert infer_schema(pd.DataFrame({"weight": weights})).variables[0].bins


DATES = [f"2020-01-{i % 40 + 1:02d}" for i in range(300)]
UNUSABLE = [
    (DATES, "day: it has dates, but some are not in"),
    (np.arange(300), "day: it is unique for every record, like a name or an ID"),
    ([f"name {i}" for i in range(300)], "day: it is unique for every record"),
]


@pytest.mark.parametrize(("column", "message"), UNUSABLE)
def test_columns_that_cannot_be_used_are_named_at_once(column, message):
    streets = [f"street {i % 150}" for i in range(300)]
    with value_error(message) as refused:
        infer_schema(table().assign(day=column, place=streets))
    whole = str(refused.value)
    assert "place: it has 150 values that are not numbers, such as 'street 0'" in whole
    assert "Leave these columns out with --leave-out day --leave-out place (in" in whole
    assert "srlib schema ORIGINAL RELEASED suggests one" in whole


COMMAS = "Numbers with a decimal comma: 'x'."
POINTS = (
    "Points before three digits were read as decimal points, but may be thousands "
    "separators: 'x'."
)


@pytest.mark.parametrize(
    ("texts", "meant", "note"),
    [
        (["1,72", "1,8", "2", "NA"], ["1.72", "1.8", "2", "NA"], COMMAS),
        (
            ["1.234,5", "-999,25", "1.000.000,0", "1.234"],
            ["1234.5", "-999.25", "1000000.0", "1234"],
            COMMAS,
        ),
        (["0,125", "1,250", "N"], ["0.125", "1.250", "N"], COMMAS),
        (["1,250", "3,500"], None, ""),  # thousands, or decimals
        (["1,72", "1.8"], None, ""),
        (["1,72", "1,2,3"], None, ""),
        (["1.250", "3.5"], None, ""),
        (["950", "1.234", "2.500"], None, POINTS),
        (["950", "1.234", "2.5"], None, ""),
    ],
)
def test_decimal_commas_are_read_if_they_are_certain(tmp_path, texts, meant, note):
    """Where commas separate fields, they are no decimal marks."""
    path = tmp_path / "a.csv"
    frame = pd.DataFrame({"x": texts, "y": "a"})
    for mark in (";", "\t", ","):
        if mark == ",":
            meant = texts
            note = ""
        frame.to_csv(path, index=False, sep=mark)
        uncoded = read_uncoded(path)
        assert uncoded.frame["x"].fillna("NA").tolist() == (meant or texts)
        assert "".join(uncoded.notes) == note


def test_decimal_commas_and_points_are_the_same_numbers(tmp_path):
    """Binned numbers, and few numbers that are levels; levels of a schema stay."""
    rng = default_rng(2)
    heights = rng.normal(1.7, 0.1, 200).round(3)
    frame = pd.DataFrame({"height": heights, "sick": [*"ny"] * 100})
    frame["dose"] = rng.choice([0.5, 1.25, 2], 200)
    comma = tmp_path / "comma.csv"
    point = tmp_path / "point.csv"
    frame.to_csv(comma, index=False, sep=";", decimal=",")
    write_frame(frame, point)

    for original, released in ((comma, point), (point, comma)):
        inputs = read_inputs(original, released)
        (made,) = inputs.synthesizers[released.name]
        assert_array_equal(made.codes, inputs.original.codes)
        assert_array_equal(made.numbers[0], heights)
        assert " ".join(inputs.choices).count("a decimal comma: 'height', 'dose'.") == 1

    dose = Variable("dose", ("0,5", "1,25", "2,0"))
    schema = Schema((dose, Variable("sick", ("n", "y"))))
    assert read_table(comma, schema, ignore_columns=True).schema == schema


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["1990-05-17", "2001-12-31", None], ["1990-05-17", "2001-12-31"]),
        (["17.05.1990", "1.2.2001"], ["1990-05-17", "2001-02-01"]),
        (["05/17/1990", "1/2/2001"], ["1990-05-17", "2001-01-02"]),
        (["17/5/1990", "01/02/2001"], ["1990-05-17", "2001-02-01"]),
        (
            ["1990-05-17 00:00:00", "2001-12-31T12:30:00"],
            ["1990-05-17", "2001-12-31 12:30:00"],
        ),
        (["17.05.90", "1.2.01"], None),
        (["31.02.1990", "1.2.2001"], None),
        (["1990-05-17", "x"], None),
        ([19900517, 20011231], None),
    ],
)
def test_dates_are_read_where_all_values_are_dates(texts, meant):
    frame, notes = harmonize_notation(pd.DataFrame({"day": texts}), None)
    assert frame["day"].dropna().tolist() == (meant or texts)
    assert notes == (["Dates, read as numbers of days: 'day'."] if meant else [])


def test_dates_are_binned_as_days_in_any_notation(tmp_path):
    rng = default_rng(3)
    days = rng.integers(0, 20_000, 200) - 7305
    born = pd.Series(pd.to_datetime(days, unit="D"))
    frame = pd.DataFrame({"born": born, "sick": [*"ny"] * 100})
    german = frame.assign(born=born.dt.strftime("%d.%m.%Y"))
    written = {"a.csv": german, "a.parquet": frame, "a.dta": frame}
    for name in written:
        write_frame(written[name], tmp_path / name)
    released = [tmp_path / name for name in written]

    inputs = read_inputs(frame, released, within={"born": 365})

    assert_array_equal(inputs.original.numbers[0], days)
    for (made,) in inputs.synthesizers.values():
        assert_array_equal(made.numbers[0], days)
        assert_array_equal(made.codes, inputs.original.codes)
    assert inputs.schema.variables[0].levels[0].startswith("below 19")
    choice = "born is binned near the original's quantiles, with cut points 19"
    assert choice in " ".join(inputs.choices)

    schema = write(
        tmp_path / "schema.yaml",
        "variables:\n- {name: born, cut_points: [1970-01-01, 1990-01-01]}\n"
        "- {name: sick, levels: [n, y]}",
    )
    read = read_table(released[0], schema)
    assert read.schema.variables[0].levels[1] == "1970-01-01 to 1989-12-31"
    assert_array_equal(read.codes[:, 0], np.digitize(days, [0, 7305]))


def test_columns_are_left_out_on_a_users_wish(tmp_path):
    original = with_ids().assign(one=range(300))
    released = with_ids()[::-1].reset_index(drop=True)
    released.loc[0, "id"] = None
    released.loc[1, "own"] = None
    frames = (original, released)
    files = (tmp_path / "a.csv", tmp_path / "b.csv")
    write_frame(original, files[0])
    write_frame(released, files[1])
    schema = write(tmp_path / "schema.yaml", "leave_out: [id, one]")
    wishes = [
        (files, {"leave_out": ["id", "one"]}),
        (frames, {"leave_out": ["id", "one"]}),
        (files, {"schema": schema}),
        (files, {"schema": SEX_OWN, "leave_out": "one"}),
    ]
    for tables, wish in wishes:
        inputs = read_inputs(*tables, **wish)
        ((made,),) = inputs.synthesizers.values()
        assert {"id", "one"}.isdisjoint(inputs.schema.names)
        for coded, frame in zip((inputs.original, made), frames, strict=True):
            if wish.get("schema") is SEX_OWN:
                frame = frame.dropna(subset="own")
            ids = coded.left_out["id"].fillna("")
            assert ids.tolist() == frame["id"].fillna("").tolist()
        assert len(inputs.original.left_out["one"]) == len(inputs.original)
        assert "one" not in made.left_out
    assert read_inputs(table(), table()).original.left_out == {}


def test_wishes_that_no_column_can_fulfill_are_refused():
    tables = (with_ids().assign(one=range(300)), with_ids())
    with value_error("leave_out names 'ID', but no file has such a column"):
        read_inputs(*tables, leave_out=["id", "one", "ID"])
    with value_error("target names 'id', which is among the columns to leave out"):
        read_inputs(*tables, leave_out=["id", "one"], target="id")
    constant = table().assign(one=1)
    with value_error("keys names 'one', which has the same value in every record"):
        read_inputs(constant, constant, keys=["sex", "one"])


def test_a_message_names_values_that_are_coded_differently():
    frame = table().drop(columns="own")
    released = frame.assign(sick=["1", "0"] * 150)
    message = (
        "^release 1: sick has values that the original does not have, '1', '0'; "
        "the original has 'f', 'm'. Are they coded differently\\?"
    )
    with value_error(message) as refused:
        read_inputs(frame.assign(sick=["f", "m"] * 150), released)
    hint = "leave the column out: --leave-out sick (in Python leave_out=['sick'])"
    assert hint in str(refused.value)


def test_columns_of_one_value_are_left_out_of_an_assessment(tmp_path):
    original = table().drop(columns=["own", "code"])
    flag = np.where(original["sex"] == "f", "1", "")
    text = original.assign(country="CA", none="", flag=flag).to_csv(index=False)
    # As spreadsheets leave them.
    path = write(tmp_path / "a.csv", text.replace("\n", ",,\n"))

    inputs = read_inputs(path, path)

    assert inputs.schema.names == (*original.columns, "flag")
    assert inputs.schema.variables[-1].levels == ("1", "missing")
    note = "of the original, or none: 'country', 'none', 'column 7', 'column 8'."
    assert note in " ".join(inputs.notes)


DECLARED = """
leave_out: [id]
missing: level
variables:
- {name: age, title: age in years, bins: 5}
- {name: income, cut_points: [0, 10000], missing_codes: [N, -9], missing: drop}
- {name: sex, levels: {f: female, m: male}, not_applicable: [N]}
- {name: own, levels: [yes, no], missing: error}
- {name: code, levels: [01, 1, null, 1.0]}
"""


def test_a_schema_is_read_from_a_file(tmp_path):
    path = write(tmp_path / "schema.yaml", DECLARED)
    sex = Variable("sex", ("f", "m"), ("female", "male"), not_applicable=("N",))
    age = Variable("age", title="age in years", bins=5, missing="missing")
    income = Variable(
        "income", cut_points=(0, 1e4), drop_missing=True, missing_codes=("N", "-9")
    )
    own = Variable("own", ("yes", "no"), drop_missing=False)
    code = Variable("code", ("01", "1", "null", "1.0")).add_missing_level()
    expected = Schema((age, income, sex.add_missing_level(), own, code), ("id",))
    assert Schema.from_yaml(path) == expected


BAD_SCHEMAS = {
    "variables: [{name: a, bins: 5, cut_points: [2]}]": (
        "'a' needs exactly one of levels, bins and cut"
    ),
    "variables: [{name: a, width: 5}]": (
        "'a' has unknown keys 'width'; allowed are name, "
    ),
    "variables: [{name: a, bins: 1}]": "bins must be a whole number, 2 to 100",
    "variables: [{name: a, cut_points: [2, 1]}]": (
        r"cut_points of a are \[2.0, 1.0\]; they must increase"
    ),
    "variables: [{name: a, cut_points: [x]}]": (
        r"cut_points of a are \[nan\]; .* must increase"
    ),
    "variables: [{name: a, cut_points: 3}]": (
        "'a': cut_points is '3'; it must be a list"
    ),
    "variables: [{name: a, levels: [x, [y]]}]": "'a': levels is .*; it must be a li",
    "variables: [{name: a, levels: [x]}]": "a has 1 levels; it needs at least 2",
    "variables: [{name: a, levels: [b, c], missing: no}]": (
        "missing must be one of level, drop, error"
    ),
    "variables: [{levels: [a, b]}]": "each variable needs a name",
    "variables: [{name: a, bins: 3}]\nleave_out: [a]": (
        "names of variables must differ; repeated are 'a'"
    ),
    "variables: [{name: a, bins: 3}]\nlevels: []": "the file has unknown keys 'levels'",
    "variables: []": "variables is empty",
    "variables: 3": "the file must have a list 'variables', or leave_out",
    "variables: []\nvariables: 3": "repeats 'variables'",
    "variables: [[]": "expected",
    '{"columns": {"a": {"sdtype": "email"}}}': (
        "the sdtype of 'a' is email; it must be boolean, .* or another with pii true"
    ),
    '{"tables": {"a": {}, "b": {}}}': "the metadata has 2 tables; it must have one",
    '{"tables": [{"fields": []}]}': "the metadata must have columns, each with its sd",
}


@pytest.mark.parametrize(("text", "message"), BAD_SCHEMAS.items())
def test_wrong_declarations_are_refused(tmp_path, text, message):
    path = write(tmp_path / "schema.yaml", text)
    with value_error(f"schema.yaml: .*{message}"):
        Schema.from_yaml(path)


METADATA = """{"tables": {"people": {"primary_key": "income", "columns": {
    "age": {"sdtype": "categorical"},
    "income": {"sdtype": "numerical"},
    "code": {"sdtype": "postcode", "pii": true},
    "sex": {"sdtype": "city", "pii": false},
    "size": {"sdtype": "numerical"},
    "day": {"sdtype": "datetime", "datetime_format": "%d %b %Y"}
}}}, "relationships": [], "METADATA_SPEC_VERSION": "V1"}"""


def test_metadata_of_sdv_are_a_schema(tmp_path):
    """Numbers may be levels, and other releases may have more of them."""
    path = write(tmp_path / "metadata.json", METADATA)
    days = ["27 Dec 2020", "3 Jan 2021"] * 150
    original = table().drop(columns="own").assign(day=days, size=range(300))
    released = original[::-1].replace({"sex": {"m": "x"}})

    inputs = read_inputs(original, released, schema=path)

    age, sex, size, day = inputs.schema.variables
    assert len(age.levels) == original["age"].nunique()
    assert sex.levels == ("f", "m", "x")
    assert len(size.levels) == 10
    assert day.levels == ("below 2021-01-03", "2021-01-03 or more")
    assert "original: Columns left out: 'income', 'code'." in inputs.choices
    with value_error("missing columns sex; the schema has age, sex"):
        read_inputs(original.drop(columns="sex"), released, schema=path)


def test_the_command_suggests_a_schema(tmp_path):
    days = [f"31.12.{i % 90:02d}" for i in range(300)]
    original = table().assign(id=np.arange(300), day=days)
    released = original[::-1].assign(sex=original["sex"].replace("m", "x"), draw=1)
    released.loc[0, "own"] = "NO"
    files = (tmp_path / "a.csv", tmp_path / "b.tsv")
    original.assign(weight=1).to_csv(files[0], index=False)
    released.to_csv(files[1], index=False, sep="\t")

    suggested = call("schema", *files, "--leave-out", "weight")

    assert suggested.exit_code == 0
    reasons = {
        "weight": "you named it in leave_out.",
        "id": "it is unique for every record",
        "day": "it has dates",
        "draw": "it is not in all files",
    }
    for name, reason in reasons.items():
        assert f"{name} is left out: {reason}" in suggested.stderr
    path = write(tmp_path / "schema.yaml", suggested.stdout)
    schema = Schema.from_yaml(path)
    assert schema.leave_out == tuple(reasons)
    *_, sex, own = schema.variables
    assert sex.levels == ("f", "m", "x")
    assert own.levels == ("no", "yes", "missing")
    names = read_inputs(*files, schema=path).schema.names
    assert names == ("age", "income", "code", "sex", "own")


def test_numbers_with_a_label_for_one_code_are_binned(tmp_path):
    path = tmp_path / "a.sav"
    labels = {"age": {95: "refused"}}
    write_frame(table()[["age", "sex"]], path, variable_value_labels=labels)
    age, _ = read_inputs(path, path).schema.variables
    assert age.cut_points
    assert age.levels[-1] == "refused"


@pytest.mark.parametrize("suffix", ["dta", "sav"])
def test_labels_of_columns_are_kept(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    frame = table()[["age", "own", "sex"]].fillna("no")
    write_frame(frame, path, column_labels={"age": "Age in years ", "sex": " "})

    page = assess(path, path, rng=default_rng(1)).to_html()
    assert "<dt>Labels</dt><dd>age: Age in years</dd>" in page
    suggested = write(tmp_path / "schema.yaml", call("schema", path, path).stdout)
    titles = [variable.title for variable in Schema.from_yaml(suggested).variables]
    assert titles == ["Age in years", "own", "sex"]


@pytest.mark.parametrize("suffix", ["parquet", "dta", "sav"])
def test_files_with_types_read_as_text_does(tmp_path, suffix):
    types = {"income": str, "code": str, "sex": "category"}
    frame = table().fillna({"own": "no"}).astype(types)
    text = tmp_path / "a.csv"
    typed = tmp_path / f"a.{suffix}"
    write_frame(frame, text)
    write_frame(frame, typed, variable_value_labels={"sex": {"f": "f", "m": "m"}})

    inputs = read_inputs(typed, typed)

    of_text = read_inputs(text, text)
    assert inputs.schema == of_text.schema
    assert_array_equal(inputs.original.codes, of_text.original.codes)
    assert inputs.original.lines[0] == 1  # records are numbered where no lines are
    typed.write_bytes(b"SECRET")
    with value_error(f"{typed.name}: the file cannot be read as") as refused:
        read_table(typed)
    assert "SECRET" not in str(refused.value)
