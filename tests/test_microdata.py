"""Schemas, the codes of tables, the reader of files, and their errors."""

import csv
import gzip
import os
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from pyarrow import parquet
from refusals import refusals, refused_changes, value_error

from srlib.data import microdata, size_limits
from srlib.data.codes import cell_numbers, distinct, row_numbers
from srlib.data.microdata import ACS, column_names, load, read_table
from srlib.data.schema import Microdata, Schema, Variable

SIZE = Variable("size", ("1", "2"), ("small", "large"), "size of the thing")
SMALL = Schema((Variable("color", ("red", "green", "blue")), SIZE))
WRONG = pd.DataFrame(
    {"color": ["red", "pink"], "size": [3, 1]}, index=["first", "second"]
)
RNG = default_rng(0)
NO_TABLE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
NOT_READ = (
    "is not UTF-8 text. Save a text file as UTF-8, e.g. with iconv -f WINDOWS-1252 "
    "-t UTF-8; other files must be .parquet, .dta or .sav"
)


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_frame(frame, path, **options):
    """Write a table in the format that its suffix names."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".sav":
        pytest.importorskip("pyreadstat").write_sav(frame, path, **options)
    elif path.suffix == ".dta":
        labels = options.get("column_labels")
        frame.to_stata(path, variable_labels=labels, write_index=False)
    else:
        frame.to_csv(path, index=False)


def assert_same(read, table):
    """Records are as they were, and there is nothing to note."""
    assert_array_equal(read.codes, table.codes)
    assert read.schema == table.schema
    assert read.notes == ()


def refusal(path, schema=SMALL, **options):
    """Return the message of the error, which must name the file."""
    with value_error(".") as caught:
        read_table(path, schema, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cf"])
    | st.sampled_from('",\n\r;0123456789.'),
    min_size=1,
    max_size=6,
).filter(lambda text: text == text.strip())


@st.composite
def tables(draw, least=1):
    in_one_line = texts.filter(lambda text: not set(text) & set("\n\r"))
    names = draw(st.lists(in_one_line, min_size=2, max_size=5, unique=True))
    levels = [draw(st.lists(texts, min_size=2, max_size=6, unique=True)) for _ in names]
    record = st.tuples(*(st.integers(0, len(texts) - 1) for texts in levels))
    codes = np.array(draw(st.lists(record, min_size=least, max_size=20)), np.uint8)
    variables = map(Variable, names, map(tuple, levels))
    return Microdata(codes.reshape(-1, len(names)), Schema(tuple(variables)))


@given(tables(), st.sampled_from([".csv", ".csv.gz"]), st.integers(1, 4), st.randoms())
def test_frames_and_files_give_back_their_records(
    tmp_path_factory, table, suffix, chunk, random
):
    path = tmp_path_factory.mktemp("tables") / f"table{suffix}"
    frame = table.to_frame(labels=False)
    frame = frame[random.sample(list(frame.columns), frame.shape[1])]
    # Older Pythons quote a carriage return only at line ends, or if everything is
    # quoted.
    styles = [{"quoting": csv.QUOTE_ALL}, {"lineterminator": "\r\n"}]
    # Unquoted characters in the header may be taken for its separator.
    if set("".join(frame)) & set(";|"):
        del styles[1:]
    frame.to_csv(path, index=False, **random.choice(styles))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(microdata, "_CHUNK", chunk)
        read = read_table(path, table.schema)
    categories = Microdata.from_frame(table.to_frame())
    for again in (read, Microdata.from_frame(frame, table.schema), categories):
        assert_same(again, table)
        assert again.codes.dtype == np.uint8


@given(tables(), st.data())
def test_labels_come_back_or_are_refused(table, data):
    """Whatever levels and labels share, no record comes back changed."""
    variables = []
    for variable in table.schema.variables:
        label = st.sampled_from(variable.levels) | texts
        n = len(variable.levels)
        labels = data.draw(st.lists(label, min_size=n, max_size=n, unique=True))
        variables.append(Variable(variable.name, variable.levels, tuple(labels)))
    labelled = Microdata(table.codes, Schema(tuple(variables)))
    frame = labelled.to_frame()
    if any(v.labels != v.levels and {*v.labels} == {*v.levels} for v in variables):
        with value_error("are both labels and levels"):
            Microdata.from_frame(frame, labelled.schema)
    else:
        assert_same(Microdata.from_frame(frame, labelled.schema), labelled)


def test_labels_of_a_text_column_are_read_where_none_is_a_level():
    schema = Schema((Variable("sick", ("0", "1", "9"), ("no", "yes", "1")),))

    def read(values):
        frame = pd.DataFrame({"sick": values})
        return Microdata.from_frame(frame, schema, drop_missing=True)

    labels = read(["yes", "no", None])
    assert labels.codes[:, 0].tolist() == [1, 0]
    assert "Labels were read as levels: 'sick'." in labels.notes
    levels = read(["1", "0"])
    assert levels.codes[:, 0].tolist() == [1, 0]
    assert levels.notes == ()
    with value_error("values outside the levels: sick has 'no'"):
        read(["no", "1"])


@given(tables(least=0))
@example(Microdata(default_rng(1).integers(0, 256, (50, 9), dtype=np.uint8), SMALL))
@example(Microdata(np.eye(70, dtype=np.uint8), SMALL))
def test_distinct_counts_combinations_in_lexicographic_order(table):
    codes = table.codes
    combinations, counts, inverse = distinct(codes)
    expected, expected_counts = np.unique(codes, axis=0, return_counts=True)
    assert_array_equal(combinations, expected)
    assert_array_equal(counts, expected_counts)
    assert_array_equal(combinations[inverse], codes)
    assert combinations.dtype == codes.dtype
    numbers = row_numbers(codes, codes.max(axis=0, initial=0) + 1)
    assert_array_equal(numbers, pd.factorize(inverse)[0])
    assert cell_numbers(codes[:, :0], []).tolist() == [0] * len(codes)


def test_codes_of_many_variables_and_levels():
    many = pd.DataFrame(np.indices((8, 70)).sum(axis=0) % 2)
    assert Microdata.from_frame(many).schema.n_cells == 2**70
    wide = Schema((Variable("v", tuple(map(str, range(300)))),))
    codes = Microdata.from_frame(pd.DataFrame({"v": [299, 0]}), wide).codes
    assert codes.dtype == np.uint16
    assert codes.tolist() == [[299], [0]]


def test_levels_of_a_frame_are_its_categories_or_its_values_in_order():
    columns = {
        "n": ["10", "9", "2.0"],
        "t": ["b", "a", "10"],
        "v": ["1.0", "1.5", "1.0"],
        "m": [1, 2, None],
        "b": [True, False, True],
        "c": pd.Categorical(["x", "y", "x"], ["z", "y", "x"]),
    }
    levels = [
        ("2", "9", "10"),
        ("10", "a", "b"),
        ("1.0", "1.5"),
        ("1", "2"),
        ("False", "True"),
        ("z", "y", "x"),
    ]
    frame = pd.DataFrame(columns)
    assert [v.levels for v in Schema.from_frame(frame).variables] == levels
    assert Schema.from_frame(frame, typed=False).variables[-1].levels == ("x", "y")


test_bad_variables = refused_changes(
    Variable,
    {"name": "v", "levels": ("a", "b")},
    {
        "levels of v: 'a' must be unique": {"levels": ("a", "a")},
        "v has 2 levels and 1 labels": {"labels": ("x",)},
        "levels of v: .* without surrounding spaces": {"levels": ("a", " b")},
        "the name: ' v' must be .* without surrounding spaces": {"name": " v"},
        "the name: .* has control characters": {"name": "v\nw"},
        "labels of v: .* has control characters": {"labels": ("x", "y\x7f")},
        "title of v: .* has control characters": {"title": "\x1b[1m"},
        r"'a\\ud800' has control characters": {"levels": ("a\ud800", "b")},
        "'__proto__' .* is reserved in charts": {"name": "__proto__"},
        "missing of v is 'gone'; it must be one of": {"missing": "gone"},
    },
)
test_bad_input = refusals(
    {
        "repeated are 'size'": lambda: Schema((SIZE, SIZE)),
        r"shape \(1,\); it must be \(n, 2\)": lambda: SMALL.decode([0]),
        r"shape \(1, 1\); it must be \(n, 2\)": lambda: SMALL.decode([[0]]),
        r"shape \(1, 2\); it must be \(n, 2\)": lambda: SMALL.decode([[0, 2]]),
        r"\(n, 2\), from 0 to n_levels": lambda: SMALL.decode([[-1, 0]]),
        r"'pink' \(row second\).*size has '3' \(row first": lambda: (
            Microdata.from_frame(WRONG, SMALL)
        ),
        "duplicate column names 'size'": lambda: Microdata.from_frame(
            WRONG.iloc[:, [0, 1, 1]], SMALL
        ),
        "may not be named 'size'; reserved are size": lambda: (
            SMALL.check_reserved_names(["size", "odds"])
        ),
        "columns without 2 to 100 distinct values: id 101, one 1": lambda: (
            Schema.from_frame(pd.DataFrame({"id": range(101), "one": "same"}))
        ),
        "n_records is 0": lambda: load("", rng=RNG, n_records=0),
        "n is 0": lambda: microdata.embedded_population(0, rng=RNG),
        "schema must be '' or 'acs' if data is ''": lambda: load("", SMALL, rng=RNG),
    }
)


@pytest.mark.parametrize(
    ("text", "codes"),
    {
        '\ufeffcolor , size\r\n red,1\r\n "blue", 2 \r\n': [[0, 0], [2, 1]],
        "color,size\rred,1\rblue,2\r": [[0, 0], [2, 1]],
        "size;color\n2;red": [[0, 1]],
        "size\tcolor\n2\t red\n": [[0, 1]],
        "size|color\n2|red\n": [[0, 1]],
        "size,color\n1.0,RED\n2,green\n": [[0, 0], [1, 1]],
        "color,size\n\nred,1\n\n": [[0, 0]],
    }.items(),
)
def test_texts_that_are_read(tmp_path, text, codes):
    table = read_table(write(tmp_path / "a.csv", text), SMALL)
    assert table.codes.tolist() == codes
    note = "Read as levels, apart from case or trailing zeros: 'color', 'size'."
    assert table.notes == ((note,) if "RED" in text else ())


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "": "the file is empty, or its header has no column names",
        "color,size\n": "the file has a header but no records",
        "color,size,size\nred,1,1\n": "duplicate column names 'size'",
        "color,size\x1b[31m\nred,1\n": (
            r"column names 'size\x1b[31m' contain control characters; rename them"
        ),
        NO_TABLE + b"\xde\xad" * 99: f"line 1 {NOT_READ}",
        b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\xde\xad" * 99: f"line 1 {NOT_READ}",
        b"PK\3\4\x14\0\x98\xff" + b"\xde\xad" * 99: f"line 1 {NOT_READ}",
        "color,size\nred\nred,1\nred,1,2\n" + "red\n" * 6: (
            "every record must have 2 fields, like the header: line 2 has 1, "
            "line 4 has 3, line 5 has 1, line 6 has 1, line 7 has 1 and 3 more"
        ),
        'color,size\nred,1\n"red"x,1\n': (
            "line 3 is not valid CSV: ',' expected after '\"'"
        ),
        'color,size\n"red,1\n': "line 2 is not valid CSV: unexpected end of data",
        "color,size\nred,1\ngrün,1\n".encode("latin-1"): f"line 3 {NOT_READ}",
        "color,size\nred,1\n".encode("utf-16"): f"line 1 {NOT_READ}",
        "color,size\nred,1\nre\0d,1\n": f"line 3 {NOT_READ}",
        # The lines are those of the file.
        'color,size\n\n"\nred",1\nred,01\n': (
            "values outside the levels: size has '01' (line 5), allowed are '1', '2'"
        ),
        "color,size\nred,1\npink,1\nred,5\n" + "red,7\n" * 7: (
            "values outside the levels: color has 'pink' (line 3), allowed are 'red', "
            "'green', 'blue'; size has '5', '7' (lines 4, 5, 6, 7, 8 and 3 more), "
            "allowed are '1', '2'"
        ),
        "color,weight,id\nred,1,7\n": (
            "missing columns size; unknown columns 'weight', 'id' (leave them out with "
            "leave_out in a schema, or with srlib assess --leave-out); "
            "the schema has color, size"
        ),
    }.items(),
)
def test_texts_that_are_refused_in_one_line(tmp_path, text, message):
    assert refusal(write(tmp_path / "a.csv", text)) == message


def test_compressed_files_are_whole_and_have_one_csv_file(tmp_path):
    half = gzip.compress(b"color,size\n" + b"red,1\n" * 1000)[:-12]
    for name, content in (("a.gz", half), ("b.gz", "color,size\n"), ("c.zip", "red")):
        path = write(tmp_path / name, content)
        assert refusal(path) == "the compressed file is damaged or password-protected"
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "color,size\nred,1\n")
        archive.writestr("readme.txt", "")
    assert read_table(path, SMALL).codes.tolist() == [[0, 0]]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.csv", "")
    assert "one CSV file; it has 'a.csv', 'b.csv'" in refusal(path)


def test_folders_and_pipes_are_refused(tmp_path):
    assert refusal(tmp_path) == "this is not a regular file"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        assert refusal(tmp_path / "pipe.csv") == "this is not a regular file"


@pytest.mark.parametrize(
    "text", ["color,size\n" + "r" * 10**7, "c" * 10**7, "\n" * 10**4]
)
def test_a_small_file_that_stands_for_a_large_one_is_refused(
    tmp_path, monkeypatch, text
):
    monkeypatch.setattr(microdata, "MAX_TEXT", 2000)
    write(tmp_path / "a.csv.gz", gzip.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", text)
    for name in ("a.csv.gz", "a.zip"):
        tracemalloc.start()
        refused = refusal(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()
        assert refused == "the file has more than 2,000 bytes; split it"


CHILD = """
import resource, sys, time
import pyreadstat
from srlib.data import size_limits
from srlib.data.microdata import read_uncoded

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

