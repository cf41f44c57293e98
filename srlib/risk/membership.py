r"""Who is in the data: the best test, and one by distance to the nearest released record.

The intruder knows all other records, :math:`D_{-i}`, and how releases are made, sees a release Z,
and asks whether a person with the values x is the one who is missing. The alternative is that the
place is held by somebody drawn from a baseline :math:`p(x \mid D_{-i})`. The likelihood ratio has
two parts,

.. math:: \frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
          = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i}) \, p(Z \mid D_{-i}, x)},

the predictive probability of the record after the release, and that before it, which is exactly
what somebody has who is not in the data: averaged over releases of data in which the place is held
by a draw from the baseline, the ratio of any x is 1. No test with the same share of false positives
finds more members (Neyman and Pearson 1933). The logarithm of the ratio is the privacy loss against
all who may hold the place together.

The baseline is a population, for which people stand who were held out of the data. A person held
out is compared with the others, so that nobody is in their own baseline.

References
----------
Neyman, J. and Pearson, E. S. (1933). On the problem of the most efficient tests of statistical
hypotheses. https://doi.org/10.1098/rsta.1933.0009
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib import checks
from srlib.data.codes import distinct
from srlib.data.schema import Schema
from srlib.progress import silent
from srlib.risk.candidates import Data, check_grown, coded_tables
from srlib.risk.columns import Sought, sought
from srlib.risk.errors import jackknife, log_mean, log_means_left_out
from srlib.risk.synthesizers import Density, log_likelihoods
from srlib.threads import one_blas_thread
from srlib.trees import Trees

RATES = (0.01, 0.001)
"""Shares of false positives at which the power is computed."""
FEWEST = 1
"""People at each record who exceed a limit on average, below which it is not estimated."""
N_BESIDE = 100
"""People held out who are compared at each record, if nothing else is said."""
_BLOCK = 1 << 22  # distances for one block of people
_COLUMNS = ("publication", "repetitions", "statistic", "statistic_mcse", "found")


@dataclass(frozen=True, repr=False)
class MembershipTest:
    """A test of who is in the data, tried on people who are and on people who are not.

    It says "in" above a limit that is the same for all records and publications, and by lot at it,
    so that ties are neither won nor lost.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    combinations : (n, n_variables) int
        Records that are in the data.
    repetitions : (n,) int64
        Records of the data that have the same values.
    n_releases : int
        Releases in a publication.
    statistic : (n_publications, n) float64
        Log likelihood ratio, or another statistic that is larger for those who seem to be in.
        Infinite where nobody of the baseline could hold the place.
    mcse : (n_publications, n) float64
        Its Monte Carlo standard error, from between the people who stand for the baseline and of a
        density that is estimated; NaN where it is infinite.
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

    def enough(self, false_positives: ArrayLike) -> NDArray[np.bool_]:
        """Say whether people enough were held out for these shares of false positives.

        At each record one at least has to be above the limit on average. Fewer do not tell the
        limit, nor ratios as high as it may be: by Markov's inequality up to one over the share.
        """
        return np.asarray(false_positives, dtype=float) * self.people.shape[1] >= FEWEST - 1e-9

    def found(self, false_positives: float = RATES[0]) -> NDArray[np.float64]:
        """Return the probability that each record is called "in", (n_publications, n).

        It is 0 or 1 but at the limit; NaN where too few people were held out.

        Parameters
        ----------
        false_positives : float
            Share of the people who are not in the data and called "in", in (0, 1).
        """
        checks.inner_probability(false_positives=false_positives)
        if not self.enough(false_positives):
            return np.full(self.statistic.shape, np.nan)
        values, where = _in_order(self.of_people)
        limit, by_lot = limits(values, np.bincount(where), np.array([false_positives]))
        return called(self.statistic, limit[0], by_lot[0])

    def power(
        self,
        false_positives: Sequence[float] = RATES,
        *,
        rng: np.random.Generator,
        n_bootstrap: int = 200,
    ) -> pd.DataFrame:
        """Return the share of the records that are called "in".

        Parameters
        ----------
        false_positives : sequence of float
            Shares of the people who are not in the data and called "in", in (0, 1).
        rng : numpy.random.Generator
            Source of the bootstrap.
        n_bootstrap : int
            Bootstrap samples, 2 or more.

        Returns
        -------
        DataFrame
            false_positives; limit of the statistic; power; and power_se. NaN where too few people
            were held out.

        Notes
        -----
        Standard errors are those of other records, other people held out and other publications,
        where there are several; people as the baseline stay. All three are drawn with
        replacement, independently of each other, which overstates the error rather than
        understates it (Owen 2007). An error is at least that of a proportion one record away from
        none and all.

        References
        ----------
        Owen, A. B. (2007). The pigeonhole bootstrap. https://doi.org/10.1214/07-AOAS122
        """
        checks.at_least(2, n_bootstrap=n_bootstrap)
        for rate in false_positives:
            checks.inner_probability(false_positives=rate)
        rates = np.asarray(false_positives, dtype=float)
        values, where = _in_order(self.of_people)
        limit, by_lot = limits(values, np.bincount(where), rates)
        powers = [called(self.statistic, *at).mean() for at in zip(limit, by_lot, strict=True)]

        n_publications, n, _ = self.of_people.shape
        n_people = int(self.people.max()) + 1
        again = np.empty((n_bootstrap, len(rates)))
        for drawn in again:
            often, of_record, of_person = (
                np.bincount(rng.integers(size, size=size), minlength=size)
                for size in (n_publications, n, n_people)
            )
            inside = often[:, None] * of_record
            weights = inside[:, :, None] * of_person[self.people]
            at_limit = limits(values, np.bincount(where, weights.ravel()), rates)
            drawn[:] = [
                np.average(called(self.statistic, *at), weights=inside)
                for at in zip(*at_limit, strict=True)
            ]
        near = (n * np.array(powers) + 1) / (n + 2)
        error = np.maximum(again.std(axis=0, ddof=1), np.sqrt(near * (1 - near) / n))
        frame = pd.DataFrame(
            {"false_positives": rates, "limit": limit, "power": powers, "power_se": error}
        )
        frame.loc[~self.enough(rates), ["limit", "power", "power_se"]] = np.nan
        return frame

    def roc(self, n_points: int = 61) -> pd.DataFrame:
        """Return the power over shares of false positives: the ROC curve.

        Parameters
        ----------
        n_points : int
            Points, evenly spaced by the logarithm of the share.

        Returns
        -------
        DataFrame
            false_positives, from the least for which people enough were held out to 1, and power.
        """
        rates = np.geomspace(min(FEWEST / self.people.shape[1], 0.5), 1, n_points)
        values, where = _in_order(self.of_people)
        at_limits = zip(*limits(values, np.bincount(where), rates), strict=True)
        powers = [called(self.statistic, *at).mean() for at in at_limits]
        return pd.DataFrame({"false_positives": rates, "power": powers})

    def to_frame(self, false_positives: float = RATES[0]) -> pd.DataFrame:
        """Return one row for each publication and record.

        Parameters
        ----------
        false_positives : float
            Share of the people who are not in the data and called "in", in (0, 1).

        Returns
        -------
        DataFrame
            publication, from 1; the variables, with their labels as values; repetitions;
            statistic and statistic_mcse; and found, the probability that the record is called
            "in", a mean over all publications.
        """
        self.schema.check_apart(_COLUMNS)
        found = self.found(false_positives).mean(axis=0)
        frames = []
        for i, (statistic, mcse) in enumerate(zip(self.statistic, self.mcse, strict=True)):
            frame = self.schema.decode(self.combinations)
            frame.insert(0, "publication", i + 1)
            frame = frame.assign(
                repetitions=self.repetitions, statistic=statistic, statistic_mcse=mcse, found=found
            )
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)


