"""Folds over objects and over nodes of a network, metrics out of fold, certificates of low rank."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.model_selection.certification import certify, select_rank
    from iokr.model_selection.links import cross_validate_links
    from iokr.model_selection.nodes import Network, NodeKFold, TooFewLinks
    from iokr.model_selection.own import scores_without_own
    from iokr.model_selection.ranks import cross_val_rank
    from iokr.model_selection.tuning import tune

__all__ = [
    "Network",
    "NodeKFold",
    "TooFewLinks",
    "certify",
    "cross_val_rank",
    "cross_validate_links",
    "scores_without_own",
    "select_rank",
    "tune",
]

__getattr__, __dir__ = lazy_names(__name__)
