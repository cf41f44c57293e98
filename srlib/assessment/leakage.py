r"""Leakage: a release tells more of the people in the file than other people's records would.

A release that knows the population, and nobody's record in particular, is at best as good as a
fresh sample of that population. Were it one, the records of both files would be exchangeable, and
what the release tells of the people in the file could be foretold from the original alone:

- `copies`. A fresh record repeats one of the original's with the probability with which an
  original record repeats another one (Good 1953, Biometrika 40, 237-264: one minus the share of
  records that are alone with their values). And equal records lie in the two files as a random
  division of both would leave them. Those in thinly settled places, where strangers hardly ever
  meet, weigh most. The same with some variables left out finds records that were changed in a few
  values.
- `identity`. How many people are alone with their keys in parts of the file foretells how many of
  those alone would meet a fresh record. And equal keys lie in the two files as a random division of
  both would leave them.
- `attributes`. What all other people in the file disclose of a person, by the rule by which the
  release is read.

No model enters these, and no threshold is estimated from the release. Copies can hide: a generator
that is rougher than the population repeats fewer records than strangers would. So the release is
also held against itself: does it repeat people in the file more often than it repeats its own
records, where it is as dense? That is a sign and no proof, since a tool that garbles only some of
its records, or suppresses repeats, does so without copies. `Copies.at_most` bounds what could hide.
Where the original repeats people (households, weights), or was rid of equal records, it does not
tell what strangers would repeat: `Copies.premise` says so.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats
from scipy.sparse import csgraph

from srlib.assessment.matching import checked, share_alike
from srlib.data.codes import Codes, Levels, row_numbers
from srlib.threads import one_blas_thread

# Weight of a pair with k neighbors, log(1 + COPIED / (k + ITSELF)): the logarithm of how much more
# often such a pair lies across the files if some of the records were copied. Set once; any
# weights that depend on both files alike leave the test exact.
COPIED, ITSELF = 5.0, 0.5
COINCIDENCE = 1e-3  # equal tables are a coincidence if that is at least this probable
FEWEST = 3  # fewer coincidences than these are no sign of anything
# Variables are left out in blocks of these shares, from ten places at most.
LEFT_OUT, PLACES = (0.3, 0.5), 10
ROWS = 20_000  # rows whose order is compared
PAIRS = 50_000_000  # pairs of a released and another record whose distance is computed

# Repeated people without neighbors are twins from this share of all without neighbors on, and
# from this number of pairs.
TWINS, FEWEST_TWINS = 0.25, 10
# Pairs of equal records that are to be expected where there is none, before it is taken for design.
REMOVED = 10.0
# Parts of both files, and strata of density, in which a release is held against itself; strata
# weigh by one over the share that is found there and this much.
PARTS, STRATA, RARELY = 10, 10, 0.005


@dataclass(frozen=True)
class Copies:
    """Released records that repeat original ones, with all their values.

    Attributes
    ----------
    repeated, repeated_error : float
        Share of the released records that repeat an original one, in [0, 1], and its standard
        error over draws of released records from one fitted generator.
    others, others_error : float
        The share expected of other people's records, and its standard error: by Good's estimate,
        or that of people held out where they are given.
    repeated_z : float
        How far the first is above the second, as the normal deviate of its tail probability.
    alone, met : int
        Original records that are alone with all their values, and how many of these stand in the
        release.
    handed_out, handed_out_error, handed_out_z : float
        Estimated share of those alone that the release was given, beyond coincidence, weighted
        towards thinly settled places; its standard error; and the excess of equal records across
        the files over a random division. NaN where nobody is alone.
    at_most : float
        Upper 95 % limit of that share if copies are spread over all who are alone, and the release
        met nobody by coincidence. NaN where nobody is alone.
    near_z : float
        The excess of equal records across the files with some of the variables left out.
    itself_z : float
        Score for a release that repeats people in the file more often than its own records, in
        standard errors, between records that its own shares make as probable. NaN where the release
        has no equal records though many nearly are, or where there are too few records.
    same_table : bool
        Whether both tables have the same records, each as often, and chance would hardly do that.
    in_order : bool
        Whether the tables are equal row by row.
    same_row, same_row_others, same_row_z : float
        Share of values that agree with those of the original's row at one distance, 0 or more rows
        before or behind, where that is largest; the share at the second best distance; their
        difference in standard errors.
    premise : str
        ``""``, or why the original does not tell what other people's records would repeat:
        ``"twins"`` (equal records where nobody is near) or ``"removed"`` (no equal records where
        many are near). Of the latter `handed_out_z` and `near_z` are NaN, and `repeated_z` as well
        unless people held out tell it; with these the premise is not needed.
    found : (n,) bool
        Whether each original record is alone with all its values and occurs in the release.
    neighbors : (n,) int
        Records of both files that differ from each original record in exactly one variable.
    released : int
        Released records.
    """

    repeated: float
    repeated_error: float
    others: float
    others_error: float
    repeated_z: float
    alone: int
    met: int
    handed_out: float
    handed_out_error: float
    handed_out_z: float
    at_most: float
    near_z: float
    itself_z: float
    same_table: bool
    in_order: bool
    same_row: float
    same_row_others: float
    same_row_z: float
    premise: str
    found: NDArray[np.bool_]
    neighbors: NDArray[np.intp]
    released: int


@dataclass(frozen=True)
class Beyond:
    """A share among people in the file, beside the share that other people's records would give.

    Attributes
    ----------
    people : int
        People that the shares are of.
    value, error : float
        The share, in [0, 1], and its standard error, as of a bootstrap of groups of people with the
        same keys together with their released records. It is no smaller, on average, than the
        spread over releases of one fitted generator; how far another fit of it would move the
        share, one release does not tell.
    others, others_error : float
        What the same number of other people's records would give, and its standard error.
    margins : float
        What a release that knows the margins only would give.
    z : float
        The difference to the larger of both in standard errors of the comparison: negative where
        the release tells less; NaN where there is nothing to compare.
    thinned : bool
        Whether the release is larger than the original, and the shares are those of as many of its
        records as the original has, drawn at random.
    """

    people: int
    value: float
    error: float
    others: float
    others_error: float
    margins: float
    z: float
    thinned: bool = False

    @property
    def baseline(self) -> float:
        """The larger of `others` and `margins`."""
        return float(np.nanmax([self.others, self.margins]))


@dataclass(frozen=True)
class OfEach:
    """What a release tells of each person in the file, beside what other people's records would.

    Attributes
    ----------
    counted : (n,) bool
        People that the share is of.
    value : (n,) float
        Probability that the person is met or disclosed: 0 or 1 unless the release is thinned.
    others, margins : (n,) float
        Parts of the expected numbers of such people, with other people's records and with a
        release that knows the margins only. Of `identity` it is the sum over people that estimates
        a number: keys that several people share foretell how often one person's are met.
    group : (n,) int
        Number of each person's keys; records with other keys are independent.
    """

    counted: NDArray[np.bool_]
    value: NDArray[np.float64]
    others: NDArray[np.float64]
    margins: NDArray[np.float64]
    group: NDArray[np.intp]


@dataclass(frozen=True)
class Nearest:
    """Whether released records lie nearer to people in the file than to people held out.

    Attributes
    ----------
    share : float
        Of the people nearest to a released record, the share who are in the original, averaged
        over the released records, in [0, 1].
    by_chance, error : float
        Mean and standard deviation of that share if the same people were divided into original
        and held-out ones at random, in tables of these sizes.
    z : float
        How far the first is above the second, in units of the third.
    records, held_out : int
        Released records that were compared, and people held out.
    """

    share: float
    by_chance: float
    error: float
    z: float
    records: int
    held_out: int


def share_of_rest(value: float, baseline: float) -> float:
    """Share of what a baseline leaves open that a value takes, (value - baseline) / (1 - baseline).

    The same scale for all baselines: 0 at the baseline, 1 where the value is 1.
    """
    if np.isnan(value) or np.isnan(baseline):
        return float("nan")
    return (value - baseline) / (1 - baseline) if baseline < 1 else 0.0


def copies(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    held_out: Codes | None = None,
) -> Copies:
    r"""Count released records that repeat an original one, and those expected by coincidence.

    With o and s counting the original and the released records of a combination, of f_1
    combinations with o = 1 and n records, other people's records repeat an original one with
    probability 1 - f_1 / n. The tail of `repeated_z` is beta-binomial, with the error of that.

    Of combinations with t = o + s > 1 records, those with one original record, o = 1, are held
    against those that lie in one file alone, o = t or s = t. A random division leaves the former
    with the hypergeometric odds of the three. Combinations are weighted by log(1 + 5 / (k + 1/2)),
    with k the records of both files that differ from them in one variable. The share of people
    alone who were handed out is the weight of the former less their odds times that of the latter,
    over the weight of all who are alone. Its tail is that of independent weighted Bernoulli
    variables, by a saddlepoint: once so and once without s = t, since a rough generator has many
    equal records of its own. The larger excess counts.

    `itself_z` takes a tenth of the original and a tenth of the release, ten times. Of both, records
    alone in their tenth are sought in the other nine tenths of the release. Strata are tenths of
    their log density in a tree of pairs of variables (Chow and Liu 1968) with the shares of these
    nine tenths. If all records came from one generator that kept none, records of both files would
    be found nearly alike in a stratum. They are not if only some records are garbled, or if repeats
    are suppressed: people then resemble the better records more than the release's own do, the
    more significantly the larger the file. The score is the covariance of file and finding in
    each stratum over the share found there; its error is between combinations.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0.
    released : (n*, p) int
        Codes from 0.
    n_levels : (p,) int
        Number of levels of each variable.
    held_out : (m, p) int, optional
        Records of people of the same population who are not in the original.

    Returns
    -------
    Copies

    Raises
    ------
    ValueError
        If a table has another number of columns, fewer than two records, or codes out of range.
    """
    given = [released] if held_out is None else [released, held_out]
    tables, levels = _two_or_more(*checked(original, given, n_levels, range(len(n_levels))))
    n, m = len(tables[0]), len(tables[1])
    both = np.concatenate(tables[:2])
    cell = row_numbers(both, levels)
    o, s = _counts(cell, n)
    neighbors = _neighbors(both, levels, cell)
    premise = _premise(tables[0], levels, o, neighbors)
    told = premise != "removed"
    repeated = float(s[o > 0].sum() / m)
    others, others_error, a, b = _repeating(tables[0], levels, *tables[2:])
    same_row, same_row_others, same_row_z = rows_alike(tables[0], tables[1])
    in_order = n == m and bool((tables[0] == tables[1]).all())
    weight = np.log1p(COPIED / (neighbors + ITSELF))
    handed_out, handed_out_error, handed_out_z, at_most = _handed_out(o, s, weight)
    met = (o == 1) & (s > 0)
    return Copies(
        repeated=repeated,
        repeated_error=float(np.sqrt(repeated * (1 - repeated) / m)),
        others=others,
        others_error=others_error,
        repeated_z=_beta_binomial_z(round(repeated * m), m, a, b)
        if told or held_out is not None
        else np.nan,
        alone=int((o == 1).sum()),
        met=int(met.sum()),
        handed_out=handed_out,
        handed_out_error=handed_out_error,
        handed_out_z=handed_out_z if told else np.nan,
        at_most=at_most,
        near_z=_near_z(both, levels, n) if told else np.nan,
        itself_z=_itself_z(tables[0], tables[1], cell, levels)
        if told and _premise(tables[1], levels, s, neighbors) != "removed"
        else np.nan,
        same_table=bool((o == s).all()) and _chance_of(o, in_order) < COINCIDENCE,
        in_order=in_order,
        same_row=same_row,
        same_row_others=same_row_others,
        same_row_z=same_row_z,
        premise=premise if held_out is None else "",
        found=met[cell[:n]],
        neighbors=neighbors[cell[:n]],
        released=m,
    )


def nearest(original: Codes, released: Codes, held_out: Codes, n_levels: Levels) -> Nearest:
    r"""Compare released records with people in the file and people held out.

    The nearest people to a released record are those who agree with it in most variables. A
    release that was made of neither table would have the original's people among them in
    proportion to their number. Of N = n + h people, the share is the sum over the original's of
    their weights :math:`w_i`, where a released record divides 1 / n* among its nearest people.
    Under random division it has the mean n / N and the variance

    .. math:: \frac{n h}{N (N - 1)} \sum_i (w_i - \bar w)^2.

    Any model fitted to the original follows its chance features, so that an honest release may
    lie a little above; the more parameters, the more. No copies are needed for that, and the test
    is no part of the verdict. Platzer and Reutterer (2021, Frontiers in Big Data 4) compare the
    same distances.

    Parameters
    ----------
    original, released, held_out : (n, p), (n*, p), (h, p) int
        Codes from 0; `held_out` of people of the same population who are not in the original.
    n_levels : (p,) int
        Number of levels of each variable.

    Returns
    -------
    Nearest
        Over evenly spaced released records where there are more than 5e7 pairs.

    Raises
    ------
    ValueError
        As `copies`.
    """
    tables, levels = checked(original, [released, held_out], n_levels, range(len(n_levels)))
    people = np.concatenate([tables[0], tables[2]])
    n, total = len(tables[0]), len(people)
    cell = row_numbers(people, levels)
    counts = np.bincount(cell)
    which = np.zeros(len(counts), np.intp)
    which[cell] = np.arange(total)
    each = people[which].astype(np.uint16)
    rows = np.linspace(0, len(tables[1]) - 1, min(len(tables[1]), max(PAIRS // len(each), 1)))
    made, times = np.unique(tables[1][rows.astype(int)], axis=0, return_counts=True)
    weight = np.zeros(len(each))
    block = max(1_000_000 // len(each), 1)
    for start in range(0, len(made), block):
        some = made[start : start + block].astype(np.uint16)
        agree = np.zeros((len(some), len(each)), np.uint16)
        for column, values in zip(some.T, each.T, strict=True):
            agree += column[:, None] == values
        closest = agree == agree.max(axis=1, keepdims=True)
        weight += (times[start : start + block] / (closest @ counts)) @ closest
    of_person = weight[cell] / len(rows)
    share, by_chance = float(of_person[:n].sum()), n / total
    spread = ((of_person - 1 / total) ** 2).sum() / (total - 1)
    error = float(np.sqrt(by_chance * (total - n) * spread))
    return Nearest(
        share=share,
        by_chance=by_chance,
        error=error,
        z=_ratio(share - by_chance, error),
        records=len(rows),
        held_out=total - n,
    )


def _itself_z(
    original: Codes, released: Codes, cell: NDArray[np.intp], levels: Sequence[int]
) -> float:
    """Excess of people found in a release over its own records found there, as `copies` says."""
    n, m = len(original), len(released)
    if (size := min(n, m) // PARTS) < STRATA:
        return np.nan
    of_person, of_record = cell[:n], cell[n:]
    # Sorted files are spread over the parts, and rows of the same number over different ones.
    parts = np.arange(n) % PARTS, (np.arange(m) * (5**0.5 - 1) / 2 % 1 * PARTS).astype(int)
    every, edges = (
        np.bincount(of_record, minlength=cell.max() + 1),
        _tree_of_pairs(released, levels),
    )
    tables = [
        np.bincount(_pair(released, levels, a, b), minlength=levels[a] * levels[b])
        for a, b in edges
    ]
    person, found, density, keys = [], [], [], []
    for part in range(PARTS):
        rest = every - np.bincount(of_record[parts[1] == part], minlength=len(every))
        own = released[parts[1] == part]
        for is_person, codes, key in ((1, original, of_person), (0, released, of_record)):
            rows = np.flatnonzero(parts[1 - is_person] == part)
            rows = rows[np.arange(size) * len(rows) // size]
            rows = rows[np.bincount(key[rows])[key[rows]] == 1]
            log_p = np.zeros(len(rows))
            for (above, below), table in zip(edges, tables, strict=True):
                pairs = _pair(own, levels, above, below)
                without = (table - np.bincount(pairs, minlength=len(table))).reshape(
                    levels[above], levels[below]
                )
                margin = without.sum(axis=0) + 0.5
                counts = without + 2 * margin / margin.sum()
                share = counts / (margin.sum() if above == below else counts.sum(1, keepdims=True))
                log_p += np.log(share[codes[rows, above], codes[rows, below]])
            person.append(np.full(len(rows), float(is_person)))
            found.append((rest[key[rows]] > 0).astype(float))
            density.append(log_p)
            keys.append(key[rows])
    of, met, log_p, key = map(np.concatenate, (person, found, density, keys))
    if not len(key):  # nobody is alone, even in a tenth
        return np.nan
    stratum = np.digitize(log_p, np.quantile(log_p, np.arange(1, STRATA) / STRATA))
    people = np.bincount(stratum, minlength=STRATA)
    share, hits = (np.bincount(stratum, v, STRATA) / np.maximum(people, 1) for v in (of, met))
    moves = 1 / (hits[stratum] + RARELY) * (of - share[stratum]) * (met - hits[stratum])
    error = np.sqrt((np.bincount(key, moves) ** 2).sum())
    return float(moves.sum() / error) if error else 0.0


def _pair(codes: Codes, levels: Sequence[int], above: int, below: int) -> NDArray[np.int64]:
    """Number of the cell of two variables that each record is in."""
    return codes[:, above].astype(np.int64) * levels[below] + codes[:, below]


def _tree_of_pairs(codes: Codes, levels: Sequence[int]) -> list[tuple[int, int]]:
    """Edges, from the root down, of the tree of pairs with the most mutual information."""
    some, p = codes[:: -(-len(codes) // ROWS)], len(levels)
    information = np.zeros((p, p))
    for above, below in itertools.combinations(range(p), 2):
        counts = np.bincount(
            _pair(some, levels, above, below), minlength=levels[above] * levels[below]
        )
        joint = counts.reshape(levels[above], -1) / len(some)
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        chance = (levels[above] - 1) * (levels[below] - 1) / (2 * len(some))
        information[above, below] = special.rel_entr(joint, apart).sum() - chance
    # Weights must not be zero, which means no edge.
    tree = csgraph.minimum_spanning_tree(np.triu(information.min() - 1 - information, 1))
    order, parents = csgraph.breadth_first_order(tree, 0, directed=False)
    return [(0, 0), *((int(parents[k]), int(k)) for k in order[1:])]


def _handed_out(
    o: NDArray[np.intp], s: NDArray[np.intp], weight: NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Share of people alone who were handed out, its error, its excess, and its upper limit.

    NaN where nobody is alone.
    """
    alone, met = o == 1, (o == 1) & (s > 0)
    everyone = weight[alone].sum()
    if not everyone:
        return np.nan, np.nan, np.nan, np.nan
    pure, p = _divided(o, s, every=True)
    beyond = weight * np.where(met, 1.0, np.where(pure, -p / (1 - p), 0.0))
    share = beyond.sum() / everyone
    # Of a sure thing there is no error: with all handed out, none is left to chance.
    variance = (beyond[met] ** 2).sum() * (1 - np.clip(share, 0, 1)) + (beyond[~met] ** 2).sum()
    excess = max(_across_z(o, s, weight, every) for every in (True, False))
    at_most = _upper_limit(weight[met], weight[alone])
    return float(share), float(np.sqrt(variance) / everyone), excess, at_most


