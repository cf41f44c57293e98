"""The verdict on a release: a sentence, a card and a page, by rules from the table.

The verdict follows from the ratings of the rows that are in it, the ratings follow from
the thresholds of `ratings` and `utility`, and nothing else has a part in it. Pages
stand alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from srlib.assessment import attribute, ratings, utility
from srlib.assessment.attribute import ATTRIBUTE
from srlib.assessment.identity import IDENTITY
from srlib.assessment.inference import INFERENCE
from srlib.display import MIN_RECORDS, NOT_SHOWN, percent, percent_with_error, show

_TEMPLATES = Environment(
    autoescape=select_autoescape(["html.j2"]),
    loader=PackageLoader("srlib.assessment", "."),
    trim_blocks=True,
    undefined=StrictUndefined,
)
_TEMPLATES.filters["percent"] = percent
MOST_RECORDS = 12  # on the page
_HEADINGS = {
    "baseline_kind": "baseline kind",
    "z": "z",
    "z_permutation": "z, permutation",
    "z_holdout": "z, holdout",
}

VERDICTS = (
    "no sign of disclosure",
    "undecided",
    "review",
    "do not release",
)  # the best first

# Questions on each set of keys: the first without a target, the others on each target.
# Those on the first keys and the first target are tested by themselves.
QUESTIONS = (IDENTITY, ATTRIBUTE, INFERENCE)
# Lines of the card, by question; the utility loss stands below them.
CARD = {question.name: question.line for question in QUESTIONS}
CARD |= {
    "identical records": "records identical to an original",
    "copied uniques": "uniques (all variables) copied beyond chance",
    "undetected copies": "copied, at most (95 %)",
}
CARD_HEADINGS = {
    "release": "release ± se",
    "baseline": "baseline ± se",
    "z": "paired z",
}
_EMPTY_LINE = dict.fromkeys(("measure", "n", "release", "baseline", "z", "rating"), "")
# A further line where one of these rows decides on copies.
_OF_UNIQUES = ("identity", "copied uniques", "undetected copies")
DECIDING = {
    "identifiers": "values of identifiers in common",
    "near-duplicates": "near-duplicates of original records",
    "repeated unique": "share of one unique record",
    "excess over own duplicates": "records found, and own duplicates",
    "identical before binning": "records identical before binning",
    "row order": "values equal, row by row",
}
# By the ratings of rows that are in the verdict, the worst first.
_BY_RATING = {
    "found": ("do not release", "Do not release {}"),
    "high": ("do not release", "Do not release {}"),
    "signs": ("review", "Review {} before release"),
    "elevated": ("review", "Review {} before release"),
    "undecided": ("undecided", "Undecided about {}"),
}
_UTILITY = {
    "like a fresh sample": "like a fresh sample",
    "good": "slightly below a fresh sample",
    "limited": "clearly below a fresh sample",
    "poor": "poor",
}
# Intruders that the verdict does not ask; a model-based one has rows of its own with
# `model`.
NOT_TESTED = "an intruder who knows all other records or the synthesizer"
NOT_TESTED_WITH_MODEL = "an intruder who knows the synthesizer and all other records"
_RATING_ORDER = (
    "not applicable",
    "too few people",
    *ratings.COPY_RATINGS,
    "as expected",
    "elevated",
    "high",
)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a release, or on all of one synthesizer.

    Attributes
    ----------
    release : str
        Name of the release or the synthesizer.
    verdict : str
        One of `VERDICTS`.
    reason : str
        The finding that decides, as a clause; empty where there is none.
    sentence : str
        Verdict and reason, in at most 45 words.
    """

    release: str
    verdict: str
    reason: str
    sentence: str


