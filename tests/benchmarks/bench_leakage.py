"""Speed of copies, identity and attributes beyond other people's; run with ``make bench``.

What is asked for: all three, with 14 variables and a million records in each file, in 10 s.
"""

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.assessment import leakage
from srlib.data import microdata


@pytest.mark.parametrize("n", [10_000, 100_000, 1_000_000])
def test_all_three(benchmark: BenchmarkFixture, n: int) -> None:
    table = microdata.embedded_population(2 * n, rng=np.random.default_rng(1))
    original, released = np.split(table.codes, 2)
    levels, keys = table.schema.n_levels.tolist(), range(13)

    def all_three() -> None:
        leakage.copies(original, released, levels)
        leakage.identity(original, released, levels, keys)
        leakage.attributes(original, released, levels, keys, 13)

    benchmark.pedantic(all_three, rounds=2)
