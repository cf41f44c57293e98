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
# # On the embedded population, the less an intruder knows, the more a release tells: of everybody, hardly of you
#
# **Hu, J., Reiter, J. P. and Wang, Q. (2014).** Disclosure risk evaluation for fully synthetic
# categorical data. In *Privacy in Statistical Databases*, 185–199. Springer. Sections 3.1, 4.2 and
# 5, as far as they are about other intruders than the one of the main study.
#
# That intruder knows every record but one, holds only those values of the last one possible that
# differ from the truth in one variable, and thinks them all equally probable (`hu_reiter_wang`
# runs that study). The paper calls this conservative: an intruder who knows less, and searches a
# larger space, should do worse. Here the other intruders are computed, not conjectured: over two
# changes and over every cell of the table; with part of the record known; with the model's own
# prediction as prior; with some of the other records known, from all of them to none. At the end an
# agency's rules say which of the risks it could accept.
#
# ## What is claimed, and where
#
# | claim | place in the paper |
# |---|---|
# | **C1** Restricting the support to one change is conservative. | 3.1, last paragraph |
# | **C2** Over one change, margins of a few variables say little. | 4.2, equation 17 |
# | **C3** An intruder who lacks only a few variables can guess them. | 4.2, equation 16 |
# | **C4** Where posterior and informative prior hardly differ, the release adds little. | 5 |
# | **C5** Risks that are acceptable under $D_{-i}$ are so for an intruder who knows less. | 3.1 |
# | **C6** Not to know every other record is computationally very expensive. | 5 |
#
# The title is what this notebook finds at its defaults. Other data may have other answers, so the
# verdicts are computed. A callout under the numbers that decide a claim says that it *holds here*,
# that it *depends on* something, or that it *fails*. It says *not decided* where the deciding number
# is within two standard errors of its limit. The limits are in the text above each callout, and a
# table collects the callouts at the end. What is *proved* holds for all data.
#
# Most of the claims are judged record by record, or combination by combination. Such a claim holds if
# it is so, by two standard errors, for more than 95 % of them. It fails if it may be so for at most
# 5 %, and in between it depends on the record. What counts as little is a choice: a factor of 1.5,
# as from a probability of 10 % to one of 15 %.

# %% [markdown]
# ## What you will learn
#
# - to say what an intruder holds possible, and why more candidates are not less risk;
# - to compute a posterior for part of a record, and over every cell of a table;
# - to take a model's own prediction as prior, and to see what a release adds to it;
# - to tell what a release says of everybody from what it says of its participants;
# - to set an agency's rules beside risks that are known up to Monte Carlo error.

# %% [markdown]
# ## Parameters
#
# The defaults take nine variables, so that every cell can be visited for every record in a second;
# `params/intruders/full.yaml` takes all fourteen, 8.7 million cells.

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
fractions: list[float] = [0.0, 0.1, 0.3, 0.6, 1.0]  # [0, 1] shares of the other records known
fractions_two: list[float] = [0.0, 0.5]  # [0, 1] shares where the intruder sees both releases
acceptable: list[dict[str, float]] = [
    {"rr_at_most": 3, "r_at_most": 0.1},
    {"rr_at_most": 1.5, "r_at_least": 0.1, "r_at_most": 0.5},
    {"rr_at_most": 1.1, "r_at_least": 0.5},
]  # <srlib.mechanism.acceptance.read_rules> what may be released: RR at most so much where R is so
n_supports: int = 40  # [4, inf) records for which the three supports are compared
n_targets: int = 60  # [10, inf) records that are sought by intruders who see both releases
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
from srlib.display import callout, show
from srlib.mechanism import acceptance
from srlib.mechanism.bayes import posterior
from srlib.mechanism.families import beta_binomial
from srlib.papers import claims
from srlib.papers import intruders as paper
from srlib.rng import stream
from srlib.runner.outputs import Outputs

outputs, verdicts = Outputs(output_dir), claims.Claims()

# %% [markdown]
# ## Data, model, releases
#
# One half of the records is the confidential data $D$. The other half are people like them who did
# not take part. What a release says of *those* is knowledge about the population. What it says of
# participants beyond that is disclosure.

# %%
table = microdata.load(
    data, schema, n_records=n_records, drop_missing=drop_missing, ignore_columns=ignore_columns,
    vintage=vintage, rng=stream(seed, "records"),
)  # fmt: skip
dropped = table.schema.positions(without, "without") if without else []
used = Schema(tuple(v for v in table.schema.variables if v.name not in without))
levels, unknown_at = used.n_levels, used.positions(unknown, "unknown")
too_at = [used.positions(names, "unknown_too") for names in unknown_too]
print(*table.notes, sep="\n")
shuffled = stream(seed, "halves").permutation(np.delete(table.codes, dropped, axis=1))
people, outsiders = np.array_split(shuffled, 2)
combinations, repetitions, _ = distinct(people)
about = {"records": len(people), "cells": used.n_cells, "combinations": len(combinations)}
about |= {"once": (repetitions == 1).sum(), "candidates, one change": 1 + (levels - 1).sum()}
show(outputs.table("data", pd.DataFrame([about])))

