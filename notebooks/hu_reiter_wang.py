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
# # Disclosure risks that rest on one or two draws
#
# **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully synthetic
# categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# A statistical agency wants to release records that describe nobody: every value is drawn from a
# model fitted to the confidential file. Can an [intruder](../docs/guide/glossary.md#intruder) who knows *all other records* still infer
# the last one from the release? By Bayes' rule the paper answers: hardly, for 10,000 adults of the American
# Community Survey. On the embedded population, which is not the paper's file, most probabilities also stay within a
# factor of two of the prior. But the paper's estimator is unreliable: one or two of all posterior draws carry most
# of the weight.

# %% [markdown] tags=["notebook-only"]
# **You should know** Bayes' rule, Markov chain Monte Carlo and logistic regression.
#
# ## Parameters
#
# The defaults take 1,000 records and eleven variables. The published profile has all fourteen and the paper's sample
# size, number of releases and priors. The number of classes and all chain settings are chosen here.

# %% tags=["parameters"]
data: str = ""  # CSV file of categories; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file of the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2008, 2100] year of a raw ACS person file given by its path
n_records: int = 1000  # [10, 10000000] records used; a sample where the file has more
all_variables: bool = False  # embedded population: all 14, not just those named below
pairs: list[list[str]] = []  # for Figures 1 and 2; empty: the paper's, or outcome's
outcome: str = ""  # its last level is regressed; empty: the paper's, or none
predictors: list[str] = []  # by numeric codes; empty: the paper's, or none
unknown: list[str] = []  # unknown in equation 16; empty: the paper's, or two
n_releases: int = 5  # [2, 100] releases, m
n_classes: int = 20  # [1, 1000] latent classes, F
alpha_shape: float = 0.25  # [0.001, 1000] shape of the Gamma prior of alpha
alpha_rate: float = 0.25  # [0.001, 1000] rate of the Gamma prior of alpha
thin: int = 25  # [1, 10000] iterations for each draw kept
n_chains: int = 8  # [4, 1000] chains for the data
burn_in: int = 1500  # [0, 1000000] iterations dropped from each chain
n_draws: int = 200  # [30, 100000] draws kept from each chain
n_chains_joined: int = 4  # [4, 1000] chains for the data joined with each release
burn_in_joined: int = 500  # [0, 1000000] iterations dropped from each of these chains
n_draws_joined: int = 60  # [30, 100000] draws kept from each of these chains
thin_joined: int = 25  # [1, 10000] iterations for each draw kept from these chains
seed: int = 2014  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %% tags=["hide-input"]
import itertools
import warnings
from dataclasses import replace

import altair as alt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from scipy.special import logsumexp, softmax

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib import risk as disclosure
from srlib.data import distinct, microdata
from srlib.data.schema import Schema
from srlib.display import callout, percent_with_error, show, with_error
from srlib.ledger import Claims, ledger, printed
from srlib.margins import utility_loss
from srlib.outputs import Outputs
from srlib.risk.errors import log_mean
from srlib.rng import stream

# Used throughout: stream(seed, name) returns a random generator. outputs.table(name, frame)
# saves a table and returns it, which show(frame) displays; callout(heading, text) shows a
# sentence; claims.check, below each result, shows a verdict, the value measured and its limit.
outputs = Outputs(output_dir)

# %% [markdown]
# ## What is claimed
#
# The run fills the last column. *Few*, *most* and *a handful* need a number, and each statement gives one. Shares of
# combinations are means over sets of releases.

# %% tags=["nbval-ignore-output", "hide-input"]
claims = Claims(
    {
        "C1": r"The releases keep the joint distributions of pairs of variables, taken together: over"
        r" the cells of all two-way tables, a release differs from the data by less than $\sqrt 2$ times as"
        r" much as another sample of the population does (section 4.1, Figures 1 and 2).",
        "C2": "A regression on the releases gives reasonable results: no more of its 95 % intervals"
        " miss the original estimate than independent intervals would in 19 of 20 cases (Table 2).",
        "C3": "Few true records rank near the top: no more of them are among the first three of their"
        " candidates than of people of the population who are not in the file (section 4.2, Figure 3).",
        "C4": "Typically the releases provide little information about a record: more than half of"
        " the probabilities are within a factor of two of the prior (section 4.2, Figure 4).",
        "C5": "An intruder who lacks only some variables gains more than one who lacks the whole"
        " record: for at least 95 % of the combinations, the release multiplies the prior"
        " of that part by more than that of the whole (section 4.2, equation 16, which shows two records).",
        "C6": "Importance sampling is simple and convenient: under each release at least a"
        " hundred draws are effective, or a quarter if there are fewer than 400 (section 3.2, equations 11 to 15).",
        "C7": "The ratio of posterior to prior is typically at most one: for more than half of the"
        " combinations (section 4.2).",
        "C8": "Only a handful of ratios exceed two: at most the share of ten in the paper's 3,523"
        " combinations (section 4.2).",
    }
)
claims

# %% [markdown] tags=["appendix"]
# ## The smallest example: both estimators by hand
#
# The intruder knows $D_{-i}$, all records but one. The [candidates](../docs/guide/glossary.md#candidate) $x$ for the missing record are its
# true combination $x_i$ and every one that differs from it in one variable (section 3.1). With a uniform prior a
# candidate's posterior probability is proportional to $p(Z \mid D_i^x)$, the probability of the release $Z$ if the
# data were $D_{-i}$ and $x$ (equations 7 to 10).
#
# Take one yes/no variable and a uniform prior for the proportion $\theta$ of a *yes*. Of the 19 records that the intruder
# knows, 12 have a *yes*; the missing record is a *yes*, too; and so are 14 of the 20 released ones.
#
# **The paper's estimator** takes draws $\theta_j$ from the posterior given the *true* data, and weights each by the
# probability of the *whole release* (equations 11 to 15):
#
# $$p(Z \mid D_i^x) \approx \frac{\sum_j p(Z \mid \theta_j)\, r_j}{\sum_j r_j},
# \qquad r_j = \frac{p(x \mid \theta_j)}{p(x_i \mid \theta_j)} .$$
#
# For the true record every $r_j$ is 1, and the estimate is the mean weight. The posterior probability of the true *yes*
# (`by_importance`):

# %% tags=["monte-carlo"]
rng = stream(seed, "one variable")
theta = rng.beta(1 + 13, 1 + 7, 1000)  # draws given all 20 records
weight = theta**14 * (1 - theta) ** 6  # p(release | theta)
r = (1 - theta) / theta  # p(no | theta) / p(yes | theta)
likelihood_true = weight.mean()
likelihood_other = (weight * r).sum() / r.sum()
by_importance = likelihood_true / (likelihood_true + likelihood_other)

# %% [markdown] tags=["appendix"]
# **An estimator without weights** applies Bayes' rule to the missing record:
#
# $$p(Z \mid D_i^x) = p(Z \mid D_{-i})\, \frac{p(x \mid D_{-i}, Z)}{p(x \mid D_{-i})} .$$
#
# The first factor is the same for all candidates. The others are two posterior predictive probabilities of *one record*.
# Relative to those of the true record, they are averages of $r_j$: over draws given the data joined with the release, and
# over draws given the data. The same probability (`by_prediction`):

# %% tags=["monte-carlo"]
theta_joined = rng.beta(1 + 13 + 14, 1 + 7 + 6, 1000)  # given data and release
r_joined = (1 - theta_joined) / theta_joined
by_prediction = 1 / (1 + r_joined.mean() / r.mean())

# %% [markdown] tags=["appendix"]
# Here everything is known exactly. If $c$ of the other records and $z$ of the $n$ released ones have the candidate's
# value, its likelihood is proportional to $(1 + c + z)/(1 + c)$. The three probabilities:

# %% tags=["monte-carlo"]
exact_true = (1 + 12 + 14) / (1 + 12)
exact_other = (1 + 7 + 6) / (1 + 7)
callout(
    "Probability of the true yes",
    f"Exactly {exact_true / (exact_true + exact_other):.4f}; {by_importance:.4f} by importance "
    f"sampling, {by_prediction:.4f} by the predictive ratio.",
)

# %% [markdown] tags=["appendix"]
# The library's functions take log averages of $r_j$ by chain, the true record first, and return a *risk*: the candidates'
# log posterior probabilities, and `probability` and `rank` of the true record. With each draw as a chain, they give the
# same probabilities:


# %%
def library_risks(log_weights, log_r, log_r_joined):
    """Return one record's risks by both estimators, from log r_j, (draws, candidates).

    The library takes (chains, records, candidates): `predictive_ratio` given the data
    and given data and release, `importance_sampling` with weights and without, and
    with a first axis of releases.
    """
    log_r = log_r[:, None]  # (chains of a draw each, one record, candidates)
    log_weighted_r = log_weights[:, None, None] + log_r
    importance_risk = disclosure.importance_sampling(log_weighted_r[None], log_r[None])
    predictive_risk = disclosure.predictive_ratio([log_r, log_r_joined[:, None]])
    return importance_risk, predictive_risk


# %% tags=["monte-carlo"]
log_r = np.log(np.column_stack([np.ones(1000), r]))  # yes, no
log_r_joined = np.log(np.column_stack([np.ones(1000), r_joined]))
two_risks = library_risks(np.log(weight), log_r, log_r_joined)
by_library = [risk.probability[0] for risk in two_risks]
assert np.allclose(by_library, [by_importance, by_prediction])

