"""What only the notebook on Hu, Reiter and Wang (2014) needs: its verdicts, examples and ledger.

Why this number and this limit is for the notebook to argue.
"""

import io
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from srlib import diagnostics, dpmpm, mechanism
from srlib.assessment import inference
from srlib.assessment.inference import AgainstSampling
from srlib.assessment.regression import Regression
from srlib.data.codes import Codes
from srlib.data.microdata import ACS
from srlib.data.schema import Microdata, Schema
from srlib.display import Shown, percent, show
from srlib.dpmpm import zeros
from srlib.ledger import printed
from srlib.papers.claims import (
    ERRORS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Verdict,
    at_most,
    of_intervals,
    of_share,
    share_above,
    span,
    with_error,
)
from srlib.papers.ledger import ledger
from srlib.risk.errors import log_mean
from srlib.risk.estimators import (
    Risk,
    collapsed_log_ratios,
    importance_sampling,
    neighborhood_log_ratios,
    predictive_ratio,
    release_log_prob,
    share_ranked,
)
from srlib.risk.repair import mean_with_error, who_carries
from srlib.risk.replicates import importance_evidence, over_sets, sets_of_releases
from srlib.risk.supports import changed_support, neighborhood, subset_support
from srlib.rng import stream

# Effective draws that know an average to about ten percent; where there are fewer than 400 draws,
# a quarter of them.
EFFECTIVE_DRAWS, EFFECTIVE_SHARE = 100, 0.25
# Pareto's k from which on importance sampling is of no use (Vehtari and others 2024).
LARGEST_K = 0.7
# The share of the draws that one direction of the parameters leaves effective, in the limit.
LOG_SHARE = float(np.log(np.sqrt(3) / 2) - 1 / 3)
OUTCOME, PREDICTORS = "DIS", ("SEX", "MIL", "MIG", "SCH", "RACE1P", "LANX")
"""Variables of the paper's regression, Table 2."""
_OF_COEFFICIENTS = [
    "term",
    "original",
    "original_se",
    "original_low",
    "original_high",
    "synthetic",
    "synthetic_se",
    "df",
    "adjusted",
    "low",
    "high",
    "overlap",
]
# Columns of the tables of combinations that stand beside the variables.
BESIDE = "repetitions estimator probability rank support_size log_mcse pareto_k"
DIAGNOSTICS = {
    "sd": "standard deviation",
    "mcse": "error of the mean",
    "ess_bulk": "effective draws",
    "ess_tail": "in the tails",
    "r_hat": "R-hat",
}
LEFT_OUT = "generating draws left out"
# Heading of the section that shows each claim.
SECTIONS = {
    "C1": "Is the release useful?",
    "C2": "Is the release useful?",
    "C3": "How high are the risks?",
    "C4": "How high are the risks?",
    "C5": "An intruder who lacks a few variables",
    "C6": "The paper's estimator",
    "C7": "Repair",
}
# What a synthesizer is fitted to where the riskiest records are repaired.
ARMS = (
    "all records, as released", "all records, released anew", "the riskiest dropped",
    "the riskiest down-weighted",
)  # fmt: skip
# Counts of a table of records, by what the notebook calls them.
COUNTS = {
    "combinations": "distinct_combinations",
    "once": "combinations_once",
    "twice": "combinations_twice",
    "three times": "combinations_three_times",
    "most frequent": "most_frequent_combination",
}
# Headings of tables, by their columns.
COUNTED = {
    "combinations": "distinct combinations",
    "once": "of one record",
    "twice": "of two",
    "three times": "of three",
    "most frequent": "records of the most frequent",
}
OF_PAIRS = {
    "variable_a": "variable",
    "variable_b": "and",
    "mean_absolute_difference": "mean difference of a cell",
    "maximum_absolute_difference": "largest difference",
}
OF_WEIGHTS = {
    "case": "draws that made the releases",
    "synthetic_set": "release",
    "draws": "draws",
    "ess": "effective draws",
    "largest_share": "largest share of the weight",
    "pareto_k": "Pareto's k",
}
# What the paper prints of its Figures 3 and 4: the largest probability (Table 3 has its digits),
# truths above .08, and truths among the first three candidates.
HEADINGS = {"largest": "largest", "above": "above .08", "first": "among the first three"}
PRINTED = {"largest": 0.190, "above": 16, "first": 31}


def keeps_pairs(off: AgainstSampling, limit: float = np.sqrt(2)) -> Verdict:
    """Say whether the releases keep the joint distributions of pairs of variables.

    Parameters
    ----------
    off : AgainstSampling
        As `inference.against_sampling` returns.
    limit : float
        For the ratio of a release's differences to those of another sample.
    """
    return Verdict(
        at_most(off.ratio, off.error, limit),
        f"In the mean over the releases a cell is off by {100 * off.difference:.2f} percentage "
        f"points on average. In a single release it is off by {100 * off.single:.2f}, which is "
        f"{off.ratio:.2f} ± {off.error:.2f} times as much as in another sample of the population; "
        f"the limit is {limit:.2f}.",
    )


def regression(schema: Schema, outcome: str, predictors: Sequence[str]) -> tuple[str, list[str]]:
    """Return outcome and predictors of the regression of Table 2, or empty ones for none.

    Parameters
    ----------
    schema : Schema
        Variables of the table.
    outcome, predictors : str, sequence of str
        Those asked for; where both are empty, the paper's, if the table has all of these.

    Raises
    ------
    ValueError
        If one is empty and the other is not, or as `Schema.positions`.
    """
    if outcome or predictors:
        schema.positions([outcome], "outcome")
        schema.positions(predictors, "predictors")
        return outcome, list(predictors)
    if {OUTCOME, *PREDICTORS} <= set(schema.names):
        return OUTCOME, list(PREDICTORS)
    return "", []


def pictured(schema: Schema, outcome: str, predictors: Sequence[str]) -> list[list[str]]:
    """Pairs for Figures 1 and 2: the paper's, or the outcome's, or the first variable's."""
    if schema == ACS:
        return [["WKL", "SCHL"], ["HISP", "RACE1P"]]
    first = outcome or schema.names[0]
    return [[first, other] for other in (predictors or schema.names[1:])[:2]]


def coefficients(
    fit: Callable[[Codes], Regression] | None, original: Codes, released: Sequence[Codes]
) -> tuple[pd.DataFrame, str]:
    """Compare one regression on original and releases, where that can be done.

    Parameters
    ----------
    fit : callable, optional
        Fits the regression to a table's codes; None where none was asked for.
    original, released : (n, p) int and sequence of (n*, p) int
        Codes from 0.

    Returns
    -------
    table : DataFrame
        As `inference.coefficients` returns; without rows where there is no regression.
    lacking : str
        Why there is none; empty where there is one.
    """
    nothing = pd.DataFrame(columns=_OF_COEFFICIENTS, dtype=float)
    if fit is None:
        return nothing, "No regression was asked for, and the table lacks variables of the paper's."
    try:
        return inference.coefficients(fit(original), [fit(z) for z in released]), ""
    except (ValueError, RuntimeError) as error:
        return nothing, f"The regression cannot be estimated: {error}."


