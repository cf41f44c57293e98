"""Read microdata: tables of categorical records from files and elsewhere.

Text is read by the csv module: pyarrow.csv silently reads ``"a"b`` as ``ab``, keeps
quotation marks after a space, and does not know at which line a record begins.
"""

import csv
import gzip
import re
import zipfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import TextIOWrapper
from itertools import batched, chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from srlib.arrays import Generator
from srlib.checks import duplicates, listed, printable, quoted
from srlib.data.acs import (
    ACS,
    DAMAGED,
    RAW_NAMES,
    download_acs,
    embedded_population,
    recode_acs,
)
from srlib.data.infer import bin_numbers
from srlib.data.notation import harmonize_notation
from srlib.data.schema import Microdata, Schema
from srlib.data.size_limits import (
    MAX_BYTES,
    READERS,
    check_width,
    read_typed,
    typed_columns,
)

PAPER_VINTAGE = 2012
# Limits of a text file, uncompressed: a small compressed file may hold more than fits.
MAX_TEXT = 2_000_000_000  # bytes
MAX_LINE = 10_000_000  # characters
MAX_VALUES = MAX_BYTES // 8  # that are kept

_CHUNK = 1 << 14  # records
_SEPARATORS = ",\t;|"  # of fields
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
# Surrogates of bytes that are not UTF-8, and NUL.
_NO_TEXT = re.compile("[\0\udc80-\udcff]")

# A schema, its YAML file, or "acs"; None or "": inferred.
type SchemaSource = str | Path | Schema | None
# The line that a record begins at, and its fields.
type Record = tuple[int, list[str]]


class UncodedTable(NamedTuple):
    """The columns of a table as read, with their declared schema and notes.

    `left_out` has the table's columns that a schema or a user leaves out.
    """

    frame: pd.DataFrame
    schema: Schema | None
    notes: tuple[str, ...]
    left_out: Mapping[str, pd.Series]


def load(
    data: str | Path,
    schema: SchemaSource = "",
    *,
    rng: Generator,
    n_records: int | None = None,
    **options: Any,
) -> Microdata:
    """Return the records of a notebook's ``data`` parameter.

    Parameters
    ----------
    data : str or Path
        ``""`` for the embedded population, ``"acs:YEAR:STATE"`` for a person file of
        the Census Bureau, or else the path of a file.
    schema : str, Path or Schema
        As for `read_table`, which also takes the options; a year is the vintage.
    rng : numpy.random.Generator
        Draws the population or the sample.
    n_records : int, optional
        Size of the population (default: 10,000), or of a simple random sample in the
        file's order if a file has more records.
    """
    if n_records is not None and n_records < 1:
        raise ValueError(f"n_records is {n_records}; it must be 1 or more")
    declared = load_schema(schema)
    source = str(data)
    is_survey = source.startswith("acs:")
    if (is_survey or not source) and declared not in (None, ACS):
        raise ValueError(f"schema must be '' or 'acs' if data is {source!r}")
    if not source:
        return embedded_population(n_records or 10_000, rng=rng)
    if is_survey:
        data, options["vintage"] = download_acs(source)
    table = read_table(data, declared, **options)
    if n_records is None or len(table) <= n_records:
        return table
    rows = np.sort(rng.choice(len(table), n_records, replace=False))
    note = f"A simple random sample of {n_records:,} of the {len(table):,} records."
    return replace(table, codes=table.codes[rows], notes=(*table.notes, note))


