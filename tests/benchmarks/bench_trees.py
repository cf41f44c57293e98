"""Speed of sequential trees; run with ``make bench``.

What is asked for: all distinct combinations of 10,000 records with 14 variables, 35
candidates and five releases, in less than 60 s of CPU and 1 GB, pruned or not; 100,000
records in proportion.
"""

import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.random import default_rng

from srlib.data.acs import embedded_population
from srlib.data.codes import distinct
from srlib.risk import one_variable_supports, posterior_risk
from srlib.trees import AS_RPART, UNPRUNED, fit_trees, log_likelihoods

_KB = 1024 if sys.platform == "darwin" else 1  # what ru_maxrss counts in


def used():
    """Return CPU seconds and peak MB of this process and its ended children."""
    seconds = 0.0
    peaks = []
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        seconds += usage.ru_utime + usage.ru_stime
        peaks.append(usage.ru_maxrss)
    return seconds, max(peaks) // _KB // 1024


@pytest.mark.parametrize("growth", [UNPRUNED, AS_RPART], ids=["unpruned", "as rpart"])
@pytest.mark.parametrize("where", ["threads", "processes"])
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_risk(benchmark, n, where, growth):
    rng = default_rng(1)
    data = embedded_population(n, rng=rng)
    trees = fit_trees(data, growth=growth)
    released = trees.release(5, rng=rng)
    processes = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    before, _ = used()
    with processes if where == "processes" else nullcontext() as executor:
        risk = benchmark.pedantic(
            posterior_risk,
            (data, released),
            {"synthesizer": trees, "executor": executor, "progress": False},
            rounds=1,
        )
    seconds, peak = used()
    benchmark.extra_info["combinations"] = len(risk.combinations)
    benchmark.extra_info["CPU seconds"] = seconds - before
    benchmark.extra_info["MB"] = peak


@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_nodes_that_are_grown_anew(benchmark, n):
    """Of 200 combinations, the nodes whose split a changed record changes."""
    rng = default_rng(1)
    data = embedded_population(n, rng=rng)
    trees = fit_trees(data)
    released = trees.release(5, rng=rng)
    _, _, inverse = distinct(data.codes)
    _, first = np.unique(inverse, return_index=True)
    rows = rng.permutation(first)[:200]
    candidates = one_variable_supports(data.codes[rows], data.schema.n_levels)
    benchmark.pedantic(
        log_likelihoods, (trees, released, rows, candidates), warmup_rounds=1
    )


def test_growing(benchmark):
    data = embedded_population(10_000, rng=default_rng(1))
    fit_trees(data)
    benchmark(fit_trees, data)
