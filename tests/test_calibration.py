"""Beliefs held against truths that were drawn, by enumeration first, and what is said of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from srlib import dpmpm
from srlib.data.acs import ACS, embedded_population
from srlib.data.schema import Schema
from srlib.mechanism import OnRecords, beta_binomial
from srlib.papers import calibration as study
from srlib.papers.claims import FAILS, HOLDS, PROVED, UNDECIDED
from srlib.risk import calibration
from srlib.risk.calibration import Beliefs, believe
from srlib.risk.synthesizers import log_likelihoods
from srlib.trees import Growth, Scans, SequentialTrees

ROOT = Path(__file__).parents[1]
FAMILIES = study.families()


def made_up(sets: int, each: int, power: float, seed: int) -> Beliefs:
    """Truths drawn from random posteriors, which the intruder raises to a power."""
    rng = np.random.default_rng(seed)
    n, size = sets * each, 6
    logits = 2 * rng.normal(size=(n, size))
    # What targets of one data set share: their releases are informative together.
    logits *= np.repeat(rng.gamma(4, 0.25, sets), each)[:, None]
    right = believe(logits, 0.0, 0, np.repeat(np.arange(sets), each))
    cumulative = np.exp(right.log_posterior).cumsum(axis=1)
    truth = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    return believe(power * logits, 0.0, truth, right.data_set)


# -------------------------------------------------------------------------------------- exact


def test_the_example_by_hand() -> None:
    answer = np.log([[0.75, 0.25], [0.25, 0.75]])
    beliefs = believe(answer, np.log([0.1, 0.9]), [0, 1], [0, 1])
    np.testing.assert_allclose(beliefs.of_truth, [75 / 300, 675 / 700])
    np.testing.assert_allclose(beliefs.gain, np.log(np.array([2.5, 675 / 700 / 0.9])))
    np.testing.assert_allclose(beliefs.claimed, [0.75, 675 / 700])
    assert beliefs.found.tolist() == [0, 1]
    expected = 0.25 * np.log(2.5) + 0.75 * np.log(0.75 / 0.9)
    np.testing.assert_allclose(beliefs.claimed_gain[0], expected)


def test_a_release_that_no_candidate_explains_changes_no_belief() -> None:
    likelihood = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    beliefs = believe(likelihood, np.log([0.2, 0.8]), [0, 1], [0, 0])
    assert beliefs.refuted.tolist() == [True, False]
    np.testing.assert_allclose(np.exp(beliefs.log_posterior), [[0.2, 0.8], [1.0, 0.0]])
    assert beliefs.gain[1] == -np.inf
    found = calibration.summary(beliefs)
    assert (found["excluded"], found["refuted"]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("truth", "sets", "told"), [([2], [0], "from 0 to 1"), ([0], [0, 1], r"must be \(1,\)")]
)
def test_beliefs_that_do_not_fit(truth: list, sets: list, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        believe(np.zeros((1, 2)), 0.0, truth, sets)


@pytest.mark.parametrize("name", FAMILIES)
def test_calibration_is_an_identity_where_generator_and_prior_are_known(name: str) -> None:
    cells = study.completions(FAMILIES[name]).shape[1]
    table, scores = study.enumerated(
        FAMILIES[name], np.arange(1, cells + 1) / (cells + 1) / cells * 2
    )
    np.testing.assert_allclose(table["claimed"], table["found"], atol=1e-9)
    assert table["candidates"].sum() == pytest.approx(cells)
    assert scores["gain"] == pytest.approx(scores["claimed_gain"], abs=1e-12)
    assert scores["found"] == pytest.approx(scores["claimed_found"], abs=1e-12)
    assert scores["risk"] <= scores["found"] <= np.sqrt(scores["risk"])


def test_another_generator_or_prior_is_not_calibrated() -> None:
    one, other = (beta_binomial(6, 6, alpha) for alpha in (0.5, 3.0))
    table, scores = study.enumerated(one, [0.5, 0.5], assumed=other)
    assert (table["claimed"] - table["found"]).abs().max() > 0.05
    assert scores["gain"] < scores["claimed_gain"] or scores["gain"] > scores["claimed_gain"]
    # The right model has the best score there is.
    assert scores["gain"] < study.enumerated(one, [0.5, 0.5])[1]["gain"]


def test_trees_as_a_table_are_the_trees() -> None:
    rng = np.random.default_rng(1)
    table = OnRecords(FAMILIES["trees, leaves of 2"], [2, 2])
    schema = Schema(tuple(v for v in ACS.variables if v.name in ("SEX", "LANX")))
    trees = SequentialTrees(schema, growth=Growth(min_leaf=2))
    for _ in range(20):
        data, released = rng.integers(0, 2, (2, 4, 2))
        assert table.log_prob(released, data) == pytest.approx(trees.log_prob(released, data))


def test_completions_add_one_record_to_the_others() -> None:
    mechanism = FAMILIES["Dirichlet-multinomial, 3 cells"]
    counts = np.array(mechanism.inputs)[study.completions(mechanism)]
    others = counts - np.eye(3, dtype=int)
    np.testing.assert_array_equal(others, np.repeat(others[:, :1], 3, axis=1))
    assert len(counts) == 10  # tables of the other three records


def test_candidates_fixed_before_the_truth_and_around_it() -> None:
    found = study.two_answers(0.75)
    for name in ("fixed", "around a copy"):
        np.testing.assert_allclose(found[name]["claimed"], found[name]["found"], atol=1e-9)
    around = found["around the truth"]
    assert set(around["found"].round(12)) == {0, 1}
    assert around.loc[around["claimed"].round(3) == 0.6, "found"].item() == 1
    assert around["candidates"].sum() == pytest.approx(3)
    # What the truth gets still averages to what all candidates get.
    assert (around["candidates"] * around["found"]).sum() == pytest.approx(1)


# -------------------------------------------------------------------------------- statistics


def test_the_error_of_a_mean_is_that_between_data_sets() -> None:
    values = np.random.default_rng(1).normal(size=40)
    mean, error = calibration.mean_over_sets(values, np.arange(40))
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    # Ten copies of each target are no more than one.
    copies = calibration.mean_over_sets(np.repeat(values, 10), np.repeat(np.arange(40), 10))
    assert copies == pytest.approx((mean, error))
    assert np.isnan(calibration.mean_over_sets(values, np.zeros(40))[1])


def test_calibrated_beliefs_pass_and_others_do_not() -> None:
    right, sharp, dull = (made_up(60, 20, power, seed=2) for power in (1.0, 2.0, 0.4))
    found = calibration.summary(right)
    for what in ("gain", "found"):
        assert abs(found[f"overstated_{what}"]) < 4 * found[f"overstated_{what}_se"]
    for wrong, sign in ((sharp, 1), (dull, -1)):
        off = calibration.summary(wrong)
        for what in ("gain", "found"):
            assert sign * off[f"overstated_{what}"] > 4 * off[f"overstated_{what}_se"]
        assert off["gain"] < found["gain"]
    rng = np.random.default_rng(3)
    ranks = [calibration.rank_statistic(b, rng=rng) for b in (right, sharp, dull)]
    tests = [calibration.uniformity(u, right.data_set) for u in ranks]
    assert tests[0].p_value > 0.01
    assert max(test.p_value for test in tests[1:]) < 1e-4
    assert tests[1].moments[0] > 0 > tests[2].moments[0]


def test_the_test_of_ranks_rejects_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    p = []
    for seed in range(300):
        beliefs = made_up(12, 5, 1.0, seed=seed)
        ranks = calibration.rank_statistic(beliefs, rng=rng)
        p.append(calibration.uniformity(ranks, beliefs.data_set).p_value)
    for level in (0.05, 0.2):
        assert abs(np.mean(np.array(p) < level) - level) < 4.5 * np.sqrt(level * (1 - level) / 300)


def test_too_few_data_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 3 data sets"):
        calibration.uniformity(np.linspace(0, 1, 9), np.repeat(np.arange(3), 3))


def test_reliability_intervals_contain_what_is_claimed() -> None:
    right = calibration.reliability(made_up(80, 20, 1.0, seed=5), confidence=0.999)
    assert right["claimed"].between(right["found_low"], right["found_high"]).all()
    assert right["candidates"].sum() == 80 * 20 * 6
    sharp = calibration.reliability(made_up(80, 20, 2.0, seed=5), confidence=0.999)
    assert (sharp["claimed"].iloc[-2:] > sharp["found_high"].iloc[-2:]).all()
    # Equal targets in a data set do not make intervals narrower.
    few = made_up(40, 1, 1.0, seed=6)
    many = calibration.joined([few] * 10)
    narrow, wide = calibration.reliability(many), calibration.reliability(few)
    some = narrow["found"].between(0.01, 0.99)
    np.testing.assert_allclose(narrow["found_high"][some], wide["found_high"][some], rtol=0.1)


def test_ties_at_the_top_share_the_guess() -> None:
    beliefs = believe(np.zeros((2, 4)), 0.0, [1, 2], [0, 1])
    assert beliefs.found.tolist() == [0.25, 0.25]
    ranks = calibration.rank_statistic(beliefs, rng=np.random.default_rng(1))
    np.testing.assert_allclose(ranks, np.random.default_rng(1).random(2))


# ------------------------------------------------------------------------------- experiments


def few_chains(n_classes: int = 3) -> dpmpm.Chains:
    return dpmpm.Chains(n_classes=n_classes, burn_in=20, n_draws=20, thin=2)


def test_targets_are_drawn_from_their_supports() -> None:
    rng = np.random.default_rng(7)
    codes = embedded_population(400, rng=rng).codes
    drawn = study.draw_targets(codes, ACS.n_levels, 400, rng=rng)
    own = drawn.supports[np.arange(400), drawn.truth]
    np.testing.assert_array_equal(drawn.data[drawn.rows], own)
    np.testing.assert_array_equal(drawn.supports[:, 0], codes[drawn.rows])
    assert ((own != codes[drawn.rows]).sum(axis=1) <= 1).all()
    stay, size = np.mean(drawn.truth == 0), drawn.supports.shape[1]
    assert abs(stay - 1 / size) < 4.5 * np.sqrt(1 / size / 400)


def test_the_mixture_with_one_class_is_exact() -> None:
    rng = np.random.default_rng(8)
    drawn = study.draw_targets(embedded_population(100, rng=rng).codes, ACS.n_levels, 5, rng=rng)
    assumed = study.Assumed(ACS, 5, dpmpm.Chains(n_classes=1, burn_in=10, n_draws=600, n_chains=4))
    margins = assumed.densities["independent margins"]
    released = margins.release(drawn.data, rng=rng)
    exact = log_likelihoods(margins, [released], drawn.data, drawn.rows, drawn.supports)
    of_data = assumed.sample(drawn.data, rng=rng)
    of_joined = assumed.sample(np.vstack([drawn.data, released]), rng=rng)
    estimate = study.mixture_log_likelihoods(of_data, of_joined, drawn)
    both = [believe(x, 0.0, drawn.truth, np.arange(5)).log_posterior for x in (exact, estimate)]
    assert np.abs(both[0] - both[1]).max() < 0.2


def test_data_from_the_prior_agree_as_often_as_they_should() -> None:
    rng, levels = np.random.default_rng(9), np.array([2, 5])
    pairs = np.array(
        [study.draw_from_prior(2, levels, 1, dpmpm.Prior(), rng=rng) for _ in range(3000)]
    )
    same = (pairs[:, 0] == pairs[:, 1]).mean(axis=0)
    expected = 2 / (levels + 1)  # of a uniform distribution of the level probabilities
    assert (np.abs(same - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 3000)).all()


def test_experiments_have_every_target_once() -> None:
    rng = np.random.default_rng(10)
    assumed = study.Assumed(ACS, 5, few_chains())

    def people(own: np.random.Generator) -> np.ndarray:
        return embedded_population(40, rng=own).codes

    known = study.known_generator(people, assumed, 2, 3, rng=rng)
    assert set(known) >= {("trees", "trees"), ("mixture", "mixture"), ("trees", "mixture")}
    assert all(b.data_set.tolist() == [0, 0, 0, 1, 1, 1] for b in known.values())
    assert not known["trees", "trees"].refuted.any()
    trees = SequentialTrees(ACS)
    some = study.some_unknown(people, trees, 1, 2, Scans(2, 4), rng=rng)
    assert [len(b.truth) for b in some.values()] == [2, 2]
    own = study.own_prior(people, ACS.n_levels, [0, 1], [1.0, 0.0], 2, few_chains(), rng=rng)
    assert [b.log_prior.shape for b in own.values()] == [(80, 8), (80, 8)]
    np.testing.assert_allclose(own[0.0].log_prior, -np.log(8))
    assert (study.before(own[1.0]).gain == 0).all()
    # Where the prior is uniform already, a uniform prior changes nothing.
    again = study.with_uniform_prior(own[0.0])
    np.testing.assert_allclose(again.log_posterior, own[0.0].log_posterior)
    paper = study.as_they_are(people, trees, 2, 3, rng=rng)
    assert paper.truth.tolist() == [0] * 6
    assert not paper.refuted.any()


# ---------------------------------------------------------------------------------- verdicts


def test_enumerations_prove_or_refute() -> None:
    table = study.of_families(dict(list(FAMILIES.items())[:2]))
    assert study.shares_are_right(table).word == PROVED
    assert study.shares_are_right(table.assign(difference=0.01)).word == FAILS
    found = study.two_answers(0.75)
    assert study.around_the_truth(found["around the truth"]).word == FAILS
    assert study.around_the_truth(found["fixed"]).word == PROVED
    assert study.risk_is_share(table, {"right": made_up(9, 9, 1.0, 1)}).word == FAILS


def runs(more: float, error: float, p: float = 0.5, gain: float = 0.0) -> pd.DataFrame:
    row = {"generator": "trees", "assumed": "mixture", "data_sets": 30, "p_value": p}
    row |= {"overstated_gain": gain, "overstated_gain_se": 0.1, "found": 0.5}
    row |= {"claimed_found": 0.5 + more, "overstated_found": more, "overstated_found_se": error}
    return pd.DataFrame([row])


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (runs(0.01, 0.01), HOLDS),
        (runs(0.01, 0.03), UNDECIDED),
        (runs(0.04, 0.02), UNDECIDED),
        (runs(0.01, 0.01, p=0.001), FAILS),
        (runs(0.01, 0.01, p=0.012), UNDECIDED),
        (runs(0.01, 0.01, gain=1.0), FAILS),
        (runs(0.2, 0.01), FAILS),
    ],
)
def test_calibrated_is_said_within_error(table: pd.DataFrame, word: str) -> None:
    assert study.calibrated(table, ["generator"]).word == word


@pytest.mark.parametrize(
    ("few", "many", "word"),
    [
        (runs(0.01, 0.01), runs(0.02, 0.01), HOLDS),
        (runs(0.09, 0.01), runs(0.08, 0.01), FAILS),
        (runs(0.09, 0.01), runs(0.01, 0.01), "depends on the number of records"),
        (runs(0.09, 0.01), runs(0.04, 0.02), UNDECIDED),
    ],
)
def test_the_population_is_judged_at_each_number_of_records(
    few: pd.DataFrame, many: pd.DataFrame, word: str
) -> None:
    both = pd.concat([few, many]).assign(n_every=[100, 1600])
    verdict = study.calibrated_by_size(both)
    assert verdict.word == word
    assert " with 100, " in verdict.because


def test_the_shipped_sweep_decides_on_the_number_of_records() -> None:
    """No single size of file does: by default and as published the words were others."""
    _, by_size = study.swept("population")
    assert study.calibrated_by_size(by_size).word == "depends on the number of records"


def test_wrong_models_are_judged_together() -> None:
    more, less, same = runs(0.2, 0.01), runs(-0.2, 0.01), runs(0.01, 0.01)
    assert study.wrong_model_overstates(more).word == HOLDS
    assert study.wrong_model_overstates(pd.concat([less, same], ignore_index=True)).word == FAILS
    both = pd.concat([more, less], ignore_index=True)
    assert study.wrong_model_overstates(both).word == "depends on the model that is assumed"


def test_tables_that_ship_are_those_of_the_sweeps() -> None:
    def ships(name: str) -> tuple[dict, pd.DataFrame]:
        sweep = yaml.safe_load((ROOT / f"params/calibration/sweep_{name}.yaml").read_text("utf-8"))
        origin, table = study.swept(name)
        assert f"sweep_{name}.yaml" in origin
        return sweep, table

    sweep, table = ships("size")
    for name, values in sweep["grid"].items():
        assert sorted(table[name].unique()) == values
    assert (table["data_sets"] == sweep["base"]["n_sets"]).all()
    short = study.in_short(table)
    assert len(short) == 2 * np.prod([len(values) for values in sweep["grid"].values()])
    sweep, table = ships("population")
    points = [tuple(point.values()) for point in sweep["points"]]
    assert list(dict.fromkeys(zip(table["n_every"], table["burn_in"], strict=True))) == points
