"""The verdict on a release: one sentence by stated rules, and five lines of numbers behind it.

A line has a level, a number with its interval, the baseline that the number is held against, and
one clause. Levels follow from the thresholds below and from nothing else; the first sentence
follows from the levels. The rules are those of this report; an agency sets its own in a file, which
`read_rules` reads and `broken` applies.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from srlib import yamls
from srlib.assessment.leakage import Beyond, Copies, share_of_rest
from srlib.data.numbers import plain
from srlib.display import Several, callout, show

# A difference of SURE standard errors is more than chance, and one of CERTAIN beyond doubt. A risk
# is far above its baseline if it takes FAR of what the baseline leaves to disclose.
SURE, CERTAIN, FAR = 2.58, 3.3, 0.20
# A risk is above its baseline if it takes more than this of what that leaves to disclose.
MORE = 0.05
# Undecided: more copies than the first share of the people who are alone, and than the second of
# all people in the file, could hide among those that chance meets.
UNSEEN, UNSEEN_OF_ALL = 0.10, 0.02
FEWEST = 20  # records of a file, below which nothing is judged but an outright copy
# Disclosures are said to be what anybody would guess if so many of them are of the value that
# most people have.
GUESSED = 0.9
# A loss beyond a fresh sample's is small up to the first, and limits use up to the second.
GOOD, LIMITED = 0.05, 0.15

# Levels of each line, the best first.
LEVELS = {
    "copies": ("none", "undecided", "signs", "found"),
    "identity": ("no more", "more", "far more"),
    "attributes": ("no more", "more", "far more"),
    "utility": ("as fresh", "good", "limited", "poor"),
    "model": ("converged", "rough", "not computed"),
}
# What to do, the best first.
ADVICE = ("nothing found", "undecided", "look", "withhold")
LIMITS = ("worst_level", "value_at_most", "rest_at_most")

Rules = Mapping[str, Mapping[str, Any]]
"""Limits by topic: what an agency allows, see `read_rules`."""


@dataclass(frozen=True)
class Line:
    """One line of a verdict.

    Attributes
    ----------
    topic, level : str
        One of `LEVELS`, and of its levels.
    value, low, high, baseline : float
        The number, its 95 % interval and what it is held against; NaN where there is none.
    text : str
        The line in words, without its topic. Names no record.
    """

    topic: str
    level: str
    value: float
    low: float
    high: float
    baseline: float
    text: str

    @property
    def rest(self) -> float:
        """Share of what the baseline leaves to disclose, `leakage.share_of_rest`."""
        return share_of_rest(self.value, self.baseline)


@dataclass(frozen=True)
class Judgment:
    """The verdict on one release, or on several draws of one generator.

    Attributes
    ----------
    release : str
        Name of the release.
    advice : str
        One of `ADVICE`.
    first : str
        What to do and why, in at most 25 words.
    lines : tuple of Line
        Copies, identity, attributes, utility and model, in this order.
    """

    release: str
    advice: str
    first: str
    lines: tuple[Line, ...]


# ---------------------------------------------------------------------------------- the lines


def of_copies(copies: Sequence[Copies]) -> Line:
    """Released records that repeat original ones; the worst of several releases decides."""
    worst = _worst(copies)
    level = LEVELS["copies"][_copied(worst)]
    low, high = wilson(worst.repeated, worst.released)
    text = (
        f"{percent(worst.repeated)} ({span(low, high)}) of the released records repeat an original "
        f"one; of other people's records {percent(worst.others)} "
        f"({span(*_normal(worst.others, worst.others_error))}) would: {_copied_in_words(worst)}"
    )
    return Line("copies", level, worst.repeated, low, high, worst.others, text)


def _worst(copies: Sequence[Copies]) -> Copies:
    return max(copies, key=lambda found: (_copied(found), _largest_z(found)))


def _largest_z(found: Copies) -> float:
    z = [found.repeated_z, found.handed_out_z, found.near_z]
    return float(np.nan_to_num(z, nan=-np.inf).max())


def _copied(found: Copies) -> int:
    """Position of the level in `LEVELS`."""
    z = _largest_z(found)
    if found.same_table or _same_rows(found) or z >= CERTAIN:
        return 3
    if z >= SURE or found.itself_z >= CERTAIN:
        return 2
    if found.premise or _few(found):
        return 1
    of_all = found.at_most * found.alone / len(found.found)
    return 1 if found.at_most > UNSEEN and of_all > UNSEEN_OF_ALL else 0


def _same_rows(found: Copies) -> bool:
    return found.same_row_z >= 2 * CERTAIN and not _few(found)


def _few(found: Copies) -> bool:
    return min(len(found.found), found.released) < FEWEST


def _copied_in_words(found: Copies) -> str:
    level = _copied(found)
    people = _people(found.alone, "alone with all their values")
    estimate = f"{percent(found.handed_out)} "
    estimate += f"({span(*_normal(found.handed_out, found.handed_out_error))})"
    if found.same_table:
        return (
            f"it is the original itself, {'row by row' if found.in_order else 'in another order'}."
        )
    if _same_rows(found):
        return (
            f"its rows follow the original's: {percent(found.same_row)} of the values agree, at "
            f"any other distance {percent(found.same_row_others)} at most."
        )
    if level >= 2 and found.handed_out_z >= SURE:
        return f"an estimated {estimate} of {people} were handed out."
    if level >= 2 and found.repeated_z >= SURE:
        return "more than coincidence explains."
    if found.itself_z >= CERTAIN:
        return (
            "it repeats people in the file more often than its own records: hidden copies, unless "
            "the tool garbles some records more than others or suppresses repeats."
        )
    if level >= 2:
        return "more of them nearly repeat one than coincidence explains."
    if found.premise == "twins":
        return (
            "the original repeats people where nobody else is near (households, weights?), so that "
            "a copy cannot be told from a twin."
        )
    if found.premise == "removed":
        return (
            "no two original records are equal, though many nearly are; if equal ones were "
            "removed, what others repeat cannot be told (--holdout)."
        )
    if _few(found):
        return "too few records to judge."
    if not found.alone:
        return "no sign of copies, and nobody is alone with all values."
    share = f"{percent(found.at_most)} of {people}"
    if level:
        return f"no sign of copies, but up to {share} could be copies that pass for chance."
    return (
        f"no sign of copies; {found.met:,} of {people} are in it, no more than by chance; copies "
        f"spread over all of them would be {percent(found.at_most)} at most."
    )


def _people(n: int, which: str) -> str:
    return f"the one person {which}" if n == 1 else f"the {n:,} people {which}"


def of_identity(found: Sequence[Beyond]) -> Line:
    """People alone with their keys of whom a released record has the keys."""
    if not found[0].people:
        return Line("identity", "no more", 0.0, 0.0, 0.0, 0.0, "nobody is alone with their keys.")
    value, low, high, others, z, spread = _over(found)
    level = _level(value, found, z)
    text = (
        f"of {_people(found[0].people, 'alone with their keys')}, {percent(value)} "
        f"({span(low, high)}) meet a released record with the same keys{_thinned(found)}; with "
        f"other people's records {others} would, with margins "
        f"{percent(_mean(found, 'margins'))}: {_tells(level)}{spread}."
    )
    return Line("identity", level, value, low, high, _mean(found, "baseline"), text)


def of_attributes(found: Sequence[Beyond], target: str, tolerance: float = 0.0) -> Line:
    """People whose target all released records with their keys tell, rightly.

    Parameters
    ----------
    found : sequence of Beyond
        Of each release, as `leakage.attributes` or, with a tolerance, `tolerance.within` returns.
    target : str
        Its name.
    tolerance : float
        Distance up to which a number is told; 0: its level.
    """
    value, low, high, others, z, spread = _over(found)
    level = _level(value, found, z)
    tells = f"are within {plain(tolerance)} of" if tolerance else "agree on"
    text = (
        f"for {percent(value)} ({span(low, high)}) of the people, all released records with their "
        f"keys{_thinned(found)} {tells} the true {target}; other people's records would for "
        f"{others}, margins for {percent(_mean(found, 'margins'))}: {_tells(level)}{spread}."
    )
    return Line("attributes", level, value, low, high, _mean(found, "baseline"), text)


def _thinned(found: Sequence[Beyond]) -> str:
    return " (of as many as the original has)" if found[0].thinned else ""


def _over(found: Sequence[Beyond]) -> tuple[float, float, float, str, float, str]:
    """Value, interval, others in words, z and spread over the releases of one generator.

    The original's part of the error is the same in all of them, so that only the spread between
    releases is divided by their number.
    """
    values = np.array([each.value for each in found])
    value, error = float(values.mean()), _mean(found, "error")
    if len(found) > 1:
        error = max(error, float(values.std(ddof=1) / np.sqrt(len(values))))
    others = _mean(found, "others")
    several = f" ({len(found)} releases, {span(values.min(), values.max())})"
    spread = several if len(found) > 1 else ""
    people = found[0].people
    of_others = span(*_interval(others, _mean(found, "others_error"), people))
    in_words = f"{percent(others)} ({of_others})"
    return value, *_interval(value, error, people), in_words, _mean(found, "z"), spread


def _interval(share: float, error: float, people: int) -> tuple[float, float]:
    """Wilson's interval, of as many people as have that error, and no more than there are."""
    exact = error == 0 or share in (0, 1)
    n = people if exact else share * (1 - share) / error**2
    return wilson(share, min(n, people))


