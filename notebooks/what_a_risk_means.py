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
# Agencies report the [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) that an intruder gives to a record's true
# values. Does it come true as often as it says? Records are drawn and released, and those that an intruder's best guess
# identifies are counted. If each true record is drawn from the intruder's prior and the intruder knows
# the synthesizer, a probability of $p$ is right for a share $p$: that is Bayes' rule. For records as they are, released
# by trees, best guesses are right more often than they claim. An intruder who assumes another synthesizer can be sure
# and wrong.

# %% [markdown] tags=["notebook-only"]
# On average, an intruder who knows nobody and assumes the model gives the true record a lower log probability than one
# who knows all others and has the model's own prior, and a higher one than one who knows all others and has a
# uniform prior. The last section separates what a release discloses about participants and about everybody.
#
# ## Parameters
#
# All records are simulated: the first experiments draw new data sets from a population, the later ones
# split people drawn once, or once per size. `params/what_a_risk_means/published.yaml` takes more
# and larger data sets.

# %% tags=["parameters"]
n_records: int = 200  # [30, 2000] records of a data set with some targets
n_sets: int = 14  # [5, 100] such data sets
n_targets: int = 20  # [2, 30] target records in each
min_leaf: int = 5  # [1, 30] minimum leaf size of the trees
n_classes: int = 10  # [1, 50] latent classes of the mixture, F
burn_in: int = 300  # [0, 5000] iterations dropped from each chain of the mixture
n_draws: int = 40  # [10, 500] draws kept from each chain
n_people: int = 600  # [40, 6000] people, half of whom take part, where intruders know less
sizes: list[int] = [200, 600]  # [80, 6000] numbers of people where participants are compared
n_pairs: int = 5  # [3, 50] splits into participants and outsiders, each used both ways
n_places: int = 20  # [1, 40] participants, and outsiders in their places, in each split
burn_in_people: int = 400  # [0, 5000] iterations dropped from each chain in splits
n_draws_people: int = 60  # [30, 500] draws kept from each of these chains
epsilon: float = 1.0  # [0.01, 20] privacy budget of the private margins
seed: int = 1982  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import betaln, binom, gammaln, logsumexp, xlogy
from scipy.stats import betabinom

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib.data.acs import ACS, embedded_population
from srlib.data.schema import Schema, Variable
from srlib.display import callout, show, with_errors
from srlib.margins import DirichletMargins, LaplaceMargins, Margins, PlugInMargins
from srlib.mechanism.bayes import posterior
from srlib.mechanism.families import compositions
from srlib.outputs import Outputs
from srlib.progress import silent
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
# Of the people with .25, one in four is sick. The probability and the share are the same fraction, since both
# count the same people. A probability that keeps this promise is called *calibrated* (Dawid 1982). An
# intruder who assumes that answers are never reversed claims 1 after a yes, and is right for .25.

# %% [markdown]
# ### Exercise 1: a wrong prior (pencil)
#
# An intruder takes half of the 1,000 people to be sick. Which probabilities
# (`claimed_yes`, `claimed_no`) of being sick does this intruder claim after a yes and after a no? What is the mean log
# ratio of posterior to the intruder's own prior probability of the truth (`gain`, natural logarithms, three decimal places)?

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
gain = sum(
    people * np.log(belief / 0.5) / 1000
    for people, belief in [(75, 0.75), (225, 0.25), (25, 0.25), (675, 0.75)]
)
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
# Let $X$ be a record, drawn from a [prior](../docs/guide/glossary.md#prior) $\pi$ over fixed [candidates](../docs/guide/glossary.md#candidate). The release $Z$ has
# the density $p(Z \mid X, D_{-i})$, where $D_{-i}$ are the other records. An intruder who knows $D_{-i}$, $\pi$ and
# the synthesizer gives candidate $x$ the probability
#
# $$q_Z(x) = \frac{\pi(x)\, p(Z \mid x, D_{-i})}{\sum_y \pi(y)\, p(Z \mid y, D_{-i})} = P(X = x \mid Z, D_{-i}).$$
#
# Among all pairs of a release and a candidate with $q_Z(x) = p$, a share $p$ is therefore true. $D_{-i}$ may come
# from anywhere, as long as $X$ is drawn from $\pi$ whatever it is, and the synthesizer may be of any kind.
#
# The enumeration below covers all data sets of the others, true records and releases of small
# synthesizers. The first cell of the table has twice the prior probability of any other. Trees on two yes/no variables
# are also such a table: a row for each data set of four cells, a column for each release.


