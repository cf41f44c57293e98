r"""What a release is good for: its distances from the original, beside those of a fresh sample.

A fresh sample of the population differs from the original as a random division of both files would.
Distances of a release are held against those of such divisions, in closed form. A *loss* is what
lies beyond, a share in [0, 1] for all four: the largest total variation distance of a single
variable (margins) and of two (pairs), the mean difference of regression coefficients (intervals),
and the share of which file a record is from that a regression explains (told apart), which is the
propensity score mean squared error (pMSE; Woo, Reiter, Oganian and Karr 2009) over c (1 - c), c the
released share.

That regression is linear, by least squares on indicators of levels and, where there is time, of
pairs of levels. Of N records and k estimable parameters a random division explains (k - 1) / (N -
1) on average, exactly. A logistic one has such a law for many records only, has no estimate where a
level occurs in one file alone, and explains the same to first order where the files are alike.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy import special

from srlib.assessment.answers import Row, row
from srlib.assessment.counting import Bools, Floats, between
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Schema
from srlib.margins import total_variation
from srlib.threads import one_blas_thread

TIE = 3.0  # a difference of fewer of its errors is none
# A loss beyond a fresh sample's is small up to the first, and limits use up to the second.
GOOD, LIMITED = 0.05, 0.15
# Combinations times squared parameters of the regression that tells files apart: a second.
MOST_PRODUCTS = 4e9


LOSSES = ("margins", "pairs", "intervals", "told apart")
type Distance = tuple[float, float, float, float, str, bool]
"""Value, a fresh sample's, its deviation, the value's error, where, and whether it is sure."""
UNKNOWN: Distance = (np.nan, np.nan, np.nan, np.nan, "", False)


def rows(
    schema: Schema, original: Codes, released: Sequence[Codes], keys: Sequence[int], target: int
) -> list[Row]:
    """Answer what releases of one tool are good for: a row a distance, means over the releases.

    The customary numbers stand behind: the ratio of pMSE to what a correct model leads to (Snoke,
    Raab, Nowok, Dibben and Slavkovic 2018), and the mean overlap of 95 % intervals (Karr, Kohnen,
    Oganian, Reiter and Sanil 2006). Errors are of another release by the same tool, those of the
    baseline of another fresh sample.
    """
    levels, answers = [int(k) for k in schema.n_levels], []
    found = [
        _margins(original, z, levels, schema.names)
        | _apart(original, z, levels)
        | _intervals(original, z, schema, keys, target)
        for z in released
    ]
    for question in found[0]:
        each = [of[question] for of in found]
        each = [one for one in each if np.isfinite(one[0])] or each[:1]
        value, fresh, spread, error = np.mean([one[:4] for one in each], axis=0).tolist()
        error = between([one[0] for one in each]) if len(each) > 1 else error
        clear = bool(np.mean([one[5] for one in each]) >= 0.5)
        known = question in LOSSES and np.isfinite(value)
        about = " / ".join(dict.fromkeys(one[4] for one in each))
        z = (value - fresh) / spread if spread else np.nan
        loss = word(value - fresh, clear) if known else ""
        numbers = len(released[0]), value, error, fresh, spread, z
        answers.append(row(question, about, *numbers, word=loss, by="fresh sample"))
    return answers


def word(loss: float, clear: bool) -> str:
    """Say how large a loss is that lies beyond chance, or does not."""
    if not clear:
        return "as fresh"
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


def _margins(
    original: Codes, released: Codes, levels: Sequence[int], names: Sequence[str]
) -> dict[str, Distance]:
    """Largest distance of single variables, and of pairs, beyond that of a random division."""
    found: dict[str, Distance] = {}
    p, error = len(levels), 0.5 / np.sqrt(len(released))
    several = {"margins": [(k, k) for k in range(p)], "pairs": list(combinations(range(p), 2))}
    for question, some in several.items():
        value, fresh, spread = np.transpose(
            [total_variation(original, released, levels, *at) for at in some]
        )
        # Distances have longer tails than normal ones: gamma with their mean and deviation; and the
        # largest of many is to be as improbable as 3 errors are.
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = special.gammaincc((fresh / spread) ** 2, fresh / spread**2 * value)
        tail = np.where(spread > 0, tail, np.where(value > fresh + 1e-12, 0.0, 1.0))
        sure = np.log(np.maximum(tail, 1e-300)) < special.log_ndtr(-TIE) - np.log(len(some))
        beyond = np.where(sure, value - fresh, 0.0)
        at = int(beyond.argmax() if beyond.max() > 0 else (value - fresh).argmax())
        where = " × ".join(dict.fromkeys(names[k] for k in some[at]))
        numbers = float(value[at]), float(fresh[at]), float(spread[at])
        found[question] = (*numbers, error, where, bool(sure[at]))
    return found


@one_blas_thread
def _apart(original: Codes, released: Codes, levels: Sequence[int]) -> dict[str, Distance]:
    """Share of which file a record is from that a regression explains, and the ratio of pMSE."""
    n, m, free = len(original), len(released), np.array(levels) - 1
    single = [(k, level) for k, size in enumerate(levels) for level in range(1, size)]
    of_pairs = 1.0 + free.sum() + (free.sum() ** 2 - (free**2).sum()) / 2
    n_rows = len(distinct(np.concatenate([original, released]))[1])
    # Pairs where there is time, and where chance explains no more than a tenth.
    pairs = n_rows * of_pairs**2 <= MOST_PRODUCTS and of_pairs <= (n + m) / 10
    part = 1.0 if pairs else min(1.0, MOST_PRODUCTS / (n_rows * (1.0 + free.sum()) ** 2))
    sizes = [max(int(part * k), 2) for k in (n, m)]
    if 1.0 + free.sum() > sum(sizes) / 10 or not free.sum():  # chance explains too much
        return dict.fromkeys(("told apart", "pMSE ratio"), UNKNOWN)
    some = [
        z[np.linspace(0, len(z) - 1, k).astype(int)]
        for z, k in zip((original, released), sizes, strict=True)
    ]
    combination, total, inverse = distinct(np.concatenate(some))
    events = np.bincount(inverse[sizes[0] :], minlength=len(total))
    design = _indicators(combination, single, pairs)
    design = design[:, design.any(axis=0)]
    moments = design.T @ events
    values, vectors = _solved((design * total[:, None]).T @ design)
    records, c, df = sum(sizes), sizes[1] / sum(sizes), len(values) - 1
    if not df or records == len(values):
        return dict.fromkeys(("told apart", "pMSE ratio"), UNKNOWN)
    explained = float(((vectors.T @ moments) ** 2 / values).sum() / records - c**2) / (c * (1 - c))
    fresh, a, b = df / (records - 1), df / 2, (records - len(values)) / 2
    spread = float(np.sqrt(a * b / (a + b + 1)) / (a + b))  # beta, as of normal errors
    error = spread * (1 - explained) * np.sqrt(1 + 2 * max(explained / fresh - 1, 0.0))
    where = f"{len(values):,} parameters" + f", {records:,} records" * (records < n + m)
    scale = 1 / (fresh * (1 - c))  # of a correct model the mean is this times smaller
    numbers = np.array([explained, fresh, spread, error])
    return {
        "told apart": (*numbers.tolist(), where, bool(explained - fresh > TIE * spread)),
        "pMSE ratio": (*(scale * numbers).tolist(), "", False),
    }


def _indicators(codes: Codes, chosen: Sequence[tuple[int, int]], pairs: bool = False) -> Floats:
    """A column of ones, whether records have some levels and, if asked, two of two variables."""
    has = np.array([np.ones(len(codes)), *(codes[:, k] == level for k, level in chosen)], float).T
    variable = np.array([k for k, _ in chosen])
    i, j = np.triu_indices(len(chosen) if pairs else 0, 1)
    i, j = i[variable[i] != variable[j]], j[variable[i] != variable[j]]
    return np.hstack([has, has[:, 1 + i] * has[:, 1 + j]])


def _solved(gram: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a matrix of products and their vectors, but those that nothing is known of."""
    values, vectors = np.linalg.eigh(gram)
    known = values > 1e-10 * values[-1]
    return values[known], vectors[:, known]


