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
# # On the embedded population, fully synthetic records give little away, and the paper's estimator rests on one draw
#
# **Hu, J., Reiter, J. P. and Wang, Q. (2014).** Disclosure risk evaluation for fully synthetic
# categorical data. In *Privacy in Statistical Databases*, 185–199. Springer.
#
# A statistical agency wants to release records that describe nobody: every value is drawn from a
# model fitted to the confidential file. Can someone who knows *all the other records* still read
# the last one out of the release? The paper answers with Bayes' rule. The intruder lists what the
# missing record may be, asks how probable the release would be under each possibility, and looks
# at the posterior probability of the truth. On 10,000 adults of the American Community Survey
# the answer was reassuring: hardly any record stands out.
#
# This notebook runs that study from beginning to end, on an embedded population, on your own
# table or on a Census file. The title is what it finds at its defaults: the paper's conclusion
# stands, and its estimator does not, since one or two of all the posterior draws carry the whole
# weight. An estimator of the same probability without such weights stands beside it, with a
# standard error.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** The synthesizer keeps joint distributions of pairs of variables. | 4.1, Figures 1 and 2 |
# | **C2** A logistic regression on the synthetic data agrees with the original one. | 4.1, Table 2 |
# | **C3** The truth ranks near the top of its 35 candidates for very few combinations. | 4.2, Figure 3, Table 3 |
# | **C4** Most probabilities of the truth are near the prior's 1/35, the largest near 0.2. | 4.2, Figure 4 |
# | **C5** An intruder who lacks only a few variables can learn more. | 4.2, equation 16 |
# | **C6** Importance sampling makes the computation simple and convenient. | 3.2, equations 11 to 15 |
#
# Other data may have other answers, so the verdicts are computed. A callout under the numbers that
# decide a claim says that it *holds here*, that it *depends on* something, or that it *fails*. It
# says *not decided* where the deciding number is within two standard errors of its limit. The
# limits are in the text above each callout, and a table collects the callouts at the end.

# %% [markdown]
# ## What you will learn
#
# - to state what an intruder knows as a prior over candidates, and to get a posterior risk from it;
# - to see how weighting draws by the probability of a whole release can leave a single draw, and
#   what an estimator without such weights does instead;
# - to read a risk together with its Monte Carlo error, R-hat and Pareto's $k$;
# - to judge a release by its risks and by what an analyst can still do with it;
# - to check a printed number to all the digits that its ingredients support.

# %% [markdown]
# ## Parameters
#
# Any of them can be changed on the command line (`srlib run hu_reiter_wang -p n_classes 50`).
# The defaults are sized for a minute of computing; `params/hu_reiter_wang/published.yaml` has the
# paper's settings.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2008, 2100] year of a raw ACS person file that is given by its path
n_records: int = 2000  # [10, inf) records used; a seeded sample where the file has more
pairs: list[list[str]] = []  # pairs for Figures 1 and 2; empty: the paper's, or outcome's
outcome: str = "DIS"  # outcome of the regression: its last level against the others
predictors: list[str] = ["SEX", "MIL", "MIG", "SCH", "RACE1P", "LANX"]  # numeric codes
unknown: list[str] = ["WKL", "DIS", "HICOV", "MIG"]  # variables that equation 16's intruder lacks
n_releases: int = 5  # [2, 100] synthetic data sets released, m
n_classes: int = 20  # [1, 1000] latent classes, F
alpha_shape: float = 0.25  # (0, inf) shape of the Gamma prior of alpha
alpha_rate: float = 0.25  # (0, inf) rate of the Gamma prior of alpha
thin: int = 10  # [1, inf) iterations for each draw kept
n_chains: int = 12  # [4, 1000] chains for the data
burn_in: int = 1500  # [0, inf) iterations dropped from each of them
n_draws: int = 100  # [30, inf) draws kept from each of them
n_chains_joined: int = 6  # [4, 1000] chains for the data joined with each release
burn_in_joined: int = 800  # [0, inf) iterations dropped from each of them
n_draws_joined: int = 60  # [30, inf) draws kept from each of them
seed: int = 2014  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd
from scipy import stats

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib import risk as disclosure
from srlib.assessment import inference
from srlib.assessment.regression import Regression, logistic_regression
from srlib.data import distinct, microdata
from srlib.display import show
from srlib.papers import claims
from srlib.papers import hu_reiter_wang as paper
from srlib.papers.ledger import ledger, printed
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs, verdicts = Outputs(output_dir), claims.Claims()

# %% [markdown]
# ## The confidential data
#
# The paper's data are fourteen variables of the American Community Survey (its Table 1). They span
# a contingency table of 8.7 million cells, so that 10,000 records leave almost every cell empty.
# The records one worries about are those whose combination occurs once. The embedded population,
# which stands in where no file is given, has the pairwise joint distributions of the survey's 2011
# public file. It was *not* drawn from the model that is tried on it.

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
beside = "repetitions estimator probability rank support_size log_mcse pareto_k"
table.schema.check_apart([*beside.split(), "combination", "prior", "posterior"])
if not pairs and table.schema == microdata.ACS:
    pairs = [["WKL", "SCHL"], ["HISP", "RACE1P"]]
pairs = pairs or [[outcome, predictor] for predictor in predictors[:2]]
outcome_at = table.schema.positions([outcome], "outcome")[0]
predictors_at = table.schema.positions(predictors, "predictors")
unknown_at = table.schema.positions(unknown, "unknown")
pairs_at = [table.schema.positions(pair, "pairs", exactly=2) for pair in pairs]
combinations, repetitions, _ = distinct(table.codes)
print(*table.notes, sep="\n")

