r"""What a release tells of the people in the file beyond what other people's records would tell.

A release that knows the population, and nobody's record in particular, is at best as good as a
fresh sample of that population. Were it one, the records of both files would be exchangeable, and
what the release tells of the people in the file could be foretold from the original alone:

- `copies`. A fresh record repeats one of the original's with the probability with which an
  original record repeats another one (Good 1953, Biometrika 40, 237-264: one minus the share of
  records that are alone with their values). And of two equal records one lies in each file as
  often as a random division of both files would have it. Pairs in thinly settled places, where
  strangers hardly ever meet, weigh most.
- `identity`. The same for people who are alone with their keys.
- `attributes`. What all other people in the file disclose of a person, by the rule by which the
  release is read.

No model enters, and no threshold is estimated from the release. What a release can be told from is
a sample of people: a generator that is rougher than the population repeats fewer records than
strangers would, and hides copies among them. `Copies.at_most` says how many.

Errors are those of counts. Records with the same values, or the same keys, are taken together, as
in a bootstrap of whole groups whose limit is computed: resampled one by one, a record's own twin
would disclose it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from srlib.matching import checked, combinations, share_alike

Codes = NDArray[np.integer]

# Weight of a pair with k neighbors, log(1 + COPIED / (k + ITSELF)): the logarithm of how much more
# often such a pair lies across the files if some of the records were copied. Set once; any
# weights that depend on both files alike leave the test exact.
COPIED, ITSELF = 5.0, 0.5
OFFSETS = 10  # rows up and down with which the same row is compared
COINCIDENCE = 1e-3  # equal tables are a coincidence if that is at least this probable


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
        The difference of both in its standard errors, were the release other people's records.
    alone : int
        Original records that are alone with all their values.
    handed_out, handed_out_error, handed_out_z : float
        Estimated share of those that the release was given, beyond coincidence, weighted towards
        thinly settled places; its standard error; and the excess of pairs across the files in
        standard errors of a random division. NaN where nobody is alone.
    at_most : float
        Upper 95 % limit of that share if the release met nobody by coincidence.
    same_table : bool
        Whether both tables have the same records, each as often, and chance would hardly do that.
    same_row, same_row_others, same_row_z : float
        Share of rows that are the original's of the same number; the mean share of rows that are
        the original's some numbers before or behind; their difference in standard errors.
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
    handed_out: float
    handed_out_error: float
    handed_out_z: float
    at_most: float
    same_table: bool
    same_row: float
    same_row_others: float
    same_row_z: float
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
    """

    people: int
    value: float
    error: float
    others: float
    others_error: float
    margins: float
    z: float

    @property
    def baseline(self) -> float:
        """The larger of `others` and `margins`."""
        return float(np.nanmax([self.others, self.margins]))

    @property
    def left(self) -> float:
        """Share of what the baseline leaves to disclose that the release discloses."""
        return share_of_rest(self.value, self.baseline)


def share_of_rest(value: float, baseline: float) -> float:
    """How much of what a baseline leaves open a value takes, (value - baseline) / (1 - baseline).

    The same scale for all baselines: 0 at the baseline, 1 where the value is 1.
    """
    if np.isnan(value) or np.isnan(baseline):
        return float("nan")
    return (value - baseline) / (1 - baseline) if baseline < 1 else 0.0


