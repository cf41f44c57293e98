"""Who carries the risk."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from srlib.assessment import (
    assess,
    by_group,
    groups,
    leakage,
    model,
    verdict,
)
from srlib.assessment.submission import Submission, submit
from srlib.data.codes import Codes
from srlib.data.schema import Schema, Variable
from srlib.runner.cli import main

LEVELS = (2, 4, 3, 2)
SCHEMA = Schema(
    tuple(Variable(name, tuple("abcd"[:n])) for name, n in zip("wxyz", LEVELS, strict=True))
)


def made(n: int, copied: float, seed: int, releases: int = 1) -> Submission:
    """Records with a release of which some were copied; keys w, x and y, target z, groups x."""
    rng = np.random.default_rng(seed)

    def people(size: int) -> Codes:
        x = rng.choice(4, size, p=[0.5, 0.2, 0.2, 0.1])
        z = rng.random(size) < 0.2 + 0.15 * x
        return np.column_stack([rng.integers(0, 2, size), x, rng.integers(0, 3, size), z])

    original = people(n)
    out = tuple(np.where(rng.random((n, 1)) < copied, original, people(n)) for _ in range(releases))
    return Submission(SCHEMA, original, out, (0, 1, 2), 3, groups=("",) * releases, by=1)


def with_more_keys(submission: Submission, seed: int, n_levels: int = 10) -> Submission:
    """The same with a further key, v, by which hardly any records are alike."""
    rng = np.random.default_rng(seed)
    more = Variable("v", tuple(map(str, range(n_levels))))
    original, *released = (
        np.column_stack([codes, rng.integers(0, n_levels, len(codes))])
        for codes in (submission.original, *submission.released)
    )
    return replace(
        submission, schema=Schema((*SCHEMA.variables, more)), original=original,
        released=tuple(released), keys=(*submission.keys, 4),
    )  # fmt: skip


# ----------------------------------------------------------------------------------- by group


def foretold(companions: np.ndarray, i: int, more: float) -> float:
    """Number of people alone whom others' records meet, with more weight on person i."""
    weight = np.ones(len(companions))
    weight[i] += more
    whole, half, quarter = ((weight * (1 - t) ** companions).sum() for t in (1, 0.5, 0.25))
    return float(whole * (1 - whole**2 * half**-3 * quarter))


def counted_by_hand(submission: Submission, risk: str, group: int) -> dict[str, float]:
    """Value and both baselines of a group, person by person; release and file are of a size."""
    original, (released,) = submission.original.tolist(), submission.released
    n, made_rows, keys = len(original), released.tolist(), [0, 1, 2]
    at = keys if risk != "copies" else [0, 1, 2, 3]

    def same(person: list[int], rows: list[list[int]]) -> list[list[int]]:
        return [row for row in rows if [row[k] for k in at] == [person[k] for k in at]]

    companions = np.array([len(same(person, original)) - 1.0 for person in original])
    found = np.zeros(3)
    people = 0
    for i, person in enumerate(original):
        if person[1] != group:
            continue
        like, met = same(person, original), same(person, made_rows)
        if risk == "attributes":
            people += 1
            others = [row[3] for row in like]
            others.remove(person[3])
            targets = [row[3] for row in met]
            share = np.mean([row[3] == person[3] for row in made_rows])
            found += [
                bool(targets) and set(targets) == {person[3]},
                bool(others) and set(others) == {person[3]},
                share ** len(met) if met else 0,
            ]
            continue
        # How much the number foretold grows with the weight of the person in it.
        found[1] += (foretold(companions, i, 1e-5) - foretold(companions, i, -1e-5)) / 2e-5
        if len(like) == 1:
            people += 1
            prob = np.prod([np.mean([row[k] == person[k] for row in original]) for k in at])
            found += [bool(met), 0, 1 - (1 - prob) ** n]
    return dict(zip(("value", "others", "margins"), found / people, strict=True))


def test_shares_of_groups_by_hand() -> None:
    submission = made(30, 0.5, 1)
    found = by_group(submission)
    assert found["group"].unique().tolist() == list("abcd")
    for row in found[found["counted"] > 0].itertuples():
        expected = counted_by_hand(submission, row.risk, "abcd".index(row.group))
        expected["others"] = np.clip(expected["others"], 0, 1)
        for name, value in expected.items():
            assert getattr(row, name) == pytest.approx(value), (row.risk, row.group, name)


