"""Numbers told within a tolerance, and several sets of keys: by hand and by enumeration."""

from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srlib.assessment import assess, leakage, participants, verdict, wages
from srlib.assessment import within as within_each
from srlib.assessment.findings import of_key_sets
from srlib.assessment.submission import submit
from srlib.assessment.tolerance import checked_tolerance, told_within, within

NAN = np.nan


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# ------------------------------------------------------------------------------- the measure


@st.composite
def files(draw: st.DrawFn) -> Any:
    """Two files of up to four records: a key of two levels, and a number or none."""
    number = st.one_of(st.integers(0, 4).map(float), st.just(NAN))
    record = st.tuples(st.integers(0, 1), number)
    both = [draw(st.lists(record, min_size=2, max_size=4)) for _ in range(2)]
    return [np.array(each) for each in both]


@settings(max_examples=30)
@given(files(), st.sampled_from([0, 1, 1.5]))
def test_thinned_files_by_enumeration(both: Any, tolerance: float) -> None:
    (original, released), tables = both, [each[:, :1].astype(int) for each in both]
    n, m = len(original), len(released)
    numbers = (original[:, 1], released[:, 1])
    found = within(tables[0], tables[1], [2], [0], numbers, tolerance)

    def told(person: Any, others: Any, kept: float) -> float:
        """Probability over all that may be kept."""
        total = 0.0
        for chosen in product([False, True], repeat=len(others)):
            left = others[list(chosen)]
            values = left[left[:, 0] == person[0], 1]
            near = all(abs(z - person[1]) <= tolerance for z in values)
            probability = np.prod(np.where(chosen, kept, 1 - kept))
            total += float(probability * (len(values) > 0 and near))
        return total

    def by_margins(person: Any) -> float:
        """Probability over all numbers that the release's margin gives those who are kept."""
        kept, p = min(1, n / m), np.mean(np.abs(released[:, 1] - person[1]) <= tolerance)
        s = int((released[:, 0] == person[0]).sum())
        chosen = product([False, True], repeat=s)
        return sum(
            kept ** sum(c) * (1 - kept) ** (s - sum(c)) * p ** sum(c) for c in chosen if any(c)
        )

    each = [
        (
            told(person, released, min(1, n / m)),
            told(person, np.delete(original, i, axis=0), min(1, m / n)),
            by_margins(person),
        )
        for i, person in enumerate(original)
        if not np.isnan(person[1])
    ]
    assert found.people == len(each)
    if each:
        shares = [found.value, found.others, found.margins]
        assert shares == pytest.approx(np.mean(each, axis=0).tolist())
    if n >= m:  # nothing is thinned
        flags = told_within(tables[0], numbers[0], tables[1], numbers[1], [2], [0], tolerance)
        assert flags.tolist() == [bool(person[0]) for person in each]


@pytest.mark.parametrize("size", [50, 80, 200])
def test_of_numbers_that_are_equal_or_far_it_is_the_measure_of_levels(size: int) -> None:
    original, released = (rng(4).integers(0, [4, 5, 6], (n, 3)) for n in (80, size))
    of_levels = leakage.attributes(original, released, [4, 5, 6], [0, 1], 2, [5])
    numbers = [np.where(c[:, 2] == 5, NAN, 10.0 * c[:, 2]) for c in (original, released)]
    found = within(original, released, [4, 5, 6], [0, 1], (numbers[0], numbers[1]), 9.9)
    assert asdict(found) == pytest.approx(asdict(of_levels))


def test_the_median_and_the_mean_are_within_where_all_are() -> None:
    people, released = rng(1).integers(0, 30, (300, 1)), rng(2).integers(0, 30, (90, 1))
    truth, values = rng(3).normal(0, 1, 300), rng(4).normal(0, 1, 90)
    flags = told_within(people, truth, released, values, [30], [0], 1.0)
    assert 0 < flags.sum() < 300
    for person, x in zip(people[flags], truth[flags], strict=True):
        theirs = values[released[:, 0] == person[0]]
        assert abs(np.median(theirs) - x) <= 1
        assert abs(theirs.mean() - x) <= 1
        assert np.ptp(theirs) <= 2


def test_a_difference_of_the_tolerance_counts_whatever_rounding_adds() -> None:
    one = np.zeros((2, 1), int)
    shares = [
        within(one, one, [2], [0], (np.array([x, x]), np.array([z, z])), 0.1).value
        for x, z in ((1.1, 1.0), (1e9 + 0.1, 1e9), (0.3, 0.4), (1.1, 0.9999))
    ]
    assert shares == [1, 1, 1, 0]


def test_other_people_are_seldom_beyond_other_people_and_errors_are_those_of_releases() -> None:
    differences, z, errors = [], [], []
    for seed in range(60):
        people, keys = rng(seed), rng(seed).integers(0, 60, (400, 1))
        numbers = people.normal(keys[:, 0] % 4, 1)
        found = within(
            keys[::2], keys[1::2], [60], [0], (numbers[::2], numbers[1::2]), tolerance=1.0
        )
        differences.append(found.value - found.others)
        z.append(found.z)
        errors.append(np.hypot(found.error, found.others_error))
    mean, spread = np.mean(differences), np.std(differences)
    assert abs(mean) < 5 * spread / np.sqrt(60)
    assert spread < 1.4 * np.mean(errors)  # a standard deviation of 60 has an error of 9 %
    assert np.mean(np.array(z) > verdict.SURE) < 0.05


