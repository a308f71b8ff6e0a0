"""Structured prediction with kernels on the inputs and on the outputs: output kernel regression.

Learn h : X → F, F the feature space of an output kernel, then decode h(x) into an output. Names are resolved when
they are first used, so importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "IOKR": "iokr.estimators.regression",
    "IOKRCV": "iokr.estimators.path",
    "LinkPredictor": "iokr.estimators.links",
    "LinkPredictorCV": "iokr.estimators.links_path",
    "MultiTask": "iokr.estimators.multitask",
    "MultiTaskCV": "iokr.estimators.multitask_path",
    "PairModel": "iokr.estimators.pairs",
    "OutputKernelTree": "iokr.estimators.trees",
    "OutputKernelForest": "iokr.estimators.forest",
    "OutputKernelBoosting": "iokr.estimators.boosting",
    "CandidateSets": "iokr.decoders.sets",
    "SharedCandidates": "iokr.decoders.sets",
    "Unlabeled": "iokr.estimators.base",
}

__all__ = [
    "IOKR",
    "IOKRCV",
    "CandidateSets",
    "LinkPredictor",
    "LinkPredictorCV",
    "MultiTask",
    "MultiTaskCV",
    "OutputKernelBoosting",
    "OutputKernelForest",
    "OutputKernelTree",
    "PairModel",
    "SharedCandidates",
    "Unlabeled",
    "__version__",
]

if TYPE_CHECKING:
    from iokr.decoders.sets import CandidateSets, SharedCandidates
    from iokr.estimators.base import Unlabeled
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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'iokr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
