"""American Community Survey: the recode, the download, the embedded population."""

import io
import itertools
import socket
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from refusals import refusals, value_error
from scipy import stats
from test_microdata import write_frame

from srlib.data import acs
from srlib.data.acs import ACS, download_acs, embedded_population, recode_acs
from srlib.data.codes import cell_numbers, distinct
from srlib.data.microdata import load, read_table, read_uncoded
from srlib.margins import two_way_table

NC = "acs:2012:nc"
PERSON_FILE = Path(__file__).parents[2] / "shared/data/acs2011_pums_person_sample.csv"


def recoded(*codes):
    """The recoded values of the raw codes 1, 2, ..."""
    return dict(enumerate(codes, start=1))


AGES = {
    18: 1,
    29: 1,
    30: 2,
    44: 2,
    45: 3,
    59: 3,
    60: 4,
    99: 4,
}
SCHOOLING = {
    1: 1,
    15: 1,
    16: 2,
    17: 2,
    18: 3,
    19: 3,
    20: 4,
    24: 4,
}
# Columns of the vintage 2012, and the value that each raw code becomes.
IN_2012 = {
    "AGEP": AGES,
    "RAC1P": recoded(1, 2, 3, 4, 4, 6, 4, 4, 5),
    "SCHL": SCHOOLING,
    "WAOB": recoded(1, 2, 3, 4, 5, 6, 7, 2),
    "HISP": {1: 1, 2: 2, 24: 2},
    "MAR": recoded(1, 2, 3, 4, 5),
    "MIL": recoded(1, 1, 1, 2, 3),
    **dict.fromkeys(["SEX", "LANX", "DIS", "HICOV"], recoded(1, 2)),
    **dict.fromkeys(["WKL", "MIG", "SCH"], recoded(1, 2, 3)),
}
FOUR_CODES = recoded(1, 1, 2, 3)  # of military service, from 2013
ADULT = dict.fromkeys(IN_2012, 1) | {"AGEP": 40, "SCHL": 16, "MIL": 5}
RECODED = [
    ("MIL", 2008, IN_2012["MIL"]),
    ("MIL", 2013, FOUR_CODES),
    ("MIL", 2023, FOUR_CODES),
    *((column, 2012, values) for column, values in IN_2012.items()),
]


def persons(**columns):
    """Return adults that differ in the given columns."""
    n = len(next(iter(columns.values())))
    return pd.DataFrame(ADULT, index=range(n)).assign(**columns)


@pytest.mark.parametrize(("column", "vintage", "values"), RECODED)
def test_recode_of_each_code(column, vintage, values):
    result = recode_acs(persons(**{column: list(values)}), vintage)
    name = "RACE1P" if column == "RAC1P" else column
    assert result[name].tolist() == list(map(str, values.values()))
    assert tuple(result.columns) == ACS.names


test_bad_input = refusals(
    {
        r"invalid codes of vintage 2013: MIL has '5' \(rows 0, 2\)": lambda: recode_acs(
            persons(MIL=[5, 4, 5]), 2013
        ),
        "2013 or later: MIL has code 4 for 3 adults and code 5 for": lambda: recode_acs(
            persons(MIL=[4, 4, 2, 4]), 2012
        ),
        "vintage is 2007": lambda: recode_acs(persons(MIL=[5]), 2007),
        r"SEX has '3' \(row 1\); AGEP has 'x' \(row 0\)": lambda: recode_acs(
            persons(SEX=[1, 3, 2], AGEP=["x", 40, 40]), 2012
        ),
    }
)


def test_children_are_left_out_and_missing_values_of_adults_stay_missing():
    families = persons(
        AGEP=[17, 18, 0, 80], MIL=[None, 5, None, 5], WKL=["", "1", "", "2"]
    )
    assert recode_acs(families, 2012).index.tolist() == [1, 3]
    adults = persons(AGEP=[None, 18, 30], MIL=[5.0, None, 5.0])
    is_missing = recode_acs(adults, 2012).isna()
    assert is_missing["AGEP"].tolist() == [True, False, False]
    assert is_missing["MIL"].tolist() == [False, True, False]