# %% [markdown] tags=["appendix"]
# ### The cost of the weights
#
# A release is as large as the data, and its likelihood as narrow as the posterior of the draws. In one direction, two
# normal densities of equal width, whose centers differ by chance, leave an effective share of $e^{-0.477} \approx 0.62$
# of the draws, as a geometric mean. Directions multiply: over releases, $d$ of them typically leave $0.62^d$. An
# estimate from draws cannot fall below one draw.
#
# To see it, take $d$ independent yes/no variables. The candidates for the first record are itself and the $d$ records
# that differ in one variable. Their $\log r_j$, and their exact log likelihoods by the formula above:


# %%
def log_ratios(draws, candidates):
    """Return log p(x | theta) - log p(x_i | theta), (draws, candidates), the true record first."""
    log_p = dpmpm.cell_log_prob(draws, candidates)  # (chains, draws, candidates)
    log_p = log_p.reshape(-1, len(candidates))
    return log_p - log_p[:, :1]


def exact_log_likelihood(data, release):
    """Return the log likelihoods of the candidates, relative to the first record's."""
    c = (data[1:] == data[0]).sum(axis=0)  # (d,), of 199 others
    z = (release == data[0]).sum(axis=0)  # (d,), of 200 released
    # The other value is that of 199 - c others and of 200 - z released records.
    return np.append(0, np.log1p((200 - z) / (200 - c)) - np.log1p(z / (1 + c)))


# %% [markdown] tags=["appendix"]
# `sample_posterior` returns draws given records, `synthesize` a release from one draw:


# %%
def draw_example(d):
    """Return log weights, log r_j given data and given both, and the exact log posterior."""
    rng = stream(seed, f"smallest {d}")
    two_levels = np.full(d, 2)
    chains = dpmpm.Chains(n_classes=1, burn_in=0, n_draws=250)  # four chains
    data = rng.integers(0, 2, (200, d))
    generating = dpmpm.sample_posterior(data, two_levels, chains, rng=rng)
    given_data = dpmpm.sample_posterior(data, two_levels, chains, rng=rng)
    pi, phi = generating.pi[0, 0], generating.phi[0, 0]
    release = dpmpm.synthesize(pi, phi, two_levels, 200, rng=rng)
    both = np.vstack([data, release])
    given_both = dpmpm.sample_posterior(both, two_levels, chains, rng=rng)
    neighbors = data[0] ^ np.eye(d, dtype=int)  # each differs in one variable
    candidates = np.vstack([data[0], neighbors])
    log_weights = (
        dpmpm.cell_log_prob(given_data, release).sum(axis=2).ravel()
    )  # (draws,)
    log_r = log_ratios(given_data, candidates)
    log_r_joined = log_ratios(given_both, candidates)
    exact = mechanism.posterior(exact_log_likelihood(data, release))
    return log_weights, log_r, log_r_joined, exact


# %% [markdown] tags=["appendix"]
# A row for each $d$: the effective draws, found and by the formula, and the largest error of a candidate's log posterior
# by either estimator:


# %% tags=["monte-carlo"]
def example_row(d):
    """Return effective draws and the errors of both estimators, for d variables."""
    log_weights, log_r, log_r_joined, exact = draw_example(d)
    risks = library_risks(log_weights, log_r, log_r_joined)
    errors = [np.abs(risk.log_prob - exact).max() for risk in risks]
    effective_share = np.sqrt(3) / 2 * np.exp(-1 / 3)  # 0.62, in one direction
    by_formula = 1000 * effective_share**d
    return d, diagnostics.importance_ess(log_weights), by_formula, *errors


# %% tags=["monte-carlo"]
smallest = pd.DataFrame([example_row(d) for d in (1, 3, 10, 30, 100)])
smallest.columns = [
    "variables",
    "effective draws of 1,000",
    "expected by the formula",
    "error, importance sampling",
    "error, predictive ratio",
]

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Effective draws, and the largest error of a candidate's log posterior probability."
)
show(outputs.table("smallest_example", smallest), caption=about)

# %% [markdown] tags=["appendix"]
# ### An average that fails without weights
#
# One of five records of a single variable is a *yes*, and it is the target. Given all five, the probability $p$ of a
# *yes* is Beta(2, 5), and $r = (1 - p)/p$ has mean 5 and infinite variance, because $E\,p^{-2}$ diverges. Given the other four it is Beta(1, 5); the ratio of the means of $1 - p$ and of
# $p$ is also 5, and its estimate has a finite variance. Below, therefore, the risks of whole records leave each record
# out and integrate the parameters out.

# %% [markdown] tags=["written"]
# ### Exercise 1: a release half as large
#
# Take the posterior in one direction as standard normal. A release half as large as the data has a likelihood
# with twice the variance, $w = e^{-(\theta - c)^2/4}$, and its center is $c \sim N(0, 3)$. The effective share of
# the draws is $E(w)^2 / E(w^2)$. What is the mean of its logarithm over $c$ (`log_share`, three decimal places)?
# How many `thousands` of draws, rounded up, would leave a hundred effective ones in 14 directions? (Check: for a
# release as large as the data, $w = e^{-(\theta - c)^2/2}$ and $c \sim N(0, 2)$, your method must give the $-0.477$
# in the text.)
#
# *You will need:* pencil and paper, or `np.polynomial.hermite_e.hermegauss` for expectations.

# %% tags=["solution"]
# Solution
nodes, node_weights = np.polynomial.hermite_e.hermegauss(80)
node_weights /= node_weights.sum()  # expectations under the standard normal
w = np.exp(-((nodes[:, None] - np.sqrt(3) * nodes) ** 2) / 4)  # theta by center
share = (node_weights @ w) ** 2 / (node_weights @ w**2)
log_share = node_weights @ np.log(share)
thousands = int(np.ceil(100 * np.exp(-14 * log_share) / 1000))
assert round(log_share, 3) == -0.309
assert thousands == 8

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# By completing squares $E(w) = \sqrt{2/3}\, e^{-c^2/6}$ and $E(w^2) = \sqrt{1/2}\, e^{-c^2/4}$, so the share is
# $(\sqrt 8/3)\, e^{-c^2/12}$. The mean of its logarithm is $\log(\sqrt 8/3) - 3/12$. For the larger release the share is
# $(\sqrt 3/2)\, e^{-c^2/6}$, and the mean is $\log(\sqrt 3/2) - 2/6$.
#
# </details>

# %% [markdown]
# ## The data
#
# The paper's data are fourteen variables of the American Community Survey, a table of 8.7 million cells that 10,000
# records leave almost empty. The records of most concern are the [sample
# uniques](../docs/guide/glossary.md#sample-unique), whose combination occurs once. The embedded population stands in for
# the survey: it has the pairwise joint distributions of the 2011 public file, and nobody's records. It was *not* drawn
# from the model below. `load` returns records, their schema and notes:

# %%
table = microdata.load(
    data,
    schema,
    n_records=n_records,
    drop_missing=drop_missing,
    ignore_columns=ignore_columns,
    vintage=vintage,
    rng=stream(seed, "records"),
)
callout("Note", " ".join(table.notes))

# %% [markdown]
# The names given as parameters are checked:

# %%
# Columns of the tables below, which no variable may have as its name:
names = ["repetitions", "estimator", "probability", "rank", "support_size"]
table.schema.check_reserved_names([*names, "log_mcse", "pareto_k"])
if unknown:
    table.schema.positions(unknown, "unknown")
if outcome:
    table.schema.positions([outcome, *predictors], "outcome with predictors")

# %% [markdown]
# Unless others are given, the paper's variables are used where the file has them: for the regression and equation 16:

# %%
is_acs = table.schema == microdata.ACS
paper_predictors = ["SEX", "MIL", "MIG", "SCH", "RACE1P", "LANX"]
paper_names = {"DIS", *paper_predictors}
if paper_names <= {*table.schema.names} and not (outcome or predictors):
    outcome = "DIS"
    predictors = paper_predictors
if not unknown:
    unknown = ["WKL", "DIS", "HICOV", "MIG"] if is_acs else [*table.schema.names[-2:]]

# %% [markdown]
# For the figures:

# %%
if is_acs and not pairs:
    pairs = [["WKL", "SCHL"], ["HISP", "RACE1P"]]
if not pairs:
    first, *others = filter(None, [outcome, *(predictors or table.schema.names)])
    pairs = [[first, other] for other in others[:2]]
if any(len(pair) != 2 for pair in pairs):
    raise ValueError(f"pairs is {pairs}; each must name two variables")

# %% [markdown]
# The default profile keeps only these. `distinct` returns the distinct rows and how often each occurs, which the table
# counts.

# %%
kept = table.schema.names
if not (data or all_variables):
    used = {outcome, *predictors, *unknown, *np.ravel(pairs)}
    kept = [name for name in kept if name in used]
    positions = table.schema.positions(kept, "variables")
    variables = tuple(table.schema.variables[k] for k in positions)
    table = replace(table, codes=table.codes[:, positions], schema=Schema(variables))
