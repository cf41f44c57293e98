"""A proportion from a synthetic count, against quadrature and enumeration."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refusals
from scipy.integrate import quad
from scipy.stats import beta, binom
from whole_tables import assert_drawn, probabilities

from srlib.mechanism import bernoulli_plugin, beta_binomial, proportion, risk
from srlib.mechanism.proportion import Study

COUNTS = np.arange(7)
RELEASES = np.arange(6)
TABLE = bernoulli_plugin(6, 5, 0.8)
STUDY = Study(TABLE, 0.3)
ALTERNATIVE = np.abs(COUNTS - 1)
PAIRS = STUDY.all_pairs(ALTERNATIVE, 0.2)
LIKELIHOOD = probabilities(TABLE)  # (n_inputs, n_outputs)
DATA_PROBABILITY = binom.pmf(COUNTS, 6, 0.3)


@pytest.mark.parametrize(
    "prior",
    [
        (1.0, 1.0),
        (0.5, 2.0),
    ],
)
@pytest.mark.parametrize("family", [bernoulli_plugin, beta_binomial])
def test_utility_against_quadrature(family, prior):
    """p(p | X*) by summing X out of the likelihood at each p, and integrating."""
    study = Study(family(9, 6, 0.8), 0.3, prior)
    likelihood = np.exp(study.mechanism.column(4))

    def density(p):
        by_count = binom.pmf(np.arange(10), 9, p)
        return by_count @ likelihood * beta.pdf(p, *prior)

    def squared_error_density(p):
        return density(p) * (p - 0.3) ** 2

    total, _ = quad(density, 0, 1, limit=200)
    squared_error, _ = quad(squared_error_density, 0, 1, limit=200)
    given_release = squared_error / total
    a, b = prior
    posterior = beta(a + 2, b + 7)
    bias = posterior.mean() - 0.3
    given_count = posterior.var() + bias**2
    ratio = given_release / given_count
    assert_allclose(study.utility(2, 4), np.log10(ratio), atol=1e-6)


def test_utility_of_many_pairs_in_blocks(monkeypatch):
    x = COUNTS[:, None]  # (n_inputs, 1)
    whole = STUDY.utility(x, RELEASES)

    monkeypatch.setattr(proportion, "BLOCK_ENTRIES", 17)

    assert_allclose(STUDY.utility(x, RELEASES), whole, rtol=1e-12)
    assert_allclose(STUDY.utility(2, 4), whole[2, 4])


def test_all_pairs_are_the_enumerated_ones():
    probability = DATA_PROBABILITY[:, None] * LIKELIHOOD
    counts, releases = np.indices((7, 6))
    assert_allclose(PAIRS.probability, probability.ravel())
    assert_array_equal(PAIRS.x, counts.ravel())
    assert_array_equal(PAIRS.x_star, releases.ravel())
    for x, risks in enumerate(PAIRS.risk.reshape(7, 6)):
        expected = risk(TABLE, x, ALTERNATIVE[x], 0.2)
        assert_allclose(risks, expected)


def share_up_to(name, value):
    """Probability of pairs with values up to the given one, and strictly below it."""
    values = getattr(PAIRS, name)
    reached = PAIRS.probability[values <= value].sum()
    below = PAIRS.probability[values < value].sum()
    return reached, below


@pytest.mark.parametrize("name", ["risk", "utility"])
def test_quantiles_of_pairs_and_of_the_extremes_of_four(name):
    summary = PAIRS.quantile_summary()
    quantile = PAIRS.quantile(name, 0.3)
    median = PAIRS.quantile(name, 0.5)
    maximum = PAIRS.maximum_quantile(name, 4, 0.3)
    minimum = PAIRS.minimum_quantile(name, 4, 0.3)

    reached, below = share_up_to(name, quantile)
    assert reached >= 0.3 > below
    # All of four pairs are at most a value with the fourth power of the probability.
    reached, below = share_up_to(name, maximum)
    assert reached**4 >= 0.3 > below**4
    reached, below = share_up_to(name, minimum)
    assert (1 - reached) ** 4 <= 0.7 < (1 - below) ** 4
    assert summary[f"{name}_median"] == median


def test_probability_of_an_event_in_any_of_three_pairs():
    single = binom.pmf(2, 6, 0.3)
    probability = PAIRS.event_probability(PAIRS.x == 2, 3)
    assert_allclose(probability, 1 - (1 - single) ** 3)


@pytest.mark.parametrize("prior", [0.3, COUNTS / 6])
def test_expected_increase_against_plain_loops(prior):
    """With one prior for all data sets, and with one for each, certain ones too."""
    expected = 0.0
    for x, w in enumerate(np.broadcast_to(prior, 7)):
        true = w * LIKELIHOOD[x]
        other = (1 - w) * LIKELIHOOD[ALTERNATIVE[x]]
        posterior = true / (true + other)
        increase = np.maximum(posterior - w, 0)
        mean = LIKELIHOOD[x] @ increase
        expected += DATA_PROBABILITY[x] * mean

    assert_allclose(PAIRS.expected_increase(prior), expected)


def test_expected_log_gain_against_the_joint_distribution():
    shares = np.array([0.7, 0.3])  # of zeros and ones
    gains = np.zeros(2)
    for others in range(6):
        likelihood = LIKELIHOOD[others : others + 2]
        marginal = shares @ likelihood
        log_ratio = np.log(likelihood / marginal)
        gain = (likelihood * log_ratio).sum(axis=1)
        gains += binom.pmf(others, 5, 0.3) * gain
    expected = (gains[1], shares @ gains)

    assert_allclose(STUDY.expected_log_relative_risk(), expected)
    # Nothing is gained about a certain value.
    assert Study(TABLE, 1.0).expected_log_relative_risk() == (0.0, 0.0)


def test_drawn_pairs_come_from_all_pairs():
    rng = default_rng(8)

    drawn = STUDY.draw_pairs(
        ALTERNATIVE,
        0.2,
        4_000,
        rng=rng,
    )

    position = drawn.x * 6 + drawn.x_star
    for name in ("log_ratio", "risk", "utility"):
        expected = getattr(PAIRS, name)[position]
        assert_allclose(getattr(drawn, name), expected)
    assert_allclose(drawn.probability.sum(), 1)
    assert_drawn(PAIRS.probability, position)


def test_expected_utility_is_the_mean_over_releases():
    ratios = 10 ** STUDY.utility(2, RELEASES)
    mean = LIKELIHOOD[2] @ ratios
    assert_allclose(STUDY.expected_utility(2), np.log10(mean))


test_bad_input = refusals(
    {
        r"p0 is 1\.5; it must lie in": lambda: Study(TABLE, 1.5),
        "x_star is 6; it must lie in 0 to 5": lambda: STUDY.utility(3, [2, 6]),
        "prior is 0; it must": lambda: Study(TABLE, 0.5, (0, 1)),
        "size is 0": lambda: STUDY.draw_pairs(ALTERNATIVE, 0.5, 0, rng=default_rng(1)),
        r"prior is 1\.5": lambda: STUDY.all_pairs(ALTERNATIVE, 1.5),
    }
)
