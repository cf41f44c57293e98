"""Supports: the values that an intruder thinks a record may have, the true one first."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def neighborhood(codes: NDArray[np.integer], n_levels: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the supports R_i of section 3.1: x_i and all that differ from it in one variable.

    Parameters
    ----------
    codes : (n_combinations, n_variables) int
        The true combinations.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (n_combinations, 1 + sum(n_levels - 1), n_variables) uint8
        Candidates, the truth first, then variable by variable in the order of the levels.
    """
    variable, level = neighborhood_positions(codes, n_levels)
    supports = np.repeat(codes[:, None, :].astype(np.uint8), variable.shape[1], axis=1)
    np.put_along_axis(supports, variable[..., None], level[..., None].astype(np.uint8), axis=2)
    return supports


def neighborhood_positions(
    codes: NDArray[np.integer], n_levels: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the variable and the level that each candidate sets, (n_combinations, support_size).

    The truth sets its first variable to the level that it has.
    """
    variable = np.repeat(np.arange(n_levels.size), n_levels)
    level = np.concatenate([np.arange(levels) for levels in n_levels])
    own = codes[:, variable] == level
    # The truth stands where the first variable has its own level; no other own level is kept.
    keep = ~own
    keep[:, : n_levels[0]] = True
    size = 1 + int((n_levels - 1).sum())
    order = np.argsort(~own[:, : n_levels[0]], axis=1, kind="stable")
    index = np.nonzero(keep)[1].reshape(-1, size)
    index[:, : n_levels[0]] = order
    return variable[index], level[index]


def subset_support(
    x: ArrayLike, unknown: Sequence[int], n_levels: NDArray[np.integer]
) -> NDArray[np.uint8]:
    """Return all candidates that agree with x outside the unknown variables (equation 16).

    Parameters
    ----------
    x : (n_variables,) int
        The true combination.
    unknown : sequence of int
        Positions of the variables that the intruder does not know, at least one.
    n_levels : (n_variables,) int
        Number of levels of each variable.

    Returns
    -------
    (prod(n_levels[unknown]), n_variables) uint8
        Candidates, the truth first, then in lexicographic order.

    Raises
    ------
    ValueError
        If `unknown` is empty, repeats a variable or names none.
    """
    check_variables(len(n_levels), unknown=unknown)
    truth = np.asarray(x, dtype=np.uint8)
    levels = np.indices([n_levels[k] for k in unknown]).reshape(len(unknown), -1).T
    support = np.repeat(truth[None], len(levels), axis=0)
    support[:, list(unknown)] = levels
    is_truth = (support == truth).all(axis=1)
    return np.concatenate([support[is_truth], support[~is_truth]])


def check_variables(n_variables: int, **subsets: Sequence[int]) -> None:
    """Raise a ValueError unless each subset has distinct positions of variables, one or more."""
    for name, subset in subsets.items():
        if not len(subset) or len(set(subset)) != len(subset):
            raise ValueError(
                f"{name} is {list(subset)}; it must name distinct variables, one or more"
            )
        if not set(subset) <= set(range(n_variables)):
            raise ValueError(f"{name} is {list(subset)}; the variables are 0 to {n_variables - 1}")
