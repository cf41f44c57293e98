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

from srlib import diagnostics
from srlib.disclosure import neighbourhood_ratios, predictive_ratio
from srlib.dpmpm import Draws, cell_log_prob
from srlib.mechanism import posterior
from srlib.microdata import load, read_table
from srlib.schema import Schema

Codes = NDArray[np.integer]

# Words of the verdict, a convention of this report. A share is above its baseline by more than
# both; far above where it is besides twice the baseline and this much more.
NOTABLE, ERRORS, FAR = 0.01, 2.0, 0.05
# pMSE over what sampling alone gives, in units of what a fresh sample of the population gives.
TOO_CLOSE, CLOSE, DISTANT = 0.25, 1.5, 5.0

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
    notes : tuple of str
        One sentence for all that was recognised, inferred, dropped or chosen.
    """

    schema: Schema
    original: Codes
    released: tuple[Codes, ...]
    keys: tuple[int, ...]
    target: int
    notes: tuple[str, ...]


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


def verdict(
    submission: Submission,
    measures: pd.DataFrame,
    lacking: pd.DataFrame,
    pmse: pd.DataFrame,
    overlap: pd.DataFrame,
    risks: pd.DataFrame,
    chains: pd.DataFrame,
    matches: pd.DataFrame | None = None,
) -> dict[str, str]:
    """The report in a few sentences, each number with direction, uncertainty and baseline.

    Nothing in it names a record.

    Parameters
    ----------
    submission : Submission
        What was assessed.
    measures, lacking : DataFrame
        As `matching.measures` and `matching.without_each_key` return.
    pmse, overlap : DataFrame
        As `utility.propensity` and `utility.interval_overlap` return.
    risks, chains : DataFrame
        As `model_risks` and `convergence` return.
    matches : DataFrame, optional
        As `matching.match_risk` returns, for partially synthetic releases.

    Returns
    -------
    dict of str to str
        Text by topic: overall, tables, identity, attributes, driver, matches (where given),
        model, convergence, utility.
    """
    found = measures.set_index("measure")
    words = {name: _word(found.loc[name]) for name in ("repU", "DiSCO", "TCAP")}
    model, gains = _of_model(submission, risks)
    use, useful = _of_utility(submission, pmse, overlap)
    texts = {
        "overall": f"{_of_words(words)} {gains} {useful}",
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
        "driver": _of_driver(lacking),
    }
    if matches is not None:
        texts["matches"] = _of_matches(matches, len(submission.original))
    return texts | {
        "model": model,
        "convergence": _of_chains(chains, risks, len(submission.released)),
        "utility": use,
    }


def _percent(value: float) -> str:
    return "no value" if np.isnan(value) else f"{100 * value:.1f} %"


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
        f"{top['probability']:.3f}, known to {_percent(top['log_mcse'])} of itself; before the "
        f"release it is {1 / size:.3f}. Where only {target} is unknown, the release multiplies the "
        f"probability of the true value by {median:.2f} for the median record and {high:.2f} at "
        f"the 95th percentile (1 if it told nothing, higher is riskier); for {_percent(doubled)} "
        "it more than doubles, beyond twice the error."
    )
    if doubled > NOTABLE or first > ERRORS / size + NOTABLE:
        return text, "The model-based intruder learns something of single records."
    return text, "The model-based intruder learns little of single records."


def _of_utility(
    submission: Submission, pmse: pd.DataFrame, overlap: pd.DataFrame
) -> tuple[str, str]:
    """The sentences on utility, and the one for the overall verdict."""
    n = len(submission.original)
    fresh = np.mean([1 + len(z) / n for z in submission.released])
    ratio = pmse.set_index("measure").loc["ratio"]
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
        f"A regression that tries to tell original from released records leaves a pMSE of "
        f"{ratio['mean']:.2f}{error} times what a correct model would (lower is more useful; 1 is "
        f"a correct model's, {fresh:.2f} a fresh sample's of the same population). {shared}"
    )
    if np.isnan(ratio["mean"]):
        return f"The tables are constant: pMSE has no reference. {shared}", "Utility is unknown."
    if ratio["mean"] < TOO_CLOSE:
        word = "closer to the original than fresh draws could be: look for copied records"
    elif ratio["mean"] <= CLOSE * fresh:
        word = "as good as a correct model's"
    else:
        word = "limited" if ratio["mean"] <= DISTANT * fresh else "poor"
    return text, f"Utility is {word}."


def _of_chains(chains: pd.DataFrame, risks: pd.DataFrame, m: int) -> str:
    of_data, worst = chains.iloc[0], chains.loc[chains["r_hat_95"].idxmax()]
    error = risks["log_mcse"].median()
    text = (
        f"The model-based numbers come from {int(chains['chains'].sum())} Markov chains. The error "
        f"of those on the original enters {m} time{'s' if m > 1 else ''}, once for each release; "
        f"with it, the median record's probability is known to {_percent(error)} of itself, by the "
        f"spread between chains. R-hat of log probabilities is {of_data['r_hat_median']:.3f} for "
        f"the median combination; its 95th percentile is {worst['r_hat_95']:.3f} in the worst set."
    )
    if (chains["apart"] > 0.05).any():
        return (
            f"{text} That is NOT converged (R-hat above {diagnostics.MAX_R_HAT} for "
            f"{_percent(chains['apart'].max())} of the combinations): read the model-based risks "
            "as rough, and run longer chains before they decide anything."
        )
    return f"{text} There is no sign that the chains disagree."