codes = table.codes  # (n, variables): levels numbered from 0
levels = table.schema.n_levels  # (variables,)
titles = {variable.name: variable.title for variable in table.schema.variables}
combinations, repetitions, _ = distinct(codes)
n = len(codes)

# %% tags=["confidential"]
data_counts = {
    "records": n,
    "cells": table.schema.n_cells,
    "combinations": len(repetitions),
    "once": (repetitions == 1).sum(),
    "twice": (repetitions == 2).sum(),
    "three times": (repetitions == 3).sum(),
    "most frequent": repetitions.max(),
}

# %% tags=["confidential", "hide-input"]
about = (
    "Records, cells of the table, and distinct combinations by their number of records."
)
show(outputs.table("data", pd.DataFrame([data_counts])), caption=about)

# %% [markdown] tags=["appendix"]
# ## The synthesizer
#
# The Dirichlet process mixture of products of multinomials ([DPMPM](../docs/guide/glossary.md#dpmpm)) assigns each record to one of $F$
# latent classes. Within a class the variables are independent (equations 1 and 2):
#
# $$p(x \mid \pi, \phi) = \sum_{f=1}^{F} \pi_f \prod_{k=1}^{p} \phi^{(k)}_{f x_k}.$$
#
# The class probabilities break a stick (equations 3 to 5): $\pi_f = V_f \prod_{l < f} (1 - V_l)$ with
# $V_f \sim \text{Beta}(1, \alpha)$ and $V_F = 1$. Three class probabilities, with each $V_f$ at its mean for
# $\alpha = 1$:

# %%
v = np.array([0.5, 0.5, 1.0])
v * np.cumprod([1, *(1 - v[:-1])])

# %% [markdown] tags=["appendix"]
# The concentration $\alpha$ has a Gamma prior and is estimated; each $\phi^{(k)}_f$ has a uniform Dirichlet prior
# (equation 6). A blocked Gibbs sampler (Ishwaran and James 2001) draws from the posterior. The draws given the data are
#
# - `draws`: all, with each record's class, for risks of whole records and further releases;
# - `thinned_draws`: at most 5,000, evenly spaced, for everything else.


# %%
def draw_posterior(records, purpose, **lengths):
    """Return draws given records, (n, variables): pi, phi, alpha and the records' classes."""
    prior = dpmpm.Prior(alpha_shape, alpha_rate)
    chains = dpmpm.Chains(n_classes=n_classes, prior=prior, **lengths)
    rng = stream(seed, purpose)
    return dpmpm.sample_posterior(
        records, levels, chains, rng=rng, label=purpose, keep_allocations=True
    )


# %%
draws = draw_posterior(
    codes, "data", n_chains=n_chains, burn_in=burn_in, n_draws=n_draws, thin=thin
)
step = -(-n_chains * n_draws // 5000)  # rounded up
thinned_draws = draws.thin(step)

# %% [markdown] tags=["appendix"]
# Each of the $m$ releases takes one draw of $(\pi, \phi)$, far from the others, and every synthetic record draws its own
# class. The first $m$ of $2m$ evenly spaced draws are the *generating draws*:


# %%
spaced = np.array(thinned_draws.spaced(2 * n_releases))
generating = spaced[:, :n_releases]  # (2, releases): chain and position
releases = []  # of (n, variables) each
for i, (chain, position) in enumerate(generating.T):
    pi = thinned_draws.pi[chain, position]
    phi = thinned_draws.phi[chain, position]
    rng = stream(seed, f"release {i}")
    releases.append(dpmpm.synthesize(pi, phi, levels, n, rng=rng))

# %% [markdown] tags=["appendix"]
# The mixture's formula in plain code. Equations 13 and 14 multiply it over the records of a release. The library does so
# for all draws; its first value, printed, agrees:


# %%
def mixture_probability(pi, phi, record):
    """Return p(x | pi, phi): over classes, pi times the phi of each value."""
    rows = np.cumsum(levels) - levels + record  # of phi, one per variable
    return (pi * phi[rows].prod(axis=0)).sum()


# %% tags=["monte-carlo"]
pi = thinned_draws.pi[0, 0]
phi = thinned_draws.phi[0, 0]  # (levels of all variables, classes)
log_p = sum(np.log(mixture_probability(pi, phi, record)) for record in releases[0])
# log p(Z | theta), (releases, chains, draws)
log_weights = disclosure.release_log_prob(thinned_draws, releases)
assert np.isclose(log_p, log_weights[0, 0, 0])
callout("First release under the first draw", f"log p(Z | θ) = {log_p:,.1f}.")

# %% [markdown] tags=["appendix"]
# ## Has the sampler converged?
#
# Convergence is judged on quantities that do not depend on class labels. Above an
# [R-hat](../docs/guide/glossary.md#r-hat) of 1.01 (Vehtari and others 2021) the chains differ.

# %% tags=["monte-carlo"]
extremes = combinations[[repetitions.argmax(), repetitions.argmin()]]
log_p = dpmpm.cell_log_prob(thinned_draws, extremes)  # (chains, draws, 2)
quantities = {
    "alpha": thinned_draws.alpha,
    "log likelihood": thinned_draws.log_likelihood,
    "occupied classes": thinned_draws.n_occupied.astype(float),
    "log p, most frequent": log_p[..., 0],
    "log p, one of the rarest": log_p[..., 1],
}
summary_given_data = outputs.table("diagnostics", diagnostics.summary(quantities))

# %% [markdown] tags=["appendix"]
# Two of them for four short chains without burn-in that start from one class:

# %% tags=["monte-carlo"]
from_one = dpmpm.Chains(
    n_classes=n_classes, burn_in=0, n_draws=60, thin=thin, from_one_class=True
)
draws_from_one = dpmpm.sample_posterior(
    codes, levels, from_one, rng=stream(seed, "sick")
)
quantities_from_one = {
    "log likelihood, from one class": draws_from_one.log_likelihood,
    "occupied classes, from one class": draws_from_one.n_occupied.astype(float),
}
summary_from_one = outputs.table(
    "diagnostics_from_one_class", diagnostics.summary(quantities_from_one)
)

# %% tags=["monte-carlo", "hide-input"]
display(
    show(
        pd.concat([summary_given_data, summary_from_one]),
        caption="A row per quantity: mean over the draws and convergence of the chains; "
        "log p is the log probability of a combination.",
    )
)
diagnostics.verdict(summary_given_data)

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Traces of seven quantities, one panel each, in one color for each of up to eight chains. "
    "Chains that mix overlap; those from one class rise at first."
)
shown = {name: values[:8] for name, values in quantities.items()}
traces = diagnostics.long_format(shown | quantities_from_one)
outputs.figure("trace", charts.trace(traces, description=about))

# %% [markdown] tags=["appendix"]
# **Converged chains overlap.** A chain at a level of its own may have a class more or less, which Gibbs steps rarely add
# or dissolve. Errors between chains include that, but not states that no chain has reached: chains that start alike
# may agree far from the posterior.
#
# ## Is the release useful?
#
# The charts show the joint distributions of the paper's Figures 1 and 2, in the data and averaged over the releases.
# Standard errors come from the combining rules of Raghunathan, Reiter and Rubin (2003). Let $\bar u$ be the mean
# squared standard error within releases and $b$ the variance between $m$ releases. The variance
# $(1 + 1/m)\,b - \bar u$ can be negative; then Reiter's (2002) adjusted variance is used and marked.


# %% tags=["monte-carlo"]
def combine(estimates, variances):
    """Return mean, standard error and whether it is adjusted, from (releases, estimates)."""
    m = len(estimates)
    between = (1 + 1 / m) * estimates.var(axis=0, ddof=1)
    within = variances.mean(axis=0)
    adjusted = (between <= within) & (within > 0)
    variance = np.where(adjusted, within, between - within)
    return estimates.mean(axis=0), np.sqrt(variance), adjusted


# %% [markdown]
# The shares of two variables' cells:


# %% tags=["monte-carlo"]
def proportions(two):
    """Return shares of two variables' cells and standard errors, (data and releases, cells)."""
    counts = []
    for records in (codes, *releases):
        cells = np.ravel_multi_index(records[:, two].T.astype(int), levels[two])
        counts.append(np.bincount(cells, minlength=levels[two].prod()))
    shares = np.array(counts) / n
    variances = shares * (1 - shares) / n
    mean, se, _ = combine(shares[1:], variances[1:])
    return [shares[0], mean], [np.sqrt(variances[0]), se]


# %% [markdown]
# The shares of a pair, as the chart takes them:


# %% tags=["monte-carlo"]
def joint_shares(pair):
    """Return a row per cell and case: panel, label, share and 95 % interval."""
    two = table.schema.positions(pair, "pairs")
    value, se = proportions(two)
    first, second = (table.schema.variables[k].labels for k in two)
    panels = [f"{titles[pair[0]]}: {label}" for label in first]
    cells = itertools.product(panels, second, ["original", "synthetic"])
    joint = pd.DataFrame(cells, columns=["panel", "label", "case"])
    joint["value"] = np.ravel(value, order="F")
    error = 1.96 * np.ravel(se, order="F")
    joint["low"] = (joint["value"] - error).clip(lower=0)
    joint["high"] = joint["value"] + error
    return joint


