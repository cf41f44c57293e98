"""The synthesizer fitted to a table, and what it releases."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.schema import Microdata, Schema
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains, Draws

CHAINS = Chains(n_classes=40, burn_in=3000, n_draws=100, thin=10)
"""Enough to synthesize a survey of 10,000 records: a minute on two cores."""


@dataclass(frozen=True)
class Fitted:
    """A synthesizer fitted to a table.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    n_records : int
        Records that it was fitted to.
    draws : Draws
        From the posterior of the model's parameters.
    """

    schema: Schema
    n_records: int
    draws: Draws

    def release(
        self, n: int = 1, size: int | None = None, *, rng: np.random.Generator
    ) -> list[Microdata]:
        """Return fully synthetic tables, each from another draw of the parameters.

        Parameters
        ----------
        n : int
            Number of tables, from 1 to the number of draws.
        size : int, optional
            Records in each, 1 or more; as many as the model was fitted to if not given.
        rng : numpy.random.Generator
            Source of chance.

        Raises
        ------
        ValueError
            If there are fewer draws than tables, or `size` is not positive.
        """
        size = self.n_records if size is None else size
        return [Microdata(codes, self.schema) for codes in self.draws.release(n, size, rng=rng)]


def fit_dpmpm(
    data: pd.DataFrame | Microdata,
    chains: Chains = CHAINS,
    *,
    schema: Schema | None = None,
    weights: NDArray[np.floating] | None = None,
    rng: np.random.Generator,
) -> Fitted:
    """Fit the Dirichlet process mixture of products of multinomials to a table.

    Parameters
    ----------
    data : DataFrame or Microdata
        Columns that are categorical, or texts or numbers that stand for categories.
    chains : Chains
        Settings of the chains and the model's prior; `CHAINS` where not given.
    schema : Schema, optional
        Variables and levels of a DataFrame. Where not given, its categories and the values that
        occur.
    weights : (n_records,) float, optional
        Power of each record's likelihood, in [0, 1]; see `sample_posterior`.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    Fitted
        With `Fitted.release` for synthetic tables. Has the sampler converged? See
        `Fitted.draws` and `Draws.to_datatree`.

    Raises
    ------
    ValueError
        For a table without records, one that the schema refuses, or Microdata beside a schema; for
        weights that do not fit.

    References
    ----------
    Hu, Reiter and Wang (2014), section 2.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> few = Chains(n_classes=3, burn_in=50, n_draws=20)
    >>> fitted = fit_dpmpm(people, few, rng=np.random.default_rng(1))
    >>> released = fitted.release(2, rng=np.random.default_rng(2))
    >>> [table.to_frame().shape for table in released]
    [(40, 2), (40, 2)]
    """
    if isinstance(data, Microdata):
        if schema is not None:
            raise ValueError("schema is given beside Microdata, which have their own")
    else:
        data = Microdata.from_frame(data, schema)
    if not len(data):
        raise ValueError("the table has no records; it must have one or more")
    draws = sample_posterior(data.codes, data.schema.n_levels, chains, weights=weights, rng=rng)
    return Fitted(data.schema, len(data), draws)


@dataclass(frozen=True, eq=False)
class Mixture:
    """The DPMPM as a synthesizer that is fitted anew to each table and releases one.

    Its density has no closed form; `srlib.risk.posterior_risk` estimates it by chains where no
    synthesizer is given.

    Parameters
    ----------
    n_levels : (n_variables,) int
        Number of levels of each variable.
    chains : Chains
        Settings of the chains and the model's prior.
    """

    n_levels: NDArray[np.integer]
    chains: Chains = CHAINS

    def release(self, data: NDArray[np.integer], *, rng: np.random.Generator) -> NDArray[np.uint8]:
        """Draw as many records as the data have, which takes chains for each release."""
        draws = sample_posterior(data, self.n_levels, self.chains, rng=rng)
        return draws.release(1, len(data), rng=rng)[0]
