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
# # Epsilon reads every column, the intruder reads one: two answers from the same table
#
# An agency publishes synthetic data instead of confidential records. One expert says: "the mechanism
# has $\epsilon = 2$". Another says: "after this release an intruder's probability rose from 10 to
# 45 percent". Both numbers can be right, and neither follows from the other. They are two ways of reading
# one table, that of the probability of every possible release given every possible data set.
#
# This is the first hour of a course. It needs a pencil, then five people, then the synthesizers of the
# four papers that the other notebooks study, all at a size at which the whole table fits on a page.
#
# **After this hour you can**
#
# 1. write down the table of a small mechanism, and read its exact $\epsilon$ and an intruder's posterior
#    probability out of it;
# 2. state the inequality that links the two, and say where it is attained;
# 3. give an example of what each reading does not see;
# 4. compare synthesizers at the same exact $\epsilon$ by conditional epsilon, empirical differential
#    privacy, posterior risk and utility;
# 5. find an error in a printed paper by filling in a table.
#
# Before reading on: which of the two experts would you ask before a release, and which after it?

# %% [markdown]
# ## Parameters
#
# Any of them can be changed on the command line (`srlib run one_table_two_readings -p x 2`). The numbers
# in the text belong to the defaults.

# %% tags=["parameters"]
n: int = 5  # [3, 8] records in the data, and in the release
x: int = 1  # [0, 8] ones in the data, at most n
epsilon: float = 2.0  # [0.1, 3.5] exact epsilon of the larger example
prior: float = 0.1  # [0.01, 0.99] the intruder's prior probability of the record's true value
p0: float = 0.2  # [0, 1] true proportion of ones, which an analyst wants to know
n_classes: int = 2  # [1, 2] latent classes of the DPMPM, F
bins: int = 20  # [2, 100] bins for empirical differential privacy
n_draws: int = 2500  # [250, inf) draws kept from each of four chains
seed: int = 2026  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import numpy as np
import pandas as pd

from srlib import charts, diagnostics, dpmpm, mechanism
from srlib import risk as disclosure
from srlib.display import show
from srlib.mechanism import acceptance, edp
from srlib.papers import charest_han, one_table
from srlib.papers.charest import binary_scores
from srlib.papers.ledger import printed
from srlib.papers.proportion import Study
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs = Outputs(output_dir)
if x > n:
    raise ValueError(f"x is {x}; it must be 0 to n = {n}")

# %% [markdown]
# ## By hand: one person and a coin
#
# One person has a secret, no or yes. The release is one word. The person throws a coin. Heads: the true
# answer is released. Tails: the coin is thrown again, and decides between no and yes. So the truth is
# released with probability $1/2 + 1/4 = 3/4$. This is *randomized response*, and here is its whole table,
# one row a data set, one column a release:

# %%
coin = mechanism.Mechanism.from_table(
    np.log([[3 / 4, 1 / 4], [1 / 4, 3 / 4]]), [[0, 1]], ["no", "yes"], ["no", "yes"]
)
shown = pd.DataFrame(np.exp([coin.row(0), coin.row(1)]), columns=["says no", "says yes"])
show(shown.assign(data=coin.inputs), digits=2)

# %% [markdown]
# **First reading: down a pair of neighboring rows, over all columns.** Two data sets are neighbors if
# they differ in one record, and with one record the two rows are neighbors. In each column one entry is
# three times the other. The largest such ratio, over all neighbors and all columns, is $e^\epsilon$:
# differential privacy bounds it, and the smallest bound is the *exact epsilon*, here $\log 3$.

# %%
print(mechanism.exact_epsilon(coin))

# %% [markdown]
# **Second reading: one column, by Bayes' rule.** The release says yes. An intruder believed in yes with
# probability 1/10. Only the second column counts:
#
# $$P(\text{yes} \mid \text{says yes}) = \frac{1/10 \cdot 3/4}{1/10 \cdot 3/4 + 9/10 \cdot 1/4}
#   = \frac{3}{3 + 9} = \frac14 .$$
#
# In odds it is shorter still: 1 to 9 before, times 3, is 3 to 9 after. The rule is the same for any prior:

