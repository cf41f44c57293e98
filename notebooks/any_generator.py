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
# # A test of releases finds large leaks, and its silence proves nothing
#
# A companion to **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully
# synthetic categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# Hu, Reiter and Wang compute an intruder's posterior probability of a record's true values from the
# probability of the release. For a neural network or a commercial tool nobody can write that probability down. What
# can be said about a generator that can only be run?
#
# The intruder is the paper's: all records but one are known, and how the generator works. Whoever owns
# the data can run the generator on them, and on the same data with one record changed. A test that tells
# the two kinds of releases apart shows that releases tell something of this record. Its error rates have
# exact confidence limits, and from these follow *lower* bounds on what a release gives away. Here the
# bounds are compared with exact values, on generators whose probabilities are known.
#
# | claim | |
# |---|---|
# | **C1** | A test between releases finds most of what they give away. |
# | **C2** | Where the test finds nothing, releases tell nothing. |
# | **C3** | A generator that breaks the epsilon it claims is caught. |
# | **C4** | A generator that keeps its epsilon is accused no more often than stated. |
# | **C5** | Generators that keep an epsilon leave the truth near its prior. |
# | **C6** | Generators of the same epsilon are equally useful. |
#
# The claims are what users of such tests and of such generators may hope for. Verdicts are computed from
# this run and stand where they are decided.
#
# **You will learn** to turn two samples of releases into a bound with a confidence; to audit a claimed
# epsilon; to say what a failed search does not show. Reading and running take 30 minutes, the exercises
# an hour.

# %% [markdown]
# ## Parameters
#
# With `data` and `schema` the notebook runs on any table of categorical columns.
# `params/any_generator/sweep_records.yaml` spreads more records over points, of which each can run on
# another machine.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2000, 2100] year of a raw ACS person file that is given by its path
n_records: int = 200  # [40, inf) records used
variables: list[str] = []  # variables used, two or more; empty: the first six
min_leaf: int = 5  # [1, 100000] records that a leaf of the trees has at least
first_target: int = 0  # [0, 1000000] records that are passed over before those that are tested
n_targets: int = 10  # [2, 10000] records that are tested
sizes: list[int] = [100, 400, 1600]  # [20, 1000000] releases of each of two tables
n_exact: int = 50  # [2, 100000] releases that exact values are averaged over
claimed: float = 1.0  # (0, 100] epsilon that is claimed
n_audits: int = 8  # [2, 100000] audits of each generator
n_audit_releases: int = 800  # [20, 1000000] releases of each of two tables in an audit
n_honest: int = 200  # [2, 100000] audits of families whose epsilon is known
epsilons: list[float] = [1.0, 5.0, 20.0]  # (0, 500] epsilons compared
seed: int = 2018  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd

import srlib
from srlib import charts
from srlib.data import microdata
from srlib.display import callout, show
from srlib.margins import PlugInMargins
from srlib.mechanism import beta_binomial
from srlib.papers import any_generator as study
from srlib.papers import claims
from srlib.risk import neighborhood, seconds_for
from srlib.rng import stream
from srlib.runner.outputs import Outputs
from srlib.trees import Growth, SequentialTrees

# %%
outputs = Outputs(output_dir)
sections = {"C1": "What a test finds", "C2": "What it misses", "C3": "A claimed epsilon"}
sections |= {"C4": "False alarms", "C5": "Risk at the same epsilon"}
sections |= {"C6": "Use at the same epsilon"}
verdicts = claims.Claims(sections)

# %% [markdown]
# ## By hand: six people, one of them sick
#
# The generator draws six values from the shares in the data. If one of six people is sick, a release
# shows a sick one with probability $1 - (5/6)^6 = .67$. If that person was well, no release does. The
# test sounds an alarm where a release shows a sick person: with probability $a = .67$ under the truth,
# $b = 0$ under the alternative.
#
# An intruder who gives both values one half has, after a release $Z$, the probability
# $p(Z \mid D) / (p(Z \mid D) + p(Z \mid D'))$ for the truth: 1 after an alarm, $.33 / 1.33 = .25$ without.
# On average over releases of the data $D$ this is $.67 + .33 \times .25 = .75$.

# %% [markdown]
# ### Try it: fewer people
#
# Three people instead of six, one of them sick, and three values are drawn. Predict first: is an alarm more or less
# probable than .67? Then compute its probability (`alarm`, two decimal places).

# %% tags=["solution"]
alarm = 1 - (2 / 3) ** 3
assert round(alarm, 2) == 0.7

