"""Compare a paper's printed numbers and claims with computed ones.

A CSV file beside the notebook has the printed numbers, with the columns id, source
(section, table or figure), quantity, relation (``=``, or ``<=`` and ``>=`` if the paper
prints a bound), printed (the digits as printed) and tolerance (if empty, one unit in
the last digit printed, or 0 for a bound).
"""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from srlib.display import (
    MIN_RECORDS,
    NOT_SHOWN,
    Callout,
    DisplayGroup,
    callout,
    numbers,
    percent,
    show,
    with_error,
    with_minus,
)

MATCH, DIFFERS = "match", "differs"
CONSISTENT = "consistent"  # with other numbers printed in the paper
SETTING = "setting"  # an input of the design, not compared
SKIPPED = "skipped"
UNDECIDED = "not decided"
VERDICTS = (MATCH, DIFFERS, UNDECIDED, CONSISTENT, SETTING, SKIPPED)

PROVED, HOLDS, DEPENDS, FAILS = "proved", "holds", "depends on", "fails"
CLAIM_VERDICTS = (PROVED, HOLDS, DEPENDS, FAILS, UNDECIDED)

ERRORS = 2.0
"""Least distance of a number from its limit, in standard errors, if they differ."""

LARGEST_TOLERANCE = 0.1
"""Largest tolerance of a match that rests on a simulation, as a share of the number."""

_SIGNS = {"<": "<\u00a0", "<=": "≤\u00a0", ">": ">\u00a0", ">=": "≥\u00a0"}

_COLUMNS = [
    "id",
    "source",
    "quantity",
    "relation",
    "printed",
    "computed",
    "tolerance",
    "verdict",
    "note",
]


def _check_choice(argument: str, value: str, allowed: Iterable[str]) -> None:
    """Raise a ValueError unless a value is one of those that are allowed."""
    if value not in allowed:
        raise ValueError(
            f"{argument} is {value!r}; it must be one of {', '.join(allowed)}"
        )


# ------------------------------------------------------------------------------- claims


class Claims:
    """A list of a paper's claims, into which the run writes the verdicts.

    `statements` maps the name of each claim, such as ``"C1"``, to the claim in
    Markdown: the statement with its quantifier, its criterion and its place in the
    paper.
    """

    def __init__(self, statements: Mapping[str, str]) -> None:
        self.statements = dict(statements)
        self._rows: dict[str, dict[str, Any]] = {}
        self._display: Any = None

    def check(
        self,
        claim: str,
        verdict: str,
        sentence: str,
        *,
        measured: str,
        value: ArrayLike,
        relation: str,
        limit: ArrayLike,
        error: ArrayLike = 0.0,
        required_share: float = 1.0,
        n_records: int = MIN_RECORDS,
    ) -> Callout:
        """Compare numbers with the claim's limit, and the author's verdict with both.

        A case with a standard error is decided if its value lies more than two errors
        from the limit. The verdict is *holds* if the claim holds in all cases, *fails*
        if it fails in all, *depends on* if it holds in some and fails in others, and
        *not decided* if the errors leave it open.

        Parameters
        ----------
        claim : str
            Name of a claim in `statements`.
        verdict : str
            The author's verdict: ``"proved"``, ``"holds"``, ``"depends on ..."``,
            ``"fails"`` or ``"not decided"``. If this run decides otherwise, its own
            verdict is shown.
        sentence : str
            The author's explanation of that verdict, in Markdown, without numbers from
            the run.
        measured : str
            Description of the values.
        value, limit, error : float or (n_cases,) float
            One entry per case, or one for all cases. The index of a Series names the
            cases; these names must not identify records.
        relation : str
            ``"<"``, ``"<="``, ``">"`` or ``">="``: the claimed relation of value to
            limit.
        required_share : float
            Share of the cases that counts as all, in (1/2, 1]; one minus it counts as
            none.
        n_records : int
            Number of records that the verdict rests on, if the data are a user's.

        Returns
        -------
        Callout
            Verdict, sentence and evidence.
        """
        _check_choice("claim", claim, self.statements)
        if not verdict.startswith(CLAIM_VERDICTS):
            raise ValueError(
                f"verdict is {verdict!r}; it must begin with one of "
                f"{', '.join(CLAIM_VERDICTS)}"
            )
        _check_choice("relation", relation, _SIGNS)
        cases = _compare(value, limit, error, relation)
        if cases.empty or cases[["value", "limit", "error"]].isna().any(axis=None):
            raise ValueError(
                f"{claim} ({measured}): a value, limit or error is missing"
            )
        shown = _confirmed(verdict, _claim_verdict(cases, required_share))
        if shown != verdict:
            sentence = (
                f"The notebook states *{verdict}*, which this run does not support."
            )
        row = self._rows[claim] = {
            "claim": claim,
            "verdict": shown,
            "stated_verdict": verdict,
            "measured": measured,
            "relation": relation,
            **_summarize(cases),
            "required_share": required_share,
            "n_records": n_records,
        }
        if self._display:
            self._display.update(self._bundle(), raw=True)
        return callout(f"{claim} {shown}", f"{sentence} {_evidence(row)}")

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim; confidential if the data are a user's."""
        if unchecked := [claim for claim in self.statements if claim not in self._rows]:
            raise ValueError(f"not checked: {', '.join(unchecked)}")
        return pd.DataFrame([self._rows[claim] for claim in self.statements])

    def verdicts(self) -> Callout:
        """Return the verdicts without numbers, and hide those on few records."""
        sentences = []
        for claim in self.statements:
            if row := self._rows.get(claim):
                is_public = row["n_records"] >= MIN_RECORDS
                verdict = row["verdict"] if is_public else NOT_SHOWN
                sentences.append(f"{claim} {verdict}.")
        heading = f"Verdicts on at least {MIN_RECORDS} records"
        return callout(heading, " ".join(sentences))

    def _verdict(self, claim: str) -> str:
        return self._rows[claim]["verdict"] if claim in self._rows else ""

    def _repr_markdown_(self) -> str:
        lines = ["| | claim | in this run |", "|---|---|---|"]
        for claim, statement in self.statements.items():
            row = f"**{claim}**", statement, self._verdict(claim)
            cells = [cell.replace("|", r"\|") for cell in row]
            lines.append(f"| {' | '.join(cells)} |")
        return with_minus("\n".join(lines))

    def __repr__(self) -> str:
        lines = [
            f"{claim} {self._verdict(claim)}: {statement}"
            for claim, statement in self.statements.items()
        ]
        return "\n".join(lines)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # Each check further down writes its verdict into this list at the top.
        self._display = display(
            self._bundle(),
            raw=True,
            display_id=True,
        )

    def _bundle(self) -> dict[str, str]:
        return {"text/markdown": self._repr_markdown_(), "text/plain": repr(self)}


