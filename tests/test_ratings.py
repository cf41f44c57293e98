"""Rows, their errors and words, and the verdict that follows from them."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import LEVELS, margins, samples

from srlib.assessment import ratings, run, utility, verdict
from srlib.assessment.attribute import attribute_disclosure
from srlib.assessment.copies import Copies
from srlib.assessment.counts import Row, holdout_contrast, new_row
from srlib.assessment.disclosure import Attack, Disclosure
from srlib.assessment.files import Files
from srlib.assessment.identity import IdentityDisclosure, identity_disclosure
from srlib.display import MIN_RECORDS, NOT_SHOWN, percent, percent_with_error

NAN, KEYS, TARGET = np.nan, [0, 1, 2, 3, 4], 13


def deviate_of(question: str) -> str:
    """Name of the argument of `copied` that sets a question's deviate."""
    return re.sub("[ -]", "_", question) + "_z"


def copied(
    alone: int = 400,
    released: int = 500,
    at_most: float = 0.04,
    held: float = 0.1,
    handed_out: float = 0.0,
    repeated: float = 0.3,
    others: float = 0.32,
    complete: float = 0.3,
    baseline_problem: str = "",
    same_table: bool = False,
    **z: float,
) -> Copies:
    """A release without copies, but for what is given."""
    shares = {
        "identical records": {
            "estimate": repeated,
            "se": 0.01,
            "baseline": others,
            "baseline_se": 0.01,
        },
        "copied uniques": {"estimate": handed_out},
        "undetected copies": {"estimate": at_most, "baseline": held},
        "near-duplicates": {"estimate": 0.2, "baseline": 0.1},
        "repeated unique": {"estimate": 0.1, "baseline": 0.0},
        "excess over own duplicates": {},
        "identical before binning": {
            "estimate": min(repeated, complete),
            "baseline": others,
        },
        "row order": {"estimate": 0.5},
    }
    rows = {
        question: new_row(question, released) | of for question, of in shares.items()
    }
    rows["undetected copies"]["n"] = alone
    rows["near-duplicates"]["detail"] = (
        "share 9 or more of 14 values with an original record"
    )
    rows["repeated unique"]["detail"] = "one unique record, 12 times"
    rows["identical records"]["z"] = z.get("repeated_z", -1.0)
    for question in ("copied uniques", "near-duplicates", "identical before binning"):
        rows[question]["z_permutation"] = z.get(deviate_of(question), 0.0)
    rows["identical before binning"]["z"] = z.get("complete_z", 1.7)
    for question in ("repeated unique", "excess over own duplicates", "row order"):
        rows[question]["z"] = z.get(deviate_of(question), 0.0)
    return Copies(
        rows, same_table, baseline_problem, np.zeros(1_000, bool), np.zeros(1_000, int)
    )


def disclosed_alike(
    release: float, fresh_sample: float = 0.0, margins: float = 0.0
) -> Disclosure:
    """Nine people who are disclosed with the same probabilities."""
    return Disclosure(
        eligible=np.ones(9, bool),
        release=np.full(9, release),
        fresh_sample=np.full(9, fresh_sample),
        margins=np.full(9, margins),
        cluster=np.arange(9),
        certain=np.ones(9, bool),
    )


def test_a_release_that_discloses_as_margins_do_has_no_excess() -> None:
    above_fresh_sample = disclosed_alike(0.3, fresh_sample=0.1, margins=0.0)
    as_margins = disclosed_alike(0.3, fresh_sample=0.1, margins=0.3)

    assert above_fresh_sample.compare()["z"] > 0
    assert as_margins.compare()["z"] == 0


def test_uniques_matched_as_often_as_by_margins_are_no_excess() -> None:
    n = 400
    is_matched = np.arange(n) < 0.5 * n
    z = {}
    for margins in (0.2, 0.5):
        found = IdentityDisclosure(
            eligible=np.ones(n, bool),
            release=is_matched.astype(float),
            fresh_sample=np.full(n, 0.2),
            margins=np.full(n, margins),
            cluster=np.arange(n),
            certain=is_matched,
            permutation_z=5.0,
            effective_trials=float(n),
        )
        z[margins] = found.compare()["z"]

    assert z[0.2] > 5
    assert z[0.5] == 0