size_limits.MAX_BYTES = int(sys.argv[2])
before, start = peak(), time.perf_counter()
try:
    read_uncoded(sys.argv[1])
except ValueError as error:
    print(error)
print(peak() - before, time.perf_counter() - start)
"""
TEXT = "x" * 1_000_000


def write_dictionary(path):
    indices = pa.array(np.zeros(40_000, np.int32))
    column = pa.DictionaryArray.from_arrays(indices, pa.array([TEXT]))
    parquet.write_table(pa.table({"a.b": column}), path, compression="zstd")


def write_shared(path):
    """Texts with delta encoding: each is coded by its prefix of the one before."""
    rows = pa.table({"a": pa.array([TEXT] * 50)})
    coding = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    with parquet.ParquetWriter(
        path, rows.schema, compression="zstd", **coding
    ) as writer:
        for _ in range(10):
            writer.write_table(rows)


def write_nothing(path):
    parquet.write_table(pa.table({"a": pa.nulls(600_000_000)}), path)


def write_spss(path, n_records=2**29):
    """Write the number of records in the header, which readers trust; -1: unknown."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"a": ["x", "y"] * 500, "b": [1.0, 2] * 500})
    pyreadstat.write_sav(frame, path, compress=True)
    content = bytearray(path.read_bytes())
    content[80:84] = struct.pack("<i", n_records)
    path.write_bytes(content)


