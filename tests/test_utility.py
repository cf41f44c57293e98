"""What a release is good for: by hand, against statsmodels, and beside random divisions."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from srlib.assessment import utility
from srlib.data.codes import Codes
from srlib.data.schema import Schema, Variable
from srlib.margins import total_variation, utility_loss

SIZES = [2, 3, 4]
SMALL = Schema(
    tuple(Variable(n, tuple("wxyz"[:k])) for n, k in zip("abc", SIZES, strict=True))
)


def population(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Dependent variables, each level in a fair share of the records."""
    a = rng.integers(0, 2, n)
    b = (a + rng.integers(0, 2, n)) % 3
    return np.column_stack([a, b, (b + rng.integers(0, 3, n)) % 4])


def rows(original: Codes, *released: Codes) -> pd.DataFrame:
    return pd.DataFrame(utility.utility_rows(SMALL, original, released)).set_index(
        "question"
    )


def test_distances_by_hand() -> None:
    original = np.array([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 0)])
    one, other = np.array([(0, 0, 0), (1, 0, 0)]), original[::-1]
    found = rows(original, one)
    # Shares of b = 0 are 1/4 and 1; those of the cells 1/4, 1/4, 0, 1/2 and 1/2, 0,
    # 1/2, 0.
    assert found.loc["one-way tables", ["estimate", "variables"]].tolist() == [
        3 / 4,
        "b",
    ]
    assert found.loc["two-way tables", "estimate"] == 3 / 4
    both = rows(original, one, other)
    assert both.loc["one-way tables", ["estimate", "se"]].tolist() == pytest.approx(
        [3 / 8, 3 / 8]
    )
    constant = rows(*(np.zeros((n, 3), int) for n in (10, 4)))
    assert np.isnan(constant.loc["distinguishability", "estimate"])
    same = rows(original, other).loc[["one-way tables", "two-way tables"]]
    assert (same["estimate"].tolist(), set(same["rating"])) == (
        [0, 0],
        {"like a fresh sample"},
    )


@pytest.mark.parametrize(
    ("n_variables", "rating"), [(2, "limited"), (40, "like a fresh sample")]
)
def test_the_largest_of_many_distances_is_held_to_a_stricter_limit(n_variables, rating):
    schema = Schema(tuple(Variable(f"v{k}", ("no", "yes")) for k in range(n_variables)))
    original, released = np.zeros((2, 500, n_variables), int)
    original[:250, 0] = released[:325, 0] = 1
    found = pd.DataFrame(utility.utility_rows(schema, original, [released])).set_index(
        "question"
    )
    assert found.loc["one-way tables", "rating"] == rating


def test_distances_of_records_divided_at_random_by_enumeration() -> None:
    """All ways to choose the original's four of seven records, of two cells and of three."""
    for records in ([0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 2, 2]):
        distances = []
        for chosen in combinations(range(7), 4):
            at = np.isin(np.arange(7), chosen)
            original, released = (
                np.array(records)[part][:, None] for part in (at, ~at)
            )
            value, fresh, spread = total_variation(original, released, [3], 0, 0)
            distances.append(value)
        assert fresh == pytest.approx(np.mean(distances))
        # With three cells the distances in them are not one another's; their spread is
        # near.
        near = 1e-9 if len(set(records)) == 2 else 0.2
        assert spread == pytest.approx(np.std(distances), rel=near)


def test_distances_of_many_records_have_the_spread_of_few(
    rng: np.random.Generator,
) -> None:
    one, other = rng.integers(0, 4, (2, 1_000_000, 1))
    _, fresh, spread = total_variation(one, other, [4], 0, 0)
    _, of_few, spread_of_few = total_variation(one[:10_000], other[:10_000], [4], 0, 0)
    assert 10 * fresh == pytest.approx(of_few, rel=0.02)
    assert 10 * spread == pytest.approx(spread_of_few, rel=0.02)


