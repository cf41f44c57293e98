"""Verdicts on claims, each decided by a number, its error and a limit.

A claim that depends on data gets one of four words: it *holds here*, it *depends on* something, it
*fails*, or it is *not decided*. The first functions find the word from numbers. The others do so
for single claims of Hu, Reiter and Wang (2014) and say the number that decided; why this number
and this limit is for the notebook to argue. A number is above or below its limit where two
standard errors do not reach from one to the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from srlib.assessment.inference import AgainstSampling
from srlib.display import MIN_RECORDS, NOT_SHOWN, Callout, callout
from srlib.risk.estimators import Risk, exceeds, mean_difference, share_ranked

HOLDS, FAILS, UNDECIDED = "holds here", "fails", "not decided"

# Standard errors between a number and its limit from which on the two are apart.
ERRORS = 2.0
# Shares of records that count as hardly any and as nearly all: one in forty is beyond two errors
# by chance alone.
FEW, NEARLY_ALL = 0.05, 0.95
# Effective draws that know an average to about ten percent; where there are fewer than 400 draws,
# a quarter of them.
EFFECTIVE_DRAWS, EFFECTIVE_SHARE = 100, 0.25
# Pareto's k from which on importance sampling is of no use (Vehtari and others 2024).
LARGEST_K = 0.7


@dataclass(frozen=True)
class Verdict:
    """A verdict and the number behind it.

    Attributes
    ----------
    word : str
        `HOLDS`, `FAILS`, `UNDECIDED`, or ``"depends on ..."``.
    because : str
        The number that decides, with its error and what it is held against; Markdown.
    """

    word: str
    because: str


class Claims:
    """The claims of a notebook, said where they are decided and collected at the end."""

    def __init__(self) -> None:
        self._said: dict[str, Verdict] = {}

    def say(self, claim: str, verdict: Verdict) -> Callout:
        """Return the callout of a claim, such as ``"C1"``, and keep it for the table."""
        self._said[claim] = verdict
        return callout(f"{claim} {verdict.word}", verdict.because)

    @property
    def table(self) -> pd.DataFrame:
        """One row a claim: claim, verdict and because, in the order of the claims' names."""
        rows = [(claim, said.word, said.because) for claim, said in sorted(self._said.items())]
        return pd.DataFrame(rows, columns=["claim", "verdict", "because"])

    def in_public(self, n_records: int, **fewer: int) -> Callout:
        """Return the words of all claims, without the numbers that decided.

        Parameters
        ----------
        n_records : int
            Records that the claims are judged on.
        **fewer : int
            Records of the claims that are judged on fewer, by claim. No word is given where they
            are fewer than `confidential.MIN_RECORDS`.
        """
        of = dict.fromkeys(sorted(self._said), n_records) | fewer
        words = [
            f"{claim} {self._said[claim].word if n >= MIN_RECORDS else NOT_SHOWN}."
            for claim, n in of.items()
        ]
        return callout(f"In words, over {MIN_RECORDS} records or more", " ".join(words))

    def _repr_markdown_(self) -> str:
        lines = ["| claim | verdict | because |", "|---|---|---|"]
        return "\n".join([*lines, *map(_row, self.table.to_numpy().tolist())])

    def __repr__(self) -> str:
        said = sorted(self._said.items())
        return "\n".join(f"{claim} {verdict.word}. {verdict.because}" for claim, verdict in said)


def _row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    claim, word, because = (cell.replace("|", r"\|").replace("\n", " ") for cell in cells)
    return f"| **{claim}** | {word} | {because} |"


# ------------------------------------------------------------------------------ words from numbers


def at_most(value: float, error: float, limit: float) -> str:
    """Say whether a number is below its limit.

    Parameters
    ----------
    value, error : float
        The number and its standard error.
    limit : float
        What it is held against, in the same unit.

    Returns
    -------
    str
        `HOLDS`, `FAILS`, or `UNDECIDED` where two errors reach from the number to the limit.
    """
    if value + ERRORS * error < limit:
        return HOLDS
    return FAILS if value - ERRORS * error > limit else UNDECIDED


