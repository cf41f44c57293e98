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
# # Epsilon reads every column, the intruder reads one: two answers from the same table
#
# An agency publishes synthetic data instead of confidential records. One expert says: "the mechanism
# has $\epsilon = 2$". Another says: "after this release an intruder's probability rose from 10 %
# to 45 %". Both numbers can be right, and neither follows from the other. Both are read from the
# same table, which holds the probability of every possible release given every possible data set.
#
# **Part one** is the first hour of a course. It needs a pencil, one person and then five. **Part two**
# names the link between the two numbers, the privacy loss, and fills the table with four synthesizers of
# three papers.
#
# *Before you start:* Bayes' rule in odds, logarithms and the binomial distribution. Part two uses the
# beta distribution too.
#
# Before reading on: which of the two experts would you ask before a release, and which after it?
#
# ## Parameters
#
# Any can be changed on the command line (`srlib run one_table_two_readings -p x 2`). Nothing
# is drawn at random. Numbers in the text are exact, and belong to the values below.

# %% tags=["parameters"]
n: int = 5  # [4, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.0] exact epsilon of the larger example
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the record's true value
p0: float = 0.2  # [0, 1] true proportion of ones, which an analyst wants to know
bins: int = 20  # [2, 100] bins for empirical differential privacy
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import binom

from srlib import charts, mechanism
from srlib.display import callout, show
from srlib.mechanism import acceptance, edp
from srlib.mechanism.proportion import Study
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")

# %% [markdown]
# # Part one: two readings of one table (one hour)
#
# ## By hand: one person and a coin
#
# One person has a secret, no or yes. The release is one word. The person throws a coin. Heads:
# the true answer is released. Tails: the coin is thrown again, and decides between no and yes. So
# the truth is released with probability $1/2 + 1/4 = 3/4$. This is *randomized response* (Warner
# 1965), and here is its table. Each row is a data set, each column a release:

# %%
coin = mechanism.Mechanism.from_table(
    np.log([[3 / 4, 1 / 4], [1 / 4, 3 / 4]]), [[0, 1]], ["no", "yes"], ["no", "yes"]
)
rows = np.exp([coin.row(0), coin.row(1)])
shown = pd.DataFrame([*rows, rows[0] / rows[1]], columns=["says no", "says yes"])
shown.insert(0, "the truth is", [*coin.inputs, "ratio, no to yes"])
show(shown, caption="Probability of each release, for each truth, and the ratio of the two rows.")

# %% [markdown]
# **First reading: down a pair of neighboring rows, over all columns.** Two data sets are neighbors if
# they differ in one record, and with one record the two rows are neighbors. In each column one entry is
# three times the other. The largest such ratio, over all neighbors and all columns, is $e^\epsilon$.
# Differential privacy (Dwork 2006) bounds it. The smallest bound is the *exact epsilon*, here $\log 3$.
#
# **Second reading: one column, by Bayes' rule.** The release says yes. An intruder believed in yes with
# probability 1/10. Only the second column counts:
#
# $$P(\text{yes} \mid \text{says yes}) = \frac{1/10 \cdot 3/4}{1/10 \cdot 3/4 + 9/10 \cdot 1/4}
#   = \frac{3}{3 + 9} = \frac14 .$$
#
# In odds: 1 to 9 before, times 3, is 3 to 9 after. The rule is the same for any prior:

# %%
priors = pd.DataFrame({"prior": [0.001, 0.01, 0.1, 0.5, 0.9]})
yes, no = priors["prior"] * 3 / 4, (1 - priors["prior"]) * 1 / 4
priors["posterior"] = yes / (yes + no)
priors["posterior / prior"] = priors["posterior"] / priors["prior"]
odds = priors[["prior", "posterior"]] / (1 - priors[["prior", "posterior"]])
priors["odds after / odds before"] = odds["posterior"] / odds["prior"]
told = "Probability of yes before and after a coin that says yes, for five intruders."
show(outputs.table("priors", priors), caption=told)

# %% [markdown]
# The mechanism, the release and $\epsilon$ are the same in each row, and the intruder's posterior runs
# from 0.003 to 0.964. The factor of the odds does not change. It is the ratio of two entries of the table.

# %% [markdown]
# ### Exercise 1: a secret with three values
#
# With a pencil, in five minutes. A person's secret is one of three values. The truth is released with
# probability 1/2, each of the other two with probability 1/4. What is the exact epsilon (`die_epsilon`)? An
# intruder holds all three equally probable and sees the first value. What is the probability that it is
# the truth (`die_posterior`)?
#
# *You will need:* a pencil; `np.log` for the answer.

# %% [markdown] tags=["hint"]
# Write down the 3 × 3 table first: a row for each truth, a column for each release.
# Look down any column for the largest ratio of two entries. With a uniform prior the posterior is
# the column, divided by its sum.

