"""How good predictions are: losses between outputs, and rankings of pairs of nodes."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.metrics.displays import CoverageDisplay, PathDisplay, PredictionDisplay, RankDisplay, WeightsDisplay
    from iokr.metrics.graphs import GraphEditDistance, graph_edit_distance, isomorphic_accuracy
    from iokr.metrics.intervals import coverage, pinball
    from iokr.metrics.outputs import f1_samples, hamming, mean_rank, rbf_loss, subset_accuracy, top_k_accuracy
    from iokr.metrics.pairs import (
        average_precision_pairs,
        early_precision,
        pair_metrics,
        precision_at_k,
        prevalence_pairs,
        roc_auc_pairs,
    )
    from iokr.metrics.scorers import DecodedScorer, decoded_scorer
    from iokr.metrics.structured import character_accuracy, edit_distance, fgw, kendall_tau, tree_edit_distance

__all__ = [
    "CoverageDisplay",
    "DecodedScorer",
    "GraphEditDistance",
    "PathDisplay",
    "PredictionDisplay",
    "RankDisplay",
    "WeightsDisplay",
    "average_precision_pairs",
    "character_accuracy",
    "coverage",
    "decoded_scorer",
    "early_precision",
    "edit_distance",
    "f1_samples",
    "fgw",
    "graph_edit_distance",
    "hamming",
    "isomorphic_accuracy",
    "kendall_tau",
    "mean_rank",
    "pair_metrics",
    "pinball",
    "precision_at_k",
    "prevalence_pairs",
    "rbf_loss",
    "roc_auc_pairs",
    "subset_accuracy",
    "top_k_accuracy",
    "tree_edit_distance",
]

__getattr__, __dir__ = lazy_names(__name__)