# %% [markdown]
# The synthesizer is the Dirichlet process mixture of products of multinomials (DPMPM) of the main
# study. Two synthetic files are released. Chains run on the data and on the data joined with each
# release, since all risks here are ratios of posterior predictive probabilities,
#
# $$p(Z \mid x, D_{-i}) \propto \prod_{l=1}^m \frac{p(x \mid D_{-i}, Z^{(l)})}{p(x \mid D_{-i})}.$$


# %%
settings = {"n_classes": n_classes, "burn_in": burn_in, "n_draws": n_draws, "thin": thin}


def posterior_draws(codes: np.ndarray, purpose: str) -> dpmpm.Draws:
    """Draws from the posterior of the synthesis model given some records."""
    chains = dpmpm.Chains(n_chains=n_chains, **settings)
    return dpmpm.sample_posterior(codes, levels, chains, rng=stream(seed, purpose), label=purpose)


# %%
draws = posterior_draws(people, "data")
streams = [stream(seed, "Z1"), stream(seed, "Z2")]
releases = draws.release(2, len(people), rng=streams)
every_set = {"data": draws} | {
    f"data, release {i}": posterior_draws(np.vstack([people, release]), f"data, release {i}")
    for i, release in enumerate(releases, start=1)
}
sets = disclosure.DrawSets(draws, list(every_set.values())[1:])

# %% [markdown]
# What is used of the chains are probabilities of combinations. Here are those of the most frequent
# one and of a rarest for the chains on the data, and R-hat over all combinations for each set.

# %% tags=["monte-carlo"]
log_prob = {name: dpmpm.cell_log_prob(d, combinations) for name, d in every_set.items()}
quantities = {
    "alpha": draws.alpha,
    "occupied classes": draws.n_occupied,
    "log p, most frequent": log_prob["data"][:, :, repetitions.argmax()],
    "log p, a rarest": log_prob["data"][:, :, repetitions.argmin()],
}
healthy = diagnostics.summary(quantities)
print(diagnostics.verdict(healthy))
show(outputs.table("diagnostics", healthy), digits=2)

# %% tags=["monte-carlo"]
display(outputs.figure("trace", charts.trace(diagnostics.long_format(quantities))))
mixed = pd.DataFrame({name: diagnostics.over_many(v) for name, v in log_prob.items()}).T
mixed = mixed.rename_axis("chains given").reset_index()
show(outputs.table("mixing", mixed), digits=2)

# %% [markdown]
# **Four quantities in every chain**: bands of noise that overlap are chains that agree. Where
# R-hat is above 1.01, chains have not visited quite the same places, and errors within a chain are
# too small. All standard errors below come from *between* chains and contain that.
#
# ## One change, two changes, every cell (C1)
#
# ### The smallest example
#
# Two yes/no variables, and a release that speaks for the four cells with weights 1 (the truth),
# 1.2, 0.5 and, for the cell where both values differ, 0.4. Over one change three cells compete,
# over all of them four.

# %% tags=["public"]
weights = np.array([1.0, 1.2, 0.5, 0.4])
small = pd.DataFrame({"support": ["one change", "every cell"], "prior": [1 / 3, 1 / 4]})
small["probability"] = [1 / weights[:3].sum(), 1 / weights.sum()]
small["probability over prior"] = small["probability"] / small["prior"]
show(outputs.table("smallest_support", small, public=True))

# %% [markdown]
# The probability can only fall when candidates are added, and the rank can only get worse. That is
# the paper's argument. It needs no data, and **C1** is *proved* in this sense. Against the prior it is
# another matter. The last cell has less weight than the others have on average, so that over every
# cell the truth stands out *more* from a random guess than before.
#
# ### The experiment
#
# The same draws, three supports, for records spread over the risk under one change.

# %%
log_ratios = [disclosure.neighborhood_log_ratios(d, combinations)[0] for d in sets]
one_change = disclosure.predictive_ratio(log_ratios)
by_risk = np.argsort(-one_change.log_prob[:, 0])
chosen = by_risk[np.linspace(0, len(by_risk) - 1, min(n_supports, len(by_risk))).astype(int)]


def over_two_changes(x: np.ndarray) -> disclosure.Risk:
    """Risk over all candidates that differ from x in one variable or two."""
    support = disclosure.changed_support(x, 2, levels)
    return disclosure.predictive_ratio([disclosure.support_log_ratios(d, support)[0] for d in sets])


each = [over_two_changes(x) for x in combinations[chosen]]
two_changes = disclosure.Risk(*(np.vstack([getattr(r, a) for r in each]) for a in vars(each[0])))

# %% [markdown]
# Every cell for every record, by matrix products (`srlib.risk.whole`), with errors from between
# the chains.

# %%
whole = disclosure.whole_support(sets, combinations, margins=[unknown_at])
whole_log_prob = np.log(whole.probability)


