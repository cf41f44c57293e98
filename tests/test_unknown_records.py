"""Intruders who do not know everything: chains over tables against enumeration of all of them."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_trees import grown, people, schema

from srlib.data.schema import Microdata
from srlib.mechanism.bayes import posterior
from srlib.risk import neighborhood, posterior_risk, subset_support
from srlib.trees import Growth, Scans, Trees, complete, log_likelihoods


def enumerated(
    trees: Trees, released: Any, rows: NDArray, candidates: NDArray, log_prior: NDArray
) -> NDArray:
    """Posterior probabilities of the candidates of each record, from all completions."""
    shown = np.concatenate([table.codes for table in released])
    size = candidates.shape[1]
    total = np.zeros(candidates.shape[:2])
    choices = list(itertools.product(range(size), repeat=len(rows)))
    joint = np.empty(len(choices))
    for at, choice in enumerate(choices):
        codes = trees.codes.copy()
        codes[rows] = candidates[np.arange(len(rows)), choice]
        again = Trees.grow(codes, trees.schema, trees.order, trees.ordered, trees.growth)
        joint[at] = again.log_prob(shown) + log_prior[np.arange(len(rows)), choice].sum()
    for weight, choice in zip(np.exp(posterior(joint)), choices, strict=True):
        total[np.arange(len(rows)), choice] += weight
    return total


@pytest.mark.parametrize(
    ("growth", "n_unknown", "seed"),
    [
        (Growth(3), 2, 5),
        (Growth(3), 2, 7),
        (Growth(2, smoothing=0.5), 3, 3),
        (Growth(4, criterion="entropy", smoothing=2.0), 2, 3),
    ],
)
def test_chains_have_the_mean_over_all_completed_tables(
    growth: Growth, n_unknown: int, seed: int
) -> None:
    data, rng = people(14, (2, 3, 2), seed), np.random.default_rng(seed)
    trees = grown(data, growth, ["v2", "v0", "v1"])
    released = trees.release(2, rng=rng)
    rows = rng.permutation(14)[:n_unknown]
    levels = data.schema.n_levels
    candidates = np.stack([subset_support(x, [0, 1], levels) for x in data.codes[rows]])
    log_prior = rng.normal(size=candidates.shape[:2])
    exact = enumerated(trees, released, rows, candidates, log_prior)
    found = complete(trees, released, rows, candidates, log_prior, scans=Scans(50, 600, 8), rng=rng)
    assert found.lost == 0
    means = np.exp(found.log_means)
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    # Errors from eight chains are rough themselves; none may be below a thousandth.
    assert (np.abs(means.mean(axis=0) - exact) < 5 * np.maximum(error, 1e-3)).all()
    # The records are not independent: each by itself, the others known, has another posterior.
    alone = np.exp(posterior(log_likelihoods(trees, released, rows, candidates)[0] + log_prior))
    assert np.abs(alone - exact).max() > 0.03


def test_one_unknown_record_is_the_intruder_who_knows_all_others() -> None:
    data = people(60, (2, 3, 4), 4)
    trees = grown(data, Growth(4))
    released, rng = trees.release(2, rng=np.random.default_rng(5)), np.random.default_rng(6)
    for unknown in (None, ["v1", "v2"]):
        exact = posterior_risk(data, released, synthesizer=trees, unknown=unknown, progress=False)
        for row in (0, 17):
            one = posterior_risk(
                data, released, synthesizer=trees, unknown=unknown, unknown_records=[row],
                chains=Scans(2, 4, 4), rng=rng, progress=False,
            )  # fmt: skip
            (at,) = np.flatnonzero((exact.combinations == data.codes[row]).all(axis=1))
            assert one.probability[0] == pytest.approx(exact.probability[at], rel=1e-9)
            assert one.rank[0] == exact.rank[at]
            assert one.log_mcse[0] == pytest.approx(0, abs=1e-9)
            assert one.reliable.all()
            assert not one.exact


def test_records_alike_share_a_row_and_tables_apart_are_told() -> None:
    """Two unknown records hold the only donors of two values: neither can change by itself."""
    codes = np.zeros((12, 2), dtype=np.uint8)
    codes[:2, 1] = [1, 2]
    data = Microdata(codes, schema(2, 4))
    trees = grown(data, Growth(6))
    # By symmetry each has either value with probability 1/2, which a single chain cannot see.
    some: dict[str, Any] = {"synthesizer": trees, "unknown": ["v1"], "progress": False}
    apart = posterior_risk(
        data, data, **some, unknown_records=[0, 1], chains=Scans(20, 20, 8),
        rng=np.random.default_rng(2),
    )  # fmt: skip
    assert not apart.reliable.any()
    assert "have not converged" in apart.summary()
    alike = posterior_risk(
        data, data, **some, unknown_records=[2, 3, 4], chains=Scans(20, 200, 4),
        rng=np.random.default_rng(2),
    )  # fmt: skip
    assert alike.repetitions.tolist() == [3]
    assert alike.to_frame()["repetitions"].tolist() == [3]
    support = np.stack([subset_support(codes[2], [1], data.schema.n_levels)] * 3)
    exact = enumerated(trees, [data], np.array([2, 3, 4]), support, np.zeros((3, 4)))
    assert exact[:, 0] == pytest.approx(exact[0, 0])
    error = max(5 * alike.log_mcse[0], 0.01)
    assert np.log(alike.probability[0]) == pytest.approx(np.log(exact[0, 0]), abs=error)


def test_chains_do_not_depend_on_threads_and_start_from_both_sides() -> None:
    data = people(40, (2, 3, 2), 8)
    trees = grown(data, Growth(4, smoothing=0.5))
    released = trees.release(1, rng=np.random.default_rng(9))
    rows = np.arange(10)
    support = neighborhood(data.codes[rows], data.schema.n_levels)
    one, two = (
        complete(
            trees, released, rows, support, scans=Scans(5, 5, 4), rng=np.random.default_rng(10)
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.log_means, two.log_means)
    assert 0 < one.moved < 1
    assert one.truth.shape == (4, 5, 10)
    # The table that the trees were grown on is as it was.
    np.testing.assert_array_equal(trees.codes, data.codes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"unknown_records": []}, "must be rows, one or more"),
        ({"unknown_records": [3, 3]}, "distinct rows from 0 to 19"),
        ({"unknown_records": [20]}, "distinct rows from 0 to 19"),
        ({"unknown_records": [0.5]}, "must be rows, one or more"),
        ({"synthesizer": None}, "take a synthesizer that is Trees"),
        ({"rng": None}, "unknown records take rng"),
        ({"unknown_records": None}, "chains are Scans"),
        ({"log_prior": [[-np.inf, 0.0]]}, "finite for the first candidates"),
    ],
)
def test_wrong_input_is_named(wrong: dict[str, Any], message: str) -> None:
    data = people(20, (2, 3), 1)
    trees = grown(data, Growth(4))
    arguments: dict[str, Any] = {
        "synthesizer": trees, "unknown": ["v0"], "unknown_records": [2],
        "chains": Scans(0, 4, 4), "rng": np.random.default_rng(1), "progress": False,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        posterior_risk(data, trees.release(rng=np.random.default_rng(2)), **(arguments | wrong))
    with pytest.raises(ValueError, match="n_chains is 3; it must be 4 or more"):
        Scans(n_chains=3)
