"""Risk over all cells, against enumeration by the other estimators' own functions."""

from collections.abc import Callable

import numpy as np
import pytest

from srlib import disclosure, dpmpm
from srlib.whole_support import BLOCK, cell_numbers, whole_support

LEVELS = np.array([2, 3, 4, 2])
CELLS = np.array(list(np.ndindex(*LEVELS)))


def draws_of(seed: int, levels: np.ndarray = LEVELS, n_draws: int = 6) -> dpmpm.Draws:
    """Draws given a few records that have not much to do with each other."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((40, len(levels))) * levels).astype(np.uint8)
    settings: dict = {"n_classes": 4, "burn_in": 20, "n_chains": 3, "rng": rng}
    return dpmpm.sample_posterior(codes, levels, n_draws=n_draws, **settings)


DATA, JOINED = draws_of(1), [draws_of(2, n_draws=4), draws_of(3)]


def enumerated(truth: np.ndarray) -> disclosure.Risk:
    """All cells as one support, the truth first."""
    support = disclosure.subset_support(truth, range(len(LEVELS)), LEVELS)
    data, *joined = (disclosure.support_ratios(d, support)[0] for d in (DATA, *JOINED))
    return disclosure.predictive_ratio(data, joined)


def test_all_cells_of_a_small_table() -> None:
    codes = CELLS[[0, 7, 30, 47, 7]]
    found = whole_support(DATA, JOINED, codes, n_top=48, margins=[(0, 2), (1,), (3, 1)])
    for i, truth in enumerate(codes):
        exact = enumerated(truth)
        assert found.probability[i] == pytest.approx(exact.probability[0], rel=1e-5)
        assert found.rank[i] == exact.rank[0]
        support = disclosure.subset_support(truth, range(4), LEVELS)
        log_prob = np.empty(48)
        log_prob[cell_numbers(support, LEVELS)] = exact.log_prob[0]
        np.testing.assert_allclose(found.top_log_prob[i], np.sort(log_prob)[::-1], atol=1e-5)
        np.testing.assert_allclose(log_prob[found.top_cells[i]], found.top_log_prob[i], atol=1e-5)
        table = np.exp(log_prob).reshape(LEVELS)
        np.testing.assert_allclose(found.margins[0][i], table.sum(axis=(1, 3)).ravel(), rtol=1e-5)
        np.testing.assert_allclose(found.margins[1][i], table.sum(axis=(0, 2, 3)), rtol=1e-5)
        np.testing.assert_allclose(found.margins[2][i], table.sum(axis=(0, 2)).T.ravel(), rtol=1e-5)
    assert not found.lost.any()


def test_one_class_is_a_product_of_independent_margins() -> None:
    """F = 1: the odds of a cell are products of odds of its levels, and so is the posterior."""
    levels = np.array([3, 2])
    rng = np.random.default_rng(4)
    codes = (rng.random((30, 2)) * levels).astype(np.uint8)
    settings: dict = {"n_classes": 1, "burn_in": 1, "n_draws": 1, "n_chains": 1, "rng": rng}
    one, other = (dpmpm.sample_posterior(codes, levels, **settings) for _ in range(2))
    found = whole_support(one, [other], np.array([[1, 1]]), n_top=1, margins=[(0,), (1,)])
    for margin, start in zip(found.margins, (0, 3), strict=True):
        size = margin.shape[1]
        ratio = other.phi[0, 0, start : start + size, 0] / one.phi[0, 0, start : start + size, 0]
        np.testing.assert_allclose(margin[0], ratio / ratio.sum(), rtol=1e-5)
    joint = np.outer(*(margin[0] for margin in found.margins))
    assert found.probability[0] == pytest.approx(joint[1, 1], rel=1e-5)


def test_more_cells_than_a_block() -> None:
    """Two variables of many levels: the blocks together have every cell once."""
    levels = np.array([200, 90])
    data, release = draws_of(5, levels, 2), draws_of(6, levels, 2)
    assert levels.prod() > 2 * BLOCK
    codes = np.array([[0, 0], [199, 89], [50, 3]])
    found = whole_support(data, [release], codes, n_top=3, margins=[(0,), (1,)])
    for margin in found.margins:
        np.testing.assert_allclose(margin.sum(axis=1), 1, rtol=1e-5)
    every = np.array(list(np.ndindex(*levels)), np.uint8)
    logs = []
    for draws in (data, release):
        log_prob = dpmpm.cell_log_prob(draws, every).reshape(-1, len(every))
        own = log_prob[:, cell_numbers(codes, levels)]
        logs.append(np.log(np.exp(log_prob[:, None] - own[..., None]).mean(axis=0)))
    log_odds = logs[1] - logs[0]
    np.testing.assert_allclose(
        found.log_normaliser, np.log(np.exp(log_odds).sum(axis=1)), rtol=1e-4
    )
    np.testing.assert_array_equal(found.rank, 1 + (log_odds > 1e-6).sum(axis=1))
    np.testing.assert_array_equal(found.top_cells[:, 0], log_odds.argmax(axis=1))


def test_a_release_without_news_leaves_every_cell_alike() -> None:
    found = whole_support(DATA, [DATA, DATA], CELLS[:3])
    np.testing.assert_allclose(found.probability, 1 / 48, rtol=1e-6)


def test_cells_beyond_float32_are_counted() -> None:
    tiny = DATA.phi.copy()
    tiny[:, :, 0] = 0.0
    other = dpmpm.Draws(DATA.alpha, DATA.pi, tiny, DATA.class_sizes, DATA.log_likelihood, LEVELS)
    truth = np.array([[1, 0, 0, 0]])
    found = whole_support(other, JOINED, truth)
    assert found.lost[0] == 24
    assert np.isfinite(found.log_normaliser).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole_support(DATA, [], CELLS), "joined is empty"),
        (lambda: whole_support(DATA, JOINED, CELLS, n_top=0), "n_top is 0; it must be from 1 to"),
        (lambda: whole_support(DATA, JOINED, CELLS, n_top=49), "n_top is 49"),
        (lambda: whole_support(DATA, JOINED, CELLS, margins=[(0, 0)]), "names distinct"),
        (lambda: whole_support(DATA, JOINED, CELLS, margins=[(4,)]), "variables are 0 to 3"),
        (
            lambda: whole_support(DATA, [draws_of(1, np.array([2, 3]))], CELLS),
            r"must be those of data, \[",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
