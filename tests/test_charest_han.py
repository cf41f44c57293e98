"""Printed numbers of Charest and Han, and the notebook at other settings."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from srlib.data.schema import Microdata, Schema, Variable
from srlib.ledger import printed
from srlib.mechanism import edp
from srlib.papers import charest_han as paper
from srlib.papers import charest_han_tables as tables
from srlib.papers.claims import FAILS, HOLDS, PROVED, UNDECIDED
from srlib.papers.ledger import ledger
from srlib.runner.parameters import Request, UsageError, resolve
from srlib.runner.run import run

PRINTED = printed("charest_han").set_index("id")


def test_file_is_well_formed() -> None:
    assert PRINTED.index.is_unique
    for table, cells in ((1, 36), (2, 36), (3, 36), (4, 36)):
        assert PRINTED.index.str.startswith(f"table{table}_").sum() == cells


def test_exact_numbers() -> None:
    """Tables 1 and 2 and section 3.1, with a record changed."""
    off = {f"table2_{x}_{bins}": paper.ROUNDED for x in (0, 5) for bins in (20, 50, 100, 250)}
    book = ledger("charest_han", paper.exact_answers(), missing="estimated", notes=off)
    judged = book[book["verdict"] != "skipped"].set_index("id")
    assert len(judged) == 79
    assert set(judged.index[judged["verdict"] == "differs"]) == set(off)


def test_table_2_belongs_to_a_rounded_epsilon() -> None:
    """With alpha = 5/(exp(2.4) - 1) all but one entry round to what is printed.

    The one is not what its mirror image is, so that one of the two is misprinted.
    """
    found = paper.table_2(paper.ROUNDED_ALPHA)
    off = {key for key, value in found.items() if f"{value:.2f}" != PRINTED.loc[key, "printed"]}
    assert off == {"table2_3_100"}
    assert found["table2_3_100"] == pytest.approx(found["table2_2_100"], rel=1e-10)


def test_deleted_records_give_other_numbers() -> None:
    found = [
        edp.exact(
            edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "deleted"), bins
        ).value
        for bins in paper.BINS
    ]
    assert np.round(found, 2).tolist() == [0.22, 0.33, 0.44, 0.59, 0.71, 0.87]


def refitted(y: np.ndarray) -> list:
    """Posteriors of the normal model without each record in turn."""
    return [edp.normal_posterior(np.delete(y, i)) for i in range(len(y))]


def test_neighbors_of_the_normal_model_by_refitting() -> None:
    y = np.random.default_rng(1).normal(10, np.sqrt(5), 30)
    post, others = edp.normal_posterior(y), refitted(y)
    shift, scale = tables.normal_shift((y - post.mean()) / np.sqrt(5), 30)
    for i in range(30):
        assert others[i].mean() == pytest.approx(post.mean() - shift[i] * post.std())
        assert others[i].std() == pytest.approx(scale * post.std())
    ends = [others[i] for i in (y.argmin(), y.argmax())]
    for bins in (5, 100):
        whole = edp.exact(post, others, bins)
        assert whole.value == pytest.approx(edp.exact(post, ends, bins).value)


def test_normal_edp_is_a_function_of_the_most_extreme_record() -> None:
    y = np.random.default_rng(2).normal(10, np.sqrt(5), 100)
    post, others = edp.normal_posterior(y), refitted(y)
    distance = np.abs(y - post.mean()).max() / np.sqrt(5)
    for bins in (2, 5, 250):
        found = tables.normal_edp([distance], bins)[0]
        assert found == pytest.approx(edp.exact(post, others, bins).value, rel=1e-9)


def test_estimates_depend_on_three_counts() -> None:
    counts = np.random.default_rng(3).multinomial(200, np.full(20, 0.05), (7, 4))
    counts[0, 0, 0] += 200 - counts[0, 0].sum()
    found = tables.extremes(counts)
    for rule in (0.01, 1.0, edp.DROPPED):
        np.testing.assert_allclose(
            tables.estimate(found, 20, 200, rule), edp.estimate_from_counts(counts, rule)
        )


def test_simulated_counts_are_those_of_the_general_simulation() -> None:
    y = np.random.default_rng(4).normal(10, np.sqrt(5), 20)
    post, others = edp.normal_posterior(y), refitted(y)
    away = (y - post.mean()) / np.sqrt(5)
    rng = np.random.default_rng(5)
    one = tables.simulate_normal(away, 10, 500, 400, rng=rng)
    other = tables.extremes(edp.simulate_counts(post, others, 10, 500, 400, rng=rng))
    apart = one.mean(axis=0) - other.mean(axis=0)
    assert (np.abs(apart) < 4 * np.hypot(one.std(axis=0), other.std(axis=0)) / 20).all()
    same = tables.simulate_same(10, 500, 400, rng=rng)
    other = tables.extremes(edp.simulate_counts(post, [post], 10, 500, 400, rng=rng))
    apart = same.mean(axis=0) - other.mean(axis=0)
    assert (np.abs(apart) < 4 * np.hypot(same.std(axis=0), other.std(axis=0)) / 20).all()
    with pytest.raises(ValueError, match="must be a multiple of bins = 30"):
        tables.simulate_same(30, 500, 2, rng=rng)


@pytest.fixture(scope="module")
def study() -> tables.Study:
    return tables.study(10, 8, (1_000, *tables.DRAWS), rng=np.random.default_rng(6))


def test_saturated_entries_fix_the_distance(study: tables.Study) -> None:
    """Under the first heading, read as 1,000 draws, with 250 bins one is always empty."""
    for added in (0.01, 0.1):
        found = tables.asked_for(study, tables.told(10_000), 1_000, added)
        constant = np.log((1_000 + 250 * added) / (250 * added))
        level = tables.normal_edp([found[250]], 250)[0]
        assert 100 * (constant / level - 1) == pytest.approx(440.59, abs=1e-6)
    assert found[250] == pytest.approx(2.2858, abs=1e-4)
    assert found[100] == pytest.approx(2.3723, abs=1e-4)
    assert np.isnan(tables.asked_for(study, tables.told(10_000), 1_000, 1.0)[250])


def test_table_4_belongs_to_a_tenth_of_the_draws(study: tables.Study) -> None:
    found = tables.explanations(study)
    worst = found.loc[found["heading"] == found["draws"], "below_best"]
    assert len(worst) == 3
    assert (worst > 5).all()
    first = found[(found["heading"] == 10_000) & (found["data"] == "one")]
    best = first.loc[first["below_best"].idxmin()]
    assert (best["draws"], best["treatment"]) == (1_000, "0.1 added")
    assert best["distance"] == pytest.approx(2.33, abs=0.06)
    joint = tables.one_data_set(study).set_index("treatment")
    assert joint["joint"].idxmax() == "0.1 added"
    nearest = np.abs(joint.loc["0.1 added", "distance"] - np.array([2.2858, 2.3723])).min()
    assert nearest < 1e-4
    odds = tables.odds_of_saturated(study, 0.1)
    assert 0.01 < odds < 1e4
    said = paper.of_one_data_set(joint.reset_index(), (2.3, 2.2, 2.4), 8.71)
    assert "most probable with 0.1 added" in said
    assert "is 8.7 times as probable as the reverse" in said


def test_a_study_finds_the_data_that_it_simulates(study: tables.Study) -> None:
    """Biases computed at a distance, given as if printed, lead back to it."""
    for rule, distance in ((0.1, 2.6), (0.01, 3.2)):
        fit = tables.fitted(study, distance, rule)
        column = fit["computed_10000"].round(2).to_numpy()
        found = tables.explain(study, column, 1_000, rule)
        assert found.distance == pytest.approx(distance, abs=1e-3)
        other = tables.explain(study, column, 10_000, rule)
        assert found.log10_likelihood > other.log10_likelihood + 5


def test_each_column_of_table_3_has_its_treatment_of_empty_bins() -> None:
    here = edp.beta_posterior(0, 5, paper.ROUNDED_ALPHA)
    there = edp.beta_neighbors(0, 5, paper.ROUNDED_ALPHA, "changed")
    rng = np.random.default_rng(7)
    cells = tables.beta_cells(here, there, tables.DRAWS, tables.RULES, 20, rng=rng)
    found = tables.rules_of_table_3(cells)
    best = found[found["below_best"] == 0].set_index("draws")["treatment"]
    assert best.tolist() == ["empty bins dropped", "1 added", "0.01 added"]


def test_smallest_count_by_enumeration() -> None:
    """Two thin bins and a thick one: every pair of their counts, by the multinomial."""
    share, draws = np.array([0.002, 0.005, 0.993]), 500
    a, b = np.meshgrid(np.arange(30), np.arange(30), indexing="ij")
    cells = np.stack([a, b, draws - a - b], axis=-1)
    chance = stats.multinomial(draws, share).pmf(cells)
    for positive in (False, True):
        smallest = np.where((cells > 0) | (not positive), cells, draws).min(axis=-1)
        counts, found = tables.least_counts(np.stack([share, share]), draws, positive=positive)
        assert found.sum(axis=1) == pytest.approx([1, 1])
        thin = counts < 20  # beyond, both thin bins are empty
        exact = np.array([chance[smallest == count].sum() for count in counts[thin]])
        np.testing.assert_allclose(found[:, thin], [exact, exact], atol=0.001)


def test_biases_of_table_3_against_simulation() -> None:
    here, there = edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "changed")
    rng = np.random.default_rng(12)
    rules: list[tables.Rule] = [0.01, 1.0, edp.DROPPED]
    for bins, draws in ((5, 1_000), (20, 10_000), (50, 100_000)):
        cells = tables.beta_cells(here, there, [draws], rules, 100, bins=[bins], rng=rng)
        found = tables.extremes(edp.simulate_counts(here, there, bins, draws, 1_000, rng=rng))
        for rule, cell in zip(rules, cells.to_dict("records"), strict=True):
            each = 100 * (tables.estimate(found, bins, draws, rule) / cell["exact"] - 1)
            error = np.hypot(each.std() / np.sqrt(1_000), cell["bias_se"])
            assert abs(each.mean() - cell["relative_bias_percent"]) < 4 * error
            assert each.std() == pytest.approx(cell["replicate_sd"], rel=0.1)


def test_a_bin_that_is_hardly_ever_filled_counts() -> None:
    """250 bins, a million draws: none is empty once in a thousand replicates."""
    here, there = edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "changed")
    rng = np.random.default_rng(13)
    cells = tables.beta_cells(here, there, [1_000_000], [0.01], 20, bins=[250], rng=rng)
    (cell,) = cells.to_dict("records")
    share = np.exp(edp.log_bin_probabilities(there[0], edp.equal_bins(here, 250)))
    filled = np.prod(-np.expm1(-1e6 * share))
    empty, one = (np.log((1e6 + 2.5) / (250 * (k + 0.01))) / cell["exact"] for k in (0, 1))
    # Where no bin is empty the smallest count is 1, but for a few cases.
    mean, sd = empty - filled * (empty - one), (empty - one) * np.sqrt(filled * (1 - filled))
    assert cell["relative_bias_percent"] == pytest.approx(100 * (mean - 1), abs=0.005)
    assert cell["replicate_sd"] == pytest.approx(100 * sd, rel=0.05)
    assert cell["relative_bias_percent"] < 100 * (empty - 1) - 0.03
    assert tables.error_of_printed(cells) == pytest.approx(cell["replicate_sd"] / 10, rel=0.01)


def test_imprecision_does_not_depend_on_the_model() -> None:
    """The printed tables agree one heading to the left, but for the row of two misprints."""
    for draws in (10_000, 100_000):
        three = tables.told(draws, "table3_emi")
        four = tables.told(10 * draws, "table4_emi")
        same = np.array(tables.BINS) != 100
        np.testing.assert_allclose(three[same], four[same], rtol=0.06)


def test_what_an_imprecision_tells_of_a_chain() -> None:
    rng = np.random.default_rng(8)
    found = tables.effective_draws(0.27, 20, 10_000, 400, rng=rng)
    assert found["independent"] == pytest.approx(0.134, abs=0.005)
    assert found["low"] < found["draws"] < found["high"]
    assert found["draws"] == pytest.approx(2_450, rel=0.1)


def test_every_printed_number_has_a_verdict(study: tables.Study) -> None:
    rng = np.random.default_rng(9)
    here, there = edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "changed")
    three = tables.beta_cells(here, there, tables.DRAWS, [0.01], 20, rng=rng)
    same = tables.imprecisions(tables.DRAWS, [0.01], 40, rng=rng)
    book = paper.book(three, same, study, 5, 0.5, 20, 100, [100, 1_000, 10_000])
    verdicts = book.set_index("id")["verdict"]
    assert (verdicts != "skipped").all()
    assert verdicts[["abowd_edp", "abowd_imprecision"]].tolist() == ["consistent"] * 2
    assert verdicts["table4_rb_250_10000"] == "differs"
    # What the notebook explains otherwise is no match: a misprint, headings, another treatment.
    misprint = ["table2_3_100"]
    headings = [f"table4_rb_{key}" for key in ("5_100000", *(f"{b}_1000000" for b in (5, 10, 20)))]
    treatment = ["table3_rb_20_100000"]
    notes = book.set_index("id")["note"]
    for keys, why in ((misprint, paper.ROUNDED), (headings, paper.TENTH), (treatment, paper.EMPTY)):
        assert (verdicts[keys] == "differs").all()
        assert (notes[keys] == why).all()
    # One count of one thing: the notebook's table and the ledger both round.
    entries = verdicts[verdicts.index.str.startswith("table2_")]
    (told,) = paper.entries_as_printed([0.5])["of 36 entries as printed"]
    assert (entries == "match").sum() == told == 21
    assert verdicts["table3_rb_250_1000000"] == "match"
    assert book["tolerance"].max() < 120


# --------------------------------------------------------------------------- a prior by its EDP


def test_trial_and_error_by_enumeration() -> None:
    """With one prior to try the procedure is the synthesizer; EDP of deleted records misleads."""
    chosen, epsilon = paper.trial_and_error([2.0], 100.0, "deleted")
    assert epsilon == pytest.approx(np.log1p(5 / 2))
    assert chosen["promised"].to_numpy() == pytest.approx(np.log1p(5 / 2))
    chosen, epsilon = paper.trial_and_error([0.05, 5.0, 50.0], 1.0, "deleted")
    assert chosen["alpha"].iloc[0] == 0.05
    assert (chosen["edp"] <= 1).all()
    assert epsilon > 5
    with pytest.raises(ValueError, match="priors reach no EDP of 0"):
        paper.trial_and_error([1.0], 0.0, "changed")


def test_one_sample_levels_are_those_of_from_draws() -> None:
    rng = np.random.default_rng(10)
    theta = rng.normal(size=2_000)
    log_weights = theta[:, None] * np.array([0.1, -0.2])
    found = paper.one_sample_levels(theta, log_weights, [5, 20])
    expected = [edp.from_draws(theta, log_weights, b).value for b in (5, 20)]
    np.testing.assert_allclose(found, expected)


def test_any_function_of_the_parameters() -> None:
    """The weight's own bins: exact for two records, and no scalar has more."""
    rng = np.random.default_rng(11)
    theta = rng.normal(size=(4, 500, 2))
    log_weights = theta @ np.array([[0.3, 0.0], [0.4, 0.1]])
    of_any = edp.of_any_function(log_weights, 20)
    for record in (0, 1):
        of_weight = edp.from_draws(log_weights[..., record], log_weights[..., [record]], 20)
        assert of_any[record] == pytest.approx(of_weight.value)
        for scalar in (theta[..., 0], theta[..., 1], theta.sum(axis=-1)):
            assert edp.from_draws(scalar, log_weights[..., [record]], 20).value <= of_any[record]
    with pytest.raises(ValueError, match="bins is 3000"):
        edp.of_any_function(log_weights, 3_000)


