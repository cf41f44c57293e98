"""Risk over a sample of cells, against all cells where they can be visited or summed."""

import numpy as np
import pytest

from srlib import dpmpm
from srlib.data.codes import cell_numbers
from srlib.risk import DrawSets, sampled, sampled_support, whole_support
from srlib.risk.sampled import FOUND

LEVELS = np.array([4, 5, 6, 5])
CELLS = np.array(list(np.ndindex(*LEVELS)))
TRUTH = CELLS[[0, 77, 300, 599]]


def draws_of(seed: int, levels: np.ndarray = LEVELS, n_classes: int = 4) -> dpmpm.Draws:
    """Draws given a few records, more of them at low levels."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((80, len(levels))) ** 2 * levels).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=n_classes, burn_in=20, n_draws=6, n_chains=3)
    return dpmpm.sample_posterior(codes, levels, chains, rng=rng)


SETS = DrawSets(draws_of(1), [draws_of(2), draws_of(3)])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cells counted exactly, so that a small table has enough others to sample."""
    small = {
        "FOUND": 20,
        "CLIMBING": 2,
        "EXPLORED": 500,
        "FITTED": 100,
        "ROUNDS": 2,
        "TILE": (3, 400),
    }
    for name, value in small.items():
        monkeypatch.setattr(sampled, name, value)


@pytest.mark.usefixtures("small")
def test_unbiased_and_within_its_errors() -> None:
    exact = whole_support(SETS, TRUTH, n_top=len(CELLS))
    ratios, errors, inside = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found = sampled_support(SETS, TRUTH, rng=rng, n_cells=1000, n_top=3)
        ratios.append(np.exp(found.log_normalizer - exact.log_normalizer))
        errors.append(found.log_sampling_error)
        inside.append(
            (found.rank_range[:, 0] <= exact.rank) & (exact.rank <= found.rank_range[:, 1])
        )
        assert (found.largest_share < 0.05).all()
        np.testing.assert_allclose(found.log_mcse, exact.log_mcse, rtol=0.3)
        for i in range(len(TRUTH)):
            place = [list(exact.top_cells[i]).index(cell) for cell in found.top_cells[i]]
            shift = found.log_normalizer[i] - exact.log_normalizer[i]
            log_prob = exact.top_log_prob[i, place] - shift
            np.testing.assert_allclose(found.top_log_prob[i], log_prob, atol=1e-4)
    off = np.mean(ratios, axis=0) - 1
    se = np.std(ratios, axis=0, ddof=1) / np.sqrt(30)
    assert np.abs(off / se).max() < 4
    assert 0.001 < se.max() < 0.01
    np.testing.assert_allclose(np.mean(errors, axis=0), se * np.sqrt(30), rtol=0.4)
    assert np.mean(np.abs(np.array(ratios) - 1) < 2 * np.array(errors)) > 0.9
    assert np.mean(inside) > 0.95


@pytest.mark.usefixtures("small")
def test_ranks_count_the_cells_above() -> None:
    """Without an error of the chains the range is that of the sample alone."""
    sets = [draws_of(seed) for seed in (1, 2)]
    for draws in sets:
        for array in (draws.pi, draws.phi):
            array[:] = array[:1]  # chains that agree
    exact = whole_support(DrawSets(sets[0], sets[1:]), TRUTH)
    rng = np.random.default_rng(1)
    found = sampled_support(DrawSets(sets[0], sets[1:]), TRUTH, rng=rng, n_cells=4000)
    np.testing.assert_allclose(found.rank, exact.rank, atol=40)
    assert (found.rank_range[:, 0] <= exact.rank).all()
    assert (exact.rank <= found.rank_range[:, 1]).all()
    assert np.ptp(found.rank_range, axis=1).max() < 80


def test_a_space_that_is_found_altogether_is_exact() -> None:
    exact = whole_support(SETS, TRUTH)
    rng = np.random.default_rng(1)
    found = sampled_support(SETS, TRUTH, rng=rng, n_cells=1000)
    np.testing.assert_allclose(found.log_normalizer, exact.log_normalizer, rtol=1e-6)
    np.testing.assert_allclose(found.log_mcse, exact.log_mcse, rtol=1e-4)
    np.testing.assert_allclose(found.top_log_mcse, exact.top_log_mcse, rtol=1e-4)
    np.testing.assert_array_equal(found.top_cells, exact.top_cells)
    np.testing.assert_array_equal(found.rank, exact.rank)
    np.testing.assert_array_equal(found.rank_range, exact.rank_range)
    assert (found.log_sampling_error == 0).all()


def test_closed_form_at_ten_to_the_thirteen() -> None:
    """F = 1: odds are products of odds of levels, so that their sum is a product of sums."""
    levels = np.full(13, 10)
    data, release = (draws_of(seed, levels, n_classes=1) for seed in (4, 5))
    for draws in (data, release):
        for array in (draws.pi, draws.phi):
            array[:] = array[:1, :1]  # one draw, many times: no error of the chains
    truth = np.zeros((1, 13), np.uint8)
    truth[0, ::3] = 2
    ratio = (release.phi[0, 0, :, 0] / data.phi[0, 0, :, 0]).reshape(13, 10)
    exact = np.log(ratio.sum(axis=1)).sum() - np.log(ratio[np.arange(13), truth[0]]).sum()
    rng = np.random.default_rng(1)
    found = sampled_support(DrawSets(data, [release]), truth, rng=rng, n_cells=1 << 15)
    assert 0 < found.log_sampling_error[0] < 0.2
    assert abs(found.log_normalizer[0] - exact) < 3 * found.log_sampling_error[0]
    assert found.top_cells[0, 0] == cell_numbers(ratio.argmax(axis=1)[None], levels)[0]
    largest = np.log(ratio.max(axis=1)).sum() - np.log(ratio[np.arange(13), truth[0]]).sum()
    assert found.top_log_prob[0, 0] == pytest.approx(largest - found.log_normalizer[0], abs=1e-4)


@pytest.mark.parametrize(
    ("levels", "settings", "message"),
    [
        (LEVELS, {"n_cells": 10}, "n_cells is 10; it must be 1000 or more"),
        (LEVELS, {"n_top": 0}, "n_top is 0; it must lie in 1 to 600"),
        (np.full(20, 10), {"n_top": FOUND + 1}, "must be fewer than 2"),
        (np.full(18, 10), {"n_top": FOUND + 1}, f"n_top is {FOUND + 1}"),
    ],
)
def test_bad_input(levels: np.ndarray, settings: dict, message: str) -> None:
    data, truth = draws_of(1, levels), np.zeros((1, len(levels)), np.uint8)
    with pytest.raises(ValueError, match=message):
        sampled_support(DrawSets(data, [data]), truth, rng=np.random.default_rng(1), **settings)
