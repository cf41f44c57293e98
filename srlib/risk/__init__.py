"""Posterior disclosure risk of microdata: one column of the table, and its readings."""

from srlib.risk.agreement import rounds
from srlib.risk.before import risk_before_release
from srlib.risk.black_box import leakage, leakage_bound
from srlib.risk.candidates import neighborhood, subset_support
from srlib.risk.errors import jackknife
from srlib.risk.estimators import (
    collapsed_log_ratios,
    evidence,
    importance_sampling,
    neighborhood_log_ratios,
    predictive_ratio,
    release_log_prob,
    repeatability,
    subset_log_means,
)
from srlib.risk.membership import distance_test, membership_test
from srlib.risk.posterior import posterior_risk
from srlib.risk.sets import DrawSets
from srlib.risk.synthesizers import Density

__all__ = [
    "Density",
    "DrawSets",
    "collapsed_log_ratios",
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
]