# %% tags=["solution"]
die = (1 + np.eye(3)) / 4
die_epsilon = np.log(die[:, None] / die).max()
die_posterior = die[0, 0] / die[:, 0].sum()
assert np.isclose(die_epsilon, np.log(2))
assert np.isclose(die_posterior, 1 / 2)

# %% [markdown] tags=["solution"]
# Every column has one entry 1/2 and two entries 1/4. The largest ratio of two rows is 2, and epsilon is
# $\log 2$. With a uniform prior the posterior is proportional to the column, $2 : 1 : 1$, so that the truth
# gets one half. The odds were 1 to 2 and are now 1 to 1: they too change by a factor of 2.

# %% [markdown]
# ## Five people
#
# Now five people, $X$ of whom have a one. McClure and Reiter's synthesizer draws five artificial values,
# each a one with probability $(X + \alpha)/(5 + 2\alpha)$, and releases their sum $X^*$. There are six
# possible data sets and six possible releases. Five ones are $((1 + \alpha)/\alpha)^5$ times as probable from
# $X = 1$ as from $X = 0$. This is $e^2$ for $\alpha = 1/(e^{2/5} - 1)$. The table of $\log p(X^* \mid X)$:

# %%
counts, alpha = np.arange(n + 1), 1 / np.expm1(epsilon / n)
log_prob = binom.logpmf(counts, n, (counts[:, None] + alpha) / (n + 2 * alpha))
five = mechanism.private_plugin(epsilon, n, n)
assert np.allclose(log_prob, five.block(counts, counts))
names = [f"X* = {y}" for y in counts]
table = pd.DataFrame(log_prob, columns=names).rename_axis("X").reset_index()
told = f"Log probability of each release X* for each data set X, {n} records, epsilon {epsilon:g}."
display(show(outputs.table("log_probabilities", table), caption=told))
steps = np.abs(np.diff(log_prob, axis=0))  # down each pair of neighboring rows
callout("First reading", f"The largest difference of two neighboring rows is {steps.max():.6g}.")

# %% [markdown]
# Check it with a pencil: in the last column, $-5.47 - (-7.47) = 2$. The intruder now knows four of the
# five records, and wonders about the last. If the data are $X = 1$ and the record at risk has the one,
# only rows 1 and 0 remain possible. (For $X = 0$ the record has a zero, and the rows are 0 and 1.) For the
# chart, each entry of the table with its log ratio to the row of the changed record, at twelve epsilons:

# %% tags=["hero"]
changed = np.append(1, np.arange(n))  # X with the record at risk changed, for X = 0 to n


def entries(table):
    """Every entry of a table of counts, with what both readings make of it."""
    k, y = np.indices((n + 1, n + 1))
    log_p = table.block(counts, counts)
    step = np.abs(np.diff(log_p, axis=0, append=np.nan))
    exact = mechanism.exact_epsilon(table).value
    columns = {"x": k, "release": y, "log_prob": log_p, "log_ratio": log_p - log_p[changed]}
    columns["attains"] = step >= exact * (1 - 1e-9)
    columns["conditional_epsilon"] = mechanism.conditional_epsilon(table)[k]
    frame = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    return frame.assign(exact_epsilon=exact)


budgets = np.arange(1, 13) / 4
larger = [entries(mechanism.private_plugin(e, n, n)).assign(epsilon=e) for e in budgets]
start = {"epsilon": epsilon, "prior": prior, "x": x}
about = "A table of the log probability of each release given each data set, with sliders for "
about += "epsilon, the prior, the data and the release. Below it bars: the posterior of the truth "
about += "for each release, above the prior where the release has many ones."
chart = charts.two_readings(pd.concat(larger), **start, description=about)
outputs.figure("larger", chart)

# %% [markdown]
# **Epsilon compares rows in all columns, the intruder two entries of one column.** Black frames: neighbors
# and columns that attain the exact epsilon. Orange: the two entries that the intruder compares. Bars: the
# posterior probability of the truth for each release, with the prior (dotted) and the least and the most
# that epsilon allows (dashed). The lowest panel shows how probable each release is.
#
# Drag the prior: the table does not change. Drag the release: epsilon does not change. Drag epsilon:
# everything does.
#
# The chart starts at the worst release for these data: all five synthetic values are ones. There epsilon
# is attained and the intruder's bar touches the dashed rule. It happens four times in a thousand.
# Predict before you drag: in a town where three of five have a one, at a prior of one half, does the
# highest bar reach the dashed rule?
#
# ## The inequality that links the two readings
#
# For an intruder who is left with two neighboring data sets, Bayes' rule in odds says
#
# $$\frac{\text{posterior odds}}{\text{prior odds}} = \frac{p(X^* \mid \text{truth})}
#   {p(X^* \mid \text{other})} \le e^{\epsilon}.$$
#
# The left side is the second reading, the bound is the first. Exact epsilon is *defined* as the largest log
# ratio on the right, so that some intruder attains it. "Largest" runs over all intruders who doubt one record,
# all data sets and all releases. An intruder who holds one release cares about a single entry of that list.
# The left side by Bayes' rule, over all of them and 99 priors:

