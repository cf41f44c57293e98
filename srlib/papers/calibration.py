"""Experiments in which the truth is drawn, and verdicts on what is said of calibration.

Why this number and this limit is for the notebook to argue.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, xlogy

from srlib.data.schema import Schema, Variable
from srlib.display import percent
from srlib.dpmpm.exact import enumerate_mechanism
from srlib.dpmpm.gibbs import sample_posterior
from srlib.dpmpm.model import Chains, Draws, Prior
from srlib.dpmpm.one_class import OneClass
from srlib.dpmpm.predict import cell_log_prob
from srlib.dpmpm.release import synthesize
from srlib.mechanism.core import Mechanism, change_one_record
from srlib.mechanism.families import (
    bernoulli_plugin,
    beta_binomial,
    compositions,
    dirichlet_multinomial,
)
from srlib.papers.claims import ERRORS, FAILS, HOLDS, PROVED, UNDECIDED, Verdict, at_most
from srlib.papers.ledger import shipped
from srlib.progress import progress, silent
from srlib.risk.calibration import (
    Beliefs,
    believe,
    exact_reliability,
    joined,
    mean_over_sets,
    rank_statistic,
    reliability,
    summary,
    uniformity,
)
from srlib.risk.partial import subset_log_means
from srlib.risk.supports import neighborhood
from srlib.risk.synthesizers import log_likelihoods
from srlib.threads import one_blas_thread
from srlib.trees import Growth, Scans, SequentialTrees, complete
from srlib.trees import log_likelihoods as of_trees

# A difference of shares that matters: one record in twenty.
MATTERS = 0.05
# Records that smoothed leaves are smoothed by: no release is then impossible.
SMOOTHING = 0.1
# What the intruders take each generator for, beside the mixture.
ASKED = {
    "trees": (
        "trees",
        "trees, smoothed",
        "larger leaves",
        "larger leaves, smoothed",
        "reverse order, smoothed",
        "independent margins",
    ),
    "mixture": ("trees", "trees, smoothed", "independent margins"),
}
# Headings of what tables show of `scores`.
COLUMNS = {
    "found": "found",
    "claimed_found": "claimed",
    "overstated_found_se": "error",
    "gain": "gain",
    "claimed_gain": "gain claimed",
    "overstated_gain_se": "error of gain",
}
# Generators and wrong models whose reliability is pictured.
PICTURED = (
    ("trees", "larger leaves, smoothed"),
    ("trees", "reverse order, smoothed"),
    ("mixture", "trees, smoothed"),
)
# Below this a difference between exact numbers is rounding.
ROUNDING = 1e-9


# ------------------------------------------------------------------------------- by enumeration


def two_answers(keep: float) -> dict[str, pd.DataFrame]:
    """Compute what is found of two yes/no answers, each released with some probability of error.

    Parameters
    ----------
    keep : float
        Probability that an answer is released as it is, in (0, 1).

    Returns
    -------
    dict of str to DataFrame
        As `exact_reliability` returns, for three experiments. ``"fixed"``: the candidates are a
        record that is named beforehand and all that differ from it in one answer; the truth is one
        of them, with equal probabilities. ``"around a copy"``: the truth is any of the four
        records, and the candidates surround a copy of it, which differs in one answer at most, all
        copies with equal probabilities. ``"around the truth"``: the candidates surround the truth.
    """
    cells = np.array(list(product((0, 1), repeat=2)))
    apart = (cells[:, None] != cells).sum(axis=2)
    channel = keep ** (2 - apart) * (1 - keep) ** apart  # (truth, release)
    near = [np.flatnonzero(row <= 1) for row in apart]

    def held(support: NDArray[np.intp], release: int) -> NDArray[np.float64]:
        return channel[support, release] / channel[support, release].sum()

    experiments: dict[str, list[tuple[NDArray, float, NDArray]]] = {}
    cases = experiments.setdefault("fixed", [])
    for release in range(4):
        joint = channel[near[0], release] / 3
        cases.append((held(near[0], release), joint.sum(), joint))
    cases = experiments.setdefault("around a copy", [])
    for copy, release in product(range(4), repeat=2):
        joint = channel[near[copy], release] / 4 / 3
        cases.append((held(near[copy], release), joint.sum(), joint))
    cases = experiments.setdefault("around the truth", [])
    for truth, release in product(range(4), repeat=2):
        weight = channel[truth, release] / 4
        cases.append((held(near[truth], release), weight, weight * (near[truth] == truth)))
    return {
        name: exact_reliability(*map(np.array, zip(*cases, strict=True)))
        for name, cases in experiments.items()
    }


def completions(mechanism: Mechanism) -> NDArray[np.int64]:
    """Return the rows of the tables that the values of one record make of the others' tables.

    Parameters
    ----------
    mechanism : Mechanism
        Rows named by counts of cells, or of two cells by the count of the second, all of n records.

    Returns
    -------
    (n_others, n_cells) int64
    """
    counts = np.asarray(mechanism.inputs)
    if counts.ndim == 1:
        counts = np.stack([counts.max() - counts, counts], axis=1)
    position = {tuple(row): i for i, row in enumerate(counts.tolist())}
    others = compositions(int(counts[0].sum()) - 1, counts.shape[1])
    cells = np.eye(counts.shape[1], dtype=np.int64)
    return np.array(
        [[position[tuple(row)] for row in (other + cells).tolist()] for other in others]
    )


def enumerated(
    generator: Mechanism, prior: ArrayLike, assumed: Mechanism | None = None
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Compute the reliability of an intruder who knows all records but one, over all cases.

    Parameters
    ----------
    generator : Mechanism
        What makes the releases, as `completions` takes it.
    prior : (n_cells,) float
        Probabilities that the record is drawn with and that the intruder holds.
    assumed : Mechanism, optional
        What the intruder takes for the generator, with the same rows and columns.

    Returns
    -------
    reliability : DataFrame
        As `exact_reliability`, the others' tables weighted equally.
    scores : dict of str to float
        gain and claimed_gain, found and claimed_found, and risk, as `srlib.risk.calibration`
        defines them.
    """
    rows, outputs = completions(generator), np.arange(generator.n_outputs)
    share = np.asarray(prior, dtype=float)

    def table(mechanism: Mechanism) -> NDArray[np.float64]:
        block = mechanism.block(rows.ravel(), outputs).reshape(*rows.shape, -1)
        return np.moveaxis(block, 2, 1).reshape(-1, len(share))  # cases of others and release

    joint = np.exp(table(generator)) * share / len(rows)
    possible = joint.any(axis=1)
    joint = joint[possible]
    no_one = np.zeros(len(joint), dtype=np.int64)
    belief = believe(table(assumed or generator)[possible], np.log(share), no_one, no_one)
    held = np.exp(belief.log_posterior)
    best = held >= held.max(axis=1, keepdims=True) - 1e-12
    weight = joint.sum(axis=1)
    ratio = np.log(held / share, where=held > 0, out=np.zeros_like(held))
    scores = {
        "gain": (joint * ratio).sum(),
        "claimed_gain": (weight * (held * ratio).sum(axis=1)).sum(),
        "found": (joint * best / best.sum(axis=1, keepdims=True)).sum(),
        "claimed_found": (weight * held.max(axis=1)).sum(),
        "risk": (joint * held).sum(),
    }
    return exact_reliability(held, weight, joint), {k: float(v) for k, v in scores.items()}


