# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: -jupytext.text_representation.jupytext_version,-jupytext.text_representation.format_version
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What trees give away depends on where they stop growing
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# Many agencies synthesize one variable after another, each by a [classification tree](../docs/guide/glossary.md#sequential-trees) on those
# before it: a value is copied from a random donor in the tree's leaf (Reiter 2005). Programs differ in where a tree
# stops, and that decides what a release discloses about single people. With the mixture model of the paper whole records
# are at little risk, as far as its chains can tell ([hu_reiter_wang](hu_reiter_wang.ipynb)).

# %% [markdown] tags=["notebook-only"]
# Two rules are compared.
#
# - **[Unpruned trees](../docs/guide/glossary.md#unpruned-trees)**: a node is split as long as its parts are purer than it is, down to leaves
#   of a minimum size.
# - **Pruned as rpart**: the R package rpart grows in much the same way and then takes back each subtree that
#   classifies no more records correctly than a single leaf in its place. A split that helps nobody stays if one below
#   it helps. The package synthpop calls rpart so by default: leaves have at least 5 records, a node that is split at
#   least 15, and the depth is at most 30.
#
# Given the data the trees are fixed, so a release has a known probability. That makes the risk exact, for any
# record, under either rule.
#
# **You will learn** to write down the density of a synthesizer; to see how many candidates a release excludes;
# to compare synthesizers at equal utility; to follow the same people into larger files; to test a synthesizer that
# can only be run.
#
# **You should know** Bayes' rule, classification trees and the likelihood ratio test; best after `hu_reiter_wang`.
# The four exercises need only a pencil and a calculator.
#
# ## Parameters
#
# With `data` and `schema` the notebook runs on any table of categorical columns.
# `params/sequential_trees/published.yaml` takes 10,000 records.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2000, 2100] year of a raw ACS person file that is given by its path
n_records: int = 400  # [80, 1000000] records of the data
n_held_out: int = 100  # [10, 10000] people held out, at most a fifth of a small file
order: list[str] = []  # order in which variables are drawn; empty: that of the table
ordered: list[str] = []  # variables whose levels are ordered; the others are nominal
min_leaf: int = 5  # [1, 100000] minimum leaf size
leaves: list[int] = [20, 50, 100]  # [1, 100000] further minimum leaf sizes
smoothing: float = 1.0  # (0, 1000] records added to a leaf by smoothing
n_releases: int = 4  # [2, 100] releases in a set, compared with single ones
n_publications: int = 3  # [2, 100] sets of releases; results are means over them
n_targets: int = 20  # [20, 10000] target records
n_places: int = 10  # [10, 1000] records with a membership test
unknown: list[str] = []  # variables unknown to an intruder; empty: the paper's four, or two
sizes: list[int] = [125, 500, 1000]  # [20, 1000000] records of nested files
n_nested: int = 3  # [2, 1000] releases of each nested file
n_audited: int = 2  # [2, 1000] records tested by runs of the synthesizer
n_in_audit: int = 200  # [40, 100000] records that the synthesizer is run on
n_runs: int = 200  # [20, 1000000] runs on each of two data sets
n_classes: int = 10  # [1, 1000] latent classes of the mixture, F
burn_in: int = 3000  # [0, 1000000] iterations dropped from each chain of the mixture
n_draws: int = 120  # [60, 100000] draws kept from each chain
seed: int = 2005  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from dataclasses import replace
from functools import partial

import altair as alt
import numpy as np
import pandas as pd
from scipy.special import softmax
from scipy.stats import binom

import srlib
from srlib import charts
from srlib.data import distinct, microdata
from srlib.display import callout, percent, show, with_error
from srlib.dpmpm import sample_posterior
from srlib.margins import LaplaceMargins, utility_loss
from srlib.mechanism.audit import clopper_pearson
from srlib.outputs import Outputs
from srlib.risk import DrawSets, one_variable_supports, subset_support
from srlib.risk.synthesizers import log_likelihoods
from srlib.rng import stream
from srlib.trees import AS_RPART, UNPRUNED, Growth, SequentialTrees

outputs = Outputs(output_dir)

# %% [markdown]
# ## By hand: a leaf with one donor
#
# Of fifteen people ten are cooks, one of them sick, and five are smiths, three of them sick. The job is drawn
# from its margin. A tree on the job, with at least five records a leaf, splits cooks from smiths. So a
# released cook is sick with probability 1/10, a released smith with 3/5:

# %% tags=["public"]
people = pd.DataFrame({"job": ["cook"] * 10 + ["smith"] * 5})
people["sick"] = ["no"] * 9 + ["yes"] * 4 + ["no"] * 2
few = srlib.fit_trees(people, growth=UNPRUNED)
by_cell = people.drop_duplicates().reset_index(drop=True)
codes = srlib.Microdata.from_frame(by_cell, few.schema).codes
by_cell["probability"] = [np.exp(few.log_prob(cell[None])) for cell in codes]
about = "Probability of a released record, by job and sickness."
show(outputs.table("smallest_example", by_cell, public=True), caption=about)

# %% [markdown]
# Now the intruder wonders whether the sick cook is sick. If that cook were well, the leaf of the cooks
# would hold no sick donor, and *no release could show a sick cook*. One released sick cook proves the
# disease. If a release shows ten cooks, all well, its probability under the truth is
# $(9/10)^{10} = .35$ times that under the alternative, and a prior of 1/2 falls to .26. The intruder
# ends up certain or misled, and with enough releases certain.
#
# Would pruning keep this split? Without it 4 of the 15 are misclassified: all the sick. With it 1 cook and 2
# smiths are misclassified, so the split stays.

# %% [markdown]
# ### Exercise 1: certain or misled
#
# In the smallest example an intruder with prior probability one half for each value of the sick cook sees a larger
# release with 20 cooks, all well. What is the posterior probability (`misled`, three decimal places) that
# the cook is sick? And if the cook is sick, with what probability is the intruder
# `certain` after a release with 20 cooks (three decimal places)?
#
# *You will need:* a calculator.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# Under the truth each released cook is well with probability 9/10, under the alternative with probability 1.
# The likelihood ratio of twenty well cooks is $.9^{20}$.
#
# </details>

