"""Copies: released records identical to original ones, more than in a fresh sample.

If a release were a fresh sample of the population, the records of both files would be
exchangeable. A fresh record is identical to an original record with the probability
that an original record is identical to another (Good 1953, Biometrika 40, 237-264: one
minus the share of sample uniques), and equal records lie in the two files as after a
random split of both. Records in sparse regions, where two people are hardly ever
identical, weigh most. No model is used, and no threshold is estimated from the release.

Copies can go undetected: a synthesizer that is coarser than the population yields fewer
identical records than a fresh sample. So the release is also compared with itself: does
it contain records identical to original ones more often than duplicates of its own, at
the same density? That is a sign and no proof, since a synthesizer that distorts only
some of its records, or suppresses duplicates, does so without copies. The row
*undetected copies* bounds what remains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy  # loads stats, which take a second, where they are first asked for
from scipy import special

from srlib.arrays import Bools, Floats, Ints
from srlib.assessment.counts import (
    Row,
    binomial_se,
    clustered_se,
    counts_at,
    new_row,
    z_score,
)
from srlib.assessment.files import Cells, Files
from srlib.assessment.identity import share_matched_by_fresh_sample
from srlib.assessment.multiplicity import most_repeated_unique
from srlib.assessment.near_duplicates import find_near_duplicates
from srlib.assessment.z_scores import (
    beta,
    beta_binomial_z,
    permutation_z,
    split_odds,
    split_z,
)
from srlib.data.codes import Codes, row_numbers
from srlib.margins import chow_liu_tree, log_density, two_way_table

# Weight of a pair with k neighbors, log(1 + COPIED / (k + ITSELF)): the log of how much
# more often such a pair lies in different files if some records were copied. Set once;
# the test is exact for all weights that depend on both files symmetrically.
COPIED, ITSELF = 5.0, 0.5
COINCIDENCE = 1e-3  # equal tables at least this probable are a coincidence
ROWS = 20_000  # rows whose order is compared

# The original contains duplicates if they are at least this share of the records
# without neighbors, and at least this number of pairs.
DUPLICATES, FEWEST_DUPLICATES = 0.25, 10
# Expected pairs of equal records, if none is observed, from which on a file counts as
# deduplicated.
DEDUPLICATED = 10.0
# For the excess over own duplicates: parts of both files, strata of density, and what
# is added to the share found in a stratum, whose inverse is the stratum's weight.
PARTS, STRATA, RARELY = 10, 10, 0.005
LIMIT = 0.95  # confidence of the upper limit
IDENTICAL = "records identical to an original record"
_UNIQUE = "sample uniques on all variables"


class Copies(NamedTuple):
    """Released records that are copies of original records.

    Attributes
    ----------
    rows : dict of Row
        The rows of the table by question, with z NaN where nothing can be said.

        - *identical records*: the share of released records identical to an original
          record.
        - *copied uniques*: the estimated share of the sample uniques on all variables
          that was copied, beyond coincidence.
        - *undetected copies*: an upper 95 % limit of that share, with exact numbers, if
          all identical records were copies; or, where that is less, the larger of the
          limits of the excess over own duplicates and of the copied uniques. The
          baseline is the share of these sample uniques that a fresh sample matches.
        - *near-duplicates*: see `near_duplicates.find_near_duplicates`.
        - *repeated unique*: see `multiplicity.most_repeated_unique`.
        - *excess over own duplicates*: how much more often original records are found
          in the release than its own records of the same density.
        - *identical before binning*: the identical records with exact numbers.
        - *row order*: the share of values that agree with those of the original's row
          at the best offset between rows; the baseline is that at the second best.
    same_table : bool
        Whether both tables have the same records, and chance is an improbable
        explanation.
    baseline_problem : str
        Why the original does not show how often a fresh sample is identical to it:
        "duplicates" (equal records without neighbors), "deduplicated" (no equal records
        where many have neighbors; z is then NaN), or "".
    identical : (n,) bool
        Original records that are sample uniques and released.
    neighbors : (n,) int
        Numbers of records of both files that differ from each original record in one
        variable.
    """

    rows: dict[str, Row]
    same_table: bool
    baseline_problem: str
    identical: Bools
    neighbors: Ints


@dataclass(frozen=True)
class _Groups(Cells):
    """The groups of equal records of both files, and their neighbors.

    `neighbors`, (2, n_groups), are the numbers of original and of released records that
    differ from the group in exactly one variable.
    """

    neighbors: Ints

    @property
    def is_identical(self) -> Bools:
        """Sample uniques that are released, (n_groups,)."""
        return self.is_unique & (self.n_released > 0)

    @property
    def n_neighbors(self) -> Ints:
        """Neighbors in both files, (n_groups,)."""
        return self.neighbors.sum(axis=0)

    @property
    def weight(self) -> Floats:
        """Weights of the groups, larger in sparse regions, (n_groups,)."""
        return np.log1p(COPIED / (self.n_neighbors + ITSELF))


def copies(files: Files) -> Copies:
    r"""Count the released records that are copies, and those expected by coincidence.

    Let o and s be the numbers of original and of released records of a combination of
    values. With f_1 combinations with o = 1 and n records, a fresh record is identical
    to an original record with probability 1 - f_1 / n. The number of identical records
    is then beta-binomial, with the standard error of that estimate.

    Among the combinations with t = o + s > 1 records, those with o = 1 are compared
    with those in one file only, o = t or s = t. A random split yields the three with
    hypergeometric odds. Combinations have the weight log(1 + 5 / (k + 1/2)), with k the
    number of records of both files that differ from them in one variable. The copied
    share is the weight of the former, less their odds times the weight of the latter,
    over the weight of all sample uniques. Its tail is that of a weighted sum of
    independent Bernoulli variables, by a saddlepoint approximation, with and without s
    = t, since a coarse synthesizer has many duplicates of its own. The larger z counts.
    """
    groups = _group(files)
    exact = _exact(files, groups)
    in_original, in_release = groups.neighbors
    problem = _baseline_problem(groups, files.original, groups.n_original, in_original)
    release_problem = _baseline_problem(
        groups, files.released, groups.n_released, in_release
    )
    has_holdout = files.holdout is not None

    identical, copied_uniques, near = _compare_by_split(files, groups, problem)
    comparable = "deduplicated" not in (problem, release_problem)
    excess, at_most = _excess_over_own_duplicates(files, groups, comparable)
    if files.numbers:
        _, at_most = _excess_over_own_duplicates(files, exact, comparable)
    rows = [
        identical,
        copied_uniques,
        _undetected_copies(files, exact, at_most),
        near,
        most_repeated_unique(
            groups.n_original, groups.n_released, in_original, in_release
        ),
        excess,
        _identical_before_binning(files, comparable=not problem or has_holdout),
        row_order(files.original, files.released),
    ]
    group_of = groups.original
    return Copies(
        rows={row["question"]: row for row in rows},
        same_table=_is_same_table(files),
        baseline_problem="" if has_holdout else problem,
        identical=groups.is_identical[group_of],
        neighbors=groups.n_neighbors[group_of],
    )


def _compare_by_split(
    files: Files,
    groups: _Groups,
    problem: str,
) -> tuple[Row, Row, Row]:
    """Return the rows of identical records, copied uniques and near-duplicates.

    The first has the larger z by random split of the others.
    """
    identical = _identical_records(files, problem)
    copied_uniques = _copied_share(groups)
    near = find_near_duplicates(files.original, files.released, files.n_levels)
    if problem == "deduplicated":
        copied_uniques["z_permutation"] = np.nan
        near["z_permutation"] = np.nan
    identical["z_permutation"] = np.fmax(
        copied_uniques["z_permutation"], near["z_permutation"]
    )
    return identical, copied_uniques, near


def _identical_row(
    question: str, detail: str, cells: Cells, expected: "_DuplicateRate"
) -> Row:
    """Return the row of the released records identical to an original record."""
    m = len(cells.released)
    n_identical = int(cells.n_released[cells.n_original > 0].sum())
    return new_row(
        question,
        m,
        detail=detail,
        baseline_kind="fresh sample",
        estimate=n_identical / m,
        baseline=expected.share,
        baseline_se=expected.se,
        z=beta_binomial_z(n_identical, m, *expected.beta),
    )


def _identical_records(files: Files, problem: str) -> Row:
    """Return the row of the records identical to an original one, numbers binned."""
    expected = _expected_duplicate_rate(files, is_trusted=not problem)
    detail = f"{IDENTICAL}, numbers binned" if files.numbers else IDENTICAL
    row = _identical_row("identical records", detail, files.cells(), expected)
    row["se"] = binomial_se(row["estimate"], row["n"])
    if problem == "deduplicated" and files.holdout is None:
        row["z"] = np.nan
    return row


def _is_same_table(files: Files) -> bool:
    """Return whether both tables have the same records, and hardly by chance."""
    cells = files.cells()
    n = len(files.original)
    share = cells.n_original / n
    if np.array_equal(files.original, files.released):
        # The probability of a sample with the table's shares, in this order.
        chance = np.prod(share**cells.n_original)
    else:
        chance = scipy.stats.multinomial.pmf(cells.n_original, n, share)
    is_same = (cells.n_original == cells.n_released).all()
    return bool(is_same and chance < COINCIDENCE)


def _identical_before_binning(files: Files, comparable: bool) -> Row:
    """Return the row of the records identical to an original one in exact numbers."""
    cells = files.cells(exact=True)
    expected = _duplicate_rate(cells.n_original)
    row = _identical_row(
        "identical before binning", "numbers not binned", cells, expected
    )
    if files.numbers and comparable:
        row["z_permutation"] = permutation_z(cells.n_original, cells.n_released)
    return row


def _exact(files: Files, groups: _Groups) -> _Groups:
    """Return the groups of records with equal exact numbers, and their neighbors."""
    exact = files.cells(exact=True)
    neighbors = groups.neighbors[:, groups.in_files[exact.first]]
    return _Groups(exact.original, exact.released, exact.holdout, neighbors)


def _copied_share(groups: _Groups) -> Row:
    """Return the row of the share of sample uniques copied; NaN without uniques."""
    is_identical = groups.is_identical
    n_unique = int(groups.is_unique.sum())
    row = new_row("copied uniques", n_unique, detail=_UNIQUE, baseline=0.0)
    if not n_unique:
        return row
    weight = groups.weight
    total_weight = weight[groups.is_unique].sum()
    in_one_file, prob = split_odds(groups.n_original, groups.n_released, both=True)
    by_chance = in_one_file * prob / (1 - prob)
    excess = weight * np.where(is_identical, 1.0, -by_chance)
    copied, others = excess[is_identical], excess[~is_identical]
    share = (copied.sum() + others.sum()) / total_weight
    # If all sample uniques are copied, nothing is left to chance.
    variance = (copied**2).sum() * (1 - np.clip(share, 0, 1)) + (others**2).sum()
    z = [
        split_z(groups.n_original, groups.n_released, weight, both)
        for both in (True, False)
    ]
    return row | {
        "estimate": share,
        "se": np.sqrt(variance) / total_weight,
        "z_permutation": max(z),
    }


def _undetected_copies(
    files: Files,
    groups: _Groups,
    at_most: float,
) -> Row:
    """Return the row of the upper limit of the copied share; NaN without uniques.

    If all identical records were copies, their weighted number would be Poisson. The
    excess over own duplicates allows `at_most` a share, and no less than is found.
    """
    weight = groups.weight[groups.is_unique]
    row = new_row("undetected copies", len(weight), detail=_UNIQUE)
    if not len(weight):
        return row
    identical = groups.weight[groups.is_identical]
    mean = weight.mean()
    if len(identical):
        mean = (identical**2).sum() / identical.sum()
    n_identical = identical.sum() / mean
    limit = mean * scipy.stats.chi2.ppf(LIMIT, 2 * (n_identical + 1)) / 2
    copied = _copied_share(groups)
    found = copied["estimate"] + special.ndtri(LIMIT) * copied["se"]
    row["estimate"] = min(1.0, max(at_most, found), limit / weight.sum())
    row["baseline"] = share_matched_by_fresh_sample(files)
    return row


def _excess_over_own_duplicates(
    files: Files,
    groups: _Groups,
    comparable: bool,
) -> tuple[Row, float]:
    """Compare the original records found in the release with its own duplicates.

    A tenth of the original and a tenth of the release are taken, ten times. The records
    of both that are unique in their tenth are searched in the other nine tenths of the
    release, in strata of their log density in a tree of two-way tables (Chow and Liu
    1968) with the shares of these nine tenths. The score is the covariance of file and
    match in each stratum over the share found there; its standard error is clustered by
    combination. The second result is the upper limit of the share by which original
    records are found more often, each stratum weighted by its original records, and
    scaled up from nine tenths of the release.
    """
    row = new_row(
        "excess over own duplicates",
        len(files.released),
        detail="original records against the release's own",
        baseline_kind="own records",
    )
    searched = _search_release(files, groups) if comparable else None
    if searched is None:
        return row, 1.0
    row["z"] = searched.z()
    row["estimate"], row["baseline"], error = searched.shares_found()
    # One pair more than observed.
    error = np.hypot(error, 2 / (searched.is_original.sum() or 1))
    excess = max(row["estimate"] - row["baseline"], 0) + special.ndtri(LIMIT) * error
    # This bounds the copies including those that chance would have matched as well.
    found_anyway = min(row["baseline"], 1 - 1e-9)
    return row, min(1.0, excess / (1 - 1 / PARTS) / (1 - found_anyway))


@dataclass(frozen=True)
class _Searched:
    """Records unique in a tenth of their file, searched in the rest of the release.

    Attributes
    ----------
    is_original, is_found : (n_searched,) bool
        Whether each is an original record, and whether it was found.
    log_p : (n_searched,) float
        Its log density in the nine tenths that were searched.
    group : (n_searched,) int
        Its group of equal records.
    """

    is_original: Bools
    is_found: Bools
    log_p: Floats
    group: Ints

    @cached_property
    def stratum(self) -> Ints:
        """Strata of equal size by density, (n_searched,)."""
        edges = np.quantile(self.log_p, np.arange(1, STRATA) / STRATA)
        return np.digitize(self.log_p, edges)

    @cached_property
    def above_share(self) -> Floats:
        """Whether each was found, less the share found in its stratum."""
        return self.is_found - self._mean(self.is_found)

    def _mean(self, values: Bools) -> Floats:
        """Return the mean of some values in each record's stratum."""
        totals = np.bincount(self.stratum, values)[self.stratum]
        return totals / counts_at(self.stratum, self.stratum)

    def z(self) -> float:
        """Return z of the original records found more often at the same density."""
        scores = 1 / (self._mean(self.is_found) + RARELY)
        scores *= self.is_original - self._mean(self.is_original)
        scores *= self.above_share
        return z_score(scores.sum(), clustered_se(scores, self.group))

    def shares_found(self) -> tuple[float, float, float]:
        """Return the shares of people and of own records found, and their error.

        Each stratum has the weight of its share of the people; the error is that of the
        difference.
        """
        side = self.is_original * STRATA + self.stratum  # own records first
        n_records = np.bincount(side, minlength=2 * STRATA)
        n_found = np.bincount(side, self.is_found, 2 * STRATA)
        own, people = np.split(n_found / np.maximum(n_records, 1), 2)  # (STRATA,)
        weight = n_records[STRATA:] / (self.is_original.sum() or 1)
        sign = 2 * self.is_original - 1
        residuals = weight[self.stratum] * (sign / n_records[side]) * self.above_share
        error = clustered_se(residuals, self.group)
        return float(weight @ people), float(weight @ own), error