def tree_mechanism(n: int, n_s: int, growth: Growth) -> Mechanism:
    """Return sequential trees on two yes/no variables as a table of counts of four cells.

    Parameters
    ----------
    n, n_s : int
        Records in the data and in the release.
    growth : Growth
        How the trees are grown.
    """
    schema = Schema(tuple(Variable(name, ("0", "1")) for name in ("first", "second")))
    synthesizer = SequentialTrees(schema, growth=growth)
    cells = np.array(list(product((0, 1), repeat=2)))
    data, releases = compositions(n, 4), compositions(n_s, 4)
    orders = gammaln(n_s + 1) - gammaln(releases + 1).sum(axis=1)
    log_prob = np.empty((len(data), len(releases)))
    for row, counts in zip(log_prob, data, strict=True):
        trees = synthesizer.grown_on(np.repeat(cells, counts, axis=0))
        share = np.exp([trees.log_prob(cell[None]) for cell in cells])
        row[:] = orders + xlogy(releases, share).sum(axis=1)
    inputs, outputs = ([tuple(map(int, t)) for t in tables] for tables in (data, releases))
    return Mechanism.from_table(log_prob, change_one_record(data), inputs, outputs)


def families() -> dict[str, Mechanism]:
    """Return small tables of synthesizers of several kinds."""
    return {
        "plug-in, 6 records": bernoulli_plugin(6, 6, alpha=0.5),
        "beta-binomial, 6 records": beta_binomial(6, 6, alpha=0.5),
        "Dirichlet-multinomial, 3 cells": dirichlet_multinomial(4, 4, [0.5, 1.0, 2.0]),
        "mixture, 2 classes": enumerate_mechanism(3, 3, [2, 2], 2),
        "trees, leaves of 1": tree_mechanism(4, 4, Growth(min_leaf=1)),
        "trees, leaves of 2": tree_mechanism(4, 4, Growth(min_leaf=2)),
    }


