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
# # On the embedded population, knowing less means less risk on average under the model's prior but not under a uniform one, and an intruder who knows nobody learns far more of everybody than of you
#
# **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully synthetic
# categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer. Sections 3.1, 4.2 and 5, as far as they are about other intruders
# than the one of the main study.
#
# The intruder of the main study knows every record but one, considers only values of the last that differ
# from the truth in at most one variable, and thinks them all equally probable ([hu_reiter_wang](hu_reiter_wang.ipynb) runs
# that study). The paper calls this conservative: an intruder who knows less, and searches a larger
# space, should do worse. Here the other intruders are computed. They know all of the other records,
# some, or none; search two changes or every cell of the table; take the model's own prediction as
# prior. People who are not in the data at all are sought beside those who are.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** Risks that are acceptable under $D_{-i}$ are so for an intruder who knows less. | 3.1 |
# | **C2** Not to know every other record is computationally very expensive. | 5 |
# | **C3** Restricting the support to one change is conservative. | 3.1, last paragraph |
# | **C4** Over one change, margins of a few variables say little. | 4.2, equation 17 |
# | **C5** Posterior and informative prior hardly differ: the release adds little. | 5, as an "if" |
# | **C6** A release tells as much of outsiders as of participants. | not in the paper |
#
# The claim that an intruder who lacks only a few variables can guess them (the paper's 4.2, equation 16) is
# judged in `hu_reiter_wang`, as its C5.
#
# The title is what this notebook finds at its defaults. Verdicts are computed from the data: a callout
# under the deciding numbers says *proved*, *holds here*, *depends on* something or *fails*, and *not
# decided* where the deciding number is within two standard errors of its limit. Where records or
# combinations are judged one by one, a claim holds if it is so for more than 95 % of them, beyond two
# standard errors. It fails if it may be so for at most 5 %, and otherwise depends on the record. What
# counts as little is a choice: a factor of 1.5, as from a probability of 10 % to one of 15 %.
#
# **You will learn** to prove what more knowledge does on average, and to say why single records differ;
# to separate what a release tells of everybody from what it tells of its participants; to compute risks
# over every cell of a table and for part of a record; to judge a release against a model's own
# prediction.
#
# **You should know** Bayes' rule, the beta-binomial distribution and what a Markov chain is for; best after
# `hu_reiter_wang`. Reading takes about an hour, the exercises about two more. They follow the sections
# that they belong to, and all their numbers are stated in the questions, whatever the parameters of the run.

# %% [markdown]
# ## Parameters
#
# The defaults take nine variables, so that every cell can be visited for many records in seconds;
# `params/intruders/full.yaml` takes all fourteen, 8.7 million cells, with more and longer chains.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2000, 2100] year of a raw ACS person file that is given by its path
n_records: int = 600  # [40, inf) records used: half are the data, half people who are not in it
without: list[str] = ["LANX", "WAOB", "MIL", "MIG", "SCH"]  # variables left out
unknown: list[str] = ["WKL", "DIS", "HICOV"]  # variables that most of the intruders do not know
unknown_too: list[list[str]] = [["DIS"], ["RACE1P", "HISP"]]  # further sets of unknown variables
fractions: list[float] = [0.0, 1.0]  # [0, 1] shares of the other records known, 1 among them
n_pairs: int = 10  # [2, inf) divisions into participants and outsiders, each used in both ways
n_draws_pairs: int = 60  # [30, inf) draws kept from each of their chains
burn_in_pairs: int = 400  # [0, inf) iterations dropped from each of their chains
numbers_released: list[int] = [1]  # [1, inf) releases read where synthesizers are compared
n_places: int = 20  # [1, inf) participants, and outsiders in their places, in each division there
epsilon: float = 1.0  # (0, inf) privacy budget of a release of the private margins
n_two: int = 60  # [20, inf) records in the data where the intruder sees two releases
fractions_two: list[float] = [0.5]  # [0, 0.5] shares of the other records known there
n_draws_two: int = 110  # [30, inf) draws kept from each chain that samples unknown records
n_supports: int = 60  # [4, inf) combinations for which the three supports are compared
n_classes: int = 10  # [1, 1000] latent classes, F
burn_in: int = 1000  # [0, inf) iterations dropped from each chain
n_draws: int = 60  # [30, inf) draws kept from each chain
thin: int = 10  # [4, inf) iterations for each draw kept
n_chains: int = 8  # [4, 1000] chains for each set of records
seed: int = 2014  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd
from scipy.stats import betabinom

from srlib import charts, diagnostics, dpmpm
from srlib import risk as disclosure
from srlib.data import distinct, microdata
from srlib.data.schema import Schema
from srlib.display import callout, numbers, show
from srlib.mechanism.bayes import posterior
from srlib.papers import claims
from srlib.papers import intruders as paper
from srlib.papers.ledger import shipped
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)
sections = {"C1": "Knowing less (C1)", "C2": "What ignorance costs the intruder (C2)"}
sections |= {"C3": "One change, two changes, every cell (C3)", "C4": "Margins (C4, equation 17)"}
sections |= {"C5": "The model's own prediction as prior (C5)"}
verdicts = claims.Claims(sections | {"C6": "What is disclosure, what is statistics (C6)"})

# %% [markdown]
# ## Data, model, releases
#
# Half of the records play the part of the confidential data $D$. The other half are people like them who did not
# take part. All are simulated by default, and have nine variables: sex, age, race, schooling, marital status, when
# somebody last worked (`WKL`), disability (`DIS`), health insurance (`HICOV`) and Hispanic origin.

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
dropped = table.schema.positions(without, "without") if without else []
used = Schema(tuple(v for v in table.schema.variables if v.name not in without))
levels, unknown_at = used.n_levels, used.positions(unknown, "unknown")
too_at = [used.positions(names, "unknown_too") for names in unknown_too]
called = paper.titles(used)
callout("Note", " ".join(table.notes))

# %%
everybody = stream(seed, "halves").permutation(np.delete(table.codes, dropped, axis=1))
people = np.array_split(everybody, 2)[0]
combinations, repetitions, _ = distinct(people)
about = {"records": len(people), "cells": used.n_cells, "combinations": len(combinations)}
about |= {"once": (repetitions == 1).sum(), "candidates, one change": 1 + (levels - 1).sum()}
names = {"combinations": "distinct combinations", "once": "of one record"}
about_data = "The data, cells of their table, and candidates that differ in one variable at most."
show(outputs.table("data", pd.DataFrame([about])), caption=about_data, names=names)

