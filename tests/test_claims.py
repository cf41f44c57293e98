"""Verdicts that notebooks compute, and that they type none."""

import itertools
import re
from pathlib import Path
from urllib.parse import unquote

import jupytext
import numpy as np
import pandas as pd
import pytest

from srlib.assessment import inference
<<<<<<< HEAD
from srlib.papers import claims, intruders
from srlib.papers.claims import FAILS, HOLDS, PROVED, UNDECIDED
from srlib.risk import Participation
=======
from srlib.assessment.inference import AgainstSampling
from srlib.papers import claims, hu_reiter_wang
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
>>>>>>> cbb767e (what_a_risk_means: merge intruders and calibration)
from srlib.risk import estimators as disclosure
from srlib.risk.estimators import Risk

# ------------------------------------------------------------------------------ words from numbers


@pytest.mark.parametrize(
    ("value", "error", "word"),
    [
        (0.5, 0.1, HOLDS),
        (0.79, 0.1, HOLDS),
        (0.81, 0.1, UNDECIDED),
        (1.0, 0.0, UNDECIDED),
        (1.19, 0.1, UNDECIDED),
        (1.21, 0.1, FAILS),
    ],
)
def test_a_number_within_two_errors_of_its_limit_decides_nothing(value, error, word):
    assert claims.at_most(value, error, 1.0) == word


def test_share_of_records_above_a_limit():
    difference, error = np.array([3.0, 1.5, 1.0, 0.5, -2.0]), np.array([0.1, 0.1, 0.1, 0.3, 0.1])
    assert claims.share_above(difference, error, 1.0) == (0.4, 0.8)
    assert claims.share_above(difference, error) == (0.6, 0.8)
    assert claims.share_above(difference, np.zeros(5), 1.0) == (0.4, 0.6)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.96, 1.0, HOLDS),
        (0.95, 1.0, UNDECIDED),
        (0.06, 0.95, "depends on the record"),
        (0.05, 0.5, UNDECIDED),
        (0.0, 0.06, UNDECIDED),
        (0.0, 0.05, FAILS),
        (0.0, 1.0, UNDECIDED),
    ],
)
def test_a_share_is_nearly_all_hardly_any_or_some(low, high, word):
    assert claims.of_share(low, high) == word


def test_more_than_half_is_most():
    assert claims.of_share(0.51, 0.6, most=0.5) == HOLDS
    assert claims.of_share(0.4, 0.6, most=0.5) == UNDECIDED
    assert claims.of_share(0.2, 0.5, most=0.5, on="the town") == "depends on the town"


@pytest.mark.parametrize(
    ("inside", "total", "word"),
    [
        (7, 7, HOLDS),
        (19, 20, HOLDS),
        (6, 7, UNDECIDED),  # one of seven is missed by 30 % of such sets
        (5, 7, "depends on the coefficient"),  # two or more by 4.4 %
        (3, 7, FAILS),
        (1, 2, UNDECIDED),
        (0, 2, FAILS),
        (1, 1, HOLDS),
        (0, 1, UNDECIDED),  # 5 %, not less
    ],
)
def test_intervals_may_miss_as_often_as_their_level_says(inside, total, word):
    assert claims.of_intervals(inside, total) == word


def test_numbers_are_printed_with_their_errors():
    frame = pd.DataFrame({"of": ["a", "b", "c"], "mean": [0.51, np.nan, 1.0], "n": [3, 4, 5]})
    told = claims.with_errors(
        frame.assign(mean_se=[0.027, 0.1, 0.0]), {"of": "who", "mean": "mean", "n": "people"}
    )
    assert told.columns.tolist() == ["who", "mean", "people"]
    assert told["mean"].tolist() == ["0.51\u00a0±\u00a00.03", "", "1.00"]
    assert told["people"].tolist() == [3, 4, 5]
    assert claims.with_error(-0.0004, 0.01) == "0.000\u00a0±\u00a00.010"


# ------------------------------------------------------------------------------- the claims' table


def test_a_claim_links_to_its_section():
    said = claims.Claims({"C1": "Theorem 1, exactly (C1)", "C2": "Risk"})
    said.say("C1", claims.Verdict(claims.PROVED, "By counting."))
    with pytest.raises(ValueError, match="no verdict was said on C2"):
        _ = said.table
    with pytest.raises(ValueError, match="claim is 'C3'; it must be one of C1, C2"):
        said.say("C3", claims.Verdict(FAILS, ""))
    said.say("C2", claims.Verdict(HOLDS, "1 is below 2."))
    shown = said._repr_markdown_()
    assert "| **[C1](#Theorem-1%2C-exactly-%28C1%29)** | proved | By counting. |" in shown