# %% tags=["monte-carlo"]
rows = {}
for name, size, log_p, rank, error in (
    ("one change", one_change.support_size, one_change.log_prob[chosen, 0],
     one_change.rank[chosen], one_change.log_mcse[chosen, 0]),
    ("two changes", two_changes.support_size, two_changes.log_prob[:, 0],
     two_changes.rank, two_changes.log_mcse[:, 0]),
    ("every cell", used.n_cells, whole_log_prob[chosen], whole.rank[chosen],
     whole.log_mcse[chosen]),
):  # fmt: skip
    over, above = np.exp(log_p) * size, (rank - 0.5) / size
    rows[name] = {"candidates": size, "log probability": np.median(log_p)}
    rows[name] |= {"error of log": np.median(error), "over prior": np.median(over)}
    rows[name] |= {"largest over prior": over.max(), "share above": np.median(above)}
supports = pd.DataFrame(rows).T.astype({"candidates": int}).rename_axis("support").reset_index()
show(outputs.table("supports", supports))

# %% [markdown]
# Medians over the chosen records. The probability cannot but fall. `over prior`, what the release
# multiplies the prior by, need not. Nor need `share above`, the share of the candidates that are more
# probable than the truth. For every combination in the data:

# %%
ratio_one = np.exp(one_change.log_prob[:, 0]) * one_change.support_size
ratio_all = np.exp(whole_log_prob) * used.n_cells
log_difference = np.log(ratio_all / ratio_one)
error = np.hypot(one_change.log_mcse[:, 0], whole.log_mcse)
above_one, above_all = (one_change.rank - 0.5) / one_change.support_size, whole.rank / used.n_cells

# %% tags=["monte-carlo"]
compared = {
    "probability lower over every cell": whole_log_prob < one_change.log_prob[:, 0],
    "ratio to prior higher over every cell": log_difference > 0,
    "higher by more than two standard errors": log_difference > 2 * error,
    "lower by more than two standard errors": log_difference < -2 * error,
    "smaller share of candidates above the truth": above_all < above_one,
}
compared = pd.Series(compared, name="share of combinations").map(np.mean)
outputs.result("ratio_higher_over_every_cell", compared.iloc[1])
compared.to_frame().round(3)

# %% [markdown]
# Against a guess, **C1** is judged by the ratio to the prior. It holds for a combination whose ratio is
# lower over every cell.

# %% tags=["monte-carlo"]
pictured = pd.DataFrame({"x": ratio_one, "y": ratio_all})
titles = [f"posterior over prior, {support}" for support in ("one change", "every cell")]
display(outputs.figure("one_change_every_cell", charts.agreement(pictured, *titles)))
verdicts.say("C1", paper.conservative(np.log(ratio_one), np.log(ratio_all), error))

# %% [markdown]
# **What the release multiplies the prior probability of the truth by, over one change and over every
# cell.** A square stands for some combinations; above the line the larger support shows more. As in
# the smallest example it depends on whether the cells that are added get less weight than the
# neighbors do on average, and that may differ from table to table. Where some combinations lie above
# the line, an agency that reads ratios to the prior cannot call the small support the safe one.
#
# ### Margins of a few variables (C2, equation 17)
#
# Summing over all cells that share the true values of the variables `unknown` gives the posterior
# probability of those values. Over one change the same sum runs over the neighbors. Of these only
# $\sum (L_k - 1)$ change one of the variables $k$ in question, with $L_k$ levels each, and all others
# share the true values by construction. That share is the prior, and its inverse bounds what a release
# can multiply it by. **C2** holds for a combination if the release leaves the probability of the true
# values within a factor of 1.5 of it.

# %% tags=["monte-carlo"]
neighbors = disclosure.neighborhood(combinations, levels)
agree = (neighbors[..., unknown_at] == combinations[:, None, unknown_at]).all(axis=2)
n_values = np.prod(levels[unknown_at])
truth_at = np.ravel_multi_index(tuple(combinations[:, unknown_at].T), tuple(levels[unknown_at]))
each = np.arange(len(truth_at))
margins = pd.DataFrame({"prior, one change": agree.mean(axis=1)})
margins["posterior, one change"] = (np.exp(one_change.log_prob) * agree).sum(axis=1)
margins["prior, every cell"] = 1 / n_values
margins["posterior, every cell"] = whole.margins[0][each, truth_at]
margins["error, every cell"] = whole.margins_mcse[0][each, truth_at]
margins = margins.quantile([0.05, 0.5, 0.95]).rename_axis("quantile").reset_index()
display(show(outputs.table("margins", margins), settings=["quantile"]))
gain = disclosure.margin_gain(log_ratios, agree)
verdicts.say("C2", paper.says_little(*gain, prior=agree[0].mean()))

# %% [markdown]
# Over every cell the prior is one over the number of values. How far the posterior moves from there
# says what an intruder who knows nothing else of the record learns about these variables.
#
# ## Part of the record is known (C3, equation 16)
#
# Now the intruder knows all of the record but a few variables, and all of their combinations are
# candidates, for every record at once. **C3** holds for a combination if the release multiplies the
# uniform prior of the true values of `unknown` by more than 1.5.