def test_errors_are_not_smaller_than_the_spread_over_releases(
    rng: np.random.Generator,
) -> None:
    """One original, 60 releases of its margins, and several releases answered together."""
    (x,) = samples(rng, 500)
    released = [margins(x, rng) for _ in range(60)]
    each: list[Any]
    for each in (
        [identity_disclosure(Files(x, z, LEVELS), KEYS) for z in released],
        [
            attribute_disclosure(Files(x, z, LEVELS), Attack(KEYS, TARGET))
            for z in released
        ],
    ):
        rows = [ratings.summarize([one]) for one in each]
        values, errors = (
            np.array([row[name] for row in rows]) for name in ("estimate", "se")
        )
        assert 0.9 < errors.mean() / values.std(ddof=1) < 5
        assert np.mean([row["z"] >= ratings.Z_SIGNIFICANT for row in rows]) <= 0.05
        together = ratings.summarize(each[:3])
        assert together["estimate"] == pytest.approx(values[:3].mean())
        between = values[:3].std(ddof=1) / np.sqrt(3)
        assert together["se"] == pytest.approx(max(between, errors[:3].mean()))
    # Everybody is told the same by each release, so that only releases differ.
    shares = (0.2, 0.5, 0.6)
    each = [disclosed_alike(share) for share in shares]
    error = ratings.summarize(each)["se"]
    assert error == pytest.approx(np.std(shares, ddof=1) / np.sqrt(3))
    for of_others, of_margins in ((0.1, 0.3), (0.3, 0.1)):
        one = disclosed_alike(1, of_others, of_margins)
        found = ratings.summarize([one])
        assert found["baseline_kind"] == (
            "fresh sample" if of_others > of_margins else "independent margins"
        )
        assert found["baseline"] == pytest.approx(0.3)


def test_groups_by_hand_and_against_a_bootstrap(rng: np.random.Generator) -> None:
    x, z = samples(rng, 600, 600)
    one, group = identity_disclosure(Files(x, z, LEVELS), KEYS), x[:, 4]
    companions = np.bincount(one.cluster)[one.cluster] - 1.0
    unmet = 1 - one.fresh_sample.sum() / (companions == 0).sum()
    power = np.log(unmet) / np.log(
        (companions == 0).sum() / ((1 - 0.5**1.5) ** companions).sum()
    )

    def foretold(weight: Any) -> float:
        """Number of people alone whom others' records meet, of people who weigh so much."""
        whole, part = ((weight * (1 - t) ** companions).sum() for t in (1, 0.5**1.5))
        return float(whole * (1 - (whole / part) ** power))

    of_told = attribute_disclosure(Files(x, z, LEVELS), Attack(KEYS, TARGET))
    for code in np.unique(group):
        part = group == code
        alone = part & (companions == 0)
        row = ratings.summarize([one], part)
        assert row["n"] == alone.sum()
        assert row["estimate"] == pytest.approx(one.release[alone].mean())
        others = (
            (foretold(1 + 1e-5 * part) - foretold(1 - 1e-5 * part)) / 2e-5 / alone.sum()
        )
        assert row["fresh_sample"] == pytest.approx(np.clip(others, 0, 1), abs=1e-6)
        if part.sum() >= 100:
            drawn = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), 800)[
                :, of_told.cluster
            ]
            values = drawn @ (part * of_told.release) / (drawn @ part)
            row = ratings.summarize([of_told], part)
            assert row["se"] == pytest.approx(np.std(values), rel=0.15)