# ---------------------------------------------------------------------------- files and frames


def incomes(n: int, seed: int) -> pd.DataFrame:
    draw = rng(seed)
    income = draw.integers(0, 90, n).astype(object)
    income[draw.random(n) < 0.1] = "N"
    income[draw.random(n) < 0.1] = None
    return pd.DataFrame(
        {"town": draw.integers(0, 9, n), "job": draw.integers(0, 5, n), "pay": income}
    )


SCHEMA = """
variables:
  - {name: town, levels: ["0", "1", "2", "3", "4", "5", "6", "7", "8"]}
  - {name: job, levels: ["0", "1", "2", "3", "4"]}
  - {name: pay, edges: [10, 20, 30, 40, 50, 60, 70, 80], missing_codes: ["7"], not_applicable: [N]}
"""


def test_files_and_frames_by_hand(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    tables = {
        "original.csv": incomes(90, 1),
        "made.csv": incomes(80, 2),
        "others.csv": incomes(70, 3),
    }
    for name, frame in tables.items():
        frame.to_csv(tmp_path / name, index=False)
    named: dict[str, Any] = {"schema": tmp_path / "schema.yaml", "tolerance": 20, "target": "pay"}
    original, made, others = tables.values()
    of_frames = submit(original, {"made.csv": made}, holdout=others, **named)
    of_files = submit(
        tmp_path / "original.csv",
        tmp_path / "made.csv",
        holdout=tmp_path / "others.csv",
        **named,
    )
    for one in (of_frames, of_files):
        assert one.uncut is not None
        kept = (one.uncut.original, *one.uncut.released, one.uncut.held_out)
        for numbers, frame in zip(kept, tables.values(), strict=True):
            expected = [NAN if pay in ("N", None, 7) else float(pay) for pay in frame["pay"]]
            np.testing.assert_array_equal(numbers, expected)

    def share(people: pd.DataFrame) -> float:
        told = []
        for row in people.itertuples():
            theirs = made[(made["town"] == row.town) & (made["job"] == row.job)]["pay"]
            if row.pay not in ("N", None, 7):
                near = [z not in ("N", None, 7) and abs(z - row.pay) <= 20 for z in theirs]
                told.append(len(near) > 0 and all(near))
        return float(np.mean(told))

    (row,) = within_each(of_files).itertuples()
    assert row.value == pytest.approx(share(original))
    assert "are within 20 of the true pay" in row.text
    assert of_files.held_out is not None
    beside = participants(of_files, of_files.held_out).set_index("measure").loc["within"]
    assert [beside["used"], beside["held_out"]] == pytest.approx([share(original), share(others)])
    assert 0 < share(original) < 1


def test_dropped_records_have_no_numbers_and_a_release_has_its_own() -> None:
    original, made = incomes(90, 1), incomes(80, 2)
    released = {"all": made, "few": made[:50]}
    named: dict[str, Any] = {"target": "pay", "tolerance": 6, "missing": "drop"}
    one = submit(original, released, **named)
    assert one.uncut is not None
    kept = original["pay"].dropna()
    np.testing.assert_array_equal(one.uncut.original, [NAN if x == "N" else x for x in kept])
    few = one.judged()["few"]
    assert few.uncut is not None
    assert [len(numbers) for numbers in few.uncut.released] == [len(z) for z in few.released]
    assert len(within_each(one)) == 2
    assert submit(original, released, target="pay", missing="drop").uncut is None


def test_wages_in_the_report_and_from_python() -> None:
    example = wages(300, 100, rng=rng(2))
    found = within_each(example).set_index("release")
    assert found["level"].tolist() == ["no more", "no more", "far more"]
    assert example.held_out is not None
    beside = participants(example, example.held_out).query("measure == 'within'")
    assert (beside["z"].to_numpy() > verdict.SURE).tolist() == [False, False, True]
    people = pd.DataFrame({"a": [0, 1] * 20, "b": range(40)})
    told = assess(people, [people], target="b", tolerance=1, quick=True, rng=rng(1))
    assert told.to_dict()["results"]["within_mean"] == 0
    assert told.table("within")["people"].tolist() == [40]
    assert "Within 1 of the target" in told.to_html()


PEOPLE = pd.DataFrame({"sick": ["no", "yes"] * 20, "town": list("abcd") * 10, "pay": range(40)})
CUT = pd.DataFrame({"pay": ["below 10"] * 40})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerance": -1}, r"^tolerance is -1; it must be 0 \(none\) or more"),
        ({"tolerance": NAN}, "^tolerance is nan; it must be 0"),
        ({"tolerance": np.inf}, "^tolerance is inf; it must be 0"),
        ({"tolerance": "5"}, "^tolerance is '5'; it must be a number, 0 for none"),
        (
            {"tolerance": 2, "target": "sick"},
            "tolerance is 2, and the target 'sick' is not numeric",
        ),
        (
            {"tolerance": 2, "released": {"made": PEOPLE.assign(pay=np.nan)}},
            "^made: 'pay' has no numb",
        ),
        ({"keys": ["town", ["sick"]]}, "must be a list of names, or a list of such lists"),
        ({"keys": [["town"], []]}, "keys has an empty set; each set but the first must name"),
        ({"keys": [["town"], ["age"]]}, "keys names 'age'; the variables are sick, town, pay"),
        ({"keys": [["town"], ["sick", "pay"]]}, "the set sick,pay, with the target 'pay' in it"),
        ({"keys": [["town", "sick"], ["sick", "town"]]}, "keys has the set sick,town twice"),
        ({"keys": [[], ["town", "sick"]]}, "keys has the set town,sick twice"),
        ({"keys": [["pay"], ["town"]]}, "target is 'pay', which is among the keys pay"),
        (
            {"keys": [["pay"], ["town", "sick"]], "target": None},
            "keys are all variables, in one set or another; name the target",
        ),
    ],
)
def test_errors_are_one_sentence(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"original": PEOPLE, "released": PEOPLE, "target": "pay"}
    with pytest.raises(ValueError, match=message) as error:
        submit(**(arguments | change))
    assert "\n" not in str(error.value)


