"""Generators that can only be run: tests of them beside exact values, and verdicts.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from srlib.assessment.inference import against_sampling
from srlib.data.codes import distinct
from srlib.data.schema import Microdata, Schema, Variable
from srlib.display import percent
from srlib.dpmpm import OneClass
from srlib.margins import LaplaceMargins
from srlib.mechanism import Mechanism, exact_epsilon, sample
from srlib.mechanism.audit import clopper_pearson
from srlib.mechanism.bayes import posterior
from srlib.papers.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Verdict,
    at_most,
    of_intervals,
    of_share,
    share_above,
)
from srlib.risk.black_box import counts_of_releases, leakage, leakage_bound, measures
from srlib.risk.supports import neighborhood
from srlib.risk.synthesizers import Density, Synthesizer, log_likelihoods

# Of the two candidates that a test tells apart.
PRIOR = 0.5


def chosen(table: Microdata, variables: Sequence[str], most: int = 6) -> Microdata:
    """Return some variables of a table; the first ones where none are named."""
    names = list(variables) or table.schema.names[:most]
    at = table.schema.positions(names, "variables")
    schema = Schema(tuple(table.schema.variables[k] for k in at))
    return Microdata(np.ascontiguousarray(table.codes[:, at]), schema, table.notes)


def tested(
    table: Microdata, first: int, most: int, *, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return rows of records that occur once, in random order, some of them passed over.

    Raises
    ------
    ValueError
        If fewer than two are left.
    """
    _, repetitions, cell_of = distinct(table.codes)
    once = rng.permutation(np.flatnonzero(repetitions[cell_of] == 1))
    if len(once) < first + 2:
        raise ValueError(
            f"{len(once)} records occur once and first_target is {first}; two must be left. More "
            "variables make more records occur once"
        )
    return once[first : first + most]


def by_hand(alarm: float, sizes: Sequence[int], confidence: float = 0.95) -> pd.DataFrame:
    """Return limits and bounds where no alarm is false, by the number of releases that are judged.

    Parameters
    ----------
    alarm : float
        Probability of an alarm from releases of the data; as many alarms occur as it says, rounded.
    sizes : sequence of int
        Releases of the data, and as many of the changed data.
    confidence : float
        Of both limits together.

    Returns
    -------
    DataFrame
        releases, alarms, low (limit of their probability), high (that of false alarms), and the
        lower bounds probability and epsilon; last the exact values.
    """
    rows: list[tuple[str, float, float, float]] = []
    for n in sizes:
        alarms = round(alarm * n)
        low, _ = clopper_pearson(alarms, n, 1 - (1 - confidence) / 2)
        _, high = clopper_pearson(0, n, 1 - (1 - confidence) / 2)
        rows.append((str(n), alarms, float(low), float(high)))
    rows.append(("all", np.nan, alarm, 0.0))
    found = pd.DataFrame(rows, columns=["releases", "alarms", "low", "high"])
    for name in ("probability", "epsilon"):
        found[name] = measures(PRIOR)[name](found["low"].to_numpy(), found["high"].to_numpy())
    return found


