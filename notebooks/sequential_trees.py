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
# # What attacks find in releases by trees, and what is there
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# Many agencies synthesize one variable after another, each by a [classification tree](../docs/guide/glossary.md#sequential-trees) on those
# before it: a value is copied from a random donor in the tree's leaf (Reiter 2005). Where a tree stops decides how much
# a release discloses about a person's values to an intruder who knows all others. Whether the person is in the file at
# all is another question. Attacks as the field runs them hardly tell. The exact test of an intruder who knows everybody
# else, which trees allow, finds most of the people tested. The mixture model of the paper ([hu_reiter_wang](hu_reiter_wang.ipynb)) is compared as far
# as its chains allow.

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
# **You should know** Bayes' rule, classification trees and the likelihood ratio test; best after `hu_reiter_wang`.
#
# ## Parameters
#
# With `data` and `schema` the notebook runs on any table of categorical columns.
# `params/sequential_trees/published.yaml` takes 4,000 records.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2000, 2100] year of a raw ACS person file that is given by path
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
n_places: int = 40  # [10, 1000] people with a membership test
n_runs: int = 200  # [20, 1000000] runs of each synthesizer, for each intruder
n_classes: int = 10  # [1, 1000] latent classes of the mixture, F
burn_in: int = 3000  # [0, 1000000] iterations dropped from each chain of the mixture
n_draws: int = 400  # [60, 100000] draws kept from each chain
thin: int = 40  # [1, 100000] iterations from one draw to the next
seed: int = 2005  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
from dataclasses import replace

import altair as alt
import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GroupKFold, cross_val_predict

import srlib
from srlib import charts, diagnostics
from srlib.data import distinct, microdata
from srlib.display import callout, percent, show, with_error
from srlib.dpmpm import sample_posterior
from srlib.margins import (
    LaplaceMargins,
    PlugInMargins,
    chow_liu_tree,
    log_density,
    utility_loss,
)
from srlib.outputs import Outputs
from srlib.risk import DrawSets, one_variable_supports, score_test
from srlib.risk.synthesizers import log_likelihoods
from srlib.rng import stream
from srlib.trees import AS_RPART, UNPRUNED, Growth, SequentialTrees

outputs = Outputs(output_dir)

# %% [markdown]
# ## By hand: a leaf with one donor
#
# Of fifteen people ten are cooks, one of them sick, and five are smiths, three of them sick:

# %% tags=["public"]
people = pd.DataFrame({"job": ["cook"] * 10 + ["smith"] * 5})
people["sick"] = ["no"] * 9 + ["yes"] * 4 + ["no"] * 2

# %% [markdown]
# The job is drawn from its margin. A tree on the job, with at least five records a leaf, splits cooks from smiths. So the
# probability of a released record is a product over the variables: the share of its job among all people, times the
# share of its sickness among the donors in the leaf of that job.


# %% tags=["public"]
def record_probability(job, sick):
    """Return p(job) p(sick | job)."""
    leaf = people[people["job"] == job]
    share_of_job = len(leaf) / len(people)
    share_in_leaf = (leaf["sick"] == sick).mean()
    return share_of_job * share_in_leaf


# %% [markdown]
# A released cook is sick with probability 1/10, a released smith with 3/5. The joint probabilities:

# %% tags=["public"]
example = people.drop_duplicates(ignore_index=True)
example["probability"] = [
    record_probability(job, sick) for job, sick in example.to_numpy()
]

# %% tags=["public", "hide-input"]
about = "Probability of a released record, by job and sickness."
show(outputs.table("smallest_example", example, public=True), caption=about)

# %% [markdown]
# The library grows the same trees. It takes records as level numbers (`codes`) and returns the log of the same product:

# %% tags=["public"]
trees_if_sick = srlib.fit_trees(people, growth=UNPRUNED)
records = srlib.Microdata.from_frame(example[["job", "sick"]], trees_if_sick.schema)
codes = records.codes  # (records, variables)
assert np.allclose(np.exp(trees_if_sick.record_log_prob(codes)), example["probability"])

# %% [markdown]
# Now an intruder knows all but the health of the sick cook. If that cook were well, the leaf of the cooks
# would hold no sick donor, and *no release could show a sick cook*. One released sick cook proves the
# disease. If a release shows ten cooks, all well, its probability under the truth is
# $(9/10)^{10} = .35$ times that under the alternative, and a prior of 1/2 falls to .26. The intruder
# ends up certain or misled, and with enough releases certain. The likelihood ratio by the library, with trees for
# either data set:

# %% tags=["public"]
if_well = people.copy()
if_well.loc[9, "sick"] = "no"
trees_if_well = srlib.fit_trees(if_well, growth=UNPRUNED, schema=trees_if_sick.schema)
well_cooks = codes[[0] * 10]  # the first row of the table, ten times
log_ratio = trees_if_sick.log_prob(well_cooks) - trees_if_well.log_prob(well_cooks)
assert np.isclose(np.exp(log_ratio), (9 / 10) ** 10)

# %% [markdown]
# Would pruning keep this split? Without it 4 of the 15 are misclassified: all the sick. With it 1 cook and 2
# smiths are misclassified, so the split stays.

# %% [markdown]
# ### Exercise 1: certain or misled
#
# In the smallest example (`example`) an intruder with prior probability one half for each value of the sick cook sees a
# larger release with 20 cooks, all well. What is the posterior probability (`misled`, three decimal places) that
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
# Suppose only two of the five smiths among the `people` were sick. How many of the fifteen would be misclassified without
# the split (`before`) and with it (`after`)? Would rpart's rule keep it (`kept`, true or false)? And what would be the
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
before = 3
after = 1 + 2
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
# disability (`DIS`), health insurance (`HICOV`), the home a year ago (`MIG`), school and Hispanic origin. Each use of
# chance has its own named stream of random numbers.

# %%
everybody = microdata.load(
    data,
    schema,
    n_records=n_records + n_held_out,
    drop_missing=drop_missing,
    ignore_columns=ignore_columns,
    vintage=vintage,
    rng=stream(seed, "records"),
)

# %% [markdown]
# In a random order, the first people are held out, and the data (`table`) are the next:

# %%
shuffled = everybody.codes[stream(seed, "order").permutation(len(everybody))]
n_outside = min(n_held_out, len(shuffled) // 5)
held_out = shuffled[:n_outside]
inside = shuffled[n_outside:]
table = srlib.Microdata(inside[:n_records], everybody.schema)
levels = table.schema.n_levels  # the number of levels of each variable

# %% tags=["hide-input"]
sentences = [*everybody.notes, f"{len(table):,} of these are the data."]
callout("Note", " ".join(sentences))

# %% [markdown]
# Targets are drawn from the [sample uniques](../docs/guide/glossary.md#sample-unique), the people whose values nobody else in the file has.


# %%
def sample_uniques(codes):
    """Return the rows whose values occur once in a file."""
    _, counts, combination = distinct(codes)  # combination: of each record
    return np.flatnonzero(counts[combination] == 1)


# %%
uniques = sample_uniques(table.codes)
if not len(uniques):
    raise ValueError("data has no sample unique, so there is no target record")
targets = stream(seed, "targets").permutation(uniques)[:n_targets]

# %% [markdown]
# First the candidates of one target. Trees are fitted to the table:


# %%
def fit(records, growth):
    """Return trees grown on a table by a rule."""
    return srlib.fit_trees(records, order or None, growth, ordered=ordered)


# %%
trees = fit(table, Growth(min_leaf))
release = trees.release(rng=stream(seed, "one release"))[0]

# %% [markdown]
# The first target is changed to each of its candidates, the true record first. All trees are grown anew, and give the
# log probability of the release, one number for each candidate:

# %%
first_target = table.codes[targets[:1]]
candidates = one_variable_supports(first_target, levels)[0]  # (candidates, variables)
log_prob = []
for candidate in candidates:
    codes = table.codes.copy()
    codes[targets[0]] = candidate
    changed = srlib.Microdata(codes, table.schema)
    log_prob.append(fit(changed, Growth(min_leaf)).log_prob(release))

# %% [markdown]
# With equal prior probabilities, the posterior is $p(Z \mid D)$ divided by its sum over the candidates. A candidate with
# ratio 0 is impossible: it leaves some released value without a donor, because the target was the only donor or because
# a split of the trees has changed. The most probable candidates are shown.

# %%
ratio = np.exp(np.array(log_prob) - log_prob[0])
posterior = ratio / ratio.sum()

# %% tags=["hide-input"]
is_changed = candidates != candidates[0]
variables = [table.schema.names[k] for k in is_changed.argmax(axis=1)]
one_record = pd.DataFrame(
    {"changed": variables, "ratio": ratio, "posterior": posterior}
)
one_record.loc[0, "changed"] = "nothing: the true record"
about = (
    f"The most probable of {len(candidates)} candidates, ties in the order of the "
    f"variables; {(posterior == 0).sum()} have probability 0."
)
names = {
    "ratio": "p(Z | D), over the true record's",
    "posterior": "posterior probability",
}
one_record = outputs.table("one_record", one_record.nlargest(6, "posterior"))
show(one_record, caption=about, names=names)

# %% [markdown]
# The library computes the same and regrows only what changes. It takes several releases, and rows of records with their
# candidates:


# %%
def candidate_log_prob(synthesizer, released, codes, rows, support):
    """Return log p(release | data with one record changed), (releases, rows, candidates)."""
    return np.stack(
        [
            log_likelihoods(synthesizer, [release], codes, rows, support)
            for release in released
        ]
    )


# %%
by_library = candidate_log_prob(
    trees, [release.codes], table.codes, targets[:1], candidates[None]
)
assert np.allclose(by_library[0, 0], log_prob)

# %% tags=["hide-input"]
callout(
    "One record",
    f"{percent((posterior[1:] == 0).mean())} of the alternatives could not have led to "
    "this release, by either computation.",
)

# %% [markdown]
# ## Two rules
#
# The targets are now `n_targets` sample uniques, in each of many releases, under either rule with the same smallest leaf:


# %%
def growth_rules(leaf):
    """Return the two rules, with a minimum leaf size."""
    pruned = replace(AS_RPART, min_leaf=leaf, minsplit=3 * leaf)
    return {"unpruned trees": Growth(leaf), "pruned as rpart": pruned}


# %%
stream_of = {  # names of random streams, for larger leaves below
    "unpruned trees": "grown to impurity",
    "pruned as rpart": "pruned as rpart",
}
fitted = {}  # trees by rule
for rule, growth in growth_rules(min_leaf).items():
    fitted[rule] = fit(table, growth)

# %% [markdown]
# There are `n_publications` sets of `n_releases` releases. Laplace margins, which come later, draw one release at a time.


# %%
def draw(synthesizer, name):
    """Return the releases of all sets, a list of (records, variables)."""
    n = n_releases * n_publications
    rng = stream(seed, f"releases, {name}")
    if isinstance(synthesizer, LaplaceMargins):
        return [synthesizer.release(table.codes, rng=rng) for _ in range(n)]
    return [release.codes for release in synthesizer.release(n, rng=rng)]


# %%
released = {
    "unpruned trees": draw(fitted["unpruned trees"], f"leaves of {min_leaf}"),
    "pruned as rpart": draw(fitted["pruned as rpart"], "pruned as rpart"),
}

# %% [markdown]
# For each release and target, the log probability given each candidate:

# %%
# (targets, candidates, variables)
support = one_variable_supports(table.codes[targets], levels)
prior = 1 / support.shape[1]
log_prob_of = {}  # (releases, targets, candidates), by rule and minimum leaf size
for rule, trees in fitted.items():
    log_prob_of[rule, min_leaf] = candidate_log_prob(
        trees, released[rule], table.codes, targets, support
    )

# %% [markdown]
# The true record is the first candidate. Its probability varies between targets. The median over them stands for a
# typical target, and says nothing of the people worst off.


# %%
def truth_probability(log_prob):
    """Return the posterior probability of the true record, (releases, targets)."""
    return softmax(log_prob, axis=-1)[..., 0]


def median_probability(log_prob):
    """Return its median over the targets."""
    return np.median(truth_probability(log_prob), axis=-1)


# %% [markdown]
# Given the data, releases are independent, so the log probability of a set of releases is a sum. The risks are the
# median after one release (`one`) and after a set (`several`); for the people worst off, the share of targets whose true
# record has more than half of the probability after a set; and the share of candidates that one release excludes.


# %%
def mean_and_error(values):
    """Return the mean and its standard error."""
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def risks(log_prob):
    """Return the risks by name, from (releases, targets, candidates)."""
    sets = log_prob.reshape(n_publications, n_releases, *log_prob.shape[1:])
    in_set = sets.sum(axis=1)  # (sets, targets, candidates)
    after_one = median_probability(log_prob)
    after_set, after_set_se = mean_and_error(median_probability(in_set))
    return {
        "one": after_one.mean(),
        "one_sd": after_one.std(ddof=1),
        "several": after_set,
        "several_se": after_set_se,
        "above_half": (truth_probability(in_set) > 0.5).mean(),
        "excluded": np.isneginf(log_prob[..., 1:]).mean(),
    }


# %% [markdown]
# The *[utility loss](../docs/guide/glossary.md#utility-loss)* is the mean difference between the released and the original shares in the cells of
# all two-way tables, divided by the mean difference from another sample of the population. A cell with share $p$ has
# nearly Poisson counts $X$ and $Y$ in two samples of $n$ records, and with $\lambda = np$
#
# $$E |X - Y| \approx \sqrt{1 - p} \; 2 \lambda e^{-2 \lambda} \{I_0(2 \lambda) + I_1(2 \lambda)\},$$
#
# where $p$ is averaged over the data and the releases. So a utility loss of one is as good as new data. Drawing the
# records again with replacement gives about $1/\sqrt{2}$: a loss below one is closeness to these data, not better
# statistics of the population.


# %%
def risk_and_loss(log_prob, released):
    """Return the risks and the utility loss."""
    loss, loss_se = utility_loss(table.codes, released, levels)
    return {**risks(log_prob), "loss": loss, "loss_se": loss_se}


# %% [markdown]
# A row for each rule, with its number of leaves:

# %%
rows = []
for rule, trees in fitted.items():
    row = {"synthesizer": rule, "leaves": sum(trees.n_leaves)}
    rows.append(row | risk_and_loss(log_prob_of[rule, min_leaf], released[rule]))
two_rules = outputs.table("two_rules", pd.DataFrame(rows))

# %% tags=["hide-input"]
HEADS = {
    "one": "one release",
    "one_sd": "SD",
    "several": f"{n_releases} releases",
    "several_se": "error",
    "above_half": "above ½",
    "loss": "utility loss",
    "loss_se": "its error",
}
about = (
    f"Median probability of the true record, of {len(targets)} sample uniques, for an "
    "intruder who knows all other records, with the standard error over sets; the share of them above one half after "
    f"{n_releases} releases; candidates excluded by one release; and utility loss."
)
show(two_rules.drop(columns="one_sd"), caption=about, names=HEADS)

# %% tags=["hide-input"]
above = two_rules.set_index("synthesizer")["above_half"].map(percent)
callout(
    "Worst off",
    f"After {n_releases} releases the true record has more than half of the probability for "
    f"{above['unpruned trees']} of the targets with unpruned trees, and for "
    f"{above['pruned as rpart']} with pruned ones.",
)

# %% [markdown]
# Medians along one sequence of releases, as they come in:

# %%
curves = pd.DataFrame(index=range(1, n_releases * n_publications + 1))
for rule in fitted:
    cumulative = np.cumsum(log_prob_of[rule, min_leaf], axis=0)  # over releases
    curves[rule] = median_probability(cumulative)
_ = outputs.table("one_by_one", curves.rename_axis("releases").reset_index())

# %% tags=["hide-input"]
titles = (
    "Releases that the intruder sees",
    "Median probability of the true record (log scale)",
)
about = (
    "Two curves over the number of releases, one for unpruned and one for pruned "
    "trees, and a line at the prior probability."
)
chart = charts.lines(curves, *titles, log_y=True, reference=prior, description=about)
outputs.figure("one_by_one", chart)

# %% [markdown]
# **Unpruned trees disclose more than pruned ones; records and intruder are the same.** Median over the target records
# as the releases come in; dotted: the prior, one over the number of candidates.

# %% [markdown]
# ## At equal utility loss
#
# Pruning changes the risk and the utility. So do larger leaves, which lose the fine associations first; smoothing, which
# adds a Dirichlet distribution with equal shares for all levels to each leaf's counts; independent margins with
# Laplace noise for $\epsilon = 1$, later *private margins*; and the mixture of the paper
# ([DPMPM](../docs/guide/glossary.md#dpmpm)). Which discloses less *at equal utility loss*? `points` gets a row for each;
# after a change, rerun from here. First, both rules, with small and larger leaves:

# %%
points = []
for rule in fitted:
    first = two_rules[two_rules["synthesizer"] == rule].iloc[0]
    points.append({"case": rule, "label": f"{min_leaf}", **first})
    for leaf in leaves:
        if 2 * leaf > len(table) or leaf == min_leaf:
            continue
        trees = fit(table, growth_rules(leaf)[rule])
        codes = draw(trees, f"{stream_of[rule]}, leaves of {leaf}")
        log_prob = candidate_log_prob(trees, codes, table.codes, targets, support)
        log_prob_of[rule, leaf] = log_prob
        point = {"case": rule, "label": f"{leaf}", "leaves": sum(trees.n_leaves)}
        points.append(point | risk_and_loss(log_prob, codes))

# %% [markdown]
# Then the two other synthesizers with a density:

# %%
other_synthesizers = {
    "smoothed leaves": fit(table, Growth(min_leaf, smoothing=smoothing)),
    "Laplace margins": LaplaceMargins(levels, 1.0),
}
for name, synthesizer in other_synthesizers.items():
    released[name] = draw(synthesizer, name)
    log_prob = candidate_log_prob(
        synthesizer, released[name], table.codes, targets, support
    )
    point = {"case": name, "label": ""}
    points.append(point | risk_and_loss(log_prob, released[name]))

# %% [markdown]
# The mixture has no density in closed form. Its risks are estimates from chains, given the data and given the data joined
# with each release. The releases come from the chains given the data.

# %% tags=["monte-carlo"]
chains = srlib.Chains(
    n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=thin, n_chains=4
)
rngs = stream(seed, "mixture").spawn(2 + n_releases)
given_data = sample_posterior(
    table.codes, levels, chains, rng=rngs[0], keep_allocations=True
)
mixture_releases = given_data.release(
    n_releases * n_publications, len(table), rng=rngs[1]
)

# %% [markdown]
# R-hat compares chains that start alike. Four more start from one class, with ten times the burn-in:

# %% tags=["monte-carlo"]
from_one = sample_posterior(
    table.codes,
    levels,
    replace(chains, from_one_class=True, burn_in=10 * burn_in),
    rng=stream(seed, "from one class"),
)

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Log likelihood of the mixture's chains: 1 to 4 start from many classes, "
    "5 to 8 from one; chains that have converged are at one level."
)
both_starts = np.concatenate([given_data.log_likelihood, from_one.log_likelihood])
traces = diagnostics.long_format({"log likelihood": both_starts})
outputs.figure("trace", charts.trace(traces, description=about))

