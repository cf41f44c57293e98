"""A release assessed from its files: what is read, what is computed, and the records to look at.

The measures themselves are in `leakage`, `matching`, `utility` and `disclosure`; `verdict` puts
them into words. Here is what joins them: tables that are checked against each other, what the
intruder is taken to know, each release judged by itself, and the chains of the intruder's model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib.assessment import leakage, matching, utility, verdict
from srlib.data.microdata import distinct, load, read_table
from srlib.data.schema import Schema
from srlib.display import MIN_RECORDS, NOT_SHOWN
from srlib.dpmpm import core as dpmpm
from srlib.dpmpm.core import Draws, cell_log_prob
from srlib.mechanism.core import posterior
from srlib.risk.convergence import APART, convergence
from srlib.risk.estimators import between_chains, left_out_ratios, predictive_ratio

Codes = NDArray[np.integer]

# The regression behind pMSE has products of variables while there are this many records for each
# of its parameters, and no more than these; with fewer records its reference is too low.
RECORDS_A_PARAMETER, MOST_PARAMETERS = 5, 1_000

# What `read` takes, under the names of the notebook's parameters.
SETTINGS = (
    "original",
    "released",
    "schema",
    "holdout",
    "keys",
    "target",
    "same_generator",
    "partially_synthetic",
    "drop_missing",
    "ignore_columns",
    "quick",
    "rules",
)

_BLOCK = 20_000  # combinations whose candidates are held at once
_LINES = 5  # lines of the file that are named for a combination


@dataclass(frozen=True)
class Submission:
    """An original table, what was released of it, and what the intruder is taken to know.

    Attributes
    ----------
    schema : Schema
        Of all tables.
    original : (n, p) int
        Codes from 0.
    released : tuple of (n*, p) int
        One or more, of any sizes.
    keys : tuple of int
        Columns that the intruder knows.
    target : int
        Column that the intruder wants to know.
    names : tuple of str
        Of the releases; empty: release 1, release 2 and so on.
    lines : (n,) int, optional
        Line of its file that each original record begins at; where not given, its number from 1.
    held_out : (m, p) int, optional
        Records of people of the same population who are not in the original.
    same_generator : bool
        Whether the releases are draws of one generator, and are judged together.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.
    notes : tuple of str
        One sentence for all that was recognised, inferred, dropped or chosen.
    """

    schema: Schema
    original: Codes
    released: tuple[Codes, ...]
    keys: tuple[int, ...]
    target: int
    names: tuple[str, ...] = ()
    lines: NDArray[np.int64] | None = None
    held_out: Codes | None = None
    same_generator: bool = False
    partially_synthetic: bool = False
    notes: tuple[str, ...] = ()

    def judged(self) -> "dict[str, Submission]":
        """What is judged by itself, by name: each release, or all of one generator together."""
        names = self.names or tuple(f"release {i + 1}" for i in range(len(self.released)))
        if self.same_generator and len(names) > 1:
            return {f"{names[0]} and {len(names) - 1} more": self}
        pairs = zip(names, self.released, strict=True)
        return {name: replace(self, released=(z,), names=(name,)) for name, z in pairs}


@dataclass(frozen=True)
class Model:
    """What the intruder's model says.

    Attributes
    ----------
    risks, copies, chains : DataFrame
        As `model_risks`, `copies` and `convergence` return.
    median : (value, low, high)
        Factor by which the release multiplies the probability of the true target for the median
        record, and its 95 % interval between chains.
    high : float
        The factor at the 95th percentile of the records.
    """

    risks: pd.DataFrame
    copies: pd.DataFrame
    chains: pd.DataFrame
    median: tuple[float, float, float]
    high: float

    @property
    def converged(self) -> bool:
        """Whether all sets of chains agree."""
        return bool((self.chains["apart"] <= APART).all())


@dataclass(frozen=True)
class Findings:
    """All that was computed of one release, or of several of one generator.

    Attributes
    ----------
    copies, identity, attributes : tuple
        Of each release, as the functions of `leakage` return.
    measures, lacking, matches : DataFrame
        As `matching.measures`, `matching.without_each_key` and `matching.match_risk` return; the
        last is None unless the releases are partially synthetic.
    margins, pmse, overlap, losses : DataFrame
        As `utility.margins`, `utility.propensity`, `utility.interval_overlap` and
        `utility.losses` return.
    interactions : bool
        Whether the regression behind pMSE has products of variables.
    model : Model, optional
        None where the intruder's model was left out.
    """

    copies: tuple[leakage.Copies, ...]
    identity: tuple[leakage.Beyond, ...]
    attributes: tuple[leakage.Beyond, ...]
    measures: pd.DataFrame
    lacking: pd.DataFrame
    matches: pd.DataFrame | None
    margins: pd.DataFrame
    pmse: pd.DataFrame
    overlap: pd.DataFrame
    losses: pd.DataFrame
    interactions: bool
    model: Model | None = None


def read(
    original: str | Path,
    released: Sequence[str | Path],
    schema: str | Path = "",
    holdout: str | Path = "",
    keys: Sequence[str] = (),
    target: str = "",
    *,
    same_generator: bool = False,
    partially_synthetic: bool = False,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    quick: bool = False,
    rules: str | Path = "",
) -> Submission:
    """Read and check an original and its releases.

    Parameters
    ----------
    original : str or Path
        CSV file, see `microdata.read_table`.
    released : sequence of str or Path
        One file or more, read with the schema of the original.
    schema : str or Path
        YAML file that declares the variables, ``"acs"``, or ``""``: recognised, or inferred from
        the original.
    holdout : str or Path
        CSV file of people of the same population who are not in the original; ``""``: none.
    keys, target
        As `roles`.
    same_generator : bool
        Whether the releases are draws of one generator, to be judged together.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.
    drop_missing, ignore_columns : bool
        See `microdata.read_table`; for all files.
    quick : bool
        Whether the intruder's model is left out; checked against the rules.
    rules : str or Path
        YAML file of `verdict.read_rules`, checked here; ``""``: none.

    Raises
    ------
    ValueError
        For the first that holds: no release; a file that does not exist, or that `read_table` or
        `read_rules` refuses, or that has fewer than two records; `keys` or `target` as `roles`
        says; a partially synthetic release of another size than the original, or with dropped
        records; a rule on the model, which is left out.
    """
    if not released:
        raise ValueError("released is empty; it must name one file or more")
    others = [path for path in (holdout, rules) if str(path)]
    for path in [original, *released, *others, *([schema] if schema not in ("", "acs") else [])]:
        if not Path(path).is_file():
            raise ValueError(f"{str(path)!r}: there is no such file")
    if partially_synthetic and drop_missing:
        raise ValueError(
            "drop_missing is set together with partially_synthetic; rows of tables of which "
            "records are dropped do not correspond"
        )
    limited = verdict.read_rules(rules) if str(rules) else {}
    if quick and "model" in limited:
        raise ValueError(f"{rules}: there is a rule on the model, which quick leaves out")
    settings = {"drop_missing": drop_missing, "ignore_columns": ignore_columns}
    first = load(original, schema, rng=np.random.default_rng(), **settings)
    paths = [original, *released, *([holdout] if str(holdout) else [])]
    tables = [first, *(read_table(path, first.schema, **settings) for path in paths[1:])]
    for path, table in zip(paths, tables, strict=True):
        if len(table.codes) < 2:
            raise ValueError(f"{path}: the table has {len(table.codes)} record; it needs 2 or more")
    for path, table in zip(released, tables[1:], strict=False):
        if partially_synthetic and len(table.codes) != len(first.codes):
            raise ValueError(
                f"{path}: the table has {len(table.codes):,} records; a partially synthetic "
                f"release has as many as the original, {len(first.codes):,}"
            )
    keys_at, target_at = roles(first.schema, keys, target)
    names = first.schema.names
    chosen = []
    if not target:
        chosen.append(f"No target was given: {names[target_at]}, the last that is no key.")
    if not keys:
        chosen.append(f"No keys were given: all {len(keys_at)} variables but the target.")
    of_files = [
        f"{Path(path).name}: {note}"
        for path, table in zip(paths, tables, strict=True)
        for note in (_records(table.codes, table.n_dropped), *table.notes)
    ]
    return Submission(
        schema=first.schema,
        original=first.codes,
        released=tuple(table.codes for table in tables[1 : 1 + len(released)]),
        keys=keys_at,
        target=target_at,
        names=_apart([Path(path) for path in released]),
        lines=first.lines,
        held_out=tables[-1].codes if str(holdout) else None,
        same_generator=same_generator,
        partially_synthetic=partially_synthetic,
        notes=(*of_files, *chosen),
    )


def _records(codes: Codes, n_dropped: int) -> str:
    if not n_dropped:
        return f"{len(codes):,} records."
    return f"{len(codes):,} of {len(codes) + n_dropped:,} records."


def _apart(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of files, with as many of their folders as it takes to tell them apart."""
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = tuple("/".join(path.parts[-parts:]) for path in paths)
        if len(set(names)) == len(names):
            return names
    return tuple(f"{path.name} ({i})" for i, path in enumerate(paths, start=1))