# %% tags=["monte-carlo", "hide-input"]
for number, pair in enumerate(pairs, start=1):
    axis = f"Share of records by {titles[pair[1]]}, with 95 % interval"
    about = (
        f"{axis}, in the data and in the releases, with panels by {titles[pair[0]]}."
    )
    chart = charts.intervals(joint_shares(pair), axis, percent=True, description=about)
    display(outputs.figure(f"figure_{number}", chart))

# %% [markdown]
# **Releases and data have nearly the same shares.**
#
# The yardstick is a second sample of the population. `utility_loss` returns the mean absolute difference of a release's
# cells, relative to that of such a sample, and its error. Below $\sqrt 2$ the model adds less to the squared differences
# than sampling does.

# %% tags=["monte-carlo", "hide-input"]
loss, error = utility_loss(codes, releases, levels)
claims.check(
    "C1",
    "holds",
    "The model adds less to the cell differences than sampling does.",
    measured="cell differences of a release, relative to another sample",
    value=loss,
    error=error,
    relation="<",
    limit=np.sqrt(2),
    n_records=n,
)

# %% [markdown]
# Table 2 is a logistic regression of disability that treats the codes as numbers, combined over the releases by the
# same rules. The intervals have normal quantiles, as the paper's
# seem to have.


# %% tags=["monte-carlo"]
def regression(records):
    """Return coefficients and standard errors, (2, terms): the log odds of the last level."""
    y = table.schema.positions([outcome], "outcome")[0]
    x = table.schema.positions(predictors, "predictors")
    design = sm.add_constant(records[:, x] + 1.0, has_constant="raise")
    with warnings.catch_warnings(action="error"):
        model = sm.Logit(records[:, y] == levels[y] - 1, design)
        fit = model.fit(disp=0, maxiter=100)
    return np.array([fit.params, fit.bse])


# %% [markdown]
# The overlap of two intervals is their common length as a share of each, averaged:


# %% tags=["monte-carlo"]
def compare_regressions():
    """Return a row per term: both estimates, the releases' interval and the overlap."""
    original, original_se = regression(codes)
    fits = np.array([regression(release) for release in releases])
    mean, se, adjusted = combine(fits[:, 0], fits[:, 1] ** 2)
    z = stats.norm.ppf(0.975)
    low = np.maximum(mean - z * se, original - z * original_se)
    common = np.minimum(mean + z * se, original + z * original_se) - low
    return pd.DataFrame(
        {
            "term": ["Intercept", *predictors],
            "original": original,
            "original_se": original_se,
            "synthetic": mean,
            "adjusted": adjusted,
            "low": mean - z * se,
            "high": mean + z * se,
            "overlap": common * (1 / se + 1 / original_se) / (4 * z),
        }
    )


# %% [markdown]
# The comparison, or the reason why there is none:

# %% tags=["monte-carlo"]
heads = [
    "term",
    "original",
    "original_se",
    "synthetic",
    "adjusted",
    "low",
    "high",
    "overlap",
]
coefficients = pd.DataFrame(columns=heads)
reason = "No regression was requested."
if outcome:
    try:
        coefficients = compare_regressions()
    except (ValueError, Warning, np.linalg.LinAlgError) as failure:
        reason = str(failure).splitlines()[0]
        reason = f"The regression cannot be estimated: {reason}"
_ = outputs.table("coefficients", coefficients)

# %% tags=["monte-carlo", "hide-input"]
in_words = coefficients.replace({"term": titles})
show(
    in_words,
    caption="A row per term: log odds from the original and from the releases, the interval "
    "of the latter, and the overlap of both intervals.",
) if len(coefficients) else callout("Note", reason)

# %% [markdown]
# C2 counts the original estimates outside their interval:

# %% tags=["monte-carlo"]
is_missed = ~coefficients["original"].between(coefficients["low"], coefficients["high"])
if not len(is_missed):  # what is not asked for is not judged
    del claims.statements["C2"]

# %% tags=["monte-carlo", "hide-input"]
claims.check(
    "C2",
    "holds",
    "The intervals miss no more often than 95 % intervals may.",
    measured="original estimates outside their interval",
    value=is_missed.sum(),
    relation="<=",
    limit=stats.binom.ppf(0.95, len(is_missed), 0.05),
    n_records=n,
) if len(is_missed) else callout(
    "C2", "Without a regression this claim is removed from the list."
)

# %% [markdown]
# ### Exercise 2: combining rules
#
# Five releases give a coefficient of 0.20, 0.32, 0.25, 0.41 and 0.27, each with standard error 0.06.
# Compute $T = (1 + 1/m)\,b - \bar u$ (`variance`, five decimal places), the degrees of freedom
# $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$ (`df`, one decimal place), and the half-widths
# of the 95 % intervals with normal and with $t$ quantiles (`half_normal`, `half_t`, two decimal places). With a
# standard error of 0.09, is $T$ positive (`still_positive`, true or false)?
#
# *You will need:* `stats.t.ppf`; $b$ has $m - 1$ in the denominator, and $\bar u$ is the square of the standard error.

# %% tags=["solution"]
# Solution
five = np.array([0.20, 0.32, 0.25, 0.41, 0.27])
inflated = (1 + 1 / 5) * five.var(ddof=1)
variance = inflated - 0.06**2
df = 4 * (1 - 0.06**2 / inflated) ** 2
half_normal = 1.96 * np.sqrt(variance)
half_t = stats.t.ppf(0.975, df) * np.sqrt(variance)
still_positive = inflated > 0.09**2
assert round(variance, 5) == 0.00402
assert round(df, 1) == 1.1
assert round(half_normal, 2) == 0.12
assert round(half_t, 2) == 0.64
assert not still_positive

# %% [markdown]
# ## The paper's estimator
#
# The same estimator now serves the mixture and its $m$ releases, whose likelihoods multiply (equation 12). The paper does
# not say whether the draws that generated the releases are among the $\theta_j$. No intruder could arrange that. When
# these draws are left out, their weight is zero. The table summarizes each release's weights, with and without them. A
# hundred effective draws estimate an average to within a tenth of the spread of its terms. Above a [Pareto
# $k$](../docs/guide/glossary.md#pareto-k) of 0.7 no practicable number of draws helps (Vehtari and others 2024).

# %% tags=["monte-carlo"]
log_weights_without_generating = log_weights.copy()
log_weights_without_generating[:, *generating] = -np.inf
cases = {
    "generating draws included": log_weights,
    "generating draws left out": log_weights_without_generating,
}
weights_table = pd.concat(
    diagnostics.importance_summary(values.reshape(n_releases, -1)).assign(case=case)
    for case, values in cases.items()
)
outputs.table("importance_weights", weights_table)
_ = outputs.result("importance_ess_largest", weights_table["ess"].max())

# %% tags=["monte-carlo", "hide-input"]
show(
    weights_table[["case", *weights_table.columns.drop("case")]],
    caption="A row per release and case: effective draws, largest share of the weight in "
    "one draw, and Pareto k of the weights.",
)

# %% [markdown]
# C6 is judged without the generating draws:

# %% tags=["monte-carlo"]
rows_without_generating = weights_table[
    weights_table["case"] == "generating draws left out"
]

# %% tags=["monte-carlo", "hide-input"]
claims.check(
    "C6",
    "fails",
    "A few draws, chosen by chance, carry the whole average.",
    measured="effective draws, by release",
    value=rows_without_generating.set_index("synthetic_set")["ess"],
    relation=">=",
    limit=np.minimum(100, rows_without_generating["draws"] / 4),
    n_records=n,
)

# %% [markdown]
# ## An estimator without weights
#
# The [predictive ratio](../docs/guide/glossary.md#predictive-ratio) needs another set of chains for each release, and the error
# of the chains on $D$ enters $m$ times.


# %% tags=["monte-carlo"]
def draw_joined(releases, purpose, **lengths):
    """Return a list: for each release, the draws given the data joined with it."""
    return [
        draw_posterior(np.vstack([codes, release]), f"{purpose} {i}", **lengths)
        for i, release in enumerate(releases, start=1)
    ]


# %% tags=["monte-carlo"]
joined_draws = draw_joined(
    releases,
    "data and release",
    n_chains=n_chains_joined,
    burn_in=burn_in_joined,
    n_draws=n_draws_joined,
    thin=thin_joined,
)

# %% [markdown]
# `collapsed_log_ratios` returns each chain's log mean of $r_j$ and each draw's $\log p(x_i)$. Given the classes, the
# averages over $\pi$ and $\phi$ are exact, with record $i$ removed from its class.


# %% tags=["monte-carlo"]
def log_mean_ratios(draw_sets):
    """Return log mean r, (chains, combinations, candidates), for each set of draws."""
    return [disclosure.collapsed_log_ratios(d, combinations)[0] for d in draw_sets]


# %% tags=["monte-carlo"]
# (chains, combinations, candidates) and (chains, draws, combinations)
log_mean_r, log_prob = disclosure.collapsed_log_ratios(draws, combinations)
log_mean_r_joined = log_mean_ratios(joined_draws)
predictive_risk = disclosure.predictive_ratio([log_mean_r, *log_mean_r_joined])
n_candidates = predictive_risk.support_size

# %% [markdown]
# Each combination has an R-hat of $\log p(x_i)$. The quantiles over combinations, a row for the data and each release:

# %% tags=["monte-carlo"]
log_prob_given = {"data": log_prob[:, ::step]}  # thinned as thinned_draws
for i, given in enumerate(joined_draws, start=1):
    log_prob_given[f"data and release {i}"] = dpmpm.cell_log_prob(given, combinations)
rows = []
for name, values in log_prob_given.items():
    rows.append([name, *np.quantile(diagnostics.r_hat(values), [0.5, 0.95, 1])])
heads = ["posterior given", "median", "95 %", "largest"]
convergence = outputs.table("r_hat_log_prob", pd.DataFrame(rows, columns=heads))

# %% tags=["monte-carlo", "hide-input"]
show(
    convergence,
    caption="R-hat of the log probabilities behind the risks, over all combinations.",
    names={"95 %": "95th percentile"},
)

# %% [markdown] tags=["written"]
# ### Exercise 3: the predictive ratio, derived and used
#
# Derive $p(Z \mid D_i^x) = p(Z \mid D_{-i})\, p(x \mid D_{-i}, Z) / p(x \mid D_{-i})$ for a model in which
# records and releases are independent given $\theta$. Then use it for one yes/no variable with a uniform prior
# on its proportion. Of the 199 records that the intruder knows, 120 have the true value of the target record; of
# 200 released ones, 130 have it. With prior 1/2, what is the `posterior` probability of the true value, to
# three decimal places? Check it against the beta-binomial probabilities of the release.
#
# *You will need:* $p(Z, x \mid D_{-i})$, factored in two ways, and `stats.betabinom.pmf` for the check.

# %% tags=["solution"]
# Solution
of_truth = (1 + 120 + 130) / (1 + 120)
of_other = (1 + 79 + 70) / (1 + 79)
posterior = of_truth / (of_truth + of_other)
if_true, if_other = stats.betabinom.pmf(130, 200, [122, 121], [80, 81])
assert np.isclose(posterior, if_true / (if_true + if_other))
assert round(posterior, 3) == 0.525

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# $p(Z, x \mid D_{-i})$ factors in two ways: the record first and then the release,
# $p(x \mid D_{-i})\, p(Z \mid x, D_{-i})$, or the release first and then the record,
# $p(Z \mid D_{-i})\, p(x \mid D_{-i}, Z)$. Given $\theta$ the record and the release are independent, so
# each factor is an integral of a likelihood over a posterior, and $p(Z \mid x, D_{-i}) = p(Z \mid D_i^x)$.
# Dividing gives the ratio. Here $p(x \mid D_{-i}) = 121/201$ and $p(x \mid D_{-i}, Z) = 251/401$ for the
# true value; the denominators are the same for the other value and cancel.
#
# </details>

# %% [markdown]
# ## Twice on the same release
#
# Each estimator runs twice on the same releases, once on each half of the chains.
# First importance sampling: `one_variable_log_ratios` returns each chain's log sums of weighted $r_j$, first with equal
# weights, for the denominator, then with each release's.

# %% tags=["monte-carlo"]
is_kept = np.isfinite(log_weights_without_generating[:1])
log_equal_weights = np.where(is_kept, 0.0, -np.inf)
log_weight_sets = np.concatenate([log_equal_weights, log_weights_without_generating])
log_sums_r = disclosure.one_variable_log_ratios(
    thinned_draws, combinations, log_weight_sets
)  # (1 + releases, chains, combinations, candidates)

# %% [markdown]
# The risk from all chains, and from each half:

# %% tags=["monte-carlo"]
log_sums_halves = np.array_split(log_sums_r, 2, axis=1)  # of the chains
importance_risk = disclosure.importance_sampling(log_sums_r[1:], log_sums_r[:1])
importance_runs = [
    disclosure.importance_sampling(half[1:], half[:1]) for half in log_sums_halves
]

# %% [markdown]
# Then the predictive ratio from each half, with the same log means as above:

# %% tags=["monte-carlo"]
log_mean_sets = (log_mean_r, *log_mean_r_joined)
halves = [np.array_split(chains, 2) for chains in log_mean_sets]
predictive_runs = [
    disclosure.predictive_ratio(half) for half in zip(*halves, strict=True)
]
runs = {"importance sampling": importance_runs, "predictive ratio": predictive_runs}

# %% [markdown]
# `repeatability` compares an estimator's two runs. Errors from half the chains are rough: two standard errors need
# not cover 95 % of the differences. The last column rests on few records.

# %% tags=["monte-carlo"]
by_estimator = {name: disclosure.repeatability(*pair) for name, pair in runs.items()}
repeated = pd.DataFrame(by_estimator).T.rename_axis("estimator").reset_index()

# %% tags=["monte-carlo", "hide-input"]
show(
    outputs.table("repeatability", repeated),
    caption="Two runs on the same release: differences and correlation of the true record's "
    "log probability, and the share of one run's top three that the other keeps.",
)

# %% [markdown]
# Squares of the chart count combinations, by their probabilities in both runs.

# %% tags=["monte-carlo"]
two_runs = pd.concat(
    pd.DataFrame({"x": first.probability, "y": second.probability, "panel": name})
    for name, (first, second) in runs.items()
)

# %% [markdown]
# Why do the runs differ? The bars below are a release's eight largest weights in importance sampling. A slider removes
# the heaviest draws one by one and rescales the rest:

# %% tags=["monte-carlo"]
heaviest_first = -np.sort(-log_weights_without_generating.reshape(n_releases, -1))
# For k draws removed, the shares of the next eight: ten arrays, (releases, 8).
share_left = [softmax(heaviest_first[:, k:], axis=1)[:, :8] for k in range(10)]
numbers = [range(10), range(1, n_releases + 1), range(1, 9)]
index = pd.MultiIndex.from_product(numbers, names=["away", "release", "draw"])
weights_left = pd.DataFrame({"share": np.ravel(share_left)}, index).reset_index()
# the share of the heaviest draw, in the release where that is least
_ = outputs.result("heaviest_draw_least", share_left[0].max(axis=1).min())

# %% tags=["monte-carlo", "hero", "hide-input"]
about = (
    "Squares show the probabilities of two runs around the line of equality, on logarithmic scales: "
    "a wide cloud for importance sampling, a thin band along the line for the predictive ratio."
)
axes = "Probability of the true record, run 1", "Probability of the true record, run 2"
agreement = charts.agreement(two_runs, *axes, description=about)
base = alt.Chart(charts.compact(weights_left)).transform_filter(
    "datum.release == shown_release && datum.away == shown_away"
)
x = alt.X("draw:O", title="Remaining draws, by weight", axis=alt.Axis(labelAngle=0))
y = alt.Y("share:Q", title="Share of the weight", scale=alt.Scale(domain=[0, 1]))
bars = base.mark_bar(color=charts.COLORS["importance sampling"]).encode(x=x, y=y)
label = (
    "format(datum.share, '.1%') + ' of the weight in one draw of ' + "
    f"({np.isfinite(heaviest_first[0]).sum()} - shown_away)"
)
text = base.transform_filter("datum.draw == 1").transform_calculate(said=label)
text = text.mark_text(align="left", baseline="top", fontSize=13).encode(
    x=alt.value(75), y=alt.value(4), text="said:N"
)
bars = alt.layer(bars, text.properties(name="said_a")).properties(height=110, width=520)
slider = alt.binding_range(min=1, max=n_releases, step=1, name="release ")
which = alt.param("shown_release", value=1, bind=slider)
slider = alt.binding_range(min=0, max=9, step=1, name="heaviest draws removed ")
away = alt.param("shown_away", value=0, bind=slider)
about += " Below, bars of weights: the heaviest draw has most, the next one most of the rest."
chart = alt.vconcat(agreement, bars).properties(description=about)
outputs.figure("agreement", chart.add_params(which, away))

# %% [markdown]
# **Two runs of the predictive ratio agree; two runs of the paper's estimator hardly agree.** In the chart $r$ is the
# correlation of the logarithms. Distance from the line is Monte Carlo error.
#
# ## How high are the risks?
#
# Weights $1/p(x_i)$ leave a record out. Their Pareto $k$, for each combination:

# %% tags=["monte-carlo", "confidential"]
log_p = log_prob_given["data"].reshape(-1, len(combinations))
k_of_whole = diagnostics.pareto_k(-log_p.T)  # (combinations,)

# %% [markdown]
# One table has both estimates for all combinations, a row each:


# %% tags=["monte-carlo", "confidential"]
def risk_table(estimator, risk, pareto_k):
    """Return a row per combination: its levels, repetitions and estimated risk."""
    return table.schema.decode(combinations, labels=False).assign(
        repetitions=repetitions,
        estimator=estimator,
        probability=risk.probability,
        rank=risk.rank,
        support_size=risk.support_size,
        log_mcse=risk.log_mcse[:, 0],
        pareto_k=pareto_k,
    )


# %% tags=["monte-carlo", "confidential"]
frames = [
    risk_table(
        "importance_sampling",
        importance_risk,
        rows_without_generating["pareto_k"].max(),
    ),
    risk_table("predictive_ratio", predictive_risk, k_of_whole),
]
risks = outputs.table("combinations", pd.concat(frames))
estimators = {
    "importance sampling": importance_risk,
    "predictive ratio": predictive_risk,
}