# %%
def joint_probabilities(table: mechanism.Mechanism) -> np.ndarray:
    """Return the joint probability of others and release (rows) and true record (columns)."""
    counts = np.asarray(table.inputs)
    if counts.ndim == 1:
        counts = np.stack([counts.max() - counts, counts], axis=1)
    row_of = {tuple(row): i for i, row in enumerate(counts.tolist())}
    n, n_cells = int(counts[0].sum()), counts.shape[1]
    others, cells = compositions(n - 1, n_cells), np.eye(n_cells, dtype=int)
    rows = np.array([[row_of[tuple(o)] for o in (other + cells).tolist()] for other in others])
    prior = np.append(2.0, np.ones(n_cells - 1)) / (n_cells + 1)
    log_p = table.block(rows.ravel(), np.arange(table.n_outputs)).reshape(*rows.shape, -1)
    joint = np.exp(np.moveaxis(log_p, 2, 1)).reshape(-1, n_cells) * prior / len(others)
    return joint[joint.any(axis=1)]


# %%
def trees_as_table(n: int, min_leaf: int) -> mechanism.Mechanism:
    """Return the probabilities of all releases of n records, given n of two yes/no variables."""
    schema = Schema(tuple(Variable(name, ("0", "1")) for name in ("first", "second")))
    synthesizer = SequentialTrees(schema, growth=Growth(min_leaf))
    cells, tables = np.indices((2, 2)).reshape(2, -1).T, compositions(n, 4)
    orders = gammaln(n + 1) - gammaln(tables + 1).sum(axis=1)
    log_p = []
    for counts in tables:
        trees = synthesizer.fit(np.repeat(cells, counts, axis=0))
        log_p.append(
            orders + xlogy(tables, np.exp([trees.log_prob(c[None]) for c in cells])).sum(1)
        )
    names = [tuple(map(int, counts)) for counts in tables]
    pairs = mechanism.table_neighbors(tables)
    return mechanism.Mechanism.from_table(np.array(log_p), pairs, names, names)


# %%
tables = {
    "plug-in, 6 records": mechanism.bernoulli_plugin(6, 6, alpha=0.5),
    "beta-binomial, 6 records": mechanism.beta_binomial(6, 6, alpha=0.5),
    "Dirichlet-multinomial, 3 cells": mechanism.dirichlet_multinomial(4, 4, [0.5, 1.0, 2.0]),
    "mixture, 2 classes": dpmpm.enumerate_mechanism(3, 3, [2, 2], 2),
    "trees, leaves of 1": trees_as_table(4, 1),
    "trees, leaves of 2": trees_as_table(4, 2),
}

# %% tags=["public"]
rows = []
for name, table in tables.items():
    joint = joint_probabilities(table)
    q = joint / joint.sum(axis=1, keepdims=True)
    risk, best = (joint * q).sum(), q >= q.max(axis=1, keepdims=True) - 1e-12
    found = (joint * best / best.sum(axis=1, keepdims=True)).sum()
    rows.append((name, risk, found, np.sqrt(risk)))
families = pd.DataFrame(rows, columns=["synthesizer", "risk", "found", "bound"])
outputs.table("families", families, public=True)
names = {"risk": "mean risk r", "found": "identified by a best guess", "bound": "square root of r"}
show(families, caption="Exact mean probability of the true record, share identified.", names=names)

# %% [markdown]
# The table has two numbers that are easily confused. The *mean risk* is the mean probability of the true record,
# $r = \mathrm{E}\, q_Z(X)$. The share *identified* is that of the records whose most probable candidate is true; its
# expectation is $f$. Calibration gives $r = \mathrm{E} \sum_x q_Z(x)^2$ and $f = \mathrm{E} \max_x q_Z(x)$. Since
# $(\max q)^2 \le \sum q^2 \le \max q$, and since $(\mathrm{E} \max q)^2 \le \mathrm{E} (\max q)^2$,
#
# $$r \le f \le \sqrt r .$$
#
# The enumeration illustrates this and does not test it: its $q$ is calibrated by construction.

