"""A self-contained HTML page of an assessment."""

from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from srlib.assessment import side_by_side, verdict
from srlib.assessment.account import assumptions, fingerprints, versions
from srlib.assessment.findings import compared
from srlib.assessment.tables import in_words
from srlib.display import show

if TYPE_CHECKING:
    from srlib.assessment.report import Assessment

_SHOWN = 8  # records to look at

_OVER_RECORDS = {
    "largest": "largest risk of a combination",
    "gain": "mean log of risk over prior",
    "above": "share of records with a risk above a half",
}
_OVER_PUBLICATIONS = {
    "expected": "mean over publications",
    "expected_mcse": "its error",
    "worst": "not exceeded in 95 % of them",
    "worst_mcse": "error of that",
}

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
.confidential { border: 2px solid; padding: .5rem 1rem; font-weight: bold }
.wide { overflow-x: auto }
caption { text-align: left }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #bbb; padding: .2rem .6rem; text-align: right }
.prose th, .prose td { vertical-align: top }
@page { @bottom-right { content: counter(page) " / " counter(pages) } }
@media print { .wide { overflow: visible } tr { break-inside: avoid } h2 { break-after: avoid } }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } }
"""


def page(found: "Assessment") -> str:
    """Return the verdict and its main tables as one HTML document.

    Parameters
    ----------
    found : Assessment
        Everything in it that is text is escaped.

    Returns
    -------
    str
        A document without scripts, marked confidential: it names records of the original.
    """
    body = [
        '<p class="confidential">Confidential: this page names records of the original.</p>',
        "<h1>Assessment of synthetic data</h1>",
        *_verdict(found),
        *_side_by_side(found),
        "<h2>What was assessed</h2>",
        _listed(found.submission.notes),
        *(part for title, frame in _tables(found).items() for part in _table(title, frame)),
        *_for_the_file(found),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Assessment of synthetic data</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _verdict(found: "Assessment") -> list[str]:
    parts = []
    for judgment in found.judgments:
        lines = [f"{line.topic}: {line.text}" for line in judgment.lines]
        card = verdict.card(judgment, "the original").parts[1].html
        parts += [f"<h2>{escape(judgment.first)}</h2>", _wide(card), _listed(lines)]
    if broken := found.broken_rules:
        reasons = [f"{rule['release']}: {rule['topic']} {rule['reason']}" for rule in broken]
        parts += ["<h2>Broken rules</h2>", _listed(reasons)]
    return parts


def _side_by_side(found: "Assessment") -> list[str]:
    """All that is judged apart in one table, where there is more than one."""
    if len(found.judgments) < 2:
        return []
    sides = found.side_by_side()
    return _table("Side by side", side_by_side.in_words(sides))


def _tables(found: "Assessment") -> dict[str, pd.DataFrame]:
    """The main tables by their titles."""
    lines = found.to_frame().drop(columns=["advice", "first", "text"])
    risks = {name: found.table(name) for name in ("identity", "attributes")}
    beyond = pd.concat(risks, names=["risk"]).droplevel(1).reset_index()
    copies = ["release", "repeated", "others", "repeated_z", "handed_out", "at_most", "near_z"]
    records = found.records()
    worst = records[records["release"] == found.judgments[0].release].head(_SHOWN)
    at = [*worst.columns[:5], *worst.columns[-1 - len(found.submission.schema.names) : -1]]
    more = {}
    if found.submission.more_keys:
        more["Several sets of keys"] = in_words(found.table("key_sets"))
    if found.submission.uncut:
        told = pd.DataFrame(
            [{"release": name} | compared(one.within) for name, one in found.findings.items()]
        )
        more[f"Within {found.submission.uncut.tolerance:g} of the target"] = in_words(told)
    if (by := found.submission.by) is not None:
        name = found.submission.schema.names[by]
        more[f"By {name}"] = in_words(found.table("groups"))
    return {
        "Numbers of the verdict": lines,
        "Copies": in_words(found.table("copies"), *copies),
        "Identity and attributes": in_words(beyond),
        **more,
        "What matching finds": in_words(found.table("measures")),
        "What is lost": in_words(found.table("losses")),
        "Records to look at": in_words(worst, *at, keep=at[5:]),
    }


def _for_the_file(found: "Assessment") -> list[str]:
    """What was assumed, and the tables and versions that it was computed from."""
    hashes = (
        "Hashes are SHA-256 of each table's variables, levels and codes, as "
        "srlib.assessment.account.fingerprints describes. They confirm guesses at single records "
        "and are confidential."
    )
    assumed = in_words(assumptions(found))
    return [
        *_table("For the file: what was assumed", assumed),
        *_table("For the file: tables", fingerprints(found.submission)),
        f"<p>{escape(hashes)}</p>",
        f"<p>{escape(versions())}</p>",
    ]


def _table(title: str, frame: pd.DataFrame) -> list[str]:
    return [f"<h2>{escape(title)}</h2>", _wide(show(frame).html)]


def _wide(html: str) -> str:
    return f'<div class="wide">{html}</div>'


def _listed(texts: "list[str] | tuple[str, ...]") -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"
