"""Microdata for the synthesizers: tables of categorical records from files and elsewhere.

Text is read by the csv module: pyarrow.csv takes ``"a"b`` for ``ab`` in silence, keeps the marks of
a quotation after a space, and does not know at which line a record begins.
"""

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from itertools import batched, chain
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_list_like
from pyarrow import parquet

from srlib.checks import printable, repeated, require, shown
from srlib.data.acs import ACS, RAW_NAMES, download_acs, embedded_population, recode_acs
from srlib.data.declared import cut_numbers
from srlib.data.schema import Microdata, Schema

PAPER_VINTAGE = 2012
# What is read of a text file at most: a small compressed one may stand for more than fits.
MAX_CHARACTERS = 2_000_000_000
MAX_VALUES = 500_000_000  # of a Parquet file, likewise
_TYPED = {".parquet": pd.read_parquet, ".sav": pd.read_spss, ".dta": pd.read_stata}
_HINTS = {".parquet": f"; it may have {MAX_VALUES:,} values", ".sav": "; it takes pyreadstat"}

_CHUNK = 1 << 14  # records
_TO_UTF_8 = "save the file as UTF-8, as by iconv -f WINDOWS-1252 -t UTF-8"
_NO_TEXT = re.compile("[\0\udc80-\udcff]")  # what stands for bytes that are not UTF-8, and NUL

# A schema, its YAML file, or "acs"; None or "": recognized.
type Declared = str | Path | Schema | None
# The line that a record begins at, and its fields.
type Record = tuple[int, list[str]]


class Texts(NamedTuple):
    """The columns of a table by its lines or records, what is declared of them, and notes."""

    frame: pd.DataFrame
    schema: Schema | None
    notes: tuple[str, ...] = ()


def load(
    data: str | Path, schema: Declared = "", *, rng: np.random.Generator,
    n_records: int | None = None, **options: Any,
) -> Microdata:  # fmt: skip
    """Return the records of a notebook's ``data`` parameter.

    Parameters
    ----------
    data : str or Path
        ``""`` for the embedded population, ``"acs:YEAR:STATE"`` for a person file of the Census
        Bureau, or else the path of a file.
    schema : str, Path or Schema
        As of `read_table`, which also takes the options; a year is the vintage.
    rng : numpy.random.Generator
        Draws the population or the sample.
    n_records : int, optional
        Size of the population (10,000 where not given), or of a simple random sample in the file's
        order, where a file has more records.
    """
    require(n_records is None or n_records > 0, f"n_records is {n_records}; it must be 1 or more")
    known, source = declared(schema), str(data)
    if not source or source.startswith("acs:"):
        require(known in (None, ACS), f"schema must be '' or 'acs' where data is {source!r}")
    if not source:
        return embedded_population(n_records or 10_000, rng=rng)
    if source.startswith("acs:"):
        data, options["vintage"] = download_acs(source)
    table = read_table(data, known, **options)
    if n_records is None or len(table) <= n_records:
        return table
    rows = np.sort(rng.choice(len(table), n_records, replace=False))
    note = f"A simple random sample of {n_records:,} of the {len(table):,} records."
    return replace(table, codes=table.codes[rows], notes=(*table.notes, note))


