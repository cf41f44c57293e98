r"""Membership tests: the most powerful one, and tests by any score of people.

The intruder knows all other records, :math:`D_{-i}`, and the synthesizer, sees a
release Z, and asks whether a person with the values x is in the data: whether x is the
record i that is missing. The alternative is that record i belongs to somebody drawn
from a baseline :math:`p(x \mid D_{-i})`. The likelihood ratio is

.. math:: \frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
          = \frac{p(Z \mid D_{-i}, x_i)}
                 {\sum_x p(x \mid D_{-i}) \, p(Z \mid D_{-i}, x)},

the predictive probability of the record after the release over that before it. Its test
is the most powerful at its false-positive rate (Neyman and Pearson 1933). Its logarithm
is the privacy loss against all people who may be record i together: a function of the
likelihood whose candidates are people. The baseline is estimated from a holdout: people
who are not in the data. The statistic of a holdout person is computed from the other
holdout people, so that nobody is in their own baseline.

References
----------
Neyman, J. and Pearson, E. S. (1933). On the problem of the most efficient
tests of statistical hypotheses. https://doi.org/10.1098/rsta.1933.0009
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import batched

import numpy as np
import pandas as pd

from srlib import checks
from srlib.arrays import Bools, Floats, Generator, Ints, NDArray
from srlib.data import Codes, Schema
from srlib.display import Overview, percent_with_error
from srlib.margins import chow_liu_tree, log_density
from srlib.risk.candidates import (
    Data,
    Rows,
    TargetRecords,
    encode,
    encode_releases,
    target_records,
)
from srlib.risk.draw_sets import DrawSets
from srlib.risk.errors import (
    jackknife_variance,
    leave_one_out,
    leave_one_out_log_means,
    log_mean,
)
from srlib.risk.synthesizers import Density, check_density, density_likelihood
from srlib.trees import Trees

FALSE_POSITIVE_RATES = (0.01, 0.001)
"""False-positive rates at which the power is computed by default."""
N_HOLDOUT = 100
"""Holdout people who are compared with each target record by default."""
N_BOOTSTRAP = 200
"""Bootstrap samples for the standard error of the power."""
type Score = Callable[[Codes, Codes], Floats]
"""Scores of people, (n,), given their codes and those of released records."""
_COLUMNS = (
    "release_set",
    "repetitions",
    "statistic",
    "statistic_mcse",
    "classified_member",
)


@dataclass(frozen=True, repr=False)
class MembershipTest(Overview):
    """A membership test, applied to target records and to people not in the data.

    The test classifies a person as a member above a threshold that is the same for all
    target records and sets of releases. At the threshold the decision is randomized, so
    that ties do not change the false-positive rate.

    Attributes
    ----------
    schema, combinations, repetitions
        As in `PosteriorRisk`, for the target records.
    statistic : (n_release_sets, n) float64
        Log likelihood ratio, or another statistic that is larger for likely members.
        Infinite where nobody of the baseline is possible.
    mcse : (n_release_sets, n) float64
        Its standard error, from the differences between the holdout people of the
        baseline; NaN where the statistic is infinite.
    holdout_statistic : (n_release_sets, n, n_holdout) float64
        The statistic of holdout people in place of each target record.
    holdout_rows : (n, n_holdout) int64
        Rows of these people in the holdout.
    without_one_chain : sequence of sequences of MembershipTest
        With draws of the DPMPM, the tests without one chain at a time, for each set of
        chains; empty if the statistic is exact.
    intruder : str
        Who tests, and what this intruder knows.

    Examples
    --------
    >>> sick = ["no"] * 90 + ["yes"] * 10
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": sick})
    >>> holdout = people.sample(300, replace=True, random_state=1)  # use other people
    >>> test = score_test(people, [people[:40]], holdout, closeness)
    >>> test.power([0.1], rng=np.random.default_rng(1))["power"].round(2).tolist()
    [0.05]
    >>> test.to_frame()[["job", "sick"]].iloc[0].tolist()
    ['cook', 'no']
    """

    schema: Schema
    combinations: Codes
    repetitions: Ints
    statistic: Floats
    mcse: Floats
    holdout_statistic: Floats
    holdout_rows: Ints
    without_one_chain: Sequence[Sequence["MembershipTest"]] = ()
    intruder: str = "An intruder who knows all other records and the synthesizer"

    def _overview(self) -> tuple:
        curve = self.roc()
        rate, power = map(percent_with_error, curve.iloc[0])
        sentence = (
            f"{self.intruder} detects the membership of {power} of "
            f"{len(self.combinations):,} target records, with {rate} false positives; "
            "`power` has the error of this."
        )
        return sentence, curve[::10]

    @cached_property
    def _sorted(self) -> tuple[Floats, Ints]:
        """Distinct holdout statistics in falling order, and everybody's position."""
        values, position = np.unique(-self.holdout_statistic, return_inverse=True)
        return -values, position.ravel()

    def _classify(
        self, rates: Floats, weights: NDArray | None = None
    ) -> tuple[Floats, Floats]:
        """Return thresholds for false-positive rates, and the decisions at them.

        Decisions are (n_rates, n_release_sets, n). They are NaN where the holdout is
        too small for the rate: on average at least one holdout person per target record
        has to be above the threshold. With fewer, the threshold cannot be estimated: by
        Markov's inequality it may be as large as one over the rate, and no ratio is
        seen that large.
        """
        values, position = self._sorted
        mass = np.bincount(position, weights)
        limits, randomization = thresholds(values, mass, rates[:, None, None])
        decisions = critical_function(self.statistic, limits, randomization)
        too_few = rates * self.holdout_rows.shape[1] < 1 - 1e-9
        limits[too_few] = np.nan
        decisions[too_few] = np.nan
        return limits.ravel(), decisions

    def classify(self, false_positive_rate: float = FALSE_POSITIVE_RATES[0]) -> Floats:
        """Return the probability that each target record is classified as a member.

        The shape is (n_release_sets, n). The probability is 0 or 1 except at the
        threshold, and NaN where the holdout is too small for the false-positive rate.
        """
        checks.inner_probability(false_positive_rate=false_positive_rate)
        _, (decision,) = self._classify(np.array([false_positive_rate]))
        return decision

    def power(
        self,
        false_positive_rates: Sequence[float] = FALSE_POSITIVE_RATES,
        *,
        rng: Generator,
    ) -> pd.DataFrame:
        """Return the power: the share of target records that are classified as members.

        The table has a row for each rate, in (0, 1): false_positive_rate, threshold of
        the statistic, power (the true-positive rate) and power_se. NaN where
        `n_holdout` is less than one divided by the rate.

        Standard errors are those of other target records, another holdout and, where
        there are several, other sets of releases; the people who make up the baseline
        stay the same. All three are resampled with replacement, independently of each
        other, which overstates the error rather than understates it (Owen 2007, The
        pigeonhole bootstrap, https://doi.org/10.1214/07-AOAS122). Where the statistic
        is estimated from chains, the jackknife over these adds their variance. A
        standard error is at least that of a proportion one record away from none and
        from all.
        """
        rates = np.asarray(false_positive_rates, float)
        checks.inner_probability(false_positive_rates=rates)
        limits, decisions = self._classify(rates)
        power = decisions.mean(axis=(1, 2))
        replicates = [self._resampled_power(rates, rng) for _ in range(N_BOOTSTRAP)]
        variance = np.var(replicates, axis=0, ddof=1)
        for tests in self.without_one_chain:
            variance += jackknife_variance(test._power(rates) for test in tests)
        n = len(self.combinations)
        adjusted_power = (n * power + 1) / (n + 2)  # away from none and from all
        smallest = np.sqrt(adjusted_power * (1 - adjusted_power) / n)
        return pd.DataFrame(
            {
                "false_positive_rate": rates,
                "threshold": limits,
                "power": power,
                "power_se": np.maximum(np.sqrt(variance), smallest),
            }
        )

    def _power(self, rates: Floats) -> Floats:
        """Return the share of target records that are classified as members."""
        _, decisions = self._classify(rates)
        return decisions.mean(axis=(1, 2))

    def _resampled_power(self, rates: Floats, rng: Generator) -> list[float]:
        """Return the power with sets of releases, records and people resampled."""
        n_release_sets, n = self.statistic.shape
        set_weights = _resample(n_release_sets, rng)
        record_weights = _resample(n, rng)
        person_weights = _resample(self.holdout_rows.max() + 1, rng)
        weights = set_weights[:, None] * record_weights  # (n_release_sets, n)
        holdout_weights = weights[:, :, None] * person_weights[self.holdout_rows]
        _, decisions = self._classify(rates, holdout_weights.ravel())
        return [np.average(decision, weights=weights) for decision in decisions]

    def roc(self) -> pd.DataFrame:
        """Return the ROC curve: false_positive_rate and power, at 61 rates.

        The rates are evenly spaced on the log scale, from the smallest for which the
        holdout is large enough.
        """
        rates = np.geomspace(1 / self.holdout_rows.shape[1], 1, 61)
        return pd.DataFrame({"false_positive_rate": rates, "power": self._power(rates)})

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each set of releases and target record.

        The columns are release_set, from 1; the variables, with their labels as values;
        repetitions; statistic and statistic_mcse; and classified_member, the
        probability that the record is classified as a member at a false-positive rate
        of 1 %, averaged over all sets of releases.
        """
        self.schema.check_reserved_names(_COLUMNS)
        n_release_sets, n = self.statistic.shape
        frame = self.schema.decode(np.tile(self.combinations, (n_release_sets, 1)))
        frame.insert(0, "release_set", np.repeat(np.arange(1, n_release_sets + 1), n))
        return frame.assign(
            repetitions=np.tile(self.repetitions, n_release_sets),
            statistic=self.statistic.ravel(),
            statistic_mcse=self.mcse.ravel(),
            classified_member=np.tile(self.classify().mean(axis=0), n_release_sets),
        )


def membership_test(
    original: Data,
    released: Sequence[Data],
    holdout: Data,
    n_releases: int = 1,
    *,
    synthesizer: Trees | Density | None = None,
    draws: DrawSets | None = None,
    n_holdout: int = N_HOLDOUT,
    rows: Rows | None = None,
) -> MembershipTest:
    """Return the likelihood-ratio test of membership, with holdout people.

    It is the most powerful test at its false-positive rate, for an intruder who knows
    all other records and the synthesizer.

    Parameters
    ----------
    original, released : DataFrame or Microdata, sequence of these
        The confidential table, and releases that are independent given it.
    holdout : DataFrame or Microdata
        People of the same population who are not in the original, in random order; two
        or more.
    n_releases : int
        Number of releases in a set: the first releases are the first set, and so on.
    synthesizer : Trees or Density, optional
        Trees fitted to the original, or any other synthesizer whose density is known. A
        ValueError is raised if it cannot have drawn the releases.
    draws : DrawSets, optional
        Draws of the DPMPM, if that is the synthesizer: given the original, and given
        the original joined with each release. All releases are then one set. The
        errors of the statistic and of the power include those of the chains.
    n_holdout : int
        Holdout people compared with each target record, 2 or more. They are dealt out
        in turn, so that as many different people as possible are used; if there are
        fewer, all are compared.
    rows : sequence of int, optional
        Rows of the target records; one of each distinct combination if not given. The
        power is a share of these.

    Examples
    --------
    >>> import srlib
    >>> sick = ["no"] * 90 + ["yes"] * 10
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": sick})
    >>> trees = srlib.fit_trees(people)
    >>> released = trees.release(4, rng=np.random.default_rng(1))
    >>> holdout = people.sample(300, replace=True, random_state=1)  # use other people
    >>> test = membership_test(people, released, holdout, synthesizer=trees)
    >>> test.holdout_statistic.shape  # sets of releases, target records, people
    (4, 4, 100)
    >>> test.power(rng=np.random.default_rng(1)).columns.tolist()
    ['false_positive_rate', 'threshold', 'power', 'power_se']
    """
    comparison = _compare(original, released, holdout, n_releases, n_holdout, rows)
    records = comparison.records
    if draws is not None and synthesizer is None:
        return _test_by_draws(comparison, draws)
    if draws is not None or synthesizer is None:
        raise ValueError("give either a synthesizer or draws of the DPMPM")
    check_density(synthesizer, records.table)
    truth = records.combinations[:, None]
    people = comparison.people[comparison.holdout_rows]  # (n, n_holdout, n_variables)
    candidates = np.concatenate([truth, people], axis=1)
    statistics = []
    for tables in comparison.release_sets:
        likelihood = density_likelihood(
            synthesizer, tables, records.table.codes, records.rows, candidates
        )
        statistics.append(log_likelihood_ratios(likelihood.log_likelihood))
    return comparison.test(*map(np.stack, zip(*statistics, strict=True)))


def _test_by_draws(comparison: "_Comparison", draws: DrawSets) -> MembershipTest:
    """Return the likelihood-ratio test of one set of releases, by draws."""
    n_sets = len(comparison.release_sets)
    n_releases = len(comparison.release_sets[0])
    if n_sets > 1 or n_releases != len(draws.joined):
        raise ValueError(
            f"draws are given {len(draws.joined)} releases; these must be all released "
            f"tables, in one set, but there are {n_sets} sets of {n_releases}"
        )
    likelihood = draws.people_likelihood(
        comparison.records.combinations, comparison.people, comparison.holdout_rows
    )

    def test_of(log_likelihood: Floats) -> MembershipTest:
        ratios = log_likelihood_ratios(log_likelihood)
        return comparison.test(*(part[None] for part in ratios))

    test = test_of(likelihood.log_likelihood)
    without_one_chain = [
        [*map(test_of, columns)]
        for columns in leave_one_out(likelihood.from_log_means, likelihood.sets)
    ]
    variance = test.mcse**2
    for tests in without_one_chain:
        variance += jackknife_variance(one.statistic for one in tests)
    return replace(test, mcse=np.sqrt(variance), without_one_chain=without_one_chain)


def score_test(
    original: Data,
    released: Sequence[Data],
    holdout: Data,
    score: Score,
    n_releases: int = 1,
    *,
    n_holdout: int = N_HOLDOUT,
    rows: Rows | None = None,
) -> MembershipTest:
    """Return a membership test by a score of people, which is larger for members.

    The score is a function of people, (n, n_variables) codes, and of the records of a
    set of releases, joined. Its Monte Carlo error is taken to be zero. The other
    arguments and the holdout people are those of `membership_test`.

    Examples
    --------
    >>> sick = ["no"] * 90 + ["yes"] * 10
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": sick})
    >>> holdout = people.sample(300, replace=True, random_state=1)
    >>> score_test(people, [people[:40]], holdout, closeness).statistic
    array([[-0., -1., -0., -1.]])
    """
    comparison = _compare(original, released, holdout, n_releases, n_holdout, rows)
    records = comparison.records.combinations
    everybody = np.concatenate([records, comparison.people])
    statistics = [
        score(everybody, np.concatenate(tables)) for tables in comparison.release_sets
    ]
    statistic, of_people = np.split(
        np.stack(statistics, dtype=float), [len(records)], axis=1
    )
    test = comparison.test(
        statistic, np.zeros_like(statistic), of_people[:, comparison.holdout_rows]
    )
    return replace(test, intruder="An intruder who scores people by the releases")


def closeness(people: Codes, released: Codes) -> Floats:
    """Return minus the Hamming distance to the closest released record, (n,).

    The distance is the number of variables that differ.
    """
    from sklearn.metrics import pairwise_distances_argmin_min

    _, share_different = pairwise_distances_argmin_min(
        people, np.unique(released, axis=0), metric="hamming"
    )
    return -np.rint(people.shape[1] * share_different)


def density_ratio(
    people: Codes,
    released: Codes,
    reference: Codes,
    levels: Sequence[int],
    in_reference: Bools,
) -> Floats:
    """Return the log density of people in a release relative to a reference, (n,).

    Both densities are those of Chow-Liu trees, of the released records and of the
    reference people. People who are themselves `in_reference` are left out of it. A
    release has a higher density where the synthesizer has overfitted (van Breugel, Sun,
    Qian and van der Schaar 2023, https://proceedings.mlr.press/v206/breugel23a.html).
    """
    of_release = chow_liu_tree(released, levels)
    of_reference = chow_liu_tree(reference, levels)
    log_reference = log_density(people, of_reference, -in_reference.astype(float))
    return log_density(people, of_release) - log_reference


def log_likelihood_ratios(log_prob: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log likelihood ratios of records, their errors, and those of the holdout.

    The argument is log p(releases | data with this person as the target record), (n, 1
    + n_holdout), the target record itself first. The first result is the log ratio of
    the target record to the mean over the holdout people, infinite where none of them
    is possible; the second its standard error, as that of a mean over these people; the
    third the log ratio of each holdout person to the mean over the others.
    """
    own = log_prob[:, 0]
    people = log_prob[:, 1:].T  # (n_holdout, n)
    n_people = len(people)
    mean = log_mean(people)
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.exp(people - mean) / n_people  # of each person in the sum
        # Of a mean over n people relative to it: n / (n - 1) (sum of share^2 - 1 / n).
        excess = np.maximum((share**2).sum(axis=0) - 1 / n_people, 0.0)
        error = np.sqrt(n_people / (n_people - 1) * excess)
        others = np.stack(list(leave_one_out_log_means(people)))
        holdout_statistic = np.where(np.isneginf(people), -np.inf, people - others)
        return own - mean, error, holdout_statistic.T


def thresholds(
    values: Floats, mass: NDArray, false_positive_rates: Floats
) -> tuple[Floats, Floats]:
    """Return the thresholds of a randomized test with exact false-positive rates.

    `values` are the distinct values of the statistic in falling order, with their
    `mass` among people who are not in the data. The second result is the probability of
    classifying a person at the threshold as a member (Neyman and Pearson's randomized
    test).
    """
    share_up_to = np.cumsum(mass) / mass.sum()
    position = np.searchsorted(share_up_to, false_positive_rates, side="right")
    position = np.minimum(position, len(values) - 1)
    share = mass[position] / mass.sum()  # at the threshold
    above = share_up_to[position] - share
    randomization = (false_positive_rates - above) / share
    return values[position], np.clip(randomization, 0.0, 1.0)


def critical_function(
    statistic: Floats, threshold: Floats, randomization: Floats
) -> Floats:
    """Return the probability of classification as a member, given the statistic.

    It is 1 above the threshold, `randomization` at the threshold, and 0 below.
    """
    at_threshold = np.where(statistic == threshold, randomization, 0.0)
    return np.where(statistic > threshold, 1.0, at_threshold)


@dataclass(frozen=True)
class _Comparison:
    """Target records, sets of releases, and the holdout people who are compared.

    `holdout_rows` (n, n_holdout) are the rows of the people for each target record.
    """

    records: TargetRecords
    release_sets: Sequence[Sequence[Codes]]
    people: Codes
    holdout_rows: Ints

    def test(
        self, statistic: Floats, mcse: Floats, holdout_statistic: Floats
    ) -> MembershipTest:
        """Return the membership test by a statistic."""
        return MembershipTest(
            schema=self.records.table.schema,
            combinations=self.records.combinations,
            repetitions=self.records.repetitions,
            statistic=statistic,
            mcse=mcse,
            holdout_statistic=holdout_statistic,
            holdout_rows=self.holdout_rows,
        )


def _compare(
    original: Data,
    released: Sequence[Data],
    holdout: Data,
    n_releases: int,
    n_holdout: int,
    rows: Rows | None,
) -> _Comparison:
    """Return whom a membership test compares; the arguments are those of the test."""
    table = encode(original, "original")
    tables = encode_releases(released, table.schema)
    people = encode(holdout, "holdout", table.schema).codes
    if len(people) < 2:
        raise ValueError(f"holdout has {len(people)} people; it must have two or more")
    checks.whole(n_releases=n_releases, n_holdout=n_holdout)
    checks.within(1, len(tables), n_releases=n_releases)
    checks.at_least(2, n_holdout=n_holdout)
    if len(tables) % n_releases:
        raise ValueError(
            f"n_releases is {n_releases}; {len(tables)} releases cannot be divided "
            "into sets of that size"
        )
    records = target_records(table, rows=rows)
    # Dealt out in turn; all of them for each target record where there are fewer.
    shape = len(records.rows), min(n_holdout, len(people))
    holdout_rows = np.resize(np.arange(len(people)), shape)
    return _Comparison(records, [*batched(tables, n_releases)], people, holdout_rows)


def _resample(size: int, rng: Generator) -> Ints:
    """Return how often each of `size` units is in a bootstrap sample of them."""
    return np.bincount(rng.integers(size, size=size), minlength=size)
