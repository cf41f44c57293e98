"""Microdata for the synthesizers: tables of categorical records from files and elsewhere."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from srlib.checks import require, shown
from srlib.data.acs import ACS, RAW_NAMES, download_acs, embedded_population, parse_acs, recode_acs
from srlib.data.declared import cut_numbers
from srlib.data.files import named_errors, open_table
from srlib.data.schema import Microdata, Schema

PAPER_VINTAGE = 2012
POPULATION_SIZE = 10_000
# A schema, its YAML file, or "acs"; None or "": recognized.
type Declared = str | Path | Schema | None


@dataclass(frozen=True)
class Texts:
    """The columns of a table by its lines or records, what is declared of them, and notes."""

    frame: pd.DataFrame
    schema: Schema | None
    notes: tuple[str, ...] = ()


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
        theirs = f"schema is {str(schema)!r}; for data = {source!r} it must be '' or 'acs'"
        require(known in (None, ACS), theirs)
    if not source:
        return embedded_population(n_records or POPULATION_SIZE, rng=rng)
    if source.startswith("acs:"):
        options["vintage"], state = parse_acs(source)
        data = download_acs(options["vintage"], state)
    elif not Path(data).exists():
        told = "allowed are '' for the embedded population, acs:YEAR:STATE, or the path of a file"
        raise FileNotFoundError(f"data is {source!r}: there is no such file; {told}")
    table = read_table(data, known, **options)
    n = len(table)
    if n_records is None or n <= n_records:
        return table
    rows = np.sort(rng.choice(n, n_records, replace=False))
    note = f"A simple random sample of {n_records:,} of the {n:,} records."
    return replace(table, codes=table.codes[rows], notes=(*table.notes, note))


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
        Codes, the schema that they have, and notes on all that was not taken as it stands.

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
        require(len(texts.frame), f"no record is left. {' '.join(texts.notes)}")
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

    A raw person file is recoded where the schema is ``ACS``, with a vintage also where none is.
    """
    known, notes = declared(schema), []
    with named_errors(path := Path(path)):
        header, read = open_table(path)
        raw = set(RAW_NAMES.values()) <= set(header) and "RACE1P" not in header
        raw = raw and (known == ACS or (known is None and vintage > 0))
        if known and not raw:
            known.check_columns(header, ignore_unknown=ignore_columns)
        wanted = list(RAW_NAMES.values()) if raw else known.names if known else header
        if ignored := shown(name for name in header if name not in wanted):
            notes.append(f"Columns left out: {ignored}.")
        frame, n_blank = read(wanted)
        if n_blank:
            notes.append(f"Blank lines left out: {n_blank:,}.")
        if raw:
            vintage = vintage or PAPER_VINTAGE
            adults = recode_acs(frame, vintage)
            n_children = len(frame) - len(adults)
            notes.append(
                "Recognized as an American Community Survey person file and recoded to Table 1 of "
                f"Hu, Reiter and Wang (2014) by the codes of vintage {vintage}; records of persons "
                f"below 18 left out: {n_children:,} of {len(frame):,}."
            )
            return Texts(adults, ACS, tuple(notes))
        return Texts(frame, known, tuple(notes))


def declared(schema: Declared) -> Schema | None:
    """Return the schema that an argument stands for, None where one is to be recognized."""
    if isinstance(schema, Schema):
        return schema
    if schema == "acs":
        return ACS
    return Schema.from_yaml(schema) if schema else None
