"""The Markov chain of McClure and Reiter (2012), Appendix B, for a proportion given a release.

It alternates a step of X by one given p with a draw of p given X. With p integrated out X itself
is a Markov chain, so that all that the simulation does can also be computed: its transition
probabilities, its relaxation time, and the expectation of an average along it.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
from scipy.special import betainc, expit

from srlib import checks, diagnostics
from srlib.mechanism.families import log_binomial
from srlib.mechanism.proportion import Study
from srlib.threads import one_blas_thread

LOG_2 = np.log(2.0)
EVERY = 50  # steps from one draw that is kept to the next, of those along a walk
SETTLED = 1e-15  # change of a distribution in one step below which the rest is left out


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
    study: Study,
    x_star: int,
    *,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The paper's MCMC for p and X given the release (McClure and Reiter 2012, Appendix B).

    Each chain starts from p uniform on (0, 1) and X uniform on 0 to n. Appendix B gives the
    proposal probability 1/2 for 2 <= X <= n - 1, which leaves X = 1 without one; here it holds
    for 1 <= X <= n - 1.

    Parameters
    ----------
    study : Study
        Of any true proportion: the chain does not know it.
    x_star : int
        Count of ones in the release.
    n_steps, n_chains : int
        Steps of each chain, all returned, and chains, 1 or more.
    rng : numpy.random.Generator
        Each chain takes a stream spawned from it.

    Returns
    -------
    p : (n_chains, n_steps) float64
    x : (n_chains, n_steps) int64
    """
    checks.at_least(1, n_steps=n_steps, n_chains=n_chains)
    checks.within(0, study.mechanism.n_outputs - 1, x_star=x_star)
    n, (a, b) = study.n, map(float, study.prior)
    log_target = study.mechanism.column(x_star) + log_binomial(n)
    draws_p = np.empty((n_chains, n_steps))
    draws_x = np.empty((n_chains, n_steps), dtype=np.int64)
    for chain, stream in enumerate(rng.spawn(n_chains)):
        start_p, start_x = stream.random(), int(stream.integers(0, n + 1))
        _count_chain(log_target, a, b, start_x, start_p, stream, draws_x[chain], draws_p[chain])
    return draws_p, draws_x