def test_people_held_out_by_hand() -> None:
    """Two keys' levels and the target: released are (0, 0) twice and (1, 1) once."""
    used = np.array([(0, 0), (0, 1), (1, 1), (2, 0)])
    holdout = np.array([(0, 0), (1, 0), (2, 1), (2, 1), (2, 0)])
    released = np.array([(0, 0), (0, 0), (1, 1)])
    files = Files(used, released, [3, 2], holdout)
    (copied,) = run._measure_full_matches([files])
    spread = np.sqrt(0.5 * 0.5 / 4 + 0.2 * 0.8 / 5)
    assert (copied["n"], copied["estimate"], copied["holdout"]) == (4, 1 / 2, 1 / 5)
    assert copied["z_holdout"] == pytest.approx((1 / 2 - 1 / 5) / spread)
    # Two groups of people who move together: what is told of the first, and of the
    # others.
    tells, group = np.array([1.0, 0, 1, 0, 0]), np.array([0, 1, 0, 1, 1])
    found = holdout_contrast(tells, np.ones(5), 2, group)
    assert found["z_holdout"] == pytest.approx((1 / 2 - 1 / 3) / (np.sqrt(2) / 36))
    disclosed = attribute_disclosure(files, Attack([0], 1)).holdout
    assert disclosed["holdout"] == 1 / 5
    # In four of the five, those with 0 and 1 are alone, and those with 2 never are.
    assert identity_disclosure(files, [0]).holdout["holdout"] == 1


def test_people_held_out_are_as_those_in_the_file_where_nothing_leaks() -> None:
    rng, z = np.random.default_rng(8), []
    for _ in range(60):
        used, holdout, released = samples(rng, 300, 250, 300)
        files = Files(used, released, LEVELS, holdout)
        rows = [
            identity_disclosure(files, range(14)),
            identity_disclosure(files, KEYS),
            attribute_disclosure(files, Attack(KEYS, TARGET)),
        ]
        z.append([one.holdout["z_holdout"] for one in rows])
    # Standard errors of a standard deviation and of a mean, of 60: 0.09 and 0.13.
    assert (np.abs(np.std(z, axis=0) - 1) < 0.4).all()
    assert (np.abs(np.mean(z, axis=0)) < 0.6).all()


def row(value: float, others: float, z: float, **more: object) -> Row:
    return {
        "estimate": value,
        "baseline": others,
        "z": z,
        "z_permutation": NAN,
        "n": 200,
        "group": "all",
        "baseline_kind": "fresh sample",
    } | more


def test_words_are_shares_of_what_is_left() -> None:
    """The same share of what is left, also where the baseline is above one half."""
    for value, others, z, word in (
        (0.3, 0.2, 2.5, "as expected"),
        (0.1, 0.2, -5.0, "as expected"),
        (0.37, 0.2, NAN, "as expected"),
        (0.3, 0.2, 3.0, "elevated"),
        (0.37, 0.2, 3.0, "high"),
        (0.904, 0.9, 3.0, "as expected"),
        (0.91, 0.9, 3.0, "elevated"),
        (0.93, 0.9, 3.0, "high"),
        (1.0, 1.0, 3.0, "as expected"),
    ):
        rows = [row(value, others, z), row(value, others, -9.0, z_permutation=z)]
        ratings.rate(rows, family=False)
        assert [each["rating"] for each in rows] == [word, word]


def test_of_many_questions_each_is_as_sure_as_one() -> None:
    """Holm by hand: of three, 2.94, 2.81 and 2.58 errors are needed, the largest first."""
    for z, clear in (
        ((2.9, 2.9, 2.9), (0, 0, 0)),
        ((2.95, 2.80, 2.7), (1, 0, 0)),
        ((2.59, 2.82, 2.95), (1, 1, 1)),
        ((2.57, 2.82, 2.95), (0, 1, 1)),
    ):
        rows = [row(0.5, 0.2, each) for each in z]
        ratings.rate(rows, family=True)
        assert [each["rating"] == "high" for each in rows] == [
            bool(each) for each in clear
        ]
    few = [row(0.9, 0.1, 9.0, group="town: x", n=people) for people in (9, 10)]
    ratings.rate(few, family=False)
    assert [each["rating"] for each in few] == ["too few people", "high"]


def test_far_more_of_a_target_takes_a_guess_that_agrees() -> None:
    for z_guess, word in ((2.5, "elevated"), (NAN, "elevated"), (2.6, "high")):
        rows = [
            row(0.9, 0.2, 9.0, question="attribute", variables="job → sick"),
            row(0.3, 0.2, z_guess, question="inference", variables="job → sick"),
            row(0.9, 0.2, 9.0, question="inference", variables="town → sick"),
            row(0.9, 0.2, 9.0, question="identity", variables="job"),
        ]
        ratings.rate(rows, family=False)
        ratings.cap_unsupported_ratings(rows)
        assert [rows[0]["rating"], rows[3]["rating"]] == [word, "high"]


