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
# This report compares released tables with the original that they were made from, whatever tool made
# them. It is for the person who decides on a release. The verdict comes first, then the table that it
# follows from, then the records to look at.

# %% [markdown] tags=["notebook-only"]
# Synthetic data that are worth anything tell something about the people in the original, because they
# tell something about everybody. Each risk is therefore compared with an answer to one question: **does
# the release tell more about these people than other people's records would?** What a fresh sample of
# the same population would give away is knowledge of the population. Whatever goes beyond that comes
# from somebody's record.
#
# ## Parameters
#
# `srlib assess ORIGINAL RELEASED [RELEASED ...]` answers the same questions in a few seconds, without a
# notebook. This is the long form, for `srlib run assess -p original FILE -p released "[FILE]"`. Without
# files it assesses an example.

# %% tags=["parameters"]
original: str = ""  # file of the original records; empty: an example
released: list[str] = []  # files, each judged by itself, or folders of files, each of one tool
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
keys: list[list[str]] = []  # sets of variables that the intruder knows; empty: all but the target
target: list[str] = []  # variables that the intruder wants to know; empty: the last that is no key
within: dict[str, float] = {}  # distances up to which numbers are told, by name of the variable
by: str = ""  # variable whose levels are told of apart; empty: none
holdout: str = ""  # file of people who are not in the original; empty: none
leave_out: list[str] = []  # columns that are no variables, as names and numbers of people
model: bool = False  # ask an intruder who knows all other records, which takes most of the time
seed: int = 2026  # [0, inf) one seed for all streams of chance
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
# **The example** releases one simulated table of 500 records in three ways. *Independent margins* draws
# each column by itself. *DPMPM* draws records from a Dirichlet process mixture of products of multinomials
# that was fitted to the table. *Half copied* hands out half of the rows as they are, among such draws.
# Variables are called as in the American Community Survey: AGEP is age, RACE1P race, SCHL schooling, MAR
# marital status, HICOV health insurance.

# %% tags=["monte-carlo"]
people, tools, of_example = original, released, {}
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
    people, tools = table, {name: Microdata(codes, table.schema) for name, codes in made.items()}
    of_example = {"keys": ["SEX", "AGEP", "RACE1P", "MAR", "SCHL"], "target": "HICOV"}
asked = {"keys": keys, "target": target}
asked = {name: value or of_example.get(name, value) for name, value in asked.items()}
tables = assessment.read_inputs(
    people, tools, **asked, schema=schema, within=within, by=by, holdout=holdout,
    leave_out=leave_out,
)  # fmt: skip
found = assessment.run_assessment(tables, model=model, seed=seed)
names = tables.schema.names
first = outputs.result("first", found.verdicts[0].sentence)

# %% [markdown]
# ## Verdict

# %% tags=["monte-carlo"]
judged = pd.DataFrame([vars(judgment) for judgment in found.verdicts])
outputs.table("verdict", judged)
for judgment in found.verdicts:
    alarm = judgment.verdict in ("do not release", "review")
    display(callout("Warning" if alarm else "Note", judgment.sentence))
    rows = found.table[found.table["release"] == judgment.release]
    about = f"{judgment.release}, shares and distances with their standard errors."
    display(show(verdict.card(rows), caption=about))

# %% [markdown]
# The *release* is what the released records tell; the *baseline* is the larger of what other people's
# records (others) and a release that knows the margins alone would tell. *Copies that chance could hide* is how
# many of the unique people could be copied without notice, and by which factor, at most, to find a person's values
# in the release raises the odds that they are in the file. The *word* follows from the rules below.