def share_above(difference: ArrayLike, error: ArrayLike, limit: float = 0.0) -> tuple[float, float]:
    """Least and largest share of records above a limit, as far as their errors tell.

    Parameters
    ----------
    difference, error : (n,) float
        A number for each record and its standard error.
    limit : float
        What the numbers are held against.

    Returns
    -------
    low, high : float
        The share that is above the limit by more than two errors, and the share that is not below
        it by more than two. Both in [0, 1], low at most high.
    """
    value, margin = np.asarray(difference), ERRORS * np.asarray(error)
    return float(np.mean(value - margin > limit)), float(np.mean(value + margin >= limit))


def of_share(low: float, high: float, most: float = NEARLY_ALL, on: str = "the record") -> str:
    """Say whether something is so for nearly all records, for hardly any, or for some.

    Parameters
    ----------
    low, high : float
        Least and largest share of records for which it may be so, as `share_above` returns.
    most : float
        The share above which it holds, in (0.05, 1).
    on : str
        What it depends on where it is so for some: for more than a twentieth, and for no more
        than `most`.

    Returns
    -------
    str
        `HOLDS`, `FAILS`, ``"depends on ..."``, or `UNDECIDED` where `low` and `high` lie in
        different parts of the range.
    """
    if low > most:
        return HOLDS
    if high <= FEW:
        return FAILS
    return f"depends on {on}" if low > FEW and high <= most else UNDECIDED


def of_intervals(inside: int, total: int, level: float = 0.95, on: str = "the coefficient") -> str:
    """Say whether intervals contain what they should, as often as their level promises.

    Parameters
    ----------
    inside, total : int
        Intervals that do, of how many.
    level : float
        The share that should, in (0, 1).
    on : str
        What it depends on where more than half do.

    Returns
    -------
    str
        `HOLDS` where the share inside is at least `level`. Where it is less, `UNDECIDED` if
        independent intervals would miss as often with a probability of 5 % or more; beyond that
        ``"depends on ..."`` where more than half are inside, else `FAILS`.
    """
    from scipy import stats

    if inside >= level * total:
        return HOLDS
    if stats.binom.cdf(inside, total, level) >= 0.05:
        return UNDECIDED
    return f"depends on {on}" if inside > total / 2 else FAILS


def _range(low: float, high: float) -> str:
    """Two shares, or the one that they are."""
    return f"{low:.1%}" if f"{low:.1%}" == f"{high:.1%}" else f"{low:.1%} to {high:.1%}"


# --------------------------------------------------------------------- a release and its estimator


def keeps_pairs(off: AgainstSampling, limit: float = np.sqrt(2)) -> Verdict:
    """Say whether the releases keep the joint distributions of pairs of variables.

    Parameters
    ----------
    off : AgainstSampling
        As `inference.against_sampling` returns.
    limit : float
        For the ratio of a release's differences to those of another sample.
    """
    return Verdict(
        at_most(off.ratio, off.error, limit),
        f"In the mean over the releases a cell is off by {100 * off.difference:.2f} percentage "
        f"points on average. In a single release it is off by {100 * off.single:.2f}, which is "
        f"{off.ratio:.2f} ± {off.error:.2f} times as much as in another sample of the population; "
        f"the limit is {limit:.2f}.",
    )


def agrees_on_coefficients(table: pd.DataFrame) -> Verdict:
    """Say whether a regression on the releases agrees with the original one.

    Parameters
    ----------
    table : DataFrame
        As `inference.coefficients` returns.
    """
    inside, total = int(table["original"].between(table["low"], table["high"]).sum()), len(table)
    return Verdict(
        of_intervals(inside, total),
        f"{inside} of {total} original estimates lie in the synthetic interval of 95 %. The mean "
        f"overlap of the two intervals is {table['overlap'].mean():.2f}.",
    )


