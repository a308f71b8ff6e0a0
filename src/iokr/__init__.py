"""Structured prediction with kernels on the inputs and on the outputs: output kernel regression.

Learn h : X → F, F the feature space of an output kernel, then decode h(x) into an output. Names are resolved when
they are first used, so importing the package is quick.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

__version__ = "0.1.0"

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
    "PairLinkPredictor",
    "PairLinkPredictorCV",
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
    from iokr.data.candidates import CandidateSets, SharedCandidates, Unlabeled
    from iokr.data.chunks import Stream
    from iokr.estimators.autoencoder.model import KernelAutoencoder
    from iokr.estimators.bipartite import BipartitePredictor
    from iokr.estimators.conformal.model import Conformal
    from iokr.estimators.functional.cv import FunctionalCV
    from iokr.estimators.functional.model import Functional
    from iokr.estimators.identification.model import Identification
    from iokr.estimators.links.cv import LinkPredictorCV
    from iokr.estimators.links.predictor import LinkPredictor
    from iokr.estimators.links.stack import LinkStack
    from iokr.estimators.multitask.cv import MultiTaskCV
    from iokr.estimators.multitask.model import MultiTask
    from iokr.estimators.neighbors import Neighbors
    from iokr.estimators.pairs.cv import PairModelCV
    from iokr.estimators.pairs.links import PairLinkPredictor, PairLinkPredictorCV
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


__getattr__, __dir__ = lazy_names(__name__)
