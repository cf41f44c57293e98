"""Identifiers: common values of the columns that are left out of both files.

Names and ID numbers say nothing about the population, so a release must not contain any
of the original's. One common value is enough, unless common values arise by chance:
record numbers run from 1 in both files, and amounts can be equal.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy  # loads stats, which take a second, where they are first asked for

from srlib.arrays import Floats
from srlib.assessment.counts import Row, new_row
from srlib.checks import printable
from srlib.data.codes import MISSING_TEXTS, factorize_texts, strip_zeros

DIFFERENT = 0.95  # least share of distinct values of an identifier
BY_CHANCE = 0.01  # common values at least this probable are a coincidence


def common_identifiers(
    original: Mapping[str, pd.Series], released: Mapping[str, pd.Series]
) -> list[Row]:
    """Return the shares of common values of columns that both tables leave out.

    Returns
    -------
    list of Row
        A row for each column with nearly as many values as original records: the share
        of released records with a value of the original, and the share expected by
        chance. The rating is "found" if chance is an improbable explanation, else "no
        sign". There is no row where chance could make all values common, as with
        consecutive numbers.
    """
    rows = []
    for name, column in original.items():
        values = _present(column)
        is_identifier = values.nunique() >= DIFFERENT * len(values) > 0
        if name not in released or not is_identifier:
            continue
        others = _present(released[name])
        common = others.isin(values).sum()
        expected = _expected(values, others)
        n = len(others)
        if _tail(n, values, others, expected) >= BY_CHANCE:
            continue  # even if all values were common
        row = new_row(
            "identifiers",
            n,
            variables=name,
            estimate=common / n,
            baseline=expected / n,
            baseline_kind="chance",
            rating="no sign",
            in_verdict=True,
        )
        if _tail(common, values, others, expected) < BY_CHANCE:
            row["rating"] = "found"
            row["why"] = (
                f"it contains {common:,} of the original's values of {printable(name)}"
            )
        rows.append(row)
    return rows


def _tail(
    common: int,
    values: pd.Series,
    others: pd.Series,
    expected: float,
) -> float:
    """Return the probability of as many common values, or more, by chance."""
    by_chance = scipy.stats.poisson.sf(common - 1, expected)
    equal_pairs = _pairs(values.value_counts()).sum()
    if not equal_pairs:
        return by_chance
    # With few equal pairs the expected number is itself uncertain.
    ratio = len(values) * len(others) / _pairs(len(values))
    by_pairs = scipy.stats.nbinom.sf(common - 1, equal_pairs + 1, 1 / (1 + ratio))
    return max(by_chance, by_pairs)


def _present(column: pd.Series) -> pd.Series:
    """Return the texts of a column without missing values."""
    ids, texts = factorize_texts(column)
    plain = [strip_zeros(text.casefold()) for text in texts]
    values = pd.Series(np.array([*plain, ""], object)[ids])
    missing = [text.casefold() for text in MISSING_TEXTS]
    return values[~values.isin(missing)]


def _expected(values: pd.Series, others: pd.Series) -> float:
    """Return the number of common values expected from duplicates in the original.

    For texts of one pattern with numbers in it, the number is estimated from close
    numbers, each position by itself.
    """
    n = len(values)
    probability = _pairs(values.value_counts()).sum() / max(_pairs(n), 1)
    patterns = pd.concat([values, others]).str.replace(r"\d+", "0", regex=True)
    numbers = values.str.findall(r"\d+")
    if patterns.nunique() == 1 and len(numbers.iloc[0]):
        positions = np.array(numbers.tolist(), float).T
        by_position = np.prod([_equal(position) for position in positions])
        probability = max(probability, by_position)
    return min(len(others), n * len(others) * probability)


def _pairs(n: Any) -> Any:
    return n * (n - 1) / 2


def _equal(numbers: Floats) -> float:
    """Return the probability that two integers are equal, from close ones."""
    numbers = np.sort(numbers)
    near = max(np.ptp(numbers) // 100, 1)
    first_above = np.searchsorted(numbers, numbers, side="right")
    last_near = np.searchsorted(numbers, numbers + near, side="right")
    close = (last_near - first_above).sum()
    return close / max(_pairs(len(numbers)), 1) / (2 * near)