def read_table(
    path: str | Path,
    schema: SchemaSource = None,
    *,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Microdata:
    """Read a file of categorical records.

    Text files are UTF-8 with a header; fields are separated by commas, tabs, semicolons
    or ``|``. A ``.gz`` file is uncompressed. A ``.zip`` must contain one CSV file (or
    the person file of a PUMS zip). The limit is 2,000,000,000 characters, uncompressed.
    ``.parquet``, ``.dta`` and ``.sav`` files are read with their types; the limit is
    2,000,000,000 bytes, decoded, with 8 or more per value. A file may have 5,000
    columns. If fields are separated by tabs or semicolons, numbers may have decimal
    commas. Dates are numbers of days. Values are compared with the levels as text,
    without surrounding spaces; see `Variable.codes_of` for "1.0" and other case. A file
    with the raw columns of an American Community Survey person file is recoded to the
    paper's Table 1 if ``schema`` is ``ACS`` or None.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : Schema, str or Path, optional
        The columns to read and their levels: a schema, the path of its YAML file (see
        `Schema.from_yaml`), or ``"acs"`` for the paper's Table 1; its ``bins`` are
        formed near this file's quantiles. If not given or ``""``, levels are taken from
        the file.
    drop_missing : bool
        Whether records with a missing value are dropped; otherwise they are an error.
    ignore_columns : bool
        Whether columns that the schema does not name are left out; otherwise they are
        an error. In a raw person file they are always left out.
    vintage : int
        Year of a raw person file, see `recode_acs`.

    Returns
    -------
    Microdata
        Codes, their schema, and notes on what was inferred, recoded or left out.

    Raises
    ------
    ValueError
        The message names the file, the columns, and the first lines (the header is line
        1) with their wrong values.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     jobs = pd.DataFrame({"job": ["cook", "smith"], "sick": [0, 1]})
    ...     jobs.to_csv(file, index=False)
    ...     people = read_table(file)
    >>> people.codes.tolist(), people.schema.names
    ([[0, 0], [1, 1]], ('job', 'sick'))
    """
    texts = read_uncoded(path, schema, ignore_columns=ignore_columns, vintage=vintage)
    with named_errors(path):
        if texts.schema:
            complete, notes = bin_numbers(texts.schema, texts.frame)
        else:
            complete = Schema.from_frame(texts.frame, typed=False)
            notes = ["No schema was given: levels are taken from the file."]
        table = Microdata.from_frame(texts.frame, complete, drop_missing=drop_missing)
        return replace(table, notes=(*texts.notes, *notes, *table.notes))


def read_uncoded(
    path: str | Path,
    schema: SchemaSource = None,
    *,
    ignore_columns: bool = False,
    vintage: int = 0,
    leave_out: Collection[str] = (),
) -> UncodedTable:
    """Read a file's columns like `read_table`, without coding them.

    Columns of text are Arrow dictionaries; their index has the line at which each
    record begins. A file with types keeps these, with labels if it has them, and
    records count from 1. A raw person file is recoded if the schema is ``ACS``, or if a
    vintage and no schema is given. Columns to leave out may be absent.
    """
    declared, left_out = exclude_columns(load_schema(schema), leave_out)
    with named_errors(path):
        header, read, decimal_comma = _open_table(Path(path))
        wanted, vintage = _wanted_columns(
            header, declared, left_out, ignore_columns, vintage
        )
        excluded = [name for name in header if name in left_out]
        columns = read(list(dict.fromkeys(wanted + excluded)))
        frame = columns[wanted]
        ignored = quoted(name for name in header if name not in wanted)
        notes = [f"Columns left out: {ignored}."] if ignored else []
        if vintage:
            declared = declared or ACS
            frame = recode_acs(frame, vintage)[list(declared.names)]
            n = len(columns)
            notes.append(
                "A person file, recoded to Table 1 with the codes of vintage "
                f"{vintage}; records of persons under 18 left out: "
                f"{n - len(frame):,} of {n:,}."
            )
        frame, more = harmonize_notation(frame, declared, decimal_comma=decimal_comma)
        apart = dict(columns.loc[frame.index, excluded])
        return UncodedTable(frame, declared, (*notes, *more), apart)


def _wanted_columns(
    header: list[str],
    declared: Schema | None,
    left_out: Collection[str],
    ignore_columns: bool,
    vintage: int,
) -> tuple[list[str], int]:
    """Return the columns to read, and the vintage of raw ones of the survey, else 0.

    They are a schema's, or all that are not left out.
    """
    raw = list(RAW_NAMES.values())
    is_survey = {*declared.variables} <= {*ACS.variables} if declared else vintage > 0
    if is_survey and "RACE1P" not in header and {*raw} <= {*header}:
        return raw, vintage or PAPER_VINTAGE
    if declared:
        declared.check_columns(header, ignore_unknown=ignore_columns)
        return list(declared.names), 0
    return [name for name in header if name not in left_out], 0


def exclude_columns(
    schema: Schema | None,
    leave_out: Collection[str],
) -> tuple[Schema | None, list[str]]:
    """Return the schema of the columns that are kept, and the names of all others."""
    if schema is None:
        return None, list(leave_out)
    left_out = list(dict.fromkeys([*leave_out, *schema.leave_out]))
    variables = tuple(v for v in schema.variables if v.name not in left_out)
    return Schema(variables, tuple(left_out)) if variables else None, left_out


def check_leave_out(leave_out: Iterable[str], tables: Iterable[UncodedTable]) -> None:
    """Raise a ValueError if ``leave_out`` names columns that no table has."""
    present = set(chain.from_iterable(table.left_out for table in tables))
    if lacking := [name for name in leave_out if name not in present]:
        raise ValueError(
            f"leave_out names {quoted(lacking)}, but no file has such a column"
        )


# What the readers raise for a file that is none of their kind, or damaged.
_UNREADABLE = (*DAMAGED, ValueError, OSError, RuntimeError, StopIteration)


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns; none if its header cannot be read."""
    try:
        if path.suffix.lower() in READERS:
            names = list(typed_columns(path))
        else:
            _, records = _records(path)
            _, names = next(records)
    except _UNREADABLE:
        return ()
    return tuple(map(str.strip, names))


def load_schema(schema: SchemaSource) -> Schema | None:
    """Return the schema that an argument names; None if it is to be inferred."""
    if isinstance(schema, Schema):
        return schema
    if schema == "acs":
        return ACS
    return Schema.from_yaml(schema) if schema else None


def _open_table(
    path: Path,
) -> tuple[list[str], Callable[[list[str]], pd.DataFrame], bool]:
    """Return a file's header, its reader, and whether commas may be decimal marks."""
    if path.suffix.lower() not in READERS:
        mark, records = _records(path)
        header = _names(next(records, (1, []))[1])
        return header, partial(_read_columns, records, header), mark in ";\t"
    frame = read_typed(path)
    header = _names(map(str, frame.columns))
    if frame.empty:
        raise ValueError("the file has no records")
    frame.columns = header
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="record")
    return header, frame.__getitem__, False