# %%
probability, hundredths = np.exp(log_prob), np.linspace(0.01, 0.99, 99)[:, None]
factors = []
for truth, alternative in [*five.neighbors, *five.neighbors[:, ::-1]]:
    yes, no = hundredths * probability[truth], (1 - hundredths) * probability[alternative]
    posterior = yes / (yes + no)
    factors.append(posterior / (1 - posterior) / (hundredths / (1 - hundredths)))
assert np.isclose(np.max(factors), np.exp(epsilon))
callout("Largest factor of the odds", f"{np.max(factors):.3f}, which is exp({epsilon:g}).")

# %% [markdown]
# ### Exercise 2: the prior that has most to gain
#
# With a pencil or the chart, in ten minutes. A mechanism has $\epsilon = 2$. For which prior probability
# (`worst_prior`) can a release raise the intruder's probability of the truth by most, and by how much
# (`largest_rise`)? Two decimal places are enough. Find it by trying; if time is left, look for the formula.
#
# *You will need:* `mechanism.posterior_bound`, or the inequality above.

# %% [markdown] tags=["hint"]
# What does a release add to the *logarithm* of the odds, at most?
# As a function of the log odds a probability is an S-shaped curve, symmetric around even odds. Where does
# a step of length $\epsilon$ along the axis climb most?

# %% tags=["solution"]
w = np.linspace(0.0001, 0.9999, 9999)
rise = mechanism.posterior_bound(2.0, w) - w
worst_prior, largest_rise = w[rise.argmax()], rise.max()
assert np.isclose(worst_prior, 1 / (1 + np.exp(2 / 2)), atol=1e-4)
assert np.isclose(largest_rise, np.tanh(2 / 4), atol=1e-6)
assert round(worst_prior, 2) == 0.27
assert round(largest_rise, 2) == 0.46

# %% [markdown] tags=["solution"]
# In log odds the release adds $\epsilon$. The probability rises most where the S-shaped curve is steepest, so the
# step from $-\epsilon/2$ to $+\epsilon/2$ around even odds is the best one. The prior is
# $1/(1 + e^{\epsilon/2}) = 0.27$, the posterior is one minus that, and the rise is
# $1 - 2/(1 + e^{\epsilon/2}) = \tanh(\epsilon/4) = 0.46$.

# %% [markdown]
# ## What each reading does not see
#
# ### Epsilon does not see beliefs that span several records
#
# The inequality is about neighbors. Suppose the five are a family with a hereditary disease: the intruder
# is nearly sure that nobody has it, and otherwise all have it, with prior probability 0.01. The two data
# sets held possible are rows 0 and 5, which are not neighbors. At a small $\epsilon = 0.5$:

# %%
half = mechanism.private_plugin(0.5, n, n)
everybody, nobody = 0.01 * np.exp(half.row(n)), 0.99 * np.exp(half.row(0))
family = pd.DataFrame({"release": names, "probability": everybody / (everybody + nobody)})
family["odds after / odds before"] = np.exp(half.row(n) - half.row(0))
show(
    family, caption="Probability that all have the disease after each release; before it was 0.01."
)

# %% [markdown]
# **A small epsilon, and a belief that moves a lot.** The odds of the unlikely belief grow more than eightfold,
# five times what $e^{\epsilon}$ seems to allow; its probability goes from 0.010 to 0.077. The bound that does
# apply is $e^{5\epsilon}$, with one $\epsilon$ for each record that changes. To promise the family that no
# release raises 0.01 to more than 0.02, their odds may double, and by this bound
# $\epsilon = \log(2.02)/5 = 0.14$ is enough.
#
# ### Epsilon does not see how probable a column is
#
# Conversely, a mechanism releases "nothing", but in one case of a thousand the true value:

# %%
leak = np.array([[0.999, 0.001, 0.0], [0.999, 0.0, 0.001]])  # nothing, 0, 1
expected = pd.DataFrame({"prior": [0.01, 0.1, 0.5]})
weights = expected[["prior"]].to_numpy()
after = weights * leak[1] / (weights * leak[1] + (1 - weights) * leak[0])
expected["expected posterior"] = after @ leak[1]
expected["learned"] = expected["expected posterior"] - expected["prior"]
show(expected, digits=5, caption="Second reading, truth 1: the posterior of the truth, on average.")

# %% [markdown] tags=["appendix"]
# **An infinite epsilon, and an intruder who on average learns next to nothing.** The release 1 is possible
# from one row and impossible from its neighbor, so no $\epsilon$ bounds their ratio. The usual remedy is a
# second number, $\delta$, which part two [defines](#One-picture-for-four-papers). This mechanism is
# $(0, 0.001)$-differentially private.
#
# ### The posterior does not see the columns that did not happen
#
# Back to five people, $X = 1$, prior 0.1. Each release has its own posterior. The last column says how
# probable it is that a release turns up at least once if a thousand towns with the same data use the
# mechanism:

# %%
releases = pd.DataFrame({"release": counts, "probability": probability[x]})
releases["posterior"] = mechanism.risk(five, x, changed[x], prior)
releases["in 1,000 towns"] = -np.expm1(1000 * np.log1p(-releases["probability"]))
told = f"Releases from X = {x}: how probable they are, and the truth after them; prior {prior:g}."
show(outputs.table("releases", releases), digits=4, caption=told)

# %% [markdown]
# A town that draws $X^* = 1$ may report a posterior of 0.08, below the prior. That is true, and says
# nothing about the town that draws $X^* = 5$. Nor does the posterior see other data sets. All six, with
# both readings:


# %%
def both_readings(table, k):
    """First and second reading of the data set X = k."""
    after, released = mechanism.risk(table, k, changed[k], prior), np.exp(table.row(k))
    return {
        "exact_epsilon": mechanism.exact_epsilon(table).value,
        "conditional_epsilon": mechanism.conditional_epsilon(table)[k],
        "largest_posterior": after.max(),
        "expected_posterior": released @ after,
    }


of_x = pd.DataFrame([{"X": k} | both_readings(five, k) for k in range(n + 1)])
of_x = outputs.table("by_data_set", of_x)
told = f"Both readings of each data set, at exact epsilon {epsilon:g} and prior {prior:g}."
show(of_x.drop(columns="exact_epsilon"), caption=told)

# %% [markdown]
# Conditional epsilon is Charest and Han's: the largest difference between one row and its neighbors. It
# is 1.42 for $X = 2$ and 3, where no release reaches epsilon and no bar the dashed rule. The expected posterior hardly depends on
# the data here, and is far below the largest one.

# %% [markdown]
# ### Exercise 3: the coin used twice
#
# With a pencil, in fifteen minutes. The coin of the first section is used twice, and both answers are
# released. Write down the 2 × 4 table. What is its exact epsilon (`twice_epsilon`)? What becomes of a prior
# of 1/10 after yes and yes (`yes_yes`), and after yes and no (`yes_no`)? The truth is yes: how probable is a
# pair of answers from which the intruder learns nothing (`cancel`)?
#
# *You will need:* a pencil; `np.log` for the answer.

# %% [markdown] tags=["hint"]
# The two throws are independent, so each entry is a product of two entries of the first table.
# Ratios multiply as well: yes and yes multiplies the odds by 3 twice, yes and no by 3 and by 1/3.

# %% tags=["solution"]
truth_yes = np.outer([1 / 4, 3 / 4], [1 / 4, 3 / 4]).ravel()  # no no, no yes, yes no, yes yes
truth_no = truth_yes[::-1]
twice_epsilon = np.abs(np.log(truth_yes / truth_no)).max()
yes_no, yes_yes = (truth_yes / (truth_yes + 9 * truth_no))[2:]
cancel = truth_yes[1] + truth_yes[2]
assert np.isclose(twice_epsilon, 2 * np.log(3))
assert np.isclose(yes_yes, 1 / 2)
assert np.isclose(yes_no, 1 / 10)
assert np.isclose(cancel, 3 / 8)

# %% [markdown] tags=["solution"]
# If the truth is yes, the four releases have probabilities 1/16, 3/16, 3/16 and 9/16; if it is no, the
# same in reverse. Ratios multiply, so epsilon doubles to $2 \log 3$. Yes and yes multiplies the odds of 1
# to 9 by nine. Yes and no multiplies them by one: the answers cancel, with probability $2 \cdot 3/16 = 3/8$.
# Epsilon has doubled all the same.