def read_table(
    path: str | Path, schema: Declared = None, *, drop_missing: bool = False,
    ignore_columns: bool = False, vintage: int = PAPER_VINTAGE,
) -> Microdata:  # fmt: skip
    """Read a file of categorical records.

    Text is UTF-8 with a header, fields separated by commas, tabs, semicolons or ``|``; ``.gz`` is
    uncompressed, and of a ``.zip`` the one CSV file in it is read (the person file of a PUMS zip).
    Uncompressed it may have 2,000,000,000 characters. ``.parquet``, ``.dta`` and ``.sav`` are read
    with their types. Values are compared with the levels as text without spaces around it; see
    `Variable.codes_of` for "1.0" and other case. A file with the raw columns of an American
    Community Survey person file is recoded to the paper's Table 1 if ``schema`` is ``ACS`` or None.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : Schema, str or Path, optional
        The columns to read and their levels: a schema, the path of its YAML file (see
        `Schema.from_yaml`), or ``"acs"`` for the paper's Table 1; numbers that it does not cut are
        cut by this file. Where not given or ``""``, levels are the values that the file has.
    drop_missing : bool
        Whether records with a missing value are dropped; otherwise they are an error.
    ignore_columns : bool
        Whether columns that the schema does not name are left out; otherwise they are an error.
        Of a raw person file they are always left out.
    vintage : int
        Year of a raw person file, see `recode_acs`.

    Returns
    -------
    Microdata
        Codes, the schema that they have, and notes on what was recognized, recoded or left out.

    Raises
    ------
    ValueError
        The message names the file, the columns, the first lines (the header is line 1) and the
        values that are wrong.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     pd.DataFrame({"job": ["cook", "smith"], "sick": [0, 1]}).to_csv(file, index=False)
    ...     people = read_table(file)
    >>> people.codes.tolist(), people.schema.names
    ([[0, 0], [1, 1]], ('job', 'sick'))
    """
    texts = read_texts(path, schema, ignore_columns=ignore_columns, vintage=vintage)
    with named_errors(Path(path)):
        if texts.schema:
            known, notes = cut_numbers(texts.schema, texts.frame)
        else:
            known = Schema.from_frame(texts.frame, typed=False)
            notes = ("No schema was given: the levels are the values that the file has.",)
        table = Microdata.from_frame(texts.frame, known, drop_missing=drop_missing)
        return replace(table, notes=(*texts.notes, *notes, *table.notes))


def read_texts(
    path: str | Path, schema: Declared = None, *, ignore_columns: bool = False, vintage: int = 0
) -> Texts:
    """Read a file's columns as `read_table`, without coding them.

    Columns of text are Arrow dictionaries, with the lines that records begin at as the index; a
    file with types keeps its own, with labels where it has them, and records count from 1. A raw
    person file is recoded where the schema is ``ACS``, with a vintage also where none is.
    """
    known, notes = declared(schema), []
    with named_errors(path := Path(path)):
        if is_typed := path.suffix.lower() in _TYPED:
            frame = _typed(path)
            header = list(frame)
        else:
            records = _records(path)
            header = _names(next(records, (1, []))[1])
        raw = set(RAW_NAMES.values()) <= set(header) and "RACE1P" not in header
        raw = raw and (known == ACS or (known is None and vintage > 0))
        if known and not raw:
            known.check_columns(header, ignore_unknown=ignore_columns)
        wanted = list(RAW_NAMES.values() if raw else known.names if known else header)
        if ignored := shown(name for name in header if name not in wanted):
            notes.append(f"Columns left out: {ignored}.")
        frame = frame[wanted] if is_typed else _columns(records, header, wanted)
        if raw:
            n, known, vintage = len(frame), ACS, vintage or PAPER_VINTAGE
            frame = recode_acs(frame, vintage)
            told = f"A person file, recoded to Table 1 by the codes of vintage {vintage}; records"
            notes.append(f"{told} of persons below 18 left out: {n - len(frame):,} of {n:,}.")
        return Texts(frame, known, tuple(notes))


def declared(schema: Declared) -> Schema | None:
    """Return the schema that an argument stands for, None where one is to be recognized."""
    if isinstance(schema, Schema):
        return schema
    if schema == "acs":
        return ACS
    return Schema.from_yaml(schema) if schema else None


