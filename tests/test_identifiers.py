"""Columns left out that identify people: common values, and those that chance makes."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng

from srlib.assessment.identifiers import common_identifiers

TOWNS = ["north", "south"] * 20
NAMES = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "uvwxyz"]
ABSENT = ["", "NA"] * 9


def compare(original, released):
    """The rows of a column of both files."""
    files = [{"id": pd.Series(values)} for values in (original, released)]
    return common_identifiers(*files)


def share_and_rating(original, released):
    """The share of common values, and the rating."""
    (row,) = compare(original, released)
    return row["estimate"], row["rating"]


@pytest.fixture
def passports(rng):
    numbers = rng.choice(10**8, 800, replace=False)
    return [f"C{number:08d}" for number in numbers]


def test_one_common_passport_rating_in_any_case_and_with_spaces(passports):
    original = passports[:400]
    fresh = passports[400:]
    assert share_and_rating(original, fresh) == (0, "no sign")
    fresh[0] = f" {passports[0].lower()}"
    assert share_and_rating(original, fresh) == (1 / 400, "found")


def test_one_common_name_rating():
    assert share_and_rating(NAMES[:60], NAMES[59:]) == (1 / 61, "found")


@pytest.mark.parametrize("form", ["{}", "{}.0", "P{:05d}"])
def test_numbers_of_records_which_chance_can_make_common_are_not_compared(form):
    numbers = list(map(form.format, range(1, 401)))
    assert compare(numbers, numbers) == []


@pytest.mark.parametrize(
    ("n_common", "rating"),
    [
        (2, "no sign"),
        (3, "found"),
    ],
)
def test_common_numbers_beyond_chance_are_found(n_common, rating):
    """Of 800,000 numbers 400 in both files: two are common in one case of 57."""
    numbers = default_rng(4).choice(800_000, 799, replace=False)
    original = numbers[:400]
    fresh = numbers[399 + n_common :]
    released = np.append(original[-n_common:], fresh)

    (row,) = compare(original, released)

    assert row["baseline"] == pytest.approx(400 / 800_000, rel=0.3)
    assert row["estimate"] == n_common / 400
    assert row["rating"] == rating


def test_dates_amounts_and_short_numbers_are_seldom_taken_for_copies():
    ratings = []
    for seed in range(40):
        rng = default_rng(seed)
        numbers = rng.integers(1_000, 9_999, 800)
        cases = [f"{'ABC'[i % 3]}-{number}" for i, number in enumerate(numbers)]
        dates = np.datetime64("1930-01-01") + rng.integers(0, 70 * 365, 800)
        incomes = np.exp(rng.normal(10, 0.7, 800)).round()
        for values in (dates.astype(str), incomes, cases):
            rows = compare(values[:400], values[400:])
            ratings += [row["rating"] for row in rows]

    assert len(ratings) > 40
    assert ratings.count("found") / len(ratings) <= 0.05


@pytest.mark.parametrize(
    ("original", "released"),
    [
        (TOWNS, TOWNS),
        ([], TOWNS),
        ([None, ""] * 20, TOWNS),
        (["a", "b", None, "NA"] * 10, ABSENT),
    ],
)
def test_values_of_groups_and_missing_values_are_not_compared(original, released):
    assert compare(original, released) == []


def test_a_column_of_one_file_is_not_compared():
    numbers = {"id": pd.Series(range(9))}
    assert common_identifiers(numbers, {"name": TOWNS}) == []


def test_identifiers_that_the_release_lacks_are_not_compared():
    original = [f"x{i}y{i**2}" for i in range(40)]
    assert compare(original, ABSENT) == []
