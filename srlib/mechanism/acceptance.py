"""Releases that are acceptable for every prior of the intruder.

McClure and Reiter (2012), section 4: the risk R is the intruder's posterior probability
of the true value, and the relative risk RR is R divided by the prior probability w. As
w runs through (0, 1), a release traces a curve in the plane of R and RR. The agency
states which part of the plane is acceptable. Let L be the ratio of the release's
probability under the true value to that under the alternative. The curve is then the
straight line RR = R + L (1 - R), so all results here are exact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from srlib import checks
from srlib.arrays import ArrayLike, Bools, Floats, log_or_minus_inf
from srlib.mechanism.bayes import posterior_from_log_ratio
from srlib.mechanism.core import Mechanism, log_difference

N_POINTS = 60
"""Points drawn for the line of a release, and for each segment of it."""


@dataclass(frozen=True)
class Rule:
    """An upper limit for RR, positive, if R lies in a range within [0, 1]."""

    rr_at_most: float
    r_at_least: float = 0.0
    r_at_most: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(rr_at_most=self.rr_at_most)
        if not 0 <= self.r_at_least < self.r_at_most <= 1:
            raise ValueError(
                f"r_at_least is {self.r_at_least} and r_at_most is {self.r_at_most}; "
                "they must satisfy 0 <= r_at_least < r_at_most <= 1"
            )


def read_rules(entries: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules of a file, such as ``{rr_at_most: 10, r_at_most: 0.1}``."""
    if not entries:
        raise ValueError("entries is empty; it must have one rule or more")
    allowed = {"rr_at_most", "r_at_least", "r_at_most"}
    for entry in entries:
        if "rr_at_most" not in entry or not allowed.issuperset(entry):
            raise ValueError(
                f"a rule has the entries {', '.join(map(str, entry))}; it must have "
                "rr_at_most and may have r_at_least and r_at_most"
            )
    return tuple(Rule(**entry) for entry in entries)


def unacceptable_priors(
    log_ratio: float,
    rules: Sequence[Rule],
) -> list[tuple[float, float]]:
    """Return the prior probabilities for which a release violates a rule.

    They are exact intervals of w in increasing order, with overlaps merged. The list is
    empty if the release is acceptable for every prior.
    """
    merged: list[tuple[float, float]] = []
    for low, high in sorted(_violating_priors(rule, log_ratio) for rule in rules):
        if low >= high:
            continue
        if merged and low <= merged[-1][1]:
            low, last = merged.pop()
            high = max(last, high)
        merged.append((low, high))
    return merged


def _violating_priors(rule: Rule, log_ratio: float) -> tuple[float, float]:
    """Return the interval of priors that violate a rule, empty if it does not increase.

    RR = L / (1 + w (L - 1)) exceeds the limit on one side of the w that attains it.
    """
    ends = [rule.r_at_least, rule.r_at_most]
    low, high = posterior_from_log_ratio(-log_ratio, ends).tolist()
    if log_ratio > 0:
        # (L / a - 1) / (L - 1), divided by L, because L may overflow.
        attained = 1 + (1 / rule.rr_at_most - 1) / -np.expm1(-log_ratio)
        return low, min(high, float(attained))
    if log_ratio < 0:
        excess = np.exp(log_ratio) * (1 - 1 / rule.rr_at_most)
        attained = 1 + excess / -np.expm1(log_ratio)
        return max(low, float(attained)), high
    return low, low if rule.rr_at_most >= 1 else high  # RR is 1


def risk_curves(
    log_ratios: Mapping[str, float],
    rules: Sequence[Rule],
) -> pd.DataFrame:
    """Return points on the line of each release, and on segments that violate a rule.

    The columns are curve (the release's name), segment (0 for the whole line, then
    numbered), risk and relative_risk.
    """
    points = {}
    for curve, log_ratio in log_ratios.items():
        segments = [(0.0, 1.0), *unacceptable_priors(log_ratio, rules)]
        for segment, (low, high) in enumerate(segments):
            points[curve, segment] = _points(log_ratio, low, high)
    table = pd.concat(points, names=["curve", "segment"])
    return table.droplevel(-1).reset_index()


