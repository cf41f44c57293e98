"""Verdicts on claims, each decided by a number, its error and a limit.

A claim gets one of four words: it is *proved*, by a derivation or by enumeration of all cases, it
*holds here*, it *depends on* something, or it *fails*; *not decided* stands where the errors of a
run are too large to tell. The functions find the word from numbers; the modules of single papers do
so for their claims and say the number that decided. A number is above or below its limit where two
standard errors do not reach from one to the other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srlib.display import (
    MIN_RECORDS,
    NOT_SHOWN,
    Callout,
    callout,
    percent,
    with_error,
    with_errors,
    with_minus,
)

__all__ = ["with_error", "with_errors"]

PROVED, HOLDS, FAILS = "proved", "holds here", "fails"
UNDECIDED = "not decided"

# Standard errors between a number and its limit from which on the two are apart.
ERRORS = 2.0
# Shares of records that count as hardly any and as nearly all: one in forty is beyond two errors
# by chance alone.
FEW, NEARLY_ALL = 0.05, 0.95


@dataclass(frozen=True)
class Verdict:
    """A verdict and the number behind it.

    Attributes
    ----------
    word : str
        `PROVED`, `HOLDS`, `FAILS`, ``"depends on ..."``, or `UNDECIDED`.
    because : str
        The number that decides, with its error and what it is held against; Markdown.
    """

    word: str
    because: str


class Claims:
    """The claims of a notebook, said where they are decided and collected at the end.

    Parameters
    ----------
    sections : mapping of str to str
        For each claim, such as ``"C1"``, the heading of the section that shows it.
    """

    def __init__(self, sections: Mapping[str, str] | None = None) -> None:
        self.sections = dict(sections or {})
        self._said: dict[str, Verdict] = {}

    def say(self, claim: str, verdict: Verdict) -> Callout:
        """Return the callout of a claim and keep it for the table.

        Parameters
        ----------
        claim : str
            One that has a section, where sections were given.
        verdict : Verdict
            What is said of it; a second verdict replaces the first.

        Raises
        ------
        ValueError
            If the claim has no section and others have.
        """
        if self.sections and claim not in self.sections:
            raise ValueError(f"claim is {claim!r}; it must be one of {', '.join(self.sections)}")
        verdict = Verdict(verdict.word, with_minus(verdict.because))
        self._said[claim] = verdict
        return callout(f"{claim} {verdict.word}", verdict.because)

    @property
    def table(self) -> pd.DataFrame:
        """One row a claim: claim, verdict and because, in the order of the claims' names.

        Raises
        ------
        ValueError
            If a claim that has a section was not said.
        """
        if unsaid := [claim for claim in self.sections if claim not in self._said]:
            raise ValueError(f"no verdict was said on {', '.join(unsaid)}")
        rows = [(claim, said.word, said.because) for claim, said in self._in_order()]
        return pd.DataFrame(rows, columns=["claim", "verdict", "because"])

    def in_public(self, n_records: int, **fewer: int) -> Callout:
        """Return the words of all claims, without the numbers that decided.

        Parameters
        ----------
        n_records : int
            Records that the claims are judged on.
        **fewer : int
            Records of the claims that are judged on fewer, by claim. No word is given where they
            are fewer than `confidential.MIN_RECORDS`.
        """
        of = dict.fromkeys((claim for claim, _ in self._in_order()), n_records) | fewer
        words = [
            f"{claim} {self._said[claim].word if n >= MIN_RECORDS else NOT_SHOWN}."
            for claim, n in of.items()
        ]
        return callout(f"In words, over {MIN_RECORDS} records or more", " ".join(words))

    def _repr_markdown_(self) -> str:
        lines = ["| claim | verdict | because |", "|---|---|---|"]
        rows = [(self._link(claim), *said) for claim, *said in self.table.to_numpy().tolist()]
        return "\n".join([*lines, *map(_row, rows)])

    def _in_order(self) -> list[tuple[str, Verdict]]:
        """Return what was said by claim, C10 after C9."""

        def by_number(item: tuple[str, Verdict]) -> list[tuple[bool, int, str]]:
            parts = re.findall(r"\d+|\D+", item[0])
            return [(p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts]

        return sorted(self._said.items(), key=by_number)

    def _link(self, claim: str) -> str:
        """Return a claim's name, linked to the heading of its section as Jupyter names it."""
        if claim not in self.sections:
            return claim
        return f"[{claim}](#{quote(self.sections[claim].replace(' ', '-'), safe='')})"

    def __repr__(self) -> str:
        said = self._in_order()
        return "\n".join(f"{claim} {verdict.word}. {verdict.because}" for claim, verdict in said)


