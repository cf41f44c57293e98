"""What a release tells of its participants beyond what it tells of people like them.

A release that is informative of a population tells something of everybody in it. What it tells of
participants beyond that is due to their taking part. One division of people into participants and
outsiders cannot separate the two, since the groups differ by chance in how predictable their people
are. Here each division is used twice, its halves changing places the second time, so that everybody
is once a participant and once an outsider.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib import checks, diagnostics
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.mechanism.bayes import posterior
from srlib.progress import progress, silent
from srlib.risk.partial import candidates_of, subset_log_means

GROUPS = ("participants", "outsiders")


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
    half, levels = len(codes) // 2, np.asarray(n_levels, dtype=np.int64)
    if half < 2:
        raise ValueError(f"codes has {len(codes)} records; four or more can be divided in halves")
    every = sorted({float(share) for share in shares})
    if not every or every[0] < 0 or every[-1] != 1:
        raise ValueError(f"shares is {list(shares)}; they must be in [0, 1], the largest 1")
    people = np.asarray(codes)[: 2 * half]
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