# %% [markdown]
# Now suppose that $a$ and $b$ are unknown and only alarms are counted. With 97.5 % confidence each,
# Clopper and Pearson's limits say that $a$ is at least *low* and $b$ at most *high*:

# %% tags=["public"]
example = study.by_hand(1 - (5 / 6) ** 6, [25, 100, 400])
caption = "Lower bounds on the mean posterior probability of the truth and on epsilon."
show(outputs.table("smallest_example", example, public=True), caption=caption)

# %% [markdown]
# As many alarms occur as are expected. No number of releases shows that epsilon is infinite.
#
# Why do these bounds hold for releases of any kind? Let $\pi$ be the prior. The mean posterior is
#
# $$\sum_Z f(p(Z \mid D), p(Z \mid D')), \qquad f(u, v) = \frac{\pi u^2}{\pi u + (1 - \pi) v}.$$
#
# The function $f$ is convex and homogeneous, so that $f(u, v) + f(u', v') \ge f(u + u', v + v')$. Releases that
# are lumped together, into those with an alarm and those without, therefore lower the sum, to
# $f(a, b) + f(1 - a, 1 - b)$. For $a > b$ this grows with $a$ and falls with $b$. Likewise $\log (a / b)$ is at
# most the largest privacy loss, and $a - b$ at most the advantage of the best test.
#
# For tables of many variables the alarm has to be learned. One half of the releases is described by their
# counts in all cells of the changed variable and two others. A linear discriminant learns a score from
# these, and a threshold. The other half only gives the limits, so that learning does not spoil the
# confidence.

# %% [markdown]
# ### Exercise 1: no false alarm (pencil)
#
# In $n$ releases of the changed data there was no alarm. The upper 97.5 % limit of the probability of a
# false alarm is the $b$ with $(1 - b)^n = .025$. What is it for 200 releases (`high`, three decimal places)? How
# many releases (`enough`) make it less than .001?

# %% [markdown] tags=["hint"]
# Solve the equation for $b$.

# %% [markdown] tags=["hint"]
# The number of releases is the smallest $n$ with $.999^n < .025$: take logarithms.


# %% tags=["solution"]
high = 1 - 0.025 ** (1 / 200)
enough = next(n for n in range(1, 10_000) if 0.999**n < 0.025)
assert round(high, 3) == 0.018
assert enough == 3688

# %% [markdown] tags=["solution"]
# No alarm has probability $(1 - b)^n$, and values of $b$ for which that is below .025 are refuted. The limit falls
# as $3.7 / n$. A bound on epsilon is at most $\log (1 / b)$, which grows with the logarithm of the number of
# releases: 4.0 from 200, 6.9 from 3,688.

# %% [markdown]
# ### Exercise 2: from limits to belief
#
# Alarms have probability .6 at least under the truth and .1 at most under the alternative. At a prior of
# one tenth, which lower bound follows for the mean posterior probability of the truth (`bound`, three
# decimal places), and which for epsilon (`at_least`, two)?

# %% [markdown] tags=["hint"]
# Use $f$ and the sum $f(a, b) + f(1 - a, 1 - b)$ from above, with the prior in it.

# %% [markdown] tags=["hint"]
# Insert $a = .6$, $b = .1$ and $\pi = .1$. For epsilon the alarm's two probabilities suffice.


# %% tags=["solution"]
def f(u, v):
    return 0.1 * u**2 / (0.1 * u + 0.9 * v)


bound = f(0.6, 0.1) + f(0.4, 0.9)
at_least = np.log(0.6 / 0.1)
assert round(bound, 3) == 0.259
assert round(at_least, 2) == 1.79

# %% [markdown] tags=["solution"]
# After an alarm the truth has $.06 / (.06 + .09) = .4$, without one $.04 / (.04 + .81) = .05$. Under the truth an
# alarm comes six times in ten. Silence gives $\log (.9 / .4) = .81$ for epsilon, which is less.

# %% [markdown]
# ## What a test finds

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
table = study.chosen(table, variables)
levels = table.schema.n_levels
rows = study.tested(table, first_target, n_targets, rng=stream(seed, "targets"))
notes = [
    *table.notes,
    f"{len(table)} records of {', '.join(table.schema.names)}; {len(rows)} are tested.",
]
callout("Note", " ".join(notes))

# %% [markdown]
# Two generators whose probabilities are known: sequential trees ([sequential_trees](sequential_trees.ipynb)), and margins, which
# draw each variable from its shares in the data, independently of the others. Tested are records that
# occur once, each against one other value of one variable. What will it take?

