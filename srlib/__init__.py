"""Disclosure risk of synthetic data: the shared library of four executable papers.

The names here are imported from their packages on first use, so importing srlib imports
nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srlib import charts
    from srlib.assessment import Assessment, assess
    from srlib.data import Microdata, Schema, read_table
    from srlib.dpmpm import Chains, Draws, Prior, fit_dpmpm
    from srlib.mechanism import (
        Mechanism,
        acceptance,
        bernoulli_plugin,
        beta_binomial,
        calibrate,
        conditional_epsilon,
        delta,
        dirichlet_multinomial,
        edp,
        exact_epsilon,
        exponential,
        posterior,
    )
    from srlib.mechanism.budget import epsilon_for_risk, risk_at
    from srlib.risk.black_box import leakage_bound
    from srlib.risk.membership import MembershipTest, membership_test
    from srlib.risk.posterior import PosteriorRisk, posterior_risk
    from srlib.risk.prospective import RiskBeforeRelease, risk_before_release
    from srlib.risk.synthesizers import Synthesizer
    from srlib.trees import fit_trees

__all__ = [
    "Assessment",
    "Chains",
    "Draws",
    "Mechanism",
    "MembershipTest",
    "Microdata",
    "PosteriorRisk",
    "Prior",
    "RiskBeforeRelease",
    "Schema",
    "Synthesizer",
    "__version__",
    "acceptance",
    "assess",
    "bernoulli_plugin",
    "beta_binomial",
    "calibrate",
    "charts",
    "conditional_epsilon",
    "delta",
    "dirichlet_multinomial",
    "edp",
    "epsilon_for_risk",
    "exact_epsilon",
    "exponential",
    "fit_dpmpm",
    "fit_trees",
    "leakage_bound",
    "membership_test",
    "posterior",
    "posterior_risk",
    "read_table",
    "risk_at",
    "risk_before_release",
]

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
    "epsilon_for_risk": "mechanism.budget",
    "risk_at": "mechanism.budget",
    # modules
    "edp": "mechanism.edp",
    "acceptance": "mechanism.acceptance",
    "charts": "charts",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("srlib")
    if name not in _HOME:
        raise AttributeError(f"module 'srlib' has no attribute {name!r}")
    home = import_module(f"srlib.{_HOME[name]}")
    return getattr(home, name, home)  # the name may be that of the module


def __dir__() -> list[str]:
    return __all__