# %% [markdown]
# Histograms, by estimator, of the true record's rank among its candidates (Figure 3; dotted: a random order) and of its
# [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) (Figure 4; dotted: the prior):

# %% tags=["monte-carlo", "confidential"]
ranks = {
    name: np.ceil(risk.rank - 0.5)  # ties: the better rank
    for name, risk in estimators.items()
}
posteriors = {name: risk.probability for name, risk in estimators.items()}

# %% tags=["monte-carlo", "confidential", "hide-input"]
axes = "Rank of the true record (1: most probable)", "Combinations"
about = (
    "Histograms of the true record's rank by either estimator: few true records rank first, most have a "
    "middle rank, and hardly any is among the last."
)
bins = np.arange(n_candidates + 1) + 0.5
chart = charts.histograms(
    ranks, bins, *axes, y=len(combinations) / n_candidates, description=about
)
display(outputs.figure("figure_3", chart))
axes = "Posterior probability of the true record", "Combinations (square-root scale)"
about = (
    "Histograms of the posterior probability of the true record. By importance sampling they spread "
    "widely around the prior; by the predictive ratio they stay nearer to it."
)
bins = np.linspace(0, 1.0001 * risks["probability"].max(), 41)
chart = charts.histograms(
    posteriors, bins, *axes, square_root=True, x=1 / n_candidates, description=about
)
outputs.figure("figure_4", chart)

# %% [markdown]
# **True records seldom rank near the top, and most probabilities stay near the prior.** Importance sampling spreads the
# probabilities more. Its two runs hardly agree, so the spread cannot be read as risk: odds from a single draw are more
# extreme than their average over the posterior.
#
# The words of section 4.2, as four shares of the combinations; *ratio* is posterior to prior of the true record:

# %% tags=["monte-carlo"]
share_names = [
    "a rank of 1 to 3",
    "a ratio of 1/2 to 2",
    "a ratio of at most one",
    "a ratio above two",
]

# %% [markdown]
# ### Another set of releases
#
# One more released record of some value moves the probabilities of all combinations that share the value. So combinations
# are not independent, and another set of $m$ releases from the same fit gives other shares. Here are three of
# eight more sets, with fewer and shorter chains:

# %% tags=["monte-carlo"]
# 8 m releases of n records each
more_releases = draws.release(8 * n_releases, n, rng=stream(seed, "further releases"))
further_draws = draw_joined(
    more_releases[-3 * n_releases :],  # far from the first set's draws
    "data and further release",
    n_chains=2,
    burn_in=burn_in_joined // 3,
    n_draws=n_draws_joined // 2,
    thin=thin_joined,
)

# %% [markdown]
# ### People who are not in the file
#
# What are the shares for people about whom the release can tell nothing? They are drawn from the same population, or from the
# model if the file is a user's.

# %% tags=["monte-carlo", "confidential"]
if data:
    people = more_releases[0]
else:
    population = microdata.load("", n_records=n, rng=stream(seed, "people"))
    people = population.codes[:, population.schema.positions(kept, "people")]

# %% [markdown]
# At most 500 of their combinations are used, each with its candidates:

# %% tags=["monte-carlo", "confidential"]
people_combinations, _, _ = distinct(people)
thinning = len(people_combinations) // 500 + 1
people_combinations = people_combinations[::thinning]
# (people, candidates, variables), each person's true combination first
people_candidates = disclosure.one_variable_supports(people_combinations, levels)

# %% [markdown]
# No record has to be left out: $p(x \mid D, Z)$ is the mean of $p(x \mid \theta_j)$ over draws. Its log replaces that of
# the mean $r_j$.


# %% tags=["monte-carlo"]
def log_predictive(draws):
    """Return log p(x) of the candidates given the draws' data, (chains, people, candidates)."""
    log_p = dpmpm.cell_log_prob(draws, people_candidates.reshape(-1, len(levels)))
    log_mean_p = logsumexp(log_p, axis=1) - np.log(draws.n_draws)
    return log_mean_p.reshape(draws.n_chains, *people_candidates.shape[:2])


# %% tags=["monte-carlo"]
log_p_people = log_predictive(thinned_draws)
log_p_people_joined = [log_predictive(given) for given in joined_draws]
log_p_people_further = [log_predictive(given) for given in further_draws]


# %% [markdown]
# The four shares follow from log means, as in the predictive ratio:


# %% tags=["monte-carlo"]
def shares(log_mean_r, *log_mean_r_joined):
    """Return the four shares, (4,), from log mean r, (combinations, candidates) each."""
    log_likelihood = sum(log_mean_r_joined) - len(log_mean_r_joined) * log_mean_r
    log_posterior = mechanism.posterior(log_likelihood)  # of all candidates
    log_ratio = log_posterior[:, 0] + np.log(n_candidates)  # the prior is uniform
    is_near = np.abs(log_ratio) <= np.log(2)
    is_top = mechanism.rank(log_posterior) <= 3
    return np.mean([is_top, is_near, log_ratio <= 0, log_ratio > np.log(2)], axis=1)


# %% [markdown]
# The shares for each set of releases, a row each, in the file and outside:


# %% tags=["monte-carlo"]
def shares_by_set(given_data, given_joined):
    """Return the shares for each set of m releases, (sets, 4), from log means by chain."""
    over_data = log_mean(given_data)  # over chains
    over_joined = [log_mean(chains) for chains in given_joined]
    starts = range(0, len(over_joined), n_releases)  # of each set
    sets = [over_joined[i : i + n_releases] for i in starts]
    return np.array([shares(over_data, *joined) for joined in sets])


# %% tags=["monte-carlo"]
shares_in_file = shares_by_set(
    log_mean_r, log_mean_r_joined + log_mean_ratios(further_draws)
)
shares_outside = shares_by_set(log_p_people, log_p_people_joined + log_p_people_further)
sets_in_file = pd.DataFrame(shares_in_file, columns=share_names).assign(
    people="in the file"
)
sets_outside = pd.DataFrame(shares_outside, columns=share_names).assign(people="others")
release_sets = pd.concat([sets_in_file, sets_outside]).rename_axis("set")
_ = outputs.table("release_sets", release_sets.reset_index())


# %% [markdown]
# The error of a mean over $S$ sets has three parts: the standard deviation between sets over $\sqrt S$; the error of the
# chains, by leaving out one at a time; and $\sqrt{p(1 - p)/n}$ for another file, where $p$ among $n$ combinations is the
# share (with half a combination added on either side) or the claim's limit, whichever is nearer to one half.


# %% tags=["monte-carlo"]
def error_of_mean(by_set, chain_error, n, limits=0):
    """Return the errors of the four mean shares, (4,), from shares by set, (sets, 4)."""
    between_sets = by_set.var(axis=0, ddof=1) / len(by_set)
    p = (n * by_set.mean(axis=0) + 0.5) / (n + 1)  # neither 0 nor 1
    chance = np.maximum(p * (1 - p), limits * (1 - limits)) / n
    return np.sqrt(between_sets + chain_error**2 + chance)


# %% [markdown]
# `jackknife` returns the shares of one set and the chains' error. First outside the file:

# %% tags=["monte-carlo"]
mean_outside = shares_outside.mean(axis=0)
_, chain_error = disclosure.jackknife(shares, [log_p_people, *log_p_people_joined])
error_outside = error_of_mean(shares_outside, chain_error, len(people_combinations))

# %% [markdown]
# Then in the file. The limit of C3 is the share outside:

# %% tags=["monte-carlo"]
limits = np.array([mean_outside[0], 0.5, 0.5, 10 / 3523])  # of C3, C4, C7 and C8
first_set_share, first_set_error = disclosure.jackknife(
    shares, [log_mean_r, *log_mean_r_joined]
)
mean_in_file = shares_in_file.mean(axis=0)
error_in_file = error_of_mean(
    shares_in_file, first_set_error, len(combinations), limits
)

# %% [markdown]
# A row for each share, in percent. The first set by both estimators, then the means of four sets, in the file and
# outside:

# %% tags=["monte-carlo"]
text_in_file = list(map(percent_with_error, mean_in_file, error_in_file))
text_outside = list(map(percent_with_error, mean_outside, error_outside))
first_set_text = list(map(with_error, 100 * first_set_share, 100 * first_set_error))
# Log posteriors for log likelihoods: with a uniform prior they differ by a constant.
importance_share = shares(np.zeros(1), importance_risk.log_prob)
shares_table = pd.DataFrame(
    {
        "combinations whose true record has": share_names,
        "predictive ratio": first_set_text,
        "importance sampling": 100 * importance_share,
        "mean of four sets": text_in_file,
        "people not in the file": text_outside,
        "limit of the claim": 100 * limits,
    }
)

# %% tags=["monte-carlo", "hide-input"]
about = (
    "Shares of the combinations in percent, for an intruder who knows all other records: "
    "the first set of releases by each estimator, with errors from the chains; "
    "means of four sets with all errors; and, in the order of the rows, the limits of C3, C4, C7 and C8."
)
show(outputs.table("shares", shares_table), caption=about)

# %% [markdown]
# A random order is no yardstick for the ranks:

# %% tags=["monte-carlo"]
callout(
    "Among the first three",
    f"{percent_with_error(min(3 / n_candidates, 1.0))} in a random order, and {text_outside[0]} "
    "of people who are not in the file.",
)

