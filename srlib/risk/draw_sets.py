"""The posterior draws behind a risk: given the data, and the data with each release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.arrays import Floats, Ints
from srlib.data.codes import Codes
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
        if not self.joined:
            raise ValueError(
                "joined is empty; it must have draws for one release or more"
            )
        data_levels = self.n_levels.tolist()
        for draws in self.joined:
            levels = draws.n_levels.tolist()
            if levels != data_levels:
                raise ValueError(
                    f"joined has draws with {levels} levels; they must have those of "
                    f"data, {data_levels}"
                )

    @classmethod
    def fit(
        cls,
        codes: Codes,
        released: Sequence[Codes],
        n_levels: Ints,
        chains: Chains | Sequence[Chains],
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Sample all sets, each from its own random stream and with its allocations.

        Of several settings of chains one runs after the other until the chains agree:
        until `convergence` finds at most a share `MAX_NOT_CONVERGED` of the
        combinations not converged.
        """
        schedule = checked_schedule(chains)
        combinations = np.unique(codes, axis=0)
        tables = {"data": codes}
        for i, release in enumerate(released, 1):
            tables[f"data, release {i}"] = np.vstack([codes, release])
        data, *joined = (
            _sample_until_agreement(
                name, table, n_levels, schedule, combinations, rng=rng.spawn(1)[0]
            )
            for name, table in tables.items()
        )
        return cls(data, joined)

    def __iter__(self) -> Iterator[Draws]:
        yield self.data
        yield from self.joined

    @property
    def n_levels(self) -> Ints:
        """Number of levels of each variable, (n_variables,)."""
        return self.data.n_levels

    def likelihood(
        self, codes: Codes, unknown: Sequence[int] | None = None
    ) -> CandidateLikelihood:
        """Return the likelihood of records' candidates, by the predictive ratio."""
        ratios, log_prob = zip(
            *(log_ratios(draws, codes, unknown) for draws in self), strict=True
        )
        r_hat = [diagnostics.r_hat(cell_log_prob(draws, codes)) for draws in self]
        # The weights 1 / p(x_i | theta) leave the record out of the draws given D.
        pareto_k = diagnostics.pareto_k(-log_prob[0].reshape(-1, len(codes)).T)
        return CandidateLikelihood(log_likelihood, ratios, np.stack(r_hat), pareto_k)


def _sample_until_agreement(
    name: str,
    table: Codes,
    n_levels: Ints,
    schedule: Sequence[Chains],
    combinations: Codes,
    *,
    rng: np.random.Generator,
) -> Draws:
    """Return draws from the schedule's first chains that agree, or from its last."""
    for settings in schedule:
        draws = sample_posterior(
            table,
            n_levels,
            settings,
            rng=rng,
            keep_allocations=True,
            label=f"{name}, {settings.n_iterations:,} iterations",
        )
        if settings is schedule[-1]:  # which nothing follows, whether it agrees or not
            break
        agreement = convergence(name, draws, combinations)
        if agreement["share_not_converged"] <= MAX_NOT_CONVERGED:
            break
    return draws


def log_ratios(
    draws: Draws, codes: Codes, unknown: Sequence[int] | None
) -> tuple[Floats, NDArray[np.floating]]:
    """Return log ratios for `predictive_ratio`, and log probabilities for Pareto k."""
    if unknown is None and draws.allocations is not None:
        return collapsed_log_ratios(draws, codes)
    if unknown is None:
        ratios = one_variable_log_ratios(draws, codes)[0]
    else:
        ratios = subset_log_means(draws, codes, unknown)
    return ratios, cell_log_prob(draws, codes)
