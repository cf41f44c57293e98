"""Compile numba's functions of `mixture` or `trees`, so that nothing need wait."""

import sys

import numpy as np
import pandas as pd

import srlib
from srlib.trees import UNPRUNED

rng = np.random.default_rng(1)
people, made = (
    pd.DataFrame(
        {name: rng.choice(["a", "b", "c"], 60) for name in ("job", "town", "sick")}
    )
    for _ in range(2)
)
if sys.argv[1] == "mixture":
    chains = srlib.Chains(n_classes=3, burn_in=20, n_draws=20)
    srlib.posterior_risk(people, made, chains=chains, rng=rng, progress=False)
else:
    for settings in ({}, {"growth": UNPRUNED}):
        trees = srlib.fit_trees(people, **settings)
        srlib.posterior_risk(
            people, trees.release(1, rng=rng), synthesizer=trees, progress=False
        )