# ---------------------------------------------------------------------------------- verdicts


def test_conditional_epsilons_far_below() -> None:
    def case(*values: float) -> pd.DataFrame:
        return pd.DataFrame({"epsilon": 2.0, "n": [1] * 3 + [2] * 3, "conditional_epsilon": values})

    assert paper.far_below(case(2, 0.5, 0.9, 2, 0.5, 0.9)).word == HOLDS
    assert paper.far_below(case(2, 1.0, 0.9, 2, 0.5, 1.0)).word == FAILS
    found = paper.far_below(case(2, 0.5, 0.9, 2, 2, 2))
    assert found.word.startswith("depends on")
    assert "at epsilon 2 in 1 of 2 sizes" in found.because


def test_growth_is_proved_unless_enumeration_says_otherwise() -> None:
    levels = pd.DataFrame({"x": 0, "neighbours": "changed", "bins": [2, 3, 4], "edp": [1, 2, 2.0]})
    peak = pd.DataFrame({"bins": [2, 3, 4], "EDP": [0.2, 0.536, 0.462]})
    rising = peak.assign(EDP=[1, 2, 3])
    assert paper.grows(levels, rising).word == PROVED
    assert paper.grows(levels.assign(edp=[1, 2, 1.9]), rising).word == FAILS
    found = paper.grows(levels, peak)
    assert found.word == "depends on the likelihood"
    assert found.because.endswith("EDP falls from 0.536 at 3 bins to 0.462 at 4.")


