"""Population uniques that `srlib assess --weights` expects, beside the true numbers, by simulation.

``python tests/benchmarks/population_uniques.py [CASES [DESIGN ...]]`` draws CASES (100) finite
populations of 10,000 people from the embedded population for each design, and a sample of each. Of
people alone in the sample with their keys it counts who is alone in the population (tau 1), and the
expected number of right matches (tau 2, the sum of 1 / F). It prints, over the populations, the
means of the true number and of what is expected; the bias, in percent of the true mean, with its
standard error; the share of 95 % intervals that have the true number, with its error; how wide they
are, in percent of the true mean; and what is expected by weights alone. Six minutes of CPU.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.submission import Submission
from srlib.assessment.uniques import expected_population
from srlib.data import embedded_population
from srlib.data.acs import ACS
from srlib.data.codes import row_numbers
from srlib.dpmpm import Chains, sample_posterior

CHAINS = Chains(n_classes=30, burn_in=300, n_draws=100, thin=3, n_chains=4)
PEOPLE = 10_000
FIVE = ("SEX", "AGEP", "RACE1P", "MAR", "SCHL")
THIRTEEN = tuple(name for name in ACS.names if name != "HICOV")
type Population = NDArray[np.integer]
type Chances = Callable[[Population, np.random.Generator], NDArray[np.float64]]


def alike(people: Population, rng: np.random.Generator) -> NDArray[np.float64]:
    """Give everybody the same chance."""
    return np.ones(len(people))


def by(name: str, *chances: float) -> Chances:
    """Give people chances by the level of a variable."""
    return lambda people, rng: np.array(chances, float)[people[:, ACS.names.index(name)]]


def by_nothing_in_the_file(people: Population, rng: np.random.Generator) -> NDArray[np.float64]:
    """Give people chances that are 1 to 8 times the lowest and depend on nothing in the file."""
    return 8 ** rng.random(len(people))


DESIGNS: dict[str, tuple[int, tuple[str, ...], Chances]] = {
    "alike": (500, FIVE, alike),
    "alike, 2,000": (2_000, FIVE, alike),
    "alike, 13 keys": (500, THIRTEEN, alike),
    "alike, 2,000, 13 keys": (2_000, THIRTEEN, alike),
    "by a key": (500, FIVE, by("AGEP", 1, 2, 4, 8)),
    "by no key": (500, FIVE, by("MIL", 8, 4, 1)),
    "by nothing": (500, FIVE, by_nothing_in_the_file),
}
"""Expected size of the sample, keys, and relative chances to be in it."""


def case(design: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw a population and a sample of it; compare what is expected with the truth."""
    size, names, chances = DESIGNS[design]
    people = embedded_population(PEOPLE, rng=rng).codes
    keys = [ACS.names.index(name) for name in names]
    inclusion = chances(people, rng)
    inclusion *= size / inclusion.sum()
    taken = np.flatnonzero(rng.random(PEOPLE) < inclusion)
    key = row_numbers(people[:, keys], ACS.n_levels[keys])
    sample, weights = people[taken], 1 / inclusion[taken]
    target = ACS.names.index("HICOV")
    of_sample = Submission(ACS, sample, (sample,), tuple(keys), target, weights=weights)
    draws = sample_posterior(sample, ACS.n_levels, CHAINS, rng=rng)
    found = expected_population(of_sample, draws, rng=rng).groups.iloc[0]
    plain = expected_population(of_sample, None, rng=rng).groups.iloc[0]
    alone = taken[np.bincount(key[taken])[key[taken]] == 1]
    people_with = np.bincount(key)[key[alone]]
    truth = {"unique": (people_with == 1).sum(), "match": (1 / people_with).sum()}
    return [
        {"design": design, "what": name, "alone": len(alone), "truth": true, "mean": found[name],
         "error": found[name] - true, "mcse": found[f"{name}_mcse"],
         "width": found[f"{name}_high"] - found[f"{name}_low"], "plain": plain[name],
         "covered": found[f"{name}_low"] <= true <= found[f"{name}_high"]}
        for name, true in truth.items()
    ]  # fmt: skip


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for design in sys.argv[2:] or DESIGNS:
        rng = np.random.default_rng(1)
        frame = pd.DataFrame([row for _ in range(cases) for row in case(design, rng)])
        for (_, what), of in frame.groupby(["design", "what"], sort=False):
            truth, covered = of["truth"].mean(), of["covered"].mean()
            print(
                f"{design:21} {what:7} alone {of['alone'].mean():6.1f} true {truth:6.1f} "
                f"expected {of['mean'].mean():6.1f} bias {100 * of['error'].mean() / truth:6.1f} ± "
                f"{100 * of['error'].std() / truth / cases**0.5:4.1f} % covered {covered:.2f} ± "
                f"{(covered * (1 - covered) / cases) ** 0.5:.2f} width "
                f"{100 * of['width'].mean() / truth:5.0f} % mcse {of['mcse'].mean():.2f} "
                f"by weights {of['plain'].mean():6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
