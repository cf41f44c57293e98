"""Lower bounds on what one release of any synthesizer discloses about one record.

A synthesizer that can only be run yields releases of the data D and of data in which
one record has another value. A test that distinguishes the two discloses something
about the record, and its error rates have exact confidence limits. These are lower
bounds: a disclosure that the test does not detect may still exist.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srlib import checks
from srlib.mechanism.audit import clopper_pearson
from srlib.progress import progress as progress_bar
from srlib.risk.candidates import Data, encode
from srlib.risk.synthesizers import Synthesizer
from srlib.threads import one_blas_thread
from srlib.trees import Trees

# Largest number of counts per release: 40 MB for a thousand releases.
_MAX_COUNTS = 10_000
_FOLDS = 3


@dataclass(frozen=True)
class LeakageBound:
    """Lower confidence bounds on what a release discloses about one record.

    `epsilon` bounds the largest privacy loss between these data and those in which the
    record has another value (the epsilon conditional on these data). `probability`
    bounds the intruder's posterior probability of the true record, averaged over
    releases of the data. `advantage`, in [0, 1], bounds the true-positive rate minus
    the false-positive rate of the best test of whether a release was made from the
    data. Where the test detects nothing, they are 0, the prior and 0.
    """

    epsilon: float
    probability: float
    advantage: float
    prior: float
    confidence: float
    n_releases: int


def leakage_bound(
    synthesizer: Synthesizer,
    data: Data,
    row: int,
    alternatives: NDArray[np.integer],
    *,
    n_releases: int = 1000,
    prior: float | None = None,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> LeakageBound:
    """Return lower bounds on what one release of any synthesizer discloses about one record.

    As in `posterior_risk`, the intruder knows all other records and the synthesizer;
    the intruder has one release. No density is needed. See `leakage_bound_from_counts`
    for the test.

    Parameters
    ----------
    row : int
        Row of the target record in the data.
    alternatives : (n_alternatives, n_variables) int
        Codes of the other candidates, with equal probabilities. A single alternative is
        easier to distinguish from the true record than a mixture of many.
    n_releases : int
        Number of releases of the data, and of the data with the record changed; 20 or
        more.
    prior : float, optional
        Prior probability of the true record, in (0, 1); if not given, all candidates
        have the same.
    confidence : float
        Confidence of each bound, in (0, 1).

    Examples
    --------
    >>> from srlib.margins import PlugInMargins
    >>> from srlib.data.schema import Microdata, Schema, Variable
    >>> rng = np.random.default_rng(1)
    >>> town = Variable("town", ("a", "b"))
    >>> data = Microdata(np.array([[1], [0], [0], [0], [0], [0]]), Schema((town,)))
    >>> margins, other = PlugInMargins(np.array([2])), np.array([[0]])
    >>> bound = leakage_bound(margins, data, 0, other, n_releases=200, rng=rng)
    >>> bound.prior, bound.probability > 0.6, bound.epsilon > 1
    (0.5, True, True)
    """
    data_counts, changed_counts = release_counts(
        synthesizer, data, row, alternatives, n_releases=n_releases, rng=rng
    )
    if prior is None:
        prior = 1 / (1 + len(alternatives))
    return leakage_bound_from_counts(
        data_counts, changed_counts, prior=prior, confidence=confidence
    )


def release_counts(
    synthesizer: Synthesizer,
    data: Data,
    row: int,
    alternatives: NDArray[np.integer],
    *,
    n_releases: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return counts of cells in releases of the data and of the data with one record changed.

    For each release these are the square roots of the counts in all cells of two
    variables. If the alternatives differ from the true record in a single variable, the
    cells are those of that variable and two others. Cells are coarser where there would
    be more than ten thousand.
    """
    checks.at_least(20, n_releases=n_releases)
    if isinstance(synthesizer, Trees):
        raise ValueError(
            "synthesizer is Trees, which are fitted to one table; use SequentialTrees, which fits "
            "trees to each table"
        )
    data = encode(data, "data", None)
    checks.within(0, len(data) - 1, row=row)
    truth, values = data.codes[row], np.asarray(alternatives)
    levels, changed = data.schema.n_levels, np.array(data.codes)
    has_shape = values.ndim == 2 and values.shape[1] == len(truth) and len(values)
    if not has_shape or values.dtype.kind not in "iu":
        raise ValueError(
            f"alternatives has shape {values.shape} and type {values.dtype}; it must be "
            f"(n_alternatives, {len(truth)}) integers"
        )
    if ((values < 0) | (values >= levels)).any():
        raise ValueError(
            "alternatives has codes out of range; they must be 0 to n_levels - 1"
        )
    if (values == truth).all(axis=1).any():
        raise ValueError(
            "alternatives has the true record itself; each alternative must differ from it"
        )
    differs = np.flatnonzero((values != truth).any(axis=0))
    count = _cell_counter(levels, int(differs[0]) if len(differs) == 1 else None)
    # Sorted: a synthesizer that caches its last fit then fits each table only once.
    drawn = np.sort(rng.integers(0, len(values), n_releases))
    counts = []
    with progress_bar(2 * n_releases, "releases") as bar:
        for value in (*[truth] * n_releases, *values[drawn]):
            changed[row] = value
            released = np.asarray(synthesizer.release(changed, rng=rng))
            has_columns = released.ndim == 2 and released.shape[1] == len(levels)
            if not has_columns or ((released < 0) | (released >= levels)).any():
                raise ValueError(
                    f"{type(synthesizer).__name__}.release returns shape {released.shape}, or "
                    f"codes out of range; it must return {len(levels)} columns of codes from 0"
                )
            counts.append(count(released))
            bar.update(1)
    data_counts, changed_counts = np.split(
        np.sqrt(np.array(counts, dtype=np.float32)), 2
    )
    # Both halves of the releases must have the same distribution.
    return data_counts, rng.permutation(changed_counts)


