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
released: list[str] = []  # releases: files, or a folder for each synthesizer
schema: str = ""  # YAML file of the variables, or SDV metadata; empty: inferred
keys: list[list[str]] = []  # sets of key variables; empty: all but the target
target: list[str] = []  # sensitive variables; empty: the last non-key column
within: dict[str, float] = {}  # by number, the distance that counts as disclosure
by: str = ""  # variable whose levels are groups, assessed one by one; empty: none
holdout: str = ""  # file of people not used to fit the synthesizer; empty: none
leave_out: list[str] = []  # columns that are no variables, such as names and IDs
synthesizer: str = ""  # for an intruder who knows it: rpart, trees, dpmpm or margins
seed: int = 2026  # [0, inf) seed of all random streams
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
import numpy as np
import pandas as pd
from IPython.display import Markdown

from srlib import assessment, charts, dpmpm
from srlib.assessment import card, verdict
from srlib.data import Microdata, load
from srlib.display import callout, show
from srlib.outputs import Outputs
from srlib.rng import stream

outputs = Outputs(output_dir)

# %% [markdown] tags=["example"]
# **The example** releases a simulated table of 500 records in three ways. *Independent margins* draws each column by
# itself. *DPMPM* draws records from a [Dirichlet process mixture of products of
# multinomials](../docs/guide/glossary.md#dpmpm) fitted to the table. *Half copied* releases about half of the rows
# unchanged, and DPMPM draws in place of the others. Variables have the names of the American Community Survey: AGEP is
# age, RACE1P race, SCHL schooling, MAR marital status, HICOV health insurance. The folded code has the three
# synthesizers as functions, then the table and its releases, arrays of codes with a row for each record.


# %% tags=["hide-input"]
def independent_margins(records, rng):
    """Return records whose columns are drawn separately from the original's."""
    n = len(records)
    return np.column_stack([rng.choice(column, n) for column in records.T])


def mixture(table, rng):
    """Return records drawn from a mixture that was fitted to the table."""
    chains = dpmpm.Chains(n_classes=30, burn_in=600, n_draws=1, n_chains=1)
    fitted = dpmpm.sample_posterior(table.codes, table.schema.n_levels, chains, rng=rng)
    (synthetic,) = fitted.release(1, len(table.codes), rng=rng)
    return synthetic


def half_copied(records, synthetic, rng):
    """Return about half of the records, and synthetic ones in place of the others."""
    is_copied = rng.random((len(records), 1)) < 0.5
    return np.where(is_copied, records, synthetic)[rng.permutation(len(records))]


# %% tags=["monte-carlo", "hide-input"]
is_example = not original and not released
if is_example:
    rng = stream(seed, "example")
    people = load("", n_records=500, rng=rng)
    synthetic = mixture(people, rng)
    copied = half_copied(people.codes, synthetic, rng)
    margins = independent_margins(people.codes, rng)

# %% [markdown] tags=["example"]
# The intruder of the example knows five of the variables, the keys, and wants to learn the target: whether a person has
# health insurance.

# %% tags=["monte-carlo", "hide-input"]
if is_example:
    codes = {"independent margins": margins, "DPMPM": synthetic, "half copied": copied}
    released_tables = {
        name: Microdata(rows, people.schema) for name, rows in codes.items()
    }
    keys = keys or [["SEX", "AGEP", "RACE1P", "MAR", "SCHL"]]
    target = target or ["HICOV"]

# %% [markdown] tags=["notebook-only"]
# `read_inputs` reads the original and the releases, and `run_assessment` compares them. The result `assessed` has the
# verdicts, a table of all measures, and a list of records.

# %% tags=["monte-carlo", "hide-input"]
inputs = assessment.read_inputs(
    people if is_example else original,
    released_tables if is_example else released,
    keys=keys,
    target=target,
    schema=schema,
    within=within,
    by=by,
    holdout=holdout,
    leave_out=leave_out,
)
assessed = assessment.run_assessment(inputs, synthesizer=synthesizer, seed=seed)

# %% [markdown]
# ## Verdict
#
# For each release, the worst first, here are the verdict in a sentence and a card. The card has a line for each kind of
# disclosure (membership, attribute, identity, copies) and for the utility, with what two intruders learn: one who knows the release and the keys, and one who
# also knows the synthesizer and everybody else. Estimates have standard errors. In parentheses is its *baseline*, the larger of
# the risk of a fresh sample and that of [independent margins](../docs/guide/glossary.md#independent-margins). After the
# colon is its *rating*, by the rules below. What was not tested says which option tests it.

# %% tags=["monte-carlo", "hide-input"]
verdicts = assessed.verdicts
headline = outputs.result("headline", verdict.headline(verdicts))
_ = outputs.table("verdict", pd.DataFrame([vars(v) for v in verdicts]))

