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
# # The same epsilon hides a coin flip and can make a rare disease several times as probable
#
# **McClure, D. and Reiter, J. P. (2012).** Differential privacy and statistical disclosure risk
# measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
#
# Differential privacy (Dwork 2006) is a promise about a *mechanism*: whatever the data and the
# release, no single record changes the probability of a release by more than a factor
# $e^{\epsilon}$. Statistical disclosure control asks about *this* release and *these* data: how
# sure of one record is an intruder who knows all others? The paper compares the two where both
# can be computed: $n$ yes/no records, replaced by $n_s$ synthetic ones.
#
# Both are readings of one table, the probability of every release given every data set. This
# notebook computes it whole, so the paper's ten simulated pairs become exact distributions. What
# the paper prints agrees with them but for a few slips. Several conclusions depend on the
# intruder's prior, on $p_0$, on $\epsilon$, or on who knows the rule by which a release was
# chosen.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** $\alpha = \beta = 1/(e^{\epsilon/n_s}-1)$ gives $\epsilon$-differential privacy. | Theorem 1, Appendix A |
# | **C2** The expected increase in risk at one $\epsilon$ is larger for rare values: .125 against .00655. | Table 1 |
# | **C3** $U$ ranges from 2 to 2.7 at $\epsilon = .01$ and from .25 to 1.1 at $\epsilon = 2$ (here: all four ends at one $p_0$). | 3.2 |
# | **C4** $RR \le 1.25$ for $p_0 = .5$, while it can exceed two for $p_0 = .001$, $\epsilon \ge 100$. | 3.3, Figures 3 and 4 |
# | **C5** A Metropolis chain of 100,000 steps computes the utility. | Appendix B |
# | **C6** Regions of $R$ and $RR$ can be judged over all priors. | 4 |
# | **C7** Several releases under one $\epsilon$ make utility worse. | 3.2 |
# | **C8** An attack on a published region and $\epsilon$ would be challenging (a speculation; here: at most 5 % of the releases lie outside the region). | 4 |

# %% [markdown]
# ## What you will learn
#
# - to read one table of probabilities by rows (epsilon) and within a column (risk);
# - to replace a simulation by a sum, and ten pairs by their distribution;
# - to tell what a risk owes to the prior from what it owes to the release;
# - to recognize two ways in which a Markov chain misleads, one of which R-hat misses;
# - to compare explanations of a printed number by their likelihoods.
#
# *You should know* Bayes' rule, the binomial and the beta distribution, and, for one section, what a
# Markov chain is.
#
# Reading takes about two hours, as do the seven exercises, which stand behind the sections that they
# belong to. Numbers in the text belong to the default parameters (`srlib run mcclure_reiter -p n 200`
# changes one).

# %% tags=["parameters"]
n: int = 1000  # [1, 100000] records in the data, D
n_s: int = 1000  # [1, 100000] records in the release, D*
p0: list[float] = [0.001, 0.3, 0.5, 0.999]  # [0, 1] true proportions of ones
epsilon: list[float] = [1000.0, 100.0, 10.0, 2.0, 0.2, 0.01]  # [0.001, 10000] privacy budgets
prior: float = 0.5  # [0, 1] the intruder's prior probability of the record's true value
n_pairs: int = 10  # [1, 10000] pairs (D, D*) for each p0 and epsilon
n_priors: int = 1000  # [1, 1000000] equally spaced priors w in the lines of relative risk
acceptable: list[dict[str, float]] = [
    {"rr_at_most": 10, "r_at_most": 0.1},
    {"rr_at_most": 5, "r_at_least": 0.1, "r_at_most": 0.2},
    {"rr_at_most": 2, "r_at_least": 0.2, "r_at_most": 0.9},
    {"rr_at_most": 1.05, "r_at_least": 0.9},
]  # <srlib.mechanism.acceptance.read_rules> what may be released: RR at most so much where R is so
burn_in: int = 1000  # [0, inf) steps dropped from each chain
n_steps: int = 99000  # [1000, inf) steps kept from each chain
n_chains: int = 4  # [2, 1000] chains for each pair; the paper ran one
n_single: int = 1000  # [10, 1000000] single chains behind the likelihood of each printed range
seed: int = 2012  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import functools
import itertools

import numpy as np
import pandas as pd

from srlib import charts, diagnostics, mechanism
from srlib.display import callout, numbers, show
from srlib.mechanism import acceptance
from srlib.mechanism.proportion import Study
from srlib.papers import binary_design as design
from srlib.papers import claims
from srlib.papers import mcclure_reiter as paper
from srlib.papers import proportion_chain as by_chain
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)
verdicts = claims.Claims(
    {
        "C1": "Theorem 1 over the whole table", "C2": "The expected increase in risk",
        "C3": "The ranges of U", "C4": "Relative risk", "C5": "The Markov chain",
        "C6": "Acceptable regions", "C7": "Several releases, larger and smaller ones",
        "C8": "What a published choice tells",
    }
)  # fmt: skip

# %% [markdown]
# ## The smallest example: one table, two readings
#
# Three people each have a secret 0 or 1, with sum $X$. The synthesizer (the paper's equation 3, after
# Abowd and Vilhuber 2008) draws three artificial values, each 1 with probability
# $(X + \alpha)/(3 + 2\alpha)$, and publishes their sum $X^*$. With $\alpha$ for $\epsilon = 2$
# this is the probability of every release given every data set:

# %%
tiny = mechanism.private_plugin(2.0, n=3, n_s=3)
releases = [f"X* = {y}" for y in range(4)]
table = pd.DataFrame(np.exp([tiny.row(x) for x in range(4)]), columns=releases)
table.insert(0, "ones in the data", [f"X = {x}" for x in range(4)])
display(show(table, caption="Probability of each release, given the data: three records, ε = 2."))
at = mechanism.exact_epsilon(tiny)
callout(
    f"Exact epsilon is {at.value:g}",
    f"It is attained between $X$ = {at.pair[0]} and {at.pair[1]}, where $X^*$ = {at.output}.",
)

# %% [markdown]
# *Down the rows:* changing one record moves $X$ by one, to a neighboring row. The
# largest ratio of two neighboring entries, over all columns, is $e^\epsilon$.
#
# *Within a column:* suppose the others are both 0 and our record is 1, so $X = 1$.
# An intruder who knows the others compares rows 1 and 0 in the column of the release, by Bayes'
# rule (the paper's equation 5), here with prior 1/2:

# %%
within = pd.DataFrame(np.exp([tiny.row(1), tiny.row(0)]), columns=releases)
within.loc[2] = mechanism.risk(tiny, truth=1, alternative=0, prior=0.5)
within.insert(0, "our record", ["1 (the truth)", "0", "R, posterior probability of 1"])
show(within, caption="Probability of each release, if our record is 1 or 0, and the risk R.")

