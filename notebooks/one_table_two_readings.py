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
# **Part one** is the first hour of a course. It needs a pencil, one person and then five: about 20
# minutes to read and drag, 40 for its exercises. **Part two** gives the link between the two numbers
# a name, and fills the table with the synthesizers of four papers, which the other notebooks study
# one by one: about 30 minutes to read, and two hours for its exercises.
#
# *Before you start:* Bayes' rule in odds, logarithms and the binomial distribution. Part two uses the
# beta distribution too, and in one section Markov chain Monte Carlo.
#
# **Afterwards you can**
#
# 1. write down the table of a small mechanism, and read its exact $\epsilon$ and an intruder's posterior
#    probability from it;
# 2. state the inequality that links the two, and say where it is attained;
# 3. give an example of what each reading does not see;
# 4. (part two) name the random variable that both readings summarize, the privacy loss;
# 5. (part two) compare synthesizers at the same exact $\epsilon$ by conditional epsilon, empirical
#    differential privacy, posterior risk and utility;
# 6. (part two) find an error in a printed paper by filling in a table.
#
# Eight claims are tested on the way. Each gets its verdict where the numbers of this run decide
# it, and a table collects them at the end.
#
# | claim | |
# |---|---|
# | **C1** | With one record in doubt, exact epsilon is the largest change of log odds. |
# | **C2** | The odds of any belief change by a factor of $e^{\epsilon}$ at most. |
# | **C3** | The risk numbers of the four papers are summaries of one random variable, the privacy loss. |
# | **C4** | Equal exact epsilon means equal risk from an intruder. |
# | **C5** | A mechanism that tells the intruder more tells the analyst more. |
# | **C6** | Empirical differential privacy is at least as large as exact epsilon. |
# | **C7** | Empirical differential privacy ranks mechanisms as the intruder's expected posterior does. |
# | **C8** | Monte Carlo fills a column of the table within its own errors. |
#
# Before reading on: which of the two experts would you ask before a release, and which after it?

# %% [markdown]
# ## Parameters
#
# Any of them can be changed on the command line (`srlib run one_table_two_readings -p x 2`).
# Numbers in the text belong to the defaults, and those of the exercises stand in their questions.

# %% tags=["parameters"]
n: int = 5  # [4, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.0] exact epsilon of the larger example
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the record's true value
p0: float = 0.2  # [0, 1] true proportion of ones, which an analyst wants to know
n_classes: int = 2  # [1, 2] latent classes of the DPMPM, F
bins: int = 20  # [2, 100] bins for empirical differential privacy
n_draws: int = 100  # [100, inf) draws kept from each of 16 chains
seed: int = 2026  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib import risk as disclosure
from srlib.display import callout, show
from srlib.ledger import printed
from srlib.mechanism import acceptance, edp
from srlib.papers import charest_han, claims, one_table
from srlib.papers.charest import binary_scores
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")
verdicts = claims.Claims(
    {
        "C1": "The inequality that links the two readings",
        "C2": "Epsilon does not see beliefs that span several records",
        "C3": "One picture for four papers",
        "C4": "Where they differ",
        "C5": "What the analyst gets",
        "C6": "Empirical differential privacy",
        "C7": "Empirical differential privacy",
        "C8": "One column by Monte Carlo",
    }
)

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
shown = pd.DataFrame(np.exp([coin.row(0), coin.row(1)]), columns=["says no", "says yes"])
shown.insert(0, "the truth is", coin.inputs)
display(show(shown, caption="Probability of each release, for each truth."))
callout("First reading", str(mechanism.exact_epsilon(coin)))

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
priors["posterior"] = [float(mechanism.risk(coin, 1, 0, w)[1]) for w in priors["prior"]]
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

# %% [markdown] tags=["hint"]
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
# possible data sets and six possible releases; $\alpha$ is chosen for $\epsilon = 2$. The table of
# $\log p(X^* \mid X)$:

# %%
five = mechanism.private_plugin(epsilon, n, n)
names = [f"X* = {y}" for y in range(n + 1)]
table = pd.DataFrame([five.row(k) for k in range(n + 1)], columns=names)
table.insert(0, "X", range(n + 1))
told = f"Log probability of each release X* for each data set X, {n} records, epsilon {epsilon:g}."
display(show(outputs.table("log_probabilities", table), caption=told))
callout("First reading", str(mechanism.exact_epsilon(five)))

# %% [markdown]
# Check it with a pencil: in the last column, $-5.47 - (-7.47) = 2$. The intruder now knows four of the
# five records, and wonders about the last. If the data are $X = 1$ and the record at risk has the one,
# only rows 1 and 0 remain possible. (For $X = 0$ the record has a zero, and the rows are 0 and 1.)

# %%
budgets = np.arange(1, 13) / 4
larger = [one_table.entries(mechanism.private_plugin(e, n, n)).assign(epsilon=e) for e in budgets]
start = {"epsilon": epsilon, "prior": prior, "x": x}
outputs.figure("larger", charts.two_readings(pd.concat(larger), **start))

# %% [markdown]
# **Epsilon compares rows in all columns, the intruder two entries of one column.** Black frames: neighbors
# and columns that attain the exact epsilon. Orange: the two entries that the intruder compares. Bars: the
# posterior probability of the truth for each release, with the prior (dotted) and the least and the most
# that epsilon allows (dashed). The lowest panel shows how probable each release is.
#
# Drag the prior: the table does not change. Drag the release: epsilon does not change. Drag epsilon:
# everything does. (Sliders follow the mouse. The arrow keys move them in the HTML report and in a
# JupyterLab that `make lab` has opened.)
#
# The chart starts at the worst release for these data: all five synthetic values are ones. There epsilon
# is attained and the intruder's bar touches the dashed rule. It happens four times in a thousand.