# %% [markdown]
# The synthesizer is the Dirichlet process mixture of products of multinomials (DPMPM) of the main
# study. Two synthetic files are released. Chains run on the data and on the data joined with each
# release, since all risks here are ratios of posterior predictive probabilities,
#
# $$p(Z \mid x, D_{-i}) \propto \prod_{l=1}^m \frac{p(x \mid D_{-i}, Z^{(l)})}{p(x \mid D_{-i})}.$$

# %%
chains = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in, n_draws=n_draws, thin=thin, n_chains=n_chains
)
draws = dpmpm.sample_posterior(people, levels, chains, rng=stream(seed, "data"), label="data")
releases = draws.release(2, len(people), rng=[stream(seed, "Z1"), stream(seed, "Z2")])

# %%
joined = [
    dpmpm.sample_posterior(
        np.vstack([people, z]), levels, chains, rng=stream(seed, name), label=name
    )
    for z, name in zip(releases, ["data, release 1", "data, release 2"], strict=True)
]
sets = disclosure.DrawSets(draws, joined)

# %% tags=["monte-carlo"]
given = dict(zip(["data", "data, release 1", "data, release 2"], sets, strict=True))
log_prob = {name: dpmpm.cell_log_prob(d, combinations) for name, d in given.items()}
mixed = pd.DataFrame({name: diagnostics.over_many(v) for name, v in log_prob.items()}).T
mixed = outputs.table("mixing", mixed.rename_axis("chains given").reset_index())
display(show(mixed, caption="R-hat of the log probabilities of all combinations."))
means = {name: values.mean(axis=2) for name, values in log_prob.items()}
outputs.figure("trace", charts.trace(diagnostics.long_format(means)))

# %% [markdown]
# **At the defaults the bands of the chains overlap.** Mean log probability of the combinations in every chain.
#
# Where R-hat is above 1.01, chains have not visited quite the
# same places, and errors within a chain are too small. All standard errors below come from *between*
# chains or between repeated releases, and contain that.
#
# ## Knowing less (C1)
#
# Let $B$ be what a weaker intruder sees, the release and some of the records, and $A$ the further
# records that a stronger one sees. Both are *coherent*: their beliefs are conditional probabilities of
# the same joint distribution of records and release. Given $B$ and $A$ the truth $x$ has the
# distribution $p(\cdot \mid B, A)$, so that
#
# $$\mathrm{E}\left[\log \frac{p(x \mid B, A)}{p(x \mid B)} \,\middle|\, B, A\right]
# = \sum_x p(x \mid B, A) \log \frac{p(x \mid B, A)}{p(x \mid B)} \ge 0,$$
#
# a Kullback–Leibler divergence. Averaged over $A$ and $B$ it is the information that $A$ has about $x$.
# So for a coherent intruder whose model is right it is *proved* that more knowledge does not lower the
# log probability of the truth **on average** (DeGroot 1962). Nothing is said of a single record, nor of
# an intruder with the paper's uniform prior. That intruder takes the known records into account in the
# likelihood, and holds all candidates equally probable a priori whatever these records are. Such
# beliefs belong to no joint distribution in which records resemble each other.
#
# ### The smallest example
#
# One yes/no variable with a uniform prior of its proportion, 20 records and a release of 20. All data
# sets, releases and truths are enumerated with their probabilities under the model.

# %% tags=["public"]
small = outputs.table("knowing_more", paper.knowing_more(20, 20), public=True)
names = {"known": "others known", "own": "the model's own prior", "uniform": "uniform prior"}
names |= {"lower_own": "less probable, own", "lower_uniform": "less probable, uniform"}
about = "Expected log probability of the truth, and how often it is lower if all 19 are known."
display(show(small.iloc[[0, 10, 18]], caption=about, names=names))
titles = "Other records known, of 19", "Expected log probability of the truth"
lines = small.set_index("known")[["own", "uniform"]].rename(columns=names)
outputs.figure("knowing_more", charts.lines(lines, *titles), public=True)

# %% [markdown]
# **The truth becomes more probable as more is known under the model's own prior, and less under the uniform one.**
# Averages over everything that may happen, by the number of other records known.
#
# With the uniform prior, the more other records an intruder knows, the more of what they say is ignored. The table's
# last columns have the probability
# that the truth is *less* probable to the intruder who knows all 19. Even for the coherent intruder it
# is above 40 % if 10 are known or none. Single records for which knowing less means more risk are
# common, and are no sign against the theorem.

# %% [markdown]
# ### Try it: what a release is worth
#
# Both lines start from −0.522: nobody is known, and a release of 20 is seen. Under the model, how many other *records* would have
# to be known, without any release, for the same expected log probability of the truth (`worth`)? Guess before you compute.
#
# *You will need:* the predictive probability of the next value after $n$ records with $c$ ones, $(1 + c)/(2 + n)$.

# %% [markdown] tags=["hint"]
# Under the model the records and the release come from the same proportion. Does the order in which they are seen matter?

# %% [markdown] tags=["hint"]
# After $n$ records each $c$ from 0 to $n$ has probability $1/(n + 1)$. Average $p \log p + (1 - p)\log(1 - p)$ over them, with $p = (1 + c)/(2 + n)$, for some $n$.


# %% tags=["solution"]
def expected_log(n_seen: int) -> float:
    """Expected log predictive probability of the next value after that many records."""
    after = (1 + np.arange(n_seen + 1)) / (2 + n_seen)
    return float(np.mean(after * np.log(after) + (1 - after) * np.log(1 - after)))


worth = 20
assert np.isclose(expected_log(worth), paper.knowing_more(20, 20)["own"][0])
assert worth == 20

# %% [markdown] tags=["solution"]
# Records and released records are exchangeable under the model: to one who knows nobody, a release of 20 is a sample of 20. Of
# an outsider it tells as much as 20 neighbors do.

