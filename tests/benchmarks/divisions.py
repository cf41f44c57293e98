"""Intervals of `srlib assess --splits` over files of one population, by simulation.

``python tests/benchmarks/divisions.py [FILES [MIXTURE [SPLITS [RECORDS]]]]`` draws FILES originals
(200) of RECORDS people (500) from the example's population and divides each SPLITS times (5). It
tells of each generator and measure the means over the files, with the error of the mean difference;
the standard deviation of the difference between files beside the mean of its errors; and the share
of intervals that contain the mean over the files. One of the generators releases other people,
whatever it is given. The mixture is asked in the first MIXTURE files (40). Three minutes of CPU.
"""

import sys
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import assessment
from srlib.assessment import generator, splits
from srlib.data import embedded_population
from srlib.data.schema import Microdata
from srlib.progress import tracked
from srlib.rng import stream


def strangers(table: Microdata, rng: np.random.Generator) -> NDArray[np.integer]:
    """Release other people, whoever is in the table."""
    return embedded_population(len(table.codes), rng=rng).codes


def asked(file: int, with_mixture: bool, n_splits: int, n_records: int) -> pd.DataFrame:
    """Divide one original."""
    people = assessment.example(n_records, [], "", rng=stream(file, "records"))
    leaves = {f"trees, leaves of {n}": generator.refit(f"trees:min_leaf={n}") for n in (1, 2)}
    generators = splits.asked("") | leaves | {"strangers": strangers}
    if not with_mixture:
        del generators["mixture"]
    return splits.divide(people, generators, n_splits, streams=partial(stream, file)).averages()


def main(n_files: int = 200, n_mixture: int = 40, n_splits: int = 5, n_records: int = 500) -> None:
    """Print the numbers of the docstring."""
    found = pd.concat(
        asked(file, file < n_mixture, n_splits, n_records)
        for file in tracked(range(n_files), "files")
    ).reset_index(drop=True)
    by = ["generator", "measure"]
    mean = found.groupby(by)["difference"].transform("mean")
    found["covered"] = (found["low"] <= mean) & (mean <= found["high"])
    grouped = found.groupby(by, sort=False)
    frame = grouped[["used", "held_out", "difference"]].mean()
    frame["of_mean"], frame["sd"] = grouped["difference"].sem(), grouped["difference"].std()
    frame = frame.join(grouped[["error", "covered"]].mean())
    print(frame.round(4).to_string())
    print(frame.groupby("generator", sort=False)["covered"].agg(["min", "mean", "max"]).round(3))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