# %%
priors = pd.DataFrame({"prior": [0.001, 0.01, 0.1, 0.5, 0.9]})
priors["posterior"] = [float(mechanism.risk(coin, 1, 0, w)[1]) for w in priors["prior"]]
priors["posterior / prior"] = priors["posterior"] / priors["prior"]
odds = priors[["prior", "posterior"]] / (1 - priors[["prior", "posterior"]])
priors["odds after / odds before"] = odds["posterior"] / odds["prior"]
show(outputs.table("priors", priors), settings=["prior"])

# %% [markdown]
# One mechanism, one release, one $\epsilon$; and the answer to "what does the intruder believe now?" runs
# from 0.003 to 0.96. What stays the same is the factor of the odds, and that is the ratio of two entries.
#
# ### Move it
#
# The same table for any $\epsilon$, entries as logarithms, so that a ratio is a difference.


# %%
def plugin_entries(budget: float, size: int) -> pd.DataFrame:
    """The table of McClure and Reiter's synthesizer at an exact epsilon, entry by entry."""
    return one_table.entries(mechanism.private_plugin(budget, size, size)).assign(epsilon=budget)


two_by_two = pd.concat([plugin_entries(e, 1) for e in np.arange(1, 17) / 4])
# %%
start = {"epsilon": 1.0, "prior": prior, "x": 1}
outputs.figure("two_by_two", charts.two_readings(two_by_two, **start))

# %% [markdown]
# **One record, both readings.** Black frames: neighbors and columns that attain the exact epsilon. Orange:
# the two entries that the intruder compares. Bars: the posterior probability of the truth for each release,
# with the prior (dotted) and the least and the most that epsilon allows (dashed); below, how probable each
# release is. Drag the prior: the table does not change. Drag the release: epsilon does not change. Drag
# epsilon: everything does. (Sliders work in JupyterLab and in the HTML report.)

# %% [markdown]
# ## Five people
#
# Now five people, $X$ of whom have a one. McClure and Reiter's synthesizer draws five artificial values,
# each a one with probability $(X + \alpha)/(5 + 2\alpha)$, and releases their sum $X^*$. Six possible data
# sets, six possible releases; $\alpha$ is chosen for $\epsilon = 2$. The table of $\log p(X^* \mid X)$:

# %%
five = mechanism.private_plugin(epsilon, n, n)
names = [f"X* = {y}" for y in range(n + 1)]
table = pd.DataFrame([five.row(k) for k in range(n + 1)], columns=names)
table.insert(0, "X", range(n + 1))
show(outputs.table("log_probabilities", table))

# %%
print(mechanism.exact_epsilon(five))

# %% [markdown]
# Check it with a pencil: in the last column, $-5.475 - (-7.475) = 2$. The intruder now knows four of the
# five records, and wonders about the last. If the data are $X = 1$ and the record at risk has the one,
# rows 1 and 0 are all that is left to decide between. (For $X = 0$ the record has a zero, and the rows are
# 0 and 1.)

# %%
larger = pd.concat([plugin_entries(e, n) for e in np.arange(1, 21) / 4])
start = {"epsilon": epsilon, "prior": prior, "x": x}
outputs.figure("larger", charts.two_readings(larger, **start))

# %% [markdown]
# **Five records, both readings.** It starts at the release that is worst for these data: all five synthetic
# values are ones. That is where epsilon is attained, where the intruder's bar touches the dashed rule, and
# it happens four times in a thousand. Drag the data set to 2 or 3: from there no release reaches
# the rule.

# %% [markdown]
# ## The inequality that links the two readings
#
# For an intruder who is left with two neighboring data sets, Bayes' rule in odds says
#
# $$\frac{\text{posterior odds}}{\text{prior odds}} = \frac{p(X^* \mid \text{truth})}
#   {p(X^* \mid \text{other})} \le e^{\epsilon}.$$
#
# The left side is the second reading, the bound is the first. Over all neighbors in both directions, all
# releases, and 99 priors:


# %%
def odds_factor(a: int, b: int, w: float) -> float:
    """Largest posterior odds over prior odds of row a against row b, over all releases."""
    risk = mechanism.risk(five, a, b, w)
    return float((risk / (1 - risk)).max() * (1 - w) / w)


both_ways = [*five.neighbors, *five.neighbors[:, ::-1]]
factors = [odds_factor(a, b, w) for a, b in both_ways for w in np.linspace(0.01, 0.99, 99)]
print(f"largest factor {max(factors):.6f}, exp(epsilon) {np.exp(epsilon):.6f}")

# %% [markdown]
# It is never exceeded, and it is attained: exact epsilon *is* the largest change of log odds, over all
# intruders who doubt one record, all data sets and all releases. The words after "over" are what one intruder
# with one release does not care about.

# %% [markdown]
# ## What each reading does not see
#
# ### Epsilon does not see beliefs that span several records
#
# The inequality is about neighbors. Suppose the five are a family with a hereditary disease: the intruder
# is nearly sure that nobody has it, and otherwise all have it, with prior probability 0.01. The two data
# sets held possible are rows 0 and 5, and they are no neighbors. At a small $\epsilon = 0.5$:

# %%
half = mechanism.private_plugin(0.5, n, n)
family = np.log([1 - 0.01, 0.01])
after = np.exp([mechanism.posterior(half.column(y)[[0, n]], family)[1] for y in range(n + 1)])
display(show(pd.DataFrame([after], columns=names)))
factor = after.max() / (1 - after.max()) * 0.99 / 0.01
print(
    f"odds × {factor:.2f}; exp(epsilon) is {np.exp(0.5):.2f}, exp({n} epsilon) {np.exp(n / 2):.2f}"
)

# %% [markdown]
# **A small epsilon, and a posterior that moves a lot**: the unlikely belief gains more than a factor of eight,
# five times what $e^{\epsilon}$ seems to allow. What holds is $e^{5\epsilon}$, one $\epsilon$ for each record
# that changes.
#
# ### Epsilon does not see how probable a column is
#
# The other way round. A mechanism releases "nothing", but in one case of a thousand the true value:

# %%
shares = [[0.999, 0.001, 0.0], [0.999, 0.0, 0.001]]
with np.errstate(divide="ignore"):
    leak = mechanism.Mechanism.from_table(np.log(shares), [[0, 1]], outputs=["nothing", 0, 1])
print(
    mechanism.exact_epsilon(leak), f"Delta at epsilon 0: {mechanism.delta(leak, 0.0):g}", sep="\n"
)
# %%
expected = {w: np.exp(leak.row(1)) @ mechanism.risk(leak, 1, 0, w) for w in (0.01, 0.1, 0.5)}
print("\n".join(f"prior {w:g}: expected posterior {r:.5f}" for w, r in expected.items()))

# %% [markdown]
# **An infinite epsilon, and an intruder who on average learns next to nothing.** ($\delta$, the part of the
# probability that a bound may leave out, is the usual remedy: $\epsilon = 0$ holds but for $\delta = 0.001$.)
#
# ### The posterior does not see the columns that did not happen
#
# Back to five people, $X = 1$, prior 0.1. Each release has its own posterior. The last column says how
# probable it is that a release turns up at least once if a thousand towns with the same data use the
# mechanism:

# %%
other = int(one_table.changed_count(n)[x])
releases = pd.DataFrame({"release": range(n + 1), "probability": np.exp(five.row(x))})
releases["posterior"] = mechanism.risk(five, x, other, prior)
releases["in 1000 towns"] = -np.expm1(1000 * np.log1p(-releases["probability"]))
show(outputs.table("releases", releases), digits=4)

# %% [markdown]
# A town that draws $X^* = 1$ may report a posterior of 0.08, below the prior. That is true, and says
# nothing about the town that draws $X^* = 5$. Nor does the posterior see other data sets. All six, with
# what both readings say:

# %%
of_x = pd.DataFrame([{"X": k} | one_table.both(five, k, prior) for k in range(n + 1)])
show(outputs.table("by_data_set", of_x))

# %% [markdown]
# `conditional_epsilon` is Charest and Han's: the largest difference between one row and its neighbors. It
# reads down the rows, but from one data set only, and already sees less than epsilon. The expected posterior
# hardly depends on the data here, and is nowhere near the largest.

# %% [markdown]
# ## Four papers, five ways to fill the table
#
# Each of the four papers has a synthesizer, and each can be written down for $n$ binary records:
#
# | name here | paper | the release |
# |---|---|---|
# | Bernoulli plug-in | McClure and Reiter (2012) | $n$ draws with the posterior mean plugged in |
# | exponential, log P | Charest (2013) | probability proportional to $\exp(\text{rate} \cdot \log P)$, $P$ the posterior predictive probability |
# | exponential, distance | Charest (2013) | the same with $-\lvert X - X^* \rvert$ for $\log P$ |
# | beta-binomial | Charest and Han | draws from the posterior predictive distribution |
# | DPMPM | Hu, Reiter and Wang (2014) | the same, from a mixture of $F = 2$ latent classes |
#
# The last one is usually far too large to write down. For one binary variable and five records the counts
# split between two classes in few ways, so that its table is a sum over them, with class
# and level probabilities integrated out. Every one has a parameter by which its exact epsilon can be set: a
# prior parameter, a rate, or the concentration of the level probabilities.


# %%
def mixture(concentration: float, size: int) -> mechanism.Mechanism:
    """The DPMPM on one binary variable, whole."""
    law = dpmpm.Prior(concentration=concentration)
    return dpmpm.enumerate_mechanism(size, size, (2,), n_classes, law)


def concentration_for(budget: float, size: int) -> float:
    """The DPMPM's concentration at which its exact epsilon is the budget."""
    return mechanism.calibrate(lambda c: mixture(c, size), budget, 1e-6, 1e4)


# %%
def mechanisms(budget: float, size: int) -> dict[str, mechanism.Mechanism]:
    """Five ways to fill the table, each with this exact epsilon."""
    pairs, scores = mechanism.change_one(size), binary_scores(size, 1.0)
    rate = {name: mechanism.exact_rate(score, budget, pairs) for name, score in scores.items()}
    by_score = {name: mechanism.gibbs(scores[name], rate[name], pairs) for name in scores}
    alpha = mechanism.dirichlet_multinomial_alpha(budget, size)
    return {
        "Bernoulli plug-in": mechanism.private_plugin(budget, size, size),
        "exponential, log P": by_score["log P"],
        "exponential, distance": by_score["-|d - r|"],
        "beta-binomial": mechanism.beta_binomial(size, size, alpha),
        "DPMPM": mixture(concentration_for(budget, size), size),
    }


# %% [markdown]
# ### Where they agree
#
# With a single record all five are one and the same table, randomized response: a symmetric 2 x 2 table has one
# number in it, and epsilon fixes it. Larger tables share less. The posterior predictive synthesizers are
# still cousins: the exponential mechanism with $\log P$ at rate 1 *is* the beta-binomial, and so is a DPMPM
# with a single class. The largest difference between log probabilities:


# %%
def apart(one: mechanism.Mechanism, another: mechanism.Mechanism) -> float:
    """Largest difference of two tables, entry by entry."""
    rows, columns = np.arange(one.n_inputs), np.arange(one.n_outputs)
    return float(abs(one.block(rows, columns) - another.block(rows, columns)).max())


# %%
first, *others = mechanisms(2.0, 1).values()
at_rate_1 = mechanism.gibbs(binary_scores(n, 1.0)["log P"], 1.0, mechanism.change_one(n))
one_class = dpmpm.enumerate_mechanism(n, n, (2,), 1, dpmpm.Prior(concentration=0.7))
identities = {
    "one record, all five": max(apart(first, another) for another in others),
    "log P at rate 1, beta-binomial": apart(at_rate_1, mechanism.beta_binomial(n, n, 1.0)),
    "DPMPM with F = 1, beta-binomial": apart(one_class, mechanism.beta_binomial(n, n, 0.7)),
}
print("\n".join(f"{name}: {'none' if d < 1e-9 else f'{d:.3g}'}" for name, d in identities.items()))