def of_families(tables: Mapping[str, Mechanism]) -> pd.DataFrame:
    """Tabulate the exact calibration of an intruder who knows the generator.

    Parameters
    ----------
    tables : mapping of str to Mechanism
        As `families` returns. The first cell has twice the prior probability of the others.

    Returns
    -------
    DataFrame
        synthesizer, cases (data sets of the others times releases), difference (largest between a
        probability that is claimed and the share found), risk (mean probability of the truth),
        found, and bound (the square root of the risk).
    """
    rows = []
    for name, mechanism in tables.items():
        size = completions(mechanism).shape
        prior = np.append(2.0, np.ones(size[1] - 1)) / (size[1] + 1)
        table, scores = enumerated(mechanism, prior)
        off = float((table["claimed"] - table["found"]).abs().max())
        risk = scores["risk"]
        cases = size[0] * mechanism.n_outputs
        rows.append((name, cases, off, risk, scores["found"], np.sqrt(risk)))
    columns = ["synthesizer", "cases", "difference", "risk", "found", "bound"]
    return pd.DataFrame(rows, columns=columns)


# ----------------------------------------------------------------------- records drawn, then sought


@dataclass(frozen=True)
class Targets:
    """A data set some of whose records were drawn from supports that were fixed before.

    Attributes
    ----------
    data : (n, n_variables) uint8
        The records, those that were drawn among them.
    rows : (n_targets,) int64
        Where the drawn ones are.
    supports : (n_targets, size, n_variables) uint8
        The former record and all that differ from it in one variable.
    truth : (n_targets,) int64
        The candidate that was drawn, all with equal probabilities.
    """

    data: NDArray[np.uint8]
    rows: NDArray[np.int64]
    supports: NDArray[np.uint8]
    truth: NDArray[np.int64]


def draw_targets(
    codes: NDArray[np.integer],
    n_levels: NDArray[np.integer],
    n_targets: int,
    *,
    rng: np.random.Generator,
) -> Targets:
    """Replace some records by draws from the neighborhoods of what they were.

    An intruder who seeks one of them knows the others, drawn ones included. The draws are
    independent, so that this intruder's prior is uniform over the support whatever the others are.

    Parameters
    ----------
    codes : (n, n_variables) int
        The records.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    n_targets : int
        Records to replace, n at most.
    rng : numpy.random.Generator
        Source of the draws.
    """
    rows = rng.choice(len(codes), n_targets, replace=False)
    supports = neighborhood(codes[rows], n_levels)
    truth = rng.integers(supports.shape[1], size=n_targets)
    data = np.array(codes, dtype=np.uint8)
    data[rows] = supports[np.arange(n_targets), truth]
    return Targets(data, rows, supports, truth)


