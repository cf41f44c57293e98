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
# # The privacy loss behind seven numbers, and four ways to spend one epsilon
#
# *The first hour*, [one table, two readings](one_table_two_readings.ipynb), reads two numbers from the table of
# probabilities of every release given every data set: [epsilon](../docs/guide/glossary.md#epsilon) from pairs of rows,
# an intruder's posterior from one column. Both summarize a [privacy loss](../docs/guide/glossary.md#privacy-loss), as
# do the other numbers of the four papers. Then four [synthesizers](../docs/guide/glossary.md#synthesizer) from three
# of the papers fill the table at the same [exact epsilon](../docs/guide/glossary.md#exact-epsilon). With one of them
# an intruder's probability rises on average several times as much as with the other three, although its largest rise
# is the smallest.

# %% [markdown] tags=["notebook-only"]
# **You should know** the notebook of the first hour, the binomial and the beta distribution.
#
# ## Parameters
#
# Nothing is drawn at random. Numbers in the text belong to these values.

# %% tags=["parameters"]
n: int = 5  # [4, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.0] exact epsilon of the mechanisms
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the truth
p0: float = 0.2  # [0, 1] true proportion of ones, which an analyst wants to know
bins: int = 20  # [2, 100] bins for empirical differential privacy
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

from srlib import charts, mechanism
from srlib.display import show
from srlib.mechanism import acceptance, edp
from srlib.mechanism.proportion import Study
from srlib.outputs import Outputs

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")

# %% [markdown]
# ## One picture for four papers
#
# This is the table of the first hour. Of five people $X$ have a one. McClure and Reiter's synthesizer draws five
# artificial values, each a one with probability $(X + \alpha)/(5 + 2\alpha)$, and releases their sum $X^*$. At
# $\alpha = 1/(e^{2/5} - 1)$ the exact epsilon is 2. The table has a row for each $X$, a binomial distribution, and a
# column for each $X^*$:

# %%
counts = np.arange(n + 1)
alpha = 1 / np.expm1(epsilon / n)
p_one = (counts + alpha) / (n + 2 * alpha)  # for each X
by_hand = stats.binom.pmf(counts, n, p_one[:, None])  # (X, X*)

# %% tags=["hide-input"]
by_data_set = pd.DataFrame(by_hand, columns=[f"X* = {k}" for k in counts])
by_data_set.insert(0, "X", counts)
show(by_data_set, caption="Probability of each release X* for each data set X.")

# %% [markdown]
# `bernoulli_plugin` of the library has the same table; `block` returns the logarithms in given rows and columns.

# %%
plugin = mechanism.bernoulli_plugin(n, n, alpha)
log_prob = plugin.block(counts, counts)  # (X, X*)
probability = np.exp(log_prob)
assert np.allclose(probability, by_hand)

# %% [markdown]
# The intruder knows four of the five records, so two rows remain possible: $X$ and, with the last record changed, the
# row `changed`, the first of the `neighbors`.

# %%
neighbors = [k for k in (x - 1, x + 1) if 0 <= k <= n]
changed = neighbors[0]  # the record at risk has the other value

# %% [markdown]
# Both readings compare two rows. The log of the ratio in a column is the **privacy loss** of that release,
#
# $$\ell(Z) = \log p(Z \mid D) - \log p(Z \mid D'), \qquad Z \sim p(\cdot \mid D),$$
#
# a random variable, because the release is random.
#
# The numbers of the four papers are functionals of such losses:
#
# | number | as a functional of the loss | paper |
# |---|---|---|
# | exact $\epsilon$ | the largest $\lvert\ell\rvert$ over all neighbors $D, D'$ | McClure and Reiter; Charest; Charest and Han |
# | conditional epsilon | the largest $\lvert\ell\rvert$ from one data set $D$ | Charest and Han |
# | factor of the odds $L$ | $e^{\ell}$ of the release that happened | McClure and Reiter |
# | posterior $R$ of the true value, prior $w$ | $\operatorname{logit} R = \operatorname{logit} w + \ell$ | McClure and Reiter |
# | $\delta$ at $\epsilon$ | $E \max(0, 1 - e^{\epsilon - \ell})$ | Charest |
# | information | the mean $E\,\ell$ | |
# | EDP | the largest $\lvert\ell\rvert$ from one $D$ if the release is the bin of one posterior draw | Charest and Han |
#
# They are not functionals of the same loss. Exact epsilon concerns all pairs of
# [neighbors](../docs/guide/glossary.md#neighboring-data-sets), EDP another release. Hu, Reiter
# and Wang's posterior has a loss against each of many [candidates](../docs/guide/glossary.md#candidate); with two
# candidates it is $R$.
#
# A data frame has a row for each neighbor and release: the loss, and the probability of the release given $X = 1$.

