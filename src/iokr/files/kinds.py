"""The kinds of values in model files that are no public classes, each with its class: names in files never change."""

from __future__ import annotations

from iokr._array.factorizations import CholeskyFactor
from iokr.chem.spectra import MassSpectra, MassSpectrum
from iokr.data.bits import Bits
from iokr.data.frames import Frame
from iokr.data.graphs import Graph
from iokr.data.objects import Parts
from iokr.data.ragged import Ragged
from iokr.data.trees import Preorder
from iokr.decoders.graphs import Sketch
from iokr.embeddings.basis import FourierBasis, FunctionBasis, NamedBasis, SplineBasis, TableBasis
from iokr.estimators.conformal.closed import ClosedScores
from iokr.estimators.conformal.left_out import LeftOut
from iokr.estimators.conformal.left_out import Part as LeftOutPart
from iokr.estimators.conformal.scores import NodeScores, SplitScores
from iokr.estimators.functional.operator import CurveOperator
from iokr.estimators.inputs import InputAdapter
from iokr.estimators.links.network import Network
from iokr.estimators.multitask.operators import TaskMetric
from iokr.estimators.outputs import FittedOutputs, Targets
from iokr.estimators.pairs.all_pairs import AllPairs
from iokr.estimators.pairs.strategies import BothOrders, Examples, OnePerNode, OnePerPair, PairData
from iokr.estimators.quantiles.base import Points, Rows
from iokr.estimators.quantiles.levels import Levels as QuantileLevels
from iokr.estimators.regression.posing import FittedInputs
from iokr.estimators.regression.streaming import PartialFit
from iokr.estimators.search.result import Axis, SearchResult
from iokr.estimators.trees.boosting import Stage
from iokr.estimators.trees.growing import Partition
from iokr.gram.moments import Moments
from iokr.gram.operators import Multiple, Oblique, Symmetric
from iokr.kernels._data.counts import Counts, Vocabulary
from iokr.kernels._data.places import PeakTable, Places
from iokr.kernels.landmarks import Landmarks, SketchedLandmarks
from iokr.kernels.structured.bags import Bags
from iokr.kernels.structured.graphs import Levels as GraphLevels
from iokr.kernels.structured.sequences import Positions
from iokr.kernels.structured.trees import Subtrees
from iokr.operator_kernels.blocks import Diagonal
from iokr.problem import Solution

__all__ = ["KINDS"]

KINDS: dict[str, type] = {
    # what a fitted model consists of
    "inputs": FittedInputs,
    "outputs": FittedOutputs,
    "targets": Targets,
    "solution": Solution,
    "input adapter": InputAdapter,
    "search result": SearchResult,
    "search axis": Axis,
    "moments": Moments,
    "partial fit": PartialFit,
    "link network": Network,
    "pair data": PairData,
    "pair examples": Examples,
    "one model": OnePerPair,
    "both orders": BothOrders,
    "one model per node": OnePerNode,
    "ridge on all pairs": AllPairs,
    "task metric": TaskMetric,
    "tree partition": Partition,
    "boosting stage": Stage,
    "quantile points": Points,
    "quantile rows": Rows,
    "quantile levels": QuantileLevels,
    "scores in closed form": ClosedScores,
    "scores of a split": SplitScores,
    "scores of nodes": NodeScores,
    "leave-one-out": LeftOut,
    "leave-one-out part": LeftOutPart,
    "curve operator": CurveOperator,
    # operators on outputs, factors
    "multiple of the identity": Multiple,
    "symmetric operator": Symmetric,
    "oblique operator": Oblique,
    "diagonal blocks": Diagonal,
    "Cholesky factor": CholeskyFactor,
    "landmarks": Landmarks,
    "sketched landmarks": SketchedLandmarks,
    # bases of curves
    "basis from a table": TableBasis,
    "basis of functions": FunctionBasis,
    "Fourier basis": FourierBasis,
    "spline basis": SplineBasis,
    "named basis": NamedBasis,
    # objects as kernels represent them
    "several representations": Parts,
    "data frame": Frame,
    "features": Vocabulary,
    "graph labels": GraphLevels,
    "subtrees": Subtrees,
    "counts": Counts,
    "ragged array": Ragged,
    "bags": Bags,
    "peak table": PeakTable,
    "peaks of spectra": Places,
    "sequence positions": Positions,
    "bits": Bits,
    "mass spectrum": MassSpectrum,
    "mass spectra": MassSpectra,
    "graph": Graph,
    "graph matrices": Sketch,
    "tree": Preorder,
}
