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
# # Does a risk of one in five come true one time in five?
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# Agencies report the [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) that an intruder
# gives to a record's true values. If each true record is drawn from the
# intruder's prior and the intruder knows the synthesizer, a probability of $p$ is right for a share $p$: that is Bayes'
# rule. For records as they are, released by trees with small leaves, the best guesses of an intruder with a uniform prior
# are right more often than they claim. An intruder who assumes another synthesizer can be sure and wrong.

# %% [markdown] tags=["notebook-only"]
# ## Parameters
#
# All records are simulated. `params/what_a_risk_means/published.yaml` takes more and larger data sets.

# %% tags=["parameters"]
n_records: int = 200  # [30, 2000] records of a data set with some targets
n_sets: int = 14  # [5, 100] such data sets
n_targets: int = 20  # [2, 30] target records in each
min_leaf: int = 5  # [1, 30] minimum leaf size of the trees, except among participants
n_classes: int = 10  # [1, 50] latent classes of the mixture, F
burn_in: int = 300  # [0, 5000] iterations dropped from each chain of the mixture
n_draws: int = 40  # [10, 500] draws kept from each chain
n_people: int = 600  # [40, 6000] people in the section on knowing less
sizes: list[int] = [200, 600]  # [80, 6000] people in the section on participants
n_pairs: int = 5  # [3, 50] splits into participants and outsiders, used both ways
n_places: int = 20  # [1, 40] participants, and outsiders in their places, by split
burn_in_people: int = 400  # [0, 5000] iterations dropped from each chain in splits
n_draws_people: int = 60  # [30, 500] draws kept from each of these chains
epsilon: float = 1.0  # [0.01, 20] privacy budget of the private margins
seed: int = 1982  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import beta, betaln, binom, logsumexp, xlogy
from scipy.stats import betabinom

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib.data.acs import ACS, embedded_population
from srlib.data.schema import Schema, Variable
from srlib.display import callout, show, with_errors
from srlib.margins import DirichletMargins, LaplaceMargins, Margins, PlugInMargins
from srlib.mechanism import bayes
from srlib.mechanism.families import compositions, log_multinomial
from srlib.outputs import Outputs
from srlib.risk import one_variable_supports, subset_log_means, subset_support
from srlib.risk.synthesizers import log_likelihoods
from srlib.rng import stream
from srlib.trees import Growth, SequentialTrees

outputs = Outputs(output_dir)

# %% [markdown]
# ## By hand: a thousand answers
#
# Of 1,000 people 100 are sick. Each answer is released as it is with probability 3/4, else reversed. An
# intruder who knows these numbers reads the release:
#
# | released | sick | well | together | probability of being sick |
# |---|---|---|---|---|
# | yes | 75 | 225 | 300 | 75/300 = .25 |
# | no | 25 | 675 | 700 | 25/700 = .036 |
#
# The last column is Bayes' rule, prior times likelihood divided by their sum. The next cell computes it as an array with
# rows *yes* and *no* for the release, and columns *sick* and *well*:

# %%
prior = np.array([0.1, 0.9])  # sick, well
likelihood = np.array([[3, 1], [1, 3]]) / 4  # rows: yes, no released
joint = prior * likelihood
probability = joint / joint.sum(axis=1, keepdims=True)
probability

# %% [markdown]
# `bayes.posterior` takes the logarithms of likelihood and prior, and returns that of the same array:

# %%
log_prob = bayes.posterior(np.log(likelihood), np.log(prior))
assert np.allclose(np.exp(log_prob), probability)

# %% [markdown]
# Of the people with .25, one in four is sick. A probability that keeps this promise is called *calibrated* (Dawid 1982).
# An intruder who assumes that answers are never reversed claims 1 after a yes, and is right for .25.

# %% [markdown]
# ### Exercise 1: a wrong prior (pencil)
#
# An intruder takes half of the 1,000 people to be sick. Which probabilities (`claimed_yes`, `claimed_no`) of being sick
# does this intruder claim after a yes and after a no? What is the mean log ratio of posterior to the intruder's own
# prior probability of the truth (`gain`, natural logarithms, three decimal places)?

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# Only the prior changes: use Bayes' rule with one half for both. Then weight the four groups of the table by their
# numbers of people.
#
# </details>

# %% tags=["solution"]
# Solution
claimed_yes, claimed_no = 0.75, 0.25
people_by_group = np.array([75, 225, 25, 675])
posterior_of_truth = np.array([0.75, 0.25, 0.25, 0.75])
gain = people_by_group @ np.log(posterior_of_truth / 0.5) / 1000
assert claimed_yes == 0.75
assert claimed_no == 0.25
assert round(gain, 3) == 0.131

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The 75 sick people with a yes and the 675 well ones with a no get .75 for the truth, the other
# 250 get .25: $.75 \log 1.5 + .25 \log .5 = .131$. The release helps this intruder on average. Calibration is still
# lost: .75 after a yes is right for one in four.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Draw the true record, release, ask, count
#
# Let $X$ be a record, drawn from a [prior](../docs/guide/glossary.md#prior) $\pi$ over fixed
# [candidates](../docs/guide/glossary.md#candidate). The release $Z$ has the density $p(Z \mid X, D_{-i})$, where
# $D_{-i}$ are the other records. An intruder who knows $D_{-i}$, $\pi$ and the synthesizer gives candidate $x$ the
# probability
#
# $$q_Z(x) = \frac{\pi(x)\, p(Z \mid x, D_{-i})}{\sum_y \pi(y)\, p(Z \mid y, D_{-i})} = P(X = x \mid Z, D_{-i}).$$
#
# Among all pairs of a release and a candidate with $q_Z(x) = p$, a share $p$ is therefore true. $D_{-i}$ may come
# from anywhere, as long as $X$ is drawn from $\pi$ whatever it is, and the synthesizer may be of any kind.
#
# The smallest example has two records, each *no* or *yes*, and a release of both by a beta-binomial synthesizer.
# `two_records` is its table of log probabilities, a row for each number of *yes* in the data and a column for each number
# released; `block` takes rows and columns. The other record is *no* or *yes* with probability one half, the true record
# is *no* with probability 2/3. The *best guess* is the most probable candidate; the record is *identified* if the best
# guess is true. The loop goes over the other record and the number released. A row of the result has the probability of
# the case, the probability claimed for the best guess, and that of the case with the record identified:

