"""Chains of the intruder's model that run in rounds until they agree."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.dpmpm.core import Chains, Draws, cell_log_prob, sample_posterior

# Chains agree where R-hat is good for all but this share of the combinations.
APART = 0.05
# Each round of chains is this many times as long as the one before.
LONGER = 4

_JUDGED = 5_000  # combinations over which R-hat is computed


def chains(
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    *,
    n_classes: int,
    n_draws: int,
    n_chains: int,
    most_iterations: int,
    rng: np.random.Generator,
    combinations: NDArray[np.integer],
    label: str = "DPMPM",
) -> Draws:
    """Run chains of the intruder's model, longer ones until they agree or the longest have run.

    The last round has `most_iterations` iterations a chain, half of them burn-in, each round
    before a quarter of the next, down to one iteration for each draw. R-hat is that of the log
    probabilities of `combinations`; chains agree where it is at most `diagnostics.MAX_R_HAT` for
    95 % of these.

    Parameters
    ----------
    codes, n_levels, n_classes, n_draws, n_chains, rng, label
        As `dpmpm.sample_posterior`.
    most_iterations : int
        Iterations of a chain of the last round.
    combinations : (n_combinations, p) int
        See `convergence`.

    Returns
    -------
    Draws
        Of the last round that ran.
    """
    drawn = None
    for iterations in rounds(most_iterations, n_draws):
        settings = Chains(
            n_classes=n_classes, burn_in=iterations // 2, n_draws=n_draws,
            thin=max(1, iterations // 2 // n_draws), n_chains=n_chains,
        )  # fmt: skip
        drawn = sample_posterior(
            codes, n_levels, settings, rng=rng, keep_allocations=True,
            label=f"{label}, {iterations:,} iterations",
        )  # fmt: skip
        if convergence({label: drawn}, combinations)["apart"].iloc[0] <= APART:
            break
    assert drawn is not None
    return drawn


def rounds(most_iterations: int, n_draws: int) -> list[int]:
    """Iterations of a chain in each round, the last one's first of all set."""
    iterations = [max(most_iterations, 2 * n_draws)]
    while iterations[0] // LONGER >= 2 * n_draws:
        iterations.insert(0, iterations[0] // LONGER)
    return iterations


def convergence(sets: dict[str, Draws], combinations: NDArray[np.integer]) -> pd.DataFrame:
    """Whether chains agree on what the risks are made of, the log probabilities of combinations.

    Parameters
    ----------
    sets : dict of str to Draws
        Draws by name.
    combinations : (n_combinations, p) int
        Where there are more than 5,000, R-hat is computed over 5,000 evenly spaced ones.

    Returns
    -------
    DataFrame
        One row a set: draws_given (its name), chains, draws (of each chain), r_hat_median,
        r_hat_95 (95th percentile) and r_hat_largest over the combinations, and apart, the share
        of them whose R-hat is above `diagnostics.MAX_R_HAT`.
    """
    every = np.linspace(0, len(combinations) - 1, min(len(combinations), _JUDGED)).astype(int)
    rows = []
    for name, draws in sets.items():
        r_hat = diagnostics.r_hat(cell_log_prob(draws, combinations[every]))
        rows.append(
            {
                "draws_given": name,
                "chains": draws.n_chains,
                "draws": draws.n_draws,
                "r_hat_median": np.median(r_hat),
                "r_hat_95": np.quantile(r_hat, 0.95),
                "r_hat_largest": r_hat.max(),
                "apart": np.mean(~(r_hat <= diagnostics.MAX_R_HAT)),
            }
        )
    return pd.DataFrame(rows)