# %% [markdown]
# ### The experiment
#
# A single division of people into participants and outsiders says little, since the groups differ in how
# predictable their people are. So people are divided again and again. One half takes part, and a release
# is drawn. Everybody is sought in turn by an intruder who knows a share of the data (without the record
# that is sought), sees the release, and lacks the variables in `unknown`. Then the halves change places,
# with a release of their own, so that in each pair of divisions everybody is a participant once and an
# outsider once.

# %% tags=["monte-carlo"]
short = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in_pairs, n_draws=n_draws_pairs, thin=max(thin * 4 // 5, 1)
)
divided = disclosure.participation(
    everybody, levels, unknown_at, fractions, n_pairs=n_pairs, chains=short,
    rng=stream(seed, "divisions"),
)  # fmt: skip

# %% tags=["monte-carlo"]
outputs.table("divisions", divided.table)
r_hat = divided.table.groupby("share_known")["r_hat"].quantile([0.5, 1]).unstack().reset_index()
about = "R-hat of the mean log probability over everybody, by the share of others known."
show(paper.for_readers(r_hat, {0.5: "median", 1.0: "largest"}), caption=about)

# %% [markdown]
# The chains are short. At the defaults most of
# those with all other records known do not agree to within 1.01. Their Monte Carlo error is part of the
# errors below, which come from between pairs.

# %% tags=["monte-carlo"]
averages = outputs.table("dial", divided.averages())
columns = {"group": "group", "before": "before", "after": "after"}
columns |= {"after_uniform": "after, uniform prior"}
about = "Mean log probability of the true values, before and after the release."
show(paper.for_readers(averages, columns), caption=about)

# %% tags=["monte-carlo"]
less = outputs.table("knowing_less", divided.knowing_less())
columns = {"uniform": "uniform prior", "own": "own prior"}
columns |= {"calibrated": "own prior, if calibrated"}
about = "Log probability of participants' truths, less that to one who knows all others."
show(paper.for_readers(less, columns), caption=about)

# %% [markdown]
# Errors are from between pairs. If the stronger intruder's beliefs are
# calibrated, the difference is minus the mean divergence of the formula above, in the column *if
# calibrated*; Monte Carlo errors of the two beliefs make that a little too large.
#
# **C1** is judged by these differences for the intruder who knows least. Under a prior it holds if the
# difference is below zero by two standard errors, and it fails if it is above. Where it fails under one
# of the two priors alone, it depends on the prior. For how many *single* records is the risk higher
# with less knowledge? One release and longer chains, for participants:

# %% tags=["monte-carlo"]
knows_none = disclosure.partial_knowledge(
    people[:0], len(people) - 1, releases[:1], levels, people, unknown_at, left_out=False,
    chains=chains, rng=stream(seed, "knows nobody"), label="knows nobody",
)  # fmt: skip
of_all = [disclosure.subset_log_means(d, people, unknown_at) for d in (draws, joined[0])]
means = {"an intruder who knows nobody": knows_none.traces[0].mean(axis=2)}
diagnostics.verdict(diagnostics.summary(means))

# %% tags=["monte-carlo"]
priors = {"uniform": False, "the model's own": True}
compared = {
    name: (
        knows_none.risk(model_prior=own), disclosure.predictive_ratio(of_all, model_prior=own)
    )
    for name, own in priors.items()
}  # fmt: skip

# %% tags=["monte-carlo"]
single = outputs.table("higher_knowing_nothing", paper.single_records(compared))
outputs.result("higher_knowing_nothing_uniform", single["higher"].iloc[0])
about = "Share of participants whose truth is more probable to one who knows nobody."
display(show(single, caption=about, names=paper.OF_SINGLE))
verdicts.say("C1", paper.safe_knowing_less(divided, single))

# %% [markdown]
# The last column is the yardstick. A calibrated stronger intruder is behind for the share given
# there, which is an expectation over truths drawn from that intruder's beliefs. A share far above it
# is a sign of beliefs that are not calibrated.

# %% [markdown] tags=["written"]
# ### Exercise 1: an acceptable risk
#
# Section 3.1 of the paper says that risks deemed acceptable for an intruder who knows $D_{-i}$ should
# be so for one who knows less. Take one yes/no variable with a uniform prior of its proportion. The
# record at risk is a *no*; of the 19 others 6 are a *yes*, and so are 6 of the 20 released ones. What is
# the posterior probability of the truth, to three decimal places, for an intruder who knows all of the 19
# and thinks both values of the record equally probable a priori (`with_even_prior`); for one who knows
# the 19 and takes the model's prediction from them as prior (`with_own_prior`); and for one who knows none
# and believes the model (`knows_nobody`)? Now let 2 of the 20 released ones be a *yes* instead of 6. For which of the
# two does the paper's sentence hold then (`holds_even`, `holds_own`, true or false), and why?
#
# *You will need:* `betabinom.pmf`; predictive probabilities $(1 + \text{how many})/(2 + \text{of how many})$.

# %% [markdown] tags=["hint"]
# If the record is a *no*, 6 of the 20 records are a *yes*; if it is a *yes*, 7 are. What is the probability of the release in either case?

# %% [markdown] tags=["hint"]
# `betabinom.pmf(6, 20, 1 + 6, 1 + 14)` if it is a *no*. The prior from the 19 is 14/21. An intruder who knows nobody sees the 20 released records alone.


# %% tags=["solution"]
def beliefs(of_released: int) -> tuple[float, float, float]:
    """Probability of a no: even prior, own prior, nobody known."""
    if_no, if_yes = betabinom.pmf(of_released, 20, [1 + 6, 1 + 7], [1 + 14, 1 + 13])
    prior_no = (1 + 13) / (2 + 19)
    own_prior = prior_no * if_no / (prior_no * if_no + (1 - prior_no) * if_yes)
    return if_no / (if_no + if_yes), own_prior, (1 + 20 - of_released) / (2 + 20)


with_even_prior, with_own_prior, knows_nobody = beliefs(6)
holds_even, holds_own = (beliefs(2)[2] <= known for known in beliefs(2)[:2])
assert round(with_even_prior, 3) == 0.519
assert round(with_own_prior, 3) == 0.683
assert round(knows_nobody, 3) == 0.682
assert not holds_even
assert not holds_own

