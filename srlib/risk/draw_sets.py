"""Posterior draws given the data, and given the data joined with each release.

Chains of the intruder's model run longer and longer until they agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from srlib import diagnostics
from srlib.arrays import Floats, Generator, Ints, NDArray, evenly_spaced
from srlib.data import Codes
from srlib.dpmpm import Chains, Draws, cell_log_prob, sample_posterior
from srlib.risk.estimators import (
    collapsed_log_ratios,
    log_likelihood,
    one_variable_log_ratios,
    record_log_ratios,
    subset_log_means,
)
from srlib.risk.likelihood import CandidateLikelihood

# Chains have converged if at most this share of combinations has an R-hat above 1.01.
MAX_NOT_CONVERGED = 0.05
# Each round of chains is this many times as long as the one before.
LENGTHENING = 4

# Settings of chains, or of several rounds of longer and longer ones.
type Schedule = Chains | Sequence[Chains]

_MAX_CHECKED = 5_000  # combinations for which R-hat is computed


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
        chains: Schedule,
        *,
        rng: Generator,
    ) -> Self:
        """Sample all sets, each from its own random stream and with its allocations.

        Of several settings of chains one runs after the other until the chains agree:
        until `convergence` finds at most a share `MAX_NOT_CONVERGED` of the
        combinations not converged.
        """
        schedule = checked_schedule(chains)
        combinations = evenly_spaced(np.unique(codes, axis=0), _MAX_CHECKED)
        tables = {"data": codes}
        for i, release in enumerate(released, 1):
            tables[f"data, release {i}"] = np.vstack([codes, release])
        sets = []
        for name, table in tables.items():
            (stream,) = rng.spawn(1)
            for settings in schedule:
                draws = sample_posterior(
                    table,
                    n_levels,
                    settings,
                    rng=stream,
                    keep_allocations=True,
                    label=f"{name}, {settings.n_iterations:,} iterations",
                )
                if settings is schedule[-1]:  # used whether its chains agree or not
                    break
                agreement = convergence(name, draws, combinations)
                if agreement["share_not_converged"] <= MAX_NOT_CONVERGED:
                    break
            sets.append(draws)
        return cls(sets[0], sets[1:])

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
        return CandidateLikelihood(log_likelihood, ratios, r_hat, pareto_k)

    def people_likelihood(
        self, codes: Codes, people: Codes, chosen: Ints
    ) -> CandidateLikelihood:
        """Return the likelihood of people in place of records, by the predictive ratio.

        The candidates of each record, (n, n_variables), are itself and the people at
        the positions `chosen`, (n, n_chosen).
        """
        ratios = [record_log_ratios(draws, codes, people, chosen) for draws in self]
        return CandidateLikelihood(log_likelihood, ratios)


def log_ratios(
    draws: Draws, codes: Codes, unknown: Sequence[int] | None
) -> tuple[Floats, NDArray[np.floating]]:
    """Return log ratios for `predictive_ratio`, and log probabilities for Pareto k."""
    if unknown is not None:
        return subset_log_means(draws, codes, unknown), cell_log_prob(draws, codes)
    if draws.allocations is None:
        return one_variable_log_ratios(draws, codes)[0], cell_log_prob(draws, codes)
    return collapsed_log_ratios(draws, codes)


def chain_schedule(
    max_iterations: int, *, n_classes: int, n_draws: int, n_chains: int
) -> tuple[Chains, ...]:
    """Return settings of longer and longer chains, each four times as long as the last.

    Half of each chain is burn-in. The last has `max_iterations`; the first has at least
    two iterations per draw. The other settings are those of `dpmpm.Chains`.
    """
    schedule = []
    length = max(max_iterations, 2 * n_draws)
    while length >= 2 * n_draws:
        chains = Chains(
            n_classes=n_classes,
            burn_in=length // 2,
            n_draws=n_draws,
            thin=max(1, length // 2 // n_draws),
            n_chains=n_chains,
        )
        schedule.append(chains)
        length //= LENGTHENING
    return tuple(reversed(schedule))


def checked_schedule(chains: Schedule) -> Sequence[Chains]:
    """Return settings as a sequence, if each allows standard errors and R-hat."""
    schedule = [chains] if isinstance(chains, Chains) else list(chains)
    if not schedule:
        raise ValueError(
            "chains is empty; it must have settings for one round of chains or more"
        )
    for settings in schedule:
        if settings.n_chains < 2 or settings.n_draws < 4:
            raise ValueError(
                f"chains has {settings.n_chains} chains of {settings.n_draws} draws; "
                "standard errors and R-hat need at least two chains of four draws"
            )
    return schedule


def convergence(name: str, draws: Draws, combinations: Codes) -> dict[str, Any]:
    """Return whether chains agree on the log probabilities of combinations, as a row.

    It has draws_given (the name of the draws), chains, draws (per chain), r_hat_median,
    r_hat_95 (95th percentile) and r_hat_largest over the combinations, and
    share_not_converged, the share whose R-hat is above `diagnostics.MAX_R_HAT`.
    """
    r_hat = diagnostics.r_hat(cell_log_prob(draws, combinations))  # (n_combinations,)
    return {
        "draws_given": name,
        "chains": draws.n_chains,
        "draws": draws.n_draws,
        "r_hat_median": np.median(r_hat),
        "r_hat_95": np.quantile(r_hat, 0.95),
        "r_hat_largest": r_hat.max(),
        "share_not_converged": share_not_converged(r_hat),
    }


def share_not_converged(r_hat: Floats | Sequence[Floats]) -> Floats:
    """Return the share of R-hats above their limit or unknown, over the last axis."""
    return np.mean(~np.less_equal(r_hat, diagnostics.MAX_R_HAT), axis=-1)
