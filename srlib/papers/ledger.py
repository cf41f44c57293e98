"""The numbers that the papers print, and the ledger that sets a run's numbers beside them.

Each paper has a CSV file here: id, source (section, table or figure), quantity, relation (``=``,
or ``<=`` and ``>=`` where the paper prints a bound on the quantity), printed (the digits as
printed) and tolerance (empty: one unit in the last digit printed, and 0 for a bound).
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from io import StringIO

import pandas as pd

from srlib.display import Callout, Several, callout, numbers, show
from srlib.ledger import printed

MATCH, DIFFERS = "match", "differs"
CONSISTENT = "consistent"  # with other numbers that the paper prints
SETTING = "setting"  # an input of the design, compared with nothing
SKIPPED = "skipped"
VERDICTS = (MATCH, DIFFERS, CONSISTENT, SETTING, SKIPPED)


def shipped(name: str) -> tuple[str, pd.DataFrame]:
    """Return the origin and the rows of a table that a sweep left and that ships.

    Parameters
    ----------
    name : str
        Of its file here, without the ending .txt.

    Returns
    -------
    origin : str
        Its comment lines.
    table : DataFrame
        The parameters that vary, and what was collected.
    """
    text = (resources.files(__package__) / f"{name}.txt").read_text("utf-8")
    origin = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("#")]
    return " ".join(origin), pd.read_csv(StringIO(text), comment="#")


def ledger(
    paper: str,
    computed: Mapping[str, float],
    *,
    skip: Callable[[str], str | None] = lambda number: None,
    settings: Mapping[str, float] | None = None,
    consistent: Mapping[str, tuple[float, str]] | None = None,
    missing: str | None = None,
    notes: Mapping[str, str] | None = None,
    tolerances: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Compare a run's numbers with the printed ones.

    Parameters
    ----------
    paper : str
        Key of the paper.
    computed : mapping of str to float
        The run's value of each id.
    skip : callable
        From an id to the reason why it is not judged (the run has other data or parameters than
        the paper, or does not compute the number), or None to judge it. The ``get`` of a
        dictionary serves. A skipped number may have a computed value, which is shown.
    settings : mapping of str to float
        For ids of what a run chooses, such as a sample size: this run's choice. It is shown and
        compared with nothing; a note says so where it is not the paper's.
    consistent : mapping of str to (float, str)
        For ids whose recomputation needs the paper's own data: what other numbers of the paper
        say of this one, and the check in words. It is used where an id is not judged otherwise.
    missing : str
        Reason to skip numbers that are in neither mapping; not given, they are an error.
    notes : mapping of str to str
        For ids: what there is to say, above all why a number differs and where the notebook
        shows it.
    tolerances : mapping of str to float
        For ids: tolerances that replace the file's, such as one from the Monte Carlo error.

    Returns
    -------
    DataFrame
        One row a printed number, in the paper's order: id, source, quantity, relation, printed,
        computed (NaN where there is none; for ``"consistent"`` the value of the check), tolerance,
        verdict (``"match"``, ``"differs"``, ``"consistent"``, ``"setting"`` or ``"skipped"``) and
        note.

    Raises
    ------
    ValueError
        If an id is not printed in the paper; if a printed number is neither computed nor
        skipped; if one differs without a note.
    """
    notes, tolerances, settings = notes or {}, tolerances or {}, settings or {}
    consistent = consistent or {}
    table = printed(paper)
    given_ids = {"computed": computed, "settings": settings, "consistent": consistent}
    for argument, given in (given_ids | {"notes": notes, "tolerances": tolerances}).items():
        if unknown := [key for key in given if key not in set(table["id"])]:
            raise ValueError(f"{argument} has ids that {paper} does not print: {_list(unknown)}")
    if twice := [key for key in settings if key in computed]:
        raise ValueError(f"settings are compared with nothing; computed has, too: {_list(twice)}")

    def judge(row: pd.Series) -> tuple[float, float, str, str]:
        key, value = row["id"], float(computed.get(row["id"], math.nan))
        tolerance, note = tolerances.get(key, row["tolerance"]), notes.get(key, "")
        if key in settings:
            value = float(settings[key])
            other = "" if value == float(row["printed"]) else "another setting than the paper's"
            return value, tolerance, SETTING, "; ".join(filter(None, (other, note)))
        reason = skip(key) or (missing if key not in computed else None)
        agreed = MATCH
        if reason and key in consistent:
            value, check = consistent[key]
            agreed, reason, note = CONSISTENT, None, "; ".join(filter(None, (check, note)))
        if reason:
            return value, tolerance, SKIPPED, "; ".join(filter(None, (reason, note)))
        # The slack lets a difference of exactly one unit pass in binary arithmetic.
        slack = tolerance + 1e-9 * max(1.0, abs(value))
        above = value - float(row["printed"])
        holds = {"=": abs(above) <= slack, "<=": above <= slack, ">=": above >= -slack}
        return value, tolerance, agreed if holds[row["relation"]] else DIFFERS, note

    judged = [judge(row) for _, row in table.iterrows()]
    table[["computed", "tolerance", "verdict", "note"]] = pd.DataFrame(judged, index=table.index)
    judged_ids = table["verdict"].isin([MATCH, DIFFERS])
    known = table["id"].isin([*computed, *consistent])
    if unsaid := table["id"][judged_ids & ~known].tolist():
        raise ValueError(f"printed, but neither computed nor skipped: {_list(unsaid)}")
    if silent := table["id"][(table["verdict"] == DIFFERS) & (table["note"] == "")].tolist():
        raise ValueError(f"differs from the printed number without a note: {_list(silent)}")
    columns = ["id", "source", "quantity", "relation", "printed"]
    return table[[*columns, "computed", "tolerance", "verdict", "note"]]