def _points(
    log_ratio: float,
    low: float,
    high: float,
) -> pd.DataFrame:
    """Return risk and relative risk between two priors, evenly spaced in log RR."""
    first, last = posterior_from_log_ratio(log_ratio, [low, high])
    risk = np.linspace(first, last, N_POINTS)
    excess = np.expm1(log_ratio)  # RR = 1 + (L - 1) (1 - R)
    if abs(excess) > 1e-6:
        first, last = 1 + excess * (1 - risk[[0, -1]])
        relative = np.geomspace(first, last, N_POINTS)[1:-1]
        risk[1:-1] = 1 - (relative - 1) / excess
    relative_risk = 1 + excess * (1 - risk)
    return pd.DataFrame({"risk": risk, "relative_risk": relative_risk})


def unacceptable(log_ratio: ArrayLike, rules: Sequence[Rule]) -> Bools:
    """Return whether releases violate a rule for some prior, from their log L."""
    with np.errstate(over="ignore"):
        ratio = np.exp(log_ratio)
    is_violated = np.zeros(ratio.shape, bool)
    for rule in rules:
        # A straight line is largest at an end; at R = 1, RR is one for every L.
        for risk in (rule.r_at_least, rule.r_at_most):
            gain = ratio * (1 - risk) if risk < 1 else 0.0
            is_violated |= risk + gain > rule.rr_at_most
    return is_violated


def violates_rules(
    risk: ArrayLike,
    relative_risk: ArrayLike,
    rules: Sequence[Rule],
) -> Bools:
    """Return whether points of risk and relative risk violate a rule."""
    r = np.asarray(risk)
    rr = np.asarray(relative_risk)
    violated = []
    for rule in rules:
        applies = (rule.r_at_least <= r) & (r <= rule.r_at_most)
        violated.append(applies & (rr > rule.rr_at_most))
    return np.any(violated, axis=0)


def unacceptable_share(
    log_ratio: ArrayLike,
    mcse: ArrayLike,
    rules: Sequence[Rule],
    prior: ArrayLike | None = None,
) -> dict[str, float]:
    """Return the share of records for which a release is unacceptable or undecided.

    Parameters
    ----------
    log_ratio, mcse : (n,) float
        log L of each record and its Monte Carlo standard error.
    rules : sequence of Rule
        The limits of the acceptable region.
    prior : (n,) float, optional
        The intruder's prior probability of each true value, in (0, 1). If not given, a
        release is unacceptable if it violates a rule for some prior.

    Returns
    -------
    dict of str to float
        ``unacceptable``, the share of records; ``undecided``, the share of all records
        whose result changes within two standard errors of log L.
    """

    def is_unacceptable(log_l: Floats) -> Bools:
        if prior is None:
            return unacceptable(log_l, rules)
        risk = posterior_from_log_ratio(log_l, prior)
        return violates_rules(risk, np.divide(risk, prior), rules)

    if prior is not None:
        checks.inner_probability(prior=prior)
    log_l = np.asarray(log_ratio)
    two_errors = 2 * np.asarray(mcse)
    result = is_unacceptable(log_l)
    differs_below = is_unacceptable(log_l - two_errors) != result
    differs_above = is_unacceptable(log_l + two_errors) != result
    return {
        "unacceptable": result.mean(),
        "undecided": np.mean(differs_below | differs_above),
    }


def acceptable_releases(mechanism: Mechanism, rules: Sequence[Rule]) -> Bools:
    """Return whether each release is acceptable for every prior and every record.

    The result, (n_inputs, n_outputs), depends on the confidential data. The whole table
    is computed.
    """
    table = _whole_table(mechanism)
    is_violated = np.zeros(table.shape, bool)
    for first, second in mechanism.neighbors:
        log_ratio = log_difference(table[first], table[second])
        is_violated[first] |= unacceptable(log_ratio, rules)
        is_violated[second] |= unacceptable(-log_ratio, rules)
    return ~is_violated


def _whole_table(mechanism: Mechanism) -> Floats:
    """Return all log probabilities, (n_inputs, n_outputs)."""
    rows = np.arange(mechanism.n_inputs)
    return mechanism.block(rows, np.arange(mechanism.n_outputs))