def _mean(found: Sequence[Beyond], name: str) -> float:
    return float(np.mean([getattr(each, name) for each in found]))


def told(found: Sequence[Beyond], comparisons: int) -> str:
    """Say how much releases of one generator tell beyond others, as one of many comparisons.

    Parameters
    ----------
    found : sequence of Beyond
        One for each release.
    comparisons : int
        How many are looked at; the sureness of a single one is kept for all together (Bonferroni).

    Returns
    -------
    str
        ``"no more"``, ``"more"`` or ``"far more"``.
    """
    sure = float(stats.norm.isf(stats.norm.sf(SURE) / comparisons))
    return _level(_mean(found, "value"), found, _mean(found, "z"), sure)


def of_targets(targets: pd.DataFrame) -> str:
    """Say of which variables a release tells more than other people's records would.

    Parameters
    ----------
    targets : DataFrame
        As `findings.of_targets` returns.
    """
    more = targets[targets["level"] != "no more"]
    n = len(targets)
    if not len(more):
        return (
            f"With {n} variables as targets in turn, the release tells no more about any of them "
            "than other people's records would, beyond the errors of so many comparisons."
        )
    first = ", ".join(
        f"{row.target} ({percent(row.value)} of the people against "
        f"{percent(max(row.others, row.margins))})"
        for row in more.head(3).itertuples()
    )
    guessed = int((more["guessed"] >= GUESSED).sum())
    return (
        f"Of {n} variables that are targets in turn, the release tells more than other people's "
        f"records would about {len(more)}: {'above all ' if len(more) > 3 else ''}{first}."
        + f" For {guessed} of these, {percent(GUESSED)} or more of the people disclosed have the "
        "value that most people have, or a level of one key that alone decides, as anybody would "
        "guess." * (guessed > 0)
    )


