r"""What a release discloses of each person, and what a fresh sample and margins would disclose.

The intruder knows the keys of a person and wants to find a matching record (identity
disclosure), the target, or a number within a distance, on which all key matches agree
(attribute disclosure, interval disclosure), or a prediction of the target by trees
(inference). Each is computed person by person for the release, for a fresh sample of
the population, and for a release of the margins. The fresh sample is predicted from the
original and a holdout; of the release only the size is used. The larger of the two
files is thinned to the size of the smaller.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import special

from srlib.assessment.counts import (
    Bools,
    Floats,
    Ints,
    cell_counts,
    cell_ids,
    counts_at,
    holdout_contrast,
)
from srlib.assessment.z_scores import permutation_z
from srlib.data.codes import Codes, Levels, row_numbers
from srlib.margins import chow_liu_tree, log_choose, log_density

REACH = 1.5  # log size of the part that corrects a prediction, over the log size of both files
ROUNDS = 5  # iterations of the expected number of companions
PAIRS = 20  # of trees, each trained on one half of the records
MAX_TRAINING = 40_000  # records of a file that trees are trained on
MAX_PREDICTED = 20_000  # people whose target is predicted
_ROUNDING = 1e-12  # 1.1 - 1.0 is above 0.1 in floating point, and must count as 0.1


# The exact numbers of binned columns, NaN where missing, by column and for each table.
type Numbers = Mapping[int, Sequence[Floats]]


class Disclosure(NamedTuple):
    """What is disclosed of each person, (n,) each.

    Attributes
    ----------
    eligible : (n,) bool
        People who count: sample uniques, or people whose target has a value.
    release : (n,) float
        Probability that the release discloses the person, after thinning.
    fresh_sample, margins : (n,) float
        Parts of the expected number of people whom a fresh sample, or a release of the
        margins, would disclose: sums over people estimate numbers. NaN where margins
        cannot be compared.
    cluster : (n,) int
        People with the same number are dependent.
    certain : (n,) bool
        People disclosed by all key matches in the release, without thinning; nobody by
        inference.
    holdout : dict
        The same for the holdout (`counts.holdout_contrast`), if there is one.
    permutation_z, effective_trials : float
        For identity, the excess over a random split of both files, and the number of
        people of equal probability whose count would have the variance of the fresh
        sample's.
    training_variance : float
        For inference, the variance of the share due to the records that trees are
        trained on.
    undisclosed : (n,) float, optional
        For attributes, the share of people with another value: what an intruder who
        guesses the commonest value does not know.
    """

    eligible: Bools
    release: Floats
    fresh_sample: Floats
    margins: Floats
    cluster: Ints
    certain: Bools
    holdout: Mapping[str, float] = {}
    permutation_z: float = np.nan
    effective_trials: float = 0.0
    training_variance: float = 0.0
    undisclosed: Floats | None = None


def identity_disclosure(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    holdout: Codes | None = None,
    *,
    numbers: Numbers = MappingProxyType({}),
) -> Disclosure:
    r"""Find the sample uniques on the keys that are matched by a released record.

    In a random part of t n records that contains a person with k - 1 companions, the
    person is unique with probability (1 - t)^{k-1}. Let g(t) be the sum of that over
    the n people. A fresh sample would leave the share g(1 + r) / g(1) of the sample
    uniques unmatched, with r = n* / n. Beyond the file, g is unknown. A tree of two-way
    tables of the keys (`margins.log_density`) predicts the share exp(-u) left unmatched
    there, and the share exp(-v) that the rest of the file leaves unmatched of the
    uniques in a random part t of it. The latter is also known, and corrects the former,

    .. math:: \hat g(1 + r) / g(1) = (g(1) / g(t))^{u / v}, \quad t = (1 + r)^{-3/2}.

    A smaller part makes the correction more precise, and less representative. With a
    holdout, companions are those in both tables, and g is known up to their size.

    `numbers` are the exact numbers of binned keys, by column and for each table: an
    intruder knows an age in years, so keys are equal where their numbers are.

    `Disclosure.permutation_z` is the test of `copies.copies` without weights, which
    needs no prediction: it is more powerful, but blind in a release with many
    duplicates of its own. A person of the holdout is unique if unique in a random part
    of the larger table that is as large as the smaller table.
    """
    n, m, holdout_rows = (
        len(original),
        len(released),
        original[:0] if holdout is None else holdout,
    )
    known = Keys.of([original, released, holdout_rows], n_levels, keys, numbers)
    key, of_release, holdout_ids = known.cell_ids()
    o, s, h = (counts_at(numbers, key) for numbers in (key, of_release, holdout_ids))
    size, dropped, unique = min(m, n), (1 - min(1.0, n / m)) ** s, o == 1
    contrast = {}
    if most := min(n, len(holdout_rows)):
        files = (key, holdout_ids)
        # Hypergeometric probability that random companions do not have the person's
        # keys.
        sizes = (np.append(len(f) - 1, len(f) - counts_at(f, f)) for f in files)
        logs = (log_choose(n_others, most - 1) for n_others in sizes)
        weight = np.exp(np.concatenate([each[1:] - each[0] for each in logs]))
        everybody = np.concatenate(files)
        contrast = holdout_contrast(
            weight * (counts_at(of_release, everybody) > 0), weight, n, everybody
        )
    prob = known.margin_probabilities()
    margins = -np.expm1(size * np.log1p(-np.minimum(prob, 1 - 1e-12)))
    fresh_sample, trials = _matched_by_fresh_sample(
        unique, o + h, 1 + size / n, known.without(1)
    )
    return Disclosure(
        eligible=unique,
        release=np.where(unique, 1 - dropped, 0.0),
        fresh_sample=fresh_sample,
        margins=np.where(unique, margins, 0.0),
        cluster=key,
        certain=unique & (s > 0),
        holdout=contrast,
        permutation_z=permutation_z(key, of_release),
        effective_trials=trials,
    )


def share_matched_by_fresh_sample(
    original: Codes,
    n_levels: Levels,
    size: int,
    numbers: Numbers = MappingProxyType({}),
) -> float:
    """Return the share of the sample uniques on all variables that a fresh sample would match.

    NaN where no record is unique. `size` is the size of the fresh sample; `numbers` are
    those of `identity_disclosure`.
    """
    known = Keys.of([original], n_levels, range(original.shape[1]), numbers)
    (key,) = known.cell_ids()
    people = counts_at(key, key)
    unique = people == 1
    if not unique.any():
        return np.nan
    fresh_sample, _ = _matched_by_fresh_sample(
        unique, people, 1 + min(size, len(key)) / len(key), known
    )
    return float(np.clip(fresh_sample.sum() / unique.sum(), 0, 1))


class Keys(NamedTuple):
    """The keys of several tables, binned and exact.

    `binned` and `exact` are codes, (n, n_keys) each, with `n_levels` and `n_exact`
    levels. The two differ for numeric keys.
    """

    binned: list[Codes]
    exact: list[Codes]
    n_levels: list[int]
    n_exact: list[int]

    @classmethod
    def of(
        cls,
        tables: Sequence[Codes],
        n_levels: Levels,
        keys: Sequence[int],
        numbers: Numbers,
    ) -> "Keys":
        """Take the keys from tables, and give exact numbers ids."""
        keys = list(keys)
        levels = [int(n_levels[k]) for k in keys]
        binned: list[Codes] = [table[:, keys].astype(np.int64) for table in tables]
        known = cls(binned, [table.copy() for table in binned], levels, list(levels))
        ends = np.cumsum([len(table) for table in tables])[:-1]
        for at, key in enumerate(keys):
            if key in numbers:
                bins = np.concatenate([table[:, at] for table in binned])
                values = np.concatenate(list(numbers[key])[: len(tables)])
                _, ids = np.unique(values, return_inverse=True)
                # Missing numbers, such as "not applicable", are distinguished by their
                # bin.
                pairs = np.column_stack([ids, bins])
                ids = row_numbers(pairs, [len(ids) + 1, levels[at]])
                known.n_exact[at] = int(ids.max(initial=0)) + 1
                for table, column in zip(known.exact, np.split(ids, ends), strict=True):
                    table[:, at] = column
        return known

    def cell_ids(self) -> list[Ints]:
        """Return an id for each combination of exact keys, for the rows of each table."""
        return cell_ids(range(len(self.n_exact)), self.n_exact, *self.exact)

    def margin_probabilities(self) -> Floats:
        """Return the probability of each person's keys in a release of the first table's margins.

        The margin of an exact number is that of the other people: a person's own date
        of birth is not a margin.
        """
        n = len(self.binned[0])
        prob = np.ones(n)
        for bins, ids in zip(self.binned[0].T, self.exact[0].T, strict=True):
            if np.array_equal(bins, ids):
                prob *= np.bincount(bins)[bins] / n
            else:
                prob *= (np.bincount(ids)[ids] - 1) / max(n - 1, 1)
        return prob

    def without(self, table: int) -> "Keys":
        """Return the keys of the other tables."""
        binned, exact = (
            [*each[:table], *each[table + 1 :]] for each in (self.binned, self.exact)
        )
        return Keys(binned, exact, self.n_levels, self.n_exact)

    def log_probability(self, n: int) -> Callable[[Floats], Floats]:
        """Return the log probability of the keys of the first n, given how many more have them.

        It is that of a tree of two-way tables of the binned keys, times the share of an
        exact number in its bin, with a prior of two records as in
        `margins.log_density`.
        """
        binned, exact = np.concatenate(self.binned), np.concatenate(self.exact)
        tree = chow_liu_tree(binned, self.n_levels)
        finer = []
        for bins, ids, n_bins, n_ids in zip(
            binned.T, exact.T, self.n_levels, self.n_exact, strict=True
        ):
            if n_ids != n_bins or not np.array_equal(bins, ids):
                _, first = np.unique(ids, return_index=True)
                distinct = np.bincount(bins[first], minlength=n_bins)
                at, of = bins[:n], ids[:n]
                finer.append(
                    (np.bincount(ids)[of], np.bincount(bins)[at], 2 / distinct[at])
                )

        def log_p(more: Floats) -> Floats:
            found = log_density(binned[:n], tree, more)
            for of_value, in_bin, prior in finer:
                found += np.log((of_value + prior + more) / (in_bin + 2 + more))
            return found

        return log_p


def _matched_by_fresh_sample(
    unique: Bools, people: Ints, wanted: float, keys: Keys
) -> tuple[Floats, float]:
    """Return each person's part in the number of sample uniques that a fresh sample would match.

    It is the derivative of that number by the person's weight, so the parts add up to
    it. `people` counts the records with each person's keys in the original and the
    holdout, whose keys are `keys`, the original's first; `wanted` is the t at which
    `identity_disclosure` needs g. The second result is `Disclosure.effective_trials`.
    """
    n_unique, everybody = int(unique.sum()), sum(map(len, keys.binned))
    known = everybody / len(unique)
    if not n_unique or (wanted >= known and not (people == 1).any()):
        return unique.astype(float), n_unique

    def log_still_unique(t: float) -> Floats:
        return special.xlog1py(people - 1.0, -t / known)

    terms, again = [(1.0, wanted), (-1.0, 1.0)], np.nan
    if wanted > known:
        # The expected number of companions in a file of the same size, by a tree of
        # two-way tables in which the records with the person's keys are replaced by
        # their expected number. It starts, for uniques, at Good's (1953) estimate,
        # where it stays with a single key.
        log_p = keys.log_probability(len(people))
        companions = np.where(
            people > 1, people - 1.0, (people == 2).sum() / (people == 1).sum()
        )
        for _ in range(ROUNDS):
            companions = everybody * np.exp(log_p(companions - people))

        def log_unmatched(at: float, further: float) -> float:
            after = log_still_unique(at) - companions * further / known
            return special.logsumexp(after) - special.logsumexp(log_still_unique(at))

        part = known * (known / wanted) ** REACH
        predicted = log_unmatched(part, known - part)
        if predicted == 0:  # hardly any two people could share their keys
            return np.zeros(len(unique)), float(n_unique)
        once, twice = (
            log_unmatched(known, size - known) / predicted
            for size in (wanted, 2 * wanted - 1)
        )
        terms = [(1 + once, known), (-once, part), (-1.0, 1.0)]
        again = twice / once
    log_total = sum(
        weight * special.logsumexp(log_still_unique(t)) for weight, t in terms
    )
    weights = sum(weight * special.softmax(log_still_unique(t)) for weight, t in terms)
    unmatched = np.exp(log_total)
    # The probability of two matches shows how much people's probabilities differ.
    # Predicted ones differ more than true ones: half of the difference counts, on the
    # log scale.
    alike, unlike = (
        unmatched - unmatched**2,
        unmatched - unmatched**again if again > 1 else 0.0,
    )
    trials = n_unique * np.sqrt(max(alike / unlike, 1.0) if unlike > 0 else 1.0)
    return unique * (1 - unmatched) - n_unique * unmatched * weights, float(trials)


def attribute_disclosure(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    codes_without_value: Sequence[int] = (),
    holdout: Codes | None = None,
    *,
    numbers: Sequence[Floats] = (),
    within: float = 0.0,
) -> Disclosure:
    r"""Find the people whose target is disclosed: all key matches agree on it, correctly.

    For the release this is DiSCO (Raab, Nowok and Dibben 2024). A fresh sample is the
    original without the person's own record. With d records of the keys and d_t of them
    with the target, each kept with probability b, the person is disclosed with
    probability (1 - b)^{d - d_t} (1 - (1 - b)^{d_t}). Independent margins draw the
    targets of the person's key matches from the release's own margin, so a release with
    one target for all people discloses nobody. People whose target is one of
    `codes_without_value` do not count.

    A number of `numbers`, for each table and NaN where missing, is disclosed within a
    distance (interval disclosure): :math:`\max_j |z_j - x| \le \tau`. Any guess between
    the smallest and the largest z_j is then right within the distance. A record without
    a number contradicts all others. Tables of magnitudes have such rules (Hundepool et
    al. 2010, Handbook on Statistical Disclosure Control), and Giomi et al. (2022,
    arXiv:2211.10459) count guesses in this way.
    """
    tables = [original, released] if holdout is None else [original, released, holdout]
    people = np.concatenate([original, *tables[2:]])
    key, of_release = cell_ids(keys, n_levels, people, released)
    targets = (table[:, target] for table in tables)
    values = numbers or [
        np.where(np.isin(x, codes_without_value), np.nan, x) for x in targets
    ]
    n, m, truth = len(original), len(released), np.concatenate([values[0], *values[2:]])
    valued, who, nobody = (
        ~np.isnan(truth),
        np.nan_to_num(truth),
        np.zeros(n + m, np.intp),
    )
    d, d_t = count_near(key[:n], who[:n], key[:n], truth[:n], within)
    s, s_t = count_near(key, who, of_release, values[1], within)
    alike = count_near(nobody[:n], who[:n], nobody[:m], values[1], within)[1] / m
    as_common = count_near(nobody[:n], who[:n], nobody[:n], truth[:n], within)[1]
    undisclosed = 1 - as_common / max(valued[:n].sum(), 1)
    disclosed = valued & (s > 0) & (s == s_t)
    contrast = (
        {}
        if holdout is None
        else holdout_contrast(disclosed.astype(float), valued.astype(float), n)
    )
    valued, s, s_t, kept = valued[:n], s[:n], s_t[:n], min(1.0, n / m)

    def agree(records: Ints, right: Ints, kept: float) -> Floats:
        dropped = 1 - kept
        return np.where(
            valued, dropped ** (records - right) * (1 - dropped**right), 0.0
        )

    # Each of s records is not kept, or has the target.
    margins = (kept * alike + 1 - kept) ** s - (1 - kept) ** s
    # Without the person's own record, which counts in d and d_t if its target has a
    # value.
    fresh_sample = agree(d - valued, d_t - valued, min(1.0, m / n))
    return Disclosure(
        eligible=valued,
        release=agree(s, s_t, kept),
        fresh_sample=fresh_sample,
        margins=np.where(valued & (s > 0), margins, 0.0),
        cluster=key[:n],
        certain=disclosed[:n],
        holdout=contrast,
        undisclosed=undisclosed,
    )


def count_near(
    group: Ints, truth: Floats, of_records: Ints, values: Floats, within: float
) -> tuple[Ints, Ints]:
    """Return the numbers of records with each person's keys, and of those within the distance."""
    known = ~np.isnan(values)
    ranked = np.unique(values[known])
    # Sorted by keys and then by numbers, the records near a person are consecutive.
    width = len(ranked) + 1
    placed = np.sort(of_records[known] * width + np.searchsorted(ranked, values[known]))
    reach = within + _ROUNDING * (np.abs(truth) + within)
    first = np.searchsorted(ranked, truth - reach, side="left")
    last = np.searchsorted(ranked, truth + reach, side="right")
    right = np.searchsorted(placed, group * width + last)
    right = right - np.searchsorted(placed, group * width + first)
    return counts_at(of_records, group), right