# %%
losses = []
for k in neighbors:
    against = pd.DataFrame({"neighbor": f"X = {k}", "release": counts})
    against["loss"] = log_prob[x] - log_prob[k]
    against["probability"] = probability[x]
    losses.append(against)
loss = outputs.table("privacy_loss", pd.concat(losses))

# %% [markdown]
# A release of another kind has its own loss. With a $\mathrm{Beta}(\alpha, \alpha)$ prior the proportion of ones has the
# posterior $\mathrm{Beta}(X + \alpha,\, n - X + \alpha)$. Divide it into $B$ bins of equal probability, draw a proportion
# from it and release the bin. The largest loss of this release is empirical differential privacy,
# [EDP](../docs/guide/glossary.md#edp). A second data frame has a row for each neighbor and bin of EDP. `beta_posterior`
# returns the posterior given $X$, a distribution of SciPy. The loss of a bin is the log of its probability given the
# data, $1/20$, over that given a neighbor:

# %%
edges = edp.beta_posterior(x, n, alpha).ppf(np.arange(1, bins) / bins)  # between bins
bin_losses = []
for k in neighbors:
    below_edges = edp.beta_posterior(k, n, alpha).cdf(edges)
    p_bins = np.diff(below_edges, prepend=0, append=1)
    bin_loss = -np.log(bins) - np.log(p_bins)
    bin_losses.append(pd.DataFrame({"neighbor": f"X = {k}", "loss": bin_loss}))
loss_of_bins = pd.concat(bin_losses)

# %% [markdown]
# The figure shows both, with the posterior and $\delta$, in five panels over the privacy loss.

# %% tags=["hide-input"]
about = (
    "Panels over the privacy loss. The probable releases have small losses against either "
    "neighbor. The posterior of the true value is an S-shaped curve of the loss; at loss 0 it "
    "is the prior. Delta falls to zero at the exact epsilon. The last panel has the losses "
    "of the bins of a posterior draw."
)
chart = charts.privacy_loss(
    loss, loss_of_bins, epsilon=epsilon, prior=prior, description=about
)
outputs.figure("privacy_loss", chart)

# %% [markdown]
# **Only the improbable release 5 attains epsilon; the mean losses are small.** Top two panels, for $X = 1$ against
# each neighbor: the probability of each release (numbered) at its privacy loss. Dashed: exact $\pm\epsilon$, attained
# against $X = 0$. Triangles: mean losses, the information that a release gives on average. Third panel: the posterior
# after each release. It is always the same S-shaped curve, and the prior (dotted) shifts it. Fourth panel: $\delta$,
# which falls to zero where the losses end. Bottom: the loss if one of 20 bins of a posterior draw is released. The
# farthest tick is EDP.
#
# Three of the seven numbers are largest losses: exact epsilon over all pairs of adjacent rows; conditional epsilon
# and EDP over both neighbors of $X$:

# %%
exact_epsilon = np.abs(np.diff(log_prob, axis=0)).max()
conditional_epsilon = loss["loss"].abs().max()
largest_bin_loss = loss_of_bins["loss"].abs().max()  # EDP

# %% [markdown]
# The others are for the record at risk, so they concern the loss against the first neighbor only. Three are means over
# the releases. `expit` is the inverse of the logit:

# %%
p = probability[x]  # (releases,)
loss_at_risk = log_prob[x] - log_prob[changed]
largest_odds_factor = np.exp(loss_at_risk.max())
expected_posterior = p @ expit(logit(prior) + loss_at_risk)
delta = p @ np.maximum(0, 1 - np.exp(1 - loss_at_risk))  # at epsilon 1
information = p @ loss_at_risk

