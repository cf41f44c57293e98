"""Identity disclosure: the sample uniques that are matched by a released record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from srlib.arrays import Bools, Floats, Ints
from srlib.assessment.counts import (
    Row,
    binomial_se,
    counts_at,
    holdout_contrast,
    z_score,
)
from srlib.assessment.disclosure import MIN_ERROR, Disclosure, Question
from srlib.assessment.files import Cells, Files
from srlib.assessment.z_scores import beta, beta_binomial_z, permutation_z
from srlib.margins import chow_liu_tree, log_choose, log_density

REACH = 1.5  # log size of the part that corrects a prediction, over that of both files
ROUNDS = 5  # iterations of the expected number of companions


@dataclass(frozen=True)
class IdentityDisclosure(Disclosure):
    """Identity disclosure, by binomial instead of clustered errors.

    Attributes
    ----------
    permutation_z : float
        Excess of matched uniques over a random split of both files.
    effective_trials : float
        Number of people of equal probability whose count would have the variance of the
        fresh sample's.
    """

    permutation_z: float
    effective_trials: float

    def compare(self, group: Bools | None = None) -> Row:
        """Return the row of all sample uniques, each matched or not, or of a group."""
        row = super().compare(group)
        n = row["n"]
        if group is not None or not n or np.isnan(self.permutation_z):
            return row
        share = row["estimate"]
        fresh_sample_se = max(row["fresh_sample_se"], MIN_ERROR / n)
        n_trials = round(self.effective_trials)
        n_matched = round(share * self.effective_trials)
        prior = beta(self.fresh_sample.sum() / n, fresh_sample_se, n)
        margins_error = np.sqrt((self.margins * (1 - self.margins)).sum())
        z_margins = z_score((self.release - self.margins).sum(), margins_error)
        return row | {
            "se": binomial_se(share, n),
            "fresh_sample_se": fresh_sample_se,
            "z": min(beta_binomial_z(n_matched, n_trials, *prior), z_margins),
            "z_permutation": min(self.permutation_z, z_margins),
        }


def identity_disclosure(files: Files, keys: Sequence[int]) -> IdentityDisclosure:
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

    Keys with exact numbers are equal where these are: an intruder knows an age in
    years.

    `IdentityDisclosure.permutation_z` is the test of `copies.copies` without weights,
    which needs no prediction: it is more powerful, but blind in a release with many
    duplicates of its own. A person of the holdout is unique if unique in a random part
    of the larger table that is as large as the smaller table.
    """
    cells = files.cells(keys, exact=True)
    n = len(files.original)
    m = len(files.released)
    is_unique = cells.is_unique[cells.original]  # (n,)
    n_matches = cells.n_released[cells.original]  # (n,)

    all_dropped = (1 - min(1.0, n / m)) ** n_matches
    prob = np.minimum(_margin_probabilities(files, keys), 1 - 1e-12)
    margins = -np.expm1(min(m, n) * np.log1p(-prob))
    fresh_sample, trials = _matched_by_fresh_sample(files, keys, is_unique)
    return IdentityDisclosure(
        eligible=is_unique,
        release=is_unique * (1 - all_dropped),
        fresh_sample=fresh_sample,
        margins=np.where(is_unique, margins, 0.0),
        cluster=cells.original,
        certain=is_unique & (n_matches > 0),
        holdout=_holdout_matched(cells),
        permutation_z=permutation_z(cells.n_original, cells.n_released),
        effective_trials=trials,
    )


IDENTITY = Question(
    name="identity",
    line="uniques (keys) matched",
    reason="of the sample uniques are matched on the keys",
    answer=lambda files, attack, rng: identity_disclosure(files, attack.keys),
    counted="matched",
)


