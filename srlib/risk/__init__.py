"""Posterior disclosure risk of microdata: one column of the table, by Monte Carlo."""

from srlib.risk.agreement import agreeing_draws, convergence, rounds
from srlib.risk.before import RiskBeforeRelease, risk_before_release
from srlib.risk.black_box import Leakage, counts_of_releases, leakage, leakage_bound
from srlib.risk.columns import Columns
from srlib.risk.errors import jackknife
from srlib.risk.estimators import (
    Risk,
    collapsed_log_ratios,
    evidence,
    importance_sampling,
    neighborhood_log_ratios,
    predictive_ratio,
    release_log_prob,
    repeatability,
    support_log_ratios,
)
from srlib.risk.membership import MembershipTest, distance_test, membership_test
from srlib.risk.partial import subset_log_means
from srlib.risk.posterior import PosteriorRisk, posterior_risk
from srlib.risk.sets import DrawSets
from srlib.risk.supports import neighborhood, subset_support
from srlib.risk.synthesizers import Density, Synthesizer

__all__ = [
    "Columns",
    "Density",
    "DrawSets",
    "Leakage",
    "MembershipTest",
    "PosteriorRisk",
    "Risk",
    "RiskBeforeRelease",
    "Synthesizer",
    "agreeing_draws",
    "collapsed_log_ratios",
    "convergence",
    "counts_of_releases",
    "distance_test",
    "evidence",
    "importance_sampling",
    "jackknife",
    "leakage",
    "leakage_bound",
    "membership_test",
    "neighborhood",
    "neighborhood_log_ratios",
    "posterior_risk",
    "predictive_ratio",
    "release_log_prob",
    "repeatability",
    "risk_before_release",
    "rounds",
    "subset_log_means",
    "subset_support",
    "support_log_ratios",
]
