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
# # On the embedded population, the releases tell little of whole records, and the paper's estimator rests on one or two draws
#
# **Hu, J., Reiter, J. P. and Wang, Q. (2014).** [Disclosure risk evaluation for fully synthetic
# categorical data](https://doi.org/10.1007/978-3-319-11257-2_15). In *Privacy in Statistical
# Databases*, 185–199. Springer.
#
# A statistical agency wants to release records that describe nobody: every value is drawn from a
# model fitted to the confidential file. Can someone who knows *all the other records* still read
# the last one out of the release? The paper answers with Bayes' rule: the intruder asks how probable
# the release would be under each possible value of that record. For 10,000 adults of the American Community Survey
# hardly any record stood out.
#
# On the embedded population, which is not the paper's file, the conclusion about whole records stands and
# the estimator does not: one or two of all the posterior draws carry most of the weight. Some
# parts of records are more exposed than the whole.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** The synthesizer keeps joint distributions of pairs of variables. | 4.1, Figures 1 and 2 |
# | **C2** A logistic regression on the synthetic data agrees with the original one. | 4.1, Table 2 |
# | **C3** The truth ranks near the top of its candidates for very few combinations. | 4.2, Figure 3 |
# | **C4** Most probabilities of the truth are near the prior, the largest near 0.2. | 4.2, Figure 4 |
# | **C5** An intruder who lacks only a few variables can learn more. | 4.2, equation 16 |
# | **C6** Importance sampling makes the computation simple and convenient. | 3.2, equations 11 to 15 |
# | **C7** Removing risky records from the data behind the synthesizer helps. | 5 |
#
# The verdicts are computed: a callout under the numbers that decide a claim says that it *holds
# here*, that it *depends on* something, that it *fails*, or, within two standard errors of its limit,
# that it is *not decided*. The limits are in the text above each callout.
#
# ## What you will learn
#
# - to state what an intruder knows as a prior over candidates, and to get a posterior risk from it;
# - to see how weighting draws by the probability of a whole release can leave a single draw;
# - to hold a printed number against its distribution under rival explanations;
# - to judge a release, and its repair, by its risks and its use.
#
# **You should know** Bayes' rule, Markov chain Monte Carlo with R-hat, and logistic regression. Reading
# takes about two hours, the exercises another two. They follow the sections that they belong to, and all
# their numbers are stated in the questions, whatever the parameters of the run.

# %% [markdown]
# ## Parameters
#
# The defaults are sized for a minute or two of computing and for chains that converge: 1,000 records, and the
# eleven variables that the paper's figures, its regression and equation 16 use. The published profile has all
# fourteen and the paper's other settings.

# %% tags=["parameters"]
data: str = ""  # CSV file of categorical columns; acs:2012:nc to download; empty: embedded
schema: str = ""  # YAML file that declares the variables; empty: recognized or inferred
drop_missing: bool = False  # drop records with missing values (and say how many)
ignore_columns: bool = False  # leave out columns that the schema does not declare
vintage: int = 2012  # [2008, 2100] year of a raw ACS person file that is given by its path
n_records: int = 1000  # [10, inf) records used; a seeded sample where the file has more
all_variables: bool = False  # embedded population: all 14, not just those named below
pairs: list[list[str]] = []  # pairs for Figures 1 and 2; empty: the paper's, or outcome's
outcome: str = ""  # of the regression, last level against others; empty: the paper's, or none
predictors: list[str] = []  # of the regression, by numeric codes; empty: the paper's, or none
unknown: list[str] = ["WKL", "DIS", "HICOV", "MIG"]  # variables that equation 16's intruder lacks
n_releases: int = 5  # [2, 100] synthetic data sets released, m
n_dropped: int = 10  # [1, inf) riskiest combinations that a second synthesizer leaves out
n_classes: int = 20  # [1, 1000] latent classes, F
alpha_shape: float = 0.25  # (0, inf) shape of the Gamma prior of alpha
alpha_rate: float = 0.25  # (0, inf) rate of the Gamma prior of alpha
thin: int = 25  # [1, inf) iterations for each draw kept
n_chains: int = 8  # [4, 1000] chains for the data
burn_in: int = 1500  # [0, inf) iterations dropped from each of them
n_draws: int = 200  # [30, inf) draws kept from each of them
n_chains_joined: int = 4  # [4, 1000] chains for the data joined with each release
burn_in_joined: int = 500  # [0, inf) iterations dropped from each of them
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
from srlib.display import callout, show
from srlib.papers import claims
from srlib.papers import hu_reiter_wang as paper
from srlib.risk.errors import log_mean
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs, verdicts = Outputs(output_dir), claims.Claims(paper.SECTIONS)

# %% [markdown]
# ## The data
#
# The paper's data are fourteen variables of the American Community Survey, a table of 8.7 million
# cells, of which 10,000 records leave almost all empty. The records one worries about are those whose
# combination occurs once. The embedded population stands in for them: it has the pairwise joint
# distributions of the survey's 2011 public file, and nobody's records. It was *not* drawn from the model below.

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
table.schema.check_apart([*paper.BESIDE.split(), "combination", "prior", "posterior"])
outcome, predictors = paper.regression(table.schema, outcome, predictors)
pairs = pairs or paper.pictured(table.schema, outcome, predictors)
if not (data or all_variables):
    of_pairs = (name for pair in pairs for name in pair)
    table = paper.named(table, {outcome, *predictors, *unknown, *of_pairs})
combinations, repetitions, combination_of = distinct(table.codes)
callout("Note", " ".join(table.notes))

# %% tags=["confidential"]
unknown_at = table.schema.positions(unknown, "unknown")
words, levels = paper.in_words(table.schema, combinations), table.schema.n_levels
titles, counts = paper.titles(table.schema), paper.counted(table.schema, repetitions)
codebook = outputs.table("codebook", paper.codebook(table.schema))
rarest = paper.labels_of(table.schema, combinations[repetitions.argmin()])
about = "The variables, what their codes mean, and the values of one of the rarest combinations."
display(show(codebook.assign(**{"for example": rarest}), caption=about))
about = "Records and cells of the table, and distinct combinations by how many records have them."
show(outputs.table("data", pd.DataFrame([counts])), caption=about, names=paper.COUNTED)

# %% [markdown]
# ## The smallest example: what weighting by the release costs
#
# Take $d$ independent yes/no variables and no latent classes. A candidate $x$ flips one value of the
# record in doubt, and everything is known in closed form. With $c$ the number of *other* records that share the candidate's value and $z$ the number of
# released records that do, the candidate's weight is $(1 + c + z)/(1 + c)$, over the same for
# the true value.
#
# The paper's route to that number draws parameters $\theta_j$ from the posterior given the data and
# weights each by $p(Z \mid \theta_j)$, the probability of the *whole release*. A release is as large
# as the data, and its likelihood as narrow as the posterior that the draws came from. In one direction, two normal densities of equal width whose centers lie apart by chance
# leave an effective share of $e^{-0.477} \approx 0.62$ of the draws, as a geometric mean ([Exercise
# 1](#Exercise-1:-a-release-half-as-large) has the derivation). Directions multiply: $d$ of them typically leave $0.62^d$.

