r"""What a file tells of each person, beside what other people's records and margins would tell.

A question says what the intruder knows of a person and what is wanted: to meet a record with the
same values (`met`), the value of a variable, or a number within a distance, from all records with
the same keys (`told`), or a variable by the best guess of trees (`predicted`). Each is answered
person by person by the release, by other people's records, and by a release that knows the
margins only. What others' records would tell follows from the original alone, and from people held
out; the release has no part in it but its size. Where one of the two files is the larger, it is
thinned to the size of the other.
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

REACH = 1.5  # log of the part that corrects a prediction, over that of both files
ROUNDS = 5  # in which the expected number of companions settles
PAIRS = 20  # pairs of trees that predict, each of a half of the records
MAX_TRAINING, MAX_PREDICTED = 40_000, 20_000  # records of a file that trees grow from, and people
_ROUNDING = 1e-12  # 1.1 - 1.0 is above 0.1 in floating point, and is to count as 0.1


# The numbers behind columns that are cut, NaN where there is none, by column and of each table.
type Numbers = Mapping[int, Sequence[Floats]]


class Disclosure(NamedTuple):
    """What is told of each person, (n,) each.

    Of people who are `counted`, `release` is the probability that the release tells it; `others`
    and `margins` are parts of the expected numbers of people of whom other people's records, or
    margins, would: sums over people estimate numbers. Margins are NaN where they tell nothing that
    could be compared. People with one number in `group` move together. `outright` says of whom all
    released records with the keys tell it, of however many records; nobody by trees. `held_out` is
    the answer of people held out (`counting.beside`), if there are any.

    Of `met`, `divided_z` is the excess over a random division of both files, and `trials` the
    number of people who, were all as likely to be met by others' records, would have the variance
    of these, who differ. Of `predicted`, `grown` is the variance of the share from the records that
    trees grow from. Of `told`, `left` is the share of people of whom another value is true: what
    was left to tell of the person to somebody who knows the commonest value.
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
    original: Codes, released: Codes, n_levels: Levels, keys: Sequence[int],
    holdout: Codes | None = None, *, numbers: Numbers = MappingProxyType({}),
) -> Disclosure:  # fmt: skip
    r"""Find the people alone with their keys of whom a released record has the keys.

    In a random part of the file of t n records, a person with k - 1 companions is alone, if they
    are in it, with probability (1 - t)^{k-1}. Let g(t) be the sum of that over the n people. Other
    people's records would leave of those alone the share g(1 + r) / g(1) unmet, with r = n* / n.
    Beyond the file g is unknown. A tree of pairs of the keys (`margins.log_density`) foretells the
    share exp(-u) that is left unmet there, and the share exp(-v) that the rest of the file leaves
    unmet of those alone in a random part t of it. The latter is known, too, and corrects the
    former,

    .. math:: \hat g(1 + r) / g(1) = (g(1) / g(t))^{u / v}, \quad t = (1 + r)^{-3/2}.

    A smaller part makes that surer, and less like what is foretold. With people held out,
    companions are those in both tables, and g is known as far as these reach.

    `numbers` are those behind keys that are cut, by column and of each table: an intruder knows an
    age in years, so that keys are equal where their numbers are.

    `Told.divided_z` is the test of `copies.copies` without weights, which needs no prediction: it
    is sharper, but blind to a release with many keys of its own. To be alone among people held out
    is to be so in a random part of the larger of both tables, as large as the smaller.
    """
    n, m, strangers = len(original), len(released), original[:0] if holdout is None else holdout
    known = Keys.of([original, released, strangers], n_levels, keys, numbers)
    key, of_release, of_strangers = known.cell_ids()
    o, s, h = (counts_at(numbers, key) for numbers in (key, of_release, of_strangers))
    size, missed, unique = min(m, n), (1 - min(1.0, n / m)) ** s, o == 1
    compared = {}
    if most := min(n, len(strangers)):
        files = (key, of_strangers)
        # Probability that random companions have not the person's keys, by the hypergeometric law.
        sizes = (np.append(len(f) - 1, len(f) - counts_at(f, f)) for f in files)
        logs = (log_choose(others, most - 1) for others in sizes)
        weight = np.exp(np.concatenate([each[1:] - each[0] for each in logs]))
        everybody = np.concatenate(files)
        compared = holdout_contrast(
            weight * (counts_at(of_release, everybody) > 0), weight, n, everybody
        )
    prob = known.margin_probabilities()
    margins = -np.expm1(size * np.log1p(-np.minimum(prob, 1 - 1e-12)))
    others, trials = _matched_by_fresh_sample(unique, o + h, 1 + size / n, known.without(1))
    return Disclosure(
        unique, np.where(unique, 1 - missed, 0.0), others, np.where(unique, margins, 0.0), key,
        unique & (s > 0), compared, permutation_z=permutation_z(key, of_release),
        effective_trials=trials,
    )  # fmt: skip