# %% [markdown]
# # Part two: the privacy loss, and four ways to fill the table
#
# ## One picture for four papers
#
# Both readings compare two rows. The log of the ratio in a column is the **privacy loss** of that release,
#
# $$\ell(Z) = \log p(Z \mid D) - \log p(Z \mid D'), \qquad Z \sim p(\cdot \mid D),$$
#
# a random variable, since the release is drawn. The numbers of the four papers are functionals of such a loss:
#
# | number | as a functional of the loss | paper |
# |---|---|---|
# | exact $\epsilon$ | the largest $\lvert\ell\rvert$ over all neighbors $D, D'$ | all |
# | conditional epsilon | the largest $\lvert\ell\rvert$ from one data set $D$ | Charest and Han |
# | factor of the odds $L$ | $e^{\ell}$ of the release that happened | McClure and Reiter |
# | posterior $R$ of the truth, prior $w$ | $\operatorname{logit} R = \operatorname{logit} w + \ell$ | McClure and Reiter |
# | $\delta$ at $\epsilon$ | $E \max(0, 1 - e^{\epsilon - \ell})$ | Charest |
# | information | the mean $E\,\ell$ | |
# | EDP | the largest $\lvert\ell\rvert$ if the release is the bin of one posterior draw | Charest and Han |
#
# They are not functionals of one and the same loss. Exact epsilon looks at the losses of all pairs of
# neighbors. EDP belongs to another release than $X^*$. Hu, Reiter and Wang's posterior
# has many candidates, with a loss against each; with two candidates it is $R$.
#
# Delta is the largest excess $P(S) - e^{\epsilon} P'(S)$ over all sets $S$ of releases. A release adds
# $p - e^{\epsilon} p'$ to it, which is positive exactly where $\ell > \epsilon$. So the best $S$
# collects those releases, and its excess is $\sum p \, (1 - e^{\epsilon - \ell})$ over them. This
# is at most their probability $P(\ell > \epsilon)$, and less wherever the loss is finite: delta is
# not the probability that the bound $\epsilon$ is broken.
#
# For $X = 1$, the loss of each release against both neighbors, and the loss of each bin of a draw from the
# beta posterior behind the synthesizer. The bins have equal probability given the data:

# %% tags=["hero"]
near = [k for k in (x - 1, x + 1) if 0 <= k <= n]  # the first changes the record at risk
edges = edp.beta_posterior(x, n, alpha).ppf(np.arange(1, bins) / bins)
loss, of_bins = [], []
for k in near:
    columns = {"release": counts, "loss": log_prob[x] - log_prob[k]}
    loss.append(pd.DataFrame({"neighbor": f"X = {k}", **columns, "probability": probability[x]}))
    share = np.diff(edp.beta_posterior(k, n, alpha).cdf(edges), prepend=0, append=1)
    of_bins.append(pd.DataFrame({"neighbor": f"X = {k}", "loss": -np.log(bins) - np.log(share)}))
loss, of_bins = outputs.table("privacy_loss", pd.concat(loss)), pd.concat(of_bins)
about = "Panels over the privacy loss. The probable releases have small losses against either neighbor. The "
about += "posterior of the truth is an S-shaped curve of the loss through the prior; delta falls to zero at "
about += "the exact epsilon; the bins of a posterior draw lie inside of it."
limits = {"epsilon": epsilon, "prior": prior}
outputs.figure("privacy_loss", charts.privacy_loss(loss, of_bins, **limits, description=about))

# %% [markdown]
# **A privacy loss is read by its end, its mean, its tail, or the value that happened.** The five people with $X = 1$ against both neighbors. Top, for each neighbor: the probability
# of each release (numbered) at its privacy loss. Dashed: exact $\pm\epsilon$, which only the improbable
# release 5 attains, against $X = 0$. Triangles: mean losses, the information that a release gives on
# average. Below them: the posterior that each release leads to. It is always the same S-shaped curve, and
# the prior (dotted) shifts it. Then $\delta$, which falls to zero where the losses end. Bottom: the loss if
# the release is one of 20 bins of a posterior draw. The farthest tick is EDP.
#
# The seven numbers. Exact epsilon is over all pairs, conditional epsilon and EDP over both neighbors of $X$, the others
# are for the record at risk. The cell checks four of them by another computation: exact epsilon and EDP by the library, the
# posterior by Bayes' rule, and delta as the best of all sets of releases.

# %%
loss_x, p, q = log_prob[x] - log_prob[near[0]], probability[x], probability[near[0]]
functionals = {
    "exact epsilon": steps.max(),
    f"conditional epsilon of X = {x}": loss["loss"].abs().max(),
    "largest factor of the odds": np.exp(loss_x.max()),
    "expected posterior of the truth": p @ expit(logit(prior) + loss_x),
    "delta at epsilon 1": p @ np.maximum(0, 1 - np.exp(1 - loss_x)),
    "information": p @ loss_x,
    f"EDP with {bins} bins": of_bins["loss"].abs().max(),
}
by_bayes = p @ (prior * p / (prior * p + (1 - prior) * q))
sets = np.array(list(product([0, 1], repeat=n + 1)))  # of releases, one a row
neighbors = edp.beta_neighbors(x, n, alpha, "changed")
by_library = edp.exact(edp.beta_posterior(x, n, alpha), neighbors, bins).value
assert np.isclose(functionals["exact epsilon"], mechanism.exact_epsilon(five).value)
assert np.isclose(functionals["expected posterior of the truth"], by_bayes)
assert np.isclose(functionals["delta at epsilon 1"], (sets @ (p - np.e * q)).max())
assert np.isclose(functionals[f"EDP with {bins} bins"], by_library)
frame = pd.DataFrame(functionals.items(), columns=["number", "of the loss"])
told = f"Seven functionals of privacy losses, for X = {x} and prior {prior:g}."
show(outputs.table("summaries", frame), digits=6, caption=told)