# %% [markdown]
# ### Exercise 2: bounds (pencil)
#
# An agency reports a mean risk of .09 for calibrated probabilities. Between which bounds is the share of records
# identified (`least`, `most`)? At another agency, best guesses identify 30 % of the records. Between which
# bounds is its mean risk (`lowest`, `highest`)?

# %% tags=["solution"]
# Solution
least, most = 0.09, np.sqrt(0.09)
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
# equally probable, knows all other records and sees one release by [unpruned trees](../docs/guide/glossary.md#unpruned-trees) (Reiter 2005). In
# the first experiment each target is replaced by a draw from its candidates before the release. In the second, targets
# stay as they are, as in the paper and for every agency.
#
# `log_likelihoods` computes $\log p(Z \mid x, D_{-i})$ exactly: it regrows the trees with the record changed. The mixture
# also releases the data sets with drawn targets ([hu_reiter_wang](hu_reiter_wang.ipynb)), for the next section. Targets in
# one data set share a release, so all errors in this notebook are standard errors between data sets (later between pairs
# of splits), and a difference within two of them is a tie.


# %%
def believe(log_likelihood: np.ndarray) -> np.ndarray:
    """Return the log posterior from a uniform prior, which stays if all candidates are refuted."""
    refuted = np.isneginf(log_likelihood).all(axis=1, keepdims=True)
    return posterior(np.where(refuted, 0.0, log_likelihood))


# %%
def score(log_q: np.ndarray, truth: np.ndarray, data_set: int) -> pd.DataFrame:
    """Return a row for each target: risk, claim of the best guess, and whether it is right."""
    row, best = np.arange(len(log_q)), log_q >= log_q.max(axis=1, keepdims=True) - 1e-12
    told = {"data_set": data_set, "risk": np.exp(log_q[row, truth])}
    told |= {"claimed": np.exp(log_q.max(axis=1)), "found": best[row, truth] / best.sum(axis=1)}
    return pd.DataFrame(told | {"gain": log_q[row, truth] + np.log(log_q.shape[1])})


# %%
levels = ACS.n_levels
trees = SequentialTrees(ACS, growth=Growth(min_leaf))
chains = dpmpm.Chains(n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=8, n_chains=4)
drawn = []
with silent():
    for own in stream(seed, "known").spawn(n_sets):
        data = embedded_population(n_records, rng=own).codes
        rows = own.choice(n_records, n_targets, replace=False)
        candidates = one_variable_supports(data[rows], levels)
        truth = own.integers(candidates.shape[1], size=n_targets)
        data[rows] = candidates[np.arange(n_targets), truth]
        draws = dpmpm.sample_posterior(data, levels, chains, rng=own)
        released = {"trees": trees.release(data, rng=own)}
        released["mixture"] = draws.release(1, n_records, rng=own)[0]
        drawn.append((data, rows, candidates, truth, released))

# %%
experiments: dict[tuple, list] = {("drawn from the prior",): [], ("as they are",): []}
for at, (data, rows, candidates, truth, released) in enumerate(drawn):
    log_p = log_likelihoods(trees, [released["trees"]], data, rows, candidates)
    experiments["drawn from the prior",].append(score(believe(log_p), truth, at))
for at, own in enumerate(stream(seed, "as they are").spawn(n_sets)):
    data = embedded_population(n_records, rng=own).codes
    rows = own.choice(n_records, n_targets, replace=False)
    candidates = one_variable_supports(data[rows], levels)  # the true record first
    log_p = log_likelihoods(trees, [trees.release(data, rng=own)], data, rows, candidates)
    experiments["as they are",].append(score(believe(log_p), np.zeros(n_targets, int), at))


# %%
def averages(scores: dict[tuple, list], names: list[str]) -> pd.DataFrame:
    """Return means over targets, with errors between data sets of two of them."""
    told = []
    for key, parts in scores.items():
        by_set = pd.concat(parts).groupby("data_set").mean()
        by_set["overstated"] = (by_set["claimed"] - by_set["found"]).round(12)
        errors = by_set[["gain", "overstated"]].sem().add_suffix("_se")
        told.append({**dict(zip(names, key, strict=True)), **by_set.mean(), **errors})
    return pd.DataFrame(told)


