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
# them. It is for whoever decides on a release. It opens with a verdict in words; then come the
# records to look at, and the measures behind the verdict, each with what it means and what it does
# not.
#
# Two questions are asked about risk. *Matching*: what does someone find who looks up people's known
# values, the keys, in the released table? *Inference*: what does someone learn of a record who
# already knows all others? One question is asked about use: does an analyst find in the release
# what the original would have shown? No number here is a certificate, and where a threshold lies is
# for the agency to say.

# %% [markdown] tags=["teaching"]
# ## What you will learn
#
# - to tell the four questions apart: unique, replicated, disclosed, inferred;
# - to read each measure against what a release that knows only the margins would give;
# - to see why an honest release may disclose, and why a careless one may escape matching;
# - to weigh risk against use, each with its uncertainty.

# %% [markdown]
# ## Parameters
#
# `srlib assess ORIGINAL RELEASED [RELEASED ...]` sets the first ones. Without files the report
# assesses an example.

# %% tags=["parameters"]
original: str = ""  # CSV file of the original records; empty: an example
released: list[str] = []  # CSV files of the releases, one or more
schema: str = ""  # YAML file that declares the variables; empty: recognised or inferred
keys: list[str] = []  # variables that the intruder knows; empty: all but the target
target: str = ""  # variable that the intruder wants to know; empty: the last that is no key
partially_synthetic: bool = False  # row i of each release was made from row i of the original
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
n_classes: int = 20  # [1, 1000] latent classes of the intruder's model, F
burn_in: int = 2000  # [0, inf) iterations dropped from each chain
n_draws: int = 250  # [4, inf) draws kept from each chain
thin: int = 20  # [1, inf) iterations for each draw kept
n_chains: int = 8  # [2, 1000] chains for the original
n_chains_joined: int = 4  # [2, 1000] chains for the original joined with each release
seed: int = 2026  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
from dataclasses import replace

import numpy as np
import pandas as pd
from IPython.display import Markdown

from srlib import assessment, charts, diagnostics, dpmpm, matching, microdata
from srlib.chance import stream
from srlib.published import printed
from srlib.record import Record, show

record = Record(output_dir)

# %% [markdown]
# ## The tables

# %%
if original or released:
    submission = assessment.read(
        original, released, schema, keys, target, drop_missing=drop_missing,
        ignore_columns=ignore_columns, partially_synthetic=partially_synthetic,
    )  # fmt: skip
else:
    population = microdata.load("", n_records=500, rng=stream(seed, "records"))
    known = ["SEX", "AGEP", "RACE1P", "MAR", "SCHL", "WKL", "DIS", "HICOV"]
    at = population.schema.positions(known, "known")
    variables = microdata.Schema(tuple(population.schema.variables[k] for k in at))
    roles = assessment.roles(variables, keys, target)
    notes = ("No files were given: an example, 500 simulated records with 8 variables.",)
    submission = assessment.Submission(variables, population.codes[:, at], (), *roles, notes=notes)
print(*submission.notes, sep="\n")
levels, records = submission.schema.n_levels, submission.original
counts = microdata.distinct(records)[1]
size = {"records": [len(records)], "variables": [len(levels)], "cells": [submission.schema.n_cells]}
size |= {"combinations": [len(counts)], "that occur once": [(counts == 1).sum()]}
show(pd.DataFrame(size))

# %% tags=["monte-carlo"]
settings = {"n_classes": n_classes, "burn_in": burn_in, "n_draws": n_draws, "thin": thin}


def posterior_draws(codes: np.ndarray, chains: int, purpose: str) -> dpmpm.Draws:
    """Draws from the posterior of the intruder's model given some records."""
    return dpmpm.sample_posterior(
        codes, levels, n_chains=chains, rng=stream(seed, purpose), label=purpose,
        keep_allocations=True, **settings,
    )  # fmt: skip


draws = posterior_draws(records, n_chains, "original")


# %%
def example() -> dict[str, tuple[np.ndarray, ...]]:
    """Three releases of one table, made in three ways."""
    rng, n = stream(seed, "example"), len(records)
    independent = [np.column_stack([rng.choice(v, n) for v in records.T]) for _ in range(3)]
    places = zip(*dpmpm.spread_positions(draws, 3), strict=True)
    modelled = [
        dpmpm.synthesize(draws.pi[c, d], draws.phi[c, d], levels, n, rng) for c, d in places
    ]
    copied = [np.where(rng.random((n, 1)) < 0.5, records, z) for z in modelled]
    names = ("independent margins", "DPMPM", "half of the records copied")
    return dict(zip(names, (independent, modelled, copied), strict=True))


