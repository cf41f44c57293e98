"""Tables of counts that Charest (2013) would release, by models and by distances.

Spaces of tables that are small enough to enumerate, scores that come from draws of a model, and
mechanisms with a guarantee on tables that are too many to enumerate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib.dpmpm.exact import enumerate_mechanism
from srlib.mechanism import contingency
from srlib.mechanism.core import Mechanism, change_one_record
from srlib.mechanism.families import (
    apportion,
    compositions,
    dirichlet_multinomial,
    dirichlet_multinomial_alpha,
)
from srlib.mechanism.privacy import exact_epsilon
from srlib.mechanism.scores import exact_rate, gibbs, sensitivity

Table = NDArray[np.float64]
SLACK = 1e-9  # by which rounding may make one of two equal numbers the smaller

# ------------------------------------------------------------------------------ enumerated spaces


@dataclass(frozen=True)
class Space:
    """All tables of n records, with the scores that are compared on them.

    Attributes
    ----------
    shape : tuple of int
        Levels of each variable.
    tables : (n_tables, K) int
        The tables, data sets and releases alike.
    pairs : (n_pairs, 2) int
        Neighbors: one record changes its cell.
    scores : dict of str to (n_tables, n_tables) float
        The log predictive probabilities of three models, minus the records moved, minus the
        Euclidean distance.
    """

    shape: tuple[int, ...]
    tables: NDArray[np.int64]
    pairs: NDArray[np.int64]
    scores: dict[str, Table]

    def mechanisms(self, epsilon: float) -> dict[str, Mechanism]:
        """The scores and Dirichlet-multinomial draws, each with this exact epsilon."""
        made = {
            name: gibbs(score, exact_rate(score, epsilon, self.pairs), self.pairs)
            for name, score in self.scores.items()
        }
        n, cells = int(self.tables[0].sum()), self.tables.shape[1]
        prior = [dirichlet_multinomial_alpha(epsilon, n)] * cells
        return made | {SYNTHESIZER: dirichlet_multinomial(n, n, prior)}


DIRICHLET, PAIRWISE, MAIN = (f"log P, {m}" for m in ("Dirichlet", "pairwise", "independence"))
MODELS = (DIRICHLET, PAIRWISE, MAIN)
MOVED, EUCLIDEAN, SYNTHESIZER = "records moved", "Euclidean", "Dirichlet draws"
KNOWN = "epsilon if the draws are known"
LARGER = "predictive probability"  # of measures that are the better the larger
PREDICTIVE = {DIRICHLET: f"{LARGER}, Dirichlet", MAIN: f"{LARGER}, independence"}


def space(shape: tuple[int, ...], n: int, n_draws: int, *, rng: np.random.Generator) -> Space:
    """All tables of n records of some shape, and their scores.

    The models are the Dirichlet-multinomial with all parameters 1, and log-linear models with and
    without pairwise effects by `n_draws` prior draws that are common to all data sets.
    """
    cells = int(np.prod(shape))
    tables = compositions(n, cells)
    every = np.arange(len(tables))
    drawn = {
        name: contingency.log_linear_draws(shape, n_draws, rng=rng, pairwise=name == PAIRWISE)
        for name in (PAIRWISE, MAIN)
    }
    scores = {DIRICHLET: dirichlet_multinomial(n, n, [1.0] * cells).block(every, every)}
    scores |= {name: contingency.common_score(draws, tables) for name, draws in drawn.items()}
    scores[MOVED] = -np.array([contingency.records_moved(tables, d) for d in tables])
    scores[EUCLIDEAN] = -np.array([contingency.euclidean(tables, d) for d in tables])
    return Space(shape, tables, change_one_record(tables), scores)


def kinds_of_data(shape: tuple[int, ...], n: int) -> dict[str, NDArray[np.int64]]:
    """Five tables of n records on a few binary variables, (K,) int each, by what they are like."""
    cells = int(np.prod(shape))
    margins = [np.array(m) for m in ([0.8, 0.2], [0.6, 0.4], [0.7, 0.3])[: len(shape)]]
    associated = np.full(cells, 0.1 / max(1, cells - 2))
    associated[[0, -1]] = 0.45
    skewed = np.ones(cells)
    skewed[0] = 17
    shares = {
        "balanced": np.ones(cells),
        "independent": reduce(np.multiply.outer, margins).ravel(),
        "associated": associated,
        "skewed": skewed,
        "one cell": np.eye(cells)[0],
    }
    return {name: apportion(share, n) for name, share in shares.items()}


def compare(space: Space, epsilons: Sequence[float]) -> pd.DataFrame:
    """Measure releases from five kinds of data, at equal exact epsilons.

    Returns
    -------
    DataFrame
        table (its shape), epsilon, data, measure, mechanism, expected. Smaller is better for
        records in another cell or margin and for the error of the log odds ratio of 2 x 2 tables;
        larger is better for the released table's predictive probability, Table 1's own measure.
    """
    rows, n = [], int(space.tables[0].sum())
    label = " × ".join(map(str, space.shape))
    for epsilon in epsilons:
        for mechanism, made in space.mechanisms(epsilon).items():
            for data, table in kinds_of_data(space.shape, n).items():
                at = int((space.tables == table).all(axis=1).argmax())
                probability = np.exp(made.row(at))
                for measure, values in _measures(space, at).items():
                    value = float(probability @ values)
                    rows.append((label, epsilon, data, measure, mechanism, value))
    columns = ["table", "epsilon", "data", "measure", "mechanism", "expected"]
    return pd.DataFrame(rows, columns=columns)


def _measures(space: Space, at: int) -> dict[str, Table]:
    """What is measured of each release if the data are the table in this place."""
    data = space.tables[at]
    found = {
        "records in another cell": contingency.records_moved(space.tables, data),
        "records in another margin": contingency.margin_error(space.tables, data, space.shape),
    }
    if space.shape == (2, 2):
        found["log odds ratio"] = contingency.losses(space.tables, data)["log odds ratio"]
    return found | {name: np.exp(space.scores[score][at]) for score, name in PREDICTIVE.items()}


def wins(compared: pd.DataFrame) -> pd.DataFrame:
    """Share of cases in which each model's log P is better than counting the records moved.

    Parameters
    ----------
    compared : DataFrame
        As `compare` returns, of one space or several.

    Returns
    -------
    DataFrame
        table, measure, and a column for each model: the share over epsilons and kinds of data.
    """
    keys = ["table", "measure", "epsilon", "data"]
    wide = compared.pivot(index=keys, columns="mechanism", values="expected")
    larger = wide.index.get_level_values("measure").str.startswith(LARGER)
    signed = wide.mul(np.where(larger, -1.0, 1.0), axis=0)
    better = signed[[*MODELS]].lt(signed[MOVED] - SLACK, axis=0)
    shares = better.groupby(level=["table", "measure"], sort=False).mean()
    return shares.reset_index().rename_axis(columns=None)


def by_alpha(space: Space, alphas: Sequence[float], epsilon: float) -> pd.DataFrame:
    """Expected records in another cell when log P has Dirichlet priors of several strengths.

    Returns
    -------
    DataFrame
        score (a row for each alpha, and the records moved), and a column for each kind of data.
    """
    n, cells = int(space.tables[0].sum()), space.tables.shape[1]
    every, moved = np.arange(len(space.tables)), space.scores[MOVED]
    scores = {
        f"log P, α = {a:g}": dirichlet_multinomial(n, n, [a] * cells).block(every, every)
        for a in alphas
    }
    rows = []
    for name, score in (scores | {MOVED: moved}).items():
        made = gibbs(score, exact_rate(score, epsilon, space.pairs), space.pairs)
        row: dict[str, Any] = {"score": name}
        for data, table in kinds_of_data(space.shape, n).items():
            at = int((space.tables == table).all(axis=1).argmax())
            row[data] = float(np.exp(made.row(at)) @ -moved[at])
        rows.append(row)
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------------- scores from draws


def estimated(
    model: str,
    kind: str,
    draws: int,
    runs: Sequence[tuple[Table, Table]],
    declared: float,
    pairs: NDArray[np.int64],
    effective: float = np.nan,
) -> dict[str, Any]:
    """What a budget of 1 becomes when a score is estimated, with its draws held fixed: one row.

    Parameters
    ----------
    model, kind : str
        The model, and where its draws come from.
    draws : int
        Draws in each score; 0 for an exact one.
    runs : sequence of ((n_tables, n_tables) float, (n_tables, n_tables) float)
        Scores of the same estimator, each with its error; the larger sensitivity and epsilon count.
    declared : float
        The sensitivity that the exponential mechanism takes for granted.
    pairs : (n_pairs, 2) int
        Neighbors.
    effective : float
        Least effective number of the draws.
    """
    made = [gibbs(score, 1 / (2 * declared), pairs) for score, _ in runs]
    return {
        "model": model,
        "draws from": kind,
        "draws": f"{draws:,}" if draws else "",
        "median error": float(np.median(runs[0][1])),
        "declared sensitivity": declared,
        "its own sensitivity": max(sensitivity(score, pairs) for score, _ in runs),
        KNOWN: max(exact_epsilon(m).value for m in made),
        "least effective draws": effective,
    }


def dpmpm_score(n: int, n_classes: int) -> Table:
    """The DPMPM's log predictive probabilities on 2 x 2 tables of n records, by enumeration."""
    table = enumerate_mechanism(n, n, [2, 2], n_classes)
    return table.block(np.arange(table.n_inputs), np.arange(table.n_outputs))


