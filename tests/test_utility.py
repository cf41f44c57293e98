"""Utility losses: by hand, by enumeration, by statsmodels, and of fresh samples."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from cases import table
from enumeration import schema
from numpy.random import default_rng
from scipy import stats
from statsmodels.formula import api as smf

from srlib.assessment import utility
from srlib.margins import total_variation, utility_loss

LEVELS = [2, 3, 4]
SAME_VALUES = np.zeros((60, 3), int)
SMALL = table("000", "010", "110", "110")


def population(n, rng):
    """Dependent variables, each level in a fair share of the records."""
    a = rng.integers(0, 2, n)
    b = (a + rng.integers(0, 2, n)) % 3
    c = (b + rng.integers(0, 3, n)) % 4
    return np.column_stack([a, b, c])


def losses(original, *released, levels=LEVELS):
    rows = utility.utility_rows(schema(*levels), original, released)
    return pd.DataFrame(rows).set_index("question")


def test_distances_by_hand():
    released = table("000", "100")
    loss = losses(SMALL, released)
    # Code 0 of the second variable has shares 1/4 and 1; the cells of the first two
    # have 1/4, 1/4, 0, 1/2 and 1/2, 0, 1/2, 0.
    assert loss["estimate"].tolist()[:2] == [3 / 4, 3 / 4]
    assert loss.loc["one-way tables", "variables"] == "v1"

    mean = losses(SMALL, released, SMALL).loc["one-way tables"]
    assert mean["estimate"] == pytest.approx(3 / 8)
    assert mean["se"] == pytest.approx(3 / 8)


def test_the_original_in_another_order_is_at_no_distance_in_its_tables():
    tables = losses(SMALL, SMALL[::-1])[:2]
    assert (tables["estimate"] == 0).all()
    assert (tables["rating"] == "like a fresh sample").all()


def test_constant_files_have_no_distinguishability():
    loss = losses(SAME_VALUES, SAME_VALUES[:4])
    assert np.isnan(loss.loc["distinguishability", "estimate"])


@pytest.mark.parametrize(
    ("n_variables", "rating"),
    [
        (2, "limited"),
        (40, "like a fresh sample"),
    ],
)
def test_the_largest_of_many_distances_is_adjusted_for_their_number(
    n_variables, rating
):
    original, released = np.zeros((2, 500, n_variables), int)
    original[:250, 0] = 1
    released[:325, 0] = 1

    loss = losses(original, released, levels=[2] * n_variables)

    assert loss.loc["one-way tables", "rating"] == rating


@pytest.mark.parametrize(
    ("records", "tolerance"),
    [
        ([0, 0, 0, 0, 0, 1, 1], 1e-9),
        # With three cells their distances are not equal; the spread is near.
        ([0, 0, 0, 1, 1, 2, 2], 0.2),
    ],
)
def test_distances_of_random_splits_by_enumeration(records, tolerance):
    """All ways to choose the original's four of seven records."""
    pooled = np.array(records)[:, None]
    distances = []
    for chosen in combinations(range(7), 4):
        original = pooled[list(chosen)]
        released = np.delete(pooled, chosen, axis=0)
        distance, mean, spread = total_variation(original, released, [3], 0, 0)
        distances.append(distance)

    assert mean == pytest.approx(np.mean(distances))
    assert spread == pytest.approx(np.std(distances), rel=tolerance)


def test_distances_of_many_records_shrink_by_the_root_of_their_number(rng):
    original, released = rng.integers(0, 4, (2, 1_000_000, 1))
    _, *many = total_variation(original, released, [4], 0, 0)
    _, *few = total_variation(original[:10_000], released[:10_000], [4], 0, 0)
    assert 10 * np.array(many) == pytest.approx(few, rel=0.02)