# %% [markdown]
# $R$ is the posterior probability of the truth ($1 - R$ is the distance of the paper's section
# 2.2, from the posterior mean to the truth). The last entry
# is $e^2/(1 + e^2)$, the most that $\epsilon = 2$ allows, and that release is the least probable
# of all. The promise is about the worst column, the risk about the one that came up.

# %% [markdown]
# ### Try it: the record has a zero
#
# The others are both 0 again, and now our record is 0 as well. The prior is still 1/2. Predict from
# the tables, before you compute: which release is `most_revealing` (its $X^*$), and how large is
# the risk there (`risk_of_zero`, three decimal places)?
#
# *You will need:* the table above, or `mechanism.risk(tiny, truth=..., alternative=..., prior=0.5)`.

# %% tags=["solution"]
of_zero = mechanism.risk(tiny, truth=0, alternative=1, prior=0.5)
most_revealing, risk_of_zero = int(of_zero.argmax()), of_zero.max()
assert most_revealing == 0
assert round(risk_of_zero, 3) == 0.700

# %% [markdown] tags=["solution"]
# The two hypotheses are the same, so that the risk of a zero is one minus the risk of a one in every column.
# A release without ones speaks for a zero, and it is also the most probable one.

# %% [markdown]
# ## Theorem 1 over the whole table
#
# Between the neighboring rows $X + 1$ and $X$ the log ratio of the release $X^*$ is
#
# $$X^* \log\frac{X + 1 + \alpha}{X + \alpha} + (n_s - X^*) \log\frac{n - X - 1 + \beta}{n - X + \beta}.$$
#
# The first logarithm is positive and the second negative, so the extremes are at $X^* = n_s$ and
# $X^* = 0$. A single logarithm is left there, farthest from zero at $X = 0$ and at $X = n - 1$.
# With $\alpha = \beta$ this is $\epsilon = n_s \log(1 + 1/\alpha)$ exactly, which the paper's $\alpha$
# solves. The same by enumeration:

# %%
plugin = functools.partial(mechanism.private_plugin, n=n, n_s=n_s)
tables = {e: plugin(e) for e in epsilon}
found = [mechanism.exact_epsilon(table) for table in tables.values()]
theorem = pd.DataFrame({"epsilon": epsilon, "exact": [at.value for at in found]})
theorem["attained"] = [f"X = {at.pair[0]} and {at.pair[1]}, X* = {at.output}" for at in found]
caption = "Exact epsilon over all neighboring data sets and releases, and where it is attained."
names = {"epsilon": "budget ε", "exact": "exact ε", "attained": "attained between, and at"}
display(show(outputs.table("theorem_1", theorem).round(9), caption=caption, names=names))
verdicts.say("C1", paper.keeps_its_budget(epsilon, theorem["exact"]))

# %% [markdown]
# The budget is spent at one corner: nobody has a one, one person gets one, and *all* synthetic
# records come out as ones. Other data sets spend Charest and Han's conditional epsilon, the
# largest log ratio between a data set and its neighbors:

# %%
spent = {f"ε = {e:g}": mechanism.conditional_epsilon(t) / e for e, t in tables.items()}
spent = pd.DataFrame(spent).iloc[:: max(1, n // 40)]
titles = "Ones in the data, X", "Share of epsilon that is spent (log scale)"
outputs.figure("conditional_epsilon", charts.lines(spent, *titles, log_y=True, ordered=True))

# %% [markdown]
# **At large budgets only data with hardly any ones, or hardly any zeros, come near the promise.**
# Conditional epsilon over epsilon, for each possible data set and a line for each budget. At small
# budgets all data sets look alike and spend nearly everything.

# %% [markdown]
# ### Unequal parameters, and one record more or less
#
# The paper's section 3.2 says that unequal parameters change nothing in its logic. Below, $\beta$ is a
# multiple or a fraction of $\alpha$, and the smaller of the two is that of Theorem 1, for the budget
# closest to 2:

# %%
budget = min(epsilon, key=lambda e: abs(e - 2))
skewed = design.unequal_parameters(n, n_s, budget, p0, prior)
caption = "Epsilon and expected increase in risk, by true proportion, for unequal parameters."
display(show(outputs.table("unequal_alpha_beta", skewed), caption=caption))
added, less = design.one_record_more(n, n_s, budget)
callout(
    "One record more or less",
    f"If neighbors differ by a whole record, epsilon is {added.value:.4g} instead of {budget:g}: "
    f"it is lower by $n_s \\log(1 + 1/(n + 2\\alpha))$ = {less:.4g}.",
)

# %% [markdown]
# At the same exact epsilon unequal parameters *lower* the risk at every proportion: their sum is
# larger and the data count for less. A record more enlarges the denominator $n + 2\alpha$ as well.

# %% [markdown] tags=["spoiler-1"]
# In general $\epsilon = n_s \log(1 + 1/\min(\alpha, \beta))$. The paper's equation 10 has
# $1/\min \log(e_1/e_0)$ for $-\min \log(e_1/e_0)$: as printed, it looks at $\alpha$ alone.

# %% [markdown] tags=["written"]
# ### Exercise 1: what unequal parameters spend
#
# The paper's equation 10, as printed, makes $\epsilon = n_s \log(1 + 1/\alpha)$, whatever $\beta$ is. Four records,
# three synthetic ones, $\alpha = 3$ and $\beta = 1$: which epsilon does it `promise`, and which epsilon is
# `spent_there`? Three decimal places. In which release (`corner`, its number of ones)? Say what went wrong in
# the equation.
#
# *You will need:* `mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)` and the attributes `.value` and `.output`
# of what `mechanism.exact_epsilon` returns.

# %% [markdown] tags=["hint"]
# The log ratio above has two terms. Which of them is left at $X^* = 0$, and which parameter is in it?

# %% [markdown] tags=["hint"]
# At $X^* = 0$ the ratio is that of $n - X + \beta$ to $n - X - 1 + \beta$, to the power $n_s$. Take the $X$ at which
# it is largest.

# %% tags=["solution"]
uneven = mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)
worst_case = mechanism.exact_epsilon(uneven)
promise, spent_there, corner = 3 * np.log(1 + 1 / 3), worst_case.value, worst_case.output
assert round(promise, 3) == 0.863
assert round(spent_there, 3) == 2.079
assert corner == 0

# %% [markdown] tags=["solution"]
# With few zeros in the data and $\beta$ small, a release without ones is the surprising one. The paper's
# equation 9 has $\min(\alpha, \beta) = 1$ and gives $3 \log 2$, which is what is spent. Equation 10 has a
# reciprocal in the place of a minus sign and loses the second corner.

# %% [markdown]
# ## The expected increase in risk
#
# First the worked example of the paper's section 3.2: all other records are 0, ours is 1,
# $\epsilon = 1000$, and the release holds three ones. Then its Table 1: how much does the
# intruder's probability of the truth rise over all data sets and releases, not counting the cases
# in which it falls (the paper's equation 6)? The record at risk has $Y_j = 1$, or 0 where the data
# hold no ones.

# %%
names = "α", "1 + α", "n + 2α", "P(X* = 3) if Y = 0", "P(X* = 3) if Y = 1", "R"
example = pd.DataFrame([paper.worked_example().values()], columns=names)
caption = "The worked example, ε = 1,000: parameters, probabilities and the risk."
display(show(example, digits=4, caption=caption))
exact, cases = design.all_pairs(tables, p0, prior), design.cases(p0, epsilon)
increase = [exact[case].expected_increase(prior) for case in cases.itertuples(index=False)]
expected_risk = outputs.table("expected_risk", cases.assign(expected_increase=increase))
wide = expected_risk.pivot_table(index="epsilon", columns="p0", values="expected_increase")
wide = wide.loc[[*tables]].rename(columns="p₀ = {:g}".format).rename_axis(columns=None)
wide = wide.map(lambda increase: numbers([increase])[0])  # three digits each
caption = f"Expected increase in risk, by budget and true proportion p₀; prior {prior:g}."
show(wide.reset_index(), caption=caption)

# %% [markdown]
# Once $\epsilon$ is small, $p_0$ no longer matters, because nothing is learned from any data.

# %% [markdown] tags=["written"]
# ### Exercise 2: the last digits of a table
#
# For $p_0 = .5$ ($n = n_s = 1000$, prior 1/2) the paper's Table 1 prints .00655, .00643, .00543, .00321, .000575 and
# 3.13e-05 at $\epsilon$ = 1000, 100, 10, 2, .2 and .01. Compute the six entries, round them to three significant digits and
# list those that come out otherwise (`otherwise`, by their epsilon, from large to small). What did the paper do with its
# digits?
#
# *You will need:* `mechanism.private_plugin(epsilon, 1000, 1000)` for the table, then
# `Study(table, 0.5).all_pairs(design.changed(1000), 0.5).expected_increase(0.5)`.

# %% [markdown] tags=["hint"]
# Print five digits beside the three of the paper. `f"{number:.2e}"` has three significant ones.

# %% [markdown] tags=["hint"]
# Look at the entries that differ: by how much, and always in the same direction? What is the fourth digit where they agree?

# %% tags=["solution"]
as_printed = {1000: "6.55e-03", 100: "6.43e-03", 10: "5.43e-03", 2: "3.21e-03"}
as_printed |= {0.2: "5.75e-04", 0.01: "3.13e-05"}
otherwise = []
for budgeted_at, entry in as_printed.items():
    half = Study(mechanism.private_plugin(budgeted_at, 1000, 1000), 0.5)
    rise = half.all_pairs(design.changed(1000), 0.5).expected_increase(0.5)
    if f"{rise:.2e}" != entry:
        otherwise.append(budgeted_at)
assert otherwise == [10, 2, 0.2, 0.01]

# %% [markdown] tags=["solution"]
# At these four budgets the fourth digit is 5 or more, and the paper prints the third as it stands: .005436
# becomes .00543. Its digits were cut and not rounded. At 1000 and 100 the fourth digit is small, so that cutting and rounding
# agree and the entries say nothing. If digits of that table were cut, those of the ranges of $U$ may have been as well, and a
# comparison of explanations has to be made under both conventions.

# %% [markdown]
# At $\epsilon = 1000$ the columns differ by up to a factor of 19, all with the same prior. An
# intruder who gives a disease of prevalence .001 a probability of one half is wrong by a factor
# of 500 before anything is released. Let the intruder instead know the proportion, so that the
# prior probability of a one is $p_0$.

# %% [markdown] tags=["written"]
# ### Exercise 3: which sentence does the table not support?
#
# With $n = n_s = 1000$ and $\epsilon = 1000$, the expected increase in the probability of the truth is:
#
# | | prior 1/2 | prior $p_0$ |
# |---|---|---|
# | $p_0 = .001$ | .125 | .0019 |
# | $p_0 = .5$ | .0066 | .0066 |
#
# 1. An intruder with prior one half expects to gain about nineteen times as much at $p_0 = .001$ as at .5.
# 2. If the intruder knows the proportion, the larger expected increase is at $p_0 = .5$.
# 3. At this $\epsilon$ rare values are more at risk than common ones, whatever the intruder believes.
# 4. At $p_0 = .001$ the prior matters more than at $p_0 = .5$.
#
# Give its number (`unsupported`), and say what table would support a sentence like it.
#
# *You will need:* nothing but the table.

# %% [markdown] tags=["hint"]
# Write down for each sentence which two entries it compares.

# %% [markdown] tags=["hint"]
# One of the sentences speaks of more priors than the table has columns. Does even the second column bear it out?

# %% tags=["solution"]
rises = {}
for proportion in (0.001, 0.5):
    there = Study(mechanism.private_plugin(1000, 1000, 1000), proportion)
    there = there.all_pairs(design.changed(1000), 0.5)
    truth_prior = np.where(np.arange(1001) > 0, proportion, 1 - proportion)
    rises[proportion] = there.expected_increase(0.5), there.expected_increase(truth_prior)
(rare_half, rare_own), (half_half, half_own) = rises.values()
stands = [18 < rare_half / half_half < 20, half_own > rare_own]
stands += [rare_half > half_half and rare_own > half_own]
stands += [rare_half / rare_own > half_half / half_own]
unsupported = 1 + stands.index(False)
assert unsupported == 3

# %% [markdown] tags=["solution"]
# The second column contradicts sentence 3. A table of *relative* increases would support a weaker one: for a
# record that has the rare value, $\log RR$ is larger at $p_0 = .001$ under either prior. It still would not say
# "whatever the intruder believes", since two priors are not all of them.

# %% [markdown]
# Here are the expected increases under both priors and, under the second, the expected
# $\log RR = \log(R/w)$ in nats: for a record with a one, and for
# all records (the mutual information of a record and the release).

# %%
calibrated = expected_risk.merge(design.with_calibrated_prior(exact, tables))
calibrated = outputs.table("calibrated", calibrated)
shown = calibrated[calibrated["epsilon"].isin(sorted(epsilon)[-3:])].head(12)
names = {"expected_increase": f"increase, prior {prior:g}"}
names |= {"expected_increase_calibrated": "increase, prior p₀"}
names |= {"log_gain_of_one": "log RR, a one", "log_gain": "log RR, all records"}
caption = "Expected increase in risk under two priors, and expected log RR, at the largest budgets."
display(show(shown, digits=5, caption=caption, names=names))
common, rare = (pick(p0, key=lambda p: min(p, 1 - p)) for pick in (max, min))
verdicts.say("C2", paper.depends_on_rarity(calibrated, rare, common))

# %% [markdown] tags=["spoiler-3"]
# For an intruder who knows the proportion the absolute order reverses: there is more to gain
# where both values are common. In relative terms the rare value stays exposed, but only for the
# few records that have it. Over all records the release tells *less* about a rare attribute than
# about a common one.

# %% [markdown]
# ## Risk against utility
#
# Utility is what the release costs in precision about $p_0$ (the paper's equation 4): $U$ is the
# $\log_{10}$ of the expected squared error given the release over that given the data. The paper
# simulates it, but it is a finite sum: given $X$ the posterior of $p$ is a beta distribution, so
# given $X^*$ it is a mixture of $n + 1$ of them with known weights. Ten pairs for each $\epsilon$,
# with exact utility:

# %%
pairs = design.draw_pairs(tables, cases, prior, n_pairs, seed)
pictured = pairs[pairs["p0"] == common].assign(panel=f"p₀ = {common:g}, utility exact")
outputs.figure("figure_1", charts.risk_utility(pictured))

# %% [markdown]
# **Where ones and zeros are common, a smaller budget costs precision and hardly touches the risk.**
# Each point is a pair of data and release, as in the paper's Figure 1, for the most common value of $p_0$
# (the paper's .5). The risk stays within a few hundredths of the prior at every budget.

# %%
pictured = pairs[pairs["p0"] == rare].assign(panel=f"p₀ = {rare:g}, utility exact")
outputs.figure("figure_2", charts.risk_utility(pictured))

# %% [markdown]
# **Where ones are rare, single releases come close to certainty, and others give the intruder a wrong
# belief.** The same for the rarest $p_0$ (.001), as in the paper's Figure 2. Squares are data without ones.

# %% [markdown]
# The exact distributions behind such draws:

# %%
ranges = pd.DataFrame(exact[case].ranges() for case in cases.itertuples(index=False))
distribution = outputs.table("distribution", cases.join(ranges))
shown = distribution[distribution["p0"].isin([rare, common])].head(12)
caption = "Quantiles of risk R and loss of precision U (log10) over all pairs, for two p₀."
display(show(design.ranges_in_words(shown), caption=caption))
budgets = np.unique(np.geomspace(min(epsilon), max(epsilon), 21))
path = outputs.table("frontier", design.ranges_along_budgets(plugin, budgets, p0, prior))
outputs.figure("frontier", charts.frontier(path))

# %% [markdown]
# **For common values there is hardly any risk to buy off; for rare ones the first loss of precision buys
# the most.** Each line follows $\epsilon$ from loose (left) to tight (right);
# each arm of the cross, which the slider moves, covers nine releases in ten. (The two rare lines differ: the
# record at risk, a one, is the odd one out at .001 and one of many at .999.)

# %% [markdown]
# To keep $R$ below some value for any mechanism and release, an agency must choose the first
# budget below. For 99 % of this mechanism's releases the others suffice (of the budgets in the
# figure, which end at the largest):

# %%
needed = outputs.table("epsilon_for_risk", design.budgets_for_risk(path, prior))
caption = "Largest ε that keeps the risk R: for any release, and for 99 % of releases at each p₀."
show(needed, caption=caption, names={of: of.split(", ")[-1] for of in needed})

# %% [markdown]
# ## Relative risk
#
# A risk of .99 is no news to an intruder who believed it before. The relative risk $RR = R/w$
# (the paper's equation 8) says what the release added. The paper draws $RR$ against $R$ for 1,000
# values of the prior $w$. With $L = p(D^* \mid \text{truth})/p(D^* \mid \text{alternative})$ Bayes' rule
# is $R(1 - w) = wL(1 - R)$. Divided by $w$, it makes these curves straight:
#
# $$RR = R + L\,(1 - R).$$
#
# So the single number $L$ describes a release: it is the relative risk for vanishing $w$.

# %% [markdown]
# ### Try it: one release, two intruders
#
# A release has $L = 3$. In your head or on paper: what is the risk for an intruder with prior 1/2
# (`r_half`), and what is the *relative* risk for one with prior 1/10 (`rr_tenth`)? Two decimal
# places. Whom did the release tell more?
#
# *You will need:* Bayes' rule in odds.

# %% tags=["solution"]
r_half = 3 / (3 + 1)
rr_tenth = 3 / (3 + 9) / 0.1
assert round(r_half, 2) == 0.75
assert round(rr_tenth, 2) == 2.50

# %% [markdown] tags=["solution"]
# The odds are three times as large for both, from 1 to 3 and from 1/9 to 1/3. In relative terms the doubtful
# intruder learned more: 2.5 against 1.5.

# %%
lines = design.relative_risk_lines(pairs[pairs["p0"] == common], n_priors)
outputs.figure("figure_3", charts.relative_risk(lines))

# %% [markdown]
# **Where values are common, none of these releases makes the truth a quarter more probable, whatever the prior.**
# A line for each pair of data and release, as in the paper's Figure 3, at the most common $p_0$. All end in
# $(1, 1)$: near $w = 1$ nothing is left to learn.

# %%
lines = design.relative_risk_lines(pairs[pairs["p0"] == rare], n_priors)
outputs.figure("figure_4", charts.relative_risk(lines))

# %% [markdown]
# **Where ones are rare, one release makes the truth more than a hundred times as probable for an intruder
# who did not expect it.** As in the paper's Figure 4, at the rarest $p_0$; dotted where the data hold no
# ones. (On a logarithmic scale straight lines are bent.)

# %% [markdown]
# The probability that $L$ exceeds the printed limits, in one release and in some of ten:

# %%
limits = outputs.table("relative_risk_limits", design.limits_exceeded(exact))
shown = limits[limits["p0"].isin([rare, common]) & (limits["epsilon"] >= 2)]
caption = "Probability that L exceeds 1.25 or 2, in one release and in some of ten."
display(show(shown, digits=4, caption=caption))
verdicts.say("C4", paper.limits_of_relative_risk(exact))

# %% [markdown]
# ### Exercise 4: another prior
#
# Had the release of the paper's worked example held four ones instead of three, it would have $L = 20.17$ for the record
# with the rare disease. What is the risk for an intruder whose prior is one half (`risk_half`), and for one who knows that
# one person in a thousand has the disease (`risk_rare`)? Three and five decimal places. For which prior is the
# increase $R - w$ largest (`most_moved`, three decimal places)?
#
# *You will need:* a pencil, and numpy for a square root.

# %% [markdown] tags=["hint"]
# Posterior odds are $L$ times prior odds. From odds $o$ the probability is $o/(1 + o)$.

# %% [markdown] tags=["hint"]
# $R = wL/(1 - w + wL)$. Set the derivative of $R - w$ with respect to $w$ to zero: the square of a simple expression equals
# $L$.

# %% tags=["solution"]
risk_half = 20.17 / (20.17 + 1)
risk_rare = 0.001 * 20.17 / (0.001 * 20.17 + 0.999)
most_moved = 1 / (1 + np.sqrt(20.17))
assert round(risk_half, 3) == 0.953
assert round(risk_rare, 5) == 0.01979
assert round(most_moved, 3) == 0.182

# %% [markdown] tags=["solution"]
# The same release is worth a factor of 20 in the odds to both. The first intruder ends up at 95 %, the
# second at 2 %. Setting the derivative of $wL/(1 - w + wL) - w$ to zero gives
# $1 - w + wL = \sqrt L$, hence $w = 1/(1 + \sqrt L)$: absolute increases are largest for intruders who held the truth
# for improbable, but not for impossible. At $w = 1/2$ the increase is .45 here, and at its largest .64.

# %% [markdown]
# ## The Markov chain
#
# The paper computes $E\big((p - p_0)^2 \mid X^*\big)$ from 99,000 draws of a chain (after Charest
# 2010) that alternates a step $X \to X \pm 1$ given $p$ with a draw of $p$ given $X$. With $p$
# integrated out, $X$ itself is a Markov chain with known transition probabilities. It runs here
# four times for every pair, and $E\big((p - p_0)^2 \mid X\big)$ is averaged along it: the first
# chain is the paper's, less the small noise of $p$ given $X$.

# %% tags=["monte-carlo"]
chain = {"burn_in": burn_in, "n_steps": n_steps}
replicates = design.run_chains(tables, pairs, seed, n_chains=n_chains, **chain)
by_epsilon = design.chains_by_budget(outputs.table("replicates", replicates))
caption = f"Convergence and errors of {n_chains} chains for each pair, by budget; U is in log10."
display(show(outputs.table("chains", by_epsilon), caption=caption))
outputs.figure("chain_against_exact", charts.chain_against_exact(replicates))

# %% [markdown]
# **The chains often miss the exact utility, and the diagnostics notice part of it.** Utility $U$ from the
# chains against the exact one; the shape is the diagnostics' verdict.

# %%
verdicts.say("C5", paper.chain_suffices(replicates))

# %% [markdown]
# Two things go wrong. First, the walk is too slow. For small $\epsilon$ the posterior of $X$ is
# nearly flat over $0..n$, and single steps need of the order of $n^2$ to cross it. R-hat (Vehtari
# et al. 2021) sees it, given more than one chain. Compare a healthy set (a rare value, a large
# $\epsilon$, and 3,000 steps dropped instead of 1,000) with a sick one (the smallest $\epsilon$),
# with $p$ drawn as in the paper:

# %% tags=["monte-carlo"]
start, later = {"n_chains": n_chains}, min(3 * burn_in, burn_in + n_steps // 2)
long = start | {"n_steps": burn_in + n_steps}
sets = {f"X, ε = {e:g}": (rare, e) for e in (max(epsilon), min(epsilon))}
two = {k: design.walks(tables, *case, seed, **long)[:, later::20] for k, case in sets.items()}
summary = outputs.table("diagnostics", diagnostics.summary(two))
display(diagnostics.verdict(summary))
display(show(summary, caption="Mean of X and its convergence, over every 20th draw."))
outputs.figure("trace", charts.trace(diagnostics.long_format(two)))

# %% [markdown]
# **The healthy chains lie on top of each other; the sick ones wander, each for itself.** $X$ along four chains, at the
# largest and at the smallest budget.

# %%
outputs.figure("ranks", charts.rank_plot(diagnostics.long_format(two)))

# %% [markdown]
# **Each sick chain stays within a part of the ranks.** Ranks of every 20th draw among those of all four chains; chains that
# have mixed fill each twentieth alike. All steps of the sick chains amount to a handful of independent ones.

# %% [markdown]
# ### Try it: a tenth of the records
#
# At the smallest budget a walk over $n = 1000$ records takes some 200,000 steps to forget where it
# was (its relaxation time). Predict: if $n$ is 100, by which `factor` does that fall, nearly: 3, 10,
# 30, 100 or 1,000?
#
# *You will need:* the paragraph above the chains. To check, `design.typical` and
# `by_chain.relaxation_time(by_chain.walk(study, x_star))`.

# %% tags=["solution"]
slowest = []
for size in (1000, 100):
    study, x_here, x_star = design.typical(
        {0.01: mechanism.private_plugin(0.01, size, size)}, 0.5, 0.01
    )
    slowest.append(by_chain.relaxation_time(by_chain.walk(study, x_star)))
factor = min((3, 10, 30, 100, 1000), key=lambda guess: abs(np.log(slowest[0] / slowest[1] / guess)))
assert factor == 100

# %% [markdown] tags=["solution"]
# Single steps cross a flat stretch of length $n$ in the order of $n^2$: ten times fewer records, a hundred times fewer steps
# (92, computed).

# %% [markdown]
# Second, the start is not forgotten. The paper starts $X$ anywhere in $0..n$ and drops 1,000
# steps. If the posterior sits near 0, a chain that starts at 900 has to walk down 900 steps at
# least. Such a stretch ruins an average of *squared* errors that are otherwise of order
# $10^{-6}$, and is so short that R-hat hardly notices it.
#
# Both can be computed without simulating: the relaxation time from the second eigenvalue of the
# walk, and the *expectation* of what the paper's chain reports by following the uniform start
# step by step. For typical data and the most probable release:

# %% tags=["monte-carlo"]
extreme = cases[cases["p0"].isin([rare, common])]
slow = outputs.table("anatomy", design.anatomy(tables, extreme, seed, n_chains, **chain))
caption = "Relaxation time of the walk; U (log10) exactly, as the mean of chains, and from four."
display(show(slow.head(12), caption=caption))
first = design.walks(tables, rare, max(epsilon), seed, n_steps=3000, **start)
first = {f"X, p₀ = {rare:g}, ε = {max(epsilon):g}": first}
outputs.figure("transient", charts.trace(diagnostics.long_format(first)))

# %% [markdown]
# **The chains are still on their way down when the paper begins to count.** The first 3,000 steps of
# chains for a rare value and the largest $\epsilon$; the paper's burn-in ends at draw 1,000.

# %% [markdown]
# The mean of the chains in the table is the $\log_{10}$ of the average ratio over
# infinitely many of them. For rare values and large $\epsilon$ the relaxation time is some tens of
# steps, and still the mean is off by a factor of ten or more: all of it transient, which a longer
# burn-in cures. The slow walk needs another kind of move, many more steps, or the sum above.

# %% [markdown]
# ### The small print of Appendix B
#
# The appendix proposes $X \pm 1$ with probability 1/2 "for $2 \le X \le n - 1$", and steps
# inwards from 0 and $n$. That leaves $X = 1$ without a proposal: taken literally, the chain never
# sees 0 or 1 unless it started there. Another easy slip is to leave out the factor 2 of the
# proposal at the ends. Their effects on $U$, exactly, for the rarest $p_0$ and the largest
# $\epsilon$ (the relaxation time of the last reading is not computed; the denominator
# $T - (B + 1)$, one short of the number of draws, moves $U$ by less than $10^{-5}$):

# %%
readings = outputs.table("small_print", design.readings_of_the_proposal(tables[max(epsilon)], rare))
show(
    readings,
    caption="What three readings of the proposal make of the posterior, of U and of the walk.",
)

# %% [markdown]
# ### Exercise 5: one step of the walk
#
# Two records, two synthetic ones, $\epsilon = 2$, and a release with $X^* = 1$. The chain of Appendix B is
# at $X = 0$; it draws $p$ from Beta(1, 3) and proposes $X = 1$. With which probability is the proposal
# accepted? Integrate (`accepted`, four decimal places), and compare with `by_chain.walk`.
#
# *You will need:* `mechanism.private_plugin(2.0, n=2, n_s=2)` and its `.row(X)[1]`, a log probability; for the comparison
# `by_chain.walk(Study(table, 0.5), 1)[0, 1]`.

# %% [markdown] tags=["hint"]
# Metropolis and Hastings: the acceptance probability is the smaller of 1 and a product of three ratios, of the prior of $X$
# given $p$, of the probability of the release, and of the two proposals.

# %% [markdown] tags=["hint"]
# Given $p$, $X = 1$ is $2p/(1 - p)$ times as probable as $X = 0$. From 0 the way up is certain, from 1 the way back is
# proposed with probability 1/2. Average over the density $3(1 - p)^2$, with the minimum inside the integral.

# %% tags=["solution"]
two_records = mechanism.private_plugin(2.0, n=2, n_s=2)
gain = 2 * np.exp(two_records.row(1)[1] - two_records.row(0)[1]) / 2  # back: one half; orders: 2
middles = (np.arange(100_000) + 0.5) / 100_000
accepted = np.mean(np.minimum(1, gain * middles / (1 - middles)) * 3 * (1 - middles) ** 2)
assert np.isclose(accepted, by_chain.walk(Study(two_records, 0.5), 1)[0, 1])
assert round(accepted, 4) == 0.5076

# %% [markdown] tags=["solution"]
# Going up multiplies the prior of $X$ given $p$ by $2p/(1 - p)$, two orders of one 1 and one 0; the release
# becomes more probable by the ratio of two entries of a column; and from $X = 1$ the way back is proposed
# with probability 1/2, from 0 the way up with certainty.

# %% [markdown]
# ## The ranges of U
#
# The paper's section 3.2 names no $p_0$ for the ranges of its "simulated values"; its next sentence is
# about .5. The ends of a range of ten pairs are order statistics with an exact distribution. Here are their
# medians, and the probabilities that the ends of ten pairs, rounded, are those that the paper prints. A
# proportion fits if each of the four printed ends has a probability of 1 % or more there:

# %%
ends = outputs.table("utility_ranges", paper.inside_ranges(exact))
caption = "Printed ranges of U, median ends of ten pairs, and the chance that the ends print so."
names = {"printed": "printed range", "lower end": "lower end prints so"}
names |= {"upper end": "upper end prints so", "both ends": "both ends print so"}
display(show(ends, caption=caption, names=names))
verdicts.say("C3", paper.ranges_by_proportion(ends))

# %% [markdown] tags=["spoiler-6"]
# For rare values the loss at $\epsilon = .01$ is a hundred thousandfold, so the sentence is about
# common ones. At $p_0 = .5$ the upper end 2.7 (and "roughly 500", its power of ten) is out of
# reach. It could come from the pairs with $p_0 = .3$, or from chains that had not converged.

# %% [markdown]
# An explanation must account for *both* ends of a range. Their joint likelihood, from exact utilities and
# from single chains of the paper's kind:

# %% tags=["monte-carlo", "spoiler-6"]
candidates = list(itertools.product((0.3, 0.5), paper.RANGES))
single = design.single_chains(tables, exact, candidates, n_single, seed, **chain)
likelihoods = paper.explanations(exact, single, rng=stream(seed, "errors of likelihoods"))
outputs.table("range_likelihoods", likelihoods)
caption = "Probability that the ends of ten pairs print as in the paper, by the source of U."
display(show(paper.explanations_in_words(likelihoods), digits=4, caption=caption))
callout("How 2 to 2.7 came about", paper.how_the_range_came_about(likelihoods))

# %% [markdown] tags=["spoiler-6"]
# Unconverged chains at $p_0 = .5$ often reach 2.7, but then the smallest of ten rarely stays at 2. Exact
# utilities at $p_0 = .3$, alone or pooled with .5, give both ends more easily. The range .25 to 1.1 hardly
# tells the explanations apart.
#
# That does not settle it. Appendix B says that utilities were computed by such chains; if they
# were, the sentence is about .5, and if they were accurate, about .3 (or both). The printed range
# favors accurate utilities, but only by the factors above. That the chains do not converge is
# shown [in their own section](#The-Markov-chain), without it.

# %% [markdown] tags=["written"]
# ### Exercise 6: which pairs can have printed 2.7?
#
# The paper's section 3.2 says that at $\epsilon = .01$ the simulated $U$ go up to 2.7. Let $n = n_s = 1000$ and the utility
# be exact. What is the probability that the largest of ten pairs lies between 2.65 and 2.75 if $p_0 = .35$
# (`at_35`), and if $p_0 = .4$ (`at_40`)? Three decimal places. A colleague finds that 2.7 is out of reach at $p_0 = .5$ and
# concludes that it is the error of Markov chains that had not converged. Do your numbers `prove_it` (true or false), and what
# else could it be?
#
# *You will need:* `Study(mechanism.private_plugin(0.01, 1000, 1000), p).all_pairs(design.changed(1000), 0.5)`, whose
# `.utility` and `.probability` are arrays over all pairs.

# %% [markdown] tags=["hint"]
# The largest of ten is below a limit when all ten are.

# %% [markdown] tags=["hint"]
# Let $F$ be the probability that one pair is below: the sum of `.probability` where `.utility` is. You want
# $F(2.75)^{10} - F(2.65)^{10}$.

# %% tags=["solution"]
strict, prints = mechanism.private_plugin(0.01, 1000, 1000), []
for proportion in (0.35, 0.4):
    pairs_there = Study(strict, proportion).all_pairs(design.changed(1000), 0.5)
    utility, weight = pairs_there.utility, pairs_there.probability
    prints.append(weight[utility < 2.75].sum() ** 10 - weight[utility < 2.65].sum() ** 10)
at_35, at_40 = prints
prove_it = max(prints) < 0.01
assert round(at_35, 3) == 0.780
assert round(at_40, 3) == 0.008
assert not prove_it

# %% [markdown] tags=["solution"]
# A release at $\epsilon = .01$ says next to nothing, so that the squared error is that of the prior:
# $1/12 + (1/2 - p_0)^2$. The denominator is about $p_0(1 - p_0)/1002$. At $p_0 = .5$ the ratio is some 334,
# $U = 2.52$; at $p_0 = .35$ it is some 466, and 2.7 is ordinary. The design has $p_0 = .3$, where it is possible as well, and
# the paper does not say which pairs it means, so that the number alone proves nothing about chains. One has to compare how
# well each explanation gives *both* ends, 2 and 2.7: accurate utilities at .3 do better than
# unconverged chains at .5, by a factor that does not exclude the chains. (These have convergence problems
# of their own, which one finds by running more than one.)

# %% [markdown]
# ## Acceptable regions
#
# The paper's proposal: say which combinations of $R$ and $RR$ are acceptable (parameter
# `acceptable`), then ask whether *any* prior $w$ leads out of that region. On straight lines
# these priors have closed forms. For the pair at most risk at each $\epsilon$, at the rarest
# $p_0$:

# %%
rules = acceptance.read_rules(acceptable)
worst = outputs.table("acceptance", design.riskiest(pairs[pairs["p0"] == rare], rules))
caption = "The riskiest pair at each budget, and priors for which its release is unacceptable."
display(show(worst.drop(columns="log_ratio"), caption=caption, names={"x": "X", "x_star": "X*"}))
lines = acceptance.offending_lines(design.named_by_budget(worst), rules)
outputs.figure("region", charts.acceptable_region(pd.DataFrame(map(vars, rules)), lines))

# %% [markdown]
# **The riskiest pairs at the largest budgets are unacceptable for some priors, the others for none.** Shaded is what
# is not acceptable; of the curve of each pair the part that offends is thick.

# %%
off = design.priors_that_disagree(pairs["log_ratio"].to_numpy(), rules, 1000)
verdicts.say("C6", paper.judged_over_all_priors(off, len(pairs)))

# %% [markdown] tags=["spoiler-7"]
# Each rule binds at its corner, the smallest $R$ to which it applies; "$RR$ at most 1.05 where $R \ge .9$" means
# $L \le 1.5$ for every prior.

# %% [markdown]
# Before releasing, the agency does not know $X^*$. How often would the release be
# unacceptable, given the data, and up to which $\epsilon$ never?

# %%
few = sorted({min(x, n) for x in (0, 1, 2, 10, n // 2)})
share = design.unacceptable_shares(plugin, budgets, few, rules)
outputs.table("share_unacceptable", share.reset_index())
titles = "Privacy budget ε (log scale)", "Share of releases that are unacceptable"
outputs.figure("share_unacceptable", charts.lines(share, *titles, log_x=True, zero=True))

# %% [markdown]
# **At the largest budget about half of the releases of data with two ones or fewer are unacceptable, and hardly
# any of data with hundreds.** A line for each number of ones $X$ in the data.

# %%
never = design.largest_budgets(plugin, few, rules, min(1e-3, *epsilon), max(epsilon))
caption = "Largest budget ε at which no release of the data is unacceptable."
show(outputs.table("largest_epsilon", never), digits=4, caption=caption)

# %% [markdown]
# If *no* release may offend, the worst column counts again: the budgets fall to within a factor
# of two of $\log 1.5 = .4055$, which keeps $L \le 1.5$ for all data. If a few may, data with
# hundreds of ones are safe at budgets at which those with one are not.

# %% [markdown] tags=["written"]
# ### Exercise 7: corners
#
# Along a line $RR = R + L(1 - R)$ with $L > 1$, where is $RR$ largest, and why? Which rule "RR at most `a` where $R$ is at
# least .7" is equivalent to $L \le 4$? And at which `prior_there` does a release with $L = 4$ reach $R = .7$
# (three decimal places)?
#
# *You will need:* a pencil.

# %% [markdown] tags=["hint"]
# Is $RR$ rising or falling in $R$? Write $R + L(1 - R)$ as a constant and a multiple of $R$.

# %% [markdown] tags=["hint"]
# A rule for $R \ge .7$ is hardest to keep at one single $R$. Put it and $L = 4$ into the line; then $w = R/RR$.

# %% tags=["solution"]
a = 0.7 + 4 * (1 - 0.7)
prior_there = 0.7 / a
assert round(a, 2) == 1.90
assert round(prior_there, 3) == 0.368

# %% [markdown] tags=["solution"]
# $RR = L - (L - 1)R$ falls from $L$ to 1 while $R$ rises from 0 to 1, if $L > 1$. So a rule binds at its corner,
# the smallest $R$ to which it applies: at $R = .7$, $RR = .7 + .3 L$. There $w = R/RR = .7/1.9$.

# %% [markdown]
# ### Try it: what a budget tells
#
# An agency has a thousand records and the rules of this notebook. It announces a budget of .4070,
# "the largest for which none of our possible releases would be unacceptable". Look at the last table
# again: how many of its records are ones (`ones_told`)?
#
# *You will need:* the table of the largest budgets, at the default parameters.

# %% tags=["solution"]
strictest = acceptance.read_rules([{"rr_at_most": 1.05, "r_at_least": 0.9}])
of_thousand = functools.partial(mechanism.private_plugin, n=1000, n_s=1000)
ends_at = design.largest_budgets(of_thousand, range(21), strictest, 0.01, 1000).iloc[:, 1]
ones_told = int((ends_at - 0.4070).abs().argmin())
assert ones_told == 10

# %% [markdown] tags=["solution"]
# A budget that was fitted to the data is a statement about the data. This one gives the sum away, and with it the last
# record to an intruder who knows all others.

# %% [markdown]
# ## What a published choice tells
#
# Where several $D^*$ qualify, the paper's section 4 takes the one with the greatest utility, "e.g., the
# largest $\epsilon$ in our setting". It suspects that a published region and $\epsilon$ leak
# information on $Y_j$, but speculates that "the randomness inherent in $D^*$" would make the
# attack challenging.
#
# Choosing the largest $\epsilon$ at which no release offends is easily inverted: each data set has its
# own. For a choice that depends on $D^*$, draw a release at each of
# several budgets and publish the one with the largest $\epsilon$ that breaks no rule, for any
# prior and any record. That too is a mechanism, from the data to the pair $(\epsilon, X^*)$; its
# table follows from those of the budgets and takes Bayes' rule. Below are 20 records with budgets
# from 20 down to .5, and the run's own $n$ and budgets, for rare and for common ones. The record at risk
# has a one (a zero at $X = 0$), and the prior is 1/2. The attack counts as challenging where at most 5 % of
# the releases lie outside the region for an intruder who knows the rule:

# %%
small = {e: mechanism.private_plugin(e, 20, 20) for e in (20.0, 10.0, 5.0, 2.0, 1.0, 0.5)}
large = {e: design.first_rows(table, min(302, n + 1)) for e, table in tables.items()}
attacks = [
    design.attack_on_choice(of, rules).assign(records=k) for of, k in ((small, 20), (large, n))
]
attack = outputs.table("attack", pd.concat(attacks).set_index("records").reset_index())
caption = "Mean risk R without and after a choice, and releases that tell more than was promised."
names = {"certain": "value certain", "beyond the region": "outside the region"}
display(show(attack, caption=caption, names=names))
verdicts.say("C8", paper.attack_is_hard(attack))

# %% [markdown]
# For an intruder who ignores the selection, $R$ stays close to one half. One who knows rule and
# budgets also asks whether the same release would have been published had the record been
# different. Where ones are rare, often it would not: then the value is certain, although the region promised
# $L \le 1.5$ for every prior, and this intruder's risk exceeds what the largest budget
# gives *without* a choice. With hundreds of ones among a thousand records hardly any release is refused, the
# choice tells nearly nothing, and the paper's speculation is right. Even the announced $\epsilon$ alone is a
# leak:

# %%
announced = mechanism.exact_epsilon(design.announced(design.choice(small, rules)))
callout("Announcing the budget, 20 records", paper.of_announcement(announced))

# %% [markdown]
# The randomness of $D^*$ helps only where nearly every $D^*$ passes: the test itself is not random. A budget that ignores the data, such as
# $\epsilon = \log 1.5$, tells nothing. All this assumes a public rule, which the paper advises
# against. For multivariate records its section 4 proposes the share of records outside the region,
# which `docs/guide/rules.md` computes for microdata.

# %% [markdown]
# ### Open question: a region without a leak
#
# An agency wants to publish its region, its budgets and the rule by which it chose. Propose a procedure with a
# finite epsilon of its own, and say what it costs. When would you prefer it to $\epsilon = \log 1.5$ for all data?

# %% [markdown] tags=["solution"]
# A good answer says that the choice is an output and has to be private itself: for example the exponential
# mechanism over budgets, with a score that changes little when one record changes, or a test against a noisy
# threshold; it adds the epsilon of the choice to that of the release (composition), and checks the sum by the
# table, as above. It notices that the privacy of the whole must hold for *every* budget that may be chosen, so
# that a large budget in the list rules out a small total; that rejecting releases truncates their
# distribution, and that a hard rejection which depends on the data makes epsilon infinite; and that keeping the
# rule secret protects only as long as it cannot be guessed. It compares by utility at equal exact epsilon, on a
# small table, and says for which data the fixed budget loses.

# %% [markdown]
# ## Several releases, larger and smaller ones
#
# If $m$ releases together must satisfy $\epsilon$, each gets $\epsilon/m$. Their joint
# probability depends only on the sum of the $m$ counts, so they are worth exactly as much as
# *one* release of $m\,n_s$ records at $\epsilon$, with the same $\alpha$ and likelihood. The
# questions about $m$ and $n_s$ are one, answered exactly for typical data, common and rare:

# %%
by_size = design.loss_by_size(n, (common, rare), epsilon, (0.1, 0.2, 0.5, 1, 2, 5, 10))
titles = "Released records over records, m nₛ / n (log scale)", "Loss of precision (log10)"
curves = design.curves_by_size(outputs.table("release_size", by_size), common)
outputs.figure("release_size", charts.lines(curves, *titles, log_x=True, ordered=True))

# %% [markdown]
# **For common values the best release is the larger, the larger the budget.** Loss of precision by the number
# of released records, at fixed total $\epsilon$, for the most common $p_0$. More records reduce the sampling noise
# of the release and enlarge $\alpha$.

# %%
curves = design.curves_by_size(by_size, rare)
outputs.figure("release_size_rare", charts.lines(curves, *titles, log_x=True, ordered=True))

# %% [markdown]
# **For rare values a second release pays at the largest budgets only.** The same for the rarest $p_0$, where
# $\alpha$ also moves the proportion of the release away from zero.

# %%
verdicts.say("C7", paper.several_releases(by_size))

# %% [markdown]
# With $N$ records and $q = (X + \alpha)/(n + 2\alpha)$ the information about
# $X$ is $N/[q(1-q)(n + 2\alpha)^2]$, $\alpha \approx N/\epsilon$. For common ones $q(1-q)$ is 1/4
# and the best size is $N = n\epsilon/2$. For rare ones $\alpha$ adds noise by way of $q$.

# %% [markdown]
# ## The ledger
#
# What ten pairs for each case showed has an exact probability. In the ledger such numbers are
# *consistent* where it is 1 % or more, and so is what follows from other printed numbers by
# arithmetic.

# %%
said = outputs.table("sentences", paper.sentences(exact))
said = said.assign(sentence=said["sentence"].str.replace("p0", "p₀"))
caption = "Probability that ten pairs show what the paper's sections 1 and 3 say of them."
display(show(said, caption=caption))
run = {"n": n, "n_s": n_s, "p0": p0, "epsilon": epsilon, "prior": prior, "n_pairs": n_pairs}
run |= {"n_priors": n_priors, "burn_in": burn_in, "n_steps": n_steps, "rules": rules}
outputs.ledger(paper.book(exact, run))

# %% [markdown]
# ## The claims

# %%
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# ## What did not reproduce, and why
#
# - **The paper's section 1 speaks of decreasing $\epsilon$ "from ten to one"**; below ten the design
#   has 2 and .2.
# - **The paper's equation 11** has $\binom{n}{X^*}$ for $\binom{n_s}{X^*}$, which cancels. For the slips in
#   its equation 10, its Appendix B and in the ranges of $U$ see
#   [Unequal parameters](#Unequal-parameters,-and-one-record-more-or-less),
#   [The small print of Appendix B](#The-small-print-of-Appendix-B) and
#   [The ranges of U](#The-ranges-of-U).
# - Not treated here: synthesizers with many interactions, and output perturbation (the paper's section 5).

# %% [markdown] tags=["spoiler-2"]
# **The last digits of the paper's Table 1** nearly all agree with digits that were cut; none is
# further than one unit of its last digit from the exact value.

# %% [markdown]
# ## What came after
#
# Kazan and Reiter (2024) turn the paper's section 4 around: the agency states acceptable $R$ and $RR$ for all
# priors, and the largest $\epsilon$ follows without a look at the data, as $\log 1.5$ does here.
# Liu and Talwar (2019) select among private releases with a finite epsilon, by a score that is
# part of the release.
#
# ### To go on
#
# - Change `n` to 100 and then to 5,000 and compare `expected_risk`. For which of the two proportions
#   .001 and .5 does the sample size matter?
# - Write the rules that you would accept into `acceptable`, and find the budget that they allow.
#
# ## References
#
# - Abowd, J. and Vilhuber, L. (2008). How protective are synthetic data? *Privacy in Statistical
#   Databases*, 239–246. <https://doi.org/10.1007/978-3-540-87471-3_20>
# - Charest, A.-S. (2010). How can we analyze differentially-private synthetic datasets? *Journal of
#   Privacy and Confidentiality* 2(2). <https://doi.org/10.29012/jpc.v2i2.589>
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12. <https://doi.org/10.1007/11787006_1>
# - Kazan, Z. and Reiter, J. P. (2024). Prior-itizing privacy: a Bayesian approach to setting the privacy
#   budget in differential privacy. *NeurIPS*. <https://doi.org/10.48550/arXiv.2306.13214>
# - Liu, J. and Talwar, K. (2019). Private selection from private candidates. *STOC*.
#   <https://doi.org/10.1145/3313276.3316377>
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of MCMC. *Bayesian
#   Analysis* 16, 667–718. <https://doi.org/10.1214/20-BA1221>
