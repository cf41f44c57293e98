"""Risks of sequential trees at many settings, and verdicts on what is said of them.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib import diagnostics
from srlib.assessment import matching
from srlib.assessment.inference import AgainstSampling, against_sampling
from srlib.data.codes import distinct, row_numbers
from srlib.data.schema import Microdata, Schema, Variable
from srlib.display import Callout, callout, numbers, percent
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains
from srlib.margins import LaplaceMargins, PlugInMargins
from srlib.mechanism.bayes import posterior
from srlib.papers.claims import (
    ERRORS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Verdict,
    at_most,
    of_share,
    share_above,
    with_errors,
)
from srlib.risk.membership import MembershipTest, distance_test, membership_test
from srlib.risk.posterior import PosteriorRisk
from srlib.risk.repair import WeightedTrees, alone, mean_with_error, who_carries
from srlib.risk.sets import DrawSets
from srlib.risk.supports import neighborhood, subset_support
from srlib.risk.synthesizers import Density
from srlib.trees import (
    Growth,
    Scans,
    SequentialTrees,
    Trees,
    complete,
    fit_trees,
    kernels,
    log_likelihoods,
)

QUANTILES = (0.1, 0.5, 0.9)
# Releases of each setting: utility is averaged over all, risk over groups of these.
RELEASES = 20
GROUPS = 4
# Of these, each is once the only one that a test of membership sees.
SINGLES = 2
# A record of a quarter's weight counts once where others count so often.
PARTS = 4
# Expected probability of the truth above which records are counted.
LIMIT = 0.5
# Posterior probability, from equal shares, from which on a value counts as exposed.
EXPOSED = 0.9
# Headings of tables, by their columns; standard errors stand behind their numbers.
OF_MATCHING = {"known": "known", "measure": "measure", "mean": "mean", "baseline": "baseline"}
OF_COUNTED = {"counted": "counted", "exposed": "of exposed values", "others": "of other values"}
OF_FRONTIER = {
    "probability": "median", "low": "10 %", "high": "90 %", "loss": "largest loss seen",
    "difference": "difference of pairs",
}  # fmt: skip
OF_EQUAL = {
    "difference": "difference of pairs", "probability": "median",
    "leaf": "median, leaves as far off",
}  # fmt: skip
OF_CARRIED = {
    "repaired": "riskiest", "others": "others", "typical": "typical change of others",
    "rise": "others that rise", "fall": "others that fall",
}  # fmt: skip
OF_RULE = {
    "kind": "in the keys", "records": "records", "nothing": "nothing is done",
    "list": "list known", "rule": "rule known", "refuted": "belief refuted",
}  # fmt: skip


def smallest_example() -> tuple[Trees, pd.DataFrame]:
    """Return trees on fifteen people, ten cooks and five smiths, and the people.

    One of the cooks is sick, and three of the smiths are.
    """
    people = pd.DataFrame({"job": ["cook"] * 10 + ["smith"] * 5})
    people["sick"] = ["no"] * 9 + ["yes"] * 4 + ["no"] * 2
    return fit_trees(people, growth=Growth(min_leaf=5)), people


def occur_once(
    codes: NDArray[np.integer], most: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return rows of records that nobody else agrees with in all variables, in random order.

    Parameters
    ----------
    codes : (n, n_variables) int
        The records.
    most : int
        Rows to return at most.
    rng : numpy.random.Generator
        Source of the order.
    """
    _, repetitions, inverse = distinct(codes)
    return rng.permutation(np.flatnonzero(repetitions[inverse] == 1))[:most]