# %%
two_records = mechanism.beta_binomial(2, 2, alpha=0.5)
prior = np.array([2, 1]) / 3  # the true record is a no, a yes
cases = []
for other, release in product([1, 0], [0, 1, 2]):
    ones = np.array([other, other + 1])  # yes among both, if x is a no, a yes
    likelihood = np.exp(two_records.block(ones, [release]))[:, 0]  # (no, yes)
    joint = prior / 2 * likelihood
    claimed = joint.max() / joint.sum()
    cases.append((other, release, joint.sum(), claimed, joint.max()))
columns = ["other", "released yes", "P(case)", "claimed", "P(case, identified)"]
cases = pd.DataFrame(cases, columns=columns)
cases

# %% [markdown]
# In each row, dividing the last column by the probability of the case gives the share identified. It is what the guess
# claims. That is calibration:

# %%
assert np.allclose(cases["P(case, identified)"] / cases["P(case)"], cases["claimed"])

# %% [markdown]
# Now the same for other small synthesizers. A row of their tables is a data set, given by its number of records in each
# cell. `cell_counts` returns these numbers, with two cells where the table names the number of *yes* only.
# `joint_probabilities` adds each possible record $x$ to each data set of the others. It returns an array with a row for
# each pair of others and release and a column for each $x$. The first cell has twice the prior probability of any other.


# %%
def cell_counts(table):
    """Return the records in each cell, with a row for each data set."""
    counts = np.asarray(table.inputs)
    if counts.ndim == 1:
        counts = np.stack([counts.max() - counts, counts], axis=1)
    return counts


# %%
def joint_probabilities(table):
    """Return p(others, release, x), a row for each pair of both, a column for each x."""
    inputs = cell_counts(table).tolist()
    n_cells = len(inputs[0])
    prior = np.append(2.0, np.ones(n_cells - 1)) / (n_cells + 1)
    all_others = compositions(sum(inputs[0]) - 1, n_cells)
    joint = []
    for others in all_others:
        data_sets = others + np.eye(n_cells, dtype=int)  # with each possible x
        rows = [inputs.index(data) for data in data_sets.tolist()]
        log_p = table.block(np.array(rows), np.arange(table.n_outputs))
        joint.append(np.exp(log_p).T * prior / len(all_others))
    joint = np.concatenate(joint)
    return joint[joint.any(axis=1)]


# %% [markdown]
# For two records it agrees with the loop:

# %%
joint = joint_probabilities(two_records)
assert np.allclose(joint.max(axis=1), cases["P(case, identified)"])

# %% [markdown]
# Trees on two yes/no variables also give such a table: a row for each data set of four cells, a column for each release.
# The probability of a release is a multinomial one, with the trees' probability of each cell. `Growth` limits the size
# of leaves.


# %%
def trees_as_table(n, min_leaf):
    """Return the table of releases of n records, given n of two yes/no variables."""
    schema = Schema(tuple(Variable(name, ("0", "1")) for name in ("first", "second")))
    synthesizer = SequentialTrees(schema, growth=Growth(min_leaf))
    cells = np.indices((2, 2)).reshape(2, -1).T
    tables = compositions(n, 4)
    orders = log_multinomial(tables)
    log_prob = []
    for counts in tables:
        trees = synthesizer.fit(np.repeat(cells, counts, axis=0))
        p = np.exp([trees.log_prob(cell[None]) for cell in cells])
        log_prob.append(orders + xlogy(tables, p).sum(axis=1))
    pairs = mechanism.table_neighbors(tables)
    return mechanism.Mechanism.from_table(np.array(log_prob), pairs, tables.tolist())


# %% [markdown]
# Six tables by name; the first two numbers are the records in the data and in the release:

# %%
tables = {
    "plug-in, 6 records": mechanism.bernoulli_plugin(6, 6, alpha=0.5),
    "beta-binomial, 6 records": mechanism.beta_binomial(6, 6, alpha=0.5),
    "Dirichlet-multinomial, 3 cells": mechanism.dirichlet_multinomial(
        4, 4, [0.5, 1, 2]
    ),
    "mixture, 2 classes": dpmpm.enumerate_mechanism(3, 3, [2, 2], 2),
    "trees, leaves of 1": trees_as_table(4, 1),
    "trees, leaves of 2": trees_as_table(4, 2),
}

# %% [markdown]
# The *mean risk* is the mean probability of the true record, $r = \mathrm{E}\, q_Z(X)$, a sum of joint times posterior
# probabilities. It is easily confused with the *share identified*, that of the records whose best guess is true, with
# expectation $f$. Calibration gives $r = \mathrm{E} \sum_x q_Z(x)^2$ and
# $f = \mathrm{E} \max_x q_Z(x)$. Since $(\max q)^2 \le \sum q^2 \le \max q$, and since
# $(\mathrm{E} \max q)^2 \le \mathrm{E} (\max q)^2$,
#
# $$r \le f \le \sqrt r .$$
#
# The next table has a row for each synthesizer, with $r$, $f$ and the upper bound $\sqrt r$:

# %% tags=["public"]
rows = []
for name, table in tables.items():
    joint = joint_probabilities(table)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    risk = (joint * posterior).sum()
    identified = joint.max(axis=1).sum()
    rows.append((name, risk, identified, np.sqrt(risk)))
columns = ["synthesizer", "risk", "identified", "bound"]
families = pd.DataFrame(rows, columns=columns)
_ = outputs.table("families", families, public=True)

# %% tags=["hide-input"]
names = {
    "risk": "mean risk r",
    "identified": "share identified f",
    "bound": "√r, upper bound of f",
}
caption = "Exact mean risk, share identified, and its upper bound."
show(families, caption=caption, names=names)

# %% [markdown]
# The enumeration illustrates the inequality and does not test it: its $q$ is calibrated by construction.

# %% [markdown]
# ### Exercise 2: bounds (pencil)
#
# An agency reports a mean risk of .09 for calibrated probabilities. Between which bounds is the share of records
# identified (`least`, `most`)? At another agency, best guesses identify 30 % of the records. Between which
# bounds is its mean risk (`lowest`, `highest`)?