# %% [markdown]
# Few first ranks therefore do not show protection. A likely reason, not tested here: a true record is a common
# combination among rarer neighbors, whose probabilities a release moves more. The claims' words are those for the paper's 10,000 records
# (`--profile published`); a smaller run that leaves them open says so. C3 needs the error of a difference:

# %% tags=["monte-carlo"]
claim_errors = error_in_file.copy()  # of C3, C4, C7 and C8
claim_errors[0] = np.hypot(error_in_file[0], error_outside[0])

# %% tags=["monte-carlo", "hide-input"]
verdicts = [
    ("C3", "not decided", "The errors cover the difference to other people.", "<="),
    (
        "C4",
        "holds",
        "For most true records the release changes the probability by a factor below two.",
        ">",
    ),
    ("C7", "fails", "The releases raise more probabilities than they lower.", ">"),
    ("C8", "fails", "Their share is above ten in 3,523.", "<="),
]
for k, (claim, word, sentence, relation) in enumerate(verdicts):
    checked = claims.check(
        claim,
        word,
        sentence,
        measured=f"mean share of combinations with {share_names[k]}",
        value=mean_in_file[k],
        relation=relation,
        limit=limits[k],
        error=claim_errors[k],
        n_records=n,
    )
    display(checked)

# %% [markdown]
# Table 3 of the paper lists the 31 true records that rank among the first three of 35 candidates. Their probabilities and
# ranks:

# %%
in_paper = (
    "051 088 086 070 190 076 087 060 065 125 075 069 047 066 081 046 "
    "101 085 055 050 059 066 052 079 051 053 054 121 104 065 080"
)
in_paper = np.array(in_paper.split(), int) / 1000
ranks_in_paper = np.repeat([1, 2, 3], [2, 5, 24])

# %% [markdown]
# ### Exercise 4: which sentence does the table not support?
#
# Which of three sentences of section 4.2 do the numbers of Table 3, `in_paper` and `ranks_in_paper`, contradict
# (`unsupported`)? (a) "The largest probability is close to 0.2." (b) "High probabilities do not automatically result in top
# rankings." (c) "Only a handful of combinations have ratios of posterior to prior exceeding two." How many ratios above two
# (`exceeding`) does the table contain?
#
# *You will need:* a calculator; the prior is 1/35.

# %% tags=["solution"]
# Solution
exceeding = (in_paper > 2 / 35).sum()
unsupported = "c"
assert unsupported == "c"
assert exceeding == 22

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# (a) is the .190 of the fifth row. That row also shows (b): its rank is 2, while a true record with .051 has
# rank 1. (c) is contradicted: with a prior of 1/35 a ratio above two is a probability above .057, and the
# table alone has 22 of them. The text counts 16 probabilities above .08 in all; at most eleven of these
# are here (.080 is rounded), which makes at least 27.
#
# </details>

# %% [markdown] tags=["appendix"]
# ## Which estimator made Table 3?
#
# Without the paper's data no row of Table 3 can be recomputed. As a whole it is a fingerprint of five counts among 3,523
# true records, 31 of them among the first three:

# %%
labels = [
    "rank 1 to 3",
    "rank 1, of these",
    "occur once, of these",
    "above .08, of these",
    "above .08, of the others",
]
paper_counts = np.array([31, 2, 27, 10, 6])

# %% [markdown] tags=["appendix"]
# The same counts for this run's first set of releases, with probabilities scaled to 35 candidates:


# %% tags=["monte-carlo"]
def totals(n, n_top):
    """Return the numbers of true records behind the five counts."""
    return np.array([n, n_top, n_top, n_top, n - n_top])


def five_counts(risk):
    """Return the five counts for an estimator's risks."""
    is_top = risk.rank <= 3
    is_above = risk.probability * n_candidates / 35 > 0.08
    of_top = [is_top & kind for kind in (risk.rank <= 1, repetitions == 1, is_above)]
    return np.sum([is_top, *of_top, ~is_top & is_above], axis=1)


# %% [markdown] tags=["appendix"]
# The likelihood is the probability of the paper's counts if its true records are like the run's. These are few, so each
# share has its posterior given the run: a beta-binomial probability. The logarithms add
# if combinations are independent, which they are not, so all are too sharp.

# %% tags=["monte-carlo"]
total = totals(3523, 31)
table_3 = pd.DataFrame({"true records": labels, "paper": paper_counts, "of": total})
for name, risk in estimators.items():
    count = five_counts(risk)
    run_total = totals(len(repetitions), count[0])
    misses = run_total - count
    log_p = stats.betabinom.logpmf(paper_counts, total, count + 1, misses + 1)
    table_3[name] = count
    table_3[f"of, {name}"] = run_total
    table_3[f"log₁₀ likelihood, {name}"] = log_p / np.log(10)
sums = table_3.filter(like="likelihood").sum()
table_3 = pd.concat([table_3, pd.DataFrame([{"true records": "all five", **sums}])])

# %% tags=["monte-carlo", "hide-input"]
about = (
    "A row per count: as printed in Table 3 and section 4.2, and in this run by each "
    "estimator, with the number that it is of, and the likelihood of the printed count."
)
show(outputs.table("table_3", table_3), caption=about)

# %% [markdown] tags=["appendix"]
# The sum's difference, and without the first count:

# %% tags=["monte-carlo"]
# by count: the log likelihood by the predictive ratio, less that by importance sampling
by_count = table_3.filter(like="likelihood").diff(axis=1).iloc[:-1, 1]
callout(
    "Which estimator: not decided",
    "log₁₀ likelihood by the predictive ratio, less that by importance sampling: "
    f"{by_count.sum():.1f} in all, {by_count[1:].sum():.1f} without the first count.",
)

# %% [markdown] tags=["appendix"]
# A difference of one is a factor of ten. The first count depends most on the data, here not the paper's. All are from one
# set of releases, with the generating draws left out.
#
# ## An intruder who lacks a few variables
#
# Now the intruder knows the record's other variables, and all combinations of the unknown ones are candidates (equation
# 16), for every combination or for 500 evenly spaced in the order of risk. The paper shows one record whose four values
# have probability .3695, and one with .0259; the prior is 1/36.
#
# Here the parameters are not integrated out. The averages run over draws given *all* records, with weights
# $1/p(x_i \mid \theta_j)$ that leave the record out: means of $r_j$ again, from `subset_log_means`. Where the Pareto $k$
# of such weights is above one half, their variance is infinite and the stated errors can be too small.

# %% tags=["monte-carlo", "confidential"]
unknown_at = table.schema.positions(unknown, "unknown")
by_risk = np.argsort(-predictive_risk.log_prob[:, 0])  # the riskiest first
evenly_spaced = np.linspace(0, len(by_risk) - 1, min(len(by_risk), 500)).astype(int)
chosen = np.unique(by_risk[evenly_spaced])  # positions in combinations
# Given the data and each release: (chains, chosen, candidates).
log_means = [
    disclosure.subset_log_means(given, combinations[chosen], unknown_at)
    for given in (thinned_draws, *joined_draws)
]
part_risk = disclosure.predictive_ratio(log_means)

# %% [markdown] tags=["appendix"]
# For one record in plain code, given the data: its candidates, and the mean of $r_j$ over the draws.

# %% tags=["monte-carlo", "confidential"]
top = part_risk.probability.argmax()
support = disclosure.subset_support(combinations[chosen[top]], unknown_at, levels)
log_r = log_ratios(thinned_draws, support)  # (draws, candidates)
mean_r = np.exp(log_r).mean(axis=0)
assert np.allclose(np.log(mean_r), log_mean(log_means[0])[top])

# %% [markdown] tags=["appendix"]
# The saved table has a row for each chosen record:

# %% tags=["monte-carlo", "confidential"]
decoded = table.schema.decode(combinations[chosen])
records = [
    "; ".join(f"{titles[name]}: {value}" for name, value in row.items())
    for row in decoded.to_dict("records")
]
subset_table = {
    "record": records,
    "unknown": ", ".join(unknown),
    "probability": part_risk.probability,
    "log_mcse": part_risk.log_mcse[:, 0],
    "rank": part_risk.rank,
    "support_size": part_risk.support_size,
}
_ = outputs.table("subset_risk", pd.DataFrame(subset_table))

# %% [markdown] tags=["appendix"]
# The candidates of the one record, a row each:

# %% tags=["monte-carlo", "confidential"]
values = table.schema.decode(support)[unknown]
values["probability"] = np.exp(part_risk.log_prob[top])
values["true record"] = np.arange(len(values)) == 0

# %% tags=["monte-carlo", "confidential", "hide-input"]
show(
    values.nlargest(6, "probability"),
    caption="The most probable values of the most exposed record, to an intruder who knows "
    f"all else; the prior is 1/{part_risk.support_size}.",
    names=titles,
)

# %% [markdown] tags=["appendix"]
# The risks of the whole records, and the Pareto $k$ for their parts:

# %% tags=["monte-carlo"]
whole_risk = predictive_risk.subset(chosen)
log_p = dpmpm.cell_log_prob(thinned_draws, combinations[chosen])
log_p = log_p.reshape(-1, len(chosen))
k_of_part = diagnostics.pareto_k(-log_p.T)  # (chosen,)

