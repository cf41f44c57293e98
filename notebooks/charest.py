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
# # Advertised at epsilon one half: mechanisms that deliver 0.71, 0.13 and 1.78
#
# **Charest, A.-S. (2013).** Synthetic contingency tables for confidentiality protection: offering
# guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
# statistical data confidentiality*, Ottawa.
#
# An agency publishes an artificial table drawn from the posterior predictive distribution of a
# model. For the Dirichlet-multinomial model a large enough prior makes the release differentially
# private. For better models the paper knows of no such result and proposes a way around: the
# model's predictive probability as the score of the exponential mechanism, which supplies the
# guarantee. In a small example the logarithm of the probability is a better score than the
# probability itself, and for real tables the paper expects it to beat distance, too.
#
# Small spaces of tables can be written down completely, so every claim can be computed. This
# notebook audits the example, repeats it at equal privacy, carries it to contingency tables and
# to scores estimated by Monte Carlo, and answers the paper's open question: how to bound the
# sensitivity of a score without a closed form.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** Dirichlet-multinomial synthesis is $\epsilon$-private if and only if $\alpha_i \ge \tilde n/(e^\epsilon - 1)$. | 3 |
# | **C2** The three mechanisms of Table 1 have $\epsilon = .5$. | 3, Table 1 |
# | **C3** $\log P$ is a better score than $P$. | 3, Table 1 |
# | **C4** For contingency tables $\log P$ should beat distance. | 3 |
# | **C5** With more complicated models the score can be estimated by Monte Carlo (here: and the budget is kept). | 3 |
# | **C6** The sensitivity over likely data sets gives something akin to $(\epsilon, \delta)$ privacy. | 3 |
# | **C7** The sensitivity, the main challenge, does not scale with the data and the model. | 3 |

# %% [markdown]
# ## What you will learn
#
# - to turn any score into a mechanism, and to say what its factor 2 and its sensitivity pay for;
# - to compute the exact epsilon of a mechanism instead of trusting a caption;
# - to compare mechanisms at equal exact epsilon, in what they keep and what they disclose;
# - to bound the sensitivity of a score computed from draws of a model.
#
# *Before you start:* Bayes' rule, the multinomial and the Dirichlet distribution, and what epsilon
# bounds (the first hour of `one_table_two_readings`). Three sections use Markov chain Monte Carlo.
#
# Reading takes about an hour, the exercises two and a half hours. They stand behind the sections that they
# belong to. Numbers in the text belong to the default parameters, those of the exercises stand in
# their questions:

# %% tags=["parameters"]
n: int = 50  # [1, 1000] records in the binary example
x: int = 30  # [0, 1000] ones among them
epsilon: float = 0.5  # [0.001, 100] privacy budget of the example
gamma: float = 1.0  # [0.001, 1000] both parameters of the beta prior
n_table: int = 12  # [1, 24] records in the 2 x 2 tables
n_three: int = 5  # [1, 7] records in the 2 x 2 x 2 tables
budgets: list[float] = [0.25, 1.0, 4.0]  # [0.001, 100] budgets for them
n_small: int = 5  # [1, 9] records in the tables whose scores are estimated
model_draws: list[int] = [20, 100, 1000]  # [16, inf) draws of the model for each score
audit_sizes: list[int] = [100, 1000, 10000, 100000]  # [4, inf) releases seen by the auditor
n_large: int = 100  # [10, inf) records in the table that cannot be enumerated
prior_draws: int = 10000  # [16, inf) draws of its models, common to all data sets
limit: float = 6.0  # [0.01, 100] sensitivity to which those draws are truncated
likely: float = 0.99  # (0, 1] prior probability of the data sets that count as likely
seed: int = 2013  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import itertools
import warnings

import numpy as np
import pandas as pd

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib.data import microdata
from srlib.display import callout, percent, show
from srlib.mechanism import audit, contingency
from srlib.papers import charest, claims, count_tables
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)

# %%
verdicts = claims.Claims(
    {
        "C1": "The condition for the Dirichlet-multinomial",
        "C2": "Reproducing Table 1",
        "C3": "At equal exact epsilon",
        "C4": "Contingency tables",
        "C5": "Scores by Monte Carlo",
        "C6": "Sensitivity over likely data sets",
        "C7": "A sensitivity that can be computed",
    }
)

# %% [markdown]
# ## The smallest example
#
# Two people each have a secret 0 or 1, and the release is one of 0, 1, 2. The score says how
# appealing a release is for the data; here it is minus the distance from the truth. The *sensitivity*
# $\Delta$ is the most that one record can change any score. The exponential mechanism (McSherry and Talwar
# 2007) releases $r$ with probability proportional to $\exp\{\epsilon\, q(d, r)/(2\Delta)\}$. At $\epsilon = 1$:

# %%
distance = -np.abs(np.subtract.outer(range(3), range(3)))
tiny = mechanism.exponential(distance, 1.0, mechanism.change_one(2))
shown = pd.DataFrame(np.exp([tiny.row(d) for d in range(3)]), columns=["r = 0", "r = 1", "r = 2"])
shown.insert(0, "data", range(3))
display(
    show(
        shown,
        caption="Probability of each release r for each data set: budget 1, score minus distance.",
    )
)
callout("Budget 1", str(mechanism.exact_epsilon(tiny)))

# %% [markdown]
# The exact epsilon is smaller than the budget. The 2 pays for the normalizing constants, which
# can move against the score. How much of it is needed depends on the score.

# %% [markdown] tags=["written"]
# ### Exercise 1: what the 2 leaves unused
#
# With a pencil, in ten minutes. Three people have a secret bit each, the data are the number of ones, the
# release is 0, 1, 2 or 3, and its probability is proportional to $\exp(-|d - r|)$: the exponential mechanism
# with budget 2. What is its exact epsilon (`spent`, three decimal places)? How much of it is the change of the
# normalizing constant (`of_constants`, three places)? Why can that part never be larger than the part of
# the score?
#
# *You will need:* a pencil, or numpy and nothing else.

# %% [markdown] tags=["hint"]
# Compare the data sets 0 and 1. By which factors do the weights of the four releases change?

# %% [markdown] tags=["hint"]
# The normalizing constant is the sum of the weights of a row. At which release do its change and that of
# the weight add up?

# %% tags=["solution"]
weights_of_three = np.exp(-np.abs(np.subtract.outer(range(4), range(4))))
constants = weights_of_three.sum(axis=1)
of_constants = np.log(constants[1] / constants[0])
release_of_three = weights_of_three / constants[:, None]
spent = np.abs(np.diff(np.log(release_of_three), axis=0)).max()
assert round(spent, 3) == 1.186
assert round(of_constants, 3) == 0.186

# %% [markdown] tags=["solution"]
# From $d = 0$ to $d = 1$ the weight of each release changes by a factor $e^{\pm 1}$, which is half of the
# budget. The normalizing constant grows from $1 + e^{-1} + e^{-2} + e^{-3}$ to $1 + 2e^{-1} + e^{-2}$, by a factor
# $e^{0.186}$, and lowers all probabilities. At $r = 0$ both changes have the same sign. The constant is a sum of
# weights, each of which changes by a factor $e$ at most, so the constant cannot change by more. It would have to
# change by $e$ itself to use up the whole budget.

# %% [markdown]
# ## Reproducing Table 1
#
# There are $n = 50$ binary records, 30 of them ones, with a Beta($\gamma, \gamma$) prior. The outputs
# are the counts $0, \dots, 50$, and $P(r \mid d)$ is beta-binomial. The sensitivities of the three scores:

# %%
counts, pairs = np.arange(n + 1), mechanism.change_one(n)
scores = charest.binary_scores(n, gamma)
deltas = {name: mechanism.sensitivity(score, pairs) for name, score in scores.items()}
told = f"Sensitivity of the three scores of Table 1, {n} records, Beta({gamma:g}, {gamma:g}) prior."
show(pd.DataFrame(deltas.items(), columns=["score", "sensitivity"]), digits=6, caption=told)

# %% [markdown] tags=["written"]
# ### Exercise 2: the sensitivity of a log probability
#
# In three steps, twenty minutes. (1) With a pencil: one person, a Beta(2, 2) prior, and a single released
# record, which is a one with probability $(d + 2)/5$ if the person has $d$. What is the exact epsilon of such
# a release (`of_one`, three decimal places)? (2) Now take any $p(r \mid d)$. Show that the sensitivity of $\log
# p(r \mid d)$ as a score is the exact epsilon of releasing a draw from $p(\cdot \mid d)$. (3) For 50 records, 50
# released ones and the Beta(2, 2) prior, what is this number (`shared`, three places)? The data sets with no
# one and with a single one attain it: at which `outcome`, that is, which released number of ones?
#
# *You will need:* `mechanism.beta_binomial`, `mechanism.exact_epsilon`; to check step 2 also
# `charest.binary_scores`, `mechanism.sensitivity` and `mechanism.change_one`.

# %% [markdown] tags=["hint"]
# Write down both definitions. Each is the largest absolute difference of something. Of what, and over what?

# %% [markdown] tags=["hint"]
# For step 3: which release would you least expect if nobody has a one?

# %% tags=["solution"]
of_one = mechanism.exact_epsilon(mechanism.beta_binomial(1, 1, 2.0)).value
of_draws = mechanism.beta_binomial(50, 50, 2.0)
shared = mechanism.exact_epsilon(of_draws).value
outcome = int(np.abs(of_draws.row(0) - of_draws.row(1)).argmax())
fifty = mechanism.change_one(50)
assert np.isclose(shared, mechanism.sensitivity(charest.binary_scores(50, 2.0)["log P"], fifty))
assert np.isclose(shared, np.log(1 + 50 / 2.0))
assert round(of_one, 3) == 0.405
assert round(shared, 3) == 3.258
assert outcome == 50

# %% [markdown] tags=["solution"]
# (1) $\log \frac{3/5}{2/5} = \log 1.5$. (2) Both are the largest $|\log p(r \mid d) - \log p(r \mid d')|$ over
# neighbors and releases. (3) The probability that all released records are ones is proportional to a rising
# factorial that starts at the number of ones in the data plus $\gamma$. From 0 to 1 the ratio is
# $(\gamma + 50)/\gamma$; with one record it was $(\gamma + 1)/\gamma$.

# %% [markdown] tags=["spoiler-2"]
# For $P$ the paper bounds the sensitivity by 1, which is right and generous. For $\log P$ it
# warns that 1 is no longer a bound, and its formula lacks the logarithms: as printed it would
# give the value of $P$. The right value is $\log(1 + n/\gamma)$, because the sensitivity of a log
# probability *is* the exact epsilon of sampling from that probability.

# %% [markdown]
# The rows follow under three conventions: **as printed** (weights $\exp(\epsilon q)$, with
# sensitivity 1 and without the 2), **as defined** (with the 2 and the true sensitivity), and
# **calibrated** (at the rate where the exact epsilon is the stated one). Beside them, at the same
# exact epsilon, stand two synthesizers that sample from a posterior directly.

# %%
methods = charest.conventions(scores, epsilon)
score_functions = outputs.table("score_functions", charest.table_1(methods, scores, x))
told = f"Table 1 under three conventions, and two synthesizers; {x} ones among {n} records."
heads = {"expected_posterior_probability": "expected P of the release"}
display(show(score_functions, digits=5, caption=told, names=heads))
verdicts.say("C2", charest.promise_kept(score_functions, epsilon))

# %% [markdown]
# The rows *as printed* are the paper's Table 1, digit for digit, except for two numbers of the row of
# $\log P$, the subject of [Exercise 3](#Exercise-3:-a-misprint-or-another-convention?). The most probable outcome is 30
# under every score, but for $P$ it is hardly more probable than the others, and the mean is near 25.
#
# So Table 1 was computed with sensitivity 1 for all three scores and *without* the 2 of the
# definition. The paper's display of the sampling probabilities lacks it, too:
# $\exp(\frac{\epsilon}{\Delta q} \dots)$, against $\exp(\frac{\epsilon}{2 \Delta q} \dots)$ in
# the definition. Distance breaks its promise by the missing 2, $\log P$ because its sensitivity
# is four times what was assumed. $P$ keeps its promise with room to spare, because its
# sensitivity is a quarter of 1. The library objects to the third:

# %%
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    log_p = scores["log P"]
    mechanism.exponential(log_p, epsilon, pairs, sensitivity=1.0, convention="without 2")
objection = "; ".join(str(warning.message) for warning in told) or "no objection"
callout("Warning" if told else "Note", f"The library says: {objection}.")

# %% [markdown] tags=["written"]
# ### Exercise 3: a misprint or another convention?
#
# In twenty minutes. Table 1 prints, for $\log P$, the expected outcome 29.53010 and the expected distance 5.308439
# ($n = 50$, $x = 30$, $\gamma = 1$). Weights $\exp(\epsilon \log P)$ with $\epsilon = 0.5$ give another
# outcome. Perhaps the author used another rate? Find the `rate_printed` near 0.5 at which the expected
# outcome is 29.53010 (four decimal places), the expected `distance_there` (three), and
# decide whether the printed outcome is a `misprint` (`True` or `False`). Why does the second number settle it?
#
# *You will need:* `charest.binary_scores`, `mechanism.gibbs`, `mechanism.change_one`,
# `charest.row_of_table_1` and `scipy.optimize.brentq`, or a search by hand.

# %% [markdown] tags=["hint"]
# One rate has to give both printed numbers. Which of the two can you match, and what becomes of the other?

# %% [markdown] tags=["hint"]
# `mechanism.gibbs(score, rate, pairs)` is the mechanism with weights $\exp(\text{rate} \cdot \text{score})$, and
# `charest.row_of_table_1(mechanism, 30, predictive)` its row of the table. The rate is a little below 0.5.

# %% tags=["solution"]
from scipy.optimize import brentq

paper_scores = charest.binary_scores(50, 1.0)


def row_at(rate_of_score: float) -> dict[str, float]:
    """The row of Table 1 for log P at some rate."""
    table_at = mechanism.gibbs(paper_scores["log P"], rate_of_score, mechanism.change_one(50))
    return charest.row_of_table_1(table_at, 30, np.exp(paper_scores["log P"][30]))


rate_printed = brentq(lambda rate: row_at(rate)["expected_outcome"] - 29.53010, 0.4, 0.6)
distance_there = row_at(rate_printed)["expected_distance"]
agrees_at_half = abs(row_at(0.5)["expected_distance"] - 5.308439) < 1e-6
misprint = agrees_at_half and abs(distance_there - 5.308439) > 0.001
assert round(rate_printed, 4) == 0.4973
assert round(distance_there, 3) == 5.321
assert misprint

# %% [markdown] tags=["solution"]
# No rate gives both printed numbers. At 0.5 the distance agrees to all digits, and the outcome would be
# 29.53301: a 3 was lost. Another convention would have moved the whole row.