def share_matched_by_fresh_sample(
    original: Codes, n_levels: Levels, size: int, numbers: Numbers = MappingProxyType({})
) -> float:
    """Share of the people unique with all their values whose values a fresh sample would have.

    NaN where nobody is unique. `size` is that of the sample, `numbers` are those of `met`.
    """
    known = Keys.of([original], n_levels, range(original.shape[1]), numbers)
    (key,) = known.cell_ids()
    people = counts_at(key, key)
    unique = people == 1
    if not unique.any():
        return np.nan
    others, _ = _matched_by_fresh_sample(unique, people, 1 + min(size, len(key)) / len(key), known)
    return float(np.clip(others.sum() / unique.sum(), 0, 1))


class Keys(NamedTuple):
    """The keys of several tables: as they are cut, and as the files have them.

    `cut` and `exact` have codes, (n, n_keys) a table, and `n_levels` and `n_exact` say how many
    there are. The two differ for keys that are numbers.
    """

    cut: list[Codes]
    exact: list[Codes]
    n_levels: list[int]
    n_exact: list[int]

    @classmethod
    def of(
        cls, tables: Sequence[Codes], n_levels: Levels, keys: Sequence[int], numbers: Numbers
    ) -> "Keys":
        """Take the keys from tables, and number their numbers."""
        keys = list(keys)
        levels = [int(n_levels[k]) for k in keys]
        cut: list[Codes] = [table[:, keys].astype(np.int64) for table in tables]
        known = cls(cut, [table.copy() for table in cut], levels, list(levels))
        ends = np.cumsum([len(table) for table in tables])[:-1]
        for at, key in enumerate(keys):
            if key in numbers:
                pieces = np.concatenate([table[:, at] for table in cut])
                values = np.concatenate(list(numbers[key])[: len(tables)])
                _, ids = np.unique(values, return_inverse=True)
                # What is no number, as "not applicable", is as it is cut.
                pairs = np.column_stack([ids, pieces])
                ids = row_numbers(pairs, [len(ids) + 1, levels[at]])
                known.n_exact[at] = int(ids.max(initial=0)) + 1
                for table, column in zip(known.exact, np.split(ids, ends), strict=True):
                    table[:, at] = column
        return known

    def cell_ids(self) -> list[Ints]:
        """Number the combinations of keys, equal ones alike; an array a table."""
        return cell_ids(range(len(self.n_exact)), self.n_exact, *self.exact)

    def margin_probabilities(self) -> Floats:
        """Share of records that have each person's keys in a release of the first table's margins.

        Of numbers the margin is that of the other people: one's own date of birth is not a margin.
        """
        n = len(self.cut[0])
        prob = np.ones(n)
        for pieces, ids in zip(self.cut[0].T, self.exact[0].T, strict=True):
            if np.array_equal(pieces, ids):
                prob *= np.bincount(pieces)[pieces] / n
            else:
                prob *= (np.bincount(ids)[ids] - 1) / max(n - 1, 1)
        return prob

    def without(self, table: int) -> "Keys":
        """Return the keys of the other tables."""
        cut, exact = ([*each[:table], *each[table + 1 :]] for each in (self.cut, self.exact))
        return Keys(cut, exact, self.n_levels, self.n_exact)

    def log_probability(self, n: int) -> Callable[[Floats], Floats]:
        """Return the log probability of the keys of the first n, given how many more have them.

        By a tree of pairs of the keys as they are cut, and by the share of a number among those of
        its piece, where two more are divided as in `margins.log_density`.
        """
        cut, exact = np.concatenate(self.cut), np.concatenate(self.exact)
        tree = chow_liu_tree(cut, self.n_levels)
        finer = []
        for pieces, ids, n_pieces, n_ids in zip(
            cut.T, exact.T, self.n_levels, self.n_exact, strict=True
        ):
            if n_ids != n_pieces or not np.array_equal(pieces, ids):
                _, first = np.unique(ids, return_index=True)
                distinct = np.bincount(pieces[first], minlength=n_pieces)
                at, of = pieces[:n], ids[:n]
                finer.append((np.bincount(ids)[of], np.bincount(pieces)[at], 2 / distinct[at]))

        def log_p(more: Floats) -> Floats:
            found = log_density(cut[:n], tree, more)
            for of_number, of_piece, prior in finer:
                found += np.log((of_number + prior + more) / (of_piece + 2 + more))
            return found

        return log_p