def test_a_raw_file_with_padded_codes_is_recognized(tmp_path):
    path = tmp_path / "persons.csv"
    frame = persons(SCHL=["01", "16", 1], HISP=["01", "02", 1], AGEP=[40, 40, 5])
    write_frame(frame.assign(PUMA=100), path)

    table = read_table(path)

    assert table.schema == ACS
    assert ACS.decode(table.codes, labels=False)["SCHL"].tolist() == ["1", "2"]
    left_out, recode = table.notes
    assert left_out == "Columns left out: 'PUMA'."
    assert "vintage 2012; records of persons under 18 left out: 1 of 3." in recode
    assert len(read_uncoded(path).frame) == 3
    assert len(read_uncoded(path, "acs").frame) == 2


def test_errors_of_a_raw_file_name_its_lines(tmp_path):
    path = tmp_path / "persons.csv"
    write_frame(persons(AGEP=[5, 6]), path)
    with value_error("the table has 0 records"):
        read_table(path)
    write_frame(persons(AGEP=[5, 40, 40], MIL=["", 5, 4]), path)
    with value_error(r"persons\.csv: .* vintage 2013: .*MIL has '5' \(line 3\)"):
        read_table(path, ACS, vintage=2013)


def test_a_recoded_file_is_read_by_its_schema(tmp_path):
    path = tmp_path / "a.csv"
    table = embedded_population(50, rng=default_rng(0))
    write_frame(table.to_frame(labels=False).assign(RAC1P=9), path)
    read = read_table(path, "acs", ignore_columns=True)
    assert_array_equal(read.codes, table.codes)


def population(seed):
    """The codes of 10,000 people."""
    return embedded_population(10_000, rng=default_rng(seed)).codes


@pytest.mark.parametrize("seed", range(5))
def test_population_is_reproducible_and_as_sparse_as_the_paper_data(seed):
    table = load("", rng=default_rng(seed))
    codes = table.codes
    assert_array_equal(codes, population(seed))
    assert (codes != population(9)).any()
    assert codes.shape == (10_000, 14)
    assert codes.dtype == np.uint8
    assert table.schema == ACS
    assert ACS.n_cells == 8_709_120
    assert "no record is a real person's" in table.notes[0]
    assert [len(np.unique(column)) for column in codes.T] == ACS.n_levels.tolist()
    _, counts, _ = distinct(codes)
    assert 3000 <= len(counts) <= 4500
    assert 2000 <= (counts == 1).sum() <= 3300
    assert 100 <= counts.max() <= 350


def test_population_follows_its_tables():
    """Each variable given its parents, where records are many, at 1 in 10,000."""
    codes = embedded_population(200_000, rng=default_rng(4)).codes
    children = []
    statistic = 0.0
    degrees = 0.0
    for child, parents, table in acs.read_population():
        observed = np.zeros(table.shape)
        row = cell_numbers(codes[:, parents], ACS.n_levels[parents])
        np.add.at(observed, (row, codes[:, child]), 1)
        n_records = observed.sum(axis=1, keepdims=True)
        expected = n_records * table / acs.PROBABILITY_UNITS
        assert not observed[expected == 0].any()
        counted = (expected > 0) & (n_records > 2000)
        deviations = (observed - expected)[counted]
        statistic += (deviations**2 / expected[counted]).sum()
        degrees += counted.sum() - counted.any(axis=1).sum()
        children.append(child)
    assert sorted(children) == list(range(14))
    assert degrees > 100
    assert stats.chi2.sf(statistic, degrees) > 1e-4


@pytest.mark.skipif(not PERSON_FILE.exists(), reason="the person file is not here")
def test_pairs_of_the_population_are_within_sampling_error_of_the_person_file():
    """All 91 pairs of variables, two-sample chi-square at 5 % with Bonferroni."""
    file = read_table(PERSON_FILE, vintage=2011).codes
    _, multiplicities, _ = distinct(file)
    assert file.shape == (4942, 14)
    assert len(multiplicities) == 2376
    assert multiplicities.max() == 73
    assert np.bincount(multiplicities)[1:4].tolist() == [1771, 294, 95]

    independent = default_rng(0).permuted(np.tile(file, (2, 1)), axis=0)
    assert smallest_p_value(file, independent) < 1e-50
    for seed in range(5):
        assert smallest_p_value(file, population(seed)) > 0.05 / 91


