"""American Community Survey: the variables of the paper's Table 1, and three ways to get them.

The person files of the Census Bureau's public use microdata sample (PUMS) are recoded to
Table 1 of Hu, Reiter and Wang (2014); they are downloaded by year and state; and a population
simulated from conditional probability tables stands in for them where there is no file.
"""

import re
import time
import urllib.error
import urllib.request
import uuid
import zipfile
import zlib
from collections.abc import Collection
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from platformdirs import user_cache_dir

from srlib.data.codes import cell_numbers
from srlib.data.schema import (
    MISSING,
    MISSING_TEXTS,
    OUTSIDE,
    Microdata,
    Schema,
    Variable,
    factor,
    rows_where,
    shown,
)
from srlib.progress import progress

CENSUS = "https://www2.census.gov/programs-surveys/acs/data/pums"
# SCHL, DIS and HICOV have the codes that are recoded here since this year.
FIRST_VINTAGE = 2008
POPULATION = Path(__file__).with_name("acs_population.txt")
# The tables of that file have probabilities in units of one in this many.
PROBABILITY_UNITS = 10_000

_STATES = (
    "al ak az ar ca co ct de dc fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj "
    "nm ny nc nd oh ok or pa ri sc sd tn tx ut vt va wa wv wi wy pr"
)
_ATTEMPTS = 3
_TIMEOUT_SECONDS = 60
_ABANDONED_SECONDS = 3600


def _variable(name: str, title: str, *labels: str) -> Variable:
    return Variable(name, tuple(str(code + 1) for code in range(len(labels))), labels, title)


ACS = Schema(
    (
        _variable("SEX", "sex", "male", "female"),
        _variable("AGEP", "age in years", "18-29", "30-44", "45-59", "60+"),
        _variable(
            "RACE1P",
            "race",
            "White",
            "Black",
            "American Indian",
            "other",
            "two or more",
            "Asian",
        ),
        _variable(
            "SCHL",
            "schooling",
            "below high school",
            "high school",
            "some college",
            "associate or higher",
        ),
        _variable(
            "MAR",
            "marital status",
            "married",
            "widowed",
            "divorced",
            "separated",
            "never married",
        ),
        _variable("LANX", "language at home", "another language", "only English"),
        _variable(
            "WAOB",
            "area of birth",
            "US state",
            "PR, islands, Oceania",
            "Latin America",
            "Asia",
            "Europe",
            "Africa",
            "Northern America",
        ),
        _variable("MIL", "military service", "active duty", "training only", "never"),
        _variable("WKL", "last worked", "past 12 months", "1-5 years ago", "earlier or never"),
        _variable("DIS", "disability", "disability", "no disability"),
        _variable("HICOV", "health insurance", "insured", "not insured"),
        _variable("MIG", "home a year ago", "same house", "outside US and PR", "other house"),
        _variable("SCH", "school in the last 3 months", "none", "public", "private or home"),
        _variable("HISP", "Hispanic origin", "not Hispanic", "Hispanic"),
    )
)
"""Hu, Reiter and Wang (2014), Table 1: 14 variables, 8,709,120 cells; levels are "1", "2", ..."""

RAW_NAMES = {name: "RAC1P" if name == "RACE1P" else name for name in ACS.names}
"""The column of a PUMS person file that each variable of Table 1 comes from."""


def is_raw(columns: Collection[str]) -> bool:
    """Return whether the columns are those of a PUMS person file with its raw codes."""
    return set(RAW_NAMES.values()) <= set(columns) and "RACE1P" not in columns