def _read_columns(
    records: Iterator[Record],
    header: list[str],
    wanted: list[str],
) -> pd.DataFrame:
    """Read the wanted columns of the records."""
    parts = []
    lines = array("q")
    for chunk in batched(records, _CHUNK):
        _check_fields(chunk, len(header))
        line_numbers, fields = zip(*chunk, strict=True)
        lines.extend(line_numbers)
        if len(lines) * len(wanted) > MAX_VALUES:
            raise ValueError(
                f"the columns kept have more than {MAX_VALUES:,} values; split the file"
            )
        texts = dict(zip(header, zip(*fields, strict=True), strict=True))
        arrays = {
            name: pa.array(texts[name], pa.string()).dictionary_encode()
            for name in wanted
        }
        parts.append(pa.table(arrays))
    if not parts:
        raise ValueError("the file has a header but no records")
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame.set_index(pd.Index(lines, name="line"))


def _check_fields(records: Sequence[Record], n_fields: int) -> None:
    """Raise a ValueError unless each record has ``n_fields`` fields."""
    wrong = [f"line {i} has {len(f)}" for i, f in records if len(f) != n_fields]
    if wrong:
        raise ValueError(
            f"every record must have {n_fields} fields, like the header: "
            f"{listed(wrong, 5, str)}"
        )


