"""An intruder with a model: against exact marginal likelihoods of tiny models."""

import numpy as np
import pytest
from enumeration import exact_log_risk, log_marginal_likelihood

from srlib import dpmpm
from srlib.assessment.answers import SURE, of_model
from srlib.mechanism.bayes import posterior
from srlib.risk.believer import beliefs

TARGET, N_LEVELS = 1, np.array([2, 3])
DATA = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
RELEASES = [np.array([(0, 0), (1, 2), (0, 1)], np.uint8), np.array([(0, 2)], np.uint8)]
CHAINS = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=500, n_chains=6)
MODEL = [2, 3], 2, dpmpm.Prior()


def test_risks_of_target_and_record_by_enumeration(rng: np.random.Generator) -> None:
    learned, agree, risks = beliefs(DATA, RELEASES, N_LEVELS, TARGET, chains=CHAINS, rng=rng)
    exact = []
    for i, x in enumerate(DATA[:3]):
        # The target's values, the own one first, and the other value of the key.
        support = np.array([x, *((x[0], t) for t in range(3) if t != x[1]), (1 - x[0], x[1])])
        told = exact_log_risk(DATA, i, support, RELEASES, *MODEL)
        tables = [np.vstack([np.delete(DATA, i, axis=0), other]) for other in support[:3]]
        alone = np.array([log_marginal_likelihood(codes, *MODEL) for codes in tables])
        exact.append(np.exp([posterior(alone)[0], posterior(alone + told[:3])[0], told[0]]))
        row = risks.iloc[i]
        assert abs(np.log(row["probability"]) - told[0]) < 5 * row["log_mcse"] < 0.5
    before, after, of_record = np.transpose(exact)
    assert risks["target_prior"].tolist() == pytest.approx(before, abs=0.02)
    assert risks["target_probability"].tolist() == pytest.approx(after, abs=0.02)
    answers = of_model(learned.to_dict("records"), agree, 4)
    rows = {row["question"].removeprefix("model: "): row for row in answers}
    people = np.array([1, 1, 2]) / 4
    for question, value, baseline in (
        ("whole record", people @ of_record, 1 / 4),
        ("target", people @ after, people @ before),
        ("belief", people @ (before / after), 1.0),
    ):
        row = rows[question]
        assert abs(row["value"] - value) < 5 * row["error"] < 1
        assert abs(row["baseline"] - baseline) <= 5 * row["baseline_error"]
    assert (rows["belief"]["word"] == "not refuted") == (abs(rows["belief"]["z"]) <= SURE)