releases = {"release": submission.released} if original else example()
prefix = {name: "" if original else f"{name.replace(' ', '_')}_" for name in releases}

# %% tags=["monte-carlo"]
submissions, findings = {}, {}
for name, tables in releases.items():
    submissions[name] = replace(submission, released=tuple(tables))
    joined = [
        posterior_draws(np.vstack([records, z]), n_chains_joined, f"{name} {i}")
        for i, z in enumerate(tables, start=1)
    ]
    findings[name] = assessment.assess(submissions[name], draws, joined)


# %% [markdown]
# ## Verdict
#
# A baseline is what the same number would be for a release that knows the margins of the original
# only, or for one that tells nothing; it stands beside each number. Standard errors are between
# releases, or between Markov chains where chains are behind a number. *Above* a baseline means by
# more than two standard errors and one percentage point; *far above*, by more than five points and
# the baseline itself.


# %% tags=["monte-carlo"]
def told(name: str) -> str:
    """The verdict on one set of releases as a list, recorded as well."""
    texts = assessment.verdict(submissions[name], findings[name])
    for topic, text in texts.items():
        record.result(f"{prefix[name]}verdict_{topic}", text)
    title = "" if original else f"### Example: {name}\n\n"
    return title + "\n".join(f"- **{topic}:** {text}" for topic, text in texts.items())


Markdown("\n\n".join(map(told, findings)))

# %% tags=["monte-carlo"]
EXAMPLE = """**How to read the example.** Three ways to release one table of 500 records. *Independent
margins* draws each column by itself: hardly any risk beyond what the margins carry, and associations
are lost. *DPMPM* draws records from a model of the table. *Half of the records copied* is careless:
half of the original rows are handed out as they are. Matching sees that at once, most plainly where
records are compared with all their values. The intruder with a model hardly does: whoever believes
in the DPMPM expects no copies, and the median probability of the true record is {:.3f} after the copies and {:.3f} after the model's own draws. Utility is even the best
of the three, as copies are. No single number is enough."""
medians = [findings[name].risks["probability"].median() for name in list(findings)[:0:-1]]
Markdown("" if original else EXAMPLE.format(*medians))

# %% [markdown]
# ## Records to look at
#
# A release is judged by its most exposed records, not by its mean. Listed are combinations of all
# variables, first by matching: in how many releases they count for repU and DiSCO (both are
# explained below). Rare combinations come first for a reason: they are the ones that someone
# recognises.

# %% tags=["confidential", "monte-carlo"]
exposed = pd.concat(
    assessment.exposed(submissions[name], findings[name]).assign(release=name) for name in findings
)
record.table("records", exposed, confidential=True)
last = exposed[exposed["release"] == exposed["release"].iloc[-1]]
shown = ["record", "repetitions", "repU", "DiSCO", "probability", "log_mcse", "rank"]
show(last[shown].head(8), settings=["rank"])

# %% [markdown]
# Then by inference: the largest posterior probabilities of the whole record (`log_mcse` is the
# standard error of its logarithm, so that 0.1 means known to about ten percent; `rank` 1 means that
# no candidate is more probable). If there are several sets of releases, both lists are of the last.

# %% tags=["confidential", "monte-carlo"]
show(last.sort_values("probability", ascending=False)[shown].head(8), settings=["rank"])

# %% [markdown]
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
# meet unique ones too, which is what the baseline counts. A high DiSCO need not come from anybody's
# record: where the keys predict the target, an honest model that keeps this association discloses
# it, for people in the file and outside it alike. The baseline of DiSCO and TCAP has no
# association at all, so that useful data are expected to lie above it. What raises the alarm is
# repU far above its baseline. And matching sees copied records only where the keys tell records
# apart: with a small UiO, low values say little, and more keys are worth a second look.


# %% tags=["monte-carlo"]
def every(attribute: str) -> pd.DataFrame:
    """One table of the findings over all sets of releases."""
    frames = [getattr(f, attribute).assign(release=name) for name, f in findings.items()]
    return pd.concat(frames, ignore_index=True)