# %% tags=["monte-carlo"]
generators = {
    "trees": SequentialTrees(table.schema, growth=Growth(min_leaf)),
    "margins": PlugInMargins(levels),
}
takes = {
    name: seconds_for(generator, table, max(sizes), rng=stream(seed, name))
    for name, generator in generators.items()
}
told = [f"{name}, {'less' if took < 60 else 'more'} than a minute" for name, took in takes.items()]
callout("Time for each record", f"{'; '.join(told)}.")

# %% tags=["monte-carlo"]
found = study.compare(generators, table, rows, sizes, n_exact, rng=stream(seed, "tests"))
outputs.table("bounds", found)
means = study.by_releases(found)
names = {"exact": "mean exact probability", "probability": "mean lower bound"}
names |= {"detected": "share of the records with a bound above the prior"}
caption = "Mean probability of the truth, at a prior of one half, and its 95 % lower bound."
show(outputs.table("by_releases", means).rename(columns=names), caption=caption)

# %% [markdown]
# All are averages over records. The column *releases* is their number for each of the two tables.

# %% tags=["monte-carlo"]
of_trees = found[found["generator"] == "trees"].pivot(index="releases", columns="record")
curves = of_trees["probability"].T.quantile([0.1, 0.5, 0.9]).T
curves.columns = ["10 % of the records", "median", "90 %"]
axes = "Releases of each of two tables (log scale)", "Lower bound of the probability"
mean_exact = float(means.loc[means["generator"] == "trees", "exact"].iloc[0])
outputs.figure("bounds", charts.lines(curves, *axes, log_x=True, reference=mean_exact))

# %% [markdown]
# **Lower bounds rise with the number of releases.** Bounds for releases by trees;
# dotted: the mean of the exact values. The test knows nothing of
# trees. A test made for the generator may need fewer releases.

# %% tags=["monte-carlo"]
verdicts.say("C1", study.finds_most(found[found["generator"] == "trees"]))

# %% [markdown]
# ## What it misses
#
# A bound at the prior says that this test found nothing in so many releases. Something may be found by more
# releases, by another test, or by a test that looks at more than counts of cells. For the last an
# example can be made: a generator that draws from the margins, and puts its records in order if the first
# of the tested records has its true values. Anybody who looks at the order knows.

# %% tags=["monte-carlo"]
row, truth = int(rows[0]), table.codes[rows[0]]
sly = study.Arranged(generators["margins"], row, truth)
other = neighborhood(truth[None], levels)[0, 1:2]
hidden = srlib.leakage_bound(
    sly, table, row, other, n_releases=max(sizes), rng=stream(seed, "order")
)
most = found[found["releases"] == max(sizes)]
verdicts.say("C2", study.silence_is_safe(most, hidden.probability))

# %% [markdown]
# ### Exercise 3: looking at the order
#
# Write a test that finds what the generator `sly` tells by its order: a function `sorted_rows` of a release
# that is true where its records are in order. Of how many of 100 releases of each table is it true (`counts`,
# those of the data first), and which bound on the probability do these give (`seen`, two places)? The
# confidence is 95 %.
#
# *You will need:* `sly.release`, `srlib.mechanism.audit.clopper_pearson`, `srlib.risk.black_box.measures`.

# %% [markdown] tags=["hint"]
# `np.lexsort` returns the order of sorted rows; its last key comes first. Releases of `table.codes` and of a copy
# with `other[0]` in the place of `row` are made by `sly.release`.

# %% [markdown] tags=["hint"]
# The bound takes the lower limit for the data and the upper limit for the changed data, each at 97.5 %:
# `measures(0.5)["probability"]` is a function of both, as arrays.


# %% tags=["solution"]
from srlib.mechanism.audit import clopper_pearson
from srlib.risk.black_box import measures


def sorted_rows(released):
    return bool((np.lexsort(released.T[::-1]) == np.arange(len(released))).all())


rng, changed = stream(seed, "exercise 3"), table.codes.copy()
changed[row] = other[0]
counts = [
    sum(sorted_rows(sly.release(d, rng=rng)) for _ in range(100)) for d in (table.codes, changed)
]
limits = clopper_pearson(counts[0], 100, 0.975)[0], clopper_pearson(counts[1], 100, 0.975)[1]
seen = float(measures(0.5)["probability"](*map(np.array, limits)))
assert counts == [100, 0]
assert round(seen, 2) == 0.93

