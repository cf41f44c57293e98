"""An intruder with a model: against exact marginal likelihoods of tiny models."""

from dataclasses import replace

import numpy as np
import pytest
from cases import table
from enumeration import exact_log_risk, log_marginal_likelihood
from numpy.random import default_rng

from srlib import dpmpm
from srlib.assessment.ratings import Z_SIGNIFICANT, model_rows
from srlib.data.codes import distinct
from srlib.diagnostics import MAX_R_HAT
from srlib.mechanism.bayes import posterior
from srlib.risk.draw_sets import DrawSets
from srlib.risk.model_intruder import model_risks

TARGET = 1
N_LEVELS = np.array([2, 3])
DATA = table("00", "01", "12", "12")
RELEASES = [table("00", "12", "01"), table("02")]
CHAINS = dpmpm.Chains(
    n_classes=2,
    burn_in=100,
    n_draws=500,
    n_chains=6,
)
MODEL = [2, 3], 2, dpmpm.Prior()


def assess_model(chains, rng):
    """Rows by question without their prefix, whether chains agree, and the risks."""
    measures, agree, risks = model_risks(
        DATA, RELEASES, N_LEVELS, TARGET, chains=chains, rng=rng
    )
    rows = model_rows(measures.to_dict("records"), agree, len(DATA))
    by_question = {}
    for row in rows:
        question = row["question"].removeprefix("model: ")
        by_question[question] = row
    return by_question, agree, risks


def exact_risks(i):
    """Log prior and posterior of a person's target, and log posterior of the record."""
    key, target = DATA[i]
    others = np.delete(DATA, i, axis=0)
    # The true record, other values of the target, and another value of the key.
    wrong_targets = [(key, value) for value in range(3) if value != target]
    wrong_key = 1 - key, target
    support = np.array([DATA[i], *wrong_targets, wrong_key])
    log_prior = []
    for record in support[:3]:
        data = np.vstack([others, record])
        log_prior.append(log_marginal_likelihood(data, *MODEL))
    log_risk = exact_log_risk(DATA, i, support, RELEASES, *MODEL)
    target_prior = posterior(np.array(log_prior))
    target_posterior = posterior(log_prior + log_risk[:3])
    return target_prior[0], target_posterior[0], log_risk[0]


def test_risks_of_target_and_record_by_enumeration(rng):
    exact = [exact_risks(i) for i in range(3)]
    prior, target, record = np.exp(exact).T
    people = np.array([1, 1, 2]) / 4

    rows, _, risks = assess_model(CHAINS, rng)

    error = np.log(risks["probability"] / record).abs()
    assert (error < 5 * risks["log_mcse"]).all()
    assert risks["log_mcse"].max() < 0.1
    assert risks["target_prior"].tolist() == pytest.approx(prior, abs=0.02)
    assert risks["target_probability"].tolist() == pytest.approx(target, abs=0.02)
    expected = {
        "whole record": (people @ record, 1 / 4),
        "target": (people @ target, people @ prior),
        "belief": (people @ (prior / target), 1.0),
    }
    for question, (estimate, baseline) in expected.items():
        row = rows[question]
        assert abs(row["estimate"] - estimate) < 5 * row["se"] < 1
        assert abs(row["baseline"] - baseline) <= 5 * row["baseline_se"]
    belief = rows["belief"]
    is_refuted = abs(belief["z"]) > Z_SIGNIFICANT
    assert is_refuted == (belief["rating"] != "not refuted")
    assert rows["chains"]["rating"] == "agree"


@pytest.mark.parametrize(
    ("seed", "agree"),
    [
        (0, False),
        (1, True),
    ],
)
def test_a_gain_has_its_own_error_and_all_sets_of_chains_must_agree(seed, agree):
    """By leaving out one chain of a set at a time; the first seed has a set apart."""
    chains = replace(CHAINS, n_draws=200, n_chains=3)
    rows, chains_agree, _ = assess_model(chains, default_rng(seed))
    rng = default_rng(seed)
    draws = DrawSets.fit(DATA, RELEASES, N_LEVELS, chains, rng=rng)
    combinations, repetitions, _ = distinct(DATA)
    likelihood = draws.likelihood(combinations)
    # Of the target's values, the true one first: (n_sets, n_chains, n_combinations,
    # n_values).
    sets = np.exp(likelihood.sets)[..., [0, 2, 3]]

    def share_of_truth(odds):
        return odds[:, 0] / odds.sum(axis=1)

    def gain(means):
        before, *after = means
        odds = after[0] * after[1] / before
        gains = share_of_truth(odds) - share_of_truth(before)
        return repetitions @ gains / len(DATA)

    means = sets.mean(axis=1)
    expected = gain(means)
    variance = 0.0
    for k in range(3):
        gains = []
        for chain in range(3):
            without = means.copy()
            other_chains = np.arange(3) != chain
            without[k] = sets[k][other_chains].mean(axis=0)
            gains.append(gain(without))
        variance += 2 * np.var(gains)
    target = rows["target"]
    difference = target["estimate"] - target["baseline"]
    z = expected / np.sqrt(variance)
    assert difference == pytest.approx(expected)
    assert target["z"] == pytest.approx(z)
    is_apart = (np.stack(likelihood.r_hat) > MAX_R_HAT).any(axis=1)
    assert chains_agree == agree
    assert is_apart.sum() == 1 - agree
    is_unreliable = [row["rating"] == "unreliable" for row in rows.values()]
    assert all(is_unreliable) != agree
