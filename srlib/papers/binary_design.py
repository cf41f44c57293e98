"""The cases of McClure and Reiter (2012): pairs, chains and tables about them.

A case is a true proportion p0 and a budget epsilon; each budget has a mechanism for counts. The
record at risk has a one, or a zero where the data hold none.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from srlib.diagnostics import CONVERGED
from srlib.mechanism import acceptance
from srlib.mechanism.acceptance import Rule
from srlib.mechanism.bayes import epsilon_bound, posterior
from srlib.mechanism.core import Mechanism, add_one_record, change_one, stack
from srlib.mechanism.families import (
    bernoulli_plugin,
    bernoulli_plugin_alpha,
    compositions,
    private_plugin,
)
from srlib.mechanism.privacy import Epsilon, exact_epsilon
from srlib.mechanism.proportion import Pairs, Study
from srlib.papers import proportion_chain as by_chain
from srlib.progress import tracked
from srlib.rng import stream

Tables = Mapping[float, Mechanism]
Exact = Mapping[tuple[float, float], Pairs]
Family = Callable[[float], Mechanism]
WITHIN = 0.1  # of the exact U: half the width of a point in Figures 1 and 2, about


def changed(n: int) -> NDArray[np.int64]:
    """Count of ones when the record at risk has its other value, for X = 0 to n, (n + 1,)."""
    ones = np.arange(n + 1)
    return np.where(ones > 0, ones - 1, 1)


def all_pairs(
    tables: Tables, p0: Sequence[float], prior: float
) -> dict[tuple[float, float], Pairs]:
    """Compute every pair of data set and release of each case.

    Parameters
    ----------
    tables : mapping of float to Mechanism
        A mechanism for each budget.
    p0 : sequence of float
        True proportions.
    prior : float
        The intruder's prior probability of the record's true value.
    """
    return {
        (p, e): Study(table, p).all_pairs(changed(table.n_inputs - 1), prior)
        for p in p0
        for e, table in tables.items()
    }


def cases(p0: Iterable[float], epsilon: Iterable[float]) -> pd.DataFrame:
    """One row for each case, in the order of p0, then epsilon."""
    return pd.DataFrame(list(itertools.product(p0, epsilon)), columns=["p0", "epsilon"])


def draw_pairs(
    tables: Tables, cases: pd.DataFrame, prior: float, size: int, seed: int
) -> pd.DataFrame:
    """Draw pairs of data set and release for each case.

    Parameters
    ----------
    tables, prior
        As of `all_pairs`.
    cases : DataFrame
        p0 and epsilon.
    size : int
        Pairs for each case.
    seed : int
        Of the run; each case has a stream of its own.

    Returns
    -------
    DataFrame
        p0, epsilon, replicate, all_zeros, and the attributes of `Pairs` but the probability.
    """
    found = []
    for p, e in cases.itertuples(index=False):
        study, rng = Study(tables[e], p), stream(seed, f"pairs, p0 = {p:g}, epsilon = {e:g}")
        drawn = pd.DataFrame(vars(study.draw_pairs(changed(study.n), prior, size, rng=rng)))
        names = {"p0": p, "epsilon": e, "replicate": np.arange(1, size + 1)}
        found.append(drawn.assign(**names, all_zeros=drawn["x"] == 0).drop(columns="probability"))
    return pd.concat(found, ignore_index=True)


def ranges_along_budgets(
    family: Family, budgets: Sequence[float], p0: Sequence[float], prior: float
) -> pd.DataFrame:
    """Ranges of risk and utility for each case on a grid of budgets.

    Parameters
    ----------
    family : callable
        From a budget to a mechanism.
    budgets, p0 : sequence of float
        The grid.
    prior : float
        The intruder's prior probability of the record's true value.

    Returns
    -------
    DataFrame
        epsilon, p0, and what `Pairs.ranges` returns.
    """
    grid = [(e, p) for e in budgets for p in p0]
    rows = []
    for e, p in tracked(grid, "frontier"):
        table = family(e)
        found = Study(table, p).all_pairs(changed(table.n_inputs - 1), prior)
        rows.append({"epsilon": e, "p0": p} | found.ranges())
    return pd.DataFrame(rows)


def ranges_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Name the columns of `Pairs.ranges` for readers; the 99 % quantile is left out."""
    of = {"low": "5 %", "median": "median", "high": "95 %"}
    names = {f"{a}_{k}": f"{a}, {v}" for a in ("risk", "utility") for k, v in of.items()}
    return table.drop(columns="risk_99").rename(columns=names)