def identity(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    held_out: Codes | None = None,
) -> Beyond:
    r"""Share of the people alone with their keys who meet a released record with them.

    In a random part of the file of t n records, a person with k - 1 companions is alone, if they
    are in it, with probability (1 - t)^{k-1}. Let g(t) be the sum of that over the n people. Other
    people's records would leave of those alone the share g(1 + r) / g(1) unmet, with r = n* / n.
    Beyond the file, log g is extrapolated in log t by the parabola through three points,

    .. math:: \hat g(1 + r) = g(1)^3 \, g(1 / (1 + r))^{-3} \, g(1 / (1 + r)^2).

    Where g falls as a power of t, that leaves the share unmet that is left when the original is
    divided at random in the proportion of both files. With people held out, companions are those
    in both tables, and g is known as far as these reach. The release has no part in it but its
    size. A release that is larger than the original is thinned to its size: of s records each is
    kept with probability 1 / r.

    Two tests ask whether more are met, and the larger deviate counts. The tail of the first is
    beta-binomial, with the error of the prediction. The second is that of `copies` without weights,
    which needs no prediction: it is sharper, but blind to a release with many keys of its own.

    Parameters
    ----------
    original, released, n_levels, held_out
        As `copies`.
    keys : sequence of int
        Columns that the intruder knows.

    Returns
    -------
    Beyond
        Of the people who are alone with their keys. `margins` draws each key from its margin.
    """
    each = identity_of_each(original, released, n_levels, keys, held_out)
    people, thinned = int(each.counted.sum()), len(released) > len(original)
    if not people:
        return Beyond(0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, thinned)
    met, by_margins = float(each.value.sum()), float(each.margins.sum())
    value, share = met / people, float(each.others.sum()) / people
    # One pair of people who share keys, more than were seen: where there is none, the prediction
    # would have no error.
    error = max(_error(each.group, each.others - share * each.counted), 2.0) / people
    others = max(share, 0.0)
    tables, levels = checked(original, [released], n_levels, keys)
    o, s = _counts(row_numbers(np.concatenate(tables), levels), len(original))
    spread = np.sqrt((each.margins * (1 - each.margins)).sum())
    return Beyond(
        people=people,
        value=value,
        error=float(np.sqrt(value * (1 - value) / people)),
        others=others,
        others_error=error,
        margins=by_margins / people,
        z=min(
            max(
                _beta_binomial_z(round(met), people, *_beta(others, error, people)),
                _across_z(o, s, np.ones(len(o)), every=True),
            ),
            _ratio(met - by_margins, float(spread)),
        ),
        thinned=thinned,
    )


