r"""Membership tests: the most powerful one, and one by distance to the closest released record.

The intruder knows all other records, :math:`D_{-i}`, and the synthesizer, sees a
release Z, and asks whether a person with the values x is in the data: whether x is the
record i that is missing. The alternative is that record i belongs to somebody drawn
from a baseline :math:`p(x \mid D_{-i})`. The likelihood ratio is

.. math:: \frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
          = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i}) \, p(Z \mid D_{-i}, x)},

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import checks
from srlib.data.codes import distinct
from srlib.data.schema import Schema
from srlib.risk.candidates import (
    Data,
    Rows,
    TargetRecords,
    encode,
    encode_releases,
    target_records,
)
from srlib.risk.errors import leave_one_out_log_means, log_mean
from srlib.risk.synthesizers import Density, check_density, density_likelihood
from srlib.trees import Trees

FALSE_POSITIVE_RATES = (0.01, 0.001)
"""False-positive rates at which the power is computed by default."""
N_HOLDOUT = 100
"""Holdout people who are compared with each target record by default."""
N_BOOTSTRAP = 200
"""Bootstrap samples for the standard error of the power."""
_COLUMNS = (
    "release_set",
    "repetitions",
    "statistic",
    "statistic_mcse",
    "classified_member",
)


@dataclass(frozen=True, repr=False)
class MembershipTest:
    """A membership test, applied to target records in the data and to people who are not.

    The test classifies a person as a member above a threshold that is the same for all
    target records and sets of releases. At the threshold the decision is randomized, so
    that ties do not change the false-positive rate.

    Attributes
    ----------
    schema, combinations, repetitions
        As in `PosteriorRisk`, for the target records.
    n_releases : int
        Number of releases in a set.
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

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> holdout = people.sample(300, replace=True, random_state=1)  # use other people in practice
    >>> test = distance_test(people, [people[:40]], holdout)
    >>> test.power([0.1], rng=np.random.default_rng(1))["power"].round(2).tolist()
    [0.05]
    >>> test.to_frame()[["job", "sick"]].iloc[0].tolist()
    ['cook', 'no']
    """

    schema: Schema
    combinations: NDArray[np.integer]
    repetitions: NDArray[np.int64]
    n_releases: int
    statistic: NDArray[np.float64]
    mcse: NDArray[np.float64]
    holdout_statistic: NDArray[np.float64]
    holdout_rows: NDArray[np.int64]

    def __repr__(self) -> str:
        n_release_sets, n, n_holdout = self.holdout_statistic.shape
        return (
            f"<MembershipTest: {n:,} target records, {n_holdout:,} holdout people for each, "
            f"{n_release_sets:,} sets of releases>"
        )

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Distinct values of the holdout statistic, falling, and each person's position in them."""
        values, position = np.unique(-self.holdout_statistic, return_inverse=True)
        return -values, position.ravel()

    def _classify(
        self, rates: NDArray[np.float64], weights: NDArray | None = None
    ) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Return the thresholds for false-positive rates, and the decision at each of them."""
        values, position = self._sorted
        limits, randomization = thresholds(
            values, np.bincount(position, weights), rates
        )
        decisions = [
            critical_function(self.statistic, *pair)
            for pair in zip(limits, randomization, strict=True)
        ]
        return limits, decisions

    def _has_enough_holdout(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether the holdout is large enough for false-positive rates.

        On average at least one holdout person per target record has to be above the
        threshold. With fewer, neither the threshold is known nor are ratios as large as
        it may be: by Markov's inequality up to one over the rate.
        """
        return rates * self.holdout_rows.shape[1] >= 1 - 1e-9

    def classify(
        self, false_positive_rate: float = FALSE_POSITIVE_RATES[0]
    ) -> NDArray[np.float64]:
        """Return the probability that the test classifies each target record as a member.

        The shape is (n_release_sets, n). The probability is 0 or 1 except at the
        threshold, and NaN where the holdout is too small for the false-positive rate.
        """
        checks.inner_probability(false_positive_rate=false_positive_rate)
        rate = np.array([false_positive_rate])
        return np.where(
            self._has_enough_holdout(rate), self._classify(rate)[1][0], np.nan
        )

    def power(
        self,
        false_positive_rates: Sequence[float] = FALSE_POSITIVE_RATES,
        *,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        """Return the power at false-positive rates: the share of target records classified as in.

        The table has a row for each rate, in (0, 1): false_positive_rate, threshold of
        the statistic, power (the true-positive rate) and power_se. NaN where the
        holdout is too small for the rate.

        Standard errors are those of other target records, another holdout and, where
        there are several, other sets of releases; the people who make up the baseline
        stay the same. All three are resampled with replacement, independently of each
        other, which overstates the error rather than understates it (Owen 2007, The
        pigeonhole bootstrap, https://doi.org/10.1214/07-AOAS122). A standard error is
        at least that of a proportion one record away from none and from all.
        """
        rates = np.asarray(false_positive_rates, dtype=float)
        checks.inner_probability(false_positive_rates=rates)
        limits, decisions = self._classify(rates)
        power = np.array([decision.mean() for decision in decisions])
        sizes = *self.statistic.shape, int(self.holdout_rows.max()) + 1
        n, replicates = sizes[1], np.empty((N_BOOTSTRAP, len(rates)))
        for replicate in replicates:
            of_set, of_record, of_person = (
                np.bincount(rng.integers(size, size=size), minlength=size)
                for size in sizes
            )
            inside = of_set[:, None] * of_record
            weights = inside[:, :, None] * of_person[self.holdout_rows]
            _, decisions = self._classify(rates, weights.ravel())
            replicate[:] = [
                np.average(decision, weights=inside) for decision in decisions
            ]
        near = (n * power + 1) / (n + 2)
        smallest = np.sqrt(near * (1 - near) / n)
        frame = pd.DataFrame(
            {
                "false_positive_rate": rates,
                "threshold": limits,
                "power": power,
                "power_se": np.maximum(replicates.std(axis=0, ddof=1), smallest),
            }
        )
        enough = self._has_enough_holdout(rates)
        frame.loc[~enough, ["threshold", "power", "power_se"]] = np.nan
        return frame

    def roc(self) -> pd.DataFrame:
        """Return the ROC curve: false_positive_rate and power, at 61 rates.

        The rates are evenly spaced on the log scale, from the smallest for which the
        holdout is large enough.
        """
        rates = np.geomspace(min(1 / self.holdout_rows.shape[1], 0.5), 1, 61)
        powers = [decision.mean() for decision in self._classify(rates)[1]]
        return pd.DataFrame({"false_positive_rate": rates, "power": powers})

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
    synthesizer: Trees | Density,
    n_holdout: int = N_HOLDOUT,
    rows: Rows | None = None,
) -> MembershipTest:
    """Return the likelihood-ratio test of membership for target records and holdout people.

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
    synthesizer : Trees or Density
        Trees fitted to the original, or any other synthesizer whose density is known. A
        ValueError is raised if it cannot have drawn the releases.
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
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> trees = srlib.fit_trees(people)
    >>> released = trees.release(4, rng=np.random.default_rng(1))
    >>> holdout = people.sample(300, replace=True, random_state=1)  # use other people in practice
    >>> test = membership_test(people, released, holdout, synthesizer=trees)
    >>> test
    <MembershipTest: 4 target records, 100 holdout people for each, 4 sets of releases>
    >>> test.power(rng=np.random.default_rng(1)).columns.tolist()
    ['false_positive_rate', 'threshold', 'power', 'power_se']
    """
    records, release_sets, people, holdout_rows = _prepare(
        original, released, holdout, n_releases, n_holdout, rows
    )
    check_density(synthesizer, records.table)
    candidates, position = _candidates(records.combinations, people, holdout_rows)
    compared = []
    for tables in release_sets:
        likelihood = density_likelihood(
            synthesizer, tables, records.table.codes, records.rows, candidates
        )
        log_prob = np.take_along_axis(likelihood.log_likelihood, position, 1)
        compared.append(log_likelihood_ratios(log_prob))
    statistic, mcse, holdout_statistic = map(np.stack, zip(*compared, strict=True))
    return MembershipTest(
        records.table.schema,
        records.combinations,
        records.repetitions,
        n_releases,
        statistic,
        mcse,
        holdout_statistic,
        holdout_rows,
    )