def test_errors_of_shares_of_few_people_are_not_shown() -> None:
    few, enough = (row(0.9, 0.1, 9.0, n=n, baseline_se=0.5) for n in (9, 10))
    ratings.rate([few, enough], family=False)
    assert [few["rating"], enough["rating"]] == ["too few people", "high"]
    assert np.isnan(few["baseline_se"])
    assert enough["baseline_se"] == 0.5


def test_the_card_has_what_decides_and_the_same_lines_for_all_releases() -> None:
    deciding = {
        deviate_of(question): line for question, line in verdict.DECIDING.items()
    }
    always = [*verdict.CARD.values(), "utility loss, two-way tables"]
    for z in (
        "",
        "row_order_z",
        "near_duplicates_z",
        "repeated_unique_z",
        "copied_uniques_z",
    ):
        _, table = judged(copies={z: 9.0} if z else {})
        card = verdict.card(table).set_index("measure")
        further = [line for line in card.index if line not in always]
        assert [line for line in card.index if line in always] == always
        assert further == ([deciding[z]] if z in deciding else [])
        rating = card.loc["records identical to an original", "rating"]
        assert rating == ("found" if z else "no sign")
        assert all(card.loc[further, "rating"] == "found")
    assert card.loc[verdict.CARD["copied uniques"], ["z", "rating"]].tolist() == [
        "9.0",
        "found",
    ]
    assert card.loc[verdict.CARD["undetected copies"], "release"] == "up to 4.0\xa0%"


def judged(name: str = "made", **given: Any) -> tuple[verdict.Verdict, pd.DataFrame]:
    """A verdict on questions that take a share of what their baseline leaves to disclose."""
    loss = given.get("loss", 0.0)
    named = {"se": 0.01, "baseline_se": 0.01, "in_verdict": True}
    named["n"] = given.get("people", 200)
    questions = {
        "identity": "of the sample uniques are matched on the keys",
        "attribute": "of the records have their sick disclosed by the key matches",
        "inference": "mean probability of the true sick, predicted from the release",
    }
    rows = [
        row(0.2 + 0.8 * given.get(q, 0), 0.2, 40 * given.get(q, 0), question=q, why=why)
        | named
        for q, why in questions.items()
    ]
    ratings.rate(rows, family=False)
    losses = row(loss, 0.0, 100 * loss) | {
        "rating": utility.rate_utility(loss, loss > 0),
        "se": 0.01,
    }
    by_chance = row(0.9, 0.9, -1.0, question="one-way tables", rating="good", se=0.01)
    copy_rows = ratings.copy_rows([copied(), copied(**given.get("copies", {}))])
    table = pd.DataFrame(
        [*copy_rows, *rows, by_chance, losses | {"question": "two-way tables"}]
    )
    table = table.assign(release=name, in_verdict=table["in_verdict"] == True)  # noqa: E712
    table = table.fillna({"detail": ""})
    table = table.fillna({"group": "all", "baseline_kind": "", "rating": ""})
    return verdict.judge(name, table), table


