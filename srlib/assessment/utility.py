r"""What a release is good for: its distances from the original, beside those of a fresh sample.

A fresh sample of the population differs from the original as a random division of both files would.
Distances of a release are held against those of such divisions, in closed form. A *loss* is what
lies beyond, a share in [0, 1] for all three: the largest total variation distance of a single
variable (margins) and of two (pairs), and the share of which file a record is from that a
regression explains (told apart), which is the propensity score mean squared error (pMSE; Woo,
Reiter, Oganian and Karr 2009) over c (1 - c), c the released share.

That regression is linear, by least squares on indicators of levels and, where there is time, of
pairs of levels. Of N records and k estimable parameters a random division explains (k - 1) / (N -
1) on average, exactly. A logistic one has such a law for many records only, has no estimate where a
level occurs in one file alone, and explains the same to first order where the files are alike.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special

from srlib.assessment.counts import Row, new_row, se_between_releases
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Schema
from srlib.margins import total_variation
from srlib.threads import one_blas_thread

TIE = 3.0  # a difference of fewer of its errors is none
# A loss beyond a fresh sample's is small up to the first, and limits use up to the second.
GOOD, LIMITED = 0.05, 0.15
MOST_PRODUCTS = 4e9  # combinations times squared parameters of a regression: a second

LOSSES = ("one-way tables", "two-way tables", "distinguishability")
NUMBERS = ["estimate", "baseline", "spread", "se"]
# Question, where, value, a fresh sample's, its deviation, the value's error, and whether sure.
type Distance = tuple[str, str, float, float, float, float, bool]


def utility_rows(schema: Schema, original: Codes, released: Sequence[Codes]) -> list[Row]:
    """Answer what releases of one tool are good for: a row a distance, means over the releases.

    Errors are of another release by the same tool, those of the baseline of another fresh sample.
    """
    found = list[Distance]()
    for release in released:
        found += _largest_distances(original, release, schema)
        found.append(distinguishability(original, release, schema))
    columns, answers = ["question", "where", *NUMBERS, "sure"], list[Row]()
    for question, each in pd.DataFrame(found, columns=columns).groupby("question", sort=False):
        known = each.dropna(subset="estimate")
        mean = known[NUMBERS].mean()
        value, fresh = float(mean["estimate"]), float(mean["baseline"])
        spread, error = float(mean["spread"]), float(mean["se"])
        if len(known) > 1:
            error = se_between_releases(known["estimate"].tolist())
        z = (value - fresh) / spread if spread else np.nan
        where = " / ".join(known["where"].unique())
        of_all = question == "distinguishability"
        variables = "all" if of_all else where
        detail = where if of_all else ""
        answers.append(
            new_row(
                question, len(released[0]), variables=variables, detail=detail,
                estimate=value, se=error, baseline=fresh, baseline_se=spread, z=z,
            )
        )  # fmt: skip
        loss = rate_utility(value - fresh, known["sure"].mean() >= 0.5) if len(known) else ""
        answers[-1] |= {"rating": loss, "baseline_kind": "fresh sample"}
    return answers


def rate_utility(loss: float, clear: bool) -> str:
    """Say how large a loss is that lies beyond chance, or does not."""
    if not clear:
        return "like a fresh sample"
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


def _largest_distances(original: Codes, released: Codes, schema: Schema) -> list[Distance]:
    """Largest distance of single variables, and of pairs, beyond that of a random division."""
    found, levels, error = [], schema.n_levels.tolist(), 0.5 / np.sqrt(len(released))
    columns = range(len(levels))
    for question, some in (("one-way tables", [(k, k) for k in columns]),
                           ("two-way tables", list(combinations(columns, 2)))):  # fmt: skip
        each = [total_variation(original, released, levels, *at) for at in some]
        value, fresh, spread = np.transpose(each)
        # Distances have longer tails than normal ones: gamma with their mean and deviation; and the
        # largest of many is to be as improbable as 3 errors are.
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = special.gammaincc((fresh / spread) ** 2, fresh / spread**2 * value)
        tail = np.where(spread > 0, tail, np.where(value > fresh + 1e-12, 0.0, 1.0))
        sure = np.log(np.maximum(tail, 1e-300)) < special.log_ndtr(-TIE) - np.log(len(some))
        at = max(range(len(some)), key=lambda k: (sure[k], value[k] - fresh[k]))
        where = " × ".join(dict.fromkeys(schema.names[k] for k in some[at]))
        found.append((question, where, value[at], fresh[at], spread[at], error, bool(sure[at])))
    return found


@one_blas_thread
def distinguishability(original: Codes, released: Codes, schema: Schema) -> Distance:
    """Share of which file a record is from that a regression explains."""
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

    n, m, free = len(original), len(released), schema.n_levels - 1
    terms, of_pairs = 1.0 + free.sum(), (free.sum() ** 2 - (free**2).sum()) / 2
    n_rows = len(distinct(np.concatenate([original, released]))[1])
    # Pairs where there is time, and where chance explains no more than a tenth.
    pairs = n_rows * (terms + of_pairs) ** 2 <= MOST_PRODUCTS and terms + of_pairs <= (n + m) / 10
    part = 1.0 if pairs else min(1.0, MOST_PRODUCTS / (n_rows * terms**2))
    sizes = [max(int(part * k), 2) for k in (n, m)]
    records, c = sum(sizes), sizes[1] / sum(sizes)
    unknown = "distinguishability", "", np.nan, np.nan, np.nan, np.nan, False
    if terms > records / 10 or not free.sum():  # chance explains too much
        return unknown
    some = [z[np.linspace(0, len(z) - 1, size).astype(int)]
            for z, size in zip((original, released), sizes, strict=True)]  # fmt: skip
    combination, total, inverse = distinct(np.concatenate(some))
    events = np.bincount(inverse[sizes[0] :], minlength=len(total))
    levels = [np.arange(size) for size in schema.n_levels]
    single = OneHotEncoder(categories=levels, drop="first")
    products = PolynomialFeatures(2 if pairs else 1, interaction_only=True)
    design = products.fit_transform(single.fit_transform(combination))
    design = design[:, design.getnnz(axis=0) > 0]
    values, vectors = np.linalg.eigh((design.multiply(total[:, None]).T @ design).toarray())
    known = values > 1e-10 * values[-1]
    squares = (vectors[:, known].T @ (design.T @ events)) ** 2 / values[known]
    if (size := int(known.sum())) in (1, records):
        return unknown
    explained = max(squares.sum() / records - c**2, 0.0) / (c * (1 - c))
    fresh, a, b = (size - 1) / (records - 1), (size - 1) / 2, (records - size) / 2
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)  # beta, as of normal errors
    error = spread * (1 - explained) * np.sqrt(1 + 2 * max(explained / fresh - 1, 0.0))
    where = f"{size:,} parameters" + f", {records:,} records" * (records < n + m)
    sure = bool(explained - fresh > TIE * spread)
    return "distinguishability", where, explained, fresh, spread, error, sure