def copies(
    original: Codes,
    released: Codes,
    n_levels: Sequence[int],
    held_out: Codes | None = None,
) -> Copies:
    r"""How many released records repeat an original one, and how many would by coincidence.

    With o and s counting the original and the released records of a combination, of f_1
    combinations with o = 1 and n records, other people's records repeat an original one with
    probability 1 - f_1 / n. `repeated_z` has the error of that estimate and of n* draws from it.

    Pairs are combinations with o + s = 2. In a random division of N = n + n* records a pair lies
    across the files with probability p = 2 n n* / (N (N - 1)). Pairs are weighted by
    log(1 + 5 / (k + 1/2)), with k the records of both files that differ from the pair in one
    variable. With C the weight of pairs across and W that of pairs within a file, the share of
    people alone that was handed out is (C - W p / (1 - p)) over the weight of all who are alone
    and were released once or not at all.

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
        If a table has another number of columns, no records, or codes out of range.
    """
    columns = range(len(n_levels))
    given = [released] if held_out is None else [released, held_out]
    tables, levels = checked(original, given, n_levels, columns)
    n, m = len(tables[0]), len(tables[1])
    both = np.concatenate(tables[:2])
    cell = combinations(both, levels)
    size = int(cell.max()) + 1
    o, s = (np.bincount(part, minlength=size) for part in (cell[:n], cell[n:]))
    alone = o == 1

    repeated = float(s[o > 0].sum() / m)
    others, others_error = _repeating(tables[0], levels, *tables[2:])
    spread = np.hypot(_binomial_error(others, n, m), others_error)

    across = alone & (s == 1)
    within = ((o == 2) & (s == 0)) | ((o == 0) & (s == 2))
    once = alone & (s <= 1)
    neighbors = _neighbors(both, levels, cell)
    weight = np.log1p(COPIED / (neighbors + ITSELF))
    p = 2 * n * m / ((n + m) * (n + m - 1))
    odds = p / (1 - p)
    excess = weight[across].sum() - odds * weight[within].sum()
    deviation = np.sqrt(p * (1 - p) * (weight[across | within] ** 2).sum()) / (1 - p)
    all_weight = weight[once].sum()
    share = excess / all_weight if all_weight else np.nan
    # Of a sure thing there is no error: with all handed out, all pairs lie across.
    variance = (weight[across] ** 2).sum() * (1 - np.clip(share, 0, 1))
    variance += odds**2 * (weight[within] ** 2).sum()
    row = _same_row(cell[:n], cell[n:])
    return Copies(
        repeated=repeated,
        repeated_error=float(np.sqrt(repeated * (1 - repeated) / m)),
        others=others,
        others_error=others_error,
        repeated_z=_ratio(repeated - others, spread),
        alone=int(alone.sum()),
        handed_out=float(share),
        handed_out_error=float(np.sqrt(variance) / all_weight) if all_weight else np.nan,
        handed_out_z=_ratio(excess, deviation) if all_weight else np.nan,
        at_most=_upper_limit(weight[across], weight[once]) if all_weight else np.nan,
        same_table=bool((o == s).all()) and _chance_of(o) < COINCIDENCE,
        same_row=row[0],
        same_row_others=row[1],
        same_row_z=row[2],
        found=(alone & (s > 0))[cell[:n]],
        neighbors=neighbors[cell[:n]],
        released=m,
    )


def identity(
    original: Codes, released: Codes, n_levels: Sequence[int], keys: Sequence[int]
) -> Beyond:
    r"""Of people alone with their keys, the share that one released record has the keys of.

    S counts keys that one record of each file has (replicated uniques), Q those of two original
    records and of no released one. Were the released records other people's, S would have the mean
    2 (n* / n) Q, and given S + Q a binomial distribution.

    Parameters
    ----------
    original, released, n_levels
        As `copies`.
    keys : sequence of int
        Columns that the intruder knows.

    Returns
    -------
    Beyond
        Of the people who are alone with their keys. `margins` is that of `matching.compare`.
    """
    tables, levels = checked(original, [released], n_levels, keys)
    n, m = len(tables[0]), len(tables[1])
    key = combinations(np.concatenate(tables), levels)
    size = int(key.max()) + 1
    o, s = (np.bincount(part, minlength=size) for part in (key[:n], key[n:]))
    alone = int((o == 1).sum())
    if not alone:
        return Beyond(0, *[np.nan] * 6)
    across, within = int(((o == 1) & (s == 1)).sum()), int(((o == 2) & (s == 0)).sum())
    odds = 2 * m / n
    p, pairs = odds / (1 + odds), across + within
    one_key = key[:n][o[key[:n]] == 1]
    prob = np.prod([share_alike(column) for column in tables[0].T], axis=0)[o[key[:n]] == 1]
    met = m * prob * (1 - prob) ** (m - 1)
    value = across / alone
    others = _ratio(across - p * pairs, np.sqrt(pairs * p * (1 - p)))
    margins = _ratio(across - met.sum(), np.sqrt((met * (1 - met)).sum()))
    return Beyond(
        people=len(one_key),
        value=value,
        error=float(np.sqrt(value * (1 - value) / alone)),
        others=min(1.0, odds * within / alone),
        others_error=odds * np.sqrt(max(within, 1)) / alone,
        margins=float(met.mean()),
        z=min(others, margins),
    )


