"""The posterior risk of a table in one call, and the chains that it runs until they agree."""

from typing import Any

import numpy as np
import pytest

from srlib.dpmpm.core import Draws, sample_posterior
from srlib.risk import agreement


def test_chains_run_in_rounds_until_they_agree() -> None:
    few = {"n_classes": 1, "n_chains": 4}
    found = agreement.rounds(8_000, n_draws=250, **few)
    assert [each.n_iterations for each in found] == [500, 2_000, 8_000]
    assert [each.burn_in for each in found] == [250, 1_000, 4_000]
    (only,) = agreement.rounds(100, n_draws=250, **few)
    assert only.n_iterations == 500
    rng = np.random.default_rng(0)
    codes, combinations = rng.integers(0, 2, (50, 2)), np.array([[0, 0], [1, 1]])
    told: list[str] = []

    def drawn(*arguments: Any, label: str, **given: Any) -> Draws:
        told.append(label)
        return sample_posterior(*arguments, label=label, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "sample_posterior", drawn)
        draws = agreement.agreeing_draws(
            codes, np.array([2, 2]), agreement.rounds(12_800, n_draws=100, **few),
            combinations=combinations, rng=rng, label="x",
        )  # fmt: skip
    assert told[0] == "x, 200 iterations"
    assert len(told) < 4  # one class mixes at once
    assert draws.n_draws == 100
    agreed = agreement.convergence({"x": draws}, combinations)
    assert (agreed["apart"] <= agreement.APART).all()
