"""What a release tells of its participants beyond what it tells of people like them.

A release that is informative of a population tells something of everybody in it. What it tells of
participants beyond that is due to their taking part. One division of people into participants and
outsiders cannot separate the two, since the groups differ by chance in how predictable their people
are. Here each division is used twice, its halves changing places the second time, so that everybody
is once a participant and once an outsider.

`participation` seeks everybody after releases of the mixture, for intruders who know more or fewer
of the other records and believe the model. `taking_part` compares synthesizers of all kinds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib import checks, diagnostics
from srlib.dpmpm.fit import Mixture
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.margins import Margins
from srlib.mechanism.bayes import posterior
from srlib.progress import progress, silent
from srlib.risk.calibration import Beliefs, believe
from srlib.risk.partial import candidates_of, subset_log_means
from srlib.risk.supports import subset_support
from srlib.risk.synthesizers import Density, log_likelihoods
from srlib.trees import SequentialTrees

GROUPS = ("participants", "outsiders")
KNOWN = ("nobody", "all others")
"""Whom the intruders know whom `taking_part` asks."""


@dataclass(frozen=True)
class Participation:
    """Beliefs about participants and outsiders, over divisions of the same people and releases.

    Attributes
    ----------
    table : DataFrame
        One row a pair of divisions, role, share known and group: pair; swapped, whether the
        halves have changed places; share_known; group; means over the group of log probabilities
        of the truth (before and after the release, under the model's own prior; after_uniform,
        under a uniform one); gain, after less before; divergence, the mean Kullback-Leibler
        divergence of the belief after the release from that of the intruder who knows most, which
        is what the latter is ahead by on average if calibrated; r_hat, the largest of the chains.
    of_person : (n_shares, n_people) float64
        Gain of each person as a participant less that as an outsider, means over the pairs; one
        row for each share known, in rising order.
    """

    table: pd.DataFrame
    of_person: NDArray[np.float64]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of the other records known, in rising order."""
        return np.unique(self.table["share_known"])

    def averages(self) -> pd.DataFrame:
        """Average over pairs of divisions.

        Returns
        -------
        DataFrame
            One row a share known and group: share_known, group, and for before, after,
            after_uniform and gain the mean and its standard error (`_se`) from between the pairs.
        """
        found = self._by_pair().groupby(["share_known", "group"])
        columns = ["before", "after", "after_uniform", "gain"]
        frame = found[columns].mean().join(found[columns].sem().add_suffix("_se"))
        return frame.reset_index()

    def beyond(self, column: str = "gain") -> pd.DataFrame:
        """Compare participants with outsiders.

        Parameters
        ----------
        column : str
            What is compared: a column of `table`.

        Returns
        -------
        DataFrame
            One row a share known: share_known; difference, participants less outsiders, a mean
            over pairs of divisions; se, its standard error from between the pairs; single, the
            standard deviation of the difference in one division that is used once. For the gain
            also se_people, the standard error from between people, which is what other people of
            the same population may move it by.
        """
        groups = self.table.pivot(
            index=["share_known", "pair", "swapped"], columns="group", values=column
        )
        each = groups[GROUPS[0]] - groups[GROUPS[1]]
        of_pair = each.groupby(["share_known", "pair"]).mean().groupby("share_known")
        frame = pd.DataFrame({"difference": of_pair.mean(), "se": of_pair.sem()})
        frame["single"] = each.groupby("share_known").std()
        if column == "gain":
            n_people = self.of_person.shape[1]
            frame["se_people"] = self.of_person.std(axis=1, ddof=1) / np.sqrt(n_people)
        return frame.reset_index()

    def knowing_less(self, group: str = GROUPS[0]) -> pd.DataFrame:
        """Compare intruders with the one who knows most, after the release.

        Parameters
        ----------
        group : str
            People who are sought: ``"participants"`` or ``"outsiders"``.

        Returns
        -------
        DataFrame
            One row a smaller share known: share_known; own and uniform, by how much the mean log
            probability of the truth is above that of the intruder who knows most, under the
            model's own and a uniform prior; calibrated, what own comes to on average if the
            intruder who knows most is calibrated; and their standard errors from between the pairs
            (`_se`).
        """
        every = self._by_pair().xs(group, level="group")
        columns = {"after": "own", "after_uniform": "uniform"}
        most = every.xs(self.shares[-1], level="share_known")[list(columns)]
        apart = every[list(columns)].sub(most, level="pair").rename(columns=columns)
        apart = apart.drop(self.shares[-1], level="share_known").groupby("share_known")
        frame = apart.mean().join(apart.sem().add_suffix("_se"))
        ahead = every["divergence"].groupby("share_known")
        frame["calibrated"], frame["calibrated_se"] = -ahead.mean(), ahead.sem()
        return frame.reset_index()

    def _by_pair(self) -> pd.DataFrame:
        """Means over both roles, by share known, pair and group."""
        return self.table.groupby(["share_known", "pair", "group"]).mean().drop(columns="swapped")