def _compare(
    value: ArrayLike, limit: ArrayLike, error: ArrayLike, relation: str
) -> pd.DataFrame:
    """Return cases with the margin by which each meets its limit; it holds or fails."""
    cases = pd.Series(value, dtype=float).to_frame("value")
    cases["limit"] = np.asarray(limit, float)
    cases["error"] = np.asarray(error, float)
    margin = cases["value"] - cases["limit"]
    if "<" in relation:
        margin = -margin
    # A value within rounding of its limit meets "<=" and not "<".
    rounding = 1e-9 * np.maximum(1.0, abs(cases["limit"]))
    is_met = margin + (rounding if "=" in relation else -rounding) >= 0
    uncertainty = ERRORS * cases["error"]
    is_exact = cases["error"] == 0
    return cases.assign(
        margin=margin,
        holds=is_met.where(is_exact, margin > uncertainty),
        fails=(~is_met).where(is_exact, margin < -uncertainty),
    )


def _summarize(cases: pd.DataFrame) -> dict[str, Any]:
    """Return in how many cases a claim holds and fails, and the worst case."""
    worst = cases.iloc[cases["margin"].to_numpy().argmin()]
    label = worst.name if isinstance(worst.name, tuple) else (worst.name,)
    return {
        "limit": worst["limit"],
        "n_cases": len(cases),
        "n_hold": cases["holds"].sum(),
        "n_fail": cases["fails"].sum(),
        "worst_value": worst["value"],
        "error": worst["error"],
        "worst_case": ", ".join(map(str, label)) if len(cases) > 1 else "",
    }


def _evidence(row: Mapping[str, Any]) -> str:
    """Return a sentence on the cases in which a claim holds, and on the worst case."""
    measured = row["measured"]
    worst = numbers([row["worst_value"]])[0]
    if row["error"]:
        worst = with_error(row["worst_value"], row["error"])
    limit = _SIGNS[row["relation"]] + numbers([row["limit"]])[0]
    if row["n_cases"] == 1:
        return f"({measured}: {worst}; claimed: {limit}.)"
    n_open = row["n_cases"] - row["n_hold"] - row["n_fail"]
    undecided = f", {n_open} undecided" if n_open else ""
    share = row["required_share"]
    rule = f"; {percent(share)} count as all" if share < 1 else ""
    return (
        f"({measured}: the claim holds in {row['n_hold']:,} of {row['n_cases']:,} cases"
        f"{undecided}{rule}; worst case: {worst} at {row['worst_case']}, "
        f"claimed: {limit}.)"
    )


