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
# # Before synthetic data go out
#
# This report compares releases with their original, whatever synthesizer made them. It is for the person who
# decides whether to release. The verdict comes first, then the table it follows from, then the records at
# highest risk.

# %% [markdown] tags=["notebook-only"]
# Useful synthetic data disclose something about the people in the original, because they disclose something about
# everybody. Each risk is therefore compared with a baseline: **does the release disclose more about these people
# than a [fresh sample](../docs/guide/glossary.md#fresh-sample-baseline) of the same population would?** A fresh
# sample discloses knowledge of the population. Any excess comes from the records of the people in the original.
#
# ## Parameters
#
# `srlib assess ORIGINAL RELEASED [RELEASED ...]` computes the same table in a few seconds, without a notebook. This is
# the long form, for `srlib run assess -p original FILE -p released "[FILE]"`. Without files it assesses an
# example.

# %% tags=["parameters"]
original: str = ""  # file of the original records; empty: an example
released: list[str] = []  # releases: files, or folders with the releases of one synthesizer each
schema: str = ""  # YAML file that declares the variables; empty: inferred from the original
keys: list[list[str]] = []  # sets of variables that the intruder knows; empty: all but the target
target: list[str] = []  # variables that the intruder wants to learn; empty: the last non-key column
within: dict[str, float] = {}  # by numeric variable, the distance that counts as disclosure
by: str = ""  # variable whose levels are groups, assessed one by one; empty: none
holdout: str = ""  # file of people who were not used to fit the synthesizer; empty: none
leave_out: list[str] = []  # columns that are no variables, such as names and IDs
model: bool = False  # test a model-based intruder, who knows all other records; takes longest
seed: int = 2026  # [0, inf) seed of all random streams
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from srlib import assessment, charts, dpmpm
from srlib.assessment import verdict
from srlib.data import Microdata, load
from srlib.display import callout, show
from srlib.outputs import Outputs
from srlib.rng import stream

outputs = Outputs(output_dir)

# %% [markdown] tags=["example"]
# **The example** releases a simulated table of 500 records in three ways. *Independent margins* draws each column by
# itself. *DPMPM* draws records from a [Dirichlet process mixture of products of
# multinomials](../docs/guide/glossary.md#dpmpm) fitted to the table. *Half copied* releases about half of the rows
# unchanged, and such draws in place of the others. Variables have the names of the American Community Survey: AGEP is
# age, RACE1P race, SCHL schooling, MAR marital status, HICOV health insurance.

# %% tags=["monte-carlo"]
people, releases, of_example = original, released, {}
if not original and not released:
    chance, n = stream(seed, "example"), 500
    table = load("", n_records=n, rng=chance)
    records = table.codes
    fitted = dpmpm.sample_posterior(
        records, table.schema.n_levels,
        dpmpm.Chains(n_classes=30, burn_in=600, n_draws=1, n_chains=1), rng=chance,
    )  # fmt: skip
    (mixed,) = fitted.release(1, n, rng=chance)
    half = np.where(chance.random((n, 1)) < 0.5, records, mixed)[chance.permutation(n)]
    margins = np.column_stack([chance.choice(column, n) for column in records.T])
    made = {"independent margins": margins, "DPMPM": mixed, "half copied": half}
    people = table
    releases = {name: Microdata(codes, table.schema) for name, codes in made.items()}
    of_example = {"keys": ["SEX", "AGEP", "RACE1P", "MAR", "SCHL"], "target": "HICOV"}
asked = {"keys": keys, "target": target}
asked = {name: value or of_example.get(name, value) for name, value in asked.items()}
tables = assessment.read_inputs(
    people, releases, **asked, schema=schema, within=within, by=by, holdout=holdout,
    leave_out=leave_out,
)  # fmt: skip
found = assessment.run_assessment(tables, model=model, seed=seed)
names = tables.schema.names
headline = outputs.result("headline", verdict.headline(found.verdicts))

# %% [markdown]
# ## Verdict

# %% tags=["monte-carlo"]
outputs.table("verdict", pd.DataFrame([vars(one) for one in found.verdicts]))
for one in found.verdicts:
    is_alarm = one.verdict in ("do not release", "review")
    display(callout("Warning" if is_alarm else "Note", one.sentence))
    rows = found.table[found.table["release"] == one.release]
    caption = f"{one.release}: risks and utility loss, each with its standard error."
    display(show(verdict.card(rows), caption=caption, names=verdict.CARD_HEADINGS))

# %% [markdown]
# *Release* is the value for the release, and *baseline* the larger of two values: that of a fresh sample, estimated from the
# original, and that of a release with [independent margins](../docs/guide/glossary.md#independent-margins). Both have
# their standard error; *n* counts people or records, and *paired z* is the difference in standard errors for the same people. A [sample
# unique](../docs/guide/glossary.md#sample-unique) is unique on the keys, or on all variables, as stated. *Copied beyond chance* is the
# estimated share of these whose records were copied into the release, and *at most* says how many copies could go
# undetected. The *rating* follows from the rules below.

