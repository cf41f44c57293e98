"""The card of a release: what two intruders learn about people, and the utility.

One who knows the release and the keys is tested by the questions of the table, beside a
fresh sample. One who also knows the synthesizer and everybody else has exact answers,
if it is known how the release was made.
"""

from textwrap import indent

import pandas as pd

from srlib.assessment import ratings, utility
from srlib.assessment.attribute import ATTRIBUTE
from srlib.assessment.counts import Row
from srlib.assessment.identity import IDENTITY
from srlib.assessment.inference import INFERENCE
from srlib.display import percent_with_error

KNOWS_KEYS = "one who knows the release and the keys"
KNOWS_ALL = "one who also knows the synthesizer and everybody else"

# Questions on each set of keys: the first without a target, the others on each target.
# Those on the first keys and the first target are tested by themselves.
QUESTIONS = (IDENTITY, ATTRIBUTE, INFERENCE)
# Lines of the card, by question; the utility loss stands below them.
CARD = {question.name: question.line for question in QUESTIONS}
CARD |= {
    "identical records": "records identical to an original",
    "copied uniques": "uniques (all variables) copied beyond chance",
    "undetected copies": "sample uniques copied, at most (95 %)",
}
DECIDING = {
    "copied uniques": CARD["copied uniques"],
    "identifiers": "values of identifiers in common",
    "near-duplicates": "near-duplicates of original records",
    "repeated unique": "share of one unique record",
    "excess over own duplicates": "records found, and own duplicates",
    "identical before binning": "records identical before binning",
    "row order": "values equal, row by row",
}
RATING_ORDER = (
    "not applicable",
    "too few people",
    *ratings.COPY_RATINGS,
    "as expected",
    "not elevated",
    "elevated",
    "high",
)

type _ByQuestion = dict[str, Row]


def card_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a release's card, with their line as `measure`.

    These are its risks by the first keys and the first target, what decides on copies,
    and the largest utility loss.
    """
    risks = _first_rows(rows)
    measures = CARD | _copy_lines(risks.to_dict("index"))
    chosen = risks.loc[list(measures)].assign(measure=pd.Series(measures))
    loss = worst_utility(rows).to_frame().T
    which = (loss["detail"] + " " + loss["question"]).str.strip()
    return pd.concat([chosen, loss.assign(measure="utility loss, " + which)])


def _first_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each question about everybody, by question.

    The rating of copies is left to the further question that decides on them.
    """
    overall = rows[rows["group"] == "all"].drop_duplicates("question")
    first = overall.set_index("question", drop=False)
    further = [q for q in ratings.COPY_DEVIATES if q != "identical records"]
    if first["rating"].reindex(further, fill_value="").any():
        first.loc["identical records", "rating"] = ""
    return first


def worst_utility(rows: pd.DataFrame) -> pd.Series:
    """Return the row of the largest utility loss beyond chance."""
    losses = rows[rows["question"].isin(utility.LOSSES) & rows["estimate"].notna()]
    beyond_chance = losses["rating"] != "like a fresh sample"
    excess = (losses["estimate"] - losses["baseline"]).where(beyond_chance, 0.0)
    order = excess + 1e-9 * losses["z"].fillna(0).clip(-1e3, 1e3)
    return losses.loc[order.idxmax()]