named = ["release"] if len(findings) > 1 else []
measures = record.table("measures", every("measures"))
for row in measures.itertuples():
    for column in ("mean", "se", "baseline"):
        record.result(f"{prefix[row.release]}{row.measure}_{column}", getattr(row, column))
of_interest = ["repU", "DiSCO", "TCAP"] if len(findings) > 1 else measures["measure"].unique()
show(measures[measures["measure"].isin(of_interest)][[*named, *measures.columns[:-1]]])

# %% [markdown]
# `mean`, `sd` and `se` are over the releases (`releases` of them have a value; with one there is no
# spread). All measures are in `tables/measures.csv`.

# %% tags=["monte-carlo"]
pictured = measures.rename(columns={"release": "panel", "measure": "label"})
describing = pictured["label"].isin(["UiO", "UiS", "Dorig"])
record.figure(
    "measures", charts.against_baseline(pictured[~describing], "Share (mean of releases)")
)

# %% [markdown]
# **Measures against their baselines.** Points are means over the releases, lines two standard errors
# to both sides, dark ticks the baselines. The distance of a point from its tick is what the release
# tells beyond the margins of the original.
#
# ### Records handed out unchanged
#
# Keys that many people share hide copies. So the same question once more with all variables: of the
# original records that are alone with all their values, how many occur in the release? Some do by
# chance. The baseline is a release from the DPMPM fitted without the record, which cannot have
# copied it; `baseline_sd` is how far such a release strays, `baseline_mcse` the Monte Carlo error.

# %% tags=["monte-carlo"]
copies = record.table("copies", every("copies"))
for row in copies.itertuples():
    record.result(f"{prefix[row.release]}copies_mean", row.mean)
    record.result(f"{prefix[row.release]}copies_baseline", row.baseline)
show(copies[[*named, *copies.columns[1:-1]]])

# %% [markdown]
# ### Which key drives the risk?
#
# The same measures for an intruder who lacks one of the keys. The key without which a measure falls
# most drives it, and is the first to coarsen. Some of the fall of DiSCO is arithmetic: with fewer
# keys more records share them, and they agree more rarely.

# %% tags=["monte-carlo"]
lacking = record.table("without_each_key", every("lacking"))
lacking = lacking[lacking["release"] == lacking["release"].iloc[-1]].replace({"": "(none)"})
wide = lacking.pivot(index="left_out", columns="measure", values="mean")[["repU", "DiSCO", "TCAP"]]
show(wide.sort_values("repU").rename_axis(columns=None).reset_index().head(12))

# %% [markdown]
# ### Partially synthetic releases
#
# Where each released record was made from an original one and stands in its row, an intruder's
# matches can be counted (Reiter and Mitra 2009). Set `partially_synthetic` for such releases.

# %%
if submission.partially_synthetic:
    display(show(record.table("match_risk", findings["release"].matches)))
else:
    print("Not computed: the releases are not said to be partially synthetic.")

# %% [markdown]
# ## What the release is good for
#
# ### Margins
#
# The total variation distance of a margin is the share of records that would have to change their
# values for original and release to agree. Even a perfect release differs by sampling; the baseline
# is what that alone would give, for draws from the original's own margin. On average over all margins:

# %% tags=["monte-carlo"]
margins = record.table("margins", every("margins"))
pairs = margins["variable_b"] != ""
margins["label"] = margins["variable_a"] + np.where(pairs, " × ", "") + margins["variable_b"]
ways = margins.assign(way=np.where(pairs, "pairs of variables", "single variables"))
by_way = ways.groupby(["release", "way"], sort=False)[["mean", "baseline"]].mean().reset_index()
show(by_way[[*named, "way", "mean", "baseline"]], digits=4)

# %% tags=["monte-carlo"]
over = (margins["mean"] - margins["baseline"]).groupby(margins["label"]).max()
worst = margins[margins["label"].isin(over.nlargest(8).index)].rename(columns={"release": "panel"})
record.figure("margins", charts.against_baseline(worst, "Total variation distance"))

# %% [markdown]
# **The eight margins that lie highest against what sampling gives.** Points, lines and ticks as above; here
# the distance between point and tick is what an analyst of that margin loses.
#
# ### Telling the two apart
#
# If a regression can tell released from original records, so can an analyst's result. pMSE is the
# mean squared distance of its fitted probabilities from the share of released records. Its reference
# is a correct model fitted to the original (Snoke and others 2018): `ratio` divides by the expected
# value, `standardised` counts standard deviations from it. A release that also carries the
# uncertainty of its model, or a fresh sample, has a ratio of one plus the released over the
# original number of records. A ratio near zero is no triumph: such a release *is* the original.

