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
# # The same epsilon for a coin flip and a rare disease
#
# **McClure, D. and Reiter, J. P. (2012).** Differential privacy and statistical disclosure risk
# measures: an investigation with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# (The journal gives no DOI.)
#
# Differential privacy (Dwork 2006) is a promise about a *mechanism*: whatever the data and the
# release, no single record changes the probability of a release by more than a factor
# [$e^{\epsilon}$](../docs/guide/glossary.md#epsilon). Statistical disclosure control asks
# about *this* release and *these* data: how sure of one record is an [intruder](../docs/guide/glossary.md#intruder) who
# knows all others? The paper compares the two where both can be computed: $n$ yes/no records, replaced by $n_s$ synthetic
# ones.

# %% [markdown] tags=["notebook-only"]
# Both are readings of one table, the probability of every release given every data set. This
# notebook computes the whole table, so the paper's ten simulated pairs become exact distributions.
# Nearly all comparable printed numbers agree with them. Several conclusions depend on the
# intruder's [prior](../docs/guide/glossary.md#prior), on $p_0$, on $\epsilon$ or on the data set.
#
# *Before you start:* Bayes' rule, the binomial and the beta distribution and, for one section,
# Markov chains.

# %% tags=["parameters"]
n: int = 1000  # [1, 100000] records in the data, D
n_s: int = 1000  # [1, 100000] records in the release, D*
p0: list[float] = [0.001, 0.3, 0.5, 0.999]  # [0, 1] true proportions of ones
epsilon: list[float] = [1000.0, 100.0, 10.0, 2.0, 0.2, 0.01]  # [0.001, 10000] privacy budgets
prior: float = 0.5  # [0, 1] the intruder's prior probability of the record's true value
n_pairs: int = 10  # [1, 10000] pairs (D, D*) for each p0 and epsilon
acceptable: list[dict[str, float]] = [
    {"rr_at_most": 10, "r_at_most": 0.1},
    {"rr_at_most": 5, "r_at_least": 0.1, "r_at_most": 0.2},
    {"rr_at_most": 2, "r_at_least": 0.2, "r_at_most": 0.9},
    {"rr_at_most": 1.05, "r_at_least": 0.9},
]  # what may be released: the largest RR allowed in each range of R
burn_in: int = 1000  # [0, 10000000] steps dropped from each chain
n_steps: int = 99000  # [1000, 10000000] steps kept from each chain
n_chains: int = 4  # [2, 1000] chains for each pair; the paper ran one
n_single: int = 300  # [10, 1000000] single chains behind the likelihood of a printed range
seed: int = 2012  # [0, inf) one seed for all streams of chance
output_dir: str = ""  # folder for tables and figures; empty: write none

# %%
import itertools

import altair as alt
import numba
import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logsumexp

from srlib import charts, diagnostics, mechanism
from srlib.display import callout, numbers, show, with_error
from srlib.ledger import Claims, ledger, printed
from srlib.mechanism import acceptance
from srlib.mechanism.proportion import Study
from srlib.outputs import Outputs
from srlib.rng import stream

outputs = Outputs(output_dir)
rules = acceptance.read_rules(acceptable)  # errors are reported before any computation

# %% [markdown]
# ## What is claimed
#
# If the paper states no criterion, "here" gives ours.

# %% tags=["nbval-ignore-output"]
claims = Claims(
    {
        "C1": r"For every $\epsilon$, $n$ and $n_s$, $\alpha = \beta = 1/(e^{\epsilon/n_s}-1)$ gives "
        r"$\epsilon$-differential privacy (Theorem 1, Appendix A).",
        "C2": r"At each $\epsilon$, and for priors other than one half as well, the expected increase "
        r"in risk is larger at $p_0$ = .001 and .999 than at .5 (Table 1, section 3.2); here: for "
        r"five priors $w$ that are the same at all $p_0$, and for $w = p_0$.",
        "C3": r"$U$ ranges from 2 to 2.7 at $\epsilon$ = .01 and from .25 to 1.1 at 2 (section 3.2); "
        r"here: at each $p_0$ both printed ranges are at least a hundredth as probable as the most "
        "probable range.",
        "C4": r"$RR$ never exceeds 1.25 at $p_0$ = .5 and can exceed two at $p_0$ = .001, "
        r"$\epsilon \ge$ 100 (section 3.3, Figures 3 and 4); here: each has a probability of at "
        "least 5 % in ten pairs.",
        "C5": "A Metropolis chain of 100,000 steps computes the utility (Appendix B); here: each "
        "single chain does so to within 0.1.",
        "C6": "Regions of $R$ and $RR$ can be judged over all priors (section 4).",
        "C7": r"Under one $\epsilon$ several releases generally make utility worse than one (section "
        r"3.2); here: two releases, for $X$ = round($n p_0$) at the most common and the rarest $p_0$, to "
        "two decimal places, in at least three quarters of the cases.",
        "C8": r"An attack on a published region and $\epsilon$ would be challenging (section 4, a "
        "speculation); here: for each data set at most 5 % of releases lie outside the region "
        "for an intruder who knows the rule.",
    }
)
claims

# %% [markdown]
# ## The smallest example: one table, two readings
#
# Three people each have a secret 0 or 1, with sum $X$. The [synthesizer](../docs/guide/glossary.md#synthesizer) (the
# paper's equation 3, after Abowd and Vilhuber 2008) draws three artificial values, each 1 with probability
# $(X + \alpha)/(3 + 2\alpha)$, and releases their sum $X^*$. With $\alpha$ for $\epsilon = 2$
# the first table below is the probability of every release given every data set.
#
# *Down the rows:* replacing one record moves $X$ by one, to a neighboring row. The largest ratio of two neighboring
# entries, over all columns, is $e^\epsilon$.
#
# *Within a column:* suppose the others are both 0 and our record is 1, so $X = 1$. An intruder who knows the others
# compares rows 1 and 0 in the column of the release, by Bayes' rule (the paper's equation 5), here with prior 1/2. $R$
# is the [posterior probability](../docs/guide/glossary.md#posterior-disclosure-risk) of the true value.

# %%
tiny = mechanism.private_plugin(2.0, n=3, n_s=3)
releases = [f"X* = {y}" for y in range(4)]
table = pd.DataFrame(np.exp([tiny.row(x) for x in range(4)]), columns=releases)
table.insert(0, "ones in the data", [f"X = {x}" for x in range(4)])
display(show(table, caption="Probability of each release, given the data: three records, ε = 2."))
at = mechanism.exact_epsilon(tiny)
told = f"It is attained between $X$ = {at.pair[0]} and {at.pair[1]}, where $X^*$ = {at.output}."
display(callout(f"Exact epsilon is {at.value:g}", told))
one, zero = np.exp(tiny.row(1)), np.exp(tiny.row(0))
within = pd.DataFrame([one, zero, one / (one + zero)], columns=releases)
within.insert(0, "our record", ["1 (true value)", "0", "R, posterior probability of 1"])
show(within, caption="Probability of each release if our record is 1 or 0, and the risk R.")

# %% [markdown] tags=["appendix"]
# The last entry is $e^2/(1 + e^2)$, the most that $\epsilon = 2$ allows, and that release is the least
# probable of all. The promise is about the worst column, the risk about the column that occurred.
#
# ## Theorem 1 over the whole table
#
# Between the neighboring rows $X + 1$ and $X$ the log ratio of the release $X^*$ is
#
# $$X^* \log\frac{X + 1 + \alpha}{X + \alpha} + (n_s - X^*) \log\frac{n - X - 1 + \beta}{n - X + \beta}.$$
#
# The first logarithm is positive and the second negative, so the extremes are at $X^* = n_s$ and
# $X^* = 0$. Only one logarithm remains there, farthest from zero at $X = 0$ and at $X = n - 1$.
# With $\alpha = \beta$ this is $\epsilon = n_s \log(1 + 1/\alpha)$ exactly, which the paper's $\alpha$
# solves. The budget is spent at two corners. In one, nobody has a one, one person gets one, and *all*
# synthetic records are ones; in the other it is the same with zeros. Enumeration finds one of them, at
# the budgets of the run and of the paper ($\alpha$ underflows from $\epsilon = 700\,n_s$ on):

