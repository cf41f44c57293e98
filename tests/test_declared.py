"""Numbers that are cut, missing values, levels unseen: what tables complete of a declaration."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from srlib.assessment import examine, in_public, take_in
from srlib.data.declared import (
    Declaration,
    Numeric,
    suggest,
    with_missing,
    with_unseen,
)
from srlib.data.microdata import read_table
from srlib.data.numbers import even_edges, number, piece_names, quantile_edges, rounded_edges
from srlib.data.schema import Microdata, Schema, Variable
from srlib.display import NOT_SHOWN
from srlib.runner.cli import main


def pieces(edges: tuple[float, ...], values: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


# ------------------------------------------------------------------------------------ where to cut


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=300),
    st.integers(2, 12),
    st.sampled_from([1.0, 1e-3, 1e6]),
)
@example([600, 601], 2, 1e-3)
@example([0] * 12 + [1, 200, 201, 202, 202], 12, 1.0)
def test_quantile_pieces_are_never_empty_and_rarely_large(
    values: list[int], bins: int, unit: float
) -> None:
    records = np.array(values) * unit
    value, count = np.unique(records, return_counts=True)
    edges = quantile_edges(value, count, bins)
    assert (np.diff(edges) > 0).all()
    sizes = pieces(edges, records)
    assert (sizes > 0).all() or len(value) == 1
    # A piece is larger than two quantiles' worth only if one number is a quantile's worth.
    share = len(records) / bins
    heavy = count.max() >= share
    assert heavy or sizes.max() <= 2.5 * share + 2 * count.max()


def test_a_number_that_many_have_is_a_piece_of_its_own() -> None:
    edges = quantile_edges([-5, 0, 3, 7, 20, 60], [5, 60, 10, 10, 10, 5], 10)
    assert pieces(edges, np.array([0.0])).argmax() == pieces(edges, np.array([-0.0])).argmax()
    of_zero = np.searchsorted(edges, 0, side="right")
    assert np.searchsorted(edges, [-5, 3], side="right").tolist() == [of_zero - 1, of_zero + 1]


def test_cuts_at_quantiles_are_round() -> None:
    ages = np.arange(16, 96)
    edges = quantile_edges(ages, np.ones(80), 10)
    assert all(edge % 5 == 0 for edge in edges)
    assert pieces(edges, ages).max() <= 16


def test_even_and_rounded_edges() -> None:
    assert even_edges([-12, 0, 31], 10) == (-10.0, 0.0, 10.0, 20.0, 30.0)
    with pytest.raises(ValueError, match="that would be 1,001 pieces, and 100 are allowed"):
        even_edges([0, 10_000], 10)
    edges, rounded = rounded_edges([0.26, 0.31, 1.74, 0.04], 1)
    assert rounded.tolist() == [0.0, 0.3, 1.7]
    assert pieces(edges, np.array([0.26, 0.31, 1.74, 0.04])).tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match="leaves 101 numbers; 100 are allowed"):
        rounded_edges(np.arange(101), 0)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True), st.integers(-99, 99))
def test_names_of_pieces_say_what_is_in_them(edges: list[int], value: int) -> None:
    edges = sorted(edges)
    names = piece_names(list(map(float, edges)), whole=True)
    assert len(set(names)) == len(edges) + 1
    name = names[int(np.searchsorted(edges, value, side="right"))]
    if name.startswith("below"):
        assert value < int(name.split()[1])
    elif name.endswith("or more"):
        assert value >= int(name.split()[0])
    else:
        low, _, high = name.partition(" to ")
        assert int(low) <= value <= int(high or low)


@pytest.mark.parametrize("text", ["", "N", "nan", "inf", "1e999", "0x10", "1_000", "1,5", "--1"])
def test_texts_that_are_no_numbers(text: str) -> None:
    assert np.isnan(number(text))


# -------------------------------------------------------------------------------------- variables


def test_a_numeric_variable_codes_numbers_however_they_are_written() -> None:
    income = Variable("income", ("below 10", "10 or more", "N"), edges=(10.0,))
    assert income.codes_of(["9.99", "10", "1e1", "+10.0", "-3", "N", "below 10", "x", ""]) == [
        0, 1, 1, 1, 0, 2, 0, -2, -1,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="they must rise, and be fewer than the levels"):
        Variable("income", ("a", "b"), edges=(2.0, 1.0))


def test_codes_that_mean_missing() -> None:
    own = Variable("own", ("yes", "no"), missing_codes=("-9", "N"))
    assert own.codes_of(["yes", "-9", "-9.0", "N", ""]) == [0, -1, -1, -1, -1]
    assert own.with_missing().codes_of(["yes", "-9", "N", ""]) == [0, 2, 2, 2]
    assert own.with_missing().with_missing() == own.with_missing()
    called = Variable("own", ("missing", "no")).with_missing()
    assert called.levels == ("missing", "no", "missing 2")
    with pytest.raises(ValueError, match="missing of own is 'gone'; it must be one of its levels"):
        Variable("own", ("yes", "no"), missing="gone")


def test_numbers_are_cut_by_one_table_alone() -> None:
    first = pd.DataFrame({"x": np.arange(100)})
    schema, notes = Declaration((Numeric("x", bins=4),)).complete(first)
    assert "x is cut near the original's quantiles, at 20, 50, 80." in notes
    assert schema.variables[0].levels == ("below 20", "20 to 49", "50 to 79", "80 or more")
    other = pd.DataFrame({"x": [-1e9, 19.5, 20, 1e9]})
    assert schema.encode(other)[:, 0].tolist() == [0, 0, 1, 3]


def test_declared_cuts() -> None:
    frame = pd.DataFrame({"x": [0.5, 3, 7, 12, "N"]})
    for given_cut, levels in (
        ({"edges": (5.0,)}, ("below 5", "5 or more", "N")),
        ({"width": 5.0}, ("below 5", "5 to below 10", "10 or more", "N")),
        ({"decimals": 0}, ("0", "3", "7", "12", "N")),
    ):
        schema, _ = Declaration((Numeric("x", **given_cut),)).complete(frame)
        assert schema.variables[0].levels == levels


def test_codes_that_say_that_a_variable_does_not_apply() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, "-9", "-9.0", "N", None]})
    schema, _ = Declaration((Numeric("x", edges=(2.0,), not_applicable=("-9", "N")),)).complete(
        frame
    )
    schema, _ = with_missing(schema, frame)
    x = schema.variables[0]
    assert x.levels == ("below 2", "2 or more", "-9", "N", "missing")
    assert schema.encode(frame)[:, 0].tolist() == [0, 1, 1, 2, 2, 3, 4]
    assert x.no_values == (2, 3, 4)
    with pytest.raises(ValueError, match="not_applicable of x has 'N'; each must be a level"):
        Variable("x", ("a", "b"), not_applicable=("N",))


def test_who_has_no_value_of_the_target_has_nothing_to_disclose() -> None:
    frame = pd.DataFrame(
        {"key": ["a", "a", "b", "b", "c", "c"], "x": ["1", "1", "N", "N", "2", "N"]}
    )
    schema = Schema(
        (Variable("key", ("a", "b", "c")), Variable("x", ("1", "2", "N"), not_applicable=("N",)))
    )
    found = take_in(frame, frame, target="x", schema=schema)
    assert "x is missing or does not apply for 3 of 6 people" in " ".join(found.notes)
    row = examine(found, seed=1).table.query("question == 'attributes'").iloc[0]
    assert (row["about"], row["people"]) == ("key → x", 3)
    assert row["value"] == pytest.approx(2 / 3)  # both a; c has two answers
    nobody = frame.assign(x="N")
    with pytest.raises(
        ValueError, match="target is 'x', of which nobody in the original has a value"
    ):
        take_in(nobody, frame, target="x", schema=schema)


def test_missing_values_are_a_level_wherever_one_table_has_them() -> None:
    schema = Schema(
        (Variable("a", ("1", "2")), Variable("b", ("1", "2")), Variable("c", ("1", "2")),
         Variable("d", ("1", "2"), drop_missing=True))
    )  # fmt: skip
    first = pd.DataFrame({"a": [1, None], "b": [1, 2], "c": [1, 2], "d": [1, None]})
    other = pd.DataFrame({"a": [1, 2], "b": [None, 2], "c": [1, 2], "d": [1, 2]})
    schema, notes = with_missing(schema, first, other)
    assert [v.missing for v in schema.variables] == ["missing", "missing", "", ""]
    assert notes == ("Missing values are a level of their own: a 1 of 2.",)
    codes, kept, _ = schema.encode_complete(first, drop_missing=False)
    assert kept.tolist() == [True, False]
    assert codes.tolist() == [[0, 0, 0, 0]]


def test_levels_that_only_another_table_has() -> None:
    schema = Schema((Variable("a", ("1", "2")),))
    schema, notes = with_unseen(schema, pd.DataFrame({"a": ["2", "9", "NA"]}))
    assert schema.variables[0].levels == ("1", "2", "9")
    assert notes == ("Levels that the original does not have: a '9'.",)
    assert with_unseen(schema, pd.DataFrame({"a": ["9"]})) == (schema, ())


@pytest.mark.parametrize(
    ("levels", "other", "meant"),
    [
        (["Yes", "No"], ["yes", "'No'", "YES."], ["Yes", "No", "Yes"]),
        (["True", "False"], ["TRUE", "FALSE"], ["True", "False"]),
        (["01", "02", "10"], ["1", "2.0", "10"], ["01", "02", "10"]),
        (["1", "2"], ["01", "2.00"], ["1", "2"]),
        (["0.5", "1.5"], ["0,5", "1.50"], ["0.5", "1.5"]),
        (["a  b", "c"], ["a b"], ["a  b"]),
    ],
)
def test_values_written_in_another_way(
    levels: list[str], other: list[str], meant: list[str]
) -> None:
    schema = Schema((Variable("a", tuple(levels)),))
    after, notes = with_unseen(schema, pd.DataFrame({"a": other}))
    codes = after.encode(pd.DataFrame({"a": other}))[:, 0]
    assert [after.variables[0].levels[code] for code in codes] == meant
    assert after.variables[0].levels == tuple(levels)
    assert len(notes) == 1
    assert "Values written in another way than in the original are taken for these: a " in notes[0]


def test_ways_of_writing_that_could_be_two_levels_are_none() -> None:
    schema = Schema((Variable("a", ("1", "01", "b")),))
    after, notes = with_unseen(schema, pd.DataFrame({"a": ["1.00", "001", "B"]}))
    assert after.variables[0].levels == ("1", "01", "b", "001")
    assert notes[1] == "Levels that the original does not have: a '001'."


def test_values_of_which_none_is_known_are_an_error(tmp_path: Path) -> None:
    original = table().drop(columns="own")
    for change, message in (
        ({"sex": "x"}, "sex has 'x', where the original has 'f', 'm'; the same values must be"),
        ({"age": [f"{i} years" for i in range(300)]}, "age has '0 years'.* original has numbers"),
    ):
        with pytest.raises(ValueError, match=f"^made: {message}"):
            take_in(original, {"made": original.assign(**change)})
    some = original.assign(age=original["age"].astype(object).where(original["sex"] == "f", "old"))
    told = take_in(original, some[::-1]).notes
    assert "Levels that the original does not have: age 'old'." in told


def test_values_in_two_ways_are_told_of_where_a_schema_is_suggested_or_given() -> None:
    original = table().drop(columns=["own", "code", "income"])
    capitals = original.assign(sex=original["sex"].str.upper())
    declaration, reasons = suggest([original, capitals])
    assert declaration.variables[1] == Variable("sex", ("f", "m"))
    assert reasons == ("sex: 'F' is 'f' written in another way; write both alike.",)
    every = Declaration((Numeric("age", bins=4), Variable("sex", ("f", "m", "F", "M"))))
    told = take_in(original, {"made": capitals[::-1]}, schema=every).notes
    assert any("made: no value of 'sex' is one of the original's" in note for note in told)


def test_columns_of_one_value_are_left_out_of_an_assessment(tmp_path: Path) -> None:
    original = table().drop(columns=["own", "code"])
    given = original.assign(country="CA", none="", flag=np.where(original["sex"] == "f", "1", ""))
    given.to_csv(tmp_path / "a.csv", index=False)
    text = (tmp_path / "a.csv").read_text().replace("\n", ",,\n")  # as spreadsheets leave them
    (tmp_path / "a.csv").write_text(text)
    found = take_in(tmp_path / "a.csv", tmp_path / "a.csv")
    assert found.schema.names == (*original.columns, "flag")
    assert found.schema.variables[-1].levels == ("1", "missing")
    told = "of which the original has one value or none: 'country', 'none', 'column 7', 'column 8'."
    assert any(told in note for note in found.notes)


def test_numbers_in_other_notations_are_the_same_people() -> None:
    original = table().drop(columns=["own", "code"])
    original["income"] = np.random.default_rng(1).lognormal(10, 1, 300).round(2)
    original["age"] = original["age"].astype(str)
    other = original.assign(
        income=[f"{x:.2f}".replace(".", ",") for x in original["income"]],
        age=original["age"] + " %",
    )
    english = other.assign(income=[f"${x:,.2f}" for x in original["income"]])
    for one, two in ((original, other), (other, english), (english, original)):
        found = take_in(one, two)
        np.testing.assert_array_equal(found.original, found.tools["release 1"][0])
    assert any("'$" in note and "is read as" in note for note in found.notes)


@pytest.mark.parametrize(
    ("codes", "like"),
    [
        ([99999998, 99999999], ("99999998", "99999999")),
        ([-9, -1], ("-9", "-1")),
        ([996], ("996",)),
        ([500], ()),  # a frequent amount
        ([0], ()),
        ([99999998, 2 * 10**8], ()),  # not at the end
    ],
)
def test_numbers_that_look_like_codes(codes: list[int], like: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    income = np.concatenate([rng.choice(np.arange(1, 990), 400), np.repeat(codes, 40)])
    frame = pd.DataFrame({"income": income, "sex": rng.choice(["f", "m"], len(income))})
    declaration, reasons = suggest([frame])
    (found, _) = declaration.variables
    assert isinstance(found, Numeric)
    assert found.missing_codes == like
    assert bool(reasons) == bool(like)
    notes = Declaration.recognize(frame).complete(frame)[1]
    assert ("may be no number but a code, which a schema" in notes[0]) == bool(like)


def test_all_that_is_no_variable_is_named_at_once() -> None:
    names = [f"street {i % 150}" for i in range(300)]
    frame = table().assign(place=names, number=range(300))
    with pytest.raises(ValueError, match=r"number differs for all") as refused:
        Declaration.recognize(frame)
    assert "place has 150 values that are no numbers, as 'street 0'" in str(refused.value)
    assert "srlib schema ORIGINAL RELEASED suggests one" in str(refused.value)


# ------------------------------------------------------------------------------------ recognition


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": rng.integers(16, 96, n),
            "income": np.where(rng.random(n) < 0.4, 0, rng.integers(1, 90_000, n)).astype(object),
            "code": rng.choice([f"{i:03d}" for i in range(60)], n),
            "sex": rng.choice(["f", "m"], n),
            "own": rng.choice(["yes", "no", None], n),
        }
    )
    frame.loc[frame.index % 7 == 3, "income"] = "N"
    return frame


def test_what_is_recognized() -> None:
    found = Declaration.recognize(table())
    kinds = {v.name: isinstance(v, Numeric) for v in found.variables}
    assert kinds == {"age": True, "income": True, "code": False, "sex": False, "own": False}
    income = found.complete(table())[0].variables[1]
    assert income.levels[-1] == "N"
    assert len(income.levels) == len(income.edges) + 2
    as_categories = table().astype({"age": "category"})
    assert isinstance(Declaration.recognize(as_categories).variables[0], Variable)
    assert isinstance(Declaration.recognize(as_categories, typed=False).variables[0], Numeric)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.date_range("2020-01-01", periods=300), "day has dates; make a year or an age"),
        ([f"2020-01-{i % 40 + 1:02d}" for i in range(300)], "day has dates, as '2020-01-01'"),
        (np.arange(300), "day differs for all records, as a name or a number of people does"),
        ([f"name {i}" for i in range(300)], "day differs for all records"),
    ],
)
def test_what_is_no_variable(column: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Declaration.recognize(table().assign(day=column))


def test_different_fractions_are_numbers_all_the_same() -> None:
    frame = pd.DataFrame({"weight": np.random.default_rng(1).random(300)})
    assert isinstance(Declaration.recognize(frame).variables[0], Numeric)


# -------------------------------------------------------------------------------------------- YAML

DECLARED = """
leave_out: [id]
missing: level
variables:
- name: age
  title: age in years
  bins: 5