# %% [markdown] tags=["appendix"]
# ## Four ways to fill the table
#
# Synthesizers of three of the papers can be written down for $n$ binary records:
#
# | name here | paper | the release |
# |---|---|---|
# | Bernoulli plug-in | McClure and Reiter (2012) | $n$ draws with the posterior mean plugged in |
# | exponential, log P | Charest (2013) | probability proportional to $\exp(\text{rate} \cdot \log P)$, $P$ the posterior predictive probability |
# | exponential, distance | Charest (2013) | the same with $-\lvert X - X^* \rvert$ for $\log P$ |
# | beta-binomial | Charest and Han | draws from the posterior predictive distribution |
#
# Each has a parameter that sets its exact epsilon: a prior parameter or a rate. Hu, Reiter and Wang's
# table is too large to write down. Their [notebook](hu_reiter_wang.ipynb) fills one column by Monte Carlo,
# for the second reading. The first would need every column.
#
# With a single record all four are randomized response: a symmetric 2 × 2 table has one
# number in it, and epsilon fixes it. With more records they differ. The exponential mechanism with
# $\log P$ is the beta-binomial at rate 1 only.


# %%
def mechanisms(e, n):
    """Four tables for n records with exact epsilon e."""
    counts, pairs = np.arange(n + 1), mechanism.change_one(n)
    distance = -np.abs(np.subtract.outer(counts, counts)).astype(float)
    log_p = mechanism.beta_binomial(n, n, 1.0).block(counts, counts)
    alpha = mechanism.dirichlet_multinomial_alpha(e, n)
    rates = [mechanism.exact_rate(score, e, pairs) for score in (log_p, distance)]
    return {
        "Bernoulli plug-in": mechanism.private_plugin(e, n, n),
        "exponential, log P": mechanism.gibbs(log_p, rates[0], pairs),
        "exponential, distance": mechanism.gibbs(distance, rates[1], pairs),
        "beta-binomial": mechanism.beta_binomial(n, n, alpha),
    }


response = np.log([[expit(2), expit(-2)], [expit(-2), expit(2)]])
for single in mechanisms(2.0, 1).values():
    assert np.allclose(single.block(np.arange(2), np.arange(2)), response)

# %% [markdown]
# ## Where they differ
#
# Five records, all at the same exact epsilon. *At the largest* is the probability of the releases that attain
# the largest posterior. Records moved is the expected $\lvert X - X^* \rvert$. Loss of precision is McClure and Reiter's $U$: the $\log_{10}$ of the
# expected squared error about $p_0$ given the release, over that given the data.


# %%
def worth(table, k):
    """What the releases from X = k are worth to an analyst."""
    moved = np.exp(table.row(k)) @ np.abs(counts - k)
    precision = Study(table, p0).expected_utility(k)
    return {"records_moved": moved, "loss_of_precision": precision}


made = mechanisms(epsilon, n)
columns = [{"mechanism": m} | both_readings(t, x) | worth(t, x) for m, t in made.items()]
columns = outputs.table("columns", pd.DataFrame(columns))
risks = {m: mechanism.risk(t, x, changed[x], prior) for m, t in made.items()}
largest = [np.exp(made[m].row(x))[np.isclose(r, r.max())].sum() for m, r in risks.items()]
shown = columns.drop(columns="exact_epsilon")
shown.insert(3, "at the largest", largest)
told = f"Four mechanisms at exact epsilon {epsilon:g}, read at X = {x} and prior {prior:g}."
show(shown, caption=told)

# %% [markdown]
# Exact epsilon is 2 for all four, and so is conditional epsilon at $X = 1$. The largest posterior is
# the same for three of them. The *expected* posterior is 0.129, 0.147 and 0.151 for these three, and 0.348 for the
# exponential mechanism with distance. That mechanism spends its budget on releases that happen, and has the
# smallest loss of precision by far. The others spend theirs on a column that comes up less than once in
# eighty releases.

# %%
budgets = np.arange(1, 7) / 2
over = pd.DataFrame(
    [
        {"mechanism": m} | both_readings(t, x) | worth(t, x) | {"epsilon": e}
        for e in budgets
        for m, t in mechanisms(e, n).items()
    ]
)
wide = outputs.table("over_budgets", over).pivot(index="epsilon", columns="mechanism")
lines = wide["expected_posterior"][[*made]]
lines = lines.assign(**{"bound from ε": mechanism.posterior_bound(lines.index, prior)})
titles = "Exact epsilon", "Expected posterior of the truth"
about = "Curves that rise with epsilon. That of the score distance stays close to the bound, "
about += "the other three rise slowly from the prior."
chart = charts.lines(lines, *titles, reference=prior, description=about)
outputs.figure("expected_posterior", chart)

