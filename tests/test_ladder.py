"""Releases of known kinds: their risks and the verdict on them."""

import json

import numpy as np
import pandas as pd
import pytest
from cases import (
    FILE,
    KEYS,
    LEVELS,
    SCHEMA,
    cases,
    copula,
    drawn,
    find_copies,
    is_unique,
    margins,
    numbers_to_freeze,
    risk_rows,
    samples,
    verdict_by_risks,
)
from ladder import LADDER
from numpy.random import default_rng

from srlib.assessment import card, ratings, utility

COPIED = {
    "copy": 1.0,
    "bootstrap": 1 - np.exp(-1),
    "half copied": 0.5,
    "tenth copied": 0.1,
}
DISCLOSING = {*COPIED, "trees, leaf 1", "trees, leaf 5"}
KEYS_OF_TARGET = {
    "DIS": KEYS,
    "SEX": SCHEMA.names,
}
# Of 500 records 50 copies may go undetected, and then the release cannot be judged;
# the same can be said of a release without copies.
ALSO_AT_500 = {
    "tenth copied": ["undecided", "review"],
    "trees, leaf 5": ["undecided", "review"],
    "mixture": ["undecided"],
    "half of one table": ["undecided"],
}


def test_risks_of_known_releases_stay_as_they_are():
    """Shares, errors, z and verdicts of all cases with 500 records."""
    frozen = json.loads(FILE.read_text(encoding="utf-8"))
    assert len(frozen) == 112 + 60
    assert {row["verdict"] for row in frozen.values()} == {
        "no sign of disclosure",
        "undecided",
        "review",
        "do not release",
    }
    for name, original, released in cases(largest=500):
        row = numbers_to_freeze(original, released)
        assert row.pop("verdict") == frozen[name].pop("verdict"), name
        for question, expected in frozen[name].items():
            np.testing.assert_allclose(row[question], expected, rtol=1e-9, atol=1e-12)
            assert row[question][:2] == pytest.approx(expected[:2], abs=1e-12)


@pytest.mark.parametrize(
    ("n", "n_pairs"),
    [
        (500, 20),
        (10_000, 5),
    ],
)
def test_the_verdict_is_right_on_every_rung(monkeypatch, n, n_pairs):
    """Few keys and a skewed target (nine in ten have a level); many and an even one."""
    # Fewer pairs of trees suffice for many records.
    monkeypatch.setattr("srlib.assessment.inference.PAIRS", n_pairs)
    for name, original, released in drawn(n, 0, LADDER):
        copied = find_copies(original, released)
        if name in COPIED:
            row = copied.rows["copied uniques"]
            tolerance = 5 * row["se"] + 0.05
            assert row["estimate"] == pytest.approx(COPIED[name], abs=tolerance)
        assert copied.same_table == (name == "copy")
        allowed = ["do not release" if name in DISCLOSING else "no sign of disclosure"]
        if n == 500:
            allowed += ALSO_AT_500.get(name, [])
        for target, keys in KEYS_OF_TARGET.items():
            risks = risk_rows(original, released, target, keys, with_inference=True)
            assert verdict_by_risks(copied, risks) in allowed, (name, target)


def test_independent_margins_are_never_as_good_as_a_mixture():
    names = ("mixture", "independent margins", "noisy margins")
    kinds = {name: LADDER[name] for name in names}
    loss = {}
    for name, original, released in drawn(2_000, 0, kinds):
        rows = utility.utility_rows(SCHEMA, original, [released])
        row = card.worst_utility(pd.DataFrame(rows))
        loss[name] = row["estimate"] - row["baseline"]
        if row["rating"] == "like a fresh sample":
            loss[name] = 0.0
        if name.endswith("margins"):
            assert row["rating"] in ("limited", "poor")
    assert loss["independent margins"] > 2 * loss["mixture"]


def test_fresh_samples_raise_an_alarm_in_at_most_one_of_twenty_cases():
    """By all questions together; and z of inference has a spread of one at most."""
    rng = default_rng(500)
    verdicts = []
    z = []
    for i, n in enumerate([500] * 18 + [2_000] * 2):
        original, released = samples(rng, n, n)
        copied = find_copies(original, released)
        target = ("DIS", "SEX", "MAR", "HICOV")[i % 4]
        for keys in (KEYS, SCHEMA.names):
            risks = risk_rows(original, released, target, keys, with_inference=True)
            verdicts.append(verdict_by_risks(copied, risks))
            z.append(risks["inference"]["z"])
    assert np.isin(verdicts, ["review", "do not release"]).mean() <= 0.05
    assert np.std(z) <= 1.3
    assert sum(np.array(z) > ratings.Z_SIGNIFICANT) <= 1


@pytest.mark.parametrize(
    ("columns", "n_more", "has_ages"),
    [
        (range(5), 0, False),  # hardly anybody is unique
        (range(11), 0, False),
        (range(14), 4, False),  # everybody is unique
        ([0, 1, 3, 4, 9], 0, True),  # an age in years behind the second variable
    ],
)
def test_fresh_samples_are_seldom_undecided(columns, n_more, has_ages):
    rng = default_rng(23)
    levels = [LEVELS[k] for k in columns] + [9] * n_more
    found = []
    for _ in range(20):
        tables = []
        for codes in samples(rng, 1_000, 1_000):
            more = rng.integers(0, 9, (1_000, n_more))
            tables.append(np.hstack([codes[:, columns], more]))
        numbers = {}
        if has_ages:
            youngest = [18.0 + 18 * codes[:, 1] for codes in tables]
            numbers = {1: [age + rng.integers(0, 18, 1_000) for age in youngest]}
        original, released = tables
        copied = find_copies(original, released, levels, numbers=numbers)
        found.append(ratings.rate_copies(copied).rating)
    assert found.count("undecided") <= 3
    assert "found" not in found


def test_undetected_copies_are_bounded():
    """Beside any records, where a fresh sample matches a third of the uniques."""
    rng = default_rng(24)
    is_below = []
    for n, share in ((300, 0.05), (1_000, 0.05), (1_000, 0.15)) * 4:
        for make in (margins, copula, lambda x, rng: samples(rng, len(x))[0]):
            (x,) = samples(rng, n)
            z = make(x, rng)
            chosen = rng.permutation(n)[: round(share * n)]
            z[: len(chosen)] = x[chosen]
            unique = is_unique(x)
            row = find_copies(x, rng.permutation(z)).rows["undetected copies"]
            copied_share = unique[chosen].sum() / unique.sum()
            is_below.append(row["estimate"] < copied_share)
            assert row["n"] == unique.sum()
    assert np.mean(is_below) <= 0.05