# %% [markdown]
# ### Where they do not
#
# Five records, all at the same exact epsilon. The columns are those of the four papers: `loss_of_precision` is
# McClure and Reiter's $U$ ($\log_{10}$ of the expected squared error about $p_0$, release over data),
# `records_moved` the expected $\lvert X - X^* \rvert$.


# %%
def numbers(table: mechanism.Mechanism) -> dict[str, float]:
    """One row: both readings, and what the release is worth to an analyst."""
    moved = float(np.exp(table.row(x)) @ np.abs(np.arange(n + 1) - x))
    loss = Study(table, p0).expected_utility(x)
    return one_table.both(table, x, prior) | {"records_moved": moved, "loss_of_precision": loss}


# %%
made = mechanisms(epsilon, n)
columns = pd.DataFrame([{"mechanism": name} | numbers(m) for name, m in made.items()])
show(outputs.table("columns", columns))

# %% [markdown]
# Epsilon calls all five the same, and so does conditional epsilon at $X = 1$. The largest posterior is the same
# for four of them. The *expected* posterior sees a gap: 0.13 to 0.15 for those four, 0.35 for the
# exponential mechanism with distance. That one spends its budget on releases that happen, and has the best
# utility by far. The others set their budget aside for a column that comes up less than once in eighty
# releases (the last figure of this section has its probability for each).

# %%
conditional = pd.DataFrame({name: mechanism.conditional_epsilon(m) for name, m in made.items()})
titles = "Ones in the data, X", "Conditional epsilon"
outputs.figure("conditional", charts.lines(conditional, *titles, reference=epsilon))

# %% [markdown]
# **Conditional epsilon of every data set at exact epsilon 2 (dotted).** All reach it at the ends. In the
# middle the plug-in and the predictive synthesizers need much less; distance treats all data nearly alike.

# %%
grid = [(e, name, m) for e in np.arange(1, 8) / 2 for name, m in mechanisms(e, n).items()]
over = pd.DataFrame([{"epsilon": e, "mechanism": name} | numbers(m) for e, name, m in grid])
wide = outputs.table("over_budgets", over).pivot(index="epsilon", columns="mechanism")

# %%
shown = wide["expected_posterior"][[*made]]
shown = shown.assign(**{"bound from ε": mechanism.posterior_bound(shown.index, prior)})
titles = "Exact epsilon", "Expected posterior of the truth"
outputs.figure("expected_posterior", charts.lines(shown, *titles, reference=prior))

# %% [markdown]
# **What the intruder should expect to believe, by exact epsilon; dotted: the prior.** With large budgets distance
# comes close to what epsilon allows, while the others stay far below. At small ones nobody learns much from
# any of them. And the price:

# %%
titles = "Exact epsilon", "Records moved, expected"
outputs.figure("moved", charts.lines(wide["records_moved"][[*made]], *titles, zero=True))

# %% [markdown]
# **Distance of the release from the data, by exact epsilon.** The mechanism with distance tells both the
# intruder and the analyst most. But there is no rule that who tells one more tells the other more: the
# beta-binomial and the DPMPM give more away than the plug-in at every budget here, and from epsilon 2 on
# lie further from the data. By $U$ they are the better ones throughout: utility is not one number either.
# All tables behind these lines, to be read both ways:

# %%
entries = [one_table.entries(m).assign(epsilon=e, mechanism=name) for e, name, m in grid]
outputs.figure("mechanisms", charts.two_readings(pd.concat(entries), **start))

# %% [markdown]
# **Any of the five mechanisms, both readings.** Choose a mechanism and keep epsilon where it is. The bars that
# matter are those above a release that is probable, in the lowest panel.
#
# ### Empirical differential privacy
#
# EDP, the fourth number, looks at neither the release nor its table. It takes the model's posterior of the
# parameter (here the share of ones), cuts it into bins of equal probability, and compares bins between
# neighboring data: the conditional epsilon of releasing *the bin of one posterior draw*. Three of the
# mechanisms have a beta posterior behind them, and EDP is exact. The DPMPM's needs draws, hence a standard
# error. The mechanism with distance has no model, and no EDP.

