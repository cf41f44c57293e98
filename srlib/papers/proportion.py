"""What an analyst learns of one proportion from a synthetic count.

McClure and Reiter (2012), section 3.1 and Appendix B: the release is the count X* of ones among
synthetic records, made from the count X of ones in the data. The posterior of the proportion is
computed exactly, and by the paper's Markov chain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import betainc, betaln, expit
from scipy.stats import binom

from srlib import diagnostics
from srlib.mechanism.bayes import posterior, update
from srlib.mechanism.core import BLOCK_ENTRIES, Mechanism, sample
from srlib.mechanism.families import log_binomial
from srlib.threads import one_blas_thread

LOG_2 = np.log(2.0)


def _beta_parameters(prior: tuple[float, float]) -> tuple[float, float]:
    a, b = map(float, prior)
    if not (np.isfinite([a, b]).all() and a > 0 and b > 0):
        raise ValueError(f"prior is {prior!r}; both numbers must be positive and finite")
    return a, b


def squared_error_given_count(
    n: int, p0: float, prior: tuple[float, float] = (1.0, 1.0)
) -> NDArray[np.float64]:
    """Posterior expectation of (p0 - p)^2 given each count of ones among n records.

    Parameters
    ----------
    n : int
        Records, 1 or more.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        a and b of the beta prior of p, positive; given the count X the posterior is
        Beta(X + a, n - X + b).

    Returns
    -------
    (n + 1,) float64
        For X = 0 to n.

    References
    ----------
    McClure and Reiter (2012), equation 12.
    """
    if not 0 <= p0 <= 1:
        raise ValueError(f"p0 is {p0}; it must lie in [0, 1]")
    a, b = _beta_parameters(prior)
    mean = (np.arange(n + 1) + a) / (n + a + b)
    return mean * (1 - mean) / (n + a + b + 1) + (mean - p0) ** 2


@one_blas_thread
def squared_error_given_release(
    mechanism: Mechanism,
    x_star: ArrayLike,
    p0: float,
    prior: tuple[float, float] = (1.0, 1.0),
) -> NDArray[np.float64]:
    """Posterior expectation of (p0 - p)^2 given releases, with the count of the data summed out.

    Given X* the posterior of p is a mixture of n + 1 beta distributions, one for each X.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    x_star : (k,) int
        Counts of ones in the releases.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        Parameters of the beta prior of p, positive.

    Returns
    -------
    (k,) float64
        Exact up to rounding.

    References
    ----------
    McClure and Reiter (2012), equation 4 and Appendix B.
    """
    columns = np.atleast_1d(np.asarray(x_star, dtype=np.int64))
    outside = (columns < 0) | (columns >= mechanism.n_outputs)
    if outside.any():
        raise ValueError(
            f"x_star is {columns[outside][0]}; it must lie in 0 to {mechanism.n_outputs - 1}"
        )
    n = mechanism.n_inputs - 1
    error, log_prior = squared_error_given_count(n, p0, prior), log_count_prior(n, prior)
    width = max(1, BLOCK_ENTRIES // (n + 1))
    result = np.empty(len(columns))
    for first in range(0, len(columns), width):
        log_prob = mechanism.block(np.arange(n + 1), columns[first : first + width])
        result[first : first + width] = np.exp(posterior(log_prob.T, log_prior)) @ error
    return result


def log_count_prior(n: int, prior: tuple[float, float] = (1.0, 1.0)) -> NDArray[np.float64]:
    """Log prior probabilities of the count of n records when p has a beta prior, (n + 1,)."""
    a, b = _beta_parameters(prior)
    x = np.arange(n + 1)
    return log_binomial(n) + betaln(x + a, n - x + b) - betaln(a, b)


def utility(
    mechanism: Mechanism,
    x: ArrayLike,
    x_star: ArrayLike,
    p0: float,
    prior: tuple[float, float] = (1.0, 1.0),
) -> NDArray[np.float64]:
    """Loss of precision about p0 through the release, exactly (equation 4).

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    x, x_star : array of int
        Counts of ones in the data and in the release; they broadcast against each other.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        Parameters of the beta prior of p, positive.

    Returns
    -------
    array of float64
        log10 of the expected squared error given the release over that given the data; the
        larger, the worse the release.
    """
    columns, where = np.unique(np.asarray(x_star), return_inverse=True)
    released = squared_error_given_release(mechanism, columns, p0, prior)[where]
    known = squared_error_given_count(mechanism.n_inputs - 1, p0, prior)[np.asarray(x)]
    return np.log10(released / known)


@one_blas_thread
def expected_utility(
    mechanism: Mechanism, x: int, p0: float, prior: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Loss of precision about p0 that one data set's releases have on average.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    x : int
        Count of ones in the data.
    p0 : float
        The true proportion, in [0, 1].
    prior : (float, float)
        Parameters of the beta prior of p, positive.

    Returns
    -------
    float
        log10 of the expectation over X* of the ratio in equation 4. Releases with a probability
        below 1e-12 are left out.
    """
    probability = np.exp(mechanism.row(x))
    kept = np.flatnonzero(probability > 1e-12)
    released = squared_error_given_release(mechanism, kept, p0, prior)
    known = squared_error_given_count(mechanism.n_inputs - 1, p0, prior)[x]
    return float(np.log10(probability[kept] @ released / known))


