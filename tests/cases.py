"""Releases of known kinds, and what was found of each: `python tests/cases.py` freezes them.

The frozen numbers (`cases.json`) were computed by three modules of which one table became the
heir; a number that moves is explained in the changelog or it is a fault.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ladder import LADDER, Codes, bootstrap, copy, independent, partly_copied, trees

from srlib.data import microdata

FILE = Path(__file__).with_suffix(".json")
POPULATION = microdata.embedded_population(200_000, rng=np.random.default_rng(1))
SCHEMA = POPULATION.schema
KEYS = ("SEX", "AGEP", "RACE1P", "MAR")
TARGET = "DIS"
SIZES = {500: 8, 2_000: 4, 10_000: 2}  # records, seeds
RUNGS = {500: 4, 10_000: 1, 100_000: 1}


def changed(x: Codes, n_levels: Any, rng: np.random.Generator, *, share: float) -> Codes:
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
    rows = rng.choice(len(POPULATION.codes), 2 * n, replace=False)
    original = POPULATION.codes[rows[:n]]
    for name, make in makers.items():
        yield name, original, make(original, SCHEMA.n_levels, rng)
    yield "half of one table", original, POPULATION.codes[rows[n:]]


def cases() -> Iterator[tuple[str, Codes, Codes]]:
    """All cases by name."""
    for kind, sizes, makers in (("case", SIZES, MAKERS), ("ladder", RUNGS, LADDER)):
        for n, seeds in sizes.items():
            for seed in range(seeds):
                for name, original, released in drawn(n, seed, makers):
                    yield f"{kind}, {n}, {seed}, {name}", original, released


def found(original: Codes, released: Codes) -> dict[str, Any]:
    """Value, baseline, their errors and z of each question, and the advice by the risks alone."""
    from srlib.assessment import leakage, verdict

    levels, names = SCHEMA.n_levels.tolist(), SCHEMA.names
    keys, target = [names.index(name) for name in KEYS], names.index(TARGET)
    copies = leakage.copies(original, released, levels)
    met = leakage.identity(original, released, levels, keys)
    told = leakage.attributes(original, released, levels, keys, target)
    lines = (
        verdict.of_copies([copies]),
        verdict.of_identity([met]),
        verdict.of_attributes([told], TARGET),
        verdict.Line("utility", "as fresh", 0.0, 0.0, 0.0, 0.0, ""),
        verdict.NOT_COMPUTED,
    )
    row: dict[str, Any] = {
        "copies": [
            copies.repeated, copies.others, copies.repeated_error, copies.others_error,
            copies.handed_out_z, copies.handed_out, copies.at_most,
        ]
    }  # fmt: skip
    for name, one in (("identity", met), ("attributes", told)):
        row[name] = [
            one.value, one.others, one.margins, one.error, one.others_error, one.z, one.people,
        ]  # fmt: skip
    return row | {"advice": verdict.judge("", lines, [copies], TARGET).advice}


if __name__ == "__main__":
    frozen = {}
    for name, original, released in cases():
        frozen[name] = found(original, released)
        print(name, frozen[name]["advice"], flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in frozen.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
