"""Posterior disclosure risk, membership tests, and risks before release."""

from srlib.risk.black_box import leakage_bound as leakage_bound
from srlib.risk.black_box import leakage_bound_from_counts as leakage_bound_from_counts
from srlib.risk.candidates import one_variable_supports as one_variable_supports
from srlib.risk.candidates import subset_support as subset_support
from srlib.risk.draw_sets import DrawSets as DrawSets
from srlib.risk.draw_sets import chain_schedule as chain_schedule
from srlib.risk.errors import jackknife as jackknife
from srlib.risk.estimators import collapsed_log_ratios as collapsed_log_ratios
from srlib.risk.estimators import importance_sampling as importance_sampling
from srlib.risk.estimators import one_variable_log_ratios as one_variable_log_ratios
from srlib.risk.estimators import predictive_ratio as predictive_ratio
from srlib.risk.estimators import release_log_prob as release_log_prob
from srlib.risk.estimators import repeatability as repeatability
from srlib.risk.estimators import subset_log_means as subset_log_means
from srlib.risk.membership import distance_test as distance_test
from srlib.risk.membership import membership_test as membership_test
from srlib.risk.posterior import posterior_risk as posterior_risk
from srlib.risk.prospective import risk_before_release as risk_before_release
from srlib.risk.synthesizers import Density as Density