# %% tags=["hide-input"]
functionals = {
    "exact epsilon": exact_epsilon,
    f"conditional epsilon of X = {x}": conditional_epsilon,
    "largest factor of the odds": largest_odds_factor,
    "expected posterior of the true value": expected_posterior,
    "delta at epsilon 1": delta,
    "information": information,
    f"EDP with {bins} bins": largest_bin_loss,
}
summaries = pd.DataFrame(functionals.items(), columns=["functional", "value"])
caption = f"Seven functionals of privacy losses, for X = {x} and prior {prior:g}."
show(outputs.table("summaries", summaries), digits=6, caption=caption)

# %% [markdown]
# We check two of them by another computation. The first is the expected posterior, by Bayes' rule:

# %%
p_changed = probability[changed]
posterior_by_bayes = prior * p / (prior * p + (1 - prior) * p_changed)
assert np.isclose(expected_posterior, p @ posterior_by_bayes)

# %% [markdown]
# The second is [delta](../docs/guide/glossary.md#delta), the largest excess $P(S) - e^{\epsilon} P'(S)$ over all sets $S$ of
# releases. A release adds $p - e^{\epsilon} p'$ to it, which is positive exactly where $\ell > \epsilon$. So the best
# $S$ collects those releases, and its excess is $\sum p \, (1 - e^{\epsilon - \ell})$ over them. This is at most their
# probability $P(\ell > \epsilon)$, and less wherever the loss is finite: delta is not the probability that the bound
# $\epsilon$ is exceeded. Each set is a row of zeros and ones:

# %%
sets = np.array(list(product([0, 1], repeat=n + 1)))
excess = sets @ (p - np.e * p_changed)  # of each set
assert np.isclose(delta, excess.max())

# %% [markdown]
# The library computes two more, exact epsilon and EDP. `edp.exact` takes the posterior given the data, those given the neighbors with
# one record replaced, and the number of bins.

# %%
assert np.isclose(exact_epsilon, mechanism.exact_epsilon(plugin).value)
posterior = edp.beta_posterior(x, n, alpha)
posteriors_of_neighbors = edp.beta_neighbors(x, n, alpha, "replace")
assert np.isclose(
    largest_bin_loss, edp.exact(posterior, posteriors_of_neighbors, bins).value
)

# %% [markdown]
# ### Exercise 1: the loss of one coin
#
# With a pencil, in ten minutes. The coin of the first hour releases the true answer with probability 3/4. The true
# answer is yes. What is the mean of its loss against the answer no (`coin_information`)? What is $\delta$ at $\epsilon = \log 2$
# (`coin_delta`), and what is the probability that the loss exceeds $\log 2$ (`coin_beyond`)?
#
# *You will need:* a pencil; `np.log` for the answer.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# The loss has two values, one for each release. Which release has a loss above $\log 2$, and by how much does its
# probability exceed twice that under the other answer?
#
# </details>

# %% tags=["solution"]
# Solution
coin_losses = np.log([3, 1 / 3])
coin_probability = np.array([3, 1]) / 4
coin_information = coin_probability @ coin_losses
coin_delta = coin_probability @ np.maximum(0, 1 - 2 * np.exp(-coin_losses))
coin_beyond = coin_probability[coin_losses > np.log(2)].sum()
assert np.isclose(coin_information, np.log(3) / 2)
assert np.isclose(coin_delta, 1 / 4)
assert np.isclose(coin_beyond, 3 / 4)

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The loss is $\log 3$ for *says yes*, with probability 3/4, and $-\log 3$ for *says no*, with probability 1/4. The
# mean is $\frac12 \log 3 = 0.549$. Only *says yes* has a loss above $\log 2$, so delta is $3/4 - 2 \cdot 1/4 = 1/4$.
# The bound $\log 2$ is exceeded with three times that probability, 3/4.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Four ways to fill the table
#
# The full table of synthesizers from three of the papers can be computed for $n$ binary records:
#
# | name here | paper | the release |
# |---|---|---|
# | Bernoulli plug-in | McClure and Reiter (2012) | $n$ draws with the posterior mean plugged in |
# | exponential, log P | Charest (2013) | probability proportional to $\exp(\text{rate} \cdot \log P)$, $P$ the posterior predictive probability |
# | exponential, distance | Charest (2013) | the same with $-\lvert X - X^* \rvert$ for $\log P$ |
# | beta-binomial | Charest and Han | draws from the posterior predictive distribution |
#
# Each has a parameter that sets its exact epsilon: a prior parameter or a rate. Hu, Reiter and Wang's
# table is too large to compute. Their [notebook](hu_reiter_wang.ipynb) fills one column by Monte Carlo,
# for the second reading. The first would need every column.
#
# `scores` returns the two scores that the rate multiplies. For $\log P$ it takes the table of
# `mechanism.beta_binomial`, whose rows are the posterior predictive distributions under a Beta(1, 1) prior.