def _row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    claim, word, because = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| **{claim}** | {word} | {because} |"


# ------------------------------------------------------------------------------ words from numbers


def at_most(value: float, error: float, limit: float) -> str:
    """Say whether a number is below its limit.

    Parameters
    ----------
    value, error : float
        The number and its standard error.
    limit : float
        What it is held against, in the same unit.

    Returns
    -------
    str
        `HOLDS`, `FAILS`, or `UNDECIDED` where two errors reach from the number to the limit.
    """
    if value + ERRORS * error < limit:
        return HOLDS
    return FAILS if value - ERRORS * error > limit else UNDECIDED


def share_above(difference: ArrayLike, error: ArrayLike, limit: float = 0.0) -> tuple[float, float]:
    """Least and largest share of records above a limit, as far as their errors tell.

    Parameters
    ----------
    difference, error : (n,) float
        A number for each record and its standard error.
    limit : float
        What the numbers are held against.

    Returns
    -------
    low, high : float
        The share that is above the limit by more than two errors, and the share that is not below
        it by more than two. Both in [0, 1], low at most high.
    """
    value, margin = np.asarray(difference), ERRORS * np.asarray(error)
    return float(np.mean(value - margin > limit)), float(np.mean(value + margin >= limit))


def of_share(low: float, high: float, most: float = NEARLY_ALL, on: str = "the record") -> str:
    """Say whether something is so for nearly all records, for hardly any, or for some.

    Parameters
    ----------
    low, high : float
        Least and largest share of records for which it may be so, as `share_above` returns.
    most : float
        The share above which it holds, in (0.05, 1).
    on : str
        What it depends on where it is so for some: for more than a twentieth, and for no more
        than `most`.

    Returns
    -------
    str
        `HOLDS`, `FAILS`, ``"depends on ..."``, or `UNDECIDED` where `low` and `high` lie in
        different parts of the range.
    """
    if low > most:
        return HOLDS
    if high <= FEW:
        return FAILS
    return f"depends on {on}" if low > FEW and high <= most else UNDECIDED


def of_intervals(inside: int, total: int, level: float = 0.95, on: str = "the coefficient") -> str:
    """Say whether intervals contain what they should, as often as their level promises.

    Parameters
    ----------
    inside, total : int
        Intervals that do, of how many.
    level : float
        The share that should, in (0, 1).
    on : str
        What it depends on where more than half do.

    Returns
    -------
    str
        `HOLDS` where the share inside is at least `level`. Where it is less, `UNDECIDED` if
        independent intervals would miss as often with a probability of 5 % or more; beyond that
        ``"depends on ..."`` where more than half are inside, else `FAILS`.
    """
    from scipy import stats

    if inside >= level * total:
        return HOLDS
    if stats.binom.cdf(inside, total, level) >= 0.05:
        return UNDECIDED
    return f"depends on {on}" if inside > total / 2 else FAILS


def span(low: float, high: float) -> str:
    """Print two shares, or one where they agree to a tenth of a percent."""
    least, most = percent(low, 1), percent(high, 1)
    return most if least == most else f"{100 * low:.1f} to {most}"