def _typed(path: Path) -> pd.DataFrame:
    """Read a file with types; errors of its reader may quote values, and are not passed on."""
    suffix = path.suffix.lower()
    try:
        about = parquet.read_metadata(path) if suffix == ".parquet" else None
        if about and about.num_rows * about.num_columns > MAX_VALUES:
            raise OverflowError
        frame = _TYPED[suffix](path)
    except Exception as error:  # each reader has its own kinds
        told = f"it cannot be read as a {suffix} file ({type(error).__name__})"
        raise ValueError(told + _HINTS.get(suffix, "")) from None
    frame.columns = pd.Index(_names(map(str, frame.columns)))
    objects = frame.columns[frame.dtypes.eq(object)]
    nested = [name for name in objects if frame[name].map(is_list_like).any()]
    require(not nested, f"columns {shown(nested)} hold lists; a value is one number or text")
    require(len(frame), "the file has no records")
    return frame.set_index(pd.RangeIndex(1, len(frame) + 1, name="record"))


def _columns(records: Iterator[Record], header: list[str], wanted: list[str]) -> pd.DataFrame:
    """Read columns of the records behind a header."""
    parts, lines, n = [], list[int](), len(header)
    for chunk in batched(records, _CHUNK):
        bad = [f"line {line} has {len(row)}" for line, row in chunk if len(row) != n]
        told = "; ".join(bad[:5]) + "; and more" * (len(bad) > 5)
        require(not bad, f"records must have {n} fields like the header: {told}")
        lines += [line for line, _ in chunk]
        texts = dict(zip(header, zip(*(row for _, row in chunk), strict=True), strict=True))
        arrays = {name: pa.array(texts[name], pa.string()).dictionary_encode() for name in wanted}
        parts.append(pa.table(arrays))
    require(lines, "the file has a header and no records")
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame.set_index(pd.Index(lines, name="line"))


def _records(path: Path) -> Iterator[Record]:
    """Yield the header and all records of a text file, but no blank lines."""
    lines = _lines(path)
    first = next(lines, "")
    mark = max(",\t;|", key=re.sub('"[^"]*"', "", first).count)  # the first where there is none
    lines, line = chain([first], lines), 1
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t", strict=True)
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"the record at line {line} is not CSV: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; ValueError where they are no text, or more than can be meant."""
    # newline="" leaves line ends within quotes to the csv module; -sig skips a byte order mark.
    escape, left, number = "surrogateescape", MAX_CHARACTERS, 0
    with _opened(path) as binary, TextIOWrapper(binary, "utf-8-sig", escape, newline="") as file:
        while line := file.readline(left + 1):
            left, number = left - len(line), number + 1
            if left < 0:
                raise ValueError(f"the file has more than {MAX_CHARACTERS:,} characters; split it")
            if "\0" in line or (not line.isascii() and _NO_TEXT.search(line)):
                raise ValueError(f"line {number} is not UTF-8 text; {_TO_UTF_8}")
            yield line


def _opened(path: Path) -> IO[bytes]:
    """Open a file, what a compressed one holds, or the one table of an archive."""
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path))
    if path.suffix.lower() != ".zip":
        return path.open("rb")
    archive = zipfile.ZipFile(path)
    tables = [name for name in archive.namelist() if name.lower().endswith(".csv")]
    # The person files of the Census Bureau are ss12pnc.csv, and psam_p37.csv from 2017.
    tables = [name for name in tables if name.lower().startswith(("ss", "psam"))] or tables
    require(len(tables) == 1, f"the zip must have one CSV file; it has {shown(tables) or 'none'}")
    return archive.open(tables[0])


def _names(fields: Iterable[str]) -> list[str]:
    """Return the names of a file's columns; one without a name is called by its place."""
    header = [name.strip() for name in fields]
    require(any(header), "the file is empty, or its header has no column names")
    header = [name or f"column {i}" for i, name in enumerate(header, start=1)]
    require(not (again := repeated(header)), f"duplicate column names {shown(again)}")
    return header


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Let errors of reading a file name it, and say nothing of what it holds."""
    name = printable(path)
    require(path.is_file() or not path.exists(), f"{name}: it is not a regular file")
    try:
        yield
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        raise ValueError(f"{name}: the compressed file is damaged or has a password") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
