r"""Utility of a release: its distances from the original, and a fresh sample's.

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

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import sparse, special

from srlib.arrays import Bools, Floats, Ints, evenly_spaced
from srlib.assessment.counts import Row, new_row
from srlib.data.codes import Codes, distinct
from srlib.data.schema import Schema
from srlib.margins import total_variation
from srlib.threads import one_blas_thread

TIE = 3.0  # standard errors: a smaller difference counts as none
# Utility is good up to the first utility loss, limited up to the second, and poor
# above.
GOOD = 0.05
LIMITED = 0.15
MOST_PRODUCTS = 4e9  # combinations times squared parameters of a regression: one second

LOSSES = ("one-way tables", "two-way tables", "distinguishability")


def utility_rows(
    schema: Schema, original: Codes, released: Sequence[Codes]
) -> list[Row]:
    """Return a row for each distance, with means over the releases of one synthesizer.

    Standard errors are those of another release by the same synthesizer; those of the
    baseline, of another fresh sample.
    """
    columns = range(len(schema.names))
    single = [(k, k) for k in columns]
    measures: dict[str, Callable[..., Row]] = {
        "one-way tables": partial(largest_distance, pairs=single),
        "two-way tables": partial(largest_distance, pairs=[*combinations(columns, 2)]),
        "distinguishability": distinguishability,
    }
    rows = []
    for question, measure in measures.items():
        distances = [measure(original, z, schema) for z in released]
        rows.append(_row(question, distances, len(released[0])))
    return rows


def _row(
    question: str,
    distances: Sequence[Row],
    n: int,
) -> Row:
    """Return the row of a distance, with the means over releases and a rating.

    A distance of one release has `variables` and `detail`; estimate and se, its error
    over releases; baseline and baseline_se, its mean and standard deviation for a fresh
    sample; and whether it `is_significant`, larger than by chance. It is empty where it
    cannot be estimated.
    """
    row = new_row(question, n, baseline_kind="fresh sample")
    known = pd.DataFrame(filter(None, distances))
    if known.empty:
        return row
    mean = known.mean(numeric_only=True).to_dict()
    if len(known) > 1:
        mean["se"] = known["estimate"].sem()
    excess = mean["estimate"] - mean["baseline"]
    spread = mean["baseline_se"]
    return (
        row
        | mean
        | {
            "variables": " / ".join(known["variables"].unique()),
            "detail": " / ".join(known["detail"].unique()),
            "z": excess / spread if spread else np.nan,
            "rating": rate_utility(excess, mean["is_significant"] >= 0.5),
        }
    )


def rate_utility(loss: float, is_significant: bool) -> str:
    """Return the rating of a utility loss, by its size if it is significant."""
    if not is_significant:
        return "like a fresh sample"
    if loss <= GOOD:
        return "good"
    return "limited" if loss <= LIMITED else "poor"


def largest_distance(
    original: Codes,
    released: Codes,
    schema: Schema,
    pairs: Sequence[tuple[int, int]],
) -> Row:
    """Return the table of two variables (or one) with the largest excess."""
    levels = schema.n_levels.tolist()
    distances = [total_variation(original, released, levels, *pair) for pair in pairs]
    estimate, baseline, spread = np.transpose(distances)  # (n_pairs,) each
    is_significant = _is_larger(estimate, baseline, spread)
    # Significant ones first, then by their excess.
    largest = np.lexsort((estimate - baseline, is_significant))[-1]
    names = dict.fromkeys(schema.names[k] for k in pairs[largest])
    return {
        "variables": " × ".join(names),
        "detail": f"largest of {len(pairs):,}",
        "estimate": estimate[largest],
        "se": 0.5 / np.sqrt(len(released)),
        "baseline": baseline[largest],
        "baseline_se": spread[largest],
        "is_significant": is_significant[largest],
    }


def _is_larger(
    estimate: Floats,
    baseline: Floats,
    spread: Floats,
) -> Bools:
    """Return whether each of several distances is larger than by chance.

    Distances have gamma rather than normal tails, with their mean and deviation; the
    largest of many must be as improbable as `TIE` standard errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = (baseline / spread) ** 2
        tail = special.gammaincc(shape, baseline / spread**2 * estimate)
    certain = estimate <= baseline + 1e-12
    tail = np.where(spread > 0, tail, certain)
    log_limit = special.log_ndtr(-TIE) - np.log(len(estimate))
    return np.log(np.maximum(tail, 1e-300)) < log_limit


