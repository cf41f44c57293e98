"""American Community Survey: the variables of the paper's Table 1, and three sources of them.

Person files of the Census Bureau's public use microdata sample (PUMS) are recoded to
Table 1 of Hu, Reiter and Wang (2014). They are downloaded by year and state. A
population that is simulated from conditional probability tables replaces them if there
is no file.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from platformdirs import user_cache_dir

from srlib.checks import require
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

# Levels of a column's raw codes 1, 2, ...; other columns have the codes of Table 1.
_RECODED = {
    "AGEP": "." * 17 + "1" * 12 + "2" * 15 + "3" * 15 + "4" * 61,
    "RACE1P": "123446445",
    "SCHL": "1" * 15 + "22" + "33" + "4" * 5,
    "WAOB": "12345672",
    "HISP": "1" + "2" * 23,
}


# Hu, Reiter and Wang (2014), Table 1: 14 variables, 8,709,120 cells; levels are "1",
# "2", ...
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
    require(
        vintage >= FIRST_VINTAGE,
        f"vintage is {vintage}; it must be {FIRST_VINTAGE} or later",
    )
    ids, texts = factorize_texts(frame["AGEP"])
    # Records with a missing or unreadable age are not under 18: they stay and are
    # reported.
    frame = frame[~np.array([*(parse_number(text) < 18 for text in texts), False])[ids]]
    recoded, problems = {}, []
    mil = "11123" if vintage <= 2012 else "1123"
    for variable in ACS.variables:
        levels = (_RECODED | {"MIL": mil}).get(variable.name, "".join(variable.levels))
        recode = {
            float(i): int(level) - 1 for i, level in enumerate(levels, 1) if level > "."
        }
        column = RAW_NAMES[variable.name]
        codes, strange = encode_column(frame[column], partial(_recoded, recode))
        if strange:
            problems.append(f"{column} has {strange}")
        recoded[variable.name] = pd.Categorical.from_codes(
            codes.clip(MISSING), variable.levels
        )
    require(not problems, f"invalid codes of vintage {vintage}: {'; '.join(problems)}")
    never, training = ((recoded["MIL"] == level).sum() for level in ("3", "2"))
    # "Never" is the answer of nine adults in ten. In a file from 2013 on it has the
    # code that up to 2012 means training only, and nothing else would show that the
    # vintage is wrong.
    if vintage <= 2012 and training > never:
        raise ValueError(
            f"vintage is {vintage}, but the file looks like one of 2013 or later: "
            f"MIL has code 4 for {training:,} adults and code 5 for {never:,}"
        )
    return pd.DataFrame(recoded, index=frame.index)


def _recoded(recode: Mapping[float, int], texts: Iterable[str]) -> list[int]:
    """Return the new codes of raw texts."""
    known = dict.fromkeys(MISSING_TEXTS, MISSING)
    return [known.get(text, recode.get(parse_number(text), OUTSIDE)) for text in texts]


def download_acs(
    data: str, cache: Path | None = None, base: str = CENSUS
) -> tuple[Path, int]:
    """Return the Census Bureau's 1-year person file of ``"acs:YEAR:STATE"``, and its year.

    The file is downloaded unless it is in the cache. It gets its name only after the
    zip's own checksums have been verified; the Census Bureau publishes no others. A
    ValueError says that there is no such file, a ConnectionError that the server cannot
    be reached or that the transfer failed.
    """
    parts = re.fullmatch(r"acs:(\d{4}):([a-z]{2})", data.lower(), re.ASCII)
    year, state = (int(parts[1]), parts[2]) if parts else (0, "")
    if year < FIRST_VINTAGE:
        wanted = (
            f"acs:YEAR:STATE, such as acs:2012:nc, with a year from {FIRST_VINTAGE} on"
        )
        raise ValueError(f"data is {data!r}; it must be {wanted}")
    target = (cache or Path(user_cache_dir("srlib"))) / f"acs/{year}/csv_p{state}.zip"
    import pooch

    def whole_zip(url: str, file: str, of: Any) -> None:
        with progress(1, f"ACS {year} {state.upper()}", "B") as bar:
            pooch.HTTPDownloader(bar, chunk_size=1 << 16, timeout=60)(url, file, of)
        with zipfile.ZipFile(file) as archive:
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(damaged)

    url = f"{base}/{year}/1-Year/{target.name}"
    pooch.get_logger().setLevel("WARNING")
    try:
        path = pooch.retrieve(
            url, None, target.name, target.parent, downloader=whole_zip
        )
        return Path(path), year
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        status = getattr(
            getattr(error, "response", None), "status_code", type(error).__name__
        )
        file = f"1-year person file of {year} for {state.upper()}"
        require(
            status != 404,
            f"the Census Bureau has not published a {file}: {url} ({status})",
        )
        raise ConnectionError(
            f"the {file} could not be downloaded from {url} ({status}). Is there a network "
            "connection? data may also name a file"
        ) from None


def embedded_population(n: int, *, rng: np.random.Generator) -> Microdata:
    """Return a simulated population of n adults with the variables of Table 1.

    It is drawn from a Bayesian network of conditional probability tables that were
    estimated from the 2011 person file; its pairwise joint distributions equal that
    file's within sampling error. It does not use the latent classes of the synthesizer
    that is tried on it.
    """
    require(n >= 1, f"n is {n}; it must be at least 1")
    codes = np.zeros((n, len(ACS.names)), np.uint8)
    for child, parents, table in read_population(POPULATION.read_text("utf-8")):
        row = cell_numbers(codes[:, parents], ACS.n_levels[parents])
        cumulative = np.cumsum(table[:, :-1], axis=1)
        draw = rng.integers(PROBABILITY_UNITS, size=n)
        codes[:, child] = (draw[:, None] >= cumulative[row]).sum(axis=1)
    note = f"A simulated population of {n:,} adults, drawn from probability tables estimated from "
    note += "the 2011 American Community Survey: no record is a real person's."
    return Microdata(codes, ACS, (note,))


def read_population(text: str) -> list[tuple[int, list[int], NDArray[np.int64]]]:
    """Return variable, parents and probabilities of each conditional table of a population.

    The text begins with a comment. It has for each variable a line ``NAME | PARENTS``,
    parents before children, then a line for each combination of the parents' levels in
    lexicographic order: the probabilities of all levels but the last, in units of
    1/10,000.
    """
    network = []
    for table in re.split(r"\n(?=\w+ \|)", text)[1:]:
        header, *lines = table.splitlines()
        child, *parents = map(ACS.names.index, header.replace("|", " ").split())
        rows = np.loadtxt(lines, np.int64, ndmin=2)
        network.append(
            (child, parents, np.column_stack([rows, PROBABILITY_UNITS - rows.sum(1)]))
        )
    return network
