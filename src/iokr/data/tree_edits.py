"""The fewest edits between ordered labelled trees (Zhang and Shasha)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iokr._system.compile import compiled
from iokr.data.trees import subtree_ends

__all__ = ["CodedTrees", "coded_trees", "tree_edit_matrix"]


class CodedTrees(NamedTuple):
    """Trees one after the other; the nodes of each with children before parents, from the last child to the first."""

    labels: np.ndarray  # as numbers
    first: np.ndarray  # for each node, the first node of its subtree, counted from the first of its tree
    starts: np.ndarray  # where each tree begins
    roots: np.ndarray  # keyroots: for each tree and each value of `first`, the last node with it
    root_starts: np.ndarray  # where those of each tree begin


def coded_trees(trees: Sequence[tuple[Sequence[int], Sequence[Hashable]]], codes: dict[Hashable, int]) -> CodedTrees:
    """From depths and labels with parents first and children in order; new labels are added to `codes`.

    Read backwards that order has children before parents, as the recursion needs. It goes from the last child to the
    first in both trees, which changes no distance.
    """
    labels: list[int] = []
    first: list[int] = []
    roots: list[int] = []
    starts = [0]
    root_starts = [0]
    for depths, names in trees:
        size = len(depths)
        own = [size - end for end in reversed(subtree_ends(depths))]
        last = {node: k for k, node in enumerate(own)}
        labels += [codes.setdefault(name, len(codes)) for name in reversed(names)]
        first += own
        roots += sorted(last.values())
        starts.append(len(labels))
        root_starts.append(len(roots))
    return CodedTrees(*(np.array(part, dtype=np.int64) for part in (labels, first, starts, roots, root_starts)))


def tree_edit_matrix(a: CodedTrees, b: CodedTrees) -> np.ndarray:
    """Edits from each tree of a to each of b, (n, m); compiled if Numba is installed, slow otherwise."""
    out = np.zeros((len(a.starts) - 1, len(b.starts) - 1))
    loop = compiled(_tree_loop) or _tree_loop
    loop(*a, *b, out)
    return out


def _tree_loop(
    a: Any, a_first: Any, a_starts: Any, a_roots: Any, a_ends: Any, b: Any, b_first: Any, b_starts: Any, b_roots: Any,
    b_ends: Any, out: Any,
) -> None:  # fmt: skip
    """d(F, G) between forests of the last nodes: a root is deleted, inserted, or matched together with its subtree."""
    for p in range(len(a_starts) - 1):
        for q in range(len(b_starts) - 1):
            s = a_starts[p]
            t = b_starts[q]
            n = a_starts[p + 1] - s
            m = b_starts[q + 1] - t
            whole = np.zeros((n, m), dtype=np.int64)  # between subtrees
            d = np.zeros((n + 1, m + 1), dtype=np.int64)
            for k in range(a_ends[p], a_ends[p + 1]):
                i = a_roots[k]
                u = a_first[s + i]
                for r in range(b_ends[q], b_ends[q + 1]):
                    j = b_roots[r]
                    v = b_first[t + j]
                    for x in range(i - u + 2):
                        d[x, 0] = x
                    for y in range(j - v + 2):
                        d[0, y] = y
                    for x in range(u, i + 1):
                        for y in range(v, j + 1):
                            least = min(d[x - u, y - v + 1], d[x - u + 1, y - v]) + 1
                            if a_first[s + x] == u and b_first[t + y] == v:
                                change = d[x - u, y - v] + (0 if a[s + x] == b[t + y] else 1)
                                least = min(least, change)
                                whole[x, y] = least
                            else:
                                least = min(least, d[a_first[s + x] - u, b_first[t + y] - v] + whole[x, y])
                            d[x - u + 1, y - v + 1] = least
            out[p, q] = whole[n - 1, m - 1]