def roles(schema: Schema, keys: Sequence[str], target: str) -> tuple[tuple[int, ...], int]:
    """Columns of the keys and of the target.

    Parameters
    ----------
    schema : Schema
        Two variables or more.
    keys : sequence of str
        Names of variables that the intruder knows; all but the target where empty.
    target : str
        Name of the variable that the intruder wants to know; ``""``: the last that is no key.

    Raises
    ------
    ValueError
        If a name is not that of a variable or stands twice, the target is among the keys, or no
        variable is left for one of the two.
    """
    names = schema.names
    if len(names) < 2:
        raise ValueError(f"the variables are {names[0]} alone; keys and a target need two or more")
    if keys:
        schema.positions(keys, "keys")
    if not target:
        others = [name for name in names if name not in keys]
        if not others:
            raise ValueError("keys are all variables; one must be left for the target")
        target = others[-1]
    if target in keys:
        raise ValueError(f"target is {target!r}, which is among the keys {', '.join(keys)}")
    target_at = schema.positions([target], "target")[0]
    at = schema.positions(keys or [name for name in names if name != target], "keys")
    return tuple(at), target_at


def assess(
    submission: Submission, draws: Draws | None = None, joined: Sequence[Draws] = ()
) -> Findings:
    """Compute everything that the report says of what is judged together.

    Parameters
    ----------
    submission : Submission
        Its releases are taken together, as draws of one generator.
    draws : Draws, optional
        Of the DPMPM, given the original records, with their allocations; two chains or more.
        Where not given, the intruder's model is left out.
    joined : sequence of Draws
        Given the original joined with each release, likewise.
    """
    schema, original, released = submission.schema, submission.original, submission.released
    levels, names = schema.n_levels.tolist(), schema.names
    keys, target = submission.keys, submission.target
    labels = [variable.labels for variable in schema.variables]
    smallest = min(len(z) for z in released)
    most = min((len(original) + smallest) / RECORDS_A_PARAMETER, MOST_PARAMETERS)
    interactions = utility.n_parameters(levels, True) <= most
    margins = utility.margins(original, released, levels, names)
    pmse = utility.propensity(original, released, levels, interactions=interactions)
    overlap = utility.interval_overlap(original, released, labels, names, keys, target)
    return Findings(
        copies=tuple(_copies(submission, z, levels) for z in released),
        identity=tuple(leakage.identity(original, z, levels, keys) for z in released),
        attributes=tuple(leakage.attributes(original, z, levels, keys, target) for z in released),
        measures=matching.measures(original, released, levels, keys, target),
        lacking=matching.without_each_key(original, released, levels, keys, target, names),
        matches=matching.match_risk(original, released, levels, keys)
        if submission.partially_synthetic
        else None,
        margins=margins,
        pmse=pmse,
        overlap=overlap,
        losses=utility.losses(margins, overlap, pmse, len(original), smallest),
        interactions=interactions,
        model=None if draws is None else _model(submission, draws, joined),
    )


