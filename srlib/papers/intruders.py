"""Verdicts on claims about intruders who know less or more, decided by a run of their notebook.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln
from scipy.stats import betabinom, binom

from srlib.data.schema import Schema
from srlib.diagnostics import over_many
from srlib.display import Callout, callout, percent
from srlib.dpmpm import Chains, Mixture, cell_log_prob, sample_posterior
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism.bayes import posterior
from srlib.mechanism.families import beta_binomial
from srlib.papers.claims import (
    ERRORS,
    FAILS,
    HOLDS,
    PROVED,
    UNDECIDED,
    Verdict,
    at_most,
    of_share,
    share_above,
    span,
    with_error,
    with_errors,
)
from srlib.risk import (
    Density,
    DrawSets,
    Participation,
    Risk,
    WholeSupport,
    changed_support,
    exceeds,
    partial_knowledge,
    predictive_ratio,
    subset_log_means,
    support_log_ratios,
)
from srlib.risk.augmented import EXCHANGE
from srlib.trees import Growth, SequentialTrees

# Headings of the tables of single records and of synthesizers, by their columns.
OF_SINGLE = {
    "higher": "more probable",
    "higher beyond error": "beyond two errors",
    "higher if calibrated": "if calibrated",
}
SAMPLED = "unknown records sampled"
# A difference of probabilities that matters: one record in twenty.
MATTERS = 0.05


def conservative(
    log_ratio_one: ArrayLike, log_ratio_all: ArrayLike, error_one: ArrayLike, error_all: ArrayLike
) -> Verdict:
    """Say what of a small support is conservative: the probability and the rank, by their proofs.

    Parameters
    ----------
    log_ratio_one, log_ratio_all : (n,) float
        Log of posterior over prior of the truth, over the small support and over every cell.
    error_one, error_all : (n,) float
        Their standard errors.
    """
    one, every = np.asarray(log_ratio_one), np.asarray(log_ratio_all)
    errors = np.asarray(error_one), np.asarray(error_all)
    higher, possibly = share_above(every - one, np.hypot(*errors))
    largest = [
        f"{np.exp(log_ratio.max()):.1f} ± {np.exp(log_ratio.max()) * error[log_ratio.argmax()]:.1f}"
        for log_ratio, error in zip((one, every), errors, strict=True)
    ]
    return Verdict(
        PROVED,
        "So it is for the probability and the rank of the truth. For the ratio to the prior it "
        f"*{of_share(1 - possibly, 1 - higher)}*: it is higher over every cell for "
        f"{percent(higher, 1)} of the combinations and lower for {percent(1 - possibly, 1)}, "
        f"beyond two standard errors. The largest ratio is {largest[0]} over one change and "
        f"{largest[1]} over every cell.",
    )


def says_little(
    log_gain: NDArray[np.float64], error: NDArray[np.float64], prior: float, factor: float = 1.5
) -> Verdict:
    """Say whether a release leaves the probability of true values within a factor of the prior.

    Parameters
    ----------
    log_gain, error : (n,) float
        Log of posterior over prior and its standard error.
    prior : float
        The prior probability of the true values, the same for all records.
    factor : float
        Above 1.
    """
    low, high = share_above(-np.abs(log_gain), error, -np.log(factor))
    least, most = (
        f"{np.exp(log_gain[at]):.2f} ± {np.exp(log_gain[at]) * error[at]:.2f}"
        for at in (log_gain.argmin(), log_gain.argmax())
    )
    return Verdict(
        of_share(low, high),
        f"Before any release {prior:.2f} of the candidates have the true values, so that the "
        f"release can multiply their probability by {1 / prior:.2f} at most. It multiplies it by "
        f"{least} to {most}. That is within a factor of {factor:g} for {span(low, high)} of the "
        "combinations, give or take two standard errors.",
    )


def adds_little(told: Mapping[str, pd.DataFrame], factor: float = 1.5) -> Verdict:
    """Say whether posterior and informative prior of the truth are within a factor.

    Parameters
    ----------
    told : mapping of str to DataFrame
        As `risk.evidence` returns for the model's own prior, by set of unknown variables;
        the set with the smallest shares decides.
    factor : float
        Above 1.
    """
    shares = [
        share_above(-np.abs(t["log_gain"]), t["log_gain_mcse"], -np.log(factor))
        for t in told.values()
    ]
    low, high = (min(bounds) for bounds in zip(*shares, strict=True))
    return Verdict(
        of_share(low, high),
        f"Whatever the set of unknown variables, posterior and prior are within a factor of "
        f"{factor:g} for at least {span(low, high)} of the combinations, give or take two standard "
        "errors.",
    )


def safe_knowing_less(found: Participation, single: pd.DataFrame) -> Verdict:
    """Say whether the truth is less probable, on average, to an intruder who knows less.

    Parameters
    ----------
    found : Participation
        Beliefs of intruders; the one who knows least is held against the one who knows most.
    single : DataFrame
        As `single_records` returns, for the uniform prior and then the model's own.

    Returns
    -------
    Verdict
        ``"depends on the prior"`` where it is more probable under one prior and not under the
        other, the paper's uniform one or the model's own; the word of both where they agree.
    """
    least = found.knowing_less().iloc[0]
    uniform, own = (
        at_most(least[prior], least[f"{prior}_se"], 0.0) for prior in ("uniform", "own")
    )
    word = "depends on the prior" if FAILS in (uniform, own) else UNDECIDED
    word = uniform if uniform == own else word
    higher = single["higher beyond error"]
    return Verdict(
        word,
        f"If the intruder knows {_share(least['share_known'])} of the other records instead of "
        "all, the log probability of the truth changes by "
        f"{least['uniform']:+.3f} ± {least['uniform_se']:.3f} on average with the uniform prior "
        f"(*{uniform}*) and by {least['own']:+.3f} ± {least['own_se']:.3f} with the model's own "
        f"(*{own}*), where {least['calibrated']:+.3f} ± {least['calibrated_se']:.3f} is what a "
        "calibrated model leads to. In one release it is higher beyond two standard errors for "
        f"{percent(higher.iloc[0], 1)} and {percent(higher.iloc[1], 1)} of the participants.",
    )


def single_records(pairs: Mapping[str, tuple[Risk, Risk]]) -> pd.DataFrame:
    """Count the records whose truth is more probable to the intruder who knows less.

    Parameters
    ----------
    pairs : mapping of str to (Risk, Risk)
        By the name of a prior: risks of the same records and candidates for the intruder who
        knows less, and for the one who knows more.

    Returns
    -------
    DataFrame
        One row a prior: prior; higher, the share of records; higher beyond error, that by more
        than two standard errors; higher if calibrated, the share to expect if the truth of each
        record is drawn from the belief of the intruder who knows more.
    """
    rows = []
    for prior, (less, more) in pairs.items():
        counted = exceeds(less, more)
        above = less.log_prob > more.log_prob
        expected = float((np.exp(more.log_prob) * above).sum(axis=1).mean())
        row = {"prior": prior, "higher": counted["higher"]}
        row |= {"higher beyond error": counted["beyond error"], "higher if calibrated": expected}
        rows.append(row)
    return pd.DataFrame(rows)


def participants_beyond(found: Participation) -> Callout:
    """Say how much more a release adds for participants than for outsiders.

    Parameters
    ----------
    found : Participation
        Beliefs of intruders who know the least and the largest share of the other records.
    """
    outsiders = found.averages().query("group == 'outsiders'")[["gain", "gain_se"]]
    gain = found.beyond().join(outsiders.reset_index(drop=True))
    before = found.beyond("before").iloc[-1]
    said = []
    for row in gain.iloc[[0, -1]].to_dict("records"):
        said.append(
            f"To an intruder who knows {_share(row['share_known'])} of the other records the "
            f"release adds {row['gain']:+.3f} ± {row['gain_se']:.3f} to the log probability of the "
            f"truth for outsiders, {_side(row['gain'], row['gain_se'])}, and "
            f"{row['difference']:.3f} ± {row['se']:.3f} more for participants, "
            f"{_side(row['difference'], row['se'])}. The choice of people moves the difference by "
            f"about {row['se_people']:.3f}."
        )
    n_divisions = found.table[["pair", "swapped"]].drop_duplicates().shape[0]
    apart = round(before["difference"], 3) + 0.0  # no minus before a zero
    return callout(
        f"Participants beyond outsiders, {n_divisions} divisions and releases",
        " ".join(said) + " Before the release, with all other records known, the groups differ by "
        f"{apart:+.3f} ± {before['se']:.3f}; in one division that is used once, by a standard "
        f"deviation of {before['single']:.3f}.",
    )


def for_readers(frame: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return some columns with their errors, behind the share of the others known in words.

    Parameters
    ----------
    frame : DataFrame
        With a column share_known.
    columns : mapping of str to str
        As of `claims.with_errors`.
    """
    known = frame.assign(known=[_share(share) for share in frame["share_known"]])
    return with_errors(known, {"known": "others known", **columns})


