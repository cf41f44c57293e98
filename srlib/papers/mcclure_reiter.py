"""What the exact distributions answer to the numbers that McClure and Reiter (2012) print."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import binom

from srlib.mechanism.bayes import risk, update
from srlib.mechanism.families import bernoulli_plugin_alpha, private_plugin
from srlib.papers.ledger import printed
from srlib.papers.proportion import Pairs
from srlib.papers.proportion_chain import one_step_proposal

PAIRS, N = 10, 1000
NOTES = {
    "utility_0.01_largest": "chains that have not converged; section The Markov chain",
    "ratio_0.01_largest": "chains that have not converged; section The Markov chain",
    "chain_lowest_inner": "X = 1 would have no proposal; section The small print of Appendix B",
}


def worked_example() -> dict[str, float]:
    """The example of section 3.2: all other records 0, ours 1, X* = 3, epsilon = 1000."""
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


def answers(
    exact: Mapping[tuple[float, float], Pairs],
) -> tuple[dict[str, float], dict[str, float]]:
    """Values that a run's exact distributions give to printed numbers.

    Parameters
    ----------
    exact : mapping of (p0, epsilon) to Pairs
        All pairs for each case, for n = n_s = 1000 and the intruder's prior 1/2; the paper's cases
        at least.

    Returns
    -------
    computed : dict of str to float
        By the ids of the paper's file. The smallest and largest of ten pairs have an exact
        distribution; its median is given.
    tolerances : dict of str to float
        How far chance takes such an extreme from its median (99 %).
    """
    computed, extremes = worked_example(), {}
    number = printed("mcclure_reiter").set_index("id")["printed"].astype(float)
    for (p0, epsilon), pairs in exact.items():
        entry = f"table1_{p0:g}_{epsilon:g}".replace("_0.", "_", 1)
        if entry in number:
            computed[entry] = float(np.maximum(pairs.risk - 0.5, 0) @ pairs.probability)
    for epsilon in (0.01, 2):
        for end in ("smallest", "largest"):
            key, pairs = f"utility_{epsilon:g}_{end}", exact[0.5, epsilon]
            extremes[key] = pairs.extreme(end, "utility", PAIRS)
            of = {"smallest": pairs.smallest, "largest": pairs.largest}[end]
            low, middle, high = (10 ** of("utility", PAIRS, q) for q in (0.005, 0.5, 0.995))
            ratio = middle, max(middle - low, high - middle)
            extremes[key.replace("utility", "ratio")] = ratio
    rare = exact[0.001, 1000]
    extremes["figure2_highest_risk"] = rare.extreme("largest", "risk", PAIRS)
    once = rare.chance((rare.x == 1) & (rare.x_star == 3))
    extremes["example_observed"] = PAIRS * once, float(binom.ppf(0.995, PAIRS, once))

    cases = {p: {e: pairs for (q, e), pairs in exact.items() if q == p} for p in (0.5, 0.001)}
    near = {
        p: [e for e, pairs in of_p.items() if _reach(pairs) < 0.05] for p, of_p in cases.items()
    }
    doubled = [e for e, q in cases[0.001].items() if q.chance(q.log_ratio > np.log(2)) > 0.001]
    log_ratios = [q.largest("log_ratio", PAIRS, 0.995) for q in cases[0.5].values()]
    medians = [pairs.quantile("log_ratio", 0.5) for pairs in exact.values()]
    computed |= {
        "risk_threshold": float(update(0.0, 0.5)),
        "increase_at_most_5": computed["table1_5_1000"],
        "increase_001": computed["table1_001_1000"],
        "prior_high": float(update(medians, 0.9999).min()),
        "prior_low": float(update(medians, 0.0001).max()),
        "figure3_largest": float(np.exp(max(log_ratios))),
        "figure4_largest": float(np.exp(rare.largest("log_ratio", PAIRS, 0.5))),
        "figure4_epsilon": min(doubled),
        "small_risk_epsilon": max(near[0.5]),
        "vicinity_epsilon": max(near[0.001]),
        "chain_lowest_inner": int((one_step_proposal(N) == 0.5).all(axis=1).argmax()),
    }
    computed |= {key: middle for key, (middle, _) in extremes.items()}
    return computed, {key: reach for key, (_, reach) in extremes.items()}


def _reach(pairs: Pairs) -> float:
    """How far the central 90 % of the risk reach from 1/2."""
    return max(pairs.quantile("risk", 0.95) - 0.5, 0.5 - pairs.quantile("risk", 0.05))