# %%
def scores(n):
    """Return log P and minus the distance, each with a row for each X and a column for each X*."""
    counts = np.arange(n + 1)
    log_predictive = mechanism.beta_binomial(n, n, 1.0).block(counts, counts)
    distance = np.abs(counts[:, None] - counts)
    return log_predictive, -distance.astype(float)


# %% [markdown]
# For a score, `calibrate_rate` finds the rate at which the exact epsilon over the `pairs` of neighboring rows is
# $\epsilon$, and `gibbs` returns the table at this rate. `four_tables` returns a dictionary of all four tables:


# %%
def exponential(score, epsilon):
    """Return the exponential mechanism with this score and exact epsilon."""
    pairs = mechanism.count_neighbors(len(score) - 1)
    rate = mechanism.calibrate_rate(score, epsilon, pairs)
    return mechanism.gibbs(score, rate, pairs)


def four_tables(epsilon, n):
    """Return four tables for n records with this exact epsilon."""
    log_predictive, minus_distance = scores(n)
    alpha = mechanism.dirichlet_multinomial_alpha(epsilon, n)
    return {
        "Bernoulli plug-in": mechanism.private_plugin(epsilon, n, n),
        "exponential, log P": exponential(log_predictive, epsilon),
        "exponential, distance": exponential(minus_distance, epsilon),
        "beta-binomial": mechanism.beta_binomial(n, n, alpha),
    }


# %% [markdown]
# With a single record all four are randomized response: a symmetric 2 × 2 table has one free
# number, and epsilon fixes it. With more records they differ. The exponential mechanism with
# $\log P$ is the beta-binomial at rate 1 only. We check one record at epsilon 2, where the true answer is
# released with probability $e^2/(1 + e^2)$.

# %%
randomized_response = np.log([[expit(2), expit(-2)], [expit(-2), expit(2)]])
for single in four_tables(2.0, 1).values():
    assert np.allclose(single.block(np.arange(2), np.arange(2)), randomized_response)

# %% [markdown]
# ## Where they differ
#
# All four have five records and the same exact epsilon. *Probability of the largest* is the probability of the
# releases that attain the largest posterior. *Records moved* is the expected $\lvert X - X^* \rvert$. *Loss of
# precision* is McClure and Reiter's $U$: the $\log_{10}$ of the expected squared error about $p_0$ given the release,
# over that given the data, which `Study` computes. `risks_and_utility` returns these, the largest and the expected
# posterior and both epsilons; `row` has the log probabilities of all releases from one data set.


# %%
def risks_and_utility(table):
    """Return the readings of one data set, X = x, and the utility of its releases."""
    p = np.exp(table.row(x))
    posterior = expit(logit(prior) + table.row(x) - table.row(changed))
    return {
        "exact_epsilon": mechanism.exact_epsilon(table).value,
        "conditional_epsilon": mechanism.conditional_epsilon(table)[x],
        "largest_posterior": posterior.max(),
        "probability_of_largest": p[np.isclose(posterior, posterior.max())].sum(),
        "expected_posterior": p @ posterior,
        "records_moved": p @ np.abs(counts - x),
        "loss_of_precision": Study(table, p0).expected_utility(x),
    }


