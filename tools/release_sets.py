"""Compute the table that ships as srlib/papers/hu_reiter_wang_releases.txt.

    python tools/release_sets.py OUTPUT [N_RELEASES]

How the three numbers that Hu, Reiter and Wang (2014) print of their Figures 3 and 4 vary from one
set of five releases to another: largest probability of a truth, probabilities above .08, truths
among the first three. The records are 10,000 of the embedded population, all 14 variables; each
release is made from a draw of its own. Five explanations, all on the same sets of releases:

- `generating draw left out`: the paper's, over the draws given the data but the one that made the
  release;
- `generating draw among them`: the same with that draw;
- `predictive ratio`: all chains;
- `predictive ratio, half of the chains`: its own Monte Carlo error, seen by halving them;
- `predictive ratio, times ...`: what the releases say, in logarithms, multiplied by a factor that
  makes the median of the largest probability the printed .190, as if the data told more.

A set is five of the releases, named by their numbers; sets overlap, so that errors come from
leaving out one release at a time. All chance is seeded. It takes about a quarter of an hour of CPU.
"""

import sys

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize

from srlib import diagnostics
from srlib.data import distinct, microdata
from srlib.dpmpm import Chains, sample_posterior
from srlib.papers.hu_reiter_wang import PRINTED
from srlib.risk import collapsed_log_ratios
from srlib.risk.errors import log_mean
from srlib.risk.replicates import importance_evidence, over_sets, sets_of_releases
from srlib.rng import stream

SEED, N_RECORDS = 2014, 10_000
OF_DATA = Chains(n_classes=40, n_chains=32, burn_in=2500, n_draws=100, thin=20)
JOINED = Chains(n_classes=40, n_chains=6, burn_in=600, n_draws=60, thin=20)
SIZE, N_SETS, THRESHOLD = 5, 400, 0.08


def main(output: str, n_releases: str = "40") -> None:
    """Write the table, its settings as comments above it, and print diagnostics."""
    table = microdata.load("", n_records=N_RECORDS, rng=stream(SEED, "records"))
    levels, (combinations, repetitions, _) = table.schema.n_levels, distinct(table.codes)
    draws = sample_posterior(
        table.codes, levels, OF_DATA,
        rng=stream(SEED, "data"), keep_allocations=True,
    )  # fmt: skip
    count = int(n_releases)
    made_by = list(zip(*(x.tolist() for x in draws.spread(count)), strict=True))
    streams = [stream(SEED, f"release {i}") for i in range(count)]
    releases = draws.release(count, N_RECORDS, rng=streams)
    of_data, log_prob = collapsed_log_ratios(draws, combinations)
    report("data", log_prob)

    evidence = {
        "generating draw left out": importance_evidence(draws, releases, combinations, made_by),
        "generating draw among them": importance_evidence(
            draws, releases, combinations, [None] * count
        ),
    }
    predictive, half = [], []
    for i, release in enumerate(releases):
        joined = sample_posterior(
            np.vstack([table.codes, release]), levels, JOINED,
            rng=stream(SEED, f"data and release {i}"), keep_allocations=True,
        )  # fmt: skip
        of_joined, log_prob = collapsed_log_ratios(joined, combinations)
        report(f"release {i}", log_prob)
        predictive.append(log_mean(of_joined) - log_mean(of_data))
        half.append(log_mean(of_joined[::2]) - log_mean(of_data[::2]))
    evidence["predictive ratio"] = np.array(predictive)
    evidence["predictive ratio, half of the chains"] = np.array(half)

    factor = multiplier(evidence["predictive ratio"], PRINTED["largest"])
    evidence[f"predictive ratio, times {factor:.2f}"] = factor * evidence["predictive ratio"]

    sets = sets_of_releases(count, SIZE, N_SETS, rng=stream(SEED, "sets"))
    frames = [
        over_sets(values, sets, THRESHOLD).assign(
            estimator=name, releases=[" ".join(map(str, members)) for members in sets]
        )
        for name, values in evidence.items()
    ]
    settings = {
        "records": N_RECORDS, "combinations": len(combinations),
        "once": int((repetitions == 1).sum()), "given the data": OF_DATA,
        "given the data and a release": JOINED, "releases": count, "of each set": SIZE,
        "seed": SEED,
    }  # fmt: skip
    with open(output, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in settings.items())
        columns = ["estimator", "releases", "largest", "above", "first"]
        pd.concat(frames)[columns].to_csv(file, index=False, float_format="%.4f")


def multiplier(evidence: NDArray[np.float64], largest: float) -> float:
    """Return the factor at which the median largest probability over disjoint sets is the given."""
    sets = np.arange(len(evidence)).reshape(-1, SIZE)

    def above(factor: float) -> float:
        return over_sets(factor * evidence, sets, THRESHOLD)["largest"].median() - largest

    return round(float(optimize.brentq(above, 0.2, 20.0, xtol=1e-3)), 2)


def report(name: str, log_prob: NDArray[np.float32]) -> None:
    """Print R-hat of the log probabilities of the combinations."""
    found = np.quantile(diagnostics.r_hat(log_prob[:, ::4]), [0.5, 0.95, 1])
    print(f"{name}: R-hat {found.round(3)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