def write_line(path):
    path.write_bytes(gzip.compress(b"a" * 400_000_000, 1))


LARGE = [
    (write_dictionary, "a.parquet", 2_000_000_000),
    (write_shared, "a.parquet", 400_000_000),
    (write_nothing, "a.parquet", 2_000_000_000),
    (write_spss, "a.sav", 2_000_000_000),
    (write_line, "a.csv.gz", 2_000_000_000),
]


@pytest.mark.skipif(
    sys.platform != "linux", reason="measures a peak of memory as Linux tells it"
)
@pytest.mark.parametrize(("written", "name", "most"), LARGE)
def test_what_a_file_stands_for_is_refused_before_it_takes_memory(
    tmp_path, written, name, most
):
    path = tmp_path / name
    problem = (
        f"its decoded records need more than {most:,} bytes, with 8 or more per value; "
        "split it"
    )
    if name == "a.csv.gz":
        problem = "line 1 has more than 10,000,000 characters"
    written(path)

    command = [sys.executable, "-c", CHILD, str(path), str(most)]
    output = subprocess.check_output(command, text=True, timeout=60)

    message, figures = output.splitlines()
    assert message == f"{path}: {problem}"
    megabytes, seconds = map(float, figures.split())
    assert path.stat().st_size < 5_000_000
    assert megabytes < 200
    assert seconds < 10