# %% [markdown]
# The next table has a row for each mechanism:

# %%
readings = [
    {"mechanism": name} | risks_and_utility(table)
    for name, table in four_tables(epsilon, n).items()
]
four = pd.DataFrame(readings)
_ = outputs.table("columns", four.drop(columns="probability_of_largest"))

# %% tags=["hide-input"]
caption = (
    f"Four mechanisms at exact epsilon {epsilon:g}, for X = {x}; the intruder lacks one "
    f"record, prior {prior:g}."
)
show(four.drop(columns="exact_epsilon"), caption=caption)

# %% [markdown]
# Exact epsilon is 2 for all four, and so is [conditional epsilon](../docs/guide/glossary.md#conditional-epsilon) at
# $X = 1$. Three of them have the same largest posterior; for distance the largest $|\ell|$ at
# $X = 1$ is that of a negative loss, a release that speaks against the truth. The *expected* posterior is more than twice as large for the
# exponential mechanism with distance as for any other. That mechanism spends its budget on probable releases, and
# has the smallest loss of precision by far. The others spend theirs on a release that occurs less than once in
# eighty. Is that so at other budgets? We compute the same numbers at six of them, a row for each budget
# and mechanism:

# %%
rows = []
for budget in np.linspace(0.5, 3, 6):
    for name, table in four_tables(budget, n).items():
        numbers = risks_and_utility(table)
        rows.append({"mechanism": name} | numbers | {"epsilon": budget})
over_budgets = pd.DataFrame(rows).drop(columns="probability_of_largest")
_ = outputs.table("over_budgets", over_budgets)

# %% [markdown]
# The chart has the expected posterior over epsilon, a curve for each mechanism, and the most that epsilon allows at
# this prior, $w e^\epsilon / (1 - w + w e^\epsilon)$, from `posterior_bound`:

# %%
expected = over_budgets.pivot(
    index="epsilon", columns="mechanism", values="expected_posterior"
)
expected = expected[four["mechanism"]]
expected["bound from ε"] = mechanism.posterior_bound(expected.index, prior)

# %% tags=["hero", "hide-input"]
about = (
    "Curves that rise with epsilon. The curve of the score distance begins with the others and "
    "approaches the bound at large epsilon; the other three rise slowly from the prior."
)
titles = "Exact epsilon", "Expected posterior of the true value"
chart = charts.lines(expected, *titles, reference=prior, description=about)
outputs.figure("expected_posterior", chart)

# %% [markdown] tags=["appendix"]
# **At large budgets the intruder's probability rises several times as much under the exponential mechanism with
# distance as under the other three.** Expected posterior of the true value, by exact epsilon. Highest: the bound;
# dotted: the prior. At the largest epsilon, distance comes close to the bound, while the others stay far below. At
# small budgets the intruder learns little from any of them.
#
# ## What the analyst gets
#
# In the table above the mechanism that discloses most to the intruder also has the smallest losses for the
# analyst. Is that a rule? The next table has the beta-binomial minus the plug-in at each budget.

# %%
columns = ["expected_posterior", "loss_of_precision", "records_moved"]
by_name = over_budgets.set_index(["mechanism", "epsilon"])[columns]
difference = by_name.loc["beta-binomial"] - by_name.loc["Bernoulli plug-in"]

# %% tags=["hide-input"]
caption = (
    f"Beta-binomial minus plug-in for X = {x}: negative losses favor the beta-binomial."
)
show(difference.reset_index(), digits=4, caption=caption)

# %% [markdown]
# At every budget the beta-binomial discloses more to the intruder than the plug-in, and by $U$ it serves the analyst
# better. But at epsilon 0.5 and from 2 on it moves more records. Utility is not one number either.

