"""Utility: by hand, against statsmodels, and the references by enumeration and simulation."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from srlib.assessment import utility

LEVELS = [2, 3, 4]
NAMES = ["a", "b", "c"]
LABELS = [["no", "yes"], ["x", "y", "z"], ["0", "1", "2", "3"]]


def population(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Dependent variables, each level in a fair share of the records."""
    a = rng.integers(0, 2, n)
    b = (a + rng.integers(0, 2, n)) % 3
    return np.column_stack([a, b, (b + rng.integers(0, 3, n)) % 4])


def row(frame: pd.DataFrame, measure: str) -> pd.Series:
    return frame.set_index("measure").loc[measure]


# ------------------------------------------------------------------------------------ margins


def test_margins_by_hand() -> None:
    original = np.array([(0, 0), (0, 1), (1, 1), (1, 1)])
    one, other = np.array([(0, 0), (1, 0)]), original[::-1]
    frame = utility.margins(original, [one, other], [2, 2], ["a", "b"])
    assert frame["variable_a"].tolist() == ["a", "b", "a"]
    assert frame["variable_b"].tolist() == ["", "", "b"]
    # Shares of b = 0 are 1/4 and 1; those of the cells 1/4, 1/4, 0, 1/2 and 1/2, 0, 1/2, 0.
    assert frame["mean"].tolist() == pytest.approx([0, 3 / 4 / 2, 3 / 4 / 2])
    assert frame["sd"].tolist() == pytest.approx([0, 0.75 / np.sqrt(2), 0.75 / np.sqrt(2)])
    assert (frame["releases"] == 2).all()
    alone = utility.margins(original, [one], [2, 2], ["a", "b"])
    assert alone["sd"].isna().all()


def test_margins_by_sampling_alone_by_enumeration() -> None:
    original = np.array([(0, 0), (0, 1), (0, 1), (1, 1), (1, 2), (0, 2)])
    expected = np.zeros(3)
    for draws in product(range(6), repeat=3):
        frame = utility.margins(original, [original[list(draws)]], [2, 3], ["a", "b"])
        expected += frame["mean"] / 6**3
    assert frame["baseline"].tolist() == pytest.approx(expected.tolist())
    assert (expected > 0).all()


def test_distances_of_records_divided_at_random_by_enumeration() -> None:
    """All ways to choose the original's four of seven records, of two cells and of three."""
    for records in ([0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 2, 2]):
        distances = []
        for chosen in combinations(range(7), 4):
            at = np.isin(np.arange(7), chosen)
            original, released = (np.array(records)[part][:, None] for part in (at, ~at))
            frame = utility.margins(original, [released], [3], ["a"])
            distances.append(frame["mean"][0])
        assert frame["fresh"][0] == pytest.approx(np.mean(distances))
        # With three cells the distances in them are not one another's; their spread is near.
        near = 1e-9 if len(set(records)) == 2 else 0.2
        assert frame["fresh_sd"][0] == pytest.approx(np.std(distances), rel=near)


# --------------------------------------------------------------------------------- propensity


def test_pmse_of_one_variable_in_closed_form() -> None:
    """Fitted probabilities are shares; one level is the original's only, one the release's."""
    original = np.repeat([0, 1, 2], [5, 3, 2])[:, None]
    released = np.repeat([0, 1, 3], [2, 7, 4])[:, None]
    frame = utility.propensity(original, [released], [5])
    totals, shares = np.array([7, 10, 2, 4]), np.array([2 / 7, 7 / 10, 0, 1])
    c, n = 13 / 23, 23
    pmse = totals @ (shares - c) ** 2 / n
    assert row(frame, "pMSE")["mean"] == pytest.approx(pmse, rel=1e-5)
    scale = (1 - c) ** 2 * c / n  # four levels occur, so that k - 1 = 3
    assert row(frame, "pMSE")["baseline"] == pytest.approx(3 * scale)
    assert row(frame, "ratio")["mean"] == pytest.approx(pmse / (3 * scale), rel=1e-5)
    standardized = (pmse - 3 * scale) / (np.sqrt(6) * scale)
    assert row(frame, "standardized")["mean"] == pytest.approx(standardized, rel=1e-5)


@pytest.mark.parametrize("interactions", [False, True])
def test_pmse_against_statsmodels(interactions: bool) -> None:
    rng = np.random.default_rng(1)
    original, released = rng.integers(0, LEVELS, (150, 3)), rng.integers(0, LEVELS, (90, 3))
    released[:20, 0] = 0
    frame = utility.propensity(original, [released], LEVELS, interactions=interactions)
    data = np.concatenate([original, released])
    single = [(k, code) for k in range(3) for code in range(1, LEVELS[k])]
    columns = [data[:, k] == code for k, code in single]
    if interactions:
        columns += [
            columns[i] * columns[j]
            for i in range(len(single))
            for j in range(i)
            if single[i][0] != single[j][0]
        ]
    design = np.column_stack([np.ones(len(data)), *columns]).astype(float)
    assert (
        design.shape[1] == utility.n_parameters(LEVELS, interactions) == (18 if interactions else 7)
    )
    event = np.arange(len(data)) >= 150
    fit = sm.GLM(event, design, family=sm.families.Binomial()).fit(maxiter=200, tol=1e-12)
    c = 90 / 240
    assert row(frame, "pMSE")["mean"] == pytest.approx(
        np.mean((fit.fittedvalues - c) ** 2), rel=1e-4
    )
    expected = (np.linalg.matrix_rank(design) - 1) * (1 - c) ** 2 * c / 240
    assert row(frame, "pMSE")["baseline"] == pytest.approx(expected)


