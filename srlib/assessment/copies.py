"""Copies: how often released records repeat original ones, beside how often strangers would.

Were a release a fresh sample of the population, the records of both files would be exchangeable. A
fresh record repeats an original one with the probability with which an original record repeats
another (Good 1953, Biometrika 40, 237-264: one minus the share of records that are alone with their
values), and equal records lie in the two files as a random division of both would leave them. Those
in thinly settled places, where strangers hardly ever meet, weigh most. The same with some variables
left out finds records that were changed in a few values. No model enters, and no threshold is
estimated from the release.

Copies can hide: a generator that is rougher than the population repeats fewer records than
strangers would. So the release is also held against itself: does it repeat people in the file more
often than its own records, where it is as dense? That is a sign and no proof, since a tool that
garbles only some of its records, or suppresses repeats, does so without copies. `Copies.at_most`
bounds what could hide.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # loads stats, which take a second, where they are first asked for
from scipy import special

from srlib.assessment import counting
from srlib.assessment.counting import Bools, Floats, Ints, Row, numbered, rows_of, tallied, times
from srlib.data.codes import Codes, Levels, row_numbers
from srlib.margins import log_choose, log_density, pair_table, tree_of_pairs
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

# Repeated people without neighbors are twins from this share of all without neighbors on, and
# from this number of pairs.
TWINS, FEWEST_TWINS = 0.25, 10
# Pairs of equal records that are to be expected where there is none, before it is taken for design.
REMOVED = 10.0
# Parts of both files, and strata of density, in which a release is held against itself; strata
# weigh by one over the share that is found there and this much.
PARTS, STRATA, RARELY = 10, 10, 0.005


class Copies(NamedTuple):
    """Released records that repeat original ones, with all their values.

    `rows` are those of the table, with deviates (z) that are NaN where nothing can be said. Of the
    original records that are alone with all their values, *handed out* is the estimated share that
    the release was given, beyond coincidence, and *could hide* its upper 95 % limit if copies, with
    numbers as the files have them, are spread over all of these and nobody was met by coincidence.
    The excess of equal records is that of *near copies* with some variables left out, *beyond
    itself* of people over the release's own records where its own shares make both as probable, and
    *uncut copies* with numbers as the files have them. *Same rows* is the share of values that
    agree with those of the original's row at the best distance between rows, beside the second
    best.

    `same_table` says whether both tables have the same records, and chance would hardly do that.
    `premise` says why the original does not tell what others would repeat: "twins" (equal records
    where nobody is near), "removed" (none where many are near; deviates are then NaN), or "". Of
    each original record, `found` says whether it is alone and released, and `neighbors` how many
    records of both files differ from it in exactly one variable.
    """

    rows: list[Row]
    same_table: bool
    premise: str
    found: Bools
    neighbors: Ints


def copies(
    original: Codes, released: Codes, n_levels: Levels, held_out: Codes | None = None, *,
    numbers: Sequence[Floats] = (),
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

    *Beyond itself* takes a tenth of the original and a tenth of the release, ten times. Of both,
    records alone in their tenth are sought in the other nine tenths of the release, in strata of
    their log density in a tree of pairs of variables (Chow and Liu 1968) with the shares of these
    nine tenths. The score is the covariance of file and finding in each stratum over the share
    found there; its error is between combinations.

    `held_out` are people of the same population who are not in the original; `numbers` those that
    were cut, a variable each, of the original's records and then the release's.
    """
    n, m, levels, nan = len(original), len(released), [int(k) for k in n_levels], np.nan
    cell, of_record = numbered(range(len(levels)), levels, original, released)
    o, s = tallied(cell, of_record)
    neighbors = _neighbors(levels, original, released)
    premise = _premise(original, levels, o, neighbors)
    told = premise != "removed"
    repeated = float(s[o > 0].sum() / m)
    others, others_error, a, b = _repeating(original, levels, held_out, not premise)
    # Would both be equal by chance, in order or in any, were they drawn from the table's shares?
    in_order, shares = np.array_equal(original, released), o / n
    chance = np.prod(shares**o) if in_order else scipy.stats.multinomial.pmf(o, n, shares)
    same_table = bool((o == s).all() and chance < COINCIDENCE)
    weight = np.log1p(COPIED / (neighbors + ITSELF))
    repeated_z = itself_z = uncut_z = near_z = nan
    exact = np.ones(len(o), bool)  # combinations of which a released record has the numbers, too
    if len(numbers):
        each = (np.unique(values, return_inverse=True)[1] for values in numbers)
        uncut = np.column_stack([np.append(cell, of_record), *each])
        people, records = np.split(row_numbers(uncut, uncut.max(axis=0) + 1), [n])
        exact = np.bincount(cell, np.isin(people, records), len(o)) > 0
        uncut_z = nan if premise and held_out is None else divided_z(people, records)
    handed_out, handed_out_error, handed_out_z, at_most = _handed_out(o, s, weight, exact)
    if told or held_out is not None:
        repeated_z = beta_binomial_z(round(repeated * m), m, a, b)
    handed_out_z = handed_out_z if told else nan
    if told:
        near_z = _near_z(levels, original, released)
        if _premise(released, levels, s, neighbors) != "removed":
            itself_z = _itself_z(original, released, cell, of_record, levels)
    premise = premise if held_out is None else ""
    alone, n_alone = "people alone with all their values", int((o == 1).sum())
    error, near = float(np.sqrt(repeated * (1 - repeated) / m)), np.fmax(handed_out_z, near_z)
    best, second_best, in_rows_z = rows_alike(original, released)
    rows = rows_of(
        ("copies", "records that repeat an original one", m, repeated, error, others, others_error,
         repeated_z, near),
        ("handed out", alone, n_alone, handed_out, handed_out_error, 0.0, nan, nan, handed_out_z),
        ("could hide", alone, n_alone, at_most),
        ("near copies", "some variables left out", m, nan, nan, nan, nan, nan, near_z),
        ("beyond itself", "people against its own records", m, nan, nan, nan, nan, itself_z),
        ("uncut copies", "numbers as the files have them", m, nan, nan, nan, nan, uncut_z),
        ("same rows", "values equal, row by row", m, best, nan, second_best, nan, in_rows_z),
    )  # fmt: skip
    return Copies(rows, same_table, premise, ((o == 1) & (s > 0))[cell], neighbors[cell])


