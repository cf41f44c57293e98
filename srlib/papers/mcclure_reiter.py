"""What the exact distributions answer to the numbers that McClure and Reiter (2012) print."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from srlib.display import percent
from srlib.ledger import printed
from srlib.mechanism.acceptance import Rule
from srlib.mechanism.bayes import risk
from srlib.mechanism.families import bernoulli_plugin_alpha, private_plugin
from srlib.mechanism.privacy import Epsilon
from srlib.papers.binary_design import WITHIN, Exact
from srlib.papers.claims import FAILS, FEW, HOLDS, PROVED, UNDECIDED, Verdict, of_share
from srlib.papers.ledger import ledger
from srlib.papers.proportion_chain import one_step_proposal

PAIRS, N, PRIOR = 10, 1000, 0.5
P0 = (0.001, 0.3, 0.5, 0.999)
EPSILON = (1000.0, 100.0, 10.0, 2.0, 0.2, 0.01)

# The printed ranges of U: each end with one unit of its last digit ("2 to 2.7", ".25 to 1.1").
RANGES = {0.01: ((2.0, 0.1), (2.7, 0.1)), 2.0: ((0.25, 0.01), (1.1, 0.1))}
ROUNDED, CUT = "rounded", "cut"
# The probability below which chance is not taken to explain what ten pairs showed.
IMPLAUSIBLE = 0.01

NOTES = {
    "decreased_to": "no epsilon of the design is 1; section What did not reproduce, and why",
    "chain_lowest_inner": "X = 1 would have no proposal; section The small print of Appendix B",
}


def worked_example() -> dict[str, float]:
    """Recompute the example of section 3.2: all other records 0, ours 1, X* = 3, epsilon = 1000."""
    alpha = bernoulli_plugin_alpha(1000, N)
    table = private_plugin(1000, N, N)
    return {
        "example_alpha": alpha,
        "example_one": 1 + alpha,
        "example_total": N + 2 * alpha,
        "example_p_y_0": float(np.exp(table.row(0)[3])),
        "example_p_y_1": float(np.exp(table.row(1)[3])),
        "example_risk": float(risk(table, truth=1, alternative=0, prior=0.5)[3]),
    }


# ------------------------------------------------------------------ how a range came to be printed


def cells(
    utility: NDArray[np.float64], weights: NDArray[np.float64], epsilon: float, convention: str
) -> NDArray[np.float64]:
    """Probabilities that a utility falls below, at, between, at and above the ends of a range.

    Parameters
    ----------
    utility, weights : (k,) float
        Values and their probabilities.
    epsilon : float
        The key of the range in `RANGES`.
    convention : {"rounded", "cut"}
        Which values an end stands for: those within half a unit of its last digit, or those of
        which further digits were cut.

    Returns
    -------
    (5,) float64
        They sum to one.
    """
    shift = {ROUNDED: 0.5, CUT: 0.0}[convention]
    edges = [value + unit * (k - shift) for value, unit in RANGES[epsilon] for k in (0, 1)]
    inside = np.digitize(utility, edges)
    return np.bincount(inside, weights=weights, minlength=5) / weights.sum()


def inside_ranges(exact: Exact) -> pd.DataFrame:
    """Where the ends of a range of ten pairs lie, and how often they print as in the paper.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs.

    Returns
    -------
    DataFrame
        p0, epsilon, printed, the medians of the smallest and the largest of ten utilities, and the
        probabilities that they round to the lower, the upper and both ends of the printed range.
    """
    rows = []
    for (p, e), pairs in exact.items():
        if e in RANGES:
            shares = cells(pairs.utility, pairs.probability, e, ROUNDED)
            ends = [pairs.smallest("utility", PAIRS, 0.5), pairs.largest("utility", PAIRS, 0.5)]
            printed_as = " to ".join(f"{value:g}" for value, _ in RANGES[e])
            rows.append((p, e, printed_as, *ends, *map(float, range_chances(shares[None]))))
    columns = ["p0", "epsilon", "printed", "smallest of ten", "largest of ten"]
    return pd.DataFrame(rows, columns=[*columns, "lower end", "upper end", "both ends"])


def range_chances(
    of_cases: NDArray[np.float64], size: int = PAIRS
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities that the smallest and the largest of several pairs are printed as the ends.

    Parameters
    ----------
    of_cases : (..., n_cases, 5) float
        As `cells` returns, for the cases that are pooled.
    size : int
        Independent pairs of each case.

    Returns
    -------
    smallest, largest, both : (...) float64
        From the joint distribution of two order statistics.
    """

    def all_in(first: int, last: int) -> NDArray[np.float64]:
        return (of_cases[..., first:last].sum(axis=-1) ** size).prod(axis=-1)

    smallest, largest = all_in(1, 5) - all_in(2, 5), all_in(0, 4) - all_in(0, 3)
    both = all_in(1, 4) - all_in(2, 4) - all_in(1, 3) + all_in(2, 3)
    return smallest, largest, np.maximum(both, 0.0)


