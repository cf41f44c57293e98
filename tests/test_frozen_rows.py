"""Every number of every row of assessments of known releases stays as it is.

`python tests/test_frozen_rows.py` freezes them. A number that moves is explained in the
changelog or it is a fault.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import KEYS, MAKERS, SCHEMA, TARGET, Codes, drawn, margins, samples
from comparison import other_than_locked

import srlib
from srlib.data.schema import Microdata

FILE = Path(__file__).with_name("frozen_rows.csv")
LOCK = Path(__file__).parents[1] / "requirements.lock"
GIVEN = {"keys": KEYS, "target": TARGET}
SOME = {name: MAKERS[name] for name in ("bootstrap", "half changed", "margins")}


def microdata(codes: Codes) -> Microdata:
    return Microdata(codes, SCHEMA)


def with_numbers(codes: Codes, seed: int, others: pd.DataFrame | None = None) -> Any:
    """Six variables, an age and an income; half of them from the others, if given."""
    rng = np.random.default_rng(seed)
    frame = microdata(codes).to_frame().iloc[:, :6]
    frame["years"] = rng.integers(18, 95, len(codes))
    frame["income"] = np.round(np.exp(rng.normal(10, 1, len(codes))), -2)
    if others is not None:
        half = len(codes) // 2
        frame.iloc[:half] = others.iloc[:half].to_numpy()
    return frame


def assessments() -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Name, original, releases and options of each assessment."""
    for n, seeds in {300: 3, 1_000: 1}.items():
        for seed in range(seeds):
            kinds = list(drawn(n, seed, MAKERS))
            releases = {name: microdata(released) for name, _, released in kinds}
            yield f"kinds, {n}, {seed}", microdata(kinds[0][1]), releases, GIVEN

    kinds = list(drawn(400, 7, SOME))
    original = microdata(kinds[0][1])
    releases = {name: microdata(released) for name, _, released in kinds}
    rng = np.random.default_rng(8)
    (holdout,) = samples(rng, 300)
    several = {"keys": [KEYS, KEYS[:2]], "target": [TARGET, "HICOV"]}
    yield "groups", original, releases, GIVEN | {"by": "SEX"}
    yield "keys and targets", original, releases, several
    yield "all keys", original, releases, {"target": TARGET}
    yield "holdout", original, releases, GIVEN | {"holdout": microdata(holdout)}
    synthesizers = {"sampled": samples(rng, 400, 500, 300)}
    synthesizers["margins"] = [margins(original.codes, rng) for _ in range(2)]
    named = {name: [*map(microdata, z)] for name, z in synthesizers.items()}
    yield "synthesizers", original, named, GIVEN
    few = microdata(original.codes[:15])
    yield "few", few, {"sample": microdata(holdout[:15])}, GIVEN

    people = with_numbers(original.codes, 1)
    others = {
        "sample": with_numbers(samples(rng, 400)[0], 2),
        "half": with_numbers(samples(rng, 400)[0], 3, people),
    }
    columns = [*people]
    numeric = {"keys": [columns[0], "years"], "target": columns[5]}
    yield "numbers", people, others, numeric | {"within": {"income": 2_000.0}}


def rows() -> pd.DataFrame:
    """Return the tables of all assessments, one below the other."""
    tables = []
    for name, original, releases, options in assessments():
        rng = np.random.default_rng(1)
        table = srlib.assess(original, releases, rng=rng, **options).table
        tables.append(table.assign(assessment=name))
    return pd.concat(tables, ignore_index=True)


def test_every_number_of_every_row_stays_as_it_is() -> None:
    frozen = pd.read_csv(FILE, keep_default_na=False, na_values=["NaN"])
    now = rows()
    if other_than_locked(LOCK):  # trees of another version predict other numbers
        frozen = frozen[frozen["question"] != "inference"].reset_index(drop=True)
        now = now[now["question"] != "inference"].reset_index(drop=True)
    assert len(frozen.groupby(["assessment", "release"])) >= 40
    pd.testing.assert_frame_equal(
        now, frozen, check_exact=False, rtol=1e-9, atol=1e-12, check_dtype=False
    )


def test_a_changed_number_is_seen() -> None:
    frozen = pd.read_csv(FILE, keep_default_na=False, na_values=["NaN"])
    changed = frozen.assign(z=frozen["z"] * (1 + 1e-6))
    with pytest.raises(AssertionError, match="z"):
        pd.testing.assert_frame_equal(changed, frozen, rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    rows().to_csv(FILE, index=False, na_rep="NaN")
