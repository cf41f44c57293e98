"""The DPMPM: prior distribution, settings of the chains, and posterior draws."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srlib import checks
from srlib.arrays import Floats, Generator, Ints, NDArray
from srlib.data.codes import Codes
from srlib.dpmpm.release import synthesize


@dataclass(frozen=True)
class Prior:
    """Prior distribution of the DPMPM; the defaults are those of the paper (section 2).

    Parameters
    ----------
    alpha_shape, alpha_rate : float
        Gamma prior of alpha (equation 5), both positive.
    concentration : float
        Parameter of the symmetric Dirichlet prior of each class's level probabilities
        (equation 6), positive.

    Examples
    --------
    >>> Prior()
    Prior(alpha_shape=0.25, alpha_rate=0.25, concentration=1.0)
    """

    alpha_shape: float = 0.25
    alpha_rate: float = 0.25
    concentration: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(**vars(self))


@dataclass(frozen=True, kw_only=True)
class Chains:
    """Settings of the Gibbs sampler's chains and of the model.

    Parameters
    ----------
    n_classes : int
        Truncation level F of the mixture, 1 or more.
    burn_in : int
        Iterations discarded from each chain, 0 or more.
    n_draws, thin : int
        Draws kept from each chain, and iterations per draw, 1 or more.
    n_chains : int
        Number of chains, each from its own random start, 1 or more.
    prior : Prior
        Prior distribution; that of the paper if not given.
    from_one_class : bool
        Whether each chain starts with all records in one class; if not, it starts from
        random probabilities and is annealed during the first half of the burn-in.

    Examples
    --------
    >>> chains = Chains(n_classes=40, burn_in=1000, n_draws=100, thin=5)
    >>> chains.n_chains, chains.n_iterations
    (4, 1500)
    """

    n_classes: int
    burn_in: int
    n_draws: int
    thin: int = 1
    n_chains: int = 4
    prior: Prior = field(default_factory=Prior)
    from_one_class: bool = False

    def __post_init__(self) -> None:
        checks.at_least(1, n_classes=self.n_classes, n_draws=self.n_draws)
        checks.at_least(1, thin=self.thin, n_chains=self.n_chains)
        checks.at_least(0, burn_in=self.burn_in)

    @property
    def n_iterations(self) -> int:
        """Iterations of one chain, including the burn-in."""
        return self.burn_in + self.n_draws * self.thin


@dataclass(frozen=True)
class Allocations:
    """Classes of the records in each draw.

    `combinations` are the distinct combinations of the data, (n_combinations,
    n_variables); `class_of`, (n_chains, n_draws, n_combinations), is the class of one
    record of each combination, the same record in all draws; `level_counts`, (n_chains,
    n_draws, sum(n_levels), n_classes), are the numbers of records by class and level.
    """

    combinations: Codes
    class_of: NDArray[np.uint16]
    level_counts: NDArray[np.int32]
    concentration: float


@dataclass(frozen=True)
class Draws:
    """Draws from the posterior of a DPMPM.

    Attributes
    ----------
    alpha : (n_chains, n_draws) float64
        Concentration of the stick-breaking prior.
    pi : (n_chains, n_draws, n_classes) float64
        Class probabilities; they sum to one over the last axis.
    phi : (n_chains, n_draws, sum(n_levels), n_classes) float32
        Level probabilities within each class, with the levels of all variables
        concatenated.
    class_sizes : (n_chains, n_draws, n_classes) int64
        Number of records in each class.
    log_likelihood : (n_chains, n_draws) float64
        log p(data | pi, phi), with the classes summed out.
    n_levels : (n_variables,) int64
        Number of levels of each variable.
    allocations : Allocations or None
        Classes of the records in each draw, if kept.

    Examples
    --------
    >>> from srlib.dpmpm import sample_posterior
    >>> rng = np.random.default_rng(1)
    >>> codes = rng.integers(0, 2, (30, 3))
    >>> few = Chains(n_classes=2, burn_in=10, n_draws=50)
    >>> draws = sample_posterior(codes, np.array([2, 2, 2]), few, rng=rng)
    >>> draws.n_chains, draws.n_draws, draws.thin(5).n_draws
    (4, 50, 10)
    >>> draws.release(1, 30, rng=rng)[0].shape
    (30, 3)
    """

    alpha: Floats
    pi: Floats
    phi: NDArray[np.float32]
    class_sizes: Ints
    log_likelihood: Floats
    n_levels: Ints
    allocations: Allocations | None = None

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return self.alpha.shape[0]

    @property
    def n_draws(self) -> int:
        """Number of draws kept from each chain."""
        return self.alpha.shape[1]

    @property
    def n_classes(self) -> int:
        """Truncation level F."""
        return self.pi.shape[2]

    @property
    def n_occupied(self) -> Ints:
        """Number of classes with at least one record, (n_chains, n_draws)."""
        return (self.class_sizes > 0).sum(axis=2)

    def thin(
        self,
        step: int,
        n_chains: int | None = None,
    ) -> "Draws":
        """Return every `step`-th draw of each chain, including the last.

        Allocations are left out. Only the first `n_chains` chains are kept; all if not
        given.
        """
        kept = slice(n_chains), slice((self.n_draws - 1) % step, None, step)
        return Draws(
            alpha=self.alpha[kept],
            pi=self.pi[kept],
            phi=self.phi[kept],
            class_sizes=self.class_sizes[kept],
            log_likelihood=self.log_likelihood[kept],
            n_levels=self.n_levels,
        )

    def spaced(self, n: int) -> tuple[Ints, Ints]:
        """Return chain and position, (n,) each, of n evenly spaced draws.

        All draws of all chains are divided into n stretches, and the last of each is
        taken (Hu, Reiter and Wang 2014, section 2).
        """
        total = self.n_chains * self.n_draws
        if not 1 <= n <= total:
            raise ValueError(
                f"n is {n}; it must lie in 1 to {total}, the number of draws"
            )
        return np.divmod((np.arange(1, n + 1) * total) // n - 1, self.n_draws)

    def release(
        self,
        n: int,
        size: int,
        *,
        rng: Generator | Sequence[Generator],
    ) -> list[NDArray[np.uint8]]:
        """Return fully synthetic data sets, each from its own, evenly spaced draw.

        Parameters
        ----------
        n : int
            Number of data sets, from 1 to the number of draws.
        size : int
            Records in each, 1 or more.
        rng : numpy.random.Generator, or one for each data set
            Random generator. If each data set has its own, none depends on the others.

        Returns
        -------
        list of (size, n_variables) uint8
            Levels coded from 0.
        """
        generators = [rng] * n if isinstance(rng, Generator) else rng
        if len(generators) != n:
            raise ValueError(
                f"rng has {len(generators)} generators; "
                f"it must be one, or {n}, one each"
            )
        return [
            synthesize(
                self.pi[chain, draw],
                self.phi[chain, draw],
                self.n_levels,
                size,
                rng=own,
            )
            for chain, draw, own in zip(*self.spaced(n), generators, strict=True)
        ]

    def to_datatree(self) -> Any:
        """Return the draws as an ArviZ 1 DataTree, which shares their arrays.

        The labels of classes are arbitrary, so that R-hat of pi and phi has no meaning.
        Diagnose alpha and the group ``sample_stats``, which has log_likelihood,
        n_occupied and class_sizes. The group ``posterior`` has alpha, pi and phi; the
        coordinates ``variable`` and ``level`` describe each row of phi. Requires
        xarray, which ArviZ installs.
        """
        import xarray as xr

        sample = ("chain", "draw")
        coordinates = {
            "chain": np.arange(self.n_chains),
            "draw": np.arange(self.n_draws),
            "class": np.arange(self.n_classes),
        }
        levels = np.concatenate([np.arange(levels) for levels in self.n_levels])
        row_coordinates = {
            "variable": (
                "row",
                np.repeat(np.arange(len(self.n_levels)), self.n_levels),
            ),
            "level": ("row", levels),
        }
        parameters = {
            "alpha": (sample, self.alpha),
            "pi": ((*sample, "class"), self.pi),
            "phi": ((*sample, "row", "class"), self.phi),
        }
        statistics = {
            "log_likelihood": (sample, self.log_likelihood),
            "n_occupied": (sample, self.n_occupied),
            "class_sizes": ((*sample, "class"), self.class_sizes),
        }
        return xr.DataTree.from_dict(
            {
                "posterior": xr.Dataset(parameters, coordinates | row_coordinates),
                "sample_stats": xr.Dataset(statistics, coordinates),
            }
        )


def checked_codes(codes: Codes, n_levels: Ints) -> tuple[Ints, Ints]:
    """Return codes and levels as arrays; raise a ValueError if they are invalid."""
    codes = np.atleast_2d(codes)
    levels_of = np.asarray(n_levels, np.int64)
    if levels_of.ndim != 1 or levels_of.size == 0 or (levels_of < 2).any():
        raise ValueError(
            f"n_levels is {levels_of}; each variable needs two levels or more"
        )
    if codes.ndim != 2 or codes.shape[1] != levels_of.size:
        raise ValueError(
            f"codes has shape {codes.shape}; it must be (n_records, {levels_of.size}), "
            "one column for each entry of n_levels"
        )
    if not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"codes has type {codes.dtype}; it must be of integers from 0")
    for k, (column, levels) in enumerate(zip(codes.T, levels_of, strict=True)):
        checks.within(0, levels - 1, **{f"column {k} of codes": column})
    return codes, levels_of
