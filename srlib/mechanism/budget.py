r"""Epsilon from the disclosure risks that are acceptable, and risks from epsilon.

An intruder believes that a person is in the data with probability p, and that a person
in the data has a value with probability q. Let Z be what an epsilon-differentially
private mechanism publishes. By Bayes' rule the risk R, the posterior probability that
the person is in the data and has the value, is, for an intruder who knows all other
records,

.. math:: \frac{R}{p q} = \frac{1}{p q + p (1 - q) \, L_1 + (1 - p) \, L_0},

where L1 and L0 are the ratios of p(Z | the person has another value) and of p(Z | the
person is not in the data) to p(Z | the person has the value). Let x = exp(-epsilon). If
neighbors differ in one replaced record, L1 and L0 are at least x. If they differ in one
added or removed record, two such steps lead from one value to another: L1 is at least
x^2, L0 at least x. So the risk has an upper limit whatever the data and the mechanism
(Kazan and Reiter 2024). Randomized response attains it. The limit also holds for an
intruder who knows less, if the other records are independent of the person in the
intruder's prior; where they tell something about the person, it does not.

References
----------
Kazan, Z. and Reiter, J. P. (2024). Prior-itizing privacy: a Bayesian approach to
setting the privacy budget in differential privacy.
https://doi.org/10.48550/arXiv.2306.13214
McClure, D. and Reiter, J. P. (2012), section 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import logit

from srlib import checks
from srlib.arrays import ArrayLike, Floats
from srlib.mechanism.acceptance import Rule, read_rules

NEIGHBORS = {"replace": 1, "add or remove": 2}
"""Steps from one value of a person to another, by what neighbors differ in."""
PRIORS = np.concatenate([np.geomspace(1e-9, 1e-4, 500), np.arange(2, 10_000) / 10_000])
"""Prior probabilities at which a function of the prior is evaluated by default."""
_SLACK = np.log(2)  # beyond epsilon, where delta is positive
_LARGEST = 300.0  # loss; a larger one allows the same risks in double precision


@dataclass(frozen=True)
class RiskLimit:
    """An upper limit for R, for prior probabilities of the value up to a largest."""

    risk_at_most: float
    prior_at_most: float

    def __post_init__(self) -> None:
        checks.inner_probability(prior_at_most=self.prior_at_most)
        checks.within(0, 1, risk_at_most=self.risk_at_most)


type Limit = Rule | RiskLimit | Mapping[str, float]


def epsilon_for_risk(
    limits: Sequence[Limit] | Callable[[Floats], ArrayLike],
    *,
    neighbors: str,
    membership: float = 1.0,
    priors: ArrayLike = PRIORS,
) -> float:
    """Return the largest epsilon that keeps all limits, whatever data and mechanism.

    The intruder knows all other records, or takes them to be independent of the person.
    The limits are those of one release, or of all releases together that share the
    epsilon.

    Parameters
    ----------
    limits : sequence of mappings, or callable
        Each is an upper limit. ``{"risk_at_most": 0.1, "prior_at_most": 0.05}`` limits
        the risk R for prior probabilities of the value up to 0.05; ``{"rr_at_most":
        5}`` limits RR, the ratio of the risk to its prior probability; with
        ``r_at_least`` and ``r_at_most`` only where R lies between these, as in
        `acceptance.read_rules`. Or a function that returns the largest acceptable risk
        for an array of prior probabilities of the value.
    neighbors : {"replace", "add or remove"}
        What the differential privacy of the mechanism protects: neighbors differ in the
        values of one record, or in one record that is added or removed.
    membership : float
        The intruder's prior probability that the person is in the data, in (0, 1]; 1 if
        the intruder knows it. The risk is then the probability of being in the data
        with the value.
    priors : array_like, optional
        Prior probabilities of the value, in (0, 1), at which a function is evaluated.
        It is not evaluated between them.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If no positive epsilon keeps the limits, or every epsilon does.

    Examples
    --------
    >>> limit = {"risk_at_most": 0.1, "prior_at_most": 0.05}
    >>> round(epsilon_for_risk([limit], neighbors="replace"), 3)
    0.747
    >>> round(epsilon_for_risk([limit], neighbors="add or remove"), 3)
    0.374
    >>> paper = [
    ...     {"rr_at_most": 10, "r_at_most": 0.1},
    ...     {"rr_at_most": 1.05, "r_at_least": 0.9},
    ... ]
    >>> round(float(np.exp(epsilon_for_risk(paper, neighbors="replace"))), 6)
    1.5
    """
    steps = _steps(neighbors, membership)
    if callable(limits):
        prior = np.asarray(priors, float)
        checks.inner_probability(priors=prior)
        risk = np.broadcast_to(np.asarray(limits(prior), float), prior.shape)
        limits = [*map(RiskLimit, risk.tolist(), prior.tolist())]
    if not len(limits):
        raise ValueError("limits is empty; it must have one limit or more")
    read = [_read(limit) for limit in limits]
    epsilons = [_under(limit, membership, steps) for limit in read]
    smallest = min(epsilons)
    if smallest <= 0:
        raise ValueError(
            f"no epsilon keeps {read[epsilons.index(smallest)]}: even if nothing is "
            "released, a risk is its prior probability, and their ratio 1; raise the "
            "limit"
        )
    if np.isinf(smallest):
        raise ValueError("every epsilon keeps the limits; lower one of them")
    return smallest


def _steps(neighbors: str, membership: float) -> int:
    """Return the steps from one value to another; refuse arguments out of range."""
    if neighbors not in NEIGHBORS:
        raise ValueError(
            f"neighbors is {neighbors!r}; it must be 'replace' or 'add or remove'"
        )
    if not 0 < membership <= 1:
        raise ValueError(f"membership is {membership}; it must lie in (0, 1]")
    return NEIGHBORS[neighbors]


def _read(limit: Limit) -> Rule | RiskLimit:
    """Return the limit that a mapping describes."""
    if isinstance(limit, Rule | RiskLimit):
        return limit
    if not isinstance(limit, Mapping):
        raise ValueError(
            f"a limit is {limit!r}; it must be a mapping such as "
            "{'rr_at_most': 5} or {'risk_at_most': 0.1, 'prior_at_most': 0.05}"
        )
    if "risk_at_most" not in limit:
        (rule,) = read_rules([limit])
        return rule
    if set(limit) != {"risk_at_most", "prior_at_most"}:
        raise ValueError(
            f"a limit has the entries {', '.join(map(str, limit))}; beside "
            "risk_at_most it must have prior_at_most and no other"
        )
    return RiskLimit(**limit)


def _under(limit: Rule | RiskLimit, membership: float, steps: int) -> float:
    """Return the largest epsilon that keeps a limit; infinite if every one does.

    R grows with the prior, and R <= r means p q (1 / r - 1) <= p (1 - q) x^steps +
    (1 - p) x. The largest RR at a risk R = a is (1 - a (1 - x^steps)) / (p x^steps +
    (1 - p) x), which falls with a. So a rule binds at the smallest R to which it
    applies.
    """
    if isinstance(limit, RiskLimit):
        q = limit.prior_at_most
        if limit.risk_at_most == 0:
            return -np.inf
        needed = membership * q * (1 / limit.risk_at_most - 1)
        return _solve(needed, membership * (1 - q), 1 - membership, steps)
    a = limit.r_at_least
    c = limit.rr_at_most
    # RR is then at least a / p where R is a or more, and R at most p / (p + (1 - p) x).
    if c * membership < a:
        return float(logit(a) - logit(membership))
    return _solve(1 - a, c * membership - a, c * (1 - membership), steps)


def _solve(needed: float, by_value: float, by_absence: float, steps: int) -> float:
    """Return the largest epsilon with needed <= by_value x^steps + by_absence x.

    Here x = exp(-epsilon). The result is negative where x would be above one.
    """
    if needed == 0:
        return np.inf
    if steps == 1:
        by_value, by_absence = 0.0, by_value + by_absence
    root = np.sqrt(by_absence**2 + 4 * by_value * needed)
    x = 2 * needed / (by_absence + root) if by_absence + root else np.inf
    return float(-np.log(x))


def risk_at(
    epsilon: ArrayLike,
    prior: ArrayLike,
    *,
    neighbors: str,
    membership: float = 1.0,
    delta: float = 0.0,
    false_positive_rate: float = 0.01,
) -> pd.DataFrame:
    """Return the largest risks that epsilon allows, whatever data and mechanism.

    The intruder is that of `epsilon_for_risk`.

    Parameters
    ----------
    epsilon : float or sequence of float
        Privacy budgets, positive.
    prior : float or sequence of float
        The intruder's prior probabilities of the person's value, given that the person
        is in the data, in (0, 1).
    neighbors : {"replace", "add or remove"}
        As in `epsilon_for_risk`.
    membership : float
        As in `epsilon_for_risk`.
    delta : float
        The delta of the mechanism, in [0, 1).
    false_positive_rate : float
        That of the test whose power is given, in (0, 1).

    Returns
    -------
    DataFrame
        A row for each epsilon and prior: epsilon, prior; risk, the largest posterior
        probability R that the person is in the data with the value; relative_risk, R
        over its prior probability; tail; advantage, the largest true-positive rate less
        the false-positive rate of a test of this against all else, with the intruder's
        weights; and power, its largest true-positive rate at the false-positive rate.

        With a delta, the risk is that of privacy losses log 2 above those of epsilon.
        The tail limits the probability, given the value, of a larger risk: it is twice
        the sum of the deltas of the alternatives, where two steps have delta (1 +
        exp(epsilon)). It is zero without a delta. Advantage and power hold without a
        tail.

    Notes
    -----
    A loss is more than t above epsilon with a probability of at most delta / (1 -
    exp(-t)), after Kasiviswanathan and Smith (2014); here t = log 2.

    References
    ----------
    Kasiviswanathan, S. P. and Smith, A. (2014). On the semantics of differential
    privacy: a Bayesian formulation. https://doi.org/10.29012/jpc.v6i1.634

    Examples
    --------
    >>> risks = risk_at([0.1, 1], [0.01, 0.5], neighbors="replace")
    >>> risks[["epsilon", "prior", "risk", "power"]].round(3)
       epsilon  prior   risk  power
    0      0.1   0.01  0.011  0.011
    1      0.1   0.50  0.525  0.011
    2      1.0   0.01  0.027  0.027
    3      1.0   0.50  0.731  0.027
    """
    steps = _steps(neighbors, membership)
    checks.positive(epsilon=epsilon)
    checks.inner_probability(prior=prior, false_positive_rate=false_positive_rate)
    if not 0 <= delta < 1:
        raise ValueError(f"delta is {delta}; it must be 0 or more and less than 1")
    rows = []
    for e, q in product(np.atleast_1d(epsilon), np.atleast_1d(prior)):
        losses = np.minimum(e * np.array([steps, 1]), _LARGEST)  # of value and absence
        deltas = delta * np.array([1 + (steps - 1) * np.exp(losses[1]), 1])
        others = np.array([membership * (1 - q), 1 - membership])
        row = {"epsilon": e, "prior": q}
        row |= _largest_risk(membership * q, others, losses, deltas)
        row |= _best_test(others / others.sum(), losses, deltas, false_positive_rate)
        rows.append(row)
    return pd.DataFrame(rows)


def _largest_risk(
    prior: float, others: Floats, losses: Floats, deltas: Floats
) -> dict[str, float]:
    """Return the largest risk of a prior probability beside those of the others."""
    slack = _SLACK if deltas.any() else 0.0
    relative_risk = 1 / (prior + float(others @ np.exp(-losses - slack)))
    return {
        "risk": prior * relative_risk,
        "relative_risk": relative_risk,
        "tail": min(1.0, 2 * deltas[others > 0].sum()),
    }


def _best_test(
    weights: Floats, losses: Floats, deltas: Floats, rate: float
) -> dict[str, float]:
    """Return the largest advantage of a test, and its largest power at a rate.

    Let P be the true-positive rate and Q_j the false-positive rate given alternative j.
    Then P <= exp(loss_j) Q_j + delta_j and 1 - Q_j <= exp(loss_j) (1 - P) + delta_j.
    Weighted, these are two lines in the false-positive rate.
    """
    gain = float(1 / (weights @ np.exp(-losses)))
    start = gain * float(weights @ (deltas * np.exp(-losses)))
    loss = float(weights @ np.exp(losses))
    missed = float(weights @ deltas)
    crossing = (1 - (1 - missed) / loss - start) / (gain - 1 / loss)
    advantage = start + (gain - 1) * max(crossing, 0.0)
    power = min(1.0, start + gain * rate, 1 - (1 - rate - missed) / loss)
    return {"advantage": min(advantage, 1.0), "power": power}
