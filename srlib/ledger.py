"""Printed numbers beside computed ones, and the claims of a paper beside the table that decides.

Printed numbers lie in a CSV file beside the notebook: id, source (section, table or figure),
quantity, relation (``=``, or ``<=`` and ``>=`` where the paper prints a bound), printed (the digits
as printed) and tolerance (empty: one unit in the last digit printed, and 0 for a bound).
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
    Several,
    callout,
    numbers,
    percent,
    show,
    with_error,
    with_minus,
)

MATCH, DIFFERS = "match", "differs"
CONSISTENT = "consistent"  # with other numbers that the paper prints
SETTING = "setting"  # an input of the design, compared with nothing
SKIPPED = "skipped"
VERDICTS = (MATCH, DIFFERS, CONSISTENT, SETTING, SKIPPED)

PROVED, HOLDS, DEPENDS, FAILS = "proved", "holds", "depends on", "fails"
UNDECIDED = "not decided"
WORDS = (PROVED, HOLDS, DEPENDS, FAILS, UNDECIDED)

ERRORS = 2.0
"""Standard errors between a number and its limit from which on the two are apart."""

_SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}


# -------------------------------------------------------------------------------------- claims


class Claims:
    """What a paper claims: one list at the top of its notebook, which the run fills.

    Each claim is stated by its name, such as ``"C1"``: the statement with its quantifier, its
    criterion and its place in the paper; Markdown.
    """

    def __init__(self, stated: Mapping[str, str]) -> None:
        self.stated = dict(stated)
        self._rows: dict[str, dict[str, Any]] = {}
        self._display: Any = None

    def check(
        self,
        claim: str,
        word: str,
        sentence: str,
        *,
        measured: str,
        value: ArrayLike,
        relation: str,
        limit: ArrayLike,
        error: ArrayLike = 0.0,
        nearly: float = 1.0,
        records: int = MIN_RECORDS,
    ) -> Callout:
        """Hold a number, or a Series of them, against a limit, and the author's word against that.

        A case with an error is decided where the limit lies more than two errors away. The cases
        decide the word: *holds* where all are so, *fails* where none is, *depends on* where some
        are and some are not, *not decided* where the errors leave it open.

        Parameters
        ----------
        claim : str
            A claim that is stated.
        word : str
            The author's: ``"proved"``, ``"holds"``, ``"depends on ..."``, ``"fails"`` or
            ``"not decided"``. A run whose cases decide otherwise says its own word.
        sentence : str
            What the author says under that word; Markdown without numbers of the run.
        measured : str
            What the values are.
        value, limit, error : float or (n_cases,) float
            One entry a case, or one for all; a Series names its cases by its index. Names must not
            be those of records.
        relation : str
            ``"<"``, ``"<="``, ``">"`` or ``">="``: what the claim says of value and limit.
        nearly : float
            Share of the cases that counts as all, in (1/2, 1]; one minus it counts as none.
        records : int
            Records that the word rests on, where they are a user's.

        Returns
        -------
        Callout
            Word, sentence and evidence.
        """
        if claim not in self.stated:
            raise ValueError(f"claim is {claim!r}; it must be one of {', '.join(self.stated)}")
        if not word.startswith(WORDS) or relation not in _SIGNS:
            raise ValueError(
                f"word is {word!r} and relation {relation!r}; they must begin with one of "
                f"{', '.join(WORDS)}, and be one of {', '.join(_SIGNS)}"
            )
        cases = value if isinstance(value, pd.Series) else pd.Series(np.atleast_1d(value))
        cases = cases.astype(float)
        limits, errors = np.broadcast_arrays(
            np.asarray(limit, dtype=float), np.asarray(error, dtype=float), cases.to_numpy()
        )[:2]
        if np.isnan([cases, limits, errors]).any() or not len(cases):
            raise ValueError(f"{claim} ({measured}): a value, limit or error is missing")
        sign = 1 if ">" in relation else -1
        margin = (cases.to_numpy() - limits) * sign
        slack = 1e-9 * np.maximum(1.0, abs(limits)) * (1 if "=" in relation else -1)
        yes = np.where(errors == 0, margin + slack >= 0, margin > ERRORS * errors)
        no = np.where(errors == 0, ~yes, margin < -ERRORS * errors)
        found = _word(yes.mean(), no.mean(), nearly)
        borne = word.startswith({HOLDS: (HOLDS, PROVED)}.get(found, found))
        worst = int(np.argmin(margin))
        where = cases.index[worst]  # of an index with several levels a tuple
        where = where if isinstance(where, tuple) else (where,)
        self._rows[claim] = {
            "claim": claim,
            "word": word if borne else found + " the case" * (found == DEPENDS),
            "written": word,
            "measured": measured,
            "relation": relation,
            "limit": limits[worst],
            "cases": len(cases),
            "yes": int(yes.sum()),
            "no": int(no.sum()),
            "worst": cases.iloc[worst],
            "error": errors[worst],
            "where": ", ".join(map(str, where)) if len(cases) > 1 else "",
            "nearly": nearly,
            "records": records,
        }
        if self._display is not None:
            self._display.update(self._bundle(), raw=True)
        said = sentence if borne else f"This run does not bear the word *{word}*."
        return callout(f"{claim} {self._rows[claim]['word']}", f"{said} {self.evidence(claim)}")

    def evidence(self, claim: str) -> str:
        """Say what was held against what, in how many cases it was so, and the worst of them."""
        row = self._rows[claim]
        worst = with_error(row["worst"], row["error"]) if row["error"] else _plain(row["worst"])
        limit = f"{_SIGNS[row['relation']]}\u00a0{_plain(row['limit'])}"
        if row["cases"] == 1:
            return f"({row['measured']}: {worst}, to be {limit}.)"
        open_cases = row["cases"] - row["yes"] - row["no"]
        left = f", {open_cases} undecided" if open_cases else ""
        share = f"; {percent(row['nearly'])} count as all" if row["nearly"] < 1 else ""
        return (
            f"({row['measured']}: as claimed in {row['yes']:,} of {row['cases']:,} cases{left}"
            f"{share}; at the worst {worst}, to be {limit}, at {row['where']}.)"
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row a claim, once all are checked; of a user's file it is confidential."""
        if unsaid := [claim for claim in self.stated if claim not in self._rows]:
            raise ValueError(f"not checked: {', '.join(unsaid)}")
        return pd.DataFrame([self._rows[claim] for claim in self.stated])

    def words(self) -> Callout:
        """Return the words alone, and none that rests on fewer than `MIN_RECORDS` records."""
        said = [
            f"{claim} {row['word'] if row['records'] >= MIN_RECORDS else NOT_SHOWN}."
            for claim in self.stated
            if (row := self._rows.get(claim))
        ]
        return callout(f"In words, over {MIN_RECORDS} records or more", " ".join(said))

    def _repr_markdown_(self) -> str:
        lines = ["| | claim | in this run |", "|---|---|---|"]
        for claim, statement in self.stated.items():
            cells = (f"**{claim}**", statement, self._rows.get(claim, {}).get("word", ""))
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
        return with_minus("\n".join(lines))

    def __repr__(self) -> str:
        said = {claim: row["word"] for claim, row in self._rows.items()}
        return "\n".join(f"{c} {said.get(c, '')}: {stated}" for c, stated in self.stated.items())

    def _ipython_display_(self) -> None:
        from IPython.display import display

        # The list stands at the top, and each check below writes its word into it.
        self._display = display(self._bundle(), raw=True, display_id=True)

    def _bundle(self) -> dict[str, str]:
        return {"text/markdown": self._repr_markdown_(), "text/plain": repr(self)}


