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
# the last one from the release? Hardly, the paper answers by Bayes' rule, for 10,000 adults of the American
# Community Survey. On the embedded population, which is not the paper's file, most probabilities also stay within a
# factor of two of the prior. But the paper's estimator is unreliable: one or two of all posterior draws carry most
# of the weight.

# %% [markdown] tags=["notebook-only"]
# Few true records rank near the top, and some parts of records are more exposed than the whole. **You should
# know** Bayes' rule, Markov chain Monte Carlo and logistic regression.
#
# ## Parameters
#
# The defaults take 1,000 records and the eleven variables of the paper's figures, its regression and
# equation 16. The published profile has all fourteen and the paper's sample size, number of
# releases and priors. The number of classes and all chain settings are chosen here.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2008, 2100] year of a raw ACS person file that is given by its path
n_records: int = 1000  # [10, 10000000] records used; a seeded sample where the file has more
all_variables: bool = False  # embedded population: all 14, not just those named below
pairs: list[list[str]] = []  # pairs for Figures 1 and 2; empty: the paper's, or outcome's
outcome: str = ""  # of the regression, its last level against the rest; empty: the paper's, or none
predictors: list[str] = []  # of the regression, by numeric codes; empty: the paper's, or none
unknown: list[str] = []  # unknown to the intruder of equation 16; empty: the paper's, or two
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
seed: int = 2014  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
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
from srlib.display import callout, show, with_error
from srlib.ledger import Claims, ledger, printed
from srlib.margins import utility_loss
from srlib.outputs import Outputs
from srlib.risk.errors import log_mean
from srlib.rng import stream

outputs = Outputs(output_dir)

# %% [markdown]
# ## What is claimed
#
# The run fills the last column. *Few*, *most* and *a handful* need a number, and each statement gives one.

