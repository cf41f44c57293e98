"""The draws that a risk is computed from: given the data, and given the data with each release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from srlib.dpmpm.model import Chains, Draws
from srlib.risk.agreement import agreeing_draws


@dataclass(frozen=True)
class DrawSets:
    """Draws given the confidential data, and given the data joined with each release.

    Iterating yields the draws given the data, then those given each release as well.

    Attributes
    ----------
    data : Draws
        Given the data; two chains or more, since all errors come from between chains.
    joined : sequence of Draws
        Given the data joined with each release: one set or more, of two chains or more.

    Raises
    ------
    ValueError
        If no release is given, a set has fewer than two chains, or the sets differ in their
        variables.
    """

    data: Draws
    joined: Sequence[Draws]

    def __post_init__(self) -> None:
        object.__setattr__(self, "joined", tuple(self.joined))
        if not self.joined:
            raise ValueError("joined is empty; the intruder sees one release or more")
        chains = [draws.n_chains for draws in self]
        if min(chains) < 2:
            raise ValueError(
                f"the sets have {chains} chains; each needs two or more, since the standard errors "
                "come from between chains"
            )
        for draws in self.joined:
            if not np.array_equal(draws.n_levels, self.n_levels):
                raise ValueError(
                    f"joined has draws with levels {list(draws.n_levels)}; they must be those of "
                    f"data, {list(self.n_levels)}"
                )

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

        Parameters
        ----------
        codes : (n, n_variables) int
            The confidential data, coded from 0.
        released : sequence of (n_l, n_variables) int
            The releases, one or more.
        n_levels : (n_variables,) int
            Number of levels of each variable.
        rounds : Chains or sequence of Chains
            As `agreement.agreeing_draws`.
        rng : numpy.random.Generator
            Source of the streams.
        """
        combinations = np.unique(codes, axis=0)
        given = {"data": codes}
        given |= {f"data, release {i}": np.vstack([codes, z]) for i, z in enumerate(released, 1)}
        data, *joined = (
            agreeing_draws(
                records, n_levels, rounds, combinations=combinations, rng=stream, label=label
            )
            for (label, records), stream in zip(given.items(), rng.spawn(len(given)), strict=True)
        )
        return cls(data, joined)

    def __iter__(self) -> Iterator[Draws]:
        yield self.data
        yield from self.joined

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Number of levels of each variable, (n_variables,)."""
        return np.asarray(self.data.n_levels)

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Where the chains of each set begin and end among the chains of all, (n_sets + 1,)."""
        return np.cumsum([0, *(draws.n_chains for draws in self)])
