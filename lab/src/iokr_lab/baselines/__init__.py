"""Published methods for link prediction, the baselines of the experiments: `fit(X, adjacency, labeled)`.

Every baseline scores any two nodes by `decision_function(X1, X2)`; local models need at least one labelled node.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.links.baselines import PKMR, LinkBaseline, Naive
    from iokr_lab.baselines.cca import KernelCCA
    from iokr_lab.baselines.classifier import PairClassifier
    from iokr_lab.baselines.em import EMCompletion
    from iokr_lab.baselines.kde import KDE
    from iokr_lab.baselines.local import LocalModels
    from iokr_lab.baselines.metric import KernelMetricLearning
    from iokr_lab.baselines.ok3 import OK3
    from iokr_lab.baselines.tppk import TPPK

__all__ = [
    "KDE",
    "OK3",
    "PKMR",
    "TPPK",
    "EMCompletion",
    "KernelCCA",
    "KernelMetricLearning",
    "LinkBaseline",
    "LocalModels",
    "Naive",
    "PairClassifier",
]

__getattr__, __dir__ = lazy_names(__name__)
