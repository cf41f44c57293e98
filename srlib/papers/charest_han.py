"""The models of Charest and Han and their companion, and the answers to their printed numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import expit

from srlib import checks
from srlib.data.schema import Microdata
from srlib.display import percent
from srlib.ledger import printed
from srlib.mechanism import edp
from srlib.mechanism.core import Mechanism, change_one
from srlib.mechanism.families import beta_binomial
from srlib.mechanism.privacy import conditional_epsilon, exact_epsilon
from srlib.papers import charest_han_tables as tables
from srlib.papers.claims import ERRORS, FAILS, HOLDS, PROVED, UNDECIDED, Verdict
from srlib.papers.ledger import ledger
from srlib.rng import stream
from srlib.threads import one_blas_thread

BINS = tables.BINS
# The prior behind Table 2: epsilon rounded to 2.4, where section 3 has log 11 and alpha = 1/2.
ROUNDED_ALPHA = 5 / np.expm1(2.4)
ROUNDED = "alpha from epsilon = 2.4 instead of log 11, and one misprint; section EDP, exactly"
TABLE_3 = "The paper's Table 3, one treatment of empty bins for each column"
TABLE_4 = "The paper's Table 4, one data set and a tenth of the draws"
EMPTY = f"empty bins treated otherwise, epsilon rounded to 2.4; section {TABLE_3}"
TENTH = f"ten times fewer draws than the heading says; section {TABLE_4}"

SECTIONS = {
    "C1": "Conditioning on the data",
    "C2": "Why EDP grows with the bins",
    "C3": "The prior, by trial and error",
    "C4": "What follows for 10,000 draws",
    "C5": "What follows for 10,000 draws",
    "C6": "From one posterior sample",
    "C7": TABLE_3,
    "C8": TABLE_3,
    "C9": "More records",
}
ESTIMATE_COLUMNS = ["model", "estimator", "bins", "draws", "relative_bias_percent", "imprecision"]
EMPTY_IN_WORDS = {
    "neighbours": "record",
    "edp": "EDP",
    "least_draws": "draws expected in the thinnest bin",
    "empty": "empty bins expected",
}


def conditional_epsilons(n: int, alpha: float) -> NDArray[np.float64]:
    """Conditional epsilon of each data set under the beta-binomial synthesizer, (n + 1,)."""
    table: Mechanism = beta_binomial(n, n, alpha)
    return conditional_epsilon(table)


def table_2(alpha: float) -> dict[str, float]:
    """Exact EDP of Table 2 by the ids of its entries: n = 5, with one record changed.

    Parameters
    ----------
    alpha : float
        Both parameters of the beta prior: 1/2 as stated, or `ROUNDED_ALPHA`.
    """
    return {
        f"table2_{x}_{bins}": edp.exact(
            edp.beta_posterior(x, 5, alpha), edp.beta_neighbors(x, 5, alpha, "changed"), bins
        ).value
        for x in range(6)
        for bins in BINS
    }


def entries_as_printed(alphas: Sequence[float]) -> pd.DataFrame:
    """Entries of Table 2 that come out as printed, by the parameter of the prior.

    Parameters
    ----------
    alphas : sequence of float
        Parameters of the beta prior.

    Returns
    -------
    DataFrame
        Columns alpha and "of 36 entries as printed".
    """
    told = printed("charest_han").set_index("id")["printed"]
    agreeing = [
        sum(f"{value:.2f}" == told[key] for key, value in table_2(alpha).items())
        for alpha in alphas
    ]
    return pd.DataFrame({"alpha": alphas, "of 36 entries as printed": agreeing})


def table_3(alpha: float, size: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Biases of Table 3 under each treatment of empty bins: five zeros, one of them changed.

    Parameters
    ----------
    alpha : float
        Both parameters of the beta prior.
    size : int
        Simulated sets of bins for each cell.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    DataFrame
        As `tables.beta_cells` returns.
    """
    here, there = edp.beta_posterior(0, 5, alpha), edp.beta_neighbors(0, 5, alpha, "changed")
    return tables.beta_cells(here, there, tables.DRAWS, tables.RULES, size, rng=rng)


def levels_by_prior(alphas: Sequence[float], bins: int) -> pd.DataFrame:
    """EDP of all data sets of five records, one deleted, for several priors.

    Parameters
    ----------
    alphas : sequence of float
        Both parameters of the beta prior.
    bins : int
        Number of bins.

    Returns
    -------
    DataFrame
        As `edp_levels` returns, with a column alpha.
    """
    return pd.concat(
        [edp_levels(5, a, ["deleted"], [bins], range(6)).assign(alpha=a) for a in alphas],
        ignore_index=True,
    )


