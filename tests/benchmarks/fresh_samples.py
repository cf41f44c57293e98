"""What `srlib assess` says of fresh samples, by simulation.

``python tests/benchmarks/fresh_samples.py [CASES [RECORDS]]`` divides samples of the
embedded population into an original and a release. Of CASES such halves (200) of
RECORDS (500) it tells how often each advice is given, and for each question the mean,
the deviation and the largest of z, and how often it is above 2.58. A minute of CPU.
"""

import sys

import numpy as np
import pandas as pd

from srlib import assess
from srlib.assessment.ratings import Z_SIGNIFICANT
from srlib.data import Microdata, embedded_population


def main(cases: int = 200, records: int = 500) -> None:
    """Print both tables."""
    rng = np.random.default_rng(1)
    population = embedded_population(200_000, rng=rng)
    advice = []
    tables = []
    for _ in range(cases):
        rows = rng.choice(len(population.codes), 2 * records, replace=False)
        original, released = (
            Microdata(population.codes[half], population.schema)
            for half in np.split(rows, 2)
        )
        for keys in ("SEX", "AGEP", "RACE1P", "MAR"), ():
            assessment = assess(original, released, keys, "DIS", rng=rng)
            verdict = assessment.verdicts[0].verdict
            advice.append({"keys": len(keys) or "all others", "advice": verdict})
            tables.append(assessment.table)
    counts = pd.DataFrame(advice).value_counts(["keys", "advice"])
    print(counts.sort_index().to_string(), "\n")
    table = pd.concat(tables)
    largest_z = table[["z", "z_permutation"]].max(axis=1)
    table["above"] = largest_z >= Z_SIGNIFICANT
    questions = table.groupby("question", sort=False)
    z = questions["z"].agg(["mean", "std", "max"])
    z["above"] = questions["above"].mean()
    print(z.round(3).to_string())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