COMMITTED = sorted(Path(__file__).parents[1].glob("notebooks/*.ipynb"))


@pytest.mark.parametrize("notebook", COMMITTED, ids=lambda path: path.stem)
def test_links_within_a_notebook_lead_to_headings(notebook: Path) -> None:
    import nbformat

    cells = nbformat.read(notebook, as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    headings = {
        heading.replace(" ", "-")
        for text in texts
        for heading in re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE)
    }
    shown = [
        output.data.get("text/markdown", "")
        for cell in cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    links = [
        unquote(link) for text in texts + shown for link in re.findall(r"\]\(#([^\s)]+)\)", text)
    ]
    assert [link for link in links if link not in headings] == []


# ----------------------------------------------------------------------------------------- claims


def log_ratios(log_prob: np.ndarray, chains: int, noise: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    chains_apart = noise * rng.normal(size=(chains, *log_prob.shape))
    return (log_prob - log_prob[:, :1])[None] + chains_apart - chains_apart[..., :1]


<<<<<<< HEAD
def test_a_small_support_is_conservative_by_proof_and_not_against_a_guess():
    one, error = np.zeros(4), np.full(4, 0.1)
    for every, word in ((one - 1, HOLDS), (one + 1, FAILS)):
        verdict = intruders.conservative(one, every, error, 0 * error)
        assert verdict.word == PROVED
        assert f"to the prior it *{word}*" in verdict.because
    verdict = intruders.conservative(one, np.array([1, -1, -1, 0.1]), 0 * error, error)
    assert "*depends on the record*" in verdict.because
    assert "higher over every cell for 25.0\u00a0%" in verdict.because
    assert "lower for 50.0\u00a0%" in verdict.because
    assert "1.0 ± 0.0 over one change and 2.7 ± 0.3 over every cell" in verdict.because


def test_margins_that_cannot_move_say_little():
    verdict = intruders.says_little(np.log([0.9, 1.1, 1.2]), np.full(3, 0.01), 0.8)
    assert verdict.word == HOLDS
    assert "by 1.25 at most" in verdict.because
    assert "0.90 ± 0.01 to 1.20 ± 0.01" in verdict.because
    moved = intruders.says_little(np.log([0.5, 2.0, 2.0]), np.full(3, 0.01), 0.4)
    assert moved.word == FAILS


def told(gains: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"log_gain": np.log(gains), "log_gain_mcse": 0.01})


def test_what_is_added_to_a_prior():
    assert intruders.adds_little({"a": told([1.0, 1.1]), "b": told([0.9, 1.2])}).word == HOLDS
    some = intruders.adds_little({"a": told([1.0, 1.1]), "b": told([0.9, 2.0])})
    assert some.word == "depends on the record"
    assert "for at least 50.0\u00a0% of the combinations" in some.because
    assert intruders.most_moved({"a": told([1.0, 1.1]), "b": told([0.9, 2.0])}) == 0.5
    assert intruders.most_moved({"a": told([1.0, 1.48])}) == 0


def test_priors_side_by_side():
    table = told([0.5, 1.0, 1.2, 2.0]).assign(prior=0.2, probability=0.3)
    found = intruders.compare_priors({"uniform": {"a": table}}).iloc[0]
    assert found["raised"] == 0.5
    assert found["lowered"] == 0.25
    assert found["beyond 1.5"] == 0.5
    assert found["largest ratio"] == pytest.approx(2)


def divisions(
    own: float, uniform: float, beyond: float = 0.05, spread: float = 0.01
) -> Participation:
    """Four pairs of divisions, knowing half and all; participants are ahead by `beyond`."""
    rows = []
    for pair in range(4):
        off = spread * (-1) ** pair
        for swapped in (False, True):
            side = 0.3 if swapped else -0.3
            for share in (0.5, 1.0):
                for group, more in (("participants", beyond + off + side), ("outsiders", 0.0)):
                    less = share < 1
                    row = {"pair": pair, "swapped": swapped, "share_known": share, "group": group}
                    row |= {"before": -2.0, "after": -1.5 + less * (own + off)}
                    row |= {"after_uniform": -2.5 + less * (uniform + off), "gain": more}
                    rows.append(row | {"divergence": 0.02 * less, "r_hat": 1.0})
    return Participation(pd.DataFrame(rows), np.array([[0.1, 0.0], [0.1, 0.2]]))


@pytest.mark.parametrize(
    ("own", "uniform", "word"),
    [
        (-0.1, -0.1, HOLDS),
        (0.1, 0.1, FAILS),
        (-0.1, 0.1, "depends on the prior"),
        (0.1, -0.1, "depends on the prior"),
        (0.0, 0.1, "depends on the prior"),  # where it is proved for the model's own on average
        (0.0, -0.1, UNDECIDED),
        (0.0, 0.0, UNDECIDED),
    ],
)
def test_an_intruder_who_knows_less(own, uniform, word):
    single = pd.DataFrame({"higher beyond error": [0.75, 0.25]})
    verdict = intruders.safe_knowing_less(divisions(own, uniform), single)
    assert verdict.word == word
    assert "knows 50\u00a0% of the other records instead of all" in verdict.because
    assert f"{own:+.3f} ± 0.006 with the model's own" in verdict.because
    assert "-0.020 ± 0.000 is what a calibrated model leads to" in verdict.because
    assert "75.0\u00a0% and 25.0\u00a0% of the participants" in verdict.because


def test_single_records_have_a_yardstick():
    """The stronger intruder expects 0.3 of the truths to be more probable to the weaker one."""
    more = np.log(np.tile([0.7, 0.3], (10, 1)))
    more[7:] = more[7:, ::-1]  # as calibrated as can be: seven truths in ten
    less = np.log(np.full((10, 2), 0.5))
    pair = Risk(less, np.full((10, 2), 0.01)), Risk(more, np.full((10, 2), 0.01))
    found = intruders.single_records({"own": pair}).iloc[0]
    assert found["higher"] == found["higher beyond error"] == pytest.approx(0.3)
    assert found["higher if calibrated"] == pytest.approx(0.3)


def two_releases(distance: float, error: float, iterations: float, r_hat: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "share known": [0.0, 0.0, 0.0, 0.5, 0.5, 0.5],
            "way": [intruders.SAMPLED, "independent", "pooled"] * 2,
            "median distance": [0.0, 0.5, distance, 0.0, 0.01, 0.02],
            "error of log p": error,
            "largest R-hat": [1.0, 1.0, 1.0, r_hat, 1.0, 1.0],
            "iterations for an effective draw": [iterations, 30.0, 10.0] * 2,
        }
    )