# %% [markdown]
# ### Try it: another town
#
# Predict before you drag. In another town three of the five people have a one, the prior of the record at
# risk is one half, and epsilon is 2. Will the highest bar reach the dashed rule? Now set the sliders
# and read off the highest bar (`highest_bar`, two decimal places) and its release (`highest_at`).

# %% tags=["solution"]
of_town = mechanism.risk(mechanism.private_plugin(2.0, 5, 5), 3, 2, 0.5)
highest_bar, highest_at = of_town.max(), int(of_town.argmax())
assert round(highest_bar, 2) == 0.75
assert highest_at == 5

# %% [markdown] tags=["solution"]
# No. Rows 3 and 2 differ most in the last column, by 1.11. The odds of 1 to 1 become 3 to 1, where an
# epsilon of 2 would allow 7.4 to 1.

# %% [markdown]
# ## The inequality that links the two readings
#
# For an intruder who is left with two neighboring data sets, Bayes' rule in odds says
#
# $$\frac{\text{posterior odds}}{\text{prior odds}} = \frac{p(X^* \mid \text{truth})}
#   {p(X^* \mid \text{other})} \le e^{\epsilon}.$$
#
# The left side is the second reading, the bound is the first. Exact epsilon is *defined* as the largest log
# ratio on the right, so that some intruder attains it. Over all neighbors in both directions, all releases,
# and 99 priors:

# %%
both_ways = [*five.neighbors, *five.neighbors[:, ::-1]]
hundredths = np.linspace(0.01, 0.99, 99)
factors = [one_table.odds_factor(five, a, b, w) for a, b in both_ways for w in hundredths]
verdicts.say("C1", one_table.attains(factors, epsilon))

# %% [markdown]
# "Largest" runs over all intruders who doubt one record, all data sets and all releases. An intruder who
# holds one release cares about a single entry of that list.

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

# %% [markdown] tags=["hint"]
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
family = np.log([1 - 0.01, 0.01])
after = np.exp([mechanism.posterior(half.column(y)[[0, n]], family)[1] for y in range(n + 1)])
told = "Probability that all have the disease after each release; before it was 0.01."
display(show(pd.DataFrame({"release": names, "probability": after}), caption=told))
factor = one_table.odds_factor(half, n, 0, 0.01)
verdicts.say("C2", one_table.bounds_odds(factor, 0.5, n))

# %% [markdown]
# **A small epsilon, and a belief that moves a lot.** The odds of the unlikely belief grow more than eightfold,
# five times what $e^{\epsilon}$ seems to allow; its probability goes from 0.010 to 0.077. The bound that does
# apply is $e^{5\epsilon}$, with one $\epsilon$ for each record that changes.

# %% [markdown]
# ### Try it: an epsilon for the family
#
# The family asks that no release raises the intruder's 0.01 to more than 0.02. Predict the size of the
# epsilon that promises this: near one half, or far below? Then compute it from the bound
# $e^{5\epsilon}$ (`family_epsilon`, two decimal places).

# %% tags=["solution"]
odds_allowed = (0.02 / 0.98) / (0.01 / 0.99)
family_epsilon = np.log(odds_allowed) / 5
assert round(family_epsilon, 2) == 0.14

# %% [markdown] tags=["solution"]
# The odds may grow by a factor of 2.02. Five records share that, $\log(2.02)/5 = 0.14$ for each.

# %% [markdown]
# ### Epsilon does not see how probable a column is
#
# Conversely, a mechanism releases "nothing", but in one case of a thousand the true value:

# %%
shares = [[0.999, 0.001, 0.0], [0.999, 0.0, 0.001]]
with np.errstate(divide="ignore"):
    leak = mechanism.Mechanism.from_table(np.log(shares), [[0, 1]], outputs=["nothing", 0, 1])
expected = [(w, np.exp(leak.row(1)) @ mechanism.risk(leak, 1, 0, w)) for w in (0.01, 0.1, 0.5)]
expected = pd.DataFrame(expected, columns=["prior", "expected posterior"])
expected["learned"] = expected["expected posterior"] - expected["prior"]
display(callout("First reading", str(mechanism.exact_epsilon(leak))))
show(expected, digits=5, caption="Second reading: the posterior of the truth, on average.")

# %% [markdown]
# **An infinite epsilon, and an intruder who on average learns next to nothing.** The usual remedy is a
# second number, $\delta$, which part two [defines](#One-picture-for-four-papers). This mechanism is
# $(0, 0.001)$-differentially private.
#
# ### The posterior does not see the columns that did not happen
#
# Back to five people, $X = 1$, prior 0.1. Each release has its own posterior. The last column says how
# probable it is that a release turns up at least once if a thousand towns with the same data use the
# mechanism:

# %%
other = int(one_table.changed_count(n)[x])
releases = pd.DataFrame({"release": range(n + 1), "probability": np.exp(five.row(x))})
releases["posterior"] = mechanism.risk(five, x, other, prior)
releases["in 1,000 towns"] = -np.expm1(1000 * np.log1p(-releases["probability"]))
told = (
    f"The releases from X = {x}: how probable they are, and the truth after them; prior {prior:g}."
)
show(outputs.table("releases", releases), digits=4, caption=told)

