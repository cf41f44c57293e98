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
# One expert says: "the mechanism has $\epsilon = 2$". Another: "this release raised an intruder's probability
# from 10 % to 45 %". Both can be right, and neither number follows from the other. Both are read from one table:
# the probability of every release given every data set.

# %% [markdown] tags=["notebook-only"]
# This first hour of a course needs a pencil, Bayes' rule in odds, logarithms and the binomial distribution.
# Which expert would you ask before a release, and which after?
#
# ## Parameters
#
# Numbers in the text belong to these values. Sliders below change `x`, `epsilon` and `prior`.

# %% tags=["parameters"]
n: int = 5  # [4, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.0] exact epsilon of the example with n records
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the truth
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% [markdown] tags=["notebook-only"]
# `mechanism` has the tables of probabilities. `show` displays a data frame, `callout` a sentence; `outputs` also
# writes to `output_dir`.

# %% tags=["hide-input"]
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
# A person has a secret, no or yes, and flips a coin. On heads the true answer is released. On tails a second flip
# decides between no and yes. So the true answer is released with probability $1/2 + 1/4 = 3/4$. This is *randomized
# response* (Warner 1965). Its table has a row for each data set, here the true answer, a column for each release,
# and below them the ratio of the rows:

# %%
coin = pd.DataFrame(
    {"says no": [3 / 4, 1 / 4], "says yes": [1 / 4, 3 / 4]}, index=["no", "yes"]
)
coin.loc["ratio, no to yes"] = coin.loc["no"] / coin.loc["yes"]

# %% tags=["hide-input"]
caption = "Probability of each release for each true answer, and the ratio of the rows."
show(coin.reset_index(names="true answer"), caption=caption)

# %% [markdown]
# **First reading: down a pair of neighboring rows, over all columns.** Data sets are neighbors if they differ in
# one record, as these two do. In each column one entry is three times the other. The largest such ratio, over all
# neighbors and columns, is $e^\epsilon$. Differential privacy (Dwork 2006) bounds it. The smallest bound is the
# [exact epsilon](../docs/guide/glossary.md#exact-epsilon), also called tight, here $\log 3$.
#
# **Second reading: one column, by Bayes' rule.** The release says yes. An intruder's
# [prior](../docs/guide/glossary.md#prior) probability of yes was 1/10. Only the second column counts:
#
# $$P(\text{yes} \mid \text{says yes}) = \frac{1/10 \cdot 3/4}{1/10 \cdot 3/4 + 9/10 \cdot 1/4}
#   = \frac{3}{3 + 9} = \frac14 .$$
#
# In odds, 1 to 9, times 3, is 3 to 9. The next table has the posterior for each of five priors:

# %%
priors = pd.DataFrame({"prior": [0.001, 0.01, 0.1, 0.5, 0.9]})
yes_and_says_yes = priors["prior"] * coin.loc["yes", "says yes"]
no_and_says_yes = (1 - priors["prior"]) * coin.loc["no", "says yes"]
priors["posterior"] = yes_and_says_yes / (yes_and_says_yes + no_and_says_yes)

# %% [markdown]
# Two further columns have the ratios of the probabilities and of the odds, after over before:

# %%
priors["posterior / prior"] = priors["posterior"] / priors["prior"]
probabilities = priors[["prior", "posterior"]]
odds = probabilities / (1 - probabilities)
priors["odds after / odds before"] = odds["posterior"] / odds["prior"]

# %% tags=["hide-input"]
caption = (
    "Probability of yes before and after a coin that says yes, for five intruders."
)
show(outputs.table("priors", priors), caption=caption)

# %% [markdown]
# Mechanism, release and $\epsilon$ are the same in each row, yet the posterior runs from 0.003 to 0.964. The factor of
# the odds stays the same: it is the ratio of two entries.

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
# Of five people $X$ say yes, coded 1. McClure and Reiter's synthesizer draws five artificial values, each a one with
# probability $(X + \alpha)/(5 + 2\alpha)$, and releases their sum $X^*$. Five ones are $((1 + \alpha)/\alpha)^5$ times
# as probable from $X = 1$ as from $X = 0$. This factor is $e^2$ for $\alpha = 1/(e^{2/5} - 1)$. The table of
# $\log p(X^* \mid X)$ has a row for each $X$, a binomial distribution, and a column for each $X^*$:

# %%
alpha = 1 / np.expm1(epsilon / n)
counts = np.arange(n + 1)
p_one = (counts + alpha) / (n + 2 * alpha)  # for each X
log_prob = binom.logpmf(counts, n, p_one[:, None])  # (X, X*)

# %% tags=["hide-input"]
names = [f"X* = {x_star}" for x_star in counts]
log_probabilities = pd.DataFrame(log_prob, columns=names)
log_probabilities.insert(0, "X", counts)
caption = f"Log probability of each release X* for each data set X, {n} records, ε = {epsilon:g}."
show(outputs.table("log_probabilities", log_probabilities), caption=caption)

# %% [markdown]
# The largest difference of two neighboring rows is the exact epsilon:

# %%
largest_difference = np.abs(np.diff(log_prob, axis=0)).max()

# %% tags=["hide-input"]
callout(
    "First reading",
    f"The largest difference of two neighboring rows is {largest_difference:.6g}.",
)

# %% [markdown]
# Check it with a pencil: in the last column, $-5.47 - (-7.47) = 2$. The intruder knows four of the
# five records. If $X = 1$ and the record at risk has the one, only rows 1 and 0 remain. (For $X = 0$ it has a
# zero.) `changed` has, for each $X$ from 0 to 5, the $X$ with this record changed:

# %%
changed = np.append(1, counts[:-1])

# %% [markdown]
# The chart draws this table for any epsilon, from the library's `private_plugin` (a change above does not reach it), which
# takes epsilon and the numbers of records in
# the data and in the release. Its `block` returns the logarithms in given rows and columns. `entries_for_chart` makes a
# data frame with a row for each entry: its log ratio to the row with the record changed, and whether it attains the
# exact epsilon against the next row. *Conditional epsilon* is the largest difference between one row and its neighbors.


# %%
def entries_for_chart(epsilon):
    """Return every entry of the table at this epsilon, with both readings of it."""
    table = mechanism.private_plugin(epsilon, n, n)
    log_prob = table.block(counts, counts)
    log_ratio = log_prob - log_prob[changed]
    to_next_row = np.abs(np.diff(log_prob, axis=0, append=np.nan))
    exact_epsilon = mechanism.exact_epsilon(table).value
    frame = pd.DataFrame(
        {"x": np.repeat(counts, n + 1), "release": np.tile(counts, n + 1)}
    )
    frame["log_prob"] = log_prob.ravel()
    frame["log_ratio"] = log_ratio.ravel()
    frame["attains"] = to_next_row.ravel() >= exact_epsilon * (1 - 1e-9)
    frame["conditional_epsilon"] = mechanism.conditional_epsilon(table)[frame["x"]]
    return frame.assign(exact_epsilon=exact_epsilon, epsilon=epsilon)


# %% [markdown]
# The slider for epsilon has twelve positions. The chart has the table at the top, the intruder's posteriors below:

# %%
slider_positions = np.linspace(0.25, 3, 12)
all_entries = pd.concat([entries_for_chart(e) for e in slider_positions])

# %% tags=["hero", "hide-input"]
about = (
    "A table of the log probability of each release given each data set, with sliders for "
    "epsilon, the prior, the data and the release. Bars below show the posterior of the true "
    "value for each release, above the prior where the release has many ones."
)
chart = charts.two_readings(
    all_entries, epsilon=epsilon, prior=prior, x=x, description=about
)
outputs.figure("larger", chart)

# %% [markdown]
# **Epsilon compares rows in all columns, the intruder compares two entries of one column.** Black frames: neighbors
# and columns that attain the exact epsilon. Orange: the intruder's two entries; below each column, their log ratio,
# the loss. Bars: the posterior of the true value, with the prior (dotted) and the least and the most that
# epsilon allows (dashed). Lowest panel: the probability of each release.
#
# Drag the prior: the table does not change. Drag epsilon: everything changes. Click a column to be the intruder who
# sees that release, a row to be the agency with those data.
#
# The chart starts at the worst release, five ones. Here epsilon is attained and the intruder's bar touches the dashed
# line. This release happens four times in a thousand. Predict before you drag: if three of five say yes, at a prior of one half,
# does the highest bar reach the dashed line? ([Answer](#The-posterior-does-not-see-the-columns-that-did-not-happen))
#
# ## The inequality that links the two readings
#
# For an intruder who doubts between two neighboring data sets, Bayes' rule in odds says
#
# $$\frac{\text{posterior odds}}{\text{prior odds}} = \frac{p(X^* \mid \text{true data})}
#   {p(X^* \mid \text{other data})} \le e^{\epsilon}.$$
#
# The left side is the second reading, the bound the first. Exact epsilon is *defined* as the largest log ratio, over
# all data sets, releases and intruders who doubt one record; so some intruder attains it.
#
# `odds_factors` takes the rows of the true and of the other data set, and returns the left side for 99 priors and each
# release:

# %%
probability = np.exp(log_prob)
priors_99 = np.linspace(0.01, 0.99, 99)[:, None]


def odds_factors(true_row, other_row):
    """Return posterior odds over prior odds; a row for each prior, a column for each release."""
    joint_true = priors_99 * probability[true_row]
    joint_other = (1 - priors_99) * probability[other_row]
    posterior = joint_true / (joint_true + joint_other)
    return posterior / (1 - posterior) / (priors_99 / (1 - priors_99))


# %% [markdown]
# Its largest value over all intruders, who doubt between $X$ and $X + 1$, either of them true, is $e^\epsilon$:

# %%
true_below = [odds_factors(k, k + 1).max() for k in range(n)]
true_above = [odds_factors(k + 1, k).max() for k in range(n)]
largest_factor = max(true_below + true_above)
assert np.isclose(largest_factor, np.exp(epsilon)), "the table has another epsilon"

# %% tags=["hide-input"]
callout(
    "Largest factor of the odds", f"{largest_factor:.3f}, which is exp({epsilon:g})."
)

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
some_priors = np.linspace(0.0001, 0.9999, 9999)
rise = mechanism.posterior_bound(2.0, some_priors) - some_priors
worst_prior = some_priors[rise.argmax()]
largest_rise = rise.max()
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
# Suppose the five are a family, and a disease is hereditary: either all have it, with prior probability 0.01, or nobody
# does. These are rows 0 and 5, which are not neighbors. At a small $\epsilon = 0.5$, Bayes' rule gives the posterior
# probability that all have it:

# %%
family_table = mechanism.private_plugin(0.5, n, n)
log_prob_all = family_table.row(n)  # (releases,)
log_prob_nobody = family_table.row(0)
joint_all = 0.01 * np.exp(log_prob_all)
joint_nobody = 0.99 * np.exp(log_prob_nobody)
p_all_have_it = joint_all / (joint_all + joint_nobody)

# %% [markdown]
# The table adds the factor of the odds:

# %%
family = pd.DataFrame({"release": names, "P(all have it | release)": p_all_have_it})
family["odds after / odds before"] = np.exp(log_prob_all - log_prob_nobody)

# %% tags=["hide-input"]
show(
    family,
    caption="Probability that all have the disease, after each release; prior 0.01.",
)

# %% [markdown]
# **A small epsilon, and a belief that moves a lot.** The odds of the disease grow more than eightfold, five times what
# $e^{\epsilon}$ seems to allow; its probability rises from 0.010 to 0.077. The bound that does apply is
# $e^{5\epsilon}$, with one $\epsilon$ for each record that changes. To promise the family that no release raises 0.01
# to more than 0.02, their odds may double, from 1/99 to 2/98. By this bound $\epsilon = \log(2.02)/5 = 0.14$ is enough.
#
# ### Epsilon does not see how probable a column is
#
# A mechanism releases "nothing", except in one case of a thousand, where it releases the true value, here 1.
# `expected_posterior` averages the posterior of this value over the three releases, given 1:

# %%
given_0 = np.array([0.999, 0.001, 0.0])  # of the releases: nothing, 0, 1
given_1 = np.array([0.999, 0.0, 0.001])


def expected_posterior(prior):
    """Return the posterior probability of the true value, 1, on average over the releases."""
    posterior = prior * given_1 / (prior * given_1 + (1 - prior) * given_0)
    return given_1 @ posterior


# %% [markdown]
# The table has it for three priors:

# %%
leak = pd.DataFrame({"prior": [0.01, 0.1, 0.5]})
leak["expected posterior"] = leak["prior"].map(expected_posterior)
leak["expected rise"] = leak["expected posterior"] - leak["prior"]

# %% tags=["hide-input"]
show(leak, digits=5, caption="Second reading: expected posterior of the true value, 1.")

# %% [markdown] tags=["appendix"]
# **An infinite epsilon, and an intruder who on average learns almost nothing.** The release 1 is possible
# from one row and impossible from its neighbor, so no $\epsilon$ bounds their ratio. The usual remedy is a
# second number, [$\delta$](privacy_loss.ipynb#One-picture-for-four-papers). This mechanism is
# $(0, 0.001)$-differentially private.
#
# ### The posterior does not see the columns that did not happen
#
# Return to five people, $X = 1$, prior 0.1. The next table has the probability $p$ and the posterior of each release.
# The last column is the probability $1 - (1 - p)^{1000}$ that it occurs at least once in a thousand towns with these
# data:

# %%
joint_true = prior * probability[x]
joint_other = (1 - prior) * probability[changed[x]]
releases = pd.DataFrame({"release": counts, "probability": probability[x]})
releases["posterior"] = joint_true / (joint_true + joint_other)
releases["in 1,000 towns"] = 1 - (1 - releases["probability"]) ** 1000

# %% tags=["hide-input"]
caption = f"Releases from X = {x}: probability, and posterior of the true value; prior {prior:g}."
heads = {"probability": "P(release)"}
show(outputs.table("releases", releases), digits=4, caption=caption, names=heads)

# %% [markdown]
# A town that draws $X^* = 1$ may report a posterior of 0.08, which says nothing about the town that draws
# $X^* = 5$. The posterior does not see other data sets either. `risk` takes the table, the true and the other row and
# the prior, and returns the posterior of the true value for each release. We compute it for each $X$:

# %%
plugin = mechanism.private_plugin(epsilon, n, n)
posteriors = [mechanism.risk(plugin, k, changed[k], prior) for k in counts]
posteriors = np.array(posteriors)  # (X, X*)
assert np.allclose(posteriors[x], releases["posterior"])

# %% [markdown]
# The next table has both readings of each $X$. The second is the largest and the expected posterior over the releases:

# %%
by_data_set = pd.DataFrame({"X": counts})
by_data_set["conditional_epsilon"] = mechanism.conditional_epsilon(plugin)
by_data_set["largest_posterior"] = posteriors.max(axis=1)
by_data_set["expected_posterior"] = (probability * posteriors).sum(axis=1)

# %% tags=["hide-input"]
caption = (
    f"Both readings of each data set, at exact epsilon {epsilon:g}; the intruder lacks one "
    f"record, prior {prior:g}."
)
show(outputs.table("by_data_set", by_data_set), caption=caption)

# %% [markdown]
# Charest and Han's [conditional epsilon](../docs/guide/glossary.md#conditional-epsilon) is 1.42 for $X = 2$ and 3,
# where no release attains epsilon and no bar reaches the dashed line. For $X = 4$ it is attained against $X = 5$, for 5 by a
# negative loss, so their largest posteriors are small. The expected posterior hardly depends on the
# data here, and is far below the largest one.

# %% [markdown]
# ### Exercise 3: the coin used twice
#
# With a pencil, in fifteen minutes, or at home. The coin of the first section is used twice, and both answers are
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
# The releases are: no no, no yes, yes no, yes yes
truth_yes = np.outer([1 / 4, 3 / 4], [1 / 4, 3 / 4]).ravel()
truth_no = truth_yes[::-1]
twice_epsilon = np.abs(np.log(truth_yes / truth_no)).max()
posterior_yes = truth_yes / (truth_yes + 9 * truth_no)  # prior odds 1 to 9
yes_no = posterior_yes[2]
yes_yes = posterior_yes[3]
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
# - Both experts' numbers are in the full table. For one record in doubt, epsilon is the largest
#   change of log odds that any intruder could report.
# - Epsilon does not see the prior, the data or the probability of a column, so it can be promised before
#   the data are seen.
# - The posterior sees one column, one data set and one prior, and promises nothing about other releases.
#
# Both readings summarize the [privacy loss](privacy_loss.ipynb). There the equal epsilons of four synthesizers hide
# unequal risks.
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
