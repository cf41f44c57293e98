"""What a generator tells of participants, by divisions of the original that the tool makes itself.

Half of the people are handed to the generator, which releases as many records. What its release
says of them is compared with what it says of the other half, as with people held out. Then the
halves change places, so that everybody is once used and once kept out: that one half is easier to
predict than the other cancels out.

This is about the generator as it is fitted to half of the people. Fitted to all of them, it depends
less on each: as a rule it tells less of participants beyond what it tells of others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from srlib.assessment.generator import Release, read, refit
from srlib.assessment.held_out import (
    MEASURES,
    Ratios,
    groups_of,
    ratios,
    residuals,
    shares,
    variances,
    with_interval,
)
from srlib.assessment.submission import Submission
from srlib.data.schema import Microdata
from srlib.margins import PlugInMargins
from srlib.progress import progress, silent

MIXTURE = "dpmpm:burn_in=400,n_draws=10,thin=1"
"""As it is asked in an example."""
FEWEST = 10
"""People in each half, at least."""


def _copy(table: Microdata, rng: np.random.Generator) -> NDArray[np.integer]:
    return table.codes


def _margins(table: Microdata, rng: np.random.Generator) -> NDArray[np.integer]:
    return PlugInMargins(table.schema.n_levels).release(table.codes, rng=rng)


def asked(synthesizer: str) -> dict[str, Release]:
    """Return the generator that a text names, as `generator.refit` does, by a name to show.

    Where none is named, trees and a mixture with short chains.
    """
    if not synthesizer:
        return {"trees": refit("trees"), "mixture": refit(MIXTURE)}
    file = read(synthesizer).file
    name = f"{file.name}:{read(synthesizer).name}" if file else synthesizer
    return {name: refit(synthesizer)}


@dataclass(frozen=True)
class Splits:
    """What releases say of people who were used and of people kept out, over divisions.

    Attributes
    ----------
    table : DataFrame
        A row a division, role, generator and measure: division, from 1; swapped, whether the halves
        have changed places; generator; measure, of `held_out.MEASURES`; used and held_out, shares
        in [0, 1], NaN where there is nobody to take them of.
    of_people : dict of str to dict of str to float
        By generator and measure, the variance of the difference over other people of the same
        population.
    n_people : int
        In the file.
    """

    table: pd.DataFrame
    of_people: Mapping[str, Mapping[str, float]]
    n_people: int

    def averages(self) -> pd.DataFrame:
        """Average over the divisions.

        Returns
        -------
        DataFrame
            A row a generator and measure: generator, and then as `held_out.beyond_held_out`.

        Notes
        -----
        Given the file, divisions, fits and releases are drawn independently, so that pairs of
        halves have independent differences, although they share people: their spread has the error
        of dividing, fitting and releasing. Other people of the same population would move the
        result, too: by the sum of squares of what each adds to it or, where that is larger, each
        group with the same keys (for whole records, values), since releases meet these together.
        The error has both; since the second contains a part of the first, it is too large: in
        `tests/benchmarks/divisions.py` by a tenth to a half, for a copy up to twofold. The
        interval is Student's, with Satterthwaite's degrees of freedom.
        """
        each = self.table.assign(difference=self.table["used"] - self.table["held_out"])
        by = ["generator", "measure"]
        columns = ["used", "held_out", "difference"]
        of_pair = each.groupby([*by, "division"], sort=False)[columns].mean()
        grouped = of_pair.groupby(by, sort=False)
        found, between = grouped.mean(), grouped["difference"].sem() ** 2
        people = pd.Series([self.of_people[name][measure] for name, measure in found.index])
        people.index, k = found.index, each["division"].nunique()
        both = between + people
        with np.errstate(invalid="ignore"):
            freedom = both**2 / (between**2 / (k - 1) + people**2 / (self.n_people - 1))
        width = pd.Series(student.ppf(0.975, freedom), found.index).fillna(0)
        return with_interval(found, np.sqrt(both), width).reset_index()


def divide(
    submission: Submission,
    generators: Mapping[str, Release],
    n_splits: int,
    *,
    streams: Callable[[str], np.random.Generator],
) -> Splits:
    """Divide the original's people, let generators release one half, and ask about both.

    Parameters
    ----------
    submission : Submission
        Its releases are not looked at.
    generators : dict of str to callable
        By name, from the table of one half and a source of chance to a release; see
        `generator.refit`. Asked besides are the ends of the scale: ``"copy"``, the records of the
        half themselves, and ``"margins"``, which draws each variable by itself.
    n_splits : int
        Divisions, each used twice; two or more.
    streams : callable
        From a purpose to its source of chance: ``"division 1"`` and ``"NAME, division 1"``, or
        ``"NAME, division 1 swapped"``, for the release of a generator. No number depends on what
        else is computed.

    Returns
    -------
    Splits

    Raises
    ------
    ValueError
        As `check_splits`; if a generator fails on a half, or returns something else than records.
    """
    people, schema = submission.original, submission.schema
    check_splits(n_splits, len(people))
    half = len(people) // 2
    every = {"copy": _copy, **generators, "margins": _margins}
    rows = []
    moved = {name: {m: np.zeros(len(people)) for m in MEASURES} for name in every}
    with progress(2 * n_splits * len(every), "divisions", "release") as bar, silent():
        for division in range(1, n_splits + 1):
            order = streams(f"division {division}").permutation(len(people))[: 2 * half]
            for swapped in (False, True):
                used, kept = np.split(np.roll(order, half if swapped else 0), 2)
                purpose = f"division {division}{' swapped' * swapped}"
                for name, release in every.items():
                    rng = streams(f"{name}, {purpose}")
                    told = _told(name, release, submission, used, kept, rng)
                    for members, parts, sign in zip((used, kept), told, (1, -1), strict=True):
                        for measure, each in residuals(parts).items():
                            moved[name][measure][members] += sign * each / (2 * half * n_splits)
                    frame = pd.DataFrame({"used": shares(told[0]), "held_out": shares(told[1])})
                    rows.append(
                        frame.rename_axis("measure").reset_index().assign(
                            division=division, swapped=swapped, generator=name
                        )
                    )  # fmt: skip
                    bar.update()
    columns = ["division", "swapped", "generator", "measure", "used", "held_out"]
    groups = groups_of(people, schema.n_levels, submission.keys)
    cells = groups["copied, alone"]
    together = (
        dict.fromkeys(MEASURES, groups["identity"]) | {"copied": cells} | {"copied, alone": cells}
    )
    of_people = {}
    for name, moves in moved.items():
        apart, joined = variances(moves, groups), variances(moves, together)
        of_people[name] = {measure: max(apart[measure], joined[measure]) for measure in moves}
    return Splits(pd.concat(rows, ignore_index=True)[columns], of_people, len(people))


def _told(
    name: str,
    release: Release,
    submission: Submission,
    used: NDArray[np.intp],
    kept: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Ratios, Ratios]:
    """Return what a release of one half says of this, and of the other."""
    people, schema = submission.original, submission.schema
    try:
        return ratios(
            people[used], people[kept], release(Microdata(people[used], schema), rng),
            schema.n_levels, submission.keys, submission.target,
            schema.variables[submission.target].no_values,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(
            f"synthesizer: {name} fails on half of the original, {len(used):,} records: {error}"
        ) from error


def check(n_splits: int, synthesizer: str, submission: Submission) -> None:
    """Check what `divide` is going to need; code of a user's own is tried on one half.

    Parameters
    ----------
    n_splits : int
        Divisions.
    synthesizer : str
        As of `generator.read`.
    submission : Submission
        What is divided.

    Raises
    ------
    ValueError
        As `divide`; if no synthesizer is named.
    """
    check_splits(n_splits, len(submission.original), bool(synthesizer))
    if read(synthesizer).file:
        used, kept = np.arange(len(submission.original) // 2 * 2).reshape(-1, 2).T
        _told(synthesizer, refit(synthesizer), submission, used, kept, np.random.default_rng(0))


def check_splits(n_splits: int, n_people: int, named: bool = True) -> None:
    """Raise a ValueError unless so many people can be divided so often, by a generator."""
    if not named:
        raise ValueError(
            f"n_splits is {n_splits}, and no synthesizer is given; it is fitted to each half"
        )
    if n_splits < 2:
        raise ValueError(
            f"n_splits is {n_splits}; it must be 2 or more, since the error is from between the "
            "divisions, or 0 for none"
        )
    if n_people < 2 * FEWEST:
        raise ValueError(
            f"n_splits is {n_splits}, and the original has {n_people} records; it takes "
            f"{2 * FEWEST} or more to divide them"
        )