def participation(
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    unknown: Sequence[int],
    shares: Sequence[float],
    *,
    n_pairs: int,
    chains: Chains,
    rng: np.random.Generator,
    label: str = "divisions",
) -> Participation:
    """Divide people into participants and outsiders, release, and seek everybody; again and again.

    One half takes part. A release as large as it is drawn from the model fitted to it. The
    intruder knows some of the participants, sees the release, lacks some variables of the record
    that is sought and believes the model. Then the halves change places.

    Parameters
    ----------
    codes : (n, n_variables) int
        Everybody, coded from 0; of an odd number of people the last is left out.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    unknown : sequence of int
        Positions of the variables that the intruder does not know of the record that is sought.
    shares : sequence of float
        Shares of the other participants known, in [0, 1]; the largest must be 1.
    n_pairs : int
        Divisions, each used twice; 2 or more.
    chains : Chains
        Chains for each set of records.
    rng : numpy.random.Generator
        Source of the divisions, the chains and the releases.
    label : str
        Label of the progress bar.

    Returns
    -------
    Participation

    Raises
    ------
    ValueError
        If there are fewer than four people, or a share or the number of pairs is out of range.
    """
    checks.at_least(2, n_pairs=n_pairs)
    people, levels = _people(codes), np.asarray(n_levels, dtype=np.int64)
    half = len(people) // 2
    every = sorted({float(share) for share in shares})
    if not every or every[0] < 0 or every[-1] != 1:
        raise ValueError(f"shares is {list(shares)}; they must be in [0, 1], the largest 1")
    candidates_of(people[:1], unknown, levels, False)  # wrong variables, before any chain runs
    rows, of_person = [], np.zeros((len(every), len(people)))
    with progress(2 * n_pairs, label) as bar, silent():
        for pair, pair_rng in enumerate(rng.spawn(n_pairs)):
            order = pair_rng.permutation(len(people))
            for swapped in (False, True):
                inside = np.roll(order, half if swapped else 0)[:half]
                told = _one(people, levels, unknown, inside, every, chains, pair_rng)
                is_in = np.isin(np.arange(len(people)), inside)
                for at, (share, beliefs) in enumerate(zip(every, told, strict=True)):
                    gain = beliefs["gain"] * np.where(is_in, 1, -1)
                    of_person[at] += gain.to_numpy() / n_pairs
                    row = {"pair": pair, "swapped": swapped, "share_known": share}
                    for group, members in zip(GROUPS, (is_in, ~is_in), strict=True):
                        rows.append(row | {"group": group} | beliefs[members].mean().to_dict())
                bar.update()
    return Participation(pd.DataFrame(rows), of_person)


def _one(
    people: NDArray[np.integer],
    levels: NDArray[np.int64],
    unknown: Sequence[int],
    inside: NDArray[np.intp],
    shares: Sequence[float],
    chains: Chains,
    rng: np.random.Generator,
) -> list[pd.DataFrame]:
    """Return beliefs about everybody for each share known, after one release of some people."""
    agency = sample_posterior(people[inside], levels, chains, rng=rng)
    (released,) = agency.release(1, len(inside), rng=rng)
    sets = []
    for share in shares:
        known = inside[: round(share * len(inside))]
        left_out = np.isin(np.arange(len(people)), known)

        def means(draws: Draws, left_out: NDArray[np.bool_] = left_out) -> NDArray[np.float64]:
            found = subset_log_means(draws, people, unknown, left_out=left_out)
            return logsumexp(found, axis=0) - np.log(draws.n_chains)

        joined = np.vstack([people[known], released])
        fitted = [sample_posterior(joined, levels, chains, rng=rng)]
        after = means(fitted[0])
        before = np.zeros_like(after)  # knowing nobody, the intruder expects every cell alike
        if len(known):
            alone = len(known) == len(inside)
            fitted.append(
                agency if alone else sample_posterior(people[known], levels, chains, rng=rng)
            )
            before = means(fitted[1])
        traces = [cell_log_prob(draws, people).mean(axis=2) for draws in fitted]
        r_hat = max(float(diagnostics.r_hat(trace)) for trace in traces)
        sets.append((posterior(before), posterior(after), posterior(after - before), r_hat))
    most = sets[-1][1]
    frames = []
    for before, after, uniform, r_hat in sets:
        frame = pd.DataFrame({"before": before[:, 0], "after": after[:, 0]})
        frame["after_uniform"] = uniform[:, 0]
        frame["gain"] = frame["after"] - frame["before"]
        frame["divergence"] = (np.exp(most) * (most - after)).sum(axis=1)
        frames.append(frame.assign(r_hat=r_hat))
    return frames


