"""Losses between rankings, strings and other sequences, graphs, and trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from iokr._validation.arguments import check_number
from iokr.data.edits import coded, edit_matrix, hashable_sequences
from iokr.data.objects import as_objects, error_context, key
from iokr.data.tree_edits import coded_trees, tree_edit_matrix
from iokr.data.trees import keyed_trees
from iokr.decoders.fgw import canonical, fgw_distance, soft_graph
from iokr.kernels.structured.rankings import check_rankings
from iokr.kernels.structured.sequences import sequences_of
from iokr.metrics.outputs import check_compared, compared_pairs

__all__ = ["character_accuracy", "edit_distance", "fgw", "kendall_tau", "tree_edit_distance"]


def kendall_tau(y_true: Any, y_pred: Any) -> float:
    """Mean over rankings of (concordant − discordant) / √(pairs not tied in y · pairs not tied in ŷ): Kendall's τ_b.

    Rankings are rank vectors, as for the kernel `Kendall`: the lowest rank is the best, equal ranks are ties. Pairs
    with an unranked item (NaN) in either ranking are left out; a ranking without untied pairs has τ_b = 0. All
    rankings at once, unlike `scipy.stats.kendalltau`.

    Parameters
    ----------
    y_true, y_pred : n rank vectors of d items

    Examples
    --------
    >>> from iokr.metrics import kendall_tau
    >>> round(kendall_tau([[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [2, 1, 3]]), 4)
    0.6667
    """
    check_compared(y_true, y_pred)
    Y = check_rankings(y_true)
    Z = check_rankings(y_pred, Y.shape[1])
    first, second = np.triu_indices(Y.shape[1], 1)
    with np.errstate(invalid="ignore"):
        a = np.sign(Y[:, first] - Y[:, second])
        b = np.sign(Z[:, first] - Z[:, second])
    known = ~np.isnan(a) & ~np.isnan(b)
    a = np.where(known, a, 0.0)
    b = np.where(known, b, 0.0)
    untied = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return float(np.mean((a * b).sum(axis=1) / np.where(untied > 0, untied, 1.0)))


def edit_distance(y_true: Any, y_pred: Any) -> float:
    """Mean over pairs of the fewest insertions, deletions and substitutions that turn y into ŷ (Levenshtein).

    Parameters
    ----------
    y_true, y_pred : n strings, or sequences of hashable entries; empty ones are allowed

    Examples
    --------
    >>> from iokr.metrics import edit_distance
    >>> edit_distance(["kitten", "cat"], ["sitting", "cat"])
    1.5
    """
    pairs = compared_pairs(y_true, y_pred, hashable_sequences)
    codes: dict[Hashable, int] = {}
    return float(np.mean([edit_matrix(coded([y], codes), coded([z], codes))[0, 0] for y, z in pairs]))


def character_accuracy(y_true: Any, y_pred: Any) -> float:
    """Σ_i #{t : y_it = ŷ_it} / Σ_i |y_i|: the fraction of letters that are right at their positions.

    Parameters
    ----------
    y_true, y_pred : n strings, or sequences

    Examples
    --------
    >>> from iokr.metrics import character_accuracy
    >>> round(character_accuracy(["house", "hot"], ["mouse", "hotel"]), 4)
    0.875
    """
    check_compared(y_true, y_pred)
    with error_context("y_true"):
        sequences_of(y_true)  # rejects empty ones
    pairs = compared_pairs(y_true, y_pred, hashable_sequences)
    right = sum(a == b for y, z in pairs for a, b in zip(y, z, strict=False))
    return float(right / sum(len(y) for y, _ in pairs))


def fgw(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.5,
    *,
    labels: Sequence[Any] | None = None,
    edge_labels: Sequence[Any] | None = None,
) -> float:
    """Mean of min_P (1 − α)⟨M, P⟩ + α Σ |C_ij − C'_kl|² P_ik P_jl: fused Gromov–Wasserstein distance between graphs.

    P is a soft matching of the nodes of two graphs, with equal weights of the nodes of a graph. M contains squared
    distances of labels: 2 between different categories; labels that are floats or rows of floats are coordinates. C is
    the adjacency, which may be soft; where edges have labels, it is a fraction for each label. The best of a few
    deterministic local searches. Needs POT, of the extra `graph`.

    Parameters
    ----------
    y_true, y_pred : n graphs, as the graph kernels take them, or pairs of a soft adjacency and coordinates
    alpha : float, default=0.5
        0 compares labels alone, 1 edges alone.
    labels : sequence, default=None
        The categories of the coordinates of soft labels, such as `labels_` of `GraphBarycenter`, when the other graphs
        have categories.
    edge_labels : sequence, default=None
        The same for a soft adjacency (N, N, E): the labels of its channels.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.metrics import fgw
    >>> edge = np.array([[0, 1], [1, 0]])
    >>> fgw([(edge, "CO")], [(edge, "OC")]), fgw([(edge, "CO")], [(edge, "CC")])  # doctest: +SKIP
    (0.0, 0.5)
    """
    if not 0 <= check_number(alpha, "alpha") <= 1:
        raise ValueError(f"`alpha` must lie between 0 and 1, got {alpha!r}.")
    columns = None if labels is None else [key(label) for label in as_objects(labels)]
    kinds = None if edge_labels is None else [key(label) for label in as_objects(edge_labels)]
    pairs = compared_pairs(y_true, y_pred, _soft_graphs)
    return float(np.mean([fgw_distance(a, b, alpha, columns, kinds) for a, b in pairs]))


def _soft_graphs(graphs: Any) -> list[Any]:
    return [canonical(soft_graph(graph, number=i)) for i, graph in enumerate(as_objects(graphs))]


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
    pairs = compared_pairs(y_true, y_pred, partial(keyed_trees, label=label))
    codes: dict[Hashable, int] = {}
    edits = [tree_edit_matrix(coded_trees([y], codes), coded_trees([z], codes))[0, 0] for y, z in pairs]
    return float(np.mean(edits))
