"""Speed of the paper's chains and of what replaces them; run with ``make bench``.

What is asked for: the 240 chains of McClure and Reiter at full length in 30 s on two cores.
"""

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from srlib.mechanism.families import private_plugin
from srlib.mechanism.proportion import Study
from srlib.papers.proportion_chain import sample_proportion

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)
STUDIES = [Study(private_plugin(e, 1000, 1000), 0.5) for e in EPSILONS]


def chains(n_chains: int) -> None:
    rng = np.random.default_rng(1)
    for study in STUDIES:
        sample_proportion(study, 500, n_steps=100_000, n_chains=n_chains, rng=rng)


def test_240_chains(benchmark: BenchmarkFixture) -> None:
    chains(1)
    benchmark.pedantic(chains, args=(40,), rounds=1)


def test_exact_utility_of_240_pairs(benchmark: BenchmarkFixture) -> None:
    x, x_star = np.full(40, 500), np.arange(480, 520)

    def exact() -> None:
        for study in STUDIES:
            study.utility(x, x_star)

    benchmark.pedantic(exact, rounds=3)
