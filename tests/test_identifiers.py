"""Columns left out that identify people: common values, and those that chance makes."""

import numpy as np
import pandas as pd
import pytest

from srlib.assessment.identifiers import common_identifiers

TOWNS = ["north", "south"] * 20
NAMES = [f"{a}{b}" for a in "abcdefghijklmnopqrst" for b in "uvwxyz"]


def compare(original, released):
    """The rows of columns of identifiers."""
    tables = ({"id": pd.Series(values)} for values in (original, released))
    return pd.DataFrame(common_identifiers(*tables))


def share_and_rating(original, released):
    """The share of common values, and the rating."""
    (row,) = compare(original, released).itertuples()
    return row.estimate, row.rating


@pytest.fixture
def passports(rng):
    return [f"C{number:08d}" for number in rng.choice(10**8, 800, replace=False)]


def test_one_common_passport_rating_in_any_case_and_with_spaces(passports):
    original = passports[:400]
    fresh = passports[400:]
    assert share_and_rating(original, fresh) == (0, "no sign")
    fresh[0] = f" {passports[0].lower()}"
    assert share_and_rating(original, fresh) == (1 / 400, "found")


def test_one_common_name_rating():
    assert share_and_rating(NAMES[:60], NAMES[59:]) == (1 / 61, "found")


def test_common_passports_are_counted_and_in_the_verdict(passports):
    (row,) = compare(passports, passports[:2]).itertuples()
    assert row.why == "it contains 2 of the original's values of id"
    assert (row.in_verdict, row.n) == (True, 2)


@pytest.mark.parametrize("form", ["{}", "{}.0", "P{:05d}"])
def test_numbers_of_records_are_common_by_chance(form):
    numbers = [form.format(number) for number in range(1, 401)]
    assert share_and_rating(numbers, numbers) == (1, "no sign")


@pytest.mark.parametrize(("n_common", "rating"), [(2, "no sign"), (3, "found")])
def test_common_numbers_beyond_chance_are_found(n_common, rating):
    """Of 800,000 numbers 400 in both files: two are common in one case of 57."""
    numbers = np.random.default_rng(4).choice(800_000, 799, replace=False)
    original = numbers[:400]
    released = np.append(original[-n_common:], numbers[399 + n_common :])

    (baseline,) = compare(original, released)["baseline"]
    assert baseline == pytest.approx(400 / 800_000, rel=0.3)
    assert share_and_rating(original, released) == (n_common / 400, rating)


def test_dates_amounts_and_short_numbers_are_seldom_taken_for_copies():
    ratings = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(1_000, 9_999, 800)
        cases = [f"{'ABC'[i % 3]}-{number}" for i, number in enumerate(numbers)]
        days = pd.to_timedelta(rng.integers(0, 70 * 365, 800), unit="D")
        dates = (pd.Timestamp(1930, 1, 1) + days).strftime("%Y-%m-%d").to_numpy()
        incomes = np.exp(rng.normal(10, 0.7, 800)).round()
        for values in (dates, incomes, cases):
            ratings.extend(compare(values[:400], values[400:]).get("rating", []))

    assert len(ratings) > 40
    assert ratings.count("found") / len(ratings) <= 0.05


@pytest.mark.parametrize(
    ("original", "released"),
    [
        (TOWNS, TOWNS),
        ([], TOWNS),
        ([None, ""] * 20, TOWNS),
        (["a", "b", None, "NA"] * 10, ["", "NA"] * 9),
    ],
)
def test_values_of_groups_and_missing_values_are_not_compared(original, released):
    assert compare(original, released).empty


def test_a_column_of_one_file_is_not_compared():
    assert common_identifiers({"id": pd.Series(range(9))}, {"name": TOWNS}) == []


def test_identifiers_that_the_release_lacks_are_no_sign():
    assert share_and_rating([f"x{i}y{i**2}" for i in range(40)], ["", "NA"] * 9) == (
        0,
        "no sign",
    )
