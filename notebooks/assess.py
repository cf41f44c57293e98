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

# %% [markdown] tags=["teaching"]
# ## What you will learn
#
# - to distinguish copies, identity, attributes and inference;
# - to predict from the original alone what other people's records would disclose;
# - to see why an honest release may disclose, and why a careless one may pass a matching test;
# - to recognize a gain that only a wrong model makes;
# - to weigh risk against use, each with its error.
#
# Reading takes about 45 minutes up to [Further questions](#Further-questions), whose sections can wait until somebody asks them,
# and the exercises about two hours.

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
    account,
    groups,
    held_out,
    in_words,
    matching,
    side_by_side,
    verdict,
)  # fmt: skip
from srlib.assessment.tables import together
from srlib.data import distinct
from srlib.display import callout, show
from srlib.ledger import printed
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

# %% [markdown]
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

# %% [markdown] tags=["teaching"]
# ### Try it: more, or far more?
#
# Attributes are told of 36 % of the people, where the baseline is 20 %, 3 standard errors less. Guess the first
# sentence of the verdict. Then compute what share of the rest this is (`share_of_rest`, two places).

# %% tags=["solution", "teaching"]
share_of_rest = (0.36 - 0.20) / (1 - 0.20)
assert round(share_of_rest, 2) == 0.2

# %% [markdown] tags=["solution", "teaching"]
# One fifth of what the baseline leaves, beyond its error: *far* above, by a hair. A threshold has two sides, and
# the number behind the word tells how near it was.

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
#
# A tool is dominated if a risk is higher, none is lower, and its loss is higher, all beyond two errors of
# the difference, corrected for the number of pairs and of risks.

# %% tags=["monte-carlo"]
sides = outputs.table("side_by_side", found.side_by_side())
alone = "One release, or one tool, is judged: there is nothing to compare it with."
display(callout("Side by side", side_by_side.said(sides) if len(sides) > 1 else alone))
if len(sides) > 1:
    display(
        show(side_by_side.in_words(sides).head(12), caption="Beyond the baseline, ± one error.")
    )
    display(outputs.figure("side_by_side", charts.side_by_side(side_by_side.pictured(sides))))

# %% [markdown]
# **In the lower left corner a release tells little and loses little.** The largest of the three risks stands
# against the loss, with two errors to both sides and, for few releases, as many more as Student's t asks.

# %% [markdown]
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
# A stronger intruder knows all records but one and has a model of how the release was made. Here that
# model is a mixture ([below](#What-someone-learns-who-knows-all-the-others)). Its Markov chains run in
# rounds, each four times as long as the one before, until they agree or the longest have run.

# %% tags=["monte-carlo"]
left_out = (
    "Left out (quick, or more records than a minute allows: `-p most_iterations 500` insists)."
)
lengths = ", ".join(f"{each.n_iterations:,}" for each in rounds)
ran = f"{n_chains} for the original and for each release, in rounds of {lengths} iterations; "
callout("Chains", left_out if quick else f"{ran}{rounds[0].n_draws} draws of each are kept.")

# %% [markdown]
# ## Records to look at
#
# A release is judged by its most exposed records, not by its mean. The list has combinations of all
# variables, with the lines of the original's file where they stand. First come combinations that are
# alone in the original and occur unchanged in the release, those with the fewest near neighbors first
# (records of both files that differ from it in one variable). Some of these are chance meetings, but
# with no near neighbor hardly any are. Next come records that matching singles out: the columns repU
# and DiSCO, explained [below](#What-matching-finds), count the releases in which it does. The list is of the release that comes
# first in the verdict, with the first keys and the target; `tables/records.csv` has the rest.
#
# The second list is by inference, with the largest posterior probabilities of the whole record. An error
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
# out. The upper limit assumes that copies are spread over all of them and that nobody was met by chance.
# Near copies, found with blocks of variables left out, are records that were copied except for a few
# values.
#
# Copies can also show in the rows, which the third table compares: the same records in another order, or
# values that agree row by row more often than at any other distance between rows. (Both files may be sorted
# or periodic.)

