"""Microdata for the synthesizers: tables of categorical records from files and elsewhere."""

import csv
import gzip
import zipfile
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from itertools import count, islice
from pathlib import Path
from typing import IO, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.acs import (
    ACS,
    RAW_NAMES,
    download_acs,
    embedded_population,
    is_raw,
    parse_acs,
    recode_acs,
)
from srlib.data.schema import Microdata, Schema, Variable, repeated, shown

__all__ = [
    "ACS",
    "Microdata",
    "Schema",
    "Variable",
    "embedded_population",
    "load",
    "read_table",
    "recode_acs",
    "schema_of",
]

PAPER_VINTAGE = 2012
POPULATION_SIZE = 10_000
_CHUNK = 1 << 16
# A small compressed file may stand for more than any memory holds.
MAX_LINE = 10_000_000
MAX_LINES = 100_000_000
MAX_CHARACTERS = 20_000_000_000
MAX_RATIO = 200  # characters a byte; tables of records, sorted ones apart, have 5 to 60
_PLAUSIBLE = 10_000_000  # characters of any compressed file
_SHOWN = 5


def load(
    data: str | Path,
    schema: str | Path | Schema = "",
    *,
    rng: np.random.Generator | None = None,
    n_records: int | None = None,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Microdata:
    """Return the records of a notebook's ``data`` parameter.

    Parameters
    ----------
    data : str or Path
        ``""`` for the embedded population, ``"acs:YEAR:STATE"`` for a person file of the Census
        Bureau, or else the path of a file, see `read_table`.
    schema : str, Path or Schema
        See `read_table`.
    rng : numpy.random.Generator, optional
        Draws the population or the sample; needed only where one is drawn.
    n_records : int, optional
        Size of the population (10,000 where not given), or of the simple random sample that is
        taken from a file with more records; all of a file's where not given.
    drop_missing, ignore_columns : bool
        See `read_table`.
    vintage : int
        Year of a raw person file that is given by its path.

    Returns
    -------
    Microdata
        Sampled records keep the order of the file.

    Raises
    ------
    ValueError
        For what `read_table` and `download_acs` refuse, ``n_records`` below 1, another schema
        than Table 1 for data that have it, or no ``rng`` where one is needed.
    FileNotFoundError
        If ``data`` is none of the three.
    """
    if n_records is not None and n_records < 1:
        raise ValueError(f"n_records is {n_records}; it must be at least 1")
    declared = _declared(data, schema)
    source = str(data)
    if not source:
        return embedded_population(n_records or POPULATION_SIZE, rng=_needed(rng))
    if source.startswith("acs:"):
        vintage, state = parse_acs(source)
        data = download_acs(vintage, state)
    table = read_table(
        data, declared, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
    )
    n = len(table.codes)
    if n_records is None or n <= n_records:
        return table
    rows = np.sort(_needed(rng).choice(n, n_records, replace=False))
    note = f"A simple random sample of {n_records:,} of the {n:,} records."
    lines = None if table.lines is None else table.lines[rows]
    return replace(table, codes=table.codes[rows], notes=(*table.notes, note), lines=lines)


def _needed(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        raise ValueError("rng is None; a population or a sample is drawn with a Generator")
    return rng


def read_table(
    path: str | Path,
    schema: str | Path | Schema | None = None,
    *,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Microdata:
    """Read a CSV file of categorical records.

    The file is UTF-8 text with a header, fields separated by commas; ``.gz`` is uncompressed, and
    of a ``.zip`` the one CSV file in it is read (the person file of a PUMS zip). Uncompressed it
    may have `MAX_LINES` lines of `MAX_LINE` characters, `MAX_CHARACTERS` in all and, beyond some
    ten million, `MAX_RATIO` for each byte of a compressed file. Values are
    compared with the levels as text without spaces around it; see `Variable.codes_of` for "1.0".
    A file with the raw columns of an American Community Survey person file is recoded to the
    paper's Table 1 if ``schema`` is ``ACS`` or None.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : Schema, str or Path, optional
        The columns to read and their levels: a schema, the path of its YAML file (see
        `Schema.from_yaml`), or ``"acs"`` for the paper's Table 1. Where not given or ``""``, that
        one if the file has its columns, and otherwise inferred, see `Schema.infer`.
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
        Codes, the schema that they have, and notes on all that was not taken as it stands.

    Raises
    ------
    ValueError
        For what is no regular file, as a folder or a pipe; a file that is empty, too large, not
        UTF-8, not CSV or without records; repeated, missing or
        unknown columns; records with too few or too many fields; values outside the levels;
        missing values; columns that do not look categorical. The message names the file, the
        columns, the first lines (the header is line 1) and the values.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     pd.DataFrame({"job": ["cook", "smith"], "sick": [0, 1]}).to_csv(file, index=False)
    ...     people = read_table(file)
    >>> len(people), people.schema.names, people.lines.tolist()
    (2, ('job', 'sick'), [2, 3])
    """
    path, schema = Path(path), _schema(schema)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: it is not a regular file")
    try:
        return _read(path, schema, drop_missing, ignore_columns, vintage)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: line {_undecodable_line(path)} is not UTF-8 text") from None
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: the compressed file is damaged: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def schema_of(
    data: str | Path,
    schema: str | Path | Schema = "",
    *,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Schema:
    """Return the schema of the records that `load` would return.

    A file is read and checked for it; nothing is drawn or downloaded.

    Parameters
    ----------
    data, schema, drop_missing, ignore_columns, vintage
        See `load`.

    Raises
    ------
    ValueError, FileNotFoundError
        As `load`.
    """
    declared = _declared(data, schema)
    source = str(data)
    if source.startswith("acs:"):
        parse_acs(source)
    if not source or source.startswith("acs:"):
        return ACS
    return read_table(
        data, declared, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
    ).schema


def _schema(schema: str | Path | Schema | None) -> Schema | None:
    """Return the schema that an argument stands for, None where one is to be recognized."""
    if schema is None or schema == "":
        return None
    if isinstance(schema, Schema):
        return schema
    return ACS if schema == "acs" else Schema.from_yaml(schema)


def _declared(data: str | Path, schema: str | Path | Schema) -> Schema | None:
    """Return the schema that is declared for data, which may be read with it if it exists."""
    declared = _schema(schema)
    source = str(data)
    if not source or source.startswith("acs:"):
        if declared not in (None, ACS):
            raise ValueError(
                f"schema is {str(schema)!r}; for data = {source!r} it must be '' or 'acs'"
            )
    elif not Path(data).exists():
        raise FileNotFoundError(
            f"data is {source!r}: there is no such file; allowed are '' for the embedded "
            "population, acs:YEAR:STATE, or the path of a file"
        )
    return declared


def _read(
    path: Path, schema: Schema | None, drop_missing: bool, ignore_columns: bool, vintage: int
) -> Microdata:
    header = _read_header(path)
    notes = []
    raw = schema in (None, ACS) and is_raw(header)
    columns: Collection[str] = header
    if raw:
        columns = RAW_NAMES.values()
    else:
        if schema is None and set(ACS.names) <= set(header):
            schema = ACS
            notes.append("Recognized by its columns as American Community Survey data, recoded.")
        if schema is not None:
            schema.check_columns(header, ignore_unknown=ignore_columns)
            columns = schema.names
    if ignored := [name for name in header if name not in columns]:
        notes.append(f"Columns left out: {shown(ignored)}.")

    frame, n_blank = _read_columns(path, header, columns)
    if n_blank:
        notes.append(f"Blank lines left out: {n_blank:,}.")
    if raw:
        n_persons = len(frame)
        frame, schema = recode_acs(frame, vintage), ACS
        notes.append(
            f"Recognized as an American Community Survey person file and recoded to Table 1 of "
            f"Hu, Reiter and Wang (2014) by the codes of vintage {vintage}; records of persons "
            f"below 18 left out: {n_persons - len(frame):,} of {n_persons:,}."
        )
    elif schema is None:
        schema = Schema.infer(frame)
        notes.append("No schema was given: the levels are the values that the file has.")

    codes, kept, more = schema.encode_complete(frame, drop_missing=drop_missing)
    if not kept.any():
        raise ValueError(f"no record is left. {' '.join([*notes, *more])}")
    lines, n_dropped = frame.index.to_numpy(np.int64)[kept], len(frame) - len(codes)
    return Microdata(codes, schema, (*notes, *more), lines, n_dropped)


def _read_header(path: Path) -> list[str]:
    with _open_text(path) as file:
        _, fields = next(_records(file, _most_characters(path)), (1, []))
    header = [name.strip() for name in fields]
    if not any(header):
        raise ValueError("the file is empty" if not header else "the header has no column names")
    if len(header) == 1 and (other := [c for c in ";\t|" if c in header[0]]):
        raise ValueError(f"fields seem to be separated by {other[0]!r}; they must be by commas")
    if again := repeated(header):
        raise ValueError(f"duplicate column names {shown(again)}")
    return header


def _read_columns(
    path: Path, header: Sequence[str], columns: Collection[str]
) -> tuple[pd.DataFrame, int]:
    """Read columns as categoricals of text, with line numbers as the index; count blank lines."""
    # One dictionary a column gives each new text the next integer, and no text is kept twice.
    ids: dict[str, defaultdict[str, int]] = {c: defaultdict(count().__next__) for c in columns}
    chunks: dict[str, list[NDArray[np.int32]]] = {column: [] for column in columns}
    lines, ragged, n_ragged, n_blank = array("q"), [], 0, 0
    with _open_text(path) as file:
        records = _records(file, _most_characters(path))
        next(records)
        while chunk := list(islice(records, _CHUNK)):
            rows = []
            for line, fields in chunk:
                if len(fields) == len(header):
                    rows.append(fields)
                    lines.append(line)
                elif fields:
                    n_ragged += 1
                    if n_ragged <= _SHOWN:
                        ragged.append(f"line {line} has {len(fields)}")
                else:
                    n_blank += 1
            for name, values in zip(header, zip(*rows, strict=True), strict=False):
                if name in ids:
                    codes = map(ids[name].__getitem__, values)
                    chunks[name].append(np.fromiter(codes, np.int32, len(rows)))
    if ragged:
        raise ValueError(
            f"records must have {len(header)} fields like the header: {'; '.join(ragged)}"
            + (f"; and {n_ragged - _SHOWN:,} more lines" if n_ragged > _SHOWN else "")
        )
    if not lines:
        raise ValueError("the file has a header and no records")
    index = pd.Index(np.frombuffer(lines, np.int64), name="line")
    return (
        pd.DataFrame(
            {
                name: pd.Categorical.from_codes(np.concatenate(chunks[name]), list(ids[name]))
                for name in columns
            },
            index=index,
        ),
        n_blank,
    )


def _most_characters(path: Path) -> int:
    """Return how many characters may come of a file."""
    if path.suffix.lower() not in (".gz", ".zip"):
        return MAX_CHARACTERS
    return min(MAX_CHARACTERS, max(_PLAUSIBLE, MAX_RATIO * path.stat().st_size))


def _records(file: IO[str], most: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each record begins at, and its fields."""
    reader = csv.reader(_bounded_lines(file, most), strict=True, skipinitialspace=True)
    line = 1
    try:
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"the record at line {line} is not CSV: {error}") from None


def _bounded_lines(file: IO[str], most: int) -> Iterator[str]:
    """Yield the lines of a file; ValueError where it is larger than can be meant."""
    n_characters = number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        n_characters += len(line)
        if len(line) > MAX_LINE:
            raise ValueError(f"line {number} is longer than {MAX_LINE:,} characters")
        if number > MAX_LINES:
            raise ValueError(f"the file has more than {MAX_LINES:,} lines")
        if n_characters > most:
            hint = "" if most == MAX_CHARACTERS else "; uncompress it if that is what it holds"
            raise ValueError(f"the file has more than {most:,} characters{hint}")
        yield line


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    # newline="" leaves line ends within quotes to the csv module; -sig skips a byte order mark.
    with (
        _open_binary(path) as binary,
        TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text,
    ):
        yield text


@contextmanager
def _open_binary(path: Path) -> Iterator[IO[bytes]]:
    match path.suffix.lower():
        case ".gz":
            with gzip.open(path) as file:
                yield cast(IO[bytes], file)
        case ".zip":
            with (
                zipfile.ZipFile(path) as archive,
                archive.open(_csv_member(archive.namelist())) as member,
            ):
                yield member
        case _:
            with path.open("rb") as file:
                yield file


def _csv_member(names: Sequence[str]) -> str:
    tables = [name for name in names if name.lower().endswith(".csv")]
    # The person files of the Census Bureau are ss12pnc.csv, and psam_p37.csv from 2017.
    found = [name for name in tables if name.lower().startswith(("ss", "psam"))] or tables
    if len(found) != 1:
        raise ValueError(f"the zip must have one CSV file; it has {shown(found) or 'none'}")
    return found[0]


def _undecodable_line(path: Path) -> int:
    number = 1
    with _open_binary(path) as file:
        while line := file.readline(MAX_LINE):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
            number += line.endswith(b"\n")
    raise AssertionError("every line of the file is UTF-8")
