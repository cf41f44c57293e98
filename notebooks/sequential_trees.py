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
# # Sequential trees give single records away, and the leaf decides how much
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# That paper studies a mixture model and finds little risk (`hu_reiter_wang`). Another synthesizer is
# in wide use: variables are drawn one after the other, each from a classification tree on those before
# it (Reiter 2005), and each value is that of a random donor from the tree's leaf (the default of the
# package synthpop). What would the paper's intruder learn from such a release?
#
# The intruder is strong, and knows all records but one, how the trees are grown, and their order. The
# true values of the last record are weighed against all that differ from them in one variable, with
# equal prior probabilities. For this intruder the answer can be computed exactly. Given the data the
# trees are fixed, so that the release has a known probability; and another value of the last record
# means other data, with trees of their own. The last sections take knowledge away.
#
# | claim | |
# |---|---|
# | **C1** | Fully synthetic files hold little risk for single records. |
# | **C2** | A larger file hides its records better. |
# | **C3** | The exposed records are those that the release repeats. |
# | **C4** | Larger leaves protect, at no cost that pairs of variables show. |
# | **C5** | Smoothed leaves protect, at no cost that pairs of variables show. |
# | **C6** | An intruder who lacks a few variables learns little about them. |
#
# C1 is the paper's conclusion, carried over to another synthesizer; the others are expectations that a
# producer of such files may have. Verdicts are computed from this run and stand where they are decided.
#
# **You will learn** to write down the density of a synthesizer; to find records that no other value
# could explain; to tell copying from disclosure; to choose the size of a leaf by its risk. Reading and
# running take 40 minutes, the exercises an hour.

# %% [markdown]
# ## Parameters
#
# With `data` and `schema` the notebook runs on any table of categorical columns.
# `params/sequential_trees/full.yaml` takes 10,000 records.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2000, 2100] year of a raw ACS person file that is given by its path
n_records: int = 500  # [80, inf) records used
order: list[str] = []  # variables in the order in which they are drawn; empty: that of the table
ordered: list[str] = []  # variables whose levels are ordered; the others are nominal
min_leaf: int = 5  # [1, 100000] records that a leaf has at least
n_releases: int = 5  # [2, 100] releases at most that the intruder sees
leaves: list[int] = [5, 10, 20, 50, 100]  # [1, 100000] least records in a leaf, compared
smoothing: list[float] = [0.0, 0.1, 1.0]  # [0, 1000] records that a leaf is smoothed by, compared
n_targets: int = 150  # [10, inf) records for comparisons of settings
unknown: list[str] = ["WKL", "DIS", "HICOV", "MIG"]  # variables that an intruder does not know
shares: list[float] = [1.0, 0.9, 0.5]  # [0, 1] shares of the other records known
n_quarters: int = 6  # [2, 1000] quarters of the file, and releases of the whole, compared
n_classes: int = 10  # [1, 1000] latent classes of the mixture, F
burn_in: int = 4000  # [0, inf) iterations dropped from each chain of the mixture
n_draws: int = 200  # [30, inf) draws kept from each chain
seed: int = 2005  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from functools import partial

import numpy as np
import pandas as pd

import srlib
from srlib import charts
from srlib.data import microdata
from srlib.display import show
from srlib.papers import claims
from srlib.papers import sequential_trees as study
from srlib.rng import stream
from srlib.runner.outputs import Outputs
from srlib.trees import Growth

outputs = Outputs(output_dir)
sections = {"C1": "Trees and mixture", "C2": "The size of the file", "C3": "What matching sees"}
sections |= {"C4": "The size of a leaf", "C5": "Smoothed leaves", "C6": "Fewer variables known"}
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
show(outputs.table("smallest_example", by_cell, public=True), digits=4)

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
# ## Trees and mixture

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
grow = partial(srlib.fit_trees, order=order or None, ordered=ordered)
trees = grow(table, growth=Growth(min_leaf))
released = trees.release(n_releases, rng=stream(seed, "releases"))
print(*table.notes, sep="\n")

# %% [markdown]
# The risk of every combination of values in the data, from one release and from all of them:

# %%
seen = sorted({1, 2, n_releases})
exact = {m: srlib.posterior_risk(table, released[:m], synthesizer=trees) for m in seen}
print(exact[n_releases].summary())