def identity_of_each(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    held_out: Codes | None = None,
) -> OfEach:
    """Find the people alone with their keys who meet a released record; arguments as `identity`."""
    given = [released] if held_out is None else [released, held_out]
    tables, levels = _two_or_more(*checked(original, given, n_levels, keys))
    key = row_numbers(np.concatenate(tables), levels)
    return met_of_each(key, (len(original), len(released)), by_margins(tables[0]))


def by_margins(keys: Codes) -> NDArray[np.float64]:
    """Probability of each record's keys, (n,), if each key is drawn from its margin alone."""
    return np.prod([share_alike(column) for column in keys.T], axis=0)


def met_of_each(key: NDArray[np.intp], sizes: tuple[int, int], prob: NDArray[np.float64]) -> OfEach:
    """Find the people alone with their keys who meet a released record, as `identity` counts them.

    Parameters
    ----------
    key : (n + n* + h,) int
        Number of each record's keys: the original's, the released and the held out.
    sizes : (n, n*)
        Records of the first two.
    prob : (n,) float
        As `by_margins` returns.
    """
    n, m = sizes
    parts = np.split(key, [n, n + m])
    o, s, h = (np.bincount(part, minlength=int(key.max()) + 1)[parts[0]] for part in parts)
    size, missed, alone = min(m, n), (1 - min(1.0, n / m)) ** s, o == 1
    margins = -np.expm1(size * np.log1p(-np.minimum(prob, 1 - 1e-12)))
    return OfEach(
        counted=alone,
        value=np.where(alone, 1 - missed, 0.0),
        others=_by_others(alone, o + h, 1 + size / n, (len(key) - m) / n),
        margins=np.where(alone, margins, 0.0),
        group=parts[0],
    )


