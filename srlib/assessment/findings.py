"""Findings on releases that are judged together, and the verdict on them.

The measures themselves are in `leakage`, `matching`, `utility` and `model`; `verdict` puts them
into words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from srlib.assessment import leakage, matching, utility, verdict
from srlib.assessment.groups import by_group
from srlib.assessment.model import Model, OfOriginal, believe
from srlib.assessment.submission import Submission
from srlib.assessment.tolerance import within
from srlib.risk.sets import DrawSets

_OF_TARGET = ("value", "error", "others", "others_error", "margins", "z")

# Parameters of the regression behind pMSE, at most.
MOST_PARAMETERS = 700


def most_parameters(n_records: int) -> int:
    """Parameters up to which the regression behind pMSE has products of variables.

    The reference of pMSE holds for many records. By simulation, of k parameters and N records in
    both tables, a fresh sample lies 0.4 k^1.5 / N of its standard deviations above it: 1.4 at 555
    parameters and 4,000 records. The two thirds power of N keeps that below a half.
    """
    return int(min(n_records ** (2 / 3), MOST_PARAMETERS))


@dataclass(frozen=True)
class Findings:
    """Everything computed of one release, or of several of one generator.

    Attributes
    ----------
    copies, identity, attributes : tuple
        Of each release, as the functions of `leakage` return.
    measures : DataFrame
        As `matching.measures` returns.
    margins, pmse, overlap, losses, customary : DataFrame
        As `utility.margins`, `utility.propensity`, `utility.interval_overlap`, `utility.losses`
        and `utility.against_fresh` return.
    targets, key_sets : DataFrame
        As `of_targets` and `of_key_sets` return.
    interactions : bool
        Whether the regression behind pMSE has products of variables.
    nearest : tuple
        Of each release, as `leakage.nearest` returns; empty where nobody was held out.
    within : tuple
        Of each release, as `tolerance.within` returns; empty where no tolerance was named.
    model : Model, optional
        None where the intruder's model was left out.
    groups : DataFrame, optional
        As `groups.by_group` returns; None where the submission has no variable `by`.
    """

    copies: tuple[leakage.Copies, ...]
    identity: tuple[leakage.Beyond, ...]
    attributes: tuple[leakage.Beyond, ...]
    measures: pd.DataFrame
    margins: pd.DataFrame
    pmse: pd.DataFrame
    overlap: pd.DataFrame
    losses: pd.DataFrame
    customary: pd.DataFrame
    targets: pd.DataFrame
    key_sets: pd.DataFrame
    interactions: bool
    nearest: tuple[leakage.Nearest, ...] = ()
    within: tuple[leakage.Beyond, ...] = ()
    model: Model | None = None
    groups: pd.DataFrame | None = None


def examine(
    submission: Submission, sets: DrawSets | None = None, known: OfOriginal | None = None
) -> Findings:
    """Compute everything that the report says of releases that are judged together.

    Parameters
    ----------
    submission : Submission
        Its releases are taken together, as draws of one generator.
    sets : DrawSets, optional
        Draws of the DPMPM given the original records, and given these joined with each release,
        with their allocations. Where not given, the intruder's model is left out.
    known : OfOriginal, optional
        As `model.of_original` returns, where it was computed for other releases already.
    """
    schema, original, released = submission.schema, submission.original, submission.released
    levels = schema.n_levels.tolist()
    keys, target = submission.keys, submission.target
    most = most_parameters(len(original) + min(len(z) for z in released))
    interactions = utility.n_parameters(levels, True) <= most
    useful = usefulness(submission, interactions)
    held_out = submission.held_out
    none = schema.variables[target].no_values
    identity = tuple(leakage.identity(original, z, levels, keys, held_out) for z in released)
    attributes = tuple(
        leakage.attributes(original, z, levels, keys, target, none) for z in released
    )
    copies = tuple(leakage.copies(original, z, levels, held_out) for z in released)
    return Findings(
        copies=copies,
        identity=identity,
        attributes=attributes,
        measures=matching.measures(original, released, levels, keys, target),
        **vars(useful),
        targets=of_targets(submission),
        key_sets=of_key_sets(submission, identity, attributes),
        interactions=interactions,
        nearest=()
        if held_out is None
        else tuple(leakage.nearest(original, z, held_out, levels) for z in released),
        within=of_numbers(submission),
        model=None if sets is None else believe(submission, sets, known),
        groups=None if submission.by is None else by_group(submission, copies[0].premise),
    )


@dataclass(frozen=True)
class Usefulness:
    """The tables of `Findings` that say what releases are good for."""

    margins: pd.DataFrame
    pmse: pd.DataFrame
    overlap: pd.DataFrame
    losses: pd.DataFrame
    customary: pd.DataFrame


def usefulness(submission: Submission, interactions: bool) -> Usefulness:
    """Compute what releases that are judged together are good for.

    Parameters
    ----------
    submission : Submission
        As of `examine`.
    interactions : bool
        Whether the regression behind pMSE has products of variables.
    """
    schema, original, released = submission.schema, submission.original, submission.released
    levels, names = schema.n_levels.tolist(), schema.names
    labels = [variable.labels for variable in schema.variables]
    keys, target = submission.keys, submission.target
    margins = utility.margins(original, released, levels, names)
    pmse = utility.propensity(original, released, levels, interactions=interactions)
    overlap = utility.interval_overlap(original, released, labels, names, keys, target)
    smallest = min(len(z) for z in released)
    return Usefulness(
        margins=margins,
        pmse=pmse,
        overlap=overlap,
        losses=utility.losses(margins, overlap, pmse, len(original), smallest),
        customary=utility.against_fresh(pmse, overlap),
    )


def of_targets(submission: Submission) -> pd.DataFrame:
    """Compare what the releases disclose of each variable with what others' records would.

    Parameters
    ----------
    submission : Submission
        Its releases are taken together. The targets are all variables but the keys; where all
        but the target are keys, each variable in turn, with all others as keys.

    Returns
    -------
    DataFrame
        A row a target that somebody has a value of, what is told beyond others' records first:
        target; value, error, others, others_error, margins and z as of `leakage.Beyond`, means over
        the releases; rest, the share that the releases take of what the baseline leaves; frequent,
        the share of the people disclosed, rightly, who have the level that most have; one_key, that
        of those whose target a single key decides (`matching.decided_by_one_key`); guessed, that
        of those of whom either holds; and level, as of `verdict.of_attributes`, but that a
        difference has to be as sure as if it alone had been looked at.
    """
    schema, original = submission.schema, submission.original
    p = len(schema.names)
    others = [k for k in range(p) if k not in submission.keys]
    alone = others == [submission.target]
    rows = []
    for target in range(p) if alone else others:
        keys = [k for k in range(p) if k != target] if alone else list(submission.keys)
        none = schema.variables[target].no_values
        counted = ~np.isin(original[:, target], none)
        if not counted.any():
            continue
        most = np.bincount(original[counted, target]).argmax()
        usual = original[:, target] == most
        one_key = matching.decided_by_one_key(original, schema.n_levels, keys, target)
        guesses = {"frequent": usual, "one_key": one_key, "guessed": usual | one_key}
        found, shares = [], []
        for released in submission.released:
            found.append(
                leakage.attributes(original, released, schema.n_levels, keys, target, none)
            )
            compared = matching.compare(original, released, schema.n_levels, keys, target)
            told = compared.flags["DiSCO"].to_numpy() & counted
            shares.append([of[told].mean() if told.any() else np.nan for of in guesses.values()])
        rows.append(
            {"target": schema.names[target]}
            | {name: float(np.mean([getattr(each, name) for each in found])) for name in _OF_TARGET}
            | dict(zip(guesses, np.mean(shares, axis=0).tolist(), strict=True))
            | {"found": found}
        )
    frame = pd.DataFrame(rows)
    baseline = frame[["others", "margins"]].max(axis=1)
    frame["rest"] = [
        leakage.share_of_rest(v, b) for v, b in zip(frame["value"], baseline, strict=True)
    ]
    frame["level"] = [verdict.told(found, len(frame)) for found in frame.pop("found")]
    return frame.sort_values("rest", ascending=False, kind="stable", ignore_index=True)


def of_key_sets(
    submission: Submission,
    identity: Sequence[leakage.Beyond],
    attributes: Sequence[leakage.Beyond],
) -> pd.DataFrame:
    """Compare what the releases tell intruders who know different sets of keys.

    Parameters
    ----------
    submission : Submission
        Its releases are taken together.
    identity, attributes : sequence of Beyond
        Of each release with the first set, `Submission.keys`, as of `Findings`.

    Returns
    -------
    DataFrame
        Two rows a set, the riskiest set and the riskier row of it first: keys, their names; risk,
        ``"identity"`` or ``"attributes"``; and the columns of `compared`. For the level a
        difference has to be as sure as if it alone of all rows had been looked at.
    """
    schema, original, released = submission.schema, submission.original, submission.released
    levels, target = schema.n_levels, submission.target
    none = schema.variables[target].no_values
    found = {submission.keys: {"identity": identity, "attributes": attributes}}
    for keys in submission.more_keys:
        found[keys] = {
            "identity": [
                leakage.identity(original, z, levels, keys, submission.held_out) for z in released
            ],
            "attributes": [
                leakage.attributes(original, z, levels, keys, target, none) for z in released
            ],
        }
    sets = []
    for keys, of_risk in found.items():
        known = ", ".join(schema.names[k] for k in keys)
        rows = [
            {"keys": known, "risk": risk, **compared(each, 2 * len(found))}
            for risk, each in of_risk.items()
        ]
        sets.append(sorted(rows, key=_risk, reverse=True))
    sets.sort(key=lambda rows: _risk(rows[0]), reverse=True)
    return pd.DataFrame([row for rows in sets for row in rows])


def _risk(row: Mapping[str, Any]) -> tuple[int, float]:
    """Return what rows of `of_key_sets` are sorted by: the level, and then the rest."""
    rest = row["rest"]
    return verdict.LEVELS["identity"].index(row["level"]), -np.inf if np.isnan(rest) else rest


def compared(found: Sequence[leakage.Beyond], comparisons: int = 1) -> dict[str, Any]:
    """Summarize comparisons of the releases of one generator with other people's records.

    Parameters
    ----------
    found : sequence of Beyond
        One for each release.
    comparisons : int
        As of `verdict.told`.

    Returns
    -------
    dict
        people, value, error, others, others_error, margins and z, means over the releases; rest and
        level. The shares are NaN where they are of nobody.
    """
    means = {name: float(np.mean([getattr(each, name) for each in found])) for name in _OF_TARGET}
    people = found[0].people
    baseline = max(means["others"], means["margins"])
    return {
        "people": people,
        **means,
        "rest": leakage.share_of_rest(means["value"], baseline),
        "level": verdict.told(found, comparisons) if people else "no more",
    }


def of_numbers(submission: Submission) -> tuple[leakage.Beyond, ...]:
    """Compare of how many each release tells the number within the tolerance, if one was named."""
    uncut = submission.uncut
    if uncut is None:
        return ()
    original, levels = submission.original, submission.schema.n_levels
    return tuple(
        within(original, z, levels, submission.keys, (uncut.original, told), uncut.tolerance)
        for z, told in zip(submission.released, uncut.released, strict=True)
    )


def judge(name: str, submission: Submission, findings: Findings) -> verdict.Judgment:
    """Judge the findings that `examine` returns."""
    target, model = submission.schema.names[submission.target], findings.model
    lines = (
        verdict.of_copies(findings.copies),
        verdict.of_identity(findings.identity),
        verdict.of_attributes(findings.attributes, target),
        verdict.of_utility(findings.losses, findings.customary),
        verdict.NOT_COMPUTED
        if model is None
        else verdict.of_model(
            model.median,
            model.high,
            model.chains["r_hat_95"].max(),
            model.converged,
            target,
            model.belief,
        ),
    )
    return verdict.judge(name, lines, findings.copies, target)
