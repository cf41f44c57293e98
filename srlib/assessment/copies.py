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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # loads stats, which take a second, where they are first asked for
from scipy import special

from srlib.arrays import Bools, Floats, Ints
from srlib.assessment.counts import (
    Row,
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
class _Groups:
    """The groups of equal records of both files, and their neighbors.

    `neighbors`, (2, n_groups), are the numbers of original and of released records that
    differ from the group in exactly one variable.
    """

    cells: Cells
    neighbors: Ints

    @property
    def o(self) -> Ints:
        """Original records of each group, (n_groups,)."""
        return self.cells.n_original

    @property
    def s(self) -> Ints:
        """Released records of each group, (n_groups,)."""
        return self.cells.n_released

    @property
    def is_unique(self) -> Bools:
        """Groups of a single original record, the sample uniques, (n_groups,)."""
        return self.o == 1

    @property
    def weight(self) -> Floats:
        """Weights of the groups, larger in sparse regions, (n_groups,)."""
        return np.log1p(COPIED / (self.neighbors.sum(axis=0) + ITSELF))


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
    groups = _Groups(files.cells(), _neighbors(files))
    exact = _exact(files, groups) if files.numbers else groups
    n_neighbors = groups.neighbors.sum(axis=0)  # (n_groups,)
    in_original, in_release = groups.neighbors
    problem = _baseline_problem(files.original, groups.o, in_original, n_neighbors)
    release_problem = _baseline_problem(
        files.released, groups.s, in_release, n_neighbors
    )
    has_holdout = files.holdout is not None

    copied_uniques = _copied_share(groups)
    near = find_near_duplicates(files.original, files.released, files.n_levels)
    if problem == "deduplicated":
        copied_uniques["z_permutation"] = np.nan
        near["z_permutation"] = np.nan
    comparable = "deduplicated" not in (problem, release_problem)
    excess, at_most = _excess_and_limit(files, groups, exact, comparable)

    identical = _identical_records(files, groups, problem)
    permutation_z = [copied_uniques["z_permutation"], near["z_permutation"]]
    identical["z_permutation"] = float(np.fmax(*permutation_z))
    rows = [
        identical,
        copied_uniques,
        _undetected_copies(files, exact, at_most),
        near,
        most_repeated_unique(groups.o, groups.s, in_original, in_release),
        excess,
        _identical_before_binning(files, comparable=not problem or has_holdout),
        _row_order(files.original, files.released),
    ]
    group_of = groups.cells.original
    return Copies(
        rows={row["question"]: row for row in rows},
        same_table=_is_same_table(files),
        baseline_problem="" if has_holdout else problem,
        identical=(groups.is_unique & (groups.s > 0))[group_of],
        neighbors=n_neighbors[group_of],
    )


def _identical_records(
    files: Files,
    groups: _Groups,
    problem: str,
) -> Row:
    """Return the row of the released records identical to an original record."""
    m = len(files.released)
    n_identical = int(groups.s[groups.o > 0].sum())
    share = n_identical / m
    expected = _expected_duplicate_rate(files, is_trusted=not problem)
    detail = "records identical to an original record"
    row = new_row(
        "identical records",
        m,
        detail=f"{detail}, numbers binned" if files.numbers else detail,
        estimate=share,
        se=float(np.sqrt(share * (1 - share) / m)),
        baseline=expected.share,
        baseline_se=expected.se,
    )
    if problem != "deduplicated" or files.holdout is not None:
        row["z"] = beta_binomial_z(n_identical, m, *expected.beta)
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
    n = len(files.original)
    m = len(files.released)
    cells = files.exact_cells()
    n_complete = int((cells.original_at(cells.released) > 0).sum())
    expected, error = _duplicate_rate_from_counts(cells.n_original)
    row = new_row(
        "identical before binning",
        m,
        detail="numbers not binned",
        estimate=n_complete / m,
        baseline=expected,
        baseline_se=error,
        z=beta_binomial_z(n_complete, m, *beta(expected, error, n)),
    )
    if files.numbers and comparable:
        row["z_permutation"] = permutation_z(cells.n_original, cells.n_released)
    return row


def _exact(files: Files, groups: _Groups) -> _Groups:
    """Return the groups of records with equal exact numbers, and their neighbors."""
    exact = files.exact_cells()
    group = np.concatenate([groups.cells.original, groups.cells.released])
    return _Groups(exact, groups.neighbors[:, group[_first_rows(exact)]])


def _copied_share(groups: _Groups) -> Row:
    """Return the row of the share of sample uniques copied; NaN without uniques."""
    o = groups.o
    s = groups.s
    weight = groups.weight
    is_identical = groups.is_unique & (s > 0)
    total_weight = weight[groups.is_unique].sum()
    n_unique = int(groups.is_unique.sum())
    row = new_row("copied uniques", n_unique, detail=_UNIQUE, baseline=0.0)
    if not total_weight:
        return row
    in_one_file, prob = split_odds(o, s, both=True)
    by_chance = np.where(in_one_file, prob / (1 - prob), 0.0)
    excess = weight * np.where(is_identical, 1.0, -by_chance)
    share = excess.sum() / total_weight
    # If all sample uniques are copied, nothing is left to chance.
    variance = (excess[is_identical] ** 2).sum() * (1 - np.clip(share, 0, 1))
    variance += (excess[~is_identical] ** 2).sum()
    return row | {
        "estimate": float(share),
        "se": float(np.sqrt(variance) / total_weight),
        "z_permutation": max(split_z(o, s, weight, both) for both in (True, False)),
    }


def _upper_limit(row: Row) -> float:
    """Return the upper limit of a share; 0 if the share is NaN."""
    return float(np.nan_to_num(row["estimate"] + special.ndtri(LIMIT) * row["se"]))


def _undetected_copies(
    files: Files,
    groups: _Groups,
    at_most: float,
) -> Row:
    """Return the row of the upper limit of the copied share; NaN without uniques.

    If all identical records were copies, their weighted number would be Poisson.
    """
    weight = groups.weight[groups.is_unique]
    row = new_row("undetected copies", len(weight), detail=_UNIQUE)
    if not len(weight):
        return row
    identical = weight[groups.s[groups.is_unique] > 0]
    mean = weight.mean()
    if len(identical):
        mean = (identical**2).sum() / identical.sum()
    n_identical = identical.sum() / mean
    limit = mean * scipy.stats.chi2.ppf(LIMIT, 2 * (n_identical + 1)) / 2
    row["estimate"] = float(min(1.0, at_most, limit / weight.sum()))
    row["baseline"] = share_matched_by_fresh_sample(files)
    return row


def _no_excess(files: Files) -> Row:
    return new_row(
        "excess over own duplicates",
        len(files.released),
        detail="original records against the release's own",
    )


def _excess_and_limit(
    files: Files, groups: _Groups, exact: _Groups, comparable: bool
) -> tuple[Row, float]:
    """Return the excess over own duplicates, and the limit of the share copied by it.

    The limit is that of exact numbers, and no less than the limit of the copied share.
    """
    excess = _no_excess(files)
    at_most = 1.0
    if comparable:
        excess, at_most = _excess_over_own_duplicates(files, groups)
        if files.numbers:
            _, at_most = _excess_over_own_duplicates(files, exact)
    return excess, max(at_most, _upper_limit(_copied_share(exact)))


def _excess_over_own_duplicates(files: Files, groups: _Groups) -> tuple[Row, float]:
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
    row = _no_excess(files)
    searched = _search_release(files, groups)
    if searched is None:
        return row, 1.0
    strata = _Strata.of(searched)
    share_people = strata.n_people / np.maximum(strata.n_records, 1)
    scores = 1 / (strata.share_found[strata.of_record] + RARELY)
    scores = scores * (searched.is_original - share_people[strata.of_record])
    scores = scores * strata.above_share
    row["z"] = z_score(scores.sum(), clustered_se(scores, searched.group))

    weight = strata.n_people / max(strata.n_people.sum(), 1)
    row["estimate"] = float(weight @ strata.people_found)
    row["baseline"] = float(weight @ strata.own_found)
    difference = row["estimate"] - row["baseline"]
    # One pair more than observed.
    error = np.hypot(strata.error(searched), 2 / max(strata.n_people.sum(), 1))
    excess = max(difference, 0.0) + special.ndtri(LIMIT) * error
    # This bounds the copies including those that chance would have matched as well.
    found_anyway = min(row["baseline"], 1 - 1e-9)
    return row, float(min(1.0, excess / (1 - 1 / PARTS) / (1 - found_anyway)))


class _Searched(NamedTuple):
    """Records unique in a tenth of their file, searched in the rest of the release.

    Attributes
    ----------
    is_original, is_found : (n_searched,) int
        Whether each is an original record, and whether it was found.
    log_p : (n_searched,) float
        Its log density in the nine tenths that were searched.
    group : (n_searched,) int
        Its group of equal records.
    """

    is_original: Ints
    is_found: Ints
    log_p: Floats
    group: Ints


@dataclass(frozen=True)
class _Strata:
    """Searched records in strata of their density.

    `of_record` is the stratum of each, and `above_share` whether it was found, less the
    share found in its stratum, (n_searched,). In each stratum, (STRATA,), are
    `n_records`, of which `n_people` are original records; the share `share_found` of
    all, `people_found` of the original and `own_found` of the released records was
    found.
    """

    of_record: Ints
    above_share: Floats
    n_records: Ints
    n_people: Floats
    share_found: Floats
    people_found: Floats
    own_found: Floats

    @classmethod
    def of(cls, searched: _Searched) -> "_Strata":
        """Divide the searched records into strata of equal size."""
        edges = np.quantile(searched.log_p, np.arange(1, STRATA) / STRATA)
        stratum = np.digitize(searched.log_p, edges)

        def count(values: Ints) -> Floats:
            return np.bincount(stratum, values, STRATA)

        is_original = searched.is_original
        is_found = searched.is_found
        n_records = np.bincount(stratum, minlength=STRATA)
        n_people = count(is_original)
        n_own = n_records - n_people
        share_found = count(is_found) / np.maximum(n_records, 1)
        return cls(
            of_record=stratum,
            above_share=is_found - share_found[stratum],
            n_records=n_records,
            n_people=n_people,
            share_found=share_found,
            people_found=count(is_original * is_found) / np.maximum(n_people, 1),
            own_found=count((1 - is_original) * is_found) / np.maximum(n_own, 1),
        )

    def error(self, searched: _Searched) -> float:
        """Return the error of the difference between people and own records found."""
        n_people = np.maximum(self.n_people, 1)[self.of_record]
        n_own = np.maximum(self.n_records - self.n_people, 1)[self.of_record]
        by_person = np.where(searched.is_original, 1 / n_people, 0.0)
        by_own = np.where(searched.is_original, 0.0, 1 / n_own)
        weight = self.n_people / max(self.n_people.sum(), 1)
        residuals = weight[self.of_record] * (by_person - by_own) * self.above_share
        return clustered_se(residuals, searched.group)


def _search_release(files: Files, groups: _Groups) -> _Searched | None:
    """Search the unique records of each tenth; None if a file is too small."""
    n = len(files.original)
    m = len(files.released)
    size = min(n, m) // PARTS
    if size < STRATA:
        return None
    # Sorted files are spread over the parts, and rows with the same number over
    # different parts.
    part_of_record = (np.arange(m) * (5**0.5 - 1) / 2 % 1 * PARTS).astype(int)
    part_of_person = np.arange(n) % PARTS
    tree = chow_liu_tree(files.released, files.n_levels)
    cells = groups.cells
    sides = (
        (0, files.released, cells.released, part_of_record),
        (1, files.original, cells.original, part_of_person),
    )
    searched = []
    for part in range(PARTS):
        own = part_of_record == part
        own_groups = np.bincount(cells.released[own], minlength=len(groups.s))
        n_rest = groups.s - own_groups
        rest = {
            edge: table - two_way_table(files.released[own], files.n_levels, *edge)
            for edge, table in tree.items()
        }
        for is_original, codes, group_of, part_of in sides:
            rows = _unique_rows(np.flatnonzero(part_of == part), size, group_of)
            group = group_of[rows]
            is_found = (n_rest[group] > 0).astype(int)
            file = np.full(len(rows), is_original)
            log_p = log_density(codes[rows], rest)
            searched.append(_Searched(file, is_found, log_p, group))
    joined = _Searched(*map(np.concatenate, zip(*searched, strict=True)))
    # Possibly no record is unique, even in a tenth.
    return joined if len(joined.group) else None


def _unique_rows(
    rows: Ints,
    size: int,
    group_of: Ints,
) -> Ints:
    """Return those of `size` evenly spaced rows whose group no other of them has."""
    rows = rows[np.arange(size) * len(rows) // size]
    return rows[counts_at(group_of[rows], group_of[rows]) == 1]


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
    share, error = _duplicate_rate_from_counts(cells.n_original)
    by_original = _DuplicateRate(share, error, beta(share, error, len(files.original)))
    if files.holdout is None:
        return by_original
    n_holdout = len(files.holdout)
    n_identical = int((cells.original_at(cells.holdout) > 0).sum())
    share = (n_identical + 0.5) / (n_holdout + 1)
    holdout_error = float(np.sqrt(share * (1 - share) / n_holdout))
    if is_trusted and holdout_error > error:
        return by_original
    return _DuplicateRate(
        n_identical / n_holdout,
        holdout_error,
        (n_identical + 0.5, n_holdout - n_identical + 0.5),
    )


def _duplicate_rate_from_counts(counts: Ints) -> tuple[float, float]:
    """Return the share of fresh records identical to a counted one, and its error.

    Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). At
    least one pair is assumed: with none, every identical record would be a certain
    copy.
    """
    n = int(counts.sum())
    once = np.count_nonzero(counts == 1)
    pairs = max(int(np.count_nonzero(counts == 2)), 1)
    error = np.sqrt(once * (1 - once / n) + 2 * pairs) / n
    return float(1 - once / n), float(error)


def _baseline_problem(
    table: Codes, counts: Ints, own_neighbors: Ints, neighbors: Ints
) -> str:
    """Return why a table's duplicates are no baseline for copies, or "".

    `own_neighbors` are the neighbors of each group in the table, `neighbors` those in
    both files.
    """
    is_isolated = (neighbors == 0) & (counts > 0)
    duplicated = counts[is_isolated & (counts > 1)]
    n_isolated = counts[is_isolated].sum()
    if (
        len(duplicated) >= FEWEST_DUPLICATES
        and duplicated.sum() > DUPLICATES * n_isolated
    ):
        return "duplicates"
    if (counts > 1).any():
        return ""
    # A record's own cell is at least as dense as its neighbors, as a rule.
    n_around = sum(len(np.unique(column)) - 1 for column in table.T)
    n_pairs = counts @ own_neighbors / 2
    return "deduplicated" if n_pairs > DEDUPLICATED * n_around else ""


def _neighbors(files: Files) -> Ints:
    """Count the records that differ from each group in one variable, (2, n_groups).

    Groups are those of equal records of both files.
    """
    n_variables = len(files.n_levels)
    cells = files.cells()
    both = np.concatenate([files.original, files.released])
    first = _first_rows(cells)
    neighbors = -n_variables * np.array([cells.n_original, cells.n_released])
    for k in range(n_variables):
        others = np.delete(both, k, axis=1)
        alike = row_numbers(others, np.delete(files.n_levels, k))  # (n + m,)
        of_file = np.split(alike, [len(files.original)])
        neighbors += [counts_at(ids, alike[first]) for ids in of_file]
    return neighbors


def _first_rows(cells: Cells) -> Ints:
    """Return a row of each cell, among those of the original and then the release."""
    both = np.concatenate([cells.original, cells.released])
    return np.unique(both, return_index=True)[1]


def _row_order(original: Codes, released: Codes) -> Row:
    """Return the row of the share of values that agree row by row."""
    best, second_best, z = aligned_rows(original, released)
    return new_row(
        "row order",
        len(released),
        detail="values that agree row by row",
        estimate=best,
        baseline=second_best,
        z=z,
    )


def aligned_rows(original: Codes, released: Codes) -> tuple[float, float, float]:
    """Return the shares that agree at the best and second best offset of rows, and z.

    Rows at other offsets are compared, not random rows, since both files may be sorted
    or periodic.
    """
    farthest = min(len(original), len(released)) // 2
    near = range(min(61, farthest + 1))
    far = np.geomspace(1, farthest, 40).astype(int).tolist()
    forward = {*near, *far}
    offsets = sorted(forward | {-offset for offset in forward})
    agreement = [_agreement(original, released, offset) for offset in offsets]
    means = np.array([share.mean() for share in agreement])
    second_best, best = np.argsort(means)[-2:]
    compared = agreement[best], agreement[second_best]
    error = np.hypot(*(share.std() / np.sqrt(len(share)) for share in compared))
    difference = means[best] - means[second_best]
    return float(means[best]), float(means[second_best]), z_score(difference, error)


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