def unequal_parameters(
    n: int,
    n_s: int,
    epsilon: float,
    p0: Sequence[float],
    prior: float,
    ratios: Sequence[float] = (0.01, 0.25, 1.0, 4.0, 100.0),
) -> pd.DataFrame:
    """Exact epsilon and expected increase in risk at unequal alpha and beta (section 3.2).

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release.
    epsilon : float
        The budget, from which the smaller parameter follows.
    p0 : sequence of float
        True proportions.
    prior : float
        The intruder's prior probability of the truth.
    ratios : sequence of float
        beta over alpha.
    """
    least, rows = bernoulli_plugin_alpha(epsilon, n_s), []
    for ratio in ratios:
        alpha, beta = least * max(1, 1 / ratio), least * max(1, ratio)
        table = bernoulli_plugin(n, n_s, alpha, beta)
        row = {"β / α": ratio, "ε by the paper's equation 10": n_s * float(np.log1p(1 / alpha))}
        row["exact ε"] = exact_epsilon(table).value
        for p in dict.fromkeys(p0):
            pairs = Study(table, p).all_pairs(changed(n), prior)
            row[f"increase, p₀ = {p:g}"] = pairs.expected_increase(prior)
        rows.append(row)
    return pd.DataFrame(rows)


def one_record_more(n: int, n_s: int, epsilon: float) -> tuple[Epsilon, float]:
    """Compute epsilon where neighbors have one record more or less instead of a changed one.

    Parameters
    ----------
    n, n_s : int
        Records in the smaller data sets and in the release.
    epsilon : float
        The budget for a changed record, from which alpha follows.

    Returns
    -------
    exact : Epsilon
        Over data of n and n + 1 records.
    less : float
        What the larger denominator takes off at the corner, n_s log(1 + 1 / (n + 2 alpha)).
    """
    alpha, sizes = bernoulli_plugin_alpha(epsilon, n_s), (n, n + 1)
    counts = np.vstack([compositions(size, 2) for size in sizes])
    names = [f"X = {ones} of {ones + zeros}" for ones, zeros in counts]
    both = [bernoulli_plugin(size, n_s, alpha) for size in sizes]
    exact = exact_epsilon(stack(both, add_one_record(counts), names))
    return exact, float(n_s * np.log1p(1 / (n + 2 * alpha)))


def with_calibrated_prior(exact: Exact, tables: Tables) -> pd.DataFrame:
    """Compare what intruders expect to gain: with the prior of the pairs, and with the prior p0.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs.
    tables : mapping of float to Mechanism
        A mechanism for each budget.

    Returns
    -------
    DataFrame
        p0, epsilon, expected_increase_calibrated (equation 6 where the prior of a one is p0), and
        the expected log RR under that prior, log_gain_of_one and log_gain (over all records).
    """
    rows = []
    for (p, e), pairs in exact.items():
        of_truth = np.where(np.arange(tables[e].n_inputs) > 0, p, 1 - p)
        one, average = Study(tables[e], p).expected_log_gain()
        names = {"p0": p, "epsilon": e}
        names |= {"expected_increase_calibrated": pairs.expected_increase(of_truth)}
        rows.append(names | {"log_gain_of_one": one, "log_gain": average})
    return pd.DataFrame(rows)


def budgets_for_risk(
    path: pd.DataFrame, prior: float, goals: Sequence[float] = (0.55, 0.6, 0.75, 0.9)
) -> pd.DataFrame:
    """Largest budgets that keep a risk below some values: for any release, and for 99 % of them.

    Parameters
    ----------
    path : DataFrame
        p0, epsilon and risk_99, the 99 % quantile of the risk.
    prior : float
        The intruder's prior probability; goals that are not above it are left out.
    goals : sequence of float
        What the risk must not exceed.

    Returns
    -------
    DataFrame
        A row for each goal. Budgets are those of `path`; where even the largest of them does, the
        text says so with ``≥``.
    """
    risks = path.drop_duplicates(["p0", "epsilon"]).pivot(
        index="epsilon", columns="p0", values="risk_99"
    )
    wanted = [goal for goal in goals if 0 < prior < goal]
    needed = pd.DataFrame({"R at most": np.array(wanted, dtype=float)})
    needed["ε, any release"] = [float(epsilon_bound(goal, prior)) for goal in wanted]

    def largest(of_p: pd.Series, goal: float) -> str:
        enough = of_p.cummax() <= goal
        if enough.all():
            return f"≥ {of_p.index.max():,.4g}"
        return f"{of_p.index[enough].max():,.4g}" if enough.any() else "none"

    for p, of_p in risks.items():
        needed[f"ε, 99 % of releases, p₀ = {p:g}"] = [largest(of_p, goal) for goal in wanted]
    return needed