def _cell_counter(
    levels: NDArray[np.integer], group: int | None
) -> Callable[[NDArray[np.integer]], NDArray[np.float32]]:
    """Return a function that counts two-way cells, or these within each level of a variable."""
    start = np.concatenate([[0], np.cumsum(levels)])
    variable = np.repeat(np.arange(len(levels)), levels)
    one, other = np.triu_indices(len(variable))
    is_cell = (variable[one] != variable[other]) | (one == other)
    one, other = one[is_cell], other[is_cell]
    by_level = group is not None and levels[group] * len(one) <= _MAX_COUNTS

    def count(codes: NDArray[np.integer]) -> NDArray[np.float32]:
        indicators = np.zeros((len(codes), start[-1]), np.float32)
        indicators[np.arange(len(codes))[:, None], start[:-1] + codes] = 1
        if len(one) > _MAX_COUNTS:
            return indicators.sum(axis=0)
        parts = [indicators]
        if by_level:
            parts = [
                indicators[codes[:, group] == level] for level in range(levels[group])
            ]
        return np.concatenate([(part.T @ part)[one, other] for part in parts])

    return count


@one_blas_thread
def leakage_bound_from_counts(
    data_counts: NDArray[np.floating],
    changed_counts: NDArray[np.floating],
    *,
    prior: float,
    confidence: float = 0.95,
) -> LeakageBound:
    r"""Return lower bounds from counts of releases of the data and of the changed data.

    Both samples, (n_releases, n_counts) each, must be in random order, with at least 20
    releases. Half of the releases train a score, by a linear discriminant with shrunk
    correlations, and choose its threshold for each bound: the one with the largest
    bound under cross-validation. The other half gives Clopper-Pearson limits for the
    true-positive rate a and the false-positive rate b of the test, so that training
    does not affect the confidence.

    With prior p, the posterior probability of the true record, averaged over releases Z
    of the data, is

    .. math:: \sum_Z f(p(Z \mid D), p(Z \mid D')), \quad
              f(u, v) = \frac{p \, u^2}{p \, u + (1 - p) \, v}.

    Since f is convex and homogeneous, f(u, v) + f(u', v') >= f(u + u', v + v'). A
    coarser observation, such as whether the test is positive, thus lowers the mean, to
    f(a, b) + f(1 - a, 1 - b), which increases with a and decreases with b where a > b.
    """
    checks.inner_probability(prior=prior, confidence=confidence)
    n = min(len(data_counts), len(changed_counts))
    checks.at_least(20, n_releases=n)
    half = n // 2
    learned_from = np.concatenate([data_counts[:half], changed_counts[:half]])
    varies = (learned_from != learned_from[0]).any(axis=0)
    center = learned_from[:, varies].mean(axis=0)
    samples = [x[:n, varies] - center for x in (data_counts, changed_counts)]
    learning = [x[:half] for x in samples]
    held = [x[half:] for x in samples]
    fold = np.arange(half) % _FOLDS
    learned = np.array(
        [_discriminant(*(x[fold != i] for x in learning)) for i in range(_FOLDS)]
    )
    # Centered and on one scale, so that a threshold for the scores of all folds suits
    # their mean.
    spread = (np.concatenate(learning) @ learned.T).std(axis=0)
    learned /= np.where(spread > 0, spread, 1)[:, None]
    own = [np.einsum("ij,ij->i", x, learned[fold]) for x in learning]
    of_held = [x @ learned.mean(axis=0) for x in held]
    values = np.unique(np.concatenate(own).round(5))
    thresholds = np.append(values[0] - 1, (values[1:] + values[:-1]) / 2)
    best = thresholds[_bounds(own, thresholds, confidence, prior).argmax(axis=1)]
    found = _bounds(of_held, best, confidence, prior)
    epsilon, probability, advantage = np.diagonal(found).tolist()
    return LeakageBound(epsilon, probability, advantage, prior, confidence, n)


