"""What if levels were merged: the same findings on coarser tables, beside those at hand."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment import leakage, utility, verdict
from srlib.assessment.groups import Share, baseline_of, error_of, of_each
from srlib.assessment.leakage import OfEach
from srlib.assessment.regression import least_squares
from srlib.assessment.submission import Submission
from srlib.data.codes import Codes, Levels, row_numbers
from srlib.data.merges import merge_levels
from srlib.threads import one_blas_thread

MEASURES = {
    "alone": "people alone with their keys",
    "identity": "of these, meet a released record",
    "identity_beyond": "people alone and met, beyond the baseline",
    "attributes": "people whose target is disclosed",
    "attributes_beyond": "people disclosed, beyond the baseline",
    "copies": "released records that repeat an original one",
    "margins": "distance of single variables, mean",
    "pairs": "distance of pairs of variables, mean",
    "intervals": "difference of coefficients, mean",
    "pMSE": "what a regression explains of the table",
}
"""What is compared, by name: risks first, then utility. All are shares."""
TELLS = (
    "This is what these releases would tell, and how they would agree with the original, if they "
    "were published with merged levels; a synthesizer fitted to merged data would make others, and "
    "the detail that a merge itself takes from an analyst is in no number here."
)
"""What merging after the fact tells, and what it does not."""
_PARTS = 20  # of the records, left out in turn
_ROWS = 10_000  # records of a table that errors of utility are computed from, at most


def with_merged(submission: Submission) -> Submission:
    """Return the submission with the levels `Submission.merges` merged, in all its tables.

    `assess_submission` of it has the verdict, and with chains the intruder's model.
    """
    given = [submission.original, *submission.released]
    given += [] if submission.held_out is None else [submission.held_out]
    schema, tables = merge_levels(submission.schema, submission.merges, *given)
    m = len(submission.released)
    return replace(
        submission,
        schema=schema,
        original=tables[0],
        released=tables[1 : 1 + m],
        held_out=None if submission.held_out is None else tables[1 + m],
        merges={},
    )


def merged(submission: Submission) -> pd.DataFrame:
    """Compare risks and utility as they are with those on merged levels.

    The intruder's model is not run again; `assess_submission` of `with_merged` does.

    Parameters
    ----------
    submission : Submission
        With `merges`, and one release or more; those of one generator are taken together.

    Returns
    -------
    DataFrame
        A row a release and each of `MEASURES`: release, measure, before, after, difference, and
        error, that of the difference, paired. Risks are shares of people; baselines are the larger
        of those of `leakage.OfEach` over all people as it is; their errors are those of
        a bootstrap of groups of people who share the merged keys, or over the releases where that
        is larger. Distances are total variation, their errors and that of the mean absolute
        difference of regression coefficients are those of a jackknife over 20 parts of
        the records. pMSE is over c (1 - c) as of `utility.losses`, of the regression without
        products; that on merged levels is within the other one, and the error is that of
        the difference for a fresh sample. level_before and level_after are those of the verdict's
        lines, for identity and attributes.

    Raises
    ------
    ValueError
        If the submission has no merges.
    """
    if not submission.merges:
        raise ValueError("merge is empty; it must name levels to merge, such as 'RACE=3+4'")
    coarser = with_merged(submission).judged()
    frames = []
    for name, one in submission.judged().items():
        frame = pd.DataFrame([*_risks(one, coarser[name]), *_utility(one, coarser[name])])
        frame.insert(0, "release", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _risks(before: Submission, after: Submission) -> list[dict[str, object]]:
    """Return the rows of risks, and of copies."""
    pair = [[of_each(one, z) for z in one.released] for one in (before, after)]
    rows: list[dict[str, object]] = []
    for risk in ("identity", "attributes"):
        each = [[found[risk] for found in of_releases] for of_releases in pair]
        group, all_of = each[1][0].group, np.ones(len(before.original), bool)
        counted = [found[0].counted for found in each]
        values = [np.array([one.value for one in found]) for found in each]
        if risk == "identity":
            alone = [some[None].astype(float) for some in counted]
            rows.append(_row("alone", [Share(all_of, group, all_of)] * 2, alone))
        levels = {"level_before": _level(before, risk), "level_after": _level(after, risk)}
        rows.append(_row(risk, [Share(some, group, all_of) for some in counted], values) | levels)
        beyond = [v - b for v, b in zip(values, _baselines(*each), strict=True)]
        rows.append(_row(f"{risk}_beyond", [Share(all_of, group, all_of)] * 2, beyond))
    return [*rows, _copies(before, after)]


def _row(measure: str, shares: list[Share], values: list[NDArray[np.float64]]) -> dict[str, object]:
    """Return a row of the table, from the values of people in each release before and after."""
    each = [np.array([of.share(one) for one in v]) for of, v in zip(shares, values, strict=True)]
    if not all(share.people for share in shares):
        return {"measure": measure, "before": each[0].mean(), "after": each[1].mean()}
    moves = shares[1].moves(values[1]) - shares[0].moves(values[0])
    return {
        "measure": measure,
        "before": each[0].mean(),
        "after": each[1].mean(),
        "difference": (each[1] - each[0]).mean(),
        "error": error_of(moves, shares[1].group, each[1] - each[0]),
    }


def _baselines(
    before: list[OfEach], after: list[OfEach]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Return people's parts in the baseline that is larger before, before and after."""
    first = baseline_of(before)
    others = first[0] is before[0].others
    return first, [one.others if others else one.margins for one in after]


