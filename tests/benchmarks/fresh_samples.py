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


def main(cases: int, records: int) -> None:
    """Print both tables."""
    rng = np.random.default_rng(1)
    population = embedded_population(200_000, rng=rng)
    advice, tables = [], []
    for _ in range(cases):
        rows = rng.choice(len(population.codes), 2 * records, replace=False)
        halves = [
            Microdata(population.codes[some], population.schema)
            for some in np.split(rows, 2)
        ]
        for keys in ("SEX", "AGEP", "RACE1P", "MAR"), ():
            found = assess(halves[0], halves[1], keys, "DIS", rng=rng)
            advice.append(
                {"keys": len(keys) or "all others", "advice": found.verdicts[0].verdict}
            )
            tables.append(found.table)
    print(
        pd.DataFrame(advice).value_counts(["keys", "advice"]).sort_index().to_string(),
        "\n",
    )
    table = pd.concat(tables)
    table["above"] = table[["z", "z_permutation"]].max(axis=1) >= Z_SIGNIFICANT
    z = table.groupby("question", sort=False)["z"].agg(["mean", "std", "max"])
    print(
        z.assign(above=table.groupby("question")["above"].mean()).round(3).to_string()
    )


if __name__ == "__main__":
    main(*(int(n) for n in (*sys.argv[1:], *("200", "500")[len(sys.argv) - 1 :])))