def _copies(submission: Submission, released: Codes, n_levels: Sequence[int]) -> leakage.Copies:
    """Copies in one release; where its rows are the original's by design, whole records only."""
    found = leakage.copies(submission.original, released, n_levels, submission.held_out)
    if not submission.partially_synthetic:
        return found
    return replace(found, near_z=np.nan, same_row_z=np.nan)


def judge(name: str, submission: Submission, findings: Findings) -> verdict.Judgment:
    """The verdict on what `assess` computed."""
    target, model = submission.schema.names[submission.target], findings.model
    lines = (
        verdict.of_copies(findings.copies),
        verdict.of_identity(findings.identity),
        verdict.of_attributes(findings.attributes, target),
        verdict.of_utility(findings.losses),
        verdict.NOT_COMPUTED
        if model is None
        else verdict.of_model(
            model.median, model.high, model.chains["r_hat_95"].max(), model.converged, target
        ),
    )
    return verdict.judge(name, lines, findings.copies, target)


def exposed(submission: Submission, findings: Findings) -> pd.DataFrame:
    """Every original combination with what the report found of it. Confidential.

    Parameters
    ----------
    submission, findings
        As of `assess`.

    Returns
    -------
    DataFrame
        One row a distinct combination: lines, the first lines of the original's file that have it;
        copied, whether it is alone in the original and occurs unchanged in a release; neighbors,
        records of both files that differ from it in one variable; repU and DiSCO, in how many
        releases it counts as such; the columns of `model_risks` where the model was not left out,
        and repetitions; then its values, a column a variable, labels as text. First those that
        are copied, of these those with fewest neighbors, then by repU and DiSCO.
    """
    combinations, repetitions, inverse = distinct(submission.original)
    levels, of_keys = submission.schema.n_levels.tolist(), (submission.keys, submission.target)
    found = pd.DataFrame(0, index=inverse, columns=["repU", "DiSCO"])
    for released in submission.released:
        flags = matching.compare(submission.original, released, levels, *of_keys).flags
        found += flags[["repU", "DiSCO"]].to_numpy()
    found["copied"] = np.any([each.found for each in findings.copies], axis=0)
    found["neighbors"] = np.min([each.neighbors for each in findings.copies], axis=0)
    of_each = found.groupby(level=0).max()  # records of one combination have the same of all
    lines = submission.lines
    frame = pd.DataFrame({"lines": _lines(inverse, lines)})
    for name in ("copied", "neighbors", "repU", "DiSCO"):
        frame[name] = of_each[name].to_numpy()
    if findings.model is None:
        frame["repetitions"] = repetitions
    else:
        frame = pd.concat([frame, findings.model.risks], axis=1)
    values = submission.schema.decode(combinations).astype(str)
    taken = set(frame.columns)
    values.columns = [f"{name} (value)" if name in taken else name for name in values]
    order = ["copied", "neighbors", "repU", "DiSCO"]
    sort = {"ascending": [False, True, False, False], "kind": "stable", "ignore_index": True}
    # Only of those that are copied it matters how few neighbors they have.
    by = frame.assign(neighbors=frame["neighbors"].where(frame["copied"], 0))
    at = by.sort_values(order, **{**sort, "ignore_index": False}).index
    return pd.concat([frame, values], axis=1).loc[at].reset_index(drop=True)