def of_key_sets(key_sets: pd.DataFrame) -> str:
    """Say with which sets of keys a release tells more than other people's records would.

    Parameters
    ----------
    key_sets : DataFrame
        As `findings.of_key_sets` returns.
    """
    first_rows = key_sets.drop_duplicates("keys")
    more, n = first_rows[first_rows["level"] != "no more"], len(first_rows)
    sets = "With one set of keys" if n == 1 else f"With {n} sets of keys in turn"
    if not len(more):
        return (
            f"{sets}, the release tells no more than other people's records would, beyond the "
            "errors of so many comparisons."
        )
    first = "; ".join(
        f"{row.keys} ({row.risk}: {percent(row.value)} of the people"
        f"{' alone with them' if row.risk == 'identity' else ''} against "
        f"{percent(max(row.others, row.margins))})"
        for row in more.head(3).itertuples()
    )
    return (
        f"{sets}, the release tells more than other people's records would with {len(more)}: "
        f"{'above all ' if len(more) > 3 else ''}{first}."
    )


def _level(value: float, found: Sequence[Beyond], z: float, sure: float | None = None) -> str:
    rest = share_of_rest(value, _mean(found, "baseline"))
    if not (z >= (SURE if sure is None else sure) and rest >= MORE):
        return "no more"
    return "far more" if rest >= FAR else "more"