# %% tags=["monte-carlo"]
copies = found.table("copies").drop(columns=["found", "neighbors"])
outputs.table("copies", copies)
shares = ["repeated", "repeated_error", "others", "others_error", "repeated_z"]
single = ["alone", "met", "handed_out", "handed_out_error", "handed_out_z", "at_most", "near_z"]
rows = ["same_table", "same_row", "same_row_others", "same_row_z"]
captions = (
    "Released records that repeat an original one, and other people's that would.",
    "People alone with all their values who are in the release, and the share handed out.",
    "Shares of values that agree in rows of the same number, and at other distances.",
)
for at, caption in zip((shares, single, rows), captions, strict=True):
    display(show(in_words(copies, "release", *at), caption=caption))

# %% [markdown] tags=["teaching"]
# ### Try it: how many would a stranger repeat?
#
# Six people have the values a, a, a, b, b, c. Predict first: is a stranger's record more likely new or a repetition?
# With what probability does it repeat one of them, by Good's estimate (`repetition`, two places)?

# %% tags=["solution", "teaching"]
repetition = 1 - 1 / 6  # one of six people is alone
assert round(repetition, 2) == 0.83

# %% [markdown] tags=["teaching"]
# ### Exercise 1: what a stranger repeats
#
# In a population one combination has the share 0.4 and ten others have 0.06 each. Five people are sampled.
# With what probability does a sixth repeat one of them (`a_stranger`)? What does Good's estimate, one minus
# the share of the five who are alone, have as its mean (`good`)? And of how many people, sampled in the
# place of five, is `good` exactly the answer to the first question (`exactly_for`)?

# %% [markdown] tags=["hint", "teaching"]
# The sixth person has some combination, and repeats somebody unless none of the five has the same.

# %% [markdown] tags=["hint", "teaching"]
# Of a combination with share $p$, one of the five has it with probability $1 - (1 - p)^5$. A person is alone with
# it among five with probability $(1 - p)^4$.

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
# *margins would* is for a release that knows the margins only. The larger of the two is the baseline;
# the difference to it is in standard errors of the comparison.

# %% tags=["monte-carlo"]
named = ["release"] if len(found.findings) > 1 else []
beyond = {name: found.table(name) for name in ("identity", "attributes")}
beyond = outputs.table("beyond", pd.concat(beyond, names=["risk"]).droplevel(1).reset_index())
shown = in_words(beyond.drop(columns="thinned").rename(columns={"value": "share"}))
show(shown, caption="People met by their keys, and people whose target is told, beside baselines.")

# %% [markdown]
# **Other targets.** The verdict is about one target. Here all variables that are no keys are targets in
# turn; where everything else is a key, every variable is. *Of what is left* is the share that the release
# takes of what the baseline leaves to disclose. What it says of people who have the value that most people
# have, anybody would guess, and so where one key alone tells: where ten or more others share its level, and all
# have the same value. Of several releases the first three targets are shown; `tables/targets.csv` has all.

# %% tags=["monte-carlo"]
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
# copies, which is why there is an upper limit. Records with a third or more of their values changed look
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
# the original follows its chance features, so an honest release may lie somewhat above: over 16 simulated
# originals, releases from a fitted DPMPM had a mean share of 52 % and half copies one of 68 %, each with a
# standard deviation of 1 (`tests/benchmarks/fresh_samples.py`). This test has no part in the verdict. It looks
# at one released record at a time, and who is in the data may be told where it sees nothing
# ([sequential_trees, Who is in the data](sequential_trees.ipynb#Who-is-in-the-data)). The example holds out 500 more simulated people.

# %% tags=["monte-carlo"]
strangers = submission.held_out
if not original:
    strangers = assessment.example(500, keys, target, rng=chances("held out")).original
near = pd.DataFrame() if strangers is None else assessment.nearest(submission, strangers)
outputs.table("nearest", near)
callout("Nearest people", verdict.of_nearest(near))

