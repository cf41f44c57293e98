"""Disclosure risk of synthetic data: the shared library of four executable papers.

The names here are imported from their packages on first use, so importing srlib imports
nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srlib import charts as charts
    from srlib.assessment.run import Assessment as Assessment
    from srlib.assessment.run import assess as assess
    from srlib.data.microdata import read_table as read_table
    from srlib.data.schema import Microdata as Microdata
    from srlib.data.schema import Schema as Schema
    from srlib.dpmpm.gibbs import fit_dpmpm as fit_dpmpm
    from srlib.dpmpm.model import Chains as Chains
    from srlib.dpmpm.model import Draws as Draws
    from srlib.dpmpm.model import Prior as Prior
    from srlib.mechanism import acceptance as acceptance
    from srlib.mechanism import edp as edp
    from srlib.mechanism.bayes import posterior as posterior
    from srlib.mechanism.core import Mechanism as Mechanism
    from srlib.mechanism.families import bernoulli_plugin as bernoulli_plugin
    from srlib.mechanism.families import beta_binomial as beta_binomial
    from srlib.mechanism.families import dirichlet_multinomial as dirichlet_multinomial
    from srlib.mechanism.privacy import calibrate as calibrate
    from srlib.mechanism.privacy import conditional_epsilon as conditional_epsilon
    from srlib.mechanism.privacy import delta as delta
    from srlib.mechanism.privacy import exact_epsilon as exact_epsilon
    from srlib.mechanism.scores import exponential as exponential
    from srlib.risk.black_box import leakage_bound as leakage_bound
    from srlib.risk.membership import MembershipTest as MembershipTest
    from srlib.risk.membership import membership_test as membership_test
    from srlib.risk.posterior import PosteriorRisk as PosteriorRisk
    from srlib.risk.posterior import posterior_risk as posterior_risk
    from srlib.risk.prospective import RiskBeforeRelease as RiskBeforeRelease
    from srlib.risk.prospective import risk_before_release as risk_before_release
    from srlib.risk.synthesizers import Synthesizer as Synthesizer
    from srlib.trees.model import fit_trees as fit_trees

_HOME = {
    # disclosure risk of an original and its releases
    "assess": "assessment.run",
    "Assessment": "assessment.run",
    "posterior_risk": "risk.posterior",
    "PosteriorRisk": "risk.posterior",
    "leakage_bound": "risk.black_box",
    "risk_before_release": "risk.prospective",
    "RiskBeforeRelease": "risk.prospective",
    "membership_test": "risk.membership",
    "MembershipTest": "risk.membership",
    # data, and synthesizers
    "read_table": "data.microdata",
    "Microdata": "data.schema",
    "Schema": "data.schema",
    "fit_dpmpm": "dpmpm.gibbs",
    "fit_trees": "trees.model",
    "Chains": "dpmpm.model",
    "Draws": "dpmpm.model",
    "Prior": "dpmpm.model",
    "Synthesizer": "risk.synthesizers",
    # mechanisms: the table of log p(release | data set)
    "Mechanism": "mechanism.core",
    "bernoulli_plugin": "mechanism.families",
    "beta_binomial": "mechanism.families",
    "dirichlet_multinomial": "mechanism.families",
    "exponential": "mechanism.scores",
    "exact_epsilon": "mechanism.privacy",
    "conditional_epsilon": "mechanism.privacy",
    "delta": "mechanism.privacy",
    "calibrate": "mechanism.privacy",
    "posterior": "mechanism.bayes",
    # modules
    "edp": "mechanism.edp",
    "acceptance": "mechanism.acceptance",
    "charts": "charts",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("srlib")
    if name not in _HOME:
        raise AttributeError(f"module 'srlib' has no attribute {name!r}")
    home = _HOME[name]
    value: Any = import_module(f"srlib.{home}")
    if not home.endswith(name):  # the name is not that of the module
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
