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
from numpy.typing import NDArray
from scipy import special

from srlib.assessment.answers import Row
from srlib.assessment.told import Floats
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Schema
from srlib.threads import one_blas_thread

TIE = 3.0  # a difference of fewer of its errors is none
# A loss beyond a fresh sample's is small up to the first, and limits use up to the second.
GOOD, LIMITED = 0.05, 0.15
# Combinations times squared parameters of the regression that tells files apart: a second.
MOST_PRODUCTS = 4e9


def rows(
    schema: Schema, original: Codes, released: Sequence[Codes], keys: Sequence[int], target: int
) -> list[Row]:
    """Answer what releases of one tool are good for: a row a distance, means over the releases.

    The customary numbers stand behind: the ratio of pMSE to what a correct model leads to (Snoke,
    Raab, Nowok, Dibben and Slavkovic 2018), and the mean overlap of 95 % intervals (Karr, Kohnen,
    Oganian, Reiter and Sanil 2006). Errors are of another release by the same tool, those of the
    baseline of another fresh sample.
    """
    levels = [int(k) for k in schema.n_levels]
    found = [
        _margins(original, z, levels, schema.names)
        | _apart(original, z, levels)
        | _intervals(original, z, schema, keys, target)
        for z in released
    ]
    answers: list[Row] = []
    for question in found[0]:
        each = [of[question] for of in found]
        value, fresh, spread, error = np.mean([one[:4] for one in each], axis=0).tolist()
        if len(each) > 1:
            error = float(np.std([one[0] for one in each], ddof=1) / np.sqrt(len(each)))
        clear = np.mean([one[5] for one in each]) >= 0.5
        answers.append({
            "question": question, "about": each[0][4], "value": value, "error": error,
            "baseline": fresh, "baseline_error": spread, "baseline_of": "fresh sample",
            "z": (value - fresh) / spread if spread else np.nan,
            "word": word(value - fresh, bool(clear)) if question in LOSSES else "",
        })  # fmt: skip
    return answers


LOSSES = ("margins", "pairs", "intervals", "told apart")
type _Distance = tuple[
    float, float, float, float, str, bool
]  # value, fresh, spread, error, where, sure


def word(loss: float, clear: bool) -> str:
    """Say how large a loss is that lies beyond chance, or does not."""
    if not clear:
        return "as fresh"
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


def _margins(
    original: Codes, released: Codes, levels: Sequence[int], names: Sequence[str]
) -> dict[str, _Distance]:
    """Largest distance of single variables, and of pairs, beyond that of a random division."""
    found: dict[str, _Distance] = {}
    singles = [(k, k) for k in range(len(levels))]
    for question, some in (
        ("margins", singles),
        ("pairs", list(combinations(range(len(levels)), 2))),
    ):
        distances = np.array(
            [_distance(original, released, levels, *pair) for pair in some]
        ).reshape(-1, 3)
        value, fresh, spread = distances.T
        # Distances have longer tails than normal ones: gamma with their mean and deviation; and the
        # largest of many is to be as improbable as 3 errors are.
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = special.gammaincc((fresh / spread) ** 2, fresh / spread**2 * value)
        tail = np.where(spread > 0, tail, np.where(value > fresh + 1e-12, 0.0, 1.0))
        sure = np.log(np.maximum(tail, 1e-300)) < special.log_ndtr(-TIE) - np.log(max(len(some), 1))
        beyond = np.where(sure, value - fresh, 0.0)
        if len(some):
            at = int(beyond.argmax() if beyond.max() > 0 else (value - fresh).argmax())
            where = " × ".join(dict.fromkeys(names[k] for k in some[at]))
            numbers = (float(value[at]), float(fresh[at]), float(spread[at]))
            found[question] = (*numbers, 0.5 / np.sqrt(len(released)), where, bool(sure[at]))
    return found