# %%
levels = table.schema.n_levels
counts = pd.DataFrame(
    {
        "records": [len(table.codes)],
        "cells": [table.schema.n_cells],
        "combinations": [len(combinations)],
        "once": [(repetitions == 1).sum()],
        "twice": [(repetitions == 2).sum()],
        "three times": [(repetitions == 3).sum()],
        "most frequent": [repetitions.max()],
    }
)
show(outputs.table("data", counts))

# %% [markdown]
# The regression of the paper's Table 2, of the outcome's last level on the predictors' codes, is
# fitted to the confidential data at once: an outcome that it cannot explain is better known before
# the sampler runs than after.


# %%
def regression(codes: np.ndarray) -> Regression:
    is_last = codes[:, outcome_at] == levels[outcome_at] - 1
    return logistic_regression(is_last, codes[:, predictors_at] + 1, predictors)


original_fit = regression(table.codes)

# %% [markdown]
# ## The smallest example: what weighting by the release costs
#
# Take $d$ independent yes/no variables and no latent classes at all. The intruder wonders about
# one record; a candidate $x$ flips one of its values. Then everything is known in closed form.
# With $c$ the number of *other* records that share the candidate's value and $z$ the number of
# released records that do, the candidate's weight is $(1 + c + z)/(1 + c)$, over the same for
# the true value.
#
# The paper's route to that number draws parameters $\theta_j$ from the posterior given the data
# and weights each by $p(Z \mid \theta_j)$, the probability of the *whole release*. A release is as
# large as the data, so that its likelihood is as narrow as the posterior the draws came from, in
# every direction. In one direction, in the limit of many records, two normal densities of equal
# width whose centers lie apart by chance leave an effective share of $e^{-0.477} \approx 0.62$ of
# the draws (the geometric mean over releases). Directions multiply: $d$ of them leave $0.62^d$.


# %% tags=["monte-carlo", "public"]
def smallest_example(d: int, n: int = 200) -> dict[str, float]:
    """Both estimators on d independent binary variables, against the closed form."""
    rng, yes_no = stream(seed, f"smallest example {d}"), np.full(d, 2)
    settings = dpmpm.Chains(n_classes=1, burn_in=0, n_draws=250)
    codes = rng.integers(0, 2, (n, d))
    made_by, given_data = (
        dpmpm.sample_posterior(codes, yes_no, settings, rng=rng) for _ in range(2)
    )
    release = dpmpm.synthesize(made_by.pi[0, 0], made_by.phi[0, 0], yes_no, n, rng=rng)
    given_both = dpmpm.sample_posterior(np.vstack([codes, release]), yes_no, settings, rng=rng)
    weights = disclosure.release_log_prob(given_data, [release])
    weighted = disclosure.neighborhood_log_ratios(given_data, codes[:1], weights)
    plain = disclosure.neighborhood_log_ratios(given_data, codes[:1])
    joined = disclosure.neighborhood_log_ratios(given_both, codes[:1])
    c, z = (codes[1:] == codes[0]).sum(axis=0), (release == codes[0]).sum(axis=0)
    flipped = np.log1p((n - z) / (n - c)) - np.log1p(z / (1 + c))
    exact = mechanism.posterior(np.append(0.0, flipped))
    by_importance = disclosure.importance_sampling(weighted, plain).log_prob
    by_prediction = disclosure.predictive_ratio([plain[0], joined[0]]).log_prob
    return {
        "d": d,
        "effective draws": float(diagnostics.importance_ess(weights.ravel())),
        "1000 x 0.62^d": 1000 * np.exp(-0.477 * d),
        "error, importance sampling": np.abs(by_importance - exact).max(),
        "error, predictive ratio": np.abs(by_prediction - exact).max(),
    }


smallest = pd.DataFrame([smallest_example(d) for d in (1, 3, 10, 30, 100)])
show(outputs.table("smallest_example", smallest, public=True), digits=2)

# %% [markdown]
# By the formula a thousand draws leave about 620 effective ones in one direction, eight in ten
# directions, and less than one from fifteen on, where the largest weight is all there is. No number
# of draws that anybody can afford would mend that. The mixture below has
# $F\,(1 + \sum_k (L_k - 1)) - 1$ parameters, with $L_k$ the levels of variable $k$: 699 for the paper's
# variables and twenty classes, though few matter where few classes are occupied. The second column
# of errors belongs to an estimator that never looks at the likelihood of the release. Its derivation
# comes after the model.

# %% [markdown]
# ## The synthesizer
#
# The Dirichlet process mixture of products of multinomials (DPMPM) puts each record in one of $F$
# latent classes; within a class the variables are independent,
#
# $$p(x \mid \pi, \phi) = \sum_{f=1}^{F} \pi_f \prod_{k=1}^{p} \phi^{(k)}_{f x_k},$$
#
# with a stick-breaking prior on $\pi$ whose concentration $\alpha$ is estimated, and uniform
# Dirichlet priors on each $\phi^{(k)}_f$ (equations 1 to 6). A blocked Gibbs sampler draws from the
# posterior. Several chains are run, since each may settle in another mode of it.


# %%
def posterior_draws(codes: np.ndarray, purpose: str, **chains: int) -> dpmpm.Draws:
    """Draws from the posterior of the synthesis model given some records."""
    prior = dpmpm.Prior(alpha_shape, alpha_rate)
    settings = dpmpm.Chains(n_classes=n_classes, thin=thin, prior=prior, **chains)
    return dpmpm.sample_posterior(
        codes, levels, settings, rng=stream(seed, purpose), label=purpose, keep_allocations=True
    )