# %% [markdown]
# A town that draws $X^* = 1$ may report a posterior of 0.08, below the prior. That is true, and says
# nothing about the town that draws $X^* = 5$. Nor does the posterior see other data sets. All six, with
# both readings:

# %%
of_x = pd.DataFrame([{"X": k} | one_table.both(five, k, prior) for k in range(n + 1)])
of_x = outputs.table("by_data_set", of_x)
told = f"Both readings of each data set, at exact epsilon {epsilon:g} and prior {prior:g}."
show(of_x.drop(columns=["exact_epsilon", "expected_increase"]), caption=told)

# %% [markdown]
# Conditional epsilon is Charest and Han's: the largest difference between one row and its neighbors. It
# is 1.42 for $X = 2$ and 3, where no release reaches epsilon. The expected posterior hardly depends on
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

# %% [markdown] tags=["hint"]
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
# # Part two: one random variable, four papers, five tables
#
# ## One picture for four papers
#
# Both readings compare two rows. The log of the ratio in a column is the **privacy loss** of that release,
#
# $$\ell(Z) = \log p(Z \mid D) - \log p(Z \mid D'), \qquad Z \sim p(\cdot \mid D),$$
#
# a random variable, since the release is drawn. The four papers report different summaries of it:
#
# | number | as a summary of the loss | paper |
# |---|---|---|
# | exact $\epsilon$ | the largest $\lvert\ell\rvert$ over all neighbors $D, D'$ | all |
# | conditional epsilon | the largest $\lvert\ell\rvert$ from one data set $D$ | Charest and Han |
# | factor of the odds $L$ | $e^{\ell}$ of the release that happened | McClure and Reiter |
# | posterior $R$ of the truth, prior $w$ | $\operatorname{logit} R = \operatorname{logit} w + \ell$ | McClure and Reiter; Hu, Reiter and Wang |
# | $\delta$ at $\epsilon$ | $E \max(0, 1 - e^{\epsilon - \ell})$ | Charest |
# | information | the mean $E\,\ell$ | |
# | EDP | the largest $\lvert\ell\rvert$ if the release is the bin of one posterior draw | Charest and Han |
#
# The relative risk $R/w$ lies between 1 and $L$, and tends to $L$ as the prior vanishes. Delta is
# the largest excess $P(S) - e^{\epsilon} P'(S)$ over all sets $S$ of releases. A release adds
# $p - e^{\epsilon} p'$ to it, which is positive exactly where $\ell > \epsilon$. So the best $S$
# collects those releases, and its excess is $\sum p \, (1 - e^{\epsilon - \ell})$ over them. This
# is at most their probability $P(\ell > \epsilon)$, and less wherever the loss is finite: delta is
# not the probability that the bound $\epsilon$ is broken.
#
# For $X = 1$, each number as a summary of the loss and computed by other means: $\delta$ from all 64 sets of
# releases, the others from posteriors of intruders or from the library's functions for each.

# %%
models = one_table.models(epsilon, n, n_classes)
plug_in = models["Bernoulli plug-in"]
linked = one_table.summaries(five, plug_in, x, prior, 1.0, bins)
told = f"Seven numbers for X = {x} and prior {prior:g}, each computed in two ways."
show(outputs.table("summaries", linked), digits=6, caption=told)

# %%
verdicts.say("C3", one_table.is_summary(linked))

# %%
loss = outputs.table("privacy_loss", one_table.losses(five, x))
of_bins = one_table.bin_losses(plug_in, x, n, bins)
outputs.figure("privacy_loss", charts.privacy_loss(loss, of_bins, epsilon=epsilon, prior=prior))

# %% [markdown]
# **Four papers summarize one random variable: by its end, its mean, its tail, or the value that
# happened.** The five people with $X = 1$ against both neighbors. Top, for each neighbor: the probability
# of each release (numbered) at its privacy loss. Dashed: exact $\pm\epsilon$, which only the improbable
# release 5 attains, against $X = 0$. Triangles: mean losses, the information that a release gives on
# average. Below them: the posterior that each release leads to. It is always the same S-shaped curve, and
# the prior (dotted) shifts it. Then $\delta$, which falls to zero where the losses end. Bottom: the loss if
# the release is one of 20 bins of a posterior draw. The farthest tick is EDP.

# %% [markdown]
# ### Try it: the loss of two coins
#
# The coin of [Exercise 3](#Exercise-3:-the-coin-used-twice) is thrown twice, and the truth is yes. Its
# loss is above $\log 3$ for yes and yes only, which has probability 9/16. Predict: is $\delta$ at
# $\epsilon = \log 3$ larger than 9/16, equal to it, or smaller? Then compute it (`twice_delta`), and the
# mean of the loss (`mean_loss`).

# %% tags=["solution"]
twice_loss = np.log(truth_yes / truth_no)
twice_delta = np.maximum(truth_yes - 3 * truth_no, 0).sum()
mean_loss = truth_yes @ twice_loss
assert np.isclose(twice_delta, 3 / 8)
assert np.isclose(mean_loss, np.log(3))

# %% [markdown] tags=["solution"]
# Smaller: the excess of yes and yes is $9/16 - 3 \cdot 1/16 = 3/8$. The losses are $-2 \log 3$, 0, 0 and
# $2 \log 3$, and their mean is $(9/16 - 1/16) \cdot 2 \log 3 = \log 3$.

