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
# # Advertised at epsilon 0.5, delivered at 1.78
#
# **Charest, A.-S. (2013).** Synthetic contingency tables for confidentiality protection: offering
# guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
# statistical data confidentiality*, Ottawa.
#
# An agency publishes an artificial table drawn from the posterior predictive distribution of a
# model. For the Dirichlet-multinomial model a large enough prior makes the release differentially
# private. For better models the paper knows no such result. It proposes the model's predictive
# probability as the score of the [exponential mechanism](../docs/guide/glossary.md#exponential-mechanism), which supplies
# the guarantee.

# %% [markdown] tags=["notebook-only"]
# Small spaces of tables can be enumerated, and a mechanism's [exact epsilon](../docs/guide/glossary.md#exact-epsilon)
# computed. This notebook audits the paper's example, repeats it at equal privacy, extends it to contingency tables and
# to scores estimated by Monte Carlo, and answers the paper's open question: how to bound the
# [sensitivity](../docs/guide/glossary.md#sensitivity) of a score without a closed form.
#
# *Before you start:* Bayes' rule, the multinomial and the Dirichlet distribution, and what epsilon
# bounds (`one_table_two_readings`).

# %% tags=["parameters"]
n: int = 50  # [1, 1000] records in the binary example
x: int = 30  # [0, 1000] ones among them
epsilon: float = 0.5  # [0.001, 100] privacy budget of the example
gamma: float = 1.0  # [0.001, 1000] both parameters of the beta prior
n_table: int = 12  # [1, 24] records in the 2 x 2 tables
n_three: int = 5  # [1, 7] records in the 2 x 2 x 2 tables
budgets: list[float] = [0.25, 1.0, 4.0]  # [0.001, 100] budgets for them
n_small: int = 5  # [1, 9] records in the tables whose scores are estimated
model_draws: list[int] = [20, 100, 1000]  # [16, 100000] model draws for each score
limit: float = 6.0  # [0.01, 100] sensitivity to which those draws are truncated
likely: float = 0.99  # (0, 1] prior probability of the data sets that count as likely
seed: int = 2013  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
import itertools

import numpy as np
import pandas as pd
from scipy import stats

from srlib import charts, dpmpm, mechanism
from srlib.display import callout, percent, show
from srlib.ledger import Claims, ledger, printed
from srlib.mechanism import contingency
from srlib.outputs import Outputs
from srlib.rng import stream

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")

# %% [markdown]
# ## What is claimed
#
# The paper states expectations more often than results. Each [claim](../docs/guide/glossary.md#claim) gets a criterion here.

# %% tags=["nbval-ignore-output", "hide-input"]
claims = Claims(
    {
        "C1": r"For all sizes of data and release, Dirichlet-multinomial synthesis is "
        r"$\epsilon$-private if and only if every $\alpha_i \ge \tilde n/(e^\epsilon - 1)$ (section 3).",
        "C2": r"Each of the three mechanisms of Table 1 has $\epsilon = .5$ (section 3, caption); here: an "
        "exact epsilon of at most that.",
        "C3": r"At the same $\epsilon$, releases by $\log P$ are closer to the data than releases by "
        r"$P$ (section 3, Table 1, for one data set); here: for every data set.",
        "C4": r"For contingency tables $\log P$ should beat distance (section 3); here: the score records moved, by "
        "every measure, for all data, models and budgets tried.",
        "C5": r"With other models the score can be estimated by Monte Carlo (section 3); here: "
        "the mechanism with such a score keeps its budget, also where the exact score spends all of "
        "it. The quality of the estimate is not judged.",
        "C6": r"The sensitivity over likely data sets gives something akin to $(\epsilon, \delta)$ "
        r"privacy (section 3); here: at this $n$ and $\epsilon$, with $\delta$ below $1/n$, for four "
        r"beliefs, at the paper's rate and at the one that spends $\epsilon$ among the likely data.",
    }
)
claims

# %% [markdown]
# ## The smallest example
#
# Two people each have a secret 0 or 1, and the release is one of 0, 1, 2. The score says how
# desirable a release is for the data; here it is minus the distance from the true count. The *sensitivity*
# $\Delta$ is the most that one record can change any score. The exponential mechanism (McSherry and Talwar
# 2007) releases $r$ with probability proportional to $\exp\{\epsilon\, q(d, r)/(2\Delta)\}$. The 2 pays for the
# normalizing constants, which can move against the score. At the budget $\epsilon = 1$ the weights, and the probabilities
# of the releases, are:

# %%
counts_of_two = np.arange(3)
score = -np.abs(counts_of_two[:, None] - counts_of_two)  # a row for each data set
weight = np.exp(1 * score / 2)  # epsilon and the sensitivity are 1
probability = weight / weight.sum(axis=1, keepdims=True)

# %% tags=["hide-input"]
two_people = pd.DataFrame(probability, columns=["r = 0", "r = 1", "r = 2"])
two_people.insert(0, "data", counts_of_two)
caption = (
    "Probability of each release r for each data set: budget 1, score minus distance."
)
show(two_people, caption=caption)

# %% [markdown]
# The largest log ratio of neighboring rows is the *exact epsilon*. It is smaller than the budget:

# %%
log_ratios = np.abs(np.diff(np.log(probability), axis=0))
callout(
    "Budget 1", f"The largest log ratio of neighboring rows is {log_ratios.max():.3f}."
)

# %% [markdown] tags=["written"]
# ### Exercise 1: what the 2 leaves unused
#
# With a pencil, in ten minutes. Three people each have a secret bit, and the data are the number of ones. The
# release is 0, 1, 2 or 3, with probability proportional to $\exp(-|d - r|)$: the exponential mechanism
# with budget 2. What is its exact epsilon (`spent`, three decimal places)? How much of it comes from the
# normalizing constant (`of_constants`, three places)? Why can that part never exceed the part of
# the score?
#
# *You will need:* a pencil or numpy.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# Compare the data sets 0 and 1. At which release do the changes of its weight and of the normalizing
# constant add up?
#
# </details>

# %% tags=["solution"]
# Solution
counts_of_three = np.arange(4)
weight_of_three = np.exp(-np.abs(counts_of_three[:, None] - counts_of_three))
constants = weight_of_three.sum(axis=1)
of_constants = np.log(constants[1] / constants[0])
log_release = np.log(weight_of_three / constants[:, None])
spent = np.abs(np.diff(log_release, axis=0)).max()
assert round(spent, 3) == 1.186
assert round(of_constants, 3) == 0.186

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# From $d = 0$ to $d = 1$ the weight of each release changes by a factor $e^{\pm 1}$, half of the
# budget. The normalizing constant grows from $1 + e^{-1} + e^{-2} + e^{-3}$ to $1 + 2e^{-1} + e^{-2}$, by a factor
# $e^{0.186}$, and lowers all probabilities. At $r = 0$ both changes have the same sign. The constant is a sum of
# weights. Each weight changes by at most a factor $e$, so the constant cannot change by more.
#
# </details>

# %% [markdown]
# ## Reproducing Table 1
#
# Of $n$ binary records $x$ are ones, and the prior is Beta($\gamma, \gamma$); in the paper $n = 50$,
# $x = 30$ and $\gamma = 1$. The outputs are the counts $0, \dots, n$, and the posterior predictive probability is
#
# $$P(r \mid d) = \binom{n}{r} \frac{B(\gamma + d + r,\ \gamma + n - d + n - r)}{B(\gamma + d,\ \gamma + n - d)},$$
#
# a beta-binomial one. The paper compares three scores: minus the distance, $P$ and $\log P$.


# %%
def binary_scores(n, gamma):
    """Return the three scores of Table 1, (ones in the data, ones in the release)."""
    counts = np.arange(n + 1)
    data = counts[:, None]
    log_p = stats.betabinom.logpmf(counts, n, gamma + data, gamma + n - data)
    distance = np.abs(data - counts).astype(float)
    return {"distance": -distance, "P": np.exp(log_p), "log P": log_p}


