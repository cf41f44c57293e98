"""A proportion from a synthetic count, against quadrature and enumeration."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, chi2

from srlib.mechanism import proportion
from srlib.mechanism.bayes import risk
from srlib.mechanism.families import bernoulli_plugin, beta_binomial
from srlib.mechanism.proportion import Study


def test_count_prior_is_the_beta_binomial() -> None:
    study = Study(bernoulli_plugin(7, 1, 1.0), 0.5, (2.0, 0.5))
    expected = betabinom.logpmf(np.arange(8), 7, 2.0, 0.5)
    assert_allclose(study.log_count_prior(), expected)


def test_known_count_is_a_beta_posterior() -> None:
    study = Study(bernoulli_plugin(10, 1, 1.0), 0.4)
    given = beta(1 + 3, 1 + 7)
    expected = given.var() + (given.mean() - 0.4) ** 2
    assert study.squared_error_given_count()[3] == pytest.approx(expected)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("family", [bernoulli_plugin, beta_binomial])
def test_utility_against_quadrature(family: type, prior: tuple[float, float]) -> None:
    """p(p | X*) by summing X out of the likelihood at each p, and integrating."""
    study = Study(family(9, 6, 0.8), 0.3, prior)
    likelihood = np.exp(study.mechanism.column(4))

    def density(p: float) -> float:
        counts = binom.pmf(np.arange(10), 9, p)
        return float(counts @ likelihood) * float(beta.pdf(p, *prior))

    def squared_error_density(p: float) -> float:
        return density(p) * (p - 0.3) ** 2

    total = quad(density, 0, 1, limit=200)[0]
    given_release = quad(squared_error_density, 0, 1, limit=200)[0] / total
    posterior = beta(prior[0] + 2, prior[1] + 9 - 2)
    given_count = posterior.var() + (posterior.mean() - 0.3) ** 2
    expected = np.log10(given_release / given_count)
    assert study.utility(2, 4) == pytest.approx(expected, abs=1e-6)


def test_utility_of_many_pairs_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(7)[:, None]
    x_star = np.arange(6)
    whole = STUDY.utility(x, x_star)

    monkeypatch.setattr(proportion, "BLOCK_ENTRIES", 17)

    assert_allclose(STUDY.utility(x, x_star), whole, rtol=1e-12)
    assert whole[2, 4] == pytest.approx(STUDY.utility(2, 4))


STUDY = Study(bernoulli_plugin(6, 5, 0.8), 0.3)
ALTERNATIVE = np.array([1, 0, 1, 2, 3, 4, 5])
RNG = np.random.default_rng(1)
PAIRS = STUDY.all_pairs(ALTERNATIVE, 0.2)


def test_all_pairs_are_the_enumerated_ones() -> None:
    table = STUDY.mechanism
    likelihood = np.exp([table.row(x) for x in range(7)])
    prior = binom.pmf(np.arange(7), 6, 0.3)
    risks = [risk(table, x, int(ALTERNATIVE[x]), 0.2) for x in range(7)]

    assert_allclose(PAIRS.probability, np.ravel(prior[:, None] * likelihood))
    assert_allclose(PAIRS.risk, np.ravel(risks))
    assert_array_equal(PAIRS.x, np.repeat(np.arange(7), 6))
    assert_array_equal(PAIRS.x_star, np.tile(np.arange(6), 7))


@pytest.mark.parametrize("name", ["risk", "utility"])
def test_quantiles_of_pairs_and_of_the_extremes_of_four(name: str) -> None:
    values = getattr(PAIRS, name)

    def share_up_to(value: float) -> tuple[float, float]:
        up_to = PAIRS.probability[values <= value].sum()
        return up_to, PAIRS.probability[values < value].sum()

    reached, below = share_up_to(PAIRS.quantile(name, 0.3))
    assert reached >= 0.3 > below
    # The largest of four pairs stays below with the fourth power of the probability.
    reached, below = share_up_to(PAIRS.maximum_quantile(name, 4, 0.3))
    assert reached**4 >= 0.3 > below**4
    reached, below = share_up_to(PAIRS.minimum_quantile(name, 4, 0.3))
    assert 1 - (1 - reached) ** 4 >= 0.3 > 1 - (1 - below) ** 4
    median = PAIRS.quantile_summary()[f"{name}_median"]
    assert median == PAIRS.quantile(name, 0.5)


def test_probability_of_an_event_in_any_of_three_pairs() -> None:
    expected = 1 - (1 - binom.pmf(2, 6, 0.3)) ** 3
    assert PAIRS.event_probability(PAIRS.x == 2, 3) == pytest.approx(expected)


@pytest.mark.parametrize("prior", [0.3, np.linspace(0, 1, 7)])
def test_expected_increase_against_plain_loops(prior: float | np.ndarray) -> None:
    """With one prior for all data sets, and with one for each, certain ones too."""
    likelihood = np.exp([STUDY.mechanism.row(x) for x in range(7)])
    total = 0.0
    for x, w in enumerate(np.broadcast_to(prior, 7)):
        true = w * likelihood[x]
        posterior = true / (true + (1 - w) * likelihood[ALTERNATIVE[x]])
        increase = np.maximum(posterior - w, 0)
        total += binom.pmf(x, 6, 0.3) * (likelihood[x] @ increase)

    assert PAIRS.expected_increase(prior) == pytest.approx(total)


def test_expected_log_gain_against_the_joint_distribution() -> None:
    table = bernoulli_plugin(4, 3, 0.5)
    shares = np.array([0.7, 0.3])  # of zeros and ones
    gains = np.zeros(2)
    for others in range(4):
        given = np.exp([table.row(others), table.row(others + 1)])
        gain = (given * np.log(given / (shares @ given))).sum(axis=1)
        gains += binom.pmf(others, 3, 0.3) * gain

    expected = pytest.approx((gains[1], shares @ gains))
    assert Study(table, 0.3).expected_log_relative_risk() == expected
    assert Study(table, 1.0).expected_log_relative_risk() == (0.0, 0.0)


def test_drawn_pairs_come_from_all_pairs() -> None:
    rng = np.random.default_rng(8)
    drawn = STUDY.draw_pairs(ALTERNATIVE, 0.2, 4_000, rng=rng)

    position = drawn.x * 6 + drawn.x_star
    for name in ("log_ratio", "risk", "utility"):
        assert_allclose(getattr(drawn, name), getattr(PAIRS, name)[position])
    assert drawn.probability.sum() == pytest.approx(1)
    expected = 4_000 * PAIRS.probability
    observed = np.bincount(position, minlength=42)
    is_large = expected > 5
    statistic = ((observed - expected) ** 2 / expected)[is_large].sum()
    assert statistic < chi2.isf(1e-5, is_large.sum())


def test_expected_utility_is_the_mean_over_releases() -> None:
    by_release = 10 ** STUDY.utility(2, np.arange(6))
    expected = np.log10(np.exp(STUDY.mechanism.row(2)) @ by_release)
    assert STUDY.expected_utility(2) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Study(STUDY.mechanism, 1.5), r"p0 is 1\.5; it must lie in"),
        (lambda: STUDY.utility(3, [2, 6]), "x_star is 6; it must lie in 0 to 5"),
        (lambda: Study(STUDY.mechanism, 0.5, (0, 1)), r"prior is \(0, 1\); it must"),
        (lambda: STUDY.draw_pairs(ALTERNATIVE, 0.5, 0, rng=RNG), "size is 0"),
        (lambda: STUDY.all_pairs(ALTERNATIVE, 1.5), r"prior is 1\.5"),
    ],
)
def test_bad_input(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
