"""Speed and memory of EDP; run with ``make bench``.

What is asked for: 1,000 records, 4,000 draws and 20 bins in 2 s on one core; 100,000
records in less than 2 GB; Tables 3 and 4 in seconds at a million draws.
"""

import tracemalloc

import numpy as np
from scipy import stats

from srlib import diagnostics
from srlib.mechanism import edp

RNG = np.random.default_rng(1)
THETA = RNG.normal(size=(4, 1_000))


def log_weights(chosen):
    """Weights of records of unequal leverage."""
    records = np.arange(chosen.start, chosen.stop)
    leverage = np.sin(records) / 10
    return THETA[..., None] * leverage


def test_thousand_records(benchmark):
    weights = log_weights(slice(0, 1_000))
    edp.from_draws(THETA, weights[..., :2], 20)
    benchmark.pedantic(edp.from_draws, args=(THETA, weights, 20), rounds=3)


def test_memory_of_many_records(benchmark, monkeypatch):
    """Fits of tails take time and no memory; here one in fifty is made."""
    fit = diagnostics.pareto_k

    def fit_some(log_weights):
        return np.resize(fit(log_weights[::50]), len(log_weights))

    monkeypatch.setattr(diagnostics, "pareto_k", fit_some)
    tracemalloc.start()
    benchmark.pedantic(
        edp.from_draws,
        args=(THETA, log_weights, 20),
        kwargs={"n_neighbors": 100_000},
        rounds=1,
    )
    benchmark.extra_info["peak MB"] = round(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
    assert benchmark.extra_info["peak MB"] < 2_000


def test_table_4_at_a_million_draws(benchmark):
    y = RNG.normal(10, np.sqrt(5), 100)
    posterior = edp.normal_posterior(y)
    without = [edp.normal_posterior(np.delete(y, i)) for i in range(100)]
    means = [neighbor.mean() for neighbor in without]
    neighbors = [stats.norm(np.vstack(means), without[0].std())]

    def column():
        for bins in (5, 10, 20, 50, 100, 250):
            counts = edp.simulate_counts(
                posterior, neighbors, bins, 1_000_000, 100, rng=RNG
            )
            edp.estimate_from_counts(counts)

    benchmark.pedantic(column, rounds=1)
