"""Population uniques: closed forms by enumeration, weights of files, coverage by simulation."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from srlib.assessment import uniques
from srlib.assessment.report import assess
from srlib.assessment.submission import Submission, submit
from srlib.data.schema import Schema, Variable
from srlib.dpmpm import Draws, cell_log_prob

INCLUSION = {"alike": np.full(3, 0.4), "by cell": np.array([0.9, 0.2, 0.5])}


@pytest.mark.parametrize("inclusion", INCLUSION.values(), ids=INCLUSION)
def test_given_cell_probabilities_by_enumeration(inclusion: np.ndarray) -> None:
    """Five people, each in one of three cells, each sampled or not: all 7,776 populations."""
    prob = np.array([0.5, 0.3, 0.2])
    people = np.array(list(product(range(3), (0, 1), repeat=5)))
    cell, sampled = people[:, ::2], people[:, 1::2]
    of_each = prob[cell] * np.where(sampled, inclusion[cell], 1 - inclusion[cell])
    chance = of_each.prod(axis=1) * (sampled.sum(axis=1) == 2)
    of_sampled = prob * inclusion / (prob @ inclusion)
    weights = 1 / inclusion
    q = uniques.prob_of_others(np.log(of_sampled), weights, float(of_sampled @ weights))
    unique, match = uniques.given_others(q, 3)
    for k in range(3):
        alone = chance * (((cell == k) & (sampled == 1)).sum(axis=1) == 1)
        number = np.maximum((cell == k).sum(axis=1), 1)
        assert unique[k] == pytest.approx(alone @ (number == 1) / alone.sum(), rel=1e-12)
        assert match[k] == pytest.approx(alone @ (1 / number) / alone.sum(), rel=1e-12)


def test_where_everybody_was_sampled_nobody_else_has_the_keys() -> None:
    nobody = uniques.prob_of_others(np.log([0.2, 0.3]), np.array([1.0, 1.0]), 1.0)
    some = uniques.prob_of_others(np.log([0.2, 0.3]), np.array([1.0, 9.0]), 5.0)
    assert (nobody == 0).all()
    assert some.tolist() == [0, pytest.approx(0.6)]
    for q, m in ((nobody, 0), (some[:1], 7)):
        assert all((values == 1).all() for values in uniques.given_others(q, m))
    everybody = uniques.given_others(np.array([1.0]), 3)
    assert [value.item() for value in everybody] == [0, 1 / 4]


def test_by_weights_is_the_negative_binomial_sum() -> None:
    weights = np.array([1.0, 1.5, 8.0])
    unique, match = uniques.by_weights(weights)
    number = np.arange(1, 2000)
    for w, u, m in zip(weights, unique, match, strict=True):
        chance = (1 - 1 / w) ** (number - 1) / w
        assert u == pytest.approx(chance[0])
        assert m == pytest.approx((chance / number).sum())


def smoothed(weights: Any, codes: Any) -> np.ndarray:
    codes = np.array(codes)
    _, key = np.unique(codes, axis=0, return_inverse=True)
    return uniques.smoothed_weights(np.array(weights, float), codes, codes.max(axis=0) + 1, key)


def test_a_weight_counts_as_far_as_the_keys_decide_it() -> None:
    pairs = [(0, 0), (0, 0), (0, 1), (0, 1), (1, 0), (1, 1)]
    # Weights of pairs of keys, not of single keys: their own.
    assert smoothed([2, 2, 5, 5, 7, 1], pairs) == pytest.approx([7, 1])
    # Weights differ as much within keys as between: the regression 17/3, 19/3.
    assert smoothed([1, 7, 1, 7, 5, 7], pairs) == pytest.approx([17 / 3, 19 / 3])
    # A variance of 2 within keys, and residuals of 22/3 for both who are alone.
    assert smoothed([2, 4, 5, 7, 20, 1], pairs) == pytest.approx([20 - 3 / 11, 1 + 3 / 11])
    assert smoothed([3, 3, 3], [(0,), (0,), (1,)]).tolist() == [3]
    assert smoothed([3, 1, 2], [(0,), (1,), (2,)]).tolist() == [3, 1, 2]


def mixture(rng: np.random.Generator, levels: list[int], chains: int = 2) -> Draws:
    """Draws of two classes, which no sampler made."""
    shape = (chains, 5)
    phi = [rng.dirichlet(np.ones(n), (*shape, 2)).swapaxes(2, 3) for n in levels]
    return Draws(
        np.ones(shape), rng.dirichlet([1, 1], shape), np.concatenate(phi, 2).astype(np.float32),
        np.ones((*shape, 2), np.int64), np.zeros(shape), np.array(levels),
    )  # fmt: skip


def test_other_variables_are_summed_out() -> None:
    draws = mixture(np.random.default_rng(1), [2, 3, 2])
    found = uniques.key_log_prob(draws, np.array([2, 0]), np.array([(1, 0), (0, 1)]))
    for at, (last, first) in enumerate([(1, 0), (0, 1)]):
        codes = np.array([(first, middle, last) for middle in range(3)])
        expected = np.exp(cell_log_prob(draws, codes)).sum(axis=2)
        np.testing.assert_allclose(np.exp(found[:, :, at]), expected, rtol=1e-5)


def test_populations_are_multinomial() -> None:
    prob = np.tile([0.1, 0.3], (20_000, 1))
    drawn = uniques.populations(prob, 9, rng=np.random.default_rng(2))
    np.testing.assert_allclose(drawn.mean(axis=0), [0.9, 2.7], atol=0.05)
    assert np.cov(drawn.T)[0, 1] == pytest.approx(-9 * 0.03, abs=0.06)
    assert uniques.populations(np.array([[0.9, 0.9]]), 4, rng=np.random.default_rng(3)).sum() == 4
    assert (uniques.populations(prob[:2], 0, rng=np.random.default_rng(3)) == 0).all()


def sampled(rng: np.random.Generator, weights: np.ndarray) -> tuple[Submission, Draws, list[float]]:
    """Sample a population whose cells are drawn from the prior; the exact posterior; the truth."""
    n_cells, people = len(weights), 600
    of_sampled = rng.dirichlet(np.full(n_cells, 0.5))
    number = rng.multinomial(people, of_sampled * weights / (of_sampled @ weights))
    taken = rng.binomial(number, 1 / weights)
    cells = np.repeat(np.arange(n_cells), taken)
    shape = (2, 100)
    phi = rng.dirichlet(0.5 + taken, shape)[..., None]
    target = np.full((*shape, 2, 1), 0.5)
    draws = Draws(
        np.ones(shape), np.ones((*shape, 1)), np.concatenate([phi, target], 2).astype(np.float32),
        np.ones((*shape, 1), np.int64), np.zeros(shape), np.array([n_cells, 2]),
    )  # fmt: skip
    names = [Variable("cell", tuple(map(str, range(n_cells)))), Variable("b", ("0", "1"))]
    codes = np.column_stack([cells, np.zeros_like(cells)])
    submission = Submission(
        Schema(tuple(names)), codes, (codes[:1],), (0,), 1, weights=weights[cells]
    )
    truth = number[taken == 1]
    return submission, draws, [float((truth == 1).sum()), float((1 / truth).sum())]


@pytest.mark.parametrize("weights", [np.full(150, 6.0), np.repeat([2.0, 20.0], 75)])
def test_intervals_cover_where_the_model_is_right(weights: np.ndarray) -> None:
    rng, cases = np.random.default_rng(5), 60
    covered, errors = np.zeros((cases, 2)), np.zeros((cases, 2))
    for case in range(cases):
        submission, draws, truth = sampled(rng, weights)
        file = uniques.expected_population(submission, draws, rng=rng).groups.iloc[0]
        for k, name in enumerate(("unique", "match")):
            covered[case, k] = file[f"{name}_low"] <= truth[k] <= file[f"{name}_high"]
            errors[case, k] = file[name] - truth[k]
    # The standard error of 95 % of 60 is 2.8 %.
    assert (covered.mean(axis=0) > 0.95 - 4 * 0.028).all(), covered.mean(axis=0)
    z = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(cases))
    assert (np.abs(z) < 4).all(), z


def records(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"job": rng.choice(list("abcdefgh"), n), "town": rng.choice(["n", "s"], n)}
    )
    return frame.assign(sick=rng.choice(["no", "yes"], n), w=rng.integers(2, 30, n) + 0.5)


def test_weights_of_frames_and_files_are_no_variable(tmp_path: Path) -> None:
    frame = records()
    frame.loc[3, "job"] = None
    made = frame.drop(columns="w").iloc[:30]
    of_frame = submit(frame, made, weights="w", missing="drop")
    file, declared = tmp_path / "people.csv", tmp_path / "schema.yaml"
    frame.to_csv(file, index=False)
    levels = {"job": "abcdefgh", "town": "ns", "sick": ["no", "yes"]}
    variables = [{"name": name, "levels": list(of)} for name, of in levels.items()]
    declared.write_text(yaml.safe_dump({"leave_out": ["w"], "variables": variables}))
    of_file = submit(file, frame, weights="w", missing="drop", schema=declared)
    kept = frame["w"].drop(index=3)
    for found in (of_frame, of_file):
        assert found.schema.names == ("job", "town", "sick")
        assert found.weights is not None
        assert found.weights.tolist() == kept.tolist()
    assert any(
        note.startswith(f"w has the weights: 39 records stand for {kept.sum():,.0f} people, each")
        for note in of_file.notes
    )
    assert submit(frame.drop(columns="w"), made).weights is None
    with pytest.raises(ValueError, match=r"people\.csv: weights is 'v', which is none of"):
        submit(file, made, weights="v")
    of_all = submit(made, made, population=300).weights
    assert of_all is not None
    assert set(of_all) == {10.0}


FRAME = records()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": "v"}, "original: weights is 'v', which is none of the columns 'job', 'town'"),
        ({"weights": "w", "population": 900}, "weights is 'w' and population 900; weights say"),
        ({"weights": "sick", "target": "sick"}, "weights is 'sick', which is a key or the target"),
        ({"weights": "w", "keys": ["w"]}, "weights is 'w', which is a key or the target, too"),
        ({"weights": "w", "schema": Schema.infer(FRAME)}, "weights is 'w', a variable of the sch"),
        ({"weights": "town"}, r"original: weights 'town' has 'n', 's' \(rows 0, 1.* must have num"),
        ({"population": 39}, "original: population is 39; it must be at least 40, the records"),
    ],
)  # fmt: skip
def test_wrong_weights_are_one_clear_error(change: dict[str, Any], message: str) -> None:
    call: Callable[..., Submission] = submit
    with pytest.raises(ValueError, match=message):
        call(FRAME, FRAME, **change)


@pytest.mark.parametrize("wrong", [0.99, 0.0, np.nan, -3.0])
def test_weights_below_one_say_what_to_do(wrong: float) -> None:
    frame = FRAME.assign(w=FRAME["w"].where(FRAME.index != 7, wrong))
    said = "a missing value" if np.isnan(wrong) else repr(str(wrong))
    with pytest.raises(ValueError, match=rf"has {said} \(row 7\).* Weights of mean 1 have to be"):
        submit(frame, FRAME, weights="w")
    submit(FRAME.assign(w=1), FRAME, weights="w")


def test_without_the_model_weights_alone_are_named() -> None:
    original = FRAME.iloc[:9].assign(job=list("aabbcdefg"))
    released = original[original["job"] != "c"]
    found = assess(
        original, {"made": released, "other": released.iloc[:-1]}, ["job"], "sick",
        weights="w", quick=True, rng=np.random.default_rng(1),
    )  # fmt: skip
    population = found.population
    assert population is not None
    weights = original["w"].to_numpy()[4:]
    assert population.groups[["met_by", "people"]].to_numpy().tolist() == [
        ["the file", 5], ["made", 4], ["other", 3]
    ]  # fmt: skip
    assert population.groups["unique"][0] == pytest.approx((1 / weights).sum())
    results = found.to_dict()["results"]
    assert results["population_unique"] == population.groups["unique"][0]
    assert results["population_match_low"] is None
    of_people = uniques.exposed(found.submission, population)
    met = of_people["job"].map({"c": 0, "g": 1}).fillna(2)
    assert of_people["releases_met"].tolist() == met.tolist()
    assert (of_people["unique"][:4].diff()[1:] <= 0).all()
    assert of_people.iloc[-1][["line", "weight", "job"]].tolist() == [5, weights[0], "c"]
    assert "by their weights alone" in uniques.in_a_sentence(population)
    assert uniques.in_a_sentence(population) in found.to_html()
    alone = assess(
        original.assign(job=list("aabbccddd")), original, ["job"], "sick",
        population=50, quick=True, rng=np.random.default_rng(1),
    ).population  # fmt: skip
    assert alone is not None
    assert uniques.in_a_sentence(alone) == "Nobody is alone with the keys in the file."


@pytest.mark.parametrize(
    ("predicted", "said"),
    [((20.0, 30.0), "as many"), ((20.1, 30.0), "more"), ((2.0, 19.9), "fewer"), ((2, 20), "as m")],
)
def test_the_sentence_says_whether_the_model_fits(
    predicted: tuple[float, float], said: str
) -> None:
    values = {f"{name}{end}": 4.0 for name in ("unique", "match") for end in ("", "_low", "_high")}
    groups = pd.DataFrame([{"met_by": "the file", "people": 20} | values])
    found = uniques.Population(100.0, True, pd.DataFrame(), groups, predicted)
    assert f"people to be alone, {said}" in uniques.in_a_sentence(found)