# %% [markdown]
# The sensitivity of a score is its largest difference between neighboring rows, in any column:

# %%
scores = binary_scores(n, gamma)
largest_steps = {
    name: np.abs(np.diff(score, axis=0)).max() for name, score in scores.items()
}

# %% [markdown]
# The library's function takes the pairs of neighbors, which below are not always adjacent rows.

# %%
neighbors = mechanism.count_neighbors(n)  # pairs of counts that differ by one
deltas = {
    name: mechanism.sensitivity(score, neighbors) for name, score in scores.items()
}
assert np.allclose([*deltas.values()], [*largest_steps.values()])

# %% tags=["hide-input"]
caption = f"Sensitivity of the scores of Table 1, {n} records, Beta({gamma:g}, {gamma:g}) prior."
sensitivities = pd.DataFrame(deltas.items(), columns=["score", "sensitivity"])
show(sensitivities, digits=6, caption=caption)

# %% [markdown]
# For $P$ the paper bounds the sensitivity by 1, which is correct but generous. For $\log P$ it warns that 1 is no
# longer a bound, but its formula lacks the logarithms: as printed it gives the value of $P$. The correct
# value is $\log(1 + n/\gamma)$. The sensitivity of a log probability *is* the exact epsilon of sampling from that
# probability, because both are the largest $|\log p(r \mid d) - \log p(r \mid d')|$.
#
# The rows of Table 1 follow under three conventions, which differ in the rate $\rho$ of the weights $\exp(\rho q)$. **As
# printed** has $\rho = \epsilon$: sensitivity 1, without the 2. **As defined** has the 2 and the true sensitivity.
# **Calibrated** has the rate at which the exact epsilon is the stated one.


# %%
def rate_of(convention, score):
    """Return the rate of a score at the stated epsilon, under one of three conventions."""
    if convention == "as printed":
        return epsilon
    if convention == "as defined":
        return epsilon / (2 * mechanism.sensitivity(score, neighbors))
    return mechanism.calibrate_rate(score, epsilon, neighbors)


# %% [markdown]
# `mechanism.gibbs` makes the table of a score at a rate: the weights, divided by their sum in each row.

# %%
synthesizers = {}
for name, score in scores.items():
    for convention in ("as printed", "as defined", "calibrated"):
        rate = rate_of(convention, score)
        synthesizers[name, convention] = mechanism.gibbs(score, rate, neighbors)

# %% [markdown]
# `row(x)` of such a table has the log probabilities of the releases for the data $x$. We check one row:

# %%
weight = np.exp(epsilon * scores["log P"][x])
as_printed = np.exp(synthesizers["log P", "as printed"].row(x))
assert np.allclose(as_printed, weight / weight.sum())

# %% [markdown]
# Two [synthesizers](../docs/guide/glossary.md#synthesizer) get the same exact epsilon by their prior: the beta-binomial
# draws from the posterior predictive distribution, and the Bernoulli plug-in draws $n$ values with the posterior mean as
# their probability. `n_s` is the number of released records, $\tilde n$.

# %%
alpha = mechanism.dirichlet_multinomial_alpha(epsilon, n)  # n / (exp(epsilon) - 1)
synthesizers["beta-binomial", "calibrated"] = mechanism.beta_binomial(
    n=n, n_s=n, alpha=alpha
)
synthesizers["Bernoulli plug-in", "calibrated"] = mechanism.private_plugin(
    epsilon, n=n, n_s=n
)

# %% [markdown]
# Table 1 has four numbers for each: the most probable release, the expected release and its distance from the data, and the
# expected $P$ of the release. The last column is ours.

# %%
counts = np.arange(n + 1)
rows = []
for (name, convention), synthesizer in synthesizers.items():
    p = np.exp(synthesizer.row(x))
    row = {
        "score": name,
        "convention": convention,
        "sensitivity": 1.0 if convention == "as printed" else deltas.get(name),
        "most_probable": p.argmax(),
        "expected_outcome": p @ counts,
        "expected_distance": p @ np.abs(counts - x),
        "expected_posterior_probability": p @ scores["P"][x],
        "exact_epsilon": mechanism.exact_epsilon(synthesizer).value,
    }
    rows.append(row)
