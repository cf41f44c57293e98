"""Files of microdata, read into columns of text or of what a file with types has.

Text is read by the csv module: pyarrow.csv takes ``"a"b`` for ``ab`` in silence, keeps the marks of
a quotation after a space, and does not know at which line a record begins.
"""

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from itertools import batched, chain
from pathlib import Path
from typing import IO, cast

import pandas as pd
import pyarrow as pa

from srlib.checks import repeated, require, shown

# What may separate the fields of a text file: the one of which its header has most.
DELIMITERS = ",\t;|"
# What is read of a text file at most: a small compressed one may stand for more than fits.
MAX_CHARACTERS = 2_000_000_000
_TYPED = {".parquet": pd.read_parquet, ".sav": pd.read_spss, ".dta": pd.read_stata}
FILE_TYPES = (".csv", ".tsv", ".txt", ".gz", ".zip", *_TYPED)

_CHUNK = 1 << 14  # records
_TO_UTF_8 = "save the file as UTF-8, as by iconv -f WINDOWS-1252 -t UTF-8"
_NO_TEXT = re.compile("[\0\udc80-\udcff]")  # what stands for bytes that are not UTF-8, and NUL

type Record = tuple[int, list[str]]
"""The line that a record begins at, and its fields."""


def open_table(path: Path) -> tuple[list[str], Callable[[Sequence[str]], tuple[pd.DataFrame, int]]]:
    """Return a file's header, and what reads some of its columns and counts its blank lines.

    Columns of text are Arrow dictionaries, with the lines that records begin at as the index; a
    file with types keeps its own, with labels where it has them, and records count from 1.
    """
    if path.suffix.lower() in _TYPED:
        frame = _typed(path)
        return list(frame), lambda names: (frame[list(names)], 0)
    records = _records(path)
    header = _names(next(records)[1])
    return header, partial(_columns, records, header)


def _typed(path: Path) -> pd.DataFrame:
    """Read a file with types; errors of its reader may quote values, and are not passed on."""
    suffix = path.suffix.lower()
    try:
        frame = _TYPED[suffix](path)
    except ImportError:
        raise ValueError(f"{suffix} files need more: pip install 'srlib[files]'") from None
    except Exception as error:  # each reader has its own kinds
        kind = type(error).__name__
        raise ValueError(f"it cannot be read as a {suffix} file ({kind})") from None
    frame.columns = pd.Index(_names(map(str, frame.columns)))
    require(len(frame), "the file has no records")
    return frame.set_index(pd.RangeIndex(1, len(frame) + 1, name="record"))


def _columns(
    records: Iterator[Record], header: list[str], wanted: Sequence[str]
) -> tuple[pd.DataFrame, int]:
    """Read columns of the records behind a header, and count the blank lines."""
    parts, lines, n, n_blank = [], list[int](), len(header), 0
    for chunk in batched(records, _CHUNK):
        bad = [f"line {line} has {len(row)}" for line, row in chunk if len(row) not in (0, n)]
        told = "; ".join(bad[:5]) + "; and more" * (len(bad) > 5)
        require(not bad, f"records must have {n} fields like the header: {told}")
        rows = [row for _, row in chunk if row]
        lines += [line for line, row in chunk if row]
        n_blank += len(chunk) - len(rows)
        texts = dict(zip(header, zip(*rows, strict=True), strict=False))
        arrays = {name: pa.array(texts.get(name, ()), pa.string()) for name in wanted}
        parts.append(pa.table({name: a.dictionary_encode() for name, a in arrays.items()}))
    require(lines, "the file has a header and no records")
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame.set_index(pd.Index(lines, name="line")), n_blank


def _records(path: Path) -> Iterator[Record]:
    """Yield the header and all records of a text file, without fields where a line is blank."""
    lines = _lines(path)
    first = next(lines, "")
    mark = max(DELIMITERS, key=first.count)  # the first of these where there is none
    lines, line = chain([first], lines), 1
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t", strict=True)
    try:
        for fields in reader:
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
    require(header, "the file is empty; it must have a header and records")
    require(any(header), "the header has no column names")
    header = [name or f"column {i}" for i, name in enumerate(header, start=1)]
    require(not (again := repeated(header)), f"duplicate column names {shown(again)}")
    return header


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Let errors of reading a file name it, and say nothing of what it holds."""
    require(path.is_file() or not path.exists(), f"{path}: it is not a regular file")
    try:
        yield
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):
        raise ValueError(f"{path}: the compressed file is damaged or has a password") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