def _bounds(
    scores: Sequence[NDArray[np.floating]],
    thresholds: NDArray[np.floating],
    confidence: float,
    prior: float,
) -> NDArray[np.float64]:
    """Return epsilon, probability and advantage, (3, n), from limits of the error rates."""
    alarms = [
        len(x) - np.searchsorted(np.sort(x), thresholds, side="left") for x in scores
    ]
    each = 1 - (1 - confidence) / 2  # two limits, which must hold together
    a, _ = clopper_pearson(alarms[0], len(scores[0]), each)
    _, b = clopper_pearson(alarms[1], len(scores[1]), each)
    with np.errstate(divide="ignore"):
        epsilon = np.maximum(np.log(a) - np.log(b), np.log1p(-b) - np.log1p(-a))
    tiny = np.finfo(float).tiny
    probability = sum(
        prior * u**2 / np.maximum(prior * u + (1 - prior) * v, tiny)
        for u, v in ((a, b), (1 - a, 1 - b))
    )
    probability = np.where(a > b, np.maximum(prior, probability), prior)
    return np.stack([np.maximum(0, epsilon), probability, np.maximum(0, a - b)])


def _discriminant(
    first: NDArray[np.floating], second: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return the weights of a linear discriminant, larger for the first sample.

    There are more counts than releases. A ridge penalty equal to the number of releases
    shrinks the correlations of counts within the samples halfway to zero.
    """
    from sklearn.linear_model import RidgeClassifier

    within = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    deviation = within.std(axis=0)
    # Counts that are constant within each sample separate the two perfectly where they
    # differ.
    deviation = np.where(deviation > 1e-6, deviation, 1.0)
    is_first = np.arange(len(within)) < len(first)
    scaled = np.concatenate([first, second]) / deviation
    return (
        RidgeClassifier(alpha=len(within)).fit(scaled, is_first).coef_.ravel()
        / deviation
    )
