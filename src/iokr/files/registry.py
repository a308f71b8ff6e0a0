"""The classes that model files may name: public components, and the values that fitted ones hold. No others are made.

A name in a file is looked up here and nowhere else. Names stay what they are when a class moves to another module.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

__all__ = ["BASELINES", "FOLDERS", "HELD", "REFUSED", "MissingBaseline", "class_of", "name_of", "registered"]


class MissingBaseline(ImportError):
    """A file holds a baseline of iokr-lab, which is not installed."""


BASELINES = "rivals"  # what files of format 1 call the published methods of iokr_lab.baselines
FOLDERS = (
    *("kernels", "operator_kernels", "embeddings", "losses", "manifolds", "solvers", "decoders"),
    *(BASELINES, "model_selection", "chem"),
)

# Values that fitted models hold: the name in files, the module, the class where it has another name.
HELD = {
    "Border": "iokr.estimators.inputs:InputAdapter",
    "FittedInputs": "iokr.estimators.regression.posing",
    "FittedOutputs": "iokr.estimators.outputs",
    "SearchResult": "iokr.estimators.search.result",
    "Axis": "iokr.estimators.search.result",
    "Targets": "iokr.estimators.outputs",
    "Solution": "iokr.problem",
    "PartialFit": "iokr.estimators.regression.streaming",
    "Moments": "iokr.gram.moments",
    "LinkNetwork": "iokr.estimators.links.network:Network",
    "PairData": "iokr.estimators.pairs.strategies",
    "Examples": "iokr.estimators.pairs.strategies",
    "OnePerPair": "iokr.estimators.pairs.strategies",
    "BothOrders": "iokr.estimators.pairs.strategies",
    "OnePerNode": "iokr.estimators.pairs.strategies",
    "AllPairs": "iokr.estimators.pairs.all_pairs",
    "TaskMetric": "iokr.estimators.multitask.similarity",
    "Grown": "iokr.estimators.trees.growing:Partition",
    "BoostingStage": "iokr.estimators.trees.boosting:Stage",
    "Parts": "iokr.data.objects",
    "Frame": "iokr.data.frames",
    "CholeskyFactor": "iokr._array.factorizations",
    "Landmarks": "iokr.kernels.landmarks",
    "SketchedLandmarks": "iokr.kernels.landmarks",
    "Vocabulary": "iokr.kernels._data.counts",
    "Counts": "iokr.kernels._data.counts",
    "Ragged": "iokr.data.ragged",
    "PeakTable": "iokr.kernels._data.places",
    "PeakPlaces": "iokr.kernels._data.places:Places",
    "Bits": "iokr.data.bits",
    "MassSpectrum": "iokr.chem.spectra",
    "MassSpectra": "iokr.chem.spectra",
    "Bags": "iokr.kernels.structured.bags",
    "Graph": "iokr.data.graphs",
    "GraphLevels": "iokr.kernels.structured.graphs:Levels",
    "TreeColumns": "iokr.kernels.structured.trees:Subtrees",
    "SequencePositions": "iokr.kernels.structured.sequences:Positions",
    "GraphSketch": "iokr.decoders.graphs:Sketch",
    "TreePreorder": "iokr.data.trees:Preorder",
    "Multiple": "iokr.gram.operators",
    "Symmetric": "iokr.gram.operators",
    "Oblique": "iokr.gram.operators",
    "CurveOperator": "iokr.estimators.functional.operator",
    "TableBasis": "iokr.embeddings.basis",
    "FunctionBasis": "iokr.embeddings.basis",
    "FourierBasis": "iokr.embeddings.basis",
    "SplineBasis": "iokr.embeddings.basis",
    "NamedBasis": "iokr.embeddings.basis",
    "QuantilePoints": "iokr.estimators.quantiles.base:Points",
    "QuantileRows": "iokr.estimators.quantiles.base:Rows",
    "QuantileLevels": "iokr.estimators.quantiles.levels:Levels",
    "ClosedScores": "iokr.estimators.conformal.closed",
    "SplitScores": "iokr.estimators.conformal.split",
    "NodeScores": "iokr.estimators.conformal.split",
    "LeftOut": "iokr.estimators.conformal.left_out",
    "LeftOutPart": "iokr.estimators.conformal.left_out:Part",
    "DiagonalBlocks": "iokr.operator_kernels.blocks:Diagonal",
}

REFUSED = {"kernels.GraKeL": "GraKeL holds graphs as objects of that package, which are no plain data"}


@cache
def _held() -> dict[type, str]:
    return {_import(name): name for name in HELD}


@cache
def _import(name: str) -> type:
    module, _, other = HELD[name].partition(":")
    return getattr(import_module(module), other or name)  # type: ignore[no-any-return]


def name_of(cls: type) -> str | None:
    """The name of a class in files; None for one that they may not name."""
    parts = cls.__module__.split(".")
    if parts[0] not in ("iokr", "iokr_lab"):
        return None
    if "baselines" in parts:
        return f"{BASELINES}.{cls.__name__}" if _baseline(cls.__name__) is cls else None
    if _public("", cls.__name__) is cls:
        return cls.__name__
    if len(parts) > 1 and parts[1] in FOLDERS and _public(parts[1], cls.__name__) is cls:
        return f"{parts[1]}.{cls.__name__}"
    return _held().get(cls)


def class_of(name: Any) -> type | None:
    """The class of that name; None if there is none. Raises `MissingBaseline` where iokr-lab is needed."""
    if not isinstance(name, str):
        return None
    folder, _, short = name.rpartition(".")
    if folder in FOLDERS:
        return _public(folder, short)
    if folder:
        return None
    return _import(short) if short in HELD else _public("", short)


def _public(folder: str, name: str) -> type | None:
    if folder == BASELINES:
        return _baseline(name)
    return _exported(import_module(f"iokr.{folder}".rstrip(".")), name)


def _baseline(name: str) -> type | None:
    """A baseline of the library, or one of iokr-lab; an error that says how to install iokr-lab where it is needed."""
    ours = _exported(import_module("iokr.apps.links.baselines"), name)
    if ours is not None:
        return ours
    added = _added_baselines()
    if added is None:
        raise MissingBaseline(
            f"the baseline {name} is in iokr-lab, which is not installed: pip install iokr-lab (in a clone: ./lab)"
        )
    return _exported(added, name)


@cache
def _added_baselines() -> ModuleType | None:
    """The module that iokr-lab announces as the entry point `baselines` of the group `iokr.parts`."""
    for entry in entry_points(group="iokr.parts", name="baselines"):
        try:
            return entry.load()  # type: ignore[no-any-return]
        except ModuleNotFoundError:  # announced, but its files are gone
            return None
    return None


def _exported(module: ModuleType, name: str) -> type | None:
    """The public class of that name in a module; None if there is none."""
    cls = getattr(module, name, None) if name in module.__all__ else None
    return cls if isinstance(cls, type) else None


def registered(value: Any) -> bool:
    """Whether an object is of a class that files may name."""
    return name_of(type(value)) is not None
