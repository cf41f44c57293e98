"""Files of microdata, read into columns of text or of what a file with types has."""

import csv
import gzip
import importlib
import zipfile
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.schema import repeated, shown

DELIMITERS = ",\t;|"
"""What may separate the fields of a text file: the one of which its header has most."""

_CHUNK = 1 << 16
# A small compressed file may stand for more than any memory holds.
MAX_LINE = 10_000_000
MAX_LINES = 100_000_000
MAX_CHARACTERS = 20_000_000_000
MAX_RATIO = 200  # characters a byte; tables of records, sorted ones apart, have 5 to 60
_PLAUSIBLE = 10_000_000  # characters of any compressed file
_SHOWN = 5
# What reads files with types, by how their names end.
_TYPED = {".parquet": "pyarrow", ".sav": "pyreadstat", ".dta": ""}
_TEXT = (".csv", ".tsv", ".txt", ".gz", ".zip")


def is_typed(path: Path) -> bool:
    """Say whether a file has types, and not only text, by how its name ends."""
    return path.suffix.lower() in _TYPED


def tables_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the data files of a folder in the order of their names, and names of hidden ones.

    Raises
    ------
    ValueError
        If there is no data file, or anything else that is not hidden: a table that is passed over
        in silence would be missed by nobody.
    """
    everything = sorted(folder.iterdir())
    hidden = [path.name for path in everything if path.name.startswith(".")]
    seen = [path for path in everything if path.name not in hidden]
    endings = (*_TEXT, *_TYPED)
    data = [path for path in seen if path.is_file() and path.suffix.lower() in endings]
    if others := [path.name + "/" * path.is_dir() for path in seen if path not in data]:
        raise ValueError(
            f"{folder}: {', '.join(others)} cannot be read as a table; a folder of releases has "
            f"files whose names end in {', '.join(endings)}, and hidden ones"
        )
    if not data:
        raise ValueError(
            f"{folder}: the folder has no files{' but hidden ones' if hidden else ''}; it must "
            "have one release or more"
        )
    return data, hidden


def header_of(path: Path) -> list[str]:
    """Return the names of a file's columns; one without a name is called by its place.

    Raises
    ------
    ValueError
        If there are none, or one stands twice; as `columns_of`.
    """
    if is_typed(path):
        header = [str(name) for name in _typed(path).columns]
    else:
        with _open_text(path) as file:
            _, fields = next(_records(file, _most_characters(path)), (1, []))
        header = [name.strip() for name in fields]
    if not any(header):
        raise ValueError("the file is empty" if not header else "the header has no column names")
    header = [name or f"column {i}" for i, name in enumerate(header, start=1)]
    if again := repeated(header):
        raise ValueError(f"duplicate column names {shown(again)}")
    return header


def columns_of(
    path: Path, header: Sequence[str], columns: Collection[str]
) -> tuple[pd.DataFrame, int]:
    """Read columns of a file.

    Parameters
    ----------
    path : Path
        Text, compressed or not, or a Parquet, Stata or SPSS file.
    header : sequence of str
        As `header_of` returns.
    columns : collection of str
        Those that are read.

    Returns
    -------
    frame : DataFrame
        Of a text file, categoricals of text with the lines that records begin at as the index; of
        one with types its own, with labels where it has them, and numbers of records from 1.
    n_blank : int
        Lines left out because they are blank.

    Raises
    ------
    ValueError
        For records with too few or too many fields, none, or what its reader refuses.
    """
    if not is_typed(path):
        return _columns_of_text(path, header, columns)
    frame = _typed(path, list(columns))
    if not len(frame):
        raise ValueError("the file has no records")
    return frame.set_index(pd.RangeIndex(1, len(frame) + 1, name="record")), 0


def read_columns(path: Path) -> pd.DataFrame:
    """Read all columns of a file, as `columns_of`; errors name it."""
    with named_errors(path):
        header = header_of(path)
        return columns_of(path, header, header)[0]


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Let errors of reading a file name it, and the line that is no text."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: it is not a regular file")
    try:
        yield
    except UnicodeDecodeError:
        line = _undecodable_line(path)
        raise ValueError(
            f"{path}: line {line} is not UTF-8 text; a file in another encoding must be saved as "
            "UTF-8, as by iconv -f WINDOWS-1252 -t UTF-8"
        ) from None
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: the compressed file is damaged: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _typed(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Read a file with types; of its names alone where no columns are given."""
    suffix = path.suffix.lower()
    if package := _TYPED[suffix]:
        try:
            importlib.import_module(package)
        except ImportError:
            raise ValueError(
                f"{suffix} files are read by the package {package}, which is not installed: "
                "pip install 'srlib[files]'"
            ) from None
    try:
        if suffix == ".parquet":
            return pd.read_parquet(path, columns=columns)
        if suffix == ".sav":
            return pd.read_spss(path, usecols=columns)
        return pd.read_stata(path, columns=columns, convert_missing=False)
    except Exception as error:  # each reader has its own kinds
        raise ValueError(f"it cannot be read as a {suffix} file: {error}") from None


def _columns_of_text(
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
    lines = _bounded_lines(file, most)
    first = next(lines, "")
    separator = max(DELIMITERS, key=first.count)  # the first of these where there is none
    lines = chain([first] if first else [], lines)
    reader = csv.reader(lines, strict=True, skipinitialspace=separator != "\t", delimiter=separator)
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