def _claim_verdict(cases: pd.DataFrame, required_share: float) -> str:
    """Return the verdict from the shares of cases in which a claim holds and fails."""
    holds = cases["holds"].mean()
    fails = cases["fails"].mean()
    if holds >= required_share:
        return HOLDS
    if fails >= required_share:
        return FAILS
    return DEPENDS if min(holds, fails) > 1 - required_share else UNDECIDED


def _confirmed(stated: str, computed: str) -> str:
    """Return the author's verdict if the run supports it, and else the run's own."""
    supported = (HOLDS, PROVED) if computed == HOLDS else computed
    if stated.startswith(supported):
        return stated
    return f"{DEPENDS} the case" if computed == DEPENDS else computed


# ------------------------------------------------------------------------------- ledger


def printed(paper: str) -> pd.DataFrame:
    """Return the printed numbers of a paper, by its key, such as ``"hu_reiter_wang"``.

    Each number has a row: id, source, quantity, relation, printed (text), center and
    tolerance (float). A rounded number stands for values within half a unit of its last
    digit. One whose tolerance in the file is ``cut`` has lost its further digits, and
    stands for values up to a unit farther from zero. The file may have a tolerance of
    its own.
    """
    here = Path(__file__).parent
    shipped = here / "shipped" / "notebooks"
    folder = shipped if shipped.is_dir() else here.parent / "notebooks"
    _check_choice("paper", paper, sorted(file.stem for file in folder.glob("*.csv")))
    table = pd.read_csv(folder / f"{paper}.csv", dtype=str, keep_default_na=False)
    is_rounded = table["relation"] == "="
    half_unit = table["printed"].map(_last_digit) / 2 * is_rounded
    number = table["printed"].astype(float)
    is_cut = table["tolerance"] == "cut"
    table["center"] = number + np.copysign(half_unit * is_cut, number)
    stated = pd.to_numeric(table["tolerance"].where(~is_cut, ""))
    table["tolerance"] = stated.fillna(half_unit)
    return table


def _last_digit(number: str) -> float:
    """One unit in the last digit of a decimal number as printed.

    >>> _last_digit("-0.250"), _last_digit("36")
    (0.001, 1.0)
    """
    exponent = Decimal(number).as_tuple().exponent
    return float(f"1e{exponent}")


def ledger(
    paper: str,
    computed: Mapping[str, float],
    *,
    errors: Mapping[str, float] = {},
    settings: Mapping[str, float] = {},
    consistent: Mapping[str, tuple[float, str]] = {},
    skip: Mapping[str, str] = {},
    missing: str | None = None,
    notes: Mapping[str, str] = {},
) -> pd.DataFrame:
    """Return a paper's printed numbers beside computed ones, each with a verdict.

    Parameters
    ----------
    paper : str
        Key of the paper.
    computed : mapping of str to float
        The run's value of each id.
    errors : mapping of str to float
        Monte Carlo standard errors of computed values. The tolerance is that of the
        printed number, or two errors if they are larger. If these exceed a tenth of the
        number, it is not decided whether a number within them is a match.
    settings : mapping of str to float
        This run's values of its settings, such as a sample size, by id. They are shown
        and not compared; a note says so if a setting is not the paper's.
    consistent : mapping of str to (float, str)
        For ids whose recomputation needs the paper's own data: the value that follows
        from other numbers printed in the paper, and the check in words. A wrong number
        must fail the check. Used if an id is neither computed nor a setting.
    skip : mapping of str to str
        Reasons why an id gets no verdict; its value, if any, is shown.
    missing : str
        Reason for skipping numbers that are in no mapping. If not given, such numbers
        are an error.
    notes : mapping of str to str
        Remarks by id, above all why a number differs and where the notebook shows it. A
        number that differs needs one.

    Returns
    -------
    DataFrame
        One row per printed number, in the file's order: id, source, quantity, relation,
        printed, computed (NaN if there is none; for ``"consistent"`` the value of the
        check), tolerance, verdict (one of `VERDICTS`) and note.
    """
    given = {
        "computed": computed,
        "errors": errors,
        "settings": settings,
        "skip": skip,
        "consistent": consistent,
        "notes": notes,
    }
    table = _printed_and_given(paper, given, missing)
    two_errors = ERRORS * table["errors"].astype(float).fillna(0.0)
    table["is_vague"] = two_errors > LARGEST_TOLERANCE * table["center"].abs()
    table["tolerance"] = np.maximum(table["tolerance"], two_errors)
    table["computed"], table["verdict"], table["note"] = zip(
        *map(_verdict, table.itertuples()), strict=True
    )
    is_unexplained = (table["verdict"] == DIFFERS) & ~table["notes"].astype(bool)
    if unexplained := [*table["id"][is_unexplained]]:
        raise ValueError(
            f"numbers that differ from the printed ones need a note: {unexplained}"
        )
    return table[_COLUMNS]