def redraw(mechanism: Mechanism, acceptable: ArrayLike) -> Mechanism:
    """Return the mechanism that draws until a release is acceptable.

    Its releases have the mechanism's distribution conditioned on being acceptable.
    `acceptable`, (n_inputs, n_outputs) as from `acceptable_releases`, depends on the
    confidential data and differs between neighbors. A release that is acceptable given
    one neighbor and not given the other distinguishes them. An intruder who knows the
    rule uses the returned table and not that of the mechanism. In the last column,
    ``None``, nothing is released because the data allow no acceptable release.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial, exact_epsilon
    >>> table = beta_binomial(n=4, n_s=4, alpha=1.0)
    >>> redrawn = redraw(table, acceptable_releases(table, [Rule(rr_at_most=2.0)]))
    >>> round(exact_epsilon(table).value, 2), exact_epsilon(redrawn).value
    (1.61, inf)
    """
    table = _whole_table(mechanism)
    is_accepted = np.asarray(acceptable, bool)
    if is_accepted.shape != table.shape:
        raise ValueError(
            f"acceptable has shape {is_accepted.shape}; it must be {table.shape}"
        )
    table = np.where(is_accepted, table, -np.inf)
    log_accepted = logsumexp(table, axis=1, keepdims=True)
    is_never = np.isneginf(log_accepted)
    conditioned = table - np.where(is_never, 0.0, log_accepted)
    no_release = np.where(is_never, 0.0, -np.inf)
    return Mechanism.from_table(
        np.hstack([conditioned, no_release]),
        mechanism.neighbors,
        mechanism.inputs,
        [*mechanism.outputs, None],
    )


def release_first_acceptable(
    mechanisms: Sequence[Mechanism],
    rules: Sequence[Rule],
) -> Mechanism:
    """Return the mechanism that draws from each and releases the first acceptable draw.

    McClure and Reiter (2012), section 4, propose it: among the acceptable releases, the
    agency publishes the one with the greatest utility, and names its mechanism.
    Acceptable releases are those of `acceptable_releases`, which depend on the
    confidential data. The choice is therefore itself a mechanism, with its own epsilon.

    The mechanisms must have the same rows and neighbors, and the most useful comes
    first. Columns of the result are named (position of the mechanism, release). In the
    last column, ``None``, no release is acceptable and nothing is released.
    """
    first = mechanisms[0]
    log_rejected = np.zeros((first.n_inputs, 1))  # of all mechanisms so far
    columns = []
    outputs: list = []
    for position, mechanism in enumerate(mechanisms):
        has_neighbors = np.array_equal(mechanism.neighbors, first.neighbors)
        if mechanism.n_inputs != first.n_inputs or not has_neighbors:
            raise ValueError("mechanisms must all have the same rows and neighbors")
        table = _whole_table(mechanism)
        is_rejected = ~acceptable_releases(mechanism, rules)
        columns.append(log_rejected + np.where(is_rejected, -np.inf, table))
        outputs.extend((position, release) for release in mechanism.outputs)
        rejected = np.exp(table) * is_rejected
        log_rejected += log_or_minus_inf(rejected.sum(axis=1, keepdims=True))
    return Mechanism.from_table(
        np.hstack([*columns, log_rejected]),
        first.neighbors,
        first.inputs,
        [*outputs, None],
    )


def largest_epsilon(
    family: Callable[[float], Mechanism],
    true_row: int,
    alternative_row: int,
    rules: Sequence[Rule],
    low: float,
    high: float,
) -> float:
    """Return the largest epsilon at which no release of these data violates a rule.

    Parameters
    ----------
    family : callable
        Maps a positive epsilon to the mechanism with that exact epsilon. A family with
        an unacceptable release at one epsilon is assumed to have one at every larger
        epsilon.
    true_row, alternative_row : int
        Rows of the data with the record's true value and with another value.
    rules : sequence of Rule
        The limits of the acceptable region.
    low, high : float
        Range of the search, positive.

    Returns
    -------
    float
        The epsilon, to a relative accuracy of 1e-9; `high` if all releases up to it are
        acceptable, and 0 if some release is unacceptable at `low`.
    """
    checks.positive_range(low, high)

    def is_violated(epsilon: float) -> bool:
        mechanism = family(epsilon)
        log_p = mechanism.row(true_row)
        log_q = mechanism.row(alternative_row)
        is_possible = np.isfinite(log_p)
        log_ratio = log_p[is_possible] - log_q[is_possible]
        return bool(unacceptable(log_ratio, rules).any())

    if is_violated(low):
        return 0.0
    if not is_violated(high):
        return high
    while high / low > 1 + 1e-9:
        middle = float(np.sqrt(low * high))
        if is_violated(middle):
            high = middle
        else:
            low = middle
    return low
