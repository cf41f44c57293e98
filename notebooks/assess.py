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
# # Before synthetic data go out: what they give away, and what they are good for
#
# This report compares released tables with the original that they were made from, whatever tool made
# them. It is for the person who decides on a release. The verdict comes first, then the records to look
# at, then the measures behind the verdict, each with what it means and what it does not mean.
#
# Synthetic data that are worth anything tell something about the people in the original, because they
# tell something about everybody. Each risk is therefore compared with an answer to one question: **does
# the release tell more about these people than other people's records would?** What a fresh sample of
# the same population would give away is knowledge of the population. Whatever goes beyond that comes
# from somebody's record.

# %% [markdown]
# ## Parameters
#
# `srlib assess ORIGINAL RELEASED [RELEASED ...]` sets the first ones. Without files the report
# assesses an example.

# %% tags=["parameters"]
original: str = ""  # file of the original records; empty: an example
released: list[str] = []  # files, each judged by itself, or folders of files, each of one tool
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
holdout: str = ""  # file of people who are not in the original; empty: none
keys: list[str] = []  # variables that the intruder knows; empty: all but the target
more_keys: list[list[str]] = []  # other sets of keys, to be compared with the first
target: str = ""  # variable that the intruder wants to know; empty: the last that is no key
tolerance: float = 0.0  # [0, inf) distance up to which a numeric target is told; 0: none
by: str = ""  # variable whose levels are told of apart; empty: none
rules: str = ""  # YAML file of limits that each release is held to; empty: none
same_generator: bool = False  # the released files are draws of one generator, and are averaged
missing: str = "level"  # {level, drop, error} missing values of variables without a rule
ignore_columns: bool = False  # leave out columns that the schema does not declare
quick: bool = False  # leave out the intruder who knows all others, which takes most of the time
n_classes: int = 30  # [1, 1000] latent classes of that intruder's model, F
n_draws: int = 250  # [4, inf) draws kept from each chain; fewer of large files by size
n_chains: int = 8  # [2, 1000] chains for the original, and with each release joined
most_iterations: int = 0  # [0, inf) iterations of a chain in the last round; 0: by size
seed: int = 2026  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown

from srlib import assessment, charts, diagnostics
from srlib import risk as disclosure
from srlib.assessment import (
    groups,
    held_out,
    in_words,
    side_by_side,
    verdict,
)  # fmt: skip
from srlib.assessment.tables import together
from srlib.data import distinct
from srlib.display import callout, show
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)

# %%
if original or released:
    submission = assessment.submit(
        original, released, [keys, *more_keys], target, schema=schema, holdout=holdout,
        tolerance=tolerance, same_generator=same_generator, missing=missing,
        ignore_columns=ignore_columns, quick=quick, rules=rules, by=by,
    )  # fmt: skip
else:
    chance = stream(seed, "records")
    submission = assessment.example(500, keys, target, more_keys, by=by, rng=chance)
levels, records = submission.schema.n_levels, submission.original
names = np.array(submission.schema.names)

# %% tags=["monte-carlo"]
of_chains = {"n_classes": n_classes, "n_draws": n_draws, "n_chains": n_chains}
rounds = assessment.affordable_rounds(submission, **of_chains)
if most_iterations or not original:
    rounds = disclosure.rounds(most_iterations or 2000, **of_chains)
quick = quick or not rounds
chances = partial(stream, seed)  # a source of chance for each purpose, by its name
draws = None
if not (quick and original):
    draws = assessment.model_draws(
        submission, records, rounds, rng=chances("original"), label="original"
    )
if not original:
    submission = assessment.with_releases(submission, draws, rng=chances("example"))
found = assessment.assess_submission(submission, None if quick else rounds, chances, draws)
for name, number in found.results().items():
    outputs.result(name, number)

# %% [markdown]
# ## Verdict

# %% tags=["monte-carlo"]
outputs.table("verdict", found.to_frame())
for judgment in found.judgments:
    display(verdict.card(judgment, original or "the example's original"))
lines = found.to_frame().query("topic in ['copies', 'identity', 'attributes']")
pictured = lines.assign(
    panel=lines["release"], label=lines["topic"], mean=lines["value"],
    se=(lines["high"] - lines["low"]) / 4,
)  # fmt: skip
outputs.figure("verdict", charts.against_baseline(pictured, "Share"))