# %% [markdown]
# ## Five ways to fill the table
#
# Each of the four papers has a synthesizer, and each can be written down for $n$ binary records:
#
# | name here | paper | the release |
# |---|---|---|
# | Bernoulli plug-in | McClure and Reiter (2012) | $n$ draws with the posterior mean plugged in |
# | exponential, log P | Charest (2013) | probability proportional to $\exp(\text{rate} \cdot \log P)$, $P$ the posterior predictive probability |
# | exponential, distance | Charest (2013) | the same with $-\lvert X - X^* \rvert$ for $\log P$ |
# | beta-binomial | Charest and Han | draws from the posterior predictive distribution |
# | DPMPM | Hu, Reiter and Wang (2014) | the same, from a mixture of $F = 2$ latent classes |
#
# The last table is usually far too large to write down. For one binary variable and five records the counts
# can be split between two classes in few ways. The table is a sum over these splits, with class and level
# probabilities integrated out. Each mechanism has a parameter that sets its exact epsilon: a prior parameter,
# a rate, or the concentration of the level probabilities.
#
# ### Where they agree
#
# With a single record all five are the same table, randomized response: a symmetric 2 × 2 table has one
# number in it, and epsilon fixes it. Larger tables share less. The posterior predictive synthesizers are
# still related: the exponential mechanism with $\log P$ at rate 1 *is* the beta-binomial, and so is a DPMPM
# with a single class.

# %%
first, *others = one_table.mechanisms(2.0, 1, n_classes).values()
at_rate_1 = mechanism.gibbs(binary_scores(n, 1.0)["log P"], 1.0, mechanism.change_one(n))
one_class = dpmpm.enumerate_mechanism(n, n, (2,), 1, dpmpm.Prior(concentration=0.7))
apart = one_table.apart
identities = {
    "all five with one record": max(apart(first, another) for another in others),
    "log P at rate 1 and beta-binomial": apart(at_rate_1, mechanism.beta_binomial(n, n, 1.0)),
    "DPMPM with F = 1 and beta-binomial": apart(one_class, mechanism.beta_binomial(n, n, 0.7)),
}
rows = [(which, "none" if d < one_table.SAME else f"{d:.3g}") for which, d in identities.items()]
told = "Largest difference of log probabilities between tables, beyond rounding."
show(pd.DataFrame(rows, columns=["tables", "difference"]), caption=told)

# %% [markdown]
# ## Where they differ
#
# Five records, all at the same exact epsilon. The columns are those of the four papers. Records moved is the
# expected $\lvert X - X^* \rvert$. Loss of precision is McClure and Reiter's $U$: the $\log_{10}$ of the
# expected squared error about $p_0$ given the release, over that given the data.

# %%
made = one_table.mechanisms(epsilon, n, n_classes)
columns = outputs.table("columns", one_table.columns(made, x, prior, p0))
told = f"Five mechanisms at exact epsilon {epsilon:g}, read at X = {x} and prior {prior:g}."
show(columns.drop(columns=["exact_epsilon", "expected_increase"]), caption=told)

# %%
verdicts.say("C4", one_table.equal_risk(columns, prior))

# %% [markdown]
# Exact epsilon is the same for all five, and so is conditional epsilon at $X = 1$. The largest posterior is
# the same for four of them. The *expected* posterior shows a gap: 0.13 to 0.15 for those four, 0.35 for the
# exponential mechanism with distance. That mechanism spends its budget on releases that happen, and has the
# smallest loss of precision by far. The others need theirs for a column that comes up less than once in
# eighty releases. [The last figure](#What-the-analyst-gets) of the next section has its probability for each.

# %%
conditional = pd.DataFrame({name: mechanism.conditional_epsilon(m) for name, m in made.items()})
titles = "Ones in the data, X", "Conditional epsilon"
outputs.figure("conditional", charts.lines(conditional, *titles, reference=epsilon))

# %% [markdown]
# **In the middle of the data only the mechanism with distance comes near the exact epsilon.** Conditional
# epsilon of every data set, at exact epsilon 2 (dotted). All mechanisms reach it at the ends. In the middle
# the plug-in and the predictive synthesizers need much less. Distance treats all data nearly alike.

# %%
budgets = np.arange(1, 7) / 2
at = {e: one_table.mechanisms(e, n, n_classes) for e in budgets}
over = [one_table.columns(at[e], x, prior, p0).assign(epsilon=e) for e in budgets]
over = outputs.table("over_budgets", pd.concat(over))
wide = over.pivot(index="epsilon", columns="mechanism")
shown = wide["expected_posterior"][[*made]]
shown = shown.assign(**{"bound from ε": mechanism.posterior_bound(shown.index, prior)})
titles = "Exact epsilon", "Expected posterior of the truth"
outputs.figure("expected_posterior", charts.lines(shown, *titles, reference=prior))

# %% [markdown]
# **With large budgets distance lets the intruder's probability rise several times as far as the others.**
# Expected posterior of the truth, by exact epsilon; dotted: the prior. Distance comes close to what epsilon
# allows, while the others stay far below. With small budgets the intruder learns little from any of them.

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

# %% [markdown] tags=["hint"]
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

# %% [markdown]
# ## What the analyst gets
#
# Two losses of the same releases, at $X = 1$ and by exact epsilon: records moved, and the loss of precision.

# %%
titles = "Exact epsilon", "Records moved, expected"
outputs.figure("moved", charts.lines(wide["records_moved"][[*made]], *titles, zero=True))

