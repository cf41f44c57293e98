"""The table of log p(output | data set) and how it is read.

A row is a possible confidential data set, a column a possible release, and some pairs of rows are
neighbours: data sets that differ in one record. Differential privacy compares neighbouring rows
over all columns. Statistical disclosure risk reads one column, the release that happened, by
Bayes' rule over the rows that the intruder holds possible.

A table is given as values or computed in blocks when it is read, so that one with 4e8 entries fits
in a few megabytes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, logsumexp

from srlib.threads import one_blas_thread

BLOCK_ENTRIES = 1 << 20
BLOCK_WIDTH = 4096
Rows = NDArray[np.int64]
Block = Callable[[Rows, Rows], NDArray[np.float64]]


@dataclass(frozen=True)
class Mechanism:
    """A table of log p(output | data set) with its neighbour relation.

    Parameters
    ----------
    block : callable
        From row and column positions, (r,) and (c,) int, to log probabilities, (r, c) float;
        `from_table` makes one from values.
    n_inputs, n_outputs : int
        Rows and columns, 1 or more each.
    neighbours : (n_pairs, 2) int
        Pairs of rows that differ in one record, each pair once in either order.
    inputs, outputs : sequence, optional
        Names of rows and columns; their positions if not given.

    Raises
    ------
    ValueError
        If there is no row or no column, if names are too few or too many, or if a pair names no
        row or one row twice.
    """

    block: Block
    n_inputs: int
    n_outputs: int
    neighbours: NDArray[np.int64]
    inputs: Sequence = field(default=(), repr=False)
    outputs: Sequence = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            size = getattr(self, f"n_{name}")
            if size < 1:
                raise ValueError(f"n_{name} is {size}; it must be 1 or more")
            if len(getattr(self, name)) == 0:
                object.__setattr__(self, name, range(size))
            if len(getattr(self, name)) != size:
                names = len(getattr(self, name))
                raise ValueError(f"{name} has {names} names; the table has {size}")
        pairs = np.asarray(self.neighbours, dtype=np.int64).reshape(-1, 2)
        strange = ((pairs < 0) | (pairs >= self.n_inputs)).any(axis=1) | (
            pairs[:, 0] == pairs[:, 1]
        )
        if strange.any():
            raise ValueError(
                f"neighbours has the pair {pairs[strange][0].tolist()}; a pair must be two "
                f"different rows in 0 to {self.n_inputs - 1}"
            )
        object.__setattr__(self, "neighbours", pairs)

    @classmethod
    def from_table(
        cls,
        log_prob: ArrayLike,
        neighbours: ArrayLike,
        inputs: Sequence = (),
        outputs: Sequence = (),
    ) -> "Mechanism":
        """A mechanism from values.

        Parameters
        ----------
        log_prob : (n_inputs, n_outputs) float
            Log probabilities; each row's exponentials sum to one, within 1e-9.
        neighbours, inputs, outputs
            As of the class.

        Raises
        ------
        ValueError
            If a row does not sum to one, or as the class.
        """
        table = np.array(log_prob, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError(f"log_prob has shape {table.shape}; it must be (n_inputs, n_outputs)")
        totals = np.exp(logsumexp(table, axis=1)) if table.size else np.zeros(len(table))
        wrong = np.flatnonzero(~(np.abs(totals - 1) <= 1e-9))
        if wrong.size:
            raise ValueError(
                f"log_prob, row {wrong[0]}, has probabilities that sum to {totals[wrong[0]]:.9g}; "
                "each row must sum to 1"
            )
        pairs = np.asarray(neighbours, dtype=np.int64)
        n_inputs, n_outputs = table.shape
        return cls(lambda r, c: table[np.ix_(r, c)], n_inputs, n_outputs, pairs, inputs, outputs)

    def row(self, index: int) -> NDArray[np.float64]:
        """Log probabilities of all outputs from one data set, (n_outputs,)."""
        return self.block(np.array([index]), np.arange(self.n_outputs))[0]

    def column(self, index: int) -> NDArray[np.float64]:
        """Log probabilities of one output from all data sets, (n_inputs,)."""
        return self.block(np.arange(self.n_inputs), np.array([index]))[:, 0]


def change_one(n: int) -> NDArray[np.int64]:
    """Neighbours of a count of n records of two kinds, 0 to n, when one record changes: a path."""
    if n < 1:
        raise ValueError(f"n is {n}; it must be 1 or more")
    return np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)


def change_one_record(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of tables of the same size that differ in the cell of one record.

    Parameters
    ----------
    tables : (n_tables, K) int
        Tables of counts, all different.

    Returns
    -------
    (n_pairs, 2) int64
        Positions, each pair once.
    """
    cell = np.eye(tables.shape[1], dtype=np.int64)
    steps = [after - before for i, before in enumerate(cell) for after in cell[i + 1 :]]
    return _pairs_apart(tables, steps)


