"""One proportion from a synthetic count: closed forms against quadrature and enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, chi2

from srlib.mechanism import proportion
from srlib.mechanism.bayes import risk
from srlib.mechanism.core import Mechanism
from srlib.mechanism.families import bernoulli_plugin, beta_binomial
from srlib.mechanism.proportion import Study


def test_count_prior_is_the_beta_binomial() -> None:
    expected = betabinom.logpmf(np.arange(8), 7, 2.0, 0.5)
    assert_allclose(
        Study(bernoulli_plugin(7, 1, 1.0), 0.5, (2.0, 0.5)).log_count_prior(), expected
    )
    assert_allclose(
        np.exp(Study(bernoulli_plugin(9, 1, 1.0), 0.5).log_count_prior()), 0.1
    )


def test_known_count_is_a_beta_posterior() -> None:
    given = beta(1 + 3, 1 + 7)
    expected = given.var() + (given.mean() - 0.4) ** 2
    assert Study(bernoulli_plugin(10, 1, 1.0), 0.4).squared_error_given_count()[
        3
    ] == pytest.approx(expected)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("family", [bernoulli_plugin, beta_binomial])
def test_utility_against_quadrature(family: type, prior: tuple[float, float]) -> None:
    """p(p | X*) by summing X out of the likelihood at each p, then integrating over p."""
    n, n_s, x, x_star, p0 = 9, 6, 2, 4, 0.3
    table: Mechanism = family(n, n_s, 0.8)
    likelihood = np.exp(table.column(x_star))

    def density(p: float) -> float:
        counts = binom.pmf(np.arange(n + 1), n, p)
        return float(counts @ likelihood) * float(beta.pdf(p, *prior))

    total = quad(density, 0, 1, limit=200)[0]
    released = quad(lambda p: density(p) * (p - p0) ** 2, 0, 1, limit=200)[0] / total
    given = beta(prior[0] + x, prior[1] + n - x)
    expected = np.log10(released / (given.var() + (given.mean() - p0) ** 2))
    assert Study(table, p0, prior).utility(x, x_star) == pytest.approx(
        expected, abs=1e-6
    )


def test_utility_of_many_pairs_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(bernoulli_plugin(7, 5, 0.8), 0.3)
    x, x_star = np.arange(8)[:, None], np.arange(6)
    whole = study.utility(x, x_star)
    monkeypatch.setattr(proportion, "BLOCK_ENTRIES", 17)
    in_blocks = study.utility(x, x_star)
    assert_allclose(in_blocks, whole, rtol=1e-12)
    assert whole[2, 4] == pytest.approx(study.utility(2, 4))


def test_all_pairs_are_the_enumerated_ones() -> None:
    n, n_s, p0, prior = 6, 5, 0.3, 0.2
    table = bernoulli_plugin(n, n_s, 0.8)
    alternative = np.where(np.arange(n + 1) > 0, np.arange(n + 1) - 1, 1)
    found = Study(table, p0).all_pairs(alternative, prior)
    weight = binom.pmf(np.arange(n + 1), n, p0)[:, None] * np.exp(
        [table.row(x) for x in range(n + 1)]
    )
    assert_allclose(found.probability, weight.ravel())
    assert found.probability.sum() == pytest.approx(1)
    expected = [risk(table, x, int(alternative[x]), prior) for x in range(n + 1)]
    assert_allclose(found.risk, np.ravel(expected))
    assert_array_equal(found.x * (n_s + 1) + found.x_star, np.arange(weight.size))
    for name in ("risk", "utility"):
        values = getattr(found, name)
        at = found.quantile(name, 0.3)
        assert (
            found.probability[values <= at].sum()
            >= 0.3
            > found.probability[values < at].sum()
        )
        # Four pairs: the largest stays below with the fourth power of one's
        # probability.
        top, low = (
            found.maximum_quantile(name, 4, 0.3),
            found.minimum_quantile(name, 4, 0.3),
        )
        cumulative = [
            found.probability[op].sum() for op in (values <= top, values < top)
        ]
        assert cumulative[0] ** 4 >= 0.3 > cumulative[1] ** 4
        cumulative = [
            found.probability[op].sum() for op in (values <= low, values < low)
        ]
        assert 1 - (1 - cumulative[0]) ** 4 >= 0.3 > 1 - (1 - cumulative[1]) ** 4
    event = found.x == 2
    assert found.event_probability(event, 3) == pytest.approx(
        1 - (1 - binom.pmf(2, n, p0)) ** 3
    )
    assert found.quantile_summary()["utility_median"] == found.quantile("utility", 0.5)


def test_expected_increase_against_plain_loops() -> None:
    """With one prior for all data sets, and with one for each, certain ones among them."""
    n, n_s, alpha, p0 = 6, 5, 0.8, 0.3
    alternative = np.array([1, 0, 1, 2, 3, 4, 5])
    pairs = Study(bernoulli_plugin(n, n_s, alpha), p0).all_pairs(alternative, 0.5)
    for prior in (0.3, np.linspace(0, 1, n + 1)):
        total = 0.0
        for x, w in enumerate(np.broadcast_to(prior, n + 1)):
            for y in range(n_s + 1):
                shares = ((v + alpha) / (n + 2 * alpha) for v in (x, alternative[x]))
                p, q = (binom.pmf(y, n_s, share) for share in shares)
                increase = max(w * p / (w * p + (1 - w) * q) - w, 0)
                total += binom.pmf(x, n, p0) * p * increase
        assert pairs.expected_increase(prior) == pytest.approx(total)


def test_expected_log_gain_against_the_joint_distribution() -> None:
    n, p0, table = 4, 0.3, bernoulli_plugin(4, 3, 0.5)
    of_one = average = 0.0
    for others in range(n):
        given = np.exp([table.row(others), table.row(others + 1)])
        marginal = (1 - p0) * given[0] + p0 * given[1]
        gain = (given * np.log(given / marginal)).sum(axis=1)
        of_one += binom.pmf(others, n - 1, p0) * gain[1]
        average += binom.pmf(others, n - 1, p0) * ((1 - p0) * gain[0] + p0 * gain[1])
    assert Study(table, p0).expected_log_relative_risk() == pytest.approx(
        (of_one, average)
    )
    assert average > 0
    assert Study(table, 1.0).expected_log_relative_risk() == (0.0, 0.0)


def test_drawn_pairs_come_from_all_pairs() -> None:
    study = Study(bernoulli_plugin(6, 5, 0.8), 0.3)
    alternative = np.where(np.arange(7) > 0, np.arange(7) - 1, 1)
    every = study.all_pairs(alternative, 0.2)
    drawn = study.draw_pairs(alternative, 0.2, 4_000, rng=np.random.default_rng(8))
    at = drawn.x * 6 + drawn.x_star
    for name in ("log_ratio", "risk", "utility"):
        assert_allclose(getattr(drawn, name), getattr(every, name)[at])
    expected = 4_000 * every.probability
    observed, large = np.bincount(at, minlength=42), expected > 5
    statistic = ((observed - expected) ** 2 / expected)[large].sum()
    assert statistic < chi2.isf(1e-5, large.sum())
    assert drawn.probability.sum() == pytest.approx(1)


def test_expected_utility_is_the_mean_over_releases() -> None:
    table = bernoulli_plugin(6, 5, 0.8)
    by_release = 10 ** Study(table, 0.3).utility(2, np.arange(6))
    expected = np.log10(np.exp(table.row(2)) @ by_release)
    assert Study(table, 0.3).expected_utility(2) == pytest.approx(expected)


def test_bad_input() -> None:
    table = bernoulli_plugin(10, 10, 1.0)
    study, rng = Study(table, 0.5), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"p0 is 1\.5; it must lie in"):
        Study(table, 1.5)
    with pytest.raises(ValueError, match="x_star is 11; it must lie in 0 to 10"):
        study.utility(3, [2, 11])
    with pytest.raises(ValueError, match=r"prior is \(0, 1\); it must be positive"):
        Study(table, 0.5, prior=(0, 1))
    with pytest.raises(ValueError, match="size is 0"):
        study.draw_pairs(np.arange(11), 0.5, 0, rng=rng)
    with pytest.raises(ValueError, match=r"prior is 1\.5"):
        study.all_pairs(np.arange(11), 1.5)