def judge(release: str, rows: pd.DataFrame) -> Verdict:
    """Decide on a release by the worst rating of its rows that are in the verdict."""
    is_quoted = release.startswith("'")
    name = release if is_quoted else f'"{release}"'
    decisive = rows[rows["in_verdict"]]
    for rating, (verdict, opening) in _BY_RATING.items():
        rated = decisive[decisive["rating"] == rating]
        if len(rated):
            row = rated.iloc[0]
            reason = row["why"]
            if rating in ("elevated", "high"):
                reason = _compared(row)
            return Verdict(
                release, verdict, reason, f"{opening.format(name)}: {reason}."
            )
    remarks = decisive["why"][decisive["rating"] == "no sign"]
    reason = "; ".join(filter(None, remarks))
    but = f", but {reason}" if reason else ""
    useful = _UTILITY[worst_utility(rows)["rating"]]
    has_model = rows["question"].str.startswith("model").any()
    not_tested = NOT_TESTED_WITH_MODEL if has_model else NOT_TESTED
    sentence = (
        f"No sign of disclosure in {name} to intruders who know the release and the "
        f"keys{but}. Utility: {useful}. Not tested: {not_tested}."
    )
    return Verdict(release, "no sign of disclosure", reason, sentence)


def _compared(row: pd.Series) -> str:
    """Compare a risk with its baseline, as a clause."""
    estimate = percent_with_error(row["estimate"])
    baseline = percent_with_error(row["baseline"])
    kind = row["baseline_kind"]
    source = kind if kind == "independent margins" else f"a {kind}"
    return f"{estimate} {row['why']}; {baseline} expected from {source}"


def headline(verdicts: Sequence[Verdict]) -> str:
    """Return the sentence on a single release, or the number with each verdict."""
    if len(verdicts) == 1:
        return verdicts[0].sentence
    given = [one.verdict for one in verdicts]
    numbers = [f"{given.count(v)} {v}" for v in reversed(VERDICTS) if v in given]
    return f"{len(verdicts)} releases: {', '.join(numbers)}."


def worst_utility(rows: pd.DataFrame) -> pd.Series:
    """Return the row of the largest utility loss beyond chance."""
    losses = rows[rows["question"].isin(utility.LOSSES) & rows["estimate"].notna()]
    beyond_chance = losses["rating"] != "like a fresh sample"
    excess = (losses["estimate"] - losses["baseline"]).where(beyond_chance, 0.0)
    order = excess.fillna(np.inf) + 1e-9 * losses["z"].fillna(0).clip(-1e3, 1e3)
    return losses.loc[order.idxmax()]


def sort_worst_first(verdicts: Sequence[Verdict], table: pd.DataFrame) -> list[Verdict]:
    """Order releases by their verdict, then by their largest excess share."""
    excess = ratings.excess_share(table["estimate"], table["baseline"])
    excess = excess.where(table["in_verdict"], 0).fillna(0)
    worst = excess.groupby(table["release"]).max()

    return sorted(
        verdicts,
        key=lambda one: (VERDICTS.index(one.verdict), worst[one.release]),
        reverse=True,
    )


def card_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a release's card, with their line as `measure`.

    These are its risks by the first keys and the first target, what decides on copies,
    and the largest utility loss.
    """
    risks = rows[rows["group"] == "all"].drop_duplicates("question")
    risks = risks.set_index("question", drop=False)
    deciding = [q for q in DECIDING if q in risks.index and risks.loc[q, "rating"]]
    measures = CARD | {question: DECIDING[question] for question in deciding}
    if "numbers binned" in risks.loc["identical records", "detail"]:
        measures["identical records"] += ", binned"
    chosen = risks.loc[list(measures)].assign(measure=pd.Series(measures))
    loss = worst_utility(rows).to_frame().T
    which = (loss["detail"] + " " + loss["question"]).str.strip()
    return pd.concat([chosen, loss.assign(measure="utility loss, " + which)])


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a release's card as texts.

    z is the larger of both deviates of a row, as its rating takes it. A utility loss
    has none: the rating of the largest of many tables is not that of one table.
    """
    lines = []
    for row in card_rows(rows).to_dict("records"):
        line = _line(row["measure"], row)
        if row["question"] == "undetected copies":
            limit = percent_with_error(row["estimate"])
            line |= {"release": f"up to {limit}", "baseline": ""}
        if row["question"] in _OF_UNIQUES and not row["n"]:
            line |= {"release": "none unique", "baseline": ""}
            line["rating"] = "not applicable"
        lines.append(line)
    groups = rows[rows["group"] != "all"]
    if len(groups):
        lines.append(_worst_group(groups))
    return pd.DataFrame(lines)