# %% tags=["solution"]
# Solution
least, most = 0.09, 0.3
lowest, highest = 0.3**2, 0.3
assert round(least, 2) == 0.09
assert round(most, 2) == 0.3
assert round(lowest, 2) == 0.09
assert round(highest, 2) == 0.3

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# From $f \le \sqrt r$ follows $r \ge f^2$. The upper bound of $f$ is approached if one candidate has the same
# probability for all records and the rest is spread over ever more candidates. The lower one is attained if
# each posterior is either certain or uniform over its candidates.
#
# </details>

# %% [markdown]
# ## Records as they are
#
# Larger data sets come from a simulated population of 14 variables. In each some records are *targets*. A target's
# candidates are its record and all that differ from it in one variable, as in the paper. The intruder takes them for
# equally probable, knows all other records and sees one release by [unpruned
# trees](../docs/guide/glossary.md#unpruned-trees) (Reiter 2005). In the first experiment each target is replaced by a
# draw from its candidates before the release. In the second, targets stay as they are, as in the paper.
#
# `draw_targets` returns a data set, the rows of its targets, and their candidates.

# %%
levels = ACS.n_levels
trees = SequentialTrees(ACS, growth=Growth(min_leaf))


def draw_targets(rng):
    """Return a data set, the rows of its targets, their candidates (the truth first)."""
    data = embedded_population(n_records, rng=rng).codes
    rows = rng.choice(n_records, n_targets, replace=False)
    candidates = one_variable_supports(data[rows], levels)  # (targets, candidates, 14)
    return data, rows, candidates


# %% [markdown]
# First the drawn targets. The mixture of [hu_reiter_wang](hu_reiter_wang.ipynb), whose parameters `sample_posterior`
# draws, also releases these data sets, for the next section. The list `drawn` keeps all of it.

# %%
chains = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=8, n_chains=4
)
drawn = []
for rng in stream(seed, "known").spawn(n_sets):
    data, rows, candidates = draw_targets(rng)
    truth = rng.integers(candidates.shape[1], size=n_targets)
    data[rows] = candidates[np.arange(n_targets), truth]
    draws = dpmpm.sample_posterior(data, levels, chains, rng=rng)
    releases = {"trees": trees.release(data, rng=rng)}
    releases["mixture"] = draws.release(1, n_records, rng=rng)[0]
    drawn.append((data, rows, candidates, truth, releases))

# %% [markdown]
# `log_likelihoods` returns $\log p(Z \mid x, D_{-i})$ exactly, a row for each target and a column for each candidate: it
# regrows the trees with the record changed. `log_posterior` applies Bayes' rule. Where a release is impossible for every
# candidate, the posterior stays at the prior.


# %%
def log_posterior(log_likelihood, log_prior=0.0):
    """Return log probabilities of candidates; the prior where all are refuted."""
    refuted = np.isneginf(log_likelihood).all(axis=-1, keepdims=True)
    return bayes.posterior(np.where(refuted, 0.0, log_likelihood), log_prior)


# %% [markdown]
# `score` takes log likelihoods, the prior and the position of each true candidate. It returns a row for each target:
# the *risk*, the probability of the true record; the probability *claimed* for the best guess; whether the record is
# *identified*, a share where guesses are tied; and the *gain*, the log ratio of posterior to uniform prior of the true
# record.


# %%
def score(log_p, truth, data_set, log_prior=0.0):
    """Return a row for each target: risk, claim, whether it is identified, gain."""
    log_prob = log_posterior(log_p, log_prior)
    targets = np.arange(len(log_prob))
    is_best = log_prob >= log_prob.max(axis=1, keepdims=True) - 1e-12
    scores = pd.DataFrame({"risk": np.exp(log_prob[targets, truth])})
    scores["claimed"] = np.exp(log_prob.max(axis=1))
    scores["identified"] = is_best[targets, truth] / is_best.sum(axis=1)
    scores["gain"] = log_prob[targets, truth] + np.log(log_prob.shape[1])
    return scores.assign(data_set=data_set)


# %% [markdown]
# Bayes' rule on the release by trees, and the scores of each data set:

# %%
scores = []
for data_set, (data, rows, candidates, truth, releases) in enumerate(drawn):
    log_p = log_likelihoods(trees, [releases["trees"]], data, rows, candidates)
    score_of_set = score(log_p, truth, data_set)
    scores.append(score_of_set.assign(targets="drawn from the prior"))

# %% [markdown]
# Then targets as they are, for the same intruder and for one with another prior: the product of the margins of the
# records that are no targets. Its logarithm, then the scores of both intruders:


# %%
def margins_prior(data, rows, candidates):
    """Return for each candidate a sum over variables: log frequency of its value."""
    others = np.delete(data, rows, axis=0)
    log_prior = np.zeros(candidates.shape[:2])
    for k in range(len(levels)):
        counts = np.bincount(others[:, k], minlength=levels[k])
        log_prior += np.log(counts + 0.5)[candidates[:, :, k]]
    return bayes.posterior(log_prior)


# %%
truth = np.zeros(n_targets, int)  # the first candidate
for data_set, rng in enumerate(stream(seed, "as they are").spawn(n_sets)):
    data, rows, candidates = draw_targets(rng)
    release = trees.release(data, rng=rng)
    log_p = log_likelihoods(trees, [release], data, rows, candidates)
    uniform = score(log_p, truth, data_set)
    scores.append(uniform.assign(targets="as they are"))

    log_prior = margins_prior(data, rows, candidates)
    log_gain = (log_posterior(log_p, log_prior) - log_prior)[:, 0]
    margins = score(log_p, truth, data_set, log_prior).assign(gain=log_gain)
    scores.append(margins.assign(targets="as they are, prior from margins"))

# %% [markdown]
# Targets in one data set share a release, so all errors in this notebook are standard errors between data sets (later
# between pairs of splits), and a difference within two of them is a tie. `averages` returns means of the scores and of
# *overstated*, claimed minus identified; here a row for each kind of targets.


# %%
def averages(scores, keys):
    """Return means over targets; for gain and overstated also the standard errors."""
    by_set = scores.groupby([*keys, "data_set"], sort=False).mean()
    by_set["overstated"] = (by_set["claimed"] - by_set["identified"]).round(12)
    groups = by_set.groupby(keys, sort=False)
    errors = groups[["gain", "overstated"]].sem().add_suffix("_se")
    return groups.mean().join(errors).reset_index()


