"""Files of microdata, read into columns of text or of what a file with types has.

Text is read by the csv module. pyarrow.csv takes ``"a"b`` for ``ab`` in silence, keeps the marks of
a quotation after a space, and does not know at which line a record begins.
"""

import csv
import gzip
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, cast

import numpy as np
import pandas as pd

from srlib.checks import require
from srlib.data.codes import repeated, shown

# What may separate the fields of a text file: the one of which its header has most.
DELIMITERS = ",\t;|"
# What is read of a text file at most: a small compressed one may stand for more than fits.
MAX_CHARACTERS = 2_000_000_000
FILE_TYPES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".parquet", ".sav", ".dta")

_CHUNK = 1 << 16
_NO_TEXT = re.compile("[\0\udc80-\udcff]")  # what stands for bytes that are not UTF-8, and NUL


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


def frame_of(path: Path) -> tuple[pd.DataFrame, int]:
    """Read a file, and count the lines left out because they are blank.

    The columns of text are categoricals with the lines that records begin at as the index; a file
    with types keeps its own, with labels where it has them, and records count from 1.
    """
    if is_typed(path):
        frame = _typed(path)
        frame.columns = pd.Index(_names(map(str, frame.columns)))
        require(len(frame), "the file has no records")
        return frame.set_index(pd.RangeIndex(1, len(frame) + 1, name="record")), 0
    records = _records(path)
    header = _names(next(records, (1, []))[1])
    # One dictionary a column gives each new text the next integer, and no text is kept twice.
    ids: list[defaultdict[str, int]] = [defaultdict(count().__next__) for _ in header]
    codes: list[list[np.ndarray]] = [[] for _ in header]
    lines, n_blank, texts = [], 0, {}
    while chunk := list(islice(records, _CHUNK)):
        rows = [record for record in chunk if len(record[1]) == len(header)]
        bad = [f"line {i} has {len(row)}" for i, row in chunk if len(row) not in (0, len(header))]
        told = "; ".join(bad[:5]) + "; and more" * (len(bad) > 5)
        require(not bad, f"records must have {len(header)} fields like the header: {told}")
        n_blank += len(chunk) - len(rows)
        lines += [line for line, _ in rows]
        for j, values in enumerate(zip(*(row for _, row in rows), strict=True)):
            codes[j].append(np.fromiter(map(ids[j].__getitem__, values), np.int32, len(rows)))
    require(lines, "the file has a header and no records")
    for j, part in enumerate(codes):
        texts[header[j]] = pd.Categorical.from_codes(np.concatenate(part), list(ids[j]))
    return pd.DataFrame(texts, index=pd.Index(lines, dtype=np.int64, name="line")), n_blank


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
    try:
        if suffix == ".dta":
            return pd.read_stata(path, convert_missing=False)
        return pd.read_spss(path) if suffix == ".sav" else pd.read_parquet(path)
    except ImportError:
        raise ValueError(f"{suffix} files need more: pip install 'srlib[files]'") from None
    except Exception as error:  # each reader has its own kinds
        kind = type(error).__name__
        raise ValueError(f"it cannot be read as a {suffix} file ({kind})") from None


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each record begins at, and its fields."""
    # newline="" leaves line ends within quotes to the csv module; -sig skips a byte order mark.
    escape = "surrogateescape"
    with _opened(path) as binary, TextIOWrapper(binary, "utf-8-sig", escape, newline="") as file:
        lines = _lines(file)
        first = next(lines, "")
        separator = max(DELIMITERS, key=first.count)  # the first of these where there is none
        lines, spaces = chain([first] if first else [], lines), separator != "\t"
        reader = csv.reader(lines, strict=True, skipinitialspace=spaces, delimiter=separator)
        line = 1
        try:
            for fields in reader:
                yield line, fields
                line = reader.line_num + 1
        except csv.Error as error:
            raise ValueError(f"the record at line {line} is not CSV: {error}") from None


def _lines(file: IO[str]) -> Iterator[str]:
    """Yield the lines of a file; ValueError where they are no text, or more than can be meant."""
    left, number = MAX_CHARACTERS, 0
    while line := file.readline(left + 1):
        left, number = left - len(line), number + 1
        if left < 0:
            raise ValueError(f"the file has more than {MAX_CHARACTERS:,} characters; split it")
        if "\0" in line or (not line.isascii() and _NO_TEXT.search(line)):
            hint = "a file in another encoding must be saved as UTF-8, as by iconv"
            raise ValueError(f"line {number} is not UTF-8 text; {hint} -f WINDOWS-1252 -t UTF-8")
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