# %% tags=["monte-carlo"]
chains = {"n_classes": n_classes, "burn_in": 500, "n_draws": n_draws, "thin": 5}
values = np.array([[0], [1]])  # the level that is a one, and the other


def draws(ones: int, zeros: int, purpose: str) -> dpmpm.Draws:
    """Draws of the DPMPM given so many records of each kind."""
    people, law = np.repeat(values, [ones, zeros], axis=0), dpmpm.Prior(concentration=weight)
    settings = dpmpm.Chains(**chains, prior=law)
    return dpmpm.sample_posterior(
        people, np.array([2]), settings, rng=stream(seed, purpose), label=purpose
    )


# %% tags=["monte-carlo"]
weight = concentration_for(epsilon, n)
of_data = draws(x, n - x, "data")
log_p = dpmpm.cell_log_prob(of_data, values)
print(diagnostics.verdict(diagnostics.summary({"share of ones": np.exp(log_p[..., 0])})))


# %%
def beta_edp(alpha: float) -> float:
    """EDP of a share with a beta prior, one record changed."""
    model = (x, n, alpha)
    neighbors = charest_han.beta_neighbors(*model, "changed")
    return edp.exact(charest_han.beta_posterior(*model), neighbors, bins).value


behind = [
    mechanism.bernoulli_plugin_alpha(epsilon, n),
    1.0,
    mechanism.dirichlet_multinomial_alpha(epsilon, n),
]
levels = pd.DataFrame({"mechanism": ["Bernoulli plug-in", "exponential, log P", "beta-binomial"]})
levels = levels.assign(edp=[beta_edp(a) for a in behind], mcse=0.0)

# %% tags=["monte-carlo"]
from_one, from_zero = log_p[..., 1] - log_p[..., 0], log_p[..., 0] - log_p[..., 1]
changes = np.stack([from_one] * (x > 0) + [from_zero] * (x < n), axis=-1)
sampled = edp.from_draws(np.exp(log_p[..., 0]), changes, bins)
levels.loc[3] = ["DPMPM", sampled.value, sampled.mcse]
show(outputs.table("edp", levels))

# %% [markdown]
# EDP is below epsilon for one mechanism and above it for the others: it is no bound in either direction. The
# stronger the model's prior, the smaller it is here. That of the exponential mechanism is the same whatever
# the budget, because the model behind the score does not know the budget. EDP is a sensitivity of a
# posterior; whoever releases five records and not the posterior should read the table of the release.
#
# Column by column, the ranks (1 for the least risk or the least loss):

# %% tags=["monte-carlo"]
judged = columns.merge(levels[["mechanism", "edp"]], how="left").set_index("mechanism")
judged = judged.drop(columns=["exact_epsilon", "expected_increase"]).round(6)
ranks = judged.rank(method="min").convert_dtypes().reset_index()
show(outputs.table("ranks", ranks))

# %% [markdown]
# No two columns rank alike. Expected posterior and EDP agree that the plug-in gives least away, and one of the
# utilities puts it last. Conditional epsilon sees no difference at all.
#
# ### One column by Monte Carlo
#
# Hu, Reiter and Wang's table cannot be written down at its real size, with thousands of records and millions
# of cells. They fill one column of it, the release that happened, by Monte Carlo. Here every column can be
# filled both ways. The estimate is a ratio of predictive probabilities, from draws given the data and given the data joined
# with the release:

# %% tags=["monte-carlo"]
support, log_prior = values[[int(x == 0), int(x > 0)]], np.log([[prior, 1 - prior]])
plain = disclosure.support_log_ratios(of_data, support)[0]