@one_blas_thread
def distinguishability(
    original: Codes,
    released: Codes,
    schema: Schema,
) -> Row:
    """Return the share of the variance of a record's file explained by regression."""
    n_records = len(original) + len(released)
    with_pairs, share = _affordable_regression(original, released, schema)
    original = evenly_spaced(original, max(int(share * len(original)), 2))
    released = evenly_spaced(released, max(int(share * len(released)), 2))
    size = len(original) + len(released)
    n_single = 1 + (schema.n_levels - 1).sum()
    if n_single > size / 10:  # chance explains too much
        return {}
    n_parameters, explained = _regress(original, released, schema.n_levels, with_pairs)
    if n_parameters in (1, size):
        return {}
    where = f"{n_parameters:,} parameters"
    if size < n_records:
        where += f", {size:,} records"
    about = {"variables": "all", "detail": where}
    return about | _explained_distance(n_parameters, size, explained)


def _affordable_regression(
    original: Codes,
    released: Codes,
    schema: Schema,
) -> tuple[bool, float]:
    """Return whether there is time for pairs, and for which share of the records.

    Pairs also need that chance explains at most a tenth.
    """
    both = np.concatenate([original, released])
    n_combinations = len(distinct(both)[1])
    free = schema.n_levels - 1  # parameters of each variable
    n_single = 1.0 + free.sum()
    n_all = n_single + (free.sum() ** 2 - (free**2).sum()) / 2
    has_time = n_combinations * n_all**2 <= MOST_PRODUCTS
    share = MOST_PRODUCTS / (n_combinations * n_single**2)
    return bool(has_time and n_all <= len(both) / 10), min(1.0, share)


def _explained_distance(
    n_parameters: int,
    size: int,
    explained: float,
) -> Row:
    """Compare the share of the variance explained with that under a random split.

    It is then beta distributed, as for normal errors.
    """
    a = (n_parameters - 1) / 2
    b = (size - n_parameters) / 2
    baseline = a / (a + b)
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    excess = max(explained / baseline - 1, 0.0)
    return {
        "estimate": explained,
        "se": spread * (1 - explained) * np.sqrt(1 + 2 * excess),
        "baseline": baseline,
        "baseline_se": spread,
        "is_significant": explained - baseline > TIE * spread,
    }


def _indicators(
    codes: Codes,
    n_levels: Ints,
    with_pairs: bool,
) -> sparse.csr_matrix:
    """Return indicators of levels and, if wished, of pairs, (n, n_indicators)."""
    from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

    levels = list(map(np.arange, n_levels))
    single = OneHotEncoder(categories=levels, drop="first").fit_transform(codes)
    products = PolynomialFeatures(2 if with_pairs else 1, interaction_only=True)
    design = products.fit_transform(single)
    return design[:, design.getnnz(axis=0) > 0]


def _regress(
    original: Codes, released: Codes, n_levels: Ints, with_pairs: bool
) -> tuple[int, float]:
    """Return the number of estimable parameters, and the share of variance explained.

    The regression is that of the indicator of released records, by the eigenvalues of
    the normal equations over distinct combinations.
    """
    both = np.concatenate([original, released])
    combination, total, combination_of = distinct(both)
    n_released = np.bincount(combination_of[len(original) :], minlength=len(total))
    design = _indicators(combination, n_levels, with_pairs)
    products = design.multiply(total[:, None]).T @ design
    values, vectors = np.linalg.eigh(products.toarray())
    is_estimable = values > 1e-10 * values[-1]
    along = vectors[:, is_estimable].T @ (design.T @ n_released)
    squares = (along**2 / values[is_estimable]).sum()
    c = len(released) / len(both)
    explained = max(squares / len(both) - c**2, 0.0) / (c * (1 - c))
    return is_estimable.sum(), explained
