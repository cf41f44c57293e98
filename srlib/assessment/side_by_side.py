"""Several tools side by side: what each risks and what it is good for, with errors.

An error is that of another release by the same tool, made of the same original. Of several releases
it is the standard error of their mean, from their spread, with a degree of freedom less than there
are releases. Of a single one it is the measure's own, which is that of records drawn again from the
generator as it was fitted. The original is the same for all, so that the error of what other
people's records would tell drops out between two tools.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from srlib.assessment import utility
from srlib.assessment.findings import Findings, usefulness
from srlib.assessment.leakage import Beyond, Copies
from srlib.assessment.submission import Submission
from srlib.assessment.verdict import Judgment

APART = 2.0
"""Errors that a bar reaches to each side."""
RISKS = ("copies", "identity", "attributes")
UTILITY = ("pmse_ratio", "overlap", "loss")


def table(
    submission: Submission, judgments: Sequence[Judgment], findings: Mapping[str, Findings]
) -> pd.DataFrame:
    """Set all that is judged apart side by side.

    Parameters
    ----------
    submission : Submission
        With one release or more.
    judgments : sequence of Judgment
        The verdict on each part of it.
    findings : dict of str to Findings
        By name of the part.

    Returns
    -------
    DataFrame
        A row a part, in the order of the judgments: release; releases, their number; advice; then,
        with the error of each behind it, as `copies_error`: copies, identity and attributes, how
        far the shares of the verdict are beyond their baselines; gain, the median of the intruder's
        model, whose error is that of its chains; pmse_ratio, overlap and loss, as
        `utility.of_release`. All but the gain are means over the releases. Then risk and
        risk_error, the largest of the three risks; risk_of, which that is; and zero_error, how far
        from 0 a fresh sample's may lie, the standard error of the baseline and of a share of its
        size. NaN where there is nothing to compare.
    """
    judged = submission.judged()
    rows = []
    for judgment in judgments:
        found = findings[judgment.release]
        each = _of_releases(judged[judgment.release], found)
        means = {name: _mean(numbers) for name, numbers in each.items()}
        row: dict[str, Any] = {
            "release": judgment.release,
            "releases": len(found.copies),
            "advice": judgment.advice,
        }
        for name in RISKS:
            row |= {name: means[name][0], f"{name}_error": means[name][1]}
        row |= dict(zip(("gain", "gain_error"), _gain(found), strict=True))
        for name in UTILITY:
            row |= {name: means[name][0], f"{name}_error": means[name][1]}
        worst = max(RISKS, key=lambda name: np.nan_to_num(means[name][0], nan=-np.inf))
        row |= {"risk": means[worst][0], "risk_error": means[worst][1], "risk_of": worst}
        rows.append(row | {"zero_error": float(each[worst][:, 3].mean())})
    return pd.DataFrame(rows)


def _of_releases(submission: Submission, found: Findings) -> dict[str, NDArray[np.float64]]:
    """Return value, own error, least error and a fresh sample's by measure, each (m, 4)."""
    numbers: dict[str, list[tuple[float, ...]]] = {name: [] for name in (*RISKS, *UTILITY)}
    for i, released in enumerate(submission.released):
        numbers["copies"].append(_of_copies(found.copies[i]))
        numbers["identity"].append(_of_people(found.identity[i]))
        numbers["attributes"].append(_of_people(found.attributes[i]))
        tables: Any = found
        if len(submission.released) > 1:
            tables = usefulness(replace(submission, released=(released,)), found.interactions)
        useful = utility.of_release(tables.pmse, tables.overlap, tables.losses, len(released))
        for name, (value, error) in useful.items():
            # A loss that chance explains is 0, whichever it is.
            numbers[name].append((value, error, error if value == 0 else 0.0, 0.0))
    return {name: np.array(values) for name, values in numbers.items()}


def _of_copies(found: Copies) -> tuple[float, ...]:
    if np.isnan(found.repeated_z):  # what others repeat is not known
        return np.nan, np.nan, np.nan, np.nan
    return _beyond(
        found.repeated, found.repeated_error, found.others, found.others_error, found.released
    )


def _of_people(found: Beyond) -> tuple[float, ...]:
    if not found.people:
        return np.nan, np.nan, np.nan, np.nan
    return _beyond(found.value, found.error, found.baseline, found.others_error, found.people)


def _beyond(
    value: float, error: float, baseline: float, baseline_error: float, people: int
) -> tuple[float, ...]:
    """Return how far a share is beyond its baseline, and its errors.

    The least error is that of half a person: that nobody was seen does not mean that nobody is.
    """
    half = 0.5 / (people + 1)
    least = np.sqrt(half * (1 - half) / people)
    of_fresh = np.hypot(np.sqrt(baseline * (1 - baseline) / people), baseline_error)
    return value - baseline, max(error, least), least, of_fresh


def _mean(numbers: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean over releases and its standard error."""
    values, errors, least, _ = numbers.T
    if len(values) == 1:
        return float(values[0]), float(errors[0])
    spread = max(values.std(ddof=1), least.mean())
    return float(values.mean()), float(spread / np.sqrt(len(values)))


def _gain(found: Findings) -> tuple[float, float]:
    """Return the median gain of the intruder's model and its error between chains."""
    if found.model is None:
        return np.nan, np.nan
    value, low, high = found.model.median
    return value, value * float(np.log(high / low)) / (2 * 1.96)


def _with_error(value: float, error: float, digits: int) -> str:
    return f"{value:.{digits}f}\u00a0±\u00a0{error:.{digits}f}"  # which no line breaks


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the risks and the loss for readers: with one standard error, shares in percent."""
    shown = frame[["release", "releases"]].copy()
    for name in (*RISKS, "gain", "loss"):
        scale, digits = (1, 3) if name == "gain" else (100, 1)
        shown["median gain" if name == "gain" else f"{name}, %"] = [
            "" if np.isnan(value) else _with_error(scale * value, scale * error, digits)
            for value, error in zip(frame[name], frame[f"{name}_error"], strict=True)
        ]
    return shown.loc[:, (shown != "").any()]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of `table` ready for JSON; None where there is no number."""
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def pictured(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what `charts.side_by_side` draws: a row a tool and, last, a fresh sample.

    Bars are two standard errors to both sides, and as many more as Student's t asks of an error
    that is estimated from few releases. A fresh sample is at the origin, its bar that of the
    baseline whose error is largest.
    """
    known = frame[frame[["risk", "loss"]].notna().all(axis=1)]
    degrees = np.where(known["releases"] > 1, known["releases"] - 1.0, np.inf)
    times = stats.t.isf(stats.norm.sf(APART), degrees)  # the normal's for infinitely many
    drawn = pd.DataFrame({"label": known["release"]})
    for name in ("risk", "loss"):
        reach = times * known[f"{name}_error"]
        drawn[name] = known[name]
        drawn[f"{name}_low"], drawn[f"{name}_high"] = known[name] - reach, known[name] + reach
    drawn["loss_low"] = drawn["loss_low"].clip(lower=0)
    reach = APART * known["zero_error"].max()
    fresh = {"label": "fresh sample", "risk": 0.0, "risk_low": -reach, "risk_high": reach}
    fresh |= dict.fromkeys(("loss", "loss_low", "loss_high"), 0.0)
    return pd.concat([drawn, pd.DataFrame([fresh])], ignore_index=True)