def risks_of(
    trees: Trees,
    released: Sequence[Microdata],
    rows: NDArray[np.integer],
    unknown: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Compute the exact risk of some records under a uniform prior.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought.
    unknown : sequence of int, optional
        Variables that the intruder does not know of the record; where not given the candidates
        are all that differ from it in one variable.

    Returns
    -------
    DataFrame
        One row for each record: probability of the truth, share of the alternatives excluded, and
        support_size.
    """
    codes, levels = trees.codes[rows], trees.schema.n_levels
    if unknown is None:
        support = neighborhood(codes, levels)
    else:
        support = np.stack([subset_support(x, unknown, levels) for x in codes])
    log_prob, _ = log_likelihoods(trees, released, rows, support)
    size = support.shape[1]
    return pd.DataFrame(
        {
            "probability": np.exp(posterior(log_prob, 0.0)[:, 0]),
            "excluded": np.isneginf(log_prob).sum(axis=1) / (size - 1),
            "support_size": size,
        }
    )


def set_apart(
    table: Microdata, most: int, *, rng: np.random.Generator
) -> tuple[Microdata, NDArray[np.uint8]]:
    """Divide records into the data and people of the same population who are not in them.

    Parameters
    ----------
    table : Microdata
        All records.
    most : int
        People to set apart, a fifth of the records at most.
    rng : numpy.random.Generator
        Chooses them.

    Returns
    -------
    data : Microdata
        The others, in their order.
    held_out : (n, n_variables) uint8
    """
    out = rng.permutation(len(table))[: min(most, len(table) // 5)]
    rest = np.delete(np.arange(len(table)), out)
    lines = None if table.lines is None else table.lines[rest]
    return replace(table, codes=table.codes[rest], lines=lines), table.codes[out]


# ----------------------------------------------------------------------------- trees and mixture


def of_all(risk: PosteriorRisk, synthesizer: str, min_leaf: int, n_releases: int) -> pd.DataFrame:
    """Return a row for each combination: its values, the setting, and its risk.

    Parameters
    ----------
    risk : PosteriorRisk
        Under a uniform prior.
    synthesizer : str
        Its name.
    min_leaf : int
        Least records in a leaf; 0 where there are no leaves.
    n_releases : int
        Releases that the intruder sees.
    """
    setting = {"synthesizer": synthesizer, "min_leaf": min_leaf, "n_releases": n_releases}
    columns = ["probability", "log_mcse", "rank", "support_size", "excluded"]
    frame = risk.to_frame().assign(
        **setting, prior=1 / risk.support_size, support_size=risk.support_size
    )
    names = [variable.name for variable in risk.schema.variables]
    return frame[[*names, "repetitions", *setting, "prior", *columns]]


def in_short(risks: pd.DataFrame, utility: dict[tuple[str, int], AgainstSampling]) -> pd.DataFrame:
    """Summarize the risk of records that occur once beside the utility, by setting.

    Parameters
    ----------
    risks : DataFrame
        As `of_all`, of all settings.
    utility : dict of AgainstSampling
        By synthesizer and min_leaf.

    Returns
    -------
    DataFrame
        synthesizer, min_leaf, n_releases; quantiles of the probability of the truth; possible,
        the median number of alternatives that could have led to the releases; difference (of a
        release's pairwise shares, over that of another sample) and its error, difference_se.
    """
    rows = []
    once = risks[risks["repetitions"] == 1]
    for setting, group in once.groupby(["synthesizer", "min_leaf", "n_releases"], sort=False):
        possible = (group["support_size"] - 1 - group["excluded"]).median()
        off = utility[setting[:2]]
        of_truth = np.quantile(group["probability"], QUANTILES)
        rows.append([*setting, *of_truth, possible, off.ratio, off.error])
    columns = ["synthesizer", "min_leaf", "n_releases", "10 %", "median", "90 %", "possible"]
    return pd.DataFrame(rows, columns=[*columns, "difference", "difference_se"])


def in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of settings for readers; the mixture has no leaf.

    Parameters
    ----------
    frame : DataFrame
        synthesizer, min_leaf and n_releases; what `in_short` adds to these, if anything.
    """
    names = {"synthesizer": "synthesizer", "min_leaf": "leaf", "n_releases": "releases"}
    names |= {name: name for name in ("10 %", "median", "90 %", "possible")}
    names |= {"difference": "difference of pairs"}
    shown = frame.assign(min_leaf=frame["min_leaf"].astype(str).replace("0", ""))
    return with_errors(shown, {k: v for k, v in names.items() if k in frame})


def ways_in_words(frame: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return some columns of a table of ways to release, behind what is varied and to what.

    Parameters
    ----------
    frame : DataFrame
        case, name and the columns.
    columns : mapping of str to str
        As of `claims.with_errors`.
    """
    said = {"leaf": "leaf of {}", "smoothing": "smoothed, {}", "order": "order: {}"}
    ways = [
        said.get(case, "{}").format(name)
        for case, name in zip(frame["case"], frame["name"], strict=True)
    ]
    return with_errors(frame.assign(way=ways), {"way": "way to release", **columns})


def by_repetitions(risks: pd.DataFrame) -> pd.DataFrame:
    """Compare combinations that one record has with those of two and of three or more.

    Parameters
    ----------
    risks : DataFrame
        As `of_all`, of one setting.

    Returns
    -------
    DataFrame
        records (that have a combination), combinations, median probability, and unbounded: the
        share of the combinations for which some alternative could not have led to the releases.
    """
    names = {1: "one", 2: "two", 3: "three or more"}
    groups = risks.groupby(risks["repetitions"].clip(upper=3))
    found = [
        (names[k], len(g), g["probability"].median(), (g["excluded"] > 0).mean()) for k, g in groups
    ]
    return pd.DataFrame(found, columns=["records", "combinations", "median", "unbounded"])


def of_mixture(
    table: Microdata, chains: Chains, n_joined: int, *, rng: np.random.Generator
) -> tuple[list[Microdata], DrawSets]:
    """Fit the mixture, draw releases, and draw given the data joined with each of the first ones.

    Parameters
    ----------
    table : Microdata
        The confidential records.
    chains : Chains
        Given the data. Those given a release too, whose errors enter once and not once for each
        release, are a fifth as long or less.
    n_joined : int
        Releases that the intruder sees.
    rng : numpy.random.Generator
        Source of the chains and of the releases.

    Returns
    -------
    released : list of Microdata
        `RELEASES` or more.
    sets : DrawSets
    """
    levels = table.schema.n_levels
    of_data, of_release, *of_joined = rng.spawn(2 + n_joined)
    data = sample_posterior(table.codes, levels, chains, rng=of_data, keep_allocations=True)
    drawn = data.release(max(RELEASES, n_joined), len(table), rng=of_release)
    fewer = replace(
        chains,
        burn_in=chains.burn_in // 5,
        n_draws=chains.n_draws // 2,
        thin=max(chains.thin // 4, 1),
    )
    joined = [
        sample_posterior(
            np.vstack([table.codes, z]), levels, fewer, rng=own, keep_allocations=True,
            label=f"DPMPM, release {i}",
        )
        for i, (z, own) in enumerate(zip(drawn, of_joined, strict=False), 1)
    ]  # fmt: skip
    return [Microdata(z, table.schema) for z in drawn], DrawSets(data, joined)


def first_of(sets: DrawSets, n_releases: int) -> DrawSets:
    """Return the draws for the first of the releases."""
    return DrawSets(sets.data, sets.joined[:n_releases])


def errors_of_mixture(estimated: Mapping[int, PosteriorRisk]) -> Callout:
    """Say how far the chains of the mixture determine its risks, by number of releases."""
    errors = " and ".join(
        f"{np.median(risk.log_mcse):.3f} from {_releases(m)}" for m, risk in estimated.items()
    )
    apart = max(risk.apart.max() for risk in estimated.values())
    return callout(
        "The mixture's chains",
        f"The median Monte Carlo error of the log of a probability is {errors}. R-hat is above "
        f"{diagnostics.MAX_R_HAT} for up to {percent(apart)} of the combinations; the errors come "
        "from between chains and contain that.",
    )


def one_by_one(
    trees: Trees, released: Sequence[Microdata], rows: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the median probability of the truth from one release, from two, and so on.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        Each is once the first that the intruder sees; results are means over these.
    rows : (n,) int
        The records that are sought.

    Returns
    -------
    (n_releases,) float64
    """
    support = neighborhood(trees.codes[rows], trees.schema.n_levels)
    single = np.array([log_likelihoods(trees, [z], rows, support)[0] for z in released])
    medians = []
    for first in range(len(released)):
        seen = np.cumsum(np.roll(single, -first, axis=0), axis=0)
        medians.append(np.median(np.exp(posterior(seen)[..., 0]), axis=1))
    return np.mean(medians, axis=0)


# ------------------------------------------------------------------------------------- membership


def cooks_by_hand(before: float = 0.2, released: int = 10) -> pd.DataFrame:
    """Compute both parts of the likelihood ratio of the sick cook of `smallest_example`.

    Parameters
    ----------
    before : float
        Share of the cooks in the population who are sick: the probability that somebody else in
        the place is.
    released : int
        Cooks in the release.

    Returns
    -------
    DataFrame
        One row for each kind of release: release; after, the probability that the cook in the
        place is sick; ratio, after over before; in_data and not_in_data, the probabilities of such
        a release.
    """
    well = np.array([0.9**released, 1 - 0.9**released]), np.array([1.0, 0.0])
    outside = before * well[0] + (1 - before) * well[1]
    after = before * well[0] / outside
    names = ["all cooks well", "a sick cook"]
    return pd.DataFrame(
        {"release": names, "in_data": well[0], "not_in_data": outside, "after": after}
    ).assign(ratio=after / before)


@dataclass(frozen=True)
class Tests:
    """Tests of who is in the data, for the same releases, records and people.

    Attributes
    ----------
    best : MembershipTest
        By the likelihood ratio.
    near, nearer : MembershipTest
        By the distance to the nearest released record, and by that less the distance to the
        nearest of the people held out.
    """

    best: MembershipTest
    near: MembershipTest
    nearer: MembershipTest


def membership_tests(
    table: Microdata,
    people: Microdata,
    rows: NDArray[np.integer],
    synthesizer: Trees | Density | DrawSets,
    released: Sequence[Microdata],
    n_releases: int,
    *,
    n_beside: int,
) -> dict[int, Tests]:
    """Test who is in the data after one release, for the first `SINGLES`, and after several.

    Parameters
    ----------
    table : Microdata
        The confidential records.
    people : Microdata
        People who are not in them.
    rows : (n,) int
        The records that are tested.
    synthesizer : Trees, Density or DrawSets
        With its density, or draws of the mixture for the first releases.
    released : sequence of Microdata
        Its releases.
    n_releases : int
        How many of these are several.
    n_beside : int
        People who are tested at the place of each record.

    Returns
    -------
    dict of Tests
        By the number of releases that the intruder sees.
    """
    tests = {}
    for m, size in ((1, min(SINGLES, n_releases)), (n_releases, n_releases)):
        some, draws, density = released[:size], None, None
        if isinstance(synthesizer, DrawSets):
            draws = first_of(synthesizer, size)
        else:
            density = synthesizer
        best = membership_test(
            table, some, people, m, synthesizer=density, draws=draws, rows=rows, n_beside=n_beside
        )
        near, nearer = (
            distance_test(table, some, people, m, relative=less, rows=rows, n_beside=n_beside)
            for less in (False, True)
        )
        tests[m] = Tests(best, near, nearer)
    return tests


def independent(schema: Schema, epsilon: float = 1.0) -> dict[str, Density]:
    """Return synthesizers by independent margins, without noise and with Laplace noise."""
    levels = schema.n_levels
    return {"margins": PlugInMargins(levels), "Laplace margins": LaplaceMargins(levels, epsilon)}


def releases_of(
    synthesizer: Density, table: Microdata, n: int, *, rng: np.random.Generator
) -> list[Microdata]:
    """Return releases of a table by a synthesizer of coded records."""
    return [Microdata(synthesizer.release(table.codes, rng=rng), table.schema) for _ in range(n)]


def powers(
    tests: Mapping[tuple[str, int], Mapping[int, Tests]], *, rng: np.random.Generator
) -> pd.DataFrame:
    """Tabulate the power of all tests at 1 % and .1 % false positives.

    Parameters
    ----------
    tests : mapping of mappings of Tests
        By synthesizer and min_leaf, and by the number of releases.
    rng : numpy.random.Generator
        Source of the bootstrap.

    Returns
    -------
    DataFrame
        synthesizer, min_leaf, n_releases; power and power_se of the likelihood ratio at 1 %,
        strict and strict_se at .1 %; and the same of the distances, near and nearer, at 1 %.
    """
    rows = []
    for (synthesizer, min_leaf), of_number in tests.items():
        for m, of in of_number.items():
            row = {"synthesizer": synthesizer, "min_leaf": min_leaf, "n_releases": m}
            tried = (of.best, [0.01, 0.001]), (of.near, [0.01]), (of.nearer, [0.01])
            found = pd.concat(
                [test.power(rates, rng=rng, n_bootstrap=100) for test, rates in tried]
            )
            for name, at in zip(
                ("power", "strict", "near", "nearer"), found.itertuples(), strict=True
            ):
                row |= {name: at.power, f"{name}_se": at.power_se}
            rows.append(row)
    return pd.DataFrame(rows)


def powers_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `powers` as percents with their errors; where people are too few, that is said."""
    names = {"power": "likelihood ratio, 1 %", "strict": "likelihood ratio, .1 %"}
    if frame["strict"].isna().all():  # a column that would say the same in every row
        del names["strict"]
    names |= {"near": "nearest, 1 %", "nearer": "nearest less held out, 1 %"}
    shown = in_words(frame[["synthesizer", "min_leaf", "n_releases"]])
    for name, label in names.items():
        both = zip(frame[name], frame[f"{name}_se"], strict=True)
        shown[label] = [
            "too few people" if np.isnan(value) else f"{100 * value:.0f} ± {percent(error)}"
            for value, error in both
        ]
    return shown


def parts_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return both parts of the mixture's ratio, of some rows of `MembershipTest.to_frame`."""

    def text(name: str) -> list[str]:
        both = zip(frame[name], frame[f"{name}_mcse"], strict=True)
        return [f"{numbers([np.exp(value)], 2)[0]} ± {percent(error)}" for value, error in both]

    return pd.DataFrame(
        {
            "records that have it": frame["repetitions"],
            "predictive probability before": text("log_before"),
            "after": text("log_after"),
            "ratio": text("statistic"),
        }
    )


def roc_curves(tests: Mapping[tuple[str, int], Mapping[int, Tests]]) -> pd.DataFrame:
    """Return the power after one release over the share of false positives, by test.

    Parameters
    ----------
    tests : mapping of mappings of Tests
        As of `powers`; the distances of the first synthesizer are shown.

    Returns
    -------
    DataFrame
        A column for each curve over an index of false positives; chance is one of them.
    """
    first = next(iter(tests.values()))[1]
    of = {
        f"{name}, leaf of {leaf}" if leaf else name: some[1].best
        for (name, leaf), some in tests.items()
    }
    of |= {"nearest record, first trees": first.near}
    curves = {name: test.roc(25).set_index("false_positives")["power"] for name, test in of.items()}
    frame = pd.DataFrame(curves)
    return frame.assign(chance=frame.index)


def one_by_one_found(of: Tests) -> pd.DataFrame:
    """Say of each record and release what each test says of it.

    Returns
    -------
    DataFrame
        As `MembershipTest.to_frame` at 1 % false positives, with the release in place of the
        publication and log_ratio in place of the statistic; distance to the nearest released
        record; and found_near and found_nearer, how often the distances find the record.
    """
    frame = of.best.to_frame().rename(
        columns={
            "publication": "release",
            "statistic": "log_ratio",
            "statistic_mcse": "log_ratio_mcse",
        }
    )
    near, nearer = (test.to_frame() for test in (of.near, of.nearer))
    return frame.assign(
        distance=-near["statistic"], found_near=near["found"], found_nearer=nearer["found"]
    )


def missed(of: Tests) -> pd.DataFrame:
    """Compare what the tests find among combinations that one record has, or several, or none.

    Returns
    -------
    DataFrame
        records (that have the combination; none: the people who are not in the data), at_zero
        (share of them that a release repeats), the shares found at 1 % false positives: ratio,
        near, nearer; and n.
    """
    frame = pd.DataFrame(
        {
            "records": np.where(of.best.repetitions == 1, "one", "two or more"),
            "at_zero": (of.near.statistic == 0).mean(axis=0),
            "ratio": of.best.found().mean(axis=0),
            "near": of.near.found().mean(axis=0),
            "nearer": of.nearer.found().mean(axis=0),
        }
    ).groupby("records")
    found = frame.mean().assign(n=frame.size()).reset_index()
    rate = 0.01 if of.best.enough(0.01) else np.nan
    outside = {"records": "none", "at_zero": (of.near.of_people == 0).mean(), "ratio": rate}
    outside |= {"near": rate, "nearer": rate, "n": len(np.unique(of.near.people))}
    return pd.concat([found, pd.DataFrame([outside])], ignore_index=True)


def finds_members(of: Tests, *, limit: float = 0.5, rng: np.random.Generator) -> Verdict:
    """Say whether the distance to the nearest released record finds those who can be found.

    Parameters
    ----------
    of : Tests
        At 1 % false positives.
    limit : float
        Share that distance finds of those whom the likelihood ratio finds.
    rng : numpy.random.Generator
        Draws records anew, for the error.
    """
    by_ratio, by_distance = of.best.found(), of.near.found()
    total = by_ratio.sum(axis=0)
    if not total.sum() > 0:  # none is found, or people are too few
        return Verdict(UNDECIDED, "The likelihood ratio finds nobody, or too few were held out.")
    both = (by_ratio * by_distance).sum(axis=0)
    share = both.sum() / total.sum()
    again = rng.integers(len(total), size=(200, len(total)))
    error = (both[again].sum(axis=1) / np.maximum(total[again].sum(axis=1), 1e-9)).std(ddof=1)
    n = (by_ratio > 0).any(axis=0).sum()
    near = (n * share + 1) / (n + 2)
    error = max(error, np.sqrt(near * (1 - near) / n))
    return Verdict(
        at_most(-share, error, -limit),
        f"At {percent(0.01)} false positives the likelihood ratio finds {percent(by_ratio.mean())} "
        f"of the records from one release. Distance finds {percent(share)} ± {percent(error)} of "
        f"these; the limit is {percent(limit)}.",
    )


# --------------------------------------------------------------------------------------- matching


def value_probabilities(
    trees: Trees, released: Sequence[Microdata], rows: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the posterior probability of each single value, all others of the record known.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought.

    Returns
    -------
    (n, n_variables) float64
        Exact, from equal prior probabilities of a variable's levels.
    """
    levels = trees.schema.n_levels
    log_prob, _ = log_likelihoods(trees, released, rows, neighborhood(trees.codes[rows], levels))
    parts = np.split(log_prob[:, 1:], np.cumsum(levels - 1)[:-1], axis=1)
    truth = log_prob[:, :1]
    found = [posterior(np.concatenate([truth, part], axis=1))[:, 0] for part in parts]
    return np.exp(np.column_stack(found))


def counted_values(
    data: Microdata, released: Microdata, rows: NDArray[np.integer], keys: Sequence[int]
) -> dict[str, NDArray[np.bool_]]:
    """Say which values of which records matching measures count.

    The released records with a record's keys all have its value (DiSCO); these are the records that
    the numerator of TCAP counts too.

    Parameters
    ----------
    data, released : Microdata
        The original and a release.
    rows : (n,) int
        The records.
    keys : sequence of int
        Variables known where few are.

    Returns
    -------
    dict of (n, n_variables) bool
        Whether the record is copied in all variables; and DiSCO, by what is known: all others, or
        the keys, whose own values do not count.
    """
    levels = data.schema.n_levels
    p = len(levels)
    few = f"{len(keys)} keys"
    found = {name: np.zeros((len(rows), p), dtype=bool) for name in ("all others", few)}
    for k in range(p):
        known = {"all others": [j for j in range(p) if j != k], few: list(keys)}
        for name, columns in known.items():
            if k not in columns:
                of = matching.compare(data.codes, released.codes, levels, columns, k)
                found[name][:, k] = of.flags["DiSCO"].to_numpy()[rows]
    both = row_numbers(np.concatenate([data.codes[rows], released.codes]), levels)
    copied = np.isin(both[: len(rows)], both[len(rows) :])
    disclosed = {f"DiSCO, {name} known": flags for name, flags in found.items()}
    return {"copied": np.repeat(copied[:, None], p, axis=1), **disclosed}


def counted_and_exposed(
    probability: NDArray[np.float64],
    counted: dict[str, NDArray[np.bool_]],
    keys: Sequence[int],
) -> pd.DataFrame:
    """Hold what matching measures count against exact posterior probabilities.

    Parameters
    ----------
    probability : (n, n_variables) float
        Of the values, as `value_probabilities`.
    counted : dict of (n, n_variables) bool
        As `counted_values`.
    keys : sequence of int
        Variables that are left out, since the keys' values are no targets.

    Returns
    -------
    DataFrame
        One row a measure and one for all together: counted; exposed, the share that is counted of
        the values with a probability of `EXPOSED` or more, and others, of the rest; their standard
        errors, exposed_se and others_se, from between records; and n_exposed.
    """
    targets = np.delete(np.arange(probability.shape[1]), list(keys))
    exposed = probability[:, targets] >= EXPOSED
    rows = []
    for name, flags in (counted | {"any of these": np.any(list(counted.values()), axis=0)}).items():
        here = flags[:, targets]
        shares = [_share(here, exposed), _share(here, ~exposed)]
        rows.append((name, *shares[0], *shares[1], int(exposed.sum())))
    columns = ["exposed", "exposed_se", "others", "others_se", "n_exposed"]
    return pd.DataFrame(rows, columns=["counted", *columns])


def has_exposed(probability: NDArray[np.float64], keys: Sequence[int]) -> NDArray[np.bool_]:
    """Say which records, (n,), have an exposed value, as `counted_and_exposed` takes these."""
    targets = np.delete(np.arange(probability.shape[1]), list(keys))
    return (probability[:, targets] >= EXPOSED).any(axis=1)


def _share(flags: NDArray[np.bool_], among: NDArray[np.bool_]) -> tuple[float, float]:
    """Share of the flagged among some values, (n, k), and its error from between the n records."""
    total = among.sum()
    if not total:
        return np.nan, np.nan
    share = (flags & among).sum() / total
    apart = (flags & among).sum(axis=1) - share * among.sum(axis=1)
    return float(share), float(np.sqrt((apart**2).sum()) / total)


def matching_measures(
    data: Microdata, released: Sequence[Microdata], keys: Sequence[int]
) -> pd.DataFrame:
    """Return DiSCO and TCAP with the other variables as targets, on average over these.

    Parameters
    ----------
    data : Microdata
        The original.
    released : sequence of Microdata
        Two releases or more.
    keys : sequence of int
        Variables known where few are.

    Returns
    -------
    DataFrame
        known (all others, or the keys), measure, mean, se (from between releases), baseline (of
        releases that know the margins only).
    """
    levels = data.schema.n_levels
    found = []
    for k in np.delete(np.arange(len(levels)), list(keys)):
        known = {"all others": np.delete(np.arange(len(levels)), k), f"{len(keys)} keys": keys}
        for name, columns in known.items():
            for z in released:
                of = matching.compare(data.codes, z.codes, levels, list(columns), int(k))
                found += [
                    (name, m, id(z), of.measures[m], of.baselines[m]) for m in ("DiSCO", "TCAP")
                ]
    frame = pd.DataFrame(found, columns=["known", "measure", "release", "value", "baseline"])
    by_release = frame.groupby(["known", "measure", "release"], sort=False)[["value", "baseline"]]
    groups = by_release.mean().groupby(["known", "measure"], sort=False)
    means, errors = groups.mean(), groups["value"].sem()
    table = means.rename(columns={"value": "mean"}).assign(se=errors).reset_index()
    return table[["known", "measure", "mean", "se", "baseline"]]


def without_donor(
    trees: Trees, released: Sequence[Microdata], rows: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the share of the alternatives that would be impossible if no split changed.

    The releases have a value whose only donor in its leaf is the record, and the alternative has
    another value or comes to another leaf.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought.

    Returns
    -------
    (n,) float64
        Of the candidates that differ from the record in one variable.
    """
    shown = np.concatenate([z.codes for z in released])
    support = neighborhood(trees.codes[rows], trees.schema.n_levels)
    impossible = np.zeros(support.shape[:2], dtype=bool)
    for k, tree in zip(trees.order, trees.trees, strict=True):
        own, seen = _leaves(tree, trees.codes), _leaves(tree, shown)
        there = _leaves(tree, support.reshape(-1, support.shape[2])).reshape(impossible.shape)
        leaf, value = own[rows], trees.codes[rows, k]
        donors = ((own == leaf[:, None]) & (trees.codes[:, k] == value[:, None])).sum(axis=1)
        is_shown = ((seen == leaf[:, None]) & (shown[:, k] == value[:, None])).any(axis=1)
        leaves = (there != leaf[:, None]) | (support[:, :, k] != value[:, None])
        impossible |= ((donors == 1) & is_shown)[:, None] & leaves
    return impossible.sum(axis=1) / (support.shape[1] - 1)


def _leaves(tree: kernels.Tree, codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the leaf that each record comes to; parents stand before their parts."""
    at = np.zeros(len(codes), np.int64)
    for node in np.flatnonzero(tree.variable != kernels.LEAF):
        here = np.flatnonzero(at == node)
        bits = tree.mask[node] >> codes[here, tree.variable[node]].astype(np.uint64)
        at[here] = np.where(bits & np.uint64(1), tree.left[node], tree.right[node])
    return at


# ------------------------------------------------------------------------- people who are unknown


def knowing_fewer(
    trees: Trees,
    released: Sequence[Microdata],
    rows: NDArray[np.integer],
    unknown: Sequence[int],
    people: Sequence[int],
    *,
    scans: Scans,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Compare intruders who lack some variables of one person, or of several at once.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought, in groups whose variables are unknown together.
    unknown : sequence of int
        The variables.
    people : sequence of int
        Sizes of the groups, from 1 to n.
    scans : Scans
        Chains over the tables that complete the known records.
    rng : numpy.random.Generator
        Source of the chains.

    Returns
    -------
    DataFrame
        people; quantiles of the probability of the truth, from a uniform prior, exact for one
        person; lowest and highest, the medians from the chain of each group that believes least of
        the truths and from the one that believes most; elsewhere, the chains that came from other
        tables than the true one to one that could have led to the releases, fewest over the groups
        (none are run for one person); prior.
    """
    support = np.stack(
        [subset_support(x, unknown, trees.schema.n_levels) for x in trees.codes[rows]]
    )
    found = []
    for size in people:
        by_chain, elsewhere = [], [scans.n_chains // 2 if size > 1 else 0]
        for at in range(0, len(rows) - size + 1, size):
            some, candidates = rows[at : at + size], support[at : at + size]
            if size == 1:
                log_prob, _ = log_likelihoods(trees, released, some, candidates)
                chains = np.exp(posterior(log_prob)[:, 0])[None]
            else:
                of_group = complete(trees, released, some, candidates, scans=scans, rng=rng)
                chains = np.exp(of_group.log_means[:, :, 0])
                elsewhere.append(scans.n_chains // 2 - of_group.lost)
            order = np.argsort(chains.mean(axis=1))
            by_chain.append(np.stack([chains.mean(axis=0), chains[order[0]], chains[order[-1]]]))
        mean, lowest, highest = np.concatenate(by_chain, axis=1)
        ends = np.median(lowest), np.median(highest)
        found.append(
            (size, *np.quantile(mean, QUANTILES), *ends, min(elsewhere), 1 / support.shape[1])
        )
    columns = ["people", "10 %", "median", "90 %", "lowest", "highest", "elsewhere", "prior"]
    return pd.DataFrame(found, columns=columns)


# --------------------------------------------------------------------------------- the frontier


@dataclass(frozen=True)
class Way:
    """One way to release.

    Attributes
    ----------
    case, name : str
        What is varied, and to what.
    growth : Growth
        How the trees are grown.
    order : tuple of str
        All variables, in the order in which they are drawn.
    n_releases : int
        Tables released.
    times : (n,) int, optional
        How often each record counts; all alike if not given.
    parts : int
        How often a record of full weight counts.
    """

    case: str
    name: str
    growth: Growth
    order: tuple[str, ...]
    n_releases: int
    times: NDArray[np.integer] | None = field(default=None, compare=False)
    parts: int = 1

    def trees(self, data: Microdata, ordered: Sequence[str]) -> WeightedTrees:
        """Return the synthesizer, for data with as many records as these."""
        alike = np.ones(len(data), np.int64) if self.times is None else self.times
        plain = SequentialTrees(data.schema, self.order, self.growth, ordered)
        return WeightedTrees(plain, alike, self.parts)


def ways(
    schema: Schema,
    first: Way,
    *,
    leaves: Sequence[int],
    smoothing: Sequence[float],
    fewer: Sequence[int],
    n_random: int,
    rng: np.random.Generator,
) -> list[Way]:
    """List ways to release that differ in one respect from a first one.

    Parameters
    ----------
    schema : Schema
        Variables, with their levels.
    first : Way
        Comes first, whatever its case.
    leaves, smoothing, fewer
        Least records in a leaf, records that a leaf is smoothed by, numbers of releases; what the
        first way has is left out.
    n_random : int
        Orders drawn at random, beside the reversed order and those by the number of levels.
    rng : numpy.random.Generator
        Draws them.
    """
    growth, order = first.growth, first.order
    found = [first]
    for leaf in sorted(set(leaves) - {growth.min_leaf}):
        found.append(replace(first, name=f"{leaf}", growth=replace(growth, min_leaf=leaf)))
    for added in sorted(set(smoothing) - {growth.smoothing}):
        smooth = replace(growth, smoothing=added)
        found.append(replace(first, case="smoothing", name=f"{added:g} added", growth=smooth))
    for m in sorted(set(fewer) - {first.n_releases}):
        found.append(replace(first, case="fewer releases", name=_releases(m), n_releases=m))
    n_levels = {variable.name: len(variable.levels) for variable in schema.variables}
    orders = {
        "reversed": order[::-1],
        "few levels first": sorted(order, key=lambda name: n_levels[name]),
        "many levels first": sorted(order, key=lambda name: -n_levels[name]),
    } | {f"random {i}": rng.permutation(list(order)).tolist() for i in range(1, n_random + 1)}
    found += [replace(first, case="order", name=n, order=tuple(o)) for n, o in orders.items()]
    return found


def riskiest(codes: NDArray[np.integer], risk: PosteriorRisk, most: int) -> NDArray[np.intp]:
    """Return rows of the records with the highest risk, of those that occur once.

    Parameters
    ----------
    codes : (n, n_variables) int
        The records.
    risk : PosteriorRisk
        Of all their combinations.
    most : int
        Rows to return at most; no more than half of these records.
    """
    _, repetitions, inverse = distinct(codes)
    once = np.flatnonzero(repetitions[inverse] == 1)
    order = np.argsort(-risk.probability[inverse[once]], kind="stable")
    return once[order[: min(most, max(1, len(once) // 2))]]


def repairs(first: Way, n_records: int, chosen: NDArray[np.integer]) -> list[Way]:
    """List the first way once more, and it with some records left out or of a quarter's weight.

    Parameters
    ----------
    first : Way
        All records count alike in it.
    n_records : int
        Records of the data.
    chosen : (k,) int
        Rows of those that are repaired.
    """
    times = [np.full(n_records, parts) for parts in (1, PARTS)]
    for count, of_all in enumerate(times):
        of_all[chosen] = count
    return [
        replace(first, case="nothing", name="released anew"),
        replace(first, case="repair", name="left out", times=times[0]),
        replace(first, case="repair", name=f"weight 1/{PARTS}", times=times[1], parts=PARTS),
    ]


def frontier(
    data: Microdata,
    ways: Sequence[Way],
    rows: NDArray[np.integer],
    *,
    rng: np.random.Generator,
    ordered: Sequence[str] = (),
    further: NDArray[np.integer] | None = None,
) -> tuple[pd.DataFrame, list[NDArray[np.float64]]]:
    """Set the risk of trees beside their utility, for several ways to release.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    ways : sequence of Way
        Each has `RELEASES` tables, which are seen in `GROUPS` groups or more.
    rows : (n,) int
        The records that are sought.
    rng : numpy.random.Generator
        Source of the releases.
    ordered : sequence of str
        As `fit_trees` takes them.
    further : (k,) int, optional
        Records that are sought as well and do not enter the table.

    Returns
    -------
    table : DataFrame
        case, name, min_leaf, smoothing, n_releases, order; probability (median of the truth's, on
        average over the groups) and probability_se, from between them; low and high (quantiles
        of 10 and 90 %); loss, the largest privacy loss seen between a record and an alternative;
        difference (of a release's pairwise shares, over that of another sample), difference_se.
    probabilities : list of (n_groups, n + k) float64
        Of the truths of all records sought, a way each. The intruder knows how often each record
        counts.
    """
    sought = rows if further is None else np.concatenate([rows, further])
    support = neighborhood(data.codes[sought], data.schema.n_levels)
    found, probabilities = [], []
    for way in ways:
        trees, m = way.trees(data, ordered), way.n_releases
        n_groups = min(max(GROUPS, RELEASES // m), GROUPS + 1)
        shown = trees.grown_on(data.codes).release(max(RELEASES, n_groups * m), len(data), rng=rng)
        released = [z.codes for z in shown]
        of_way, loss = np.empty((n_groups, len(sought))), 0.0
        for group in range(n_groups):
            seen = released[group * m : (group + 1) * m]
            log_prob = trees.log_likelihoods(seen, data.codes, sought, support)
            apart = np.abs(log_prob - log_prob[:, :1])[: len(rows)]
            loss = max(loss, float(apart.max()))
            of_way[group] = np.exp(posterior(log_prob)[:, 0])
        quantiles = np.quantile(of_way[:, : len(rows)], QUANTILES, axis=1).T
        probabilities.append(of_way)
        low, middle, high = np.mean(quantiles, axis=0)
        error = np.std(quantiles, axis=0, ddof=1)[1] / np.sqrt(n_groups)
        off = pairs_apart(data, shown[:RELEASES])
        setting = way.case, way.name, way.growth.min_leaf, way.growth.smoothing, m
        risk = middle, error, low, high, loss, off.ratio, off.error
        found.append((*setting, " ".join(way.order), *risk))
    columns = ["case", "name", "min_leaf", "smoothing", "n_releases", "order", "probability"]
    columns += ["probability_se", "low", "high", "loss", "difference", "difference_se"]
    return pd.DataFrame(found, columns=columns), probabilities


def at_equal_utility(found: pd.DataFrame) -> pd.DataFrame:
    """Set the risk of each way beside that of leaves whose pairs are as far from the data.

    The logarithm of the median is interpolated between two sizes of a leaf; its error has the
    errors of their medians, and that of the way's difference.

    Parameters
    ----------
    found : DataFrame
        The table of `frontier`.

    Returns
    -------
    DataFrame
        Ways that vary neither leaf nor order: case, name, difference, difference_se, probability,
        probability_se, and of the leaves leaf and leaf_se, NaN beyond the smallest and largest.
    """
    leaves = found[found["case"] == "leaf"].sort_values("difference")
    x, log_y = leaves["difference"].to_numpy(), np.log(leaves["probability"].to_numpy())
    log_error = (leaves["probability_se"] / leaves["probability"]).to_numpy()
    columns = ["case", "name", "difference", "difference_se", "probability", "probability_se"]
    others = found.loc[~found["case"].isin(["leaf", "order"]), columns].reset_index(drop=True)
    rows = []
    for at, error in zip(others["difference"], others["difference_se"], strict=True):
        k = int(np.searchsorted(x, at))
        if not 0 < k < len(x):
            rows.append((np.nan, np.nan))
            continue
        share = (at - x[k - 1]) / (x[k] - x[k - 1])
        slope = (log_y[k] - log_y[k - 1]) / (x[k] - x[k - 1])
        parts = (1 - share) * log_error[k - 1], share * log_error[k], slope * error
        median = np.exp(log_y[k - 1] + slope * (at - x[k - 1]))
        rows.append((median, median * np.linalg.norm(parts)))
    return others.join(pd.DataFrame(rows, columns=["leaf", "leaf_se"]))


def carried(
    ways: Sequence[Way], probabilities: Sequence[NDArray[np.float64]], repaired: NDArray[np.bool_]
) -> pd.DataFrame:
    """Compare everybody's risk with that of the first way, for ways in its order.

    Parameters
    ----------
    ways : sequence of Way
        The first is what is compared with.
    probabilities : sequence of (n_groups, n) float
        As `frontier`.
    repaired : (n,) bool
        Records that count less where some do.

    Returns
    -------
    DataFrame
        case, name; repaired and others, mean probabilities of their truths, and repaired_se,
        others_se; of the others change and change_se, moved and moved_se, rise and fall, as of
        `who_carries`, and typical, the root of moved; above, the share of the others with an
        expected probability above `LIMIT`.
    """
    rows = []
    for way, after in zip(ways[1:], probabilities[1:], strict=True):
        if way.case == "order":
            continue
        own, others = (
            row for _, row in who_carries(probabilities[0], after, repaired, LIMIT).iterrows()
        )
        rows.append(
            {
                "case": way.case, "name": way.name,
                "repaired": own["after"], "repaired_se": own["after_se"],
                "others": others["after"], "others_se": others["after_se"],
                "change": others["change"], "change_se": others["change_se"],
                "moved": others["moved"], "moved_se": others["moved_se"],
                "typical": np.sqrt(max(others["moved"], 0.0)),
                "rise": others["rise"], "fall": others["fall"], "above": others["above_after"],
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


type Cases = dict[str, tuple[SequentialTrees | WeightedTrees, SequentialTrees | WeightedTrees]]
"""By name, what made the releases, and what the intruder believes did."""


def rule_by_hand(n: int = 10) -> pd.DataFrame:
    """Compute exactly what a rule tells: who is alone with a disease is left out.

    One variable, one leaf, one release as large as the data; a sick record is sought at a prior of
    one half.

    Parameters
    ----------
    n : int
        Records.

    Returns
    -------
    DataFrame
        sick, the number of them; expected probability of the truth where nothing is done, and with
        the rule for an intruder who believes that nothing was done (unaware), who knows who was
        left out (list), or who knows the rule (rule).
    """
    plain = SequentialTrees(Schema((Variable("sick", ("no", "yes")),)))
    releases = [np.repeat([[0], [1]], [n - z, z], axis=0) for z in range(n + 1)]
    ways = [comb(n, z) for z in range(n + 1)]
    support, rows = np.array([[[1], [0]]]), np.array([n - 1])
    found = []
    for sick in (1, 2):
        data = np.repeat([[0], [1]], [n - sick, sick], axis=0)
        by_rule = WeightedTrees(plain, alone([0]))
        by_list = WeightedTrees(plain, by_rule.times(data))
        row: dict[str, float] = {"sick": sick}
        cases: Cases = {
            "nothing": (plain, plain), "unaware": (by_rule, plain), "list": (by_rule, by_list),
            "rule": (by_rule, by_rule),
        }  # fmt: skip
        for name, (made_by, believed) in cases.items():
            weight = np.array([np.exp(made_by.log_prob(z, data)) for z in releases]) * ways
            seen = [z for z, w in zip(releases, weight, strict=True) if w > 0]
            columns = [believed.log_likelihoods([z], data, rows, support)[0] for z in seen]
            row[name] = float(np.exp(posterior(np.array(columns))[:, 0]) @ weight[weight > 0])
        found.append(row)
    return pd.DataFrame(found)


def told_by_the_rule(
    data: Microdata,
    trees: SequentialTrees,
    keys: Sequence[int],
    n_each: int,
    n_releases: int,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Compare three intruders where records that are alone in some variables are left out.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    trees : SequentialTrees
        What the other records are given to.
    keys : sequence of int
        The variables.
    n_each : int
        Records of each kind: alone in the keys, one of two, one of more.
    n_releases : int
        Releases, two or more, each seen by itself.
    rng : numpy.random.Generator
        Chooses the records and draws the releases.

    Returns
    -------
    DataFrame
        kind, records, left_out (records of the kind in the data); mean probabilities of the truth
        from one release where nothing is done, and with the rule to an intruder who knows who was
        left out (list) and to one who knows the rule (rule), each with its standard error from
        between releases (_se); refuted, the share of the releases and records for which neither
        the truth nor any alternative is possible if nothing was done.
    """
    _, repetitions, inverse = distinct(data.codes[:, list(keys)])
    agreeing = repetitions[inverse]
    kinds = {"alone": agreeing == 1, "one of two": agreeing == 2, "one of more": agreeing > 2}
    chosen = {k: rng.permutation(np.flatnonzero(some))[:n_each] for k, some in kinds.items()}
    rows = np.concatenate(list(chosen.values()))
    support = neighborhood(data.codes[rows], data.schema.n_levels)
    by_rule = WeightedTrees(trees, alone(keys))
    by_list = WeightedTrees(trees, by_rule.times(data.codes))
    cases: Cases = {
        "nothing": (trees, trees), "unaware": (by_rule, trees), "list": (by_rule, by_list),
        "rule": (by_rule, by_rule),
    }  # fmt: skip
    made = {
        id(t): [t.release(data.codes, rng=rng) for _ in range(n_releases)] for t in cases["unaware"]
    }
    log_prob = {
        name: np.array(
            [believed.log_likelihoods([z], data.codes, rows, support) for z in made[id(made_by)]]
        )
        for name, (made_by, believed) in cases.items()
    }
    refuted = np.isneginf(log_prob.pop("unaware")).all(axis=2)
    of_truth = {name: np.exp(posterior(values)[..., 0]) for name, values in log_prob.items()}
    found, stop = [], 0
    for kind, some in chosen.items():
        at, stop = slice(stop, stop + len(some)), stop + len(some)
        if not len(some):
            continue
        row = {"kind": kind, "records": len(some)}
        for name, values in of_truth.items():
            row[name], row[f"{name}_se"] = mean_with_error(values[:, at].mean(axis=1))
        found.append(row | {"refuted": refuted[:, at].mean()})
    return pd.DataFrame(found)


def pairs_apart(data: Microdata, released: Sequence[Microdata]) -> AgainstSampling:
    """Compare shares of all pairs of variables with another sample's; two releases or more."""
    return against_sampling(data.codes, [z.codes for z in released], data.schema.n_levels)


def on_chart(found: pd.DataFrame, short: pd.DataFrame, n_releases: int) -> pd.DataFrame:
    """Return the points of the frontier, the mixture's with them, as `charts.points` takes them.

    Parameters
    ----------
    found : DataFrame
        As `frontier`.
    short : DataFrame
        As `in_short`, which has the mixture.
    n_releases : int
        Releases of the mixture.
    """
    cases = {"leaf": "records in a leaf", "order": "other orders"}
    # What is done to single records stands too near the first point to be seen.
    found = found[~found["case"].isin(["nothing", "repair"])].reset_index(drop=True)
    columns = {"difference": "x", "difference_se": "x_error"}
    labels = {
        "leaf": found["name"],
        # Less smoothing stands too near the first point for a label.
        "smoothing": ("+" + found["smoothing"].map("{:g}".format)).where(
            found["smoothing"] == found["smoothing"].max(), ""
        ),
        "fewer releases": "m = " + found["n_releases"].astype(str),
    }
    names = [labels[case][i] if case in labels else "" for i, case in enumerate(found["case"])]
    points = found.assign(case=found["case"].replace(cases), label=names)
    points = points.rename(columns=columns | {"probability": "y", "probability_se": "y_error"})
    other = short[(short["synthesizer"] == "mixture") & (short["n_releases"] == n_releases)]
    other = other.rename(columns=columns | {"median": "y"})
    both = pd.concat([points, other.assign(case="mixture", label="", y_error=np.nan)])
    return both[["x", "x_error", "y", "y_error", "case", "label"]].reset_index(drop=True)


# ---------------------------------------------------------------------------------------- verdicts


def little_risk(risks: pd.DataFrame, factor: float = 10.0) -> Verdict:
    """Say whether the releases leave the truth within a factor of the prior.

    Parameters
    ----------
    risks : DataFrame
        n_releases, probability and support_size, exact, of records that occur once. Where the words
        from the fewest and from the most releases differ, it depends on their number.
    factor : float
        Above 1.
    """
    over = risks["probability"] * risks["support_size"]
    by_releases = over.groupby(risks["n_releases"])
    shares, medians = by_releases.agg(lambda x: np.mean(x <= factor)), by_releases.median()
    few, many = shares.index.min(), shares.index.max()
    words = {of_share(shares[m], shares[m]) for m in (few, many)}
    less = (
        f" From {_releases(few)} it is so for {percent(shares[few], 1)}, and the median is "
        f"{medians[few]:.1f} times."
    )
    return Verdict(
        words.pop() if len(words) == 1 else "depends on the number of releases",
        f"From {_releases(many)} the probability of the truth is at most {factor:g} times the "
        f"prior for {percent(shares[many], 1)} of the records that occur once, and its median is "
        f"{medians[many]:.1f} times the prior.{less if few < many else ''}",
    )


def _releases(n: int) -> str:
    """Say how many releases there are."""
    return f"{n} release{'s' if n > 1 else ''}"


def larger_is_safer(medians: pd.DataFrame) -> Verdict:
    """Say whether the probability of the truth is lower in a larger file.

    Parameters
    ----------
    medians : DataFrame
        records and median, a row for each data set.
    """
    by_size = medians.groupby("records")["median"]
    few, many = medians["records"].min(), medians["records"].max()
    means, errors = by_size.mean(), by_size.sem()
    difference, error = means[many] - means[few], float(np.hypot(errors[many], errors[few]))
    return Verdict(
        at_most(difference, error, 0.0),
        f"The median is {means[few]:.3f} ± {errors[few]:.3f} with {few:,} records and "
        f"{means[many]:.3f} ± {errors[many]:.3f} with {many:,}.",
    )


def hides_members(found: pd.DataFrame, limit: float = 0.05) -> Verdict:
    """Say whether a test finds hardly anybody who is in the data.

    Parameters
    ----------
    found : DataFrame
        n_releases, power at 1 % false positives, power_se; a row for each number of releases. NaN
        where too few people were held out.
    limit : float
        For the power.
    """
    if found["power"].isna().any():
        return Verdict(
            UNDECIDED, "Fewer than 100 people were held out, too few for one false positive in 100."
        )
    by_number = found.set_index("n_releases").sort_index()
    words = {at_most(row.power, row.power_se, limit) for row in by_number.itertuples()}
    powers = " and ".join(
        f"{percent(row.power)} ± {percent(row.power_se)} from {_releases(m)}"
        for m, row in zip(by_number.index, by_number.itertuples(), strict=True)
    )
    word = "depends on the number of releases"
    if len(words) == 1 or UNDECIDED in words:
        word = UNDECIDED if UNDECIDED in words else words.pop()
    return Verdict(
        word,
        f"At {percent(0.01)} false positives the test finds {powers} of the people who are in the "
        f"data; the limit is {percent(limit)}.",
    )


def counts_exposed(found: pd.DataFrame, limit: float = 0.75) -> Verdict:
    """Say whether matching measures together count nearly all exposed values.

    Parameters
    ----------
    found : DataFrame
        As `counted_and_exposed`.
    limit : float
        For the share that they count.
    """
    one = found.set_index("counted").loc["any of these"]
    if one["n_exposed"] < 2:
        return Verdict(UNDECIDED, f"{int(one['n_exposed'])} values are exposed.")
    return Verdict(
        at_most(-one["exposed"], one["exposed_se"], -limit),
        f"Of the {int(one['n_exposed']):,} exposed values {percent(one['exposed'])} ± "
        f"{percent(one['exposed_se'])} are counted by some measure, of the others "
        f"{percent(one['others'])} ± {percent(one['others_se'])}; the limit is {percent(limit)}.",
    )


def protects(first: pd.Series, last: pd.Series, factor: float = 0.5, tolerated: float = 0.1) -> str:
    """Say in a word whether a way to release protects, at no cost in utility.

    Parameters
    ----------
    first, last : Series
        Rows of `frontier`: what is compared with, and what is judged.
    factor : float
        What the median has to fall to, as a share of the first.
    tolerated : float
        Rise of the difference, as a share of another sample's, that counts as no cost.
    """
    risk = last["probability"] - factor * first["probability"]
    risk_error = float(np.hypot(last["probability_se"], factor * first["probability_se"]))
    cost = last["difference"] - first["difference"]
    cost_error = float(np.hypot(first["difference_se"], last["difference_se"]))
    lower, free = at_most(risk, risk_error, 0.0), at_most(cost, cost_error, tolerated)
    if lower == FAILS or UNDECIDED in (lower, free):
        return FAILS if lower == FAILS else UNDECIDED
    return HOLDS if free == HOLDS else "depends on the utility that is needed"


def of_setting(found: pd.DataFrame, by: str) -> Verdict:
    """Say whether the last setting protects, compared with the first.

    Parameters
    ----------
    found : DataFrame
        Rows of `frontier`.
    by : str
        Column of the setting.
    """
    first, last = found.iloc[0], found.iloc[-1]
    cost = last["difference"] - first["difference"]
    error = float(np.hypot(first["difference_se"], last["difference_se"]))
    medians = [f"{row['probability']:.3f} ± {row['probability_se']:.1g}" for row in (first, last)]
    return Verdict(
        protects(first, last),
        f"With {last[by]:g} instead of {first[by]:g} the median changes from {medians[0]} to "
        f"{medians[1]}, and the difference of pairs by {cost:+.2f} ± {error:.2f}.",
    )


def of_orders(found: pd.DataFrame) -> Verdict:
    """Say whether some other order of the variables protects.

    Parameters
    ----------
    found : DataFrame
        Rows of `frontier`, the order to compare with first.
    """
    first, others = found.iloc[0], found.iloc[1:]
    words = {protects(first, row) for _, row in others.iterrows()}
    ranked = [HOLDS, "depends on the utility that is needed", UNDECIDED, FAILS]
    low, high = others["probability"].idxmin(), others["probability"].idxmax()
    ends = [f"{others.loc[i, 'probability']:.3f} ({others.loc[i, 'name']})" for i in (low, high)]
    return Verdict(
        next(word for word in ranked if word in words),
        f"Over {len(others)} other orders the median lies between {ends[0]} and {ends[1]}; it is "
        f"{first['probability']:.3f} ± {first['probability_se']:.1g} in the first.",
    )


def learns_little(risks: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether the truth stays within a factor of its prior for nearly all records.

    Parameters
    ----------
    risks : DataFrame
        probability and support_size, exact.
    factor : float
        Above 1.
    """
    gain = np.log(risks["probability"] * risks["support_size"]).to_numpy()
    low, high = share_above(-np.abs(gain), np.zeros(len(gain)), -np.log(factor))
    return Verdict(
        of_share(low, high),
        f"Among {risks['support_size'].iloc[0]} combinations of the unknown variables the truth's "
        f"probability is within a factor of {factor:g} of the prior for {percent(low, 1)} of the "
        f"records. Its median is {risks['probability'].median():.3f}.",
    )


def hidden_among_others(found: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether the median truth stays near its prior where most people are unknown.

    Parameters
    ----------
    found : DataFrame
        As `knowing_fewer`; the last row is judged.
    factor : float
        Of the prior, above 1.
    """
    one, last = found.iloc[0], found.iloc[-1]
    limit = factor * last["prior"]
    word = HOLDS if last["highest"] <= limit else FAILS if last["lowest"] > limit else UNDECIDED
    if last["people"] > 1 and not last["elsewhere"]:  # all chains remember the truth
        word = UNDECIDED
    return Verdict(
        word,
        f"The median probability of the truth is {one['median']:.3f} where {int(one['people'])} "
        f"person is unknown. Where {int(last['people'])} are, it is {last['lowest']:.3f} to "
        f"{last['highest']:.3f}, by chain; the prior is {last['prior']:.3f}.",
    )


def repair_protects(found: pd.DataFrame, factor: float = 0.5, tolerated: float = 0.05) -> Verdict:
    """Say whether records that count less are protected, and nobody else is exposed for it.

    A repair protects if the mean probability of the truths of the repaired falls to a share of
    what it is where nothing was done but releasing anew. Others pay if their mean rises; and some
    do if the risks of single ones move while the mean does not fall.

    Parameters
    ----------
    found : DataFrame
        As `carried`.
    factor : float
        The share.
    tolerated : float
        Root of the mean square of the others' changes that counts as no move.
    """
    anew = found[found["case"] == "nothing"].iloc[0]
    of_repairs, said = [], []
    for _, row in found[found["case"] == "repair"].iterrows():
        fall = row["repaired"] - factor * anew["repaired"]
        fall_error = float(np.hypot(row["repaired_se"], factor * anew["repaired_se"]))
        moves = at_most(row["moved"], row["moved_se"], tolerated**2)
        if row["change"] > ERRORS * row["change_se"]:
            moves = FAILS
        elif moves == FAILS and row["change"] < -ERRORS * row["change_se"]:
            moves = UNDECIDED
        words = {at_most(fall, fall_error, 0.0), moves}
        of_repairs.append(next(word for word in (FAILS, UNDECIDED, HOLDS) if word in words))
        said.append(
            f"{row['name'].capitalize()}: {row['repaired']:.3f} ± {row['repaired_se']:.1g}; the "
            f"mean of the others changes by {row['change']:+.3f} ± {row['change_se']:.1g}, and "
            f"single ones typically by {row['typical']:.2f}."
        )
    words = set(of_repairs)
    word = of_repairs[0] if len(words) == 1 else "depends on the repair"
    return Verdict(
        UNDECIDED if UNDECIDED in words else word,
        f"The mean probability of the riskiest is {anew['repaired']:.3f} ± "
        f"{anew['repaired_se']:.1g} where nothing is done but releasing anew, which changes that "
        f"of others typically by {anew['typical']:.2f}. {' '.join(said)}",
    )