# %% [markdown]
# **Chains 1 to 4 give the estimates. Chains 5 to 8, from one class, show what R-hat can miss:** those at another level
# agree as well. Agreement does not say where the posterior has its mass.
#
# The chains given the data and one release are shorter:

# %% tags=["monte-carlo"]
shorter = replace(
    chains, burn_in=burn_in // 5, n_draws=n_draws // 2, thin=max(thin // 4, 1)
)
given_both = []
for codes, rng in zip(mixture_releases[:n_releases], rngs[2:], strict=True):
    both = np.vstack([table.codes, codes])
    draws = sample_posterior(both, levels, shorter, rng=rng, keep_allocations=True)
    given_both.append(draws)

# %% [markdown]
# The risk of every combination in the data follows from both kinds of draws.

# %% tags=["monte-carlo"]
releases = [
    srlib.Microdata(codes, table.schema) for codes in mixture_releases[:n_releases]
]
estimated = srlib.posterior_risk(
    table, releases, draws=DrawSets(given_data, given_both)
)

# %% tags=["monte-carlo", "hide-input"]
about = f"The mixture, {n_releases} releases: {estimated.summary()}"
if not estimated.converged:
    about = f"{about} Whether it discloses less than trees is *not decided* here."
callout("Note" if estimated.converged else "Mixture: not decided", about)

# %% [markdown]
# The mixture, last row of the table below: its median is over all unique combinations, and `unreliable` is the share of them without a
# reliable estimate.

# %% tags=["monte-carlo"]
loss, loss_se = utility_loss(table.codes, mixture_releases, levels)
mixture = {
    "case": "mixture",
    "label": "",
    "several": np.median(estimated.probability[estimated.repetitions == 1]),
    "loss": loss,
    "loss_se": loss_se,
    "unreliable": np.mean(~estimated.reliable),
}

# %% [markdown]
# All points in one table:

# %% tags=["monte-carlo"]
frontier = pd.DataFrame([*points, mixture])
name_and_size = frontier["case"] + ", " + frontier["label"]
frontier["synthesizer"] = name_and_size.str.removesuffix(", ")
_ = outputs.table("frontier", frontier)