def summary(book: pd.DataFrame) -> Several:
    """Show how a run's numbers compare with the printed ones, and those that differ.

    Parameters
    ----------
    book : DataFrame
        As `ledger` returns.

    Returns
    -------
    Several
        How many there are of each verdict, with the reasons for those that are skipped; the same
        by source; and a row for each note on numbers that differ, with the first of them.
    """
    counts = pd.crosstab(book["source"], book["verdict"])
    counts = counts[[word for word in VERDICTS if word in counts]]
    counts = counts.loc[sorted(counts.index, key=_place)]
    if len(counts) > 1:
        counts.loc["all"] = counts.sum()
    by_source = counts.rename_axis(index="printed in", columns=None).reset_index()
    parts = [said(book), show(by_source, caption="Printed numbers by their place and verdict.")]
    if len(differs := _differing(book)):
        shown = show(differs, caption="Numbers that differ, the first of each reason.")
        parts.append(replace(shown, html=_SECTION.sub(_linked, shown.html)))
    return Several(tuple(parts))


def said(book: pd.DataFrame) -> Callout:
    """Say how many numbers have each verdict, and why numbers are skipped.

    Parameters
    ----------
    book : DataFrame
        As `ledger` returns.
    """
    words = {
        MATCH: "{} as printed",
        DIFFERS: "{} otherwise",
        CONSISTENT: "{} consistent with others that the paper prints",
        SETTING: "{} settings, which are compared with nothing",
        SKIPPED: "{} skipped",
    }
    counts = book["verdict"].value_counts()
    told = ", ".join(words[word].format(counts[word]) for word in VERDICTS if word in counts)
    reasons = book.loc[book["verdict"] == SKIPPED, "note"].value_counts()
    why = "; ".join(f"{reason} ({n})" for reason, n in reasons.items())
    why = f" Why numbers are skipped: {why}." if why else ""
    return callout("The ledger", f"Of {len(book)} printed numbers {told}.{why}")


def _differing(book: pd.DataFrame) -> pd.DataFrame:
    """Numbers that differ, in words; of those with one note and place, the first."""
    differs = book[book["verdict"] == DIFFERS].groupby(["source", "note"], sort=False)
    rows = []
    for (source, note), group in sorted(differs, key=lambda each: _place(each[0][0])):
        first, more = group.iloc[0], len(group) - 1
        number = Decimal(first["printed"])
        # Enough decimals to compare, and to see how large a number is that lies elsewhere.
        own = max(2 - Decimal(first["computed"]).adjusted(), 0) if first["computed"] else 0
        decimals = max(-int(number.as_tuple().exponent), own)
        rows.append(
            {
                "printed in": source,
                "quantity": first["quantity"] + f" (and {more} more)" * (more > 0),
                "printed": _RELATIONS[first["relation"]] + f"{number:,f}",
                "computed": numbers([first["computed"]], decimals=decimals)[0],
                "why": note,
            }
        )
    return pd.DataFrame(rows)


_RELATIONS = {"=": "", "<=": "≤\u00a0", ">=": "≥\u00a0"}
_SECTION = re.compile(r"\bsection ([A-Z][^<>;]+)(?=</td>)")


def _linked(found: re.Match[str]) -> str:
    return f'<a href="#{found[1].replace(" ", "-")}">{found[1]}</a>'


def _place(source: str) -> tuple[float, ...]:
    """Sections first, by their numbers, then appendices, tables and figures."""
    kinds = ("Section", "Appendix", "Table", "Figure")
    kind = next((i for i, word in enumerate(kinds) if source.startswith(word)), len(kinds))
    return kind, *map(float, re.findall(r"\d+(?:\.\d+)?", source))


def _list(ids: list[str]) -> str:
    more = f" and {len(ids) - 10} more" if len(ids) > 10 else ""
    return ", ".join(ids[:10]) + more