def share_matched_by_fresh_sample(files: Files) -> float:
    """Return the share of the sample uniques (all variables) matched by a fresh sample.

    The fresh sample has the release's size, but no more than the original's. NaN where
    no record is unique.
    """
    columns = range(len(files.n_levels))
    cells = files.cells(exact=True)
    is_unique = cells.is_unique[cells.original]
    if not is_unique.any():
        return np.nan
    fresh_sample, _ = _matched_by_fresh_sample(files, columns, is_unique, False)
    return np.clip(fresh_sample.sum() / is_unique.sum(), 0, 1)


def _holdout_matched(cells: Cells) -> dict[str, float]:
    """Return the share of matched uniques of the holdout, and z; empty without one."""
    n = len(cells.original)
    size = min(n, len(cells.holdout))
    if not size:
        return {}
    # The weight is the hypergeometric probability that a random part of this size has
    # nobody else with the person's keys.
    weights = []
    for file in (cells.original, cells.holdout):
        n_equal = counts_at(file, file)
        log_ways = log_choose(np.append(len(file) - 1, len(file) - n_equal), size - 1)
        weights.append(np.exp(log_ways[1:] - log_ways[0]))
    weight = np.concatenate(weights)
    is_matched = counts_at(cells.released, cells.people) > 0
    return holdout_contrast(weight * is_matched, weight, n, cells.people)


def _margin_probabilities(files: Files, keys: Sequence[int]) -> Floats:
    """Return the probability of each person's keys by the original's margins.

    The margin of an exact number is that of the other people: a person's own date of
    birth is not a margin.
    """
    n = len(files.original)
    prob = np.ones(n)
    for key in keys:
        bins = files.binned(key)[:n]
        ids = files.exact(key)[:n]
        own = not np.array_equal(bins, ids)
        prob *= (counts_at(ids, ids) - own) / max(n - own, 1)
    return prob


def _matched_by_fresh_sample(
    files: Files,
    keys: Sequence[int],
    is_unique: Bools,
    use_holdout: bool = True,
) -> tuple[Floats, float]:
    """Return each person's part in the number of uniques matched by a fresh sample.

    The fresh sample has the release's size, but no more than the original's. A part is
    the derivative of that number by the person's weight, so the parts add up to it. The
    second result is `IdentityDisclosure.effective_trials`.
    """
    n = len(files.original)
    n_unique = int(is_unique.sum())
    people, is_person = _known_people(files, keys, use_holdout)
    # Sizes are in units of the original: all known people, and these to be predicted.
    parts = _Parts(people, is_person.sum() / n)
    wanted = 1 + min(1, len(files.released) / n)
    if wanted >= parts.known and not (people == 1).any():
        return is_unique.astype(float), n_unique
    terms = [(1.0, wanted), (-1.0, 1.0)]
    again = np.nan
    if wanted > parts.known:
        companions = _expected_companions(files, keys, people, is_person)
        terms, again = _predict_unmatched(parts, companions, wanted)
    log_total = sum(weight * parts.log_uniques(t) for weight, t in terms)
    weights = sum(weight * special.softmax(parts.log_unique(t)) for weight, t in terms)
    unmatched = np.exp(log_total)
    matched = is_unique * (1 - unmatched) - n_unique * unmatched * weights
    return matched, _effective_trials(n_unique, unmatched, again)


def _known_people(
    files: Files, keys: Sequence[int], use_holdout: bool
) -> tuple[Ints, Bools]:
    """Return the known people with each person's keys, and which records these are.

    Records are those of all tables, the original's first.
    """
    cells = files.cells(keys, exact=True)
    people = cells.n_original[cells.original]  # (n,)
    n = len(people)
    is_person = np.arange(len(files.binned(0))) < n
    if use_holdout:
        is_person[n + len(files.released) :] = True
        people = people + counts_at(cells.holdout, cells.original)
    return people, is_person