# %% tags=["monte-carlo"]
both = outputs.table("as_they_are", averages(experiments, ["targets"]))
heads = {"targets": "targets", "risk": "mean risk", "claimed": "claimed"}
heads |= {"found": "identified", "overstated": "claimed minus identified"}
caption = "Releases by trees: risk, and what best guesses claim and identify."
display(show(with_errors(both, heads), caption=caption))
risk, claimed, found = both.set_index("targets").loc["as they are", ["risk", "claimed", "found"]]
outputs.result("found_as_they_are", found)
callout(
    "Records as they are",
    f"The best guesses claim {claimed:.2f} on average, and {found:.2f} of them are right: "
    f"{found / claimed:.1f} times what they claim. The mean risk is {risk:.2f}; calibrated probabilities "
    f"with this mean risk identify between {risk:.2f} and {np.sqrt(risk):.2f}.",
)

# %% [markdown]
# Synthesizer, likelihood and the intruder's prior are the same in both rows. Data sets and people
# differ, and all drawn targets of a data set are replaced at once, so each is among other replaced
# records. Drawn records follow the prior, so claimed minus identified is zero in expectation. People's
# values do not follow it: the uniform prior takes a record for as probable as a neighbor that hardly occurs.
# Claimed minus identified shows that best guesses at them claim too little. That more are identified than the
# mean risk shows nothing, since it is so in both rows: the mean risk is not the share of people identified.

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
# Agencies need not disclose their [synthesizer](../docs/guide/glossary.md#synthesizer). Here the prior is right, because the targets are the
# drawn ones, and the intruder assumes a synthesizer: trees with variables in reverse order, trees in place of the
# mixture, or independent margins. *Smoothed* trees add a tenth of a record to each leaf, so nothing is impossible.
# Without smoothing a release may be impossible for every candidate. This *refutes* the model, and the posterior stays at
# the prior.

# %%
smooth = Growth(min_leaf, smoothing=0.1)
assumed = {
    "trees": trees,
    "trees, smoothed": SequentialTrees(ACS, growth=smooth),
    "reverse order, smoothed": SequentialTrees(ACS, ACS.names[::-1], smooth),
    "independent margins": DirichletMargins(levels),
}
asked = [("trees", name) for name in assumed]
asked += [("mixture", name) for name in ("trees", "trees, smoothed", "independent margins")]

# %%
scores: dict[tuple, list] = {key: [] for key in asked}
candidate_is_true: dict[tuple, list] = {key: [] for key in asked}
for at, (data, rows, candidates, truth, released) in enumerate(drawn):
    is_true = np.arange(candidates.shape[1]) == truth[:, None]
    for generator, name in asked:
        log_p = log_likelihoods(assumed[name], [released[generator]], data, rows, candidates)
        log_q, refuted = believe(log_p), np.isneginf(log_p).all(axis=1)
        scores[generator, name].append(score(log_q, truth, at).assign(refuted=refuted))
        every = {"data_set": at, "claimed": np.exp(log_q).ravel(), "true": is_true.ravel()}
        candidate_is_true[generator, name].append(pd.DataFrame(every))

# %% tags=["monte-carlo"]
wrong = outputs.table("assumed", averages(scores, ["synthesizer", "assumed"]))
heads = {"synthesizer": "synthesizer", "assumed": "assumed", "claimed": "claimed"}
heads |= {"found": "identified", "overstated": "claimed minus identified"}
heads |= {"gain": "gain", "refuted": "refuted"}
show(with_errors(wrong, heads), caption="What intruders claim and identify, by assumption.")

# %% [markdown]
# *Gain* is the mean log ratio of posterior to prior of the true record; below zero the intruder would do better without
# the release. The intruder who takes the mixture for smoothed trees gives the best guesses most of the probability, and
# hardly any is right. Independent margins claim little, and for the mixture still more than they identify.
#
# The figure tests the probabilities of all candidates of all targets, not only of the best guesses.

# %% tags=["monte-carlo", "hero"]
pictured = {
    "trees, correct model": ("trees", "trees"),
    "mixture, assumed trees": ("mixture", "trees, smoothed"),
}
pictured["trees, assumed reverse order"] = ("trees", "reverse order, smoothed")
curves = []
for name, key in pictured.items():
    every = pd.concat(candidate_is_true[key])
    every["bin"] = np.digitize(every["claimed"], [0.03, 0.1, 0.3, 0.5, 0.7, 0.9])
    for _, part in every.groupby("bin"):
        claimed, found = part["claimed"].mean(), part["true"].mean()
        off = (part["true"] - found).groupby(part["data_set"]).sum()
        error = np.sqrt(len(off) / max(len(off) - 1, 1) * (off**2).sum()) / len(part)
        low, high = np.clip([found - 2 * error, found + 2 * error], 0, 1)
        curves.append((name, claimed, found, low, high))