@pytest.mark.parametrize(
    ("given", "advice", "first"),
    [
        (
            {},
            "no sign of disclosure",
            "Utility: like a fresh sample. Not tested: an intruder who",
        ),
        (
            {"copies": {"alone": 0, "at_most": NAN, "held": NAN}},
            "no sign of disclosure",
            "",
        ),
        (
            {"copies": {"at_most": 0.13}},
            "undecided",
            "copies of up to 13.0\xa0% of the",
        ),
        ({"copies": {"at_most": 0.13, "alone": 23}}, "no sign of disclosure", ""),
        (
            {"copies": {"at_most": 0.13, "alone": 24}},
            "undecided",
            "could go undetected",
        ),
        # Where a fresh sample would have the values of more than a third, a copy says
        # little.
        ({"copies": {"at_most": 0.9, "held": 0.34}}, "no sign of disclosure", ""),
        (
            {"copies": {"at_most": 0.9, "held": 0.33}},
            "undecided",
            "could go undetected",
        ),
        (
            {"copies": {"repeated": 0.006, "others": 0.0005}},
            "undecided",
            "too few to distinguish copies",
        ),
        (
            {"copies": {"repeated": 0.006, "others": 0.0, "complete_z": 1.6}},
            "no sign of disclosure",
            "the keys, but 3 of its 500 records are complete copies",
        ),
        (
            {"copies": {"complete": 0.006, "others": 0.0005}},
            "undecided",
            "0.6\xa0% of its records",
        ),
        (
            {"copies": {"repeated": 0.004, "others": 0.0}},
            "no sign of disclosure",
            "the keys, but 2 of its 500 records are complete copies",
        ),
        (
            {"copies": {"repeated": 0.002, "others": 0.0}},
            "no sign of disclosure",
            "the keys, but 1 of its 500 records is a complete copy.",
        ),
        (
            {"copies": {"repeated": 0.004, "others": 0.0005}},
            "no sign of disclosure",
            "Utility: like a fresh",
        ),
        ({"copies": {"repeated": 0.006, "others": 0.006}}, "no sign of disclosure", ""),
        (
            {"copies": {"repeated_z": 2.6}},
            "review",
            "there are signs of copied records",
        ),
        (
            {"copies": {"copied_uniques_z": 2.6}},
            "review",
            "there are signs of copied records",
        ),
        (
            {"copies": {"near_duplicates_z": 2.6}},
            "review",
            "there are signs of copied records",
        ),
        (
            {"copies": {"repeated_unique_z": 1.7}},
            "review",
            "there are signs of copied records",
        ),
        ({"copies": {"repeated_unique_z": 1.6}}, "no sign of disclosure", ""),
        (
            {"copies": {"excess_over_own_duplicates_z": 3.0}},
            "review",
            "signs of copied",
        ),
        (
            {"copies": {"excess_over_own_duplicates_z": 2.9}},
            "no sign of disclosure",
            "",
        ),
        ({"copies": {"identical_before_binning_z": 3.4}}, "review", "signs of copied"),
        ({"copies": {"identical_before_binning_z": 3.2}}, "no sign of disclosure", ""),
        (
            {"copies": {"repeated_z": 9.0}},
            "do not release",
            "30.0\xa0% of its records are identical to an original",
        ),
        (
            {"copies": {"copied_uniques_z": 3.4, "handed_out": 0.1}},
            "do not release",
            "estimated 10.0\xa0%",
        ),
        (
            {"copies": {"same_table": True}},
            "do not release",
            "it is the original itself",
        ),
        (
            {"copies": {"row_order_z": 7.0}},
            "do not release",
            "its rows are in the order of the original: 50.0",
        ),
        ({"copies": {"row_order_z": 6.5}}, "no sign of disclosure", ""),
        (
            {"copies": {"released": 20, "alone": 180, "at_most": 0.1}},
            "no sign of disclosure",
            "",
        ),
        ({"copies": {"at_most": 0.12, "alone": 900}}, "no sign of disclosure", ""),
        (
            {"copies": {"near_duplicates_z": 3.4}},
            "do not release",
            "20.0\xa0% of its records share 9 or more of 14 values with an original record; "
            "10.0\xa0% expected",
        ),
        (
            {"copies": {"repeated_unique_z": 2.4}},
            "do not release",
            "it contains one unique record, 12 t",
        ),
        (
            {"copies": {"baseline_problem": "duplicates"}},
            "undecided",
            "the original contains duplicates",
        ),
        (
            {"copies": {"baseline_problem": "deduplicated", "repeated_z": NAN}},
            "undecided",
            "seem to have been removed",
        ),
        (
            {"copies": {"released": 19}},
            "undecided",
            "there are too few records to judge",
        ),
        (
            {"loss": 0.05},
            "no sign of disclosure",
            "Utility: slightly below a fresh sample.",
        ),
        (
            {"loss": 0.1},
            "no sign of disclosure",
            "Utility: clearly below a fresh sample.",
        ),
        ({"loss": 0.3}, "no sign of disclosure", "Utility: poor."),
        (
            {"attribute": 0.1},
            "review",
            "28.0\xa0% of the records have their sick disclosed",
        ),
        (
            {"identity": 0.3},
            "do not release",
            "44.0\xa0% of the sample uniques are matched on the keys; 20.0\xa0% expected",
        ),
        ({"inference": 0.1}, "review", "28.0\xa0% mean probability of the true sick"),
        (
            {"identity": 0.1, "inference": 0.3},
            "do not release",
            "44.0\xa0% mean probability of the true sick",
        ),
        # What is worse decides, whatever else is fine.
        (
            {"copies": {"at_most": 0.2}, "attribute": 0.3},
            "do not release",
            "44.0\xa0% of the records have their sick disclosed",
        ),
        (
            {"copies": {"repeated_z": 3.0}, "loss": 0.3},
            "review",
            "signs of copied records",
        ),
        (
            {"copies": {"same_table": True}, "identity": 0.3},
            "do not release",
            "the original itself",
        ),
    ],
)
def test_the_worst_answer_decides(
    given: dict[str, Any], advice: str, first: str
) -> None:
    judgment, _ = judged(**given)
    assert judgment.verdict == advice
    assert first in judgment.sentence
    assert len(judgment.sentence.split()) <= 45


