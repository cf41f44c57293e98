"""An intruder with a model: against exact marginal likelihoods of tiny models."""

import numpy as np
import pytest
from enumeration import log_marginal_likelihood

from srlib import dpmpm
from srlib.assessment.answers import SURE, of_model
from srlib.mechanism.bayes import posterior
from srlib.risk.believer import beliefs

TARGET, N_LEVELS = 1, np.array([2, 3])
DATA = np.array([(0, 0), (0, 1), (1, 2), (1, 2)], np.uint8)
RELEASES = [np.array([(0, 0), (1, 2), (0, 1)], np.uint8), np.array([(0, 2)], np.uint8)]
CHAINS = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=500, n_chains=6)


def log_marginal(codes: np.ndarray) -> float:
    return log_marginal_likelihood(codes, N_LEVELS.tolist(), 2, dpmpm.Prior())


def log_told(candidates: list[np.ndarray]) -> np.ndarray:
    """Logarithm of the probability of both releases if a candidate is the original."""
    alone = np.array([log_marginal(codes) for codes in candidates])
    given = [[log_marginal(np.vstack([codes, z])) for codes in candidates] for z in RELEASES]
    return (np.array(given) - alone).sum(axis=0)


def test_risks_of_target_and_record_by_enumeration() -> None:
    chance = np.random.default_rng(4)
    learned, agree, risks = beliefs(DATA, RELEASES, N_LEVELS, TARGET, chains=CHAINS, rng=chance)
    exact = []
    for i, x in enumerate(DATA[:3]):
        values = [x[1], *(t for t in range(3) if t != x[1])]
        candidates = [np.vstack([np.delete(DATA, i, axis=0), [x[0], t]]) for t in values]
        alone = np.array([log_marginal(codes) for codes in candidates])
        told = log_told(candidates)
        # The whole record: the target's other values, and the other value of the key.
        other = np.vstack([np.delete(DATA, i, axis=0), [1 - x[0], x[1]]])
        of_record = posterior(log_told([*candidates, other]))[0]
        exact.append(np.exp([posterior(alone)[0], posterior(alone + told)[0], of_record]))
        row = risks.iloc[i]
        assert abs(np.log(row["probability"]) - of_record) < 5 * row["log_mcse"] < 0.5
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