# %% tags=["monte-carlo"]
best_guesses = pd.concat(scores)
as_they_are = outputs.table("as_they_are", averages(best_guesses, ["targets"]))
by_targets = as_they_are.set_index("targets")
quantities = ["risk", "claimed", "identified"]
risk, claimed, identified = by_targets.loc["as they are", quantities]
_ = outputs.result("found_as_they_are", identified)

# %% tags=["monte-carlo", "hide-input"]
heads = {
    "targets": "targets",
    "risk": "mean risk",
    "claimed": "claimed",
    "identified": "identified",
    "overstated": "claimed minus identified",
}
caption = "Releases by trees: risk, and what best guesses claim and identify."
show(with_errors(as_they_are, heads), caption=caption)

# %% tags=["monte-carlo", "hide-input"]
callout(
    "Records as they are",
    f"The best guesses claim {claimed:.2f} on average, and identify {identified:.2f} of the "
    f"targets: {identified / claimed:.1f} times what they claim. The mean risk is {risk:.2f}; "
    f"calibrated probabilities with this mean risk identify between {risk:.2f} and "
    f"{np.sqrt(risk):.2f}. A share within these bounds may still not be calibrated.",
)

# %% [markdown]
# The same by size of the claim: `reliability` takes claimed probabilities, with whether each came *true*, and puts them
# into bins. For each bin it returns the mean claim and the share true, with two errors between data sets to each side.


# %%
def reliability(claims, curve):
    """Return a row for each bin: mean claim, share true and the ends of its interval."""
    bins = np.digitize(claims["claimed"], [0.03, 0.1, 0.3, 0.5, 0.7, 0.9])
    rows = []
    for _, part in claims.groupby(bins):
        share = part["true"].mean()
        residuals = (part["true"] - share).groupby(part["data_set"]).sum()
        error = np.nan_to_num(residuals.sem()) * len(residuals) / len(part)
        low, high = np.clip([share - 2 * error, share + 2 * error], 0, 1)
        rows.append((curve, part["claimed"].mean(), share, low, high))
    columns = ["curve", "predicted", "observed", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


# %% [markdown]
# The claims of the figure are best guesses, true where the record is identified. Each kind of targets has a curve:

# %%
claims = best_guesses.rename(columns={"identified": "true"})
curves = [
    reliability(part, name) for name, part in claims.groupby("targets", sort=False)
]

# %% tags=["monte-carlo", "hero", "hide-input"]
about = (
    "Points with intervals beside the diagonal. Best guesses at drawn records lie near it. For "
    "records as they are, small claims from a uniform prior lie above it."
)
chart = charts.reliability(pd.concat(curves), description=about)
outputs.figure("as_they_are", chart)

# %% [markdown]
# **For records as they are and leaves of 5, best guesses that claim about one in five are true more often.** Share of best
# guesses that are true, by what they claim, ± two standard errors. Dotted: calibration; points above claim too little.
# Releases by trees, which the intruder knows; the prior is uniform where the legend names no other. Bins from a single
# data set, or in which all guesses are true, have no interval, which understates the error.
#
# Synthesizer and likelihood are the same in all rows, the prior in the first two. Data sets and people
# differ, and all drawn targets of a data set are replaced at once, so each is among other replaced records.
# Drawn records follow the prior, so claimed minus identified is zero in expectation. People's values do not follow it:
# the uniform prior takes a record for as probable as a neighbor that hardly occurs. The last row tests this explanation
# with the same people and releases: with the margins as prior, best guesses no longer claim too little on average, and
# may claim too much. So the average depends on the prior, and people are drawn from neither. It depends on the leaves as
# well: with `min_leaf = 20`, guesses under the uniform prior claim too much.

# %% [markdown]
# ### Exercise 3: which sentence does the table not support?
#
# A report on a release by trees says: (a) "on average the best guesses at drawn targets claim about as much as
# they identify"; (b) "of the people in our file, those with a risk of .9 are identified in nine of ten cases"; (c)
# "for drawn targets the mean risk is at most the expected share identified". Its experiment replaces records by draws
# from their candidates. Which sentence is not supported (`unsupported`)?

# %% tags=["solution"]
# Solution
unsupported = "b"
assert unsupported == "b"

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The people in the file were not drawn from the intruder's prior. The share of them that is identified depends on how
# probable their values and those of the other candidates were a priori.
#
# </details>

# %% [markdown]
# ## A wrong model for the synthesizer
#
# Agencies need not disclose their [synthesizer](../docs/guide/glossary.md#synthesizer). Here the prior is right,
# because the targets are the drawn ones, and the intruder assumes a synthesizer. *Smoothed* trees add a tenth of a record
# to each leaf, so nothing is impossible. A release that is impossible for every candidate *refutes* the model. The
# mixture itself is not among the `assumed` models, because
# its density given the data has no closed form. So only the trees have a pair with the correct model:

# %%
smooth = Growth(min_leaf, smoothing=0.1)
assumed = {
    "trees": trees,
    "trees, smoothed": SequentialTrees(ACS, growth=smooth),
    "reverse order, smoothed": SequentialTrees(ACS, ACS.names[::-1], smooth),
    "independent margins": DirichletMargins(levels),
}
pairs = [("trees", name) for name in assumed]
pairs += [("mixture", name) for name in assumed if name != "reverse order, smoothed"]

# %% [markdown]
# For each data set and pair of synthesizer and assumed model, the loop makes the scores, with *refuted*. For the figure
# it keeps the probability of each candidate of each target, and whether it is true:

# %%
scores = []
claims = []
for data_set, (data, rows, candidates, truth, releases) in enumerate(drawn):
    is_true = (np.arange(candidates.shape[1]) == truth[:, None]).ravel()
    for synthesizer, model in pairs:
        release = [releases[synthesizer]]
        log_p = log_likelihoods(assumed[model], release, data, rows, candidates)
        log_prob = log_posterior(log_p)
        refuted = np.isneginf(log_p).all(axis=1)
        labels = {"synthesizer": synthesizer, "assumed": model}
        score_of_set = score(log_p, truth, data_set)
        scores.append(score_of_set.assign(refuted=refuted, **labels))
        claim = pd.DataFrame({"claimed": np.exp(log_prob).ravel(), "true": is_true})
        claims.append(claim.assign(data_set=data_set, **labels))

# %% [markdown]
# Their means, a row for each pair:

# %% tags=["monte-carlo"]
scores = pd.concat(scores)
wrong = outputs.table("assumed", averages(scores, ["synthesizer", "assumed"]))

# %% tags=["monte-carlo", "hide-input"]
heads = {
    "synthesizer": "synthesizer",
    "assumed": "assumed",
    "claimed": "claimed",
    "identified": "identified",
    "overstated": "claimed minus identified",
    "gain": "gain",
    "refuted": "refuted",
}
caption = "What intruders claim and identify, by assumption."
show(with_errors(wrong, heads), caption=caption)

# %% [markdown]
# Where *gain* is below zero the intruder would do better without the release. *Refuted*, the share of targets of which
# no candidate could have led to the release, is 1 for trees without smoothing after the mixture. The intruder who takes
# the mixture for smoothed trees gives the best guesses most of the probability, and hardly any is true. Independent
# margins claim little, and for the mixture still more than they identify.
#
# The figure tests the probabilities of all candidates, not only of the best guesses, with a curve for each of three
# pairs:

# %%
pictured = {
    ("trees", "trees"): "trees, correct model",
    ("mixture", "trees, smoothed"): "mixture taken for trees",
    ("trees", "reverse order, smoothed"): "trees taken for trees in reverse order",
}
claims = pd.concat(claims).set_index(["synthesizer", "assumed"]).sort_index()
curves = [reliability(claims.loc[key], curve) for key, curve in pictured.items()]

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Points with intervals beside the diagonal. Intruders who know the trees identify what they "
    "claim; for both others hardly any candidate is true, whatever its probability."
)
chart = charts.reliability(pd.concat(curves), description=about)
outputs.figure("reliability", chart)