def exact_answers() -> dict[str, float]:
    """Values of the numbers that are exact, at the stated prior: Tables 1 and 2 and section 3.1."""
    table = beta_binomial(5, 5, 0.5)
    found = {f"table1_{x}_{y}": float(np.exp(table.row(x)[y])) for x in range(6) for y in range(6)}
    conditional = conditional_epsilons(5, 0.5)
    at_200 = conditional_epsilons(200, 200 / np.expm1(5.0))
    half = float(np.median(at_200))
    return {
        **found,
        **table_2(0.5),
        "epsilon_11": float(conditional.max()),
        "ratio_11": float(np.exp(table.row(4)[0] - table.row(5)[0])),
        "conditional_extreme": float(conditional[[0, 1, 4, 5]].min()),
        "conditional_middle": float(conditional[2]),
        "half_of_200": half,
        "times_smaller": 5 / half,
        "ratio_times_smaller": float(np.exp(5 - half)),
    }


def against_counts(
    bins: Sequence[int],
    exact: NDArray[np.float64],
    sampled: NDArray[np.float64],
    counted: NDArray[np.float64],
) -> pd.DataFrame:
    """Errors of two estimators of EDP, in percent of the exact value.

    Parameters
    ----------
    bins : sequence of int
        Numbers of bins.
    exact : (n_levels,) float
        Exact EDP.
    sampled, counted : (replicates, n_levels) float
        Estimates from one sample each, and from counts; the replicates may differ.

    Returns
    -------
    DataFrame
        Columns bins, exact, and for both estimators the bias, the root mean squared error and its
        standard error: one_sample_bias, one_sample, one_sample_se, counts_bias, counts, counts_se.
    """
    table = pd.DataFrame({"bins": bins, "exact": exact})
    for name, estimates in (("one_sample", sampled), ("counts", counted)):
        off = 100 * (estimates / exact - 1)
        squared = off**2
        root = np.sqrt(squared.mean(axis=0))
        table[f"{name}_bias"], table[name] = off.mean(axis=0), root
        table[f"{name}_se"] = squared.std(axis=0, ddof=1) / np.sqrt(len(off)) / (2 * root)
    return table


def alike(codes: NDArray[np.int64], records: Sequence[int]) -> list[int]:
    """How many records, itself among them, have all codes of each of the given ones.

    Parameters
    ----------
    codes : (n, n_variables) int
        All records.
    records : sequence of int
        Positions.
    """
    return [int((codes == codes[record]).all(axis=1).sum()) for record in records]


def record_in_words(people: Microdata, record: int, variables: Sequence[int]) -> str:
    """Say what a record holds, by the titles of its variables and the labels of their levels.

    Parameters
    ----------
    people : Microdata
        All records.
    record : int
        Its position.
    variables : sequence of int
        Positions of the variables that are told.
    """
    labels = people.to_frame().iloc[record]
    told = [f"{people.schema.variables[k].title}: {labels.iloc[k]}" for k in variables]
    return "; ".join(told)


def edp_levels(
    n: int, alpha: float, kinds: Sequence[str], bins: Sequence[int], data: Sequence[int]
) -> pd.DataFrame:
    """Exact EDP of the beta-binomial posterior for several data sets.

    Parameters
    ----------
    n : int
        Records.
    alpha : float
        Both parameters of the beta prior.
    kinds : sequence of {"changed", "deleted", "added"}
        What makes a neighbor.
    bins, data : sequence of int
        Numbers of bins; numbers of ones.

    Returns
    -------
    DataFrame
        Columns model, neighbours, x, bins, edp and least_probability, the smallest of a bin under
        a neighbor.
    """
    rows = []
    for kind in kinds:
        for x in data:
            here, there = edp.beta_posterior(x, n, alpha), edp.beta_neighbors(x, n, alpha, kind)
            for b in bins:
                edges = edp.equal_bins(here, b)
                log_prob = np.array([edp.log_bin_probabilities(other, edges) for other in there])
                level = float(np.abs(log_prob + np.log(b)).max())
                rows.append(("beta-binomial", kind, x, b, level, float(np.exp(log_prob.min()))))
    names = ["model", "neighbours", "x", "bins", "edp", "least_probability"]
    return pd.DataFrame(rows, columns=names)


