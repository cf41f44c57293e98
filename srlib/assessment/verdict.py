"""The verdict on a release: a sentence, a card and a page, by rules from the table.

The verdict follows from the ratings of the rows that are in it, the ratings follow from
the thresholds of `ratings` and `utility`, and nothing else has a part in it. Pages
stand alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from srlib.assessment import attribute, card, ratings, utility
from srlib.display import MIN_RECORDS, NOT_SHOWN, percent, percent_with_error, show

_TEMPLATES = Environment(
    autoescape=select_autoescape(["html.j2"]),
    loader=PackageLoader("srlib.assessment", "."),
    trim_blocks=True,
    undefined=StrictUndefined,
)
_TEMPLATES.filters["percent"] = percent
MOST_RECORDS = 12  # on the page
_HEADINGS = {"z_permutation": "z, permutation", "z_holdout": "z, holdout"}

VERDICTS = (
    "no sign of disclosure",
    "undecided",
    "review",
    "do not release",
)  # the best first

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
# Rows with the shares that a limit is about, by its name.
LIMITED = {
    "membership": ("membership", "exact membership"),
    "attribute": ("exact posterior above one half",),
}


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


type _Verdicts = Sequence[Verdict]


def judge(release: str, rows: pd.DataFrame) -> Verdict:
    """Decide on a release by the worst rating of its rows that are in the verdict."""
    name = release if release.startswith("'") else f'"{release}"'
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
    reason = "; ".join(filter(None, decisive["why"][decisive["rating"] == "no sign"]))
    but = f", but {reason}" if reason else ""
    useful = _UTILITY[card.worst_utility(rows)["rating"]]
    sentence = (
        f"No sign of disclosure in {name} to intruders who know the release and the "
        f"keys{but}. Utility: {useful}. {_on_knows_all(rows)}"
    )
    return Verdict(release, "no sign of disclosure", reason, sentence)


def _on_knows_all(rows: pd.DataFrame) -> str:
    """Say what the intruder who knows the synthesizer and all others finds."""
    reliable = rows[rows["rating"] != "unreliable"]
    by_question = reliable.set_index("question")["estimate"].dropna()
    who = "an intruder who also knows the synthesizer and all other records"
    if "exact membership" in by_question:
        power = percent_with_error(by_question["exact membership"])
        return (
            f"{who.capitalize()} detects the membership of {power} of sample uniques, "
            "with 1 % false positives."
        )
    if "exact posterior" in by_question:
        return f"Not tested: membership disclosure to {who}."
    return f"Not tested: {who}."


def _compared(row: pd.Series) -> str:
    """Compare a risk with its baseline, as a clause."""
    estimate = percent_with_error(row["estimate"])
    baseline = percent_with_error(row["baseline"])
    kind = row["baseline_kind"]
    if kind == "limit":
        return f"{estimate} {row['why']}"
    source = kind if kind == "independent margins" else f"a {kind}"
    return f"{estimate} {row['why']}; {baseline} expected from {source}"


def headline(verdicts: _Verdicts) -> str:
    """Return the sentence on a single release, or the number with each verdict."""
    if len(verdicts) == 1:
        return verdicts[0].sentence
    given = [one.verdict for one in verdicts]
    numbers = [f'{given.count(v)} "{v}"' for v in reversed(VERDICTS) if v in given]
    return f"{len(verdicts)} releases: {', '.join(numbers)}."


def sort_worst_first(verdicts: _Verdicts, table: pd.DataFrame) -> list[Verdict]:
    """Order releases by their verdict, then by their largest excess share."""
    excess = ratings.excess_share(table["estimate"], table["baseline"])
    excess = excess.where(table["in_verdict"], 0).fillna(0)
    worst = excess.groupby(table["release"]).max()

    return sorted(
        verdicts,
        key=lambda one: (VERDICTS.index(one.verdict), worst[one.release]),
        reverse=True,
    )


def failures(
    verdicts: _Verdicts,
    table: pd.DataFrame,
    conditions: Sequence[str | tuple[str, float]],
) -> list[str]:
    """Return which conditions fail, as sentences.

    A condition is a verdict that no release may have, nor a worse one; or the name of a
    kind of disclosure, of `LIMITED`, with the largest share allowed. A share that could
    not be computed fails, unless there are no sample uniques.
    """
    failed = []
    for condition in conditions:
        if isinstance(condition, str):
            worst = verdicts[0]
            if VERDICTS.index(worst.verdict) >= VERDICTS.index(condition):
                failed.append(f"{worst.release}: {worst.verdict}")
            continue
        kind, limit = condition
        applicable = table[table["rating"] != "not applicable"]
        of_kind = applicable[applicable["question"].isin(LIMITED[kind])]
        for row in of_kind[~(of_kind["estimate"] <= limit)].to_dict("records"):
            share = percent_with_error(row["estimate"])
            failed.append(
                f"{row['release']}: {row['question']}: {share}; "
                f"the limit is {percent_with_error(limit)}"
            )
    return failed


def render_text(
    verdicts: _Verdicts,
    table: pd.DataFrame,
    settings: str = "",
    not_judged: str = "",
) -> str:
    """Return the verdict and card of each release; of several, the numbers first.

    What was assessed, and a note on columns that were not, stand below the first line.
    """
    blocks = []
    for one in verdicts:
        lines = card.render_text(table[table["release"] == one.release])
        blocks.append(f"{one.sentence}\n{indent(lines, '  ')}")
    if len(verdicts) > 1:
        blocks.insert(0, headline(verdicts))
    first, _, rest = "\n\n".join(blocks).partition("\n")
    return "\n".join([first, *filter(None, [settings, not_judged]), rest])


def overview(verdicts: _Verdicts, table: pd.DataFrame) -> pd.DataFrame:
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
                "utility": card.worst_utility(of_release)["rating"],
            }
        )
    return pd.DataFrame(rows)


def _limit_of(rows: pd.DataFrame) -> str:
    """Say what a release without a finding could hide, or discloses to others."""
    estimates = rows.set_index("question")["estimate"].dropna().map(percent_with_error)
    texts = {
        "undetected copies": "copies of up to {} of sample uniques could be undetected",
        "exact membership": "the exact test detects the membership of {}",
    }
    found = [text.format(estimates[q]) for q, text in texts.items() if q in estimates]
    return "; ".join(["none", *found])


def public_table(verdicts: _Verdicts, table: pd.DataFrame) -> pd.DataFrame:
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
            worst = max(some["rating"], key=card.RATING_ORDER.index)
            by_question[question] = worst if enough[some.index].all() else NOT_SHOWN
        row = {"release": number, "verdict": one.verdict, **by_question}
        row["utility"] = card.worst_utility(of_release)["rating"]
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
    verdicts: _Verdicts,
    table: pd.DataFrame,
    records: pd.DataFrame,
    notes: Sequence[str],
    facts: Mapping[str, str],
) -> str:
    """Return the page: verdicts, settings, a card for each release, the rest folded.

    Texts of the user's files are escaped; the page has no script and loads nothing.
    """
    worst = verdicts[0].release
    exposed = records[records["release"] == worst].head(MOST_RECORDS)
    exposed = exposed.drop(columns="release")
    return _TEMPLATES.get_template("page.html.j2").render(
        public="",
        headline=headline(verdicts),
        facts=facts,
        overview=_html(overview(verdicts, table)),
        releases=[
            _section(one, table[table["release"] == one.release]) for one in verdicts
        ],
        records=_html(exposed, caption=f"Original records most exposed in {worst}."),
        notes=[*notes, *rules_text("assumptions")],
        rules=rules_text(),
        terms=terms(),
    )


def _section(one: Verdict, rows: pd.DataFrame) -> dict[str, Any]:
    """Return what the page shows of a release: card, chart, and all its rows."""
    answers = rows.drop(columns=["in_verdict", "release"])
    answers = answers.replace("", None).dropna(axis=1, how="all")
    drawn = card.card_rows(rows).query(
        "question != 'undetected copies' and estimate == estimate"
    )
    return {
        "release": one.release,
        "sentence": one.sentence,
        "card": _html(card.card(rows)),
        "rows": drawn.to_dict("records"),
        "answers": _html(answers, names=_HEADINGS),
    }


def public_page(
    verdicts: _Verdicts, table: pd.DataFrame, facts: Mapping[str, str]
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