def membership_test(
    original: Data,
    released: Sequence[Data],
    held_out: Data,
    n_releases: int = 1,
    *,
    synthesizer: Trees | Density,
    n_beside: int = N_BESIDE,
    rows: Sequence[int] | NDArray[np.integer] | None = None,
    schema: Schema | None = None,
    progress: bool = True,
) -> MembershipTest:
    """Compute the likelihood ratio of being in the data, of records and of people held out.

    Parameters
    ----------
    original : DataFrame or Microdata
        The confidential table.
    released : sequence of DataFrame or Microdata
        Releases of the original, independent given it.
    held_out : DataFrame or Microdata
        People of the same population who are not in the original, in random order; two or more.
    n_releases : int
        Releases in a publication: the first ones are the first publication, and so on.
    synthesizer : Trees or Density
        Trees grown on the original, or any other whose density is known.
    n_beside : int
        People held out who are compared at each record, 2 or more. They are dealt out in turn, so
        that as many different ones as possible are used; if there are fewer, all are compared.
    rows : sequence of int, optional
        Records that are sought, by their rows; one for each combination if not given. Shares of
        records are of these.
    schema : Schema, optional
        Variables and levels of DataFrames, as of `posterior_risk`.
    progress : bool
        Whether bars are drawn, where there is a terminal.

    Returns
    -------
    MembershipTest

    Raises
    ------
    ValueError
        If the tables and the synthesizer do not fit together, or a number is out of range; if the
        synthesizer cannot have drawn the releases from the original.

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
    if not isinstance(synthesizer, Trees | Density):
        raise ValueError(
            f"synthesizer is {synthesizer!r:.50}; it must be Trees, or have the functions release "
            "and log_prob"
        )
    records, tables, others = _coded(original, released, held_out, n_releases, rows, schema)
    if isinstance(synthesizer, Trees):
        check_grown(synthesizer, records.table)
    people = _dealt(len(records.rows), len(others), n_beside)
    candidates, where = _candidates(records.combinations, others, people)
    publications = [tables[at : at + n_releases] for at in range(0, len(tables), n_releases)]
    compared = []
    with nullcontext() if progress else silent():
        for each in publications:
            log_prob, mcse = _of_density(synthesizer, each, records, candidates, where)
            own, error, beside = log_ratios(log_prob)
            compared.append((own, np.hypot(mcse, error), beside))
    statistic, mcse, of_people = (np.stack(part) for part in zip(*compared, strict=True))
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
    rows: Sequence[int] | NDArray[np.integer] | None = None,
    schema: Schema | None = None,
) -> MembershipTest:
    """Call those "in" who are near to a released record.

    The statistic is minus the Hamming distance to the nearest released record of a publication:
    the number of variables in which they differ. It takes no model, and sees no more than one
    released record at a time.

    Parameters
    ----------
    original, released, held_out, n_releases, n_beside, rows, schema
        As of `membership_test`. The same people are compared at the same records.

    Returns
    -------
    MembershipTest
        Without errors of the statistic, which is known.

    Raises
    ------
    ValueError
        If the tables do not fit together or a number is out of range.

    Examples
    --------
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 50, "sick": ["no"] * 90 + ["yes"] * 10})
    >>> others = people.sample(300, replace=True, random_state=1)
    >>> distance_test(people, [people[:40]], others).statistic
    array([[-0., -1., -0., -1.]])
    """
    records, tables, others = _coded(original, released, held_out, n_releases, rows, schema)
    people = _dealt(len(records.rows), len(others), n_beside)
    levels = records.table.schema.n_levels
    both = np.concatenate([records.combinations, others])
    n = len(records.rows)
    shown = [
        np.concatenate(tables[at : at + n_releases]) for at in range(0, len(tables), n_releases)
    ]
    near = -np.stack([_distances(both, each, levels) for each in shown])
    return MembershipTest(
        records.table.schema, records.combinations, records.repetitions, n_releases,
        near[:, :n], np.zeros(near[:, :n].shape), near[:, n:][:, people], people,
    )  # fmt: skip


# ------------------------------------------------------------------------------------- parts


def log_ratios(
    log_prob: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Compare each record with the people who may hold its place, and each of these with the rest.

    Parameters
    ----------
    log_prob : (n, 1 + n_beside) float
        log p(releases | data with this person in the record's place), the record itself first.

    Returns
    -------
    of_record : (n,) float64
        Log ratio to the mean over the people; infinite where none of them is possible.
    error : (n,) float64
        Its standard error, as that of a mean over so many people; NaN where it is infinite.
    of_people : (n, n_beside) float64
        Log ratio of each person to the mean over the others, minus infinity where the person is
        not possible.
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

    Parameters
    ----------
    values : (k,) float
        Different values of the statistic, in falling order.
    mass : (k,) float
        How many of the people have each, or how probable it is.
    false_positives : (n,) float
        Shares of these people who are called "in", at most 1.

    Returns
    -------
    limit, by_lot : (n,) float64
        Who is above the limit is called "in", and who is at it with this probability.
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


def _in_order(statistic: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the different values in falling order, and which of them each is, flattened."""
    values, where = np.unique(-statistic, return_inverse=True)
    return -values, where.ravel()