def test_a_release_that_is_a_sample_is_off_as_one(rng: np.random.Generator) -> None:
    drawn = [rng.choice(3, (2_000, 4), p=[0.5, 0.3, 0.2]) for _ in range(21)]
    ratio, error = utility_loss(drawn[0], drawn[1:], [3] * 4)
    # The original is the same for all releases, so that its part of the difference is,
    # too.
    assert ratio == pytest.approx(1, abs=0.25)
    assert 0 < error < 0.1
    assert utility_loss(drawn[0], [drawn[0]] * 2, [3] * 4)[0] == 0
    for released in (drawn[1:2], [drawn[1], drawn[2][:-1]]):
        with pytest.raises(ValueError, match="it must have two or more of both"):
            utility_loss(drawn[0], released, [3] * 4)


def test_differences_between_samples_by_enumeration() -> None:
    """Two binomial counts in each of four cells, of which one has most of the records."""
    n, cells = 200, np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    counts = np.array([(170, 14, 10, 6), (180, 10, 6, 4), (160, 20, 12, 8)])
    original, *released = (np.repeat(cells, each, axis=0) for each in counts)
    possible = np.arange(n + 1)
    apart = np.abs(possible[:, None] - possible)
    laws = [stats.binom.pmf(possible, n, p) for p in counts.mean(axis=0) / n]
    expected = np.mean([law @ apart @ law for law in laws])
    differences = np.abs(counts[1:] - counts[0]).mean()
    ratio, _ = utility_loss(original, released, [2, 2])
    assert ratio == pytest.approx(differences / expected, rel=0.02)


@pytest.mark.parametrize("pairs", [False, True])
def test_told_apart_against_statsmodels(
    monkeypatch: pytest.MonkeyPatch, pairs: bool
) -> None:
    rng = np.random.default_rng(1)
    zeros = np.zeros((60, 3), int)
    original = np.concatenate([rng.integers(0, SIZES, (200, 3)), zeros])
    released = np.concatenate([rng.integers(0, SIZES, (150, 3)), zeros])
    monkeypatch.setattr(utility, "MOST_PRODUCTS", 4e9 if pairs else 24 * 7**2)
    found = rows(original, released)
    # Indicators of all levels but the first and, where asked, their products.
    codes = np.concatenate([original, released])
    single = [(k, codes[:, k] == code) for k in range(3) for code in range(1, SIZES[k])]
    columns = [column for _, column in single]
    if pairs:
        columns += [x * y for (i, x), (j, y) in combinations(single, 2) if i != j]
    x = sm.add_constant(np.column_stack(columns).astype(float))
    event, c = np.arange(470) >= 260, 210 / 470
    fit = sm.OLS(event.astype(float), x).fit()
    apart = found.loc["distinguishability", ["estimate", "baseline"]].tolist()
    assert apart == pytest.approx([fit.rsquared, fit.df_model / 469])
    # The pMSE of logistic regression is much the same.
    pmse = np.mean(
        (sm.GLM(event, x, family=sm.families.Binomial()).fit().fittedvalues - c) ** 2
    )
    assert apart[0] == pytest.approx(pmse / (c * (1 - c)), rel=0.05)


@pytest.mark.parametrize(("n", "m", "products"), [(300, 600, 4e9), (900, 700, 600)])
def test_fresh_samples_lie_where_they_are_expected(monkeypatch, n, m, products):
    """Of both files or, where time is short, of a part of their records."""
    rng, repetitions = np.random.default_rng(8), 60
    monkeypatch.setattr(utility, "MOST_PRODUCTS", products)
    found = [rows(population(n, rng), population(m, rng)) for _ in range(repetitions)]
    z = pd.DataFrame([each["z"] for each in found])
    error = 5 / np.sqrt(repetitions)
    assert abs(z["distinguishability"].mean()) < error
    assert z["distinguishability"].std() == pytest.approx(1, abs=error)
    words = pd.DataFrame([each["rating"] for each in found])[[*utility.LOSSES]]
    assert (words != "like a fresh sample").any(axis=1).mean() <= 0.1
