"""The posterior risk of a table in one call, and the chains that it runs until they agree."""

from typing import Any

import numpy as np
import pytest

from srlib.dpmpm.core import Draws, sample_posterior
from srlib.risk import convergence


def test_chains_run_in_rounds_until_they_agree() -> None:
    assert convergence.rounds(8_000, 250) == [500, 2_000, 8_000]
    assert convergence.rounds(100, 250) == [500]
    rng = np.random.default_rng(0)
    codes, combinations = rng.integers(0, 2, (50, 2)), np.array([[0, 0], [1, 1]])
    settings: dict[str, Any] = {"n_classes": 1, "n_draws": 100, "n_chains": 4}
    settings |= {"most_iterations": 12_800, "combinations": combinations}
    told: list[str] = []

    def drawn(*arguments: Any, label: str, **given: Any) -> Draws:
        told.append(label)
        return sample_posterior(*arguments, label=label, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convergence, "sample_posterior", drawn)
        draws = convergence.chains(codes, np.array([2, 2]), rng=rng, label="x", **settings)
    assert told[0] == "x, 200 iterations"
    assert len(told) < 4  # one class mixes at once
    assert draws.n_draws == 100
    agreed = convergence.convergence({"x": draws}, combinations)
    assert (agreed["apart"] <= convergence.APART).all()
