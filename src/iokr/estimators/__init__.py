"""Compositions of the components: the only place with `fit(X, y)` and `predict(X)`."""

from iokr.estimators.boosting import OutputKernelBoosting
from iokr.estimators.forest import OutputKernelForest
from iokr.estimators.links import LinkPredictor
from iokr.estimators.links_path import LinkPredictorCV
from iokr.estimators.multitask import MultiTask
from iokr.estimators.multitask_path import MultiTaskCV
from iokr.estimators.pairs import PairModel
from iokr.estimators.path import IOKRCV
from iokr.estimators.regression import IOKR
from iokr.estimators.trees import OutputKernelTree

__all__ = [
    "IOKR",
    "IOKRCV",
    "LinkPredictor",
    "LinkPredictorCV",
    "MultiTask",
    "MultiTaskCV",
    "OutputKernelBoosting",
    "OutputKernelForest",
    "OutputKernelTree",
    "PairModel",
]