# %% [markdown]
# All shares of people that this report has can be taken of people held out as well, of whom nobody took
# part. What the release says of them is knowledge of the population. The difference, with the error of dividing
# the same people at random, is what it tells of people because they took part. The table is of the release
# that comes first in the verdict. *Copied*: a released record has all values of a person; *copied, alone* and
# *identity*: of people alone with all values, or with their keys, those whom a released record meets; *single*: one
# released record alone has the keys. *What matching finds* explains the others. UiO, UiS and Dorig are of one
# table, and the intruder of the model knows the whole file but one record: of strangers the release tells that
# intruder nothing that the file does not.

# %% tags=["monte-carlo"]
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
# ## What matching finds
#
# These are the measures of Raab, Nowok and Dibben (2024) and of Taub and Elliot (2019). All are shares of
# records. Higher is riskier, except for UiO, UiS and Dorig, which describe one table.
#
# | measure | share of the original records that |
# |---|---|
# | UiO, UiS | are alone with their keys in the original; in the release (of its records) |
# | repU | are alone with their keys in both |
# | iS | have keys that occur in the release |
# | Dorig | share their target with all original records of the same keys |
# | DiS | have keys for which all released records agree on one target |
# | DiSCO | have such keys, and that target is theirs |
# | DiSDiO | count for DiSCO and for Dorig |
# | TCAP | (of released records that agree on a target:) the probability that it is right |
# | DiSCO/DiS | (of those that count for DiS:) count for DiSCO |
# | DiSCO/iS, DiSDiO/iS | (of those that count for iS:) count for DiSCO; for DiSDiO |
#
# The last four all go by the name of TCAP, the first by Taub and Elliot (2019), the second by Little,
# Allmendinger and Elliot (2025). The verdict's line on attributes rests on DiSCO.
#
# **What they do not mean.** A replicated unique need not be the same person: keys drawn at random meet
# unique ones too. A high DiSCO need not come from anybody's record. Where the keys predict the target, an
# honest model that keeps this association discloses it, for people in the file and outside it alike. The
# baseline here is a release that knows the margins only, as in the literature. It has no association at
# all, so useful data lie above it. Take alarms from the section above, not from this one.


# %% tags=["monte-carlo"]
measures = outputs.table("measures", found.table("measures"))
of_interest = ["repU", "DiSCO", "TCAP"] if named else measures["measure"].unique()
at = [*named, "measure", "releases", "mean", "sd", "se", "baseline"]
shown = in_words(measures[measures["measure"].isin(of_interest)], *at)
caption = "Measures of matching beside their margins-only baselines."
display(show(shown.dropna(axis=1, how="all"), caption=caption))
pictured = measures.rename(columns={"release": "panel", "measure": "label"})
describing = pictured["label"].isin(["UiO", "UiS", "Dorig"])
outputs.figure("measures", charts.against_baseline(pictured[~describing], "Share"))

# %% [markdown]
# **Measures beside their margins-only baselines.** Points are the measures (means where there are
# several releases of one generator, with lines of two standard errors; a single release has no spread), dark
# ticks the baselines. All measures are in `tables/measures.csv`.

# %% [markdown] tags=["teaching"]
# ### Exercise 2: by hand
#
# Five people have the pairs of key and target (0, 0), (0, 0), (1, 1), (2, 0), (3, 1). Released are
# (0, 0), (1, 1), (2, 1), (2, 1), (3, 1). What are `repU` and `DiSCO`? Count with a pencil.

# %% [markdown] tags=["hint", "teaching"]
# For repU count each key in both tables. For DiSCO ask of each person what the released records with that
# key say.

# %% [markdown] tags=["hint", "teaching"]
# Keys 1 and 3 are alone in both tables. Of the five people, the released records are wrong about one only.

