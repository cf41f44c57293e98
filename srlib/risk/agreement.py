"""Chains of the intruder's model that run longer and longer until they agree."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from srlib import diagnostics
from srlib.arrays import Floats
from srlib.data.codes import Codes
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob

# Chains have converged if at most this share of combinations has an R-hat above 1.01.
MAX_NOT_CONVERGED = 0.05
# Each round of chains is this many times as long as the one before.
LENGTHENING = 4

_MAX_CHECKED = 5_000  # combinations for which R-hat is computed


def chain_schedule(
    max_iterations: int, *, n_classes: int, n_draws: int, n_chains: int
) -> tuple[Chains, ...]:
    """Return settings of longer and longer chains, each four times as long as the last.

    Half of each chain is burn-in. The last has `max_iterations`; the first has at least
    two iterations per draw. The other settings are those of `dpmpm.Chains`.
    """
    iterations = [max(max_iterations, 2 * n_draws)]
    while iterations[0] // LENGTHENING >= 2 * n_draws:
        iterations.insert(0, iterations[0] // LENGTHENING)
    return tuple(
        Chains(
            n_classes=n_classes,
            burn_in=length // 2,
            n_draws=n_draws,
            thin=max(1, length // 2 // n_draws),
            n_chains=n_chains,
        )
        for length in iterations
    )


def checked_schedule(chains: Chains | Sequence[Chains]) -> Sequence[Chains]:
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


def convergence(
    name: str,
    draws: Draws,
    combinations: Codes,
) -> dict[str, Any]:
    """Return whether chains agree on the log probabilities of combinations, as a row.

    It has draws_given (the name of the draws), chains, draws (per chain), r_hat_median,
    r_hat_95 (95th percentile) and r_hat_largest over the combinations, or over 5,000 of
    them that are evenly spaced, and share_not_converged, the share whose R-hat is above
    `diagnostics.MAX_R_HAT`.
    """
    checked = evenly_spaced(combinations, _MAX_CHECKED)
    r_hat = diagnostics.r_hat(cell_log_prob(draws, checked))  # (n_checked,)
    return {
        "draws_given": name,
        "chains": draws.n_chains,
        "draws": draws.n_draws,
        "r_hat_median": np.median(r_hat),
        "r_hat_95": np.quantile(r_hat, 0.95),
        "r_hat_largest": r_hat.max(),
        "share_not_converged": share_not_converged(r_hat),
    }


def evenly_spaced(records: Codes, limit: int) -> Codes:
    """Return all records, or `limit` of them that are evenly spaced."""
    n_chosen = min(len(records), limit)
    return records[np.linspace(0, len(records) - 1, n_chosen).astype(int)]


def share_not_converged(r_hat: Floats) -> Floats:
    """Return the share of R-hats above their limit or unknown, over the last axis."""
    return np.mean(~(r_hat <= diagnostics.MAX_R_HAT), axis=-1)