def test_nothing_is_no_tolerance() -> None:
    assert [checked_tolerance(nothing) for nothing in (None, "", 0)] == [0, 0, 0]


# ------------------------------------------------------------------------- several sets of keys


def test_sets_of_keys_are_compared_each_as_by_itself() -> None:
    codes = rng(11).integers(0, [30, 6, 2, 2], (150, 4))
    original = pd.DataFrame(codes, columns=list("abcd")).astype(str)
    released = [original.sample(150, replace=True, random_state=seed) for seed in (1, 2)]
    sets = [["b"], ["a", "b", "c"], ("a",)]
    submission = submit(original, released, sets, same_generator=True)
    assert (submission.keys, submission.target) == ((1,), 3)
    assert submission.more_keys == ((0, 1, 2), (0,))
    first = submission.original, submission.schema.n_levels
    at = {"b": [1], "a, b, c": [0, 1, 2], "a": [0]}
    every = {
        (known, risk): [
            leakage.identity(first[0], z, first[1], keys)
            if risk == "identity"
            else leakage.attributes(first[0], z, first[1], keys, 3)
            for z in submission.released
        ]
        for known, keys in at.items()
        for risk in ("identity", "attributes")
    }
    found = of_key_sets(submission, every["b", "identity"], every["b", "attributes"])
    assert found["keys"].tolist() == ["a, b, c"] * 2 + found["keys"].tolist()[2:]
    for row in found.itertuples():
        beyond = every[row.keys, row.risk]
        assert row.people == beyond[0].people
        if row.people:
            assert row.value == pytest.approx(np.mean([each.value for each in beyond]))
            assert row.level == verdict.told(beyond, 6)
        else:
            assert (row.keys in "ab", row.risk, row.level) == (True, "identity", "no more")
    order = ["no more", "more", "far more"]
    worst = [max(map(order.index, rows["level"])) for _, rows in found.groupby("keys", sort=False)]
    assert worst == sorted(worst, reverse=True)
    assert worst[0] == 2
    assert worst[-1] == 0


def test_one_set_may_come_alone_and_all_but_the_target_may_be_the_first() -> None:
    for keys in (["town"], ("town",), [["town"]]):
        assert submit(PEOPLE, PEOPLE, keys, "pay").more_keys == ()
    one = submit(PEOPLE, PEOPLE, [[], ["town"]], "pay")
    assert (one.keys, one.more_keys) == ((0, 1), ((1,),))
    found = assess(PEOPLE, PEOPLE, [["town"], ["sick"]], "pay", quick=True, rng=rng(1))
    assert len(found.table("key_sets")) == 4
    assert "Several sets of keys" in found.to_html()


def of_sets(*rows: tuple[str, str, str]) -> str:
    frame = pd.DataFrame(rows, columns=["keys", "risk", "level"])
    frame = frame.assign(value=0.5, others=0.4, margins=0.1)
    return verdict.of_key_sets(frame).replace("\N{NO-BREAK SPACE}", " ")


def test_sets_of_keys_in_words() -> None:
    none, far = ("a, b", "identity", "no more"), ("c", "attributes", "far more")
    assert of_sets(none).startswith("With one set of keys, the release tells no more")
    assert "With 2 sets of keys in turn, the release tells no more" in of_sets(
        none, ("c", "identity", "no more")
    )
    text = of_sets(far, ("c", "identity", "no more"), none)
    assert text == (
        "With 2 sets of keys in turn, the release tells more than other people's records would "
        "with 1: c (attributes: 50.0 % of the people against 40.0 %)."
    )
    many = of_sets(*[(name, "identity", "more") for name in "abcd"])
    assert "with 4: above all a (identity: 50.0 % of the people alone with them against" in many
    assert many.count("against") == 3
