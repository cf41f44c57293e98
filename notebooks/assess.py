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
# This report sets released tables beside the original that they were made from, whatever tool made
# them. It is for whoever decides on a release. It opens with a verdict. Then come the records to
# look at, and the measures behind the verdict, each with what it means and what it does not.
#
# Every synthetic file that is worth anything tells something about the people in the original,
# because it tells something about everybody. So each risk is held against one question: **does the
# release tell more about these people than other people's records would?** Whatever a fresh sample
# of the same population would give away as well is knowledge of the population. What goes beyond it
# comes from somebody's record.

# %% [markdown] tags=["teaching"]
# ## What you will learn
#
# - to tell copies, identity, attributes and inference apart;
# - to foretell from the original alone what other people's records would disclose;
# - to see why an honest release may disclose, and why a careless one may escape matching;
# - to weigh risk against use, each with its uncertainty.

# %% [markdown]
# ## Parameters
#
# `srlib assess ORIGINAL RELEASED [RELEASED ...]` sets the first ones. Without files the report
# assesses an example.

# %% tags=["parameters"]
original: str = ""  # CSV file of the original records; empty: an example
released: list[str] = []  # CSV files of the releases, one or more, each judged by itself
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
holdout: str = ""  # CSV file of people who are not in the original; empty: none
keys: list[str] = []  # variables that the intruder knows; empty: all but the target
target: str = ""  # variable that the intruder wants to know; empty: the last that is no key
rules: str = ""  # YAML file of limits that each release is held to; empty: none
same_generator: bool = False  # the releases are draws of one generator, and are averaged
partially_synthetic: bool = False  # row i of each release was made from row i of the original
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
quick: bool = False  # leave out the intruder who knows all others, which takes most of the time
n_classes: int = 30  # [1, 1000] latent classes of that intruder's model, F
n_draws: int = 250  # [4, inf) draws kept from each chain
n_chains: int = 8  # [2, 1000] chains for the original, and with each release joined
most_iterations: int = 4000  # [1, inf) iterations of a chain in the last round
seed: int = 2026  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from functools import partial

import numpy as np
import pandas as pd
from IPython.display import Markdown

from srlib import assessment, charts, diagnostics
from srlib import risk as disclosure
from srlib.assessment import matching, verdict
from srlib.data import distinct
from srlib.display import callout, show
from srlib.papers.ledger import printed
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)

# %% [markdown]
# ## The tables

# %%
if original or released:
    submission = assessment.submit(
        original, released, keys, target, schema=schema, holdout=holdout,
        same_generator=same_generator, partially_synthetic=partially_synthetic,
        drop_missing=drop_missing, ignore_columns=ignore_columns, quick=quick, rules=rules,
    )  # fmt: skip
else:
    submission = assessment.example(500, keys, target, rng=stream(seed, "records"))
print(*submission.notes, sep="\n")

# %%
levels, records = submission.schema.n_levels, submission.original
combinations, counts, _ = distinct(records)
size = {"records": [len(records)], "variables": [len(levels)], "cells": [submission.schema.n_cells]}
size |= {"combinations": [len(counts)], "that occur once": [(counts == 1).sum()]}
show(pd.DataFrame(size))

# %%
names = np.array(submission.schema.names)
callout(
    "The intruder",
    f"{len(submission.keys)} of {len(names)} variables are known: "
    f"{', '.join(names[list(submission.keys)])} (keys). Wanted is {names[submission.target]} (target).",
)

# %% [markdown]
# ## Chains and measures
#
# A stronger intruder knows all records but one, and has a model of how the release was made. Here that
# is a mixture (below). Its chains run in rounds, each four times as long as the one before, until they
# agree or the longest have run.

# %%
rounds = disclosure.rounds(most_iterations, n_classes=n_classes, n_draws=n_draws, n_chains=n_chains)
print(
    "Left out (quick)."
    if quick
    else f"At most {len(rounds)} rounds of {n_chains} chains for the original and for each release, "
    f"of {', '.join(f'{each.n_iterations:,}' for each in rounds)} iterations a chain."
)

