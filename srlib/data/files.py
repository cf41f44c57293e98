"""Files of microdata, read into columns of text or of what a file with types has.

Lines without quotation marks are read by pyarrow, and all others by the csv module: pyarrow.csv
takes ``"a"b`` for ``ab`` in silence, keeps the marks of a quotation after a space, and does not
know at which line a record begins.
"""

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import IO, cast

import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow

from srlib.checks import require
from srlib.data.codes import repeated, shown

# What may separate the fields of a text file: the one of which its header has most.
DELIMITERS = ",\t;|"
# What is read of a text file at most: a small compressed one may stand for more than fits.
MAX_CHARACTERS = 2_000_000_000
FILE_TYPES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".parquet", ".sav", ".dta")

_CHUNK = 1 << 14  # lines
_NO_TEXT = re.compile("[\0\udc80-\udcff]")  # what stands for bytes that are not UTF-8, and NUL
# pyarrow must read the texts of a chunk as they stand, each distinct one once.
_TEXTS = pa.dictionary(pa.int32(), pa.string())


def is_typed(path: Path) -> bool:
    """Say whether a file has types, and not only text, by how its name ends."""
    return path.suffix.lower() in FILE_TYPES[-3:]


def tables_in(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the data files of a folder in the order of their names, and names of hidden ones.

    A ValueError names anything else: what is passed over in silence would be missed by nobody.
    """
    everything = sorted(folder.iterdir())
    hidden = [path.name for path in everything if path.name.startswith(".")]
    seen = [path for path in everything if path.name not in hidden]
    data = [path for path in seen if path.is_file() and path.suffix.lower() in FILE_TYPES]
    others = ", ".join(path.name + "/" * path.is_dir() for path in seen if path not in data)
    told = f"{folder}: {others} cannot be read as a table; a folder of releases has files whose"
    require(not others, f"{told} names end in {', '.join(FILE_TYPES)}, and hidden ones")
    but = " but hidden ones" if hidden else ""
    require(data, f"{folder}: the folder has no files{but}; it must have one release or more")
    return data, hidden


def read_columns(path: Path) -> pd.DataFrame:
    """Read all columns of a file; errors name it."""
    with named_errors(path):
        return frame_of(path)[0]


def frame_of(
    path: Path, choose: Callable[[list[str]], Sequence[str]] = list
) -> tuple[pd.DataFrame, int]:
    """Read those columns of a file that are chosen of its header, and count its blank lines.

    The columns of text are categoricals with the lines that records begin at as the index; a file
    with types keeps its own, with labels where it has them, and records count from 1.
    """
    if is_typed(path):
        frame = _typed(path)
        frame.columns = pd.Index(_names(map(str, frame.columns)))
        require(len(frame), "the file has no records")
        index = pd.RangeIndex(1, len(frame) + 1, name="record")
        return frame[list(choose(list(frame)))].set_index(index), 0
    lines = _lines(path)
    first = next(lines, "")
    separator = max(DELIMITERS, key=first.count)  # the first of these where there is none
    records, line = _records([first] * bool(first), lines, 1, separator)
    header = _names(records[0][1] if records else [])
    wanted, n = list(choose(header)), len(header)
    numbers, parts, n_blank = list[int](), [], 0
    while chunk := list(islice(lines, _CHUNK)):
        if (part := _unquoted(chunk, header, wanted, separator)) is not None:
            numbers += range(line, line := line + len(chunk))
        else:
            records, line = _records(chunk, lines, line, separator)
            bad = [f"line {i} has {len(row)}" for i, row in records if len(row) not in (0, n)]
            told = "; ".join(bad[:5]) + "; and more" * (len(bad) > 5)
            require(not bad, f"records must have {n} fields like the header: {told}")
            rows = [row for _, row in records if row]
            n_blank += len(records) - len(rows)
            numbers += [i for i, row in records if row]
            texts = dict(zip(header, zip(*rows, strict=True), strict=False))
            columns = {w: pa.array(texts.get(w, ()), pa.string()).cast(_TEXTS) for w in wanted}
            part = pa.table(columns)
        parts.append(part)
    require(numbers, "the file has a header and no records")
    frame = pa.concat_tables(parts).unify_dictionaries().to_pandas()
    return frame.set_index(pd.Index(numbers, name="line")), n_blank


def _unquoted(
    lines: list[str], header: list[str], wanted: list[str], separator: str
) -> pa.Table | None:
    """Return the columns of lines with one plain record each; None where some have none."""
    text, n = "".join(lines), len(header) - 1
    if '"' in text or "\ufeff" in text or max(map(len, lines)) > csv.field_size_limit():
        return None
    if n == 0 or any(line.count(separator) != n for line in lines):
        return None
    content = text.encode()
    return arrow.read_csv(
        pa.BufferReader(content),
        arrow.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=header),
        arrow.ParseOptions(delimiter=separator, quote_char=False),
        arrow.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, _TEXTS)),
    )


def _records(
    chunk: list[str], lines: Iterator[str], line: int, separator: str
) -> tuple[list[tuple[int, list[str]]], int]:
    """Return the records that begin in a chunk, each with its line, and the line after them."""
    records: list[tuple[int, list[str]]] = []
    spaces = separator != "\t"
    reader = csv.reader(
        chain(chunk, lines), strict=True, skipinitialspace=spaces, delimiter=separator
    )
    try:
        while reader.line_num < len(chunk):
            begins = line + reader.line_num
            records.append((begins, next(reader)))
    except csv.Error as error:
        raise ValueError(f"the record at line {begins} is not CSV: {error}") from None
    return records, line + reader.line_num


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


def _typed(path: Path) -> pd.DataFrame:
    """Read a file with types; errors of its reader may quote values, and are not passed on."""
    suffix = path.suffix.lower()
    readers = {".dta": pd.read_stata, ".sav": pd.read_spss, ".parquet": pd.read_parquet}
    try:
        return readers[suffix](path)
    except ImportError:
        raise ValueError(f"{suffix} files need more: pip install 'srlib[files]'") from None
    except Exception as error:  # each reader has its own kinds
        kind = type(error).__name__
        raise ValueError(f"it cannot be read as a {suffix} file ({kind})") from None


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
                hint = "a file in another encoding must be saved as UTF-8, as by iconv"
                told = f"line {number} is not UTF-8 text; {hint}"
                raise ValueError(f"{told} -f WINDOWS-1252 -t UTF-8")
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
