"""The table of log p(output | data set) and how it is read.

A row is a possible confidential data set, a column a possible release. Statistical disclosure
risk reads one column, the release that happened, by Bayes' rule over the rows that the intruder
holds possible.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp


def posterior(
    log_likelihood: NDArray[np.float64], log_prior: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Intruder's posterior over the data sets held possible, from one column of the table.

    Parameters
    ----------
    log_likelihood : (..., n_rows) float
        log p(release | row), up to a constant for each leading index.
    log_prior : (..., n_rows) float, optional
        Log prior probabilities of the rows, up to a constant; uniform if not given.

    Returns
    -------
    (..., n_rows) float64
        Log posterior probabilities; their exponentials sum to one over the last axis.

    Raises
    ------
    ValueError
        If no row of some column has a positive posterior probability.

    References
    ----------
    McClure and Reiter (2012), equation 2; Hu, Reiter and Wang (2014), equation 9.
    """
    joint = np.asarray(log_likelihood) + np.asarray(log_prior)
    evidence = logsumexp(joint, axis=-1, keepdims=True)
    if not np.isfinite(evidence).all():
        raise ValueError(
            "log_likelihood + log_prior leaves no row possible for some release; at least one "
            "row needs a finite sum, and none may be infinite"
        )
    return joint - evidence


def rank(log_posterior: NDArray[np.float64], row: int = 0) -> NDArray[np.float64]:
    """Rank of one row among all by posterior probability, 1 for the most probable.

    Rows that tie share the mean of their ranks.

    Parameters
    ----------
    log_posterior : (..., n_rows) float
        Log posterior probabilities.
    row : int
        The row that is ranked.
    """
    of_row = log_posterior[..., row, None]
    above = (log_posterior > of_row).sum(axis=-1)
    ties = (log_posterior == of_row).sum(axis=-1) - 1
    return 1.0 + above + ties / 2.0