# %% [markdown] tags=["solution"]
# With 6 released *yes* it holds for the model's own prior, with .683 against .682, and fails for the even one. The even prior
# throws away what the 19 say of the proportion, and the likelihood has only what one more record does to
# a release from a proportion that is known already. The intruder who knows none learns the proportion
# from the release instead. With the model's own prior the intruder who knows the 19 has that proportion
# and the release, 28 of 41 in $(1 + 13 + 14) / (2 + 19 + 20)$. With 2 released *yes* it fails for both, for the own prior
# with .780 against .864. The theorem orders averages over truths and releases alone.

# %% [markdown]
# ## What is disclosure, what is statistics (C6)
#
# What the release tells of outsiders is statistics. What it tells of participants beyond that is due to
# their taking part, as in membership inference (Shokri and others 2017). The theorem gives the sign. If
# all of $D_{-i}$ is known, a coherent intruder gains on average for participants. For outsiders the
# release is a function of $D$ and of chance, so that $p(x \mid D)$ is already right: an intruder who takes
# an outsider for a participant, and updates, loses on average. In the divisions above:

# %% tags=["monte-carlo"]
gain = outputs.table("beyond", divided.beyond()).rename(columns={"se": "difference_se"})
columns = {"difference": "participants less outsiders", "single": "spread of one division"}
columns |= {"se_people": "from other people"}
about = "Gain of participants, log of posterior over informed prior, less that of outsiders."
display(show(paper.for_readers(gain, columns), caption=about))
paper.participants_beyond(divided)

# %% [markdown]
# One division
# that is used once may show a difference of either sign. The mean of both uses is free of who is
# predictable, since each person stands on both sides. The errors are between pairs and hold for these
# people; the last column is by how much other people of the same population would move the difference
# (one standard error). A difference *before* the release, beyond its error, would be a sign that a
# participant's own record is not quite left out.

# %% [markdown]
# ### Exercise 2: which sentence does the table not support?
#
# One division of 600 people, one release. The table has geometric means of the probability of the truth,
# with everything else known; the standard error of the log of the ratio of the two groups is .11 before
# and after.
#
# | | participants | outsiders |
# |---|---|---|
# | before the release | .246 | .189 |
# | after the release | .253 | .186 |
#
# A: "After the release the truth is more probable for these participants than for these outsiders." B:
# "Taking part makes the truth more probable by a third." C: "The release moves either group's mean by less
# than 4 %." Which one does the table not support (`unsupported`)? Which part of the log ratio after the
# release was there before it (`there_before`, two decimal places)?
#
# *You will need:* logarithms of the ratios of two columns.

# %% [markdown] tags=["hint"]
# For B, look at the first row: who has taken part in what the intruder sees before the release?

# %% [markdown] tags=["hint"]
# The log ratio before the release is $\log(.246/.189)$. Divide it by the one after.

# %% tags=["solution"]
unsupported = "B"
there_before = np.log(0.246 / 0.189) / np.log(0.253 / 0.186)
assert unsupported == "B"
assert round(there_before, 2) == 0.86

# %% [markdown] tags=["solution"]
# Before the release nobody has taken part in anything that the intruder sees, and the groups differ
# by .26 of the .31 already. What participation may have added is the difference of the two, .04.
# Against the error of .11 that is little, but most of that error is who the people are, and they are
# the same before and after. So compare the changes, whose error is not stated here and should be
# smaller, in both directions of the division.

# %% [markdown] tags=["written"]
# ### Exercise 3: each half twice
#
# Four pairs of divisions. In each pair the first half takes part, then the second. Participants less
# outsiders, in log probability: (.12, −.11), (.00, .08), (.28, −.13), (−.05, .19). What are the estimate
# (`difference`), its standard error from between pairs (`error_pairs`), and the one that takes the eight
# for independent (`error_eight`)? Four decimal places. Why do they differ?
#
# *You will need:* standard errors of a mean, of four numbers and of eight.

# %% [markdown] tags=["hint"]
# What is the mean of each pair? These four are independent of each other.

# %% [markdown] tags=["hint"]
# Within a pair one half is in the other's place. What does a half of predictable people do to either member?

# %% tags=["solution"]
eight = np.array([[0.12, -0.11], [0.00, 0.08], [0.28, -0.13], [-0.05, 0.19]])
difference = eight.mean()
error_pairs = eight.mean(axis=1).std(ddof=1) / np.sqrt(4)
error_eight = eight.std(ddof=1) / np.sqrt(8)
assert round(difference, 4) == 0.0475
assert round(error_pairs, 4) == 0.0161
assert round(error_eight, 4) == 0.0515

# %% [markdown] tags=["solution"]
# How predictable the halves are enters the two members of a pair with opposite signs, so that they are
# negatively correlated and their mean is free of it. Errors that ignore this are three times too large.
# The plan is that of a crossover trial: everybody is treated once and goes untreated once.

# %% [markdown]
# ### Any synthesizer
#
# Let $i$ hold a place in $D$ and let $o$ be an outsider. The halves are drawn at random: given $D_{-i}$,
# either of the two could as well hold the place. Releases then have the density $p_i$ or $p_o$. Let
# $s_i(Z)$ and $s_o(Z)$ be any scores that an intruder who knows $D_{-i}$ gives the two. Over both cases
# participants are ahead by
#
# $$\tfrac12 \sum_Z \left[p_i(Z) - p_o(Z)\right] \left[s_i(Z) - s_o(Z)\right]$$
#
# on average, and by nothing if the release does not depend on who holds the place. Take an intruder who
# computes with a uniform prior over $k$ candidates, and $Q_i$ for the mean density over those of $i$. The
# log gain is $s_i = \log p_i / Q_i$. Where the known values of the two agree, $Q_i = Q_o = Q$, and the
# difference is half the symmetrized Kullback–Leibler divergence of $p_i$ and $p_o$; elsewhere a pair may have
# either sign. It is infinite where a release rules out an outsider's true values, as those of trees do.
# The probability of the truth, $s_i = p_i / (k Q_i)$, stays finite: the difference is $\sum_Z (p_i - p_o)^2 /
# (2 k Q)$ where known values agree, and at most $\tanh(\epsilon / 2)$ under $\epsilon$-differential privacy.
# Synthesizers are compared by this probability.
#
# Two intruders start from $1/k$ for all values. One knows *all others*, takes either person for the one
# who holds the place, and computes $p(Z \mid D_{-i}, x)$, exactly but for the mixture. The other knows
# *nobody*, takes a release for a sample of the population, and predicts the unknown values of everybody by
# large smoothed trees grown on it.

