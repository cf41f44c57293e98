"""The Dirichlet process mixture of products of multinomials (DPMPM).

Hu, Reiter and Wang (2014), section 2: every record belongs to one of F latent classes,
the variables are independent multinomials within a class, and the class probabilities
have a truncated stick-breaking prior.
"""

from srlib.dpmpm.exact import enumerate_mechanism
from srlib.dpmpm.gibbs import (
    DPMPMSynthesizer,
    FittedDPMPM,
    Sampler,
    fit_dpmpm,
    sample_posterior,
)
from srlib.dpmpm.model import Chains, Draws, Prior
from srlib.dpmpm.predict import (
    cell_log_prob,
    leave_one_out_log_ratios,
    neighbor_log_ratios,
    prior_cell_log_prob,
)
from srlib.dpmpm.release import synthesize

__all__ = [
    "Chains",
    "DPMPMSynthesizer",
    "Draws",
    "FittedDPMPM",
    "Prior",
    "Sampler",
    "cell_log_prob",
    "enumerate_mechanism",
    "fit_dpmpm",
    "leave_one_out_log_ratios",
    "neighbor_log_ratios",
    "prior_cell_log_prob",
    "sample_posterior",
    "synthesize",
]
