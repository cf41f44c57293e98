"""Risk before release: the posterior risk over publications that could be drawn from the data."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from srlib import checks
from srlib.data.schema import Schema
from srlib.display import percent
from srlib.dpmpm.gibbs import Mixture
from srlib.mechanism.bayes import posterior
from srlib.progress import silent
from srlib.risk.candidates import Data, LogPrior
from srlib.risk.columns import Columns, check_synthesizer, columns, is_finite, sought
from srlib.risk.errors import jackknife_variance
from srlib.risk.synthesizers import Density
from srlib.trees import Trees

WORST = 0.95
"""Share of publications whose risk is not above the worst that is reported."""
MIN_DRAWS = 20
"""Publications that are drawn at least: of fewer the largest is not above the 95 % quantile."""
_SUMMARIES = ("largest", "gain", "above")
_COLUMNS = ("repetitions", "prior", "expected", "expected_mcse", "worst", "worst_mcse")


@dataclass(frozen=True, repr=False)
class RiskBeforeRelease:
    """Posterior risks of records over publications of the data, before one is chosen.

    Attributes
    ----------
    schema : Schema
        Variables of the table.
    combinations : (n, n_variables) int
        Distinct combinations, coded from 0.
    repetitions : (n,) int64
        Records that have each.
    prior : (n,) float64
        Prior probability of the true combination among its candidates.
    support_size : int
        Number of candidates, the truth among them.
    n_releases : int
        Releases in a publication.
    probability : (n_publications, n) float64
        Posterior probability of the true combination after each publication.
    weights : (n_publications,) float64
        Probabilities of the publications; equal where they were drawn.
    exact : bool
        Whether these are all publications there are.
    left_out : (n_chains, n_publications, n) float64
        `probability` with one chain given the data left out, where there are chains.
    convergence : DataFrame, optional
        R-hat and effective draws of the chains, as of `srlib.risk.Columns`.

    Examples
    --------
    >>> from srlib.mechanism import OnRecords, beta_binomial
    >>> people = pd.DataFrame({"sick": ["no"] * 15 + ["yes"] * 5})
    >>> synthesizer = OnRecords(beta_binomial(n=20, n_s=20, alpha=1.0), [2])
    >>> risk = risk_before_release(people, synthesizer)
    >>> risk.to_frame()[["sick", "prior", "expected", "worst"]].round(3)
      sick  prior  expected  worst
    0   no    0.5     0.513  0.660
    1  yes    0.5     0.515  0.649
    """

    schema: Schema
    combinations: NDArray[np.integer]
    repetitions: NDArray[np.int64]
    prior: NDArray[np.float64]
    support_size: int
    n_releases: int
    probability: NDArray[np.float64]
    weights: NDArray[np.float64]
    exact: bool
    left_out: NDArray[np.float64]
    convergence: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<RiskBeforeRelease: {self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each combination.

        Returns
        -------
        DataFrame
            The variables, with their labels as values; repetitions; prior; expected, the mean of
            the probability of the truth over publications; worst, its 95 % quantile; and their
            Monte Carlo standard errors.
        """
        self.schema.check_apart(_COLUMNS)
        frame = self.schema.decode(self.combinations)
        frame = frame.assign(repetitions=self.repetitions, prior=self.prior)
        return frame.assign(**self._over(self.probability, self.left_out))

    def over_records(self, threshold: float = 0.5) -> pd.DataFrame:
        """Summarize the risks of all records of a publication, over publications.

        Parameters
        ----------
        threshold : float
            Probability above which records are counted, in (0, 1).

        Returns
        -------
        DataFrame
            Indexed by the summary: largest, the largest risk of a record; gain, the mean over
            records of the log of the risk over the prior, in nats; above, the share of the records
            above the threshold. Columns expected, worst and their errors, as of `to_frame`.
        """
        checks.inner_probability(threshold=threshold)
        found = self._over(
            self._summaries(self.probability, threshold), self._summaries(self.left_out, threshold)
        )
        return pd.DataFrame(found, index=list(_SUMMARIES))

    def place(self, probability: ArrayLike, threshold: float = 0.5) -> pd.DataFrame:
        """Say where a publication at hand lies among those that could be drawn.

        Parameters
        ----------
        probability : (n,) float
            Posterior probabilities of the true combinations after it, to the same intruder; NaN
            where the synthesizer cannot have made it.
        threshold : float
            As of `over_records`.

        Returns
        -------
        DataFrame
            Indexed by the summaries of `over_records`: value, of the publication; expected and
            worst; and lower, same and higher, the shares of publications with such a summary.
            Differences below 1e-9 are rounding.
        """
        checks.inner_probability(threshold=threshold)
        own = self._summaries(np.broadcast_to(probability, len(self.prior)), threshold)
        if np.isnan(own).any():
            own = np.full(len(_SUMMARIES), np.nan)
        every = self._summaries(self.probability, threshold)
        sides = {
            "lower": every < own - 1e-9,
            "same": np.abs(every - own) <= 1e-9,
            "higher": every > own + 1e-9,
        }
        found = self.over_records(threshold)[["expected", "worst"]]
        found.insert(0, "value", own)
        shares = {name: self.weights @ side for name, side in sides.items()}
        return found.assign(**{k: np.where(np.isnan(own), np.nan, v) for k, v in shares.items()})

    def _summaries(self, probability: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
        """Return the summaries over records of publications, (..., n) to (..., 3)."""
        share = self.repetitions / self.repetitions.sum()
        gain = np.log(probability / self.prior) @ share
        above = (probability > threshold) @ share
        return np.stack([probability.max(axis=-1), gain, above], axis=-1)

    def summary(self) -> str:
        """Say in words how high the risks of a publication will be."""
        frame, over = self.to_frame(), self.over_records()
        of = "all" if self.exact else f"{len(self.weights):,} drawn"
        each = "one release" if self.n_releases == 1 else f"{self.n_releases} releases"
        at = int(frame["expected"].argmax())
        error = (
            ""
            if self.exact
            else f" (error {frame['expected_mcse'].iloc[at]:.1g}, and it is the largest of several)"
        )
        largest = over.loc["largest"]
        return " ".join(
            [
                f"{len(frame):,} combinations of {self.repetitions.sum():,} records, each among "
                f"{self.support_size:,} candidates, over {of} publications of {each}.",
                f"The expected probability of the truth is {frame['expected'].median():.2g} for "
                f"the median combination and at most {frame['expected'].max():.2g}{error}.",
                f"The largest risk of a publication is {largest['expected']:.2g} on average and at "
                f"most {largest['worst']:.2g} in {percent(WORST)} of the publications.",
            ]
        )

    def _over(
        self, values: NDArray[np.float64], left_out: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return mean and 95 % quantile over publications, with their errors.

        Parameters
        ----------
        values : (n_publications, k) float
            Of each publication.
        left_out : (n_chains, n_publications, k) float
            With one chain left out.
        """
        expected, worst = self.weights @ values, quantile(values, self.weights, WORST)
        errors = np.zeros((2, len(expected)))
        if not self.exact:
            errors[0] = values.var(axis=0, ddof=1) / len(values)
            errors[1] = quantile_variance(values, WORST)
        if len(left_out):
            errors[0] += jackknife_variance(self.weights @ each for each in left_out)
            errors[1] += jackknife_variance(
                quantile(each, self.weights, WORST) for each in left_out
            )
        expected_mcse, worst_mcse = np.sqrt(errors)
        return {
            "expected": expected, "expected_mcse": expected_mcse,
            "worst": worst, "worst_mcse": worst_mcse,
        }  # fmt: skip


def risk_before_release(
    original: Data,
    synthesizer: Trees | Density | Mixture,
    n_releases: int = 1,
    n_draws: int = 100,
    *,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Sequence[int] | NDArray[np.integer] | None = None,
    rng: np.random.Generator | None = None,
    progress: bool = True,
) -> RiskBeforeRelease:
    """Compute the risk that a publication will have, before any release is published.

    Publications are drawn from the original as an agency would, and the posterior probability of
    each true record is computed for each, as `posterior_risk` does. The results are confidential:
    they depend on the original. They hold for the first publication that is drawn; an agency that
    looks at the risk and draws again has another mechanism (`srlib.mechanism.acceptance.redraw`).

    Parameters
    ----------
    original : DataFrame or Microdata
        The confidential table.
    synthesizer : Trees, Density or Mixture
        Trees grown on the original, or any other whose density is known; of a mechanism on records
        (`srlib.mechanism.OnRecords`) all publications are gone through, and nothing has an error.
        Of the DPMPM (`srlib.dpmpm.Mixture`) chains run for each release, and four times as many
        given the data, since these are in all columns; its settings need two chains or more.
    n_releases : int
        Releases in a publication, 1 or more, independent given the data.
    n_draws : int
        Publications that are drawn, 20 or more.
    schema, unknown, log_prior
        As of `posterior_risk`.
    rows : sequence of int, optional
        Records that are sought, by their rows; one for each combination if not given. Summaries
        over records are then over these.
    rng : numpy.random.Generator, optional
        Source of the releases; needed where they are drawn.
    progress : bool
        Whether bars are drawn, where there is a terminal.

    Returns
    -------
    RiskBeforeRelease

    Raises
    ------
    ValueError
        If the table, the synthesizer, `unknown`, `log_prior`, `rows` or `rng` do not fit together,
        or a number is out of range.

    Examples
    --------
    >>> import srlib
    >>> people = pd.DataFrame({"job": ["cook", "smith"] * 20, "sick": ["no"] * 30 + ["yes"] * 10})
    >>> risk = risk_before_release(
    ...     people, srlib.fit_trees(people), n_releases=2, n_draws=50, rng=np.random.default_rng(1)
    ... )
    >>> risk.to_frame().columns.tolist()[2:6]
    ['repetitions', 'prior', 'expected', 'expected_mcse']
    >>> risk.summary().split(", ")[0]
    '4 combinations of 40 records'
    """
    found = risks_by_size(
        original, synthesizer, [n_releases], n_draws, schema=schema, unknown=unknown,
        log_prior=log_prior, rows=rows, rng=rng, progress=progress,
    )  # fmt: skip
    return found[n_releases]


def risks_by_size(
    original: Data,
    synthesizer: Trees | Density | Mixture,
    sizes: Sequence[int],
    n_draws: int = 100,
    *,
    schema: Schema | None = None,
    unknown: Sequence[str] | None = None,
    log_prior: LogPrior | None = None,
    rows: Sequence[int] | NDArray[np.integer] | None = None,
    rng: np.random.Generator | None = None,
    progress: bool = True,
) -> dict[int, RiskBeforeRelease]:
    """Compute `risk_before_release` for publications of several sizes, from the same releases.

    Parameters
    ----------
    sizes : sequence of int
        Releases in a publication, 1 or more each.
    n_draws : int
        Publications of the largest size that are drawn, 20 or more; the smaller ones are all that
        their releases make without using one twice.
    original, synthesizer, schema, unknown, log_prior, rows, rng, progress
        As of `risk_before_release`.

    Returns
    -------
    dict of int to RiskBeforeRelease
        By size.

    Raises
    ------
    ValueError
        As of `risk_before_release`.
    """
    for n_releases in sizes:
        checks.at_least(1, n_releases=n_releases)
    checks.at_least(MIN_DRAWS, n_draws=n_draws)
    records = sought(original, schema, unknown, log_prior, rows)
    records.table.schema.check_apart(_COLUMNS)
    check_synthesizer(synthesizer, records.table)
    n = max(sizes) * n_draws
    with nullcontext() if progress else silent():
        found = columns(records, synthesizer, n, rng=rng)

    def of_size(size: int) -> RiskBeforeRelease:
        if is_finite(synthesizer):
            sets = found.possible().every_set(size)
        else:
            members = np.arange(n // size * size).reshape(-1, size)
            sets = found.of_sets(members, np.full(len(members), 1 / len(members)))
        return of_columns(
            records.table.schema, records.combinations, records.repetitions, sets, size,
            records.support.log_prior_of(slice(None)),
        )  # fmt: skip

    return {size: of_size(size) for size in sizes}


def of_columns(
    schema: Schema,
    combinations: NDArray[np.integer],
    repetitions: NDArray[np.int64],
    columns: Columns,
    n_releases: int,
    log_prior: ArrayLike,
) -> RiskBeforeRelease:
    """Return the risks of publications from their columns.

    Parameters
    ----------
    schema, combinations, repetitions, n_releases
        As of `RiskBeforeRelease`.
    columns : Columns
        Of publications that the data can lead to, independent of each other where they are drawn.
    log_prior : (n, support_size) float
        Log prior of the candidates up to a constant, or 0.
    """
    column = columns.log_likelihood
    left_out = np.zeros((len(columns.shifts), *column.shape[:2]))
    for probability, shift in zip(left_out, columns.shifts, strict=True):
        probability[:] = np.exp(posterior(column + shift, log_prior)[..., 0])
    return RiskBeforeRelease(
        schema=schema,
        combinations=combinations,
        repetitions=repetitions,
        prior=np.exp(posterior(np.zeros(column.shape[1:]), log_prior)[:, 0]),
        support_size=column.shape[2],
        n_releases=n_releases,
        probability=np.exp(posterior(column, log_prior)[..., 0]),
        weights=columns.weights,
        exact=columns.exact,
        left_out=left_out,
        convergence=columns.convergence,
    )


def quantile(
    values: NDArray[np.float64], weights: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """Return the smallest value that is not exceeded with the probability `level`.

    Parameters
    ----------
    values : (n, k) float
        Of each of n outcomes.
    weights : (n,) float
        Probabilities of the outcomes.
    level : float
        In (0, 1).

    Returns
    -------
    (k,) float64
    """
    order = np.argsort(values, axis=0)
    cumulative = np.cumsum(weights[order], axis=0)
    # Rounding must not carry the sum of 95 weights of 1 / 100 across the level.
    at = np.argmax(cumulative >= level - 1e-9, axis=0)
    return np.take_along_axis(np.take_along_axis(values, order, 0), at[None], 0)[0]


def quantile_variance(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return the sampling variance of the quantile of a sample, (k,).

    Parameters
    ----------
    values : (n, k) float
        A sample of each of k quantities.
    level : float
        In (0, 1).

    References
    ----------
    Maritz and Jarrett (1978), A note on estimating the variance of the sample median.
    https://doi.org/10.1080/01621459.1978.10480027
    """
    n = len(values)
    m = np.floor(n * level + 0.5)
    weights = np.diff(beta.cdf(np.arange(n + 1) / n, m, n - m + 1))
    ordered = np.sort(values, axis=0)
    mean = weights @ ordered
    return weights @ (ordered - mean) ** 2