def explanations(
    exact: Exact,
    by_chain: Mapping[tuple[float, float], NDArray[np.float64]],
    *,
    rng: np.random.Generator,
    p0: Sequence[float] = (0.3, 0.5),
    replicates: int = 1000,
) -> pd.DataFrame:
    """Likelihoods of the printed ranges of U under rival explanations.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs with the exact utility.
    by_chain : mapping of (p0, epsilon) to (k,) float
        Utilities of independent pairs, each from a single chain.
    rng : numpy.random.Generator
        Source of chance of the errors.
    p0 : sequence of float
        Proportions that the sentence may be about, one by one and pooled.
    replicates : int
        Dirichlet draws behind the standard errors of what rests on simulation.

    Returns
    -------
    DataFrame
        utility ("exact" or "one chain"), p0 (text), epsilon, convention, smallest, largest and both
        (probabilities that the ends print so), error (standard error of both, 0 for exact ones).
        Cases that are missing are left out.
    """
    rows = []
    pools = [(p,) for p in p0] + [tuple(p0)]
    for source, pool, epsilon, convention in itertools.product(
        ("exact", "one chain"), pools, RANGES, (ROUNDED, CUT)
    ):
        cases = [(p, epsilon) for p in pool]
        if any(case not in exact or case not in by_chain for case in cases):
            continue
        if source == "exact":
            found = [(exact[case].utility, exact[case].probability) for case in cases]
        else:
            found = [(by_chain[case], np.ones(len(by_chain[case]))) for case in cases]
        shares = np.array([cells(*values, epsilon, convention) for values in found])
        smallest, largest, both = range_chances(shares)
        error = 0.0
        if source != "exact":
            # Half a count for each cell: an event that never occurred has an error, too.
            drawn = [
                rng.dirichlet(len(u) * share + 0.5, size=replicates)
                for (u, _), share in zip(found, shares, strict=True)
            ]
            error = float(range_chances(np.stack(drawn, axis=1))[2].std())
        names = {"utility": source, "p0": " and ".join(f"{p:g}" for p in pool)}
        rows.append(
            names
            | {"epsilon": epsilon, "convention": convention, "smallest": float(smallest)}
            | {"largest": float(largest), "both": float(both), "error": error}
        )
    columns = ["utility", "p0", "epsilon", "convention", "smallest", "largest", "both", "error"]
    return pd.DataFrame(rows, columns=columns)


