"""Compare a paper's printed numbers with computed ones, and its claims with computed tables.

A CSV file beside the notebook has the printed numbers, with the columns id, source
(section, table or figure), quantity, relation (``=``, or ``<=`` and ``>=`` if the paper
prints a bound), printed (the digits as printed) and tolerance (if empty, one unit in
the last digit printed, or 0 for a bound).
"""

import math
from collections.abc import Mapping
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
VERDICTS = (MATCH, DIFFERS, CONSISTENT, SETTING, SKIPPED)

PROVED, HOLDS, DEPENDS, FAILS = "proved", "holds", "depends on", "fails"
UNDECIDED = "not decided"
CLAIM_VERDICTS = (PROVED, HOLDS, DEPENDS, FAILS, UNDECIDED)

ERRORS = 2.0
"""A number differs from its limit if they are more than this many standard errors apart."""

_SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}


# ------------------------------------------------------------------------------- claims


class Claims:
    """A list of a paper's claims at the top of its notebook; the run fills in the verdicts.

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
        """Compare numbers with the claim's limit, and the author's verdict with the result.

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
        if claim not in self.statements:
            raise ValueError(
                f"claim is {claim!r}; it must be one of {', '.join(self.statements)}"
            )
        if not verdict.startswith(CLAIM_VERDICTS):
            raise ValueError(
                f"verdict is {verdict!r}; it must begin with one of {', '.join(CLAIM_VERDICTS)}"
            )
        if relation not in _SIGNS:
            raise ValueError(
                f"relation is {relation!r}; it must be one of {', '.join(_SIGNS)}"
            )
        cases = (
            value if isinstance(value, pd.Series) else pd.Series(np.atleast_1d(value))
        )
        cases = cases.astype(float)
        limits, errors = np.broadcast_arrays(
            np.asarray(limit, dtype=float),
            np.asarray(error, dtype=float),
            cases.to_numpy(),
        )[:2]
        if np.isnan([cases, limits, errors]).any() or not len(cases):
            raise ValueError(
                f"{claim} ({measured}): a value, limit or error is missing"
            )
        sign = 1 if ">" in relation else -1
        margin = (cases.to_numpy() - limits) * sign
        slack = 1e-9 * np.maximum(1.0, abs(limits)) * (1 if "=" in relation else -1)
        holds = np.where(errors == 0, margin + slack >= 0, margin > ERRORS * errors)
        fails = np.where(errors == 0, ~holds, margin < -ERRORS * errors)
        computed = _claim_verdict(holds.mean(), fails.mean(), required_share)
        confirmed = verdict.startswith({HOLDS: (HOLDS, PROVED)}.get(computed, computed))
        worst = int(np.argmin(margin))
        worst_case = cases.index[worst]  # a tuple if the index has several levels
        worst_case = worst_case if isinstance(worst_case, tuple) else (worst_case,)
        self._rows[claim] = {
            "claim": claim,
            "verdict": verdict
            if confirmed
            else computed + " the case" * (computed == DEPENDS),
            "stated_verdict": verdict,
            "measured": measured,
            "relation": relation,
            "limit": limits[worst],
            "n_cases": len(cases),
            "n_hold": int(holds.sum()),
            "n_fail": int(fails.sum()),
            "worst_value": cases.iloc[worst],
            "error": errors[worst],
            "worst_case": ", ".join(map(str, worst_case)) if len(cases) > 1 else "",
            "required_share": required_share,
            "n_records": n_records,
        }
        if self._display is not None:
            self._display.update(self._bundle(), raw=True)
        if not confirmed:
            sentence = f"This run does not support the stated verdict *{verdict}*."
        kind = f"{claim} {self._rows[claim]['verdict']}"
        return callout(kind, f"{sentence} {self.evidence(claim)}")

    def evidence(self, claim: str) -> str:
        """Return the evidence as a sentence: the cases in which the claim holds, and the worst."""
        row = self._rows[claim]
        worst = _plain(row["worst_value"])
        if row["error"]:
            worst = with_error(row["worst_value"], row["error"])
        limit = f"{_SIGNS[row['relation']]}\u00a0{_plain(row['limit'])}"
        if row["n_cases"] == 1:
            return f"({row['measured']}: {worst}; claimed: {limit}.)"
        n_open = row["n_cases"] - row["n_hold"] - row["n_fail"]
        undecided = f", {n_open} undecided" if n_open else ""
        share = row["required_share"]
        rule = f"; {percent(share)} count as all" if share < 1 else ""
        return (
            f"({row['measured']}: the claim holds in {row['n_hold']:,} of {row['n_cases']:,} cases"
            f"{undecided}{rule}; worst case: {worst} at {row['worst_case']}, claimed: {limit}.)"
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim, after all are checked; confidential if the data are a user's."""
        if unchecked := [claim for claim in self.statements if claim not in self._rows]:
            raise ValueError(f"not checked: {', '.join(unchecked)}")
        return pd.DataFrame([self._rows[claim] for claim in self.statements])

    def verdicts(self) -> Callout:
        """Return the verdicts without numbers; those on fewer than `MIN_RECORDS` are not shown."""
        shown = [
            f"{claim} {row['verdict'] if row['n_records'] >= MIN_RECORDS else NOT_SHOWN}."
            for claim in self.statements
            if (row := self._rows.get(claim))
        ]
        return callout(f"Verdicts on at least {MIN_RECORDS} records", " ".join(shown))

    def _repr_markdown_(self) -> str:
        lines = ["| | claim | in this run |", "|---|---|---|"]
        for claim, statement in self.statements.items():
            cells = (
                f"**{claim}**",
                statement,
                self._rows.get(claim, {}).get("verdict", ""),
            )
            lines.append(
                "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
            )
        return with_minus("\n".join(lines))

    def __repr__(self) -> str:
        verdicts = {claim: row["verdict"] for claim, row in self._rows.items()}
        return "\n".join(
            f"{claim} {verdicts.get(claim, '')}: {statement}"
            for claim, statement in self.statements.items()
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # Each check further down writes its verdict into this list at the top.
        self._display = display(self._bundle(), raw=True, display_id=True)

    def _bundle(self) -> dict[str, str]:
        return {"text/markdown": self._repr_markdown_(), "text/plain": repr(self)}


def _plain(value: float) -> str:
    return numbers([value])[0]


def _claim_verdict(holds: float, fails: float, required_share: float) -> str:
    """Return the verdict from the shares of cases in which the claim holds and fails."""
    if holds >= required_share:
        return HOLDS
    if fails >= required_share:
        return FAILS
    negligible = 1 - required_share
    return DEPENDS if holds > negligible and fails > negligible else UNDECIDED


# ------------------------------------------------------------------------------- ledger


def printed(paper: str) -> pd.DataFrame:
    """Return the printed numbers of a paper, by its key, such as ``"hu_reiter_wang"``.

    Each number has a row: id, source, quantity, relation, printed (text) and tolerance
    (float, computed if the file leaves it empty).
    """
    here = Path(__file__).parent
    shipped = here / "shipped" / "notebooks"
    folder = shipped if shipped.is_dir() else here.parent / "notebooks"
    files = {file.stem: file for file in folder.glob("*.csv")}
    if paper not in files:
        raise ValueError(
            f"paper is {paper!r}; it must be one of {', '.join(sorted(files))}"
        )
    table = pd.read_csv(
        files[paper], dtype=str, keep_default_na=False, encoding="utf-8"
    )
    table["tolerance"] = [
        float(tolerance or (_last_digit(number) if relation == "=" else 0))
        for number, tolerance, relation in zip(
            table["printed"], table["tolerance"], table["relation"], strict=True
        )
    ]
    return table


def _last_digit(number: str) -> float:
    """One unit in the last digit of a decimal number as printed.

    >>> _last_digit("-0.250"), _last_digit("36")
    (0.001, 1.0)
    """
    _, _, exponent = Decimal(number).as_tuple()
    return float(Decimal(1).scaleb(int(exponent)))


def ledger(
    paper: str,
    computed: Mapping[str, float],
    *,
    errors: Mapping[str, float] | None = None,
    settings: Mapping[str, float] | None = None,
    consistent: Mapping[str, tuple[float, str]] | None = None,
    skip: Mapping[str, str] | None = None,
    missing: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return a paper's printed numbers beside a run's computed ones, each with a verdict.

    Parameters
    ----------
    paper : str
        Key of the paper.
    computed : mapping of str to float
        The run's value of each id.
    errors : mapping of str to float
        Monte Carlo standard errors of computed values. The tolerance is one unit in the
        last digit printed, or two errors if they are larger.
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
    errors, settings, consistent = errors or {}, settings or {}, consistent or {}
    skip, notes = skip or {}, notes or {}
    table = printed(paper)
    arguments = {
        "computed": computed,
        "errors": errors,
        "settings": settings,
        "skip": skip,
    }
    for argument, given in (
        arguments | {"consistent": consistent, "notes": notes}
    ).items():
        if unknown := [key for key in given if key not in set(table["id"])]:
            raise ValueError(
                f"{argument} has ids that are not printed in {paper}: {unknown}"
            )
    if twice := [key for key in settings if key in computed]:
        raise ValueError(f"an id is either a setting or computed; both have: {twice}")
    known = {*computed, *settings, *consistent, *skip}
    if missing is None and (
        unexplained := [key for key in table["id"] if key not in known]
    ):
        raise ValueError(
            f"printed numbers that are neither computed nor skipped: {unexplained}"
        )

    def judge(row: pd.Series) -> tuple[float, float, str, str]:
        key, value, note = row["id"], float(computed.get(row["id"], math.nan)), []
        tolerance = max(row["tolerance"], ERRORS * errors.get(key, 0.0))
        agreed = MATCH
        if key in settings:
            value = float(settings[key])
            other = (
                ""
                if value == float(row["printed"])
                else "differs from the paper's setting"
            )
            return value, tolerance, SETTING, _joined(other, notes.get(key))
        if key in consistent and (key in skip or key not in computed):
            value, check = consistent[key]
            agreed, note = CONSISTENT, [check]
        elif reason := skip.get(key) or (missing if key not in computed else None):
            return value, tolerance, SKIPPED, _joined(reason, notes.get(key))
        # The slack lets a difference of exactly one unit pass in binary arithmetic.
        slack = tolerance + 1e-9 * max(1.0, abs(value))
        above = value - float(row["printed"])
        holds = {"=": abs(above) <= slack, "<=": above <= slack, ">=": above >= -slack}
        verdict = agreed if holds[row["relation"]] else DIFFERS
        return value, tolerance, verdict, _joined(*note, notes.get(key))

    judged = [judge(row) for _, row in table.iterrows()]
    table[["computed", "tolerance", "verdict", "note"]] = pd.DataFrame(
        judged, index=table.index
    )
    differs = table["id"][table["verdict"] == DIFFERS]
    if silent := [key for key in differs if not notes.get(key)]:
        raise ValueError(
            f"numbers that differ from the printed ones need a note: {silent}"
        )
    columns = ["id", "source", "quantity", "relation", "printed"]
    return table[[*columns, "computed", "tolerance", "verdict", "note"]]


def _beside(computed: float, printed: str) -> str:
    """Return a computed number with at least the decimal places of the printed one.

    >>> _beside(29.53300649, "29.53010"), _beside(0.0425, "0.039"), _beside(math.nan, "36.1")
    ('29.53301', '0.0425', '')
    """
    places, plain = -int(Decimal(printed).as_tuple().exponent), _plain(computed)
    if not plain or places <= len(plain.partition(".")[2]):
        return plain
    return with_minus(f"{computed:,.{places}f}")


def _joined(*texts: str | None) -> str:
    return "; ".join(filter(None, texts))


def summary(book: pd.DataFrame) -> DisplayGroup:
    """Return tables of a `ledger`: verdicts by source, numbers that differ, and skipped numbers."""
    counts = pd.crosstab(book["source"], book["verdict"]).loc[book["source"].unique()]
    counts = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    counts.loc["all"] = counts.sum()
    by_source = counts.rename_axis(index="printed in", columns=None).reset_index()
    parts = [show(by_source, caption="Printed numbers by source and verdict.")]
    signs = {"=": "", "<=": "≤\u00a0", ">=": "≥\u00a0"}
    for verdict, caption in (
        (DIFFERS, "Numbers that differ, one example per reason."),
        (SKIPPED, "Numbers without a verdict, one example per reason."),
    ):
        rows = [
            {
                "printed in": source,
                "quantity": first["quantity"]
                + f" (and {len(group) - 1} more)" * (len(group) > 1),
                "printed": signs[first["relation"]] + first["printed"],
                "computed": _beside(first["computed"], first["printed"]),
                "why": note,
            }
            for (source, note), group in book[book["verdict"] == verdict].groupby(
                ["source", "note"], sort=False
            )
            for first in [group.iloc[0]]
        ]
        if rows:
            parts.append(show(pd.DataFrame(rows), caption=caption))
    return DisplayGroup(tuple(parts))
