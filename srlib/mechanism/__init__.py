"""The table of log p(release | data set): what fills it, and its readings."""

from srlib.mechanism.bayes import (
    posterior,
    posterior_bound,
    rank,
    risk,
    update,
)
from srlib.mechanism.core import (
    Block,
    Mechanism,
    Rows,
    change_one,
    change_one_record,
    sample,
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
from srlib.mechanism.records import OnRecords
from srlib.mechanism.scores import (
    exact_rate,
    exponential,
    gibbs,
    sensitivity,
)

__all__ = [
    "Block",
    "Epsilon",
    "Mechanism",
    "OnRecords",
    "Rows",
    "apportion",
    "bernoulli_plugin",
    "bernoulli_plugin_alpha",
    "beta_binomial",
    "calibrate",
    "change_one",
    "change_one_record",
    "compositions",
    "conditional_epsilon",
    "delta",
    "dirichlet_multinomial",
    "dirichlet_multinomial_alpha",
    "exact_epsilon",
    "exact_rate",
    "exponential",
    "gibbs",
    "log_binomial",
    "posterior",
    "posterior_bound",
    "privacy_loss",
    "private_plugin",
    "rank",
    "risk",
    "sample",
    "sensitivity",
    "update",
]
