"""Output-kernel trees written slowly: every threshold of every feature, variances as double sums over the kernel."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def variance(K: NDArray, S: NDArray, w: NDArray) -> float:
    """(1/W) Σ_i w_i K_ii − (1/W²) Σ_ij w_i w_j K_ij over the rows S."""
    W = sum(w[i] for i in S)
    own = sum(w[i] * K[i, i] for i in S) / W
    return own - sum(w[i] * w[j] * K[i, j] for i in S for j in S) / W**2


def gain(K: NDArray, S: NDArray, left: NDArray, w: NDArray) -> float:
    """Var(S) − (W_l/W) Var(left) − (W_r/W) Var(right)."""
    right = np.setdiff1d(S, left)
    W = w[S].sum()
    parts = sum(w[part].sum() / W * variance(K, part, w) for part in (left, right))
    return variance(K, S, w) - parts


def splits(X: NDArray, S: NDArray) -> Iterator[NDArray]:
    """The rows on the left, for every feature and every threshold between two of its values."""
    for feature in range(X.shape[1]):
        values = np.unique(X[S, feature])
        for threshold in (values[1:] + values[:-1]) / 2:
            yield S[X[S, feature] <= threshold]


def best_splits(K: NDArray, X: NDArray, S: NDArray, w: NDArray) -> tuple[float, list[frozenset[int]]]:
    """The largest gain, and everything on the left that has it."""
    found = [(gain(K, S, left, w), frozenset(left.tolist())) for left in splits(X, S)]
    best = max(value for value, _ in found)
    return best, [left for value, left in found if value >= best - 1e-10]


def nodes(tree, X: NDArray) -> Iterator[tuple[int, NDArray, NDArray | None]]:
    """For each node its number, its rows and, unless it is a leaf, those that go left."""
    stack = [(0, np.arange(len(X)))]
    while stack:
        node, S = stack.pop()
        if tree.children_left[node] < 0:
            yield node, S, None
            continue
        below = X[S, tree.feature[node]].astype(np.float32) <= tree.threshold[node]
        yield node, S, S[below]
        stack += [(tree.children_left[node], S[below]), (tree.children_right[node], S[~below])]
