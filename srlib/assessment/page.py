"""A page of an assessment that stands alone."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from srlib.assessment import verdict
from srlib.display import show

if TYPE_CHECKING:
    from srlib.assessment.report import Assessment

_SHOWN = 12  # records to look at


def page(found: "Assessment", public: bool = False) -> str:
    """Return the verdict first, a card and a picture for each release, and the rest folded.

    Texts of the user's files are escaped; the page has no script and loads nothing.
    The public version has the words of `verdict.in_public` and nothing else of anybody's files.
    """
    rules = _folded("The rules", [_listed(verdict.stated())])
    if public:
        return _document([
            "<h1>Assessment of synthetic data</h1>",
            "<p>Words over ten people or more; releases are numbered, the worst first.</p>",
            _wide(show(verdict.in_public(found.judgments, found.table)).html), *rules,
        ])  # fmt: skip
    first, *others = found.judgments
    note = "Confidential: this page has numbers and records of the original."
    body = [f"<h1>{escape(first.first)}</h1>", f'<p class="note">{note}</p>']
    body += _card(found, first.release)
    for one in others:
        body += [f"<h2>{escape(one.first)}</h2>", *_card(found, one.release)]
    notes = _folded("What was assessed", [_listed([*found.tables.notes, *ASSUMED])])
    return _document([*body, *_tables(found), *notes, *rules])


ASSUMED = (
    "Each record is a person, drawn like the others. Households, weights, or equal records that "
    "were removed change what strangers repeat; where that is seen the word for copies is "
    "undecided.",
    "The intruder knows the keys exactly, and that somebody is in the file. Other keys, and finer "
    "values than the levels here, tell more or less.",
    "Errors are those of another release by the same tool as it was fitted; one release cannot "
    "tell how far another fit would move a number.",
    "Who is alone in the file need not be alone in the population.",
)


def _document(body: Iterable[str]) -> str:
    around = files("srlib.assessment").joinpath("page.html").read_text(encoding="utf-8")
    return Template(around).substitute(body="\n".join(body))


def _card(found: "Assessment", release: str) -> list[str]:
    rows = found.table[found.table["release"] == release]
    return [_wide(show(verdict.card(rows)).html), _picture(rows)]


def _picture(rows: pd.DataFrame) -> str:
    """Draw the risks with two standard errors beside their baselines, as ticks."""
    some = verdict.decisive(rows).dropna(subset="value")
    left, width, step = 215, 500, 34
    height = step * len(some) + 30

    def at(share: float) -> float:
        return left + width * float(np.clip(share, 0, 1))

    marks = [
        f'<line class="axis" x1="{at(s):.1f}" x2="{at(s):.1f}" y1="8" y2="{height - 24}"/>'
        f'<text x="{at(s):.1f}" y="{height - 6}" text-anchor="middle">{100 * s:.0f} %</text>'
        for s in (0, 0.25, 0.5, 0.75, 1)
    ]
    for i, row in enumerate(some.itertuples()):
        y, error = 8 + step * (i + 0.5), np.nan_to_num(row.error)
        marks.append(
            f'<text x="0" y="{y + 4:.1f}">{verdict.CARD[str(row.question)]}</text>'
            f'<line class="bar" x1="{at(row.value - 2 * error):.1f}" '
            f'x2="{at(row.value + 2 * error):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<circle class="dot" cx="{at(row.value):.1f}" cy="{y:.1f}" r="5"/>'
            f'<line class="tick" x1="{at(row.baseline):.1f}" x2="{at(row.baseline):.1f}" '
            f'y1="{y - 10:.1f}" y2="{y + 10:.1f}"/>'
        )
    told = "Shares that the release tells, with two standard errors, and baselines as ticks"
    return f'<svg viewBox="0 0 750 {height}" role="img" aria-label="{told}">{"".join(marks)}</svg>'


def _tables(found: "Assessment") -> list[str]:
    parts = []
    table = found.table.drop(columns=["asked"])
    for release, rows in table.groupby("release", sort=False):
        shown = show(_lean(rows.drop(columns="release")), names=_HEADS)
        parts += _folded(f"All answers: {release}", [_wide(shown.html)])
    records = found.records()
    worst = records[records["release"] == found.judgments[0].release].head(_SHOWN)
    caption = f"Records of the original to look at first, for {found.judgments[0].release}."
    shown = show(worst.drop(columns="release"), caption=caption)
    return [*parts, *_folded("Records to look at", [_wide(shown.html)])]


_HEADS = {
    "z": "difference, in errors", "z_divided": "by random division", "held_out": "people held out",
    "held_out_z": "beyond these, in errors", "baseline_of": "that is",
}  # fmt: skip


def _lean(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows without columns in which nothing stands."""
    return rows.loc[:, [bool((rows[name].notna() & (rows[name] != "")).any()) for name in rows]]


def _folded(title: str, parts: Iterable[str]) -> list[str]:
    return [f"<details>\n<summary>{escape(title)}</summary>", *parts, "</details>"]


def _wide(html: str) -> str:
    return f'<div class="wide">{html}</div>'


def _listed(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