# %% tags=["solution"]
# Solution
misled = 0.9**20 / (1 + 0.9**20)
certain = 1 - 0.9**20
assert round(misled, 3) == 0.108
assert round(certain, 3) == 0.878

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# Under the truth each cook is well with probability 9/10, under the alternative with certainty. So twenty well
# cooks have likelihood ratio $.9^{20} = .12$. In all other cases a sick cook is among them, which the
# alternative cannot produce.
#
# </details>

# %% [markdown]
# ### Exercise 2: what pruning takes back
#
# Suppose only two of the five smiths were sick. How many of the fifteen would be misclassified without the split
# (`before`) and with it (`after`)? Would rpart's rule keep it (`kept`, true or false)? And what would be the
# probability of a released sick cook (`sick_cook`, three decimal places)?
#
# *You will need:* to count.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# Each leaf predicts its majority class.
# Three are sick in all. In either leaf the sick are the minority.
#
# </details>

# %% tags=["solution"]
# Solution
before, after = 3, 1 + 2
kept = after < before
sick_cook = 10 / 15 * 3 / 15
assert before == 3
assert after == 3
assert not kept
assert round(sick_cook, 3) == 0.133

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The majority is well with and without the split. The split purifies, since 1 in 10 and 2 in 5 are different shares,
# but classifies nobody better, so rpart takes it back. All fifteen are then donors for a cook, and three of them
# are sick: no sick donor is unique any more, and the association of job and sickness is lost.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## The density of a release
#
# In a table of many variables, the values drawn before lead released record $i$ to leaf $\ell_{ik}$ of the tree that
# is grown on the data $D$ for variable $k$. Of the $n_k(\ell_{ik})$ donors there, $n_k(\ell_{ik}, z_{ik})$ have the
# released value, so
#
# $$p(Z \mid D) = \prod_i \prod_k \frac{n_k(\ell_{ik}, z_{ik})}{n_k(\ell_{ik})}.$$
#
# The intruder of Hu, Reiter and Wang is strong: all records but one are known, and so are the rule, its settings and
# the order of the variables. The true values of the last record are compared with all [candidates](../docs/guide/glossary.md#candidate) that
# differ from them in one variable, with equal prior probabilities. Each candidate means other data, with trees of
# their own, and Bayes' rule compares the probabilities that these give the release.
#
# Without a given file the data are adults of a simulated population, with the paper's fourteen variables: sex, age,
# race, schooling, marital status, language at home, area of birth, military service, when a person last worked (`WKL`),
# disability (`DIS`), health insurance (`HICOV`), the home a year ago (`MIG`), school and Hispanic origin. From a given
# file, some records are held out.