def _tells(level: str) -> str:
    return f"it tells {level} than they would"


def of_utility(losses: pd.DataFrame, customary: pd.DataFrame | None = None) -> Line:
    """The largest of the four losses that `utility.losses` returns.

    Parameters
    ----------
    losses : DataFrame
        As `utility.losses` returns.
    customary : DataFrame, optional
        As `utility.against_fresh` returns, to be named beside the loss.
    """
    known = losses[losses["loss"].notna()]
    if known.empty:
        return Line("utility", "poor", _NAN, _NAN, _NAN, _NAN, "nothing can be compared.")
    worst = known.loc[(known["loss"]).idxmax()]
    if worst["loss"] == 0:
        worst = known.loc[((known["value"] - known["fresh"]) / known["error"]).idxmax()]
    loss = float(worst["loss"])
    level = "as fresh" if loss == 0 else _utility_level(loss)
    error = 1.96 * worst["error"]
    value, fresh = float(worst["value"]), float(worst["fresh"])
    of_fresh = f"{percent(fresh)} ({span(*_normal(fresh, worst['error']))})"
    number = f"by {percent(value)}, a fresh sample's would by {of_fresh}"
    what = {
        "margins": f"the shares of {worst['which']} differ {number}",
        "pairs": f"the shares of {worst['which']} differ {number}",
        "intervals": f"coefficients, most that of {worst['which']}, differ {number}",
        "pMSE": f"a regression tells the tables apart {number}",
    }[worst["measure"]]
    clause = {
        "as fresh": "the worst of many comparisons, and no more than chance",
        "good": "worse than a fresh sample, by little",
        "limited": "worse than a fresh sample; look before you use it",
        "poor": "far worse than a fresh sample; associations or margins are lost",
    }[level]
    low, high = max(value - fresh - error, 0.0), value - fresh + error
    text = f"{what}: {clause}{_customary(customary)}."
    return Line("utility", level, loss, low, high, 0.0, text)


def _customary(found: pd.DataFrame | None) -> str:
    """The pMSE ratio and the overlap of intervals, with a fresh sample's and its error."""
    if found is None:
        return ""
    of = found.set_index("measure")
    names = {"pMSE ratio": "pMSE ratio", "overlap": "overlap of intervals"}
    said = [
        f"{name} {row['value']:.2f} (a fresh sample's {row['fresh']:.2f} ± {row['error']:.2f})"
        for measure, name in names.items()
        if np.isfinite(row := of.loc[measure]).all()
    ]
    return "".join(f"; {each}" for each in said)


def _utility_level(loss: float) -> str:
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


# What is added where the model is refuted.
_BELIEFS = {
    "": "",
    "not refuted": "",
    "misleads": "; the model is wrong for this release and misleads that intruder",
    "falls short": "; the release tells more than the model can explain",
}

_NAN = float("nan")
NOT_COMPUTED = Line(
    "model", "not computed", _NAN, _NAN, _NAN, _NAN, "not computed; without --quick it is."
)


