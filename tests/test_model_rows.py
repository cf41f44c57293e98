"""An intruder with a model: against exact marginal likelihoods of tiny models."""

from dataclasses import replace

import numpy as np
import pytest
from enumeration import exact_log_risk, log_marginal_likelihood

from srlib import dpmpm
from srlib.assessment.ratings import Z_SIGNIFICANT, model_rows
from srlib.data.codes import distinct
from srlib.diagnostics import MAX_R_HAT
from srlib.mechanism.bayes import posterior
from srlib.risk.draw_sets import DrawSets
from srlib.risk.model_intruder import model_risks

TARGET, N_LEVELS = 1, np.array([2, 3])
DATA = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
RELEASES = [np.array([(0, 0), (1, 2), (0, 1)], np.uint8), np.array([(0, 2)], np.uint8)]
CHAINS = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=500, n_chains=6)
MODEL = [2, 3], 2, dpmpm.Prior()


def test_risks_of_target_and_record_by_enumeration(rng: np.random.Generator) -> None:
    learned, agree, risks = model_risks(
        DATA, RELEASES, N_LEVELS, TARGET, chains=CHAINS, rng=rng
    )
    exact = []
    for i, x in enumerate(DATA[:3]):
        # The target's values, the own one first, and the other value of the key.
        support = np.array(
            [x, *((x[0], t) for t in range(3) if t != x[1]), (1 - x[0], x[1])]
        )
        told = exact_log_risk(DATA, i, support, RELEASES, *MODEL)
        tables = [
            np.vstack([np.delete(DATA, i, axis=0), other]) for other in support[:3]
        ]
        alone = np.array([log_marginal_likelihood(codes, *MODEL) for codes in tables])
        exact.append(
            np.exp([posterior(alone)[0], posterior(alone + told[:3])[0], told[0]])
        )
        row = risks.iloc[i]
        assert abs(np.log(row["probability"]) - told[0]) < 5 * row["log_mcse"] < 0.5
    before, after, of_record = np.transpose(exact)
    assert risks["target_prior"].tolist() == pytest.approx(before, abs=0.02)
    assert risks["target_probability"].tolist() == pytest.approx(after, abs=0.02)
    answers = model_rows(learned.to_dict("records"), agree, 4)
    rows = {row["question"].removeprefix("model: "): row for row in answers}
    people = np.array([1, 1, 2]) / 4
    for question, value, baseline in (
        ("whole record", people @ of_record, 1 / 4),
        ("target", people @ after, people @ before),
        ("belief", people @ (before / after), 1.0),
    ):
        row = rows[question]
        assert abs(row["estimate"] - value) < 5 * row["se"] < 1
        assert abs(row["baseline"] - baseline) <= 5 * row["baseline_se"]
    assert (rows["belief"]["rating"] == "not refuted") == (
        abs(rows["belief"]["z"]) <= Z_SIGNIFICANT
    )
    assert rows["chains"]["rating"] == "agree"


@pytest.mark.parametrize(("seed", "agree"), [(0, False), (1, True)])
def test_a_difference_has_its_own_error_and_all_sets_of_chains_must_agree(
    seed: int, agree: bool
) -> None:
    """By leaving out one chain of one set at a time; with the first seed one set is apart."""
    chains = replace(CHAINS, n_draws=200, n_chains=3)
    streams = [np.random.default_rng(seed) for _ in range(2)]
    learned, agreed, _ = model_risks(
        DATA, RELEASES, N_LEVELS, TARGET, chains=chains, rng=streams[0]
    )
    draws = DrawSets.fit(DATA, RELEASES, N_LEVELS, chains, rng=streams[1])
    combinations, repetitions, _ = distinct(DATA)
    likelihood = draws.likelihood(combinations)
    # Of the target's values, the true one first: (n_sets, n_chains, n_combinations,
    # n_values).
    sets = np.exp(likelihood.sets)[..., [0, 2, 3]]

    def gain(means: np.ndarray) -> float:
        before = means[0] / means[0].sum(axis=1, keepdims=True)
        odds = means[1] * means[2] / means[0]
        after = odds / odds.sum(axis=1, keepdims=True)
        return repetitions @ (after - before)[:, 0] / len(DATA)

    variance = 0.0
    for at in range(3):
        left_out = []
        for chain in range(3):
            means = sets.mean(axis=1)
            means[at] = np.delete(sets[at], chain, axis=0).mean(axis=0)
            left_out.append(gain(means))
        variance += 2 * np.var(left_out)
    answers = model_rows(learned.to_dict("records"), agreed, 4)
    target = answers[1]
    assert target["estimate"] - target["baseline"] == pytest.approx(
        gain(sets.mean(axis=1))
    )
    assert target["z"] == pytest.approx(gain(sets.mean(axis=1)) / np.sqrt(variance))
    n_apart = (likelihood.r_hat > MAX_R_HAT).any(axis=1).sum()
    assert (agreed, n_apart) == (agree, 0 if agree else 1)
    unreliable = {row["rating"] for row in answers} == {"unreliable"}
    assert unreliable != agree