# %% [markdown]
# **Risks beside what other people's records would give.** Points are the release's shares, with their
# 95 % intervals; ticks are the baselines of the tables above. *Copies*: released records that repeat an original one.
# *Identity*: people alone with their keys who meet a released record with the same keys.
# *Attributes*: people whose target the release tells correctly. *Loss*, in the tables: the largest distance from
# the original beyond a fresh sample's.
#
# ### In words
#
# A range in brackets is a 95 % interval.

# %% tags=["monte-carlo"]
display(Markdown(verdict.markdown(found.judgments)))
broken = pd.DataFrame(found.broken_rules, columns=["release", "topic", "reason"])
outputs.table("broken_rules", broken)
show(broken, caption="Rules of your own that are broken.") if len(broken) else callout(
    "Rules of your own", "none given" if not rules else "all kept"
)

# %% [markdown]
# ### The rules
#
# The first sentence on a release follows from these rules and from nothing else:

# %% tags=["public"]
Markdown(verdict.stated())

# %% [markdown]
# A public version of this report (`srlib report RUN --public`) shows the words below and nothing more of
# somebody's files. They rest on numbers over at least ten records. Releases are numbered, the worst
# first.

# %% tags=["monte-carlo", "public"]
in_public = assessment.in_public(found.judgments, found.findings)
show(outputs.table("in_public", in_public, public=True), caption="All that a public report shows.")

# %% [markdown]
# ### Side by side
#
# Several releases, or folders of them from several tools, share one table. Copies, identity and
# attributes are the verdict's shares beyond their baselines, so that a fresh sample is at 0; the loss is
# the verdict's, for each release (`tables/side_by_side.csv` also has the pMSE ratio and the overlap). An error (±)
# is that of another release by the same tool from the same original. Several releases tell it by their
# spread. Of one release it is the measure's own, as if its records were drawn again from the generator as
# it was fitted; the gain's is that of its chains.

# %% tags=["monte-carlo"]
sides = outputs.table("side_by_side", found.side_by_side())
caption = "Shares beyond the baseline, and losses, ± one error."
display(show(side_by_side.in_words(sides).head(12), caption=caption))
if len(sides) > 1:
    display(outputs.figure("side_by_side", charts.side_by_side(side_by_side.pictured(sides))))

# %% [markdown]
# **In the lower left corner a release tells little and loses little.** The largest of the three risks stands
# against the loss, with two errors to both sides and, for few releases, as many more as Student's t asks.
#
# ## The tables

# %%
if not original:
    display(Markdown(assessment.EXAMPLE))
combinations, counts, _ = distinct(records)
size = {"records": [len(records)], "variables": [len(levels)], "cells": [submission.schema.n_cells]}
size |= {"combinations": [len(counts)], "that occur once": [(counts == 1).sum()]}
display(show(pd.DataFrame(size), caption="The original."))
display(callout("Note", " ".join(submission.notes)))
callout(
    "The intruder",
    f"{len(submission.keys)} of {len(names)} variables are known, the keys: "
    f"{', '.join(names[list(submission.keys)])}. The target, {names[submission.target]}, is wanted.",
)

# %% [markdown]
# ## Records to look at
#
# A release is judged by its most exposed records, not by its mean. The list has combinations of all
# variables, with the lines of the original's file where they stand. First come combinations that are
# alone in the original and occur unchanged in the release, those with the fewest near neighbors first
# (records of both files that differ from it in one variable). Some of these are chance meetings, but
# with no near neighbor hardly any are. Next come people who are alone with their keys in both
# files (repU) and people of whom all released records with their keys tell the true target (DiSCO; Raab and others 2024);
# the columns count the releases. The list is of the release that comes
# first in the verdict, with the first keys and the target; `tables/records.csv` has the rest.
#
# The second list is of an intruder who knows all other records ([below](#What-someone-learns-who-knows-all-the-others)), with the largest posterior probabilities of the whole record. An error
# of 0.1 means that the probability is known to about ten percent; rank 1 means that no candidate is more
# probable.