# %%
P0, EPSILON = (0.001, 0.3, 0.5, 0.999), (1000.0, 100.0, 10.0, 2.0, 0.2, 0.01)
every_p0 = [*dict.fromkeys([*p0, *P0])]
budgets = [*dict.fromkeys([*epsilon, *(e for e in EPSILON if e < 700 * n_s)])]
tables = {e: mechanism.private_plugin(e, n, n_s) for e in budgets}
found = [mechanism.exact_epsilon(table) for table in tables.values()]
theorem = pd.DataFrame({"epsilon": budgets, "exact": [at.value for at in found]})
theorem["attained"] = [f"X = {at.pair[0]} and {at.pair[1]}, X* = {at.output}" for at in found]
names = {"epsilon": "budget ε", "exact": "exact ε", "attained": "attained at"}
caption = "Exact epsilon over all neighboring data sets and releases, and where it is attained."
display(show(outputs.table("theorem_1", theorem).round(9), caption=caption, names=names))
claims.check(
    "C1", "proved", "The log ratio is linear in $X^*$ and monotone in $X$; its largest value is the budget.",
    measured="exact ε over the budget", relation="<=", limit=1,
    value=(theorem["exact"] / theorem["epsilon"]).set_axis([f"ε = {e:g}" for e in budgets]),
)  # fmt: skip

