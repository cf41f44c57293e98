"""Posterior disclosure risk, membership tests, and risks before release."""

from srlib.risk.black_box import leakage_bound, leakage_bound_from_counts
from srlib.risk.candidates import one_variable_supports, subset_support
from srlib.risk.draw_sets import DrawSets, chain_schedule
from srlib.risk.errors import jackknife
from srlib.risk.estimators import (
    collapsed_log_ratios,
    importance_sampling,
    one_variable_log_ratios,
    predictive_ratio,
    release_log_prob,
    repeatability,
    subset_log_means,
)
from srlib.risk.membership import closeness, membership_test, score_test
from srlib.risk.posterior import posterior_risk
from srlib.risk.prospective import risk_before_release
from srlib.risk.synthesizers import Density
