"""Tables of log p(release | data set): synthesizers, exact epsilon, and Bayes' rule."""

from srlib.mechanism import acceptance, edp
from srlib.mechanism.bayes import (
    posterior,
    posterior_bound,
    posterior_from_log_ratio,
    rank,
    risk,
)
from srlib.mechanism.core import (
    Block,
    Mechanism,
    count_neighbors,
    sample,
    table_neighbors,
)
from srlib.mechanism.families import (
    apportion,
    bernoulli_plugin,
    bernoulli_plugin_alpha,
    beta_binomial,
    compositions,
    dirichlet_multinomial,
    dirichlet_multinomial_alpha,
    log_binomial,
    private_plugin,
)
from srlib.mechanism.privacy import (
    Epsilon,
    calibrate,
    conditional_epsilon,
    delta,
    exact_epsilon,
    privacy_loss,
)
from srlib.mechanism.records import MechanismSynthesizer
from srlib.mechanism.scores import calibrate_rate, exponential, gibbs, sensitivity

__all__ = [
    "Block",
    "Epsilon",
    "Mechanism",
    "MechanismSynthesizer",
    "acceptance",
    "apportion",
    "bernoulli_plugin",
    "bernoulli_plugin_alpha",
    "beta_binomial",
    "calibrate",
    "calibrate_rate",
    "compositions",
    "conditional_epsilon",
    "count_neighbors",
    "delta",
    "dirichlet_multinomial",
    "dirichlet_multinomial_alpha",
    "edp",
    "exact_epsilon",
    "exponential",
    "gibbs",
    "log_binomial",
    "posterior",
    "posterior_bound",
    "posterior_from_log_ratio",
    "privacy_loss",
    "private_plugin",
    "rank",
    "risk",
    "sample",
    "sensitivity",
    "table_neighbors",
]