# ------------------------------------------------------------------------ synthesizers of all kinds


@dataclass(frozen=True)
class TakingPart:
    """What intruders believe of participants and outsiders after releases of several synthesizers.

    Attributes
    ----------
    table : DataFrame
        One row a pair of divisions, role, synthesizer, number of releases, intruder and group:
        pair; swapped, whether the halves have changed places; synthesizer; releases; known, one
        of `KNOWN`; group; and means over the group of probability (of the truth), gain (log of
        that over its prior probability), excluded (whether it is held impossible) and refuted
        (whether all candidates are, which leaves the belief at the prior).
    prior : float
        Probability of the truth before the release, of every person.
    """

    table: pd.DataFrame
    prior: float

    def numbers(self, column: str = "probability") -> pd.DataFrame:
        """Tabulate what a release tells of outsiders, and of participants beyond that.

        Parameters
        ----------
        column : str
            What is compared: a column of `table`.

        Returns
        -------
        DataFrame
            One row a synthesizer, number of releases and intruder: synthesizer, releases, known;
            outsiders, their mean, and difference, participants less outsiders, with their standard
            errors from between pairs of divisions (`outsiders_se`, `se`), NaN where a mean is
            infinite; excluded and refuted, shares of the outsiders.
        """
        keys = ["synthesizer", "releases", "known"]
        order = self.table[keys].drop_duplicates()
        by_pair = self.table.groupby([*keys, "pair", "group"])
        value = by_pair[column].mean().unstack("group")
        frame = pd.DataFrame({"outsiders": value[GROUPS[1]]})
        frame["difference"] = value[GROUPS[0]] - value[GROUPS[1]]
        finite = frame.where(np.isfinite(frame))
        told = frame.groupby(keys).mean()
        error = finite.groupby(keys).agg(lambda each: each.sem(skipna=False))
        told["outsiders_se"], told["se"] = error["outsiders"], error["difference"]
        shares = self.table[self.table["group"] == GROUPS[1]].groupby(keys)
        told = told.join(shares[["excluded", "refuted"]].mean())
        return order.merge(told.reset_index(), on=keys)


def taking_part(
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    unknown: Sequence[int],
    synthesizers: Mapping[str, Density | Mixture],
    reader: SequentialTrees,
    numbers: Sequence[int] = (1,),
    *,
    n_pairs: int,
    n_places: int,
    rng: np.random.Generator,
    label: str = "synthesizers",
) -> TakingPart:
    """Divide people into participants and outsiders, release by several synthesizers, seek both.

    One half takes part, and each place in the data gets an outsider, who might have held it. An
    intruder who knows all other records, and that somebody who lacks the unknown variables holds
    the place, updates a uniform prior over their values by the probability of the releases given
    them and the other records; for the outsider likewise, as the one who holds the place. An
    intruder who knows nobody takes the releases for samples of the population and predicts the
    unknown variables of everybody from the known ones. Then the halves change places.

    Parameters
    ----------
    codes : (n, n_variables) int
        Everybody, coded from 0; of an odd number of people the last is left out.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    unknown : sequence of int
        Positions of the variables that the intruders do not know of the person who is sought.
    synthesizers : mapping of str to Density or Mixture
        By name. Of the mixture the likelihood is estimated by its chains, given the data and given
        the data joined with each release.
    reader : SequentialTrees
        How the intruder who knows nobody reads a release: trees that are grown on it, whose order
        has the unknown variables last, and smoothed, so that nothing is held impossible.
        Predictions from several releases are averaged.
    numbers : sequence of int
        Numbers of releases that are read.
    n_pairs : int
        Divisions, each used twice; 2 or more.
    n_places : int
        Places that are asked about in each half, drawn at random, 1 or more. All are where the
        likelihood takes little, of the mixture and of independent margins.
    rng : numpy.random.Generator
        Source of the divisions, the releases and the chains.
    label : str
        Label of the progress bar.

    Returns
    -------
    TakingPart

    Raises
    ------
    ValueError
        If there are fewer than four people, or a number is out of range, or the reader has another
        order or is not smoothed.
    """
    checks.at_least(2, n_pairs=n_pairs)
    checks.at_least(1, n_places=n_places, **{"numbers, least": min(numbers, default=0)})
    levels, hidden = np.asarray(n_levels, dtype=np.int64), list(unknown)
    last = set(reader.grown_on(codes[:1]).order[-len(hidden) :]) if hidden else set()
    if last != set(hidden) or reader.growth.smoothing == 0:
        raise ValueError("reader must have the unknown variables last in its order, and smoothing")
    half = len(codes) // 2
    people = _people(codes)
    supports = np.stack([subset_support(x, hidden, levels) for x in people])
    rows = []
    with progress(2 * n_pairs, label) as bar, silent():
        for pair, own in enumerate(rng.spawn(n_pairs)):
            order = own.permutation(len(people))
            places = own.permutation(half)[:n_places]
            for swapped in (False, True):
                groups = np.roll(order, half if swapped else 0).reshape(2, half)
                data, others = people[groups]
                division = _Division(data, others, supports[groups], places, levels, hidden)
                for name, synthesizer in synthesizers.items():
                    row = {"pair": pair, "swapped": swapped, "synthesizer": name}
                    found = division.beliefs(synthesizer, reader, sorted(numbers), rng=own)
                    rows += [row | told for told in found]
                bar.update()
    return TakingPart(pd.DataFrame(rows), 1 / supports.shape[1])


