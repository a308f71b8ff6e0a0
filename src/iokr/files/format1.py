"""Format 1: names of classes and of their attributes in files before format 2, and what has their place now.

In format 1 private classes and attributes had the names that they had in the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import asarray_like, to_numpy
from iokr.data.objects import Parts
from iokr.estimators.pairs.all_pairs import AllPairs
from iokr.estimators.search.result import Axis

__all__ = ["present_names", "renewed"]

KINDS = {
    "AllPairs": "ridge on all pairs",
    "AllPairsCV": "PairLinkPredictorCV",
    "Axis": "search axis",
    "Bags": "bags",
    "Bits": "bits",
    "BoostingStage": "boosting stage",
    "Border": "input adapter",
    "BothOrders": "both orders",
    "CholeskyFactor": "Cholesky factor",
    "ClosedScores": "scores in closed form",
    "Counts": "counts",
    "CurveOperator": "curve operator",
    "DiagonalBlocks": "diagonal blocks",
    "Examples": "pair examples",
    "FittedInputs": "inputs",
    "FittedOutputs": "outputs",
    "FourierBasis": "Fourier basis",
    "Frame": "data frame",
    "FunctionBasis": "basis of functions",
    "Graph": "graph",
    "GraphLevels": "graph labels",
    "GraphSketch": "graph matrices",
    "Grown": "tree partition",
    "Landmarks": "landmarks",
    "LeftOut": "leave-one-out",
    "LeftOutPart": "leave-one-out part",
    "LinkNetwork": "link network",
    "MassSpectra": "mass spectra",
    "MassSpectrum": "mass spectrum",
    "Moments": "moments",
    "Multiple": "multiple of the identity",
    "NamedBasis": "named basis",
    "NodeScores": "scores of nodes",
    "Oblique": "oblique operator",
    "OnePerNode": "one model per node",
    "OnePerPair": "one model",
    "PairData": "pair data",
    "PartialFit": "partial fit",
    "Parts": "several representations",
    "PeakPlaces": "peaks of spectra",
    "PeakTable": "peak table",
    "QuantileLevels": "quantile levels",
    "QuantilePoints": "quantile points",
    "QuantileRows": "quantile rows",
    "Ragged": "ragged array",
    "Search": "search result",
    "SearchResult": "search result",
    "SequencePositions": "sequence positions",
    "SketchedLandmarks": "sketched landmarks",
    "Solution": "solution",
    "SplineBasis": "spline basis",
    "SplitScores": "scores of a split",
    "Stage": "boosting stage",
    "Symmetric": "symmetric operator",
    "TableBasis": "basis from a table",
    "Targets": "targets",
    "TaskMetric": "task metric",
    "TreeColumns": "subtrees",
    "TreePreorder": "tree",
    "Vocabulary": "features",
    "rivals.PairLinks": "PairLinkPredictor",
}

# Attributes of any class: their names now, None for what is computed again. Others lose their first underscore only.
FIELDS: dict[str, str | None] = {
    "_Q": "coordinates",
    "_Y": "training_outputs",
    "_Z": "training_coordinates",
    "_alpha": "fitted_alpha",
    "_at": "regularisation",
    "_at_silent": "at_empty",
    "_border": "adapter",
    "_by_fgw": "fused",
    "_folds": None,
    "_kept": "training",
    "_kind": "output_type",
    "_label": "node_label",
    "_last": None,
    "_list": "as_list",
    "_nodes": None,
    "_normalized_weight": "sample_weight",
    "_nu": "step",
    "_quadrature": None,
    "_range": "size_range",
    "_silent": "empty",
    "_soft": "soft_graphs",
    "_strategy": "fitted_strategy",
    "_structured": None,
    "_which": "distinct",
}

_Names = dict[str, str | None]
_WEIGHT: _Names = {"strength": "weight"}
_TASK_WEIGHT: _Names = {"strength": "task_weight", "strengths": "task_weights", "strength_": "task_weight_"}
_MANIFOLD_WEIGHT: _Names = {"strengths": "manifold_weights", "strength_": "manifold_weight_"}
_RANK: _Names = {"rank": "n_components"}

RENAMED: dict[str, _Names] = {
    "manifolds.Given": _WEIGHT,
    "manifolds.Heat": _WEIGHT,
    "manifolds.IteratedLaplacian": _WEIGHT,
    "manifolds.Laplacian": _WEIGHT,
    "MultiTask": _TASK_WEIGHT,
    "MultiTaskCV": _TASK_WEIGHT,
    "TaskMetric": _TASK_WEIGHT,
    "embeddings.Eigen": _RANK,
    "embeddings.KernelPCA": _RANK,
    "embeddings.Nystroem": _RANK,
    "embeddings.Sketch": _RANK,
    "kernels.Fourier": _RANK,
    "kernels.Nystroem": _RANK,
    "kernels.Sketch": _RANK,
    "IOKRCV": _MANIFOLD_WEIGHT,
    "LinkPredictorCV": {**_MANIFOLD_WEIGHT, "choice": "rule"},
    "LeftOut": {"Psi": None},
    "PeakTable": {"starts": None, "by_place": None, "largest": None},
    "QuantilePoints": {"gram": None},
    "Stage": {"grown": "partition"},
    "Symmetric": {"spectrum": None},
}


def _link_predictor_cv(state: dict[str, Any]) -> dict[str, Any]:
    names = {"soft": "averaged", "maximum": "best"}
    return {**state, "rule": names.get(state["rule"], state["rule"])}


def _graph_edits(state: dict[str, Any]) -> dict[str, Any]:
    """None was for a search from any training graph."""
    if "sketches" in state and state["starts"] is None:
        return {**state, "starts": np.arange(len(state["sketches"]))}
    return state


def _search(state: dict[str, Any]) -> dict[str, Any]:
    """The table of a search: its scores, larger ones better, on named axes."""
    axes = tuple(Axis(name, values) for name, values in zip(state["names"], state["settings"], strict=True))
    scores = state["scores"]
    return {
        "axes": axes,
        "values": scores,
        "larger": True,
        "measures": {"score": scores},
        "folds": state["splits"],
        "weights": state["weights"],
    }


def _pair_links(state: dict[str, Any]) -> dict[str, Any]:
    """Ridge on all pairs: coefficients of pairs as the matrix S, the nodes as the kernel represents them."""
    copied = ["kernel", "strategy", "mix", "alpha", "unlinked", "kernel_", "network_", "labeled_"]
    copied += [name for name in ("n_features_in_", "feature_names_in_") if name in state]
    adapter = state["adapter"]
    ordered = state["strategy"] == "local" or (state["strategy"] == "duplicate" and state["mix"] > 0)
    a, b = state["points_"].T
    c = to_numpy(state["coefficients_"])[:, 0]
    S = np.zeros((len(state["labeled_"]),) * 2)
    if ordered:
        S[a, b] = c
    else:
        S[a, b] = S[b, a] = np.where(a == b, c, c / 2)
    mix = 1.0 if state["strategy"] == "local" else state["mix"]
    nodes = state["R_fit_"]
    if isinstance(nodes, Parts):  # vectors with what a kernel computed of them
        nodes = nodes.parts[0]
    return {
        **{name: state[name] for name in copied},
        "ridge_": AllPairs(asarray_like(S, adapter.home), mix, ordered),
        "nodes_": nodes,
        "pairwise": False,
        "single_precision": adapter.single,
    }


def _all_pairs_cv(state: dict[str, Any]) -> dict[str, Any]:
    """The same, chosen by folds; its network was not stored."""
    if "pairs_" not in state:  # not fitted
        return state
    made = {name: value for name, value in state.items() if name != "pairs_"}
    return made | {"ridge_": state["pairs_"], "pairwise": False, "single_precision": False}


CONVERTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "AllPairsCV": _all_pairs_cv,
    "LinkPredictorCV": _link_predictor_cv,
    "Search": _search,
    "decoders.GraphEdits": _graph_edits,
    "rivals.PairLinks": _pair_links,
}


def renewed(name: Any, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The present name and state of an object of format 1."""
    present, state = present_names(name, fields)
    return (present, CONVERTED[name](state)) if name in CONVERTED else (present, state)


def present_names(name: Any, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The present name of a class of format 1, and its fields by their present names."""
    if not isinstance(name, str):
        raise ValueError(f"{name!r:.40} is not the name of a class")
    names = {**FIELDS, **RENAMED.get(name, {})}
    state = {}
    for field, value in fields.items():
        present = names.get(field, field.removeprefix("_"))
        if present is not None:
            state[present] = value
    return KINDS.get(name, name.replace("rivals.", "baselines.")), state