# %% tags=["monte-carlo"]
pmse = record.table("pmse", every("pmse"))
for row in pmse[pmse["measure"] == "ratio"].itertuples():
    record.result(f"{prefix[row.release]}pmse_ratio", row.mean)
show(pmse[[*named, *pmse.columns[:-1]]])

# %% [markdown]
# ### The same regression on both
#
# The most frequent value of the target is regressed on the keys, least squares on indicators, once in
# the original and once in each release. Overlap is the share of the two 95 % intervals that they have
# in common (Karr and others 2006): 1 is the best, 0 is touching, negative is apart. Each release is
# analysed as if it were the original. The mean over all coefficients, and the worst of them:

# %% tags=["monte-carlo"]
overlap = record.table("overlap", every("overlap"))
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
# of multinomials (DPMPM), whatever made the releases in truth.** It is an assumption of this report.
# Where it is wrong, these risks belong to an intruder who believes in it; one who knows better may
# learn more, above all where records were copied.
#
# *The whole record.* Candidates are the true combination and all that differ from it in one
# variable, equally probable beforehand.

# %% tags=["monte-carlo"]
risks = every("risks")
pictured = risks.rename(columns={"release": "estimator"})
prior = 1 / risks["support_size"].iloc[0]
record.figure("posterior", charts.risk_histogram(pictured, prior))

# %% [markdown]
# **Posterior probability of each true combination.** The dotted rule is the
# prior. To its right the release has made the truth more probable, to its left less.
#
# *The target alone.* The rest of the record is known too, and beforehand the intruder believes what
# the model predicts from the other records. The gain, posterior over prior, is what the release adds
# to that: 1 if nothing. Gains go both ways: a release that loses associations misleads an intruder
# who trusts it more often than it helps, and its median gain is below 1.

# %% tags=["monte-carlo"]
quantiles = [0.05, 0.5, 0.95, 1]
each = risks.loc[risks.index.repeat(risks["repetitions"])].groupby("release", sort=False)
gains = np.exp(each["log_gain"].quantile(quantiles).unstack())
gains.columns = ["gain, 5 %", "median", "95 %", "largest"]
gains["log_mcse, median"] = each["log_gain_mcse"].median()
gains = record.table("target_gains", gains.reset_index())
show(gains[[*named, *gains.columns[1:]]])

# %% [markdown]
# ### Can these numbers be trusted?
#
# They rest on Markov chains, and chains of this model may settle in different places. R-hat of the
# log probabilities of all combinations says whether they agree (at most 1.01; `apart` is the share
# of combinations above). The error of the chains on the original enters once for each release. The
# standard errors come from between chains, and so include disagreement among those that were run,
# but no place that none has found.

# %% tags=["monte-carlo"]
chains = record.table("convergence", every("chains"))
shown = [*named, "draws_given", "chains", "draws", "r_hat_median", "r_hat_95", "apart"]
record.result("r_hat_95_largest", chains["r_hat_95"].max())
show(chains[shown].head(12))

# %% tags=["monte-carlo"]
quantities = {"alpha": draws.alpha, "log likelihood": draws.log_likelihood}
quantities["occupied classes"] = draws.n_occupied
summary = diagnostics.summary(quantities)
print(diagnostics.verdict(summary))
show(record.table("diagnostics", summary), digits=2)

# %% tags=["monte-carlo"]
record.figure("trace", charts.trace(diagnostics.long_format(quantities)))

# %% [markdown]
# **The chains on the original.** Well mixed ones look like one band of noise. Where they do not, run
# longer ones, for instance `-p burn_in 10000 -p n_draws 500`.

# %% [markdown] tags=["teaching"]
# ## Exercises
#
# Of rising difficulty. All numbers are stated in the questions, whatever is assessed above.

# %% [markdown] tags=["teaching"]
# ### Exercise 1: by hand
#
# Five people have the pairs of key and target (0, 0), (0, 0), (1, 1), (2, 0), (3, 1). Released are
# (0, 0), (1, 1), (2, 1), (2, 1), (3, 1). What are `repU` and `DiSCO`? Check with `srlib.matching`.

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
# drawn like them and know nothing of them. What is the expected repU (`by_chance`), three digits behind the
# point? And with twenty such keys (`with_twenty`, four digits)?

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