def attributes(
    original: Codes, released: Codes, n_levels: Sequence[int], keys: Sequence[int], target: int
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

    Returns
    -------
    Beyond
        Of all people in the file. `margins` draws the targets of the released records with the
        person's keys from the margin of the target.
    """
    tables, levels = checked(original, [released], n_levels, keys, target)
    n, m = len(tables[0]), len(tables[1])
    both = np.concatenate(tables)
    key, cell = combinations(both[:, :-1], levels[:-1]), combinations(both, levels)

    def counts(group: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        size = int(group.max()) + 1
        parts = (np.bincount(part, minlength=size)[group[:n]] for part in (group[:n], group[n:]))
        of_original, of_released = parts
        return of_original, of_released

    (d, s), (d_t, s_t) = counts(key), counts(cell)
    kept = min(1.0, n / m)
    disclosed = _disclosed(s, s_t, kept)
    by_others = _disclosed(d - 1, d_t - 1, min(1.0, m / n))
    p = share_alike(tables[0][:, -1])
    q = kept * p + 1 - kept  # each of s records was not kept, or has the target
    by_margins = np.where(s > 0, q**s - (1 - kept) ** s, 0.0)
    return Beyond(
        people=n,
        value=float(disclosed.mean()),
        error=_error(key[:n], disclosed - disclosed.mean()) / n,
        others=float(by_others.mean()),
        others_error=_error(key[:n], by_others - by_others.mean()) / n,
        margins=float(by_margins.mean()),
        z=min(
            _ratio((disclosed - other).sum(), _error(key[:n], disclosed - other))
            for other in (by_others, by_margins)
        ),
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


def _repeating(
    original: Codes, levels: Sequence[int], held_out: Codes | None = None
) -> tuple[float, float]:
    """Share of other people's records that repeat an original one, and its standard error."""
    n = len(original)
    if held_out is not None:
        cell = combinations(np.concatenate([original, held_out]), levels)
        share = float(np.isin(cell[n:], cell[:n]).mean())
        return share, _binomial_error(share, n, len(held_out))
    counts = np.bincount(combinations(original, levels))
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    # Good (1953), with the variance of Esty (1983, Annals of Statistics 11, 905-912). One pair is
    # the least that it is computed from: none would make every repetition a certain copy.
    return float(1 - once / n), float(np.sqrt(once * (1 - once / n) + 2 * max(twice, 1)) / n)


def _binomial_error(share: float, n: int, m: int) -> float:
    """Standard error of a share of m that is known to one of n at best."""
    share = min(max(share, 1 / n), 1 - 1 / n)
    return float(np.sqrt(share * (1 - share) / m))


def _neighbors(codes: Codes, levels: Sequence[int], cell: NDArray[np.intp]) -> NDArray[np.intp]:
    """Records that differ from each combination in exactly one variable, (n_combinations,)."""
    size = np.bincount(cell)
    first = np.zeros(len(size), np.intp)
    first[cell] = np.arange(len(cell))
    neighbors = np.zeros(len(size), np.intp)
    for k in range(codes.shape[1]):
        if codes.shape[1] == 1:
            return len(cell) - size
        without = combinations(np.delete(codes, k, axis=1), np.delete(levels, k).tolist())
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


def _chance_of(counts: NDArray[np.intp]) -> float:
    """Probability that n draws from a table's own shares are that table."""
    n = counts.sum()
    log_prob = special.gammaln(n + 1) - special.gammaln(counts + 1).sum()
    return float(np.exp(log_prob + special.xlogy(counts, counts / n).sum()))


def _same_row(original: NDArray[np.intp], released: NDArray[np.intp]) -> tuple[float, float, float]:
    """Share of equal rows of the same number, of numbers nearby, and the difference over its error.

    Rows nearby, and not rows at random, since both files may be sorted.
    """
    rows = min(len(original), len(released))
    offsets = [k for k in range(-OFFSETS, OFFSETS + 1) if k and rows > 2 * OFFSETS]
    if not offsets:
        return np.nan, np.nan, np.nan
    inner = np.arange(OFFSETS, rows - OFFSETS)
    nearby = np.array([(original[inner] == released[inner + k]).sum() for k in offsets])
    same = float((original[inner] == released[inner]).sum())
    error = np.sqrt(max(nearby.mean(), nearby.var(ddof=1), 1.0))
    shares = np.array([same, nearby.mean()]) / len(inner)
    return float(shares[0]), float(shares[1]), float((same - nearby.mean()) / error)
