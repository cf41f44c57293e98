"""Variables of Table 1 of Hu, Reiter and Wang (2014), and three sources of them.

Person files of the American Community Survey's public use microdata sample (PUMS) are
recoded to the paper's Table 1. They are downloaded by year and state. A population that
is simulated from conditional probability tables replaces them if there is no file.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from platformdirs import user_cache_dir

from srlib import checks
from srlib.arrays import Generator, Ints
from srlib.data.codes import (
    MISSING,
    MISSING_TEXTS,
    OUTSIDE,
    cell_numbers,
    encode_column,
    factorize_texts,
    parse_number,
)
from srlib.data.schema import Microdata, Schema
from srlib.progress import progress

CENSUS = "https://www2.census.gov/programs-surveys/acs/data/pums"
# The first year in which SCHL, DIS and HICOV have the codes that are recoded here.
FIRST_VINTAGE = 2008
POPULATION = Path(__file__).with_name("acs_population.txt")
# Probabilities in that file are multiples of 1 / PROBABILITY_UNITS.
PROBABILITY_UNITS = 10_000
# What readers of a damaged zip or gzip file raise, besides OSError.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError)

# Levels of a column's raw codes 1, 2, ...; other columns have the codes of Table 1.
# Ages begin at 18, as children are left out.
_RECODED = {
    "AGEP": "1" * 29 + "2" * 15 + "3" * 15 + "4" * 61,
    "RACE1P": "123446445",
    "SCHL": "1" * 15 + "22" + "33" + "4" * 5,
    "WAOB": "12345672",
    "HISP": "1" + "2" * 23,
}


# 14 variables, 8,709,120 cells; levels are "1", "2", ...
ACS = Schema.from_yaml(Path(__file__).with_name("acs.yaml"))
# The column of a PUMS person file that each variable of Table 1 comes from.
RAW_NAMES = {name: "RAC1P" if name == "RACE1P" else name for name in ACS.names}


def recode_acs(frame: pd.DataFrame, vintage: int) -> pd.DataFrame:
    """Return a PUMS person file's adults, recoded to the paper's Table 1.

    Adults only (AGEP of 18 and over). AGEP becomes 18-29, 30-44, 45-59, 60+; RAC1P 4,
    5, 7, 8 become 4 and 9 becomes 5; SCHL 1-15, 16-17, 18-19, 20-24 become 1 to 4; WAOB
    8 becomes 2; MIL becomes active duty, training only, never; HISP 2 and above become
    2.

    The raw columns are numbers or text; blank or NaN is missing, and stays so. The
    vintage is the year of the file, 2008 or later: MIL has five codes up to 2012 and
    four from 2013. The result keeps the index and has a categorical column for each
    variable of ``ACS``. A ValueError names codes that do not occur in files of that
    vintage.
    """
    if vintage < FIRST_VINTAGE:
        raise ValueError(f"vintage is {vintage}; it must be {FIRST_VINTAGE} or later")
    ids, texts = factorize_texts(frame["AGEP"])
    # Records with a missing or unreadable age stay and are reported.
    ages = np.array([*map(parse_number, texts), np.nan])[ids]
    frame = frame[~(ages < 18)]
    recoded = {}
    problems = []
    military = {"MIL": "11123" if vintage <= 2012 else "1123"}
    for variable in ACS.variables:
        levels = (_RECODED | military).get(variable.name, "".join(variable.levels))
        column = RAW_NAMES[variable.name]
        codes, invalid = encode_column(frame[column], partial(_recoded, levels))
        if invalid:
            problems.append(f"{column} has {invalid}")
        codes = codes.clip(MISSING)
        recoded[variable.name] = pd.Categorical.from_codes(codes, variable.levels)
    if problems:
        raise ValueError(f"invalid codes of vintage {vintage}: {'; '.join(problems)}")
    _check_vintage(recoded["MIL"], vintage)
    return pd.DataFrame(recoded, index=frame.index)


def _recoded(levels: str, texts: Iterable[str]) -> list[int]:
    """Return the new codes of raw texts, where 1, 2, ... become the given levels."""
    codes = {float(raw): int(level) - 1 for raw, level in enumerate(levels, 1)}
    return [
        MISSING if text in MISSING_TEXTS else codes.get(parse_number(text), OUTSIDE)
        for text in texts
    ]


def _check_vintage(military: pd.Categorical, vintage: int) -> None:
    """Raise a ValueError if military service has the codes of a later vintage.

    "Never" is the answer of nine adults in ten. In a file from 2013 on it has the code
    that up to 2012 means training only, and nothing else would show that the vintage is
    wrong.
    """
    n_training = (military == "2").sum()
    n_never = (military == "3").sum()
    if vintage <= 2012 and n_training > n_never:
        raise ValueError(
            f"vintage is {vintage}, but the file looks like one of 2013 or later: "
            f"MIL has code 4 for {n_training:,} adults and code 5 for {n_never:,}"
        )


def download_acs(data: str) -> tuple[Path, int]:
    """Return the 1-year person file of ``"acs:YEAR:STATE"``, and its year.

    The Census Bureau's file is downloaded unless it is in the cache. It gets its name
    only after the zip's own checksums have been verified; no others are published. A
    ValueError says that there is no such file, a ConnectionError that the server cannot
    be reached or that the transfer failed.
    """
    import pooch

    match = re.fullmatch(r"acs:(\d{4}):([a-z]{2})", data.lower(), re.ASCII)
    if not match or (year := int(match[1])) < FIRST_VINTAGE:
        raise ValueError(
            f"data is {data!r}; it must be acs:YEAR:STATE, such as acs:2012:nc, "
            f"with a year from {FIRST_VINTAGE} on"
        )
    state = match[2].upper()
    name = f"csv_p{match[2]}.zip"
    url = f"{CENSUS}/{year}/1-Year/{name}"
    folder = Path(user_cache_dir("srlib"), f"acs/{year}")
    pooch.get_logger().setLevel("WARNING")
    download = partial(_download_zip, f"ACS {year} {state}")
    try:
        path = pooch.retrieve(url, None, name, folder, downloader=download)
    except (OSError, *DAMAGED) as error:
        file = f"1-year person file of {year} for {state}"
        response = getattr(error, "response", None)
        status = getattr(response, "status_code", type(error).__name__)
        if status == 404:
            raise ValueError(
                f"the Census Bureau has not published a {file}: {url} (404)"
            ) from None
        raise ConnectionError(
            f"the {file} could not be downloaded from {url} ({status}). "
            "Is there a network connection? data may also name a file"
        ) from None
    return Path(path), year


def _download_zip(title: str, url: str, file: str, pooch_object: Any) -> None:
    """Download a zip for pooch, with a progress bar, and verify its checksums."""
    from pooch import HTTPDownloader

    with progress(1, title, "B") as bar:
        download = HTTPDownloader(bar, chunk_size=1 << 16, timeout=60)
        download(url, file, pooch_object)
    with zipfile.ZipFile(file) as archive:
        if damaged := archive.testzip():
            raise zipfile.BadZipFile(damaged)


def embedded_population(n: int, *, rng: Generator) -> Microdata:
    """Return a simulated population of n adults with the variables of Table 1.

    It is drawn from a Bayesian network of conditional probability tables that were
    estimated from the 2011 person file; its pairwise joint distributions equal that
    file's within sampling error. It does not use the latent classes of the synthesizer
    that is tried on it.
    """
    checks.at_least(1, n=n)
    codes = np.zeros((n, len(ACS.names)), np.uint8)  # (n, n_variables)
    for child, parents, table in read_population():
        row = cell_numbers(codes[:, parents], ACS.n_levels[parents])
        cumulative = table.cumsum(axis=1)
        draws = rng.integers(PROBABILITY_UNITS, size=n)
        is_beyond = draws[:, None] >= cumulative[row]  # (n, n_levels)
        codes[:, child] = is_beyond.sum(axis=1)
    note = (
        f"A simulated population of {n:,} adults, drawn from probability tables "
        "estimated from the 2011 American Community Survey: no record is a real "
        "person's."
    )
    return Microdata(codes, ACS, (note,))


def read_population() -> list[tuple[int, list[int], Ints]]:
    """Return each conditional table's variable, parents and probabilities.

    The file begins with a comment. It has for each variable a line ``NAME | PARENTS``,
    parents before children, then a line for each combination of the parents' levels in
    lexicographic order: the probabilities of all levels but the last, in units of
    1/10,000.
    """
    network = []
    for table in re.split(r"\n(?=\w+ \|)", POPULATION.read_text("utf-8"))[1:]:
        header, *lines = table.splitlines()
        child, *parents = map(ACS.names.index, re.findall(r"\w+", header))
        rows = np.loadtxt(lines, np.int64, ndmin=2)  # (n_combinations, n_levels - 1)
        last = PROBABILITY_UNITS - rows.sum(axis=1)
        probabilities = np.column_stack([rows, last])
        network.append((child, parents, probabilities))
    return network
