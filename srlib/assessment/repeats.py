"""One person's record released many times, beside how often a fresh sample would have it.

How often a fresh sample has the values of a person who is unique in a file depends on how many
others are of the same kind. Counts of equal records whose places are settled as densely, by
records that differ in one variable, have Fisher's log series (Fisher, Corbet and Williams 1943,
Journal of Animal Ecology 12, 42-58): where their mean is -x / ((1 - x) log(1 - x)), values that
occur once occur k times or more in a fresh sample of r times the size with probability
(r x / (1 + r x))^k.
"""

import numpy as np
from scipy import optimize

from srlib.assessment.counting import Floats, Ints, Row, answer
from srlib.assessment.deviates import deviate, largest_of

FEWEST_GROUPS = 20  # of equal records that a log series is fitted to, or denser places join them


def most_repeated(o: Ints, s: Ints, neighbors_original: Ints, neighbors_released: Ints) -> Row:
    """Find the unique person whose record is released more often than a fresh sample would have it.

    A rough generator has many equal records of anybody's kind. So a person's are held against the
    released records that are nobody's as well, and what makes them more probable counts.

    Parameters
    ----------
    o, s : (n_groups,) int
        Original and released records of each group of equal ones.
    neighbors_original, neighbors_released : (n_groups,) int
        Records of each file that differ from the group in exactly one variable.

    Returns
    -------
    Row
        The person's share of the release, beside the expected one; z is the deviate of the largest
        of all unique persons.
    """
    n, m, n_unique = int(o.sum()), int(s.sum()), int((o == 1).sum())
    row = answer("multiplicity", "one unique person", n_unique)
    repeated = (o == 1) & (s > 1)
    if not repeated.any():
        return row
    times = s[repeated]
    of_nobody = np.where(o == 0, s, 0)
    ratio = np.fmax(
        _ratios(o, neighbors_original, neighbors_original[repeated], m / n),
        _ratios(of_nobody, neighbors_released, neighbors_released[repeated], 1.0),
    )
    log_tail = times * np.log(ratio)
    worst = int(log_tail.argmin())
    expected = ratio[worst] / (1 - ratio[worst]) if ratio[worst] < 1 else times[worst]
    return row | {
        "about": f"one unique person, {times[worst]} times",
        "value": float(times[worst] / m),
        "baseline": float(expected / m),
        "z": largest_of(deviate(log_tail[worst]), n_unique),
    }


def _ratios(counts: Ints, neighbors: Ints, where: Ints, larger: float) -> Floats:
    """Ratio of the geometric law of counts at places with so many neighbors, (n_places,).

    1 where nothing is known: any count is then as probable as another.
    """
    occurring = counts > 0
    density, counts = _density(neighbors[occurring]), counts[occurring]
    ratios = np.ones(len(where))
    for stratum in np.unique(_density(where)):
        highest = stratum
        while np.count_nonzero((density >= stratum) & (density <= highest)) < FEWEST_GROUPS:
            if highest >= density.max(initial=0):
                break
            highest += 1
        some = counts[(density >= stratum) & (density <= highest)]
        if len(some):
            x = _log_series((some.sum() + 1) / len(some))
            ratios[_density(where) == stratum] = larger * x / (1 + larger * x)
    return ratios


def _density(neighbors: Ints) -> Ints:
    """Number the powers of two that numbers of neighbors lie between: 0, 1, 2 to 3, 4 to 7."""
    return np.ceil(np.log2(neighbors + 1)).astype(int)


def _log_series(mean: float) -> float:
    """Return the x of the log series with a mean above one."""

    def excess(x: float) -> float:
        return float(-x / ((1 - x) * np.log1p(-x)) - mean)

    return float(optimize.brentq(excess, 1e-12, 1 - 1e-12))
