"""Monte Carlo standard errors, from the differences between chains.

Chains that do not mix visit different places. Errors between chains contain that; errors within
a chain do not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp


def jackknife(
    statistic: Callable[..., NDArray[np.float64]], sets: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a function of the means of several independent sets of chains, and its standard error.

    The statistic is a function of the logarithms of the sets' means, one array a set; each set has
    the logarithms of its chains' means, (n_chains, ...). The errors come from leaving out one chain
    at a time, of one set at a time; they are zero where there are no sets.
    """
    if any(len(chains) < 2 for chains in sets):
        raise ValueError(
            f"the sets have {[len(chains) for chains in sets]} chains; each needs two or more, "
            "since the standard errors come from between chains"
        )
    value = statistic(*map(log_mean, sets))
    variance = sum(map(jackknife_variance, left_out(statistic, sets)), np.zeros_like(value))
    return value, np.sqrt(variance)


def left_out(
    statistic: Callable[..., NDArray[np.float64]], sets: Sequence[NDArray[np.float64]]
) -> Iterator[Iterator[NDArray[np.float64]]]:
    """Yield for each set the values of a statistic with one chain of the set left out at a time."""
    means = [log_mean(chains) for chains in sets]
    for at, chains in enumerate(sets):
        before, behind = means[:at], means[at + 1 :]
        yield (statistic(*before, mean, *behind) for mean in log_means_left_out(chains))


def log_mean(log_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the mean over the first axis."""
    return logsumexp(log_values, axis=0) - np.log(len(log_values))


def log_means_left_out(log_values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield `log_mean` without the first, the second, ... in time linear in their number."""
    behind = np.logaddexp.accumulate(log_values[::-1], axis=0)[::-1]
    before, last = np.full_like(log_values[0], -np.inf), len(log_values) - 1
    for at, one in enumerate(log_values):
        total = before if at == last else np.logaddexp(before, behind[at + 1])
        yield total - np.log(last)
        before = np.logaddexp(before, one)


def jackknife_variance(left_out: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the variance of an estimate from its values with one chain left out at a time.

    They are taken as they come (Welford 1962): a hundred chains' would fill memory.
    """
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for count, value in enumerate(left_out, start=1):
        apart = value - mean
        mean = mean + apart / count
        squares = squares + apart * (value - mean)
    return squares * (count - 1) / count