# %% tags=["monte-carlo", "hero"]
risks = found.table.query("in_verdict and group == 'all' and estimate == estimate").assign(
    panel=lambda t: t["release"],
    label=lambda t: t["question"].where(
        ~t.duplicated(["release", "question"], keep=False), t["question"] + ": " + t["variables"]
    ),
    low=lambda t: (t["estimate"] - 2 * t["se"]).clip(lower=0),
    high=lambda t: (t["estimate"] + 2 * t["se"]).clip(upper=1),
)  # fmt: skip
risks = risks.rename(columns={"estimate": "value"})
columns = ["panel", "label", "value", "low", "high", "baseline"]
description = "Risks of each release with two standard errors, a line for each measure, beside a "
description += "tick for the baseline. The tables of all measures below have the same numbers."
chart = charts.intervals(risks[columns], "Share", percent=True, description=description)
outputs.figure("verdict", chart)

# %% [markdown] tags=["appendix"]
# **Which risks exceed their baselines.** Points are the release's values with two standard errors; ticks are the baselines.
#
# ### The rules
#
# The verdict follows from these rules and from nothing else:

# %% tags=["public"]
Markdown("\n".join(f"- {rule}" for rule in assessment.rules_text()))

# %% [markdown] tags=["public-only"]
# A public version of this report (`srlib report RUN --public`) shows the ratings below and nothing more of the
# confidential files. They rest on at least ten records. Releases are numbered, the worst first.

# %% tags=["monte-carlo", "public", "public-only"]
in_public = assessment.public_table(found.verdicts, found.table)
show(outputs.table("in_public", in_public, public=True), caption="All that a public report shows.")

# %% [markdown] tags=["appendix"]
# ## All measures
#
# If the release were a fresh sample of the population, the records of both files would be exchangeable. Its risks
# could then be predicted from the original alone. Each row is one measure: the estimate for the release, beside its
# baseline.
#
# **identical records.** Take five original records a, a, b, c, d. Three of them are sample uniques. Leave out one record at
# a time: the remaining records contain it in two cases of five, the a's. A stranger's record is identical to one of the
# file with about that probability, one minus the share of sample uniques (Good 1953). A sharper test looks at single
# combinations: where both files together contain one twice, a random split into files of equal size separates the
# two in half of the cases, while a copied record and its original are always separated (the column
# `z_permutation`). Combinations with few near neighbors weigh most, because strangers hardly ever coincide there.
# *copied uniques* estimates the share of sample uniques whose records were copied. *excess over own duplicates* asks whether
# original records are found in the release more often than its own records, where it is as dense: a sign of copies behind
# a rough synthesizer, and no proof. *undetected copies* is the upper limit of the share of sample uniques that
# could be copied without notice. Its baseline is the share whose values a fresh sample has as well; one over that is the
# largest factor by which finding a person's values raises the odds.
#
# *[near-duplicates](../docs/guide/glossary.md#near-duplicates)* are records with some values changed. The nearest
# neighbors of a record agree with it in most variables. A random split leaves them in the other file about half of the
# time; the nearest neighbor of a copied and changed record lies there. The test tries all distances and shows the
# clearest one. *repeated unique* looks for the one unique record that is released more often than a fresh sample would have it.
# *identical before binning* compares exact numbers. It gives a sign only, because a synthesizer that draws numbers from real
# people makes some. *row order* compares rows of the same number. *identifiers* counts the values that left-out columns
# have in common.
#
# **identity.** What share of the people who are unique on the keys is matched by a released record? How many are unique in
# parts of the file predicts how many a fresh sample would match. Numbers among the keys are matched exactly, because an
# intruder knows an age in years; all other measures bin them.
#
# **attribute.** For what share of people do all key matches agree on the true target ([DiSCO](../docs/guide/glossary.md#disco);
# Raab and others 2024)? The fresh sample is all other people in the file. A value that all but a tenth of the people
# have does not count in the test, because its margin discloses it. *interval* asks the same of a number, within a distance
# (Giomi and others 2022).
#
# **inference.** The stronger attack, on everybody: trees trained on the release predict the target from the keys. The
# estimate is the mean probability of the true value. Its baseline comes from trees trained on the original without the
# person. A sample with a few more records of one value moves the prediction for all people at once, so the
# standard error counts the training records and not only the people.
#
# *repU* and *TCAP* are customary measures of matching (Raab and others 2024; Taub and Elliot 2019). They have no
# part in the verdict.
#
# **[Utility loss](../docs/guide/glossary.md#utility-loss)** is compared with that of a fresh sample, which differs from the original, too. *one-way
# tables* and *two-way tables* are the largest total variation distances of one variable and of two.
# *distinguishability* is the [pMSE](../docs/guide/glossary.md#pmse) (Snoke and others 2018) over its largest value: how well a regression
# distinguishes the two files. *Like a fresh sample* means that the largest distance of all is within chance, at three standard
# errors for all of them together; `z` is that of the one distance alone.

