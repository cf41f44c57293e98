"""What a release tells of people in the file beyond what it tells of people held out.

People who were kept out before the synthesizer was fitted are like those in the file in every
respect but this one. What a release says of them is knowledge of the population; what it says more
of the others it says because they took part.

Every measure of the report that is a share of people has such a pair. The nearest
people have a comparison of their own, `leakage.nearest`. The intruder of the
model knows the whole file but one record: of somebody who is not in it the release tells that
intruder nothing that the file does not.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from srlib.assessment.matching import checked
from srlib.assessment.submission import Submission, Uncut
from srlib.assessment.tolerance import Numbers, told_within
from srlib.assessment.verdict import SURE, percent
from srlib.data.codes import Codes, Levels, row_numbers

MEASURES = {
    "copied": "a released record has all their values",
    "copied, alone": "of those alone with all their values: a released record has them",
    "single": "one released record alone has their keys",
    "identity": "of those alone with their keys: a released record has them",
    "repU": "they alone have their keys, and one released record alone",
    "DiSCO": "all released records with their keys have their target",
    "TCAP": "of targets that released records agree on: right (Taub and Elliot 2019)",
}
"""What is counted of people, by name; the abbreviations are those of `matching`."""
WITHIN = {"within": "all released records with their keys are within the tolerance of their target"}
"""The same of a target that is a number, where a tolerance is given."""
SAID = ("copied", "single", "DiSCO", "within")
"""Measures that a sentence is made of."""
LABELS = {
    "copied": "all values released",
    "copied, alone": "of uniques: all values",
    "identity": "of key uniques: keys",
    "DiSCO": "target disclosed (DiSCO)",
    "within": "target within tolerance",
}
"""Measures in the picture, in words short enough for it."""

type Ratios = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Parts of each measure, person by person: it is the sum of the first over that of the second."""


def beyond_held_out(
    original: Codes,
    released: Sequence[Codes],
    held_out: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    no_values: Sequence[int] = (),
) -> pd.DataFrame:
    """Compare shares of people in the file with the same shares of people held out.

    Parameters
    ----------
    original, held_out : (n, p), (h, p) int
        Codes from 0; two people or more each, of the same population, nobody in both.
    released : sequence of (n*, p) int
        Releases of one generator, made of the original; one or more.
    n_levels : (p,) int
        Number of levels of each variable.
    keys : sequence of int
        Columns that the intruder knows.
    target : int
        Column that the intruder wants to know.
    no_values : sequence of int
        Levels of the target that are missing or do not apply: people who have one are left out of
        what is said of targets.

    Returns
    -------
    DataFrame
        A row for each of `MEASURES`: measure; used and held_out, the shares in [0, 1], means over
        the releases; difference, its standard error and 95 % interval, low and high; and z, their
        ratio, 0 where there is neither. NaN where nobody is left to take the share of.

    Raises
    ------
    ValueError
        As `matching.measures`.

    Notes
    -----
    If the release says of people in the file what it says of others, who is in the file and who
    was held out is a random division of the same people. The error is that of such divisions, of
    ratios by linearization, and of measures that depend on others in the same table from between
    groups of people with the same keys (or values), so that it is somewhat too large where the
    difference is not zero. Over several releases it is no smaller than that of their mean.
    """
    everybody, _ = checked(original, [held_out, *released], n_levels, range(len(n_levels)))
    groups = groups_of(np.concatenate(everybody[:2]), n_levels, keys)
    frames = []
    for z in released:
        used, others = ratios(original, held_out, z, n_levels, keys, target, no_values)
        frame = pd.DataFrame({"used": shares(used), "held_out": shares(others)})
        moves = zip(residuals(used).items(), residuals(others).values(), strict=True)
        joined = {
            name: np.concatenate([one / len(original), -other / len(held_out)])
            for (name, one), other in moves
        }
        frames.append(frame.assign(within=pd.Series(variances(joined, groups)) ** 0.5))
    return _over_releases(pd.concat(frames).rename_axis("measure").reset_index())


def _over_releases(of_releases: pd.DataFrame) -> pd.DataFrame:
    """Average over releases; a row a release and measure: measure, used, held_out and within."""
    of_releases["difference"] = of_releases["used"] - of_releases["held_out"]
    grouped = of_releases.groupby("measure", sort=False)
    found = grouped[["used", "held_out", "difference"]].mean()
    between = grouped["difference"].sem().fillna(0)
    error = np.fmax(grouped["within"].mean(), between)
    return with_interval(found, error, 1.96).reset_index()