# %% [markdown]
# **For targets drawn from the prior, the correct model is calibrated and both wrong ones are overconfident.** Share of
# true candidates by posterior probability, ± two standard errors. Dotted: calibration; points below are
# overconfident. The intruder's trees are smoothed where they are not the correct model. Where no candidate of a bin is
# true, the interval has no width, which understates the error.
#
# Wrong guesses can also harm people. An agency that computes risk with its own synthesizer measures the intruder who
# knows it.

# %% [markdown]
# ## Knowing less
#
# Section 3.1 of the paper says that risks deemed acceptable for an intruder who knows $D_{-i}$ should be acceptable for
# one who knows less. Let $B$ be what the weaker intruder sees, the release and some records, and $A$ the further
# records that the stronger one sees. If the posteriors of both are conditional probabilities of one joint
# distribution of records and release, then
#
# $$\mathrm{E}\left[\log \frac{p(x \mid B, A)}{p(x \mid B)} \,\middle|\, B, A\right]
# = \sum_x p(x \mid B, A) \log \frac{p(x \mid B, A)}{p(x \mid B)} \ge 0 .$$
#
# More knowledge does not lower the log probability of the true record *on average* (DeGroot 1962). This says nothing
# about a single record. Nor does it cover the paper's uniform prior: if all candidates are equally probable,
# whoever is known, their distribution is not that of people's records, which resemble each other.
#
# The smallest example has one yes/no variable with a uniform prior on its proportion: one other record $c$, the true
# record $x$ and one released value $z$, each 0 or 1. The model gives $k$ ones among three values, in a given order, the
# probability $\mathrm{B}(1 + k, 4 - k)$. An intruder who knows $m$ values with $k$ ones predicts a one with probability
# $(1 + k)/(2 + m)$. The cell shows the expected log probability of the true record for an intruder who knows nobody and
# for one who knows $c$. Their difference is the formula above on average, with $A$ the other record and $B$ the release:

# %%
expected = np.zeros(2)  # knows nobody, knows the other record
for c, x, z in product([0, 1], repeat=3):
    probability = beta(1 + c + x + z, 4 - c - x - z)
    p_one = np.array([(1 + z) / 3, (1 + c + z) / 4])
    expected += probability * np.log(p_one if x == 1 else 1 - p_one)
expected, np.diff(expected)

# %% [markdown]
# Now 19 other records, of which the intruder knows some, and a release of 20. The sum goes over the ones among the
# known records ($c$), the true record ($x$) and the ones released ($z$), times the number of orders; unknown records
# drop out. An intruder with a uniform prior divides the odds by those that the known records alone give. `expected_log`
# returns the expectations for both priors; with one other record and one released value it agrees with the loop.


# %%
def expected_log(known, released=20):
    """Return the expected log probability of the truth: model's own, uniform prior."""
    c, x, z = np.indices((known + 1, 2, released + 1))
    ones = c + z
    zeros = known + released - ones
    orders = binom(known, c) * binom(released, z)
    probability = orders * np.exp(betaln(1 + ones + x, 2 + zeros - x))
    odds_own = (1 + ones) / (1 + zeros)
    odds_uniform = odds_own * (1 + known - c) / (1 + c)
    expected = []
    for odds in (odds_own, odds_uniform):
        p_truth = np.where(x, odds, 1) / (1 + odds)
        expected.append((probability * np.log(p_truth)).sum())
    return expected


assert np.allclose([expected_log(k, 1)[0] for k in (0, 1)], expected)

# %% [markdown]
# `small` has a row for 0 to 19 known records and a column for each prior. The figure draws it.

# %% tags=["public"]
rows = [(known, *expected_log(known)) for known in range(20)]
columns = ["known", "the model's own prior", "uniform prior"]
small = pd.DataFrame(rows, columns=columns)
outputs.table("knowing_more", small, public=True)
assert small["the model's own prior"].is_monotonic_increasing

# %% tags=["public", "hide-input"]
axes = "Other records known, of 19", "Expected log probability of the true record"
about = (
    "Two curves that begin at one point: with more known records that of the model's own prior "
    "rises slowly, that of the uniform prior falls."
)
chart = charts.lines(small.set_index("known"), *axes, description=about)
outputs.figure("knowing_more", chart, public=True)

# %% [markdown]
# **In this example, knowing more raises the expected log probability of the true record slightly under the model's own
# prior, and lowers it far more under the uniform one.** Exact averages over all data and releases.

