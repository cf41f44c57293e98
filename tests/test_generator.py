"""Generators by their names, and where releases lie among what they could have drawn."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from srlib.assessment import generator, submit
from srlib.data.schema import Microdata, Schema, Variable
from srlib.dpmpm.fit import Mixture
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism import OnRecords, beta_binomial
from srlib.risk import posterior_risk, risk_before_release
from srlib.risk.before import risks_by_size
from srlib.trees import Growth, Trees, fit_trees

LEVELS = np.array([3, 2])
SCHEMA = Schema((Variable("job", ("cook", "smith", "clerk")), Variable("sick", ("no", "yes"))))
TABLE = Microdata(np.random.default_rng(1).integers(0, LEVELS, (30, 2)).astype(np.uint8), SCHEMA)
OWN = '''
from dataclasses import dataclass
import numpy as np

@dataclass
class Noisy:
    """Each value is kept, or drawn anew."""
    keep: float
    levels: np.ndarray
    def release(self, data, *, rng):
        anew = rng.integers(0, self.levels, data.shape)
        return np.where(rng.random(data.shape) < self.keep, data, anew)
    def log_prob(self, released, data):
        return float(np.log((released == data) * self.keep + (1 - self.keep) / self.levels).sum())

def make(table):
    return Noisy(0.6, table.schema.n_levels)

class Runs:
    def release(self, data, *, rng):
        return data

class Wrong(Runs):
    def log_prob(self, released, data):
        return float("nan")

class Labels(Wrong):
    def release(self, data, *, rng):
        return data + 9

ready, runs, wrong, labels = Noisy(0.5, np.array([3, 2])), Runs(), Wrong(), Labels()

def fails(table):
    return {}["CANARY"]
'''


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    return file


def test_names_and_their_settings() -> None:
    trees = generator.made("trees:min_leaf=2, smoothing=1", TABLE)
    assert isinstance(trees, Trees)
    assert trees.growth == Growth(2, smoothing=1.0)
    mixture = generator.made("dpmpm:n_classes=3,n_draws=10", TABLE)
    assert isinstance(mixture, Mixture)
    assert mixture.chains == replace(generator.CHAINS, n_classes=3, n_draws=10)
    assert isinstance(generator.made("margins", TABLE), PlugInMargins)
    noisy = generator.made("margins:epsilon=2", TABLE)
    assert isinstance(noisy, LaplaceMargins)
    assert noisy.epsilon == 2


def test_a_file_of_ones_own(own: Path) -> None:
    for name, keep in (("make", 0.6), ("ready", 0.5)):
        found = generator.made(f"{own}:{name}", TABLE)
        assert not isinstance(found, Trees | Mixture)
        released = found.release(TABLE.codes, rng=np.random.default_rng(1))
        share = (released == TABLE.codes) * keep + (1 - keep) / LEVELS
        assert found.log_prob(released, TABLE.codes) == pytest.approx(np.log(share).sum())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree", "synthesizer is tree; it must be trees, dpmpm, margins"),
        ("trees:leaf=2", "trees has no setting leaf; it has min_leaf, max_depth"),
        ("trees:min_leaf=two", "min_leaf is two; it must be a whole number"),
        ("margins:epsilon=", "epsilon is ; it must be a number"),
        ("trees:min_leaf=0", "trees: min_leaf is 0; it must be 1 or more"),
        ("dpmpm:n_chains=1", "dpmpm: chains are 1 of 100 draws"),
        ("margins:epsilon=0", "margins: epsilon is 0.0; it must be positive"),
        ("no.py:make", "no.py does not exist"),
        ("{}", "names no function or object; write own.py:NAME"),
        ("{}:mak", "own.py has no mak; it has dataclass, np, Noisy, make"),
        ("{}:np", "own.py:np is module; it must have the functions release and log_prob"),
        ("{}:runs", "has release and no log_prob.*leakage_bound"),
        ("{}:wrong", "log_prob of .*own.py:wrong is no finite number for a release"),
        ("{}:labels", "release of .*own.py:labels returns something else than records"),
        ("{}:fails", "own.py raises KeyError in line 34$"),
    ],
)
def test_a_name_that_cannot_be_called_is_one_error(own: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        generator.made(text.format(own), TABLE)
    assert "\n" not in str(error.value)
    assert "CANARY" not in str(error.value)


def test_a_file_that_is_no_python_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\nx = = 2\n")
    with pytest.raises(ValueError, match=r"bad\.py raises SyntaxError in line 2$"):
        generator.made(f"{tmp_path}/bad.py:x", TABLE)
    assert generator.read(f"{tmp_path}/bad.py:x").name == "x"  # reading runs nothing


# ------------------------------------------------------------------------ among what is drawn


def test_sizes_share_their_releases() -> None:
    trees = fit_trees(TABLE, growth=Growth(3))
    rng: Callable[[], np.random.Generator] = lambda: np.random.default_rng(5)  # noqa: E731
    found = risks_by_size(TABLE, trees, [1, 2], 20, rng=rng())
    pairs = risk_before_release(TABLE, trees, 2, 20, rng=rng())
    np.testing.assert_array_equal(found[2].probability, pairs.probability)
    singles = risk_before_release(TABLE, trees, 1, 40, rng=rng())
    np.testing.assert_array_equal(found[1].probability, singles.probability)


def test_a_publication_stands_among_all_there_are() -> None:
    """Of 12 people five are sick; every number of sick in a release."""
    n, x = 12, 5
    table = beta_binomial(n, n, alpha=1.0)
    sick = Schema((Variable("sick", ("no", "yes")),))
    people = Microdata(np.repeat([0, 1], [n - x, x])[:, None].astype(np.uint8), sick)
    before = risk_before_release(people, OnRecords(table, [2]))
    weights = np.exp(table.row(x))
    odds = np.exp(table.row(x) - np.stack([table.row(x + 1), table.row(x - 1)]))
    gain = np.array([n - x, x]) / n @ np.log(2 * odds / (1 + odds))
    for released in (0, 5, 12):
        place = before.place(odds[:, released] / (1 + odds[:, released])).loc["gain"]
        assert place["value"] == pytest.approx(gain[released])
        assert place["lower"] == pytest.approx(weights[gain < gain[released] - 1e-9].sum())
        assert place["same"] == pytest.approx(weights[np.isclose(gain, gain[released])].sum())
        assert place[["lower", "same", "higher"]].sum() == pytest.approx(1)
    assert before.place(np.nan)[["value", "lower", "same", "higher"]].isna().all(axis=None)


def test_releases_at_hand_are_held_against_what_could_be_drawn() -> None:
    trees = fit_trees(TABLE, growth=Growth(3, smoothing=0.5))
    made = trees.release(2, rng=np.random.default_rng(2))
    frames = [each.to_frame() for each in (TABLE, *made)]
    together = submit(frames[0], frames[1:], schema=SCHEMA, same_generator=True)
    found = generator.before(together, trees, 20, rng=np.random.default_rng(3))
    assert sorted(found.by_size) == [1, 2]
    assert [len(found.by_size[m].weights) for m in (1, 2)] == [40, 20]
    risk = posterior_risk(TABLE, made, synthesizer=trees)
    expected = found.by_size[2].place(risk.probability)
    pd.testing.assert_frame_equal(
        found.places.set_index("summary")[list(expected)], expected, check_names=False
    )
    assert found.over_records()["releases"].tolist() == [1] * 3 + [2] * 3
    assert found.of_records()["expected"].is_monotonic_decreasing
    assert len(found.pictured()) == 2 * len(risk.probability)
    apart = generator.before(replace(together, groups=()), trees, 20, rng=np.random.default_rng(3))
    assert apart.places["releases"].tolist() == [1] * 6
    assert apart.said().count(": mean gain ") == 2


def test_what_a_generator_cannot_have_made_is_said() -> None:
    people = pd.DataFrame({"job": ["cook"] * 20 + ["smith"] * 20, "sick": ["no"] * 40})
    other = people.assign(sick=["yes"] * 40)
    submission = submit(people, {"own": people, "other": other}, schema=Schema.infer(
        pd.concat([people, other])
    ))  # fmt: skip
    table = Microdata(submission.original, submission.schema)
    found = generator.before(
        submission, PlugInMargins(submission.schema.n_levels), 20, rng=np.random.default_rng(1)
    )
    assert len(table) == 40
    assert found.places.query("release == 'other'")["value"].isna().all()
    assert "other: this generator cannot have made it." in found.said()
    assert "own: mean gain 0.26 nats; of what the generator draws, 0" in found.said()


def test_a_release_beyond_all_draws_is_called_one() -> None:
    submission = submit(TABLE, [TABLE], schema=SCHEMA)
    found = generator.before(submission, PlugInMargins(LEVELS), 20, rng=np.random.default_rng(1))
    for lower, higher, beyond in ((0.95, 0.05, 0), (1.0, 0.0, 1), (0.0, 1.0, 1), (0.5, 0.0, 0)):
        said = replace(found, places=found.places.assign(lower=lower, higher=higher)).said()
        assert said.count("Beyond all 20: either of a chance of 2 in 21") == beyond


def test_chains_of_the_mixture_are_judged() -> None:
    mixture = generator.made("dpmpm:n_classes=2,burn_in=20,n_draws=20,thin=1,n_chains=2", TABLE)
    submission = submit(TABLE, [TABLE], schema=SCHEMA)
    found = generator.before(submission, mixture, 20, rng=np.random.default_rng(1))
    assert "of 21 sets of chains" in found.said()
    assert np.isfinite(found.places["value"]).all()
    assert (found.over_records()["expected_mcse"] > 0).any()
