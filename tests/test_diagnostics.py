"""Convergence of chains and reliability of importance weights."""

import re
import subprocess
import sys

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusals, value_error
from scipy import stats
from scipy.signal import lfilter

from srlib import diagnostics
from srlib.diagnostics import importance_ess, pareto_k, r_hat, summary, verdict


def chains(shift=0.0, n_chains=4, n_draws=1000, seed=0):
    """Independent normal draws, the last chain moved by `shift`."""
    draws = default_rng(seed).normal(size=(n_chains, n_draws))
    draws[-1] += shift
    return draws


def autoregressive(rho, n_draws=2000):
    noise = chains(n_draws=n_draws, seed=1)
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise)


CONSTANT = np.ones((4, 100))
FEW = chains(n_draws=80, seed=3)
NOT_MIXED = chains(shift=1.0)
SINGLE_CHAIN = chains()[:1]
INFINITE = np.where(chains() > 3, np.inf, chains())


@pytest.mark.parametrize(
    ("draws", "expected", "sentence"),
    [
        (chains(), diagnostics.CONVERGED, "Note. R-hat is at most .*: no sign"),
        (NOT_MIXED, diagnostics.NOT_MIXED, "Warning. R-hat is above 1.01 for alpha"),
        (FEW, diagnostics.TOO_FEW, "Warning. Fewer than 400 effective draws for alpha"),
        (CONSTANT, diagnostics.CONSTANT, "Note. All draws of alpha are equal"),
        (SINGLE_CHAIN, diagnostics.UNKNOWN, "Warning. Convergence of alpha cannot be"),
        (INFINITE, diagnostics.UNKNOWN, "Warning. Convergence of alpha cannot be"),
    ],
)
def test_verdict_on_chains(draws, expected, sentence):
    table = summary({"alpha": draws})
    assert table["verdict"].tolist() == [expected]
    assert re.match(sentence, repr(verdict(table)))


def test_summary_of_independent_draws():
    row = summary({"alpha": chains()}).iloc[0]
    assert_allclose(row["mean"], chains().mean())
    assert_allclose(row["mcse"], 1 / np.sqrt(4000), rtol=0.1)
    assert_allclose(row["ess_bulk"], 4000, rtol=0.15)


def test_effective_sample_size_of_an_autoregressive_process():
    row = summary({"ar": autoregressive(0.9)}).iloc[0]
    # ESS / draws = (1 - rho) / (1 + rho)
    expected = 8000 * 0.1 / 1.9
    mcse = row["sd"] / np.sqrt(expected)
    assert_allclose(row["ess_bulk"], expected, rtol=0.25)
    assert_allclose(row["mcse"], mcse, rtol=0.15)


def classic_r_hat(values):
    n = values.shape[1]
    means = values.mean(axis=1)
    variances = values.var(axis=1, ddof=1)
    ratio = means.var(ddof=1) / variances.mean()
    return np.sqrt((n - 1) / n + ratio)


def split_r_hat(draws):
    """Split R-hat of normal scores of ranks, the larger of plain and folded."""
    first, second = np.split(draws, 2, axis=1)
    split = np.concatenate([first, second])
    folded = np.abs(split - np.median(split))
    by_scores = []
    for values in (split, folded):
        ranks = stats.rankdata(values).reshape(split.shape)
        scores = stats.norm.ppf((ranks - 3 / 8) / (split.size + 1 / 4))
        by_scores.append(classic_r_hat(scores))
    return max(by_scores)


def test_r_hat_is_the_rank_normalized_split_one(monkeypatch):
    quantities = [chains(), NOT_MIXED, chains() ** 3, autoregressive(0.9, 1000)]
    draws = np.stack(quantities, axis=2)
    expected = [split_r_hat(quantity) for quantity in quantities]

    assert_allclose(r_hat(draws), expected)
    alone = r_hat(NOT_MIXED)
    assert isinstance(alone, float)
    assert_allclose(alone, expected[1])
    monkeypatch.setattr(diagnostics, "BLOCK_QUANTITIES", 3)  # in blocks
    assert_allclose(r_hat(draws), expected)


