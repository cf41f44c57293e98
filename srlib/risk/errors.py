"""Monte Carlo standard errors, from the differences between chains.

Chains that have not converged explore different regions. Standard errors from between
chains include that difference; standard errors from within a chain do not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp


def jackknife(
    statistic: Callable[..., NDArray[np.float64]], sets: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a statistic of the means of independent sets of chains, and its standard error.

    The statistic is a function of the logarithms of the sets' means, one array per set;
    each set has the logarithms of its chains' means, (n_chains, ...). The standard
    errors come from leaving out one chain of one set at a time; without sets they are
    zero.
    """
    if any(len(chains) < 2 for chains in sets):
        raise ValueError(
            f"the sets have {[len(chains) for chains in sets]} chains; each needs two or more, "
            "because the standard errors come from the differences between chains"
        )
    value = statistic(*map(log_mean, sets))
    variance = sum(
        map(jackknife_variance, leave_one_out(statistic, sets)), np.zeros_like(value)
    )
    return value, np.sqrt(variance)


def leave_one_out(
    statistic: Callable[..., NDArray[np.float64]], sets: Sequence[NDArray[np.float64]]
) -> Iterator[Iterator[NDArray[np.float64]]]:
    """Yield, for each set, the values of a statistic with one of its chains left out at a time."""
    means = [log_mean(chains) for chains in sets]
    for at, chains in enumerate(sets):
        before, behind = means[:at], means[at + 1 :]
        yield (
            statistic(*before, mean, *behind)
            for mean in leave_one_out_log_means(chains)
        )


def log_mean(log_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the mean over the first axis."""
    return logsumexp(log_values, axis=0) - np.log(len(log_values))


def leave_one_out_log_means(
    log_values: NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """Yield `log_mean` without the first value, without the second, and so on, in linear time."""
    behind = np.logaddexp.accumulate(log_values[::-1], axis=0)[::-1]
    before, last = np.full_like(log_values[0], -np.inf), len(log_values) - 1
    for at, one in enumerate(log_values):
        total = before if at == last else np.logaddexp(before, behind[at + 1])
        yield total - np.log(last)
        before = np.logaddexp(before, one)


def jackknife_variance(
    replicates: Iterable[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the variance of an estimate from its values with one chain left out at a time.

    The values are taken one by one (Welford 1962): those of a hundred chains would fill
    memory.
    """
    count, mean, squares = 0, np.zeros(()), np.zeros(())
    for count, value in enumerate(replicates, start=1):
        deviation = value - mean
        mean = mean + deviation / count
        squares = squares + deviation * (value - mean)
    return squares * (count - 1) / count