def effective_draws(log_cell_prob: Table, tables: NDArray[np.int64], power: float = 1.0) -> float:
    """Least effective number of common draws over the data sets.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities, finite.
    tables : (n_tables, K) int
        Data sets.
    power : float
        The power to which the likelihood is raised.
    """
    log_weight = power * np.atleast_2d(tables) @ log_cell_prob.T
    log_weight -= logsumexp(log_weight, axis=1, keepdims=True)
    return float(np.exp(-logsumexp(2 * log_weight, axis=1)).min())


def bound_beside_truth(
    draws: Mapping[str, Table], limits: Sequence[float], sizes: Sequence[int]
) -> pd.DataFrame:
    """Enumerate the sensitivity of common draws on small tables, beside the bound.

    Parameters
    ----------
    draws : mapping of str to (n_draws, K) float
        Log cell probabilities in draws from each model's prior.
    limits : sequence of float
        Bounds that the draws are truncated to; infinite for draws as they are.
    sizes : sequence of int
        Records.

    Returns
    -------
    DataFrame
        model, bound, and the enumerated sensitivity for each number of records.
    """
    rows = []
    for model, of_prior in draws.items():
        for limit in limits:
            kept = of_prior
            if np.isfinite(limit):
                kept = contingency.limit_log_ratios(of_prior, limit)
            row: dict[str, Any] = {"model": model, "bound": contingency.sensitivity_bound(kept)}
            for n in sizes:
                tables = compositions(n, kept.shape[1])
                score = contingency.common_score(kept, tables)
                row[f"n = {n}"] = sensitivity(score, change_one_record(tables))
            rows.append(row)
    return pd.DataFrame(rows)


