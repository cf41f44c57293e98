"""Sets of releases: of R releases worked through, any m of them cost a sum."""

from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from srlib import checks


def sets_of_releases(
    n_releases: int, size: int, most: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return sets of releases: all there are, or a random sample of different ones.

    Parameters
    ----------
    n_releases, size : int
        Releases, and how many make a set; 1 or more, and no more than there are.
    most : int
        Sets wanted at most.
    rng : numpy.random.Generator
        Draws the sample.

    Returns
    -------
    (n_sets, size) int64
        Positions of releases, in rising order within each set.
    """
    checks.within(1, n_releases, size=size)
    if comb(n_releases, size) <= most:
        return np.array(list(islice(combinations(range(n_releases), size), most)))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < most:
        found[tuple(sorted(rng.choice(n_releases, size, replace=False).tolist()))] = None
    return np.array(list(found))