def agrees_on_coefficients(table: pd.DataFrame, lacking: str = "") -> Verdict:
    """Say whether a regression on the releases agrees with the original one.

    Parameters
    ----------
    table, lacking
        As `coefficients` returns.
    """
    if not len(table):
        return Verdict(UNDECIDED, lacking)
    inside, total = int(table["original"].between(table["low"], table["high"]).sum()), len(table)
    return Verdict(
        of_intervals(inside, total),
        f"{inside} of {total} original estimates lie in the synthetic interval of 95 %. The mean "
        f"overlap of the two intervals is {table['overlap'].mean():.2f}.",
    )


def weights_suffice(table: pd.DataFrame) -> Verdict:
    """Say whether importance sampling can be relied on for every release.

    A posterior probability multiplies what all releases say, so the worst one decides. The
    error of Pareto's k is that of its maximum likelihood estimate, (1 + k) over the square root of
    the draws in the tail.

    Parameters
    ----------
    table : DataFrame
        As `diagnostics.importance_summary` returns: draws, ess and pareto_k, a row a release; k
        is NaN where the weights have no tail that could be fitted.

    Returns
    -------
    Verdict
        `HOLDS` where every release leaves enough effective draws and a k of at most 0.7, `FAILS`
        where one leaves too few or a k above that by more than two errors, else `UNDECIDED`.
    """
    draws, ess = int(table["draws"].min()), float(table["ess"].min())
    needed = min(EFFECTIVE_DRAWS, EFFECTIVE_SHARE * draws)
    k = float(table["pareto_k"].max())
    # diagnostics.pareto_k fits as many of the largest weights.
    tail = np.ceil(min(draws / 5, 3 * np.sqrt(draws)))
    error = max(1 + k, 0.0) / np.sqrt(tail) if np.isfinite(k) else 0.0
    if ess < needed or k - ERRORS * error > LARGEST_K:
        word = FAILS
    else:
        word = UNDECIDED if k > LARGEST_K else HOLDS
    of_k = f"{k:.2f} ± {error:.2f}" if np.isfinite(k) else "infinite" if k > 0 else "not defined"
    return Verdict(
        word,
        f"In the worst release {ess:,.1f} of {draws:,} draws are effective, and {needed:g} are "
        f"needed. The largest Pareto $k$ is {of_k}, and the limit is {LARGEST_K}.",
    )


def rarely_first(log_ratios: Sequence[NDArray[np.float64]], first: int = 3) -> Verdict:
    """Say whether the truth is among the first candidates less often than in a random order.

    Parameters
    ----------
    log_ratios
        As of `risk.predictive_ratio`.
    first : int
        How many candidates count as the first.
    """
    n, size = log_ratios[0].shape[1:]
    share, mcse = share_ranked(log_ratios, first)
    by_chance = min(first / size, 1.0)
    of_chance = np.sqrt(by_chance * (1 - by_chance) / n)
    return Verdict(
        at_most(share, float(np.hypot(mcse, of_chance)), by_chance),
        f"The truth is among the first {first} of {size} candidates for {100 * share:.1f} ± "
        f"{percent(mcse, 1)} of {n:,} combinations. A random order would put it there for "
        f"{100 * by_chance:.1f} ± {percent(of_chance, 1)}.",
    )


def near_prior(risk: Risk, factor: float = 2.0) -> Verdict:
    """Say whether most probabilities of the truth are within a factor of the uniform prior.

    Parameters
    ----------
    risk : Risk
        Under a uniform prior.
    factor : float
        Above 1.
    """
    apart = np.abs(risk.log_prob[:, 0] + np.log(risk.support_size))
    low, high = share_above(-apart, risk.log_mcse[:, 0], -np.log(factor))
    top = risk.probability.argmax()
    largest, error = risk.probability[top], risk.log_mcse[top, 0]
    return Verdict(
        of_share(low, high, most=0.5),
        f"{span(low, high)} of the probabilities are within a factor of {factor:g} of the prior, "
        f"1/{risk.support_size}, give or take two standard errors. The largest is {largest:.3f} ± "
        f"{largest * error:.3f}, {largest * risk.support_size:.1f} times the prior.",
    )


def more_from_part(part: pd.DataFrame, whole: pd.DataFrame) -> Verdict:
    """Say whether a release tells more of a part of a record than of the whole of it.

    Parameters
    ----------
    part, whole : DataFrame
        Of the same records: probability of the truth under a uniform prior, log_mcse and
        support_size.
    """
    over_part, over_whole = (t["probability"] * t["support_size"] for t in (part, whole))
    more = np.log(over_part.to_numpy() / over_whole.to_numpy())
    error = np.hypot(part["log_mcse"].to_numpy(), whole["log_mcse"].to_numpy())
    n_more, n_less = ((sign * more > ERRORS * error).sum() for sign in (1, -1))
    largest = [
        f"{ratio.max():.1f} ± {ratio.max() * t['log_mcse'].to_numpy()[ratio.argmax()]:.1f}"
        for t, ratio in ((part, over_part.to_numpy()), (whole, over_whole.to_numpy()))
    ]
    return Verdict(
        of_share(*share_above(more, error)),
        "Compared with the whole record, the release multiplies the prior of the part by more for "
        f"{n_more} of {len(more)} records and by less for {n_less}, beyond two standard errors. "
        f"The largest factor is {largest[0]}, against {largest[1]} for a whole record.",
    )