# %% [markdown]
# Beside it the mixture of the paper (DPMPM), fitted to the same data, with two releases of its own:

# %%
chains = srlib.Chains(n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=10, n_chains=4)
mixture = srlib.fit_dpmpm(table, chains, rng=stream(seed, "mixture"))
drawn = mixture.release(2, rng=stream(seed, "its releases"))
estimated = srlib.posterior_risk(table, drawn, chains=chains, rng=stream(seed, "its risk"))

# %% tags=["monte-carlo"]
print(estimated.summary())

# %%
parts = [
    study.of_all(risk, synthesizer="trees", min_leaf=min_leaf, n_releases=m)
    for m, risk in exact.items()
]
parts.append(study.of_all(estimated, synthesizer="mixture", min_leaf=0, n_releases=len(drawn)))
risk = outputs.table("risk", pd.concat(parts, ignore_index=True))
once = risk[risk["repetitions"] == 1]

# %% tags=["monte-carlo"]
shown = once.assign(excluded=once["excluded"] / (once["support_size"] - 1))
of_once = study.quantiles(shown, ["synthesizer", "n_releases"])
show(outputs.table("quantiles", of_once.rename(columns={"n_releases": "releases"})))

# %% [markdown]
# **Probability of the truth for records that occur once, and the mean share of the alternatives that the
# releases exclude.** The prior is one over the number of candidates. The mixture leaves the truth near it.
# The trees multiply it, and each further release leaves fewer alternatives possible. An excluded
# alternative is an infinite privacy loss, so no $\epsilon$ bounds what a release by these trees can tell
# about these data. (How useful the two are is compared below.)

# %% tags=["monte-carlo"]
titles = {f"trees, {m} release{'s' if m > 1 else ''}": ("trees", m) for m in seen}
titles |= {f"mixture, {len(drawn)} releases": ("mixture", len(drawn))}
of_setting = once.set_index(["synthesizer", "n_releases"])["probability"].sort_index()
at = np.linspace(0.01, 0.99, 99)
spread = pd.DataFrame({name: np.quantile(of_setting.loc[k], at) for name, k in titles.items()}, at)
axes = "Share of the records that occur once", "Probability of the truth (log scale)"
outputs.figure("quantiles", charts.lines(spread, *axes, log_y=True))

# %% [markdown]
# **Quantiles of the probability of the truth over the records that occur once.** A line's height at .5 is
# its median.

# %%
verdicts.say("C1", study.little_risk(once[once["synthesizer"] == "trees"]))

# %% [markdown]
# ## The size of the file
#
# From here on settings are compared by records that occur once, and one release unless it is said
# otherwise. Perhaps the file is only too small. Random quarters of it have trees and a release of their
# own, and the whole file has as many releases. Errors are between these and not between populations.