# %% [markdown] tags=["written"]
# ### Exercise 2: which sentences does the table not support?
#
# In ten minutes. Three mechanisms release five synthetic records made from the same five records. The
# intruder knows four of them and gives the true value of the fifth a prior probability of 0.1.
#
# | mechanism | exact epsilon | largest posterior | expected posterior | loss of precision |
# |---|---|---|---|---|
# | A | 2 | 0.451 | 0.129 | 0.535 |
# | B | 2 | 0.392 | 0.348 | 0.153 |
# | C | 2 | 0.451 | 0.151 | 0.489 |
#
# A report says:
#
# - (a) "With A and C some release raises the posterior as much as an epsilon of 2 allows at this prior."
# - (b) "The expected rise of the probability is more than eight times as large with B as with A."
# - (c) "B is the mechanism from which an intruder learns most, whatever the data."
# - (d) "By the loss of precision B serves an analyst of these data best."
# - (e) "The worst release of C is more probable than the worst release of A."
#
# List the letters of the sentences that the table does not support (`unsupported`), and say what each would need.
#
# *You will need:* the bound of the [inequality](one_table_two_readings.ipynb#The-inequality-that-links-the-two-readings), or
# `mechanism.posterior_bound`.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# First check one sentence against the bound, and one by subtraction. For each remaining sentence ask: which column has
# it, and for which data sets and releases?
#
# </details>

# %% tags=["solution"]
# Solution
most_allowed = mechanism.posterior_bound(2.0, 0.1)
is_supported = {
    "a": np.isclose(most_allowed, 0.451, atol=5e-4),
    "b": 0.348 - 0.1 > 8 * (0.129 - 0.1),
    "c": False,  # other data sets are not in the table
    "d": min(0.535, 0.489) > 0.153,
    "e": False,  # nor are single releases
}
unsupported = [letter for letter, supported in is_supported.items() if not supported]
assert unsupported == ["c", "e"]

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# (a) is supported: $0.1\,e^2 / (0.9 + 0.1\,e^2) = 0.451$. (b) is supported: 0.248 is 8.6 times 0.029, and more
# than eight times after any rounding. (d) compares three numbers of one column. (c) is about all data sets, but the
# table is about one; conditional epsilon for every data set would be a start. (e) may well be
# true, but the table has no probabilities of releases. The larger expected posterior of C could also come from
# its other releases.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Empirical differential privacy
#
# EDP uses neither the release nor its table. It is the conditional epsilon of releasing *the bin of one posterior
# draw*. Three of the mechanisms have a beta posterior behind them, so every EDP here is exact. The mechanism with
# distance has no model and no EDP.
#
# Neighbors here differ by one *replaced* record (bounded differential privacy). Charest and Han's
# definition *removes* one, while their Table 2 is for a replaced one, so both are shown. The posteriors differ in their
# prior parameter only:

# %%
alphas = {
    "Bernoulli plug-in": alpha,
    "exponential, log P": 1.0,
    "beta-binomial": mechanism.dirichlet_multinomial_alpha(epsilon, n),
}


# %% [markdown]
# `exact_edp` returns the EDP of one of these posteriors, which become columns of a table; its rows are kinds of neighbors
# and numbers of bins:


# %%
def exact_edp(alpha, bins, kind):
    """Return the EDP of the beta posterior given X = x, with one record replaced or removed."""
    given_neighbors = edp.beta_neighbors(x, n, alpha, kind)
    return edp.exact(edp.beta_posterior(x, n, alpha), given_neighbors, bins).value


# %% [markdown]
# The next table has the EDP of each model, a row for each kind of neighbor and number of bins:

# %%
rows = []
for kind, n_bins in product(("replace", "remove"), (2, 5, 10, 20, 50, 100)):
    by_model = {name: exact_edp(a, n_bins, kind) for name, a in alphas.items()}
    rows.append({"one_record": kind, "bins": n_bins} | by_model)
