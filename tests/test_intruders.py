"""Weaker intruders: against enumeration, closed forms and each other."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
import pytest
from enumeration import all_cells, exact_log_risk, log_marginal_likelihood
from numpy.typing import NDArray
from scipy.special import betaln, expit, gammaln, logit

from srlib import dpmpm
from srlib import risk as disclosure
from srlib.mechanism.bayes import posterior
from srlib.papers import intruders as paper
from srlib.risk import partial as part_known

LEVELS = np.array([2, 3, 4])
PRIOR = dpmpm.Prior(alpha_shape=1.0, alpha_rate=1.0)


def some_draws() -> tuple[dpmpm.Draws, NDArray]:
    rng = np.random.default_rng(4)
    codes = (rng.random((40, 3)) * LEVELS).astype(np.uint8)
    chains = dpmpm.Chains(n_classes=3, burn_in=10, n_draws=5, n_chains=2)
    return dpmpm.sample_posterior(codes, LEVELS, chains, rng=rng), np.unique(codes, axis=0)


# ------------------------------------------------------------------------------ part of a record


@pytest.mark.parametrize("unknown", [[1], [2, 0], [0, 1, 2]])
def test_all_records_at_once_as_one_by_one(
    unknown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    draws, codes = some_draws()
    monkeypatch.setattr(part_known, "BLOCK", 48)  # several blocks of records
    found = disclosure.subset_log_means(draws, codes, unknown)
    mixed = np.arange(len(codes)) % 2 == 0
    partly = disclosure.subset_log_means(draws, codes, unknown, left_out=mixed)
    for i, x in enumerate(codes):
        support = disclosure.subset_support(x, sorted(unknown), LEVELS)
        in_order = np.lexsort(support[1:, unknown[::-1]].T)
        support[1:] = support[1:][in_order]
        one = disclosure.support_log_ratios(draws, support)[0][:, 0]
        np.testing.assert_allclose(found[:, i], one, rtol=1e-5, atol=1e-6)
        plain = np.log(np.exp(dpmpm.cell_log_prob(draws, support)).mean(axis=1))
        np.testing.assert_allclose(partly[:, i], one if mixed[i] else plain, rtol=1e-5, atol=1e-6)


def test_part_of_a_record_and_the_models_own_prior_against_enumeration() -> None:
    """Equation 16 and section 5 on a 2 x 2 table, two classes, for all four records."""
    levels = np.array([2, 2])
    data = np.array([[0, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8)
    releases = [
        np.array([[0, 1], [1, 1], [1, 1]], dtype=np.uint8),
        np.array([[0, 1], [0, 1], [0, 1]], dtype=np.uint8),
    ]
    rng = np.random.default_rng(1)
    chains = dpmpm.Chains(n_classes=2, burn_in=100, n_draws=4_000, thin=2, n_chains=6, prior=PRIOR)

    def means(codes: NDArray) -> NDArray:
        draws = dpmpm.sample_posterior(codes, levels, chains, rng=rng)
        return disclosure.subset_log_means(draws, data, [1])

    log_ratios = [means(np.vstack(s)) for s in ([data], *([data, z] for z in releases))]
    flat = disclosure.predictive_ratio(log_ratios)
    informed = disclosure.predictive_ratio(log_ratios, model_prior=True)
    told = disclosure.evidence(log_ratios, model_prior=True)
    for i, x in enumerate(data[:]):
        support = disclosure.subset_support(x, [1], levels)
        exact = exact_log_risk(data, i, support, releases, [2, 2], 2, PRIOR)
        others = np.delete(data, i, axis=0)
        predicted = [np.vstack([others, candidate[None]]) for candidate in support]
        prior = posterior(
            np.array([log_marginal_likelihood(d, [2, 2], 2, PRIOR) for d in predicted])
        )
        assert np.abs((flat.log_prob[i] - exact) / flat.log_mcse[i]).max() < 5
        both = posterior(exact, prior)
        assert np.abs((informed.log_prob[i] - both) / informed.log_mcse[i]).max() < 5
        off = (told["log_gain"][i] - (both[0] - prior[0])) / told["log_gain_mcse"][i]
        assert abs(off) < 5
        assert np.abs(both - exact).max() > 10 * informed.log_mcse[i].max()
    assert max(flat.log_mcse.max(), informed.log_mcse.max(), told["log_gain_mcse"].max()) < 0.03


# ------------------------------------------------------------- the model's own prior and its error


def simulated(n: int = 4_000) -> tuple[NDArray, list[NDArray]]:
    """Sixteen chains given D, eight given each of three releases, around a known truth."""
    rng = np.random.default_rng(2)
    log_truth = rng.normal(size=(n, 4))

    def chains(log_mean: NDArray, n_chains: int) -> NDArray:
        return log_mean + np.log(rng.gamma(50, 1 / 50, (n_chains, n, 4)))

    return log_truth, [chains(log_truth, 16), *(chains(1.5 * log_truth, 8) for _ in range(3))]


def test_errors_with_the_models_own_prior_cover() -> None:
    """The prior comes from the chains of D, which are therefore raised to 1 - m, not to -m."""
    log_truth, log_ratios = simulated()
    risk = disclosure.predictive_ratio(log_ratios, model_prior=True)
    z = (risk.log_prob - posterior(2.5 * log_truth)) / risk.log_mcse
    assert 0.92 < np.mean(np.abs(z) < 2) < 0.975
    apart = posterior(np.logaddexp.reduce(log_ratios[0], axis=0))
    naive = disclosure.predictive_ratio(log_ratios, apart)
    np.testing.assert_allclose(naive.log_prob, risk.log_prob, atol=1e-10)
    assert np.median(naive.log_mcse / risk.log_mcse) > 1.1


@pytest.mark.parametrize("model_prior", [False, True])
def test_errors_of_the_evidence_cover(model_prior: bool) -> None:
    log_truth, log_ratios = simulated()
    told = disclosure.evidence(log_ratios, model_prior=model_prior)
    before = posterior(model_prior * log_truth)
    after = posterior((1.5 + model_prior) * log_truth)
    gain = after[:, 0] - before[:, 0]
    needed = after.max(axis=1) - after[:, 0]
    ratio = logit(np.exp(after[:, 0])) - logit(np.exp(before[:, 0]))
    for name, exact in (("gain", gain), ("odds_needed", needed), ("ratio", ratio)):
        error = told[f"log_{name}_mcse"]
        z = ((told[f"log_{name}"] - exact) / error)[error > 0]
        assert 0.92 < np.mean(np.abs(z) < 2) < 0.975, name


def test_evidence_is_of_one_piece() -> None:
    _, log_ratios = simulated(50)
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(4), 50))
    told = disclosure.evidence(log_ratios, log_prior)
    risk = disclosure.predictive_ratio(log_ratios, log_prior)
    np.testing.assert_allclose(told["prior"], np.exp(log_prior[:, 0]))
    np.testing.assert_allclose(told["probability"], risk.probability)
    np.testing.assert_allclose(told["rank"], risk.rank)
    np.testing.assert_allclose(np.exp(told["log_odds_needed"]), risk.prior_odds)
    by_odds = expit(logit(told["prior"]) + told["log_ratio"])
    np.testing.assert_allclose(by_odds, told["probability"])
    np.testing.assert_allclose(told["log_gain"], np.log(told["probability"] / told["prior"]))


# ---------------------------------------------------------------------- some of the other records


def one_variable(known: NDArray, n_unknown: int, releases: list[NDArray]) -> NDArray:
    """Log p(x | known, releases), x = 0, 1: one yes/no variable in one class, all U summed."""

    def log_m(ones: NDArray, size: int) -> NDArray:
        return betaln(1 + ones, 1 + size - ones)

    ones = np.arange(n_unknown + 1)
    ways = gammaln(n_unknown + 1) - gammaln(ones + 1) - gammaln(n_unknown - ones + 1)
    log_prob, n = [], len(known) + n_unknown + 1
    for x in (0, 1):
        of_data = known.sum() + x + ones
        terms = ways + (1 - len(releases)) * log_m(of_data, n)
        terms += sum(log_m(of_data + z.sum(), n + len(z)) for z in releases)
        log_prob.append(np.logaddexp.reduce(terms))
    return posterior(np.array(log_prob))


ONES = np.array([0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0], dtype=np.uint8)
RELEASES = [np.repeat([0, 1], [12 - k, k]).astype(np.uint8) for k in (2, 6, 8)]


def one_class(
    known: NDArray, releases: list[NDArray], *, n_draws: int = 100, thin: int = 50
) -> disclosure.PartialKnowledge:
    chains = dpmpm.Chains(n_classes=1, burn_in=100, n_draws=n_draws, thin=thin)
    return disclosure.partial_knowledge(
        known[:, None], len(ONES) - len(known), [z[:, None] for z in releases], np.array([2]),
        np.array([[0], [1]]), [0], left_out=False, chains=chains, rng=np.random.default_rng(5),
    )  # fmt: skip


@pytest.mark.parametrize(("n_known", "m"), [(0, 1), (4, 1), (0, 3), (4, 3)])
def test_a_fraction_known_against_the_closed_form(n_known: int, m: int) -> None:
    found = one_class(ONES[:n_known], RELEASES[:m])
    risk = found.risk(model_prior=True)
    exact = one_variable(ONES[:n_known], 11 - n_known, RELEASES[:m])
    for i, order in enumerate([[0, 1], [1, 0]]):  # the truth is no, the truth is yes
        assert np.abs((risk.log_prob[i] - exact[order]) / risk.log_mcse[i]).max() < 5
    assert risk.log_mcse.max() < 0.05
    assert len(found.traces) == 1 + (n_known > 0)
    # With a uniform prior what the known records say is taken out again.
    ones = ONES[:n_known].sum()
    log_prior = -np.log([1 + n_known - ones, 1 + ones])
    flat = found.risk()
    assert np.abs((flat.log_prob[0] - posterior(exact, log_prior)) / flat.log_mcse[0]).max() < 5


def test_with_one_release_the_unknown_records_do_not_matter() -> None:
    """Sampling them inside the chain gives what leaving them out gives."""
    augmented = disclosure.augment(
        ONES[:4, None], 7, [RELEASES[0][:, None]], np.array([2]), np.array([[0]]), [0],
        left_out=False, chains=dpmpm.Chains(n_classes=1, burn_in=100, n_draws=500, thin=5),
        rng=np.random.default_rng(3),
    )  # fmt: skip
    assert augmented.acceptance == 1
    log_means = augmented.log_means
    risk = disclosure.predictive_ratio([np.zeros((2, 1, 2)), log_means])
    exact = one_variable(ONES[:4], 7, RELEASES[:1])
    np.testing.assert_allclose(exact, one_variable(ONES[:4], 0, RELEASES[:1]), atol=1e-12)
    assert np.abs((risk.log_prob[0] - exact) / risk.log_mcse[0]).max() < 5
    assert risk.log_mcse.max() < 0.05


KNOWN = np.array([[0, 0]], dtype=np.uint8)
TWO = [np.array(z, dtype=np.uint8) for z in ([[1, 1]] * 3, [[1, 1], [1, 0], [1, 1]])]


def enumerated(n_unknown: int) -> NDArray:
    """Log p(x | KNOWN, TWO) over the 2 x 2 table, two classes, all values of U summed."""
    cells, log_prob = all_cells([2, 2]), []
    for x in cells:
        terms = []
        for values in product(range(4), repeat=n_unknown):
            data = np.vstack([KNOWN, x[None], cells[list(values)].reshape(-1, 2)])
            sets = [data, *(np.vstack([data, z]) for z in TWO)]
            logs = [log_marginal_likelihood(s, [2, 2], 2, PRIOR) for s in sets]
            terms.append(sum(logs[1:]) + (1 - len(TWO)) * logs[0])
        log_prob.append(np.logaddexp.reduce(terms))
    return posterior(np.array(log_prob))


@pytest.mark.parametrize("n_unknown", [0, 2])
def test_two_releases_and_two_classes_against_enumeration(n_unknown: int) -> None:
    found = disclosure.augment(
        KNOWN, n_unknown, TWO, np.array([2, 2]), np.array([[0, 0]]), [0, 1], left_out=False,
        chains=dpmpm.Chains(n_classes=2, burn_in=200, n_draws=30, thin=200, prior=PRIOR),
        rng=np.random.default_rng(5),
    )  # fmt: skip
    means = found.log_means
    risk = disclosure.predictive_ratio([np.zeros((2, 1, 4)), means])
    exact = enumerated(n_unknown)
    assert np.abs((risk.log_prob[0] - exact) / risk.log_mcse[0]).max() < 5
    assert risk.log_mcse.max() < 0.06
    if n_unknown:

        def given(*records: NDArray) -> NDArray:
            sets = [np.vstack([KNOWN, x[None], *records]) for x in all_cells([2, 2])]
            return posterior(np.array([log_marginal_likelihood(s, [2, 2], 2, PRIOR) for s in sets]))

        # Releases taken as independent given the known records, or as one large one, would fail.
        for other in (posterior(sum(given(z) for z in TWO) - given()), given(*TWO)):
            assert np.abs((other - exact) / risk.log_mcse[0]).max() > 5


def test_knowing_everything_is_the_predictive_ratio() -> None:
    """All records known but the one that is left out, two releases."""
    levels = np.array([2, 2])
    data = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.uint8)
    found = disclosure.partial_knowledge(
        data, 0, TWO, levels, data[1:4:2], [0, 1],
        chains=dpmpm.Chains(n_classes=2, burn_in=200, n_draws=5_000, thin=2, prior=PRIOR),
        rng=np.random.default_rng(6),
    )  # fmt: skip
    risk = found.risk()
    assert len(found.traces) == 3
    for i, record in enumerate((1, 3)):
        support = disclosure.subset_support(data[record], [0, 1], levels)
        exact = exact_log_risk(data, record, support, TWO, [2, 2], 2, PRIOR)
        assert np.abs((risk.log_prob[i] - exact) / risk.log_mcse[i]).max() < 5
    assert risk.log_mcse.max() < 0.05


def test_sought_records_among_the_known_are_left_out() -> None:
    """Three releases, one class: known records that hold the sought one act as if without it."""
    with_it = np.append(ONES[:4], [1]).astype(np.uint8)
    found = disclosure.augment(
        with_it[:, None], 4, [z[:, None] for z in RELEASES], np.array([2]), np.array([[1]]), [0],
        chains=dpmpm.Chains(n_classes=1, burn_in=100, n_draws=100, thin=50),
        rng=np.random.default_rng(7),
    )  # fmt: skip
    means = found.log_means
    risk = disclosure.predictive_ratio([np.zeros((2, 1, 2)), means])
    exact = one_variable(with_it[:-1], 4, RELEASES)[::-1]
    assert np.abs((risk.log_prob[0] - exact) / risk.log_mcse[0]).max() < 5
    assert risk.log_mcse.max() < 0.05
    assert np.abs(one_variable(with_it, 4, RELEASES)[::-1] - exact).max() > 0.05


@pytest.mark.parametrize("n_sets", [1, 3])
def test_averages_over_groups(n_sets: int) -> None:
    """Means of what `risk` and `evidence` say, with an error that repetitions confirm."""
    rng = np.random.default_rng(8)
    truth = rng.normal(size=(6, 4))
    groups = np.array(["b", "a", "a", "b", "b", "b"])

    def repeated(scale: float) -> NDArray:
        return scale * truth + np.log(rng.gamma(50, 1 / 50, (8, 6, 4)))

    z = []
    for _ in range(200):
        after = [repeated(1.5) for _ in range(n_sets)]
        knowledge = disclosure.PartialKnowledge([repeated(1.0), *after], [])
        z.append(knowledge.averages(groups))
    told, found = knowledge.evidence(model_prior=True), z[-1]
    assert found["group"].tolist() == ["a", "b"]
    for i, group in enumerate("ab"):
        one = told[groups == group]
        assert found["gain"][i] == pytest.approx(one["log_gain"].mean())
        assert found["gain_se"][i] == pytest.approx(one["log_gain"].std(ddof=1) / len(one) ** 0.5)
        for name in ("prior", "probability"):
            column = {"prior": "before", "probability": "after"}[name]
            assert np.log(found[column][i]) == pytest.approx(np.log(one[name]).mean())
        flat = knowledge.risk().log_prob[groups == group, 0]
        assert np.log(found["after_uniform"][i]) == pytest.approx(flat.mean())
    gain, stated = (np.array([each[c] for each in z]) for c in ("gain", "gain_mcse"))
    assert np.abs(np.sqrt((stated**2).mean(axis=0)) / gain.std(axis=0) - 1).max() < 0.25


# ------------------------------------------------------------------------- participants, outsiders


def divided(**changed: object) -> disclosure.Participation:
    arguments: dict = {
        "codes": (np.arange(13) % 3 == 0).astype(np.uint8)[:, None], "n_levels": [2],
        "unknown": [0], "shares": [1, 0, 0.5], "n_pairs": 3, "rng": np.random.default_rng(3),
        "chains": dpmpm.Chains(n_classes=1, burn_in=5, n_draws=400, n_chains=2),
    }  # fmt: skip
    return disclosure.participation(**(arguments | changed))


@pytest.fixture(scope="module")
def found() -> disclosure.Participation:
    return divided()


def test_everybody_is_a_participant_once_and_an_outsider_once(
    found: disclosure.Participation,
) -> None:
    table = found.table.set_index(["share_known", "pair", "swapped", "group"])
    assert len(table) == 3 * 3 * 2 * 2
    assert found.of_person.shape == (3, 12)  # of thirteen people the last is left out
    beyond = found.beyond()
    np.testing.assert_allclose(beyond["difference"], found.of_person.mean(axis=1))
    each = table["gain"].unstack("group")
    each = each["participants"] - each["outsiders"]
    assert beyond["single"][0] == pytest.approx(each.loc[0].std())
    of_pair = each.loc[0].groupby("pair").mean()
    assert beyond["se"][0] == pytest.approx(of_pair.std() / 3**0.5)
    assert beyond["se_people"][0] == pytest.approx(found.of_person[0].std(ddof=1) / 12**0.5)
    # The same people hold both roles: before the release they differ by the records known alone.
    np.testing.assert_allclose(table["before"].loc[0], np.log(0.5))


def test_beliefs_before_a_release_have_their_closed_form() -> None:
    """One class and one variable: the others' share of ones, with one of each kind added."""
    codes = (np.arange(12) % 3 == 0).astype(np.int64)
    found = divided(codes=codes[:, None]).table.set_index(["share_known", "pair", "swapped"])
    for pair, rng in enumerate(np.random.default_rng(3).spawn(3)):
        order = rng.permutation(12)
        for swapped, inside in enumerate((order[:6], order[6:])):
            rows = found.loc[(1.0, pair, bool(swapped))].set_index("group")
            ones = codes[inside].sum()
            for group, left_out in (("participants", 1), ("outsiders", 0)):
                sought = inside if left_out else np.setdiff1d(order, inside)
                x = codes[sought]
                same = np.where(x == 1, ones - left_out * x, 6 - ones - left_out * (1 - x))
                exact = np.log((1 + same) / (8 - left_out)).mean()
                assert rows.loc[group, "before"] == pytest.approx(exact, abs=0.03)