# %% tags=["monte-carlo", "hero"]
risks = found.table.query("asked and of == 'all' and value == value").assign(
    panel=lambda t: t["release"],
    label=lambda t: t["question"].where(
        ~t.duplicated(["release", "question"], keep=False), t["question"] + ": " + t["about"]
    ),
    low=lambda t: (t["estimate"] - 2 * t["se"]).clip(lower=0),
    high=lambda t: (t["estimate"] + 2 * t["se"]).clip(upper=1),
)  # fmt: skip
columns = ["panel", "label", "estimate", "low", "high", "baseline"]
about = "Shares of each release with two standard errors, a line for each question, beside a "
about += "tick for the baseline. The tables of all answers below have the same numbers."
chart = charts.intervals(risks[columns], "Share", percent=True, description=about)
outputs.figure("verdict", chart)

# %% [markdown] tags=["appendix"]
# **Risks beside their baselines.** Points are the release's shares with two standard errors; ticks are the baselines.
#
# ### The rules
#
# The first sentence on a release follows from these rules and from nothing else:

# %% tags=["public"]
Markdown("\n".join(f"- {rule}" for rule in assessment.stated()))

# %% [markdown] tags=["public-only"]
# A public version of this report (`srlib report RUN --public`) shows the words below and nothing more of
# somebody's files. They rest on numbers over at least ten records. Releases are numbered, the worst
# first.

# %% tags=["monte-carlo", "public", "public-only"]
in_public = assessment.in_public(found.verdicts, found.table)
show(outputs.table("in_public", in_public, public=True), caption="All that a public report shows.")

# %% [markdown] tags=["appendix"]
# ## The one table
#
# If the release were a fresh sample of the population, the records of both files would be exchangeable.
# What it tells about the people in the original could then be predicted from the original alone. Each row
# is one answer: how much the release tells, beside what others would.
#
# **copies.** Take five original records a, a, b, c, d. Three of them are alone with their values. Leave
# out one record at a time: the others repeat it in two cases of five, the a's. A stranger's record
# repeats one of the file with about that probability, one minus the share of records that are alone
# (Good 1953). A sharper test asks of single people: where both files together hold a combination twice,
# a random division of files of one size puts one record into each half of the time, while a copied
# record always lies so (the column *by random division*). Combinations with few near neighbors weigh most,
# since strangers hardly ever meet there. *handed out* estimates the share of the unique people whose records
# were released. *beyond itself* asks whether people are repeated more often than the release's own records
# where it is as dense: a sign of copies behind a rough tool, and no proof. *could hide* is the upper limit of
# the share of the unique people who could be copied without notice. Its baseline is the share of them whose
# values a fresh sample has as well: one over that is the factor by which to find a person's values in the release
# raises the odds that they are in the file, at most.
#
# *near copies* are records with some values changed. Each record without an equal has nearest neighbors, with
# which it agrees in most variables. A random division of both files leaves them in the other file about half of
# the time; a record that was copied and changed has its nearest neighbor there. All distances are tried, and the
# clearest one is shown. *multiplicity* asks for the one unique person whose record is released more often than a
# fresh sample would have it, where as many people differ in one variable. *uncut copies* takes numbers as the files
# have them, a sign as well: a tool that takes numbers from real people makes some. *same rows* compares rows of
# the same number. *identifiers* are values that columns left out have in common.
#
# **identity.** Of the people alone with their keys, how many meet a released record with the same keys?
# How many are alone in parts of the file foretells how many would meet other people's records. Numbers among the
# keys are matched as the files have them, since an intruder knows an age in years; for all other questions they
# are cut.
#
# **attributes.** For how many people do all released records with their keys agree on the true target
# (DiSCO; Raab and others 2024)? Others are all other people in the file. A value that all but a tenth of the
# people have does not count in the test: the margin tells it. *within* asks the same of a
# number, within a distance (Giomi and others 2022).
#
# **predicted.** The stronger attack, on everybody: trees are grown from the release and guess the target
# from the keys; the number is the mean probability of the truth. Other people's records are grown into
# trees in the same way, each person left out. A sample that by chance has a few more of one value moves
# the guess for all people at once. So its error counts the records that trees grow from, and not people
# alone.
#
# *repU* and *TCAP* are customary measures of matching (Raab and others 2024; Taub and Elliot 2019); they
# have no part in the verdict.
#
# **Use** is compared with a fresh sample, which differs from the original, too: the largest distance of
# a single variable's shares (margins) and of two (pairs), and how well a regression tells which file a
# record is from (told apart), which is the pMSE (Snoke and others 2018) over its largest value. What lies
# beyond chance is the loss. *As fresh* says that none does: that the largest distance of all is within chance, at
# three errors for all of them together. The difference in errors is that of the one distance alone.