def test_spss_files_that_do_not_tell_their_records_are_read_within_bounds(
    tmp_path, monkeypatch
):
    path = tmp_path / "a.sav"
    write_spss(path, -1)
    assert len(read_table(path)) == 1000
    monkeypatch.setattr(size_limits, "MAX_BYTES", 16 * 999)
    assert "its decoded records need more than 15,984 bytes" in refusal(path, None)
    monkeypatch.setattr(size_limits, "MAX_BYTES", 16 * 1000)
    assert len(read_table(path)) == 1000


def test_values_of_a_text_file_are_bounded_where_they_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(microdata, "MAX_VALUES", 10)
    path = write(tmp_path / "a.csv", "color,size,more\n" + "red,1,x\n" * 5)
    assert len(read_table(path, SMALL, ignore_columns=True)) == 5
    write(path, "color,size\n" + "red,1\n" * 6)
    assert refusal(path) == "the columns kept have more than 10 values; split the file"


@pytest.mark.parametrize(
    ("suffix", "n"), [("csv", 100_000), ("parquet", 6_000), ("sav", 5_001), ("dta", 60)]
)
def test_a_file_of_very_many_columns_is_refused(tmp_path, monkeypatch, suffix, n):
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        write(path, ",".join(map(str, range(n))))
    else:
        write_frame(pd.DataFrame(np.ones((2, n))).add_prefix("v"), path)
    if suffix == "dta":
        monkeypatch.setattr(size_limits, "MAX_COLUMNS", 50)
    most = size_limits.MAX_COLUMNS

    start = time.perf_counter()
    refused = refusal(path, None)
    names = column_names(path)
    seconds = time.perf_counter() - start

    assert refused == f"the file has {n:,} columns; at most {most:,} are allowed"
    assert suffix != "csv" or names == ()
    assert seconds < 10


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "none", "parquet", "sav", "dta"])
def test_names_of_columns_are_read_from_the_header(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    assert column_names(path) == ()
    write_frame(pd.DataFrame({"job": ["a", "b"], "sick": [1.0, 2.0]}), path)
    assert column_names(path) == ("job", "sick")
    for no_table in (path, tmp_path / "a.zip"):
        assert column_names(write(no_table, NO_TABLE)) == ()


@pytest.mark.parametrize("blank", ["", " ", "NA", "NaN", "nan", "null"])
def test_missing_values_are_counted_or_dropped(tmp_path, blank):
    text = f"color,size\nred,{blank}\n{blank},{blank}\nblue,2\n"
    path = write(tmp_path / "a.csv", text)
    assert "missing values: color 1, size 2 (lines 2, 3)" in refusal(path)
    table = read_table(path, SMALL, drop_missing=True)
    assert table.codes.tolist() == [[2, 1]]
    assert table.notes == ("Records with missing values dropped: 2 of 3.",)
    write(path, f"color,size\nred,{blank}\n")
    message = "no record is left: 1 of 1 dropped for missing values"
    assert message in refusal(path, drop_missing=True)


def test_read_table_takes_a_schema_or_its_path_or_nothing(tmp_path):
    data = write(tmp_path / "a.csv", "size\n2\n1\n")
    path = write(tmp_path / "s.yaml", "variables: [{name: size, levels: [1, 2, 3]}]")
    declared = Schema((Variable("size", ("1", "2", "3")),))
    for schema in (path, str(path), declared):
        assert read_table(data, schema).schema == declared
    assert read_table(data).schema.n_levels.tolist() == [2]
    with value_error("missing columns SEX"):
        read_table(data, "acs")
    quoted = write(tmp_path / "c.csv", '"in a, b";"in c, d"\n1;2\n3;4\n')
    assert read_table(quoted).schema.names == ("in a, b", "in c, d")
    more = write(tmp_path / "b.csv", "id,area,w\n7,NA,b\n8,EU,a\n")
    level = Schema((Variable("w", ("a", "b")), Variable("area", ("NA", "EU"))))
    table = read_table(more, level, ignore_columns=True)
    assert table.codes.tolist() == [[1, 0], [0, 1]]
    assert table.notes == ("Columns left out: 'id'.",)


def test_load_samples_without_replacement_in_the_order_of_the_file(tmp_path):
    data = write(tmp_path / "a.csv", "\n".join(["v", *map(str, range(90))]))

    def sampled(seed, n):
        return load(str(data), rng=default_rng(seed), n_records=n)

    first = sampled(1, 40)
    assert len(first) == 40
    assert len(sampled(1, 90).notes) == 1
    assert (np.diff(first.codes[:, 0].astype(int)) > 0).all()
    assert first.notes[-1] == "A simple random sample of 40 of the 90 records."
    assert_array_equal(first.codes, sampled(1, 40).codes)
    assert (first.codes != sampled(2, 40).codes).any()
    assert load("", "acs", rng=RNG, n_records=5).schema is ACS


def test_an_enum_of_polars_declares_its_levels():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"job": ["a", "b"]}, {"job": polars.Enum(["c", "b", "a"])})
    (variable,) = Microdata.from_frame(frame).schema.variables
    assert variable.levels == ("c", "b", "a")