curves = pd.DataFrame(curves, columns=["curve", "predicted", "observed", "low", "high"])
told = "Points with intervals beside the diagonal. Intruders who know the trees identify what they "
told += "claim; for both others hardly any candidate is true, whatever its probability."
outputs.figure("reliability", charts.reliability(curves, description=told))

# %% [markdown]
# **For targets drawn from the prior, the correct model is calibrated, the two wrong ones are overconfident.** Share of
# true candidates by posterior probability, with two standard errors to each side. Dotted: calibration; points below
# are overconfident. The legend names the synthesizer, then the intruder's model. Where no candidate of a bin is true,
# the interval has no width, which understates the error.
#
# A sharp but wrong model makes intruders sure of wrong values, which can also harm people. An agency that
# computes risk with its own synthesizer measures the intruder who knows it.

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
# The smallest example has one yes/no variable with a uniform prior on its proportion. The intruder knows some of 19 other
# records and sees a release of 20. The sum goes over the ones among the known records ($c$), the true
# record ($x$) and the ones released ($z$); unknown records drop out.


# %%
def expected_log(known: int, released: int = 20) -> tuple[float, float]:
    """Return the expected log probability of the truth for the model's own and a uniform prior."""
    c, x, z = np.indices((known + 1, 2, released + 1))
    zeros = known + 1 + released - c - x - z
    ways = np.log(binom(known, c)) + np.log(binom(released, z))
    probability = np.exp(ways + betaln(1 + c + x + z, 1 + zeros))
    before, after = (1 + c) / (2 + known), (1 + c + z) / (2 + known + released)
    odds = after / (1 - after) * (1 - before) / before  # what the release alone says
    own, uniform = (np.where(x, p, 1 - p) for p in (after, odds / (1 + odds)))
    return (probability * np.log(own)).sum(), (probability * np.log(uniform)).sum()


# %% tags=["public"]
small = pd.DataFrame([(known, *expected_log(known)) for known in range(20)])
small.columns = ["known", "the model's own prior", "uniform prior"]
outputs.table("knowing_more", small, public=True)
assert small["the model's own prior"].is_monotonic_increasing
axes = "Other records known, of 19", "Expected log probability of the true record"
told = "Two curves that begin at one point: with more known records that of the model's own prior "
told += "rises slowly, that of the uniform prior falls."
chart = charts.lines(small.set_index("known"), *axes, description=told)
outputs.figure("knowing_more", chart, public=True)

# %% [markdown]
# **Knowing more raises the log probability of the true record under the model's own prior and lowers it under the uniform
# one.** Exact averages over all data and releases.

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
# *You will need:* `betabinom.pmf` of scipy.stats; predictive probabilities $(1 + \text{how many})/(2 + \text{of how many})$.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# `betabinom.pmf(6, 20, 1 + 6, 1 + 14)` is the probability of the release if the record is a *no*; if it is a *yes*, 7 of
# the 20 records are a *yes*. An intruder who knows nobody sees the 20 released records only.
#
# </details>


# %% tags=["solution"]
# Solution
def posteriors(of_released: int) -> tuple[float, float, float]:
    """Return the probability of a no: even prior, own prior, nobody known."""
    if_no, if_yes = betabinom.pmf(of_released, 20, [1 + 6, 1 + 7], [1 + 14, 1 + 13])
    prior_no = (1 + 13) / (2 + 19)
    own_prior = prior_no * if_no / (prior_no * if_no + (1 - prior_no) * if_yes)
    return if_no / (if_no + if_yes), own_prior, (1 + 20 - of_released) / (2 + 20)


with_even_prior, with_own_prior, knows_nobody = posteriors(6)
holds_even, holds_own = (posteriors(2)[2] <= known for known in posteriors(2)[:2])
assert round(with_even_prior, 3) == 0.519
assert round(with_own_prior, 3) == 0.683
assert round(knows_nobody, 3) == 0.682
assert not holds_even
assert not holds_own

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# With 6 released *yes* the sentence holds for the model's own prior, .683 against .682, and fails for the even one, which
# discards what the 19 say about the proportion. With 2 it fails for both, for the own prior
# with .780 against .864. The theorem is about the log probability averaged over
# true values, for each release and each set of known records. It orders no single truth.
#
# </details>

