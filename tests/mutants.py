"""Do the tests find a wrong line? `python tests/mutants.py [WORD ...]` changes one at a time.

Each row of `MUTANTS` has a text that stands once in a module of srlib, what it becomes,
what is then wrong, and why it survives, if it does. The module's tests run in a copy.
With words only rows with one of them are tried.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = {
    "assessment/identity": "disclosure ratings copies",
    "assessment/attribute": "disclosure ratings",
    "assessment/inference": "disclosure ratings",
    "assessment/disclosure": "disclosure ratings",
    "assessment/files": "disclosure infer",
    "assessment/copies": "copies ladder",
    "assessment/z_scores": "copies near_copies disclosure",
    "assessment/identifiers": "identifiers",
    "assessment/near_duplicates": "near_copies",
    "assessment/multiplicity": "near_copies",
    "assessment/counts": "disclosure ratings copies",
    "assessment/ratings": "ratings disclosure ladder",
    "assessment/run": "ratings assess",
    "assessment/inputs": "assess",
    "assessment/verdict": "ratings assessment_page intruders",
    "assessment/card": "ratings assessment_page",
    "assessment/exact": "intruders",
    "assessment/membership": "intruders",
    "assessment/utility": "utility ratings",
    "checks": "trees",
    "data/codes": "microdata",
    "data/schema": "infer microdata",
    "data/size_limits": "microdata",
    "dpmpm/exact": "enumerated",
    "dpmpm/gibbs": "dpmpm",
    "dpmpm/kernels": "dpmpm",
    "dpmpm/model": "dpmpm",
    "dpmpm/predict": "dpmpm enumerated",
    "ledger": "ledger",
    "margins": "margins utility synthesizers",
    "mechanism/acceptance": "acceptance",
    "mechanism/bayes": "mechanism estimators",
    "mechanism/budget": "budget",
    "mechanism/contingency": "contingency",
    "mechanism/core": "mechanism",
    "mechanism/edp": "edp",
    "mechanism/families": "mechanism exponential",
    "mechanism/privacy": "mechanism",
    "mechanism/proportion": "proportion",
    "mechanism/scores": "exponential",
    "risk/prospective": "prospective",
    "risk/black_box": "black_box",
    "risk/candidates": "estimators posterior_risk prospective",
    "risk/likelihood": "estimators",
    "risk/errors": "estimators membership",
    "risk/estimators": "estimators intruders",
    "risk/membership": "membership",
    "risk/posterior": "posterior_risk",
    "risk/draw_sets": "posterior_risk",
    "risk/synthesizers": "synthesizers",
    "trees/changes": "trees",
    "trees/kernels": "trees",
    "trees/model": "trees",
}
MUTANTS = """
assessment/identity
(1 - min(1.0, n / m)) ** n_matches => (1 - min(1.0, m / n)) ** n_matches # the other file is thinned
people = people + counts_at(cells.holdout, => people = people + 0 * counts_at(cells.holdout, # holdout
(self.people - 1.0, -t / self.known) => (self.people, -t / self.known) # a person is their own companion
- n_unique * unmatched => + n_unique * unmatched # sign of a derivative
len(file) - n_equal), => len(file) - 2 * n_equal), # companions of a person
permutation_z(cells.n_original, cells.n_released) => permutation_z(cells.n_released, cells.n_original) # files are swapped
certain=is_unique & (n_matches > 0) => certain=n_matches > 0 # people who are not unique count
max(row["fresh_sample_se"], MIN_ERROR / n) => row["fresh_sample_se"] # where no pair was seen, all is sure
"z": min(beta_binomial_z(n_matched, n_trials, *prior), z_margins) => "z": beta_binomial_z(n_matched, n_trials, *prior) # margins need not be beaten
min(self.permutation_z, => max(self.permutation_z, # one test suffices
assessment/attribute
(counts - has_value for => (counts for # a person's own record tells of them
(kept * share + 1 - kept) ** n_records => share**n_records # margins forget that the release is thinned
reach = within + _ROUNDING => reach = within + 0 # 1.1 - 1.0 is above 0.1
truth + reach, side="right" => truth + reach, side="left" # the largest number within is left out
agrees = (with_target.n_released[of_record] == s) & => agrees = # keys need not agree on the target
above *= self.undisclosed >= ALL_BUT_CERTAIN => pass # the commonest value counts
assessment/inference
np.mean(np.square(differences)) / 4 => np.mean(np.square(differences)) / 2 # variance of a half
rows[~np.isin(rows, half)] if is_own => rows if is_own # trees predict those they grew from
variance + max(variance, fresh_variance) => variance + fresh_variance # others may look too sure
n * above[self.eligible].var() => n**2 * above[self.eligible].var() # variance of one, not of a mean
assessment/files
ids = row_numbers(codes.T, => ids = row_numbers(codes[:1].T, # the first column alone
[ids, self.binned(column)] => [ids, ids] # missing numbers are all alike
assessment/disclosure
"z": np.fmin(self._z_fresh_sample(), z_margins) => "z": self._z_fresh_sample() # margins need not be beaten
assessment/counts
- share * weight) => - share) # weight is dropped
residuals) ** 2).sum() => residuals) ** 2).sum() ** 2 # no root
residuals, -other_residuals => residuals, other_residuals # sign of those held out
z_score(share - other, error) => z_score(other - share, error) # sign
assessment/ratings
rows["estimate"].sem() => rows["estimate"].std() # error of one release, not of a mean
np.fmax(row["se"], => np.fmin(row["se"], # the smaller error
> row["fresh_sample"] => < row["fresh_sample"] # the lower baseline
np.arange(len(z), 0, -1) if family => len(z) if family # Bonferroni for Holm
> MAX_UNDETECTED and => > MAX_UNDETECTED or # either suffices
"identical before binning": Z_CERTAIN, => "identical before binning": Z_SIGNIFICANT, # threshold
"repeated unique": UNLIKELY, => "repeated unique": Z_SIGNIFICANT, # threshold
n_undetected >= MIN_COINCIDENCES => n_undetected > 0 # any people
>= MIN_COINCIDENCES > complete["baseline"] * complete["n"] => >= MIN_COINCIDENCES # any number by chance
and undetected["baseline"] * MIN_ODDS_FACTOR <= 1 => and True # a copy may say little
"row order": (2 * Z_CERTAIN => "row order": (Z_CERTAIN # threshold
n_records < MIN_RECORDS_JUDGED => len(copies.identical) < MIN_RECORDS_JUDGED # the release alone may be small
row["n"] >= MIN_RECORDS and => row["n"] > MIN_RECORDS and # ten are too few
assessment/run
is_matched[:n].mean() => is_matched.mean() # people held out are among those in the file
rows[:n_first], family=False => rows[:2], family=False # the first guess is one of a family
< ratings.MIN_RECORDS_JUDGED => <= ratings.MIN_RECORDS_JUDGED # one more record is needed
assessment/verdict
enough = rows["n"] >= MIN_RECORDS => enough = rows["n"] > MIN_RECORDS # ten are too few
max(some["rating"], key => min(some["rating"], key # the best word is public
groupby(table["release"]).max() => groupby(table["release"]).min() # the least risk orders
~(of_kind["estimate"] <= limit) => (of_kind["estimate"] > limit) # what was not computed passes
if "exact membership" in by_question: => if False: # the strongest intruder is silent
assessment/card
excess.astype(float).idxmax() => excess.astype(float).idxmin() # the group that exceeds least
(losses["estimate"] - losses["baseline"]) => (losses["estimate"]) # loss with what chance has
if question in by_question and by_question[question]["rating"]: => if False: # what decides on copies
assessment/exact
z > Z_SIGNIFICANT => share > MAX_ABOVE_HALF # by chance
counts[combination_of] == 1 => counts[combination_of] > 1 # people who are not unique
/ binomial_se(MAX_ABOVE_HALF, n) => / binomial_se(max(share, 0.01), n) # error of the share itself
assessment/membership
invert=True => invert=False # others who share their values with a member
first.n_levels, ~is_member) => first.n_levels, False) # others are in their own reference
max(_power(one, shuffled) for one in scores) => _power(scores[0], shuffled) # chance of one attack
assessment/inputs
if found.same_table or row[ => if row[ # by z alone
or row["z_permutation"] >= 2 * Z_CERTAIN: => : # by the table alone
assessment/utility
special.log_ndtr(-TIE) - np.log(len(estimate)) => special.log_ndtr(-TIE) # largest of many
baseline = a / (a + b) => baseline = a / (a + b + 1 / 2) # explained by chance
if loss <= GOOD: => if loss < GOOD: # limit
assessment/z_scores
(1 / m + 1 / (a + b + 1)) => (1 / (a + b + 1)) # variance of a count is dropped
logaddexp(log_pure, log_choose(others, n)) => logaddexp(log_pure, log_choose(others, m)) # wrong file
hit].sum() - weight.min() / 2 => hit].sum() - 0 # correction for continuity
r + np.log(u / r) / r => r - np.log(u / r) / r # sign of the saddlepoint's correction
if hit.sum() < MIN_COINCIDENCES: => if hit.sum() < 0: # two coincidences are a sign
+ _mutual_products(edges, n_groups) => + 0 # records that lead to each other
squared_degrees * (p_2 - p_3) => squared_degrees * p_2 # covariance of edges at a record
log_ndtr(-z) + np.log(tests) => log_ndtr(-z) # the largest of many
assessment/near_duplicates
is_nearest[(n_records[asked] > 1) => is_nearest[(n_records[asked] > 9) # records with an equal are asked
n_agree[np.arange(len(asked)), asked] = 0 => n_agree[0, 0] = 0 # a record is its own neighbor
_share_near(near, o, o > 1, least) => _share_near(near, o, o > 0, least) # its own equal
assessment/multiplicity
not_original = s * (o == 0) => not_original = s # the copies themselves make many probable
x = m / o.sum() * _series => x = _series # size of the release
np.log(x / (1 + x)), => np.log(x / (2 + x)), # the geometric law
np.fmax(times * np.log => np.fmin(times * np.log # a rough release repeats anybody
assessment/identifiers
DIFFERENT * len(values) => 0 * len(values) # any column identifies
max(probability, by_position) => probability # row numbers are no identifiers
stats.poisson.sf(common - 1, => stats.poisson.sf(common, # one more is needed
assessment/copies
+ 2 * pairs => + pairs # Esty's variance
in_one_file * prob / (1 - prob) => in_one_file * (1 - prob) / prob # upside down
duplicated.sum() > DUPLICATES => len(duplicated) > DUPLICATES # pairs for people
neighbors = -n_variables * np.array => neighbors = -np.array # equal records are neighbors
n_rest = groups.n_released - own_groups => n_rest = groups.n_released # a record finds itself
exact = _exact(files, groups) => exact = groups # copies that hide need not have the numbers
min(1.0, max(at_most, found), limit => min(1.0, limit # the release is not held against itself
max(at_most, found) => at_most # copies that are found cannot hide
if is_trusted and error > by_original.se => if is_trusted and error < by_original.se # the less sure
@ neighbors / 2 => @ neighbors # pairs counted twice
2 * (n_identical + 1) => 2 * n_identical # limit of a count
chance < COINCIDENCE) => True) # few records agree by chance
checks
_check(values, np.isfinite, => _check(values, lambda x: ~np.isnan(x), # infinity is finite
data/codes
if size * n >= 2**63: => if False: # numbers of rows leave 64 bits
data/schema
alike[form] = AMBIGUOUS if form in alike else code => alike[form] = code # the last of two levels
data/size_limits
n_bytes = max(about.num_rows * sum(widths), stored) => n_bytes = stored # values
n_bytes += size => n_bytes += 0 # texts are as long as their dictionary
dpmpm/exact
betaln(1 + size[:, None], alpha + left => betaln(size[:, None] + 1e-9, alpha + left # a stick
levels * gammaln(a) => gammaln(a) # levels
alpha_prior.logpdf(alpha) + log_alpha => alpha_prior.logpdf(alpha) # derivative of the logarithm
dpmpm/gibbs
sampler.advance(chains.thin) => sampler.advance(1) # all draws are kept
(self.counts * log_prob).sum() => log_prob.sum() # repetitions do not count
dpmpm/kernels
pi[f] **= power => pi[f] **= 1.0 # annealing # a chain may start anywhere
alpha_shape + n_classes - 1.0 => alpha_shape + n_classes # a class has no stick
_log_gamma_draw(alpha + behind, rng) => _log_gamma_draw(alpha, rng) # records behind a stick
standard_exponential() / shape => standard_exponential() * shape # exponent of a small shape
np.log(alpha + b + c) - np.log(alpha + a + c) => np.log(alpha + b) - np.log(alpha + a) # swap
remaining -= weight => remaining -= 0.0 # chances of the classes that are left
scale[candidate] / scale[row] => scale[row] / scale[candidate] # upside down
(weights[start + codes[variable]] - 1.0) / => (weights[start + codes[variable]]) / # own record
np.exp(log_own_term - log_largest) => np.exp(log_own_term) # scale # it never counts in a test
dpmpm/model
(np.arange(1, n + 1) * total) // n - 1 => (np.arange(n) * total) // n # first of each stretch
(self.class_sizes > 0) => (self.class_sizes > 1) # off by one
dpmpm/predict
np.cumsum(log_left, axis=1) => log_left # what all sticks before have left
np.log(sums / draws.n_draws) => np.log(sums) # sum for mean
ledger
min(holds, fails) > 1 - required_share => min(holds, fails) > 0 # one case makes it depend
np.maximum(table["tolerance"], two_errors => np.add(table["tolerance"], two_errors # sum for the larger
row.consistent and (row.skip => row.consistent and (True # what is computed goes first
margins
set(sizes) != {n}: => False: # releases of other sizes
if not noisy.any(): => if False: # no shares
+ 0.5 * table.shape[1] + extra => + 0.5 * table.shape[1] # a level's share without the companions
.sum(axis=1)[i] + 2 + extra => .sum(axis=1)[i] + 2 # a pair's share without the companions
).sum() - by_chance => ).sum() # many levels seem to inform
np.sqrt(np.maximum(1 - p, 0)) => 1 # counts of a large share as Poisson's
mechanism/acceptance
risk + gain > rule => risk + gain >= rule # a limit met exactly
& (rr > rule.rr_at_most) => & (rr >= rule.rr_at_most) # a limit met exactly
if rule.rr_at_most >= 1 => if rule.rr_at_most > 1 # a limit met exactly
if risk < 1 else 0.0 => if risk == rule.r_at_least else 0.0 # the upper end of a rule's range
is_violated[second] |= unacceptable(-log_ratio => is_violated[second] |= unacceptable(log_ratio # sign
2 * np.asarray(mcse => 1 * np.asarray(mcse # two errors to one
np.exp(table) * is_rejected => np.exp(table) * ~is_rejected # what was accepted is drawn again
mechanism/bayes
1.0 + n_above + n_tied / 2.0 => 1.0 + n_above + n_tied # mean rank of ties
np.add(log_ratio, log_odds) => np.subtract(log_ratio, log_odds) # sign of the prior's odds
mechanism/budget
"add or remove": 2 => "add or remove": 1 # another value is one step away
/ (by_absence + root) if => / root if # root of the quadratic
if c * membership < a: => if c < a: # the prior of a value that everybody has
c * membership - a, c * (1 - membership) => c * membership, c * (1 - membership) # the corner
needed = membership * q * => needed = q * # doubt about membership
if smallest <= 0: => if smallest < -1: # no epsilon keeps the limit
slack = _SLACK if deltas.any() else 0.0 => slack = 0.0 # delta without a tail
2 * deltas[others > 0].sum() => deltas.max() / 2 # the tail
1 + (steps - 1) * np.exp(losses[1]) => 1 # delta of two steps
loss = float(weights @ np.exp(losses)) => loss = float(np.exp(losses @ weights)) # mean of ratios
start + gain * rate, => start + rate, # power
mechanism/contingency
cells.max(axis=1, keepdims=True) - bound / 2 => cells.max(axis=1, keepdims=True) - bound # half
- log_mean[:, None]) - np.exp(weights) => - log_mean[:, None]) - 1 / len(weights) # weights of an error
np.ptp(cells - cell[:, None], axis=0) => np.ptp(cells - cell[:, None], axis=1) # axis
if cells.any()] => if not cells.any()] # levels of one variable
mechanism/core
difference[np.isnan(difference)] = 0.0 => difference[np.isnan(difference)] = np.inf # impossible
mechanism/edp
log_share = np.log(np.diff(ends) / len(values)) => log_share = np.log(np.full(self.bins, 1 / self.bins)) # bins' sizes
spacing[-1] += 1 => spacing[-1] += 0 # the last spacing of a sample
np.where(cdf < 0.5, from_below, from_above) => np.where(cdf < 0.5, from_below, from_below) # digits of a far tail
"add": [(0, 1), (1, 1)] => "add": [(0, 1), (-1, 1)] # a record added
len(y) / 5.0 + 1 / 3.0 => len(y) / 5.0 + 1 / 9.0 # variance of the paper's prior
logsumexp(log_counted[is_counted]) - logsumexp(log_prob[is_counted]) => -logsumexp(log_prob[is_counted]) # constant
round(np.sqrt(n_draws)) => 1 # an error forgets that draws follow each other
mechanism/families
np.argsort(counts - quotas, => np.argsort(quotas - counts, # the smallest remainders are raised
- zeros[n - x] => - zeros[n - y] # data for release
numerator / np.expm1(epsilon / divisor) => numerator / np.exp(epsilon / divisor) # a sufficient alpha for the least
mechanism/privacy
mechanism.neighbors[pairs], largest => mechanism.neighbors[pairs, :1], largest # one side of the neighbors only
deltas[0, pairs] += _hockey => deltas[0, pairs] = _hockey # the last block of columns only
log_low if excesses[0] <= 0 else log_high => log_high if excesses[0] <= 0 else log_low # the side that exceeds the budget
mechanism/proportion
mean * (1 - mean) / (n + a + b + 1) => mean * (1 - mean) / (n + a + b) # variance of a beta
np.maximum(risk - priors, 0) => risk - priors # a decrease counts as well
-np.expm1(size * np.log1p(-single)) => -np.expm1(np.log1p(-single)) # one pair for many
q ** (1 / size) => q**size # exponent
mechanism/scores
epsilon / (2 * sensitivity) => epsilon / sensitivity # the normalizing constant changes as well
np.abs(losses).max() => losses.max() # a side of a pair
risk/prospective
share = self.repetitions / => share = np.ones(len(self.prior)) / # repetitions do not count
values.var(axis=0, ddof=1) / len(values) => values.var(axis=0, ddof=1) # error of one
sums - n_releases * data_mean => sums - data_mean # chains of the data count once
(gammaln(counts + 1) / counts) => (gammaln(counts + 1)) # orders of a set
worst_variance += quantile_variance(values, WORST_LEVEL) => pass # the worst has no error
jackknife_variance(map(worst, replicates)) => 0.0 # nor by chains
level -= 1e-9 => level += 1e-9 # a level met exactly
risk/black_box
1 - (1 - confidence) / 2 => confidence # two limits
prior * a**2 / => prior * a / # an average of the posterior
RidgeClassifier(alpha=2 * half) => RidgeClassifier(alpha=1) # shrinkage
np.abs(np.log(a / b)).max(axis=0) => np.log(a / b)[0] # no alarm tells nothing
drawn = np.sort(rng.integers(0, len(alternatives), n_releases)) => drawn = [0] * n_releases # alternatives
rng.permutation(changed_counts) => changed_counts # alternatives are in order
decision_function(testing) => decision_function(training) # tested where it learned
risk/candidates
or np.isnan(values).any(): => or False: # a prior may be missing
counts[combination_of[chosen]] => counts[combination_of[: len(chosen)]] # repetitions of other records
risk/errors
(len(values) - 1) * values.var(axis=0) => values.var(axis=0) # variance of a mean
yield total - np.log(last) => yield total - np.log(len(log_values)) # mean of one fewer
risk/estimators
largest - smallest[:, None] => largest # the record's own probability
- len(given_joined) * given_data => - given_data # the data once for each release
- len(weighted) * mean[-1] => - mean[-1] # releases
np.where(in_data, own, 1.0) => np.where(True, own, 1.0) # strangers are left out
other.rank[top] <= 3 => other.rank[top] <= 2 # top three to two
difference < 2 * standard_error => difference < standard_error # two errors to one
risk/membership
np.sqrt(n_people / (n_people - 1) * excess) => np.sqrt(excess) # variance of a sample
np.resize(np.arange(len(people)), shape) => np.resize(np.arange(shape[1]), shape) # the same people beside each record
np.geomspace(1 / self.holdout_rows.shape[1], => np.geomspace(1e-9, # shares that too few people tell
false_positive_rates, side="right" => false_positive_rates, side="left" # a limit met exactly
shape[1] < 1 - 1e-9 => shape[1] <= 1 + 1e-9 # just enough people
* person_weights[self.holdout_rows] => * np.ones(self.holdout_rows.shape) # people do not vary
risk/posterior
r_hat=r_hat.max(axis=0) => r_hat=r_hat.min(axis=0) # the best set of chains
if threshold >= 1: => if threshold > 1: # a limit that no probability exceeds
np.isfinite(self.log_mcse) => (self.log_mcse >= 0) # an infinite error is reliable
n_first = (self.rank == 1).sum() => n_first = (self.rank <= 2).sum() # the first two
~(self.pareto_k > MAX_PARETO_K) => (self.pareto_k <= MAX_PARETO_K) # unknown is bad
risk/draw_sets
settings is schedule[-1] => settings is schedule[0] # the first round is the last
"share_not_converged"] <= MAX_NOT_CONVERGED => "share_not_converged"] >= MAX_NOT_CONVERGED # chains stop where they disagree
pareto_k(-log_prob[0] => pareto_k(log_prob[0] # weights upside down
risk/synthesizers
or np.isposinf(values).any(): => or False: # a probability may be infinite
changed[row] = data[row] => changed[row] = candidate # the record is not put back
for table in released) => for table in released[:1]) # all releases tell
trees/changes
for table in released]) => for table in released[:1]]) # all releases tell
cells = trees.combination_of[rows] => cells = trees.combination_of[: len(rows)] # other records
trees/kernels
if depth >= task.max_depth => if depth > task.max_depth # off by one
to_left = 2 * n_left >= n => to_left = 2 * n_left > n # ties of parts go right
gain > best_gain + tie or => gain > best_gain or # rounding decides a tie # no test has such a tie
variable == j and gain >= best_gain - tie => gain >= best_gain - tie # a later predictor wins a tie
counts[first + level, major] / counts[first + level].sum() => counts[first + level, major] # share
several - 1): => several): # a leaf has no price
1 + np.sign(errors - tree.errors[0]) => 1 - np.sign(errors - tree.errors[0]) # sign
if _errors(work.total) - below <= change.threshold => if _errors(work.total) - below < change.threshold # the smallest of the cheapest
log_prob += released[c] * np.log => log_prob += np.log # repetitions do not count
trees/model
records[:, k]]) => records[:, list(self.order).index(k)]]) # columns in the order of drawing
/ counts.shape[1] => / 1 # smoothing for all levels together
exhaustive=2 if => exhaustive=12 if # sets of levels that rpart does not try
"""


class Mutant(NamedTuple):  # one wrong line
    module: str
    old: str
    new: str
    reason: str
    survives: str = ""


def mutants():
    """Read the table."""
    module = ""
    for line in MUTANTS.strip().splitlines():
        if " => " not in line:
            module = line
            continue
        change, *reasons = line.split(" # ")
        old, new = change.split(" => ")
        yield Mutant(module, old, new, *reasons)


def places(mutant, source):
    """Return where the text stands, whatever the line breaks and the commas that end them."""
    characters = "".join(mutant.old.split())
    forms = [
        rf"(,\s*)?{re.escape(c)}" if c in ")]}" else re.escape(c) for c in characters
    ]
    return list(re.finditer(r"\s*".join(forms), source))


def dies(mutant, folder):
    """Whether the tests fail with the change; None where its text does not stand there once."""
    path = folder / "srlib" / f"{mutant.module}.py"
    source = path.read_text(encoding="utf-8")
    found = places(mutant, source)
    if len(found) != 1:
        return None
    (place,) = found
    changed = source[: place.start()] + mutant.new + source[place.end() :]
    path.write_text(changed, encoding="utf-8")
    tests = [f"tests/test_{name}.py" for name in TESTS[mutant.module].split()]
    # All mutants meet the same random examples, and none is shrunk.
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile", "mutants"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    threads = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=threads, capture_output=True, check=False
        )
    finally:
        path.write_text(source, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise RuntimeError(
            f"{mutant}: the tests did not run; {done.stdout.decode()[-500:]}"
        )
    return done.returncode == 1


def main(*words):
    """Print what became of each; the exit status is 1 where one survives without a reason."""
    surprises = 0
    with tempfile.TemporaryDirectory() as name:
        for part in ("srlib", "tests", "docs", "notebooks", "params", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
            copy(ROOT / part, Path(name) / part)
        for mutant in mutants():
            text = " | ".join(filter(None, mutant))
            if not words or any(word in text for word in words):
                found = dies(mutant, Path(name))
                result = {True: "dies", False: "SURVIVES", None: "text not found"}[
                    found
                ]
                print(result, text, sep=": ", flush=True)
                surprises += not found and not mutant.survives
    sys.exit(f"{surprises} survive without a reason" if surprises else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