# %% tags=["confidential", "monte-carlo"]
exposed, first = outputs.table("records", found.records()), found.judgments[0].release
worst = exposed[exposed["release"] == first]
at = ["lines", "copied", "neighbors", "repU", "DiSCO"]
values = [worst.columns[k - len(levels) - 1] for k in (*submission.keys[:4], submission.target)]
caption = f"Combinations of {first} to look at first, by matching."
display(show(together(in_words(worst.head(8), *at, *values, keep=values), values), caption=caption))
if not quick:
    at = ["lines", "probability", "log_mcse", "rank"]
    probable = worst.nlargest(8, "probability")
    caption = f"Combinations that are most probable after {first}."
    probable = together(in_words(probable, *at, *values, keep=values), values)
    display(show(probable, caption=caption))

# %% [markdown]
# ## More than other people's records would tell?
#
# If the release were a fresh sample of the population, the records of both files would be exchangeable.
# What it tells about the people in the original could then be predicted from the original alone.
#
# **Copies.** Take five original records a, a, b, c, d. Three of them are alone with their values. Leave
# out one record at a time: the others repeat it in two cases of five, the a's. A stranger's record
# repeats one of the file with about that probability, one minus the share of records that are alone
# (Good 1953). The first table compares the released records with it.
#
# The second table has a sharper test, of single people. Where both files together hold a combination twice, a random
# division of files of one size puts one record into each half of the time, while a copied record always
# lies so. Combinations with few near neighbors get the most weight, since strangers hardly ever meet
# there. This gives an estimate of the share of the people alone with all their values who were handed
# out. The upper limit weighs people in the same way, assumes that copies are spread over all of them and that nobody was met
# by chance; in dense places, where meetings weigh little, it can lie below the plain share met.
# Near copies, found with blocks of variables left out, are records that were copied except for a few
# values. A rough tool repeats fewer records than strangers would, and copies hide behind that. So the last column
# compares records of about equal probability, judged by pairs of variables: are people in the file found in the release
# more often than its own records? From 3.3 errors on this is a sign of copies and no proof: a tool that garbles some
# records more than others, or suppresses repeats, does the same without a copy.
#
# Copies can also show in the rows, which the third table compares: the same records in another order, or
# values that agree row by row more often than at any other distance between rows. (Both files may be sorted
# or periodic.)

# %% tags=["monte-carlo"]
copies = found.table("copies").drop(columns=["found", "neighbors"])
outputs.table("copies", copies)
shares = ["repeated", "repeated_error", "others", "others_error", "repeated_z"]
single = ["alone", "met", "handed_out", "handed_out_error", "handed_out_z", "at_most"]
single += ["near_z", "itself_z"]
rows = ["same_table", "same_row", "same_row_others", "same_row_z"]
captions = (
    "Released records that repeat an original one, and other people's that would.",
    "People alone with all their values who are in the release, and the share handed out.",
    "Shares of values that agree in rows of the same number, and at other distances.",
)
for at, caption in zip((shares, single, rows), captions, strict=True):
    display(show(in_words(copies, "release", *at), caption=caption))

# %% [markdown] tags=["teaching"]
# ### Exercise 1: what a stranger repeats
#
# In a population one combination has the share 0.4 and ten others have 0.06 each. Five people are sampled.
# With what probability does a sixth repeat one of them (`a_stranger`)? What does Good's estimate, one minus
# the share of the five who are alone, have as its mean (`good`)? And of how many people, sampled in the
# place of five, is `good` exactly the answer to the first question (`exactly_for`)?

# %% [markdown] tags=["hint", "teaching"]
# The sixth person has some combination, and repeats somebody unless none of the five has the same.

# %% tags=["solution", "teaching"]
of_combination = np.array([0.4] + [0.06] * 10)
a_stranger = of_combination @ (1 - (1 - of_combination) ** 5)
good = 1 - of_combination @ (1 - of_combination) ** 4
exactly_for = 4
assert round(a_stranger, 3) == 0.529
assert round(good, 3) == 0.48
assert exactly_for == 4

# %% [markdown] tags=["solution", "teaching"]
# A person is alone if the four others have other combinations. So the share who are alone has the mean
# $\sum p (1 - p)^4$, which is the probability that a fifth person is new after four. Good's estimate is
# unbiased for a file with one record less, and a little too low for the file at hand: too strict a
# baseline, by an amount that vanishes as the file grows.