# %% tags=["monte-carlo"]
quick = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in_pairs // 2, n_draws=max(n_draws_pairs // 2, 30),
    thin=short.thin,
)  # fmt: skip
compared = disclosure.taking_part(
    everybody, levels, unknown_at, paper.synthesizers(used, quick, epsilon),
    paper.reader(used, unknown), numbers_released, n_pairs=n_pairs, n_places=n_places,
    rng=stream(seed, "synthesizers"),
)  # fmt: skip

# %% tags=["monte-carlo"]
told_of = outputs.table("taking_part", compared.numbers())
outputs.table("taking_part_log", compared.numbers("gain"))
about = "Probability of the truth for outsiders, and by how much it is higher for participants."
display(show(paper.in_short(told_of), caption=about))
verdicts.say("C6", paper.tells_outsiders_as_much(told_of, compared.prior))

# %% [markdown]
# Errors are from between pairs. *Ruled out* are outsiders whose true values the intruder holds impossible; *no
# candidate*, those of whom all values are, so that the belief stays at the prior. What the intruder who
# knows nobody finds out of outsiders is statistics. The other one knows these already, and the outsiders'
# number there speaks of the record that does hold the place. **C6** holds for a synthesizer if
# participants are ahead by less than 0.05, one record in twenty, to the intruder who knows all others.

# %% [markdown]
# ### Try it: a bound and a measurement
#
# The private margins are released with $\epsilon = 1$. How far ahead can participants be by that alone (`most_ahead`, two
# decimal places)? Before you compute: does the measured difference in the table come near it?
#
# *You will need:* the bound at the end of [Any synthesizer](#Any-synthesizer).

# %% [markdown] tags=["hint"]
# The bound is $\tanh(\epsilon/2)$.

# %% [markdown] tags=["hint"]
# `np.tanh(0.5)`

# %% tags=["solution"]
most_ahead = np.tanh(1.0 / 2)
assert round(most_ahead, 2) == 0.46

# %% [markdown] tags=["solution"]
# A bound of .46 stands beside a difference that is less than a thousandth at the defaults. The bound covers the worst data, person and
# reader of the release; the noise of a whole table of margins hides one person of three hundred much better.

# %% [markdown]
# ### More people, more releases
#
# First the difference of log gains for one yes/no answer, exactly; then the comparison above at other
# sizes and with five releases, by `params/intruders/sweep_participation.yaml`.

# %% tags=["public"]
about = "What taking part adds to the log gain for one yes/no answer, exactly."
one_answer = outputs.table("one_answer", paper.one_answer([10, 100, 1000]), public=True)
display(show(one_answer, caption=about))
origin, swept = shipped("intruders_participation")
about = "Disclosure: participants ahead, to the intruder who knows all others."
display(show(paper.by_size(swept, "all others", "difference", "se"), caption=about))
about = "Statistics: probability of the truth for outsiders, to the intruder who knows nobody."
display(show(paper.by_size(swept, "nobody", "outsiders", "outsiders_se"), caption=about))
display(callout("Note", origin))
value, error = paper.curves_by_size(swept, 5)
titles = "Participants (as many outsiders)", "Probability of the truth, ahead of outsiders"
with_size = charts.lines(value, *titles, log_x=True, log_y=True, errors=error)
outputs.figure("with_size", with_size)

# %% [markdown]
# **More people hide a participant quickly among independent margins, more slowly in the mixture, and little or not in
# trees.** Five releases; rules reach two standard errors to each side.

# %% tags=["public"]
paper.with_size(swept, 5)

# %% [markdown]
# The exact differences fall as one over the number of people, and drawing
# the share halves them; in a tree the number that counts is that of a leaf. Five releases make small differences about
# five times as large, and outsiders are told no less in larger data. The people are others at each size.

# %% [markdown]
# ## What ignorance costs the intruder (C2)
#
# The intruder knows a part $K$ of the other records and lacks the rest, $U$. The agency drew each
# $\theta_l$ from $p(\theta \mid D)$ with $D = (K, U, x)$; the intruder takes $D$ for a sample from
# the model. With $m(\cdot)$ the marginal likelihood of records,
#
# $$p(x, U \mid K, Z) \propto m(D) \prod_{l=1}^m \frac{m(D, Z^{(l)})}{m(D)}
# = m(D)^{1-m} \prod_{l=1}^m m(D, Z^{(l)}) .$$
#
# For one release this is $m(K, U, x, Z)$. Records and release are exchangeable, $U$ sums out, and
# what is left is $p(x \mid K, Z)$: fit the model to the known records joined with the release, on at
# most as many records as the intruder fits who knows all. For one release, then, it is *proved* that
# ignorance costs nothing. For more releases the factor stays. They depend on each other through the
# unknown records, and those have to be sampled.
#
# ### The smallest example with several releases
#
# One yes/no variable, 20 records of which 6 are ones, three releases with 3, 7 and 11 ones among
# 20. The intruder sums over the number of ones among the unknown. Two shortcuts are tried: releases taken
# as *independent* given what is known multiply $p(x \mid K, Z^{(l)}) / p(x \mid K)$; *pooled* they are one
# release of 60 records. A sampler that carries the unknown records along has to find the exact line.

# %% tags=["monte-carlo"]
ones = np.repeat([0, 1], [14, 6])[stream(seed, "small order").permutation(20)]
small = paper.one_variable(ones, [3, 7, 11]).set_index("known")
for known in (0, 10):
    found = paper.one_variable_sampled(ones, [3, 7, 11], known, stream(seed, f"small {known}"))
    small.loc[known, ["sampled", "error"]] = found

# %% tags=["monte-carlo"]
titles = "Other records known, of 19", "Probability that the record is a one"
lines = small[["exact", "independent", "pooled", "sampled"]]
outputs.table("smallest_fraction", small.reset_index())
outputs.figure("smallest_fraction", charts.lines(lines, *titles))

# %% [markdown]
# **Taking releases as independent is far off where nothing is known, and pooling them is not.** Probability of a one,
# exactly and by two shortcuts; the sampler was tried at 0 and 10.