def test_a_shortcut_is_as_good_as_where_it_is_worst():
    verdict = intruders.needs_sampling(two_releases(0.04, 0.01, 50, 1.04))
    assert verdict.word == "depends on the number of releases"
    assert "*pooled*, is off by a median of 0.040" in verdict.because
    assert "an error of 0.014, where none of the other records" in verdict.because
    assert "5.0 times as many iterations" in verdict.because
    assert "R-hat is 1.04" in verdict.because


@pytest.mark.parametrize("rough", [(0.04, 0.02, 50, 1.04), (0.04, 0.01, 15, 1), (0.04, 0, 50, 1.1)])
def test_rough_chains_decide_nothing(rough):
    assert intruders.needs_sampling(two_releases(*rough)).word == UNDECIDED


def test_what_participants_have_beyond_outsiders():
    said = repr(intruders.participants_beyond(divisions(0, 0)))
    assert "8 divisions and releases" in said
    assert "adds +0.000 ± 0.000 to the log probability of the truth for outsiders, within" in said
    assert "and 0.050 ± 0.006 more for participants, above zero by two" in said
    assert "moves the difference by about 0.050" in said  # half of 0.1, of two people
    assert "the groups differ by +0.000 ± 0.000" in said
    said = repr(intruders.participants_beyond(divisions(0, 0, beyond=0.01)))
    assert "0.010 ± 0.006 more for participants, within two standard errors of" in said
=======
def test_truth_among_the_first_less_often_than_by_chance():
    rng = np.random.default_rng(2)
    seen = rng.normal(size=(400, 10))
    data = log_ratios(np.zeros((400, 10)), 4, 0.0)
    by_chance = hu_reiter_wang.rarely_first([data, log_ratios(seen, 4, 0.0)])
    assert by_chance.word == UNDECIDED
    assert "30.0 ± 2.3\u00a0%" in by_chance.because
    hidden = seen - 3.0 * (np.arange(10) == 0)
    assert hu_reiter_wang.rarely_first([data, log_ratios(hidden, 4, 0.0)]).word == HOLDS
    shown = seen + 3.0 * (np.arange(10) == 0)
    assert hu_reiter_wang.rarely_first([data, log_ratios(shown, 4, 0.0)]).word == FAILS