def _level(submission: Submission, risk: str) -> str:
    """Return the level of the verdict's line on a risk."""
    schema, target = submission.schema, submission.target
    tables = [
        (submission.original, z, schema.n_levels, submission.keys) for z in submission.released
    ]
    if risk == "identity":
        found = [leakage.identity(*each, submission.held_out) for each in tables]
    else:
        no_values = schema.variables[target].no_values
        found = [leakage.attributes(*each, target, no_values) for each in tables]
    return verdict.told(found, 1) if found[0].people else "no more"


def _copies(before: Submission, after: Submission) -> dict[str, object]:
    """Return the row of released records that repeat an original one."""
    shares, errors = [], []
    for released in zip(before.released, after.released, strict=True):
        met = [
            _repeats(one.original, z, one.schema.n_levels)
            for one, z in zip((before, after), released, strict=True)
        ]
        shares.append([some.mean() for some in met])
        errors.append((met[1] & ~met[0]).std() / np.sqrt(len(met[0])))
    first, second = np.array(shares).T
    between = (second - first).std(ddof=1) / np.sqrt(len(first)) if len(first) > 1 else 0.0
    return {
        "measure": "copies", "before": first.mean(), "after": second.mean(),
        "difference": (second - first).mean(), "error": max(np.mean(errors), between),
    }  # fmt: skip


def _repeats(original: Codes, released: Codes, n_levels: Levels) -> NDArray[np.bool_]:
    cell = row_numbers(np.concatenate([original, released]), n_levels)
    return cell[len(original) :] <= cell[: len(original)].max()  # the original's come first


def _utility(before: Submission, after: Submission) -> list[dict[str, object]]:
    """Return the rows of utility."""
    pair = (before, after)
    values = [_distances(one, one.original, one.released) for one in pair]
    error = _jackknife(before, after)
    rows: list[dict[str, object]] = [
        {"measure": name, "before": a, "after": b, "difference": b - a, "error": e}
        for name, a, b, e in zip(("margins", "pairs", "intervals"), *values, error, strict=True)
    ]
    smallest, n = min(len(z) for z in before.released), len(before.original)
    c = smallest / (n + smallest)
    of_pmse = [
        utility.propensity(one.original, one.released, one.schema.n_levels)
        .set_index("measure")
        .loc["pMSE"]
        / (c * (1 - c))
        for one in pair
    ]
    first, second = (float(row["mean"]) for row in of_pmse)
    # Chi-squared variables: that of the smaller regression is a part of that of the larger one.
    variance = abs(of_pmse[0]["fresh_sd"] ** 2 - of_pmse[1]["fresh_sd"] ** 2)
    difference = {"difference": second - first, "error": float(np.sqrt(variance))}
    return [*rows, {"measure": "pMSE", "before": first, "after": second} | difference]