# %%
main, part_known, informed = ", ".join(unknown), {}, {}
for at in [unknown_at, *too_at]:
    name = ", ".join(used.names[k] for k in at)
    of_part = [disclosure.subset_log_means(d, combinations, at) for d in sets]
    part_known[name] = disclosure.evidence(of_part)
    informed[name] = disclosure.evidence(of_part, model_prior=True)

# %% tags=["monte-carlo"]
shares = np.linspace(0, 1, 41)
curves = {name: np.exp(told["log_gain"].quantile(shares)) for name, told in part_known.items()}
titles = "Share of combinations, from least to most exposed", "Posterior over prior (log scale)"
chart = charts.lines(pd.DataFrame(curves), *titles, log_y=True, reference=1.0)
display(outputs.figure("part_known", chart))
columns = {"probability": "probability", "log_gain_mcse": "error of log"}
overview = pd.concat({k: v[list(columns)].quantile([0.5, 0.95, 1]) for k, v in part_known.items()})
overview = overview.rename(columns=columns).rename_axis(["unknown", "quantile"]).reset_index()
display(show(outputs.table("part_known", overview), settings=["quantile"]))
verdicts.say("C3", paper.can_guess(part_known[main]))

# %% [markdown]
# **Posterior over uniform prior of the true values, a curve for each set of unknown variables.**
# Dotted is a release that says nothing. A uniform prior is a poor judge here. Among values many of
# which nobody would think likely, it calls likely ones a surprise.
#
# ## What the intruder believes before the release (C4, equation 18)
#
# Section 5 proposes the model's own prediction $p(x \mid D_{-i})$ as prior. Prior and likelihood then use
# the same chains. In the posterior
#
# $$p(x \mid D_{-i}, Z) \propto p(x \mid D_{-i})^{1-m} \prod_{l=1}^m p(x \mid D_{-i}, Z^{(l)})$$
#
# $p(x \mid D_{-i})$ has the exponent $1 - m$, so that its Monte Carlo error counts $m - 1$ times.

# %% tags=["monte-carlo"]
pictured = informed[main].rename(columns={"prior": "x", "probability": "y"})
titles = "before the release: the model given all others", "after the release"
display(outputs.figure("informative_prior", charts.agreement(pictured, *titles)))
said = f"a standard deviation of {np.log(pictured['x']).std():.2f} over the combinations, and what "
said += f"the release adds to it has one of {pictured['log_gain'].std():.2f}."
callout("Before and after", f"The log prior has {said}")

# %% [markdown]
# **Probability of the true values of the unknown variables, before and after.** Along the line the
# records differ by what the intruder believes of them from the other records. Off the line the release
# has moved them. What it adds, and the prior odds for the truth that would bring it to the top:

# %% tags=["monte-carlo"]
columns = ["log_gain", "log_gain_mcse", "log_odds_needed", "log_odds_needed_mcse"]
added = pd.concat({name: t[columns].quantile([0.05, 0.5, 0.95]) for name, t in informed.items()})
added = added.rename_axis(["unknown", "quantile"]).reset_index()
show(outputs.table("informative_prior", added), settings=["quantile"])

# %% [markdown]
# Where posterior and informative prior hardly differ, the paper argues, the release does not
# meaningfully increase the risk. **C4** holds for a combination if the two are within a factor of 1.5.
# The table has the share of combinations that are further apart, by more than two errors.

# %% tags=["monte-carlo"]
limit = np.log(1.5)
moved = {k: np.abs(v["log_gain"]) - 2 * v["log_gain_mcse"] > limit for k, v in informed.items()}
moved = pd.Series(moved, name="moved by a factor of 1.5 beyond error").map(np.mean)
outputs.result("moved_largest_share", moved.max())
display(moved.rename_axis("unknown").to_frame().round(3))
verdicts.say("C4", paper.adds_little(informed))

# %% [markdown]
# ## Only some of the other records are known (C5, C6)
#
# The intruder knows a part $K$ of the other records and lacks the rest, $U$. The agency drew each
# $\theta_l$ from $p(\theta \mid D)$ with $D = (K, U, x)$; the intruder takes $D$ for a sample from
# the model. With $m(\cdot)$ the marginal likelihood of records,
#
# $$p(x, U \mid K, Z) \propto m(D) \prod_{l=1}^m \frac{m(D, Z^{(l)})}{m(D)}
# = m(D)^{1-m} \prod_{l=1}^m m(D, Z^{(l)}) .$$
#
# For one release this is $m(K, U, x, Z)$. Records and release are exchangeable, $U$ sums out, and
# what is left is $p(x \mid K, Z)$: fit the model to the known records joined with the release.
# For one release, then, it is *proved* that the expense of **C6** does not arise. For more releases the
# factor stays. The releases hang together through the unknown records, and those have to be sampled.
#
# ### The smallest example
#
# One yes/no variable, 20 records of which 6 are ones, three releases with 3, 7 and 11 ones among
# 20. The table of $\log p(Z \mid D)$ has 21 rows, one for each number of ones in $D$; the intruder
# sums over the number of ones among the unknown.

