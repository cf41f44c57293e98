"""Both readings of a table of counts side by side, as data frames and numbers.

The rows of the table are X = 0 to n ones in the data, and a record that changes moves X by one.
The record at risk has a one, unless the data hold none: the intruder, who knows all other records,
compares the row of the data with the row next to it.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import logsumexp

from srlib import checks
from srlib.display import percent
from srlib.dpmpm import Draws, Prior, cell_log_prob, enumerate_mechanism, share_posterior
from srlib.mechanism import bayes, edp
from srlib.mechanism.core import Mechanism, change_one
from srlib.mechanism.edp import beta_posterior
from srlib.mechanism.families import (
    bernoulli_plugin_alpha,
    beta_binomial,
    dirichlet_multinomial_alpha,
    private_plugin,
)
from srlib.mechanism.privacy import calibrate, conditional_epsilon, exact_epsilon, privacy_loss
from srlib.mechanism.proportion import Study
from srlib.mechanism.scores import exact_rate, gibbs
from srlib.papers.charest import binary_scores
from srlib.papers.claims import FAILS, HOLDS, PROVED, Verdict, of_intervals

# From a count of ones and a number of records to the posterior of the share of ones.
Posterior = Callable[[int, int], Any]
PLUG_IN, LOG_P = "Bernoulli plug-in", "exponential, log P"
BETA_BINOMIAL, DPMPM = "beta-binomial", "DPMPM"
SAME = 1e-9  # exact numbers that are closer differ by rounding


def changed_count(n: int) -> NDArray[np.int64]:
    """The count of ones with the record at risk changed, for X = 0 to n, (n + 1,).

    X - 1, because the record has a one; for X = 0 it has none, and the other count is 1.

    References
    ----------
    McClure and Reiter (2012), section 3.1.
    """
    checks.at_least(1, n=n)
    return np.append(1, np.arange(n))


def entries(table: Mechanism) -> pd.DataFrame:
    """All entries of a table of counts, with both readings of each.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes; columns releases.

    Returns
    -------
    DataFrame
        One row an entry: x, release (positions); log_prob; log_ratio, log_prob less that of the
        data with the record at risk changed; attains, whether this row and the next one attain the
        exact epsilon in this column; conditional_epsilon, of the row; exact_epsilon, of the table.
    """
    n = table.n_inputs - 1
    log_prob = table.block(np.arange(n + 1), np.arange(table.n_outputs))
    log_ratio = log_prob - log_prob[changed_count(n)]
    exact = exact_epsilon(table).value
    step = np.abs(np.diff(log_prob, axis=0))
    attains = np.zeros(log_prob.shape, dtype=bool)
    attains[:n] = step >= exact * (1 - 1e-9)
    x, release = np.indices(log_prob.shape)
    conditional = conditional_epsilon(table)[x]
    columns = {
        "x": x,
        "release": release,
        "log_prob": log_prob,
        "log_ratio": log_ratio,
        "attains": attains,
        "conditional_epsilon": conditional,
    }
    frame = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    return frame.assign(exact_epsilon=exact)


def both(table: Mechanism, x: int, prior: float) -> dict[str, float]:
    """Read one data set both ways.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes; columns releases.
    x : int
        Ones in the data, 0 to n.
    prior : float
        The intruder's prior probability of the record's true value, in [0, 1].

    Returns
    -------
    dict
        exact_epsilon and conditional_epsilon; largest_posterior, of the truth over all releases;
        expected_posterior, over the releases from these data; expected_increase, of the posterior
        over the prior, falls not counted.

    Raises
    ------
    ValueError
        If there is no such row, or the prior is no probability.

    References
    ----------
    McClure and Reiter (2012), equations 1, 5 and 6; Charest and Han, section 3.
    """
    n = table.n_inputs - 1
    checks.within(0, n, x=x)
    other = int(changed_count(n)[x])
    risk = bayes.risk(table, x, other, prior)
    return {
        "exact_epsilon": exact_epsilon(table).value,
        "conditional_epsilon": float(conditional_epsilon(table)[x]),
        "largest_posterior": float(risk.max()),
        "expected_posterior": float(np.exp(table.row(x)) @ risk),
        "expected_increase": bayes.expected_increase(table, [x], [other], prior, [1.0]),
    }


def mechanisms(epsilon: float, n: int, n_classes: int) -> dict[str, Mechanism]:
    """Fill the table in five ways, each with the same exact epsilon.

    Parameters
    ----------
    epsilon : float
        Exact epsilon, positive.
    n : int
        Binary records, in the data and in the release.
    n_classes : int
        Latent classes of the DPMPM.

    Returns
    -------
    dict of str to Mechanism
        By name: McClure and Reiter's synthesizer, Charest's exponential mechanism with two scores,
        Charest and Han's beta-binomial, and the DPMPM of Hu, Reiter and Wang.
    """
    pairs, scores = change_one(n), binary_scores(n, 1.0)
    by_score = {
        name: gibbs(score, exact_rate(score, epsilon, pairs), pairs)
        for name, score in scores.items()
    }
    return {
        PLUG_IN: private_plugin(epsilon, n, n),
        LOG_P: by_score["log P"],
        "exponential, distance": by_score["distance"],
        BETA_BINOMIAL: beta_binomial(n, n, dirichlet_multinomial_alpha(epsilon, n)),
        DPMPM: _mixture(concentration(epsilon, n, n_classes), n, n_classes),
    }


def concentration(epsilon: float, n: int, n_classes: int) -> float:
    """The DPMPM's concentration of the level probabilities at which it has an exact epsilon."""
    return calibrate(lambda c: _mixture(c, n, n_classes), epsilon, 1e-6, 1e4)