@dataclass(frozen=True)
class Assumed:
    """What intruders may take for the generator, set up for records of one schema.

    Attributes
    ----------
    schema : Schema
        Variables of the records.
    min_leaf : int
        Least records in a leaf of the real trees.
    chains : Chains
        Settings of the mixture and its chains.
    """

    schema: Schema
    min_leaf: int
    chains: Chains

    @cached_property
    def densities(self) -> dict[str, SequentialTrees | OneClass]:
        """Synthesizers with a density, by the names that tables have."""
        names, leaf = self.schema.names, self.min_leaf

        def trees(order: Sequence[str] | None = None, **growth: float) -> SequentialTrees:
            settings = Growth(**{"min_leaf": leaf, **growth})  # type: ignore[arg-type]
            return SequentialTrees(self.schema, order, settings)

        return {
            "trees": trees(),
            "trees, smoothed": trees(smoothing=SMOOTHING),
            "larger leaves": trees(min_leaf=2 * leaf),
            "larger leaves, smoothed": trees(min_leaf=2 * leaf, smoothing=SMOOTHING),
            "reverse order, smoothed": trees(names[::-1], smoothing=SMOOTHING),
            "independent margins": OneClass(self.schema.n_levels),
        }

    def sample(self, codes: NDArray[np.integer], *, rng: np.random.Generator) -> Draws:
        """Draw from the posterior of the mixture."""
        return sample_posterior(codes, self.schema.n_levels, self.chains, rng=rng)


@one_blas_thread
def mixture_log_likelihoods(
    of_data: Draws, of_joined: Draws, targets: Targets
) -> NDArray[np.float64]:
    """Estimate log p(release | candidate) up to a constant, for the DPMPM.

    Parameters
    ----------
    of_data, of_joined : Draws
        Given the data, and given the data joined with the release.
    targets : Targets
        What is sought.

    Returns
    -------
    (n_targets, size) float64
        Log of p(x | others, release) / p(x | others), each a mean over draws in which the record
        is left out by p(x | theta) / p(truth | theta).
    """
    n, size, _ = targets.supports.shape
    flat = targets.supports.reshape(n * size, -1)
    both = []
    for draws in (of_data, of_joined):
        log_prob = cell_log_prob(draws, flat).reshape(-1, n, size)
        own = np.take_along_axis(log_prob, targets.truth[None, :, None], axis=2)
        both.append(logsumexp(log_prob - own, axis=0))
    return both[1] - both[0]


def known_generator(
    draw: Callable[[np.random.Generator], NDArray[np.integer]],
    assumed: Assumed,
    n_sets: int,
    n_targets: int,
    *,
    rng: np.random.Generator,
) -> dict[tuple[str, str], Beliefs]:
    """Draw data sets, targets and releases by trees and by the mixture; ask several intruders.

    Parameters
    ----------
    draw : callable
        From a generator of chance to the records of a data set, (n, n_variables).
    assumed : Assumed
        The two synthesizers, and what intruders take them for.
    n_sets, n_targets : int
        Data sets, and records sought in each.
    rng : numpy.random.Generator
        Source of everything.

    Returns
    -------
    dict from (generator, assumed) to Beliefs
        Each intruder has a uniform prior over the support, knows all other records, and sees one
        release of the generator.
    """
    found: dict[tuple[str, str], list[Beliefs]] = {}
    levels = assumed.schema.n_levels
    with progress(n_sets, "data sets") as bar, silent():
        for at, own in enumerate(rng.spawn(n_sets)):
            targets = draw_targets(draw(own), levels, n_targets, rng=own)
            of_data = assumed.sample(targets.data, rng=own)
            released = {
                "trees": assumed.densities["trees"].release(targets.data, rng=own),
                "mixture": of_data.release(1, len(targets.data), rng=own)[0],
            }
            for generator, shown in released.items():
                of_joined = assumed.sample(np.vstack([targets.data, shown]), rng=own)
                columns = {"mixture": mixture_log_likelihoods(of_data, of_joined, targets)}
                for name in ASKED[generator]:
                    density = assumed.densities[name]
                    columns[name] = log_likelihoods(
                        density, [shown], targets.data, targets.rows, targets.supports
                    )
                sets = np.full(n_targets, at)
                for name, column in columns.items():
                    belief = believe(column, 0.0, targets.truth, sets)
                    found.setdefault((generator, name), []).append(belief)
            bar.update()
    return {key: joined(beliefs) for key, beliefs in found.items()}