# %% tags=["monte-carlo", "hide-input"]
for v in verdicts:
    is_alarm = v.verdict in ("do not release", "review")
    display(callout("Warning" if is_alarm else "Note", v.sentence))
    rows = assessed.table[assessed.table["release"] == v.release]
    caption = f"{v.release}: what two intruders learn."
    display(show(card.card(rows), caption=caption))

# %% [markdown]
# The fresh sample's risk is estimated from the original. Both values have their standard error. A [sample
# unique](../docs/guide/glossary.md#sample-unique) is unique on the keys, or on all variables, as stated. *At most* says how
# many of the sample uniques could be copied undetected.

# %% [markdown]
# All results are in `assessed.table`, a row for each release, measure (its column `question`) and group of people;
# `in_verdict` marks the measures that the verdict uses. The chart has these for everybody: a panel for each release and
# a line for each measure, with the value, two standard errors to each side, and a tick at the baseline. Measures that
# were computed for several sets of keys or several targets are labeled with these variables.

# %% tags=["monte-carlo", "hide-input"]
risks = assessed.table.query(
    "in_verdict and group == 'all' and estimate.notna()"
).copy()
risks["low"] = (risks["estimate"] - 2 * risks["se"]).clip(lower=0)
risks["high"] = (risks["estimate"] + 2 * risks["se"]).clip(upper=1)

# %% tags=["monte-carlo", "hide-input"]
has_several = risks.duplicated(["release", "question"], keep=False)
with_variables = risks["question"] + ": " + risks["variables"]
risks["label"] = risks["question"].mask(has_several, with_variables)

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Risks of each release with two standard errors, a line for each measure, beside a tick "
    "for the baseline. The tables of all measures below have the same numbers."
)
intervals = risks.rename(columns={"release": "panel", "estimate": "value"})
columns = ["panel", "label", "value", "low", "high", "baseline"]
chart = charts.intervals(intervals[columns], "Share", percent=True, description=about)
outputs.figure("verdict", chart)

# %% [markdown] tags=["appendix"]
# **Which risks exceed their baselines.** Points are the release's values, ticks the baselines.
#
# ### The rules
#
# The verdict follows from these rules and from nothing else. A measure discloses the part (estimate − baseline) / (1 −
# baseline) of what the baseline leaves undisclosed. The tests for copies are explained under *All measures*.

# %% tags=["public", "hide-input"]
Markdown("\n".join(f"- {rule}" for rule in assessment.rules_text()))

# %% [markdown] tags=["public-only"]
# A public version of this report (`srlib report RUN --public`) shows the ratings below and nothing more of the
# confidential files: a row for each release with its verdict, and a column for each rating. They rest on at least ten
# records. Releases are numbered, the worst first.

# %% tags=["monte-carlo", "public", "public-only", "hide-input"]
in_public = assessment.public_table(verdicts, assessed.table)
caption = "All that a public report shows."
show(outputs.table("in_public", in_public, public=True), caption=caption)

# %% [markdown] tags=["appendix"]
# ## All measures
#
# If the release were a fresh sample of the population, the records of both files would be exchangeable. Its risks
# could then be predicted from the original alone. The tables below, one for each release, have a row for each measure.
# Their columns are the variables and a detail, *n*, the estimate and its baseline with standard errors, their difference
# *z* in standard errors, *z permutation* of a random split (explained below), and the rating. The measures:
#
# **identical records.** Take five original records a, a, b, c, d. Three of them are sample uniques. Leave out one record at
# a time: the remaining records contain it in two cases of five, the a's. A stranger's record is identical to one in the
# file with about that probability: one minus the share of sample uniques (Good 1953). A sharper test looks at single
# combinations: where both files together contain one twice, a random split into files of equal size separates the
# two in half of the cases, while a copied record and its original are always separated (the column
# *z permutation*). Combinations with few near neighbors weigh most, because strangers hardly ever coincide there.
# *copied uniques* estimates the share of sample uniques whose records were copied. *excess over own duplicates* asks whether
# original records are found in the release more often than its own records, where it is as dense: a sign of copies behind
# a rough synthesizer, and no proof. *undetected copies* is the upper limit of the share of sample uniques that
# could be copied without notice. Its baseline is the share $b$ of sample uniques whose values a fresh sample has as well.
# So finding a person's values in a release multiplies the odds that the person is in the original by at most $1/b$.
#
# *[near-duplicates](../docs/guide/glossary.md#near-duplicates)* are records with some values changed. The nearest
# neighbors of a record agree with it in most variables. A random split leaves them in the other file about half of the
# time; the nearest neighbor of a copied and changed record lies there. The test tries all distances and shows the
# clearest one. *repeated unique* looks for the one unique record that is released more often than a fresh sample would have it.
# *identical before binning* compares exact numbers. It is only a sign, because a synthesizer that copies single numbers
# from real people also produces identical ones. *row order* compares rows with the same number. *identifiers* counts the
# values that left-out columns have in common.
#
# **identity.** What share of the people who are unique on the keys is matched by a released record? The number of uniques in
# parts of the file predicts how many people a fresh sample would match. Numbers among the keys are matched exactly, because an
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