def _distance(
    original: Codes, released: Codes, levels: Sequence[int], a: int, b: int
) -> tuple[float, float, float]:
    """Total variation distance of two variables' cells, its mean and deviation under division."""
    size = levels[a] * levels[b]
    counts, others = (
        np.bincount(z[:, a].astype(np.int64) * levels[b] + z[:, b], minlength=size)
        for z in (original, released)
    )
    n, m, cells = len(original), len(released), counts + others
    value = float(np.abs(counts / n - others / m).sum() / 2)
    cells, total = cells[cells > 0], n + m
    # E |X - n c / N| of the records of each cell among n of N, in closed form as de Moivre's.
    above = n * cells // total + 1
    log_prob = _log_choose(cells, above) + _log_choose(total - cells, n - above)
    log_prob -= _log_choose(np.array(total), np.array(n))
    possible = (above <= cells) & (above <= n) & (n - above <= total - cells)
    tail = above * (total - cells - n + above) / total
    deviation = np.where(possible, 2 * tail * np.exp(log_prob), 0.0)
    variances = n * m * cells * (total - cells) / (total**2 * (total - 1))
    # All sum to nothing: with two cells, both distances are one.
    variance = (variances - deviation**2).sum() * len(cells) / max(len(cells) - 1, 1)
    scale = (1 / n + 1 / m) / 2
    return value, float(scale * deviation.sum()), float(scale * np.sqrt(max(variance, 0.0)))


def _log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    return -special.betaln(n - k + 1, k + 1) - np.log(n + 1)


@one_blas_thread
def _apart(original: Codes, released: Codes, levels: Sequence[int]) -> dict[str, _Distance]:
    """Share of which file a record is from that a regression explains, and the ratio of pMSE."""
    n, m, free = len(original), len(released), np.array(levels) - 1
    n_single = int(free.sum())
    n_pairs = int(n_single**2 - (free**2).sum()) // 2
    n_rows = len(distinct(np.concatenate([original, released]))[1])
    k = 1.0 + n_single + n_pairs
    pairs = n_rows * k**2 <= MOST_PRODUCTS and k <= (n + m) / 10  # chance then explains a tenth
    part = 1.0 if pairs else min(1.0, MOST_PRODUCTS / (n_rows * (1.0 + n_single) ** 2))
    first, second = (
        z[np.linspace(0, len(z) - 1, max(int(part * len(z)), 2)).astype(int)]
        for z in (original, released)
    )
    combination, total, inverse = distinct(np.concatenate([first, second]))
    events = np.bincount(inverse[len(first) :], minlength=len(total))
    single = np.column_stack(
        [combination[:, k] == level for k, size in enumerate(levels) for level in range(1, size)]
        or [np.zeros((len(total), 0))]
    ).astype(float)
    variable = np.repeat(np.arange(len(levels)), free)
    i, j = np.triu_indices(n_single if pairs else 0, 1)
    i, j = i[variable[i] != variable[j]], j[variable[i] != variable[j]]
    design = np.hstack([np.ones((len(total), 1)), single, single[:, i] * single[:, j]])
    design = design[:, design.any(axis=0)]
    gram, moments = (design * total[:, None]).T @ design, design.T @ events
    values, vectors = np.linalg.eigh(gram)
    known = values > 1e-10 * values[-1]
    projected = vectors[:, known].T @ moments
    records, c = int(total.sum()), len(second) / int(total.sum())
    explained = float((projected**2 / values[known]).sum() - records * c**2) / (
        records * c * (1 - c)
    )
    df, left = int(known.sum()) - 1, records - int(known.sum())
    if not df or not left:
        return {"told apart": (np.nan, np.nan, np.nan, np.nan, "", True)}
    fresh, a, b = df / (records - 1), df / 2, left / 2
    spread = float(np.sqrt(a * b / (a + b + 1)) / (a + b))  # beta, as of normal errors
    error = spread * np.sqrt(1 + 2 * max(explained / fresh - 1, 0.0))
    where = f"{len(known):,} parameters" + f", {records:,} records" * (records < n + m)
    scale = 1 / (fresh * (1 - c))  # of a correct model the mean is this times smaller
    return {
        "told apart": (explained, fresh, spread, error, where, explained - fresh > TIE * spread),
        "pMSE ratio": (explained * scale, fresh * scale, spread * scale, error * scale, "", False),
    }


