"""The account for the file: what was assumed is what was given; hashes are of what was compared."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import srlib
from srlib.assessment import Assessment, account, assumptions, fingerprints, submit

NOTEBOOK = Path(__file__).parents[1] / "notebooks/assess.py"


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {"job": ["cook", "smith"], "town": ["north", "south", "west"], "sick": ["no", "yes"]}
    return pd.DataFrame({name: rng.choice(levels, n) for name, levels in columns.items()})


def assessed(**chosen: object) -> Assessment:
    given: dict[str, object] = {"released": people(60, 2), "quick": True} | chosen
    return srlib.assess(people(60, 1), rng=np.random.default_rng(1), **given)  # type: ignore[arg-type]


def values(found: Assessment) -> dict[str, str]:
    table = assumptions(found)
    assert table["follows"].str.fullmatch(r"[A-Z].*\.").all()
    return dict(zip(table["assumption"], table["value"], strict=True))


def test_assumptions_of_a_plain_call() -> None:
    told = values(assessed())
    assert told["known to the intruder"] == "2 of 3 variables: job, town"
    assert told["wanted"] == "sick"
    assert told["categories"] == "3 variables of 2 to 3 levels"
    assert told["missing values"] == "no variable has a level for them"
    assert told["people held out"] == "none in the verdict"
    assert told["releases"] == "1 of 60 records"
    assert told["intruder's model"] == "left out"
    assert told["limits"] == "the report's own thresholds"


def test_assumptions_follow_what_was_given() -> None:
    lacking = people(60, 1).replace({"town": {"west": None}})
    found = srlib.assess(
        lacking,
        [people(60, 2), people(90, 3)],
        ["sick"],
        "town",
        holdout=people(30, 4),
        same_generator=True,
        quick=True,
        rules={"copies": {"worst_level": "none"}, "identity": {"rest_at_most": 0.05}},
        rng=np.random.default_rng(1),
    )
    told = values(found)
    n = int(lacking["town"].notna().sum())
    assert told["known to the intruder"] == "1 of 3 variables: sick"
    assert told["wanted"] == f"town; {n} of 60 people have a value"
    assert told["missing values"] == "a level of their own in 1 of 3 variables"
    assert told["people held out"] == "30, of the same population"
    thinned = "larger ones are thinned to the original's size"
    assert told["releases"] == f"2 of 60 to 90 records; {thinned}, draws of one generator"
    assert told["limits"] == "copies worst_level none; identity rest_at_most 0.05"


def test_further_sets_of_keys_and_a_tolerance_are_told() -> None:
    numbers = people(60, 1).assign(wage=np.random.default_rng(2).integers(0, 1000, 60))
    keys = [["job", "town"], ["town"]]
    found = srlib.assess(
        numbers, numbers[::-1], keys, "wage", tolerance=5, quick=True, rng=np.random.default_rng(1)
    )
    told = values(found)
    assert told["known to the intruder"] == "2 of 4 variables: job, town; further sets compared: 1"
    assert told["wanted"] == "wage; numbers within 5 count as told"


def test_many_keys_are_counted_and_some_are_named() -> None:
    wide = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (40, 12)).astype(str))
    wide.columns = [f"v{k}" for k in range(12)]
    told = values(srlib.assess(wide, wide, quick=True, rng=np.random.default_rng(1)))
    keys = ", ".join(f"v{k}" for k in range(8))
    assert told["known to the intruder"] == f"11 of 12 variables: {keys} and 3 more"


def test_hashes_are_of_the_tables_whatever_they_came_from(tmp_path: Path) -> None:
    original, released = people(60, 1), people(50, 2)
    original.to_csv(tmp_path / "a.csv", index=False)
    of_frames = fingerprints(submit(original, {"made": released}, holdout=people(30, 3)))
    assert of_frames[["table", "records"]].to_numpy().tolist() == [
        ["original", 60],
        ["made", 50],
        ["people held out", 30],
    ]
    of_file = fingerprints(submit(tmp_path / "a.csv", {"made": released}))
    assert of_file["sha256"].tolist() == of_frames["sha256"].tolist()[:2]
    levels = {"job": ["cook", "smith"], "town": ["north", "south", "west"], "sick": ["no", "yes"]}
    text = json.dumps(list(levels.items()), separators=(",", ":")) + "\n"
    codes = b"".join(
        levels[name].index(value).to_bytes(4, "little")
        for row in original.to_dict("records")
        for name, value in row.items()
    )
    assert of_file["sha256"][0] == hashlib.sha256(text.encode() + codes).hexdigest()
    moved = fingerprints(submit(original[::-1], {"made": released}))
    assert moved["sha256"][0] != of_file["sha256"][0]
    assert moved["sha256"][1] == of_file["sha256"][1]


def test_the_page_has_it() -> None:
    found = assessed()
    page = found.to_html()
    assert "2 of 3 variables: job, town" in page
    assert fingerprints(found.submission)["sha256"][0] in page
    assert f"numpy {np.__version__}" in page


@pytest.mark.parametrize(("premise", "told"), account._PREMISES.items())
def test_every_premise_has_words(premise: str, told: str) -> None:
    from srlib.assessment import leakage

    assert told
    assert not premise or f'"{premise}"' in Path(leakage.__file__).read_text(encoding="utf-8")
