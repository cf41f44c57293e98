"""Every number of every row of assessments of known releases stays as it is.

`python tests/test_frozen_rows.py` freezes them. A number that moves is explained in the
changelog or it is a fault.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import KEYS, MAKERS, SCHEMA, TARGET, drawn, margins, samples
from comparison import other_than_locked
from numpy.random import default_rng
from toy import ROOT

import srlib
from srlib.data.schema import Microdata

FILE = Path(__file__).with_name("frozen_rows.csv")
GIVEN = {"keys": KEYS, "target": TARGET}
SOME = ("bootstrap", "half changed", "margins")
SOME_MAKERS = {name: MAKERS[name] for name in SOME}

assert_equal = partial(
    pd.testing.assert_frame_equal, rtol=1e-9, atol=1e-12, check_dtype=False
)


def microdata(codes):
    return Microdata(codes, SCHEMA)


def with_numbers(codes, seed):
    """Six variables, an age and an income."""
    rng = default_rng(seed)
    frame = microdata(codes).to_frame().iloc[:, :6]
    n = len(codes)
    frame["years"] = rng.integers(18, 95, n)
    frame["income"] = np.exp(rng.normal(10, 1, n)).round(-2)
    return frame


def drawn_microdata(n, seed, makers):
    """An original, and its releases by name."""
    releases = {}
    for name, codes, released in drawn(n, seed, makers):
        releases[name] = microdata(released)
        original = microdata(codes)
    return original, releases


def assessments():
    """Name, original, releases and options of each assessment."""
    drawings = [
        (300, 0),
        (300, 1),
        (300, 2),
        (1_000, 0),
    ]
    for n, seed in drawings:
        original, releases = drawn_microdata(n, seed, MAKERS)
        yield f"kinds, {n}, {seed}", original, releases, GIVEN

    original, releases = drawn_microdata(400, 7, SOME_MAKERS)
    rng = default_rng(8)
    holdout = microdata(*samples(rng, 300))
    several = {"keys": [KEYS, KEYS[:2]], "target": [TARGET, "HICOV"]}
    yield "groups", original, releases, GIVEN | {"by": "SEX"}
    yield "keys and targets", original, releases, several
    yield "all keys", original, releases, {"target": TARGET}
    yield "holdout", original, releases, GIVEN | {"holdout": holdout}

    sampled = [microdata(codes) for codes in samples(rng, 400, 500, 300)]
    codes = original.codes
    independent = [microdata(margins(codes, rng)) for _ in range(2)]
    synthesizers = {"sampled": sampled, "margins": independent}
    yield "synthesizers", original, synthesizers, GIVEN
    few = microdata(codes[:15])
    sample = microdata(holdout.codes[:15])
    yield "few", few, {"sample": sample}, GIVEN

    people = with_numbers(codes, 1)
    sample = with_numbers(samples(rng, 400)[0], 2)
    half = with_numbers(samples(rng, 400)[0], 3)
    half[:200] = people[:200]
    options = {
        "keys": [people.columns[0], "years"],
        "target": people.columns[5],
        "within": {"income": 2_000.0},
    }
    yield "numbers", people, {"sample": sample, "half": half}, options


def rows():
    """The tables of all assessments, one below the other."""
    tables = []
    for name, original, releases, options in assessments():
        table = srlib.assess(original, releases, rng=default_rng(1), **options).table
        tables.append(table.assign(assessment=name))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture
def frozen():
    return pd.read_csv(FILE, keep_default_na=False, na_values=["NaN"])


def test_every_number_of_every_row_stays_as_it_is(frozen):
    assert len(frozen.groupby(["assessment", "release"])) >= 40
    now = rows()
    # Trees of another version predict other numbers.
    if other_than_locked(ROOT / "requirements.lock"):
        frozen = frozen.query("question != 'inference'")
        now = now.query("question != 'inference'")
    assert_equal(now, frozen)


def test_a_changed_number_is_seen(frozen):
    changed = frozen.assign(z=frozen["z"] * (1 + 1e-6))
    with pytest.raises(AssertionError, match="z"):
        assert_equal(changed, frozen)


if __name__ == "__main__":
    rows().to_csv(FILE, index=False, na_rep="NaN")