# %% [markdown]
# **Distance moves the fewest records at every budget.** How far a release lies from the data, on average.

# %%
titles = "Exact epsilon", "Loss of precision, U"
outputs.figure("loss", charts.lines(wide["loss_of_precision"][[*made]], *titles, zero=True))

# %% [markdown]
# **By precision, too, distance serves the analyst best, and the plug-in worst.** Loss of precision $U$ of
# the same releases.

# %%
worth = {"loss_of_precision": "the loss of precision", "records_moved": "the records moved"}
verdicts.say("C5", one_table.tells_both(over, worth))

# %% [markdown]
# The mechanism with distance tells both the intruder and the analyst most from epsilon 1 on. But a mechanism
# that tells the intruder more need not tell the analyst more. The beta-binomial gives more away than the
# plug-in at every budget here; it has the smaller $U$ throughout, but at epsilon 0.5 and from 2 on it moves
# more records. Utility is not one number either. All tables behind these lines, to be read both ways:

# %%
entries = [
    one_table.entries(m).assign(epsilon=e, mechanism=name)
    for e in budgets
    for name, m in at[e].items()
]
outputs.figure("mechanisms", charts.two_readings(pd.concat(entries), **start))

# %% [markdown]
# **The bars that matter stand above a probable release.** Both readings of any of the five mechanisms.
# Choose one, keep epsilon where it is, and compare the bars with the probabilities in the lowest panel.

# %% [markdown]
# ### Try it: what distance shows
#
# Keep $X = 1$, epsilon 2 and the prior 0.1. With the plug-in two releases lower the intruder's probability of
# the truth, 0 and 1. Predict which releases lower it if the mechanism is the exponential one with distance.
# Then choose *exponential, distance* and list them (`lowering`). Several bars now have the same height: list
# their releases as well (`level`).

# %% tags=["solution"]
by_distance = mechanism.risk(one_table.mechanisms(2.0, 5, 1)["exponential, distance"], 1, 0, 0.1)
lowering = [int(k) for k in np.flatnonzero(by_distance < 0.1)]
level = [int(k) for k in np.flatnonzero(np.isclose(by_distance, by_distance.max()))]
assert lowering == [0]
assert level == [1, 2, 3, 4, 5]

# %% [markdown] tags=["solution"]
# Every release but 0 is nearer to 1 than to 0, by one record. So all of them multiply the odds by the same
# factor, the improbable 5 as well as the probable 1. That is why nothing is left over for a corner.

# %% [markdown]
# ## Empirical differential privacy
#
# EDP looks at neither the release nor its table. It takes the model's posterior of the parameter, here the
# share of ones, cuts it into bins of equal probability, and compares these bins between neighboring data. It
# is the conditional epsilon of releasing *the bin of one posterior draw*. Three of the mechanisms have a beta
# posterior behind them. The DPMPM's posterior is its prior times $\theta^X (1 - \theta)^{n - X}$, and the prior
# of the share $\theta = V \phi_1 + (1 - V) \phi_2$ is a double integral. So every EDP here is exact. The
# mechanism with distance has no model, and no EDP.
#
# In this notebook neighbors differ by one *changed* record, for the table's sake. Charest and Han's
# definition *deletes* one, while their Table 2 is for a changed one, so both are shown.

# %%
counts = (2, 5, 10, 20, 50, 100)
levels = outputs.table("edp", one_table.edp_by_bins(models, x, n, counts))
told = f"EDP of the models behind four mechanisms for X = {x}; their exact epsilon is {epsilon:g}."
show(levels, digits=4, caption=told, names={"one_record": "one record is"})

# %%
at_bins = {name: one_table.exact_edp(model, x, n, bins) for name, model in models.items()}
verdicts.say("C6", one_table.bounds_epsilon(at_bins, epsilon))

# %% [markdown]
# With 20 bins and one record changed, EDP is below epsilon for one mechanism and above it for the
# others: it is a bound in neither direction. It grows with the number of bins, without end: the
# ratio of the densities is unbounded where the share tends to 0 or 1. For the exponential
# mechanism it is the same at every budget, because the model behind the score does not know the
# budget. EDP is a sensitivity of the posterior. An agency that releases five records and not the
# posterior should read the table of the release.
#
# Does EDP rank the four as the expected posterior does?

# %%
believed = columns.set_index("mechanism")["expected_posterior"].to_dict()
verdicts.say("C7", one_table.ranks_alike(levels, believed))

# %% [markdown]
# The beta-binomial and the DPMPM change places, and with 20 bins their EDPs differ by 0.004. Draws could
# not have told them apart. The draws of 16 chains give the DPMPM's EDP with this error:

# %% tags=["monte-carlo"]
law = dpmpm.Prior(concentration=one_table.concentration(epsilon, n, n_classes))
of_model = {"n_classes": n_classes, "prior": law}
settings = dpmpm.Chains(**of_model, n_chains=16, burn_in=200, n_draws=n_draws, thin=8)
values = np.array([[0], [1]])  # the level that is a one, and the other


def draws(ones: int, zeros: int, purpose: str) -> dpmpm.Draws:
    """Draws of the DPMPM given so many records of each kind."""
    people, chance = np.repeat(values, [ones, zeros], axis=0), stream(seed, purpose)
    return dpmpm.sample_posterior(people, np.array([2]), settings, rng=chance, label=purpose)


of_data = draws(x, n - x, "data")

