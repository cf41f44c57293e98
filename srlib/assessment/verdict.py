"""The verdict on a release: one sentence and a card, by stated rules from the rows of the table.

The first sentence follows from the words of the rows that were asked for, the words from the
thresholds of `answers` and `use`, and nothing else has a part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from srlib.assessment import answers, use
from srlib.assessment.copies import Copies
from srlib.display import MIN_RECORDS, NOT_SHOWN, percent

ADVICE = ("nothing found", "undecided", "look", "withhold")
"""What to do, the best first."""
CARD = {
    "identity": "people met by their keys",
    "attributes": "target told by all with the keys",
    "predicted": "target told by a trained guess",
    "copies": "records that repeat an original",
}
"""Risks of the card, in words; the largest loss stands below them."""
_USE = {
    "as fresh": "; it is as useful as a fresh sample",
    "good": "; it is a little less useful than a fresh sample",
    "limited": "; it is clearly less useful than a fresh sample",
    "poor": ", but it is of little use",
}


@dataclass(frozen=True)
class Judgment:
    """The verdict on a release or a tool: one of `ADVICE`, and what to do and why in 25 words."""

    release: str
    advice: str
    first: str


def judge(release: str, rows: pd.DataFrame, copies: Copies) -> Judgment:
    """Decide on a release by the worst of copies and of all rows that were asked for.

    `rows` are its rows of the table, and `copies` the worst of its releases.
    """
    risks = rows[rows["asked"].astype(bool)]
    copied = answers.copied(copies)
    if copied == "found":
        return Judgment(release, "withhold", f"Do not release {release}: {_copied(copies)}.")
    if found := _told(risks, "far more"):
        return Judgment(release, "withhold", f"Do not release {release}: it {found}.")
    look = f"Look before you release {release}"
    if copied == "signs":
        return Judgment(release, "look", f"{look}: there are signs of copied records.")
    if found := _told(risks, "more"):
        return Judgment(release, "look", f"{look}: it {found}.")
    if copied == "undecided":
        return Judgment(release, "undecided", f"Undecided on {release}: {hidden(copies)}.")
    first = f"Nothing found against releasing {release}{_USE[loss(rows)['word']]}."
    return Judgment(release, "nothing found", first)


def _told(risks: pd.DataFrame, word: str) -> str:
    """Say of what a release tells more, or far more, than others' records; the first row of all."""
    some = risks[risks["word"] == word]
    if not len(some):
        return ""
    row = some.iloc[0]
    what = "people alone with their keys" if row["question"] == "identity" else row["target"]
    by = " to a trained guess" if row["question"] == "predicted" else ""
    return f"tells {word} about {what}{by} than other people's records would"


def _copied(found: Copies) -> str:
    """Say how records were copied."""
    if found.same_table:
        return "it is the original itself"
    if answers.same_rows(found):
        return f"its rows follow the original's, with {in_percent(found.same_row)} of the values"
    if found.repeated_z >= answers.CERTAIN:
        return (
            f"{in_percent(found.repeated)} of its records repeat original ones; of other people's "
            f"records {in_percent(found.others)} would"
        )
    if found.handed_out_z >= answers.CERTAIN:
        share = in_percent(found.handed_out)
        return f"an estimated {share} of the people alone with their values are in it"
    return "more of its records nearly repeat original ones than other people's records would"


def hidden(found: Copies) -> str:
    """Say why copies cannot be told from chance."""
    if found.premise == "twins":
        return "the original repeats people, so that copies cannot be told from twins"
    if found.premise == "removed":
        return "equal records seem to be removed from the original; give people held out"
    if answers.few(found):
        return "there are too few records to judge"
    share = in_percent(found.at_most)
    return (
        f"chance meetings could hide copies of up to {share} of the people alone with their values"
    )


def loss(rows: pd.DataFrame) -> pd.Series:
    """Return the row of the worst loss: by its word, and then by how far it lies beyond chance."""
    losses = rows[rows["question"].isin(use.LOSSES) & rows["value"].notna()]
    beyond = (losses["value"] - losses["baseline"]).where(losses["word"] != "as fresh", 0.0)
    order = beyond.fillna(np.inf) + 1e-9 * losses["z"].fillna(0).clip(-1e3, 1e3)
    return losses.loc[order.idxmax()]


def worst_first(judgments: Sequence[Judgment], table: pd.DataFrame) -> list[Judgment]:
    """Order releases by what to do, then by how much of the rest the worst risk takes."""

    def badness(judgment: Judgment) -> tuple[int, float]:
        rows = table[(table["release"] == judgment.release) & table["asked"].astype(bool)]
        rest = map(answers.share_of_rest, rows["value"], rows["baseline"])
        return ADVICE.index(judgment.advice), max(np.nan_to_num(list(rest)), default=0.0)

    return sorted(judgments, key=badness, reverse=True)