# %% tags=["solution", "teaching"]
five = [(0, 0), (0, 0), (1, 1), (2, 0), (3, 1)]
given_out = [(0, 0), (1, 1), (2, 1), (2, 1), (3, 1)]
keys_of = [[key for key, _ in table] for table in (five, given_out)]
repU = sum(all(each.count(key) == 1 for each in keys_of) for key, _ in five) / 5
told = [{value for known, value in given_out if known == key} for key, _ in five]
DiSCO = sum(values == {value} for values, (_, value) in zip(told, five, strict=True)) / 5
assert np.isclose(repU, 2 / 5)
assert np.isclose(DiSCO, 4 / 5)

# %% [markdown] tags=["solution", "teaching"]
# Keys 1, 2 and 3 are alone in the original, keys 0, 1 and 3 in the release, so two people are alone in
# both. The released records agree on a target for every key. It is wrong for the fourth person only. It
# is right for both people with key 0, although the record of only one of them was released.

# %% [markdown] tags=["teaching"]
# ### Exercise 3: uniques by chance
#
# Ten yes/no keys are independent and even. A thousand people, and a thousand released records that are
# drawn like them and know nothing about them. What is the expected repU (`by_chance`), to three decimal
# places? And with twenty such keys (`with_twenty`, four places)?

# %% [markdown] tags=["hint", "teaching"]
# Somebody is alone in both tables if no other person has the same keys and exactly one released record has.

# %% [markdown] tags=["hint", "teaching"]
# With $q = 2^{-10}$ this has the probability $(1 - q)^{999} \cdot 1000\, q\, (1 - q)^{999}$ for each person.

# %% tags=["solution", "teaching"]
by_chance, with_twenty = (1000 * q * (1 - q) ** 1998 for q in (1 / 2**10, 1 / 2**20))
assert round(by_chance, 3) == 0.139
assert round(with_twenty, 4) == 0.001

# %% [markdown] tags=["solution", "teaching"]
# A person is replicated if exactly one of a thousand released records and none of the 999 other people have
# the same keys. With ten keys one person in seven is "replicated" without having been copied. With twenty
# nearly everybody is alone, and chance hardly meets anybody: a large repU then means copies.

# %% [markdown]
# ### Which key drives the risk?
#
# If the intruder lacks one key, DiSCO falls. Part of that is arithmetic: with fewer keys, more records
# share them, and they agree less often. A key drives the risk if its fall is larger than the next one's
# beyond the error of their difference, which is paired person by person (and over releases, where there
# are several of one generator). Otherwise no single key is worth coarsening for this reason. The table
# is for the release that comes first in the verdict.

# %% tags=["monte-carlo"]
outputs.table("without_each_key", found.table("lacking"))
falls = outputs.table("key_falls", found.table("falls"))
of_first = falls[falls["release"] == first]
caption = f"How far DiSCO falls where the intruder lacks one key: {first}."
display(show(in_words(of_first, *falls.columns[:-1]).head(12), caption=caption))
callout("Driver", verdict.of_driver(of_first, matching.driving_key(of_first, verdict.SURE)))

# %% [markdown]
# ## What the release is good for
#
# There are four comparisons, each with a fresh sample of the same population: the largest of all
# distances of single variables, the largest of pairs of variables, the mean difference of regression
# coefficients, and how well a regression can tell which table a record is from. The loss is what lies
# beyond the fresh sample's value, and 0 where chance explains it: a loss is as rare in fresh samples as
# three errors of a normal number. For the largest of many distances, whose tails are longer than normal
# ones, that takes more than three of the errors below. The verdict is that of the largest loss, and a release
# with any loss is called less useful than a fresh sample. By simulation from the example's population, 2 of
# 400 fresh samples of 500 records were called so by mistake (`tests/benchmarks/fresh_samples.py`).
#
# The second table has customary numbers, explained below, beside those of a fresh sample.

# %% tags=["monte-carlo"]
losses = outputs.table("losses", found.table("losses"))
caption = "Four distances from the original, beside a fresh sample's, and the loss beyond chance."
display(show(in_words(losses, *named, *losses.columns[:-1]), caption=caption))
customary = outputs.table("customary", found.table("customary"))
caption = "Customary numbers beside a fresh sample's."
show(in_words(customary, *named, *customary.columns[:-1]), caption=caption)