def _line(measure: str, row: Mapping[str, Any]) -> dict[str, str]:
    """Return a line of the card, empty where a number is unknown."""
    line = _EMPTY_LINE | {"measure": measure, "rating": row["rating"]}
    line["n"] = f"{row['n']:,}"
    if pd.notna(row["estimate"]):
        line["release"] = percent_with_error(row["estimate"], row["se"])
    if pd.notna(row["baseline"]):
        line["baseline"] = percent_with_error(row["baseline"], row["baseline_se"])
        if kind := row["baseline_kind"].removeprefix("independent "):
            line["baseline"] += f" ({kind})"
    z = np.fmax(row["z"], row["z_permutation"])
    has_sign = row["rating"] in ("signs", "found")
    if row["question"] == "identical records" and not has_sign:
        z = row["z"]  # the permutation test is that of the rows below it
    if np.isfinite(z) and row["question"] not in utility.LOSSES:
        line["z"] = f"{z:.1f}"
    if row["question"] == "copied uniques" and not row["rating"]:
        line["rating"] = ratings.rate_deviate(z)
    return line


def _worst_group(groups: pd.DataFrame) -> dict[str, str]:
    """Return the line of the group whose rated risk exceeds its baseline most."""
    outstanding = groups[groups["rating"].isin(["elevated", "high"])]
    if outstanding.empty:
        variable = groups["group"].iloc[0].partition(":")[0]
        measure = f"uniques matched and DiSCO, by {variable}"
        return _EMPTY_LINE | {"measure": measure, "release": "none elevated"}
    excess = ratings.excess_share(outstanding["estimate"], outstanding["baseline"])
    worst = outstanding.loc[excess.astype(float).idxmax()]
    measure = f"worst group, {worst['group']} ({worst['question']})"
    return _line(measure, worst.to_dict())


def render_text(
    verdicts: Sequence[Verdict],
    table: pd.DataFrame,
    settings: str = "",
    not_judged: str = "",
) -> str:
    """Return the verdict and card of each release; of several, the numbers first.

    What was assessed, and a note on columns that were not, stand below the first line.
    """
    blocks = []
    for one in verdicts:
        card_lines = card(table[table["release"] == one.release])
        lines = show(card_lines, names=CARD_HEADINGS).text
        blocks.append(f"{one.sentence}\n{indent(lines, '  ')}")
    if len(verdicts) > 1:
        blocks.insert(0, headline(verdicts))
    first, _, rest = "\n\n".join(blocks).partition("\n")
    return "\n".join([first, *filter(None, [settings, not_judged]), rest])


