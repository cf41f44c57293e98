"""Three measures that agencies report, from the original and the released table alone.

An intruder knows the keys q of records of the original table, looks them up in the released one,
and takes what is found there for the truth. Let d_q and s_q count the records with the keys q in
the original table (n in all) and in the released one (n*), and d_tq and s_tq those of them with
target t. The measures are shares, in [0, 1]:

- repU, replicated uniques (Raab, Nowok and Dibben 2024, arXiv:2406.16826, section 3.2): original
  records with d_q = s_q = 1, of n;
- DiSCO, disclosive in synthetic and correct in original (section 3.3): original records with s_tq =
  s_q > 0 for their own target t, of n;
- TCAP (Taub and Elliot 2019, UNECE work session on statistical data confidentiality): the mean of
  d_tq / d_q over the released records with s_tq = s_q (disclosive) and d_q > 0 (matched).

A baseline is the expected value for a release that knows the original's margins only: of repU, with
n* records whose keys are drawn independently, each from its margin; of DiSCO, with the released
keys and targets drawn from the target's margin; of TCAP, the ratio of the expected numbers of
records above and below the line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.data.codes import Codes, Levels, row_numbers
from srlib.threads import one_blas_thread

DECIDING = 10
"""Other people with a level of a key, all of one target, from which on the level decides it."""


@dataclass(frozen=True)
class Comparison:
    """One released table held against the original, in the names that the module defines.

    Attributes
    ----------
    flags : DataFrame
        One row an original record, in their order; bool columns repU and DiSCO say whether the
        record counts.
    measures, baselines : dict of str to float
        repU, DiSCO and TCAP, in [0, 1]; the last is NaN where there are no records to take the
        share of.
    """

    flags: pd.DataFrame
    measures: dict[str, float]
    baselines: dict[str, float]


def compare(
    original: Codes, released: Codes, n_levels: Levels, keys: Sequence[int], target: int
) -> Comparison:
    """Find and count the original records that one released table singles out or discloses.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0 of the original records.
    released : (n*, p) int
        Codes of the released records, in any order.
    n_levels : (p,) int
        Number of levels of each variable.
    keys : sequence of int
        Columns that the intruder knows, one or more.
    target : int
        Column that the intruder wants to know.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a column is out of range or occurs twice, or if a table has another number of columns,
        no records, or codes in these columns that are not integers from 0 to n_levels - 1.
    """
    tables, levels = checked(original, [released], n_levels, keys, target)
    return _compare(tables[0], tables[1], levels)


def decided_by_one_key(
    original: Codes, n_levels: Levels, keys: Sequence[int], target: int
) -> NDArray[np.bool_]:
    """Find the people whose target everybody knows who knows one thing about them.

    Of these, `DECIDING` or more other people share the level of one key, and all have their target.
    That disclosures may come from a single level of one key is what the package synthpop (1.9-3)
    checks by pairs of levels; the rule here is ours.

    Parameters
    ----------
    original, n_levels, keys, target
        As `compare`.

    Returns
    -------
    (n,) bool
    """
    wanted, found = original[:, target].astype(np.int64), np.zeros(len(original), dtype=bool)
    for key in keys:
        pairs = original[:, key].astype(np.int64) * n_levels[target] + wanted
        same_both = np.bincount(pairs)[pairs]
        same_key = np.bincount(original[:, key])[original[:, key]]
        found |= (same_both == same_key) & (same_key > DECIDING)
    return found


def measures(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
) -> pd.DataFrame:
    """Measure identity and attribute disclosure over several releases of the same original.

    Parameters
    ----------
    original, n_levels, keys, target
        As `compare`.
    released : sequence of (n*, p) int
        One or more released tables.

    Returns
    -------
    DataFrame
        One row a measure of `Comparison`: measure; releases, the number m where it has a value;
        mean, sd (divisor m - 1, NaN for one release) and se = sd / sqrt(m) over these; and
        baseline, averaged in the same way.

    Raises
    ------
    ValueError
        As `compare`, or if there is no release.
    """
    return _measures(*checked(original, released, n_levels, keys, target))


def over_releases(values: pd.DataFrame, baselines: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread of each measure over the releases where it has a value.

    Parameters
    ----------
    values, baselines : DataFrame
        One row a release, one column a measure; `baselines` may lack measures.

    Returns
    -------
    DataFrame
        One row a measure: measure, releases, mean, sd, se and baseline, as `measures` returns.
    """
    columns = {
        "releases": values.count(),
        "mean": values.mean(),
        "sd": values.std(),
        "se": values.sem(),
        "baseline": baselines.mean().reindex(values.columns),
    }
    return pd.DataFrame(columns).rename_axis("measure").reset_index()