def as_they_are(
    draw: Callable[[np.random.Generator], NDArray[np.integer]],
    synthesizer: SequentialTrees,
    n_sets: int,
    n_targets: int,
    *,
    rng: np.random.Generator,
) -> Beliefs:
    """Seek records that nobody drew, among candidates that surround them, as the paper does.

    Parameters
    ----------
    draw : callable
        From a generator of chance to the records of a data set, (n, n_variables).
    synthesizer : SequentialTrees
        What makes the release, and what the intruder knows.
    n_sets, n_targets : int
        Data sets, and records sought in each.
    rng : numpy.random.Generator
        Source of everything.
    """
    beliefs = []
    with progress(n_sets, "data sets") as bar, silent():
        for at, own in enumerate(rng.spawn(n_sets)):
            data = draw(own)
            rows = own.choice(len(data), n_targets, replace=False)
            supports = neighborhood(data[rows], synthesizer.schema.n_levels)
            shown = [synthesizer.release(data, rng=own)]
            column = log_likelihoods(synthesizer, shown, data, rows, supports)
            beliefs.append(believe(column, 0.0, 0, np.full(n_targets, at)))
            bar.update()
    return joined(beliefs)


def some_unknown(
    draw: Callable[[np.random.Generator], NDArray[np.integer]],
    synthesizer: SequentialTrees,
    n_sets: int,
    n_unknown: int,
    scans: Scans,
    *,
    rng: np.random.Generator,
) -> dict[str, Beliefs]:
    """Draw several records and a release by trees; seek each knowing the others drawn, and not.

    Parameters
    ----------
    draw : callable
        From a generator of chance to the records of a data set, (n, n_variables).
    synthesizer : SequentialTrees
        How trees are grown.
    n_sets, n_unknown : int
        Data sets, and records drawn in each.
    scans : Scans
        Settings of the chains over the unknown records.
    rng : numpy.random.Generator
        Source of everything.

    Returns
    -------
    dict of str to Beliefs
        ``"all"``: the intruder knows all other records; ``"not the others drawn"``: of these only
        the candidates.
    """
    beliefs: dict[str, list[Beliefs]] = {"all": [], "not the others drawn": []}
    each = np.arange(n_unknown)
    with progress(n_sets, "data sets") as bar, silent():
        for at, own in enumerate(rng.spawn(n_sets)):
            drawn = draw_targets(draw(own), synthesizer.schema.n_levels, n_unknown, rng=own)
            supports = np.array(drawn.supports)  # the truth first
            supports[each, 0] = drawn.supports[each, drawn.truth]
            supports[each, drawn.truth] = drawn.supports[each, 0]
            trees = synthesizer.grown_on(drawn.data)
            released = trees.release(rng=own)
            known = of_trees(trees, released, drawn.rows, supports)[0]
            found = complete(trees, released, drawn.rows, supports, scans=scans, rng=own)
            unknown = logsumexp(found.log_means, axis=0)
            for some, column in zip(beliefs.values(), (known, unknown), strict=True):
                some.append(believe(column, 0.0, 0, np.full(n_unknown, at)))
            bar.update()
    return {name: joined(some) for name, some in beliefs.items()}


# ------------------------------------------------------------------- all records sought, none drawn


