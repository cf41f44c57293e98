"""Tables of privacy losses and risks before release, and the verdicts on them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from srlib.data.schema import Schema, Variable
from srlib.mechanism import Mechanism, beta_binomial, exact_epsilon
from srlib.papers import calibration_losses as study
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.risk import Columns, PrivacyLosses
from srlib.risk.loss import _losses


def made(losses: NDArray[np.float64]) -> PrivacyLosses:
    """Losses (n_releases, n, n_alternatives) that are given."""
    n, records, _ = losses.shape
    column = np.concatenate([np.zeros((n, records, 1)), -losses], axis=2)
    none = np.zeros((0, 1, *column.shape[1:]))
    found = Columns(column, np.full(n, 1 / n), False, np.zeros(column.shape), none)
    schema = Schema((Variable("who", tuple(map(str, range(max(2, records))))),))
    return _losses(
        schema, np.arange(records)[:, None].astype(np.uint8), np.ones(records, dtype=int), found,
        1, np.arange(n)[:, None],
    )  # fmt: skip


def test_the_small_example_has_every_release_and_bin() -> None:
    table, of_releases, of_bins = study.small_example(5, 1, 20)
    assert exact_epsilon(table).value == pytest.approx(np.log(6))
    assert of_releases["loss"].abs().max() == pytest.approx(np.log(6))
    assert of_releases.groupby("neighbor")["probability"].sum().to_numpy() == pytest.approx(1)
    assert of_bins.groupby("neighbor").size().tolist() == [20, 20]


def test_settings_are_read_against_each_and_against_all() -> None:
    losses = np.random.default_rng(1).normal(1, 1, (50, 4, 3))
    losses[:, :, 0] = np.inf
    table = study.by_setting({"a": made(losses)}, 0.5)
    assert table["against"].tolist() == list(study.AGAINST)
    assert table["infinite"].tolist() == [pytest.approx(1 / 3), 0]
    assert np.isinf(table["largest"][0])
    assert table.loc[0, ["risk", "delta"]].tolist() == pytest.approx([1, 1])
    together = np.log(3) - np.log(np.exp(-losses).sum(axis=2))
    risk = np.sort(expit(together + logit(0.25)).mean(axis=0))
    assert table["risk"][1] == pytest.approx(risk[1])  # the lower of the two in the middle


def test_records_are_shown_in_the_order_of_their_risk() -> None:
    losses = made(np.array([[[1.0], [3.0], [2.0]]] * 4)).against_all()
    frame = study.of_records({"a": losses}, 0.5, 10)
    assert frame.groupby("record")["loss"].first().to_dict() == {
        "rank 1": 3.0, "rank 2": 2.0, "rank 3": 1.0,
    }  # fmt: skip
    two = study.of_records({"a": losses}, 0.5, 2)["record"]
    assert two.unique().tolist() == ["rank 1", "rank 3"]
    other = made(np.array([[[5.0], [4.0], [6.0]]] * 2)).against_all()
    both = study.of_records({"a": losses, "b": other}, 0.5, 10).set_index("record")["loss"]
    assert both["rank 1, b"].tolist() == [4.0, 4.0]  # the record that is first by the other
    assert both["rank 1, a"].tolist() == [3.0] * 4


def test_records_are_ranked_by_their_risk_at_the_prior() -> None:
    """Losses of 6 or -6, against 1 always: at a small prior the first has the larger mean."""
    losses = made(np.stack([np.array([6.0, -6.0] * 2), np.ones(4)], axis=1)[..., None])
    for prior, first in ((0.5, 1.0), (0.01, 6.0)):
        assert study.of_records({"a": losses}, prior, 2)["loss"][0] == first


def test_more_releases_tell_more() -> None:
    losses = made(np.random.default_rng(2).normal(1, 1, (40, 3, 2)))
    both = {"a": losses, "b": losses}
    table = study.composed(both, [1, 3], 1.0, rng=np.random.default_rng(3))
    assert table["releases"].tolist() == [1, 3] * 2
    assert table["synthesizer"].tolist() == ["a", "a", "b", "b"]
    one, three, again, _ = table[["largest", "delta", "risk"]].to_numpy()
    assert (three > one).all()
    assert (again == one).all()


def noisy(losses: NDArray[np.float64], sd: float, rng: np.random.Generator) -> PrivacyLosses:
    """Losses of which each half of the chains has an error of its own."""
    found = made(losses)
    halves = found.columns.log_likelihood + rng.normal(0, sd, (2, *losses.shape[:2], 1))
    halves[..., 1:] += rng.normal(0, sd, (2, *losses.shape))
    convergence = pd.DataFrame(
        {
            "draws_given": ["the data", "release 1"],
            "r_hat_median": [1.0, 1.02], "r_hat_95": [1.005, 1.2], "r_hat_largest": [1.1, 1.3],
            "ess_of_mean": [50.0, 500.0],
        }
    )  # fmt: skip
    columns = replace(
        found.columns, log_likelihood=halves.mean(axis=0), halves=halves, convergence=convergence
    )
    return _losses(found.schema, found.combinations, found.repetitions, columns, 1, found.members)


def test_the_largest_of_estimates_and_the_crossed_one_enclose_the_truth() -> None:
    rng = np.random.default_rng(6)
    losses = rng.normal(0, 1, (10, 6, 5))
    truth = made(losses)
    assert truth.largest_crossed == pytest.approx(truth.largest)  # no chains, no error
    exactly = noisy(losses, 0.0, rng)
    assert exactly.largest_crossed == pytest.approx(truth.largest)
    runs = [noisy(losses, 0.5, rng) for _ in range(60)]
    for found, sign in (([r.largest for r in runs], 1), ([r.largest_crossed for r in runs], -1)):
        off = np.array(found).mean(axis=1) - truth.largest.mean()
        assert sign * off.mean() > 4 * off.std(ddof=1) / np.sqrt(len(runs))
    table = study.of_chains(runs[0], 1.0)
    assert table["against"].tolist() == list(study.AGAINST)
    assert (table["by_half"] > table["largest"]).all()
    assert (table["crossed"] < table["largest"]).all()


def test_the_halves_of_losses_against_all_are_those_of_their_columns() -> None:
    found = noisy(np.random.default_rng(7).normal(0, 1, (6, 4, 3)), 0.4, np.random.default_rng(8))
    together = found.against_all()
    for half, own in zip(found.half_losses, together.half_losses, strict=True):
        expected = np.log(3) - np.log(np.exp(-half).sum(axis=2))
        np.testing.assert_allclose(own[..., 0], expected)
    pairs = study.half_by_half(together, 0.25)
    assert pairs["x"].to_numpy() == pytest.approx(
        expit(together.half_losses[0, ..., 0] - np.log(3)).ravel()
    )
    sets = found.composed(2, 20, rng=np.random.default_rng(9))
    np.testing.assert_allclose(sets.half_losses[0], found.half_losses[0][sets.members].sum(axis=1))


def test_what_is_said_of_chains() -> None:
    found = noisy(np.zeros((4, 2, 2)), 0.3, np.random.default_rng(10))
    said = study.said_of_chains(found)
    assert "it is at most 1.01 in 1 of 2 sets" in said
    assert "50 to 500" in said
    assert study.said_of_chains(made(np.zeros((4, 2, 2)))).startswith("No chains")


def test_what_was_seen_is_no_bound() -> None:
    rising = np.arange(1.0, 9.0)[:, None, None]
    assert study.seen_is_bound(made(rising)).word == FAILS
    assert study.seen_is_bound(made(rising[::-1])).word == HOLDS
    assert study.seen_is_bound(made(-rising)).word == FAILS  # the other sign counts as well
    assert "For 1 of 1 records" in study.seen_is_bound(made(rising)).because
    infinite = np.full((8, 1, 1), np.inf)
    assert study.seen_is_bound(made(infinite)).word == UNDECIDED


def test_a_small_risk_and_delta() -> None:
    rng = np.random.default_rng(4)
    flat = rng.normal(0, 0.01, (60, 20, 9))
    assert study.small_risk_small_delta(made(flat), 1.0).word == HOLDS
    apart = flat.copy()
    apart[:, :, 0] = 30.0  # one alternative is told apart, the others are not
    assert study.small_risk_small_delta(made(apart), 1.0).word == FAILS
    apart[:, :10] = flat[:, :10]
    assert study.small_risk_small_delta(made(apart), 1.0).word == "depends on the record"
    assert study.small_risk_small_delta(made(flat + 9.0), 1.0).word == UNDECIDED


def test_the_next_release() -> None:
    rng = np.random.default_rng(5)
    base = rng.normal(-2, 1, 10)[:, None]
    same = made(base + rng.normal(0, 0.05, (40, 10, 1))).before_release()
    assert study.like_the_next(same).word == HOLDS
    other = made(base + rng.normal(0, 2, (40, 10, 1))).before_release()
    found = study.like_the_next(other)
    assert found.word == FAILS
    near = replace(same, probability=np.full((40, 10), 0.3))
    assert "for 100\xa0%" in study.like_the_next(near).because
    assert "in 100\xa0% of the releases" in study.like_the_next(near).because  # all share it


def test_drawing_again_by_hand() -> None:
    """Two data sets of one person and three releases, of which one gives too much away."""
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    table = Mechanism.from_table(np.log(p), [(0, 1)])
    found = study.drawn_again(table, 1, [2.5, 1.5], 0.5)
    # At 2.5: row 1 rejects release 2 (6 / 2 = 3), row 0 rejects release 0 (5 / 1).
    assert found["accepted"][0] == pytest.approx(0.4)
    assert found["first"][0] == pytest.approx(p[1] @ (p[1] / p.sum(axis=0)))
    assert found["shown"][0] == pytest.approx((0.1 * 1 / 6 + 0.3 * 0.5) / 0.4)
    # Under row 0 releases 1 and 2 remain, with 3/5 and 2/5; under row 1 0 and 1, with 1/4 and 3/4.
    known = 0.25 * 1 + 0.75 * (0.75 / (0.75 + 0.6))
    assert found["known"][0] == pytest.approx(known)
    assert found["certain"][0] == pytest.approx(0.25)
    assert found["epsilon"][0] == pytest.approx(np.log(5))
    assert np.isinf(found["epsilon_again"][0])
    verdict = study.lowers_risk(table, [2.5], 0.5)
    assert verdict.word == FAILS
    assert "is infinite for 1 of 1 limits" in verdict.because


def test_drawing_again_that_changes_nothing_lowers_nothing() -> None:
    table = beta_binomial(5, 5, alpha=1.0)
    found = study.drawn_again(table, 2, [6.1], 0.5)
    assert found["accepted"][0] == pytest.approx(1)
    assert found["first"][0] == pytest.approx(found["known"][0])
    assert found["epsilon_again"][0] == pytest.approx(found["epsilon"][0])
    nothing = study.lowers_risk(table, [6.1], 0.5)
    assert nothing.word == UNDECIDED
    every = pd.concat([study.drawn_again(table, x, [1.5, 2.0], 0.5) for x in range(1, 6)])
    share = (every["known"] > every["first"]).mean()
    word = study.lowers_risk(table, [1.5, 2.0], 0.5).word
    assert word == (FAILS if share == 1 else "depends on the data and the rule")
