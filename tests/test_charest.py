"""Printed numbers of Charest (2013), its words on claims, and the notebook at other settings."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom

from srlib import mechanism
from srlib.ledger import printed
from srlib.mechanism import contingency
from srlib.mechanism.core import change_one
from srlib.papers import charest, count_tables
from srlib.papers.claims import FAILS, HOLDS, PROVED, UNDECIDED
from srlib.runner.parameters import Request, UsageError, resolve
from srlib.runner.run import run

Methods = dict[tuple[str, str], mechanism.Mechanism]
PRINTED = printed("charest").set_index("id")


@pytest.fixture(scope="module")
def methods() -> Methods:
    return charest.conventions(charest.binary_scores(50, 1.0), 0.5)


@pytest.fixture(scope="module")
def score_functions(methods: Methods) -> pd.DataFrame:
    return charest.table_1(methods, charest.binary_scores(50, 1.0), 30)


# -------------------------------------------------------------------------------- Table 1


def test_table_1(score_functions: pd.DataFrame) -> None:
    book = charest.judged(score_functions, 0.2525, charest.PUBLISHED).set_index("id")
    assert set(book["verdict"]) == {"match", "differs", "setting"}
    assert set(book.index[book["verdict"] == "setting"]) == set(charest.PUBLISHED)
    assert set(book.index[book["verdict"] == "differs"]) == set(charest.NOTES)
    other = charest.judged(score_functions, 0.2525, charest.PUBLISHED | {"x": 5.0})
    assert set(other["verdict"]) == {"setting", "skipped"}


def test_the_two_misprints_have_lost_one_digit(score_functions: pd.DataFrame) -> None:
    computed = charest.answers(score_functions, 0.2525)
    for key, digits in (("expected_outcome", 5), ("posterior", 8)):
        ours = f"{computed[f'table1_log_p_{key}']:.{digits}f}".lstrip("0")
        theirs = PRINTED.loc[f"table1_log_p_{key}", "printed"].lstrip("0")
        assert theirs in {ours[:i] + ours[i + 1 :] + "0" for i in range(len(ours))}


def test_no_mechanism_of_table_1_has_its_epsilon(score_functions: pd.DataFrame) -> None:
    rows = score_functions[score_functions["convention"] == "as printed"].set_index("score")
    assert rows["exact_epsilon"].round(3).to_dict() == {
        "distance": 0.714,
        "P": 0.126,
        "log P": 1.778,
    }
    calibrated = score_functions[score_functions["convention"] == "calibrated"]
    np.testing.assert_allclose(calibrated["exact_epsilon"], 0.5)


def test_distances_at_equal_exact_epsilon(methods: Methods) -> None:
    made = charest.at_equal_epsilon(methods)
    found = charest.expected_distances(made)
    assert found.loc[30].round(2).tolist() == [3.07, 12.85, 8.15, 4.46, 4.44]
    assert found.loc[50, ["exponential, log P", "beta-binomial"]].round(1).tolist() == [6.3, 18.9]
    direct = np.exp(made["exponential, P"].row(7)) @ np.abs(np.arange(51) - 7)
    assert found.loc[7, "exponential, P"] == pytest.approx(direct)


def test_an_intruder_who_lacks_one_record() -> None:
    """Two records, a one and a zero: the release is their noisy number of ones."""
    log_prob = np.log([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    table = mechanism.Mechanism.from_table(log_prob, change_one(2))
    found = charest.disclosure({"noisy": table}, 1).iloc[0]
    prob = np.exp(log_prob)
    posterior = np.array([prob[1] / (prob[1] + prob[0]), prob[1] / (prob[1] + prob[2])])
    assert found["expected posterior"] == pytest.approx((posterior @ prob[1]).mean())
    assert found["largest posterior"] == pytest.approx(0.75)
    assert found["expected log gain"] == pytest.approx((np.log(2 * posterior) @ prob[1]).mean())
    # At the end of the space there are no records of one kind.
    alone = charest.disclosure({"noisy": table}, 0).iloc[0]
    assert alone["largest posterior"] == pytest.approx(0.7 / 0.9)


def test_no_posterior_exceeds_what_epsilon_allows(methods: Methods) -> None:
    made = charest.at_equal_epsilon(methods)
    for x in (0, 13, 50):
        assert (charest.disclosure(made, x)["largest posterior"] <= expit(0.5) + 1e-9).all()


def test_permute_and_flip_at_equal_exact_epsilon() -> None:
    found = charest.permuted(charest.binary_scores(50, 1.0), 30, 0.5)
    found = found.set_index(["mechanism", "score"])
    plain, flip = found.loc["exponential"], found.loc["permute-and-flip"]
    assert (flip["distance_at_nominal"] <= plain["distance_at_nominal"]).all()
    at_exact = [frame.loc["distance", "distance_at_exact"].round(2) for frame in (plain, flip)]
    assert at_exact == [3.07, 3.74]


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_permute_and_flip_where_doubles_end() -> None:
    found = charest.permuted(charest.binary_scores(50, 1000.0), 30, 100.0)
    missing = found["distance_at_exact"].isna().groupby(found["mechanism"]).any()
    assert missing.to_dict() == {"exponential": False, "permute-and-flip": True}


def test_likely_data_sets() -> None:
    score = charest.binary_scores(50, 1.0)["log P"]
    found = charest.over_likely(score, [(1, 1), (6, 4), (600, 400)], [0.99, 0.999], 0.5, 30)
    assert found["likely"].tolist() == [0.99] * 3 + [0.999] * 3
    first, second, third = (found.iloc[i] for i in range(3))
    assert (first["from"], first["to"], first["delta, all"]) == (0, 50, 0)
    assert first["exact epsilon, all"] == pytest.approx(0.5)
    assert (second["from"], second["to"]) == (10, 47)
    assert round(second["delta, all"], 8) == 3.924e-05
    assert third["exact epsilon, all"] > 1 > second["exact epsilon, all"] > 0.5


# --------------------------------------------------------------------------- tables of counts


def test_scores_of_a_space_have_their_epsilon() -> None:
    space = count_tables.space((2, 2), 3, 20, rng=np.random.default_rng(1))
    for made in space.mechanisms(0.8).values():
        assert mechanism.exact_epsilon(made).value == pytest.approx(0.8)
    table = count_tables.compare(space, [0.8]).set_index(["data", "measure", "mechanism"])
    assert set(table["table"]) == {"2 × 2"}
    made = space.mechanisms(0.8)["Euclidean"]
    at = int((space.tables == [3, 0, 0, 0]).all(axis=1).argmax())
    expected = np.exp(made.row(at)) @ (3 - space.tables[:, 0])
    assert table.loc[
        ("one cell", "records in another cell", "Euclidean"), "expected"
    ] == pytest.approx(expected)


def test_wins_are_counted_by_the_direction_of_the_measure() -> None:
    moved, models = count_tables.MOVED, count_tables.MODELS
    rows = [
        ("2 × 2", 1.0, "balanced", measure, name, value)
        for measure, better in (("cells", 1.0), (f"{count_tables.LARGER}, Dirichlet", 3.0))
        for name, value in zip([*models, moved], [better, 2.0, 4 - better, 2.0], strict=True)
    ]
    columns = ["table", "epsilon", "data", "measure", "mechanism", "expected"]
    found = count_tables.wins(pd.DataFrame(rows, columns=columns))
    assert found[[*models]].to_numpy().tolist() == [[1, 0, 0], [1, 0, 0]]


def test_a_strong_prior_that_is_right() -> None:
    space = count_tables.space((2, 2), 4, 5, rng=np.random.default_rng(1))
    found = count_tables.by_alpha(space, [1.0, 50.0], 1.0)
    assert found["balanced"].idxmin() == 1
    assert found["one cell"].idxmin() == 2


def test_one_draw_by_likelihood_has_the_probabilities_that_it_promises() -> None:
    cells = np.log([[0.9, 0.1], [0.5, 0.5]])
    power = 1.2 / np.log(9)
    weight = np.exp(power * (cells @ [3, 1]))
    chance = weight[0] / weight.sum()
    rng = np.random.default_rng(3)
    drawn = count_tables.draw_by_likelihood(cells, np.array([3, 1]), 1.2, 4000, rng=rng)
    assert (drawn.sum(axis=1) == 4).all()
    p = chance * 0.9**4 + (1 - chance) * 0.5**4
    low, high = binom.interval(1 - 1e-5, 4000, p)
    assert low <= (drawn[:, 0] == 4).sum() <= high


def test_shares_of_independent_variables() -> None:
    table = np.array([3, 0, 0, 1])
    found = count_tables.independent_shares(table, (2, 2))
    np.testing.assert_allclose(found, np.outer([0.75, 0.25], [0.75, 0.25]).ravel())


def test_guaranteed_and_not() -> None:
    rng, data = np.random.default_rng(4), np.array([5, 0, 1, 2])
    draws = contingency.limit_log_ratios(contingency.log_linear_draws((2, 2), 50, rng=rng), 3.0)
    found = count_tables.guaranteed({"log-linear": draws}, data, 1.0, 50, rng=rng)
    assert list(found) == ["Dirichlet draws", "one draw by likelihood, log-linear", "records moved"]
    assert found["records moved"][0] == contingency.expected_records_moved(data, 0.5) / 8
    free = count_tables.not_private(data, (2, 2), 50, rng=rng)
    assert all(0 < share < 1 and error > 0 for share, error in free.values())
    assert len(count_tables.over_limits(draws, data, 1.0, [1.0, 2.0], 20, rng=rng)) == 2


def test_an_estimated_score_in_a_row() -> None:
    pairs, score = change_one(2), np.array([[0.0, 1.0], [1.0, 0.5], [1.0, 0.0]])
    row = count_tables.estimated(
        "m", "fresh", 1000, [(score, score), (2 * score, score)], 1.0, pairs
    )
    assert (row["draws"], row["its own sensitivity"], row["median error"]) == ("1,000", 2.0, 0.75)
    gibbs = mechanism.gibbs(2 * score, 0.5, pairs)
    assert row[count_tables.KNOWN] == mechanism.exact_epsilon(gibbs).value


def test_effective_number_of_common_draws() -> None:
    cells = np.log([[0.5, 0.5], [0.75, 0.25]])
    weight = np.array([0.25, 0.1875])
    expected = weight.sum() ** 2 / (weight**2).sum()
    found = count_tables.effective_draws(cells, np.array([[1, 1], [0, 0]]))
    assert found == pytest.approx(expected)


def test_differences_of_estimated_scores() -> None:
    rng = np.random.default_rng(5)
    first, second = np.log(rng.dirichlet(np.ones(3), (2, 4, 10)))[:, :2].swapaxes(0, 1)
    tables = mechanism.compositions(3, 3)
    found = count_tables.largest_difference(first, second, tables, [4, 20])
    every = [contingency.log_predictive(d.reshape(-1, 3), tables)[0] for d in (first, second)]
    assert found["draws"].tolist() == [4, 20]
    assert found["largest difference"].iloc[1] == pytest.approx(np.abs(every[0] - every[1]).max())


# --------------------------------------------------------------------------------------- words


def test_words_on_a_condition_and_a_promise() -> None:
    grid = pd.DataFrame({"necessary and sufficient": [True, True]})
    assert charest.condition_holds(grid).word == PROVED
    assert charest.condition_holds(~grid).word == FAILS

    def of(*epsilons: float) -> str:
        rows = {"score": list("abc"), "convention": "as printed", "exact_epsilon": epsilons}
        return charest.promise_kept(pd.DataFrame(rows), 0.5).word

    assert of(0.5, 0.1, 0.5) == HOLDS
    assert of(0.7, 0.1, 0.5) == "depends on the score"
    assert of(0.7, 0.6, 0.51) == FAILS


def test_words_on_log_p() -> None:
    def of(*closer: float) -> str:
        table = pd.DataFrame({"gamma": range(1, len(closer) + 1), "closer": closer})
        return charest.log_is_better(table).word

    assert (of(1, 1), of(1, 0.9), of(0, 0)) == (HOLDS, "depends on the prior", FAILS)


@pytest.mark.parametrize(
    ("share", "with_prior", "word"),
    [
        (0.0, 2.0, FAILS),
        (0.0, 0.5, "depends on the prior and the data"),
        (0.04, 2.0, FAILS),
        (0.06, 2.0, "depends on the prior and the data"),
        (0.96, 2.0, HOLDS),
    ],
)
def test_words_on_log_p_against_distance(share: float, with_prior: float, word: str) -> None:
    shares = pd.DataFrame([dict.fromkeys(count_tables.MODELS, share)])
    priors = pd.DataFrame({"score": ["log P", "records moved"], "balanced": [with_prior, 1.0]})
    verdict = charest.beats_distance(shares, priors)
    assert verdict.word == word
    assert ("log P on balanced data" in verdict.because) == (with_prior < 1)


def test_words_on_draws_and_bounds() -> None:
    def of(common: float, averaged: float) -> str:
        rows = {"draws from": ["common", "fresh"], count_tables.KNOWN: [common, 1.67]}
        mean = pd.Series({"epsilon": averaged, "standard error": 0.006})
        return charest.by_draws(pd.DataFrame(rows), mean).word

    # What counts of fresh draws is the mean over them, not what one knows who sees them.
    assert of(0.21, 0.595) == HOLDS
    assert (of(0.21, 0.99), of(0.21, 1.02), of(1.1, 0.5)) == (UNDECIDED, FAILS, FAILS)
    truth = pd.DataFrame({"model": ["a"], "bound": [2.0], "n = 1": [1.0], "n = 3": [2.0]})
    assert charest.bound_scales(truth).word == "depends on the draws"
    assert "100\u00a0% of it" in charest.bound_scales(truth).because
    assert charest.bound_scales(truth.assign(bound=1.9)).word == HOLDS


def test_words_on_likely_data_sets() -> None:
    def of(*deltas: float) -> str:
        rows = {"likely": 0.99, "belief": "Beta", "delta, all": deltas, "exact epsilon, all": 1.0}
        return charest.likely_suffices(pd.DataFrame(rows), 0.5).word

    assert (of(0.01, 0.0), of(0.02, 0.0), of(0.02, 0.02)) == (HOLDS, "depends on the belief", FAILS)


# --------------------------------------------------------------------------------- the notebook


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilon", "0", "[0.001, 100]"),
        ("gamma", "-1", "[0.001, 1000]"),
        ("n_table", "100", "[1, 24]"),
        ("budgets", "[1, 0]", "[0.001, 100]"),
        ("likely", "1.5", "(0, 1]"),
        ("limit", "0", "[0.01, 100]"),
    ],
)
def test_bad_parameters_are_found_before_a_kernel_starts(
    root: Path, name: str, value: str, message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(root, "charest", overrides=[(name, value)])


def test_notebook_runs_at_other_settings(root: Path, tmp_path: Path) -> None:
    settings = {"n": 5, "x": 5, "epsilon": 2.0, "gamma": 0.5, "n_table": 3, "budgets": [1.5]}
    settings |= {"n_small": 2, "model_draws": [16], "audit_sizes": [50], "n_large": 12}
    settings |= {"n_three": 1, "prior_draws": 16, "limit": 1.0}
    parameters = resolve(root, "charest").parameters
    folder = run(root, Request("charest", "other", {**parameters, **settings}, {}), tmp_path)
    book = pd.read_csv(folder / "tables/ledger.csv")
    assert set(book["verdict"]) == {"setting", "skipped"}
    scores = pd.read_csv(folder / "tables/monte_carlo_scores.csv").set_index(
        ["model", "draws from"]
    )
    averaged = pd.read_csv(folder / "tables/mean_over_draws.csv").iloc[-1]
    true, known = (
        scores.loc[("Dirichlet", k), count_tables.KNOWN].max() for k in ("exact", "fresh")
    )
    assert true - 4 * averaged["standard error"] < averaged["epsilon"] < min(1, known)
    assert '"stderr"' not in (folder / "notebook.ipynb").read_text(encoding="utf-8")
