"""Copies: how often released records repeat original ones, beside how often strangers would.

Were a release a fresh sample of the population, the records of both files would be exchangeable. A
fresh record repeats an original one with the probability with which an original record repeats
another (Good 1953, Biometrika 40, 237-264: one minus the share of records that are alone with their
values), and equal records lie in the two files as a random division of both would leave them. Those
in thinly settled places, where strangers hardly ever meet, weigh most. No model enters, and no
threshold is estimated from the release.

Copies can hide: a generator that is rougher than the population repeats fewer records than
strangers would. So the release is also held against itself: does it repeat people in the file more
often than its own records, where it is as dense? That is a sign and no proof, since a tool that
garbles only some of its records, or suppresses repeats, does so without copies. The row *could
hide* bounds what remains.
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

# Weight of a pair with k neighbors, log(1 + COPIED / (k + ITSELF)): the logarithm of how much more
# often such a pair lies across the files if some of the records were copied. Set once; any
# weights that depend on both files alike leave the test exact.
COPIED, ITSELF = 5.0, 0.5
COINCIDENCE = 1e-3  # equal tables are a coincidence if that is at least this probable
ROWS = 20_000  # rows whose order is compared

# Repeated people without neighbors are twins from this share of all without neighbors on, and
# from this number of pairs.
TWINS, FEWEST_TWINS = 0.25, 10
# Pairs of equal records that are to be expected where there is none, before it is taken for design.
REMOVED = 10.0
# Parts of both files, and strata of density, in which a release is held against itself; strata
# weigh by one over the share that is found there and this much.
PARTS, STRATA, RARELY = 10, 10, 0.005
LIMIT = 0.95  # of how many there may be
_UNIQUE = "sample uniques on all variables"


class Copies(NamedTuple):
    """Released records that repeat original ones, with all their values.

    `rows` are those of the table, by their questions, with deviates (z) that are NaN where nothing
    can be said. Of the original records that are alone with all their values, *handed out* is the
    estimated share that the release was given, beyond coincidence. *Could hide* is an upper 95 %
    limit of that share, with numbers as the files have them: were all copies that are met, or,
    where that is less, all by which people are found more often than the release's own records, or
    that are estimated. Beside it stands the share of these people whose values a fresh sample has.
    *Near copies* are those of `near.near_copies`, *multiplicity* that of `repeats.most_repeated`.
    *Beyond itself* is the excess of people over the release's own records where its own shares make
    both as probable, and *uncut copies* that of equal records with numbers as the files have them.
    *Same rows* is the share of values that agree with those of the original's row at the best
    distance between rows, beside the second best.

    `same_table` says whether both tables have the same records, and chance would hardly do that.
    `premise` says why the original does not tell what others would repeat: "twins" (equal records
    where nobody is near), "removed" (none where many are near; deviates are then NaN), or "". Of
    each original record, `found` says whether it is alone and released, and `neighbors` how many
    records of both files differ from it in exactly one variable.
    """

    rows: dict[str, Row]
    same_table: bool
    baseline_problem: str
    identical: Bools
    neighbors: Ints


@dataclass(frozen=True)
class _Files:
    """Both files, and their records in groups of equal ones.

    `cell` and `of_record` number the groups of the original's and the release's records, `o` and
    `s` count both in each group, and `neighbors` the records of each file that differ from it in
    exactly one variable, (2, n_groups).
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
        """Find the groups of both files' equal records."""
        levels = [int(k) for k in n_levels]
        cell, of_record = cell_ids(range(len(levels)), levels, original, released)
        o, s = cell_counts(cell, of_record)
        neighbors = _neighbors(levels, original, released)
        return cls(original, released, levels, cell, of_record, o, s, neighbors)