def test_direction_of_the_prior() -> None:
    priors = pd.DataFrame({"x": [0, 0, 1, 1], "alpha": [1.0, 2.0] * 2, "edp": [1.0, 2, 3, 4]})
    assert paper.prior_direction(priors).word == HOLDS
    assert (
        paper.prior_direction(priors.assign(edp=[1.0, 2, 4, 3])).word == "depends on the data set"
    )
    assert paper.prior_direction(priors.assign(edp=[2.0, 1, 4, 4])).word == FAILS


@pytest.mark.parametrize(
    ("bias", "error", "word"),
    [
        ([12.1, -10.3], 0.1, HOLDS),
        ([9.7, -9.7], 0.1, FAILS),
        ([12.0, 5.0], 0.1, "depends on the bins and the data set"),
        ([12.0, 10.1], 0.1, UNDECIDED),
    ],
)
def test_bad_bias(bias: list[float], error: float, word: str) -> None:
    cases = {"case": "a", "bins": [20, 50], "relative_bias_percent": bias, "bias_se": error}
    assert paper.badly_biased(pd.DataFrame(cases)).word == word


def test_bias_of_ten_thousand_draws_is_judged_at_all_bins(study: tables.Study) -> None:
    rng = np.random.default_rng(14)
    three = paper.table_3(0.5, 20, rng=rng)
    cases = paper.at_ten_thousand_draws(three, study, 2.3, 20, rng=rng)
    assert (cases.groupby("bins")["case"].nunique() == 8).all()
    found = paper.badly_biased(cases)
    assert found.word == "depends on the bins and the data set"
    assert "0 of 8 at 5 bins" in found.because
    assert found.because.endswith("8 of 8 at 250 bins.")