# -------------------------------------------------------------------- tables too many to enumerate


def independent_shares(table: NDArray[np.int64], shape: Sequence[int]) -> Table:
    """Cell probabilities of independent variables with the margins of a table, (K,)."""
    counts = np.asarray(table, dtype=float).reshape(shape) / np.sum(table)
    axes = range(counts.ndim)
    margins = [counts.sum(axis=tuple(b for b in axes if b != a)) for a in axes]
    return np.asarray(reduce(np.multiply.outer, margins)).ravel()


def share_moved(releases: NDArray[np.int64], data: NDArray[np.int64]) -> tuple[float, float]:
    """Mean share of records in another cell than in the data, and its standard error."""
    share = contingency.records_moved(releases, data) / data.sum()
    return float(share.mean()), float(share.std(ddof=1) / np.sqrt(len(share)))


def draw_by_likelihood(
    log_cell_prob: Table,
    data: NDArray[np.int64],
    epsilon: float,
    size: int,
    *,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Tables from the exponential mechanism over common draws, with the log likelihood as score.

    A draw is chosen with probability proportional to its likelihood to the power epsilon / B, where
    B is `contingency.sensitivity_bound`, and a table of as many records as the data have is drawn
    with its cell probabilities. Neighbors multiply the weight of a draw by c^(epsilon / B) and the
    sum of the weights by a mean of these, so that epsilon bounds the log ratio.

    Parameters
    ----------
    log_cell_prob : (n_draws, K) float
        Log cell probabilities, finite.
    data : (K,) int
        Counts of n records.
    epsilon : float
        The guaranteed epsilon, positive.
    size : int
        Releases, each with the budget epsilon.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (size, K) int64
    """
    power = epsilon / contingency.sensitivity_bound(log_cell_prob)
    log_weight = power * (log_cell_prob @ data)
    chosen = rng.choice(len(log_weight), size, p=np.exp(log_weight - logsumexp(log_weight)))
    probability = np.exp(log_cell_prob[chosen])
    return rng.multinomial(data.sum(), probability / probability.sum(axis=1, keepdims=True))


def over_limits(
    log_cell_prob: Table,
    data: NDArray[np.int64],
    epsilon: float,
    limits: Sequence[float],
    size: int,
    *,
    rng: np.random.Generator,
) -> list[float]:
    """Share of records moved by one draw by likelihood, for each bound of the sensitivity."""
    kept = (contingency.limit_log_ratios(log_cell_prob, limit) for limit in limits)
    released = (draw_by_likelihood(draws, data, epsilon, size, rng=rng) for draws in kept)
    return [share_moved(tables, data)[0] for tables in released]


def guaranteed(
    draws: Mapping[str, Table],
    data: NDArray[np.int64],
    epsilon: float,
    size: int,
    *,
    rng: np.random.Generator,
) -> dict[str, tuple[float, float]]:
    """Share of records moved by mechanisms with a guaranteed epsilon, each with its error.

    Parameters
    ----------
    draws : mapping of str to (n_draws, K) float
        Common draws of several models, their log ratios limited.
    data : (K,) int
        Counts of n records.
    epsilon : float
        The budget, positive.
    size : int
        Releases for each mean.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    dict of str to (float, float)
        Dirichlet-multinomial draws, one draw by likelihood for each model, and the records moved
        (exact, error 0).
    """
    n = int(data.sum())
    alpha = dirichlet_multinomial_alpha(epsilon, n)
    found = {SYNTHESIZER: share_moved(rng.multinomial(n, rng.dirichlet(data + alpha, size)), data)}
    for model, cells in draws.items():
        released = draw_by_likelihood(cells, data, epsilon, size, rng=rng)
        found[f"one draw by likelihood, {model}"] = share_moved(released, data)
    return found | {MOVED: (contingency.expected_records_moved(data, epsilon / 2) / n, 0.0)}


def not_private(
    data: NDArray[np.int64], shape: Sequence[int], size: int, *, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Share of records moved by tables without a budget, to hold the others against."""
    n, cells = int(data.sum()), len(data)
    shares = {
        "uniform cells (reads no data)": np.full(cells, 1 / cells),
        "own margins, independent (not private)": independent_shares(data, shape),
        "another sample (not private)": data / n,
    }
    return {name: share_moved(rng.multinomial(n, p, size), data) for name, p in shares.items()}


def largest_difference(
    first: Table, second: Table, tables: NDArray[np.int64], sizes: Sequence[int]
) -> pd.DataFrame:
    """Largest difference of two estimated scores over some tables, by the draws in each score.

    Parameters
    ----------
    first, second : (n_chains, n_draws, K) float
        Log cell probabilities in draws of the model given two neighboring data sets.
    tables : (n_tables, K) int
        Releases on which the scores are compared.
    sizes : sequence of int
        Draws in each score, at most all of them.

    Returns
    -------
    DataFrame
        draws, largest difference, and its delta-method error.
    """
    rows = []
    for size in sizes:
        every = max(1, first.shape[0] * first.shape[1] // size)
        parts = [d[:, ::every].reshape(-1, d.shape[-1]) for d in (first, second)]
        found = [contingency.log_predictive(part, tables) for part in parts]
        apart = np.abs(found[0][0] - found[1][0])
        error = np.hypot(found[0][1], found[1][1])[apart.argmax()]
        rows.append((len(parts[0]), apart.max(), error))
    return pd.DataFrame(rows, columns=["draws", "largest difference", "its error"])
