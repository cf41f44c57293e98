"""A release assessed from its files: what is read, the model-based risks, and a verdict in words.

The measures themselves are in `matching`, `utility` and `disclosure`. Here is what joins them
into one report: tables that are checked against each other, what the intruder is taken to know,
and sentences that set each number beside its baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from srlib import diagnostics, matching, utility
from srlib.disclosure import neighbourhood_ratios, predictive_ratio
from srlib.dpmpm import Draws, cell_log_prob
from srlib.mechanism import posterior
from srlib.microdata import distinct, load, read_table
from srlib.schema import Schema

Codes = NDArray[np.integer]

# Words of the verdict, a convention of this report. A share is above its baseline by more than
# both; far above where it is besides twice the baseline and this much more.
NOTABLE, ERRORS, FAR = 0.01, 2.0, 0.05
# pMSE over what sampling alone gives, in units of what a fresh sample of the population gives.
TOO_CLOSE, CLOSE, DISTANT = 0.25, 1.5, 5.0

# The regression behind pMSE has products of variables while there are this many records for each
# of its parameters, and no more than these; with fewer records its reference is too low.
RECORDS_A_PARAMETER, MOST_PARAMETERS = 5, 1_000

# What `read` takes, under the names of the notebook's parameters.
SETTINGS = (
    "original",
    "released",
    "schema",
    "keys",
    "target",
    "drop_missing",
    "ignore_columns",
    "partially_synthetic",
)

_BLOCK = 20_000  # combinations whose candidates are held at once
_JUDGED = 5_000  # combinations over which R-hat is computed


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
    partially_synthetic: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """All that was computed of a submission.

    Attributes
    ----------
    measures, lacking, matches : DataFrame
        As `matching.measures`, `matching.without_each_key` and `matching.match_risk` return; the
        last is None unless the releases are partially synthetic.
    margins, pmse, overlap : DataFrame
        As `utility.margins`, `utility.propensity` and `utility.interval_overlap` return.
    interactions : bool
        Whether the regression behind pMSE has products of variables.
    risks, chains : DataFrame
        As `model_risks` and `convergence` return.
    """

    measures: pd.DataFrame
    lacking: pd.DataFrame
    matches: pd.DataFrame | None
    margins: pd.DataFrame
    pmse: pd.DataFrame
    overlap: pd.DataFrame
    interactions: bool
    risks: pd.DataFrame
    chains: pd.DataFrame


def read(
    original: str | Path,
    released: Sequence[str | Path],
    schema: str | Path = "",
    keys: Sequence[str] = (),
    target: str = "",
    *,
    drop_missing: bool = False,
    ignore_columns: bool = False,
    partially_synthetic: bool = False,
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
    keys, target
        As `roles`.
    drop_missing, ignore_columns : bool
        See `microdata.read_table`; for all files.
    partially_synthetic : bool
        Whether row i of each release was made from row i of the original.

    Raises
    ------
    ValueError
        For the first that holds: no release; a file that does not exist, or that `read_table`
        refuses, or that has fewer than two records; `keys` or `target` as `roles` says; a
        partially synthetic release of another size than the original, or with dropped records.
    """
    if not released:
        raise ValueError("released is empty; it must name one file or more")
    for path in [original, *released, *([schema] if schema not in ("", "acs") else [])]:
        if not Path(path).is_file():
            raise ValueError(f"{str(path)!r}: there is no such file")
    if partially_synthetic and drop_missing:
        raise ValueError(
            "drop_missing is set together with partially_synthetic; rows of tables of which "
            "records are dropped do not correspond"
        )
    settings = {"drop_missing": drop_missing, "ignore_columns": ignore_columns}
    first = load(original, schema, rng=np.random.default_rng(), **settings)
    tables = [first, *(read_table(path, first.schema, **settings) for path in released)]
    for path, table in zip([original, *released], tables, strict=True):
        if len(table.codes) < 2:
            raise ValueError(f"{path}: the table has {len(table.codes)} record; it needs 2 or more")
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
        for path, table in zip([original, *released], tables, strict=True)
        for note in table.notes
    ]
    return Submission(
        schema=first.schema,
        original=first.codes,
        released=tuple(table.codes for table in tables[1:]),
        keys=keys_at,
        target=target_at,
        partially_synthetic=partially_synthetic,
        notes=(*of_files, *chosen),
    )


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


