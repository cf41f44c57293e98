"""Risks of sequential trees at many settings, and verdicts on what is said of them.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.assessment.inference import AgainstSampling, against_sampling
from srlib.data.codes import distinct, row_numbers
from srlib.data.schema import Microdata
from srlib.mechanism.bayes import posterior
from srlib.papers.claims import FAILS, HOLDS, UNDECIDED, Verdict, at_most, of_share, share_above
from srlib.risk.posterior import PosteriorRisk
from srlib.risk.supports import neighborhood, subset_support
from srlib.trees import Growth, Trees, fit_trees, kernels, log_likelihoods

QUANTILES = (0.1, 0.5, 0.9)
# Releases that utility is averaged over: with the intruder's two its error is unknown itself.
UTILITY_RELEASES = 20


def smallest_example() -> tuple[Trees, pd.DataFrame]:
    """Return trees on fifteen people, ten cooks and five smiths, and the people.

    One of the cooks is sick, and three of the smiths are.
    """
    people = pd.DataFrame({"job": ["cook"] * 10 + ["smith"] * 5})
    people["sick"] = ["no"] * 9 + ["yes"] * 4 + ["no"] * 2
    return fit_trees(people, growth=Growth(min_leaf=5)), people


def occur_once(
    codes: NDArray[np.integer], most: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return rows of records that nobody else agrees with in all variables, in random order.

    Parameters
    ----------
    codes : (n, n_variables) int
        The records.
    most : int
        Rows to return at most.
    rng : numpy.random.Generator
        Source of the order.
    """
    _, repetitions, inverse = distinct(codes)
    return rng.permutation(np.flatnonzero(repetitions[inverse] == 1))[:most]


