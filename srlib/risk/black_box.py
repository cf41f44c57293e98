"""Lower bounds on what one release of any synthesizer discloses about one record.

A synthesizer that can only be run yields releases of the data D and of data in which
one record has another value. A test that distinguishes the two discloses something
about the record, and its error rates have exact confidence limits. These are lower
bounds: a disclosure that the test does not detect may still exist.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from srlib import checks
from srlib.arrays import Floats, Generator, Ints, NDArray
from srlib.data import Codes, Microdata
from srlib.progress import progress
from srlib.risk.candidates import Data, encode
from srlib.risk.synthesizers import Synthesizer
from srlib.threads import one_blas_thread
from srlib.trees import Trees

# Largest number of counts per release: 40 MB for a thousand releases.
_MAX_COUNTS = 10_000

Counts = NDArray[np.floating]


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
    alternatives: Codes,
    *,
    n_releases: int = 1000,
    prior: float | None = None,
    confidence: float = 0.95,
    rng: Generator,
) -> LeakageBound:
    """Return lower bounds on what one release discloses about one record.

    As in `posterior_risk`, the intruder knows all other records and the synthesizer;
    the intruder has one release. The synthesizer may be any that can be run: no density
    is needed. See `leakage_bound_from_counts` for the test.

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
    checks.at_least(20, n_releases=n_releases)
    if isinstance(synthesizer, Trees):
        raise ValueError(
            "synthesizer is Trees, which are fitted to one table; use SequentialTrees, "
            "which fits trees to each table"
        )
    table = encode(data, "data")
    checks.within(0, len(table) - 1, row=row)
    counts = release_counts(
        synthesizer, table, row, alternatives, n_releases=n_releases, rng=rng
    )
    if prior is None:
        prior = 1 / (1 + len(alternatives))
    return leakage_bound_from_counts(*counts, prior=prior, confidence=confidence)


def release_counts(
    synthesizer: Synthesizer,
    data: Microdata,
    row: int,
    alternatives: Codes,
    *,
    n_releases: int,
    rng: Generator,
) -> tuple[Counts, Counts]:
    """Return counts in releases of the data and of the data with one record changed.

    For each release these are the square roots of the counts in all cells of two
    variables. If the alternatives differ from the true record in a single variable, the
    cells are those of that variable and two others. Cells are coarser where there would
    be more than ten thousand.
    """
    levels = data.schema.n_levels
    truth = data.codes[row]
    alternatives = np.asarray(alternatives)
    _check_alternatives(alternatives, truth, levels)
    changed_variables = np.flatnonzero((alternatives != truth).any(axis=0))
    group = changed_variables[0] if len(changed_variables) == 1 else None
    # Sorted: a synthesizer that caches its last fit then fits each table only once.
    drawn = np.sort(rng.integers(0, len(alternatives), n_releases))
    changed = np.array(data.codes)
    counts = []
    with progress(2 * n_releases, "releases") as bar:
        for value in [*[truth] * n_releases, *alternatives[drawn]]:
            changed[row] = value
            released = np.asarray(synthesizer.release(changed, rng=rng))
            _check_release(released, levels, synthesizer)
            counts.append(_cell_counts(released, levels, group))
            bar.update()
    data_counts, changed_counts = np.split(np.sqrt(counts), 2)
    # Both halves of the releases must have the same distribution.
    return data_counts, rng.permutation(changed_counts)


def _check_alternatives(alternatives: NDArray, truth: Codes, levels: Ints) -> None:
    """Raise a ValueError unless there are records of codes, all unlike the true one."""
    has_shape = alternatives.shape[1:] == truth.shape and len(alternatives)
    if not has_shape or alternatives.dtype.kind not in "iu":
        raise ValueError(
            f"alternatives has shape {alternatives.shape} and type "
            f"{alternatives.dtype}; it must be (n_alternatives, {len(truth)}) integers"
        )
    if ((alternatives < 0) | (alternatives >= levels)).any():
        raise ValueError(
            "alternatives has codes out of range; they must be 0 to n_levels - 1"
        )
    if (alternatives == truth).all(axis=1).any():
        raise ValueError(
            "alternatives has the true record itself; each alternative must differ "
            "from it"
        )


def _check_release(released: NDArray, levels: Ints, synthesizer: Synthesizer) -> None:
    """Raise a ValueError unless a release has a column of codes for each variable."""
    has_columns = released.shape[1:] == levels.shape
    if not has_columns or ((released < 0) | (released >= levels)).any():
        raise ValueError(
            f"{type(synthesizer).__name__}.release returns shape {released.shape}, or "
            f"codes out of range; it must return {len(levels)} columns of codes from 0"
        )