def _by_others(
    alone: NDArray[np.bool_], people: NDArray[np.intp], wanted: float, known: float
) -> NDArray[np.float64]:
    """Return each person's part in the number of people alone whom others' records would meet.

    It is the derivative of that number by the person, so that the parts add up to it.

    Parameters
    ----------
    alone : (n,) bool
        People alone with their keys in the original.
    people : (n,) int
        People with each person's keys, the person among them, in the original and held out.
    wanted, known : float
        The t at which `identity` needs g, and up to which these people tell it.
    """
    if not alone.any():
        return np.zeros(len(alone))
    terms = [(1, wanted)]
    if wanted > known:
        terms = [(3, known), (-3, known**2 / wanted), (1, known**3 / wanted**2)]
    log_unmet, moved = 0.0, np.zeros(len(alone))
    for power, t in (*terms, (-1, 1.0)):
        companionless = special.xlog1py(people - 1.0, -t / known)
        total = float(special.logsumexp(companionless))
        log_unmet += power * total
        if total > -np.inf:  # else nobody is left unmet
            moved += power * np.exp(companionless - total)
    unmet = np.exp(log_unmet)
    return alone * (1 - unmet) - alone.sum() * unmet * moved


def attributes(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    no_values: Sequence[int] = (),
) -> Beyond:
    r"""Share of people whose target is disclosed, rightly, by the records with their keys.

    A file discloses a person's target if it has records with the person's keys and all have the
    person's target: DiSCO (Raab, Nowok and Dibben 2024) where the file is the release. Other
    people's records are the original's without the person's own. Where one of the two files is the
    larger it is thinned to the size of the other: with d records of the keys and d_t of them with
    the target, each kept with probability b, the person is disclosed with probability
    (1 - b)^{d - d_t} (1 - (1 - b)^{d_t}).

    Parameters
    ----------
    original, released, n_levels, keys
        As `identity`.
    target : int
        Column that the intruder wants to know.
    no_values : sequence of int
        Codes of the target that are no values, as missing ones: to learn one is no disclosure, and
        people who have one are not counted.

    Returns
    -------
    Beyond
        Of all people in the file who have a value. `margins` draws the targets of the released
        records with the person's keys from the release's own margin of the target: a release that
        says the same of everybody discloses nobody.
    """
    each = attributes_of_each(original, released, n_levels, keys, target, no_values)
    return of_all(each, len(released) > len(original))