def test_three_candidates_are_always_the_first_three():
    data = log_ratios(np.zeros((5, 3)), 4, 0.0)
    verdict = hu_reiter_wang.rarely_first([data, data])
    assert verdict.word == UNDECIDED
    assert verdict.because.count("100.0 ± 0.0\u00a0%") == 2


def test_a_part_of_a_record_against_the_whole():
    whole = pd.DataFrame({"probability": [0.1, 0.1, 0.1], "log_mcse": 0.05, "support_size": 10})
    part = pd.DataFrame({"probability": [0.4, 0.2, 0.1], "log_mcse": 0.05, "support_size": 5})
    verdict = hu_reiter_wang.more_from_part(part, whole)
    assert verdict.word == "depends on the record"
    assert "by more for 1 of 3 records and by less for 1, beyond two" in verdict.because
    assert "largest factor is 2.0 ± 0.1, against 1.0 ± 0.1" in verdict.because
>>>>>>> cbb767e (what_a_risk_means: merge intruders and calibration)


# ------------------------------------------------------------------------------- said and collected


def test_claims_are_collected_in_the_words_in_which_they_were_said():
    verdicts = claims.Claims()
    said = verdicts.say("C2", claims.Verdict(FAILS, "a | b"))
    assert repr(said) == "C2 fails. a | b"
    verdicts.say("C1", claims.Verdict(HOLDS, "0.5 ± 0.1"))
    assert verdicts.table.to_dict("records") == [
        {"claim": "C1", "verdict": "holds here", "because": "0.5 ± 0.1"},
        {"claim": "C2", "verdict": "fails", "because": "a | b"},
    ]
    assert verdicts._repr_markdown_().splitlines() == [
        "| claim | verdict | because |",
        "|---|---|---|",
        "| **C1** | holds here | 0.5 ± 0.1 |",
        r"| **C2** | fails | a \| b |",
    ]
    assert repr(verdicts) == "C1 holds here. 0.5 ± 0.1\nC2 fails. a | b"


# ------------------------------------------------------------------------- numbers behind verdicts


def test_another_sample_differs_as_sampling_alone_gives():
    rng = np.random.default_rng(4)
    p = np.array([0.6, 0.25, 0.1, 0.04, 0.008, 0.002])
    tables = [np.stack(np.divmod(rng.choice(6, 500, p=p), 3), axis=1) for _ in range(401)]
    off = inference.against_sampling(tables[0], tables[1:], [2, 3])
    shares = [inference.joint_distribution(t, [2, 3], 0, 1) for t in tables]
    between = np.mean([np.abs(a - b).mean() for a, b in itertools.pairwise(shares)])
    assert off.expected == pytest.approx(between, rel=0.05)


def test_difference_is_that_of_the_table_of_pairs():
    rng = np.random.default_rng(5)
    tables = [rng.integers(0, [2, 3, 2], (60, 3)) for _ in range(4)]
    off = inference.against_sampling(tables[0], tables[1:], [2, 3, 2])
    pairs = inference.pairwise_differences(tables[0], tables[1:], [2, 3, 2], list("abc"))
    assert off.difference == pytest.approx(pairs["mean_absolute_difference"].mean())
    single = [inference.pairwise_differences(tables[0], [z], [2, 3, 2], "abc") for z in tables[1:]]
    of_each = [pair["mean_absolute_difference"].mean() for pair in single]
    assert off.single == pytest.approx(np.mean(of_each))
    assert off.error == pytest.approx(np.std(of_each, ddof=1) / np.sqrt(3) / off.expected)


def test_what_cannot_be_held_against_sampling():
    table = np.zeros((5, 2), dtype=int)
    with pytest.raises(ValueError, match="two or more, of 5 records"):
        inference.against_sampling(table, [table], [2, 2])
    with pytest.raises(ValueError, match=r"releases of \[5, 4\] records"):
        inference.against_sampling(table, [table, table[:4]], [2, 2])
    with pytest.raises(ValueError, match="all records of all tables are the same"):
        inference.against_sampling(table, [table, table], [2, 2])