# %% tags=["monte-carlo"]
outputs.table("answers", found.table)
shown = ["question", "variables", "detail", "n", "estimate", "se", "baseline", "baseline_se", "z"]
shown += ["z_permutation", *(["holdout", "z_holdout"] if holdout else []), "rating"]
for one in found.verdicts:
    rows = found.table[(found.table["release"] == one.release) & (found.table["group"] == "all")]
    display(show(rows[shown], caption=f"All measures of {one.release}."))

# %% [markdown]
# A risk is *elevated* or *high* where it exceeds its baseline by more than chance and by a share of what the baseline
# leaves undisclosed; elsewhere it is *as expected*. With a [holdout](../docs/guide/glossary.md#holdout), the same measures are computed for people
# who were not used to fit the synthesizer: any excess for people in the original is due to their participation. A
# further row, *full match*, is the share of people whose complete record is released.

# %% [markdown] tags=["needs-by"]
# ### Which groups carry the risk?
#
# The same measures for the people of each level of one variable, beside the baseline for the same people. Groups of
# fewer than ten people are not rated.

# %% tags=["monte-carlo", "needs-by"]
groups = found.table[found.table["group"] != "all"]
if len(groups):
    of_worst = groups[groups["release"] == found.verdicts[0].release]
    columns = ["question", "group", "n", "estimate", "se", "baseline", "baseline_se", "rating"]
    display(show(of_worst[columns], caption=f"Risks of groups: {found.verdicts[0].release}."))

# %% [markdown]
# ## Records at highest risk
#
# A release is judged by its most exposed records, not by its mean. The list has combinations of all variables, with
# their lines in the original's file. First come sample uniques that occur unchanged in the release, those with the
# fewest neighbors first (records of both files that differ from it in one variable). Some of these matches are
# chance, but with no neighbor hardly any are. Next come people who are unique on the keys and matched, and
# people whose target all key matches disclose; the columns count the releases.

# %% tags=["confidential", "monte-carlo"]
exposed, worst = outputs.table("records", found.records()), found.verdicts[0].release
columns = ["lines", "identical", "neighbors", "matched", "disclosed"]
columns += [names[k] for k in (*tables.keys[0][:4], tables.targets[0])]
columns += ["probability", "rank"] if model else []
of_worst = exposed[exposed["release"] == worst].head(8)
show(of_worst[columns], caption=f"Records of {worst} at highest risk.")

# %% [markdown] tags=["appendix"]
# ## An intruder who knows all other records
#
# The intruder of Hu, Reiter and Wang (2014) knows every record but one, and computes by Bayes' rule the [posterior
# probability](../docs/guide/glossary.md#posterior-disclosure-risk) of each value of the missing one. That takes a model of the synthesizer.
# **Here the model is a Dirichlet process mixture of products of multinomials, whatever made the releases in truth.**
# It is an assumption and has no part in the verdict. `--model`, or `-p model true`, adds it: rows *model* of the table
# above. If the model is right, prior over posterior of the true record averages 1 over the people, because
# $\sum_x p(x \mid Z)\, p(x) / p(x \mid Z) = 1$. An average above 1 says that the model misleads the intruder, and one below
# that the release discloses more than the model can explain. The row *model: chains* says how far the chains agree (R-hat);
# where they do not, all rows are *unreliable*.

# %% [markdown] tags=["appendix"]
# ## Notes and assumptions
#
# Notes on the files, and what the report assumes.

# %% tags=["monte-carlo"]
Markdown("\n".join(f"- {note}" for note in (*tables.notes, *assessment.rules_text("assumptions"))))

# %% [markdown] tags=["appendix"]
# ## References
#
# - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2022). A unified framework for quantifying
#   privacy risk in synthetic data. arXiv:2211.10459. <https://doi.org/10.48550/arXiv.2211.10459>
# - Good, I. J. (1953). The population frequencies of species and the estimation of population
#   parameters. *Biometrika* 40, 237–264. <https://doi.org/10.1093/biomet/40.3-4.237>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. *Privacy in Statistical Databases*, 185–199.
#   <https://doi.org/10.1007/978-3-319-11257-2_15>
# - Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
#   arXiv:2406.16826. <https://doi.org/10.48550/arXiv.2406.16826>
# - Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific
#   utility measures for synthetic data. *Journal of the Royal Statistical Society A* 181, 663–688.
#   <https://doi.org/10.1111/rssa.12358>
# - Taub, J. and Elliot, M. (2019). The synthetic data challenge. *Joint UNECE/Eurostat work session
#   on statistical data confidentiality*, The Hague.