def _matched_by_fresh_sample(
    unique: Bools, people: Ints, wanted: float, keys: Keys
) -> tuple[Floats, float]:
    """Return each person's part in the number of people alone whom others' records would meet.

    It is the derivative of that number by the person, so that the parts add up to it. `people` have
    each person's keys in the original and held out, of whom `keys` are, the original's first;
    `wanted` is the t at which `met` needs g. The other result is `Told.effective_trials`.
    """
    n_alone, everybody = int(unique.sum()), sum(map(len, keys.cut))
    known = everybody / len(unique)
    if not n_alone or (wanted >= known and not (people == 1).any()):
        return unique.astype(float), n_alone

    def still_alone(t: float) -> Floats:
        return special.xlog1py(people - 1.0, -t / known)

    terms, again = [(1.0, wanted), (-1.0, 1.0)], np.nan
    if wanted > known:
        # The expected number of companions in a file as large, by a tree of pairs. All who share a
        # person's keys are left out of its counts, and their expected number is put in. It begins
        # at Good's (1953) for those alone, where it stays with a single key.
        log_p = keys.log_probability(len(people))
        companions = np.where(people > 1, people - 1.0, (people == 2).sum() / (people == 1).sum())
        for _ in range(ROUNDS):
            companions = everybody * np.exp(log_p(companions - people))

        def log_left(at: float, further: float) -> float:
            after = still_alone(at) - companions * further / known
            return special.logsumexp(after) - special.logsumexp(still_alone(at))

        part = known * (known / wanted) ** REACH
        foretold = log_left(part, known - part)
        if foretold == 0:  # by keys that hardly anybody could have in common
            return np.zeros(len(unique)), float(n_alone)
        once, twice = (
            log_left(known, size - known) / foretold for size in (wanted, 2 * wanted - 1)
        )
        terms = [(1 + once, known), (-once, part), (-1.0, 1.0)]
        again = twice / once
    log_unmet = sum(weight * special.logsumexp(still_alone(t)) for weight, t in terms)
    moved = sum(weight * special.softmax(still_alone(t)) for weight, t in terms)
    unmet = np.exp(log_unmet)
    # The chance to be met twice tells how far people differ in theirs. Foretold chances differ more
    # than true ones: half of what they tell counts, on the scale of logarithms.
    alike, unlike = unmet - unmet**2, unmet - unmet**again if again > 1 else 0.0
    trials = n_alone * np.sqrt(max(alike / unlike, 1.0) if unlike > 0 else 1.0)
    return unique * (1 - unmet) - n_alone * unmet * moved, float(trials)


