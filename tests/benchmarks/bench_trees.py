"""Speed of sequential trees; run with ``make bench``.

What is asked for: all distinct combinations of 10,000 records with 14 variables, 35 candidates and
five releases, in less than 60 s on two cores and 1 GB. Measured on two cores with other work beside
it: 31 s of CPU.
"""

import resource

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.data.acs import embedded_population
from srlib.risk import posterior_risk
from srlib.trees import fit_trees


@pytest.mark.parametrize("n", [1000, 10_000])
def test_risk(benchmark: BenchmarkFixture, n: int) -> None:
    rng = np.random.default_rng(1)
    data = embedded_population(n, rng=rng)
    trees = fit_trees(data)
    released = trees.release(5, rng=rng)
    risk = benchmark.pedantic(
        posterior_risk,
        (data, released),
        {"synthesizer": trees, "progress": False},
        rounds=1,
    )
    benchmark.extra_info["combinations"] = len(risk.combinations)
    benchmark.extra_info["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def test_growing(benchmark: BenchmarkFixture) -> None:
    data = embedded_population(10_000, rng=np.random.default_rng(1))
    fit_trees(data)
    benchmark(fit_trees, data)