# %% [markdown]
# **Identity and attributes.** Of the people alone with their keys, how many meet a released record with
# the same keys? And for how many people do all released records with their keys agree on the true target
# (DiSCO)? What other people's records would give does not depend on the release. The first share is
# predicted from how many people are alone in random parts of the original, and of the people held out
# where there are some. The second is that of all others in the file, person by person. The column
# *margins would* is for a release that knows the margins only. The larger of the two is the baseline.
# The last column turns a tail probability into errors of a normal distribution. For identity there are two tests, the number
# met against the one predicted and equal keys against a random division of both files, and the column has the
# larger; it can therefore differ from the difference over its error, in sign as well.
#
# **Other targets.** The verdict is about one target. Here all variables that are no keys are targets in
# turn; where everything else is a key, every variable is. *Of what is left* is the share that the release
# takes of what the baseline leaves to disclose. What it says of people who have the value that most people
# have, anybody would guess. The same goes for people of whom one key alone tells the target: ten or more others share its level,
# and all have the same value. Of several releases the first three targets are shown; `tables/targets.csv` has all.

# %% tags=["monte-carlo"]
named = ["release"] if len(found.findings) > 1 else []
beyond = {name: found.table(name) for name in ("identity", "attributes")}
beyond = outputs.table("beyond", pd.concat(beyond, names=["risk"]).droplevel(1).reset_index())
shown = in_words(beyond.drop(columns="thinned").rename(columns={"value": "share"}))
display(
    show(
        shown,
        caption="People met by their keys, and people whose target is told, beside baselines.",
    )
)
targets = outputs.table("targets", found.table("targets"))
for name, of_one in targets.groupby("release", sort=False):
    display(callout(f"Other targets: {name}", verdict.of_targets(of_one)))
at = [*named, "target", "value", "others", "margins", "z", "rest", "frequent", "one_key", "level"]
highest = targets.groupby("release", sort=False).head(3) if named else targets
show(in_words(highest, *at).rename(columns={"value": "share"}), caption="What is told of targets.")

# %% [markdown]
# **What these tests cannot see.** Where the original repeats people, as households and survey weights
# do, other people's records are expected to repeat more than they do; the verdict is then *Undecided*. A
# generator that is rougher than the population repeats fewer records than strangers would and so hides
# copies, which is why there is an upper limit and the column *beyond itself*. Records with a third or more of their values changed look
# like strangers'. What strangers' records tell as well counts as no leak, even if it is told about the
# right person. And intervals describe records drawn again from the generator as it was fitted; one
# release cannot tell how far another fit would move a number.
#
# ### People held out
#
# Where people of the same population were kept out of the original, nothing has to be predicted. The
# people nearest to a released record are those who agree with it in most variables. If the original's
# people were nearest only by chance, their share among these would be their share of all people, with the
# error of dividing the same people at random (compare Platzer and Reutterer 2021). Any model fitted to
# the original follows its chance features, so an honest release may lie somewhat above. This test has no part in the verdict. It looks
# at one released record at a time, and who is in the data may be told where it sees nothing
# ([sequential_trees, Who is in the data](sequential_trees.ipynb#Who-is-in-the-data)). The example holds out 500 more simulated people.
#
# All shares of people that this report has can be taken of people held out as well, of whom nobody took
# part. What the release says of them is knowledge of the population. The difference, with the error of dividing
# the same people at random, is what it tells of people because they took part. The table is of the release
# that comes first in the verdict. *Copied*: a released record has all values of a person; *copied, alone* and
# *identity*: of people alone with all values, or with their keys, those whom a released record meets; *single*: one
# released record alone has the keys.

# %% tags=["monte-carlo"]
strangers = submission.held_out
if not original:
    strangers = assessment.example(500, keys, target, rng=chances("held out")).original
near = pd.DataFrame() if strangers is None else assessment.nearest(submission, strangers)
outputs.table("nearest", near)
display(callout("Nearest people", verdict.of_nearest(near)))
both = pd.DataFrame() if strangers is None else assessment.participants(submission, strangers)
outputs.table("participants", both)
for name, of_one in both.groupby("release", sort=False) if len(both) else ():
    display(callout(f"In the file and held out: {name}", held_out.in_a_sentence(of_one)))
