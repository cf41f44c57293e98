"""What two intruders find: one who knows the keys, and one who knows all others."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import table
from enumeration import exact_log_risk, schema
from numpy.random import default_rng
from numpy.testing import assert_allclose

from srlib.assessment import exact, verdict
from srlib.assessment.exact import exact_rows, read_synthesizer
from srlib.assessment.files import Files
from srlib.assessment.membership import membership_row
from srlib.data.acs import embedded_population
from srlib.data.codes import distinct
from srlib.data.schema import Microdata
from srlib.dpmpm import Chains, Prior
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.risk import DrawSets, membership_test, posterior_risk
from srlib.trees import AS_RPART, UNPRUNED, SequentialTrees

N = 600
POPULATION = embedded_population(4 * N, rng=default_rng(3))
SCHEMA = POPULATION.schema
LEVELS = SCHEMA.n_levels.tolist()
ORIGINAL, OTHERS, HOLDOUT, FRESH = (
    Microdata(codes, SCHEMA) for codes in np.split(POPULATION.codes, 4)
)
MARGINS = PlugInMargins(SCHEMA.n_levels)


def by_question(rows):
    return pd.DataFrame(rows).set_index("question")


def first_column(original, released, holdout, rng):
    """The row of an intruder who has the release."""
    return membership_row([Files(original, released, LEVELS, holdout)], rng)


def second_column(released, synthesizer, rng):
    """The rows of an intruder who also knows the synthesizer and all others."""
    rows, _ = exact_rows(ORIGINAL, [released], HOLDOUT, synthesizer, rng=rng)
    return by_question(rows)


def test_other_people_are_found_as_often_as_by_chance():
    rng = default_rng(5)
    excess = []
    for _ in range(30):
        people = POPULATION.codes[rng.permutation(4 * N)]
        original, released, holdout, _ = np.split(people, 4)
        row = first_column(original, released, holdout, rng)
        excess.append(row["estimate"] - row["baseline"])
    error = np.std(excess, ddof=1) / np.sqrt(len(excess))
    assert abs(np.mean(excess)) < 3 * error


def test_with_too_few_other_people_membership_is_not_rated():
    row = first_column(
        ORIGINAL.codes,
        FRESH.codes,
        HOLDOUT.codes[:100],
        default_rng(1),
    )
    assert row["rating"] == "too few people"
    assert np.isnan(row["estimate"])


@pytest.mark.parametrize(
    "synthesizer",
    [
        SequentialTrees(SCHEMA, growth=AS_RPART),
        MARGINS,
    ],
    ids=["rpart", "margins"],
)
def test_no_attack_finds_more_than_the_most_powerful_test(synthesizer):
    rng = default_rng(2)
    released = synthesizer.release(ORIGINAL.codes, rng=rng)

    attack = first_column(ORIGINAL.codes, released, HOLDOUT.codes, rng)
    best = second_column(released, synthesizer, rng).loc["exact membership"]

    error = np.hypot(attack["se"], best["se"])
    assert best["estimate"] > attack["estimate"] - 4 * error


def test_private_margins_keep_the_bound_on_the_power():
    synthesizer = LaplaceMargins(SCHEMA.n_levels, epsilon=1.0)
    rng = default_rng(6)
    released = synthesizer.release(ORIGINAL.codes, rng=rng)
    row = second_column(released, synthesizer, rng).loc["exact membership"]
    assert row["estimate"] < np.exp(1) * exact.RATE + 4 * row["se"]


def test_without_a_holdout_the_posterior_of_sample_uniques_is_computed():
    rng = default_rng(7)
    released = MARGINS.release(ORIGINAL.codes, rng=rng)

    rows, risks = exact_rows(ORIGINAL, [released], None, MARGINS, rng=rng)

    made = Microdata(released, SCHEMA)
    of_all = posterior_risk(ORIGINAL, made, synthesizer=MARGINS).probability
    _, repetitions, _ = distinct(ORIGINAL.codes)
    assert (repetitions[risks.index] == 1).all()
    assert_allclose(risks["probability"], of_all[risks.index])
    assert tuple(by_question(rows).index) == exact.POSTERIOR_ROWS


def test_membership_by_draws_of_the_mixture_is_that_of_the_exact_likelihood():
    n_levels = [2, 3]
    small = schema(*n_levels)
    data = table("00", "01", "12", "12")
    released = table("00", "12", "01")
    people = table("02", "10", "11")
    chains = Chains(
        n_classes=2,
        burn_in=100,
        n_draws=4_000,
        n_chains=6,
    )
    sets = DrawSets.fit(data, [released], small.n_levels, chains, rng=default_rng(1))

    test = membership_test(
        Microdata(data, small),
        [Microdata(released, small)],
        Microdata(people, small),
        draws=sets,
        rows=[1],
        n_holdout=3,
    )

    support = table("01", "02", "10", "11")
    log_prob = exact_log_risk(data, 1, support, [released], n_levels, 2, Prior())
    ratio = log_prob[0] - np.log(np.mean(np.exp(log_prob[1:])))
    assert_allclose(test.statistic[0, 0], ratio, atol=0.03)


def test_the_error_of_a_power_includes_that_of_the_chains():
    columns = [0, 2, 3, 4, 5, 6]
    small = schema(*SCHEMA.n_levels[columns])
    data, released, people = np.split(POPULATION.codes[:300, columns], 3)
    released = np.concatenate([data[:30], released[30:]])
    original, made, holdout = (
        Microdata(codes, small) for codes in (data, released, people)
    )
    chains = Chains(n_classes=4, burn_in=50, n_draws=20, n_chains=6)
    powers = []
    variances = []
    for seed in range(20):
        sets = DrawSets.fit(
            data, [released], small.n_levels, chains, rng=default_rng(seed)
        )
        test = membership_test(original, [made], holdout, draws=sets)
        given, of_people = (
            one.power([0.2], rng=default_rng(1)).iloc[0]
            for one in (test, replace(test, without_one_chain=()))
        )
        powers.append(given["power"])
        variances.append(given["power_se"] ** 2 - of_people["power_se"] ** 2)
    between = np.var(powers, ddof=1)
    assert 0 < between < 2 * np.mean(variances) < 12 * between


def test_a_release_that_the_synthesizer_cannot_have_made_is_said_so():
    unpruned = SequentialTrees(SCHEMA, growth=UNPRUNED)
    rows = second_column(FRESH.codes, unpruned, default_rng(1))
    assert "exact membership" in rows.index  # where a limit then fails
    assert (rows["rating"] == "impossible").all()
    assert rows.loc["exact posterior", "detail"] == exact.IMPOSSIBLE


@pytest.mark.parametrize(
    ("share", "fails"),
    [
        (0.15, True),
        (0.1, False),
        (np.nan, True),
    ],
)
def test_a_limit_fails_above_it_and_where_nothing_was_computed(share, fails):
    row = {
        "release": "made",
        "question": "exact posterior above one half",
        "estimate": share,
        "rating": "",
    }
    failures = verdict.failures([], pd.DataFrame([row]), [("attribute", 0.1)])
    assert bool(failures) == fails


@pytest.mark.parametrize(
    ("n_above", "rating"),
    [
        (17, "not elevated"),
        (19, "elevated"),
    ],
)
def test_one_half_for_one_in_twenty_is_elevated_beyond_chance(n_above, rating):
    probability = np.repeat([0.9, 0.1], [n_above, 200 - n_above])
    risk: Any = SimpleNamespace(support_size=35, probability=probability)
    _, row = exact._posterior_rows(risk, "")
    assert row["rating"] == rating


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "cart": "synthesizer is 'cart'; it must be rpart or trees",
        "rpart:leaf=5": "synthesizer is 'rpart:leaf=5'; it must be rpart",
        "dpmpm:classes=5": "synthesizer is 'dpmpm:classes=5'",
        "rpart:min_leaf=0": "min_leaf is 0; it must be 1 or more",
        "trees:min_leaf=many": "min_leaf is 'many'; it must be a whole number",
        "trees:order=SEX/AGEP": "it must name each of SEX, AGEP",
        "margins:epsilon=0": "epsilon is 0; it must be positive",
    }.items(),
)
def test_a_wrong_synthesizer_is_refused_with_what_would_be_right(text, message):
    with pytest.raises(ValueError, match=message):
        read_synthesizer(text)(SCHEMA)


def test_settings_of_a_synthesizer_are_read():
    order = list(SCHEMA.names[::-1])
    growth = replace(AS_RPART, min_leaf=20, cp=0.01)
    text = f"rpart:min_leaf=20,cp=.01,order={'/'.join(order)}"
    assert read_synthesizer(text)(SCHEMA) == SequentialTrees(SCHEMA, order, growth)