def recode_acs(frame: pd.DataFrame, vintage: int) -> pd.DataFrame:
    """Recode a PUMS person file to the paper's Table 1.

    Adults only (AGEP of 18 and over). AGEP becomes 18-29, 30-44, 45-59, 60+; RAC1P 4, 5, 7, 8
    become 4 and 9 becomes 5; SCHL 1-15, 16-17, 18-19, 20-24 become 1 to 4; WAOB 8 becomes 2; MIL
    becomes active duty, training only, never; HISP 2 and above become 2.

    Parameters
    ----------
    frame : pandas.DataFrame
        The raw columns as numbers or text, and any other columns. Blank or NaN is missing.
    vintage : int
        The year of the file, 2008 or later. MIL has five codes up to 2012 and four from 2013.

    Returns
    -------
    pandas.DataFrame
        The adults under their index: a categorical column for each variable of ``ACS``, with its
        levels; missing values stay missing.

    Raises
    ------
    ValueError
        For columns that lack, codes that the file of that vintage cannot have (all columns in one
        message, with the first rows), or MIL codes that belong to another vintage.
    """
    if vintage < FIRST_VINTAGE:
        raise ValueError(f"vintage is {vintage}; it must be {FIRST_VINTAGE} or later")
    if lacking := [name for name in RAW_NAMES.values() if name not in frame.columns]:
        raise ValueError(f"missing columns {', '.join(lacking)} of a PUMS person file")
    ids, texts = factor(frame["AGEP"])
    # A missing or unreadable age is not below 18: it stays and is reported.
    child = np.array([*(_number(text) < 18 for text in texts), False])[ids]
    frame = frame[~child]
    recoded, problems = {}, []
    for variable in ACS.variables:
        column, recode = RAW_NAMES[variable.name], _recode(variable.name, vintage)
        ids, texts = factor(frame[column])
        codes_of = [
            MISSING if text in MISSING_TEXTS else recode.get(_number(text), OUTSIDE)
            for text in texts
        ]
        codes = np.array([*codes_of, MISSING])[ids]
        outside = codes == OUTSIDE
        if outside.any():
            values = dict.fromkeys(texts[i] for i in ids[outside])
            problems.append(f"{column} has {shown(values)} ({rows_where(outside, frame.index)})")
            codes[outside] = MISSING
        recoded[variable.name] = pd.Categorical.from_codes(codes, categories=list(variable.levels))
    if problems:
        raise ValueError(
            f"values that a PUMS person file of vintage {vintage} cannot have: "
            f"{'; '.join(problems)}. MIL has codes 1 to 5 up to 2012 and 1 to 4 from 2013"
        )
    never, training = ((recoded["MIL"] == level).sum() for level in ("3", "2"))
    # "Never" is the answer of nine adults in ten. In a file from 2013 on it has the code that
    # up to 2012 means training only, and nothing else would show that the vintage is wrong.
    if vintage <= 2012 and training > never:
        raise ValueError(
            f"MIL has code 4 for {training:,} adults and code 5 for {never:,}: "
            f"the file looks like one of 2013 or later, vintage is {vintage}"
        )
    return pd.DataFrame(recoded, index=frame.index)


def _recode(name: str, vintage: int) -> dict[float, int]:
    """Map the raw codes of a column to the codes from 0 of a variable of Table 1."""
    match name:
        case "AGEP":
            return {age: (age >= 30) + (age >= 45) + (age >= 60) for age in range(18, 121)}
        case "RACE1P":
            return {1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 6: 5, 7: 3, 8: 3, 9: 4}
        case "SCHL":
            return {raw: (raw >= 16) + (raw >= 18) + (raw >= 20) for raw in range(1, 25)}
        case "WAOB":
            return {**{raw: raw - 1 for raw in range(1, 8)}, 8: 1}
        case "MIL":
            return {1: 0, 2: 0, 3: 0, 4: 1, 5: 2} if vintage <= 2012 else {1: 0, 2: 0, 3: 1, 4: 2}
        case "HISP":
            return {raw: int(raw >= 2) for raw in range(1, 25)}
    n_levels = len(ACS.variables[ACS.names.index(name)].levels)
    return {raw: raw - 1 for raw in range(1, n_levels + 1)}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def parse_acs(data: str) -> tuple[int, str]:
    """Return year and state of ``"acs:YEAR:STATE"``.

    Raises
    ------
    ValueError
        If it is not of that form, the year is before 2008, or the state is none.
    """
    match = re.fullmatch(r"acs:(\d{4}):([a-z]{2})", data.lower(), re.ASCII)
    if match and int(match[1]) >= FIRST_VINTAGE and match[2] in _STATES.split():
        return int(match[1]), match[2]
    raise ValueError(
        f"data is {data!r}; it must be acs:YEAR:STATE, with a year from {FIRST_VINTAGE} and the "
        "two letters of a state, dc or pr, as in acs:2012:nc"
    )


def download_acs(
    year: int, state: str, *, cache: Path | None = None, base_url: str = CENSUS
) -> Path:
    """Return the Census Bureau's 1-year person file of a state, downloaded unless in the cache.

    A transfer that breaks is resumed where the server allows it and repeated where it does not,
    here or in the next call. The file has its name only once it is a whole zip, whose checksums
    agree; the Census Bureau publishes no other. Calls at the same time each have a part of their
    own.

    Parameters
    ----------
    year : int
        2008 or later.
    state : str
        Two letters, lower case.
    cache : Path, optional
        Folder to keep files in; the user's cache folder where not given.
    base_url : str
        What comes before ``/YEAR/1-Year/csv_pSTATE.zip``.

    Returns
    -------
    Path
        The zip file.

    Raises
    ------
    ValueError
        If the server has no such file.
    ConnectionError
        If the server cannot be reached, or the transfer breaks again and again.
    """
    url = f"{base_url}/{year}/1-Year/csv_p{state}.zip"
    folder = cache or Path(user_cache_dir("srlib"))
    target = folder / "acs" / str(year) / f"csv_p{state}.zip"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part-{uuid.uuid4().hex[:8]}")
    _take_over(target, part)
    try:
        _download(url, part, year, state)
        if not target.exists():  # another call may have been faster, and Windows be reading it
            part.replace(target)
        part.unlink(missing_ok=True)
    finally:
        if part.exists() and part.stat().st_size:
            part.replace(_left(target))
        part.unlink(missing_ok=True)
    return target