# %% tags=["monte-carlo"]
log_p = dpmpm.cell_log_prob(of_data, values)
odds_of_zero = log_p[..., 1] - log_p[..., 0]
changes = np.stack([odds_of_zero] * (x > 0) + [-odds_of_zero] * (x < n), axis=-1)
sampled = edp.from_draws(np.exp(log_p[..., 0]), changes, bins)
kind = f"EDP from {log_p[..., 0].size:,} draws"
display(callout(kind, f"{sampled.value:.3f} ± {sampled.mcse:.3f} for the DPMPM, {bins} bins."))
diagnostics.verdict(diagnostics.summary({"share of ones": np.exp(log_p[..., 0])}))

# %% [markdown]
# Column by column, the ranks:

# %%
judged = columns.set_index("mechanism").assign(EDP=pd.Series(at_bins))
judged = judged.drop(columns=["exact_epsilon", "expected_increase"]).round(9)
ranks = judged.rank(method="min").convert_dtypes().reset_index()
told = "Ranks, 1 for the least risk or the least loss; equal numbers share a rank."
show(outputs.table("ranks", ranks).astype(object).fillna("none"), caption=told)

# %% [markdown]
# Conditional epsilon sees no difference at all, and the largest posterior singles out distance. Expected
# posterior and EDP agree that the plug-in gives least away. One of the two utilities puts the plug-in last.

# %% [markdown] tags=["written"]
# ### Exercise 5: an error in a printed table
#
# In twenty minutes. Table 2 of Charest and Han prints the EDP of five records, $x$ of them ones, with the
# same parameter for ones and zeros. One of its 36 entries cannot be right, and no EDP has to be computed to
# see that. Find the two entries of which one is wrong: their $x$ (`suspect_x`, in order) and their number of
# bins (`suspect_bins`). Why can they not both be right? Then compute what both should be, to two digits
# (`both_should_be`): the prior is $\alpha = 1/2$, and a neighbor has one record changed. The printed values
# are `printed("charest_han").set_index("id")["printed"]`, where `table2_3_50` is $x = 3$ with 50 bins.
#
# *You will need:* `printed`, `charest_han.BINS`, `edp.beta_posterior`, `edp.beta_neighbors`
# and `edp.exact`.

# %% [markdown] tags=["hint"]
# Call the ones zeros and the zeros ones. What happens to $x$, and what to the EDP?

# %% [markdown] tags=["hint"]
# Print the table with a row for each $x$ and a column for each number of bins, and read it from the top and
# from the bottom.

# %% tags=["solution"]
in_print = printed("charest_han").set_index("id")["printed"]
cells = [(k, b) for k in range(6) for b in charest_han.BINS]
unlike = [
    (k, b) for k, b in cells if in_print[f"table2_{k}_{b}"] != in_print[f"table2_{5 - k}_{b}"]
]
suspect_x, (suspect_bins,) = [k for k, _ in unlike], {b for _, b in unlike}
neighbors = edp.beta_neighbors(2, 5, 1 / 2, "changed")
exactly = edp.exact(edp.beta_posterior(2, 5, 1 / 2), neighbors, 100).value
both_should_be = round(float(exactly), 2)
assert suspect_x == [2, 3]
assert suspect_bins == 100
assert both_should_be == 3.05

# %% [markdown] tags=["solution"]
# Ones and zeros have the same parameter. Exchanging their names turns $x$ into $5 - x$ and changes no EDP, so the
# table must be symmetric. Only $x = 2$ and $x = 3$ with 100 bins differ. The exact value is 3.046: the printed
# 3.05 for $x = 2$ is right, and the 3.04 for $x = 3$ is wrong by one in the last digit.

# %% [markdown]
# ## One column by Monte Carlo
#
# Hu, Reiter and Wang's table cannot be written down at its real size, with thousands of records
# and millions of cells. They fill one column of it, the release that happened, by Monte Carlo.
# Here every column can be filled both ways. The privacy loss of a release is a difference of two
# log ratios of predictive probabilities, one given the release and one without it, as
# [Exercise 6](#Exercise-6:-a-loss-from-predictive-probabilities) shows. They can be averaged over draws given all five records, as
# this project does for many records, or over draws given the other four:

# %% tags=["monte-carlo"]
support, log_prior = values[[int(x == 0), int(x > 0)]], np.log([[prior, 1 - prior]])
ones, zeros = x - int(x > 0), n - x - int(x == 0)  # among the other records
plain = disclosure.support_log_ratios(of_data, support)[0]
without = one_table.log_predictive(draws(ones, zeros, "others"), support)


def by_monte_carlo(y: int) -> dict[str, float]:
    """Posterior probability of the truth after one release, estimated in two ways."""
    joined = draws(x + y, 2 * n - x - y, f"data and release {y}")
    others = draws(ones + y, zeros + n - y, f"others and release {y}")
    sets = [plain, disclosure.support_log_ratios(joined, support)[0]]
    of_all = disclosure.predictive_ratio(sets, log_prior)
    sets = [without, one_table.log_predictive(others, support)]
    of_others = disclosure.predictive_ratio(sets, log_prior)
    found = {"all": of_all, "others": of_others}
    told = {f"given_{k}": float(risk.probability[0]) for k, risk in found.items()}
    return told | {f"error_given_{k}": float(risk.log_mcse[0, 0]) for k, risk in found.items()}


