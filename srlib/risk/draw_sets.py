"""The posterior draws behind a risk: given the data, and given the data with each release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.checks import require
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob
from srlib.risk.agreement import MAX_NOT_CONVERGED, checked_schedule, convergence
from srlib.risk.estimators import (
    collapsed_log_ratios,
    log_likelihood,
    one_variable_log_ratios,
    subset_log_means,
)
from srlib.risk.likelihood import CandidateLikelihood


@dataclass(frozen=True)
class DrawSets:
    """Draws given the confidential data, and given the data joined with each release.

    There are one or more releases, and every set has two or more chains, because all
    standard errors come from the differences between chains. Iteration yields the draws
    given the data, then those given the data and each release.
    """

    data: Draws
    joined: Sequence[Draws]

    def __post_init__(self) -> None:
        object.__setattr__(self, "joined", tuple(self.joined))
        require(
            self.joined, "joined is empty; it must have draws for one release or more"
        )
        own = self.n_levels.tolist()
        for draws in self.joined:
            found = np.asarray(draws.n_levels).tolist()
            require(
                found == own,
                f"joined has draws with {found} levels; they must have those of data, {own}",
            )

    @classmethod
    def fit(
        cls,
        codes: NDArray[np.integer],
        released: Sequence[NDArray[np.integer]],
        n_levels: NDArray[np.integer],
        chains: Chains | Sequence[Chains],
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Sample all sets, each from its own random stream and with its allocations.

        Of several settings of chains one runs after the other until the chains agree:
        until `convergence` finds at most a share `MAX_NOT_CONVERGED` of the
        combinations not converged.
        """
        schedule, sets = checked_schedule(chains), []
        combinations = np.unique(codes, axis=0)
        given = {"data": codes}
        given |= {
            f"data, release {i}": np.vstack([codes, z])
            for i, z in enumerate(released, 1)
        }
        for (label, records), stream in zip(
            given.items(), rng.spawn(len(given)), strict=True
        ):
            for settings in schedule:
                draws = sample_posterior(
                    records,
                    n_levels,
                    settings,
                    rng=stream,
                    keep_allocations=True,
                    label=f"{label}, {settings.n_iterations:,} iterations",
                )
                if (
                    settings is schedule[-1]
                ):  # nothing follows, whether they agree or not
                    break
                checked = convergence({label: draws}, combinations)
                if checked["share_not_converged"].iloc[0] <= MAX_NOT_CONVERGED:
                    break
            sets.append(draws)
        return cls(sets[0], sets[1:])

    def __iter__(self) -> Iterator[Draws]:
        yield self.data
        yield from self.joined

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of levels of each variable, (n_variables,)."""
        return np.asarray(self.data.n_levels)

    def likelihood(
        self, codes: NDArray[np.integer], unknown: Sequence[int] | None = None
    ) -> CandidateLikelihood:
        """Return the likelihood of the candidates of records, by the predictive ratio."""
        ratios, log_prob = zip(
            *(log_ratios(draws, codes, unknown) for draws in self), strict=True
        )
        r_hat = [diagnostics.r_hat(cell_log_prob(draws, codes)) for draws in self]
        pareto_k = diagnostics.pareto_k(-log_prob[0].reshape(-1, len(codes)).T)
        return CandidateLikelihood(log_likelihood, ratios, np.stack(r_hat), pareto_k)


def log_ratios(
    draws: Draws, codes: NDArray[np.integer], unknown: Sequence[int] | None
) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
    """Return the log ratios for `predictive_ratio`, and the log probabilities for Pareto k."""
    if unknown is None and draws.allocations is not None:
        return collapsed_log_ratios(draws, codes)
    if unknown is None:
        return one_variable_log_ratios(draws, codes)[0], cell_log_prob(draws, codes)
    return subset_log_means(draws, codes, unknown), cell_log_prob(draws, codes)
