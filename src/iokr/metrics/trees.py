"""Losses between rooted trees."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from iokr._validation.arguments import check_same_length
from iokr.data.objects import error_context
from iokr.data.tree_edits import coded_trees, tree_edit_matrix
from iokr.data.trees import keyed_trees

__all__ = ["tree_edit_distance"]


def tree_edit_distance(y_true: Any, y_pred: Any, *, label: str = "label") -> float:
    """Mean over pairs of the fewest relabelled, inserted and deleted nodes that turn the ordered tree y into ŷ.

    The children of a deleted node become children of its parent; an inserted node adopts neighbouring children. The
    order of children matters; without it the distance is NP-hard. Exact; the cost is |y||ŷ| times the smaller of leaves
    and depth of each.

    Parameters
    ----------
    y_true, y_pred : n trees, as the kernel `Subtree` takes them
    label : str, default="label"
        The node attribute of NetworkX graphs.

    Examples
    --------
    >>> from iokr.metrics import tree_edit_distance
    >>> tree_edit_distance([("+", "a", ("*", "b", "c"))], [("+", "a", "b", "c")])  # * goes
    1.0

    References
    ----------
    Zhang and Shasha, "Simple fast algorithms for the editing distance between trees and related problems", SIAM
    Journal on Computing, 1989.
    """
    check_same_length(y_true, y_pred, "y_true", "y_pred")
    sides = []
    for name, trees in (("y_true", y_true), ("y_pred", y_pred)):
        with error_context(name):
            sides.append(keyed_trees(trees, label))
    codes: dict[Hashable, int] = {}
    coded = ([coded_trees([t], codes) for t in side] for side in sides)
    return float(np.mean([tree_edit_matrix(y, z)[0, 0] for y, z in zip(*coded, strict=True)]))
