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
# # To an intruder who knows everybody else, sequential trees give single records away, and the leaf decides how much
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# The intruder is Hu, Reiter and Wang's, and strong: all records but one are known, and so are the algorithm, its
# settings and the order of the variables. The true values of the last record are weighed against all that
# differ from them in one variable, with equal prior probabilities. The last sections take knowledge away.
#
# The paper studies a mixture model and finds little risk ([hu_reiter_wang](hu_reiter_wang.ipynb)). Another synthesizer is in
# wide use. Variables are drawn one after the other, each from a classification tree on those before it
# (Reiter 2005), and each value is that of a random donor from the tree's leaf (the default of the package
# synthpop). Here the risk can be computed exactly. Given the data the trees are fixed, so that the
# release has a known probability, and another value of the last record means other data, with trees of
# their own.
#
# | claim | |
# |---|---|
# | **C1** | Fully synthetic files hold little risk for single records. |
# | **C2** | Nobody can tell from a fully synthetic file who is in the data. |
# | **C3** | A larger file hides its records better. |
# | **C4** | Measures that match records count the values that are exposed. |
# | **C5** | Larger leaves protect, at no cost that pairs of variables show. |
# | **C6** | Smoothed leaves protect, at no cost that pairs of variables show. |
# | **C7** | Another order of the variables protects, at no cost that pairs of variables show. |
# | **C8** | An intruder who lacks a few variables of one record learns little about them. |
# | **C9** | An intruder who lacks variables of several people learns little about them. |
# | **C10** | The distance to the nearest released record finds the members who can be found. |
# | **C11** | Repairing the riskiest records protects them, at no cost to others. |
#
# C1 is the paper's conclusion, carried over to another synthesizer; the others are expectations that a
# producer of such files may have. Verdicts are computed from this run, where they are decided.
#
# **You will learn** to write down the density of a synthesizer; to find records that no other value
# could explain; to tell matching from disclosure; to choose the size of a leaf by its risk.
#
# **You should know** Bayes' rule, classification trees and the likelihood ratio test; best after `hu_reiter_wang`.
# Reading takes about 50 minutes, the exercises an hour and a half. They follow the sections that they belong to;
# the first three and all *try it* cells need no more than a pencil and a calculator.

# %% [markdown]
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
n_records: int = 500  # [80, inf) records used
n_held_out: int = 100  # [10, 10000] further people, a fifth of a small file at most; 1000 for .1 %
order: list[str] = []  # variables in the order in which they are drawn; empty: that of the table
ordered: list[str] = []  # variables whose levels are ordered; the others are nominal
min_leaf: int = 5  # [1, 100000] records that a leaf has at least
larger_leaf: int = 20  # [1, 100000] the same of the trees beside these
n_releases: int = 5  # [2, 100] releases that the intruder sees, beside one
most_releases: int = 10  # [2, 100] releases at most, one by one
leaves: list[int] = [5, 10, 20, 50, 200]  # [1, 100000] least records in a leaf, compared
smoothing: list[float] = [0.1, 1.0]  # [0, 1000] records that a leaf is smoothed by, compared
n_orders: int = 1  # [0, 100] random orders of the variables, compared beside three others
n_repaired: int = 10  # [1, inf) riskiest records that are left out or count less
n_targets: int = 60  # [20, inf) records for comparisons of settings
n_places: int = 30  # [10, 1000] records that are tested for being in the data
keys: list[str] = []  # variables that are known where values are matched; empty: the first four
unknown: list[str] = ["WKL", "DIS", "HICOV", "MIG"]  # variables that an intruder does not know
unknown_of_several: list[str] = ["WKL", "DIS"]  # variables unknown of several people at once
people: list[int] = [1, 20]  # [1, 20] how many people
n_scans: int = 25  # [4, 10000] draws kept of each chain over these, and as many dropped
n_quarters: int = 6  # [2, 1000] quarters of the file, and releases of the whole, compared
n_classes: int = 10  # [1, 1000] latent classes of the mixture, F
burn_in: int = 4000  # [0, inf) iterations dropped from each chain of the mixture
n_draws: int = 200  # [60, inf) draws kept from each chain
seed: int = 2005  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from functools import partial

import numpy as np
import pandas as pd

import srlib
from srlib import charts
from srlib.data import microdata
from srlib.display import callout, percent, show
from srlib.papers import claims
from srlib.papers import sequential_trees as study
from srlib.rng import stream
from srlib.runner.outputs import Outputs
from srlib.trees import Growth, Scans, SequentialTrees, log_likelihoods

outputs = Outputs(output_dir)
sections = {"C1": "Trees and mixture", "C2": "Who is in the data", "C3": "The size of the file"}
sections |= {"C4": "What matching sees", "C5": "One frontier", "C6": "One frontier"}
sections |= {
    "C10": "Who is in the data",
    "C7": "One frontier",
    "C8": "Fewer variables known",
    "C9": "Fewer people known",
}
sections["C11"] = "Repair"
verdicts = claims.Claims(sections)

# %% [markdown]
# ## By hand: a leaf with one donor
#
# Fifteen people: ten cooks, one of whom is sick, and five smiths, three of whom are. The job is drawn
# from its margin. A tree on the job, with at least five records a leaf, splits cooks from smiths. So a
# released cook is sick with probability 1/10, a released smith with 3/5:

# %% tags=["public"]
few, _ = study.smallest_example()
cells = [(job, sick) for job in (0, 1) for sick in (0, 1)]
by_cell = pd.DataFrame(few.schema.decode(np.array(cells)))
by_cell["probability"] = [np.exp(few.log_prob(np.array([cell]))) for cell in cells]
about = "Probability of a released record, by job and whether it is sick."
show(outputs.table("smallest_example", by_cell, public=True), caption=about)