def test_the_utility_loss_of_fresh_samples_is_one(rng):
    original, *fresh = rng.choice(3, (21, 2_000, 4), p=[0.5, 0.3, 0.2])
    levels = [3] * 4
    ratio, error = utility_loss(original, fresh, levels)
    # All releases share the original, and its part of the difference.
    assert ratio == pytest.approx(1, abs=0.25)
    assert 0 < error < 0.1
    ratio, _ = utility_loss(original, [original] * 2, levels)
    assert ratio == 0


@pytest.mark.parametrize(
    "released",
    [
        [SAME_VALUES],
        [SAME_VALUES, SAME_VALUES[1:]],
    ],
)
def test_a_utility_loss_needs_several_releases_of_one_size(released):
    with pytest.raises(ValueError, match="it must have two or more of both"):
        utility_loss(SAME_VALUES, released, LEVELS)


def test_expected_differences_between_samples_by_enumeration():
    """Two binomial counts in each of four cells; one has most of the records."""
    n = 200
    cells = table("00", "01", "10", "11")
    counts = np.array(
        [
            (170, 14, 10, 6),
            (180, 10, 6, 4),
            (160, 20, 12, 8),
        ]
    )
    original, *released = (np.repeat(cells, count, axis=0) for count in counts)

    possible = np.arange(n + 1)
    difference = np.abs(possible[:, None] - possible)
    shares = counts.mean(axis=0) / n
    probability = stats.binom.pmf(possible, n, shares[:, None])  # (n_cells, n + 1)
    expected = [p @ difference @ p for p in probability]
    observed = np.abs(counts[1:] - counts[0]).mean()

    ratio, _ = utility_loss(original, released, [2, 2])
    assert ratio == pytest.approx(observed / np.mean(expected), rel=0.02)


@pytest.mark.parametrize(
    ("most_products", "degree"),
    [
        (24 * 7**2, 1),
        (4e9, 2),
    ],
)
def test_distinguishability_against_statsmodels(
    rng, monkeypatch, most_products, degree
):
    n = 260
    uniform = rng.integers(0, LEVELS, (350, 3))
    codes = np.concatenate([uniform[:200], SAME_VALUES, uniform[200:], SAME_VALUES])
    monkeypatch.setattr(utility, "MOST_PRODUCTS", most_products)

    row = losses(codes[:n], codes[n:]).loc["distinguishability"]

    frame = pd.DataFrame(codes, columns=["a", "b", "c"])
    frame["is_released"] = 1.0 * (frame.index >= n)
    # Indicators of all levels but the first, and the products of two variables'.
    formula = f"is_released ~ (C(a) + C(b) + C(c)) ** {degree}"
    linear = smf.ols(formula, frame).fit()
    assert row["estimate"] == pytest.approx(linear.rsquared)
    assert row["baseline"] == pytest.approx(linear.df_model / 469)

    # The pMSE of logistic regression is much the same.
    logistic = smf.logit(formula, frame).fit()
    share = 210 / 470
    scaled = np.mean((logistic.predict() - share) ** 2) / (share * (1 - share))
    assert row["estimate"] == pytest.approx(scaled, rel=0.05)


@pytest.mark.parametrize(
    ("n_original", "n_released", "most_products"),
    [
        (300, 600, 4e9),
        (900, 700, 600),
    ],
)
def test_utility_of_fresh_samples_is_as_expected(
    monkeypatch, n_original, n_released, most_products
):
    """Of both files or, where time is short, of a part of their records."""
    rng = default_rng(8)
    monkeypatch.setattr(utility, "MOST_PRODUCTS", most_products)
    z = []
    is_worse = []
    for _ in range(60):
        loss = losses(population(n_original, rng), population(n_released, rng))
        z.append(loss.loc["distinguishability", "z"])
        is_worse.append((loss["rating"] != "like a fresh sample").any())

    tolerance = 5 / np.sqrt(60)
    assert abs(np.mean(z)) < tolerance
    assert np.std(z) == pytest.approx(1, abs=tolerance)
    assert np.mean(is_worse) <= 0.1
