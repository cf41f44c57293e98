"""What the report of `srlib assess` says of fresh samples and of known generators, by simulation.

``python tests/benchmarks/fresh_samples.py [CASES [MODEL_CASES]]`` draws originals of 500 records
from the example's population. Of CASES originals (400) it tells how often a fresh sample of the
same size is called less useful than a fresh sample, and how its customary numbers lie in units of
their errors. Of MODEL_CASES originals (16) it tells where releases lie beside people held out, the
gains of the intruder who believes in a DPMPM, and how often these refute the model. Two minutes of
CPU.
"""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd

from srlib import assessment
from srlib.assessment import model
from srlib.dpmpm import Chains, sample_posterior
from srlib.risk import DrawSets

CHAINS = Chains(n_classes=30, burn_in=250, n_draws=100, thin=2, n_chains=4)
RECORDS = 500


def people(rng: np.random.Generator) -> assessment.Submission:
    """Draw an original from the example's population."""
    return assessment.example(RECORDS, [], "", rng=rng)


def utility(rng: np.random.Generator) -> dict[str, float]:
    """Look at a fresh sample as the report does."""
    submission = replace(people(rng), released=(people(rng).original,), names=("fresh",))
    found = assessment.examine(submission)
    worse = found.customary.set_index("measure")["worse"]
    near = assessment.nearest(submission, people(rng).original)["z"][0]
    called = float(found.losses["loss"].max() > 0)
    ratio, overlap = worse["pMSE ratio"], worse["overlap"]
    return {"called less useful": called, "pMSE": ratio, "overlap": overlap, "nearest": near}


def beliefs(rng: np.random.Generator) -> list[dict[str, object]]:
    """Release an original in the example's three ways and as a fresh sample."""
    submission, held_out = people(rng), people(rng).original
    levels = submission.schema.n_levels
    draws = sample_posterior(submission.original, levels, CHAINS, rng=rng, keep_allocations=True)
    made = assessment.with_releases(submission, draws, rng=rng)
    fresh = people(rng).original
    made = replace(made, released=(*made.released, fresh), names=(*made.names, "fresh"))
    known = model.of_original(submission.original, draws)
    shares = assessment.nearest(made, held_out).set_index("release")["share"]
    rows: list[dict[str, object]] = []
    for name, one in made.judged().items():
        both = np.vstack([submission.original, one.released[0]])
        joined = sample_posterior(both, levels, CHAINS, rng=rng, keep_allocations=True)
        gains = model.believe(one, DrawSets(draws, [joined]), known).gains.iloc[0]
        refuted = (gains["inverse"] - 1) / gains["inverse_error"]
        row = {"release": name, "nearest": shares[name], "largest gain": gains["largest"]}
        rows.append(row | {"prior over posterior, z": refuted, "word": gains["belief"]})
    return rows


def main() -> None:
    cases, model_cases = (
        int(text) for text in [*sys.argv[1:], *["400", "16"][len(sys.argv) - 1 :]][:2]
    )
    rng = np.random.default_rng(1)
    looked = pd.DataFrame([utility(rng) for _ in range(cases)])
    print(f"{cases} fresh samples:", looked.agg(["mean", "std"]).round(3), sep="\n")
    found = pd.DataFrame([row for _ in range(model_cases) for row in beliefs(rng)])
    of = found.groupby("release", sort=False)
    print(f"\n{model_cases} originals:")
    print(of[found.columns[1:-1].tolist()].agg(["mean", "std", "min", "max"]).round(2).T)
    print(pd.crosstab(found["release"], found["word"]))


if __name__ == "__main__":
    main()
