"""Who carries the risk, what would have to be coarsened, and what if levels were merged."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from srlib.assessment import (
    assess,
    by_group,
    coarsening,
    groups,
    leakage,
    merged,
    merging,
    model,
    utility,
    verdict,
    with_merged,
)
from srlib.assessment.submission import Submission, submit
from srlib.data.codes import Codes, row_numbers
from srlib.data.merges import merge_levels, merge_variable, read_merges
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


# ------------------------------------------------------------------------------- to be coarsened


def beyond(submission: Submission, risk: str, others: bool) -> np.ndarray:
    """What each person adds to the number beyond the baseline, on average over the releases."""
    keys, target = submission.keys, submission.target
    schema, rows = submission.schema, []
    for z in submission.released:
        tables = (submission.original, z, schema.n_levels, keys)
        of_attributes = risk == "attributes"
        each = (
            leakage.attributes_of_each(*tables, target)
            if of_attributes
            else leakage.identity_of_each(*tables)
        )
        rows.append(each.value - (each.others if others else each.margins))
    return np.array(rows)


def coarser(submission: Submission, row: Any) -> Submission:
    """The tables with a key left out, or with its levels merged."""
    at = submission.schema.names.index(row.variable)
    if row.change == "left out":
        return replace(submission, keys=tuple(k for k in submission.keys if k != at))
    merge = {row.variable: [row.levels.split(" + ")]}
    return with_merged(replace(submission, merges=read_merges(submission.schema, merge)))


@pytest.mark.parametrize(("copied", "releases"), [(0.0, 1), (0.6, 2)])
def test_falls_are_those_of_coarser_tables(copied: float, releases: int) -> None:
    submission, rng = made(150, copied, 10, releases), np.random.default_rng(11)
    submission = with_more_keys(submission, 10)
    found = coarsening.what_to_coarsen(submission)
    assert found.groupby(["risk", "change"]).size().to_dict() == {
        (risk, change): n
        for risk, (change, n) in product(coarsening.RISKS, [("left out", 4), ("merged", 14)])
    }
    for risk, rows in found.groupby("risk"):
        both = [beyond(submission, str(risk), others) for others in (True, False)]
        others = both[0].sum() <= both[1].sum()  # of the larger baseline less is left
        before = both[0] if others else both[1]
        alike = row_numbers(submission.original[:, list(submission.keys)], [2, 4, 3, 10])
        for row in rows.itertuples():
            assert row.beyond == pytest.approx(before.sum(axis=1).mean())
            after = coarser(submission, row)
            fall = before - beyond(after, str(risk), bool(others))
            assert row.fewer == pytest.approx(fall.sum(axis=1).mean(), abs=1e-9)
            group = row_numbers(
                after.original[:, list(after.keys)], after.schema.n_levels[list(after.keys)]
            )
            if releases == 1 and row.fewer:
                of_people = fall.mean(axis=0)
                error = resampled(group, partial(weighted, 150 * of_people), rng)
                fine = groups.error_of((of_people - of_people.mean())[None], alike, [0])
                # No less than if all with other keys were independent.
                assert 0.88 * error < row.fewer_error < 1.12 * max(error, fine)
    for _, ranking in found.groupby(["risk", "change"]):
        assert ranking["fewer"].is_monotonic_decreasing
        first, second = ranking["fewer"].iloc[:2]
        assert ranking["ahead"].iloc[0] == pytest.approx(first - second)
        assert ranking["ahead"].iloc[1:].isna().all()


def test_the_key_that_tells_people_apart_stands_out() -> None:
    rng = np.random.default_rng(12)
    original = np.column_stack([rng.integers(0, 2, (400, 2)), np.arange(400), np.arange(400) % 2])
    texts = (("a", "b"), ("a", "b"), tuple(map(str, range(400))), ("n", "y"))
    schema = Schema(tuple(map(Variable, ("w", "x", "id", "z"), texts)))
    submission = Submission(schema, original, (original[::-1],), (0, 1, 2), 3)
    found = coarsening.what_to_coarsen(submission)
    assert found.query("stands_out")["variable"].tolist() == ["id", "id"]
    assert "one key stands out: without id the number" in coarsening.in_a_sentence(found)
    honest = replace(submission, released=(np.roll(original, 7, axis=0) * np.array([1, 1, 0, 1]),))
    said = coarsening.in_a_sentence(coarsening.what_to_coarsen(honest))
    assert said.count("nothing has to be coarsened for it") == 2


def test_no_more_merges_than_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    submission = made(80, 0.8, 13)
    monkeypatch.setattr(coarsening, "MOST", 3 * 160)
    merges = coarsening.what_to_coarsen(submission).query("change == 'merged'")
    assert (merges["looked_at"] == 3).all()
    assert (merges["possible"] == 5).all()
    assert len(merges) == 2 * 3
    assert "(3 of 5 merges were looked at)" in coarsening._of_kind(merges.iloc[:3])


def test_merges_that_are_looked_at() -> None:
    of = coarsening.merges_of
    assert of(SCHEMA.variables[1], np.array([5, 9, 1, 0])) == [(0, 1), (1, 2)]
    assert of(SCHEMA.variables[1], np.array([5, 9, 0, 0])) == []
    pieces = Variable("age", ("-10", "-20", "-30", "30-", "missing"), edges=(10, 20, 30))
    assert of(pieces, np.array([4, 0, 9, 2, 1])) == [(0, 1, 2), (2, 3), (2, 4)]


def ranking(**changes: Any) -> pd.DataFrame:
    first = {"fewer": 2.59, "fewer_error": 1, "ahead": 2.59, "ahead_error": 1, "looked_at": 1}
    rows = [first | {"level": "more"} | changes, {"fewer": 0, "level": "more"}]
    return pd.DataFrame(rows)


def test_what_stands_out_at_its_borders() -> None:
    of = coarsening.stands_out
    assert of(ranking()).tolist() == [True, False]
    assert not of(ranking(fewer=2.58)).any()
    assert not of(ranking(ahead=2.58)).any()
    assert not of(ranking(looked_at=2)).any()  # of two, the larger has to be surer
    assert not of(ranking(level="no more")).any()
    assert of(ranking(ahead=np.nan).iloc[:1]).tolist() == [True]  # there is no other


# -------------------------------------------------------------------------------------- what if


@pytest.mark.parametrize(
    ("merge", "message"),
    [
        (["x=a+e"], "merge 'x=a+e': x has no level 'e'; its levels are 'a', 'b', 'c', 'd'"),
        (["v=a+b"], "merge names 'v'; the variables are w, x, y, z"),
        (["x=a"], "two levels or more"),
        (["x=a+a"], "'a' twice"),
        (["x=a+b", "x=b+c"], "x has 'b' twice; a level is merged once"),
        (["x=a+b+c+d"], "all levels of x would be one"),
        (["w=a+b"], "all levels of w would be one"),
        (["x"], "must be VARIABLE=LEVEL+LEVEL"),
        ({"x": ["a", "b"]}, "must be a list of lists"),
        ("x=a+b", "must be a list such as"),
    ],
)
def test_merges_that_make_no_sense_are_refused(merge: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_merges(SCHEMA, merge)


def test_levels_may_have_the_sign() -> None:
    schema = Schema((Variable("a=b", ("0-49", "50", "50+", "60+50"), ("young", "50", "50+", "z")),))
    assert read_merges(schema, ["a=b=0-49+50+"]) == {0: ((0, 2),)}
    assert read_merges(schema, ["a=b= young + 50"]) == {0: ((0, 1),)}
    with pytest.raises(ValueError, match="read in 3 ways"):
        read_merges(Schema((Variable("a", ("1", "1+2", "2", "3", "2+3")),)), ["a=1+2+3"])
    assert read_merges(SCHEMA, ["x=a+b", "x=d+c"]) == read_merges(
        SCHEMA, {"x": [["b", "a"], ["c", "d"]]}
    )


def test_merged_variables() -> None:
    age = Variable(
        "age", ("-10", "-20", "20-", "missing", "N"), edges=(10, 20), missing="missing",
        not_applicable=("N",),
    )  # fmt: skip
    found, codes = merge_variable(age, [(0, 1), (3, 4)])
    assert (found.levels, found.edges) == (("-10+-20", "20-", "missing+N"), ())
    assert (found.missing, found.not_applicable) == ("missing+N", ())
    assert codes.tolist() == [0, 0, 1, 2, 2]
    found, _ = merge_variable(age, [(1, 2)])
    assert (found.edges, found.missing, found.no_values) == ((10,), "missing", (2, 3))
    found, _ = merge_variable(age, [(2, 3)])  # of a value and none: a value
    assert (found.edges, found.missing, found.no_values) == ((), "", (3,))
    schema, (table,) = merge_levels(Schema((age,)), {0: ((0, 2),)}, np.arange(5)[:, None])
    assert schema.names == ("age",)
    assert table.ravel().tolist() == [0, 1, 0, 2, 3]


def test_before_and_after_are_those_of_the_tables() -> None:
    submission = replace(
        with_more_keys(made(150, 0.6, 14), 14), merges={1: ((2, 3),), 2: ((0, 1),)}
    )
    after = with_merged(submission)
    assert after.schema.n_levels.tolist() == [2, 3, 2, 2, 10]
    found = merged(submission).set_index("measure")
    assert list(found.index) == list(merging.MEASURES)
    for name, one in {"before": submission, "after": after}.items():
        (z,), levels, names = one.released, one.schema.n_levels.tolist(), one.schema.names
        identity = leakage.identity(one.original, z, levels, one.keys)
        margins = utility.margins(one.original, [z], levels, names)
        single = margins["variable_b"] == ""
        labels = [variable.labels for variable in one.schema.variables]
        overlap = utility.interval_overlap(one.original, [z], labels, names, one.keys, 3)
        pmse = utility.propensity(one.original, [z], levels)
        losses = utility.losses(margins, overlap, pmse, 150, 150).set_index("measure")["value"]
        expected = {
            "alone": identity.people / 150,
            "identity": identity.value,
            "attributes": leakage.attributes(one.original, z, levels, one.keys, 3).value,
            "copies": leakage.copies(one.original, z, levels).repeated,
            "margins": margins.loc[single, "mean"].mean(),
            "pairs": margins.loc[~single, "mean"].mean(),
            "intervals": losses["intervals"],
            "pMSE": losses["pMSE"],
        }
        for measure, value in expected.items():
            assert found.loc[measure, name] == pytest.approx(value), measure
    assert np.allclose(found["difference"], found["after"] - found["before"])
    assert (found["error"] >= 0).all()


def test_paired_errors_against_a_bootstrap() -> None:
    submission, rng = (
        replace(made(400, 0.5, 15), merges={1: ((1, 2, 3),)}),
        np.random.default_rng(16),
    )
    found, after = merged(submission).set_index("measure"), with_merged(submission)
    each = [groups.of_each(one, one.released[0])["attributes"] for one in (submission, after)]
    moved = each[1].value - each[0].value
    error = resampled(each[1].group, partial(weighted, moved), rng)
    assert found.loc["attributes", "error"] == pytest.approx(error, rel=0.15)

    def again() -> np.ndarray:
        rows = rng.integers(0, 400, (2, 400))
        differences = [
            merging._distances(one, one.original[rows[0]], [one.released[0][rows[1]]])
            for one in (after, submission)
        ]
        return differences[0] - differences[1]

    spread = np.std([again() for _ in range(80)], axis=0)
    for i, name in enumerate(("margins", "pairs", "intervals")):
        assert 0.5 * spread[i] < found.loc[name, "error"] < 2 * spread[i]


def test_nested_regressions_move_by_as_much_as_is_said() -> None:
    """Of fresh samples: their difference has the standard deviation that the table gives."""
    rows = []
    for seed in range(24):
        submission = replace(made(300, 0.0, 100 + seed), merges={1: ((1, 2, 3),)})
        rows.append([
            utility.propensity(one.original, one.released, one.schema.n_levels)
            .set_index("measure").loc["pMSE", ["mean", "fresh_sd"]] * 4
            for one in (submission, with_merged(submission))
        ])  # fmt: skip
    moved = [float(b["mean"] - a["mean"]) for a, b in rows]
    said = [np.sqrt(a["fresh_sd"] ** 2 - b["fresh_sd"] ** 2) for a, b in rows]
    assert np.std(moved) == pytest.approx(np.mean(said), rel=0.5)


def test_what_merging_changes_in_words() -> None:
    submission = replace(made(20, 0.5, 17), merges={1: ((2, 3),)})
    rows = {
        name: {"before": 0.2, "after": 0.1, "difference": -0.0258, "error": 0.01}
        for name in merging.MEASURES
    }
    rows["attributes_beyond"] |= {"difference": 0.0257}
    found = pd.DataFrame(rows).T.rename_axis("measure").reset_index()
    found["level_before"], found["level_after"] = "more", "no more"
    said = merging.in_a_sentence(submission, found)
    assert said.startswith("With c + d of x merged, the share of people alone and met beyond")
    assert "baseline falls (20.0 to 10.0 %, -2.6 ± 1.0 points; the release tells more, then" in said
    assert "disclosed beyond the baseline does not change beyond its error" in said
    with pytest.raises(ValueError, match="merge is empty"):
        merged(replace(submission, merges={}))


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
    asked = found.merged({"x": [["a", "b"]]})
    given = replace(found.submission, merges=read_merges(found.submission.schema, ["x=a+b"]))
    pd.testing.assert_frame_equal(asked, merged(given))
    assert set(found.coarsening()["variable"]) == {"w", "x", "y", "age"}
    with pytest.raises(ValueError, match="merge is empty"):
        found.merged()
    without = {name: replace(one, groups=None) for name, one in found.findings.items()}
    with pytest.raises(ValueError, match="there is no table 'groups'"):
        replace(found, findings=without).table("groups")


def test_wrong_groups_and_merges_are_told_before_anything_starts(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="by names 'age2'; the variables are w, x, y, z, age"):
        submit(*frames(), target="z", by="age2")
    paths = [tmp_path / name for name in ("original.csv", "made.csv")]
    for path, frame in zip(paths, frames(), strict=True):
        frame.to_csv(path, index=False)
    named = ["assess", *map(str, paths), "--target", "z", "--output", str(tmp_path)]
    for more, told in (
        (["--by", "job"], "by names 'job'"),
        (["--merge", "x=a+b", "--merge", "x=c+q"], "merge 'x=c+q': x has no level '...'"),
    ):
        result = CliRunner().invoke(main, [*named, *more])
        assert result.exit_code == 2
        assert told in result.output.replace("\n", " ")