def _printed_and_given(
    paper: str, given: Mapping[str, Mapping[str, Any]], missing: str | None
) -> pd.DataFrame:
    """Return printed numbers with a column for each argument of `ledger`.

    It has None where an argument has no entry. Numbers that are neither computed,
    skipped, a setting nor consistent are skipped for the reason `missing`.
    """
    table = printed(paper)
    ids = table["id"].to_list()
    for argument, entries in given.items():
        if unknown := [key for key in entries if key not in ids]:
            raise ValueError(
                f"{argument} has ids that are not printed in {paper}: {unknown}"
            )
        table[argument] = pd.Series(map(entries.get, ids), dtype=object)
    if repeated := [key for key in given["settings"] if key in given["computed"]]:
        raise ValueError(
            f"an id is either a setting or computed; both have: {repeated}"
        )
    explained = {*given["computed"], *given["settings"]}
    explained.update(given["skip"], given["consistent"])
    absent = [key for key in ids if key not in explained]
    if absent and missing is None:
        raise ValueError(
            f"printed numbers that are neither computed nor skipped: {absent}"
        )
    table["skip"] = table["skip"].mask(table["id"].isin(absent), missing)
    return table


def _verdict(row: Any) -> tuple[float, str, str]:
    """Return the computed number of a row, its verdict and the note.

    A setting of the paper's design is judged before all else. A consistency check takes
    the place of a number that is skipped or not computed; without one, such a number
    has no verdict.
    """
    value = math.nan if row.computed is None else float(row.computed)
    remark = ""
    if row.settings is not None:
        value = float(row.settings)
        verdict = SETTING
        if value != float(row.printed):
            remark = "differs from the paper's setting"
    elif row.consistent and (row.skip or row.computed is None):
        value, remark = row.consistent
        verdict = CONSISTENT if _agrees(row, value) else DIFFERS
    elif row.skip:
        verdict = SKIPPED
        remark = row.skip
    elif _agrees(row, value):
        verdict = UNDECIDED if row.is_vague else MATCH
    else:
        verdict = DIFFERS
    return value, verdict, "; ".join(filter(None, [remark, row.notes]))


def _agrees(row: Any, value: float) -> bool:
    """Return whether a number meets the printed one of a row up to its tolerance."""
    # The slack lets a difference of exactly half a unit pass in binary arithmetic.
    slack = row.tolerance + 1e-9 * max(1.0, abs(row.center))
    above = value - row.center
    if row.relation == "<=":
        return above <= slack
    if row.relation == ">=":
        return above >= -slack
    return abs(above) <= slack


def _beside(computed: float, printed: str) -> str:
    """Return a computed number with at least the decimal places of the printed one.

    >>> _beside(29.53300649, "29.53010"), _beside(0.0425, "0.039")
    ('29.53301', '0.0425')
    """
    places = -int(Decimal(printed).as_tuple().exponent)
    plain = numbers([computed])[0]
    if not plain or places <= len(plain.partition(".")[2]):
        return plain
    return with_minus(f"{computed:,.{places}f}")


def summary(book: pd.DataFrame) -> DisplayGroup:
    """Return the verdicts of a `ledger` by source, and what differs and is skipped."""
    counts = pd.crosstab(book["source"], book["verdict"]).loc[book["source"].unique()]
    counts = counts.filter(VERDICTS)
    counts.loc["all"] = counts.sum()
    by_source = counts.rename_axis(index="printed in", columns=None).reset_index()
    parts = [show(by_source, caption="Printed numbers by source and verdict.")]
    subjects = {
        DIFFERS: "Numbers that differ",
        UNDECIDED: "Numbers that the errors leave open",
        SKIPPED: "Numbers without a verdict",
    }
    for verdict, subject in subjects.items():
        examples = _examples(book[book["verdict"] == verdict])
        if len(examples):
            caption = f"{subject}, one example per reason."
            parts.append(show(examples, caption=caption))
    return DisplayGroup(parts)


def _examples(book: pd.DataFrame) -> pd.DataFrame:
    """Return the first of the numbers with the same source and note."""
    rows = []
    for (source, note), group in book.groupby(["source", "note"], sort=False):
        first = group.iloc[0]
        others = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
        sign = _SIGNS.get(first["relation"], "")
        rows.append(
            {
                "printed in": source,
                "quantity": first["quantity"] + others,
                "printed": sign + first["printed"],
                "computed": _beside(first["computed"], first["printed"]),
                "why": note,
            }
        )
    return pd.DataFrame(rows)