def overview(verdicts: Sequence[Verdict], table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each release: its public number, name, verdict and finding."""
    rows = []
    for number, one in enumerate(verdicts, 1):
        of_release = table[table["release"] == one.release]
        rows.append(
            {
                "no": number,
                "release": one.release,
                "verdict": one.verdict,
                "finding": one.reason or _limit_of(of_release),
                "utility": worst_utility(of_release)["rating"],
            }
        )
    return pd.DataFrame(rows)


def _limit_of(rows: pd.DataFrame) -> str:
    """Say what a release without a finding could hide."""
    limit = rows.loc[rows["question"] == "undetected copies", "estimate"].iloc[0]
    if pd.isna(limit):
        return "none"
    share = percent_with_error(limit)
    return f"none; copies of up to {share} of sample uniques could be undetected"


def compared(verdicts: Sequence[Verdict], table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each release: one measure a column, baseline and rating."""
    rows = []
    for one in verdicts:
        of_release = table[table["release"] == one.release]
        lines = card(of_release).to_dict("records")
        measures = dict(zip(CARD.values(), map(_numbers, lines), strict=False))
        loss = worst_utility(of_release)
        loss_line = _line("", loss.to_dict())
        measures["largest utility loss"] = f"{loss['question']}: {_numbers(loss_line)}"
        rows.append({"release": one.release} | measures)
    return pd.DataFrame(rows)


def _numbers(line: Mapping[Any, str]) -> str:
    """Return the release, its baseline and the rating of a line of the card."""
    baseline = line["baseline"].partition(" (")[0]
    return "; ".join(filter(None, [line["release"], baseline, line["rating"]]))


def public_table(verdicts: Sequence[Verdict], table: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts and ratings without names and numbers; releases are numbered.

    A rating is shown where it rests on ten people or more, and that of copies where it
    rests on ten original and ten released records. The verdict is shown where all
    ratings are that it follows from.
    """
    shown = []
    for number, one in enumerate(verdicts, 1):
        of_release = table[table["release"] == one.release]
        rows = of_release[of_release["in_verdict"]]
        enough = rows["n"] >= MIN_RECORDS
        enough_for_copies = enough[rows["question"] == "inference"].all()
        enough &= (rows["question"] != "identical records") | enough_for_copies
        by_question = {}
        for question, some in rows.groupby("question", sort=False):
            worst = max(some["rating"], key=_RATING_ORDER.index)
            by_question[question] = worst if enough[some.index].all() else NOT_SHOWN
        row = {"release": number, "verdict": one.verdict, **by_question}
        row["utility"] = worst_utility(of_release)["rating"]
        if not enough.all():
            row |= {"verdict": NOT_SHOWN, "utility": NOT_SHOWN}
        shown.append(row)
    return pd.DataFrame(shown)


def rules_text(what: str = "rules") -> list[str]:
    """Return the rules behind the verdict, or the ``"assumptions"``, as sentences."""
    text = _TEMPLATES.get_template(f"{what}.txt.j2").render(
        attribute=attribute, ratings=ratings, utility=utility, few=MIN_RECORDS
    )
    return text.splitlines()


def page(
    verdicts: Sequence[Verdict],
    table: pd.DataFrame,
    records: pd.DataFrame,
    notes: Sequence[str],
    facts: Mapping[str, str],
) -> str:
    """Return the page: verdicts, settings, a card for each release, the rest folded.

    Texts of the user's files are escaped; the page has no script and loads nothing.
    """
    sections = [
        _section(one, table[table["release"] == one.release]) for one in verdicts
    ]
    worst = verdicts[0].release
    exposed = records[records["release"] == worst].head(MOST_RECORDS)
    exposed = exposed.drop(columns="release")
    return _TEMPLATES.get_template("page.html.j2").render(
        public="",
        headline=headline(verdicts),
        facts=facts,
        overview=_html(overview(verdicts, table)),
        compared=_html(
            compared(verdicts, table),
            caption="The release ± its standard error; its baseline; the rating.",
        ),
        releases=sections,
        records=_html(exposed, caption=f"Original records at highest risk in {worst}."),
        notes=[*notes, *rules_text("assumptions")],
        rules=rules_text(),
        terms=terms(),
    )


def _section(one: Verdict, rows: pd.DataFrame) -> dict[str, Any]:
    """Return what the page shows of a release: card, chart, and all its rows."""
    answers = rows.drop(columns=["in_verdict", "release"])
    answers = answers.replace("", None).dropna(axis=1, how="all")
    drawn = card_rows(rows).query(
        "question != 'undetected copies' and estimate == estimate"
    )
    return {
        "release": one.release,
        "sentence": one.sentence,
        "card": _html(card(rows), names=CARD_HEADINGS),
        "rows": drawn.to_dict("records"),
        "answers": _html(answers, names=_HEADINGS),
    }


def public_page(
    verdicts: Sequence[Verdict], table: pd.DataFrame, facts: Mapping[str, str]
) -> str:
    """Return the ratings of `public_table` and nothing else of the user's files."""
    return _TEMPLATES.get_template("page.html.j2").render(
        public=_html(public_table(verdicts, table)),
        releases=[],
        facts=facts,
        rules=rules_text(),
        terms=terms(),
    )


def terms() -> dict[str, str]:
    """Return the terms of the page, as the glossary of the guide explains them."""
    lines = _TEMPLATES.get_template("terms.txt").render().splitlines()
    return dict(line.split(": ", 1) for line in lines)


def _html(rows: pd.DataFrame, **options: Any) -> Markup:
    return Markup(show(rows, **options).html)