def _intervals(
    original: Codes, released: Codes, schema: Schema, keys: Sequence[int], target: int
) -> dict[str, Distance]:
    """Compare coefficients of the target's most frequent value on the keys, by least squares."""
    usual = [np.bincount(column).argmax() for column in original.T]
    chosen = [(k, c) for k in keys for c in range(int(schema.n_levels[k])) if c != usual[k]]
    fits = [_least_squares(z, chosen, z[:, target] == usual[target]) for z in (original, released)]
    known = np.isfinite(fits).all(axis=(0, 1))
    if not known.any():
        return dict.fromkeys(("intervals", "overlap"), UNKNOWN)
    (b, se), (b_other, se_other) = (fit[:, known] for fit in fits)
    gap, both = np.abs(b - b_other), np.hypot(se, se_other)
    # Coefficients of one variable move together, so that no more than half of them count.
    count, mean, deviation = max(len(gap) / 2, 1.0), np.sqrt(2 / np.pi), np.sqrt(1 - 2 / np.pi)
    wide, wide_other = 2 * special.ndtri(0.975) * np.array([se, se_other])
    slope = (1 / wide + 1 / wide_other) / 2  # the overlap falls no faster with the gap

    def rms(values: Floats) -> float:
        return float(np.sqrt((values**2).mean() / count))

    def overlap(gap: Floats) -> float:
        common = np.minimum(np.minimum(wide, wide_other), (wide + wide_other) / 2 - gap)
        return float((common * slope).mean())

    k, level = np.array(chosen)[known][(gap - mean * both).argmax()]
    where = f"{schema.names[k]}: {schema.variables[k].labels[level]}"
    value, fresh, spread = float(gap.mean()), float(mean * both.mean()), deviation * rms(both)
    chance = np.abs(special.ndtri((np.arange(200) + 0.5) / 200))[:, None]  # of a normal difference
    moved = deviation * rms(slope * both), rms(slope * se_other)
    return {
        "intervals": (value, fresh, spread, rms(se_other), where, value - fresh > TIE * spread),
        "overlap": (overlap(gap), overlap(chance * both), *moved, "", False),
    }


@one_blas_thread
def _least_squares(codes: Codes, chosen: Sequence[tuple[int, int]], y: Bools) -> Floats:
    """Coefficients of indicators and standard errors, (2, terms); NaN where not determined."""
    n, size = len(codes), 1 + len(chosen)
    gram, moments = np.zeros((size, size)), np.zeros(size)
    for start in range(0, n, 1 << 16):
        x = _indicators(codes[start : start + (1 << 16)], chosen)
        gram, moments = gram + x.T @ x, moments + x.T @ y[start : start + len(x)]
    values, vectors = _solved(gram)
    inverse = (vectors / values) @ vectors.T
    estimate, df = inverse @ moments, n - len(values)
    left = float(y.sum() - estimate @ moments)
    # A perfect fit has no standard errors, and coefficients with a part in the null space no value.
    variance = left / df if df > 0 and left > 1e-9 * n else np.nan
    fitted = (vectors**2).sum(axis=1) > 1 - 1e-8
    error = np.sqrt(variance * np.diag(inverse).clip(min=0))
    return np.where(fitted, [estimate, error], np.nan)[:, 1:]