def distance_test(
    original: Data,
    released: Sequence[Data],
    holdout: Data,
    n_releases: int = 1,
    *,
    n_holdout: int = N_HOLDOUT,
    rows: Rows | None = None,
) -> MembershipTest:
    """Return a membership test by the distance to the closest released record.

    The statistic is minus the Hamming distance, the number of variables that differ, to
    the closest record in a set of releases. It needs no model, and uses only one
    released record at a time. The arguments and the holdout people are those of
    `membership_test`.

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> holdout = people.sample(300, replace=True, random_state=1)
    >>> distance_test(people, [people[:40]], holdout).statistic
    array([[-0., -1., -0., -1.]])
    """
    from sklearn.metrics import pairwise_distances_argmin_min

    records, release_sets, people, holdout_rows = _prepare(
        original, released, holdout, n_releases, n_holdout, rows
    )
    n, n_variables = records.combinations.shape
    everybody = np.concatenate([records.combinations, people])
    near = np.empty((len(release_sets), len(everybody)))
    for at, tables in enumerate(release_sets):
        shown = np.unique(np.concatenate(tables), axis=0)
        _, share = pairwise_distances_argmin_min(everybody, shown, metric="hamming")
        near[at] = -np.rint(n_variables * share)
    return MembershipTest(
        records.table.schema,
        records.combinations,
        records.repetitions,
        n_releases,
        near[:, :n],
        np.zeros((len(near), n)),
        near[:, n:][:, holdout_rows],
        holdout_rows,
    )


