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
# # The same epsilon for a coin flip and a rare disease
#
# **McClure, D. and Reiter, J. P. (2012).** Differential privacy and statistical disclosure risk
# measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
#
# Differential privacy (Dwork 2006) is a promise about a *mechanism*: whatever the data and the
# release, no single record changes the probability of a release by more than a factor
# [$e^{\epsilon}$](../docs/guide/glossary.md#epsilon). Statistical disclosure control asks
# about *this* release and *these* data: how sure of one record is an [intruder](../docs/guide/glossary.md#intruder) who
# knows all others? The paper compares the two where both can be computed: $n$ yes/no records, replaced by $n_s$ synthetic
# ones.

# %% [markdown] tags=["notebook-only"]
# Both are readings of one table, the probability of every release given every data set. This
# notebook computes the whole table, so the paper's ten simulated pairs become exact distributions.
# Nearly all comparable printed numbers agree with them. Several conclusions depend on the
# intruder's [prior](../docs/guide/glossary.md#prior), on $p_0$, on $\epsilon$ or on the data set.
#
# *Before you start:* Bayes' rule, the binomial and the beta distribution and, for one section,
# Markov chains.

# %% tags=["parameters"]
n: int = 1000  # [1, 100000] records in the data, D
n_s: int = 1000  # [1, 100000] records in the release, D*
p0: list[float] = [0.001, 0.3, 0.5, 0.999]  # [0, 1] true proportions of ones
epsilon: list[float] = [1000.0, 100.0, 10.0, 2.0, 0.2, 0.01]  # [0.001, 10000] budgets
prior: float = 0.5  # [0, 1] the intruder's prior probability of the true value
n_pairs: int = 10  # [1, 10000] pairs (D, D*) for each p0 and epsilon
acceptable: list[dict[str, float]] = [
    {"rr_at_most": 10, "r_at_most": 0.1},
    {"rr_at_most": 5, "r_at_least": 0.1, "r_at_most": 0.2},
    {"rr_at_most": 2, "r_at_least": 0.2, "r_at_most": 0.9},
    {"rr_at_most": 1.05, "r_at_least": 0.9},
]  # what may be released: the largest RR allowed in each range of R
burn_in: int = 1000  # [0, 10000000] steps dropped from each chain
n_steps: int = 99000  # [1000, 10000000] steps kept from each chain
n_chains: int = 4  # [2, 1000] chains for each pair; the paper ran one
seed: int = 2012  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
from itertools import product

import altair as alt
import numba
import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

import srlib
from srlib import charts, diagnostics, mechanism
from srlib.display import callout, numbers, show
from srlib.ledger import Claims, ledger, printed
from srlib.mechanism import acceptance
from srlib.mechanism.proportion import Study
from srlib.outputs import Outputs
from srlib.rng import stream

outputs = Outputs(output_dir)  # saves a table and returns it; saves and shows a figure
rules = acceptance.read_rules(acceptable)  # a `Rule` for each line; errors come first

# %% [markdown]
# ## What is claimed
#
# `claims.check` compares each case with a limit and prints the verdict. If the paper states no criterion, "here" gives ours.

# %% tags=["nbval-ignore-output", "hide-input"]
claims = Claims(
    {
        "C1": r"For every $\epsilon$, $n$ and $n_s$, $\alpha = \beta = "
        r"1/(e^{\epsilon/n_s}-1)$ gives $\epsilon$-differential privacy (Theorem 1, "
        "Appendix A).",
        "C2": r"At each $\epsilon$, and for priors other than one half as well, the "
        "expected increase in risk is larger at $p_0$ = .001 and .999 than at .5 "
        "(Table 1, section 3.2); here: for five priors $w$ that are the same at all "
        "$p_0$, and for $w = p_0$, which the paper does not mention.",
        "C3": r"$U$ ranges from 2 to 2.7 at $\epsilon$ = .01 and from .25 to 1.1 at 2 "
        "(section 3.2); here: at each $p_0$, and for .3 and .5 together, both printed "
        "ranges are at least a hundredth as probable as the most probable range.",
        "C4a": r"$RR$ never exceeds 1.25 at $p_0$ = .5, whatever $\epsilon$ and $w$ "
        "(section 3.3, Figure 3); here: in no release with a probability above 1e-15.",
        "C4b": r"$RR$ can exceed two at $p_0$ = .001, $\epsilon \ge$ 100 (section 3.3, "
        "Figure 4); here: such releases exist at both budgets.",
        "C5": "A Metropolis chain of 100,000 steps computes the utility (Appendix B); "
        "here: each single chain does so to within 0.1.",
        "C6": "Regions of $R$ and $RR$ can be judged over all priors (section 4).",
        "C7": r"Under one $\epsilon$ several releases generally make utility worse "
        "than one (section 3.2); here: two releases, for $X$ = round($n p_0$) at the "
        "most common and the rarest $p_0$, by the mean ratio and by the mean $U$, in "
        "at least three quarters of the cases.",
        "C8": r"An attack on a published region and $\epsilon$ would be challenging "
        "(section 4, a speculation); here: for each data set at most 5 % of releases "
        "lie outside the region for an intruder who knows the rule.",
    }
)
claims

# %% [markdown]
# ## The smallest example: one table, two readings
#
# Three people each have a secret 0 or 1, with sum $X$. The [synthesizer](../docs/guide/glossary.md#synthesizer) (the
# paper's equation 3, after Abowd and Vilhuber 2008) draws three artificial values, each 1 with probability
# $(X + \alpha)/(3 + 2\alpha)$, and releases their sum $X^*$. At $\epsilon = 2$ the paper's $\alpha$ is
# $1/(e^{2/3} - 1)$. Each row of the table, one for each $X$, is a binomial distribution:

# %%
counts_of_three = np.arange(4)
alpha = 1 / np.expm1(2 / 3)
p_one = (counts_of_three + alpha) / (3 + 2 * alpha)  # for each X
# A row for each X, a column for each X*
probability_of_three = stats.binom.pmf(counts_of_three, 3, p_one[:, None])

# %% tags=["hide-input"]
releases = [f"X* = {k}" for k in counts_of_three]
data_sets = [f"X = {k}" for k in counts_of_three]
three_people = pd.DataFrame(probability_of_three, columns=releases)
three_people.insert(0, "ones in the data", data_sets)
caption = "Probability of each release, given the data: three records, ε = 2."
show(three_people, caption=caption)

# %% [markdown]
# *Down the rows:* replacing one record moves $X$ by one, to a neighboring row. The largest ratio of two neighboring
# entries, over all columns, is $e^\epsilon$; its logarithm:

# %%
log_ratios = np.diff(np.log(probability_of_three), axis=0)  # of neighboring rows
callout("Largest log ratio", f"{np.abs(log_ratios).max():g}")

# %% [markdown]
# *Within a column:* suppose the others are both 0 and our record is 1, so $X = 1$. An intruder who knows the others
# compares rows 1 and 0 in the column of the release. With prior $w$, Bayes' rule (the paper's equation 5) gives the
# [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) of the true value,
#
# $$R = \frac{w\,p(X^* \mid X = 1)}{w\,p(X^* \mid X = 1) + (1 - w)\,p(X^* \mid X = 0)}.$$
#
# Here $w = 1/2$:

# %%
prior_of_three = 1 / 2
joint_one = prior_of_three * probability_of_three[1]
joint_zero = (1 - prior_of_three) * probability_of_three[0]
risk_of_three = joint_one / (joint_one + joint_zero)  # for each release

# %% tags=["hide-input"]
rows = [*probability_of_three[[1, 0]], risk_of_three]
column_by_column = pd.DataFrame(rows, columns=releases)
column_by_column.insert(0, "our record", ["1 (true value)", "0", "R"])
caption = "Probability of each release if our record is 1 or 0, and the risk R."
show(column_by_column, caption=caption)

# %% [markdown]
# The last entry is $e^2/(1 + e^2)$, the most that $\epsilon = 2$ allows, and that release is the least
# probable of all. The promise is about the worst column, the risk about the column that occurred. The library's table
# has log probabilities; `block` takes rows and columns:

# %%
table_of_three = mechanism.private_plugin(2.0, n=3, n_s=3)
log_prob = table_of_three.block(counts_of_three, counts_of_three)
assert np.allclose(np.exp(log_prob), probability_of_three)

# %% [markdown] tags=["appendix"]
# ## Theorem 1 over the whole table
#
# Between the neighboring rows $X + 1$ and $X$ the log ratio of the release $X^*$ is
#
# $$X^* \log\frac{X + 1 + \alpha}{X + \alpha} + (n_s - X^*) \log\frac{n - X - 1 + \beta}{n - X + \beta}.$$
#
# The first logarithm is positive and the second negative, so the extremes are at $X^* = n_s$ and
# $X^* = 0$. Only one logarithm remains there, farthest from zero at $X = 0$ and at $X = n - 1$.
# With $\alpha = \beta$ this is $\epsilon = n_s \log(1 + 1/\alpha)$ exactly, which the paper's $\alpha$
# solves. The budget is spent at two corners. In one, $X$ is 0 or 1 and *all*
# synthetic records are ones; the other is its mirror image. The tables, one for each budget of the run and the paper:

# %%
P0 = [0.001, 0.3, 0.5, 0.999]  # of the paper
EPSILON = [1000.0, 100.0, 10.0, 2.0, 0.2, 0.01]
every_p0 = [*dict.fromkeys([*p0, *P0])]
# exp(epsilon / n_s) overflows near epsilon = 709 n_s
budgets_of_paper = [e for e in EPSILON if e < 700 * n_s]
budgets = [*dict.fromkeys([*epsilon, *budgets_of_paper])]
tables = {e: mechanism.private_plugin(e, n, n_s) for e in budgets}

