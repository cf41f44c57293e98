"""Trees grown on bootstrap samples: against the enumeration of all samples."""

import itertools
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_trees import grown, people

from srlib.data.codes import distinct
from srlib.data.schema import Microdata
from srlib.mechanism.bayes import posterior
from srlib.risk import neighborhood, posterior_risk
from srlib.trees import Growth, ProperTrees, Scans, Trees, bootstrap_means, kernels


def exact_log_prob(like: Trees, codes: NDArray, released: list[Microdata]) -> float:
    """log p(releases | data), from all n^n bootstrap samples of each variable of each release."""
    n, total = len(codes), np.zeros((len(released), len(like.order)))
    for sample in itertools.product(range(n), repeat=n):
        trees = Trees.grow(codes[list(sample)], like.schema, like.order, like.ordered, like.growth)
        for table, row in zip(released, total, strict=True):
            shown = distinct(table.codes)[:2]
            for at, tree in enumerate(trees.trees):
                row[at] += np.exp(kernels.see(trees.task(at, shown), tree).log_prob[1, 0]) / n**n
    return float(np.log(total).sum())


@pytest.mark.parametrize(("growth", "seed"), [(Growth(2), 1), (Growth(1, smoothing=0.4), 2)])
def test_chains_have_the_mean_over_all_bootstrap_samples(growth: Growth, seed: int) -> None:
    data, rng = people(4, (2, 3), seed), np.random.default_rng(seed)
    trees = grown(data, growth)
    proper = ProperTrees(trees)
    released = proper.release(1, 3, rng=rng)
    rows = np.array([0, 3])
    candidates = neighborhood(data.codes[rows], data.schema.n_levels)
    exact = np.empty(candidates.shape[:2])
    for at in np.ndindex(*exact.shape):
        codes = data.codes.copy()
        codes[rows[at[0]]] = candidates[at]
        exact[at] = exact_log_prob(trees, codes, released)
    scans = Scans(20, 300, 6)
    found = bootstrap_means(proper, released, rows, candidates, scans=scans, rng=rng)
    by_chain = np.sum(found.log_means, axis=0)
    ratios = by_chain - by_chain[:, :, :1]
    error = np.maximum(ratios.std(axis=0, ddof=1) / np.sqrt(6), 0.03)
    expected = exact - exact[:, :1]
    possible = np.isfinite(expected)
    assert (np.abs(ratios.mean(axis=0) - expected)[possible] < 5 * error[possible]).all()
    assert np.isneginf(ratios[:, ~possible]).all()
    assert np.ptp(expected[possible]) > 0.3
    assert found.ess[:, possible].min() > 10


def test_posterior_risk_is_that_of_the_chains() -> None:
    data = people(12, (2, 3), 3)
    proper = ProperTrees(grown(data, Growth(2)))
    released, scans = proper.release(2, rng=np.random.default_rng(4)), Scans(5, 8, 4)
    risk = posterior_risk(
        data, released, synthesizer=proper, chains=scans, rng=np.random.default_rng(5),
        progress=False,
    )  # fmt: skip
    rows = [int(np.flatnonzero((data.codes == x).all(axis=1))[0]) for x in risk.combinations]
    candidates = neighborhood(risk.combinations, data.schema.n_levels)
    found = bootstrap_means(
        proper, released, np.array(rows), candidates, scans=scans, rng=np.random.default_rng(5)
    )
    assert len(found.log_means) == 4
    log_prob = np.sum([np.logaddexp.reduce(chains, axis=0) for chains in found.log_means], axis=0)
    np.testing.assert_allclose(risk.probability, np.exp(posterior(log_prob)[:, 0]))
    assert not risk.exact
    assert "Monte Carlo error" in risk.summary()


def test_releases_are_drawn_from_trees_on_bootstrap_samples() -> None:
    """A record that occurs once is lacking in a share (1 - 1/n)^n of the samples."""
    codes = np.zeros((8, 1), dtype=np.uint8)
    codes[0] = 1
    data = Microdata(codes, people(1, (2,), 1).schema)
    proper = ProperTrees(grown(data, Growth(1)))
    rng = np.random.default_rng(3)
    shares = np.array([table.codes.mean() for table in proper.release(400, 60, rng=rng)])
    lacking, expected = np.mean(shares == 0), 0.0
    for k in range(9):
        chance = (1 / 8) ** k * (7 / 8) ** (8 - k) * comb(8, k)
        expected += chance * (1 - k / 8) ** 60
    assert abs(lacking - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 400)


def test_short_chains_are_called_unreliable() -> None:
    data = people(60, (2, 3, 3), 4)
    proper = ProperTrees(grown(data, Growth(4)))
    released, rng = proper.release(1, rng=np.random.default_rng(5)), np.random.default_rng(6)
    risk = posterior_risk(
        data, released, synthesizer=proper, chains=Scans(10, 4, 4), rng=rng, progress=False
    )
    assert not risk.reliable.any()
    again = bootstrap_means(
        proper, released, np.arange(3), neighborhood(data.codes[:3], data.schema.n_levels),
        scans=Scans(2, 4, 4), rng=np.random.default_rng(7),
    )  # fmt: skip
    twice = bootstrap_means(
        proper, released, np.arange(3), neighborhood(data.codes[:3], data.schema.n_levels),
        scans=Scans(2, 4, 4), rng=np.random.default_rng(7),
    )  # fmt: skip
    np.testing.assert_array_equal(again.log_means, twice.log_means)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rng": None}, "ProperTrees take rng"),
        ({"unknown_records": [1]}, "take a synthesizer that is Trees"),
        ({"original": people(9, (2, 3), 3)}, "grown on another table"),
    ],
)
def test_wrong_input_is_named(wrong: dict[str, Any], message: str) -> None:
    data = people(20, (2, 3), 1)
    proper = ProperTrees(grown(data, Growth(4)))
    arguments: dict[str, Any] = {
        "original": data, "synthesizer": proper, "chains": Scans(0, 4, 4),
        "rng": np.random.default_rng(1), "progress": False,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        posterior_risk(released=proper.release(rng=np.random.default_rng(2)), **(arguments | wrong))
    with pytest.raises(ValueError, match="size is 0"):
        proper.release(1, 0, rng=np.random.default_rng(1))