score_functions = outputs.table("score_functions", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = f"Table 1 under three conventions, and two synthesizers; {x} ones among {n} records."
names = {"expected_posterior_probability": "expected P of the release"}
show(score_functions, digits=5, caption=caption, names=names)

# %% [markdown]
# The rows *as printed* are held against the stated epsilon:

# %%
printed_rows = score_functions.query("convention == 'as printed'").set_index("score")

# %% tags=["hide-input"]
claims.check(
    "C2",
    "depends on the score",
    "Distance and log P exceed the stated epsilon; P stays below it.",
    measured="exact epsilon of the rows as printed",
    value=printed_rows["exact_epsilon"],
    relation="<=",
    limit=epsilon,
)

# %% tags=["hero", "hide-input"]
about = (
    "Three points on an axis of epsilon, beside a tick at the stated epsilon: P lies below it, "
    "distance above, and log P far above."
)
delivered = printed_rows[["exact_epsilon"]].reset_index()
delivered = delivered.rename(columns={"score": "label", "exact_epsilon": "value"})
delivered["low"] = delivered["high"] = np.nan
delivered["baseline"] = epsilon
chart = charts.intervals(
    delivered, "Exact epsilon of Table 1's mechanisms", description=about
)
outputs.figure("delivered", chart)

# %% [markdown]
# **At the paper's settings two of the three mechanisms of Table 1 exceed the epsilon of its caption.** Points: exact epsilon as
# printed; ticks: the stated epsilon.

# %% [markdown]
# At the paper's settings, the rows *as printed* are its Table 1, digit for digit (one number is rounded to seven
# digits), except for two numbers in the row of $\log P$, the subject of
# [Exercise 2](#Exercise-2:-a-misprint-or-another-convention?). So Table 1 was computed with sensitivity 1 for all three scores
# and without the 2 of the definition. Distance exceeds the stated epsilon because the 2 is missing, and $\log P$
# because its sensitivity, $\log(1 + n/\gamma)$, is far above the assumed 1. $P$ stays below it, because its
# sensitivity is far below 1.

# %% [markdown] tags=["written"]
# ### Exercise 2: a misprint or another convention?
#
# In twenty minutes. For $\log P$, Table 1 prints the expected outcome 29.53010 and the expected distance 5.308439
# ($n = 50$, $x = 30$, $\gamma = 1$). Weights $\exp(\epsilon \log P)$ with $\epsilon = 0.5$ give a different
# outcome. Find the rate near 0.5 at which the expected outcome is 29.53010 (`rate_printed`, four decimal places), and
# the expected distance at this rate (`distance_there`, three). Then decide whether the printed outcome is a
# `misprint` (`True` or `False`). Why does the second number settle it?
#
# *You will need:* `binary_scores` above, numpy, and `scipy.optimize.brentq` or a search by hand.

# %% [markdown] tags=["hint"]
# <details><summary>Hint 1</summary>
#
# One rate must give both printed numbers. At the rate $\rho$ the weights of the releases are $P(r \mid 30)^\rho$.
# Match one number. What is the other then?
#
# </details>

# %% tags=["solution"]
# Solution
from scipy.optimize import brentq

predictive = binary_scores(50, 1.0)["P"][30]


def mean_at(rate_of_score, values):
    """Return the expected value under weights P to the power of a rate."""
    return np.average(values, weights=predictive**rate_of_score)


outcomes = np.arange(51)
distances_from_30 = np.abs(outcomes - 30)
rate_printed = brentq(lambda rate: mean_at(rate, outcomes) - 29.53010, 0.4, 0.6)
distance_there = mean_at(rate_printed, distances_from_30)
agrees_at_half = abs(mean_at(0.5, distances_from_30) - 5.308439) < 1e-6
misprint = agrees_at_half and abs(distance_there - 5.308439) > 0.001
assert round(rate_printed, 4) == 0.4973
assert round(distance_there, 3) == 5.321
assert misprint

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# No rate gives both printed numbers. At 0.5 the distance agrees to all digits, and the outcome is
# 29.53301: a 3 was lost. Another convention would have changed the whole row.
#
# </details>

# %% [markdown]
# ## At equal exact epsilon
#
# The *calibrated* rows of the table above have the *same* exact epsilon, and at the paper's settings the scores
# keep their order: distance, then $\log P$, then $P$. That is one data set. For every data set, the expected distance of
# the release is $\sum_r p(r \mid d)\,|d - r|$:


# %%
def expected_distance(synthesizer):
    """Return the expected distance of the release from the data, for every data set."""
    counts = np.arange(synthesizer.n_inputs)
    probability = np.exp(synthesizer.block(counts, counts))  # (data sets, releases)
    distance = np.abs(counts[:, None] - counts)
    return (probability * distance).sum(axis=1)


# %% [markdown]
# `distances` has a column for each mechanism, a row for each data set:

# %%
at_equal_epsilon = {
    name if name not in scores else f"exponential, {name}": synthesizer
    for (name, convention), synthesizer in synthesizers.items()
    if convention == "calibrated"
}
distances = pd.DataFrame(
    {
        name: expected_distance(synthesizer)
        for name, synthesizer in at_equal_epsilon.items()
    }
)
distances = distances.rename_axis("x")
_ = outputs.table("distance_by_data", distances.reset_index())

# %% tags=["hide-input"]
about = (
    "Five curves over the number of ones. Both synthesizers and the score P are farthest from "
    "the data at either end and nearest in the middle; log P bends the other way; the score "
    "distance is low and level."
)
titles = "Ones in the data, x", "Expected distance from the data (records)"
chart = charts.lines(distances, *titles, zero=True, description=about)
outputs.figure("distance_by_data", chart)

# %% [markdown]
# **At the paper's settings the synthesizers are close to the data only in the middle; the score distance is about equally close everywhere.**
# Expected distance from the data, at the same exact epsilon.
#
# The beta-binomial has both prior parameters $\alpha = n/(e^\epsilon - 1)$, which pull every release towards one half:

# %% tags=["hide-input"]
callout(
    "Prior of the beta-binomial", f"Both parameters are {alpha:.0f} at ε = {epsilon:g}."
)

# %% [markdown]
# `calibrated` returns the mechanism with a stated exact epsilon:


# %%
def calibrated(score, epsilon, neighbors):
    """Return the mechanism with weights exp(rate * score) and this exact epsilon."""
    rate = mechanism.calibrate_rate(score, epsilon, neighbors)
    return mechanism.gibbs(score, rate, neighbors)


# %% [markdown]
# Is $\log P$ closer than $P$ under other priors and budgets? For each, `closer` is the share of data sets for which it is.

# %%
rows = []
for budget in (epsilon / 5, epsilon, 4 * epsilon):
    for g in sorted({gamma, 5.0, 10.0, 20.0, 100.0}):
        far = pd.DataFrame()
        for name, score in binary_scores(n, g).items():
            far[name] = expected_distance(calibrated(score, budget, neighbors))
        closer = (far["log P"] < far["P"]).mean()
        rows.append({"epsilon": budget, "gamma": g, **far.loc[x], "closer": closer})
priors = outputs.table("priors_binary", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = "Share of data sets for which log P is closer than P, by epsilon and prior Beta(γ, γ)."
shares = priors.pivot_table(index="epsilon", columns="gamma", values="closer").map(
    percent
)
shares.columns = [f"γ = {g:g}" for g in shares.columns]
show(shares.reset_index(), caption=caption)

# %% tags=["hide-input"]
cases = [
    f"epsilon {e:g}, gamma {g:g}" for e, g in priors[["epsilon", "gamma"]].to_numpy()
]
claims.check(
    "C3",
    "depends on the prior and epsilon",
    "At the paper's settings log P is closer for all data sets under the weakest prior. At larger "
    "epsilon, weaker priors are enough for P to be closer for most of them.",
    measured="share of data sets for which log P is closer",
    value=priors["closer"].set_axis(cases),
    relation=">=",
    limit=1.0,
)

# %% [markdown]
# A strong prior makes the predictive distributions of neighbors similar, which favors $P$. At the paper's
# settings a still stronger prior brings $\log P$ back at the largest epsilon, for some data sets.
#
# ### Reading a column
#
# Equal epsilon means an equal worst case over all data and releases. What does a release disclose about the
# records of *these* data? An [intruder](../docs/guide/glossary.md#intruder) knows all records but one and gives its two
# values probability one half each. Bayes' rule on the column of the release gives the posterior probability of the true
# value, $p(r \mid d) / [p(r \mid d) + p(r \mid d')]$. Epsilon limits it to $1/(1 + e^{-\epsilon})$. The paper names this
# reading, after McClure and Reiter (2012), as useful future work.
#
# A share $x/n$ of the records at risk has a one, and their $d'$ is $x - 1$; for the others it is $x + 1$.

# %%
other_data = [d for d in (x - 1, x + 1) if 0 <= d <= n]
share_of_records = np.array([x / n if d < x else 1 - x / n for d in other_data])


# %% [markdown]
# `posteriors` applies Bayes' rule to every release:


# %%
def posteriors(synthesizer):
    """Return the posterior of the true value, (records with a one and a zero, releases)."""
    p = np.exp(synthesizer.row(x))
    p_other = np.exp([synthesizer.row(d) for d in other_data])
    return p / (p + p_other)


# %% [markdown]
# For each mechanism and the data $x$ we compute the mean and largest posterior of the true value, the mean log of
# posterior over prior, and the probability of the release that attains the exact epsilon over all data, under the data
# set that makes it more likely.

# %%
rows = []
for name, synthesizer in at_equal_epsilon.items():
    p = np.exp(synthesizer.row(x))
    posterior = posteriors(synthesizer)
    worst = mechanism.exact_epsilon(synthesizer)  # with its pair of data and release
    row = {
        "mechanism": name,
        "expected posterior": share_of_records @ posterior @ p,
        "largest posterior": posterior.max(),
        "expected log relative risk": share_of_records @ np.log(2 * posterior) @ p,
        "worst release": max(
            np.exp(synthesizer.row(d)[worst.output]) for d in worst.pair
        ),
    }
    rows.append(row)
disclosure = outputs.table("disclosure", pd.DataFrame(rows))

# %% [markdown]
# No posterior exceeds what epsilon allows:

# %%
most_allowed = 1 / (1 + np.exp(-epsilon))
assert disclosure["largest posterior"].max() <= most_allowed + 1e-9
callout(
    "Most that epsilon allows",
    f"A posterior of {most_allowed:.3f}, from a prior of one half.",
)

# %% tags=["hide-input"]
caption = (
    f"Posterior of the true value, over releases and records of x = {x}, for an intruder who "
    "knows all other records. Last column: for the release that attains the exact epsilon."
)
shown = disclosure.copy()
shown["worst release"] = shown["worst release"].map("{:.2g}".format)
names = {"worst release": "probability of the worst release"}
show(shown, digits=5, caption=caption, names=names)

# %% [markdown]
# At the same exact epsilon the expected log [relative risks](../docs/guide/glossary.md#relative-risk) differ by orders of
# magnitude at the paper's settings. Distance, which preserves most of the data, also discloses most on average. $\log P$ and the
# two synthesizers spend their budget on releases that almost never occur. If $p$ is the last column, an auditor who can
# only run the mechanism needs about $1/p$ releases to see one of them.

# %% [markdown] tags=["written"]
# ### Exercise 3: which sentence does the table not support?
#
# In fifteen minutes. Of 50 binary records 30 are ones. All three mechanisms have exact epsilon .5:
#
# | mechanism | expected distance, $x = 30$ | expected log relative risk for an intruder who lacks one record |
# |---|---|---|
# | exponential, distance | 3.07 | .0126 |
# | exponential, log P, Beta(1, 1) | 8.15 | .0007 |
# | beta-binomial draws, $\alpha = 77$ | 4.46 | .0005 |
#
# (1) The three have the same worst case. (2) For these data the beta-binomial release is on average closer
# than that of $\log P$ and discloses no more to the intruder. (3) So an agency should prefer it to $\log P$.
# (4) Mechanisms with equal epsilon can disclose very different amounts to an intruder. Which sentence is `unsupported`
# (its number), and what is missing? Compute the expected distances of the second and third mechanism from $x = 45$
# (`at_45`, a list, one decimal place).
#
# *You will need:* `binary_scores`, `calibrated` and `expected_distance` above, `mechanism.count_neighbors`, and
# `mechanism.beta_binomial` with `mechanism.dirichlet_multinomial_alpha`.

# %% tags=["solution"]
# Solution
by_log_p = calibrated(
    binary_scores(50, 1.0)["log P"], 0.5, mechanism.count_neighbors(50)
)
alpha_of_model = mechanism.dirichlet_multinomial_alpha(0.5, 50)
by_model = mechanism.beta_binomial(50, 50, alpha_of_model)
at_45 = [
    round(expected_distance(by_log_p)[45], 1),
    round(expected_distance(by_model)[45], 1),
]
unsupported = 3
assert at_45 == [6.9, 15.1]
assert unsupported == 3

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# One data set says nothing about others. The prior with $\alpha = 77$ pulls every release towards one half, which
# is close to 30 of 50 and far from 45 of 50. The other three sentences follow from the table or from the
# definition of epsilon.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## The condition for the Dirichlet-multinomial
#
# Let $a_k = \alpha_k + d_k$, and move one record from cell $i$ to cell $j$ to get $d'$. In the predictive
# probabilities all factors cancel but those of the two cells:
#
# $$\frac{p(r \mid d)}{p(r \mid d')} = \frac{a_i - 1 + r_i}{a_i - 1} \cdot \frac{a_j}{a_j + r_j}.$$
#
# The second factor is at most 1, and because $a_i - 1 \ge \alpha_i$ and $r_i \le \tilde n$ the first is at most
# $(\alpha_i + \tilde n)/\alpha_i$. Both bounds are attained at $d_i = 1$, $r_i = \tilde n$. Hence the exact
# epsilon is $\log(1 + \tilde n / \min_i \alpha_i)$ for every $n \ge 1$, and it is at most $\epsilon$ if and
# only if every $\alpha_i \ge \tilde n/(e^\epsilon - 1)$, the condition of Machanavajjhala et al. (2008). As a
# check, here is the exact epsilon by enumerating all tables, for unequal prior parameters:

# %%
unequal = np.array([2.0, 5.0, 3.0])
enumerated = mechanism.exact_epsilon(
    mechanism.dirichlet_multinomial(4, 3, unequal)
).value
callout(
    "Exact epsilon",
    f"{enumerated:.6f} enumerated; log(1 + 3/2) = {np.log(1 + 3 / 2):.6f}.",
)

# %% [markdown]
# For several sizes, with each $\alpha_i$ set to .98, 1 or 3 times the bound for $\epsilon = 0.9$, is the release
# private exactly if the condition holds?


# %%
def share_that_agrees(n_cells, n, n_s):
    """Return the share of settings in which privacy and the condition agree."""
    factors = np.array([*itertools.product((0.98, 1, 3), repeat=n_cells)])
    alphas = n_s / np.expm1(0.9) * factors
    tables = [mechanism.dirichlet_multinomial(n, n_s, alpha) for alpha in alphas]
    exact = np.array([mechanism.exact_epsilon(table).value for table in tables])
    assert np.allclose(exact, np.log1p(n_s / alphas.min(axis=1)))
    is_private = exact <= 0.9 * (1 + 1e-9)
    is_met = factors.min(axis=1) >= 1
    return (is_private == is_met).mean()


# %%
sizes = itertools.product((2, 3), (1, 2, 4), (1, 3))
grid = pd.DataFrame(sizes, columns=["cells", "n", "n_s"])
agreement = [share_that_agrees(*row) for row in grid.to_numpy()]
grid["necessary and sufficient"] = np.equal(agreement, 1)
_ = outputs.table("dirichlet_condition", grid)

# %% tags=["hide-input"]
cases = [f"{k} cells, n = {n_}, n_s = {n_s}" for k, n_, n_s, _ in grid.to_numpy()]
claims.check(
    "C1",
    "proved",
    "By the derivation above, which gives the exact epsilon for all sizes.",
    measured="share of the enumerated settings in which privacy and the condition agree",
    value=pd.Series(agreement, cases),
    relation=">=",
    limit=1.0,
)

# %% [markdown] tags=["appendix"]
# ## Contingency tables
#
# The outputs are all tables of $n$ records on $2 \times 2$ or $2 \times 2 \times 2$ cells, and neighbors differ
# in the cell of one record. Three models supply a $\log P$: the Dirichlet-multinomial with all $\alpha_i = 1$, and
# log-linear models with and without pairwise effects (500 draws from their prior, common to all data sets). They are
# compared with two distances as scores: the number of records moved to another cell, and Euclidean distance. All
# scores, and direct Dirichlet-multinomial draws, get the *same exact epsilon*.
#
# Two functions return the scores of every release for every data set, by models and by distances:


# %%
def model_scores(shape, tables, rng):
    """Return log P of every table given every table, by three models."""
    n = tables[0].sum()
    positions = np.arange(len(tables))
    dirichlet = mechanism.dirichlet_multinomial(n, n, [1.0] * tables.shape[1])
    scores = {"log P, Dirichlet": dirichlet.block(positions, positions)}
    for model in ("pairwise", "independence"):
        draws = contingency.log_linear_draws(
            shape, 500, rng=rng, pairwise=model == "pairwise"
        )
        scores[f"log P, {model}"] = contingency.log_predictive_score(draws, tables)
    return scores


def distance_scores(tables):
    """Return minus two distances of every table from every table."""
    moved = [np.abs(tables - data).sum(axis=1) / 2 for data in tables]
    euclidean = [np.sqrt(((tables - data) ** 2).sum(axis=1)) for data in tables]
    return {"records moved": -np.array(moved), "Euclidean": -np.array(euclidean)}


# %% [markdown]
# `compositions` returns all tables of $n$ records, for either shape:

# %%
n_of = {(2, 2): n_table, (2, 2, 2): n_three}
spaces = {}
for shape, n_records in n_of.items():
    tables = mechanism.compositions(n_records, int(np.prod(shape)))
    scores_of_models = model_scores(shape, tables, stream(seed, f"space {shape}"))
    spaces[shape] = tables, scores_of_models | distance_scores(tables)

# %% [markdown]
# The data are of five kinds, with these shares:


# %%
def kinds_of_data(shape):
    """Return the shares of the cells in five kinds of data on a few binary variables."""
    n_cells = int(np.prod(shape))
    first = np.eye(n_cells)[0]
    ends = first + first[::-1]
    margins = ([0.8, 0.2], [0.6, 0.4], [0.7, 0.3])[: len(shape)]
    return {
        "balanced": np.ones(n_cells),
        "independent": [np.prod(p) for p in itertools.product(*margins)],
        "associated": np.where(ends, 0.45, 0.1 / (n_cells - 2)),
        "skewed": 1 + 16 * first,
        "one cell": first,
    }


# %% [markdown]
# `apportion` rounds them to counts:

# %%
data_of = {}
for shape, n_records in n_of.items():
    data_of[shape] = {
        kind: mechanism.apportion(share, n_records)
        for kind, share in kinds_of_data(shape).items()
    }

# %% [markdown]
# Releases are measured by the records moved to another cell, by the records moved in a margin, by the error of the log
# odds ratio, and by Table 1's own measure, the expected predictive probability of the release, under two models.
# (Variables are binary, so the records moved in a margin are the difference of its counts of ones.)


# %%
def measures(shape, tables, scores, position):
    """Return measures of each release if the data are the table at this position."""
    difference = tables - tables[position]
    ones = np.array([*np.ndindex(shape)])  # (cells, variables)
    values = {
        "records in another cell": np.abs(difference).sum(axis=1) / 2,
        "records in another margin": np.abs(difference @ ones).mean(axis=1),
    }
    if shape == (2, 2):
        log_odds_ratio = np.log(tables + 0.5) @ [1, -1, -1, 1]
        values["log odds ratio"] = np.abs(log_odds_ratio - log_odds_ratio[position])
    for model in ("Dirichlet", "independence"):
        log_p = scores[f"log P, {model}"][position]
        values[f"predictive probability, {model}"] = np.exp(log_p)
    return values


# %% [markdown]
# Each score becomes a mechanism of the stated exact epsilon; the Dirichlet-multinomial gets it by its prior.
# The expectation of each measure is a sum over all releases:


# %%
def expected_measures(shape, n, budget):
    """Return the expected measures of all mechanisms and kinds of data at a budget."""
    tables, scores = spaces[shape]
    neighbors = mechanism.table_neighbors(tables)
    synthesizers = {}
    for name, score in scores.items():
        synthesizers[name] = calibrated(score, budget, neighbors)
    alpha = [mechanism.dirichlet_multinomial_alpha(budget, n)] * tables.shape[1]
    synthesizers["Dirichlet draws"] = mechanism.dirichlet_multinomial(n, n, alpha)
    rows = []
    for name, synthesizer in synthesizers.items():
        for kind, data in data_of[shape].items():
            position = int((tables == data).all(axis=1).argmax())
            p = np.exp(synthesizer.row(position))
            case = {
                "table": " × ".join(map(str, shape)),
                "epsilon": budget,
                "data": kind,
            }
            for measure, values in measures(shape, tables, scores, position).items():
                result = {"measure": measure, "mechanism": name, "expected": p @ values}
                rows.append(case | result)
    return rows


# %% [markdown]
# All cases. The table below has a row per kind of data, for one measure and budget:

# %%
rows = []
for shape, n_records in n_of.items():
    for budget in budgets:
        rows += expected_measures(shape, n_records, budget)
compared = outputs.table("contingency", pd.DataFrame(rows))

# %% tags=["hide-input"]
middle = sorted(budgets)[len(budgets) // 2]
of_cells = compared.query("epsilon == @middle and measure == 'records in another cell'")
of_cells = of_cells[of_cells["table"] == "2 × 2"]
wide = of_cells.pivot(index="data", columns="mechanism", values="expected")
wide = wide[of_cells["mechanism"].unique()].rename_axis(columns=None)
caption = (
    f"Expected records in another cell of a 2 × 2 table of {n_table} records, exact "
    f"epsilon {middle:g}."
)
show(wide.reset_index(), caption=caption)

# %% [markdown]
# The row *independent* is a table rounded from independent proportions. The *utility loss* is the measure itself, with a
# minus sign where more is better:

# %%
case = ["table", "measure", "epsilon", "data"]
loss = compared.pivot(index=case, columns="mechanism", values="expected")
more_is_better = loss.index.get_level_values("measure").str.startswith("predictive")
loss[more_is_better] *= -1

# %% [markdown]
# The next table has, over all budgets and data, the share of cases in which a model's $\log P$ does better than the score
# *records moved*:

# %%
models = [f"log P, {model}" for model in ("Dirichlet", "pairwise", "independence")]
is_better = loss[models].lt(loss["records moved"] - 1e-9, axis=0)
wins = is_better.groupby(level=["table", "measure"], sort=False).mean()
wins = outputs.table("wins", wins.reset_index().rename_axis(columns=None))

# %% tags=["hide-input"]
caption = "Share of cases in which log P does better than records moved."
show(wins.assign(**wins[models].map(percent)), caption=caption)

# %% tags=["hide-input"]
cases = loss[models].stack()
claims.check(
    "C4",
    "depends on the case",
    "It does in a minority of the cases: records moved does better in most, by every measure shown.",
    measured="utility loss of a release by log P against that by records moved",
    value=cases.set_axis([", ".join(map(str, case)) for case in cases.index]),
    relation="<",
    limit=loss["records moved"].repeat(len(models)).to_numpy(),
)

# %% [markdown] tags=["appendix"]
# ## Scores by Monte Carlo
#
# For better models $\log P$ must be estimated from draws of the parameters. Two kinds of draws differ:
#
# - **fresh draws for each data set**, as from one chain each. The scores of neighbors then differ by a
#   record and by [Monte Carlo error](../docs/guide/glossary.md#monte-carlo-error). The true sensitivity no longer bounds
#   the difference, and the proof of the budget is lost.
# - **common draws**: parameters drawn once from the prior and weighted by the likelihood of each
#   data set. The estimate is the exact predictive probability under a discrete prior, a score
#   like any other.
#
# On $2 \times 2$ tables the exact score is known for the Dirichlet-multinomial. Each mechanism gets the budget 1. The
# agency *declares* a sensitivity $\Delta$, right or wrong, and uses the rate $1/(2\Delta)$. With fresh draws it declares
# that of the exact score, with common draws the bound
#
# $$B = \max_{i, j} \Bigl( \max_s \log \frac{\theta_{sj}}{\theta_{si}} - \min_s \log \frac{\theta_{sj}}{\theta_{si}} \Bigr),$$
#
# where $\theta_{sk}$ is the probability of cell $k$ in draw $s$. `sensitivity_bound` computes it, the next section derives
# it. First, the exact score of all tables of a few records, and its sensitivity:

# %%
small = mechanism.compositions(n_small, 4)  # all tables, (tables, cells)
steps = mechanism.table_neighbors(small)  # pairs of positions, (pairs, 2)
positions = np.arange(len(small))
dirichlet = mechanism.dirichlet_multinomial(n_small, n_small, [1.0] * 4)
exact_score = dirichlet.block(positions, positions)  # (data, releases)
exact_sensitivity = mechanism.sensitivity(exact_score, steps)

# %% [markdown]
# With fresh draws each data set $d$ has its own draws from the posterior, Dirichlet$(1 + d)$, and the score is the
# log of the mean probability of the release over them, which `log_predictive` returns beside its error. Each number of
# draws has two runs:


# %%
def fresh_score(size, rng):
    """Return log P of every table given every table, with its own draws for each."""
    rows = []
    for data in small:
        theta = rng.dirichlet(data + 1.0, size)  # (draws, cells)
        log_p, _ = contingency.log_predictive(np.log(theta), small)
        rows.append(log_p)
    return np.array(rows)


# %% tags=["monte-carlo"]
fresh = {}
for size in model_draws:
    streams = [stream(seed, f"Dirichlet {size} {run}") for run in (0, 1)]
    fresh[size] = [fresh_score(size, rng) for rng in streams]

# %% [markdown]
# Common draws come from a log-linear model and from a [DPMPM](../docs/guide/glossary.md#dpmpm) with two classes (Dunson
# and Xing 2009).


# %%
def prior_draws(model, size, rng):
    """Draw log cell probabilities from the prior of a model, (draws, 4)."""
    if model == "log-linear":
        return contingency.log_linear_draws((2, 2), size, rng=rng)
    cells = np.array([*np.ndindex(2, 2)], np.uint8)
    return dpmpm.prior_cell_log_prob(cells, np.array([2, 2]), 2, size, rng=rng)


# %% tags=["monte-carlo"]
common = {}
for model in ("log-linear", "DPMPM"):
    for size in model_draws:
        rng = stream(seed, f"common {model} {size}")
        common[model, size] = prior_draws(model, size, rng)

# %% [markdown]
# If everybody knows the draws, a mechanism's exact epsilon follows from its table, as for any other score:


# %%
def epsilon_if_draws_are_known(scores, declared):
    """Return both sensitivities and the epsilon at budget 1, largest over scores."""
    rate = 1 / (2 * declared)
    tables = [mechanism.gibbs(score, rate, steps) for score in scores]
    return {
        "declared sensitivity": declared,
        "its own sensitivity": max(
            mechanism.sensitivity(score, steps) for score in scores
        ),
        "epsilon if the draws are known": max(
            mechanism.exact_epsilon(table).value for table in tables
        ),
    }


# %% [markdown]
# `known_draws`, shown further below, has a row for the exact score, then one for each kind and number of draws:

# %%
rows = [{"model": "Dirichlet", "draws from": "exact", "draws": 0}]
rows[0] |= epsilon_if_draws_are_known([exact_score], exact_sensitivity)
for size, scores_of_runs in fresh.items():
    row = {"model": "Dirichlet", "draws from": "fresh", "draws": size}
    rows.append(row | epsilon_if_draws_are_known(scores_of_runs, exact_sensitivity))
for (model, size), draws in common.items():
    score = contingency.log_predictive_score(draws, small)
    bound = contingency.sensitivity_bound(draws)
    row = {"model": model, "draws from": "common", "draws": size}
    rows.append(row | epsilon_if_draws_are_known([score], bound))
known_draws = pd.DataFrame(rows)

# %% [markdown]
# But fresh draws are secret, like all randomness of the mechanism. So the probability of a release is its
# *mean* over them, which many sets of draws estimate. The rate of the definition leaves about half of the budget unused
# even with the exact score. So a second rate is tried, at which the exact score spends all of it:

# %%
rates = {"defined": 1 / (2 * exact_sensitivity)}
rates["calibrated"] = mechanism.calibrate_rate(
    exact_score, epsilon=1.0, neighbors=steps
)

# %% [markdown]
# The probability of a release $r$ given $\theta$ is its multinomial coefficient times $\prod_k \theta_k^{r_k}$. With
# every $\theta_k$ set to 1 only the coefficient is left:

# %%
ones = np.ones((1, 4))
log_coefficients, _ = contingency.log_predictive(np.log(ones), small)
multinomial_coefficients = np.exp(log_coefficients)

# %% [markdown]
# For each set of draws the mean over the draws gives $P$, and the mechanism has weights $P^\rho$. Its probabilities are
# averaged over the sets, at both rates $\rho$.


# %%
def mean_releases(size, sets, rng):
    """Return, by rate, each release's probability averaged over sets of fresh draws."""
    theta = rng.standard_gamma(small[:, None, None] + 1.0, (len(small), sets, size, 4))
    theta /= theta.sum(axis=-1, keepdims=True)  # now draws from a Dirichlet
    products = np.exp(np.log(theta) @ small.T)  # (data, sets, draws, releases)
    p = multinomial_coefficients * products.mean(axis=2)  # (data, sets, releases)
    means = {}
    for name, rate in rates.items():
        weight = p**rate  # as p is exp(log P)
        means[name] = (weight / weight.sum(axis=-1, keepdims=True)).mean(axis=1)
    return means


# %% [markdown]
# For each number of draws there are 200 batches of sets. `batches` has the mean of each batch, (batches, data, releases):

# %% tags=["monte-carlo"]
batches = {}
sets_in_batch = {size: max(1, 400 // size) for size in model_draws}
for size in model_draws:
    purpose = f"mean over {size} draws"
    if size == min(model_draws):
        purpose = "mean over draws"
    rng = stream(seed, purpose)
    means = [mean_releases(size, sets_in_batch[size], rng) for _ in range(200)]
    for name in rates:
        batches[size, name] = np.array([mean[name] for mean in means])

# %% [markdown]
# The largest of many estimated ratios is slightly too large; more sets reduce it. The standard error is that of the
# log ratio, from the variation between batches of sets:


# %%
def log_ratio_with_error(batches, pair, output):
    """Return a log ratio of two data sets in a release, and its standard error."""
    values = batches[:, list(pair), output]  # (batches, 2)
    mean = values.mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return abs(np.log(mean[0] / mean[1])), np.linalg.norm(error / mean)


def worst_case(batches):
    """Return the largest log ratio of the mean probabilities, with pair and release."""
    log_mean = np.log(batches.mean(axis=0))
    return mechanism.exact_epsilon(mechanism.Mechanism.from_table(log_mean, steps))


# %% [markdown]
# At the rate of the definition the first 50, 100 and 200 batches give:

# %% tags=["monte-carlo"]
rows = []
for size in model_draws:
    for n_batches in (50, 100, 200):
        first = batches[size, "defined"][:n_batches]
        worst = worst_case(first)
        value, error = log_ratio_with_error(first, worst.pair, worst.output)
        rows.append((size, n_batches * sets_in_batch[size], value, error))
columns = ["draws", "sets of draws", "epsilon", "standard error"]
averaged = outputs.table("mean_over_draws", pd.DataFrame(rows, columns=columns))

# %% tags=["hide-input"]
caption = (
    "Epsilon at budget 1 with fresh draws, averaged over sets of draws (Dirichlet)."
)
show(averaged, digits=3, caption=caption)

# %% [markdown]
# At the second rate the choice of the largest ratio would bias the answer upwards. So the pair and the release are chosen
# on one half of the sets, and their log ratio is measured on the other, and the same with the halves exchanged. The mean of
# the two is at most epsilon, but for its error:


# %%
def cross_fitted(batches):
    """Return a log ratio that no choice has biased, and its standard error."""
    halves = batches[::2], batches[1::2]
    measured = []
    for chosen_on, measured_on in (halves, halves[::-1]):
        worst = worst_case(chosen_on)
        measured.append(log_ratio_with_error(measured_on, worst.pair, worst.output))
    values, errors = np.transpose(measured)
    return values.mean(), np.linalg.norm(errors) / 2


# %% tags=["monte-carlo"]
rows = []
for size in model_draws:
    value, error = cross_fitted(batches[size, "calibrated"])
    rows.append((size, 200 * sets_in_batch[size], value, error))
spent_all = outputs.table(
    "mean_over_draws_calibrated", pd.DataFrame(rows, columns=columns)
)

# %% tags=["hide-input"]
caption = (
    "The same at the rate at which the exact score spends 1; pair and release from other sets "
    "of draws."
)
show(spent_all, digits=3, caption=caption)

# %% [markdown]
# These are all mechanisms at the rate of the definition. With fresh draws, epsilon is that of the mean:

# %%
last = averaged.groupby("draws").last()
is_fresh = known_draws["draws from"] == "fresh"
epsilon_known = known_draws["epsilon if the draws are known"]
mean_epsilon = known_draws["draws"].map(last["epsilon"])
mean_error = known_draws["draws"].map(last["standard error"])
monte_carlo = known_draws.copy()
monte_carlo["epsilon of the mechanism"] = epsilon_known.mask(is_fresh, mean_epsilon)
monte_carlo["standard error"] = mean_error.where(is_fresh, 0.0)
monte_carlo["draws"] = known_draws["draws"].map("{:,}".format).replace("0", "")
_ = outputs.table("monte_carlo_scores", monte_carlo)

# %% tags=["hide-input"]
caption = (
    "Sensitivity (with fresh draws the larger of two sets) and epsilon at budget 1, exact except "
    "for the mechanism with fresh draws."
)
show(monte_carlo, caption=caption)

# %% [markdown]
# The claim is about all mechanisms with estimated scores, at either rate:

# %%
estimated = monte_carlo.query("`draws from` != 'exact'")
names = (
    estimated["model"]
    + ", "
    + estimated["draws"]
    + " "
    + estimated["draws from"]
    + " draws"
)
values = estimated["epsilon of the mechanism"].set_axis(names)
errors = estimated["standard error"].set_axis(names)
at_calibrated = [
    f"Dirichlet, {size:,} fresh draws, calibrated rate" for size in model_draws
]
values = pd.concat([values, spent_all["epsilon"].set_axis(at_calibrated)])
errors = pd.concat([errors, spent_all["standard error"].set_axis(at_calibrated)])

# %% tags=["hide-input", "monte-carlo"]
claims.check(
    "C5",
    "depends on the draws and on the rate",
    "Common draws provably keep the budget, even if everybody knows them. Fresh draws keep it in "
    "this example at the rate of the definition, which leaves about half of it unused. At the rate "
    "at which the exact score spends all of it, few fresh draws exceed it.",
    measured="epsilon of the mechanism at budget 1",
    value=values,
    relation="<=",
    limit=1.0,
    error=errors,
)

# %% [markdown] tags=["appendix"]
# With few fresh draws most of the sensitivity of a score is Monte Carlo error, and for somebody who knows the draws a
# release can exceed the budget. Averaged over the draws, the mechanism spends somewhat more than the exact score,
# which the unused half of the budget covers. This average requires enumerating all tables, and a DPMPM or a
# log-linear model would need a Markov chain for each draw and data set, which is not done here. With common draws the
# budget is proved for any number of draws, but the bound leaves most of it unused.
#
# ## A sensitivity that can be computed
#
# The paper expects that the sensitivity of $\log P$ will not scale well to larger data and models. With common
# draws it need not be enumerated. Let the cell probabilities $\theta_1, \dots, \theta_S$ not depend on the
# data. The score is $q(d, r) = \log \sum_s w_s p_s(r) - \log \sum_s w_s$, with the likelihoods
# $w_s = \prod_k \theta_{sk}^{d_k}$ of the data and the multinomial probabilities $p_s(r)$ of the release. Moving a
# record from cell $i$ to cell $j$ multiplies $w_s$ by $c_s = \theta_{sj}/\theta_{si}$, so that
#
# $$q(d', r) - q(d, r) = \log \frac{\sum_s w_s p_s(r)\, c_s}{\sum_s w_s p_s(r)} - \log \frac{\sum_s w_s c_s}{\sum_s w_s}.$$
#
# Both fractions are weighted means of the $c_s$, each between the smallest and the largest. Therefore $\Delta q \le
# B$, whatever the data, the numbers of records in data and release, and the model of the draws. A continuous prior
# has the same bound, over its support. Here is $B$ of two draws of two cells:

# %%
two_draws = np.log([[0.5, 0.5], [0.8, 0.2]])
log_odds = two_draws[:, 1] - two_draws[:, 0]
b = log_odds.max() - log_odds.min()
assert np.isclose(b, contingency.sensitivity_bound(two_draws))
callout("B of two draws", f"{b:.3f}, the log of 4: the odds are 1 and 1/4.")

# %% [markdown]
# And $B$ can be *set*: if in each draw every cell has at
# least $e^{-B/2}$ times the probability of the most probable cell, all log ratios lie within $B/2$ of 0.
# `limit_log_ratios` truncates draws so. In the table each model's first row has the unchanged draws.


# %%
def enumerated_sensitivity(draws, n):
    """Return the sensitivity of the score on all 2 × 2 tables of n records."""
    tables = mechanism.compositions(n, 4)
    score = contingency.log_predictive_score(draws, tables)
    return mechanism.sensitivity(score, mechanism.table_neighbors(tables))


# %%
rows = []
for model in ("log-linear", "DPMPM"):
    draws = common[model, model_draws[-1]]
    for truncated_to in (np.inf, limit, 2.0):
        if np.isfinite(truncated_to):
            draws = contingency.limit_log_ratios(
                common[model, model_draws[-1]], truncated_to
            )
        row = {"model": model, "bound": contingency.sensitivity_bound(draws)}
        row |= {
            f"n = {size}": enumerated_sensitivity(draws, size) for size in (1, 3, 6, 12)
        }
        rows.append(row)
sensitivity_bound = outputs.table("sensitivity_bound", pd.DataFrame(rows))
enumerated = sensitivity_bound.filter(like="n = ").max(axis=1)
assert (enumerated <= sensitivity_bound["bound"] * (1 + 1e-9)).all()

# %% tags=["hide-input"]
caption = (
    "The bound B, and the sensitivity by enumerating all 2 × 2 tables of n records; for each model "
    "with log ratios as they are, then limited to two ranges."
)
show(sensitivity_bound, caption=caption)

# %% [markdown]
# The sensitivity grows with the number of records and stays below the bound.

# %% [markdown]
# ### Exercise 4: a bound by hand
#
# With a pencil and numpy, in twenty minutes. Three draws of the probabilities of two cells are common to all data sets:
# (.5, .5), (.8, .2) and (.4, .6). What is the bound on the sensitivity of the log predictive score (`by_hand`, three
# decimal places)? What is the sensitivity itself, by enumeration, for 5 records in data and release (`of_five`, three
# places)? Which minimum probability (`floor`, three places) of every cell of every draw guarantees a bound of 1?
#
# *You will need:* a pencil for the bound; `contingency.log_predictive_score`, `mechanism.compositions`,
# `mechanism.table_neighbors` and `mechanism.sensitivity` for the enumeration.

# %% tags=["solution"]
# Solution
three_draws = np.log([[0.5, 0.5], [0.8, 0.2], [0.4, 0.6]])
by_hand = contingency.sensitivity_bound(three_draws)
five_tables = mechanism.compositions(5, 2)
five_score = contingency.log_predictive_score(three_draws, five_tables)
of_five = mechanism.sensitivity(five_score, mechanism.table_neighbors(five_tables))
floor = np.exp(contingency.limit_log_ratios(three_draws, 1.0)).min()
assert np.isclose(by_hand, np.log(6))
assert round(by_hand, 3) == 1.792
assert round(of_five, 3) == 1.212
assert round(floor, 3) == 0.378

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The odds of the second cell are 1, 1/4 and 3/2, so the log of their largest ratio, 6, is the bound. Five
# records cannot identify one draw with certainty, and the weighted means stay inside the range. Log
# odds within one half of 0 guarantee a bound of 1; then the smaller probability is at least $1/(1 + e^{1/2})$.
#
# </details>

# %% [markdown] tags=["appendix"]
# With such a bound the paper's mechanism has a guarantee on tables of any size, if it is sampled exactly. A
# Markov chain over tables is a different mechanism: before it has converged, its release need not have the
# epsilon of its target. A choice *among the draws* needs no chain. Its score is the log likelihood, which one record
# changes by at most $B/2$ after truncation. So weights $w_s^{\epsilon/B}$ and a table drawn with the chosen
# $\theta_s$ have the guarantee $\epsilon$.
#
# ## Sensitivity over likely data sets
#
# The paper considers the sensitivity over data sets that are likely a priori. In the binary example a beta
# distribution is the agency's belief about the proportion of ones. The likely data sets are the most probable
# counts that together have prior probability `likely`. First, for one belief:


# %%
def likely_counts(a, b, together):
    """Return the most probable counts under Beta(a, b) that together have a probability."""
    probability = stats.betabinom.pmf(counts, n, a, b)
    order = np.argsort(-probability, kind="stable")
    n_likely = np.searchsorted(np.cumsum(probability[order]), together - 1e-12) + 1
    return np.sort(order[:n_likely])


# %%
example = likely_counts(6, 4, likely)
span = f"{example.min()} to {example.max()} ones of {n}"
callout(
    "Likely data sets",
    f"For a belief of Beta(6, 4) with probability {likely:g}: {span}.",
)

# %% [markdown]
# Two rates of $\log P$ rest on the likely data sets only. The *calibrated* one gives the stated exact epsilon among them;
# the *paper's own* has the 2 and the sensitivity among them, and is smaller.


# %%
def rates_among(likely_data):
    """Return both rates of log P for the pairs of neighbors that are both likely."""
    is_inside = np.isin(neighbors, likely_data).all(axis=1)
    inside = neighbors[is_inside]
    sensitivity = mechanism.sensitivity(scores["log P"], inside)
    return {
        "sensitivity": sensitivity,
        "paper's rate": epsilon / (2 * sensitivity),
        "calibrated": mechanism.calibrate_rate(scores["log P"], epsilon, inside),
    }


# %% [markdown]
# What does each rate give over *all* data sets? [Delta](../docs/guide/glossary.md#delta) at $\epsilon$ is the largest
# $\sum_r \max\{0,\ p(r \mid d) - e^{\epsilon} p(r \mid d')\}$ over all neighbors. Each row has a belief and a
# probability of the likely data sets.

# %%
rows = []
for together in (likely, 1 - (1 - likely) / 10):
    for a, b in [(6, 4), (600, 400), (20, 80), (200, 800)]:
        data = likely_counts(a, b, together)
        if len(data) == 1:  # it has no neighbor among the likely ones
            continue
        rates_of_log_p = rates_among(data)
        at_paper_rate = mechanism.gibbs(
            scores["log P"], rates_of_log_p["paper's rate"], neighbors
        )
        at_calibrated_rate = mechanism.gibbs(
            scores["log P"], rates_of_log_p["calibrated"], neighbors
        )
        row = {
            "belief": f"Beta({a:g}, {b:g})",
            "likely": together,
            "from": data.min(),
            "to": data.max(),
            "sensitivity among them": rates_of_log_p["sensitivity"],
            "exact epsilon, paper's rate": mechanism.exact_epsilon(at_paper_rate).value,
            "delta, paper's rate": mechanism.delta(at_paper_rate, epsilon),
            "exact epsilon, all": mechanism.exact_epsilon(at_calibrated_rate).value,
            "delta, all": mechanism.delta(at_calibrated_rate, epsilon),
            "expected distance": expected_distance(at_calibrated_rate)[x],
        }
        rows.append(row)
by_belief = outputs.table("likely", pd.DataFrame(rows))

# %% tags=["hide-input"]
caption = (
    "Exact epsilon and delta over all data sets, by the agency's belief; the calibrated rate "
    f"has exact epsilon {epsilon:g} among the likely ones."
)
show(
    by_belief,
    caption=caption,
    names={
        "likely": "likely together",
        "from": "likely from",
        "exact epsilon, all": "exact epsilon, calibrated rate",
        "delta, all": "delta, calibrated rate",
        "expected distance": "expected distance, calibrated rate",
    },
)

# %% tags=["hide-input"]
beliefs = by_belief["belief"] + ", " + by_belief["likely"].map("{:g}".format)
calibrated_delta = by_belief["delta, all"].set_axis(beliefs + ", calibrated")
delta_of_paper = by_belief["delta, paper's rate"].set_axis(beliefs + ", paper's rate")
claims.check(
    "C6",
    "holds",
    "Each mechanism is private with the stated epsilon and a delta that its table computes. It is a "
    "result for these beliefs and sizes: with more records or a larger epsilon it need not hold.",
    measured="delta over all data sets, at the stated epsilon",
    value=pd.concat([calibrated_delta, delta_of_paper]),
    relation="<",
    limit=1 / n,
)

# %% [markdown] tags=["appendix"]
# Two beliefs are centered on three fifths, the paper's share of ones, and two are not. Of two with the same center,
# the more concentrated one gives the closer release and the larger exact epsilon over all data sets, at the paper's
# settings. Where the exact epsilon at the paper's rate is at most the stated one, the 2 of the definition pays for the
# unlikely data, and $\delta$ is 0. A mechanism that publishes a random record has
# $\delta = 1/n$, and a useful $\delta$ should be well below, which the criterion of the claim does not require. $\delta$
# is a property of the mechanism; the probability of unlikely data is the agency's belief.
#
# ## The ledger
#
# These computed numbers will stand beside the printed ones:

# %%
columns = {
    "most_probable": "most_probable",
    "expected_outcome": "expected_outcome",
    "expected_distance": "expected_distance",
    "posterior": "expected_posterior_probability",
}
computed = {
    "epsilon_of_all": printed_rows["exact_epsilon"].max(),
    "sensitivity_of_p": deltas["P"],
}
for name in scores:
    for quantity, column in columns.items():
        key = f"table1_{name.lower().replace(' ', '_')}_{quantity}"
        computed[key] = printed_rows.loc[name, column]

# %% tags=["spoiler-2", "hide-input"]
outputs.table("claims", claims.table)
settings = {"n": n, "x": x, "epsilon": epsilon, "gamma": gamma}
of_paper = printed("charest").set_index("id")["printed"][[*settings]].astype(float)
# Every number that differs from the printed one needs a note, or the next cell stops;
# after a change of a score or of a formula there are more of them.
notes = {
    "table1_log_p_expected_outcome": "a digit was lost: 29.53301; section Reproducing Table 1",
    "table1_log_p_posterior": "a digit was lost: .04820252; section Reproducing Table 1",
    "epsilon_of_all": "P stays below it, the others exceed it; section Reproducing Table 1",
}
book = ledger(
    "charest",
    computed if settings == of_paper.to_dict() else {},
    settings=settings,
    missing="belongs to the paper's settings",
    notes=notes,
)
outputs.ledger(book)

# %% [markdown] tags=["spoiler-2", "appendix"]
# ## What did not reproduce, and why
#
# - **Two numbers of the $\log P$ row** lost a digit in the middle and gained a zero at the end: 29.53301 is
#   printed as 29.53010, and .04820252 as .04820520. The other two numbers of the row agree to all digits with the same
#   weights, so another convention is not the cause: see
#   [Exercise 2](#Exercise-2:-a-misprint-or-another-convention?).
# - **The display of the sampling probabilities** lacks the 2 and has a stray $b$ for $x$ in its denominator.
# - Not treated here: a base measure other than the counting one, and sampling by rejection, which gives the same
#   probabilities.

# %% [markdown] tags=["appendix"]
# ## What came after
#
# At rate 1 the score $\log P$ gives a draw from the posterior predictive distribution. Dimitrakakis et al. (2014) and
# Wang, Fienberg and Smola (2015) show that one draw from the posterior is private "for free" where the log likelihood
# is bounded. Savitsky, Williams and Hu (2022) come closest to this paper's question: their pseudo-posterior raises
# each record's likelihood to its own power; equal weights give the common power $\epsilon/B$ of the choice among the
# draws.
#
# ## References
#
# - Dimitrakakis, C., Nelson, B., Mitrokotsa, A. and Rubinstein, B. I. P. (2014). Robust and private Bayesian
#   inference. *Algorithmic Learning Theory*, 291–305.
#   [10.1007/978-3-319-11662-4_21](https://doi.org/10.1007/978-3-319-11662-4_21)
# - Dunson, D. B. and Xing, C. (2009). Nonparametric Bayes modeling of multivariate categorical data.
#   *JASA* 104, 1042–1051. [10.1198/jasa.2009.tm08439](https://doi.org/10.1198/jasa.2009.tm08439)
# - Machanavajjhala, A., Kifer, D., Abowd, J., Gehrke, J. and Vilhuber, L. (2008). Privacy: theory meets
#   practice on the map. *ICDE*, 277–286. [10.1109/ICDE.2008.4497436](https://doi.org/10.1109/ICDE.2008.4497436)
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk measures: an
#   investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - McSherry, F. and Talwar, K. (2007). Mechanism design via differential privacy. *FOCS*, 94–103.
#   [10.1109/FOCS.2007.66](https://doi.org/10.1109/FOCS.2007.66)
# - Savitsky, T. D., Williams, M. R. and Hu, J. (2022). Bayesian pseudo posterior mechanism under asymptotic
#   differential privacy. *JMLR* 23. [10.48550/arXiv.1909.11796](https://doi.org/10.48550/arXiv.1909.11796)
# - Wang, Y.-X., Fienberg, S. E. and Smola, A. (2015). Privacy for free: posterior sampling and stochastic
#   gradient Monte Carlo. *ICML*, 2493–2502. [10.48550/arXiv.1502.07645](https://doi.org/10.48550/arXiv.1502.07645)
