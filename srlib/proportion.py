"""What an analyst learns of one proportion from a synthetic count.

McClure and Reiter (2012), section 3.1 and Appendix B: the release is the count X* of ones among
synthetic records, made from the count X of ones in the data. The posterior of the proportion is
computed exactly, and by the paper's Markov chain.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from srlib.mechanism import Mechanism, posterior

LOG_2 = np.log(2.0)


def expected_squared_error(
    log_weights: ArrayLike, p0: float, prior: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Posterior expectation of (p0 - p)^2 when the count of ones is itself uncertain.

    Given the count X of n records, p has a Beta(X + a, n - X + b) posterior; with X summed out it
    is a mixture of n + 1 beta distributions.

    Parameters
    ----------
    log_weights : (n + 1,) float
        Log posterior probabilities of X = 0 to n, up to a constant; all but one -inf when X is
        known.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        a and b of the beta prior of p, positive.

    Returns
    -------
    float
        Exact up to rounding.

    References
    ----------
    McClure and Reiter (2012), equations 4 and 12 and Appendix B.
    """
    if not 0 <= p0 <= 1:
        raise ValueError(f"p0 is {p0}; it must lie in [0, 1]")
    weights = np.exp(posterior(np.asarray(log_weights, dtype=float)))
    n = len(weights) - 1
    ones = np.arange(n + 1) + prior[0]
    total = n + prior[0] + prior[1]
    mean = ones / total
    variance = mean * (1 - mean) / (total + 1)
    return float(weights @ (variance + (mean - p0) ** 2))


def log_count_prior(n: int, prior: tuple[float, float] = (1.0, 1.0)) -> NDArray[np.float64]:
    """Log prior probabilities of the count of n records when p has a beta prior, (n + 1,)."""
    a, b = prior
    x = np.arange(n + 1)
    coefficient = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return coefficient + betaln(x + a, n - x + b) - betaln(a, b)


def utility(
    mechanism: Mechanism,
    x: int,
    x_star: int,
    p0: float,
    prior: tuple[float, float] = (1.0, 1.0),
) -> float:
    """Loss of precision about p0 through the release, exactly (equation 4).

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    x, x_star : int
        Counts of ones in the data and in the release.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        Parameters of the beta prior of p, positive.

    Returns
    -------
    float
        log10 of the expected squared error given the release over that given the data; the
        larger, the worse the release.
    """
    n = mechanism.n_inputs - 1
    given_release = mechanism.column(x_star) + log_count_prior(n, prior)
    given_data = np.where(np.arange(n + 1) == x, 0.0, -np.inf)
    released = expected_squared_error(given_release, p0, prior)
    return float(np.log10(released / expected_squared_error(given_data, p0, prior)))


@njit(nogil=True, cache=True)
def _count_chain(log_target, prior_a, prior_b, x, p, rng, draws_x, draws_p):
    """Alternate a one step random walk on X given p with a draw of p given X, in place.

    ``log_target`` is log p(X* | X) plus the log binomial coefficient of X. From 0 and n the walk
    must step inwards, so that the step back is half as probable as the step there.
    """
    n = log_target.shape[0] - 1
    for step in range(draws_p.shape[0]):
        if x == 0:
            proposal = 1
        elif x == n:
            proposal = n - 1
        else:
            proposal = x + 1 if rng.random() < 0.5 else x - 1
        log_odds = np.log(p) - np.log1p(-p)
        log_ratio = log_target[proposal] - log_target[x] + (proposal - x) * log_odds
        if n > 1:
            if x == 0 or x == n:
                log_ratio -= LOG_2
            if proposal == 0 or proposal == n:
                log_ratio += LOG_2
        if log_ratio >= 0 or rng.random() < np.exp(log_ratio):
            x = proposal
        ones = rng.standard_gamma(prior_a + x)
        zeros = rng.standard_gamma(prior_b + n - x)
        p = ones / (ones + zeros)
        p = min(max(p, 1e-300), 1.0 - 1e-16)
        draws_x[step] = x
        draws_p[step] = p


def sample_proportion(
    mechanism: Mechanism,
    x_star: int,
    *,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The paper's MCMC for p and X given the release (McClure and Reiter 2012, Appendix B).

    Each chain starts from p uniform on (0, 1) and X uniform on 0 to n. Appendix B gives the
    proposal probability 1/2 for 2 <= X <= n - 1, which leaves X = 1 without one; here it holds
    for 1 <= X <= n - 1.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, two or more, columns X*.
    x_star : int
        Count of ones in the release.
    n_steps, n_chains : int
        Steps of each chain, all returned, and chains, 1 or more.
    rng : numpy.random.Generator
        Each chain takes a stream spawned from it.
    prior : (float, float)
        Parameters of the beta prior of p, positive.

    Returns
    -------
    p : (n_chains, n_steps) float64
    x : (n_chains, n_steps) int64
    """
    for name, value in (("n_steps", n_steps), ("n_chains", n_chains)):
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be 1 or more")
    if not 0 <= x_star < mechanism.n_outputs:
        raise ValueError(f"x_star is {x_star}; it must lie in 0 to {mechanism.n_outputs - 1}")
    n = mechanism.n_inputs - 1
    ones = np.arange(n + 1)
    coefficient = gammaln(n + 1) - gammaln(ones + 1) - gammaln(n - ones + 1)
    log_target = mechanism.column(x_star) + coefficient
    draws_p = np.empty((n_chains, n_steps))
    draws_x = np.empty((n_chains, n_steps), dtype=np.int64)
    for chain, stream in enumerate(rng.spawn(n_chains)):
        start_p, start_x = stream.random(), int(stream.integers(0, n + 1))
        _count_chain(log_target, *prior, start_x, start_p, stream, draws_x[chain], draws_p[chain])
    return draws_p, draws_x