def _plain(value: float) -> str:
    return numbers([value])[0]


def _word(yes: float, no: float, nearly: float) -> str:
    """Return the word for shares of cases that are so and that are not so."""
    if yes >= nearly:
        return HOLDS
    if no >= nearly:
        return FAILS
    return DEPENDS if yes > 1 - nearly and no > 1 - nearly else UNDECIDED


# -------------------------------------------------------------------------------------- ledger


def printed(paper: str) -> pd.DataFrame:
    """Printed numbers of a paper, by its key, such as ``"hu_reiter_wang"``.

    One row a number: id, source, quantity, relation, printed (text) and tolerance (float,
    derived where the file leaves it empty).
    """
    here = Path(__file__).parent
    shipped = here / "shipped" / "notebooks"
    folder = shipped if shipped.is_dir() else here.parent / "notebooks"
    files = {file.stem: file for file in folder.glob("*.csv")}
    if paper not in files:
        raise ValueError(f"paper is {paper!r}; it must be one of {', '.join(sorted(files))}")
    table = pd.read_csv(files[paper], dtype=str, keep_default_na=False, encoding="utf-8")
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
    """Compare a run's numbers with the printed ones.

    Parameters
    ----------
    paper : str
        Key of the paper.
    computed : mapping of str to float
        The run's value of each id.
    errors : mapping of str to float
        Monte Carlo standard errors of computed values. The tolerance is one unit in the last digit
        printed, or two errors where they are more.
    settings : mapping of str to float
        For ids of what a run chooses, such as a sample size: this run's choice. It is shown and
        compared with nothing; a note says so where it is not the paper's.
    consistent : mapping of str to (float, str)
        For ids whose recomputation needs the paper's own data: the value that follows from what the
        paper prints elsewhere, and the check in words. It must be one that a wrong number would not
        pass. It is used where an id is neither computed nor a setting.
    skip : mapping of str to str
        Reasons not to judge an id although it may have a value, which is shown.
    missing : str
        Reason to skip numbers that are in no mapping; not given, they are an error.
    notes : mapping of str to str
        For ids: what there is to say, above all why a number differs and where the notebook
        shows it. A number that differs needs one.

    Returns
    -------
    DataFrame
        One row a printed number, in the file's order: id, source, quantity, relation, printed,
        computed (NaN where there is none; for ``"consistent"`` the value of the check), tolerance,
        verdict (one of `VERDICTS`) and note.
    """
    errors, settings, consistent = errors or {}, settings or {}, consistent or {}
    skip, notes = skip or {}, notes or {}
    table = printed(paper)
    arguments = {"computed": computed, "errors": errors, "settings": settings, "skip": skip}
    for argument, given in (arguments | {"consistent": consistent, "notes": notes}).items():
        if unknown := [key for key in given if key not in set(table["id"])]:
            raise ValueError(f"{argument} has ids that {paper} does not print: {unknown}")
    if twice := [key for key in settings if key in computed]:
        raise ValueError(f"settings are compared with nothing; computed has, too: {twice}")
    known = {*computed, *settings, *consistent, *skip}
    if missing is None and (unsaid := [key for key in table["id"] if key not in known]):
        raise ValueError(f"printed, but neither computed nor skipped: {unsaid}")

    def judge(row: pd.Series) -> tuple[float, float, str, str]:
        key, value, note = row["id"], float(computed.get(row["id"], math.nan)), []
        tolerance = max(row["tolerance"], ERRORS * errors.get(key, 0.0))
        agreed = MATCH
        if key in settings:
            value = float(settings[key])
            other = "" if value == float(row["printed"]) else "another setting than the paper's"
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
    table[["computed", "tolerance", "verdict", "note"]] = pd.DataFrame(judged, index=table.index)
    differs = table["id"][table["verdict"] == DIFFERS]
    if silent := [key for key in differs if not notes.get(key)]:
        raise ValueError(f"differs from the printed number without a note: {silent}")
    columns = ["id", "source", "quantity", "relation", "printed"]
    return table[[*columns, "computed", "tolerance", "verdict", "note"]]