def by_monte_carlo(y: int) -> dict[str, float]:
    """Posterior probability of the truth after one release, estimated."""
    joined = draws(x + y, 2 * n - x - y, f"data and release {y}")
    ratios = disclosure.support_log_ratios(joined, support)[0]
    found = disclosure.predictive_ratio([plain, ratios], log_prior)
    return {"estimate": float(found.probability[0]), "log_mcse": float(found.log_mcse[0, 0])}


# %% tags=["monte-carlo"]
column = pd.DataFrame([{"release": y} | by_monte_carlo(y) for y in range(n + 1)])
column.insert(1, "exact", mechanism.risk(made["DPMPM"], x, other, prior))
show(outputs.table("by_monte_carlo", column), digits=4)

# %% [markdown]
# The estimates are the exact posteriors, within their errors (`log_mcse` is the standard error of the logarithm). What
# Monte Carlo cannot give is the first reading: for epsilon one would need *every* column, the improbable ones
# above all.
#
# ## What to take home
#
# - Fill the table, and both experts' numbers can be read from it. For one record in doubt, epsilon is the largest
#   change of log odds that any of them could ever report.
# - Epsilon does not see the prior, the data, or how probable a column is. That is its strength, as a promise made
#   before the data are seen, and the reason why equal epsilons hide unequal risks.
# - The posterior sees one column, one data set, one prior. That is its strength after the release, and the reason why it
#   promises nothing.
# - Ask before the release for epsilon *and* for the expected posterior under priors that you would have to
#   answer for; ask after it for the column that happened.

# %% [markdown]
# ## Exercises
#
# Each can be solved with what is defined above; the first three also with a pencil.

# %% [markdown]
# ### Exercise 1
#
# A person's secret is one of three values. The truth is released with probability 1/2, each of the other two
# with probability 1/4. What is the exact epsilon (`die_epsilon`)? An intruder holds all three equally
# probable and sees the first value. What is the probability that it is the truth (`die_posterior`)?

# %% tags=["solution"]
die = mechanism.Mechanism.from_table(np.log((1 + np.eye(3)) / 4), [[0, 1], [0, 2], [1, 2]])
die_epsilon = mechanism.exact_epsilon(die).value
die_posterior = np.exp(mechanism.posterior(die.column(0)))[0]
assert np.isclose(die_epsilon, np.log(2))
assert np.isclose(die_posterior, 1 / 2)

# %% [markdown]
# ### Exercise 2
#
# The coin of the first section is used twice, and both answers are released. Write down the 2 x 4 table. What is
# its exact epsilon (`twice_epsilon`)? What becomes of a prior of 1/10 after yes and yes (`yes_yes`), and after
# yes and no (`yes_no`)?

# %% tags=["solution"]
pairs_of_answers = [np.add.outer(coin.row(k), coin.row(k)).ravel() for k in range(2)]
twice = mechanism.Mechanism.from_table(pairs_of_answers, [[0, 1]])
twice_epsilon = mechanism.exact_epsilon(twice).value
_, _, yes_no, yes_yes = mechanism.risk(twice, 1, 0, 1 / 10)
assert np.isclose(twice_epsilon, 2 * np.log(3))
assert np.isclose(yes_yes, 1 / 2)
assert np.isclose(yes_no, 1 / 10)

# %% [markdown]
# ### Exercise 3
#
# A mechanism has $\epsilon = 2$. For which prior probability (`worst_prior`) can a release raise the intruder's
# probability of the truth by most, and by how much (`largest_rise`)? Use `mechanism.posterior_bound`, then
# find the formula.

# %% tags=["solution"]
w = np.linspace(0.0001, 0.9999, 9999)
rise = mechanism.posterior_bound(2.0, w) - w
worst_prior, largest_rise = w[rise.argmax()], rise.max()
assert np.isclose(worst_prior, 1 / (1 + np.exp(2 / 2)), atol=1e-4)
assert np.isclose(largest_rise, np.tanh(2 / 4), atol=1e-6)

