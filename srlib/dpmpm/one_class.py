"""The mixture with a single class: independent variables, and a density in closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from srlib import checks
from srlib.margins import Counts, Margins, Terms


@dataclass(frozen=True, eq=False)
class OneClass(Margins):
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

    concentration: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(concentration=self.concentration)

    def shares(self, counts: Counts, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the shares from their posterior."""
        return rng.dirichlet(counts + self.concentration)

    def terms(self, counts: Counts, released: Counts) -> Terms:
        """Return a product over levels."""
        total = counts.sum() + len(counts) * self.concentration

        def of_counts(changed: Counts) -> NDArray[np.float64]:
            before = changed + self.concentration
            return (gammaln(before + released) - gammaln(before))[:, None]

        return Terms(np.array([gammaln(total) - gammaln(total + released.sum())]), of_counts)