# %% [markdown] tags=["appendix"]
# **With large budgets distance lets the intruder's probability rise several times as far as the others.**
# Expected posterior of the truth, by exact epsilon; dotted: the prior. Distance comes close to what epsilon
# allows, while the others stay far below. With small budgets the intruder learns little from any of them.
#
# ## What the analyst gets
#
# In the table above the mechanism that tells the intruder most also has the smallest losses for the
# analyst. That is not a rule. The next table shows the beta-binomial minus the plug-in at each budget.

# %%
values = ["expected_posterior", "loss_of_precision", "records_moved"]
by_name = over.set_index(["mechanism", "epsilon"])[values]
less = by_name.loc["beta-binomial"] - by_name.loc["Bernoulli plug-in"]
told = f"Beta-binomial less plug-in at X = {x}: negative losses favor the beta-binomial."
show(less.reset_index(), digits=4, caption=told)

# %% [markdown]
# The beta-binomial tells the intruder more than the plug-in at every budget. By $U$ it serves the analyst
# better throughout. But at epsilon 0.5 and from 2 on it moves more records. Utility is not one number
# either.

# %% [markdown] tags=["written"]
# ### Exercise 4: which sentences does the table not support?
#
# In ten minutes. Three mechanisms release five synthetic records made from the same five records. The
# intruder knows four of them and gives the truth about the fifth a prior probability of 0.1.
#
# | mechanism | exact epsilon | largest posterior | expected posterior | loss of precision |
# |---|---|---|---|---|
# | A | 2 | 0.451 | 0.129 | 0.535 |
# | B | 2 | 0.392 | 0.348 | 0.153 |
# | C | 2 | 0.451 | 0.151 | 0.489 |
#
# A report says:
#
# - (a) "With A and C some release raises the posterior as far as an epsilon of 2 allows at this prior."
# - (b) "The expected rise of the probability is more than eight times as large with B as with A."
# - (c) "B is the mechanism from which an intruder learns most, whatever the data."
# - (d) "By the loss of precision B serves an analyst of these data best."
# - (e) "The worst release of C is more probable than the worst release of A."
#
# List the letters of those that the table does not support (`unsupported`), and say what each would need.
#
# *You will need:* the bound of the [inequality](#The-inequality-that-links-the-two-readings), or
# `mechanism.posterior_bound`.

# %% [markdown] tags=["hint"]
# One sentence can be checked against the bound, and one by subtraction. Do these first.
# Ask of each sentence that is left: which column has it, and for which data sets and releases?

# %% tags=["solution"]
bound_there = mechanism.posterior_bound(2.0, 0.1)
rises = np.array([0.129, 0.348, 0.151]) - 0.1
supported = {
    "a": bool(np.isclose(bound_there, 0.451, atol=5e-4)),
    "b": bool(rises[1] > 8 * rises[0]),
}
unsupported = [letter for letter in "abcde" if letter not in supported and letter != "d"]
assert all(supported.values())
assert unsupported == ["c", "e"]

# %% [markdown] tags=["solution"]
# (a) is supported: $0.1\,e^2 / (0.9 + 0.1\,e^2) = 0.451$. (b) is supported: 0.248 is 8.6 times 0.029, and more
# than eight times after any rounding. (d) compares three numbers of one column. (c) is about all data sets, and the
# table is about one; conditional epsilon for every data set would be a beginning. (e) may well be
# true, but the table has no probabilities of releases. The larger expected posterior of C could as well come from
# its other releases.

# %% [markdown] tags=["appendix"]
# ## Empirical differential privacy
#
# EDP looks at neither the release nor its table. It cuts the model's posterior of the share of ones
# into bins of equal probability, and compares these bins between neighboring data. It
# is the conditional epsilon of releasing *the bin of one posterior draw*. Three of the mechanisms have a beta
# posterior behind them, so every EDP here is exact. The mechanism with distance has no model, and no EDP.
#
# Neighbors here differ by one *changed* record. Charest and Han's
# definition *deletes* one, while their Table 2 is for a changed one, so both are shown.

# %%
alphas = {
    "Bernoulli plug-in": alpha,
    "exponential, log P": 1.0,
    "beta-binomial": mechanism.dirichlet_multinomial_alpha(epsilon, n),
}
levels = []
for kind, b in product(("changed", "deleted"), (2, 5, 10, 20, 50, 100)):
    level = {"one_record": kind, "bins": b}
    for name, a in alphas.items():
        there = edp.beta_neighbors(x, n, a, kind)
        level[name] = edp.exact(edp.beta_posterior(x, n, a), there, b).value
    levels.append(level)
levels = outputs.table("edp", pd.DataFrame(levels))
told = f"EDP of the models behind three mechanisms for X = {x}; their exact epsilon is {epsilon:g}."
show(levels, digits=4, caption=told, names={"one_record": "one record is"})