def inference(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    codes_without_value: Sequence[int] = (),
    holdout: Codes | None = None,
    *,
    rng: np.random.Generator,
) -> Disclosure:
    r"""Predict each person's target by trees trained on the release: probability of the true value.

    Trees (scikit-learn) are trained in pairs, each on one random half of a file. A
    fresh sample is the halves of the original that do not contain the person, so the
    person's own record is not used. Halves of the larger file have the size of the
    smaller file's.

    People are not independent: a sample with a few more records of one value changes
    all predictions. The variance of the share due to the training records is a quarter
    of the mean squared difference of the shares within a pair, which is exact for
    shares that are linear in the records. For the fresh sample it is at least that, and
    at least the value from halves of the original that predict each other. Of more
    people than `MAX_PREDICTED`, evenly spaced ones count.
    """
    people = original if holdout is None else np.concatenate([original, holdout])
    n, valued = (
        len(original),
        np.flatnonzero(~np.isin(people[:, target], codes_without_value)),
    )
    rows, holdout_rows = np.split(valued, [np.searchsorted(valued, n)])
    rows = rows[
        np.linspace(0, len(rows) - 1, min(len(rows), MAX_PREDICTED)).astype(int)
    ]
    size = max(min(n, len(released), MAX_TRAINING) // 2, 1)

    def predict(
        codes: Codes, rng: np.random.Generator, own: bool
    ) -> tuple[Floats, float]:
        """Return the mean probability of the true target, and the variance of its mean."""
        prob, apart = np.zeros(len(people)), []
        for _ in range(PAIRS):
            shares = []
            for half in np.array_split(rng.permutation(len(codes)), 2):
                asked = (
                    rows[~np.isin(rows, half)] if own else np.append(rows, holdout_rows)
                )
                right = _tree_probabilities(
                    codes[half[:size]], people[asked], keys, target, n_levels, rng
                )
                prob[asked] += right / (PAIRS if own else 2 * PAIRS)
                in_file = right[: len(rows)]
                shares.append(in_file.sum() / max(len(in_file), 1))
            apart.append(shares[0] - shares[1])
        return prob, float(np.mean(np.square(apart))) / 4

    of_release, of_original = rng.spawn(
        2
    )  # the fresh sample is the same for all releases
    release, variance = predict(released, of_release, own=False)
    fresh_sample, variance_fresh = predict(original, of_original, own=True)
    release[:n], fresh_sample = release[:n].clip(max=1), fresh_sample[:n].clip(max=1)
    disclosed = release[np.append(rows, holdout_rows)]
    contrast = (
        holdout_contrast(disclosed, np.ones(len(disclosed)), len(rows))
        if len(holdout_rows)
        else {}
    )
    return Disclosure(
        eligible=np.isin(np.arange(n), rows),
        release=release[:n],
        fresh_sample=fresh_sample,
        margins=np.full(n, np.nan),
        cluster=np.arange(n),
        certain=np.zeros(n, bool),
        holdout=contrast,
        training_variance=variance + max(variance, variance_fresh),
    )


def _tree_probabilities(
    records: Codes,
    people: Codes,
    keys: Sequence[int],
    target: int,
    n_levels: Levels,
    rng: np.random.Generator,
) -> Floats:
    """Return the probability of people's true target by a tree trained on records."""
    from sklearn.tree import DecisionTreeClassifier

    seed, prob = (
        int(rng.integers(2**31)),
        np.zeros((len(people), int(n_levels[target]))),
    )
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # of a level for nearly each record
        tree.fit(records[:, keys].astype(np.float32), records[:, target])
    if len(people):
        prob[:, tree.classes_] = tree.predict_proba(people[:, keys].astype(np.float32))
    return prob[np.arange(len(people)), people[:, target]]


def repu_and_tcap(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    numbers: Numbers = MappingProxyType({}),
) -> dict[str, float]:
    """Return repU and TCAP.

    repU is the share of people who are unique on the keys and whose keys are unique in
    the release (Raab, Nowok and Dibben 2024), with exact numbers. TCAP is the mean,
    over the released records whose key matches in the release agree on the target, of
    the share of people with these keys who have that target (Taub and Elliot 2019).
    DiSCO is `attribute_disclosure`.
    """
    of_person, of_record = Keys.of(
        [original, released], n_levels, keys, numbers
    ).cell_ids()
    once = (counts_at(of_person, of_person) == 1) & (
        counts_at(of_record, of_person) == 1
    )
    q, of_release = cell_ids(keys, n_levels, original, released)
    d, s = cell_counts(q, of_release)
    level = np.full(len(d), -1, np.int64)
    level[of_release] = released[:, target]  # of one of the group's records, whichever
    apart = np.bincount(of_release, released[:, target] != level[of_release], len(d))
    aim = (s > 0) & (apart == 0) & (d > 0)
    right = np.bincount(q, original[:, target] == level[q], len(d))[aim]
    tcap = (right * s[aim] / d[aim]).sum() / s[aim].sum() if aim.any() else np.nan
    return {"repU": float(once.mean()), "TCAP": float(tcap)}