def _mixture(concentration: float, n: int, n_classes: int) -> Mechanism:
    return enumerate_mechanism(n, n, (2,), n_classes, Prior(concentration=concentration))


def models(epsilon: float, n: int, n_classes: int) -> dict[str, Posterior]:
    """Posteriors of the share of ones behind `mechanisms`; distance has no model.

    The DPMPM is left out where its concentration is below 0.05, too small for `share_posterior`.
    """
    found = {
        PLUG_IN: _beta(bernoulli_plugin_alpha(epsilon, n)),
        LOG_P: _beta(1.0),
        BETA_BINOMIAL: _beta(dirichlet_multinomial_alpha(epsilon, n)),
    }
    law = Prior(concentration=concentration(epsilon, n, n_classes))
    if law.concentration >= 0.05:
        found[DPMPM] = lambda ones, records: share_posterior(ones, records, n_classes, law)
    return found


def _beta(alpha: float) -> Posterior:
    return lambda ones, records: beta_posterior(ones, records, alpha)


def columns(made: Mapping[str, Mechanism], x: int, prior: float, p0: float) -> pd.DataFrame:
    """Read mechanisms both ways, and say what their releases are worth to an analyst.

    Parameters
    ----------
    made : mapping of str to Mechanism
        By name; all as of `both`.
    x, prior
        As of `both`.
    p0 : float
        True proportion of ones.

    Returns
    -------
    DataFrame
        mechanism, the columns of `both`, records_moved, the expected absolute difference of the
        counts, and loss_of_precision, U of McClure and Reiter's equation 4 on average.
    """
    rows = []
    for name, table in made.items():
        moved = float(np.exp(table.row(x)) @ np.abs(np.arange(table.n_outputs) - x))
        loss = Study(table, p0).expected_utility(x)
        read = both(table, x, prior)
        worth = {"records_moved": moved, "loss_of_precision": loss}
        rows.append({"mechanism": name, **read, **worth})
    return pd.DataFrame(rows)


def log_predictive(draws: Draws, support: NDArray[np.integer]) -> NDArray[np.float64]:
    """Log predictive probabilities of candidates, in the place of `risk.support_log_ratios`.

    Draws given the other records, and given these joined with a release, serve `predictive_ratio`
    as the ratios to the truth do whose draws are given all records. Nothing is divided by, so that
    the variance is finite.

    Returns
    -------
    (n_chains, 1, support_size) float64
        One set for `risk.predictive_ratio`.
    """
    # Draws of a small concentration underflow to a probability of zero.
    log_prob = np.maximum(cell_log_prob(draws, support), np.log(np.finfo(float).tiny))
    return (logsumexp(log_prob, axis=1) - np.log(draws.n_draws))[:, None]


def apart(one: Mechanism, another: Mechanism) -> float:
    """Largest difference of log probabilities between two tables of the same size."""
    rows, columns = np.arange(one.n_inputs), np.arange(one.n_outputs)
    return float(np.abs(one.block(rows, columns) - another.block(rows, columns)).max())


def odds_factor(table: Mechanism, truth: int, alternative: int, prior: float) -> float:
    """Largest posterior odds over prior odds of one row against another, over all releases."""
    risk = bayes.risk(table, truth, alternative, prior)
    return float((risk / (1 - risk)).max() * (1 - prior) / prior)