def _intervals(
    original: Codes, released: Codes, schema: Schema, keys: Sequence[int], target: int
) -> dict[str, _Distance]:
    """Compare coefficients of the target's most frequent value on the keys, by least squares."""
    usual = [np.bincount(column).argmax() for column in original.T]
    chosen = [(k, c) for k in keys for c in range(int(schema.n_levels[k])) if c != usual[k]]
    one, other = (
        _least_squares(z, chosen, z[:, target] == usual[target]) for z in (original, released)
    )
    known = np.isfinite(one + other).all(axis=0)
    if not known.any():
        return {"intervals": (np.nan, np.nan, np.nan, np.nan, "", True)}
    (b, se), (b_other, se_other) = one[:, known], other[:, known]
    gap, both = np.abs(b - b_other), np.hypot(se, se_other)
    # Coefficients of one variable move together, so that no more than half of them count.
    count, mean = max(len(gap) / 2, 1.0), np.sqrt(2 / np.pi)
    spread = float(np.sqrt((1 - mean**2) * (both**2).mean() / count))
    k, level = np.array(chosen)[known][(gap - mean * both).argmax()]
    where = f"{schema.names[k]}: {schema.variables[k].labels[level]}"
    value, fresh = float(gap.mean()), float(mean * both.mean())
    error = float(np.sqrt((se_other**2).mean() / count))
    wide, wide_other = 2 * special.ndtri(0.975) * np.array([se, se_other])

    def overlap(gap: Floats) -> Floats:
        common = np.minimum(np.minimum(wide, wide_other), (wide + wide_other) / 2 - gap)
        return (common / wide + common / wide_other) / 2

    chance = np.abs(special.ndtri((np.arange(200) + 0.5) / 200))[:, None]  # of a normal difference
    slope = (1 / wide + 1 / wide_other) / 2  # the overlap falls no faster with the gap
    moves, of_other = (np.sqrt(((slope * x) ** 2).mean() / count) for x in (both, se_other))
    of_chance = float(overlap(chance * both).mean())
    common = (float(overlap(gap).mean()), of_chance, float(moves * np.sqrt(1 - mean**2)))
    return {
        "intervals": (value, fresh, spread, error, where, value - fresh > TIE * spread),
        "overlap": (*common, float(of_other), "", False),
    }


@one_blas_thread
def _least_squares(codes: Codes, chosen: Sequence[tuple[int, int]], y: NDArray[np.bool_]) -> Floats:
    """Coefficients of indicators and standard errors, (2, terms); NaN where not determined."""
    n, size = len(codes), 1 + len(chosen)
    gram, moments = np.zeros((size, size)), np.zeros(size)
    for start in range(0, n, 1 << 16):
        some = codes[start : start + (1 << 16)]
        x = np.column_stack([np.ones(len(some)), *(some[:, k] == c for k, c in chosen)])
        gram, moments = gram + x.T @ x, moments + x.T @ y[start : start + len(some)]
    values, vectors = np.linalg.eigh(gram)
    inside = values > 1e-10 * values[-1]
    inverse = (vectors[:, inside] / values[inside]) @ vectors[:, inside].T
    estimate, df = inverse @ moments, n - int(inside.sum())
    left = float(y.sum() - estimate @ moments)
    # A perfect fit has no standard errors, and coefficients with a part in the null space no value.
    variance = left / df if df > 0 and left > 1e-9 * n else np.nan
    fitted = (vectors[:, ~inside] ** 2).sum(axis=1) < 1e-8
    error = np.sqrt(variance * np.diag(inverse).clip(min=0))
    return np.where(fitted, [estimate, error], np.nan)[:, 1:]
