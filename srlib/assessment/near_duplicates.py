"""Near-duplicates: released records nearer to original ones than a fresh sample's.

The nearest neighbors of a record are the records of both files that agree with it in
most variables. If the release is a fresh sample, the nearest neighbors of a record
without duplicates lie in the other file as often as after a random split of both files.
A record that was copied with some values changed has its nearest neighbor in the other
file, however many values were changed, as long as other people's records are farther
away.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from srlib.arrays import Bools, Floats, Ints, evenly_spaced
from srlib.assessment.counts import Row, binomial_se, new_row
from srlib.assessment.files import Files
from srlib.assessment.z_scores import Edges, bonferroni_z, crossing_z
from srlib.data.codes import Codes

FEWEST_NEAR = 10  # records with neighbors at a distance, for it to be tested
CLEAR = 3.3  # least z of a distance to be shown
DIFFERENT = 0.05  # least difference of its shares
LEAST_ALIKE = 0.5  # least share of equal values of a near-duplicate
MOST_COMPARED = 2_000_000_000  # compared values; larger files are thinned
FEWEST_ASKED = 400  # records, however large the files are
_AT_ONCE = 8_000_000  # pairs of records in memory


class _Neighbors(NamedTuple):
    """Nearest neighbors of groups of equal records.

    `asked` are the groups, and `alike_original` is the number of variables in which
    each agrees with its nearest other group that has original records, (n_asked,).
    Edges lead from groups of a single record to all their nearest groups, which agree
    with them in `alike` variables: `alike`, `source`, `target`, `weight`, (n_edges,).
    """

    asked: Ints
    alike_original: Ints
    alike: Ints
    source: Ints
    target: Ints
    weight: Floats


class _Distance(NamedTuple):
    """Records that agree with their nearest neighbors in some number of variables.

    `z` is the excess of nearest neighbors in the other file over a random split. A row
    shows of it the `shares` of released and of original records with an original one
    so near, which have a `difference`, and one in standard errors (`significance`); or
    the share of original records among the `neighbors` of released ones.
    """

    z: float
    difference: float
    significance: float
    shares: Row
    neighbors: Row


def find_near_duplicates(
    original: Codes,
    released: Codes,
    n_levels: Sequence[int],
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
    size = min(len(original), len(released))
    files = Files(
        evenly_spaced(original, size), evenly_spaced(released, size), n_levels
    )
    cells = files.cells()
    groups = np.concatenate(files.tables)[cells.first]
    row = new_row(
        "near-duplicates",
        len(released),
        detail="have an original record as nearest neighbor",
        baseline_kind="fresh sample",
    )
    distances = _distances(groups, cells.n_original, cells.n_released)
    return row | _most_telling(distances) if distances else row


def _most_telling(distances: Sequence[_Distance]) -> Row:
    """Return what the row shows: z of the clearest distance, and the shares of one."""
    n_tests = len(distances)
    clearest = max(distances, key=lambda distance: distance.z)
    row = {"z_permutation": bonferroni_z(clearest.z, n_tests)}
    clear = [one for one in distances if bonferroni_z(one.z, n_tests) >= CLEAR]
    different = [one for one in clear if one.difference >= DIFFERENT]
    if different:
        return row | max(different, key=lambda distance: distance.significance).shares
    widest = (clear or [clearest])[0]  # the distance with the most records
    return row | widest.neighbors


def _distances(
    groups: Codes,
    o: Ints,
    s: Ints,
) -> list[_Distance]:
    """Return all distances at which enough records have neighbors, the widest first."""
    n_variables = groups.shape[1]
    near = _nearest(groups, o, s)
    to_nearest = Edges(near.source, near.target, near.weight)
    distances = []
    for least in range(int(np.ceil(LEAST_ALIKE * n_variables)), n_variables):
        edges = to_nearest.where(near.alike >= least)
        if len(np.unique(edges.source)) < FEWEST_NEAR:
            continue
        share, se = _share_near(near, s, o > 0, least)
        baseline, baseline_se = _share_near(near, o, o > 1, least)
        shares = {
            "detail": f"share {least} or more of {n_variables} values with an original "
            "record",
            "estimate": share,
            "se": se,
            "baseline": baseline,
            "baseline_se": baseline_se,
        }
        z = crossing_z(edges, o, s)
        difference = share - baseline
        significance = difference / max(np.hypot(se, baseline_se), 1e-12)
        neighbors = _original_neighbors(edges, o, s)
        distances.append(_Distance(z, difference, significance, shares, neighbors))
    return distances


def _share_near(
    near: _Neighbors, records: Ints, has_equal: Bools, least: int
) -> tuple[float, float]:
    """Return the share of a file's records so near to an original one, and its se."""
    is_near = has_equal[near.asked] | (near.alike_original >= least)
    counted = records[near.asked]
    n_counted = int(counted.sum()) or 1
    share = (counted * is_near).sum() / n_counted
    return share, binomial_se(share, n_counted)


def _original_neighbors(
    edges: Edges,
    o: Ints,
    s: Ints,
) -> Row:
    """Return the share of original records among the neighbors of released ones."""
    of_release = edges.where(s[edges.source] > 0)
    to_original = (of_release.weight * o[of_release.target]).sum()
    total = (of_release.weight * (o + s)[of_release.target]).sum()
    return {
        "n": len(np.unique(of_release.source)),
        "estimate": to_original / max(total, 1),
        "baseline": o.sum() / (o.sum() + s.sum() - 1),
    }


def _nearest(
    groups: Codes,
    o: Ints,
    s: Ints,
) -> _Neighbors:
    """Find the nearest other groups of all groups, or of evenly spaced ones."""
    n_groups = len(groups)
    most = max(MOST_COMPARED // groups.size, FEWEST_ASKED)
    asked = evenly_spaced(np.arange(n_groups), most)
    n_parts = -(-len(asked) * n_groups // _AT_ONCE)
    columns = np.ascontiguousarray(groups.T)
    parts = [
        _nearest_of(part, columns, o, s) for part in np.array_split(asked, n_parts)
    ]
    return _Neighbors(*map(np.concatenate, zip(*parts, strict=True)))


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
    most_agree = n_agree.max(axis=1)  # (n_asked,)
    most_original = n_agree[:, o > 0].max(axis=1, initial=0)
    is_nearest = n_agree == most_agree[:, None]
    is_far = most_agree < LEAST_ALIKE * n_variables
    is_nearest[(n_records[asked] > 1) | is_far] = False
    source, target = np.nonzero(is_nearest)
    weight = 1 / np.bincount(source, n_records[target])[source]
    alike = most_agree[source]
    return _Neighbors(asked, most_original, alike, asked[source], target, weight)