# %% [markdown]
# Now the intruder wonders whether the sick cook is sick. Had that cook been well, the leaf of the cooks
# would hold no sick donor, and *no release could show a sick cook*. One released sick cook proves the
# disease. If a release shows ten cooks, all of them well, its probability under the truth is
# $(9/10)^{10} = .35$ times that under the alternative, and a prior of 1/2 falls to .26. The intruder
# ends up certain or misled, and with enough releases certain.
#
# In a table of many variables, released record $i$ comes to leaf $\ell_{ik}$ of the tree that the data
# $D$ give variable $k$, by the values drawn before. Of the $n_k(\ell_{ik})$ donors there
# $n_k(\ell_{ik}, z_{ik})$ have the released value, so that
#
# $$p(Z \mid D) = \prod_i \prod_k \frac{n_k(\ell_{ik}, z_{ik})}{n_k(\ell_{ik})}.$$
#
# Several releases multiply. With equal priors the posterior odds of two values of the last record are
# the ratio of this probability at the two tables that they complete. A changed record can change
# counts and also where trees split. The probability of the release under another value of one record is
# computed without growing all trees anew: counts change along two paths, and only where the best split
# of a node becomes another is the tree grown again from there. The result is the same to the last digit.

# %% [markdown]
# ### Try it: a sick smith
#
# One of the three sick smiths is sought instead. Had that smith been well, two of the five donors would still be sick. Is some
# release then impossible under the alternative (`impossible`, true or false)? One sick smith is released: what is its probability
# under the truth over that under the alternative (`sick_ratio`)? Guess first whether it is nearer to 1 or to 9.
#
# *You will need:* the leaf's donors.

# %% [markdown] tags=["hint"]
# Count sick donors in the leaf of the smiths under the truth, and under the alternative.

# %% [markdown] tags=["hint"]
# 3 of 5, against 2 of 5.

# %% tags=["solution"]
impossible, sick_ratio = False, (3 / 5) / (2 / 5)
assert not impossible
assert np.isclose(sick_ratio, 1.5)

# %% [markdown] tags=["solution"]
# Two donors who agree with a person protect that person: the ratio is 1.5, and finite for every release.

# %% [markdown]
# ### Exercise 1: certain or misled
#
# In the smallest example an intruder who gives the sick cook's two values one half each sees a larger
# release with 20 cooks, all of them well. What is the posterior probability (`misled`, three decimal places) that
# the cook is sick? And if the cook is sick, with which probability is the intruder
# `certain` after a release with 20 cooks (three decimal places)?
#
# *You will need:* a calculator.

# %% [markdown] tags=["hint"]
# Under the truth each released cook is well with probability 9/10, under the alternative with probability 1.

# %% [markdown] tags=["hint"]
# The likelihood ratio of twenty well cooks is $.9^{20}$.

# %% tags=["solution"]
misled = 0.9**20 / (1 + 0.9**20)
certain = 1 - 0.9**20
assert round(misled, 3) == 0.108
assert round(certain, 3) == 0.878

# %% [markdown] tags=["solution"]
# Under the truth each cook is well with probability 9/10, under the alternative all are. So twenty well
# cooks have likelihood ratio $.9^{20} = .12$. In all other cases a sick cook is among them, which the
# alternative cannot produce.

# %% [markdown]
# ### Exercise 2: how many releases?
#
# A value in a leaf of ten records has one donor, and each release has ten records in that leaf. After how
# many releases (`enough`) has the value been released at least once with a probability above 99 %?
#
# *You will need:* a logarithm.

# %% [markdown] tags=["hint"]
# What is the probability that one release misses the donor?

# %% [markdown] tags=["hint"]
# $m$ releases miss it with probability $.9^{10 m}$.

# %% tags=["solution"]
enough = next(m for m in range(1, 100) if 1 - 0.9 ** (10 * m) > 0.99)
assert enough == 5

# %% [markdown] tags=["solution"]
# Each released record of the leaf misses the donor with probability 9/10, so $m$ releases miss it with
# probability $.9^{10 m}$, which is below .01 for $m \ge 4.4$.

# %% [markdown]
# ## Trees and mixture
#
# By default the data are adults of a simulated population, with the paper's fourteen variables: sex, age, race,
# schooling, marital status, language at home, area of birth, military service, when somebody last worked (`WKL`),
# disability (`DIS`), health insurance (`HICOV`), the home a year ago (`MIG`), school and Hispanic origin.
# Trees with small leaves and with larger ones, and the mixture of the paper (DPMPM) are fitted to the same
# data. Each releases as many tables. People of the same population who are not in the data are kept for
# later.

