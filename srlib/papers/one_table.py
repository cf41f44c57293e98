"""Both readings of a table of counts side by side, as data frames and numbers.

The rows of the table are X = 0 to n ones in the data, and a record that changes moves X by one.
The record at risk has a one, unless the data hold none: the intruder, who knows all other records,
compares the row of the data with the row next to it.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import checks
from srlib.mechanism import bayes
from srlib.mechanism.core import Mechanism
from srlib.mechanism.privacy import conditional_epsilon, exact_epsilon


def changed_count(n: int) -> NDArray[np.int64]:
    """The count of ones with the record at risk changed, for X = 0 to n, (n + 1,).

    X - 1, because the record has a one; for X = 0 it has none, and the other count is 1.

    References
    ----------
    McClure and Reiter (2012), section 3.1.
    """
    checks.at_least(1, n=n)
    return np.append(1, np.arange(n))


def entries(table: Mechanism) -> pd.DataFrame:
    """All entries of a table of counts, with both readings of each.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes; columns releases.

    Returns
    -------
    DataFrame
        One row an entry: x, release (positions); log_prob; log_ratio, log_prob less that of the
        data with the record at risk changed; attains, whether this row and the next one attain the
        exact epsilon in this column; conditional_epsilon, of the row; exact_epsilon, of the table.
    """
    n = table.n_inputs - 1
    log_prob = table.block(np.arange(n + 1), np.arange(table.n_outputs))
    log_ratio = log_prob - log_prob[changed_count(n)]
    exact = exact_epsilon(table).value
    step = np.abs(np.diff(log_prob, axis=0))
    attains = np.zeros(log_prob.shape, dtype=bool)
    attains[:n] = step >= exact * (1 - 1e-9)
    x, release = np.indices(log_prob.shape)
    conditional = conditional_epsilon(table)[x]
    columns = {
        "x": x,
        "release": release,
        "log_prob": log_prob,
        "log_ratio": log_ratio,
        "attains": attains,
        "conditional_epsilon": conditional,
    }
    frame = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    return frame.assign(exact_epsilon=exact)


def both(table: Mechanism, x: int, prior: float) -> dict[str, float]:
    """Read one data set both ways.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes; columns releases.
    x : int
        Ones in the data, 0 to n.
    prior : float
        The intruder's prior probability of the record's true value, in [0, 1].

    Returns
    -------
    dict
        exact_epsilon and conditional_epsilon; largest_posterior, of the truth over all releases;
        expected_posterior, over the releases from these data; expected_increase, of the posterior
        over the prior, falls not counted.

    Raises
    ------
    ValueError
        If there is no such row, or the prior is no probability.

    References
    ----------
    McClure and Reiter (2012), equations 1, 5 and 6; Charest and Han, section 3.
    """
    n = table.n_inputs - 1
    checks.within(0, n, x=x)
    other = int(changed_count(n)[x])
    risk = bayes.risk(table, x, other, prior)
    return {
        "exact_epsilon": exact_epsilon(table).value,
        "conditional_epsilon": float(conditional_epsilon(table)[x]),
        "largest_posterior": float(risk.max()),
        "expected_posterior": float(np.exp(table.row(x)) @ risk),
        "expected_increase": bayes.expected_increase(table, [x], [other], prior, [1.0]),
    }