# %% [markdown]
# ### Margins
#
# The total variation distance of a margin is the share of records that would have to change their
# values for original and release to agree. Even a perfect release differs by sampling. The baseline
# is for draws from the original's own margin. On average over all margins:

# %% tags=["monte-carlo"]
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

# %% [markdown] tags=["teaching"]
# ### Try it: a larger fresh sample
#
# A fresh sample has twice as many records as the original. Does that make it easier or harder to tell from it, by
# the pMSE ratio? What ratio is expected (`expected_ratio`)?

# %% tags=["solution", "teaching"]
expected_ratio = 1 + 2
assert expected_ratio == 3

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

# %% [markdown] tags=["teaching"]
# ### Exercise 4: a referee's question
#
# A report on a release of as many records as the original has this table.
#
# | measure | release | fresh sample, with its error |
# |---|---|---|
# | pMSE ratio | 2.74 | 2.00 ± 0.12 |
# | overlap of intervals | 0.61 | 0.71 ± 0.03 |
# | DiSCO, fall without AGEP, in points | 1.6 ± 1.5 | |
# | DiSCO, fall without the next key | 1.2 ± 1.5 | |
#
# Its text says: (a) a regression tells the release from the original better than it tells a fresh sample
# from it; (b) coefficients agree less than a fresh sample's would; (c) utility is close to a correct model's;
# (d) which key drives the risk cannot be said. Which sentence does the table not support (`unsupported`)? By
# how many errors do the two measures of utility speak against it (`by_errors`, the smaller number, one
# place)?

# %% [markdown] tags=["hint", "teaching"]
# Compare the release with the fresh sample, not with a correct model: which sentence has the wrong
# neighbor?

# %% [markdown] tags=["hint", "teaching"]
# Divide each difference to the fresh sample by its error. Sentences (a), (b) and (d) follow from the numbers.

# %% tags=["solution", "teaching"]
by_errors = min((2.74 - 2.00) / 0.12, (0.71 - 0.61) / 0.03)
unsupported = "c"
assert unsupported == "c"
assert round(by_errors, 1) == 3.3

# %% [markdown] tags=["solution", "teaching"]
# A fresh sample is already worse than a correct model fitted to the original, whose ratio is 1. This release
# is worse than a fresh sample on both measures, by 6.2 and 3.3 errors, so "close" has nothing to stand on. It
# may still be useful: that depends on the size of the loss, which is another question. As to (d), a fall of
# 1.6 with an error of 1.5, the largest of several, is what chance alone would show.

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
# from 1. Not refuted does not mean right: in the same 16 simulations the test refuted the model for one
# release of independent margins, for one half copy and, from short chains, for two of the DPMPM itself. A
# largest gain says little by itself: fresh samples of other people made largest gains of 1.7 to 9.2. The
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

# %% [markdown] tags=["teaching"]
# ### Exercise 5: a handful
#
# Hu, Reiter and Wang (2014) hold 35 candidates equally probable. Section 4.2 says that only a handful of
# their 3,523 combinations have a ratio of posterior to prior above two, and that 16 probabilities exceed
# 0.08. Table 3 prints the probabilities of the 31 combinations whose truth is among the top three
# (`printed("hu_reiter_wang")`, ids that begin with `table3_probability`). Whatever the digits that are not
# printed: how many combinations have a ratio above two (`at_least`)?
#
# *You will need:* `printed`, which returns the numbers that a paper prints.

# %% [markdown] tags=["hint", "teaching"]
# A printed probability may be half a unit of its last digit away from the true one. Count those that are above
# 2/35 whatever the lost digits are.

# %% [markdown] tags=["hint", "teaching"]
# Some of the 16 probabilities above 0.08 may be in Table 3, at most as many as can exceed 0.08 there. The others
# of the 16 come on top.

