"""Speed of the mechanism table's readings; run with ``make bench``.

What is asked for, on one core: the exact audit of 2,000 data sets and outputs in 1 s;
the 24 entries of McClure and Reiter's Table 1 in 1 s at n = 1,000 and in 60 s at n =
10,000; a table of 20,000 by 20,000 in less than 1 GB.
"""

import tracemalloc

import numpy as np
import pytest

from srlib.mechanism import (
    beta_binomial,
    count_neighbors,
    exact_epsilon,
    exponential,
    private_plugin,
)
from srlib.mechanism.proportion import Study

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)


def table_1(n):
    ones = np.arange(n + 1)
    changed = np.where(ones > 0, ones - 1, 1)
    return [
        Study(private_plugin(epsilon, n, n), p0)
        .all_pairs(changed, 0.5)
        .expected_increase(0.5)
        for p0 in (0.001, 0.3, 0.5, 0.999)
        for epsilon in EPSILONS
    ]


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_table_1(benchmark, n):
    benchmark.pedantic(table_1, args=(n,), rounds=3)


def test_exact_epsilon_of_a_large_table(benchmark):
    table = private_plugin(1.0, 20_000, 20_000)
    tracemalloc.start()
    found = benchmark.pedantic(exact_epsilon, args=(table,), rounds=1)
    benchmark.extra_info["peak MB"] = round(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
    assert found.value == pytest.approx(1.0)


def test_exact_audit_of_the_exponential_mechanism(benchmark):
    counts = np.arange(2_000)
    score = beta_binomial(1_999, 1_999, 1.0).block(counts, counts)
    table = exponential(score, 0.5, count_neighbors(1_999))
    assert benchmark(exact_epsilon, table).value < 0.5