# ----------------------------------------------------------------------------------- privacy loss


def neighbors(x: int, n: int) -> list[int]:
    """Counts of ones that one changed record makes of x, that of the record at risk first."""
    checks.within(0, n, x=x)
    first = int(changed_count(n)[x])
    return [first, *(k for k in (x - 1, x + 1) if 0 <= k <= n and k != first)]


def losses(table: Mechanism, x: int) -> pd.DataFrame:
    """Privacy loss of each release from one data set, against each of its neighbors.

    Returns
    -------
    DataFrame
        neighbor (text, such as ``"X = 0"``), release, loss and probability given the data.
    """
    columns = np.arange(table.n_outputs)
    frames = [
        pd.DataFrame(
            {
                "neighbor": f"X = {k}",
                "release": columns,
                "loss": privacy_loss(table, x, k),
                "probability": np.exp(table.row(x)),
            }
        )
        for k in neighbors(x, table.n_inputs - 1)
    ]
    return pd.concat(frames, ignore_index=True)


def bin_losses(posterior: Posterior, x: int, n: int, bins: int) -> pd.DataFrame:
    """Privacy loss of each bin of one posterior draw, against each neighbor of the data.

    Parameters
    ----------
    posterior : callable
        From (ones, records) to the posterior of the share of ones.
    x, n : int
        Ones in the data, and records.
    bins : int
        2 or more; each has probability 1 / bins given the data.

    Returns
    -------
    DataFrame
        neighbor (text), bin (from 0) and loss. The largest absolute loss is EDP.
    """
    edges = edp.equal_bins(posterior(x, n), bins)
    frames = [
        pd.DataFrame(
            {
                "neighbor": f"X = {k}",
                "bin": np.arange(bins),
                "loss": -np.log(bins) - edp.log_bin_probabilities(posterior(k, n), edges),
            }
        )
        for k in neighbors(x, n)
    ]
    return pd.concat(frames, ignore_index=True)


def exact_edp(posterior: Posterior, x: int, n: int, bins: int, kind: str = "changed") -> float:
    """EDP of the share of ones, exactly.

    Parameters
    ----------
    posterior, x, n, bins
        As of `bin_losses`.
    kind : {"changed", "deleted"}
        What makes a neighbor: a record with the other value, or a record less.

    References
    ----------
    Charest and Han, equation 2, where a record is deleted.
    """
    pairs = {
        "changed": [(k, n) for k in neighbors(x, n)],
        "deleted": [(k, n - 1) for k in (x, x - 1) if 0 <= k <= n - 1],
    }
    if kind not in pairs:
        raise ValueError(f"kind is {kind!r}; it must be 'changed' or 'deleted'")
    return edp.exact(posterior(x, n), [posterior(*pair) for pair in pairs[kind]], bins).value


def edp_by_bins(
    posteriors: Mapping[str, Posterior], x: int, n: int, bins: tuple[int, ...]
) -> pd.DataFrame:
    """EDP of several mechanisms' models by what makes a neighbor and by the number of bins.

    Returns
    -------
    DataFrame
        one_record (changed or deleted), bins, and a column for each mechanism.
    """
    return pd.DataFrame(
        [
            {"one_record": kind, "bins": b}
            | {name: exact_edp(model, x, n, b, kind) for name, model in posteriors.items()}
            for kind in ("changed", "deleted")
            for b in bins
        ]
    )