def checked(
    original: Codes,
    released: Sequence[Codes],
    n_levels: Levels,
    keys: Sequence[int],
    target: int | None = None,
) -> tuple[list[Codes], list[int]]:
    """Return the keys and then the target of each table, the original first, and their levels."""
    p, columns = len(n_levels), [int(key) for key in keys]
    if not columns:
        raise ValueError("keys is empty; it must have one column or more")
    if target is not None:
        columns.append(int(target))
    if any(not 0 <= column < p for column in columns) or len(set(columns)) < len(columns):
        raise ValueError(
            f"keys and target are the columns {columns}; they must differ and lie in 0 to {p - 1}"
        )
    if len(released) == 0:
        raise ValueError("released is empty; it must have one released table or more")
    levels = [int(n_levels[column]) for column in columns]
    tables: list[Codes] = []
    for i, codes in enumerate([original, *released]):
        name, codes = f"released[{i - 1}]" if i else "original", np.asarray(codes)
        if codes.ndim != 2 or codes.shape[1] != p or len(codes) == 0:
            raise ValueError(f"{name} has shape {codes.shape}; it must be (1 or more, {p})")
        if not np.issubdtype(codes.dtype, np.integer):
            raise ValueError(f"{name} has type {codes.dtype}; it must be of integers from 0")
        codes = codes[:, columns]
        for column, n, values in zip(columns, levels, codes.T, strict=True):
            if values.min() < 0 or values.max() >= n:
                raise ValueError(
                    f"{name}, column {column}, runs from {values.min()} to {values.max()}; it "
                    f"must lie in 0 to {n - 1}"
                )
        tables.append(codes.astype(np.int64))
    return tables, levels


def _tally(
    group: NDArray[np.intp], target: Codes, n_groups: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Records in each group, and the target that all of them have or -1, each (n_groups,)."""
    level = np.full(n_groups, -1, np.int64)
    level[group] = target  # of one of the group's records, whichever
    others = np.bincount(group, target != level[group], minlength=n_groups)
    return np.bincount(group, minlength=n_groups), np.where(others > 0, -1, level)


def _compare(original: Codes, released: Codes, levels: Sequence[int]) -> Comparison:
    """As `compare`, for tables of the keys and, in the last column, the target."""
    n, target = len(original), original[:, -1]
    keys = np.concatenate([original[:, :-1], released[:, :-1]])
    group = row_numbers(keys, levels[:-1])
    n_groups, q = int(group.max()) + 1, group[:n]
    d = np.bincount(q, minlength=n_groups)
    s, shared_released = _tally(group[n:], released[:, -1], n_groups)
    told = shared_released[q] == target
    flags = pd.DataFrame({"repU": (d[q] == 1) & (s[q] == 1), "DiSCO": told})
    # The mean over released records: a group counts s_q times.
    aim = (shared_released >= 0) & (d > 0)
    right = np.bincount(q, told, minlength=n_groups)[aim] / d[aim]
    values = flags.mean().to_dict()
    values["TCAP"] = float(np.average(right, weights=s[aim])) if aim.any() else np.nan
    return Comparison(flags, values, _baselines(original, len(released), d[q], s[q]))


@one_blas_thread
def _baselines(
    original: Codes,
    n_released: int,
    d: NDArray[np.intp],
    s: NDArray[np.intp],
) -> dict[str, float]:
    """Expected measures of a release that knows the margins only; d and s are each record's."""
    *of_keys, p = (share_alike(column) for column in original.T)
    key_prob = np.prod(of_keys, axis=0)  # keys drawn independently are the record's
    once = n_released * key_prob * (1 - key_prob) ** (n_released - 1)
    # s draws of the target all are u with probability p_u^s; n p_u records have it.
    sizes, which = np.unique(s, return_inverse=True)
    shares, records = np.unique(p, return_counts=True)
    same = np.where(s > 0, (records / len(p) @ shares[:, None] ** (sizes - 1.0))[which], 0.0)
    own = np.where(s > 0, p**s, 0.0)
    return {
        "repU": float((once * (d == 1)).mean()),
        "DiSCO": float(own.mean()),
        "TCAP": _ratio(float(s / d @ own), float(s / d @ same)),
    }


def _ratio(part: float, whole: float) -> float:
    """Return a share, NaN of nothing."""
    return float(part / whole) if whole > 0 else np.nan


def share_alike(column: Codes) -> NDArray[np.float64]:
    """Share of the records that have the level of each record, (n,)."""
    level = pd.factorize(column)[0]
    return np.bincount(level)[level] / len(column)


def _measures(tables: Sequence[Codes], levels: Sequence[int]) -> pd.DataFrame:
    """As `measures`, for tables of the keys and, in the last column, the target."""
    return _averaged([_compare(tables[0], released, levels) for released in tables[1:]])


def _averaged(found: Sequence[Comparison]) -> pd.DataFrame:
    """Average comparisons over the releases."""
    return over_releases(
        pd.DataFrame([each.measures for each in found]),
        pd.DataFrame([each.baselines for each in found]),
    )