# %% [markdown]
# ### Exercise 4: what if only the 2 was left out?
#
# In ten minutes. Suppose the author had used the true sensitivities, and weights $\exp(\epsilon q/\Delta)$
# without the 2 ($n = 50$, $\gamma = 1$, $\epsilon = 0.5$). Nothing would change for distance, whose sensitivity
# is 1. Which exact epsilons would $P$ and $\log P$ have? Give the list `without_2`, three decimal places. How
# many of the three scores (`above`) would then exceed the epsilon of the caption?
#
# *You will need:* `charest.binary_scores`, `mechanism.sensitivity`, `mechanism.gibbs`, `mechanism.change_one`
# and `mechanism.exact_epsilon`.

# %% [markdown] tags=["hint"]
# Without the 2 the rate of a score is $\epsilon/\Delta$, here $0.5/\Delta$.

# %% [markdown] tags=["hint"]
# `mechanism.gibbs(score, 0.5 / mechanism.sensitivity(score, pairs), pairs)`, with the pairs of
# `mechanism.change_one(50)`.

# %% tags=["solution"]
halves = {
    name: mechanism.gibbs(
        score,
        0.5 / mechanism.sensitivity(score, mechanism.change_one(50)),
        mechanism.change_one(50),
    )
    for name, score in charest.binary_scores(50, 1.0).items()
}
found_there = {name: mechanism.exact_epsilon(made).value for name, made in halves.items()}
without_2 = [round(found_there[name], 3) for name in ("P", "log P")]
above = sum(found_epsilon > 0.5 for found_epsilon in found_there.values())
assert without_2 == [0.491, 0.336]
assert above == 1

# %% [markdown] tags=["solution"]
# The 2 is needed where the normalizing constant moves against the score, as it does for distance. For
# $P$ and $\log P$ it moves with the scores of the worst releases and takes back a part of the change.

# %% [markdown] tags=["spoiler-3"]
# The two numbers of [Exercise 3](#Exercise-3:-a-misprint-or-another-convention?) are 29.53301, printed as
# 29.53010, and .04820252, printed as .04820520. Each has lost a digit in the middle and gained a zero at
# the end. (The table fills up with zeros elsewhere, too: 13.142660 is 13.1426628 to seven digits.)

# %% [markdown]
# ## At equal exact epsilon
#
# At the *same* exact epsilon (rows *calibrated*) the scores keep their order: distance, then
# $\log P$, then $P$. The magnitudes change: the release by $\log P$ is 8.2 records from the truth
# and not 5.3, that by distance 3.1 and not 1.9. The two synthesizers are at 4.4 and 4.5.

# %% [markdown]
# ### Try it: fifty ones
#
# All this is for 30 ones among 50. Predict before you look at the figure below: if all 50 records are ones,
# which of the two is closer to the data on average, *exponential, log P* or *beta-binomial* (`closer`)?
# The beta-binomial with exact epsilon .5 has the prior parameters $\alpha = 77$ for ones and for zeros.

# %% tags=["solution"]
both_made = charest.at_equal_epsilon(charest.conventions(charest.binary_scores(50, 1.0), 0.5))
from_fifty = charest.expected_distances(both_made).loc[50, ["exponential, log P", "beta-binomial"]]
closer = from_fifty.idxmin()
assert closer == "exponential, log P"

# %% [markdown] tags=["solution"]
# The prior is worth 154 records and pulls every release towards one half. From 50 ones that is far away.

# %%
at_half = charest.at_equal_epsilon(methods)
distances = charest.expected_distances(at_half)
outputs.table("distance_by_data", distances.reset_index())
titles = "Ones in the data, x", "Expected distance of the release"
outputs.figure("distance_by_data", charts.lines(distances, *titles, zero=True))

# %% [markdown]
# **The synthesizers are close in the middle only, distance as a score about equally everywhere.** Expected
# distance from the data, in records, for every data set, at the same exact epsilon.
#
# The synthesizers look good at $x = 30$ because it lies near the center that their strong priors ($\alpha = 77$
# for 50 records) pull to. Is $\log P$ better than $P$ under other priors, too?

# %%
priors = charest.over_priors(n, x, epsilon, [gamma, 5.0, 10.0, 20.0, 100.0])
shown = outputs.table("priors_binary", priors).assign(closer=priors["closer"].map(percent))
heads = {"gamma": "γ", "closer": "data sets for which log P is closer than P"}
told = f"Expected distance from x = {x} by score, for priors Beta(γ, γ), at the same exact epsilon."
display(show(shown, caption=told, names=heads))
verdicts.say("C3", charest.log_is_better(priors))

# %% [markdown]
# $P$ is nearly flat under a weak prior and gains most from a strong one, which makes the predictive
# distributions of neighbors alike.
#
# ### Reading a column
#
# Equal epsilon is an equal worst case over all data and releases. What does a release disclose
# about the records of *these* data? An intruder knows all records but one and gives its two
# values probability one half each. Bayes' rule on the column of the release gives the posterior
# probability of the truth, which epsilon limits to $1/(1 + e^{-\epsilon}) = .622$. The paper
# names this reading, after McClure and Reiter (2012), as a promising avenue.

# %%
known = charest.disclosure(at_half, x)
told = f"Posterior probability of a true value over releases and the records of the data, x = {x}."
show(outputs.table("disclosure", known), digits=5, caption=told)

# %% [markdown]
# At the same exact epsilon the expected gain differs a thousandfold. Distance, which keeps most of the
# data, also tells the intruder most on average. The others keep their large log ratios for
# releases that hardly ever happen, or for other data. At $x = 30$ the release by $P$ tells the
# analyst and the intruder next to nothing.

# %% [markdown] tags=["written"]
# ### Exercise 5: what an intruder learns
#
# In fifteen minutes. An intruder knows 49 of 50 binary records, 29 of them ones, and gives the last one probability .1 of being
# a one, which it is. Epsilon is .5. What is the largest posterior probability that any mechanism with this
# epsilon allows (`allowed`, three decimal places)? What is the largest over the releases of the mechanism with
# score $-|d - r|$ calibrated to this exact epsilon (`reached`, three places), and why is it smaller?
#
# *You will need:* `mechanism.posterior_bound`, `charest.binary_scores`, `mechanism.change_one`,
# `mechanism.exact_rate`, `mechanism.gibbs` and `mechanism.risk`.

# %% [markdown] tags=["hint"]
# Work in odds: 1 to 9 before. The first question needs one multiplication.

# %% [markdown] tags=["hint"]
# `mechanism.risk(made, 30, 29, 0.1)` are the posteriors of the truth for all releases. For the last question
# compare the normalizing constants of $x = 30$ and 29 with those of $x = 1$ and 0.

# %% tags=["solution"]
allowed = float(mechanism.posterior_bound(0.5, 0.1))
near_score, near_pairs = charest.binary_scores(50, 1.0)["distance"], mechanism.change_one(50)
near = mechanism.gibbs(near_score, mechanism.exact_rate(near_score, 0.5, near_pairs), near_pairs)
reached = float(mechanism.risk(near, 30, 29, 0.1).max())
assert round(allowed, 3) == 0.155
assert round(reached, 3) == 0.133

# %% [markdown] tags=["solution"]
# The odds 1 to 9 can be multiplied by $e^{1/2}$ at most. Epsilon is attained at the end of the space, with data of
# all zeros or all ones, where the normalizing constants of neighbors differ most. At 30 of 50 they nearly
# agree, and only the change of the score is left.

