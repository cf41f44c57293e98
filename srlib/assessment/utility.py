r"""Utility of a release: its distances from the original, compared with those of a fresh sample.

A fresh sample of the population differs from the original like two halves of a random
split of both files. Distances of a release are compared with those of such splits, in
closed form. The *utility loss* is the excess, a share in [0, 1] for all three: the
largest total variation distance of one variable (one-way tables) and of two (two-way
tables), and the share of the variance of a record's file that a regression explains
(distinguishability), which is the propensity score mean squared error (pMSE; Woo,
Reiter, Oganian and Karr 2009) over c (1 - c), with c the share of released records.

The regression is linear, by least squares on indicators of levels and, if time allows,
of pairs of levels. With N records and k estimable parameters a random split explains
exactly (k - 1) / (N - 1) on average. A logistic regression has such a law only for many
records, has no estimate where a level occurs in one file only, and explains the same to
first order where the files are alike.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from scipy import special

from srlib.assessment.counts import Row, new_row, se_between_releases
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Schema
from srlib.margins import total_variation
from srlib.threads import one_blas_thread

TIE = 3.0  # standard errors: a smaller difference counts as none
# Utility is good up to the first utility loss, limited up to the second, and poor
# above.
GOOD, LIMITED = 0.05, 0.15
MOST_PRODUCTS = 4e9  # combinations times squared parameters of a regression: one second

LOSSES = ("one-way tables", "two-way tables", "distinguishability")
NUMBERS = ["estimate", "baseline", "spread", "se"]
# Question, variables, estimate, a fresh sample's mean and deviation, se, whether
# significant.
type Distance = tuple[str, str, float, float, float, float, bool]


def utility_rows(
    schema: Schema, original: Codes, released: Sequence[Codes]
) -> list[Row]:
    """Return a row for each distance, with means over the releases of one synthesizer.

    Standard errors are those of another release by the same synthesizer; those of the
    baseline, of another fresh sample.
    """
    distances = list[Distance]()
    for release in released:
        distances += _largest_distances(original, release, schema)
        distances.append(distinguishability(original, release, schema))
    n_variables = len(schema.names)
    n_tables = {"one-way tables": n_variables, "two-way tables": comb(n_variables, 2)}
    columns, answers = ["question", "where", *NUMBERS, "sure"], list[Row]()
    for question, each in pd.DataFrame(distances, columns=columns).groupby(
        "question", sort=False
    ):
        known = each.dropna(subset="estimate")
        mean = known[NUMBERS].mean()
        value, fresh = float(mean["estimate"]), float(mean["baseline"])
        spread, error = float(mean["spread"]), float(mean["se"])
        if len(known) > 1:
            error = se_between_releases(known["estimate"].tolist())
        z = (value - fresh) / spread if spread else np.nan
        where = " / ".join(known["where"].unique())
        if question == "distinguishability":
            variables, detail = "all", where
        else:
            variables, detail = where, f"largest of {n_tables[question]:,}"
        answers.append(
            new_row(
                question,
                len(released[0]),
                variables=variables,
                detail=detail,
                estimate=value,
                se=error,
                baseline=fresh,
                baseline_se=spread,
                z=z,
            )
        )
        loss = (
            rate_utility(value - fresh, known["sure"].mean() >= 0.5)
            if len(known)
            else ""
        )
        answers[-1] |= {"rating": loss, "baseline_kind": "fresh sample"}
    return answers


def rate_utility(loss: float, clear: bool) -> str:
    """Return the rating of a utility loss, by its size if it is significant."""
    if not clear:
        return "like a fresh sample"
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


def _largest_distances(
    original: Codes, released: Codes, schema: Schema
) -> list[Distance]:
    """Return the largest excess distances of one-way and of two-way tables over a random split."""
    found, levels, error = [], schema.n_levels.tolist(), 0.5 / np.sqrt(len(released))
    columns = range(len(levels))
    for question, some in (
        ("one-way tables", [(k, k) for k in columns]),
        ("two-way tables", list(combinations(columns, 2))),
    ):
        each = [total_variation(original, released, levels, *at) for at in some]
        value, fresh, spread = np.transpose(each)
        # Distances have gamma rather than normal tails, with their mean and deviation;
        # the largest of many must be as improbable as TIE standard errors.
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = special.gammaincc((fresh / spread) ** 2, fresh / spread**2 * value)
        tail = np.where(spread > 0, tail, np.where(value > fresh + 1e-12, 0.0, 1.0))
        sure = np.log(np.maximum(tail, 1e-300)) < special.log_ndtr(-TIE) - np.log(
            len(some)
        )
        at = max(range(len(some)), key=lambda k: (sure[k], value[k] - fresh[k]))
        where = " × ".join(dict.fromkeys(schema.names[k] for k in some[at]))
        found.append(
            (question, where, value[at], fresh[at], spread[at], error, bool(sure[at]))
        )
    return found


@one_blas_thread
def distinguishability(original: Codes, released: Codes, schema: Schema) -> Distance:
    """Return the share of the variance of a record's file that a regression explains."""
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

    n, m, free = len(original), len(released), schema.n_levels - 1
    terms, of_pairs = 1.0 + free.sum(), (free.sum() ** 2 - (free**2).sum()) / 2
    n_rows = len(distinct(np.concatenate([original, released]))[1])
    # Pairs only if time allows and chance explains at most a tenth.
    pairs = (
        n_rows * (terms + of_pairs) ** 2 <= MOST_PRODUCTS
        and terms + of_pairs <= (n + m) / 10
    )
    part = 1.0 if pairs else min(1.0, MOST_PRODUCTS / (n_rows * terms**2))
    sizes = [max(int(part * k), 2) for k in (n, m)]
    records, c = sum(sizes), sizes[1] / sum(sizes)
    unknown = "distinguishability", "", np.nan, np.nan, np.nan, np.nan, False
    if terms > records / 10 or not free.sum():  # chance explains too much
        return unknown
    some = [
        z[np.linspace(0, len(z) - 1, size).astype(int)]
        for z, size in zip((original, released), sizes, strict=True)
    ]
    combination, total, inverse = distinct(np.concatenate(some))
    events = np.bincount(inverse[sizes[0] :], minlength=len(total))
    levels = [np.arange(size) for size in schema.n_levels]
    single = OneHotEncoder(categories=levels, drop="first")
    products = PolynomialFeatures(2 if pairs else 1, interaction_only=True)
    design = products.fit_transform(single.fit_transform(combination))
    design = design[:, design.getnnz(axis=0) > 0]
    values, vectors = np.linalg.eigh(
        (design.multiply(total[:, None]).T @ design).toarray()
    )
    known = values > 1e-10 * values[-1]
    squares = (vectors[:, known].T @ (design.T @ events)) ** 2 / values[known]
    if (size := int(known.sum())) in (1, records):
        return unknown
    explained = max(squares.sum() / records - c**2, 0.0) / (c * (1 - c))
    fresh, a, b = (size - 1) / (records - 1), (size - 1) / 2, (records - size) / 2
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)  # beta, as for normal errors
    error = spread * (1 - explained) * np.sqrt(1 + 2 * max(explained / fresh - 1, 0.0))
    where = f"{size:,} parameters" + f", {records:,} records" * (records < n + m)
    sure = bool(explained - fresh > TIE * spread)
    return "distinguishability", where, explained, fresh, spread, error, sure
