"""Participants and outsiders after releases of any synthesizer, against sums over all cases."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.data.schema import Schema, Variable
from srlib.dpmpm.one_class import OneClass
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism import OnRecords, beta_binomial
from srlib.papers import intruders as paper
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED
from srlib.papers.ledger import shipped
from srlib.risk.synthesizers import Density, log_likelihoods
from srlib.trees import Growth, SequentialTrees

ROOT = Path(__file__).resolve().parents[1]
LEVELS = np.array([2, 2])
SCHEMA = Schema((Variable("a", ("0", "1")), Variable("b", ("0", "1"))))
PEOPLE = np.array([[0, 0], [0, 1], [1, 1], [0, 1]], dtype=np.uint8)
READER = SequentialTrees(SCHEMA, growth=Growth(min_leaf=1, smoothing=1.0))
SMOOTHED = SequentialTrees(SCHEMA, growth=Growth(min_leaf=1, smoothing=0.5))
SYNTHESIZERS: dict[str, Density] = {
    "smoothed": SMOOTHED,
    "trees": SequentialTrees(SCHEMA, growth=Growth(min_leaf=1)),
    "margins": PlugInMargins(LEVELS),
}
PRIVATE = LaplaceMargins(LEVELS, 8.0)
CELLS = np.array(list(product((0, 1), repeat=2)), dtype=np.uint8)


KNOWN_TO = ("nobody", "all others")
TABLES = [CELLS[list(at)] for at in product(range(4), repeat=2)]
KNOWN: dict[tuple, NDArray] = {}


def densities(synthesizer: Density, data: NDArray, m: int) -> NDArray:
    """Log probabilities of all sets of m releases of two records."""
    key = (id(synthesizer), *sorted(map(tuple, data.tolist())))
    if key not in KNOWN:
        KNOWN[key] = np.array([synthesizer.log_prob(table, data) for table in TABLES])
    return np.sum([each.ravel() for each in np.meshgrid(*[KNOWN[key]] * m, indexing="ij")], axis=0)


def exactly(synthesizer: Density, unknown: list[int], m: int) -> dict[tuple[str, str], float]:
    """Participants less outsiders, over all who take part, all places, outsiders and releases."""
    found: dict[tuple[str, str], list[float]] = {}
    read = np.array(
        [
            [
                READER.grown_on(t).record_log_prob(disclosure.subset_support(x, unknown, LEVELS),
                                                   unknown)
                for x in PEOPLE
            ]
            for t in TABLES
        ]
    )  # fmt: skip
    sets = np.array(list(product(range(16), repeat=m)))
    for i, o, j in permutations(range(4), 3):
        log_prob = densities(synthesizer, PEOPLE[[i, j]], m)
        scores = {}
        for who in (i, o):
            support = disclosure.subset_support(PEOPLE[who], unknown, LEVELS)
            columns = [densities(synthesizer, np.stack([x, PEOPLE[j]]), m) for x in support]
            scores["all others", who] = np.array(columns)
            scores["nobody", who] = logsumexp(read[sets, who], axis=1).T
        possible = np.isfinite(log_prob)
        weight = np.exp(log_prob[possible])
        for known in KNOWN_TO:
            held = []
            for who in (i, o):
                of_all = scores[known, who][:, possible]
                total = logsumexp(of_all, axis=0)
                prior = -np.log(len(of_all))
                with np.errstate(invalid="ignore"):
                    held.append(np.where(np.isneginf(total), prior, of_all[0] - total))
            apart = np.exp(held[0]) - np.exp(held[1])
            found.setdefault((known, "probability"), []).append(weight @ apart)
            if not np.isneginf(held[1]).any():
                found.setdefault((known, "gain"), []).append(weight @ (held[0] - held[1]))
    return {key: float(np.mean(each)) for key, each in found.items() if len(each) == 24}


@pytest.mark.parametrize(("unknown", "m"), [([1], 2), ([0, 1], 1)])
def test_divisions_against_all_cases(unknown: list[int], m: int) -> None:
    found = disclosure.taking_part(
        PEOPLE, LEVELS, unknown, SYNTHESIZERS, READER, [m], n_pairs=40, n_places=2,
        rng=np.random.default_rng(4),
    )  # fmt: skip
    assert found.prior == 1 / 2 ** len(unknown)
    n_checked = 0
    for column in ("probability", "gain"):
        told = found.numbers(column).set_index(["synthesizer", "known"])
        for name, synthesizer in SYNTHESIZERS.items():
            for (known, what), exact in exactly(synthesizer, unknown, m).items():
                if what == column:
                    row = told.loc[(name, known)]
                    assert abs(row["difference"] - exact) < 4.5 * row["se"] + 1e-12, (name, known)
                    n_checked += 1
    assert n_checked >= 10
    assert told.loc[("trees", "all others"), "difference"] == np.inf
    assert np.isnan(told.loc[("trees", "all others"), "se"])
    shares = told.loc[("trees", "all others")]
    assert shares["excluded"] > 0
    assert not told.loc["smoothed", ["excluded", "refuted"]].to_numpy().any()


def test_without_known_values_the_difference_is_a_divergence() -> None:
    """Half the symmetrized Kullback-Leibler divergence; a chi-square distance in probability."""
    for synthesizer in (SMOOTHED, PRIVATE):
        jeffreys, squares = [], []
        for i, o, j in permutations(range(4), 3):
            p, q = (densities(synthesizer, PEOPLE[[who, j]], 1) for who in (i, o))
            every = [densities(synthesizer, np.stack([x, PEOPLE[j]]), 1) for x in CELLS]
            total = np.exp(logsumexp(every, axis=0))
            jeffreys.append(0.5 * ((np.exp(p) - np.exp(q)) * (p - q)).sum())
            squares.append(0.5 * ((np.exp(p) - np.exp(q)) ** 2 / total).sum())
        exact = exactly(synthesizer, [0, 1], 1)
        assert exact["all others", "gain"] == pytest.approx(np.mean(jeffreys), rel=1e-9)
        assert exact["all others", "probability"] == pytest.approx(np.mean(squares), rel=1e-9)
        assert np.mean(jeffreys) > 0.001
        # What epsilon allows: total variation of releases that differ by one record.
        if isinstance(synthesizer, LaplaceMargins):
            assert exact["all others", "probability"] < np.tanh(synthesizer.epsilon / 2)


def test_finite_mechanisms_take_part() -> None:
    """The beta-binomial on two people, where all that is known of an outsider is nothing."""
    mechanism = beta_binomial(n=2, n_s=2, alpha=1.0)
    synthesizer = OnRecords(mechanism, [2])
    ones = np.array([[0], [0], [1], [0]], dtype=np.uint8)
    schema = Schema((Variable("a", ("0", "1")),))
    found = disclosure.taking_part(
        ones, np.array([2]), [0], {"table": synthesizer},
        SequentialTrees(schema, growth=Growth(smoothing=1.0)), n_pairs=80, n_places=2,
        rng=np.random.default_rng(5),
    ).numbers("gain")  # fmt: skip
    apart = []
    for i, o, j in permutations(range(4), 3):
        p, q = (mechanism.row(int(ones[[who, j]].sum())) for who in (i, o))
        apart.append(0.5 * ((np.exp(p) - np.exp(q)) * (p - q)).sum())
    row = found[found["known"] == "all others"].iloc[0]
    assert abs(row["difference"] - np.mean(apart)) < 4.5 * row["se"]
    assert row["se"] < 0.1
    sizes = paper.one_answer([4, 16])
    k = 2  # half of four people have said yes: a table of the third and the fourth row
    p, q = beta_binomial(n=4, n_s=4, alpha=1.0).row(k), beta_binomial(n=4, n_s=4, alpha=1.0).row(1)
    half = 0.5 * ((np.exp(p) - np.exp(q)) * (p - q)).sum()
    assert sizes["with a drawn share"][0] == pytest.approx(half)


def test_a_mixture_of_one_class_has_the_closed_form() -> None:
    rng = np.random.default_rng(6)
    people = (rng.random((24, 2)) < 0.4).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=1, burn_in=5, n_draws=800, n_chains=4)
    draws = dpmpm.sample_posterior(people[:12], LEVELS, chains, rng=rng)
    (released,) = draws.release(1, 12, rng=rng)
    joined = dpmpm.sample_posterior(np.vstack([people[:12], released]), LEVELS, chains, rng=rng)
    both = [
        disclosure.subset_log_means(d, people[12:], [0, 1], place=people[:12])
        for d in (draws, joined)
    ]
    support = np.stack([disclosure.subset_support(x, [0, 1], LEVELS) for x in people[12:]])
    exact = log_likelihoods(OneClass(LEVELS), [released], people[:12], np.arange(12), support)
    apart = both[1] - both[0]
    apart = apart - apart[:, :, :1] - (exact - exact[:, :1])
    error = apart.std(axis=0, ddof=1) / 2
    assert np.abs(apart.mean(axis=0)[:, 1:] / error[:, 1:]).max() < 9  # t with three degrees
    assert np.abs(apart.mean(axis=0)).max() < 0.03
    own = disclosure.subset_log_means(draws, people[:12], [0])
    np.testing.assert_allclose(
        own, disclosure.subset_log_means(draws, people[:12], [0], place=people[:12]), rtol=1e-5
    )


def test_the_mixture_beside_its_density() -> None:
    """Drawn and sought by chains, the one-class mixture tells what its density tells."""
    rng = np.random.default_rng(7)
    people = (rng.random((16, 2)) < 0.4).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=1, burn_in=5, n_draws=100, n_chains=2)
    several: dict[str, Density | dpmpm.Mixture] = {
        "chains": dpmpm.Mixture(LEVELS, chains),
        "exact": OneClass(LEVELS),
    }
    found = disclosure.taking_part(
        people, LEVELS, [0, 1], several, READER, [1, 2], n_pairs=10, n_places=8, rng=rng
    )
    told = found.numbers().set_index(["synthesizer", "releases", "known"])
    assert len(told) == 8
    for releases in (1, 2):
        a, b = (told.loc[(name, releases, "all others")] for name in several)
        assert abs(a["difference"] - b["difference"]) < 4.5 * np.hypot(a["se"], b["se"])
        assert abs(a["difference"]) > 2 * a["se"]


def test_records_have_their_probability_in_the_trees() -> None:
    trees = SMOOTHED.grown_on(PEOPLE)
    found = trees.record_log_prob(CELLS)
    np.testing.assert_allclose(found, [trees.log_prob(cell[None]) for cell in CELLS])
    last = np.exp(trees.record_log_prob(CELLS, [1])).reshape(2, 2)
    np.testing.assert_allclose(last.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_pairs": 1}, "n_pairs is 1; it must be 2 or more"),
        ({"n_places": 0}, "n_places is 0"),
        ({"numbers": []}, "numbers"),
        ({"codes": PEOPLE[:3]}, "codes has 3 records; four or more"),
        ({"reader": SequentialTrees(SCHEMA)}, "reader must have the unknown variables last"),
        ({"unknown": [0]}, "reader must have the unknown variables last"),
        ({"unknown": []}, "unknown is"),
    ],
)
def test_what_cannot_be_compared(changed: dict, message: str) -> None:
    arguments: dict = {
        "codes": PEOPLE, "n_levels": LEVELS, "unknown": [1], "synthesizers": SYNTHESIZERS,
        "reader": READER, "n_pairs": 2, "n_places": 1, "rng": np.random.default_rng(1),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        disclosure.taking_part(**(arguments | changed))


# ------------------------------------------------------------------------------------------ verdict


def numbers(*differences: float, error: float = 0.01) -> pd.DataFrame:
    rows = []
    for at, difference in enumerate(differences):
        for known, more in zip(KNOWN_TO, (0.01, difference), strict=True):
            rows.append({"synthesizer": f"s{at}", "releases": 1, "known": known, "outsiders": 0.3,
                         "outsiders_se": 0.01, "difference": more, "se": error,
                         "excluded": 0.0, "refuted": 0.0})  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ((0.0, 0.02), HOLDS),
        ((0.029,), HOLDS),
        ((0.031,), UNDECIDED),
        ((0.069, 0.3), UNDECIDED),
        ((0.071, 0.3), FAILS),
        ((0.0, 0.3), "depends on the synthesizer"),
        ((0.0, 0.05, 0.3), "depends on the synthesizer"),
        ((0.0, 0.05), UNDECIDED),
    ],
)
def test_as_much_is_told_of_outsiders(differences: tuple, word: str) -> None:
    verdict = paper.tells_outsiders_as_much(numbers(*differences), 1 / 12)
    assert verdict.word == word
    shown = paper.in_short(numbers(*differences))
    assert shown["outsiders"].iloc[0] == "0.300\u00a0±\u00a00.010"
    assert len(shown) == 2 * len(differences)


# ------------------------------------------------------------------------------- the sweep's table


def test_the_table_that_ships_is_the_sweeps() -> None:
    origin, table = shipped("intruders_participation")
    assert "params/intruders/sweep_participation.yaml" in origin
    sweep = yaml.safe_load((ROOT / "params/intruders/sweep_participation.yaml").read_text("utf-8"))
    assert sorted(table["n_records"].unique()) == sweep["grid"]["n_records"]
    assert sorted(table["releases"].unique()) == sweep["base"]["numbers_released"]
    assert f"{2 * sweep['base']['n_pairs']} divisions" in origin
    kinds = paper.synthesizers(SCHEMA, dpmpm.Chains(n_classes=2, burn_in=1, n_draws=30), 1.0)
    assert table["synthesizer"].unique().tolist() == list(kinds)
    assert len(table) == 2 * 2 * len(kinds) * len(sweep["grid"]["n_records"])
    logs = table[table["known"] == "all others"].set_index("synthesizer")["log_difference"]
    assert np.isinf(logs[["trees, leaves of 5", "trees, leaves of 20"]]).all()
    value, error = paper.curves_by_size(table, 5)
    shown = paper.by_size(table, "all others", "difference", "se")
    assert shown.shape == (2 * len(kinds), 2 + len(value))
    first = f"{value.iloc[0, 0]:.3f}\u00a0±\u00a0{error.iloc[0, 0]:.3f}"
    assert 0.002 < error.iloc[0, 0] < 0.01  # its first digit is in the third decimal place
    assert shown[shown["releases"] == 5].iloc[0, 2] == first


def test_what_is_said_of_sizes() -> None:
    rows = []
    for n, falls, rises, told in ((200, 0.4, 0.1, 0.2), (2000, 0.04, 0.2, 0.3)):
        for name, ahead in (("a", falls), ("b", rises), ("c", 0.0)):
            row = {"n_records": n, "synthesizer": name, "releases": 5, "se": 0.01}
            row |= {"outsiders": told if name == "a" else 0.2, "outsiders_se": 0.01}
            rows += [row | {"known": known, "difference": ahead} for known in KNOWN_TO]
    said = repr(paper.with_size(pd.DataFrame(rows), 5)).replace("\u00a0", " ")
    assert "From 100 to 1,000 people, 10 times as many" in said
    assert "a: 0.400 ± 0.010 to 0.040 ± 0.010 (falls, by a factor of 10 ± 3)" in said
    assert "b: 0.100 ± 0.010 to 0.200 ± 0.010 (rises)" in said
    assert "c: 0.000 ± 0.010 to 0.000 ± 0.010 (no change beyond error)" in said
    assert "rise for 1 of 3 synthesizers, beyond two errors, and fall for 0" in said