def weights_suffice(table: pd.DataFrame) -> Verdict:
    """Say whether importance sampling can be relied on for every release.

    A posterior probability multiplies what all releases say, so the worst one decides. The
    error of Pareto's k is that of its maximum likelihood estimate, (1 + k) over the square root of
    the draws in the tail.

    Parameters
    ----------
    table : DataFrame
        As `diagnostics.importance_summary` returns: draws, ess and pareto_k, a row a release; k
        is NaN where the weights have no tail that could be fitted.

    Returns
    -------
    Verdict
        `HOLDS` where every release leaves enough effective draws and a k of at most 0.7, `FAILS`
        where one leaves too few or a k above that by more than two errors, else `UNDECIDED`.
    """
    draws, ess = int(table["draws"].min()), float(table["ess"].min())
    needed = min(EFFECTIVE_DRAWS, EFFECTIVE_SHARE * draws)
    k = float(table["pareto_k"].max())
    # diagnostics.pareto_k fits as many of the largest weights.
    tail = np.ceil(min(draws / 5, 3 * np.sqrt(draws)))
    error = max(1 + k, 0.0) / np.sqrt(tail) if np.isfinite(k) else 0.0
    if ess < needed or k - ERRORS * error > LARGEST_K:
        word = FAILS
    else:
        word = UNDECIDED if k > LARGEST_K else HOLDS
    of_k = f"{k:.2f} ± {error:.2f}" if np.isfinite(k) else "infinite" if k > 0 else "not defined"
    return Verdict(
        word,
        f"In the worst release {ess:,.1f} of {draws:,} draws are effective, and {needed:g} are "
        f"needed. The largest Pareto $k$ is {of_k}, and the limit is {LARGEST_K}.",
    )


# ------------------------------------------------------------------------ risks of whole records


def rarely_first(log_ratios: Sequence[NDArray[np.float64]], first: int = 3) -> Verdict:
    """Say whether the truth is among the first candidates less often than in a random order.

    Parameters
    ----------
    log_ratios
        As of `risk.predictive_ratio`.
    first : int
        How many candidates count as the first.
    """
    n, size = log_ratios[0].shape[1:]
    share, mcse = share_ranked(log_ratios, first)
    by_chance = min(first / size, 1.0)
    error = float(np.hypot(mcse, np.sqrt(by_chance * (1 - by_chance) / n)))
    return Verdict(
        at_most(share, error, by_chance),
        f"The truth is among the first {first} of {size} candidates for {share:.1%} of {n:,} "
        f"combinations. A random order would put it there for {by_chance:.1%} ± {error:.1%}.",
    )


def near_prior(risk: Risk, factor: float = 2.0) -> Verdict:
    """Say whether most probabilities of the truth are within a factor of the uniform prior.

    Parameters
    ----------
    risk : Risk
        Under a uniform prior.
    factor : float
        Above 1.
    """
    apart = np.abs(risk.log_prob[:, 0] + np.log(risk.support_size))
    low, high = share_above(-apart, risk.log_mcse[:, 0], -np.log(factor))
    top = risk.probability.argmax()
    largest, error = risk.probability[top], risk.log_mcse[top, 0]
    return Verdict(
        of_share(low, high, most=0.5),
        f"{_range(low, high)} of the probabilities are within a factor of {factor:g} of the prior, "
        f"1/{risk.support_size}, give or take two standard errors. The largest is {largest:.3f} ± "
        f"{largest * error:.3f}, {largest * risk.support_size:.1f} times the prior.",
    )


# ----------------------------------------------------------------- intruders who know more or less