# %%
sizes = []
for n in (len(table) // 4, len(table)):
    for i in range(n_quarters):
        rng = stream(seed, f"{n} records, {i}")
        part = srlib.Microdata(table.codes[rng.permutation(len(table))[:n]], table.schema)
        own = grow(part, growth=Growth(min_leaf))
        rows = study.occur_once(part.codes, len(part), rng=rng)
        of_part = study.risks_of(own, own.release(1, rng=rng), rows)
        sizes.append((n, len(rows), of_part["probability"].median(), of_part["excluded"].mean()))
sizes = outputs.table(
    "sizes", pd.DataFrame(sizes, columns=["records", "once", "median", "excluded"])
)
verdicts.say("C2", study.larger_is_safer(sizes))

# %% [markdown]
# The records are not of the same kinds: in a quarter a larger share occurs once, and some of these do not
# in the whole file. Whether one and the same record is hidden better is not compared.
#
# ## What matching sees
#
# Measures that match records ask whether a release repeats original ones. Are those the records whose
# values it gives away?

# %%
rows = study.occur_once(table.codes, n_targets, rng=stream(seed, "targets"))
of_rows = study.risks_of(trees, released[:1], rows)
copied = study.times_copied(trees, released[:1], rows) > 0
verdicts.say("C3", study.copies_are_exposed(of_rows["probability"], copied))

# %% [markdown]
# A record need not be repeated to be exposed. In the example by hand one of its values turns up beside
# other people's, where an alternative record would have left no donor. How many alternatives would be
# excluded in this way alone, if no split changed?

# %%
alone, excluded = study.without_donor(trees, released[:1], rows).mean(), of_rows["excluded"].mean()
print(f"Excluded: {excluded:.0%} of the alternatives; {alone:.0%} if no split changed.")

# %% [markdown]
# The rest is what changed splits exclude: one other record makes other leaves, and these may lack a donor
# for a value that somebody's released record has.
#
# ## The size of a leaf
#
# The intruder sees two releases. (Another two would move the median for the smallest leaf by some
# hundredths.) Utility is the mean difference between the released and the original shares of all pairs
# of variables, over that between the data and another sample of the population, on average over 20
# releases. A ratio of one is as good as new data, and drawing the records again with replacement gives
# about $1/\sqrt{2}$. A setting is said to protect if it halves the median probability at least, and to
# cost nothing if the ratio rises by less than a tenth. The last setting is compared with the first.

# %%
settings = [Growth(leaf) for leaf in sorted({min_leaf, *leaves}) if 2 * leaf <= len(table)]
compare = partial(study.frontier, table, rows=rows, n_releases=2, order=order, ordered=ordered)
by_leaf = compare(settings, rng=stream(seed, "leaves"))
names = {"min_leaf": "records in a leaf", "probability": "median probability", "low": "10 %"}
names |= {"high": "90 %", "difference": "difference of pairs", "difference_se": "its error"}
show(outputs.table("leaves", by_leaf).drop(columns="smoothing").rename(columns=names))

# %%
curves = by_leaf.set_index("min_leaf")[["low", "probability", "high"]]
curves = curves.rename(columns={"low": "10 %", "probability": "median", "high": "90 %"})
axes = "Least number of records in a leaf (log scale)", "Probability of the truth (log scale)"
prior = 1 / of_rows["support_size"].iloc[0]
chart = charts.lines(curves, *axes, log_x=True, log_y=True, reference=prior, ordered=True)
display(outputs.figure("leaves", chart))
verdicts.say("C4", study.protects(by_leaf, "min_leaf"))

# %% [markdown]
# **Probability of the truth by the size of the leaf; dotted: the prior.** Pairs of variables are a coarse
# measure of utility. Dependencies among three variables and more are not in it. The mixture's releases
# by the same measure:

# %% tags=["monte-carlo"]
off = study.pairs_apart(table, mixture.release(20, rng=stream(seed, "its utility")))
print(f"Difference of pairs: {off.ratio:.2f} ± {off.error:.2f}.")

# %% [markdown]
# Where this is more than for the leaves of the first section, that section does not compare the two
# synthesizers at equal utility. Trees that lose as much may be as safe.
#
# ## Smoothed leaves
#
# A Dirichlet distribution, with equal shares for all levels, is added to each leaf's counts. No value is
# impossible then, and every privacy loss is finite.

# %%
settings = [Growth(min_leaf, smoothing=s) for s in sorted({0.0, *smoothing})]
by_smoothing = compare(settings, rng=stream(seed, "smoothing"))
names["smoothing"] = "records added to a leaf"
shown = outputs.table("smoothing", by_smoothing).drop(columns="min_leaf").rename(columns=names)
display(show(shown))
verdicts.say("C5", study.protects(by_smoothing, "smoothing"))

# %% [markdown]
# Equal shares are a crude choice for rare levels: they make up values that the leaf does not have.
#
# ## Fewer variables known
#
# An intruder who lacks several variables of the record considers all their combinations (equation 16).

# %%
places = table.schema.positions(unknown, "unknown")
lacking = study.risks_of(trees, released[:1], rows, unknown=places)
outputs.table("fewer_variables", lacking)
verdicts.say("C6", study.learns_little(lacking))

# %% [markdown]
# ## Fewer records known
#
# An intruder who knows only some of the other records cannot grow the trees. The obvious attempt is to
# grow them on the known records, with smaller leaves, smoothed by one record. That is an attack and no
# posterior probability, so it is judged by what it achieves, the belief in the truth.

# %%
sought = rows[:30]
attacks = {
    share: study.knowing_some(
        trees, released[:1], sought, share, rng=stream(seed, f"{share} known")
    )
    for share in sorted(shares, reverse=True)
}
known = [(share, *np.quantile(belief, study.QUANTILES)) for share, belief in attacks.items()]
known = pd.DataFrame(known, columns=["share of the others known", "10 %", "median", "90 %"])
show(outputs.table("fewer_records", known), settings=["share of the others known"])

# %% [markdown]
# **Belief in the truth of an intruder who grows trees on a share of the other records**, to be compared
# with the prior, one over the number of candidates. At a share of one the attack differs from the exact
# posterior by its smoothing alone. Below that it grows other trees, and is misled where the belief falls
# under the prior. An attack that averages over the unknown records might do better. It is not computed here.
#
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
judged = {"C1": len(of_setting.loc["trees", 1]), "C2": sizes["once"].min()}
judged |= {"C3": min(copied.sum(), (~copied).sum()), "C4": len(rows), "C5": len(rows)}
verdicts.in_public(len(rows), **judged)

# %% [markdown]
# **Limits of this run.** By default the population is embedded and the records are some hundreds. Trees
# differ among programs in their rules for ties and stopping; the ones here are in `srlib.trees.Growth`.
# The intruder of the exact risks knows all others' records, and nothing is said of one who does not know
# how the trees are grown. The candidates are the paper's: they surround the truth, so that the numbers say
# what a release adds for an intruder who is this close, at a uniform prior. Another prior has the same
# likelihood ratios and other posterior probabilities. Synthesis that redraws the trees from a bootstrap
# sample, or that weights the donors of a leaf by a Bayesian bootstrap (Reiter 2005), has another density.
# Other orders of the variables were not tried.

# %% [markdown]
# ## Exercises
#
# Of rising difficulty; the first two need no computer.

# %% [markdown]
# ### Exercise 1: certain or misled (pencil)
#
# In the smallest example an intruder who gives the sick cook's two values one half each sees a larger
# release with 20 cooks, all of them well. What is the posterior probability (`misled`, three decimal places) that
# the cook is sick? And if the cook is sick, with which probability is the intruder
# `certain` after a release with 20 cooks?

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

# %% tags=["solution"]
enough = next(m for m in range(1, 100) if 1 - 0.9 ** (10 * m) > 0.99)
assert enough == 5

# %% [markdown] tags=["solution"]
# Each released record of the leaf misses the donor with probability 9/10, so $m$ releases miss it with
# probability $.9^{10 m}$, which is below .01 for $m \ge 4.4$.

# %% [markdown]
# ### Exercise 3: what smoothing does
#
# The leaf of ten cooks is smoothed by one record: each of the two levels gets half a record more. A
# release shows one sick cook among 20. What are the likelihood ratio of truth and alternative (`ratio`) and
# the posterior probability (`believed`) at a prior of one half (two decimal places each)?

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
# ### Exercise 4: which sentence does the table not support?
#
# A report says of a release by trees: (a) "for half of the records that occur once the truth has a
# probability above .3"; (b) "half of the records that occur once can be found"; (c) "an alternative that is
# excluded could not have led to this release". Its table holds quantiles of the posterior probability of
# the strong intruder (median .33) and the shares excluded. Which one is not supported (`unsupported`)?

# %% tags=["solution"]
unsupported = "b"
assert unsupported == "b"

# %% [markdown] tags=["solution"]
# A probability of .3 means being wrong in seven of ten such guesses, for an intruder who knows all other
# records. (a) restates the median, and (c) is what a likelihood of zero says.

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
# ## References
#
# - Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). *Classification and Regression
#   Trees*. Wadsworth.
# - Drechsler, J. and Reiter, J. P. (2011). [An empirical evaluation of easily implemented, nonparametric
#   methods for generating synthetic datasets](https://doi.org/10.1016/j.csda.2011.06.006).
#   *Computational Statistics & Data Analysis* 55, 3232–3243.
# - Nowok, B., Raab, G. M. and Dibben, C. (2016). [synthpop: bespoke creation of synthetic data in
#   R](https://doi.org/10.18637/jss.v074.i11). *Journal of Statistical Software* 74(11).
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
