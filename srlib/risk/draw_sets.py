"""The draws that a risk is computed from: given the data, and given the data with each release."""

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
from srlib.risk.agreement import APART, checked_rounds, convergence
from srlib.risk.column import Column
from srlib.risk.estimators import (
    collapsed_log_ratios,
    log_likelihood,
    neighborhood_log_ratios,
    subset_log_means,
)


@dataclass(frozen=True)
class DrawSets:
    """Draws given the confidential data, and given the data joined with each release.

    There is one release or more. All sets have two chains or more, since all errors come from
    between chains. Iterating yields the draws given the data, then those given each release.
    """

    data: Draws
    joined: Sequence[Draws]

    def __post_init__(self) -> None:
        object.__setattr__(self, "joined", tuple(self.joined))
        require(self.joined, "joined is empty; the intruder sees one release or more")
        own = self.n_levels.tolist()
        for draws in self.joined:
            found = np.asarray(draws.n_levels).tolist()
            told = f"joined has draws with levels {found}"
            require(found == own, f"{told}; they must be those of data, {own}")

    @classmethod
    def fit(
        cls,
        codes: NDArray[np.integer],
        released: Sequence[NDArray[np.integer]],
        n_levels: NDArray[np.integer],
        rounds: Chains | Sequence[Chains],
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Sample all sets, each from a stream of its own and with its allocations.

        Of several rounds of chains one runs after the other until the chains agree: where
        `convergence` finds at most a share `APART` of the combinations apart.
        """
        every, sets, combinations = checked_rounds(rounds), [], np.unique(codes, axis=0)
        given = {"data": codes}
        given |= {f"data, release {i}": np.vstack([codes, z]) for i, z in enumerate(released, 1)}
        for (label, records), stream in zip(given.items(), rng.spawn(len(given)), strict=True):
            for chains in every:
                draws = sample_posterior(
                    records, n_levels, chains, rng=stream, keep_allocations=True,
                    label=f"{label}, {chains.n_iterations:,} iterations",
                )  # fmt: skip
                if chains is every[-1]:  # nothing follows, whether they agree or not
                    break
                if convergence({label: draws}, combinations)["apart"].iloc[0] <= APART:
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

    def column(self, codes: NDArray[np.integer], unknown: Sequence[int] | None = None) -> Column:
        """Return what the releases say of records, by the predictive ratio."""
        ratios, log_prob = zip(*(log_ratios(draws, codes, unknown) for draws in self), strict=True)
        r_hat = [diagnostics.r_hat(cell_log_prob(draws, codes)) for draws in self]
        pareto_k = diagnostics.pareto_k(-log_prob[0].reshape(-1, len(codes)).T)
        return Column(log_likelihood, ratios, np.stack(r_hat), pareto_k)


def log_ratios(
    draws: Draws, codes: NDArray[np.integer], unknown: Sequence[int] | None
) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
    """Return ratios as `predictive_ratio` takes them, and log probabilities for Pareto k."""
    if unknown is None and draws.allocations is not None:
        return collapsed_log_ratios(draws, codes)
    if unknown is None:
        return neighborhood_log_ratios(draws, codes)[0], cell_log_prob(draws, codes)
    return subset_log_means(draws, codes, unknown), cell_log_prob(draws, codes)