# %%
n, seen = 20, np.array([3, 7, 11])
ones = np.repeat([0, 1], [14, 6])[stream(seed, "small order").permutation(n)]
log_release = beta_binomial(n, n, 1.0).block(np.arange(n + 1), seen)


def exactly(k: int, log_likelihood: np.ndarray) -> float:
    """Probability that the sought record is a one if the first k are known."""
    c, log_prob = ones[:k].sum(), []
    u = np.arange(n - k)  # ones among the unknown
    for x, of_prior in ((0, k - c), (1, c)):
        likely = betabinom.logpmf(u, n - k - 1, 1 + c + x, 1 + k - c + (1 - x))
        likely = likely + log_likelihood.sum(axis=1)[c + x + u]
        log_prob.append(np.log(of_prior + 1) + np.logaddexp.reduce(likely))
    return np.exp(posterior(np.array(log_prob)))[1]


# %% [markdown]
# Two shortcuts stand beside it. Releases taken as *independent* given what is known multiply
# $p(x \mid K, Z^{(l)}) / p(x \mid K)$; *pooled* they are one release of 60 records.
# A sampler that carries the unknown records along, explained below, has to find the exact line.


# %% tags=["monte-carlo"]
def odds(k: int, *releases: int) -> float:
    """Odds of a one given the first k records and the ones in some releases."""
    c, z = ones[:k].sum(), sum(releases)
    return (1 + c + z) / (1 + k - c + n * len(releases) - z)


small = pd.DataFrame({"known": range(n), "exact": [exactly(k, log_release) for k in range(n)]})
small["independent"] = [np.prod([odds(k, z) for z in seen]) / odds(k) ** 2 for k in range(n)]
small["pooled"] = [odds(k, *seen) for k in range(n)]
shortcut = ["independent", "pooled"]
small[shortcut] = small[shortcut] / (1 + small[shortcut])


def sampled(k: int) -> tuple[float, float]:
    """Probability of a one by data augmentation, and its standard error."""
    made = [np.repeat([[0], [1]], [n - z, z], axis=0) for z in seen]
    risk = disclosure.partial_knowledge(
        ones[:k, None], n - k - 1, made, np.array([2]), np.array([[1]]), [0], left_out=False,
        chains=dpmpm.Chains(n_classes=1, burn_in=20, n_draws=60, thin=10, n_chains=8),
        rng=stream(seed, f"small {k}"),
    ).risk(model_prior=True)  # fmt: skip
    return risk.probability[0], risk.probability[0] * risk.log_mcse[0, 0]


tried = [0, 10]
small.loc[tried, ["sampled", "error"]] = [sampled(k) for k in tried]
show(outputs.table("smallest_fraction", small).iloc[[*tried, n - 1]])

# %% tags=["monte-carlo", "public"]
titles = "Other records known, of 19", "Probability that the record is a one"
lines = small.set_index("known")[["exact", "independent", "pooled", "sampled"]]
display(outputs.figure("smallest_fraction", charts.lines(lines, *titles)))
apart = (np.abs(small["sampled"] - small["exact"]) / small["error"]).max()
callout("The sampler", f"It is at most {apart:.1f} standard errors from the exact line.")

# %% [markdown]
# **Probability of a one against the number of other records known.** Independence is right where
# everything is known, at 19. Where nothing is known it is far off: each release then tells of the
# population, and the same news three times is not three pieces of news. Pooling forgets that each
# release came from a draw of its own. The sampler was tried with none and with ten known. For a
# single release nothing has to be summed, and the number of unknown records does not matter:

# %% tags=["public"]
summed = np.array([exactly(k, log_release[:, :1]) for k in range(n)])
fitted = np.array([odds(k, seen[0]) / (1 + odds(k, seen[0])) for k in range(n)])
print(f"largest difference, one release: {np.abs(summed - fitted).max():.0e}")
print(f"independent, everything known:   {abs(small['independent'] - small['exact']).iloc[-1]:.0e}")

# %% [markdown]
# So fitting the model to $K$ and the release is **exact for one release at any fraction**, and taking
# releases as independent is **exact for any number where everything is known**. For two or more in
# between, the unknown records are sampled together with the parameters behind each release, and the
# factor $m(D)^{1-m}$ is met by draws from $p(\theta \mid D)$ in the acceptance ratio, the exchange
# algorithm of Murray, Ghahramani and MacKay (2006). With more than one class these draws come from a
# chain of their own, and the result is as good as that chain mixes. The library's tests compare it
# with enumeration of all unknown records, for one class and for two.
#
# ### The dial, one release
#
# Everybody is sought in turn, participants and outsiders, by an intruder who knows a random share
# of the data (without the record that is sought), sees the first release, and lacks the variables
# in `unknown`.