def attribute_disclosure(
    original: Codes, released: Codes, n_levels: Levels, keys: Sequence[int], target: int,
    codes_without_value: Sequence[int] = (), holdout: Codes | None = None, *,
    numbers: Sequence[Floats] = (), within: float = 0.0,
) -> Disclosure:  # fmt: skip
    r"""Find the people whose target all records with their keys tell, rightly.

    That is DiSCO (Raab, Nowok and Dibben 2024) where the file is the release. Other people's
    records are the original's without the person's own. With d records of the keys and d_t of them
    with the target, each kept with probability b, the person is disclosed with probability (1 -
    b)^{d - d_t} (1 - (1 - b)^{d_t}). Margins draw the targets of the released records with the
    person's keys from the release's own margin, so that a release that says the same of everybody
    discloses nobody. People whose target is one of `codes_without_value` are not counted.

    Of `numbers`, of each table and NaN where there is none, a record tells those within a distance:
    :math:`\max_j |z_j - x| \le \tau`. Any guess between the least and the largest of the z_j is
    then right within the distance. A record without a number speaks against all others. Tables of
    magnitudes have such rules (Hundepool et al. 2010, Handbook on Statistical Disclosure Control),
    and Giomi et al. (2022, arXiv:2211.10459) count guesses so.
    """
    tables = [original, released] if holdout is None else [original, released, holdout]
    people = np.concatenate([original, *tables[2:]])
    key, of_release = cell_ids(keys, n_levels, people, released)
    targets = (table[:, target] for table in tables)
    values = numbers or [np.where(np.isin(x, codes_without_value), np.nan, x) for x in targets]
    n, m, truth = len(original), len(released), np.concatenate([values[0], *values[2:]])
    valued, who, nobody = ~np.isnan(truth), np.nan_to_num(truth), np.zeros(n + m, np.intp)
    d, d_t = count_near(key[:n], who[:n], key[:n], truth[:n], within)
    s, s_t = count_near(key, who, of_release, values[1], within)
    alike = count_near(nobody[:n], who[:n], nobody[:m], values[1], within)[1] / m
    as_common = count_near(nobody[:n], who[:n], nobody[:n], truth[:n], within)[1]
    undisclosed = 1 - as_common / max(valued[:n].sum(), 1)
    tells = valued & (s > 0) & (s == s_t)
    compared = (
        {} if holdout is None else holdout_contrast(tells.astype(float), valued.astype(float), n)
    )
    valued, s, s_t, kept = valued[:n], s[:n], s_t[:n], min(1.0, n / m)

    def agree(records: Ints, right: Ints, kept: float) -> Floats:
        missed = 1 - kept
        return np.where(valued, missed ** (records - right) * (1 - missed**right), 0.0)

    # Each of s records was not kept, or has the target.
    margins = (kept * alike + 1 - kept) ** s - (1 - kept) ** s
    # Without the person's own record, which is one of each where there is a value.
    others = agree(d - valued, d_t - valued, min(1.0, m / n))
    return Disclosure(
        valued, agree(s, s_t, kept), others, np.where(valued & (s > 0), margins, 0.0), key[:n],
        tells[:n], compared, undisclosed=undisclosed,
    )  # fmt: skip


def count_near(
    group: Ints, truth: Floats, of_records: Ints, values: Floats, within: float
) -> tuple[Ints, Ints]:
    """Count the records with each person's keys, and those whose number is within the distance."""
    known = ~np.isnan(values)
    ranked = np.unique(values[known])
    # Records in order of their keys and then of their numbers: those of one person are a stretch.
    width = len(ranked) + 1
    placed = np.sort(of_records[known] * width + np.searchsorted(ranked, values[known]))
    reach = within + _ROUNDING * (np.abs(truth) + within)
    first = np.searchsorted(ranked, truth - reach, side="left")
    last = np.searchsorted(ranked, truth + reach, side="right")
    right = np.searchsorted(placed, group * width + last)
    right = right - np.searchsorted(placed, group * width + first)
    return counts_at(of_records, group), right