def lower_without(found: pd.DataFrame) -> Verdict:
    """Say whether leaving the riskiest records out of the fit lowers what a release says of them.

    A release says nothing of a record left out to an intruder who knows that it is. So leaving out
    takes away the log gain of releases of all records. Where it does and the mean log gain of the
    others rises, by two errors each, it depends on the record.

    Parameters
    ----------
    found : DataFrame
        As `repairs` returns.
    """

    def change(arm: str, of: str, since: str = ARMS[1]) -> tuple[float, float]:
        error = np.hypot(found.loc[arm, f"{of}_se"], found.loc[since, f"{of}_se"])
        return float(found.loc[arm, of] - found.loc[since, of]), float(error)

    def said(arm: str, of: str) -> str:
        return "{:+.3f} ± {:.3f}".format(*change(arm, of))

    as_released, anew, dropped, weighted = ARMS
    chosen, of_chosen = change(anew, "riskiest", as_released)
    apart = "" if abs(chosen) > ERRORS * of_chosen else ", which is within two errors of nothing"
    gain, of_gain = found.loc[anew, "riskiest"], found.loc[anew, "riskiest_se"]
    word = at_most(-gain, of_gain, 0.0)
    rise, of_rise = change(dropped, "others")
    return Verdict(
        "depends on the record" if word == HOLDS and rise > ERRORS * of_rise else word,
        "An intruder who knows which records were dropped learns nothing of them: the mean log "
        f"gain of one release changes by {-gain:+.3f} ± {of_gain:.3f} for the riskiest, from that "
        "of releases made anew from all records to zero. For an intruder who does not know, "
        f"dropping changes it by {said(dropped, 'riskiest')} for the riskiest and by "
        f"{said(dropped, 'others')} for all others, of whom {percent(found.loc[dropped, 'rise'])} "
        f"rise by more than two errors; down-weighting changes it by {said(weighted, 'riskiest')} "
        f"and {said(weighted, 'others')}. That the riskiest were chosen by the first releases "
        f"alone makes {chosen:+.3f} ± {of_chosen:.3f}{apart}. The differences of a release from "
        f"the data change by {said(dropped, 'off')} and {said(weighted, 'off')} of what sampling "
        "makes.",
    )


# ------------------------------------------------------------------------------- data and examples


def named(table: Microdata, names: Collection[str]) -> Microdata:
    """Keep some variables of a table, in the table's order.

    Parameters
    ----------
    table : Microdata
        Records.
    names : collection of str
        Variables to keep; others than the table's are ignored.
    """
    at = [i for i, name in enumerate(table.schema.names) if name in names]
    schema = Schema(tuple(table.schema.variables[i] for i in at))
    note = f"{len(at)} of the {len(table.schema.names)} variables are used."
    return replace(table, codes=table.codes[:, at], schema=schema, notes=(*table.notes, note))


def codebook(schema: Schema) -> pd.DataFrame:
    """Table of the variables, what they are and what their levels mean, as the paper's Table 1."""
    rows = [
        (
            variable.name,
            variable.title,
            "; ".join(
                label if label == level else f"{level} = {label}"
                for level, label in zip(variable.levels, variable.labels, strict=True)
            ),
        )
        for variable in schema.variables
    ]
    return pd.DataFrame(rows, columns=["variable", "what it is", "levels"])


def in_words(schema: Schema, codes: NDArray[np.integer]) -> list[str]:
    """Return records as text: what each variable is, and its label.

    Parameters
    ----------
    schema : Schema
        What the codes stand for.
    codes : (n, n_variables) int
        Records, coded from 0.
    """
    return [
        "; ".join(
            f"{variable.title}: {variable.labels[level]}"
            for variable, level in zip(schema.variables, row, strict=True)
        )
        for row in np.atleast_2d(codes).tolist()
    ]


def titles(schema: Schema) -> dict[str, str]:
    """Return what each variable is, by its name."""
    return {variable.name: variable.title for variable in schema.variables}


def labels_of(schema: Schema, record: NDArray[np.integer]) -> list[str]:
    """Return a record's values in words, one for each variable."""
    return [v.labels[level] for v, level in zip(schema.variables, record.tolist(), strict=True)]


def card(
    schema: Schema, record: NDArray[np.integer], risk: Risk, at: int, unknown: Sequence[int] = ()
) -> Shown:
    """Show a record in words, under a caption with the probability of the truth and the prior.

    Parameters
    ----------
    schema : Schema
        What the codes stand for.
    record : (n_variables,) int
        The record.
    risk, at : Risk, int
        Where its risk stands; the prior is uniform.
    unknown : sequence of int
        Variables that the intruder lacks, shown first; none where the whole record is in doubt.
    """
    order = [*unknown, *np.delete(np.arange(len(record)), list(unknown))]
    frame = pd.DataFrame(
        {"variable": list(titles(schema).values()), "value": labels_of(schema, record)}
    ).iloc[order]
    if len(unknown):
        frame["to the intruder"] = ["unknown" if k in unknown else "known" for k in order]
    p, size = risk.probability[at], risk.support_size
    return show(
        frame,
        caption=f"The most exposed {'part of a ' if len(unknown) else ''}record, in words: the "
        f"truth has probability {p:.3f} ± {p * risk.log_mcse[at, 0]:.3f} and rank "
        f"{risk.rank[at]:g}; the prior is 1/{size}, or {1 / size:.3f}.",
    )


def values_of_part(
    schema: Schema,
    record: NDArray[np.integer],
    unknown: Sequence[int],
    risk: Risk,
    at: int,
    most: int = 12,
) -> pd.DataFrame:
    """Tabulate the most probable values of a record's unknown part, for `charts.subset_risk`.

    Parameters
    ----------
    schema, record, unknown
        As of `card`.
    risk, at : Risk, int
        Over the candidates of `risk.subset_support`, the truth first.
    most : int
        Values at most; the truth is one of them.
    """
    support = subset_support(record, unknown, schema.n_levels)[:, list(unknown)]
    probability = np.exp(risk.log_prob[at])
    chosen = np.argsort(-probability, kind="stable")[:most]
    if 0 not in chosen:
        chosen[-1] = 0
    labels = [schema.variables[k].labels for k in unknown]
    middle = (len(labels) + 1) // 2  # the others stand on a line of their own
    words = [[of[c] for of, c in zip(labels, row, strict=True)] for row in support[chosen]]
    value = [",\n".join(", ".join(w) for w in (row[:middle], row[middle:]) if w) for row in words]
    return pd.DataFrame({"value": value, "probability": probability[chosen], "truth": chosen == 0})