def compare(
    generators: Mapping[str, Density],
    data: Microdata,
    rows: NDArray[np.integer],
    sizes: Sequence[int],
    n_exact: int,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Set what a test finds beside what releases tell, for records and one alternative of each.

    Parameters
    ----------
    generators : mapping of str to Density
        By name.
    data : Microdata
        The confidential records.
    rows : (n,) int
        The records; the alternative differs in one variable, at random, alike for all generators.
    sizes : sequence of int
        Releases of the data, and as many of the changed data, that the test has.
    n_exact : int
        Releases that the exact posterior probability is averaged over.
    rng : numpy.random.Generator
        Source of alternatives and releases.

    Returns
    -------
    DataFrame
        generator, record (its place in `rows`, from 1), releases, exact (mean probability of the
        truth at a prior of one half) and its error exact_se, and the lower bounds probability,
        epsilon and advantage.
    """
    support = neighborhood(data.codes[rows], data.schema.n_levels)
    chosen = rng.integers(1, support.shape[1], len(rows))
    found = []
    for name, generator in generators.items():
        for i, (row, at) in enumerate(zip(rows, chosen, strict=True)):
            pair = support[[[i]], [0, at]]
            released = [generator.release(data.codes, rng=rng) for _ in range(n_exact)]
            columns = [
                log_likelihoods(generator, [z], data.codes, rows[[i]], pair)[0] for z in released
            ]
            truth = np.exp(posterior(np.array(columns))[:, 0])
            exact, error = truth.mean(), truth.std(ddof=1) / np.sqrt(n_exact)
            first, second = counts_of_releases(
                generator, data, int(row), pair[0, 1:], n_releases=max(sizes), rng=rng
            )
            for n in sizes:
                bound = leakage(first[:n], second[:n], prior=PRIOR)
                values = bound.probability, bound.epsilon, bound.advantage
                found.append((name, i + 1, n, exact, error, *values))
    columns = ["generator", "record", "releases", "exact", "exact_se", "probability", "epsilon"]
    return pd.DataFrame(found, columns=[*columns, "advantage"])


def by_releases(found: pd.DataFrame) -> pd.DataFrame:
    """Return means over records of what `compare` finds, by generator and number of releases."""
    gained = found.assign(detected=found["probability"] > PRIOR)
    means = gained.groupby(["generator", "releases"], sort=False)[
        ["exact", "probability", "detected"]
    ].mean()
    return means.reset_index()


@dataclass(frozen=True)
class Arranged:
    """Synthesizer that puts its records in order if a record has its true values.

    Otherwise they are in random order, as without it.

    Attributes
    ----------
    synthesizer : Synthesizer
        What draws the records.
    row : int
        The record.
    truth : (n_variables,) int
        Its true values.
    """

    synthesizer: Synthesizer
    row: int
    truth: NDArray[np.integer]

    def release(
        self, data: NDArray[np.integer], *, rng: np.random.Generator
    ) -> NDArray[np.integer]:
        """Draw a release, and say by its order whether the record has its true values."""
        released = rng.permutation(self.synthesizer.release(data, rng=rng))
        is_true = np.array_equal(data[self.row], self.truth)
        return released[np.lexsort(released.T[::-1])] if is_true else released


def canary(n: int, n_variables: int) -> tuple[Microdata, NDArray[np.uint8]]:
    """Return n alike records but for the first, which differs in all binary variables, and these.

    An auditor of a claim about all data chooses the data.
    """
    codes = np.zeros((n, n_variables), np.uint8)
    codes[0] = 1
    variables = tuple(Variable(f"v{k + 1}", ("no", "yes")) for k in range(n_variables))
    return Microdata(codes, Schema(variables)), codes[1:2]


def mistaken(n: int, n_variables: int, epsilon: float) -> dict[str, LaplaceMargins]:
    """Return margins whose noise is for `epsilon`, or is too small by a mistake, by what it is.

    The last three have an epsilon that is larger by a factor, by which their noise is too small.
    """
    factors = {
        "right noise": 1,
        "one count changed, not two": 2,
        "each variable has the whole budget": n_variables,
        "both": 2 * n_variables,
        "noise of shares put on counts": n,
    }
    levels = np.full(n_variables, 2)
    return {name: LaplaceMargins(levels, epsilon * factor) for name, factor in factors.items()}


def audits(
    generators: Mapping[str, Synthesizer],
    n: int,
    n_variables: int,
    n_releases: int,
    n_audits: int,
    *,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Audit generators on the data of `canary` several times.

    Returns
    -------
    DataFrame
        generator and epsilon, the lower bound at a confidence of 95 %, a row for each audit.
    """
    data, alternative = canary(n, n_variables)
    found = [
        (
            name,
            leakage_bound(generator, data, 0, alternative, n_releases=n_releases, rng=rng).epsilon,
        )
        for name, generator in generators.items()
        for _ in range(n_audits)
    ]
    return pd.DataFrame(found, columns=["generator", "epsilon"])


def refuted(
    found: pd.DataFrame, generators: Mapping[str, LaplaceMargins], claimed: float
) -> pd.DataFrame:
    """Return a row for each generator: its noise's epsilon, bounds of `audits`, share refuted."""
    of_each = found.groupby("generator", sort=False)["epsilon"]
    return pd.DataFrame(
        {
            "noise": list(generators),
            "epsilon of the noise": [generator.epsilon for generator in generators.values()],
            "median bound": of_each.median().to_numpy(),
            "largest bound": of_each.max().to_numpy(),
            "share of the audits that refute": of_each.agg(
                lambda bounds: np.mean(bounds > claimed)
            ).to_numpy(),
        }
    )


def family_audits(
    table: Mechanism, n_releases: int, n_audits: int, *, rng: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """Audit a family of counts, whose epsilon is known, at the worst pair of data sets.

    Returns
    -------
    epsilon : float
        Exact.
    bounds : (n_audits,) float64
        Lower bounds at a confidence of 95 %.
    """
    worst, most = exact_epsilon(table), table.n_outputs - 1
    bounds = []
    for _ in range(n_audits):
        drawn = [sample(table, row, n_releases, rng=rng) for row in worst.pair]
        cells = [np.sqrt(np.stack([most - x, x], axis=1)) for x in drawn]
        bounds.append(leakage(*cells, prior=PRIOR).epsilon)
    return worst.value, np.array(bounds)


def at_epsilon(levels: NDArray[np.integer], n: int, epsilon: float) -> dict[str, Density]:
    """Return generators of n records that are differentially private at an epsilon, by name.

    The epsilon of the mixture of one class is exact, the sum of log(1 + n / concentration) over
    variables (`mechanism.dirichlet_multinomial_epsilon`); that of the margins is proved.
    """
    concentration = float(n / np.expm1(epsilon / len(levels)))
    return {
        "Laplace margins": LaplaceMargins(levels, epsilon),
        "mixture of one class": OneClass(levels, concentration),
    }


def risk_and_use(
    generators: Mapping[str, Density],
    data: Microdata,
    n_risk: int,
    n_use: int,
    *,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the exact risk of every record under a uniform prior, and the use of releases.

    Parameters
    ----------
    generators : mapping of str to Density
        By name.
    data : Microdata
        The confidential records.
    n_risk, n_use : int
        Releases that risk is averaged over, each seen alone, and that use is; the former are
        among the latter, two or more.
    rng : numpy.random.Generator
        Source of the releases.

    Returns
    -------
    risks : DataFrame
        generator, and ratio, the mean over releases of the probability of the truth over the
        prior, a row for each record.
    use : DataFrame
        generator, difference of a release's pairs of variables over that of another sample, and
        its standard error difference_se.
    """
    support = neighborhood(data.codes, data.schema.n_levels)
    rows = np.arange(len(data))
    risks, use = [], []
    for name, generator in generators.items():
        released = [generator.release(data.codes, rng=rng) for _ in range(n_use)]
        of_truth = [
            posterior(log_likelihoods(generator, [z], data.codes, rows, support))[:, 0]
            for z in released[:n_risk]
        ]
        ratio = np.exp(of_truth).mean(axis=0) * support.shape[1]
        risks.append(pd.DataFrame({"generator": name, "ratio": ratio}))
        off = against_sampling(data.codes, released, data.schema.n_levels)
        use.append((name, off.ratio, off.error))
    columns = ["generator", "difference", "difference_se"]
    return pd.concat(risks, ignore_index=True), pd.DataFrame(use, columns=columns)


# ---------------------------------------------------------------------------------------- verdicts


def finds_most(found: pd.DataFrame, share: float = 0.5) -> Verdict:
    """Say whether a test finds a share of what releases tell beyond the prior.

    Parameters
    ----------
    found : DataFrame
        As `compare` returns, of one generator; the words from the fewest and from the most
        releases may differ, and it depends on their number then.
    share : float
        In (0, 1).
    """
    words, told = {}, []
    for n, rows in found.groupby("releases"):
        gain, exact = rows["probability"] - PRIOR, rows["exact"] - PRIOR
        lacking = share * exact - gain
        error = float(np.hypot(lacking.sem(), share * np.sqrt((rows["exact_se"] ** 2).mean())))
        words[n] = at_most(float(lacking.mean()), error, 0.0)
        told.append(f"{percent(gain.mean() / exact.mean())} from {n:,}")
    few, many = words[min(words)], words[max(words)]
    return Verdict(
        many if few == many or UNDECIDED in (few, many) else "depends on the number of releases",
        f"Of the mean gain in the probability of the truth, {exact.mean():.2f} over the prior, the "
        f"lower bounds find {', '.join(told)} releases. The limit is {percent(share)}.",
    )


def silence_is_safe(found: pd.DataFrame, arranged: float, margin: float = 0.1) -> Verdict:
    """Say whether releases tell nothing where the test finds nothing.

    Parameters
    ----------
    found : DataFrame
        As `compare` returns, from the most releases.
    arranged : float
        Lower bound for a generator whose releases tell the truth for certain, by their order.
    margin : float
        Over the prior, from which on releases tell something.
    """
    silent = found[found["probability"] <= PRIOR]
    sure = silent["exact"] - 2 * silent["exact_se"] > PRIOR + margin
    hidden = arranged < 1 - margin
    word = FAILS if sure.any() or hidden else HOLDS
    return Verdict(
        word,
        f"Nothing was found for {len(silent)} of {len(found)} records and generators, and for "
        f"{sure.sum()} of these the exact mean is above {PRIOR + margin:.1f}. Where the order of "
        f"the records tells the truth for certain, the bound is {arranged:.2f}.",
    )


def catches(found: pd.DataFrame, claimed: float, most: float = 0.8, few: float = 0.2) -> Verdict:
    """Say whether audits refute a claimed epsilon that does not hold.

    Parameters
    ----------
    found : DataFrame
        As `audits` returns, of generators that break the claim.
    claimed : float
        The epsilon that is claimed.
    most, few : float
        Shares of the audits that count as nearly all and as hardly any.
    """
    audits = (found["epsilon"] > claimed).groupby(found["generator"], sort=False)
    refuted, counts, total = audits.mean(), audits.sum(), audits.size()
    word = HOLDS if (refuted >= most).all() else "depends on the mistake"
    if (refuted <= few).all():
        word = FAILS
    return Verdict(
        word,
        "Audits that refute: "
        + "; ".join(f"{counts[name]} of {total[name]} ({name})" for name in refuted.index)
        + f". The limit is {percent(most)} of the audits for each mistake.",
    )


def no_false_alarm(false: int, total: int, level: float = 0.95) -> Verdict:
    """Say whether honest claims are refuted no more often than stated."""
    return Verdict(
        of_intervals(total - false, total, level),
        f"{false} of {total} audits refute a claim that holds, {percent(false / total, 1)}; "
        f"stated are {percent(1 - level)} at most.",
    )


def near_the_prior(risks: pd.DataFrame, factor: float = 1.5) -> Verdict:
    """Say whether the truth stays within a factor of its prior for nearly all records.

    Parameters
    ----------
    risks : DataFrame
        epsilon, generator and ratio, as `risk_and_use` returns.
    factor : float
        Above 1.
    """
    gain = np.abs(np.log(risks["ratio"].to_numpy()))
    low, high = share_above(-gain, np.zeros(len(gain)), -np.log(factor))
    most = risks.iloc[int(risks["ratio"].argmax())]
    return Verdict(
        of_share(low, high, on="epsilon and the generator"),
        f"Within a factor of {factor:g} for {percent(low, 1)} of the records, generators and "
        f"epsilons. The largest ratio to the prior is {most['ratio']:.2f}, of {most['generator']} "
        f"at an epsilon of {most['epsilon']:g}.",
    )


def equally_useful(use: pd.DataFrame, tolerated: float = 0.1) -> Verdict:
    """Say whether two generators of the same epsilon differ from the data alike.

    Parameters
    ----------
    use : DataFrame
        epsilon, generator, difference and difference_se of two generators.
    tolerated : float
        Distance of the differences that counts as none.
    """
    one, other = use["generator"].unique()
    pairs = use.pivot(index="epsilon", columns="generator")
    apart = pairs["difference"][other] - pairs["difference"][one]
    error = np.hypot(pairs["difference_se"][other], pairs["difference_se"][one])
    words = [at_most(abs(value), e, tolerated) for value, e in zip(apart, error, strict=True)]
    word = words[0] if len(set(words)) == 1 else "depends on epsilon"
    told = "; ".join(
        f"{value:+.2f} ± {e:.2f} at {epsilon:g}"
        for epsilon, value, e in zip(apart.index, apart, error, strict=True)
    )
    return Verdict(word, f"Difference of pairs, {other} less {one}: {told}.")