# %% tags=["monte-carlo"]
chances = partial(stream, seed)  # a source of chance for each purpose, by its name
draws = None
if not (quick and original):
    draws = assessment.model_draws(
        submission, records, rounds, rng=chances("original"), label="original"
    )
if not original:
    submission = assessment.with_releases(submission, draws, rng=chances("example"))

# %% tags=["monte-carlo"]
found = assessment.assess_submission(submission, None if quick else rounds, chances, draws)
for name, number in found.results().items():
    outputs.result(name, number)

# %% [markdown]
# ## Verdict

# %% tags=["monte-carlo"]
outputs.table("verdict", found.to_frame())
Markdown(verdict.markdown(found.judgments))

# %% tags=["monte-carlo"]
lines = found.to_frame().query("topic in ['copies', 'identity', 'attributes']")
pictured = lines.assign(
    panel=lines["release"], label=lines["topic"], mean=lines["value"],
    se=(lines["high"] - lines["low"]) / 4,
)  # fmt: skip
outputs.figure("verdict", charts.against_baseline(pictured, "Share"))

# %% [markdown]
# **Risks against what other people's records would give.** Points are the release's, with their 95 %
# intervals; the dark tick is the baseline. *Copies*: released records that repeat an original one.
# *Identity*: people alone with their keys who meet a released record with them.
# *Attributes*: people whose target the release tells rightly.
#
# The sentence at the top follows from these rules, and from nothing else:

# %% tags=["public"]
Markdown(verdict.stated())

# %% tags=["monte-carlo"]
broken = pd.DataFrame(found.broken_rules, columns=["release", "topic", "reason"])
outputs.table("broken_rules", broken)
show(broken) if len(broken) else callout(
    "Rules of your own", "none given" if not rules else "all kept"
)

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's files shows these words and no more. They
# follow from numbers over at least ten records. Releases are numbered, the worst first.

# %% tags=["monte-carlo", "public"]
show(outputs.table("in_public", assessment.in_public(found.judgments, found.findings), public=True))

# %% tags=["monte-carlo"]
Markdown("" if original else assessment.EXAMPLE)

# %% [markdown]
# ## Records to look at
#
# A release is judged by its most exposed records, not by its mean. Listed are combinations of all
# variables with the lines of the original's file that have them. First come those that are alone in
# the original and stand unchanged in the release (`copied`), the loneliest first: `neighbors` counts
# the records of both files that differ from it in one variable. Some of them are chance meetings;
# with no neighbors they hardly ever are. Then come those whom matching singles out: in how many
# releases they count for repU and DiSCO (both are explained below). The list is of the release that
# comes first in the verdict, with the first keys and the target; `tables/records.csv` has all
# releases and all values.

# %% tags=["confidential", "monte-carlo"]
exposed, first = outputs.table("records", found.records()), found.judgments[0].release
worst = exposed[exposed["release"] == first]
at = ["lines", "copied", "neighbors", "repU", "DiSCO"]
values = [worst.columns[k - len(levels) - 1] for k in (*submission.keys[:4], submission.target)]
show(worst[[*at, *values]].head(8))

# %% [markdown]
# Then by inference: the largest posterior probabilities of the whole record (`log_mcse` is the
# standard error of its logarithm, so that 0.1 means known to about ten percent; `rank` 1 means that
# no candidate is more probable).

# %% tags=["confidential", "monte-carlo"]
at = ["lines", "probability", "log_mcse", "rank"]
if not quick:
    probable = worst.sort_values("probability", ascending=False)
    display(show(probable[[*at, *values]].head(8), settings=["rank"]))

# %% [markdown]
# ## More than other people's records would tell?
#
# If the release were a fresh sample of the population, the records of both files would be
# exchangeable, and what it tells of the people in the original could be foretold from the original
# alone.
#
# **Copies.** Of five original records a, a, b, c, d three are alone with their values. Take one out at a
# time: two of five, the a's, are repeated by the others. A stranger's record repeats one of the file
# with about that probability, one minus the share of records that are alone (Good 1953). And where
# both files together hold a combination twice, one record lies in each file half of the time (for
# files of one size). Copied records lie so always. Combinations with few neighbors weigh most, since
# strangers hardly ever meet there. `repeated` is the share of released records that repeat an
# original one, `others` that of other people's records, `repeated_z` their difference in standard
# errors.