def decisive(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each question of `CARD` of one release, in its order."""
    whole = rows[(rows["of"] == "all") & rows["asked"].astype(bool)]
    return whole.drop_duplicates("question").set_index("question", drop=False).loc[list(CARD)]


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a release's card as texts: question, release, baseline and word.

    Numbers stand with their standard errors. Below copies stands the limit of what could be copies
    that pass for chance; the worst loss stands last.
    """
    lines = []
    for row in (*decisive(rows).to_dict("records"), loss(rows).to_dict()):
        by = f" ({row['baseline_of']})" if row["baseline_of"] else ""
        lines.append({
            "question": CARD.get(row["question"], f"use: {row['question']}"),
            "release": in_percent(row["value"], row["error"]),
            "baseline": in_percent(row["baseline"], row["baseline_error"]) + by,
            "word": row["word"],
        })  # fmt: skip
    at_most = float(rows.set_index("question").loc["could hide", "value"])
    limit = f"at most {in_percent(at_most)}" if at_most == at_most else "nobody is alone"
    unseen = ("copies that could hide", limit, "of people alone", "")
    lines.insert(len(CARD), dict(zip(lines[0], unseen, strict=True)))
    return pd.DataFrame(lines)


def text(judgments: Sequence[Judgment], table: pd.DataFrame) -> str:
    """Return the verdict in words: what to do, and the lines of the card, for each release."""
    parts = []
    for judgment in judgments:
        lines = card(table[table["release"] == judgment.release]).astype(str)
        widths = [lines[name].str.len().max() for name in lines]
        parts.append(judgment.first)
        for row in lines.itertuples(index=False):
            cells = [f"  {cell:{width}}" for cell, width in zip(row, widths, strict=True)]
            parts[-1] += "\n" + "".join(cells).rstrip()
    return "\n\n".join(parts)


def in_public(judgments: Sequence[Judgment], table: pd.DataFrame) -> pd.DataFrame:
    """Return the verdict in words, without names and numbers; releases are numbered.

    A word stands where it rests on ten people or more, that for copies on ten of the original and
    ten released records, and the advice where all words stand that it follows from.
    """
    found = []
    for number, judgment in enumerate(judgments, start=1):
        of_release = table[table["release"] == judgment.release]
        rows = of_release[of_release["asked"].astype(bool)]
        enough = rows["people"] >= MIN_RECORDS
        enough &= (rows["question"] != "copies") | enough[rows["question"] == "predicted"].all()
        words = {
            question: max(of["word"], key=_ORDER.index) if enough[of.index].all() else NOT_SHOWN
            for question, of in rows.groupby("question", sort=False)
        }
        both = judgment.advice, loss(of_release)["word"]
        advice, useful = both if enough.all() else (NOT_SHOWN, NOT_SHOWN)
        found.append({"release": number, "advice": advice, **words, "use": useful})
    return pd.DataFrame(found)


_ORDER = ("too few", *answers.LEVELS, "no more", "more", "far more")


def stated() -> list[str]:
    """Return the rules behind the first sentence, with their thresholds, as sentences."""
    sure, certain, rows = f"{answers.SURE:g}", f"{answers.CERTAIN:g}", f"{2 * answers.CERTAIN:g}"
    far, more, unseen, of_all, good, limited = map(
        percent,
        (answers.FAR, answers.MORE, answers.UNSEEN, answers.UNSEEN_OF_ALL, use.GOOD, use.LIMITED),
    )
    return [
        f"Do not release: the table is the original itself; or copies are found, by {certain} "
        f"standard errors, or rows that follow the original's, by {rows}; or what was asked is "
        f"told far more than others' records or margins would, by {sure} standard errors and by "
        f"{far} of what these leave to disclose.",
        f"Look before you release: there are signs of copies, by {sure} standard errors, or by "
        f"{certain} against the release's own records or with numbers that are not cut; or what "
        f"was asked is told more, by {sure} standard errors and by {more} of what the baseline "
        "leaves.",
        f"Undecided: no sign of copies, but more than {unseen} of the people alone with all their "
        f"values, and {of_all} of all, could be copies that pass for chance; or the original "
        "repeats people, or was rid of equal records; or a file has fewer than "
        f"{answers.FEWEST} records.",
        f"Nothing found: none of these. A loss beyond chance is good up to {good}, limited up to "
        f"{limited}, and poor beyond.",
        "The first set of keys and the first target count by themselves; of all further questions "
        "each is as sure as if it alone had been asked (Holm 1979). Rows of fewer than "
        f"{MIN_RECORDS} people are not judged.",
    ]


def in_percent(share: float, error: float = np.nan) -> str:
    """A share in percent, with its error if known; what is not 0 or 100 is not printed as such."""
    if np.isnan(share):
        return "no value"
    digits = _digits(share) if np.isnan(error) else f"{_digits(share)} ± {_digits(error)}"
    return f"{digits} %".replace(" ", "\u00a0")


def _digits(share: float) -> str:
    if share in (0, 1):
        return f"{100 * share:.0f}"
    shown = f"{100 * share:.1f}"
    return {"0.0": "<0.1", "-0.0": "<0.1", "100.0": ">99.9"}.get(shown, shown)
