"""Copies: how often released records are identical to original records, and a fresh sample's are.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy  # loads stats, which take a second, where they are first asked for
from scipy import special

from srlib.assessment.counts import (
    Bools,
    Floats,
    Ints,
    Row,
    cell_counts,
    cell_ids,
    clustered_se,
    counts_at,
    new_row,
    z_score,
)
from srlib.assessment.disclosure import Keys, Numbers, share_matched_by_fresh_sample
from srlib.assessment.multiplicity import most_repeated_unique
from srlib.assessment.near_duplicates import find_near_duplicates
from srlib.assessment.z_scores import (
    beta,
    beta_binomial_z,
    permutation_z,
    split_odds,
    split_z,
)
from srlib.data.codes import Codes, Levels
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
class _Files:
    """Both files, and their groups of equal records.

    `cell` and `of_record` are the groups of the original's and of the release's
    records; `o` and `s` are the numbers of both in each group; `neighbors`, (2,
    n_groups), are the numbers of records in each file that differ from the group in
    exactly one variable.
    """

    original: Codes
    released: Codes
    levels: list[int]
    cell: Ints
    of_record: Ints
    o: Ints
    s: Ints
    neighbors: Ints

    @classmethod
    def of(cls, original: Codes, released: Codes, n_levels: Levels) -> "_Files":
        """Group the equal records of both files."""
        levels = [int(k) for k in n_levels]
        cell, of_record = cell_ids(range(len(levels)), levels, original, released)
        o, s = cell_counts(cell, of_record)
        neighbors = _neighbors(levels, original, released)
        return cls(original, released, levels, cell, of_record, o, s, neighbors)


def copies(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    holdout: Codes | None = None,
    *,
    numbers: Numbers = MappingProxyType({}),
) -> Copies:
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

    `holdout` are people of the same population who are not in the original; `numbers`
    are the exact numbers of binned columns, by column, for the original and for the
    release.
    """
    files = _Files.of(original, released, n_levels)
    original_problem = _baseline_problem(
        original, files.levels, files.o, files.neighbors.sum(axis=0)
    )
    release_problem = _baseline_problem(
        released, files.levels, files.s, files.neighbors.sum(axis=0)
    )
    comparable = original_problem != "deduplicated"
    exact = _exact(files, numbers) if numbers else files

    copied_uniques = _copied_share(files)
    near = find_near_duplicates(original, released, files.levels)
    if not comparable:
        copied_uniques["z_permutation"] = near["z_permutation"] = np.nan
    excess = new_row(
        "excess over own duplicates",
        len(released),
        detail="original records against the release's own",
    )
    at_most = 1.0
    if comparable and release_problem != "deduplicated":
        excess, at_most = _excess_over_own_duplicates(files)
        if numbers:
            _, at_most = _excess_over_own_duplicates(exact)
    at_most = max(at_most, _upper_limit(_copied_share(exact)))
    identical = _identical_records(
        files, holdout, original_problem, (copied_uniques, near)
    )
    identical["detail"] += ", numbers binned" if numbers else ""
    rows = [
        identical,
        copied_uniques,
        _undetected_copies(exact, at_most, numbers),
        near,
        most_repeated_unique(files.o, files.s, *files.neighbors),
        excess,
        _identical_before_binning(
            files, numbers, comparable=not original_problem or holdout is not None
        ),
        _row_order(original, released),
    ]
    unique_and_released = (files.o == 1) & (files.s > 0)
    return Copies(
        {row["question"]: row for row in rows},
        _is_same_table(files),
        original_problem if holdout is None else "",
        unique_and_released[files.cell],
        files.neighbors.sum(axis=0)[files.cell],
    )


def _identical_records(
    files: _Files, holdout: Codes | None, baseline_problem: str, more: Sequence[Row]
) -> Row:
    """Return the row of the released records identical to an original record."""
    m = len(files.released)
    value = float(files.s[files.o > 0].sum() / m)
    expected, expected_se, a, b = _expected_duplicate_rate(
        files.original, files.levels, holdout, not baseline_problem
    )
    row = new_row(
        "identical records",
        m,
        detail="records identical to an original record",
        estimate=value,
        baseline=expected,
        se=float(np.sqrt(value * (1 - value) / m)),
        baseline_se=expected_se,
        z_permutation=float(np.fmax.reduce([one["z_permutation"] for one in more])),
    )
    if baseline_problem != "deduplicated" or holdout is not None:
        row["z"] = beta_binomial_z(round(value * m), m, a, b)
    return row