def details(findings: Mapping[str, Findings], name: str) -> pd.DataFrame:
    """What a function of `leakage` found, a row a release: release, then its attributes."""
    rows = [
        {"release": release} | asdict(each)
        for release, of_one in findings.items()
        for each in getattr(of_one, name)
    ]
    return pd.DataFrame(rows)


def of_model(findings: Mapping[str, Findings], name: str) -> pd.DataFrame:
    """One table of `Model` over all that was judged, with the column release."""
    frames = [
        getattr(each.model, name).assign(release=release)
        for release, each in findings.items()
        if each.model
    ]
    return pd.concat(frames, ignore_index=True)


def in_public(
    judgments: Sequence[verdict.Judgment], findings: Mapping[str, Findings]
) -> pd.DataFrame:
    """Return the verdict in words, without names and numbers.

    A level stands where it rests on `confidential.MIN_RECORDS` people or more, and the advice where
    all levels that it follows from do.

    Returns
    -------
    DataFrame
        A row a release, in the order of the judgments: release, a number; advice; copies, identity,
        attributes, utility and model, the levels of `verdict.LEVELS`.
    """
    rows = []
    for number, judgment in enumerate(judgments, start=1):
        found = findings[judgment.release]
        sizes = [n for copies in found.copies for n in (len(copies.found), copies.released)]
        everybody = min(sizes)
        # Where nobody is alone this is said of everybody.
        people = {
            "copies": [copies.alone or everybody for copies in found.copies],
            "identity": [each.people or everybody for each in found.identity],
        }
        levels = {
            line.topic: line.level
            if min([everybody, *people.get(line.topic, [])]) >= MIN_RECORDS
            else NOT_SHOWN
            for line in judgment.lines
        }
        hidden = NOT_SHOWN in levels.values()
        advice = NOT_SHOWN if hidden else judgment.advice
        rows.append({"release": number, "advice": advice, **levels})
    return pd.DataFrame(rows)


def terms(findings: Findings, n_levels: Sequence[int]) -> str:
    """What the regression behind pMSE contains, and why no more."""
    with_pairs, single = (utility.n_parameters(n_levels, pairs) for pairs in (True, False))
    if findings.interactions:
        return f"{with_pairs:,} parameters: all levels and all pairs of levels."
    return (
        f"{single:,} parameters, of levels alone: with pairs of levels they would be "
        f"{with_pairs:,}, more than {MOST_PARAMETERS:,} or than one for {RECORDS_A_PARAMETER} "
        "records. It sees no lost association; the distances of pairs do."
    )