# %% tags=["monte-carlo"]
column = pd.DataFrame([{"release": y} | by_monte_carlo(y) for y in range(n + 1)])
column.insert(1, "exact", mechanism.risk(made["DPMPM"], x, other, prior))
told = (
    "Posterior of the truth, from draws given all records or the others; errors of its logarithm."
)
show(outputs.table("by_monte_carlo", column), digits=4, caption=told)

# %% tags=["monte-carlo"]
verdicts.say("C8", one_table.by_simulation(column, of_data.n_chains))

# %% [markdown]
# The errors are standard errors of the logarithm, from 16 chains. The six estimates of a kind share the
# draws without a release, so they count for fewer than six trials. The verdict is on both kinds. Draws given
# all records average $r = p(t' \mid \theta)/p(t \mid \theta)$, of a record's other value to its true one. Where
# draws come near to $p(t \mid \theta) = 0$ the variance of $r$ can be infinite, and a stated error cannot be relied
# on. [Exercise 6](#Exercise-6:-a-loss-from-predictive-probabilities) asks when. Draws given the other records divide
# by no such probability.

# %% [markdown] tags=["spoiler-6"]
# Draws given all records use ratios with an infinite variance in this small example, as in
# [Exercise 6](#Exercise-6:-a-loss-from-predictive-probabilities). Their estimates share one set of draws
# and are all low here, by 1.6 to 3.1 of their stated errors, which cannot be relied on.

# %% [markdown]
# What Monte Carlo cannot give is the first reading: epsilon would need *every* column, the
# improbable ones above all.

# %% [markdown] tags=["written"]
# ### Exercise 6: a loss from predictive probabilities
#
# In thirty minutes, for those who like a proof. Let $r(\theta) = p(t' \mid \theta) / p(t \mid \theta)$ be the
# ratio of a record's other value to its true value. Show that
#
# $$\frac{p(Z \mid D')}{p(Z \mid D)} = \frac{E(r \mid D, Z)}{E(r \mid D)},$$
#
# which is how this project estimates a column where the table is too large. Take the beta-binomial with
# $\alpha = 1$, $X = 1$ of five records, the record at risk a one, and a release of five ones. Compute
# the privacy loss from two such expectations (`by_predictive`). Does $r$ have a finite variance given the
# data (`finite_given_data`), and given data and release (`finite_given_both`)?
#
# *You will need:* a pencil. A share with a Beta(a, b) distribution has $E\{(1 - \theta)/\theta\} = b/(a - 1)$
# for $a > 1$.

# %% [markdown] tags=["hint"]
# The posterior of the share is a Beta(2, 5) given the data and a Beta(7, 5) given data and release.

# %% [markdown] tags=["hint"]
# For the proof: how does the likelihood of the data change if the record at risk is changed from $t$ to
# $t'$? For the variance: for which $a$ is the integral of $\theta^{a - 1} \theta^{-2}$ finite at 0?

# %% tags=["solution"]
a_data, b_data = 1 + 1, 1 + 4
a_both, b_both = a_data + 5, b_data
by_predictive = np.log(b_data / (a_data - 1)) - np.log(b_both / (a_both - 1))
finite_given_data, finite_given_both = a_data > 2, a_both > 2
assert np.isclose(by_predictive, np.log(6))
assert not finite_given_data
assert finite_given_both

# %% [markdown] tags=["solution"]
# Replacing $t$ by $t'$ multiplies the likelihood of the data by $r(\theta)$. So $p(D') = p(D)\,E(r \mid D)$ and
# $p(D', Z) = p(D, Z)\,E(r \mid D, Z)$; divide. With $r = (1 - \theta)/\theta$ the loss is
# $\log 5 - \log \frac56 = \log 6$, which is $\log(1 + 5/\alpha)$, the exact epsilon. The square of $r$ has the
# expectation of $\theta^{-2}$ in it, which exists for $a > 2$ only, and given the data $a$ is 2. An average of
# draws still converges, but slowly, and its estimated standard error is itself unreliable. Starting from the
# other four records, with the ratio of the two values' predictive probabilities, avoids this.

# %% [markdown]
# ## Since these papers
#
# The privacy loss has become the object of study itself. Per-instance differential privacy (Wang 2019) bounds
# it for one data set and one record, as conditional epsilon does. Wasserman and Zhou (2010) read it as the
# likelihood ratio of a test of $D'$ against $D$: the best membership attack rejects $D'$ where $\ell$ is large, and
# $\epsilon$ limits its power. Kairouz, Oh and Viswanath (2017) derive the exact composition of several
# releases from that view. The $f$-differential privacy of Dong, Roth and Su (2022) keeps the whole trade-off
# between the two errors of the test, which is another way to write the distribution in the top panel of
# [the picture above](#One-picture-for-four-papers).

# %% [markdown]
# ## What to take home
#
# - Fill the table, and both experts' numbers can be read from it. For one record in doubt, epsilon is the largest
#   change of log odds that any intruder could report.
# - Both readings summarize the privacy loss: epsilon by its largest value, the posterior by the value that
#   happened.
# - Epsilon does not see the prior, the data, or how probable a column is. This makes it a promise that can be
#   given before the data are seen. It is also why equal epsilons can hide unequal risks.
# - The posterior sees one column, one data set, one prior. It describes the release that happened, and
#   promises nothing about others.
# - Ask before the release for epsilon *and* for the expected posterior under priors that you would have to
#   answer for; ask after it for the column that happened.