# %% [markdown] tags=["written"]
# ### Exercise 4: an acceptable risk
#
# Take the sentence of section 3.1 and the example above. The target record is a *no*; of the 19 others 6 are a *yes*, as
# are 6 of the 20 released ones. What is the posterior probability of the truth, to three decimal places, for an intruder
# who knows all 19 and takes both values for equally probable (`with_even_prior`); for one who knows
# the 19 and takes the model's prediction from them as prior (`with_own_prior`); and for one who knows none
# and assumes the model (`knows_nobody`)? Now let 2 of the 20 released ones be a *yes*. The paper's
# sentence is taken to hold for a prior if the intruder who knows nobody gives the truth at most the probability
# given by the one who knows the 19. For which of the two priors does it hold then (`holds_even`,
# `holds_own`, true or false), and why?
#
# *You will need:* `betabinom.pmf` of scipy.stats; predictive probabilities
# $(1 + \text{how many})/(2 + \text{of how many})$.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# `betabinom.pmf(6, 20, 1 + 6, 1 + 14)` is the probability of the release if the record is a *no*; if it is a *yes*, 7 of
# the 20 records are a *yes*. An intruder who knows nobody sees the 20 released records only.
#
# </details>


# %% tags=["solution"]
# Solution
def posteriors(released_yes):
    """Return the probability of a no: even prior, own prior, nobody known."""
    if_no, if_yes = betabinom.pmf(released_yes, 20, [1 + 6, 1 + 7], [1 + 14, 1 + 13])
    prior_no = (1 + 13) / (2 + 19)
    own_prior = prior_no * if_no / (prior_no * if_no + (1 - prior_no) * if_yes)
    return if_no / (if_no + if_yes), own_prior, (1 + 20 - released_yes) / (2 + 20)


with_even_prior, with_own_prior, knows_nobody = posteriors(6)
even_prior, own_prior, nobody = posteriors(2)
holds_even = nobody <= even_prior
holds_own = nobody <= own_prior
assert round(with_even_prior, 3) == 0.519
assert round(with_own_prior, 3) == 0.683
assert round(knows_nobody, 3) == 0.682
assert not holds_even
assert not holds_own

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# With 6 released *yes* the sentence holds for the model's own prior, .683 against .682, and fails for the even one,
# which discards what the 19 say about the proportion. With 2 it fails for both, for the own prior with .780 against
# .864. The theorem is about the log probability averaged over true values, for each release and each set of known
# records. It orders no single truth.
#
# </details>

# %% [markdown] tags=["appendix"]
# ### The experiment
#
# One sample of people, with nine variables, is split into halves repeatedly. One half takes part, and the mixture
# releases equally many records. Two intruders, who lack three variables, target each participant. One knows *nobody*
# and fits the model to the release alone. The other knows *all others* and fits it to data and release together. Then
# the halves change places, so each pair of splits has everybody as participant once. First the people:

# %%
without = ["LANX", "WAOB", "MIL", "MIG", "SCH"]
nine = Schema(tuple(v for v in ACS.variables if v.name not in without))
unknown = nine.positions(["WKL", "DIS", "HICOV"], "unknown")


def population(n):
    """Return an even number of people, in random order, (n, 9)."""
    codes = embedded_population(n, rng=stream(seed, "records")).codes
    people = np.delete(codes, ACS.positions(without, "without"), axis=1)
    return stream(seed, "halves").permutation(people)[: n // 2 * 2]


# %%
people = population(n_people)
half = len(people) // 2
chains_people = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in_people, n_draws=n_draws_people, thin=8
)

# %% [markdown]
# `fit` draws the model's parameters. `mixing` returns the R-hat of a fit, near 1 if its chains agree about the mean log
# probability.


# %%
def fit(records, chains, rng):
    """Return draws of the mixture's parameters, given the records."""
    return dpmpm.sample_posterior(records, nine.n_levels, chains, rng=rng)


def mixing(draws, records):
    """Return R-hat of the mean log probability of the records."""
    return diagnostics.r_hat(dpmpm.cell_log_prob(draws, records).mean(axis=2))


# %% [markdown]
# Each half releases once and the model is fitted to the half, the release and both:

# %%
fits = []
for pair, rng in enumerate(stream(seed, "divisions").spawn(n_pairs)):
    order = rng.permutation(len(people))
    for turn in (0, half):
        inside = np.roll(order, turn)[:half]
        takes_part = np.isin(np.arange(len(people)), inside)
        agency = fit(people[inside], chains_people, rng)
        (release,) = agency.release(1, half, rng=rng)
        release_fit = fit(release, chains_people, rng)
        both_fit = fit(np.vstack([people[inside], release]), chains_people, rng)
        r_hat = max(mixing(release_fit, people), mixing(both_fit, people))
        fits.append((pair, r_hat, takes_part, agency, release_fit, both_fit))

# %% [markdown]
# An intruder's prediction for person $i$ averages $p(x \mid \theta)$ over the draws of the model's parameters $\theta$.
# If the person is in the data, $p(x \mid \theta) / p(x_i \mid \theta)$ takes its place: the division takes the record
# out of the data again. `predicted` does this for everybody and all 12 combinations of the unknown variables; `in_data`
# says who is in the data.


# %%
def predicted(draws, in_data):
    """Return log probabilities of the unknown values, (people, 12), the true ones first."""
    log_means = subset_log_means(draws, people, unknown, in_data=in_data)  # by chain
    return bayes.posterior(logsumexp(log_means, axis=0))


# %% [markdown]
# What the release alone says about a record is the posterior divided by the prediction without the release. This is the
# posterior from a uniform prior. For each prior of the stronger intruder, a row has means over the participants. *Apart*
# is the log probability of the true record for the weaker intruder minus that for the stronger one, *higher* whether it
# is positive. *Calibrated* and *higher calibrated*, the yardstick, are the same if the true record were drawn from the
# stronger intruder's posterior: a sum over the combinations, each with its probability, as in the formula above. *Off* is
# apart minus calibrated.

# %% tags=["monte-carlo"]
rows = []
for pair, r_hat, takes_part, agency, release_fit, both_fit in fits:
    weaker = predicted(release_fit, in_data=False)
    own = predicted(both_fit, in_data=takes_part)
    without_release = predicted(agency, in_data=takes_part)
    uniform = bayes.posterior(own - without_release)
    for prior, stronger in {"uniform": uniform, "the model's own": own}.items():
        difference = weaker - stronger
        belief = np.exp(stronger)
        is_higher = difference > 0
        means = pd.DataFrame({"apart": difference[:, 0], "higher": is_higher[:, 0]})
        means["calibrated"] = (belief * difference).sum(axis=1)
        means["higher_calibrated"] = (belief * is_higher).sum(axis=1)
        means["off"] = means["apart"] - means["calibrated"]
        labels = {"pair": pair, "prior": prior, "r_hat": r_hat}
        rows.append(labels | dict(means[takes_part].mean()))