def test_a_check_that_passes_hides_a_bias() -> None:
    cells = pd.DataFrame(
        {
            "model": ["a", "b"],
            "exact": 1.0,
            "relative_bias_percent": [11.0, 11.0],
            "bias_se": 0.1,
            "imprecision": [0.09, 0.1],
        }
    )
    assert paper.check_hides(cells).word == "depends on the model"
    assert paper.check_hides(cells.assign(imprecision=0.09)).word == HOLDS
    assert paper.check_hides(cells.assign(bias_se=1.0)).word == FAILS
    assert "1.2 times" in paper.check_hides(cells).because


def test_one_sample_against_counts() -> None:
    errors = pd.DataFrame(
        {"one_sample": [1.0, 1.0], "one_sample_se": 0.1, "counts": [2.0, 2.0], "counts_se": 0.1}
    )
    assert paper.one_sample_helps(errors).word == HOLDS
    mixed = errors.assign(counts=[2.0, 1.1])
    assert paper.one_sample_helps(mixed).word == "depends on the number of bins"
    assert paper.one_sample_helps(errors.assign(counts=1.1)).word == UNDECIDED
    assert paper.one_sample_helps(errors.assign(counts=0.5)).word == FAILS


def test_impact_of_what_is_added() -> None:
    cells = pd.DataFrame(
        {
            "model": "a",
            "draws": 10,
            "bins": 5,
            "smoothing": ["0.01", "1.0"],
            "relative_bias_percent": [0.0, 10.5],
            "bias_se": 0.1,
        }
    )
    assert paper.smoothing_matters(cells).word == FAILS
    assert paper.smoothing_matters(cells.assign(bias_se=1.0)).word == UNDECIDED
    small = cells.assign(relative_bias_percent=[0.0, 9.0])
    assert paper.smoothing_matters(small).word == HOLDS


