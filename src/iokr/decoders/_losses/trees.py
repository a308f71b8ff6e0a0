"""The edit distance between trees."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from iokr.data.objects import as_objects
from iokr.data.tree_edits import coded_trees, tree_edit_matrix
from iokr.data.trees import keyed_trees
from iokr.decoders._losses.base import PairLoss

__all__ = ["TreeEditLoss"]


class TreeEditLoss(PairLoss):
    """Δ(y, z) = the fewest relabelled, inserted and deleted nodes that turn the ordered tree y into z."""

    def fit(self, Y: Any) -> TreeEditLoss:
        """Check that outputs are trees."""
        self.codes: dict[Hashable, int] = {}
        self.represent(Y)
        return self

    def represent(self, Y: Any) -> Any:
        """Depths and labels, as objects."""
        return as_objects(keyed_trees(Y))

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """The edit distance of every pair, each by a table over subtrees."""
        return tree_edit_matrix(coded_trees(R, self.codes), coded_trees(S, self.codes))