def test_r_hat_of_degenerate_samples():
    stuck = CONSTANT * [[0], [1], [2], [3]]
    draws = np.stack([CONSTANT, stuck, np.nan * stuck], axis=2)
    table = summary({"stuck": stuck, "constant": CONSTANT})
    assert_array_equal(r_hat(draws), [np.nan, np.inf, np.nan])
    assert table["verdict"][0] == diagnostics.NOT_MIXED
    assert table["mcse"][1] == 0


test_bad_input = refusals(
    {
        r"draws has shape \(10,\)": lambda: r_hat(np.zeros(10)),
        r"draws has shape \(2, 3\)": lambda: r_hat(np.zeros((2, 3))),
        r"draws has shape \(2, 10, 2, 2\)": lambda: r_hat(np.zeros((2, 10, 2, 2))),
        "pi has shape": lambda: summary({"pi": np.zeros((2, 10, 3))}),
    }
)


def test_a_warning_names_the_quantities_and_what_fails():
    table = summary({"alpha": NOT_MIXED, "classes": FEW, "one": CONSTANT})
    sentences = (
        "Warning. R-hat is above 1.01 for alpha .largest: "
        f"{table['r_hat'][0]:.2f}.*Fewer than 400 effective draws for classes"
        ".*All draws of one are equal"
    )
    assert re.match(sentences, repr(verdict(table)))


@pytest.mark.parametrize(
    ("log_weights", "expected"),
    [
        (np.full(50, -1e4), 50),
        ([0.0, -1e5, -np.inf], 1),
        ([[0.0, -np.log(2)]], [1.8]),  # (1 + 1/2)^2 / (1 + 1/4)
    ],
)
def test_importance_ess_closed_forms(log_weights, expected):
    assert_allclose(importance_ess(log_weights), expected)


def test_importance_summary_has_a_row_for_each_synthetic_set():
    table = diagnostics.importance_summary(np.log([[2, 1, 1], [1, 1, 1]]))
    assert table["synthetic_set"].tolist() == [1, 2]
    assert table["draws"].tolist() == [3, 3]
    assert_allclose(table["ess"], [1 / 0.375, 3])
    assert_allclose(table["largest_share"], [0.5, 1 / 3])


@pytest.mark.parametrize(
    "log_weights", [[0.0, np.nan], [0.0, np.inf], [-np.inf, -np.inf], []]
)
@pytest.mark.parametrize("diagnostic", [importance_ess, pareto_k])
def test_bad_log_weights_are_refused(diagnostic, log_weights):
    with value_error("log_weights"):
        diagnostic(log_weights)


@pytest.mark.parametrize("k", [0.2, 0.5, 1.0])
def test_pareto_k_recovers_the_shape_of_the_tail(k):
    # w = u^-k has a Pareto tail of shape k, so log w is exponential with mean k.
    log_weights = default_rng(4).exponential(k, (20, 4000))
    # The estimate's sd is about (1 + k) / sqrt(tail), shrunk a little towards 0.5.
    tail = 3 * np.sqrt(4000)
    sd = (1 + k) / np.sqrt(20 * tail)
    shrinkage = 10 / tail * abs(k - 0.5)

    assert pareto_k(log_weights).mean() == pytest.approx(k, abs=4 * sd + shrinkage)


def test_pareto_k_ignores_a_constant_and_keeps_leading_axes():
    log_weights = default_rng(6).normal(size=(2, 3, 200))

    k = pareto_k(log_weights)

    assert k.shape == (2, 3)
    assert len(np.unique(k)) == 6
    assert_allclose(pareto_k(log_weights - 1e4), k)
    assert_allclose(pareto_k(log_weights[1, 2]), k[1, 2])


def test_pareto_k_needs_thirty_weights_that_differ(rng):
    for log_weights in (rng.normal(size=29), np.zeros(100)):
        assert np.isnan(pareto_k(log_weights))


def test_pareto_k_of_weights_far_apart(rng):
    log_weights = rng.normal(size=100)
    assert pareto_k(50 * log_weights) > 1
    assert pareto_k(1e4 * log_weights) == np.inf
    far = rng.normal(scale=30, size=(4, 3_200))
    far[:, 7] = [500, 1_000, 5_000, 50_000]  # one weight leaves all others behind
    assert np.isinf(pareto_k(far)).all()


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
    subprocess.run([sys.executable, "-c", code], check=True)
