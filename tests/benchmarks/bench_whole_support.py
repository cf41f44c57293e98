"""Speed and memory of the risk over all cells; run with ``make bench``.

What is asked for, 8,709,120 cells and 200 draws of 30 classes for each of six sets: one record in
15 s, and 3,500 records in 20 minutes and 4 GB (here 200 of them).
"""

import resource

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.dpmpm import Draws
from srlib.microdata import ACS, distinct, embedded_population
from srlib.whole_support import whole_support


def sets(n_draws: int = 200, n_classes: int = 30) -> list[Draws]:
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
    return made


@pytest.mark.parametrize("n", [1, 200])
def test_all_cells(benchmark: BenchmarkFixture, n: int) -> None:
    data, *joined = sets()
    codes = distinct(embedded_population(5_000, np.random.default_rng(1)).codes)[0][:n]
    benchmark.pedantic(whole_support, args=(data, joined, codes), rounds=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    benchmark.extra_info["peak MB"] = round(peak)