def relative_risk_lines(pairs: pd.DataFrame, n_priors: int, points: int = 12) -> pd.DataFrame:
    """Lines of relative risk against risk, one for each pair, as points (Figures 3 and 4).

    Parameters
    ----------
    pairs : DataFrame
        log_ratio, with further columns that are repeated.
    n_priors : int
        Equally spaced priors in (0, 1), whose first and last are the ends of a line.
    points : int
        Points for each line.
    """
    ends = 1 / (n_priors + 1), n_priors / (n_priors + 1)
    drawn = pairs.reset_index(names="release")
    lines = np.array([acceptance.line(a, ends, points) for a in drawn["log_ratio"]])
    risk, relative_risk = lines.transpose(1, 0, 2).reshape(2, -1)
    return drawn.loc[drawn.index.repeat(points)].assign(risk=risk, relative_risk=relative_risk)


def limits_exceeded(
    exact: Exact, limits: Sequence[float] = (1.25, 2.0), sizes: Sequence[int] = (1, 10)
) -> pd.DataFrame:
    """Probability that L exceeds limits in some of one or more releases.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs.
    limits : sequence of float
        Of L.
    sizes : sequence of int
        Numbers of independent releases.
    """
    table = pd.DataFrame(list(exact), columns=["p0", "epsilon"])
    for limit, size in itertools.product(limits, sizes):
        chances = [q.chance(q.log_ratio > np.log(limit), size) for q in exact.values()]
        table[f"L > {limit:g}, {size} release{'s'[: size > 1]}"] = chances
    return table


# ------------------------------------------------------------------------------------- the chains


def run_chains(tables: Tables, pairs: pd.DataFrame, seed: int, **chain: int) -> pd.DataFrame:
    """Run the paper's chain for every pair.

    Parameters
    ----------
    tables : mapping of float to Mechanism
        A mechanism for each budget.
    pairs : DataFrame
        As `draw_pairs` returns.
    seed : int
        Of the run; each pair has a stream of its own.
    **chain : int
        burn_in, n_steps and n_chains, as of `proportion_chain.utility_by_chain`.

    Returns
    -------
    DataFrame
        `pairs` with what the chains report.
    """
    told = []
    for q in tracked(list(pairs.to_dict("records")), "chains"):
        name = f"chains, p0 = {q['p0']:g}, epsilon = {q['epsilon']:g}, replicate {q['replicate']}"
        study = Study(tables[q["epsilon"]], q["p0"])
        rng = stream(seed, name)
        told.append(by_chain.utility_by_chain(study, q["x"], q["x_star"], rng=rng, **chain))
    return pairs.join(pd.DataFrame(told))


def chains_by_budget(replicates: pd.DataFrame) -> pd.DataFrame:
    """Convergence and error of the chains, a row for each budget.

    Parameters
    ----------
    replicates : DataFrame
        As `run_chains` returns.
    """
    off = (replicates["utility_mcmc"] - replicates["utility"]).abs()
    judged = replicates.assign(
        off=off,
        beyond=off > 3 * replicates["mcse"],
        good=replicates["verdict"] == CONVERGED,
        near=(replicates["utility_one_chain"] - replicates["utility"]).abs() <= WITHIN,
    ).groupby("epsilon", sort=False)
    return judged.agg(
        **{
            "pairs": ("off", "size"), "converged": ("good", "sum"),
            "largest R-hat": ("r_hat", "max"), "fewest effective draws": ("ess_bulk", "min"),
            "largest error of U": ("off", "max"), "off by more than 3 errors": ("beyond", "sum"),
            f"single chain within {WITHIN}": ("near", "sum"),
        }
    ).reset_index()  # fmt: skip


def typical(tables: Tables, p0: float, epsilon: float) -> tuple[Study, int, int]:
    """The study of a case, with typical data and the release that they make most probable."""
    table = tables[epsilon]
    x = round((table.n_inputs - 1) * p0)
    return Study(table, p0), x, int(table.row(x).argmax())


