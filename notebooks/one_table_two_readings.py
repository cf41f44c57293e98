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
# An agency publishes [synthetic data](../docs/guide/glossary.md#fully-synthetic-data) instead of confidential records.
# One expert says: "the mechanism has $\epsilon = 2$". Another says: "after this release an intruder's probability rose
# from 10 % to 45 %". Both can be right, and neither number follows from the other. Both are read from the same table,
# which holds the probability of every possible release given every possible data set.

# %% [markdown] tags=["notebook-only"]
# This is the first hour of a course. It needs a pencil, Bayes' rule in odds, logarithms and the binomial distribution.
# Before you read on: which expert would you ask before a release, and which after it?
#
# ## Parameters
#
# Nothing is drawn at random. Numbers in the text belong to the values below. The sliders further down change them
# without code.

# %% tags=["parameters"]
n: int = 5  # [4, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.0] exact epsilon of the example with n records
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the record's true value
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd
from scipy.stats import binom

from srlib import charts, mechanism
from srlib.display import callout, show
from srlib.outputs import Outputs

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")

# %% [markdown]
# ## By hand: one person and a coin
#
# One person has a secret, no or yes. The release is one word. The person flips a coin. On heads
# the true answer is released. On tails a second flip decides between no and yes. So
# the true answer is released with probability $1/2 + 1/4 = 3/4$. This is *randomized response* (Warner
# 1965). In its table each row is a data set and each column a release:

# %%
coin = mechanism.Mechanism.from_table(
    np.log([[3 / 4, 1 / 4], [1 / 4, 3 / 4]]), [[0, 1]], ["no", "yes"], ["no", "yes"]
)
rows = np.exp([coin.row(0), coin.row(1)])
shown = pd.DataFrame([*rows, rows[0] / rows[1]], columns=["says no", "says yes"])
shown.insert(0, "true answer", [*coin.inputs, "ratio, no to yes"])
show(shown, caption="Probability of each release for each true answer, and the ratio of the rows.")

# %% [markdown]
# **First reading: down a pair of neighboring rows, over all columns.** Two data sets are neighbors if they differ in
# one record, so with one record the two rows are neighbors. In each column one entry is three times the other. The
# largest such ratio, over all neighbors and all columns, is $e^\epsilon$. Differential privacy (Dwork 2006) bounds it.
# The smallest bound is the [exact epsilon](../docs/guide/glossary.md#exact-epsilon), also called the tight epsilon,
# here $\log 3$.
#
# **Second reading: one column, by Bayes' rule.** The release says yes. An intruder's
# [prior](../docs/guide/glossary.md#prior) probability of yes was 1/10. Only the second column counts:
#
# $$P(\text{yes} \mid \text{says yes}) = \frac{1/10 \cdot 3/4}{1/10 \cdot 3/4 + 9/10 \cdot 1/4}
#   = \frac{3}{3 + 9} = \frac14 .$$
#
# In odds, 1 to 9 before the release, times 3, is 3 to 9 after it. The rule is the same for any prior:

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
# Mechanism, release and $\epsilon$ are the same in each row, yet the intruder's posterior runs
# from 0.003 to 0.964. The factor of the odds stays the same: it is the ratio of two entries.

# %% [markdown]
# ### Exercise 1: a secret with three values
#
# With a pencil, in five minutes. A person's secret is one of three values. The true value is released with
# probability 1/2, and each of the others with probability 1/4. What is the exact epsilon (`die_epsilon`)? An
# intruder considers all three equally probable and sees the first value. What is the probability that it is
# the true one (`die_posterior`)?
#
# *You will need:* a pencil; `np.log` for the answer.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# First write down the 3 × 3 table: a row for each true value, a column for each release.
# Look down any column for the largest ratio of two entries. With a uniform prior the posterior is
# the column divided by its sum.
#
# </details>

# %% tags=["solution"]
# Solution
die = (1 + np.eye(3)) / 4
die_epsilon = np.log(die[:, None] / die).max()
die_posterior = die[0, 0] / die[:, 0].sum()
assert np.isclose(die_epsilon, np.log(2))
assert np.isclose(die_posterior, 1 / 2)

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# Every column has one entry 1/2 and two entries 1/4. The largest ratio of two rows is 2, and epsilon is
# $\log 2$. With a uniform prior the posterior is proportional to the column, $2 : 1 : 1$, so the true value
# gets one half. The odds were 1 to 2 and are now 1 to 1: they also change by a factor of 2.
#
# </details>

# %% [markdown]
# ## Five people
#
# Five people answer yes or no, coded 1 and 0, and $X$ of them say yes. McClure and Reiter's synthesizer draws five
# artificial values, each a one with probability $(X + \alpha)/(5 + 2\alpha)$, and releases their sum $X^*$. There are
# six possible data sets and six possible releases. Five ones are $((1 + \alpha)/\alpha)^5$ times as probable from
# $X = 1$ as from $X = 0$. This factor is $e^2$ for $\alpha = 1/(e^{2/5} - 1)$. The table of $\log p(X^* \mid X)$ is:

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
# Check it with a pencil: in the last column, $-5.47 - (-7.47) = 2$. The intruder knows four of the
# five records, but not the last. If the data are $X = 1$ and the record at risk has the one,
# only rows 1 and 0 remain possible. (For $X = 0$ the record has a zero, and the rows are 0 and 1.) For the
# chart, compute each entry and its log ratio to the row with this record changed, at twelve epsilons:

# %% tags=["hero"]
changed = np.append(1, np.arange(n))  # X with the record at risk changed, for X = 0 to n


def entries(table):
    """Return every entry of a table of counts, with both readings of it."""
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
about += "epsilon, the prior, the data and the release. Bars below show the posterior of the true "
about += "value for each release, above the prior where the release has many ones."
chart = charts.two_readings(pd.concat(larger), **start, description=about)
outputs.figure("larger", chart)

# %% [markdown]
# **Epsilon compares rows in all columns, the intruder compares two entries of one column.** Black frames: neighbors
# and columns that attain the exact epsilon. Orange: the two entries that the intruder compares. Bars: the
# posterior probability of the true value for each release, with the prior (dotted) and the least and the most
# that epsilon allows (dashed). The lowest panel shows how probable each release is.
#
# Drag the prior: the table does not change. Drag epsilon: everything changes. Click the name of a column to be the
# intruder who sees that release: epsilon does not change. Click the name of a row to be the agency with those data. The
# loss below each column is the log ratio of the data's row to the other row.
#
# The chart starts at the worst release for these data: all five synthetic values are ones. Here epsilon
# is attained and the intruder's bar touches the dashed line. It happens four times in a thousand.
# Predict before you drag: in a town where three of five say yes, at a prior of one half, does the
# highest bar reach the dashed line? ([Answer](#The-posterior-does-not-see-the-columns-that-did-not-happen))
#
# ## The inequality that links the two readings
#
# For an intruder who doubts between two neighboring data sets, Bayes' rule in odds says
#
# $$\frac{\text{posterior odds}}{\text{prior odds}} = \frac{p(X^* \mid \text{true data})}
#   {p(X^* \mid \text{other data})} \le e^{\epsilon}.$$
#
# The left side is the second reading, the bound is the first. Exact epsilon is *defined* as the largest log
# ratio on the right, so some intruder attains it. "Largest" runs over all intruders who doubt one record,
# all data sets and all releases. An intruder who sees one release cares about a single entry of that list.
# Here is the left side by Bayes' rule, for all of them and 99 priors:

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
# ### Exercise 2: the prior with the largest rise
#
# With a pencil or the chart, in ten minutes. A mechanism has $\epsilon = 2$. For which prior probability
# (`worst_prior`) can a release raise the intruder's probability of the true value most, and by how much
# (`largest_rise`)? Two decimal places are enough. Find it by trial; if time is left, look for the formula.
#
# *You will need:* `mechanism.posterior_bound`, or the inequality above.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# What is the most that a release can add to the *logarithm* of the odds? As a function of the log odds, a probability
# is an S-shaped curve, symmetric around even odds. Where does a step of length $\epsilon$ along the axis climb most?
#
# </details>

# %% tags=["solution"]
# Solution
w = np.linspace(0.0001, 0.9999, 9999)
rise = mechanism.posterior_bound(2.0, w) - w
worst_prior, largest_rise = w[rise.argmax()], rise.max()
assert np.isclose(worst_prior, 1 / (1 + np.exp(2 / 2)), atol=1e-4)
assert np.isclose(largest_rise, np.tanh(2 / 4), atol=1e-6)
assert round(worst_prior, 2) == 0.27
assert round(largest_rise, 2) == 0.46

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# In log odds the release adds $\epsilon$. The S-shaped curve is steepest at even odds, so the step from $-\epsilon/2$
# to $+\epsilon/2$ climbs most. The prior is $1/(1 + e^{\epsilon/2}) = 0.27$, the posterior is one minus that, and the
# rise is $1 - 2/(1 + e^{\epsilon/2}) = \tanh(\epsilon/4) = 0.46$.
#
# </details>

# %% [markdown]
# ## What each reading does not see
#
# ### Epsilon does not see beliefs that span several records
#
# The inequality is about neighbors. Suppose the five are a family, and a disease is hereditary: either all have it,
# with prior probability 0.01, or nobody does. The two possible data sets are rows 0 and 5, which are not neighbors. At
# a small $\epsilon = 0.5$:

# %%
half = mechanism.private_plugin(0.5, n, n)
everybody, nobody = 0.01 * np.exp(half.row(n)), 0.99 * np.exp(half.row(0))
family = pd.DataFrame({"release": names, "probability": everybody / (everybody + nobody)})
family["odds after / odds before"] = np.exp(half.row(n) - half.row(0))
show(family, caption="Probability that all have the disease, after each release; prior 0.01.")