# %% tags=["monte-carlo"]
copies = found.table("copies").drop(columns=["found", "neighbors"])
outputs.table("copies", copies)
show(copies[["release", "repeated", "repeated_error", "others", "others_error", "repeated_z"]])

# %% [markdown]
# `handed_out` estimates the share of the people alone with their values who are in the release, beyond
# those whom it met by chance, and `handed_out_z` says how improbable it is that a random division would
# leave as many across the files. `at_most` is the upper limit of that share if copies are spread over
# all of them and nobody was met by chance. `near_z` is the same improbability with blocks of the variables
# left out: it finds records that were copied but for a few values.

# %% tags=["monte-carlo"]
columns = ["alone", "met", "handed_out", "handed_out_error", "handed_out_z", "at_most", "near_z"]
show(copies[["release", *columns]])

# %% [markdown]
# A copy is seen by its rows as well: the same records in another order, or values that agree row by
# row (`same_row`) more often than at any other distance between rows (`same_row_others`), since both
# files may be sorted or periodic.

# %% tags=["monte-carlo"]
show(copies[["release", "same_table", "same_row", "same_row_others", "same_row_z"]])

# %% [markdown]
# **Identity and attributes.** Of the people alone with their keys, how many meet a released record
# with them? And of how many people is the target told rightly by all released records with their keys
# (DiSCO)? For other people's records the first is foretold by keys that several people share and no
# released record has, the second by all others in the file, person by person.
# `margins` is what a release that knows margins only would give. The larger of both is the
# baseline, and `z` the difference to it in standard errors of the comparison.

# %% tags=["monte-carlo"]
beyond = {name: found.table(name) for name in ("identity", "attributes")}
beyond = pd.concat(beyond, names=["risk"]).droplevel(1).reset_index()
show(outputs.table("beyond", beyond))

# %% [markdown]
# **What this does not see.** Where the original repeats people, as households and weights do, other
# people's records are thought to repeat more than they do; the verdict is then *Undecided*. A
# generator that is rougher than the population repeats fewer records than strangers would, and so
# hides copies: hence `at_most`. Records of which a third of the values and more were changed
# are not told from strangers'. What strangers' records tell as well is no
# leak, though it may be told of the right person. And intervals are of records drawn anew from the
# generator as it was fitted: how far another fit would move a number, one release does not tell.
#
# ## What matching finds
#
# The measures of Raab, Nowok and Dibben (2024) and of Taub and Elliot (2019). All are shares of
# records, and higher is riskier, except that UiO, UiS and Dorig describe one table and are neither.
#
# | measure | of the original records, the share that |
# |---|---|
# | UiO, UiS | are alone with their keys in the original; in the release (of its records) |
# | repU | are alone with their keys in both |
# | iS | have keys that occur in the release |
# | Dorig | share their target with all original records of the same keys |
# | DiS | have keys for which all released records agree on one target |
# | DiSCO | and that target is theirs |
# | DiSDiO | and all original records of the same keys have it too |
# | TCAP | (of released records that agree on a target:) the probability that it is right |
#
# **What they do not mean.** A replicated unique need not be the same person: keys drawn at random
# meet unique ones too. A high DiSCO need not come from anybody's record: where the keys predict the
# target, an honest model that keeps this association discloses it, for people in the file and outside
# it alike. The baseline here is a release that knows the margins only, as the literature has it; it
# has no association at all, so that useful data lie above it. Alarms come from the section before.


# %% tags=["monte-carlo"]
named = ["release"] if len(found.findings) > 1 else []
measures = outputs.table("measures", found.table("measures"))
of_interest = ["repU", "DiSCO", "TCAP"] if named else measures["measure"].unique()
show(measures[measures["measure"].isin(of_interest)][[*named, *measures.columns[:-1]]])

# %% [markdown]
# `mean`, `sd` and `se` are over the releases of one generator (`releases` of them have a value; with
# one there is no spread). All measures are in `tables/measures.csv`.

