"""Risk over all cells, against enumeration by the other estimators' own functions."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.data.codes import cell_numbers
from srlib.risk import DrawSets, WholeSupport, whole_support
from srlib.risk import whole as module
from srlib.risk.whole import BLOCK

LEVELS = np.array([2, 3, 4, 2])
CELLS = np.array(list(np.ndindex(*LEVELS)))


def draws_of(seed: int, levels: np.ndarray = LEVELS, n_draws: int = 6) -> dpmpm.Draws:
    """Draws given a few records that have not much to do with each other."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((40, len(levels))) * levels).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=4, burn_in=20, n_draws=n_draws, n_chains=3)
    return dpmpm.sample_posterior(codes, levels, chains, rng=rng)


DATA, JOINED = draws_of(1), [draws_of(2, n_draws=4), draws_of(3)]
SETS = DrawSets(DATA, JOINED)


def chains_of(draws: dpmpm.Draws, keep: slice) -> dpmpm.Draws:
    """Some of the chains."""
    arrays = {k: v[keep] for k, v in vars(draws).items() if k not in ("n_levels", "allocations")}
    return replace(draws, **arrays)


def same(one: WholeSupport, other: WholeSupport, **tolerance: Any) -> None:
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        for a, b in zip(
            *((left, right) if isinstance(left, tuple) else ([left], [right])), strict=True
        ):
            np.testing.assert_allclose(a, b, err_msg=field.name, **tolerance)


def only(found: WholeSupport, i: int) -> WholeSupport:
    """The results of one record."""
    values: dict[str, Any] = {
        name: tuple(each[[i]] for each in value) if isinstance(value, tuple) else value[[i]]
        for name, value in vars(found).items()
    }
    return WholeSupport(**values)


def enumerated(truth: np.ndarray) -> disclosure.Risk:
    """All cells as one support, the truth first."""
    support = disclosure.subset_support(truth, range(len(LEVELS)), LEVELS)
    return disclosure.predictive_ratio([disclosure.support_log_ratios(d, support)[0] for d in SETS])


def test_all_cells_of_a_small_table() -> None:
    codes = CELLS[[0, 7, 30, 47, 7]]
    found = whole_support(SETS, codes, n_top=48, margins=[(0, 2), (1,), (3, 1)])
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
    chains = dpmpm.Chains(n_classes=1, burn_in=1, n_draws=1, n_chains=2)
    one, other = (dpmpm.sample_posterior(codes, levels, chains, rng=rng) for _ in range(2))
    one.phi[1], other.phi[1] = one.phi[0], other.phi[0]  # two chains that agree: no error
    found = whole_support(DrawSets(one, [other]), np.array([[1, 1]]), n_top=1, margins=[(0,), (1,)])
    for margin, start in zip(found.margins, (0, 3), strict=True):
        size = margin.shape[1]
        ratio = other.phi[0, 0, start : start + size, 0] / one.phi[0, 0, start : start + size, 0]
        np.testing.assert_allclose(margin[0], ratio / ratio.sum(), rtol=1e-5)
    joint = np.outer(*(margin[0] for margin in found.margins))
    assert found.probability[0] == pytest.approx(joint[1, 1], rel=1e-5)
    assert found.log_mcse[0] == pytest.approx(0, abs=1e-6)
    assert found.rank_range[0].tolist() == [found.rank[0]] * 2


def test_more_cells_than_a_block() -> None:
    """Two variables of many levels: the blocks together have every cell once."""
    levels = np.array([200, 90])
    data, release = draws_of(5, levels, 2), draws_of(6, levels, 2)
    assert levels.prod() > 2 * BLOCK
    codes = np.array([[0, 0], [199, 89], [50, 3]])
    found = whole_support(DrawSets(data, [release]), codes, n_top=3, margins=[(0,), (1,)])
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
        found.log_normalizer, np.log(np.exp(log_odds).sum(axis=1)), rtol=1e-4
    )
    np.testing.assert_array_equal(found.rank, 1 + (log_odds > 1e-6).sum(axis=1))
    np.testing.assert_array_equal(found.top_cells[:, 0], log_odds.argmax(axis=1))


