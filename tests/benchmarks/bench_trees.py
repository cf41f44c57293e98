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

import pytest
from numpy.random import default_rng

from srlib.data.acs import embedded_population
from srlib.risk import posterior_risk
from srlib.trees import AS_RPART, UNPRUNED, fit_trees

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
