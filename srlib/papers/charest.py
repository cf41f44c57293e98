"""Charest (2013): Table 1 and its binary example, the words on its claims, and its ledger."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import betabinom

from srlib.display import percent
from srlib.mechanism.bayes import risk
from srlib.mechanism.core import Mechanism, acceptance_rate, change_one, sample
from srlib.mechanism.families import beta_binomial, dirichlet_multinomial_alpha, private_plugin
from srlib.mechanism.privacy import calibrate, delta, exact_epsilon
from srlib.mechanism.scores import exact_rate, exponential, gibbs, permute_and_flip, sensitivity
from srlib.papers.claims import FAILS, HOLDS, PROVED, Verdict, at_most, of_share, with_error
from srlib.papers.count_tables import KNOWN, MODELS
from srlib.papers.ledger import ledger
from srlib.rng import stream

Table = NDArray[np.float64]
DISTANCE, P, LOG_P = "distance", "P", "log P"
AS_PRINTED, CALIBRATED = "as printed", "calibrated"
SLACK = 1e-9  # by which rounding may carry an exact epsilon above its bound

NOTES = {
    "table1_log_p_expected_outcome": "a digit lost: 29.53301; section Reproducing Table 1",
    "table1_log_p_posterior": "a digit lost: .04820252; section Reproducing Table 1",
    "epsilon_of_all": "P keeps the promise, the others break it; section Reproducing Table 1",
}
PUBLISHED = {"n": 50, "x": 30, "epsilon": 0.5, "gamma": 1.0}


# ------------------------------------------------------------------------------ the binary example


def binary_scores(n: int, gamma: float) -> dict[str, Table]:
    """The three scores of Table 1 for n binary records, by name, (n + 1, n + 1) each.

    The score called distance is minus the distance, ``-|d - r|``.

    Parameters
    ----------
    n : int
        Records, 1 or more; rows are counts of ones in the data, columns in the release.
    gamma : float
        Both parameters of the beta prior, positive.
    """
    counts = np.arange(n + 1)
    log_p = beta_binomial(n, n, gamma).block(counts, counts)
    distance = np.abs(np.subtract.outer(counts, counts)).astype(float)
    return {DISTANCE: -distance, P: np.exp(log_p), LOG_P: log_p}


def conventions(scores: Mapping[str, Table], epsilon: float) -> dict[tuple[str, str], Mechanism]:
    """The scores' mechanisms under three conventions, and two synthesizers.

    As printed: weights exp(epsilon score). As defined: exp(epsilon score / (2 sensitivity)).
    Calibrated: the rate at which the exact epsilon is the one given.

    Parameters
    ----------
    scores : mapping of str to (n + 1, n + 1) float
        As `binary_scores` returns.
    epsilon : float
        The budget, positive.

    Returns
    -------
    dict of (str, str) to Mechanism
        By score and convention; the synthesizers are calibrated.
    """
    n = len(scores[DISTANCE]) - 1
    pairs = change_one(n)
    made: dict[tuple[str, str], Mechanism] = {}
    for name, score in scores.items():
        defined = epsilon / (2 * sensitivity(score, pairs))
        rates = {AS_PRINTED: epsilon, "as defined": defined}
        rates[CALIBRATED] = exact_rate(score, epsilon, pairs)
        made |= {(name, how): gibbs(score, rate, pairs) for how, rate in rates.items()}
    alpha = dirichlet_multinomial_alpha(epsilon, n)
    made["beta-binomial", CALIBRATED] = beta_binomial(n, n, alpha)
    made["Bernoulli plug-in", CALIBRATED] = private_plugin(epsilon, n, n)
    return made


def at_equal_epsilon(methods: Mapping[tuple[str, str], Mechanism]) -> dict[str, Mechanism]:
    """The calibrated ones among `conventions`, by the names that all notebooks give them."""
    return {
        f"exponential, {name}" if name in (DISTANCE, P, LOG_P) else name: made
        for (name, how), made in methods.items()
        if how == CALIBRATED
    }


def row_of_table_1(mechanism: Mechanism, x: int, predictive: Table) -> dict[str, float]:
    """One row of Table 1, and the exact epsilon.

    Parameters
    ----------
    mechanism : Mechanism
        Rows and columns are counts 0 to n.
    x : int
        The count of the data.
    predictive : (n + 1,) float
        Posterior predictive probabilities of the counts given x.
    """
    probability, counts = np.exp(mechanism.row(x)), np.arange(mechanism.n_outputs)
    return {
        "most_probable": int(probability.argmax()),
        "expected_outcome": float(probability @ counts),
        "expected_distance": float(probability @ np.abs(counts - x)),
        "expected_posterior_probability": float(probability @ predictive),
        "exact_epsilon": exact_epsilon(mechanism).value,
    }


def table_1(
    methods: Mapping[tuple[str, str], Mechanism], scores: Mapping[str, Table], x: int
) -> pd.DataFrame:
    """Table 1 under each convention: score, convention, sensitivity, and `row_of_table_1`.

    Parameters
    ----------
    methods : mapping of (str, str) to Mechanism
        As `conventions` returns.
    scores : mapping of str to (n + 1, n + 1) float
        As `binary_scores` returns.
    x : int
        The count of the data.
    """
    pairs = change_one(len(scores[P]) - 1)
    true = {name: sensitivity(score, pairs) for name, score in scores.items()}
    named = pd.DataFrame(methods.keys(), columns=["score", "convention"])
    named["sensitivity"] = [1.0 if how == AS_PRINTED else true.get(s) for s, how in methods]
    predictive = np.exp(scores[LOG_P][x])
    rows = [row_of_table_1(made, x, predictive) for made in methods.values()]
    return named.join(pd.DataFrame(rows))


def expected_distances(made: Mapping[str, Mechanism]) -> pd.DataFrame:
    """Expected distance of the release from the data, for every data set (index x)."""
    counts = np.arange(next(iter(made.values())).n_inputs)
    away = np.abs(np.subtract.outer(counts, counts))
    found = {name: (np.exp(m.block(counts, counts)) * away).sum(axis=1) for name, m in made.items()}
    return pd.DataFrame(found, index=pd.Index(counts, name="x"))


def over_priors(n: int, x: int, epsilon: float, gammas: Sequence[float]) -> pd.DataFrame:
    """Compare the scores log P and P at the same exact epsilon, over beta priors.

    Parameters
    ----------
    n, x : int
        Records, and ones among them.
    epsilon : float
        The exact epsilon of all mechanisms, positive.
    gammas : sequence of float
        Both parameters of each prior, positive.

    Returns
    -------
    DataFrame
        gamma, each score's expected distance at x, and for how many of the n + 1 data sets log P
        is closer than P (`closer`, a share).
    """
    rows, pairs = [], change_one(n)
    for gamma in gammas:
        scores = binary_scores(n, gamma)
        made = {s: gibbs(q, exact_rate(q, epsilon, pairs), pairs) for s, q in scores.items()}
        distance = expected_distances(made)
        closer = float((distance[LOG_P] < distance[P]).mean())
        rows.append({"gamma": gamma, **distance.loc[x], "closer": closer})
    return pd.DataFrame(rows)


def disclosure(made: Mapping[str, Mechanism], x: int) -> pd.DataFrame:
    """What a release tells an intruder who knows all records but one, for each mechanism.

    The intruder knows the other n - 1 records and gives the two values of the last one probability
    one half each. Numbers are means over the n records of data with x ones, but for the largest.

    Parameters
    ----------
    made : mapping of str to Mechanism
        Rows and columns are counts 0 to n.
    x : int
        The count of the data.

    Returns
    -------
    DataFrame
        mechanism; the expected posterior probability of the true value; its largest value over
        records and releases; the expected gain in log probability.
    """
    rows = []
    for name, mechanism in made.items():
        n, probability = mechanism.n_inputs - 1, np.exp(mechanism.row(x))
        groups = [(x - 1, x)] * (x > 0) + [(x + 1, n - x)] * (x < n)
        posterior = np.array([risk(mechanism, x, other, 0.5) for other, _ in groups])
        share = np.array([size for _, size in groups]) / n
        mean, gain = (
            share @ (posterior @ probability),
            share @ (np.log(2 * posterior) @ probability),
        )
        rows.append((name, mean, posterior.max(), gain))
    columns = ["mechanism", "expected posterior", "largest posterior", "expected log gain"]
    return pd.DataFrame(rows, columns=columns)


def samplers(made: Mapping[str, Mechanism], x: int, size: int, seed: int) -> pd.DataFrame:
    """Mean release by three exact samplers, its exact value, error, and the acceptance rate."""
    rows = []
    for name, mechanism in made.items():
        probability, counts = np.exp(mechanism.row(x)), np.arange(mechanism.n_outputs)
        means = {
            method: sample(mechanism, x, size, rng=stream(seed, method), method=method).mean()
            for method in ("inverse", "gumbel", "rejection")
        }
        mean = probability @ counts
        error = np.sqrt((probability @ counts**2 - mean**2) / size)
        rows.append({"score": name, **means, "exact": mean, "error of a mean": error})
        rows[-1]["acceptance of rejection"] = acceptance_rate(mechanism, x)
    return pd.DataFrame(rows)


def permuted(scores: Mapping[str, Table], x: int, epsilon: float) -> pd.DataFrame:
    """Permute-and-flip beside the exponential mechanism, at equal nominal and equal exact epsilon.

    Returns
    -------
    DataFrame
        A row for each score and mechanism: the expected distance from x and the exact epsilon
        where the nominal epsilon is the one given, and the distance where the exact epsilon is;
        NaN for permute-and-flip where doubles do not reach it.
    """
    rows, pairs = [], change_one(len(scores[P]) - 1)

    def away(made: Mechanism) -> float:
        return float(np.exp(made.row(x)) @ np.abs(np.arange(made.n_outputs) - x))

    for name, score in scores.items():

        def flip(nominal: float, score: Table = score) -> Mechanism:
            return permute_and_flip(score, nominal, pairs)

        high = epsilon
        while (spent := exact_epsilon(flip(high)).value) < epsilon:
            high *= 1.5
        # Below the smallest double an output becomes impossible, and epsilon infinite.
        same = calibrate(flip, epsilon, epsilon / 2, high) if np.isfinite(spent) else None
        calibrated = gibbs(score, exact_rate(score, epsilon, pairs), pairs)
        for kind, made, at_exact in (
            ("exponential", exponential(score, epsilon, pairs), away(calibrated)),
            ("permute-and-flip", flip(epsilon), away(flip(same)) if same else np.nan),
        ):
            rows.append((name, kind, away(made), exact_epsilon(made).value, at_exact))
    columns = ["score", "mechanism", "distance_at_nominal", "exact_epsilon", "distance_at_exact"]
    return pd.DataFrame(rows, columns=columns)


def over_likely(
    score: Table,
    beliefs: Sequence[tuple[float, float]],
    likely: Sequence[float],
    epsilon: float,
    x: int,
) -> pd.DataFrame:
    """Spend a budget among likely data sets only, and see what it gives to all (section 3).

    Parameters
    ----------
    score : (n + 1, n + 1) float
        Scores of counts.
    beliefs : sequence of (float, float)
        Parameters of beta distributions of the proportion of ones.
    likely : sequence of float
        Probabilities of the likely data sets, the most probable ones, in (0, 1].
    epsilon : float
        Exact epsilon among the likely data sets, positive.
    x : int
        The count of the data.

    Returns
    -------
    DataFrame
        belief; likely; the least and the largest likely count; sensitivity among them; the exact
        epsilon over all data sets; delta over all at the stated epsilon; expected distance from x.
        A belief with a single likely count is left out: nothing limits its mechanism.
    """
    n = len(score) - 1
    pairs, rows = change_one(n), []
    for together, (a, b) in product(likely, beliefs):
        probability = betabinom.pmf(np.arange(n + 1), n, a, b)
        order = np.argsort(-probability, kind="stable")
        needed = order[: np.searchsorted(np.cumsum(probability[order]), together - 1e-12) + 1]
        inside = pairs[np.isin(pairs, needed).all(axis=1)]
        if len(inside) == 0:
            continue
        made = gibbs(score, exact_rate(score, epsilon, inside), pairs)
        rows.append(
            {
                "belief": f"Beta({a:g}, {b:g})",
                "likely": together,
                "from": needed.min(),
                "to": needed.max(),
                "sensitivity among them": sensitivity(score, inside),
                "exact epsilon, all": exact_epsilon(made).value,
                "delta, all": delta(made, epsilon),
                "expected distance": np.exp(made.row(x)) @ np.abs(np.arange(n + 1) - x),
            }
        )
    return pd.DataFrame(rows)


# ---------------------------------------------------------------------------- words on the claims


def condition_holds(grid: pd.DataFrame) -> Verdict:
    """Say whether the condition for alpha was right in every enumerated case.

    Parameters
    ----------
    grid : DataFrame
        Column ``"necessary and sufficient"``, bool. The proof stands in the notebook.
    """
    right = grid["necessary and sufficient"]
    because = f"By the derivation above; enumeration agrees in {right.sum()} of {len(right)} grids."
    return Verdict(PROVED if right.all() else FAILS, because)


def promise_kept(score_functions: pd.DataFrame, epsilon: float) -> Verdict:
    """Say whether the mechanisms as printed have the epsilon that is stated for them.

    Parameters
    ----------
    score_functions : DataFrame
        As `table_1` returns.
    epsilon : float
        The stated one.
    """
    printed = score_functions[score_functions["convention"] == AS_PRINTED]
    kept = printed["exact_epsilon"] <= epsilon * (1 + SLACK)
    word = HOLDS if kept.all() else FAILS if not kept.any() else "depends on the score"
    told = ", ".join(
        f"{value:.3f} for {score}"
        for score, value in zip(printed["score"], printed["exact_epsilon"], strict=True)
    )
    return Verdict(word, f"The exact epsilons of the printed rows are {told}, against {epsilon:g}.")


def log_is_better(priors: pd.DataFrame) -> Verdict:
    """Say whether log P is closer to the data than P at equal exact epsilon.

    Parameters
    ----------
    priors : DataFrame
        As `over_priors` returns.
    """
    closer = priors["closer"]
    word = (
        HOLDS if (closer == 1).all() else FAILS if (closer == 0).all() else "depends on the prior"
    )
    told = ", ".join(
        f"{percent(share)} with Beta({gamma:g}, {gamma:g})"
        for gamma, share in zip(priors["gamma"], closer, strict=True)
    )
    return Verdict(word, f"Share of data sets for which log P is closer than P: {told}.")


def beats_distance(shares: pd.DataFrame, priors: pd.DataFrame) -> Verdict:
    """Say whether log P does better than counting the records moved.

    Parameters
    ----------
    shares : DataFrame
        As `count_tables.wins` returns.
    priors : DataFrame
        As `count_tables.by_alpha` returns; the last row is the records moved.
    """
    share = float(shares[[*MODELS]].to_numpy().mean())
    kinds = priors.columns.drop("score")
    better = priors.iloc[:-1][kinds].lt(priors.iloc[-1][kinds].astype(float) - SLACK)
    of_prior = [
        f"{priors['score'][row].removeprefix('log P, ')} on {kind} data"
        for row, kind in better.stack().loc[lambda b: b].index
    ]
    word = of_share(share, share, on="the prior and the data")
    if word == FAILS and of_prior:
        word = "depends on the prior and the data"
    listed = "; ".join(of_prior) or "none of the stronger priors"
    return Verdict(
        word,
        f"A model's log P does better than the records moved in {percent(share)} of the cases. "
        f"With other Dirichlet priors it is closer for: {listed}.",
    )


def by_draws(told: pd.DataFrame, averaged: pd.Series, budget: float = 1.0) -> Verdict:
    """Say whether mechanisms with estimated scores keep their budget.

    Common draws may be known to everybody. Fresh ones are a part of the mechanism's chance, so that
    its epsilon is that of the mean over them.

    Parameters
    ----------
    told : DataFrame
        Rows as `count_tables.estimated` returns.
    averaged : Series
        Of fresh draws: epsilon of the mean over them, and its standard error.
    budget : float
        What each was given.
    """
    common = told["draws from"] == "common"
    known = {c: told.loc[common == c, KNOWN].max() for c in (True, False)}
    epsilon, error = averaged["epsilon"], averaged["standard error"]
    word = FAILS if known[True] > budget * (1 + SLACK) else at_most(epsilon, error, budget)
    return Verdict(
        word,
        f"The largest exact epsilon is {known[True]:.2f} with draws common to all data sets, where "
        f"a bound guarantees the budget of {budget:g}. With the fewest fresh draws it is "
        f"{with_error(epsilon, error)} for the Dirichlet-multinomial, averaged over the draws, "
        "and nothing guarantees it. To somebody who knows the fresh draws it is up to "
        f"{known[False]:.2f}.",
    )


def likely_suffices(beliefs: pd.DataFrame, epsilon: float) -> Verdict:
    """Say whether delta stays below the prior probability of the data sets left out.

    Parameters
    ----------
    beliefs : DataFrame
        As `over_likely` returns.
    epsilon : float
        The exact epsilon among the likely data sets.
    """
    left_out = 1 - beliefs["likely"]
    share = beliefs["delta, all"] / left_out
    over = beliefs["delta, all"] > left_out * (1 + SLACK)
    word = HOLDS if not over.any() else FAILS if over.all() else "depends on the belief"
    worst = beliefs.loc[share.idxmax()]
    return Verdict(
        word,
        f"Delta at {epsilon:g} exceeds the probability of the data sets left out in {over.sum()} "
        f"of {len(beliefs)} cases; with {worst['belief']} it is {worst['delta, all']:.2g} against "
        f"{1 - worst['likely']:.2g}. The exact epsilon over all data sets is up to "
        f"{beliefs['exact epsilon, all'].max():.2f}.",
    )


def bound_scales(truth: pd.DataFrame) -> Verdict:
    """Say whether a sensitivity without a closed form stays out of reach.

    Parameters
    ----------
    truth : DataFrame
        As `count_tables.bound_beside_truth` returns. The proof of the bound stands in the notebook.
    """
    share = float((truth.filter(like="n = ").max(axis=1) / truth["bound"]).max())
    reached = np.isfinite(truth["bound"]).all() and share <= 1 + SLACK
    return Verdict(
        "depends on the draws" if reached else HOLDS,
        "With draws common to all data sets the bound above needs no enumeration and is the same "
        f"for any number of records; the largest enumerated sensitivity is {percent(share)} of it. "
        "The sensitivity itself was found by enumeration only.",
    )


# ------------------------------------------------------------------------------------------ ledger


def answers(score_functions: pd.DataFrame, bound_of_p: float) -> dict[str, float]:
    """Values of the printed numbers from the table `score_functions`, at the paper's settings.

    Parameters
    ----------
    score_functions : DataFrame
        Columns score, convention and those of `row_of_table_1`; the rows with the convention
        ``"as printed"`` are the paper's.
    bound_of_p : float
        Sensitivity of the score P.
    """
    printed = score_functions[score_functions["convention"] == AS_PRINTED].set_index("score")
    keys = {DISTANCE: "distance", P: "p", LOG_P: "log_p"}
    columns = {
        "most_probable": "most_probable",
        "expected_outcome": "expected_outcome",
        "expected_distance": "expected_distance",
        "expected_posterior_probability": "posterior",
    }
    found = {
        f"table1_{key}_{name}": printed.loc[score, column]
        for score, key in keys.items()
        for column, name in columns.items()
    }
    return found | {
        "epsilon_of_all": float(printed["exact_epsilon"].max()),
        "sensitivity_of_p": bound_of_p,
    }


def judged(
    score_functions: pd.DataFrame, bound_of_p: float, settings: Mapping[str, float]
) -> pd.DataFrame:
    """The ledger of a run: numbers are compared at the paper's settings only.

    Parameters
    ----------
    score_functions, bound_of_p
        As of `answers`.
    settings : mapping of str to float
        The run's n, x, epsilon and gamma.
    """
    as_published = dict(settings) == PUBLISHED
    computed = answers(score_functions, bound_of_p) if as_published else {}
    reason = "belongs to the paper's settings"
    return ledger("charest", computed, settings=settings, notes=NOTES, missing=reason)
