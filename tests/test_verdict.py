"""Words of the verdict beside the numbers they stand for, and an agency's rules."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from srlib.assessment import verdict
from srlib.assessment.leakage import Beyond, Copies
from srlib.assessment.verdict import Line, percent, span

NONE = Copies(
    repeated=0.3,
    repeated_error=0.01,
    others=0.32,
    others_error=0.01,
    repeated_z=-1.0,
    alone=400,
    met=30,
    handed_out=0.0,
    handed_out_error=0.01,
    handed_out_z=0.0,
    at_most=0.04,
    near_z=0.0,
    itself_z=0.0,
    same_table=False,
    in_order=False,
    same_row=0.5,
    same_row_others=0.5,
    same_row_z=0.0,
    premise="",
    found=np.zeros(1_000, bool),
    neighbors=np.zeros(1_000, int),
    released=1_000,
)


def copied(**changes: object) -> Copies:
    return dataclasses.replace(NONE, **changes)  # type: ignore[arg-type]


def beyond(value: float, others: float, z: float, margins: float = 0.1) -> Beyond:
    return Beyond(200, value, 0.02, others, 0.02, margins, z)


def losses(**values: float) -> pd.DataFrame:
    rows = [
        {"measure": name, "which": "a × b", "value": 0.01 + loss, "fresh": 0.01, "error": 0.004}
        | {"loss": loss}
        for name, loss in values.items()
    ]
    return pd.DataFrame(rows)


def lines(
    copies: Copies = NONE, identity: float = 0.0, attributes: float = 0.0, loss: float = 0.0
) -> verdict.Judgment:
    """A judgment with risks that take a share of what their baseline leaves to disclose."""
    of = [beyond(0.2 + 0.8 * rest, 0.2, 40 * rest) for rest in (identity, attributes)]
    found = (
        verdict.of_copies([copies]),
        verdict.of_identity([of[0]]),
        verdict.of_attributes([of[1]], "sick"),
        verdict.of_utility(losses(margins=0.0, pairs=loss)),
        verdict.NOT_COMPUTED,
    )
    return verdict.judge("made.csv", found, [copies], "sick")


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({}, "none", "no sign of copies; 30 of the 400 people alone with all their values are in"),
        ({}, "none", "copies spread over all of them would be 4.0\xa0% at most"),
        ({"alone": 0, "at_most": np.nan}, "none", "nobody is alone with all values"),
        ({"at_most": 0.11}, "undecided", "up to 11.0\xa0% of the 400 people"),
        (
            {"at_most": 0.11, "alone": 180},
            "none",
            "copies spread over all of them would be 11.0\xa0% at most",
        ),
        ({"repeated_z": 2.5, "handed_out_z": 2.5}, "none", "no sign"),
        ({"repeated_z": 2.6}, "signs", "more than coincidence explains"),
        ({"handed_out_z": 2.6, "handed_out": 0.05}, "signs", "estimated 5.0\xa0% (3.0 to 7.0) of"),
        ({"handed_out_z": 3.4, "handed_out": 0.05}, "found", "estimated 5.0\xa0%"),
        ({"same_table": True, "repeated": 1.0}, "found", "the original itself, in another order"),
        ({"same_table": True, "in_order": True}, "found", "the original itself, row by row"),
        ({"same_row_z": 7.0, "same_row": 0.9}, "found", "follow the original's: 90.0\xa0% of the"),
        ({"near_z": 2.6}, "signs", "more of them nearly repeat one than coincidence explains"),
        ({"near_z": 3.4}, "found", "more of them nearly repeat one than coincidence explains"),
        ({"premise": "twins"}, "undecided", "a copy cannot be told from a twin"),
        ({"premise": "removed", "repeated_z": np.nan}, "undecided", "if equal ones were removed"),
        ({"released": 19}, "undecided", "too few records to judge"),
        ({"alone": 1, "met": 0}, "none", "0 of the one person alone with all their values"),
    ],
)
def test_copies(changes: dict[str, object], level: str, words: str) -> None:
    line = verdict.of_copies([copied(**changes)])
    assert line.level == level
    assert words in line.text
    assert line.baseline == 0.32
    released = changes.get("released", 1_000)
    assert isinstance(released, int)
    assert (line.low, line.high) == pytest.approx(verdict.wilson(line.value, released))


def test_the_worst_copy_decides_among_draws_of_one_generator() -> None:
    line = verdict.of_copies([NONE, copied(same_table=True, repeated=1.0), NONE])
    assert (line.level, line.value) == ("found", 1.0)


@pytest.mark.parametrize(
    ("value", "others", "z", "level"),
    [
        (0.3, 0.2, 2.5, "no more"),
        (0.1, 0.2, -5.0, "no more"),
        (0.3, 0.2, 3.0, "more"),
        (0.37, 0.2, 3.0, "far more"),
        # The same share of what is left, also where the baseline is above one half.
        (0.904, 0.9, 3.0, "no more"),
        (0.91, 0.9, 3.0, "more"),
        (0.93, 0.9, 3.0, "far more"),
        (1.0, 0.99, 3.0, "far more"),
        (0.37, 0.2, np.nan, "no more"),
    ],
)
def test_levels_are_shares_of_what_is_left(
    value: float, others: float, z: float, level: str
) -> None:
    for line in (
        verdict.of_identity([beyond(value, others, z)]),
        verdict.of_attributes([beyond(value, others, z)], "sick"),
    ):
        assert line.level == level
        assert f"it tells {level} than they would" in line.text
        assert percent(value) in line.text
        assert percent(others) in line.text


def test_several_draws_of_one_generator_show_their_spread() -> None:
    found = [beyond(value, 0.2, 1.0) for value in (0.1, 0.2, 0.6)]
    line = verdict.of_attributes(found, "sick")
    assert line.value == pytest.approx(0.3)
    error = np.std([0.1, 0.2, 0.6], ddof=1) / np.sqrt(3)
    wanted = verdict.wilson(0.3, 0.3 * 0.7 / error**2)
    assert (line.low, line.high) == pytest.approx(wanted)
    assert "(3 releases, 10.0 to 60.0)" in line.text


@pytest.mark.parametrize(
    ("loss", "level", "words"),
    [
        (0.0, "as fresh", "the worst of many comparisons, and no more than chance"),
        (0.05, "good", "worse than a fresh sample, by little"),
        (0.051, "limited", "worse than a fresh sample; look before you use it"),
        (0.151, "poor", "far worse than a fresh sample; associations or margins are lost"),
    ],
)
def test_utility_is_that_of_the_worst_loss(loss: float, level: str, words: str) -> None:
    for worst in ("margins", "pairs", "intervals", "pMSE"):
        values = dict.fromkeys(("margins", "pairs", "intervals", "pMSE"), 0.0) | {worst: loss}
        line = verdict.of_utility(losses(**values))
        assert (line.level, line.value) == (level, loss)
        assert words in line.text
    nothing = losses(pairs=np.nan)
    assert verdict.of_utility(nothing).text == "nothing can be compared."


@pytest.mark.parametrize("loss", [0.001, 0.05, 0.1, 0.5])
def test_what_is_beyond_a_fresh_samples_error_is_never_called_as_good(loss: float) -> None:
    judgment = lines(loss=loss)
    assert "worse than a fresh sample" in judgment.lines[3].text
    assert "less useful than a fresh sample" in judgment.first or "little use" in judgment.first
    for word in ("good", "close"):
        assert word not in judgment.first + judgment.lines[3].text


def test_customary_numbers_stand_beside_a_fresh_samples() -> None:
    columns = ["measure", "value", "fresh", "error", "worse"]
    rows = [("pMSE ratio", 4.33, 2.0, 0.49, 4.8), ("standardized pMSE", 13.7, 4.1, 2.0, 4.8)]
    rows.append(("overlap", np.nan, np.nan, np.nan, np.nan))
    text = verdict.of_utility(losses(pMSE=0.04), pd.DataFrame(rows, columns=columns)).text
    assert "by little; pMSE ratio 4.33 (a fresh sample's 2.00 ± 0.49)." in text
    assert "overlap" not in text  # where no coefficient is known


@pytest.mark.parametrize(
    ("belief", "words"),
    [
        ("not refuted", "(R-hat 1.01)."),
        ("misleads", "the model is wrong for this release and misleads that intruder."),
        ("falls short", "the release tells more than the model can explain."),
    ],
)
def test_gains_of_a_wrong_model_are_named_so(belief: str, words: str) -> None:
    line = verdict.of_model((0.97, 0.97, 0.97), 1.2, 1.01, True, "sick", belief)
    assert line.text.endswith(words)


def test_the_model_is_named_an_assumption_with_its_interval() -> None:
    line = verdict.of_model((1.1, 1.05, 1.15), 2.0, 1.3, False, "sick")
    assert line.level == "rough"
    assert "believes in a DPMPM" in line.text
    assert "1.10 (1.05 to 1.15)" in line.text
    assert "chains disagree" in line.text
    agreed = verdict.of_model((1.1, 1.05, 1.15), 2.0, 1.01, True, "sick")
    assert agreed.level == "converged"
    assert "chains agree" in agreed.text


@pytest.mark.parametrize(
    ("judgment", "advice", "first"),
    [
        (lines(), "nothing found", "releasing made.csv; it is as useful as a fresh sample."),
        (lines(loss=0.3), "nothing found", "made.csv, but it is of little use."),
        (lines(copied(at_most=0.2)), "undecided", "Undecided on made.csv: chance meetings could"),
        (lines(attributes=0.1), "look", "it tells more about sick than other people's records"),
        (lines(copied(repeated_z=3.0)), "look", "there are signs of copied records"),
        (lines(identity=0.3), "withhold", "far more about people alone with their keys than"),
        (lines(copied(repeated_z=9.0)), "withhold", "30.0\xa0% of its records repeat original"),
        (
            lines(copied(handed_out_z=9.0, handed_out=0.1)),
            "withhold",
            "an estimated 10.0\xa0% of the people alone with their values are in it",
        ),
        (lines(copied(same_table=True)), "withhold", "it is the original itself"),
        (lines(copied(same_row_z=9.0)), "withhold", "its rows follow the original's, with 50.0"),
        (lines(copied(near_z=9.0)), "withhold", "more of its records nearly repeat original ones"),
        (lines(copied(premise="twins")), "undecided", "the original repeats people"),
        (lines(copied(premise="removed")), "undecided", "equal records seem to be removed"),
        (lines(copied(released=5)), "undecided", "there are too few records to judge"),
        # What is worse decides, whatever else is fine.
        (lines(copied(at_most=0.2), attributes=0.3), "withhold", "far more about sick"),
        (lines(copied(repeated_z=3.0), loss=0.3), "look", "signs of copied records"),
    ],
)
def test_the_first_line(judgment: verdict.Judgment, advice: str, first: str) -> None:
    assert judgment.advice == advice
    assert first in judgment.first
    assert len(judgment.first.split()) <= 25
    assert "DPMPM" not in judgment.first
    assert [line.topic for line in judgment.lines] == list(verdict.LEVELS)
    assert all(line.level in verdict.LEVELS[line.topic] for line in judgment.lines)


def test_the_worst_release_stands_first() -> None:
    found = [lines(), lines(attributes=0.1), lines(copied(at_most=0.2)), lines(attributes=0.5)]
    ordered = verdict.worst_first([*found, lines(copied(same_table=True, repeated=1.0))])
    assert [each.advice for each in ordered] == [
        *("withhold", "withhold", "look", "undecided", "nothing found")
    ]
    assert "original itself" in ordered[0].first
    text = verdict.markdown(ordered)
    assert text.startswith(f"**{ordered[0].first}**\n\n- **copies:** ")
    frame = verdict.table(ordered)
    assert len(frame) == 25
    assert frame["first"].iloc[0] == ordered[0].first


def test_the_rules_are_stated_with_their_thresholds() -> None:
    text = verdict.stated()
    for number in (verdict.SURE, verdict.CERTAIN, 2 * verdict.CERTAIN):
        assert f"{number:g}" in text
    for share in (
        verdict.FAR,
        verdict.MORE,
        verdict.UNSEEN,
        verdict.UNSEEN_OF_ALL,
        verdict.GOOD,
        verdict.LIMITED,
    ):
        assert percent(share) in text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0"),
        (1.0, "100"),
        (0.0004, "<0.1"),
        (0.0006, "0.1"),
        (0.9996, ">99.9"),
        (-0.0001, "<0.1"),
        (0.123, "12.3"),
    ],
)
def test_nothing_is_printed_as_zero_or_all_that_is_not(share: float, text: str) -> None:
    assert percent(share) == f"{text}\xa0%"
    assert span(share, 0.5) == f"{text} to 50.0"


def test_wilson_intervals() -> None:
    found = stats.binomtest(7, 50).proportion_ci(method="wilson")
    assert verdict.wilson(7 / 50, 50) == pytest.approx((found.low, found.high))
    assert verdict.wilson(1.0, 20)[1] == 1
    assert verdict.wilson(0.0, 20)[0] == 0
    assert verdict.wilson(1.0, 20)[0] < 0.9


# ---------------------------------------------------------------------------------------- rules


def test_broken_rules_name_release_topic_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "copies: {worst_level: undecided}\n"
        "attributes: {worst_level: more, rest_at_most: 0.05}\n"
        "utility: {value_at_most: 0.2}\n"
        "model: {value_at_most: 2}\n"
    )
    rules = verdict.read_rules(path)
    assert [rule["topic"] for rule in verdict.broken([lines()], rules)] == ["model"]  # no value
    found = verdict.broken([lines(copied(repeated_z=3.0), attributes=0.1, loss=0.3)], rules)
    assert found[:3] == [
        {
            "release": "made.csv",
            "topic": "copies",
            "reason": "is 'signs'; at worst 'undecided' is allowed",
        },
        {
            "release": "made.csv",
            "topic": "attributes",
            "reason": "has a share of the rest of 0.1; at most 0.05 is allowed",
        },
        {
            "release": "made.csv",
            "topic": "utility",
            "reason": "has a value of 0.3; at most 0.2 is allowed",
        },
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "cannot be read as YAML"),
        ("", "must be a mapping of copies, identity"),
        ("copy: {worst_level: none}", "unknown topic 'copy'; allowed are copies, identity"),
        ("copies: none", "copies must be a mapping with worst_level, value_at_most, rest_at_most"),
        ("copies: {worst: none}", "copies must be a mapping with"),
        ("copies: {worst_level: bad}", "worst_level is 'bad'; allowed are none, undecided, signs"),
        ("utility: {value_at_most: much}", "value_at_most is 'much'; it must be a number"),
        ("utility: {value_at_most: true}", "value_at_most is True; it must be a number"),
        ("utility: {value_at_most: .nan}", "value_at_most is nan; it must be a number"),
    ],
)
def test_rules_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        verdict.read_rules(path)


def test_a_rest_that_no_baseline_leaves() -> None:
    assert Line("copies", "none", 1.0, 1.0, 1.0, 1.0, "").rest == 0