def of_model(
    median: tuple[float, float, float],
    high: float,
    r_hat: float,
    converged: bool,
    target: str,
    belief: str = "",
) -> Line:
    """Gain of an intruder who knows all other records and believes in the DPMPM.

    Parameters
    ----------
    median : (value, low, high)
        Factor by which the release multiplies the probability of the true target for the median
        record, and its 95 % interval between chains.
    high : float
        The factor at the 95th percentile of the records.
    r_hat : float
        95th percentile of R-hat in the worst set of chains.
    converged : bool
        Whether R-hat is good.
    target : str
        Name of the target.
    belief : str
        What the release says of the intruder's model, as `model.belief` returns.
    """
    value, low, upper = median
    chains = "chains agree" if converged else "chains disagree, so that it is rough"
    text = (
        f"an intruder who knows all other records and believes in a DPMPM finds the true {target} "
        f"{value:.2f} ({low:.2f} to {upper:.2f}) times as probable as before, {high:.2f} times at "
        f"the 95th percentile; 1 tells nothing: {chains} (R-hat {r_hat:.2f})"
        f"{_BELIEFS[belief]}."
    )
    return Line("model", "converged" if converged else "rough", value, low, upper, 1.0, text)


# ----------------------------------------------------------------------------- the first line


def judge(release: str, lines: Sequence[Line], copies: Sequence[Copies], target: str) -> Judgment:
    """Decide on a release by the worst of copies, identity and attributes.

    Withhold: copies found, or a risk far above what other people's records would give. Look:
    signs of copies, or a risk above. Undecided: coincidences could hide copies. The model does not
    decide, since it is an assumption; utility is named where nothing else is.
    """
    level = {line.topic: line.level for line in lines}
    worst = _worst(copies)
    if level["copies"] == "found":
        advice, first = "withhold", _withhold(release, worst)
    elif found := _told_beyond(lines, "far more", target):
        advice, first = "withhold", f"Do not release {release}: it {found}."
    elif level["copies"] == "signs":
        advice = "look"
        first = f"Look before you release {release}: there are signs of copied records."
    elif found := _told_beyond(lines, "more", target):
        advice, first = "look", f"Look before you release {release}: it {found}."
    elif level["copies"] == "undecided":
        advice, first = "undecided", _undecided(release, worst)
    else:
        advice = "nothing found"
        first = f"Nothing found against releasing {release}{_USE[level['utility']]}."
    return Judgment(release, advice, first, tuple(lines))


_USE = {
    "as fresh": "; it is as useful as a fresh sample",
    "good": "; it is a little less useful than a fresh sample",
    "limited": "; it is clearly less useful than a fresh sample",
    "poor": ", but it is of little use",
}


def _told_beyond(lines: Sequence[Line], level: str, target: str) -> str:
    """Name the risk of which a release tells more, or far more, than others' records, if any."""
    about = {"identity": "people alone with their keys", "attributes": target}
    for line in lines:
        if line.topic in about and line.level == level:
            return f"tells {level} about {about[line.topic]} than other people's records would"
    return ""


def _withhold(release: str, found: Copies) -> str:
    if found.same_table:
        return f"Do not release {release}: it is the original itself."
    if _same_rows(found):
        share = percent(found.same_row)
        return (
            f"Do not release {release}: its rows follow the original's, with {share} of the values."
        )
    if found.repeated_z >= CERTAIN:
        return (
            f"Do not release {release}: {percent(found.repeated)} of its records repeat original "
            f"ones; of other people's records {percent(found.others)} would."
        )
    if found.handed_out_z >= CERTAIN:
        return (
            f"Do not release {release}: an estimated {percent(found.handed_out)} of the people "
            "alone with their values are in it."
        )
    return (
        f"Do not release {release}: more of its records nearly repeat original ones than other "
        "people's records would."
    )


