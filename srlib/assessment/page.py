"""A page of an assessment that stands alone."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from srlib.assessment import verdict
from srlib.display import show

if TYPE_CHECKING:
    from srlib.assessment.report import Assessment

_SHOWN = 12  # records to look at
_HEADS = {
    "z": "difference, in errors", "z_divided": "by random division", "held_out": "people held out",
    "held_out_z": "beyond these, in errors", "baseline_of": "that is",
}  # fmt: skip

ASSUMED = (
    "Each record is a person drawn like the others, without households, weights or clean-up.",
    "The intruder knows the keys exactly, and that somebody is in the file.",
    "Of a release larger than the original, as many records as that has tell of people.",
    "Errors are those of another release by the tool as it was fitted, and not of another fit.",
    "Who is alone in the file need not be alone in the population.",
)


def page(found: "Assessment", public: bool = False) -> str:
    """Return the verdict first, a card for each release, and the rest folded.

    Texts of the user's files are escaped; the page has no script and loads nothing.
    The public version has the words of `verdict.in_public` and nothing else of anybody's files.
    """
    rules = _folded("The rules", _listed(verdict.stated()))
    around = Template(files("srlib.assessment").joinpath("page.html").read_text(encoding="utf-8"))
    if public:
        heading = "<h1>Assessment of synthetic data</h1>"
        note = "<p>Words over ten people or more; releases are numbered, the worst first.</p>"
        words = _table(verdict.in_public(found.judgments, found.table))
        return around.substitute(body="\n".join([heading, note, words, rules]))
    worst, body, folded = found.judgments[0].release, list[str](), list[str]()
    for tag, one in zip(["h1", *["h2"] * len(found.table)], found.judgments, strict=False):
        rows = found.table[found.table["release"] == one.release]
        body += [f"<{tag}>{escape(one.first)}</{tag}>", _table(verdict.card(rows)), _plot(rows)]
        rows = rows.drop(columns=["asked", "release"]).replace("", None).dropna(axis=1, how="all")
        folded.append(_folded(f"All answers: {one.release}", _table(rows, names=_HEADS)))
    note = "Confidential: this page has numbers and records of the original."
    body.insert(1, f'<p class="note">{note}</p>')
    some = found.records().query("release == @worst").head(_SHOWN).drop(columns="release")
    caption = f"Records of the original to look at first, for {worst}."
    folded.append(_folded("Records to look at", _table(some, caption=caption)))
    folded.append(_folded("What was assessed", _listed([*found.tables.notes, *ASSUMED])))
    return around.substitute(body="\n".join([*body, *folded, rules]))


def _plot(rows: pd.DataFrame) -> str:
    """Draw the card: a dot for the release over a bar for the baseline, with two errors each."""
    marks = []
    for y, row in zip((20, 46, 72, 98), verdict.of_card(rows).to_dict("records"), strict=True):
        marks.append(f'<text x="225" y="{y + 5}" text-anchor="end">{escape(row["line"])}</text>')
        for of, error in (("baseline", "baseline_error"), ("value", "error")):
            middle, two = row[of], np.nan_to_num(2 * float(row[error]))
            ends = np.clip([middle - two, middle + two, middle], 0, 1) * 400 + 240
            if np.isfinite(middle):
                x1, x2, at = ends.round(1)
                marks.append(f'<line class="{of}" x1="{x1}" x2="{x2}" y1="{y}" y2="{y}"/>')
                marks.append(f'<circle class="{of}" cx="{at}" cy="{y}" r="5"/>')
    for share in (0, 50, 100):
        marks.append(f'<text x="{240 + 4 * share}" y="128" text-anchor="middle">{share} %</text>')
    about = "Dots: the release; rings: what it is held against; lines: two errors to each side."
    return (
        f'<svg viewBox="0 0 670 134" role="img" aria-label="{about}">{"".join(marks)}</svg>'
        f"<p><small>{about}</small></p>"
    )


def _folded(title: str, content: str) -> str:
    return f"<details>\n<summary>{escape(title)}</summary>\n{content}\n</details>"


def _table(rows: pd.DataFrame, **options: Any) -> str:
    return f'<div class="wide">{show(rows, **options).html}</div>'


def _listed(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
