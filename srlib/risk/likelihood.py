"""The likelihood of the candidates of target records, and the posterior risk from it.

Every synthesizer leads to these likelihoods: exactly, by its density, or by Monte
Carlo. In the table of log p(release | data set) they are a part of a column. The
posterior disclosure risk, the likelihood ratio of membership and the risk before
release are all functions of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from srlib.arrays import ArrayLike, Bools, Floats, Ints
from srlib.mechanism import posterior, rank
from srlib.risk.errors import Statistic, jackknife, leave_one_out, log_mean


@dataclass(frozen=True)
class Risk:
    """Posterior disclosure risk of n combinations over supports of equal size.

    `log_prob` are the log posterior probabilities of the candidates, (n_combinations,
    support_size), the true record first; `log_mcse` their Monte Carlo standard errors,
    from the differences between chains.
    """

    log_prob: Floats
    log_mcse: Floats

    @property
    def support_size(self) -> int:
        """Number of candidates, including the true record."""
        return self.log_prob.shape[1]

    @property
    def probability(self) -> Floats:
        """Posterior probability of the true record, (n_combinations,)."""
        return np.exp(self.log_prob[:, 0])

    @property
    def rank(self) -> Floats:
        """Rank of the true record, 1 for the most probable; ties share their mean."""
        return rank(self.log_prob)

    def subset(self, chosen: Bools | Ints) -> "Risk":
        """Return the risk of some combinations, chosen by a mask or by position."""
        return Risk(self.log_prob[chosen], self.log_mcse[chosen])


@dataclass(frozen=True)
class CandidateLikelihood:
    """log p(Z | data with record i = x) of each candidate x, up to a constant.

    The constant is the same for all candidates of a record; the true record comes
    first. The likelihood is a function, `from_log_means`, of the logarithms of the
    means of several `sets` of chains, (n_chains, n, support_size) each; without sets it
    is exact. Its shape is ([n_release_sets,] n, support_size). Where there are chains,
    `r_hat` (n_sets, n) is the R-hat of the log probability of each record, and
    `pareto_k` (n,) that of the importance weights that leave the record out.
    """

    from_log_means: Statistic
    sets: Sequence[Floats] = ()
    r_hat: Sequence[Floats] = ()
    pareto_k: Floats | float = np.nan

    @property
    def log_likelihood(self) -> Floats:
        """Log likelihood of the candidates, ([n_release_sets,] n, support_size)."""
        return self.from_log_means(*map(log_mean, self.sets))

    def estimate(self, statistic: Statistic) -> tuple[Floats, Floats]:
        """Return a statistic of the log likelihood, and its Monte Carlo error."""
        return jackknife(
            lambda *means: statistic(self.from_log_means(*means)), self.sets
        )

    def leave_one_out(self) -> Iterator[Floats]:
        """Yield the log likelihood with one chain left out at a time."""
        for replicates in leave_one_out(self.from_log_means, self.sets):
            yield from replicates

    def posterior(self, log_prior: ArrayLike = 0.0) -> Risk:
        """Return the risk by Bayes' rule (Hu, Reiter and Wang 2014, equation 9)."""
        return Risk(*self.estimate(lambda column: posterior(column, log_prior)))