def test_an_intruder_who_knows_most_is_ahead_of_nobody(found: disclosure.Participation) -> None:
    most = found.table[found.table["share_known"] == 1]
    np.testing.assert_allclose(most["divergence"], 0, atol=1e-12)
    assert (found.table["divergence"] >= -1e-12).all()
    less = found.knowing_less("outsiders")
    assert less["share_known"].tolist() == [0, 0.5]
    every = found.averages().set_index(["group", "share_known"])["after"]["outsiders"]
    np.testing.assert_allclose(less["own"], every[[0, 0.5]] - every[1.0])
    assert (less["calibrated"] < 0).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shares": [0, 0.5]}, r"shares is \[0, 0.5\]; they must be in \[0, 1\], the largest 1"),
        ({"shares": [-0.5, 1]}, "shares is"),
        ({"n_pairs": 1}, "n_pairs is 1; it must be 2 or more"),
        ({"codes": np.zeros((3, 1), np.uint8)}, "codes has 3 records; four or more"),
        ({"unknown": [1]}, r"unknown is \[1\]"),
    ],
)
def test_divisions_that_cannot_be(changed: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        divided(**changed)


def test_more_knowledge_helps_on_average_by_enumeration() -> None:
    """Every data set, record and release one by one; and what is proved of the averages."""
    table = paper.knowing_more(4, 2).set_index("known")
    for known in range(4):
        own = uniform = lower = 0.0
        for values in product((0, 1), repeat=6):
            prob = np.exp(betaln(1 + sum(values), 7 - sum(values)))
            x, released = values[3], sum(values[4:])

            def told(k: int) -> tuple[float, float]:
                ones = sum(values[:k])  # noqa: B023
                before = (1 + ones) / (2 + k)
                after = (1 + ones + released) / (4 + k)  # noqa: B023
                flat = expit(logit(after) - logit(before))
                return (after, flat) if x else (1 - after, 1 - flat)  # noqa: B023

            own += prob * np.log(told(known)[0])
            uniform += prob * np.log(told(known)[1])
            lower += prob * (told(3)[0] < told(known)[0] - 1e-12)
        found = table.loc[known, ["own", "uniform", "lower_own"]]
        np.testing.assert_allclose(found, [own, uniform, lower])
    assert (table["own"].diff()[1:] > 0).all()
    assert (table["uniform"].diff()[1:] < 0).all()


# --------------------------------------------------------------------- what the notebook tabulates


def test_one_variable_and_several_releases() -> None:
    """Against the closed form above, whose releases are those of the table."""
    released = [int(z.sum()) for z in RELEASES]
    ones = np.append(ONES, 0)  # twelve records, as many as a release has
    table = paper.one_variable(ones, released).set_index("known")
    for known in (0, 4, 11):
        exact = one_variable(ones[:known], 11 - known, RELEASES)
        assert table["exact"][known] == pytest.approx(np.exp(exact[1]))
    assert table["independent"][11] == pytest.approx(table["exact"][11])
    single = paper.one_variable(ones, released[:1])
    np.testing.assert_allclose(single["exact"], single["pooled"])
    sampled, error = paper.one_variable_sampled(ones, released, 4, np.random.default_rng(1))
    assert abs(sampled - table["exact"][4]) < 5 * error
    assert error < 0.02


def test_two_releases_in_four_ways() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(0, 2, (12, 2)).astype(np.uint8)
    few = dpmpm.Chains(n_classes=1, burn_in=10, n_draws=40, n_chains=2)
    found = paper.several_releases(
        people, 4, np.array([2, 2]), [1], 2, fitted=few, rng=rng,
        sampled=dpmpm.Chains(n_classes=1, burn_in=10, n_draws=40, n_chains=2, thin=4),
    ).set_index("way")  # fmt: skip
    assert found.index[0] == paper.SAMPLED
    assert len(found) == 4
    assert found["median distance"].iloc[0] == 0
    assert (found["median distance"].iloc[1:] > 0).all()
    # 41 passes over 7 records and 3 sets of parameters, and the start of these; 50 of a fit.
    spent = 2 * (41 * (7 + 3 * 4) + 3 * 5)
    effective = spent / found["iterations for an effective draw"].iloc[0]
    assert 1 < effective < 2 * 40 * 10
    pooled, both = found["iterations for an effective draw"][["pooled", "taken as independent"]]
    assert 0 < pooled < both


def test_supports_and_margins_of_the_same_records() -> None:
    draws, codes = some_draws()
    chains = dpmpm.Chains(n_classes=3, burn_in=10, n_draws=5, n_chains=2)
    both = np.vstack([codes, codes[3:9]])
    joined = dpmpm.sample_posterior(both, LEVELS, chains, rng=np.random.default_rng(5))
    sets, codes = disclosure.DrawSets(draws, [joined]), codes[:5]
    one = paper.over_changes(sets, codes, 1)
    means = [disclosure.neighborhood_log_ratios(d, codes)[0] for d in sets]
    np.testing.assert_allclose(one.rank, disclosure.predictive_ratio(means).rank)
    whole = disclosure.whole_support(sets, codes, margins=[[1, 2]])
    every = paper.over_changes(sets, codes, 3)  # of three variables: every cell
    found = paper.compare_supports(one, every, whole, 24).set_index("support")
    columns = ["candidates", "log probability", "largest over prior", "share above the truth"]
    two, all_cells = found.loc[["two changes", "every cell"], columns].to_numpy(dtype=float)
    np.testing.assert_allclose(two, all_cells, rtol=1e-4)
    agree = (disclosure.neighborhood(codes, LEVELS)[..., 1:] == codes[:, None, 1:]).all(axis=2)
    margins = paper.compare_margins(one, agree, whole, codes[:, 1:], LEVELS[1:])
    of_cells = np.exp(every.log_prob[:, :1]) * np.nan
    for i, x in enumerate(codes):
        support = disclosure.changed_support(x, 3, LEVELS)
        same = (support[:, 1:] == x[1:]).all(axis=1)
        of_cells[i] = np.exp(every.log_prob[i, same]).sum()
    assert margins["posterior, every cell"][1] == pytest.approx(np.median(of_cells), rel=1e-4)
    assert margins["prior, every cell"][1] == pytest.approx(1 / 12)
    assert margins["prior, one change"][1] == pytest.approx(2 / 7)


def partial(**changed: object) -> disclosure.PartialKnowledge:
    arguments: dict = {
        "known": KNOWN, "n_unknown": 1, "released": TWO, "n_levels": np.array([2, 2]),
        "codes": np.array([[0, 0], [1, 1]]), "unknown": [0], "rng": np.random.default_rng(0),
        "chains": dpmpm.Chains(n_classes=2, burn_in=2, n_draws=2),
    }  # fmt: skip
    return disclosure.partial_knowledge(**(arguments | changed))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: partial(released=[]), "released is empty; the intruder sees one release or more"),
        (lambda: partial(n_unknown=-1), "n_unknown is -1; it must be 0 or more"),
        (lambda: partial(unknown=[]), r"unknown is \[\]; it must name distinct variables"),
        (lambda: partial(unknown=[1, 1]), "it must name distinct variables"),
        (lambda: partial(unknown=[2]), r"unknown is \[2\]; the variables are 0 to 1"),
        (lambda: partial(left_out=[True, False]), "left_out differs between records"),
        (lambda: partial(codes=KNOWN), "thin is 1; where unknown records are sampled it must be 2"),
        (lambda: partial(known=KNOWN[:0]), "known is empty"),
        (
            lambda: partial(n_levels=np.array([1 << 10, 1 << 10]), unknown=[0, 1]),
            "unknown has 1,048,576 combinations of levels; up to 262,144",
        ),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_known_stands_first_in_words() -> None:
    frame = pd.DataFrame({"share_known": [0.0, 0.5, 1.0], "own": -1.5, "own_se": 0.03})
    told = paper.for_readers(frame, {"own": "own prior"})
    assert told["others known"].tolist() == ["none", "50\u00a0%", "all"]
    assert told["own prior"].tolist() == ["-1.50\u00a0±\u00a00.03"] * 3