# %%
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown] tags=["written"]
# ### Exercise 7: an epsilon chosen from the data
#
# In half an hour. An agency with five records will not accept that any release more than doubles an intruder's probability of the truth,
# whatever the prior: `acceptance.read_rules([{"rr_at_most": 2}])`. Up to which epsilon does the plug-in synthesizer
# keep to that for a record with a one if the data hold a single one (`for_one`), and if they hold three
# (`for_three`)? Use `acceptance.largest_epsilon`. Which epsilon would one have to ask for without looking at the
# data (`for_any`)?
#
# The agency announces `for_three`, rounded to two digits, and its rule. Which $X$ are possible (`possible`)? A
# more careful agency protects records of both kinds and announces the smaller epsilon. Which $X$ are possible now
# if the data have three ones (`still_possible`)? Is the exact epsilon of this announcement finite (`bounded`), and why?
#
# *You will need:* `acceptance.read_rules`, `acceptance.largest_epsilon`, `mechanism.private_plugin`,
# `one_table.neighbors`; for the last question `mechanism.Mechanism.from_table` or a pencil.

# %% [markdown] tags=["hint"]
# For `for_any` no computation is needed: the relative risk tends to the factor of the odds as the prior vanishes.
# For `possible`, compute what the agency would have announced for each $X$.

# %% [markdown] tags=["hint"]
# The announcement is a release, too. Write down its table: the rows are the data sets, the columns the epsilons
# that may be announced, the entries 0 and 1. Which neighboring rows differ?

# %% tags=["solution"]
rules = acceptance.read_rules([{"rr_at_most": 2}])


def kept(ones: int, otherwise: int) -> float:
    """Largest epsilon at which no release from these data breaks the rule."""
    family = lambda e: mechanism.private_plugin(e, 5, 5)  # noqa: E731
    return acceptance.largest_epsilon(family, ones, otherwise, rules, 0.01, 20.0)


for_ones = np.array([kept(k, k - 1) for k in range(1, 6)])
for_one, for_three, for_any = for_ones[0], for_ones[2], np.log(2)
possible = [int(k) for k in 1 + np.flatnonzero(for_ones.round(2) == for_three.round(2))]
told_all = np.round([min(kept(k, j) for j in one_table.neighbors(k, 5)) for k in range(6)], 2)
still_possible = [int(k) for k in np.flatnonzero(told_all == told_all[3])]
with np.errstate(divide="ignore"):
    announced = np.log(told_all[:, None] == np.unique(told_all))
announcement = mechanism.Mechanism.from_table(announced, mechanism.change_one(5))
bounded = bool(np.isfinite(mechanism.exact_epsilon(announcement).value))

# %% tags=["solution"]
doubled = 1 / (2 ** (1 / 5) - 1) - 2  # alpha at which five ones are twice as probable from X = 3
assert np.isclose(for_three, mechanism.bernoulli_plugin_epsilon(5, doubled, doubled))
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
# announcement gives away the count before anything is released. Protecting records of both kinds makes the
# announcement symmetric: 0.80 leaves $X = 2$ and $X = 3$. An intruder who knows four records and doubts between these two
# learns nothing from it. But one who doubts between $X = 3$ and $X = 4$ reads the answer from it. An announcement
# that is a function of the data and differs between two neighbors has an infinite epsilon, and so has
# everything that is published together with it. To publish an epsilon one must choose it without the data,
# or draw it with a mechanism that has a budget of its own.

# %% [markdown]
# ### Open question: one number for the data sheet
#
# An agency wants to print one privacy number beside a file of synthetic records. Which one would you print,
# computed from what, and what should the sentence around it say?

# %% [markdown] tags=["solution"]
# A good answer names its reader and the decision that the number serves. It says over what the number is a maximum
# or an average: releases, data sets, records, priors. It says whether the number is a promise made before the
# release (epsilon, with the neighbors that it is about) or a description of the file that was released (a posterior, with
# the intruder's knowledge and prior). It notices that a number computed from the confidential data is itself a
# release, as in [Exercise 7](#Exercise-7:-an-epsilon-chosen-from-the-data). And it names something that the number does not see: several records at once,
# the probability of the worst release, or an intruder with another model.

# %% [markdown]
# ## References
#
# - Charest, A.-S. (2013). Synthetic contingency tables for confidentiality protection: offering
#   guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
#   statistical data confidentiality*, Ottawa.
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy. *Journal of the Royal
#   Statistical Society B* 84, 3–37. <https://doi.org/10.1111/rssb.12454>
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12. <https://doi.org/10.1007/11787006_1>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. In *Privacy in Statistical Databases*, 185–199. Springer.
#   <https://doi.org/10.1007/978-3-319-11257-2_15>
# - Kairouz, P., Oh, S. and Viswanath, P. (2017). The composition theorem for differential privacy.
#   *IEEE Transactions on Information Theory* 63, 4037–4049; first at ICML 2015.
#   <https://doi.org/10.1109/TIT.2017.2685505>
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Wang, Y.-X. (2019). Per-instance differential privacy. *Journal of Privacy and Confidentiality* 9(1).
#   <https://doi.org/10.29012/jpc.662>
# - Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.
#   *Journal of the American Statistical Association* 60, 63–69.
#   <https://doi.org/10.1080/01621459.1965.10480775>
# - Wasserman, L. and Zhou, S. (2010). A statistical framework for differential privacy. *Journal of the
#   American Statistical Association* 105, 375–389. <https://doi.org/10.1198/jasa.2009.tm08651>
