"""Privacy losses and risks before release: against every release of small tables."""

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from enumeration import log_marginal_likelihood
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import binom

from srlib.data.schema import Microdata, Schema, Variable
from srlib.dpmpm import Chains, Mixture, OneClass, Prior
from srlib.margins import PlugInMargins
from srlib.mechanism import (
    Mechanism,
    OnRecords,
    bernoulli_plugin,
    beta_binomial,
    conditional_epsilon,
    delta,
    dirichlet_multinomial,
    exact_epsilon,
    privacy_loss,
)
from srlib.mechanism.acceptance import Rule, acceptable_releases, publish_first_acceptable, redraw
from srlib.risk import (
    PrivacyLosses,
    neighborhood,
    posterior_risk,
    privacy_losses,
    risk_before_release,
)
from srlib.risk.agreement import agreeing_draws
from srlib.risk.before import quantile, quantile_variance
from srlib.risk.columns import SHARED
from srlib.risk.replicates import sets_of_releases
from srlib.risk.synthesizers import Density
from srlib.trees import Growth, SequentialTrees, fit_trees

LEVELS = np.array([2, 3])
SCHEMA = Schema((Variable("job", ("cook", "smith")), Variable("town", ("a", "b", "c"))))
DATA = np.array([[0, 0], [1, 1], [1, 2]], dtype=np.uint8)
TABLE = Microdata(DATA, SCHEMA)
CELLS = list(itertools.product(range(2), range(3)))
RELEASES = np.array(list(itertools.product(CELLS, repeat=3)))
GROWTH = Growth(1, smoothing=1.0)
DENSITIES: dict[str, Density] = {
    "trees": SequentialTrees(SCHEMA, growth=GROWTH),
    "one class": OneClass(LEVELS, 0.5),
    "plug-in margins": PlugInMargins(LEVELS),
}


def sick(n: int, x: int) -> Microdata:
    """n people of whom x are sick."""
    return Microdata(
        np.repeat([0, 1], [n - x, x])[:, None].astype(np.uint8),
        Schema((Variable("sick", ("no", "yes")),)),
    )


