"""Speed of the sum that replaces the paper's chains; run with ``make bench``."""

import numpy as np

from srlib.mechanism.families import private_plugin
from srlib.mechanism.proportion import Study

EPSILONS = (1000, 100, 10, 2, 0.2, 0.01)
STUDIES = [Study(private_plugin(e, 1000, 1000), 0.5) for e in EPSILONS]


def test_exact_utility_of_240_pairs(benchmark):
    x = np.full(40, 500)
    x_star = np.arange(480, 520)

    def exact():
        for study in STUDIES:
            study.utility(x, x_star)

    benchmark.pedantic(exact, rounds=3)
