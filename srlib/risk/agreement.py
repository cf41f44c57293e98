"""Chains of the intruder's model that run in rounds until they agree."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.checks import require
from srlib.dpmpm.model import Chains, Draws
from srlib.dpmpm.predict import cell_log_prob

# Chains agree where R-hat is good for all but this share of the combinations.
APART = 0.05
# Each round of chains is this many times as long as the one before.
LONGER = 4

_JUDGED = 5_000  # combinations over which R-hat is computed


def rounds(
    most_iterations: int, *, n_classes: int, n_draws: int, n_chains: int
) -> tuple[Chains, ...]:
    """Return rounds of chains, half of each chain burn-in, each a quarter as long as the next.

    The shortest comes first, and has two iterations for each draw or more; the last has
    `most_iterations` of each chain. The other settings are those of `dpmpm.Chains`.
    """
    iterations = [max(most_iterations, 2 * n_draws)]
    while iterations[0] // LONGER >= 2 * n_draws:
        iterations.insert(0, iterations[0] // LONGER)
    return tuple(
        Chains(
            n_classes=n_classes, burn_in=length // 2, n_draws=n_draws,
            thin=max(1, length // 2 // n_draws), n_chains=n_chains,
        )
        for length in iterations
    )  # fmt: skip


def checked_rounds(chains: Chains | Sequence[Chains]) -> Sequence[Chains]:
    """Return the rounds of chains, if errors and R-hat can be computed from each."""
    settings = [chains] if isinstance(chains, Chains) else list(chains)
    require(settings, "chains is empty; it must have one round of chains or more")
    for each in settings:
        told = f"chains are {each.n_chains} of {each.n_draws} draws; errors and R-hat take two"
        require(each.n_chains > 1 and each.n_draws > 3, f"{told} or more, of four draws or more")
    return settings


def convergence(sets: dict[str, Draws], combinations: NDArray[np.integer]) -> pd.DataFrame:
    """Tabulate whether chains agree on the log probabilities of combinations, which make the risks.

    One row a set: draws_given (its name), chains, draws (of each chain), r_hat_median, r_hat_95
    (95th percentile) and r_hat_largest over the combinations, or 5,000 evenly spaced ones, and
    apart, the share of them whose R-hat is above `diagnostics.MAX_R_HAT`.
    """
    every = np.linspace(0, len(combinations) - 1, min(len(combinations), _JUDGED)).astype(int)
    rows = []
    for name, draws in sets.items():
        r_hat = diagnostics.r_hat(cell_log_prob(draws, combinations[every]))
        spread = np.median(r_hat), np.quantile(r_hat, 0.95), r_hat.max()
        apart = np.mean(~(r_hat <= diagnostics.MAX_R_HAT))
        rows.append((name, draws.n_chains, draws.n_draws, *spread, apart))
    names = "draws_given chains draws r_hat_median r_hat_95 r_hat_largest apart"
    return pd.DataFrame(rows, columns=names.split())
