"""Convergence of chains and reliability of importance weights."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from srlib import diagnostics


def chains(shift=0.0, n_chains=4, n_draws=1000, seed=0):
    """Independent normal draws, the last chain moved by `shift`."""
    draws = np.random.default_rng(seed).normal(size=(n_chains, n_draws))
    draws[-1] += shift
    return draws


def autoregressive(rho, n_draws=2000):
    noise = np.random.default_rng(1).normal(size=(4, n_draws))
    draws = noise.copy()
    for t in range(1, n_draws):
        draws[:, t] = rho * draws[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
    return draws


@pytest.mark.parametrize(
    ("draws", "verdict"),
    [
        (chains(), diagnostics.CONVERGED),
        (chains(shift=1.0), diagnostics.NOT_MIXED),
        (chains(n_draws=80, seed=3), diagnostics.TOO_FEW),
        (np.ones((4, 100)), diagnostics.CONSTANT),
        (chains()[:1], diagnostics.UNKNOWN),
        (np.where(chains() > 3, np.inf, chains()), diagnostics.UNKNOWN),
    ],
)
def test_verdict_on_chains(draws, verdict):
    assert diagnostics.summary({"alpha": draws})["verdict"].tolist() == [verdict]


def test_summary_of_independent_draws_and_of_a_constant():
    draws = {"healthy": chains(), "constant": np.ones((4, 100))}
    table = diagnostics.summary(draws).set_index("quantity")
    healthy = table.loc["healthy"]
    assert healthy["mean"] == pytest.approx(chains().mean())
    assert healthy["mcse"] == pytest.approx(1 / np.sqrt(4000), rel=0.1)
    assert healthy["ess_bulk"] == pytest.approx(4000, rel=0.15)
    assert table.loc["constant", "mcse"] == 0


def test_effective_sample_size_of_an_autoregressive_process():
    row = diagnostics.summary({"ar": autoregressive(0.9)}).iloc[0]
    # ESS / draws = (1 - rho) / (1 + rho)
    assert row["ess_bulk"] == pytest.approx(8000 * 0.1 / 1.9, rel=0.25)
    assert row["mcse"] == pytest.approx(row["sd"] / np.sqrt(8000 * 0.1 / 1.9), rel=0.15)


def split_r_hat(draws):
    """Split R-hat of normal scores of ranks, the larger of plain and folded."""

    def classic(values):
        n = values.shape[1]
        between = n * values.mean(axis=1).var(ddof=1)
        within = values.var(axis=1, ddof=1).mean()
        return np.sqrt((n - 1) / n + between / within / n)

    half = draws.shape[1] // 2
    split = np.concatenate([draws[:, :half], draws[:, half:]])
    scores = []
    for values in (split, np.abs(split - np.median(split))):
        ranks = stats.rankdata(values).reshape(split.shape)
        scores.append(stats.norm.ppf((ranks - 3 / 8) / (split.size + 1 / 4)))
    return max(classic(z) for z in scores)


def test_r_hat_is_the_rank_normalized_split_one(monkeypatch):
    draws = np.stack(
        [chains(), chains(1.0), chains() ** 3, autoregressive(0.9, 1000)], axis=2
    )
    expected = [split_r_hat(draws[:, :, j]) for j in range(4)]
    assert diagnostics.r_hat(draws) == pytest.approx(expected)
    of_one = diagnostics.r_hat(draws[:, :, 0])
    assert isinstance(of_one, float)
    assert of_one == pytest.approx(expected[0])
    assert diagnostics.r_hat(draws[:, :, 1]) == pytest.approx(expected[1])
    monkeypatch.setattr(diagnostics, "BLOCK_QUANTITIES", 3)  # in blocks
    assert diagnostics.r_hat(draws) == pytest.approx(expected)


def test_r_hat_of_degenerate_samples():
    stuck = np.repeat(np.arange(4.0)[:, None], 50, axis=1)
    draws = np.stack([np.ones((4, 50)), stuck, np.full((4, 50), np.nan)], axis=2)
    assert np.array_equal(
        diagnostics.r_hat(draws), [np.nan, np.inf, np.nan], equal_nan=True
    )
    assert diagnostics.summary({"stuck": stuck})["verdict"][0] == diagnostics.NOT_MIXED


@pytest.mark.parametrize("shape", [(10,), (2, 3), (2, 10, 2, 2)])
def test_samples_of_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="draws has shape"):
        diagnostics.r_hat(np.zeros(shape))
    with pytest.raises(ValueError, match="pi has shape"):
        diagnostics.summary({"pi": np.zeros((2, 10, 3))})


def test_verdict_in_words():
    healthy = diagnostics.verdict(diagnostics.summary({"alpha": chains()}))
    assert "no sign" in healthy.text
    assert healthy.kind == "Note"
    few = chains(n_draws=80, seed=3)
    one = np.ones((4, 9))
    sick = diagnostics.summary({"alpha": chains(1.0), "classes": few, "one": one})
    text = diagnostics.verdict(sick).text
    assert diagnostics.verdict(sick).kind == "Warning"
    assert f"R-hat is above 1.01 for alpha (largest: {sick['r_hat'][0]:.2f})" in text
    assert "Fewer than 400 effective draws for classes" in text
    assert "All draws of one are equal" in text
    alone = diagnostics.verdict(diagnostics.summary({"a": chains()[:1]}))
    assert alone.kind == "Warning"
    assert "cannot be assessed" in alone.text
    assert diagnostics.verdict(diagnostics.summary({"one": one})).kind == "Note"


def test_importance_ess_closed_forms():
    assert diagnostics.importance_ess(np.full(50, -1e4)) == pytest.approx(50)
    assert diagnostics.importance_ess([0.0, -1e5, -np.inf]) == pytest.approx(1)
    # (1 + 1/2)^2 / (1 + 1/4)
    assert diagnostics.importance_ess([[0.0, np.log(0.5)]]) == pytest.approx([1.8])
    weights = np.array([[2, 1, 1], [1, 1, 1]])
    table = diagnostics.importance_summary(np.log(weights))
    assert table[["synthetic_set", "draws"]].to_numpy().tolist() == [[1, 3], [2, 3]]
    assert table["ess"].to_numpy() == pytest.approx([1 / 0.375, 3])
    assert table["largest_share"].to_numpy() == pytest.approx([0.5, 1 / 3])


@pytest.mark.parametrize("bad", [[0.0, np.nan], [0.0, np.inf], [-np.inf, -np.inf], []])
def test_bad_log_weights_are_refused(bad):
    with pytest.raises(ValueError, match="log_weights"):
        diagnostics.importance_ess(bad)
    with pytest.raises(ValueError, match="log_weights"):
        diagnostics.pareto_k(bad)


@pytest.mark.parametrize("k", [0.2, 0.5, 1.0])
def test_pareto_k_recovers_the_shape_of_the_tail(k):
    # w = u^-k has a Pareto tail of shape k, so log w is exponential with mean k.
    log_weights = np.random.default_rng(4).exponential(k, (20, 4000))
    estimates = diagnostics.pareto_k(log_weights)
    # The estimate's sd is about (1 + k) / sqrt(tail), shrunk a little towards 0.5.
    tail = 3 * np.sqrt(4000)
    sd = (1 + k) / np.sqrt(20 * tail)
    shrinkage = 10 / tail * abs(k - 0.5)
    assert estimates.mean() == pytest.approx(k, abs=4 * sd + shrinkage)


def test_pareto_k_ignores_a_constant_and_keeps_leading_axes(monkeypatch):
    log_weights = np.random.default_rng(6).normal(size=(2, 3, 200))
    k = diagnostics.pareto_k(log_weights)
    assert k.shape == (2, 3)
    assert len(np.unique(k)) == 6
    monkeypatch.setattr(diagnostics, "BLOCK_QUANTITIES", 4)  # in blocks
    assert np.array_equal(diagnostics.pareto_k(log_weights.reshape(6, 200)), k.ravel())
    assert diagnostics.pareto_k(log_weights - 1e4) == pytest.approx(k)
    assert diagnostics.pareto_k(log_weights[1, 2]) == pytest.approx(k[1, 2])


def test_pareto_k_where_no_tail_can_be_fitted(rng):
    assert np.isnan(diagnostics.pareto_k(rng.normal(size=29)))
    assert np.isnan(diagnostics.pareto_k(np.zeros(100)))
    assert diagnostics.pareto_k(1e4 * rng.normal(size=100)) == np.inf
    assert diagnostics.pareto_k(50 * rng.normal(size=100)) > 1
    far = rng.normal(scale=30, size=(4, 3_200))
    far[:, 7] = [500, 1_000, 5_000, 50_000]  # one weight leaves all others behind
    assert np.isinf(diagnostics.pareto_k(far)).all()


def test_long_format_names_chain_and_draw_of_every_value():
    draws = chains(n_chains=2, n_draws=5)
    table = diagnostics.long_format({"alpha": draws, "classes": draws + 1})
    assert len(table) == 20
    row = table.query("quantity == 'classes' and chain == 2 and draw == 3")
    assert row["value"].tolist() == [draws[1, 2] + 1]


def test_imports_leave_arviz_and_scikit_learn_for_later():
    code = (
        "import sys, srlib.risk; assert not {'arviz_stats', 'sklearn'} & {*sys.modules}"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