# %% tags=["monte-carlo"]
pictured = measures.rename(columns={"release": "panel", "measure": "label"})
describing = pictured["label"].isin(["UiO", "UiS", "Dorig"])
outputs.figure("measures", charts.against_baseline(pictured[~describing], "Share"))

# %% [markdown]
# **Measures against their margins-only baselines.** Points are the measures (means where there are
# several releases of one generator, with lines of two standard errors), dark ticks the baselines.
#
# ### Which key drives the risk?
#
# The same measures for an intruder who lacks one of the keys, for the release that comes first in the
# verdict. Some of a fall of DiSCO is arithmetic: with fewer keys more records share them, and they
# agree more rarely.

# %% tags=["monte-carlo"]
lacking = outputs.table("without_each_key", found.table("lacking"))
lacking = lacking[lacking["release"] == first].replace({"": "(none)"})
wide = lacking.pivot(index="left_out", columns="measure", values="mean")[["repU", "DiSCO", "TCAP"]]
show(wide.sort_values("repU").rename_axis(columns=None).reset_index().head(12))

# %% [markdown]
# ### Partially synthetic releases
#
# Where each released record was made from an original one and stands in its row, an intruder's
# matches can be counted (Reiter and Mitra 2009). Set `partially_synthetic` for such releases.

# %%
if submission.partially_synthetic:
    display(show(outputs.table("match_risk", found.table("matches"))))
else:
    print("Not computed: the releases are not said to be partially synthetic.")

# %% [markdown]
# ## What the release is good for
#
# Four looks, and what each loses beyond what a fresh sample of the same population would: the largest
# of all distances of single variables and of pairs, the mean difference of regression coefficients,
# and how much of which table a record is from a regression explains. `loss` is 0 where the value is
# within three errors of a fresh sample's. The verdict is that of the largest loss.

# %% tags=["monte-carlo"]
losses = outputs.table("losses", found.table("losses"))
show(losses[[*named, *losses.columns[:-1]]])

# %% [markdown]
# ### Margins
#
# The total variation distance of a margin is the share of records that would have to change their
# values for original and release to agree. Even a perfect release differs by sampling; the baseline
# is what that alone would give, for draws from the original's own margin. On average over all margins:

# %% tags=["monte-carlo"]
margins = outputs.table("margins", found.table("margins"))
pairs = margins["variable_b"] != ""
margins["label"] = margins["variable_a"] + np.where(pairs, " × ", "") + margins["variable_b"]
ways = margins.assign(way=np.where(pairs, "pairs of variables", "single variables"))
by_way = ways.groupby(["release", "way"], sort=False)[["mean", "baseline"]].mean().reset_index()
show(by_way[[*named, "way", "mean", "baseline"]], digits=4)

# %% tags=["monte-carlo"]
over = (margins["mean"] - margins["baseline"]).groupby(margins["label"]).max()
worst = margins[margins["label"].isin(over.nlargest(8).index)].rename(columns={"release": "panel"})
outputs.figure("margins", charts.against_baseline(worst, "Total variation distance"))

# %% [markdown]
# **The eight margins that lie highest against what sampling gives.** Points and ticks as above; the
# distance between point and tick is what an analyst of that margin loses.
#
# ### Telling the two apart
#
# If a regression can tell released from original records, so can an analyst's result. pMSE is the
# mean squared distance of its fitted probabilities from the share of released records. Its reference
# is a correct model fitted to the original (Snoke and others 2018): `ratio` divides by the expected
# value, `standardized` counts standard deviations from it. A release that also carries the
# uncertainty of its model, or a fresh sample, has a ratio of one plus the released over the
# original number of records. A ratio near zero is no triumph: such a release *is* the original.

# %% tags=["monte-carlo"]
callout("The regression has", assessment.terms(found.findings[first], levels))

# %% tags=["monte-carlo"]
pmse = outputs.table("pmse", found.table("pmse"))
show(pmse[[*named, *pmse.columns[:-1]]])

# %% [markdown]
# ### The same regression on both
#
# The most frequent value of the target is regressed on the keys, least squares on indicators, once in
# the original and once in each release. Overlap is the share of the two 95 % intervals that they have
# in common (Karr and others 2006): 1 is the best, 0 is touching, negative is apart. Each release is
# analyzed as if it were the original. The mean over all coefficients, and the worst of them:

# %% tags=["monte-carlo"]
overlap = outputs.table("overlap", found.table("overlap"))
of_all = overlap.groupby("release", sort=False)[["mean", "baseline"]].mean().reset_index()
show(of_all[[*named, "mean", "baseline"]])

# %% tags=["monte-carlo"]
shown = [*named, "term", "original", "original_se", "synthetic", "mean", "baseline"]
show(overlap.sort_values("mean")[shown].head(8))

# %% [markdown]
# ## What someone learns who knows all the others
#
# The intruder of Hu, Reiter and Wang (2014) knows every record but one, and computes by Bayes' rule
# how probable each value of the missing one is after the release. For that the intruder needs a
# model of how the releases were made. **Here that model is a Dirichlet process mixture of products
# of multinomials (DPMPM), whatever made the releases in truth.** It is an assumption of this report,
# and has no part in the first sentence of the verdict. Where it is wrong, these risks belong to an
# intruder who believes in it. One who knows better may learn more, above all where records were
# copied.
#
# *The whole record.* Candidates are the true combination and all that differ from it in one
# variable, equally probable a priori.

# %% tags=["monte-carlo"]
risks = pd.DataFrame() if quick else found.table("risks")
if quick:
    print("Left out (quick).")
else:
    pictured, prior = risks.rename(columns={"release": "estimator"}), 1 / risks["support_size"][0]
    display(outputs.figure("posterior", charts.risk_histogram(pictured, prior)))

# %% [markdown]
# **Posterior probability of each true combination.** The dotted rule is the
# prior. To its right the release has made the truth more probable, to its left less.
#
# *The target alone.* The rest of the record is known too, and a priori the intruder believes what
# the model predicts from the other records. The gain, posterior over prior, is what the release adds
# to that: 1 if nothing. Gains go both ways: a release that loses associations misleads an intruder
# who trusts it.

# %% tags=["monte-carlo"]
quantiles = [0.05, 0.5, 0.95, 1]
if not quick:
    each = risks.loc[risks.index.repeat(risks["repetitions"])].groupby("release", sort=False)
    gains = np.exp(each["log_gain"].quantile(quantiles).unstack())
    gains.columns = ["gain, 5 %", "median", "95 %", "largest"]
    gains["log_mcse, median"] = each["log_gain_mcse"].median()
    gains = outputs.table("target_gains", gains.reset_index())
    display(show(gains[[*named, *gains.columns[1:]]]))

# %% [markdown]
# *Copies, in the model's eyes.* Of the original records that are alone with all their values, how many
# occur in the release? The baseline is a release from the DPMPM fitted without the record, which
# cannot have copied it; `baseline_sd` is how far such a release strays by chance, `baseline_mcse` the
# Monte Carlo error. Real people repeat each other more than a mixture's records do: a release
# may lie above this baseline and copy nobody.

# %% tags=["monte-carlo"]
if not quick:
    met = outputs.table("copies_by_model", found.table("copies_by_model"))
    display(show(met[[*named, *met.columns[1:-1]]]))

# %% [markdown]
# ### Can these numbers be trusted?
#
# They rest on Markov chains, and chains of this model may settle in different places. R-hat of the
# log probabilities of all combinations says whether they agree (at most 1.01; `apart` is the share
# of combinations above). The error of the chains on the original enters once for each release. The
# standard errors come from between chains, and so include disagreement among those that were run,
# but no place that none has found.

# %% tags=["monte-carlo"]
if not quick:
    chains = outputs.table("convergence", found.table("chains"))
    shown = [*named, "draws_given", "chains", "draws", "r_hat_median", "r_hat_95", "apart"]
    display(show(chains[shown].head(12)))

# %% tags=["monte-carlo"]
if not quick:
    summary = diagnostics.summary(found.traces)
    print(diagnostics.verdict(summary))
    display(show(outputs.table("diagnostics", summary), digits=2))

# %% tags=["monte-carlo"]
if not quick:
    display(outputs.figure("trace", charts.trace(diagnostics.long_format(found.traces))))

