"""Who carries the risk after some records have been repaired."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ERRORS = 2.0
"""Standard errors from which on a record's risk is said to rise or to fall."""


def who_carries(
    before: NDArray[np.floating],
    after: NDArray[np.floating],
    repaired: NDArray[np.bool_],
    limit: float,
) -> pd.DataFrame:
    """Compare risks before a repair and after it, of the repaired records and of all others.

    Publications before and after are independent. A group's mean risk has its error from between
    publications. A record's risk rises or falls where its expectation changes by more than
    `ERRORS` of its own errors; by chance some do, the more the fewer publications there are.

    Parameters
    ----------
    before, after : (n_publications, n) float
        Risk of each record after each publication, two of these or more.
    repaired : (n,) bool
        The records that were repaired.
    limit : float
        Risks above it are counted.

    Returns
    -------
    DataFrame
        Indexed by the records, repaired and others: records, before and after (mean risks) and
        change, each with its standard error (_se); moved, the mean square of the changes in
        expected risk, less what the errors add to it, and moved_se, its standard error from between
        records (which share the publications); rise and fall, shares of the records; above_before
        and above_after, shares of the records whose expected risk exceeds the limit. NaN for no
        records.

    Raises
    ------
    ValueError
        If the arrays do not fit together or there are fewer than two publications.
    """
    for name, values in (("before", before), ("after", after)):
        if values.ndim != 2 or len(values) < 2 or values.shape[1:] != repaired.shape:
            raise ValueError(
                f"{name} has shape {values.shape}; it must have two rows or more, and "
                f"{len(repaired)} columns"
            )
    change = after.mean(axis=0) - before.mean(axis=0)
    error = np.hypot(*(v.std(axis=0, ddof=1) / np.sqrt(len(v)) for v in (before, after)))
    squares = change**2 - error**2
    rows: dict[str, dict[str, float]] = {}
    for name, some in (("repaired", repaired), ("others", ~repaired)):
        if not some.any():
            rows[name] = {"records": 0}
            continue
        (low, low_se), (high, high_se) = (
            mean_with_error(v[:, some].mean(axis=1)) for v in (before, after)
        )
        rows[name] = {
            "records": int(some.sum()),
            "before": low, "before_se": low_se, "after": high, "after_se": high_se,
            "change": high - low, "change_se": float(np.hypot(low_se, high_se)),
            "moved": float(squares[some].mean()),
            "moved_se": float(squares[some].std() / np.sqrt(max(1, int(some.sum()) - 1))),
            "rise": float((change > ERRORS * error)[some].mean()),
            "fall": float((change < -ERRORS * error)[some].mean()),
            "above_before": float((before.mean(axis=0) > limit)[some].mean()),
            "above_after": float((after.mean(axis=0) > limit)[some].mean()),
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


def mean_with_error(values: NDArray[np.floating]) -> tuple[float, float]:
    """Return the mean over publications, two or more, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