def synthesizers(schema: Schema, chains: Chains, epsilon: float) -> dict[str, Density | Mixture]:
    """Return synthesizers of several kinds, by the names that tables have.

    Parameters
    ----------
    schema : Schema
        Variables of the records.
    chains : Chains
        Of the mixture.
    epsilon : float
        Of a release of the private margins.
    """
    grown = {
        "trees, leaves of 5": Growth(min_leaf=5),
        "trees, leaves of 20": Growth(min_leaf=20),
        "trees, smoothed": Growth(min_leaf=5, smoothing=1.0),
    }
    found: dict[str, Density | Mixture] = {
        name: SequentialTrees(schema, growth=growth) for name, growth in grown.items()
    }
    found["mixture"] = Mixture(schema.n_levels, chains)
    found["independent margins"] = PlugInMargins(schema.n_levels)
    return found | {"private margins": LaplaceMargins(schema.n_levels, epsilon)}


def titles(schema: Schema) -> dict[str, str]:
    """Return what each variable is, by its name."""
    return {variable.name: variable.title for variable in schema.variables}


def reader(schema: Schema, unknown: Sequence[str]) -> SequentialTrees:
    """Return how an intruder who knows nobody reads releases: large, smoothed trees.

    Parameters
    ----------
    schema : Schema
        Variables of the records.
    unknown : sequence of str
        Variables that are predicted from all others.
    """
    order = [name for name in schema.names if name not in unknown]
    return SequentialTrees(schema, [*order, *unknown], Growth(min_leaf=20, smoothing=1.0))