# %% tags=["monte-carlo", "hide-input"]
shown = ["synthesizer", "leaves", "one", "one_sd", "several", "several_se"]
shown = [*shown, "loss", "above_half", "unreliable"]
about = (
    "Risk, for an intruder who knows all other records, and utility loss; trees by their "
    f"minimum leaf size. The prior is {prior:.3f}. "
    "Medians are over the target records, the mixture's over all unique combinations; "
    "SD over releases, other columns as above."
)
show(frontier[shown], caption=about, names=HEADS)

# %% tags=["monte-carlo", "hide-input"]
left_out = (
    ["Laplace margins"] if estimated.converged else ["Laplace margins", "mixture"]
)
in_chart = frontier[~frontier["case"].isin(left_out)].copy()
in_chart = in_chart.rename(columns={"loss": "x", "several": "y"})
for end, errors in (("low", -2), ("high", 2)):
    in_chart[f"x_{end}"] = in_chart["x"] + errors * in_chart["loss_se"]
    risk = in_chart["y"] + errors * in_chart["several_se"]
    in_chart[f"y_{end}"] = risk.clip(in_chart["y"] / 10, 1)
about = (
    "Points that fall to the right, one color per synthesizer: with larger leaves the "
    "risk falls towards the prior and the utility loss rises."
)
in_chart = in_chart.filter(regex="^(x|y|case|label)")
titles = (
    "Utility loss (1: another sample)",
    "Median probability of the true record (log scale)",
)
chart = charts.points(in_chart, *titles, log_y=True, reference=prior, description=about)
outputs.figure("frontier", chart)

# %% [markdown]
# **The largest leaves disclose less than the smallest, and lose more utility.** Median probability of the true record
# after a set of releases; numbers are minimum leaf sizes, lines reach two standard errors to each side, dotted is the
# prior. Laplace margins are in the table only, and so is a mixture whose chains do not agree. The mixture's risk has no error.
#
# On a vertical line, at equal utility loss, the lower point discloses less. The next table compares each point with
# unpruned trees of the same loss, whose risk $r$ is interpolated between two sizes of leaves. A point at
# $w$ between them by loss, from 0 to 1, has
#
# $$\log r(w) = (1 - w) \log r_0 + w \log r_1, \qquad s = \frac{\log r_1 - \log r_0}{\text{loss}_1 - \text{loss}_0},$$
#
# and the log ratio of its own risk to $r(w)$ has the variance
#
# $$\frac{\operatorname{se}^2}{\text{risk}^2} + (1 - w)^2 \frac{\operatorname{se}_0^2}{r_0^2} + w^2 \frac{\operatorname{se}_1^2}{r_1^2}
# + s^2 \{v + (1 - w)^2 v_0 + w^2 v_1\},$$
#
# where the $v$ are squared errors of the losses. The error of the straight line is left out.


# %%
def log_ratio_at_equal_loss(point, below, above):
    """Return the log ratio of a risk to that between two sizes, and its error."""
    w = (point["loss"] - below["loss"]) / (above["loss"] - below["loss"])
    log_risk = np.log([below["several"], above["several"]])
    slope = np.diff(log_risk)[0] / (above["loss"] - below["loss"])
    log_ratio = np.log(point["several"]) - (1 - w) * log_risk[0] - w * log_risk[1]
    variance = 0.0
    for weight, size in ((1, point), (1 - w, below), (w, above)):
        relative_error = size["several_se"] / size["several"]
        loss_error = slope * size["loss_se"]
        variance += weight**2 * (relative_error**2 + loss_error**2)
    return log_ratio, np.sqrt(variance)


# %% [markdown]
# For each point the two sizes around its loss are found. Beyond the losses of unpruned trees there is no comparison,
# and no number. A mixture whose chains do not agree is not decided. Differences below two standard errors are ties.

# %% tags=["monte-carlo"]
unpruned = frontier[frontier["case"] == "unpruned trees"].sort_values("loss")
compared = frontier[frontier["case"] != "unpruned trees"].copy()
compared["log_ratio"] = np.nan
compared["error"] = np.nan
for i, point in compared.iterrows():
    # the position of the next larger loss
    k = np.searchsorted(unpruned["loss"], point["loss"], side="right")
    if 0 < k < len(unpruned):
        compared.loc[i, ["log_ratio", "error"]] = log_ratio_at_equal_loss(
            point, unpruned.iloc[k - 1], unpruned.iloc[k]
        )
compared["unpruned"] = compared["several"] / np.exp(compared["log_ratio"])

# %% [markdown]
# Does each point disclose more or less than unpruned trees?

# %% tags=["monte-carlo"]
compared["comparison"] = "a tie"
difference = compared["log_ratio"] / compared["error"]
compared.loc[difference > 2, "comparison"] = "more"
compared.loc[difference < -2, "comparison"] = "less"
compared.loc[compared["error"].isna(), "comparison"] = "no error"
compared.loc[compared["log_ratio"].isna(), "comparison"] = "out of range"
if not estimated.converged:
    compared.loc[compared["case"] == "mixture", "comparison"] = "not decided"
_ = outputs.table("equal_loss", compared)

# %% tags=["monte-carlo", "hide-input"]
names = {
    "loss": "utility loss",
    "several": "median",
    "unpruned": "unpruned, equal loss",
    "log_ratio": "log ratio",
    "error": "standard error",
    "comparison": "discloses",
}
low, high = unpruned["loss"].iloc[[0, -1]]
about = (
    "Other synthesizers compared with unpruned trees at equal utility loss, where that is "
    f"between {low:.2f} and {high:.2f}."
)
show(compared[["synthesizer", *names]], 3, caption=about, names=names)

# %% tags=["monte-carlo", "hide-input"]
comparisons = compared.loc[compared["case"] == "pruned as rpart", "comparison"]
n_comparable = (comparisons != "out of range").sum()
callout(
    "At equal utility loss",
    f"Of {len(comparisons)} sizes of pruned leaves {n_comparable} can be compared. Of these, "
    f"{(comparisons == 'more').sum()} disclose more than unpruned leaves, "
    f"{(comparisons == 'less').sum()} less, and {(comparisons == 'a tie').sum()} tie.",
)

# %% [markdown]
# Another sample of the population may reverse differences near their errors.

# %% [markdown]
# ## One person
#
# This is the target record with the median probability after one set of releases by unpruned trees:

# %% tags=["monte-carlo"]
one_set = log_prob_of["unpruned trees", min_leaf][:n_releases].sum(axis=0)
by_risk = np.argsort(truth_probability(one_set))
person = by_risk[(len(targets) - 1) // 2]
values = table.schema.decode(support[person])  # a row for each candidate

# %% tags=["monte-carlo", "hide-input"]
titles = [variable.title for variable in table.schema.variables]
card = pd.DataFrame({"variable": titles, "value": values.iloc[0].array.astype(str)})
about = "The one record with these values."
show(outputs.table("one_person", card), caption=about)

# %% [markdown]
# The chart has three bars: the true record, the most probable of the others, and the rest of them together.

# %% tags=["monte-carlo"]
n_rest = len(values) - 2
others_together = f"the {n_rest} others together"
bar_names = ["the true record", "the most probable other", others_together]
bar_priors = [prior, prior, n_rest * prior]
changed = (support[person] != support[person][0]).argmax(axis=1)
change_of = [f"{titles[k]}: {values.iloc[i, k]}" for i, k in enumerate(changed)]

# %% [markdown]
# Of the posterior over all candidates, the chart needs three numbers.


# %% tags=["monte-carlo"]
def three_bars(posterior):
    """Return the heights of the bars, and the change of the most probable other."""
    best = 1 + posterior[1:].argmax()
    rest = max(0, 1 - posterior[0] - posterior[best])
    return np.round([posterior[0], posterior[best], rest], 4), change_of[best]


# %% [markdown]
# A state is a rule, a leaf size and a number of releases that the intruder has seen. At most ten releases are shown.

# %% tags=["monte-carlo"]
loss_of = frontier.set_index(["case", "label"])["loss"]
leaf_sizes = sorted({leaf for _, leaf in log_prob_of}, reverse=True)
states = []
for (rule, leaf), log_prob in log_prob_of.items():
    after_each = softmax(np.cumsum(log_prob[:10, person], axis=0), axis=-1)
    for n_seen, posterior in enumerate(after_each, start=1):
        heights, change = three_bars(posterior)
        bars = pd.DataFrame({"bar": bar_names, "prior": bar_priors})
        bars["posterior"] = heights
        bars["rule"] = rule
        bars["growth_step"] = 1 + leaf_sizes.index(leaf)
        bars["n_seen"] = n_seen
        sentence = [
            f"True record: {prior:.2f} before, {heights[0]:.2f} after release {n_seen}",
            f"Most probable other: {change}",
            f"Leaves of at least {leaf} records; utility loss "
            f"{loss_of[rule, str(leaf)]:.2f}",
        ]
        bars["sentence"] = [sentence, None, None]
        states.append(bars)

# %% [markdown]
# Three controls choose one of these states:

# %% tags=["monte-carlo"]
state_controls = {
    "n_seen": alt.binding_range(min=1, max=len(after_each), step=1, name="releases "),
    "growth_step": alt.binding_range(
        min=1, max=len(leaf_sizes), step=1, name="how far the trees grow "
    ),
    "rule": alt.binding_select(options=list(fitted), name="rule "),
}
start = {
    "n_seen": n_releases,
    "growth_step": len(leaf_sizes),
    "rule": "unpruned trees",
}
chosen = [
    alt.param(f"shown_{name}", value=start[name], bind=bind)
    for name, bind in state_controls.items()
]
is_chosen = " && ".join(f"datum.{name} == shown_{name}" for name in start)

# %% tags=["monte-carlo", "hide-input"]
base = alt.Chart(charts.compact(pd.concat(states))).transform_filter(is_chosen)
x = alt.X("posterior:Q", title="Probability", scale=alt.Scale(domain=[0, 1]))
y = alt.Y("bar:N", title=None, sort=bar_names)
is_truth = f"datum.bar == '{bar_names[0]}'"
color = alt.condition(
    is_truth, alt.value(charts.COLORS["synthetic"]), alt.value("#7A8694")
)
bars = base.mark_bar().encode(x=x, y=y, color=color, tooltip=["posterior:Q"])
priors = base.mark_rule(**charts.REFERENCE).encode(
    x="prior:Q",
    y=alt.Y("bar:N", sort=bar_names, bandPosition=0),
    y2=alt.Y2("bar", bandPosition=1),
)
words = base.transform_filter(is_truth).mark_text(
    align="left", baseline="top", fontSize=13, lineHeight=20
)
words = words.encode(x=alt.value(-135), y=alt.value(0), text="sentence:N")
about = (
    f"Three bars: the true record, the most probable other candidate, and the {n_rest} "
    "others together. With unpruned trees and the smallest leaves, the bar of the true "
    "record grows with the number of releases, and the others vanish. With larger leaves, "
    "or pruned trees, it stays lower."
)
chart = alt.vconcat(
    words.properties(height=62),
    alt.layer(bars, priors).properties(height=120, width=330),
).add_params(*chosen)
outputs.figure("one_person", chart.properties(description=about))

# %% [markdown]
# **With more releases by unpruned trees with small leaves, the true record stands out.** The candidates for this person are the true
# values, and these with one change. Dotted: the prior. A utility loss of one is that of another sample of the
# population. The farther trees grow, the smaller is their minimum leaf size.

# %% [markdown]
# ### Exercise 3: what smoothing does
#
# The leaf of ten cooks among the `people` is smoothed by one record: each of the two levels gets half a record more. A
# release shows one sick cook among 20. What are the likelihood ratio of truth and alternative (`smoothed_ratio`) and
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
if_true = 1.5 / 11 * (9.5 / 11) ** 19
if_false = 0.5 / 11 * (10.5 / 11) ** 19
smoothed_ratio = if_true / if_false
believed = smoothed_ratio / (1 + smoothed_ratio)
assert round(smoothed_ratio, 2) == 0.45
assert round(believed, 2) == 0.31

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# A sick cook is three times as probable under the truth, but 19 well ones speak against it: twenty cooks
# would show 2.7 sick ones on average under the truth and .9 under the alternative. Without smoothing the same
# release proves that the cook is sick.
#
# </details>

# %% [markdown]
# ## What attacks find, and what is there
#
# So far the intruder asked for values. Now the question is whether a person is in the file at all, a
# [membership test](../docs/guide/glossary.md#membership-test). First by hand: was the sick cook among the fifteen? The intruder
# knows the other fourteen and that a cook is missing. If another person holds the place, it is a cook of the
# population, where one in five is sick, say. A release has ten cooks. Bayes' rule gives the probability of a sick cook
# in the place after either kind of release:

# %% tags=["public"]
cooks = pd.DataFrame({"release": ["all cooks well", "a sick cook"]})
cooks["in"] = [0.9**10, 1 - 0.9**10]
if_a_well_cook = np.array([1, 0])
cooks["not in"] = 0.2 * cooks["in"] + 0.8 * if_a_well_cook
cooks["after"] = 0.2 * cooks["in"] / cooks["not in"]
cooks["ratio"] = cooks["after"] / 0.2

# %% tags=["public", "hide-input"]
names = {
    "in": "probability if the sick cook is in",
    "not in": "if another person is",
    "after": "probability of a sick cook, after",
    "ratio": "after over before",
}
about = "What a release of ten cooks discloses about the sick cook."
show(outputs.table("cooks_by_hand", cooks, public=True), caption=about, names=names)

# %% [markdown]
# Few intruders know so much. Four of them form a ladder. They test the same people, sample uniques of the file, and know
#
# - (a) the release and other people of the population;
# - (b) also the synthesizer, which they can run, but nobody in the file;
# - (c) also everybody in the file but the people tested;
# - (d) everybody but one person, and the exact probability of each release.
#
# A test has a score for each person, and says "in the file" above a threshold. Its power is the share of people in the file
# whom it finds, its false positives the share of other cases above the threshold. For (a) and (d) these are
# people outside the file whose values nobody in it has, as nobody else has those of a sample unique. For (b) and (c)
# they are the same people, in runs without them. Below, `outside` are these other people, and `reference` what (a) knows of the
# population.

# %%
n_population = 4 * len(table) + 5 * n_held_out
population = held_out
if not data:  # the embedded population has no limit
    rng = stream(seed, "people outside")
    population = microdata.load("", n_records=n_population, rng=rng).codes
rows_in_file = {tuple(row) for row in table.codes.tolist()}
has_twin = np.array([tuple(row) in rows_in_file for row in population.tolist()])
strangers = population[~has_twin]
n_compared = min(10 * n_held_out, len(strangers) // 2)
outside = strangers[:n_compared]
reference = strangers[n_compared:]
tested = stream(seed, "places").permutation(uniques)[:n_places]

# %% [markdown]
# The generators, columns of the ladder, are trees under both rules, independent and private margins, and the
# mixture.

# %% tags=["monte-carlo"]
programs = {}
for rule, growth in growth_rules(min_leaf).items():
    programs[rule] = SequentialTrees(
        table.schema, order or None, ordered=ordered, growth=growth
    )
programs["margins"] = PlugInMargins(levels)
programs["private margins"] = other_synthesizers["Laplace margins"]
rng = stream(seed, "margins")
released["margins"] = [
    programs["margins"].release(table.codes, rng=rng) for _ in range(n_releases)
]
released["private margins"] = released["Laplace margins"]
released["mixture"] = mixture_releases
generators = [*programs, "mixture"]

# %% [markdown]
# The ladder, shown at its end, has a row for each score at 1 % or 10 % false positives:

# %% tags=["monte-carlo"]
RATES = [0.01, 0.1]
ladder = {}  # by score and generator


def tables_of(generator):
    """Return the releases that are tested."""
    return [srlib.Microdata(x, table.schema) for x in released[generator][:n_releases]]


def add_test(intruder, score, generator, test):
    """Add the power of a membership test to the ladder."""
    rng = stream(seed, f"ladder, {score}, {generator}")
    power = test.power(RATES, rng=rng).assign(
        intruder=intruder, score=score, generator=generator
    )
    ladder[score, generator] = power.drop(columns="threshold")


# %% [markdown]
# ### (a) The release and other people
#
# The field's usual scores need no synthesizer. `score_test` takes the releases, the other people and a score, one release
# at a time, and its `power` has errors by a bootstrap of people and releases.

# %% tags=["monte-carlo"]
people_outside = srlib.Microdata(outside, table.schema)


def add_attack(name, score):
    """Add the power of a score of people and a release to the ladder."""
    for generator in generators:
        test = score_test(
            table, tables_of(generator), people_outside, score, rows=tested
        )
        add_test("a", name, generator, test)


# %% [markdown]
# The first score is minus the number of variables in which the nearest released record differs from the person.


# %% tags=["monte-carlo"]
def closeness(people, released):
    """Return minus the distance to the nearest released record, (people,)."""
    distances = [(released != person).sum(axis=1).min() for person in people]
    return -np.array(distances, dtype=float)


add_attack("distance", closeness)

# %% [markdown]
# The second counts the released records that are equal to the person, less those expected from a reference, other
# people of the population:


# %% tags=["monte-carlo"]
def equal_records(people, released):
    """Return equal released records, less those expected, (people,)."""
    scores = []
    for person in people:
        n_equal = (released == person).all(axis=1).sum()
        share_expected = (reference == person).all(axis=1).mean()
        scores.append(n_equal - share_expected * len(released))
    return np.array(scores)


add_attack("equal records", equal_records)

# %% [markdown]
# The third is the density of released records at the person's values over the density of the reference (DOMIAS, van
# Breugel and others 2023). Both densities are Chow-Liu trees, in which each variable depends on one other:

# %% tags=["monte-carlo"]
of_reference = chow_liu_tree(reference, levels)


def density_ratio(people, released):
    """Return the log ratio of the density of a release to the reference, (people,)."""
    of_release = chow_liu_tree(released, levels)
    return log_density(people, of_release) - log_density(people, of_reference)


add_attack("density ratio", density_ratio)

# %% [markdown]
# ### (b) and (c) The synthesizer, by runs
#
# Nobody can write down the probability of a neural network's or a commercial tool's release, but whoever has the program
# can run it. What the score sees of a release is its agreement with the person: how many records agree in each pair of
# variables, and how many in at least $k$ variables, for each $k$. Square roots make these counts vary equally.


# %% tags=["monte-carlo"]
def agreement(person, released):
    """Return square roots of numbers of records that agree with a person."""
    agree = (released == person).astype(np.float32)  # (records, variables)
    pairs = (agree.T @ agree)[np.triu_indices(len(person))]
    n_agree = agree.sum(axis=1).astype(int)
    exactly = np.bincount(n_agree, minlength=len(person) + 1)
    at_least = np.cumsum(exactly[::-1])
    return np.sqrt(np.concatenate([pairs, at_least]))


# %% [markdown]
# In each run a half of the tested people, at random, is in the file; people drawn from the population with replacement
# take the places of the rest. For (b) they take all other places too; for (c) the file's people keep these.


# %% tags=["monte-carlo"]
def run_program(program, rows, others_known, rng):
    """Return the agreement of people with a release, and which of them are in."""
    data = table.codes.copy()
    if not others_known:
        data = rng.choice(population, len(table))
    is_in = rng.random(len(rows)) < 0.5
    data[rows] = rng.choice(population, len(rows))
    data[rows[is_in]] = table.codes[rows[is_in]]
    released = program.release(data, rng=rng)
    return [agreement(person, released) for person in table.codes[rows]], is_in


# %% [markdown]
# The runs of all programs for both intruders:

# %% tags=["monte-carlo"]
runs = {}  # features and who is in, by generator and whether the others are known
for generator, program in programs.items():
    for others_known in (False, True):
        rng = stream(seed, f"runs, {generator}, {others_known}")
        results = [
            run_program(program, tested, others_known, rng) for _ in range(n_runs)
        ]
        features, is_in = zip(*results, strict=True)
        runs[generator, others_known] = np.array(features), np.array(is_in)

# %% [markdown]
# The score is linear in the agreements, by ridge regression over all people and runs. It scores each run by the others
# (five folds), so that it is not tested on what it has learned from.


# %% tags=["monte-carlo"]
def learned_scores(features, is_in, classifier):
    """Return scores learned from the other runs, (runs, people)."""
    n_runs, n_people, n_features = features.shape
    spread = features.std(axis=0) + 1e-6
    standardized = (features - features.mean(axis=0)) / spread  # for each person
    score = cross_val_predict(
        classifier or RidgeClassifier(alpha=n_runs),
        standardized.reshape(-1, n_features),
        is_in.ravel(),
        groups=np.repeat(np.arange(n_runs), n_people),
        cv=GroupKFold(5),
        method="predict_proba" if classifier else "decision_function",
    )
    return score.reshape(n_runs, n_people, -1)[..., -1]


# %% [markdown]
# A person is found in a run if the score is above the threshold that the given share of scores of absent people
# exceed. The error is over people.


# %% tags=["monte-carlo"]
def power_of_runs(rates, features, is_in, classifier=None):
    """Return the power of learned scores at each false-positive rate, and its error."""
    scores = learned_scores(features, is_in, classifier)
    powers = []
    for rate in rates:
        threshold = np.quantile(scores[~is_in], 1 - rate)
        is_found = np.where(is_in, scores > threshold, np.nan)
        has_enough = (~is_in).sum() * rate >= 1
        power = mean_and_error(np.nanmean(is_found, axis=0))
        powers.append(power if has_enough else (np.nan, np.nan))
    return powers


# %% [markdown]
# Their power, added to the ladder:

# %% tags=["monte-carlo"]
for (generator, others_known), run in runs.items():
    powers = power_of_runs(RATES, *run)
    row = pd.DataFrame(powers, columns=["power", "power_se"])
    row["false_positive_rate"] = RATES
    row["intruder"] = "c" if others_known else "b"
    score = "runs, others known" if others_known else "runs, nobody known"
    ladder[score, generator] = row.assign(score=score, generator=generator)

# %% [markdown]
# The mixture is not run: each run would need chains of its own.
#
# ### (d) The exact probability
#
# For a person $x_i$ and all other records $D_{-i}$,
#
# $$\frac{p(x_i \mid D_{-i}, Z)}{p(x_i \mid D_{-i})}
# = \frac{p(Z \mid D_{-i}, x_i)}{\sum_x p(x \mid D_{-i})\, p(Z \mid D_{-i}, x)}.$$
#
# This is the likelihood ratio of "in the file" against "another person holds the place". By Neyman
# and Pearson (1933) no test of the two with the same false-positive rate has more power. The sum in the
# denominator is estimated: the other people stand for $x$, and a hundred of them are put, one by one, in the place of each
# tested person and get a ratio of their own. The mixture's ratio is an average over chains, with one release.

# %% tags=["monte-carlo"]
exact = {}  # membership tests by generator
for generator, program in programs.items():
    exact[generator] = srlib.membership_test(
        table,
        tables_of(generator),
        people_outside,
        synthesizer=program,
        rows=tested,
    )
exact["mixture"] = srlib.membership_test(
    table,
    tables_of("mixture")[:1],
    people_outside,
    draws=DrawSets(given_data, given_both[:1]),
    rows=tested,
)
for generator, test in exact.items():
    add_test("d", "likelihood ratio", generator, test)

# %% [markdown]
# ### The ladder
#
# All intruders in one table:

# %% tags=["monte-carlo"]
rungs = outputs.table("ladder", pd.concat(ladder.values(), ignore_index=True))
rungs["rung"] = "(" + rungs["intruder"] + ") " + rungs["score"]
at_one_percent = rungs[rungs["false_positive_rate"] == 0.01]
powers = at_one_percent.pivot(index="rung", columns="generator", values="power")
power_errors = at_one_percent.pivot(
    index="rung", columns="generator", values="power_se"
)

# %% tags=["monte-carlo", "hide-input"]
text = rungs["power"].combine(rungs["power_se"], with_error)
index = ["false_positive_rate", "rung"]
in_words = rungs.assign(text=text).pivot(
    index=index, columns="generator", values="text"
)
in_words = in_words[generators].reset_index().fillna("")
about = (
    f"Power by false-positive rate: the share of {len(tested)} sample uniques of "
    f"{len(table):,} records that each intruder finds. Errors: in (a) and (d) over people, "
    "releases and chains, and at least those of a share one person away from none and all; in (b) and (c) over "
    "people, each averaged over the runs."
)
if not estimated.converged:
    about = f"{about} The chains of the mixture do not agree."
show(in_words, caption=about, names={"false_positive_rate": "false positives"})

# %% tags=["monte-carlo", "hero", "hide-input"]
bars = at_one_percent.rename(columns={"power": "value", "generator": "case"})
bars = bars.assign(
    label=bars["rung"],
    low=(bars["value"] - 2 * bars["power_se"]).clip(0, 1),
    high=(bars["value"] + 2 * bars["power_se"]).clip(0, 1),
    baseline=0.01,
)
about = (
    "Points with intervals for six scores of four intruders. For trees all attacks are "
    "far to the left, and the likelihood ratio is far to the right. For margins all are "
    "near the tick of guessing."
)
chart = charts.intervals(
    bars[["label", "case", "value", "low", "high", "baseline"]],
    "Power at 1 % false positives",
    percent=True,
    description=about,
)
outputs.figure("ladder", chart)

# %% [markdown]
# **What attacks find, and what is there.** Power at 1 % false positives, with two standard errors to each side; ticks:
# guessing. The intruders are (a) to (d) above, the people simulated.

# %% tags=["monte-carlo"]
BEST = "(d) likelihood ratio"
attacks = powers.drop(BEST)
strongest = attacks.fillna(0).idxmax()  # by generator

# %% tags=["monte-carlo", "hide-input"]
sentences = ["Too few people are held out to say anything at 1 % false positives."]
if powers.loc[BEST].notna().all():
    sentences = []
    for generator in fitted:
        name = strongest[generator]
        errors = power_errors[generator]
        attack = with_error(attacks.loc[name, generator], errors[name])
        sentences.append(
            f"For {generator} the largest estimated power of an attack is {attack}, {name}; that of "
            f"the likelihood ratio is {with_error(powers.loc[BEST, generator], errors[BEST])}."
        )
callout("The ladder", " ".join(sentences))

# %% [markdown]
# The attacks are those above and no others, on these simulated people; a better one may lie between them and the exact
# test. The power of the exact test at other false-positive rates, and the bound of $e^\epsilon$ times the rate,
# which the power for private margins cannot exceed, but its estimate can:

# %% tags=["monte-carlo"]
roc = pd.DataFrame()
for generator, test in exact.items():
    roc[generator] = test.roc().set_index("false_positive_rate")["power"]
roc["bound from ε"] = (np.exp(1) * roc.index).to_numpy().clip(max=1)
_ = outputs.table("roc", roc.reset_index())

# %% tags=["monte-carlo", "hide-input"]
titles = "False-positive rate (log scale)", "Power after one release (log scale)"
about = (
    "Curves of power against false positives. Those of the trees lie far above that "
    "of private margins, which stays near the diagonal of guessing."
)
chart = charts.lines(roc, *titles, log_x=True, log_y=True, description=about)
outputs.figure("roc", chart)

# %% [markdown]
# **The exact test finds members in releases by trees far better than in those of margins.** Guessing has equal power and
# false positives. Curves are estimates from the tested people; that of the bound is exact.
#
# ### Is the gap a matter of the score?
#
# Rival explanations for the gap between (c) and (d): too few runs, too plain a score, or too many unknown people. Each is
# tested for pruned trees: four times as many runs; gradient boosting in place of a linear score; and everybody
# known but one person at a time, for a few of the people.

# %% tags=["monte-carlo"]
program = programs["pruned as rpart"]


def run_many(people, n, rng):
    """Return features and who is in, of n runs with everybody else known."""
    results = [run_program(program, people, True, rng) for _ in range(n)]
    features, is_in = zip(*results, strict=True)
    return np.array(features), np.array(is_in)


# %% tags=["monte-carlo"]
few_runs = runs["pruned as rpart", True]
more_runs = run_many(tested, 3 * n_runs, stream(seed, "more runs"))
many_runs = [np.concatenate(pair) for pair in zip(few_runs, more_runs, strict=True)]
rng = stream(seed, "one person")
one_by_one = [run_many(tested[[i]], n_runs, rng) for i in range(5)]
one_unknown = [np.concatenate(parts, axis=1) for parts in zip(*one_by_one, strict=True)]

# %% [markdown]
# The power for each explanation:

# %% tags=["monte-carlo"]
boosting = HistGradientBoostingClassifier(max_iter=50, random_state=seed)
variants = {
    "as above": few_runs,
    "four times the runs": many_runs,
    "gradient boosting": (*few_runs, boosting),
    "one unknown, five people": one_unknown,
}
rows = []
for name, variant in variants.items():
    ((power, power_se),) = power_of_runs([0.01], *variant)
    rows.append({"runs": name, "power": power, "power_se": power_se})
rivals = outputs.table("rivals", pd.DataFrame(rows))

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Power of scores learned from runs of pruned trees, at 1 % false positives, for an "
    "intruder who knows all but the tested people, or all but one of them."
)
show(rivals, caption=about, names={"power_se": "standard error"})

# %% tags=["monte-carlo", "hide-input"]
there = powers.loc[BEST, "pruned as rpart"]
callout(
    "Rivals",
    f"The best of these has power {rivals['power'].max():.2f}; the exact test has {there:.2f}.",
)

# %% [markdown]
# ### Two exact measures, two orders under a uniform prior
#
# Membership and values are two questions with exact answers. Do they order releases alike? Unpruned trees are grown to
# leaves of different sizes, with releases of their own. The posterior risk is the mean probability of the true values among
# those with one change, over the tested people. Both are also split by whether some released record has all the values of
# the person. `classify` gives the test's decision for each person.

# %% tags=["monte-carlo"]
# (people, candidates, variables)
support_tested = one_variable_supports(table.codes[tested], levels)


# %% tags=["monte-carlo"]
def two_measures(trees, rng):
    """Return the power at 1 % and the mean risk, in all and by who is released."""
    sets = trees.release(n_releases, rng=rng)
    codes = [release.codes for release in sets]
    test = srlib.membership_test(
        table, sets, people_outside, synthesizer=trees, rows=tested
    )
    found = test.classify(0.01)  # (releases, people)
    log_prob = candidate_log_prob(trees, codes, table.codes, tested, support_tested)
    probability = truth_probability(log_prob)  # (releases, people)
    is_released = np.array([closeness(table.codes[tested], z) == 0 for z in codes])
    measures = test.power([0.01], rng=rng)[["power", "power_se"]].iloc[0].to_dict()
    risk, risk_se = mean_and_error(probability.mean(axis=0))
    return measures | {
        "risk": risk,
        "risk_se": risk_se,
        "released": is_released.mean(),
        "found_if": found[is_released].mean(),
        "found_if_not": found[~is_released].mean(),
        "risk_if": probability[is_released].mean(),
        "risk_if_not": probability[~is_released].mean(),
    }


# %% tags=["monte-carlo"]
rows = []
for leaf in sorted({1, 2, min_leaf, *leaves[:2]}):
    rng = stream(seed, f"two orders, {leaf}")
    rows.append({"leaf": leaf, **two_measures(fit(table, Growth(leaf)), rng)})
orders = outputs.table("two_orders", pd.DataFrame(rows))

# %% tags=["monte-carlo", "hide-input"]
names = {
    "leaf": "minimum leaf size",
    "power": "power at 1 %",
    "power_se": "error",
    "risk": "mean posterior risk",
    "risk_se": "its error",
    "released": "released",
    "found_if": "power if released",
    "found_if_not": "if not",
    "risk_if": "risk if released",
    "risk_if_not": "if not released",
}
about = (
    "Exact membership test and posterior risk (uniform prior) of the same people, for an "
    "intruder who knows all others; and the power by whether a person's values are in the release."
)
show(orders, caption=about, names=names)

# %% [markdown]
# The two measures disagree at leaves of one record, where a released value of one variable belongs to a single donor and whole records
# are copied. Where does each change?

# %% tags=["monte-carlo", "hide-input"]
by_leaf = orders.set_index("leaf")
callout(
    "Two orders",
    "From leaves of two to leaves of one the power among people whose values are not "
    f"released goes from {by_leaf.loc[2, 'found_if_not']:.2f} to "
    f"{by_leaf.loc[1, 'found_if_not']:.2f}, and the mean posterior risk among people whose "
    f"values are released from {by_leaf.loc[2, 'risk_if']:.2f} to "
    f"{by_leaf.loc[1, 'risk_if']:.2f}.",
)

# %% [markdown]
# A member's rival in the test is any other person, and in the posterior risk a near neighbor. A person copied
# whole stands out from both; other people hardly do from either. Leaves of two mix a person's values into other records, which
# still tell the person from strangers, but not from every neighbor.

# %% [markdown]
# ### Exercise 4: no false alarm
#
# An alarm is a score above the threshold. In $n$ runs without the person there was no alarm. The upper 97.5 % limit of the probability of a false alarm is the $b$
# with $(1 - b)^n = .025$. What is it for 200 runs (`high_limit`, three decimal places)? How many runs (`enough`) make it less
# than .001? Take logarithms.
#
# *You will need:* a calculator.

# %% tags=["solution"]
# Solution
high_limit = 1 - 0.025 ** (1 / 200)
enough = np.ceil(np.log(0.025) / np.log(0.999))
assert round(high_limit, 3) == 0.018
assert enough == 3688

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# No alarm has probability $(1 - b)^n$, and values of $b$ for which that is below .025 are rejected. The limit falls about
# as $3.7 / n$, and no number of runs shows that there are no false alarms.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Limits
#
# Without a given file the people are simulated. `srlib.trees.Growth` states the two rules. Real rpart may differ where two splits tie, where a node does not know a released level (rpart asks surrogate splits, ours take the larger
# part), and for nominal predictors of more than 12 levels. Without surrogates, rpart's trees give one release the
# same log probability as ours in all but seven of more than two thousand cases, each grown on the data with one record
# changed (`tools/rpart_reference.py`).
#
# The candidates are the paper's: they surround the true record, so the numbers say what a release adds for an intruder who is this close, at a uniform prior. Two-way
# tables are a coarse measure of utility. The order of the variables is not varied. Synthesis that grows trees on bootstrap samples, or weights donors by a Bayesian
# bootstrap (Reiter 2005), has another density and is not compared here.
#
# ## References
#
# - Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). *Classification and Regression
#   Trees*. Wadsworth.
# - Clopper, C. J. and Pearson, E. S. (1934). [The use of confidence or fiducial limits illustrated in the case
#   of the binomial](https://doi.org/10.1093/biomet/26.4.404). *Biometrika* 26, 404–413.
# - Chow, C. K. and Liu, C. N. (1968). [Approximating discrete probability distributions with dependence
#   trees](https://doi.org/10.1109/TIT.1968.1054142). *IEEE Transactions on Information Theory* 14, 462–467.
# - Neyman, J. and Pearson, E. S. (1933). [On the problem of the most efficient tests of statistical
#   hypotheses](https://doi.org/10.1098/rsta.1933.0009). *Philosophical Transactions of the Royal Society A*
#   231, 289–337.
# - Nowok, B., Raab, G. M. and Dibben, C. (2016). [synthpop: bespoke creation of synthetic data in
#   R](https://doi.org/10.18637/jss.v074.i11). *Journal of Statistical Software* 74(11).
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). [Membership inference attacks against synthetic
#   data through overfitting detection](https://proceedings.mlr.press/v206/breugel23a.html). *AISTATS*, 3493–3514.
# - Therneau, T. and Atkinson, E. *An Introduction to Recursive Partitioning Using the RPART Routines*. Vignette of
#   the R package rpart.