def summaries(
    table: Mechanism, posterior: Posterior, x: int, prior: float, epsilon: float, bins: int
) -> pd.DataFrame:
    """Numbers of the four papers, as summaries of the privacy loss and computed without it.

    Parameters
    ----------
    table : Mechanism
        Rows X = 0 to n, neighbors when one record changes; columns releases, at most 16.
    posterior : callable
        As of `bin_losses`.
    x : int
        Ones in the data.
    prior : float
        The intruder's prior probability of the record's true value, in (0, 1).
    epsilon : float
        At which delta is taken, 0 or more.
    bins : int
        As of `bin_losses`.

    Returns
    -------
    DataFrame
        number, of_the_loss and otherwise: exact epsilon, conditional epsilon, the largest factor of
        the odds, the expected posterior, delta (against the largest excess over all sets of
        releases), the mean loss (against the expected change of log odds) and EDP.
    """
    n, other = table.n_inputs - 1, int(changed_count(table.n_inputs - 1)[x])
    checks.within(1, 16, n_outputs=table.n_outputs)
    every = [losses(table, k)["loss"].abs().max() for k in range(n + 1)]
    loss, log_prob = privacy_loss(table, x, other), table.row(x)
    probability = np.exp(log_prob)
    risk = bayes.risk(table, x, other, prior)
    # All sets of releases, one a row.
    sets = np.arange(2**table.n_outputs)[:, None] >> np.arange(table.n_outputs) & 1
    excess = sets @ (probability - np.exp(epsilon + table.row(other)))
    log_odds = np.log(risk / (1 - risk)) - np.log(prior / (1 - prior))
    rows = [
        ("exact epsilon", max(every), exact_epsilon(table).value),
        (f"conditional epsilon of X = {x}", every[x], conditional_epsilon(table)[x]),
        ("largest factor of the odds", np.exp(loss.max()), odds_factor(table, x, other, prior)),
        (
            "expected posterior of the truth",
            probability @ bayes.update(loss, prior),
            both(table, x, prior)["expected_posterior"],
        ),
        (
            f"delta at epsilon {epsilon:g}",
            probability @ np.maximum(-np.expm1(epsilon - loss), 0.0),
            excess.max(),
        ),
        ("information", probability @ loss, probability @ log_odds),
        (
            f"EDP with {bins} bins",
            bin_losses(posterior, x, n, bins)["loss"].abs().max(),
            exact_edp(posterior, x, n, bins),
        ),
    ]
    return pd.DataFrame(rows, columns=["number", "of_the_loss", "otherwise"])


# --------------------------------------------------------------------------------------- verdicts


def attains(factors: ArrayLike, epsilon: float) -> Verdict:
    """Judge whether exp(epsilon) is the largest factor by which any intruder's odds change.

    Parameters
    ----------
    factors : array of float
        Largest factor of each intruder.
    epsilon : float
        Exact epsilon.
    """
    largest, bound = float(np.asarray(factors).max()), float(np.exp(epsilon))
    said = f"The largest factor is {largest:.6f}, and exp(ε) is {bound:.6f}."
    if np.isclose(largest, bound, rtol=1e-6):
        return Verdict(PROVED, f"By Bayes' rule, above. {said}")
    return Verdict(FAILS, said)


def is_summary(found: pd.DataFrame) -> Verdict:
    """Judge whether numbers are those summaries of the privacy loss that they are said to be.

    Parameters
    ----------
    found : DataFrame
        As `summaries` returns.
    """
    off = (found["of_the_loss"] - found["otherwise"]).abs()
    size = "less than 10⁻⁹" if off.max() < SAME else f"{off.max():.1g} at most"
    said = f"{len(found)} numbers computed both ways differ by {size}."
    if off.max() < 1e-6:
        return Verdict(PROVED, f"By the table of definitions, above. {said}")
    return Verdict(
        FAILS, f"{said} The largest difference is that of {found['number'][off.idxmax()]}."
    )


def bounds_odds(factor: float, epsilon: float, records: int) -> Verdict:
    """Judge whether exp(epsilon) bounds the odds of a belief that spans several records.

    Parameters
    ----------
    factor : float
        Largest posterior odds over prior odds.
    epsilon : float
        Exact epsilon.
    records : int
        In how many records the two data sets differ.
    """
    said = (
        f"The odds change by a factor of {factor:.2f}; exp(ε) is {np.exp(epsilon):.2f} and "
        f"exp({records}ε) {np.exp(records * epsilon):.2f}."
    )
    return Verdict(HOLDS if factor <= np.exp(epsilon) * (1 + SAME) else FAILS, said)


def equal_risk(columns: pd.DataFrame, prior: float, most: float = 0.1) -> Verdict:
    """Judge whether mechanisms of one exact epsilon raise the intruder's probability alike.

    Parameters
    ----------
    columns : DataFrame
        A row for each mechanism: mechanism, exact_epsilon and expected_posterior.
    prior : float
        The intruder's prior probability.
    most : float
        Relative difference between the largest and the smallest expected rise up to which they
        are alike.
    """
    rise = columns.set_index("mechanism")["expected_posterior"] - prior
    low, high = rise.idxmin(), rise.idxmax()
    alike = rise[high] - rise[low] <= most * rise[high]
    return Verdict(
        HOLDS if alike else FAILS,
        f"At exact epsilon {columns['exact_epsilon'].mean():.3g} the expected rise of the "
        f"probability is {rise[low]:.3f} ({low}) and {rise[high]:.3f} ({high}).",
    )


