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
# # A posterior risk comes true where prior and generator are the real ones; an intruder with another generator may be sure and wrong
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# Hu, Reiter and Wang, and others, measure disclosure risk by a posterior probability: what an intruder who
# knows the other records and sees the release gives to the true value of the last record. May an agency read .2 as
# "of the records that get .2, one in five is found"? A probability that keeps this promise is called
# *calibrated* (Dawid 1982). Whether a risk does can be tried out: draw the truth, draw a release, ask the
# intruder, and count.
#
# | claim | |
# |---|---|
# | **C1** | Of the candidates that get probability p, a share p is true, if the truth is drawn from the prior and the generator is known. |
# | **C2** | This is so as well for candidates that surround the truth. |
# | **C3** | The risks that this library computes are calibrated, exact ones and those by chains. |
# | **C4** | The mean probability of the truth is the share of records that are found. |
# | **C5** | With the model's own prediction as prior, beliefs about records of a population are calibrated. |
# | **C6** | An intruder with a wrong model for the generator claims more than is found. |
# | **C7** | The largest privacy loss over many releases bounds that of further ones. |
# | **C8** | A record whose expected risk is below one half has a small delta. |
# | **C9** | The risk after one release is about the risk after any other. |
# | **C10** | Drawing releases again until a rule is met lowers the risk. |
#
# The paper takes candidates as in C2. Verdicts are computed from this run and stand where they are decided.
#
# **You will learn** to prove and to test calibration; to see why candidates must be fixed before the truth
# is drawn; to read a mean risk as bounds for the share that is found; to judge an intruder by the log
# score; to tell a wrong prior from a wrong generator; to read epsilon, delta and risk out of one random
# variable, and to know what noise does to them. Reading and running take an hour, the exercises another hour
# and a half.

# %% [markdown]
# ## Parameters
#
# Records come from the embedded population. `params/calibration/published.yaml` takes more and larger data
# sets.

# %% tags=["parameters"]
n_records: int = 200  # [30, inf) records of a data set from which some are drawn anew
n_sets: int = 14  # [5, inf) such data sets
n_targets: int = 20  # [2, inf) records drawn anew and sought in each
min_leaf: int = 5  # [1, 100000] records that a leaf of the trees has at least
n_few: int = 60  # [20, inf) records of a data set where some of the others are not known
n_sets_few: int = 6  # [5, inf) such data sets
n_unknown: int = 6  # [2, 100] records that are not known in each
n_every: int = 400  # [20, inf) records of a data set in which everybody is sought
n_sets_model: int = 12  # [5, inf) such data sets that are drawn from the mixture's prior
n_sets_population: int = 12  # [5, inf) such data sets from the population
shares: list[float] = [1.0, 0.5, 0.0]  # [0, 1] shares of the other records known there
unknown: list[str] = ["WKL", "DIS", "HICOV", "MIG"]  # variables that are sought there
n_classes: int = 10  # [1, 1000] latent classes of the mixture, F
burn_in: int = 300  # [0, inf) iterations dropped from each chain
n_draws: int = 40  # [10, inf) draws kept from each chain
seed: int = 1982  # [0, inf) one seed for all streams of chance
n_at_risk: int = 30  # [2, 1000] records whose privacy losses are computed
n_losses: int = 50  # [20, 1000] releases by trees over which they are
n_by_chains: int = 20  # [20, 1000] releases by the mixture, each with chains of its own
limits: list[float] = [1.5, 2.0, 3.0, 5.0]  # (1, inf) factors of the odds that are rejected
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from functools import partial

import numpy as np
import pandas as pd

import srlib
from srlib import charts, dpmpm
from srlib.data.acs import ACS, embedded_population
from srlib.data.schema import Schema
from srlib.display import callout, numbers, percent, show
from srlib.papers import calibration as study
from srlib.papers import calibration_losses as losses
from srlib.papers import claims
from srlib.risk import privacy_losses
from srlib.rng import stream
from srlib.runner.outputs import Outputs
from srlib.trees import Growth, Scans, SequentialTrees

# %%
outputs = Outputs(output_dir)
sections = {"C1": "All cases of small tables", "C2": "Candidates that surround the truth"}
sections |= {"C3": "Drawn again and again", "C4": "What a mean risk says"}
sections |= {"C5": "Records of a population", "C6": "A wrong model for the generator"}
sections |= dict.fromkeys(["C7", "C8"], "Privacy loss, record by record")
sections |= {"C9": "Before a release", "C10": "Drawing again until a rule is met"}
verdicts = claims.Claims(sections)

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
# Of those who get .25, one in four is sick. The probability and the share are the same fraction, since both
# count the same people. An intruder who takes half of all people to be sick would claim more after a yes,
# and be right for .25. One who believes that answers are never reversed would claim 1.

# %% [markdown]
# ### Try it: answers that say nothing
#
# Predict first: if answers are reversed with probability 1/2, how probable is it that somebody who is said to be
# sick is sick (`after_a_yes`)? Then count people as in the table.

# %% tags=["solution"]
after_a_yes = 50 / (50 + 450)
assert after_a_yes == 0.1