# %% tags=["monte-carlo"]
apart = (np.abs(small["sampled"] - small["exact"]) / small["error"]).max()
alone = paper.one_variable(ones, [3])
gap = np.abs(alone["pooled"] - alone["exact"]).max()
callout(
    "Against exact sums",
    f"The sampler is at most {apart:.1f} standard errors from the exact line. For the first "
    f"release alone, summing and fitting differ by at most {numbers([gap], 1)[0]}.",
)

# %% [markdown]
# Independence is right where
# everything is known, at 19. Where nothing is known each release tells of the
# population, and tells the same. Pooling forgets that each release came from a draw of its own.
#
# For the DPMPM the unknown records are sampled with the parameters behind each release. The factor
# $m(D)^{1-m}$ is met by draws from $p(\theta \mid D)$ in the acceptance ratio: the exchange algorithm of
# Murray, Ghahramani and MacKay (2006). With more than one class these draws come from a chain of their
# own (Liang 2010), and the result is as good as that chain mixes. The library's tests compare it with
# enumeration.

# %% [markdown]
# ### Exercise 4: nothing to sample
#
# Of 20 records an intruder knows ten, four of which are ones, and sees one release of 20 records with five
# ones. Compute the probability that one of the unknown records is a one by summing over the number of
# ones among the nine others that are unknown (`summed`), and by fitting the model to the known records
# joined with the release (`fitted`). Four decimal places.
#
# *You will need:* `betabinom.logpmf` and `np.logaddexp.reduce`, or patience.

# %% [markdown] tags=["hint"]
# `fitted` needs no sum: one more than the ones, over two more than the records.

# %% [markdown] tags=["hint"]
# For `summed`, take the sought record as a one or a zero, and $u = 0, \ldots, 9$ ones among the others. Multiply the probability of $u$ given what is known by that of the release given the whole data.

# %% tags=["solution"]
u = np.arange(10)  # ones among the nine other unknown records
log_m = {}
for one in (0, 1):
    given_known = betabinom.logpmf(u, 9, 1 + 4 + one, 1 + 6 + (1 - one)) + np.log((7, 5)[one])
    of_data = 4 + one + u
    of_release_one = betabinom.logpmf(5, 20, 1 + of_data, 1 + 20 - of_data)
    log_m[one] = np.logaddexp.reduce(given_known + of_release_one)
summed = 1 / (1 + np.exp(log_m[0] - log_m[1]))
fitted = (1 + 4 + 5) / (2 + 10 + 20)
assert round(summed, 4) == 0.3125
assert round(fitted, 4) == 0.3125

# %% [markdown] tags=["solution"]
# Data and release are exchangeable under the model: the joint probability of known, unknown, sought and
# released records depends on the total number of ones alone. Summing it over the unknown ones leaves the
# probability of the others, from which they have dropped out. With two releases this is no longer so:
# the releases are drawn from two parameters given the *same* data, and the factor $m(D)^{-1}$ has the
# unknown records in it.

# %% [markdown]
# ### Exercise 5: many releases
#
# Of 20 records the intruder knows ten, four of which are ones, and believes the model. There are 20
# releases of 20 records, each with three ones. With which probability is one of the unknown records a
# one: exactly (`exact`), and if the releases are `pooled` to one of 400 records? Four decimal places. Predict first which
# of the two is larger.
#
# *You will need:* the sum of [Exercise 4](#Exercise-4:-nothing-to-sample), with the release's term twenty times; `posterior`.

# %% [markdown] tags=["hint"]
# Given the whole data the releases are independent of each other: their log probabilities add up.

# %% [markdown] tags=["hint"]
# Given data with $t$ ones a release has `betabinom.logpmf(3, 20, 1 + t, 1 + 20 - t)`. Pooled, the answer is $(1 + 4 + 60)/(2 + 10 + 400)$.

# %% tags=["solution"]
others, of_values = np.arange(10), []
for one, of_known in ((0, 6), (1, 4)):
    given_known = betabinom.logpmf(others, 9, 1 + 4 + one, 1 + 6 + (1 - one))
    given_known += np.log(of_known + 1)
    total = 4 + one + others
    of_release = betabinom.logpmf(3, 20, 1 + total, 1 + 20 - total)
    of_values.append(np.logaddexp.reduce(given_known + 20 * of_release))
exact = np.exp(posterior(np.array(of_values)))[1]
pooled = (1 + 4 + 20 * 3) / (2 + 10 + 20 * 20)
assert round(exact, 4) == 0.0019
assert round(pooled, 4) == 0.1578

# %% [markdown] tags=["solution"]
# Many releases pin down how many ones the 20 records have: four at least, since four are known, and three
# would fit best. So hardly any of the unknown ones is one. To the pooled intruder the releases are 400
# further people with a share of 0.15, and the known records count for little among them.

# %% [markdown]
# ### Two releases
#
# The file is small, so that the chains over unknown records can be run until they nearly agree. The
# intruder seeks the second half of its people and knows some of the others.