def with_interval(
    found: pd.DataFrame, error: pd.Series, width: "float | pd.Series"
) -> pd.DataFrame:
    """Add the error of a difference, its interval of so many errors to each side, and z.

    Parameters
    ----------
    found : DataFrame
        With the column difference.
    error, width : Series
        Standard errors, and the half width of an interval in units of them.
    """
    difference = found["difference"]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(difference == 0, 0.0, difference / error)
    return found.assign(
        error=error, low=difference - width * error, high=difference + width * error, z=z
    )


def ratios(
    used: Codes,
    held_out: Codes,
    released: Codes,
    n_levels: Levels,
    keys: Sequence[int],
    target: int,
    no_values: Sequence[int] = (),
) -> tuple[Ratios, Ratios]:
    """Count what a release says of each person who was used, and of each held out.

    Of tables of two sizes, to be alone means so in a random part of the larger one that is as large
    as the smaller, on average over such parts.

    Parameters
    ----------
    used, held_out, n_levels, keys, target, no_values
        As of `beyond_held_out`.
    released : (n*, p) int
        One release.

    Returns
    -------
    used, held_out : dict of str to pair of (n,) float
        By the names of `MEASURES`.

    Raises
    ------
    ValueError
        As `matching.measures`.
    """
    whole, levels = checked(used, [held_out, released], n_levels, range(len(n_levels)))
    parts, part_levels = checked(used, [held_out, released], n_levels, keys, target)
    both = np.concatenate(parts)
    cell = row_numbers(np.concatenate(whole), levels)
    key, right = row_numbers(both[:, :-1], part_levels[:-1]), row_numbers(both, part_levels)
    n, h = len(used), len(held_out)
    of_release = slice(n + h, None)
    agreed = np.zeros(int(key.max()) + 1)  # on how many targets released records agree
    agreed[key[of_release]] = both[of_release, -1]
    apart = np.bincount(
        key[of_release], both[of_release, -1] != agreed[key[of_release]], len(agreed)
    )

    def counted(own: slice) -> Ratios:
        def times(group: NDArray[np.intp], table: slice) -> NDArray[np.intp]:
            return np.bincount(group[table], minlength=int(group.max()) + 1)[group[own]]

        m, size = min(n, h), own.stop - own.start
        of_cell, of_key = (times(group, own) for group in (cell, key))
        alone, key_alone = (_none_among(size, others, m) for others in (of_cell - 1, of_key - 1))
        met, with_keys, with_both = (times(group, of_release) for group in (cell, key, right))
        valued = ~np.isin(both[own, -1], no_values)
        everybody = np.ones(size)
        said = valued & (with_keys > 0) & (apart[key[own]] == 0)
        truly = valued & (with_keys > 0) & (with_both == with_keys)
        weight = said * with_keys / of_key * (1 - _none_among(size + 1, of_key, m + 1))
        pairs = {
            "copied": (met > 0, everybody),
            "copied, alone": (alone * (met > 0), alone),
            "single": (with_keys == 1, everybody),
            "identity": (key_alone * (with_keys > 0), key_alone),
            "repU": (key_alone * (with_keys == 1), everybody),
            "DiSCO": (truly, valued),
            "TCAP": (weight * truly, weight),
        }
        return {name: (a.astype(float), b.astype(float)) for name, (a, b) in pairs.items()}

    return counted(slice(0, n)), counted(slice(n, n + h))


def shares(parts: Ratios) -> dict[str, float]:
    """Return each measure from its parts; NaN of nobody."""
    return {name: a.sum() / b.sum() if b.any() else np.nan for name, (a, b) in parts.items()}


def residuals(parts: Ratios) -> dict[str, NDArray[np.float64]]:
    """Return by how much each person moves each ratio, times the number of people, (n,)."""
    share = shares(parts)
    return {
        name: (a - share[name] * b) / b.mean() if b.any() else np.full(len(a), np.nan)
        for name, (a, b) in parts.items()
    }


def groups_of(people: Codes, n_levels: Levels, keys: Sequence[int]) -> dict[str, NDArray[np.intp]]:
    """Return for each measure groups of people, (n,), whose parts of it move independently.

    Whether somebody is alone is up to those with the same values or keys; of other measures
    everybody is a group.
    """
    people = np.asarray(people).astype(np.int64)
    by_key = row_numbers(people[:, list(keys)], [int(n_levels[key]) for key in keys])
    groups = {name: np.arange(len(people)) for name in MEASURES}
    groups |= dict.fromkeys(("identity", "repU", "TCAP"), by_key)
    return groups | {"copied, alone": row_numbers(people, [int(n) for n in n_levels])}