def more_from_part(part: pd.DataFrame, whole: pd.DataFrame) -> Verdict:
    """Say whether a release tells more of a part of a record than of the whole of it.

    Parameters
    ----------
    part, whole : DataFrame
        Of the same records: probability of the truth under a uniform prior, log_mcse and
        support_size.
    """
    over_part, over_whole = (t["probability"] * t["support_size"] for t in (part, whole))
    more = np.log(over_part.to_numpy() / over_whole.to_numpy())
    error = np.hypot(part["log_mcse"], whole["log_mcse"])
    n_more, n_less = ((sign * more > ERRORS * error).sum() for sign in (1, -1))
    return Verdict(
        of_share(*share_above(more, error)),
        "Compared with the whole record, the release multiplies the prior of the part by more for "
        f"{n_more} of {len(more)} records and by less for {n_less}, beyond two standard errors. "
        f"The largest factor is {over_part.max():.1f}, against {over_whole.max():.1f} for a whole "
        "record.",
    )


def conservative(log_ratio_one: ArrayLike, log_ratio_all: ArrayLike, error: ArrayLike) -> Verdict:
    """Say whether a small support is conservative against a guess.

    Parameters
    ----------
    log_ratio_one, log_ratio_all : (n,) float
        Log of posterior over prior of the truth, over the small support and over every cell.
    error : (n,) float
        Standard errors of their differences.
    """
    one, every = np.asarray(log_ratio_one), np.asarray(log_ratio_all)
    higher, possibly = share_above(every - one, error)
    return Verdict(
        of_share(1 - possibly, 1 - higher),
        "For the probability and the rank it is proved. Against a guess: the ratio to the prior is "
        f"higher over every cell for {higher:.1%} of the combinations and lower for "
        f"{1 - possibly:.1%}, beyond two standard errors. The largest ratio is "
        f"{np.exp(one.max()):.1f} over one change and {np.exp(every.max()):.1f} over every cell.",
    )


def says_little(
    log_gain: NDArray[np.float64], error: NDArray[np.float64], prior: float, factor: float = 1.5
) -> Verdict:
    """Say whether a release leaves the probability of true values within a factor of the prior.

    Parameters
    ----------
    log_gain, error : (n,) float
        Log of posterior over prior and its standard error.
    prior : float
        The prior probability of the true values, the same for all records.
    factor : float
        Above 1.
    """
    low, high = share_above(-np.abs(log_gain), error, -np.log(factor))
    return Verdict(
        of_share(low, high),
        f"Before any release {prior:.2f} of the candidates have the true values, so that the "
        f"release can multiply their probability by {1 / prior:.2f} at most. It multiplies it by "
        f"{np.exp(log_gain.min()):.2f} to {np.exp(log_gain.max()):.2f}. That is within a factor of "
        f"{factor:g} for {_range(low, high)} of the combinations, give or take two standard "
        "errors.",
    )


