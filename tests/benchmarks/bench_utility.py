"""Speed of the utility of a release; run with ``make bench``."""

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.assessment import utility

RNG = np.random.default_rng(1)
N_LEVELS = [2, 4, 6, 4, 5, 2, 7, 3, 3, 2]
NAMES = [f"v{k}" for k in range(len(N_LEVELS))]


def table(n: int) -> np.ndarray:
    """Records of unequal frequencies."""
    return (RNG.random((n, len(N_LEVELS))) ** 2 * N_LEVELS).astype(np.uint8)


LARGE, LARGE_RELEASED = table(1_000_000), table(1_000_000)
SMALL, SMALL_RELEASED = table(5_000), table(5_000)


def test_margins(benchmark: BenchmarkFixture) -> None:
    arguments = (LARGE, [LARGE_RELEASED], N_LEVELS, NAMES)
    benchmark.pedantic(utility.margins, args=arguments, rounds=2)


def test_propensity_of_single_levels(benchmark: BenchmarkFixture) -> None:
    arguments = (LARGE, [LARGE_RELEASED], N_LEVELS)
    benchmark.pedantic(utility.propensity, args=arguments, rounds=1)


def test_propensity_of_pairs(benchmark: BenchmarkFixture) -> None:
    arguments = (SMALL, [SMALL_RELEASED], N_LEVELS)
    settings = {"interactions": True}
    benchmark.pedantic(utility.propensity, args=arguments, kwargs=settings, rounds=2)