# %%
spent = {f"ε = {e:g}": mechanism.conditional_epsilon(tables[e]) / e for e in epsilon}
spent = pd.DataFrame(spent).iloc[:: max(1, n // 40)]
titles = "Ones in the data, X", "Share of epsilon spent (log scale)"
about = "A curve for each budget, equal to one at both ends, where nobody or everybody has a one, "
about += "and lowest in the middle. Larger budgets spend a smaller share in the middle."
chart = charts.lines(spent, *titles, log_y=True, ordered=True, description=about)
outputs.figure("conditional_epsilon", chart)

# %% [markdown]
# **At large budgets only data with very few ones, or very few zeros, spend most of epsilon.** Charest and Han's
# [conditional epsilon](../docs/guide/glossary.md#conditional-epsilon), the largest log ratio between a data set and its
# neighbors, as a share of epsilon: over a grid of $X$, a line for each budget. At small budgets all data sets are similar
# and spend nearly all of it.

# %% [markdown] tags=["written"]
# ### Exercise 1: what unequal parameters spend
#
# The paper's equation 10, as printed, gives $\epsilon = n_s \log(1 + 1/\alpha)$, whatever $\beta$ is. Take four records,
# three synthetic records, $\alpha = 3$ and $\beta = 1$. Which epsilon does it `promise`, and which epsilon is
# `spent_there` (three decimal places)? In which release (`corner`, its number of ones)? Say what is wrong in
# the equation. (Which of the two terms above remains at $X^* = 0$, and which parameter does it contain?)
#
# *You will need:* a pencil and the log ratio above; to check, `mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)`
# and the attributes `.value` and `.output` of the result of `mechanism.exact_epsilon`.

# %% tags=["solution"]
# Solution
uneven = mechanism.bernoulli_plugin(4, 3, alpha=3.0, beta=1.0)
worst_case = mechanism.exact_epsilon(uneven)
promise, spent_there, corner = 3 * np.log(1 + 1 / 3), worst_case.value, worst_case.output
assert round(promise, 3) == 0.863
assert round(spent_there, 3) == 2.079
assert corner == 0

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# With few zeros in the data and $\beta$ small, the worst release has no ones. The paper's
# equation 9 has $\min(\alpha, \beta) = 1$ and gives $3 \log 2$, the epsilon spent. Equation 10 has a
# reciprocal, $1/\min \log(e_1/e_0)$, instead of a minus sign and loses the second corner.
#
# </details>

# %% [markdown]
# ## The expected increase in risk
#
# First comes the worked example of the paper's section 3.2: all other records are 0, ours is 1, $\epsilon = 1000$, and
# the release holds three ones. Then comes its Table 1: how much does the intruder's probability of the true value rise
# over all data sets and releases, counting a fall as 0 (equation 6)? The record at risk has $Y_j = 1$, or 0 if the data
# hold no ones. `all_pairs` lists every $(X, X^*)$ with its probability, equation 7.
#
# The paper's intruder has prior one half in every column. An intruder who gives a disease of prevalence
# .001 a probability of one half is wrong by a factor of 500 before any release. So consider also an
# intruder who knows the proportion and gives a one the prior probability $p_0$. The last table of this section has other
# priors, each the same in every column.

# %%
alpha = 1 / np.expm1(1000 / 1000)
chance_of_three = [stats.binom.pmf(3, 1000, (x + alpha) / (1000 + 2 * alpha)) for x in (0, 1)]
example = [alpha, 1 + alpha, 1000 + 2 * alpha, *chance_of_three]
example.append(chance_of_three[1] / sum(chance_of_three))
names = "α", "1 + α", "n + 2α", "P(X* = 3) if Y = 0", "P(X* = 3) if Y = 1", "R"
caption = "The worked example, ε = 1,000: parameters, probabilities and the risk."
display(show(pd.DataFrame([example], columns=names), digits=4, caption=caption))
paper = mechanism.private_plugin(1000.0, 1000, 1000)
worked = Study(paper, 0.001).all_pairs(np.abs(np.arange(1001) - 1), 0.5)
events = {
    "the example, X = 1 and X* = 3": (worked.x == 1) & (worked.x_star == 3),
    "R from .85 to .95": abs(worked.risk - 0.9) <= 0.05,
}
of_ten = pd.DataFrame({"event": list(events)})
of_ten["one pair"] = [worked.event_probability(event) for event in events.values()]
of_ten["once in ten"] = stats.binom.pmf(1, 10, of_ten["one pair"])
of_ten["twice or more"] = stats.binom.sf(1, 10, of_ten["one pair"])
show(of_ten, caption="Probability of the paper's observations in ten pairs, p₀ = .001, ε = 1,000.")

# %%
ones = np.arange(n + 1)
changed = np.abs(ones - 1)  # X with the record at risk changed
exact, rows = {}, []
for p, e in itertools.product(every_p0, budgets):
    study = Study(tables[e], p)
    exact[p, e] = study.all_pairs(changed, prior)
    knowing = exact[p, e].expected_increase(np.where(ones > 0, p, 1 - p))
    rows.append(
        (p, e, exact[p, e].expected_increase(prior), knowing, *study.expected_log_relative_risk())
    )
names = ["p0", "epsilon", "expected_increase", "expected_increase_calibrated"]
increases = pd.DataFrame(rows, columns=[*names, "log_gain_of_one", "log_gain"])
increases["share_of_entropy"] = increases["log_gain"] / stats.entropy(
    [increases["p0"], 1 - increases["p0"]]
)

# %%
of_run = increases["p0"].isin(p0) & increases["epsilon"].isin(epsilon)
expected_risk = outputs.table("expected_risk", increases.loc[of_run, names[:3]])
calibrated = outputs.table("calibrated", increases[of_run])
wide = expected_risk.pivot_table(index="epsilon", columns="p0", values="expected_increase")
wide = wide.sort_index(ascending=False).rename(columns="p₀ = {:g}".format).rename_axis(columns=None)
wide = wide.map(lambda increase: numbers([increase])[0])  # three digits each
caption = f"Expected increase in risk, by budget and true proportion p₀; prior {prior:g}."
show(wide.reset_index(), caption=caption)

# %%
largest = calibrated["epsilon"].isin(sorted(epsilon)[-2:])
heads = {"expected_increase": f"increase, prior {prior:g}"}
heads |= {"expected_increase_calibrated": "increase, prior p₀", "log_gain_of_one": "log RR, a one"}
heads |= {"log_gain": "log RR, all records", "share_of_entropy": "share of the entropy"}
caption = "Expected increase under two priors; expected log RR in nats, prior p₀; largest budgets."
display(show(calibrated[largest].head(12), digits=5, caption=caption, names=heads))


def increase(p, e, w):
    """Return the expected increase in risk for an intruder with prior w (p₀: the proportion)."""
    own = np.where(ones > 0, p, 1 - p)
    return exact[p, e].expected_increase(own if w == "p₀" else w)


ratios = {
    (f"{w}", f"p₀ = {p:g}", f"ε = {e:g}"): increase(p, e, w) / increase(0.5, e, w)
    for w, p, e in itertools.product((0.001, 0.1, 0.5, 0.9, 0.999, "p₀"), (0.001, 0.999), budgets)
}
rarity = pd.Series(ratios).rename_axis(["prior w", "p0", "epsilon"])
extremes = rarity.groupby("prior w", sort=False).agg(smallest="min", largest="max").reset_index()
caption = "Increase at p₀ = .001 and .999 over that at .5, same prior w: extremes over budgets."
display(show(extremes, digits=5, caption=caption))
claims.check(
    "C2", "depends on the intruder's prior",
    "With each prior that is the same for all data the increase is larger if values are "
    "rare; for an intruder who knows the proportion it is larger if they are common.",
    measured="increase at the rare proportion over that at .5, by prior",
    value=rarity, relation=">", limit=1,
)  # fmt: skip

# %% [markdown] tags=["spoiler-2"]
# In relative terms the rare value stays exposed, but only for the few records that have it. Over all
# records the release discloses, at these budgets, fewer nats about a rare attribute than about a common one. There
# is also less to know: as a share of the attribute's entropy, it discloses *more* about the rare one. At small
# $\epsilon$ the columns of Table 1 hardly differ, because $\alpha$ is so large that the release is nearly all
# coin flips, whatever the data.

# %% [markdown] tags=["written"]
# ### Exercise 2: which sentence does the table not support?
#
# With $n = n_s = 1000$ and $\epsilon = 1000$, the expected increase in the probability of the true value is:
#
# | | prior 1/2 | prior $p_0$ |
# |---|---|---|
# | $p_0 = .001$ | .125 | .0019 |
# | $p_0 = .5$ | .0066 | .0066 |
#
# 1. For an intruder with prior one half the expected increase is about nineteen times as large at $p_0 = .001$ as at .5.
# 2. If the intruder knows the proportion, the larger expected increase is at $p_0 = .5$.
# 3. At this $\epsilon$ rare values are more at risk than common ones, whatever the intruder's prior.
# 4. At $p_0 = .001$ the prior matters more than at $p_0 = .5$.
#
# Give its number (`unsupported`), and say which table would support a similar sentence.
#
# *You will need:* only the table.

# %% tags=["solution"]
# Solution
(rare_half, rare_own), (half_half, half_own) = (0.125, 0.0019), (0.0066, 0.0066)
stands = [18 < rare_half / half_half < 20, half_own > rare_own]
stands += [rare_half > half_half and rare_own > half_own]
stands += [rare_half / rare_own > half_half / half_own]
unsupported = 1 + stands.index(False)
assert unsupported == 3

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# The second column contradicts sentence 3. A table in which each column has one prior for both rows
# supports it only for these priors. A table of *relative* increases supports a weaker sentence: for a
# record that has the rare value, and an intruder who knows the proportion, $\log RR$ is larger at $p_0 =
# .001$. Neither supports "whatever the intruder's prior", since a few priors are not all priors.
#
# </details>

# %% [markdown]
# ## Risk against utility
#
# The [utility loss](../docs/guide/glossary.md#utility-loss) is the loss of precision about $p_0$ (equation 4): $U$ is the
# $\log_{10}$ of the expected squared error given the release over that given the data. The paper
# simulates it, but it is a finite sum. The analyst's prior of $p$ is uniform. So all counts $X$ are equally
# probable a priori, and $p$ given $X$ has a beta distribution; given $X^*$ it has a mixture of $n + 1$ of
# them. Here is the sum for one pair, then the fast call for all pairs:

# %%
given_count = stats.beta(1 + ones, 1 + n - ones)
squared_error = given_count.var() + (given_count.mean() - 0.5) ** 2  # one entry for each X
weight = np.exp(tables[2.0].column(n_s // 2))
weight /= weight.sum()  # the posterior of X given X*
u = np.log10(weight @ squared_error / squared_error[n // 2])
assert np.isclose(u, Study(tables[2.0], 0.5).utility(n // 2, n_s // 2))
callout("U of one pair", f"$p_0$ = .5, ε = 2, half of data and release are ones: {u:.4f}.")

# %% tags=["hero"]
drawn = []
for p, e in itertools.product(p0, epsilon):
    study, rng = Study(tables[e], p), stream(seed, f"pairs, p0 = {p:g}, epsilon = {e:g}")
    found = pd.DataFrame(vars(study.draw_pairs(changed, prior, n_pairs, rng=rng)))
    found = found.assign(p0=p, epsilon=e, replicate=np.arange(1, n_pairs + 1))
    drawn.append(found.assign(all_zeros=found["x"] == 0).drop(columns="probability"))
pairs = pd.concat(drawn, ignore_index=True)
common, rare = (pick(p0, key=lambda p: min(p, 1 - p)) for pick in (max, min))
cases = expected_risk[["p0", "epsilon"]].reset_index(drop=True)
ranges = [exact[case].quantile_summary() for case in cases.itertuples(index=False)]
_ = outputs.table("distribution", cases.join(pd.DataFrame(ranges)))
shown = pairs[pairs["p0"].isin([common, rare])].sort_values("p0", ascending=False, kind="stable")
shown = charts.compact(shown[["p0", "epsilon", "utility", "risk", "all_zeros"]])
shown["D"] = np.where(shown.pop("all_zeros"), "D is all zeros", "D has ones")
for column, symbol in {"p0": "p₀", "epsilon": "ε"}.items():
    shown[column] = [f"{symbol} = {value:g}" for value in shown[column]]
points = alt.Chart(shown, width=540, height=150).mark_point(size=55, strokeWidth=1.6).encode(
    x=alt.X("utility:Q", title="Loss of precision U (log10, larger is worse)", scale=alt.Scale(zero=False)),
    y=alt.Y("risk:Q", title="Risk R", scale=alt.Scale(zero=False)),
    color=charts.ordered_color("epsilon", [*dict.fromkeys(shown["epsilon"])]),
    shape=alt.Shape("D:N", title=None, scale=alt.Scale(domain=["D has ones", "D is all zeros"], range=["circle", "square"])),
    tooltip=["p0:N", "epsilon:N", "D:N", "utility:Q", "risk:Q"],
)  # fmt: skip
about = "Points of risk against loss of precision, a panel for each p0. For the common value "
about += "all risks lie near one half; for the rare one they spread from low to certain at small"
about += " losses of precision."
panels = points.facet(alt.Facet("p0:N", title=None, sort=[*dict.fromkeys(shown["p0"])]), columns=1)
outputs.figure("figure_1_and_2", panels.properties(description=about))

# %% [markdown] tags=["appendix"]
# **If ones and zeros are common, a smaller budget costs precision and hardly moves the risk; if ones
# are rare, the largest budgets spread the risk widely.** Each point is a pair of data and release, as in
# the paper's Figures 1 and 2, for the most common and the rarest $p_0$. Squares are data without ones.
#
# ## Relative risk
#
# A risk of .99 is no news to an intruder whose prior was .99. The [relative
# risk](../docs/guide/glossary.md#relative-risk) $RR = R/w$ (equation 8) compares it with the prior $w$. The paper draws
# $RR$ against $R$ for 1,000 values of $w$. With $L = p(D^* \mid \text{true value})/p(D^* \mid \text{other value})$
# Bayes' rule is $R(1 - w) = wL(1 - R)$. Divided by $w$, it makes these curves straight:
#
# $$RR = R + L\,(1 - R).$$
#
# So the single number $L$ describes a release: it is the relative risk for vanishing $w$, and $RR$ never
# exceeds the larger of $L$ and 1. Figures 3 and 4 are statements about $L$, with the probabilities below.
# None of the paper's sixty releases exceeds 1.25, but other releases can. At $X = 500$ and $\epsilon = 1000$, where $\alpha = .58$, the least favorable release has $L =
# (500.58/499.58)^{1000} = 7.4$.

# %%
limits = pd.DataFrame(list(exact), columns=["p0", "epsilon"])
for limit, size in itertools.product((1.25, 2), (1, 10)):
    above = [q.event_probability(q.log_ratio > np.log(limit), size) for q in exact.values()]
    limits[f"L > {limit:g}, {size} release{'s'[: size > 1]}"] = above
outputs.table("relative_risk_limits", limits)
shown = limits[limits["p0"].isin([0.001, 0.5]) & (limits["epsilon"] >= 2)]
caption = "Probability that L exceeds 1.25 or 2, in one release and in at least one of ten."
display(show(shown.head(12), digits=4, caption=caption))
limits.index = limits["p0"].map("p₀ = {:g}, ".format) + limits["epsilon"].map("ε = {:g}".format)
never = 1 - limits.loc[limits["p0"] == 0.5, "L > 1.25, 10 releases"]
some = limits.query("p0 == 0.001 and epsilon >= 100")["L > 2, 10 releases"]
claims.check(
    "C4", "holds", "Both observations are quite probable in ten pairs of this design.",
    measured="probability in ten pairs", value=pd.concat([never, some]), relation=">=", limit=0.05,
)  # fmt: skip

# %% [markdown] tags=["appendix"]
# ## The Markov chain
#
# The paper computes $E\big((p - p_0)^2 \mid X^*\big)$ from 99,000 draws of a chain (after Charest
# 2010). A step of $X$ by one is accepted by the Metropolis–Hastings rule, given $p$; then $p$ is drawn given $X$.
# From 0 and $n$ the only proposal is inwards. It is twice as probable as the proposal back, and the acceptance ratio
# corrects for this.
#
# The appendix proposes $X \pm 1$ "for $2 \le X \le n - 1$". Taken literally, this leaves $X = 1$ without a
# proposal, and a chain never reaches 0 or 1 unless it started there; here the rule holds from 1 on.
#
# As a check, with ten records the chain must have the correct average within four of its
# [Monte Carlo errors](../docs/guide/glossary.md#monte-carlo-error). Then every pair of the design gets the run's number of
# chains; the first of them is the paper's.


# %%
@numba.njit
def paper_chain(log_target, x, p, n_steps, rng):
    """Return p and X along the chain of Appendix B; log_target is log p(X* | X) (n choose X)."""
    last, draws = len(log_target) - 1, np.empty((2, n_steps))
    for step in range(n_steps):
        if x == 0 or x == last:
            proposal = 1 if x == 0 else last - 1
        else:
            proposal = x + 1 if rng.random() < 0.5 else x - 1
        log_ratio = log_target[proposal] - log_target[x]
        log_ratio += (proposal - x) * (np.log(p) - np.log1p(-p))
        log_ratio += np.log(2.0) * ((proposal in (0, last)) - (x in (0, last)))
        if log_ratio >= 0 or rng.random() < np.exp(log_ratio):
            x = proposal
        of_ones, of_zeros = rng.standard_gamma(1 + x), rng.standard_gamma(1 + last - x)
        p = of_ones / (of_ones + of_zeros)
        draws[0, step], draws[1, step] = p, x
    return draws


def run_chains(table, x_star, steps, count, rng):
    """Run chains from the paper's start, with p and X uniform; (count, 2, steps)."""
    log_target = table.column(x_star) + mechanism.log_binomial(table.n_inputs - 1)
    starts = ((own, own.random(), own.integers(table.n_inputs)) for own in rng.spawn(count))
    return np.stack([paper_chain(log_target, x, p, steps, own) for own, p, x in starts])


# %% tags=["monte-carlo"]
ten = mechanism.private_plugin(2.0, n=10, n_s=10)
errors = (run_chains(ten, 3, 50_000, 4, stream(2012, "ten records"))[:, 0, 1000:] - 0.3) ** 2
told = diagnostics.summary({"squared error": errors[:, ::10]}).iloc[0]
right = Study(ten, 0.3).squared_error_given_release(3)[0]
assert abs(errors.mean() - right) < 4 * told["mcse"]
callout("Ten records", f"Mean squared error {errors.mean():.5f} from chains, {right:.5f} exact.")

# %% tags=["monte-carlo"]
rows = []
for q in pairs.itertuples(index=False):
    case = f"p0 = {q.p0:g}, epsilon = {q.epsilon:g}, replicate {q.replicate}"
    rng = stream(seed, f"chains, {case}")
    draws = run_chains(tables[q.epsilon], q.x_star, burn_in + n_steps, n_chains, rng)
    errors = (draws[:, 0, burn_in:] - q.p0) ** 2
    known = given_count.var()[q.x] + (given_count.mean()[q.x] - q.p0) ** 2
    single = np.log10(errors.mean(axis=1) / known)
    told = diagnostics.summary({"squared error": errors[:, ::50]}).iloc[0]
    row = {"utility_one_chain": single[0], "utility_mcmc": np.log10(errors.mean() / known)}
    row |= {"utility_lowest": single.min(), "utility_highest": single.max()}
    row |= {"mcse": told["mcse"] / told["mean"] / np.log(10)}
    rows.append(row | told[["ess_bulk", "r_hat", "verdict"]].to_dict())
replicates = outputs.table("replicates", pairs.join(pd.DataFrame(rows)))

# %% tags=["monte-carlo"]
missed = (replicates["utility_one_chain"] - replicates["utility"]).abs()
good = replicates["verdict"] == diagnostics.CONVERGED
judged = replicates.assign(near=missed <= 0.1, good=good)
by_epsilon = judged.groupby("epsilon", sort=False).agg(
    pairs=("near", "size"), converged=("good", "sum"),
    **{"largest R-hat": ("r_hat", "max"), "single chain within 0.1": ("near", "sum")},
)  # fmt: skip
near = judged.pivot_table("near", "epsilon", "p0", aggfunc="sum")
by_epsilon = by_epsilon.join(near.rename(columns="p₀ = {:g}".format)).reset_index()
caption = f"Convergence of {n_chains} chains for each pair, and single chains within 0.1 of the "
caption += "exact sum, by budget (last columns: also by p₀)."
display(show(outputs.table("chains", by_epsilon), caption=caption))
where = "p₀ = " + pairs["p0"].map("{:g}".format) + ", ε = " + pairs["epsilon"].map("{:g}".format)
claims.check(
    "C5", r"depends on $p_0$ and $\epsilon$",
    "If values are rare, single chains often miss the exact sum at every budget; if they are common, at "
    "small budgets.",
    measured="distance of $U$ from a single chain to the exact sum",
    value=missed.set_axis(where + ", replicate " + pairs["replicate"].astype(str)),
    relation="<=", limit=0.1,
)  # fmt: skip

# %% [markdown]
# Two things go wrong. First, the chain mixes too slowly. For small $\epsilon$ the posterior of $X$ is
# nearly flat over $0..n$, and crossing it in single steps takes of the order of $n^2$ steps.
# [R-hat](../docs/guide/glossary.md#r-hat) (Vehtari et al. 2021) detects this with more than one chain. Below are a
# converged set of chains (the rarest value, the largest $\epsilon$, and three times as many steps dropped) and an
# unconverged one (the smallest $\epsilon$), for typical data and their most probable release.
#
# Second, the burn-in is too short. The paper starts $X$ anywhere in $0..n$ and drops 1,000
# steps. If the posterior is concentrated near 0, a chain that starts at 900 needs at least 900 steps
# down. Such a stretch ruins an average of *squared* errors that are otherwise of order $10^{-6}$. The last
# table gives $U$ for the converged set after each of the two burn-ins.

# %% tags=["monte-carlo"]
later, typical = min(3 * burn_in, burn_in + n_steps // 2), round(n * rare)
sets = {}
for e in (min(epsilon), max(epsilon)):
    rng, x_star = stream(seed, f"walks {rare:g} {e:g}"), int(tables[e].row(typical).argmax())
    sets[f"X, ε = {e:g}"] = run_chains(tables[e], x_star, burn_in + n_steps, n_chains, rng)
walks = {name: draws[:, 1, later::20] for name, draws in reversed(sets.items())}
summary = outputs.table("diagnostics", diagnostics.summary(walks))
display(diagnostics.verdict(summary))
display(show(summary, caption="Mean of X and its convergence, over every 20th draw."))
rows, right = [], float(Study(tables[e], rare).utility(typical, x_star))
errors = (sets[f"X, ε = {e:g}"][:, 0] - rare) ** 2
known = given_count.var()[typical] + (given_count.mean()[typical] - rare) ** 2
for dropped in (burn_in, later):
    single = np.log10(errors[:, dropped:].mean(axis=1) / known)
    told = diagnostics.summary({"squared error": errors[:, dropped::50]}).iloc[0]
    rows.append((dropped, single.min(), single.max(), right, told["r_hat"]))
names = ["steps dropped", "U, lowest chain", "U, highest chain", "U, exact sum", "r_hat"]
transient = outputs.table("transient", pd.DataFrame(rows, columns=names))
display(show(transient, caption=f"U from single chains and exact, p₀ = {rare:g}, ε = {e:g}."))
about = "Traces of X. At the largest budget four chains make one band; at the smallest they drift apart."
chart = charts.trace(diagnostics.long_format(walks), description=about)
outputs.figure("trace", chart)

# %% [markdown]
# **Converged chains overlap; the others drift apart.** $X$ along the chains, at the largest and at the smallest budget.
# The table above shows the transient that the paper's burn-in leaves. R-hat does not detect it; three times the burn-in
# removes it.

# %% [markdown]
# ### Exercise 3: one step of the chain
#
# Take two records, two synthetic records, $\epsilon = 2$, and a release with $X^* = 1$. The chain of Appendix B is
# at $X = 0$; it draws $p$ from Beta(1, 3) and proposes $X = 1$. With what probability is the proposal
# accepted? Integrate (`accepted`, four decimal places), and compare with steps of `paper_chain`. (From 1 the step
# back is proposed with probability 1/2. The minimum belongs inside the integral.)
#
# *You will need:* `mechanism.private_plugin(2.0, n=2, n_s=2)` and its `.row(X)[1]`, a log probability.

# %% tags=["solution"]
# Solution
two_records = mechanism.private_plugin(2.0, n=2, n_s=2)
gain = 2 * np.exp(two_records.row(1)[1] - two_records.row(0)[1]) / 2  # back: one half; orders: 2
middles = (np.arange(100_000) + 0.5) / 100_000
accepted = np.mean(np.minimum(1, gain * middles / (1 - middles)) * 3 * (1 - middles) ** 2)
dice, target_of_two = np.random.default_rng(3), two_records.column(1) + np.log([1, 2, 1])
steps = [paper_chain(target_of_two, 0, dice.beta(1, 3), 1, dice)[1, 0] for _ in range(20_000)]
assert abs(np.mean(steps) - accepted) < 4 * np.std(steps) / np.sqrt(20_000)
assert round(accepted, 4) == 0.5076

# %% [markdown] tags=["appendix"]
# ## The ranges of U
#
# The paper's section 3.2 names no $p_0$ for the ranges of its "simulated values"; its next sentence is
# about .5. We take the ends of a range as the smallest and the largest of ten pairs at one $p_0$. All ten
# lie between $a$ and $b$ with probability $\{F(b) - F(a)\}^{10}$, and differences of this over the cells to
# which ends are rounded give the probability of every range that could be printed. A range printed to
# hundredths is improbable under any $p_0$, so each is compared with the most probable range at the same
# $p_0$.
#
# The range 2 to 2.7 may also come from unconverged chains. An explanation must account for
# *both* ends. The last table has their likelihood under exact utilities and under single chains like
# the paper's, with standard errors from resampling the chains.


# %%
def range_chances(utility, weight, ends, shift=0.5):
    """Return the probabilities of the lower, the upper and both ends, and of the likeliest range."""
    order = np.argsort(utility)
    cumulative, below, printed_at = np.append(0, np.cumsum(weight[order])) / weight.sum(), [], []
    for end, unit in ends:
        cells = np.arange(np.floor(utility.min() / unit), np.ceil(utility.max() / unit) + 2)
        cells = np.union1d(cells, round(end / unit) + np.arange(2))
        below.append(cumulative[np.searchsorted(utility[order], (cells - shift) * unit)])
        printed_at.append(int(np.searchsorted(cells, round(end / unit))))
    all_inside = np.maximum(below[1] - below[0][:, None], 0) ** 10
    chance = np.maximum(-np.diff(np.diff(all_inside, axis=0), axis=1), 0)
    assert np.isclose(chance.sum(), 1)
    lower, upper = printed_at
    return chance[lower].sum(), chance[:, upper].sum(), chance[lower, upper], chance.max()


# %%
RANGES = {0.01: ((2.0, 0.1), (2.7, 0.1)), 2.0: ((0.25, 0.01), (1.1, 0.1))}  # ends and their units
rows = []
for p, e in itertools.product(every_p0, RANGES):
    q = exact[p, e]
    ends = [of("utility", 10, 0.5) for of in (q.minimum_quantile, q.maximum_quantile)]
    printed_range = " to ".join(f"{end:g}" for end, _ in RANGES[e])
    chances = range_chances(q.utility, q.probability, RANGES[e])
    cut = range_chances(q.utility, q.probability, RANGES[e], shift=0)[2]
    rows.append((p, e, printed_range, *ends, *chances, cut))
names = ["p0", "epsilon", "printed", "smallest of ten", "largest of ten", "lower end", "upper end"]
names += ["both ends", "likeliest range", "both ends, if truncated"]
ends = outputs.table("utility_ranges", pd.DataFrame(rows, columns=names))
caption = "Printed ranges of U, median ends of ten pairs, and probabilities of printing these ends."
display(show(ends[ends["p0"].isin(P0)], caption=caption))
relative = (ends["both ends"] / ends["likeliest range"]).groupby(ends["p0"]).min()
claims.check(
    "C3", "depends on $p_0$",
    "The ranges fit $p_0$ = .3. At .5 exact utilities cannot reach the upper end 2.7.",
    measured="probability of a printed range over that of the likeliest, smaller of the two",
    value=relative[[*P0]].rename("p₀ = {:g}".format), relation=">=", limit=0.01,
)  # fmt: skip

# %% tags=["monte-carlo", "spoiler-4"]
rows = []
for p in (0.3, 0.5):
    study, rng = Study(tables[0.01], p), stream(seed, f"single chains, {p:g}, 0.01")
    found = study.draw_pairs(changed, 0.5, n_single, rng=rng)
    told = []
    for x, x_star in np.column_stack([found.x, found.x_star]):
        (draws,) = run_chains(tables[0.01], x_star, burn_in + n_steps, 1, rng)
        known = given_count.var()[x] + (given_count.mean()[x] - p) ** 2
        told.append(np.log10(((draws[0, burn_in:] - p) ** 2).mean() / known))
    told, even, q = np.array(told), np.full(n_single, 1.0), exact[p, 0.01]
    again = [range_chances(rng.choice(told, n_single), even, RANGES[0.01])[2] for _ in range(200)]
    rows.append(("one chain", p, *range_chances(told, even, RANGES[0.01])[:3], np.std(again)))
    rows.append(("exact", p, *range_chances(q.utility, q.probability, RANGES[0.01])[:3], np.nan))
columns = ["utilities", "p0", "lower end", "upper end", "both ends", "standard error of both"]
likelihoods = pd.DataFrame(rows, columns=columns).sort_values(["utilities", "p0"])
caption = "Probability that the range of ten pairs prints as 2 to 2.7, by source of U."
display(show(outputs.table("range_likelihoods", likelihoods), digits=4, caption=caption))
*_, both, error = likelihoods[likelihoods["utilities"] == "one chain"].to_numpy().T
more = with_error(both[1] - both[0], np.hypot(*error))
callout("With one chain", f"The range is more probable at .5 than at .3 by {more}.")

# %% [markdown] tags=["spoiler-4"]
# Unconverged chains at $p_0 = .5$ often reach 2.7, but then the smallest of ten rarely stays at 2. Exact
# utilities at $p_0 = .3$ give both ends more easily. This does not settle the question: Appendix B says that
# utilities were computed by such chains, and with them .5 may well give the range more often than .3. The printed
# range favors accurate utilities, but only by the ratio of two entries of the table, and a range pooled
# over several $p_0$ is not tried. Independently, [The Markov chain](#The-Markov-chain) shows that the chains
# do not converge.

# %% [markdown] tags=["written"]
# ### Exercise 4: which pairs can give the printed 2.7?
#
# The paper's section 3.2 says that at $\epsilon = .01$ the simulated $U$ go up to 2.7. Let $n = n_s = 1000$ and the utility
# be exact. What is the probability that the largest of ten pairs lies between 2.65 and 2.75 if $p_0 = .35$
# (`at_35`), and if $p_0 = .4$ (`at_40`, both three decimal places)? A colleague finds that $U$ cannot reach 2.7 at
# $p_0 = .5$ and concludes that 2.7 is an error of unconverged Markov chains. Do your numbers `prove_it` (true or false),
# and what else could explain it? (The largest of ten is below a limit if all ten are below it.)
#
# *You will need:* `Study(mechanism.private_plugin(0.01, 1000, 1000), p).all_pairs(np.abs(np.arange(1001) - 1), 0.5)`,
# whose `.utility` and `.probability` are arrays over all pairs.

# %% tags=["solution"]
# Solution
strict, prints = mechanism.private_plugin(0.01, 1000, 1000), []
for proportion in (0.35, 0.4):
    pairs_there = Study(strict, proportion).all_pairs(np.abs(np.arange(1001) - 1), 0.5)
    utility, share = pairs_there.utility, pairs_there.probability
    prints.append(share[utility < 2.75].sum() ** 10 - share[utility < 2.65].sum() ** 10)
at_35, at_40 = prints
prove_it = max(prints) < 0.01
assert round(at_35, 3) == 0.780
assert round(at_40, 3) == 0.008
assert not prove_it

# %% [markdown] tags=["solution"]
# <details><summary>Solution</summary>
#
# A release at $\epsilon = .01$ discloses almost nothing, so the squared error is that of the prior:
# $1/12 + (1/2 - p_0)^2$. The denominator is about $p_0(1 - p_0)/1002$. At $p_0 = .5$ the ratio is some 334,
# $U = 2.52$; at $p_0 = .35$ it is some 466, and 2.7 is ordinary. The design has $p_0 = .3$, where 2.7 is also possible, and
# the paper does not say which pairs it means. So the number alone proves nothing about chains: compare how
# well each explanation gives *both* ends. (Running more than one chain shows that they do have convergence problems.)
#
# </details>

# %% [markdown]
# ## Acceptable regions
#
# The paper proposes to state which combinations of $R$ and $RR$ are acceptable (parameter
# `acceptable`), then to ask whether *any* prior $w$ leads out of that region. Along the straight line of a
# release each rule is violated on one interval of priors, with ends in closed form. The table has the pair most at
# risk at each $\epsilon$, for the rarest $p_0$:

# %%
w, wrong = np.arange(1, 1001) / 1001, []
for log_l in pairs["log_ratio"]:
    risk = expit(np.log(w / (1 - w)) + log_l)
    broken = acceptance.violates_rules(risk, risk / w, rules)
    pieces = acceptance.unacceptable_priors(log_l, rules)
    solved = np.any([(low < w) & (w < high) for low, high in pieces] or [w < 0], axis=0)
    wrong.append((broken != solved).sum())
claims.check(
    "C6", "proved", "The interval of each rule follows from $RR = R + L(1 - R)$.",
    measured="priors, of 1,000, on which solution and definition disagree",
    value=pd.Series(wrong, index=where + ", replicate " + pairs["replicate"].astype(str)),
    relation="<=", limit=0,
)  # fmt: skip

# %%
worst = pairs[pairs["p0"] == rare].sort_values("log_ratio").groupby("epsilon").tail(1)
worst = worst.sort_values("epsilon", ascending=False)[["epsilon", "x", "x_star", "log_ratio"]]
pieces = [acceptance.unacceptable_priors(log_l, rules) for log_l in worst["log_ratio"]]
said = [", ".join(f"{a:.4g} to {b:.4g}" for a, b in piece) or "none" for piece in pieces]
worst = worst.assign(L=np.exp(worst["log_ratio"])).assign(**{"unacceptable priors": said})
caption = "The riskiest pair at each budget, and priors for which its release is unacceptable."
shown = outputs.table("acceptance", worst).drop(columns="log_ratio")
display(show(shown, caption=caption, names={"x": "X"}))
by_name = dict(zip("ε = " + worst["epsilon"].map("{:g}".format), worst["log_ratio"], strict=True))
lines = charts.compact(acceptance.risk_curves(by_name, rules))
region = pd.DataFrame(map(vars, rules))
region["top"] = 1.3 * max(lines["relative_risk"].max(), region["rr_at_most"].max())
refused = alt.Chart(region).mark_rect(color="#D43D51", opacity=0.22).encode(
    x="r_at_least:Q", x2="r_at_most:Q", y="rr_at_most:Q", y2="top:Q"
)  # fmt: skip
log = alt.Scale(type="log", nice=False, padding=5)
line = alt.Chart(lines).encode(
    x=alt.X("risk:Q", title="Risk R"),
    y=alt.Y("relative_risk:Q", title="Relative risk RR (log scale)", scale=log),
    color=charts.ordered_color("curve", [*by_name]),
    detail="segment:N",
)
thin = line.transform_filter("datum.segment == 0").mark_line(strokeWidth=1.6)
thick = line.transform_filter("datum.segment > 0").mark_line(strokeWidth=5, opacity=0.8)
about = "Relative risk against risk over all priors, a falling line for each budget. A shaded "
about += "staircase is the unacceptable region. The line of the largest budget lies in it for "
about += "nearly all priors."
chart = (refused + thin + thick).properties(width=540, height=320, description=about)
outputs.figure("region", chart)

# %% [markdown] tags=["appendix"]
# **The riskiest releases of the largest budgets are unacceptable for some priors, those of small budgets for none.** $RR$
# against $R$ of the riskiest pair at each budget, over all priors. The shaded region is unacceptable; lines are thick
# inside it.
#
# If *no* release may violate a rule, the worst column counts again. The paper's rule for $R \ge .9$ has its corner
# at $.9 + .1\,L = 1.05$, which is $L = 1.5$, and $\epsilon = \log 1.5 = .4055$ satisfies that rule for all data.
#
# ## What a published choice discloses
#
# If several $D^*$ qualify, the paper's section 4 takes the one with the greatest utility, "e.g., the
# largest $\epsilon$ in our setting". It suspects that a published region and $\epsilon$ leak
# information on $Y_j$, but speculates that "the randomness inherent in $D^*$" would make the
# attack challenging.
#
# Make the choice explicit: draw a release at each budget, and publish the one with the largest $\epsilon$
# that violates no rule, for any prior and any record. This is also a mechanism, from the data to the pair
# $(\epsilon, X^*)$. A release violates no rule if $L$ against both neighbors is at most that of the
# tightest corner. Bayes' rule applies to the table of `chosen` as to any other. The table below has 20 records with
# budgets from 20 down to .5, then the run's own $n$ and budgets, from rare ones to common ones and back.
# The record at risk has a one (a zero at $X = 0$), and the prior is 1/2.

# %%
most = acceptance.largest_log_ratio(rules)


def chosen(tables, x):
    """Return the log probabilities of each published (epsilon, X*), and of none, given X."""
    parts, log_refused = [], 0.0
    for e in sorted(tables, reverse=True):
        row = tables[e].row(x)
        others = [tables[e].row(y) for y in (x - 1, x + 1) if 0 <= y < tables[e].n_inputs]
        passes = np.all([row - other <= most for other in others], axis=0)
        parts.append(np.where(passes, log_refused + row, -np.inf))
        log_refused += logsumexp(row[~passes]) if not passes.all() else -np.inf
    return np.append(np.concatenate(parts), log_refused)


small = {e: mechanism.private_plugin(e, 20, 20) for e in (20.0, 10.0, 5.0, 2.0, 1.0, 0.5)}
order = sorted(small, reverse=True)
whole = acceptance.release_first_acceptable([small[e] for e in order], rules, order)
assert all(np.allclose(np.exp(chosen(small, x)), np.exp(whole.row(x))) for x in range(21))

# %%
rows = []
for of, k in ((small, 20), ({e: tables[e] for e in epsilon}, n)):
    loose = of[max(of)]
    for x in [x for x in (0, 1, 2, 10, 20, 30, 100, 300, 500, 990) if x <= k]:
        y = abs(x - 1)
        published, other = chosen(of, x), chosen(of, y)
        happens = np.isfinite(published)
        weight, log_l = np.exp(published[happens]), published[happens] - other[happens]
        refused = 1 - np.exp(published[: loose.n_outputs]).sum()
        unchosen = np.exp(loose.row(x)) @ expit(loose.row(x) - loose.row(y))
        shares = [weight @ np.isposinf(log_l), weight @ (log_l > most + 1e-9)]
        rows.append((k, x, unchosen, weight @ expit(log_l), *shares, max(refused, 0.0)))
names = ["records", "ones in the data", "R, largest ε, no choice", "R, knowing the rule"]
ends_of_row = ["value certain", "outside the region", "rejected at the largest ε"]
attack = pd.DataFrame(rows, columns=[*names, *ends_of_row])

# %%
caption = "Mean risk R without and with a choice; releases that disclose more than promised."
display(show(outputs.table("attack", attack), caption=caption))
data = attack["records"].map("{:,} records, X = ".format) + attack["ones in the data"].astype(str)
claims.check(
    "C8", "depends on the data set",
    "With hundreds of ones and of zeros hardly any release is rejected and the choice discloses nearly "
    "nothing. If either value is rare, and among 20 records, it discloses more.",
    measured="share of releases outside the region",
    value=attack["outside the region"].set_axis(data), relation="<=", limit=0.05,
)  # fmt: skip

# %% [markdown] tags=["appendix"]
# An intruder who knows the rule and the budgets also asks whether a different record could have led to the same
# publication. If not, the value is certain, although the region promised a bounded $L$ for every prior. The randomness
# of $D^*$ helps only if nearly every $D^*$ passes: the test itself is not random. If the budget is fixed without the
# data, the *choice* discloses nothing; the release still spends the budget. All this assumes a public rule, which the
# paper advises against. For multivariate records its section 4 proposes the share of records outside the region, which
# `acceptance.unacceptable_share` computes for microdata.
#
# *For discussion:* an agency wants to publish its region, its budgets and its rule of choice. Propose a
# procedure with its own finite epsilon, and say what it costs.
#
# ## Several releases, larger and smaller ones
#
# If $m$ releases together must satisfy $\epsilon$, each gets $\epsilon/m$. Their joint probability depends
# only on the sum of the $m$ counts, so they are equivalent to *one* release of $m\,n_s$ records
# at $\epsilon$, with the same $\alpha$ and likelihood. Questions about $m$ and $n_s$ are the same. The utility loss
# below is the $\log_{10}$ of the *mean* ratio of equation 4 over the releases of typical data, which is not
# the mean of $U$:

# %%
rows = []
for p, e, size in itertools.product([common, rare], epsilon, (0.1, 0.2, 0.5, 1, 2, 5, 10)):
    size_of_release = round(size * n)
    if size * n >= 1 and e < 700 * size_of_release:
        study = Study(mechanism.private_plugin(e, n, size_of_release), p)
        rows.append((p, e, float(size), study.expected_utility(round(n * p))))
by_size = pd.DataFrame(rows, columns=["p0", "epsilon", "size", "loss"]).drop_duplicates()
_ = outputs.table("release_size", by_size)
two = by_size.pivot(index=["p0", "epsilon"], columns="size", values="loss")[[1.0, 2.0]].dropna()
two.index = [f"p₀ = {p:g}, ε = {e:g}" for p, e in two.index]
display(show(two.rename(columns="{:g} nₛ".format).rename_axis(None, axis=1).reset_index(names="case"),
             caption="Log10 of the mean ratio in equation 4, for one and two releases at the same ε."))  # fmt: skip
claims.check(
    "C7", r"depends on $p_0$ and $\epsilon$",
    "At the smallest budget both losses are equal, to the digits shown. A second release costs precision at "
    "middle budgets and gains some at large ones; if values are rare the gain starts at a larger budget.",
    measured="utility loss of two releases, against that of one", value=two[2.0].round(2), relation=">",
    limit=two[1.0].round(2), required_share=0.75,
)  # fmt: skip

# %%
of_common = by_size.query("p0 == @common")
curves = of_common.pivot(index="size", columns="epsilon", values="loss")
curves = curves[sorted(curves, reverse=True)].rename(columns="ε = {:g}".format)
titles = "Released records over records, m nₛ / n (log scale)", "Loss of precision (log10)"
about = "A curve for each budget. Loss of precision falls with the size of the release at large "
about += "budgets, is least at middle sizes for middle budgets, and rises or stays at small ones."
chart = charts.lines(curves, *titles, log_x=True, ordered=True, description=about)
outputs.figure("release_size", chart)

# %% [markdown] tags=["appendix"]
# **With common values, larger budgets favor larger releases.** Loss of precision by the number
# of released records, at fixed total $\epsilon$, for the most common $p_0$. With $N$ records and
# $q = (X + \alpha)/(n + 2\alpha)$ the information about $X$ is $N/[q(1-q)(n + 2\alpha)^2]$, $\alpha \approx N/\epsilon$.
# More records reduce the sampling noise and enlarge $\alpha$; if $q(1-q)$ is 1/4, the best size is
# $N = n\epsilon/2$. For rare ones $\alpha$ also adds noise through $q$.
#
# ## The ledger
#
# Ends of ranges and other events of the paper's own ten pairs get no verdict, because their spread is not a tolerance;
# the named sections give the results of this design.

# %%
inner = np.flatnonzero((ones > 0) & (ones < n))  # counts at which both neighbors are proposed
number = printed("mcclure_reiter").set_index("id")["printed"].astype(float)
keys = "alpha", "one", "total", "p_y_0", "p_y_1", "risk"
computed = dict(zip([f"example_{key}" for key in keys], example, strict=True))
if n == n_s == 1000 and prior == 0.5:
    for p, e in itertools.product(P0, EPSILON):
        key = f"table1_{p:g}_{e:g}".replace("_0.", "_", 1)
        computed[key] = exact[p, e].expected_increase(prior)
    table_1 = pd.Series({key: computed[key] for key in computed if key.startswith("table1_")})
    unit = printed("mcclure_reiter").set_index("id")["tolerance"][table_1.index]
    digits = (number[table_1.index] / unit).round()
    cut, rounded = np.floor(table_1 / unit) == digits, np.round(table_1 / unit) == digits
    others = ", ".join(numbers(number[cut.index[~cut]])) or "none"
    told = f"{cut.sum()} of {len(cut)} printed values agree with the exact value truncated, "
    told += f"{rounded.sum()} with it rounded. Printed values not truncated: {others}."
    display(callout("Last digits of Table 1", told))
    computed |= {"chain_lowest_inner": inner.min(), "chain_highest_inner": inner.max()}
    computed["decreased_to"] = max(e for e in EPSILON if e < 10)
consistent = {
    "data_sets_a_figure": (
        number["pairs"] * number.index.str.startswith("epsilon_").sum(), "budgets times pairs",
    ),
    "increase_001": (number["table1_001_1000"], "Table 1"),
    "increase_at_most_5": (number["table1_5_1000"], "Table 1"),
}  # fmt: skip
for key in number.index[number.index.str.startswith("ratio_")]:
    consistent[key] = 10 ** number[key.replace("ratio", "utility")], "10 to the printed U"

# %%
settings = {"n": n, "n_s": n_s, "prior": prior, "pairs": n_pairs, "chain_burn_in": burn_in}
settings |= {"chain_prior": 1, "chain_steps": burn_in + n_steps}
settings |= {f"p0_{p:g}".replace("0.", ""): p for p in p0}
settings |= {f"epsilon_{e:g}": e for e in epsilon}
settings |= {"rule_low_relative": rules[0].rr_at_most, "rule_low_risk": rules[0].r_at_most}
settings |= {"rule_high_relative": rules[-1].rr_at_most, "rule_high_risk": rules[-1].r_at_least}
settings["rule_middle_risk"] = rules[len(rules) // 2].r_at_least
settings = {key: value for key, value in settings.items() if key in number.index}
of_draws = "the paper's own ten pairs; section "
skip = {key: of_draws + "The ranges of U" for key in number.index if key.startswith("utility_")}
skip |= dict.fromkeys(("figure3_largest", "figure4_largest"), of_draws + "Relative risk")
skip |= dict.fromkeys(("figure4_epsilon",), of_draws + "Relative risk")
skip |= dict.fromkeys(
    ("figure2_highest_risk", "example_observed"), of_draws + "The expected increase in risk"
)
skip |= dict.fromkeys(
    ("small_risk_epsilon", "small_only_epsilon", "vicinity_epsilon", "little_loss_epsilon"),
    "a judgment on a figure or table without a printed criterion",
)
skip |= dict.fromkeys(("risk_threshold", "prior_high", "prior_low"), "an example, used nowhere")
skip["figure_priors"] = "two priors determine a line; section Relative risk"
notes = {"decreased_to": "no epsilon of the design is 1; section What did not reproduce, and why"}
notes["chain_lowest_inner"] = "X = 1 would have no proposal; section The Markov chain"
_ = outputs.table("claims", claims.table)
outputs.ledger(
    ledger(
        "mcclure_reiter", computed, settings=settings, consistent=consistent, skip=skip,
        missing="belongs to the paper's settings", notes=notes,
    )
)  # fmt: skip

# %% [markdown] tags=["appendix"]
# ## What did not reproduce, and why
#
# - **The paper's section 1 speaks of decreasing $\epsilon$ "from ten to one"**; below ten the design
#   has 2, .2 and .01.
# - **The paper's equation 11** has $\binom{n}{X^*}$ for $\binom{n_s}{X^*}$, which cancels. For the slips in
#   its equation 10 and its Appendix B see Exercise 1 and [The Markov chain](#The-Markov-chain).
# - **Some last digits of Table 1** look truncated rather than rounded (.0367 is printed as .036), as counted
#   above the ledger; none is further than one unit of its last digit from the exact value.
# - Not treated here: synthesizers with many interactions, and output perturbation (section 5).
#
# Kazan and Reiter (2024) turn the paper's section 4 around: the agency states acceptable $R$ and $RR$ for all priors,
# and the largest $\epsilon$ follows without looking at the data, as $\log 1.5$ does from the paper's rule. Liu and
# Talwar (2019) select among private releases with a finite epsilon, by a score that is part of the release.
#
# ## References
#
# - Abowd, J. and Vilhuber, L. (2008). How protective are synthetic data? *Privacy in Statistical
#   Databases*, 239–246. <https://doi.org/10.1007/978-3-540-87471-3_20>
# - Charest, A.-S. (2010). How can we analyze differentially-private synthetic datasets? *Journal of
#   Privacy and Confidentiality* 2(2). <https://doi.org/10.29012/jpc.v2i2.589>
# - Charest, A.-S. and Han, Y. On the meaning and limits of empirical differential privacy. *Journal of
#   Privacy and Confidentiality* 7(3). <https://doi.org/10.29012/jpc.v7i3.406>
# - Dwork, C. (2006). Differential privacy. *ICALP*, 1–12. <https://doi.org/10.1007/11787006_1>
# - Kazan, Z. and Reiter, J. P. (2024). Prior-itizing privacy: a Bayesian approach to setting the privacy
#   budget in differential privacy. *NeurIPS*. <https://doi.org/10.48550/arXiv.2306.13214>
# - Liu, J. and Talwar, K. (2019). Private selection from private candidates. *STOC*.
#   <https://doi.org/10.1145/3313276.3316377>
# - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Bürkner, P.-C. (2021). Rank-normalization,
#   folding, and localization: an improved R-hat for assessing convergence of MCMC. *Bayesian
#   Analysis* 16, 667–718. <https://doi.org/10.1214/20-BA1221>