# %% tags=["solution", "teaching"]
of_table = printed("hu_reiter_wang").set_index("id")["printed"]
of_table = of_table[of_table.index.str.startswith("table3_probability")].astype(float)
half_unit = 0.0005
above_two = (of_table - half_unit > 2 / 35).sum()
maybe_among_the_16 = (of_table + half_unit > 0.08).sum()
at_least = above_two + 16 - maybe_among_the_16
assert at_least == 27

# %% [markdown] tags=["solution", "teaching"]
# There are 22 in Table 3, and at least five of the 16 are not in it, since a high probability need not come
# with a high rank. That is still less than one combination in a hundred, but an agency would look at each.

# %% [markdown] tags=["teaching"]
# ### Exercise 6: a gain that a wrong model makes
#
# A target is 1 with probability 0.1 a priori. The intruder thinks that the release says "1" with
# probability 0.9 where the truth is 1 and 0.2 where it is 0. In truth the generator says "1" with
# probability 0.3 whatever the truth is. The release says "1". What is the gain of people whose target is 1
# (`gain`)? On average over the people, what is prior over posterior of the truth if the intruder is right
# (`if_right`), and in truth, over both things that a release may say (`in_truth`)?

# %% [markdown] tags=["hint", "teaching"]
# The gain is Bayes' rule with the intruder's model. The averages are over people and over what the release may
# say.

# %% [markdown] tags=["hint", "teaching"]
# Sum prior · probability of what is said · (prior over posterior) over both truths and both answers: with the
# intruder's probabilities for `if_right`, with 0.7 and 0.3 for `in_truth`.

# %% tags=["solution", "teaching"]
before = np.array([0.9, 0.1])  # truth 0, truth 1
believed = np.array([[0.8, 0.2], [0.1, 0.9]])  # rows: truth; columns: what the release says
after = before[:, None] * believed
after /= after.sum(axis=0)
gain = after[1, 1] / before[1]
truth_and_release = before[:, None] * np.array([0.7, 0.3])
if_right = (before[:, None] * believed * before[:, None] / after).sum()
in_truth = (truth_and_release * before[:, None] / after).sum()
assert round(gain, 2) == 3.33
assert round(if_right, 6) == 1
assert round(in_truth, 2) == 1.46

# %% [markdown] tags=["solution", "teaching"]
# A threefold gain for some people, although the release tells nothing about anybody. It is paid for by the
# others: an intruder who is right has an average of exactly 1, by summing over the truth under the
# posterior, and this one has 1.46. The same average is the test in the section on gains.

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

# %% [markdown]
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
#
# Gains of the intruder's model, last, are quantiles over
# the people of a group, with the median over that of all others and intervals between chains.

# %% tags=["monte-carlo", "needs-by"]
if submission.by is not None and not quick:
    by_gain = outputs.table("gains_by_group", found.table("gains_by_group"))
    shown = in_words(by_gain[by_gain["release"] == first].iloc[:12, :-1])
    display(show(shown, caption=f"Gains of the intruder's model by group: {first}."))

# %% [markdown]
# ## For the file
#
# What was assumed here, and what follows from it, or where it does not hold. All parameters, the versions
# and the hashes of the input files stand at the end of the report. A hash confirms a guess at a record where
# all others are known, so the public report has none.

# %% tags=["monte-carlo"]
assumed = assessment.assumptions(found)
show(in_words(outputs.table("assumptions", assumed)), caption="What was assumed.")

# %% [markdown]
# The next table has the equation of each measure and its place above, where it was asked for. The last
# column names the criteria of European regulators, from Opinion 05/2014 of the Article 29 Working Party.
# The table after it says how far each is covered. Who took part is none of the three. The opinion asks for
# an evaluation of the risk where a criterion is not met. No number here replaces that, or decides whether
# data are anonymous.

# %% tags=["public"]
display(show(account.MEASURES, caption="The measures of this report."))
show(account.WORDS, caption="The three criteria of Opinion 05/2014.")

# %% [markdown] tags=["teaching"]
# ## To close

# %% [markdown] tags=["teaching", "written"]
# ### Exercise 7: would you release?
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
# A share of what the baseline leaves is (share − baseline) / (1 − baseline).

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