# %% [markdown]
# **A small epsilon, and a belief that moves a lot.** The odds of the disease grow more than eightfold, five times what
# $e^{\epsilon}$ seems to allow; its probability rises from 0.010 to 0.077. The bound that does apply is
# $e^{5\epsilon}$, with one $\epsilon$ for each record that changes. To promise the family that no release raises 0.01
# to more than 0.02, let their odds double: by this bound $\epsilon = \log(2.02)/5 = 0.14$ is enough.
#
# ### Epsilon does not see how probable a column is
#
# Conversely, a mechanism releases "nothing", except that in one case of a thousand it releases the true value:

# %%
leak = np.array([[0.999, 0.001, 0.0], [0.999, 0.0, 0.001]])  # nothing, 0, 1
expected = pd.DataFrame({"prior": [0.01, 0.1, 0.5]})
weights = expected[["prior"]].to_numpy()
after = weights * leak[1] / (weights * leak[1] + (1 - weights) * leak[0])
expected["expected posterior"] = after @ leak[1]
expected["expected rise"] = expected["expected posterior"] - expected["prior"]
show(expected, digits=5, caption="Second reading: expected posterior of the true value, 1.")

# %% [markdown] tags=["appendix"]
# **An infinite epsilon, and an intruder who on average learns almost nothing.** The release 1 is possible
# from one row and impossible from its neighbor, so no $\epsilon$ bounds their ratio. The usual remedy is a
# second number, [$\delta$](privacy_loss.ipynb#One-picture-for-four-papers). This mechanism is
# $(0, 0.001)$-differentially private.
#
# ### The posterior does not see the columns that did not happen
#
# Return to five people, $X = 1$, prior 0.1. Each release has its own posterior. The last column is the
# probability that a release occurs at least once if a thousand towns with the same data use the
# mechanism:

# %%
releases = pd.DataFrame({"release": counts, "probability": probability[x]})
releases["posterior"] = mechanism.risk(five, x, changed[x], prior)
releases["in 1,000 towns"] = -np.expm1(1000 * np.log1p(-releases["probability"]))
told = f"Releases from X = {x}: probability, and posterior of the true value; prior {prior:g}."
show(outputs.table("releases", releases), digits=4, caption=told)

# %% [markdown]
# A town that draws $X^* = 1$ may report a posterior of 0.08, below the prior. That is correct, and says
# nothing about the town that draws $X^* = 5$. The posterior does not see other data sets either. Both readings for all six:

# %%
of_x = pd.DataFrame({"X": counts, "conditional_epsilon": mechanism.conditional_epsilon(five)})
after = np.array([mechanism.risk(five, k, changed[k], prior) for k in counts])
of_x["largest_posterior"] = after.max(axis=1)
of_x["expected_posterior"] = (probability * after).sum(axis=1)
told = f"Both readings of each data set, at exact epsilon {epsilon:g} and prior {prior:g}."
show(outputs.table("by_data_set", of_x), caption=told)

# %% [markdown]
# Charest and Han's [conditional epsilon](../docs/guide/glossary.md#conditional-epsilon) is the largest difference between
# one row and its neighbors. It is 1.42 for $X = 2$ and 3, where no release attains epsilon and no bar reaches the dashed
# line. The expected posterior hardly depends on the data here, and is far below the largest one.

# %% [markdown]
# ### Exercise 3: the coin used twice
#
# With a pencil, in fifteen minutes. The coin of the first section is used twice, and both answers are
# released. Write down the 2 × 4 table. What is its exact epsilon (`twice_epsilon`)? With a prior of 1/10, what is the
# posterior after yes and yes (`yes_yes`), and after yes and no (`yes_no`)? If the true answer is yes, how probable is a
# pair of answers from which the intruder learns nothing (`cancel`)?
#
# *You will need:* a pencil; `np.log` for the answer.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# The two answers are independent, so each entry is a product of two entries of the first table.
# Ratios multiply as well: yes and yes multiplies the odds by 3 twice, yes and no by 3 and by 1/3.
#
# </details>

# %% tags=["solution"]
# Solution
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
# <details><summary>Solution</summary>
#
# If the true answer is yes, the four releases have probabilities 1/16, 3/16, 3/16 and 9/16; if it is no, they have
# the same in reverse order. Ratios multiply, so epsilon doubles to $2 \log 3$. Yes and yes multiplies the odds of 1
# to 9 by nine. Yes and no multiplies them by one: the answers cancel, with probability $2 \cdot 3/16 = 3/8$.
# Epsilon has doubled nevertheless.
#
# </details>

# %% [markdown]
# ## What to take home
#
# - Both experts' numbers can be read from the full table. For one record in doubt, epsilon is the largest
#   change of log odds that any intruder could report.
# - Epsilon does not see the prior, the data or the probability of a column. So it can be promised before the data are
#   seen.
# - The posterior sees one column, one data set and one prior, and promises nothing about other releases.
#
# Both readings summarize the [privacy loss](privacy_loss.ipynb). That notebook fills the table by four
# synthesizers, whose equal epsilons hide unequal risks.
#
# ## References
#
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12. <https://doi.org/10.1007/11787006_1>
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.
#   *Journal of the American Statistical Association* 60, 63–69.
#   <https://doi.org/10.1080/01621459.1965.10480775>
