"""What to do with a release: one sentence by stated rules, and five lines of numbers behind it.

A line has a level, a number with its interval, the baseline that the number is held against, and
one clause. Levels follow from the thresholds below and from nothing else; the first sentence
follows from the levels. The rules are those of this report; an agency sets its own in a file, which
`read_rules` reads and `broken` applies.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from srlib import yamls
from srlib.leakage import Beyond, Copies, share_of_rest

# A difference of SURE standard errors is more than chance, and one of CERTAIN beyond doubt. A risk
# is far above its baseline if it takes FAR of what the baseline leaves to disclose.
SURE, CERTAIN, FAR = 2.58, 3.3, 0.20
# Undecided: more copies than the first share of the people who are alone, and than the second of
# all people in the file, could hide among those that chance meets.
UNSEEN, UNSEEN_OF_ALL = 0.10, 0.02
# Utility is good if no loss exceeds the first, and limited if none exceeds the second.
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
    worst = max(copies, key=lambda c: (_copied(c), c.handed_out_z, c.repeated_z))
    level = LEVELS["copies"][_copied(worst)]
    low, high = wilson(worst.repeated, worst.released)
    text = (
        f"{percent(worst.repeated)} ({span(low, high)}) of the released records repeat an original "
        f"one; of other people's records {percent(worst.others)} "
        f"({span(*_normal(worst.others, worst.others_error))}) would: {_copied_in_words(worst)}"
    )
    return Line("copies", level, worst.repeated, low, high, worst.others, text)


def _copied(found: Copies) -> int:
    """Position of the level in `LEVELS`."""
    z = np.nanmax([found.repeated_z, found.handed_out_z])
    if found.same_table or z >= CERTAIN or found.same_row_z >= 2 * CERTAIN:
        return 3
    if z >= SURE:
        return 2
    of_all = found.at_most * found.alone / len(found.found)
    return 1 if found.at_most > UNSEEN and of_all > UNSEEN_OF_ALL else 0


def _copied_in_words(found: Copies) -> str:
    level = _copied(found)
    people = f"the {found.alone:,} people alone with all their values"
    low, high = _normal(found.handed_out, found.handed_out_error)
    if found.same_table:
        return "it is the original itself" + (
            ", row by row." if found.same_row == 1 else ", in another order."
        )
    if found.same_row_z >= 2 * CERTAIN:
        return (
            f"{percent(found.same_row)} of the rows are the original's of the same number, "
            f"{percent(found.same_row_others)} of those nearby."
        )
    if level >= 2 and found.handed_out_z >= SURE:
        return (
            f"an estimated {percent(found.handed_out)} ({span(low, high)}) of {people} are in it."
        )
    if level >= 2:
        return "more than coincidence explains."
    if not found.alone:
        return "no sign of copies, and nobody is alone with all values."
    share = f"{percent(found.at_most)} of {people}"
    if level:
        return f"no sign of copies, but up to {share} could be copies that pass for chance."
    return f"no sign of copies, and no more than {share} are in it."


def of_identity(found: Sequence[Beyond]) -> Line:
    """People alone with their keys of whom one released record has the keys."""
    if not found[0].people:
        return Line(
            "identity",
            "no more",
            0.0,
            0.0,
            0.0,
            0.0,
            "nobody is alone with their keys.",
        )
    value, low, high, others, z, spread = _over(found, binomial=True)
    level = _level(value, found, z)
    people = f"the {found[0].people:,} people alone with their keys"
    text = (
        f"of {people} {percent(value)} ({span(low, high)}) meet a released record that is alone "
        f"with them too; with other people's records {others} would: {_tells(level)}{spread}."
    )
    return Line("identity", level, value, low, high, _mean(found, "baseline"), text)


def of_attributes(found: Sequence[Beyond], target: str) -> Line:
    """People whose target all released records with their keys agree on, rightly."""
    value, low, high, others, z, spread = _over(found, binomial=False)
    level = _level(value, found, z)
    text = (
        f"{target} of {percent(value)} ({span(low, high)}) of the people is told rightly by all "
        f"released records with their keys; other people's records tell it of {others}, margins "
        f"of {percent(_mean(found, 'margins'))}: {_tells(level)}{spread}."
    )
    return Line("attributes", level, value, low, high, _mean(found, "baseline"), text)


def _over(
    found: Sequence[Beyond], *, binomial: bool
) -> tuple[float, float, float, str, float, str]:
    """Value, interval, others in words, z and spread over the releases of one generator.

    The original's part of the error is the same in all of them, so that only the spread between
    releases is divided by their number.
    """
    values = np.array([each.value for each in found])
    value, error = float(values.mean()), _mean(found, "error")
    if len(found) > 1:
        error = max(error, float(values.std(ddof=1) / np.sqrt(len(values))))
    exact = error == 0 or value in (0, 1)
    people = found[0].people if exact else value * (1 - value) / error**2
    low, high = wilson(value, people) if binomial else _normal(value, error)
    others, others_error = _mean(found, "others"), _mean(found, "others_error")
    spread = (
        f" ({len(found)} releases, {span(values.min(), values.max())})" if len(found) > 1 else ""
    )
    in_words = f"{percent(others)} ({span(*_normal(others, others_error))})"
    return value, low, high, in_words, _mean(found, "z"), spread


def _mean(found: Sequence[Beyond], name: str) -> float:
    return float(np.mean([getattr(each, name) for each in found]))


def _level(value: float, found: Sequence[Beyond], z: float) -> str:
    if not z >= SURE:
        return "no more"
    return "far more" if share_of_rest(value, _mean(found, "baseline")) >= FAR else "more"


def _tells(level: str) -> str:
    return f"it tells {level} than they would"


def of_utility(losses: pd.DataFrame) -> Line:
    """The largest of the four losses that `utility.losses` returns."""
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
        "as fresh": "no loss beyond a fresh sample's",
        "good": "a small loss",
        "limited": "look before you use it",
        "poor": "associations or margins are lost",
    }[level]
    low, high = max(value - fresh - error, 0.0), value - fresh + error
    return Line("utility", level, loss, low, high, 0.0, f"{what}: {clause}.")


def _utility_level(loss: float) -> str:
    return "good" if loss <= GOOD else "limited" if loss <= LIMITED else "poor"


_NAN = float("nan")
NOT_COMPUTED = Line(
    "model", "not computed", _NAN, _NAN, _NAN, _NAN, "not computed; without --quick it is."
)


def of_model(
    median: tuple[float, float, float], high: float, r_hat: float, converged: bool, target: str
) -> Line:
    """What an intruder who knows all other records and believes in the DPMPM learns.

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
    """
    value, low, upper = median
    chains = "chains agree" if converged else "chains disagree, so that it is rough"
    text = (
        f"an intruder who knows all other records and believes in a DPMPM finds the true {target} "
        f"{value:.2f} ({low:.2f} to {upper:.2f}) times as probable as before, {high:.2f} times at "
        f"the 95th percentile; 1 tells nothing: {chains} (R-hat {r_hat:.2f})."
    )
    return Line("model", "converged" if converged else "rough", value, low, upper, 1.0, text)


# ----------------------------------------------------------------------------- the first line


def judge(release: str, lines: Sequence[Line], copies: Sequence[Copies], target: str) -> Judgment:
    """What to do with a release: the worst of copies, identity and attributes decides.

    Withhold: copies found, or a risk far above what other people's records would give. Look:
    signs of copies, or a risk above. Undecided: coincidences could hide copies. The model does not
    decide, since it is an assumption; utility is named where nothing else is.
    """
    level = {line.topic: line.level for line in lines}
    risks = [line for line in lines if line.topic in ("identity", "attributes")]
    far = [line for line in risks if line.level == "far more"]
    more = [line for line in risks if line.level == "more"]
    worst = max(copies, key=lambda c: (_copied(c), c.handed_out_z, c.repeated_z))
    about = {"identity": "people alone with their keys", "attributes": target}
    if level["copies"] == "found":
        return Judgment(release, "withhold", _withhold(release, worst), tuple(lines))
    if far:
        text = (
            f"Do not release {release}: it tells far more about {about[far[0].topic]} than other "
            "people's records would."
        )
        return Judgment(release, "withhold", text, tuple(lines))
    if level["copies"] == "signs":
        text = f"Look before you release {release}: there are signs of copied records."
        return Judgment(release, "look", text, tuple(lines))
    if more:
        text = (
            f"Look before you release {release}: it tells more about {about[more[0].topic]} than "
            "other people's records would."
        )
        return Judgment(release, "look", text, tuple(lines))
    if level["copies"] == "undecided":
        text = (
            f"Undecided on {release}: chance meetings could hide copies of up to "
            f"{percent(worst.at_most)} of the people alone with their values."
        )
        return Judgment(release, "undecided", text, tuple(lines))
    use = {
        "as fresh": "; it is as useful as a fresh sample",
        "good": "; its utility is good",
        "limited": "; its utility is limited",
        "poor": ", but it is of little use",
    }[level["utility"]]
    text = f"Nothing found against releasing {release}{use}."
    return Judgment(release, "nothing found", text, tuple(lines))


def _withhold(release: str, found: Copies) -> str:
    if found.same_table:
        return f"Do not release {release}: it is the original itself."
    if found.same_row_z >= 2 * CERTAIN:
        return (
            f"Do not release {release}: {percent(found.same_row)} of its rows are the original's."
        )
    if found.repeated_z >= found.handed_out_z or found.repeated_z >= CERTAIN:
        return (
            f"Do not release {release}: {percent(found.repeated)} of its records repeat original "
            f"ones; of other people's records {percent(found.others)} would."
        )
    return (
        f"Do not release {release}: an estimated {percent(found.handed_out)} of the people alone "
        "with their values are in it."
    )


def worst_first(judgments: Sequence[Judgment]) -> list[Judgment]:
    """Order releases by what to do, then by how much of the rest the worst risk takes."""

    def badness(judgment: Judgment) -> tuple[int, float]:
        rest = [line.rest for line in judgment.lines[:3]]
        return ADVICE.index(judgment.advice), float(np.nanmax([0.0, *rest]))

    return sorted(judgments, key=badness, reverse=True)


def table(judgments: Sequence[Judgment]) -> pd.DataFrame:
    """All lines as a table: release, advice, first, and the attributes of `Line`."""
    return pd.DataFrame(
        [
            {"release": j.release, "advice": j.advice, "first": j.first}
            | {name: getattr(line, name) for name in Line.__dataclass_fields__}
            for j in judgments
            for line in j.lines
        ]
    )


def markdown(judgments: Sequence[Judgment]) -> str:
    """The verdict as Markdown: what to do, then the lines of each release."""
    return "\n\n".join(
        f"### {judgment.first}\n\n"
        + "\n".join(f"- **{line.topic}:** {line.text}" for line in judgment.lines)
        for judgment in judgments
    )


def stated() -> str:
    """The rules behind the first sentence, with their thresholds, as Markdown."""
    rules = {
        "Do not release": (
            f"the table is the original itself; or copies are found, which is to say that more "
            f"records repeat original ones, or more of the people alone were handed out, than "
            f"other people's records explain, by {CERTAIN:g} standard errors, or that rows stand "
            f"where the original's do, by {2 * CERTAIN:g}; or identity or attributes are *far* "
            f"above their baseline, by {SURE:g} standard errors and by {percent(FAR)} of what the "
            f"baseline leaves to disclose."
        ),
        "Look before you release": (
            f"signs of copies, or identity or attributes above their baseline, by {SURE:g} "
            f"standard errors."
        ),
        "Undecided": (
            f"no sign of copies, but more than {percent(UNSEEN)} of the people alone with all "
            f"their values, and {percent(UNSEEN_OF_ALL)} of all people, could be copies that pass "
            f"for chance."
        ),
        "Nothing found": (
            f"all else. Utility is that of a fresh sample where no loss is beyond its error, good "
            f"up to a loss of {percent(GOOD)}, limited up to {percent(LIMITED)}, and little "
            f"beyond."
        ),
    }
    return "\n".join(f"- *{advice}*: {rule}" for advice, rule in rules.items())


def slug(name: str) -> str:
    """A release's name in letters, digits and underscores."""
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "release"


# ----------------------------------------------------------------------------- an agency's rules


def read_rules(path: str | Path) -> dict[str, dict[str, Any]]:
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
    if not isinstance(rules, dict) or not rules:
        raise ValueError(f"{path}: must be a mapping of {', '.join(LEVELS)} to limits")
    for topic, limits in rules.items():
        if topic not in LEVELS:
            raise ValueError(f"{path}: unknown topic {topic!r}; allowed are {', '.join(LEVELS)}")
        if not isinstance(limits, dict) or not limits or not set(limits) <= set(LIMITS):
            raise ValueError(f"{path}: {topic} must be a mapping with {', '.join(LIMITS)}")
        for limit, value in limits.items():
            if limit == "worst_level" and value not in LEVELS[topic]:
                raise ValueError(
                    f"{path}: {topic}: worst_level is {value!r}; allowed are "
                    f"{', '.join(LEVELS[topic])}"
                )
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if limit != "worst_level" and not (number and np.isfinite(value)):
                raise ValueError(f"{path}: {topic}: {limit} is {value!r}; it must be a number")
    return rules


def broken(
    judgments: Sequence[Judgment], rules: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, str]]:
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