def risks_of(
    trees: Trees,
    released: Sequence[Microdata],
    rows: NDArray[np.integer],
    unknown: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Compute the exact risk of some records under a uniform prior.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought.
    unknown : sequence of int, optional
        Variables that the intruder does not know of the record; where not given the candidates
        are all that differ from it in one variable.

    Returns
    -------
    DataFrame
        One row for each record: probability of the truth, share of the alternatives excluded, and
        support_size.
    """
    codes, levels = trees.codes[rows], trees.schema.n_levels
    if unknown is None:
        support = neighborhood(codes, levels)
    else:
        support = np.stack([subset_support(x, unknown, levels) for x in codes])
    log_prob, _ = log_likelihoods(trees, released, rows, support)
    size = support.shape[1]
    return pd.DataFrame(
        {
            "probability": np.exp(posterior(log_prob, 0.0)[:, 0]),
            "excluded": np.isneginf(log_prob).sum(axis=1) / (size - 1),
            "support_size": size,
        }
    )


def of_all(risk: PosteriorRisk, **setting: object) -> pd.DataFrame:
    """Return a table of risks with the setting that they belong to, a row for each combination."""
    frame = risk.to_frame().drop(columns=["r_hat", "pareto_k", "reliable"])
    return frame.assign(**setting, prior=1 / risk.support_size, support_size=risk.support_size)


def quantiles(risks: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return quantiles of the probability of the truth, and the mean share excluded, by setting."""
    rows = []
    for setting, group in risks.groupby(list(by), sort=False):
        found = np.quantile(group["probability"], QUANTILES)
        rows.append([*setting, *found, group["excluded"].mean()])
    return pd.DataFrame(rows, columns=[*by, "10 %", "median", "90 %", "alternatives excluded"])


def frontier(
    data: Microdata,
    settings: Sequence[Growth],
    rows: NDArray[np.integer],
    n_releases: int,
    *,
    rng: np.random.Generator,
    order: Sequence[str] | None = None,
    ordered: Sequence[str] = (),
) -> pd.DataFrame:
    """Set the risk of trees beside their utility, at several settings.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    settings : sequence of Growth
        How the trees are grown.
    rows : (n,) int
        The records that are sought.
    n_releases : int
        Releases that the intruder sees, the first of the `UTILITY_RELEASES` or more that utility
        is averaged over.
    rng : numpy.random.Generator
        Source of the releases.
    order, ordered : sequence of str
        As `fit_trees` takes them; an empty order is that of the table.

    Returns
    -------
    DataFrame
        min_leaf, smoothing, probability (median of the truth's), low and high (quantiles of 10 and
        90 %), difference (of a release's pairwise shares, over that of another sample) and
        difference_se.
    """
    found = []
    for growth in settings:
        trees = fit_trees(data, order or None, growth, ordered=ordered)
        released = trees.release(max(n_releases, UTILITY_RELEASES), rng=rng)
        seen = risks_of(trees, released[:n_releases], rows)["probability"]
        low, middle, high = np.quantile(seen, QUANTILES)
        off = pairs_apart(data, released)
        found.append((growth.min_leaf, growth.smoothing, middle, low, high, off.ratio, off.error))
    columns = ["min_leaf", "smoothing", "probability", "low", "high", "difference"]
    return pd.DataFrame(found, columns=[*columns, "difference_se"])


def pairs_apart(data: Microdata, released: Sequence[Microdata]) -> AgainstSampling:
    """Compare shares of all pairs of variables with another sample's; two releases or more."""
    return against_sampling(data.codes, [z.codes for z in released], data.schema.n_levels)


def without_donor(
    trees: Trees, released: Sequence[Microdata], rows: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the share of the alternatives that would be impossible if no split changed.

    The releases have a value whose only donor in its leaf is the record, and the alternative has
    another value or comes to another leaf.

    Parameters
    ----------
    trees : Trees
        Grown on the data.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought.

    Returns
    -------
    (n,) float64
        Of the candidates that differ from the record in one variable.
    """
    shown = np.concatenate([z.codes for z in released])
    support = neighborhood(trees.codes[rows], trees.schema.n_levels)
    impossible = np.zeros(support.shape[:2], dtype=bool)
    for k, tree in zip(trees.order, trees.trees, strict=True):
        own, seen = _leaves(tree, trees.codes), _leaves(tree, shown)
        there = _leaves(tree, support.reshape(-1, support.shape[2])).reshape(impossible.shape)
        leaf, value = own[rows], trees.codes[rows, k]
        donors = ((own == leaf[:, None]) & (trees.codes[:, k] == value[:, None])).sum(axis=1)
        is_shown = ((seen == leaf[:, None]) & (shown[:, k] == value[:, None])).any(axis=1)
        leaves = (there != leaf[:, None]) | (support[:, :, k] != value[:, None])
        impossible |= ((donors == 1) & is_shown)[:, None] & leaves
    return impossible.sum(axis=1) / (support.shape[1] - 1)


def _leaves(tree: kernels.Tree, codes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the leaf that each record comes to; parents stand before their parts."""
    at = np.zeros(len(codes), np.int64)
    for node in np.flatnonzero(tree.variable != kernels.LEAF):
        here = np.flatnonzero(at == node)
        bits = tree.mask[node] >> codes[here, tree.variable[node]].astype(np.uint64)
        at[here] = np.where(bits & np.uint64(1), tree.left[node], tree.right[node])
    return at


def knowing_some(
    trees: Trees,
    released: Sequence[Microdata],
    rows: NDArray[np.integer],
    share: float,
    *,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return what an intruder believes of the truth who grows trees on a share of the others.

    Leaves are smoothed by one record, since the known records alone would make most releases
    impossible, and have as many records as that share leaves of the real ones, two at least. This
    is an attack, not a posterior distribution: the unknown records are left out, not averaged over.

    Parameters
    ----------
    trees : Trees
        Grown on all records.
    released : sequence of Microdata
        What the intruder sees.
    rows : (n,) int
        The records that are sought, each by itself.
    share : float
        Of the other records that the intruder knows, in [0, 1].
    rng : numpy.random.Generator
        Chooses them.

    Returns
    -------
    (n,) float64
        Probability of the truth among candidates that differ in one variable.
    """
    growth = replace(
        trees.growth, min_leaf=max(2, round(share * trees.growth.min_leaf)), smoothing=1.0
    )
    beliefs = []
    for row in rows:
        others = rng.permutation(np.delete(np.arange(len(trees.codes)), row))
        known = others[: max(1, round(share * len(others)))]
        own = np.concatenate([trees.codes[known], trees.codes[[row]]])
        fewer = Trees.grow(own, trees.schema, trees.order, trees.ordered, growth)
        beliefs.append(risks_of(fewer, released, np.array([len(known)]))["probability"].iloc[0])
    return np.array(beliefs)


def times_copied(
    trees: Trees, released: Sequence[Microdata], rows: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Return in how many releases each of some records is found in all its variables, (n,)."""
    levels = trees.schema.n_levels
    both = [row_numbers(np.concatenate([trees.codes[rows], z.codes]), levels) for z in released]
    return np.sum([np.isin(k[: len(rows)], k[len(rows) :]) for k in both], axis=0)


# ---------------------------------------------------------------------------------------- verdicts


def little_risk(risks: pd.DataFrame, factor: float = 10.0) -> Verdict:
    """Say whether the releases leave the truth within a factor of the prior.

    Parameters
    ----------
    risks : DataFrame
        n_releases, probability and support_size, exact, of records that occur once. Where the words
        from the fewest and from the most releases differ, it depends on their number.
    factor : float
        Above 1.
    """
    over = risks["probability"] * risks["support_size"]
    by_releases = over.groupby(risks["n_releases"])
    shares, medians = by_releases.agg(lambda x: np.mean(x <= factor)), by_releases.median()
    few, many = shares.index.min(), shares.index.max()
    words = {of_share(shares[m], shares[m]) for m in (few, many)}
    less = (
        f" From {_releases(few)} it is so for {shares[few]:.1%}, and the median is "
        f"{medians[few]:.1f} times."
    )
    return Verdict(
        words.pop() if len(words) == 1 else "depends on the number of releases",
        f"From {_releases(many)} the probability of the truth is at most {factor:g} times the "
        f"prior for {shares[many]:.1%} of the records that occur once, and its median is "
        f"{medians[many]:.1f} times the prior.{less if few < many else ''}",
    )


def _releases(n: int) -> str:
    """Say how many releases there are."""
    return f"{n} release{'s' if n > 1 else ''}"


def larger_is_safer(medians: pd.DataFrame) -> Verdict:
    """Say whether the probability of the truth is lower in a larger file.

    Parameters
    ----------
    medians : DataFrame
        records and median, a row for each data set.
    """
    by_size = medians.groupby("records")["median"]
    few, many = medians["records"].min(), medians["records"].max()
    means, errors = by_size.mean(), by_size.sem()
    difference, error = means[many] - means[few], float(np.hypot(errors[many], errors[few]))
    return Verdict(
        at_most(difference, error, 0.0),
        f"The median is {means[few]:.3f} ± {errors[few]:.3f} with {few:,} records and "
        f"{means[many]:.3f} ± {errors[many]:.3f} with {many:,}.",
    )


def copies_are_exposed(probability: ArrayLike, copied: ArrayLike, limit: float = 0.75) -> Verdict:
    """Say whether records that a release repeats are those whose values it gives away.

    Parameters
    ----------
    probability : (n,) float
        Of the truth.
    copied : (n,) bool
        Whether a release has the record in all its variables.
    limit : float
        For the chance that a copied record is more exposed than one that is not.
    """
    p, is_copied = np.asarray(probability), np.asarray(copied, dtype=bool)
    one, other = p[is_copied], p[~is_copied]
    if min(len(one), len(other)) < 2:
        return Verdict(UNDECIDED, f"{len(one)} of {len(p)} records are copied.")
    wins = (one[:, None] > other).astype(float) + 0.5 * (one[:, None] == other)
    chance = float(wins.mean())
    error = float(
        np.sqrt(
            wins.mean(axis=1).var(ddof=1) / len(one) + wins.mean(axis=0).var(ddof=1) / len(other)
        )
    )
    return Verdict(
        at_most(-chance, error, -limit),
        f"A record that is copied has a higher probability than one that is not in {chance:.0%} ± "
        f"{error:.0%} of the pairs; chance alone gives 50 %, and the limit is {limit:.0%}. The "
        f"median is {np.median(one):.3f} for the {len(one)} that are copied and "
        f"{np.median(other):.3f} for the {len(other)} that are not.",
    )


def protects(found: pd.DataFrame, by: str, factor: float = 0.5, tolerated: float = 0.1) -> Verdict:
    """Say whether a setting lowers the risk, and at which cost in utility.

    Parameters
    ----------
    found : DataFrame
        As `frontier` returns, the setting to compare with first.
    by : str
        Column of the setting, whose last row is judged.
    factor : float
        What the median has to fall to, as a share of the first.
    tolerated : float
        Rise of the difference, as a share of another sample's, that counts as no cost.
    """
    first, last = found.iloc[0], found.iloc[-1]
    cost = last["difference"] - first["difference"]
    error = float(np.hypot(first["difference_se"], last["difference_se"]))
    lower = last["probability"] <= factor * first["probability"]
    free = at_most(cost, error, tolerated)
    word = HOLDS if lower and free == HOLDS else FAILS
    if lower and free != HOLDS:
        word = "depends on the utility that is needed" if free == FAILS else UNDECIDED
    return Verdict(
        word,
        f"With {last[by]:g} instead of {first[by]:g} the median falls from "
        f"{first['probability']:.3f} to {last['probability']:.3f}. The difference of pairs from "
        f"the data, over that of another sample, changes by {cost:+.2f} ± {error:.2f}.",
    )


def learns_little(risks: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether the truth stays within a factor of its prior for nearly all records.

    Parameters
    ----------
    risks : DataFrame
        probability and support_size, exact.
    factor : float
        Above 1.
    """
    gain = np.log(risks["probability"] * risks["support_size"]).to_numpy()
    low, high = share_above(-np.abs(gain), np.zeros(len(gain)), -np.log(factor))
    return Verdict(
        of_share(low, high),
        f"Among {risks['support_size'].iloc[0]} combinations of the unknown variables the truth's "
        f"probability is within a factor of {factor:g} of the prior for {low:.1%} of the records. "
        f"Its median is {risks['probability'].median():.3f}.",
    )
