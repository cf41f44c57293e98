"""Intruders who know part of a record (Hu, Reiter and Wang 2014, section 4.2, equation 16)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.data.codes import cell_numbers
from srlib.dpmpm.kernels import THREADS
from srlib.dpmpm.model import Draws
from srlib.risk.supports import check_variables
from srlib.threads import one_blas_thread

# Numbers that one block of records times candidates or classes may have.
BLOCK = 1 << 18


@dataclass(frozen=True)
class Candidates:
    """All values of the unknown variables, for records whose other variables are known.

    Attributes
    ----------
    known_rows : (n, n_known) int64
        Row of each known value in ``phi``.
    unknown_rows : (size, n_unknown) int64
        Rows of the candidates' unknown values, candidates in lexicographic order.
    own : (n,) int64
        Position of the truth among the candidates.
    left_out : (n,) bool
        Whether a record is left out of those that the draws are given.
    place_rows : (n, n_variables) int64
        Row of each value of the record that is then left out.
    """

    known_rows: NDArray[np.int64]
    unknown_rows: NDArray[np.int64]
    own: NDArray[np.int64]
    left_out: NDArray[np.bool_]
    place_rows: NDArray[np.int64] | None = None

    def prob(self, pi: NDArray, phi: NDArray, part: slice = slice(None)) -> NDArray[np.float64]:
        """Return p(x | theta) of all candidates, over that of the record that is left out.

        The class weights of what is known, (n, F), times the products of phi over the unknown
        variables, (F, size).
        """
        weights = np.repeat(pi[None], len(self.known_rows[part]), axis=0)
        for rows in self.known_rows[part].T:
            weights *= phi[rows]
        unknown = phi[self.unknown_rows].prod(axis=1, dtype=np.float64)
        prob = weights @ unknown.T
        if self.place_rows is None:
            own = prob[np.arange(len(prob)), self.own[part]]
        else:
            own = phi[self.place_rows[part]].prod(axis=1, dtype=np.float64) @ pi
        return prob / np.where(self.left_out[part], own, 1.0)[:, None]

    def truth_first(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the candidates, (..., n, size), with the truth's before all others'."""
        others = np.arange(len(self.unknown_rows) - 1)
        others = others + (others >= self.own[:, None])
        order = np.column_stack([self.own, others])
        return np.take_along_axis(values, order[(None,) * (values.ndim - 2)], axis=-1)


def candidates_of(
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    n_levels: NDArray[np.integer],
    left_out: ArrayLike,
    place: NDArray[np.integer] | None = None,
) -> Candidates:
    """Validate the arguments and compute each candidate's rows in ``phi``."""
    codes, hidden = np.asarray(codes, dtype=np.int64), list(unknown)
    check_variables(len(n_levels), unknown=hidden)
    size = int(np.prod([int(n_levels[k]) for k in hidden], dtype=object))
    if size > BLOCK:
        raise ValueError(
            f"unknown has {size:,} combinations of levels; up to {BLOCK:,} are listed for each "
            "record"
        )
    start = np.cumsum(n_levels) - n_levels
    rows = start + codes
    shape = tuple(int(n_levels[k]) for k in hidden)
    own = cell_numbers(codes[:, hidden], shape)
    return Candidates(
        known_rows=np.delete(rows, hidden, axis=1),
        unknown_rows=start[hidden] + np.indices(shape).reshape(len(hidden), -1).T,
        own=own,
        left_out=np.broadcast_to(np.asarray(left_out, dtype=bool), len(codes)),
        place_rows=None if place is None else start + np.asarray(place, dtype=np.int64),
    )


@one_blas_thread
def subset_log_means(
    draws: Draws,
    codes: NDArray[np.integer],
    unknown: Sequence[int],
    *,
    left_out: ArrayLike = True,
    place: NDArray[np.integer] | None = None,
) -> NDArray[np.float64]:
    """Return log predictive probabilities of all values of some variables, for all records at once.

    The candidates of a record agree with it outside the unknown variables (equation 16).

    Parameters
    ----------
    draws : Draws
        Posterior draws.
    codes : (n, n_variables) int
        The true combinations x_i, coded from 0.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    left_out : (n,) bool, or one for all
        Whether a record is among those that the draws are given. It is then left out by
        averaging p(x | theta) / p(x_i | theta) instead of p(x | theta).
    place : (n, n_variables) int, optional
        The records x_i that are left out, whose place the candidates take; those of `codes` if not
        given.

    Returns
    -------
    (n_chains, n, prod(n_levels[unknown])) float64
        Log of each chain's mean, the truth first, then in lexicographic order, as
        `estimators.predictive_ratio` takes them.

    Raises
    ------
    ValueError
        If `unknown` is empty, repeats a variable or names none, or has more than `BLOCK`
        combinations of levels.
    """
    candidates = candidates_of(codes, unknown, draws.n_levels, left_out, place)
    n, size = len(candidates.own), len(candidates.unknown_rows)
    sums = np.zeros((draws.n_chains, n, size))
    step = max(1, BLOCK // max(size, draws.n_classes))

    def run(chain: int, first: int) -> None:
        part = slice(first, first + step)
        for pi, phi in zip(draws.pi[chain], draws.phi[chain], strict=True):
            sums[chain, part] += candidates.prob(pi, phi, part)

    blocks = [(chain, first) for chain in range(draws.n_chains) for first in range(0, n, step)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, *zip(*blocks, strict=True)))
    return candidates.truth_first(np.log(sums) - np.log(draws.n_draws))