# %% [markdown]
# ### Exercise 1: a wrong prior (pencil)
#
# In the example by hand an intruder takes half of the 1,000 people to be sick. Which probabilities
# (`claimed_yes`, `claimed_no`) does this intruder claim after a yes and after a no, and what is the mean
# log score's gain over the intruder's own prior (`gain`, natural logarithms, three decimal places)?

# %% [markdown] tags=["hint"]
# The generator is known, so that only the prior changes: use Bayes' rule with one half for both.

# %% [markdown] tags=["hint"]
# Weight the four groups of the table by their numbers of people. The gain of each is the log of the claimed
# probability of its truth over one half.

# %% tags=["solution"]
claimed_yes, claimed_no = 0.75, 0.25
gain = sum(
    people_so * np.log(belief / 0.5) / 1000
    for people_so, belief in [(75, 0.75), (225, 0.25), (25, 0.25), (675, 0.75)]
)
assert claimed_yes == 0.75
assert claimed_no == 0.25
assert round(gain, 3) == 0.131

# %% [markdown] tags=["solution"]
# Those who answer yes and are sick (75) or no and are well (675) get probability .75 for the truth, the other
# 250 get .25: $.75 \log 1.5 + .25 \log .5 = .131$. The release helps this intruder on average, because the
# generator is known. Calibration is lost all the same: .75 after a yes is right for one in four.

# %% [markdown]
# ## All cases of small tables
#
# In general the truth $X$ is drawn from a prior $\pi$ over a support that was fixed before, and the release
# from the generator, $p(Z \mid X, D_{-i})$. The intruder knows $D_{-i}$, $\pi$ and the generator. Then the belief
# $q_Z(x) \propto \pi(x)\, p(Z \mid x, D_{-i})$ is the conditional probability $P(X = x \mid Z, D_{-i})$. Therefore, of
# all pairs of a release and a candidate with $q_Z(x) = p$, a share $p$ is true, and
#
# $$\mathrm{E} \log \frac{q_Z(X)}{\pi(X)} = \mathrm{E} \sum_x q_Z(x) \log \frac{q_Z(x)}{\pi(x)} .$$
#
# The left side is achieved: the mean log score over the prior's. The right side is claimed: the mean
# Kullback–Leibler divergence of belief from prior. Nothing is asked of $D_{-i}$, of the kind of generator, or
# of the number of releases. The next cell enumerates all data sets, releases and truths for six small
# synthesizers.

# %% tags=["public"]
families = outputs.table("families", study.of_families(study.families()), public=True)
shown = families.rename(
    columns={"risk": "mean probability of the truth", "bound": "its square root"}
)
caption = "Mean probability of the truth and share found, by enumeration."
display(show(shown.drop(columns="difference"), caption=caption))
verdicts.say("C1", study.shares_are_right(families))

# %% [markdown]
# ## Candidates that surround the truth
#
# In the paper the candidates are the true record and all that differ from it in one variable. Such a
# support is not fixed before the truth is drawn: it is built around it. Take two yes/no answers, each
# released as it is with probability 3/4. The four records are equally probable, and the intruder has a
# uniform prior over the three candidates around the truth.

# %% tags=["public"]
small = study.two_answers(0.75)
around = outputs.table("around_the_truth", small["around the truth"], public=True)
caption = "What is claimed and what is found, if the candidates surround the truth."
display(show(around.rename(columns={"candidates": "candidates, expected"}), caption=caption))
verdicts.say("C2", study.around_the_truth(around))

# %% [markdown]
# Each number that is claimed
# is either always right or always wrong. The list of candidates gives the truth away, as its center,
# and an intruder who calculates with a uniform prior ignores this.
#
# The candidates may surround a record that the intruder *has*, such as an old copy with at most one wrong
# value. If all of them are equally probable truths, the beliefs are calibrated:

# %% tags=["public"]
copies = small["around a copy"]
off = (copies["claimed"] - copies["found"]).abs().max()
callout("Around a copy", f"Claimed and found differ by {numbers([off], 1)[0]} at most.")

# %% [markdown]
# So the paper's numbers are likelihood ratios in the form of probabilities. They say how far a release
# separates the truth from its neighbors, and the same ratios serve any prior. As probabilities they hold for
# records drawn from a fixed support, and not for the records as they are. A support of all values of the
# variables that the intruder lacks (the paper's equation 16) is fixed by what the intruder knows. There only
# the prior can be wrong.
#
# ## Drawn again and again
#
# Larger tables are drawn. In each data set from the population some records are replaced by draws from their
# neighborhoods. Each of these targets is sought by an intruder who knows all other
# records, the other targets' new values among them. Since the draws are independent, the prior of each
# target is uniform whatever the others are, so that many targets in one data set are exact. They share a
# release, and all errors are therefore computed between data sets.

# %%
chains = dpmpm.Chains(n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=8, n_chains=4)
assumed = study.Assumed(ACS, min_leaf, chains)


def people(n: int):
    return lambda rng: embedded_population(n, rng=rng).codes


known = study.known_generator(
    people(n_records), assumed, n_sets, min(n_targets, n_records), rng=stream(seed, "known")
)