# %% [markdown]
# ### Exercise 4
#
# Charest and Han's Table 2 prints the EDP of five records, $x$ of them ones, with the same parameter for ones and
# zeros. One of its 36 entries cannot be right, and no EDP has to be computed to see that. Find the two
# entries of which one is wrong, as a set of pairs of $x$ and the number of bins (`suspects`). Then compute what
# both should be, to two digits (`both_should_be`): the prior is $\alpha = 1/2$, and a neighbor has one record
# changed. The printed values are `printed("charest_han").set_index("id")["printed"]`, where `table2_3_50` is
# $x = 3$ with 50 bins.

# %% tags=["solution"]
told = printed("charest_han").set_index("id")["printed"]
cells = [(k, b) for k in range(6) for b in charest_han.BINS]
suspects = {(k, b) for k, b in cells if told[f"table2_{k}_{b}"] != told[f"table2_{5 - k}_{b}"]}
model = 2, 5, 1 / 2
neighbors = charest_han.beta_neighbors(*model, "changed")
exactly = edp.exact(charest_han.beta_posterior(*model), neighbors, 100).value
both_should_be = round(float(exactly), 2)
assert suspects == {(2, 100), (3, 100)}
assert both_should_be == 3.05

# %% [markdown]
# ### Exercise 5
#
# For the beta-binomial synthesizer to have a given $\epsilon$, Charest and Han's section 3 prints
# $\alpha = (e^\epsilon - 1)/n$. Fill the table for $n = 5$ and $\epsilon = \log 11$ with that $\alpha$, and read its exact
# epsilon (`as_printed`). Which $\alpha$ does give $\log 11$ (`right_alpha`)?

# %% tags=["solution"]
as_printed = mechanism.exact_epsilon(mechanism.beta_binomial(5, 5, (11 - 1) / 5)).value
right_alpha = 5 / (11 - 1)
of_right_alpha = mechanism.exact_epsilon(mechanism.beta_binomial(5, 5, right_alpha)).value
assert np.isclose(of_right_alpha, np.log(11))
assert np.isclose(as_printed, np.log(1 + 5 / 2))
assert np.isclose(right_alpha, 1 / 2)

# %% [markdown]
# ### Exercise 6
#
# An agency with five records will not accept that any release more than doubles an intruder's probability of the truth,
# whatever the prior: `acceptance.read_rules([{"rr_at_most": 2}])`. Up to which epsilon does the plug-in synthesizer
# keep to that if the data hold a single one (`for_one`), and if they hold three (`for_three`)? The record at risk
# has a one. Use
# `acceptance.largest_epsilon`. Which epsilon would one have to ask for without looking at the data
# (`for_any`), and why may the agency not announce that it took `for_three`?

# %% tags=["solution"]
rules = acceptance.read_rules([{"rr_at_most": 2}])
for_one, for_three = (
    acceptance.largest_epsilon(
        lambda e: mechanism.private_plugin(e, 5, 5), k, k - 1, rules, 0.01, 20.0
    )
    for k in (1, 3)
)
for_any = np.log(2)  # RR tends to the factor of the odds where the prior vanishes
# Announcing for_three would tell everybody that the data do not hold a single one.
alpha = 1 / (2 ** (1 / 5) - 1) - 2  # five ones have doubled from X = 2 to X = 3
assert np.isclose(for_one, for_any)
assert np.isclose(for_three, mechanism.bernoulli_plugin_epsilon(5, alpha, alpha))
assert round(for_one, 2) == 0.69
assert round(for_three, 2) == 0.96
assert round(for_any, 2) == 0.69

# %% [markdown]
# ## References
#
# - Charest, A.-S. (2013). Synthetic contingency tables for confidentiality protection: offering
#   guarantees when sampling from posterior distributions. *Joint UNECE/Eurostat work session on
#   statistical data confidentiality*, Ottawa.
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy.
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12.
# - Hu, J., Reiter, J. P. and Wang, Q. (2014). Disclosure risk evaluation for fully synthetic
#   categorical data. In *Privacy in Statistical Databases*, 185–199. Springer.
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Warner, S. L. (1965). Randomized response: a survey technique for eliminating evasive answer bias.
#   *Journal of the American Statistical Association* 60, 63–69.
