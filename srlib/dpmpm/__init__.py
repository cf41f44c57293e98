"""The Dirichlet process mixture of products of multinomials (DPMPM).

Hu, Reiter and Wang (2014), section 2: every record belongs to one of F latent classes,
the variables are independent multinomials within a class, and the class probabilities
have a truncated stick-breaking prior.
"""

from srlib.dpmpm.exact import enumerate_mechanism as enumerate_mechanism
from srlib.dpmpm.gibbs import DPMPMSynthesizer as DPMPMSynthesizer
from srlib.dpmpm.gibbs import FittedDPMPM as FittedDPMPM
from srlib.dpmpm.gibbs import Sampler as Sampler
from srlib.dpmpm.gibbs import fit_dpmpm as fit_dpmpm
from srlib.dpmpm.gibbs import sample_posterior as sample_posterior
from srlib.dpmpm.model import Chains as Chains
from srlib.dpmpm.model import Draws as Draws
from srlib.dpmpm.model import Prior as Prior
from srlib.dpmpm.predict import cell_log_prob as cell_log_prob
from srlib.dpmpm.predict import leave_one_out_log_ratios as leave_one_out_log_ratios
from srlib.dpmpm.predict import neighbor_log_ratios as neighbor_log_ratios
from srlib.dpmpm.predict import prior_cell_log_prob as prior_cell_log_prob
from srlib.dpmpm.release import synthesize as synthesize