@dataclass(frozen=True)
class Pairs:
    """Pairs (D, D*) of data set and release.

    Attributes
    ----------
    x, x_star : (k,) int64
        Counts of ones in the data and in the release.
    probability : (k,) float64
        p(X*, X | p0), equation 7; 1 / k each for pairs that were drawn.
    log_ratio : (k,) float64
        Log of the release's probability under the record's true value over that under the other.
    risk : (k,) float64
        The intruder's posterior probability of the true value, equation 5.
    utility : (k,) float64
        Equation 4.
    """

    x: NDArray[np.int64]
    x_star: NDArray[np.int64]
    probability: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    risk: NDArray[np.float64]
    utility: NDArray[np.float64]

    def chance(self, event: NDArray[np.bool_], size: int = 1) -> float:
        """Probability that at least one of so many independent pairs has the event, (k,) bool."""
        one = min(1.0, float(self.probability[event].sum()))
        return 1.0 if one == 1 else float(-np.expm1(size * np.log1p(-one)))

    def quantile(self, name: str, q: float) -> float:
        """Quantile of one of the attributes over the pairs."""
        values = getattr(self, name)
        return float(np.quantile(values, q, weights=self.probability, method="inverted_cdf"))

    def smallest(self, name: str, size: int, q: float) -> float:
        """Quantile of the smallest value among so many independent pairs."""
        return self.quantile(name, -np.expm1(np.log1p(-q) / size))

    def largest(self, name: str, size: int, q: float) -> float:
        """Quantile of the largest value among so many independent pairs."""
        return self.quantile(name, q ** (1 / size))

    def extreme(self, end: str, name: str, size: int) -> tuple[float, float]:
        """Median of the smallest or largest, and how far from it chance takes it (99 %).

        Parameters
        ----------
        end : {"smallest", "largest"}
            Which.
        name : str
            Name of the attribute.
        size : int
            Number of independent pairs.
        """
        of = {"smallest": self.smallest, "largest": self.largest}[end]
        low, middle, high = (of(name, size, q) for q in (0.005, 0.5, 0.995))
        return middle, max(middle - low, high - middle)

    def outside(self, low: float, high: float) -> NDArray[np.bool_]:
        """Which pairs have a utility outside a range."""
        return (self.utility < low) | (self.utility > high)

    def ranges(self) -> dict[str, float]:
        """Median and ends of the central 90 % of risk and utility, and the risk's 99 % quantile."""
        named = {"low": 0.05, "median": 0.5, "high": 0.95}
        return {
            f"{name}_{word}": self.quantile(name, q)
            for name in ("risk", "utility")
            for word, q in named.items()
        } | {"risk_99": self.quantile("risk", 0.99)}


def all_pairs(
    mechanism: Mechanism,
    p0: float,
    alternative: NDArray[np.int64],
    intruder_prior: float,
    prior: tuple[float, float] = (1.0, 1.0),
) -> Pairs:
    """Every pair of data set and release with its probability.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    p0 : float
        The true proportion, in [0, 1].
    alternative : (n + 1,) int
        For each X the count when the record at risk has its other value.
    intruder_prior : float
        The intruder's prior probability of the record's true value, in [0, 1].
    prior : (float, float)
        The analyst's beta prior of p, positive.

    Returns
    -------
    Pairs
        In the order of X, then X*. Those left out have a probability below 1e-15 each.
    """
    n = mechanism.n_inputs - 1
    log_weight = binom.logpmf(np.arange(n + 1), n, p0)
    found, least = [], np.log(1e-15)
    for x in map(int, np.flatnonzero(log_weight > least)):
        log_prob = mechanism.row(x) + log_weight[x]
        kept = np.flatnonzero(log_prob > least)
        log_ratio = (mechanism.row(x) - mechanism.row(int(alternative[x])))[kept]
        found.append((np.full(len(kept), x), kept, np.exp(log_prob[kept]), log_ratio))
    ones, x_star, probability, log_ratio = map(np.concatenate, zip(*found, strict=True))
    risk, loss = update(log_ratio, intruder_prior), utility(mechanism, ones, x_star, p0, prior)
    return Pairs(ones, x_star, probability, log_ratio, risk, loss)


