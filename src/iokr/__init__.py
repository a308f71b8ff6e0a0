"""Structured prediction with kernels on the inputs and on the outputs: output kernel regression.

Learn h : X → F, F the feature space of an output kernel, then decode h(x) into an output. Names are resolved when
they are first used, so importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "IOKR": "iokr.estimators.regression.iokr",
    "IOKRCV": "iokr.estimators.regression.cv",
    "IOKRClassifier": "iokr.estimators.plain.classifier",
    "IOKRRegressor": "iokr.estimators.plain.regressor",
    "Functional": "iokr.estimators.functional.model",
    "FunctionalCV": "iokr.estimators.functional.cv",
    "BipartitePredictor": "iokr.estimators.bipartite",
    "KernelAutoencoder": "iokr.estimators.autoencoder.model",
    "LinkPredictor": "iokr.estimators.links.predictor",
    "LinkPredictorCV": "iokr.estimators.links.cv",
    "LinkStack": "iokr.estimators.links.stack",
    "MultiTask": "iokr.estimators.multitask.model",
    "MultiTaskCV": "iokr.estimators.multitask.cv",
    "PairModel": "iokr.estimators.pairs.model",
    "PairModelCV": "iokr.estimators.pairs.cv",
    "Neighbors": "iokr.estimators.neighbors",
    "NeuralRegressor": "iokr.estimators.surrogate.neural",
    "SetModel": "iokr.estimators.sets",
    "Surrogate": "iokr.estimators.surrogate.model",
    "OutputKernelTree": "iokr.estimators.trees.tree",
    "OutputKernelForest": "iokr.estimators.trees.forest",
    "OutputKernelBoosting": "iokr.estimators.trees.boosting",
    "QuantileCurves": "iokr.estimators.quantiles.model",
    "QuantileCurvesCV": "iokr.estimators.quantiles.cv",
    "Conformal": "iokr.estimators.conformal.model",
    "Identification": "iokr.estimators.identification.model",
    "CandidateSets": "iokr.decoders.candidate_sets",
    "SharedCandidates": "iokr.decoders.candidate_sets",
    "Stream": "iokr._chunks",
    "Unlabeled": "iokr.estimators.inputs",
    "load": "iokr.files.model",
    "save": "iokr.files.model",
}

__all__ = [
    "IOKR",
    "IOKRCV",
    "BipartitePredictor",
    "CandidateSets",
    "Conformal",
    "Functional",
    "FunctionalCV",
    "IOKRClassifier",
    "IOKRRegressor",
    "Identification",
    "KernelAutoencoder",
    "LinkPredictor",
    "LinkPredictorCV",
    "LinkStack",
    "MultiTask",
    "MultiTaskCV",
    "Neighbors",
    "NeuralRegressor",
    "OutputKernelBoosting",
    "OutputKernelForest",
    "OutputKernelTree",
    "PairModel",
    "PairModelCV",
    "QuantileCurves",
    "QuantileCurvesCV",
    "SetModel",
    "SharedCandidates",
    "Stream",
    "Surrogate",
    "Unlabeled",
    "__version__",
    "load",
    "save",
]

if TYPE_CHECKING:
    from iokr._chunks import Stream
    from iokr.decoders.candidate_sets import CandidateSets, SharedCandidates
    from iokr.estimators.autoencoder.model import KernelAutoencoder
    from iokr.estimators.bipartite import BipartitePredictor
    from iokr.estimators.conformal.model import Conformal
    from iokr.estimators.functional.cv import FunctionalCV
    from iokr.estimators.functional.model import Functional
    from iokr.estimators.identification.model import Identification
    from iokr.estimators.inputs import Unlabeled
    from iokr.estimators.links.cv import LinkPredictorCV
    from iokr.estimators.links.predictor import LinkPredictor
    from iokr.estimators.links.stack import LinkStack
    from iokr.estimators.multitask.cv import MultiTaskCV
    from iokr.estimators.multitask.model import MultiTask
    from iokr.estimators.neighbors import Neighbors
    from iokr.estimators.pairs.cv import PairModelCV
    from iokr.estimators.pairs.model import PairModel
    from iokr.estimators.plain.classifier import IOKRClassifier
    from iokr.estimators.plain.regressor import IOKRRegressor
    from iokr.estimators.quantiles.cv import QuantileCurvesCV
    from iokr.estimators.quantiles.model import QuantileCurves
    from iokr.estimators.regression.cv import IOKRCV
    from iokr.estimators.regression.iokr import IOKR
    from iokr.estimators.sets import SetModel
    from iokr.estimators.surrogate.model import Surrogate
    from iokr.estimators.surrogate.neural import NeuralRegressor
    from iokr.estimators.trees.boosting import OutputKernelBoosting
    from iokr.estimators.trees.forest import OutputKernelForest
    from iokr.estimators.trees.tree import OutputKernelTree
    from iokr.files.model import load, save


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'iokr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
