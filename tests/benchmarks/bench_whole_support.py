"""Speed and memory of the risk over all cells; run with ``make bench``.

What is asked for, 8,709,120 cells and 200 draws of 30 classes for each of six sets: one record in
15 s, and 3,500 records in 20 minutes and 4 GB (on two cores). Here 200 of them, and all with
``SRLIB_BENCH_FULL=1``. Beside it the sample of 131,072 cells, which takes any number of cells.

Measured on two cores with nothing beside it: one record 8 s (13 s of CPU), 200 records 75 s (134),
3,500 records 14 min 16 s (1,622) and 0.83 GB. The sample: 200 records 38 s of CPU.
"""

import os
import resource
import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.data.codes import distinct
from srlib.data.microdata import ACS, embedded_population
from srlib.dpmpm import Draws
from srlib.risk import DrawSets, sampled_support, whole_support

N = [1, 200, *([3500] if os.environ.get("SRLIB_BENCH_FULL") else [])]


def sets(n_draws: int = 200, n_classes: int = 30) -> DrawSets:
    """Draws that are not far apart, as those given nearly the same data are."""
    rng, shape = np.random.default_rng(1), (4, n_draws // 4)
    centre = [rng.dirichlet(np.ones(levels), (*shape, n_classes)) for levels in ACS.n_levels]
    zeros = np.zeros(shape)
    made = []
    for _ in range(6):
        near = [values * rng.lognormal(0, 0.05, values.shape) for values in centre]
        phi = np.concatenate([v / v.sum(axis=-1, keepdims=True) for v in near], axis=-1)
        phi = phi.swapaxes(2, 3).astype(np.float32)
        pi = rng.dirichlet(np.full(n_classes, 0.5), shape)
        sizes = np.zeros((*shape, n_classes), np.int64)
        made.append(Draws(zeros, pi, phi, sizes, zeros, ACS.n_levels))
    return DrawSets(made[0], made[1:])


def combinations(n: int) -> np.ndarray:
    """True combinations of embedded records."""
    return distinct(embedded_population(10_000, rng=np.random.default_rng(1)).codes)[0][:n]


def note(benchmark: BenchmarkFixture, cpu: float) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    benchmark.extra_info["CPU s"] = round(usage.ru_utime + usage.ru_stime - cpu)
    benchmark.extra_info["peak MB"] = round(usage.ru_maxrss / 1e3)
    print(benchmark.extra_info)


@pytest.mark.parametrize("n", N)
def test_all_cells(benchmark: BenchmarkFixture, n: int) -> None:
    made = sets()
    cpu = time.process_time()
    benchmark.pedantic(whole_support, args=(made, combinations(n)), rounds=1)
    note(benchmark, cpu)


@pytest.mark.parametrize("n", N)
def test_a_sample_of_cells(benchmark: BenchmarkFixture, n: int) -> None:
    made = sets()
    settings = {"rng": np.random.default_rng(1)}
    cpu = time.process_time()
    benchmark.pedantic(sampled_support, (made, combinations(n)), settings, rounds=1)
    note(benchmark, cpu)
