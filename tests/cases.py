"""Releases of known kinds, and what was found of each: `python tests/cases.py` freezes them.

The frozen numbers (`cases.json`) were computed by three modules of which one table
became the heir; a number that moves is explained in the changelog or it is a fault.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from ladder import LADDER, Codes, bootstrap, copy, independent, partly_copied, trees
from scipy import stats

from srlib.assessment import ratings, verdict
from srlib.assessment.attribute import attribute_disclosure
from srlib.assessment.copies import Copies, copies
from srlib.assessment.counts import Row
from srlib.assessment.disclosure import Attack, Disclosure
from srlib.assessment.files import Files
from srlib.assessment.identity import identity_disclosure
from srlib.assessment.inference import inference
from srlib.data import microdata

FILE = Path(__file__).with_suffix(".json")
POPULATION = microdata.embedded_population(200_000, rng=np.random.default_rng(1))
SCHEMA = POPULATION.schema
KEYS = ("SEX", "AGEP", "RACE1P", "MAR")
TARGET = "DIS"
PEOPLE, LEVELS = POPULATION.codes, SCHEMA.n_levels.tolist()
SIZES = {500: 8, 2_000: 4, 10_000: 2}  # records, seeds
RUNGS = {500: 4, 10_000: 1, 100_000: 1}


def samples(rng: np.random.Generator, *sizes: int) -> list[Codes]:
    """Samples of the population that have no person in common."""
    rows = rng.choice(len(PEOPLE), sum(sizes), replace=False)
    return np.split(PEOPLE[rows], np.cumsum(sizes)[:-1])


def margins(x: Codes, rng: np.random.Generator) -> Codes:
    """A release of the same size that has nothing but the margins."""
    return independent(x, SCHEMA.n_levels, rng)


def copula(x: Codes, rng: np.random.Generator) -> Codes:
    """A Gaussian copula of the margins and the rank correlations of the codes."""
    n = len(x)
    ranks = np.column_stack([stats.rankdata(column) for column in x.T])
    correlation = np.nan_to_num(np.corrcoef(stats.norm.ppf((ranks - 0.5) / n).T))
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    draws = rng.standard_normal(x.shape) * np.sqrt(values.clip(0)) @ vectors.T
    places = (stats.norm.cdf(draws / draws.std(axis=0)) * n).astype(int).clip(max=n - 1)
    return np.take_along_axis(np.sort(x, axis=0), places, axis=0)


SURVEY = """variables:
- {name: job, levels: {a: "<b>clerk</b>", b: smith, c: cook}}
- {name: town, levels: [north, south, east, west]}
- {name: sick, levels: ["no", "yes"]}
"""


def records(n: int, seed: int) -> pd.DataFrame:
    """A small survey of three variables, of which the first tells something of the last."""
    rng = np.random.default_rng(seed)
    job, town = rng.integers(0, 3, n), rng.choice(["north", "south", "east", "west"], n)
    sick = np.where(rng.random(n) < 0.2 + 0.3 * job, "yes", "no")
    return pd.DataFrame({"job": np.array(list("abc"))[job], "town": town, "sick": sick})


def table(*rows: str) -> Codes:
    """Codes of records that are written as digits."""
    return np.array([[int(code) for code in row] for row in rows])


@st.composite
def two_tables(draw: st.DrawFn) -> tuple[Codes, Codes, list[int]]:
    """Two small tables of three variables, and their numbers of levels."""
    levels = draw(st.lists(st.integers(2, 3), min_size=3, max_size=3))
    record = st.tuples(*(st.integers(0, n - 1) for n in levels))
    both = [draw(st.lists(record, min_size=2, max_size=12)) for _ in range(2)]
    return np.array(both[0]), np.array(both[1]), levels


def changed(
    x: Codes, n_levels: Any, rng: np.random.Generator, *, share: float
) -> Codes:
    """The original in another order, two values of a share of the records drawn anew."""
    z = rng.permutation(x)
    rows = np.arange(round(share * len(x)))
    for _ in range(2):
        at = rng.integers(x.shape[1], size=len(rows))
        z[rows, at] = rng.integers(np.asarray(n_levels)[at])
    return rng.permutation(z)


MAKERS = {
    "copy": copy,
    "bootstrap": bootstrap,
    "tenth copied": partial(partly_copied, share=0.1),
    "all changed": partial(changed, share=1.0),
    "half changed": partial(changed, share=0.5),
    "trees": partial(trees, min_leaf=5),
    "margins": independent,
}


def drawn(n: int, seed: int, makers: Any) -> Iterator[tuple[str, Codes, Codes]]:
    """Name, original and release of each kind, and the other half of one table last."""
    rng = np.random.default_rng(seed)
    original, other = samples(rng, n, n)
    for name, make in makers.items():
        yield name, original, make(original, SCHEMA.n_levels, rng)
    yield "half of one table", original, other


def cases(largest: int = 100_000) -> Iterator[tuple[str, Codes, Codes]]:
    """All cases of at most that many records, by name."""
    for kind, sizes, makers in (("case", SIZES, MAKERS), ("ladder", RUNGS, LADDER)):
        for n, seeds in ((n, seeds) for n, seeds in sizes.items() if n <= largest):
            for seed in range(seeds):
                for name, original, released in drawn(n, seed, makers):
                    yield f"{kind}, {n}, {seed}, {name}", original, released


def questions(
    original: Codes,
    released: Codes,
    target: str = TARGET,
    few: bool = True,
    guess: bool = False,
) -> dict[str, Row]:
    """Answers to the questions that decide, by few keys or by all but the target."""
    names, wanted = SCHEMA.names, SCHEMA.names.index(target)
    seen = SCHEMA.variables[wanted].codes_without_value
    keys = [
        k for k, name in enumerate(names) if k != wanted and (name in KEYS or not few)
    ]
    files = Files(original, released, LEVELS)
    attack = Attack(keys, wanted, seen)
    of: dict[str, Disclosure] = {
        "identity": identity_disclosure(files, keys),
        "attribute": attribute_disclosure(files, attack),
    }
    if guess:
        of["inference"] = inference(files, attack, np.random.default_rng(1))
    return {name: ratings.summarize([one]) for name, one in of.items()}


def advice(found: Copies, questions: Mapping[str, Row]) -> str:
    """What to do by copies and some questions alone, of a release as useful as a fresh sample."""
    asked: Row = {"group": "all", "in_verdict": True, "target": TARGET}
    rows = [asked | {"question": q} | row for q, row in questions.items()]
    ratings.rate(rows, family=False)
    fresh = {
        "question": "one-way tables",
        "rating": "like a fresh sample",
        "estimate": 0.0,
        "baseline": 0.0,
        "z": 0.0,
    }
    frame = pd.DataFrame([*rows, *ratings.copy_rows([found]), fresh])
    return verdict.judge(
        "", frame.assign(in_verdict=frame["in_verdict"].notna())
    ).verdict


def found(original: Codes, released: Codes) -> dict[str, Any]:
    """Value, baseline, their errors and z of each question, and the advice by the risks alone."""
    copied, of = (
        copies(Files(original, released, LEVELS)),
        questions(original, released),
    )
    repeats, handed_out, hidden = (
        copied.rows[q]
        for q in ("identical records", "copied uniques", "undetected copies")
    )
    shares = [repeats[name] for name in ("estimate", "baseline", "se", "baseline_se")]
    more = handed_out["z_permutation"], handed_out["estimate"], hidden["estimate"]
    row: dict[str, Any] = {"identical records": [*shares, *more]}
    for name, one in of.items():
        z = np.fmax(one["z"], one["z_permutation"])
        shares = [
            one[part]
            for part in ("estimate", "fresh_sample", "margins", "se", "fresh_sample_se")
        ]
        row[name] = [*shares, z, one["n"]]
    return row | {"verdict": advice(copied, of)}


if __name__ == "__main__":
    frozen = {}
    for name, original, released in cases():
        frozen[name] = found(original, released)
        print(name, frozen[name]["verdict"], flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in frozen.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