def of_all(each: OfEach, thinned: bool) -> Beyond:
    """Return the shares of the people counted who are disclosed, with errors as of `attributes`."""
    people, group = int(each.counted.sum()), each.group[each.counted]
    if not people:
        return Beyond(0, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, thinned)
    disclosed, by_others = each.value[each.counted], each.others[each.counted]
    others, margins = disclosed - by_others, disclosed - each.margins[each.counted]
    return Beyond(
        people=people,
        value=float(disclosed.mean()),
        error=_error(group, disclosed - disclosed.mean()) / people,
        others=float(by_others.mean()),
        others_error=_error(group, by_others - by_others.mean()) / people,
        margins=float(each.margins.sum() / people),
        z=min(
            # One pair of people who disclose each other, more than were seen: where there is none,
            # the others' share would have no error.
            _ratio(others.sum(), np.hypot(_error(group, others), 2.0)),
            _ratio(margins.sum(), _error(group, margins)),
        ),
        thinned=thinned,
    )


def attributes_of_each(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    no_values: Sequence[int] = (),
) -> OfEach:
    """Find the people whose target is disclosed, rightly; arguments as `attributes`."""
    tables, levels = _two_or_more(*checked(original, [released], n_levels, keys, target))
    n, m = len(tables[0]), len(tables[1])
    both = np.concatenate(tables)
    key, cell = row_numbers(both[:, :-1], levels[:-1]), row_numbers(both, levels)
    p = (np.bincount(tables[1][:, -1], minlength=levels[-1]) / m)[tables[0][:, -1]]
    valued = ~np.isin(tables[0][:, -1], no_values)
    return disclosed_of_each(key, cell, (n, m), p, valued)