def _undecided(release: str, found: Copies) -> str:
    if found.premise == "twins":
        return (
            f"Undecided on {release}: the original repeats people, so that copies cannot be told "
            "from twins."
        )
    if found.premise == "removed":
        return (
            f"Undecided on {release}: equal records seem to be removed from the original; give "
            "people held out."
        )
    if _few(found):
        return f"Undecided on {release}: there are too few records to judge."
    return (
        f"Undecided on {release}: chance meetings could hide copies of up to "
        f"{percent(found.at_most)} of the people alone with their values."
    )


def worst_first(judgments: Sequence[Judgment]) -> list[Judgment]:
    """Order releases by what to do, then by how much of the rest the worst risk takes."""

    def badness(judgment: Judgment) -> tuple[int, float]:
        rest = [line.rest for line in judgment.lines[:3]]
        return ADVICE.index(judgment.advice), float(np.nanmax([0.0, *rest]))

    return sorted(judgments, key=badness, reverse=True)


def table(judgments: Sequence[Judgment]) -> pd.DataFrame:
    """Tabulate all lines: release, advice, first, and the attributes of `Line`."""
    return pd.DataFrame(
        [
            {"release": j.release, "advice": j.advice, "first": j.first}
            | {name: getattr(line, name) for name in Line.__dataclass_fields__}
            for j in judgments
            for line in j.lines
        ]
    )


