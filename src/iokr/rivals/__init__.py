"""The methods that output kernel regression is compared with in link prediction: `fit(X, adjacency, labeled)`.

Every rival scores any two nodes by `decision_function(X1, X2)`, but local models, which need one labelled node.
"""

from iokr.rivals.base import LinkRival, Naive
from iokr.rivals.directions import KernelCCA, KernelMetricLearning
from iokr.rivals.em import EMCompletion
from iokr.rivals.kde import KDE
from iokr.rivals.local import LocalModels
from iokr.rivals.ok3 import OK3
from iokr.rivals.pairs import TPPK, PairLinks
from iokr.rivals.pkmr import PKMR

__all__ = [
    "KDE",
    "OK3",
    "PKMR",
    "TPPK",
    "EMCompletion",
    "KernelCCA",
    "KernelMetricLearning",
    "LinkRival",
    "LocalModels",
    "Naive",
    "PairLinks",
]