all_draws = posterior_draws(
    table.codes, "data", n_chains=n_chains, burn_in=burn_in, n_draws=n_draws
)
step = -(-n_chains * n_draws // 5000)
draws = all_draws.thin(step)

# %% [markdown]
# A release is a set of $m$ synthetic files. Each takes one draw of $(\pi, \phi)$, the draws far
# apart in the chains, and then every synthetic record draws its class afresh from $\pi$. All draws
# serve the risks at the end; up to there some five thousand will do, and for the releases and the
# paper's estimator those of at most sixteen chains.

# %%
some = all_draws.thin(1, 16)
chain_of, draw_of = some.spread(n_releases)
streams = [stream(seed, f"release {i}") for i in range(n_releases)]
releases = some.release(n_releases, len(table.codes), rng=streams)

# %% [markdown]
# ## Has the sampler converged?
#
# Class labels mean nothing, so that convergence is judged on quantities that do not depend on
# them: the concentration, the log likelihood, the number of occupied classes, the log probability
# of the most frequent combination and of one of the rarest.

# %% tags=["monte-carlo"]
log_prob = dpmpm.cell_log_prob(draws, combinations)
quantities = {
    "alpha": draws.alpha,
    "log likelihood": draws.log_likelihood,
    "occupied classes": draws.n_occupied,
    "log p, most frequent": log_prob[:, :, repetitions.argmax()],
    "log p, a rarest": log_prob[:, :, repetitions.argmin()],
}
healthy = diagnostics.summary(quantities)
print(diagnostics.verdict(healthy))
display(show(outputs.table("diagnostics", healthy), digits=2))
pictured = {name: values[:8] for name, values in quantities.items()}
chains = diagnostics.long_format(pictured)
display(outputs.figure("trace", charts.trace(chains)))
outputs.figure("ranks", charts.rank_plot(chains))

# %% [markdown]
# **The five quantities in up to eight chains**, and **the ranks of the draws among these.** Well mixed
# chains look like one band of noise, and white ranks say that each has its fair share. A chain that
# keeps to a level of its own, or shows a stripe, sits in another local mode: another way to divide
# the records into classes, which Gibbs steps leave only rarely.
#
# For comparison, a sick sample: the same sampler from random starts, with no burn-in and a draw
# after each iteration. Compare its R-hat with the table above.

# %% tags=["monte-carlo"]
no_burn_in = dpmpm.Chains(n_classes=n_classes, burn_in=0, n_draws=60)
sick = dpmpm.sample_posterior(table.codes, levels, no_burn_in, rng=stream(seed, "sick"))
sick_summary = diagnostics.summary(
    {"alpha": sick.alpha, "log likelihood": sick.log_likelihood, "occupied": sick.n_occupied}
)
show(outputs.table("diagnostics_sick", sick_summary), digits=2)

# %% [markdown]
# ## Is the release useful? (C1, C2)
#
# The two joint distributions that the paper shows, in the data and on average over the releases:

# %% tags=["monte-carlo"]
labels = [variable.labels for variable in table.schema.variables]
for number, (pair, at) in enumerate(zip(pairs, pairs_at, strict=True), start=1):
    joint = inference.compare_joint(table.codes, releases, labels, *at)
    display(outputs.figure(f"figure_{number}", charts.joint_distribution(joint, *pair)))

# %% [markdown]
# **Figures 1 and 2 of the paper.** Bars side by side belong to the same cell; whiskers are 95 %
# intervals. Where they overlap, the synthetic file tells an analyst what the confidential one
# would.
#
# Below are the worst five of all pairs of variables. The size of a difference says little where
# most proportions are small, so that it is set beside what sampling alone gives: the difference
# between two samples of one population. A release drawn from the posterior of the right model is
# about as far from the data as a second sample. **C1** holds if the cells of a release are off by less than
# $\sqrt 2$ times as much, on average over all pairs. At this limit the model adds as much to the squared
# differences as the sampling of both tables does.

# %% tags=["monte-carlo"]
names = list(table.schema.names)
differences = inference.pairwise_differences(table.codes, releases, levels, names)
outputs.result("pairwise_difference_median", differences["mean_absolute_difference"].median())
display(show(outputs.table("pairwise_differences", differences).head(), digits=4))
off = inference.against_sampling(table.codes, releases, levels)
verdicts.say("C1", paper.keeps_pairs(off))

# %% [markdown]
# Now Table 2, a logistic regression with the codes as numbers, fitted to the confidential file and
# to each synthetic one and combined by the rules for fully synthetic data (Raghunathan, Reiter and
# Rubin 2003). With $\bar u$ the mean squared standard error and $b$ the variance between releases,
# the variance $(1 + 1/m)\,b - \bar u$ can come out negative; then Reiter's (2002) adjusted one is
# used and marked. The intervals have normal quantiles, as the paper's must have: see the section
# on what did not reproduce.
#
# **C2** holds if at least 95 % of the original estimates lie in the synthetic interval. With fewer
# inside it is not decided if independent intervals of that level would miss as often at least once in
# twenty times. Otherwise it depends on the coefficient where more than half lie inside, and fails
# where no more than half do.


# %% tags=["monte-carlo"]
coefficients = inference.coefficients(original_fit, [regression(z) for z in releases])
shown = ["term", "original", "original_se", "synthetic", "low", "high", "adjusted", "overlap"]
display(show(outputs.table("coefficients", coefficients)[shown]))
display(outputs.figure("table_2", charts.coefficients(coefficients)))
verdicts.say("C2", paper.agrees_on_coefficients(coefficients))

# %% [markdown]
# An estimate can lie outside for two reasons besides chance. A latent class model pulls associations
# toward those that its classes can express, and a coefficient that few records carry moves first.
# An interval that is much narrower than the original's is not precision: with $m$ releases the
# variance is a difference of two noisy numbers, one of them with $m - 1$ degrees of freedom, and can
# come out near zero by chance.

# %% [markdown]
# ## The intruder's question
#
# The intruder knows $D_{-i}$, all records but one, and the synthesizer. The candidates for the
# missing record are its true combination and every one that differs from it in one variable, the
# space $\mathcal R_i$ of section 3.1. With a uniform prior,
#
# $$\rho_i^x \propto p(Z \mid X_i = x, D_{-i})
# = \prod_{l=1}^m \int p(Z^{(l)} \mid \Theta)\, p(\Theta \mid X_i = x, D_{-i})\, d\Theta .$$
#
# ### The paper's estimator
#
# Draws $\Theta_j$ given the data $D$ stand in for draws given $D_i^x$ (equations 11 to 15):
#
# $$P(Z^{(l)} \mid D_i^x) \approx \frac{\sum_j p(Z^{(l)} \mid \Theta_j)\, r_j}{\sum_j r_j},
# \qquad r_j = \frac{p(x \mid \Theta_j)}{p(x_i \mid \Theta_j)} .$$
#
# How many draws does this sum rest on? One thing matters: whether the draws that generated the
# releases are among the $\Theta_j$. If they are, the intruder holds the parameters that made the
# release among the possible ones, which no intruder knows.
#
# **C6** is judged without them, by two numbers. A hundred effective draws know an average to about ten
# percent, so that many are asked for (or a quarter of the draws where these are fewer than 400).
# And Pareto's $k$ should be at most 0.7: above it no practicable number of draws helps (Vehtari and
# others 2024). The risk multiplies what all releases say, so that the worst release decides. Its $k$
# has a standard error of about $(1 + k)$ over the square root of the draws in the tail.

# %% tags=["monte-carlo"]
log_weights = disclosure.release_log_prob(some, releases)
left_out = log_weights.copy()
left_out[:, chain_of, draw_of] = -np.inf
cases = {"generating draws among them": log_weights, "generating draws left out": left_out}
weights = pd.concat(
    diagnostics.importance_summary(weight.reshape(n_releases, -1)).assign(case=case)
    for case, weight in cases.items()
)
display(show(outputs.table("importance_weights", weights), digits=2))
outputs.result("importance_ess_largest", weights["ess"].max())
display(outputs.figure("importance_weights", charts.importance_weights(weights)))
verdicts.say("C6", paper.weights_suffice(weights[weights["case"] == "generating draws left out"]))

# %% [markdown]
# Where one or two draws carry the weight, the average over the posterior has become an evaluation at
# one point of it, and which point is chance. ($k$ is infinite where no shape can be fitted to weights
# so unequal, and then has no error.) What the weights do to the risks is seen best by doing the work
# twice. One half of the chains and the other half make two runs of the same estimator on the *same*
# release.

# %%
halves = slice(None, some.n_chains // 2), slice(some.n_chains // 2, None)
in_use = [np.where(np.isfinite(weight[:1]), 0.0, -np.inf) for weight in cases.values()]
stacked = np.concatenate([w for pair in zip(in_use, cases.values(), strict=True) for w in pair])
ratios = disclosure.neighborhood_log_ratios(some, combinations, stacked)
importance, runs = {}, {}
for case, (plain, *weighted) in zip(cases, np.split(ratios, len(cases)), strict=True):
    of_case = np.stack(weighted), plain[None]
    importance[case] = disclosure.importance_sampling(*of_case)
    runs[f"importance sampling, {case}"] = [
        disclosure.importance_sampling(*(part[:, half] for part in of_case)) for half in halves
    ]

# %% [markdown]
# ### An estimator without weights
#
# Bayes' rule, applied to the missing record instead of to the parameters, says
#
# $$P(Z \mid D_i^x) = P(Z \mid D_{-i})\, \frac{p(x \mid D_{-i}, Z)}{p(x \mid D_{-i})} .$$
#
# The first factor is the same for every candidate. The rest are two posterior predictive
# probabilities of *one record*: given the data, and given the data joined with the release.
# Relative to the truth's they are averages of $r_j$, over draws given $D$ and over draws given
# $D$ joined with $Z^{(l)}$. No likelihood of a release occurs. The price is another set of chains
# for each released file; and the error of the chains on $D$ enters $m$ times, so that these get
# most of the computing.
#
# Much of a draw's noise need not be there. Given the classes of all records, the expectations of
# $\pi$ and $\phi$ are known, and with record $i$ taken out of its class the predictive probability of
# any $x$ is a sum over classes of products of posterior means. Its ratio to that of $x_i$, averaged
# over draws of the classes, has the same limit as the average of $r_j$ and a smaller variance.

# %%
of_data, log_prob_left_out = disclosure.collapsed_log_ratios(all_draws, combinations)
log_ratios, joined_draws = [of_data], []
judged_on = {"data": log_prob_left_out[:, ::step]}
chains = {"burn_in": burn_in_joined, "n_draws": n_draws_joined, "n_chains": n_chains_joined}
for i, release in enumerate(releases, start=1):
    purpose = f"data and release {i}"
    joined_draws.append(posterior_draws(np.vstack([table.codes, release]), purpose, **chains))
    ratios, judged_on[purpose] = disclosure.collapsed_log_ratios(joined_draws[-1], combinations)
    log_ratios.append(ratios)
sets = disclosure.DrawSets(all_draws, joined_draws)

# %% tags=["monte-carlo"]
r_hat = pd.DataFrame({name: diagnostics.r_hat(values) for name, values in judged_on.items()})
spread = r_hat.quantile([0.5, 0.95, 1]).T.set_axis(["median", "95 %", "largest"], axis=1)
outputs.table("r_hat_log_prob", spread.rename_axis("posterior given").reset_index())
spread.round(2)

# %% [markdown]
# What the risks need is not the class structure but the probability of each combination, left out.
# The table has R-hat of its logarithm over all combinations. Where it is above 1.01 the chains sit in
# several modes, which they leave too rarely for their length. Every standard error below comes from
# between chains and contains what they disagree about.

# %% tags=["monte-carlo"]
predictive = disclosure.predictive_ratio(log_ratios)
halves = slice(None, n_chains // 2), slice(n_chains // 2, None)
joined_halves = slice(None, n_chains_joined // 2), slice(n_chains_joined // 2, None)
runs["predictive ratio"] = [
    disclosure.predictive_ratio([of_data[half], *(z[joined_half] for z in log_ratios[1:])])
    for half, joined_half in zip(halves, joined_halves, strict=True)
]
repeated = pd.DataFrame({name: disclosure.repeatability(*two) for name, two in runs.items()}).T
outputs.table("repeatability", repeated.rename_axis("estimator").reset_index())
repeated.round(2)

# %% [markdown]
# **Two runs on one release.** Each row compares two halves of the chains, so that the full
# estimates are better than this table says. Read the correlation first: two runs that agree have one
# near 1, and two runs that share nothing but the prior have one near 0.

# %% tags=["monte-carlo"]
for name in ("importance sampling, generating draws left out", "predictive ratio"):
    one, other = runs[name]
    short = name.partition(",")[0]
    pictured = pd.DataFrame({"x": one.probability, "y": other.probability})
    chart = charts.agreement(pictured, f"{short}, one run", "another run")
    display(outputs.figure(f"agreement_{short.replace(' ', '_')}", chart))

# %% [markdown]
# **Probability of the truth for each combination, two runs, same release**, by importance sampling and
# by the predictive ratio. On the line the runs agree. What lies off the line is Monte Carlo error, which
# a figure of one run's probabilities contains as well.

# %% [markdown]
# ## How high are the risks? (C3, C4)

# %% tags=["confidential"]
one_draw_k = weights.loc[weights["case"] == "generating draws left out", "pareto_k"].max()
leave_one_out_k = diagnostics.pareto_k(-judged_on["data"].reshape(-1, len(combinations)).T)
estimators = {
    "importance_sampling": (importance["generating draws left out"], one_draw_k),
    "predictive_ratio": (predictive, leave_one_out_k),
}
risks = pd.concat(
    table.schema.decode(combinations, labels=False).assign(
        repetitions=repetitions, estimator=name, probability=risk.probability, rank=risk.rank,
        support_size=risk.support_size, log_mcse=risk.log_mcse[:, 0], pareto_k=k,
    )
    for name, (risk, k) in estimators.items()
)  # fmt: skip
risks = outputs.table("combinations", risks)

# %% tags=["monte-carlo"]
display(outputs.figure("figure_3", charts.rank_histogram(risks, predictive.support_size)))
outputs.figure("figure_4", charts.risk_histogram(risks, 1 / predictive.support_size))

# %% [markdown]
# **Figure 3: rank of the truth among its candidates**, 1 for the most probable (ties share their
# mean rank). The dotted rule is what a release that says nothing would give. **Figure 4: posterior
# probability of the truth.** The dotted rule is the prior. Where importance sampling rests on few
# draws, its wider spread is not risk but Monte Carlo error: a single draw's odds are more extreme than
# the average over the posterior.

# %% tags=["monte-carlo"]
compared = {f"importance sampling, {case}": risk for case, risk in importance.items()}
compared["predictive ratio"] = predictive
summary = pd.DataFrame([risk.summary(0.08) for risk in compared.values()], index=list(compared))
outputs.table("risk_summary", summary.rename_axis("estimator").reset_index())
summary.round(3)

# %% [markdown]
# Both claims are judged by the predictive ratio. If the order of the candidates meant nothing, three
# of $S$ ranks would hold a share $3/S$ of the truths. **C3** holds if the truth is among the first three
# less often than that. The error has two parts: that of the chains, and what chance gives a random
# order of so many combinations. **C4** holds if more than half of the probabilities are near the prior,
# which is taken to mean within a factor of two. It fails if at most 5 % are, and in between it depends
# on the record. Where two standard errors reach from a probability to the limit, it may be on either side. The
# paper's largest probability, near 0.2, is seven times its prior.

# %% tags=["monte-carlo"]
display(verdicts.say("C3", paper.rarely_first(log_ratios)))
verdicts.say("C4", paper.near_prior(predictive))

# %% [markdown]
# Which candidates move? In quarters, by their predictive probability given the data. If improbable
# ones move most, the ratio of two small predictive probabilities, they take both ends of the order.

# %% tags=["monte-carlo"]
log_prior = mechanism.posterior(np.logaddexp.reduce(of_data, axis=0))
moved = np.abs(predictive.log_prob + np.log(predictive.support_size))
order = stats.rankdata(log_prior.ravel(), method="ordinal")
quarter = pd.qcut(order, 4, labels=["least probable", "second", "third", "most"])
moved = pd.Series(moved.ravel(), name="median |log(posterior / prior)|")
moved.groupby(quarter, observed=True).median().rename_axis("candidates").to_frame().round(2)

# %% [markdown]
# The ten most probable truths by the predictive ratio, as in the paper's Table 3, with the standard
# error of the logarithm:

# %% tags=["monte-carlo", "confidential"]
ours = risks[risks["estimator"] == "predictive_ratio"]
ours = ours.assign(combination=ours[list(table.schema.names)].astype(str).agg(",".join, axis=1))
shown = ["combination", "repetitions", "rank", "probability", "log_mcse", "pareto_k"]
by_risk = np.argsort(-predictive.log_prob[:, 0])
show(ours.iloc[by_risk[:10]][shown])

# %% [markdown]
# An error of the logarithm of 0.1 means that the probability is known to about ten percent;
# `pareto_k` belongs to the weights that leave the record out, and above 0.7 only chains without
# the record would do.

# %% [markdown]
# ## An intruder who lacks a few variables (C5, equation 16)
#
# Now the intruder knows the record's other variables and all combinations of the unknown ones are
# candidates. For the six combinations with the highest risk above, four spread over the rest, and
# the paper's two records where the data have them.
#
# **C5** is judged by what the release multiplies the prior of the truth by: is that more where the
# intruder lacks the variables in `unknown` than where the whole record is in doubt? The claim holds
# if it is more, by two standard errors, for over 95 % of these records. It fails if it may be more for
# at most 5 % of them. In between it depends on the record.

# %%
spread = by_risk[np.linspace(0, len(by_risk) - 1, 5).astype(int)]
of_paper = np.flatnonzero(ours["combination"].isin([
    "2,4,1,3,1,1,4,3,2,1,1,1,1,1", "1,4,3,2,1,2,1,1,3,1,1,1,1,1",
]))  # fmt: skip
chosen = list(dict.fromkeys([*by_risk[:6], *spread, *of_paper]))


def subset_risk(i: int) -> tuple[np.ndarray, disclosure.Risk]:
    """Candidates and risk where only the unknown variables of combination i are in doubt."""
    support = disclosure.subset_support(combinations[i], unknown_at, levels)
    log_ratios = [disclosure.support_log_ratios(draws, support)[0] for draws in sets]
    return support, disclosure.predictive_ratio(log_ratios)


subsets = {i: subset_risk(i) for i in chosen}

# %% tags=["monte-carlo", "confidential"]
subset_table = pd.DataFrame(
    {
        "record": ours["combination"].iloc[i],
        "unknown": ", ".join(unknown),
        "probability": risk.probability[0],
        "log_mcse": risk.log_mcse[0, 0],
        "rank": risk.rank[0],
        "support_size": risk.support_size,
    }
    for i, (_, risk) in subsets.items()
)
whole = ours.iloc[list(subsets)].reset_index(drop=True)
ratio = {"over prior": subset_table, "over prior, whole record": whole}
ratio = {name: t["probability"] * t["support_size"] for name, t in ratio.items()}
show(outputs.table("subset_risk", subset_table).assign(**ratio))

# %% tags=["monte-carlo"]
verdicts.say("C5", paper.more_from_part(subset_table, whole))

# %% tags=["monte-carlo", "confidential"]
support, risk = max(subsets.values(), key=lambda of_record: of_record[1].probability[0])
values = table.schema.decode(support, labels=False)[unknown].astype(str).agg(", ".join, axis=1)
pictured = pd.DataFrame({"value": values, "probability": np.exp(risk.log_prob[0])})
pictured["truth"] = pictured.index == 0
chart = charts.subset_risk(pictured, 1 / risk.support_size)
outputs.figure("subset_risk", chart)

# %% [markdown]
# **The record whose unknown variables are most exposed.** A bar for each combination of codes of
# the unknown variables, in the order in which the parameters name them, the truth in color, the
# uniform prior dotted. The probability is still that of a release given data, with a *uniform* prior
# over values many of which nobody would think likely.
#
# ### Part of a record, the rest unknown as well (equation 17)
#
# Summing the posterior over all candidates that share the values of some variables gives their
# marginal. Over $\mathcal R_i$ a candidate differs from the truth in one variable, so that all but
# $\sum (L_k - 1)$ of the candidates, summed over the variables in question, share the true values by
# construction. The paper suspects that this says little. The relative errors of the sums do not exceed
# the largest of their terms'.

# %% tags=["monte-carlo", "confidential"]
support = disclosure.neighborhood(combinations[by_risk[:1]], levels)[0]
part = table.schema.decode(support, labels=False)[unknown[:2]].astype(str)
part["prior"], part["posterior"] = 1 / len(support), np.exp(predictive.log_prob[by_risk[0]])
show(part.groupby(unknown[:2], as_index=False).sum())

# %% [markdown]
# ## Other priors (equation 18)
#
# With a uniform prior the posterior is the likelihood of the release, so that any other prior can
# be put in afterwards. How much more probable than the leading candidate would the intruder have
# to think the truth beforehand for the two to draw level? The logarithm of these odds is off by at
# most the errors of the two log probabilities together.

# %% tags=["monte-carlo"]
odds = pd.Series(predictive.prior_odds)
outputs.result("prior_odds_median", odds.median())
odds.quantile([0.05, 0.5, 0.95]).rename("prior odds needed").to_frame().round(2)

# %% [markdown]
# The uniform prior is a stand-in for ignorance that no intruder has. One who fits the synthesis
# model to $D_{-i}$ has its posterior predictive distribution as prior, which section 5 suggests.
# What the release adds to that is the ratio of posterior to prior:

# %% tags=["monte-carlo"]
informed = disclosure.predictive_ratio(log_ratios, log_prior)
before, gain = np.exp(log_prior[:, 0]), informed.probability / np.exp(log_prior[:, 0])
gains = pd.DataFrame({"prior": before, "posterior": informed.probability, "ratio": gain})
gains["log_mcse"] = informed.log_mcse[:, 0]
rarity = np.where(repetitions == 1, "occurs once", "occurs more often")
gains.groupby(rarity).quantile([0.05, 0.5, 0.95]).rename_axis([None, "quantile"]).round(3)

# %% [markdown]
# The upper end of the ratios for combinations that occur once is what the release adds for the most
# exposed of them. Compare it with the ratios of those that occur more often.
#
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
verdicts.in_public(len(table.codes), C5=len(subsets))

# %% [markdown]
# ## The ledger
#
# Every number that the paper prints beside this run's. Numbers that follow from the design are
# judged always. The others belong to a sample of 10,000 North Carolinians that was never
# published; with `data: "acs:2012:nc"` the run takes its own sample of the same file, and what a
# sample determines is judged within sampling error. Elsewhere they are shown and skipped.

# %%
design = {"n_variables": len(levels), "n_cells": table.schema.n_cells}
design |= {"n_synthetic_sets": n_releases, "support_size": predictive.support_size}
design |= {"subset_size": risk.support_size, "prior_odds_ratio_11111213121111": 0.0585 / 0.0398}
names = "n_records distinct_combinations combinations_once combinations_twice"
names += " combinations_three_times most_frequent_combination"
sampled = dict(zip(names.split(), counts.drop(columns="cells").iloc[0], strict=True))
released = {
    "figure3_rank_1": summary["rank 1"]["predictive ratio"],
    "figure3_rank_1_to_3": summary["rank 1 to 3"]["predictive ratio"],
    "figure4_largest": summary["largest"]["predictive ratio"],
    "figure4_above_008": summary["above 0.08"]["predictive ratio"],
    "figure4_median": summary["median"]["predictive ratio"],
}

# %% [markdown]
# Records of Table 3 and of the two illustrations can be set beside the printed ones where the same
# combination occurs in these data.

# %%
found, probability, rank = {}, predictive.probability, predictive.rank
of_survey = ours["combination"] if table.schema == microdata.ACS else ours["combination"][:0]
for i, digits in enumerate(of_survey.str.replace(",", "")):
    found[f"table3_repetitions_{digits}"] = repetitions[i]
    found[f"prior_odds_largest_{digits}"] = np.exp(predictive.log_prob[i].max())
    for place in ("table3", "prior_odds"):
        found[f"{place}_probability_{digits}"] = probability[i]
        found[f"{place}_rank_{digits}"] = rank[i]
    if i in subsets:
        found[f"subset_probability_{digits}"] = subsets[i][1].probability[0]
        found[f"subset_rank_{digits}"] = subsets[i][1].rank[0]
printed_ids = set(printed("hu_reiter_wang")["id"])
released |= {number: value for number, value in found.items() if number in printed_ids}

# %% [markdown]
# Two samples of one file differ by chance: counts by about the square root of twice the count,
# coefficients by their standard errors times the square root of two. Four of these are allowed.

# %%
tolerances = {number: 4 * np.sqrt(2 * count) for number, count in sampled.items()}
if [outcome, *sorted(predictors)] == ["DIS", "LANX", "MIG", "MIL", "RACE1P", "SCH", "SEX"]:
    for row in coefficients.to_dict("records"):
        number = f"table2_{row['term'].lower()}"
        sampled[f"{number}_original"] = row["original"]
        tolerances[f"{number}_original"] = 4 * np.sqrt(2) * row["original_se"]
        released |= {f"{number}_{column}": row[column] for column in ("synthetic", "low", "high")}

same_file = data == "acs:2012:nc" and len(table.codes) == 10_000
judged = set(design) if table.schema == microdata.ACS else set()
judged -= {"n_synthetic_sets"} if n_releases != 5 else set()
judged -= {"subset_size"} if set(unknown) != {"WKL", "DIS", "HICOV", "MIG"} else set()
judged |= set(sampled) if same_file else set()
notes = dict.fromkeys(tolerances if same_file else (), "section What did not reproduce")
notes["prior_odds_ratio_11111213121111"] = "cut, not rounded; section What did not reproduce"


# %% tags=["confidential"]
def skip(number: str) -> str | None:
    """Reason why a printed number is not judged in this run, if there is one."""
    return None if number in judged else "belongs to the paper's own sample, release or settings"


computed = design | sampled | released
book = ledger(
    "hu_reiter_wang", computed, skip=skip, notes=notes, tolerances=tolerances if same_file else {}
)
of_one_record = book["id"].isin(list(found))
_ = outputs.table("ledger", book)

# %% [markdown]
# That the data have one of the paper's combinations, and at what risk, is confidential: rows of
# single combinations are in the file alone.

# %% tags=["monte-carlo"]
outputs.result("ledger_differs", (book["verdict"] == "differs").sum())
print(book["verdict"].value_counts().to_string())
of_each = book[book["computed"].notna() & ~of_one_record].groupby("source").head(3)
show(of_each.drop(columns=["id", "relation", "note"]).head(12))

# %% [markdown]
# ## What did not reproduce, and why
#
# **The estimator.** The paper does not say how many effective draws its importance sampling had.
# The number can be computed for any run, and the callout of C6 has this run's. Where one draw carries
# a release's weight, Table 3 lists the odds of one draw for each release. Numbers of combinations above
# a threshold can be compared all the same (`risk_summary`). *Which* combinations they are takes two runs:
# the column `top three kept` has the share of one run's top three that the other keeps, a rough number
# where few truths rank there. The paper leaves open whether the draws that generated the release are
# among the weighted ones, and the first two rows show what that changes. If C6 fails on the paper's
# own data, the 31 rows of Table 3 cannot be reproduced without its very draws.
#
# **The prior odds.** Section 4.2 prints 1.46 for 0.0585 / 0.0398, which is 1.470: cut, not
# rounded.
#
# **The intervals of Table 2.** The combining rules come with a $t$ distribution whose degrees of
# freedom are $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$. For $m = 5$ no interval from a positive
# variance can then be shorter than the half-width computed here, in units of $\sqrt{\bar u}$. For
# the printed intervals to be so, the standard errors of the seven coefficients would have to be as
# small as the second line says. Unless they were, the printed intervals have normal quantiles, or
# other degrees of freedom.

# %% tags=["public"]
ratio = np.linspace(1.001, 60, 100_000)  # (1 + 1/m) b over the mean squared standard error
shortest = (stats.t.ppf(0.975, 4 * (1 - 1 / ratio) ** 2) * np.sqrt(ratio - 1)).min()
limits = printed("hu_reiter_wang").set_index("id")["printed"].filter(regex="low|high")
half_widths = limits.astype(float).to_numpy().reshape(-1, 2) @ [-0.5, 0.5]
print(f"shortest half-width: {shortest:.2f} standard errors")
print("standard errors at most:", *(half_widths / shortest).round(3))

# %% [markdown]
# **The sample.** The 10,000 records are not public. Another sample of the same file agrees with
# the printed counts and coefficients up to sampling error only; records of Table 3 cannot be
# identified in it.
#
# **Limits of this run.** Chains of this model can stick in local modes. Where the diagnostics say so,
# the standard errors, which come from between chains, include that the chains disagree. They do
# not include modes that no chain has found.

# %% [markdown]
# ## Exercises
#
# Of rising difficulty. All numbers are stated in the questions, whatever the parameters above.

# %% [markdown]
# ### Exercise 1: more candidates
#
# The paper's intruder holds the 35 combinations possible that differ from the truth in one variable at
# most. How many are there (`at_most_two`) that differ in two at most? (`microdata.ACS.n_levels` has the
# number of levels of the paper's 14 variables.)

# %% tags=["solution"]
others = microdata.ACS.n_levels - 1
one_differs, two_differ = others.sum(), (others.sum() ** 2 - (others**2).sum()) // 2
at_most_two = 1 + one_differs + two_differ
assert 1 + one_differs == 35
assert at_most_two == 555

# %% [markdown]
# ### Exercise 2: a risk by hand
#
# One yes/no variable, no classes, a uniform prior of its proportion. Of 199 records that the intruder
# knows 120 have the value of the record at risk; of 200 released ones 130 do. With the prior 1/2, what
# is the `posterior` probability of the true value, to three digits behind the point? Check the closed
# form of the smallest example against the beta-binomial probabilities of the release.

# %% tags=["solution"]
of_truth, of_other = (1 + 120 + 130) / (1 + 120), (1 + 79 + 70) / (1 + 79)
posterior = of_truth / (of_truth + of_other)
if_true, if_other = stats.betabinom.pmf(130, 200, [122, 121], [80, 81])
assert np.isclose(posterior, if_true / (if_true + if_other))
assert round(posterior, 3) == 0.525

# %% [markdown]
# ### Exercise 3: where the 0.477 comes from
#
# Take the posterior of one direction as standard normal, and the release's likelihood as normal with
# the same variance and a center $c \sim N(0, 2)$. The effective share of the draws is
# $E(w)^2 / E(w^2)$, with weights $w = e^{-(\theta - c)^2/2}$. What is the mean of its logarithm over $c$
# (`log_share`, three digits behind the point)? How many `thousands` of draws, rounded up, would leave a
# hundred effective ones in 14 directions?

# %% tags=["solution"]
nodes, node_weights = np.polynomial.hermite_e.hermegauss(80)
node_weights /= node_weights.sum()  # expectations under the standard normal
weight = np.exp(-((nodes[:, None] - np.sqrt(2) * nodes) ** 2) / 2)  # theta by center
share = (node_weights @ weight) ** 2 / (node_weights @ weight**2)
log_share = node_weights @ np.log(share)
thousands = int(np.ceil(100 * np.exp(-14 * log_share) / 1000))
assert np.isclose(log_share, np.log(np.sqrt(3) / 2) - 1 / 3)
assert round(log_share, 3) == -0.477
assert thousands == 80

# %% [markdown] tags=["solution"]
# By completing squares $E(w) = e^{-c^2/4}/\sqrt 2$ and $E(w^2) = e^{-c^2/3}/\sqrt 3$, so that the share is
# $(\sqrt 3/2)\, e^{-c^2/6}$. The mean of its logarithm is $\log(\sqrt 3/2) - 2/6$.

# %% [markdown]
# ### Exercise 4: the printed prior odds
#
# Section 4.2 prints the probabilities 0.0585 and 0.0398, both to four digits, and 1.46 for their ratio.
# Between which two numbers does the ratio lie, whatever the digits that are not printed (the list
# `lowest_highest`, three digits behind the point)? Can 1.46 be the `rounded` ratio?

# %% tags=["solution"]
half_unit = 0.00005
smallest_odds = (0.0585 - half_unit) / (0.0398 + half_unit)
largest_odds = (0.0585 + half_unit) / (0.0398 - half_unit)
lowest_highest = [round(smallest_odds, 3), round(largest_odds, 3)]
rounded = smallest_odds < 1.465
assert lowest_highest == [1.467, 1.473]
assert not rounded

# %% [markdown] tags=["solution"]
# Rounding gives 1.47 over the whole range. The paper has cut the ratio.

# %% [markdown]
# ### To go on
#
# - With one class the model is a product of independent multinomials. Run the notebook with
#   `n_classes: 1` and say what happens to the effective sample size, and why it is not yet good.
# - Release more files: `n_releases: 20`. Which of the two estimators gets worse, and which of its sets
#   of chains is to blame?
#
# ## References
#
# - Ishwaran, H. and James, L. F. (2001). Gibbs sampling methods for stick-breaking priors. *JASA*
#   96, 161–173.
# - Papaspiliopoulos, O. and Roberts, G. O. (2008). Retrospective Markov chain Monte Carlo methods
#   for Dirichlet process hierarchical models. *Biometrika* 95, 169–186.
# - Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple imputation for statistical
#   disclosure limitation. *Journal of Official Statistics* 19, 1–16.
# - Reiter, J. P. (2002). Satisfying disclosure restrictions with synthetic data sets. *Journal of
#   Official Statistics* 18, 531–544.
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of MCMC. *Bayesian
#   Analysis* 16, 667–718.
# - Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed importance
#   sampling. *JMLR* 25(72), 1–58.