def _left(target: Path) -> Path:
    """Return where the part of a file lies that nobody downloads any more."""
    return target.with_name(f"{target.name}.part")


def _take_over(target: Path, part: Path) -> None:
    """Make what an earlier call left of a file the part of this one alone.

    Renaming succeeds for only one of several processes, also on a disk that machines share.
    """
    now = time.time()
    for left in [_left(target), *target.parent.glob(f"{target.name}.part-*")]:
        with suppress(OSError):
            # A process that was killed has left its part under its own name.
            if left == _left(target) or now - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.rename(part)
                part.touch()  # no longer old
                return


def _download(url: str, part: Path, year: int, state: str) -> None:
    """Go on with a part until it is a whole zip file; see `download_acs`."""
    reason = ""
    for _ in range(_ATTEMPTS):
        try:
            _transfer(url, part, f"ACS {year} {state.upper()}")
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                raise ValueError(
                    f"the Census Bureau has no 1-year person file of {year} for {state.upper()} "
                    f"at {url} (status 404); it published none for 2020"
                ) from None
            # 416 says that nothing is left to send: what is here may be all.
            if error.code != 416:
                raise ConnectionError(f"{url} answered with status {error.code}") from None
        except urllib.error.URLError as error:
            raise ConnectionError(
                f"cannot reach {url} ({error.reason}): is there a network? The file can also be "
                "downloaded elsewhere and its path given as data"
            ) from None
        except (OSError, HTTPException) as error:
            reason = str(error)
            continue
        if _is_whole_zip(part):
            return
        reason = "what came is no whole zip file"
        part.unlink()
    raise ConnectionError(
        f"the transfer of {url} broke {_ATTEMPTS} times ({reason}); "
        "another run goes on from where it is"
    )


def _transfer(url: str, part: Path, label: str) -> None:
    part.touch()
    have = part.stat().st_size
    headers = {"User-Agent": "srlib", **({"Range": f"bytes={have}-"} if have else {})}
    request = urllib.request.Request(url, headers=headers)
    with (
        urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response,
        part.open("r+b") as file,
    ):
        # A server that does not know ranges answers 200 and sends everything again.
        start = have if response.status == 206 else 0
        length = response.headers["Content-Length"]
        total = start + int(length) if length else None
        file.seek(start)
        file.truncate()
        with progress(total, label, "B") as bar:
            bar.update(start)
            while block := response.read(1 << 16):
                file.write(block)
                bar.update(len(block))
        if total is not None and file.tell() != total:
            raise ConnectionError(f"{file.tell():,} of {total:,} bytes came")


def _is_whole_zip(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return False


def embedded_population(n: int, *, rng: np.random.Generator) -> Microdata:
    """Draw a population of adults with the variables of Table 1.

    It comes from conditional probability tables, a Bayesian network, that were estimated from
    the 2011 person file; its pairwise joint distributions are that file's within sampling error.
    It owes nothing to the latent classes of the synthesizer that is tried on it.

    Parameters
    ----------
    n : int
        Number of records, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Microdata
        n records of the schema ``ACS``.
    """
    if n < 1:
        raise ValueError(f"n is {n}; it must be at least 1")
    codes = np.zeros((n, len(ACS.names)), np.uint8)
    for child, parents, table in read_population(POPULATION.read_text("utf-8")):
        row = cell_numbers(codes[:, parents], ACS.n_levels[parents])
        cumulative = np.cumsum(table[:, :-1], axis=1)
        draw = rng.integers(PROBABILITY_UNITS, size=n)
        codes[:, child] = (draw[:, None] >= cumulative[row]).sum(axis=1)
    note = (
        f"A simulated population of {n:,} adults, drawn from probability tables estimated from "
        "the 2011 American Community Survey: no record is a real person's."
    )
    return Microdata(codes, ACS, (note,))


def read_population(text: str) -> list[tuple[int, list[int], NDArray[np.int64]]]:
    """Read the conditional probability tables of a population.

    Parameters
    ----------
    text : str
        For each variable a line ``NAME | PARENTS``, parents before children, then a line for each
        combination of the parents' levels in lexicographic order: the probabilities of all levels
        but the last, in units of 1/10,000. Lines that begin with # are comments.

    Returns
    -------
    list of (variable, parents, table)
        Positions in ``ACS``, and the (n_combinations, n_levels) probabilities in those units.
    """
    network: list[tuple[int, list[int], list[list[int]]]] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if "|" in line:
            name, parents = line.split("|")
            position = ACS.names.index
            network.append((position(name.strip()), [position(p) for p in parents.split()], []))
        else:
            row = [int(number) for number in line.split()]
            network[-1][2].append([*row, PROBABILITY_UNITS - sum(row)])
    return [(child, parents, np.array(rows)) for child, parents, rows in network]