def test_empty_bins_and_more_records() -> None:
    cells = pd.DataFrame({"edp": [1.0, 2.0, 3.0], "empty": [0.0, 0.1, 0.2]})
    assert paper.empty_where_small(cells).word == FAILS
    assert paper.empty_where_small(cells.assign(empty=[0.2, 0.1, 0.0])).word == HOLDS
    levels = pd.DataFrame({"case": ["a", "a", "b", "b"], "n": [1, 9, 1, 9], "edp": [4, 1, 4, 3.0]})
    levels["neighbours"] = ["changed", "changed", "deleted", "deleted"]
    assert (
        paper.falls_with_records(levels.assign(neighbours="changed")).word == "depends on the data"
    )
    told = paper.falls_with_records(levels.assign(n=[1, 9, 1, 5000]))
    assert told.word == "depends on the neighbor"
    assert told.because == (
        "EDP goes from 4 at 1 records to 1 at 9 (a, a record changed), from 4 at 1 records to 3 at "
        "5,000 (b, a record deleted)."
    )
    assert paper.falls_with_records(levels[:2]).word == HOLDS
    assert paper.falls_with_records(levels[2:]).word == FAILS


def test_logistic_sampler_against_importance_sampling() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 1))
    y = rng.random(60) < 1 / (1 + np.exp(-0.5 - x[:, 0]))
    settings: dict = {"burn_in": 500, "n_draws": 1_500, "thin": 10, "n_chains": 4}
    beta, log_likelihood = paper.sample_logistic(y, x, prior_sd=1.5, rng=rng, **settings)
    grid = np.linspace(-4, 5, 200)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    eta = a[..., None] + b[..., None] * x[:, 0]
    log_p = (y * eta - np.logaddexp(0, eta)).sum(axis=-1) - (a**2 + b**2) / (2 * 1.5**2)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    for k, axis in enumerate((a, b)):
        mean = (weight * axis).sum()
        sd = np.sqrt((weight * axis**2).sum() - mean**2)
        assert abs(beta[..., k].mean() - mean) < 0.08 * sd
        assert beta[..., k].std() == pytest.approx(sd, rel=0.08)
    eta = beta[0, 7, 0] + beta[0, 7, 1] * x[:, 0]
    np.testing.assert_allclose(log_likelihood[0, 7], y * eta - np.logaddexp(0, eta))
    with pytest.raises(ValueError, match="prior_sd is 0"):
        paper.sample_logistic(y, x, prior_sd=0, rng=rng, **settings)