def draw_pairs(
    mechanism: Mechanism,
    p0: float,
    alternative: NDArray[np.int64],
    intruder_prior: float,
    size: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> Pairs:
    """Draw data sets and a release for each.

    Parameters
    ----------
    size : int
        Number of pairs, 1 or more.
    rng : numpy.random.Generator
        Source of chance.
    mechanism, p0, alternative, intruder_prior, prior
        As of `all_pairs`.
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be 1 or more")
    x = rng.binomial(mechanism.n_inputs - 1, p0, size)
    x_star = np.array([sample(mechanism, int(k), 1, rng=rng)[0] for k in x])
    log_ratio = np.array(
        [
            np.subtract(*mechanism.block(np.array([k, alternative[k]]), np.array([y])))[0]
            for k, y in zip(x, x_star, strict=True)
        ]
    )
    risk, share = update(log_ratio, intruder_prior), np.full(size, 1 / size)
    return Pairs(x, x_star, share, log_ratio, risk, utility(mechanism, x, x_star, p0, prior))


# -------------------------------------------------------------------------- the paper's chain


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
    log_target = mechanism.column(x_star) + log_binomial(n)
    a, b = _beta_parameters(prior)
    draws_p = np.empty((n_chains, n_steps))
    draws_x = np.empty((n_chains, n_steps), dtype=np.int64)
    for chain, stream in enumerate(rng.spawn(n_chains)):
        start_p, start_x = stream.random(), int(stream.integers(0, n + 1))
        _count_chain(log_target, a, b, start_x, start_p, stream, draws_x[chain], draws_p[chain])
    return draws_p, draws_x


def chain_squared_errors(
    mechanism: Mechanism,
    x_star: int,
    p0: float,
    *,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> NDArray[np.float64]:
    """(p - p0)^2 along the paper's chains, without their first steps.

    Parameters
    ----------
    burn_in, n_steps : int
        Steps dropped and steps kept.
    mechanism, x_star, p0, n_chains, rng, prior
        As of `sample_proportion` and `utility`.

    Returns
    -------
    (n_chains, n_steps) float64
        Their mean over `squared_error_given_count` is the ratio in equation 4.
    """
    settings = {"n_steps": burn_in + n_steps, "n_chains": n_chains, "rng": rng, "prior": prior}
    p, _ = sample_proportion(mechanism, x_star, **settings)  # type: ignore[arg-type]
    return (p[:, burn_in:] - p0) ** 2


def utility_by_chain(
    mechanism: Mechanism,
    x: int,
    x_star: int,
    p0: float,
    *,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> dict[str, Any]:
    """Utility as the paper computes it, and what the chains say of themselves.

    Parameters
    ----------
    mechanism, x, x_star, p0, prior
        As of `utility`.
    burn_in, n_steps, n_chains, rng
        As of `chain_squared_errors`.

    Returns
    -------
    dict
        utility_one_chain (the first, as in the paper), utility_lowest and utility_highest (of the
        single chains), utility_mcmc (all together), and of the mean of the squared errors,
        carried over to U, mcse, ess_bulk, r_hat and verdict. For these one draw in ten is looked
        at: the walk moves by one, so that the others have little to add.
    """
    errors = chain_squared_errors(
        mechanism, x_star, p0,
        burn_in=burn_in, n_steps=n_steps, n_chains=n_chains, rng=rng, prior=prior,
    )  # fmt: skip
    known = squared_error_given_count(mechanism.n_inputs - 1, p0, prior)[x]
    chains = np.log10(errors.mean(axis=1) / known)
    told = diagnostics.summary({"squared error": errors[:, ::10]}).iloc[0]
    return {
        "utility_one_chain": float(chains[0]),
        "utility_lowest": float(chains.min()),
        "utility_highest": float(chains.max()),
        "utility_mcmc": float(np.log10(errors.mean() / known)),
        "mcse": float(told["mcse"] / told["mean"] / np.log(10)),
        **told[["ess_bulk", "r_hat", "verdict"]],
    }


def expected_utility_by_chain(
    mechanism: Mechanism,
    x: int,
    x_star: int,
    p0: float,
    *,
    burn_in: int,
    n_steps: int,
    prior: tuple[float, float] = (1.0, 1.0),
) -> float:
    """log10 of the average ratio that infinitely many of the paper's chains would report.

    Parameters
    ----------
    mechanism, x, x_star, p0, prior
        As of `utility`, which the result would be if the chains forgot their start.
    burn_in, n_steps : int
        Steps dropped and steps kept.
    """
    error = squared_error_given_count(mechanism.n_inputs - 1, p0, prior)
    moves = walk(mechanism, x_star, prior)
    return float(np.log10(expected_average(moves, error, burn_in, burn_in + n_steps) / error[x]))


def one_step_proposal(n: int) -> NDArray[np.float64]:
    """Probabilities of proposing X - 1 and X + 1 from X = 0 to n, (n + 1, 2) (Appendix B).

    One half each, and inwards for sure at both ends.
    """
    proposal = np.full((n + 1, 2), 0.5)
    proposal[0], proposal[n] = (0.0, 1.0), (1.0, 0.0)
    return proposal


def walk(
    mechanism: Mechanism,
    x_star: int,
    prior: tuple[float, float] = (1.0, 1.0),
    proposal: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Probabilities with which the paper's chain goes from X to X - 1 and to X + 1.

    With p drawn from Beta(X + a, n - X + b) before each step and integrated out, X itself is a
    Markov chain that moves by one at a time; the expectation of the acceptance probability
    min(1, C p / (1 - p)) is a sum of two incomplete beta functions.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n, columns X*.
    x_star : int
        Count of ones in the release.
    prior : (float, float)
        a and b of the beta prior of p, positive.
    proposal : (n + 1, 2) float, optional
        Probabilities of proposing X - 1 and X + 1; `one_step_proposal` if not given.

    Returns
    -------
    (n + 1, 2) float64
        Down and up; the rest is the probability of staying.
    """
    n = mechanism.n_inputs - 1
    a, b = _beta_parameters(prior)
    proposed = one_step_proposal(n) if proposal is None else np.asarray(proposal, dtype=float)
    x = np.arange(float(n))
    up, down = proposed[:-1, 1], proposed[1:, 0]
    possible = (up > 0) & (down > 0)
    gain = np.diff(mechanism.column(x_star) + log_binomial(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(possible, gain + np.log(down) - np.log(up), -np.inf)
    moves = np.zeros((n + 1, 2))
    moves[:-1, 1] = up * _mean_acceptance(log_ratio, x + a, n - x + b)
    reverse = np.where(possible, -log_ratio, -np.inf)
    moves[1:, 0] = down * _mean_acceptance(reverse, n - x - 1 + b, x + 1 + a)
    return moves


def _mean_acceptance(
    log_ratio: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Expectation of min(1, C p / (1 - p)) over p from Beta(a, b), b above 1."""
    log_c = np.clip(log_ratio, -700.0, 700.0)
    below = np.exp(log_c) * a / (b - 1) * betainc(a + 1, b - 1, expit(-log_c))
    above = betainc(b, a, expit(log_c))
    return np.where(np.isneginf(log_ratio), 0.0, np.minimum(below + above, 1.0))


@one_blas_thread
def relaxation_time(moves: NDArray[np.float64]) -> float:
    """Steps in which a walk forgets a factor e of its slowest deviation from equilibrium.

    Parameters
    ----------
    moves : (n + 1, 2) float
        As `walk` returns.

    Returns
    -------
    float
        1 / (1 - second largest eigenvalue); infinite where the walk cannot reach all counts.
    """
    off = np.sqrt(moves[:-1, 1] * moves[1:, 0])
    last = len(moves) - 1
    second = eigh_tridiagonal(
        1 - moves.sum(axis=1), off, eigvals_only=True, select="i", select_range=(last - 1, last - 1)
    )[0]
    return float(1 / (1 - second)) if second < 1 - 1e-15 else float("inf")


@one_blas_thread
def expected_average(
    moves: NDArray[np.float64],
    values: NDArray[np.float64],
    burn_in: int,
    n_steps: int,
) -> float:
    """Expectation of a chain's average over the steps after burn-in, from a uniform start.

    What is left between it and the posterior expectation is the transient: bias that no number
    of chains averages out. (The first step is taken as if p had been drawn given X.)

    Parameters
    ----------
    moves : (n + 1, 2) float
        As `walk` returns.
    values : (n + 1,) float
        What is averaged, as a function of X.
    burn_in, n_steps : int
        Steps dropped and steps in all, 0 <= burn_in < n_steps.
    """
    if not 0 <= burn_in < n_steps:
        raise ValueError(
            f"burn_in is {burn_in} and n_steps is {n_steps}; it must hold that "
            "0 <= burn_in < n_steps"
        )
    start = np.full(len(moves), 1 / len(moves))
    return _average_over_steps(np.ascontiguousarray(moves), values, start, burn_in, n_steps)


@njit(nogil=True, cache=True)
def _average_over_steps(moves, values, probability, burn_in, n_steps):
    size, total = probability.shape[0], 0.0
    following = np.empty(size)
    for step in range(n_steps):
        for x in range(size):
            stays = probability[x] * (1.0 - moves[x, 0] - moves[x, 1])
            from_below = probability[x - 1] * moves[x - 1, 1] if x > 0 else 0.0
            from_above = probability[x + 1] * moves[x + 1, 0] if x < size - 1 else 0.0
            following[x] = stays + from_below + from_above
        probability, following = following, probability
        if step >= burn_in:
            total += np.dot(probability, values)
    return total / (n_steps - burn_in)