def one_answer(sizes: Sequence[int]) -> pd.DataFrame:
    """Compute what taking part adds to the log gain for one yes/no answer, exactly.

    The intruder knows all other answers, and half of the people say yes, the participant who is
    sought among them; the outsider says no. Nothing else tells them apart, so that the difference
    is half the symmetrized Kullback-Leibler divergence between releases with either in the place.

    Parameters
    ----------
    sizes : sequence of int
        Even numbers of people, as many as are released.

    Returns
    -------
    DataFrame
        One row a size: people; with the data's share and with a drawn share, for releases drawn
        with the share of the data (and one half added to either count), and with a share drawn
        from its posterior under a uniform prior; and either times the number of people.
    """
    rows = []
    for n in sizes:
        yes, z = np.array([[n // 2], [n // 2 - 1]]), np.arange(n + 1)
        made = {
            "with the data's share": binom.logpmf(z, n, (yes + 0.5) / (n + 1)),
            "with a drawn share": betabinom.logpmf(z, n, 1 + yes, 1 + n - yes),
        }
        row = {"people": float(n)}
        for name, (p, q) in made.items():
            row[name] = 0.5 * float(((np.exp(p) - np.exp(q)) * (p - q)).sum())
        times = {f"{name}, times people": n * row[name] for name in made}
        rows.append(row | times)
    return pd.DataFrame(rows).astype({"people": int})


def tells_outsiders_as_much(numbers: pd.DataFrame, prior: float) -> Verdict:
    """Say whether participants are told as much as outsiders, up to `MATTERS`.

    Parameters
    ----------
    numbers : DataFrame
        As `TakingPart.numbers` returns of the probability of the truth. The intruder who knows all
        others decides.
    prior : float
        Probability of the truth before the release.

    Returns
    -------
    Verdict
        `HOLDS` where participants are less than `MATTERS` ahead after releases of all
        synthesizers, beyond two errors; `FAILS` where they are more; ``"depends on the
        synthesizer"`` where there are some of either kind.
    """
    decides, reads = (numbers[numbers["known"] == known] for known in ("all others", "nobody"))
    words = [at_most(row.difference, row.se, MATTERS) for row in decides.itertuples(index=False)]
    if {HOLDS, FAILS} <= set(words):
        word = "depends on the synthesizer"
    else:
        word = words[0] if len(set(words)) == 1 else UNDECIDED
    least, most = (decides.loc[at] for at in (decides["difference"].idxmin(),
                                              decides["difference"].idxmax()))  # fmt: skip
    told, ahead = reads.loc[reads["outsiders"].idxmax()], reads.loc[reads["difference"].idxmax()]
    return Verdict(
        word,
        f"{words.count(FAILS)} of {len(words)} synthesizers make the truth more probable for "
        f"participants than for outsiders by over {MATTERS:g}, beyond two errors, to an intruder "
        f"who knows all others, and {words.count(HOLDS)} by less. The differences go from "
        f"{_pm(least, 'difference', 'se')} ({least['synthesizer']}) to "
        f"{_pm(most, 'difference', 'se')} ({most['synthesizer']}). To an intruder who knows nobody "
        f"releases raise the probability for outsiders from {prior:.3f} to as much as "
        f"{_pm(told, 'outsiders', 'outsiders_se')} ({told['synthesizer']}), and by at most "
        f"{_pm(ahead, 'difference', 'se')} more for participants ({ahead['synthesizer']}).",
    )


def in_short(numbers: pd.DataFrame) -> pd.DataFrame:
    """Return numbers as `TakingPart.numbers` does, with their errors beside them, as text."""
    told = numbers[["synthesizer", "releases", "known"]].rename(columns={"known": "others known"})
    told["outsiders"] = numbers.apply(_pm, axis=1, args=("outsiders", "outsiders_se"))
    told["participants ahead"] = numbers.apply(_pm, axis=1, args=("difference", "se"))
    told["ruled out"], told["no candidate"] = numbers["excluded"], numbers["refuted"]
    return told


def by_size(swept: pd.DataFrame, known: str, column: str, error: str) -> pd.DataFrame:
    """Set numbers of the sweep side by side, a column for each size of data.

    Parameters
    ----------
    swept : DataFrame
        As `ledger.shipped` returns of the sweep: n_records and columns of `TakingPart.numbers`.
    known : str
        Whom the intruder knows.
    column, error : str
        What is tabulated, and its standard error.

    Returns
    -------
    DataFrame
        One row a synthesizer and number of releases: synthesizer, releases, and for each number of
        participants the number with its error, as text.
    """
    some = swept[swept["known"] == known]
    told = some[["synthesizer", "releases"]].drop_duplicates()
    for size, rows in some.groupby("n_records"):
        text = rows.apply(_pm, axis=1, args=(column, error))
        told[f"{int(size) // 2:,} people"] = text.to_numpy()
    return told


def curves_by_size(swept: pd.DataFrame, releases: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what participants are ahead by and its errors, a column for each synthesizer.

    Parameters
    ----------
    swept : DataFrame
        Of the sweep, for the intruder who knows all others.
    releases : int
        Number of releases.
    """
    some = swept[(swept["known"] == "all others") & (swept["releases"] == releases)]
    some = some.assign(people=some["n_records"] // 2)
    order = some["synthesizer"].unique()
    value, error = (
        some.pivot(index="people", columns="synthesizer", values=name)[order]
        for name in ("difference", "se")
    )
    return value, error


def with_size(swept: pd.DataFrame, releases: int) -> Callout:
    """Say how disclosure and statistics change from the smallest to the largest data.

    Parameters
    ----------
    swept : DataFrame
        Of the sweep.
    releases : int
        Number of releases.
    """
    value, error = curves_by_size(swept, releases)
    first, last = value.iloc[0], value.iloc[-1]
    first_se, last_se = error.iloc[0], error.iloc[-1]
    said = []
    for name in value:
        ends = (pd.Series({"d": d[name], "se": e[name]})
                for d, e in ((first, first_se), (last, last_se)))  # fmt: skip
        words = " to ".join(_pm(end, "d", "se") for end in ends)
        change = _change(last[name] - first[name], np.hypot(first_se[name], last_se[name]))
        if first[name] > ERRORS * first_se[name] and last[name] > ERRORS * last_se[name]:
            ratio = first[name] / last[name]
            spread = ratio * np.hypot(first_se[name] / first[name], last_se[name] / last[name])
            change += f", by a factor of {ratio:.2g} ± {spread:.1g}" if change == "falls" else ""
        said.append(f"{name}: {words} ({change})")
    reads = swept[(swept["known"] == "nobody") & (swept["releases"] == releases)]
    by_name = reads.pivot(index="synthesizer", columns="n_records", values="outsiders")
    errors = reads.pivot(index="synthesizer", columns="n_records", values="outsiders_se")
    apart = by_name.iloc[:, -1] - by_name.iloc[:, 0]
    changes = [
        _change(more, se)
        for more, se in zip(apart, np.hypot(errors.iloc[:, -1], errors.iloc[:, 0]), strict=True)
    ]
    people, size = (by_name.columns // 2)[[0, -1]], by_name.columns[-1] / by_name.columns[0]
    return callout(
        f"From {people[0]:,} to {people[1]:,} people, {size:.0f} times as many, and {releases} "
        "releases",
        f"Disclosure, to the intruder who knows all others: {'; '.join(said)}. Statistics, told of "
        f"outsiders to the intruder who knows nobody: rise for {changes.count('rises')} of "
        f"{len(changes)} synthesizers, beyond two errors, and fall for {changes.count('falls')}.",
    )


def _change(difference: float, error: float) -> str:
    """Say in a word which way a number changes, if beyond its error."""
    words = {HOLDS: "falls", FAILS: "rises"}
    return words.get(at_most(difference, error, 0.0), "no change beyond error")


def _pm(row: pd.Series, value: str, error: str) -> str:
    """Write a number of a row with its standard error."""
    return with_error(float(row[value]), float(row[error]))


# ------------------------------------------------------------------- supports, parts of a record


def over_changes(sets: DrawSets, codes: NDArray[np.integer], changes: int) -> Risk:
    """Return risks over all candidates that differ from the truth in few variables.

    Parameters
    ----------
    sets : DrawSets
        Draws given the data, and given the data joined with each release.
    codes : (n, n_variables) int
        The true combinations.
    changes : int
        Variables that may differ, at least 1.
    """

    def one(x: NDArray[np.integer]) -> Risk:
        support = changed_support(x, changes, sets.n_levels)
        return predictive_ratio([support_log_ratios(d, support)[0] for d in sets])

    each = [one(x) for x in codes]
    return Risk(np.vstack([r.log_prob for r in each]), np.vstack([r.log_mcse for r in each]))


def compare_supports(one: Risk, two: Risk, whole: WholeSupport, n_cells: int) -> pd.DataFrame:
    """Tabulate what three supports say of the same combinations.

    Parameters
    ----------
    one, two : Risk
        Over one change and over one or two.
    whole : WholeSupport
        Over every cell.
    n_cells : int
        Number of cells.

    Returns
    -------
    DataFrame
        One row a support: support; candidates; medians of the truth's log probability, of its
        error, of the ratio to the prior and of the share of candidates above the truth; and the
        largest ratio to the prior.
    """
    rows = []
    for name, size, log_p, rank, error in (
        ("one change", one.support_size, one.log_prob[:, 0], one.rank, one.log_mcse[:, 0]),
        ("two changes", two.support_size, two.log_prob[:, 0], two.rank, two.log_mcse[:, 0]),
        ("every cell", n_cells, np.log(whole.probability), whole.rank, whole.log_mcse),
    ):
        row = {"support": name, "candidates": size, "log probability": np.median(log_p)}
        row |= {"error of log": np.median(error), "over prior": np.median(np.exp(log_p) * size)}
        row |= {"largest over prior": (np.exp(log_p) * size).max()}
        rows.append(row | {"share above the truth": np.median((rank - 0.5) / size)})
    return pd.DataFrame(rows)


def compare_margins(
    one: Risk,
    agree: NDArray[np.bool_],
    whole: WholeSupport,
    values: NDArray[np.integer],
    n_levels: NDArray[np.integer],
) -> pd.DataFrame:
    """Tabulate the probability of a part of each record, over one change and over every cell.

    Parameters
    ----------
    one : Risk
        Over one change.
    agree : (n, support_size) bool
        Which candidates have the true values of the part.
    whole : WholeSupport
        Over every cell, its first margin that of the part.
    values : (n, n_unknown) int
        The true values.
    n_levels : (n_unknown,) int
        Levels of the variables in question.

    Returns
    -------
    DataFrame
        One row a quantile over the combinations, of prior and posterior over either support and
        of the standard error over every cell.
    """
    truth = np.ravel_multi_index(tuple(values.T), tuple(n_levels)), np.arange(len(values))
    frame = pd.DataFrame({"prior, one change": agree.mean(axis=1)})
    frame["posterior, one change"] = (np.exp(one.log_prob) * agree).sum(axis=1)
    frame["prior, every cell"] = 1 / np.prod(n_levels)
    frame["posterior, every cell"] = whole.margins[0][truth[::-1]]
    frame["error, every cell"] = whole.margins_mcse[0][truth[::-1]]
    return frame.quantile([0.05, 0.5, 0.95]).rename_axis("quantile").reset_index()


def compare_priors(told: Mapping[str, Mapping[str, pd.DataFrame]]) -> pd.DataFrame:
    """Tabulate what a release adds to priors, for sets of unknown variables.

    Parameters
    ----------
    told : mapping of str to mapping of str to DataFrame
        As `risk.evidence` returns, by name of the prior and by set of unknown variables.

    Returns
    -------
    DataFrame
        One row a set and prior: unknown; prior; the medians of the truth's probability before and
        after; the shares of combinations whose probability rises and falls by more than two
        standard errors and whose ratio is beyond 1.5 by as much; and the largest ratio.
    """
    rows = []
    for prior, by_set in told.items():
        for unknown, table in by_set.items():
            gain, error = table["log_gain"], table["log_gain_mcse"]
            row = {"unknown": unknown, "prior": prior, "before, median": table["prior"].median()}
            row |= {"after, median": table["probability"].median()}
            row |= {"raised": share_above(gain, error)[0], "lowered": share_above(-gain, error)[0]}
            beyond = share_above(np.abs(gain), error, np.log(1.5))[0]
            rows.append(row | {"beyond 1.5": beyond, "largest ratio": np.exp(gain.max())})
    return pd.DataFrame(rows)


def most_moved(told: Mapping[str, pd.DataFrame], factor: float = 1.5) -> float:
    """Return the largest share of combinations moved by a factor, beyond two standard errors.

    Parameters
    ----------
    told : mapping of str to DataFrame
        As `risk.evidence` returns, by set of unknown variables.
    factor : float
        Above 1.
    """
    limit = np.log(factor)
    every = (share_above(np.abs(t["log_gain"]), t["log_gain_mcse"], limit) for t in told.values())
    return max(low for low, _ in every)


# --------------------------------------------------------------------------------- several releases


def needs_sampling(table: pd.DataFrame, most_r_hat: float = 1.05) -> Verdict:
    """Say whether several releases ask for the unknown records to be sampled.

    Parameters
    ----------
    table : DataFrame
        As `several_releases` returns. A shortcut is as good as where it is worst, and the best
        of them decides.
    most_r_hat : float
        R-hat above which the sampled chains decide nothing.

    Returns
    -------
    Verdict
        ``"depends on the number of releases"`` where chains agree, the best shortcut is off by
        more than two errors, and sampling takes more than twice the iterations of a fit for an
        effective draw; `UNDECIDED` else.
    """
    sampled = table[table["way"] == SAMPLED].set_index("share known")
    short = table[table["way"] != SAMPLED]
    worst = short.loc[short.groupby("way")["median distance"].idxmax()]
    best = worst.loc[worst["median distance"].idxmin()]
    share = best["share known"]
    error = float(np.hypot(best["error of log p"], sampled["error of log p"][share]))
    fits = short.groupby("share known")["iterations for an effective draw"].min()
    ratio = float((sampled["iterations for an effective draw"] / fits).min())
    r_hat = float(table["largest R-hat"].max())
    apart = best["median distance"] > ERRORS * error and ratio > 2
    return Verdict(
        "depends on the number of releases" if apart and r_hat <= most_r_hat else UNDECIDED,
        "For one release it is proved that nothing has to be sampled. For several, the best "
        f"shortcut, *{best['way']}*, is off by a median of {best['median distance']:.3f} in the "
        f"log probability, with an error of {error:.3f}, where {_share(share)} of the other "
        f"records are known. Sampling takes {ratio:.1f} times as many iterations of a chain for an "
        f"effective draw. The largest R-hat is {r_hat:.2f}.",
    )


def several_releases(
    people: NDArray[np.integer],
    n_known: int,
    n_levels: NDArray[np.integer],
    unknown: Sequence[int],
    n_releases: int,
    *,
    fitted: Chains,
    sampled: Chains,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Seek the last half of some people in several releases of their records, in four ways.

    Parameters
    ----------
    people : (n, n_variables) int
        The confidential records.
    n_known : int
        How many of the first of them the intruder knows, at most half.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    unknown : sequence of int
        Positions of the variables that the intruder does not know.
    n_releases : int
        Releases, as large as the data; 2 or more.
    fitted, sampled : Chains
        Chains of the synthesizer and of the shortcuts; chains that sample the unknown records.
    rng : numpy.random.Generator
        Source of releases and chains.

    Returns
    -------
    DataFrame
        One row a way, under the model's own prior: share known; way; mean log p, of the truth;
        error of log p, the median of the Monte Carlo errors; median distance and largest distance
        from the log p of the first way, which samples the unknown records; largest R-hat over the
        people sought; and iterations for an effective draw of the mean log p.
    """
    known, goals = people[:n_known], people[len(people) // 2 :]
    agency = sample_posterior(people, n_levels, fitted, rng=rng)
    releases = agency.release(n_releases, len(people), rng=rng.spawn(n_releases))
    by_chain = partial_knowledge(
        known, len(people) - n_known - 1, releases, n_levels, goals, unknown, left_out=False,
        chains=sampled, rng=rng, label="unknown records",
    )  # fmt: skip
    before, after, mixing = by_chain.log_means[0], [], []
    for release in [*releases, np.vstack(releases)]:
        draws = sample_posterior(np.vstack([known, release]), n_levels, fitted, rng=rng)
        after.append(subset_log_means(draws, goals, unknown, left_out=False))
        mixing.append(over_many(cell_log_prob(draws, goals)))
    ways = {
        SAMPLED: (by_chain.log_means, [over_many(by_chain.traces[-1])]),
        "taken as independent": ([before, *after[:-1]], mixing[:-1]),
        "pooled": ([before, after[-1]], mixing[-1:]),
        "first release alone": ([before, after[0]], mixing[:1]),
    }
    n_unknown = len(people) - n_known - 1
    passes = sampled.burn_in // 2 // sampled.thin + sampled.n_draws
    parameters = 2 * n_releases - 1  # sets of them in a chain that samples records
    of_pass = n_unknown * (n_releases - 1) * EXCHANGE + parameters * sampled.thin
    iterations = sampled.n_chains * (passes * of_pass + parameters * (sampled.burn_in // 2))
    rows, truth = [], predictive_ratio(by_chain.log_means, model_prior=True).log_prob[:, 0]
    for way, (log_means, mixed) in ways.items():
        risk = predictive_ratio(log_means, model_prior=True)
        apart = np.abs(risk.log_prob[:, 0] - truth)
        of_fits = len(mixed) * fitted.n_chains * fitted.n_iterations
        effective = min(m["effective draws of the mean"] for m in mixed)
        row = {"share known": n_known / len(people), "way": way}
        row |= {"mean log p": risk.log_prob[:, 0].mean()}
        row |= {"error of log p": np.median(risk.log_mcse[:, 0])}
        row |= {"median distance": np.median(apart), "largest distance": apart.max()}
        row |= {"largest R-hat": max(m["R-hat, largest"] for m in mixed)}
        spent = iterations if way == SAMPLED else of_fits
        rows.append(row | {"iterations for an effective draw": spent / effective})
    return pd.DataFrame(rows)


def one_variable(ones: ArrayLike, released: Sequence[int]) -> pd.DataFrame:
    """Probability that the last record is a one, for intruders who know the first few.

    One yes/no variable whose proportion has a uniform prior; releases as large as the data.

    Parameters
    ----------
    ones : (n,) int
        The records, 0 or 1. The last one is sought.
    released : sequence of int
        Ones in each release.

    Returns
    -------
    DataFrame
        One row a number of other records known, 0 to n - 1: known; exact, over all unknown
        records; independent, the releases taken as independent given the known records; pooled,
        as one large release.
    """
    values, seen = np.asarray(ones), np.asarray(released)
    n, m, rows = len(values), len(seen), []
    table = beta_binomial(n, n, 1.0).block(np.arange(n + 1), seen).sum(axis=1)
    for known in range(n):
        c, log_prob, u = values[:known].sum(), [], np.arange(n - known)
        for x, of_prior in ((0, known - c), (1, c)):
            likely = betabinom.logpmf(u, n - known - 1, 1 + c + x, 1 + known - c + (1 - x))
            terms = likely + table[c + x + u]
            log_prob.append(np.log(of_prior + 1) + np.logaddexp.reduce(terms))
        before, each = (1 + c) / (1 + known - c), (1 + c + seen) / (1 + known - c + n - seen)
        apart = before * np.prod(each / before)
        pooled = (1 + c + seen.sum()) / (2 + known + m * n)
        exact = np.exp(posterior(np.array(log_prob)))[1]
        rows.append((known, exact, apart / (1 + apart), pooled))
    return pd.DataFrame(rows, columns=["known", "exact", "independent", "pooled"])


def one_variable_sampled(
    ones: ArrayLike, released: Sequence[int], known: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return `one_variable`'s probability, the unknown records sampled, and its standard error."""
    values = np.asarray(ones)
    n = len(values)
    releases = [np.repeat([[0], [1]], [n - z, z], axis=0) for z in released]
    risk = partial_knowledge(
        values[:known, None], n - known - 1, releases, np.array([2]), np.array([[1]]), [0],
        left_out=False, rng=rng, chains=Chains(
            n_classes=1, burn_in=20, n_draws=60, thin=10, n_chains=8
        ),
    ).risk(model_prior=True)  # fmt: skip
    return risk.probability[0], risk.probability[0] * risk.log_mcse[0, 0]


# ------------------------------------------------------------------------- what more knowledge does


def knowing_more(n: int, n_released: int) -> pd.DataFrame:
    """Average over all cases what an intruder believes of the truth, by the records known.

    One yes/no variable whose proportion has a uniform prior, one release from the model. All
    data sets, sought records and releases are enumerated with their probabilities.

    Parameters
    ----------
    n, n_released : int
        Records of the data and of the release, at least 1.

    Returns
    -------
    DataFrame
        One row a number of other records known, 0 to n - 1: known; own and uniform, expected log
        posterior probabilities of the truth under the model's own and under a uniform prior; and
        lower_own and lower_uniform, the probability that the truth is less probable to the
        intruder who knows all the others.
    """

    def ways(size: int, of: NDArray[np.int64]) -> NDArray[np.float64]:
        return gammaln(size + 1) - gammaln(of + 1) - gammaln(size - of + 1)

    def beliefs(
        known: int, ones: NDArray[np.int64], released: NDArray[np.int64], truth: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """Log probabilities of the truth under either prior."""
        before = (1 + ones) / (2 + known)
        after = (1 + ones + released) / (2 + known + n_released)
        odds = after / (1 - after) * (1 - before) / before
        return [np.log(np.where(truth, p, 1 - p)) for p in (after, odds / (1 + odds))]

    rows = []
    for known in range(n):
        others = n - 1 - known
        c, u, x, z = np.indices((known + 1, others + 1, 2, n_released + 1))
        ones, total = c + u + x + z, n + n_released
        log_prob = ways(known, c) + ways(others, u) + ways(n_released, z)
        prob = np.exp(log_prob + betaln(1 + ones, 1 + total - ones))
        row: dict[str, float] = {"known": known}
        every = zip(beliefs(known, c, z, x), beliefs(n - 1, c + u, z, x), strict=True)
        for name, (less, more) in zip(("own", "uniform"), every, strict=True):
            row[name] = float((prob * less).sum())
            row[f"lower_{name}"] = float(prob[more < less - 1e-12].sum())
        rows.append(row)
    return pd.DataFrame(rows)[["known", "own", "uniform", "lower_own", "lower_uniform"]]


def _share(share: float) -> str:
    """Say in words how many of the other records are known."""
    return {0.0: "none", 1.0: "all"}.get(float(share), percent(share))


def _side(value: float, error: float) -> str:
    """Say in words on which side of zero a value is, if it is beyond its error."""
    side = {HOLDS: "below", FAILS: "above"}.get(at_most(value, error, 0.0))
    return f"{side} zero by two standard errors" if side else "within two standard errors of zero"
