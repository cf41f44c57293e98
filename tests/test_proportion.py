"""A proportion from a synthetic count, against quadrature and enumeration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom, chi2

from srlib.mechanism import proportion
from srlib.mechanism.bayes import risk
from srlib.mechanism.families import bernoulli_plugin, beta_binomial
from srlib.mechanism.proportion import Study

STUDY = Study(bernoulli_plugin(6, 5, 0.8), 0.3)
ALTERNATIVE = np.array([1, 0, 1, 2, 3, 4, 5])
PAIRS = STUDY.all_pairs(ALTERNATIVE, 0.2)
LIKELIHOOD = np.exp([STUDY.mechanism.row(x) for x in range(7)])  # (n_inputs, n_outputs)
DATA_PROBABILITY = binom.pmf(np.arange(7), 6, 0.3)


def mean_squared_error(posterior, value):
    return posterior.var() + (posterior.mean() - value) ** 2


def test_count_prior_is_the_beta_binomial():
    study = Study(bernoulli_plugin(7, 1, 1.0), 0.5, (2.0, 0.5))
    expected = betabinom.logpmf(np.arange(8), 7, 2.0, 0.5)
    assert_allclose(study.log_count_prior(), expected)


def test_known_count_is_a_beta_posterior():
    study = Study(bernoulli_plugin(10, 1, 1.0), 0.4)
    posterior = beta(1 + 3, 1 + 7)
    errors = study.squared_error_given_count()
    assert_allclose(errors[3], mean_squared_error(posterior, 0.4))


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize("family", [bernoulli_plugin, beta_binomial])
def test_utility_against_quadrature(family, prior):
    """p(p | X*) by summing X out of the likelihood at each p, and integrating."""
    study = Study(family(9, 6, 0.8), 0.3, prior)
    likelihood = np.exp(study.mechanism.column(4))

    def density(p):
        counts = binom.pmf(np.arange(10), 9, p)
        return counts @ likelihood * beta.pdf(p, *prior)

    def squared_error_density(p):
        return density(p) * (p - 0.3) ** 2

    total, _ = quad(density, 0, 1, limit=200)
    squared_error, _ = quad(squared_error_density, 0, 1, limit=200)
    given_release = squared_error / total
    posterior = beta(prior[0] + 2, prior[1] + 9 - 2)
    given_count = mean_squared_error(posterior, 0.3)
    expected = np.log10(given_release / given_count)
    assert study.utility(2, 4) == pytest.approx(expected, abs=1e-6)


def test_utility_of_many_pairs_in_blocks(monkeypatch):
    x = np.arange(7)[:, None]
    x_star = np.arange(6)
    whole = STUDY.utility(x, x_star)

    monkeypatch.setattr(proportion, "BLOCK_ENTRIES", 17)

    assert_allclose(STUDY.utility(x, x_star), whole, rtol=1e-12)
    assert_allclose(STUDY.utility(2, 4), whole[2, 4])


def test_all_pairs_are_the_enumerated_ones():
    probability = DATA_PROBABILITY[:, None] * LIKELIHOOD
    assert_allclose(PAIRS.probability, probability.ravel())
    assert_array_equal(PAIRS.x, np.repeat(np.arange(7), 6))
    assert_array_equal(PAIRS.x_star, np.tile(np.arange(6), 7))
    for x, risks in enumerate(PAIRS.risk.reshape(7, 6)):
        other = int(ALTERNATIVE[x])
        assert_allclose(risks, risk(STUDY.mechanism, x, other, 0.2))


def share_up_to(name, value):
    """Probability of pairs with values up to the given one, and strictly below it."""
    values = getattr(PAIRS, name)
    reached = PAIRS.probability[values <= value].sum()
    below = PAIRS.probability[values < value].sum()
    return reached, below


@pytest.mark.parametrize("name", ["risk", "utility"])
def test_quantiles_of_pairs(name):
    reached, below = share_up_to(name, PAIRS.quantile(name, 0.3))
    assert reached >= 0.3 > below
    median = PAIRS.quantile_summary()[f"{name}_median"]
    assert median == PAIRS.quantile(name, 0.5)


@pytest.mark.parametrize("name", ["risk", "utility"])
def test_quantiles_of_the_extremes_of_four_pairs(name):
    """All four are at most a value with the fourth power of the probability."""
    maximum = PAIRS.maximum_quantile(name, 4, 0.3)
    minimum = PAIRS.minimum_quantile(name, 4, 0.3)

    reached, below = share_up_to(name, maximum)
    assert reached**4 >= 0.3 > below**4
    reached, below = share_up_to(name, minimum)
    assert (1 - reached) ** 4 <= 0.7 < (1 - below) ** 4


def test_probability_of_an_event_in_any_of_three_pairs():
    single = binom.pmf(2, 6, 0.3)
    probability = PAIRS.event_probability(PAIRS.x == 2, 3)
    assert_allclose(probability, 1 - (1 - single) ** 3)


@pytest.mark.parametrize("prior", [0.3, np.linspace(0, 1, 7)])
def test_expected_increase_against_plain_loops(prior):
    """With one prior for all data sets, and with one for each, certain ones too."""
    expected = 0.0
    for x, w in enumerate(np.broadcast_to(prior, 7)):
        true = w * LIKELIHOOD[x]
        other = (1 - w) * LIKELIHOOD[ALTERNATIVE[x]]
        posterior = true / (true + other)
        increase = np.maximum(posterior - w, 0)
        expected += DATA_PROBABILITY[x] * (LIKELIHOOD[x] @ increase)

    assert_allclose(PAIRS.expected_increase(prior), expected)


def test_expected_log_gain_against_the_joint_distribution():
    table = bernoulli_plugin(4, 3, 0.5)
    shares = np.array([0.7, 0.3])  # of zeros and ones
    gains = np.zeros(2)
    for others in range(4):
        likelihood = np.exp([table.row(others), table.row(others + 1)])
        log_ratio = np.log(likelihood / (shares @ likelihood))
        gain = (likelihood * log_ratio).sum(axis=1)
        gains += binom.pmf(others, 3, 0.3) * gain

    expected = (gains[1], shares @ gains)
    assert_allclose(Study(table, 0.3).expected_log_relative_risk(), expected)
    assert Study(table, 1.0).expected_log_relative_risk() == (0.0, 0.0)


def test_drawn_pairs_come_from_all_pairs():
    rng = np.random.default_rng(8)
    expected = 4_000 * PAIRS.probability
    is_large = expected > 5

    drawn = STUDY.draw_pairs(ALTERNATIVE, 0.2, 4_000, rng=rng)

    position = drawn.x * 6 + drawn.x_star
    for name in ("log_ratio", "risk", "utility"):
        values = getattr(PAIRS, name)
        assert_allclose(getattr(drawn, name), values[position])
    assert_allclose(drawn.probability.sum(), 1)
    observed = np.bincount(position, minlength=42)
    squares = (observed - expected) ** 2 / expected
    limit = chi2.isf(1e-5, is_large.sum())
    assert squares[is_large].sum() < limit


def test_expected_utility_is_the_mean_over_releases():
    by_release = 10 ** STUDY.utility(2, np.arange(6))
    expected = np.log10(LIKELIHOOD[2] @ by_release)
    assert_allclose(STUDY.expected_utility(2), expected)


REFUSED = {
    r"p0 is 1\.5; it must lie in": lambda rng: Study(STUDY.mechanism, 1.5),
    "x_star is 6; it must lie in 0 to 5": lambda rng: STUDY.utility(3, [2, 6]),
    r"prior is \(0, 1\); it must": lambda rng: Study(STUDY.mechanism, 0.5, (0, 1)),
    "size is 0": lambda rng: STUDY.draw_pairs(ALTERNATIVE, 0.5, 0, rng=rng),
    r"prior is 1\.5": lambda rng: STUDY.all_pairs(ALTERNATIVE, 1.5),
}


@pytest.mark.parametrize(("message", "call"), REFUSED.items())
def test_bad_input(message, call, rng):
    with pytest.raises(ValueError, match=message):
        call(rng)