def draw_from_prior(
    n: int,
    n_levels: NDArray[np.integer],
    n_classes: int,
    prior: Prior,
    *,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    """Draw parameters of the DPMPM from their prior, and n records from these.

    Parameters
    ----------
    n : int
        Records.
    n_levels : (n_variables,) int
        Number of levels of each variable.
    n_classes : int
        Truncation level F.
    prior : Prior
        Prior distribution.
    rng : numpy.random.Generator
        Source of chance.

    Returns
    -------
    (n, n_variables) uint8
    """
    alpha = rng.gamma(prior.alpha_shape, 1 / prior.alpha_rate)
    sticks = np.append(rng.beta(1, max(alpha, 1e-300), n_classes - 1), 1.0)
    pi = sticks * np.append(1.0, np.cumprod(1 - sticks[:-1]))
    phi = [rng.dirichlet(np.full(k, prior.concentration), n_classes).T for k in n_levels]
    return synthesize(pi, np.concatenate(phi), n_levels, n, rng=rng)


def own_prior(
    draw: Callable[[np.random.Generator], NDArray[np.integer]],
    n_levels: NDArray[np.integer],
    unknown: Sequence[int],
    shares: Sequence[float],
    n_sets: int,
    chains: Chains,
    *,
    rng: np.random.Generator,
) -> dict[float, Beliefs]:
    """Seek every record of data sets released by the DPMPM, with the model's own prior.

    The intruder knows some variables of the record, which fix the support, and a share of the
    other records, and sees one release. Prior and posterior are the model's predictive
    distributions given what is known, before and after the release.

    Parameters
    ----------
    draw : callable
        From a generator of chance to the records of a data set, (n, n_variables).
    n_levels : (n_variables,) int
        Number of levels of each variable.
    unknown : sequence of int
        Positions of the variables that the intruder does not know.
    shares : sequence of float
        Shares of the other records known, in [0, 1].
    n_sets : int
        Data sets.
    chains : Chains
        Settings of the model and of its chains.
    rng : numpy.random.Generator
        Source of everything.

    Returns
    -------
    dict of float to Beliefs
        For each share; the truth is candidate 0.
    """
    found: dict[float, list[Beliefs]] = {share: [] for share in shares}
    with progress(n_sets, "data sets") as bar, silent():
        for at, own in enumerate(rng.spawn(n_sets)):
            data = draw(own)
            n = len(data)
            agency = sample_posterior(data, n_levels, chains, rng=own)
            (released,) = agency.release(1, n, rng=own)
            for share, beliefs in found.items():
                n_known = round(share * n)
                is_known = np.arange(n) < n_known

                def predicted(
                    records: NDArray[np.integer] | Draws,
                    own: np.random.Generator = own,
                    data: NDArray[np.integer] = data,
                    is_known: NDArray[np.bool_] = is_known,
                ) -> NDArray[np.float64]:
                    fitted = (
                        records
                        if isinstance(records, Draws)
                        else sample_posterior(records, n_levels, chains, rng=own)
                    )
                    means = subset_log_means(fitted, data, unknown, left_out=is_known)
                    return logsumexp(means, axis=0)

                after = predicted(np.vstack([data[:n_known], released]))
                before = np.zeros_like(after)  # who knows nobody expects every cell alike
                if n_known:
                    before = predicted(agency if n_known == n else data[:n_known])
                beliefs.append(believe(after - before, before, 0, np.full(n, at)))
            bar.update()
    return {share: joined(beliefs) for share, beliefs in found.items()}


# ------------------------------------------------------------------------------ tables and verdicts


def scores(
    beliefs: Mapping[tuple[str, ...], Beliefs], names: Sequence[str], *, rng: np.random.Generator
) -> pd.DataFrame:
    """Tabulate what several intruders claim and achieve.

    Parameters
    ----------
    beliefs : mapping of tuple of str to Beliefs
        By the names of what was done.
    names : sequence of str
        Columns that these names make.
    rng : numpy.random.Generator
        Source of the randomized rank statistics.

    Returns
    -------
    DataFrame
        One row each: `names`, what `summary` returns, and p_value of the test that the rank
        statistics are uniform.
    """
    rows = []
    for key, some in beliefs.items():
        test = uniformity(rank_statistic(some, rng=rng), some.data_set)
        rows.append(dict(zip(names, key, strict=True)) | summary(some) | {"p_value": test.p_value})
    return pd.DataFrame(rows)


def curves(beliefs: Mapping[str, Beliefs]) -> pd.DataFrame:
    """Return reliability tables one below the other, with a column for their names, `curve`."""
    tables = {name: reliability(some) for name, some in beliefs.items()}
    return pd.concat(tables, names=["curve", None]).reset_index("curve").reset_index(drop=True)


def swept(name: str) -> tuple[str, pd.DataFrame]:
    """Return the origin and the rows of a table that ships.

    Parameters
    ----------
    name : str
        Of the sweep that made it: ``"size"`` for `params/calibration/sweep_size.yaml`, or
        ``"population"``.

    Returns
    -------
    origin : str
        Its comment lines.
    table : DataFrame
        The parameters that vary, and columns of `scores`.
    """
    return shipped(f"calibration_{name}")


def before(beliefs: Beliefs) -> Beliefs:
    """Return what is believed before the release."""
    return replace(beliefs, log_posterior=beliefs.log_prior)


def with_uniform_prior(beliefs: Beliefs) -> Beliefs:
    """Return what is believed after the same releases under a uniform prior."""
    told = beliefs.log_posterior - beliefs.log_prior
    return believe(told, 0.0, beliefs.truth, beliefs.data_set)


def in_short(swept: pd.DataFrame) -> pd.DataFrame:
    """Set what is found beside what is claimed, with the right model and with the other one.

    Parameters
    ----------
    swept : DataFrame
        Of the sweep of sizes, as `swept` returns it.

    Returns
    -------
    DataFrame
        One row for each generator and setting.
    """
    other = {"trees": "mixture", "mixture": "trees, smoothed"}
    rows = []
    for key, some in swept.groupby(["generator", "n_records", "min_leaf"], sort=False):
        by_model = some.set_index("assumed")
        row = dict(zip(("generator", "records", "leaf"), key, strict=True))
        for name, model in (("known", key[0]), ("other", other[str(key[0])])):
            row |= {
                f"{name}: found": by_model.loc[model, "found"],
                f"{name}: claimed": by_model.loc[model, "claimed_found"],
                f"{name}: error": by_model.loc[model, "overstated_found_se"],
            }
        rows.append(row)
    return pd.DataFrame(rows)


def shares_are_right(families: pd.DataFrame) -> Verdict:
    """Say whether in every enumerated case the share found is the probability that is claimed.

    Parameters
    ----------
    families : DataFrame
        As `of_families` returns.
    """
    off = families["difference"].max()
    return Verdict(
        PROVED if off < ROUNDING else FAILS,
        f"By the derivation above, and by enumeration: over {families['cases'].sum():,} pairs of "
        f"data set and release of {len(families)} synthesizers the largest difference between a "
        f"probability claimed and the share found is {off:.0e}, which is rounding.",
    )


def around_the_truth(reliability: pd.DataFrame) -> Verdict:
    """Say whether candidates that surround the truth are found as often as is claimed.

    Parameters
    ----------
    reliability : DataFrame
        As `exact_reliability` returns.
    """
    apart = (reliability["claimed"] - reliability["found"]).abs()
    worst = reliability.loc[apart.idxmax()]
    return Verdict(
        PROVED if apart.max() < ROUNDING else FAILS,
        f"By enumeration: a candidate that gets probability {worst['claimed']:.3f} is true with "
        f"probability {worst['found']:.3f}.",
    )


def risk_is_share(table: pd.DataFrame, runs: Mapping[str, Beliefs]) -> Verdict:
    """Say whether the mean probability of the truth is the share of records found.

    Parameters
    ----------
    table : DataFrame
        As `of_families` returns: exact.
    runs : mapping of str to Beliefs
        Of calibrated intruders.
    """
    between = ((table["risk"] <= table["found"]) & (table["found"] <= table["bound"])).all()
    told = []
    for name, beliefs in runs.items():
        more, error = mean_over_sets(beliefs.found - beliefs.of_truth, beliefs.data_set)
        told.append(
            f"{name}: mean probability of the truth {beliefs.of_truth.mean():.3f}, found "
            f"{beliefs.found.mean():.3f}, difference {more:.3f} ± {error:.3f}"
        )
    gap = float((table["found"] - table["risk"]).max())
    inside = "lies between" if between else "does not always lie between"
    return Verdict(
        FAILS if gap > ROUNDING else PROVED,
        f"In the enumeration the share found is up to {gap:.3f} above the mean probability of the "
        f"truth, and {inside} it and its square root. In the experiments above: "
        f"{'; '.join(told)}.",
    )


def calibrated(runs: pd.DataFrame, names: Sequence[str]) -> Verdict:
    """Say whether beliefs are calibrated, by ranks, gains and the share found.

    Parameters
    ----------
    runs : DataFrame
        As `scores` returns.
    names : sequence of str
        Columns that name the runs.

    Returns
    -------
    Verdict
        `FAILS` where ranks are not uniform, or gain or share found differ from what is claimed, at
        1 % over all tests together. `HOLDS` where this is not so at 5 %, and where the shares
        claimed and found differ by less than `MATTERS`, beyond two errors, in each run whose two
        errors are below it; there must be one. Else `UNDECIDED`.
    """
    from scipy import stats

    freedom = runs["data_sets"] - 1
    p = [runs["p_value"]]
    for what in ("overstated_gain", "overstated_found"):
        p.append(2 * stats.t.sf((runs[what] / runs[f"{what}_se"]).abs(), freedom))
    least = min(1.0, 3 * len(runs) * float(np.nanmin(p)))
    margin = ERRORS * runs["overstated_found_se"]
    fine = margin < MATTERS
    close = fine.any() and (runs["overstated_found"].abs() + margin)[fine].max() < MATTERS
    worst = runs.loc[(runs["overstated_found"].abs() / runs["overstated_found_se"]).idxmax()]
    unresolved = "" if fine.all() else f" {len(fine) - fine.sum()} of {len(fine)} have wide errors."
    return Verdict(
        FAILS if least < 0.01 else HOLDS if least >= 0.05 and close else UNDECIDED,
        f"The smallest of {3 * len(runs)} p-values, for ranks, gains and shares found, is "
        f"{least:.2g} after multiplication by their number. Claimed and found differ most, "
        f"in errors, for {', '.join(worst[list(names)])}: {percent(worst['claimed_found'], 1)} and "
        f"{percent(worst['found'], 1)}, a difference of {100 * worst['overstated_found']:+.1f} ± "
        f"{100 * worst['overstated_found_se']:.1f} percentage points.{unresolved}",
    )


def calibrated_by_size(runs: pd.DataFrame) -> Verdict:
    """Say whether the shares claimed and found agree within `MATTERS`, at each number of records.

    Parameters
    ----------
    runs : DataFrame
        n_every, the number of records, and columns of `scores`.
    """
    runs = runs.reset_index(drop=True)
    apart = (runs["found"] - runs["claimed_found"]).abs()
    words, said = set(), []
    for n, of_size in runs.assign(apart=apart).groupby("n_every"):
        errors = of_size["overstated_found_se"]
        at_size = {at_most(a, e, MATTERS) for a, e in zip(of_size["apart"], errors, strict=True)}
        words.add(next(word for word in (FAILS, UNDECIDED, HOLDS) if word in at_size))
        worst = of_size.loc[of_size["apart"].idxmax()]
        said.append(
            f"{100 * worst['apart']:.1f} ± {100 * worst['overstated_found_se']:.1f} with {n:,}"
        )
    word = "depends on the number of records" if words >= {FAILS, HOLDS} else UNDECIDED
    return Verdict(
        words.pop() if len(words) == 1 else word,
        "By number of records, the shares claimed and found are apart by at most "
        f"{', '.join(said)} percentage points; the limit is {100 * MATTERS:g}.",
    )


def wrong_model_overstates(runs: pd.DataFrame) -> Verdict:
    """Say whether intruders with a wrong model claim more than they find.

    Parameters
    ----------
    runs : DataFrame
        As `scores` returns, of intruders whose model is not the generator, with columns generator
        and assumed.
    """
    more, error = runs["overstated_found"], runs["overstated_found_se"]
    above = more - ERRORS * error > MATTERS
    below = more + ERRORS * error < 0
    word = HOLDS if above.all() else FAILS if (more + ERRORS * error < MATTERS).all() else ""
    most = runs.loc[more.idxmax()]
    told = (
        f"Of {len(runs)} wrong models {above.sum()} claim more than is found by over "
        f"{percent(MATTERS)}, beyond error, and {below.sum()} claim less than is found. The most: "
        f"{most['assumed']}, assumed where the generator is {most['generator']}, claims "
        f"{percent(most['claimed_found'], 1)} and is right for {percent(most['found'], 1)}."
    )
    return Verdict(word or "depends on the model that is assumed", told)