# %% tags=["monte-carlo"]
smallest = pd.DataFrame(
    [paper.smallest_example(d, rng=stream(seed, f"smallest {d}")) for d in (1, 3, 10, 30, 100)]
)
about = "Effective draws, and the largest error of a candidate's log posterior probability."
show(outputs.table("smallest_example", smallest), caption=about)

# %% [markdown]
# The last column belongs to the estimator without weights below.

# %% [markdown]
# ### Try it: when is less than one draw left?
#
# By the formula, from how many directions on (`directions`) do a thousand draws leave less than one effective
# draw? Guess before you compute: the mixture below has 699 parameters for the paper's variables and twenty
# classes.
#
# *You will need:* a logarithm.

# %% [markdown] tags=["hint"]
# Directions multiply, so the logarithm of what is left falls by the same amount with each.

# %% [markdown] tags=["hint"]
# Solve $1000\, e^{-0.477\, d} = 1$ for $d$ and round up.

# %% tags=["solution"]
directions = int(np.ceil(np.log(1000) / 0.477))
assert directions == 15

# %% [markdown] tags=["solution"]
# $\log 1000 = 6.91$ is used up by $6.91/0.477 = 14.5$ directions. For 699 parameters no number of draws would do,
# if each were a direction of its own.

# %% [markdown] tags=["written"]
# ### Exercise 1: a release half as large
#
# Take the posterior of one direction as standard normal. A release half as large as the data has a likelihood
# with twice the variance, $w = e^{-(\theta - c)^2/4}$, and its center is $c \sim N(0, 3)$. The effective share of
# the draws is $E(w)^2 / E(w^2)$. What is the mean of its logarithm over $c$ (`log_share`, three decimal places)?
# How many `thousands` of draws, rounded up, would leave a hundred effective ones in 14 directions? (For a release
# as large as the data, $w = e^{-(\theta - c)^2/2}$ and $c \sim N(0, 2)$, your way must lead to the $-0.477$ of the text.)
#
# *You will need:* pencil and paper; or `np.polynomial.hermite_e.hermegauss` for expectations.

# %% [markdown] tags=["hint"]
# A product of two normal curves in $\theta$ is a normal curve: complete the square. What is left depends on $c^2$ alone.

# %% [markdown] tags=["hint"]
# $E(w) = \sqrt{2/3}\, e^{-c^2/6}$. The exponent of $w^2$ is twice as large: $E(w^2) = \sqrt{1/2}\, e^{-c^2/4}$.

# %% tags=["solution"]
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
# By completing squares $E(w) = \sqrt{2/3}\, e^{-c^2/6}$ and $E(w^2) = \sqrt{1/2}\, e^{-c^2/4}$, so that the share is
# $(\sqrt 8/3)\, e^{-c^2/12}$. The mean of its logarithm is $\log(\sqrt 8/3) - 3/12$. For the larger release the share is
# $(\sqrt 3/2)\, e^{-c^2/6}$, and the mean $\log(\sqrt 3/2) - 2/6$.

# %% [markdown]
# ## The synthesizer
#
# The Dirichlet process mixture of products of multinomials (DPMPM) puts each record in one of $F$
# latent classes; within a class the variables are independent,
#
# $$p(x \mid \pi, \phi) = \sum_{f=1}^{F} \pi_f \prod_{k=1}^{p} \phi^{(k)}_{f x_k},$$
#
# with a stick-breaking prior on $\pi$ whose concentration $\alpha$ is estimated, and uniform
# Dirichlet priors on each $\phi^{(k)}_f$ (the paper's equations 1 to 6). A blocked Gibbs sampler (Ishwaran and
# James 2001) draws from the posterior. Each of the $m$ synthetic files takes one draw of $(\pi, \phi)$,
# and every synthetic record draws its class afresh. A second set of files will show what is peculiar to the first.

# %%
prior = dpmpm.Prior(alpha_shape, alpha_rate)
study = paper.Study(table.codes, levels, seed, n_classes, thin, prior)
given_data = {"n_chains": n_chains, "burn_in": burn_in, "n_draws": n_draws}
all_draws = study.draws(table.codes, "data", **given_data)

