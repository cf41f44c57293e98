"""What only the notebook on Hu, Reiter and Wang uses, and the releases that it works through."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from srlib.assessment.inference import AgainstSampling
from srlib.data import microdata
from srlib.data.schema import Schema
from srlib.dpmpm import Chains, log_marginal_likelihood, sample_posterior, zeros
from srlib.ledger import printed
from srlib.mechanism.bayes import posterior
from srlib.mechanism.families import compositions
from srlib.papers import hu_reiter_wang as paper
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.risk import neighborhood_log_ratios, release_log_prob
from srlib.risk.estimators import Risk, importance_sampling
from srlib.risk.replicates import importance_evidence, over_sets, sets_of_releases

# ------------------------------------------------------------------------ releases and their sets


def test_evidence_of_releases_adds_up_to_the_estimator_of_all() -> None:
    rng = np.random.default_rng(1)
    codes, levels = rng.integers(0, 3, (40, 3)), np.array([3, 3, 3])
    draws = sample_posterior(codes, levels, Chains(n_classes=3, burn_in=20, n_draws=40), rng=rng)
    releases = draws.release(3, 40, rng=rng)
    combinations = np.unique(codes, axis=0)[:5]
    evidence = importance_evidence(draws, releases, combinations, [None] * 3)
    weighted = neighborhood_log_ratios(draws, combinations, release_log_prob(draws, releases))
    of_all = importance_sampling(weighted, neighborhood_log_ratios(draws, combinations))
    assert posterior(evidence.sum(axis=0)) == pytest.approx(of_all.log_prob, abs=1e-6)
    chain, place = (int(at[0]) for at in draws.spread(3))
    without = importance_evidence(draws, releases, combinations, [(chain, place), None, None])
    assert not np.allclose(without[0], evidence[0])
    assert without[1:] == pytest.approx(evidence[1:])


def test_sets_of_releases_are_all_or_some() -> None:
    rng = np.random.default_rng(2)
    every = sets_of_releases(4, 2, 100, rng=rng)
    assert every.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    some = sets_of_releases(20, 5, 30, rng=rng)
    assert len({tuple(row) for row in some.tolist()}) == 30
    assert (np.diff(some) > 0).all()
    with pytest.raises(ValueError, match="size is 5"):
        sets_of_releases(4, 5, 10, rng=rng)


def test_three_numbers_of_every_set() -> None:
    evidence = np.log([[[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]], [[0.4, 0.4, 0.2], [0.2, 0.2, 0.6]]])
    over = over_sets(evidence, np.array([[0], [1], [0, 1]][:2]), 0.3, first=1)
    assert over["largest"].to_numpy() == pytest.approx([0.5, 0.4])
    assert over["above"].tolist() == [1, 1]
    assert over["first"].tolist() == [1, 0]  # a tie shares the mean rank of 1.5
    both = over_sets(evidence, np.array([[0, 1]]), 0.3)
    assert both["largest"].item() == pytest.approx(0.2 / 0.35)


# --------------------------------------------------------------------------------- structural zeros


def test_cells_of_the_prior_have_its_marginal_likelihood() -> None:
    cells = zeros.prior_cells([2, 2], 2, 40_000, rng=np.random.default_rng(3))
    assert cells.sum(axis=1) == pytest.approx(1.0)
    orders = np.where((compositions(2, 4) == 2).any(axis=1), 1, 2)
    exact = orders * np.exp(log_marginal_likelihood(2, [2, 2], 2))
    probs = np.exp(zeros.release_log_probs(cells, np.zeros((1, 4), int), 2)[0])
    assert probs == pytest.approx(exact, abs=5 * 0.5 / 200)


def test_a_truncated_dirichlet_is_a_dirichlet_on_what_is_left() -> None:
    """One class, one variable of three levels, one of them impossible: beta-binomial releases."""
    cells = zeros.prior_cells([3], 1, 60_000, rng=np.random.default_rng(4))
    truncated = zeros.truncate(cells, np.array([True, True, False]))
    data = np.array([[3, 1, 0]])
    probs = np.exp(zeros.release_log_probs(truncated, data, 2)[0])
    # Releases (0,0,2), (0,1,1), (0,2,0), (1,0,1), (1,1,0), (2,0,0): only three are possible.
    exact = stats.betabinom.pmf([0, 1, 2], 2, 4, 2)
    assert probs[[2, 4, 5]] == pytest.approx(exact, abs=0.01)
    assert probs.sum() == pytest.approx(1.0)
    assert probs[[0, 1, 3]] == pytest.approx(0.0)
    assert zeros.impossible_share(truncated, data[0], np.array([True, True, False]), 2) == 0


def test_knowing_the_zeros_raises_the_prior() -> None:
    found = paper.impossible_children(3, 300, 2, rng=np.random.default_rng(5))
    assert found["prior"].tolist() == pytest.approx([0.2, 0.2375, 0.2375])
    assert (found["expected posterior"] > found["prior"]).all()
    assert found["impossible record"].tolist()[2] == 0
    assert found["impossible record"][0] == found["impossible record"][1] > 0.1


# ---------------------------------------------------------------------------------- printed numbers


def test_checks_within_the_paper_agree_with_it() -> None:
    number = printed("hu_reiter_wang").set_index("id")
    for name, (value, check) in paper.checks_within().items():
        tolerance = number.loc[name, "tolerance"] + 1e-9
        assert abs(value - float(number.loc[name, "printed"])) <= tolerance, check


def test_a_probability_that_its_rank_does_not_allow_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = printed("hu_reiter_wang").set_index("id")["printed"].astype(float)
    name = "table3_probability_24132143321111"  # rank 3
    number[name] = 0.4
    monkeypatch.setattr(paper, "_numbers", lambda: number)
    assert paper.checks_within()[name][0] == pytest.approx(1 / 3)


def test_the_book_of_a_run() -> None:
    settings: dict[str, float] = {"n_records": 100, "n_synthetic_sets": 5, "level_prior": 1}
    settings |= {"alpha_shape": 0.25, "alpha_rate": 0.25}
    counts = {"combinations": 3600, "once": 2400, "twice": 480, "three times": 190}
    counts["most frequent"] = 100
    frame = pd.DataFrame({"term": ["SEX"], "original": [-0.3], "original_se": [0.05]})
    other = paper.book(settings, counts, frame, {}, same_file=False).set_index("id")
    assert other["verdict"].value_counts().to_dict() == {
        "skipped": 90, "consistent": 48, "match": 7, "setting": 5,
    }  # fmt: skip
    same = paper.book(settings, counts, frame, {}, same_file=True).set_index("id")
    assert same.loc["distinct_combinations", "verdict"] == "match"
    assert same.loc["most_frequent_combination", "verdict"] == "differs"
    assert same.loc["table2_sex_original", "verdict"] == "match"


def test_single_combinations_of_the_paper() -> None:
    codes = np.array([[2, 4, 1, 3, 1, 1, 4, 3, 2, 1, 1, 1, 1, 1], [1] * 14]) - 1
    risk = Risk(np.log(np.full((2, 35), 1 / 35)), np.zeros((2, 35)))
    part = Risk(np.log(np.full((1, 36), 1 / 36)), np.zeros((1, 36)))
    found = paper.of_single(microdata.ACS, codes, [1, 7], risk, [0], part)
    assert found["table3_repetitions_24131143211111"] == 1
    assert found["subset_probability_24131143211111"] == pytest.approx(1 / 36)
    assert not any(name.endswith("1" * 14) for name in found)
    other = Schema(microdata.ACS.variables[:1])
    assert paper.of_single(other, codes, [1, 7], risk, [0], part) == {}


def test_explanations_are_compared_with_their_errors() -> None:
    rng, rows = np.random.default_rng(6), []
    for name, largest in (("near", 0.19), ("far", 0.1)):
        for _ in range(80):
            members = " ".join(map(str, sorted(rng.choice(12, 5, replace=False))))
            value = largest * np.exp(0.1 * rng.standard_normal())
            rows.append((name, members, value, rng.poisson(16), rng.poisson(31)))
    columns = ["estimator", "releases", "largest", "above", "first"]
    told = paper.explanations(pd.DataFrame(rows, columns=columns), paper.PRINTED)
    assert told["explanation"].tolist() == ["near", "far"]
    assert told["log10 likelihood"][0] > told["log10 likelihood"][1] + 2
    assert (told["its error"] > 0).all()
    said = paper.most_likely(told.assign(**{"its error": 0.1}))
    assert said.startswith("Together they are most probable under *near*")
    assert "within two errors" not in said
    assert "within two errors" in paper.most_likely(told.assign(**{"its error": 100.0}))


def test_shipped_sets_are_whole() -> None:
    shipped = paper.shipped_sets()
    assert shipped.groupby("estimator").size().unique().tolist() == [400]
    members = shipped["releases"].str.split()
    assert set(members.map(len)) == {5}
    assert {int(i) for of in members for i in of} == set(range(40))


# ----------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("gain", "others", "word"),
    [
        (0.25, 0.1, HOLDS),
        (0.1, 0.1, UNDECIDED),
        (0.0, 0.0, UNDECIDED),
        (-0.3, 0.0, FAILS),
        (0.25, 0.2, "depends on the record"),
    ],
)
def test_dropping_takes_away_what_a_release_of_all_records_tells(
    gain: float, others: float, word: str
) -> None:
    """Whoever knows the list is not misled; that others pay counts."""
    columns = ["riskiest", "riskiest_se", "others", "others_se", "rise", "off", "off_se"]
    rows = [(0.5, 0.1, 0.0), (gain, 0.1, 0.0), (-0.4, 0.1, others), (-0.1, 0.1, 0.05)]
    found = pd.DataFrame(
        [(*row, 0.05, 0.15, 1.0, 0.1) for row in rows], index=paper.ARMS, columns=columns
    )
    verdict = paper.lower_without(found)
    assert verdict.word == word
    assert f"changes by {-gain:+.3f} ± 0.100 for the riskiest" in verdict.because
    assert "15\u00a0% rise by more than two errors" in verdict.because
    assert f"alone makes {gain - 0.5:+.3f} ± 0.141" in verdict.because
    assert "within two errors of nothing" not in verdict.because or gain == 0.25
    found.loc[paper.ARMS[0], "riskiest"] = gain + 0.1
    assert "which is within two errors of nothing. The" in paper.lower_without(found).because


def test_repairs_are_measured_for_everybody() -> None:
    """Three combinations of two candidates; a release that says nothing has a log gain of zero."""
    rng = np.random.default_rng(1)
    of_data = np.zeros((2, 3, 2))
    says = np.log([[[4.0, 1.0], [1.0, 1.0], [1.0, 4.0]]])
    nothing = [of_data + 1e-9 * rng.standard_normal(of_data.shape) for _ in range(3)]
    much = [z + says for z in nothing]
    off = AgainstSampling(difference=0.01, single=0.01, expected=0.01, error=0.1)
    arms = dict.fromkeys(paper.ARMS, (nothing, off)) | {paper.ARMS[1]: (much, off)}
    found = paper.repairs(arms, of_data, np.array([0]), np.array([1]), 0.6)
    assert found.loc[paper.ARMS[1], "riskiest"] == pytest.approx(np.log(0.8 * 2), abs=1e-6)
    assert found.loc[paper.ARMS[1], "others"] == pytest.approx(np.log(0.2 * 2) / 2, abs=1e-6)
    assert found.loc[paper.ARMS[2], ["riskiest", "next", "others"]].tolist() == pytest.approx(
        [0] * 3, abs=1e-6
    )
    assert found.loc[paper.ARMS[2], ["rise", "above_riskiest"]].tolist() == [0.5, 0]
    assert found.loc[paper.ARMS[1], ["largest", "above_riskiest"]].tolist() == pytest.approx(
        [64 / 65, 1]
    )
    assert paper.side_by_side(found).shape == (9, 5)
    given = paper.weights_of(np.array([2, 0, 1, 0]), np.array([0, 1]), np.array([0.5, 0.0]))
    assert given.tolist() == [1, 0.5, 0, 0.5]


def test_words_and_codebook() -> None:
    table = microdata.embedded_population(20, rng=np.random.default_rng(7))
    some = paper.named(table, {"DIS", "SEX", "other"})
    assert some.schema.names == ("SEX", "DIS")
    assert some.codes.shape == (20, 2)
    assert paper.in_words(some.schema, np.array([[0, 1]])) == [
        "sex: male; disability: no disability"
    ]
    book = paper.codebook(some.schema)
    assert book["levels"].tolist()[0] == "1 = male; 2 = female"


def test_the_most_exposed_record_is_told_in_words() -> None:
    table = microdata.embedded_population(20, rng=np.random.default_rng(7))
    schema, record = paper.named(table, {"DIS", "SEX"}).schema, np.array([0, 1])
    risk = Risk(np.log([[0.3, 0.7]]), np.full((1, 2), 0.1))
    told = repr(paper.card(schema, record, risk, 0, [1]))
    assert "probability 0.300 ± 0.030 and rank 2; the prior is 1/2, or 0.500" in told
    rows = [line.split() for line in told.splitlines()[2:]]
    assert rows == [["disability", "no", "disability", "unknown"], ["sex", "male", "known"]]
    values = paper.values_of_part(schema, record, [1], risk, 0)
    assert values["value"].tolist() == ["disability", "no disability"]
    assert values["truth"].tolist() == [False, True]
    both = Risk(np.log([[0.4, 0.3, 0.2, 0.1]]), np.zeros((1, 4)))
    two = paper.values_of_part(schema, record, [0, 1], both, 0)["value"].tolist()
    assert two[0] == "male,\nno disability"
    # The truth is shown, however improbable.
    assert paper.values_of_part(schema, record, [1], risk, 0, most=1)["truth"].tolist() == [True]


def test_coefficients_have_their_errors_beside_them() -> None:
    row = {"term": "SEX", "original": -0.3, "original_se": 0.05, "synthetic": -0.2, "low": -0.5}
    table = pd.DataFrame([row | {"high": 0.1, "adjusted": True, "overlap": 0.8}])
    told = paper.coefficients_in_words(table, {"SEX": "sex"}).iloc[0].tolist()
    assert told == ["sex", "-0.300 ± 0.050", -0.2, "-0.500 to 0.100", True, 0.8]


def test_more_releases_leave_less_to_the_prior() -> None:
    evidence = np.tile(np.log([[[0.9, 0.1]]]), (6, 1, 1))
    found = paper.sensitivity_to_prior(evidence, np.log([[0.2, 0.8]]), [1, 6])
    between = found["factor between the two posteriors"]
    assert between[0] > between[1] > 1


def test_records_are_compared_in_their_order_whatever_they_are_called() -> None:
    columns = ["probability", "log_mcse", "support_size"]
    part = pd.DataFrame([(0.2, 0.01, 10), (0.1, 0.01, 10)], columns=columns)
    whole = pd.DataFrame([(0.05, 0.01, 20), (0.2, 0.01, 20)], columns=columns, index=[7, 1])
    said = paper.more_from_part(part, whole)
    assert said.word == "depends on the record"
    assert "by more for 1 of 2 records and by less for 1," in said.because