# %% [markdown] tags=["appendix"]
# ### The experiment
#
# One sample of people, with nine variables, is split into halves repeatedly. One half takes part, and the
# mixture releases equally many records. Two intruders, who lack three variables, target each participant. One knows
# *nobody* and fits the model to the release alone. The other knows *all others* and fits it to data and release together,
# leaving out the target record by $p(x \mid \theta) / p(x_i \mid \theta)$. Then the halves change places, so each pair
# of splits has everybody as participant once.

# %%
without = ["LANX", "WAOB", "MIL", "MIG", "SCH"]
nine = Schema(tuple(variable for variable in ACS.variables if variable.name not in without))
unknown = nine.positions(["WKL", "DIS", "HICOV"], "unknown")


def population(n: int) -> np.ndarray:
    """Return an even number of people, in random order."""
    codes = embedded_population(n, rng=stream(seed, "records")).codes
    people = np.delete(codes, ACS.positions(without, "without"), axis=1)
    return stream(seed, "halves").permutation(people)[: n // 2 * 2]


def fit(records: np.ndarray, chains: dpmpm.Chains, own: np.random.Generator) -> dpmpm.Draws:
    """Return draws of the mixture's parameters."""
    return dpmpm.sample_posterior(records, nine.n_levels, chains, rng=own)


# %%
people = population(n_people)
half = len(people) // 2
of_people = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in_people, n_draws=n_draws_people, thin=8
)


def predicted(draws: dpmpm.Draws, left_out: np.ndarray | bool) -> np.ndarray:
    """Return log predictive probabilities of all unknown values, the true ones first."""
    return posterior(logsumexp(subset_log_means(draws, people, unknown, in_data=left_out), axis=0))


# %% tags=["monte-carlo"]
rows = []
with silent():
    for pair, own in enumerate(stream(seed, "divisions").spawn(n_pairs)):
        order = own.permutation(len(people))
        for turn in (0, half):
            inside = np.roll(order, turn)[:half]
            takes_part = np.isin(np.arange(len(people)), inside)
            agency = fit(people[inside], of_people, own)
            (z,) = agency.release(1, half, rng=own)
            fits = [fit(z, of_people, own), fit(np.vstack([people[inside], z]), of_people, own)]
            less, more = predicted(fits[0], False), predicted(fits[1], takes_part)
            r_hat = [diagnostics.r_hat(dpmpm.cell_log_prob(d, people).mean(axis=2)) for d in fits]
            even = posterior(more - predicted(agency, takes_part))
            for prior, strong in {"uniform": even, "the model's own": more}.items():
                q, higher = np.exp(strong), less > strong
                told = {"apart": less[:, 0] - strong[:, 0], "higher": higher[:, 0]}
                told |= {"calibrated": (q * (less - strong)).sum(axis=1)}
                told |= {"higher_calibrated": (q * higher).sum(axis=1)}
                told["off"] = told["apart"] - told["calibrated"]
                means = pd.DataFrame(told)[takes_part].mean()
                rows.append({"pair": pair, "prior": prior, "r_hat": max(r_hat), **means})
divisions = outputs.table("divisions", pd.DataFrame(rows))

# %% tags=["monte-carlo"]
r_hat = divisions.groupby("pair")["r_hat"].max()
by_prior = divisions.groupby(["prior", "pair"], sort=False).mean().groupby("prior", sort=False)
less = by_prior.mean().join(by_prior.sem().add_suffix("_se")).reset_index()
outputs.table("knowing_less", less)
heads = {"prior": "prior", "apart": "difference", "calibrated": "if calibrated"}
heads |= {
    "off": "difference minus yardstick",
    "higher": "share of records above",
    "higher_calibrated": "share if calibrated",
}
caption = (
    "Log probability of participants' true records: intruder who knows nobody minus one who knows "
    "all others, with the prior of the latter."
)
display(show(with_errors(less, heads), caption=caption))
callout("Chains", f"R-hat of the mean log probability: median {r_hat.median():.3f}, "
        f"at most {r_hat.max():.3f}, over pairs of splits.")  # fmt: skip

