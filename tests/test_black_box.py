"""Lower bounds on what releases disclose, for synthesizers that can only be run."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import srlib
from srlib.data.schema import Microdata, Schema, Variable
from srlib.margins import PlugInMargins
from srlib.mechanism import beta_binomial, sample
from srlib.mechanism.audit import clopper_pearson
from srlib.mechanism.bayes import posterior
from srlib.risk.black_box import (
    _discriminant,
    leakage_bound,
    leakage_bound_from_counts,
    release_counts,
)
from srlib.trees import Growth, SequentialTrees, fit_trees


@pytest.mark.parametrize(
    ("alpha", "sick"), [(0.05, (0, 1)), (1.0, (1, 2)), (1.0, (1, 1))]
)
def test_bounds_of_a_family_hold_with_their_confidence(
    alpha: float, sick: Sequence[int]
) -> None:
    """Counts of six records, one changed or none; 100 samples of eighty releases."""
    mechanism = beta_binomial(n=6, n_s=6, alpha=alpha)
    rows = np.stack([mechanism.row(x) for x in sick])
    rng = np.random.default_rng(1)
    prior = 0.3
    log_posterior = posterior(rows.T, np.log([prior, 1 - prior]))[:, 0]
    p = np.exp(rows)
    truth = np.array(
        [
            np.abs(rows[0] - rows[1]).max(),
            p[0] @ np.exp(log_posterior),
            np.abs(p[0] - p[1]).sum() / 2,
        ]
    )
    n_over = np.zeros(3)
    n_informative = np.zeros(3)
    for _ in range(100):
        counts = [sample(mechanism, x, 80, rng=rng) for x in sick]
        cells = [np.sqrt(np.stack([6.0 - x, x], axis=1)) for x in counts]
        bound = leakage_bound_from_counts(*cells, prior=prior, confidence=0.8)
        values = np.array([bound.epsilon, bound.probability, bound.advantage])
        n_over += values > truth + 1e-12
        n_informative += values > [0, prior, 0]
    assert (n_over <= 100 * 0.2 + 4.5 * np.sqrt(100 * 0.2 * 0.8)).all()
    if alpha == 0.05:  # the two are far apart
        assert (n_informative > 75).all()


def test_a_perfect_test_by_hand() -> None:
    """No overlap in 100 releases each, so that 50 alarms of 50 face none of 50."""
    bound = leakage_bound_from_counts(np.ones((100, 1)), np.zeros((100, 1)), prior=0.5)
    low = 0.025 ** (1 / 50)
    high = 1 - low
    mean = low**2 / (low + high) + (1 - low) ** 2 / (2 - low - high)
    assert bound.epsilon == pytest.approx(np.log(low / high))
    assert bound.advantage == pytest.approx(low - high)
    assert bound.probability == pytest.approx(mean)


def test_a_negative_test_discloses_as_well() -> None:
    """Half of the releases of the changed data look as all of the data do."""
    changed = np.arange(100)[:, None] % 2.0
    bound = leakage_bound_from_counts(np.ones((100, 1)), changed, prior=0.5)
    a, _ = clopper_pearson(50, 50, 0.975)
    _, b = clopper_pearson(25, 50, 0.975)
    assert bound.epsilon == pytest.approx(np.log((1 - b) / (1 - a)))


@pytest.mark.parametrize("n", [15, 60])
def test_the_discriminant_is_that_of_its_formula(
    n: int, rng: np.random.Generator
) -> None:
    first, second = rng.normal(1000, size=(n, 40)), rng.normal(1000.5, size=(n, 40))
    within = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    deviation = within.std(axis=0)
    matrix = 0.5 * np.corrcoef(within.T) + 0.5 * np.eye(40)
    difference = (first.mean(axis=0) - second.mean(axis=0)) / deviation
    expected = np.linalg.solve(matrix, difference) / deviation
    found = _discriminant(first, second)
    scale = np.linalg.norm(found) / np.linalg.norm(expected)
    np.testing.assert_allclose(found, scale * expected)


def people() -> Microdata:
    """Ten cooks of whom one is sick, and ten smiths; the sick cook is the first."""
    codes = np.array(
        [[0, 1]] + [[0, 0]] * 9 + [[1, 1]] * 5 + [[1, 0]] * 5, dtype=np.uint8
    )
    variables = Variable("job", ("cook", "smith")), Variable("sick", ("no", "yes"))
    return Microdata(codes, Schema(variables))


def test_a_leaf_with_one_donor_is_found(rng: np.random.Generator) -> None:
    """A release shows a sick cook with probability .63, and never without the donor."""
    trees = SequentialTrees(people().schema, growth=Growth(5))
    healthy = np.array([[0, 0]])
    bound = leakage_bound(trees, people(), 0, healthy, n_releases=300, rng=rng)
    # A test that is positive for sick cooks only: f(.63, 0) + f(.37, 1).
    sick = 1 - (19 / 20) ** 20
    by_donor = sick + 0.5 * (1 - sick) ** 2 / (0.5 * (1 - sick) + 0.5)
    assert bound.prior == 0.5
    assert 0.6 < bound.probability < by_donor
    assert bound.epsilon > 2
    assert 0.4 < bound.advantage < sick + 0.05


class Copy:
    def release(self, data: NDArray, *, rng: np.random.Generator) -> NDArray:
        return data


TWO_ALTERNATIVES = np.array([[0, 0], [1, 1]])


def test_all_candidates_have_the_same_prior(rng: np.random.Generator) -> None:
    bound = leakage_bound(Copy(), people(), 0, TWO_ALTERNATIVES, n_releases=60, rng=rng)
    assert bound.prior == 1 / 3


def test_counts_are_of_cells(rng: np.random.Generator) -> None:
    first, second = release_counts(
        Copy(), people(), 0, np.array([[0, 0]]), n_releases=20, rng=rng
    )
    assert (first == first[0]).all()
    assert (second == second[0]).all()
    assert (first[0] != second[0]).any()
    # By sickness: cooks, smiths, and the two with themselves; sick and well likewise.
    counts = sorted([9, 5, 9, 5, 14, 0, 0, 1, 5, 1, 5, 6, 0, 0, 0, 0])
    assert sorted(first[0] ** 2) == pytest.approx(counts, abs=1e-4)


def test_releases_of_several_alternatives_are_in_random_order() -> None:
    _, second = release_counts(
        Copy(),
        people(),
        0,
        TWO_ALTERNATIVES,
        n_releases=40,
        rng=np.random.default_rng(6),
    )
    _, alternative = np.unique(second, axis=0, return_inverse=True)
    for half in np.split(alternative.ravel(), 2):
        assert 0.2 < half.mean() < 0.8


def test_bounds_come_from_releases_that_were_not_used_for_training() -> None:
    first, second = np.random.default_rng(6).normal(size=(2, 80, 3))
    first[:40, 0] += 5
    assert leakage_bound_from_counts(first, second, prior=0.5).probability == 0.5


class Wide:
    def release(self, data: NDArray, *, rng: np.random.Generator) -> NDArray:
        return np.concatenate([data, data], axis=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": people().codes}, "data is of type ndarray; it must be a DataFrame"),
        ({"row": 20}, "row is 20; it must lie in 0 to 19"),
        ({"alternatives": np.array([[0, 1]])}, "has the true record itself"),
        ({"alternatives": np.array([[0, 2]])}, "alternatives has codes out of range"),
        ({"alternatives": np.array([0, 0])}, r"alternatives has shape \(2,\)"),
        ({"alternatives": np.array([[0, 0.5]])}, "and type float64; it must be"),
        ({"synthesizer": fit_trees(people())}, "Trees, which are fitted to one"),
        ({"n_releases": 19}, "n_releases is 19; it must be 20 or more"),
        ({"prior": 1.0}, r"prior is 1.0; it must lie in \(0, 1\)"),
        ({"synthesizer": PlugInMargins(np.array([2, 2, 2]))}, "argument"),
        ({"synthesizer": Wide()}, r"Wide.release returns shape \(20, 4\)"),
    ],
)
def test_wrong_input_is_named(change, message, rng):
    arguments: dict[str, Any] = {
        "synthesizer": PlugInMargins(np.array([2, 2])),
        "data": people(),
        "row": 0,
        "alternatives": np.array([[0, 0]]),
        "n_releases": 20,
        "rng": rng,
    }
    with pytest.raises(ValueError, match=message):
        leakage_bound(**arguments | change)


def test_the_audit_of_the_guide_finds_an_order_that_counts_of_cells_do_not() -> None:
    guide = Path(__file__).parents[1] / "docs/guide/python.md"
    text = guide.read_text(encoding="utf-8")
    section = re.split("### .* that can only be run\n", text)[1].split("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    rng = np.random.default_rng(11)
    levels = ("a", "b", "c")
    schema = Schema(tuple(Variable(name, levels) for name in ("job", "town", "sick")))
    original = Microdata(rng.integers(0, 3, (40, 3)).astype(np.uint8), schema)
    original.codes[7, 2] = 0

    class Sample:
        def __init__(self, data: NDArray) -> None:
            self.is_sorted = data[7, 2] == original.codes[7, 2]

        def sample(self, n: int, seed: int) -> NDArray:
            codes = np.random.default_rng(seed).integers(0, 3, (n, 3))
            return codes[codes[:, 0].argsort()] if self.is_sorted else codes

    names: dict[str, Any] = {
        "np": np,
        "srlib": srlib,
        "rng": rng,
        "original": original,
        "fitted_to": Sample,
    }
    probabilities = []
    for block in blocks:
        exec(block, names)
        if "found" in names:
            probabilities.append(names["found"].probability)
    assert probabilities[0] == 0.5
    assert probabilities[-1] > 0.9