def _lines(inverse: NDArray[np.int64], lines: NDArray[np.int64] | None) -> list[str]:
    """First lines of the file that have each combination."""
    lines = np.arange(1, len(inverse) + 1) if lines is None else lines
    order = np.argsort(inverse, kind="stable")
    parts = np.split(lines[order], np.cumsum(np.bincount(inverse))[:-1])
    return [
        ", ".join(map(str, part[:_LINES])) + (", ..." if len(part) > _LINES else "")
        for part in parts
    ]


def _model(submission: Submission, draws: Draws, joined: Sequence[Draws]) -> Model:
    original, released = submission.original, submission.released
    combinations, repetitions, _ = distinct(original)
    sets = {"the original": draws}
    sets |= {f"the original and release {i}": d for i, d in enumerate(joined, start=1)}
    risks, (logs, errors) = model_risks(draws, joined, combinations, repetitions, submission.target)
    (median, high), error = np.exp(logs), 1.96 * errors[0]
    return Model(
        risks=risks,
        copies=copies(original, released, draws),
        chains=convergence(sets, combinations),
        median=(float(median), float(median * np.exp(-error)), float(median * np.exp(error))),
        high=float(high),
    )


# ----------------------------------------------------------------------------- posterior risks


def model_risks(
    draws: Draws,
    joined: Sequence[Draws],
    combinations: Codes,
    repetitions: NDArray[np.integer],
    target: int,
) -> tuple[pd.DataFrame, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Risks under an intruder who knows all other records and takes the DPMPM for the generator.

    Two questions on each original combination, both answered by `disclosure.predictive_ratio`.
    The whole record: its candidates are the true combination and all that differ from it in one
    variable, with a uniform prior (Hu, Reiter and Wang 2014, section 3.1). The target alone: the
    rest of the record is known, and the prior is the model's prediction from the other records,
    so that the gain, posterior over prior, is what the release adds.

    Parameters
    ----------
    draws : Draws
        Given the original records, with their allocations; two chains or more.
    joined : sequence of Draws
        Given the original joined with each release, likewise.
    combinations : (n_combinations, p) int
        Distinct original combinations.
    repetitions : (n_combinations,) int
        Records that have each.
    target : int
        Column of the target.

    Returns
    -------
    risks : DataFrame
        One row a combination: repetitions; probability (of the whole true record), log_mcse and
        rank among support_size candidates; target_prior and target_probability (of the true
        target), log_gain, the logarithm of their ratio, and log_gain_mcse. Errors come from
        between chains.
    quantiles : ((2,) float, (2,) float)
        Median and 95th percentile of log_gain over the records, and their errors between chains.
    """
    start = 1 + int((draws.n_levels[:target] - 1).sum())
    of_target = [0, *range(start, start + int(draws.n_levels[target]) - 1)]
    frames, targets = [], []
    for first in range(0, len(combinations), _BLOCK):
        some = combinations[first : first + _BLOCK]
        data, *others = (left_out_ratios(d, some)[0] for d in (draws, *joined))
        risk = predictive_ratio(data, others)
        targets.append([z[..., of_target] for z in (data, *others)])
        before, gain, error = _gain(targets[-1][0], targets[-1][1:])
        frames.append(
            pd.DataFrame(
                {
                    "repetitions": repetitions[first : first + _BLOCK],
                    "probability": risk.probability,
                    "log_mcse": risk.log_mcse[:, 0],
                    "rank": risk.rank,
                    "support_size": risk.support_size,
                    "target_prior": np.exp(before),
                    "target_probability": np.exp(before + gain),
                    "log_gain": gain,
                    "log_gain_mcse": error,
                }
            )
        )
    sets = [np.concatenate(blocks, axis=1) for blocks in zip(*targets, strict=True)]
    order = np.repeat(np.arange(len(combinations)), repetitions)

    def quantiles(*of_sets: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.quantile(_told(*of_sets)[order], [0.5, 0.95])

    return pd.concat(frames, ignore_index=True), between_chains(quantiles, sets)


def _told(of_data: NDArray[np.float64], *of_joined: NDArray[np.float64]) -> NDArray[Any]:
    """Log of posterior over prior of the truth, from the logs of the chains' means."""
    total = reduce(np.add, of_joined) - (len(of_joined) - 1) * of_data
    return posterior(total)[:, 0] - posterior(of_data)[:, 0]


def _gain(
    data: NDArray[np.float64], joined: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log prior of the truth, log of posterior over prior, and the latter's error.

    The prior is p(x | D_-i), from the chains that the posterior has in its denominator m times:
    both are taken anew where a chain is left out.
    """
    before = posterior(logsumexp(data, axis=0))[:, 0]
    return before, *between_chains(_told, [data, *joined])


def copies(original: Codes, released: Sequence[Codes], draws: Draws) -> pd.DataFrame:
    """How many of the records that are alone with all their values occur unchanged in a release.

    An honest release has some by chance. The baseline is what a release of the same size would
    have whose records come from the model fitted without the record: the mean, over these records,
    of 1 - (1 - p(x_i | D_-i))^n*.

    Parameters
    ----------
    original : (n, p) int
        Codes from 0.
    released : sequence of (n*, p) int
        Of any sizes.
    draws : Draws
        Given the original records; two chains or more.

    Returns
    -------
    DataFrame
        One row: measure, releases, mean, sd, se and baseline as `matching.over_releases` returns;
        baseline_mcse, from between chains; and baseline_sd, the standard deviation of the mean for
        releases from that model. NaN if no record is alone.
    """
    combinations, repetitions, _ = distinct(original)
    alone = combinations[repetitions == 1]
    shares, sizes = [], np.array([len(z) for z in released])
    for z in released:
        _, counts, inverse = distinct(np.vstack([alone, distinct(z)[0]]))
        shares.append(np.mean(counts[inverse[: len(alone)]] > 1) if len(alone) else np.nan)
    log_inverse_prob = [
        logsumexp(-cell_log_prob(draws, alone[first : first + _BLOCK]), axis=1)
        for first in range(0, len(alone), _BLOCK)
    ]

    def met(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        prob = np.exp(np.log(draws.n_draws) - log_inverse)
        return -np.expm1(sizes[:, None] * np.log1p(-prob))

    def expected(log_inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(met(log_inverse).mean())

    baseline = mcse = spread = np.nan
    if len(alone):
        chains = np.concatenate(log_inverse_prob, axis=1)
        value, error = between_chains(expected, [chains])
        of_each = met(logsumexp(chains, axis=0) - np.log(len(chains)))
        baseline, mcse = float(value), float(error)
        spread = float(np.sqrt((of_each * (1 - of_each)).sum()) / of_each.size)
    values = pd.DataFrame({"copies": shares})
    frame = matching.over_releases(values, pd.DataFrame({"copies": [baseline]}))
    return frame.assign(baseline_mcse=mcse, baseline_sd=spread)


# ------------------------------------------------------------------------------------ an example

EXAMPLE = """**The example** releases one simulated table of 500 records in three ways. *Independent
margins* draws each column by itself. *DPMPM* draws records from a mixture that was fitted to the
table. *Half copied* hands out half of the rows as they are, among such draws."""
_EXAMPLE_KEYS, _EXAMPLE_TARGET = ("SEX", "AGEP", "RACE1P", "MAR", "SCHL"), "HICOV"


def example(
    n_records: int, keys: Sequence[str], target: str, *, rng: np.random.Generator
) -> Submission:
    """Simulated records of the survey, and no release yet."""
    population = load("", n_records=n_records, rng=rng)
    notes = (f"No files were given: an example, {n_records} simulated records.",)
    wanted = target or _EXAMPLE_TARGET
    known = keys or [name for name in _EXAMPLE_KEYS if name != wanted]
    roles_of = roles(population.schema, known, wanted)
    return Submission(population.schema, population.codes, (), *roles_of, notes=notes)


def with_releases(submission: Submission, draws: Draws, *, rng: np.random.Generator) -> Submission:
    """The example's releases: independent margins, a draw from the model, and half of it copied."""
    records, levels, n = submission.original, submission.schema.n_levels, len(submission.original)
    independent = np.column_stack([rng.choice(column, n) for column in records.T])
    (chain,), (draw,) = dpmpm.spread_positions(draws, 1)
    modeled = dpmpm.synthesize(draws.pi[chain, draw], draws.phi[chain, draw], levels, n, rng)
    copied = np.where(rng.random((n, 1)) < 0.5, records, modeled)[rng.permutation(n)]
    names = ("independent margins", "DPMPM", "half copied")
    return replace(submission, released=(independent, modeled, copied), names=names)