def trial_and_error(
    priors: Sequence[float], target: float, kind: str, n: int = 5, bins: int = 20
) -> tuple[pd.DataFrame, float]:
    """Choose the prior by its EDP, as section 2 proposes, and find what the choice costs.

    The first prior is taken whose EDP is at most the target, and the beta-binomial synthesizer
    releases as many records as there are; which prior it used stays secret.

    Parameters
    ----------
    priors : sequence of float
        Both parameters of the beta priors, in the order in which they are tried.
    target : float
        Largest EDP accepted.
    kind : {"changed", "deleted", "added"}
        What makes a neighbor of EDP.
    n, bins : int
        Records; bins of EDP.

    Returns
    -------
    chosen : DataFrame
        Columns x, alpha, edp and promised, the epsilon that this prior would have if it were used
        for all data.
    epsilon : float
        Exact epsilon of the whole procedure, with one record changed.

    Raises
    ------
    ValueError
        If no prior reaches the target for some data set.
    """
    rows = []
    for x in range(n + 1):
        for alpha in priors:
            level = edp.exact(
                edp.beta_posterior(x, n, alpha), edp.beta_neighbors(x, n, alpha, kind), bins
            ).value
            if level <= target:
                rows.append((x, alpha, level, float(np.log1p(n / alpha))))
                break
        else:
            raise ValueError(f"priors reach no EDP of {target} for x = {x}")
    chosen = pd.DataFrame(rows, columns=["x", "alpha", "edp", "promised"])
    log_prob = np.array([beta_binomial(n, n, alpha).row(x) for x, alpha, *_ in rows])
    return chosen, exact_epsilon(Mechanism.from_table(log_prob, change_one(n))).value


def one_sample_levels(
    theta: NDArray[np.float64], log_weights: NDArray[np.float64], bins: Sequence[int]
) -> NDArray[np.float64]:
    """EDP from one sample at several numbers of bins, weights as they are.

    Parameters
    ----------
    theta : (n_draws,) float
        Draws given the data.
    log_weights : (n_draws, n_neighbors) float
        As of `edp.from_draws`, which gives the same where no Pareto k calls for smoothing.
    bins : sequence of int
        Numbers of bins, each a divisor of the draws.

    Returns
    -------
    (n_levels,) float64
    """
    weights = np.exp(log_weights - log_weights.max(axis=0))[np.argsort(theta, kind="stable")]
    below = np.cumsum(weights, axis=0)
    found = []
    for b in bins:
        step = len(theta) // b
        share = np.diff(below[step - 1 :: step], axis=0, prepend=0.0) / below[-1]
        found.append(np.abs(np.log(share * b)).max())
    return np.array(found)


def largest_distance(n: int, rng: np.random.Generator) -> float:
    """Distance of the most extreme of n normal records from the posterior mean.

    Parameters
    ----------
    n : int
        Records, normal with mean 10 and variance 5.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    float
        In standard deviations of a record, as `tables.normal_edp` takes it.
    """
    y = rng.normal(10.0, np.sqrt(5.0), n)
    return float(np.abs(y - edp.normal_posterior(y).mean()).max() / np.sqrt(5.0))


