"""Releases of known kinds and their risks: `python tests/cases.py` freezes the risks.

A number that moves from the frozen one (`cases.json`) is a fault, or it is explained in
the changelog.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from ladder import (
    LADDER,
    bootstrap,
    copy,
    independent,
    partly_copied,
    trees,
)
from numpy.random import default_rng
from scipy import stats

from srlib.assessment import ratings, verdict
from srlib.assessment.attribute import attribute_disclosure
from srlib.assessment.copies import copies
from srlib.assessment.disclosure import Attack
from srlib.assessment.files import Files
from srlib.assessment.identity import identity_disclosure
from srlib.assessment.inference import inference
from srlib.data import microdata

FILE = Path(__file__).with_suffix(".json")
POPULATION = microdata.embedded_population(200_000, rng=default_rng(1))
SCHEMA = POPULATION.schema
SHARES_AND_ERRORS = (
    "estimate",
    "fresh_sample",
    "margins",
    "se",
    "fresh_sample_se",
)
KEYS = ("SEX", "AGEP", "RACE1P", "MAR")
TARGET = "DIS"
PEOPLE = POPULATION.codes
LEVELS = SCHEMA.n_levels.tolist()
N_SEEDS = {500: 8, 2_000: 4, 10_000: 2}  # by number of records
N_SEEDS_LADDER = {500: 4, 10_000: 1, 100_000: 1}


def samples(rng, *sizes):
    """Samples of the population that have no person in common."""
    rows = rng.choice(len(PEOPLE), sum(sizes), replace=False)
    return np.split(PEOPLE[rows], np.cumsum(sizes)[:-1])


def is_unique(x):
    """Return which records are sample uniques on all variables, (n,)."""
    return ~pd.DataFrame(x).duplicated(keep=False).to_numpy()


def margins(x, rng):
    """A release of the same size that has nothing but the margins."""
    return independent(x, SCHEMA.n_levels, rng)


def copula(x, rng):
    """A Gaussian copula of the margins and the rank correlations of the codes."""
    n = len(x)
    normal = stats.norm.ppf((stats.rankdata(x, axis=0) - 0.5) / n)
    correlation = np.nan_to_num(np.corrcoef(normal.T))
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    scale = np.sqrt(values.clip(0))
    draws = rng.standard_normal(x.shape) * scale @ vectors.T
    uniform = stats.norm.cdf(draws / draws.std(axis=0))
    positions = (uniform * n).astype(int).clip(max=n - 1)
    return np.take_along_axis(np.sort(x, axis=0), positions, axis=0)


SURVEY = """variables:
- {name: job, levels: {a: "<b>clerk</b>", b: smith, c: cook}}
- {name: town, levels: [north, south, east, west]}
- {name: sick, levels: ["no", "yes"]}
"""


def records(n, seed):
    """A small survey in which the last variable depends on the first."""
    rng = default_rng(seed)
    job = rng.integers(0, 3, n)
    town = rng.choice(["north", "south", "east", "west"], n)
    sick = np.where(rng.random(n) < 0.2 + 0.3 * job, "yes", "no")
    return pd.DataFrame(
        {
            "job": np.array([*"abc"])[job],
            "town": town,
            "sick": sick,
        }
    )


def table(*rows):
    """Codes of records that are written as digits."""
    return np.array([[int(code) for code in row] for row in rows])


@st.composite
def two_tables(draw):
    """Two small tables of three variables, and their numbers of levels."""
    levels = draw(st.tuples(*[st.integers(2, 3)] * 3))
    record = st.tuples(*(st.integers(0, n - 1) for n in levels))
    tables = st.lists(record, min_size=2, max_size=12)
    return np.array(draw(tables)), np.array(draw(tables)), levels


def changed(x, n_levels, rng, *, share):
    """The original in another order, two values of a share of the records redrawn."""
    z = rng.permutation(x)
    rows = np.arange(round(share * len(x)))
    for _ in range(2):
        columns = rng.integers(x.shape[1], size=len(rows))
        z[rows, columns] = rng.integers(np.asarray(n_levels)[columns])
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


def drawn(n, seed, makers):
    """Name, original and release of each kind, and a fresh sample last."""
    rng = default_rng(seed)
    original, fresh = samples(rng, n, n)
    for name, make in makers.items():
        yield name, original, make(original, SCHEMA.n_levels, rng)
    yield "half of one table", original, fresh


def cases(largest=100_000):
    """All cases of at most that many records, by name."""
    groups = ("case", N_SEEDS, MAKERS), ("ladder", N_SEEDS_LADDER, LADDER)
    for group, n_seeds, makers in groups:
        for n in n_seeds:
            for seed in range(n_seeds[n] if n <= largest else 0):
                for name, original, released in drawn(n, seed, makers):
                    yield f"{group}, {n}, {seed}, {name}", original, released


def find_copies(
    original,
    released,
    levels=LEVELS,
    **more,
):
    """The test for copies; a holdout or exact numbers can be given by name."""
    return copies(Files(original, released, levels, **more))


def risk_rows(
    original,
    released,
    target=TARGET,
    keys=KEYS,
    *,
    with_inference=False,
):
    """Rows of the questions about people, by question; the target is no key."""
    names = SCHEMA.names
    wanted = names.index(target)
    known = [k for k, name in enumerate(names) if name in keys and k != wanted]
    attack = Attack(known, wanted, SCHEMA.variables[wanted].codes_without_value)
    files = Files(original, released, LEVELS)
    disclosures = {
        "identity": identity_disclosure(files, known),
        "attribute": attribute_disclosure(files, attack),
    }
    if with_inference:
        disclosures["inference"] = inference(files, attack, default_rng(1))
    return {name: ratings.summarize([d]) for name, d in disclosures.items()}


def verdict_by_risks(copied, risks):
    """The verdict on a release that is as useful as a fresh sample."""
    common = {"group": "all", "in_verdict": True, "target": TARGET}
    rows = [common | {"question": question} | row for question, row in risks.items()]
    ratings.rate(rows, family=False)
    fresh = {
        "question": "one-way tables",
        "rating": "like a fresh sample",
        "estimate": 0.0,
        "baseline": 0.0,
        "z": 0.0,
    }
    frame = pd.DataFrame([*rows, *ratings.copy_rows([copied]), fresh])
    frame["in_verdict"] = frame["in_verdict"].notna()
    return verdict.judge("", frame).verdict


def numbers_to_freeze(original, released):
    """Shares, standard errors and z of each question, and the verdict by the risks."""
    copied = find_copies(original, released)
    risks = risk_rows(original, released)
    identical = copied.rows["identical records"]
    uniques = copied.rows["copied uniques"]
    frozen = {
        "identical records": [
            *map(identical.get, ("estimate", "baseline", "se", "baseline_se")),
            uniques["z_permutation"],
            uniques["estimate"],
            copied.rows["undetected copies"]["estimate"],
        ]
    }
    for question, row in risks.items():
        frozen[question] = [
            *map(row.get, SHARES_AND_ERRORS),
            np.fmax(row["z"], row["z_permutation"]),
            row["n"],
        ]
    return frozen | {"verdict": verdict_by_risks(copied, risks)}


if __name__ == "__main__":
    lines = []
    for name, original, released in cases():
        row = numbers_to_freeze(original, released)
        lines.append(f"{json.dumps(name)}: {json.dumps(row)}")
        print(name, row["verdict"], flush=True)
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