<<<<<<< HEAD
def test_margins_are_those_of_the_risk():
    rng = np.random.default_rng(6)
    sets = [log_ratios(rng.normal(size=(30, 6)), chains, 0.1) for chains in (5, 4, 4)]
    found = disclosure.predictive_ratio(sets)
    agree = rng.random((30, 6)) < 0.5
    agree[:, 0] = True
    gain, error = disclosure.margin_gain(sets, agree)
    np.testing.assert_allclose(
        np.exp(gain), (np.exp(found.log_prob) * agree).sum(axis=1) / agree.mean(axis=1)
    )
    assert (error >= 0).all()
    truth = np.arange(6) == np.zeros((30, 1))
    gain, error = disclosure.margin_gain(sets, truth)
    np.testing.assert_allclose(gain, found.log_prob[:, 0] + np.log(6))
    np.testing.assert_allclose(error, found.log_mcse[:, 0])
=======
def test_ranks_are_those_of_the_risk():
    rng = np.random.default_rng(6)
    sets = [log_ratios(rng.normal(size=(30, 6)), chains, 0.1) for chains in (5, 4, 4)]
    found = disclosure.predictive_ratio(sets)
    share, mcse = disclosure.share_ranked(sets, 2)
    assert share == np.mean(found.rank <= 2)
    assert 0 <= mcse < 0.2
>>>>>>> cbb767e (what_a_risk_means: merge intruders and calibration)


# ----------------------------------------------------------------------- notebooks type no verdict

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
JUDGED = [
<<<<<<< HEAD
    "calibration",
    "charest",
    "charest_han",
    "intruders",
=======
    "any_generator",
    "charest",
    "charest_han",
    "hu_reiter_wang",
>>>>>>> cbb767e (what_a_risk_means: merge intruders and calibration)
    "mcclure_reiter",
]
IN_BOLD = re.compile(r"\*\*[^*]*\bC\d[^*]*(hold|fail|depend|not decided)")
IN_WORDS = re.compile(r"\bC\d(\*\*)? (and C\d )?(holds?|fails?|do(es)? not hold|depends?)\b")
CONDITION = re.compile(r"\b(if|where|for a combination)\b", re.IGNORECASE)


def typed_verdicts(text: str) -> list[str]:
    """Sentences that say a verdict without the condition on which it would be one."""
    sentences = re.split(r"(?<=[.:;]) (?=[A-Z*])", " ".join(text.split()))
    return [
        sentence
        for sentence in sentences
        if IN_BOLD.search(sentence)
        or (IN_WORDS.search(sentence) and not CONDITION.search(sentence))
    ]


@pytest.mark.parametrize("paper", JUDGED)
def test_no_verdict_is_typed(paper):
    cells = jupytext.read(NOTEBOOKS / f"{paper}.py").cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert [found for text in texts for found in typed_verdicts(text)] == []


@pytest.mark.parametrize(
    "typed",
    [
        "**C1 holds**: on average a cell is off by less than one percentage point.",
        "**C2 holds for most coefficients, not for all.**",
        "**C3 and C4 hold.** The probability hardly leaves the neighborhood of the prior.",
        "C6 is the one. C5 does not hold. C6 depends on the number of releases.",
        "- **C5** does not hold.",
    ],
)
def test_a_typed_verdict_is_found(typed):
    assert typed_verdicts(typed)
    assert not typed_verdicts("**C1** holds if a cell is off by less. Where C6 fails, it is rough.")


@pytest.mark.parametrize("paper", JUDGED)
def test_every_claim_has_a_callout_and_the_table_repeats_it(paper):
    import nbformat

    notebook = nbformat.read(NOTEBOOKS / f"{paper}.ipynb", as_version=4)
    claimed = set(re.findall(r"^\| \*\*(C\d+)\*\* ", notebook.cells[0].source, re.MULTILINE))
    outputs = [o.data for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    texts = [data["text/markdown"] for data in outputs if "text/markdown" in data]
    said = {m[1]: t for t in texts if (m := re.match(r"> \*\*(C\d+) ", t))}
    assert set(said) == claimed
    table = next(data for data in outputs if "| claim |" in data.get("text/markdown", ""))
    repeated = table["text/plain"].splitlines()
    assert repeated == [
        said[c].removeprefix("> ").replace("**", "")
        for c in sorted(claimed, key=lambda c: (len(c), c))
    ]


def test_claims_are_in_the_order_of_their_numbers():
    said = claims.Claims()
    for name in ("C10", "C2", "C9"):
        said.say(name, claims.Verdict(claims.HOLDS, "so"))
    assert said.table["claim"].tolist() == ["C2", "C9", "C10"]
    assert repr(said).splitlines()[-1].startswith("C10 ")