# %% [markdown]
# `known` has what several intruders believe of releases by trees (Reiter 2005; [sequential_trees](sequential_trees.ipynb))
# and by the mixture ([hu_reiter_wang](hu_reiter_wang.ipynb)); here those count who know the generator. For trees the likelihood is exact. For the
# mixture it comes from many short chains, and their Monte Carlo error is part of what is tested.
#
# An intruder may know fewer records. In small data sets several targets are drawn, and whoever seeks one
# does not know the values of the others. Chains over whole tables average over these.

# %%
names = ["AGEP", "SCHL", "MAR", "WKL"]
places = ACS.positions(names, "names")
few = SequentialTrees(Schema(tuple(ACS.variables[k] for k in places)), growth=Growth(min_leaf))
some = study.some_unknown(
    lambda rng: people(n_few)(rng)[:, places], few, n_sets_few, min(n_unknown, n_few),
    Scans(burn_in=40, n_draws=80), rng=stream(seed, "some unknown"),
)  # fmt: skip

# %% [markdown]
# Finally, data drawn from the mixture itself: parameters from their prior, then records, none replaced. The
# intruder lacks three variables of a record, all of whose values are candidates,
# and has the model's own prediction from the known records as prior. Everybody is sought, by intruders who
# know all others, half of them or none.

# %%
levels = np.array([2, 3, 4, 2, 3, 2, 3])
of_model = dpmpm.Chains(
    n_classes=5, burn_in=burn_in, n_draws=n_draws, thin=5, prior=dpmpm.Prior(2.0, 1.0)
)
model = study.own_prior(
    lambda rng: study.draw_from_prior(n_every, levels, 5, of_model.prior, rng=rng), levels,
    [4, 5, 6], shares, n_sets_model, of_model, rng=stream(seed, "model"),
)  # fmt: skip

# %% tags=["monte-carlo"]
right = {("trees", "all others"): known["trees", "trees"]}
right |= {("mixture", "all others"): known["mixture", "mixture"]}
right |= {("trees, small data sets", f"{k}"): some[k] for k in some}
right |= {("mixture, own prior", f"{percent(k)} of the others"): model[k] for k in model}
calibrated = study.scores(right, ["generator", "knows"], rng=stream(seed, "ranks"))
columns = study.COLUMNS | {"p_value": "ranks, p-value"}
shown = outputs.table("calibrated", calibrated)[["generator", "knows", *columns]]
caption = "What intruders claim and what they find, where prior and generator are right."
show(shown.rename(columns=columns), caption=caption)

# %% [markdown]
# *Found* is the share of
# targets whose most probable candidate is true, and *claimed* its mean probability, the
# sharpness of the beliefs (Gneiting and others 2007). *Gain* is the mean log of
# the truth's posterior over its prior probability, and *gain claimed* the mean Kullback–Leibler divergence.
# The errors are those of the differences. The last column tests whether the truth stands in its ranks as often as is claimed: the probability of the
# candidates above the truth is uniform if it does (Neyman 1937).

# %% tags=["monte-carlo"]
drawn = {"trees": known["trees", "trees"], "mixture, own prior": model[shares[0]]}
drawn |= {"mixture, own prior, nobody known": model[shares[-1]]}
display(outputs.figure("reliability", charts.reliability(study.curves(drawn))))
verdicts.say("C3", study.calibrated(calibrated, ["generator", "knows"]))

# %% [markdown]
# **Beliefs that keep their promise lie on the dotted line.** Share of candidates that are true, by the
# probability that they got, with 95 % intervals. All
# candidates of all targets count, and the dotted line is what calibrated beliefs give.
#
# The targets are not people as they are: a value drawn at random may be unusual. For records as they are,
# with candidates around them, the paper's mean probability of the truth is another one:

# %%
paper = study.as_they_are(
    people(n_records), assumed.densities["trees"], n_sets, min(n_targets, n_records),
    rng=stream(seed, "as they are"),
)  # fmt: skip
both = {("drawn",): known["trees", "trees"], ("as they are",): paper}
both = outputs.table("as_they_are", study.scores(both, ["records"], rng=stream(seed, "both")))
titles = study.COLUMNS | {"risk": "mean probability of the truth"}
caption = (
    "Releases by trees: records drawn from fixed candidates, and as they are inside candidates."
)
show(both[["records", "risk", *list(study.COLUMNS)[:3]]].rename(columns=titles), caption=caption)

# %% [markdown]
# What is claimed in the second row is not the probability of anything that was drawn (C2), and need not
# be found. What is found is the share of records for which the best guess of the paper's intruder is right.
#
# A test like this finds errors of the code (Cook, Gelman and Rubin 2006; Talts and others 2018) as far as its
# intervals are narrow. Chains that are too short show as well: a belief with Monte Carlo noise claims more
# than it achieves.

# %% [markdown]
# ### Exercise 2: which sentence does the table not support?
#
# Of a release by trees a report says: (a) "targets whose best guess had probability .9 were found in nine of
# ten cases"; (b) "of the people in our file, those with a risk of .9 are found in nine of ten cases"; (c)
# "the intruder's beliefs gain as much as they claim". Its experiment replaces records by draws from their
# neighborhoods. Which is not supported (`unsupported`)?

