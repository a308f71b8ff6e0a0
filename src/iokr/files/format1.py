"""Objects of format 1 that have another name or other fields now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import asarray_like, to_numpy
from iokr.data.objects import Parts
from iokr.estimators.pairs.all_pairs import AllPairs
from iokr.estimators.search.result import Axis

__all__ = ["RENAMED", "renewed"]


def _search_result(fields: dict[str, Any]) -> dict[str, Any]:
    """The table of a search: its scores, larger ones better, on named axes."""
    axes = tuple(Axis(name, values) for name, values in zip(fields["names"], fields["settings"], strict=True))
    scores = fields["scores"]
    kept = {"axes": axes, "values": scores, "larger": True, "measures": {"score": scores}}
    return kept | {"folds": fields["splits"], "weights": fields["weights"]}


def _pair_link_predictor(fields: dict[str, Any]) -> dict[str, Any]:
    """Ridge on all pairs: coefficients of pairs as the matrix S, the nodes as the kernel represents them."""
    kept = {name: fields[name] for name in ("kernel", "strategy", "mix", "alpha", "unlinked", "kernel_", "network_")}
    adapter = fields["_border"]
    ordered = fields["strategy"] == "local" or (fields["strategy"] == "duplicate" and fields["mix"] > 0)
    a, b = fields["points_"].T
    c = to_numpy(fields["coefficients_"])[:, 0]
    S = np.zeros((len(fields["labeled_"]),) * 2)
    if ordered:
        S[a, b] = c
    else:
        S[a, b] = S[b, a] = np.where(a == b, c, c / 2)
    ridge = AllPairs(asarray_like(S, adapter.home), 1.0 if fields["strategy"] == "local" else fields["mix"], ordered)
    nodes = fields["R_fit_"]
    if isinstance(nodes, Parts):  # vectors with what a kernel computed of them
        nodes = nodes.parts[0]
    kept |= {"ridge_": ridge, "nodes_": nodes, "labeled_": fields["labeled_"]}
    kept |= {name: fields[name] for name in ("n_features_in_", "feature_names_in_") if name in fields}
    return kept | {"_pairwise": False, "_single_precision": adapter.single}


def _pair_link_predictor_cv(fields: dict[str, Any]) -> dict[str, Any]:
    """The same, chosen; its network was not kept."""
    if "pairs_" not in fields:  # not fitted
        return fields
    kept = {name: value for name, value in fields.items() if name != "pairs_"}
    return kept | {"ridge_": fields["pairs_"], "_pairwise": False, "_single_precision": False}


def _stage(fields: dict[str, Any]) -> dict[str, Any]:
    """A step of boosting."""
    return {"partition": fields["grown"], "values": fields["values"], "leaf_weights": fields["leaf_weights"]}


RENAMED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "Search": ("SearchResult", _search_result),
    "Stage": ("BoostingStage", _stage),
    "rivals.PairLinks": ("PairLinkPredictor", _pair_link_predictor),
    "AllPairsCV": ("PairLinkPredictorCV", _pair_link_predictor_cv),
}


def renewed(name: Any) -> Any:
    """The present name of a class."""
    if isinstance(name, str) and name in RENAMED:
        return RENAMED[name][0]
    return name