def card(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each kind of disclosure and for the utility, as texts.

    There is a column for each intruder.
    """
    by_question = _first_rows(rows).to_dict("index")
    exact_membership, exact_values = _exact_answers(by_question)
    # The worse rated of both questions on the target, the first of equals.
    on_target = [by_question[question.name] for question in (ATTRIBUTE, INFERENCE)]
    worst = max(on_target, key=lambda row: RATING_ORDER.index(row["rating"]))
    loss = worst_utility(rows)
    lines = [
        ("membership", _membership(by_question, "membership"), exact_membership),
        ("attribute", _answer(CARD[worst["question"]], worst), exact_values),
        ("identity", _answer(CARD["identity"], by_question["identity"]), ""),
        ("copies", _copies(by_question), ""),
        ("utility", _answer(loss["question"], loss.to_dict()), ""),
    ]
    groups = rows[rows["group"] != "all"]
    if len(groups):
        lines.append(("worst group", _worst_group(groups), ""))
    return pd.DataFrame(lines, columns=["disclosure", KNOWS_KEYS, KNOWS_ALL])


def render_text(rows: pd.DataFrame) -> str:
    """Return the card as text, one intruder below the other."""
    lines = card(rows).set_index("disclosure")
    blocks = []
    for intruder in (KNOWS_KEYS, KNOWS_ALL):
        answers = lines[intruder][lines[intruder] != ""]
        listed = [f"{kind:<12}{answer}" for kind, answer in answers.items()]
        blocks.append(f"{intruder}:\n{indent('\n'.join(listed), '  ')}")
    return "\n".join(blocks)


def _answer(measure: str, row: Row) -> str:
    """Return a measure of the release, its baseline and its rating."""
    if pd.isna(row["estimate"]):
        return f"{measure}: {row['rating']}"
    text = f"{measure} {percent_with_error(row['estimate'], row['se'])}"
    if pd.notna(row["baseline"]):
        kind = row["baseline_kind"].removeprefix("independent ")
        expected = percent_with_error(row["baseline"], row["baseline_se"])
        text += f" ({f'{kind} {expected}'.strip()})"
    return f"{text}: {row['rating']}" if row["rating"] else text


def _copy_lines(by_question: _ByQuestion) -> dict[str, str]:
    """Return the lines of the identical records, and of what else decides on copies."""
    binned = "binned" in by_question["identical records"]["detail"]
    measure = CARD["identical records"]
    lines = {"identical records": f"{measure}, binned" if binned else measure}
    for question, line in DECIDING.items():
        if question in by_question and by_question[question]["rating"]:
            lines[question] = line
    return lines


def _copies(by_question: _ByQuestion) -> str:
    """Return the measures of copies, and the limit of those undetected."""
    lines = _copy_lines(by_question)
    answers = [_answer(line, by_question[q]) for q, line in lines.items()]
    limit = by_question["undetected copies"]["estimate"]
    if pd.notna(limit):
        answers.append(
            f"sample uniques copied, at most {percent_with_error(limit)} (95 %)"
        )
    return "; ".join(answers)


def _membership(by_question: _ByQuestion, question: str) -> str:
    """Return the power of a membership test, and that by chance."""
    if question not in by_question:
        return "not tested (--holdout)"
    return _answer("power at 1 % false positives", by_question[question])


def _exact_answers(by_question: _ByQuestion) -> tuple[str, str]:
    """Return what the intruder learns who knows all, of membership and of values."""
    if "exact posterior" not in by_question:
        return "not tested (--synthesizer)", "not tested (--synthesizer)"
    posterior = by_question["exact posterior"]
    if posterior["rating"] == "impossible":
        return "", posterior["detail"]
    values = _answer("true record, median probability", posterior)
    share = by_question["exact posterior above one half"]
    values += f"; {_answer('above one half', share)}"
    return _membership(by_question, "exact membership"), values


def _worst_group(groups: pd.DataFrame) -> str:
    """Return the group whose rated risk exceeds its baseline most."""
    outstanding = groups[groups["rating"].isin(["elevated", "high"])]
    if outstanding.empty:
        variable = groups["group"].iloc[0].partition(":")[0]
        return f"uniques matched and DiSCO, by {variable}: none elevated"
    excess = ratings.excess_share(outstanding["estimate"], outstanding["baseline"])
    worst = outstanding.loc[excess.astype(float).idxmax()]
    return _answer(f"{worst['group']}, {CARD[worst['question']]}", worst.to_dict())