# %% [markdown]
# **The chains on the original.** Well mixed ones look like one band of noise. Where they do not, run
# longer ones, for instance `-p most_iterations 32000`.

# %% [markdown] tags=["teaching"]
# ## Exercises
#
# Of rising difficulty. All numbers are stated in the questions, whatever is assessed above.

# %% [markdown] tags=["teaching"]
# ### Exercise 1: by hand
#
# Five people have the pairs of key and target (0, 0), (0, 0), (1, 1), (2, 0), (3, 1). Released are
# (0, 0), (1, 1), (2, 1), (2, 1), (3, 1). What are `repU` and `DiSCO`? Check with `srlib.assessment.matching`.

# %% tags=["solution", "teaching"]
five = np.array([[0, 0], [0, 0], [1, 1], [2, 0], [3, 1]])
given_out = np.array([[0, 0], [1, 1], [2, 1], [2, 1], [3, 1]])
of_five = matching.measures(five, [given_out], [4, 2], keys=[0], target=1)
repU, DiSCO = of_five.set_index("measure")["mean"][["repU", "DiSCO"]]
assert np.isclose(repU, 2 / 5)
assert np.isclose(DiSCO, 4 / 5)

# %% [markdown] tags=["solution", "teaching"]
# Keys 1, 2 and 3 are alone in the original, 0, 1 and 3 in the release. The released records agree on a
# target for every key; it is wrong for the fourth person only, and right for the two with key 0, of whom
# one record was released.

# %% [markdown] tags=["teaching"]
# ### Exercise 2: uniques by chance
#
# Ten yes/no keys, independent and even. A thousand people, and a thousand released records that are
# drawn like them and know nothing of them. What is the expected repU (`by_chance`), to three decimal
# places? And with twenty such keys (`with_twenty`, four places)?

# %% tags=["solution", "teaching"]
by_chance, with_twenty = (1000 * q * (1 - q) ** 1998 for q in (1 / 2**10, 1 / 2**20))
assert round(by_chance, 3) == 0.139
assert round(with_twenty, 4) == 0.001

# %% [markdown] tags=["solution", "teaching"]
# One of seven is "replicated" without having been copied. With more keys nearly everybody is alone, and
# chance hardly meets anybody: then a large repU means copies.

# %% [markdown] tags=["teaching"]
# ### Exercise 3: a handful
#
# Hu, Reiter and Wang (2014) hold 35 candidates equally probable. Section 4.2 says that only a handful of
# their 3,523 combinations have a ratio of posterior to prior above two, and that 16 probabilities exceed
# 0.08. Table 3 prints the probabilities of the 31 whose truth is among the top three
# (`printed("hu_reiter_wang")`, ids that begin with `table3_probability`). Whatever the digits that are not
# printed: how many combinations have a ratio above two (`at_least`)?

# %% tags=["solution", "teaching"]
of_table = printed("hu_reiter_wang").set_index("id")["printed"]
of_table = of_table[of_table.index.str.startswith("table3_probability")].astype(float)
half_unit = 0.0005
above_two = (of_table - half_unit > 2 / 35).sum()
maybe_among_the_16 = (of_table + half_unit > 0.08).sum()
at_least = above_two + 16 - maybe_among_the_16
assert at_least == 27

# %% [markdown] tags=["solution", "teaching"]
# Twenty-two in Table 3, and at least five of the sixteen that are not in it, since a high probability need not come
# with a high rank. That is still less than one in a hundred; but an agency would look at each of them.

# %% [markdown]
# ## References
#
# - Good, I. J. (1953). The population frequencies of species and the estimation of population
#   parameters. *Biometrika* 40, 237–264.
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. *Privacy in Statistical Databases*, 185–199.
# - Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for
#   evaluating the utility of data altered to protect confidentiality. *The American Statistician*
#   60, 224–232.
# - Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
#   arXiv:2406.16826.
# - Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in partially
#   synthetic data. *Journal of Privacy and Confidentiality* 1(1).
# - Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific
#   utility measures for synthetic data. *Journal of the Royal Statistical Society A* 181, 663–688.
# - Taub, J. and Elliot, M. (2019). The synthetic data challenge. *UNECE work session on statistical
#   data confidentiality*.