def add_one_record(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of tables of which one has one record more than the other.

    Parameters
    ----------
    tables : (n_tables, K) int
        Tables of counts, all different; of several sizes, or there is no pair.

    Returns
    -------
    (n_pairs, 2) int64
        Positions, the smaller table's first.
    """
    return _pairs_apart(tables, list(np.eye(tables.shape[1], dtype=np.int64)))


def _pairs_apart(
    tables: NDArray[np.int64], steps: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Pairs of tables of which the second is the first plus one of the steps."""
    position = {tuple(table): i for i, table in enumerate(tables.tolist())}
    pairs = [
        (i, position[moved])
        for step in steps
        for i, moved in enumerate(map(tuple, (tables + step).tolist()))
        if moved in position
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def stack(
    mechanisms: Sequence[Mechanism], neighbours: NDArray[np.int64], inputs: Sequence = ()
) -> Mechanism:
    """One table from the rows of several, such as those for data sets of different sizes.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        All with the same outputs; their own neighbours are left out.
    neighbours : (n_pairs, 2) int
        Pairs of rows of the new table, in which the rows follow each other.
    inputs : sequence, optional
        Names of the rows; their positions if not given.

    Raises
    ------
    ValueError
        If the numbers of outputs differ, or as `Mechanism`.
    """
    widths = {m.n_outputs for m in mechanisms}
    if len(widths) != 1:
        raise ValueError(f"mechanisms have {sorted(widths)} outputs; they must have the same")
    ends = np.cumsum([m.n_inputs for m in mechanisms])

    def block(rows: Rows, columns: Rows) -> NDArray[np.float64]:
        result = np.empty((len(rows), len(columns)))
        part = np.searchsorted(ends, rows, side="right")
        for i in np.unique(part):
            own = rows[part == i] - (ends[i] - mechanisms[i].n_inputs)
            result[part == i] = mechanisms[i].block(own, columns)
        return result

    outputs = mechanisms[0].outputs
    return Mechanism(block, int(ends[-1]), widths.pop(), neighbours, inputs, outputs)


def _pair_blocks(
    mechanism: Mechanism,
) -> Iterator[tuple[slice, Rows, NDArray[np.float64], NDArray[np.float64]]]:
    """Blocks of neighbouring rows, all their columns in pieces: which pairs, columns, both sides.

    A block's rows are read once even where a row has several neighbours in it.
    """
    pairs = mechanism.neighbours
    width = min(mechanism.n_outputs, BLOCK_WIDTH)
    height = max(1, BLOCK_ENTRIES // (2 * width))
    for start in range(0, len(pairs), height):
        chosen = slice(start, start + height)
        rows, where = np.unique(pairs[chosen], return_inverse=True)
        where = where.reshape(-1, 2)
        for first in range(0, mechanism.n_outputs, width):
            columns = np.arange(first, min(first + width, mechanism.n_outputs))
            table = mechanism.block(rows, columns)
            yield chosen, columns, table[where[:, 0]], table[where[:, 1]]


def _difference(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a - b in log probabilities, zero where both are impossible."""
    with np.errstate(invalid="ignore"):
        difference = a - b
    difference[np.isnan(difference)] = 0.0
    return difference


# --------------------------------------------------------------- down pairs of neighbouring rows


@dataclass(frozen=True)
class Epsilon:
    """Exact epsilon and where it is attained.

    Attributes
    ----------
    value : float
        Largest absolute difference of two neighbouring rows over all outputs; infinite where an
        output is possible from one of two neighbours only.
    pair : tuple
        Names of the neighbours, the one with the larger probability first.
    output : object
        Name of the output.
    """

    value: float
    pair: tuple
    output: object

    def __str__(self) -> str:
        first, second = self.pair
        if np.isinf(self.value):
            return (
                f"No epsilon bounds the mechanism: output {self.output} is possible from data set "
                f"{first} and impossible from its neighbour {second}."
            )
        return (
            f"Exact epsilon is {self.value:.6g}: output {self.output} is exp({self.value:.6g}) "
            f"times as probable from data set {first} as from its neighbour {second}."
        )


def exact_epsilon(mechanism: Mechanism) -> Epsilon:
    """The smallest epsilon for which the mechanism is differentially private.

    Returns
    -------
    Epsilon
        With the pair and output that attain it.

    Raises
    ------
    ValueError
        If the mechanism has no neighbouring rows.

    References
    ----------
    McClure and Reiter (2012), equation 1.
    """
    if len(mechanism.neighbours) == 0:
        raise ValueError("mechanism has no neighbours; epsilon compares at least one pair of rows")
    best, at = -1.0, (0, 0, False)
    for chosen, columns, a, b in _pair_blocks(mechanism):
        difference = _difference(a, b)
        flat = int(np.argmax(np.abs(difference)))
        pair, column = np.unravel_index(flat, difference.shape)
        if abs(difference[pair, column]) > best:
            best = float(abs(difference[pair, column]))
            at = (chosen.start + pair, columns[column], bool(difference[pair, column] < 0))
    pair_at, output_at, swap = at
    first, second = (mechanism.inputs[i] for i in mechanism.neighbours[pair_at])
    names = (second, first) if swap else (first, second)
    return Epsilon(best, names, mechanism.outputs[output_at])


def conditional_epsilon(mechanism: Mechanism) -> NDArray[np.float64]:
    """Epsilon of each data set: the largest difference from any of its neighbours.

    Returns
    -------
    (n_inputs,) float64
        Zero for a data set without neighbours. The largest is the exact epsilon.

    References
    ----------
    Charest and Han, section 3.
    """
    of_pair = np.zeros(len(mechanism.neighbours))
    for chosen, _, a, b in _pair_blocks(mechanism):
        of_pair[chosen] = np.maximum(of_pair[chosen], np.abs(_difference(a, b)).max(axis=1))
    result = np.zeros(mechanism.n_inputs)
    for side in (0, 1):
        np.maximum.at(result, mechanism.neighbours[:, side], of_pair)
    return result


def delta(mechanism: Mechanism, epsilon: float) -> float:
    """The smallest delta for which the mechanism is (epsilon, delta)-differentially private.

    The largest hockey-stick divergence between neighbours, in either direction: the sum over
    outputs of max(0, p - exp(epsilon) q).

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    epsilon : float
        0 or more.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon is {epsilon}; it must be 0 or more")
    total = np.zeros((2, len(mechanism.neighbours)))
    for chosen, _, a, b in _pair_blocks(mechanism):
        for side, (log_p, log_q) in enumerate(((a, b), (b, a))):
            # p - exp(epsilon) q = p (1 - exp(epsilon + log q - log p))
            excess = -np.expm1(np.minimum(epsilon - _difference(log_p, log_q), 0.0))
            total[side, chosen] += (np.exp(log_p) * excess).sum(axis=1)
    return float(total.max(initial=0.0))


def epsilon_for_delta(mechanism: Mechanism, target: float) -> float:
    """The smallest epsilon for which `delta` is at most the target.

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    target : float
        In [0, 1]; 0 gives the exact epsilon.

    Returns
    -------
    float
        Infinite if no epsilon brings delta down to the target.
    """
    if not 0 <= target <= 1:
        raise ValueError(f"target is {target}; it must lie in [0, 1]")
    if target == 0:
        return exact_epsilon(mechanism).value
    if delta(mechanism, 0.0) <= target:
        return 0.0
    high = 1.0
    while delta(mechanism, high) > target:
        high *= 2.0
        if high > 1e6:
            return float("inf")
    return float(brentq(lambda e: delta(mechanism, e) - target, 0.0, high, xtol=1e-12))


def renyi_divergence(mechanism: Mechanism, order: float) -> float:
    """Largest Renyi divergence of the given order between neighbours, in either direction.

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    order : float
        Above 1; infinity gives the exact epsilon.
    """
    if not order > 1:
        raise ValueError(f"order is {order}; it must be above 1")
    if np.isinf(order):
        return exact_epsilon(mechanism).value
    log_sum = np.full((2, len(mechanism.neighbours)), -np.inf)
    for chosen, _, a, b in _pair_blocks(mechanism):
        for side, (log_p, log_q) in enumerate(((a, b), (b, a))):
            # p^order q^(1 - order) = p exp((order - 1) (log p - log q))
            term = log_p + (order - 1) * _difference(log_p, log_q)
            term = np.where(np.isneginf(log_p), -np.inf, term)
            log_sum[side, chosen] = np.logaddexp(log_sum[side, chosen], logsumexp(term, axis=1))
    return float(max(log_sum.max(initial=0.0) / (order - 1), 0.0))


# ------------------------------------------------------------------------- one column, by Bayes


def posterior(
    log_likelihood: NDArray[np.float64], log_prior: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Intruder's posterior over the data sets held possible, from one column of the table.

    Parameters
    ----------
    log_likelihood : (..., n_rows) float
        log p(release | row), up to a constant for each leading index.
    log_prior : (..., n_rows) float, optional
        Log prior probabilities of the rows, up to a constant; uniform if not given.

    Returns
    -------
    (..., n_rows) float64
        Log posterior probabilities; their exponentials sum to one over the last axis.

    Raises
    ------
    ValueError
        If no row of some column has a positive posterior probability.

    References
    ----------
    McClure and Reiter (2012), equation 2; Hu, Reiter and Wang (2014), equation 9.
    """
    joint = np.asarray(log_likelihood) + np.asarray(log_prior)
    evidence = logsumexp(joint, axis=-1, keepdims=True)
    if not np.isfinite(evidence).all():
        raise ValueError(
            "log_likelihood + log_prior leaves no row possible for some release; at least one "
            "row needs a finite sum, and none may be infinite"
        )
    return joint - evidence


def rank(log_posterior: NDArray[np.float64], row: int = 0) -> NDArray[np.float64]:
    """Rank of one row among all by posterior probability, 1 for the most probable.

    Rows that tie share the mean of their ranks.

    Parameters
    ----------
    log_posterior : (..., n_rows) float
        Log posterior probabilities.
    row : int
        The row that is ranked.
    """
    of_row = log_posterior[..., row, None]
    above = (log_posterior > of_row).sum(axis=-1)
    ties = (log_posterior == of_row).sum(axis=-1) - 1
    return 1.0 + above + ties / 2.0


def posterior_bound(epsilon: ArrayLike, prior: ArrayLike) -> NDArray[np.float64]:
    """Largest posterior probability that epsilon alone allows an intruder who doubts one record.

    Parameters
    ----------
    epsilon : float or array
        0 or more, infinity included.
    prior : float or array
        Prior probability of the truth, in [0, 1].

    Returns
    -------
    array of float64
        prior exp(epsilon) / (1 - prior + prior exp(epsilon)).
    """
    budget, probability = np.asarray(epsilon, dtype=float), _probability("prior", prior)
    if not (budget >= 0).all():
        raise ValueError(f"epsilon is {epsilon!r}; it must be 0 or more")
    with np.errstate(invalid="ignore"):
        bound = expit(logit(probability) + budget)
    # Rounding must not put the bound below the prior.
    return np.where(probability == 0, 0.0, np.maximum(bound, probability))


def epsilon_bound(risk: ArrayLike, prior: ArrayLike) -> NDArray[np.float64]:
    """Largest epsilon that keeps the posterior from exceeding a risk, whatever the mechanism.

    Parameters
    ----------
    risk : float or array
        Posterior probability that must not be exceeded, in [0, 1] and no less than the prior.
    prior : float or array
        Prior probability of the truth, in (0, 1).

    Returns
    -------
    array of float64
        logit(risk) - logit(prior), the inverse of `posterior_bound`.
    """
    most, probability = _probability("risk", risk), _probability("prior", prior)
    if not ((probability > 0) & (probability < 1) & (most >= probability)).all():
        raise ValueError(
            f"prior is {prior!r} and risk is {risk!r}; the prior must lie in (0, 1) and not exceed "
            "the risk"
        )
    return logit(most) - logit(probability)


def _probability(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=float)
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{name} is {value!r}; it must lie in [0, 1]")
    return array


def risk(mechanism: Mechanism, truth: int, alternative: int, prior: float) -> NDArray[np.float64]:
    """Posterior probability of the true data set against one alternative, for every output.

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    truth, alternative : int
        Rows of the data with the record's true value and with another.
    prior : float
        The intruder's prior probability of the truth, in [0, 1].

    Returns
    -------
    (n_outputs,) float64
        R of McClure and Reiter (2012), equation 5; over the prior it is RR, equation 8.
    """
    return update(_difference(mechanism.row(truth), mechanism.row(alternative)), prior)


def update(log_ratio: ArrayLike, prior: float) -> NDArray[np.float64]:
    """Posterior probability of a truth against one alternative.

    Parameters
    ----------
    log_ratio : array of float
        Log of the release's probability under the truth over that under the alternative.
    prior : float
        Prior probability of the truth, in [0, 1]; 0 and 1 are not moved by anything.
    """
    ratio = np.asarray(log_ratio, dtype=float)
    if float(_probability("prior", prior)) in (0.0, 1.0):
        return np.full_like(ratio, prior)
    return expit(ratio + logit(prior))


@one_blas_thread
def expected_increase(
    mechanism: Mechanism,
    truth: ArrayLike,
    alternative: ArrayLike,
    prior: float,
    weights: ArrayLike,
) -> float:
    """Expected increase of the intruder's probability of the truth (equation 6).

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    truth, alternative : (n,) int
        For each data set that may be the confidential one, its row and the row of the data with
        the record changed.
    prior : float
        Prior probability of the truth, in [0, 1].
    weights : (n,) float
        Probabilities of the data sets. Those below 1e-20 are left out; what they could add is
        below their sum.

    Returns
    -------
    float
        Sum over data sets and outputs of max(R - prior, 0) p(output | truth) times the weight.

    References
    ----------
    McClure and Reiter (2012), equations 6 and 7.
    """
    prior = float(_probability("prior", prior))
    probability = _probability("weights", weights)
    kept = probability > 1e-20
    rows, others = np.asarray(truth)[kept], np.asarray(alternative)[kept]
    probability = probability[kept]
    width = max(1, BLOCK_ENTRIES // max(1, 2 * len(rows)))
    needed, where = np.unique(np.concatenate([rows, others]), return_inverse=True)
    total = 0.0
    for first in range(0, mechanism.n_outputs, width):
        columns = np.arange(first, min(first + width, mechanism.n_outputs))
        table = mechanism.block(needed, columns)
        log_p, log_q = table[where[: len(rows)]], table[where[len(rows) :]]
        increase = update(_difference(log_p, log_q), prior) - prior
        total += float(probability @ (np.maximum(increase, 0.0) * np.exp(log_p)).sum(axis=1))
    return total


# --------------------------------------------------------------------- calibration and sampling


def calibrate(
    family: Callable[[float], Mechanism], epsilon: float, low: float, high: float
) -> float:
    """Parameter of the member of a family whose exact epsilon is the target.

    Parameters
    ----------
    family : callable
        From a positive parameter to a mechanism whose exact epsilon is monotone in it.
    epsilon : float
        The target, positive.
    low, high : float
        Positive parameters between which the member lies.

    Returns
    -------
    float
        The parameter, to a relative 1e-12.

    Raises
    ------
    ValueError
        If the target is not positive or does not lie between the exact epsilons at the ends.
    """
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon is {epsilon}; it must be positive and finite")
    if not 0 < low < high:
        raise ValueError(f"low is {low} and high is {high}; they must be positive, in this order")

    def excess(log_parameter: float) -> float:
        return exact_epsilon(family(float(np.exp(log_parameter)))).value - epsilon

    ends = excess(np.log(low)), excess(np.log(high))
    if ends[0] * ends[1] > 0:
        reached = sorted(end + epsilon for end in ends)
        raise ValueError(
            f"epsilon is {epsilon}; between low and high the family reaches {reached[0]:.6g} to "
            f"{reached[1]:.6g}"
        )
    return float(np.exp(brentq(excess, np.log(low), np.log(high), xtol=1e-12, rtol=1e-14)))


def unused_budget(mechanism: Mechanism, bound: float) -> float:
    """Share of the epsilon that a proof promises which the mechanism does not need.

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    bound : float
        Epsilon that a theorem gives for it, such as a composition over its records; positive.

    Returns
    -------
    float
        1 - exact epsilon / bound, in [0, 1] up to rounding; 0 where the bound is attained.

    Raises
    ------
    ValueError
        If the bound is not positive, or the exact epsilon exceeds it: then it is no bound.
    """
    if not bound > 0:
        raise ValueError(f"bound is {bound}; it must be positive")
    exact = exact_epsilon(mechanism).value
    if exact > bound * (1 + 1e-9):
        raise ValueError(f"bound is {bound}; the exact epsilon, {exact:.6g}, exceeds it")
    return 1 - exact / bound


def sample(
    mechanism: Mechanism,
    row: int,
    size: int,
    rng: np.random.Generator,
    method: str = "inverse",
) -> NDArray[np.int64]:
    """Draw outputs of the mechanism from one data set.

    Parameters
    ----------
    mechanism : Mechanism
        The table.
    row : int
        Row of the data set.
    size : int
        Number of draws, 0 or more.
    rng : numpy.random.Generator
        Source of chance.
    method : {"inverse", "gumbel", "rejection"}
        Inversion of the distribution function; the maximum of log probabilities with independent
        Gumbel noise; or outputs proposed uniformly and accepted in proportion to their
        probability. The last two need no normalised probabilities.

    Returns
    -------
    (size,) int64
        Positions of the outputs.
    """
    log_prob = mechanism.row(row)
    if method == "inverse":
        cumulative = np.cumsum(np.exp(log_prob))
        drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        return drawn.astype(np.int64)
    if method == "gumbel":
        step = max(1, BLOCK_ENTRIES // len(log_prob))
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, step):
            noise = rng.gumbel(size=(min(step, size - start), len(log_prob)))
            drawn[start : start + step] = np.argmax(log_prob + noise, axis=1)
        return drawn
    if method == "rejection":
        accepted: list[NDArray[np.int64]] = []
        chance = np.exp(log_prob - log_prob.max())
        while (missing := size - sum(map(len, accepted))) > 0:
            step = min(BLOCK_ENTRIES, int(1.1 * missing / acceptance_rate(mechanism, row)) + 10)
            proposed = rng.integers(0, len(chance), step)
            accepted.append(proposed[rng.random(step) < chance[proposed]][:missing])
        return np.concatenate([np.empty(0, dtype=np.int64), *accepted])
    raise ValueError(f"method is {method!r}; it must be 'inverse', 'gumbel' or 'rejection'")


def acceptance_rate(mechanism: Mechanism, row: int) -> float:
    """Share of proposals that rejection sampling from uniform proposals accepts.

    Its inverse is the expected number of proposals for a draw: 1 / (n_outputs * largest
    probability).
    """
    return float(np.exp(-mechanism.row(row).max()) / mechanism.n_outputs)