# %% [markdown]
# The intruder who knows nobody assumes the model and is the same in both rows; only the stronger intruder's
# prior changes. Against the uniform prior, the one who knows nobody gives the true record a higher log probability
# on average; against the model's own prior, a lower one. *If calibrated* is the yardstick: the same means if true
# records were drawn from the stronger intruder's posterior. Against the uniform prior both numbers are far from it.
# Against the model's own prior the share agrees with it, so knowing less means more risk for some records, and the
# yardstick says for how many. The difference is nearer to zero than its yardstick. The chains are a possible reason: their
# [Monte Carlo error](../docs/guide/glossary.md#monte-carlo-error) is part of the errors shown, and adds to the divergence that is the first
# yardstick.

# %% [markdown] tags=["appendix"]
# ## Participants and outsiders
#
# What a release discloses about outsiders is statistics. What it discloses about participants beyond that is due to
# their participation, as in [membership inference](../docs/guide/glossary.md#membership-disclosure) (Shokri and others 2017). Let
# person $i$ hold a place in the data and let $o$ be an outsider; halves are random, so either could hold it.
# The release then has the density $p_i$ or $p_o$. An intruder who knows all others gives the true values of
# the two the probabilities $s_i(Z)$ and $s_o(Z)$. Participants are ahead by
#
# $$\tfrac12 \sum_Z \left[p_i(Z) - p_o(Z)\right] \left[s_i(Z) - s_o(Z)\right]
# \;\le\; \tfrac12 \sum_Z \left|p_i(Z) - p_o(Z)\right| \;\le\; \frac{e^\epsilon - 1}{e^\epsilon + 1} = \tanh(\epsilon / 2)$$
#
# on average. The first step uses that $s_i - s_o$ lies between $-1$ and $1$, the second that $p_i / p_o$ lies between
# $e^{-\epsilon}$ and $e^\epsilon$. For one yes/no answer, half of the people saying yes, and a beta-binomial release,
# both sides are exact. The intruder takes both answers for equally probable, $s_i = p_i / (p_i + p_o)$.