# %% tags=["monte-carlo"]
outputs.table("answers", found.table)
at = ["question", "about", "people", "estimate", "se", "baseline", "baseline_se", "z"]
at += ["z_permutation", "rating"]
heads = {"z": "difference, in errors", "z_permutation": "by random division"}
if holdout:
    at, heads = [*at, "holdout", "z_holdout"], heads | {"z_holdout": "beyond these, in errors"}
for judgment in found.verdicts:
    rows = found.table[(found.table["release"] == judgment.release) & (found.table["of"] == "all")]
    display(show(rows[at], caption=f"All answers of {judgment.release}.", names=heads))

# %% [markdown]
# *More* and *far more* stand where the value lies beyond its baseline by more than chance, and by a share of
# what the baseline leaves to disclose; *no more* stands everywhere else. With people held out, the same is asked of
# them: the difference is what the release tells of people because they took part. A further row then says
# of how many people the whole record is released (*people copied*). People held out must have been kept out
# before the synthesizer was fitted.

# %% [markdown] tags=["needs-by"]
# ### Who carries the risk?
#
# The same questions of the people of each level of one variable, beside the baseline for the same people.
# Groups of fewer than ten people who count are not judged.

# %% tags=["monte-carlo", "needs-by"]
groups = found.table[found.table["of"] != "all"]
if len(groups):
    shown = groups[groups["release"] == found.verdicts[0].release]
    columns = ["question", "of", "people", "estimate", "se", "baseline", "baseline_se", "rating"]
    display(show(shown[columns], caption=f"Risks of groups: {found.verdicts[0].release}."))

# %% [markdown]
# ## Records to look at
#
# A release is judged by its most exposed records, not by its mean. The list has combinations of all
# variables, with the lines of the original's file where they stand. First come combinations that are
# alone in the original and occur unchanged in the release, those with the fewest near neighbors first
# (records of both files that differ from it in one variable). Some of these are chance meetings, but
# with no near neighbor hardly any are. Next come people who are alone with their keys and met, and people
# whose target all released records with their keys tell; the columns count the releases.

# %% tags=["confidential", "monte-carlo"]
exposed, first = outputs.table("records", found.records()), found.verdicts[0].release
columns = ["lines", "copied", "neighbors", "met", "told"]
columns += [names[k] for k in (*tables.keys[0][:4], tables.targets[0])]
columns += ["probability", "rank"] if model else []
worst = exposed[exposed["release"] == first].head(8)
show(worst[columns], caption=f"Combinations of {first} to look at first.")

# %% [markdown] tags=["appendix"]
# ## What someone learns who knows all the others
#
# The intruder of Hu, Reiter and Wang (2014) knows every record but one, and computes by Bayes' rule
# how probable each value of the missing one is after the release. That takes a model of how the
# releases were made. **Here the model is a Dirichlet process mixture of products of multinomials, whatever
# made the releases in truth.** It is an assumption and has no part in the verdict. It is asked with
# `--model`, or `-p model true`: rows *model* of the table above. Where the model is right, prior over
# posterior of the truth averages 1 over the people, because
# $\sum_x p(x \mid Z)\, p(x) / p(x \mid Z) = 1$: an average above says that it misleads its believer, one below
# that the release tells more than it can explain. The row *model: chains* says how far the chains agree
# (R-hat), and where they do not, all rows are *unreliable*.

# %% [markdown] tags=["appendix"]
# ## For the file
#
# Notes on the tables, and what the report takes for granted.

# %% tags=["monte-carlo"]
Markdown("\n".join(f"- {note}" for note in (*tables.notes, *assessment.stated("assumptions"))))

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
