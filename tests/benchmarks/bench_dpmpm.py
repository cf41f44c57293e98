"""Speed and memory of the DPMPM sampler; run with ``make bench``.

What is asked for, CPU time on one core: an iteration within 0.6 ms at F = 30 and 1.0 ms
at F = 80 on ACS-like data of 10,000 records (some 3,500 distinct combinations), 1.3 and
2.0 ms where nearly all combinations are distinct; 0.05 s for a synthetic data set; 1 GB
at a million records.
"""

import resource
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.random import default_rng

from srlib.data.codes import distinct
from srlib.data.microdata import ACS, embedded_population
from srlib.dpmpm import Prior, Sampler, synthesize

ITERATIONS = 200


def survey_like():
    return embedded_population(10_000, rng=default_rng(0)).codes


def nearly_all_distinct():
    rng = default_rng(0)
    shares = rng.random((10_000, len(ACS.names)))
    return (shares * ACS.n_levels).astype(np.uint8)


@pytest.mark.parametrize("n_classes", [30, 80])
@pytest.mark.parametrize("data", [survey_like, nearly_all_distinct])
def test_iterations(benchmark, data, n_classes):
    combinations, counts, _ = distinct(data())
    rng = default_rng(1)
    sampler = Sampler(combinations, counts, ACS.n_levels, n_classes, Prior(), rng)
    sampler.advance(200, 0.9)
    start = time.process_time()
    benchmark.pedantic(sampler.advance, args=(ITERATIONS,), rounds=5)
    seconds = (time.process_time() - start) / 5
    benchmark.extra_info["distinct combinations"] = len(combinations)
    benchmark.extra_info["CPU ms an iteration"] = round(1e3 * seconds / ITERATIONS, 3)


def test_synthetic_data_set(benchmark):
    combinations, counts, _ = distinct(survey_like())
    rng = default_rng(1)
    sampler = Sampler(combinations, counts, ACS.n_levels, 30, Prior(), rng)
    sampler.advance(50)
    benchmark(synthesize, sampler.pi, sampler.phi, ACS.n_levels, 10_000, rng=rng)


MILLION = """
import resource
import numpy as np
from srlib.dpmpm import Chains, sample_posterior
from srlib.data.microdata import ACS, embedded_population
codes = embedded_population(1_000_000, rng=np.random.default_rng(0)).codes
chains = Chains(n_classes=30, burn_in=10, n_draws=10, n_chains=2)
sample_posterior(codes, ACS.n_levels, chains, rng=np.random.default_rng(1))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.skipif(
    not hasattr(resource, "getrusage"), reason="peak memory is not measured here"
)
def test_memory_at_a_million_records(benchmark):
    def peak():
        run = subprocess.run(
            [sys.executable, "-c", MILLION], capture_output=True, text=True, check=True
        )
        return float(run.stdout)

    megabytes = benchmark.pedantic(peak, rounds=1)
    benchmark.extra_info["peak MB"] = round(megabytes)
    assert megabytes < 1_000