def _search_release(files: Files, groups: _Groups) -> _Searched | None:
    """Search the unique records of each tenth; None if a file is too small."""
    n = len(files.original)
    if min(n, len(files.released)) < PARTS * STRATA:
        return None
    both = np.concatenate([files.original, files.released])
    group_of = groups.in_files
    tree = chow_liu_tree(files.released, files.n_levels)
    searched = []
    for own, rows in _tenths(group_of, n):
        own_groups = np.bincount(group_of[own], minlength=len(groups.n_released))
        n_rest = groups.n_released - own_groups
        rest = {
            edge: table - two_way_table(both[own], files.n_levels, *edge)
            for edge, table in tree.items()
        }
        is_found = n_rest[group_of[rows]] > 0
        searched.append((rows, is_found, log_density(both[rows], rest)))
    rows, is_found, log_p = map(np.concatenate, zip(*searched, strict=True))
    if not len(rows):  # no record is unique, even in a tenth
        return None
    return _Searched(rows < n, is_found, log_p, group_of[rows])


def _tenths(group_of: Ints, n: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the released rows of each tenth, and the rows of both files unique in it.

    The first n rows are the original's. Sorted files are spread over the tenths, and
    rows with the same number over different ones. As many rows of each file are used.
    """
    m = len(group_of) - n
    size = min(n, m) // PARTS
    golden = (5**0.5 - 1) / 2
    tenth_of_record = (np.arange(m) * golden % 1 * PARTS).astype(int)
    for tenth in range(PARTS):
        own = n + np.flatnonzero(tenth_of_record == tenth)
        people = np.arange(tenth, n, PARTS)
        unique = []
        for rows in (own, people):
            rows = rows[np.arange(size) * len(rows) // size]
            unique.append(rows[counts_at(group_of[rows], group_of[rows]) == 1])
        yield own, np.concatenate(unique)


class _DuplicateRate(NamedTuple):
    """The share of a fresh sample's records identical to an original record.

    `beta` has the parameters of its distribution, given the data.
    """

    share: float
    se: float
    beta: tuple[float, float]


def _expected_duplicate_rate(files: Files, is_trusted: bool) -> _DuplicateRate:
    """Return a fresh sample's share of records identical to an original record.

    It is estimated from the original or, if that is more precise or the original is not
    trusted, from the holdout.
    """
    cells = files.cells()
    by_original = _duplicate_rate(cells.n_original)
    if files.holdout is None:
        return by_original
    n_holdout = len(files.holdout)
    n_identical = (counts_at(cells.original, cells.holdout) > 0).sum()
    share = (n_identical + 0.5) / (n_holdout + 1)
    error = binomial_se(share, n_holdout)
    if is_trusted and error > by_original.se:
        return by_original
    prior = n_identical + 0.5, n_holdout - n_identical + 0.5
    return _DuplicateRate(n_identical / n_holdout, error, prior)


def _duplicate_rate(counts: Ints) -> _DuplicateRate:
    """Return the share of fresh records identical to a counted one.

    Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). At
    least one pair is assumed: with none, every identical record would be a certain
    copy.
    """
    n = int(counts.sum())
    once = (counts == 1).sum()
    pairs = max((counts == 2).sum(), 1)
    share = 1 - once / n
    error = np.sqrt(once * share + 2 * pairs) / n
    return _DuplicateRate(share, error, beta(share, error, n))


def _baseline_problem(
    groups: _Groups, table: Codes, counts: Ints, neighbors: Ints
) -> str:
    """Return why a table's duplicates are no baseline for copies, or "".

    `counts` are its records in each group, and `neighbors` those in the table alone.
    """
    is_isolated = (groups.n_neighbors == 0) & (counts > 0)
    duplicated = counts[is_isolated & (counts > 1)]
    are_many = duplicated.sum() > DUPLICATES * counts[is_isolated].sum()
    if are_many and len(duplicated) >= FEWEST_DUPLICATES:
        return "duplicates"
    if (counts > 1).any():
        return ""
    # A record's own cell is at least as dense as its neighbors, as a rule.
    n_around = sum(len(np.unique(column)) - 1 for column in table.T)
    n_pairs = counts @ neighbors / 2
    return "deduplicated" if n_pairs > DEDUPLICATED * n_around else ""


def _group(files: Files) -> _Groups:
    """Return the groups of equal records, and count the neighbors of each."""
    n_variables = len(files.n_levels)
    cells = files.cells()
    both = np.concatenate([files.original, files.released])
    neighbors = -n_variables * np.array([cells.n_original, cells.n_released])
    for k in range(n_variables):
        others = np.delete(both, k, axis=1)
        alike = row_numbers(others, np.delete(files.n_levels, k))  # (n + m,)
        of_file = np.split(alike, [len(files.original)])
        neighbors += [counts_at(ids, alike[cells.first]) for ids in of_file]
    return _Groups(cells.original, cells.released, cells.holdout, neighbors)


def row_order(original: Codes, released: Codes) -> Row:
    """Return the row of the share of values that agree at the best offset of rows.

    The baseline is the share at the second best. Rows at other offsets are compared,
    not random rows, since both files may be sorted or periodic.
    """
    farthest = min(len(original), len(released)) // 2
    near = np.arange(min(61, farthest + 1))
    far = np.geomspace(1, farthest, 40).astype(int)
    forward = np.append(near, far)
    offsets = np.union1d(-forward, forward)
    agreement = [_agreement(original, released, offset) for offset in offsets]
    means = np.array([share.mean() for share in agreement])
    second_best, best = np.argsort(means)[-2:]
    compared = agreement[best], agreement[second_best]
    errors = [share.std() / np.sqrt(len(share)) for share in compared]
    return new_row(
        "row order",
        len(released),
        detail="values that agree row by row",
        baseline_kind="other rows",
        estimate=means[best],
        baseline=means[second_best],
        z=z_score(means[best] - means[second_best], np.hypot(*errors)),
    )


def _agreement(
    original: Codes,
    released: Codes,
    offset: int,
) -> Floats:
    """Return the share of values that agree in each pair of rows at an offset."""
    original = original[max(-offset, 0) :][:ROWS]
    released = released[max(offset, 0) :][:ROWS]
    n_rows = min(len(original), len(released))
    return (original[:n_rows] == released[:n_rows]).mean(axis=1)
