"""Rows, their standard errors and ratings, and the verdict that follows from them."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from cases import LEVELS, margins, samples, table
from numpy.testing import assert_allclose

from srlib.assessment import card, ratings, run, utility, verdict
from srlib.assessment.attribute import attribute_disclosure
from srlib.assessment.copies import Copies
from srlib.assessment.counts import holdout_contrast, new_row
from srlib.assessment.disclosure import Attack, Disclosure
from srlib.assessment.files import Files
from srlib.assessment.identity import IdentityDisclosure, identity_disclosure
from srlib.display import MIN_RECORDS, NOT_SHOWN, percent, percent_with_error

KEYS = [0, 1, 2, 3, 4]
ATTACK = Attack(KEYS, target=13)

# Of a release without copies: `copy_test` changes a number of a row.
COPY_ROWS = {
    "identical records": {"estimate": 0.3, "baseline": 0.32, "z": -1.0},
    "copied uniques": {"estimate": 0.0, "z_permutation": 0.0},
    "undetected copies": {"estimate": 0.04, "baseline": 0.1},
    "near-duplicates": {"estimate": 0.2, "baseline": 0.1, "z_permutation": 0.0},
    "repeated unique": {"estimate": 0.1, "baseline": 0.0, "z": 0.0},
    "excess over own duplicates": {"z": 0.0},
    "identical before binning": {
        "estimate": 0.3,
        "baseline": 0.32,
        "z": 1.7,
        "z_permutation": 0.0,
    },
    "row order": {"estimate": 0.5, "z": 0.0},
}
DETAILS = {
    "near-duplicates": "share 9 or more of 14 values with an original record",
    "repeated unique": "one unique record, 12 times",
}
REASONS = {
    "identity": "of the sample uniques are matched on the keys",
    "attribute": "of the records have their sick disclosed by the key matches",
    "inference": "mean probability of the true sick, predicted from the release",
}


def copy_test(same_table=False, baseline_problem="", **changes):
    """The rows of `COPY_ROWS` with changes, as {"row order z": 7.0}."""
    rows = {}
    for question, numbers in COPY_ROWS.items():
        row = new_row(question, 500, detail=DETAILS.get(question, ""))
        rows[question] = row | numbers
    rows["undetected copies"]["n"] = 400
    for name, value in changes.items():
        question, _, column = name.rpartition(" ")
        rows[question][column] = value
    nobody = np.zeros(1_000, int)
    return Copies(rows, same_table, baseline_problem, nobody > 0, nobody)


def risk_row(estimate, baseline, z, **more):
    return {
        "estimate": estimate,
        "se": 0.01,
        "baseline": baseline,
        "baseline_se": 0.01,
        "baseline_kind": "fresh sample",
        "z": z,
        "z_permutation": np.nan,
        "n": 200,
        "group": "all",
    } | more


def rate(rows, *, family=False):
    """The ratings that the rows get."""
    ratings.rate(rows, family)
    return [row["rating"] for row in rows]


def judge(name="made", *, copies=None, loss=0.0, n=200, **excess):
    """The verdict and the table of a release with given copies, utility loss and risks.

    The excess of a risk is a share of what its baseline leaves undisclosed.
    """
    risks = []
    for question, reason in REASONS.items():
        share = excess.get(question, 0.0)
        row = risk_row(0.2 + 0.8 * share, 0.2, 40 * share, question=question, n=n)
        risks.append(row | {"why": reason, "in_verdict": True})
    ratings.rate(risks, family=False)
    rating = utility.rate_utility(loss, loss > 0)
    rows = [
        *ratings.copy_rows([copy_test(), copy_test(**copies or {})]),
        *risks,
        risk_row(0.9, 0.9, -1.0, question="one-way tables", rating="good"),
        risk_row(loss, 0.0, 100 * loss, question="two-way tables", rating=rating),
    ]
    table = pd.DataFrame(rows).assign(release=name)
    table["in_verdict"] = table["in_verdict"].notna()
    texts = {"detail": "", "group": "all", "baseline_kind": "", "rating": ""}
    table = table.fillna(texts)
    return verdict.judge(name, table), table


def judge_all(releases):
    """The verdicts and the table of releases, by name."""
    judged = [judge(name, **release) for name, release in releases.items()]
    judgments, tables = zip(*judged, strict=True)
    return judgments, pd.concat(tables, ignore_index=True)


def disclosed_alike(release, fresh_sample=0.0, margins=0.0, n=9):
    """People who are disclosed with the same probabilities."""
    return Disclosure(
        eligible=np.ones(n, bool),
        release=np.full(n, release),
        fresh_sample=np.full(n, fresh_sample),
        margins=np.full(n, margins),
        cluster=np.arange(n),
        certain=np.ones(n, bool),
        holdout={},
    )


UNIQUES = partial(IdentityDisclosure, permutation_z=5.0, effective_trials=400.0)


@pytest.mark.parametrize("disclosure", [Disclosure, UNIQUES])
def test_a_release_that_discloses_as_margins_do_has_no_excess(disclosure):
    def z(margins):
        people = disclosed_alike(0.5, fresh_sample=0.2, margins=margins, n=400)
        return disclosure(**vars(people)).compare()["z"]

    assert z(margins=0.2) > 5
    assert z(margins=0.5) == 0


@pytest.mark.parametrize(
    "disclose",
    [
        lambda files: identity_disclosure(files, KEYS),
        lambda files: attribute_disclosure(files, ATTACK),
    ],
)
def test_standard_errors_are_at_least_the_spread_over_releases(rng, disclose):
    """One original, and 60 releases of its margins."""
    (original,) = samples(rng, 500)
    releases = [margins(original, rng) for _ in range(60)]
    disclosures = [disclose(Files(original, z, LEVELS)) for z in releases]

    rows = pd.DataFrame([ratings.summarize([one]) for one in disclosures])
    assert 0.9 < rows["se"].mean() / rows["estimate"].std() < 5
    assert (rows["z"] >= ratings.Z_SIGNIFICANT).mean() <= 0.05

    together = ratings.summarize(disclosures[:3])
    three = rows[:3]
    between = three["estimate"].std() / np.sqrt(3)
    assert_allclose(together["estimate"], three["estimate"].mean())
    assert_allclose(together["se"], max(between, three["se"].mean()))


def test_releases_that_disclose_all_people_alike_have_the_error_between_them():
    shares = [0.2, 0.5, 0.6]
    row = ratings.summarize([disclosed_alike(share) for share in shares])
    assert_allclose(row["se"], np.std(shares, ddof=1) / np.sqrt(3))


@pytest.mark.parametrize(
    ("fresh_sample", "margins", "kind"),
    [(0.1, 0.3, "independent margins"), (0.3, 0.1, "fresh sample")],
)
def test_the_baseline_is_what_discloses_more(fresh_sample, margins, kind):
    row = ratings.summarize([disclosed_alike(1, fresh_sample, margins)])
    assert row["baseline_kind"] == kind
    assert_allclose(row["baseline"], 0.3)


@pytest.fixture
def grouped(rng):
    """Two samples, and the groups of people in the first, (n,)."""
    original, released = samples(rng, 600, 600)
    return Files(original, released, LEVELS), original[:, 4]


def test_matched_uniques_of_a_group_are_the_derivative_by_its_weight(grouped):
    files, group = grouped
    disclosure = identity_disclosure(files, KEYS)
    companions = np.bincount(disclosure.cluster)[disclosure.cluster] - 1.0
    is_unique = companions == 0
    unmatched = 1 - disclosure.fresh_sample.sum() / is_unique.sum()
    unique_in_part = (1 - 0.5**1.5) ** companions
    power = np.log(unmatched) / np.log(is_unique.sum() / unique_in_part.sum())

    def n_matched(weight):
        """Number of uniques that a fresh sample matches, of people of these weights."""
        n_unique = weight[is_unique].sum()
        in_part = (weight * unique_in_part).sum()
        return n_unique * (1 - (n_unique / in_part) ** power)

    for code in np.unique(group):
        is_member = group == code
        row = ratings.summarize([disclosure], is_member)

        uniques = is_member & is_unique
        step = 1e-5 * is_member
        derivative = (n_matched(1 + step) - n_matched(1 - step)) / 2e-5
        expected = np.clip(derivative / uniques.sum(), 0, 1)
        assert row["n"] == uniques.sum()
        assert_allclose(row["estimate"], disclosure.release[uniques].mean())
        assert row["fresh_sample"] == pytest.approx(expected, abs=1e-6)


def test_errors_of_groups_are_those_of_a_bootstrap_of_clusters(grouped, rng):
    files, group = grouped
    disclosure = attribute_disclosure(files, ATTACK)
    n = len(group)

    for code in np.flatnonzero(np.bincount(group) >= 100):
        is_member = group == code
        drawn = rng.multinomial(n, np.full(n, 1 / n), 800)[:, disclosure.cluster]
        shares = drawn @ (is_member * disclosure.release) / (drawn @ is_member)
        row = ratings.summarize([disclosure], is_member)
        assert row["se"] == pytest.approx(np.std(shares), rel=0.15)


def test_disclosure_of_the_holdout_by_hand():
    """Two variables: released are (0, 0) twice and (1, 1) once."""
    original = table("00", "01", "11", "20")
    holdout = table("00", "10", "21", "21", "20")
    released = table("00", "00", "11")
    files = Files(original, released, [3, 2], holdout)

    (row,) = run._measure_full_matches([files])
    error = np.sqrt(0.5 * 0.5 / 4 + 0.2 * 0.8 / 5)
    assert (row["n"], row["estimate"], row["holdout"]) == (4, 1 / 2, 1 / 5)
    assert_allclose(row["z_holdout"], (1 / 2 - 1 / 5) / error)

    assert attribute_disclosure(files, Attack([0], 1)).holdout["holdout"] == 1 / 5

    # In four of the five, those with 0 and 1 are unique, and those with 2 never are.
    assert identity_disclosure(files, [0]).holdout["holdout"] == 1


def test_the_error_of_a_holdout_contrast_is_clustered():
    disclosed = np.array([1.0, 0, 1, 0, 0])
    cluster = np.array([0, 1, 0, 1, 1])
    contrast = holdout_contrast(disclosed, np.ones(5), 2, cluster)
    assert_allclose(contrast["z_holdout"], (1 / 2 - 1 / 3) / (np.sqrt(2) / 36))


def test_a_fresh_sample_discloses_the_holdout_as_the_original():
    rng = np.random.default_rng(8)
    z = []
    for _ in range(60):
        original, holdout, released = samples(rng, 300, 250, 300)
        files = Files(original, released, LEVELS, holdout)
        disclosures = [
            identity_disclosure(files, range(14)),
            identity_disclosure(files, KEYS),
            attribute_disclosure(files, ATTACK),
        ]
        z.append([one.holdout["z_holdout"] for one in disclosures])

    # Standard errors of a standard deviation and of a mean, of 60: 0.09 and 0.13.
    assert (np.abs(np.std(z, axis=0) - 1) < 0.4).all()
    assert (np.abs(np.mean(z, axis=0)) < 0.6).all()


@pytest.mark.parametrize(
    ("estimate", "baseline", "z", "rating"),
    [
        (0.3, 0.2, 2.5, "as expected"),
        (0.1, 0.2, -5.0, "as expected"),
        (0.37, 0.2, np.nan, "as expected"),
        (0.3, 0.2, 3.0, "elevated"),
        (0.37, 0.2, 3.0, "high"),
        # Also where the baseline is above one half.
        (0.904, 0.9, 3.0, "as expected"),
        (0.91, 0.9, 3.0, "elevated"),
        (0.93, 0.9, 3.0, "high"),
        (1.0, 1.0, 3.0, "as expected"),
    ],
)
def test_ratings_are_by_shares_of_what_the_baseline_leaves(
    estimate, baseline, z, rating
):
    by_z = risk_row(estimate, baseline, z)
    by_permutation = risk_row(estimate, baseline, -9.0, z_permutation=z)
    assert rate([by_z, by_permutation]) == [rating, rating]


@pytest.mark.parametrize(
    ("z", "is_high"),
    [
        ((2.9, 2.9, 2.9), [False, False, False]),
        ((2.95, 2.80, 2.7), [True, False, False]),
        ((2.59, 2.82, 2.95), [True, True, True]),
        ((2.57, 2.82, 2.95), [False, True, True]),
    ],
)
def test_of_many_questions_each_is_as_sure_as_one(z, is_high):
    """Holm by hand: of three, 2.94, 2.81 and 2.58 are needed, the largest first."""
    rows = [risk_row(0.5, 0.2, value) for value in z]
    assert [rating == "high" for rating in rate(rows, family=True)] == is_high


@pytest.mark.parametrize(
    ("z", "rating"), [(2.5, "elevated"), (np.nan, "elevated"), (2.6, "high")]
)
def test_attribute_disclosure_is_high_only_where_inference_agrees(z, rating):
    attribute = risk_row(0.9, 0.2, 9.0, question="attribute", variables="job → sick")
    identity = risk_row(0.9, 0.2, 9.0, question="identity", variables="job")
    inference = risk_row(0.3, 0.2, z, question="inference", variables="job → sick")
    other_keys = inference | {"z": 9.0, "variables": "town → sick"}
    rows = [attribute, inference, other_keys, identity]

    ratings.rate(rows, family=False)
    ratings.cap_unsupported_ratings(rows)

    assert (attribute["rating"], identity["rating"]) == (rating, "high")


@pytest.mark.parametrize("group", ["all", "town: x"])
def test_risks_of_few_people_have_no_rating_and_no_baseline_error(group):
    few, enough = (risk_row(0.9, 0.1, 9.0, group=group, n=n) for n in (9, 10))
    assert rate([few, enough]) == ["too few people", "high"]
    assert np.isnan(few["baseline_se"])
    assert enough["baseline_se"] == 0.01


@pytest.mark.parametrize(
    "changed",
    [
        "row order z",
        "near-duplicates z_permutation",
        "repeated unique z",
        "copied uniques z_permutation",
    ],
)
def test_the_card_has_the_same_lines_for_all_releases_and_what_decides(changed):
    line = (card.CARD | card.DECIDING)[changed.rpartition(" ")[0]]

    _, table = judge()
    before = card.card(table).set_index("disclosure")[card.KNOWS_KEYS]
    _, table = judge(copies={changed: 9.0})
    after = card.card(table).set_index("disclosure")[card.KNOWS_KEYS]

    kinds = ["membership", "attribute", "identity", "copies", "utility"]
    assert before.index.tolist() == after.index.tolist() == kinds
    assert "records identical to an original" in before["copies"]
    assert before["copies"].endswith(
        "no sign; sample uniques copied, at most 4.0\xa0% (95 %)"
    )
    assert line in after["copies"]
    assert "found" in after["copies"]


def check_verdict(expected, clause, **release):
    judgment, table = judge(**release)
    assert card.render_text(table).count(": found") <= 1  # by what decides
    assert judgment.verdict == expected
    assert clause in judgment.sentence
    assert len(judgment.sentence.split()) <= 45


def verdict_tests(expected, cases):
    """Return the test of a verdict on copies, with a clause of its sentence."""

    @pytest.mark.parametrize(("copies", "clause"), cases)
    def test_verdict(copies, clause):
        check_verdict(expected, clause, copies=copies)

    return test_verdict


test_copies_within_chance_are_no_sign_of_disclosure = verdict_tests(
    "no sign of disclosure",
    [
        ({}, "Utility: like a fresh sample. Not tested: an intruder who"),
        (
            {
                "undetected copies n": 0,
                "undetected copies estimate": np.nan,
                "undetected copies baseline": np.nan,
            },
            "",
        ),
        ({"undetected copies estimate": 0.13, "undetected copies n": 23}, ""),
        ({"undetected copies estimate": 0.12, "undetected copies n": 900}, ""),
        # Where a fresh sample matches more than a third, a copy says little.
        ({"undetected copies estimate": 0.9, "undetected copies baseline": 0.34}, ""),
        (
            {
                "identical records n": 20,
                "undetected copies n": 180,
                "undetected copies estimate": 0.1,
            },
            "",
        ),
        (
            {
                "identical before binning estimate": 0.006,
                "identical before binning baseline": 0.0,
                "identical before binning z": 1.6,
            },
            "the keys, but 3 of its 500 records are complete copies",
        ),
        (
            {
                "identical before binning estimate": 0.004,
                "identical before binning baseline": 0.0,
            },
            "the keys, but 2 of its 500 records are complete copies",
        ),
        (
            {
                "identical before binning estimate": 0.002,
                "identical before binning baseline": 0.0,
            },
            "the keys, but 1 of its 500 records is a complete copy (worst release).",
        ),
        (
            {
                "identical before binning estimate": 0.004,
                "identical before binning baseline": 0.0005,
            },
            "Utility: like a fresh",
        ),
        (
            {
                "identical before binning estimate": 0.006,
                "identical before binning baseline": 0.006,
            },
            "",
        ),
        ({"repeated unique z": 1.6}, ""),
        ({"excess over own duplicates z": 2.9}, ""),
        ({"identical before binning z_permutation": 3.2}, ""),
        ({"row order z": 6.5}, ""),
    ],
)


test_copies_that_cannot_be_excluded_leave_the_verdict_undecided = verdict_tests(
    "undecided",
    [
        ({"undetected copies estimate": 0.13}, "copies of up to 13.0\xa0% of the"),
        (
            {"undetected copies estimate": 0.13, "undetected copies n": 24},
            "could go undetected",
        ),
        (
            {"undetected copies estimate": 0.9, "undetected copies baseline": 0.33},
            "could go undetected",
        ),
        (
            {
                "identical before binning estimate": 0.006,
                "identical before binning baseline": 0.0005,
            },
            "0.6\xa0% of its records are identical to an original record, "
            "too few to distinguish copies",
        ),
        ({"baseline_problem": "duplicates"}, "the original contains duplicates"),
        (
            {"baseline_problem": "deduplicated", "identical records z": np.nan},
            "seem to have been removed",
        ),
        ({"identical records n": 19}, "there are too few records to judge"),
    ],
)


@pytest.mark.parametrize(
    ("changed", "z"),
    [
        ("identical records z", 2.6),
        ("copied uniques z_permutation", 2.6),
        ("near-duplicates z_permutation", 2.6),
        ("repeated unique z", 1.7),
        ("excess over own duplicates z", 3.0),
        ("identical before binning z_permutation", 3.4),
    ],
)
def test_signs_of_copied_records_ask_for_a_review(changed, z):
    check_verdict("review", "there are signs of copied records", copies={changed: z})


test_copies_beyond_doubt_are_not_to_be_released = verdict_tests(
    "do not release",
    [
        ({"same_table": True}, "it is the original itself"),
        ({"row order z": 7.0}, "its rows are in the order of the original: 50.0"),
        (
            {
                "identical records z": 9.0,
                "identical records detail": ", numbers binned",
            },
            "30.0\xa0% of its records are identical to an original record, numbers",
        ),
        (
            {"copied uniques z_permutation": 3.4, "copied uniques estimate": 0.1},
            "estimated 10.0\xa0%",
        ),
        (
            {"near-duplicates z_permutation": 3.4},
            "20.0\xa0% of its records share 9 or more of 14 values with an original "
            "record; 10.0\xa0% expected",
        ),
        ({"repeated unique z": 2.4}, "it contains one unique record, 12 t"),
    ],
)


@pytest.mark.parametrize(
    ("loss", "rating"),
    [
        (0.05, "slightly below a fresh sample"),
        (0.1, "clearly below a fresh sample"),
        (0.3, "poor"),
    ],
)
def test_a_utility_loss_is_stated_and_no_sign_of_disclosure(loss, rating):
    check_verdict("no sign of disclosure", f"Utility: {rating}.", loss=loss)


@pytest.mark.parametrize(
    ("release", "expected", "clause"),
    [
        (
            {"attribute": 0.1},
            "review",
            "28.0\xa0% of the records have their sick disclosed",
        ),
        (
            {"identity": 0.3},
            "do not release",
            "44.0\xa0% of the sample uniques are matched on the keys; 20.0\xa0% "
            "expected",
        ),
        ({"inference": 0.1}, "review", "28.0\xa0% mean probability of the true sick"),
        (
            {"identity": 0.1, "inference": 0.3},
            "do not release",
            "44.0\xa0% mean probability of the true sick",
        ),
        (
            {"copies": {"undetected copies estimate": 0.2}, "attribute": 0.3},
            "do not release",
            "44.0\xa0% of the records have their sick disclosed",
        ),
        (
            {"copies": {"identical records z": 3.0}, "loss": 0.3},
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
def test_the_worst_rating_decides(release, expected, clause):
    check_verdict(expected, clause, **release)


def test_releases_are_sorted_by_verdict_and_excess_and_the_worst_is_first():
    releases = {
        "fresh": {},
        "few": {"attribute": 0.1, "n": MIN_RECORDS - 1},
        "undetected": {"copies": {"undetected copies estimate": 0.2}},
        "higher": {"attribute": 0.5},
        "original": {"copies": {"same_table": True}},
        "elevated": {"identity": 0.1},
    }
    judgments, table = judge_all(releases)

    ordered = verdict.sort_worst_first(judgments, table)
    text = verdict.render_text(ordered, table)

    names = [one.release for one in ordered]
    assert names == ["higher", "original", "elevated", "undetected", "few", "fresh"]
    assert text.startswith(f"{verdict.headline(ordered)}\n\n{ordered[0].sentence}")
    assert text.count("target disclosed by all matches") == len(releases)


def test_public_ratings_rest_on_ten_people():
    releases = {
        "few": {"attribute": 0.1, "n": MIN_RECORDS - 1},
        "copy": {"attribute": 0.5, "copies": {"same_table": True}},
        "enough": {"n": MIN_RECORDS},
    }

    public = verdict.public_table(*judge_all(releases))

    verdicts = [NOT_SHOWN, "do not release", "no sign of disclosure"]
    assert public["verdict"].tolist() == verdicts
    assert public["identical records"].tolist() == [NOT_SHOWN, "found", "no sign"]
    assert public["attribute"].tolist() == [NOT_SHOWN, "high", "as expected"]
    assert not public.drop(columns="release").stack().str.contains(r"\d").any()


def test_of_several_questions_the_worst_rating_is_public():
    judgment, rows = judge()
    elevated = rows[rows["question"] == "attribute"].assign(rating="elevated")
    public = verdict.public_table([judgment], pd.concat([rows, elevated]))
    assert public["attribute"].tolist() == ["elevated"]


def test_the_rules_state_their_thresholds():
    text = " ".join(verdict.rules_text())
    numbers = [
        ratings.Z_SIGNIFICANT,
        ratings.Z_CERTAIN,
        ratings.Z_OWN_DUPLICATES,
        2 * ratings.Z_CERTAIN,
        ratings.MIN_RECORDS_JUDGED,
    ]
    shares = [
        ratings.HIGH,
        ratings.ELEVATED,
        ratings.MAX_UNDETECTED,
        utility.GOOD,
        utility.LIMITED,
    ]
    for threshold in [*map("{:g}".format, numbers), *map(percent, shares)]:
        assert threshold in text


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0"), (1, "100"), (4e-4, "<0.1"), (0.9996, ">99.9"), (0.123, "12.3")],
)
def test_no_share_is_rounded_to_none_or_all(share, shown):
    assert percent_with_error(share) == f"{shown}\xa0%"