def _coded(
    original: Data,
    released: Sequence[Data],
    held_out: Data,
    n_releases: int,
    rows: Sequence[int] | NDArray[np.integer] | None,
    schema: Schema | None,
) -> tuple[Sought, list[NDArray[np.uint8]], NDArray[np.uint8]]:
    """Return the records that are sought, the releases, and the people held out, in one schema."""
    records = sought(original, schema, rows=rows)
    tables = [table.codes for table in coded_tables([records.table, *released], None)[1:]]
    try:
        others = coded_tables([records.table, held_out], None)[1].codes
    except ValueError as error:
        raise ValueError(f"held_out does not fit the original: {error}") from error
    if len(others) < 2:
        raise ValueError(f"held_out has {len(others)} people; it must have two or more")
    checks.whole(n_releases=n_releases)
    checks.within(1, len(tables), n_releases=n_releases)
    if len(tables) % n_releases:
        raise ValueError(
            f"n_releases is {n_releases}; the {len(tables)} releases do not make publications of "
            "so many"
        )
    return records, tables, others


def _dealt(n: int, n_people: int, n_beside: int) -> NDArray[np.int64]:
    """Deal people out to n records in turn, (n, n_beside); all to each where there are fewer."""
    checks.whole(n_beside=n_beside)
    checks.at_least(2, n_beside=n_beside)
    each = min(n_beside, n_people)
    return np.arange(n * each).reshape(n, each) % n_people