def test_a_record_is_told_by_titles_and_labels() -> None:
    job = Variable("JOB", ("1", "2"), labels=("Cook", "Clerk"), title="occupation")
    sick = Variable("SICK", ("no", "yes"), title="sick")
    people = Microdata(np.array([[0, 1], [1, 0]]), Schema((job, sick)))
    assert paper.record_in_words(people, 1, [1, 0]) == "sick: no; occupation: Clerk"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bins", "[1]", "[2, 2500]"),
        ("alpha", "0", "[0.05, 1000]"),
        ("n", "1", "[2, 500]"),
        ("replicates", "1", "[2, inf)"),
    ],
)
def test_bad_parameters_are_found_before_a_kernel_starts(
    root: Path, name: str, value: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, "charest_han", overrides=[(name, value)])


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    settings = {"n": 3, "alpha": 2.0, "bins": [4, 10], "replicates": 3, "datasets": 8}
    settings |= {"sizes": [4, 30], "n_people": 120, "n_draws": 250, "n_bins": 5}
    parameters = resolve(root, "charest_han").parameters
    request = Request("charest_han", "other", {**parameters, **settings}, {})
    folder = run(root, request, tmp_path)
    book = pd.read_csv(folder / "tables/ledger.csv")
    assert (book.loc[book["source"] == "Table 1", "verdict"] == "match").all()
    assert (book.loc[book["id"] == "n", "note"] == "another setting than the paper's").all()
    assert '"stderr"' not in (folder / "notebook.ipynb").read_text(encoding="utf-8")