@one_blas_thread
def _distances(
    submission: Submission,
    original: Codes,
    released: Sequence[Codes],
    columns: Collection[int] = (),
) -> NDArray[np.float64]:
    """Mean distances of single variables and of pairs, and mean difference of coefficients.

    With some columns named, all distances that do not depend on these count as 0.
    """
    schema = submission.schema
    levels = schema.n_levels.astype(np.int64)
    p = len(levels)
    some = set(columns or range(p))
    tables = [table.astype(np.int64) for table in (original, *released)]

    def distance(a: int, b: int) -> float:
        shares = [
            np.bincount(t[:, a] * levels[b] + t[:, b], minlength=levels[a] * levels[b]) / len(t)
            for t in tables
        ]
        return float(np.mean([np.abs(share - shares[0]).sum() / 2 for share in shares[1:]]))

    # The regression of `utility.interval_overlap`, without its intervals.
    usual = [np.bincount(column).argmax() for column in original.T]
    chosen = [(k, c) for k in submission.keys for c in range(levels[k]) if c != usual[k]]
    names, target = [""] * len(chosen), submission.target
    estimates = [
        least_squares(table, chosen, table[:, target] == usual[target], names).estimate[1:]
        for table in tables
    ]
    apart = np.abs(np.mean(estimates[1:], axis=0) - estimates[0])
    return np.array(
        [
            np.mean([distance(k, k) if k in some else 0.0 for k in range(p)]),
            np.mean(
                [distance(*two) if some & {*two} else 0.0 for two in combinations(range(p), 2)]
            ),
            apart[~np.isnan(apart)].mean() if not np.isnan(apart).all() else np.nan,
        ]
    )


def _jackknife(before: Submission, after: Submission) -> NDArray[np.float64]:
    """Return errors of the differences of `_distances`, leaving out parts of all tables in turn."""
    largest = max(len(before.original), *map(len, before.released))
    step = max(largest / _ROWS, 1.0)

    def parts(one: Submission, without: int) -> tuple[Codes, list[Codes]]:
        thin = [
            table[np.arange(0, len(table), step).astype(int)]
            for table in (one.original, *one.released)
        ]
        kept = [table[np.arange(len(table)) % _PARTS != without] for table in thin]
        return kept[0], kept[1:]

    found = np.array(
        [
            _distances(after, *parts(after, i), before.merges)
            - _distances(before, *parts(before, i), before.merges)
            for i in range(_PARTS)
        ]
    )
    spread = ((found - found.mean(axis=0)) ** 2).sum(axis=0) * (_PARTS - 1) / _PARTS
    return np.sqrt(spread / step)


def in_a_sentence(submission: Submission, found: pd.DataFrame) -> str:
    """Say of one release what merging changes.

    Parameters
    ----------
    submission : Submission
        With the merges.
    found : DataFrame
        As `merged` returns, the rows of one release.
    """
    of = found.set_index("measure")
    said = []
    for risk, what in (("identity", "alone and met"), ("attributes", "disclosed")):
        row = of.loc[f"{risk}_beyond"]
        change = f"{_points(row['difference'], '+')} ± {_points(row['error'])} points"
        sure = abs(row["difference"]) >= verdict.SURE * row["error"] and row["difference"] != 0
        word = "falls" if row["difference"] < 0 else "rises"
        word = word if sure else "does not change beyond its error"
        said.append(
            f"the share of people {what} beyond the baseline {word} "
            f"({_points(row['before'])} to {_points(row['after'])} %, {change}; the release tells "
            f"{of.loc[risk, 'level_before']}, then {of.loc[risk, 'level_after']})"
        )
    merged_levels = ", ".join(
        f"{' + '.join(variable.labels[code] for code in codes)} of {variable.name}"
        for at, merges in submission.merges.items()
        for variable in [submission.schema.variables[at]]
        for codes in merges
    )
    return f"With {merged_levels} merged, {said[0]}, and {said[1]}."


def _points(share: float, sign: str = "") -> str:
    return f"{100 * share:{sign}.1f}"