def explanations_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Arrange `explanations` for readers: a row an explanation and range, conventions side by side.

    Parameters
    ----------
    table : DataFrame
        As `explanations` returns.
    """
    keys = ["utility", "p0", "epsilon"]
    rounded = table[table["convention"] == ROUNDED].set_index(keys)
    cut = table[table["convention"] == CUT].set_index(keys)["both"]
    wide = rounded.assign(cut=cut).reset_index().sort_values("epsilon", kind="stable")
    wide["p0"] = wide["p0"].str.replace(" and ", ", ")
    wide["error"] = wide["error"].where(wide["utility"] != "exact")
    names = {
        "utility": "utilities", "p0": "p₀", "epsilon": "ε",
        "smallest": "lower end", "largest": "upper end", "both": "both ends",
        "error": "standard error", "cut": "both ends, if digits are cut",
    }  # fmt: skip
    return wide[list(names)].rename(columns=names)


def how_the_range_came_about(table: pd.DataFrame) -> str:
    """Say how well explanations of "2 to 2.7" do against each other, from `explanations`.

    Parameters
    ----------
    table : DataFrame
        As `explanations` returns.

    Returns
    -------
    str
        For each convention the likelihood of the best explanation with exact utilities over that of
        the best with single chains, with its error, and which proportion the latter is about.
    """
    at = table[table["epsilon"] == 0.01]
    if at.empty:
        return "This run has no case with ε = .01 and $p_0$ = .3 or .5 to compare."
    said = []
    for convention, words in ((ROUNDED, "Rounded to a tenth"), (CUT, "With digits cut")):
        rows = at[at["convention"] == convention]
        best = {
            kind: of_kind.loc[of_kind["both"].idxmax()] for kind, of_kind in rows.groupby("utility")
        }
        exact, chain = best["exact"], best["one chain"]
        text = (
            f"{words}, both ends have probability {exact.both:.3f} at best for exact utilities "
            f"($p_0$ = {exact.p0}) and {chain.both:.4f} ± {chain.error:.4f} for single chains "
            f"($p_0$ = {chain.p0})"
        )
        if chain.both > 0:
            ratio = exact.both / chain.both
            text += f", a ratio of {ratio:.0f} ± {ratio * chain.error / chain.both:.0f}"
        said.append(f"{text}.")
    return " ".join(said)


def of_announcement(found: Epsilon) -> str:
    """Say what it costs to announce the budget of a release that was chosen, from its epsilon."""
    first, second = found.pair
    if np.isinf(found.value):
        said = "That nothing qualifies" if found.output is None else f"ε = {found.output:g}"
        return (
            f"{said} can be announced of data with $X$ = {first} and never with $X$ = {second}, "
            "so that no finite epsilon bounds what the announcement tells."
        )
    return f"The announcement alone has an exact epsilon of {found.value:.3g}."


# ---------------------------------------------------------------------------------------- verdicts


def keeps_its_budget(epsilon: Sequence[float], exact: Sequence[float]) -> Verdict:
    """Judge Theorem 1, which the text derives, by the largest ratio over whole tables (C1)."""
    off = float(np.max(np.abs(np.array(exact) / np.array(epsilon) - 1)))
    because = (
        "The log ratio is linear in $X^*$ and monotone in $X$. Over all neighboring rows and all "
        f"releases, {len(epsilon)} budgets are met to {-np.log10(max(off, 1e-12)):.0f} digits."
    )
    return Verdict(PROVED if off < 1e-9 else FAILS, because)


def depends_on_rarity(table: pd.DataFrame, rare: float, common: float) -> Verdict:
    """Judge whether rare values are more at risk, for an intruder with either prior (C2).

    Parameters
    ----------
    table : DataFrame
        p0, epsilon, expected_increase (with the run's prior), expected_increase_calibrated (with
        the prior p0) and log_gain_of_one.
    rare, common : float
        The proportions that are compared, at the largest epsilon.
    """
    top = table[table["epsilon"] == table["epsilon"].max()].drop_duplicates("p0").set_index("p0")
    if rare == common:
        return Verdict(UNDECIDED, "There is a single proportion.")
    same, own = top["expected_increase"], top["expected_increase_calibrated"]
    more = [bool(of[rare] > of[common]) for of in (same, own)]
    words = {(True, True): HOLDS, (False, False): FAILS}
    gain = np.exp(top["log_gain_of_one"])
    because = (
        f"At ε = {top['epsilon'].iloc[0]:g} the expected increase is {same[rare]:.3g} at "
        f"$p_0$ = {rare:g} and {same[common]:.3g} at {common:g} if both intruders have the same "
        f"prior; if each knows the proportion, it is {own[rare]:.3g} and {own[common]:.3g}, and "
        f"the truth about a record with a one becomes {gain[rare]:.3f} and {gain[common]:.4f} "
        "times as probable (geometric means)."
    )
    return Verdict(words.get((more[0], more[1]), "depends on the intruder's prior"), because)


def ranges_by_proportion(inside: pd.DataFrame) -> Verdict:
    """Judge the printed ranges of U by their least probable end at each proportion (C3).

    Parameters
    ----------
    inside : DataFrame
        p0, epsilon, ``lower end`` and ``upper end``: probabilities.
    """
    if inside.empty:
        return Verdict(UNDECIDED, "The run has none of the budgets for which ranges are printed.")
    least = inside.groupby("p0", sort=False)[["lower end", "upper end"]].min().min(axis=1)
    good = least >= IMPLAUSIBLE
    word = HOLDS if good.all() else "depends on $p_0$" if good.any() else FAILS
    chances = ", ".join(f"{chance:.2f} at {p:g}" for p, chance in least.items())
    return Verdict(
        word,
        f"The least probable of the printed ends has the probability {chances}; a proportion "
        f"counts as fitting from {IMPLAUSIBLE:g} on.",
    )


def limits_of_relative_risk(exact: Exact) -> Verdict:
    """Judge Figures 3 and 4: RR at most 1.25 at p0 = .5, above two at p0 = .001 (C4)."""
    common = [q for (p, _), q in exact.items() if p == 0.5]
    rare = {e: q for (p, e), q in exact.items() if p == 0.001 and e >= 100}
    if not common or not rare:
        return Verdict(UNDECIDED, "The run lacks $p_0$ = .5, or .001 with ε of 100 or more.")
    below = float(np.prod([1 - q.chance(q.log_ratio > np.log(1.25), PAIRS) for q in common]))
    doubled = {e: q.chance(q.log_ratio > np.log(2), PAIRS) for e, q in rare.items()}
    some = 1 - float(np.prod([1 - chance for chance in doubled.values()]))
    least = min(below, some)
    word = HOLDS if least >= 0.95 else FAILS if least <= 0.05 else "depends on the draw"
    singly = ", ".join(f"{chance:.3f} at ε = {e:g}" for e, chance in doubled.items())
    return Verdict(
        word,
        f"Ten pairs at each ε stay below 1.25 at $p_0$ = .5 with probability {below:.3f}; at "
        f"$p_0$ = .001 some of ten exceed two with probability {singly}.",
    )


def chain_suffices(replicates: pd.DataFrame) -> Verdict:
    """Judge the paper's single chains by how many come near the exact utility (C5).

    Parameters
    ----------
    replicates : DataFrame
        p0, epsilon, utility and utility_one_chain.
    """
    near = (replicates["utility_one_chain"] - replicates["utility"]).abs() <= WITHIN
    share = float(near.mean())
    of_epsilon = near.groupby(replicates["epsilon"], sort=False).mean()
    middle = replicates["p0"].between(0.1, 0.9)
    groups = {"$p_0$ of .1 to .9": near[middle], "rarer values": near[~middle]}
    by_group = ", ".join(f"{percent(v.mean())} for {k}" for k, v in groups.items() if len(v))
    by_epsilon = ", ".join(f"{percent(v)} at ε = {e:g}" for e, v in of_epsilon.items())
    return Verdict(
        of_share(share, share, on="epsilon and $p_0$"),
        f"Of {len(near)} single chains {percent(share)} are within {WITHIN} of the exact $U$: "
        f"{by_epsilon}; {by_group}.",
    )


def judged_over_all_priors(difference: float, releases: int) -> Verdict:
    """Judge whether regions can be evaluated for all priors, from a check against a grid (C6).

    Parameters
    ----------
    difference : float
        Share of the grid's priors, over the releases, on which solution and grid disagree.
    releases : int
        Releases that were checked.
    """
    word = PROVED if difference == 0 else FAILS
    return Verdict(
        word,
        "Along $RR = R + L(1 - R)$ each rule is broken on an interval of priors with ends in "
        f"closed form. For {releases} releases and a grid of priors, solution and grid disagree "
        f"on {percent(difference)}.",
    )


def several_releases(by_size: pd.DataFrame) -> Verdict:
    """Judge whether two releases under one epsilon cost more precision than one does (C7).

    Parameters
    ----------
    by_size : DataFrame
        p0, epsilon, size (released records over records) and loss.
    """
    wide = by_size.pivot_table(index=["p0", "epsilon"], columns="size", values="loss")
    if not {1.0, 2.0} <= set(wide.columns):
        return Verdict(UNDECIDED, "The data are too few to compare one release with two.")
    change = (wide[2.0] - wide[1.0]).dropna()
    worse = change > 1e-9
    word = HOLDS if worse.all() else FAILS if not worse.any() else "depends on epsilon and $p_0$"
    said = [
        f"at $p_0$ = {p:g} worse at ε = {', '.join(f'{e:g}' for e in of_p.index[of_p]) or 'none'}"
        f" and better at {', '.join(f'{e:g}' for e in of_p.index[~of_p]) or 'none'}"
        for p, of_p in ((p, worse[p]) for p in worse.index.unique("p0"))
    ]
    return Verdict(word, f"Two releases instead of one: {'; '.join(said)}.")


def attack_is_hard(attack: pd.DataFrame) -> Verdict:
    """Judge whether a published region and epsilon leave the record unknown (C8).

    Parameters
    ----------
    attack : DataFrame
        As `binary_design.attack_on_choice` returns, and records: ``ones in the data`` and ``beyond
        the region`` for each data set.
    """
    hard = attack["beyond the region"] <= FEW
    word = HOLDS if hard.all() else FAILS if not hard.any() else "depends on the number of ones"
    told = "; ".join(
        f"of {records:,} records "
        + ", ".join(
            f"{percent(share) if share >= 0.01 else 'below ' + percent(0.01)} at {x}"
            for x, share in zip(rows["ones in the data"], rows["beyond the region"], strict=True)
        )
        for records, rows in attack.groupby("records")
    )
    return Verdict(
        word,
        "By the number of ones, the share of releases outside the region that was promised, to an "
        f"intruder who knows the rule: {told}. The attack counts as challenging up to "
        f"{percent(FEW)}.",
    )


# -------------------------------------------------------------------------- sentences of the paper


def sentences(exact: Exact) -> pd.DataFrame:
    """How probable it is that ten pairs show what sentences of sections 1 and 3 say they show.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        Sentences about cases that it lacks are left out.

    Returns
    -------
    DataFrame
        sentence, probability, verdict.
    """
    small = [2.0, 0.2, 0.01]
    never: dict[str, tuple[float, Sequence[float], Any]] = {
        "p0 = .5: R below .55 at ε = 1000": (0.5, [1000], lambda q: q.risk >= 0.55),
        "p0 = .001: R = .5 ± .05 at ε < 10": (0.001, small, lambda q: abs(q.risk - 0.5) > 0.05),
        "p0 = .5: RR at most 1.25 at any ε": (
            0.5,
            EPSILON,
            lambda q: q.log_ratio > np.log(1.25),
        ),
    }
    found: dict[str, float] = {}
    for sentence, (p, at, event) in never.items():
        if all((p, e) in exact for e in at):
            found[sentence] = float(
                np.prod([1 - exact[p, e].chance(event(exact[p, e]), PAIRS) for e in at])
            )
    if loose := exact.get((0.001, 1000.0)):
        above = loose.chance(loose.risk > 0.85)
        once = loose.chance((loose.x == 1) & (loose.x_star == 3))
        found["p0 = .001: several R near .90 (two or more above .85)"] = binom.sf(1, PAIRS, above)
        found["p0 = .001: the worked example occurs once"] = binom.pmf(1, PAIRS, once)
    for e in (1000.0, 100.0):
        if (0.001, e) in exact:
            q = exact[0.001, e]
            found[f"p0 = .001: some RR exceeds 2 at ε = {e:g}"] = q.chance(
                q.log_ratio > np.log(2), PAIRS
            )
    table = pd.DataFrame({"sentence": found.keys(), "probability": found.values()}, dtype=object)
    table["probability"] = table["probability"].astype(float)
    table["verdict"] = [
        HOLDS if chance > 0.95 else FAILS if chance < 0.05 else "depends on the draw"
        for chance in table["probability"]
    ]
    return table


# -------------------------------------------------------------------------------------- the ledger


def book(exact: Exact, run: Mapping[str, Any]) -> pd.DataFrame:
    """Compare a run with the printed numbers.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs for each case.
    run : mapping
        The run's parameters by name; ``rules``, the acceptable region as `read_rules` returns.

    Returns
    -------
    DataFrame
        As `ledger.ledger` returns. Ends of ranges and other events of the paper's own ten pairs
        are consistent where they have a probability of 1 % or more under the exact distribution,
        and differ where they have less.
    """
    computed: dict[str, float] = worked_example()
    agrees: dict[str, tuple[float, str]] = {}
    reach: dict[str, float] = {}
    cases = itertools.product(P0, EPSILON)
    if run["n"] == run["n_s"] == N and run["prior"] == PRIOR and all(c in exact for c in cases):
        more, agrees, reach = answers(exact)
        computed |= more
    return ledger(
        "mcclure_reiter",
        computed,
        settings=_settings(run),
        consistent=agrees,
        missing="belongs to the paper's settings",
        tolerances=reach,
        notes=NOTES | {key: DRAWN for key in computed if key in _DRAWN},
    )


DRAWN = "less probable than 1 % in ten pairs; section The ranges of U"
_DRAWN = {
    *(f"utility_{e}_{end}" for e in ("0.01", "2") for end in ("smallest", "largest")),
    "figure2_highest_risk", "example_observed", "figure3_largest", "figure4_largest",
    "small_risk_epsilon", "vicinity_epsilon", "small_only_epsilon",
}  # fmt: skip


def _settings(run: Mapping[str, Any]) -> dict[str, float]:
    """What a run chooses, by the ids of the paper's file."""
    rules: Sequence[Rule] = run["rules"]
    chosen = {
        "n": run["n"], "n_s": run["n_s"], "prior": run["prior"], "pairs": run["n_pairs"],
        "figure_priors": run["n_priors"], "chain_prior": 1, "chain_burn_in": run["burn_in"],
        "chain_steps": run["burn_in"] + run["n_steps"], "risk_threshold": 0.5,
        "prior_high": 0.9999, "prior_low": 0.0001,
        "rule_low_relative": rules[0].rr_at_most, "rule_low_risk": rules[0].r_at_most,
        "rule_high_relative": rules[-1].rr_at_most, "rule_high_risk": rules[-1].r_at_least,
        "rule_middle_risk": rules[len(rules) // 2].r_at_least,
    }  # fmt: skip
    known = set(printed("mcclure_reiter")["id"])
    chosen |= {f"p0_{p:g}".replace("0.", ""): p for p in run["p0"]}
    chosen |= {f"epsilon_{e:g}": e for e in run["epsilon"]}
    return {key: value for key, value in chosen.items() if key in known}


def answers(
    exact: Exact,
) -> tuple[dict[str, float], dict[str, tuple[float, str]], dict[str, float]]:
    """Values that the exact distributions give to printed numbers.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        For n = n_s = 1000 and the intruder's prior 1/2; the paper's cases at least.

    Returns
    -------
    computed : dict of str to float
        Numbers that are recomputed, by the ids of the paper's file.
    consistent : dict of str to (float, str)
        Numbers that rest on the paper's own draws or follow from others that it prints, with the
        check.
    tolerances : dict of str to float
        How far chance takes an extreme of ten pairs from its median (99 %).
    """
    number = printed("mcclure_reiter").set_index("id")["printed"].astype(float)
    computed: dict[str, float] = {}
    for (p0, epsilon), pairs in exact.items():
        entry = f"table1_{p0:g}_{epsilon:g}".replace("_0.", "_", 1)
        if entry in number:
            computed[entry] = pairs.expected_increase(PRIOR)
    rare = {e: exact[0.001, e] for e in EPSILON}
    doubled = {e: q.chance(q.log_ratio > np.log(2), PAIRS) for e, q in rare.items()}
    proposed = (one_step_proposal(N) == 0.5).all(axis=1)
    computed |= {
        "decreased_to": max(e for e in EPSILON if e < 10),
        "figure4_epsilon": min(e for e, chance in doubled.items() if chance >= IMPLAUSIBLE),
        "chain_lowest_inner": int(np.flatnonzero(proposed).min()),
        "chain_highest_inner": int(np.flatnonzero(proposed).max()),
    }
    reach: dict[str, float] = {}
    agrees: dict[str, tuple[float, str]] = {
        "data_sets_a_figure": (len(EPSILON) * PAIRS, "six budgets, ten pairs each"),
        "increase_001": (number["table1_001_1000"], "Table 1 prints the same"),
        "increase_at_most_5": (number["table1_5_1000"], "Table 1 prints less"),
        "little_loss_epsilon": (
            100,
            f"at p0 = .5 the expected increase is {computed['table1_5_100']:.4f} at 100 and "
            f"{computed['table1_5_1000']:.4f} at 1000",
        ),
    }
    for key in (key for key in number.index if key.startswith("ratio_")):
        power = 10 ** number[key.replace("ratio", "utility")]
        agrees[key] = (power, "10 to the U that is printed")

    def by_chance(key: str, value: float, chance: float, words: str) -> None:
        if chance >= IMPLAUSIBLE:
            agrees[key] = (value, words)
        else:
            computed[key] = value

    # Both ends of a range belong to one proportion, that at which they are most probable together.
    ranges = inside_ranges({case: q for case, q in exact.items() if case[0] in (0.3, 0.5)})
    for epsilon, of_range in ranges.groupby("epsilon"):
        by_p = of_range.set_index("p0")
        best = by_p["both ends"].idxmax()
        for end, name in (("smallest", "lower end"), ("largest", "upper end")):
            words = ", ".join(f"{c:.3f} at p0 = {p:g}" for p, c in by_p[name].items())
            key = f"utility_{epsilon:g}_{end}"
            middle, reach[key] = exact[best, epsilon].extreme(end, "utility", PAIRS)
            by_chance(
                key,
                middle,
                by_p.loc[best, name],
                f"median of ten at p0 = {best:g}, where both ends of the range are most probable; "
                f"this one prints so with probability {words}",
            )
    said = sentences(exact).set_index("sentence")["probability"]
    near = [exact[0.001, e] for e in EPSILON if e <= 10]
    all_near = [1 - q.chance(abs(q.risk - 0.5) > 0.05, PAIRS) for q in near]
    largest, reach["figure2_highest_risk"] = rare[1000].extreme("largest", "risk", PAIRS)
    log_l = [q.largest("log_ratio", PAIRS, 0.5) for (p, _), q in exact.items() if p == 0.5]
    some = 1 - np.prod([1 - doubled[e] for e in (1000, 100)])
    drawn = {
        "figure2_highest_risk": (largest, "p0 = .001: several R near .90 (two or more above .85)"),
        "example_observed": (1, "p0 = .001: the worked example occurs once"),
        "figure3_largest": (float(np.exp(max(log_l))), "p0 = .5: RR at most 1.25 at any ε"),
        "small_risk_epsilon": (1000, "p0 = .5: R below .55 at ε = 1000"),
        "vicinity_epsilon": (10, "p0 = .001: R = .5 ± .05 at ε < 10"),
    }
    for key, (value, sentence) in drawn.items():
        by_chance(key, value, said[sentence], f"{sentence}: probability {said[sentence]:.3f}")
    by_chance(
        "figure4_largest",
        float(np.exp(rare[1000].largest("log_ratio", PAIRS, 0.5))),
        float(some),
        f"some of ten exceed 2 with probability {doubled[1000]:.3f} at 1000, {doubled[100]:.3f} at "
        "100",
    )
    by_chance(
        "small_only_epsilon",
        10,
        all_near[-1],
        f"p0 = .001: ten R = .5 ± .05 with probability {all_near[0]:.2f} at 10, {all_near[1]:.2f} "
        "at 2",
    )
    return computed, agrees, reach