def smallest_p_value(first, second):
    """Return the smallest p-value of all pairs; rare cells are pooled."""
    p_values = []
    levels = ACS.n_levels.tolist()
    for a, b in itertools.combinations(range(14), 2):
        tables = [two_way_table(codes, levels, a, b) for codes in (first, second)]
        counts = np.stack(tables).reshape(2, -1)
        frequent = stats.contingency.expected_freq(counts).min(axis=0) >= 5
        rare = counts[:, ~frequent].sum(axis=1)
        pooled = np.column_stack([counts[:, frequent], rare])
        pooled = pooled[:, pooled.sum(axis=0) > 0]
        p_values.append(stats.chi2_contingency(pooled, correction=False).pvalue)
    return min(p_values)


def person_zip(member):
    rng = default_rng(2)
    ages = rng.integers(0, 90, 4000)
    frame = persons(AGEP=ages, SERIALNO=rng.integers(0, 10**9, 4000))
    frame.loc[ages < 18, ["MIL", "WKL"]] = None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ACS2012_PUMS_README.pdf", b"%PDF")
        archive.writestr("dictionary.csv", "RT,name")
        archive.writestr(member, frame.to_csv(index=False))
    return buffer.getvalue()


BODY = person_zip("ss12pnc.csv")
WRONG_BIT = bytearray(BODY)
WRONG_BIT[len(BODY) // 2] ^= 1


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of downloaded files."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(acs, "user_cache_dir", lambda _: folder)
    return folder


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A file that a server has for the address of the Census Bureau."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    file = tmp_path / "served/2012/1-Year/csv_pnc.zip"
    file.parent.mkdir(parents=True)
    file.write_bytes(BODY)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setattr(acs, "CENSUS", url)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield file
        server.shutdown()
        thread.join()


def test_simultaneous_downloads_do_not_meet_and_later_ones_are_cached(
    served, cache, capsys
):
    with ThreadPoolExecutor(3) as pool:
        ((path, year),) = set(pool.map(download_acs, [NC] * 3))

    assert path.read_bytes() == BODY
    assert year == 2012
    assert list(cache.glob("acs/2012/*")) == [path]
    served.unlink()
    assert download_acs("acs:2012:NC") == (path, 2012)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "body", [WRONG_BIT, BODY[:5000], b"<html>Please sign in</html>"]
)
def test_what_is_no_whole_zip_is_not_kept_and_asked_for_again(served, cache, body):
    message = "1-year person file of 2012 for NC could not be downloaded"
    served.write_bytes(body)
    with pytest.raises(ConnectionError, match=message):
        download_acs(NC)
    assert not list(cache.glob("acs/2012/*"))
    served.write_bytes(BODY)
    assert download_acs(NC)[0].read_bytes() == BODY


@pytest.mark.usefixtures("served", "cache")
def test_unpublished_files_and_unreachable_servers_are_told_apart(monkeypatch):
    with value_error(r"not published a 1-year person file of 2020 for NC: .*\(404\)"):
        download_acs("acs:2020:nc")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setattr(acs, "CENSUS", url)
        message = r"\(ConnectionError\). Is there a network"
        with pytest.raises(ConnectionError, match=message):
            download_acs(NC)


@pytest.mark.parametrize(
    "data", ["2012", "12:nc", "2007:nc", "2012:usa", "2012:../", "²012:nc"]
)
def test_wrong_names_of_person_files_are_refused(data):
    with value_error("must be acs:YEAR:STATE"):
        download_acs(f"acs:{data}")


def test_load_recodes_a_person_file(cache):
    for year, member in ((2012, "ss12pnc.csv"), (2019, "psam_p37.csv")):
        file = cache / f"acs/{year}/csv_pnc.zip"
        file.parent.mkdir(parents=True)
        file.write_bytes(person_zip(member))

    table = load("acs:2012:NC", rng=default_rng(0), n_records=1000)

    assert table.codes.shape == (1000, 14)
    assert table.schema == ACS
    assert "vintage 2012" in table.notes[1]
    assert "random sample of 1,000" in table.notes[2]
    # The vintage is the year.
    with value_error("vintage 2019: MIL has '5"):
        load("acs:2019:nc", rng=default_rng(0), vintage=2012)
