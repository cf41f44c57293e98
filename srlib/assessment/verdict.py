"""The verdict on a release: one sentence and a card, by stated rules from the table; and a page.

The first sentence follows from the words of the rows that were asked for, the words from the
thresholds of `answers` and `use`, and nothing else has a part in it. Pages stand alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from textwrap import indent
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, Template
from markupsafe import Markup

from srlib.assessment import ratings, utility
from srlib.display import MIN_RECORDS, NOT_SHOWN, in_percent, percent, show

_SHOWN = 12  # records to look at
MOST_SHOWN = 100  # factor of odds
_HEADS = {
    "z": "z",
    "z_permutation": "z, permutation",
    "z_holdout": "z, holdout",
    "baseline_kind": "baseline kind",
}

# What to do, the best first.
VERDICTS = ("no sign of disclosure", "undecided", "review", "do not release")
# Risks of the card, in words; the largest loss stands below them.
CARD = {
    "identity": "people met by their keys",
    "attribute": "target told by all with the keys",
    "inference": "target told by a trained guess",
    "identical records": "records that repeat an original",
    "undetected copies": "copies that chance could hide",
}
# A further line of the card where one of these rows decides on copies.
DECIDING = {
    "identifiers": "values of identifiers in common",
    "copied uniques": "unique people handed out",
    "near-duplicates": "records near an original one",
    "repeated unique": "one unique person's record",
    "excess over own duplicates": "people beyond its own records",
    "identical before binning": "complete copies",
    "row order": "values equal, row by row",
}
# By the words of rows that were asked for, the worst first.
_BY_WORD = {
    "found": ("do not release", "Do not release {}"),
    "high": ("do not release", "Do not release {}"),
    "signs": ("review", "Look before you release {}"),
    "elevated": ("review", "Look before you release {}"),
    "undecided": ("undecided", "Undecided on {}"),
}
_USE = {
    "like a fresh sample": "; it is as useful as a fresh sample",
    "good": "; it is a little less useful than a fresh sample",
    "limited": "; it is clearly less useful than a fresh sample",
    "poor": ", but it is of little use",
}


@dataclass(frozen=True)
class Verdict:
    """The verdict on a release or a tool: one of `VERDICTS`, and what to do and why in 25 words."""

    release: str
    verdict: str
    sentence: str


def judge(release: str, rows: pd.DataFrame) -> Verdict:
    """Decide on a release by the worst word of its rows that were asked for."""
    risks = rows[rows["in_verdict"]]
    for word, (verdict, what) in _BY_WORD.items():
        if len(some := risks[risks["rating"] == word]):
            why = some["why"].iloc[0]
            if word in ("elevated", "high"):
                why = f"it tells {word} about {why} than other people's records would"
            return Verdict(release, verdict, f"{what.format(release)}: {why}.")
    remarks = [f", but {why}" for why in risks["why"][risks["rating"] == "no sign"] if why]
    first = (
        f"Nothing found against releasing {release}{''.join(remarks)}{_USE[loss(rows)['rating']]}."
    )
    return Verdict(release, "no sign of disclosure", first)


def loss(rows: pd.DataFrame) -> pd.Series:
    """Return the row of the worst loss: by its word, and then by how far it lies beyond chance."""
    losses = rows[rows["question"].isin(utility.LOSSES) & rows["estimate"].notna()]
    beyond = (losses["estimate"] - losses["baseline"]).where(
        losses["rating"] != "like a fresh sample", 0.0
    )
    order = beyond.fillna(np.inf) + 1e-9 * losses["z"].fillna(0).clip(-1e3, 1e3)
    return losses.loc[order.idxmax()]


def worst_first(verdicts: Sequence[Verdict], table: pd.DataFrame) -> list[Verdict]:
    """Order releases by what to do, then by how much of the rest the worst risk takes."""
    rest = ratings.excess_share(table["estimate"], table["baseline"]).where(table["in_verdict"], 0)
    worst = rest.fillna(0).groupby(table["release"]).max()
    by = {one.release: (VERDICTS.index(one.verdict), worst[one.release]) for one in verdicts}
    return sorted(verdicts, key=lambda one: by[one.release], reverse=True)


def of_card(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a release's card: its risks, what decides on copies, and the worst loss.

    Further keys and targets have no line.
    """
    risks = rows.drop_duplicates("question").set_index("question", drop=False)
    decides = [q for q in DECIDING if q in risks.index and risks.loc[q, "rating"]]
    lines = CARD | {question: DECIDING[question] for question in decides}
    if "numbers binned" in risks.loc["identical records", "detail"]:
        lines["identical records"] += ", numbers binned"
    worst = loss(rows)
    shown = risks.loc[[*list(CARD)[:-1], *decides, "undetected copies"]]
    shown = pd.concat([shown, worst.to_frame().T])
    return shown.assign(line=[*shown["question"][:-1].map(lines), f"use: {worst['question']}"])


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a release's card as texts, numbers with their standard errors."""
    shown = of_card(rows)
    decides = set(shown["question"]) & set(DECIDING) - {"identifiers"}
    of_copies = "see below" if decides else ""
    lines = []
    for row in shown.to_dict("records"):
        line = {"question": row["line"], "release": "", "baseline": "", "rating": row["rating"]}
        if pd.notna(row["estimate"]):
            line["release"] = in_percent(row["estimate"], row["se"])
        if pd.notna(row["baseline"]):
            line["baseline"] = in_percent(row["baseline"], row["baseline_se"])
            line["baseline"] += f" ({row['baseline_kind']})" if row["baseline_kind"] else ""
        if row["question"] == "identity" and not row["n"]:
            line |= {"release": "nobody is unique", "baseline": ""}
        if row["question"] == "identical records" and of_copies:
            line["rating"] = of_copies
        if row["question"] == "undetected copies" and pd.isna(row["estimate"]):
            line |= {"release": "nobody is unique", "rating": "not applicable"}
        elif row["question"] == "undetected copies":
            factor = ratings.odds_factor(row)
            line["release"] = f"up to {in_percent(row['estimate'])} of the unique"
            times = f"{factor:.1f}" if factor < MOST_SHOWN else f"{MOST_SHOWN} or more"
            line["baseline"] = f"odds times {times}"
        lines.append(line)
    return pd.DataFrame(lines)


