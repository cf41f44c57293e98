"""Read files with types (Parquet, SPSS's .sav and Stata's .dta) up to a size limit.

A small file may decode to a large table. Its decoded size is measured first: from its
header and, in Parquet, from the dictionaries of its texts, part by part.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from srlib.checks import quoted
from srlib.data.schema import LABELS

MAX_BYTES = 2_000_000_000  # decoded, with 8 or more per value
MAX_COLUMNS = 5_000
READERS = {".parquet": pd.read_parquet, ".sav": pd.read_spss, ".dta": pd.read_stata}

_MIN_VALUE_BYTES = 8
_PART = 1 << 22  # values, or bytes of texts, decoded at a time


def typed_columns(path: Path) -> dict[str, str | None]:
    """Return the columns' labels, if they have any, by name, from the header alone."""
    suffix = path.suffix.lower()
    with _readable(suffix):
        if suffix == ".parquet":
            # The index is no column.
            return dict.fromkeys(parquet.read_schema(path).empty_table().to_pandas())
        if suffix == ".sav":
            import pyreadstat

            _, about = pyreadstat.read_sav(path, metadataonly=True)
            return about.column_names_to_labels
        with pd.read_stata(path, iterator=True) as reader:
            return reader.variable_labels()


def read_typed(path: Path) -> pd.DataFrame:
    """Read a file with its types, and its columns' labels as ``attrs``.

    A ValueError says that it is damaged or too large.
    """
    suffix = path.suffix.lower()
    labels = typed_columns(path)
    check_width(len(labels))
    with _readable(suffix):
        n_bytes = _SIZES[suffix](path)
    if n_bytes > MAX_BYTES:
        raise ValueError(
            f"its decoded records need more than {MAX_BYTES:,} bytes, "
            "with 8 or more per value; split it"
        )
    if suffix == ".parquet":
        fields = parquet.read_schema(path)
        nested = [field.name for field in fields if pa.types.is_nested(field.type)]
        if nested:
            raise ValueError(
                f"columns {quoted(nested)} hold lists; a value is one number or text"
            )
    with _readable(suffix):
        frame = READERS[suffix](path)
    for name, column in frame.items():
        # Numbers of which some have a label, as 99 for "refused", are no categories.
        if (
            column.dtype == "category"
            and "mixed" in column.cat.categories.inferred_type
        ):
            frame[name] = column.astype(object)
    frame.attrs = {LABELS: labels}
    return frame


def check_width(n_columns: int) -> None:
    """Raise a ValueError if a table has too many columns to be assessed in time."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"the file has {n_columns:,} columns; at most {MAX_COLUMNS:,} are allowed"
        )


@contextmanager
def _readable(suffix: str) -> Iterator[None]:
    """Replace a reader's error message, which may quote values."""
    try:
        yield
    except Exception as error:  # each reader has its own kinds
        hint = '; pip install "srlib[files]"' if isinstance(error, ImportError) else ""
        raise ValueError(
            f"the file cannot be read as {suffix} ({type(error).__name__}){hint}"
        ) from None


def _parquet_size(path: Path) -> int:
    """Return the size of a Parquet file in bytes, decoded.

    Texts are measured by their dictionaries, all else by the file's metadata.
    """
    about = parquet.read_metadata(path)
    columns = list(about.schema)
    widths = [max(_MIN_VALUE_BYTES, column.length or 0) for column in columns]
    chunks: list[Any] = []
    for i in range(about.num_row_groups):
        chunks += map(about.row_group(i).column, range(about.num_columns))
    stored = sum(chunk.total_uncompressed_size for chunk in chunks)
    n_bytes = max(about.num_rows * sum(widths), stored)
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    for size in _text_sizes(path, texts, chunks):
        if n_bytes > MAX_BYTES:
            break
        n_bytes += size
    return n_bytes


def _text_sizes(
    path: Path,
    texts: list[str],
    chunks: list[Any],
) -> Iterator[int]:
    """Yield the sizes of a Parquet file's texts, in bytes, part by part."""
    # With delta encoding, a text shares a prefix with the one before; each may be as
    # long as all that is stored, and there is no dictionary.
    shared = [chunk for chunk in chunks if "DELTA_BYTE_ARRAY" in chunk.encodings]
    longest = max((chunk.total_uncompressed_size for chunk in shared), default=1)
    n_records = max(1, _PART // max(longest, len(texts)))
    in_dictionaries = {*texts} - {chunk.path_in_schema for chunk in shared}
    with parquet.ParquetFile(path, read_dictionary=in_dictionaries) as file:
        for part in file.iter_batches(n_records, columns=texts):
            yield sum(map(_length, part.columns))


def _length(column: pa.Array) -> int:
    """Return the total size of a column's texts, in bytes."""
    column = column.dictionary_encode()
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return pc.sum(lengths).as_py() or 0


def _spss_size(path: Path) -> int:
    """Return the size of an SPSS file in bytes, decoded.

    If the header lacks the number of records, the reader looks for a record beyond the
    limit.
    """
    import pyreadstat

    _, about = pyreadstat.read_sav(path, metadataonly=True)
    widths = about.variable_storage_width.values()
    width = sum(max(_MIN_VALUE_BYTES, n) for n in widths)
    n_records = about.number_rows
    if n_records is None:
        most = MAX_BYTES // max(width, 1)
        beyond, _ = pyreadstat.read_sav(path, row_offset=most, row_limit=1)
        n_records = most + len(beyond)
    return n_records * width


def _stata_size(path: Path) -> int:
    """Return the size of a Stata file, which is not compressed."""
    return path.stat().st_size


_SIZES = {".parquet": _parquet_size, ".sav": _spss_size, ".dta": _stata_size}