def can_guess(told: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether a release raises the probability of the truth by a factor.

    Parameters
    ----------
    told : DataFrame
        As `risk.evidence` returns.
    factor : float
        Above 1.
    """
    low, high = share_above(told["log_gain"], told["log_gain_mcse"], np.log(factor))
    below, _ = share_above(-told["log_gain"], told["log_gain_mcse"])
    top = told["log_gain"].argmax()
    largest, error = np.exp(told["log_gain"].iloc[top]), told["log_gain_mcse"].iloc[top]
    return Verdict(
        of_share(low, high),
        f"The release multiplies the prior of the truth by more than {factor:g} for "
        f"{_range(low, high)} of the combinations, give or take two standard errors. For "
        f"{below:.1%} it makes the truth less probable, beyond two standard errors. The largest "
        f"factor is {largest:.2f} ± {largest * error:.2f}.",
    )


def adds_little(told: Mapping[str, pd.DataFrame], factor: float = 1.5) -> Verdict:
    """Say whether posterior and informative prior of the truth are within a factor.

    Parameters
    ----------
    told : mapping of str to DataFrame
        As `risk.evidence` returns for the model's own prior, by set of unknown variables;
        the set with the smallest shares decides.
    factor : float
        Above 1.
    """
    shares = [
        share_above(-np.abs(t["log_gain"]), t["log_gain_mcse"], -np.log(factor))
        for t in told.values()
    ]
    low, high = (min(bounds) for bounds in zip(*shares, strict=True))
    return Verdict(
        of_share(low, high),
        f"Posterior and prior are within a factor of {factor:g} for {_range(low, high)} of the "
        "combinations, give or take two standard errors, for the set of unknown variables where "
        "these are fewest.",
    )


def safe_knowing_less(
    paper: tuple[Risk, Risk], own: tuple[Risk, Risk], least: float, most: float
) -> Verdict:
    """Say whether the truth is less probable, on average, to an intruder who knows less.

    Parameters
    ----------
    paper, own : tuple of two Risk
        Under the uniform prior of the paper and under the model's own: risks of the same records
        for the intruder who knows less, and for the one who knows more.
    least, most : float
        Shares of the other records that the two know.

    Returns
    -------
    Verdict
        Its word is that of the paper's prior, or ``"depends on the prior"`` where the model's own
        has the opposite one.
    """
    found = [mean_difference(*risks) for risks in (paper, own)]
    words = [at_most(*of_prior, 0.0) for of_prior in found]
    texts = [f"{mean:+.3f} ± {error:.3f}" for mean, error in found]
    single = [exceeds(*risks)["beyond error"] for risks in (paper, own)]
    return Verdict(
        "depends on the prior" if {*words} == {HOLDS, FAILS} else words[0],
        f"If the intruder knows a share of {least:g} of the other records instead of {most:g}, the "
        f"log probability of the truth changes by {texts[0]} on average with the uniform prior and "
        f"by {texts[1]} with the model's own (*{words[1]}*). It is higher beyond two standard "
        f"errors for {single[0]:.1%} and {single[1]:.1%} of the participants.",
    )


def needs_sampling(table: pd.DataFrame) -> Verdict:
    """Say whether two releases ask for the unknown records to be sampled, or a shortcut would do.

    Parameters
    ----------
    table : DataFrame
        A row for each share known and way, one of which is ``"sampled"``: share known, way,
        median distance from that one, and error of log p. A shortcut is as good as where it is
        worst, and the best of them decides.
    """
    own = table[table["way"] == "sampled"].set_index("share known")["error of log p"]
    short = table[table["way"] != "sampled"]
    worst = short.loc[short.groupby("way")["median distance"].idxmax()]
    best = worst.loc[worst["median distance"].idxmin()]
    distance = best["median distance"]
    error = float(np.hypot(best["error of log p"], own[best["share known"]]))
    apart = distance > ERRORS * error
    return Verdict(
        "depends on the number of releases" if apart else UNDECIDED,
        "For one release it is proved that nothing has to be sampled. For two, the best shortcut, "
        f"*{best['way']}*, is off by a median of {distance:.3f} in the log probability, with an "
        f"error of {error:.3f}, where a share of {best['share known']:g} of the other records is "
        "known.",
    )


def participants_beyond(averages: pd.DataFrame) -> Callout:
    """Say how much more a release adds for participants than for outsiders.

    Parameters
    ----------
    averages : DataFrame
        As `risk.PartialKnowledge.averages` returns, with a column share_known: groups
        ``"participants"`` and ``"outsiders"`` for the intruders who know least and most.
    """
    rows = averages.set_index(["share_known", "group"])
    said = []
    for known in (averages["share_known"].min(), averages["share_known"].max()):
        outside, inside = (rows.loc[(known, group)] for group in ("outsiders", "participants"))
        errors = [np.hypot(row["gain_se"], row["gain_mcse"]) for row in (outside, inside)]
        said.append(
            f"To an intruder who knows a share of {known:g} of the other records the release adds "
            f"{outside['gain']:.3f} ± {errors[0]:.3f} to the log probability of the truth for "
            f"outsiders, and {inside['gain'] - outside['gain']:.3f} ± {np.hypot(*errors):.3f} more "
            "for participants."
        )
    return callout("What the release adds", " ".join(said))
