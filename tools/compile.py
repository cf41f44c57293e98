"""Compile one part of what a run needs, so that nothing need wait for it later.

``python tools/compile.py mixture``, ``trees`` or ``notebooks``: Numba's functions of
the first two, or the bytecode of what commands, notebooks and tests import.
"""

import sys
from importlib import import_module

import numpy as np
import pandas as pd

import srlib

IMPORTED = (
    "altair",
    "ipykernel.kernelapp",
    "jupyterlab.labapp",
    "jupytext",
    "nbconvert",
    "nbval.plugin",
    "papermill",
    "pytest",
    "sklearn.tree",
    "sphinx.application",
    "srlib.runner.cli",
    "statsmodels.api",
)


def mixture(people: pd.DataFrame, made: pd.DataFrame) -> None:
    """Sample a mixture, and compute risks by its draws."""
    chains = srlib.Chains(n_classes=3, burn_in=20, n_draws=20)
    rng = np.random.default_rng(1)
    srlib.posterior_risk(people, made, chains=chains, rng=rng, progress=False)


def trees(people: pd.DataFrame) -> None:
    """Grow trees with and without pruning, and compute risks by their density."""
    from srlib.trees import UNPRUNED

    rng = np.random.default_rng(1)
    for settings in ({}, {"growth": UNPRUNED}):
        fitted = srlib.fit_trees(people, **settings)
        released = fitted.release(1, rng=rng)
        srlib.posterior_risk(people, released, synthesizer=fitted, progress=False)


def table(seed: int) -> pd.DataFrame:
    """Return a small table of random categories."""
    rng = np.random.default_rng(seed)
    names = ("job", "town", "sick")
    return pd.DataFrame({name: rng.choice(["a", "b", "c"], 60) for name in names})


part = sys.argv[1]
if part == "mixture":
    mixture(table(1), table(2))
elif part == "trees":
    trees(table(1))
else:
    for name in IMPORTED:
        import_module(name)
