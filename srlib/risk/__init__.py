"""Posterior disclosure risk of microdata: one column of the table, by Monte Carlo."""

from srlib.risk.agreement import agreeing_draws, convergence, rounds
from srlib.risk.augmented import Augmented, PartialKnowledge, augment, partial_knowledge
from srlib.risk.before import RiskBeforeRelease, risk_before_release
from srlib.risk.black_box import Leakage, counts_of_releases, leakage, leakage_bound
from srlib.risk.columns import Columns
from srlib.risk.errors import infinitesimal_jackknife, jackknife
from srlib.risk.estimators import (
    Risk,
    collapsed_log_ratios,
    evidence,
    exceeds,
    importance_sampling,
    margin_gain,
    neighborhood_log_ratios,
    predictive_ratio,
    release_log_prob,
    repeatability,
    support_log_ratios,
)
from srlib.risk.loss import PrivacyLosses, privacy_losses
from srlib.risk.membership import MembershipTest, distance_test, membership_test
from srlib.risk.odds import WholeSupport
from srlib.risk.partial import subset_log_means
from srlib.risk.participation import Participation, TakingPart, participation, taking_part
from srlib.risk.posterior import PosteriorRisk, posterior_risk
from srlib.risk.sampled import SampledSupport, sampled_support
from srlib.risk.sets import DrawSets
from srlib.risk.supports import changed_support, neighborhood, subset_support
from srlib.risk.synthesizers import Density, Synthesizer
from srlib.risk.whole import whole_support

__all__ = [
    "Augmented",
    "Columns",
    "Density",
    "DrawSets",
    "Leakage",
    "MembershipTest",
    "PartialKnowledge",
    "Participation",
    "PosteriorRisk",
    "PrivacyLosses",
    "Risk",
    "RiskBeforeRelease",
    "SampledSupport",
    "Synthesizer",
    "TakingPart",
    "WholeSupport",
    "agreeing_draws",
    "augment",
    "changed_support",
    "collapsed_log_ratios",
    "convergence",
    "counts_of_releases",
    "distance_test",
    "evidence",
    "exceeds",
    "importance_sampling",
    "infinitesimal_jackknife",
    "jackknife",
    "leakage",
    "leakage_bound",
    "margin_gain",
    "membership_test",
    "neighborhood",
    "neighborhood_log_ratios",
    "partial_knowledge",
    "participation",
    "posterior_risk",
    "predictive_ratio",
    "privacy_losses",
    "release_log_prob",
    "repeatability",
    "risk_before_release",
    "rounds",
    "sampled_support",
    "subset_log_means",
    "subset_support",
    "support_log_ratios",
    "taking_part",
    "whole_support",
]
