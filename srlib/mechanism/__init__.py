"""Tables of log p(release | data set): synthesizers, exact epsilon, and Bayes' rule."""

from srlib.mechanism.bayes import posterior as posterior
from srlib.mechanism.bayes import posterior_bound as posterior_bound
from srlib.mechanism.bayes import posterior_from_log_ratio as posterior_from_log_ratio
from srlib.mechanism.bayes import rank as rank
from srlib.mechanism.bayes import risk as risk
from srlib.mechanism.core import Block as Block
from srlib.mechanism.core import Mechanism as Mechanism
from srlib.mechanism.core import Rows as Rows
from srlib.mechanism.core import count_neighbors as count_neighbors
from srlib.mechanism.core import sample as sample
from srlib.mechanism.core import table_neighbors as table_neighbors
from srlib.mechanism.families import apportion as apportion
from srlib.mechanism.families import bernoulli_plugin as bernoulli_plugin
from srlib.mechanism.families import bernoulli_plugin_alpha as bernoulli_plugin_alpha
from srlib.mechanism.families import beta_binomial as beta_binomial
from srlib.mechanism.families import compositions as compositions
from srlib.mechanism.families import dirichlet_multinomial as dirichlet_multinomial
from srlib.mechanism.families import (
    dirichlet_multinomial_alpha as dirichlet_multinomial_alpha,
)
from srlib.mechanism.families import log_binomial as log_binomial
from srlib.mechanism.families import private_plugin as private_plugin
from srlib.mechanism.privacy import Epsilon as Epsilon
from srlib.mechanism.privacy import calibrate as calibrate
from srlib.mechanism.privacy import conditional_epsilon as conditional_epsilon
from srlib.mechanism.privacy import delta as delta
from srlib.mechanism.privacy import exact_epsilon as exact_epsilon
from srlib.mechanism.privacy import privacy_loss as privacy_loss
from srlib.mechanism.records import MechanismSynthesizer as MechanismSynthesizer
from srlib.mechanism.scores import calibrate_rate as calibrate_rate
from srlib.mechanism.scores import exponential as exponential
from srlib.mechanism.scores import gibbs as gibbs
from srlib.mechanism.scores import sensitivity as sensitivity