# %% tags=["monte-carlo", "hide-input"]
_ = outputs.table("answers", assessed.table)
columns = ["question", "variables", "detail", "n", "estimate", "se"]
columns += ["baseline", "baseline_se", "z", "z_permutation"]
if holdout:
    columns += ["holdout", "z_holdout"]
of_everybody = assessed.table.query("group == 'all'")[["release", *columns, "rating"]]
headings = {"question": "measure"}

# %% tags=["monte-carlo", "hide-input"]
for v in verdicts:
    rows = of_everybody[of_everybody["release"] == v.release].drop(columns="release")
    display(show(rows, caption=f"All measures of {v.release}.", names=headings))

# %% [markdown]
# A risk is *elevated* or *high* where it exceeds its baseline by more than chance and by a share of what the baseline
# leaves undisclosed; elsewhere it is *as expected*. With a [holdout](../docs/guide/glossary.md#holdout), the same measures are computed for people
# who were not used to fit the synthesizer: any excess for people in the original is due to their participation. A
# further row, *full match*, is the share of people whose complete record is released.

# %% [markdown] tags=["needs-by"]
# ### Which groups carry the risk?
#
# With the parameter `by`, the same measures for the people of each level of that variable, beside the baseline for the
# same people: a row for each measure and group. Groups of fewer than ten people are not rated.

# %% tags=["monte-carlo", "needs-by", "hide-input"]
worst = verdicts[0].release
groups = assessed.table.query("group != 'all' and release == @worst")
if len(groups):
    columns = [
        "question",
        "group",
        "n",
        "estimate",
        "se",
        "baseline",
        "baseline_se",
        "rating",
    ]
    display(show(groups[columns], caption=f"Risks of groups: {worst}.", names=headings))

# %% [markdown]
# ## Records most exposed
#
# A release is judged by its most exposed records, not by its mean. The list has combinations of all variables, with
# their lines in the original's file. First come sample uniques that occur unchanged in the release, those with the
# fewest neighbors first (records of both files that differ from it in one variable). Some of these matches are
# chance, but with no neighbor hardly any are. Next come people who are unique on the keys and matched, and
# people whose target all key matches disclose. The table has the first eight of the worst release: *identical* says
# whether a sample unique occurs unchanged, *matched* and *disclosed* count releases, *neighbors* counts records; then
# come some keys and the target.

# %% tags=["confidential", "monte-carlo", "hide-input"]
records = outputs.table("records", assessed.records())
shown_variables = [*inputs.keys[0][:4], inputs.targets[0]]
columns = ["lines", "identical", "neighbors", "matched", "disclosed"]
columns += [inputs.schema.names[k] for k in shown_variables]
if synthesizer:
    columns.append("probability")

# %% tags=["confidential", "monte-carlo", "hide-input"]
worst = verdicts[0].release
of_worst = records[records["release"] == worst].head(8)
show(of_worst[columns], caption=f"Records of {worst} that are most exposed.")

# %% [markdown] tags=["appendix"]
# ## An intruder who knows all other records
#
# The rules above ask what anyone can do who has the release. A stronger intruder also knows the synthesizer, its settings
# and all records but one. `--synthesizer rpart`, or `-p synthesizer rpart`, names what made the releases: `rpart` (trees
# pruned as by default in synthpop), `trees` (unpruned), `margins` or `dpmpm`, with settings as in `rpart:min_leaf=20`.
# For at most 200 [sample uniques](../docs/guide/glossary.md#sample-unique), drawn at random, two exact answers follow:
#
# - *exact posterior*, the [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) of a person's true
#   values among all candidates that differ from them in one variable, with equal prior probabilities;
# - with a holdout, *exact membership*, the power of the most powerful test of whether the person is in the file, at 1 %
#   false positives.
#
# They are exact for trees and margins, and have Monte Carlo errors for the DPMPM. Where clearly more than one in twenty
# of these people have true values with a probability above one half, the verdict is *review*. Membership has no
# limit here: whether being in the file is sensitive is for the agency to say (`--fail-on membership=.2`).

# %% [markdown] tags=["appendix"]
# ## Notes and assumptions
#
# Notes on the files, and what the report assumes.

# %% tags=["monte-carlo", "hide-input"]
notes = [*inputs.notes, *assessment.rules_text("assumptions")]
Markdown("\n".join(f"- {note}" for note in notes))

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