def _itself_z(
    original: Codes, released: Codes, of_person: Ints, of_record: Ints, levels: Sequence[int]
) -> float:
    """Excess of people found in a release over its own records found there, as `copies` says."""
    n, m, each = len(original), len(released), []
    if (size := min(n, m) // PARTS) < STRATA:
        return np.nan
    # Sorted files are spread over the parts, and rows of the same number over different ones.
    parts = (np.arange(m) * (5**0.5 - 1) / 2 % 1 * PARTS).astype(int), np.arange(n) % PARTS
    _, every = tallied(of_person, of_record)
    tree = tree_of_pairs(released, levels)
    for part in range(PARTS):
        own = parts[0] == part
        rest = every - np.bincount(of_record[own], minlength=len(every))
        without = {
            edge: all_ - pair_table(released[own], levels, *edge) for edge, all_ in tree.items()
        }
        for is_person, (codes, key) in enumerate(((released, of_record), (original, of_person))):
            rows = np.flatnonzero(parts[is_person] == part)
            rows = rows[np.arange(size) * len(rows) // size]
            rows = rows[times(key[rows], key[rows]) == 1]
            found, of = rest[key[rows]] > 0, np.full(len(rows), is_person)
            each.append(np.array([of, found, log_density(codes[rows], without), key[rows]]))
    of, met, log_p, key = np.hstack(each)
    if not len(key):  # nobody is alone, even in a tenth
        return np.nan
    stratum = np.digitize(log_p, np.quantile(log_p, np.arange(1, STRATA) / STRATA))
    people = np.bincount(stratum, minlength=STRATA)
    share, hits = (np.bincount(stratum, v, STRATA) / np.maximum(people, 1) for v in (of, met))
    moves = 1 / (hits[stratum] + RARELY) * (of - share[stratum]) * (met - hits[stratum])
    return counting.ratio(moves.sum(), counting.error_of(moves, key.astype(int)))


def _handed_out(o: Ints, s: Ints, weight: Floats, exact: Bools) -> tuple[float, ...]:
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
    excess = max(across_z(o, s, weight, every) for every in (True, False))
    # The upper 95 % limit of a weighted Poisson count; copies have the numbers as well.
    met &= exact
    mean = (weight[met] ** 2).sum() / weight[met].sum() if met.any() else weight[alone].mean()
    limit = mean * scipy.stats.chi2.ppf(0.95, 2 * (weight[met].sum() / mean + 1)) / 2
    error = float(np.sqrt(variance) / everyone)
    return float(share), error, excess, float(min(1.0, limit / everyone))


def _repeating(
    original: Codes, levels: Sequence[int], held_out: Codes | None = None, trusted: bool = True
) -> tuple[float, float, float, float]:
    """Share of other people's records that repeat an original one, its error, and a beta law.

    By the original or, where that is surer or the original is not trusted, by people held out.
    """
    n = len(original)
    counts = np.bincount(*numbered(range(len(levels)), levels, original))
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    # Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). One pair is
    # the least that it is computed from: none would make every repetition a certain copy.
    error = float(np.sqrt(once * (1 - once / n) + 2 * max(twice, 1)) / n)
    by_original = float(1 - once / n), error, *beta(1 - once / n, error, n)
    if held_out is None:
        return by_original
    kept, others = numbered(range(len(levels)), levels, original, held_out)
    again, h = (times(kept, others) > 0).sum(), len(held_out)
    share = (again + 0.5) / (h + 1)
    by_strangers = float(np.sqrt(share * (1 - share) / h))
    if trusted and by_strangers > error:
        return by_original
    return float(again / h), by_strangers, again + 0.5, h - again + 0.5


def beta(share: float, error: float, n: int) -> tuple[float, float]:
    """Return the beta law of a share of n with a standard error."""
    share = min(max(share, 0.5 / n), 1 - 0.5 / n)
    size = max(share * (1 - share) / error**2 - 1, 1.0)
    return float(share * size), float((1 - share) * size)


def beta_binomial_z(k: int, m: int, a: float, b: float) -> float:
    """Normal deviate of the tail of k of m with a beta-distributed probability."""
    share = a / (a + b)
    spread = np.sqrt(share * (1 - share) * (1 / m + 1 / (a + b + 1)))
    normal = float((k / m - share) / spread)
    if k < FEWEST:
        return min(normal, 0.0)
    if normal <= 0 or min(m, a + b) * share * (1 - share) > 1_000:
        return normal
    tail = scipy.stats.betabinom.sf(k - 1, m, a, b)
    return min(normal, float(scipy.stats.norm.isf(tail))) if tail > 1e-15 else normal


def _divided(o: Ints, s: Ints, every: bool) -> tuple[Bools, Floats]:
    """Find groups of two or more in one file alone, and the odds of the others as a probability.

    The probability that a random division leaves one of the records in the original, given that it
    does so or leaves all in the original or, where `every`, all in the release.
    """
    n, m, total = int(o.sum()), int(s.sum()), o + s
    sizes, which = np.unique(total, return_inverse=True)
    left = n + m - sizes
    one = np.log(sizes) + log_choose(left, n - 1)
    pure = log_choose(left, m)  # all are the original's
    if every:
        pure = np.logaddexp(pure, log_choose(left, n))
    with np.errstate(invalid="ignore"):  # no way to do either
        odds = np.where(np.isneginf(pure), np.inf, one - pure)
    p = special.expit(odds).clip(max=1 - 1e-12)
    return (total > 1) & ((s == 0) | ((o == 0) & every)), p[which]


def across_z(o: Ints, s: Ints, weight: Floats, every: bool) -> float:
    """Excess of groups with one original record and released ones, as a normal deviate."""
    pure, p = _divided(o, s, every)
    hit = (o == 1) & (s > 0)
    some = hit | pure
    return _bernoulli_z(hit[some], p[some], weight[some])


def divided_z(of_original: Ints, of_release: Ints) -> float:
    """Excess of rows met over a random division of both files, without weights."""
    o, s = tallied(of_original, of_release)
    return across_z(o, s, np.ones(len(o)), every=True)


@one_blas_thread
def _bernoulli_z(hit: Bools, p: Floats, weight: Floats) -> float:
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
    if hit.sum() < FEWEST:
        return min(normal, 0.0)
    if normal <= 0.5:
        return normal
    logit = special.logit(p)

    def mean(tilt: float) -> float:
        return float(weight @ special.expit(logit + tilt * weight))

    most = 1.0
    while mean(most) < x:
        most *= 2
    tilt = scipy.optimize.brentq(lambda value: mean(value) - x, 0.0, most)
    after = special.expit(logit + tilt * weight)
    log_mean = np.logaddexp(np.log1p(-p), np.log(p) + tilt * weight).sum()
    r = np.sqrt(2 * (tilt * x - log_mean))
    u = tilt * np.sqrt((weight**2 * after * (1 - after)).sum())
    return float(r + np.log(u / r) / r)


def _near_z(levels: Sequence[int], *files: Codes) -> float:
    """Excess of equal records across the files with a block of the variables left out.

    The mean deviate over blocks that begin at ten variables at most, and the larger of two sizes of
    block. Blocks share variables, so that their mean has a deviation of 1 at most.
    """
    p, found = len(levels), [0.0]
    for size in (round(share * p) for share in LEFT_OUT):
        if 0 < size < p - 1:
            blocks = (np.arange(start, start + size) % p for start in range(0, p, -(-p // PLACES)))
            kept = (np.setdiff1d(np.arange(p), block) for block in blocks)
            found.append(float(np.mean([divided_z(*numbered(at, levels, *files)) for at in kept])))
    return max(found)


def _premise(original: Codes, levels: Sequence[int], o: Ints, neighbors: Ints) -> str:
    """Reason that the original does not tell how often strangers repeat it, if there is one."""
    lonely = (neighbors == 0) & (o > 0)
    twins = lonely & (o > 1)
    if twins.sum() >= FEWEST_TWINS and o[twins].sum() > TWINS * o[lonely].sum():
        return "twins"
    # A record's own place is settled as densely as those around it, as a rule more so.
    around = sum(len(np.unique(column)) - 1 for column in original.T)
    removed = (o <= 1).all() and _neighbors(levels, original).sum() / 2 > REMOVED * around
    return "removed" if removed else ""


def _neighbors(levels: Sequence[int], *tables: Codes) -> Ints:
    """Records that differ from each combination in exactly one variable, (n_combinations,)."""
    p, cell = len(levels), np.concatenate(numbered(range(len(levels)), levels, *tables))
    _, first, size = np.unique(cell, return_index=True, return_counts=True)
    neighbors = -p * size
    for k in range(p):
        without = np.concatenate(numbered(set(range(p)) - {k}, levels, *tables))
        neighbors += times(without, without[first])
    return neighbors


def rows_alike(original: Codes, released: Codes) -> tuple[float, float, float]:
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
    return float(means[best]), float(means[second_best]), counting.ratio(difference, error)