@pytest.mark.parametrize(("interactions", "n_released"), [(False, 400), (True, 250)])
def test_pmse_of_a_correct_model_by_simulation(interactions: bool, n_released: int) -> None:
    """Draws from the original's own distribution have the stated mean and standard deviation."""
    rng, repetitions = np.random.default_rng(2), 150
    original = population(400, rng)
    released = [original[rng.integers(0, 400, n_released)] for _ in range(repetitions)]
    found = row(
        utility.propensity(original, released, LEVELS, interactions=interactions), "standardized"
    )
    assert found["releases"] == repetitions
    assert abs(found["mean"]) < 5 / np.sqrt(repetitions)
    assert found["sd"] == pytest.approx(1, abs=5 * np.sqrt(1 / repetitions))  # heavier tails


def test_pmse_of_fresh_samples_is_larger_by_the_share_of_the_original() -> None:
    rng, repetitions = np.random.default_rng(3), 150
    ratios = []
    for _ in range(repetitions):
        original, released = population(300, rng), population(600, rng)
        ratios.append(row(utility.propensity(original, [released], LEVELS), "ratio")["mean"])
    assert np.mean(ratios) == pytest.approx(3, abs=5 * stats.sem(ratios))
    assert stats.sem(ratios) < 0.2


def test_pmse_of_a_part_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its references hold, of a correct model and of fresh samples."""
    rng, repetitions = np.random.default_rng(8), 60
    monkeypatch.setattr(utility, "MOST_PRODUCTS", 7**2 * 6)  # of 12 combinations
    correct, fresh = [], []
    for _ in range(repetitions):
        original = population(900, rng)
        released = [original[rng.integers(0, 900, 700)], population(700, rng)]
        frames = [utility.propensity(original, [z], LEVELS) for z in released]
        correct.append(row(frames[0], "standardized")["mean"])
        fresh.append(row(frames[1], "ratio")["mean"] - row(frames[1], "ratio")["fresh"])
        assert frames[0].loc[0, ["records", "fitted"]].tolist() == [1600, 800]
    assert abs(np.mean(correct)) < 5 / np.sqrt(repetitions)
    assert np.std(correct) == pytest.approx(1, abs=5 * np.sqrt(1 / repetitions))
    assert abs(np.mean(fresh)) < 5 * stats.sem(fresh)
    assert stats.sem(fresh) < 0.2


def test_interactions_see_a_lost_association() -> None:
    rng = np.random.default_rng(4)
    original = population(800, rng)
    apart = np.column_stack([rng.permutation(column) for column in original.T])
    alone = row(utility.propensity(original, [apart], LEVELS), "ratio")["mean"]
    pairs = row(utility.propensity(original, [apart], LEVELS, interactions=True), "ratio")["mean"]
    assert alone == pytest.approx(0, abs=1e-6)  # the margins are the same
    assert pairs > 10


def test_pmse_where_nothing_varies() -> None:
    constant = np.zeros((2, 2), int)
    frame = utility.propensity(constant, [constant[:1]], [2, 2], interactions=True)
    assert row(frame, "pMSE")["mean"] == 0
    assert np.isnan(row(frame, "ratio")["mean"])
    assert np.isnan(row(frame, "standardized")["mean"])


# ------------------------------------------------------------------------------------ overlap


def by_statsmodels(codes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """b = y and b = z against x, then c = 1, 2, 3 against 0."""
    columns = [codes[:, 1] == 1, codes[:, 1] == 2, *(codes[:, 2] == k for k in (1, 2, 3))]
    fit = sm.OLS(codes[:, 0] == 0, sm.add_constant(np.column_stack(columns).astype(float))).fit()
    return fit.params[1:], fit.bse[1:]


def overlap(low: float, high: float, other_low: float, other_high: float) -> float:
    common = min(high, other_high) - max(low, other_low)
    return (common / (high - low) + common / (other_high - other_low)) / 2


def test_overlap_against_statsmodels() -> None:
    rng = np.random.default_rng(5)
    # The most frequent levels are the references: a = 0, b = 0, c = 0.
    original = np.concatenate([population(200, rng), np.zeros((60, 3), int)])
    released = [population(150, rng), population(300, rng)]
    frame = utility.interval_overlap(original, released, LABELS, NAMES, [1, 2], 0, level=0.9)
    assert frame["term"].tolist() == ["b: y", "b: z", "c: 1", "c: 2", "c: 3"]
    estimate, se = by_statsmodels(original)
    assert frame["original"].to_numpy() == pytest.approx(estimate)
    assert frame["original_se"].to_numpy() == pytest.approx(se)
    others = [by_statsmodels(z) for z in released]
    assert frame["synthetic"].to_numpy() == pytest.approx(np.mean([b for b, _ in others], axis=0))
    q = stats.norm.ppf(0.95)
    for j in range(5):
        each = [
            overlap(
                estimate[j] - q * se[j], estimate[j] + q * se[j], b[j] - q * s[j], b[j] + q * s[j]
            )
            for b, s in others
        ]
        assert frame["mean"][j] == pytest.approx(np.mean(each))
        assert frame["sd"][j] == pytest.approx(np.std(each, ddof=1))


@pytest.mark.parametrize("n_released", [60, 200, 900])
def test_expected_overlap_by_simulation(n_released: int) -> None:
    """Estimates N(0, ratio^2) apart, intervals as wide as the square root of the sizes says."""
    rng, ratio, q = np.random.default_rng(6), np.sqrt(200 / n_released), stats.norm.ppf(0.975)
    original = population(200, rng)
    released = [population(n_released, rng)]
    frame = utility.interval_overlap(original, released, LABELS, NAMES, [1], 0)
    apart = ratio * rng.normal(size=20_000)
    simulated = [overlap(-q, q, d - q * ratio, d + q * ratio) for d in apart]
    assert frame["baseline"][0] == pytest.approx(np.mean(simulated), abs=5 * stats.sem(simulated))
    assert (frame["baseline"] == frame["baseline"][0]).all()


def test_what_a_table_does_not_determine_has_no_overlap() -> None:
    rng = np.random.default_rng(7)
    original = population(200, rng)
    without = original[original[:, 2] != 3]  # a level is missing in one release
    frame = utility.interval_overlap(original, [without, original], LABELS, NAMES, [1, 2], 0)
    frame = frame.set_index("term")
    assert frame.loc["c: 3", "releases"] == 1
    assert frame.loc["c: 3", "mean"] == 1
    assert (frame["releases"].drop("c: 3") == 2).all()
    twice = np.column_stack([original, original[:, 1]])  # two predictors say the same
    frame = utility.interval_overlap(twice, [twice], [*LABELS, LABELS[1]], [*NAMES, "d"], [1, 3], 0)
    assert frame[["original", "mean", "baseline"]].isna().all(axis=None)
    constant = np.zeros((10, 3), int)
    frame = utility.interval_overlap(original, [constant], LABELS, NAMES, [1, 2], 0)
    assert (frame["releases"] == 0).all()
    assert frame["mean"].isna().all()


# ------------------------------------------------------------------------ against a fresh sample


def looks(original: NDArray[np.int64], released: NDArray[np.int64]) -> pd.DataFrame:
    margins = utility.margins(original, [released], LEVELS, NAMES)
    pmse = utility.propensity(original, [released], LEVELS, interactions=True)
    overlap = utility.interval_overlap(original, [released], LABELS, NAMES, [1, 2], 0)
    losses = utility.losses(margins, overlap, pmse, len(original), len(released))
    return utility.against_fresh(pmse, overlap).assign(worst=losses["loss"].max())


@pytest.mark.parametrize(("n", "n_released"), [(800, 800), (500, 1_000)])
def test_fresh_samples_lie_where_they_are_expected(n: int, n_released: int) -> None:
    """So that the words of the verdict are held against what fresh samples have."""
    rng, repetitions = np.random.default_rng(8), 80
    frames = [looks(population(n, rng), population(n_released, rng)) for _ in range(repetitions)]
    worse = np.array([frame["worse"] for frame in frames])
    error = 5 / np.sqrt(repetitions)
    assert (np.abs(worse[:, :2].mean(axis=0)) < error).all()
    assert worse[:, :2].std(axis=0) == pytest.approx(np.ones(2), abs=error)
    # The error of the overlap is a bound: coefficients are taken to move together.
    assert abs(worse[:, 2].mean()) < error
    assert worse[:, 2].std() < 1 + error
    assert sum(frame["worst"][0] > 0 for frame in frames) <= 0.1 * repetitions


def test_customary_numbers_beside_a_fresh_samples() -> None:
    rng = np.random.default_rng(9)
    original = population(800, rng)
    apart = np.column_stack([rng.permutation(column) for column in original.T])
    frame = looks(original, apart).set_index("measure")
    assert frame.loc["pMSE ratio", "fresh"] == 2
    assert (frame["worse"] > 3).all()
    same = looks(original, original).set_index("measure")
    assert same.loc["overlap", "value"] == 1
    assert (same["worse"] < 0).all()