# %% [markdown] tags=["hint"]
# For each sentence ask what was drawn from the prior.

# %% [markdown] tags=["hint"]
# The targets were drawn from neighborhoods; the people in the file were not.

# %% tags=["solution"]
unsupported = "b"
assert unsupported == "b"

# %% [markdown] tags=["solution"]
# The people in the file were not drawn from the intruder's prior. For them the risk is computed with
# candidates around the truth, and the share found depends on how probable their values and those of the
# candidates were to begin with.

# %% [markdown]
# ### Exercise 3: noise claims too much
#
# A calibrated belief over two candidates gives .5 to each. An estimate of it has noise: log odds from a
# normal distribution with mean 0 and standard deviation 1. How much more does it claim than it
# gains, on average (`more`, from 100,000 draws, one decimal place)?

# %% [markdown] tags=["hint"]
# With $q$ the noisy belief in one candidate, what is claimed is the mean of $\sum q \log(q / 0.5)$ over both
# candidates.

# %% [markdown] tags=["hint"]
# What is gained is the mean of $\log(q / 0.5)$ of the truth, which is either candidate with probability one half
# whatever $q$ is.

# %% tags=["solution"]
q = 1 / (1 + np.exp(-np.random.default_rng(1).normal(size=100_000)))
claimed = (q * np.log(2 * q) + (1 - q) * np.log(2 * (1 - q))).mean()
achieved = (0.5 * np.log(2 * q) + 0.5 * np.log(2 * (1 - q))).mean()
more = round(claimed - achieved, 1)
assert more == 0.2

# %% [markdown] tags=["solution"]
# The truth is either candidate with probability one half whatever the noise says. To second order the
# difference is the sum over candidates of the belief times the variance of its log: with standard deviation
# $\sigma$ of the log odds $\sigma^2 / 4$. Chains whose errors are reported by `log_mcse` can be held against this.

# %% [markdown]
# ## What a mean risk says
#
# Agencies report the probability of the *truth*, on average over records. Is this the share of records
# that an intruder finds? Let $r = \mathrm{E}\, q_Z(X)$. For calibrated beliefs $r = \mathrm{E} \sum_x q_Z(x)^2$,
# while the share found is $f = \mathrm{E} \max_x q_Z(x)$. From
# $\left(\max_x q\right)^2 \le \sum_x q^2 \le \max_x q$ follows
#
# $$r \le f \le \sqrt{r} .$$
#
# A mean probability of .3 for the truth means that between 30 % and 55 % of the records are found.

# %% tags=["monte-carlo"]
compared = {name: drawn[name] for name in ("trees", "mixture, own prior")}
verdicts.say("C4", study.risk_is_share(families, compared))

# %% [markdown]
# ### Exercise 4: bounds (pencil)
#
# An agency reports that the mean probability of the truth is .16, for calibrated beliefs. Between which shares
# of the records are found (`least`, `most`)? Is the share nearer the upper bound if all beliefs are alike
# or if some are certain and the others empty (`upper`: `"alike"` or `"certain"`)?

# %% [markdown] tags=["hint"]
# Use the inequality above.

# %% [markdown] tags=["hint"]
# For one belief, $\sum q^2 = (\max q)^2$ if one candidate has nearly all of $\sum q^2$. When does the mean over
# records keep this?

# %% tags=["solution"]
least, most = 0.16, 0.4
upper = "alike"
assert round(least, 2) == 0.16
assert round(most, 2) == 0.4
assert upper == "alike"

# %% [markdown] tags=["solution"]
# The upper bound needs $\sum_x q^2 = (\max q)^2$ and the same maximum for all records: one candidate with .4
# and very many that share the rest come near it. If 16 % of the records have a certain belief and the others
# one that is spread over very many candidates, 16 % are found, which is the lower bound.

# %% [markdown]
# ## Records of a population
#
# Real records are not drawn from an intruder's prior. Take them as they are: data sets from the population,
# a release by the mixture, and the intruder's prior is the mixture's own prediction of the unknown
# variables. The generator is known, so the likelihood is right. The prior is a model of the population,
# which owes nothing to latent classes.

# %%
lacks = ACS.positions(unknown, "unknown")
real = study.own_prior(
    people(n_every), ACS.n_levels, lacks, shares, n_sets_population, chains,
    rng=stream(seed, "population"),
)  # fmt: skip

# %% tags=["monte-carlo"]
knows = {(f"{percent(share)} of the others",): beliefs for share, beliefs in real.items()}
of_real = study.scores(knows, ["knows"], rng=stream(seed, "ranks of people"))
shown = outputs.table("population", of_real)[["knows", *columns]].rename(columns=columns)
caption = "Beliefs about records of the population, with the mixture's own prediction as prior."
show(shown, caption=caption)

# %% [markdown]
# Where claimed and found differ, is it the
# prior? The same intruder before the release, and after it with a uniform prior, as in the paper's equation 16:

# %% tags=["monte-carlo"]
knows_most = real[shares[0]]
others = {("before the release",): study.before(knows_most)}
others |= {("after it, uniform prior",): study.with_uniform_prior(knows_most)}
others = study.scores(others, ["belief"], rng=stream(seed, "ranks of priors"))
shown = outputs.table("priors", others)[["belief", *columns]].rename(columns=columns)
show(shown, caption="Beliefs of the intruder who knows most, by prior.")

# %% [markdown]
# What the uniform prior finds and claims differs from
# above by the prior alone: releases and likelihoods are the same.
#
# The model may be wrong for the population, its chains too short, or the records too few to learn it.
# `params/calibration/sweep_population.yaml` tries sizes and longer chains; its table ships with the library:

# %%
origin, by_size = study.swept("population")
display(callout("Note", origin))
caption = "The mixture's own prediction for people, by records and burn-in, from the sweep."
display(show(by_size.rename(columns=study.COLUMNS | {"n_every": "records"}), caption=caption))
verdicts.say("C5", study.calibrated_by_size(pd.concat([by_size, of_real.assign(n_every=n_every)])))

# %% [markdown]
# C5 is decided by these numbers of records and that of this run. It holds where the shares claimed and found are
# apart by less than five percentage points in all rows, by two standard errors, and fails where they are further
# apart in some.
#
# Chains that are five times
# as long change little at 400 records. With more records the probabilities claimed come closer to the shares
# found: .31 and .40 with 100 records for the intruder who knows all others, .43 and .44 with 1,600. With few
# records the prior distribution of the model's parameters, which is uniform within classes, may spread beliefs.
#
# ## A wrong model for the generator
#
# Agencies need not tell how they synthesize. Intruders who then assume something need not be calibrated even
# if the prior is right. The targets are those drawn above. Trees take other settings: leaves
# twice as large, or the variables in reverse order. Trees are also assumed for the mixture, the mixture for
# trees, and independent margins (the mixture with one class) for both.
#
# A release may have probability zero for every candidate under an assumed model. This *refutes* the
# model, and tells nothing else; the belief then stays at the prior. With a little smoothing, a tenth of a
# record in each leaf, nothing is impossible, and the intruder believes something again.

# %% tags=["monte-carlo"]
guessed = study.scores(known, ["generator", "assumed"], rng=stream(seed, "ranks assumed"))
columns = study.COLUMNS | {"refuted": "refuted"}
shown = outputs.table("assumed", guessed)[["generator", "assumed", *columns]]
caption = "What intruders find and claim who assume a generator."
show(shown.rename(columns=columns), caption=caption)

# %% tags=["monte-carlo"]
wrong = guessed[(guessed["generator"] != guessed["assumed"]) & (guessed["refuted"] < 1)]
curves = {f"{b} for {a}": known[a, b] for a, b in study.PICTURED}
display(outputs.figure("wrong", charts.reliability(study.curves(curves))))
verdicts.say("C6", study.wrong_model_overstates(wrong))

# %% [markdown]
# **Below the dotted line more is claimed than found.** Share of candidates that are true where a wrong model is
# assumed (*assumed* for *generator*). A gain below zero says that the intruder would have done better
# without the release.
#
# A model that is sharp and wrong makes intruders sure of values that are mostly wrong, which can harm people as
# well. A coarse model claims little in the first place. An agency that computes risk with its own
# generator measures the intruder who knows it. Secrecy of the settings is no protection to count on, since those
# of common software can be guessed, and beliefs can be tempered ([Exercise 5](#Exercise-5:-temper-the-belief)).

# %% [markdown]
# ### Exercise 5: temper the belief
#
# The intruder who takes smoothed trees in reverse order for the real ones raises the likelihood to a power
# $t < 1$. Compute the mean gain for the powers .003, .01, .03, .1, .3 and 1 over the even
# data sets. Over the odd ones, does the best of them gain more than the full likelihood (`tempering_helps`)?
#
# *You will need:* `known["trees", "reverse order, smoothed"]`; `believe` and `summary` from `srlib.risk.calibration`.

# %% [markdown] tags=["hint"]
# `known` has the beliefs by generator and assumed model: which pair is it? The log likelihood is the log posterior
# less the log prior, up to a constant.

# %% [markdown] tags=["hint"]
# `believe(t * log_likelihood, 0.0, truth, data_set)` makes the tempered beliefs, `.only(even)` takes a part of
# them, and `summary` has their gain.

# %% tags=["solution"]
from srlib.risk.calibration import believe, summary

wrongly = known["trees", "reverse order, smoothed"]
log_likelihood = wrongly.log_posterior - wrongly.log_prior
even = wrongly.data_set % 2 == 0
tempered = {
    t: believe(t * log_likelihood, 0.0, wrongly.truth, wrongly.data_set)
    for t in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
}
gains = {t: summary(beliefs.only(even))["gain"] for t, beliefs in tempered.items()}
best = max(gains, key=gains.get)
told = {t: summary(beliefs.only(~even)) for t, beliefs in tempered.items()}
tempering_helps = told[best]["gain"] > told[1.0]["gain"]
assert tempering_helps

