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
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, logsumexp

from srlib import checks
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
                f"r_at_least is {self.r_at_least} and r_at_most is {self.r_at_most}; they must "
                "satisfy 0 <= r_at_least < r_at_most <= 1"
            )


def read_rules(entries: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules of a parameter file, such as ``{rr_at_most: 10, r_at_most: 0.1}``."""
    if not entries:
        raise ValueError("entries is empty; it must have one rule or more")
    allowed = ("rr_at_most", "r_at_least", "r_at_most")
    for entry in entries:
        strange = [key for key in entry if key not in allowed]
        if strange or "rr_at_most" not in entry:
            raise ValueError(
                f"a rule has the entries {', '.join(map(str, entry))}; it must have rr_at_most and "
                "may have r_at_least and r_at_most"
            )
    return tuple(Rule(**entry) for entry in entries)


def unacceptable_priors(
    log_ratio: float, rules: Sequence[Rule]
) -> list[tuple[float, float]]:
    """Return the prior probabilities of the true value for which a release violates a rule.

    They are exact intervals of w in increasing order, with overlaps merged. The list is
    empty if the release is acceptable for every prior.
    """
    intervals = []
    for rule in rules:
        low, high = (
            _prior_at(rule.r_at_least, log_ratio),
            _prior_at(rule.r_at_most, log_ratio),
        )
        # RR = L / (1 + w (L - 1)) exceeds the bound on one side of the w that attains
        # it.
        if log_ratio > 0:
            # (L / a - 1) / (L - 1), divided by L, because L may overflow.
            high = min(high, 1 + (1 / rule.rr_at_most - 1) / -np.expm1(-log_ratio))
        elif log_ratio < 0:
            excess = np.exp(log_ratio) * (1 - 1 / rule.rr_at_most)
            low = max(low, 1 + excess / -np.expm1(log_ratio))
        elif rule.rr_at_most >= 1:
            continue
        if low < high:
            intervals.append((low, float(high)))
    joined: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _prior_at(risk: float, log_ratio: float) -> float:
    """Return the prior probability for which the posterior probability is `risk`."""
    return float(expit(logit(risk) - log_ratio))


def risk_curves(log_ratios: Mapping[str, float], rules: Sequence[Rule]) -> pd.DataFrame:
    """Return points on the line of each release, and on the segments that violate a rule.

    The columns are curve (the release's name), segment (0 for the whole line, then
    numbered), risk and relative_risk.
    """
    frames = []
    for name, log_ratio in log_ratios.items():
        excess = np.expm1(log_ratio)  # RR = 1 + (L - 1) (1 - R)
        for i, ends in enumerate([(0.0, 1.0), *unacceptable_priors(log_ratio, rules)]):
            first, last = (float(expit(logit(w) + log_ratio)) for w in ends)
            risk = np.linspace(first, last, N_POINTS)
            if abs(excess) > 1e-6:  # evenly spaced in log RR
                relative = np.geomspace(
                    1 + excess * (1 - first), 1 + excess * (1 - last), N_POINTS
                )
                risk[1:-1] = 1 - (relative[1:-1] - 1) / excess
            points = {"risk": risk, "relative_risk": 1 + excess * (1 - risk)}
            frames.append(pd.DataFrame({"curve": name, "segment": i} | points))
    return pd.concat(frames, ignore_index=True)


def unacceptable(log_ratio: ArrayLike, rules: Sequence[Rule]) -> NDArray[np.bool_]:
    """Return whether releases violate a rule for some prior, from their log L."""
    with np.errstate(over="ignore"):
        ratio = np.exp(np.asarray(log_ratio, dtype=float))
    broken = np.zeros(ratio.shape, dtype=bool)
    for rule in rules:
        # A straight line is largest at an end; at R = 1, RR is one for every L.
        at_low = rule.r_at_least + ratio * (1 - rule.r_at_least)
        gap = 1 - rule.r_at_most
        at_high = rule.r_at_most + (ratio * gap if gap > 0 else 0.0)
        broken |= np.maximum(at_low, at_high) > rule.rr_at_most
    return broken


def largest_log_ratio(rules: Sequence[Rule]) -> float:
    """Return the largest log L that is acceptable for every prior.

    Each rule binds at its corner, the smallest R to which it applies.
    """
    most = [(r.rr_at_most - r.r_at_least) / (1 - r.r_at_least) for r in rules]
    return float(np.log(min(most))) if min(most) > 0 else float("-inf")


def violates_rules(
    risk: ArrayLike, relative_risk: ArrayLike, rules: Sequence[Rule]
) -> NDArray[np.bool_]:
    """Return whether points of risk and relative risk violate a rule."""
    r, rr = np.asarray(risk, dtype=float), np.asarray(relative_risk, dtype=float)
    broken = [
        (rule.r_at_least <= r) & (r <= rule.r_at_most) & (rr > rule.rr_at_most)
        for rule in rules
    ]
    return np.any(broken, axis=0)


def unacceptable_share(
    log_ratio: ArrayLike,
    mcse: ArrayLike,
    rules: Sequence[Rule],
    prior: ArrayLike | None = None,
) -> dict[str, float]:
    """Return the share of records for which a release is unacceptable, and the share undecided.

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

    def is_unacceptable(log_l: NDArray[np.float64]) -> NDArray[np.bool_]:
        if prior is None:
            return unacceptable(log_l, rules)
        risk = expit(logit(prior) + log_l)
        return violates_rules(risk, risk / np.asarray(prior), rules)

    if prior is not None:
        checks.inner_probability(prior=prior)
    log_l, two_errors = (
        np.asarray(log_ratio, dtype=float),
        2 * np.asarray(mcse, dtype=float),
    )
    result = is_unacceptable(log_l)
    lower, upper = (
        is_unacceptable(log_l - two_errors),
        is_unacceptable(log_l + two_errors),
    )
    undecided = (lower != result) | (upper != result)
    return {"unacceptable": float(result.mean()), "undecided": float(undecided.mean())}


def acceptable_releases(
    mechanism: Mechanism, rules: Sequence[Rule]
) -> NDArray[np.bool_]:
    """Return whether each release is acceptable for every prior and every record of the data.

    The result, (n_inputs, n_outputs), depends on the confidential data. The whole table
    is computed.
    """
    table = mechanism.block(
        np.arange(mechanism.n_inputs), np.arange(mechanism.n_outputs)
    )
    broken = np.zeros(table.shape, dtype=bool)
    for one, other in mechanism.neighbors:
        difference = log_difference(table[one], table[other])
        broken[one] |= unacceptable(difference, rules)
        broken[other] |= unacceptable(-difference, rules)
    return ~broken


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
    table = mechanism.block(
        np.arange(mechanism.n_inputs), np.arange(mechanism.n_outputs)
    )
    kept = np.asarray(acceptable, dtype=bool)
    if kept.shape != table.shape:
        raise ValueError(f"acceptable has shape {kept.shape}; it must be {table.shape}")
    table = np.where(kept, table, -np.inf)
    log_accepted = logsumexp(table, axis=1, keepdims=True)
    never = np.isneginf(log_accepted)
    conditioned = table - np.where(never, 0.0, log_accepted)
    return Mechanism.from_table(
        np.hstack([conditioned, np.where(never, 0.0, -np.inf)]),
        mechanism.neighbors,
        inputs=mechanism.inputs,
        outputs=[*mechanism.outputs, None],
    )


def release_first_acceptable(
    mechanisms: Sequence[Mechanism], rules: Sequence[Rule], names: Sequence = ()
) -> Mechanism:
    """Return the mechanism that draws from each mechanism and releases the first acceptable one.

    McClure and Reiter (2012), section 4, propose it: among the acceptable releases, the
    agency publishes the one with the greatest utility, and names its mechanism.
    Acceptable releases are those of `acceptable_releases`, which depend on the
    confidential data. The choice is therefore itself a mechanism, with its own epsilon.

    The mechanisms must have the same rows and neighbors, and the most useful comes
    first. Columns of the result are named (name, release); names are positions by
    default. In the last column, ``None``, no release is acceptable and nothing is
    released.
    """
    first = mechanisms[0]
    if any(
        m.n_inputs != first.n_inputs or not np.array_equal(m.neighbors, first.neighbors)
        for m in mechanisms
    ):
        raise ValueError("mechanisms must all have the same rows and neighbors")
    rows, log_rejected = np.arange(first.n_inputs), np.zeros(first.n_inputs)
    parts, outputs = [], []
    for name, mechanism in zip(
        names or range(len(mechanisms)), mechanisms, strict=True
    ):
        table = mechanism.block(rows, np.arange(mechanism.n_outputs))
        broken = ~acceptable_releases(mechanism, rules)
        parts.append(log_rejected[:, None] + np.where(broken, -np.inf, table))
        outputs += [(name, released) for released in mechanism.outputs]
        with np.errstate(divide="ignore"):
            log_rejected = log_rejected + np.log((np.exp(table) * broken).sum(axis=1))
    log_prob = np.hstack([*parts, log_rejected[:, None]])
    return Mechanism.from_table(
        log_prob, first.neighbors, inputs=first.inputs, outputs=[*outputs, None]
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

    def broken(epsilon: float) -> bool:
        log_p, log_q = (
            family(epsilon).row(true_row),
            family(epsilon).row(alternative_row),
        )
        possible = np.isfinite(log_p)
        return bool(unacceptable(log_p[possible] - log_q[possible], rules).any())

    if broken(low):
        return 0.0
    if not broken(high):
        return high
    while high / low > 1 + 1e-9:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if broken(middle) else (middle, high)
    return low
