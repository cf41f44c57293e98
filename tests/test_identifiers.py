"""Columns left out that identify people: common values, and those that chance makes."""

import numpy as np
import pandas as pd
import pytest

from srlib.assessment.identifiers import common_identifiers


def found(original: object, released: object) -> list[tuple[float, str]]:
    columns = {"id": pd.Series(original)}, {"id": pd.Series(released)}
    return [(row["estimate"], row["rating"]) for row in common_identifiers(*columns)]


def test_one_common_passport_is_enough(rng: np.random.Generator) -> None:
    numbers = rng.choice(10**8, 800, replace=False)
    passports = [f"C{number:08d}" for number in numbers]
    assert found(passports[:400], passports[400:]) == [(0, "no sign")]
    assert found(
        passports[:400], [*passports[400:799], f" {passports[0].lower()}"]
    ) == [(1 / 400, "found")]
    row, *_ = common_identifiers(
        {"id": pd.Series(passports)}, {"id": pd.Series(passports[:2])}
    )
    assert row["why"] == "it contains 2 of the original's values of id"
    assert (row["in_verdict"], row["n"]) == (True, 2)
    names = [
        f"{letter}{other}" for letter in "abcdefghijklmnopqrst" for other in "uvwxyz"
    ]
    assert found(names[:60], names[59:]) == [(1 / 61, "found")]


@pytest.mark.parametrize("form", ["{}", "{}.0", "P{:05d}"])
def test_numbers_of_records_are_common_by_chance(form: str) -> None:
    numbers = [form.format(number) for number in range(1, 401)]
    assert found(numbers, numbers) == [(1, "no sign")]


def test_common_numbers_are_as_many_as_chance_makes() -> None:
    """Of 800,000 numbers 400 in both files: a fifth of one is common, and two in a case of 57."""
    rng = np.random.default_rng(4)
    numbers = rng.choice(800_000, 799, replace=False)
    first, second = numbers[:400], numbers[399:]
    for common, word in ((2, "no sign"), (3, "found")):
        released = np.append(first[-common:], second[common:])
        row, *_ = common_identifiers(
            {"id": pd.Series(first)}, {"id": pd.Series(released)}
        )
        assert row["baseline"] == pytest.approx(400 / 800_000, rel=0.3)
        assert (row["estimate"], row["rating"]) == (common / 400, word)


def test_dates_and_amounts_are_seldom_taken_for_copies() -> None:
    alarms = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        numbers = rng.integers(1_000, 9_999, 800)
        cases = [f"{'ABC'[i % 3]}-{number}" for i, number in enumerate(numbers)]
        days = pd.Timestamp(1930, 1, 1) + pd.to_timedelta(
            rng.integers(0, 70 * 365, 800), unit="D"
        )
        dates = days.strftime("%Y-%m-%d").to_numpy()
        incomes = np.exp(rng.normal(10, 0.7, 800)).round()
        for values in (dates, incomes, cases):
            alarms += [word == "found" for _, word in found(values[:400], values[400:])]
    assert len(alarms) > 40
    assert np.mean(alarms) <= 0.05


def test_what_differs_for_few_or_stands_in_one_file_is_not_compared() -> None:
    towns = pd.Series(["north", "south"] * 20)
    assert found(towns, towns) == []
    assert found([], towns) == []
    assert found([None, ""] * 20, towns) == []
    assert common_identifiers({"id": pd.Series(range(9))}, {"name": towns}) == []
    assert found(["a", "b", None, "NA"] * 10, ["", "NA"] * 9) == []
    assert found([f"x{i}y{i**2}" for i in range(40)], ["", "NA"] * 9) == [
        (0, "no sign")
    ]