def by_release(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of `table` ready for JSON, a mapping a release, in their order.

    Each has release, advice, first, and lines: by topic, level, value, low, high and baseline
    (None where there is none) and text.
    """
    releases: dict[str, dict[str, Any]] = {}
    for row in frame.to_dict("records"):
        head = {name: row.pop(name) for name in ("release", "advice", "first")}
        release = releases.setdefault(head["release"], head | {"lines": {}})
        topic, level, text = (row.pop(name) for name in ("topic", "level", "text"))
        numbers = {name: None if np.isnan(value) else value for name, value in row.items()}
        release["lines"][topic] = {"level": level, **numbers, "text": text}
    return list(releases.values())


def text(releases: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict in words from what `by_release` returns, an empty line between two."""
    return "\n\n".join(
        "\n".join([each["first"], *(f"{t}: {line['text']}" for t, line in each["lines"].items())])
        for each in releases
    )


def markdown(judgments: Sequence[Judgment]) -> str:
    """Write the verdict as Markdown: the first sentence, then the lines of each release."""
    return "\n\n".join(
        f"**{judgment.first}**\n\n"
        + "\n".join(f"- **{line.topic}:** {line.text}" for line in judgment.lines)
        for judgment in judgments
    )


# The lines of a card and what it answers: the best level first, as in `LEVELS`.
_CARD = ("identity", "attributes", "copies", "utility")
_ANSWERS = {
    "copies": ("no sign", "undecided", "signs", "found"),
    "identity": ("no more", "more", "far more"),
    "attributes": ("no more", "more", "far more"),
    "utility": ("as fresh", "a little less", "clearly less", "of little use"),
}
# The kinds of these answers, which reports color as those of claims.
_KINDS = {
    "copies": ("holds", "undecided", "depends", "fails"),
    "identity": ("holds", "depends", "fails"),
    "attributes": ("holds", "depends", "fails"),
    "utility": ("holds", "depends", "depends", "fails"),
}


def card(judgment: Judgment, beside: str) -> Several:
    """Show the verdict on one release: the first sentence, and four lines with its numbers.

    Parameters
    ----------
    judgment : Judgment
        What is shown of it names no record.
    beside : str
        What the release is compared with: words, or the path of a file, of which the name is shown.
    """
    lines = {line.topic: line for line in judgment.lines}
    levels = {topic: LEVELS[topic].index(lines[topic].level) for topic in _CARD}
    rows = {
        "measure": ["loss" if topic == "utility" else topic for topic in _CARD],
        "release": [_with_error(lines[topic]) for topic in _CARD],
        "baseline": [percent(lines[topic].baseline) for topic in _CARD],
        "verdict": [_ANSWERS[topic][level] for topic, level in levels.items()],
    }
    table = show(
        pd.DataFrame(rows),
        caption=f"{judgment.release} beside {Path(beside).name}, each number with its standard "
        "error; the baseline is what other people's records, or margins alone, would give.",
    )
    kinds = iter([_KINDS[topic][level] for topic, level in levels.items()])
    html = re.sub(
        rf">({'|'.join(rows['verdict'])})</td>",
        lambda found: f'><span class="verdict {next(kinds)}">{found[1]}</span></td>',
        table.html,
    )
    alarm = judgment.advice in ("withhold", "look")
    said = callout("Warning" if alarm else "Note", judgment.first)
    return Several((said, replace(table, html=html)))


def _with_error(line: Line) -> str:
    if np.isnan(line.value):
        return "no value"
    error = (line.high - line.low) / (2 * stats.norm.ppf(0.975))
    return f"{_digits(line.value)} ± {_digits(error)}\u00a0%".replace(" ", "\u00a0")


def stated() -> str:
    """The rules behind the first sentence, with their thresholds, as Markdown."""
    rules = {
        "Do not release": (
            f"the table is the original itself; or copies are found: more records repeat original "
            f"ones (or nearly do), or more of the people alone were handed out, than other "
            f"people's records explain, by {CERTAIN:g} standard errors, or rows follow the "
            f"original's, by {2 * CERTAIN:g}; or identity or attributes are *far* above their "
            f"baseline, by {SURE:g} standard errors and by {percent(FAR)} of what the baseline "
            f"leaves to disclose."
        ),
        "Look before you release": (
            f"there are signs of copies, by {SURE:g} standard errors; or people in the file are "
            f"repeated more often than the release's own records, by {CERTAIN:g}; or identity or "
            f"attributes are above their baseline, by {SURE:g} standard errors and by "
            f"{percent(MORE)} of what it leaves to disclose."
        ),
        "Undecided": (
            f"there is no sign of copies, but more than {percent(UNSEEN)} of the people alone with "
            f"all their values, and {percent(UNSEEN_OF_ALL)} of all people, could be copies that "
            f"pass for chance; or the original repeats people, or equal records were removed from "
            f"it, so that it cannot tell how often other people's records would repeat it; or a "
            f"file has fewer than {FEWEST} records."
        ),
        "Nothing found": (
            f"none of these. A release is as useful as a fresh sample where no loss is beyond "
            f"chance, a little less useful up to a loss of {percent(GOOD)} (level *good*), clearly "
            f"less up to {percent(LIMITED)} (level *limited*), and of little use beyond (level "
            f"*poor*)."
        ),
    }
    return "\n".join(f"- *{advice}*: {rule}" for advice, rule in rules.items())


def of_nearest(found: pd.DataFrame) -> str:
    """Say of each release whether it lies nearer to the people in the file.

    Parameters
    ----------
    found : DataFrame
        A row a release: release and the attributes of `leakage.Nearest`.
    """
    if found.empty:
        return (
            "Not computed: nobody was held out (`--holdout`). An original cannot be divided "
            "afterwards, since the release was made from all of it."
        )

    def words(z: float) -> str:
        if z >= CERTAIN:
            return "nearer to people in the file than to others"
        return (
            "nearer to people in the file, though not beyond doubt"
            if z >= SURE
            else ("no nearer to people in the file than to others")
        )

    return (
        "; ".join(
            f"{row.release}: {words(row.z)} ({percent(row.share)} where {percent(row.by_chance)} ± "
            f"{_digits(row.error)} is chance)"
            for row in found.itertuples()
        )
        + "."
    )


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Releases' names in letters, digits and underscores, each another one, by name."""
    found: dict[str, str] = {}
    for name in names:
        slug = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "release"
        numbered = chain([slug], (f"{slug}_{i}" for i in count(2)))
        found[name] = next(each for each in numbered if each not in found.values())
    return found


# ----------------------------------------------------------------------------- an agency's rules


def read_rules(path: str | Path) -> Rules:
    """Read what an agency allows from a YAML file.

    A mapping of topics to limits; what is not named is not limited. ::

        copies: {worst_level: none}
        identity: {rest_at_most: 0.05}
        attributes: {worst_level: more, value_at_most: 0.3}
        utility: {worst_level: limited}

    ``worst_level`` is a level of `LEVELS`; ``value_at_most`` limits the number of the line, and
    ``rest_at_most`` the share of what the baseline leaves to disclose.

    Raises
    ------
    ValueError
        If the file is no such mapping; the message names the file, what is wrong and what would
        be right.
    """
    try:
        rules = yamls.read(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as YAML: {error}") from None
    return checked_rules(rules, str(path))


def checked_rules(rules: Any, place: str) -> Rules:
    """Return rules if they are such as `read_rules` describes; errors begin with the place."""
    if not isinstance(rules, Mapping) or not rules:
        raise ValueError(f"{place}: must be a mapping of {', '.join(LEVELS)} to limits")
    for topic, limits in rules.items():
        if topic not in LEVELS:
            raise ValueError(f"{place}: unknown topic {topic!r}; allowed are {', '.join(LEVELS)}")
        if not isinstance(limits, Mapping) or not limits or not set(limits) <= set(LIMITS):
            raise ValueError(f"{place}: {topic} must be a mapping with {', '.join(LIMITS)}")
        for limit, value in limits.items():
            if limit == "worst_level" and value not in LEVELS[topic]:
                raise ValueError(
                    f"{place}: {topic}: worst_level is {value!r}; allowed are "
                    f"{', '.join(LEVELS[topic])}"
                )
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if limit != "worst_level" and not (number and np.isfinite(value)):
                raise ValueError(f"{place}: {topic}: {limit} is {value!r}; it must be a number")
    return rules


def broken(judgments: Sequence[Judgment], rules: Rules) -> list[dict[str, str]]:
    """Name the rules that releases break: release, topic and reason of each.

    A number that does not exist breaks every limit on it.
    """
    found = []
    for judgment in judgments:
        for line in judgment.lines:
            for limit, allowed in rules.get(line.topic, {}).items():
                if limit == "worst_level":
                    levels = LEVELS[line.topic]
                    if levels.index(line.level) <= levels.index(allowed):
                        continue
                    reason = f"is {line.level!r}; at worst {allowed!r} is allowed"
                else:
                    value = line.value if limit == "value_at_most" else line.rest
                    if value <= allowed:
                        continue
                    noun = "value" if limit == "value_at_most" else "share of the rest"
                    reason = f"has a {noun} of {value:.4g}; at most {allowed:.4g} is allowed"
                found.append({"release": judgment.release, "topic": line.topic, "reason": reason})
    return found


# ----------------------------------------------------------------------------------- numbers


def percent(share: float) -> str:
    """A share in percent, where what is not 0 or 100 is not printed as such."""
    if np.isnan(share):
        return "no value"
    return f"{_digits(share)}\u00a0%"


def span(low: float, high: float) -> str:
    """An interval of shares in percent, without the sign."""
    return "unknown" if np.isnan(low) else f"{_digits(low)} to {_digits(high)}"


def _digits(share: float) -> str:
    if share in (0, 1):
        return f"{100 * share:.0f}"
    shown = f"{100 * share:.1f}"
    return {"0.0": "<0.1", "-0.0": "<0.1", "100.0": ">99.9"}.get(shown, shown)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n."""
    z = stats.norm.ppf(0.975)
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low = 0.0 if share == 0 else float(center - half)
    return low, 1.0 if share == 1 else float(center + half)


def _normal(share: float, error: float) -> tuple[float, float]:
    if np.isnan(error):
        return float("nan"), float("nan")
    return max(share - 1.96 * error, 0.0), min(share + 1.96 * error, 1.0)