def assess(submission: Submission, draws: Draws, joined: Sequence[Draws]) -> Findings:
    """Compute everything that the report says.

    Parameters
    ----------
    submission : Submission
        What is assessed.
    draws : Draws
        Of the DPMPM, given the original records; two chains or more.
    joined : sequence of Draws
        Given the original joined with each release.
    """
    schema, original, released = submission.schema, submission.original, submission.released
    levels, names = schema.n_levels.tolist(), schema.names
    keys, target = submission.keys, submission.target
    labels = [variable.labels for variable in schema.variables]
    smallest = len(original) + min(len(z) for z in released)
    most = min(smallest / RECORDS_A_PARAMETER, MOST_PARAMETERS)
    interactions = utility.n_parameters(levels, True) <= most
    combinations, repetitions, _ = distinct(original)
    sets = {"the original": draws}
    sets |= {f"the original and release {i}": d for i, d in enumerate(joined, start=1)}
    return Findings(
        measures=matching.measures(original, released, levels, keys, target),
        lacking=matching.without_each_key(original, released, levels, keys, target, names),
        matches=matching.match_risk(original, released, levels, keys)
        if submission.partially_synthetic
        else None,
        margins=utility.margins(original, released, levels, names),
        pmse=utility.propensity(original, released, levels, interactions=interactions),
        overlap=utility.interval_overlap(original, released, labels, names, keys, target),
        interactions=interactions,
        risks=model_risks(draws, joined, combinations, repetitions, target),
        chains=convergence(sets, combinations),
    )


def exposed(submission: Submission, findings: Findings) -> pd.DataFrame:
    """Every original combination with what the report found of it. Confidential.

    Parameters
    ----------
    submission, findings
        As of `assess`.

    Returns
    -------
    DataFrame
        One row a distinct combination: record, the labels of its values; repU and DiSCO, in how
        many releases it counts as such; and the columns of `model_risks`. First those with the
        largest repU, then DiSCO, then probability.
    """
    combinations, _, inverse = distinct(submission.original)
    levels, of_keys = submission.schema.n_levels.tolist(), (submission.keys, submission.target)
    found = pd.DataFrame(0, index=inverse, columns=["repU", "DiSCO"])
    for released in submission.released:
        flags = matching.compare(submission.original, released, levels, *of_keys).flags
        found += flags[["repU", "DiSCO"]].to_numpy()
    labels = submission.schema.decode(combinations).astype(str)
    frame = findings.risks.copy()
    frame.insert(0, "record", labels.agg(", ".join, axis=1))
    for at, name in enumerate(found, start=1):  # records of one combination have the same flags
        frame.insert(at, name, found[name].groupby(level=0).max())
    order = ["repU", "DiSCO", "probability"]
    return frame.sort_values(order, ascending=False, kind="stable").reset_index(drop=True)


# ----------------------------------------------------------------------------- posterior risks


def model_risks(
    draws: Draws,
    joined: Sequence[Draws],
    combinations: Codes,
    repetitions: NDArray[np.integer],
    target: int,
) -> pd.DataFrame:
    """Risks under an intruder who knows all other records and takes the DPMPM for the generator.

    Two questions on each original combination, both answered by `disclosure.predictive_ratio`.
    The whole record: its candidates are the true combination and all that differ from it in one
    variable, with a uniform prior (Hu, Reiter and Wang 2014, section 3.1). The target alone: the
    rest of the record is known, and the prior is the model's prediction from the other records,
    so that the gain, posterior over prior, is what the release adds.

    Parameters
    ----------
    draws : Draws
        Given the original records; two chains or more.
    joined : sequence of Draws
        Given the original joined with each release; two chains or more each.
    combinations : (n_combinations, p) int
        Distinct original combinations.
    repetitions : (n_combinations,) int
        Records that have each.
    target : int
        Column of the target.

    Returns
    -------
    DataFrame
        One row a combination: repetitions; probability (of the whole true record), log_mcse and
        rank among support_size candidates; target_prior and target_probability (of the true
        target), log_gain, the logarithm of their ratio, and log_gain_mcse. Errors come from
        between chains.
    """
    start = 1 + int((draws.n_levels[:target] - 1).sum())
    of_target = [0, *range(start, start + int(draws.n_levels[target]) - 1)]
    frames = []
    for first in range(0, len(combinations), _BLOCK):
        some = combinations[first : first + _BLOCK]
        data, *others = (neighbourhood_ratios(d, some)[0] for d in (draws, *joined))
        risk = predictive_ratio(data, others)
        before, gain, error = _gain(data[..., of_target], [z[..., of_target] for z in others])
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
    return pd.concat(frames, ignore_index=True)