def test_the_worst_release_stands_first_and_public_words_rest_on_ten_people() -> None:
    hidden, itself = {"at_most": 0.2}, {"same_table": True}
    few = {"attribute": 0.1, "people": MIN_RECORDS - 1}
    given: list[dict[str, Any]] = [{}, few, {"copies": hidden}, {"attribute": 0.5}]
    given += [{"copies": itself}, {"identity": 0.1}]
    each = [judged(str(i), **one) for i, one in enumerate(given)]
    table = pd.concat([rows for _, rows in each], ignore_index=True)
    ordered = verdict.sort_worst_first([judgment for judgment, _ in each], table)
    assert [one.release for one in ordered] == ["3", "4", "5", "2", "1", "0"]
    text = verdict.render_text(ordered, table)
    assert text.startswith(f"{verdict.headline(ordered)}\n\n{ordered[0].sentence}")
    assert text.count("target disclosed by all matches") == len(given)
    public = verdict.public_table(ordered, table)
    ten, rows = judged(people=MIN_RECORDS)
    further = rows[rows["question"] == "attribute"].assign(
        rating="elevated"
    )  # the worst is shown
    shown = verdict.public_table([ten], pd.concat([rows, further]))
    assert shown[["verdict", "attribute"]].to_numpy().tolist() == [
        ["no sign of disclosure", "elevated"]
    ]
    assert public["attribute"].tolist()[:5] == ["high", *["as expected"] * 3, NOT_SHOWN]
    assert (public["identical records"] == NOT_SHOWN).tolist() == [False] * 4 + [
        True,
        False,
    ]
    assert (public["verdict"] == NOT_SHOWN).tolist() == [False] * 4 + [True, False]
    assert not public.drop(columns="release").stack().str.contains(r"\d").any()


def test_rules_are_stated_with_their_thresholds_and_no_share_is_rounded_to_none_or_all() -> (
    None
):
    text = " ".join(verdict.rules_text())
    numbers = (
        ratings.Z_SIGNIFICANT,
        ratings.Z_CERTAIN,
        ratings.Z_OWN_DUPLICATES,
        2 * ratings.Z_CERTAIN,
        ratings.MIN_RECORDS_JUDGED,
    )
    assert all(f"{number:g}" in text for number in numbers)
    limits = (
        ratings.HIGH,
        ratings.ELEVATED,
        ratings.MAX_UNDETECTED,
        utility.GOOD,
        utility.LIMITED,
    )
    assert all(percent(share) in text for share in limits)
    for share, shown in (
        (0, "0"),
        (1, "100"),
        (4e-4, "<0.1"),
        (0.9996, ">99.9"),
        (0.123, "12.3"),
    ):
        assert percent_with_error(share) == f"{shown}\xa0%"