if len(both):
    caption = f"Shares of people in the file and held out: {first}, with 95 % intervals."
    display(show(held_out.tabulated(both[both["release"] == first]), caption=caption))
    pictured = held_out.pictured(both, "release")
    display(outputs.figure("participants", charts.against_baseline(pictured, "Share of people")))

# %% [markdown]
# **A point to the right of its tick, beyond the error, is disclosure of participants.** Points are shares of
# people in the file, with two standard errors of the difference; ticks are those of people held out.

# %% [markdown]
# ## What the release is good for
#
# There are four comparisons, each with a fresh sample of the same population: the largest of all
# distances of single variables, the largest of pairs of variables, the mean difference of regression
# coefficients, and how well a regression can tell which table a record is from. The loss is what lies
# beyond the fresh sample's value, and 0 where chance explains it: a loss is as rare in fresh samples as
# three errors of a normal number. For the largest of many distances, whose tails are longer than normal
# ones, that takes more than three of the errors below. The verdict is that of the largest loss, and a release
# with any loss is called less useful than a fresh sample.
#
# The second table has customary numbers, explained below, beside those of a fresh sample.
#
# The total variation distance of a margin is the share of records that would have to change their
# values for original and release to agree. Even a perfect release differs by sampling. The baseline
# is for draws from the original's own margin. The third table has averages over all margins.

# %% tags=["monte-carlo"]
losses = outputs.table("losses", found.table("losses"))
caption = "Four distances from the original, beside a fresh sample's, and the loss beyond chance."
display(show(in_words(losses, *named, *losses.columns[:-1]), caption=caption))
customary = outputs.table("customary", found.table("customary"))
caption = "Customary numbers beside a fresh sample's."
display(show(in_words(customary, *named, *customary.columns[:-1]), caption=caption))
margins = outputs.table("margins", found.table("margins"))
pairs = margins["variable_b"] != ""
margins["label"] = margins["variable_a"] + np.where(pairs, " × ", "") + margins["variable_b"]
ways = margins.assign(way=np.where(pairs, "pairs of variables", "single variables"))
by_way = ways.groupby(["release", "way"], sort=False)[["mean", "baseline", "fresh"]].mean()
at = ["way", "mean", "baseline", "fresh"]
caption = "Mean total variation distances of margins."
display(show(in_words(by_way.reset_index(), *named, *at), caption=caption))
over = (margins["mean"] - margins["baseline"]).groupby(margins["label"]).max()
worst = margins[margins["label"].isin(over.nlargest(8).index)].rename(columns={"release": "panel"})
outputs.figure("margins", charts.against_baseline(worst, "Total variation distance"))

# %% [markdown]
# **The eight margins that lie furthest above what sampling gives, in any of the releases.** Points and
# ticks as above. The points of a fresh sample would lie above the ticks, too (last column of the table
# above), so only a part of the distance is a loss.
#
# ### Telling the two apart
#
# If a regression can tell released from original records, so can an analyst's result. pMSE is the
# mean squared distance of its fitted probabilities from the share of released records. Its reference
# is a correct model fitted to the original (Snoke and others 2018): the ratio divides by the value
# expected under it, and the standardized pMSE counts standard deviations from it. A release that also
# carries the uncertainty of its model, or a fresh sample, has an expected ratio of one plus the released
# over the original number of records, as in the table of customary numbers above. A ratio near zero is no
# success: such a release *is* the original.

# %% tags=["monte-carlo"]
outputs.table("pmse", found.table("pmse"))
callout("The regression", assessment.terms(found.findings[first], levels))

# %% [markdown]
# ### The same regression on both
#
# The most frequent value of the target is regressed on the keys, by least squares on indicators, once in
# the original and once in each release. Overlap is the share of the two 95 % intervals that they have
# in common (Karr and others 2006): 1 is the best, 0 means that they touch, negative that they are apart.
# Each release is analyzed as if it were the original. The worst coefficients:

# %% tags=["monte-carlo"]
overlap = outputs.table("overlap", found.table("overlap"))
at = [*named, "term", "original", "original_se", "synthetic", "mean", "baseline", "fresh"]
shown = in_words(overlap.sort_values("mean"), *at).rename(columns={"mean": "overlap"}).head(8)
show(shown, caption="Coefficients whose intervals overlap least.")

