"""Microdata for the synthesizers: tables of categorical records from files and elsewhere."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from srlib.data.acs import (
    ACS,
    RAW_NAMES,
    download_acs,
    embedded_population,
    is_raw,
    parse_acs,
    recode_acs,
)
from srlib.data.declared import Declaration
from srlib.data.files import columns_of, header_of, is_typed, named_errors
from srlib.data.schema import Microdata, Schema, Variable, shown

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


@dataclass(frozen=True)
class Texts:
    """A table as a file has it.

    Attributes
    ----------
    frame : DataFrame
        Columns of text, or what a file with types has; its index is the line of the file that each
        record begins at, or its number.
    schema : Schema or Declaration, optional
        As given or recognized.
    notes : tuple of str
        One sentence for everything that was recognized or left out.
    typed : bool
        Whether categories of the frame were declared, or else are the texts of a file.
    """

    frame: pd.DataFrame
    schema: Schema | Declaration | None
    notes: tuple[str, ...] = ()
    typed: bool = True


def load(
    data: str | Path,
    schema: str | Path | Schema | Declaration = "",
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
    of_data = _declared_for(data, schema)
    source = str(data)
    if not source:
        return embedded_population(n_records or POPULATION_SIZE, rng=_needed(rng))
    if source.startswith("acs:"):
        vintage, state = parse_acs(source)
        data = download_acs(vintage, state)
    table = read_table(
        data, of_data, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
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
    schema: str | Path | Schema | Declaration | None = None,
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
        The columns to read and their levels: a schema or declaration, the path of its YAML file
        (see `Declaration.from_yaml`; numbers are cut by this file), or ``"acs"`` for the paper's
        Table 1. Where not given or ``""``, that one if the file has its columns, and otherwise
        inferred, see `Schema.infer`.
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
    with named_errors(path := Path(path)):
        return _microdata(_read(path, declared(schema), ignore_columns, vintage), drop_missing)


def read_texts(
    path: str | Path,
    schema: str | Path | Schema | Declaration | None = None,
    *,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Texts:
    """Read a file's columns without coding them.

    Parameters
    ----------
    path, schema, ignore_columns, vintage
        As of `read_table`, but that a raw person file is recoded only where the schema is ``ACS``.

    Raises
    ------
    ValueError
        As `read_table` for files and columns.
    """
    with named_errors(path := Path(path)):
        of_table = declared(schema)
        return _read(path, of_table, ignore_columns, vintage, recode=False)


def schema_of(
    data: str | Path,
    schema: str | Path | Schema | Declaration = "",
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
    of_data = _declared_for(data, schema)
    source = str(data)
    if source.startswith("acs:"):
        parse_acs(source)
    if not source or source.startswith("acs:"):
        return ACS
    return read_table(
        data, of_data, drop_missing=drop_missing, ignore_columns=ignore_columns, vintage=vintage
    ).schema


def declared(schema: str | Path | Schema | Declaration | None) -> Schema | Declaration | None:
    """Return the schema that an argument stands for, None where one is to be recognized."""
    if schema is None or schema == "":
        return None
    if isinstance(schema, Schema | Declaration):
        return schema
    return ACS if schema == "acs" else Declaration.from_yaml(schema)


def _declared_for(
    data: str | Path, schema: str | Path | Schema | Declaration
) -> Schema | Declaration | None:
    """Return the schema that is declared for data, which may be read with it if it exists."""
    of_data = declared(schema)
    source = str(data)
    if not source or source.startswith("acs:"):
        if of_data not in (None, ACS):
            raise ValueError(
                f"schema is {str(schema)!r}; for data = {source!r} it must be '' or 'acs'"
            )
    elif not Path(data).exists():
        raise FileNotFoundError(
            f"data is {source!r}: there is no such file; allowed are '' for the embedded "
            "population, acs:YEAR:STATE, or the path of a file"
        )
    return of_data


def _microdata(table: Texts, drop_missing: bool) -> Microdata:
    """Return the records of a table, with levels inferred or completed where they have to be."""
    frame, schema, notes = table.frame, table.schema, list(table.notes)
    if schema is None:
        schema = Schema.infer(frame)
        notes.append("No schema was given: the levels are the values that the file has.")
    elif isinstance(schema, Declaration):
        schema, cuts = schema.complete(frame)
        notes += cuts
    codes, kept, more = schema.encode_complete(frame, drop_missing=drop_missing)
    if not kept.any():
        raise ValueError(f"no record is left. {' '.join([*notes, *more])}")
    lines, n_dropped = frame.index.to_numpy(np.int64)[kept], len(frame) - len(codes)
    return Microdata(codes, schema, (*notes, *more), lines, n_dropped)


def _read(
    path: Path,
    schema: Schema | Declaration | None,
    ignore_columns: bool,
    vintage: int,
    *,
    recode: bool = True,
) -> Texts:
    """Read a file; with `recode`, a raw person file is recoded though no schema says so."""
    header = header_of(path)
    notes = []
    raw = (schema == ACS or (schema is None and recode)) and is_raw(header)
    columns: Collection[str] = header
    if raw:
        columns = RAW_NAMES.values()
    else:
        named = set(ACS.names) <= set(header)
        if schema is None and named and (ignore_columns or len(header) == len(ACS.names)):
            schema = ACS
            notes.append("Recognized by its columns as American Community Survey data, recoded.")
        if schema is not None:
            schema.check_columns(header, ignore_unknown=ignore_columns)
            columns = schema.names
    if ignored := [name for name in header if name not in columns]:
        notes.append(f"Columns left out: {shown(ignored)}.")

    frame, n_blank = columns_of(path, header, columns)
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
    return Texts(frame, schema, tuple(notes), is_typed(path))