# %%
everybody, order = np.vstack([people, outsiders]), stream(seed, "order").permutation(len(people))
group = np.repeat(["participants", "outsiders"], [len(people), len(outsiders)])
is_in = group == "participants"
dial = {}
for fraction in fractions:
    known = order[: round(fraction * len(people))]
    dial[fraction] = disclosure.partial_knowledge(
        people[known], len(people) - len(known), releases[:1], levels, everybody, unknown_at,
        left_out=np.isin(np.arange(len(everybody)), known),
        chains=dpmpm.Chains(n_chains=n_chains // 2, **settings),
        rng=stream(seed, f"knows {fraction:g}"), label=f"knows {fraction:g}",
    )  # fmt: skip

# %% tags=["monte-carlo"]
traces = {
    (f"{f:g}", i): t[..., is_in] for f, k in dial.items() for i, t in enumerate(k.traces[::-1])
}
mixed = {
    (f, "with" if i == 0 else "without"): diagnostics.over_many(t) for (f, i), t in traces.items()
}
mixed = pd.DataFrame(mixed).T.rename_axis(["share known", "release"]).reset_index()
show(outputs.table("mixing_dial", mixed), digits=2)

# %% tags=["monte-carlo"]
means = {f"knows {f}": t.mean(axis=2) for (f, i), t in traces.items() if i == 0}
print(diagnostics.verdict(diagnostics.summary(means)))
outputs.figure("trace_dial", charts.trace(diagnostics.long_format(means)))

# %% [markdown]
# **Mean log probability of the participants' records in every chain**, given what is known and the
# release. What the intruder believes of the unknown values, averaged over people:

# %% tags=["monte-carlo"]
averages = pd.concat({f: k.averages(group) for f, k in dial.items()}, names=["share_known"])
averages = averages.reset_index(level=0)
show(outputs.table("dial", averages), settings=["share_known"])

# %% tags=["monte-carlo"]
names = {"before": "before", "after": "after", "after_uniform": "after, uniform prior"}
lines = averages[averages["group"] == "participants"].set_index("share_known")
titles = "Share of the other records known", "Probability of the truth, geometric mean"
outputs.figure("dial", charts.lines(lines[list(names)].rename(columns=names), *titles, zero=True))

# %% [markdown]
# **The dial from nothing to everything**, for participants: before the release, after it, and after
# it with the uniform prior of the paper, which takes nothing from the records that are known.
#
# **C5** is judged by the log probability of the truth, for the intruder who knows least against the one
# who knows most, on average over the participants. It holds if the first is lower under the paper's
# uniform prior, and depends on the prior if the model's own says the opposite. The error is that of a
# mean over people together with the mean Monte Carlo error. To an intruder who believes the model, and
# is right in that, more knowledge cannot make the truth less probable *on average*: that is *proved*.
# Single records can go either way. For how many of them is the risk higher than under the intruder
# who knows most?

# %% tags=["monte-carlo"]
own, most = {"uniform": False, "the model's own": True}, max(fractions)
risks = {(k, f): dial[f].risk(model_prior=own[k]).only(is_in) for k in own for f in fractions}
pairs = {(k, f): (risk, risks[k, most]) for (k, f), risk in risks.items() if f < most}
higher = {key: disclosure.exceeds(*pair) for key, pair in pairs.items()}
higher = pd.DataFrame(higher).T.rename_axis(["prior", "share known"]).reset_index()
outputs.result("higher_knowing_least_uniform", higher["higher"].iloc[0])
display(show(outputs.table("higher_than_under_everything", higher), settings=["share known"]))
least = min(fractions)
verdicts.say("C5", paper.safe_knowing_less(*(pairs[k, least] for k in own), least, most))

# %% [markdown]
# A higher probability of the truth is not always the same kind of risk. The gain, the log of what the
# release multiplies the informed prior by, can be set beside that of people who are not in the data:

# %% tags=["monte-carlo"]
lines = averages.pivot(index="share_known", columns="group", values="gain")[np.unique(group)[::-1]]
titles = "Share of the other records known", "Mean log of posterior over prior"
display(outputs.figure("gain", charts.lines(lines, *titles, reference=0.0)))
paper.participants_beyond(averages)

# %% [markdown]
# **What the release adds, for people in the data and for people outside.** What an intruder who knows
# nothing learns about both groups is statistics. What participants have beyond outsiders is due to
# their own record, or to chance: the groups differ in how predictable their people are. In the table,
# `gain_se` is the error of the groups as samples of people, `gain_mcse` that of the chains, and the
# callout has both.
#
# ### Two releases
#
# Now the unknown records are sampled. Sought are some participants that are among the unknown, one
# at a time.

# %%
longer = dpmpm.Chains(
    n_classes=n_classes, burn_in=burn_in, n_draws=n_draws // 4, thin=2 * thin, n_chains=n_chains
)
goals, both_seen = people[order[-n_targets:]], {}
for fraction in fractions_two:
    known = people[order[: round(fraction * len(people))]]
    both_seen[fraction] = disclosure.partial_knowledge(
        known, len(people) - len(known) - 1, releases, levels, goals, unknown_at, left_out=False,
        chains=longer, rng=stream(seed, f"both, knows {fraction:g}"),
        label=f"both, knows {fraction:g}",
    )  # fmt: skip

# %% tags=["monte-carlo"]
traces = {f"knows {f:g}": k.traces[-1] for f, k in both_seen.items()}
mixed = pd.DataFrame({name: diagnostics.over_many(t) for name, t in traces.items()}).T
display(show(outputs.table("mixing_two", mixed.rename_axis("chains").reset_index()), digits=2))
means = {name: t.mean(axis=2) for name, t in traces.items()}
print(diagnostics.verdict(diagnostics.summary(means)))
outputs.figure("trace_two", charts.trace(diagnostics.long_format(means)))

# %% [markdown]
# **Mean log probability of the sought values in every chain over unknown records.** Where R-hat is
# above 1.01, read the numbers that follow as rough. Beside these chains the shortcuts, with the model's
# own prior: releases taken as independent, pooled, and the first of them alone. **C6** holds for several
# releases if the best shortcut is off by more than two errors, where it is worst. The claim then depends
# on the number of releases.


# %% tags=["monte-carlo"]
def shortcuts(fraction: float) -> dict[str, disclosure.Risk]:
    """Independent releases, pooled ones, and the first release alone."""
    known, after = people[order[: round(fraction * len(people))]], []
    for i, release in enumerate([*releases, np.vstack(releases)]):
        d = posterior_draws(np.vstack([known, release]), f"knows {fraction:g}, set {i}")
        after.append(disclosure.subset_log_means(d, goals, unknown_at, left_out=False))
    named = {"independent": after[:2], "pooled": after[2:], "first release alone": after[:1]}
    before = both_seen[fraction].log_means[0]
    return {
        k: disclosure.predictive_ratio([before, *v], model_prior=True) for k, v in named.items()
    }


rows = []
for fraction, k in both_seen.items():
    by_chain = k.risk(model_prior=True)
    for way, risk in {"sampled": by_chain, **shortcuts(fraction)}.items():
        apart = np.abs(risk.log_prob - by_chain.log_prob)[:, 0]
        row = {"share known": fraction, "way": way, "mean log p": risk.log_prob[:, 0].mean()}
        row |= {"error of log p": np.median(risk.log_mcse[:, 0])}
        rows.append(row | {"median distance": np.median(apart), "largest": apart.max()})
ways = outputs.table("two_releases", pd.DataFrame(rows))
display(show(ways, settings=["share known"]))
verdicts.say("C6", paper.needs_sampling(ways))

# %% [markdown]
# **Log probability of the truth by four ways to treat two releases.** Distances are from the chains
# that sample the unknown records. Sampling them costs an iteration of a chain for each record that is
# proposed. With one release the intruder fits the model once, as the agency did.
#
# ## What an agency would accept
#
# McClure and Reiter (2012) let an agency say which combinations of the risk $R$, the posterior
# probability of the truth, and the relative risk $RR$, that over the prior, it accepts. With $L$ what
# the release multiplies the odds of the truth by, against the other candidates weighted by their
# prior, a record runs along the line $RR = R + L\,(1 - R)$ as the prior of the truth rises from zero
# to one. For the intruder who lacks the variables in `unknown` and believes the model: the most
# exposed combination, one that nine in ten stay below, and the median.

# %%
rules = acceptance.read_rules(acceptable)
ordered = informed[main].sort_values("log_ratio", ascending=False)
picked = ordered.iloc[[0, len(ordered) // 10, len(ordered) // 2]]
picked = picked.assign(name=["the most exposed", "at 90 %", "the median"])
priors = [acceptance.unacceptable_priors(a, rules) for a in picked["log_ratio"]]
said = [", ".join(f"{a:.3f} to {b:.3f}" for a, b in each) or "none" for each in priors]

# %% tags=["monte-carlo"]
columns = ["name", "prior", "probability", "log_ratio", "log_ratio_mcse"]
table = outputs.table("region", picked[columns].assign(offending=said))
lines = acceptance.offending_lines(dict(picked[["name", "log_ratio"]].to_numpy()), rules)
display(outputs.figure("region", charts.acceptable_region(pd.DataFrame(map(vars, rules)), lines)))
show(table)

# %% [markdown]
# **What is not acceptable (shaded), three records, and the stretch of each line that offends
# (thick).** The last column has the priors of the truth that lead there. Now all records, under the
# prior that the intruder has, and under whichever prior is worst for the agency:

# %% tags=["monte-carlo"]
rows = []
for name, told in informed.items():
    of_rules = told["log_ratio"], told["log_ratio_mcse"], rules
    for prior, w in (("the model's own", told["prior"]), ("the worst", None)):
        rows.append({"unknown": name, "prior": prior} | acceptance.share_outside(*of_rules, w))
show(outputs.table("outside", pd.DataFrame(rows)))

# %% tags=["monte-carlo"]
grid = 1 / (1 + np.exp(-np.linspace(-6, 4, 60)))
of_prior = {
    name: [
        acceptance.breaks_a_rule(*acceptance.curve(t["log_ratio"], w), rules).mean() for w in grid
    ]
    for name, t in informed.items()
}
titles = "Prior probability of the truth (log scale)", "Share of combinations outside the region"
chart = charts.lines(pd.DataFrame(of_prior, index=grid), *titles, log_x=True, zero=True)
outputs.figure("outside", chart)

# %% [markdown]
# **Share of combinations whose risk is not acceptable, by the prior probability of the truth.** The
# steps are the corners of the rules. `undecided` is the share whose verdict would be another within
# two standard errors of $\log L$: rules with sharp corners ask for more precision than a ranking of
# records does. The worst prior for each record can only add to the share that lies outside.
#
# ## What holds on these data

# %% tags=["monte-carlo"]
_ = outputs.table("claims", verdicts.table)
verdicts

# %% [markdown]
# A public report (`srlib report RUN --public`) of somebody's file shows these words and no more:

# %% tags=["monte-carlo", "public"]
verdicts.in_public(len(people), C6=len(goals))

# %% [markdown]
# **Limits of this run.** At its defaults the population is embedded, the variables are few, and the
# records some hundreds. The model is the synthesizer's own, known to the intruder. The chains over
# unknown records are short.

# %% [markdown]
# ## Exercises
#
# Of rising difficulty. All numbers are stated in the questions, whatever the parameters above.

# %% [markdown]
# ### Exercise 1: one more candidate
#
# In the smallest example of C1 the release speaks for three cells with weights 1 (the truth), 1.2 and
# 0.5. A fourth is added. From which `weight` of it on does the truth's ratio to the prior fall?

# %% tags=["solution"]
weight = (1 + 1.2 + 0.5) / 3
assert np.isclose(weight, 0.9)

# %% [markdown] tags=["solution"]
# The ratio is the truth's weight over the mean weight of the candidates. It falls when the new one is
# above that mean: a larger support is the safer one only where it adds better candidates than there are.

# %% [markdown]
# ### Exercise 2: right by construction
#
# The paper's intruder holds 35 combinations of 14 variables possible, the truth and what differs from
# it in one variable. Asked for WKL, DIS, HICOV and MIG, with 3, 2, 2 and 3 levels, this intruder adds up
# the candidates that have their true values. What is that share `before` any release, to three digits
# behind the point, and what would be a `guess` among all values of the four?

# %% tags=["solution"]
before, guess = 1 - sum(n - 1 for n in (3, 2, 2, 3)) / 35, 1 / (3 * 2 * 2 * 3)
assert round(before, 3) == 0.829
assert round(guess, 3) == 0.028

# %% [markdown]
# ### Exercise 3: an acceptable risk
#
# Section 3.1 of the paper says that risks deemed acceptable for an intruder who knows $D_{-i}$ should
# be so for one who knows less. Take one yes/no variable with a uniform prior of its proportion. The
# record at risk is a *no*; of the 19 others 6 are a *yes*, and so are 6 of the 20 released ones. Both
# values of the record are equally probable beforehand. What is the posterior probability of the truth
# for who `knows_all` of the 19, and for who `knows_none`, to three digits behind the point? Is the
# paper's sentence true (`holds`)?

# %% tags=["solution"]
if_no, if_yes = betabinom.pmf(6, 20, [1 + 6, 1 + 7], [1 + 14, 1 + 13])
knows_all = if_no / (if_no + if_yes)
knows_none = (1 + 14) / (2 + 20)
holds = knows_none <= knows_all
assert round(knows_all, 3) == 0.519
assert round(knows_none, 3) == 0.682
assert not holds

# %% [markdown] tags=["solution"]
# Who knows the 19 has the proportion already and learns from the release what one more record does to
# it. Who knows none learns the proportion, and most are a *no*. What is smaller for the weaker intruder
# is what participation adds, not the risk.

# %% [markdown]
# ### Exercise 4: many releases
#
# Of 20 records the intruder knows ten, four of which are ones, and believes the model. There are 20
# releases of 20 records, each with three ones. With which probability is one of the unknown records a
# one: exactly (`exact`), and if the releases are `pooled` to one of 400 records? Four digits behind the
# point.

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
# further people with a share of 0.15, and the known records drown among them.

# %% [markdown]
# ### To go on
#
# - Show that for $m = 1$ and the model's prior over every cell, posterior and prior of a record are
#   harmonic means of $p(x_i \mid \theta)$.
# - Set `fractions: [0, 0.02, 0.05, 0.1, 1]`. How many known records are worth one release?
#
# ## References
#
# - Liang, F. (2010). A double Metropolis–Hastings sampler for spatial models with intractable
#   normalizing constants. *Journal of Statistical Computation and Simulation* 80, 1007–1022.
# - McClure, D. and Reiter, J. P. (2012). Differential privacy and statistical disclosure risk
#   measures: an illustration with binary synthetic data. *Transactions on Data Privacy* 5, 535–552.
# - Murray, I., Ghahramani, Z. and MacKay, D. J. C. (2006). MCMC for doubly-intractable distributions.
#   *Proceedings of the 22nd Conference on Uncertainty in Artificial Intelligence*, 359–366.