def disclosed_of_each(
    key: NDArray[np.intp],
    cell: NDArray[np.intp],
    sizes: tuple[int, int],
    prob: NDArray[np.float64],
    valued: NDArray[np.bool_],
) -> OfEach:
    """Find the people whose target is disclosed, rightly, as `attributes` counts them.

    Parameters
    ----------
    key, cell : (n + n*,) int
        Number of each record's keys, the original's first, and of its keys and target together.
    sizes : (n, n*)
        Records of both files.
    prob : (n,) float
        Share of the release that has each person's target.
    valued : (n,) bool
        People who have a value of the target, and are counted.
    """
    n, _ = sizes
    (d, s), (d_t, s_t) = (
        [count[group[:n]] for count in _counts(group, n)] for group in (key, cell)
    )
    value, others, margins = (
        np.where(valued, each, 0.0) for each in by_counts(d, d_t, s, s_t, prob, sizes)
    )
    return OfEach(valued, value, others, margins, key[:n])


def by_counts(
    d: NDArray[np.intp],
    d_t: NDArray[np.intp],
    s: NDArray[np.intp],
    s_t: NDArray[np.intp],
    prob: NDArray[np.float64],
    sizes: tuple[int, int],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities that the release, others' records, and margins disclose each person's target.

    Parameters
    ----------
    d, d_t : (people,) int
        Original records with the person's keys, the person's own among them, and how many of them
        have the person's target.
    s, s_t : (people,) int
        The same of the released records.
    prob : (people,) float
        Share of the release that has each person's target.
    sizes : (n, n*)
        Records of both files.
    """
    n, m = sizes
    kept = min(1.0, n / m)
    q = kept * prob + 1 - kept  # each of s records was not kept, or has the target
    return (
        _disclosed(s, s_t, kept),
        _disclosed(d - 1, d_t - 1, min(1.0, m / n)),
        np.where(s > 0, q**s - (1 - kept) ** s, 0.0),
    )


def _disclosed(
    records: NDArray[np.intp], right: NDArray[np.intp], kept: float
) -> NDArray[np.float64]:
    """Probability that of the records kept some, and all, have the right target."""
    missed = 1 - kept
    return missed ** (records - right) * (1 - missed**right)


def _error(group: NDArray[np.intp], values: NDArray[np.float64]) -> float:
    """Standard error of a sum over records whose groups are independent."""
    return float(np.sqrt((np.bincount(group, values) ** 2).sum()))


def _ratio(difference: float, error: float) -> float:
    """A difference in its standard errors; 0 where there is neither."""
    if error > 0:
        return float(difference / error)
    return float(np.copysign(np.inf, difference)) if difference else 0.0


def _two_or_more(tables: list[Codes], levels: list[int]) -> tuple[list[Codes], list[int]]:
    """Return the tables and levels if each table has two records or more."""
    if min(len(table) for table in tables) < 2:
        raise ValueError(f"tables have {[len(t) for t in tables]} records; each needs two or more")
    return tables, levels


def _counts(group: NDArray[np.intp], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Original and released records of each group."""
    size = int(group.max()) + 1
    return np.bincount(group[:n], minlength=size), np.bincount(group[n:], minlength=size)


def _repeating(
    original: Codes, levels: Sequence[int], held_out: Codes | None = None
) -> tuple[float, float, float, float]:
    """Share of other people's records that repeat an original one, its error, and a beta law."""
    n = len(original)
    if held_out is not None:
        cell = row_numbers(np.concatenate([original, held_out]), levels)
        again, h = np.isin(cell[n:], cell[:n]).sum(), len(held_out)
        share = (again + 0.5) / (h + 1)
        error = float(np.sqrt(share * (1 - share) / h))
        return float(again / h), error, again + 0.5, h - again + 0.5
    counts = np.bincount(row_numbers(original, levels))
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    # Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). One pair is
    # the least that it is computed from: none would make every repetition a certain copy.
    error = float(np.sqrt(once * (1 - once / n) + 2 * max(twice, 1)) / n)
    return float(1 - once / n), error, *_beta(1 - once / n, error, n)


def _beta(share: float, error: float, n: int) -> tuple[float, float]:
    """Return the beta law of a share of n with a standard error."""
    share = min(max(share, 0.5 / n), 1 - 0.5 / n)
    size = max(share * (1 - share) / error**2 - 1, 1.0)
    return float(share * size), float((1 - share) * size)


def _beta_binomial_z(k: int, m: int, a: float, b: float) -> float:
    """Normal deviate of the tail of k of m with a beta-distributed probability."""
    share = a / (a + b)
    spread = np.sqrt(share * (1 - share) * (1 / m + 1 / (a + b + 1)))
    normal = float((k / m - share) / spread)
    if k < FEWEST:
        return min(normal, 0.0)
    if normal <= 0 or min(m, a + b) * share * (1 - share) > 1_000:
        return normal
    tail = stats.betabinom.sf(k - 1, m, a, b)
    return min(normal, float(stats.norm.isf(tail))) if tail > 1e-15 else normal


def _divided(
    o: NDArray[np.intp], s: NDArray[np.intp], every: bool
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Find groups of two or more in one file alone, and the odds of the others as a probability.

    The probability that a random division leaves one of the records in the original, given that it
    does so or leaves all in the original or, where `every`, all in the release.
    """
    n, m, total = int(o.sum()), int(s.sum()), o + s
    sizes, which = np.unique(total, return_inverse=True)
    left = n + m - sizes
    one = np.log(sizes) + _log_choose(left, n - 1)
    pure = _log_choose(left, m)  # all are the original's
    if every:
        pure = np.logaddexp(pure, _log_choose(left, n))
    with np.errstate(invalid="ignore"):  # no way to do either
        odds = np.where(np.isneginf(pure), np.inf, one - pure)
    p = special.expit(odds).clip(max=1 - 1e-12)
    return (total > 1) & ((s == 0) | ((o == 0) & every)), p[which]


def _log_choose(n: NDArray[np.intp], k: int) -> NDArray[np.float64]:
    """Logarithm of the number of ways to choose k of n; minus infinity where there is none."""
    possible = n >= k
    n = np.maximum(n, k)
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(possible, ways, -np.inf)


def _across_z(
    o: NDArray[np.intp], s: NDArray[np.intp], weight: NDArray[np.float64], every: bool
) -> float:
    """Excess of groups with one original record and released ones, as a normal deviate."""
    pure, p = _divided(o, s, every)
    hit = (o == 1) & (s > 0)
    some = hit | pure
    return _bernoulli_z(hit[some], p[some], weight[some])


@one_blas_thread
def _bernoulli_z(
    hit: NDArray[np.bool_], p: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Normal deviate of the upper tail of a weighted sum of independent Bernoulli variables.

    By Barndorff-Nielsen's saddlepoint, half of the smallest weight below the sum.
    """
    open_ = (p > 0) & (p < 1)
    hit, p, weight = hit[open_], p[open_], weight[open_]
    variance = (weight**2 * p * (1 - p)).sum()
    if variance == 0:
        return 0.0
    x = float(weight[hit].sum() - weight.min() / 2)
    normal = float((x - weight @ p) / np.sqrt(variance))
    if hit.sum() < FEWEST or normal <= 0.5:
        return min(normal, 0.0) if hit.sum() < FEWEST else normal
    logit = special.logit(p)

    def mean(tilt: float) -> float:
        return float(weight @ special.expit(logit + tilt * weight))

    most = 1.0
    while mean(most) < x:
        most *= 2
    tilt = optimize.brentq(lambda value: mean(value) - x, 0.0, most)
    after = special.expit(logit + tilt * weight)
    log_mean = np.logaddexp(np.log1p(-p), np.log(p) + tilt * weight).sum()
    r = np.sqrt(2 * (tilt * x - log_mean))
    u = tilt * np.sqrt((weight**2 * after * (1 - after)).sum())
    return float(r + np.log(u / r) / r)


def _near_z(codes: Codes, levels: Sequence[int], n: int) -> float:
    """Excess of equal records across the files with a block of the variables left out.

    The mean deviate over blocks that begin at ten variables at most, and the larger of two sizes of
    block. Blocks share variables, so that their mean has a deviation of 1 at most.
    """
    p, found = codes.shape[1], [0.0]
    for share in LEFT_OUT:
        size = round(share * p)
        if not 0 < size < p - 1:
            continue
        each = []
        for start in range(0, p, -(-p // PLACES)):
            kept = np.setdiff1d(np.arange(p), np.arange(start, start + size) % p)
            o, s = _counts(row_numbers(codes[:, kept], [levels[k] for k in kept]), n)
            each.append(_across_z(o, s, np.ones(len(o)), every=True))
        found.append(float(np.mean(each)))
    return max(found)


def _premise(
    original: Codes, levels: Sequence[int], o: NDArray[np.intp], neighbors: NDArray[np.intp]
) -> str:
    """Reason that the original does not tell how often strangers repeat it, if there is one."""
    lonely = (neighbors == 0) & (o > 0)
    twins = lonely & (o > 1)
    if twins.sum() >= FEWEST_TWINS and o[twins].sum() > TWINS * o[lonely].sum():
        return "twins"
    if (o <= 1).all():
        # A record's own place is settled as densely as those around it, as a rule more so.
        cell = row_numbers(original, levels)
        near = _neighbors(original, levels, cell).sum() / 2
        around = sum(len(np.unique(column)) - 1 for column in original.T)
        if around and near / around > REMOVED:
            return "removed"
    return ""


def _neighbors(codes: Codes, levels: Sequence[int], cell: NDArray[np.intp]) -> NDArray[np.intp]:
    """Records that differ from each combination in exactly one variable, (n_combinations,)."""
    size = np.bincount(cell)
    first = np.zeros(len(size), np.intp)
    first[cell] = np.arange(len(cell))
    neighbors = np.zeros(len(size), np.intp)
    for k in range(codes.shape[1]):
        if codes.shape[1] == 1:
            return len(cell) - size
        without = row_numbers(np.delete(codes, k, axis=1), np.delete(levels, k).tolist())
        neighbors += np.bincount(without)[without[first]] - size
    return neighbors


def _upper_limit(across: NDArray[np.float64], alone: NDArray[np.float64]) -> float:
    """Upper 95 % limit of a weighted Poisson count, over the weight of all."""
    if not len(across):
        mean, count = alone.mean(), 0.0
    else:
        mean = (across**2).sum() / across.sum()
        count = across.sum() / mean
    return float(min(1.0, mean * stats.chi2.ppf(0.95, 2 * (count + 1)) / 2 / alone.sum()))


def _chance_of(counts: NDArray[np.intp], in_order: bool) -> float:
    """Probability that n draws from a table's own shares are that table, in its order or any."""
    n = counts.sum()
    log_prob = special.xlogy(counts, counts / n).sum()
    if not in_order:
        log_prob += special.gammaln(n + 1) - special.gammaln(counts + 1).sum()
    return float(np.exp(log_prob))


def rows_alike(original: Codes, released: Codes) -> tuple[float, float, float]:
    """Values that agree row by row at the best and at the second best distance, and by how much.

    Rows at other distances, and not rows at random, since both files may be sorted or periodic.
    """
    n, m = len(original), len(released)
    most = min(n, m) // 2
    reach = {*range(min(61, most + 1)), *np.geomspace(1, max(most, 1), 40).astype(int).tolist()}
    distances = sorted({sign * k for k in reach for sign in (1, -1)})
    if len(distances) < 3:
        return np.nan, np.nan, np.nan
    rows = min(n, m, ROWS)
    agree = []
    for k in distances:
        first, second = original[max(-k, 0) :][:rows], released[max(k, 0) :][:rows]
        length = min(len(first), len(second))
        agree.append((first[:length] == second[:length]).mean(axis=1))
    means = np.array([each.mean() for each in agree])
    second_best, best = np.argsort(means)[-2:]
    error = np.hypot(*(agree[k].std() / np.sqrt(len(agree[k])) for k in (best, second_best)))
    difference = float(means[best] - means[second_best])
    return float(means[best]), float(means[second_best]), _ratio(difference, float(error))