# %% [markdown]
# With 20 bins and one record changed, EDP is below the exact epsilon of 2 for one mechanism and above it for
# the other two: it is a bound in neither direction. It grows in each column with the number of bins, and
# without end: the ratio of the densities is unbounded where the share tends to 0 or 1. For the exponential
# mechanism it is the same at every budget, because the model behind the score does not know the
# budget. EDP is a sensitivity of the posterior, and not of the five records that are released.
#
# ## What to take home
#
# - Fill the table, and both experts' numbers can be read from it. For one record in doubt, epsilon is the largest
#   change of log odds that any intruder could report.
# - Both readings summarize a privacy loss: epsilon by its largest value, the posterior by the value that
#   happened.
# - Epsilon does not see the prior, the data, or how probable a column is. So it can be promised
#   before the data are seen, and equal epsilons can hide unequal risks.
# - The posterior sees one column, one data set, one prior, and promises nothing about other releases.
# - Ask before the release for epsilon *and* for the expected posterior under priors that you would have to
#   answer for; ask after it for the column that happened.

# %% [markdown] tags=["written"]
# ### Exercise 5: an epsilon chosen from the data
#
# An agency with five records wants no release to more than double an intruder's probability of the truth,
# whatever the prior: `acceptance.read_rules([{"rr_at_most": 2}])`. Up to which epsilon does the plug-in synthesizer
# keep to that for a record with a one if the data hold a single one (`for_one`), and if they hold three
# (`for_three`)? Use `acceptance.largest_epsilon`. Which epsilon would one have to ask for without looking at the
# data (`for_any`)?
#
# The agency announces `for_three`, rounded to two decimal places, and its rule. Which $X$ are possible (`possible`)? A
# more careful agency protects records of both kinds and announces the smaller epsilon. Which $X$ are possible now
# if the data have three ones (`still_possible`)? Is the exact epsilon of this announcement finite (`bounded`), and why?
#
# *You will need:* `acceptance.read_rules`, `acceptance.largest_epsilon`, `mechanism.private_plugin`; for the last
# question a pencil.

# %% [markdown] tags=["hint"]
# For `for_any` no computation is needed: the relative risk tends to the factor of the odds as the prior vanishes.
# For `possible`, compute what the agency would have announced for each $X$. The announcement is a release, too.
# Its table has a row for each data set and a column for each epsilon that may be announced, with entries 0
# and 1. Which neighboring rows differ?

# %% tags=["solution"]
rules = acceptance.read_rules([{"rr_at_most": 2}])


def kept(ones, otherwise):
    """Largest epsilon at which no release from these data breaks the rule."""
    return acceptance.largest_epsilon(
        lambda e: mechanism.private_plugin(e, 5, 5), ones, otherwise, rules, 0.01, 20.0
    )


for_ones = np.array([kept(k, k - 1) for k in range(1, 6)])
for_one, for_three, for_any = for_ones[0], for_ones[2], np.log(2)
possible = [int(k) for k in 1 + np.flatnonzero(for_ones.round(2) == for_three.round(2))]
both_kinds = [min(kept(k, j) for j in (k - 1, k + 1) if 0 <= j <= 5) for k in range(6)]
told_all = np.round(both_kinds, 2)
still_possible = [int(k) for k in np.flatnonzero(told_all == told_all[3])]
announced = told_all[:, None] == np.unique(told_all)
bounded = bool((announced[1:] == announced[:-1]).all())
assert round(for_one, 2) == 0.69
assert round(for_three, 2) == 0.96
assert round(for_any, 2) == 0.69
assert possible == [3]
assert still_possible == [2, 3]
assert not bounded

# %% [markdown] tags=["solution"]
# The relative risk tends to the factor of the odds as the prior vanishes, so the rule asks that no loss exceeds
# $\log 2$. Without looking at the data that means $\epsilon = \log 2$, and a single one needs as much. With three
# ones the worst release, five ones, is twice as probable as from $X = 2$ at an epsilon of 0.96 already.
#
# Anybody who knows the rule can repeat the computation for each $X$, and 0.96 is the answer for $X = 3$ only. The
# announcement gives away the count before anything is released. For records of both kinds it is
# symmetric: 0.80 leaves $X = 2$ and $X = 3$. An intruder who doubts between these two
# learns nothing from it, but one who doubts between $X = 3$ and $X = 4$ reads the answer from it. An announcement
# that is a function of the data and differs between two neighbors has an infinite epsilon, and so has
# everything that is published together with it. An epsilon can be published that was chosen without the data, or
# drawn by a mechanism with a budget of its own.

# %% [markdown] tags=["appendix"]
# ## References
#
# - Charest, A.-S. (2013). Synthetic contingency tables for confidentiality protection: offering
#   guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
#   statistical data confidentiality*, Ottawa.
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12. <https://doi.org/10.1007/11787006_1>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. In *Privacy in Statistical Databases*, 185–199. Springer.
#   <https://doi.org/10.1007/978-3-319-11257-2_15>
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.
#   *Journal of the American Statistical Association* 60, 63–69.
#   <https://doi.org/10.1080/01621459.1965.10480775>