def _is_same_table(files: _Files) -> bool:
    """Return whether both tables have the same records, and hardly by chance."""
    o, n = files.o, len(files.original)
    if np.array_equal(files.original, files.released):
        chance = np.prod(
            (o / n) ** o
        )  # a sample with the table's shares, in this order
    else:
        chance = scipy.stats.multinomial.pmf(o, n, o / n)
    return bool((o == files.s).all() and chance < COINCIDENCE)


def _identical_before_binning(files: _Files, numbers: Numbers, comparable: bool) -> Row:
    """Return the row of the released records identical to an original record in exact numbers."""
    n, m = len(files.original), len(files.released)
    people, records = _with_numbers(files, numbers)
    complete = int(np.isin(records, people).sum())
    expected, error = _duplicate_rate_from_counts(np.bincount(people))
    row = new_row("identical before binning", m, detail="numbers not binned")
    row |= {"estimate": complete / m, "baseline": expected, "baseline_se": error}
    row["z"] = beta_binomial_z(complete, m, *beta(expected, error, n))
    if numbers and comparable:
        row["z_permutation"] = permutation_z(people, records)
    return row


def _with_numbers(files: _Files, numbers: Numbers) -> list[Ints]:
    """Return the groups of equal records of both files, with exact numbers."""
    every = range(len(files.levels))
    return Keys.of(
        [files.original, files.released], files.levels, every, numbers
    ).cell_ids()


def _exact(files: _Files, numbers: Numbers) -> _Files:
    """Return the files with groups of records that are equal in exact numbers."""
    people, records = _with_numbers(files, numbers)
    o, s = cell_counts(people, records)
    both = np.concatenate([people, records])
    first = np.unique(both, return_index=True)[1]
    neighbors = files.neighbors[:, np.concatenate([files.cell, files.of_record])[first]]
    return replace(files, cell=people, of_record=records, o=o, s=s, neighbors=neighbors)


def _weights(neighbors: Ints) -> Floats:
    """Return the weights of groups of equal records, larger in sparse regions."""
    return np.log1p(COPIED / (neighbors.sum(axis=0) + ITSELF))


def _copied_share(files: _Files) -> Row:
    """Return the row of the estimated share of sample uniques copied; NaN without uniques."""
    o, s, weight = files.o, files.s, _weights(files.neighbors)
    unique, identical = o == 1, (o == 1) & (s > 0)
    total_weight = weight[unique].sum()
    row = new_row("copied uniques", int(unique.sum()), detail=_UNIQUE, baseline=0.0)
    if not total_weight:
        return row
    pure, prob = split_odds(o, s, both=True)
    beyond = weight * np.where(identical, 1.0, np.where(pure, -prob / (1 - prob), 0.0))
    share = beyond.sum() / total_weight
    # If all sample uniques are copied, nothing is left to chance.
    variance = (beyond[identical] ** 2).sum() * (1 - np.clip(share, 0, 1))
    variance += (beyond[~identical] ** 2).sum()
    return row | {
        "estimate": float(share),
        "se": float(np.sqrt(variance) / total_weight),
        "z_permutation": max(split_z(o, s, weight, both) for both in (True, False)),
    }


def _upper_limit(row: Row) -> float:
    """Return the upper limit of a share; 0 if the share is NaN."""
    return float(np.nan_to_num(row["estimate"] + special.ndtri(LIMIT) * row["se"]))