- name: income
  edges: [0, 10000]
  missing_codes: [N, -9]
  missing: drop
- name: sex
  levels: {f: female, m: male}
  not_applicable: [N]
- name: own
  levels: ["yes", "no"]
  missing: error
"""


def test_a_declaration_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(DECLARED)
    found = Declaration.from_yaml(path)
    age, income, sex, own = found.variables
    assert age == Numeric("age", "age in years", bins=5, missing="level")
    assert income == Numeric(
        "income", edges=(0.0, 10_000.0), missing="drop", missing_codes=("N", "-9")
    )
    assert isinstance(sex, Variable)
    assert (sex.labels, sex.missing) == (("female", "male", "N", "missing"), "missing")
    assert sex.no_values == (2, 3)
    assert isinstance(own, Variable)
    assert own.drop_missing is False
    path.write_text(found.to_yaml())
    assert Declaration.from_yaml(path) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("variables: [{name: a, bins: 5, width: 2}]", "a has bins and width of bins, edges"),
        ("variables: [{name: a, bins: 1}]", "bins of a is 1; it must be 2 to 100"),
        ("variables: [{name: a, bins: 2.5}]", "bins of 'a' is 2.5; it must be whole"),
        ("variables: [{name: a, width: 0}]", "width of a is 0; it must be above 0"),
        ("variables: [{name: a, width: wide}]", "width of 'a' has 'wide'; it must be a number"),
        ("variables: [{name: a, edges: [2, 1]}]", r"edges of a are \[2.0, 1.0\]; they must rise"),
        ("variables: [{name: a, edges: 3}]", "edges of 'a' must be a list"),
        ("variables: [{name: a, bins: 3, levels: [b, c]}]", "has bins and the keys 'levels'"),
        ("variables: [{name: a, levels: [b, c], missing: gone}]", "one of level, drop, error"),
        ("variables: [{name: a}]", "needs a name and levels"),
        ("variables: [{levels: [a, b]}]", "each variable needs a name"),
        ("variables: [{name: a, bins: 3}]\nleave_out: [a]", "the names 'a' stand twice"),
        ("variables: []", "variables is empty"),
        ("levels: []", "the file must have the key 'variables'"),
    ],
)
def test_bad_declarations(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"schema.yaml: .*{message}"):
        Declaration.from_yaml(path)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b"], "x is declared to be numeric and has 0 numbers"),
        (["1", "1"], "x is declared to be numeric and has 1 numbers"),
    ],
)
def test_tables_that_complete_nothing(column: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Declaration((Numeric("x", bins=2),)).complete(pd.DataFrame({"x": column}))


# ------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("suffix", "package"), [("parquet", "pyarrow"), ("dta", ""), ("sav", "pyreadstat")]
)
def test_files_with_types_read_as_text_does(tmp_path: Path, suffix: str, package: str) -> None:
    if package and not importlib.util.find_spec(package):
        pytest.skip(f"{package} is not installed")
    frame = table().astype({"income": str, "code": str, "sex": "category"})
    frame["own"] = frame["own"].fillna("no")
    text, typed = tmp_path / "a.csv", tmp_path / f"a.{suffix}"
    frame.to_csv(text, index=False)
    if suffix == "parquet":
        frame.to_parquet(typed)
    elif suffix == "dta":
        frame.to_stata(typed, write_index=False)
    else:
        import pyreadstat

        of_sex: Any = {"sex": {"f": "f", "m": "m"}}
        pyreadstat.write_sav(frame.astype({"sex": str}), typed, variable_value_labels=of_sex)
    one, other = take_in(text, text), take_in(typed, typed)
    assert other.schema == one.schema
    np.testing.assert_array_equal(other.original, one.original)
    assert other.lines is not None
    assert other.lines[0] == 1  # records are numbered where there are no lines


def test_files_of_other_separators(tmp_path: Path) -> None:
    frame = table().drop(columns="own")
    frame.to_csv(tmp_path / "a.csv", index=False)
    whole = take_in(tmp_path / "a.csv", tmp_path / "a.csv")
    for separator in "\t;|":
        frame.to_csv(tmp_path / "b.csv", index=False, sep=separator)
        again = take_in(tmp_path / "b.csv", tmp_path / "b.csv")
        assert again.schema == whole.schema
        np.testing.assert_array_equal(again.original, whole.original)


def test_a_damaged_file_with_types_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "a.dta").write_bytes(b"no such thing")
    with pytest.raises(ValueError, match=r"a\.dta: it cannot be read as a \.dta file"):
        read_table(tmp_path / "a.dta")


def test_a_declared_table_for_the_notebooks(tmp_path: Path) -> None:
    table().drop(columns="own").to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "schema.yaml").write_text(
        "leave_out: [code]\nvariables:\n- {name: age, width: 20}\n- {name: sex, levels: [f, m]}\n"
        "- {name: income, edges: [1], missing_codes: [N], missing: level}\n"
    )
    found = read_table(tmp_path / "a.csv", tmp_path / "schema.yaml")
    assert found.schema.names == ("age", "sex", "income")
    assert found.schema.n_levels.tolist() == [5, 2, 3]
    assert any("age is cut at multiples of 20" in note for note in found.notes)


# ------------------------------------------------------------------------------------- assessments


def test_an_assessment_keeps_every_record_and_says_what_was_done(tmp_path: Path) -> None:
    original = table()
    released = table().sample(frac=1, random_state=1)
    released["sex"] = released["sex"].where(released["age"] < 60, "x")
    found = take_in(original, released, target="income")
    assert len(found.original) == len(original)
    told = " ".join(found.notes)
    assert "age is cut near the original's quantiles" in told
    assert "Levels that the original does not have: sex 'x'." in told
    assert f"own {original['own'].isna().sum()} of 300" in told
    assert found.schema.variables[3].levels == ("f", "m", "x")
    variables = (
        'variables: [{name: age, bins: 5}, {name: own, levels: ["yes", "no"]}]\n'
        "leave_out: [income, code, sex]\nmissing: "
    )
    (tmp_path / "schema.yaml").write_text(f"{variables}error\n")
    with pytest.raises(ValueError, match="original: missing values: own"):
        take_in(original, released, schema=tmp_path / "schema.yaml")
    (tmp_path / "schema.yaml").write_text(f"{variables}drop\n")
    fewer = take_in(original, table(), schema=tmp_path / "schema.yaml")
    assert len(fewer.original) == original["own"].notna().sum()


def test_cuts_do_not_depend_on_the_release() -> None:
    original = table()
    far = original[::-1].assign(age=original["age"] + 1000)
    found = take_in(original, [table(), far])
    assert found.schema.variables[0] == take_in(original, table()).schema.variables[0]
    assert (found.tools["release 2"][0][:, 0] == found.tools["release 2"][0][:, 0].max()).all()


def test_levels_that_are_declared_are_all_there_are() -> None:
    schema = Schema((Variable("a", ("1", "2")), Variable("b", ("1", "2"))))
    first, other = (
        pd.DataFrame({"a": [1, 2], "b": [1, 2]}),
        pd.DataFrame({"a": [1, 3], "b": [1, 2]}),
    )
    with pytest.raises(ValueError, match="release 1: values outside the levels: a has '3'"):
        take_in(first, other, schema=schema)
    with pytest.raises(ValueError, match="release 1: missing columns b; unknown columns 'c'"):
        take_in(first, other.rename(columns={"b": "c"}))
    microdata = Microdata.from_frame(first)
    assert take_in(microdata, microdata).schema == microdata.schema


def test_the_command_suggests_a_schema(tmp_path: Path) -> None:
    original = table().assign(id=np.arange(300), day=pd.date_range("2020-01-01", periods=300))
    released = original[::-1].assign(sex=original["sex"].replace("m", "x"))
    for name, frame in (("a.csv", original), ("b.tsv", released)):
        frame.to_csv(tmp_path / name, index=False, sep="\t" if name.endswith("tsv") else ",")
    files = [str(tmp_path / name) for name in ("a.csv", "b.tsv")]
    told = CliRunner().invoke(main, ["schema", *files])
    assert told.exit_code == 0
    assert "id is left out: differs for all records" in told.stderr
    assert "day is left out: has dates" in told.stderr
    path = tmp_path / "schema.yaml"
    assert CliRunner().invoke(main, ["schema", *files, "--output", str(path)]).exit_code == 0
    assert path.read_text() == told.stdout
    declared = Declaration.from_yaml(path)
    assert declared.leave_out == ("id", "day")
    sex = declared.variables[declared.names.index("sex")]
    assert isinstance(sex, Variable)
    assert sex.levels == ("f", "m", "x")
    assert take_in(*files, schema=path).schema.names == ("age", "income", "code", "sex", "own")
    assert CliRunner().invoke(main, ["schema", *files, "--output", str(path)]).exit_code == 2


def test_tables_without_variables_suggest_nothing() -> None:
    with pytest.raises(ValueError, match="no column is a variable"):
        suggest([pd.DataFrame({"id": np.arange(300)})])


def test_a_level_that_rests_on_few_people_with_a_value_is_not_shown_in_public() -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.integers(0, 2, (200, 3)), columns=list("abc")).astype(str)
    frame.loc[9:, "c"] = "N"
    schema = Schema(
        (*(Variable(name, ("0", "1")) for name in "ab"),
         Variable("c", ("0", "1", "N"), not_applicable=("N",)))
    )  # fmt: skip
    tables = take_in(frame, frame.sample(frac=1, random_state=1), target="c", schema=schema)
    found = examine(tables, seed=1)
    shown = in_public(found.judgments, found.table).iloc[0]
    assert shown["attributes"] == shown["advice"] == NOT_SHOWN
    assert shown["copies"] != NOT_SHOWN


def test_a_column_that_a_file_lacks_is_left_out_of_the_suggestion() -> None:
    original = pd.DataFrame({"a": ["x", "y"], "weight": ["2", "3"], "b": ["u", "v"]})
    released = pd.DataFrame({"b": ["u", "v"], "a": ["y", "x"], "draw": ["1", "2"]})
    declaration, reasons = suggest([original, released])
    assert declaration.names == ("a", "b")
    assert declaration.leave_out == ("weight", "draw")
    assert reasons == ("weight is left out: a file lacks it.", "draw is left out: a file lacks it.")
    with pytest.raises(ValueError, match="no column is a variable: a file lacks it"):
        suggest([original[["a"]], released[["b"]]])