def walks(tables: Tables, p0: float, epsilon: float, seed: int, **chain: int) -> NDArray[np.int64]:
    """X along the paper's chains for a typical release, from their start.

    Parameters
    ----------
    tables, p0, epsilon
        As of `typical`.
    seed : int
        Of the run.
    **chain : int
        n_steps (all are returned) and n_chains.

    Returns
    -------
    (n_chains, n_steps) int64
    """
    study, _, x_star = typical(tables, p0, epsilon)
    rng = stream(seed, f"walks {p0:g} {epsilon:g}")
    return by_chain.sample_proportion(study, x_star, rng=rng, **chain)[1]


def anatomy(
    tables: Tables, cases: pd.DataFrame, seed: int, n_chains: int, **chain: int
) -> pd.DataFrame:
    """What the paper's chain reports for typical releases: exactly, in expectation, and in runs.

    Parameters
    ----------
    tables : mapping of float to Mechanism
        A mechanism for each budget.
    cases : DataFrame
        p0 and epsilon.
    seed : int
        Of the run.
    n_chains : int
        Chains that are run.
    **chain : int
        burn_in and n_steps.
    """
    rows = []
    for p, e in cases.drop_duplicates().itertuples(index=False):
        (study, x, x_star), rng = typical(tables, p, e), stream(seed, f"anatomy {p:g} {e:g}")
        told = by_chain.utility_by_chain(study, x, x_star, n_chains=n_chains, rng=rng, **chain)
        rows.append(
            {
                "p0": p,
                "epsilon": e,
                "relaxation time, steps": by_chain.relaxation_time(by_chain.walk(study, x_star)),
                "U, exact": float(study.utility(x, x_star)),
                "U, mean of chains": by_chain.expected_utility_by_chain(study, x, x_star, **chain),
                "U, lowest chain": told["utility_lowest"],
                "U, highest chain": told["utility_highest"],
                "R-hat": told["r_hat"],
            }
        )
    return pd.DataFrame(rows)


def readings_of_the_proposal(mechanism: Mechanism, p0: float) -> pd.DataFrame:
    """What the proposal of Appendix B, read in three ways, does to a posterior and to U.

    Parameters
    ----------
    mechanism : Mechanism
        Rows X = 0 to n.
    p0 : float
        The true proportion; the data are typical, the release is the most probable one.

    Returns
    -------
    DataFrame
        For each reading the probability of X below 2, U, and the relaxation time of the walk (not
        of the last reading, which has another acceptance probability).
    """
    study, x, x_star = typical({0.0: mechanism}, p0, 0.0)
    n, ones = study.n, np.arange(study.n + 1)
    log_weight = mechanism.column(x_star) + study.log_count_prior()
    literal = by_chain.one_step_proposal(n)
    literal[min(1, n - 1)] = 0
    used = "one half for 1 ≤ X ≤ n - 1 (used here)"
    unseen = np.where(ones < min(2, n), -np.inf, log_weight)
    log_weights = {
        used: log_weight,
        "literally: no way through X = 1": unseen,
        "ends without the factor 2": log_weight - np.log(2) * np.isin(ones, [0, n]),
    }
    weights = np.exp(posterior(np.array(list(log_weights.values()))))
    error = study.squared_error_given_count()
    table = pd.DataFrame({"reading": list(log_weights), "P(X < 2)": weights[:, :2].sum(axis=1)})
    table["U"] = np.log10(weights @ error / error[x])
    times = [by_chain.relaxation_time(by_chain.walk(study, x_star, way)) for way in (None, literal)]
    return table.assign(**{"relaxation time, steps": [*times, np.nan]})


def single_chains(
    tables: Tables,
    exact: Exact,
    cases: Iterable[tuple[float, float]],
    size: int,
    seed: int,
    **chain: int,
) -> dict[tuple[float, float], NDArray[np.float64]]:
    """Utilities of independent pairs, each computed by one chain as in the paper.

    Parameters
    ----------
    tables, exact
        As of `with_calibrated_prior`.
    cases : iterable of (float, float)
        p0 and epsilon; those that `exact` lacks are left out.
    size : int
        Pairs for each case.
    seed : int
        Of the run.
    **chain : int
        burn_in and n_steps.
    """
    found = {}
    for p, e in (case for case in cases if case in exact):
        study, rng = Study(tables[e], p), stream(seed, f"single chains, {p:g}, {e:g}")
        drawn = study.draw_pairs(changed(study.n), 0.5, size, rng=rng)
        found[p, e] = by_chain.one_chain_utilities(study, drawn.x, drawn.x_star, rng=rng, **chain)
    return found