def _undetected_copies(files: _Files, at_most: float, numbers: Numbers) -> Row:
    """Return the row of the upper limit of the share of sample uniques copied; NaN without uniques.

    If all identical records were copies, their weighted number would be Poisson.
    """
    weight = _weights(files.neighbors)
    unique = files.o == 1
    row = new_row("undetected copies", int(unique.sum()), detail=_UNIQUE)
    if not unique.any():
        return row
    identical = unique & (files.s > 0)
    mean = weight[unique].mean()
    if identical.any():
        mean = (weight[identical] ** 2).sum() / weight[identical].sum()
    limit = (
        mean * scipy.stats.chi2.ppf(LIMIT, 2 * (weight[identical].sum() / mean + 1)) / 2
    )
    row["estimate"] = float(min(1.0, at_most, limit / weight[unique].sum()))
    row["baseline"] = share_matched_by_fresh_sample(
        files.original, files.levels, len(files.released), numbers
    )
    return row


def _excess_over_own_duplicates(files: _Files) -> tuple[Row, float]:
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
    )
    searched = _search_release(files)
    if searched is None:
        return row, 1.0
    of_original, found, log_p, key = searched
    stratum = np.digitize(log_p, np.quantile(log_p, np.arange(1, STRATA) / STRATA))
    records = np.bincount(stratum, minlength=STRATA)
    people = np.bincount(stratum, of_original, STRATA)
    share = people / np.maximum(records, 1)
    hits = np.bincount(stratum, found, STRATA) / np.maximum(records, 1)
    scores = (
        1
        / (hits[stratum] + RARELY)
        * (of_original - share[stratum])
        * (found - hits[stratum])
    )
    row["z"] = z_score(scores.sum(), clustered_se(scores, key))

    own = records - people
    by_people = np.bincount(stratum, of_original * found, STRATA) / np.maximum(
        people, 1
    )
    by_own = np.bincount(stratum, (1 - of_original) * found, STRATA) / np.maximum(
        own, 1
    )
    weight = people / max(people.sum(), 1)
    row["estimate"] = float(weight @ by_people)
    row["baseline"] = float(weight @ by_own)
    one_more = np.where(of_original, 1 / np.maximum(people, 1)[stratum], 0.0)
    one_more -= np.where(of_original, 0.0, 1 / np.maximum(own, 1)[stratum])
    error = clustered_se(weight[stratum] * one_more * (found - hits[stratum]), key)
    error = np.hypot(error, 2 / max(people.sum(), 1))  # one pair more than observed
    above = max(row["estimate"] - row["baseline"], 0.0) + special.ndtri(LIMIT) * error
    # This bounds the copies including those that chance would have matched as well.
    found_anyway = min(row["baseline"], 1 - 1e-9)
    return row, float(min(1.0, above / (1 - 1 / PARTS) / (1 - found_anyway)))


