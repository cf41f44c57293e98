"""Privacy losses of a table of counts and of bins, for `calibration_losses`.

The rows of the table are X = 0 to n ones in the data, and a record that changes moves X by one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import checks
from srlib.mechanism import edp
from srlib.mechanism.core import Mechanism
from srlib.mechanism.privacy import privacy_loss

# From a count of ones and a number of records to the posterior of the share of ones.
Posterior = Callable[[int, int], Any]


def changed_count(n: int) -> NDArray[np.int64]:
    """The count of ones with the record at risk changed, for X = 0 to n, (n + 1,).

    X - 1, because the record has a one; for X = 0 it has none, and the other count is 1.

    References
    ----------
    McClure and Reiter (2012), section 3.1.
    """
    checks.at_least(1, n=n)
    return np.append(1, np.arange(n))


def neighbors(x: int, n: int) -> list[int]:
    """Counts of ones that one changed record makes of x, that of the record at risk first."""
    checks.within(0, n, x=x)
    first = int(changed_count(n)[x])
    return [first, *(k for k in (x - 1, x + 1) if 0 <= k <= n and k != first)]


def losses(table: Mechanism, x: int) -> pd.DataFrame:
    """Privacy loss of each release from one data set, against each of its neighbors.

    Returns
    -------
    DataFrame
        neighbor (text, such as ``"X = 0"``), release, loss and probability given the data.
    """
    columns = np.arange(table.n_outputs)
    frames = [
        pd.DataFrame(
            {
                "neighbor": f"X = {k}",
                "release": columns,
                "loss": privacy_loss(table, x, k),
                "probability": np.exp(table.row(x)),
            }
        )
        for k in neighbors(x, table.n_inputs - 1)
    ]
    return pd.concat(frames, ignore_index=True)


def bin_losses(posterior: Posterior, x: int, n: int, bins: int) -> pd.DataFrame:
    """Privacy loss of each bin of one posterior draw, against each neighbor of the data.

    Parameters
    ----------
    posterior : callable
        From (ones, records) to the posterior of the share of ones.
    x, n : int
        Ones in the data, and records.
    bins : int
        2 or more; each has probability 1 / bins given the data.

    Returns
    -------
    DataFrame
        neighbor (text), bin (from 0) and loss. The largest absolute loss is EDP.
    """
    edges = edp.equal_bins(posterior(x, n), bins)
    frames = [
        pd.DataFrame(
            {
                "neighbor": f"X = {k}",
                "bin": np.arange(bins),
                "loss": -np.log(bins) - edp.log_bin_probabilities(posterior(k, n), edges),
            }
        )
        for k in neighbors(x, n)
    ]
    return pd.concat(frames, ignore_index=True)