# %%
everybody = microdata.load(
    data, schema, n_records=n_records + n_held_out, drop_missing=drop_missing,
    ignore_columns=ignore_columns, vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
table, held_out = study.set_apart(everybody, n_held_out, rng=stream(seed, "held out"))
callout("Note", " ".join([*everybody.notes, f"{len(table):,} of these are the data."]))

# %%
grow = partial(srlib.fit_trees, order=order or None, ordered=ordered)
trees = {leaf: grow(table, growth=Growth(leaf)) for leaf in sorted({min_leaf, larger_leaf})}
n_drawn = max(study.RELEASES, n_releases, most_releases)
released = {
    leaf: grown.release(n_drawn, rng=stream(seed, f"leaf {leaf}")) for leaf, grown in trees.items()
}
seen = (1, n_releases)

# %%
exact = {
    (leaf, m): srlib.posterior_risk(table, released[leaf][:m], synthesizer=trees[leaf])
    for leaf in trees
    for m in seen
}
callout(f"The first trees, {n_releases} releases", exact[min_leaf, n_releases].summary())

# %%
chains = srlib.Chains(n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=20, n_chains=4)
drawn, sets = study.of_mixture(table, chains, n_releases, rng=stream(seed, "mixture"))
estimated = {m: srlib.posterior_risk(table, drawn[:m], draws=study.first_of(sets, m)) for m in seen}

# %% [markdown]
# The mixture's risks are estimates from chains, with errors from between these. Utility is measured for all
# alike: the mean difference between the released and the original shares of all pairs of variables, over
# that between the data and another sample of the population, on average over 20 releases. A ratio of one
# is as good as new data, and drawing the records again with replacement gives about $1/\sqrt{2}$.

# %% tags=["monte-carlo"]
parts = [study.of_all(risk, "trees", leaf, m) for (leaf, m), risk in exact.items()]
parts += [study.of_all(risk, "mixture", 0, m) for m, risk in estimated.items()]
risk = outputs.table("risk", pd.concat(parts, ignore_index=True))
utility = {("trees", leaf): study.pairs_apart(table, z) for leaf, z in released.items()}
utility["mixture", 0] = study.pairs_apart(table, drawn)

# %% tags=["monte-carlo"]
short = outputs.table("in_short", study.in_short(risk, utility))
about = "Probability of the truth for records that occur once, and utility."
display(show(study.in_words(short), caption=about))
study.errors_of_mixture(estimated)

# %% [markdown]
# 10 %, median and 90 % are quantiles over the records; possible are alternatives that could have led to the releases, in
# the median. The prior is one over the number of candidates. The
# mixture leaves the truth near it and excludes nothing, and its pairs of variables are farther from the
# data. Both kinds of trees multiply the prior, the one with larger leaves less.

# %% tags=["monte-carlo"]
rows = study.occur_once(table.codes, n_targets, rng=stream(seed, "targets"))
curves = pd.DataFrame(index=range(1, most_releases + 1))
for leaf, grown in trees.items():
    medians = study.one_by_one(grown, released[leaf][:most_releases], rows)
    curves[f"trees, leaf of {leaf}"] = medians
of_mixture = short[short["synthesizer"] == "mixture"].set_index("n_releases")["median"]
curves["mixture"] = of_mixture.reindex(curves.index)

# %% tags=["monte-carlo"]
outputs.table("one_by_one", curves.rename_axis("n_releases").reset_index())
titles = "Releases that the intruder sees", "Median probability of the truth (log scale)"
prior = 1 / risk["support_size"].iloc[0]
outputs.figure("one_by_one", charts.lines(curves, *titles, log_y=True, reference=prior))

# %% [markdown]
# **With every release the trees make the truth more probable; the mixture leaves it near the prior.** Median over
# some records that occur once, on average over which of the releases is seen first; dotted: the prior. Those of
# the mixture are the medians of the table.

# %%
of_trees = risk[(risk["synthesizer"] == "trees") & (risk["min_leaf"] == min_leaf)]
verdicts.say("C1", study.little_risk(of_trees[of_trees["repetitions"] == 1]))

# %% [markdown] tags=["written"]
# ### Exercise 3: which sentence does the table not support?
#
# A report says of a release by trees: (a) "for half of the records that occur once the truth has a
# probability above .3"; (b) "half of the records that occur once can be found"; (c) "an alternative that is
# excluded could not have led to this release". Its table holds quantiles of the posterior probability of
# the strong intruder (median .33) and the shares excluded. Which one is not supported (`unsupported`), and why?
#
# *You will need:* to say what a probability of .33 means for a guess.

# %% [markdown] tags=["hint"]
# Which sentence speaks of finding, and what does a finder risk?

# %% [markdown] tags=["hint"]
# If somebody guesses the truth wherever it has probability .3, how many of ten guesses are right?

# %% tags=["solution"]
unsupported = "b"
assert unsupported == "b"

# %% [markdown] tags=["solution"]
# A probability of .3 means being wrong in seven of ten such guesses, for an intruder who knows all other
# records. (a) restates the median, and (c) is what a likelihood of zero says.

# %% [markdown]
# ## Records that occur once, and others
#
# Is a record protected if others have the same values? And for how many records is some alternative
# impossible, so that no $\epsilon$ bounds what the release tells?

# %%
shared = {m: study.by_repetitions(of_trees[of_trees["n_releases"] == m]) for m in seen}
shared = pd.concat(shared, names=["releases"]).reset_index("releases")
names = {"records": "records that have it", "median": "median probability of the truth"}
names |= {"unbounded": "share with an impossible alternative"}
about = "Combinations by the number of records that have them."
show(outputs.table("repetitions", shared), caption=about, names=names)

# %% [markdown]
# The *conditional* $\epsilon$ of the
# data $D$ (Charest and Han, in [charest_han](charest_han.ipynb)) is the largest $|\log p(Z \mid D) - \log p(Z \mid D')|$ over all releases $Z$
# and all neighbors $D'$ that differ in one record. Each impossible alternative is a neighbor with
# $p(Z \mid D') = 0 < p(Z \mid D)$, so that a single one makes $\epsilon$ infinite. It is impossible because a
# released value has no donor any more. In the example by hand it was the record's own value that had no
# other donor. How many alternatives would be excluded in this way alone, if no split changed?

# %%
alone = study.without_donor(trees[min_leaf], released[min_leaf][:1], rows).mean()
excluded = study.risks_of(trees[min_leaf], released[min_leaf][:1], rows)["excluded"].mean()
told = (
    f"It excludes {percent(excluded)} of the alternatives; if no split changed, {percent(alone)}."
)
callout("One release", told)

# %% [markdown]
# The rest is what changed splits exclude: one other record makes other leaves, and these may lack a donor
# for a value that somebody's released record has.

# %% [markdown]
# ### Exercise 4: the slow way
#
# The library computes p(releases | other data) without growing all trees anew. Take the first of the records
# sought above, change its first variable to another level, grow trees on the changed table, and compute the
# log probability of the first release under these less that under the original trees. Is it what
# `log_likelihoods` returns for the two candidates (`agree`, "yes" or "no")?
#
# *You will need:* `rows`, `table`, `trees[min_leaf]`, `released[min_leaf][0]`; `grow(srlib.Microdata(codes, table.schema),
# growth=Growth(min_leaf))` and its `.log_prob(release)`; `log_likelihoods(trees, release, rows, candidates)`, with
# candidates in an array (1, 2, number of variables) and its first result in an array (1, 2).

# %% [markdown] tags=["hint"]
# Copy `table.codes`, change one entry, and grow trees on that. The density of a release under any trees is their `log_prob`.

# %% [markdown] tags=["hint"]
# `candidates = np.stack([table.codes[rows[0]], others[rows[0]]])[None]`, with `others` your changed codes. Compare differences with `np.isclose`.

# %% tags=["solution"]
at, others = rows[0], table.codes.copy()
others[at, 0] = (others[at, 0] + 1) % table.schema.n_levels[0]
regrown = grow(srlib.Microdata(others, table.schema), growth=Growth(min_leaf))
first_release = released[min_leaf][0]
both = np.stack([table.codes[at], others[at]])
quick = log_likelihoods(trees[min_leaf], first_release, rows[:1], both[None])[0]
slow = regrown.log_prob(first_release) - trees[min_leaf].log_prob(first_release)
agree = "yes" if np.isclose(slow, quick[0, 1] - quick[0, 0]) else "no"
assert agree == "yes"

# %% [markdown] tags=["solution"]
# Both are the same, also where they are minus infinity: the density is a function of the table alone, and the
# shortcut leaves out only what has not changed. For all records and all candidates the slow way grows
# a set of trees for each of them.

# %% [markdown]
# ## Who is in the data
#
# Was the sick cook among the fifteen? The intruder knows the other fourteen and that a cook is missing. If
# somebody else holds the place, that is a cook of the population, where one in five is sick. A release has
# ten cooks:

# %% tags=["public"]
by_hand = outputs.table("cooks_by_hand", study.cooks_by_hand(before=0.2, released=10), public=True)
names = {"in_data": "probability if the sick cook is in", "not_in_data": "if somebody else is"}
names |= {"after": "a sick cook, after", "ratio": "after over before"}
show(by_hand, caption="What a release of ten cooks says of the sick cook.", names=names)

# %% [markdown]
# One released sick cook raises the predictive probability of a sick cook in the place from .2 to 1, and ten
# who are well lower it to .08. In general, of a person $x_i$ and all other records $D_{-i}$,
#
# $$\frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
# = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i})\, p(Z \mid D_{-i}, x)}.$$
#
# Above stands *the predictive probability of the record after the release*, below *the one before it, which is
# exactly the baseline of a person who is not in the data*: over releases of data with somebody else in the
# place the mean ratio is 1 ($.870 \times .40 + .130 \times 5$). It is the likelihood ratio of "in the data"
# against "the place is held by somebody from the baseline". By Neyman and Pearson (1933) no test with as many
# false positives has more power.
#
# In the table, people of the population who are not in the data are the baseline, and each is tested in the
# place of a record, against the others. Records are drawn at random. One limit holds for all, and says "in" for
# the given share of the people outside. Beside it stands a test that many reports contain: "in" if few variables
# differ from the nearest released record, with ties by lot; or few less those that differ from the nearest of
# the people outside.

# %%
tested = stream(seed, "places").permutation(len(table))[:n_places]
outside = srlib.Microdata(held_out, table.schema)
if not data:  # the embedded population gives as many as are wanted
    outside = microdata.load("", n_records=5 * n_held_out, rng=stream(seed, "people outside"))
smooth = grow(table, growth=Growth(min_leaf, smoothing=max(smoothing, default=1.0)))
drawing, m = partial(stream, seed), n_releases
synthesizers = {("trees", leaf): (grown, released[leaf]) for leaf, grown in trees.items()}
synthesizers["smoothed trees", min_leaf] = smooth, smooth.release(m, rng=drawing("smoothed"))
synthesizers["mixture", 0] = sets, drawn[:m]
for name, of in study.independent(table.schema).items():
    synthesizers[name, 0] = of, study.releases_of(of, table, m, rng=drawing(name))
tests = {
    name: study.membership_tests(table, outside, tested, *of, m, n_beside=n_held_out)
    for name, of in synthesizers.items()
}

# %% tags=["monte-carlo"]
members = outputs.table("membership", study.powers(tests, rng=stream(seed, "bootstrap")))
about = "Power of tests of membership, by the share of false positives, with errors."
display(show(study.powers_in_words(members), caption=about))
shown = [name for name in tests if name[0] in ("trees", "mixture", "margins")]
curves = study.roc_curves({name: tests[name] for name in shown})
outputs.table("roc", curves.reset_index())
titles = "False positives (log scale)", "Power after one release (log scale)"
outputs.figure("roc", charts.lines(curves, *titles, log_x=True, log_y=True))

# %% [markdown]
# **The likelihood ratio finds members of the trees' data, and distance hardly more than chance does.** Power after one
# release against the share of false positives.

# %% tags=["monte-carlo"]
verdicts.say("C2", study.hides_members(members[members["min_leaf"] == min_leaf][:2]))

# %% [markdown]
# Laplace margins have
# $\epsilon = 1$. From one release the power is the mean over several, each by itself. Errors are those of other records,
# other people and, from one release, other releases, by a bootstrap of all three; the people who stand for
# the baseline stay. They are a sample, so that the test falls a little short of the best, and
# at .1 % it takes 1,000 of them at each place (`published.yaml`). Trees give members away, with small leaves and
# with larger ones, smoothed or not. Of the mixture and the margins the test finds no more
# than its false positives, within two errors, and distance so of all synthesizers. Whom does it miss?

# %% tags=["monte-carlo"]
single = tests["trees", min_leaf][1]
outputs.table("membership_records", study.one_by_one_found(single))
names = {"records": "records that have it", "n": "tested", "at_zero": "repeated by a release"}
names |= {"ratio": "found by the ratio", "near": "by the nearest", "nearer": "less that outside"}
about = (
    "Shares of the records tested, after one release by the first trees, at 1 % false positives."
)
found = study.missed(single)[["records", "n", "at_zero", "ratio", "near", "nearer"]]
display(show(outputs.table("missed", found), caption=about, names=names))
verdicts.say("C10", study.finds_members(single, rng=stream(seed, "missed")))

# %% [markdown]
# Releases repeat
# many people who are not in the data, so that a repeated record is little evidence. Records that occur once are found
# without being repeated: without them the release is impossible or improbable, by their effect on leaves of
# other people. The table `membership_records` has each record with its log ratio and its error. For the mixture
# the model's own predictive distribution is another baseline, and both parts of the ratio are probabilities:

# %% tags=["monte-carlo"]
own = srlib.membership_test(
    table, drawn[:m], outside, draws=sets, baseline="model", rows=tested, n_beside=n_held_out
)
parts = outputs.table("membership_parts", own.to_frame())
largest = parts[parts["publication"] == 1].nlargest(4, "statistic")
about = "Records with the largest ratio after the mixture's first release, with relative errors."
show(study.parts_in_words(largest), caption=about)

# %% [markdown]
# ### Try it: how many cooks say no?
#
# Ten well cooks lower the predictive probability of a sick cook in the place from .2 to .08. From how many well cooks on (`well_cooks`)
# is it below .01? Guess first: thirty, a hundred, a thousand?
#
# *You will need:* $.9^n$ for each of $n$ cooks, Bayes' rule and a logarithm.

# %% [markdown] tags=["hint"]
# The odds before are 1 to 4. What does each well cook multiply them by?

# %% [markdown] tags=["hint"]
# Solve $.9^n / 4 < .01/.99$ for $n$.

# %% tags=["solution"]
well_cooks = int(np.ceil(np.log(4 * 0.01 / 0.99) / np.log(0.9)))
assert well_cooks == 31

# %% [markdown] tags=["solution"]
# Each well cook lowers the odds by a tenth, and 31 of them suffice. The first sick one raises them to infinity: evidence against a member
# comes slowly, evidence for one at once.

# %% [markdown]
# ### Exercise 5: when distance is enough
#
# In [Who is in the data](#Who-is-in-the-data) a release with ten cooks is impossible or improbable without the sick cook,
# whom one cook in five of the population would replace with the same values. What is the power of the likelihood
# ratio at 5 % false positives (`power`, two decimal places)? And that of the distance to the nearest released
# record (`by_distance`, two decimal places)?
#
# *You will need:* the probabilities of the table by hand.

# %% [markdown] tags=["hint"]
# With which probability does a release show a sick cook if the person is in, and if somebody else is?

# %% [markdown] tags=["hint"]
# Both tests say "in" only where a sick cook is released, which is too often without the person: a lot decides how often to say so, until false positives are 5 %.

# %% tags=["solution"]
shown_if_in = 1 - 0.9**10
shown_if_not = 0.2 * shown_if_in
power = shown_if_in * 0.05 / shown_if_not  # both say "in" by lot where a sick cook is released
by_distance = power
assert round(power, 2) == 0.25
assert round(by_distance, 2) == 0.25

# %% [markdown] tags=["solution"]
# Both tests say the same: "in" where a sick cook is released, which happens more often than in 5 % of the releases
# without that person, so that a lot decides. Here a person leaves no other trace than copies of the own values.
# In trees on many variables a person also decides where leaves split, and distance does not see it.

# %% [markdown]
# ## The size of the file
#
# Perhaps the file is only too small. Random quarters of it have trees and a release of their own, and the
# whole file has as many releases. Records that occur once are sought. Errors are between these releases
# and not between populations.

# %%
sizes = []
for n in (len(table) // 4, len(table)):
    for i in range(n_quarters):
        rng = stream(seed, f"{n} records, {i}")
        part = srlib.Microdata(table.codes[rng.permutation(len(table))[:n]], table.schema)
        own = grow(part, growth=Growth(min_leaf))
        sought = study.occur_once(part.codes, n_targets, rng=rng)
        of_part = study.risks_of(own, own.release(1, rng=rng), sought)
        sizes.append((n, len(sought), of_part["probability"].median()))
sizes = outputs.table("sizes", pd.DataFrame(sizes, columns=["records", "sought", "median"]))
verdicts.say("C3", study.larger_is_safer(sizes))

# %% [markdown]
# The records are not of the same kinds: in a quarter a larger share occurs once, and some of these do not
# in the whole file. Whether one and the same record is hidden better is not compared.
#
# ## What matching sees
#
# Agencies report whether a release repeats original records, and measures of attribute disclosure. DiSCO
# (Raab, Nowok and Dibben 2024) counts the records whose known values are found in the release, all with
# one value of the target, which is the record's own. TCAP (Taub and Elliot 2019) is the share of right
# guesses where the release has one value of the target. It averages over released records and counts
# the same original records as right. Each variable is the target in turn.

# %%
known = (
    table.schema.positions(keys, "keys") if keys else range(min(4, len(table.schema.variables) - 1))
)
of_all = study.matching_measures(table, released[min_leaf][:n_releases], known)
about = "DiSCO and TCAP of the releases, by what is known, and of margins alone (baseline)."
show(
    claims.with_errors(
        outputs.table("matching", of_all.rename(columns={"se": "mean_se"})), study.OF_MATCHING
    ),
    caption=about,
)

# %% [markdown]
# Do
# they count the values that the release exposes? The strong intruder who knows all other values of a
# record has an exact posterior probability of each single value. It counts as exposed from .9 on, from
# equal shares of the levels. The values of the sought records, in one release:

# %%
probability = study.value_probabilities(trees[min_leaf], released[min_leaf][:1], rows)
counted = study.counted_values(table, released[min_leaf][0], rows, known)
matched = outputs.table("matched", study.counted_and_exposed(probability, counted, known))
about = "Shares of values that matching counts: of exposed values and of all others."
display(show(claims.with_errors(matched, study.OF_COUNTED), caption=about))
verdicts.say("C4", study.counts_exposed(matched))

# %% [markdown]
# Values are counted because the record
# is copied in all variables, or because DiSCO counts it with all other variables known or with the keys (sex, age, race and schooling by default).
# Where the two shares are alike, the measure does not tell exposed values from others. It asks what can
# be read off a release by looking up keys. An exposed value need not be looked up: any other value would
# have made this release impossible, or improbable, by its effect on leaves of other people.

# %% [markdown]
# ## One frontier
#
# Which way to release protects? Each differs from the first in one respect: the size of the leaf, a
# Dirichlet distribution with equal shares for all levels that is added to each leaf's counts (smoothing),
# fewer releases, or the order of the variables (reversed, by the number of levels, at random). Each
# setting has 20 releases. The intruder sees groups of them, and risks are means over the groups.

# %%
names = tuple(variable.name for variable in table.schema.variables)
first = study.Way("leaf", f"{min_leaf}", Growth(min_leaf), tuple(order) or names, n_releases)
fitting = [leaf for leaf in leaves if 2 * leaf <= len(table)]
ways = study.ways(
    table.schema, first, leaves=fitting, smoothing=smoothing, fewer=(1, 2), n_random=n_orders,
    rng=stream(seed, "orders"),
)  # fmt: skip
riskiest = study.riskiest(table.codes, exact[min_leaf, 1], n_repaired)
ways += study.repairs(first, len(table), riskiest)
anybody = stream(seed, "anybody").permutation(len(table))[:n_targets]
sought = np.concatenate([riskiest, np.setdiff1d(anybody, riskiest)])
frontier, of_each = study.frontier(
    table, ways, rows, further=sought, ordered=ordered, rng=stream(seed, "frontier")
)

# %%
for_all = outputs.table("frontier", frontier)[~frontier["case"].isin(["nothing", "repair"])]
about = f"Probability of the truth and utility by way to release ({n_releases} releases)."
show(study.ways_in_words(for_all, study.OF_FRONTIER), caption=about)

# %% tags=["monte-carlo"]
points = study.on_chart(frontier, short, n_releases)
titles = (
    "Difference of pairs from the data, over that of another sample",
    "Median probability (log scale)",
)
limits = {"log_y": True, "reference": prior, "highest": 1.0}
outputs.figure("frontier", charts.points(points, *titles, **limits))

# %% [markdown]
# **Larger leaves lower the risk and lose utility; smoothing loses utility first.** Median probability of the truth
# against the loss of utility; lines reach two standard errors to each
# side, dotted: the prior. Numbers are records in a leaf, with a plus the most that are added to it, and $m$ fewer
# releases.
#
# The first section does not compare the synthesizers at equal utility; here the mixture can be held
# against the leaf whose pairs are as far off. The error of its probability is not computed. Pairs of variables
# are a coarse measure: dependencies among three variables and more are not in it. A setting is said to protect
# if it halves the median at least, and to cost nothing if the difference rises by less than a tenth of another
# sample's. The last leaf and the last smoothing are compared with the first row.

# %%
verdicts.say("C5", study.of_setting(frontier[frontier["case"] == "leaf"], "min_leaf"))

# %% [markdown]
# With smoothing no value is impossible, and $\epsilon$ is finite. The largest privacy loss *seen*, between
# a sought record and its alternatives, is a lower bound of the conditional $\epsilon$ and not $\epsilon$ itself.
# Equal shares are a crude choice for rare levels: they make up values that the leaf does not have.

# %%
smoothed = frontier[frontier["smoothing"] > 0]
verdicts.say("C6", study.of_setting(pd.concat([frontier[:1], smoothed]), "smoothing"))

# %% [markdown]
# The order of the variables changes the trees that a value is drawn from, and not how small their leaves may be.

# %%
orders = frontier[frontier["case"] == "order"]
verdicts.say("C7", study.of_orders(pd.concat([frontier[:1], orders])))

# %% [markdown]
# ### Exercise 6: what smoothing does
#
# The leaf of ten cooks is smoothed by one record: each of the two levels gets half a record more. A
# release shows one sick cook among 20. What are the likelihood ratio of truth and alternative (`ratio`) and
# the posterior probability (`believed`) at a prior of one half (two decimal places each)?
#
# *You will need:* a calculator.

# %% [markdown] tags=["hint"]
# After smoothing the leaf has 11 records: 1.5 sick ones under the truth, and under the alternative?

# %% [markdown] tags=["hint"]
# One of twenty is sick. The ratio of its probabilities is 3; those of the nineteen well ones are $9.5/11$ and $10.5/11$ each.

# %% tags=["solution"]
sick_if_true, sick_if_well = 1.5 / 11, 0.5 / 11
ratio = sick_if_true * (1 - sick_if_true) ** 19 / (sick_if_well * (1 - sick_if_well) ** 19)
believed = ratio / (1 + ratio)
assert round(ratio, 2) == 0.45
assert round(believed, 2) == 0.31

# %% [markdown] tags=["solution"]
# A sick cook is three times as probable under the truth, but 19 well ones speak against it: twenty cooks
# should have shown 2.7 sick ones under the truth and .9 under the alternative. Without smoothing the same
# release proves that the cook is sick.

# %% [markdown]
# ### Exercise 7: the largest privacy loss
#
# The same smoothed leaf has one sick donor among ten cooks. The neighbor has none. What is the largest
# privacy loss that one released cook can cause (`one_cook`, two decimal places)? And what is it for a release
# with 20 cooks (`twenty_cooks`, one decimal place)?
#
# *You will need:* logarithms of two ratios.

# %% [markdown] tags=["hint"]
# A released cook is sick or well. Compute the loss of either, without its sign.

# %% [markdown] tags=["hint"]
# Losses of independent records add up, and the largest loss is over all releases, however improbable.

# %% tags=["solution"]
one_cook = max(np.log((1.5 / 11) / (0.5 / 11)), np.log((10.5 / 11) / (9.5 / 11)))
twenty_cooks = 20 * one_cook
assert round(one_cook, 2) == 1.10
assert round(twenty_cooks, 1) == 22.0

# %% [markdown] tags=["solution"]
# A sick cook has a loss of $\log 3$, a well one of $\log(10.5/9.5)$ in the other direction. Twenty sick cooks
# are improbable, but $\epsilon$ is the largest loss over all releases, whatever their probability. Smoothing
# makes it finite, and it still grows with the number of released records.

# %% [markdown]
# ### Open question: which leaf would you choose?
#
# An agency must release five files of a survey. Which size of leaf would you propose, and what would you
# show to defend it?

# %% [markdown] tags=["solution"]
# A good answer states an intruder and a limit for the probability, computes the risk for *five* releases
# rather than one, shows utility for the analyses that the file is for and not only pairs of variables,
# compares with fewer releases at smaller leaves, and says what remains outside: other intruders, other
# priors, and records that occur more than once.

# %% [markdown]
# ## Repair
#
# Instead of all records an agency may protect the riskiest: leave them out of the fit, or let them count
# for a quarter of a record in leaves and splits. The `n_repaired` records with the highest risk from one
# release are repaired, and fresh releases are made as above. First at equal utility: beside the median of
# each way stands that of leaves whose pairs are as far off, interpolated.

# %%
equal = outputs.table("equal_utility", study.at_equal_utility(frontier))
about = "Median probability of each way, and of leaves whose pairs are as far from the data."
show(study.ways_in_words(equal, study.OF_EQUAL), caption=about)

# %% [markdown]
# Blank: closer to the data than any leaf. Then who carries the risk: the mean probability of the truth for
# the riskiest and for a random sample of all others, measured anew for each way, to an intruder who also
# knows how often each record counts.

# %%
of_sought = [of_way[:, len(rows) :] for of_way in of_each]
carried = outputs.table("carried", study.carried(ways, of_sought, np.isin(sought, riskiest)))
about = "Mean probability of the truth of the riskiest and of all others, by way to release."
display(show(study.ways_in_words(carried, study.OF_CARRIED), caption=about))
verdicts.say("C11", study.repair_protects(carried))

# %% [markdown]
# The typical change is the root of the mean square, less what errors
# add; shares rise or fall by more than two errors, as some do by chance (*released anew*). C11 needs a risk of
# the repaired that is halved at least. It fails if the others' mean rises, or if they move by more than .05
# while their mean does not fall, each by two errors: then some pay. A record that counts less moves splits,
# and with these the leaves of everybody.
#
# A record may be left out by a rule, and a rule is a function of the data. By hand: ten people, of whom one
# or two are sick, and a release of ten values drawn from them. Whoever is alone with a value is left out. A sick
# person is sought, at a prior of one half:

# %% tags=["public"]
names = {"sick": "people who are sick", "nothing": "nothing is done", "unaware": "rule, not known"}
names |= {"list": "who is left out is known", "rule": "the rule is known"}
about = "Expected probability of the truth for a sick person, exactly."
show(outputs.table("rule_by_hand", study.rule_by_hand(), public=True), caption=about, names=names)

# %% [markdown]
# One sick person is left out and protected, and an intruder
# who does not know it is misled. Two are kept. But were the person well, the other would be left out, and no
# release could show anybody sick. So the rule moves the risk to the next in line, and that of two rises above
# what one had without it. The same rule on these data, for combinations of the keys:

# %%
plain = SequentialTrees(table.schema, order or None, Growth(min_leaf), ordered)
ruled = study.told_by_the_rule(table, plain, known, 5, 3, rng=stream(seed, "rule"))
about = (
    "Mean probability of the truth from one release, by how many agree with a record in the keys."
)
ruled = outputs.table("told_by_the_rule", ruled)
show(claims.with_errors(ruled, study.OF_RULE), caption=about)

# %% [markdown]
# To an intruder who believes that nothing was done no
# candidate at all could have led to the release, in the last column's share of cases: an omission does not
# stay hidden from somebody who knows the trees and all other records.

# %% [markdown]
# ### Try it: one sick person
#
# One of ten people is sick, nothing is done, and *twenty* values are released, each from a random one of them.
# The sick person is sought at a prior of one half. What is the expected probability of the truth (`expected`, three decimal
# places)? With ten values it was .741: guess first whether twice as many bring it above .9.
#
# *You will need:* $.9^{20}$, and what the intruder believes in either case.

# %% [markdown] tags=["hint"]
# With probability $.9^{20}$ no sick value is released. What does the intruder believe then, and otherwise?

# %% [markdown] tags=["hint"]
# The belief is 1 after a sick value, and $.9^{20}/(1 + .9^{20})$ after twenty well ones.

# %% tags=["solution"]
all_well = 0.9**20
expected = (1 - all_well) + all_well * all_well / (1 + all_well)
assert round(expected, 3) == 0.892

# %% [markdown] tags=["solution"]
# A sick value shows in 88 % of the releases. In the others the belief falls to .11.

# %% [markdown]
# ## Fewer variables known
#
# An intruder who lacks several variables of the record considers all their combinations (the paper's equation 16). From
# one release:

# %%
places = table.schema.positions(unknown, "unknown")
lacking = study.risks_of(trees[min_leaf], released[min_leaf][:1], rows, unknown=places)
outputs.table("fewer_variables", lacking)
verdicts.say("C8", study.learns_little(lacking))

# %% [markdown]
# ## Fewer people known
#
# An intruder who knows others only in part cannot grow the trees, and has to weigh all tables that complete
# what is known. Each of these has a known $p(Z \mid D)$, so that a chain can move among them: one unknown
# record after the other is drawn from its exact distribution given the rest. Half of the chains start from
# the true table, which a chain may fail to leave, and half from tables drawn from the prior, from where it
# may fail to find any that could have led to the release. So the lowest chain and the highest are shown.

# %% tags=["monte-carlo"]
places = table.schema.positions(unknown_of_several, "unknown_of_several")
fewer = study.knowing_fewer(
    trees[min_leaf], released[min_leaf][:1], rows[:20], places, [n for n in people if n <= len(rows)],
    scans=Scans(n_scans, n_scans), rng=stream(seed, "unknown people"),
)  # fmt: skip
names = {"people": "people unknown", "lowest": "lowest chain", "highest": "highest chain"}
names |= {"elsewhere": "chains from elsewhere"}
about = "Probability of the true values, by how many people's are unknown: quantiles and chains."
display(show(outputs.table("fewer_people", fewer), caption=about, names=names))
verdicts.say("C9", study.hidden_among_others(fewer))

# %% [markdown]
# Lowest and highest are medians of single chains; the column after them counts the chains that found a possible table from elsewhere. One person
# is the intruder of the section before, and exact. The same records are sought in all rows. Where the chains
# disagree, those from the truth overstate what the intruder learns, and the others may understate it. An
# intruder who lacks whole records of many people has more tables to weigh than such chains can visit, and is
# not computed.
#
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
judged = {"C2": len(tested), "C10": len(tested), "C9": min(20, len(rows))}
judged["C11"] = len(riskiest)
judged |= {"C1": len(of_trees[of_trees["repetitions"] == 1]) // 2, "C3": sizes["sought"].min()}
judged["C4"] = int(study.has_exposed(probability, known).sum())  # records, not values
verdicts.in_public(len(rows), **judged)

# %% [markdown]
# **Limits of this run.** By default the population is embedded and the records are some hundreds. Trees
# differ among programs in their rules for ties and stopping; the ones here are in `srlib.trees.Growth`.
# The intruder of the exact risks knows all others' records, and nothing is said of one who does not know
# how the trees are grown. The candidates are the paper's: they surround the truth, so that the numbers say
# what a release adds for an intruder who is this close, at a uniform prior. Another prior has the same
# likelihood ratios and other posterior probabilities. Synthesis that grows the
# trees on bootstrap samples has another density (`srlib.trees.ProperTrees`), which takes long chains even for
# small tables and is not compared here, nor are donors weighted by a Bayesian bootstrap (Reiter 2005).

# %% [markdown]
# ## References
#
# - Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). *Classification and Regression
#   Trees*. Wadsworth.
# - Drechsler, J. and Reiter, J. P. (2011). [An empirical evaluation of easily implemented, nonparametric
#   methods for generating synthetic datasets](https://doi.org/10.1016/j.csda.2011.06.006).
#   *Computational Statistics & Data Analysis* 55, 3232–3243.
# - Neyman, J. and Pearson, E. S. (1933). [On the problem of the most efficient tests of statistical
#   hypotheses](https://doi.org/10.1098/rsta.1933.0009). *Philosophical Transactions of the Royal Society A*
#   231, 289–337.
# - Nowok, B., Raab, G. M. and Dibben, C. (2016). [synthpop: bespoke creation of synthetic data in
#   R](https://doi.org/10.18637/jss.v074.i11). *Journal of Statistical Software* 74(11).
# - Raab, G. M., Nowok, B. and Dibben, C. (2024). [Practical privacy metrics for synthetic
#   data](https://doi.org/10.48550/arXiv.2406.16826). arXiv:2406.16826.
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - Taub, J. and Elliot, M. (2019). The synthetic data challenge. *Joint UNECE/Eurostat Work Session on
#   Statistical Data Confidentiality*, The Hague.