# %% tags=["public"]
rows = []
for n in (10, 100, 1000):
    table = mechanism.beta_binomial(n, n, alpha=1.0)
    p_i, p_o = np.exp(table.block(np.array([n // 2, n // 2 - 1]), np.arange(n + 1)))
    ahead = ((p_i - p_o) ** 2 / (p_i + p_o)).sum() / 2
    rows.append((n, ahead, n * ahead, np.tanh(mechanism.exact_epsilon(table).value / 2)))
columns = ["people", "participants ahead", "times people", "bound tanh(epsilon/2)"]
one_answer = outputs.table("one_answer", pd.DataFrame(rows, columns=columns), public=True)
assert (one_answer["participants ahead"] <= one_answer["bound tanh(epsilon/2)"]).all()
show(one_answer, caption="Increase in the probability of a true answer by participation, exact.")

# %% [markdown]
# Here $i$ says yes and $o$ says no. For equal answers the difference is 0, so with random halves the average is
# about half of these numbers. They fall nearly as one over the number of people. The bound does not fall, because it is
# that of the worst data, here data in which everybody gives the same answer.
#
# The next table has six synthesizers, on the nine variables, with three unknown to the intruder. One intruder knows all
# others, takes either person for the holder of the place, and starts from equal probabilities. The other knows nobody,
# takes the release for a sample of the population, and predicts by smoothed trees grown on it, with leaves of at least
# 20 records.

# %%
synthesizers = {
    "trees, leaves of 5": SequentialTrees(nine, growth=Growth(5)),
    "trees, leaves of 20": SequentialTrees(nine, growth=Growth(20)),
    "trees, smoothed": SequentialTrees(nine, growth=Growth(5, smoothing=1.0)),
    "mixture": None,
    "independent margins": PlugInMargins(nine.n_levels),
    "private margins": LaplaceMargins(nine.n_levels, epsilon),
}
quick = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in_people // 2, n_draws=max(n_draws_people // 2, 30), thin=8
)
last = [nine.names[k] for k in unknown]
order = [name for name in nine.names if name not in last] + last
reader = SequentialTrees(nine, order, Growth(20, smoothing=1.0))


# %%
def by_density(synthesizer, groups, candidates, places, own):
    """Return a release and its log likelihoods if either person had each candidate's values."""
    z = synthesizer.release(groups[0], rng=own)
    if isinstance(synthesizer, Margins):  # cheap, so all places are used
        places = np.arange(len(groups[0]))
    both = np.concatenate(list(candidates[:, places]), axis=1)
    log_p = log_likelihoods(synthesizer, [z], groups[0], places, both)
    return z, np.split(log_p, 2, axis=1)


# %%
mixing: list[float] = []  # R-hat of each fit below


def by_chains(groups, own):
    """Return the same for the mixture, up to a constant, with the chains' Monte Carlo error."""

    def means(draws: dpmpm.Draws) -> np.ndarray:
        found = [subset_log_means(draws, group, unknown, replaced=groups[0]) for group in groups]
        return logsumexp(found, axis=1)

    agency = fit(groups[0], quick, own)
    (z,) = agency.release(1, len(groups[0]), rng=own)
    fits = agency, fit(np.vstack([groups[0], z]), quick, own)
    both = np.concatenate(list(groups))
    mixing.extend(diagnostics.r_hat(dpmpm.cell_log_prob(d, both).mean(axis=2)) for d in fits)
    return z, means(fits[1]) - means(agency)


# %% tags=["monte-carlo"]
rows = []
for n in sizes:
    people, half = population(n), n // 2
    values = np.stack([subset_support(x, unknown, nine.n_levels) for x in people])  # truth first
    for pair, own in enumerate(stream(seed, "synthesizers").spawn(n_pairs)):
        order, places = own.permutation(len(people)), own.permutation(half)[:n_places]
        for turn, (name, synthesizer) in product((0, half), synthesizers.items()):
            at = np.roll(order, turn).reshape(2, half)
            groups, candidates = people[at], values[at]
            with silent():
                z, log_p = (
                    by_chains(groups, own) if synthesizer is None
                    else by_density(synthesizer, groups, candidates, places, own)
                )  # fmt: skip
            flat = candidates.reshape(-1, candidates.shape[-1])
            read = reader.fit(z).record_log_prob(flat, unknown).reshape(candidates.shape[:3])
            for known, of_both in {"nobody": read, "all others": log_p}.items():
                inside, outside = (np.exp(believe(found)[:, 0]).mean() for found in of_both)
                rows.append((n // 2, name, known, pair, outside, inside - outside))
columns = ["participants", "synthesizer", "known", "pair", "outsiders", "ahead"]
told = pd.DataFrame(rows, columns=columns)

# %% tags=["monte-carlo"]
keys = ["participants", "synthesizer", "known"]
by_pair = told.groupby([*keys, "pair"], sort=False).mean().groupby(keys, sort=False)
taking_part = by_pair.mean().join(by_pair.sem().add_suffix("_se")).reset_index()
outputs.table("taking_part", taking_part)
heads = {"ahead": ("all others", "ahead, n = {:,}")}
heads |= {"outsiders": ("nobody", "outsiders, n = {:,}")}
shown = {"synthesizer": list(synthesizers)}
for column, (known, head) in heads.items():
    for n, part in taking_part[taking_part["known"] == known].groupby("participants"):
        shown[head.format(n)] = with_errors(part, {column: "it"})["it"].to_list()
caption = "Lead of participants (all others known), and probability for outsiders (nobody known)."
display(show(pd.DataFrame(shown), caption=caption))
bound = np.tanh(epsilon / 2)
callout("Bound and prior", f"By epsilon, private margins put participants at most {bound:.2f} ahead. "
        f"Before a release the true values have probability {1 / values.shape[1]:.3f}. R-hat of the mixture's "
        f"chains: median {np.median(mixing):.3f}, at most {max(mixing):.3f}; "
        f"mixed chains have at most {diagnostics.MAX_R_HAT}.")  # fmt: skip

# %% [markdown]
# For the intruder who knows all others, participants are far further ahead after trees than after the mixture, and further
# after the mixture than after margins. The mixture's chains are short, and R-hat says that some have not mixed,
# so its row is rough. Each size has its own people, drawn once, and the errors omit that draw, so sizes are
# not compared. A release by trees may refute all candidates of a person; the posterior then stays at the prior. An
# intruder who knows nobody learns statistics about outsiders: on average, after each synthesizer their true values are
# more probable than before.
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
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). [Disclosure risk evaluation for fully synthetic categorical
#   data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical Databases*, 185–199.
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). [Membership inference attacks against machine
#   learning models](https://doi.org/10.1109/SP.2017.41). *IEEE Symposium on Security and Privacy*, 3–18.