def text(verdicts: Sequence[Verdict], table: pd.DataFrame, not_judged: str = "") -> str:
    """Return the verdict in words: what to do, and the card, for each release.

    What was not judged stands below the first sentence.
    """
    blocks = []
    for one in verdicts:
        card_lines = show(card(table[table["release"] == one.release])).text
        blocks.append(
            "\n".join([one.sentence, *filter(None, [not_judged]), indent(card_lines, "  ")])
        )
        not_judged = ""
    return "\n\n".join(blocks)


def in_public(verdicts: Sequence[Verdict], table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict in words, without names and numbers; releases are numbered.

    A word stands where it rests on ten people or more, that for copies on ten of the original and
    ten released records, and the advice where all words stand that it follows from.
    """
    found = []
    for number, one in enumerate(verdicts, start=1):
        of_release = table[table["release"] == one.release]
        rows = of_release[of_release["in_verdict"]]
        enough = rows["n"] >= MIN_RECORDS
        enough &= (rows["question"] != "identical records") | enough[
            rows["question"] == "inference"
        ].all()
        words = {
            question: max(of["rating"], key=_ORDER.index) if enough[of.index].all() else NOT_SHOWN
            for question, of in rows.groupby("question", sort=False)
        }
        both = one.verdict, loss(of_release)["rating"]
        advice, useful = both if enough.all() else (NOT_SHOWN, NOT_SHOWN)
        found.append({"release": number, "verdict": advice, **words, "utility": useful})
    return pd.DataFrame(found)


_ORDER = (
    "not applicable",
    "too few people",
    *ratings.COPY_RATINGS,
    "as expected",
    "elevated",
    "high",
)


def stated(what: str = "rules") -> list[str]:
    """Return the rules behind the first sentence, or the ``"assumptions"``, as sentences."""
    known = {"answers": ratings, "use": utility, "few": MIN_RECORDS}
    return _template(f"{what}.txt").render(known).splitlines()


def page(
    verdicts: Sequence[Verdict], table: pd.DataFrame, records: pd.DataFrame, notes: Sequence[str]
) -> str:
    """Return the verdict first, a card for each release, and the rest folded.

    Texts of the user's files are escaped; the page has no script and loads nothing.
    """
    releases = []
    for one in verdicts:
        rows = table[table["release"] == one.release]
        told = (
            rows.drop(columns=["in_verdict", "release"]).replace("", None).dropna(axis=1, how="all")
        )
        each = {"card": _html(card(rows)), "answers": _html(told, names=_HEADS)}
        releases.append(vars(one) | each | {"rows": _drawn(rows)})
    worst = verdicts[0].release
    some = records.query("release == @worst").head(_SHOWN).drop(columns="release")
    caption = f"Records of the original to look at first, for {worst}."
    shown = {"records": _html(some, caption=caption), "notes": [*notes, *stated("assumptions")]}
    return _template("page.html").render(releases=releases, **shown, rules=stated())


def _drawn(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a card whose value and baseline are shares of the same people."""
    drawn = of_card(rows).query("question != 'undetected copies' and estimate == estimate")
    return drawn.to_dict("records")


def public_page(verdicts: Sequence[Verdict], table: pd.DataFrame) -> str:
    """Return the words of `in_public` and nothing else of anybody's files."""
    return _template("page.html").render(words=_html(in_public(verdicts, table)), rules=stated())


def _html(rows: pd.DataFrame, **options: Any) -> Markup:
    return Markup(show(rows, **options).html)


def _template(name: str) -> Template:
    source = files("srlib.assessment").joinpath(f"{name}.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=name.endswith("html"), trim_blocks=True)
    environment.filters["percent"] = percent
    return environment.from_string(source)