def test_groups_add_up_to_the_verdict() -> None:
    submission = made(200, 0.5, 2)
    (released,), everybody = submission.released, leakage.identity
    found = by_group(submission)
    whole = {
        "identity": everybody(submission.original, released, LEVELS, (0, 1, 2)),
        "attributes": leakage.attributes(submission.original, released, LEVELS, (0, 1, 2), 3),
        "copies": everybody(submission.original, released, LEVELS, (0, 1, 2, 3)),
    }
    for risk, of_all in whole.items():
        rows = found[(found["risk"] == risk) & (found["counted"] > 0)]
        assert rows["counted"].sum() == of_all.people
        for name in ("value", "margins"):
            total = (rows[name] * rows["counted"]).sum() / of_all.people
            assert total == pytest.approx(getattr(of_all, name))


def resampled(
    group: np.ndarray, statistic: Callable[[np.ndarray], float], rng: np.random.Generator
) -> float:
    """Standard error by a bootstrap of groups of people: weights of the people, 800 times."""
    n_groups = group.max() + 1
    weights = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), 800)
    return float(np.std([statistic(weight[group]) for weight in weights]))


def weighted(values: np.ndarray, weight: np.ndarray) -> float:
    return float((weight * values).sum() / weight.sum())


def test_errors_of_groups_against_a_bootstrap() -> None:
    wide, rng = with_more_keys(made(600, 0.3, 3), 3), np.random.default_rng(4)
    row = by_group(wide).query("risk == 'attributes' and group == 'b'").iloc[0]
    each = groups.of_each(wide, wide.released[0])["attributes"]
    inside, x = wide.original[:, 1] == 1, each.value - groups.baseline_of([each])[0]

    def share(weight: np.ndarray, values: np.ndarray, part: np.ndarray) -> float:
        return float((weight * values)[part].sum() / weight[part].sum())

    assert row["error"] == pytest.approx(
        resampled(each.group, lambda w: share(w, each.value, inside), rng), rel=0.15
    )
    apart = resampled(each.group, lambda w: share(w, x, inside) - share(w, x, ~inside), rng)
    least = np.hypot(2 / inside.sum(), 2 / (~inside).sum())
    assert row["difference_error"] == pytest.approx(np.hypot(apart, least), rel=0.15)


def test_who_is_copied_carries_more() -> None:
    submission = with_more_keys(made(1500, 0.0, 5), 6, 60)
    original, (fresh,) = submission.original, submission.released
    of_b = np.where((original[:, 1] == 1)[:, None], original, fresh)
    words = {}
    for name, released in {"honest": fresh, "copied": of_b}.items():
        one = replace(submission, released=(released,))
        words[name] = by_group(one)
        word = words[name].query("risk == 'identity'").set_index("group")["carries"]
        assert word["b"] == ("more" if name == "copied" else "tie")
        assert "tie" in word.drop("b").to_list()
    assert (words["honest"]["carries"] != "more").all()
    said = groups.in_a_sentence(words["copied"])
    assert said.startswith("Identity: more than all others: b (")
    assert "no group carries more or less" in groups.in_a_sentence(words["honest"])
    undecided = by_group(one, premise="twins").query("risk == 'copies'")
    assert set(undecided["carries"]) == {groups.UNDECIDED}
    assert groups.in_a_sentence(undecided) == "Copies: undecided, as in the verdict."


def test_groups_of_fewer_than_ten_are_not_judged() -> None:
    submission = made(40, 1.0, 7)
    found = by_group(submission)
    few = (found["counted"] < 10) | (found["people"] < 10)
    assert 0 < few.sum() < len(found)
    assert set(found.loc[few, "carries"]) == set(found.loc[few, "level"]) == {"too few"}
    alone = replace(submission, original=submission.original * np.array([1, 0, 1, 1]))
    one = by_group(alone).query("risk == 'attributes'").iloc[0]
    assert one["carries"] == "too few"  # nobody else is there to compare with
    assert np.isnan(one["difference"])
    assert groups.in_a_sentence(by_group(alone)).count("all groups have too few people") == 3