# %% [markdown]
# ## What someone learns who knows all the others
#
# The intruder of Hu, Reiter and Wang (2014) knows every record but one, and computes by Bayes' rule
# how probable each value of the missing one is after the release. That takes a model of how the
# releases were made. **Here the model is a Dirichlet process mixture of products of multinomials
# (DPMPM), whatever made the releases in truth.** It is an assumption of this report and has no part in
# the first sentence of the verdict. Where it is wrong, these risks belong to an intruder who believes
# in it. An intruder who knows better may learn more, above all where records were copied.
#
# Its Markov chains run in rounds, each four times as long as the one before, until they agree or the longest have run. It is
# left out where many records would take more than a minute, unless `-p most_iterations 500` asks for it.
#
# *The whole record.* Candidates are the true combination and all that differ from it in one
# variable, equally probable a priori.

# %% tags=["monte-carlo"]
risks = pd.DataFrame() if quick else found.table("risks")
if quick:
    display(callout("Note", "Left out (quick)."))
else:
    pictured, prior = risks.rename(columns={"release": "estimator"}), 1 / risks["support_size"][0]
    display(outputs.figure("posterior", charts.risk_histogram(pictured, prior, ticks=5)))

# %% [markdown]
# **To the right of the prior the release has made the truth more probable, to its left less.** Posterior
# probability of each true combination; the dotted rule is the prior.
#
# *The target alone.* Now the rest of the record is known, and a priori the intruder believes what
# the model predicts from the other records. The gain, posterior over prior of the true target, is what
# the release adds: 1 if nothing.
#
# **Is it the release or the model that makes a gain?** Where the intruder's model is right, prior over
# posterior of the truth averages 1 over the people, because
# $\sum_x p(x \mid Z)\, p(x) / p(x \mid Z) = 1$. An average above 1 says that the model misleads its
# believer, whose large gains are then accidents of a wrong model. An average below 1 says that the release
# tells more than the model can explain. The last column gives the word where the average is 2.58 errors
# from 1. Not refuted does not mean right, and a largest gain says little by
# itself: fresh samples of other people make large ones. The
# second row of each release is an intruder who believes in independent margins instead; these gains are
# exact, by one formula.
#
# *Copies under the model.* Of the original records that are alone with all their values, how many occur
# in the release? The baseline is a release from the DPMPM fitted without the record, which cannot have
# copied it. Real people may repeat each other more than a mixture's records do, and a release may then
# lie above this baseline and copy nobody.

# %% tags=["monte-carlo"]
if not quick:
    gains = outputs.table("target_gains", found.table("gains"))
    at = ["median", "high", "largest", "misled", "inverse", "inverse_error", "belief"]
    caption = "Factors by which a release multiplies the probability of the true target."
    display(show(in_words(gains, *named, "believes_in", *at), caption=caption))
    met = outputs.table("copies_by_model", found.table("copies_by_model"))
    at = [*named, "mean", "baseline", "baseline_sd", "baseline_mcse"]
    caption = "People alone with all their values who are in the release, and under the model."
    met = in_words(met, *at).rename(columns={"mean": "in the release"})
    display(show(met, caption=caption))

# %% [markdown]
# ### Can these numbers be trusted?
#
# They rest on Markov chains, and chains of this model may settle in different places. R-hat of the
# log probabilities of all combinations says whether they agree (at most 1.01). The standard errors
# come from between chains, so they include disagreement among the chains that were run. They cannot
# include places that no chain has found.

# %% tags=["monte-carlo"]
if not quick:
    chains = outputs.table("convergence", found.table("chains"))
    at = [*named, "draws_given", "chains", "draws", "r_hat_median", "r_hat_95", "apart"]
    caption = "Agreement of chains on the log probabilities of all combinations."
    display(show(in_words(chains, *at).head(12), caption=caption))
    summary = diagnostics.summary(found.traces)
    display(diagnostics.verdict(summary))
    caption = "Quantities of the chains on the original."
    display(show(in_words(outputs.table("diagnostics", summary)), caption=caption))
    display(outputs.figure("trace", charts.trace(diagnostics.long_format(found.traces))))

