"""Speed of the paper's chains and of what replaces them; run with ``make bench``.

What is asked for: the 240 chains of McClure and Reiter at full length in 30 s on two cores.
"""

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.mechanism.families import private_plugin
from srlib.papers import proportion

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)
TABLES = {e: private_plugin(e, 1000, 1000) for e in EPSILONS}


def chains(n_chains: int) -> None:
    rng = np.random.default_rng(1)
    for table in TABLES.values():
        proportion.sample_proportion(table, 500, n_steps=100_000, n_chains=n_chains, rng=rng)


def test_240_chains(benchmark: BenchmarkFixture) -> None:
    chains(1)
    benchmark.pedantic(chains, args=(40,), rounds=1)


def test_exact_utility_of_240_pairs(benchmark: BenchmarkFixture) -> None:
    x, x_star = np.full(40, 500), np.arange(480, 520)

    def exact() -> None:
        for table in TABLES.values():
            proportion.utility(table, x, x_star, 0.5)

    benchmark.pedantic(exact, rounds=3)
