"""The privacy loss of each record, over releases of the data at hand.

The loss is log p(Z | D) - log p(Z | D with the record changed). Over releases Z of D it is a random
variable, and what others report are its summaries: its largest absolute value is the conditional
epsilon of D (Charest and Han), its tail delta, its mean an information, its logistic
transform the posterior risk of McClure and Reiter (2012), and that over the prior their relative
risk, whose limit for a small prior is the loss's exponential. Losses of independent releases add.

All of this is of these data, and seen from releases that were drawn: a largest loss among them is
no bound, other data may have larger ones, and nothing here is a guarantee of differential privacy.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, logsumexp
from scipy.stats import beta

from srlib import checks
from srlib.data.schema import Schema
from srlib.dpmpm.fit import Mixture
from srlib.mechanism.bayes import posterior
from srlib.mechanism.core import log_difference
from srlib.progress import silent
from srlib.risk.before import RiskBeforeRelease, of_columns
from srlib.risk.candidates import Data
from srlib.risk.columns import Columns, columns, sought
from srlib.risk.errors import jackknife_variance
from srlib.risk.replicates import sets_of_releases
from srlib.risk.synthesizers import Density
from srlib.trees import Trees

_BLOCK = 1 << 22  # losses for one block of records
_COLUMNS = (
    "repetitions", "largest", "excluded", "delta", "delta_mcse", "delta_upper", "information",
    "information_mcse", "risk", "risk_mcse", "relative_risk",
)  # fmt: skip


class Estimate(NamedTuple):
    """A number for each record and its Monte Carlo standard error, both (n,) float64."""

    value: NDArray[np.float64]
    mcse: NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PrivacyLosses:
    """Privacy losses of records against their candidates, over publications of the data.

    A summary of a record is that of the candidate for which it is largest. Of several candidates
    whose summaries are uncertain the largest is on average too large. Standard errors are those of
    the candidate that was chosen.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    combinations : (n, n_variables) int
        True values of the records.
    repetitions : (n,) int64
        Records that have each.
    losses : (n_publications, n, n_alternatives) float64
        log p(publication | data) - log p(publication | data with the record changed); infinite
        where the publication is impossible then.
    columns : Columns
        What they were computed from: probabilities and errors of the publications.
    n_releases : int
        Releases in a publication.
    members : (n_publications, n_releases) int
        The releases that each publication is made of, which may share some.
    mixed : bool
        Whether the alternatives of a record are taken together; see `against_all`.

    Examples
    --------
    >>> from srlib.mechanism import OnRecords, beta_binomial
    >>> people = pd.DataFrame({"sick": ["no"] * 15 + ["yes"] * 5})
    >>> synthesizer = OnRecords(beta_binomial(n=20, n_s=20, alpha=1.0), [2])
    >>> losses = privacy_losses(people, synthesizer)
    >>> losses.to_frame(epsilon=0.5)[["sick", "largest", "delta"]].round(3)
      sick  largest  delta
    0   no    1.466  0.010
    1  yes    1.609  0.015
    """

    schema: Schema
    combinations: NDArray[np.integer]
    repetitions: NDArray[np.int64]
    losses: NDArray[np.float64]
    columns: Columns
    n_releases: int
    members: NDArray[np.integer]
    mixed: bool = False

    def __repr__(self) -> str:
        return f"<PrivacyLosses: {self.summary()}>"

    @property
    def exact(self) -> bool:
        """Whether all publications there are have been gone through."""
        return self.columns.exact

    @property
    def largest(self) -> NDArray[np.float64]:
        """Largest absolute loss over candidates and publications, (n,).

        The conditional epsilon where the publications are all there are and the candidates all
        values; else that as far as seen, which more releases can only raise. Of losses that chains
        estimate it is too large on average, since it picks where the error is large as well; see
        `largest_crossed`.
        """
        return np.abs(self.losses).max(axis=(0, 2))

    @property
    def half_losses(self) -> NDArray[np.float64]:
        """The losses by each half of the chains, (2, n_publications, n, n_alternatives).

        Halves are independent of each other. Losses that no chains estimate are there twice.
        """
        if self.columns.halves is None:
            return np.stack([self.losses, self.losses])
        return self.columns.halves[..., :1] - self.columns.halves[..., 1:]

    @property
    def largest_crossed(self) -> NDArray[np.float64]:
        """`largest`, sought by one half of the chains and read from the other, (n,).

        The mean over both ways. The half that is read does not know where it is read, so that on
        average over chains this is at most the largest absolute loss over these publications, and
        `largest` at least that: up to the error of the logarithm of a mean, the two enclose it.
        """
        n = len(self.combinations)
        by_half = np.moveaxis(self.half_losses, 2, 1).reshape(2, n, -1)
        at = np.abs(by_half).argmax(axis=2)[..., None]
        signs = np.sign(np.take_along_axis(by_half, at, axis=2))
        crossed = signs * np.take_along_axis(by_half[::-1], at, axis=2)
        return crossed.mean(axis=(0, 2))

    @property
    def excluded(self) -> NDArray[np.int64]:
        """Candidates that some publication of the data excludes, (n,): of infinite loss."""
        some = self.columns.weights > 0
        return np.isposinf(self.losses[some]).any(axis=0).sum(axis=1)

    def delta(self, epsilon: float) -> Estimate:
        """Tail of the loss: mean of max(0, 1 - exp(epsilon - loss)), an infinite loss counting one.

        For these data, a changed record and this direction: releases of these data.

        Parameters
        ----------
        epsilon : float
            0 or more.
        """
        checks.at_least(0, epsilon=epsilon)
        return _worst(*self._mean(lambda loss: -np.expm1(np.minimum(epsilon - loss, 0.0))))

    def delta_upper(self, epsilon: float, level: float = 0.95) -> NDArray[np.float64]:
        """Upper confidence limit of delta, (n,); `delta` itself where it is exact.

        Clopper and Pearson's limit of the probability of a loss above epsilon, which is not less
        than delta, and so also a limit where no such loss was seen. Of publications that share
        releases it is approximate; of losses that are estimated it leaves their error out.

        Parameters
        ----------
        epsilon : float
            0 or more.
        level : float
            In (0, 1), of each record.
        """
        checks.inner_probability(level=level)
        if self.exact:
            return self.delta(epsilon).value
        n = int(self.members.max() + 1) // self.n_releases
        above = (self.losses > epsilon).mean(axis=0).max(axis=1) * n
        return np.where(above < n, beta.ppf(level, above + 1, np.maximum(n - above, 0.5)), 1.0)

    def information(self) -> Estimate:
        """Mean loss, a Kullback-Leibler divergence, against the candidates of finite losses.

        It is infinite against those that are `excluded`; NaN where these are all.
        """
        return _worst(*self._mean(lambda loss: loss))

    def risk(self, prior: float = 0.5) -> Estimate:
        """Mean posterior probability of the truth against one candidate.

        Parameters
        ----------
        prior : float
            The intruder's prior probability of the truth, in (0, 1).
        """
        checks.inner_probability(prior=prior)
        return _worst(*self._mean(lambda loss: expit(loss + logit(prior))))

    def composed(
        self, n_releases: int, n_sets: int = 1000, *, rng: np.random.Generator | None = None
    ) -> "PrivacyLosses":
        """Return losses of publications of several independent releases: sums of theirs.

        Of a finite mechanism all sets of releases are gone through. Else sets of different
        releases are drawn from those at hand, and errors come from leaving out one release at a
        time.

        Parameters
        ----------
        n_releases : int
            Releases in a publication, 1 or more; of drawn ones half of those at hand at most.
        n_sets : int
            Sets that are drawn at most.
        rng : numpy.random.Generator, optional
            Source of the sets, where they are drawn.

        Raises
        ------
        ValueError
            If publications have several releases already or alternatives are taken together, the
            number is out of range, or `rng` is needed and not given.
        """
        self._check_single()
        checks.at_least(1, n_releases=n_releases, n_sets=n_sets)
        if self.exact:
            found = self.columns.every_set(n_releases)
            members = np.zeros((len(found.weights), n_releases), dtype=np.int64)
        else:
            checks.within(1, len(self.losses) // 2, n_releases=n_releases)
            if rng is None:
                raise ValueError("rng is not given; it is the source of the sets of releases")
            members = sets_of_releases(len(self.losses), n_releases, n_sets, rng=rng)
            found = self.columns.of_sets(members, np.full(len(members), 1 / len(members)))
        return _losses(self.schema, self.combinations, self.repetitions, found, n_releases, members)

    def against_all(self, log_prior: ArrayLike = 0.0) -> "PrivacyLosses":
        """Return losses against all alternatives together, weighted by their prior.

        Posterior log odds of the truth among all candidates are the prior ones plus this loss,
        and at the prior probability of the truth `risk` is the expected posterior risk. It is
        infinite where a publication excludes all alternatives. Such losses do not add over
        releases: compose first.

        Parameters
        ----------
        log_prior : (n, support_size) float, optional
            Log prior of the candidates up to a constant, the truth first; uniform if not given.
        """
        of = self.columns
        shape = of.log_likelihood.shape[1:]
        weights = posterior(np.zeros(shape)[:, 1:], np.broadcast_to(log_prior, shape)[:, 1:])
        joint = of.log_likelihood[..., 1:] + weights
        together = logsumexp(joint, axis=2)
        # No more than the mean of the errors, in the proportions of the alternatives now.
        share = np.exp(joint - np.where(np.isneginf(together), 0.0, together)[..., None])
        mcse = np.stack([of.log_mcse[..., 0], (share * of.log_mcse[..., 1:]).sum(axis=2)], axis=2)
        shifts = np.zeros((len(of.shifts), *together.shape, 2))
        for moved, by in zip(shifts, of.shifts, strict=True):
            moved[..., 0] = by[..., 0]
            moved[..., 1] = log_difference(logsumexp(joint + by[..., 1:], axis=2), together)
        halves = of.halves
        if halves is not None:
            joint = halves[..., 1:] + weights
            halves = np.stack([halves[..., 0], logsumexp(joint, axis=3)], axis=3)
        found = Columns(
            np.stack([of.log_likelihood[..., 0], together], axis=2), of.weights, of.exact, mcse,
            shifts, halves, of.convergence,
        )  # fmt: skip
        return _losses(
            self.schema, self.combinations, self.repetitions, found, self.n_releases, self.members,
            mixed=True,
        )  # fmt: skip

    def before_release(self, log_prior: ArrayLike = 0.0) -> RiskBeforeRelease:
        """Return the risks of publications of a single release, as `risk_before_release` does.

        Parameters
        ----------
        log_prior : (n, support_size) float, optional
            Log prior of the candidates up to a constant, the truth first; uniform if not given.

        Raises
        ------
        ValueError
            If the losses are of several releases or of alternatives taken together.
        """
        self._check_single()
        found = self.columns.possible()
        return of_columns(
            self.schema, self.combinations, self.repetitions, found, 1, np.asarray(log_prior)
        )

    def _check_single(self) -> None:
        """Raise a ValueError unless losses are of single releases and alternatives."""
        if self.n_releases != 1 or self.mixed:
            raise ValueError(
                "losses are of several releases or of alternatives taken together; take those of "
                "single releases and alternatives"
            )

    def to_frame(self, epsilon: float = 1.0, prior: float = 0.5) -> pd.DataFrame:
        """Return one row for each record.

        Parameters
        ----------
        epsilon : float
            Of delta, 0 or more.
        prior : float
            Prior probability of the truth against one candidate, in (0, 1).

        Returns
        -------
        DataFrame
            The variables, with their labels as values; repetitions; largest; excluded; delta, its
            error and upper limit; information; risk, and relative_risk, which is risk over prior.
        """
        self.schema.check_apart(_COLUMNS)
        delta, information, risk = self.delta(epsilon), self.information(), self.risk(prior)
        return self.schema.decode(self.combinations).assign(
            repetitions=self.repetitions,
            largest=self.largest,
            excluded=self.excluded,
            delta=delta.value,
            delta_mcse=delta.mcse,
            delta_upper=self.delta_upper(epsilon),
            information=information.value,
            information_mcse=information.mcse,
            risk=risk.value,
            risk_mcse=risk.mcse,
            relative_risk=risk.value / prior,
        )

    def summary(self, epsilon: float = 1.0) -> str:
        """Say in words how large the losses are, and what that is not.

        Parameters
        ----------
        epsilon : float
            Of delta, 0 or more.
        """
        largest, n_alternatives = self.largest, self.losses.shape[2]
        finite = largest[np.isfinite(largest)]
        infinite = (self.excluded > 0).sum()
        delta, upper = self.delta(epsilon).value, self.delta_upper(epsilon)
        of = "all" if self.exact else f"{len(self.losses):,} drawn"
        unit = "releases" if self.n_releases == 1 else f"sets of {self.n_releases} releases"
        sentences = [
            f"{len(largest):,} combinations, each against "
            f"{'all' if self.mixed else f'{n_alternatives:,}'} alternatives"
            f"{' together' if self.mixed else ''}, over "
            f"{of} {unit}.",
            f"The loss is infinite{'' if self.mixed else ' against some alternative'} for "
            f"{infinite:,}"
            + (
                f"; for the other {len(finite):,} its largest absolute value is at most "
                f"{finite.max():.3g}."
                if len(finite)
                else "."
            ),
            f"Delta at an epsilon of {epsilon:g} is {np.median(delta):.2g} for the median "
            f"combination and at most {delta.max():.2g}"
            + ("." if self.exact else f"; its 95 % upper limits are at most {upper.max():.2g}."),
        ]
        sentences.append(
            "These are losses of these data, no bound for others."
            if self.exact
            else "These are losses of these data as far as seen; they bound nothing."
        )
        return " ".join(sentences)

    def _mean(
        self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Average a function of the losses over publications.

        Returns
        -------
        value, mcse : (n, n_alternatives) float64
            NaN where the function is infinite for a possible publication.
        """
        n = self.losses.shape[1]
        step = max(1, _BLOCK // self.losses[:, 0].size)
        parts = [self._mean_of(function, slice(at, at + step)) for at in range(0, n, step)]
        value, mcse = (np.concatenate(part) for part in zip(*parts, strict=True))
        return value, mcse

    def _mean_of(
        self, function: Callable[[NDArray[np.float64]], NDArray[np.float64]], some: slice
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `_mean` of some records."""
        weights, possible = self.columns.weights, self.columns.weights > 0
        losses = self.losses[possible, some]

        def averaged(losses: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
            values = function(losses)
            infinite = np.isinf(values)
            values[infinite] = 0.0
            mean = np.tensordot(weights[possible], values, axes=1)
            return values, np.where(infinite.any(axis=0), np.nan, mean)

        values, mean = averaged(losses)
        if self.exact:
            return mean, np.where(np.isnan(mean), np.nan, 0.0)
        variance = _variance_of_mean(values, self.members)
        shifts = self.columns.shifts[:, :, some]
        if len(shifts):
            moved = shifts[..., :1] - shifts[..., 1:]
            variance = variance + jackknife_variance(averaged(losses + by)[1] for by in moved)
        return mean, np.where(np.isnan(mean), np.nan, np.sqrt(variance))


def privacy_losses(
    original: Data,
    synthesizer: Trees | Density | Mixture,
    n_releases: int = 100,
    *,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    rows: Sequence[int] | NDArray[np.integer] | None = None,
    rng: np.random.Generator | None = None,
    progress: bool = True,
) -> PrivacyLosses:
    """Compute the privacy loss of every record against its candidates, over releases of the data.

    Parameters
    ----------
    original : DataFrame or Microdata
        The confidential table.
    synthesizer : Trees, Density or Mixture
        Trees grown on the original, or any other whose density is known: losses of each release
        are exact, and errors are those of drawing releases. Of a mechanism on records
        (`srlib.mechanism.OnRecords`) all releases are gone through and nothing has an error. Of
        the DPMPM (`srlib.dpmpm.Mixture`) chains run for each release, and four times as many
        given the data, since these are in all columns; its settings need two chains or more.
    n_releases : int
        Releases that are drawn, 2 or more.
    schema, unknown
        As of `posterior_risk`.
    rows : sequence of int, optional
        Records whose losses are sought, by their rows; one for each combination if not given.
    rng : numpy.random.Generator, optional
        Source of the releases; needed where they are drawn.
    progress : bool
        Whether bars are drawn, where there is a terminal.

    Returns
    -------
    PrivacyLosses

    Raises
    ------
    ValueError
        If the table, the synthesizer, `unknown`, `rows` or `rng` do not fit together.

    Examples
    --------
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> trees = srlib.fit_trees(people)
    >>> losses = privacy_losses(people, trees, 50, rng=np.random.default_rng(1))
    >>> losses.losses.shape
    (50, 4, 2)
    """
    checks.at_least(2, n_releases=n_releases)
    records = sought(original, schema, unknown, None, rows)
    with nullcontext() if progress else silent():
        found = columns(records, synthesizer, n_releases, rng=rng)
    members = np.arange(len(found.weights))[:, None]
    return _losses(
        records.table.schema, records.combinations, records.repetitions, found, 1, members
    )


def _losses(
    schema: Schema,
    combinations: NDArray[np.integer],
    repetitions: NDArray[np.int64],
    found: Columns,
    n_releases: int,
    members: NDArray[np.integer],
    mixed: bool = False,
) -> PrivacyLosses:
    """Return the losses of columns."""
    of = found.log_likelihood
    losses = log_difference(of[..., :1], of[..., 1:])
    return PrivacyLosses(
        schema, combinations, repetitions, losses, found, n_releases, members, mixed
    )


def _variance_of_mean(
    values: NDArray[np.float64], members: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the variance of the mean over sets, from leaving out one release at a time.

    Parameters
    ----------
    values : (n_sets, ...) float
        Of each set.
    members : (n_sets, size) int
        Releases of each set. For sets of one it is the usual variance of a mean.
    """
    n, flat = int(members.max()) + 1, values.reshape(len(values), -1)
    inside = np.zeros((n, len(values)))
    inside[members.T, np.arange(len(values))] = 1
    n_left = len(values) - inside.sum(axis=1)
    left_out = (flat.sum(axis=0) - inside @ flat) / n_left[:, None]
    return jackknife_variance(left_out).reshape(values.shape[1:])


def _worst(value: NDArray[np.float64], mcse: NDArray[np.float64]) -> Estimate:
    """Return the largest value of each record and its error; NaN where there is none."""
    at = np.argmax(np.where(np.isnan(value), -np.inf, value), axis=1)[:, None]
    return Estimate(
        np.take_along_axis(value, at, axis=1)[:, 0], np.take_along_axis(mcse, at, axis=1)[:, 0]
    )
