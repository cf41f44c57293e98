"""Results are the same to the last byte on any number of threads.

Run as a script, this file prints a digest of what each function returns.
"""

import hashlib
import json
import os
import pickle
import sys
from dataclasses import replace
from subprocess import PIPE, Popen

import numpy as np
from enumeration import schema
from numpy.random import default_rng

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.assessment import assess
from srlib.data.codes import distinct
from srlib.data.schema import Microdata
from srlib.mechanism import contingency, proportion
from srlib.mechanism.families import beta_binomial, compositions

LEVELS = np.array([2, 4, 6, 4, 5, 2, 7, 3, 3, 2])


def computed():
    """Results of every part of the library that has threads, or calls BLAS on much."""
    rng = default_rng(1)
    uniform = rng.random((3, 20_000, len(LEVELS)))
    tables = (uniform**2 * LEVELS).astype("u1")
    original = tables[0]
    few = original[:300, :6]
    cells = original[:1500, :6]

    chains = dpmpm.Chains(n_classes=6, burn_in=20, n_draws=20, thin=4, n_chains=3)
    draws = dpmpm.sample_posterior(
        few, LEVELS[:6], chains, rng=rng, keep_allocations=True
    )
    yield "draws", draws
    yield "left out", disclosure.collapsed_log_ratios(draws, distinct(few)[0])
    yield "release", disclosure.release_log_prob(draws, [tables[1, :, :6]])
    yield "cells", dpmpm.cell_log_prob(draws, cells)
    yield "neighbors", dpmpm.neighbor_log_ratios(draws, cells)
    yield "subset", disclosure.subset_log_means(draws, few, [1, 3, 4])

    fewer_draws = replace(chains, n_draws=2)
    many_combinations = dpmpm.sample_posterior(original, LEVELS, fewer_draws, rng=rng)
    yield "many combinations", many_combinations.log_likelihood

    data, *releases = (Microdata(table, schema(*LEVELS)) for table in tables)
    assessment = assess(data, {"tool": releases}, target="v9", rng=default_rng(2))
    yield "assessment", assessment.table

    study = proportion.Study(beta_binomial(300, 300, 1.0), 0.3)
    yield "all pairs", study.all_pairs(np.maximum(np.arange(301) - 1, 0), 0.5)
    yield "expected utility", study.expected_utility(90)

    tables_of_four = contingency.log_linear_draws((2, 2), 500, rng=rng)
    counts = compositions(8, 4)
    yield "log predictive", contingency.log_predictive(tables_of_four, counts)


def start(n_threads):
    """Start this file as a script on so many threads."""
    environment = dict(os.environ)
    for library in ("NUMBA", "OPENBLAS", "OMP"):
        environment[f"{library}_NUM_THREADS"] = str(n_threads)
    return Popen([sys.executable, __file__], env=environment, stdout=PIPE)


def test_results_do_not_depend_on_the_number_of_threads():
    processes = [start(n_threads) for n_threads in (1, 2)]

    printed = [process.communicate()[0] for process in processes]

    on_one_thread, on_two_threads = map(json.loads, printed)
    assert len(on_one_thread) == 11
    assert on_one_thread == on_two_threads


if __name__ == "__main__":
    digests = {
        name: hashlib.sha256(pickle.dumps(result)).hexdigest()
        for name, result in computed()
    }
    print(json.dumps(digests))