# %% [markdown] tags=["written"]
# ### Exercise 6: which sentence does the table not support?
#
# In fifteen minutes. Data of 50 binary records, 30 of them ones. Three mechanisms have the exact epsilon .5:
#
# | mechanism | expected distance from 30 | expected log gain of an intruder who lacks one record |
# |---|---|---|
# | exponential, distance | 3.07 | .0126 |
# | exponential, log P, Beta(1, 1) | 8.15 | .0007 |
# | beta-binomial draws, $\alpha = 77$ | 4.46 | .0005 |
#
# (1) The three have the same worst case. (2) For these data the beta-binomial release is closer than that of
# $\log P$ and tells the intruder no more. (3) So an agency should prefer it to $\log P$. (4) Mechanisms with equal
# epsilon can tell an intruder very different amounts. Which number is `unsupported`, and what is missing?
# Compute the expected distances of the second and third mechanism from $x = 45$ (`at_45`, a list, one decimal
# place).
#
# *You will need:* `charest.binary_scores`, `charest.conventions`, `charest.at_equal_epsilon` and
# `charest.expected_distances`.

# %% [markdown] tags=["hint"]
# Ask of each sentence whether it is about these data, about all data, or about what somebody should do.

# %% [markdown] tags=["hint"]
# `charest.at_equal_epsilon(charest.conventions(scores, 0.5))` has the mechanisms by name, and
# `charest.expected_distances` of them a row for each $x$.

# %% tags=["solution"]
three_made = charest.at_equal_epsilon(charest.conventions(charest.binary_scores(50, 1.0), 0.5))
of_45 = charest.expected_distances(three_made).loc[45, ["exponential, log P", "beta-binomial"]]
at_45 = [round(float(away_from), 1) for away_from in of_45]
unsupported = 3
assert at_45 == [6.9, 15.1]
assert unsupported == 3

# %% [markdown] tags=["solution"]
# One row of data says nothing about others. The prior with $\alpha = 77$ pulls every release towards one half. That
# is close to 30 of 50 and far from 45 of 50. The other three sentences are the table's own content, or the
# definition of epsilon.

# %% [markdown]
# ## The condition for the Dirichlet-multinomial
#
# Let $a_k = \alpha_k + d_k$, and move one record from cell $i$ to cell $j$ to get $d'$. In the predictive
# probabilities all factors cancel but those of the two cells:
#
# $$\frac{p(r \mid d)}{p(r \mid d')} = \frac{a_i - 1 + r_i}{a_i - 1} \cdot \frac{a_j}{a_j + r_j}.$$
#
# The second factor is at most 1, and because $a_i - 1 \ge \alpha_i$ and $r_i \le \tilde n$ the first is at most
# $(\alpha_i + \tilde n)/\alpha_i$. Both bounds are attained at $d_i = 1$, $r_i = \tilde n$. Hence the exact
# epsilon is $\log(1 + \tilde n / \min_i \alpha_i)$, whatever $n \ge 1$, and it is at most $\epsilon$ if and
# only if every $\alpha_i \ge \tilde n/(e^\epsilon - 1)$, the condition of Machanavajjhala et al. (2008). To
# check, each $\alpha_i$ is set to .98, 1 or 3 times the bound for $\epsilon = 0.9$, and all tables are
# enumerated:


# %%
def private(factors: tuple[float, ...], size: int, n_s: int) -> bool:
    """Whether the synthesizer with alphas at these factors of the bound is 0.9-private."""
    alphas = n_s / np.expm1(0.9) * np.array(factors)
    spent = mechanism.exact_epsilon(mechanism.dirichlet_multinomial(size, n_s, alphas)).value
    return spent <= 0.9 * (1 + 1e-9)


grid = pd.DataFrame(itertools.product((2, 3), (1, 2, 4), (1, 3)), columns=["cells", "n", "n_s"])
grid["necessary and sufficient"] = [
    all(private(f, n, n_s) == (min(f) >= 1) for f in itertools.product((0.98, 1, 3), repeat=cells))
    for cells, n, n_s in grid.itertuples(index=False)
]
_ = outputs.table("dirichlet_condition", grid)
verdicts.say("C1", charest.condition_holds(grid))

# %% [markdown]
# ## Drawing from the mechanism
#
# Three samplers are exact: inversion of the distribution function, the maximum of scores with
# Gumbel noise, and the paper's rejection sampler. Their means agree with the exact ones within
# two standard errors.

# %%
defined = {name: methods[name, "as defined"] for name in scores}
means = outputs.table("samplers", charest.samplers(defined, x, 20_000, seed))
heads = {
    "inverse": "inversion",
    "gumbel": "Gumbel noise",
    "acceptance of rejection": "acceptance rate",
}
told = "Mean of 20,000 releases by three samplers, the exact mean, and how many proposals are accepted."
show(means, digits=4, caption=told, names=heads)

# %% [markdown]
# Rejection from uniform proposals suffers where a mechanism is peaked: distance stays a few records wide while a space
# of tables with $K$ cells grows like $n^{K-1}$.
#
# The permute-and-flip mechanism of McKenna and Sheldon (2020) never does worse at the same
# nominal budget, but uses up more of it:

# %%
flips = charest.permuted(scores, x, epsilon)
told = (
    f"Expected distance from x = {x}: nominal epsilon {epsilon:g}, then exact epsilon {epsilon:g}."
)
heads = {"distance_at_nominal": "distance", "distance_at_exact": "distance at equal exact epsilon"}
show(outputs.table("permute_and_flip", flips), digits=4, caption=told, names=heads)

# %% [markdown]
# At equal exact epsilon the two are
# level for $P$ and $\log P$, and for distance the exponential mechanism is closer, 3.07 against 3.74.
#
# ## What an audit from outside would find
#
# Someone who can only run the mechanism draws releases from two neighboring data sets, even the
# worst pair. Half of the releases choose an event that is too much more frequent in one of them;
# the other half gives Clopper-Pearson limits for its probabilities, hence a lower bound for
# epsilon at 95 % confidence.

# %% tags=["monte-carlo"]
bounds = {name: [audit.lower_bounds(table, size, 10, rng=stream(seed, f"audit {name} {size}"))
                 for size in audit_sizes] for name, table in at_half.items()}  # fmt: skip
seen = pd.DataFrame(bounds, pd.Index(audit_sizes, name="releases")).map(np.mean)
errors = pd.DataFrame(bounds).map(lambda b: b.std(ddof=1) / np.sqrt(10))
outputs.table("audit", seen.reset_index())
titles = "Releases from each of two data sets (log scale)", "Lower bound of epsilon (mean of 10)"
outputs.figure("audit", charts.lines(seen, *titles, log_x=True, reference=epsilon))

# %% [markdown]
# **An audit proves most of a budget that is spent on outputs that happen, and hardly any of one that is
# spent in a corner.** Lower bounds that audits prove, by the number of releases; dotted: the exact epsilon.
#
# The worst output of $\log P$ is seen once in some 560,000 releases at best, that of the beta-binomial once
# in some $4 \cdot 10^{17}$.

# %%
callout("Error of a mean", f"At most {errors.max(axis=None):.3f}, from 10 audits each.")

# %% [markdown]
# ### Try it: never seen
#
# An auditor draws 1,000 releases from one data set and never sees some output. Guess how probable it may be
# all the same. Then compute the upper Clopper-Pearson limit at 97.5 % confidence: the probability `unseen`
# (four decimal places) with which 1,000 releases without it have probability 2.5 %.

# %% tags=["solution"]
unseen = 1 - 0.025 ** (1 / 1000)
assert round(unseen, 4) == 0.0037

# %% [markdown] tags=["solution"]
# $(1 - p)^{1000} = 0.025$, so that $p = 0.0037$, about four in a thousand. So many releases
# cannot tell an impossible output from one that is rarer than this, and an infinite epsilon from a finite one.