def _gain(
    data: NDArray[np.float64], joined: Sequence[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Log prior of the truth, log of posterior over prior, and the latter's error.

    The prior is p(x | D_-i), from the chains that the posterior has in its denominator m times:
    both are taken anew where a chain is left out.
    """

    def told(means: Sequence[NDArray[np.float64]]) -> tuple[NDArray[Any], NDArray[Any]]:
        before = posterior(means[0])[:, 0]
        total = reduce(np.add, means[1:]) - (len(joined) - 1) * means[0]
        return before, posterior(total)[:, 0] - before

    sets = [data, *joined]
    means = [logsumexp(chains, axis=0) - np.log(len(chains)) for chains in sets]
    variance = np.zeros(data.shape[1])
    for at, chains in enumerate(sets):
        left_out = []
        for keep in ~np.eye(len(chains), dtype=bool):
            mean = logsumexp(chains[keep], axis=0) - np.log(len(chains) - 1)
            left_out.append(told([*means[:at], mean, *means[at + 1 :]])[1])
        variance += (len(chains) - 1) * np.var(left_out, axis=0)
    return *told(means), np.sqrt(variance)


def convergence(sets: dict[str, Draws], combinations: Codes) -> pd.DataFrame:
    """Whether chains agree on what the risks are made of, the log probabilities of combinations.

    Parameters
    ----------
    sets : dict of str to Draws
        Draws by name.
    combinations : (n_combinations, p) int
        Where there are more than 5,000, R-hat is computed over 5,000 evenly spaced ones.

    Returns
    -------
    DataFrame
        One row a set: draws_given (its name), chains, draws (of each chain), r_hat_median,
        r_hat_95 (95th percentile) and r_hat_largest over the combinations, and apart, the share
        of them whose R-hat is above `diagnostics.MAX_R_HAT`.
    """
    every = np.linspace(0, len(combinations) - 1, min(len(combinations), _JUDGED)).astype(int)
    rows = []
    for name, draws in sets.items():
        r_hat = diagnostics.r_hat(cell_log_prob(draws, combinations[every]))
        rows.append(
            {
                "draws_given": name,
                "chains": draws.n_chains,
                "draws": draws.n_draws,
                "r_hat_median": np.median(r_hat),
                "r_hat_95": np.quantile(r_hat, 0.95),
                "r_hat_largest": r_hat.max(),
                "apart": np.mean(~(r_hat <= diagnostics.MAX_R_HAT)),
            }
        )
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------- verdict


def verdict(submission: Submission, findings: Findings) -> dict[str, str]:
    """The report in a few sentences, each number with direction, uncertainty and baseline.

    Nothing in it names a record.

    Returns
    -------
    dict of str to str
        Text by topic: overall, tables, identity, attributes, driver, matches (of partially
        synthetic releases), model, convergence and utility.
    """
    found = findings.measures.set_index("measure")
    words = {name: _word(found.loc[name]) for name in ("repU", "DiSCO")}
    model, learned = _of_model(submission, findings.risks)
    use, useful = _of_utility(submission, findings)
    texts = {
        "overall": f"{_of_words(words)} {learned} {useful}",
        "tables": _of_tables(submission),
        "identity": (
            f"{_share(found.loc['repU'])} of the original records are alone with their keys both "
            f"in the original and in a release (repU, higher is riskier). Keys drawn from their "
            f"margins would give {_percent(found.loc['repU', 'baseline'])}: {words['repU']}. No "
            f"more than {_percent(found.loc['UiO', 'mean'])} are alone with their keys in the "
            "original, and a match is not yet the person."
        ),
        "attributes": (
            f"For {_share(found.loc['DiSCO'])} of the original records all released ones with the "
            "same keys agree on one target, and it is the true one (DiSCO, higher is riskier). "
            f"Targets drawn from their margin would give "
            f"{_percent(found.loc['DiSCO', 'baseline'])}: {words['DiSCO']}. {_of_tcap(found)}"
        ),
        "driver": _of_driver(findings.lacking),
    }
    if findings.matches is not None:
        texts["matches"] = _of_matches(findings.matches, len(submission.original))
    return texts | {
        "model": model,
        "convergence": _of_chains(findings, len(submission.released)),
        "utility": use,
    }


def _percent(value: float) -> str:
    return "no value" if np.isnan(value) else f"{100 * value:.1f}\u00a0%"


def _share(row: pd.Series) -> str:
    """A mean share and its error between releases."""
    if np.isnan(row["se"]):
        return f"{_percent(row['mean'])} (one release, spread unknown)"
    return f"{_percent(row['mean'])} (standard error {100 * row['se']:.1f})"


def _word(row: pd.Series) -> str:
    """How a mean share stands to its baseline, beyond its error."""
    if np.isnan(row["mean"]) or np.isnan(row["baseline"]):
        return "not comparable"
    over = row["mean"] - row["baseline"]
    if abs(over) <= max(NOTABLE, ERRORS * np.nan_to_num(row["se"])):
        return "about the baseline"
    if over < 0:
        return "below the baseline"
    return "far above the baseline" if over > max(FAR, row["baseline"]) else "above the baseline"


def _of_words(words: dict[str, str]) -> str:
    parts = []
    for word in ("far above the baseline", "above the baseline"):
        if names := [name for name, own in words.items() if own == word]:
            parts.append(f"{' and '.join(names)} {word}")
    if not parts:
        return "No match-based risk is above what the margins alone would give."
    return f"Match-based risk: {', '.join(parts)}."


def _of_tables(submission: Submission) -> str:
    names, m = submission.schema.names, len(submission.released)
    sizes = [f"{len(z):,}" for z in submission.released]
    same = len(set(sizes)) == 1
    records = (
        f"{sizes[0]} records{' each' if m > 1 else ''}" if same else f"{', '.join(sizes)} records"
    )
    return (
        f"{m} release{'s' if m > 1 else ''} of {records}, made from {len(submission.original):,} "
        f"original ones. The intruder knows {', '.join(names[k] for k in submission.keys)} (keys) "
        f"and wants {names[submission.target]} (target)."
    )


def _of_tcap(found: pd.DataFrame) -> str:
    row = found.loc["TCAP"]
    if np.isnan(row["mean"]):
        return "TCAP has no value: no released record that an intruder could aim at is matched."
    return (
        f"Released records that an intruder could aim at are right with probability "
        f"{_share(row)} (TCAP, higher is riskier; baseline {_percent(row['baseline'])})."
    )


def _of_driver(lacking: pd.DataFrame) -> str:
    wide = lacking.pivot(index="left_out", columns="measure", values="mean")
    full, fewer = wide.loc[""], wide.drop("")
    sentences = []
    for name in ("repU", "DiSCO"):
        key = fewer[name].idxmin()
        if fewer.loc[key, name] < full[name]:
            sentences.append(
                f"{name} would fall most without {key}, from {_percent(full[name])} to "
                f"{_percent(fewer.loc[key, name])}."
            )
        else:
            sentences.append(f"{name} would not fall for an intruder who lacks any one key.")
    return " ".join(sentences)


def _of_matches(matches: pd.DataFrame, n: int) -> str:
    found = matches.set_index("measure")
    expected, true, false = (
        found.loc[name] for name in ("expected_match_risk", "true_match_rate", "false_match_rate")
    )
    error = "" if np.isnan(expected["se"]) else f" (standard error {expected['se']:.1f})"
    return (
        f"Of {n:,} records an intruder who picks at random among those with the right keys is "
        f"expected to match {expected['mean']:.1f}{error} to their own (higher is riskier; "
        f"{expected['baseline']:.1f} if rows were shuffled). {_share(true)} have one such record "
        f"and it is their own; of single ones {_share(false)} are another's (higher is safer)."
    )


def _of_model(submission: Submission, risks: pd.DataFrame) -> tuple[str, str]:
    """The sentences on the model-based risks, and the one for the overall verdict."""
    w = risks["repetitions"] / risks["repetitions"].sum()
    top = risks.loc[risks["probability"].idxmax()]
    size = int(top["support_size"])
    first = w[risks["rank"] == 1].sum()
    order = np.argsort(risks["log_gain"], kind="stable")
    reached = np.searchsorted(np.cumsum(w.iloc[order]), [0.5, 0.95])
    median, high = np.exp(risks["log_gain"].iloc[order].iloc[reached.clip(max=len(w) - 1)])
    sure = risks["log_gain"] - ERRORS * risks["log_gain_mcse"] > np.log(2)
    doubled = w[sure].sum()
    target = submission.schema.names[submission.target]
    text = (
        "For an intruder who knows all other records and takes the DPMPM for the generator, which "
        "is an assumption of this report, not a fact about the release: the true record is the "
        f"most probable of its {size} candidates for {_percent(first)} of the records (higher is "
        f"riskier; {_percent(1 / size)} if their order meant nothing). Its largest probability is "
        f"{top['probability']:.3f} (standard error {_percent(top['log_mcse'])} of it); before "
        f"the release it is {1 / size:.3f}. Where only {target} is unknown, the release multiplies "
        f"the probability of the true value by {median:.2f} for the median record and {high:.2f} "
        "at the 95th percentile (1 if it told nothing, higher is riskier); for "
        f"{_percent(doubled)} it more than doubles it, beyond twice the error. The standard error "
        f"of a record's factor is {_percent(risks['log_gain_mcse'].median())} of it (median)."
    )
    mean = np.exp((w * risks["log_gain"]).sum())
    return text, (
        "For an intruder who knows all other records and believes in the DPMPM it multiplies the "
        f"probability of the true {target} by {mean:.2f} on (geometric) average."
    )


def _of_utility(submission: Submission, findings: Findings) -> tuple[str, str]:
    """The sentences on utility, and the one for the overall verdict."""
    n = len(submission.original)
    fresh = np.mean([1 + len(z) / n for z in submission.released])
    ratio = findings.pmse.set_index("measure").loc["ratio"]
    overlap = findings.overlap
    terms = "levels and pairs of levels" if findings.interactions else "levels, without their pairs"
    error = "" if np.isnan(ratio["se"]) else f" (standard error {ratio['se']:.2f})"
    known = overlap["mean"].notna()
    shared = (
        f"Intervals of the {known.sum()} regression coefficients that can be compared overlap by "
        f"{overlap['mean'].mean():.2f} on average (1 is the best; sampling alone would give "
        f"{overlap['baseline'].mean():.2f})."
        if known.any()
        else "No coefficient of the regression can be compared."
    )
    text = (
        f"A regression on {terms} that tries to tell original from released records has a pMSE of "
        f"{ratio['mean']:.2f}{error} times what a correct model would (lower is more useful; 1 is "
        f"a correct model's, {fresh:.2f} a fresh sample's of the same population). {shared}"
    )
    if np.isnan(ratio["mean"]):
        return f"The tables are constant: pMSE has no reference. {shared}", "Utility is unknown."
    if ratio["mean"] < TOO_CLOSE:
        word = "closer to the original than fresh draws could be: look for copied records"
    elif ratio["mean"] <= CLOSE * fresh:
        word = "close to a correct model's"
    else:
        word = "limited" if ratio["mean"] <= DISTANT * fresh else "poor"
    return text, f"Utility is {word}."


def _of_chains(findings: Findings, m: int) -> str:
    chains, risks = findings.chains, findings.risks
    of_data, worst = chains.iloc[0], chains.loc[chains["r_hat_95"].idxmax()]
    error = risks["log_mcse"].median()
    text = (
        f"The model-based numbers come from {int(chains['chains'].sum())} Markov chains. The error "
        f"of those on the original enters {m} time{'s' if m > 1 else ''}, once for each release; "
        f"with it, and by the spread between chains, the standard error of a record's probability "
        f"is {_percent(error)} of it (median). R-hat of the combinations' log probabilities is "
        f"{of_data['r_hat_median']:.3f} (median, given the original); its 95th percentile in the "
        f"worst set of chains is {worst['r_hat_95']:.3f}."
    )
    if (chains["apart"] > 0.05).any():
        return (
            f"{text} That is NOT converged: R-hat is above {diagnostics.MAX_R_HAT} for "
            f"{_percent(chains['apart'].max())} of the combinations in that or another set. Read "
            "the model-based risks as rough, and run longer chains before they decide anything."
        )
    return f"{text} There is no sign that the chains disagree."