def chain_squared_errors(
    study: Study,
    x_star: int,
    *,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """(p - p0)^2 along the paper's chains, without their first steps.

    Parameters
    ----------
    burn_in, n_steps : int
        Steps dropped and steps kept.
    study, x_star, n_chains, rng
        As of `sample_proportion`.

    Returns
    -------
    (n_chains, n_steps) float64
        Their mean over `Study.squared_error_given_count` is the ratio in equation 4.
    """
    p, _ = sample_proportion(study, x_star, n_steps=burn_in + n_steps, n_chains=n_chains, rng=rng)
    return (p[:, burn_in:] - study.p0) ** 2


@njit(nogil=True, cache=True)
def _average_along_walk(moves, values, x, burn_in, every, rng, kept):
    """Average a function of X along one walk, and keep its value every so many steps, in place."""
    total, n_steps = 0.0, kept.shape[0] * every
    for step in range(burn_in + n_steps):
        chance = rng.random()
        if chance < moves[x, 0]:
            x -= 1
        elif chance < moves[x, 0] + moves[x, 1]:
            x += 1
        if step >= burn_in:
            total += values[x]
            if (step - burn_in) % every == 0:
                kept[(step - burn_in) // every] = values[x]
    return total / n_steps


def walk_squared_errors(
    study: Study,
    x_star: int,
    *,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
    moves: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average squared errors along the paper's chains with p integrated out.

    X moves as it does in `sample_proportion`; where that averages (p - p0)^2 over draws of p, here
    its expectation given X is averaged. That has the same expectation and leaves out the noise of
    p given X, which is small beside what the walk of X contributes; and a step is many times
    cheaper.

    Parameters
    ----------
    study, x_star, burn_in, n_steps, n_chains, rng
        As of `chain_squared_errors`; of the steps, a multiple of `EVERY` is kept.
    moves : (n + 1, 2) float, optional
        As `walk` returns, where it is known.

    Returns
    -------
    average : (n_chains,) float64
        Over all steps that are kept.
    draws : (n_chains, n_steps // EVERY) float64
        One in `EVERY` of what is averaged, for diagnostics.
    """
    checks.at_least(1, n_chains=n_chains)
    checks.at_least(EVERY, n_steps=n_steps)
    checks.within(0, study.mechanism.n_outputs - 1, x_star=x_star)
    steps = np.ascontiguousarray(walk(study, x_star) if moves is None else moves)
    error, draws = study.squared_error_given_count(), np.empty((n_chains, n_steps // EVERY))
    average = np.empty(n_chains)
    for chain, stream in enumerate(rng.spawn(n_chains)):
        start = int(stream.integers(0, study.n + 1))
        average[chain] = _average_along_walk(
            steps, error, start, burn_in, EVERY, stream, draws[chain]
        )
    return average, draws


def one_chain_utilities(
    study: Study,
    x: NDArray[np.int64],
    x_star: NDArray[np.int64],
    *,
    burn_in: int,
    n_steps: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Utilities of many pairs, each by a single chain as in the paper.

    Parameters
    ----------
    x, x_star : (k,) int
        Counts of ones in the data and in the releases.
    study, burn_in, n_steps, rng
        As of `walk_squared_errors`.

    Returns
    -------
    (k,) float64
    """
    moves = {y: walk(study, y) for y in set(map(int, x_star))}
    settings: dict[str, Any] = {"burn_in": burn_in, "n_steps": n_steps, "n_chains": 1, "rng": rng}
    average = [
        walk_squared_errors(study, y, **settings, moves=moves[y])[0][0] for y in map(int, x_star)
    ]
    return np.log10(np.array(average) / study.squared_error_given_count()[x])


def utility_by_chain(
    study: Study,
    x: int,
    x_star: int,
    *,
    burn_in: int,
    n_steps: int,
    n_chains: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Utility as the paper computes it, and the chains' diagnostics.

    Parameters
    ----------
    x, x_star : int
        As of `Study.utility`.
    study, burn_in, n_steps, n_chains, rng
        As of `walk_squared_errors`, by which the chains run.

    Returns
    -------
    dict
        utility_one_chain (the first, as in the paper), utility_lowest and utility_highest (of the
        single chains), utility_mcmc (all together), and of the mean of the squared errors,
        carried over to U, mcse, ess_bulk, r_hat and verdict. For these one draw in `EVERY` is
        looked at: the walk moves by one, so that the others have little to add.
    """
    average, draws = walk_squared_errors(
        study, x_star, burn_in=burn_in, n_steps=n_steps, n_chains=n_chains, rng=rng
    )
    known = study.squared_error_given_count()[x]
    chains = np.log10(average / known)
    told = diagnostics.summary({"squared error": draws}).iloc[0]
    return {
        "utility_one_chain": float(chains[0]),
        "utility_lowest": float(chains.min()),
        "utility_highest": float(chains.max()),
        "utility_mcmc": float(np.log10(average.mean() / known)),
        "mcse": float(told["mcse"] / told["mean"] / np.log(10)),
        **told[["ess_bulk", "r_hat", "verdict"]],
    }


def expected_utility_by_chain(
    study: Study, x: int, x_star: int, *, burn_in: int, n_steps: int
) -> float:
    """log10 of the average ratio that infinitely many of the paper's chains would report.

    Parameters
    ----------
    study, x, x_star
        As of `Study.utility`, which the result would be if the chains forgot their start.
    burn_in, n_steps : int
        Steps dropped and steps kept.
    """
    error, moves = study.squared_error_given_count(), walk(study, x_star)
    return float(np.log10(expected_average(moves, error, burn_in, burn_in + n_steps) / error[x]))


def one_step_proposal(n: int) -> NDArray[np.float64]:
    """Probabilities of proposing X - 1 and X + 1 from X = 0 to n, (n + 1, 2) (Appendix B).

    One half each, and inwards for sure at both ends.
    """
    proposal = np.full((n + 1, 2), 0.5)
    proposal[0], proposal[n] = (0.0, 1.0), (1.0, 0.0)
    return proposal


def walk(
    study: Study, x_star: int, proposal: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Probabilities with which the paper's chain goes from X to X - 1 and to X + 1.

    With p drawn from Beta(X + a, n - X + b) before each step and integrated out, X itself is a
    Markov chain that moves by one at a time; the expectation of the acceptance probability
    min(1, C p / (1 - p)) is a sum of two incomplete beta functions.

    Parameters
    ----------
    study : Study
        Of any true proportion.
    x_star : int
        Count of ones in the release.
    proposal : (n + 1, 2) float, optional
        Probabilities of proposing X - 1 and X + 1; `one_step_proposal` if not given.

    Returns
    -------
    (n + 1, 2) float64
        Down and up; the rest is the probability of staying.
    """
    n, (a, b) = study.n, study.prior
    proposed = one_step_proposal(n) if proposal is None else np.asarray(proposal, dtype=float)
    x = np.arange(float(n))
    up, down = proposed[:-1, 1], proposed[1:, 0]
    possible = (up > 0) & (down > 0)
    gain = np.diff(study.mechanism.column(x_star) + log_binomial(n))
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
        change = np.abs(following - probability).sum() if step % 1000 == 999 else 1.0
        probability, following = following, probability
        if step >= burn_in:
            total += np.dot(probability, values)
            if change < SETTLED:
                total += (n_steps - step - 1) * np.dot(probability, values)
                break
    return total / (n_steps - burn_in)