def inference(
    original: Codes, released: Codes, n_levels: Levels, keys: Sequence[int], target: int,
    codes_without_value: Sequence[int] = (), holdout: Codes | None = None, *,
    rng: np.random.Generator,
) -> Disclosure:  # fmt: skip
    r"""Guess each person's target by trees grown from the release: probability of the truth.

    Trees (scikit-learn's) grow in pairs, each from one random half of a file. Other people's
    records are those halves of the original that the person is not in, so that nothing of the
    person's own is used. Where the larger file has more, halves are as large as the smaller's.

    People do not vouch for one another: a sample that has a few more of one value moves the guess
    for everybody. The variance of the share from the records that trees grow from is a quarter of
    the mean squared difference of the shares within a pair, which is exact for shares that are
    linear in the records. For others' records it is no smaller, and as large as halves of the
    original differ that guess each other. Of many people evenly spaced ones count.
    """
    people = original if holdout is None else np.concatenate([original, holdout])
    n, valued = len(original), np.flatnonzero(~np.isin(people[:, target], codes_without_value))
    rows, strangers = np.split(valued, [np.searchsorted(valued, n)])
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_PREDICTED)).astype(int)]
    size = max(min(n, len(released), MAX_TRAINING) // 2, 1)

    def guessed(codes: Codes, rng: np.random.Generator, own: bool) -> tuple[Floats, float]:
        """Mean probability of the truth, and the variance of its mean over people in the file."""
        prob, apart = np.zeros(len(people)), []
        for _ in range(PAIRS):
            shares = []
            for half in np.array_split(rng.permutation(len(codes)), 2):
                asked = rows[~np.isin(rows, half)] if own else np.append(rows, strangers)
                right = _tree_probabilities(
                    codes[half[:size]], people[asked], keys, target, n_levels, rng
                )
                prob[asked] += right / (PAIRS if own else 2 * PAIRS)
                in_file = right[: len(rows)]
                shares.append(in_file.sum() / max(len(in_file), 1))
            apart.append(shares[0] - shares[1])
        return prob, float(np.mean(np.square(apart))) / 4

    of_release, of_original = rng.spawn(2)  # so that others' guesses are the same for all releases
    release, variance = guessed(released, of_release, own=False)
    others, of_others = guessed(original, of_original, own=True)
    release[:n], others = release[:n].clip(max=1), others[:n].clip(max=1)
    tells = release[np.append(rows, strangers)]
    compared = holdout_contrast(tells, np.ones(len(tells)), len(rows)) if len(strangers) else {}
    return Disclosure(
        np.isin(np.arange(n), rows), release[:n], others, np.full(n, np.nan), np.arange(n),
        np.zeros(n, bool), compared, training_variance=variance + max(variance, of_others),
    )  # fmt: skip


def _tree_probabilities(
    records: Codes, people: Codes, keys: Sequence[int], target: int, n_levels: Levels,
    rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Probability of people's true target by a tree that is grown from records."""
    from sklearn.tree import DecisionTreeClassifier

    seed, prob = int(rng.integers(2**31)), np.zeros((len(people), int(n_levels[target])))
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # most records may have a level of their own
        tree.fit(records[:, keys].astype(np.float32), records[:, target])
    if len(people):
        prob[:, tree.classes_] = tree.predict_proba(people[:, keys].astype(np.float32))
    return prob[np.arange(len(people)), people[:, target]]


def repu_and_tcap(
    original: Codes, released: Codes, n_levels: Levels, keys: Sequence[int], target: int,
    numbers: Numbers = MappingProxyType({}),
) -> dict[str, float]:  # fmt: skip
    """Return repU and TCAP.

    repU is the share of people who are alone with their keys and meet one released record alone
    (Raab, Nowok and Dibben 2024), with numbers as the files have them. TCAP is, of released records
    whose fellows with the same keys agree on the target, the mean share of people with these keys
    who have it (Taub and Elliot 2019). The third customary measure, DiSCO, is `told`.
    """
    of_person, of_record = Keys.of([original, released], n_levels, keys, numbers).cell_ids()
    once = (counts_at(of_person, of_person) == 1) & (counts_at(of_record, of_person) == 1)
    q, of_release = cell_ids(keys, n_levels, original, released)
    d, s = cell_counts(q, of_release)
    level = np.full(len(d), -1, np.int64)
    level[of_release] = released[:, target]  # of one of the group's records, whichever
    apart = np.bincount(of_release, released[:, target] != level[of_release], len(d))
    aim = (s > 0) & (apart == 0) & (d > 0)
    right = np.bincount(q, original[:, target] == level[q], len(d))[aim]
    tcap = (right * s[aim] / d[aim]).sum() / s[aim].sum() if aim.any() else np.nan
    return {"repU": float(once.mean()), "TCAP": float(tcap)}