# %% tags=["nbval-ignore-output"]
claims = Claims(
    {
        "C1": r"The releases keep the joint distributions of pairs of variables, taken together: over"
        r" the cells of all two-way tables, a release differs from the data by less than $\sqrt 2$ times as"
        r" much as another sample of the population does (section 4.1, Figures 1 and 2).",
        "C2": "A regression on the releases gives reasonable results: no more of its 95 % intervals"
        " miss the original estimate than independent intervals would in 19 of 20 cases (Table 2).",
        "C3": "Few true records rank near the top: fewer are among the first three of their candidates"
        " than in a random order (section 4.2, Figure 3).",
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
# data were $D_{-i}$ and $x$.
#
# **The paper's estimator** takes draws $\theta_j$ from the posterior given the *true* data, and weights each by the
# probability of the *whole release* (equations 11 to 15):
#
# $$p(Z \mid D_i^x) \approx \frac{\sum_j p(Z \mid \theta_j)\, r_j}{\sum_j r_j},
# \qquad r_j = \frac{p(x \mid \theta_j)}{p(x_i \mid \theta_j)} .$$
#
# **An estimator without weights** applies Bayes' rule to the missing record:
#
# $$p(Z \mid D_i^x) = p(Z \mid D_{-i})\, \frac{p(x \mid D_{-i}, Z)}{p(x \mid D_{-i})} .$$
#
# The first factor is the same for all candidates. The others are two posterior predictive probabilities of *one
# record*. Relative to those of the true record, they are averages of $r_j$: over draws given the data joined with the
# release, and over draws given the data.
#
# With $d$ independent yes/no variables everything is known exactly. If $c$ of the other records and $z$ of the $n$
# released ones have the candidate's value, its likelihood is $(1 + c + z)/(1 + c)$, divided by the same for the true
# value. The cost of the weights is also known. A release is as large as the data, and its likelihood as narrow as the
# posterior of the draws. In one direction, two normal densities of equal width, whose centers differ by chance, leave
# an effective share of $e^{-0.477} \approx 0.62$ of the draws, as a geometric mean. Directions multiply: $d$ of them
# typically leave $0.62^d$. That is typical over releases; an estimate from draws cannot fall below one draw.
#
# Even without weights, an average of $r_j$ over draws given the data can fail. One of five records of a
# single variable is a *yes*, and it is the target. Given all five, the probability $p$ of a *yes* is Beta(2, 5), and
# $r = (1 - p)/p$ has mean 5 and infinite variance, because $E\,p^{-2}$ diverges. Given the other four it is Beta(1, 5);
# the ratio of the means of $1 - p$ and of $p$ is also 5, and its estimate has a finite variance. So the risks of whole
# records below leave each record out, with the parameters integrated out. The second table repeats both estimates.


# %% tags=["monte-carlo"]
def smallest_example(d: int, n: int = 200) -> list[float]:
    rng, levels = stream(seed, f"smallest {d}"), np.full(d, 2)
    few = dpmpm.Chains(n_classes=1, burn_in=0, n_draws=250)
    codes = rng.integers(0, 2, (n, d))
    made_by, given_data = (dpmpm.sample_posterior(codes, levels, few, rng=rng) for _ in range(2))
    release = dpmpm.synthesize(made_by.pi[0, 0], made_by.phi[0, 0], levels, n, rng=rng)
    joined = dpmpm.sample_posterior(np.vstack([codes, release]), levels, few, rng=rng)
    candidates = np.vstack([codes[0], codes[0] ^ np.eye(d, dtype=int)])  # true record first
    log_p, log_p_joined = (dpmpm.cell_log_prob(z, candidates) for z in (given_data, joined))
    log_r, log_r_joined = (z - z[..., :1] for z in (log_p, log_p_joined))
    log_weights = dpmpm.cell_log_prob(given_data, release).sum(axis=2, keepdims=True)
    before = logsumexp(log_r, axis=(0, 1))  # over chains and draws
    by_importance = logsumexp(log_weights + log_r, axis=(0, 1)) - before
    by_prediction = logsumexp(log_r_joined, axis=(0, 1)) - before
    c, z = (codes[1:] == codes[0]).sum(axis=0), (release == codes[0]).sum(axis=0)
    exact = np.append(0, np.log1p((n - z) / (n - c)) - np.log1p(z / (1 + c)))
    log_posterior = mechanism.posterior(np.array([exact, by_importance, by_prediction]))
    errors = np.abs(log_posterior[1:] - log_posterior[0]).max(axis=1)
    by_formula = 1000 * (np.sqrt(3) / 2 * np.exp(-1 / 3)) ** d
    return [d, float(diagnostics.importance_ess(log_weights.ravel())), by_formula, *errors]


heads = ["variables", "effective draws of 1,000", "expected by the formula"]
heads += ["error, importance sampling", "error, predictive ratio"]
smallest = pd.DataFrame([smallest_example(d) for d in (1, 3, 10, 30, 100)], columns=heads)
about = "Effective draws, and the largest error of a candidate's log posterior probability."
show(outputs.table("smallest_example", smallest), caption=about)

# %% tags=["monte-carlo"]
given_all, given_others = (stream(seed, f"Beta({a}, 5)").beta(a, 5, (1000, 4000)) for a in (2, 1))
averages = (1 - given_all) / given_all
stated = averages.std(axis=1) / np.sqrt(4000)
mean = given_others.mean(axis=1)  # of the ratio 1 / mean - 1, by the delta method:
stated_of_means = given_others.std(axis=1) / np.sqrt(4000) / mean**2
both = {
    "average of the ratio, given all five": (averages.mean(axis=1), stated),
    "ratio of averages, given the other four": (1 / mean - 1, stated_of_means),
}
rows = [
    [name, np.median(found), (found < 5).mean(), (np.abs(found - 5) < 2 * error).mean()]
    for name, (found, error) in both.items()
]
heads = ["estimate of 5", "median", "share below 5", "share within two standard errors"]
left = outputs.table("left_out", pd.DataFrame(rows, columns=heads))
show(left, caption="Two estimates from 4,000 draws, each repeated a thousand times.")

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
weight = np.exp(-((nodes[:, None] - np.sqrt(3) * nodes) ** 2) / 4)  # theta by center
share = (node_weights @ weight) ** 2 / (node_weights @ weight**2)
log_share = node_weights @ np.log(share)
thousands = int(np.ceil(100 * np.exp(-14 * log_share) / 1000))
assert np.isclose(log_share, np.log(np.sqrt(8) / 3) - 1 / 4)
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
# The paper's data are fourteen variables of the American Community Survey, a table of 8.7 million
# cells that 10,000 records leave almost empty. The records of most concern are the
# [sample uniques](../docs/guide/glossary.md#sample-unique), whose combination occurs once. The embedded population stands in for the
# survey: it has the pairwise joint distributions of the 2011 public file, and nobody's records. It was *not*
# drawn from the model below.

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
columns = ["repetitions", "estimator", "probability", "rank", "support_size"]
table.schema.check_reserved_names([*columns, "log_mcse", "pareto_k"])
last_two, is_acs = [*table.schema.names[-2:]], table.schema == microdata.ACS
unknown = unknown or (["WKL", "DIS", "HICOV", "MIG"] if is_acs else last_two)
table.schema.positions(unknown, "unknown")
of_paper = ["SEX", "MIL", "MIG", "SCH", "RACE1P", "LANX"]
if not (outcome or predictors) and {"DIS", *of_paper} <= set(table.schema.names):
    outcome, predictors = "DIS", of_paper
if outcome:
    table.schema.positions([outcome, *predictors], "outcome with predictors")
if is_acs:
    pairs = pairs or [["WKL", "SCHL"], ["HISP", "RACE1P"]]
first, *rest = [*([outcome] if outcome else []), *(predictors or table.schema.names)]
pairs = pairs or [[first, other] for other in rest[:2]]
if not (data or all_variables):
    named = {outcome, *predictors, *unknown, *(name for pair in pairs for name in pair)}
    at = [i for i, name in enumerate(table.schema.names) if name in named]
    some_variables = Schema(tuple(table.schema.variables[i] for i in at))
    table = replace(table, codes=table.codes[:, at], schema=some_variables)
callout("Note", " ".join(table.notes))

# %% tags=["confidential"]
codes, levels = table.codes, table.schema.n_levels
titles = {variable.name: variable.title for variable in table.schema.variables}
combinations, repetitions, _ = distinct(codes)
often = {"once": 1, "twice": 2, "three times": 3}
counts = {"records": len(codes), "cells": table.schema.n_cells, "combinations": len(repetitions)}
counts |= {word: int((repetitions == times).sum()) for word, times in often.items()}
counts |= {"most frequent": int(repetitions.max())}
about = "Records, cells of the table, and distinct combinations by their number of records."
show(outputs.table("data", pd.DataFrame([counts])), caption=about)

# %% [markdown] tags=["appendix"]
# ## The synthesizer
#
# The Dirichlet process mixture of products of multinomials ([DPMPM](../docs/guide/glossary.md#dpmpm)) assigns each record to one of $F$
# latent classes. Within a class the variables are independent,
#
# $$p(x \mid \pi, \phi) = \sum_{f=1}^{F} \pi_f \prod_{k=1}^{p} \phi^{(k)}_{f x_k},$$
#
# with a stick-breaking prior on $\pi$ whose concentration $\alpha$ is estimated, and uniform
# Dirichlet priors on each $\phi^{(k)}_f$ (equations 1 to 6). A blocked Gibbs sampler (Ishwaran and
# James 2001) draws from the posterior. Each of the $m$ releases takes one draw of $(\pi, \phi)$, far
# from the others, and every synthetic record draws its own class. The risks of whole records use all
# draws; the releases and the paper's estimator those of at most sixteen chains; everything else at most five thousand,
# evenly spaced. For impossible combinations, Manrique-Vallier and Reiter (2014) truncate the mixture.


# %%
def draw_posterior(records: np.ndarray, purpose: str, **lengths: int) -> dpmpm.Draws:
    prior = dpmpm.Prior(alpha_shape, alpha_rate)
    settings = dpmpm.Chains(n_classes=n_classes, thin=thin, prior=prior, **lengths)
    named = {"rng": stream(seed, purpose), "label": purpose}
    return dpmpm.sample_posterior(records, levels, settings, keep_allocations=True, **named)


all_draws = draw_posterior(codes, "data", n_chains=n_chains, burn_in=burn_in, n_draws=n_draws)
step = -(-n_chains * n_draws // 5000)
draws, some = all_draws.thin(step), all_draws.thin(1, 16)
chain, place = (at[:n_releases] for at in some.spaced(2 * n_releases))
releases = [
    dpmpm.synthesize(pi, phi, levels, len(codes), rng=stream(seed, f"release {i}"))
    for i, (pi, phi) in enumerate(zip(some.pi[chain, place], some.phi[chain, place], strict=True))
]

# %% [markdown] tags=["appendix"]
# ## Has the sampler converged?
#
# Convergence is judged on quantities that do not depend on class labels. Two are repeated for a deliberately bad
# sample, without burn-in or thinning.

# %% tags=["monte-carlo"]
ends = combinations[[repetitions.argmax(), repetitions.argmin()]]
most, rarest = np.moveaxis(dpmpm.cell_log_prob(draws, ends), 2, 0)
quantities = {"alpha": draws.alpha, "log likelihood": draws.log_likelihood}
quantities |= {"occupied classes": draws.n_occupied.astype(float)}
quantities |= {"log p, most frequent": most, "log p, one of the rarest": rarest}
healthy = outputs.table("diagnostics", diagnostics.summary(quantities))
no_burn_in = dpmpm.Chains(n_classes=n_classes, burn_in=0, n_draws=60)
sick = dpmpm.sample_posterior(codes, levels, no_burn_in, rng=stream(seed, "sick"))
of_sick = {"alpha, bad": sick.alpha, "log likelihood, bad": sick.log_likelihood}
sick_summary = outputs.table("diagnostics_bad", diagnostics.summary(of_sick))
about = "Convergence of the chains; log p is the log probability of a combination."
display(show(pd.concat([healthy, sick_summary]), caption=about))
display(diagnostics.verdict(healthy))
traces = diagnostics.long_format({name: values[:8] for name, values in quantities.items()})
told = "Traces of five quantities, one panel each, in one color for each of up to eight chains. "
told += "Chains that mix overlap."
outputs.figure("trace", charts.trace(traces, description=told))

# %% [markdown] tags=["appendix"]
# **Converged chains overlap.** Five quantities in up to eight chains, one color per chain. A
# chain at a level of its own sits in another local mode, which Gibbs steps rarely leave. Between-chain errors include
# that, but not modes that no chain has found.
#
# ## Is the release useful?
#
# The charts show the joint distributions of the paper's Figures 1 and 2, in the data and averaged over the releases:


# %% tags=["monte-carlo"]
def proportions(records: np.ndarray, two: list[int]) -> np.ndarray:  # of the cells of two variables
    cells = np.ravel_multi_index(records[:, two].T.astype(int), levels[two])
    return np.bincount(cells, minlength=levels[two].prod()) / len(records)


def combined(estimates: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return estimate and standard error from m releases, and whether the variance is adjusted."""
    m, between, within = len(estimates), estimates.var(axis=0, ddof=1), variances.mean(axis=0)
    adjusted = ((1 + 1 / m) * between <= within) & (within > 0)
    of_n = len(releases[0]) / len(codes) * within
    variance = np.where(adjusted, of_n, (1 + 1 / m) * between - within)
    return estimates.mean(axis=0), np.sqrt(variance), adjusted


# %% tags=["monte-carlo"]
for number, pair in enumerate(pairs, start=1):
    two = table.schema.positions(pair, "pairs", exactly=2)
    first, second = (table.schema.variables[k].labels for k in two)
    observed, shares = proportions(codes, two), np.array([proportions(z, two) for z in releases])
    mean, se, _ = combined(shares, shares * (1 - shares) / len(releases[0]))
    first = [f"{titles[pair[0]]}: {label}" for label in first]
    cells = pd.MultiIndex.from_product([first, second, ["original", "synthetic"]])
    joint = cells.to_frame(index=False, name=["panel", "label", "case"])
    joint["value"] = np.column_stack([observed, mean]).ravel()
    error = 1.96 * np.column_stack([np.sqrt(observed * (1 - observed) / len(codes)), se]).ravel()
    joint["low"], joint["high"] = (joint["value"] - error).clip(lower=0), joint["value"] + error
    axis = f"Share of records by {titles[pair[1]]}, with 95 % interval"
    told = f"{axis}, in the data and in the releases, with panels by {titles[pair[0]]}."
    chart = charts.intervals(joint, axis, percent=True, description=told)
    display(outputs.figure(f"figure_{number}", chart))

# %% [markdown]
# **Releases and data have nearly the same shares.** Shares of records by both variables, with 95 % intervals.
#
# The yardstick is a second sample of the population. A ratio below $\sqrt 2$ means that the
# model adds less to the squared differences than sampling does.

# %% tags=["monte-carlo"]
differences = []
for a, b in itertools.combinations(range(len(levels)), 2):
    mean = np.mean([proportions(z, [a, b]) for z in releases], axis=0)
    apart = np.abs(mean - proportions(codes, [a, b]))
    differences.append((*(table.schema.names[k] for k in (a, b)), apart.mean(), apart.max()))
heads = ["variable_a", "variable_b", "mean_absolute_difference", "maximum_absolute_difference"]
differences = pd.DataFrame(differences, columns=heads).sort_values(heads[-1], ascending=False)
worst = outputs.table("pairwise_differences", differences).head(3).replace(titles)
display(
    show(
        worst,
        caption="The three pairs of variables with the largest difference in a cell, as shares of all records.",
    )
)
ratio, error = utility_loss(codes, releases, levels)
claims.check(
    "C1", "holds", "The model adds less to the cell differences than sampling does.",
    measured="cell differences of a release, relative to another sample",
    value=ratio, error=error, relation="<", limit=np.sqrt(2), n_records=len(codes),
)  # fmt: skip

# %% [markdown]
# Table 2 is a logistic regression of disability that treats the codes as numbers, combined over the releases by the
# rules of Raghunathan, Reiter and Rubin (2003). Let $\bar u$ be the mean squared standard error and
# $b$ the variance between releases. The variance $(1 + 1/m)\,b - \bar u$ can be negative; then
# Reiter's (2002) adjusted variance is used and marked. The intervals have normal quantiles, as the paper's
# seem to have. For other tables, a regression runs only if `outcome` or `predictors` is set.


# %% tags=["monte-carlo"]
def regression(records: np.ndarray) -> np.ndarray:  # estimates and standard errors, (2, terms)
    (y,), x = (table.schema.positions(names, "names") for names in ([outcome], predictors))
    design = sm.add_constant(records[:, x] + 1.0, has_constant="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = sm.Logit(records[:, y] == levels[y] - 1, design).fit(disp=0, maxiter=100)
    return np.array([fit.params, fit.bse])


terms = ["term", "original", "original_se", "synthetic", "adjusted", "low", "high", "overlap"]
coefficients, lacking = pd.DataFrame(columns=terms), "No regression was requested."
if outcome:
    try:
        (own, own_se), each = regression(codes), np.array([regression(z) for z in releases])
        mean, se, adjusted = combined(each[:, 0], each[:, 1] ** 2)
        own_width, width = 2 * stats.norm.ppf(0.975) * np.array([own_se, se])
        common = np.minimum(own + own_width / 2, mean + width / 2)
        common -= np.maximum(own - own_width / 2, mean - width / 2)
        overlap = (common / own_width + common / width) / 2
        ends = mean - width / 2, mean + width / 2
        columns = ["Intercept", *predictors], own, own_se, mean, adjusted, *ends, overlap
        coefficients = pd.DataFrame(dict(zip(terms, columns, strict=True)))
    except (ValueError, Warning, np.linalg.LinAlgError) as reason:
        lacking = f"The regression cannot be estimated: {str(reason).splitlines()[0]}"
outputs.table("coefficients", coefficients)
about = "Log odds from the original and from the releases, with the overlap of the two intervals."
in_words = coefficients[terms].replace({"term": titles})
show(in_words, caption=about) if len(coefficients) else callout("Note", lacking)

# %% tags=["monte-carlo"]
missed = ~coefficients["original"].between(coefficients["low"], coefficients["high"])
if not len(missed):  # what is not asked for is not judged
    del claims.statements["C2"]
allowed = stats.binom.ppf(0.95, len(missed), 0.05)
claims.check(
    "C2", "holds", "The intervals miss no more often than 95 % intervals may.", relation="<=",
    measured="original estimates outside their interval", value=missed.sum(), limit=allowed, n_records=len(codes),
) if len(missed) else callout("C2", "Without a regression this claim is removed from the list.")  # fmt: skip

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
# The same estimator now serves the mixture and its $m$ releases, whose likelihoods multiply. The paper does not say
# whether the draws that generated the releases are among the $\theta_j$, which no intruder could arrange. When these
# draws are left out, their weight is zero.

# %% tags=["monte-carlo"]
log_weights = disclosure.release_log_prob(some, releases)  # log p(Z | theta), equation 14
left_out = log_weights.copy()
left_out[:, chain, place] = -np.inf
cases = {"generating draws included": log_weights, "generating draws left out": left_out}
weights = pd.concat(
    diagnostics.importance_summary(values.reshape(n_releases, -1)).assign(case=case)
    for case, values in cases.items()
)
outputs.result("importance_ess_largest", weights["ess"].max())
outputs.table("importance_weights", weights)
about = "Spread of each release's importance weights over the posterior draws."
display(show(weights[["case", *weights.columns.drop("case")]], caption=about))
without_them = weights[weights["case"] == "generating draws left out"]
claims.check(
    "C6", "fails", "A few draws, chosen by chance, carry the whole average.",
    measured="effective draws, by release",
    value=without_them.set_index("synthetic_set")["ess"], relation=">=",
    limit=np.minimum(100, without_them["draws"] / 4), n_records=len(codes),
)  # fmt: skip

# %% [markdown]
# A hundred effective draws estimate an average to within a tenth of the spread of its terms. Above a
# [Pareto $k$](../docs/guide/glossary.md#pareto-k) of 0.7 no practicable number of draws helps (Vehtari and others 2024).
#
# ## An estimator without weights
#
# The [predictive ratio](../docs/guide/glossary.md#predictive-ratio) needs another set of chains for each release, and the error
# of the chains on $D$ enters $m$ times. Given the classes, the averages over $\pi$ and
# $\phi$ are exact, with record $i$ removed from its class.

# %% tags=["monte-carlo"]
lengths = {"n_chains": n_chains_joined, "burn_in": burn_in_joined, "n_draws": n_draws_joined}
joined_draws = [
    draw_posterior(np.vstack([codes, release]), f"data and release {i}", **lengths)
    for i, release in enumerate(releases, start=1)
]
of_data, log_prob = disclosure.collapsed_log_ratios(all_draws, combinations)
of_joined = [disclosure.collapsed_log_ratios(given, combinations)[0] for given in joined_draws]
predictive = disclosure.predictive_ratio([of_data, *of_joined])
by_hand = mechanism.posterior(sum(map(log_mean, of_joined)) - n_releases * log_mean(of_data))
assert np.allclose(predictive.log_prob, by_hand)

# %% tags=["monte-carlo"]
judged_on = {"data": log_prob[:, ::step]}
for i, given in enumerate(joined_draws, start=1):
    judged_on[f"data and release {i}"] = dpmpm.cell_log_prob(given, combinations)
convergence = pd.DataFrame(
    [[name, *np.quantile(diagnostics.r_hat(v), [0.5, 0.95, 1])] for name, v in judged_on.items()],
    columns=["posterior given", "median", "95 %", "largest"],
)
about = "R-hat of the log probabilities behind the risks, over all combinations."
names = {"95 %": "95th percentile"}
show(outputs.table("r_hat_log_prob", convergence), caption=about, names=names)

# %% [markdown] tags=["written"]
# ### Exercise 3: the predictive ratio, derived and used
#
# Derive $P(Z \mid D_i^x) = P(Z \mid D_{-i})\, p(x \mid D_{-i}, Z) / p(x \mid D_{-i})$ for a model in which
# records and releases are independent given $\theta$. Then use it for one yes/no variable with a uniform prior
# on its proportion. Of the 199 records that the intruder knows, 120 have the true value of the target record; of
# 200 released ones, 130 have it. With prior 1/2, what is the `posterior` probability of the true value, to
# three decimal places? Check it against the beta-binomial probabilities of the release.
#
# *You will need:* $P(Z, x \mid D_{-i})$, factored in two ways, and `stats.betabinom.pmf` for the check.

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# $P(Z, x \mid D_{-i})$ factors in two ways: the record first and then the release,
# $p(x \mid D_{-i})\, P(Z \mid x, D_{-i})$, or the release first and then the record,
# $P(Z \mid D_{-i})\, p(x \mid D_{-i}, Z)$. Given $\theta$ the record and the release are independent, so
# each factor is an integral of a likelihood over a posterior, and $P(Z \mid x, D_{-i}) = P(Z \mid D_i^x)$.
# Dividing gives the ratio. Here $p(x \mid D_{-i}) = 121/201$ and $p(x \mid D_{-i}, Z) = 251/401$ for the
# true value; the denominators are the same for the other value and cancel.
#
# </details>

# %% tags=["solution"]
# Solution
of_truth, of_other = (1 + 120 + 130) / (1 + 120), (1 + 79 + 70) / (1 + 79)
posterior = of_truth / (of_truth + of_other)
if_true, if_other = stats.betabinom.pmf(130, 200, [122, 121], [80, 81])
assert np.isclose(posterior, if_true / (if_true + if_other))
assert round(posterior, 3) == 0.525

# %% [markdown]
# ## Twice on the same release
#
# Where [R-hat](../docs/guide/glossary.md#r-hat) is above 1.01 (Vehtari and others 2021) the chains differ. The predictive ratio's errors are
# computed between chains and include that. To show the effect of the weights, each estimator runs twice on the same
# releases, once on each half of the chains. Errors from half the chains are rough: two of them need not cover 95 %
# of the differences. The last column, the share of one run's top three that the other keeps, rests on few records.

# %% tags=["monte-carlo"]
plain = np.where(np.isfinite(left_out[:1]), 0.0, -np.inf)
ratios = disclosure.one_variable_log_ratios(some, combinations, np.concatenate([plain, left_out]))
importance = disclosure.importance_sampling(ratios[1:], ratios[:1])
halves = slice(None, some.n_chains // 2), slice(some.n_chains // 2, None)
runs = {"importance sampling": [
    disclosure.importance_sampling(ratios[1:, half], ratios[:1, half]) for half in halves
]}  # fmt: skip
sides = zip(*(np.array_split(z, [len(z) // 2]) for z in (of_data, *of_joined)), strict=True)
runs["predictive ratio"] = [disclosure.predictive_ratio(side) for side in sides]
repeated = pd.DataFrame({name: disclosure.repeatability(*two) for name, two in runs.items()}).T
repeated = outputs.table("repeatability", repeated.rename_axis("estimator").reset_index())
about = "Two runs on the same release: differences in the log probability of the true record."
display(show(repeated, caption=about))
pictured = pd.concat(
    pd.DataFrame({"x": one.probability, "y": other.probability, "panel": name})
    for name, (one, other) in runs.items()
)
axes = "Probability of the true record, run 1", "Probability of the true record, run 2"
told = "Squares show the probabilities of two runs around the line of equality, on logarithmic scales: "
told += "a wide cloud for importance sampling, a thin band along the line for the predictive "
told += "ratio."
agreement = charts.agreement(pictured, *axes, description=told)

# %% [markdown]
# Why? The bars below the two runs are the weights of importance sampling. A slider removes the heaviest draws one by
# one and rescales the rest:

# %% tags=["monte-carlo", "hero"]
in_order = -np.sort(-left_out.reshape(n_releases, -1))
shares_left = pd.DataFrame([
    {"release": 1 + i, "away": k, "draw": 1 + j, "share": share}
    for i, of_release in enumerate(in_order)
    for k in range(10)
    for j, share in enumerate(softmax(of_release[k:])[:8])
])  # fmt: skip
outputs.result("heaviest_draw_least", shares_left.query("away == 0")["share"][::8].min())
which = alt.binding_range(min=1, max=n_releases, step=1, name="release ")
away = alt.binding_range(min=0, max=9, step=1, name="heaviest draws removed ")
base = alt.Chart(charts.compact(shares_left)).transform_filter(
    "datum.release == shown_release && datum.away == shown_away"
)
x = alt.X("draw:O", title="Remaining draws, by weight", axis=alt.Axis(labelAngle=0))
y = alt.Y("share:Q", title="Share of the weight", scale=alt.Scale(domain=[0, 1]))
bars = base.mark_bar(color=charts.COLORS["importance sampling"]).encode(x=x, y=y)
sentence = "format(datum.share, '.1%') + ' of the weight in one draw of ' + ("
sentence += f"{np.isfinite(in_order[0]).sum()} - shown_away)"
said = base.transform_filter("datum.draw == 1").transform_calculate(said=sentence)
said = said.mark_text(align="left", baseline="top", fontSize=13).encode(
    x=alt.value(75), y=alt.value(4), text="said:N"
)
weighed = alt.layer(bars, said.properties(name="said_a")).properties(height=110, width=520)
chosen = (
    alt.param("shown_release", value=1, bind=which),
    alt.param("shown_away", value=0, bind=away),
)
told += " Below, bars of weights: the heaviest draw has most, the next one most of the rest."
drawn = alt.vconcat(agreement, weighed).add_params(*chosen).properties(description=told)
outputs.figure("agreement", drawn)

# %% [markdown]
# **Two runs of the predictive ratio agree; two runs of the paper's estimator hardly agree.** Probability of the true
# record for each combination; $r$ is the correlation of the two runs' logarithms. Distance from the line is Monte Carlo
# error. Below: the share of the weight in each of the eight heaviest draws. Remove the heaviest, and the sentence says
# how much the next one carries.
#
# ## How high are the risks?

# %% tags=["monte-carlo", "confidential"]
leave_one_out_k = diagnostics.pareto_k(-judged_on["data"].reshape(-1, len(combinations)).T)
estimates = {
    "importance_sampling": (importance, without_them["pareto_k"].max()),
    "predictive_ratio": (predictive, leave_one_out_k),
}
risks = pd.concat(
    table.schema.decode(combinations, labels=False).assign(
        repetitions=repetitions, estimator=name, probability=risk.probability, rank=risk.rank,
        support_size=risk.support_size, log_mcse=risk.log_mcse[:, 0], pareto_k=k,
    )
    for name, (risk, k) in estimates.items()
)  # fmt: skip
outputs.table("combinations", risks)
size = predictive.support_size
two = {"importance sampling": importance, "predictive ratio": predictive}
ranks = {name: np.ceil(risk.rank - 0.5) for name, risk in two.items()}  # ties: the better rank
axes = "Rank of the true record (1: most probable)", "Combinations"
told = "Histograms of the true record's rank by either estimator: few true records rank first, most have a "
told += "middle rank, and hardly any is among the last."
among, chance = np.arange(size + 1) + 0.5, len(combinations) / size
chart = charts.histograms(ranks, among, *axes, y=chance, description=told)
display(outputs.figure("figure_3", chart))
posteriors = {name: risk.probability for name, risk in two.items()}
axes = "Posterior probability of the true record", "Combinations (square-root scale)"
told = "Histograms of the posterior probability of the true record. By importance sampling they spread "
told += "widely around the prior; by the predictive ratio they stay nearer to it."
edges = np.linspace(0, 1.0001 * risks["probability"].max(), 41)
chart = charts.histograms(posteriors, edges, *axes, square_root=True, x=1 / size, description=told)
outputs.figure("figure_4", chart)

# %% [markdown]
# **True records seldom rank near the top, and most probabilities stay near the prior.** Above: rank of the true record
# among its candidates, 1 for the most probable, as in Figure 3; dotted: a release that discloses nothing. Below: its
# [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk), as in Figure 4; dotted: the prior. Importance sampling spreads
# the probabilities more. Its two runs hardly agree, so the spread cannot be read as risk: odds from a single draw are
# more extreme than their average over the posterior.
#
# The next table expresses the words of section 4.2 as shares of the combinations, with errors from the chains. For
# claims C3, C4, C7 and C8 the error of the chains is combined with that of a share $p$ among $n$ combinations,
# $\sqrt{p(1 - p)/n}$, where $p$ is the share or its limit, whichever is nearer to one half. No error covers the
# difference between sets of releases. The claims' words are those for the paper's 10,000 records
# (`--profile published`); a smaller run that leaves them open says so.


# %% tags=["monte-carlo"]
def shares(before: np.ndarray, *after: np.ndarray) -> np.ndarray:
    log_prob = mechanism.posterior(sum(after) - len(after) * before)
    log_ratio = log_prob[:, 0] + np.log(size)  # posterior over prior of the true record
    among_first = mechanism.rank(log_prob) <= 3
    near = np.abs(log_ratio) <= np.log(2)
    return np.mean([among_first, near, log_ratio <= 0, log_ratio > np.log(2)], axis=1)


share_of, share_error = disclosure.jackknife(shares, [of_data, *of_joined])
limits = np.array([min(3 / size, 1.0), 0.5, 0.5, 10 / 3523])
of_chance = np.maximum(share_of * (1 - share_of), limits * (1 - limits)) / len(combinations)
error_of = np.sqrt(share_error**2 + of_chance)
words = ["a rank of 1 to 3", "a ratio of 1/2 to 2", "a ratio of at most one", "a ratio above two"]
spoken = pd.DataFrame({"combinations whose true record has": words})
spoken["predictive ratio"] = list(map(with_error, 100 * share_of, 100 * share_error))
spoken["importance sampling"] = 100 * shares(np.zeros(1), importance.log_prob)
spoken["limit of the claim"] = 100 * limits
about = "Shares of the combinations in percent, and the limits of the claims."
show(outputs.table("shares", spoken), caption=about)

# %% tags=["monte-carlo"]
threshold = 0.08 * 35 / size  # 2.8 times the prior, as in the paper
summary = pd.DataFrame([importance.summary(threshold), predictive.summary(threshold)])
summary = summary.rename(columns={f"above {threshold:g}": "above 2.8 times the prior"})
summary.insert(0, "estimator", list(runs))
about = "Probability of the true record and its rank, over all combinations; the largest has no standard error."
show(outputs.table("risk_summary", summary), caption=about)

# %% tags=["monte-carlo"]
said = [
    ("C3", "holds", "A random order would rank more true records among the first three.", "<"),
    ("C4", "holds", "For most true records the release changes the probability by a factor below two.", ">"),
    ("C7", "fails", "The releases raise the probability of more true records than they lower.", ">"),
    ("C8", "fails", "Their share is above ten in 3,523.", "<="),
]  # fmt: skip
for k, (claim, word, sentence, relation) in enumerate(said):
    display(claims.check(
        claim, word, sentence, measured=f"share of combinations with {words[k]}", value=share_of[k], relation=relation,
        limit=limits[k], error=error_of[k], n_records=len(codes),
    ))  # fmt: skip

# %% [markdown]
# ### Exercise 4: which sentence does the table not support?
#
# Table 3 of the paper lists the probabilities of the 31 true records that rank among the first three of 35 candidates:
# .051 .088 .086 .070 .190 .076 .087 .060 .065 .125 .075 .069 .047 .066 .081 .046 .101 .085 .055 .050 .059
# .066 .052 .079 .051 .053 .054 .121 .104 .065 .080; the first two have rank 1, the next five rank 2. (a)
# "The largest probability is close to 0.2." (b) "High probabilities do not automatically result in top
# rankings." (c) "Only a handful of combinations have ratios of posterior to prior exceeding two." Which
# one (`unsupported`), and how many ratios above two (`exceeding`) does the table alone contain?
#
# *You will need:* a calculator; the prior is 1/35.

# %% tags=["solution"]
# Solution
thousandths = [51, 88, 86, 70, 190, 76, 87, 60, 65, 125, 75, 69, 47, 66, 81, 46, 101, 85, 55, 50]
thousandths += [59, 66, 52, 79, 51, 53, 54, 121, 104, 65, 80]
exceeding = sum(p / 1000 * 35 > 2 for p in thousandths)
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
# Without the paper's data no row of Table 3 can be recomputed. As a whole the table is a fingerprint: 27 of its 31 true
# records occur once in the data, and 10 have a probability above .08. The next table has the same numbers for this run's
# true records of rank 1 to 3, with probabilities scaled to 35 candidates. The likelihood is the probability of the
# paper's two counts if its true records are like the run's; these are few, so it is averaged over what the run leaves
# open.

# %% tags=["monte-carlo"]
in_paper = "051 088 086 070 190 076 087 060 065 125 075 069 047 066 081 046 101 085 055 050 059 "
in_paper = np.array((in_paper + "066 052 079 051 053 054 121 104 065 080").split(), int) / 1000
ranks_in_paper = np.repeat([1, 2, 3], [2, 5, 24])

truths = {"the paper's Table 3": (np.arange(31) < 27, in_paper)}
for name, risk in (("importance sampling", importance), ("predictive ratio", predictive)):
    top = risk.rank <= 3
    truths[name] = repetitions[top] == 1, risk.probability[top] * size / 35
table_3 = pd.DataFrame(
    {"true records of rank 1 to 3": name, "number": len(p), "once": once.sum(),
     "above .08": (p > 0.08).sum(), "median": np.median(p), "largest": p.max()}
    for name, (once, p) in truths.items() if len(p)
)  # fmt: skip
n, once, above = (table_3[name].to_numpy() for name in ("number", "once", "above .08"))
of_once = stats.betabinom.logpmf(27, 31, once + 1, n - once + 1)
of_above = stats.betabinom.logpmf(10, 31, above + 1, n - above + 1)
for name, value in (("log₁₀ likelihood", of_once + of_above), ("part above .08", of_above)):
    table_3[name] = np.where(table_3.index > 0, value / np.log(10), np.nan)
about = "Table 3 and this run; probabilities scaled to 35 candidates."
show(outputs.table("table_3", table_3), caption=about)

# %% [markdown] tags=["appendix"]
# The more the paper's true records resemble an estimator's, the larger the likelihood. A difference of one is a factor
# of ten; the last column is the part from the count above .08. On the embedded population the paper's table is closer to
# its own estimator. The difference comes from one set of releases, has no error for another, and compares only the case
# with the generating draws left out. How much releases disclose also depends on the data, here not the paper's.
#
# ## An intruder who lacks a few variables
#
# Now the intruder knows the record's other variables, and all combinations of the unknown ones are
# candidates (equation 16), for every combination or for 500 evenly spaced in the order of risk. The paper shows
# one record whose four values have probability .3695, 13.3 times the prior of 1/36, and one with .0259. Any other
# prior can be multiplied in afterwards (equation 18).
#
# Here the parameters are not integrated out. The averages run over draws given *all* records, with weights
# $1/p(x_i \mid \theta_j)$ that leave the record out, as in the first row of the table of two estimates. Where the Pareto
# $k$ of such weights is above one half, their variance is infinite and the stated errors can be too small.

# %% tags=["monte-carlo", "confidential"]
unknown_at = table.schema.positions(unknown, "unknown")
by_risk = np.argsort(-predictive.log_prob[:, 0])
chosen = np.unique(by_risk[np.linspace(0, len(by_risk) - 1, min(len(by_risk), 500)).astype(int)])
of_part = [
    disclosure.subset_log_means(z, combinations[chosen], unknown_at) for z in (draws, *joined_draws)
]
part = disclosure.predictive_ratio(of_part)
in_text = table.schema.decode(combinations[chosen]).to_dict("records")
subset_table = pd.DataFrame({
    "record": ["; ".join(f"{titles[k]}: {v}" for k, v in row.items()) for row in in_text],
    "unknown": ", ".join(unknown), "probability": part.probability,
    "log_mcse": part.log_mcse[:, 0], "rank": part.rank, "support_size": part.support_size,
})  # fmt: skip
outputs.table("subset_risk", subset_table)
top = int(part.probability.argmax())
support = disclosure.subset_support(combinations[chosen[top]], unknown_at, levels)
values = table.schema.decode(support)[unknown].assign(probability=np.exp(part.log_prob[top]))
values["true record"] = np.arange(len(values)) == 0
about = f"The most probable values of the most exposed record; the prior is 1/{part.support_size}."
show(values.nlargest(6, "probability"), caption=about, names=titles)

# %% tags=["monte-carlo"]
whole = predictive.subset(chosen)
gains = [risk.log_prob[:, 0] + np.log(risk.support_size) for risk in (part, whole)]
at = [gain.argmax() for gain in gains]
largest = np.exp([gain.max() for gain in gains])
times = pd.DataFrame({"unknown": ["part of a record", "whole record"], "largest factor": largest})
times["standard error"] = largest * [part.log_mcse[at[0], 0], whole.log_mcse[at[1], 0]]
times["median"] = [np.exp(np.median(gain)) for gain in gains]
log_p = dpmpm.cell_log_prob(draws, combinations[chosen]).reshape(-1, len(chosen))
of_weights = diagnostics.pareto_k(-log_p.T), leave_one_out_k[chosen]
times["largest Pareto k"] = [pd.Series(k).max() for k in of_weights]
times["share of k above 1/2"] = [(k > 0.5).mean() for k in of_weights]
about = "Factor by which the releases multiply the prior of the true record."
show(outputs.table("part_and_whole", times), caption=about)

# %% tags=["monte-carlo"]
claims.check(
    "C5", "depends on the combination", "Some parts are more exposed than the whole, others less.",
    measured="log factor of the part, minus that of the whole",
    value=pd.Series(gains[0] - gains[1], index=["one combination"] * len(chosen)), relation=">", limit=0,
    error=np.hypot(part.log_mcse[:, 0], whole.log_mcse[:, 0]), required_share=0.95, n_records=len(chosen),
)  # fmt: skip

# %% tags=["monte-carlo", "public", "public-only"]
claims.verdicts()

# %% [markdown] tags=["appendix"]
# The public report of a confidential file (`srlib report RUN --public`) shows only these words. A probability alone does
# not say how much a release discloses: .190 among 35 candidates is 6.7 times the prior, .3695 among 36
# is 13.3 times, and a variable with two levels starts from one half.
#
# ## The ledger
#
# *No empirical number of the paper is recomputed here*: they belong to a sample of 10,000 North
# Carolinians and to releases that were never published. In the [ledger](../docs/guide/glossary.md#ledger), *match* means arithmetic on Table 1
# and on printed digits. Section 4.2 prints 1.46 for 0.0585 / 0.0398, which is 1.470: truncated, not rounded, and within
# the one unit of the last digit that counts as a match. *Consistent* numbers agree with other printed ones. An estimate
# of Table 2 is the center of its interval: seven such identities count once for each of their three numbers. A count of
# Figure 3 is a number of rows of Table 3. The median of Figure 4 is only near the prior, which does not determine it.
# With all variables of the survey a run shows its own counts beside the paper's.

# %% tags=["monte-carlo"]
_ = outputs.table("claims", claims.table)
number = printed("hu_reiter_wang").set_index("id")["printed"].astype(float)
of_acs = microdata.ACS.n_levels
four = microdata.ACS.positions(["WKL", "DIS", "HICOV", "MIG"], "unknown")
computed = {
    "example_support_size": 1 + (np.array([3, 5, 2]) - 1).sum(),
    "n_variables": len(of_acs), "n_cells": of_acs.prod(), "subset_size": of_acs[four].prod(),
    "support_size": 1 + (of_acs - 1).sum(), "other_candidates": (of_acs - 1).sum(),
    "prior_odds_ratio_11111213121111": 0.0585 / 0.0398,
}  # fmt: skip
consistent = {
    "figure3_rank_1": (np.sum(ranks_in_paper == 1), "rows of rank 1 in Table 3"),
    "figure3_rank_1_to_3": (len(ranks_in_paper), "rows of Table 3"),
    "figure4_largest": (in_paper.max(), "largest probability of Table 3"),
    "figure4_median": (1 / 35, "the prior"),
}
terms = [term.lower() for term in ["Intercept", *of_paper]]
for at in (f"table2_{term}_" for term in terms):
    center, low, high = (number[at + end] for end in ("synthetic", "low", "high"))
    for end, value in (
        ("synthetic", (low + high) / 2),
        ("low", 2 * center - high),
        ("high", 2 * center - low),
    ):
        consistent[at + end] = value, "the estimate is the center of the interval"

# %% tags=["monte-carlo"]
settings = {"n_records": len(codes), "n_synthetic_sets": n_releases, "level_prior": 1}
settings |= {"alpha_shape": alpha_shape, "alpha_rate": alpha_rate}
names = number.filter(regex="combination").index if table.schema == microdata.ACS else []
sampled = dict(zip(names, list(counts.values())[2:], strict=False))
outputs.ledger(ledger(
    "hu_reiter_wang", computed | sampled, settings=settings, consistent=consistent,
    skip=dict.fromkeys(sampled, "other records"), missing="needs the paper's records and releases",
    notes={"prior_odds_ratio_11111213121111": "1.470, truncated and not rounded"},
))  # fmt: skip

# %% [markdown] tags=["appendix"]
# ## What did not reproduce, and why
#
# **The estimator.** If one draw carried each release's weight on the paper's data too, its Table 3 cannot be
# reproduced without those very draws. The paper gives no number of effective draws.
#
# **Removing risky records.** The paper suggests it in section 5 and computes nothing. A release made without a record
# discloses nothing about its values to an intruder who knows the list. The cost to all other records depends on the
# synthesizer and is not computed here.
#
# **The intervals of Table 2.** The combining rules use a $t$ distribution whose degrees of
# freedom are $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$. For $m = 5$ no interval from a positive
# variance can then have a half-width below $6.67 \sqrt{\bar u}$.

# %% tags=["monte-carlo"]
ratio = np.linspace(1.001, 60, 100_000)  # (1 + 1/m) b over the mean squared standard error
shortest = (stats.t.ppf(0.975, 4 * (1 - 1 / ratio) ** 2) * np.sqrt(ratio - 1)).min()
assert round(shortest, 2) == 6.67
half = np.array([(number[f"table2_{t}_high"] - number[f"table2_{t}_low"]) / 2 for t in terms])
asked = {"half-width": half, "normal quantiles": half / 1.96}
asked["t quantiles, at most"] = half / shortest
standard_errors = pd.DataFrame({"coefficient of": terms} | asked)
if coefficients["term"].str.lower().tolist() == terms:
    of_run = coefficients["original_se"].to_numpy() * np.sqrt(len(codes) / 1e4)
    standard_errors["here, for 10,000"] = of_run
    standard_errors["t quantiles, over that"] = half / shortest / of_run
show(standard_errors, caption="Half-widths of Table 2, and the standard errors that they imply.")

# %% [markdown] tags=["appendix"]
# The column for normal quantiles is the $\sqrt T$ of the combined estimate that the half-width implies. The column for
# $t$ is the largest $\sqrt{\bar u}$ that it allows. The last two, if present, are the standard error of this run's
# original estimate, scaled to 10,000 records, and the column for $t$ divided by it. Unless the paper's
# $\sqrt{\bar u}$ was at most the value in the column for $t$, its intervals have normal quantiles, other degrees of
# freedom, or variances that were negative and adjusted.
#
# ## References
#
# - Ishwaran, H. and James, L. F. (2001). [Gibbs sampling methods for stick-breaking
#   priors](https://doi.org/10.1198/016214501750332758). *JASA* 96, 161–173.
# - Manrique-Vallier, D. and Reiter, J. P. (2014). [Bayesian estimation of discrete multivariate latent
#   structure models with structural zeros](https://doi.org/10.1080/10618600.2013.844700). *Journal of
#   Computational and Graphical Statistics* 23, 1061–1079.
# - Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple imputation for statistical
#   disclosure limitation. *Journal of Official Statistics* 19, 1–16.
# - Reiter, J. P. (2002). Satisfying disclosure restrictions with synthetic data sets. *Journal of
#   Official Statistics* 18, 531–544.
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). [Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of
#   MCMC](https://doi.org/10.1214/20-BA1221). *Bayesian Analysis* 16, 667–718.
# - Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). [Pareto smoothed importance
#   sampling](https://doi.org/10.48550/arXiv.1507.02646). *JMLR* 25(72), 1–58.