def _records(path: Path) -> tuple[str, Iterator[Record]]:
    """Return the separator of a text file's fields, and its header and records."""
    lines = _lines(path)
    first = next(lines, "")
    unquoted = re.sub('"[^"]*"', "", first)
    mark = max(_SEPARATORS, key=unquoted.count)  # the first if there is none
    check_width(unquoted.count(mark) + 1)
    return mark, _parsed(chain([first], lines), mark)


def _parsed(lines: Iterator[str], mark: str) -> Iterator[Record]:
    """Yield the first line and the fields of each record that is not blank."""
    line = 1
    reader = csv.reader(
        lines,
        delimiter=mark,
        skipinitialspace=mark != "\t",
        strict=True,
    )
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {line} is not valid CSV: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; a ValueError says if it is too large or not text."""
    too_large = ValueError(f"the file has more than {MAX_TEXT:,} bytes; split it")
    n_left = MAX_TEXT
    number = 0
    # newline="" leaves line ends within quotes to the csv module; -sig skips a byte
    # order mark.
    binary, n_bytes = _opened(path)
    with TextIOWrapper(binary, "utf-8-sig", "surrogateescape", newline="") as file:
        if n_bytes > MAX_TEXT:
            raise too_large
        while line := file.readline(min(n_left, MAX_LINE) + 1):
            n_left -= len(line)
            number += 1
            if n_left < 0:
                raise too_large
            if len(line) > MAX_LINE:
                raise ValueError(f"line {number} has more than {MAX_LINE:,} characters")
            if "\0" in line or (not line.isascii() and _NO_TEXT.search(line)):
                raise ValueError(
                    f"line {number} is not UTF-8 text. Save a text file as UTF-8, "
                    "e.g. with iconv -f WINDOWS-1252 -t UTF-8; other files must be "
                    ".parquet, .dta or .sav"
                )
            yield line


def _opened(path: Path) -> tuple[IO[bytes] | gzip.GzipFile, int]:
    """Open a file, or the one table of an archive; return its stated size in bytes."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        name = _table_of(archive.namelist())
        return archive.open(name), archive.getinfo(name).file_size
    n_bytes = path.stat().st_size
    file = path.open("rb")
    if suffix != ".gz":
        return file, n_bytes
    with file:
        file.seek(max(0, n_bytes - 4))
        # That of the last part, if there are several.
        return gzip.GzipFile(path), int.from_bytes(file.read(4), "little")


def _table_of(names: Iterable[str]) -> str:
    """Return the name of the one table among the files of an archive."""
    tables = [name for name in names if name.lower().endswith(".csv")]
    # The person files of the Census Bureau are ss12pnc.csv, and psam_p37.csv from 2017.
    persons = [name for name in tables if name.lower().startswith(("ss", "psam"))]
    tables = persons or tables
    if len(tables) != 1:
        raise ValueError(
            f"the zip must have one CSV file; it has {quoted(tables) or 'none'}"
        )
    return tables[0]


def _names(fields: Iterable[str]) -> list[str]:
    """Return the names of a file's columns, by position where one has no name."""
    header = list(map(str.strip, fields))
    if not any(header):
        raise ValueError("the file is empty, or its header has no column names")
    header = [name or f"column {i}" for i, name in enumerate(header, 1)]
    if repeated := duplicates(header):
        raise ValueError(f"duplicate column names {quoted(repeated)}")
    if unsafe := [name for name in header if _CONTROL.search(name)]:
        raise ValueError(
            f"column names {quoted(unsafe)} contain control characters; rename them"
        )
    return header


@contextmanager
def named_errors(path: str | Path) -> Iterator[None]:
    """Name the file in errors of reading it, without showing its contents."""
    path = Path(path)
    name = printable(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{name}: this is not a regular file")
    try:
        yield
    except (*DAMAGED, gzip.BadGzipFile, RuntimeError):
        raise ValueError(
            f"{name}: the compressed file is damaged or password-protected"
        ) from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