def _beside(computed: float, printed: str) -> str:
    """Write a computed number with the decimal places of the printed one, or more.

    >>> _beside(29.53300649, "29.53010"), _beside(0.0425, "0.039"), _beside(math.nan, "36.1")
    ('29.53301', '0.0425', '')
    """
    places, plain = -int(Decimal(printed).as_tuple().exponent), _plain(computed)
    if not plain or places <= len(plain.partition(".")[2]):
        return plain
    return with_minus(f"{computed:,.{places}f}")


def _joined(*texts: str | None) -> str:
    return "; ".join(filter(None, texts))


def summary(book: pd.DataFrame) -> Several:
    """Show how many numbers of a `ledger` have each verdict, by place, and those that differ."""
    counts = pd.crosstab(book["source"], book["verdict"]).loc[book["source"].unique()]
    counts = counts[[word for word in VERDICTS if word in counts]]
    counts.loc["all"] = counts.sum()
    by_source = counts.rename_axis(index="printed in", columns=None).reset_index()
    parts = [show(by_source, caption="Printed numbers by their place and verdict.")]
    signs = {"=": "", "<=": "≤\u00a0", ">=": "≥\u00a0"}
    for verdict, caption in (
        (DIFFERS, "Numbers that differ, the first of each reason."),
        (SKIPPED, "Numbers that are not judged, the first of each reason."),
    ):
        rows = [
            {
                "printed in": source,
                "quantity": first["quantity"] + f" (and {len(group) - 1} more)" * (len(group) > 1),
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
    return Several(tuple(parts))