def copies(
    original: Codes, released: Codes, n_levels: Levels, holdout: Codes | None = None, *,
    numbers: Numbers = MappingProxyType({}),
) -> Copies:  # fmt: skip
    r"""Count released records that repeat an original one, and those expected by coincidence.

    With o and s counting the original and the released records of a combination, of f_1
    combinations with o = 1 and n records, other people's records repeat an original one with
    probability 1 - f_1 / n. The tail is beta-binomial, with the error of that.

    Of combinations with t = o + s > 1 records, those with o = 1 are held against those that lie in
    one file alone, o = t or s = t. A random division leaves the former with the hypergeometric odds
    of the three. Combinations are weighted by log(1 + 5 / (k + 1/2)), with k the records of both
    files that differ from them in one variable. The share handed out is the weight of the former
    less their odds times that of the latter, over the weight of all who are alone. Its tail is that
    of independent weighted Bernoulli variables, by a saddlepoint: once so and once without s = t,
    since a rough generator has many equal records of its own. The larger excess counts.

    `held_out` are people of the same population who are not in the original; `numbers` those behind
    columns that were cut, by column, of the original's records and of the release's.
    """
    files = _Files.of(original, released, n_levels)
    original_alone = _baseline_problem(original, files.levels, files.o, files.neighbors.sum(axis=0))
    release_alone = _baseline_problem(released, files.levels, files.s, files.neighbors.sum(axis=0))
    comparable = original_alone != "deduplicated"
    exact = _exact(files, numbers) if numbers else files

    handed_out = _copied_share(files)
    near = find_near_duplicates(original, released, files.levels)
    if not comparable:
        handed_out["z_permutation"] = near["z_permutation"] = np.nan
    itself = new_row(
        "excess over own duplicates",
        len(released),
        detail="original records against the release's own",
    )
    at_most = 1.0
    if comparable and release_alone != "deduplicated":
        itself, at_most = _excess_over_own_duplicates(files)
        if numbers:
            _, at_most = _excess_over_own_duplicates(exact)
    at_most = max(at_most, _upper_limit(_copied_share(exact)))
    repeated = _identical_records(files, holdout, original_alone, (handed_out, near))
    repeated["detail"] += ", numbers binned" if numbers else ""
    rows = [
        repeated,
        handed_out,
        _undetected_copies(exact, at_most, numbers),
        near,
        most_repeated_unique(files.o, files.s, *files.neighbors),
        itself,
        _identical_before_binning(
            files, numbers, comparable=not original_alone or holdout is not None
        ),
        _row_order(original, released),
    ]
    unique_and_released = (files.o == 1) & (files.s > 0)
    return Copies(
        {row["question"]: row for row in rows},
        _is_same_table(files),
        original_alone if holdout is None else "",
        unique_and_released[files.cell],
        files.neighbors.sum(axis=0)[files.cell],
    )


def _identical_records(
    files: _Files, holdout: Codes | None, baseline_problem: str, more: Sequence[Row]
) -> Row:
    """Share of the released records that repeat an original one, beside that of other people's."""
    m = len(files.released)
    value = float(files.s[files.o > 0].sum() / m)
    others, others_error, a, b = _expected_duplicate_rate(
        files.original, files.levels, holdout, not baseline_problem
    )
    row = new_row(
        "identical records", m, detail="records identical to an original record",
        estimate=value, baseline=others,
        se=float(np.sqrt(value * (1 - value) / m)), baseline_se=others_error,
        z_permutation=float(np.fmax.reduce([one["z_permutation"] for one in more])),
    )  # fmt: skip
    if baseline_problem != "deduplicated" or holdout is not None:
        row["z"] = beta_binomial_z(round(value * m), m, a, b)
    return row


def _is_same_table(files: _Files) -> bool:
    """Whether both tables have the same records, and chance would hardly do that."""
    o, n = files.o, len(files.original)
    if np.array_equal(files.original, files.released):
        chance = np.prod((o / n) ** o)  # drawn from the table's shares, in this order
    else:
        chance = scipy.stats.multinomial.pmf(o, n, o / n)
    return bool((o == files.s).all() and chance < COINCIDENCE)


def _identical_before_binning(files: _Files, numbers: Numbers, comparable: bool) -> Row:
    """Share of complete copies, with numbers as the files have them, and their excess."""
    n, m = len(files.original), len(files.released)
    people, records = _with_numbers(files, numbers)
    complete = int(np.isin(records, people).sum())
    others, error = _good_duplicate_rate(np.bincount(people))
    row = new_row("identical before binning", m, detail="numbers not binned")
    row |= {"estimate": complete / m, "baseline": others, "baseline_se": error}
    row["z"] = beta_binomial_z(complete, m, *beta(others, error, n))
    if numbers and comparable:
        row["z_permutation"] = permutation_z(people, records)
    return row


def _with_numbers(files: _Files, numbers: Numbers) -> list[Ints]:
    """Number the records of both files by their values, with numbers as the files have them."""
    every = range(len(files.levels))
    return Keys.of([files.original, files.released], files.levels, every, numbers).cell_ids()


def _exact(files: _Files, numbers: Numbers) -> _Files:
    """Return the files with groups of records whose numbers are equal as well."""
    people, records = _with_numbers(files, numbers)
    o, s = cell_counts(people, records)
    both = np.concatenate([people, records])
    first = np.unique(both, return_index=True)[1]
    neighbors = files.neighbors[:, np.concatenate([files.cell, files.of_record])[first]]
    return replace(files, cell=people, of_record=records, o=o, s=s, neighbors=neighbors)


