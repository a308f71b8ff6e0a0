"""Trees of scikit-learn as arrays, a field each; what comes back is checked to be a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["is_tree", "make_tree", "tree_fields"]

_LEAF = -1


def is_tree(value: Any) -> bool:
    """Whether an object is a tree of scikit-learn's."""
    return type(value).__module__ == "sklearn.tree._tree" and type(value).__name__ == "Tree"


def tree_fields(tree: Any) -> dict[str, Any]:
    """Numbers and arrays from which `make_tree` makes the tree again."""
    _, (n_features, n_classes, n_outputs), state = tree.__reduce__()
    nodes = {f"node.{name}": np.ascontiguousarray(state["nodes"][name]) for name in state["nodes"].dtype.names}
    return {
        "n_features": int(n_features),
        "n_outputs": int(n_outputs),
        "max_depth": int(state["max_depth"]),
        "n_classes": np.asarray(n_classes),
        "values": state["values"],
        **nodes,
    }


def make_tree(fields: Mapping[str, Any]) -> Any:
    """The tree; children come after their parents, so that every path ends."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    left, right, feature = (np.asarray(fields[f"node.{n}"]) for n in ("left_child", "right_child", "feature"))
    n, n_features, n_outputs = len(left), fields["n_features"], fields["n_outputs"]
    nodes, values = np.zeros(n, dtype=NODE_DTYPE), np.asarray(fields["values"], dtype=np.float64)
    for name in NODE_DTYPE.names:
        if f"node.{name}" in fields:  # versions of scikit-learn differ in the last ones
            nodes[name] = np.asarray(fields[f"node.{name}"]).reshape(n)
    inner = left != _LEAF
    places = np.arange(n)[inner]
    children = np.stack([left[inner], right[inner]])
    classes = np.ascontiguousarray(fields["n_classes"], dtype=np.intp).reshape(-1)
    fits = (
        type(n_features) is int
        and type(fields["max_depth"]) is int
        and n > 0
        and len(classes) == n_outputs
        and values.shape == (n, n_outputs, int(classes.max(initial=0)))
        and bool(np.all((children > places) & (children < n)))
        and bool(np.all((feature[inner] >= 0) & (feature[inner] < n_features)))
    )
    if not fits:
        raise ValueError("a tree is malformed")
    tree = Tree(n_features, classes, n_outputs)
    state = {"max_depth": fields["max_depth"], "node_count": n, "nodes": nodes, "values": np.ascontiguousarray(values)}
    tree.__setstate__(state)
    return tree
