"""Results are the same to the last byte on any number of threads.

Run as a script, this file prints a digest of what each function returns.
"""

import hashlib
import json
import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from subprocess import PIPE, Popen

import numpy as np

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.assessment import assess
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema, Variable
from srlib.mechanism import contingency, proportion
from srlib.mechanism.families import beta_binomial, compositions

LEVELS = [2, 4, 6, 4, 5, 2, 7, 3, 3, 2]


def computed() -> Iterator[tuple[str, object]]:
    """Results of every part of the library that has threads, or calls BLAS on much."""
    rng = np.random.default_rng(1)
    original, released, other = (
        rng.random((3, 20_000, len(LEVELS))) ** 2 * LEVELS
    ).astype("u1")
    few, levels = original[:300, :6], np.array(LEVELS[:6])

    chains = dpmpm.Chains(n_classes=6, burn_in=20, n_draws=20, thin=4, n_chains=3)
    data = dpmpm.sample_posterior(few, levels, chains, rng=rng, keep_allocations=True)
    yield "draws", data
    yield "left out", disclosure.collapsed_log_ratios(data, distinct(few)[0])
    yield "release", disclosure.release_log_prob(data, [released[:, :6]])
    yield "neighbours", dpmpm.neighbor_log_ratios(data, original[:1500, :6])
    yield "subset", disclosure.subset_log_means(data, few, [1, 3, 4])
    large = dpmpm.sample_posterior(
        original, np.array(LEVELS), replace(chains, n_draws=2), rng=rng
    )
    yield "many combinations", large.log_likelihood

    variables = (
        Variable(f"v{k}", tuple(map(str, range(n)))) for k, n in enumerate(LEVELS)
    )
    schema = Schema(tuple(variables))
    codes = [Microdata(table, schema) for table in (original, released, other)]
    found = assess(
        codes[0], {"tool": codes[1:]}, target="v9", rng=np.random.default_rng(2)
    )
    yield "assessment", found.table

    study = proportion.Study(beta_binomial(300, 300, 1.0), 0.3)
    changed = np.maximum(np.arange(301) - 1, 0)
    yield "all pairs", (study.all_pairs(changed, 0.5), study.expected_utility(90))
    draws = contingency.log_linear_draws((2, 2), 500, rng=rng)
    yield "log predictive", contingency.log_predictive(draws, compositions(8, 4))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def start(threads: str) -> Popen[bytes]:
        numbers = {
            f"{who}_NUM_THREADS": threads for who in ("NUMBA", "OPENBLAS", "OMP")
        }
        return Popen([sys.executable, __file__], env=os.environ | numbers, stdout=PIPE)

    one, two = [
        json.loads(process.communicate()[0]) for process in (start("1"), start("2"))
    ]
    assert len(one) == 9
    assert one == two


if __name__ == "__main__":
    digests = {name: hashlib.sha256(pickle.dumps(value)) for name, value in computed()}
    print(json.dumps({name: digest.hexdigest() for name, digest in digests.items()}))
