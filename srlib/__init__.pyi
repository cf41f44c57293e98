"""The public names, and the modules that each is imported from on first use."""

from . import charts as charts
from .assessment.run import Assessment as Assessment
from .assessment.run import assess as assess
from .data.microdata import read_table as read_table
from .data.schema import Microdata as Microdata
from .data.schema import Schema as Schema
from .dpmpm.gibbs import fit_dpmpm as fit_dpmpm
from .dpmpm.model import Chains as Chains
from .dpmpm.model import Draws as Draws
from .dpmpm.model import Prior as Prior
from .mechanism import acceptance as acceptance
from .mechanism import edp as edp
from .mechanism.bayes import posterior as posterior
from .mechanism.budget import epsilon_for_risk as epsilon_for_risk
from .mechanism.budget import risk_at as risk_at
from .mechanism.core import Mechanism as Mechanism
from .mechanism.families import bernoulli_plugin as bernoulli_plugin
from .mechanism.families import beta_binomial as beta_binomial
from .mechanism.families import dirichlet_multinomial as dirichlet_multinomial
from .mechanism.privacy import calibrate as calibrate
from .mechanism.privacy import conditional_epsilon as conditional_epsilon
from .mechanism.privacy import delta as delta
from .mechanism.privacy import exact_epsilon as exact_epsilon
from .mechanism.scores import exponential as exponential
from .risk.black_box import leakage_bound as leakage_bound
from .risk.membership import MembershipTest as MembershipTest
from .risk.membership import membership_test as membership_test
from .risk.posterior import PosteriorRisk as PosteriorRisk
from .risk.posterior import posterior_risk as posterior_risk
from .risk.prospective import RiskBeforeRelease as RiskBeforeRelease
from .risk.prospective import risk_before_release as risk_before_release
from .risk.synthesizers import Synthesizer as Synthesizer
from .trees.model import fit_trees as fit_trees

__all__: list[str]
__version__: str
