"""The intruder's posterior: Bayes' rule in the column of the observed release."""

import numpy as np
from scipy.special import expit, logit, logsumexp

from srlib import checks
from srlib.arrays import ArrayLike, Floats
from srlib.mechanism.core import Mechanism
from srlib.mechanism.privacy import privacy_loss


def posterior(log_likelihood: Floats, log_prior: ArrayLike = 0.0) -> Floats:
    """Return the intruder's log posterior over the possible data sets.

    Parameters
    ----------
    log_likelihood : (..., n_rows) float
        Columns of the table: log p(release | row), up to a constant for each leading
        index.
    log_prior : (..., n_rows) float, optional
        Log prior probabilities of the rows, up to a constant; uniform if not given.

    Returns
    -------
    (..., n_rows) float64
        Log posterior probabilities; their exponentials sum to one over the last axis.

    Raises
    ------
    ValueError
        If a release is impossible under every row with positive prior probability.

    References
    ----------
    McClure and Reiter (2012), equation 2; Hu, Reiter and Wang (2014), equation 9.

    Examples
    --------
    >>> log_likelihood = np.log([[0.9, 0.1]])  # one release, two data sets
    >>> np.exp(posterior(log_likelihood, np.log([0.1, 0.9]))).round(2)
    array([[0.5, 0.5]])
    """
    joint = np.add(log_likelihood, log_prior)
    evidence = logsumexp(joint, axis=-1, keepdims=True)
    if not np.isfinite(evidence).all():
        raise ValueError(
            "log_likelihood + log_prior is -inf for every row of some release, or "
            "infinite; at least one row must have a finite sum"
        )
    return joint - evidence


def rank(log_posterior: Floats) -> Floats:
    """Return the rank of the first row by posterior probability, 1 for the largest.

    The posterior has shape (..., n_rows). Tied rows share the mean of their ranks.
    """
    row_posterior = log_posterior[..., :1]
    n_above = (log_posterior > row_posterior).sum(axis=-1)
    n_tied = (log_posterior == row_posterior).sum(axis=-1) - 1
    return 1.0 + n_above + n_tied / 2.0


def posterior_bound(epsilon: ArrayLike, prior: ArrayLike) -> Floats:
    """Return the bound that epsilon puts on the posterior of the true value.

    The intruder knows all other records. With prior probability p of the true value the
    bound is p exp(epsilon) / (1 - p + p exp(epsilon)). Epsilon may be infinite.
    """
    checks.at_least(0, epsilon=epsilon)
    bound = posterior_from_log_ratio(epsilon, prior)
    return np.maximum(bound, prior)  # rounding could put it below the prior


def posterior_from_log_ratio(log_ratio: ArrayLike, prior: ArrayLike) -> Floats:
    """Return the posterior probability of the true value against one alternative.

    The log ratio compares the release's probability under the true value with that
    under the alternative. A prior of 0 or 1 does not change.
    """
    checks.within(0, 1, prior=prior)
    log_odds = logit(prior)
    with np.errstate(invalid="ignore"):
        risk = expit(np.add(log_ratio, log_odds))
    return np.where(np.isinf(log_odds), prior, risk)[()]  # a scalar for scalars


def risk(
    mechanism: Mechanism,
    true_row: int,
    alternative_row: int,
    prior: float,
) -> Floats:
    """Return the posterior probability of the true data set for each release.

    This is R of McClure and Reiter (2012), equation 5; divided by the prior it is RR,
    equation 8. `true_row` and `alternative_row` are the data with the record's true
    value and with another. The result has shape (n_outputs,).
    """
    log_ratio = privacy_loss(mechanism, true_row, alternative_row)
    return posterior_from_log_ratio(log_ratio, prior)
