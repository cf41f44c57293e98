"""Sequential trees: a synthesizer of categorical microdata whose density is known.

Variables are drawn one after the other, each from a classification tree on the
variables before it, as many agencies do (Reiter 2005). Given the data the trees are
fixed, so that log p(release | data) is a sum over leaves. A candidate for a record is a
change of the data: `log_likelihoods` returns the exact log probability of the release
for any record and any candidates.
"""

from srlib.trees.changes import log_likelihoods
from srlib.trees.model import AS_RPART, UNPRUNED, Growth, Trees, fit_trees
from srlib.trees.synthesizer import SequentialTrees

__all__ = [
    "AS_RPART",
    "UNPRUNED",
    "Growth",
    "SequentialTrees",
    "Trees",
    "fit_trees",
    "log_likelihoods",
]