# %% [markdown] tags=["appendix"]
# The factor by which the releases multiply the prior of the true values, a row each for part and whole:


# %% tags=["monte-carlo"]
def log_factor(risk):
    """Return the log of posterior over prior of the true record, for each record."""
    return risk.log_prob[:, 0] + np.log(risk.support_size)


def factors(risk, pareto_k):
    """Return the largest factor with its error, the median, and how large k is."""
    factor = np.exp(log_factor(risk))
    largest = factor.argmax()
    return {
        "largest factor": factor[largest],
        "standard error": factor[largest] * risk.log_mcse[largest, 0],
        "median": np.exp(np.median(log_factor(risk))),
        "largest Pareto k": pd.Series(pareto_k).max(),
        "share of k above 1/2": (pareto_k > 0.5).mean(),
    }


# %% tags=["monte-carlo"]
part_and_whole = pd.DataFrame(
    [factors(part_risk, k_of_part), factors(whole_risk, k_of_whole[chosen])]
)
part_and_whole.insert(0, "unknown", ["part of a record", "whole record"])

# %% tags=["monte-carlo", "hide-input"]
show(
    outputs.table("part_and_whole", part_and_whole),
    caption="Factor by which the releases multiply the prior of the true record, for an "
    "intruder who knows all other records.",
)

# %% [markdown] tags=["appendix"]
# C5 compares the two factors of each combination:

# %% tags=["monte-carlo", "hide-input"]
claims.check(
    "C5",
    "depends on the combination",
    "Some parts are more exposed than the whole, others less.",
    measured="log factor of the part, minus that of the whole",
    value=pd.Series(
        log_factor(part_risk) - log_factor(whole_risk),
        ["one combination"] * len(chosen),
    ),
    relation=">",
    limit=0,
    error=np.hypot(part_risk.log_mcse[:, 0], whole_risk.log_mcse[:, 0]),
    required_share=0.95,
    n_records=len(chosen),
)

# %% [markdown] tags=["appendix"]
# The public report of a confidential file shows only the words of the verdicts:

# %% tags=["monte-carlo", "public", "public-only"]
claims.verdicts()

# %% [markdown] tags=["appendix"]
# A probability alone does not say how much a release discloses: .190 among 35 candidates is 6.7 times the prior, .3695
# among 36 is 13.3 times, and a variable with two levels starts from one half.
#
# ## The ledger
#
# *The paper's empirical numbers are not recomputed here*: they belong to a sample of 10,000 North Carolinians and to
# releases that were never published. The [ledger](../docs/guide/glossary.md#ledger) compares printed numbers with those
# below. *Match* means arithmetic on Table 1 and on printed digits. Section 4.2 prints 1.46 for 0.0585 / 0.0398, which is
# 1.470: it was cut off, not rounded.

# %% tags=["monte-carlo"]
outputs.table("claims", claims.table)
paper = printed("hu_reiter_wang").set_index("id")["printed"].astype(float)
acs_levels = microdata.ACS.n_levels
four = microdata.ACS.positions(["WKL", "DIS", "HICOV", "MIG"], "unknown")
computed = {
    "example_support_size": 1 + (np.array([3, 5, 2]) - 1).sum(),
    "n_variables": len(acs_levels),
    "n_cells": acs_levels.prod(),
    "subset_size": acs_levels[four].prod(),
    "support_size": 1 + (acs_levels - 1).sum(),
    "other_candidates": (acs_levels - 1).sum(),
    "prior_odds_ratio_11111213121111": 0.0585 / 0.0398,
}

# %% [markdown] tags=["appendix"]
# *Consistent* numbers agree with other printed ones. An estimate of Table 2 is the center of its interval: seven such
# identities count once for each of their three numbers. The median of Figure 4 is only near the prior, which does not
# determine it.

# %% tags=["monte-carlo"]
consistent = {
    "figure3_rank_1": (np.sum(ranks_in_paper == 1), "rows of rank 1 in Table 3"),
    "figure3_rank_1_to_3": (len(ranks_in_paper), "rows of Table 3"),
    "figure4_largest": (in_paper.max(), "largest probability of Table 3"),
    "figure4_median": (1 / 35, "the prior"),
}
terms = [term.lower() for term in ["Intercept", *paper_predictors]]
reason = "the estimate is the center of the interval"
for term in terms:
    center = paper[f"table2_{term}_synthetic"]
    low = paper[f"table2_{term}_low"]
    high = paper[f"table2_{term}_high"]
    consistent[f"table2_{term}_synthetic"] = (low + high) / 2, reason
    consistent[f"table2_{term}_low"] = 2 * center - high, reason
    consistent[f"table2_{term}_high"] = 2 * center - low, reason

# %% [markdown] tags=["appendix"]
# With all variables of the survey a run shows its own counts beside the paper's. The tables show printed numbers by
# source and verdict, and those without one.

# %% tags=["monte-carlo"]
settings = {
    "n_records": n,
    "n_synthetic_sets": n_releases,
    "level_prior": 1,
    "alpha_shape": alpha_shape,
    "alpha_rate": alpha_rate,
}
run_counts = {}
if table.schema == microdata.ACS:
    count_ids = paper.filter(regex="combination").index
    run_counts = dict(zip(count_ids, [*data_counts.values()][2:], strict=True))

# %% tags=["monte-carlo", "hide-input"]
outputs.ledger(
    ledger(
        "hu_reiter_wang",
        computed | run_counts,
        settings=settings,
        consistent=consistent,
        skip=dict.fromkeys(run_counts, "other records"),
        missing="needs the paper's records and releases",
        notes={"prior_odds_ratio_11111213121111": "1.470, truncated and not rounded"},
    )
)

# %% [markdown] tags=["appendix"]
# ## What did not reproduce, and why
#
# **The estimator.** If one draw carried each release's weight on the paper's data too, its Table 3 cannot be
# reproduced without those very draws. The paper gives no number of effective draws.
#
# **Removing risky records** (section 5) is computed neither there nor here. A release made without a record discloses
# nothing about its values to an intruder who knows which were removed. The cost to all others depends on the synthesizer.
#
# **Fewer candidates.** With a uniform prior, fewer candidates give larger probabilities and better ranks, as section 3.1
# says. That does not bound their ratio to the prior.
#
# **A weaker intruder** (section 3.1) is tested in `what_a_risk_means`.
#
# **Other priors.** Section 4.2 says that for large $m$ the prior can hardly matter. Where C4 holds, most posteriors are near the
# prior, and so it does.
#
# **The intervals of Table 2.** The combining rules use a $t$ distribution whose degrees of freedom are
# $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$. For $m = 5$ no interval from a positive variance can then have a
# half-width below $6.67 \sqrt{\bar u}$: it is the least product of the quantile and $\sqrt T$, over all `ratio`s of
# $(1 + 1/m)\,b$ to $\bar u$.

# %% tags=["monte-carlo"]
ratio = np.linspace(1.001, 60, 100_000)
# of intervals with t quantiles, in units of the standard error within releases
half_widths = stats.t.ppf(0.975, 4 * (1 - 1 / ratio) ** 2) * np.sqrt(ratio - 1)
assert round(half_widths.min(), 2) == 6.67

# %% tags=["monte-carlo"]
low = paper.filter(regex="table2_.*_low").to_numpy()
half_width = (paper.filter(regex="table2_.*_high").to_numpy() - low) / 2
standard_errors = pd.DataFrame({"coefficient of": terms, "half-width": half_width})
standard_errors["normal quantiles"] = half_width / 1.96
standard_errors["largest √ū, with t quantiles"] = half_width / half_widths.min()
if coefficients["term"].str.lower().tolist() == terms:
    scaled = coefficients["original_se"] * np.sqrt(n / 1e4)
    standard_errors["here, for 10,000"] = scaled
    standard_errors["largest √ū, relative to here"] = (
        standard_errors["largest √ū, with t quantiles"] / scaled
    )

# %% tags=["monte-carlo", "hide-input"]
show(
    standard_errors,
    caption="Half-widths of Table 2, and the standard errors that they imply: √T with normal "
    "quantiles; the largest √ū that t quantiles allow; and, if present, the standard error of "
    "this run's original estimate, scaled to 10,000 records, and that √ū relative to it.",
)

# %% [markdown] tags=["appendix"]
# Unless the paper's $\sqrt{\bar u}$ was at most the value in the column for $t$, its intervals have normal quantiles,
# other degrees of freedom, or variances that were negative and adjusted.
#
# ## References
#
# - Ishwaran, H. and James, L. F. (2001). [Gibbs sampling methods for stick-breaking
#   priors](https://doi.org/10.1198/016214501750332758). *JASA* 96, 161–173.
# - Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple imputation for statistical
#   disclosure limitation. *Journal of Official Statistics* 19, 1–16.
# - Reiter, J. P. (2002). Satisfying disclosure restrictions with synthetic data sets. *Journal of
#   Official Statistics* 18, 531–544.
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). [Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of
#   MCMC](https://doi.org/10.1214/20-BA1221). *Bayesian Analysis* 16, 667–718.
# - Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). [Pareto smoothed importance
#   sampling](https://doi.org/10.48550/arXiv.1507.02646). *JMLR* 25(72), 1–58.