# %% [markdown]
# **Chains that are well mixed look like one band of noise.** These are the chains on the original. Where they
# do not, run longer ones, for instance `-p most_iterations 32000`.
#
# ## Further questions
#
# Most sections below answer a question that a parameter asks.

# %% [markdown] tags=["needs-more_keys"]
# ### Several sets of keys
#
# Nobody knows what an intruder knows. Each set of keys is a guess, and each has two rows: *identity* of
# the people alone with these keys, *attributes* of all. A wider set leaves more people alone, and a narrower
# one is easier to know, so that neither need have the higher risk. The more rows there are, the surer a
# difference has to be. The verdict is about the first set that was named; the table is for the release that
# comes first in it.

# %% tags=["monte-carlo", "needs-more_keys"]
key_sets = outputs.table("key_sets", found.table("key_sets"))
for name, of_one in key_sets.groupby("release", sort=False):
    display(callout(f"Sets of keys: {name}", verdict.of_key_sets(of_one)))
at = ["keys", "risk", "people", "value", "others", "margins", "z", "rest", "level"]
shown = in_words(key_sets[key_sets["release"] == first], *at).rename(columns={"value": "share"})
show(shown, caption=f"Risks by what the intruder knows: {first}.")

# %% [markdown] tags=["needs-tolerance"]
# ### A number within a tolerance
#
# Two incomes may lie in two bins and hardly differ. With a tolerance $\tau$, a person's number $x$ is told
# if there are released records with the person's keys and all their numbers $z_j$ have
# $\max_j |z_j - x| \le \tau$. Every guess between the least and the largest of them is then right within
# $\tau$. That is DiSCO with "near" instead of "equal"; other people's records, margins and errors are as
# above. Tables of magnitudes have such rules ("within $p$ percent", Hundepool et al. 2010), and Giomi et al.
# (2022) count guesses so. The verdict stays on the levels: no tolerance can make it milder. The example has
# simulated wages, which vary by about a quarter: released are other people's records, wages shuffled among
# the people, and wages changed by 50 or so.

# %% tags=["monte-carlo", "needs-tolerance"]
of_numbers = submission
if not original:
    of_numbers = assessment.wages(500, tolerance or 100.0, rng=chances("wages"))
numbers_told = outputs.table("within", assessment.within(of_numbers))
for row in numbers_told.itertuples():
    display(callout(row.release, row.text))
if len(numbers_told):
    shown = in_words(numbers_told.drop(columns="text")).rename(columns={"value": "share"})
    display(show(shown, caption="People whose number is told within the tolerance."))
if of_numbers.uncut and of_numbers.held_out is not None:
    beside = assessment.participants(of_numbers, of_numbers.held_out)
    beside = outputs.table("within_held_out", beside[beside["measure"] == "within"])
    at = ["release", "used", "held_out", "difference", "error", "z"]
    caption = "The same of people in the file and held out."
    display(show(in_words(beside, *at), caption=caption))

# %% [markdown] tags=["needs-by"]
# ### Who carries the risk?
#
# The same risks for the people of each level of one variable (`--by`), of the release that comes first in
# the verdict. A group carries *more* than all others if its share beyond the baseline is larger than
# theirs, beyond the errors of as many comparisons as there are groups. Groups of fewer than 10 people who
# count are shown and not judged. Errors are never less than two people.

# %% tags=["monte-carlo", "needs-by"]
if submission.by is not None:
    of_groups = outputs.table("groups", found.table("groups"))
    of_groups = of_groups[of_groups["release"] == first]
    display(callout(f"By {names[submission.by]}: {first}", groups.in_a_sentence(of_groups)))
    largest = of_groups.sort_values("excess", ascending=False).groupby("risk").head(6).sort_index()
    at = ["risk", "group", "people", "counted", "value", "excess", "excess_error"]
    at += ["difference", "difference_error", "carries"]
    shown = in_words(largest[largest["risk"] != "copies"], *at)
    display(show(shown, caption=f"Risks of each level of {names[submission.by]}: {first}."))
    pictured = largest.assign(baseline=largest["value"] - largest["excess"])
    columns = {"risk": "panel", "group": "label", "value": "mean", "error": "se"}
    chart = charts.against_baseline(pictured.rename(columns=columns), "Share of those counted")
    display(outputs.figure("groups", chart))

