"""Which releases are acceptable whatever the intruder believed before.

McClure and Reiter (2012), section 4: the risk R is the intruder's posterior probability of the
truth, the relative risk RR is R over the prior probability w. As w runs through (0, 1) a release
traces a curve in the plane of R and RR, and whoever releases says which part of the plane is
acceptable. With L the ratio of the release's probability under the truth to that under the
alternative, the curve is the straight line RR = R + L (1 - R), so that every question about it is
answered exactly.
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
"""Points of a release's line, and of each stretch of it."""


@dataclass(frozen=True)
class Rule:
    """RR is at most a positive number where R lies in a range within [0, 1]."""

    rr_at_most: float
    r_at_least: float = 0.0
    r_at_most: float = 1.0

    def __post_init__(self) -> None:
        checks.positive(rr_at_most=self.rr_at_most)
        if not 0 <= self.r_at_least < self.r_at_most <= 1:
            raise ValueError(
                f"r_at_least is {self.r_at_least} and r_at_most is {self.r_at_most}; the range "
                "covers nothing unless 0 <= r_at_least < r_at_most <= 1"
            )


def read_rules(entries: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Rules as parameters give them, such as ``{rr_at_most: 10, r_at_most: 0.1}``, one or more."""
    if not entries:
        raise ValueError("there is no rule; with none every release would be acceptable")
    allowed = ("rr_at_most", "r_at_least", "r_at_most")
    for entry in entries:
        strange = [key for key in entry if key not in allowed]
        if strange or "rr_at_most" not in entry:
            raise ValueError(
                f"a rule has the keys {', '.join(map(str, entry))}; it needs rr_at_most and may "
                "have r_at_least and r_at_most"
            )
    return tuple(Rule(**entry) for entry in entries)


def unacceptable_priors(log_ratio: float, rules: Sequence[Rule]) -> list[tuple[float, float]]:
    """The prior probabilities of the truth for which a release breaks a rule, exactly.

    Returns intervals of w from below to above, overlapping ones joined; none if the release is
    acceptable whatever the prior.
    """
    intervals = []
    for rule in rules:
        low, high = _prior_at(rule.r_at_least, log_ratio), _prior_at(rule.r_at_most, log_ratio)
        # RR = L / (1 + w (L - 1)) exceeds the bound on one side of the w where it is attained.
        if log_ratio > 0:
            # (L / a - 1) / (L - 1), divided by L: L may be beyond the range of doubles.
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
    """The prior probability that a release turns into this posterior one."""
    return float(expit(logit(risk) - log_ratio))


def risk_curves(log_ratios: Mapping[str, float], rules: Sequence[Rule]) -> pd.DataFrame:
    """The line of each release, by name, and the stretches of it that break a rule, as points.

    The columns are curve (the name), segment (0 for the whole line, then numbered), risk and
    relative_risk.
    """
    frames = []
    for name, log_ratio in log_ratios.items():
        excess = np.expm1(log_ratio)  # RR = 1 + (L - 1) (1 - R)
        for i, ends in enumerate([(0.0, 1.0), *unacceptable_priors(log_ratio, rules)]):
            first, last = (float(expit(logit(w) + log_ratio)) for w in ends)
            risk = np.linspace(first, last, N_POINTS)
            if abs(excess) > 1e-6:  # at even distances of log RR
                relative = np.geomspace(1 + excess * (1 - first), 1 + excess * (1 - last), N_POINTS)
                risk[1:-1] = 1 - (relative[1:-1] - 1) / excess
            points = {"risk": risk, "relative_risk": 1 + excess * (1 - risk)}
            frames.append(pd.DataFrame({"curve": name, "segment": i} | points))
    return pd.concat(frames, ignore_index=True)


def unacceptable(log_ratio: ArrayLike, rules: Sequence[Rule]) -> NDArray[np.bool_]:
    """Whether releases, by their log L, break a rule for some prior."""
    with np.errstate(over="ignore"):
        ratio = np.exp(np.asarray(log_ratio, dtype=float))
    broken = np.zeros(ratio.shape, dtype=bool)
    for rule in rules:
        # A straight line is largest at an end; at R = 1 it is one whatever L is.
        at_low = rule.r_at_least + ratio * (1 - rule.r_at_least)
        gap = 1 - rule.r_at_most
        at_high = rule.r_at_most + (ratio * gap if gap > 0 else 0.0)
        broken |= np.maximum(at_low, at_high) > rule.rr_at_most
    return broken


def largest_log_ratio(rules: Sequence[Rule]) -> float:
    """The largest log L that is acceptable whatever the prior.

    Each rule binds at its corner, the smallest R to which it applies.
    """
    most = [(r.rr_at_most - r.r_at_least) / (1 - r.r_at_least) for r in rules]
    return float(np.log(min(most))) if min(most) > 0 else float("-inf")


def violates_rules(
    risk: ArrayLike, relative_risk: ArrayLike, rules: Sequence[Rule]
) -> NDArray[np.bool_]:
    """Whether points lie outside the region of acceptable risk and relative risk."""
    r, rr = np.asarray(risk, dtype=float), np.asarray(relative_risk, dtype=float)
    broken = [
        (rule.r_at_least <= r) & (r <= rule.r_at_most) & (rr > rule.rr_at_most) for rule in rules
    ]
    return np.any(broken, axis=0)


def unacceptable_share(
    log_ratio: ArrayLike, mcse: ArrayLike, rules: Sequence[Rule], prior: ArrayLike | None = None
) -> dict[str, float]:
    """Share of records for which a release is not acceptable, and how sure that is.

    Parameters
    ----------
    log_ratio, mcse : (n,) float
        log L of each record and its Monte Carlo standard error.
    rules : sequence of Rule
        What is acceptable.
    prior : (n,) float, optional
        The intruder's prior probability of each truth, in (0, 1). If not given, a release is not
        acceptable where it breaks a rule for some prior.

    Returns
    -------
    dict of str to float
        ``unacceptable``, the share; ``undecided``, the share of the records, on either side, whose
        verdict is another one within two standard errors of log L.
    """

    def verdict(log_l: NDArray[np.float64]) -> NDArray[np.bool_]:
        if prior is None:
            return unacceptable(log_l, rules)
        risk = expit(logit(prior) + log_l)
        return violates_rules(risk, risk / np.asarray(prior), rules)

    if prior is not None:
        checks.inner_probability(prior=prior)
    log_l, two = np.asarray(log_ratio, dtype=float), 2 * np.asarray(mcse, dtype=float)
    here = verdict(log_l)
    undecided = (verdict(log_l - two) != here) | (verdict(log_l + two) != here)
    return {"unacceptable": float(here.mean()), "undecided": float(undecided.mean())}


def acceptable_releases(mechanism: Mechanism, rules: Sequence[Rule]) -> NDArray[np.bool_]:
    """Whether each release breaks no rule, for any prior and any record of the data.

    The answer, (n_inputs, n_outputs), depends on the confidential data. The whole table is
    computed.
    """
    table = mechanism.block(np.arange(mechanism.n_inputs), np.arange(mechanism.n_outputs))
    broken = np.zeros(table.shape, dtype=bool)
    for one, other in mechanism.neighbors:
        difference = log_difference(table[one], table[other])
        broken[one] |= unacceptable(difference, rules)
        broken[other] |= unacceptable(-difference, rules)
    return ~broken


def redraw(mechanism: Mechanism, acceptable: ArrayLike) -> Mechanism:
    """Draw again until a release is acceptable, and publish that one.

    The published release has the mechanism's distribution conditioned on being acceptable. What is
    acceptable, (n_inputs, n_outputs) as `acceptable_releases` returns, is looked up in the
    confidential data and differs between neighbors: a release that is acceptable under one and not
    under the other tells them apart, and an intruder who knows the rule reads it in this table, not
    in that of the mechanism. The last column, ``None``, is that nothing is published, which happens
    where the data lead to no acceptable release.

    Examples
    --------
    >>> from srlib.mechanism import beta_binomial, exact_epsilon
    >>> table = beta_binomial(n=4, n_s=4, alpha=1.0)
    >>> both = redraw(table, acceptable_releases(table, [Rule(rr_at_most=2.0)]))
    >>> round(exact_epsilon(table).value, 2), exact_epsilon(both).value
    (1.61, inf)
    """
    table = mechanism.block(np.arange(mechanism.n_inputs), np.arange(mechanism.n_outputs))
    kept = np.asarray(acceptable, dtype=bool)
    if kept.shape != table.shape:
        raise ValueError(f"acceptable has shape {kept.shape}; it must be {table.shape}")
    table = np.where(kept, table, -np.inf)
    log_accepted = logsumexp(table, axis=1, keepdims=True)
    never = np.isneginf(log_accepted)
    conditioned = table - np.where(never, 0.0, log_accepted)
    return Mechanism.from_table(
        np.hstack([conditioned, np.where(never, 0.0, -np.inf)]), mechanism.neighbors,
        inputs=mechanism.inputs, outputs=[*mechanism.outputs, None],
    )  # fmt: skip


def release_first_acceptable(
    mechanisms: Sequence[Mechanism], rules: Sequence[Rule], names: Sequence = ()
) -> Mechanism:
    """Draw from each mechanism, and publish the first release that breaks no rule.

    What section 4 of McClure and Reiter (2012) proposes: of the releases that qualify the one of
    greatest utility is published, together with the mechanism that it came from. A release
    qualifies as of `acceptable_releases`. That is looked up in the confidential data, so that the
    choice is a mechanism itself, with an epsilon of its own.

    The mechanisms have the same rows and neighbors, the most useful comes first. Columns of the
    result are named (name, release), where names are positions if not given. In the last one,
    ``None``, nothing qualifies and nothing is published.
    """
    first = mechanisms[0]
    if any(
        m.n_inputs != first.n_inputs or not np.array_equal(m.neighbors, first.neighbors)
        for m in mechanisms
    ):
        raise ValueError("mechanisms have different rows or neighbors; they must have the same")
    rows, log_rejected = np.arange(first.n_inputs), np.zeros(first.n_inputs)
    parts, outputs = [], []
    for name, mechanism in zip(names or range(len(mechanisms)), mechanisms, strict=True):
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
    truth: int,
    alternative: int,
    rules: Sequence[Rule],
    low: float,
    high: float,
) -> float:
    """The largest epsilon at which no release from these data breaks a rule.

    Parameters
    ----------
    family : callable
        From a positive epsilon to the mechanism with that exact epsilon; what is unacceptable at
        one epsilon is taken to be so at any larger one.
    truth, alternative : int
        Rows of the data with the record's true value and with another.
    rules : sequence of Rule
        What is acceptable.
    low, high : float
        Positive epsilons between which the answer lies.

    Returns
    -------
    float
        To a relative 1e-9; `high` if everything up to it is acceptable, and 0 if a release is
        unacceptable at `low` already.
    """
    checks.positive_range(low, high)

    def broken(epsilon: float) -> bool:
        log_p, log_q = family(epsilon).row(truth), family(epsilon).row(alternative)
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