# %%
longer = dpmpm.Chains(
    n_classes=n_classes, burn_in=max(burn_in * 2 // 5, 1), n_draws=n_draws_two, thin=3 * thin,
    n_chains=n_chains,
)  # fmt: skip

# %%
few = people[:n_two]
ways = [
    paper.several_releases(
        few, round(share * len(few)), levels, unknown_at, 2, fitted=chains, sampled=longer,
        rng=stream(seed, f"two releases, {share:g}"),
    )
    for share in fractions_two
]  # fmt: skip

# %% tags=["monte-carlo"]
ways = outputs.table("two_releases", pd.concat(ways, ignore_index=True))
about = "Log probability of the truth by four ways to treat two releases."
display(show(ways, caption=about))
verdicts.say("C2", paper.needs_sampling(ways))

# %% [markdown]
# Distances are from the chains
# that sample the unknown records, and the errors are medians over the people sought. The last column
# is the cost, without the clock of any machine: iterations of a chain, those dropped included, for
# each effective draw of the mean log probability. **C2** depends on the number of releases if the
# best shortcut is off by more than two errors, where it is worst, and sampling takes more than twice
# the iterations of a fit. Nothing is decided if R-hat is above 1.05. With more records each pass over
# the unknown ones is longer.
#
# ## One change, two changes, every cell (C3)
#
# With likelihoods $w(x) = p(Z \mid x, D_{-i})$ and a uniform prior the truth has probability
# $w(x_i) / \sum_{x \in S} w(x)$ over a support $S$. If $S$ grows, the sum can only grow, and so can the
# number of candidates above the truth. That is the paper's argument; it needs no data, and the claim
# is *proved* of probability and rank. Against the prior it is another matter.

# %% [markdown]
# ### Try it: a fourth cell
#
# Three cells compete over one change, with weights 1 (the truth), 1.2 and 0.5: the truth has $1/2.7 = .37$, that is 1.11
# times the prior's $1/3$. A larger support adds a cell of weight 0.4. Does the ratio to the prior rise or fall, and to
# what (`ratio_of_four`, two decimal places)?
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# Do the probability and the prior one after the other.

# %% [markdown] tags=["hint"]
# The probability is $1/3.1$, the prior $1/4$.

# %% tags=["solution"]
ratio_of_four = 1 / (1 + 1.2 + 0.5 + 0.4) * 4
assert round(ratio_of_four, 2) == 1.29

# %% [markdown] tags=["solution"]
# The probability falls to $1/3.1 = .32$, and the ratio rises to 1.29: the prior falls more.

# %% [markdown] tags=["written"]
# ### Exercise 6: one more candidate
#
# A release speaks for three cells with weights 1 (the truth), 1.2 and 0.5; the prior is uniform. A fourth
# cell is added. From which `weight` of it on does the truth's ratio to the prior fall, and what is the rule?
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# Write the ratio to the prior as the truth's weight over a mean.

# %% [markdown] tags=["hint"]
# The mean of three weights falls or rises with a fourth. When does it stay?

# %% tags=["solution"]
weight = (1 + 1.2 + 0.5) / 3
assert np.isclose(weight, 0.9)

# %% [markdown] tags=["solution"]
# The ratio is the truth's weight over the mean weight of the candidates. It falls if the new weight is
# above that mean, so a larger support is the safer one only where it adds better candidates than the
# average of those it has.

# %% [markdown]
# ### Three supports
#
# The same draws, for combinations spread over the risk under one change:

# %% tags=["monte-carlo"]
log_ratios = [disclosure.neighborhood_log_ratios(d, combinations)[0] for d in sets]
by_risk = np.argsort(-disclosure.predictive_ratio(log_ratios).log_prob[:, 0])
chosen = by_risk[np.linspace(0, len(by_risk) - 1, min(n_supports, len(by_risk))).astype(int)]
log_ratios, chosen = [ratios[:, chosen] for ratios in log_ratios], combinations[chosen]

# %% tags=["monte-carlo"]
one_change = disclosure.predictive_ratio(log_ratios)
two_changes = paper.over_changes(sets, chosen, 2)
whole = disclosure.whole_support(sets, chosen, margins=[unknown_at])
supports = paper.compare_supports(one_change, two_changes, whole, used.n_cells)
about = "Three supports: medians over combinations, and the largest ratio to the prior."
show(outputs.table("supports", supports), caption=about)

# %% [markdown]
# The probability can only fall. What the
# release multiplies the prior by need not, nor need the share of candidates above the truth.

# %% tags=["monte-carlo"]
one_log = one_change.log_prob[:, 0] + np.log(one_change.support_size)
all_log = np.log(whole.probability * used.n_cells)
pictured = pd.DataFrame({"x": np.exp(one_log), "y": np.exp(all_log)})
titles = [f"posterior over prior, {support}" for support in ("one change", "every cell")]
outputs.figure("one_change_every_cell", charts.agreement(pictured, *titles))

# %% [markdown]
# **Over every cell some combinations show more than over one change, and others less.** What the release multiplies
# the prior probability of the truth by; above the line the larger support shows more. An agency that reads ratios to the prior cannot
# call the small support the safe one.

# %% tags=["monte-carlo"]
outputs.result("ratio_higher_over_every_cell", (all_log > one_log).mean())
errors = one_change.log_mcse[:, 0], whole.log_mcse
verdicts.say("C3", paper.conservative(one_log, all_log, *errors))

# %% [markdown]
# ### Margins (C4, equation 17)
#
# Summing over all cells that share the true values of the variables `unknown` gives the posterior
# probability of those values. Over one change the same sum runs over the neighbors. Of these only
# $\sum (L_k - 1)$ change one of the variables $k$ in question, with $L_k$ levels each, and all others
# share the true values by construction. That share is the prior, and its inverse bounds what a
# release can multiply it by: where that is below 1.5, only a fall can be large. **C4** holds for a
# combination if the release leaves the probability of the true values within a factor of 1.5 of it.

# %% tags=["monte-carlo"]
neighbors = disclosure.neighborhood(chosen, levels)
agree = (neighbors[..., unknown_at] == chosen[:, None, unknown_at]).all(axis=2)

# %% tags=["monte-carlo"]
margins = paper.compare_margins(one_change, agree, whole, chosen[:, unknown_at], levels[unknown_at])
about = "Probability of the true values of the unknown variables: quantiles over combinations."
show(outputs.table("margins", margins), caption=about)

# %% tags=["monte-carlo"]
gain = disclosure.margin_gain(log_ratios, agree)
verdicts.say("C4", paper.says_little(*gain, prior=agree[0].mean()))

# %% [markdown]
# Over every cell the prior is one over the number of values. How far the posterior moves from there
# says what an intruder who knows nothing else about the record learns about these variables.

# %% [markdown]
# ### Exercise 7: right by construction
#
# The paper's intruder considers 35 combinations of 14 variables, the truth and those that differ from
# it in one variable. Asked when the person last worked, for disability, health insurance and the home a year ago, with 3, 2, 2 and 3 levels, this intruder adds up
# the candidates that have their true values. What is that share `before` any release, to three decimal
# places, and what would be a `guess` among all values of the four?
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# Count the candidates that change one of the four.

# %% [markdown] tags=["hint"]
# A variable with 3 levels can be changed in two ways. There are 36 combinations of values.

# %% tags=["solution"]
before, guess = 1 - sum(n - 1 for n in (3, 2, 2, 3)) / 35, 1 / (3 * 2 * 2 * 3)
assert round(before, 3) == 0.829
assert round(guess, 3) == 0.028

# %% [markdown] tags=["solution"]
# Only 2 + 1 + 1 + 2 = 6 of the 35 candidates change one of the four variables. All others change another
# variable, or none, and are right about these four. No release can raise .829 by more than a factor of
# 1.21, so the reduced support cannot say whether the four were disclosed.

# %% [markdown]
# ## The model's own prediction as prior (C5)
#
# Now the intruder knows all of the record but a few variables (the paper's equation 16), and all of their
# combinations are candidates. Its section 5 proposes the model's own prediction $p(x \mid D_{-i})$ as prior:
# where posterior and prior hardly differ, the release does not meaningfully add to the risk. In
#
# $$p(x \mid D_{-i}, Z) \propto p(x \mid D_{-i})^{1-m} \prod_{l=1}^m p(x \mid D_{-i}, Z^{(l)})$$
#
# prior and likelihood use the same chains, so that the Monte Carlo error of $p(x \mid D_{-i})$ counts
# $m - 1$ times. **C5** holds for a combination if posterior and prior of the truth are within a factor of
# 1.5.

# %% tags=["monte-carlo"]
flat, informed = {}, {}
for at in [unknown_at, *too_at]:
    name = ", ".join(called[used.names[k]] for k in at)
    of_part = [disclosure.subset_log_means(d, combinations, at) for d in sets]
    flat[name] = disclosure.evidence(of_part)
    informed[name] = disclosure.evidence(of_part, model_prior=True)

# %% tags=["monte-carlo"]
main = next(iter(informed))
pictured = informed[main].rename(columns={"prior": "x", "probability": "y"})
titles = "before the release: the model given all others", "after the release"
outputs.figure("informative_prior", charts.agreement(pictured, *titles))

# %% [markdown]
# **Combinations differ more by what the other records say of them than by what the release adds.** Probability of the
# true values of the unknown variables, before and after. Off the line the
# release has moved them, or Monte Carlo error has.
#
# For all sets of unknown variables, and under the uniform prior:

# %% tags=["monte-carlo"]
told = {"uniform": flat, "the model's own": informed}
about = "Probability of the true values before and after, and shares of combinations moved."
show(outputs.table("informative_prior", paper.compare_priors(told)), caption=about)

# %% tags=["monte-carlo"]
outputs.result("moved_largest_share", paper.most_moved(informed))
verdicts.say("C5", paper.adds_little(informed))

# %% [markdown]
# Which prior one starts from matters for the judgment: at the defaults the uniform one has more
# combinations beyond a factor of 1.5 than the model's own for two of the three sets. For disability alone both
# have too few to compare. The uniform prior sets out from the same probability for every record,
# whatever the other records say.
#
# McClure and Reiter's regions of $R$ and $RR$ apply to these risks, too; the guide on rules
# (`docs/guide/rules.md`) shows how to compute the share of records outside.

# %% [markdown]
# ### Try it: a prior near one
#
# An intruder who knows all others gives the true answer on disability a probability of .88 before the release. By how much can any release
# multiply it at most (`at_most_by`, two decimal places)? From which prior on (`never`, two decimal places) can a factor of 1.5 never be
# exceeded upwards?
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# A probability is at most one.

# %% [markdown] tags=["hint"]
# One over the prior.

# %% tags=["solution"]
at_most_by, never = 1 / 0.88, 1 / 1.5
assert round(at_most_by, 2) == 1.14
assert round(never, 2) == 0.67

# %% [markdown] tags=["solution"]
# A limit on the ratio does not bind where the prior is near one. A limit on the difference hardly binds where it is near
# zero: .01 may become .05.

# %% [markdown]
# ### Open question: whose risk should an agency report?
#
# An agency can compute the risk of one release for intruders who know all other records, a tenth, or
# none, under a uniform prior or the model's own, for participants and for outsiders. It may publish one
# number. Which one, and what would you print beside it?

# %% [markdown] tags=["solution"]
# A good answer says which decision the number is for. To decide on the release, the relevant quantity is
# what taking part adds: participants less outsiders, or the gain over the informed prior of an intruder
# who knows all others, with its error over releases, and its tail over records beside the mean. It says
# why a posterior probability alone will not do, since most of it may be statistics, and why the uniform
# prior with all others known mixes the two. It notes that the model is assumed to be right, so that the
# theorem's order of intruders and the reported risk may both fail for another model, and proposes a check:
# calibration, or an intruder with a second model.

# %% [markdown]
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
sought = min(n_pairs * n_places, len(people))
verdicts.in_public(len(people), C2=len(few) - len(few) // 2, C6=sought)

# %% [markdown]
# **Limits of this run.** At its defaults the population is embedded, the variables are few, and the
# records some hundreds. The model is the synthesizer's own, known to the intruder. Several
# releases to an intruder with unknown records are tried on a small file only, and they are two.

# %% [markdown]
# ## To go on
#
# - Show that for $m = 1$ and the model's prior over every cell, posterior and prior of a record are
#   harmonic means of $p(x_i \mid \theta)$.
# - Set `fractions: [0, 0.02, 0.05, 0.1, 1]`. How many known records are worth one release?
# - Take the margins of $D_{-i}$ as prior for all synthesizers. Which columns of C6's table change?
#
# ## References
#
# - DeGroot, M. H. (1962). Uncertainty, information, and sequential experiments. *Annals of Mathematical
#   Statistics* 33, 404–419. <https://doi.org/10.1214/aoms/1177704567>
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic categorical
#   data. In *Privacy in Statistical Databases*, 185–199. <https://doi.org/10.1007/978-3-319-11257-2_15>
# - Liang, F. (2010). A double Metropolis–Hastings sampler for spatial models with intractable
#   normalizing constants. *Journal of Statistical Computation and Simulation* 80, 1007–1022.
#   <https://doi.org/10.1080/00949650902882162>
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Murray, I., Ghahramani, Z. and MacKay, D. J. C. (2006). MCMC for doubly-intractable distributions.
#   *Proceedings of the 22nd Conference on Uncertainty in Artificial Intelligence*, 359–366.
#   <https://doi.org/10.48550/arXiv.1206.6848>
# - Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks against
#   machine learning models. *IEEE Symposium on Security and Privacy*, 3–18.
#   <https://doi.org/10.1109/SP.2017.41>
