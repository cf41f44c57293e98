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

TARGET = 1
N_LEVELS = np.array([2, 3])
DATA = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
RELEASES = [np.array([(0, 0), (1, 2), (0, 1)], np.uint8), np.array([(0, 2)], np.uint8)]
CHAINS = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=500, n_chains=6)
MODEL = [2, 3], 2, dpmpm.Prior()


def test_risks_of_target_and_record_by_enumeration(rng: np.random.Generator) -> None:
    learned, agree, risks = model_risks(
        DATA, RELEASES, N_LEVELS, TARGET, chains=CHAINS, rng=rng
    )

    exact = []
    for i, (key, target) in enumerate(DATA[:3]):
        # The target's values, the own one first, and the other value of the key.
        values = [target, *(t for t in range(3) if t != target)]
        support = np.array([*((key, t) for t in values), (1 - key, target)])
        of_record = exact_log_risk(DATA, i, support, RELEASES, *MODEL)
        others = np.delete(DATA, i, axis=0)
        prior = np.array(
            [
                log_marginal_likelihood(np.vstack([others, x]), *MODEL)
                for x in support[:3]
            ]
        )
        after = posterior(prior + of_record[:3])
        exact.append(np.exp([posterior(prior)[0], after[0], of_record[0]]))
        row = risks.iloc[i]
        error = abs(np.log(row["probability"]) - of_record[0])
        assert error < 5 * row["log_mcse"] < 0.5
    before, after, of_record = np.transpose(exact)
    assert risks["target_prior"].tolist() == pytest.approx(before, abs=0.02)
    assert risks["target_probability"].tolist() == pytest.approx(after, abs=0.02)

    answers = model_rows(learned.to_dict("records"), agree, 4)
    rows = {row["question"].removeprefix("model: "): row for row in answers}
    people = np.array([1, 1, 2]) / 4
    for question, estimate, baseline in (
        ("whole record", people @ of_record, 1 / 4),
        ("target", people @ after, people @ before),
        ("belief", people @ (before / after), 1.0),
    ):
        row = rows[question]
        assert abs(row["estimate"] - estimate) < 5 * row["se"] < 1
        assert abs(row["baseline"] - baseline) <= 5 * row["baseline_se"]
    belief = rows["belief"]
    is_refuted = abs(belief["z"]) > Z_SIGNIFICANT
    assert (belief["rating"] != "not refuted") == is_refuted
    assert rows["chains"]["rating"] == "agree"


@pytest.mark.parametrize(("seed", "agree"), [(0, False), (1, True)])
def test_a_difference_has_its_own_error_and_all_sets_of_chains_must_agree(
    seed: int, agree: bool
) -> None:
    """By leaving out one chain of one set; with the first seed one set disagrees."""
    chains = replace(CHAINS, n_draws=200, n_chains=3)
    learned, agreed, _ = model_risks(
        DATA,
        RELEASES,
        N_LEVELS,
        TARGET,
        chains=chains,
        rng=np.random.default_rng(seed),
    )

    rng = np.random.default_rng(seed)
    draws = DrawSets.fit(DATA, RELEASES, N_LEVELS, chains, rng=rng)
    combinations, repetitions, _ = distinct(DATA)
    likelihood = draws.likelihood(combinations)
    # Of the target's values, the true one first: (n_sets, n_chains, n, n_values).
    sets = np.exp(likelihood.sets)[..., [0, 2, 3]]

    def gain(means: np.ndarray) -> float:
        before = means[0] / means[0].sum(axis=1, keepdims=True)
        odds = means[1] * means[2] / means[0]
        after = odds / odds.sum(axis=1, keepdims=True)
        return repetitions @ (after - before)[:, 0] / len(DATA)

    variance = 0.0
    for i, chain_means in enumerate(sets):
        left_out = []
        for chain in range(3):
            means = sets.mean(axis=1)
            means[i] = np.delete(chain_means, chain, axis=0).mean(axis=0)
            left_out.append(gain(means))
        variance += 2 * np.var(left_out)
    expected = gain(sets.mean(axis=1))
    answers = model_rows(learned.to_dict("records"), agreed, 4)
    target = answers[1]
    assert target["estimate"] - target["baseline"] == pytest.approx(expected)
    assert target["z"] == pytest.approx(expected / np.sqrt(variance))

    n_disagreeing = (likelihood.r_hat > MAX_R_HAT).any(axis=1).sum()
    assert n_disagreeing == (0 if agree else 1)
    assert agreed == agree
    is_unreliable = {row["rating"] for row in answers} == {"unreliable"}
    assert is_unreliable != agree
