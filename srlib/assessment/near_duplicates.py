"""Near-duplicates: released records nearer to original ones than a fresh sample's.

The nearest neighbors of a record are the records of both files that agree with it in
most variables. If the release is a fresh sample, the nearest neighbors of a record
without duplicates lie in the other file as often as after a random split of both files.
A record that was copied with some values changed has its nearest neighbor in the other
file, however many values were changed, as long as other people's records are farther
away.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from srlib.arrays import Bools, Ints
from srlib.assessment.counts import Row, cell_counts, cell_ids, new_row
from srlib.assessment.z_scores import Edges, bonferroni_z, crossing_z
from srlib.data.codes import Codes, Levels

FEWEST_NEAR = 10  # records with neighbors at a distance, for it to be tested
CLEAR = 3.3  # least z of a distance to be shown
DIFFERENT = 0.05  # least difference of its shares
LEAST_ALIKE = 0.5  # least share of equal values of a near-duplicate
MOST_COMPARED = 2_000_000_000  # compared values; larger files are thinned
FEWEST_ASKED = 400  # records, however large the files are
_AT_ONCE = 8_000_000  # pairs of records in memory


class _Neighbors(NamedTuple):
    """Nearest neighbors of groups of equal records, (n_asked,) each but the edges.

    `asked` are the groups; `alike` is the number of variables in which each agrees with
    its nearest other group, and `alike_original` with its nearest other group that has
    original records. `edges` lead from groups of a single record to all their nearest
    groups.
    """

    asked: Ints
    alike: Ints
    alike_original: Ints
    edges: Edges


def find_near_duplicates(
    original: Codes,
    released: Codes,
    n_levels: Levels,
) -> Row:
    """Test for near-duplicates at every distance.

    The larger file is thinned to the size of the smaller: with equal sizes, no release
    without copies has more nearest neighbors in the other file than a fresh sample.

    Returns
    -------
    Row
        `z_permutation` is the excess of nearest neighbors in the other file over a
        random split, the largest of all distances, corrected for their number. Among
        the clear distances, the row shows the one where the share of released records
        that agree with an original record differs most significantly from that of the
        original records; where these shares are similar, as in a dense table, the share
        of the released records' nearest neighbors that are original.
    """
    n_variables = original.shape[1]
    size = min(len(original), len(released))
    both = np.concatenate([_thinned(original, size), _thinned(released, size)])
    (cell,) = cell_ids(range(n_variables), n_levels, both)
    groups = both[np.unique(cell, return_index=True)[1]]
    o, s = cell_counts(cell[:size], cell[size:])
    nowhere = "have an original record as nearest neighbor"
    row = new_row("near-duplicates", len(released), detail=nowhere)
    distances = _distances(groups, o, s) if len(groups) > 1 else []
    if not distances:
        return row

    n_tests = len(distances)
    clearest = max(distances, key=lambda distance: distance.z)
    row["z_permutation"] = bonferroni_z(clearest.z, n_tests)
    clear = [one for one in distances if bonferroni_z(one.z, n_tests) >= CLEAR]
    different = [one for one in clear if one.share - one.baseline >= DIFFERENT]
    if different:
        return row | max(different, key=_Distance.difference).shown(n_variables)
    widest = (clear or [clearest])[0]  # the distance with the most records
    return row | {
        "n": widest.n_asked,
        "estimate": widest.share_original,
        "baseline": size / (2 * size - 1),
    }


@dataclass(frozen=True)
class _Distance:
    """Records that agree with their nearest neighbors in `least` variables or more.

    `share` of the released and `baseline` of the original records have an original one
    so near. Of the `n_asked` released records without duplicates, `share_original` of
    the nearest neighbors are original; `z` is the excess over a random split.
    """

    least: int
    z: float
    n_asked: int
    share_original: float
    share: float
    se: float
    baseline: float
    baseline_se: float

    def shown(self, n_variables: int) -> Row:
        """Return what the row shows of the distance."""
        alike = f"{self.least} or more of {n_variables} values"
        return {
            "detail": f"share {alike} with an original record",
            "estimate": self.share,
            "se": self.se,
            "baseline": self.baseline,
            "baseline_se": self.baseline_se,
        }

    def difference(self) -> float:
        """Return the difference of the two shares in standard errors."""
        error = np.hypot(self.se, self.baseline_se)
        return float((self.share - self.baseline) / max(error, 1e-12))


def _distances(
    groups: Codes,
    o: Ints,
    s: Ints,
) -> list[_Distance]:
    """Return all distances at which enough records have neighbors, the widest first."""
    n_variables = groups.shape[1]
    near = _nearest(groups, o, s)
    alike = near.alike[np.searchsorted(near.asked, near.edges.source)]
    distances = []
    for least in range(int(np.ceil(LEAST_ALIKE * n_variables)), n_variables):
        edges = near.edges.where(alike >= least)
        if len(np.unique(edges.source)) >= FEWEST_NEAR:
            distances.append(_at_distance(least, near, edges, o, s))
    return distances


def _at_distance(
    least: int,
    near: _Neighbors,
    edges: Edges,
    o: Ints,
    s: Ints,
) -> _Distance:
    """Return z by the edges at one distance, and the shares of records at it."""
    share, se = _share_near(near, s, o > 0, least)
    baseline, baseline_se = _share_near(near, o, o > 1, least)
    of_release = edges.where(s[edges.source] > 0)
    to_original = (of_release.weight * o[of_release.target]).sum()
    total = (of_release.weight * (o + s)[of_release.target]).sum()
    return _Distance(
        least,
        z=crossing_z(edges, o, s),
        n_asked=len(np.unique(of_release.source)),
        share_original=float(to_original / max(total, 1)),
        share=share,
        se=se,
        baseline=baseline,
        baseline_se=baseline_se,
    )


def _thinned(table: Codes, size: int) -> Codes:
    """Return evenly spaced rows."""
    return table[np.linspace(0, len(table) - 1, size).astype(int)]


def _nearest(
    groups: Codes,
    o: Ints,
    s: Ints,
) -> _Neighbors:
    """Find the nearest other groups of all groups, or of evenly spaced ones."""
    n_groups, n_variables = groups.shape
    most = max(MOST_COMPARED // (n_groups * n_variables), FEWEST_ASKED)
    asked = np.linspace(0, n_groups - 1, min(most, n_groups)).astype(int)
    n_parts = -(-len(asked) * n_groups // _AT_ONCE)
    columns = np.ascontiguousarray(groups.T)
    parts = np.array_split(asked, n_parts)
    found = [_nearest_of(part, columns, o, s) for part in parts]
    edges = zip(*(one.edges for one in found), strict=True)
    return _Neighbors(
        asked,
        np.concatenate([one.alike for one in found]),
        np.concatenate([one.alike_original for one in found]),
        Edges(*map(np.concatenate, edges)),
    )


def _nearest_of(
    asked: Ints,
    columns: Codes,
    o: Ints,
    s: Ints,
) -> _Neighbors:
    """Find the nearest other groups of some groups; values are given by column."""
    n_variables, n_groups = columns.shape
    n_records = o + s
    n_agree = np.zeros((len(asked), n_groups), np.min_scalar_type(n_variables))
    for column in columns:
        n_agree += column[asked, None] == column
    n_agree[np.arange(len(asked)), asked] = 0
    most_agree = n_agree.max(axis=1).astype(int)
    most_original = n_agree[:, o > 0].max(axis=1, initial=0).astype(int)
    is_nearest = n_agree == most_agree[:, None]
    is_far = most_agree < LEAST_ALIKE * n_variables
    is_nearest[(n_records[asked] > 1) | is_far] = False
    source, target = np.nonzero(is_nearest)
    weight = 1 / np.bincount(source, n_records[target], len(asked))[source]
    edges = Edges(asked[source], target, weight)
    return _Neighbors(asked, most_agree, most_original, edges)


def _share_near(
    near: _Neighbors, records: Ints, has_equal: Bools, least: int
) -> tuple[float, float]:
    """Return the share of a file's records so near to an original one, and its se."""
    is_near = has_equal[near.asked] | (near.alike_original >= least)
    counted = records[near.asked]
    n_counted = max(int(counted.sum()), 1)
    share = float((counted * is_near).sum() / n_counted)
    return share, float(np.sqrt(share * (1 - share) / n_counted))
