"""Monte Carlo standard errors, from the differences between chains.

Chains that have not converged explore different regions. Standard errors from between
chains include that difference; standard errors from within a chain do not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from scipy.special import logsumexp

from srlib.arrays import Floats

# A function of the logarithms of the means of several sets of chains.
Statistic = Callable[..., Floats]


def jackknife(statistic: Statistic, sets: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return a statistic of the means of sets of chains, and its standard error.

    The sets are independent. The statistic is a function of the logarithms of their
    means, one array per set; each set has the logarithms of its chains' means,
    (n_chains, ...). The standard errors come from leaving out one chain of one set at a
    time; without sets they are zero.
    """
    value = statistic(*map(log_mean, sets))
    variances = map(jackknife_variance, leave_one_out(statistic, sets))
    return value, np.sqrt(sum(variances, np.zeros_like(value)))


def leave_one_out(
    statistic: Statistic, sets: Sequence[Floats]
) -> Iterator[Iterator[Floats]]:
    """Yield, for each set, the values of a statistic without one chain at a time."""
    if any(len(chains) < 2 for chains in sets):
        raise ValueError(
            f"the sets have {[len(chains) for chains in sets]} chains; each needs two "
            "or more, because the standard errors come from the differences between "
            "chains"
        )
    means = [log_mean(chains) for chains in sets]
    for i, chains in enumerate(sets):
        yield (
            statistic(*means[:i], mean, *means[i + 1 :])
            for mean in leave_one_out_log_means(chains)
        )


def log_mean(log_values: Floats) -> Floats:
    """Return the logarithm of the mean over the first axis."""
    return logsumexp(log_values, axis=0) - np.log(len(log_values))


def leave_one_out_log_means(log_values: Floats) -> Iterator[Floats]:
    """Yield `log_mean` without the first value, without the second, in linear time."""
    behind = np.logaddexp.accumulate(log_values[::-1], axis=0)[::-1]
    before = np.full_like(log_values[0], -np.inf)
    last = len(log_values) - 1
    for i, log_value in enumerate(log_values):
        total = before if i == last else np.logaddexp(before, behind[i + 1])
        yield total - np.log(last)
        before = np.logaddexp(before, log_value)


def jackknife_variance(replicates: Iterable[Floats]) -> Floats:
    """Return the variance of an estimate from its values without one chain each."""
    values = np.array([*replicates])
    return (len(values) - 1) * values.var(axis=0)