def variances(
    moves: Mapping[str, NDArray[np.float64]], groups: Mapping[str, NDArray[np.intp]]
) -> dict[str, float]:
    """Return the variance of each measure, from what each person adds to it, (n,), in groups."""
    return {name: float((np.bincount(groups[name], m) ** 2).sum()) for name, m in moves.items()}


def _none_among(size: int, others: NDArray[np.intp], m: int) -> NDArray[np.float64]:
    """Probability that a person's random companions, m - 1 of size - 1, are none of the others."""
    rest = size - 1 - others
    if m == size:
        return (others == 0).astype(float)
    with np.errstate(invalid="ignore"):
        found = gammaln(rest + 1) - gammaln(rest - m + 2) + gammaln(size - m + 1) - gammaln(size)
    return np.where(rest >= m - 1, np.exp(found), 0.0)


def participants(submission: Submission, held_out: Codes) -> pd.DataFrame:
    """Compare what each release tells of people in the file and of people held out.

    Parameters
    ----------
    submission : Submission
        With one release or more; those of one generator are taken together.
    held_out : (h, p) int
        Codes from 0 of people of the same population who are not in the original.

    Returns
    -------
    DataFrame
        As `beyond_held_out`, with the column release in front; with the row "within" where the
        numbers of people held out are known.
    """
    none = submission.schema.variables[submission.target].no_values
    frames = []
    for name, one in submission.judged().items():
        found = beyond_held_out(
            one.original, one.released, held_out, one.schema.n_levels, one.keys, one.target, none
        )
        if one.uncut and one.uncut.held_out is not None:
            within = _within(one, held_out, one.uncut, one.uncut.held_out)
            found = pd.concat([found, within], ignore_index=True)
        found.insert(0, "release", name)
        frames.append(found)
    return pd.concat(frames, ignore_index=True)


def _within(
    submission: Submission, held_out: Codes, uncut: Uncut, numbers: Numbers
) -> pd.DataFrame:
    """Compare of how many the releases tell the number within the tolerance."""
    rows = []
    for released, told in zip(submission.released, uncut.released, strict=True):
        used, others = (
            told_within(
                codes, truth, released, told, submission.schema.n_levels, submission.keys,
                uncut.tolerance,
            )
            for codes, truth in ((submission.original, uncut.original), (held_out, numbers))
        )  # fmt: skip
        error = np.hypot(used.std() / len(used) ** 0.5, others.std() / len(others) ** 0.5)
        rows.append(["within", used.mean(), others.mean(), error])
    return _over_releases(pd.DataFrame(rows, columns=["measure", "used", "held_out", "within"]))


def tabulated(found: pd.DataFrame) -> pd.DataFrame:
    """Return what readers look at: measure, shares of both, difference and its interval."""
    words = {"measure": "measure", "used": "people in the file", "held_out": "people held out"}
    words |= {"difference": "difference", "low": "from", "high": "to"}
    return found[list(words)].rename(columns=words)


def pictured(found: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Return rows of `LABELS` for `charts.against_baseline`, a panel for each value of a column."""
    columns = {panel: "panel", "measure": "label", "used": "mean", "held_out": "baseline"}
    rows = found[found["measure"].isin(LABELS)].replace({"measure": LABELS})
    return rows.rename(columns=columns | {"error": "se"})


def in_a_sentence(found: pd.DataFrame) -> str:
    """Say of one release what it tells of participants beyond people held out.

    Parameters
    ----------
    found : DataFrame
        As `beyond_held_out` returns.
    """
    more = found[(found["z"] >= SURE) & found["measure"].isin(SAID)]
    if not len(more):
        return (
            "It tells no more of people in the file than of people held out, beyond the error of "
            "this comparison."
        )
    said = "; ".join(
        f"for {percent(row.used)} of the people in the file and {percent(row.held_out)} of those "
        f"held out, {(MEASURES | WITHIN)[row.measure]} (difference {percent(row.low)} to "
        f"{percent(row.high)})"
        for row in more.itertuples()
    )
    return f"It tells more of people in the file than of people held out: {said}."