def expected_empty(n: int, alpha: float, bins: int, draws: int) -> pd.DataFrame:
    """Expected number of bins without draws, for every data set and kind of neighbor.

    The bins are those of the true posterior. The neighbor with the most empty bins counts.

    Parameters
    ----------
    n, alpha
        Records; both parameters of the beta prior.
    bins, draws : int
        Bins, and draws of each neighbor.

    Returns
    -------
    DataFrame
        Columns x (up to half of n), neighbours, edp, least_draws (draws expected in the bin that
        has fewest) and empty, in the order of edp.
    """
    rows = []
    for kind in ("changed", "deleted"):
        for x in range(n // 2 + 1):
            here, there = edp.beta_posterior(x, n, alpha), edp.beta_neighbors(x, n, alpha, kind)
            edges = edp.equal_bins(here, bins)
            log_prob = np.array([edp.log_bin_probabilities(other, edges) for other in there])
            empty = np.exp(draws * np.log1p(-np.exp(log_prob))).sum(axis=1).max()
            level = np.abs(log_prob + np.log(bins)).max()
            rows.append((x, kind, level, draws * np.exp(log_prob.min()), empty))
    names = ["x", "neighbours", "edp", "least_draws", "empty"]
    return pd.DataFrame(rows, columns=names).sort_values("edp", ignore_index=True)


def at_ten_thousand_draws(
    beta: pd.DataFrame, of: tables.Study, distance: float, size: int, *, rng: np.random.Generator
) -> pd.DataFrame:
    """Bias at 10,000 draws by the number of bins, for several data sets.

    Parameters
    ----------
    beta : DataFrame
        Biases of Table 3, as of `tables.beta_cells`.
    of : Study
        Of the normal model.
    distance : float
        Of the most extreme record in the paper's data set.
    size : int
        Simulated sets of bins for the beta-binomial data set with two ones.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    DataFrame
        Columns case (text), bins, relative_bias_percent and bias_se.
    """
    zeros = beta[beta["draws"] == 10_000]
    rules = [float(rule) if rule != edp.DROPPED else rule for rule in zeros["smoothing"]]
    zeros = zeros.assign(case=[f"all zeros, {tables.in_words(rule)}" for rule in rules])
    two = tables.beta_cells(
        edp.beta_posterior(2, 5, 0.5),
        edp.beta_neighbors(2, 5, 0.5, "changed"),
        [10_000],
        [0.01],
        size,
        rng=rng,
    ).assign(case="two ones of five")
    parts = [zeros, two]
    low, high = stats.norm.ppf((1 + np.array([0.05, 0.95]) ** (1 / tables.RECORDS)) / 2)
    named = {
        "normal, the paper's data": distance,
        "normal, 5 % of data sets are less extreme": float(low),
        "normal, 5 % are more extreme": float(high),
    }
    for case, z in named.items():
        cells = tables.normal_cells(of, z, [10_000], [0.01])
        parts.append(cells.assign(case=case))
    columns = ["case", "bins", "relative_bias_percent", "bias_se"]
    return pd.concat([part[columns] for part in parts], ignore_index=True)


def checked_cells(
    beta: pd.DataFrame, of: tables.Study, distance: float, same: pd.DataFrame
) -> pd.DataFrame:
    """Biases of both models with 0.01 added, beside the imprecision that should show them.

    Parameters
    ----------
    beta, same : DataFrame
        As of `tables.beta_cells` and `tables.imprecisions`.
    of : Study
        Of the normal model.
    distance : float
        Of the most extreme record.

    Returns
    -------
    DataFrame
        One row for each model, number of draws and of bins, with the columns of `beta` and of
        `same`, model, estimator and absolute_bias.
    """
    normal = tables.normal_cells(of, distance, of.draws, [0.01])
    cells = pd.concat([beta.assign(model="beta-binomial"), normal.assign(model="normal")])
    cells = cells[cells["smoothing"] == "0.01"].drop(columns="replicate_sd")
    joined = cells.merge(same.drop(columns="replicates"), on=["draws", "bins", "smoothing"])
    joined = joined.sort_values(["model", "draws", "bins"], ignore_index=True)
    return joined.assign(
        estimator="counts, 0.01 added",
        absolute_bias=joined["relative_bias_percent"] / 100 * joined["exact"],
    )


def compare_estimators(samples: int, draws: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare one posterior sample with counts of as many draws for each neighbor.

    The normal model has a hundred records, each left out in turn; the beta-binomial one five zeros,
    one of which becomes a one.

    Parameters
    ----------
    samples, draws : int
        Samples; draws of each, a multiple of all numbers of bins.
    seed : int
        Of the streams of chance.

    Returns
    -------
    errors : DataFrame
        As `both_models` returns.
    single : DataFrame
        The first beta-binomial sample: bins, exact, one_sample, standard_error,
        probability_off_by_percent (of the neighbor's bin that attains EDP) and draws_for_0.01.
    """
    y = stream(seed, "one sample").normal(10, np.sqrt(5), 100)
    post = edp.normal_posterior(y)
    away = (y - post.mean()) / np.sqrt(5)
    sampled, from_odds, counted, beta_counted = [], [], [], []
    for i in range(samples):
        theta = post.rvs(draws, random_state=stream(seed, f"theta {i}"))
        log_weights = (y - theta[:, None]) ** 2 / 10
        sampled.append(one_sample_levels(theta, log_weights, BINS))
        p = edp.beta_posterior(0, 5, 0.5).rvs(draws, random_state=stream(seed, f"p {i}"))
        log_odds = (np.log(p) - np.log1p(-p))[:, None]
        from_odds.append(one_sample_levels(p, log_odds, BINS))
    here, there = edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "changed")
    for b in BINS:
        rng = stream(seed, f"counts {b}")
        found = tables.simulate_normal(away, b, draws, 30, rng=rng)
        counted.append(tables.estimate(found, b, draws, 0.01))
        found = tables.extremes(edp.simulate_counts(here, there, b, draws, 60, rng=rng))
        beta_counted.append(tables.estimate(found, b, draws, 0.01))
    largest = float(np.abs(away).max())
    errors = both_models(largest, sampled, counted, from_odds, beta_counted)
    first = edp.beta_posterior(0, 5, 0.5).rvs(draws, random_state=stream(seed, "p 0"))
    log_odds = (np.log(first) - np.log1p(-first))[:, None]
    rows = []
    for b in BINS:
        one, exact = edp.from_draws(first, log_odds, b), edp.exact(here, there, b).value
        off = 100 * float(np.expm1(exact - one.value))
        rows.append((b, exact, one.value, one.mcse, off, one.draws_needed(0.01)))
    names = ["bins", "exact", "one_sample", "standard_error", "probability_off_by_percent"]
    return errors, pd.DataFrame(rows, columns=[*names, "draws_for_0.01"])


def both_models(
    distance: float,
    sampled: Sequence[NDArray[np.float64]],
    counted: Sequence[NDArray[np.float64]],
    from_odds: Sequence[NDArray[np.float64]],
    beta_counted: Sequence[NDArray[np.float64]],
) -> pd.DataFrame:
    """Errors of one posterior sample and of counts in the normal and the beta-binomial model.

    Parameters
    ----------
    distance : float
        Of the most extreme normal record.
    sampled, from_odds : sequence of (n_levels,) float
        Estimates from single samples, normal and beta-binomial.
    counted, beta_counted : sequence of (size,) float
        Estimates from counts, for each number of bins.

    Returns
    -------
    DataFrame
        Column model, and those of `against_counts`.
    """
    normal = np.array([tables.normal_edp([distance], b)[0] for b in BINS])
    here, there = edp.beta_posterior(0, 5, 0.5), edp.beta_neighbors(0, 5, 0.5, "changed")
    beta = np.array([edp.exact(here, there, b).value for b in BINS])
    cases = {
        "normal": (normal, sampled, counted),
        "beta-binomial": (beta, from_odds, beta_counted),
    }
    return pd.concat(
        [
            against_counts(BINS, exact, np.array(one), np.array(counts).T).assign(model=model)
            for model, (exact, one, counts) in cases.items()
        ],
        ignore_index=True,
    )


def of_one_data_set(joint: pd.DataFrame, others: tuple[float, float, float], odds: float) -> str:
    """Say what the three columns of Table 4 tell of their data.

    Parameters
    ----------
    joint : DataFrame
        As `tables.one_data_set` returns.
    others : (float, float, float)
        As `tables.agreeing` returns for the second and the third column.
    odds : float
        As `tables.odds_of_saturated` returns.
    """
    best = joint.loc[joint["joint"].idxmax()]
    rest = joint["joint"].drop(joint["joint"].idxmax())
    best_distance, low, high = others
    gain, ahead = best["joint"] - best["separate"], best["joint"] - rest.max()
    return (
        f"The second and the third column agree on a distance of {best_distance:.2f} ({low:.2f} to "
        f"{high:.2f}), with 0.01 added. All three together are most probable with "
        f"{best['treatment']} and {best['distance']:.3f}: {10**ahead:,.0f} "
        "times as probable as under the next treatment, and "
        f"{10**gain:,.0f} times as probable as with a data set for each column. That the entry of "
        f"250 bins is right and not that of 100 is {odds:,.1f} times as probable as the reverse."
    )


def of_effective_draws(chain: Mapping[str, float]) -> str:
    """Say what an imprecision tells of a chain, from what `tables.effective_draws` returns."""
    return (
        f"One comparison of 10,000 independent draws has a mean imprecision of "
        f"{chain['independent']:.3f}. A mean of 0.27 takes {chain['draws']:,.0f} effective draws; "
        f"0.27 is the 5 % point for {chain['low']:,.0f} and the 95 % point for "
        f"{chain['high']:,.0f}."
    )


# -------------------------------------------------------------------------- verdicts on the claims

# A bias that is called bad, in percent: the paper calls 1.75 estimated and 18.97 not.
BAD = 10.0
# The check that Abowd, Schneider and Vilhuber passed: an imprecision of 0.27 for an EDP of 3.27.
PASSED = 0.27 / 3.27


def far_below(conditional: pd.DataFrame) -> Verdict:
    """Judge C1: conditional epsilons of most data sets are below half of epsilon.

    Parameters
    ----------
    conditional : DataFrame
        Columns epsilon, n and conditional_epsilon.
    """
    low = conditional["conditional_epsilon"] < conditional["epsilon"] / 2
    share = low.groupby([conditional["epsilon"], conditional["n"]]).mean()
    most = share > 0.5
    cases = "; ".join(
        f"at epsilon {epsilon:g} in {of.sum()} of {len(of)} sizes"
        for epsilon, of in most.groupby(level=0)
    )
    word = HOLDS if most.all() else "depends on the number of records and on epsilon"
    return Verdict(
        word if most.any() else FAILS,
        f"More than half of the data sets are below half of epsilon {cases}. The share is "
        f"{percent(share.min())} to {percent(share.max())}.",
    )


def grows(levels: pd.DataFrame, peak: pd.DataFrame) -> Verdict:
    """Judge C2: EDP never falls as the bins become more.

    Parameters
    ----------
    levels : DataFrame
        Of the paper's model: x, neighbours, bins (all whole numbers of a range) and edp.
    peak : DataFrame
        Of another likelihood: bins (all whole numbers of a range) and EDP.
    """
    step = levels.sort_values("bins").groupby(["x", "neighbours"])["edp"].diff().min()
    most = levels["bins"].max()
    if step < -1e-9:
        return Verdict(FAILS, f"Up to {most} bins EDP falls by up to {-step:.3g} at one bin more.")
    proved = (
        "It is proved where each bin is split alike, in any model, and for all numbers of bins "
        "where likelihood ratios are monotone. Enumeration of the paper's model agrees: the least "
        f"step from 2 to {most} bins is {step:+.2g}."
    )
    other = peak.sort_values("bins").set_index("bins")["EDP"]
    if (fall := -other.diff()).max() <= 1e-9:
        return Verdict(PROVED, proved)
    at = int(fall.idxmax())
    return Verdict(
        "depends on the likelihood",
        f"{proved} With a narrow peak EDP falls from {other[at - 1]:.3f} at {at - 1} bins to "
        f"{other[at]:.3f} at {at}.",
    )


def prior_direction(priors: pd.DataFrame) -> Verdict:
    """Judge C3: EDP rises with the prior's information, for each data set.

    Parameters
    ----------
    priors : DataFrame
        Columns x, alpha and edp; more alpha, more information.
    """
    steps = priors.pivot(index="alpha", columns="x", values="edp").sort_index().diff().iloc[1:]
    rising, falling = (steps > 0).all(), (steps < 0).all()
    word = HOLDS if rising.all() else "depends on the data set" if rising.any() else FAILS
    return Verdict(
        word,
        f"EDP falls throughout as the prior becomes less informative for {rising.sum()} of "
        f"{len(rising)} data sets, rises throughout for {falling.sum()} and does both for "
        f"{len(rising) - rising.sum() - falling.sum()}.",
    )


def badly_biased(cases: pd.DataFrame) -> Verdict:
    """Judge C4: at 10,000 draws the estimate is off by more than a tenth.

    Parameters
    ----------
    cases : DataFrame
        Columns case (text), bins, relative_bias_percent and bias_se.
    """
    size, margin = cases["relative_bias_percent"].abs(), ERRORS * cases["bias_se"]
    bad, fine = size - margin > BAD, size + margin < BAD
    mixed = "depends on the bins and the data set" if bad.any() and fine.any() else UNDECIDED
    word = HOLDS if bad.all() else FAILS if fine.all() else mixed
    listed = ", ".join(
        f"{of.sum()} of {len(of)} at {bins} bins" for bins, of in bad.groupby(cases["bins"])
    )
    return Verdict(
        word,
        f"With 10,000 draws the bias exceeds {percent(BAD / 100)}, beyond two errors, in {listed}.",
    )


def check_hides(cells: pd.DataFrame) -> Verdict:
    """Judge C5: the imprecision passes where the estimate is off by more than a tenth.

    Parameters
    ----------
    cells : DataFrame
        Columns model, exact, relative_bias_percent, bias_se and imprecision.
    """
    bias = cells["relative_bias_percent"]
    passes = cells["imprecision"] <= PASSED * cells["exact"] * (1 + bias / 100)
    hidden = passes & (bias.abs() - ERRORS * cells["bias_se"] > BAD)
    times = (bias / 100 * cells["exact"]).abs() / cells["imprecision"]
    flags = pd.DataFrame({"passes": passes, "hidden": hidden}).groupby(cells["model"])
    of, found = flags.sum().assign(times=times.groupby(cells["model"]).max()), flags["hidden"].any()
    word = HOLDS if found.all() else "depends on the model" if found.any() else FAILS
    listed = "; ".join(
        f"in the {name} model {row['hidden']:.0f} of the {row['passes']:.0f} cells that pass are "
        f"off by more than {BAD:g} %, and the bias is at most {row['times']:.1f} times the "
        "imprecision"
        for name, row in of.iterrows()
    )
    return Verdict(word, f"{listed[0].upper()}{listed[1:]}.")


def one_sample_helps(errors: pd.DataFrame) -> Verdict:
    """Judge C6: importance weights have smaller errors than counts, at each number of bins.

    Parameters
    ----------
    errors : DataFrame
        Columns one_sample and counts, root mean squared errors in percent, and one_sample_se and
        counts_se.
    """
    apart = errors["counts"] - errors["one_sample"]
    margin = ERRORS * np.hypot(errors["one_sample_se"], errors["counts_se"])
    better, worse = apart > margin, apart < -margin
    word = HOLDS if better.all() else FAILS if worse.all() else UNDECIDED
    if better.any() and not better.all():
        word = "depends on the number of bins"
    ratio = errors["counts"] / errors["one_sample"]
    return Verdict(
        word,
        f"In {better.sum()} of {len(errors)} cases the weights' root mean squared error is smaller "
        f"by more than two errors; that of the counts is {ratio.min():.1f} to {ratio.max():.0f} "
        "times as large.",
    )


def smoothing_matters(cells: pd.DataFrame) -> Verdict:
    """Judge C7: what is added to the counts moves no bias by more than a tenth of EDP.

    Parameters
    ----------
    cells : DataFrame
        Columns model, draws, bins, smoothing, relative_bias_percent and bias_se.
    """
    cell = cells.groupby(["model", "draws", "bins"])
    moved = cell["relative_bias_percent"].max() - cell["relative_bias_percent"].min()
    margin, at = ERRORS * np.sqrt(2) * cell["bias_se"].max(), moved.idxmax()
    more, less = moved - margin > BAD, moved + margin < BAD
    return Verdict(
        FAILS if more.any() else HOLDS if less.all() else UNDECIDED,
        f"Among the constants {', '.join(sorted(set(cells['smoothing'])))} the bias moves by more "
        f"than {BAD:g} percentage points, beyond two errors, in {more.sum()} of {len(moved)} "
        f"cells, at most by {moved.max():.0f} ({at[0]} model, {at[1]:,} draws, {at[2]} bins).",
    )


def empty_where_small(cells: pd.DataFrame) -> Verdict:
    """Judge C8: bins are empty where EDP is small.

    Parameters
    ----------
    cells : DataFrame
        Columns edp and empty, the expected number of empty bins, at one number of draws and bins.
    """
    rank = float(stats.spearmanr(cells["edp"], cells["empty"]).statistic)
    small, large = cells.loc[cells["edp"].idxmin()], cells.loc[cells["edp"].idxmax()]
    return Verdict(
        HOLDS if rank < 0 else FAILS if rank > 0 else UNDECIDED,
        f"At the smallest EDP, {small['edp']:.2f}, one expects {small['empty']:.2f} empty bins, at "
        f"the largest, {large['edp']:.2f}, {large['empty']:.2f}. The rank correlation of EDP and "
        f"empty bins is {rank:+.2f}.",
    )


def falls_with_records(levels: pd.DataFrame) -> Verdict:
    """Judge C9: EDP of the largest data set is less than half that of the smallest.

    Parameters
    ----------
    levels : DataFrame
        Columns neighbours, case (text), n and edp.
    """
    cases = levels.sort_values("n").groupby(["neighbours", "case"], sort=False)
    ends = cases[["n", "edp"]].agg(["first", "last"])
    few, many = (ends.xs(end, axis=1, level=1) for end in ("first", "last"))
    half = many["edp"] < few["edp"] / 2
    listed = ", ".join(
        f"from {few.at[case, 'edp']:.3g} at {few.at[case, 'n']:,} records to "
        f"{many.at[case, 'edp']:.3g} at {many.at[case, 'n']:,} ({case[1]}, a record {case[0]})"
        for case in ends.index
    )
    always = half.groupby(level="neighbours").all()
    mixed = "depends on the neighbor" if always.any() else "depends on the data"
    word = HOLDS if half.all() else mixed if half.any() else FAILS
    return Verdict(word, f"EDP goes {listed}.")


# --------------------------------------------------------------------------------------- the ledger


def book(
    beta: pd.DataFrame,
    same: pd.DataFrame,
    of: tables.Study,
    n: int,
    alpha: float,
    n_bins: int,
    replicates: int,
    sizes: Sequence[int],
) -> pd.DataFrame:
    """Compare all printed numbers with what the paper's stated conventions give.

    Parameters
    ----------
    beta : DataFrame
        Biases of Table 3 at the stated prior, as of `tables.beta_cells`, among others with 0.01.
    same : DataFrame
        As of `tables.imprecisions`, among others with 0.01.
    of : Study
        Of the normal model, at the draws of the headings. Biases of Table 4 are those of the data
        set that explains their column best.
    n, alpha, n_bins, replicates, sizes
        Parameters of the run.

    Returns
    -------
    DataFrame
        As `ledger` returns. Entries of Table 2 are judged as rounded. Tolerances of Table 3 and of
        imprecisions are two standard errors of the difference between two simulations, ours and
        one of a hundred replicates, and half a unit of the last digit. Biases of Table 4, whose
        headings are refuted, have to come out to the last digit under them: the error of fewer
        draws is no allowance for more.
    """
    computed, tolerances = dict(exact_answers()), {}

    def add(key: str, value: float, error: float, unit: float) -> None:
        computed[key] = value
        tolerances[key] = ERRORS * error + unit / 2

    stated = beta[beta["smoothing"] == "0.01"]
    for row, error in zip(stated.to_dict("records"), tables.error_of_printed(stated), strict=True):
        key = f"table3_rb_{row['bins']}_{row['draws']}"
        add(key, row["relative_bias_percent"], float(error), 0.01)
    for row in same[same["smoothing"] == "0.01"].to_dict("records"):
        paper_too = float(np.sqrt(1 + row["replicates"] / tables.REPLICATES))
        for table in ("table3", "table4"):
            key = f"{table}_emi_{row['bins']}_{row['draws']}"
            if row["draws"] in tables.DRAWS:
                add(key, row["imprecision"], row["imprecision_se"] * paper_too, 0.001)
    for draws in tables.DRAWS:
        found = tables.explain(of, tables.told(draws), draws, 0.01)
        for bins, bias in zip(tables.BINS, found.bias, strict=True):
            computed[f"table4_rb_{bins}_{draws}"] = float(bias)
    unit = printed("charest_han").set_index("id")["tolerance"]
    tolerances = {key: max(value, unit[key]) for key, value in tolerances.items()}
    tolerances |= dict.fromkeys([key for key in computed if key.startswith("table2")], 0.005)
    computed |= {"caption_n": 5.0}
    notes = dict.fromkeys([key for key in computed if key.startswith("table2")], ROUNDED)
    notes |= dict.fromkeys([key for key in computed if key.startswith("table3")], EMPTY)
    notes |= dict.fromkeys([key for key in computed if key.startswith("table4")], TENTH)
    notes["caption_n"] = "its exact values are those of n = 5; section Estimates from draws"
    consistent = {
        "abowd_imprecision": (float(np.log(500 / 382)), "382 of 10,000 draws in one of 20 bins"),
        "abowd_edp": (float(np.log(500 / 19)), "19 of 10,000 draws in one of 20 bins"),
    }
    settings = {
        "n": n,
        "alpha": alpha,
        "bins_used": n_bins,
        "replicates": replicates,
        "smoothing": 0.01,
        "abowd_draws": 10_000,
        "normal_mean": 10,
        "normal_variance": tables.VARIANCE,
        "prior_mean": 10,
        "prior_variance": tables.PRIOR_VARIANCE,
        "normal_datasets": 100,
        "size_small": min(sizes),
        "size_middle": float(np.median(sizes)),
        "size_large": max(sizes),
    }
    return ledger(
        "charest_han",
        computed,
        settings=settings,
        tolerances=tolerances,
        notes=notes,
        consistent=consistent,
        missing="needs the data of Abowd and others",
    )


@one_blas_thread
def sample_logistic(
    outcome: ArrayLike,
    predictors: ArrayLike,
    *,
    prior_sd: float,
    burn_in: int,
    n_draws: int,
    thin: int,
    n_chains: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draws from the posterior of a logistic regression, by random-walk Metropolis.

    Proposals have the covariance of the normal approximation at the mode, scaled for the dimension;
    chains start from it with twice its spread.

    Parameters
    ----------
    outcome : (n,) bool or 0/1
        Whether the event happened.
    predictors : (n, p) float
        Design matrix; an intercept is put first.
    prior_sd : float
        Standard deviation of the independent normal priors of all coefficients, positive.
    burn_in, n_draws, thin, n_chains : int
        Steps dropped, draws kept of each chain, steps for each draw, and chains.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    beta : (n_chains, n_draws, p + 1) float64
    log_likelihood : (n_chains, n_draws, n) float64
        Of each record.
    """
    checks.positive(prior_sd=prior_sd)
    y = np.asarray(outcome, dtype=float)
    x = np.column_stack([np.ones(len(y)), np.asarray(predictors, dtype=float)])
    size = x.shape[1]
    mode = np.zeros(size)
    for _ in range(50):  # Newton steps; the prior makes the posterior strictly concave
        p = expit(x @ mode)
        information = (x * (p * (1 - p))[:, None]).T @ x + np.eye(size) / prior_sd**2
        mode = mode + np.linalg.solve(information, x.T @ (y - p) - mode / prior_sd**2)
    root = np.linalg.cholesky(np.linalg.inv(information))

    def pointwise(beta: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.logaddexp(0.0, (1 - 2 * y) * (beta @ x.T))

    beta = mode + 2 * rng.normal(size=(n_chains, size)) @ root.T
    each = pointwise(beta)
    target = each.sum(axis=1) - (beta**2).sum(axis=1) / (2 * prior_sd**2)
    draws = np.empty((n_chains, n_draws, size))
    log_likelihood = np.empty((n_chains, n_draws, len(y)))
    for step in range(burn_in + n_draws * thin):
        proposal = beta + 2.4 / np.sqrt(size) * rng.normal(size=beta.shape) @ root.T
        new = pointwise(proposal)
        value = new.sum(axis=1) - (proposal**2).sum(axis=1) / (2 * prior_sd**2)
        moves = np.log(rng.random(n_chains)) < value - target
        beta[moves], each[moves], target[moves] = proposal[moves], new[moves], value[moves]
        kept, rest = divmod(step - burn_in, thin)
        if step >= burn_in and rest == thin - 1:
            draws[:, kept], log_likelihood[:, kept] = beta, each
    return draws, log_likelihood