divisions = outputs.table("divisions", pd.DataFrame(rows))

# %% [markdown]
# The means, with errors, in a row for each prior:

# %% tags=["monte-carlo"]
by_pair = divisions.groupby(["prior", "pair"], sort=False).mean()
by_prior = by_pair.groupby("prior", sort=False)
means = by_prior.mean().join(by_prior.sem().add_suffix("_se"))
knowing_less = outputs.table("knowing_less", means.reset_index())

# %% tags=["monte-carlo", "hide-input"]
heads = {
    "prior": "prior",
    "apart": "apart",
    "calibrated": "calibrated",
    "off": "off",
    "higher": "higher",
    "higher_calibrated": "higher calibrated",
}
caption = (
    "Log probability of participants' true records: intruder who knows nobody minus one who knows "
    "all others, with the prior of the latter."
)
show(with_errors(knowing_less, heads), caption=caption)

# %% tags=["monte-carlo", "hide-input"]
r_hat = divisions.groupby("pair")["r_hat"].max()
callout(
    "Chains",
    f"R-hat of the mean log probability exceeds {diagnostics.MAX_R_HAT}, the limit for mixed chains, "
    f"in {(r_hat > diagnostics.MAX_R_HAT).sum()} of {len(r_hat)} pairs of splits. The largest is {r_hat.max():.3f}.",
)

# %% [markdown]
# The intruder who knows nobody assumes the model and is the same in both rows. Against the uniform prior, this intruder
# gives the true record a far higher log probability on average; against the model's own prior, a slightly lower one. Even
# there knowing less means more risk for some records, whose share the table gives. Against the uniform prior both numbers are far from the yardstick, *if
# calibrated*. Against the model's own prior the share agrees with it, but the difference is nearer to zero than its
# yardstick. Unmixed chains may explain it, or people who are not drawn from the stronger intruder's posterior; neither is
# tested. Errors are between pairs of splits of one draw of people, and omit that draw.

# %% [markdown] tags=["appendix"]
# ## Participants and outsiders
#
# What a release discloses about outsiders is statistics. What it discloses about participants beyond that is due to
# their participation, as in [membership inference](../docs/guide/glossary.md#membership-disclosure) (Shokri and others
# 2017). After trees, [attacks without exact probabilities](sequential_trees.ipynb) find little of it. Let person $i$ hold
# a place in the data and let $o$ be an outsider; halves are random, so either could hold it.
# The release then has the density $p_i$ or $p_o$. An intruder who knows all others gives the true values of the two the
# probabilities $s_i(Z)$ and $s_o(Z)$. Participants are ahead by
#
# $$\tfrac12 \sum_Z \left[p_i(Z) - p_o(Z)\right] \left[s_i(Z) - s_o(Z)\right]
# \;\le\; \tfrac12 \sum_Z \left|p_i(Z) - p_o(Z)\right| \;\le\; \frac{e^\epsilon - 1}{e^\epsilon + 1} = \tanh(\epsilon / 2)$$
#
# on average. The first step uses that $s_i - s_o$ lies between $-1$ and $1$, the second that $p_i / p_o$ lies between
# $e^{-\epsilon}$ and $e^\epsilon$. For one yes/no answer, half of the people saying yes, and a beta-binomial release,
# both sides are exact. The intruder takes both answers for equally probable, $s_i = p_i / (p_i + p_o)$. For 10, 100 and
# 1,000 people the table has the left side, *ahead*; this times the people; and the bound on the right:

# %% tags=["public"]
rows = []
for n in (10, 100, 1000):
    table = mechanism.beta_binomial(n, n, alpha=1.0)
    data = np.array([n // 2, n // 2 - 1])  # with the answer of i, of o, in the place
    p_i, p_o = np.exp(table.block(data, np.arange(n + 1)))
    ahead = ((p_i - p_o) ** 2 / (p_i + p_o)).sum() / 2
    bound = np.tanh(mechanism.exact_epsilon(table).value / 2)
    rows.append((n, ahead, n * ahead, bound))

# %% tags=["public", "hide-input"]
columns = ["people", "participants ahead", "times people", "bound tanh(epsilon/2)"]
one_answer = pd.DataFrame(rows, columns=columns)
caption = "Increase in the probability of a true answer by participation, exact."
outputs.table("one_answer", one_answer, public=True)
show(one_answer, caption=caption)

# %% [markdown]
# Here $i$ says yes and $o$ says no. For equal answers the difference is 0, so with random halves the average is
# about half of these numbers. They are nearly inversely proportional to the number of people. The bound rises, because it
# is that of the worst data, here data in which everybody gives the same answer.
#
# The next table has six synthesizers, on the nine variables, with three unknown to the intruder. One intruder knows all
# others, takes either person for the holder of the place, and starts from equal probabilities. The other knows nobody,
# takes the release for a sample of the population, and predicts by smoothed trees grown on it. The unknown variables come
# last in these trees, so that their probabilities are conditional on the known ones.

# %%
synthesizers = {
    "trees, leaves of 5": SequentialTrees(nine, growth=Growth(5)),
    "trees, leaves of 20": SequentialTrees(nine, growth=Growth(20)),
    "trees, smoothed": SequentialTrees(nine, growth=Growth(5, smoothing=1.0)),
    "mixture": None,
    "independent margins": PlugInMargins(nine.n_levels),
    "private margins": LaplaceMargins(nine.n_levels, epsilon),
}

# %% [markdown]
# The trees of the intruder who knows nobody:

# %%
last = [nine.names[k] for k in unknown]
order = [name for name in nine.names if name not in last] + last
reader = SequentialTrees(nine, order, Growth(20, smoothing=1.0))

# %% [markdown]
# The intruder who knows all others needs likelihoods. `groups` are the participants and the outsiders. The mixture's
# likelihood is, up to a constant, the prediction from data and release divided by that from the data, both without the
# participant in whose place the candidate stands. Its chains are short, and `r_hats` keeps their R-hat.

# %%
quick = dpmpm.Chains(
    n_classes=n_classes,
    burn_in=burn_in_people // 2,
    n_draws=max(n_draws_people // 2, 30),
    thin=8,
)
r_hats = []


def log_means(draws, groups):
    """Return log predictive probabilities of both groups' candidates, (2, n, 12)."""
    means = [
        subset_log_means(draws, group, unknown, replaced=groups[0]) for group in groups
    ]
    return logsumexp(means, axis=1)


# %%
def by_chains(groups, rng):
    """Return a release by the mixture and log likelihoods, with Monte Carlo error."""
    agency = fit(groups[0], quick, rng)
    (release,) = agency.release(1, len(groups[0]), rng=rng)
    both_fit = fit(np.vstack([groups[0], release]), quick, rng)
    both_groups = np.concatenate(groups)
    r_hats.extend([mixing(agency, both_groups), mixing(both_fit, both_groups)])
    return release, log_means(both_fit, groups) - log_means(agency, groups)


# %% [markdown]
# For the other synthesizers a density gives the likelihood of each candidate. `candidates` are the 12 combinations of
# each person, (2 groups, places, 12, 9 variables). An outsider's candidates stand in the place of one participant, so
# each place has 12 + 12. Their log likelihoods are computed together and split into the two groups again.


# %%
def release_and_log_p(synthesizer, groups, candidates, places, rng):
    """Return a release and log likelihoods of both groups' candidates, (2, places, 12)."""
    if synthesizer is None:  # the mixture
        return by_chains(groups, rng)
    release = synthesizer.release(groups[0], rng=rng)
    if isinstance(synthesizer, Margins):  # cheap, so all places are used
        places = np.arange(len(groups[0]))
    both_groups = np.concatenate(candidates[:, places], axis=1)  # (places, 24, 9)
    log_p = log_likelihoods(synthesizer, [release], groups[0], places, both_groups)
    return release, np.array(np.split(log_p, 2, axis=1))


# %% [markdown]
# Now each synthesizer releases each half once. For each release and intruder, a row has the mean probability of the true
# values for outsiders, and how far participants are ahead.

# %% tags=["monte-carlo"]
rows = []
for n in sizes:
    drawn = population(n)
    half = n // 2
    values = np.array([subset_support(x, unknown, nine.n_levels) for x in drawn])
    for pair, rng in enumerate(stream(seed, "synthesizers").spawn(n_pairs)):
        order = rng.permutation(len(drawn))
        places = rng.permutation(half)[:n_places]
        for turn, name in product((0, half), synthesizers):
            halves = np.roll(order, turn).reshape(2, half)
            groups, candidates = drawn[halves], values[halves]
            release, log_p = release_and_log_p(
                synthesizers[name], groups, candidates, places, rng
            )
            records = candidates.reshape(-1, candidates.shape[-1])
            log_prob = reader.fit(release).record_log_prob(records, unknown)
            log_probs = {"nobody": log_prob.reshape(candidates.shape[:3])}
            log_probs["all others"] = log_posterior(log_p)
            for known, log_prob in log_probs.items():
                inside, outside = np.exp(log_prob[:, :, 0]).mean(axis=1)
                rows.append((half, name, known, pair, outside, inside - outside))

# %% [markdown]
# The means, in a row for each size, synthesizer and intruder; then a table with a row for each synthesizer:

# %% tags=["monte-carlo"]
keys = ["participants", "synthesizer", "known"]
comparison = pd.DataFrame(rows, columns=[*keys, "pair", "outsiders", "ahead"])
by_pair = comparison.groupby([*keys, "pair"], sort=False).mean()
groups = by_pair.groupby(keys, sort=False)
taking_part = groups.mean().join(groups.sem().add_suffix("_se")).reset_index()
_ = outputs.table("taking_part", taking_part)

# %% tags=["monte-carlo", "hide-input"]
shown = {"synthesizer": list(synthesizers)}
for column, known in {"ahead": "all others", "outsiders": "nobody"}.items():
    part = taking_part[taking_part["known"] == known]
    for n, of_size in part.groupby("participants"):
        texts = with_errors(of_size, {column: column})[column]
        shown[f"{column}, n = {n:,}"] = texts.to_list()
caption = "Lead of participants (all others known), and probability for outsiders (nobody known)."
show(pd.DataFrame(shown), caption=caption)

# %% tags=["monte-carlo", "hide-input"]
callout(
    "Bound and prior",
    f"By epsilon, private margins put participants at most {np.tanh(epsilon / 2):.2f} ahead. "
    f"Under a uniform prior the true values have probability {1 / values.shape[1]:.3f}.",
)

# %% tags=["monte-carlo", "hide-input"]
has_not_mixed = np.array(r_hats) > diagnostics.MAX_R_HAT
callout(
    "Chains",
    f"Chains with an R-hat above {diagnostics.MAX_R_HAT} have not mixed. Among the fits of the "
    f"mixture these are {has_not_mixed.sum()} of {len(r_hats)}; the largest R-hat is "
    f"{max(r_hats):.3f}.",
)

# %% [markdown]
# For the intruder who knows all others, participants are far further ahead after trees than after the mixture. They are
# also further ahead after the mixture than after margins, but the mixture's chains are short: where they have not mixed,
# its row is not decided. Each size has its own people, drawn once, and the errors omit that draw, so sizes are
# not compared. A release by trees may refute all candidates of a person; the posterior then stays at the prior, which is
# part of these rows.
#
# An intruder who knows nobody learns statistics about outsiders: on average, after each synthesizer their true values
# are more probable than under the uniform prior. An intruder who knows how common values are starts from more:
# independent margins release nothing else, and already give much more.
#
# **Limits.** Targets are drawn uniformly from their candidates, which makes some unlike real people. A check on average
# over records can pass where probabilities are too high for one kind of record and too low for another. The bound covers
# every reader of the release; the table has two.

# %% [markdown] tags=["appendix"]
# ## References
#
# - Dawid, A. P. (1982). [The well-calibrated Bayesian](https://doi.org/10.1080/01621459.1982.10477856).
#   *Journal of the American Statistical Association* 77, 605–610.
# - DeGroot, M. H. (1962). [Uncertainty, information, and sequential
#   experiments](https://doi.org/10.1214/aoms/1177704567). *Annals of Mathematical Statistics* 33, 404–419.
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). [Membership inference attacks against machine
#   learning models](https://doi.org/10.1109/SP.2017.41). *IEEE Symposium on Security and Privacy*, 3–18.
