"""Speed of the measures from original and released tables; run with ``make bench``.

What is asked for: all measures of a million records, a few keys and a target, in 5 s.
"""

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.assessment import matching

RNG = np.random.default_rng(1)
N_LEVELS = [2, 90, 16, 40, 25, 8]  # 2,880,000 combinations of the five keys
KEYS, TARGET = [0, 1, 2, 3, 4], 5
NAMES = ["sex", "age", "region", "occupation", "industry", "income"]


def table() -> np.ndarray:
    """A million records, of unequal frequencies."""
    uniform = RNG.random((1_000_000, len(N_LEVELS)))
    return (uniform**2 * N_LEVELS).astype(np.uint8)


ORIGINAL, RELEASED = table(), table()


def test_all_measures(benchmark: BenchmarkFixture) -> None:
    arguments = (ORIGINAL, [RELEASED], N_LEVELS, KEYS, TARGET)
    benchmark.pedantic(matching.measures, args=arguments, rounds=2)


def test_more_combinations_than_int64_holds(benchmark: BenchmarkFixture) -> None:
    arguments = (ORIGINAL, [RELEASED], [2**20] * 6, KEYS, TARGET)
    benchmark.pedantic(matching.measures, args=arguments, rounds=1)
