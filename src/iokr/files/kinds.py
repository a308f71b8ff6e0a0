"""The names in model files: packages of public classes, and kinds of values whose classes are private.

Names never change; classes may be renamed and moved.
"""

from __future__ import annotations

from types import ModuleType

import iokr
from iokr import (
    chem,
    decoders,
    embeddings,
    kernels,
    losses,
    manifolds,
    model_selection,
    operator_kernels,
    problem,
    solvers,
)
from iokr._array import factorizations
from iokr.chem import spectra
from iokr.data import bits, frames, graphs, objects, ragged, trees
from iokr.decoders import graphs as decoder_graphs
from iokr.embeddings import basis
from iokr.estimators import inputs, outputs
from iokr.estimators.conformal import closed, left_out, scores
from iokr.estimators.functional import operator
from iokr.estimators.links import network
from iokr.estimators.multitask import operators as task_operators
from iokr.estimators.pairs import all_pairs, strategies
from iokr.estimators.quantiles import base as quantiles
from iokr.estimators.quantiles import levels
from iokr.estimators.regression import posing, streaming
from iokr.estimators.search import result
from iokr.estimators.trees import boosting, growing
from iokr.gram import moments, operators
from iokr.kernels import landmarks
from iokr.kernels._data import counts, places
from iokr.kernels.structured import bags, sequences
from iokr.kernels.structured import graphs as graph_kernels
from iokr.kernels.structured import trees as tree_kernels
from iokr.operator_kernels import blocks

__all__ = ["KINDS", "PACKAGES"]

# Public classes are named "package.Class", those of `iokr` itself "Class".
PACKAGES: dict[str, ModuleType] = {
    "": iokr,
    "kernels": kernels,
    "operator_kernels": operator_kernels,
    "embeddings": embeddings,
    "losses": losses,
    "manifolds": manifolds,
    "solvers": solvers,
    "decoders": decoders,
    "model_selection": model_selection,
    "chem": chem,
}

KINDS: dict[str, type] = {
    # what a fitted model consists of
    "inputs": posing.FittedInputs,
    "outputs": outputs.FittedOutputs,
    "targets": outputs.Targets,
    "solution": problem.Solution,
    "input adapter": inputs.InputAdapter,
    "search result": result.SearchResult,
    "search axis": result.Axis,
    "moments": moments.Moments,
    "partial fit": streaming.PartialFit,
    "origin of moments": streaming.Origin,
    "link network": network.Network,
    "pair data": strategies.PairData,
    "pair examples": strategies.Examples,
    "one model": strategies.OnePerPair,
    "both orders": strategies.BothOrders,
    "one model per node": strategies.OnePerNode,
    "ridge on all pairs": all_pairs.AllPairs,
    "task metric": task_operators.TaskMetric,
    "tree partition": growing.Partition,
    "boosting stage": boosting.Stage,
    "quantile points": quantiles.Points,
    "quantile rows": quantiles.Rows,
    "quantile levels": levels.Levels,
    "scores in closed form": closed.ClosedScores,
    "scores of a split": scores.SplitScores,
    "scores of nodes": scores.NodeScores,
    "leave-one-out": left_out.LeftOut,
    "leave-one-out part": left_out.Part,
    "leave-one-out intercept": left_out.Intercept,
    "curve operator": operator.CurveOperator,
    # operators on outputs, factors
    "multiple of the identity": operators.Multiple,
    "symmetric operator": operators.Symmetric,
    "oblique operator": operators.Oblique,
    "diagonal blocks": blocks.Diagonal,
    "Cholesky factor": factorizations.CholeskyFactor,
    "landmarks": landmarks.Landmarks,
    "sketched landmarks": landmarks.SketchedLandmarks,
    # bases of curves
    "basis from a table": basis.TableBasis,
    "basis of functions": basis.FunctionBasis,
    "Fourier basis": basis.FourierBasis,
    "spline basis": basis.SplineBasis,
    "named basis": basis.NamedBasis,
    # objects as kernels represent them
    "several representations": objects.Parts,
    "data frame": frames.Frame,
    "features": counts.Vocabulary,
    "graph labels": graph_kernels.Levels,
    "subtrees": tree_kernels.Subtrees,
    "counts": counts.Counts,
    "ragged array": ragged.Ragged,
    "bags": bags.Bags,
    "peak table": places.PeakTable,
    "peaks of spectra": places.Places,
    "sequence positions": sequences.Positions,
    "bits": bits.Bits,
    "mass spectrum": spectra.MassSpectrum,
    "mass spectra": spectra.MassSpectra,
    "graph": graphs.Graph,
    "graph matrices": decoder_graphs.Sketch,
    "tree": trees.Preorder,
}