def _weights(neighbors: Ints) -> Floats:
    return np.log1p(COPIED / (neighbors.sum(axis=0) + ITSELF))


def _copied_share(files: _Files) -> Row:
    """Share of the people alone who were handed out, and its excess; NaN where nobody is alone."""
    o, s, weight = files.o, files.s, _weights(files.neighbors)
    unique, met = o == 1, (o == 1) & (s > 0)
    everyone = weight[unique].sum()
    row = new_row("copied uniques", int(unique.sum()), detail=_UNIQUE, baseline=0.0)
    if not everyone:
        return row
    pure, prob = split_odds(o, s, both=True)
    beyond = weight * np.where(met, 1.0, np.where(pure, -prob / (1 - prob), 0.0))
    share = beyond.sum() / everyone
    # Of a sure thing there is no error: with all handed out, none is left to chance.
    variance = (beyond[met] ** 2).sum() * (1 - np.clip(share, 0, 1)) + (beyond[~met] ** 2).sum()
    return row | {
        "estimate": float(share),
        "se": float(np.sqrt(variance) / everyone),
        "z_permutation": max(split_z(o, s, weight, both) for both in (True, False)),
    }


def _upper_limit(row: Row) -> float:
    """Upper limit of a share; 0 where there is none."""
    return float(np.nan_to_num(row["estimate"] + special.ndtri(LIMIT) * row["se"]))


def _undetected_copies(files: _Files, at_most: float, numbers: Numbers) -> Row:
    """Upper limit of the share of the people alone who could be copied; NaN where nobody is.

    Were all copied who are met, their weighted number would be Poisson.
    """
    weight = _weights(files.neighbors)
    unique = files.o == 1
    row = new_row("undetected copies", int(unique.sum()), detail=_UNIQUE)
    if not unique.any():
        return row
    met = unique & (files.s > 0)
    mean = (weight[met] ** 2).sum() / weight[met].sum() if met.any() else weight[unique].mean()
    limit = mean * scipy.stats.chi2.ppf(LIMIT, 2 * (weight[met].sum() / mean + 1)) / 2
    row["estimate"] = float(min(1.0, at_most, limit / weight[unique].sum()))
    row["baseline"] = share_matched_by_fresh_sample(
        files.original, files.levels, len(files.released), numbers
    )
    return row


def _excess_over_own_duplicates(files: _Files) -> tuple[Row, float]:
    """Hold people who are found in a release against its own records; and limit their excess.

    A tenth of the original and a tenth of the release are taken, ten times. Of both, records alone
    in their tenth are sought in the other nine tenths of the release, in strata of their log
    density in a tree of pairs of variables (Chow and Liu 1968) with the shares of these nine
    tenths. The score is the covariance of file and finding in each stratum over the share found
    there; its error is between combinations. The limit is that of the share by which people are
    found more often, each stratum weighed by its people, and of nine tenths of the release.
    """
    row = new_row(
        "excess over own duplicates",
        len(files.released),
        detail="original records against the release's own",
    )
    sought = _sought(files)
    if sought is None:
        return row, 1.0
    of_original, found, log_p, key = sought
    stratum = np.digitize(log_p, np.quantile(log_p, np.arange(1, STRATA) / STRATA))
    records = np.bincount(stratum, minlength=STRATA)
    people = np.bincount(stratum, of_original, STRATA)
    share = people / np.maximum(records, 1)
    hits = np.bincount(stratum, found, STRATA) / np.maximum(records, 1)
    moves = 1 / (hits[stratum] + RARELY) * (of_original - share[stratum]) * (found - hits[stratum])
    row["z"] = z_score(moves.sum(), clustered_se(moves, key))

    own = records - people
    by_people = np.bincount(stratum, of_original * found, STRATA) / np.maximum(people, 1)
    by_own = np.bincount(stratum, (1 - of_original) * found, STRATA) / np.maximum(own, 1)
    weight = people / max(people.sum(), 1)
    row["estimate"] = float(weight @ by_people)
    row["baseline"] = float(weight @ by_own)
    one_more = np.where(of_original, 1 / np.maximum(people, 1)[stratum], 0.0)
    one_more -= np.where(of_original, 0.0, 1 / np.maximum(own, 1)[stratum])
    error = clustered_se(weight[stratum] * one_more * (found - hits[stratum]), key)
    error = np.hypot(error, 2 / max(people.sum(), 1))  # a pair more than was seen
    above = max(row["estimate"] - row["baseline"], 0.0) + special.ndtri(LIMIT) * error
    # Copies are no more than this where those of them that chance would make as well count, too.
    found_anyway = min(row["baseline"], 1 - 1e-9)
    return row, float(min(1.0, above / (1 - 1 / PARTS) / (1 - found_anyway)))