def test_a_record_alone_as_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights become part of the classes' probabilities; here in many blocks and tiles."""
    codes = CELLS[[0, 7, 30]]
    settings: dict = {"n_top": 7, "margins": [(0, 2), (1,)]}
    together = whole_support(SETS, codes, **settings)
    monkeypatch.setattr(module, "INNER", 4)
    monkeypatch.setattr(module, "BLOCK_OF_ONE", 16)
    monkeypatch.setattr(module, "TILE", (1, 5))
    for i in range(3):
        alone = whole_support(SETS, codes[[i]], **settings)
        same(alone, only(together, i), rtol=1e-5, atol=1e-6)


def test_a_release_without_news_leaves_every_cell_alike() -> None:
    found = whole_support(DrawSets(DATA, [DATA, DATA]), CELLS[:3])
    np.testing.assert_allclose(found.probability, 1 / 48, rtol=1e-6)


def test_cells_beyond_float32_are_counted() -> None:
    tiny = DATA.phi.copy()
    tiny[:, :, 0] = 0.0
    other = dpmpm.Draws(DATA.alpha, DATA.pi, tiny, DATA.class_sizes, DATA.log_likelihood, LEVELS)
    truth = np.array([[1, 0, 0, 0]])
    found = whole_support(DrawSets(other, JOINED), truth)
    assert found.lost[0] == 24
    assert np.isfinite(found.log_normalizer).all()


def test_errors_are_what_reweighting_a_chain_does() -> None:
    """Every standard error from numerical derivatives with respect to the weights of chains."""
    codes, margins = CELLS[[0, 7, 30]], [(0, 2), (1,)]
    found = whole_support(SETS, codes, n_top=4, margins=margins)
    for i, truth in enumerate(codes):
        support = disclosure.subset_support(truth, range(4), LEVELS)
        order = np.argsort(cell_numbers(support, LEVELS))
        sets = [disclosure.support_log_ratios(draws, support)[0][:, 0, order] for draws in SETS]

        def estimates(
            weights: list[np.ndarray], sets: list[np.ndarray] = sets, i: int = i
        ) -> np.ndarray:
            data, *joined = (
                np.log(w @ np.exp(each) / w.sum()) for w, each in zip(weights, sets, strict=True)
            )
            log_odds = sum(joined) - len(joined) * data
            p = np.exp(log_odds - np.logaddexp.reduce(log_odds))
            table = p.reshape(LEVELS)
            truth, top = cell_numbers(codes[i : i + 1], LEVELS), found.top_cells[i]
            logs = np.log(p[np.concatenate([truth, top])])
            return np.concatenate([logs, table.sum(axis=(1, 3)).ravel(), table.sum(axis=(0, 2, 3))])

        variance, step = 0.0, 1e-5
        for s, each in enumerate(sets):
            chains = len(each)
            for j in range(chains):
                up, down = ([np.ones(len(e)) for e in sets] for _ in range(2))
                up[s][j] += step
                down[s][j] -= step
                slope = (estimates(up) - estimates(down)) / (2 * step)
                variance = variance + chains / (chains - 1) * slope**2
        margins_mcse = np.concatenate([margin[i] for margin in found.margins_mcse])
        given = np.concatenate([[found.log_mcse[i]], found.top_log_mcse[i], margins_mcse])
        np.testing.assert_allclose(given, np.sqrt(variance), rtol=1e-3, atol=1e-7)


