"""The methods that output kernel regression is compared with in link prediction: `fit(X, adjacency, labeled)`.

Every rival scores any two nodes by `decision_function(X1, X2)`, but local models, which need one labelled node.
"""

from iokr.rivals.base import LinkRival
from iokr.rivals.cca import KernelCCA
from iokr.rivals.classifier import PairClassifier
from iokr.rivals.em import EMCompletion
from iokr.rivals.kde import KDE
from iokr.rivals.local import LocalModels
from iokr.rivals.metric import KernelMetricLearning
from iokr.rivals.naive import Naive
from iokr.rivals.ok3 import OK3
from iokr.rivals.pairs import PairLinks
from iokr.rivals.pkmr import PKMR
from iokr.rivals.tppk import TPPK

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
    "PairClassifier",
    "PairLinks",
]
