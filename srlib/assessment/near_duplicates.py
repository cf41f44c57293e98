"""Near-duplicates: released records closer to original records than those of a fresh sample.

The nearest neighbors of a record are the records of both files that agree with it in
most variables. If the release is a fresh sample, the nearest neighbors of a record
without duplicates lie in the other file as often as after a random split of both files.
A record that was copied with some values changed has its nearest neighbor in the other
file, however many values were changed, as long as other people's records are farther
away.
"""

from typing import Any, NamedTuple

import numpy as np

from srlib.assessment.counts import Bools, Ints, Row, cell_counts, cell_ids, new_row
from srlib.assessment.z_scores import Edges, bonferroni_z, crossing_z
from srlib.data.codes import Codes, Levels

FEWEST_NEAR = 10  # records with neighbors at a distance, for it to be tested
CLEAR, DIFFERENT = (
    3.3,
    0.05,
)  # least z and least difference of shares at a distance shown
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


def find_near_duplicates(original: Codes, released: Codes, n_levels: Levels) -> Row:
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
    n_variables, size = original.shape[1], min(len(original), len(released))
    both = np.concatenate([_thinned(original, size), _thinned(released, size)])
    (cell,) = cell_ids(range(n_variables), n_levels, both)
    groups = both[np.unique(cell, return_index=True)[1]]
    o, s = cell_counts(cell[:size], cell[size:])
    row = new_row(
        "near-duplicates",
        len(released),
        detail="have an original record as nearest neighbor",
    )
    if len(groups) < 2:
        return row
    near = _nearest(groups, o, s)
    alike = near.alike[np.searchsorted(near.asked, near.edges.source)]
    distances = []
    for least in range(int(np.ceil(LEAST_ALIKE * n_variables)), n_variables):
        edges = near.edges.where(alike >= least)
        if len(np.unique(edges.source)) >= FEWEST_NEAR:
            distances.append(_at_distance(least, near, edges, o, s))
    if not distances:
        return row
    clearest = max(distances, key=lambda one: one["z"])
    row["z_permutation"] = bonferroni_z(clearest["z"], len(distances))
    clear = [
        one for one in distances if bonferroni_z(one["z"], len(distances)) >= CLEAR
    ]
    apart = [one for one in clear if one["estimate"] - one["baseline"] >= DIFFERENT]
    if apart:
        plainest = max(apart, key=_difference)
        shown = ("estimate", "se", "baseline", "baseline_se")
        least = plainest["least"]
        row["detail"] = (
            f"share {least} or more of {n_variables} values with an original record"
        )
        return row | {name: plainest[name] for name in shown}
    widest = (clear or [clearest])[0]  # the distance with the most records
    return row | {
        "n": widest["asked"],
        "estimate": widest["across"],
        "baseline": size / (2 * size - 1),
    }


def _difference(distance: dict[str, Any]) -> float:
    """Return the difference of the two shares in standard errors."""
    error = np.hypot(distance["se"], distance["baseline_se"])
    return float((distance["estimate"] - distance["baseline"]) / max(error, 1e-12))


def _at_distance(
    least: int, near: _Neighbors, edges: Edges, o: Ints, s: Ints
) -> dict[str, Any]:
    """Return z by the edges at one distance, and the shares of records at it."""
    value, error = _share_near(near, s, o > 0, least)
    baseline, baseline_error = _share_near(near, o, o > 1, least)
    of_release = edges.where(s[edges.source] > 0)
    across = (of_release.weight * o[of_release.target]).sum()
    everything = (of_release.weight * (o + s)[of_release.target]).sum()
    return {
        "least": least,
        "z": crossing_z(edges, o, s),
        "asked": len(np.unique(of_release.source)),
        "across": float(across / max(everything, 1)),
        "estimate": value,
        "se": error,
        "baseline": baseline,
        "baseline_se": baseline_error,
    }


def _thinned(table: Codes, size: int) -> Codes:
    """Return evenly spaced rows."""
    return table[np.linspace(0, len(table) - 1, size).astype(int)]


def _nearest(groups: Codes, o: Ints, s: Ints) -> _Neighbors:
    """Find the nearest other groups of all, or of evenly spaced, groups of equal records."""
    n_groups, n_variables = groups.shape
    most = max(MOST_COMPARED // (n_groups * n_variables), FEWEST_ASKED)
    asked = np.linspace(0, n_groups - 1, min(most, n_groups)).astype(int)
    total, columns = o + s, np.ascontiguousarray(groups.T)
    alike, alike_original = np.zeros((2, len(asked)), int)
    found = []
    for part in np.array_split(
        np.arange(len(asked)), -(-len(asked) * n_groups // _AT_ONCE)
    ):
        some = asked[part]
        agree = np.zeros((len(some), n_groups), np.min_scalar_type(n_variables))
        for column in columns:
            agree += column[some, None] == column
        agree[np.arange(len(some)), some] = 0
        alike[part] = agree.max(axis=1)
        alike_original[part] = agree[:, o > 0].max(axis=1, initial=0)
        is_nearest = agree == alike[part, None]
        is_nearest[(total[some] > 1) | (alike[part] < LEAST_ALIKE * n_variables)] = (
            False
        )
        source, target = np.nonzero(is_nearest)
        weight = 1 / np.bincount(source, total[target], len(some))[source]
        found.append(Edges(some[source], target, weight))
    edges = Edges(*map(np.concatenate, zip(*found, strict=True)))
    return _Neighbors(asked, alike, alike_original, edges)


def _share_near(
    near: _Neighbors, records: Ints, has_equal: Bools, least: int
) -> tuple[float, float]:
    """Return the share of a file's records that are as near to an original one, and its se."""
    is_near = has_equal[near.asked] | (near.alike_original >= least)
    counted = records[near.asked]
    n_counted = max(int(counted.sum()), 1)
    share = float((counted * is_near).sum() / n_counted)
    return share, float(np.sqrt(share * (1 - share) / n_counted))