# %% [markdown]
# By enumeration, `exact_epsilon` finds the largest log ratio and one of the corners:

# %%
rows = []
for e, table in tables.items():
    worst = mechanism.exact_epsilon(table)
    first, second = worst.pair
    attained = f"X = {first} and {second}, X* = {worst.output}"
    rows.append({"epsilon": e, "exact": worst.value, "attained": attained})
theorem = outputs.table("theorem_1", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = (
    "Exact epsilon over all neighboring data sets and releases, and where it is "
    "attained."
)
names = {"epsilon": "budget ε", "exact": "exact ε", "attained": "attained at"}
show(theorem.round(9), caption=caption, names=names)

# %% tags=["hide-input"]
share = theorem["exact"] / theorem["epsilon"]
claims.check(
    "C1",
    "proved",
    "The log ratio is linear in $X^*$ and monotone in $X$; its largest value is the "
    "budget.",
    measured="exact ε over the budget",
    relation="<=",
    limit=1,
    value=share.set_axis([f"ε = {e:g}" for e in budgets]),
)

# %% [markdown]
# How much do the *other* data sets spend? Charest and Han's
# [conditional epsilon](../docs/guide/glossary.md#conditional-epsilon) is the largest log ratio between a data set and its
# neighbors. As a share of epsilon, for every $X$ near the ends and a grid between:

# %%
counts = np.arange(n + 1)
is_near_an_end = np.minimum(counts, n - counts) <= 25
is_drawn = is_near_an_end | (counts % max(1, n // 40) == 0)
spent = pd.DataFrame(index=counts[is_drawn])  # a row for each X, a column for each ε
for e in epsilon:
    conditional_epsilon = mechanism.conditional_epsilon(tables[e])  # (n + 1,)
    spent[f"ε = {e:g}"] = conditional_epsilon[is_drawn] / e

# %% tags=["hide-input"]
about = (
    "A curve for each budget, equal to one at both ends, where nobody or everybody has "
    "a one, and lowest in the middle. Larger budgets spend a smaller share in the "
    "middle."
)
titles = "Ones in the data, X", "Share of epsilon spent (log scale)"
chart = charts.lines(spent, *titles, log_y=True, ordered=True, description=about)
outputs.figure("conditional_epsilon", chart)

# %% [markdown]
# **At large budgets only data with hardly any ones, or hardly any zeros, spend most of epsilon.** $X = 0$ and $X = 1$ are
# neighbors and spend all of it; at the paper's largest budget $X = 2$ spends about half. At small budgets all data sets are
# similar and spend nearly all of it.

# %% [markdown] tags=["written"]
# ### Exercise 1: what unequal parameters spend
#
# The paper's equation 10, as printed, gives $\epsilon = n_s \log(1 + 1/\alpha)$, whatever $\beta$ is. Take four records,
# three synthetic records, $\alpha = 3$ and $\beta = 1$. Which epsilon does it `promise`, and which epsilon is
# `spent_there` (three decimal places)? In which release (`corner`, its number of ones)? Say what is wrong in
# the equation. (Which of the two terms above remains at $X^* = 0$, and which parameter does it contain?)
#
# *You will need:* a pencil and the log ratio above; to check, `mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)`
# and the attributes `.value` and `.output` of the result of `mechanism.exact_epsilon`.

# %% tags=["solution"]
# Solution
uneven = mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)
worst_case = mechanism.exact_epsilon(uneven)
promise = 3 * np.log(1 + 1 / 3)
spent_there = worst_case.value
corner = worst_case.output
assert round(promise, 3) == 0.863
assert round(spent_there, 3) == 2.079
assert corner == 0

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# With few zeros in the data and $\beta$ small, the worst release has no ones. The paper's
# equation 9 has $\min(\alpha, \beta) = 1$ and gives $3 \log 2$, the epsilon spent. Equation 10 has a
# reciprocal, $1/\min \log(e_1/e_0)$, instead of a minus sign and loses the second corner.
#
# </details>

# %% [markdown]
# ## The expected increase in risk
#
# First the paper's worked example (section 3.2): all other records are 0, ours is 1, $\epsilon = 1000$, and
# the release holds three ones. With prior 1/2:

# %%
alpha_1000 = 1 / np.expm1(1000 / 1000)
total = 1000 + 2 * alpha_1000
p_if_zero = stats.binom.pmf(3, 1000, alpha_1000 / total)
p_if_one = stats.binom.pmf(3, 1000, (1 + alpha_1000) / total)
risk_of_example = p_if_one / (p_if_one + p_if_zero)

# %% tags=["hide-input"]
example = {
    "α": alpha_1000,
    "1 + α": 1 + alpha_1000,
    "n + 2α": total,
    "P(X* = 3) if Y = 0": p_if_zero,
    "P(X* = 3) if Y = 1": p_if_one,
    "R": risk_of_example,
}
caption = "The worked example, ε = 1,000: parameters, probabilities and the risk."
show(pd.DataFrame([example]), digits=4, caption=caption)

# %% [markdown]
# Table 1 has the expected increase in the intruder's probability of the true value; a decrease counts as 0. The record at
# risk has $Y_j = 1$, or 0 if the data hold no ones, so the rows to compare are $X$ and $|X - 1|$. Equation 7 is the
# probability of a pair, equation 6 the sum:
#
# $$p(X, X^*) = p(X^* \mid X) \binom{n}{X} p_0^X (1 - p_0)^{n - X}, \qquad ER = \sum_{X, X^*} \max(R - w, 0)\; p(X, X^*).$$
#
# For the three people, with $p_0 = .3$ and $w = 1/2$:

# %%
increase = 0.0
for x, x_star in product(range(4), range(4)):
    p_true = probability_of_three[x, x_star]
    p_other = probability_of_three[abs(x - 1), x_star]
    joint_true = prior_of_three * p_true
    risk_of_pair = joint_true / (joint_true + (1 - prior_of_three) * p_other)
    p_pair = p_true * stats.binom.pmf(x, 3, 0.3)
    increase += max(risk_of_pair - prior_of_three, 0) * p_pair
callout("Expected increase in risk", f"{increase:.4f}, for three people.")

# %% [markdown]
# The library's `all_pairs` lists every pair with probability above $10^{-15}$, given the row to compare for each $X$, and $w$; `expected_increase` is equation
# 6:

# %%
study_of_three = Study(table_of_three, 0.3)  # with its p0
changed_of_three = np.abs(counts_of_three - 1)
# Arrays: x, x_star, probability, risk R, log_ratio of the rows, utility U (below)
pairs_of_three = study_of_three.all_pairs(changed_of_three, prior_of_three)
assert np.isclose(pairs_of_three.expected_increase(prior_of_three), increase)

# %% [markdown]
# How probable is what the paper observed, the worked example once in ten pairs and "several" risks near .90?

# %%
design = Study(mechanism.private_plugin(1000.0, 1000, 1000), 0.001)
design_pairs = design.all_pairs(np.abs(np.arange(1001) - 1), 0.5)
is_example = (design_pairs.x == 1) & (design_pairs.x_star == 3)
is_near_90 = np.abs(design_pairs.risk - 0.9) <= 0.05
events = is_example, is_near_90
# The sum of the pairs' probabilities
in_one_pair = [design_pairs.event_probability(event) for event in events]

# %% tags=["hide-input"]
of_ten = {
    "event": ["the example, X = 1 and X* = 3", "R from .85 to .95"],
    "one pair": in_one_pair,
    "once in ten": stats.binom.pmf(1, 10, in_one_pair),
    "twice or more": stats.binom.sf(1, 10, in_one_pair),
}
caption = (
    "Probability of the paper's observations in one pair, once in ten pairs, and twice "
    "or more in ten; p₀ = .001, ε = 1,000."
)
show(pd.DataFrame(of_ten), caption=caption)

# %% [markdown]
# Now all pairs at every $p_0$ and $\epsilon$ of the run and the paper:

# %%
changed = np.abs(counts - 1)  # X with the record at risk changed
exact_pairs = {}
for p, e in product(every_p0, budgets):
    exact_pairs[p, e] = Study(tables[e], p).all_pairs(changed, prior)

# %% [markdown]
# The paper's intruder has prior one half in every column of Table 1. For a disease of prevalence .001 that is wrong by a
# factor of 500. So consider also an intruder who knows the proportion and gives a one the prior probability $p_0$. For this
# intruder `log_gain` is the expected $\log(R/w)$ over all records, and `log_gain_of_one` that of a record with a one:

# %%
rows = []
for (p, e), all_pairs in exact_pairs.items():
    own_prior = np.where(counts > 0, p, 1 - p)  # of the record at risk, for each X
    row = {"p0": p, "epsilon": e}
    row["expected_increase"] = all_pairs.expected_increase(prior)
    row["expected_increase_calibrated"] = all_pairs.expected_increase(own_prior)
    log_gains = Study(tables[e], p).expected_log_relative_risk()
    row["log_gain_of_one"], row["log_gain"] = log_gains
    rows.append(row)
increases = pd.DataFrame(rows)

# %% [markdown]
# As a share of a record's entropy. The table is the run's increases, as in Table 1:

# %%
entropy = stats.entropy([increases["p0"], 1 - increases["p0"]])
increases["share_of_entropy"] = increases["log_gain"] / entropy
is_of_run = increases["p0"].isin(p0) & increases["epsilon"].isin(epsilon)
calibrated = outputs.table("calibrated", increases[is_of_run])
columns = ["p0", "epsilon", "expected_increase"]
expected_risk = outputs.table("expected_risk", calibrated[columns])

# %% tags=["hide-input"]
table_1 = expected_risk.pivot(index="epsilon", columns="p0", values="expected_increase")
table_1 = table_1.sort_index(ascending=False).rename(columns="p₀ = {:g}".format)
table_1 = table_1.map(lambda value: numbers([value])[0])  # three digits each
caption = (
    f"Expected increase in risk, by budget and true proportion p₀; prior {prior:g}."
)
show(table_1.rename_axis(columns=None).reset_index(), caption=caption)

# %% tags=["hide-input"]
is_large = calibrated["epsilon"].isin(sorted(epsilon)[-2:])
names = {
    "expected_increase": f"increase, prior {prior:g}",
    "expected_increase_calibrated": "increase, prior p₀",
    "log_gain_of_one": "log RR, a one",
    "log_gain": "log RR, all records",
    "share_of_entropy": "share of the entropy",
}
caption = (
    "Expected increase under two priors; expected log RR in nats, prior p₀; largest "
    "budgets."
)
show(calibrated[is_large].head(12), digits=5, caption=caption, names=names)

# %% [markdown]
# For each prior, is the increase larger for rare values?


# %%
def expected_increase(p, e, prior):
    """Return the expected increase in risk, a number.

    The prior is a number, or "p₀" for an intruder who knows the proportion.
    """
    if prior == "p₀":
        prior = np.where(counts > 0, p, 1 - p)  # as `own_prior` above
    return exact_pairs[p, e].expected_increase(prior)


# %% [markdown]
# The increase at .001 and .999 over that at .5, for six priors and each budget:

# %%
rows = []
six_priors = [0.001, 0.1, 0.5, 0.9, 0.999, "p₀"]
for same_prior, p, e in product(six_priors, [0.001, 0.999], budgets):
    increase_if_rare = expected_increase(p, e, same_prior)
    ratio = increase_if_rare / expected_increase(0.5, e, same_prior)
    row = {
        "prior w": str(same_prior),
        "p0": f"p₀ = {p:g}",
        "epsilon": f"ε = {e:g}",
        "ratio": ratio,
    }
    rows.append(row)
rarity = pd.DataFrame(rows)

# %% tags=["hide-input"]
by_prior = rarity.groupby("prior w", sort=False)["ratio"]
extremes = by_prior.agg(smallest="min", largest="max").reset_index()
caption = (
    "Increase at p₀ = .001 and .999 over that at .5, same prior w: extremes over "
    "budgets."
)
show(extremes, digits=5, caption=caption)

# %% tags=["hide-input"]
claims.check(
    "C2",
    "depends on the intruder's prior",
    "With each prior that is the same for all data the increase is larger if values "
    "are rare; for an intruder who knows the proportion it is larger if they are "
    "common.",
    measured="increase at the rare proportion over that at .5, by prior",
    value=rarity.set_index(["prior w", "p0", "epsilon"])["ratio"],
    relation=">",
    limit=1,
)

# %% [markdown] tags=["spoiler-2"]
# At the paper's settings the rare value stays exposed in relative terms, but only for the few records that have it. Over
# all records the release discloses, at these budgets, fewer nats about a rare attribute than about a common one, but
# *more* as a share of the attribute's entropy. At small $\epsilon$ the columns of Table 1 hardly differ, because $\alpha$ is
# so large that the release is nearly all coin flips. At .01 the increase is even slightly *smaller* at .3 than at .5, in digits
# not shown.

# %% [markdown] tags=["written"]
# ### Exercise 2: which sentence does the table not support?
#
# With $n = n_s = 1000$ and $\epsilon = 1000$, the expected increase in the probability of the true value is:
#
# | | prior 1/2 | prior $p_0$ |
# |---|---|---|
# | $p_0 = .001$ | .125 | .0019 |
# | $p_0 = .5$ | .0066 | .0066 |
#
# 1. For an intruder with prior one half the expected increase is about nineteen times as large at $p_0 = .001$ as at .5.
# 2. If the intruder knows the proportion, the larger expected increase is at $p_0 = .5$.
# 3. At this $\epsilon$ rare values are more at risk than common ones, whatever the intruder's prior.
# 4. At $p_0 = .001$ the prior matters more than at $p_0 = .5$.
#
# Give its number (`unsupported`), and say which table would support a similar sentence.
#
# *You will need:* only the table.

# %% tags=["solution"]
# Solution
rare_half = 0.125
rare_own = 0.0019
half_half = half_own = 0.0066
is_supported = {
    1: 18 < rare_half / half_half < 20,
    2: half_own > rare_own,
    3: rare_half > half_half and rare_own > half_own,
    4: rare_half / rare_own > half_half / half_own,
}
unsupported = min(number for number in is_supported if not is_supported[number])
assert unsupported == 3

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The second column contradicts sentence 3. A table in which each column has one prior for both rows
# supports it only for these priors. A table of *relative* increases supports a weaker sentence: for a
# record that has the rare value, and an intruder who knows the proportion, $\log RR$ is larger at $p_0 =
# .001$. Neither supports "whatever the intruder's prior", since a few priors are not all priors.
#
# </details>

# %% [markdown]
# ## Risk against utility
#
# The [utility loss](../docs/guide/glossary.md#utility-loss) is the loss of precision about $p_0$ (equation 4):
#
# $$U = \log_{10} \frac{E\big((p - p_0)^2 \mid X^*\big)}{E\big((p - p_0)^2 \mid X\big)}.$$
#
# The analyst's prior of $p$ is uniform, so $p$ given $X$ has a beta distribution:


# %%
def squared_error(x, n, p):
    """Return the expected squared error about p given X = x of n records."""
    mean = (x + 1) / (n + 2)
    variance = mean * (1 - mean) / (n + 3)
    return variance + (mean - p) ** 2


# %% [markdown]
# The paper simulates the numerator, but it is a finite sum. All counts $X$ are equally probable a priori, so their
# posterior is the column of the release over its sum, and $p$ given $X^*$ has a mixture of $n + 1$ beta
# distributions. For three people with $X = 1$, $X^* = 2$ and $p_0 = .3$:

# %%
count_posterior = probability_of_three[:, 2] / probability_of_three[:, 2].sum()
error_given_release = count_posterior @ squared_error(counts_of_three, 3, 0.3)
utility_loss = np.log10(error_given_release / squared_error(1, 3, 0.3))
assert np.isclose(utility_loss, study_of_three.utility(1, 2))
callout("U of one pair", f"{utility_loss:.4f}")

# %% [markdown]
# Like the paper, draw pairs, each a row with its exact $R$ and $U$:

# %%
drawn = []
for p, e in product(p0, epsilon):
    # A generator of its own for each design
    rng = stream(seed, f"pairs, p0 = {p:g}, epsilon = {e:g}")
    sample = Study(tables[e], p).draw_pairs(changed, prior, n_pairs, rng=rng)
    sample = pd.DataFrame(vars(sample)).drop(columns="probability")
    drawn.append(sample.assign(p0=p, epsilon=e, replicate=np.arange(1, n_pairs + 1)))
pairs = pd.concat(drawn, ignore_index=True)
pairs["all_zeros"] = pairs["x"] == 0
pair_names = "p₀ = " + pairs["p0"].map("{:g}".format)
pair_names += ", ε = " + pairs["epsilon"].map("{:g}".format)
pair_names += ", replicate " + pairs["replicate"].astype(str)

# %% [markdown]
# A chart of $R$ against $U$, for the most common and the rarest $p_0$:

# %%
# The p0 nearest to 1/2, and the p0 nearest to 0 or 1
common = max(p0, key=lambda p: min(p, 1 - p))
rare = min(p0, key=lambda p: min(p, 1 - p))
shown = pd.concat([pairs[pairs["p0"] == p] for p in dict.fromkeys([common, rare])])

# %% tags=["hero", "hide-input"]
shown = charts.compact(shown[["p0", "epsilon", "utility", "risk", "all_zeros"]])
shown["p0"] = shown["p0"].map("p₀ = {:g}".format)
shown["epsilon"] = shown["epsilon"].map("ε = {:g}".format)
title = "Utility loss U (log10)"
symbols = alt.Scale(domain=[False, True], range=["circle", "square"])
points = alt.Chart().mark_point(size=60, filled=True, opacity=0.75)
points = points.encode(
    x=alt.X("utility:Q", title=title).scale(zero=False),
    y=alt.Y("risk:Q", title="Risk R").scale(domain=[0, 1]),
    color=charts.ordered_color("epsilon", [*dict.fromkeys(shown["epsilon"])]),
    shape=alt.Shape("all_zeros:N", scale=symbols, legend=None),
    tooltip=["epsilon:N", "all_zeros:N", "utility:Q", "risk:Q"],
)
rule = alt.Chart().mark_rule(**charts.REFERENCE).encode(y=alt.datum(prior))
about = (
    "Points of risk against loss of precision, a panel for each p0. For the common "
    "value all risks lie near the prior; for the rare one they spread from low to "
    "certain at small losses of precision."
)
panels = alt.layer(rule, points, data=shown).properties(width=250, height=260)
header = alt.Facet("p0:N", title=None, sort=[*dict.fromkeys(shown["p0"])])
outputs.figure("figure_1_and_2", panels.facet(header).properties(description=about))

# %% [markdown]
# **If ones and zeros are common, a smaller budget costs precision and hardly moves the risk; if ones
# are rare, the largest budgets spread the risk widely.** Each point is a pair of data and release, as in
# the paper's Figures 1 and 2. Squares are data without ones; dotted is the prior.
#
# The exact quantiles over all pairs:

# %%
rows = []
for p, e in zip(expected_risk["p0"], expected_risk["epsilon"], strict=True):
    # 5, 50 and 95 % quantiles of risk and utility, 99 % quantile of the risk
    rows.append({"p0": p, "epsilon": e} | exact_pairs[p, e].quantile_summary())
distribution = outputs.table("distribution", pd.DataFrame(rows))

# %% tags=["hide-input"]
names = {
    "risk_low": "R, 5 % quantile",
    "risk_high": "95 %",
    "risk_99": "99 %",
    "utility_median": "U, median",
}
shown = distribution[distribution["p0"].isin([common, rare])]
caption = "Quantiles over all pairs, for the most common and the rarest p₀."
show(shown[["p0", "epsilon", *names]].head(12), caption=caption, names=names)

# %% [markdown]
# Below $\epsilon = 1$ the risks are "basically the same" as at 2 (section 3.2), and $U$ is much larger. The paper's
# section 1 says that risks are small at $\epsilon = 1000$ in some scenarios, but in others only below ten, without a
# criterion. (Its threshold .5 is the prior, which about half of all pairs exceed.) If small means $R \le .55$ with
# probability .95 or .99, what is the largest such budget?

# %%
largest_budget = pd.DataFrame(index=distribution["p0"].unique())
for column in ("risk_high", "risk_99"):
    is_small = distribution[column] <= 0.55
    largest_budget[column] = distribution[is_small].groupby("p0")["epsilon"].max()

# %% tags=["hide-input"]
names = {"risk_high": "R ≤ .55 in 95 % of pairs", "risk_99": "in 99 %"}
caption = "Largest budget of the run with small risks."
show(largest_budget.rename_axis("p0").reset_index(), caption=caption, names=names)

# %% [markdown] tags=["appendix"]
# At the paper's settings both criteria give 1000 for common values; with .95, ten itself is small enough
# for rare ones.
#
# ## Relative risk
#
# A risk of .99 is no news if the prior was .99. The [relative risk](../docs/guide/glossary.md#relative-risk) is $RR = R/w$
# (equation 8). With $L = p(D^* \mid \text{true value})/p(D^* \mid \text{other value})$
# Bayes' rule is $R(1 - w) = wL(1 - R)$. Divided by $w$, it makes the paper's curves over $w$ straight:
#
# $$RR = R + L\,(1 - R).$$
#
# So the single number $L$ describes a release: it is the relative risk for vanishing $w$, and $RR$ never
# exceeds the larger of $L$ and 1. None of the paper's sixty releases at .5 exceeds 1.25,
# but others can: at $X = 500$ and $\epsilon = 1000$, where $\alpha = .58$, the least favorable release has $L =
# (500.58/499.58)^{1000} = 7.4$.
#
# The lines of Figures 3 and 4 are limits of $L$. One release exceeds them with probability $P$, at least one of ten with
# $1-(1-P)^{10}$:

# %%
rows = []
for (p, e), all_pairs in exact_pairs.items():
    row = {"p0": p, "epsilon": e}
    for limit in (1.25, 2):
        exceeds = all_pairs.log_ratio > np.log(limit)
        row[f"L > {limit:g}, 1 release"] = all_pairs.event_probability(exceeds)
        row[f"L > {limit:g}, 10 releases"] = all_pairs.event_probability(exceeds, 10)
    rows.append(row)
limits = outputs.table("relative_risk_limits", pd.DataFrame(rows))

# %% tags=["hide-input"]
shown = limits[limits["p0"].isin([0.001, 0.5]) & (limits["epsilon"] >= 2)]
caption = (
    "Probability that L exceeds 1.25 or 2, in one release and in at least one of ten."
)
show(shown.head(12), digits=4, caption=caption)

# %% [markdown]
# "Never exceeds" is about all releases, "can exceed" about one. First the largest $L$ at .5:

# %%
largest_ratio = {}
for e in budgets:
    largest_ratio[f"ε = {e:g}"] = np.exp(exact_pairs[0.5, e].log_ratio.max())

# %% tags=["hide-input"]
claims.check(
    "C4a",
    r"depends on $\epsilon$",
    "For all data only budgets up to log 1.25 rule it out. At larger ones such "
    "releases exist, but they are improbable in ten pairs.",
    measured="largest L in a release with probability above 1e-15",
    value=pd.Series(largest_ratio),
    relation="<=",
    limit=1.25,
)

# %% tags=["hide-input"]
can_double = limits.query("p0 == 0.001 and epsilon >= 100").set_index("epsilon")
claims.check(
    "C4b",
    "holds",
    "Such releases exist; they are frequent at the larger budget and rare at the "
    "smaller.",
    measured="probability of such a release",
    value=can_double["L > 2, 1 release"].rename("ε = {:g}".format),
    relation=">",
    limit=0,
)

# %% [markdown] tags=["appendix"]
# ## The Markov chain
#
# The paper computes $E\big((p - p_0)^2 \mid X^*\big)$ from 99,000 draws of a chain (after Charest
# 2010). A step of $X$ by one is accepted by the Metropolis–Hastings rule, given $p$; then $p$ is drawn given $X$.
# From 0 and $n$ the only proposal is inward, twice as probable as the proposal back; the acceptance ratio corrects for this.
#
# The appendix proposes $X \pm 1$ "for $2 \le X \le n - 1$". Taken literally, this leaves $X = 1$ without a
# proposal, and a chain never reaches 0 or 1 unless it started there; here the rule holds from 1 on. `log_target` is
# $\log\{p(X^* \mid X) \binom{n}{X}\}$:


# %%
@numba.njit
def paper_chain(log_target, x, p, n_steps, rng):
    """Return p and X along the chain of Appendix B, (2, n_steps)."""
    n = len(log_target) - 1
    draws = np.empty((2, n_steps))
    for step in range(n_steps):
        if x == 0:
            proposal = 1
        elif x == n:
            proposal = n - 1
        else:
            proposal = x + 1 if rng.random() < 0.5 else x - 1
        log_accept = log_target[proposal] - log_target[x]
        log_accept += (proposal - x) * (np.log(p) - np.log1p(-p))
        # At an end the only proposal has probability 1, elsewhere each has 1/2
        log_accept += np.log(2.0) * ((proposal in (0, n)) - (x in (0, n)))
        if log_accept >= 0 or rng.random() < np.exp(log_accept):
            x = proposal
        # A draw of p from Beta(1 + x, 1 + n - x)
        gamma_one = rng.standard_gamma(1 + x)
        gamma_zero = rng.standard_gamma(1 + n - x)
        p = gamma_one / (gamma_one + gamma_zero)
        draws[0, step] = p
        draws[1, step] = x
    return draws


# %% [markdown]
# `run_chains` starts several, each with $p$ and $X$ uniform:


# %%
def run_chains(table, x_star, n_steps, size, rng):
    """Return p and X along `size` chains, given the release; (size, 2, n_steps)."""
    n = table.n_inputs - 1
    # log p(X* | X) and the log binomial coefficient, each for X = 0 to n
    log_target = table.column(x_star) + mechanism.log_binomial(n)
    chains = []
    for own_rng in rng.spawn(size):
        p = own_rng.random()
        x = own_rng.integers(n + 1)
        chains.append(paper_chain(log_target, x, p, n_steps, own_rng))
    return np.stack(chains)


# %% [markdown]
# With ten records the chains' mean of $(p-p_0)^2$ must be within four
# [Monte Carlo errors](../docs/guide/glossary.md#monte-carlo-error) of the exact sum:

# %% tags=["monte-carlo"]
ten = mechanism.private_plugin(2.0, n=10, n_s=10)
# X* = 3, a million steps, four chains
draws = run_chains(ten, 3, 1_000_000, 4, stream(2012, "ten records"))
errors = (draws[:, 0, 1000:] - 0.3) ** 2  # of p, without the first steps
# The summary has mean, mcse (its error), ess_bulk, r_hat and a verdict
mcse = diagnostics.summary({"squared error": errors[:, ::10]})["mcse"][0]
exact_error = Study(ten, 0.3).squared_error_given_release(3)[0]  # numerator of U
assert abs(errors.mean() - exact_error) < 4 * mcse

# %% tags=["monte-carlo", "hide-input"]
averages = f"{errors.mean():.5f} from chains, {exact_error:.5f} exact."
callout("Ten records", f"Mean squared error {averages}")

# %% [markdown]
# Two things go wrong. First, the chain mixes too slowly: for small $\epsilon$ the posterior of $X$ is
# nearly flat over $0..n$, and crossing it in single steps takes of the order of $n^2$ steps.
# [R-hat](../docs/guide/glossary.md#r-hat) (Vehtari et al. 2021) detects this with more than one chain.
#
# Second, the burn-in is too short. The paper starts $X$ anywhere in $0..n$ and drops 1,000 steps. From 900 down to a
# posterior near 0 a chain needs at least 900. Such a stretch ruins an average of *squared* errors that are otherwise of
# order $10^{-6}$. So $U$ is computed after the paper's burn-in and after three times as many steps:

# %%
longer_burn_in = min(3 * burn_in, burn_in + n_steps // 2)


def chain_utility(draws, x, p, dropped):
    """Return U from each chain, without its first steps; (chains,)."""
    errors = (draws[:, 0, dropped:] - p) ** 2
    return np.log10(errors.mean(axis=1) / squared_error(x, n, p))


# %% [markdown]
# All results of one pair, in a dictionary:


# %%
def chain_results(draws, x, p):
    """Return U from the chains of one pair, and their convergence.

    U is that of the first chain, of all chains together, the lowest and the highest,
    and that of the first after the longer burn-in. `mcse` is the error of the second.
    """
    single = chain_utility(draws, x, p, burn_in)
    errors = (draws[:, 0, burn_in:] - p) ** 2
    summary = diagnostics.summary({"squared error": errors[:, ::50]}).iloc[0]
    return {
        "utility_one_chain": single[0],
        "utility_mcmc": np.log10(errors.mean() / squared_error(x, n, p)),
        "utility_lowest": single.min(),
        "utility_highest": single.max(),
        "mcse": summary["mcse"] / summary["mean"] / np.log(10),  # of a log10
        **summary[["ess_bulk", "r_hat", "verdict"]],
        "utility_longer_burn_in": chain_utility(draws, x, p, longer_burn_in)[0],
    }


# %% [markdown]
# Every drawn pair gets `n_chains` chains; the first is the paper's:

# %% tags=["monte-carlo"]
rows = []
for pair in pairs.itertuples():
    case = f"p0 = {pair.p0:g}, epsilon = {pair.epsilon:g}, replicate {pair.replicate}"
    rng = stream(seed, f"chains, {case}")
    table = tables[pair.epsilon]
    draws = run_chains(table, pair.x_star, burn_in + n_steps, n_chains, rng)
    rows.append(chain_results(draws, pair.x, pair.p0))
replicates = outputs.table("replicates", pairs.join(pd.DataFrame(rows)))

# %% [markdown]
# Which single chains are near the exact sum, which sets converged? By pair, then by budget:

# %% tags=["monte-carlo"]
distance = (replicates["utility_one_chain"] - replicates["utility"]).abs()
distance_longer = (replicates["utility_longer_burn_in"] - replicates["utility"]).abs()
judged = replicates[["p0", "epsilon", "r_hat"]].assign(
    near=distance <= 0.1,
    near_longer=distance_longer <= 0.1,
    converged=replicates["verdict"] == diagnostics.CONVERGED,
)

# %% tags=["monte-carlo"]
by_epsilon = judged.groupby("epsilon", sort=False).agg(
    pairs=("near", "size"),
    converged=("converged", "sum"),
    r_hat=("r_hat", "max"),
    near=("near", "sum"),
    near_longer=("near_longer", "sum"),
)
near_by_p0 = judged.pivot_table("near", "epsilon", "p0", aggfunc="sum")
near_by_p0 = near_by_p0.rename(columns="p₀ = {:g}".format)
names = {
    "r_hat": "largest R-hat",
    "near": "single chain within 0.1",
    "near_longer": "after the longer burn-in",
}
chains = by_epsilon.rename(columns=names).join(near_by_p0).reset_index()

# %% tags=["monte-carlo", "hide-input"]
caption = (
    f"Convergence of {n_chains} chains for each pair, and single chains within 0.1 of "
    "the exact sum, by budget (last columns: also by p₀)."
)
outputs.table("chains", chains)
show(chains, caption=caption)

# %% tags=["monte-carlo", "hide-input"]
claims.check(
    "C5",
    r"depends on $p_0$ and $\epsilon$",
    "Only with common values and large budgets do all ten chains come within 0.1, or "
    "nearly all; in most cells of the table some miss.",
    measured="distance of $U$ from a single chain to the exact sum",
    value=distance.set_axis(pair_names),
    relation="<=",
    limit=0.1,
)

# %% [markdown]
# At the paper's settings all pairs agree with these explanations. At the three largest budgets, where R-hat is low,
# every single chain is near the sum after the longer burn-in, although R-hat did not ask for it. At the smaller budgets no
# set has converged, and the longer burn-in helps few chains. Below are $X$ in a set of each kind, for typical data at the
# rarest $p_0$ and their most probable release:

# %% tags=["monte-carlo"]
typical = round(n * rare)
walks = {}
for e in (max(epsilon), min(epsilon)):
    rng = stream(seed, f"walks {rare:g} {e:g}")
    x_star = int(tables[e].row(typical).argmax())
    draws = run_chains(tables[e], x_star, burn_in + n_steps, n_chains, rng)
    walks[f"X, ε = {e:g}"] = draws[:, 1, longer_burn_in::20]
summary = outputs.table("diagnostics", diagnostics.summary(walks))

# %% tags=["monte-carlo", "hide-input"]
show(summary, caption="Mean of X and its convergence, over every 20th draw.")

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Traces of X. At the largest budget four chains make one band; at the smallest "
    "they drift apart."
)
chart = charts.trace(diagnostics.long_format(walks), description=about)
outputs.figure("trace", chart)

# %% [markdown]
# **Converged chains overlap; the others drift apart.** $X$ after the longer burn-in, at the largest and the smallest
# budget.

# %% [markdown]
# ### Exercise 3: one step of the chain
#
# Take two records, two synthetic records, $\epsilon = 2$, and a release with $X^* = 1$. The chain of Appendix B is
# at $X = 0$; it draws $p$ from Beta(1, 3) and proposes $X = 1$. With what probability is the proposal
# accepted? Integrate (`accepted`, four decimal places), and compare with steps of `paper_chain`. (From 1 the step
# back is proposed with probability 1/2. The minimum belongs inside the integral.)
#
# *You will need:* `mechanism.private_plugin(2.0, n=2, n_s=2)` and its `.row(X)[1]`, a log probability.

# %% tags=["solution"]
# Solution
two_records = mechanism.private_plugin(2.0, n=2, n_s=2)
# One 1 has two orders, and the step back has probability 1/2: these factors cancel.
gain = np.exp(two_records.row(1)[1] - two_records.row(0)[1])
middles = (np.arange(100_000) + 0.5) / 100_000
density = 3 * (1 - middles) ** 2
accepted = np.mean(np.minimum(1, gain * middles / (1 - middles)) * density)

dice = np.random.default_rng(3)
target_of_two = two_records.column(1) + np.log([1, 2, 1])
moves = []
for _ in range(20_000):
    moves.append(paper_chain(target_of_two, 0, dice.beta(1, 3), 1, dice)[1, 0])
assert abs(np.mean(moves) - accepted) < 4 * np.std(moves) / np.sqrt(20_000)
assert round(accepted, 4) == 0.5076

# %% [markdown] tags=["appendix"]
# ## The ranges of U
#
# The paper's section 3.2 names no $p_0$ for the ranges of its "simulated values"; its next sentence is
# about .5. We take the ends of a range as the smallest and the largest of ten pairs at one $p_0$, or of the twenty at
# .3 and .5. With $F(u)$ the probability of $U < u$, all ten lie between $a$ and $b$ with probability $\{F(b) - F(a)\}^{10}$.
#
# An end between $k-1/2$ and $k+1/2$ units (.1 or .01) is printed as $k$; if truncated, one between $k$ and $k+1$. Every
# possible $k$, with one more as a limit:


# %%
def printable_ends(samples, end, unit):
    """Return every k that could be printed, and the printed end, in units."""
    low = min(np.floor(utility.min() / unit) for utility, _ in samples)
    high = max(np.ceil(utility.max() / unit) for utility, _ in samples)
    printed_end = round(end / unit)
    return np.union1d(np.arange(low, high + 2), [printed_end, printed_end + 1])


# %% [markdown]
# If all ten lie between the lower limits of ends $i$ and $j$ with probability $G_{ij}$, the range "$i$ to $j$" is printed with
# probability $G_{i,j+1}-G_{i+1,j+1}-G_{ij}+G_{i+1,j}$, the negative of a double difference.


# %%
def range_probabilities(samples, ends, is_rounded):
    """Return the probabilities of the printed ends, of both and of the likeliest range.

    `samples` has U and its weights for each ten pairs, `ends` each end and its unit.
    """
    (low, low_unit), (high, high_unit) = ends
    shift = 0.5 if is_rounded else 0
    low_ends = printable_ends(samples, low, low_unit)
    high_ends = printable_ends(samples, high, high_unit)
    low_limits = (low_ends - shift) * low_unit
    high_limits = (high_ends - shift) * high_unit
    all_inside = 1.0  # G
    for utility, weight in samples:
        order = np.argsort(utility)
        cumulative = np.append(0, np.cumsum(weight[order])) / weight.sum()  # F
        below_low = cumulative[np.searchsorted(utility[order], low_limits)]
        below_high = cumulative[np.searchsorted(utility[order], high_limits)]
        all_inside *= np.maximum(below_high - below_low[:, None], 0) ** 10
    double_difference = np.diff(np.diff(all_inside, axis=0), axis=1)
    range_probability = np.maximum(-double_difference, 0)  # (lower ends, upper ends)
    row = np.searchsorted(low_ends, round(low / low_unit))
    column = np.searchsorted(high_ends, round(high / high_unit))
    return {
        "lower end": range_probability[row].sum(),
        "upper end": range_probability[:, column].sum(),
        "both ends": range_probability[row, column],
        "likeliest range": range_probability.max(),
    }


# %% [markdown]
# Now for each $p_0$, and for .3 and .5 together:

# %%
RANGES = {  # by epsilon: each end and its unit
    0.01: [(2.0, 0.1), (2.7, 0.1)],
    2.0: [(0.25, 0.01), (1.1, 0.1)],
}
groups = [[p] for p in every_p0] + [[0.3, 0.5]]
rows = []
for group, e in product(groups, RANGES):
    pairs_of_group = [exact_pairs[p, e] for p in group]
    samples = [
        (all_pairs.utility, all_pairs.probability) for all_pairs in pairs_of_group
    ]
    row = {"p0": " and ".join(map("{:g}".format, group)), "epsilon": e}
    row["printed"] = " to ".join(f"{end:g}" for end, _ in RANGES[e])
    if len(group) == 1:
        # Medians of the smallest and of the largest U of ten pairs
        row["smallest of ten"] = pairs_of_group[0].minimum_quantile("utility", 10, 0.5)
        row["largest of ten"] = pairs_of_group[0].maximum_quantile("utility", 10, 0.5)
    row |= range_probabilities(samples, RANGES[e], is_rounded=True)
    if_truncated = range_probabilities(samples, RANGES[e], is_rounded=False)
    row["both ends, if truncated"] = if_truncated["both ends"]
    rows.append(row)
ranges = outputs.table("utility_ranges", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = (
    "Printed ranges of U, median ends of ten pairs, and probabilities of printing "
    "these ends."
)
show(ranges.tail(12), caption=caption)

# %% [markdown]
# Relative to the likeliest range, the smaller of the two budgets:

# %%
relative = ranges["both ends"] / ranges["likeliest range"]
smaller_of_two = relative.groupby(ranges["p0"], sort=False).min()

# %% tags=["hide-input"]
claims.check(
    "C3",
    "depends on $p_0$",
    "The ranges fit the pairs of $p_0$ = .3, alone or together with those of .5. At .5 "
    "alone exact utilities cannot reach the upper end 2.7.",
    measured="probability of a printed range over that of the likeliest, smaller of the two",
    value=smaller_of_two[[*map("{:g}".format, P0), "0.3 and 0.5"]].rename(
        "p₀ = {}".format
    ),
    relation=">=",
    limit=0.01,
)

# %% [markdown] tags=["spoiler-4"]
# Appendix B computes $U$ by chains that have not converged at this $\epsilon$. Whether such chains give *both* ends from
# pairs at .5 is not tested here.

# %% [markdown] tags=["written"]
# ### Exercise 4: which pairs can give the printed 2.7?
#
# The paper's section 3.2 says that at $\epsilon = .01$ the simulated $U$ go up to 2.7. Let $n = n_s = 1000$ and the utility
# be exact. What is the probability that the largest of ten pairs lies between 2.65 and 2.75 if $p_0 = .35$
# (`at_35`), and if $p_0 = .4$ (`at_40`, both three decimal places)? A colleague finds that $U$ cannot reach 2.7 at
# $p_0 = .5$ and concludes that 2.7 is an error of unconverged Markov chains. Do your numbers `prove_it` (true or false),
# and what else could explain it? (The largest of ten is below a limit if all ten are below it.)
#
# *You will need:* `Study(mechanism.private_plugin(0.01, 1000, 1000), p).all_pairs(np.abs(np.arange(1001) - 1), 0.5)`,
# whose `.utility` and `.probability` are arrays over all pairs.

# %% tags=["solution"]
# Solution
strict = mechanism.private_plugin(0.01, 1000, 1000)


def prints_27(proportion):
    """Return the probability that the largest U of ten pairs prints as 2.7."""
    all_of_it = Study(strict, proportion).all_pairs(np.abs(np.arange(1001) - 1), 0.5)
    below_275 = all_of_it.probability[all_of_it.utility < 2.75].sum()
    below_265 = all_of_it.probability[all_of_it.utility < 2.65].sum()
    return below_275**10 - below_265**10


at_35 = prints_27(0.35)
at_40 = prints_27(0.4)
prove_it = max(at_35, at_40) < 0.01
assert round(at_35, 3) == 0.780
assert round(at_40, 3) == 0.008
assert not prove_it

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# A release at $\epsilon = .01$ discloses almost nothing, so the squared error is that of the prior:
# $1/12 + (1/2 - p_0)^2$. The denominator is about $p_0(1 - p_0)/1002$. At $p_0 = .5$ the ratio is some 334,
# $U = 2.52$; at $p_0 = .35$ it is some 466, and 2.7 is ordinary. The design has $p_0 = .3$, where 2.7 is also possible, and
# the paper does not say which pairs it means. So the number alone proves nothing about chains: compare how
# well each explanation gives *both* ends. ([The Markov chain](#The-Markov-chain) shows that chains do have convergence
# problems.)
#
# </details>

# %% [markdown]
# ## Acceptable regions
#
# The paper proposes to state which combinations of $R$ and $RR$ are acceptable (parameter `acceptable`), then to ask whether
# *any* prior $w$ leads out of that region. With $L > 1$, $R$ rises with $w$ and $RR$ falls. So $R \ge a$ where
# $\operatorname{logit} w \ge \operatorname{logit} a - \log L$, and $RR = L/\{1 + w(L - 1)\}$ exceeds $c$ where $w < (L/c -
# 1)/(L - 1)$: each rule is violated on one interval. For the last release of the three people and the rule $RR \le 2$ where
# $R \ge .2$:

# %%
likelihood_ratio = probability_of_three[1, 3] / probability_of_three[0, 3]  # L
lowest = expit(logit(0.2) - np.log(likelihood_ratio))
highest = (likelihood_ratio / 2 - 1) / (likelihood_ratio - 1)
interval = f"From {lowest:.3f} to {highest:.3f}, for L = {likelihood_ratio:.2f}."
callout("Unacceptable priors", interval)

# %% [markdown]
# `unacceptable_priors` returns these intervals from $\log L$ and rules:

# %%
rule_of_three = acceptance.read_rules([{"rr_at_most": 2, "r_at_least": 0.2}])
intervals = acceptance.unacceptable_priors(np.log(likelihood_ratio), rule_of_three)
assert np.allclose(intervals, [[lowest, highest]])

# %% [markdown]
# For each drawn pair, on how many of 1,000 priors do intervals and definition disagree?

# %%
grid = np.arange(1, 1001) / 1001  # of priors
disagreements = []
for log_ratio in pairs["log_ratio"]:
    risk = expit(logit(grid) + log_ratio)  # Bayes' rule
    is_violated = acceptance.violates_rules(risk, risk / grid, rules)
    is_inside = np.zeros(1000, dtype=bool)
    for low, high in acceptance.unacceptable_priors(log_ratio, rules):
        is_inside |= (low < grid) & (grid < high)
    disagreements.append((is_violated != is_inside).sum())

# %% tags=["hide-input"]
claims.check(
    "C6",
    "proved",
    "By the derivation above each rule is violated on one interval; the check confirms "
    "its ends.",
    measured="priors, of 1,000, on which solution and definition disagree",
    value=pd.Series(disagreements, index=pair_names),
    relation="<=",
    limit=0,
)

# %% [markdown]
# For the rarest $p_0$, the drawn pair with the largest $L$ at each $\epsilon$, and its unacceptable priors:

# %%
of_rare = pairs[pairs["p0"] == rare]
riskiest = of_rare.sort_values("log_ratio").groupby("epsilon").tail(1)
riskiest = riskiest.sort_values("epsilon", ascending=False).set_index("epsilon")
unacceptable = []
for log_ratio in riskiest["log_ratio"]:
    intervals = acceptance.unacceptable_priors(log_ratio, rules)
    texts = [f"{low:.4g} to {high:.4g}" for low, high in intervals]
    unacceptable.append(", ".join(texts) or "none")

# %% tags=["hide-input"]
unacceptable_by_pair = riskiest[["x", "x_star", "log_ratio"]].reset_index()
unacceptable_by_pair["L"] = np.exp(unacceptable_by_pair["log_ratio"])
unacceptable_by_pair["unacceptable priors"] = unacceptable
shown = outputs.table("acceptance", unacceptable_by_pair).drop(columns="log_ratio")
caption = (
    "The riskiest pair at each budget, and priors for which its release is "
    "unacceptable."
)
show(shown, caption=caption, names={"x": "X"})

# %% [markdown]
# The chart draws $RR - 1 = (L - 1)(1 - R)$ of these pairs:

# %%
riskiest_log_ratios = riskiest["log_ratio"].rename("ε = {:g}".format)
# Columns curve, segment (0 the line, 1, 2, ... its unacceptable parts), risk and
# relative_risk
lines = acceptance.risk_curves(riskiest_log_ratios, rules)
lines["excess"] = lines["relative_risk"] - 1
lines = lines[lines["excess"] > 1e-5]

# %% tags=["hide-input"]
region = pd.DataFrame(map(vars, rules))
region["low"] = (region["rr_at_most"] - 1).clip(lower=1e-5)
region["high"] = 2 * max(region["low"].max(), lines["excess"].max())
refused = alt.Chart(region).mark_rect(color="#D43D51", opacity=0.22)
refused = refused.encode(x="r_at_least:Q", x2="r_at_most:Q", y="low:Q", y2="high:Q")
y = alt.Y("excess:Q", title="Relative risk minus 1 (log scale)")
curves = alt.Chart(charts.compact(lines)).encode(
    x=alt.X("risk:Q", title="Risk R"),
    y=y.scale(type="log", nice=False, padding=5).axis(tickCount=7),
    color=charts.ordered_color("curve", [*riskiest_log_ratios.index]),
    detail="segment:N",
)
thin = curves.transform_filter("datum.segment == 0").mark_line(strokeWidth=1.6)
thick = curves.transform_filter("datum.segment > 0").mark_line(
    strokeWidth=5, opacity=0.8
)
about = (
    "Relative risk minus one against risk over all priors, a falling line for each "
    "budget, one below the other. A shaded staircase is the unacceptable region. Only "
    "the lines of the largest budgets enter it, that of the largest for nearly all "
    "priors."
)
chart = (refused + thin + thick).properties(width=540, height=320, description=about)
outputs.figure("region", chart)

# %% [markdown]
# **The riskiest releases of the largest budgets are unacceptable for some priors, those of small budgets for none.**
# $RR - 1$ against $R$ of the riskiest pair at each budget, over all priors. The shaded region is unacceptable; lines are
# thick inside it.
#
# ## Which epsilon?
#
# If *no* release may violate a rule, the worst column counts: $\epsilon$ follows without the data
# (Kazan and Reiter 2024). A rule $RR \le c$ for $R \ge a$ binds at its corner, where $a + L(1 - a) = c$, and $L$ is at
# most $e^\epsilon$:

# %%
largest_ratios = []
for rule in rules:
    a, c = rule.r_at_least, rule.rr_at_most
    largest_ratios.append((c - a) / (1 - a))
region_epsilon = np.log(min(largest_ratios))
callout("Largest ε that keeps the region", f"{region_epsilon:.4f}")

# %% [markdown]
# `epsilon_for_risk` also solves it for neighbors that differ in one added or removed record (to change a value takes two
# such steps), and for an intruder who doubts that the person is in the data:

# %%
rows = []
for neighbors, membership in product(["replace", "add or remove"], [1.0, 0.5]):
    e = srlib.epsilon_for_risk(acceptable, neighbors=neighbors, membership=membership)
    row = {"neighbors": neighbors, "prior of being in the data": membership}
    rows.append(row | {"epsilon": e})
assert np.isclose(rows[0]["epsilon"], region_epsilon)

# %% tags=["hide-input"]
shown = outputs.table("which_epsilon", pd.DataFrame(rows))
caption = (
    "Largest ε that keeps the region, by kind of neighbors and the intruder's prior "
    "probability m that the person is in the data. With the prior w of the value, the risk is "
    "mw / (mw + m(1 − w) L₁ + (1 − m) L₀). The ratios are at least L₁ = exp(−kε), with k as below, "
    "and L₀ = exp(−ε)."
)
show(shown, digits=3, caption=caption)

# %% [markdown]
# The largest risk of someone known to be in the data is $1/\{1+e^{-k\epsilon}(1-w)/w\}$, where $k$ steps change a value.
# A grid, and sliders:

# %%
lines = pd.DataFrame(
    product(np.geomspace(0.01, 20, 120), ["replace", "add or remove"]),
    columns=["epsilon", "neighbors"],
)
lines["steps"] = lines["neighbors"].map({"replace": 1, "add or remove": 2})
ends = lines.drop_duplicates("neighbors")[["neighbors", "steps"]]

sliders = [
    alt.param(
        name=name,
        value=value,
        bind=alt.binding_range(min=0.005, max=0.995, step=0.005, name=f"{name} "),
    )
    for name, value in {"limit": 0.1, "prior": 0.05}.items()
]

# %% tags=["hide-input"]
odds = "limit / (1 - limit) * (1 - prior) / prior"
risk = alt.Y("risk:Q", title="Largest risk R").scale(domain=[0, 1])
x = alt.X("epsilon:Q", title="Epsilon (log scale)").scale(type="log", nice=False)
color = alt.Color("neighbors:N", title="Neighbors", sort=None)
curves = alt.Chart(charts.compact(lines)).mark_line(clip=True)
curves = curves.transform_calculate(
    risk="1 / (1 + exp(-datum.steps * datum.epsilon) * (1 - prior) / prior)"
)
at_limit = alt.Chart(ends).transform_calculate(risk="limit")
largest = at_limit.transform_filter(f"{odds} > 1").transform_calculate(
    epsilon=f"log({odds}) / datum.steps"
)
largest = largest.encode(x=x, y=risk, color=color)
labels = largest.mark_text(align="right", dx=-6, dy=-9)
chart = alt.layer(
    curves.encode(x=x, y=risk, color=color),
    at_limit.mark_rule(strokeDash=[4, 3]).encode(y=risk),
    largest.mark_point(filled=True, size=70),
    labels.encode(text=alt.Text("epsilon:Q", format=".2f")),
).add_params(*sliders)
about = (
    "Two rising curves of the largest risk against epsilon, the one for added and "
    "removed records left of the other. Points mark where they reach the limit."
)
chart = chart.properties(width=540, height=280, description=about)
outputs.figure("which_epsilon", chart)

# %% [markdown]
# **A lower limit needs a smaller epsilon.** Risks are below the limit to the left of the points.

# %% [markdown] tags=["written"]
# ### Exercise 5: what does the worst case cost?
#
# Which $\epsilon$ keeps the paper's region for all priors and data (`for_all`)? How many times as large may it be for this
# mechanism, $n = n_s = 1000$ and $X = 500$ (`times`, both three decimal places)? May this larger $\epsilon$ be published
# (`may_publish`, true or false)?
#
# *You will need:* `acceptance.largest_epsilon(lambda e: mechanism.private_plugin(e, 1000, 1000), 500, 499, rules, 0.01, 10)`
# compares 500 ones with 499, for $\epsilon$ from 0.01 to 10.

# %% tags=["solution"]
# Solution
at_half = acceptance.largest_epsilon(
    lambda e: mechanism.private_plugin(e, 1000, 1000), 500, 499, rules, 0.01, 10
)
for_all = np.log(1.5)
times = at_half / for_all
may_publish = False
assert round(for_all, 3) == 0.405
assert round(times, 3) == 1.254
assert not may_publish

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The published $\epsilon$ depends on the confidential $X$: it discloses something about it, as in the next section.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## What a published choice discloses
#
# If several $D^*$ qualify, the paper's section 4 takes the one with the greatest utility, "e.g., the
# largest $\epsilon$ in our setting". It suspects that a published region and $\epsilon$ leak
# information on $Y_j$, but speculates that "the randomness inherent in $D^*$" would make the
# attack challenging.
#
# Make the choice explicit: draw a release at each budget, and publish the one with the largest $\epsilon$ that violates no
# rule, for any prior and any record. This is also a mechanism, from the data to the pair $(\epsilon, X^*)$. A release
# violates no rule if $L$ against both neighbors is at most that of the tightest corner (`region_epsilon` is its logarithm). It is
# published with its own probability, times that of rejecting the releases at all larger budgets:


# %%
def published_choice(tables, x):
    """Return the log probability of each published (epsilon, X*), and of none.

    All X* at the largest budget come first, then all at the next, and so on. The last
    entry is "nothing published".
    """
    log_all_rejected = 0.0  # at all larger budgets
    log_published = []
    for e in sorted(tables, reverse=True):
        log_prob = tables[e].row(x)  # of each X*
        passes = np.ones(len(log_prob), dtype=bool)
        for neighbor in (x - 1, x + 1):
            if 0 <= neighbor < tables[e].n_inputs:
                passes &= log_prob - tables[e].row(neighbor) <= region_epsilon
        log_published.append(np.where(passes, log_all_rejected + log_prob, -np.inf))
        log_all_rejected += np.logaddexp.reduce(log_prob[~passes])
    return np.append(np.concatenate(log_published), log_all_rejected)


# %% [markdown]
# For 20 records it agrees with the library's table:

# %%
tables_of_20 = {}
for e in (20.0, 10.0, 5.0, 2.0, 1.0, 0.5):
    tables_of_20[e] = mechanism.private_plugin(e, n=20, n_s=20)
library_table = acceptance.release_first_acceptable([*tables_of_20.values()], rules)
for x in range(21):
    log_prob = published_choice(tables_of_20, x)
    assert np.allclose(np.exp(log_prob), np.exp(library_table.row(x)))

# %% [markdown]
# Bayes' rule applies to this table as to any other. The record at risk has a one (a zero at $X = 0$). With prior 1/2, $R$
# is `expit` of $\log L$.


# %%
def attack_on(tables, x):
    """Return mean risks without and with a choice, and probabilities of events."""
    table_of_largest = tables[max(tables)]
    log_prob_true = table_of_largest.row(x)
    log_ratio_of_largest = log_prob_true - table_of_largest.row(abs(x - 1))
    log_prob = published_choice(tables, x)
    log_prob_other = published_choice(tables, abs(x - 1))
    is_possible = np.isfinite(log_prob)
    probability = np.exp(log_prob[is_possible])
    log_ratio = log_prob[is_possible] - log_prob_other[is_possible]
    # The first entries are those of the largest budget
    accepted_at_largest = np.exp(log_prob[: len(log_prob_true)]).sum()
    return {
        "R, largest ε, no choice": np.exp(log_prob_true) @ expit(log_ratio_of_largest),
        "R, knowing the rule": probability @ expit(log_ratio),
        "value certain": probability @ np.isposinf(log_ratio),
        "outside the region": probability @ (log_ratio > region_epsilon + 1e-9),
        "rejected at the largest ε": max(1 - accepted_at_largest, 0.0),
    }


# %% [markdown]
# These 20 records, then the run's own $n$ and budgets, by $X$:

# %%
rows = []
tables_of_run = {e: tables[e] for e in epsilon}
for size, tables_of_size in ((20, tables_of_20), (n, tables_of_run)):
    for x in (0, 1, 2, 10, 20, 30, 100, 300, 500, 990):
        if x <= size:
            row = {"records": size, "ones in the data": x}
            rows.append(row | attack_on(tables_of_size, x))
attack = outputs.table("attack", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = (
    "Mean risk R without and with a choice; probabilities that a release makes the value certain, "
    "that its L is larger than the acceptable region allows, and that a release at the largest ε is rejected."
)
show(attack, caption=caption)

# %% tags=["hide-input"]
cases = attack["records"].map("{:,} records, X = ".format)
cases += attack["ones in the data"].astype(str)
claims.check(
    "C8",
    "depends on the data set",
    "With a hundred or more ones and as many zeros hardly any release is rejected and "
    "the choice discloses nearly nothing. With fewer it discloses more; twenty or "
    "thirty ones are near the limit.",
    measured="share of releases outside the region",
    value=attack["outside the region"].set_axis(cases),
    relation="<=",
    limit=0.05,
)

# %% [markdown] tags=["appendix"]
# The two sizes have different budgets. If no different record
# could have led to the same publication, the value is certain, although the region promised a bounded $L$. The randomness
# of $D^*$ helps only if nearly every $D^*$ passes: the test itself is not random. If the budget is fixed without the
# data, the *choice* discloses nothing. All this assumes a public rule, which the paper advises against.
#
# ## Several releases, larger and smaller ones
#
# If $m$ releases together must satisfy $\epsilon$, each gets $\epsilon/m$. Their joint probability depends
# only on the sum of the $m$ counts, so they are equivalent to *one* release of $m\,n_s$ records
# at $\epsilon$, with the same $\alpha$ and likelihood. For given data the
# mean can be taken of the ratio in equation 4, or of its logarithm $U$:
#
# $$\log_{10} \sum_{X^*} p(X^* \mid X)\, 10^{U(X, X^*)} \qquad \text{or} \qquad \sum_{X^*} p(X^* \mid X)\, U(X, X^*).$$


# %%
def utility_losses(study, x):
    """Return the log10 of the mean ratio, and the mean U, given X = x."""
    probability = np.exp(study.mechanism.row(x))
    likely = np.flatnonzero(probability > 1e-12)
    utility = study.utility(x, likely)
    mean_ratio = probability[likely] @ 10**utility
    return np.log10(mean_ratio), probability[likely] @ utility


# %% [markdown]
# The first is the library's `expected_utility`:

# %%
loss_of_three, mean_u_of_three = utility_losses(study_of_three, 1)
assert np.isclose(loss_of_three, study_of_three.expected_utility(1))

# %% [markdown]
# Both (`loss` and `mean_u`) for one release of `size` times $n$ records and $X$ = round($n p_0$):

# %%
rows = []
for p, e, size in product([common, rare], epsilon, (0.1, 0.2, 0.5, 1, 2, 5, 10)):
    n_released = round(size * n)
    if size * n >= 1 and e < 700 * n_released:
        study = Study(mechanism.private_plugin(e, n, n_released), p)
        loss, mean_u = utility_losses(study, round(n * p))
        row = {
            "p0": p,
            "epsilon": e,
            "size": float(size),
            "loss": loss,
            "mean_u": mean_u,
        }
        rows.append(row)
by_size = outputs.table("release_size", pd.DataFrame(rows).drop_duplicates())

# %% [markdown]
# One release against two, by $p_0$ and $\epsilon$:

# %%
one_or_two = by_size[by_size["size"].isin([1, 2])]
# Columns: each mean at the sizes 1 and 2
compared = one_or_two.pivot(index=["p0", "epsilon"], columns="size").dropna()
compared.index = [f"p₀ = {p:g}, ε = {e:g}" for p, e in compared.index]

# %% tags=["hide-input"]
names = {"loss": "log of mean ratio", "mean_u": "mean U", 1.0: "nₛ", 2.0: "2 nₛ"}
shown = compared.rename_axis("case").reset_index()
caption = "Utility loss of one and of two releases at the same ε, by two means."
show(shown, digits=4, caption=caption, names=names)

# %% tags=["hide-input"]
stacked = compared.stack(0, future_stack=True)
claims.check(
    "C7",
    r"depends on $p_0$ and $\epsilon$",
    "By both means a second release costs precision at small budgets (next to none at "
    "the smallest) and gains some at large ones; if values are rare the gain starts at "
    "a larger budget.",
    measured="utility loss of two releases, against that of one",
    value=stacked[2.0],
    relation=">",
    limit=stacked[1.0],
    required_share=0.75,
)

# %% [markdown]
# `loss` at all sizes and budgets, for the most common $p_0$:

# %%
of_common = by_size[by_size["p0"] == common]
loss_by_size = of_common.pivot(index="size", columns="epsilon", values="loss")
loss_by_size = loss_by_size[sorted(loss_by_size, reverse=True)]

# %% tags=["hide-input"]
titles = (
    "Released records over records, m nₛ / n (log scale)",
    "Loss of precision (log10)",
)
about = (
    "A curve for each budget. Loss of precision falls with the size of the release at "
    "large budgets, is least at middle sizes for middle budgets, and rises or stays at "
    "small ones."
)
loss_by_size = loss_by_size.rename(columns="ε = {:g}".format)
chart = charts.lines(loss_by_size, *titles, log_x=True, ordered=True, description=about)
outputs.figure("release_size", chart)

# %% [markdown] tags=["appendix"]
# **With common values, larger budgets favor larger releases.** Loss of precision by the number
# of released records, at fixed total $\epsilon$. At the paper's settings the least loss lies inside the figure at
# budgets 2 and 10 only. More records reduce the sampling noise and enlarge $\alpha$.
#
# ## The ledger
#
# The ledger counts verdicts by source, and lists what differs or has none. Of its dictionaries, `computed` has the worked
# example and Table 1:

# %%
of_paper = printed("mcclure_reiter").set_index("id")
printed_number = of_paper["printed"].astype(float)
inner = counts[1:-1]  # where both neighbors are proposed
keys = ["alpha", "one", "total", "p_y_0", "p_y_1", "risk"]
computed = {
    f"example_{key}": example[name] for key, name in zip(keys, example, strict=True)
}
if n == n_s == 1000 and prior == 0.5:
    for p, e in product(P0, EPSILON):
        key = f"table1_{p:g}_{e:g}".replace("_0.", "_", 1)
        computed[key] = exact_pairs[p, e].expected_increase(prior)
    computed["chain_lowest_inner"] = inner.min()
    computed["chain_highest_inner"] = inner.max()

# %% [markdown]
# Is Table 1 truncated or rounded?

# %% tags=["hide-input"]
increase_of = pd.Series(computed).filter(like="table1_")
unit = 2 * of_paper["tolerance"][increase_of.index]
digits = (printed_number[increase_of.index] / unit).round()
is_cut = np.floor(increase_of / unit) == digits
is_rounded = np.round(increase_of / unit) == digits
others = ", ".join(numbers(printed_number[is_cut.index[~is_cut]])) or "none"
callout(
    "Last digits of Table 1",
    f"Of {len(is_cut)} computed values {is_cut.sum()} agree with the printed ones if "
    f"truncated, {is_rounded.sum()} if rounded. Printed values not truncated: {others}.",
)

# %% [markdown]
# `consistent` checks printed numbers by others:

# %%
consistent = {
    "data_sets_a_figure": (
        printed_number["pairs"] * len(EPSILON),
        "budgets times pairs",
    ),
    "increase_001": (printed_number["table1_001_1000"], "Table 1"),
    "increase_at_most_5": (printed_number["table1_5_1000"], "Table 1"),
}
for key in printed_number.index[printed_number.index.str.startswith("ratio_")]:
    of_u = printed_number[key.replace("ratio", "utility")]
    consistent[key] = (10**of_u, "10 to the printed U")

# %% [markdown]
# `settings` are only counted:

# %%
settings = {
    "n": n,
    "n_s": n_s,
    "prior": prior,
    "pairs": n_pairs,
    "chain_burn_in": burn_in,
    "chain_steps": burn_in + n_steps,
    "chain_prior": 1,
    "rule_low_relative": rules[0].rr_at_most,
    "rule_low_risk": rules[0].r_at_most,
    "rule_middle_risk": rules[len(rules) // 2].r_at_least,
    "rule_high_relative": rules[-1].rr_at_most,
    "rule_high_risk": rules[-1].r_at_least,
}
for p in p0:
    settings[f"p0_{p:g}".replace("0.", "")] = p
for e in epsilon:
    settings[f"epsilon_{e:g}"] = e
settings = {
    key: value for key, value in settings.items() if key in printed_number.index
}

# %% [markdown]
# The others get no verdict, for a reason in `skip`: the spread of the paper's own ten pairs is not a tolerance.

# %%
of_draws = "the paper's own ten pairs; section "
no_criterion = "no printed criterion; section Risk against utility"
skip = {
    "small_risk_epsilon": no_criterion,
    "small_only_epsilon": no_criterion,
    "vicinity_epsilon": no_criterion,
    "little_loss_epsilon": no_criterion,
    "decreased_to": "no epsilon of the design is 1",
    "figure2_highest_risk": of_draws + "The expected increase in risk",
    "example_observed": of_draws + "The expected increase in risk",
    "figure3_largest": of_draws + "Relative risk",
    "figure4_largest": of_draws + "Relative risk",
    "figure4_epsilon": of_draws + "Relative risk",
    "figure_priors": "two priors determine a line; section Relative risk",
    "risk_threshold": "an example, used nowhere",
    "prior_high": "an example, used nowhere",
    "prior_low": "an example, used nowhere",
}
for key in printed_number.index[printed_number.index.str.startswith("utility_")]:
    skip[key] = of_draws + "The ranges of U"

# %% tags=["hide-input"]
outputs.table("claims", claims.table)
book = ledger(
    "mcclure_reiter",
    computed,
    settings=settings,
    consistent=consistent,
    skip=skip,
    missing="belongs to the paper's settings",
    notes={
        "chain_lowest_inner": "X = 1 would have no proposal; section The Markov chain"
    },
)
outputs.ledger(book)

# %% [markdown] tags=["appendix"]
# ## What did not reproduce, and why
#
# - **The paper's section 1 speaks of decreasing $\epsilon$ "from ten to one"**; below ten the design
#   has 2, .2 and .01.
# - **The paper's equation 11** has $\binom{n}{X^*}$ for $\binom{n_s}{X^*}$, which cancels. Equations 5 and 7 and Appendix B
#   write $n$ for $n_s$ in the probability of $X^*$, and Appendix B divides a sum of $T - B$ terms by $T - (B + 1)$. For the
#   slips in its equation 10 and in the proposals see Exercise 1 and [The Markov chain](#The-Markov-chain).
# - **Some last digits of Table 1** look truncated (.0367 is printed as .036); none is off by more than one unit of
#   that digit.
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
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of MCMC. *Bayesian
#   Analysis* 16, 667–718. <https://doi.org/10.1214/20-BA1221>