# %% [markdown] tags=["solution"]
# The full likelihood loses many units of log score for each record, and a small power of it loses little or
# gains something; the error of that is in `told`. An intruder cannot choose the power by records whose truth is
# not known, but can by records that are known.

# %% [markdown]
# ### Other sizes
#
# The same experiment at other sizes of file and leaf, by `params/calibration/sweep_size.yaml`; its table ships
# with the library:

# %%
origin, swept = study.swept("size")
display(callout("Note", origin))
caption = "Found and claimed by records and least size of a leaf, from the sweep."
show(study.in_short(swept), caption=caption)

# %% [markdown]
# *Known* is an intruder who knows
# the generator, *other* one who assumes the mixture for trees, or smoothed trees for the mixture. What is found
# of trees depends on the leaf: .85 to .87 with leaves of 5, .53 to .66 with leaves of 20. The intruder who
# assumes trees for the mixture claims .84 to .93 at every size, and finds .02 to .04.
#
# ## Privacy loss, record by record
#
# A likelihood ratio needs no prior, and has other readers. For a release $Z$ of the data $D$, with $D_i^c$
# the data in which record $i$ is changed to $c$, the *privacy loss* is
#
# $$L = \log p(Z \mid D) - \log p(Z \mid D_i^c) .$$
#
# Over releases of $D$ it is a random variable. Its largest absolute value over $Z$, $i$ and $c$ is the
# conditional epsilon of $D$ (Charest and Han). Its tail $\mathrm{E} \max(0, 1 - e^{\epsilon - L})$ is delta,
# its mean an information, and its exponential the factor by which an intruder's odds rise. Added to
# prior log odds it gives the posterior risk, which over the prior is the relative risk of
# McClure and Reiter (2012). Losses of independent releases add. For five people of whom one is sick, and a
# beta-binomial synthesizer, all of this is exact:

# %% tags=["public"]
five, of_releases, of_bins = losses.small_example(5, 1, bins=20)
epsilon = srlib.exact_epsilon(five).value
chart = charts.privacy_loss(of_releases, of_bins, epsilon=epsilon, prior=0.1, relative=True)
outputs.figure("losses_of_counts", chart, public=True)

# %% [markdown]
# **One random variable and what is read out of it.** From above: for each neighbor, with nobody or two sick,
# the probability of each release (by its number of sick) at its loss, and the mean loss as a triangle; the
# posterior probability of the truth, from a prior of .1; this over the prior; delta; the losses if one of 20
# bins of a draw from the posterior of the share is seen, the largest of which is EDP. Dashed: exact epsilon,
# $\log 6$. EDP is larger here, since the share that was drawn tells more than five people who are drawn with it.

# %% [markdown]
# ### Try it: read the figure
#
# One of five people is sick, and somebody gives this a probability of .1. How probable can a release make it at most
# (`at_most`, two decimal places)? Read the answer off the figure first, then compute it from epsilon.

# %% tags=["solution"]
at_most = 1 / (1 + 9 * np.exp(-epsilon))
assert round(at_most, 2) == 0.4

# %% [markdown]
# On records of the population releases are drawn. For trees the loss of each is exact. For the mixture chains
# estimate it for each release, with the settings from above. Candidates are all values of the variables that
# the intruder lacks. Each record is held against each alternative, and against all together with equal
# weights. The latter loss is what its log odds rise by.

# %%
table = embedded_population(n_records, rng=stream(seed, "losses"))
at_risk = stream(seed, "at risk").permutation(n_records)[:n_at_risk]
losses_of = partial(privacy_losses, table, unknown=unknown, rows=at_risk)
growths = {"trees": Growth(min_leaf), "trees, smoothed": Growth(min_leaf, smoothing=1.0)}
single = {
    name: losses_of(
        srlib.fit_trees(table, growth=growth), n_losses, rng=stream(seed, f"losses, {name}")
    )
    for name, growth in growths.items()
}  # fmt: skip
single["mixture"] = losses_of(
    dpmpm.Mixture(ACS.n_levels, chains), n_by_chains, rng=stream(seed, "losses, mixture")
)
trees, mixture = single["trees"], single["mixture"]

# %% tags=["monte-carlo"]
by_setting = outputs.table("losses", losses.by_setting(single, 1.0))
caption = "Privacy losses: medians over records, and the share of all losses that are infinite."
show(by_setting.rename(columns=losses.COLUMNS), caption=caption)

# %% [markdown]
# *Largest*
# is the largest absolute loss *as far as seen*. Delta is that of the alternative for which it is largest, at
# $\epsilon = 1$, with its error and an upper 95 % limit. *Risk* is the mean posterior probability of the truth
# over releases, from one half against a single alternative, and from equal shares for all candidates against
# all. Smoothed trees have one record more in each leaf, spread over the values.
#
# What does the error of the chains do to the mixture's rows? A largest estimate is largest partly by error.
# *Crossed* seeks the place of the largest loss by one half of the chains and reads it from the other. It is
# too small on average, and *largest* too large:

# %% tags=["monte-carlo"]
by_chains = outputs.table("losses_by_chains", losses.of_chains(mixture, 1.0))
caption = "Losses of the mixture, by all chains, by half of them and crossed; medians over records."
display(show(by_chains.rename(columns=losses.COLUMNS), caption=caption))
_ = outputs.table("chains", mixture.columns.convergence)
display(callout("Chains", losses.said_of_chains(mixture)))
prior = 1 / (trees.losses.shape[2] + 1)
halves = losses.half_by_half(mixture.against_all(), prior)
axes = ("Posterior of the truth, half of the chains", "The other half")
outputs.figure("half_by_half", charts.agreement(halves, *axes))

# %% [markdown]
# **Where two halves of the chains agree, points lie on the line.** Posterior probabilities of the records after
# each release of the mixture, by one half of its chains and by the other. Points that are off the line together share the chains given the data. The table has medians over
# records.
#
# All readings in one figure:

# %% tags=["monte-carlo"]
pictured = {name: single[name].against_all() for name in ("trees", "mixture")}
shown = losses.of_records(pictured, prior, 6)
display(outputs.figure("losses_of_records", charts.record_losses(shown, prior=prior)))
verdicts.say("C7", losses.seen_is_bound(trees.against_all()))

# %% [markdown]
# **Losses of six records against all their alternatives together, by trees and by the mixture.** Records stand by
# the rank of their expected risk by trees. A tick is a release and a triangle the mean of the finite losses; the number of
# infinite ones stands at the right. Below, posterior and relative risk at these means, and delta by epsilon, a
# line a record.
#
# Epsilon and delta ask for the alternative that is told apart best, and risk asks which alternatives are left:

# %% tags=["monte-carlo"]
verdicts.say("C8", losses.small_risk_small_delta(trees, 1.0))

# %% [markdown]
# Several releases, by adding losses of sets of those above:

# %% tags=["monte-carlo"]
several = {name: single[name] for name in pictured}
several = losses.composed(several, [1, 2, 5, 10], 1.0, rng=stream(seed, "sets of releases"))
caption = "Losses against all alternatives together by number of releases; medians over records."
show(outputs.table("composed", several).rename(columns=losses.COLUMNS), caption=caption)

# %% [markdown]
# ### Exercise 6: three releases (pencil)
#
# A release says of a record's value only yes or no: yes with probability 2/3 if it is true and 1/3 if not.
# Three independent releases say yes. What is the privacy loss of the three (`loss`, natural logarithm, two
# decimal places), and the posterior probability from a prior of .1 (`posterior`, two decimal places)? Which
# epsilon have the three releases together (`needed`, two decimal places)?

# %% [markdown] tags=["hint"]
# The losses of independent releases add.

# %% [markdown] tags=["hint"]
# A yes has the log ratio $\log 2$. Three of them multiply the odds of 1/9 by 8.

# %% tags=["solution"]
loss = 3 * np.log(2)
posterior = 0.1 * 8 / (0.1 * 8 + 0.9)
needed = 3 * np.log(2)
assert round(loss, 2) == 2.08
assert round(posterior, 2) == 0.47
assert round(needed, 2) == 2.08

# %% [markdown] tags=["solution"]
# The losses add to $3 \log 2$, odds of 1/9 rise by a factor of 8, and 8/17 is .47. Three times no has the
# loss $-3 \log 2$, and anything else a smaller one in absolute value. The worst case was seen here, which
# nobody can tell from releases alone.

# %% [markdown]
# All these are numbers of one data set ("per instance", Wang 2019) and of releases that were drawn ("ex
# post"). They depend on the confidential data and are confidential themselves. Other data may have larger
# losses. Differential privacy bounds the losses of all data and releases; nothing here does.
#
# ## Before a release
#
# The same column, read over the releases that could be drawn, is `srlib.risk_before_release(table, trees, n_releases=1, n_draws=50, unknown=..., rng=...)`. Here it
# takes the releases from above:

# %% tags=["monte-carlo"]
before = {name: single[name].before_release() for name in pictured}
for name, each in before.items():
    display(callout(f"By {name}", each.summary()))
over = outputs.table("before", losses.over_records(before)).replace(
    {"above": "share above one half"}
)
caption = "Risks of a publication, over the records that are sought."
display(show(over.rename(columns=losses.COLUMNS), caption=caption))
records = before["trees"].to_frame().nlargest(5, "expected")
columns = [*unknown, "expected", "expected_mcse", "worst", "worst_mcse"]
show(
    records[columns].rename(columns=losses.COLUMNS),
    caption="The five records most at risk by trees.",
)

# %% [markdown]
# The first table has the largest risk, the mean gain, in nats, and the share above one half. *Worst* is what 95 % of the publications do not exceed.

# %% tags=["monte-carlo"]
verdicts.say("C9", losses.like_the_next(before["trees"]))

# %% [markdown]
# An agency that assesses its release sees one column of the table. Who is exposed next time, and
# whether this time was lucky, it does not see.
#
# ## Drawing again until a rule is met
#
# A high risk tempts an agency to draw again. What is then published comes from another mechanism: the first
# one, conditioned on being accepted. Acceptance is decided with the confidential data. What would be
# rejected under a neighbor is impossible there, and its loss is infinite. Three of 20 people are sick; a
# release is rejected if anybody's odds rise by more than a factor:

# %% tags=["public"]
twenty = srlib.beta_binomial(20, 20, alpha=1.0)
again = outputs.table("again", losses.drawn_again(twenty, 3, limits, prior=0.5), public=True)
caption = "Probability that a sick person is sick, by the factor that is tolerated; all exact."
display(show(again.rename(columns=losses.COLUMNS), caption=caption))
verdicts.say("C10", losses.lowers_risk(twenty, limits, prior=0.5))

# %% [markdown]
# The prior is one half. *First* is the expected posterior probability of the first release. *Shown* is what the agency computes for the accepted one,
# as if it had been the first. *Known* is the probability for an intruder who knows the rule and reads the
# right table. *Certain* is the chance that the value is then certain: with a healthy person instead, the
# release would have been rejected. What the agency computes hardly changes on average: what it rejects raises
# the odds of some people and lowers those of others. A rule that does not look at the data, such as a bound
# for all data, tells nothing.

# %% [markdown]
# ### Exercise 7: reject and tell (pencil)
#
# A release is a, b or c, with probabilities .5, .3, .2 if a person is well and .1, .3, .6 if sick. The agency
# rejects what raises anybody's odds by more than 2.5, and draws again. The person is sick. With which
# probability is the published release a (`share`), and what does an intruder who knows the rule then believe
# from a prior of one half (`belief`)? Which epsilon had the first mechanism (`first`, two decimal places)?

# %% [markdown] tags=["hint"]
# Which releases raise the odds of being sick, or of being well, by more than 2.5?

# %% [markdown] tags=["hint"]
# If sick, c is rejected; if well, a is. Divide the probabilities of what is left by their sum.

# %% tags=["solution"]
share, belief, first = 0.1 / 0.4, 1.0, np.log(5)
assert round(share, 2) == 0.25
assert round(belief, 2) == 1
assert round(first, 2) == 1.61

# %% [markdown] tags=["solution"]
# If sick, c is rejected (.6 is three times .2), and a has .1 of the .4 that are left. If well, a is rejected
# (five times as probable), so that a can only come from a sick person. It had been the best evidence for
# being well: a loss of $-\log 5$ became an infinite one.

# %% [markdown]
# ## What holds in these experiments

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# **Limits of this run.** Targets are drawn uniformly from neighborhoods, which makes some unlike real people. Tests of calibration find what is off on average over records:
# beliefs that are too high for some kind of record and too low for another can pass. The chains are short. A
# wrong model was judged for a few alternatives, and for intruders who believe it entirely.

# %% [markdown]
# ## To close

# %% [markdown]
# ### Open question: a risk for people as they are
#
# How would you make a posterior risk that is calibrated for the people in a file, and not for records that
# are drawn? What would you need to know about the population, and how would you test the result?

# %% [markdown] tags=["solution"]
# A good answer needs a support that the intruder knows beforehand (variables that are lacking, or a register)
# and a prior that is calibrated for the population before the release, such as one estimated from people who
# are held out; it tests both before and after the release on people who are held out, within kinds of
# records and not only on average, with errors between data sets; and it says that a uniform prior is a
# convention, whose numbers compare releases and promise no shares.

# %% [markdown]
# ## References
#
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of Privacy
#   and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Cook, S. R., Gelman, A. and Rubin, D. B. (2006). [Validation of software for Bayesian models using
#   posterior quantiles](https://doi.org/10.1198/106186006X136976). *Journal of Computational and Graphical
#   Statistics* 15, 675–692.
# - Dawid, A. P. (1982). [The well-calibrated Bayesian](https://doi.org/10.1080/01621459.1982.10477856).
#   *Journal of the American Statistical Association* 77, 605–610.
# - Gneiting, T., Balabdaoui, F. and Raftery, A. E. (2007). [Probabilistic forecasts, calibration and
#   sharpness](https://doi.org/10.1111/j.1467-9868.2007.00587.x). *Journal of the Royal Statistical Society B*
#   69, 243–268.
# - Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions with small expected number of
#   positive counts estimated from survey data. *Survey Methodology* 24, 193–201.
# - Neyman, J. (1937). ["Smooth test" for goodness of fit](https://doi.org/10.1080/03461238.1937.10404821).
#   *Skandinavisk Aktuarietidskrift* 20, 149–199.
# - Reiter, J. P. (2005). Using CART to generate partially synthetic, public use microdata. *Journal of
#   Official Statistics* 21, 441–462.
# - Talts, S., Betancourt, M., Simpson, D., Vehtari, A. and Gelman, A. (2018). [Validating Bayesian inference
#   algorithms with simulation-based calibration](https://doi.org/10.48550/arXiv.1804.06788).
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk measures: an
#   investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Wang, Y.-X. (2019). Per-instance differential privacy. *Journal of Privacy and Confidentiality* 9(1).
#   <https://doi.org/10.29012/jpc.662>