def _predict_unmatched(
    parts: "_Parts",
    companions: Floats,
    wanted: float,
) -> tuple[list[tuple[float, float]], float]:
    """Predict the share of uniques left by a fresh sample beyond the known people.

    Its logarithm is the sum of w log g(t) over the pairs (w, t) of the first result,
    empty where the rest of the file would match nobody; the second is the exponent for
    two fresh samples.
    """
    known = parts.known
    part = known * (known / wanted) ** REACH
    predicted = parts.log_unmatched(companions, part, known - part)
    if predicted == 0:  # hardly any two people could share their keys
        return [], np.nan
    once = parts.log_unmatched(companions, known, wanted - known) / predicted
    further = 2 * wanted - 1 - known
    twice = parts.log_unmatched(companions, known, further) / predicted
    return [(1 + once, known), (-once, part), (-1.0, 1.0)], twice / once


class _Parts(NamedTuple):
    """Random parts of t n of all known people, in which a person may be unique.

    `people` is the number of people with each person's keys, (n,), and `known` is the
    number of all known people, in units of n.
    """

    people: Ints
    known: float

    def log_unique(self, t: float) -> Floats:
        """Return the log probability of being unique in a part, (n,)."""
        return special.xlog1py(self.people - 1.0, -t / self.known)

    def log_uniques(self, t: float) -> float:
        """Return log g(t), with g the expected number of uniques in a part."""
        return special.logsumexp(self.log_unique(t))

    def log_unmatched(
        self,
        companions: Floats,
        t: float,
        further: float,
    ) -> float:
        """Return the log share of a part's uniques that another part leaves unmatched.

        `companions` are the expected ones of each person in a file of all known people.
        """
        after = self.log_unique(t) - companions * further / self.known
        return special.logsumexp(after) - self.log_uniques(t)


def _expected_companions(
    files: Files,
    keys: Sequence[int],
    people: Ints,
    is_person: Bools,
) -> Floats:
    """Return the expected number of each person's companions in another such file.

    It is that of a tree of two-way tables of the binned keys, times the share of an
    exact number in its bin, in which the records with the person's keys are replaced by
    their expected number. It starts, for uniques, at Good's (1953) estimate, where it
    stays with a single key.
    """
    n = len(files.original)
    binned = np.column_stack([files.binned(key)[is_person] for key in keys])
    tree = chow_liu_tree(binned, [files.n_levels[key] for key in keys])
    numbers = []
    for key, bins in zip(keys, binned.T, strict=True):
        ids = files.exact(key)[is_person]
        if not np.array_equal(bins, ids):
            numbers.append((bins, ids))

    of_unique = (people == 2).sum() / (people == 1).sum()
    companions: Floats = np.where(people > 1, people - 1.0, of_unique)
    for _ in range(ROUNDS):
        more = companions - people
        log_p = log_density(binned[:n], tree, more)
        for bins, ids in numbers:
            log_p += _log_share_in_bin(bins, ids, more)
        companions = len(binned) * np.exp(log_p)
    return companions


def _log_share_in_bin(
    bins: Ints,
    ids: Ints,
    more: Floats,
) -> Floats:
    """Return the log share of each person's number in its bin, if so many more have it.

    Bins and ids of exact numbers are those of all records, the n people's first. The
    prior is that of two records, as in `margins.log_density`.
    """
    n = len(more)
    _, first = np.unique(ids, return_index=True)
    n_distinct = counts_at(bins[first], bins[:n])
    n_equal = counts_at(ids, ids[:n]) + 2 / n_distinct + more
    return np.log(n_equal / (counts_at(bins, bins[:n]) + 2 + more))


def _effective_trials(
    n_unique: int,
    unmatched: float,
    again: float,
) -> float:
    """Return the number of equal trials with the variance of the number of matches.

    The probability of two matches, `unmatched` to the power `again`, shows how much
    people's probabilities differ. Predicted ones differ more than true ones: half of
    the difference counts, on the log scale.
    """
    variance_if_equal = unmatched - unmatched**2
    variance = unmatched - unmatched**again
    ratio = max(variance_if_equal / variance, 1.0) if variance > 0 else 1.0
    return n_unique * np.sqrt(ratio)