def _search_release(files: _Files) -> tuple[Ints, Ints, Floats, Ints] | None:
    """Search records that are unique in a tenth of their file in nine tenths of the release.

    Returns
    -------
    of_original, found, log_p, group : (n_sought,)
        Whether each is an original record, whether it was found, its log density in
        these nine tenths, and its group of equal records. None if a file is too small.
    """
    n, m = len(files.original), len(files.released)
    size = min(n, m) // PARTS
    if size < STRATA:
        return None
    # Sorted files are spread over the parts, and rows with the same number over
    # different parts.
    part_of_record = (np.arange(m) * (5**0.5 - 1) / 2 % 1 * PARTS).astype(int)
    part_of_person = np.arange(n) % PARTS
    tree = chow_liu_tree(files.released, files.levels)
    sides = (
        (0, files.released, files.of_record, part_of_record),
        (1, files.original, files.cell, part_of_person),
    )
    parts = []
    for part in range(PARTS):
        own = part_of_record == part
        rest = files.s - np.bincount(files.of_record[own], minlength=len(files.s))
        without = {
            edge: table - two_way_table(files.released[own], files.levels, *edge)
            for edge, table in tree.items()
        }
        for is_original, codes, group, part_of in sides:
            rows = np.flatnonzero(part_of == part)
            rows = rows[np.arange(size) * len(rows) // size]
            rows = rows[counts_at(group[rows], group[rows]) == 1]
            found = rest[group[rows]] > 0
            log_p = log_density(codes[rows], without)
            parts.append((np.full(len(rows), is_original), found, log_p, group[rows]))
    of_original, found, log_p, group = map(np.concatenate, zip(*parts, strict=True))
    if not len(group):  # no record is unique, even in a tenth
        return None
    return of_original, found.astype(int), log_p, group


def _expected_duplicate_rate(
    original: Codes,
    levels: Sequence[int],
    holdout: Codes | None = None,
    trusted: bool = True,
) -> tuple[float, float, float, float]:
    """Return a fresh sample's share of identical records, its se, and a beta distribution.

    It is estimated from the original or, if that is more precise or the original is not
    trusted, from the holdout.
    """
    n = len(original)
    (cell,) = cell_ids(range(len(levels)), levels, original)
    counts = np.bincount(cell)
    share, error = _duplicate_rate_from_counts(counts)
    by_original = share, error, *beta(share, error, n)
    if holdout is None:
        return by_original
    kept, expected = cell_ids(range(len(levels)), levels, original, holdout)
    again, h = (counts_at(kept, expected) > 0).sum(), len(holdout)
    share = (again + 0.5) / (h + 1)
    holdout_se = float(np.sqrt(share * (1 - share) / h))
    if trusted and holdout_se > error:
        return by_original
    return float(again / h), holdout_se, again + 0.5, h - again + 0.5


def _duplicate_rate_from_counts(counts: Ints) -> tuple[float, float]:
    """Return the share of fresh records identical to a counted one, and its standard error.

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
    table: Codes, levels: Sequence[int], counts: Ints, neighbors: Ints
) -> str:
    """Return why a table does not show how often a fresh sample is identical to it, or ""."""
    isolated = (neighbors == 0) & (counts > 0)
    duplicates = isolated & (counts > 1)
    if (
        duplicates.sum() >= FEWEST_DUPLICATES
        and counts[duplicates].sum() > DUPLICATES * counts[isolated].sum()
    ):
        return "duplicates"
    if (counts > 1).any():
        return ""
    # A record's own cell is at least as dense as its neighbors, as a rule.
    around = sum(len(np.unique(column)) - 1 for column in table.T)
    pairs = _neighbors(levels, table).sum() / 2
    return "deduplicated" if pairs > DEDUPLICATED * around else ""


def _neighbors(levels: Sequence[int], *tables: Codes) -> Ints:
    """Return the numbers of records that differ from each group in one variable, (n_tables, ...).

    Groups are those of equal records of all tables.
    """
    n_variables = len(levels)
    cells = cell_ids(range(n_variables), levels, *tables)
    _, first = np.unique(np.concatenate(cells), return_index=True)
    counts = np.array([np.bincount(cell, minlength=len(first)) for cell in cells])
    neighbors = -n_variables * counts
    for k in range(n_variables):
        without = cell_ids(set(range(n_variables)) - {k}, levels, *tables)
        at = np.concatenate(without)[first]
        neighbors += [counts_at(of_table, at) for of_table in without]
    return neighbors


def _row_order(original: Codes, released: Codes) -> Row:
    """Return the row of the share of values that agree row by row."""
    best, second_best, z = aligned_rows(original, released)
    row = new_row("row order", len(released), detail="values that agree row by row")
    return row | {"estimate": best, "baseline": second_best, "z": z}


def aligned_rows(original: Codes, released: Codes) -> tuple[float, float, float]:
    """Return the shares of values that agree at the best and second best offset of rows, and z.

    Rows at other offsets are compared, not random rows, since both files may be sorted
    or periodic.
    """
    n, m = len(original), len(released)
    most, rows, agree = min(n, m) // 2, min(n, m, ROWS), []
    reach = {*range(min(61, most + 1)), *np.geomspace(1, most, 40).astype(int).tolist()}
    for k in sorted({sign * k for k in reach for sign in (1, -1)}):
        pairs = zip(
            original[max(-k, 0) :][:rows].T, released[max(k, 0) :][:rows].T, strict=True
        )
        length = min(rows, n - max(-k, 0), m - max(k, 0))
        agree.append(np.mean([x[:length] == z[:length] for x, z in pairs], axis=0))
    means = np.array([each.mean() for each in agree])
    second_best, best = np.argsort(means)[-2:]
    error = np.hypot(
        *(agree[k].std() / np.sqrt(len(agree[k])) for k in (best, second_best))
    )
    difference = means[best] - means[second_best]
    return float(means[best]), float(means[second_best]), z_score(difference, error)