@one_blas_thread
def _distances(
    codes: NDArray[np.integer],
    tables: NDArray[np.integer],
    n_levels: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Return Hamming distances to the nearest record of a table, (n,)."""
    indicators = [np.eye(n, dtype=np.float32) for n in n_levels]

    def expanded(some: NDArray[np.integer]) -> NDArray[np.float32]:
        return np.hstack([of[column] for of, column in zip(indicators, some.T, strict=True)])

    there = expanded(np.unique(tables, axis=0)).T
    found = np.empty(len(codes))
    step = max(1, _BLOCK // there.shape[1])
    for some in (slice(at, at + step) for at in range(0, len(codes), step)):
        found[some] = len(n_levels) - (expanded(codes[some]) @ there).max(axis=1)
    return found


def _candidates(
    records: NDArray[np.integer], others: NDArray[np.integer], people: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return what each record is changed to, each only once, and which of these everybody is.

    Returns
    -------
    candidates : (n, support_size, n_variables) uint8
        The record itself first; again where it has fewer candidates than others have.
    where : (n, 1 + n_beside) int64
        Of the record and of each person beside it, the place among the candidates.
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


def _of_density(
    synthesizer: Trees | Density,
    tables: Sequence[NDArray[np.uint8]],
    records: Sought,
    candidates: NDArray[np.uint8],
    where: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log p(releases | person in the record's place), and the error of the log ratio."""
    of_each = log_likelihoods(synthesizer, tables, records.table.codes, records.rows, candidates)
    found = np.take_along_axis(
        of_each, np.broadcast_to(where, (*of_each.shape[:-1], where.shape[1])), axis=-1
    )
    mcse = np.zeros(len(candidates))
    if found.ndim == 3:
        _, mcse = jackknife(lambda mean: log_ratios(mean)[0], [found])
        found = log_mean(found)
    if np.isneginf(found[:, 0]).any():
        raise ValueError("released has probability zero given the original and this synthesizer")
    return found, mcse
