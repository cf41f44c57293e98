r"""Attribute disclosure of a number, within a tolerance that the user names.

Levels are equal or not; numbers are near or far. A file tells a person's number :math:`x` within
the tolerance :math:`\tau` if it has records with the person's keys, and

.. math:: \max_j |z_j - x| \le \tau

over the numbers :math:`z_j` of all of them. Any guess between the least and the largest of these,
among them their mean and median, is then right within the tolerance, and they lie within
:math:`2 \tau` of one another, which an intruder sees. With :math:`\tau = 0` it is DiSCO (Raab,
Nowok and Dibben 2024) of numbers that are not cut. One record that is further off, or has no
number, speaks against all others, as it does there.

That a number is disclosed if it can be told within a stated distance is the rule for tables of
magnitudes: within p percent, where it could be told within q percent before (Hundepool et al. 2010,
Handbook on Statistical Disclosure Control 1.2). Giomi, Boenisch, Wehmeyer and Tasnádi (2022,
arXiv:2211.10459) count the guess of a number as right within five percent, in their software. Such
distances are relative; here the tolerance is the same for all, as incomes may be zero.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srlib.assessment.leakage import Beyond, OfEach, by_counts, of_all
from srlib.assessment.matching import checked
from srlib.data.codes import Codes, Levels, row_numbers

Numbers = NDArray[np.float64]
"""The target's numbers in a table, (n,); NaN where there is none."""

_ROUNDING = 1e-12  # 1.1 - 1.0 is above 0.1 in floating point, and is to count as 0.1


def within(
    original: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    numbers: tuple[Numbers, Numbers],
    tolerance: float,
) -> Beyond:
    """Share of people of whom all records with their keys tell the number within a tolerance.

    The baselines and errors are those of `leakage.attributes`, with "within the tolerance" in the
    place of "equal": other people's records are the original's without the person's own, and
    margins draw the numbers of the released records with the person's keys from all released ones.

    Parameters
    ----------
    original, released, n_levels, keys
        As of `leakage.attributes`.
    numbers : ((n,) float, (n*,) float)
        The target in the original and in the release, NaN where there is no number: such people
        are not counted, and such records tell no number.
    tolerance : float
        Distance up to which a number is told, 0 or more, in the units of the target.

    Returns
    -------
    Beyond
        Of all people in the file who have a number.

    Raises
    ------
    ValueError
        As `leakage.attributes`, if a table has not a number for each record, or for the tolerance.

    Examples
    --------
    >>> town = np.array([[0], [0], [1], [1]])
    >>> wages = np.array([1000.0, 1200.0, 1500.0, 1900.0])
    >>> within(town, town, [2], [0], (wages, wages), tolerance=200).value
    0.5
    """
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance}; it must be 0 or more")
    tables, levels = checked(original, [released], n_levels, keys)
    n, m = map(len, tables)
    if [*map(np.shape, numbers)] != [(n,), (m,)]:
        raise ValueError(
            f"numbers have the shapes {[*map(np.shape, numbers)]}; they must be ({n},) and ({m},)"
        )
    truth, told = (np.asarray(each, dtype=np.float64) for each in numbers)
    key = row_numbers(np.concatenate(tables), levels)
    counted = ~np.isnan(truth)
    group, truth_of = key[:n][counted], truth[counted]
    d, d_t = near(group, truth_of, key[:n], truth, tolerance)
    s, s_t = near(group, truth_of, key[n:], told, tolerance)
    everywhere = np.zeros(n + m, np.intp)
    _, alike = near(everywhere[: len(group)], truth_of, everywhere[:m], told, tolerance)
    found = by_counts(d, d_t, s, s_t, alike / m, (n, m))
    return of_all(OfEach(np.ones(len(group), np.bool_), *found, group), m > n)


def near(
    group: NDArray[np.intp],
    truth: Numbers,
    of_records: NDArray[np.intp],
    values: Numbers,
    tolerance: float,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count the records with each person's keys, and those within the tolerance.

    Parameters
    ----------
    group, of_records : (n_people,), (n_records,) int
        Keys of people and of records, as numbers from 0.
    truth, values : (n_people,), (n_records,) float
        Numbers of people, and of records, where NaN is near nothing.
    tolerance : float
        0 or more. What rounding adds to a difference is overlooked.

    Returns
    -------
    records, right : (n_people,) int
    """
    size = int(max(group.max(initial=-1), of_records.max(initial=-1))) + 1
    known = ~np.isnan(values)
    ranked = np.unique(values[known])
    # Records in order of their keys and then of their numbers: those of one person are a stretch.
    width = len(ranked) + 1
    placed = np.sort(of_records[known] * width + np.searchsorted(ranked, values[known]))
    reach = tolerance + _ROUNDING * (np.abs(truth) + tolerance)
    first = np.searchsorted(ranked, truth - reach, side="left")
    last = np.searchsorted(ranked, truth + reach, side="right")
    right = np.searchsorted(placed, group * width + last) - np.searchsorted(
        placed, group * width + first
    )
    return np.bincount(of_records, minlength=size)[group], right


def told_within(
    people: Codes,
    truth: Numbers,
    released: Codes,
    told: Numbers,
    n_levels: Levels,
    keys: Sequence[int],
    tolerance: float,
) -> NDArray[np.bool_]:
    """Say of whom a release tells the number within a tolerance: people in the file or others.

    Parameters
    ----------
    people, released : (n, p), (n*, p) int
        Codes from 0.
    truth, told : (n,), (n*,) float
        Their numbers; people without one are left out.
    n_levels, keys, tolerance
        As of `within`.

    Returns
    -------
    (n_counted,) bool
    """
    tables, levels = checked(people, [released], n_levels, keys)
    key, counted = row_numbers(np.concatenate(tables), levels), ~np.isnan(truth)
    n = len(tables[0])
    s, s_t = near(key[:n][counted], truth[counted], key[n:], told, tolerance)
    return (s > 0) & (s_t == s)


def checked_tolerance(tolerance: ArrayLike | None) -> float:
    """Return the tolerance as a number, 0 where none is named.

    Raises
    ------
    ValueError
        If it is no finite number from 0.
    """
    if tolerance is None or (isinstance(tolerance, str) and not tolerance):
        return 0.0
    if not isinstance(tolerance, int | float | np.number) or isinstance(tolerance, bool):
        raise ValueError(f"tolerance is {tolerance!r}; it must be a number, 0 for none")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance:g}; it must be 0 (none) or more")
    return float(tolerance)
