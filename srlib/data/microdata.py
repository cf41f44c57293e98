"""Microdata for the synthesizers: tables of categorical records from files and elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from srlib.checks import require
from srlib.data.acs import ACS, RAW_NAMES, download_acs, embedded_population, parse_acs, recode_acs
from srlib.data.codes import shown
from srlib.data.declared import Declaration
from srlib.data.files import frame_of, is_typed, named_errors
from srlib.data.schema import Microdata, Schema

PAPER_VINTAGE = 2012
POPULATION_SIZE = 10_000
# A schema, what is declared of it, its YAML file, or "acs"; None or "": recognized.
type Declared = str | Path | Schema | Declaration | None


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
    schema: Declared = "",
    *,
    rng: np.random.Generator,
    n_records: int | None = None,
    **options: Any,
) -> Microdata:
    """Return the records of a notebook's ``data`` parameter.

    Parameters
    ----------
    data : str or Path
        ``""`` for the embedded population, ``"acs:YEAR:STATE"`` for a person file of the Census
        Bureau, or else the path of a file, see `read_table`.
    schema : str, Path or Schema
        See `read_table`.
    rng : numpy.random.Generator
        Draws the population or the sample.
    n_records : int, optional
        Size of the population (10,000 where not given), or of the simple random sample that is
        taken from a file with more records; all of a file's where not given.
    **options
        ``drop_missing``, ``ignore_columns`` and ``vintage`` as of `read_table`; the year of an
        ``"acs:YEAR:STATE"`` is its vintage.

    Returns
    -------
    Microdata
        Sampled records keep the order of the file.

    Raises
    ------
    ValueError
        For what `read_table` and `download_acs` refuse, ``n_records`` below 1, or another schema
        than Table 1 for data that have it.
    FileNotFoundError
        If ``data`` is none of the three.
    """
    require(n_records is None or n_records > 0, f"n_records is {n_records}; it must be 1 or more")
    known, survey = _checked(data, schema)
    if not str(data):
        return embedded_population(n_records or POPULATION_SIZE, rng=rng)
    if survey:
        data, options["vintage"] = download_acs(*survey), survey[0]
    table = read_table(data, known, **options)
    n = len(table)
    if n_records is None or n <= n_records:
        return table
    rows = np.sort(rng.choice(n, n_records, replace=False))
    note = f"A simple random sample of {n_records:,} of the {n:,} records."
    lines = None if table.lines is None else table.lines[rows]
    return Microdata(table.codes[rows], table.schema, (*table.notes, note), lines)


def read_table(
    path: str | Path,
    schema: Declared = None,
    *,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    vintage: int = PAPER_VINTAGE,
) -> Microdata:
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
        The columns to read and their levels: a schema or declaration, the path of its YAML file
        (see `Schema.from_yaml`; numbers are cut by this file), or ``"acs"`` for the paper's
        Table 1. Where not given or ``""``, inferred, see `Schema.infer`.
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
        table = _read(path, declared(schema), ignore_columns, vintage)
        frame, known, notes = table.frame, table.schema, list(table.notes)
        if known is None:
            known = Schema.infer(frame)
            notes.append("No schema was given: the levels are the values that the file has.")
        elif isinstance(known, Declaration):
            known, cuts = known.complete(frame)
            notes += cuts
        codes, kept, more = known.encode_complete(frame, drop_missing=drop_missing)
        notes += more
        require(kept.any(), f"no record is left. {' '.join(notes)}")
        return Microdata(codes, known, tuple(notes), frame.index.to_numpy(np.int64)[kept])


def read_texts(path: str | Path, schema: Declared = None) -> Texts:
    """Read a file's columns as `read_table`, without coding them.

    A raw person file is recoded only where the schema is ``ACS``.
    """
    with named_errors(path := Path(path)):
        return _read(path, declared(schema))


def schema_of(data: str | Path, schema: Declared = "", **options: Any) -> Schema:
    """Return the schema of the records that `load` would return; nothing is drawn or downloaded.

    A file is read and checked for it, with `load`'s options and errors.
    """
    known, survey = _checked(data, schema)
    return ACS if survey or not str(data) else read_table(data, known, **options).schema


def declared(schema: Declared) -> Schema | Declaration | None:
    """Return the schema that an argument stands for, None where one is to be recognized."""
    if isinstance(schema, Schema):
        return schema
    if schema == "acs":
        return ACS
    return Declaration.from_yaml(schema) if schema else None


def _checked(data: str | Path, schema: Declared) -> tuple[Any, tuple[int, str] | None]:
    """Return what is declared of data that exist, and year and state of a survey file."""
    known, source = declared(schema), str(data)
    survey = parse_acs(source) if source.startswith("acs:") else None
    if survey or not source:
        theirs = f"schema is {str(schema)!r}; for data = {source!r} it must be '' or 'acs'"
        require(known in (None, ACS), theirs)
    elif not Path(data).exists():
        told = "allowed are '' for the embedded population, acs:YEAR:STATE, or the path of a file"
        raise FileNotFoundError(f"data is {source!r}: there is no such file; {told}")
    return known, survey


def _read(
    path: Path, schema: Schema | Declaration | None, ignore_columns: bool = False, vintage: int = 0
) -> Texts:
    """Read a file; with a vintage, a raw person file is recoded though no schema says so."""
    raw, notes = False, []

    def choose(header: list[str]) -> Sequence[str]:
        nonlocal raw
        columns: Sequence[str] = header if schema is None else schema.names
        person_file = set(RAW_NAMES.values()) <= set(header) and "RACE1P" not in header
        if raw := person_file and (schema == ACS or (schema is None and vintage > 0)):
            columns = list(RAW_NAMES.values())
        elif schema is not None:
            schema.check_columns(header, ignore_unknown=ignore_columns)
        if ignored := [name for name in header if name not in columns]:
            notes.append(f"Columns left out: {shown(ignored)}.")
        return columns

    frame, n_blank = frame_of(path, choose)
    if n_blank:
        notes.append(f"Blank lines left out: {n_blank:,}.")
    if raw:
        n, schema, vintage = len(frame), ACS, vintage or PAPER_VINTAGE
        frame = recode_acs(frame, vintage)
        told = "Recognized as an American Community Survey person file and recoded to Table 1 of "
        told += f"Hu, Reiter and Wang (2014) by the codes of vintage {vintage}; records of persons "
        notes.append(f"{told}below 18 left out: {n - len(frame):,} of {n:,}.")
    return Texts(frame, schema, tuple(notes), is_typed(path))
