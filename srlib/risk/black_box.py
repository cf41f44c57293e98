"""What releases of any generator tell about one record, at the least.

A generator that can only be run shows releases of the data D and of data in which one record has
another value. A test that tells these apart tells something of the record, and its error rates have
exact confidence limits. What no test found may still be there: these are lower bounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srlib import checks
from srlib.checks import require
from srlib.mechanism.audit import clopper_pearson
from srlib.progress import progress as progress_bar
from srlib.risk.candidates import Data, coded
from srlib.risk.synthesizers import Synthesizer
from srlib.threads import one_blas_thread
from srlib.trees import Trees

# Numbers that describe a release at most: 40 MB for a thousand releases.
_MOST_COUNTS = 10_000
_FOLDS = 3


@dataclass(frozen=True)
class Leakage:
    """Lower bounds on what a release tells about one record, each with the confidence stated.

    `epsilon` is the largest privacy loss between these data and those in which the record has
    another value (the epsilon conditional on these data); `probability` the intruder's posterior
    probability of the truth, averaged over releases of the data; `advantage`, in [0, 1], the
    probability of a true alarm less that of a false one, of the best test of whether a release
    is of the data or not. Where nothing was found they are 0, the prior and 0.
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
) -> Leakage:
    """Bound from below what releases of any synthesizer tell about one record.

    The intruder knows all other records and how the synthesizer works, as that of `posterior_risk`
    does, and has one release. No density is needed. See `leakage` for the test.

    Parameters
    ----------
    row : int
        Which record of the data is meant.
    alternatives : (n_alternatives, n_variables) int
        Codes that the intruder holds possible for the record beside the truth, with equal
        probabilities. A single one is easier to tell from the truth than one of many.
    n_releases : int
        Releases of the data, and as many of the data with the record changed, 20 or more.
    prior : float, optional
        Probability of the truth before the release, in (0, 1); that of each alternative if not
        given.
    confidence : float
        Of each bound, in (0, 1).

    Examples
    --------
    >>> from srlib.margins import PlugInMargins
    >>> from srlib.data.schema import Microdata, Schema, Variable
    >>> rng = np.random.default_rng(1)
    >>> town = Variable("town", ("a", "b"))
    >>> data = Microdata(np.array([[1], [0], [0], [0], [0], [0]]), Schema((town,)))
    >>> margins, other = PlugInMargins(np.array([2])), np.array([[0]])
    >>> found = leakage_bound(margins, data, 0, other, n_releases=200, rng=rng)
    >>> found.prior, found.probability > 0.6, found.epsilon > 1
    (0.5, True, True)
    """
    first, second = counts_of_releases(
        synthesizer, data, row, alternatives, n_releases=n_releases, rng=rng
    )
    if prior is None:
        prior = 1 / (1 + len(alternatives))
    return leakage(first, second, prior=prior, confidence=confidence)