def _cell_counts(codes: Codes, levels: Ints, group: int | None) -> Counts:
    """Return counts of two-way cells, or of these within each level of a variable.

    Levels are numbered through all variables. Cells are pairs of levels of two
    variables, and of each level with itself.
    """
    variable = np.repeat(np.arange(len(levels)), levels)
    cells = np.less.outer(variable, variable) | np.eye(len(variable), dtype=bool)
    n_cells = cells.sum()
    indicators = np.zeros((len(codes), len(variable)), np.float32)
    start = np.cumsum(levels) - levels
    np.put_along_axis(indicators, start + codes, 1, axis=1)
    if n_cells > _MAX_COUNTS:
        return indicators.sum(axis=0)
    parts = [indicators]
    if group is not None and levels[group] * n_cells <= _MAX_COUNTS:
        parts = [indicators[codes[:, group] == level] for level in range(levels[group])]
    return np.concatenate([(part.T @ part)[cells] for part in parts])


@one_blas_thread
def leakage_bound_from_counts(
    data_counts: Counts,
    changed_counts: Counts,
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
    n = len(data_counts)
    checks.at_least(20, n_releases=n)
    scores, test_scores = _scores(np.stack([data_counts, changed_counts]))
    values = np.unique(scores.round(5))
    thresholds = np.append(values[0] - 1, (values[1:] + values[:-1]) / 2)
    bounds = _bounds(scores, thresholds, confidence, prior)
    best = thresholds[bounds.argmax(axis=1)]
    test_bounds = _bounds(test_scores, best, confidence, prior)
    epsilon, probability, advantage = np.diagonal(test_bounds).tolist()
    return LeakageBound(epsilon, probability, advantage, prior, confidence, n)


def _scores(samples: Counts) -> tuple[Floats, Floats]:
    """Return scores of the releases for training and for testing, by a discriminant.

    The samples are (2, n_releases, n_counts). Scores of the first half of each, which
    the discriminant is fitted to, are cross-validated.
    """
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import cross_val_predict

    half = samples.shape[1] // 2
    deviation = np.sqrt(samples[:, :half].var(axis=1).mean(axis=0))
    # Counts that are constant within each sample separate the two where they differ.
    scaled = samples / np.where(deviation > 1e-6, deviation, 1.0)
    training = np.concatenate(scaled[:, :half])
    testing = np.concatenate(scaled[:, half:])
    is_data = np.arange(2 * half) < half
    # There are more counts than releases: the penalty halves their correlations.
    model = RidgeClassifier(alpha=2 * half)
    scores = cross_val_predict(
        model, training, is_data, cv=3, method="decision_function"
    )
    return scores, model.fit(training, is_data).decision_function(testing)


def _bounds(
    scores: Floats, thresholds: Floats, confidence: float, prior: float
) -> Floats:
    """Return epsilon, probability and advantage, (3, n), from limits of error rates.

    Half of the scores are those of releases of the data.
    """
    limit_confidence = 1 - (1 - confidence) / 2  # two limits, which must hold together
    samples = np.reshape(scores, (2, 1, -1))
    n_positive = (samples > thresholds[:, None]).sum(axis=2)
    low, high = clopper_pearson(n_positive, samples.shape[2], limit_confidence)
    # Shares of positive and of negative tests, (2, n): of true positives at least, and
    # of false positives at most.
    a = np.stack([low[0], 1 - low[0]])
    b = np.stack([high[1], 1 - high[1]])
    with np.errstate(divide="ignore"):
        epsilon = np.abs(np.log(a / b)).max(axis=0)
    probability = (prior * a**2 / (prior * a + (1 - prior) * b)).sum(axis=0)
    bounds = np.stack([epsilon, probability, a[0] - b[0]])
    return np.where(a[0] > b[0], bounds, np.array([[0], [prior], [0]]))


def clopper_pearson(count: Ints, size: int, confidence: float) -> tuple[Floats, Floats]:
    """Return one-sided lower and upper confidence limits of probabilities.

    The events occurred `count` times in `size` trials. Each limit has the given
    confidence.
    """
    low = betaincinv(count, size - count + 1, 1 - confidence)
    high = betaincinv(count + 1, size - count, confidence)
    return np.where(count > 0, low, 0.0), np.where(count < size, high, 1.0)