@cache
def every_column(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log p(release | changed data) of all 216 releases, and their probabilities."""
    density = DENSITIES[name]
    candidates = neighborhood(DATA, LEVELS)
    found = np.empty((len(RELEASES), *candidates.shape[:2]))
    for row, column in np.ndindex(candidates.shape[:2]):
        changed = DATA.copy()
        changed[row] = candidates[row, column]
        found[:, row, column] = [density.log_prob(released, changed) for released in RELEASES]
    return found, np.exp(found[:, 0, 0])


@pytest.fixture(params=DENSITIES, scope="module")
def drawn(request: Any) -> tuple[str, PrivacyLosses]:
    density = DENSITIES[request.param]
    return request.param, privacy_losses(TABLE, density, 200, rng=np.random.default_rng(1))


def within(found: NDArray, expected: NDArray, mcse: NDArray, errors: float = 4.5) -> None:
    assert np.isfinite(mcse).all()
    assert (np.abs(found - expected) <= errors * mcse + 1e-9).all(), (found, expected, mcse)


# ------------------------------------------------------------------------------------- all releases


@pytest.mark.parametrize("x", [0, 3, 10])
def test_losses_of_a_mechanism_are_those_of_its_rows(x: int) -> None:
    n, n_s = 10, 5
    table = beta_binomial(n, n_s, alpha=0.7)
    losses = privacy_losses(sick(n, x), OnRecords(table, [2]))
    assert losses.exact
    changed = [y for y, there in ((x + 1, x < n), (x - 1, x > 0)) if there]  # a healthy one first
    by_hand = np.stack([privacy_loss(table, x, y) for y in changed], axis=1)
    np.testing.assert_allclose(losses.losses[:, :, 0], by_hand, atol=1e-12)
    assert losses.largest.max() == pytest.approx(conditional_epsilon(table)[x])
    probability = np.exp(table.row(x))
    for epsilon in (0.0, 0.4):
        excess = probability @ np.maximum(1 - np.exp(epsilon - by_hand), 0)
        np.testing.assert_allclose(losses.delta(epsilon).value, excess, atol=1e-12)
        assert losses.delta_upper(epsilon) == pytest.approx(losses.delta(epsilon).value)
    np.testing.assert_allclose(losses.information().value, probability @ by_hand)
    np.testing.assert_allclose(losses.risk(0.2).value, probability @ expit(by_hand - np.log(4)))
    assert not losses.risk().mcse.any()


def test_the_delta_of_a_mechanism_is_the_largest_of_its_data() -> None:
    table = beta_binomial(8, 8, alpha=1.0)
    of_data = [
        privacy_losses(sick(8, x), OnRecords(table, [2])).delta(1.0).value.max() for x in range(9)
    ]
    assert max(of_data) == pytest.approx(delta(table, 1.0))


def test_losses_add_over_releases() -> None:
    n, x, size = 6, 2, 3
    table = beta_binomial(n, 4, alpha=1.0)
    together = privacy_losses(sick(n, x), OnRecords(table, [2])).composed(size)
    assert together.columns.weights.sum() == pytest.approx(1)
    for at, other in enumerate((x + 1, x - 1)):
        loss, probability = privacy_loss(table, x, other), np.exp(table.row(x))
        sums = [sum(loss[list(z)]) for z in itertools.product(range(5), repeat=size)]
        weights = [np.prod(probability[list(z)]) for z in itertools.product(range(5), repeat=size)]
        expected = np.dot(weights, np.maximum(-np.expm1(0.5 - np.array(sums)), 0))
        assert together.delta(0.5).value[at] == pytest.approx(expected)
        assert together.largest[at] == pytest.approx(size * np.abs(loss).max())
        assert together.information().value[at] == pytest.approx(size * probability @ loss)


def test_a_release_that_rules_a_candidate_out_counts_one() -> None:
    """Plug-in shares: with all three sick no healthy one is released."""
    with np.errstate(divide="ignore"):
        log_prob = np.log(binom.pmf(np.arange(4), 3, np.arange(4)[:, None] / 3))
    table = Mechanism.from_table(log_prob, [(0, 1), (1, 2), (2, 3)])
    losses = privacy_losses(sick(3, 2), OnRecords(table, [2]))
    assert losses.excluded.tolist() == [1, 0]  # the healthy one to sick: all three would be
    assert losses.largest[0] == np.inf
    assert np.isnan(losses.information().value[0])
    # With three sick the release has three; its loss is 3 log(2 / 3), all others are excluded.
    assert losses.delta(5.0).value[0] == pytest.approx(1 - (2 / 3) ** 3)
    assert "infinite against some alternative for 1" in losses.summary()


def test_a_small_example_by_hand() -> None:
    """One of two is sick; a release of one record. Loss log(1/2 / 2/3) or log(1/2 / 1/3)."""
    losses = privacy_losses(sick(2, 1), OnRecords(beta_binomial(2, 1, alpha=1e-9), [2]))
    assert losses.losses[1, 0, 0] == pytest.approx(np.log(0.5))
    risk = risk_before_release(sick(2, 1), OnRecords(beta_binomial(2, 1, alpha=1e-9), [2]))
    np.testing.assert_allclose(risk.to_frame()["expected"], (1 / 3 + 1) / 2)
    np.testing.assert_allclose(risk.to_frame()["worst"], 1)


# ------------------------------------------------------------------------------- drawn, with errors


def test_drawn_losses_are_those_of_all_releases(drawn: tuple[str, PrivacyLosses]) -> None:
    name, losses = drawn
    column, probability = every_column(name)
    possible = probability > 0
    every, p = (column[..., :1] - column[..., 1:])[possible], probability[possible]
    assert p.sum() == pytest.approx(1)

    def check(estimate: Any, expected: NDArray[np.float64]) -> None:
        """The summary of the candidate that was chosen lies near that candidate's."""
        near = np.abs(expected - estimate.value[:, None])
        assert (near.min(axis=1) <= 4.5 * estimate.mcse + 1e-9).all()
        within(estimate.value, expected.max(axis=1), estimate.mcse, 6)

    for epsilon in (0.1, 0.6):
        excess = np.tensordot(p, np.maximum(-np.expm1(epsilon - every), 0), 1)
        check(losses.delta(epsilon), excess)
        assert (losses.delta_upper(epsilon) >= losses.delta(epsilon).value).all()
    check(losses.risk(0.3), np.tensordot(p, expit(every + np.log(3 / 7)), 1))
    infinite = np.isposinf(every).any(axis=0)
    assert (losses.excluded <= infinite.sum(axis=1)).all()
    assert (losses.excluded > 0).any() == infinite.any()
    if not infinite.any():
        check(losses.information(), np.tensordot(p, every, 1))
    assert (losses.largest <= np.abs(every).max(axis=(0, 2)) + 1e-9).all()


def test_composition_of_drawn_losses_and_its_error(drawn: tuple[str, PrivacyLosses]) -> None:
    name, losses = drawn
    column, probability = every_column(name)
    possible = probability > 0
    every, p = (column[..., :1] - column[..., 1:])[possible], probability[possible]
    together = losses.composed(2, 1000, rng=np.random.default_rng(2))
    pairs = (every[:, None] + every[None]).reshape(-1, *every.shape[1:])
    excess = np.tensordot(np.outer(p, p).ravel(), np.maximum(-np.expm1(0.3 - pairs), 0), 1)
    found = together.delta(0.3)
    within(found.value, excess.max(axis=1), found.mcse, 6)


def test_errors_of_composed_losses_are_those_between_runs() -> None:
    density = DENSITIES["one class"]
    values, stated = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        losses = privacy_losses(TABLE, density, 30, rows=[0], rng=rng, progress=False)
        found = losses.composed(3, 300, rng=rng)._mean(lambda loss: expit(loss))
        values.append(found[0][0, 0])
        stated.append(found[1][0, 0])
    ratio = np.mean(np.square(stated)) / np.var(values, ddof=1)
    assert 0.4 < ratio < 2.4  # the error of a variance from 40 runs is 23 %


def test_upper_limits_where_no_loss_was_above() -> None:
    losses = privacy_losses(TABLE, DENSITIES["one class"], 60, rng=np.random.default_rng(3))
    assert not losses.delta(50.0).value.any()
    np.testing.assert_allclose(losses.delta_upper(50.0), 1 - 0.05 ** (1 / 60))
    assert "bound nothing" in losses.summary()


def test_losses_of_the_mixture_by_its_marginal_likelihood() -> None:
    """Two classes, three records: every allocation is gone through."""
    prior = Prior()
    chains = Chains(n_classes=2, burn_in=100, n_draws=500, n_chains=6, prior=prior)
    mixture = Mixture(LEVELS, chains)
    losses = privacy_losses(TABLE, mixture, 2, rng=np.random.default_rng(4))
    assert losses.losses.shape == (2, 3, 3)
    error = np.hypot(losses.columns.log_mcse[..., :1], losses.columns.log_mcse[..., 1:])
    assert 0 < np.median(error) < 0.1
    # The releases are drawn by the same stream in the same order.
    rng = np.random.default_rng(4)
    first = rng.spawn(3)[0]
    many = replace(chains, n_chains=SHARED * chains.n_chains)
    data = agreeing_draws(DATA, LEVELS, many, combinations=DATA[:1], rng=first)
    candidates = neighborhood(DATA, LEVELS)
    for at, released in enumerate(data.release(2, 3, rng=rng)):
        for row in range(3):
            log_prob = []
            for candidate in candidates[row]:
                changed = DATA.copy()
                changed[row] = candidate
                both = log_marginal_likelihood(np.vstack([changed, released]), [2, 3], 2, prior)
                log_prob.append(both - log_marginal_likelihood(changed, [2, 3], 2, prior))
            expected = log_prob[0] - np.array(log_prob[1:])
            within(losses.losses[at, row], expected, error[at, row], 5)
            for half in losses.half_losses:
                within(half[at, row], expected, np.sqrt(2) * error[at, row], 5)
    assert losses.columns.convergence is not None
    assert losses.columns.convergence["draws_given"].tolist() == [
        "the data", "release 1", "release 2",
    ]  # fmt: skip
    assert (losses.columns.convergence["ess_of_mean"] > 100).all()
    before = losses.before_release()
    assert before.convergence is losses.columns.convergence


# ---------------------------------------------------------------------------- risks before release


@pytest.mark.parametrize("size", [1, 2])
def test_risks_before_release_by_enumeration(size: int) -> None:
    column, probability = every_column("trees")
    log_prior = np.log([0.4, 0.3, 0.2, 0.1])
    risk = risk_before_release(
        TABLE, fit_trees(TABLE, growth=GROWTH), size, 300, log_prior=np.tile(log_prior, (3, 1)),
        rng=np.random.default_rng(5),
    )  # fmt: skip
    np.testing.assert_allclose(risk.prior, 0.4)
    if size == 2:
        column = (column[:, None] + column[None]).reshape(-1, 3, 4)
        probability = np.outer(probability, probability).ravel()
    joint = column + log_prior
    every = np.exp(joint[..., 0] - logsumexp(joint, axis=2))
    frame = risk.to_frame()
    within(frame["expected"], probability @ every, frame["expected_mcse"])
    for i in range(3):
        share = [probability[every[:, i] <= frame["worst"][i] + by].sum() for by in (-1e-9, 1e-9)]
        spread = 4.5 * np.sqrt(0.05 * 0.95 / 300)
        assert share[0] - spread <= 0.95 <= share[1] + spread
    over = risk.over_records(0.5)
    largest, gain = every.max(axis=1), np.log(every / 0.4).mean(axis=1)
    for name, of in (("largest", largest), ("gain", gain), ("above", (every > 0.5).mean(axis=1))):
        within(over.loc[name, "expected"], probability @ of, over.loc[name, "expected_mcse"])


@pytest.mark.parametrize("size", [1, 3])
def test_risks_of_a_mechanism_have_no_error(size: int) -> None:
    n, x = 6, 2
    table = beta_binomial(n, 3, alpha=1.0)
    risk = risk_before_release(sick(n, x), OnRecords(table, [2]), size)
    for at, other in enumerate((x + 1, x - 1)):
        loss, log_prob = privacy_loss(table, x, other), table.row(x)
        sets = [list(z) for z in itertools.product(range(4), repeat=size)]
        of = expit([loss[z].sum() for z in sets])
        weights = np.exp([log_prob[z].sum() for z in sets])
        frame = risk.to_frame()
        assert frame["expected"][at] == pytest.approx(weights @ of)
        below = [weights[of <= frame["worst"][at] + by].sum() for by in (-1e-9, 1e-9)]
        assert below[0] < 0.95 <= below[1] + 1e-9
        assert frame["expected_mcse"][at] == frame["worst_mcse"][at] == 0
    assert risk.exact
    assert risk.weights.sum() == pytest.approx(1)


def test_each_publication_has_its_posterior_risk() -> None:
    trees = fit_trees(TABLE, growth=GROWTH)
    before = risk_before_release(TABLE, trees, 2, 20, rng=np.random.default_rng(6))
    rng = np.random.default_rng(6)
    for at in range(3):
        released = [trees.release(rng=rng)[0] for _ in range(2)]
        after = posterior_risk(TABLE, released, synthesizer=trees)
        np.testing.assert_allclose(before.probability[at], after.probability)


def test_risks_before_release_by_the_mixture_have_the_error_of_its_chains() -> None:
    chains = Chains(n_classes=2, burn_in=50, n_draws=100, n_chains=3)
    risk = risk_before_release(TABLE, Mixture(LEVELS, chains), 1, 20, rng=np.random.default_rng(7))
    assert risk.left_out.shape == (SHARED * 3, 20, 3)
    frame = risk.to_frame()
    between = risk.probability.std(axis=0, ddof=1) / np.sqrt(20)
    assert (frame["expected_mcse"] > between).all()
    assert "3 combinations of 3 records" in risk.summary()
    losses = privacy_losses(TABLE, Mixture(LEVELS, chains), 20, rng=np.random.default_rng(7))
    together = losses.against_all()
    np.testing.assert_allclose(together.risk(0.25).value, frame["expected"])
    np.testing.assert_allclose(together.risk(0.25).mcse, frame["expected_mcse"])


@pytest.mark.parametrize("name", ["trees", "plug-in margins"])
def test_the_loss_against_all_is_the_change_of_the_posterior_odds(name: str) -> None:
    """Of two releases, with a prior that is not uniform; infinite where nobody else is left."""
    log_prior = np.log(np.tile([0.4, 0.3, 0.2, 0.1], (3, 1)))
    losses = privacy_losses(TABLE, DENSITIES[name], 60, rng=np.random.default_rng(11))
    risk = risk_before_release(
        TABLE, DENSITIES[name], 1, 60, log_prior=log_prior, rng=np.random.default_rng(11)
    )
    again = losses.before_release(log_prior)
    pd.testing.assert_frame_equal(again.to_frame(), risk.to_frame())
    together = losses.against_all(log_prior)
    np.testing.assert_allclose(together.risk(0.4).value, risk.to_frame()["expected"])
    np.testing.assert_allclose(together.risk(0.4).mcse, risk.to_frame()["expected_mcse"])
    alone = (risk.probability == 1).any(axis=0)
    assert ((together.excluded == 1) == alone).all()
    assert alone.any() == (name == "plug-in margins")
    assert "all alternatives together" in together.summary()
    with pytest.raises(ValueError, match="alternatives taken together"):
        together.before_release()


def test_quantiles_and_their_errors() -> None:
    values = np.array([[3.0], [1.0], [2.0], [4.0]])
    weights = np.array([0.1, 0.2, 0.65, 0.05])
    assert quantile(values, weights, 0.95)[0] == 3
    assert quantile(values, weights, 0.951)[0] == 4
    assert quantile(np.arange(100.0)[:, None], np.full(100, 0.01), 0.95)[0] == 94
    samples = np.random.default_rng(8).normal(size=(200, 3000))
    found = np.var(quantile(samples, np.full(200, 1 / 200), 0.95))
    assert quantile_variance(samples, 0.95).mean() == pytest.approx(found, rel=0.25)


# ------------------------------------------------------------------------------------ drawing again


def test_drawing_again_is_the_mechanism_given_acceptance() -> None:
    table = bernoulli_plugin(6, 6, alpha=1.0)
    rules = [Rule(rr_at_most=2.5)]
    kept = acceptable_releases(table, rules)
    again = redraw(table, kept)
    p = np.exp(again.block(np.arange(7), np.arange(8)))
    for x in range(7):
        row = np.where(kept[x], np.exp(table.row(x)), 0)
        np.testing.assert_allclose(p[x, :-1], row / row.sum())
    assert not p[:, -1].any()
    # Acceptance sets of neighbors differ, and so there is no epsilon; that of the table is finite.
    assert (kept[2] != kept[3]).any()
    assert exact_epsilon(table).value < np.inf
    assert exact_epsilon(again).value == np.inf
    # The first of a sequence of two equal mechanisms that is acceptable is the same, given one is.
    twice = publish_first_acceptable([table, table], rules)
    first = np.exp(twice.block(np.arange(7), np.arange(14)))
    both = first[:, :7] + first[:, 7:]
    np.testing.assert_allclose(both / both.sum(axis=1, keepdims=True), p[:, :-1])


def test_drawing_again_can_raise_a_finite_epsilon() -> None:
    keep = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])
    table = Mechanism.from_table(np.log(keep), [(0, 1)])
    same = redraw(table, np.array([[True, True, False]] * 2))
    assert exact_epsilon(same).value == pytest.approx(exact_epsilon(table).value)
    unequal = Mechanism.from_table(np.log([[0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]), [(0, 1)])
    raised = redraw(unequal, np.array([[False, True, True]] * 2))
    assert exact_epsilon(raised).value == pytest.approx(np.log(0.4 / 0.7 / 0.2))
    never = redraw(table, np.array([[True] * 3, [False] * 3]))
    assert never.row(1).tolist() == [-np.inf] * 3 + [0.0]
    with pytest.raises(ValueError, match=r"shape \(2, 2\); it must be \(2, 3\)"):
        redraw(table, np.ones((2, 2)))


# ------------------------------------------------------------------------------------------- errors


def test_what_does_not_fit_is_said_before_anything_is_drawn() -> None:
    trees = DENSITIES["trees"]
    rng = np.random.default_rng(9)
    with pytest.raises(ValueError, match="rng is not given"):
        risk_before_release(TABLE, trees)
    with pytest.raises(ValueError, match="n_draws is 10; it must be 20 or more"):
        risk_before_release(TABLE, trees, n_draws=10, rng=rng)
    with pytest.raises(ValueError, match="rows must be positions in 0 to 2"):
        privacy_losses(TABLE, trees, rows=[3], rng=rng)
    with pytest.raises(ValueError, match="must be Trees or a Mixture"):
        privacy_losses(TABLE, object(), rng=rng)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="chains are 1 of"):
        privacy_losses(
            TABLE, Mixture(LEVELS, Chains(n_classes=2, burn_in=1, n_draws=9, n_chains=1)), rng=rng
        )
    with pytest.raises(ValueError, match="grown on another table"):
        privacy_losses(Microdata(DATA[:2], SCHEMA), fit_trees(TABLE), rng=rng)
    with pytest.raises(ValueError, match="it must be a DataFrame or Microdata"):
        privacy_losses(DATA, trees, rng=rng)
    losses = privacy_losses(TABLE, trees, 6, rng=rng)
    with pytest.raises(ValueError, match="n_releases is 4; it must lie in 1 to 3"):
        losses.composed(4, rng=rng)
    with pytest.raises(ValueError, match="rng is not given"):
        losses.composed(2)
    with pytest.raises(ValueError, match="are of several releases"):
        losses.composed(2, rng=rng).composed(2, rng=rng)
    finite = OnRecords(dirichlet_multinomial(3, 3, [1.0] * 6), LEVELS)
    with pytest.raises(ValueError, match=r"at most 200,000"):
        risk_before_release(TABLE, finite, 20)


def test_frames_have_the_labels() -> None:
    people = pd.DataFrame({"job": ["cook", "cook", "smith"], "town": ["a", "a", "b"]})
    synthesizer = SequentialTrees(
        Microdata.from_frame(people).schema, growth=Growth(1, smoothing=1)
    )
    rng = np.random.default_rng(10)
    losses = privacy_losses(people, synthesizer, 20, unknown=["town"], rng=rng)
    frame = losses.to_frame()
    assert frame["job"].tolist() == ["cook", "smith"]
    assert frame["repetitions"].tolist() == [2, 1]
    assert (frame["relative_risk"] == 2 * frame["risk"]).all()
    assert losses.losses.shape == (20, 2, 1)


def test_sets_of_releases_are_all_or_some() -> None:
    rng = np.random.default_rng(2)
    every = sets_of_releases(4, 2, 100, rng=rng)
    assert every.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    some = sets_of_releases(20, 5, 30, rng=rng)
    assert len({tuple(row) for row in some.tolist()}) == 30
    assert (np.diff(some) > 0).all()
    with pytest.raises(ValueError, match="size is 5"):
        sets_of_releases(4, 5, 10, rng=rng)
