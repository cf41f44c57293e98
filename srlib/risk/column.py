"""A column of the table of log p(release | data set), candidate by candidate, and its readings.

Every synthesizer leads to one: exactly by its density, or by Monte Carlo. The posterior, its rank
and gain, the likelihood ratio of being in the data, and the risk before release all read it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.mechanism.bayes import posterior, rank
from srlib.risk.errors import jackknife, left_out, log_mean


@dataclass(frozen=True)
class Risk:
    """Posterior disclosure risk of n combinations over supports of equal size.

    Log posterior probabilities of the candidates, (n_combinations, support_size), the truth first,
    and their Monte Carlo standard errors from between chains.
    """

    log_prob: NDArray[np.float64]
    log_mcse: NDArray[np.float64]

    @property
    def support_size(self) -> int:
        """Number of candidates, the truth among them."""
        return self.log_prob.shape[1]

    @property
    def probability(self) -> NDArray[np.float64]:
        """Posterior probability of the truth, (n_combinations,)."""
        return np.exp(self.log_prob[:, 0])

    @property
    def rank(self) -> NDArray[np.float64]:
        """Rank of the truth, 1 for the most probable; ties share their mean rank."""
        return rank(self.log_prob)

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.integer]) -> "Risk":
        """Return the risk of some of the combinations, chosen as rows of an array are."""
        return Risk(self.log_prob[chosen], self.log_mcse[chosen])

    def summary(self, threshold: float) -> dict[str, float]:
        """Figures 3 and 4 in a few numbers; probabilities above the threshold are counted."""
        return {
            "median": float(np.median(self.probability)),
            "largest": float(self.probability.max()),
            f"above {threshold:g}": int((self.probability > threshold).sum()),
            "rank 1": int((self.rank == 1).sum()),
            "rank 1 to 3": int((self.rank <= 3).sum()),
            "median error of log": float(np.median(self.log_mcse[:, 0])),
        }


@dataclass(frozen=True)
class Column:
    """log p(Z | data with record i = x), up to a constant for each record; the truth first.

    It is a function, `of_means`, of the logarithms of the means of some `sets` of chains,
    (n_chains, n, support_size) each; without sets it is exact. Its shape is
    ([n_publications,] n, support_size). Where there are chains, `r_hat` (n_sets, n) is that of the
    log probability of each record, and `pareto_k` (n,) of the weights that leave the record out.
    """

    of_means: Callable[..., NDArray[np.float64]]
    sets: Sequence[NDArray[np.float64]] = ()
    r_hat: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    pareto_k: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def log_likelihood(self) -> NDArray[np.float64]:
        """The column itself."""
        return self.of_means(*map(log_mean, self.sets))

    def read(
        self, reading: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a function of the column and its Monte Carlo standard error."""
        return jackknife(lambda *means: reading(self.of_means(*means)), self.sets)

    def left_out(
        self, reading: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield a function of the column with one chain left out at a time."""
        for of_set in left_out(lambda *means: reading(self.of_means(*means)), self.sets):
            yield from of_set

    def posterior(self, log_prior: ArrayLike = 0.0) -> Risk:
        """Weigh the candidates by Bayes' rule (Hu, Reiter and Wang 2014, equation 9)."""
        return Risk(*self.read(lambda column: posterior(column, log_prior)))
