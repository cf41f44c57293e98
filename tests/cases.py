"""Releases of known kinds, their risks, and the verdict by the risks."""

from functools import partial

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from ladder import bootstrap, copy, independent, partly_copied, trees
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
from srlib.data.codes import Codes

POPULATION = microdata.embedded_population(200_000, rng=default_rng(1))
SCHEMA = POPULATION.schema
KEYS = ("SEX", "AGEP", "RACE1P", "MAR")
TARGET = "DIS"
PEOPLE = POPULATION.codes
LEVELS = SCHEMA.n_levels.tolist()


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
    ranks = stats.rankdata(x, axis=0)
    normal = stats.norm.ppf((ranks - 0.5) / n)
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


def records(n: int, seed: int) -> pd.DataFrame:
    """A small survey in which the last variable depends on the first."""
    rng = default_rng(seed)
    job = rng.integers(0, 3, n)
    town = rng.choice(["north", "south", "east", "west"], n)
    sick = np.where(rng.random(n) < 0.2 + 0.3 * job, "yes", "no")
    return pd.DataFrame(
        {
            "job": np.array(["a", "b", "c"])[job],
            "town": town,
            "sick": sick,
        }
    )


def table(*rows: str) -> Codes:
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
