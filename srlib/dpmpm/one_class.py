"""The mixture with a single class: independent variables, and a density in closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from srlib import checks


@dataclass(frozen=True, eq=False)
class OneClass:
    """Synthesizer that draws the level probabilities of each variable from their posterior.

    The DPMPM with one class: a Dirichlet-multinomial for each variable, independent of the others.

    Parameters
    ----------
    n_levels : (n_variables,) int
        Number of levels of each variable.
    concentration : float
        Parameter of the symmetric Dirichlet prior, positive.

    Examples
    --------
    >>> import numpy as np
    >>> model = OneClass(np.array([2, 3]))
    >>> data = np.array([[0, 2], [1, 1], [0, 0]])
    >>> round(model.log_prob(data[:1], data), 3)  # 3/5 times 2/6
    -1.609
    """

    n_levels: NDArray[np.integer]
    concentration: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(concentration=self.concentration)

    def _counts(self, codes: NDArray[np.integer], k: int) -> NDArray[np.int64]:
        return np.bincount(codes[:, k], minlength=self.n_levels[k])

    def release(self, data: NDArray[np.integer], *, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw as many records as the data have."""
        columns = []
        for k, levels in enumerate(self.n_levels):
            shares = rng.dirichlet(self._counts(data, k) + self.concentration)
            columns.append(rng.choice(levels, size=len(data), p=shares))
        return np.stack(columns, axis=1).astype(np.uint8)

    def log_prob(self, released: NDArray[np.integer], data: NDArray[np.integer]) -> float:
        """Return the log probability of released records, in their order, given the data."""
        total = 0.0
        for k in range(len(self.n_levels)):
            before = self._counts(data, k) + self.concentration
            after = before + self._counts(released, k)
            total += gammaln(before.sum()) - gammaln(after.sum())
            total += (gammaln(after) - gammaln(before)).sum()
        return float(total)