def log_likelihood_ratios(
    log_prob: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return log likelihood ratios of target records, their standard errors, and of the holdout.

    The argument is log p(releases | data with this person as the target record), (n, 1
    + n_holdout), the target record itself first. The first result is the log ratio of
    the target record to the mean over the holdout people, infinite where none of them
    is possible; the second its standard error, as that of a mean over these people; the
    third the log ratio of each holdout person to the mean over the others.
    """
    own, people = log_prob[:, 0], log_prob[:, 1:].T
    mean, n = log_mean(people), len(people)
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.exp(people - mean) / n  # of each person in the sum
        error = np.sqrt(n / (n - 1) * np.maximum((share**2).sum(axis=0) - 1 / n, 0.0))
        others = np.stack(list(leave_one_out_log_means(people)))
        holdout_statistic = np.where(np.isneginf(people), -np.inf, people - others)
        return own - mean, error, holdout_statistic.T


def thresholds(
    values: NDArray[np.float64],
    mass: NDArray,
    false_positive_rates: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the thresholds of a randomized test with exact false-positive rates.

    `values` are the distinct values of the statistic in falling order, with their
    `mass` among people who are not in the data. The second result is the probability of
    classifying a person at the threshold as a member (Neyman and Pearson's randomized
    test).
    """
    upto = np.cumsum(mass) / mass.sum()
    at = np.minimum(
        np.searchsorted(upto, false_positive_rates, side="right"), len(values) - 1
    )
    share = mass[at] / mass.sum()
    above = upto[at] - share
    with np.errstate(divide="ignore", invalid="ignore"):
        randomization = np.where(share > 0, (false_positive_rates - above) / share, 0.0)
    return values[at], np.clip(randomization, 0.0, 1.0)


def critical_function(
    statistic: NDArray[np.float64], threshold: float, randomization: float
) -> NDArray[np.float64]:
    """Return the probability of classification as a member, given the statistic.

    It is 1 above the threshold, `randomization` at the threshold, and 0 below.
    """
    return (statistic > threshold) + randomization * (statistic == threshold)


def _prepare(
    original: Data,
    released: Sequence[Data],
    holdout: Data,
    n_releases: int,
    n_holdout: int,
    rows: Rows | None,
) -> tuple[
    TargetRecords, list[list[NDArray[np.uint8]]], NDArray[np.uint8], NDArray[np.int64]
]:
    """Return target records, sets of releases, the holdout, and its rows for each target."""
    table = encode(original, "original", None)
    tables = encode_releases(released, table.schema)
    people = encode(holdout, "holdout", table.schema).codes
    if len(people) < 2:
        raise ValueError(f"holdout has {len(people)} people; it must have two or more")
    checks.whole(n_releases=n_releases, n_holdout=n_holdout)
    checks.within(1, len(tables), n_releases=n_releases)
    checks.at_least(2, n_holdout=n_holdout)
    if len(tables) % n_releases:
        raise ValueError(
            f"n_releases is {n_releases}; {len(tables)} releases cannot be divided into sets of "
            "that size"
        )
    release_sets = [
        tables[at : at + n_releases] for at in range(0, len(tables), n_releases)
    ]
    records = target_records(table, rows=rows)
    # Dealt out in turn; all of them for each target record where there are fewer.
    n, each = len(records.rows), min(n_holdout, len(people))
    holdout_rows = np.arange(n * each).reshape(n, each) % len(people)
    return records, release_sets, people, holdout_rows


def _candidates(
    records: NDArray[np.integer],
    people: NDArray[np.integer],
    holdout_rows: NDArray[np.int64],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the distinct candidates of each target record, and each person's position in them.

    The target record itself comes first, and again where it has fewer candidates than
    others have.
    """
    cells, _, cell_of = distinct(people)
    different = [
        np.unique(cell_of[chosen], return_inverse=True) for chosen in holdout_rows
    ]
    size = max(len(of_record) for of_record, _ in different)
    candidates = np.repeat(records[:, None].astype(np.uint8), 1 + size, axis=1)
    position = np.zeros((len(records), 1 + holdout_rows.shape[1]), np.int64)
    for i, (of_record, at) in enumerate(different):
        candidates[i, 1 : 1 + len(of_record)] = cells[of_record]
        position[i, 1:] = 1 + at
    return candidates, position