# --------------------------------------------------------------------------- regions and releases


def riskiest(pairs: pd.DataFrame, rules: Sequence[Rule]) -> pd.DataFrame:
    """The pair with the largest L for each budget, and the priors for which it breaks a rule.

    Parameters
    ----------
    pairs : DataFrame
        epsilon, x, x_star and log_ratio, of one proportion.
    rules : sequence of Rule
        What is acceptable.
    """
    worst = pairs.sort_values("log_ratio").groupby("epsilon").tail(1)
    worst = worst.sort_values("epsilon", ascending=False)[["epsilon", "x", "x_star", "log_ratio"]]
    pieces = [acceptance.unacceptable_priors(a, rules) for a in worst["log_ratio"]]
    said = [", ".join(f"{a:.4g} to {b:.4g}" for a, b in piece) or "none" for piece in pieces]
    return worst.assign(L=np.exp(worst["log_ratio"])).assign(**{"unacceptable priors": said})


def named_by_budget(worst: pd.DataFrame) -> dict[str, float]:
    """log L of pairs, named by their budget."""
    return dict(zip("ε = " + worst["epsilon"].map("{:g}".format), worst["log_ratio"], strict=True))


def priors_that_disagree(
    log_ratios: NDArray[np.float64], rules: Sequence[Rule], n_priors: int
) -> float:
    """Share of priors on a grid for which the solution and the definition of a region differ.

    Parameters
    ----------
    log_ratios : (k,) float
        log L of releases.
    rules : sequence of Rule
        What is acceptable.
    n_priors : int
        Equally spaced priors in (0, 1).
    """
    prior, wrong = np.arange(1, n_priors + 1) / (n_priors + 1), 0
    for log_ratio in log_ratios:
        broken = acceptance.breaks_a_rule(*acceptance.curve(log_ratio, prior), rules)
        pieces = acceptance.unacceptable_priors(float(log_ratio), rules)
        solved = np.any([(low < prior) & (prior < high) for low, high in pieces] or False, axis=0)
        wrong += int((broken != solved).sum())
    return wrong / max(1, len(log_ratios) * n_priors)


def unacceptable_shares(
    family: Family, budgets: Sequence[float], counts: Sequence[int], rules: Sequence[Rule]
) -> pd.DataFrame:
    """Share of releases that break a rule, by budget and by the ones in the data.

    Parameters
    ----------
    family : callable
        From a budget to a mechanism.
    budgets : sequence of float
        Rows.
    counts : sequence of int
        Ones in the data: columns.
    rules : sequence of Rule
        What is acceptable.
    """
    share = pd.DataFrame(index=pd.Index(budgets, name="epsilon"))
    for x in counts:
        other = x - 1 if x else 1
        share[f"X = {x}"] = [
            acceptance.share_unacceptable(family(e), x, other, rules) for e in budgets
        ]
    return share


def largest_budgets(
    family: Family, counts: Sequence[int], rules: Sequence[Rule], low: float, high: float
) -> pd.DataFrame:
    """Largest epsilon at which no release of given data breaks a rule.

    Parameters
    ----------
    family, counts, rules
        As of `unacceptable_shares`.
    low, high : float
        Epsilons between which the answer lies.
    """
    found = [
        acceptance.largest_epsilon(family, x, x - 1 if x else 1, rules, low, high) for x in counts
    ]
    return pd.DataFrame({"ones in the data": counts, "largest ε, no release unacceptable": found})


def first_rows(mechanism: Mechanism, size: int) -> Mechanism:
    """Keep the first rows of a table of counts, each still beside the next."""
    return Mechanism(mechanism.block, size, mechanism.n_outputs, change_one(size - 1))


def choice(tables: Tables, rules: Sequence[Rule]) -> Mechanism:
    """Publish, of one release at each budget, the acceptable one with the largest budget."""
    budgets = sorted(tables, reverse=True)
    return acceptance.publish_first_acceptable([tables[e] for e in budgets], rules, budgets)