# %%
# The risks use all draws; some five thousand will do for everything else, and those of sixteen
# chains for the releases and the paper's estimator.
step = -(-n_chains * n_draws // 5000)
draws, some = all_draws.thin(step), all_draws.thin(1, 16)
made_by = list(zip(*(places.tolist() for places in some.spread(2 * n_releases)), strict=True))
of_both = study.release(some, 2 * n_releases, "release")
releases, again = of_both[:n_releases], of_both[n_releases:]

# %% [markdown]
# ## Has the sampler converged?
#
# Convergence is judged on quantities that do not depend on class labels. Two of them are repeated for a
# sick sample, without burn-in and with a draw after each iteration.

# %% tags=["monte-carlo"]
quantities = paper.label_free(draws, combinations, repetitions)
healthy = outputs.table("diagnostics", diagnostics.summary(quantities))
no_burn_in = dpmpm.Chains(n_classes=n_classes, burn_in=0, n_draws=60)
sick = dpmpm.sample_posterior(table.codes, levels, no_burn_in, rng=stream(seed, "sick"))
of_sick = {"alpha, sick": sick.alpha, "log likelihood, sick": sick.log_likelihood}
sick_summary = outputs.table("diagnostics_sick", diagnostics.summary(of_sick))
about = "Convergence of the chains; log p is the log probability of a combination."
both = pd.concat([healthy, sick_summary])
display(show(both, caption=about, names=paper.DIAGNOSTICS))
diagnostics.verdict(healthy)

# %% tags=["monte-carlo"]
traces = diagnostics.long_format({name: values[:8] for name, values in quantities.items()})
outputs.figure("trace", charts.trace(traces))

# %% [markdown]
# **With 1,000 records the chains lie on top of each other; with 10,000 some keep to levels of their own.** Five
# quantities in up to eight chains, a color for each chain. A chain at a level of its own sits in another local
# mode, which Gibbs steps leave only rarely. The truncation $F$ matters little as long as few of the $F$ classes
# are occupied.

# %% [markdown] tags=["written"]
# ### Exercise 2: a chain to diagnose
#
# Four chains of 500 independent standard normal draws: in `A` as they are; in `B` 0.5 is added to the
# last chain; in `C` the draws of each chain go up by 1 from its first half to its second. Draw them
# with `np.random.default_rng(6)` and compute R-hat of each. Which ones exceed 1.01 (`suspicious`, a list of letters)? Which of the two
# faults would no comparison of whole chains' means find (`within`), and why?
#
# *You will need:* `diagnostics.r_hat`, which takes an array of chains by draws by quantities.

# %% [markdown] tags=["hint"]
# Make `A` with `standard_normal((4, 500))`; `B` and `C` are copies to which something is added.

# %% [markdown] tags=["hint"]
# Compare the means of the four chains in `C`. Then compare the means of first halves with those of second halves.

# %% tags=["solution"]
normal = np.random.default_rng(6).standard_normal((4, 500))
stuck, drifting = normal.copy(), normal.copy()
stuck[3] += 0.5
drifting[:, 250:] += 1.0
values_of_r_hat = diagnostics.r_hat(np.stack([normal, stuck, drifting], axis=2))
suspicious = [letter for letter, r in zip("ABC", values_of_r_hat, strict=True) if r > 1.01]
within = "C"
assert suspicious == ["B", "C"]
assert within == "C"

# %% [markdown] tags=["solution"]
# `B` is a chain in a mode of its own: the means differ by more than the spread within chains allows. In `C`
# all chains have the same mean, and each has not yet arrived. R-hat is computed from half chains for
# that reason. What it cannot find is a mode that no chain has visited.

# %% [markdown]
# ## Is the release useful?
#
# The two joint distributions that the paper shows, in the data and on average over the releases:

# %% tags=["monte-carlo"]
labels = [variable.labels for variable in table.schema.variables]
for number, pair in enumerate(pairs, start=1):
    two = table.schema.positions(pair, "pairs", exactly=2)
    joint = inference.compare_joint(table.codes, releases, labels, *two)
    chart = charts.joint_distribution(joint, *(titles[name] for name in pair))
    display(outputs.figure(f"figure_{number}", chart))

# %% [markdown]
# **In these pairs no share is off by more than three percentage points.** Shares of records by both variables,
# with 95 % intervals, as in the paper's Figures 1 and 2.
#
# A release from the right model is about as far from the data as a second sample of the population. **C1**
# holds if the cells of a release are off by less than $\sqrt 2$ times as much, on average over all pairs, so
# that the model adds less to the squared differences than sampling does.

# %% tags=["monte-carlo"]
differences = inference.pairwise_differences(
    table.codes, releases, levels, list(table.schema.names)
)
outputs.result("pairwise_difference_median", differences["mean_absolute_difference"].median())
off = inference.against_sampling(table.codes, releases, levels)
worst = outputs.table("pairwise_differences", differences).head(3).replace(titles)
about = "The three pairs with the largest difference of a cell, in shares of all records."
display(show(worst, caption=about, names=paper.OF_PAIRS))
verdicts.say("C1", paper.keeps_pairs(off))

# %% [markdown]
# The paper's Table 2 is a logistic regression of disability with the codes as numbers, combined over the synthetic files by the
# rules of Raghunathan, Reiter and Rubin (2003). With $\bar u$ the mean squared standard error and
# $b$ the variance between releases, the variance $(1 + 1/m)\,b - \bar u$ can come out negative; then
# Reiter's (2002) adjusted one is used and marked. The intervals have normal quantiles, as the paper's
# seem to have. Of a table with other variables there is a regression where one is asked for.
#
# **C2** holds if at least 95 % of the original estimates lie in the synthetic interval. With fewer
# inside it is not decided if independent intervals of that level would miss as often at least once
# in twenty times. Otherwise it depends on the coefficient, or fails where no more than half lie inside.


# %% tags=["monte-carlo"]
def regression(codes: np.ndarray) -> Regression:
    (y,), x = (table.schema.positions(names, "names") for names in ([outcome], predictors))
    return logistic_regression(codes[:, y] == levels[y] - 1, codes[:, x] + 1, predictors)


asked = regression if outcome else None
coefficients, lacking = paper.coefficients(asked, table.codes, releases)
outputs.table("coefficients", coefficients)
of_table_2 = paper.coefficients_in_words(coefficients, titles)
about = "Log odds from the original and from the releases, with the overlap of the two intervals."
show(of_table_2, caption=about) if len(of_table_2) else callout("Note", lacking)

# %% tags=["monte-carlo"]
if len(coefficients):
    pictured = coefficients.assign(term=coefficients["term"].replace(titles))
    display(outputs.figure("table_2", charts.coefficients(pictured)))

# %% [markdown]
# **Most original estimates lie within the synthetic intervals.** Estimates as points with 95 % intervals, from the
# original and from the releases together; dotted: no association.

# %% tags=["monte-carlo"]
verdicts.say("C2", paper.agrees_on_coefficients(coefficients, lacking))

# %% [markdown]
# ### Exercise 3: combining rules
#
# Five synthetic files give a coefficient of 0.20, 0.32, 0.25, 0.41 and 0.27, each with standard error 0.06.
# Compute $T = (1 + 1/m)\,b - \bar u$ (`variance`, five decimal places), the degrees of freedom
# $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$ (`df`, one decimal place), and the half-widths
# of the 95 % intervals with normal and with $t$ quantiles (`half_normal`, `half_t`, two decimals). With a
# standard error of 0.09 instead, is $T$ positive (`still_positive`, true or false)?
#
# *You will need:* the mean and the variance of five numbers, and `stats.t.ppf`.

# %% [markdown] tags=["hint"]
# $b$ is the variance between the five estimates, with $m - 1$ in the denominator. $\bar u$ is the square of the standard error.

# %% [markdown] tags=["hint"]
# $(1 + 1/5)\, b = 0.00762$. A half-width is the quantile at .975 times $\sqrt T$, 1.96 for the normal.

# %% tags=["solution"]
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

# %% [markdown] tags=["solution"]
# The estimates scatter around the truth by its posterior variance and by the sampling of the synthetic
# records. $\bar u$ is taken off because it measures the second part, and what is left is a difference of
# two noisy numbers. It has about one degree of freedom, so that the $t$ interval is more than five times as wide as
# the normal one. With larger standard errors the difference is negative, and Reiter's (2002) variance has
# to stand in.

# %% [markdown]
# ## The paper's estimator
#
# The intruder knows $D_{-i}$, all records but one, and the synthesizer. The candidates for the
# missing record are its true combination and every one that differs from it in one variable, the
# space $\mathcal R_i$ of the paper's section 3.1. With a uniform prior,
#
# $$\rho_i^x \propto p(Z \mid X_i = x, D_{-i})
# = \prod_{l=1}^m \int p(Z^{(l)} \mid \Theta)\, p(\Theta \mid X_i = x, D_{-i})\, d\Theta .$$
#
# Draws $\Theta_j$ given the data $D$ stand in for draws given $D_i^x$ (the paper's equations 11 to 15):
#
# $$P(Z^{(l)} \mid D_i^x) \approx \frac{\sum_j p(Z^{(l)} \mid \Theta_j)\, r_j}{\sum_j r_j},
# \qquad r_j = \frac{p(x \mid \Theta_j)}{p(x_i \mid \Theta_j)} .$$
#
# The paper does not say whether the draws that generated the releases are among the $\Theta_j$, which
# no intruder could arrange. **C6** is judged without them, in the worst release. It holds if a
# hundred draws are effective, which give an average to a tenth of the spread of its terms
# (or a quarter of the draws where these are fewer than 400), and if Pareto's $k$ is at most 0.7:
# above it no practicable number of draws helps (Vehtari and others 2024).

# %% tags=["monte-carlo"]
cases, weights = paper.weigh(some, releases, made_by)
outputs.result("importance_ess_largest", weights["ess"].max())
outputs.table("importance_weights", weights)
about = "How the weight of each release is spread over the posterior draws."
show(weights[list(paper.OF_WEIGHTS)], caption=about, names=paper.OF_WEIGHTS)

# %% tags=["monte-carlo"]
of_worst = cases[paper.LEFT_OUT].reshape(n_releases, -1)
outputs.figure("importance_weights", charts.importance_weights(of_worst))

# %% [markdown]
# **One or two draws carry most of the weight of a whole release.** A dot for each draw by its share of the weight,
# on a logarithmic scale; the draws that made the releases are left out.

# %% tags=["monte-carlo"]
without_them = weights[weights["case"] == paper.LEFT_OUT]
verdicts.say("C6", paper.weights_suffice(without_them))

# %% [markdown]
# An average over the posterior has then become one point of it, by chance.

# %% [markdown]
# ### Exercise 4: more candidates
#
# The paper's fourteen variables have 2, 4, 6, 4, 5, 2, 7, 3, 3, 2, 2, 3, 3 and 2 levels. Its intruder
# holds the 35 combinations possible that differ from the truth in one variable at most. How many are
# there (`at_most_two`) that differ in two at most?
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# Take the three kinds apart: the truth, those that differ in one variable, those that differ in two.

# %% [markdown] tags=["hint"]
# A pair of variables can be changed in $(L_j - 1)(L_k - 1)$ ways. The sum of such products over all pairs is half of: the square of the sum, less the sum of the squares.

# %% tags=["solution"]
others = np.array([2, 4, 6, 4, 5, 2, 7, 3, 3, 2, 2, 3, 3, 2]) - 1
one_differs, two_differ = others.sum(), (others.sum() ** 2 - (others**2).sum()) // 2
at_most_two = 1 + one_differs + two_differ
assert 1 + one_differs == 35
assert at_most_two == 555

# %% [markdown] tags=["solution"]
# A variable of $L$ levels can be changed in $L - 1$ ways, 34 in all. Two variables can be changed in
# $(L_j - 1)(L_k - 1)$ ways, and the sum of these products over pairs is half of what the square of the
# sum, $34^2 = 1156$, has beyond the sum of the squares, 116. That makes 520, with the 34 and the truth 555.

# %% [markdown]
# ## An estimator without weights
#
# Bayes' rule, applied to the missing record instead of to the parameters, says
#
# $$P(Z \mid D_i^x) = P(Z \mid D_{-i})\, \frac{p(x \mid D_{-i}, Z)}{p(x \mid D_{-i})} .$$
#
# The first factor is the same for every candidate. The rest are two posterior predictive
# probabilities of *one record*: given the data, and given the data joined with the release.
# Relative to the truth's they are averages of $r_j$, over draws given $D$ and over draws given
# $D$ joined with $Z^{(l)}$. The price is another set of chains for each released file, and the error
# of the chains on $D$ enters $m$ times: see [Exercise 6](#Exercise-6:-where-to-spend-the-chains). Given the classes, the averages over $\pi$ and
# $\phi$ are exact, with record $i$ out of its class.

# %%
of_joined = {"n_chains": n_chains_joined, "burn_in": burn_in_joined, "n_draws": n_draws_joined}
joined_draws = study.joined(releases, "release", **of_joined)
of_data, log_prob = disclosure.collapsed_log_ratios(all_draws, combinations)
log_ratios = [of_data, *paper.log_mean_ratios(joined_draws, combinations)]
predictive = disclosure.predictive_ratio(log_ratios)

# %% tags=["monte-carlo"]
judged_on = {"data": log_prob[:, ::step]}
for i, joined in enumerate(joined_draws, start=1):
    judged_on[f"data and release {i}"] = dpmpm.cell_log_prob(joined, combinations)
about = "R-hat of the log probabilities that the risks need, over all combinations."
names = {"95 %": "95 % are below"}
show(outputs.table("r_hat_log_prob", paper.convergence(judged_on)), caption=about, names=names)

# %% [markdown]
# Where R-hat is above 1.01 (Vehtari and others 2021) the chains differ, which the errors of the predictive ratio
# contain: they come from between chains. What the weights do is seen by working twice on the *same* release, with one half of
# the chains and with the other. Errors from half of the chains are rough: two of them need not cover 95 % of the
# differences. The last column, the share of one run's top three that the other keeps, rests on few truths.

# %% tags=["monte-carlo"]
importance, runs = paper.weighted_risks(some, combinations, cases)
runs = {f"importance sampling, {case}": two for case, two in runs.items()}
runs["predictive ratio"] = paper.two_runs(log_ratios)
repeated = pd.DataFrame({name: disclosure.repeatability(*two) for name, two in runs.items()}).T
repeated = outputs.table("repeatability", repeated.rename_axis("estimator").reset_index())
about = "Two runs on the same release: differences of the log probability of the truth."
show(repeated, caption=about)

# %% tags=["monte-carlo"]
pictured = pd.concat(
    pd.DataFrame(dict(zip("xy", (run.probability for run in runs[name]), strict=True))).assign(
        panel=name.partition(",")[0]
    )
    for name in (f"importance sampling, {paper.LEFT_OUT}", "predictive ratio")
)
of_runs = "Probability of the truth, run 1", "Probability of the truth, run 2"
outputs.figure("agreement", charts.agreement(pictured, *of_runs))

# %% [markdown]
# **Two runs of the predictive ratio agree, two runs of the paper's estimator hardly do.** Probability of the truth
# for each combination, by importance sampling and by the predictive ratio. What lies off the line is Monte
# Carlo error.

# %% [markdown] tags=["written"]
# ### Exercise 5: the predictive ratio, derived and used
#
# Derive $P(Z \mid D_i^x) = P(Z \mid D_{-i})\, p(x \mid D_{-i}, Z) / p(x \mid D_{-i})$ for a model in which
# records and releases are independent given $\theta$. Then use it. One yes/no variable, a uniform prior
# of its proportion; of 199 records that the intruder knows 120 have the value of the record at risk, of
# 200 released ones 130 do. With prior 1/2, what is the `posterior` probability of the true value, to
# three decimal places? Check it against the beta-binomial probabilities of the release.
#
# *You will need:* `stats.betabinom.pmf` for the check.

# %% [markdown] tags=["hint"]
# Write $P(Z, x \mid D_{-i})$ in two ways: first the record and then the release, or the other way round.

# %% [markdown] tags=["hint"]
# Under a uniform prior of a proportion, the next record has a value with probability $(1 + c)/(2 + n)$ if $c$ of $n$ had it. Do that with 199 records and with 399, for both values of the record.

# %% [markdown] tags=["solution"]
# $P(Z, x \mid D_{-i})$ can be taken apart in two ways: first the record and then the release,
# $p(x \mid D_{-i})\, P(Z \mid x, D_{-i})$, or first the release and then the record,
# $P(Z \mid D_{-i})\, p(x \mid D_{-i}, Z)$. Given $\theta$ the record and the release are independent, so that
# each factor is an integral of a likelihood over a posterior and $P(Z \mid x, D_{-i}) = P(Z \mid D_i^x)$.
# Dividing gives the ratio. Here $p(x \mid D_{-i}) = 121/201$ and $p(x \mid D_{-i}, Z) = 251/401$ for the
# true value; the denominators are the same for the other value and cancel.

# %% tags=["solution"]
of_truth, of_other = (1 + 120 + 130) / (1 + 120), (1 + 79 + 70) / (1 + 79)
posterior = of_truth / (of_truth + of_other)
if_true, if_other = stats.betabinom.pmf(130, 200, [122, 121], [80, 81])
assert np.isclose(posterior, if_true / (if_true + if_other))
assert round(posterior, 3) == 0.525

# %% [markdown]
# ### Exercise 6: where to spend the chains
#
# The log likelihood of a candidate under $m$ releases is $\sum_l a_l - m\,b$, with $a_l$ from chains given
# the data joined with release $l$ and $b$ from chains given the data. The variance of each is $s^2$ over
# its number of chains. There are $N$ chains for everything. Which `fraction` of them should go to the data
# alone, and by which `factor` is the variance lower for $m = 5$ than if all six sets had $N/6$ chains?
#
# *You will need:* pencil and paper, or a grid of fractions.

# %% [markdown] tags=["hint"]
# With $n_0$ chains for the data and $n_1$ for each release, $n_0 + m n_1 = N$. Which power of $m$ does $b$ bring into the variance, which the sum of the $a_l$?

# %% [markdown] tags=["hint"]
# The variance is $s^2 (m^2/n_0 + m/n_1)$, or $s^2 m^2 (1/n_0 + 1/(N - n_0))$.

# %% tags=["solution"]
m, n_all = 5, 1.0
n_data = np.linspace(0.01, 0.99, 99_001)
variances = m**2 / n_data + m**2 / (n_all - n_data)
fraction = n_data[variances.argmin()]
factor = (m**2 + m) / (1 / 6) / variances.min()
assert round(fraction, 3) == 0.5
assert round(factor, 2) == 1.8

# %% [markdown] tags=["solution"]
# With $n_0$ chains for the data and $n_1$ for each release the variance is $s^2(m^2/n_0 + m/n_1)$, where
# $n_0 + m n_1 = N$. Setting derivatives equal gives $n_0 = m n_1$: the data alone get half of all chains,
# as many as the $m$ releases together. The variance is then $4m^2 s^2/N$, against $(m + 1)^2 m s^2/N$ with equal
# shares: $100$ against $180$ for five releases.

# %% [markdown]
# ## How high are the risks?

# %% tags=["monte-carlo", "confidential"]
leave_one_out_k = diagnostics.pareto_k(-judged_on["data"].reshape(-1, len(combinations)).T)
estimates = {"importance_sampling": (importance[paper.LEFT_OUT], without_them["pareto_k"].max())}
estimates["predictive_ratio"] = (predictive, leave_one_out_k)
risks = paper.risk_table(table.schema, combinations, repetitions, estimates)
outputs.table("combinations", risks)
outputs.figure("figure_3", charts.rank_histogram(risks, predictive.support_size))

# %% [markdown]
# **Truths are seldom among the first candidates, by either estimator.** Rank of the truth among its candidates, 1
# for the most probable, as in the paper's Figure 3; dotted: a release that says nothing.

# %% tags=["monte-carlo", "confidential"]
outputs.figure("figure_4", charts.risk_histogram(risks, 1 / predictive.support_size))

# %% [markdown]
# **Most probabilities stay near the prior, and importance sampling spreads them more.** Posterior probability of the
# truth, as in the paper's Figure 4; dotted: the prior. Two runs of importance sampling hardly agree (above), so that
# its wider spread cannot be read as risk. Odds at a single draw are more extreme than their average over the posterior.
#
# Both claims are judged by the predictive ratio. **C3** holds if the truth is among the first three
# of $S$ candidates less often than the share $3/S$ of a random order. **C4** holds if more than half
# of the probabilities are within a factor of two of the prior. It fails if at most 5 % are, and in
# between it depends on the record. The largest probability, near 0.2 in the paper, is for the next
# section.

# %% tags=["monte-carlo"]
threshold = 0.08 * 35 / predictive.support_size  # 2.8 times the prior, as in the paper
compared = {f"importance sampling, {case}": risk for case, risk in importance.items()}
compared["predictive ratio"] = predictive
about = "Probability of the truth and its rank, over all combinations."
show(outputs.table("risk_summary", paper.summarized(compared, threshold)), caption=about)

# %% tags=["monte-carlo"]
display(verdicts.say("C3", paper.rarely_first(log_ratios)))
verdicts.say("C4", paper.near_prior(predictive))

# %% [markdown]
# Why may truths be among the first more rarely than in a random order? If the candidates that were
# improbable given the data move most, they take both ends of the order, and little is left for a truth.
# A low rank is then no sign of a low risk. Here are the moves in quarters of the candidates, and the most
# probable truth.

# %% tags=["monte-carlo", "confidential"]
log_prior = mechanism.posterior(log_mean(of_data))
about = "How far the releases move candidates, in quarters by how probable the data made them."
display(show(paper.who_moves(predictive, log_prior), caption=about))
by_risk = np.argsort(-predictive.log_prob[:, 0])
ours = risks[risks["estimator"] == "predictive_ratio"]
paper.card(table.schema, combinations[by_risk[0]], predictive, by_risk[0])

# %% [markdown]
# ### Exercise 7: which sentence does the table not support?
#
# Table 3 of the paper lists, for the 31 truths among the first three of 35 candidates, the probabilities
# .051 .088 .086 .070 .190 .076 .087 .060 .065 .125 .075 .069 .047 .066 .081 .046 .101 .085 .055 .050 .059
# .066 .052 .079 .051 .053 .054 .121 .104 .065 .080; the first two have rank 1, the next five rank 2. (a)
# "The largest probability is close to 0.2." (b) "High probabilities do not automatically result in top
# rankings." (c) "Only a handful of combinations have ratios of posterior to prior exceeding two." Which
# one (`unsupported`), and how many ratios (`exceeding`) does the table alone have above two?
#
# *You will need:* a calculator; the prior is 1/35.

# %% [markdown] tags=["hint"]
# A ratio above two is a probability above $2/35$.

# %% [markdown] tags=["hint"]
# $2/35 = .057$. Count, and ask whether anybody would call that a handful.

# %% tags=["solution"]
thousandths = [51, 88, 86, 70, 190, 76, 87, 60, 65, 125, 75, 69, 47, 66, 81, 46, 101, 85, 55, 50]
thousandths += [59, 66, 52, 79, 51, 53, 54, 121, 104, 65, 80]
exceeding = sum(p / 1000 * 35 > 2 for p in thousandths)
unsupported = "c"
assert unsupported == "c"
assert exceeding == 22

# %% [markdown] tags=["solution"]
# (a) is the .190 of the fifth row. (b) is shown by that row too: its rank is 2, while a truth of .051 has
# rank 1. (c) is contradicted: with a prior of 1/35 a ratio above two is a probability above .057, and the
# table alone has 22 of them. The text counts 16 probabilities above .08 in all; at most eleven of these
# are here (.080 is rounded), which makes 27 at least.

# %% [markdown]
# ## How the printed numbers may have come about
#
# The paper prints three numbers of its figures: a largest probability of .190 (its Table 3), 16
# probabilities above .08, 31 truths among the first three. Without its data these
# cannot be recomputed, but they can be held against their distribution over releases, under rival
# explanations. First a small version, for this run: every five of ten releases make a set.

# %% tags=["monte-carlo"]
joined_again = study.joined(again, "release again", **of_joined)
log_ratios_again = paper.log_mean_ratios(joined_again, combinations)
every = [*log_ratios, *log_ratios_again]
evidence = paper.evidence_of(some, of_both, combinations, made_by, every)
over = paper.over_all_sets(evidence, n_releases, threshold, rng=stream(seed, "sets"))
about = "Three numbers over sets of releases: median (5 % to 95 % of the sets)."
show(paper.ranges(outputs.table("release_sets", over)), caption=about)

# %% [markdown]
# At the paper's size the same computation is shipped with the library: 10,000 records of the embedded
# population with all fourteen variables, 40 releases, 400 sets of five (`tools/release_sets.py` has
# its settings). There are five explanations: the paper's estimator without and with the
# generating draw; the predictive ratio from all chains and from half of them, with more Monte Carlo
# error; and the predictive ratio of releases that say more, their log likelihoods multiplied by the
# factor at which the median of the largest probability over the eight disjoint sets is .190. The likelihood is
# that of the three printed numbers *together*, by a normal approximation.

# %% tags=["monte-carlo", "public"]
told = paper.explanations(paper.shipped_sets(), paper.PRINTED)
about = "The same for the paper's size: median (2.5 % to 97.5 % of 400 sets), and how probable."
display(show(told, caption=about, names={"log10 likelihood": "log₁₀ likelihood"}))
callout("The printed numbers", paper.most_likely(told))

# %% [markdown]
# None of the five has all three numbers within its ranges. Without the generating draw the paper's
# estimator has the .190 and the 16, more than the predictive ratio gives. But it puts more truths among
# the first three than the paper's 31, which the predictive ratio has. Releases that say about twice as
# much of each record have the .190, to which their factor was fitted, and the 31, but more than 16
# above .08. Under them the three numbers together are as probable as under that estimator, within the
# error, and how much releases say is a matter of the data, which are not the paper's. So the printed
# numbers do not tell which estimator made them.
#
# ## An intruder who lacks a few variables
#
# Now the intruder knows the record's other variables, and all combinations of the unknown ones are
# candidates (the paper's equation 16): for every combination, or for 500 spread evenly over the order of their
# risks. **C5** holds if the release multiplies the prior of the truth by more where the intruder lacks
# the variables in `unknown` than where the whole record is in doubt, by two standard errors, for over
# 95 % of these records. It fails if it may do so for at most 5 %. In between it depends on the record.

# %% tags=["monte-carlo", "confidential"]
chosen = np.unique(by_risk[np.linspace(0, len(by_risk) - 1, min(len(by_risk), 500)).astype(int)])
of_part = [
    disclosure.subset_log_means(z, combinations[chosen], unknown_at) for z in (draws, *joined_draws)
]
part = disclosure.predictive_ratio(of_part)
subset_table = paper.part_table(np.array(words)[chosen], unknown, part)
outputs.table("subset_risk", subset_table)
top = subset_table["probability"].argmax()
paper.card(table.schema, combinations[chosen[top]], part, top, unknown_at)

# %% tags=["monte-carlo", "confidential"]
values = paper.values_of_part(table.schema, combinations[chosen[top]], unknown_at, part, top)
outputs.figure("subset_risk", charts.subset_risk(values, 1 / part.support_size))

# %% [markdown]
# **The release makes the most exposed values several times as probable as the prior.** Posterior probability of the
# twelve most probable values of the variables that the intruder lacks, for the record above, in the table's order; dotted: the prior.

# %% tags=["monte-carlo"]
verdicts.say("C5", paper.more_from_part(subset_table, ours.iloc[chosen]))

# %% [markdown]
# The paper shows one record whose four values are guessed with probability .3695. Margins (its equation 17)
# and every cell of the table are the subject of [intruders](intruders.ipynb).

# %% [markdown]
# ### Try it: times the prior
#
# The paper's intruder lacks when the person last worked (three levels), disability (two), health insurance (two) and
# the home a year ago (three), and thinks all values equally probable. By how much does .3695 multiply the prior
# (`times_prior`, one decimal place)? Guess first whether that is more than the 6.7 that the largest whole
# record, .190 among 35 candidates, is multiplied by.
#
# *You will need:* pencil and paper.

# %% [markdown] tags=["hint"]
# How many combinations do the four variables have?

# %% [markdown] tags=["hint"]
# $3 \cdot 2 \cdot 2 \cdot 3 = 36$ combinations, so the prior is 1/36.

# %% tags=["solution"]
times_prior = 0.3695 * 3 * 2 * 2 * 3
assert round(times_prior, 1) == 13.3

# %% [markdown] tags=["solution"]
# It is about twice as much as for the whole record. A probability alone does not say how much a release tells: .190 among 35
# candidates and .3695 among 36 start from nearly the same prior here, but a variable with two levels starts from one half.

# %% [markdown]
# ## Other priors
#
# Any other prior can be put in afterwards (the paper's equation 18). The first table has the prior odds that the
# truth would need against the leading candidate. An intruder who fits the synthesis model to $D_{-i}$ has its predictive
# distribution as prior (the paper's section 5). "For large $m$", the paper adds, posteriors can be practically
# insensitive to the prior (Reiter, Wang and Zhang 2014): the second table compares the two priors for more
# and more of this run's releases.

# %% tags=["monte-carlo"]
odds = pd.Series(predictive.prior_odds).quantile([0.05, 0.5, 0.95])
outputs.result("prior_odds_median", odds[0.5])
odds_table = odds.rename_axis("quantile").rename("prior odds").reset_index()
about = "Prior odds against the leading candidate that a truth would need, over the combinations."
display(show(odds_table, caption=about))
sizes = [1, n_releases, 2 * n_releases]
about = "How much the two priors matter, and the releases: medians of factors over combinations."
show(paper.sensitivity_to_prior(evidence["predictive ratio"], log_prior, sizes), caption=about)

# %% [markdown]
# At the defaults ten releases are not a large $m$: the two posteriors are no closer than after one.

# %% [markdown]
# ### Exercise 8: a printed ratio
#
# The paper's section 4.2 sets a leading candidate of probability .0585 against a truth of .0398 and prints prior odds of
# 1.46. Before you divide: do you expect the last digit to be right? What are the `odds_needed` (three decimal places), and is 1.46
# the rounded value (`rounded`, true or false)?
#
# *You will need:* a calculator.

# %% [markdown] tags=["hint"]
# Divide the leader's probability by the truth's.

# %% [markdown] tags=["hint"]
# Both probabilities have three digits themselves. From them alone, the ratio lies anywhere between $.05845/.03985$ and $.05855/.03975$.

# %% tags=["solution"]
odds_needed = 0.0585 / 0.0398
rounded = round(odds_needed, 2) == 1.46
assert round(odds_needed, 3) == 1.470
assert not rounded

# %% [markdown] tags=["solution"]
# The ratio of the printed probabilities is 1.470, and rounds to 1.47. Cut, it is 1.46. The unrounded probabilities may also have the
# ratio 1.467 to 1.473, which always rounds to 1.47.

# %% [markdown]
# ## Structural zeros
#
# The paper's table is built without impossible combinations. Where there are some, Manrique-Vallier and
# Reiter (2014) truncate the mixture: the probabilities of the cells that can occur are divided by their
# sum. What zeros do to the risk is enumerated on a small table of age, marital status and disability,
# where no child is married: eight records, releases of four, the prior replaced by draws from it.

# %%
zeros = paper.impossible_children(n_draws=1500, n_batches=4, rng=stream(seed, "zeros"))
outputs.table("structural_zeros", zeros)
about = "Means over the records, in percent; the log gain is that of the truth, times 100."
show(
    zeros.set_index(["synthesizer", "candidates"]).mul(100).add_suffix(", %").reset_index(),
    caption=about,
)

# %% [markdown]
# In the first row synthesizer and intruder ignore the zeros. In the second the intruder knows them: the
# candidates are fewer, and prior and posterior rise together. The third truncates the synthesizer as
# well. Compare what it adds to the expected log gain with the errors: nearly all of the posterior's rise
# is common knowledge, and not the release.
#
# ## Repair
#
# The paper suggests removing risky records from the data that the synthesizer is fitted to (its section 5).
# Down-weighting is milder: in a weighted pseudo-posterior (Hu, Savitsky and Williams 2021) each record's
# likelihood, here given its class, is raised to a power between zero, which drops the record, and one.
# The power here is the prior over the truth's probability: a third if the releases made the truth three
# times as probable.
#
# The `n_dropped` combinations with the highest risk are repaired, the model is fitted again, $m$ releases
# are made, and the risk of *everybody* is computed anew, to an intruder who believes that nothing was
# done. The riskiest were chosen by the first releases, and any fresh ones would show lower risks for
# them, so that the second set of releases above is the yardstick. An intruder who knows which records were dropped
# is not misled: a release without a record is the same whatever its values are, and its log gain is exactly zero.
# All that dropping can take away is thus the log gain of the second set. **C7** holds if that is above zero, by two
# standard errors from between releases. It depends on the record if the mean log gain of all others then rises,
# by as much.

# %%
n_repaired = min(n_dropped, max(1, len(by_risk) // 2))
riskiest, next_in_line = by_risk[:n_repaired], by_risk[n_repaired : 2 * n_repaired]
power = np.minimum(1, 1 / (predictive.support_size * predictive.probability[riskiest]))
few_draws = given_data | {"n_chains": min(n_chains, 4), "n_draws": 30}
arms = {paper.ARMS[0]: (log_ratios[1:], releases), paper.ARMS[1]: (log_ratios_again, again)}
for arm, powers in zip(paper.ARMS[2:], (np.zeros(n_repaired), power), strict=True):
    record_weights = paper.weights_of(combination_of, riskiest, powers)
    refitted = study.draws(table.codes, f"data, {arm}", record_weights, **few_draws)
    repaired = study.release(refitted, n_releases, f"release, {arm}")
    joined_repaired = study.joined(repaired, f"release, {arm}", **of_joined)
    arms[arm] = paper.log_mean_ratios(joined_repaired, combinations), repaired

# %% tags=["monte-carlo"]
against = {k: (z, inference.against_sampling(table.codes, r, levels)) for k, (z, r) in arms.items()}
found = paper.repairs(against, of_data, riskiest, next_in_line, threshold)
outputs.table("repairs", found.reset_index())
about = "Risk and usefulness by what the synthesizer is fitted to."
display(show(paper.side_by_side(found), caption=about))
verdicts.say("C7", paper.lower_without(found))

# %% [markdown]
# *Next in line* are the `n_dropped` combinations with the
# next highest risks. The first two columns differ by what choosing does. Others rise or fall where their
# mean log gain differs from that of the releases anew by more than two errors; the first column shows how many
# do by chance. A negative gain misleads the intruder, who here does not know that anything was done. Repair
# can move risk to the next in line, which Hu, Savitsky and Williams (2021) call whack-a-mole and Carlini
# and others (2022) an onion. At the defaults that row does not rise. The list of repaired records
# must stay secret. Weights can be tuned to
# an asymptotic privacy guarantee (Savitsky, Williams and Hu 2022).

# %% [markdown]
# ### Try it: how much does a record count?
#
# A record's truth has probability .20 among 22 candidates. To which power (`raised_to`, two decimal places)
# does down-weighting raise its likelihood? Predict first whether a record that the releases made *less* probable is weighted too.
#
# *You will need:* the rule in the text.

# %% [markdown] tags=["hint"]
# The power is the prior over the truth's probability, and never above one.

# %% [markdown] tags=["hint"]
# The prior is 1/22.

# %% tags=["solution"]
raised_to = 1 / (22 * 0.20)
assert round(raised_to, 2) == 0.23

# %% [markdown]
# ### Open question: would you release?
#
# You are the agency. On your file the pairs of variables and the ranks came out well (C1, C3). The largest
# probability of a truth is .09 against a prior of .029. A part of a record is more exposed than the whole
# for a third of the records (C5), one draw carries the weights (C6), and whether dropping records helps
# cannot be told from five releases (C7). What do you release, what do you compute first, and what do you
# publish about it?

# %% [markdown] tags=["solution"]
# A good answer says which intruder each number belongs to, and whether one who knows all other records is
# plausible. It reads .09 as three times the prior, still a guess that is wrong ten times in eleven, and asks what harm follows if it
# is believed. It looks at the parts of records that are sensitive (C5) before the whole ones, under
# a prior that somebody could have. It does not rest on C6's estimator, and asks whether the chains agree. It
# compares dropping with making fewer releases, since risk adds up over $m$. And it does not publish
# which records were at risk or left out.

# %% [markdown]
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
verdicts.in_public(len(table.codes), C5=len(subset_table), C7=len(riskiest))

# %% [markdown]
# ## The ledger
#
# *No empirical number of the paper is recomputed here*: they belong to a sample of 10,000 North
# Carolinians and to releases that were never published. What matches is arithmetic on its Table 1 and
# its own digits. *Consistent* are numbers that other printed ones constrain, by a check that the
# ledger's file states. With `data: "acs:2012:nc"` and 10,000 records the run takes its own sample of the
# same file, and what a sample determines is judged within four standard errors.

# %% tags=["monte-carlo"]
settings = {"n_records": len(table.codes), "n_synthetic_sets": n_releases, "level_prior": 1}
settings |= {"alpha_shape": alpha_shape, "alpha_rate": alpha_rate}
single = paper.of_single(table.schema, combinations, repetitions, predictive, chosen, part)
same_file = data == "acs:2012:nc" and len(table.codes) == 10_000
outputs.ledger(paper.book(settings, counts, coefficients, single, same_file=same_file))

# %% [markdown]
# ## What did not reproduce, and why
#
# **The estimator.** If one draw carried each release's weight on the paper's data too, its Table 3 cannot be
# reproduced without its very draws. The paper gives no number of effective draws.

# %% [markdown] tags=["spoiler-7"]
# **The words.** "Only a handful of combinations have ratios exceeding two", of posterior over prior: a
# probability above .057, which 22 have in the paper's Table 3 alone, and at least 27 with the 16 above .08
# in all: see [Exercise 7](#Exercise-7:-which-sentence-does-the-table-not-support?).

# %% [markdown] tags=["spoiler-8"]
# **The prior odds.** The paper's section 4.2 prints 1.46 for 0.0585 / 0.0398, which is 1.470: cut, not rounded.

# %% [markdown]
# **The intervals of the paper's Table 2.** The combining rules come with a $t$ distribution whose degrees of
# freedom are $\nu = (m - 1)(1 - \bar u / ((1 + 1/m) b))^2$. For $m = 5$ no interval from a positive
# variance can then be shorter than the half-width computed here, in units of $\sqrt{\bar u}$. Unless
# the standard errors of the seven coefficients were as small as the table says, the paper's
# intervals have normal quantiles, or other degrees of freedom.

# %% tags=["public"]
shortest, largest_se = paper.shortest_intervals()
about = (
    "Largest standard errors with which the intervals of the paper's Table 2 could be t intervals."
)
display(show(paper.of_table_2(largest_se), caption=about))
callout("The shortest half-width", f"It is {shortest:.2f} standard errors.")

# %% [markdown]
# **Limits of this run.** Chains of this model can stick in local modes, at the paper's size more than
# here. Standard errors from between chains do not contain modes that no chain has found.

# %% [markdown]
# ## To go on
#
# - Release more files: `n_releases: 20`. Which of the two estimators gets worse, and which of its sets
#   of chains is to blame?
# - All fourteen variables (`all_variables: true`): what happens to R-hat, and what would mend it?
#
# ## References
#
# - Carlini, N., Jagielski, M., Zhang, C., Papernot, N., Terzis, A. and Tramèr, F. (2022). [The privacy onion
#   effect: memorization is relative](https://doi.org/10.48550/arXiv.2206.10469). *NeurIPS* 35.
# - Hu, J., Savitsky, T. D. and Williams, M. R. (2021). [Risk-efficient Bayesian data synthesis for
#   privacy protection](https://doi.org/10.48550/arXiv.1908.07639). *Journal of Survey Statistics and
#   Methodology*.
# - Ishwaran, H. and James, L. F. (2001). [Gibbs sampling methods for stick-breaking
#   priors](https://doi.org/10.1198/016214501750332758). *JASA* 96, 161–173.
# - Manrique-Vallier, D. and Reiter, J. P. (2014). [Bayesian estimation of discrete multivariate latent
#   structure models with structural zeros](https://doi.org/10.1080/10618600.2013.844700). *Journal of
#   Computational and Graphical Statistics* 23, 1061–1079.
# - Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple imputation for statistical
#   disclosure limitation. *Journal of Official Statistics* 19, 1–16.
# - Reiter, J. P. (2002). Satisfying disclosure restrictions with synthetic data sets. *Journal of
#   Official Statistics* 18, 531–544.
# - Reiter, J. P., Wang, Q. and Zhang, B. (2014). [Bayesian estimation of disclosure risks for multiply
#   imputed, synthetic data](https://doi.org/10.29012/jpc.v6i1.635). *Journal of Privacy and
#   Confidentiality* 6(1).
# - Savitsky, T. D., Williams, M. R. and Hu, J. (2022). [Bayesian pseudo posterior mechanism under
#   asymptotic differential privacy](https://doi.org/10.48550/arXiv.1909.11796). *JMLR* 23(55), 1–37.
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). [Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of
#   MCMC](https://doi.org/10.1214/20-BA1221). *Bayesian Analysis* 16, 667–718.
# - Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). [Pareto smoothed importance
#   sampling](https://doi.org/10.48550/arXiv.1507.02646). *JMLR* 25(72), 1–58.