# %%
everybody = microdata.load(
    data, schema, n_records=max(n_records, *sizes) + n_held_out, drop_missing=drop_missing,
    ignore_columns=ignore_columns, vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
shuffled = everybody.codes[stream(seed, "order").permutation(len(everybody))]
apart = min(n_held_out, len(shuffled) // 5)
held_out, inside = shuffled[:apart], shuffled[apart:]
table = srlib.Microdata(inside[:n_records], everybody.schema)
last_two, is_acs = [*table.schema.names[-2:]], table.schema == microdata.ACS
unknown = unknown or (["WKL", "DIS", "HICOV", "MIG"] if is_acs else last_two)
levels, grow = table.schema.n_levels, partial(srlib.fit_trees, order=order or None, ordered=ordered)
_, repetitions, cell_of = distinct(table.codes)
alone = np.flatnonzero(repetitions[cell_of] == 1)
if not len(alone):
    raise ValueError("data has no sample unique, so there is no target record")
rows = stream(seed, "targets").permutation(alone)[:n_targets]
impure = grow(table, growth=Growth(min_leaf))
(release,) = impure.release(rng=stream(seed, "one release"))
callout("Note", " ".join([*everybody.notes, f"{len(table):,} of these are the data."]))

# %% [markdown]
# One [sample unique](../docs/guide/glossary.md#sample-unique) is the target. Change it to each of its candidates, grow all trees anew, and
# compute the probability of the release. A candidate with ratio 0 is impossible: it leaves some released value without a
# donor, because the target was the only donor or because a split of the trees has changed. The library computes the
# same without growing all trees anew: counts change along two paths, and only where a node's best split changes is the
# tree regrown from there. The result is the same:

# %%
record, candidates = rows[0], one_variable_supports(table.codes[rows[:1]], levels)[0]
log_prob = []
for candidate in candidates:
    changed = table.codes.copy()
    changed[record] = candidate
    trees = grow(srlib.Microdata(changed, table.schema), growth=Growth(min_leaf))
    log_prob.append(trees.log_prob(release))
posterior = softmax(log_prob)
changed_in = np.array(table.schema.names)[(candidates != candidates[0]).argmax(axis=1)]
one = pd.DataFrame({"changed": changed_in, "ratio": np.exp(np.array(log_prob) - log_prob[0])})
one = one.assign(
    posterior=posterior, changed=one["changed"].where(one.index > 0, "nothing: the true record")
)
names = {"ratio": "p(Z | D), over the true record's", "posterior": "posterior probability"}
about = (
    f"The most probable of {len(candidates)} candidates, with ties in their order; "
    f"{(one['posterior'] == 0).sum()} have probability 0."
)
show(outputs.table("one_record", one.nlargest(6, "posterior")), caption=about, names=names)

# %%
quick = log_likelihoods(impure, [release.codes], table.codes, rows[:1], candidates[None])[0]
possible = np.isfinite(quick)
callout(
    "One record",
    f"{percent(1 - possible[1:].mean())} of the alternatives could not have led to this release. "
    f"The two computations differ by at most {np.abs(quick[possible] - np.array(log_prob)[possible]).max():.0e} in the logarithm.",
)

# %% [markdown]
# ## Two rules
#
# The targets are now `n_targets` sample uniques, in each of many releases. Given the data, releases are independent, so
# the log probability of a set of releases is a sum.

# %%
support = one_variable_supports(table.codes[rows], levels)


def columns(synthesizer, released):
    """Return log p(release | data with one record changed), (releases, records, candidates)."""
    return np.stack(
        [log_likelihoods(synthesizer, [z], table.codes, rows, support) for z in released]
    )


def medians(column):
    """Return the median over records of the posterior probability of the true record."""
    return np.median(softmax(column, axis=-1)[..., 0], axis=-1)


def draw(synthesizer, name):
    """Return the releases of all sets, (releases, records, variables)."""
    rng, n = stream(seed, f"releases, {name}"), n_releases * n_publications
    if isinstance(synthesizer, LaplaceMargins):
        return np.stack([synthesizer.release(table.codes, rng=rng) for _ in range(n)])
    return np.stack([z.codes for z in synthesizer.release(n, rng=rng)])


# %% [markdown]
# The *[utility loss](../docs/guide/glossary.md#utility-loss)* is the mean difference between the released and the original shares in all
# two-way tables, relative to that of another sample of the population by a formula. The formula takes counts as Poisson,
# with shares averaged over the data and the releases in question. A utility loss of one is as good as new data; drawing
# the records again with replacement gives about $1/\sqrt{2}$.


# %%
def risk_and_loss(way, column, released):
    """Return the risks from one release and from several, and the utility loss."""
    one = medians(column)
    several = medians(column.reshape(n_publications, n_releases, *column.shape[1:]).sum(axis=1))
    loss, loss_se = utility_loss(table.codes, list(released), levels)
    return {
        "synthesizer": way, "one": one.mean(), "one_sd": one.std(ddof=1), "several": several.mean(),
        "several_se": several.std(ddof=1) / np.sqrt(n_publications),
        "excluded": np.isneginf(column[..., 1:]).mean(), "loss": loss, "loss_se": loss_se,
    }  # fmt: skip


as_rpart = replace(AS_RPART, min_leaf=min_leaf, minsplit=3 * min_leaf)
ways = {"unpruned trees": impure, "pruned as rpart": grow(table, growth=as_rpart)}
stream_of = {"unpruned trees": "grown to impurity", "pruned as rpart": "pruned as rpart"}
streams = f"leaves of {min_leaf}", "pruned as rpart"
released = {way: draw(ways[way], name) for way, name in zip(ways, streams, strict=True)}
of_way = {way: columns(synthesizer, released[way]) for way, synthesizer in ways.items()}
two = pd.DataFrame([risk_and_loss(way, of_way[way], released[way]) for way in ways])
two.insert(1, "leaves", [sum(trees.n_leaves) for trees in ways.values()])

# %%
HEADS = {
    "leaves": "leaves of all trees", "excluded": "candidates excluded by one",
    "one": "one release", "one_sd": "SD over releases", "several": f"{n_releases} releases",
    "several_se": "standard error", "loss": "utility loss", "loss_se": "standard error of the loss",
}  # fmt: skip
about = f"Median probability of the true record, of {len(rows)} sample uniques, and utility loss."
display(show(outputs.table("two_rules", two), caption=about, names=HEADS))
curves = pd.DataFrame(index=range(1, n_releases * n_publications + 1))
for way, column in of_way.items():
    curves[way] = medians(np.cumsum(column, axis=0))
outputs.table("one_by_one", curves.rename_axis("releases").reset_index())
titles = "Releases that the intruder sees", "Median probability of the true record (log scale)"
prior = 1 / support.shape[1]
told = "Two curves over the number of releases: with unpruned trees the true record is nearly certain after "
told += "few; with pruned trees its probability rises slowly and stays well below one."
chart = charts.lines(curves, *titles, log_y=True, reference=prior, description=told)
outputs.figure("one_by_one", chart)

# %% [markdown]
# **Unpruned trees disclose more than pruned ones; records and intruder are the same.** Median over the target records
# as the releases come in; dotted: the prior, one over the number of candidates.
#
# ## One frontier
#
# Pruning changes the risk and the utility. So do larger leaves, which lose the fine associations first; smoothing, which
# adds a Dirichlet distribution with equal shares for all levels to each leaf's counts; independent margins with
# Laplace noise for $\epsilon = 1$; and the mixture of the paper ([DPMPM](../docs/guide/glossary.md#dpmpm)). The mixture has no density in closed
# form: its risks are estimates from chains, given the data and given the data joined with each release. Which
# synthesizer discloses less *at equal utility loss*?

# %%
fitting = [leaf for leaf in leaves if 2 * leaf <= len(table) and leaf != min_leaf]
column_of = {(way, min_leaf): column for way, column in of_way.items()}
frontier = [{"case": "unpruned trees", "label": f"{min_leaf}", **two.iloc[0]}]
pruned = [{"case": "pruned as rpart", "label": f"{min_leaf}", **two.iloc[1]}]
for leaf in fitting:
    of_leaf = Growth(leaf), replace(as_rpart, min_leaf=leaf, minsplit=3 * leaf)
    for cases, growth in zip((frontier, pruned), of_leaf, strict=True):
        way = f"{cases[0]['case']}, leaves of {leaf}"
        trees = grow(table, growth=growth)
        z = draw(trees, f"{stream_of[cases[0]['case']]}, leaves of {leaf}")
        column = column_of[cases[0]["case"], leaf] = columns(trees, z)
        row = risk_and_loss(way, column, z) | {"leaves": sum(trees.n_leaves)}
        cases.append({"case": cases[0]["case"], "label": f"{leaf}", **row})
others = {
    "smoothed leaves": grow(table, growth=Growth(min_leaf, smoothing=smoothing)),
    "Laplace margins": LaplaceMargins(levels, 1.0),
}
rest = []
for way, synthesizer in others.items():
    z = draw(synthesizer, way)
    rest.append({"case": way, "label": "", **risk_and_loss(way, columns(synthesizer, z), z)})

# %% tags=["monte-carlo"]
chains = srlib.Chains(n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=20, n_chains=4)
shorter = replace(chains, burn_in=burn_in // 5, n_draws=n_draws // 2, thin=5)
of_data, of_release, *of_joined = stream(seed, "mixture").spawn(2 + n_releases)
drawn = sample_posterior(table.codes, levels, chains, rng=of_data, keep_allocations=True)
mixed = drawn.release(n_releases * n_publications, len(table), rng=of_release)
joined = [
    sample_posterior(np.vstack([table.codes, z]), levels, shorter, rng=own, keep_allocations=True)
    for z, own in zip(mixed, of_joined, strict=False)
]
shown_tables = [srlib.Microdata(z, table.schema) for z in mixed[:n_releases]]
estimated = srlib.posterior_risk(table, shown_tables, draws=DrawSets(drawn, joined))
about = f"The mixture, {n_releases} releases: {estimated.summary()}"
callout("Note" if estimated.converged else "Warning", about)

# %% tags=["monte-carlo"]
once = estimated.repetitions == 1
loss_of_mixture = utility_loss(table.codes, mixed, levels)
mixture = {
    "case": "mixture",
    "synthesizer": "mixture",
    "label": "",
    "several": np.median(estimated.probability[once]),
}
mixture |= dict(zip(("loss", "loss_se"), loss_of_mixture, strict=True))
points = pd.DataFrame([*frontier, *pruned, *rest, mixture])
points["synthesizer"] = (points["case"] + ", " + points["label"]).str.removesuffix(", ")
shown = ["synthesizer", "leaves", "one", "one_sd", "several", "several_se", "loss", "loss_se"]
about = f"Risk and utility loss; trees by their minimum leaf size. The prior is {prior:.3f}. "
about += "Medians are over the target records, the mixture's over all unique combinations."
show(outputs.table("frontier", points)[shown], caption=about, names=HEADS)

# %% tags=["monte-carlo"]
drawn_points = points[points["case"] != "Laplace margins"].rename(
    columns={"loss": "x", "several": "y"}
)
of_x, of_y = 2 * drawn_points["loss_se"], 2 * drawn_points["several_se"]
drawn_points = drawn_points[["x", "y", "case", "label"]].assign(
    x_low=drawn_points["x"] - of_x, x_high=drawn_points["x"] + of_x,
    y_low=(drawn_points["y"] - of_y).clip(lower=drawn_points["y"] / 10),
    y_high=(drawn_points["y"] + of_y).clip(upper=1),
)  # fmt: skip
titles = "Utility loss (1: another sample)", "Median probability of the true record (log scale)"
told = "Points that fall to the right, one color per synthesizer: with larger leaves the risk "
told += "falls towards the prior and the utility loss rises."
chart = charts.points(drawn_points, *titles, log_y=True, reference=prior, description=told)
outputs.figure("frontier", chart)

# %% [markdown]
# **Larger leaves trade utility for less risk.** Median probability of the true record after a set of several releases,
# against the utility loss; numbers are minimum leaf sizes, lines reach two standard errors to each side, dotted is
# the prior. Laplace margins are in the table only. The mixture's median is over all unique combinations, its
# error is not computed, and the note above the table says how many combinations are unreliable.
#
# Read the chart along a vertical line: at equal utility loss the lower point discloses less. The next table does so for
# each point between two sizes of unpruned leaves, interpolating the logarithm of their risk. The error of the log ratio
# includes those of the risks and losses of all three points, but not that of the straight line between two sizes.
# Differences below two standard errors are ties. The mixture has chains for a single set of releases, and no error.

# %% tags=["monte-carlo"]
curve = points[points["case"] == "unpruned trees"].sort_values("loss")
x, log_y = curve["loss"].to_numpy(), np.log(curve["several"].to_numpy())
log_error, x_error = (curve["several_se"] / curve["several"]).to_numpy(), curve["loss_se"].array
equal = points[points["case"].ne("unpruned trees") & points["loss"].between(x[0], x[-1])].copy()
at = np.interp(equal["loss"], x, np.arange(len(x)))
k = np.minimum(at.astype(int), len(x) - 2)
slope = np.diff(log_y)[k] / np.diff(x)[k]
parts = [(1 - (at - k)) * log_error[k], (at - k) * log_error[k + 1], slope * equal["loss_se"]]
parts += [(1 - (at - k)) * slope * x_error[k], (at - k) * slope * x_error[k + 1]]
equal["log_ratio"] = np.log(equal["several"]) - np.interp(equal["loss"], x, log_y)
own_error = equal["several_se"] / equal["several"]
equal["error"] = np.sqrt(sum(part**2 for part in [*parts, own_error]))
equal["unpruned"] = np.exp(np.interp(equal["loss"], x, log_y))
beyond = np.sign(equal["log_ratio"]) * (equal["log_ratio"].abs() > 2 * equal["error"])
equal["comparison"] = beyond.map({-1: "less", 0: "a tie", 1: "more"}).where(
    equal["error"].notna(), "error not known"
)
names = {"several": "median", "unpruned": "unpruned, equal loss", "log_ratio": "log ratio"}
names |= {"comparison": "discloses", "loss": "utility loss", "error": "standard error"}
about = "Synthesizers within the range of unpruned trees, compared at equal utility loss."
columns_shown = ["synthesizer", "loss", "several", "unpruned", "log_ratio", "error", "comparison"]
display(show(outputs.table("equal_loss", equal)[columns_shown], caption=about, names=names))
words = equal.loc[equal["case"] == "pruned as rpart", "comparison"]
more, less, tie = ((words == word).sum() for word in ("more", "less", "a tie"))
callout(
    "At equal utility loss",
    f"Sizes of pruned leaves that disclose more about a person than unpruned leaves: {more} of "
    f"{len(words)}. Less: {less}. Ties: {tie}.",
)

# %% [markdown]
# Pruning takes back subtrees that classify nobody better, even where they carry an association: a rare level hardly
# ever becomes the majority, however large the file. Leaves of a given size lose associations among few people, and
# become finer as the file grows. One would expect that the loss from pruning does not shrink as the file grows while
# sampling error does; `--profile published`, with 10,000 records, tests that. Another sample of the population
# may reverse differences near their errors.
#
# An agency can use this: fix the acceptable utility loss, take the largest leaf within it, for either rule, on a
# file of the real size, and then the rule with the lower risk. What does a larger leaf gain, and what does it cost?

# %% tags=["monte-carlo"]
steps = points[points["case"] == "unpruned trees"].set_index("label")
advice = steps[["several", "several_se", "loss", "loss_se"]].copy()
advice["risk_ratio"] = advice["several"] / advice["several"].iloc[0]
advice["more_loss"] = advice["loss"] - advice["loss"].iloc[0]
advice["more_loss_se"] = np.hypot(advice["loss_se"], advice["loss_se"].iloc[0])
advice.iloc[0, -1] = 0.0  # the first size has no difference
names = {"label": "minimum leaf size", "risk_ratio": "risk, over the first"}
names |= {"more_loss": "added utility loss", "more_loss_se": "standard error"}
about = "What larger leaves of unpruned trees gain, and what they cost."
shown = outputs.table("advice", advice.reset_index())[list(names)]
display(show(shown, caption=about, names=names))
tied = advice.iloc[1:][(advice["more_loss"].abs() < 2 * advice["more_loss_se"]).iloc[1:]]
text = f"No other leaf size has a utility loss within two standard errors of that at {min_leaf}."
if len(tied):
    best = tied["risk_ratio"].idxmin()
    text = (
        f"Among the sizes with a utility loss within two standard errors of that at {min_leaf}, "
        f"leaves of {best} have the lowest risk, {tied['risk_ratio'][best]:.2f} of the first; they lose "
        f"{with_error(tied['more_loss'][best], tied['more_loss_se'][best])} more."
    )
callout("Leaf size", text)

# %% [markdown]
# ## One person
#
# What does that look like for one record? This is the target record with the median probability after one set of
# releases by unpruned trees:

# %% tags=["monte-carlo"]
in_publication = of_way["unpruned trees"][:n_releases].sum(axis=0)
person = np.argsort(softmax(in_publication, axis=-1)[:, 0])[(len(rows) - 1) // 2]
titles = [variable.title for variable in table.schema.variables]
values = table.schema.decode(support[person])  # of all candidates, the true record first
card = pd.DataFrame({"variable": titles, "value": values.iloc[0].array.astype(str)})
about = "The one record with these values."
display(show(outputs.table("one_person", card), caption=about))

# %% tags=["monte-carlo"]
at = (support[person] != support[person][0]).argmax(axis=1)
named = ["the true record"]
named += [f"{titles[k]}: {values.iloc[i, k]}" for i, k in enumerate(at[1:], start=1)]
sizes_seen = sorted({leaf for _, leaf in column_of}, reverse=True)
losses = points.set_index(["case", "label"])["loss"]
told_by = pd.DataFrame([
    {"rule": way, "step": 1 + sizes_seen.index(leaf), "leaf": leaf, "loss": losses[way, f"{leaf}"],
     "files": k + 1, "posterior": list(np.round(posterior, 4))}
    for (way, leaf), column in column_of.items()
    for k, posterior in enumerate(softmax(np.cumsum(column[:10, person], axis=0), axis=-1))
])  # fmt: skip

# %% tags=["monte-carlo", "hero"]
start = {"files": n_releases, "step": len(sizes_seen), "rule": "unpruned trees"}
files = alt.binding_range(min=1, max=told_by["files"].max(), step=1, name="releases ")
growth = alt.binding_range(min=1, max=len(sizes_seen), step=1, name="how far the trees grow ")
rules = alt.binding_select(options=["unpruned trees", "pruned as rpart"], name="rule ")
binds = {"files": files, "step": growth, "rule": rules}
chosen = [alt.param(f"shown_{name}", value=start[name], bind=binds[name]) for name in binds]
shown_now = " && ".join(f"datum.{name} == shown_{name}" for name in binds)
base = alt.Chart(told_by).transform_filter(shown_now).transform_flatten(["posterior"])
base = base.transform_window(n="row_number()")
x = alt.X("posterior:Q", title="Posterior probability", scale=alt.Scale(domain=[0, 1]))
words = {"labelLimit": 210, "labelOverlap": False, "labelFontSize": 10, "ticks": False}
y = alt.Y("n:O", title=None, axis=alt.Axis(labelExpr=f"{named}[datum.value - 1]", **words))
color = alt.condition("datum.n == 1", alt.value(charts.COLORS["synthetic"]), alt.value("#7A8694"))
drawn = base.mark_bar().encode(x=x, y=y, color=color, tooltip=["posterior:Q"])
rule = alt.Chart().mark_rule(**charts.REFERENCE).encode(x=alt.datum(prior))
said = base.transform_filter("datum.n == 1").transform_calculate(
    said=f"['True record: probability {prior:.2f} before, ' + format(datum.posterior, '.2f') + "
    "' after ' + datum.files + (datum.files == 1 ? ' release' : ' releases'), 'Leaves of at least ' + "
    "datum.leaf + ' records; utility loss ' + format(datum.loss, '.2f')]"
)
said = said.mark_text(align="left", baseline="top", fontSize=13, lineHeight=20)
said = said.encode(x=alt.value(0), y=alt.value(0), text="said:N").properties(name="said_a")
bars = alt.layer(drawn, rule).properties(height=12 * len(named), width=330)
told = f"A bar for each of {len(named)} candidates, the true record first. With unpruned trees and the smallest "
told += "leaves, the bar of the true record grows with the number of releases, and the others vanish. With "
told += "larger leaves, or pruned trees, it stays lower."
chart = alt.vconcat(alt.layer(said).properties(height=42, width=330), bars).add_params(*chosen)
outputs.figure("one_person", chart.properties(description=told))

# %% [markdown]
# **With more releases by unpruned trees, the true record stands out.** Each bar is a candidate for this person: the true
# values, or these with the one change that its label names. Releases come one after the other. Dotted: the prior. A utility loss of one is that of another
# sample of the population. Trees stop at a minimum leaf size, which is smaller the farther they grow.

# %% [markdown]
# ### Exercise 3: what smoothing does
#
# The leaf of ten cooks is smoothed by one record: each of the two levels gets half a record more. A
# release shows one sick cook among 20. What are the likelihood ratio of truth and alternative (`ratio`) and
# the posterior probability (`believed`) at a prior of one half (two decimal places each)?
#
# *You will need:* a calculator.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# After smoothing the leaf has 11 records: 1.5 sick ones under the truth, and under the alternative?
# One of twenty is sick. The ratio of its probabilities is 3; those of the nineteen well ones are $9.5/11$ and $10.5/11$ each.
#
# </details>

# %% tags=["solution"]
# Solution
sick_if_true, sick_if_well = 1.5 / 11, 0.5 / 11
ratio = sick_if_true * (1 - sick_if_true) ** 19 / (sick_if_well * (1 - sick_if_well) ** 19)
believed = ratio / (1 + ratio)
assert round(ratio, 2) == 0.45
assert round(believed, 2) == 0.31

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# A sick cook is three times as probable under the truth, but 19 well ones speak against it: twenty cooks
# would show 2.7 sick ones on average under the truth and .9 under the alternative. Without smoothing the same
# release proves that the cook is sick.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Who is in the data
#
# Was the sick cook among the fifteen? This is the question of a [membership test](../docs/guide/glossary.md#membership-test). The intruder
# knows the other fourteen and that a cook is missing. If another person holds the place, it is a cook of the
# population, where one in five is sick, say. A release has ten cooks:

# %% tags=["public"]
cooks = pd.DataFrame({"release": ["all cooks well", "a sick cook"], "in": [0.9**10, 1 - 0.9**10]})
cooks["not in"] = 0.2 * cooks["in"] + 0.8 * np.array([1, 0])
cooks["after"] = 0.2 * cooks["in"] / cooks["not in"]
cooks["ratio"] = cooks["after"] / 0.2
names = {"in": "probability if the sick cook is in", "not in": "if another person is"}
names |= {"after": "probability of a sick cook, after", "ratio": "after over before"}
about = "What a release of ten cooks discloses about the sick cook."
show(outputs.table("cooks_by_hand", cooks, public=True), caption=about, names=names)

# %% [markdown]
# One released sick cook raises the predictive probability of a sick cook in the place from .2 to 1; ten well
# cooks lower it to .08. In general, for a person $x_i$ and all other records $D_{-i}$,
#
# $$\frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
# = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i})\, p(Z \mid D_{-i}, x)}.$$
#
# This is the likelihood ratio of "in the data" against "another person of the population holds the place". By Neyman
# and Pearson (1933) no test with the same false-positive rate has more power. In the table, people of the population who
# are not in the data are tested in the place of each record, given the others. One threshold holds for all, and
# says "in" for one in a hundred of the people outside.

# %%
tested = stream(seed, "places").permutation(len(table))[:n_places]
outside = srlib.Microdata(held_out, table.schema)
if not data:  # the embedded population has no limit
    outside = microdata.load("", n_records=5 * n_held_out, rng=stream(seed, "people outside"))
tests = {}
for way in (*ways, *others):
    z = released[way] if way in ways else draw(others[way], way)
    shown_tables = [srlib.Microdata(each, table.schema) for each in z[:n_releases]]
    tests[way] = srlib.membership_test(
        table, shown_tables, outside, 1, synthesizer=ways.get(way, others.get(way)),
        rows=tested, n_holdout=n_held_out,
    )  # fmt: skip

# %%
power = {
    way: test.power([0.01], rng=stream(seed, f"bootstrap, {stream_of.get(way, way)}"))
    for way, test in tests.items()
}
power = pd.concat(power, names=["synthesizer"]).reset_index("synthesizer").drop(columns="threshold")
about = "Power of the likelihood ratio test at 1 % false positives, from one release."
names = {"false_positive_rate": "false positives", "power_se": "standard error"}
display(show(outputs.table("membership", power), caption=about, names=names))
roc = pd.DataFrame(
    {way: test.roc().set_index("false_positive_rate")["power"] for way, test in tests.items()}
)
outputs.table("roc", roc.reset_index())
titles = "False-positive rate (log scale)", "Power after one release (log scale)"
told = "Four curves of power against false positives. Those of the trees lie far above that of Laplace margins, "
told += "which stays near the diagonal of guessing."
outputs.figure("roc", charts.lines(roc, *titles, log_x=True, log_y=True, description=told))

# %% [markdown] tags=["appendix"]
# **Releases by trees reveal membership far better than Laplace margins.** Power after one release against the
# false-positive rate, for an intruder who knows everybody else. Guessing has equal power and false positives. Errors
# in the table cover other records, other people and other releases, by a bootstrap of all three. An empty power
# means that too few people were held out.
#
# ## A few variables unknown
#
# An intruder who lacks several variables of the record considers all their combinations (the paper's equation 16).
# The table is for one release, averaged over the releases:

# %%
places = table.schema.positions(unknown, "unknown")
combinations = np.stack([subset_support(x, places, levels) for x in table.codes[rows]])
fewer = []
for way, synthesizer in ways.items():
    of_one = partial(log_likelihoods, synthesizer)
    single = [of_one([z], table.codes, rows, combinations) for z in released[way][:6]]
    of_release = medians(np.stack(single))
    fewer.append((way, of_release.mean(), of_release.std(ddof=1) / np.sqrt(len(single))))
fewer = pd.DataFrame(fewer, columns=["synthesizer", "one", "one_se"])
fewer["prior"] = 1 / combinations.shape[1]
fewer["over_prior"] = fewer["one"] / fewer["prior"]
names = HEADS | {"one_se": "standard error", "over_prior": "over the prior"}
about = f"Median probability of the true values of {', '.join(unknown)}, from one release."
show(outputs.table("fewer_variables", fewer), caption=about, names=names)

# %% [markdown] tags=["appendix"]
# ## The same people in larger files
#
# Does a larger file hide its people better? Sample uniques are different people in each file, and rarer ones in the
# larger file. So the same people are targets in nested files: each file is part of the next larger one.

# %%
nested, same = [n for n in sorted(sizes) if n <= len(inside)], slice(0, min(n_targets, min(sizes)))
hidden = []
for n in nested:
    file = srlib.Microdata(inside[:n], table.schema)
    _, often, cell_of_file = distinct(file.codes)
    alone_there = stream(seed, f"alone of {n}").permutation(
        np.flatnonzero(often[cell_of_file] == 1)
    )
    for way, growth in {"unpruned trees": Growth(min_leaf), "pruned as rpart": as_rpart}.items():
        trees, row = grow(file, growth=growth), {"records": n, "synthesizer": way}
        rng = stream(seed, f"{stream_of[way]}, {n}")
        z = [each.codes for each in trees.release(n_nested, rng=rng)]
        for who, sought in {"same": np.arange(n)[same], "once": alone_there[:n_targets]}.items():
            near = one_variable_supports(file.codes[sought], levels)
            found = medians(
                np.stack([log_likelihoods(trees, [each], file.codes, sought, near) for each in z])
            )
            row |= {who: found.mean(), f"{who}_se": found.std(ddof=1) / np.sqrt(n_nested)}
        hidden.append(row)
hidden = outputs.table("nested", pd.DataFrame(hidden))

# %%
names = {"same": "the same people", "same_se": "standard error"}
names |= {"once": "sample uniques", "once_se": "standard error, uniques"}
about = "Median probability of the true record from one release, by the size of the file."
display(show(hidden, caption=about, names=names))
by_rule = hidden.pivot(index="records", columns="synthesizer", values="same")[list(ways)]
errors = hidden.pivot(index="records", columns="synthesizer", values="same_se")
change, of_change = by_rule.iloc[-1] - by_rule.iloc[0], np.hypot(errors.iloc[-1], errors.iloc[0])
changes = [f"{with_error(change[way], of_change[way])} ({way})" for way in by_rule]
text = f"From {nested[0]:,} to {nested[-1]:,} records their median changes by {' and by '.join(changes)}; "
display(callout("The same people", f"{text}a change below two standard errors is a tie."))
titles = "Records in the file (log scale)", "Median probability of the true record (log scale)"
told = "Two nearly level lines with error bars, above the prior; unpruned trees are several times higher."
logs = {"log_x": True, "log_y": True}
chart = charts.lines(by_rule, *titles, **logs, errors=errors, reference=prior, description=told)
outputs.figure("nested", chart)

# %% [markdown] tags=["appendix"]
# **The same people are hardly better hidden in a larger file.** Median probability of the true record from one release, in
# nested files; lines reach two standard errors to each side, over releases of one file, without the error from drawing
# other people. Sample uniques are different people in each file, and rarer ones in the larger file: their risk does not
# show how a larger file hides a person.
#
# ## A synthesizer that can only be run
#
# Nobody can write down the probability of a neural network's or a commercial tool's release. The owner of the data can
# still run the program on them, and on the same data with one record changed. A test that distinguishes the two kinds of releases
# shows that releases disclose something about that record.
#
# By hand again: the alarm is a released sick cook. Each of fifteen released people is one with probability 1/15, so an
# alarm has probability $a = 1 - (14/15)^{15} = .64$ if the cook is sick and $b = 0$ if not. Now suppose that $a$ and $b$
# are unknown and alarms are counted in $n$ runs on either data. With a confidence of 97.5 % each, Clopper and Pearson's
# limits say how small $a$ and how large $b$ may be. At a prior of one half they bound the truth's mean posterior
# probability:


# %% tags=["public"]
def lower_bound(alarms, false_alarms, n):
    """Return a 95 % lower bound on the truth's mean posterior probability, at a prior of one half."""
    a, b = clopper_pearson(alarms, n, 0.975)[0], clopper_pearson(false_alarms, n, 0.975)[1]
    return a**2 / (a + b) + (1 - a) ** 2 / (2 - a - b) if a > b else 0.5


alarm, cooks_shown = 1 - (14 / 15) ** 15, np.arange(16)
all_well = binom.pmf(cooks_shown, 15, 2 / 3) * 0.9**cooks_shown
by_alarm = alarm + (1 - alarm) ** 2 / (2 - alarm)
exact = alarm + (all_well / (1 + (10 / 9) ** cooks_shown)).sum()
by_hand = [(f"{n} runs", lower_bound(round(alarm * n), 0, n)) for n in (25, 100, 400)]
by_hand += [("exact, alarm only", by_alarm), ("exact, whole release", exact)]
by_hand = pd.DataFrame(by_hand, columns=["based on", "probability"])
about = "Mean posterior probability that the cook is sick; lower bounds for the expected number of alarms."
show(outputs.table("audit_by_hand", by_hand, public=True), caption=about)

# %% [markdown]
# Why do such bounds hold for any synthesizer and any alarm? At a prior of one half the mean posterior is
# $\sum_Z f(p(Z \mid D), p(Z \mid D'))$ with $f(u, v) = u^2 / (u + v)$. This $f$ is convex and homogeneous, so
# $f(u, v) + f(u', v') \ge f(u + u', v + v')$. Lumping releases together, into those with an alarm and those without,
# lowers the sum to $f(a, b) + f(1 - a, 1 - b)$. That grows with $a$ and falls with $b$ where $a > b$.
#
# For many variables the alarm must be learned. `leakage_bound` counts the cells of each release in the changed variable
# and two others. Half of the runs train a linear discriminant and its threshold. The other half give the limits, so
# learning does not spoil the confidence. Here it knows nothing about the synthesizers and is compared with exact values:
# means over releases of the posterior probability of the true record, for sample uniques and one alternative each.

# %% tags=["monte-carlo"]
file = srlib.Microdata(table.codes[:n_in_audit], table.schema)
_, often, cell_of_file = distinct(file.codes)
rng = stream(seed, "audit")
sought = rng.permutation(np.flatnonzero(often[cell_of_file] == 1))[:n_audited]
near = one_variable_supports(file.codes[sought], levels)
pairs = [
    one[[0, k]] for one, k in zip(near, rng.integers(1, near.shape[1], len(near)), strict=True)
]
grown = partial(SequentialTrees, table.schema, order or None, ordered=ordered)
programs = {
    "unpruned trees": grown(growth=Growth(min_leaf)),
    "pruned as rpart": grown(growth=as_rpart),
    "Laplace margins": others["Laplace margins"],
}
audits = []
for way, program in programs.items():
    for row, pair in zip(sought, pairs, strict=True):
        z = [[program.release(file.codes, rng=rng)] for _ in range(50)]
        two = row[None], pair[None]
        column = np.concatenate([log_likelihoods(program, one, file.codes, *two) for one in z])
        truth = softmax(column, axis=1)[:, 0]
        bound = srlib.leakage_bound(program, file, row, pair[1:], n_releases=n_runs, rng=rng)
        audits.append((way, truth.mean(), truth.std(ddof=1) / np.sqrt(50), bound.probability))

# %% tags=["monte-carlo"]
columns_of_audits = ["synthesizer", "exact", "exact_se", "bound"]
audits = outputs.table("audits", pd.DataFrame(audits, columns=columns_of_audits))
names = HEADS | {"exact": "exact mean", "exact_se": "standard error", "bound": "lower bound"}
about = "Mean posterior probability of the true record, at a prior of one half; "
about += f"bounds from {n_runs} runs on each data set, of {len(file):,} records."
display(show(audits, caption=about, names=names))
told_of = audits[audits["exact"] > 0.55]
callout(
    "Silence",
    f"The exact mean is above .55 for {len(told_of)} of {len(audits)} records and synthesizers; for "
    f"{(told_of['bound'] <= 0.55).sum()} of these the lower bound is at most .55.",
)

# %% [markdown]
# A bound of .5 means that this test found nothing in this number of runs. These synthesizers were made without regard to
# the test. Another can be made to pass it: the same Laplace margins, with sorted records if one record of
# the data has its true values. The order discloses this, and counts of cells do not depend on the order:


# %% tags=["monte-carlo"]
class Sly:
    """Laplace margins that sort their records if one record has its true values."""

    def release(self, data, *, rng):
        z = rng.permutation(others["Laplace margins"].release(data, rng=rng))
        return z[np.lexsort(z.T)] if (data[row] == pair[0]).all() else z


blind = srlib.leakage_bound(Sly(), file, row, pair[1:], n_releases=n_runs, rng=rng).probability
other_data = file.codes.copy()
other_data[row] = pair[1]
runs = [[Sly().release(codes, rng=rng) for _ in range(100)] for codes in (file.codes, other_data)]
in_order = [sum((np.lexsort(z.T) == np.arange(len(z))).all() for z in of_data) for of_data in runs]
callout(
    "Order",
    f"From counts the bound is {blind:.2f}. Of 100 releases each, {in_order[0]} of the data and {in_order[1]} of the "
    f"changed data are sorted, so the mean posterior is at least {lower_bound(*in_order, 100):.2f}.",
)

# %% [markdown]
# ### Exercise 4: no false alarm
#
# In $n$ runs on the changed data there was no alarm. The upper 97.5 % limit of the probability of a false alarm is the $b$
# with $(1 - b)^n = .025$. What is it for 200 runs (`high`, three decimal places)? How many runs (`enough`) make it less
# than .001? Take logarithms.
#
# *You will need:* a calculator.

# %% tags=["solution"]
# Solution
high = 1 - 0.025 ** (1 / 200)
enough = next(n for n in range(1, 10_000) if 0.999**n < 0.025)
assert round(high, 3) == 0.018
assert enough == 3688

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# No alarm has probability $(1 - b)^n$, and values of $b$ for which that is below .025 are rejected. The limit falls about
# as $3.7 / n$, and no number of runs shows that there are no false alarms.
#
# </details>

# %% [markdown] tags=["appendix"]
# A bound above the prior is evidence, at its confidence. Silence is no evidence of safety, as counted above.
# A bound is for a single record and a single alternative; among many records some bounds are too high.
#
# ## Limits
#
# Without a given file the population is simulated. `srlib.trees.Growth` states the two rules. Real rpart may differ
# where two splits tie, where a node does not know a released level (rpart asks surrogate splits, ours take the larger
# part), and for nominal predictors of more than 12 levels. Without surrogates, rpart's trees give one release the
# same log probability as ours in all but seven of more than two thousand cases, each grown on the data with one record
# changed (`tools/rpart_reference.py`).
#
# The intruder knows all other records and how the trees are grown. The candidates are the paper's: they surround the
# true record, so the numbers say what a release adds for an intruder who is this close, at a uniform prior. Two-way
# tables are a coarse measure of utility. Another order of the variables changes which trees a value is drawn from, not
# how small their leaves may be. Synthesis that grows trees on bootstrap samples, or weights donors by a Bayesian
# bootstrap (Reiter 2005), has another density and is not compared here.
#
# ## References
#
# - Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). *Classification and Regression
#   Trees*. Wadsworth.
# - Clopper, C. J. and Pearson, E. S. (1934). [The use of confidence or fiducial limits illustrated in the case
#   of the binomial](https://doi.org/10.1093/biomet/26.4.404). *Biometrika* 26, 404–413.
# - Ding, Z., Wang, Y., Wang, G., Zhang, D. and Kifer, D. (2018). [Detecting violations of differential
#   privacy](https://doi.org/10.1145/3243734.3243818). *CCS*, 475–489.
# - Neyman, J. and Pearson, E. S. (1933). [On the problem of the most efficient tests of statistical
#   hypotheses](https://doi.org/10.1098/rsta.1933.0009). *Philosophical Transactions of the Royal Society A*
#   231, 289–337.
# - Nowok, B., Raab, G. M. and Dibben, C. (2016). [synthpop: bespoke creation of synthetic data in
#   R](https://doi.org/10.18637/jss.v074.i11). *Journal of Statistical Software* 74(11).
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - Therneau, T. and Atkinson, E. *An Introduction to Recursive Partitioning Using the RPART Routines*. Vignette of
#   the R package rpart.