def test_words_of_groups_at_their_borders() -> None:
    assert groups.sure_among(1) == pytest.approx(verdict.SURE)
    assert groups.sure_among(5) > groups.sure_among(2) > verdict.SURE
    of = groups.carries
    assert of(0.258, 0.1, "more", "no more", 2.58) == "more"
    assert of(0.257, 0.1, "more", "no more", 2.58) == "tie"
    assert of(0.5, 0.1, "no more", "no more", 2.58) == "tie"
    assert of(-0.258, 0.1, "no more", "far more", 2.58) == "less"
    assert of(-0.257, 0.1, "no more", "far more", 2.58) == "tie"
    assert of(-0.5, 0.1, "no more", "no more", 2.58) == "tie"


def test_several_releases_are_averaged() -> None:
    submission = made(60, 0.5, 8, releases=3)
    found = by_group(submission)
    each = [by_group(replace(submission, released=(z,))) for z in submission.released]
    for name in ("value", "margins"):
        assert found[name].to_list() == pytest.approx(
            np.mean([one[name] for one in each], axis=0).tolist(), nan_ok=True
        )
    spread = np.std([one["value"] for one in each], axis=0, ddof=1) / np.sqrt(3)
    assert (found["error"].fillna(0) >= np.nan_to_num(spread) - 1e-12).all()


def test_gains_of_groups_are_quantiles_over_their_people() -> None:
    rng, submission = np.random.default_rng(9), made(80, 0.5, 9)
    gains, column = rng.normal(size=80), submission.original[:, 1]
    values = model._by_group(gains, column)
    table = model._of_groups(submission, 1, values, np.full(12, 0.1))
    assert table["people"].tolist() == np.bincount(column).tolist()
    for code, row in enumerate(table.itertuples()):
        own, others = gains[column == code], gains[column != code]
        assert np.log(row.median) == pytest.approx(np.median(own))
        assert np.log(row.high) == pytest.approx(np.quantile(own, 0.95))
        assert np.log(row.ratio) == pytest.approx(np.median(own) - np.median(others))
        assert np.log(row.median_high / row.median) == pytest.approx(0.196)
        assert np.log(row.ratio_high / row.ratio_low) == pytest.approx(2 * 0.196)
    assert np.isnan(model._by_group(gains, np.zeros(80, int))[2])  # there are no others


# ------------------------------------------------------------------------------------- the doors


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    submission = made(60, 0.5, 18)
    original, made_table = (
        SCHEMA.decode(codes).astype(object)
        for codes in (submission.original, submission.released[0])
    )
    rng = np.random.default_rng(19)
    for frame in (original, made_table):
        frame["age"] = rng.integers(0, 99, 60)
        frame.loc[:4, "y"] = None
    return original, made_table


def test_groups_may_be_pieces_of_numbers_or_have_no_value() -> None:
    settings: dict[str, Any] = {"target": "z", "quick": True, "rng": np.random.default_rng(1)}
    for by in ("age", "y"):
        found = assess(*frames(), by=by, **settings)
        table = found.table("groups").query("risk == 'attributes'")
        assert table["people"].sum() == 60
        assert "missing" in table["group"].to_list() or by != "y"
        assert f"By {by}" in found.to_html()
    without = {name: replace(one, groups=None) for name, one in found.findings.items()}
    with pytest.raises(ValueError, match="there is no table 'groups'"):
        replace(found, findings=without).table("groups")


def test_wrong_groups_are_told_before_anything_starts(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="by names 'age2'; the variables are w, x, y, z, age"):
        submit(*frames(), target="z", by="age2")
    paths = [tmp_path / name for name in ("original.csv", "made.csv")]
    for path, frame in zip(paths, frames(), strict=True):
        frame.to_csv(path, index=False)
    named = ["assess", *map(str, paths), "--target", "z", "--output", str(tmp_path)]
    result = CliRunner().invoke(main, [*named, "--by", "job"])
    assert result.exit_code == 2
    assert "by names 'job'" in result.output.replace("\n", " ")