def coefficients_in_words(table: pd.DataFrame, called: Mapping[str, str]) -> pd.DataFrame:
    """Return the table of `coefficients` for readers, with errors behind their estimates.

    Parameters
    ----------
    table : DataFrame
        As `coefficients` returns.
    called : mapping of str to str
        What each variable is, as `titles` returns.
    """
    rows = [
        {
            "coefficient of": called.get(row["term"], row["term"].lower()),
            "original": f"{row['original']:.3f} ± {row['original_se']:.3f}",
            "releases": row["synthetic"],
            "their 95 % interval": f"{row['low']:.3f} to {row['high']:.3f}",
            "variance adjusted": bool(row["adjusted"]),
            "overlap": row["overlap"],
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame(rows)


def smallest_example(d: int, n: int = 200, *, rng: np.random.Generator) -> dict[str, float]:
    """Compare both estimators with the closed form, on d independent binary variables.

    Parameters
    ----------
    d, n : int
        Variables and records.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    dict of str to float
        One row of a table; errors are the largest, of log posterior probabilities.
    """
    yes_no, settings = np.full(d, 2), dpmpm.Chains(n_classes=1, burn_in=0, n_draws=250)
    codes = rng.integers(0, 2, (n, d))
    made_by, given_data = (
        dpmpm.sample_posterior(codes, yes_no, settings, rng=rng) for _ in range(2)
    )
    release = dpmpm.synthesize(made_by.pi[0, 0], made_by.phi[0, 0], yes_no, n, rng=rng)
    given_both = dpmpm.sample_posterior(np.vstack([codes, release]), yes_no, settings, rng=rng)
    weights = release_log_prob(given_data, [release])
    weighted = neighborhood_log_ratios(given_data, codes[:1], weights)
    plain = neighborhood_log_ratios(given_data, codes[:1])
    joined = neighborhood_log_ratios(given_both, codes[:1])
    c, z = (codes[1:] == codes[0]).sum(axis=0), (release == codes[0]).sum(axis=0)
    flipped = np.log1p((n - z) / (n - c)) - np.log1p(z / (1 + c))
    exact = mechanism.posterior(np.append(0.0, flipped))
    by_importance = importance_sampling(weighted, plain).log_prob
    by_prediction = predictive_ratio([plain[0], joined[0]]).log_prob
    return {
        "variables": d,
        "effective draws of 1,000": float(diagnostics.importance_ess(weights.ravel())),
        "by the formula": 1000 * np.exp(d * LOG_SHARE),
        "error, importance sampling": np.abs(by_importance - exact).max(),
        "error, predictive ratio": np.abs(by_prediction - exact).max(),
    }


def impossible_children(
    n_released: int = 4, n_draws: int = 2000, n_batches: int = 6, *, rng: np.random.Generator
) -> pd.DataFrame:
    """Compute what structural zeros do to the risk, on a table of twelve cells.

    Age (0-14, 15-44, 45 and over), marital status (never married, married or before) and
    disability (no, yes); no child is married, so that two cells are impossible. Eight records; the
    synthesizer is the DPMPM with four classes, its prior replaced by draws from it, the same ones
    for all data sets. For that prior the table is exact; what the draws decide shows between
    batches of them.

    Parameters
    ----------
    n_released : int
        Records of a release.
    n_draws, n_batches : int
        Draws from the prior in each batch, and batches.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    DataFrame
        A row for each synthesizer and intruder: means over the records of the prior, of the
        expected posterior probability of the truth and of the expected log gain, with the gain's
        standard error from between batches; and the chance that a release has an impossible record.
    """
    levels = np.array([3, 2, 2])
    cells = np.indices((3, 2, 2)).reshape(3, -1).T
    possible = (cells[:, 0] > 0) | (cells[:, 1] == 0)
    data = np.zeros(len(cells), np.int64)
    data[[0, 1, 4, 6, 8, 10, 11]] = [2, 1, 1, 1, 1, 1, 1]
    every = np.ones_like(possible)
    cases = {
        ("all cells", "all"): (False, every),
        ("all cells", "those that can occur"): (False, possible),
        ("cells that can occur", "those that can occur"): (True, possible),
    }
    rows = []
    for batch in rng.spawn(n_batches):
        draws = zeros.prior_cells(levels.tolist(), 4, n_draws, rng=batch)
        for case, (truncated, allowed) in cases.items():
            of_case = zeros.truncate(draws, possible) if truncated else draws
            told = zeros.expected_risk(of_case, data, cells, levels, allowed, n_released)
            of_record = data[data > 0]
            means = {k: float(np.average(v, weights=of_record)) for k, v in told.items()}
            means["impossible record"] = zeros.impossible_share(of_case, data, possible, n_released)
            rows.append(dict(zip(("synthesizer", "candidates"), case, strict=True)) | means)
    of_case = pd.DataFrame(rows).groupby(["synthesizer", "candidates"], sort=False)
    found = of_case.mean()
    found.insert(3, "its error", of_case["expected log gain"].sem())
    return found.reset_index()


# ---------------------------------------------------------- how printed numbers may have come about


def shipped_sets() -> pd.DataFrame:
    """Three numbers for sets of five releases of 10,000 records, by `tools/release_sets.py`.

    Returns
    -------
    DataFrame
        One row an estimator and set: estimator, releases (their numbers), largest, above, first.
    """
    file = resources.files(__package__) / "hu_reiter_wang_releases.txt"
    return pd.read_csv(io.StringIO(file.read_text(encoding="utf-8")), comment="#")


def explanations(sets: pd.DataFrame, printed_numbers: Mapping[str, float]) -> pd.DataFrame:
    """Compare explanations of three printed numbers by how probable each makes them.

    Parameters
    ----------
    sets : DataFrame
        estimator, releases, and a column for each printed number, as `shipped_sets` returns.
    printed_numbers : mapping of str to float
        By column, such as `PRINTED`.

    Returns
    -------
    DataFrame
        One row an explanation: of each number the median and the range of 95 % of the sets; and
        log10 likelihood of the printed numbers together, with its standard error from leaving out
        one release at a time. For that the logarithm of the largest probability and the square
        roots of the counts are taken as jointly normal over sets.
    """
    rows = []
    for name, of_estimator in sets.groupby("estimator", sort=False):
        row: dict[str, object] = {"explanation": name}
        for number in printed_numbers:
            low, middle, high = of_estimator[number].quantile([0.025, 0.5, 0.975])
            digits = 3 if of_estimator[number].dtype.kind == "f" else 0
            # Probabilities as the paper writes them, such as .190.
            shown = [
                f"{value:.{digits}f}".removeprefix("0") or "0" for value in (middle, low, high)
            ]
            row[HEADINGS[number]] = f"{shown[0]} ({shown[1]} to {shown[2]})"
        row["log10 likelihood"] = _log10_likelihood(of_estimator, printed_numbers)
        row["its error"] = _leaving_out_a_release(of_estimator, printed_numbers)
        rows.append(row)
    return pd.DataFrame(rows)


def most_likely(told: pd.DataFrame) -> str:
    """Say in words which explanation makes the printed numbers most probable, and by how much.

    Parameters
    ----------
    told : DataFrame
        As `explanations` returns, two rows or more.
    """
    ordered = told.sort_values("log10 likelihood", ascending=False, kind="stable")
    best, others = ordered.iloc[0], ordered.iloc[1:]
    parts = []
    for row in others.to_dict("records"):
        more = best["log10 likelihood"] - row["log10 likelihood"]
        error = float(np.hypot(best["its error"], row["its error"]))
        apart = "" if more > ERRORS * error else ", a difference within two errors"
        parts.append(f"{more:.1f} ± {error:.1f} more than *{row['explanation']}*{apart}")
    return (
        f"Together they are most probable under *{best['explanation']}*: in powers of ten by "
        + "; by ".join(parts)
        + "."
    )


def _steady(frame: pd.DataFrame | Mapping[str, float]) -> NDArray[np.float64]:
    """Transform the three numbers so that their spread hardly depends on their size."""
    return np.stack(
        [np.log(frame["largest"]), np.sqrt(frame["above"]), np.sqrt(frame["first"])], axis=-1
    )


def _log10_likelihood(sets: pd.DataFrame, printed_numbers: Mapping[str, float]) -> float:
    """Log10 density of the printed numbers, transformed, under a normal fitted to the sets."""
    values = _steady(sets)
    covariance = np.cov(values.T) + 1e-4 * np.eye(3)  # a count may be the same in all sets
    density = stats.multivariate_normal(values.mean(axis=0), covariance)
    return float(density.logpdf(_steady(printed_numbers)) / np.log(10))


def _leaving_out_a_release(sets: pd.DataFrame, printed_numbers: Mapping[str, float]) -> float:
    """Jackknife error of `_log10_likelihood` over the releases that make the sets."""
    members = sets["releases"].str.split().map(set)
    releases = sorted(set().union(*members))
    left_out = [
        _log10_likelihood(sets[[release not in of for of in members]], printed_numbers)
        for release in releases
    ]
    return float(np.sqrt((len(releases) - 1) * np.var(left_out)))


# ------------------------------------------------------------------------------------------ ledger


def _numbers() -> pd.Series:
    """The paper's printed numbers by id."""
    return printed("hu_reiter_wang").set_index("id")["printed"].astype(float)


def of_design() -> dict[str, float]:
    """Numbers that follow from the paper's Table 1 and from other digits by arithmetic, by id."""
    example = changed_support([0, 0, 0], 1, np.array([3, 5, 2]))
    candidates = neighborhood(np.zeros((1, len(ACS.names)), int), ACS.n_levels).shape[1]
    unknown = ACS.positions(["WKL", "DIS", "HICOV", "MIG"], "unknown")
    return {
        "example_support_size": len(example),
        "n_variables": len(ACS.names),
        "n_cells": ACS.n_cells,
        "support_size": candidates,
        "other_candidates": candidates - 1,
        "subset_size": int(ACS.n_levels[unknown].prod()),
        "prior_odds_ratio_11111213121111": 0.0585 / 0.0398,
    }


def checks_within() -> dict[str, tuple[float, str]]:
    """What other numbers of the paper say of those that need its data, by id, with the check.

    A check that gives a range says the value within it that is nearest to the printed one.
    """
    number = _numbers()
    once, twice, three = (number[f"combinations_{k}"] for k in ("once", "twice", "three_times"))
    most, total = number["most_frequent_combination"], number["n_records"]
    others = total - once - 2 * twice - 3 * three  # records of combinations of four and more
    of_more = number["distinct_combinations"] - once - twice - three
    few, many = once + twice + three + np.ceil(others / most), once + twice + three + others // 4
    checks = {
        "distinct_combinations": (
            np.clip(number["distinct_combinations"], few, many),
            f"{others:,.0f} records are left for combinations of 4 to {most:.0f} records, so that "
            f"there are {few:,.0f} to {many:,.0f} combinations",
        ),
        "most_frequent_combination": (
            max(most, np.ceil(others / of_more)),
            f"{of_more:.0f} combinations share {others:,.0f} records, {others / of_more:.0f} each "
            "on average",
        ),
    }
    for term in ("intercept", "sex", "mil", "mig", "sch", "race1p", "lanx"):
        low, high = number[f"table2_{term}_low"], number[f"table2_{term}_high"]
        center = (low + high) / 2, "center of the printed interval"
        checks[f"table2_{term}_synthetic"] = center
    ranks, probabilities = (
        number.filter(regex=f"^table3_{column}_") for column in ("rank", "probability")
    )
    at_least = int((probabilities > 0.08).sum())
    checks |= {
        "figure3_rank_1": (int((ranks == 1).sum()), "rows of rank 1 in Table 3"),
        "figure3_rank_1_to_3": (len(ranks), "rows of Table 3"),
        "figure4_largest": (probabilities.max(), "largest probability of Table 3"),
        "figure4_above_008": (
            max(number["figure4_above_008"], at_least),
            f"at least {at_least}, which Table 3 has",
        ),
    }
    for name in number.index[number.index.str.contains("_probability_")]:
        rank = number[name.replace("probability", "rank")]
        size = number["subset_size" if name.startswith("subset") else "support_size"]
        low = 1 / size if rank == 1 else 0.0
        checks[name] = (
            np.clip(number[name], low, 1 / rank),
            f"rank {rank:.0f} of {size:.0f} allows {low:.3f} to {1 / rank:.3f}",
        )
    place = "11111213121111"
    largest, of_truth = (number[f"prior_odds_{k}_{place}"] for k in ("largest", "probability"))
    most_left = 1 - 9 * of_truth
    checks[f"prior_odds_largest_{place}"] = (
        np.clip(largest, of_truth, most_left),
        f"nine candidates with more than the truth's {of_truth:g} leave {most_left:.3f} at most",
    )
    return {name: (float(value), check) for name, (value, check) in checks.items()}


def of_single(
    schema: Schema,
    combinations: NDArray[np.integer],
    repetitions: ArrayLike,
    risk: Risk,
    chosen: Sequence[int],
    of_part: Risk,
) -> dict[str, float]:
    """A run's numbers of the single combinations that the paper prints, by id.

    Parameters
    ----------
    schema : Schema
        Only a survey of all 14 variables has combinations of the paper's.
    combinations, repetitions, risk
        Distinct combinations, how often they occur, and their risk.
    chosen, of_part
        Positions of combinations, and their risk where only the paper's four variables are in
        doubt.
    """
    if schema != ACS:
        return {}
    found, ids = {}, set(_numbers().index)
    times, largest = np.asarray(repetitions), np.exp(risk.log_prob.max(axis=1))
    for i, row in enumerate(np.asarray(combinations) + 1):
        digits = "".join(map(str, row))
        found[f"table3_repetitions_{digits}"] = float(times[i])
        found[f"prior_odds_largest_{digits}"] = float(largest[i])
        for place in ("table3", "prior_odds"):
            found[f"{place}_probability_{digits}"] = float(risk.probability[i])
            found[f"{place}_rank_{digits}"] = float(risk.rank[i])
        if i in chosen:
            at = list(chosen).index(i)
            found[f"subset_probability_{digits}"] = float(of_part.probability[at])
            found[f"subset_rank_{digits}"] = float(of_part.rank[at])
    return {name: value for name, value in found.items() if name in ids}


def book(
    settings: Mapping[str, float],
    counts: Mapping[str, float],
    coefficients: pd.DataFrame,
    single: Mapping[str, float],
    *,
    same_file: bool,
) -> pd.DataFrame:
    """Set a run's numbers beside the printed ones.

    Parameters
    ----------
    settings : mapping of str to float
        The run's choices by id.
    counts : mapping of str to float
        How many combinations there are and how often they occur, by the keys of `COUNTS`.
    coefficients : DataFrame
        As `inference.coefficients` returns.
    single : mapping of str to float
        As `of_single` returns.
    same_file : bool
        Whether the run has 10,000 records of the file that the paper's were taken from. Then what
        a sample determines is judged: two samples differ by chance, counts by about the square
        root of twice the count, coefficients by their standard errors times that of two; four of
        these are allowed.

    Returns
    -------
    DataFrame
        As `ledger` returns.
    """
    computed = of_design() | dict(single)
    tolerances: dict[str, float] = {}
    judged = set(of_design())
    if same_file:
        sampled = {name: float(counts[key]) for key, name in COUNTS.items()}
        computed |= sampled
        tolerances |= {name: 4 * np.sqrt(2 * count) for name, count in sampled.items()}
        for row in coefficients.to_dict("records"):
            name = f"table2_{row['term'].lower()}_original"
            if name in _numbers():
                computed[name] = row["original"]
                tolerances[name] = 4 * np.sqrt(2) * row["original_se"]
        judged |= set(tolerances)
    notes = dict.fromkeys(tolerances, "section What did not reproduce, and why")
    notes["prior_odds_ratio_11111213121111"] = "1.470, cut and not rounded"

    def skip(name: str) -> str | None:
        return None if name in judged else "belongs to the paper's own sample and release"

    checks = checks_within()
    return ledger(
        "hu_reiter_wang",
        computed,
        skip=skip,
        settings=settings,
        consistent=checks,
        notes=notes,
        tolerances=tolerances,
    )


def shortest_intervals() -> tuple[float, NDArray[np.float64]]:
    """How short an interval of the combining rules can be, and what Table 2's would then need.

    Returns
    -------
    shortest : float
        Least half-width for m = 5 and a positive variance, t quantiles, in units of the root of
        the mean squared standard error.
    largest_se : (7,) float64
        Largest standard errors of the coefficients for which Table 2's intervals could be so.
    """
    ratio = np.linspace(1.001, 60, 100_000)  # (1 + 1/m) b over the mean squared standard error
    quantile = stats.t.ppf(0.975, 4 * (1 - 1 / ratio) ** 2)
    shortest = float((quantile * np.sqrt(ratio - 1)).min())
    limits = _numbers().filter(regex="table2.*(low|high)").to_numpy().reshape(-1, 2)
    return shortest, limits @ [-0.5, 0.5] / shortest


def of_table_2(largest_se: NDArray[np.float64]) -> pd.DataFrame:
    """Return what `shortest_intervals` says of the standard errors, a row a coefficient."""
    called = titles(ACS)
    names = ["intercept", *(called[name] for name in PREDICTORS)]
    return pd.DataFrame({"coefficient of": names, "standard error, at most": largest_se})


def weights_of(
    combination_of: NDArray[np.integer],
    chosen: NDArray[np.integer],
    powers: NDArray[np.floating],
) -> NDArray[np.float64]:
    """Return the records' weights, (n,): one, but those given of the combinations chosen.

    Parameters
    ----------
    combination_of : (n,) int
        The combination that each record has.
    chosen : (k,) int
        Combinations.
    powers : (k,) float
        Their records' weights.
    """
    of_combination = np.ones(combination_of.max() + 1)
    of_combination[chosen] = powers
    return of_combination[combination_of]


def repairs(
    arms: Mapping[str, tuple[Sequence[NDArray[np.float64]], AgainstSampling]],
    of_data: NDArray[np.float64],
    riskiest: NDArray[np.integer],
    next_in_line: NDArray[np.integer],
    threshold: float,
) -> pd.DataFrame:
    """Compare the risks of all combinations by what their synthesizer was fitted to.

    The intruder believes in each case that all records count alike.

    Parameters
    ----------
    arms : mapping of str to (sequence of (n_chains, n, support_size) float, AgainstSampling)
        By `ARMS`; of each arm's releases the log mean ratios over draws given the data joined with
        each, and their differences from the data.
    of_data : (n_chains, n, support_size) float
        Log mean ratios over draws given the data.
    riskiest, next_in_line : (k,) int
        Combinations that were chosen for their risk, and those that come next.
    threshold : float
        Probability above which truths are counted.

    Returns
    -------
    DataFrame
        Indexed by arm: riskiest, next and others, mean log gains (posterior over prior of the
        truth) that a single release makes, and their standard errors from between the releases
        (_se); rise and fall, shares of the others whose log gain differs from that of the releases
        anew by more than two errors; with all releases together largest, the largest probability
        of a truth, above_riskiest and above_others, the numbers above the threshold; off, what a
        release is off by against sampling, and off_se.
    """
    before, gains, together = log_mean(of_data), {}, {}
    for name, (joined, _) in arms.items():
        told = np.array([log_mean(of_release) - before for of_release in joined])
        gains[name] = mechanism.posterior(told)[:, :, 0] + np.log(told.shape[2])
        together[name] = np.exp(mechanism.posterior(told.sum(axis=0))[:, 0])
    chosen = np.isin(np.arange(len(before)), riskiest)
    rows = {}
    for name, (_, off) in arms.items():
        moved = who_carries(gains[ARMS[1]], gains[name], chosen, np.log(2)).loc["others"]
        groups = {"riskiest": chosen, "next": next_in_line, "others": ~chosen}
        rows[name] = {
            **{
                key: value
                for group, some in groups.items()
                for key, value in zip(
                    (group, f"{group}_se"), mean_with_error(gains[name][:, some].mean(axis=1)),
                    strict=True,
                )
            },
            "rise": moved["rise"],
            "fall": moved["fall"],
            "largest": together[name].max(),
            "above_riskiest": (together[name][chosen] > threshold).sum(),
            "above_others": (together[name][~chosen] > threshold).sum(),
            "off": off.ratio,
            "off_se": off.error,
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("synthesizer fitted to")


def side_by_side(found: pd.DataFrame) -> pd.DataFrame:
    """Return the table of `repairs` with a column for each arm, errors behind their numbers."""
    headings = {
        "riskiest": "log gain of a release, the riskiest",
        "next": "the same, next in line",
        "others": "the same, all others",
        "off": "off, against sampling",
    }
    rows = {
        heading: [with_error(a, e) for a, e in zip(found[k], found[f"{k}_se"], strict=True)]
        for k, heading in headings.items()
    }
    rows["largest probability"] = [f"{value:.3f}" for value in found["largest"]]
    for group in ("riskiest", "others"):
        rows[f"above the threshold, {group}"] = [f"{n:.0f}" for n in found[f"above_{group}"]]
    for way in ("rise", "fall"):
        rows[f"others that {way}"] = [
            "" if name == ARMS[1] else percent(share) for name, share in found[way].items()
        ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(found.index)).reset_index(
        names="quantity"
    )


# ------------------------------------------------------------------------ two runs of one estimator


def weighted_risks(
    draws: dpmpm.Draws,
    combinations: NDArray[np.integer],
    cases: Mapping[str, NDArray[np.float64]],
) -> tuple[dict[str, Risk], dict[str, list[Risk]]]:
    """Estimate by importance sampling from all chains, and from one half and the other.

    Parameters
    ----------
    draws : Draws
        Given the data.
    combinations : (n, n_variables) int
        The true combinations.
    cases : mapping of str to (n_releases, n_chains, n_draws) float
        Log weights of the draws; minus infinity where a draw is left out.

    Returns
    -------
    risks, runs : dict of str to Risk, and to a list of two
        By case.
    """
    in_use = [np.where(np.isfinite(weights[:1]), 0.0, -np.inf) for weights in cases.values()]
    stacked = [w for pair in zip(in_use, cases.values(), strict=True) for w in pair]
    ratios = neighborhood_log_ratios(draws, combinations, np.concatenate(stacked))
    middle = draws.n_chains // 2
    halves, risks, runs = (slice(None, middle), slice(middle, None)), {}, {}
    for case, (plain, *weighted) in zip(cases, np.split(ratios, len(cases)), strict=True):
        of_case = np.stack(weighted), plain[None]
        risks[case] = importance_sampling(*of_case)
        runs[case] = [importance_sampling(*(part[:, half] for part in of_case)) for half in halves]
    return risks, runs


def two_runs(log_ratios: Sequence[NDArray[np.float64]]) -> list[Risk]:
    """Estimate by the predictive ratio from one half of each set's chains, and from the other."""
    first = [chains[: len(chains) // 2] for chains in log_ratios]
    second = [chains[len(chains) // 2 :] for chains in log_ratios]
    return [predictive_ratio(first), predictive_ratio(second)]


def sensitivity_to_prior(
    evidence: NDArray[np.float64], log_prior: NDArray[np.float64], sizes: Sequence[int]
) -> pd.DataFrame:
    """Compare the posteriors under a uniform prior and another, for more and more releases.

    Parameters
    ----------
    evidence : (R, n, support_size) float
        Log likelihood of the candidates under each release, the truth first.
    log_prior : (n, support_size) float
        The other prior.
    sizes : sequence of int
        How many of the first releases are taken together.

    Returns
    -------
    DataFrame
        One row a size: medians over the combinations of the factor between the two posterior
        probabilities of the truth, and of the posterior over the prior under each.
    """
    rows = []
    for size in sizes:
        together = evidence[:size].sum(axis=0)
        uniform, model = (mechanism.posterior(together, p)[:, 0] for p in (0.0, log_prior))
        told = uniform + np.log(evidence.shape[2]), model - log_prior[:, 0]
        rows.append(
            {
                "releases": size,
                "factor between the two posteriors": np.exp(np.median(np.abs(uniform - model))),
                "factor from the releases, uniform prior": np.exp(np.median(np.abs(told[0]))),
                "factor from the releases, model's prior": np.exp(np.median(np.abs(told[1]))),
            }
        )
    return pd.DataFrame(rows)


def log_mean_ratios(
    sets: Sequence[dpmpm.Draws], combinations: NDArray[np.integer]
) -> list[NDArray[np.float64]]:
    """Return chains' log means of p(x | others) / p(x_i | others), an array for each set of draws.

    Parameters
    ----------
    sets : sequence of Draws
        With their allocations.
    combinations : (n, n_variables) int
        The true combinations.
    """
    return [collapsed_log_ratios(draws, combinations)[0] for draws in sets]


def who_moves(risk: Risk, log_prior: NDArray[np.float64]) -> pd.DataFrame:
    """Say how far a release moves candidates, in quarters by how probable they were.

    Parameters
    ----------
    risk : Risk
        Under a uniform prior.
    log_prior : (n, support_size) float
        The model's prediction for each candidate, which makes the quarters.
    """
    moved = np.abs(risk.log_prob + np.log(risk.support_size)).ravel()
    order = stats.rankdata(log_prior.ravel(), method="ordinal")
    quarter = pd.qcut(order, 4, labels=["least probable", "second", "third", "most probable"])
    median = pd.Series(moved).groupby(quarter, observed=True).median()
    median.name = "median |log(posterior / prior)|"
    return median.rename_axis("quarter of the candidates").reset_index()


def ranges(over: pd.DataFrame) -> pd.DataFrame:
    """Summarize the three numbers over sets of releases by medians and ranges of 90 %.

    Parameters
    ----------
    over : DataFrame
        estimator, largest (over the prior), above and first, a row a set.
    """
    headings = {
        "largest": "largest, over the prior",
        "above": "above 2.8 times the prior",
        "first": "among the first three",
    }
    rows = []
    for name, of_estimator in over.groupby("estimator", sort=False):
        row = {"estimator": str(name)}
        for number, heading in headings.items():
            low, middle, high = of_estimator[number].quantile([0.05, 0.5, 0.95])
            digits = 1 if number == "largest" else 0
            row[heading] = f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
        rows.append(row)
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------- the notebook's plumbing


@dataclass(frozen=True)
class Study:
    """Records, and the model that they are synthesized by.

    Attributes
    ----------
    codes : (n, n_variables) int
        The confidential records.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    seed : int
        The run's seed; each purpose has a stream of its own.
    n_classes, thin : int
        As of `dpmpm.Chains`.
    prior : Prior
        Prior distribution of the mixture.
    """

    codes: NDArray[np.integer]
    n_levels: NDArray[np.integer]
    seed: int
    n_classes: int
    thin: int
    prior: dpmpm.Prior

    def draws(
        self,
        codes: NDArray[np.integer],
        purpose: str,
        weights: NDArray[np.floating] | None = None,
        **chains: int,
    ) -> dpmpm.Draws:
        """Draw from the posterior given some records, with their classes if none has a weight.

        Parameters
        ----------
        codes : (n, n_variables) int
            The records.
        purpose : str
            Name of the stream of chance and label of the progress bar.
        weights : (n,) float, optional
            As of `dpmpm.sample_posterior`.
        **chains : int
            n_chains, burn_in and n_draws of `dpmpm.Chains`.
        """
        settings = dpmpm.Chains(
            n_classes=self.n_classes, thin=self.thin, prior=self.prior, **chains
        )
        return dpmpm.sample_posterior(
            codes, self.n_levels, settings, rng=stream(self.seed, purpose), label=purpose,
            weights=weights, keep_allocations=weights is None,
        )  # fmt: skip

    def release(self, draws: dpmpm.Draws, n: int, purpose: str) -> list[NDArray[np.uint8]]:
        """Make n releases as large as the data, from draws far apart in the chains."""
        streams = [stream(self.seed, f"{purpose} {i}") for i in range(n)]
        return draws.release(n, len(self.codes), rng=streams)

    def joined(
        self, releases: Sequence[NDArray[np.integer]], purpose: str, **chains: int
    ) -> list[dpmpm.Draws]:
        """Draw from the posterior given the data joined with each release."""
        return [
            self.draws(np.vstack([self.codes, release]), f"data and {purpose} {i}", None, **chains)
            for i, release in enumerate(releases, start=1)
        ]


def counted(schema: Schema, repetitions: NDArray[np.integer]) -> dict[str, int]:
    """Count records, cells and combinations, and how often combinations occur."""
    counts = {"records": int(repetitions.sum()), "cells": schema.n_cells}
    counts |= {"combinations": len(repetitions), "once": int((repetitions == 1).sum())}
    counts |= {"twice": int((repetitions == 2).sum())}
    counts |= {"three times": int((repetitions == 3).sum())}
    return counts | {"most frequent": int(repetitions.max())}


def label_free(
    draws: dpmpm.Draws, combinations: NDArray[np.integer], repetitions: NDArray[np.integer]
) -> dict[str, NDArray[np.float64]]:
    """Return quantities that do not depend on the labels of the classes, (chains, draws) each."""
    ends = combinations[[repetitions.argmax(), repetitions.argmin()]]
    most, rarest = np.moveaxis(dpmpm.cell_log_prob(draws, ends), 2, 0)
    return {
        "alpha": draws.alpha,
        "log likelihood": draws.log_likelihood,
        "occupied classes": draws.n_occupied.astype(float),
        "log p, most frequent": most,
        "log p, a rarest": rarest,
    }


def weigh(
    draws: dpmpm.Draws,
    releases: Sequence[NDArray[np.integer]],
    made_by: Sequence[tuple[int, int]],
) -> tuple[dict[str, NDArray[np.float64]], pd.DataFrame]:
    """Weight draws by what they say of each release, with the generating draws and without.

    Parameters
    ----------
    draws : Draws
        Given the data.
    releases : sequence of (n, n_variables) int
        Releases, made by draws among these.
    made_by : sequence of (int, int)
        Chain and place of the draw behind each release.

    Returns
    -------
    cases : dict of str to (n_releases, n_chains, n_draws) float
        Log weights.
    table : DataFrame
        `diagnostics.importance_summary` of both, with the case.
    """
    every = release_log_prob(draws, releases)
    left_out = every.copy()
    for chain, place in made_by[: len(releases)]:
        left_out[:, chain, place] = -np.inf
    cases = {"generating draws among them": every, LEFT_OUT: left_out}
    tables = [
        diagnostics.importance_summary(weights.reshape(len(releases), -1)).assign(case=case)
        for case, weights in cases.items()
    ]
    return cases, pd.concat(tables)


def convergence(log_probs: Mapping[str, NDArray[np.floating]]) -> pd.DataFrame:
    """Summarize R-hat over many quantities, for each of several sets of chains.

    Parameters
    ----------
    log_probs : mapping of str to (n_chains, n_draws, n) float
        By what the posterior is given.
    """
    rows = []
    for name, values in log_probs.items():
        middle, most, largest = np.quantile(diagnostics.r_hat(values), [0.5, 0.95, 1])
        rows.append((name, middle, most, largest))
    return pd.DataFrame(rows, columns=["posterior given", "median", "95 %", "largest"])


def risk_table(
    schema: Schema,
    combinations: NDArray[np.integer],
    repetitions: NDArray[np.integer],
    estimates: Mapping[str, tuple[Risk, ArrayLike]],
) -> pd.DataFrame:
    """Tabulate the risk of every combination under each estimator.

    Parameters
    ----------
    schema, combinations, repetitions
        The combinations and how often they occur.
    estimates : mapping of str to (Risk, float or (n,) float)
        By estimator: the risks, and Pareto's k of the weights behind them.
    """
    return pd.concat(
        schema.decode(combinations, labels=False).assign(
            repetitions=repetitions, estimator=name, probability=risk.probability, rank=risk.rank,
            support_size=risk.support_size, log_mcse=risk.log_mcse[:, 0], pareto_k=k,
        )
        for name, (risk, k) in estimates.items()
    )  # fmt: skip


def summarized(risks: Mapping[str, Risk], threshold: float) -> pd.DataFrame:
    """Summarize Figures 3 and 4 in a few numbers for each estimator."""
    frame = pd.DataFrame([risk.summary(threshold) for risk in risks.values()], index=list(risks))
    frame = frame.rename(columns={f"above {threshold:g}": "above 2.8 times the prior"})
    return frame.rename_axis("estimator").reset_index()


def evidence_of(
    draws: dpmpm.Draws,
    releases: Sequence[NDArray[np.integer]],
    combinations: NDArray[np.integer],
    made_by: Sequence[tuple[int, int]],
    log_ratios: Sequence[NDArray[np.float64]],
) -> dict[str, NDArray[np.float64]]:
    """Return what each release says of every candidate, by estimator.

    Parameters
    ----------
    draws, releases, combinations, made_by
        As of `replicates.importance_evidence`.
    log_ratios : sequence of (n_chains, n, support_size) float
        Over draws given the data, then given the data joined with each release.
    """
    before, *after = map(log_mean, log_ratios)
    nobody = [None] * len(releases)
    return {
        "predictive ratio": np.array(after) - before,
        "generating draw left out": importance_evidence(draws, releases, combinations, made_by),
        "generating draw among them": importance_evidence(draws, releases, combinations, nobody),
    }


def over_all_sets(
    evidence: Mapping[str, NDArray[np.float64]],
    size: int,
    threshold: float,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Compute the three numbers for a hundred sets of releases, or all, under each estimator.

    Parameters
    ----------
    evidence : mapping of str to (R, n, support_size) float
        As `evidence_of` returns.
    size : int
        Releases of a set.
    threshold : float
        Probability above which truths are counted.
    rng : numpy.random.Generator
        Draws the sets.

    Returns
    -------
    DataFrame
        As `replicates.over_sets`, with a column estimator; the largest probability in multiples of
        the prior.
    """
    first = next(iter(evidence.values()))
    sets = sets_of_releases(len(first), size, 100, rng=rng)
    frames = [over_sets(e, sets, threshold).assign(estimator=name) for name, e in evidence.items()]
    over = pd.concat(frames)
    over["largest"] *= first.shape[2]
    return over


def part_table(words: Sequence[str], unknown: Sequence[str], part: Risk) -> pd.DataFrame:
    """Tabulate the risk of records of which some variables are unknown, a row a record."""
    return pd.DataFrame(
        {
            "record": words,
            "unknown": ", ".join(unknown),
            "probability": part.probability,
            "log_mcse": part.log_mcse[:, 0],
            "rank": part.rank,
            "support_size": part.support_size,
        }
    )