def counts_of_releases(
    synthesizer: Synthesizer,
    data: Data,
    row: int,
    alternatives: NDArray[np.integer],
    *,
    n_releases: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Draw releases of the data and of the data with a record changed, and count their cells.

    Of each release come the square roots of its counts in all cells of two variables; where the
    alternatives differ from the truth in a single variable, in the cells of that and two others.
    Cells are coarser where these are more than ten thousand.
    """
    checks.at_least(20, n_releases=n_releases)
    told = "synthesizer is Trees, which are grown on one table; SequentialTrees grow on each"
    require(not isinstance(synthesizer, Trees), told)
    data = coded(data, "data", None)
    checks.within(0, len(data) - 1, row=row)
    truth, values = data.codes[row], np.asarray(alternatives)
    levels, changed = data.schema.n_levels, np.array(data.codes)
    right = values.ndim == 2 and values.shape[1] == len(truth) and len(values)
    told = f"alternatives has shape {values.shape} and type {values.dtype}"
    right = right and values.dtype.kind in "iu"
    require(right, f"{told}; it must be (n_alternatives, {len(truth)}) integers")
    outside = ((values < 0) | (values >= levels)).any()
    require(not outside, "alternatives has codes out of range; they must be from 0 to levels - 1")
    itself = (values == truth).all(axis=1).any()
    require(not itself, "alternatives has the record itself; each must differ from it")
    differs = np.flatnonzero((values != truth).any(axis=0))
    count = _cells(levels, int(differs[0]) if len(differs) == 1 else None)
    # In order: a synthesizer that keeps what it fitted to the last table fits to each table once.
    drawn = np.sort(rng.integers(0, len(values), n_releases))
    counts = []
    with progress_bar(2 * n_releases, "releases") as bar:
        for value in (*[truth] * n_releases, *values[drawn]):
            changed[row] = value
            released = np.asarray(synthesizer.release(changed, rng=rng))
            fits = released.ndim == 2 and released.shape[1] == len(levels)
            told = f"{type(synthesizer).__name__}.release returns shape {released.shape}, or codes"
            fits = fits and not ((released < 0) | (released >= levels)).any()
            require(fits, f"{told} out of range; there must be {len(levels)} columns, from 0")
            counts.append(count(released))
            bar.update(1)
    first, second = np.split(np.sqrt(np.array(counts, dtype=np.float32)), 2)
    return first, rng.permutation(second)  # halves of the releases have to be alike


def _cells(
    levels: NDArray[np.integer], group: int | None
) -> Callable[[NDArray[np.integer]], NDArray[np.float32]]:
    """Return what counts cells, two-way ones within each level of a variable."""
    start = np.concatenate([[0], np.cumsum(levels)])
    variable = np.repeat(np.arange(len(levels)), levels)
    one, other = np.triu_indices(len(variable))
    apart = (variable[one] != variable[other]) | (one == other)
    one, other = one[apart], other[apart]
    by_level = group is not None and levels[group] * len(one) <= _MOST_COUNTS

    def count(codes: NDArray[np.integer]) -> NDArray[np.float32]:
        indicators = np.zeros((len(codes), start[-1]), np.float32)
        indicators[np.arange(len(codes))[:, None], start[:-1] + codes] = 1
        if len(one) > _MOST_COUNTS:
            return indicators.sum(axis=0)
        parts = [indicators]
        if by_level:
            parts = [indicators[codes[:, group] == level] for level in range(levels[group])]
        return np.concatenate([(part.T @ part)[one, other] for part in parts])

    return count


@one_blas_thread
def leakage(
    first: NDArray[np.floating],
    second: NDArray[np.floating],
    *,
    prior: float,
    confidence: float = 0.95,
) -> Leakage:
    r"""Bound leakage by a test between two samples of releases, (n_releases, n_counts) each.

    Half of the releases learn a score, by a linear discriminant whose correlations are shrunk, and
    choose its threshold, one for each bound: that with the largest bound when scores come from
    parts of the half that did not learn them. The other half gives Clopper-Pearson limits of the
    probabilities of an alarm, a of the data and b of the changed data, so that what is learned does
    not spoil the confidence. Both samples have to be in random order, of 20 releases or more.

    With a prior p the truth's posterior probability, averaged over releases Z of the data, is

    .. math:: \sum_Z f(p(Z \mid D), p(Z \mid D')), \quad
              f(u, v) = \frac{p \, u^2}{p \, u + (1 - p) \, v}.

    f is convex and homogeneous, thus f(u, v) + f(u', v') >= f(u + u', v + v'): a coarser
    observation, such as whether there is an alarm, lowers the mean, to f(a, b) + f(1 - a, 1 - b).
    This grows with a and falls with b where a > b.
    """
    checks.inner_probability(prior=prior, confidence=confidence)
    n = min(len(first), len(second))
    checks.at_least(20, n_releases=n)
    half = n // 2
    learned_from = np.concatenate([first[:half], second[:half]])
    varies = (learned_from != learned_from[0]).any(axis=0)
    center = learned_from[:, varies].mean(axis=0)
    samples = [x[:n, varies] - center for x in (first, second)]
    learning, held = [x[:half] for x in samples], [x[half:] for x in samples]
    fold = np.arange(half) % _FOLDS
    learned = np.array([_discriminant(*(x[fold != i] for x in learning)) for i in range(_FOLDS)])
    # Centered and on one scale: a threshold for the scores of all folds is one for their mean.
    spread = (np.concatenate(learning) @ learned.T).std(axis=0)
    learned /= np.where(spread > 0, spread, 1)[:, None]
    own = [np.einsum("ij,ij->i", x, learned[fold]) for x in learning]
    of_held = [x @ learned.mean(axis=0) for x in held]
    values = np.unique(np.concatenate(own).round(5))
    thresholds = np.append(values[0] - 1, (values[1:] + values[:-1]) / 2)
    best = thresholds[_bounds(own, thresholds, confidence, prior).argmax(axis=1)]
    found = _bounds(of_held, best, confidence, prior)
    epsilon, probability, advantage = np.diagonal(found).tolist()
    return Leakage(epsilon, probability, advantage, prior, confidence, n)


def _bounds(
    scores: Sequence[NDArray[np.floating]],
    thresholds: NDArray[np.floating],
    confidence: float,
    prior: float,
) -> NDArray[np.float64]:
    """Return epsilon, probability and advantage, (3, n), by limits of true and false alarms."""
    alarms = [len(x) - np.searchsorted(np.sort(x), thresholds, side="left") for x in scores]
    each = 1 - (1 - confidence) / 2  # two limits, both to hold
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


def _discriminant(first: NDArray[np.floating], second: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the weights of a linear discriminant, larger for the first sample.

    A ridge penalty of as much as there are releases shrinks the correlations of counts within the
    samples halfway to zero: there are more counts than releases.
    """
    from sklearn.linear_model import RidgeClassifier

    within = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    deviation = within.std(axis=0)
    # Counts that never vary within a sample tell it apart for certain where they differ.
    deviation = np.where(deviation > 1e-6, deviation, 1.0)
    is_first = np.arange(len(within)) < len(first)
    scaled = np.concatenate([first, second]) / deviation
    return RidgeClassifier(alpha=len(within)).fit(scaled, is_first).coef_.ravel() / deviation
