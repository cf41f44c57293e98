"""Repeated unique: one unique record released more often than in a fresh sample.

How often a fresh sample repeats a sample unique depends on how many similar people
there are. Counts of equal records in regions of similar density, measured by the
records that differ in one variable, follow Fisher's log series (Fisher, Corbet and
Williams 1943, Journal of Animal Ecology 12, 42-58): a count is j with a probability
proportional to x^j / j. Values that occur once then occur k times or more in a fresh
sample of r times the size with probability (r x / (1 + r x))^k.
"""

import numpy as np
import scipy  # loads optimize where it is first asked for
from scipy import special

from srlib.arrays import Bools, Floats, Ints
from srlib.assessment.counts import Row, new_row
from srlib.assessment.z_scores import bonferroni_z, deviate

FEWEST_GROUPS = 20  # of equal records for a log series; below, denser strata are added


def most_repeated_unique(
    o: Ints, s: Ints, neighbors_original: Ints, neighbors_released: Ints
) -> Row:
    """Find the sample unique that is released improbably often for a fresh sample.

    A coarse synthesizer repeats many records. So the repetitions are also compared with
    those of released records that are not in the original, and the larger probability
    counts. There is no sign if the release repeats another record of similar density,
    not a sample unique, as often.

    Parameters
    ----------
    o, s : (n_groups,) int
        Numbers of original and of released records in each group of equal records.
    neighbors_original, neighbors_released : (n_groups,) int
        Numbers of records in each file that differ from the group in exactly one
        variable.

    Returns
    -------
    Row
        The share of the release that repeats the record, and the expected share; z is
        corrected for the number of sample uniques.
    """
    m = s.sum()
    n_unique = (o == 1).sum()
    row = new_row(
        "repeated unique",
        n_unique,
        detail="one unique record",
        baseline_kind="fresh sample",
    )
    is_repeated = (o == 1) & (s > 1)
    if not is_repeated.any():
        return row
    times = s[is_repeated]
    density = _density(neighbors_original)
    x = m / o.sum() * _series(o, density)[density[is_repeated]]
    by_release = _log_tail_by_release(o, s, _density(neighbors_released), is_repeated)
    log_tail = np.fmax(times * np.log(x / (1 + x)), by_release)
    worst = log_tail.argmin()
    return row | {
        "detail": f"one unique record, {times[worst]} times",
        "estimate": times[worst] / m,
        "baseline": x[worst] / m,
        "z": bonferroni_z(deviate(log_tail[worst]), n_unique),
    }


def _log_tail_by_release(o: Ints, s: Ints, density: Ints, is_asked: Bools) -> Floats:
    """Return the log probability that the release repeats groups so often, (n_asked,).

    It is 0 where it repeats another record of this density as often.
    """
    times = s[is_asked]
    strata = density[is_asked]
    not_original = s * (o == 0)
    own = _series(not_original, density)[strata]
    most = np.zeros(density.max() + 1, int)  # (n_strata,)
    np.maximum.at(most, density, s * (o != 1))
    return np.where(most[strata] >= times, 0.0, _log_tail(times, own))


def _series(counts: Ints, density: Ints) -> Floats:
    """Return x of the log series of counts in each stratum of density, (n_strata,).

    It is 1 where nothing is known: all counts are then equally probable.
    """
    n_groups = np.bincount(density, counts > 0)  # (n_strata,)
    n_records = np.bincount(density, counts)
    series = np.ones(len(n_groups))
    for stratum in range(len(series)):
        groups = n_groups[stratum:].cumsum()
        records = n_records[stratum:].cumsum()
        enough = min(FEWEST_GROUPS, groups[-1])
        if enough:
            last = np.searchsorted(groups, enough)
            series[stratum] = _log_series((records[last] + 1) / groups[last])
    return series


def _log_tail(k: Ints, x: Floats) -> Floats:
    """Return the log probability of k or more in a log series; 0 where x is 1."""
    inside = np.minimum(x, 1 - 1e-12)
    tail = special.hyp2f1(1, k, k + 1, inside) / k / -np.log1p(-inside)
    return np.where(x < 1, k * np.log(inside) + np.log(tail), 0.0)


def _density(neighbors: Ints) -> Ints:
    """Return the stratum of a number of neighbors: 0, 1, 2 to 3, 4 to 7, and so on."""
    return np.ceil(np.log2(neighbors + 1)).astype(int)


def _log_series(mean: float) -> float:
    """Return the x of the log series with a mean above one."""
    return scipy.optimize.brentq(
        lambda x: -x / ((1 - x) * np.log1p(-x)) - mean, 1e-12, 1 - 1e-12
    )