def announced(chosen: Mechanism) -> Mechanism:
    """Keep what of a choice is announced, the epsilon, and sum over the releases."""
    table = chosen.block(np.arange(chosen.n_inputs), np.arange(chosen.n_outputs))
    names = [name[0] if name else None for name in chosen.outputs]
    kept = list(dict.fromkeys(names))
    columns = [[at for at, other in enumerate(names) if other == name] for name in kept]
    log_prob = np.stack([np.logaddexp.reduce(table[:, of], axis=1) for of in columns], axis=1)
    return Mechanism.from_table(log_prob, chosen.neighbors, chosen.inputs, kept)


def attack_on_choice(
    tables: Tables, rules: Sequence[Rule], counts: Sequence[int] = (0, 1, 2, 10, 100, 300)
) -> pd.DataFrame:
    """What intruders make of a release that was chosen because it is acceptable.

    Parameters
    ----------
    tables : mapping of float to Mechanism
        A mechanism for each budget. Only rows below the last need the next row, so that the first
        rows of a large table will do.
    rules : sequence of Rule
        What is acceptable.
    counts : sequence of int
        Ones in the data; the record at risk has a one, or a zero where there is none.

    Returns
    -------
    DataFrame
        For each count: epsilon that is published on average; mean risk (prior 1/2) where the
        release at the largest budget is published without a choice, and after the choice for an
        intruder who takes the release for an ordinary one and for one who knows the rule; and for
        the latter the probability that the value is ``certain`` and that L is ``beyond the
        region``. Where nothing qualifies, that is what intruders see.
    """
    budgets, chosen = sorted(tables, reverse=True), choice(tables, rules)
    epsilon = np.array([name[0] if name else np.nan for name in chosen.outputs])
    most, rows = acceptance.largest_log_ratio(rules), []
    for count in (x for x in counts if x < chosen.n_inputs - 1):
        other = count - 1 if count else 1
        log_prob, log_other = chosen.row(count), chosen.row(other)
        happens = np.isfinite(log_prob)
        weight, log_ratio = np.exp(log_prob[happens]), log_prob[happens] - log_other[happens]
        unselected = tables[budgets[0]].row(count)
        loose = float(np.exp(unselected) @ expit(unselected - tables[budgets[0]].row(other)))
        plain = [tables[e].row(count) - tables[e].row(other) for e in budgets]
        published, known = epsilon[happens], np.isfinite(epsilon[happens])
        mean = weight[known] @ published[known] / weight[known].sum() if known.any() else np.nan
        rows.append(
            {
                "ones in the data": count,
                "published ε, mean": float(mean),
                "R, largest ε, no choice": loose,
                "R, ignoring the rule": float(weight @ expit(np.hstack([*plain, [0.0]])[happens])),
                "R, knowing the rule": float(weight @ expit(log_ratio)),
                "certain": float(weight @ np.isposinf(log_ratio)),
                "beyond the region": float(weight @ (log_ratio > most + 1e-9)),
            }
        )
    return pd.DataFrame(rows)


def loss_by_size(
    n: int, p0: Iterable[float], epsilon: Sequence[float], factors: Sequence[float]
) -> pd.DataFrame:
    """Expected loss of precision from releases of several sizes under one epsilon, typical data.

    Parameters
    ----------
    n : int
        Records in the data.
    p0, epsilon : iterable of float
        The cases.
    factors : sequence of float
        Released records over records.

    Returns
    -------
    DataFrame
        p0, epsilon, size (the factor) and loss. Sizes without a record, and budgets for which
        alpha would be smaller than any number that the machine has, are left out.
    """
    rows: list[dict[str, Any]] = []
    for p, e, factor in itertools.product(dict.fromkeys(p0), epsilon, factors):
        n_s = round(factor * n)
        if factor * n >= 1 and e / n_s < 700:
            loss = Study(private_plugin(e, n, n_s), p).expected_utility(round(n * p))
            rows.append({"p0": p, "epsilon": e, "size": float(factor), "loss": loss})
    return pd.DataFrame(rows, columns=["p0", "epsilon", "size", "loss"])


def curves_by_size(by_size: pd.DataFrame, p0: float) -> pd.DataFrame:
    """Arrange `loss_by_size` of one proportion for a chart: a column for each budget."""
    of_p = by_size[by_size["p0"] == p0]
    curves = of_p.pivot_table(index="size", columns="epsilon", values="loss")
    return curves[sorted(curves, reverse=True)].rename(columns="ε = {:g}".format)