@dataclass(frozen=True)
class _Division:
    """Participants, outsiders who might hold their places, and the places that are asked about.

    The candidates are (2, n, size, n_variables), participants first.
    """

    data: NDArray[np.integer]
    outsiders: NDArray[np.integer]
    supports: NDArray[np.integer]
    places: NDArray[np.intp]
    levels: NDArray[np.int64]
    unknown: list[int]

    def beliefs(
        self,
        synthesizer: Density | Mixture,
        reader: SequentialTrees,
        numbers: Sequence[int],
        *,
        rng: np.random.Generator,
    ) -> list[dict[str, object]]:
        """Return rows of beliefs after the smallest to the largest number of releases."""
        if isinstance(synthesizer, Mixture):
            released, columns = self._of_mixture(synthesizer, numbers, rng)
        else:
            released = [synthesizer.release(self.data, rng=rng) for _ in range(numbers[-1])]
            columns = [self._of_density(synthesizer, released[:m]) for m in numbers]
        read = np.stack([self._read(reader, table) for table in released])
        rows: list[dict[str, object]] = []
        for m, column in zip(numbers, columns, strict=True):
            told = logsumexp(read[:m], axis=0), column
            for known, of_groups in zip(KNOWN, told, strict=True):
                for group, values in zip(GROUPS, of_groups, strict=True):
                    row = {"releases": m, "known": known, "group": group}
                    rows.append(row | _means(believe(values, 0.0, 0, np.zeros(len(values), int))))
        return rows

    def _of_density(
        self, synthesizer: Density, released: Sequence[NDArray[np.integer]]
    ) -> NDArray[np.float64]:
        """Return log p(releases | data with the place's record changed), (2, n_places, size)."""
        places = np.arange(len(self.data)) if isinstance(synthesizer, Margins) else self.places
        candidates = np.concatenate(list(self.supports[:, places]), axis=1)
        found = log_likelihoods(synthesizer, released, self.data, places, candidates)
        return np.stack(np.split(found, 2, axis=1))

    def _of_mixture(
        self, synthesizer: Mixture, numbers: Sequence[int], rng: np.random.Generator
    ) -> tuple[list[NDArray[np.integer]], list[NDArray[np.float64]]]:
        """Return releases, and their likelihoods up to a constant for all places, (2, n, size)."""

        def means(draws: Draws) -> NDArray[np.float64]:
            both = [
                subset_log_means(draws, group, self.unknown, place=self.data)
                for group in (self.data, self.outsiders)
            ]
            return logsumexp(both, axis=1)

        def fitted(records: NDArray[np.integer]) -> Draws:
            return sample_posterior(records, self.levels, synthesizer.chains, rng=rng)

        agency = fitted(self.data)
        released: list[NDArray[np.integer]] = list(
            agency.release(numbers[-1], len(self.data), rng=rng)
        )
        before = means(agency)
        told = [means(fitted(np.vstack([self.data, table]))) - before for table in released]
        return released, [np.sum(told[:m], axis=0) for m in numbers]

    def _read(self, reader: SequentialTrees, table: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return log predictions of everybody's candidates from a release, (2, n, size)."""
        flat = self.supports.reshape(-1, len(self.levels))
        found = reader.grown_on(table).record_log_prob(flat, self.unknown)
        return found.reshape(self.supports.shape[:3])


def _means(beliefs: Beliefs) -> dict[str, float]:
    """Return means over people of what is believed of the truth."""
    gain = beliefs.gain
    return {
        "probability": float(beliefs.of_truth.mean()),
        "gain": float(gain.mean()),
        "excluded": float(np.isneginf(gain).mean()),
        "refuted": float(beliefs.refuted.mean()),
    }


def _people(codes: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return people who can be divided in halves."""
    half = len(codes) // 2
    if half < 2:
        raise ValueError(f"codes has {len(codes)} records; four or more can be divided in halves")
    return np.asarray(codes)[: 2 * half]