def test_rank_range_counts_cells_within_two_errors() -> None:
    codes = CELLS[[0, 7, 30, 47]]
    found = whole_support(SETS, codes)
    for i, truth in enumerate(codes):
        support = disclosure.subset_support(truth, range(4), LEVELS)
        sets = [disclosure.support_log_ratios(draws, support)[0][:, 0] for draws in SETS]
        log_odds, variance = np.zeros(48), np.zeros(48)
        for each, power in zip(sets, (-2, 1, 1), strict=True):
            mean = np.exp(each).mean(axis=0)
            log_odds += power * np.log(mean)
            variance += power**2 * (np.exp(each) / mean).var(axis=0, ddof=1) / len(each)
        z = log_odds[1:] / np.sqrt(variance[1:])
        low, high = 1 + (z > 2).sum(), 1 + (z >= -2).sum()
        assert found.rank_range[i].tolist() == [low, high]
        assert low <= found.rank[i] <= high
        assert 1 < high - low < 47


def test_stated_errors_are_true_ones() -> None:
    """Sixty runs of six chains against all 360: nineteen in twenty within two errors, or nearly."""
    levels, size, n = np.array([2, 3, 2]), 6, 60
    rng = np.random.default_rng(11)
    records = (rng.random((3, 40, 3)) ** 2 * levels).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=3, burn_in=30, n_draws=20, n_chains=size * n)
    data, *joined = (
        dpmpm.sample_posterior(np.concatenate([records[0], *more]), levels, chains, rng=rng)
        for more in ([], [records[1]], [records[2]])
    )
    codes = np.array(list(np.ndindex(*levels)))
    best = whole_support(DrawSets(data, joined), codes, n_top=1)
    within, ranked = [], []
    for run in range(n):
        some = slice(size * run, size * (run + 1))
        sets = DrawSets(chains_of(data, some), [chains_of(d, some) for d in joined])
        found = whole_support(sets, codes)
        within.append(np.abs(found.log_normalizer - best.log_normalizer) < 2 * found.log_mcse)
        low, high = found.rank_range.T
        ranked.append((low <= best.rank) & (best.rank <= high))
    # Six chains a set: about 0.93 for a t distribution; runs, not records, are independent.
    assert 0.85 < np.mean(within) < 0.99
    assert np.mean(ranked) > 0.95


def test_above_what_fits_the_cells_are_sampled() -> None:
    codes = CELLS[[0, 7, 30]]
    settings: dict = {"most_cells": 47, "n_top": 4}
    with pytest.raises(ValueError, match="a sample of them needs rng and gives no margins"):
        whole_support(SETS, codes, **settings)
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="gives no margins"):
        whole_support(SETS, codes, margins=[(0,)], rng=rng, **settings)
    sampled, exact = whole_support(SETS, codes, rng=rng, **settings), whole_support(SETS, codes)
    assert isinstance(sampled, disclosure.SampledSupport)
    assert not isinstance(exact, disclosure.SampledSupport)
    np.testing.assert_allclose(sampled.probability, exact.probability, rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole_support(SETS, CELLS[:0]), "codes is empty"),
        (lambda: DrawSets(DATA, []), "joined is empty"),
        (
            lambda: DrawSets(chains_of(DATA, slice(1)), JOINED),
            r"the sets have \[1, 3, 3\] chains; each needs two or more",
        ),
        (
            lambda: whole_support(SETS, CELLS, most_cells=47),
            "the space has 48 cells, more than most_cells",
        ),
        (lambda: whole_support(SETS, CELLS, n_top=0), "n_top is 0; it must lie in 1 to 48"),
        (lambda: whole_support(SETS, CELLS, n_top=49), "n_top is 49"),
        (lambda: whole_support(SETS, CELLS, margins=[(0, 0)]), "must name distinct"),
        (
            lambda: whole_support(SETS, CELLS, margins=[(4,)]),
            r"margin is \[4\]; the variables are 0 to 3",
        ),
        (
            lambda: DrawSets(DATA, [draws_of(1, np.array([2, 3]))]),
            r"must be those of data, \[",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