# %% [markdown] tags=["needs-by"]
# **Risks of each group beside its baseline.** Points have two standard errors; ticks are the baselines. Of
# more than six groups, the six furthest above the baseline are shown.

# %% [markdown]
# ## For the file
#
# What was assumed here, and what follows from it, or where it does not hold. All parameters, the versions
# and the hashes of the input files stand at the end of the report. A hash confirms a guess at a record where
# all others are known, so the public report has none.

# %% tags=["monte-carlo"]
assumed = assessment.assumptions(found)
show(in_words(outputs.table("assumptions", assumed)), caption="What was assumed.")

# %% [markdown] tags=["teaching", "written"]
# ### Exercise 2: would you release?
#
# A report says of a release: identity 30 % of the people alone with their keys, where other people's records
# would give 25 %, 2.4 standard errors less; attributes 62 %, where the baseline is 58 %, 3.1 standard errors
# less; no sign of copies, an upper limit of 4 %. By [the rules](#The-rules), what share of what its baseline
# leaves to disclose does each risk take (`of_identity`, `of_attributes`, three places), and is the advice
# `"withhold"`, `"look"` or `"nothing found"` (`advice`)? Then decide: would you release, and what would you
# ask first?
#
# *You will need:* `verdict.SURE`, `verdict.MORE` and `verdict.FAR`, the thresholds of [the rules](#The-rules).

# %% [markdown] tags=["hint", "teaching"]
# A risk counts only if it lies beyond its error, which 2.4 errors are not. Compare the other's share of the rest
# with the two thresholds.

# %% tags=["solution", "teaching"]
of_identity, of_attributes = (0.30 - 0.25) / (1 - 0.25), (0.62 - 0.58) / (1 - 0.58)
rests = np.array([of_identity, of_attributes])
clear = np.array([2.4, 3.1]) >= verdict.SURE
worst_rest = rests[clear].max(initial=0)
advice = "withhold" if worst_rest >= verdict.FAR else "nothing found"
advice = "look" if verdict.MORE <= worst_rest < verdict.FAR else advice
assert round(of_identity, 3) == 0.067
assert round(of_attributes, 3) == 0.095
assert advice == "look"

# %% [markdown] tags=["solution", "teaching"]
# Identity is not beyond its error. Attributes are, by a tenth of what the baseline leaves, which asks for a
# look and not for a refusal. Before deciding, ask who the disclosed people are and whether the target is
# sensitive, whether both results hold in a second release of the same generator (one release cannot tell how
# far another fit would move them), what the intruder is likely to know, and what the data are needed for.
# Not releasing has a cost too, and the report cannot weigh it.

# %% [markdown]
# ## References
#
# - Article 29 Data Protection Working Party (2014). *Opinion 05/2014 on anonymisation techniques*,
#   WP 216.
# - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2022). A unified framework for quantifying
#   privacy risk in synthetic data. arXiv:2211.10459. <https://doi.org/10.48550/arXiv.2211.10459>
# - Good, I. J. (1953). The population frequencies of species and the estimation of population
#   parameters. *Biometrika* 40, 237–264. <https://doi.org/10.1093/biomet/40.3-4.237>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. *Privacy in Statistical Databases*, 185–199.
#   <https://doi.org/10.1007/978-3-319-11257-2_15>
# - Hundepool, A. et al. (2010). *Handbook on Statistical Disclosure Control*, version 1.2. ESSNet SDC.
# - Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for
#   evaluating the utility of data altered to protect confidentiality. *The American Statistician*
#   60, 224–232. <https://doi.org/10.1198/000313006X124640>
# - Platzer, M. and Reutterer, T. (2021). Holdout-based empirical assessment of mixed-type synthetic
#   data. *Frontiers in Big Data* 4, 679939. <https://doi.org/10.3389/fdata.2021.679939>
# - Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
#   arXiv:2406.16826. <https://doi.org/10.48550/arXiv.2406.16826>
# - Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific
#   utility measures for synthetic data. *Journal of the Royal Statistical Society A* 181, 663–688.
#   <https://doi.org/10.1111/rssa.12358>
# - Taub, J. and Elliot, M. (2019). The synthetic data challenge. *Joint UNECE/Eurostat work session
#   on statistical data confidentiality*, The Hague.