edp_by_bins = outputs.table("edp", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = f"EDP of the models behind three mechanisms for X = {x}; their exact epsilon is {epsilon:g}."
show(edp_by_bins, digits=4, caption=caption, names={"one_record": "neighbors"})

# %% [markdown]
# With 20 bins and one record replaced, EDP is below the exact epsilon of 2 for one mechanism and above it for
# the other two: it is a bound in neither direction. It grows in each column with the number of bins, and
# without limit: the ratio of the densities is unbounded where the proportion tends to 0 or 1. For the exponential
# mechanism it is the same at every budget, because the model behind the score, with $\alpha = 1$, does not use the
# budget. EDP is a sensitivity of the posterior, not of the five released records.
#
# ## What to take home
#
# - All these numbers summarize a privacy loss: epsilon by its largest value, the posterior by the value that happened.
# - Epsilon can be promised before the data are seen, and equal epsilons can hide unequal risks.
# - Before a release ask for epsilon *and* for the expected posterior under priors that you would have to justify.
#   After it ask for the column that happened.

# %% [markdown] tags=["written"]
# ### Exercise 3: an epsilon chosen from the data
#
# An agency with five records allows no release to more than double an intruder's probability of the true value,
# whatever the prior: `acceptance.read_rules([{"rr_at_most": 2}])`. Up to which epsilon does the plug-in synthesizer
# obey this rule for a record with a one if the data hold a single one (`for_one`), and if they hold three
# (`for_three`)? Use `acceptance.largest_epsilon`. Which epsilon is required without looking at the
# data (`for_any`)?
#
# The agency announces its rule and `for_three`, rounded to two decimal places. Which $X$ are possible (`possible`)? A
# more careful agency protects records of both kinds and announces the smaller epsilon. Which $X$ are possible now
# if the data have three ones (`still_possible`)? Is the exact epsilon of this announcement finite (`bounded`), and why?
#
# *You will need:* `acceptance.read_rules`, `acceptance.largest_epsilon` (read its `help`), `mechanism.private_plugin`, and
# a pencil for the last question.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# `for_any` needs no computation: the [relative risk](../docs/guide/glossary.md#relative-risk) tends to the factor of
# the odds as the prior vanishes. For `possible`, compute the announcement for each $X$. The announcement is also a
# release. Its table has a row for each data set and a column for each possible epsilon, with entries 0 and 1. Which
# neighboring rows differ?
#
# </details>

# %% tags=["solution"]
# Solution
rules = acceptance.read_rules([{"rr_at_most": 2}])


def kept(ones, otherwise):
    """Return the largest epsilon at which no release from these data violates the rule."""
    return acceptance.largest_epsilon(
        lambda e: mechanism.private_plugin(e, 5, 5), ones, otherwise, rules, 0.01, 20.0
    )


by_count = {k: round(kept(k, k - 1), 2) for k in range(1, 6)}
for_one = by_count[1]
for_three = by_count[3]
for_any = np.log(2)
possible = [k for k, announced in by_count.items() if announced == for_three]
both_kinds = {
    k: min(kept(k, j) for j in (k - 1, k + 1) if 0 <= j <= 5) for k in range(6)
}
announcements = np.round([*both_kinds.values()], 2)
still_possible = np.flatnonzero(announcements == announcements[3]).tolist()
bounded = (announcements == announcements[0]).all()  # else two neighbors differ
assert round(for_one, 2) == 0.69
assert round(for_three, 2) == 0.96
assert round(for_any, 2) == 0.69
assert possible == [3]
assert still_possible == [2, 3]
assert not bounded

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The relative risk tends to the factor of the odds as the prior vanishes, so the rule requires that no loss exceeds
# $\log 2$. Without looking at the data this means $\epsilon = \log 2$, and a single one requires the same. With three
# ones, the worst release, five ones, is twice as probable as from $X = 2$ only at an epsilon of 0.96.
#
# Anybody who knows the rule can repeat the computation for each $X$, and 0.96 is the answer for $X = 3$ only. The
# announcement discloses the count before anything is released. For records of both kinds it is
# symmetric: 0.80 leaves $X = 2$ and $X = 3$. An intruder who doubts between these two
# learns nothing from it, but one who doubts between $X = 3$ and $X = 4$ reads the answer from it. An announcement
# that is a function of the data and differs between two neighbors has an infinite epsilon, and so has
# everything published with it. An epsilon can be published if it was chosen without the data or
# drawn by a mechanism with its own budget.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## References
#
# - Charest, A.-S. (2013). Synthetic contingency tables for confidentiality protection: offering
#   guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
#   statistical data confidentiality*, Ottawa.
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. In *Privacy in Statistical Databases*, 185–199. Springer.
#   <https://doi.org/10.1007/978-3-319-11257-2_15>
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