def _sought(files: _Files) -> tuple[Ints, Ints, Floats, Ints] | None:
    """Seek records that are alone in a tenth of their file in nine tenths of the release.

    Returns
    -------
    of_original, found, log_p, group : (n_sought,)
        Whether each is an original record, whether it was found, its log density in these nine
        tenths, and its group of equal records. None where files are too small.
    """
    n, m = len(files.original), len(files.released)
    size = min(n, m) // PARTS
    if size < STRATA:
        return None
    # Sorted files are spread over the parts, and rows of the same number over different ones.
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
    if not len(group):  # nobody is alone, even in a tenth
        return None
    return of_original, found.astype(int), log_p, group


def _expected_duplicate_rate(
    original: Codes, levels: Sequence[int], holdout: Codes | None = None, trusted: bool = True
) -> tuple[float, float, float, float]:
    """Share of other people's records that repeat an original one, its error, and a beta law.

    By the original or, where that is surer or the original is not trusted, by people held out.
    """
    n = len(original)
    (cell,) = cell_ids(range(len(levels)), levels, original)
    counts = np.bincount(cell)
    share, error = _good_duplicate_rate(counts)
    by_original = share, error, *beta(share, error, n)
    if holdout is None:
        return by_original
    kept, others = cell_ids(range(len(levels)), levels, original, holdout)
    again, h = (counts_at(kept, others) > 0).sum(), len(holdout)
    share = (again + 0.5) / (h + 1)
    by_strangers = float(np.sqrt(share * (1 - share) / h))
    if trusted and by_strangers > error:
        return by_original
    return float(again / h), by_strangers, again + 0.5, h - again + 0.5


def _good_duplicate_rate(counts: Ints) -> tuple[float, float]:
    """Share of other people's records that repeat one of counted values, and its standard error.

    Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). One pair is the
    least that it is computed from: none would make every repetition a certain copy.
    """
    n = int(counts.sum())
    once = np.count_nonzero(counts == 1)
    pairs = max(int(np.count_nonzero(counts == 2)), 1)
    error = np.sqrt(once * (1 - once / n) + 2 * pairs) / n
    return float(1 - once / n), float(error)


def _baseline_problem(table: Codes, levels: Sequence[int], counts: Ints, neighbors: Ints) -> str:
    """Reason that a table does not tell how often strangers repeat it, if there is one."""
    lonely = (neighbors == 0) & (counts > 0)
    twins = lonely & (counts > 1)
    if twins.sum() >= FEWEST_TWINS and counts[twins].sum() > TWINS * counts[lonely].sum():
        return "duplicates"
    if (counts > 1).any():
        return ""
    # A record's own place is settled as densely as those around it, as a rule more so.
    around = sum(len(np.unique(column)) - 1 for column in table.T)
    pairs = _neighbors(levels, table).sum() / 2
    return "deduplicated" if pairs > REMOVED * around else ""


def _neighbors(levels: Sequence[int], *tables: Codes) -> Ints:
    """Records of each table that differ from each group in exactly one variable, (n_tables, ...).

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
    """Share of values that agree row by row, as a row of the table."""
    best, second_best, z = aligned_rows(original, released)
    row = new_row("row order", len(released), detail="values that agree row by row")
    return row | {"estimate": best, "baseline": second_best, "z": z}


def aligned_rows(original: Codes, released: Codes) -> tuple[float, float, float]:
    """Values that agree row by row at the best and at the second best distance, and by how much.

    Rows at other distances, and not rows at random, since both files may be sorted or periodic.
    """
    n, m = len(original), len(released)
    most, rows, agree = min(n, m) // 2, min(n, m, ROWS), []
    reach = {*range(min(61, most + 1)), *np.geomspace(1, most, 40).astype(int).tolist()}
    for k in sorted({sign * k for k in reach for sign in (1, -1)}):
        pairs = zip(original[max(-k, 0) :][:rows].T, released[max(k, 0) :][:rows].T, strict=True)
        length = min(rows, n - max(-k, 0), m - max(k, 0))
        agree.append(np.mean([x[:length] == z[:length] for x, z in pairs], axis=0))
    means = np.array([each.mean() for each in agree])
    second_best, best = np.argsort(means)[-2:]
    error = np.hypot(*(agree[k].std() / np.sqrt(len(agree[k])) for k in (best, second_best)))
    difference = means[best] - means[second_best]
    return float(means[best]), float(means[second_best]), z_score(difference, error)