def tells_both(over: pd.DataFrame, losses: Mapping[str, str]) -> Verdict:
    """Judge whether a mechanism that tells the intruder more tells the analyst more.

    Parameters
    ----------
    over : DataFrame
        A row for each epsilon and mechanism: epsilon, expected_posterior and the losses.
    losses : mapping of str to str
        Columns that are smaller where an analyst is told more, and their names in words.
    """
    more = dict.fromkeys(losses, 0)
    pairs = 0
    for _, rows in over.groupby("epsilon"):
        for one, other in combinations(rows.to_dict("records"), 2):
            told = one["expected_posterior"] - other["expected_posterior"]
            if abs(told) <= SAME:
                continue
            pairs += 1
            for name in losses:
                more[name] += told * (other[name] - one[name]) > 0
    said = " and ".join(f"{more[name]} by {losses[name]}" for name in losses)
    because = (
        f"Of {pairs} pairs of mechanisms at the same epsilon, the one that tells the intruder more "
        f"serves the analyst better in {said}."
    )
    if all(count == pairs for count in more.values()):
        return Verdict(HOLDS, because)
    if not any(more.values()):
        return Verdict(FAILS, because)
    return Verdict("depends on the mechanism and the loss", because)


def bounds_epsilon(levels: Mapping[str, float], epsilon: float) -> Verdict:
    """Judge whether EDP is never below exact epsilon.

    Parameters
    ----------
    levels : mapping of str to float
        EDP by mechanism, exactly.
    epsilon : float
        Exact epsilon of each of them.
    """
    low, high = (
        min(levels, key=lambda name: levels[name]),
        max(levels, key=lambda name: levels[name]),
    )
    said = (
        f"EDP runs from {levels[low]:.3f} ({low}) to {levels[high]:.3f} ({high}) where exact "
        f"epsilon is {epsilon:g}."
    )
    return Verdict(HOLDS if levels[low] >= epsilon - SAME else FAILS, said)


def ranks_alike(edps: pd.DataFrame, expected: Mapping[str, float]) -> Verdict:
    """Judge whether EDP ranks mechanisms as the expected posterior does.

    Parameters
    ----------
    edps : DataFrame
        As `edp_by_bins` returns.
    expected : mapping of str to float
        Expected posterior by mechanism.
    """
    names = [name for name in edps.columns if name in expected]
    posterior = pd.Series({name: expected[name] for name in names}).round(9).rank()
    ranks = edps[names].round(9).rank(axis=1)
    same = (ranks == posterior).all(axis=1)
    others = edps[~same]
    because = f"The ranks are the same in {same.sum()} of {len(same)} rows."
    if len(others):
        where = "; ".join(
            f"one record {kind}: {', '.join(map(str, rows['bins']))} bins"
            for kind, rows in others.groupby("one_record", sort=False)
        )
        because += f" They differ with {where}."
    if same.all():
        return Verdict(HOLDS, because)
    return Verdict(FAILS if not same.any() else "depends on the bins and the neighbors", because)


def by_simulation(column: pd.DataFrame, chains: int) -> Verdict:
    """Judge whether Monte Carlo estimates are what they estimate, within their errors.

    Parameters
    ----------
    column : DataFrame
        A row for each release: exact, and for draws given all records and given the others
        ``given_all`` and ``given_others`` with the standard errors of their logarithms,
        ``error_given_all`` and ``error_given_others``.
    chains : int
        Chains that each error comes from; a difference counts by the t distribution with one
        degree of freedom less.
    """
    most = float(stats.t.ppf(0.975, chains - 1))
    words, said = set(), []
    for given, draws in (("others", "the other records"), ("all", "all records")):
        off = np.abs(np.log(column[f"given_{given}"] / column["exact"]))
        off = off / column[f"error_given_{given}"]
        inside = int((off <= most).sum())
        words.add(of_intervals(inside, off.size, on="the release"))
        said.append(
            f"{inside} of {off.size} estimates from draws given {draws} (the largest difference is "
            f"{off.max():.1f} errors)"
        )
    return Verdict(
        words.pop() if len(words) == 1 else "depends on the draws",
        f"Within {most:.1f} standard errors of the exact posterior, {percent(0.95)} of a t "
        f"distribution for {chains} chains, are {' and '.join(said)}.",
    )
