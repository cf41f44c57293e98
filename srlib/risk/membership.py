r"""Who is in the data: the best test, and one by distance to the nearest released record.

The intruder knows all other records, :math:`D_{-i}`, and how releases are made, sees a release Z,
and asks whether a person with the values x is the one who is missing. The alternative is that the
place is held by somebody drawn from a baseline :math:`p(x \mid D_{-i})`. The likelihood ratio is

.. math:: \frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
          = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i}) \, p(Z \mid D_{-i}, x)},

the predictive probability of the record after the release over that before it. No test with the
same share of false positives finds more members (Neyman and Pearson 1933). Its logarithm is the
privacy loss against all who may hold the place together: a reading of the column whose candidates
are people. For the baseline stand people who were held out of the data; each is compared with the
others, so that nobody is in their own baseline.

References
----------
Neyman, J. and Pearson, E. S. (1933). On the problem of the most efficient tests of statistical
hypotheses. https://doi.org/10.1098/rsta.1933.0009
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import checks
from srlib.checks import require
from srlib.data.codes import distinct
from srlib.data.schema import Schema
from srlib.risk.candidates import Data, Rows, Sought, coded, coded_releases, sought
from srlib.risk.errors import log_mean, log_means_left_out
from srlib.risk.synthesizers import Density, check_density, density_column
from srlib.trees import Trees

RATES = (0.01, 0.001)
"""Shares of false positives at which the power is computed."""
N_BESIDE = 100
"""People held out who are compared at each record, if nothing else is said."""
N_BOOTSTRAP = 200
"""Bootstrap samples for the error of the power."""
_COLUMNS = ("publication", "repetitions", "statistic", "statistic_mcse", "found")


@dataclass(frozen=True, repr=False)
class MembershipTest:
    """A test of who is in the data, tried on people who are and on people who are not.

    It says "in" above a limit that is the same for all records and publications, and by lot at it,
    so that ties are neither won nor lost.

    Attributes
    ----------
    schema, combinations, repetitions
        As of `PosteriorRisk`, for the records that are sought.
    n_releases : int
        Releases in a publication.
    statistic : (n_publications, n) float64
        Log likelihood ratio, or another statistic that is larger for those who seem to be in.
        Infinite where nobody of the baseline could hold the place.
    mcse : (n_publications, n) float64
        Its standard error, from between the people who stand for the baseline; NaN where it is
        infinite.
    of_people : (n_publications, n, n_beside) float64
        The statistic of people who are not in the data, at the place of each record.
    people : (n, n_beside) int64
        Who of the people held out these are.

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> others = people.sample(300, replace=True, random_state=1)  # in earnest, other people
    >>> test = distance_test(people, [people[:40]], others)
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
    of_people: NDArray[np.float64]
    people: NDArray[np.int64]

    def __repr__(self) -> str:
        n_publications, n, n_beside = self.of_people.shape
        return (
            f"<MembershipTest: {n:,} records, {n_beside:,} people held out beside each, "
            f"{n_publications:,} publications>"
        )

    @cached_property
    def _in_order(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The different values of people in falling order, and which of them each person has."""
        values, where = np.unique(-self.of_people, return_inverse=True)
        return -values, where.ravel()

    def _at(
        self, rates: NDArray[np.float64], weights: NDArray | None = None
    ) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """Return limits with these false positives, and what is called "in" at each of them."""
        values, where = self._in_order
        limit, by_lot = limits(values, np.bincount(where, weights), rates)
        return limit, [called(self.statistic, *each) for each in zip(limit, by_lot, strict=True)]

    def _enough(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say whether people enough were held out for these shares of false positives.

        At each record one at least has to be above the limit on average. Fewer do not tell the
        limit, nor ratios as high as it may be: by Markov's inequality up to one over the share.
        """
        return rates * self.people.shape[1] >= 1 - 1e-9

    def found(self, false_positives: float = RATES[0]) -> NDArray[np.float64]:
        """Return the probability that each record is called "in", (n_publications, n).

        It is 0 or 1 but at the limit; NaN where too few people were held out.
        """
        checks.inner_probability(false_positives=false_positives)
        rate = np.array([false_positives])
        return np.where(self._enough(rate), self._at(rate)[1][0], np.nan)

    def power(
        self, false_positives: Sequence[float] = RATES, *, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Return the share of the records that are called "in", and its standard error.

        One row for each share of false positives, in (0, 1), among people who are not in the data:
        false_positives, limit of the statistic, power and power_se. NaN where too few people were
        held out.

        Errors are those of other records, other people held out and other publications, where there
        are several; people as the baseline stay. All three are drawn with replacement,
        independently of each other, which overstates the error rather than understates it (Owen
        2007, The pigeonhole bootstrap, https://doi.org/10.1214/07-AOAS122). An error is at least
        that of a proportion one record away from none and all.
        """
        rates = np.asarray(false_positives, dtype=float)
        checks.inner_probability(false_positives=rates)
        limit, says = self._at(rates)
        power = np.array([each.mean() for each in says])
        sizes = *self.statistic.shape, int(self.people.max()) + 1
        n, again = sizes[1], np.empty((N_BOOTSTRAP, len(rates)))
        for drawn in again:
            often, of_record, of_person = (
                np.bincount(rng.integers(size, size=size), minlength=size) for size in sizes
            )
            inside = often[:, None] * of_record
            weights = inside[:, :, None] * of_person[self.people]
            _, says = self._at(rates, weights.ravel())
            drawn[:] = [np.average(each, weights=inside) for each in says]
        near = (n * power + 1) / (n + 2)
        error = np.maximum(again.std(axis=0, ddof=1), np.sqrt(near * (1 - near) / n))
        columns = {"false_positives": rates, "limit": limit, "power": power, "power_se": error}
        frame = pd.DataFrame(columns)
        frame.loc[~self._enough(rates), ["limit", "power", "power_se"]] = np.nan
        return frame

    def roc(self) -> pd.DataFrame:
        """Return the power over 61 shares of false positives, even by the logarithm: the ROC curve.

        The least is that for which people enough were held out.
        """
        rates = np.geomspace(min(1 / self.people.shape[1], 0.5), 1, 61)
        powers = [each.mean() for each in self._at(rates)[1]]
        return pd.DataFrame({"false_positives": rates, "power": powers})

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each publication and record.

        They have publication, from 1; the variables, with their labels as values; repetitions;
        statistic and statistic_mcse; and found, the probability that the record is called "in" at
        1 % false positives, a mean over all publications.
        """
        self.schema.check_reserved_names(_COLUMNS)
        n_publications, n = self.statistic.shape
        frame = self.schema.decode(np.tile(self.combinations, (n_publications, 1)))
        frame.insert(0, "publication", np.repeat(np.arange(1, n_publications + 1), n))
        return frame.assign(
            repetitions=np.tile(self.repetitions, n_publications),
            statistic=self.statistic.ravel(),
            statistic_mcse=self.mcse.ravel(),
            found=np.tile(self.found().mean(axis=0), n_publications),
        )


def membership_test(
    original: Data,
    released: Sequence[Data],
    held_out: Data,
    n_releases: int = 1,
    *,
    synthesizer: Trees | Density,
    n_beside: int = N_BESIDE,
    rows: Rows | None = None,
) -> MembershipTest:
    """Compute the likelihood ratio of being in the data, of records and of people held out.

    Parameters
    ----------
    original, released : DataFrame or Microdata, sequence of these
        The confidential table, and releases that are independent given it.
    held_out : DataFrame or Microdata
        People of the same population who are not in the original, in random order; two or more.
    n_releases : int
        Releases in a publication: the first ones are the first publication, and so on.
    synthesizer : Trees or Density
        Trees grown on the original, or any other whose density is known; a ValueError says so where
        it cannot have drawn the releases.
    n_beside : int
        People held out who are compared at each record, 2 or more. They are dealt out in turn, so
        that as many different ones as possible are used; if there are fewer, all are compared.
    rows : sequence of int, optional
        Records that are sought, by their rows; one for each combination if not given. Shares of
        records are of these.

    Examples
    --------
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> trees = srlib.fit_trees(people)
    >>> released = trees.release(4, rng=np.random.default_rng(1))
    >>> others = people.sample(300, replace=True, random_state=1)  # in earnest, other people
    >>> test = membership_test(people, released, others, synthesizer=trees)
    >>> test
    <MembershipTest: 4 records, 100 people held out beside each, 4 publications>
    >>> test.power(rng=np.random.default_rng(1)).columns.tolist()
    ['false_positives', 'limit', 'power', 'power_se']
    """
    records, publications, others, people = _coded(
        original, released, held_out, n_releases, n_beside, rows
    )
    check_density(synthesizer, records.table)
    candidates, where = _candidates(records.combinations, others, people)
    compared = []
    for tables in publications:
        column = density_column(synthesizer, tables, records.table.codes, records.rows, candidates)
        compared.append(log_ratios(np.take_along_axis(column.log_likelihood, where, 1)))
    statistic, mcse, of_people = map(np.stack, zip(*compared, strict=True))
    return MembershipTest(
        records.table.schema, records.combinations, records.repetitions, n_releases,
        statistic, mcse, of_people, people,
    )  # fmt: skip


def distance_test(
    original: Data,
    released: Sequence[Data],
    held_out: Data,
    n_releases: int = 1,
    *,
    n_beside: int = N_BESIDE,
    rows: Rows | None = None,
) -> MembershipTest:
    """Call those "in" who are near to a released record.

    The statistic is minus the Hamming distance to the nearest released record of a publication:
    the number of variables in which they differ. It takes no model, and sees no more than one
    released record at a time. The arguments and the people compared are those of `membership_test`.

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> others = people.sample(300, replace=True, random_state=1)
    >>> distance_test(people, [people[:40]], others).statistic
    array([[-0., -1., -0., -1.]])
    """
    from sklearn.metrics import pairwise_distances_argmin_min

    records, publications, others, people = _coded(
        original, released, held_out, n_releases, n_beside, rows
    )
    (n, n_variables), both = records.combinations.shape, [records.combinations, others]
    near = np.empty((len(publications), n + len(others)))
    for at, tables in enumerate(publications):
        shown = np.unique(np.concatenate(tables), axis=0)
        _, share = pairwise_distances_argmin_min(np.concatenate(both), shown, metric="hamming")
        near[at] = -np.rint(n_variables * share)
    return MembershipTest(
        records.table.schema, records.combinations, records.repetitions, n_releases,
        near[:, :n], np.zeros((len(near), n)), near[:, n:][:, people], people,
    )  # fmt: skip


def log_ratios(
    log_prob: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Compare each record with the people who may hold its place, and each of these with the rest.

    Of log p(releases | data with this person in the record's place), (n, 1 + n_beside), the record
    first. Returns the log ratio of the record to the mean over the people, infinite where none of
    them is possible; its standard error, as that of a mean over so many people; and the log ratio
    of each person to the mean over the others.
    """
    own, people = log_prob[:, 0], log_prob[:, 1:].T
    mean, n = log_mean(people), len(people)
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.exp(people - mean) / n  # of each person in the sum
        error = np.sqrt(n / (n - 1) * np.maximum((share**2).sum(axis=0) - 1 / n, 0.0))
        others = np.stack(list(log_means_left_out(people)))
        of_people = np.where(np.isneginf(people), -np.inf, people - others)
        return own - mean, error, of_people.T


def limits(
    values: NDArray[np.float64], mass: NDArray, false_positives: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return limits that people who are not in the data exceed with given probabilities.

    The different values of the statistic are in falling order, each with its mass among these
    people. Who is above the limit is called "in", and who is at it with the second number returned.
    """
    upto = np.cumsum(mass) / mass.sum()
    at = np.minimum(np.searchsorted(upto, false_positives, side="right"), len(values) - 1)
    share = mass[at] / mass.sum()
    above = upto[at] - share
    with np.errstate(divide="ignore", invalid="ignore"):
        by_lot = np.where(share > 0, (false_positives - above) / share, 0.0)
    return values[at], np.clip(by_lot, 0.0, 1.0)


def called(statistic: NDArray[np.float64], limit: float, by_lot: float) -> NDArray[np.float64]:
    """Return the probability of being called "in": 1 above the limit, `by_lot` at it, else 0."""
    return (statistic > limit) + by_lot * (statistic == limit)


def _coded(
    original: Data,
    released: Sequence[Data],
    held_out: Data,
    n_releases: int,
    n_beside: int,
    rows: Rows | None,
) -> tuple[Sought, list[list[NDArray[np.uint8]]], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the records, the publications, the people held out, and who of these is where."""
    table = coded(original, "original", None)
    tables = coded_releases(released, table.schema)
    others = coded(held_out, "held_out", table.schema).codes
    require(len(others) > 1, f"held_out has {len(others)} people; it must have two or more")
    checks.whole(n_releases=n_releases, n_beside=n_beside)
    checks.within(1, len(tables), n_releases=n_releases)
    checks.at_least(2, n_beside=n_beside)
    told = f"n_releases is {n_releases}; {len(tables)} releases do not make publications of as many"
    require(len(tables) % n_releases == 0, told)
    publications = [tables[at : at + n_releases] for at in range(0, len(tables), n_releases)]
    records = sought(table, rows=rows)
    # Dealt out in turn; all to each record where there are fewer.
    n, each = len(records.rows), min(n_beside, len(others))
    people = np.arange(n * each).reshape(n, each) % len(others)
    return records, publications, others, people


def _candidates(
    records: NDArray[np.integer], others: NDArray[np.integer], people: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return what each record is changed to, each only once, and which of these everybody is.

    The record itself comes first, and again where it has fewer candidates than others have.
    """
    cells, _, cell_of = distinct(others)
    different = [np.unique(cell_of[those], return_inverse=True) for those in people]
    size = max(len(of_record) for of_record, _ in different)
    candidates = np.repeat(records[:, None].astype(np.uint8), 1 + size, axis=1)
    where = np.zeros((len(records), 1 + people.shape[1]), np.int64)
    for i, (of_record, at) in enumerate(different):
        candidates[i, 1 : 1 + len(of_record)] = cells[of_record]
        where[i, 1:] = 1 + at
    return candidates, where
