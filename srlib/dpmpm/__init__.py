"""The Dirichlet process mixture of products of multinomials (DPMPM), a synthesizer of microdata.

Hu, Reiter and Wang (2014), section 2: every record belongs to one of F latent classes, within
a class the variables are independent multinomials, and the class probabilities follow a
truncated stick-breaking prior.
"""

from srlib.dpmpm.exact import enumerate_mechanism
from srlib.dpmpm.gibbs import Fitted, Mixture, Sampler, fit_dpmpm, sample_posterior
from srlib.dpmpm.model import Chains, Draws, Prior
from srlib.dpmpm.predict import (
    cell_log_prob,
    left_out_log_ratios,
    neighbor_log_ratios,
    prior_cell_log_prob,
)
from srlib.dpmpm.release import synthesize

__all__ = [
    "Chains",
    "Draws",
    "Fitted",
    "Mixture",
    "Prior",
    "Sampler",
    "cell_log_prob",
    "enumerate_mechanism",
    "fit_dpmpm",
    "left_out_log_ratios",
    "neighbor_log_ratios",
    "prior_cell_log_prob",
    "sample_posterior",
    "synthesize",
]