# %% [markdown]
# ## Contingency tables
#
# Now the outputs are all tables of $n$ records on $2 \times 2$ or $2 \times 2 \times 2$ cells,
# and neighbors differ in the cell of one record. Three models supply a $\log P$: the
# Dirichlet-multinomial with all $\alpha_i = 1$, and log-linear models with and without pairwise
# effects (500 draws from their prior, common to all data sets). Against them stand the number of
# records moved to another cell, the analogue of $|d - r|$, and Euclidean distance. All scores,
# and direct Dirichlet-multinomial draws, get the *same exact epsilon*, at three budgets, for five
# kinds of data.

# %%
spaces = [
    count_tables.space(shape, size, 500, rng=stream(seed, f"space {shape}"))
    for shape, size in (((2, 2), n_table), ((2, 2, 2), n_three))
]
compared = pd.concat([count_tables.compare(space, budgets) for space in spaces])
outputs.table("contingency", compared)
middle, measure = sorted(budgets)[len(budgets) // 2], "records in another cell"
shown = compared.query("table == '2 × 2' and epsilon == @middle and measure == @measure")
wide = shown.pivot(index="data", columns="mechanism", values="expected").reset_index()
told = f"Expected records in another cell of a 2 × 2 table of {n_table} records, exact epsilon {middle:g}."
show(wide[["data", *dict.fromkeys(shown["mechanism"])]].rename_axis(columns=None), caption=told)

# %% [markdown]
# The independence model is true of the row *independent*, and its $\log P$ does no better there than the Dirichlet-multinomial's.
# Direct Dirichlet draws do best where the data are balanced like their prior and worst where one cell
# has all records. Over all budgets and data, the share of cases in which a model's $\log P$ does better
# than the records moved:

# %%
shares = count_tables.wins(compared)
models = [*count_tables.MODELS]
shown = outputs.table("wins", shares).assign(**shares[models].map(percent))
show(shown, caption="Share of cases in which a model's log P does better than the records moved.")

# %% [markdown]
# The measures are records in another cell and
# margin, the error of the log odds ratio, and Table 1's own, the expected predictive probability
# of the release, under two models. Even by that one $\log P$ does better in a third of
# the cases at most. A likely reason is its sensitivity, for the Dirichlet $\log(1 + n/\alpha)$:
# it is set by the output that puts all records into a cell that the data leave nearly empty. A
# record changes the number of records moved by one at most, whatever the table. A stronger prior
# makes $\log P$ less sensitive:

# %%
by_prior = count_tables.by_alpha(spaces[0], [0.1, 5.0, 20.0, 100.0], middle)
told = f"Expected records in another cell, by the score and the data, at exact epsilon {middle:g}."
display(show(outputs.table("priors", by_prior), caption=told))
verdicts.say("C4", charest.beats_distance(shares, by_prior))

# %% [markdown]
# A prior that is strong *and right*, here a uniform one for balanced data, contributes what the budget
# cannot pay for.
#
# ## Scores by Monte Carlo
#
# For better models $\log P$ must be estimated from draws of the parameters. Two kinds of draws
# look alike and are not:
#
# - **fresh draws for each data set**, as from a chain for each. The scores of neighbors then differ by a
#   record and by Monte Carlo error. The true sensitivity no longer bounds the difference, and the proof
#   of the budget is lost.
# - **common draws**: parameters drawn once from the prior and weighted by the likelihood of each
#   data set. The estimate is the exact predictive probability under a discrete prior, a score
#   like any other.
#
# On $2 \times 2$ tables the truth is known for the Dirichlet-multinomial and, by enumeration, for a DPMPM
# (Dunson and Xing 2009) with two classes.

# %%
small, corner = mechanism.compositions(n_small, 4), np.array(list(np.ndindex(2, 2)), np.uint8)
steps, every, two = mechanism.change_one_record(small), np.arange(len(small)), np.array([2, 2])


def by_dirichlet(size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the Dirichlet posterior, fresh for each data set, as four chains."""
    return np.array([np.log(rng.dirichlet(d + 1.0, (4, size // 4))) for d in small])


def by_gibbs(size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the DPMPM by its Gibbs sampler, run afresh for each data set."""
    chains = dpmpm.Chains(n_classes=2, burn_in=500, n_draws=size // 4, thin=10)
    people = [np.repeat(corner, d, axis=0) for d in small]
    draws = (dpmpm.sample_posterior(records, two, chains, rng=rng) for records in people)
    return np.array([dpmpm.cell_log_prob(of_data, corner) for of_data in draws])


# %% tags=["monte-carlo"]
exact = mechanism.dirichlet_multinomial(n_small, n_small, [1.0] * 4).block(every, every)
truth = {"Dirichlet": exact, "DPMPM": count_tables.dpmpm_score(n_small, 2)}
rows, draw = [], {"Dirichlet": by_dirichlet, "DPMPM": by_gibbs}
for model, score in truth.items():
    known = mechanism.sensitivity(score, steps)
    rows.append(count_tables.estimated(model, "exact", 0, [(score, 0 * score)], known, steps))
    for size in model_draws:
        fits = [draw[model](size, stream(seed, f"{model} {size} {i}")) for i in (0, 1)]
        runs = [contingency.score_by_model(fit, small) for fit in fits]
        rows.append(count_tables.estimated(model, "fresh", size, runs, known, steps))
chains = {f"data {d}": fit for d, fit in zip(small.tolist(), fits[0][..., 0], strict=True)}
checked = outputs.table("small_chains", diagnostics.summary(chains)).sort_values("r_hat")
good = (checked["verdict"] == "converged").sum()
told = f"{good} of {len(checked)} fits of the DPMPM converged; R-hat is at most {checked['r_hat'].max():.3f}."
callout("Note" if good == len(checked) else "Warning", told)

# %% [markdown]
# Each mechanism gets the budget 1. With fresh draws it declares the true sensitivity, with common
# draws the bound of the [next section](#A-sensitivity-that-can-be-computed).

# %%
fresh = pd.DataFrame(rows).drop(columns=["draws from", "least effective draws"])
told = "Fresh draws for each data set: error of the score, and epsilon at the budget 1."
show(fresh.replace({"draws": {"": "true score"}}), caption=told)

# %% [markdown]
# The last column holds the draws fixed: it is the epsilon of a release to somebody who knows them. They
# are secret, like the rest of the mechanism's chance, and the probability of a release is its *mean* over
# them. For the Dirichlet-multinomial with the fewest draws, many sets of draws give that mean. The largest
# of many estimated ratios is a little too large, and more sets lower it.

# %%
fewest = min(model_draws)
factorial = np.cumprod([1, *range(1, n_small + 1)])
ways = factorial[n_small] / factorial[small].prod(axis=1)  # multinomial coefficients
power = 1 / (2 * mechanism.sensitivity(exact, steps))


# %% tags=["monte-carlo"]
def mean_release(sets: int, rng: np.random.Generator) -> np.ndarray:
    """Probability of every release from every data set, a mean over sets of fresh draws."""
    theta = rng.standard_gamma(small[:, None, None] + 1.0, (len(small), sets, fewest, 4))
    theta /= theta.sum(axis=-1, keepdims=True)
    weight = (ways * np.exp(np.log(theta) @ small.T).mean(axis=2)) ** power
    return (weight / weight.sum(axis=-1, keepdims=True)).mean(axis=1)


sets, rng = max(1, 400 // fewest), stream(seed, "mean over draws")
means, by_sets = np.array([mean_release(sets, rng) for _ in range(200)]), []

# %% tags=["monte-carlo"]
for k in (50, 100, 200):
    mean, error = means[:k].mean(axis=0), means[:k].std(axis=0, ddof=1) / np.sqrt(k)
    at = mechanism.exact_epsilon(mechanism.Mechanism.from_table(np.log(mean), steps))
    error_at = np.linalg.norm((error / mean)[[*at.pair], at.output])
    by_sets.append((k * sets, at.value, error_at))

# %% tags=["monte-carlo"]
averaged = pd.DataFrame(by_sets, columns=["sets of draws", "epsilon", "standard error"])
told = f"Epsilon at the budget 1 with {fewest} fresh draws, averaged over the draws (Dirichlet)."
show(outputs.table("mean_over_draws", averaged), digits=3, caption=told)

# %% tags=["monte-carlo"]
priors_of = {
    "log-linear": lambda k, rng: contingency.log_linear_draws((2, 2), k, rng=rng),
    "DPMPM": lambda k, rng: dpmpm.prior_cell_log_prob(corner, two, 2, k, rng=rng),
}
common = {}
for (model, draw), size in itertools.product(priors_of.items(), model_draws):
    cells = common[model] = draw(size, stream(seed, f"common {model} {size}"))
    runs = [contingency.score_by_prior(cells, small)]
    declared, least = (
        contingency.sensitivity_bound(cells),
        count_tables.effective_draws(cells, small),
    )
    rows.append(count_tables.estimated(model, "common", size, runs, declared, steps, least))
scored = outputs.table("monte_carlo_scores", pd.DataFrame(rows))
shown = scored.query("`draws from` == 'common'").drop(columns="draws from")
told = "Draws common to all data sets: error of the score, and exact epsilon at the budget 1."
display(show(shown, caption=told, names={count_tables.KNOWN: "exact epsilon"}))
verdicts.say("C5", charest.by_draws(scored, averaged.iloc[-1]))

# %% [markdown]
# With the true score the mechanisms use .50 and .37 of the budget. With 20 fresh draws most of the sensitivity of
# a score is Monte Carlo error, and to somebody who knows the draws a release costs more than the budget. To
# everybody else it costs less: averaged over the draws the mechanism keeps its budget in this example. What is
# lost is the proof. Tables too many to enumerate cannot be averaged like this, and for the DPMPM, where each
# draw takes a chain, it is not done here. With common draws the budget is proved however few they are, for both
# models, even if everybody knows them, but the bound
# leaves most of it unused. Their error says how far the score is from that of the model's own
# prior, a matter of utility. For five records prior draws are not too wide: of 1,000, at least 67
# are effective for every data set.

# %% [markdown]
# ## A sensitivity that can be computed
#
# Let $\theta_1, \dots, \theta_S$ be cell probabilities that do not depend on the data. The score is
# $q(d, r) = \log \sum_s w_s p_s(r) - \log \sum_s w_s$, with the likelihoods $w_s = \prod_k \theta_{sk}^{d_k}$ of
# the data and the multinomial probabilities $p_s(r)$ of the release. Moving a record from cell $i$ to cell $j$
# multiplies $w_s$ by $c_s = \theta_{sj}/\theta_{si}$, so that
#
# $$q(d', r) - q(d, r) = \log \frac{\sum_s w_s p_s(r)\, c_s}{\sum_s w_s p_s(r)} - \log \frac{\sum_s w_s c_s}{\sum_s w_s}.$$
#
# Both fractions are weighted means of the $c_s$ and lie between the smallest and the largest. Therefore
#
# $$\Delta q \le B = \max_{i, j} \Bigl( \max_s \log \frac{\theta_{sj}}{\theta_{si}} - \min_s \log \frac{\theta_{sj}}{\theta_{si}} \Bigr),$$
#
# whatever the data, the number of records in data and release, and the model that the draws come from. A
# continuous prior has the same bound, over its support. And $B$ can be *set*: if in each draw every cell has at
# least $e^{-B/2}$ times the probability of the most probable cell, all log ratios lie within $B/2$ of 0.

# %%
beside = count_tables.bound_beside_truth(common, [np.inf, limit, 2.0], [1, 3, 6, 12])
told = "The bound B, and the sensitivity by enumeration of all 2 × 2 tables of n records."
display(show(outputs.table("sensitivity_bound", beside), caption=told))
verdicts.say("C7", charest.bound_scales(beside))

# %% [markdown]
# Each model's first row has its draws as they are, the others have them truncated. The bound is approached
# where the data point to one draw and the release to another.

# %% [markdown]
# ### Try it: how rare a cell may be
#
# Predict: how rare may a cell be, relative to the most probable one, in draws that are truncated to
# $B = 6$: a hundredth, a twentieth, a third? Compute it (`rarest`, three decimal places), and the same for
# $B = 2$ (`rarest_at_2`).

# %% tags=["solution"]
rarest, rarest_at_2 = np.exp(-6 / 2), np.exp(-2 / 2)
assert round(rarest, 3) == 0.050
assert round(rarest_at_2, 3) == 0.368

# %% [markdown] tags=["solution"]
# $e^{-B/2}$: a twentieth and a third. A small sensitivity is paid for by models without rare cells.

# %% [markdown]
# ### Exercise 7: a bound by hand
#
# With a pencil and numpy, in twenty minutes. Three draws of the probabilities of two cells are common to all data sets: (.5, .5), (.8, .2) and (.4, .6).
# What is the bound on the sensitivity of the log predictive score (`by_hand`, three decimal places)? What
# is the sensitivity itself, by enumeration, for 5 records in data and release (`of_five`, three places)? Which
# smallest probability (`floor`, three places) must every cell of every draw have for a bound of 1?
#
# *You will need:* a pencil for the bound; `contingency.common_score`, `mechanism.compositions`,
# `mechanism.change_one_record` and `mechanism.sensitivity` for the enumeration.

# %% [markdown] tags=["hint"]
# With two cells the bound needs one number from each draw, its log odds.

# %% [markdown] tags=["hint"]
# For `floor`: the log odds of all draws must lie within one half of 0. Which probability has log odds of
# minus one half?

# %% tags=["solution"]
three_draws = np.log([[0.5, 0.5], [0.8, 0.2], [0.4, 0.6]])
by_hand = contingency.sensitivity_bound(three_draws)
five_tables = mechanism.compositions(5, 2)
five_score = contingency.common_score(three_draws, five_tables)
of_five = mechanism.sensitivity(five_score, mechanism.change_one_record(five_tables))
floor = float(np.exp(contingency.limit_log_ratios(three_draws, 1.0)).min())
assert np.isclose(by_hand, np.log(6))
assert round(by_hand, 3) == 1.792
assert round(of_five, 3) == 1.212
assert round(floor, 3) == 0.378

# %% [markdown] tags=["solution"]
# The odds of the second cell are 1, 1/4 and 3/2, so that the log of their largest ratio, 6, is the bound. Five
# records cannot point to one draw with certainty, and the weighted means stay inside the range. For a bound of
# 1 the log odds must lie within one half of 0, and the smaller probability is at least $1/(1 + e^{1/2})$.

# %% [markdown]
# ## A table that nobody can enumerate
#
# Sex, disability, work and health insurance of the embedded census records make a table of 24 cells. Common draws from the priors of the log-linear model and of a DPMPM with ten
# classes are truncated to $B$ = `limit`. They serve two exponential mechanisms:
#
# - **over tables**, with $\log P$ as the score and weights $\exp\{\epsilon\, q/(2B)\}$, as the paper proposes;
# - **over the draws**, with the log likelihood as the score. One record changes it by at most $B/2$, so
#   the weights are $w_s^{\epsilon/B}$. A table drawn with the chosen $\theta_s$ has the same guarantee, whatever
#   its size, and no Markov chain is needed.

# %%
people = microdata.load("", "", n_records=n_large, rng=stream(seed, "people"))
chosen = people.schema.positions(["SEX", "DIS", "WKL", "HICOV"], "variables")
codes, levels = people.codes[:, chosen], people.schema.n_levels[chosen]
cells = np.array(list(np.ndindex(*levels)), np.uint8)
true = np.array([(codes == cell).all(axis=1).sum() for cell in cells])
untruncated = {
    "log-linear": contingency.log_linear_draws(levels, prior_draws, rng=stream(seed, "effects")),
    "DPMPM": dpmpm.prior_cell_log_prob(cells, levels, 10, prior_draws, rng=stream(seed, "classes")),
}
drawn = {name: contingency.limit_log_ratios(d, limit) for name, d in untruncated.items()}

# %% [markdown]
# Has the chain over tables converged?

# %% tags=["monte-carlo"]
few, rate = drawn["log-linear"][:500], middle / (2 * limit)
walk = {"n_draws": 250, "thin": 500, "n_chains": 4, "most": 8}
walk["log_weights"] = contingency.log_likelihood(few, true)
released, score, _ = contingency.metropolis(few, rate, n_large, rng=stream(seed, "walk"), **walk)
quantities = {
    "records moved": contingency.records_moved(released, true),
    "log predictive": score,
    "most frequent cell": released[..., true.argmax()].astype(float),
}
_ = outputs.figure("walk_ranks", charts.rank_plot(diagnostics.long_format(quantities)))
diagnostics.verdict(outputs.table("walk", diagnostics.summary(quantities)))

# %% tags=["monte-carlo"]
cases = [(1, budget) for budget in budgets] + [(10, middle), (100, middle)]
moved = {}
for times, budget in cases:
    rng, column = stream(seed, f"{times} {budget}"), f"n = {times * n_large:,}, ε = {budget:g}"
    moved[column] = count_tables.not_private(true * times, levels, 400, rng=rng)
    moved[column] |= count_tables.guaranteed(drawn, true * times, budget, 400, rng=rng)
    if (times, budget) == (1, middle):
        of_walk = count_tables.share_moved(released.reshape(-1, len(true)), true)
        moved[column]["log P over tables, log-linear (converged chain)"] = of_walk
large = pd.DataFrame(moved).map(lambda cell: cell[0], na_action="ignore")
large = large.rename_axis("mechanism").reset_index()
error = max(e for of in moved.values() for _, e in of.values())
told = f"Expected share of the records in another cell; standard errors at most {error:.4f}."
show(outputs.table("large_table", large), caption=told)

# %% [markdown]
# The tables of 1,000 and 10,000 records have the same shares as that of 100. The first three rows have no
# budget, for comparison. The paper's mechanism over tables has a
# guarantee now, as far as its chain has converged, but at this budget its releases are no nearer
# than uniform ones. One draw by likelihood is nearer than Dirichlet-multinomial draws at the two
# smaller budgets, by more for 1,000 and 10,000 records than for 100: the prior that C1 asks for
# grows with the release, while $B$ stays. At the largest budget there is no lead left. Of the
# private mechanisms, counting moved records is best from the middle budget on, by far for many
# records. At the smallest it is no better than uniform cells, and there the models are ahead.
# What the bound is set to matters:

# %% tags=["monte-carlo"]
few, limits = untruncated["log-linear"], [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0]
by_limit = pd.DataFrame(index=pd.Index(limits, name="bound"))
for times in (1, 10, 100):
    rng, column = stream(seed, f"limit {times}"), f"{times * n_large:,} records"
    by_limit[column] = count_tables.over_limits(few, true * times, middle, limits, 400, rng=rng)
outputs.table("by_limit", by_limit.reset_index())
titles = "Sensitivity B to which the draws are truncated", "Share of records in another cell"
outputs.figure("by_limit", charts.lines(by_limit, *titles, zero=True, ordered=True))

# %% [markdown]
# **A small bound allows no rare cells, a large one leaves little budget for each record.** One draw by
# likelihood at the middle budget, log-linear model: the share of records in another cell, by the bound $B$.
#
# The choice of $B$ must not depend on the data: this figure itself would spend budget. About .20 remains
# for many records, because even the nearest of the common draws is that far from these shares:

# %%
nearest = 0.5 * np.abs(np.exp(few) - true / n_large).sum(axis=1).min()
callout("The nearest draw", f"Of {len(few):,}, not truncated, it is {nearest:.3f} away.")

# %% [markdown]
# ## Chains in the place of common draws
#
# Metropolis over tables moves records one at a time. What does a chain release that has not
# converged? Small tables tell exactly: the distribution after $t$ steps is a power of the
# transition matrix. The target has exact epsilon 1.

# %%
target = mechanism.exact_rate(exact, 1.0, steps) * exact
by_step = pd.DataFrame(contingency.epsilon_by_step(target, small, 9)).T.rename_axis("steps")
told = "Exact epsilon of the table that a chain holds after some steps; the target's is 1."
show(outputs.table("unconverged", by_step.reset_index()).iloc[::2], caption=told)

# %% [markdown]
# Before the chain has converged, none can be read off the
# target. A start *at the data* is the dangerous one: epsilon is infinite until every table can be
# reached, and too large long after. A chain that starts without looking at the data knows too
# little of them, and its epsilon here stays below the target until the two are all but equal.

# %% [markdown]
# ### Exercise 8: a chain that starts at the data
#
# In twenty minutes. Four records in two cells, a Metropolis walk over tables (`contingency.epsilon_by_step`) towards the
# Dirichlet-multinomial score with all $\alpha_i = 1$ at the rate of exact epsilon 1. After 4 steps from
# the data, what is the exact epsilon of the table that the chain holds (`after_4`, two decimal
# places)? How many steps, among 1, 2, 4, 8, ..., bring it below 1.01 (`enough`)?
#
# *You will need:* `mechanism.compositions`, `mechanism.change_one_record`, `mechanism.dirichlet_multinomial`
# and its `block`, `mechanism.exact_rate` and `contingency.epsilon_by_step`.

# %% [markdown] tags=["hint"]
# The scores are `mechanism.dirichlet_multinomial(4, 4, [1.0, 1.0]).block(np.arange(5), np.arange(5))`.

# %% [markdown] tags=["hint"]
# The target of the walk is the score times the rate that `mechanism.exact_rate` finds for epsilon 1. The
# third argument of `contingency.epsilon_by_step` is how often the number of steps doubles.

# %% tags=["solution"]
four_records = mechanism.compositions(4, 2)
four_steps = mechanism.change_one_record(four_records)
four_score = mechanism.dirichlet_multinomial(4, 4, [1.0, 1.0]).block(np.arange(5), np.arange(5))
towards = mechanism.exact_rate(four_score, 1.0, four_steps) * four_score
started = {
    step: of_step["start at the data"]
    for step, of_step in contingency.epsilon_by_step(towards, four_records, 7).items()
}
after_4, enough = started[4], min(step for step in started if started[step] < 1.01)
assert round(after_4, 2) == 2.24
assert enough == 32

# %% [markdown] tags=["solution"]
# Every run is finite: the table after some number of steps is released. Until all tables can
# be reached from all data sets, some release is impossible under one of two neighbors, which is an
# infinite epsilon. A start that does not look at the data errs towards too little information.

# %% [markdown]
# ### Fresh chains
#
# Nor do fresh chains show the sensitivity. Changing a record, fitting the DPMPM again, and
# comparing the two estimated scores on released tables gives, for three records:


# %% tags=["monte-carlo"]
def fitted(records: np.ndarray, purpose: str) -> np.ndarray:
    """Log cell probabilities in draws of the DPMPM given some records."""
    chains = dpmpm.Chains(n_classes=10, burn_in=5000, n_draws=1000, thin=20)
    draws = dpmpm.sample_posterior(records, levels, chains, rng=stream(seed, purpose))
    return dpmpm.cell_log_prob(draws, cells)


given, visited, seen_apart = fitted(codes, "large"), released[:, ::10].reshape(-1, len(true)), []
for i in range(3):
    changed = codes.copy()
    changed[i] = cells[(i * 7) % len(cells)]
    refit = fitted(changed, f"{i}")
    found = count_tables.largest_difference(given, refit, visited, [100, 1000, 4000])
    seen_apart.append(found.assign(**{"R-hat at most": diagnostics.r_hat(refit).max()}))
largest = pd.concat(seen_apart).groupby("draws").max().reset_index()
told = "Largest difference of two estimated scores, by the draws in each, and the largest error."
show(outputs.table("fresh_differences", largest), caption=told)

# %% [markdown]
# The error is by the delta method and cannot be trusted where a single draw carries the mean. The difference
# seems smaller with 1,000 draws than with 100, by some two of these errors, and is about the same
# with 4,000. It is a lower bound for the sensitivity of the *scores that were built*, not for
# that of the model.
#
# ## Sensitivity over likely data sets
#
# The paper considers the sensitivity over data sets that are likely a priori. In the binary
# example a beta distribution is the agency's belief about the proportion of ones, and the likely
# data sets are the most probable counts that together have prior probability `likely`. The rate
# of $\log P$ gives the stated exact epsilon among *those*. What does the mechanism give to all?

# %%
held = [(6, 4), (600, 400), (20, 80), (200, 800)]
beliefs = charest.over_likely(log_p, held, [likely, 1 - (1 - likely) / 10], epsilon, x)
told = f"Mechanisms with exact epsilon {epsilon:g} among the likely data sets only, by the agency's belief."
heads = {"likely": "likely together", "from": "likely from", "to": "to"}
display(show(outputs.table("likely", beliefs), caption=told, names=heads))
verdicts.say("C6", charest.likely_suffices(beliefs, epsilon))

# %% [markdown]
# Two beliefs are centered on the data's 30 of 50, and two are not. The surer the
# belief, the closer the release and the larger the exact epsilon over all data sets. The
# probability that the data are unlikely is the agency's belief. Delta is a property of the
# mechanism, computed over all data sets, and can be much smaller (.00004 for Beta(6, 4), whose
# unlikely data sets have probability .01) or larger.
#
# ## The claims

# %%
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# ## The ledger

# %% tags=["spoiler-3"]
settings = {"n": n, "x": x, "epsilon": epsilon, "gamma": gamma}
book = charest.judged(score_functions, deltas["P"], settings)
outputs.ledger(book)

# %% [markdown] tags=["spoiler-3"]
# ## What did not reproduce, and why
#
# - **Two numbers of the $\log P$ row** have lost a digit each. The other two of that row agree to
#   all digits with the same weights, so no other convention is behind it:
#   see [Exercise 3](#Exercise-3:-a-misprint-or-another-convention?).
# - **The display of the sampling probabilities** lacks the 2 and has a stray $b$ for $x$ in its
#   denominator.

# %% [markdown]
# ## What came after
#
# At rate 1 the score $\log P$ gives a draw from the posterior predictive distribution.
# Dimitrakakis et al. (2014) and Wang, Fienberg and Smola (2015) show that one draw from the
# posterior is private "for free" where the log likelihood is bounded, and Foulds et al. (2016)
# that noise added to sufficient statistics is more efficient with many records. The table of 24
# cells shows both, since moving records is noise on the counts. Snoke and Slavković (2018) use
# the exponential mechanism for microdata with the propensity score measure pMSE, whose
# sensitivity is bounded. Savitsky, Williams and Hu (2022) come closest to this paper's question:
# their pseudo-posterior gives each record's likelihood its own power; with equal weights it is
# the common power $\epsilon/B$ used here.

# %% [markdown]
# ## For discussion

# %% [markdown]
# ### Open question: who sets the bound?
#
# An agency wants to release one draw by likelihood and must choose the model, the number of common draws
# and the bound $B$. Which of these may it learn from the confidential data, which from last year's
# release, and what should it publish about its choice?

# %% [markdown] tags=["solution"]
# A good answer says that epsilon covers the release only if model, draws and $B$ are fixed without looking at
# these data; that a choice by utility on the data is itself a release and needs a share of the budget (for
# example by the exponential mechanism over a few values of $B$); that last year's *released* table may be
# used freely, and last year's confidential data only within their budget, the more so as records
# persist; that all three may be published, seed included, since the guarantee does not rest on their
# secrecy, while the choice of the draw and the table must stay random; and it names a cost of a wrong
# choice in each direction (no rare cells; too little weight for each record).

# %% [markdown]
# ### To go on
#
# - Run the notebook with `gamma: 20`. What happens to the lower bounds that an audit proves for $P$?
# - Limit the log ratios around those of last year's released table instead of 0. How much smaller may $B$ be?
# - C6 calls some data sets likely. Who decides, and may the decision depend on the data?
#
# ## References
#
# - Dimitrakakis, C., Nelson, B., Mitrokotsa, A. and Rubinstein, B. I. P. (2014). Robust and private Bayesian
#   inference. *Algorithmic Learning Theory*, 291–305.
#   [10.1007/978-3-319-11662-4_21](https://doi.org/10.1007/978-3-319-11662-4_21)
# - Dunson, D. B. and Xing, C. (2009). Nonparametric Bayes modeling of multivariate categorical data.
#   *JASA* 104, 1042–1051. [10.1198/jasa.2009.tm08439](https://doi.org/10.1198/jasa.2009.tm08439)
# - Foulds, J., Geumlek, J., Welling, M. and Chaudhuri, K. (2016). On the theory and practice of
#   privacy-preserving Bayesian data analysis. *UAI*.
#   [10.48550/arXiv.1603.07294](https://doi.org/10.48550/arXiv.1603.07294)
# - Machanavajjhala, A., Kifer, D., Abowd, J., Gehrke, J. and Vilhuber, L. (2008). Privacy: theory meets
#   practice on the map. *ICDE*, 277–286. [10.1109/ICDE.2008.4497436](https://doi.org/10.1109/ICDE.2008.4497436)
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk measures: an
#   investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - McKenna, R. and Sheldon, D. (2020). Permute-and-flip: a new mechanism for differentially private
#   selection. *NeurIPS* 33. [10.48550/arXiv.2010.12603](https://doi.org/10.48550/arXiv.2010.12603)
# - McSherry, F. and Talwar, K. (2007). Mechanism design via differential privacy. *FOCS*, 94–103.
#   [10.1109/FOCS.2007.66](https://doi.org/10.1109/FOCS.2007.66)
# - Savitsky, T. D., Williams, M. R. and Hu, J. (2022). Bayesian pseudo posterior mechanism under asymptotic
#   differential privacy. *JMLR* 23. [10.48550/arXiv.1909.11796](https://doi.org/10.48550/arXiv.1909.11796)
# - Snoke, J. and Slavković, A. (2018). pMSE mechanism: differentially private synthetic data with maximal
#   distributional similarity. *Privacy in Statistical Databases*, 138–159.
#   [10.48550/arXiv.1805.09392](https://doi.org/10.48550/arXiv.1805.09392)
# - Wang, Y.-X., Fienberg, S. E. and Smola, A. (2015). Privacy for free: posterior sampling and stochastic
#   gradient Monte Carlo. *ICML*, 2493–2502. [10.48550/arXiv.1502.07645](https://doi.org/10.48550/arXiv.1502.07645)