# %% [markdown] tags=["solution"]
# All releases of the data are in order, and a random order of different records practically never is. A test
# finds what it looks at. That the library's test is blind here is no argument against testing, but against
# concluding from silence.

# %% [markdown]
# ## A claimed epsilon
#
# A vendor says: "Our margins have Laplace noise, and epsilon is one." The noise on each count has the scale
# $2 K / \epsilon$ for $K$ variables, because one changed record changes two counts in each of $K$ margins. Noisy
# counts are clipped at zero and normalized, and records are drawn from them, which takes no privacy away.
# (Barak and others 2007 release margins of several variables in this way, and make them consistent.) The
# program may make mistakes. Each of these makes the noise too small by a factor.

# %% [markdown]
# ### Try it: how much noise?
#
# The vendor's table has twelve variables, and epsilon is one half. Which scale does the noise on each count need
# (`scale`)? With counts of a few dozen people, what would you expect of the release?

# %% tags=["solution"]
scale = 2 * 12 / 0.5
assert scale == 48

# %% [markdown]
# The claim is about all data. So the auditor chooses them: fifty records of six variables, all alike but
# one, which differs in all six.

# %% tags=["monte-carlo"]
vendors = study.mistaken(50, 6, claimed)
audited = study.audits(vendors, 50, 6, n_audit_releases, n_audits, rng=stream(seed, "audits"))
outputs.table("audits", audited)
show(
    study.refuted(audited, vendors, claimed),
    caption="Audits of noise with mistakes, and what they find.",
)

# %% tags=["monte-carlo"]
broken = audited[audited["generator"] != "right noise"]
verdicts.say("C3", study.catches(broken, claimed))

# %% [markdown]
# By default a factor of two is not found. Its effect is small beside the noise that is left, and beside
# the chance of drawing fifty records. Where audits refute, their bounds are still far below the epsilon of
# the noise.

# %% [markdown]
# ### Exercise 4: which sentence does the table not support?
#
# An audit with 95 % confidence returns the bound 0.0 for a generator that claims an epsilon of one. A report
# says: (a) "the audit does not refute the claim"; (b) "with 95 % confidence epsilon is at most one"; (c) "if
# the claim is true, an audit like this refutes it in at most one case of twenty". Which one is not
# supported (`unsupported`)?

# %% [markdown] tags=["hint"]
# Which of the three would also have to be true if the audit had never been run?

# %% [markdown] tags=["hint"]
# A lower bound of zero says nothing about how large epsilon may be.


# %% tags=["solution"]
unsupported = "b"
assert unsupported == "b"

# %% [markdown] tags=["solution"]
# The confidence is that of a lower bound. Zero is below every epsilon, and nothing follows from it. The
# table of audits has a generator of twice the epsilon claimed that was hardly ever refuted.

# %% [markdown]
# ## False alarms
#
# The right noise above is an easy trial, since a release may show much less than its epsilon. A harder
# trial has a claim that is just true: beta-binomial counts of twenty records, whose exact epsilon is
# known, at the pair of data sets where it is reached.

# %% tags=["monte-carlo"]
honest = {
    alpha: study.family_audits(
        beta_binomial(20, 20, alpha), 400, n_honest // 2, rng=stream(seed, f"honest {alpha}")
    )
    for alpha in (0.5, 2.0)
}
false = sum(int((bounds > epsilon).sum()) for epsilon, bounds in honest.values())
false += int((audited.loc[audited["generator"] == "right noise", "epsilon"] > claimed).sum())
verdicts.say("C4", study.no_false_alarm(false, 2 * (n_honest // 2) + n_audits))

# %% [markdown]
# ## Risk at the same epsilon
#
# Margins with Laplace noise are a private generator of microdata. Another one is the mixture of one class,
# whose prior adds records to each level: with $\alpha$ for each level and $n$ records, epsilon is
# $\sum_k \log (1 + n / \alpha)$ exactly. Both are given the same epsilon; that of the Laplace margins is
# proved, and drawing records may hide some of it. For comparison stand margins without noise and the trees,
# which keep none.
#
# The probability of the margins' release is an integral over the noise on all counts. With
# $1 / S^m = \int t^{m-1} e^{-tS} dt / \Gamma(m)$ for the normalizing sum $S$ it becomes an integral over one
# number (`srlib.margins.LaplaceMargins`). So the risk of every record is exact, for candidates that
# differ in one variable and equal priors.

# %%
tables = []
for epsilon in epsilons:
    private = study.at_epsilon(levels, len(table), epsilon)
    both = study.risk_and_use(private, table, 5, 20, rng=stream(seed, f"epsilon {epsilon}"))
    tables.append([part.assign(epsilon=epsilon) for part in both])
both = study.risk_and_use(generators, table, 5, 20, rng=stream(seed, "no epsilon"))
tables.append([part.assign(epsilon=np.inf) for part in both])
risks, use = (pd.concat(parts, ignore_index=True) for parts in zip(*tables, strict=True))

# %%
ratio = risks.groupby(["epsilon", "generator"])["ratio"].agg(["median", "max"]).reset_index()
compared = outputs.table("same_epsilon", ratio.merge(use, on=["epsilon", "generator"]))
names = {"median": "median of probability / prior", "max": "largest"}
names |= {"difference": "difference of pairs", "difference_se": "its error"}
caption = "Probability of the truth over its prior, a mean over five releases, and use."
show(compared.rename(columns=names), caption=caption)

# %% [markdown]
# Each release is seen alone. The
# difference of pairs is that between the released and the original shares of all pairs of variables, over
# that between the data and another sample of the population: one is as good as new data. Differences of
# pairs are means over twenty releases.

# %%
is_private = np.isfinite(risks["epsilon"])
verdicts.say("C5", study.near_the_prior(risks[is_private]))

# %% [markdown]
# Candidates that differ in one of $K$ variables have only $\epsilon / K$ of the budget: with six variables the
# likelihoods differ by a factor of 1.2 at most where epsilon is one, and of 28 where it is 20. That is the
# worst case of all data and releases. For these records and releases the two private generators tell less.
# So do margins without noise, by default, though they keep no epsilon: their worst case needs a level that
# one record alone has.
#
# ## Use at the same epsilon

# %%
verdicts.say("C6", study.equally_useful(use[np.isfinite(use["epsilon"])]))

# %% [markdown]
# To keep epsilon the mixture has to make the rarest level probable enough, and draws every variable towards
# equal shares. Laplace noise leaves the large counts nearly as they are. Both lose all dependence between
# variables, which the trees keep.
#
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more. C3 and C4
# rest on no record of the file:

# %% tags=["monte-carlo", "public"]
verdicts.in_public(len(table), C1=len(rows), C2=len(rows), C3=0, C4=0)

# %% [markdown]
# **Limits of this run.** A test is of one record and one alternative, and its confidence is of one bound;
# among many records some bounds are too high. The exact values are means over a few tens of releases. The
# test looks at counts of cells of three variables, or of two where several variables are changed. All
# generators are run on 200 records of six variables by default.

# %% [markdown]
# ## To close

# %% [markdown]
# ### Open question: how would you choose records to test?
#
# An agency owns a generator that takes an hour for each release, and a file of 10,000 records. A hundred
# releases can be paid for. Which records, alternatives and statistics would you choose, and what would you
# report?

# %% [markdown] tags=["solution"]
# A good answer knows that a hundred releases give a weak bound on a single record, and looks for ways to
# share them: several records changed at once, or a canary made for the purpose and put into the file. It
# chooses statistics before looking, or spends part of the releases on choosing. It corrects for the number
# of records, reports the power of the test on a generator that is known to leak, and does not call silence
# safety.

# %% [markdown]
# ## References
#
# - Barak, B., Chaudhuri, K., Dwork, C., Kale, S., McSherry, F. and Talwar, K. (2007). [Privacy, accuracy, and
#   consistency too: a holistic solution to contingency table
#   release](https://doi.org/10.1145/1265530.1265569). *PODS*, 273–282.
# - Clopper, C. J. and Pearson, E. S. (1934). [The use of confidence or fiducial limits illustrated in the case
#   of the binomial](https://doi.org/10.1093/biomet/26.4.404). *Biometrika* 26, 404–413.
# - Ding, Z., Wang, Y., Wang, G., Zhang, D. and Kifer, D. (2018). [Detecting violations of differential
#   privacy](https://doi.org/10.1145/3243734.3243818). *CCS*, 475–489.
# - Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). [Calibrating noise to sensitivity in private data
#   analysis](https://doi.org/10.1007/11681878_14). *TCC*, 265–284.
# - Wasserman, L. and Zhou, S. (2010). [A statistical framework for differential
#   privacy](https://doi.org/10.1198/jasa.2009.tm08651). *Journal of the American Statistical Association*
#   105, 375–389.
